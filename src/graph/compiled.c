/* Functions that run as programs: captured on first use, kept by the types of what they are called
 * with, checked on every call. */
#include "graph/capture.h"
#include "graph/frozen.h"
#include "graph/passes.h"
#include "graph/program.h"

#include <meshwise/graph.h>
#include <stdio.h>

/* A tensor from outside as it was when the program was made. */
typedef struct bound {
    mw_tensor *tensor;
    const mw_ttype *type;
    const mw_storage *storage;
} bound;

typedef struct version {
    struct version *next; /* older */
    mw_graph *graph;
    mw_program *program;
    const mw_ttype **type; /* [nin] */
    int *shares;           /* [nin] with what each input shares memory */
    bound *bound;          /* [nbound] */
    int nbound;
    bool writes;        /* into an input, or into a tensor from outside */
    mw_tensor **result; /* [nresult] room for the function's, and for handles that it re-places */
    int nresult;
    int64_t nodes;
} version;

enum { VERSIONS = 16 };

struct mw_compiled {
    const char *name;
    mw_function f;
    void *user;
    int nin, nout;
    version *version; /* the last used first */
    int nversion, compilations;
    mw_frozen *frozen; /* NULL: tensors from outside may be written */
    char why[512];
    double seconds;
};

/* ---- looking up -------------------------------------------------------------------------------
 */

/* With what input i shares its memory: an input before it, which may be the same handle, or, where
 * it matters, a tensor from outside; 0: with nothing. */
static int shared_with(const mw_compiled *c, const version *v, mw_tensor *const *in, int i)
{
    for (int k = 0; k < i; k++)
        if (in[k] == in[i]) return 2 * k + 1;
    for (int k = 0; k < i && v->writes && in[i]->storage; k++)
        if (in[k]->storage == in[i]->storage) return 2 * k + 2;
    for (int k = 0; k < v->nbound && v->writes && in[i]->storage; k++)
        if (v->bound[k].storage == in[i]->storage) return 2 * (c->nin + k) + 2;
    return 0;
}

/* The first input or tensor from outside that differs: -1 none; inputs first. */
static int differs(const mw_compiled *c, const version *v, mw_tensor *const *in)
{
    for (int i = 0; i < c->nin; i++)
        if (v->type[i] != in[i]->type || v->shares[i] != shared_with(c, v, in, i)) return i;
    for (int i = 0; i < v->nbound; i++)
        if (v->bound[i].type != v->bound[i].tensor->type ||
            v->bound[i].storage != v->bound[i].tensor->storage)
            return c->nin + i;
    return -1;
}

static version *find(mw_compiled *c, mw_tensor *const *in)
{
    for (version **at = &c->version; *at; at = &(*at)->next) {
        version *v = *at;
        if (differs(c, v, in) >= 0) continue;
        *at = v->next;
        v->next = c->version;
        c->version = v;
        return v;
    }
    return NULL;
}

static void say_why(mw_compiled *c, mw_tensor *const *in)
{
    const version *v = c->version;
    if (!v) {
        (void)snprintf(c->why, sizeof c->why, "the first call");
        return;
    }
    int i = differs(c, v, in);
    const mw_ttype *was = i < c->nin ? v->type[i] : v->bound[i - c->nin].type;
    const mw_ttype *is = i < c->nin ? in[i]->type : v->bound[i - c->nin].tensor->type;
    const char *name = i < c->nin ? in[i]->name : v->bound[i - c->nin].tensor->name;
    mw_str a = {0}, b = {0};
    mw__layout_str(was->mesh, &was->layout, &a);
    mw__layout_str(is->mesh, &is->layout, &b);
    if (was == is && i < c->nin)
        mw__str_puts(&b, v->shares[i] ? ", in other memory" : ", in memory that is another's too");
    else if (was == is)
        mw__str_puts(&b, ", in other memory");
    else if (strcmp(mw__str_text(&a), mw__str_text(&b)) == 0)
        mw__str_puts(&b, ", with other strides");
    (void)snprintf(c->why, sizeof c->why, "%s %d%s%s%s was %s, is %s",
                   i < c->nin ? "input" : "tensor from outside", i < c->nin ? i : i - c->nin,
                   name ? " (" : "", name ? name : "", name ? ")" : "", mw__str_text(&a),
                   mw__str_text(&b));
    mw__str_done(&a);
    mw__str_done(&b);
}

