/* Runs a graph op by op through the eager dispatcher: what the program means. */
#include "graph/graph.h"
#include "run/run.h"

#include <math.h>
#include <meshwise/ops.h>

typedef struct runner {
    mw_rank *rank;
    const mw_graph *graph;
    bool whole;         /* layouts are passed over */
    mw_tensor **tensor; /* [nvalue] by id */
    mw_arena arena;
} runner;

/* ---- constants --------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* In (0, 1), by seed and index alone (splitmix64, as a function of a counter). */
static double uniform(uint64_t seed, uint64_t index)
{
    return ((double)(mix(mix(seed) + index) >> 11) + 0.5) * 0x1p-53;
}

double mw__fill_at(mw_fill fill, uint64_t seed, int64_t index)
{
    if (fill == MW_FILL_RAND) return uniform(seed, (uint64_t)index);
    double u = uniform(seed, 2 * (uint64_t)index), v = uniform(seed, 2 * (uint64_t)index + 1);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v); /* Box and Muller's transform */
}

static void draw(const mw_node *node, mw_dtype dtype, int64_t count, char *to)
{
    int64_t size = mw_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++)
        mw__element_set(to + i * size, dtype, mw__fill_at(node->fill, node->seed, i));
}

/* Whole on every rank of `mesh`. */
static mw_tensor *whole_const(const mw_node *node, mw_mesh *mesh)
{
    mw_meta meta = mw__ssa_meta(node->out[0]);
    const void *data = node->data;
    int64_t count = mw__layout_count(&node->out[0]->layout);
    size_t size = (size_t)(count * mw_dtype_size(meta.dtype)) + 1;
    char *drawn = NULL;
    if (node->fill != MW_FILL_DATA) {
        drawn = mw__alloc(size);
        if (!drawn) {
            (void)MW_NOMEM();
            return NULL;
        }
        draw(node, meta.dtype, count, drawn);
        data = drawn;
    }
    mw_tensor *t =
        mw_from_data_at(node->site, meta.dtype, meta.shape, meta.ndim, data, mesh, "replicated");
    mw__free(drawn, size);
    return t;
}

mw_status mw__const_tensor(const mw_node *node, mw_tensor **ret)
{
    *ret = whole_const(node, node->out[0]->mesh);
    return *ret ? MW_OK : mw_last_error()->code;
}

/* ---- where a value is to lie ------------------------------------------------------------------
 */

/* The stated layout, its open dims as the tensor has them where that can be said. */
static mw_layout wanted(const mw_ssa *v, const mw_layout *now)
{
    mw_layout to = v->layout, filled = to;
    uint32_t used = mw__layout_axes(&to) | mw__layout_partial_axes(&to);
    for (int d = 0; d < to.ndim; d++) {
        bool open = to.dim[d].open;
        filled.dim[d].open = to.dim[d].open = 0;
        if (open && mw__dim_whole(&to.dim[d]) && !(mw__dim_axes(&now->dim[d]) & used))
            filled.dim[d] = now->dim[d];
    }
    return filled;
}

