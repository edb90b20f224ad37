/* meshwise exec: runs a program's text on a mesh: every result, and what moved and why. */
#include "cli/exec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- running ----------------------------------------------------------------------------------
 */

static void clip(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%s", text ? text : "");
}

/* Movements of the first rank, while the program runs (not while its results are read). */
static void watch(void *user, const mw_event *e)
{
    exec_state *s = user;
    if (e->rank != 0 || e->kind != MW_EVENT_MOVE || !s->watching || e->recv_bytes_all == 0) return;
    if (s->nmove == s->cap_move) {
        int64_t cap = s->cap_move ? 2 * s->cap_move : 32;
        exec_move *more = mw_memory((size_t)cap * sizeof *more);
        if (!more) {
            s->lost = true;
            return;
        }
        if (s->nmove) memcpy(more, s->move, (size_t)s->nmove * sizeof *more);
        if (s->move) mw_memory_free(s->move, (size_t)s->cap_move * sizeof *s->move);
        s->move = more;
        s->cap_move = cap;
    }
    exec_move *m = &s->move[s->nmove++];
    *m = (exec_move){.line = e->site.line,
                     .recv_bytes = e->recv_bytes_most,
                     .recv_bytes_all = e->recv_bytes_all,
                     .asked = e->asked};
    clip(m->op, sizeof m->op, e->op);
    clip(m->tensor, sizeof m->tensor, e->tensor);
    clip(m->text, sizeof m->text, e->text);
    clip(m->from, sizeof m->from, e->from);
    clip(m->to, sizeof m->to, e->to);
    clip(m->axes, sizeof m->axes, e->axes);
    clip(m->why, sizeof m->why, e->why);
}

static mw_status keep_text(mw_tensor *t, exec_result *r, bool keep)
{
    int64_t length;
    mw_status status = mw_format(t, NULL, 0, &length);
    if (status != MW_OK) return status;
    char *text = mw_memory((size_t)length + 1);
    if (!text) return mw_last_error()->code;
    status = mw_format(t, text, length + 1, &length);
    if (status == MW_OK && keep) {
        r->text = text;
        r->text_size = length + 1;
    } else {
        mw_memory_free(text, (size_t)length + 1);
    }
    return status;
}

static void forget_values(exec_result *r)
{
    if (r->value) mw_memory_free(r->value, (size_t)r->cap * sizeof *r->value);
    if (r->whole) mw_memory_free(r->whole, (size_t)r->cap * sizeof *r->whole);
    r->value = NULL;
    r->whole = NULL;
}

/* The values as doubles, and those of integers as they are, too. */
static mw_status read_values(mw_tensor *t, int64_t count, exec_result *r)
{
    bool ints = mw_dtype_kind_of(mw_tensor_dtype(t)) == MW_KIND_INT;
    r->cap = count ? count : 1;
    r->value = mw_memory((size_t)r->cap * sizeof *r->value);
    if (ints) r->whole = mw_memory((size_t)r->cap * sizeof *r->whole);
    if (!r->value || (ints && !r->whole)) return mw_last_error()->code;
    mw_status status = mw_read(t, MW_DTYPE_f64, r->value, count * (int64_t)sizeof *r->value);
    if (status != MW_OK || !ints) return status;
    return mw_read(t, MW_DTYPE_i64, r->whole, count * (int64_t)sizeof *r->whole);
}

/* Every rank takes part in reading; the first keeps what is read. */
static mw_status keep_result(mw_tensor *t, exec_result *r)
{
    bool keep = mw_rank_index() == 0;
    exec_result other = {0};
    int64_t count = 1, shape[MW_LAYOUT_DIMS];
    const mw_layout *layout = mw_tensor_layout(t);
    mw_layout_shape(layout, shape);
    for (int d = 0; d < layout->ndim; d++)
        count *= shape[d];
    if (keep) {
        r->dtype = mw_tensor_dtype(t);
        r->ndim = layout->ndim;
        r->count = count;
        memcpy(r->shape, shape, sizeof shape);
        (void)mw_layout_print(mw_tensor_mesh(t), layout, r->layout, sizeof r->layout);
    }
    if (mw_is_fake()) return MW_OK;
    mw_status status = read_values(t, count, keep ? r : &other);
    if (status == MW_OK) status = keep_text(t, r, keep);
    if (status != MW_OK && keep) forget_values(r);
    forget_values(&other);
    return status;
}

