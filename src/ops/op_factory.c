/* Tensors out of nothing. Their dims are letters of the result alone, so each rank makes exactly
 * its own part; what a part holds depends on global positions only. */
#include "ops/elementwise.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- one value everywhere ---------------------------------------------------------------------
 */

static mw_status fill(const mw_view *out, const mw_arg *value)
{
    double element; /* room for any dtype */
    if (mw__view_count(out) == 0) return MW_OK;
    if (value->kind == MW_ARG_FLOAT)
        mw__element_set(&element, out->dtype, value->f);
    else
        mw__element_set_i64(&element, out->dtype, value->i);
    mw_view from = *out; /* which may have any strides */
    from.data = &element;
    memset(from.stride, 0, sizeof from.stride);
    mw__view_copy(out, &from);
    return MW_OK;
}

static mw_status full_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &k->call->arg[1]);
}

static mw_status zeros_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &(mw_arg){.kind = MW_ARG_INT, .i = 0});
}

/* What is written in place keeps its terms: a sum of zeros. */
static mw_status zeros_like_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    rule->in[0].linear = !rule->in[0].unread;
    return mw__rule_default(call, rule);
}

static mw_status ones_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &(mw_arg){.kind = MW_ARG_INT, .i = 1});
}

/* The dtype of a Scalar on its own. */
static mw_dtype dtype_of(const mw_arg *value)
{
    if (value->kind == MW_ARG_BOOL) return MW_DTYPE_bool;
    return value->kind == MW_ARG_FLOAT ? MW_DTYPE_f32 : MW_DTYPE_i64;
}

/* Letters of the result from the size argument at `pos`. */
static mw_status size_letters(const mw_call_args *call, int pos, mw_rule *rule)
{
    const mw_arg *size = &call->arg[pos];
    if (size->count > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "%s: %d dims; there may be at most %d", mw__call_name(call),
                       size->count, MW_MAX_DIMS);
    for (int d = 0; d < size->count; d++) {
        if (size->ints[d] < 0)
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of argument 'size' is negative: %lld",
                           mw__call_name(call), d, (long long)size->ints[d]);
        mw__rule_push(&rule->out[0],
                      mw__rule_letter_nth(rule, "i", d, size->ints[d], MW_MARK_FREE));
    }
    return MW_OK;
}

static mw_status full_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(size_letters(call, 0, rule));
    rule->out_meta[0].dtype = mw__arg_dtype(call, 2, dtype_of(&call->arg[1]));
    return MW_OK;
}

const mw_op mw_op_full = {
    .schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
              "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .doc = "A tensor with one number everywhere.",
    .dtype = MW_OUT_ARG,
    .kernel = full_kernel,
    .factors = full_factors,
    .samples =
        "[4, 6], 0.5; [3], 7; [2, 2], true; [], 1.5; [0, 3], 1; [4], 2, bf16; [3, 2], 1, f64",
};

/* Zeros and ones take no fill value: their dtype stands where full's does less one. */
static mw_status sized_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(size_letters(call, 0, rule));
    rule->out_meta[0].dtype = mw__arg_dtype(call, 1, MW_DTYPE_f32);
    return MW_OK;
}

#define FACTORY_REST                                                          \
    ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, " \
    "bool? pin_memory=None) -> Tensor"

const mw_op mw_op_zeros = {
    .schema = "aten::zeros(SymInt[] size" FACTORY_REST,
    .doc = "A tensor of zeros.",
    .dtype = MW_OUT_ARG,
    .kernel = zeros_kernel,
    .factors = sized_factors,
    .samples = "[4, 6]; [3], i64; [2, 2], bool; []; [0, 3]; [4], bf16",
};

const mw_op mw_op_ones = {
    .schema = "aten::ones(SymInt[] size" FACTORY_REST,
    .doc = "A tensor of ones.",
    .dtype = MW_OUT_ARG,
    .kernel = ones_kernel,
    .factors = sized_factors,
    .samples = "[4, 6]; [3], i64; [2, 2], bool; []; [0, 3]; [4], bf16",
};

static mw_status scalar_tensor_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    rule->out[0].ndim = 0;
    rule->out_meta[0].dtype = mw__arg_dtype(call, 1, dtype_of(&call->arg[0]));
    return MW_OK;
}

static mw_status scalar_tensor_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &k->call->arg[0]);
}

const mw_op mw_op_scalar_tensor = {
    .schema = "aten::scalar_tensor(Scalar s" FACTORY_REST,
    .doc = "A number as a tensor without dims.",
    .dtype = MW_OUT_ARG,
    .kernel = scalar_tensor_kernel,
    .factors = scalar_tensor_factors,
    .samples = "1.5; 2; true; 3, f32; 0.5, bf16; 7, f64",
};

/* ---- in the dtype of another tensor, which is not read ----------------------------------------
 */

static mw_status new_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    (void)mw__rule_letters(rule, &rule->in[0], &call->in[0], "s", MW_MARK_FREE);
    return size_letters(call, 1, rule);
}

static mw_status new_full_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &k->call->arg[2]);
}

#define NEW_SAMPLES                                                                             \
    "f32[4, 6], [3, 5]; i64[3]<9, [2]; bf16[2, 5], []; f32[], [4, 2]; f32[0, 2], [3]; f32[3], " \
    "[0, 2], f64"

const mw_op mw_op_new_zeros = {
    .schema = "aten::new_zeros(Tensor self, SymInt[] size" FACTORY_REST,
    .doc = "Zeros of some shape, in the dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = zeros_kernel,
    .factors = new_factors,
    .samples = NEW_SAMPLES,
};

const mw_op mw_op_new_ones = {
    .schema = "aten::new_ones(Tensor self, SymInt[] size" FACTORY_REST,
    .doc = "Ones of some shape, in the dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = ones_kernel,
    .factors = new_factors,
    .samples = NEW_SAMPLES,
};

const mw_op mw_op_new_full = {
    .schema = "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value" FACTORY_REST,
    .doc = "One number everywhere, in some shape and the dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = new_full_kernel,
    .factors = new_factors,
    .samples = "f32[4, 6], [3, 5], 0.5; i64[3]<9, [2], 7; bf16[2, 5], [], -1; f32[], [4, 2], 2; "
               "f32[0, 2], [3], 1; f32[3], [0, 2], 1, f64",
};

const mw_op mw_op_zeros_like = {
    .schema =
        "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Zeros in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = zeros_kernel,
    .factors = zeros_like_factors,
    .samples = "f32[4, 6]; i64[3]<9; bf16[2, 5]; f32[]; f32[0, 2]; f32[3], i32",
};

const mw_op mw_op_ones_like = {
    .schema =
        "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Ones in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = ones_kernel,
    .samples = "f32[4, 6]; i64[3]<9; bf16[2, 5]; f32[]; f32[0, 2]; f32[3], f64",
};

const mw_op mw_op_full_like = {
    .schema = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
              "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
              "MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "One number everywhere, in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = full_kernel,
    .samples =
        "f32[4, 6], 0.5; i64[3]<9, 7; bf16[2, 5], -1; f32[], 1; f32[0, 2], 1; f32[3], 2, f64",
};
