/* The same bytes as elements of another dtype. Of another size, elements of the last dim become
 * several, or several of them one: these stay together on a rank. It always copies: a result that
 * is sometimes a view would share memory or not by its layout. */
#include "ops/op.h"
#include "ops/rule_parts.h"

/* How the sizes relate: out is `few` times as many elements, or in is. */
static mw_status ratio(const mw_call_args *call, mw_dtype to, int64_t *ret_more, int64_t *ret_less)
{
    const mw_meta *self = &call->in[0];
    char text[MW_META_TEXT];
    int64_t from = mw_dtype_size(self->dtype), size = mw_dtype_size(to);
    *ret_more = from > size ? from / size : 1;
    *ret_less = size > from ? size / from : 1;
    if (*ret_more == 1 && *ret_less == 1) return MW_OK;
    if (self->ndim == 0 || self->shape[self->ndim - 1] % *ret_less != 0)
        return MW_FAIL(MW_ERR_SHAPE,
                       "%s: self is %s: as %s, %lld elements of its last dim would be one",
                       mw__call_name(call), mw__meta_text(self, text), mw_dtype_name(to),
                       (long long)*ret_less);
    return MW_OK;
}

static mw_status view_dtype_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    mw_dtype to = rule->out_meta[0].dtype;
    int64_t more, less;
    MW_TRY(ratio(call, to, &more, &less));
    for (int d = 0; d < self->ndim; d++) {
        bool last = d == self->ndim - 1;
        int64_t size = self->shape[d] / (last ? less : 1);
        int letter = mw__rule_letter_nth(rule, "d", d, size, MW_MARK_FREE);
        mw__rule_put(&rule->in[0], d, letter);
        mw__rule_push(&rule->out[0], letter);
        if (last && less > 1)
            mw__rule_put(&rule->in[0], d, mw__rule_letter(rule, "k", less, MW_MARK_WHOLE));
        if (last && more > 1)
            mw__rule_put(&rule->out[0], d, mw__rule_letter(rule, "k", more, MW_MARK_WHOLE));
    }
    rule->in[0].linear = self->dtype == to;
    rule->in[0].monotone = self->dtype == to;
    rule->monotone = rule->in[0].monotone;
    return MW_OK;
}

static mw_status view_dtype_kernel(const mw_kernel_call *k)
{
    mw_view same = k->in[0]; /* the result's memory, as elements of the old dtype */
    mw__view_set(&same, k->in[0].dtype, k->in[0].ndim, k->in[0].shape);
    same.data = k->out[0].data;
    mw__view_copy(&same, &k->in[0]);
    return MW_OK;
}

const mw_op mw_op_view_dtype = {
    .schema = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    .doc = "The same bytes as elements of another dtype.",
    .linear_in = MW_ARG(0), /* as the same dtype */
    .monotone = 1,
    .dtype = MW_OUT_ARG,
    .kernel = view_dtype_kernel,
    .factors = view_dtype_factors,
    .refuses = "P(*)* -> P(*): bits of a term are no term in another dtype",
    .samples = "f32[4, 6], i32; f32[4, 6], f32; f64[3, 8], f32; f32[3, 4], f64; i64[4]<9, f64; "
               "i16[2, 8]<9, i64; f32[], i32; f32[0, 2], i32; bf16[5], i16",
};
