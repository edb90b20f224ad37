/* Arithmetic of two operands, or of one and a Scalar. An op is a row per machine type; what partial
 * sums may pass through it follows from its algebra: sums are linear in both terms together,
 * products in each factor, quotients in the numerator alone.
 * Invariant: integers compute in 64 bits and wrap, as torch's do. */
#include "ops/elementwise.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- sums ------------------------------------------------------------------------------------ */

MW__ROW2_F32(add_f32, float, a + b)
MW__ROW2(add_f64, double, double, f64, a + b)
MW__ROW2(add_i64, int64_t, int64_t, i64, MW__ADD_I64(a, b))
MW__ROW2_F32(sub_f32, float, a - b)
MW__ROW2(sub_f64, double, double, f64, a - b)
MW__ROW2(sub_i64, int64_t, int64_t, i64, MW__SUB_I64(a, b))
MW__ROW2_F32(add_scaled_f32, float, a + s * b)
MW__ROW2(add_scaled_f64, double, double, f64, a + s * b)
MW__ROW2(add_scaled_i64, int64_t, int64_t, i64, MW__ADD_I64(a, MW__MUL_I64(s, b)))
MW__ROW1_F32(add_scalar_f32, float, a + s)
MW__ROW1(add_scalar_f64, double, double, f64, a + s)
MW__ROW1(add_scalar_i64, int64_t, int64_t, i64, MW__ADD_I64(a, s))

static const mw__family add_family = {MW__BUILDS(add_f32), add_f64, add_i64};
static const mw__family sub_family = {MW__BUILDS(sub_f32), sub_f64, sub_i64};
static const mw__family add_scaled_family = {MW__BUILDS(add_scaled_f32), add_scaled_f64,
                                             add_scaled_i64};
static const mw__family add_scalar_family = {MW__BUILDS(add_scalar_f32), add_scalar_f64,
                                             add_scalar_i64};

/* `sign` is 1 for add and -1 for sub. */
static mw_status add_or_sub(const mw_kernel_call *k, int sign)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    const mw_arg *alpha = &k->call->arg[2];
    if (alpha->kind == MW_ARG_NONE || (alpha->kind == MW_ARG_INT && alpha->i == 1))
        return mw__family_run(k, sign > 0 ? &add_family : &sub_family, NULL);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 2, 1);
    mw__scalars_sign(&scalars, 0, class_dtype, sign);
    return mw__family_run(k, &add_scaled_family, &scalars);
}

static mw_status add_kernel(const mw_kernel_call *k)
{
    return add_or_sub(k, 1);
}

static mw_status sub_kernel(const mw_kernel_call *k)
{
    return add_or_sub(k, -1);
}

/* self + alpha * other, the second product made once. */
static mw_status add_or_sub_scalar(const mw_kernel_call *k, int sign)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 1, 0);
    mw__scalars_set(&scalars, 1, class_dtype, k->call, 2, 1);
    mw__scalars_fold(&scalars, class_dtype);
    mw__scalars_sign(&scalars, 0, class_dtype, sign);
    return mw__family_run(k, &add_scalar_family, &scalars);
}

static mw_status add_scalar_kernel(const mw_kernel_call *k)
{
    return add_or_sub_scalar(k, 1);
}

static mw_status sub_scalar_kernel(const mw_kernel_call *k)
{
    return add_or_sub_scalar(k, -1);
}

/* A maximum passes through one term while the other is whole: the first rises, the second goes with
 * its sign; times 0 it keeps no order (0 * inf is NaN). */
static void order_of_terms(const mw_call_args *call, int sign, mw_rule *rule)
{
    double by = sign * mw__arg_float(call, 2, 1);
    rule->in[0].monotone = 1;
    if (call->nin > 1) rule->in[1].monotone = (int8_t)((by > 0) - (by < 0));
}

static mw_status add_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    order_of_terms(call, 1, rule);
    return mw__rule_default(call, rule);
}

static mw_status sub_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (rule->out_meta[0].dtype == MW_DTYPE_bool) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "%s: bool tensors cannot be subtracted", mw__call_name(call));
        mw__error_hint("convert one of them to an integer dtype, or compare them with ne");
        return status;
    }
    order_of_terms(call, -1, rule);
    return mw__rule_default(call, rule);
}

