/* Reshapes and permutations by other names: flatten, unflatten, movedim, swapaxes. Layouts are
 * regrouped as those of a view are, or their dims take other places. */
#include "ops/op.h"
#include "ops/rule_parts.h"

/* The shard's elements keep their order, whatever the global shape was. */
static mw_status regroup_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    (void)call, (void)nth;
    if (!mw__view_reshape(in, out->ndim, out->shape, out->stride))
        return MW_ERR_UNSUPPORTED; /* no record: the caller copies and asks again */
    out->data = in->data;
    out->dtype = in->dtype;
    return MW_OK;
}

/* ---- flatten ---------------------------------------------------------------------------------
 */

static mw_status flatten_shape(const mw_call_args *call, mw_meta *ret_out)
{
    const mw_meta *self = &call->in[0];
    mw_meta out = {.dtype = self->dtype};
    int first = 0, last = 0;
    MW_TRY(mw__arg_dim(call, 1, self->ndim, &first));
    MW_TRY(mw__arg_dim(call, 2, self->ndim, &last));
    if (first > last)
        return MW_FAIL(MW_ERR_SHAPE, "flatten: start_dim %d stands behind end_dim %d", first, last);
    if (self->ndim == 0) out.shape[out.ndim++] = 1;
    for (int d = 0; d < self->ndim; d++) {
        if (d > first && d <= last)
            MW_TRY(mw__mul_size(out.shape[out.ndim - 1], self->shape[d], &out.shape[out.ndim - 1]));
        else
            out.shape[out.ndim++] = self->shape[d];
    }
    *ret_out = out;
    return MW_OK;
}

const mw_op mw_op_flatten_using_ints = {
    .schema = "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> "
              "Tensor(a)",
    .doc = "Neighbouring dims as one.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = regroup_view,
    .reshape = flatten_shape,
    .samples = "f32[4, 6]; f64[2, 3, 4], 1; f32[2, 3, 4, 5], 1, 2; bf16[8], 0, 0; f32[]; "
               "i64[6, 2]<9, -2, -1; f32[0, 3]",
};

/* ---- unflatten -------------------------------------------------------------------------------
 */

static mw_status unflatten_shape(const mw_call_args *call, mw_meta *ret_out)
{
    const mw_meta *self = &call->in[0];
    const mw_arg *sizes = &call->arg[2];
    mw_meta out = {.dtype = self->dtype};
    char text[MW_META_TEXT];
    int dim = 0, open = -1;
    int64_t known = 1;
    MW_TRY(mw__arg_dim(call, 1, self->ndim, &dim));
    if (self->ndim == 0 || sizes->count == 0 || self->ndim - 1 + sizes->count > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "unflatten: %s cannot have %d sizes in place of a dim",
                       mw__meta_text(self, text), sizes->count);
    for (int d = 0; d < self->ndim; d++) {
        if (d != dim) {
            out.shape[out.ndim++] = self->shape[d];
            continue;
        }
        for (int i = 0; i < sizes->count; i++) {
            if (sizes->ints[i] == -1 && open < 0)
                open = out.ndim;
            else if (sizes->ints[i] < 0)
                return MW_FAIL(MW_ERR_SHAPE, "unflatten: a size is negative, or two are -1");
            else
                MW_TRY(mw__mul_size(known, sizes->ints[i], &known));
            out.shape[out.ndim++] = sizes->ints[i];
        }
    }
    int64_t whole = self->shape[dim];
    if (open >= 0 && known > 0) out.shape[open] = whole / known;
    if (open >= 0 ? known == 0 || whole % known : known != whole)
        return MW_FAIL(MW_ERR_SHAPE, "unflatten: the sizes do not multiply to %lld, dim %d of %s",
                       (long long)whole, dim, mw__meta_text(self, text));
    *ret_out = out;
    return MW_OK;
}

const mw_op mw_op_unflatten_int = {
    .schema = "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
    .doc = "One dim as several.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = regroup_view,
    .reshape = unflatten_shape,
    .samples = "f32[4, 6], 1, [2, 3]; f64[2, 12], -1, [3, -1]; bf16[8], 0, [2, 2, 2]; "
               "i64[6, 2]<9, 0, [6]; f32[0, 3], 0, [0, 4]",
};

/* ---- dims in another order -------------------------------------------------------------------
 */

/* order[d]: the operand's dim that becomes dim d. */
static mw_status movedim_order(const mw_call_args *call, int *order)
{
    int ndim = call->in[0].ndim, from = 0, to = 0, n = 0;
    MW_TRY(mw__arg_dim(call, 1, ndim, &from));
    MW_TRY(mw__arg_dim(call, 2, ndim, &to));
    for (int d = 0; d < ndim; d++) {
        if (d == to) {
            order[d] = from;
            continue;
        }
        if (n == from) n++;
        order[d] = n++;
    }
    return MW_OK;
}

static mw_status movedim_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    int order[MW_MAX_DIMS] = {0};
    (void)arena;
    MW_TRY(movedim_order(call, order));
    int first = mw__rule_letters(rule, &rule->in[0], &call->in[0], "i", MW_MARK_FREE);
    for (int d = 0; d < call->in[0].ndim; d++)
        mw__rule_push(&rule->out[0], first + order[d]);
    return MW_OK;
}

static mw_status movedim_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    int order[MW_MAX_DIMS] = {0};
    (void)nth;
    MW_TRY(movedim_order(call, order));
    out->data = in->data;
    out->dtype = in->dtype;
    for (int d = 0; d < in->ndim; d++)
        out->stride[d] = in->stride[order[d]];
    return MW_OK;
}

const mw_op mw_op_movedim_int = {
    .schema = "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    .doc = "One dim at another place, the others in their order.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = movedim_view,
    .factors = movedim_factors,
    .samples = "f32[4, 6], 0, 1; f64[2, 3, 4], -1, 0; bf16[2, 3, 4, 5], 1, 3; f32[3], 0, 0; "
               "i64[0, 3]<9, 1, 0",
};