/* ---- compiling --------------------------------------------------------------------------------
 */

static void free_version(const mw_compiled *c, version *v)
{
    mw_rank *rank = mw__ctx_get()->rank;
    if (!v) return;
    if (rank) mw__program_free(rank, v->program);
    if (rank && v->graph) mw__capture_unbind(rank, v->graph);
    mw__graph_free(v->graph);
    mw__free(v->type, (size_t)(c->nin + 1) * sizeof *v->type);
    mw__free(v->bound, (size_t)(v->nbound + 1) * sizeof *v->bound);
    mw__free(v->shares, (size_t)(c->nin + 1) * sizeof *v->shares);
    mw__free(v->result, (size_t)v->nresult * sizeof *v->result);
    mw__free(v, sizeof *v);
}

static mw_status keep_inputs(const mw_compiled *c, version *v, mw_tensor *const *in)
{
    int count = 0, at = 0;
    for (const mw_node *n = v->graph->first; n && n->kind == MW_NODE_INPUT; n = n->next) {
        count += n->bound != NULL;
        v->writes = v->writes || n->out[0]->mutated;
    }
    v->bound = mw__zalloc((size_t)(count + 1) * sizeof *v->bound);
    if (!v->bound) return MW_NOMEM();
    v->nbound = count;
    v->nresult = c->nout + v->graph->nreplaced + 1;
    v->result = mw__zalloc((size_t)v->nresult * sizeof *v->result);
    if (!v->result) return MW_NOMEM();
    for (const mw_node *n = v->graph->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (n->bound) {
            mw_tensor *t = n->bound;
            v->bound[at++] = (bound){t, t->type, t->storage};
        }
    for (int i = 0; i < c->nin; i++)
        v->shares[i] = shared_with(c, v, in, i);
    return MW_OK;
}

static mw_status capture_version(mw_compiled *c, mw_rank *rank, mw_site site, version *v,
                                 mw_tensor *const *in)
{
    mw_layout *layout = mw__alloc((size_t)(c->nin + 1) * sizeof *layout);
    if (!layout) return MW_NOMEM();
    for (int i = 0; i < c->nin; i++) {
        v->type[i] = in[i]->type;
        layout[i] = in[i]->type->layout;
    }
    mw_mesh *mesh = c->nin ? in[0]->type->mesh : rank->mesh;
    mw_status status = mw__capture(rank, site, c->name, c->f, c->user, mesh, layout, c->nin,
                                   c->nout, in, &v->graph);
    mw__free(layout, (size_t)(c->nin + 1) * sizeof *layout);
    for (mw_node *n = status == MW_OK ? v->graph->first : NULL; n && n->kind == MW_NODE_INPUT;
         n = n->next)
        n->out[0]->stated = true; /* it lies as it lies */
    return status;
}

static mw_status compile(mw_compiled *c, mw_rank *rank, mw_site site, mw_tensor *const *in,
                         version *v)
{
    v->type = mw__zalloc((size_t)(c->nin + 1) * sizeof *v->type);
    v->shares = mw__zalloc((size_t)(c->nin + 1) * sizeof *v->shares);
    if (!v->type || !v->shares) return MW_NOMEM();
    MW_TRY(capture_version(c, rank, site, v, in));
    MW_TRY(keep_inputs(c, v, in));
    v->nodes = v->graph->nnode;
    MW_TRY(mw_graph_pass(v->graph, "all"));
    MW_TRY(mw__program_new(rank, v->graph, in, c->nin, &v->program));
    return c->frozen ? mw__program_freeze(v->program, c->frozen) : MW_OK;
}

/* Do all ranks have the same program? By a hash of its text, before anything of it moves. */
static mw_status agree(const mw_compiled *c, const mw_rank *rank, const version *v)
{
    if (rank->fake || rank->mesh->nrank == 1) return MW_OK;
    mw_str text = {0};
    mw__graph_print(v->graph, &text);
    mw_status status = mw__str_status(&text);
    uint64_t mine = status == MW_OK ? mw__hash(1, text.at, text.length) : 0;
    mw__str_done(&text);
    MW_TRY(status);
    size_t size = (size_t)rank->mesh->nrank * sizeof(uint64_t);
    uint64_t *all = mw__zalloc(size);
    if (!all) return MW_NOMEM();
    status = mw_gather_bytes(&mine, sizeof mine, all);
    for (int r = 0; r < rank->mesh->nrank && status == MW_OK; r++)
        if (all[r] != all[0])
            status = MW_FAIL(MW_ERR_COMM, "%s: rank %d has compiled another program than rank 0",
                             c->name, r);
    if (status == MW_ERR_COMM)
        mw__error_hint(
            "the function must do the same on every rank: what it does may not depend on "
            "the rank, on time or on data");
    mw__free(all, size);
    return status;
}

static mw_status new_version(mw_compiled *c, mw_rank *rank, mw_site site, mw_tensor *const *in,
                             version **ret)
{
    say_why(c, in);
    double began = mw__now();
    version *v = mw__zalloc(sizeof *v);
    if (!v) return MW_NOMEM();
    mw_status status = compile(c, rank, site, in, v);
    if (status == MW_OK) status = agree(c, rank, v);
    if (status != MW_OK) {
        free_version(c, v);
        return status;
    }
    if (c->nversion == VERSIONS) { /* the one that was used longest ago goes */
        version **last = &c->version;
        while ((*last)->next)
            last = &(*last)->next;
        free_version(c, *last);
        *last = NULL;
        c->nversion--;
    }
    v->next = c->version;
    c->version = v;
    c->nversion++;
    c->compilations++;
    c->seconds = mw__now() - began;
    *ret = v;
    return MW_OK;
}

/* ---- the public side --------------------------------------------------------------------------
 */

mw_status mw_compile(const char *name, mw_function f, void *user, int nin, int nout,
                     mw_compiled **ret)
{
    if (!f || nin < 0 || nout < 0)
        return MW_FAIL(MW_ERR_ARG, "compile needs a function, and no negative counts");
    mw_compiled *c = mw__zalloc(sizeof *c);
    if (!c) return MW_NOMEM();
    *c =
        (mw_compiled){.name = name ? name : "main", .f = f, .user = user, .nin = nin, .nout = nout};
    *ret = c;
    return MW_OK;
}

mw_status mw_compiled_freeze(mw_compiled *c)
{
    if (c->frozen) return MW_OK;
    if (c->version)
        return MW_FAIL(MW_ERR_ARG, "%s: to be frozen, a function must not have been compiled yet",
                       c->name);
    return mw__frozen_new(&c->frozen);
}

void mw_compiled_free(mw_compiled *c)
{
    if (!c) return;
    while (c->version) {
        version *v = c->version;
        c->version = v->next;
        free_version(c, v);
    }
    mw__frozen_free(c->frozen);
    mw__free(c, sizeof *c);
}

/* Handles that the function re-places are the caller's: they follow. */
static mw_status run_and_replace(const mw_compiled *c, mw_rank *rank, const version *v,
                                 mw_tensor *const *in, mw_tensor **out)
{
    MW_TRY(mw__program_run(rank, v->program, in, c->nin, v->result));
    if (c->nout) memcpy(out, v->result, (size_t)c->nout * sizeof(mw_tensor *));
    for (int i = v->graph->nreplaced - 1; i >= 0; i--) { /* the last that the scope got */
        mw_tensor *now = v->result[c->nout + i];
        int which = v->graph->replaced[i];
        if (rank->nowned > 0 && rank->owned[rank->nowned - 1] == now)
            rank->nowned--; /* the handle that it becomes alone looks into its memory */
        else
            now->refs++;
        mw__tensor_rebind(rank, which >= 0 ? in[which] : v->bound[-1 - which].tensor, now);
    }
    return MW_OK;
}

static mw_status check_inputs(const mw_compiled *c, const mw_rank *rank, mw_tensor *const *in)
{
    for (int i = 0; i < c->nin; i++)
        if (!in[i])
            return rank->ctx.error.code != MW_OK
                       ? rank->ctx.error.code
                       : MW_FAIL(MW_ERR_ARG, "%s: input %d is NULL", c->name, i);
    return MW_OK;
}

static mw_status version_for(mw_compiled *c, mw_rank *rank, mw_site site, mw_tensor *const *in,
                             version **ret)
{
    *ret = find(c, in);
    if (*ret) return MW_OK;
    mw_status status = new_version(c, rank, site, in, ret);
    return status == MW_ERR_NOMEM ? mw__rank_failed(rank, status) : status;
}

mw_status mw_compiled_prepare_at(mw_site site, mw_compiled *c, mw_tensor *const *in)
{
    version *v;
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    MW_TRY(check_inputs(c, rank, in));
    return rank->recorder ? MW_OK : version_for(c, rank, site, in, &v);
}

mw_status mw_compiled_call_at(mw_site site, mw_compiled *c, mw_tensor *const *in, mw_tensor **out)
{
    version *v;
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    MW_TRY(check_inputs(c, rank, in));
    if (rank->recorder) return c->f(c->user, in, out); /* part of what is being captured */
    MW_TRY(version_for(c, rank, site, in, &v));
    if (!v->graph->nreplaced) return mw__program_run(rank, v->program, in, c->nin, out);
    return run_and_replace(c, rank, v, in, out);
}

mw_compiled_facts mw_compiled_facts_get(const mw_compiled *c)
{
    const version *v = c->version;
    return (mw_compiled_facts){.compilations = c->compilations,
                               .why = c->why,
                               .seconds = c->seconds,
                               .nodes = v ? (int)v->nodes : 0,
                               .steps = v ? mw__program_steps(v->program) : 0,
                               .halves = v ? mw__program_halves(v->program) : 0,
                               .fused = v ? mw__program_fused(v->program) : 0,
                               .arena_bytes = v ? mw__program_bytes(v->program) : 0,
                               .frozen_bytes = c->frozen ? mw__frozen_bytes(c->frozen) : 0};
}

mw_graph *mw_compiled_graph(const mw_compiled *c)
{
    return c->version ? c->version->graph : NULL;
}

mw_status mw_capture_at(mw_site site, const char *name, mw_function f, void *user, mw_mesh *mesh,
                        const char *const *in, int nin, int nout, mw_graph **ret)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    if (!mesh) mesh = rank->mesh;
    mw_layout *layout = mw__alloc((size_t)(nin + 1) * sizeof *layout);
    if (!layout) return mw__rank_failed(rank, MW_NOMEM());
    mw_status status = MW_OK;
    for (int i = 0; i < nin && status == MW_OK; i++) {
        status = mw_layout_parse(mesh, in[i], &layout[i]);
        if (status == MW_OK && layout[i].dtype == MW_DTYPE_NONE)
            status = MW_FAIL(MW_ERR_ARG, "capture: input %d: %s states no dtype", i, in[i]);
    }
    if (status == MW_OK)
        status = mw__capture(rank, site, name, f, user, mesh, layout, nin, nout, NULL, ret);
    mw__free(layout, (size_t)(nin + 1) * sizeof *layout);
    return status;
}
