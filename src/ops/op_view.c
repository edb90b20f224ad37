/* Views: results that share their operand's memory. Each op says twice what it does: in letters, on
 * global shapes, and in strides, on the local shard.
 * Reshapes have no letters: the layout is regrouped (mw__dims_regroup). Of the others, a dim that
 * is cut to a part of it is a product of how many such parts there are (whole on a rank) and the
 * size of one (free), where it divides; elsewhere it is whole. Invariant: sizes come from the local
 * view and the local result; global size arguments are used only where the rule keeps their dim
 * whole. */
#include "ops/args.h"
#include "ops/op.h"
#include "ops/rule_parts.h"

#include <stdio.h>

/* ---- helpers -----------------------------------------------------------------------------------
 */

/* A letter per dim of the operand, on the operand; the first. */
static int letters_of_self(const mw_call_args *call, mw_rule *rule)
{
    return mw__rule_letters(rule, &rule->in[0], &call->in[0], "i", MW_MARK_FREE);
}

/* `out` has the local shape already: the rest of the operand's view. */
static void start_view(const mw_view *in, mw_view *out)
{
    out->data = in->data;
    out->dtype = in->dtype;
}

static mw_status same_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    (void)call, (void)nth;
    *out = *in;
    return MW_OK;
}

/* ---- reshapes ----------------------------------------------------------------------------------
 */

static int64_t count_of(const mw_meta *meta)
{
    int64_t count = 1;
    for (int d = 0; d < meta->ndim; d++)
        count *= meta->shape[d];
    return count;
}

static mw_status reshape_fails(const mw_call_args *call, const char *why)
{
    char meta[MW_META_TEXT];
    mw_str size = {0};
    mw__arg_str(&call->arg[1], NULL, &size);
    mw_status status =
        MW_FAIL(MW_ERR_SHAPE, "%s: '%s' %s (%lld elements) cannot have the shape %s: %s",
                mw__call_name(call), mw__operand_name(call, 0), mw__meta_text(&call->in[0], meta),
                (long long)count_of(&call->in[0]), mw__str_text(&size), why);
    mw__str_done(&size);
    return status;
}

static mw_status counts_differ(const mw_call_args *call, int64_t count)
{
    char why[48];
    (void)snprintf(why, sizeof why, "that is %lld elements", (long long)count);
    return reshape_fails(call, why);
}

/* The size of the one dim that is -1, from the count of all elements. */
static mw_status infer_size(const mw_call_args *call, int64_t count, int unknown, mw_meta *out)
{
    int64_t known = 1;
    for (int d = 0; d < out->ndim; d++)
        if (d != unknown && __builtin_mul_overflow(known, out->shape[d], &known))
            return reshape_fails(call, "it has too many elements");
    if (unknown < 0) return known == count ? MW_OK : counts_differ(call, known);
    if (known == 0) return reshape_fails(call, "-1 could be any size, since another dim is 0");
    if (count % known) return reshape_fails(call, "no size in place of -1 gives as many elements");
    out->shape[unknown] = count / known;
    return MW_OK;
}

static mw_status reshape_shape(const mw_call_args *call, mw_meta *ret_out)
{
    const mw_arg *size = &call->arg[1];
    mw_meta out = {.dtype = call->in[0].dtype, .ndim = size->count};
    int unknown = -1;
    if (size->count > MW_MAX_DIMS) return reshape_fails(call, "it has too many dims");
    for (int d = 0; d < size->count; d++) {
        out.shape[d] = size->ints[d];
        if (out.shape[d] >= 0) continue;
        if (out.shape[d] != -1) return reshape_fails(call, "a size is negative");
        if (unknown >= 0) return reshape_fails(call, "only one size can be -1");
        unknown = d;
    }
    MW_TRY(infer_size(call, count_of(&call->in[0]), unknown, &out));
    *ret_out = out;
    return MW_OK;
}

/* The shard's elements keep their order, whatever the global shape was. */
static mw_status reshape_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    (void)call, (void)nth;
    if (!mw__view_reshape(in, out->ndim, out->shape, out->stride))
        return MW_ERR_UNSUPPORTED; /* no record: the caller copies and asks again */
    start_view(in, out);
    return MW_OK;
}

