/* Values that constants alone make, worked out by the ops' own kernels. */
#include "graph/graph.h"

enum { MOST = 1 << 16, DEEP = 32 }; /* elements of a value; nodes in a row */

static mw_status fold(const mw_ssa *v, mw_arena *arena, int depth, mw_view *ret, bool *ret_known);

static mw_status fold_const(const mw_node *n, const mw_meta *meta, mw_arena *arena, mw_view *ret)
{
    int64_t size = mw_dtype_size(meta->dtype), count = mw__view_count(ret);
    char *data = mw__arena_alloc(arena, (size_t)(count * size) + 1);
    if (!data) return MW_NOMEM();
    for (int64_t i = 0; i < count && n->fill != MW_FILL_DATA; i++)
        mw__element_set(data + i * size, meta->dtype, mw__fill_at(n->fill, n->seed, i));
    if (n->fill == MW_FILL_DATA && count) memcpy(data, n->data, (size_t)(count * size));
    ret->data = data;
    return MW_OK;
}

static mw_status run_kernel(const mw_node *n, const mw_view *in, int nth, mw_arena *arena,
                            mw_view *ret)
{
    mw_call_args call = mw__node_call(n);
    mw_view *out = mw__arena_zalloc(arena, (size_t)(n->nout + 1) * sizeof *out);
    if (!out) return MW_NOMEM();
    for (int i = 0; i < n->nout; i++) {
        mw_meta meta = mw__ssa_meta(n->out[i]);
        mw__view_set(&out[i], meta.dtype, meta.ndim, meta.shape);
        out[i].data = mw__arena_zalloc(
            arena, (size_t)mw__view_count(&out[i]) * (size_t)mw_dtype_size(meta.dtype) + 1);
        if (!out[i].data) return MW_NOMEM();
    }
    mw_arena scratch;
    mw__arena_init(&scratch);
    mw_kernel_call k = {
        .call = &call, .nin = n->nin, .nout = n->nout, .in = in, .out = out, .scratch = &scratch};
    mw_status status = n->op->kernel(&k);
    mw__arena_done(&scratch);
    *ret = out[nth];
    return status;
}

static mw_status fold_op(const mw_ssa *v, mw_arena *arena, int depth, mw_view *ret, bool *ret_known)
{
    const mw_node *n = v->def;
    mw_view *in = mw__arena_zalloc(arena, (size_t)(n->nin + 1) * sizeof *in);
    if (!in) return MW_NOMEM();
    *ret_known = !mw__node_writes(n) && (n->op->kernel || n->op->view);
    for (int i = 0; i < n->nin && *ret_known; i++)
        MW_TRY(fold(n->in[i], arena, depth + 1, &in[i], ret_known));
    if (!*ret_known) return MW_OK;
    if (!n->op->view) return run_kernel(n, in, v->nth, arena, ret);
    mw_call_args call = mw__node_call(n);
    mw_status status = n->op->view(&call, v->nth, &in[0], ret);
    if (status != MW_ERR_UNSUPPORTED) return status;
    mw_view dense; /* these strides need a copy first */
    mw__view_set(&dense, in[0].dtype, in[0].ndim, in[0].shape);
    dense.data = mw__arena_alloc(
        arena, (size_t)mw__view_count(&dense) * (size_t)mw_dtype_size(dense.dtype) + 1);
    if (!dense.data) return MW_NOMEM();
    mw__view_copy(&dense, &in[0]);
    return n->op->view(&call, v->nth, &dense, ret);
}

static mw_status fold(const mw_ssa *v, mw_arena *arena, int depth, mw_view *ret, bool *ret_known)
{
    mw_meta meta = mw__ssa_meta(v);
    *ret_known = false;
    if (depth > DEEP || mw__layout_count(&v->layout) > MOST || v->mutated) return MW_OK;
    mw__view_set(ret, meta.dtype, meta.ndim, meta.shape);
    if (v->def->kind == MW_NODE_CONST) {
        *ret_known = true;
        return fold_const(v->def, &meta, arena, ret);
    }
    if (v->def->kind == MW_NODE_MARK || v->def->kind == MW_NODE_STEP)
        return fold(v->def->in[0], arena, depth + 1, ret, ret_known);
    return v->def->kind == MW_NODE_OP ? fold_op(v, arena, depth, ret, ret_known) : MW_OK;
}

mw_status mw__fold_ints(const mw_ssa *value, mw_arena *arena, const int64_t **ret, int *ret_count)
{
    mw_view view;
    bool known;
    *ret_count = -1;
    if (mw_dtype_kind_of((mw_dtype)value->layout.dtype) == MW_KIND_FLOAT) return MW_OK;
    MW_TRY(fold(value, arena, 0, &view, &known));
    if (!known) return MW_OK;
    int64_t n = mw__view_count(&view);
    int64_t *ints = mw__arena_alloc(arena, (size_t)(n + 1) * sizeof *ints);
    if (!ints) return MW_NOMEM();
    mw_view to;
    mw__view_set(&to, MW_DTYPE_i64, view.ndim, view.shape);
    to.data = ints;
    mw__view_copy(&to, &view);
    *ret = ints;
    *ret_count = (int)n;
    return MW_OK;
}
