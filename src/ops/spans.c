/* Spans are the ranges of every coordinate of the axes that cut the dim, sorted; ranks that differ
 * on other axes, or on a part of an axis that does not cut, hold the same ones. */
#include "ops/spans.h"

#include <stdlib.h>

static int by_first(const void *a, const void *b)
{
    int64_t x = ((const mw_span *)a)->first, y = ((const mw_span *)b)->first;
    return (x > y) - (x < y);
}

/* The next coordinate of the axes in the mask; false after the last. */
static bool next_coord(const mw_mesh *mesh, uint32_t axes, int *coord)
{
    for (int a = mesh->naxis - 1; a >= 0; a--) {
        if (!(axes >> a & 1u)) continue;
        if (++coord[a] < mesh->size[a]) return true;
        coord[a] = 0;
    }
    return false;
}

/* Calls for the ranges of each coordinate; with `to` NULL they are only counted. */
static int64_t all_ranges(const mw_mesh *mesh, const mw_dim *dim, mw_span *to)
{
    _Static_assert(sizeof(mw_span) == sizeof(mw_range), "a span is a range");
    int coord[MW_MESH_AXES] = {0};
    int64_t total = 0;
    uint32_t axes = mw__dim_axes(dim);
    do {
        int64_t n = mw__dim_ranges(mesh, dim, coord, NULL, 0);
        if (to) (void)mw__dim_ranges(mesh, dim, coord, (mw_range *)(void *)(to + total), n);
        total += n;
    } while (next_coord(mesh, axes, coord));
    return total;
}

mw_status mw__spans_of(const mw_mesh *mesh, const mw_dim *dim, mw_arena *arena, const mw_span **ret,
                       int64_t *ret_count)
{
    int64_t n = all_ranges(mesh, dim, NULL), bytes, kept = 0;
    MW_TRY(mw__mul_size(MW_MAX(n, 1), (int64_t)sizeof(mw_span), &bytes));
    mw_span *span = mw__arena_alloc(arena, (size_t)bytes);
    if (!span) return MW_NOMEM();
    (void)all_ranges(mesh, dim, span);
    if (n > 1) qsort(span, (size_t)n, sizeof *span, by_first);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || span[kept - 1].first != span[i].first) span[kept++] = span[i];
    *ret = span;
    *ret_count = kept;
    return MW_OK;
}

/* A dim that nothing cuts. */
static mw_status whole_span(const mw_kernel_call *k, int64_t size, mw_kernel_spans *ret)
{
    mw_span *span = mw__arena_alloc(k->scratch, sizeof *span);
    int64_t *own = mw__arena_zalloc(k->scratch, sizeof *own);
    if (!span || !own) return MW_NOMEM();
    *span = (mw_span){0, size};
    *ret = (mw_kernel_spans){span, size > 0, own, size > 0};
    return MW_OK;
}

mw_status mw__kernel_spans(const mw_kernel_call *k, int dim, mw_kernel_spans *ret)
{
    const mw_layout *layout = k->in_layout ? k->in_layout[0] : NULL;
    const mw_range *range;
    int64_t at = 0;
    if (!k->mesh || !layout || k->in[0].ndim == 0)
        return whole_span(k, k->in[0].ndim ? k->call->in[0].shape[dim] : 1, ret);
    MW_TRY(mw__spans_of(k->mesh, &layout->dim[dim], k->scratch, &ret->span, &ret->count));
    MW_TRY(mw__kernel_ranges(k, layout, dim, 0, &range, &ret->own_count));
    ret->own = mw__arena_alloc(k->scratch, (size_t)MW_MAX(ret->own_count, 1) * sizeof *ret->own);
    if (!ret->own) return MW_NOMEM();
    for (int64_t i = 0; i < ret->own_count; i++) {
        while (ret->span[at].first < range[i].first)
            at++;
        ret->own[i] = at;
    }
    return MW_OK;
}