#define RESHAPE_SAMPLES                                                                         \
    "f32[4, 6], [24]; f32[4, 6], [2, 2, -1]; f64[2, 3, 4], [6, 4]; bf16[8], [2, 2, 2]; f32[], " \
    "[1]; "                                                                                     \
    "f32[1, 5], [5]; i64[6, 2]<9, [3, -1]; f32[0, 3], [3, 0]"

const mw_op mw_op_view = {
    .schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    .doc = "The same elements in another shape.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = reshape_view,
    .reshape = reshape_shape,
    .samples = RESHAPE_SAMPLES,
};

const mw_op mw_op_reshape = {
    .schema = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    .doc = "The same elements in another shape; a copy where strides demand it.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = reshape_view,
    .reshape = reshape_shape,
    .samples = RESHAPE_SAMPLES,
};

const mw_op mw_op__unsafe_view = {
    .schema = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    .doc = "The same elements in another shape, of a tensor that nobody uses afterwards.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = reshape_view,
    .reshape = reshape_shape,
    .samples = RESHAPE_SAMPLES,
};

/* ---- permutations ------------------------------------------------------------------------------
 */

/* order[d]: the operand's dim that becomes dim d of the result. */
static void permute_letters(const mw_call_args *call, mw_rule *rule, const int *order)
{
    int first = letters_of_self(call, rule);
    for (int d = 0; d < call->in[0].ndim; d++)
        mw__rule_push(&rule->out[0], first + order[d]);
}

static void permute_strides(const mw_view *in, const int *order, mw_view *out)
{
    start_view(in, out);
    for (int d = 0; d < in->ndim; d++)
        out->stride[d] = in->stride[order[d]];
}

static mw_status permute_order(const mw_call_args *call, int *ret_order)
{
    const mw_arg *dims = &call->arg[1];
    int ndim = call->in[0].ndim;
    uint32_t seen = 0;
    if (dims->count != ndim)
        return MW_FAIL(MW_ERR_SHAPE, "%s: argument 'dims' must name all %d dims, got %d",
                       mw__call_name(call), ndim, dims->count);
    for (int d = 0; d < ndim; d++) {
        MW_TRY(mw__dim_in_range(call, 1, dims->ints[d], ndim, &ret_order[d]));
        if (seen >> ret_order[d] & 1u)
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d stands twice in argument 'dims'",
                           mw__call_name(call), ret_order[d]);
        seen |= 1u << ret_order[d];
    }
    return MW_OK;
}

static mw_status transpose_order(const mw_call_args *call, int *ret_order)
{
    int a = 0, b = 0, ndim = call->in[0].ndim;
    MW_TRY(mw__arg_dim(call, 1, ndim, &a));
    MW_TRY(mw__arg_dim(call, 2, ndim, &b));
    for (int d = 0; d < ndim; d++)
        ret_order[d] = d == a ? b : (d == b ? a : d);
    return MW_OK;
}

static mw_status t_order(const mw_call_args *call, int *ret_order)
{
    int ndim = call->in[0].ndim;
    if (ndim > 2)
        return MW_FAIL(MW_ERR_SHAPE, "t: expected a tensor of at most 2 dims, got %d", ndim);
    for (int d = 0; d < ndim; d++)
        ret_order[d] = ndim - 1 - d;
    return MW_OK;
}