/* Brings t, a handle of its own, to where the value's line says it lies. */
static mw_status settle(runner *r, const mw_ssa *v, const mw_node *node, mw_tensor *t)
{
    if (r->whole || !v->stated) return MW_OK;
    mw_layout to = wanted(v, &t->type->layout);
    if (mw_layout_equal(&to, &t->type->layout) && mw_mesh_same(v->mesh, t->type->mesh))
        return MW_OK;
    bool step = node->kind == MW_NODE_STEP;
    mw_reason reason = {"mark_sharding", "", v->name, !step || node->asked};
    if (node->kind == MW_NODE_OP) reason.op = mw__op_info_of(node->op)->word;
    if (step) MW_TRY(mw__node_wish(node, &r->arena, &reason.op, &reason.why));
    return mw__tensor_replace(r->rank, t, v->mesh, &to, &reason);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static mw_status run_const(runner *r, const mw_node *node)
{
    const mw_ssa *v = node->out[0];
    mw_tensor *t = whole_const(node, r->whole ? r->rank->mesh : v->mesh);
    if (!t) return mw_last_error()->code;
    r->tensor[v->id] = mw_tensor_name(t, v->name);
    return settle(r, v, node, t);
}

static mw_status run_op(runner *r, const mw_node *node)
{
    mw_value args[MW_SCHEMA_ARGS];
    mw_tensor **in =
        mw__arena_alloc(&r->arena, (size_t)(node->nin + node->nout + 1) * sizeof(mw_tensor *));
    if (!in) return MW_NOMEM();
    mw_tensor **out = in + node->nin;
    for (int i = 0; i < node->nin; i++)
        in[i] = r->tensor[node->in[i]->id];
    for (int i = 0; i < node->narg; i++)
        args[i] = mw__value_of(&node->arg[i], in);
    int n;
    r->rank->site = node->site;
    MW_TRY(mw__dispatch(r->rank, node->op, args, node->narg, out, node->nout, &n));
    for (int i = 0; i < node->nout; i++) {
        r->tensor[node->out[i]->id] = mw_tensor_name(out[i], node->out[i]->name);
        MW_TRY(settle(r, node->out[i], node, out[i]));
    }
    return MW_OK;
}

/* Another handle on the same memory, then re-placed: the operand's own handle stays. What is
 * redistributed has memory of its own, whether or not anything moves. */
static mw_status run_move(runner *r, const mw_node *node)
{
    const mw_ssa *v = node->out[0];
    mw_tensor *t, *from = r->tensor[node->in[0]->id];
    MW_TRY(mw__tensor_again(r->rank, from, &t));
    r->tensor[v->id] = mw_tensor_name(t, v->name);
    r->rank->site = node->site;
    MW_TRY(settle(r, v, node, t));
    if (node->kind == MW_NODE_MARK && !node->own) return MW_OK;
    t->apart = false; /* it is no view, wherever it has been moved */
    if (!node->own || t->storage != from->storage) return MW_OK;
    t = mw_clone_at(node->site, t);
    r->tensor[v->id] = t ? mw_tensor_name(t, v->name) : NULL;
    return t ? MW_OK : mw_last_error()->code;
}

static mw_status wrong_input(const mw_ssa *v, const mw_tensor *t)
{
    mw_str want = {0}, got = {0};
    mw__layout_str(v->mesh, &v->layout, &want);
    mw__layout_str(t->type->mesh, &t->type->layout, &got);
    mw_status status = MW_FAIL(MW_ERR_ARG, "parameter %%%s is %s, and was given %s", v->name,
                               mw__str_text(&want), mw__str_text(&got));
    mw__str_done(&want);
    mw__str_done(&got);
    return status;
}

static mw_status run_input(runner *r, const mw_node *node, mw_tensor *given)
{
    const mw_ssa *v = node->out[0];
    mw_tensor *t = given ? given : node->bound;
    if (!t) return MW_FAIL(MW_ERR_ARG, "parameter %%%s was given no value", v->name);
    mw_meta want = mw__ssa_meta(v);
    const mw_layout *now = &t->type->layout;
    bool same = want.dtype == (mw_dtype)now->dtype && want.ndim == now->ndim;
    for (int d = 0; same && d < want.ndim; d++)
        same = mw_layout_size(now, d) == want.shape[d];
    if (!same) return wrong_input(v, t);
    mw_tensor *own;
    MW_TRY(mw__tensor_again(r->rank, t, &own));
    r->tensor[v->id] = own;
    return settle(r, v, node, own);
}

static mw_status run_nodes(runner *r, mw_tensor *const *input, int ninput)
{
    int at = 0;
    for (const mw_node *n = r->graph->first; n; n = n->next) {
        switch (n->kind) {
        case MW_NODE_INPUT:
            MW_TRY(run_input(r, n, !n->bound && at < ninput ? input[at] : NULL));
            at += !n->bound;
            break;
        case MW_NODE_CONST:
            MW_TRY(run_const(r, n));
            break;
        case MW_NODE_OP:
            MW_TRY(run_op(r, n));
            break;
        case MW_NODE_MARK:
        case MW_NODE_STEP:
            MW_TRY(run_move(r, n));
            break;
        }
    }
    return MW_OK;
}

static mw_status run(const mw_graph *graph, bool whole, mw_tensor *const *input, int ninput,
                     mw_tensor **ret)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    if (ninput != mw_graph_inputs(graph))
        return MW_FAIL(MW_ERR_ARG, "@%s takes %d tensors, and was given %d", graph->name,
                       mw_graph_inputs(graph), ninput);
    runner r = {.rank = rank, .graph = graph, .whole = whole};
    mw__arena_init(&r.arena);
    r.tensor = mw__arena_zalloc(&r.arena, (size_t)(graph->nvalue + 1) * sizeof(mw_tensor *));
    mw_status status = r.tensor ? run_nodes(&r, input, ninput) : mw__rank_failed(rank, MW_NOMEM());
    for (int i = 0; status == MW_OK && i < graph->nresult; i++)
        ret[i] = r.tensor[graph->result[i]->id];
    mw__arena_done(&r.arena);
    return status;
}

mw_status mw_graph_run(const mw_graph *graph, mw_tensor *const *input, int ninput, mw_tensor **ret)
{
    return run(graph, false, input, ninput, ret);
}

mw_status mw_graph_run_whole(const mw_graph *graph, mw_tensor *const *input, int ninput,
                             mw_tensor **ret)
{
    return run(graph, true, input, ninput, ret);
}