const mw_op mw_op_add = {
    .schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .rule = "self[...] + other[...] -> [...]",
    .doc = "Sum of two tensors, the second multiplied by alpha.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_TRUTH,
    .kernel = add_kernel,
    .factors = add_factors,
    .samples = "f32[4, 6], f32[4, 6]; f32[4, 6], f32[6], 2; f64[3, 1], f64[5], -0.5; f32[], f32[]; "
               "bf16[4, 8], bf16[8]; f16[5, 3], f16[5, 1]; i64[7]<10, i32[7]<10; bool[4], bool[4]; "
               "f32[0, 3], f32[3]; i64[2, 3]<5, f32[3]",
};

const mw_op mw_op_sub = {
    .schema = "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    .rule = "self[...] + other[...] -> [...]",
    .doc = "Difference of two tensors, the second multiplied by alpha.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .dtype = MW_OUT_PROMOTE,
    .kernel = sub_kernel,
    .factors = sub_factors,
    .samples = "f32[4, 6], f32[4, 6]; f64[3, 1], f64[5], 2; f32[], f32[3]; bf16[4, 8], f32[8]; "
               "i64[6]<10, i64[6]<10, 3; f32[0], f32[1]",
};

const mw_op mw_op_add_scalar = {
    .schema = "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Sum of a tensor and a number multiplied by alpha.",
    .monotone = 1,
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_MEAN,
    .kernel = add_scalar_kernel,
    .samples =
        "f32[4, 6], 2; f64[5], 0.5, 3; i64[4]<9, 7; i32[4]<9, 0.25; bf16[3, 5], 1.5; f32[], 1; "
        "bool[3], 1; f32[0, 2], 1",
};

const mw_op mw_op_sub_scalar = {
    .schema = "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "A tensor less a number multiplied by alpha.",
    .monotone = 1,
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_MEAN,
    .kernel = sub_scalar_kernel,
    .samples = "f32[4, 6], 2; f64[5], 0.5, 3; i64[4]<9, 7; f16[3, 5], 1.5; f32[], 1; f32[0, 2], 1",
};

/* ---- products -------------------------------------------------------------------------------- */

MW__ROW2_F32(mul_f32, float, a *b)
MW__ROW2(mul_f64, double, double, f64, a *b)
MW__ROW2(mul_i64, int64_t, int64_t, i64, MW__MUL_I64(a, b))
MW__ROW1_F32(mul_scalar_f32, float, a *s)
MW__ROW1(mul_scalar_f64, double, double, f64, a *s)
MW__ROW1(mul_scalar_i64, int64_t, int64_t, i64, MW__MUL_I64(a, s))
MW__ROW2_F32(div_f32, float, a / b)
MW__ROW2(div_f64, double, double, f64, a / b)
MW__ROW1_F32(div_scalar_f32, float, a / s)
MW__ROW1(div_scalar_f64, double, double, f64, a / s)

static const mw__family mul_family = {MW__BUILDS(mul_f32), mul_f64, mul_i64};
static const mw__family mul_scalar_family = {MW__BUILDS(mul_scalar_f32), mul_scalar_f64,
                                             mul_scalar_i64};
static const mw__family div_family = {MW__BUILDS(div_f32), div_f64, NULL};
static const mw__family div_scalar_family = {MW__BUILDS(div_scalar_f32), div_scalar_f64, NULL};

static mw_status mul_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &mul_family, NULL);
}

static mw_status div_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &div_family, NULL);
}

static mw_status with_scalar(const mw_kernel_call *k, const mw__family *family)
{
    mw__scalars scalars;
    mw__scalars_set(&scalars, 0, mw__class_of(k->out[0].dtype), k->call, 1, 0);
    return mw__family_run(k, family, &scalars);
}

static mw_status mul_scalar_kernel(const mw_kernel_call *k)
{
    return with_scalar(k, &mul_scalar_family);
}

static mw_status div_scalar_kernel(const mw_kernel_call *k)
{
    return with_scalar(k, &div_scalar_family);
}