static mw_status program(void *user)
{
    exec_state *s = user;
    bool first = mw_rank_index() == 0;
    mw_tensor **out = mw_memory((size_t)(s->nresult + 1) * sizeof(mw_tensor *));
    if (!out) return mw_last_error()->code;
    if (first) s->watching = true;
    mw_status status = s->whole ? mw_graph_run_whole(s->graph, NULL, 0, out)
                                : mw_graph_run(s->graph, NULL, 0, out);
    if (first) {
        s->watching = false;
        s->used = mw_usage_get();
    }
    for (int i = 0; i < s->nresult && status == MW_OK; i++)
        status = keep_result(out[i], &s->result[i]);
    mw_memory_free(out, (size_t)(s->nresult + 1) * sizeof(mw_tensor *));
    return status;
}

static void free_results(exec_result *r, int n)
{
    for (int i = 0; r && i < n; i++) {
        if (r[i].text) mw_memory_free(r[i].text, (size_t)r[i].text_size);
        forget_values(&r[i]);
    }
    if (r) mw_memory_free(r, (size_t)(n + 1) * sizeof *r);
}

/* Under a launcher the ranks are its processes; as many as the program's mesh has. */
static mw_status check_world(const exec_state *s)
{
    const cli_world *world = s->args->world;
    if (!world || !world->mpi) return MW_OK;
    if (world->ranks == 0) {
        mw_status status = mw_error_set(world->error.code, "%s", world->error.says);
        mw_error_hint("%s", world->error.hint);
        return status;
    }
    int ranks = mw_mesh_ranks(mw_graph_mesh(s->graph));
    if (ranks == world->ranks) return MW_OK;
    return mw_error_set(MW_ERR_ARG, "the program's mesh has %d ranks, and %d were launched", ranks,
                        world->ranks);
}

static mw_status launch(exec_state *s, bool whole)
{
    char mesh[512];
    const cli_world *world = s->args->world;
    bool mpi = !whole && world && world->mpi;
    (void)mw_mesh_print(mw_graph_mesh(s->graph), mesh, sizeof mesh);
    s->result = mw_memory((size_t)(s->nresult + 1) * sizeof *s->result);
    if (!s->result) return mw_last_error()->code;
    s->whole = whole;
    mw_launch_options options = {.mesh = whole ? "one=1" : mesh,
                                 .backend = whole ? NULL
                                            : mpi ? "mpi"
                                                  : s->args->value[OPT_backend],
                                 .module = mpi ? world->module : NULL,
                                 .interrupt = mpi ? cli_told_to_end() : NULL,
                                 .strict = !whole && s->args->value[OPT_strict] != NULL,
                                 .sink = watch,
                                 .sink_user = s};
    return mw_launch(&options, program, s);
}

/* ---- the check --------------------------------------------------------------------------------
 */

typedef struct checked {
    bool same;
    double worst; /* the largest difference, as a share of the largest value there */
    int result;   /* where it is */
    int64_t element;
} checked;

/* What the dtype rounds, for sums of a few hundred terms in another order. */
static double allowed(mw_dtype dtype)
{
    switch (dtype) {
    case MW_DTYPE_f64:
        return 1e-12;
    case MW_DTYPE_f32:
        return 2e-5;
    case MW_DTYPE_f16:
        return 4e-3;
    case MW_DTYPE_bf16:
        return 3e-2;
    default:
        return 0;
    }
}

static void compare(const exec_result *a, const exec_result *b, int at, checked *c)
{
    double scale = 0;
    for (int64_t k = 0; k < b->count; k++)
        if (isfinite(b->value[k]) && fabs(b->value[k]) > scale) scale = fabs(b->value[k]);
    double least = allowed(b->dtype);
    for (int64_t k = 0; k < b->count; k++) {
        double x = a->value[k], y = b->value[k];
        if (a->whole && b->whole && a->whole[k] != b->whole[k] && x == y) y = HUGE_VAL;
        if (x == y || (isnan(x) && isnan(y))) continue;
        double off = isfinite(x) && isfinite(y) ? fabs(x - y) / (scale > 1 ? scale : 1) : HUGE_VAL;
        if (off > least) c->same = false;
        if (off > c->worst) *c = (checked){c->same, off, at, k};
    }
}

/* ---- the command ------------------------------------------------------------------------------
 */