#define PERMUTING(word)                                                                       \
    static mw_status word##_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule) \
    {                                                                                         \
        int order[MW_MAX_DIMS] = {0};                                                         \
        (void)arena;                                                                          \
        MW_TRY(word##_order(call, order));                                                    \
        permute_letters(call, rule, order);                                                   \
        return MW_OK;                                                                         \
    }                                                                                         \
    static mw_status word##_view(const mw_call_args *call, int nth, const mw_view *in,        \
                                 mw_view *out)                                                \
    {                                                                                         \
        int order[MW_MAX_DIMS] = {0};                                                         \
        (void)nth;                                                                            \
        MW_TRY(word##_order(call, order));                                                    \
        permute_strides(in, order, out);                                                      \
        return MW_OK;                                                                         \
    }

PERMUTING(permute)
PERMUTING(transpose)
PERMUTING(t)

const mw_op mw_op_permute = {
    .schema = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    .doc = "The dims in another order.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = permute_view,
    .factors = permute_factors,
    .samples =
        "f32[4, 6], [1, 0]; f64[2, 3, 4], [2, 0, 1]; bf16[2, 3, 4, 5], [0, 2, 1, -1]; f32[], []; "
        "i64[0, 3]<9, [1, 0]",
};

const mw_op mw_op_transpose_int = {
    .schema = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    .doc = "Two dims in each other's place.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = transpose_view,
    .factors = transpose_factors,
    .samples =
        "f32[4, 6], 0, 1; f64[2, 3, 4], -1, 0; bf16[2, 3, 4, 5], 1, 2; f32[], 0, -1; f32[3], 0, 0; "
        "i64[0, 3]<9, 0, 1",
};

const mw_op mw_op_swapaxes = {
    .schema = "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
    .doc = "Two dims change places: transpose, by its other name.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = transpose_view,
    .factors = transpose_factors,
    .samples = "f32[4, 6], 0, 1; f64[2, 3, 4], -1, 0; f32[], 0, -1; i64[0, 3]<9, 0, 1",
};

const mw_op mw_op_t = {
    .schema = "aten::t(Tensor(a) self) -> Tensor(a)",
    .doc = "The transpose of a matrix; a vector stays.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = t_view,
    .factors = t_factors,
    .samples = "f32[4, 6]; f64[3]; bf16[2, 5]; f32[]; i64[0, 3]<9",
};

/* ---- dims of size 1 ----------------------------------------------------------------------------
 */

/* The place of the new dim, which may also be behind the last. */
static mw_status unsqueeze_dim(const mw_call_args *call, int *ret)
{
    return mw__arg_dim(call, 1, call->in[0].ndim + 1, ret);
}

static mw_status unsqueeze_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    int dim = 0, ndim = call->in[0].ndim;
    (void)arena;
    MW_TRY(unsqueeze_dim(call, &dim));
    int first = letters_of_self(call, rule);
    for (int d = 0; d <= ndim; d++)
        mw__rule_push(&rule->out[0], d == dim ? -1 : first + d - (d > dim));
    return MW_OK;
}

static mw_status unsqueeze_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    int dim = 0;
    (void)nth;
    MW_TRY(unsqueeze_dim(call, &dim));
    start_view(in, out);
    for (int d = 0; d <= in->ndim; d++)
        out->stride[d] = d == dim ? 1 : in->stride[d - (d > dim)];
    return MW_OK;
}

/* Bit per dim that goes: those of global size 1, of all or of the dim named. */
static mw_status squeezed(const mw_call_args *call, bool has_dim, uint32_t *ret_mask)
{
    const mw_meta *self = &call->in[0];
    int dim = -1;
    *ret_mask = 0;
    if (has_dim) MW_TRY(mw__arg_dim(call, 1, self->ndim, &dim));
    for (int d = 0; d < self->ndim; d++)
        if (self->shape[d] == 1 && (!has_dim || d == dim)) *ret_mask |= 1u << d;
    return MW_OK;
}

static mw_status squeeze_letters(const mw_call_args *call, bool has_dim, mw_rule *rule)
{
    uint32_t mask = 0;
    MW_TRY(squeezed(call, has_dim, &mask));
    for (int d = 0; d < call->in[0].ndim; d++) {
        if (mask >> d & 1u) continue; /* size 1: no letter */
        int letter = mw__rule_letter_nth(rule, "i", d, call->in[0].shape[d], MW_MARK_FREE);
        mw__rule_put(&rule->in[0], d, letter);
        mw__rule_push(&rule->out[0], letter);
    }
    return MW_OK;
}

static mw_status squeeze_strides(const mw_call_args *call, bool has_dim, const mw_view *in,
                                 mw_view *out)
{
    uint32_t mask = 0;
    int to = 0;
    MW_TRY(squeezed(call, has_dim, &mask));
    start_view(in, out);
    for (int d = 0; d < in->ndim; d++)
        if (!(mask >> d & 1u)) out->stride[to++] = in->stride[d];
    return MW_OK;
}

#define SQUEEZING(word, has_dim)                                                              \
    static mw_status word##_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule) \
    {                                                                                         \
        (void)arena;                                                                          \
        return squeeze_letters(call, has_dim, rule);                                          \
    }                                                                                         \
    static mw_status word##_view(const mw_call_args *call, int nth, const mw_view *in,        \
                                 mw_view *out)                                                \
    {                                                                                         \
        (void)nth;                                                                            \
        return squeeze_strides(call, has_dim, in, out);                                       \
    }

