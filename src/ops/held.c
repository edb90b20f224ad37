/* Which positions of a dim a rank holds. */
#include "ops/held.h"
#include "ops/rule_parts.h"

mw_status mw__held_of(const mw_kernel_call *k, int operand, int dim, mw__held *ret)
{
    const mw_layout *layout = k->in_layout ? k->in_layout[operand] : NULL;
    ret->size = k->call->in[operand].shape[dim];
    return mw__kernel_ranges(k, layout, dim, ret->size, &ret->range, &ret->count);
}

int64_t mw__held_local(const mw__held *rows, int64_t position)
{
    int64_t before = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (position < rows->range[r].first) return -1;
        if (position < rows->range[r].end) return before + position - rows->range[r].first;
        before += rows->range[r].end - rows->range[r].first;
    }
    return -1;
}

mw_status mw__held_indices(const mw_kernel_call *k, int operand, int64_t size, bool wraps,
                           const char *what, const int64_t **ret, int64_t *ret_count)
{
    const mw_view *from = &k->in[operand];
    char text[MW_META_TEXT];
    if (mw_dtype_kind_of(from->dtype) != MW_KIND_INT)
        return MW_FAIL(MW_ERR_ARG, "%s: %s is %s: it must hold integers", mw__call_name(k->call),
                       mw__operand_name(k->call, operand),
                       mw__meta_text(&k->call->in[operand], text));
    int64_t count = mw__view_count(from);
    int64_t *index = mw__arena_alloc(k->scratch, (size_t)count * sizeof *index);
    if (!index) return MW_NOMEM();
    mw_view to;
    mw__view_set(&to, MW_DTYPE_i64, from->ndim, from->shape);
    to.data = index;
    mw__view_copy(&to, from);
    for (int64_t i = 0; i < count; i++) {
        if (wraps && index[i] < 0 && index[i] >= -size) index[i] += size;
        if (index[i] < 0 || index[i] >= size)
            return MW_FAIL(MW_ERR_ARG, "%s: index %lld is outside %s of size %lld",
                           mw__call_name(k->call), (long long)index[i], what, (long long)size);
    }
    *ret = index;
    *ret_count = count;
    return MW_OK;
}
