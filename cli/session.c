/* A model about to run on a mesh. */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double session_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- notes -------------------------------------------------------------------------------------
 */

void session_note(session *s, const char *text)
{
    if (s->nnote < SESSION_NOTES)
        (void)snprintf(s->note[s->nnote++], sizeof s->note[0], "%s", text);
}

/* Says what the mesh means for this model: unused axes, ranks without attention, uneven work. */
static mw_status note_mesh(session *s)
{
    int tp = mw_mesh_axis_find(s->mesh, "tp", 2);
    if (tp < 0) {
        mw_status status = mw_error_set(
            MW_ERR_ARG, "the mesh %s has no axis tp to split the model over", s->mesh_text);
        mw_error_hint("name the axis tp: --mesh tp=%d", mw_mesh_ranks(s->mesh));
        return status;
    }
    char text[200];
    for (int a = 0; a < mw_mesh_axes(s->mesh); a++)
        if (a != tp && mw_mesh_axis_size(s->mesh, a) > 1) {
            (void)snprintf(text, sizeof text, "axis %s replicates: its ranks all compute the same",
                           mw_mesh_axis_name(s->mesh, a));
            session_note(s, text);
        }
    long long n = mw_mesh_axis_size(s->mesh, tp), groups = s->config.kv_heads;
    long long most = (groups + n - 1) / n, busy = (groups + most - 1) / most;
    if (busy < n)
        (void)snprintf(
            text, sizeof text,
            "%lld kv groups over tp=%lld: %lld of its ranks have no attention (no head is cut)",
            groups, n, n - busy);
    else if (groups % n != 0)
        (void)snprintf(text, sizeof text,
                       "%lld kv groups over tp=%lld: uneven, %lld to %lld a rank", groups, n,
                       groups - most * (busy - 1), most);
    else
        return MW_OK;
    session_note(s, text);
    return MW_OK;
}

/* ---- opening -----------------------------------------------------------------------------------
 */

mw_status session_plan(session *s, const char *name, const char *own)
{
    const char *path = s->args->value[OPT_plan];
    if (!path) return model_plan_parse(s->mesh, name, own, &s->plan);
    char *text;
    int64_t length;
    mw_status status = cli_read_file(path, &text, &length);
    if (status != MW_OK) return status;
    if (memchr(text, 0, (size_t)length))
        status = mw_error_set(MW_ERR_PARSE, "%s: a plan is text; this has NUL bytes", path);
    else
        status = model_plan_parse(s->mesh, path, text, &s->plan);
    mw_memory_free(text, (size_t)length + 1);
    return status;
}

static mw_status read_plan(session *s)
{
    char text[4096];
    int length = llama_plan_text(&s->config, text, sizeof text);
    if (length >= (int)sizeof text)
        return mw_error_set(MW_ERR_INTERNAL, "the plan's text is too long");
    return session_plan(s, "the model's plan", text);
}

/* MESHWISE_FAULT=rank:R,op:N */
static void plant_fault(session *s)
{
    const char *text = getenv("MESHWISE_FAULT");
    int rank;
    long long op;
    char *end;
    if (!text || strncmp(text, "rank:", 5) != 0) return;
    rank = (int)strtol(text + 5, &end, 10);
    if (strncmp(end, ",op:", 4) != 0) return;
    op = strtoll(end + 4, NULL, 10);
    s->launch.fail_rank = rank;
    s->launch.fail_op = op;
}

/* The backend asked for; else mpi under a launcher, else threads. */
static mw_status read_backend(session *s)
{
    static const char *const backends[] = {"threads", "mpi", "fake"};
    const cli_world *world = s->args->world;
    const char *backend = s->args->value[OPT_backend];
    if (!backend) backend = world && world->mpi ? "mpi" : "threads";
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backend, backends[i]) == 0) s->launch.backend = backends[i];
    if (!s->launch.backend)
        return mw_error_set(
            MW_ERR_ARG, "there is no backend '%.40s'; there are threads, mpi and fake", backend);
    if (strcmp(s->launch.backend, "mpi") != 0) return MW_OK;
    s->launch.module = world->module;
    if (world->ranks > 0) return MW_OK;
    mw_status status = mw_error_set(world->error.code, "%s", world->error.says);
    mw_error_hint("%s", world->error.hint);
    return status;
}