static int finish(exec_state *s, const checked *c)
{
    const cli_args *args = s->args;
    int code = c && !c->same ? EXIT_NO : 0;
    if (!cli_first(args)) return 0; /* the first rank prints */
    if (args->json) {
        json_t *o = exec_object(s);
        if (o && c)
            (void)json_object_set_new(
                o, "check",
                json_pack("{s:b, s:f}", "same", c->same, "largest_difference", c->worst));
        return cli_print(args, o, code);
    }
    exec_print(s);
    if (c && c->same) printf("check: the same on one rank (largest difference %.2g)\n", c->worst);
    if (c && !c->same)
        printf("check: DIFFERS from one rank: %%%s, element %lld, by %.2g of the largest value\n",
               mw_graph_result_name(s->graph, c->result), (long long)c->element, c->worst);
    int failed = cli_flush();
    return failed ? failed : code;
}

/* There is nobody to give a parameter its data but the program itself. */
static mw_status has_data(const mw_graph *graph, const char *path)
{
    for (int i = 0; i < mw_graph_parameters(graph); i++) {
        mw_parameter parameter = mw_graph_parameter(graph, i);
        char type[512];
        if (parameter.bound || mw_graph_inputs(graph) == 0) continue;
        (void)mw_layout_print(parameter.mesh, parameter.layout, type, sizeof type);
        (void)mw_error_set(MW_ERR_ARG, "%s: parameter %%%s has no data", path, parameter.name);
        mw_error_hint("state some: %%%.60s: %.160s = tensor(...), or randn([...], seed=1)",
                      parameter.name, type);
        return MW_ERR_ARG;
    }
    return MW_OK;
}

static mw_status open_graph(const exec_state *s, const char *path, mw_graph **ret)
{
    char *text;
    int64_t length;
    mw_status status = cli_read_file(path, &text, &length);
    if (status != MW_OK) return status;
    status = mw_graph_parse(text, path, s->args->value[OPT_mesh], ret);
    mw_memory_free(text, (size_t)length + 1);
    if (status != MW_OK) return status;
    if (!mw_graph_mesh(*ret)) {
        (void)mw_error_set(MW_ERR_ARG, "%s states no mesh", path);
        mw_error_hint("state one, mesh @m = [x=2], or give --mesh");
        return MW_ERR_ARG;
    }
    return has_data(*ret, path);
}

/* The program as it was written, on one rank: passes made it for its mesh. */
static mw_status check(exec_state *s, checked *ret)
{
    exec_result *sharded = s->result;
    mw_graph *run = s->graph;
    s->result = NULL;
    s->graph = NULL;
    mw_status status = open_graph(s, s->args->positional[0], &s->graph);
    if (status == MW_OK) status = launch(s, true);
    mw_graph_free(s->graph);
    s->graph = run;
    *ret = (checked){.same = true};
    for (int i = 0; i < s->nresult && status == MW_OK; i++)
        if (sharded[i].value && s->result[i].value) compare(&sharded[i], &s->result[i], i, ret);
    free_results(s->result, s->nresult);
    s->result = sharded;
    return status;
}

int cmd_exec(const cli_args *args)
{
    if (args->npositional != 1) return cli_usage(args, "exec: expected a FILE");
    const char *backend = args->value[OPT_backend];
    if (args->value[OPT_check] && backend && strcmp(backend, "fake") == 0)
        return cli_usage(args, "--check compares values, and --backend fake has none");
    exec_state s = {.args = args};
    checked c;
    bool compared = args->value[OPT_check] != NULL && cli_first(args);
    mw_status status = open_graph(&s, args->positional[0], &s.graph);
    if (status == MW_OK) s.nresult = mw_graph_results(s.graph);
    if (status == MW_OK && args->value[OPT_passes]) status = cli_passes(s.graph, args, NULL, NULL);
    if (status == MW_OK) status = check_world(&s);
    if (status == MW_OK) status = launch(&s, false);
    if (status == MW_OK && s.lost) status = mw_error_set(MW_ERR_NOMEM, "out of memory");
    if (status == MW_OK && compared) status = check(&s, &c);
    int code = status == MW_OK ? finish(&s, compared ? &c : NULL) : cli_report(args);
    free_results(s.result, s.nresult);
    if (s.move) mw_memory_free(s.move, (size_t)s.cap_move * sizeof *s.move);
    mw_graph_free(s.graph);
    return code;
}
