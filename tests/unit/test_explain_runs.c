/* Random programs, run by meshwise and logged as DTensor would log them; the explainer reads that
 * log, and what it says of ops, results, movements and bytes is held against what the run did (its
 * events). On one mesh axis a line is a movement and all must agree; on two a movement may take two
 * lines, and ops, results and the lines' axes are compared.
 *
 *     test_explain_runs [programs [seed]] */
#include "run_check.h"

#include "layout_random.h"

#include <meshwise/explain.h>
#include <meshwise/notation.h>
#include <stdlib.h>

enum { POOL = 4, STEPS = 7, LINES = 1 << 17, KEPT = 128 };

static int programs = 80;
static uint64_t first_seed = 20250311;

typedef struct moved {
    char collective[24];
    int64_t bytes;
} moved;

typedef struct run {
    uint64_t seed;
    const char *mesh;
    char lines[LINES];
    char op[KEPT][40], result[KEPT][160];
    int ncall;
    moved move[KEPT];
    int nmove;
    int64_t bytes;
} run;

/* ---- programs ------------------------------------------------------------------------------ */

/* A layout of an [n, n] tensor: each of its dims whole or cut by an axis. */
static const char *layout_on(uint64_t *seed, const char *mesh, int64_t n, char *to, size_t size)
{
    static const char *const cuts[][2] = {{"@x", ""},   {"", "@x"},   {"", ""},  {"@x", "@y"},
                                          {"@y", "@x"}, {"@x,y", ""}, {"", "@y"}};
    int k = naive_below(seed, strchr(mesh, ',') ? 7 : 3);
    (void)snprintf(to, size, "[%lld%s, %lld%s]", (long long)n, cuts[k][0], (long long)n,
                   cuts[k][1]);
    return to;
}

static mw_status program(void *user)
{
    run *r = user;
    uint64_t seed = r->seed;
    static const int64_t sizes[] = {4, 5, 6, 8, 12};
    int64_t n = sizes[naive_below(&seed, 5)];
    mw_tensor *pool[POOL + STEPS];
    char layout[64];
    for (int i = 0; i < POOL; i++) {
        pool[i] = mw_view(mw_arange((double)(n * n), MW_DTYPE_f32), MW_INTS(n, n));
        EXPECT(pool[i]);
        EXPECT(
            mw_mark_sharding(pool[i], NULL, layout_on(&seed, r->mesh, n, layout, sizeof layout)));
    }
    for (int i = POOL; i < POOL + STEPS; i++) {
        mw_tensor *a = pool[naive_below(&seed, i)], *b = pool[naive_below(&seed, i)], *out = NULL;
        switch (naive_below(&seed, 6)) {
        case 0:
        case 1:
            out = mw_mm(a, b);
            break;
        case 2:
            out = mw_add(a, b, 1);
            break;
        case 3:
            out = mw_mul(a, b);
            break;
        case 4:
            out = mw_relu(a);
            break;
        default:
            out = mw_t(a);
        }
        EXPECT(out);
        if (naive_below(&seed, 3) == 0)
            EXPECT(
                mw_mark_sharding(out, NULL, layout_on(&seed, r->mesh, n, layout, sizeof layout)));
        pool[i] = out;
    }
    return MW_OK;
}

