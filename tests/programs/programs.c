/* Sharded programs, each with what must come out: FILE.mw is a program as text (docs/ir.md) whose
 * comments say
 *
 *     # expect %m = 5.5                    values of a result, as a number or nested lists
 *     # expect layout %y = f32[4@x, 3]     where a result lies
 *     # expect moved all_reduce 4          a movement and the bytes that a rank receives at most;
 *                                          each is named by such a line
 *     # expect nothing moved
 *     # expect error "text"                it is refused, with this in the message
 *     # strict                             a movement that nobody asked for is an error
 *     # also on x=3                        the values hold on this mesh, too
 *     # own mesh only                      it marks by device ids, which another mesh lacks
 *
 * Every program runs op by op and after all passes, on its own mesh and, as far as its values go,
 * on those that it names, on one with every axis of size 1, 3 and 5; and whole on one rank, which
 * each of these is compared with. Expected layouts and movements are those of the run op by op on
 * its own mesh; after the passes no more may move. */
#include <math.h>
#include <meshwise/graph.h>
#include <meshwise/log.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 32, MOVES = 64, LINES = 96 };

typedef struct result {
    char name[64], layout[512];
    mw_dtype dtype;
    int64_t count;
    double *value;
    int64_t *whole; /* of integers */
} result;

typedef struct movement {
    char kind[48];
    long long bytes;
} movement;

typedef struct outcome {
    const mw_graph *graph;
    bool whole, watching;
    int nresult, nmove;
    result result[RESULTS];
    movement move[MOVES];
    long long received;
} outcome;

typedef struct situation {
    const char *path;
    char *text, *line[LINES]; /* comments that expect, without "# " */
    int nline;
    bool strict, own_mesh, refused;
} situation;

static int failures;
static const char *doing;

