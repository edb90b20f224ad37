/* Merging and ordering the dims of several views. Everything is on the stack and linear in the
 * number of dims, because a tiny tensor pays this on every op. */
#include "tensor/nest.h"

/* The stride of `view` in bytes along dim `dim` of a shape of `ndim` dims: 0 where it broadcasts.
 */
static int64_t stride_along(const mw_view *view, int ndim, int dim, int64_t bytes)
{
    int own = dim - (ndim - view->ndim);
    return own < 0 || view->shape[own] == 1 ? 0 : view->stride[own] * bytes;
}

static void swap_dims(mw__nest *nest, int a, int b)
{
    int64_t size = nest->size[a];
    nest->size[a] = nest->size[b], nest->size[b] = size;
    for (int v = 0; v < nest->nview; v++) {
        int64_t stride = nest->stride[v][a];
        nest->stride[v][a] = nest->stride[v][b], nest->stride[v][b] = stride;
    }
}

/* Larger strides of the first view outside; equal ones keep their order. */
static void order_dims(mw__nest *nest)
{
    for (int i = 1; i < nest->ndim; i++)
        for (int d = i; d > 0 && nest->stride[0][d - 1] < nest->stride[0][d]; d--)
            swap_dims(nest, d - 1, d);
}

static bool mergeable(const mw__nest *nest, int outer, int inner)
{
    for (int v = 0; v < nest->nview; v++)
        if (nest->stride[v][outer] != nest->stride[v][inner] * nest->size[inner]) return false;
    return true;
}

static void merge_dims(mw__nest *nest)
{
    int last = 0;
    for (int d = 1; d < nest->ndim; d++) {
        bool merge = mergeable(nest, last, d);
        int64_t size = merge ? nest->size[last] * nest->size[d] : nest->size[d];
        last += !merge;
        nest->size[last] = size;
        for (int v = 0; v < nest->nview; v++)
            nest->stride[v][last] = nest->stride[v][d];
    }
    nest->ndim = last + 1;
}

bool mw__nest_init(mw__nest *nest, const mw_view *const *view, int nview)
{
    const mw_view *first = view[0];
    int64_t bytes[MW_NEST_VIEWS];
    nest->nview = nview;
    nest->ndim = 0;
    for (int v = 0; v < nview; v++) {
        nest->at[v] = view[v]->data;
        bytes[v] = mw_dtype_size(view[v]->dtype);
    }
    for (int d = 0; d < first->ndim; d++) {
        if (first->shape[d] == 0) return false;
        if (first->shape[d] == 1) continue;
        int n = nest->ndim++;
        nest->size[n] = first->shape[d];
        nest->index[n] = 0;
        for (int v = 0; v < nview; v++)
            nest->stride[v][n] = stride_along(view[v], first->ndim, d, bytes[v]);
    }
    if (nest->ndim == 0) {
        nest->ndim = 1;
        nest->size[0] = 1;
        for (int v = 0; v < nview; v++)
            nest->stride[v][0] = 0;
    } else if (nest->ndim > 1) {
        order_dims(nest);
        merge_dims(nest);
    }
    for (int v = 0; v < nview; v++)
        nest->row_stride[v] = nest->stride[v][nest->ndim - 1] / bytes[v];
    return true;
}

bool mw__nest_next(mw__nest *nest)
{
    for (int d = nest->ndim - 2; d >= 0; d--) {
        bool more = ++nest->index[d] < nest->size[d];
        int64_t steps = more ? 1 : 1 - nest->size[d];
        if (!more) nest->index[d] = 0;
        for (int v = 0; v < nest->nview; v++)
            nest->at[v] += steps * nest->stride[v][d];
        if (more) return true;
    }
    return false;
}