static mw_status read_mesh(session *s)
{
    const cli_args *a = s->args;
    char ranks[32];
    (void)snprintf(ranks, sizeof ranks, "tp=%d", a->world && a->world->mpi ? a->world->ranks : 1);
    mw_status status = mw_mesh_parse(a->value[OPT_mesh] ? a->value[OPT_mesh] : ranks, &s->mesh);
    if (status != MW_OK) return status;
    if (mw_mesh_print(s->mesh, s->mesh_text, sizeof s->mesh_text) >= (int)sizeof s->mesh_text)
        s->launch.mesh = a->value[OPT_mesh]; /* an order of ranks too long to print */
    else
        s->launch.mesh = s->mesh_text;
    return MW_OK;
}

mw_status session_options(session *s)
{
    const cli_args *a = s->args;
    int64_t threads = 1;
    mw_status status = read_backend(s);
    if (status == MW_OK) status = cli_int(a, OPT_threads, 1, 256, &threads);
    if (status == MW_OK) status = cli_float(a, OPT_timeout, 0.001, 1e6, &s->launch.timeout);
    if (status != MW_OK) return status;
    s->launch.threads = (int)threads;
    s->launch.strict = a->value[OPT_strict] != NULL;
    const char *dtype = a->value[OPT_dtype] ? a->value[OPT_dtype] : "f32";
    s->dtype = mw_dtype_read(dtype, (int)strlen(dtype));
    if (s->dtype != MW_DTYPE_f32 && s->dtype != MW_DTYPE_bf16)
        return mw_error_set(MW_ERR_ARG, "--dtype %.40s: weights are kept as f32 or bf16", dtype);
    status = read_mesh(s);
    if (status != MW_OK) return status;
    plant_fault(s);
    return MW_OK;
}

static mw_status open_all(session *s, const char *path)
{
    mw_status status = session_options(s);
    if (status == MW_OK) status = cli_model_open(path, &s->model);
    if (status == MW_OK) status = llama_config_read(s->model.file, &s->config);
    if (status == MW_OK) status = note_mesh(s);
    if (status == MW_OK) status = read_plan(s);
    if (status == MW_OK) status = session_log_open(s);
    if (status != MW_OK) return status;
    s->rank = mw_memory((size_t)mw_mesh_ranks(s->mesh) * sizeof *s->rank);
    return s->rank ? MW_OK : mw_last_error()->code;
}

int session_open(const cli_args *args, const char *path, session *ret)
{
    session *s = ret;
    *s = (session){.args = args, .started = session_now()};
    s->progress = !args->value[OPT_quiet] && !args->json && isatty(2);
    mw_status status = open_all(s, path);
    if (status == MW_OK) return -1;
    if (args->world && args->world->ranks > 0) status = session_launch(s, status, NULL, NULL);
    int code = status == MW_OK ? EXIT_BUG : cli_report(args);
    session_close(s);
    return code;
}

void session_close(session *s)
{
    session_log_close(s);
    if (s->rank) mw_memory_free(s->rank, (size_t)mw_mesh_ranks(s->mesh) * sizeof *s->rank);
    model_plan_free(s->plan);
    cli_model_close(&s->model);
    mw_mesh_unref(s->mesh);
}

/* ---- launching
 * -----------------------------------------------------------------------------------
 */

typedef struct begin {
    session *s;
    mw_error ready;  /* this rank's; MW_OK: it is */
    mw_error failed; /* that of the first rank that isn't */
    mw_status (*program)(void *user);
    void *user;
} begin;

/* The error of the first rank that isn't ready, in `b`, naming the rank unless all say the same. */
static void choose_error(begin *b, const mw_error *each, int n)
{
    int first = -1;
    bool same = true;
    for (int i = 0; i < n; i++) {
        if (first < 0 && each[i].code != MW_OK) first = i;
        same = same && strcmp(each[i].says, each[0].says) == 0;
    }
    if (first < 0) return;
    b->failed = each[first];
    b->failed.nframe = 0; /* pointers of another process */
    if (!same)
        (void)snprintf(b->failed.says, sizeof b->failed.says, "rank %d could not begin: %.1400s",
                       first, each[first].says);
}