static void note(void *user, const mw_event *e)
{
    run *r = user;
    if (e->rank != 0) return;
    size_t length = strlen(r->lines);
    (void)snprintf(r->lines + length, sizeof r->lines - length, "%s", e->dispatch);
    if (e->kind == MW_EVENT_CALL && r->ncall < KEPT) {
        (void)snprintf(r->op[r->ncall], sizeof r->op[0], "%s", e->op);
        (void)snprintf(r->result[r->ncall++], sizeof r->result[0], "%s", e->result);
    } else if (e->kind == MW_EVENT_MOVE && e->recv_bytes_most > 0 && r->nmove < KEPT) {
        moved *m = &r->move[r->nmove++];
        (void)snprintf(m->collective, sizeof m->collective, "%.*s", (int)strcspn(e->text, " "),
                       e->text);
        m->bytes = e->recv_bytes_most;
        r->bytes += e->recv_bytes_most;
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

static const char *fact_of(const mw_entry *e, const char *name)
{
    for (int i = 0; i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0) return e->fact[i].value;
    return NULL;
}

/* `f32[8, 8] S(0)R`, as the explainer writes a tensor, lies as the run's type says. */
static bool lies_so(const mw_mesh *mesh, const char *told, const char *type)
{
    const char *close = strchr(told, ']');
    mw_layout want, got;
    if (!close || mw_layout_parse(mesh, type, &want) != MW_OK) return false;
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&want, shape);
    mw_reading *reading = NULL;
    if (mw_notation_read(mesh, close + 2, want.ndim, shape, want.dtype, &reading) != MW_OK)
        return false;
    const mw_layout *l = mw_reading_layout(reading);
    bool same = l != NULL;
    if (same) {
        got = *l;
        got.dtype = want.dtype;
        same = mw_layout_equal(&got, &want);
    }
    mw_reading_free(reading);
    return same;
}

/* Each call of the run is told with its op and its result; returns how many calls are told. */
static int64_t compare_calls(run *r, const mw_mesh *mesh, const mw_explain *x)
{
    int64_t told = 0;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        const char *out = fact_of(e, "output 0");
        bool found = false;
        if (strcmp(e->event, "dispatch") != 0) continue;
        told += e->count;
        for (int k = 0; k < r->ncall && !found; k++)
            found = strcmp(r->op[k], e->op) == 0 && out && lies_so(mesh, out, r->result[k]);
        if (!found && !strchr(r->mesh, ','))
            fail_msg("mesh %s, seed %llu: line %lld: no such call: %s %s", r->mesh,
                     (unsigned long long)r->seed, (long long)e->first, e->op,
                     out ? out : "without a result");
        for (int k = 0; k < e->nproblem; k++)
            if (strcmp(e->problem[k].kind, "needless-movement") != 0 &&
                strcmp(e->problem[k].kind, "uneven-strided-shard") != 0)
                fail_msg("mesh %s, seed %llu: a right run has a problem: %s: %s\n%s", r->mesh,
                         (unsigned long long)r->seed, e->problem[k].kind, e->problem[k].says,
                         r->lines);
    }
    return told;
}

static void compare_moves(const run *r, const mw_explain *x)
{
    bool used[KEPT] = {false};
    int64_t bytes = 0;
    int left = r->nmove;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        for (int64_t n = 0; e->collective && n < e->count; n++) {
            int k = 0;
            while (k < r->nmove && (used[k] || r->move[k].bytes != e->bytes ||
                                    strcmp(r->move[k].collective, e->collective) != 0))
                k++;
            if (k == r->nmove)
                fail_msg("mesh %s, seed %llu: line %lld: no such movement: %s %lld B\n%s", r->mesh,
                         (unsigned long long)r->seed, (long long)e->first, e->collective,
                         (long long)e->bytes, r->lines);
            used[k] = true;
            bytes += e->bytes;
            left--;
        }
    }
    if (left || bytes != r->bytes)
        fail_msg("mesh %s, seed %llu: %d movements not told\n%s", r->mesh,
                 (unsigned long long)r->seed, left, r->lines);
}

static void one(const char *mesh, uint64_t seed, int64_t *ret_calls, int64_t *ret_moves)
{
    static run r;
    mw_explain *x = NULL;
    mw_mesh *made = NULL;
    memset(&r, 0, sizeof r);
    r.seed = seed;
    r.mesh = mesh;
    run_with((mw_launch_options){.mesh = mesh,
                                 .backend = "fake",
                                 .timeout = 30,
                                 .dispatch = 1,
                                 .sink = note,
                                 .sink_user = &r},
             program, &r);
    assert_true(r.ncall < KEPT && r.nmove < KEPT && strlen(r.lines) < LINES - 1);
    assert_int_equal(mw_mesh_parse(mesh, &made), MW_OK);
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &x), MW_OK);
    assert_int_equal(mw_explain_feed(x, r.lines, (int64_t)strlen(r.lines)), MW_OK);
    assert_int_equal(mw_explain_finish(x), MW_OK);
    if (mw_explain_unread(x)) {
        fail_msg("mesh %s, seed %llu: line %lld is not read\n%s", mesh, (unsigned long long)seed,
                 (long long)mw_explain_unread_at(x, 0), r.lines);
    }
    assert_int_equal(compare_calls(&r, made, x), r.ncall);
    if (!strchr(mesh, ',')) compare_moves(&r, x);
    *ret_calls += r.ncall;
    *ret_moves += r.nmove;
    mw_explain_free(x);
    mw_mesh_unref(made);
}

static void runs_as_explained(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2", "x=3", "x=4", "x=5", "x=2,y=2", "x=2,y=3"};
    int64_t calls = 0, moves = 0;
    for (int i = 0; i < programs; i++)
        one(meshes[i % 6], first_seed + (uint64_t)i, &calls, &moves);
    print_message("%d programs, %lld calls, %lld movements, from seed %llu\n", programs,
                  (long long)calls, (long long)moves, (unsigned long long)first_seed);
    assert_true(moves > programs / 2); /* else nothing was compared */
}

int main(int argc, char **argv)
{
    if (argc > 1) programs = (int)strtol(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_as_explained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
