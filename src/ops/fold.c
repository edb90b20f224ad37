/* The loops: an odometer over the dims that stay, within it one over those that are folded, the
 * innermost of which is cut into chunks and converted. */
#include "ops/fold.h"

#include "ops/rule_parts.h"

enum { CHUNK = 256 };

/* Steps the index over dims of `view` that are (not) in the mask; false after the last. Keeps
 * *at, the offset in elements. */
static bool step(const mw_view *view, uint32_t mask, int64_t *index, int64_t *at)
{
    for (int d = view->ndim - 1; d >= 0; d--) {
        if (!(mask >> d & 1u)) continue;
        *at += view->stride[d];
        if (++index[d] < view->shape[d]) return true;
        *at -= view->shape[d] * view->stride[d];
        index[d] = 0;
    }
    return false;
}

static void fold_row(const mw__fold *fold, void *state, const mw_view *in, int64_t at, int64_t n,
                     int64_t stride)
{
    _Alignas(64) char buffer[CHUNK * 8];
    const char *base = in->data;
    int64_t bytes = mw_dtype_size(in->dtype);
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t some = MW_MIN(n - i, CHUNK);
        mw__row_convert(buffer, fold->load, 1, base + (at + i * stride) * bytes, in->dtype, stride,
                        some);
        fold->chunk(state, buffer, some);
    }
}

void mw__fold_run(const mw__fold *fold, void *state, const mw_view *in, uint32_t mask)
{
    int64_t index[MW_MAX_DIMS] = {0}, kept = 1, folded = 1, at = 0, n = 1, stride = 0;
    uint32_t all = (1u << in->ndim) - 1, outer = mask & all;
    for (int d = 0; d < in->ndim; d++)
        *(mask >> d & 1u ? &folded : &kept) *= in->shape[d];
    for (int d = in->ndim - 1; d >= 0; d--) { /* the row: the innermost folded dim */
        if (!(outer >> d & 1u)) continue;
        n = in->shape[d];
        stride = in->stride[d];
        outer &= ~(1u << d);
        break;
    }
    for (int64_t nth = 0; nth < kept; nth++) {
        fold->start(state, nth);
        int64_t row = at;
        do
            if (folded > 0) fold_row(fold, state, in, row, n, stride);
        while (folded > 0 && step(in, outer, index, &row));
        fold->end(state, nth);
        (void)step(in, ~mask & all, index, &at);
    }
}

mw_status mw__dims_named(const mw_call_args *call, int pos, uint32_t *ret_mask)
{
    const mw_arg *dims = &call->arg[pos];
    int ndim = call->in[0].ndim, count = dims->kind == MW_ARG_INTS ? dims->count : 1;
    uint32_t mask = 0;
    *ret_mask = (1u << ndim) - 1;
    if (dims->kind == MW_ARG_NONE || count == 0) return MW_OK;
    for (int i = 0; i < count; i++) {
        int dim;
        int64_t value = dims->kind == MW_ARG_INTS ? dims->ints[i] : dims->i;
        MW_TRY(mw__dim_in_range(call, pos, value, ndim, &dim));
        if (mask >> dim & 1u)
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d stands twice in argument 'dim'",
                           mw__call_name(call), dim);
        mask |= 1u << dim;
    }
    *ret_mask = mask;
    return MW_OK;
}

double mw__dims_count(const mw_call_args *call, uint32_t mask)
{
    double count = 1;
    for (int d = 0; d < call->in[0].ndim; d++)
        if (mask >> d & 1u) count *= (double)call->in[0].shape[d];
    return count;
}
