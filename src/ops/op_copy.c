/* Copies: the same values in memory of their own, in another dtype, or in somebody else's place. */
#include "ops/elementwise.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

static mw_status copy_kernel(const mw_kernel_call *k)
{
    mw__view_copy(&k->out[0], &k->in[0]);
    return MW_OK;
}

/* Rounding keeps the order, and so does any conversion of integers that loses no high bits. */
static bool keeps_order(mw_dtype from, mw_dtype to)
{
    mw_dtype_kind kind = mw_dtype_kind_of(from);
    if (from == to || mw_dtype_kind_of(to) == MW_KIND_FLOAT) return true;
    return kind == MW_KIND_INT && mw_dtype_kind_of(to) == MW_KIND_INT &&
           mw_dtype_size(to) > mw_dtype_size(from);
}

static mw_status to_dtype_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    mw_dtype from = call->in[0].dtype, to = rule->out_meta[0].dtype;
    rule->in[0].linear = mw__dtype_widens(from, to);
    rule->monotone = keeps_order(from, to);
    return mw__rule_default(call, rule);
}

const mw_op mw_op_clone = {
    .schema = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "A copy in memory of its own.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = copy_kernel,
    .samples = "f32[4, 6]; f64[2, 3, 4]; bf16[5]; i64[4]<9; bool[3]; f32[]; f32[0, 2]",
};

/* A conversion always copies: a result that is sometimes a view would share or not by its dtype. */
const mw_op mw_op_to_dtype = {
    .schema = "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, "
              "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    .rule = "self[...] -> [...]",
    .doc = "The same values in another dtype.",
    .linear_in = MW_ARG(0), /* to an equal or wider float */
    .monotone = 1,
    .dtype = MW_OUT_ARG,
    .refuses = "P(sum) -> P(sum): a sum is rounded once, after its terms are added; P(avg) -> "
               "P(avg): a mean is rounded once, after its terms are added",
    .kernel = copy_kernel,
    .factors = to_dtype_factors,
    .samples =
        "f32[4, 6], f64; f32[4, 6], bf16; bf16[5, 2], f32; f16[7], f64; f64[3], f32; f32[5], i64; "
        "i64[6]<9, f32; i64[6]<300, u8; f32[4], bool; bool[4], f32; f32[], f16; f32[0, 2], i32",
};

/* ---- contiguous: a view, or the copy that the caller makes -------------------------------------
 */

static mw_status contiguous_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    (void)call, (void)nth;
    if (!mw__view_contiguous(in)) return MW_ERR_UNSUPPORTED; /* no record: the caller copies */
    *out = *in;
    return MW_OK;
}

const mw_op mw_op_contiguous = {
    .schema = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) "
              "-> Tensor(a)",
    .rule = "self[...] -> [...]",
    .doc = "The tensor itself where it has no gaps, else a copy without.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = contiguous_view,
    .samples = "f32[4, 6]; f64[2, 3, 4]; bf16[5]; i64[4]<9; f32[]; f32[0, 2]",
};

/* ---- copy_ -------------------------------------------------------------------------------------
 */

/* Writes where self lies, so self is not read and its letters are the result's. */
static mw_status copy_in_place_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    char self[MW_META_TEXT], src[MW_META_TEXT];
    const mw_meta *to = &call->in[0], *from = &call->in[1];
    int lead = to->ndim - from->ndim;
    bool fits = lead >= 0;
    int first = mw__rule_letters(rule, &rule->in[0], to, "i", MW_MARK_FREE);
    for (int d = 0; d < to->ndim; d++)
        mw__rule_push(&rule->out[0], first + d);
    for (int d = 0; fits && d < from->ndim; d++) {
        if (from->shape[d] == to->shape[lead + d])
            mw__rule_put(&rule->in[1], d, first + lead + d);
        else
            fits = from->shape[d] == 1;
    }
    if (fits) return MW_OK;
    return MW_FAIL(MW_ERR_SHAPE, "%s: 'src' %s cannot be expanded to 'self' %s",
                   mw__call_name(call), mw__meta_text(from, src), mw__meta_text(to, self));
}

static mw_status copy_in_place_kernel(const mw_kernel_call *k)
{
    mw__view_copy(&k->out[0], &k->in[1]);
    return MW_OK;
}

const mw_op mw_op_copy_ = {
    .schema = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    .rule = "self[...], src[...] -> [...]",
    .doc = "Writes the values of src, expanded and converted, where self lies.",
    .dtype = MW_OUT_FIRST,
    .refuses = MW_REFUSES_WRITTEN,
    .kernel = copy_in_place_kernel,
    .factors = copy_in_place_factors,
    .samples = "f32[4, 6], f32[4, 6]; f32[4, 6], f32[6]; f64[3, 2], f32[3, 1]; bf16[5], f32[5]; "
               "i64[4]<9, f32[]; f32[], f32[]; f32[0, 2], f32[2]",
};