static void fail(const situation *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(const situation *s, const char *format, ...)
{
    char says[900];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(says, sizeof says, format, list);
    va_end(list);
    const char *slash = strrchr(s->path, '/');
    printf("%s (%s): %s\n", slash ? slash + 1 : s->path, doing, says);
    failures++;
}

/* ---- the file ------------------------------------------------------------------------------ */

static char *read_whole(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? calloc(1, 1 << 18) : NULL;
    if (text) (void)fread(text, 1, (1 << 18) - 1, in);
    if (in) (void)fclose(in);
    return text;
}

static void read_situation(const char *path, situation *s)
{
    *s = (situation){.path = path, .text = read_whole(path)};
    if (!s->text) fail(s, "cannot be read");
    for (char *at = s->text; at && *at;) {
        char *next = strchr(at, '\n');
        if (strncmp(at, "# ", 2) == 0 && s->nline < LINES) {
            size_t n = next ? (size_t)(next - at) - 2 : strlen(at + 2);
            char *line = calloc(1, n + 1);
            if (!line) abort();
            memcpy(line, at + 2, n);
            s->line[s->nline++] = line;
            s->strict = s->strict || strcmp(line, "strict") == 0;
            s->own_mesh = s->own_mesh || strcmp(line, "own mesh only") == 0;
            s->refused = s->refused || strncmp(line, "expect error", 12) == 0;
        }
        at = next ? next + 1 : NULL;
    }
}

static void forget_situation(situation *s)
{
    for (int i = 0; i < s->nline; i++)
        free(s->line[i]);
    free(s->text);
}

/* ---- running --------------------------------------------------------------------------------- */

static void watch(void *user, const mw_event *e)
{
    outcome *o = user;
    if (e->rank != 0 || e->kind != MW_EVENT_MOVE || !o->watching || e->recv_bytes_all == 0) return;
    o->received += e->recv_bytes_all;
    if (o->nmove == MOVES) return;
    movement *m = &o->move[o->nmove++];
    (void)snprintf(m->kind, sizeof m->kind, "%.*s", (int)strcspn(e->text, " "), e->text);
    m->bytes = (long long)e->recv_bytes_most;
}

static mw_status keep(mw_tensor *t, result *r)
{
    int64_t shape[MW_LAYOUT_DIMS], count = 1;
    const mw_layout *layout = mw_tensor_layout(t);
    mw_layout_shape(layout, shape);
    for (int d = 0; d < layout->ndim; d++)
        count *= shape[d];
    double *value = calloc((size_t)count + 1, sizeof *value);
    int64_t *whole = calloc((size_t)count + 1, sizeof *whole);
    if (!value || !whole) abort();
    mw_status status = mw_read(t, MW_DTYPE_f64, value, count * (int64_t)sizeof *value);
    bool ints = mw_dtype_kind_of(mw_tensor_dtype(t)) == MW_KIND_INT;
    if (status == MW_OK && ints)
        status = mw_read(t, MW_DTYPE_i64, whole, count * (int64_t)sizeof *whole);
    if (status != MW_OK || mw_rank_index() != 0) {
        free(value);
        free(whole);
        return status;
    }
    r->dtype = mw_tensor_dtype(t);
    r->count = count;
    r->value = value;
    r->whole = whole;
    (void)mw_layout_print(mw_tensor_mesh(t), layout, r->layout, sizeof r->layout);
    return MW_OK;
}

static mw_status program(void *user)
{
    outcome *o = user;
    mw_tensor *out[RESULTS];
    if (mw_rank_index() == 0) o->watching = true;
    mw_status status = o->whole ? mw_graph_run_whole(o->graph, NULL, 0, out)
                                : mw_graph_run(o->graph, NULL, 0, out);
    if (mw_rank_index() == 0) o->watching = false;
    for (int i = 0; i < o->nresult && status == MW_OK; i++)
        status = keep(out[i], &o->result[i]);
    return status;
}

static void forget(outcome *o)
{
    for (int i = 0; i < o->nresult; i++) {
        free(o->result[i].value);
        free(o->result[i].whole);
    }
}

typedef struct how {
    const char *mesh; /* NULL: its own */
    const char *passes;
    bool whole;
} how;

static mw_status run(const situation *s, const how *h, outcome *o)
{
    mw_graph *graph = NULL;
    char mesh[256];
    *o = (outcome){.whole = h->whole};
    mw_status status = mw_graph_parse(s->text, s->path, h->mesh, &graph);
    if (status != MW_OK) return status;
    o->graph = graph;
    o->nresult = mw_graph_results(graph);
    if (o->nresult > RESULTS) abort();
    if (h->passes) status = mw_graph_pass(graph, h->passes);
    if (status == MW_OK) status = mw_graph_check(graph);
    (void)mw_mesh_print(mw_graph_mesh(graph), mesh, sizeof mesh);
    mw_launch_options options = {.mesh = h->whole ? "one=1" : mesh,
                                 .strict = s->strict && !h->whole,
                                 .sink = watch,
                                 .sink_user = o};
    if (status == MW_OK) status = mw_launch(&options, program, o);
    for (int i = 0; i < o->nresult; i++)
        (void)snprintf(o->result[i].name, sizeof o->result[i].name, "%s",
                       mw_graph_result_name(graph, i));
    mw_graph_free(graph);
    o->graph = NULL;
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double allowed(mw_dtype dtype)
{
    return dtype == MW_DTYPE_f64    ? 1e-12
           : dtype == MW_DTYPE_f32  ? 2e-5
           : dtype == MW_DTYPE_f16  ? 4e-3
           : dtype == MW_DTYPE_bf16 ? 3e-2
                                    : 0;
}

static bool close_to(double x, double y, double scale, mw_dtype dtype)
{
    if (x == y || (isnan(x) && isnan(y))) return true;
    return isfinite(x) && isfinite(y) && fabs(x - y) <= allowed(dtype) * (scale > 1 ? scale : 1);
}

static void same_values(const situation *s, const outcome *a, const outcome *b)
{
    if (a->nresult != b->nresult) {
        fail(s, "%d results, and %d on one rank", a->nresult, b->nresult);
        return;
    }
    for (int i = 0; i < a->nresult; i++) {
        const result *x = &a->result[i], *y = &b->result[i];
        double scale = 0;
        bool same = x->count == y->count && x->dtype == y->dtype;
        for (int64_t k = 0; same && k < y->count; k++)
            if (isfinite(y->value[k])) scale = fmax(scale, fabs(y->value[k]));
        for (int64_t k = 0; same && k < y->count; k++)
            same =
                close_to(x->value[k], y->value[k], scale, y->dtype) && x->whole[k] == y->whole[k];
        if (!same) fail(s, "%%%s is not what it is on one rank", y->name);
    }
}

static const result *named(const outcome *o, const char *name, size_t n)
{
    for (int i = 0; i < o->nresult; i++)
        if (strlen(o->result[i].name) == n && strncmp(o->result[i].name, name, n) == 0)
            return &o->result[i];
    return NULL;
}

/* `%m = [[1, 2], [3, nan]]`: brackets say nothing beyond what the layout does. */
static void expect_values(const situation *s, const char *line, const outcome *o)
{
    size_t n = strcspn(line + 1, " =");
    const result *r = named(o, line + 1, n);
    const char *at = strchr(line, '=');
    if (!r || !at) {
        fail(s, "no result for: %s", line);
        return;
    }
    int64_t k = 0;
    for (at++; *at;) {
        at += strspn(at, " [],\r");
        if (!*at) break;
        char *end = NULL;
        double want = strncmp(at, "true", 4) == 0    ? 1
                      : strncmp(at, "false", 5) == 0 ? 0
                                                     : strtod(at, &end);
        long long whole = end ? strtoll(at, NULL, 10) : 0;
        if (!end) end = (char *)(uintptr_t)at + (want == 1 ? 4 : 5);
        bool ints = mw_dtype_kind_of(r->dtype) == MW_KIND_INT;
        if (end == at || k >= r->count ||
            !(ints ? r->whole[k] == whole : close_to(r->value[k], want, fabs(want), r->dtype))) {
            fail(s, "%s\n  element %lld is %.9g", line, (long long)k,
                 k < r->count ? r->value[k] : (double)NAN);
            return;
        }
        at = end;
        k++;
    }
    if (k != r->count) fail(s, "%s: it has %lld elements", line, (long long)r->count);
}

static void expect_layout(const situation *s, const char *line, const outcome *o)
{
    const char *name = strchr(line, '%'), *type = name ? strstr(name, " = ") : NULL;
    const result *r = type ? named(o, name + 1, (size_t)(type - name - 1)) : NULL;
    if (!r)
        fail(s, "no result for: %s", line);
    else if (strcmp(r->layout, type + 3) != 0)
        fail(s, "%s\n  it is %s", line, r->layout);
}

/* `expect moved KIND BYTES` */
static bool named_move(const char *line, char *kind, size_t room, long long *bytes)
{
    static const char begins[] = "expect moved ";
    if (strncmp(line, begins, sizeof begins - 1) != 0) return false;
    line += sizeof begins - 1;
    size_t n = strcspn(line, " ");
    (void)snprintf(kind, room, "%.*s", (int)n, line);
    *bytes = strtoll(line + n, NULL, 10);
    return true;
}

/* Each movement is named by a line, and each line names one. */
static void expect_moves(const situation *s, const outcome *o)
{
    bool taken[MOVES] = {false}, stated = false;
    for (int l = 0; l < s->nline; l++) {
        const char *line = s->line[l];
        char kind[48];
        long long bytes;
        if (strcmp(line, "expect nothing moved") == 0) stated = true;
        if (!named_move(line, kind, sizeof kind, &bytes)) continue;
        stated = true;
        int m = 0;
        while (m < o->nmove &&
               (taken[m] || strcmp(o->move[m].kind, kind) != 0 || o->move[m].bytes != bytes))
            m++;
        if (m < o->nmove)
            taken[m] = true;
        else
            fail(s, "%s: it did not", line);
    }
    for (int m = 0; m < o->nmove && stated; m++)
        if (!taken[m]) fail(s, "moved, and was not to: %s %lld", o->move[m].kind, o->move[m].bytes);
}

static void expect(const situation *s, const outcome *o, bool layouts)
{
    for (int l = 0; l < s->nline; l++) {
        const char *line = s->line[l];
        if (strncmp(line, "expect %", 8) == 0)
            expect_values(s, line + 7, o);
        else if (strncmp(line, "expect layout", 13) == 0 && layouts)
            expect_layout(s, line, o);
    }
    if (layouts) expect_moves(s, o);
}

static void expect_refused(const situation *s, mw_status status)
{
    static const char begins[] = "expect error \"";
    for (int l = 0; l < s->nline; l++) {
        if (strncmp(s->line[l], begins, sizeof begins - 1) != 0) continue;
        const char *text = s->line[l] + sizeof begins - 1;
        char want[200];
        (void)snprintf(want, sizeof want, "%.*s", (int)strcspn(text, "\""), text);
        if (status == MW_OK)
            fail(s, "%s: it ran", s->line[l]);
        else if (!strstr(mw_last_error()->says, want) && !strstr(mw_last_error()->hint, want))
            fail(s, "%s\n  it is: %s", s->line[l], mw_last_error()->says);
    }
}

/* ---- a program ------------------------------------------------------------------------------- */

/* Its own mesh with every axis of this size. */
static bool mesh_of(const situation *s, int size, char *to, size_t room)
{
    mw_graph *graph;
    if (mw_graph_parse(s->text, s->path, NULL, &graph) != MW_OK) return false;
    char own[256];
    (void)mw_mesh_print(mw_graph_mesh(graph), own, sizeof own);
    mw_graph_free(graph);
    size_t n = 0;
    int64_t ranks = 1;
    for (const char *at = own; *at && *at != ' ' && n + 8 < room;) {
        size_t name = strcspn(at, "=");
        n += (size_t)snprintf(to + n, room - n, "%s%.*s=%d", n ? "," : "", (int)name, at, size);
        at += name + strspn(at + name, "=0123456789");
        at += *at == ',';
        ranks *= size;
    }
    return ranks <= 32;
}

/* What the passes give is never partial unless a type says so; op by op it may be, for less. */
static bool leaves_partial(const outcome *o)
{
    for (int i = 0; i < o->nresult; i++)
        if (strchr(o->result[i].layout, '{')) return true;
    return false;
}

static void compare_on(const situation *s, const how *h, const outcome *one)
{
    outcome o;
    if (run(s, h, &o) != MW_OK)
        fail(s, "%s", mw_last_error()->says);
    else
        same_values(s, &o, one);
    forget(&o);
}

static void on_other_meshes(const situation *s, const outcome *one)
{
    static const int sizes[] = {1, 3, 5};
    char mesh[256], what[300];
    for (int l = 0; l < s->nline; l++) {
        if (strncmp(s->line[l], "also on ", 8) != 0) continue;
        doing = s->line[l];
        compare_on(s, &(how){.mesh = s->line[l] + 8}, one);
        compare_on(s, &(how){.mesh = s->line[l] + 8, .passes = "all"}, one);
    }
    for (int i = 0; i < 3 && !s->own_mesh; i++) {
        if (!mesh_of(s, sizes[i], mesh, sizeof mesh)) continue;
        (void)snprintf(what, sizeof what, "on %s", mesh);
        doing = what;
        compare_on(s, &(how){.mesh = mesh}, one);
        compare_on(s, &(how){.mesh = mesh, .passes = "all"}, one);
    }
}

static void check(const char *path)
{
    situation s;
    outcome eager, passed, one;
    int before = failures;
    doing = "op by op";
    read_situation(path, &s);
    mw_status status = run(&s, &(how){0}, &eager);
    if (s.refused || status != MW_OK) {
        if (!s.refused) fail(&s, "%s\n  %s", mw_last_error()->says, mw_last_error()->where);
        expect_refused(&s, status);
        forget(&eager);
        forget_situation(&s);
        return;
    }
    expect(&s, &eager, true);
    doing = "after all passes";
    if (run(&s, &(how){.passes = "all"}, &passed) != MW_OK) {
        fail(&s, "%s", mw_last_error()->says);
    } else {
        expect(&s, &passed, false);
        if (passed.received > eager.received && !leaves_partial(&eager))
            fail(&s, "%lld B move, and %lld B op by op", passed.received, eager.received);
    }
    doing = "whole on one rank";
    if (run(&s, &(how){.whole = true}, &one) != MW_OK) {
        fail(&s, "%s", mw_last_error()->says);
    } else {
        expect(&s, &one, false);
        doing = "op by op";
        same_values(&s, &eager, &one);
        doing = "after all passes";
        if (failures == before) same_values(&s, &passed, &one);
        if (!s.strict) on_other_meshes(&s, &one);
    }
    forget(&eager);
    forget(&passed);
    forget(&one);
    forget_situation(&s);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        check(argv[i]);
    printf("%d programs, %d failures\n", argc - 1, failures);
    return failures || argc < 2 ? 1 : 0;
}