/* A negative number turns a maximum into a minimum; 0 keeps neither (0 * inf is NaN). */
static mw_status scale_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    double by = mw__arg_float(call, 1, 0);
    rule->monotone = (int8_t)((by > 0) - (by < 0));
    return mw__rule_default(call, rule);
}

const mw_op mw_op_mul = {
    .schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "Product of two tensors, element by element.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_TRUTH,
    .kernel = mul_kernel,
    .samples = "f32[4, 6], f32[4, 6]; f32[4, 6], f32[6]; f64[3, 1], f64[5]; f32[], f32[4]; "
               "bf16[4, 8], bf16[8]; f16[5, 3], f32[5, 1]; i64[7]<10, i64[7]<10; bool[4], bool[4]; "
               "f32[0, 3], f32[3]",
};

const mw_op mw_op_mul_scalar = {
    .schema = "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Product of a tensor and a number.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_PROMOTE,
    .kernel = mul_scalar_kernel,
    .factors = scale_factors,
    .samples =
        "f32[4, 6], 2; f64[5], -0.5; i64[4]<9, 3; i32[4]<9, 0.25; bf16[3, 5], 1.5; f32[], 1; "
        "bool[3], 2; f32[0, 2], 1",
};

const mw_op mw_op_div = {
    .schema = "aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "Quotient of two tensors; of integers it is a float.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_FLOAT,
    .kernel = div_kernel,
    .samples =
        "f32[4, 6], f32[4, 6]>0; f64[3, 1], f64[5]>0; i64[6]<10, i64[6]<10; f32[], f32[3]>0; "
        "bf16[4, 8], bf16[8]>0; f16[4, 2], f16[]>0; f32[0, 3], f32[3]>0",
};

const mw_op mw_op_div_scalar = {
    .schema = "aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Quotient of a tensor and a number; of integers it is a float.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_FLOAT,
    .kernel = div_scalar_kernel,
    .factors = scale_factors,
    .samples = "f32[4, 6], 3; f64[5], -0.5; i64[4]<9, 2; bf16[3, 5], 1.5; f32[], 4; f32[0, 2], 1",
};

/* ---- maximum and minimum: NaN wins ------------------------------------------------------------
 */

MW__ROW2_F32(max_f32, float, ((a > b) | (a != a)) ? a : b)
MW__ROW2(max_f64, double, double, f64, ((a > b) | (a != a)) ? a : b)
MW__ROW2(max_i64, int64_t, int64_t, i64, a > b ? a : b)
MW__ROW2_F32(min_f32, float, ((a < b) | (a != a)) ? a : b)
MW__ROW2(min_f64, double, double, f64, ((a < b) | (a != a)) ? a : b)
MW__ROW2(min_i64, int64_t, int64_t, i64, a < b ? a : b)

static const mw__family max_family = {MW__BUILDS(max_f32), max_f64, max_i64};
static const mw__family min_family = {MW__BUILDS(min_f32), min_f64, min_i64};

static mw_status maximum_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &max_family, NULL);
}

static mw_status minimum_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &min_family, NULL);
}

const mw_op mw_op_maximum = {
    .schema = "aten::maximum(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] + other[...] -> [...]", /* a sum of maxima */
    .doc = "The larger of two elements; NaN where either is NaN.",
    .monotone = 1,
    .joint = MW_JOINT(MW_REDUCE_MAX),
    .dtype = MW_OUT_PROMOTE,
    .kernel = maximum_kernel,
    .samples = "f32[4, 6], f32[6]; f64[3, 1], f64[5]; i64[6]<9, i64[6]<9; bf16[4], bf16[4]; f32[], "
               "f32[]; bool[5], bool[5]; f32[0], f32[0]",
};

const mw_op mw_op_minimum = {
    .schema = "aten::minimum(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] + other[...] -> [...]", /* a sum of minima */
    .doc = "The smaller of two elements; NaN where either is NaN.",
    .monotone = 1,
    .joint = MW_JOINT(MW_REDUCE_MIN),
    .dtype = MW_OUT_PROMOTE,
    .kernel = minimum_kernel,
    .samples = "f32[4, 6], f32[6]; f64[3, 1], f64[5]; i64[6]<9, i32[6]<9; f16[4], f16[4]; f32[], "
               "f32[]; f32[0], f32[0]",
};