SQUEEZING(squeeze, false)
SQUEEZING(squeeze_dim, true)

const mw_op mw_op_unsqueeze = {
    .schema = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    .doc = "A new dim of size 1.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = unsqueeze_view,
    .factors = unsqueeze_factors,
    .samples = "f32[4, 6], 0; f64[3], -1; bf16[2, 5], 1; f32[], 0; i64[0, 3]<9, 2",
};

const mw_op mw_op_squeeze = {
    .schema = "aten::squeeze(Tensor(a) self) -> Tensor(a)",
    .doc = "The tensor without its dims of size 1.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = squeeze_view,
    .factors = squeeze_factors,
    .samples = "f32[4, 1, 6]; f64[1, 3, 1]; bf16[2, 5]; f32[]; f32[1, 1]; i64[0, 1]<9",
};

const mw_op mw_op_squeeze_dim = {
    .schema = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    .doc = "The tensor without a dim if its size is 1.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = squeeze_dim_view,
    .factors = squeeze_dim_factors,
    .samples = "f32[4, 1, 6], 1; f64[1, 3, 1], -1; bf16[2, 5], 0; f32[], 0; i64[0, 1]<9, 1",
};

/* ---- expand ------------------------------------------------------------------------------------
 */

/* A dim that is made larger has a letter in the result alone: any part of it is the same element.
 */
static mw_status expand_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    const mw_arg *size = &call->arg[1];
    const mw_meta *self = &call->in[0];
    int lead = size->count - self->ndim;
    char meta[MW_META_TEXT];
    (void)arena;
    if (lead < 0 || size->count > MW_MAX_DIMS)
        return MW_FAIL(
            MW_ERR_SHAPE, "%s: argument 'size' names %d dims; %s has %d, and at most %d fit",
            mw__call_name(call), size->count, mw__meta_text(self, meta), self->ndim, MW_MAX_DIMS);
    for (int d = 0; d < size->count; d++) {
        int64_t was = d < lead ? 1 : self->shape[d - lead], now = size->ints[d];
        if (now == -1 && d >= lead) now = was;
        if (now < 0 || (now != was && was != 1))
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of %s cannot be expanded to size %lld",
                           mw__call_name(call), d - lead, mw__meta_text(self, meta),
                           (long long)size->ints[d]);
        int letter = mw__rule_letter_nth(rule, "i", d, now, MW_MARK_FREE);
        mw__rule_push(&rule->out[0], letter);
        if (d >= lead && now == was) mw__rule_put(&rule->in[0], d - lead, letter);
    }
    return MW_OK;
}

static mw_status expand_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    const mw_meta *self = &call->in[0];
    int lead = out->ndim - in->ndim;
    (void)nth;
    start_view(in, out);
    for (int d = 0; d < out->ndim; d++)
        out->stride[d] = d < lead || self->shape[d - lead] == 1 ? 0 : in->stride[d - lead];
    return MW_OK;
}

const mw_op mw_op_expand = {
    .schema = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    .doc = "Dims of size 1 repeated without copying.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = expand_view,
    .factors = expand_factors,
    .samples = "f32[4, 1], [4, 6]; f64[3], [2, 3]; bf16[1, 5], [3, -1]; f32[], [4]; i64[1]<9, [0]; "
               "f32[2, 1, 3], [5, 2, 4, 3]",
};

const mw_op mw_op_alias = {
    .schema = "aten::alias(Tensor(a) self) -> Tensor(a)",
    .rule = "self[...] -> [...]",
    .doc = "The tensor under another name.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = same_view,
    .samples = "f32[4, 6]; f64[3]; bf16[2, 5]; f32[]; i64[0, 3]<9",
};

const mw_op mw_op_detach = {
    .schema = "aten::detach(Tensor(a) self) -> Tensor(a)",
    .rule = "self[...] -> [...]",
    .doc = "The tensor without its history.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = same_view,
    .samples = "f32[4, 6]; f64[3]; bf16[2, 5]; f32[]; i64[0, 3]<9",
};
