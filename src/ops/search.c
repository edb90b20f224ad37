/* The order of elements: one comparison for all that search. A row is brought into one of three
 * machine types, so that there are three loops and not one per dtype. */
#include "ops/search.h"

#include <math.h>

mw_dtype mw__search_dtype(mw_dtype dtype)
{
    if (mw_dtype_kind_of(dtype) != MW_KIND_FLOAT) return MW_DTYPE_i64;
    return dtype == MW_DTYPE_f64 ? MW_DTYPE_f64 : MW_DTYPE_f32;
}

mw_status mw__search_buffer(const mw_kernel_call *k, int64_t n, void **ret)
{
    int64_t size = mw_dtype_size(mw__search_dtype(k->in[0].dtype));
    *ret = mw__arena_alloc(k->scratch, (size_t)(MW_MAX(n, 1) * size));
    return *ret ? MW_OK : MW_NOMEM();
}

mw__search_row mw__search_row_of(const mw_view *from, void *buffer)
{
    mw_dtype dtype = mw__search_dtype(from->dtype);
    const void *at = from->data;
    if (from->dtype != dtype || !mw__view_contiguous(from)) {
        mw_view to;
        mw__view_set(&to, dtype, from->ndim, from->shape);
        to.data = buffer;
        mw__view_copy(&to, from);
        at = buffer;
    }
    return (mw__search_row){dtype == MW_DTYPE_f32 ? at : NULL, dtype == MW_DTYPE_f64 ? at : NULL,
                            dtype == MW_DTYPE_i64 ? at : NULL, mw__view_count(from)};
}

bool mw__search_before(const mw__search_row *r, int64_t i, int64_t j, int sign)
{
    if (r->i64) return sign > 0 ? r->i64[i] > r->i64[j] : r->i64[i] < r->i64[j];
    double a = r->f32 ? (double)r->f32[i] : r->f64[i];
    double b = r->f32 ? (double)r->f32[j] : r->f64[j];
    if (isnan(a) || isnan(b)) return sign > 0 ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return sign > 0 ? a > b : a < b;
}

/* The same, with NaN first either way. */
static bool beats(const mw__search_row *r, int64_t i, int64_t j, int sign)
{
    if (r->i64) return mw__search_before(r, i, j, sign);
    double a = r->f32 ? (double)r->f32[i] : r->f64[i];
    double b = r->f32 ? (double)r->f32[j] : r->f64[j];
    if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
    return sign > 0 ? a > b : a < b;
}

int64_t mw__search_best(const mw__search_row *r, int sign)
{
    int64_t best = 0;
    if (r->f32 && sign > 0) { /* the long rows: logits. The negation lets a NaN through. */
        for (int64_t i = 1; i < r->n; i++)
            if (!(r->f32[i] <= r->f32[best]) && beats(r, i, best, 1)) best = i;
        return best;
    }
    for (int64_t i = 1; i < r->n; i++)
        if (beats(r, i, best, sign)) best = i;
    return best;
}

/* What is kept stays sorted; most elements are turned away by one comparison with its last. */
int64_t mw__search_first(const mw__search_row *r, int64_t k, int sign, int64_t *ret)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < r->n && k > 0; i++) {
        if (kept == k && !mw__search_before(r, i, ret[k - 1], sign)) continue;
        int64_t at = kept < k ? kept++ : k - 1;
        for (; at > 0 && mw__search_before(r, i, ret[at - 1], sign); at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return kept;
}

mw_status mw__search_positions(const mw_kernel_call *k, int dim, const int64_t **ret)
{
    *ret = NULL;
    if (!k->mesh || !k->in_layout || !k->in_layout[0] || k->in[0].ndim == 0) return MW_OK;
    if (mw__dim_whole(&k->in_layout[0]->dim[dim])) return MW_OK;
    const mw_range *range;
    int64_t count, at = 0;
    MW_TRY(mw__kernel_ranges(k, k->in_layout[0], dim, k->call->in[0].shape[dim], &range, &count));
    int64_t *position =
        mw__arena_alloc(k->scratch, (size_t)MW_MAX(k->in[0].shape[dim], 1) * sizeof *position);
    if (!position) return MW_NOMEM();
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = range[r].first; i < range[r].end && at < k->in[0].shape[dim]; i++)
            position[at++] = i;
    *ret = position;
    return MW_OK;
}