/* Every rank learns whether all are ready. */
static mw_status begin_together(void *user)
{
    begin *b = user;
    int n = b->s->args->world->ranks;
    mw_error *each = mw_memory((size_t)n * sizeof *each);
    if (!each) return mw_last_error()->code;
    mw_status status = mw_gather_bytes(&b->ready, (int64_t)sizeof b->ready, each);
    if (status == MW_OK) choose_error(b, each, n);
    mw_memory_free(each, (size_t)n * sizeof *each);
    if (status != MW_OK || b->failed.code != MW_OK) return status;
    b->s->args->world->each = true;
    return b->program(b->user);
}

mw_status session_launch(session *s, mw_status ready, mw_status (*program)(void *user), void *user)
{
    bool mpi = s->launch.backend && strcmp(s->launch.backend, "mpi") == 0;
    if (!mpi) return ready == MW_OK ? mw_launch(&s->launch, program, user) : ready;
    begin b = {.s = s, .program = program, .user = user};
    if (ready != MW_OK) b.ready = *mw_last_error();
    if (!s->mesh || mw_mesh_ranks(s->mesh) != s->args->world->ranks) {
        if (ready != MW_OK) s->launch.mesh = NULL; /* that error is enough */
    }
    s->launch.interrupt = cli_told_to_end();
    mw_status status = mw_launch(&s->launch, begin_together, &b);
    if (status == MW_ERR_COMM || status == MW_ERR_TIMEOUT) s->args->world->each = true;
    if (status != MW_OK || b.failed.code == MW_OK) return status;
    status = mw_error_set(b.failed.code, "%s", b.failed.says);
    if (b.failed.hint[0]) mw_error_hint("%s", b.failed.hint);
    return status;
}

/* ---- inside the program
 * -------------------------------------------------------------------------- */

/* One line on a terminal, after a second, rewritten at most six times a second. */
typedef struct progress {
    session *s;
    double last;
    bool shown;
} progress;

static void show_progress(void *user, double share)
{
    progress *p = user;
    double now = session_now();
    if (!p->s->progress || mw_rank_index() != 0 || now - p->s->started < 1 ||
        now - p->last < 1.0 / 6)
        return;
    p->last = now;
    p->shown = true;
    (void)fprintf(stderr, "\rloading %3.0f %%", share * 100);
}

mw_status session_load(session *s, int64_t positions, llama **ret)
{
    progress p = {.s = s};
    mw_status status =
        llama_open(s->model.file, &s->config, s->plan, s->dtype, positions, show_progress, &p, ret);
    if (p.shown) (void)fprintf(stderr, "\r               \r");
    return status;
}

static bool same_cause(const mw_cause *a, const mw_cause *b)
{
    return strcmp(a->cause, b->cause) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->axes, b->axes) == 0 && a->asked == b->asked;
}

static int64_t resident_bytes(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* Where ranks are processes, each has filled in its own report only. */
static mw_status gather_reports(session *s, rank_report *mine)
{
    mine->rss = resident_bytes();
    for (int i = 0; i < mine->ncause; i++)
        (void)snprintf(mine->kind[i], sizeof mine->kind[i], "%s", mine->cause[i].kind);
    rank_report *copy = mw_memory(sizeof *copy);
    if (!copy) return mw_last_error()->code;
    *copy = *mine;
    mw_status status = mw_gather_bytes(copy, (int64_t)sizeof *copy, s->rank);
    mw_memory_free(copy, sizeof *copy);
    for (int r = 0; r < mw_mesh_ranks(s->mesh) && status == MW_OK; r++)
        for (int i = 0; i < s->rank[r].ncause; i++)
            s->rank[r].cause[i].kind = s->rank[r].kind[i];
    return status;
}

mw_status session_report(session *s, const llama *model, const mw_usage *since)
{
    int me = mw_rank_index();
    mw_usage now = mw_usage_get();
    rank_report *r = &s->rank[me];
    r->weight_bytes = llama_weight_bytes(model);
    r->peak_bytes = now.peak_bytes;
    r->collectives = now.collectives - since->collectives;
    r->bytes_received = now.bytes_received - since->bytes_received;
    r->bytes_unasked = now.bytes_unasked - since->bytes_unasked;
    r->ncause = mw_causes_get(r->cause, SESSION_CAUSES);
    if (r->ncause > SESSION_CAUSES) r->ncause = SESSION_CAUSES;
    for (int i = 0; mw_is_fake() && i < mw_mesh_ranks(s->mesh); i++) {
        s->rank[i].bytes_received = mw_usage_received(i); /* loading moves nothing */
        s->rank[i].weight_bytes = llama_weight_bytes_of(model, i);
        if (i != me) s->rank[i].collectives = r->collectives;
    }
    return s->args->world && s->args->world->mpi ? gather_reports(s, r) : MW_OK;
}

/* ---- results
 * ------------------------------------------------------------------------------------- */

static json_t *per_rank(const session *s, size_t offset)
{
    json_t *list = json_array();
    for (int i = 0; list && i < mw_mesh_ranks(s->mesh); i++) {
        int64_t value;
        memcpy(&value, (const char *)&s->rank[i] + offset, sizeof value);
        (void)json_array_append_new(list, json_integer(value));
    }
    return list;
}

/* The account of the busiest rank, equal rows (of several tensors) joined. */
static json_t *causes(const rank_report *r)
{
    json_t *list = json_array();
    for (int i = 0; list && i < r->ncause; i++) {
        mw_cause sum = r->cause[i];
        bool earlier = false;
        for (int j = 0; j < r->ncause; j++) {
            if (j == i || !same_cause(&r->cause[j], &sum)) continue;
            earlier = earlier || j < i;
            sum.count += r->cause[j].count;
            sum.bytes_received += r->cause[j].bytes_received;
        }
        if (earlier) continue;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:b}", "cause", sum.cause, "kind", sum.kind,
                            "axes", sum.axes, "count", (json_int_t)sum.count, "bytes_received",
                            (json_int_t)sum.bytes_received, "asked", sum.asked));
    }
    return list;
}

json_t *session_comm(const session *s)
{
    int busiest = 0;
    int64_t unasked = 0;
    for (int i = 0; i < mw_mesh_ranks(s->mesh); i++) {
        unasked += s->rank[i].bytes_unasked;
        if (s->rank[i].collectives > s->rank[busiest].collectives) busiest = i;
    }
    return json_pack("{s:I, s:I, s:o, s:o}", "collectives",
                     (json_int_t)s->rank[busiest].collectives, "unasked", (json_int_t)unasked,
                     "bytes_received", per_rank(s, offsetof(rank_report, bytes_received)),
                     "by_cause", causes(&s->rank[busiest]));
}

json_t *session_memory(const session *s)
{
    int64_t rss = 0; /* of all processes */
    for (int i = 0; i < mw_mesh_ranks(s->mesh); i++)
        rss += s->rank[i].rss;
    return json_pack("{s:o, s:o, s:I}", "weight_bytes",
                     per_rank(s, offsetof(rank_report, weight_bytes)), "peak_bytes",
                     per_rank(s, offsetof(rank_report, peak_bytes)), "rss",
                     (json_int_t)(rss ? rss : resident_bytes()));
}

json_t *session_mesh(const session *s)
{
    json_t *mesh = json_object();
    for (int a = 0; mesh && a < mw_mesh_axes(s->mesh); a++)
        (void)json_object_set_new(mesh, mw_mesh_axis_name(s->mesh, a),
                                  json_integer(mw_mesh_axis_size(s->mesh, a)));
    return mesh;
}

json_t *session_notes(const session *s)
{
    json_t *list = json_array();
    for (int i = 0; list && i < s->nnote; i++)
        (void)json_array_append_new(list, json_string(s->note[i]));
    return list;
}
