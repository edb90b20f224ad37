/* More ops of one operand: special functions, roundings, clamps. Which extremes they pass, and why
 * none passes a sum, is as in op_unary.c: log1p and log2 are NaN for parts that are too negative,
 * and sign is 0 of NaN, so that a NaN would not win. */
#include "ops/refuses.h"
#include "ops/rule_parts.h"
#include "ops/unary.h"

#include <math.h>

/* ---- functions ------------------------------------------------------------------------------- */

FLOAT_UNARY(erf, erff(a), erf(a))
FLOAT_UNARY(log1p, log1pf(a), log1p(a))
FLOAT_UNARY(log2, log2f(a), log2(a))
FLOAT_UNARY(expm1, expm1f(a), expm1(a))

#define ABOVE_SAMPLES "f32[4, 6]>0; f64[5]>0; bf16[3, 7]>0; i64[6]<9; f32[]>0; f32[0, 3]>0"

UNARY_OP(erf, "Error function.", MW_OUT_FLOAT, 1, FLOAT_SAMPLES);
UNARY_OP(expm1, "exp(x) - 1, exact near 0.", MW_OUT_FLOAT, 1, FLOAT_SAMPLES);
UNARY_OP(log1p, "log(1 + x), exact near 0.", MW_OUT_FLOAT, 0, ABOVE_SAMPLES);
UNARY_OP(log2, "Logarithm to base 2.", MW_OUT_FLOAT, 0, POSITIVE_SAMPLES);

/* ---- roundings: integers stay -----------------------------------------------------------------
 */

ANY_UNARY(floor, floorf(a), floor(a), a)
ANY_UNARY(ceil, ceilf(a), ceil(a), a)
ANY_UNARY(trunc, truncf(a), trunc(a), a)
ANY_UNARY(round, rintf(a), rint(a), a)
ANY_UNARY(sign, (float)((a > 0) - (a < 0)), (double)((a > 0) - (a < 0)), (a > 0) - (a < 0))
ANY_UNARY(square, a *a, a *a, MW__MUL_I64(a, a))

#define ROUND_SAMPLES "f32[4, 6]in(-9,9); f64[5]; bf16[3, 7]in(-3,3); i64[6]; f32[]; f32[0, 3]"

UNARY_OP(floor, "The largest integer that is not above.", MW_OUT_FIRST, 1, ROUND_SAMPLES);
UNARY_OP(ceil, "The smallest integer that is not below.", MW_OUT_FIRST, 1, ROUND_SAMPLES);
UNARY_OP(trunc, "The integer part.", MW_OUT_FIRST, 1, ROUND_SAMPLES);
UNARY_OP(round, "The nearest integer, of two the even one.", MW_OUT_FIRST, 1, ROUND_SAMPLES);
UNARY_OP(sign, "1, 0 or -1; 0 of NaN.", MW_OUT_FIRST, 0, ROUND_SAMPLES);
UNARY_OP(square, "The element times itself.", MW_OUT_FIRST, 0, ROUND_SAMPLES);

/* ---- clamps: NaN stays ------------------------------------------------------------------------
 */

MW__ROW1_F32(clamp_f32, float, mw__pick_f32((a < s ? s : a) > t, t, a < s ? s : a))
MW__ROW1(clamp_f64, double, double, f64, (a < s ? s : a) > t ? t : (a < s ? s : a))
MW__ROW1(clamp_i64, int64_t, int64_t, i64, (a < s ? s : a) > t ? t : (a < s ? s : a))
static const mw__family clamp_family = {MW__BUILDS(clamp_f32), clamp_f64, clamp_i64};

/* One bound, from the argument or open. */
static void set_bound(const mw_kernel_call *k, mw__scalars *scalars, int nth, int pos)
{
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    bool given = pos >= 0 && k->call->arg[pos].kind != MW_ARG_NONE;
    if (given)
        mw__scalars_set(scalars, nth, class_dtype, k->call, pos, 0);
    else if (class_dtype == MW_DTYPE_f32)
        scalars->f32[nth] = nth ? HUGE_VALF : -HUGE_VALF;
    else if (class_dtype == MW_DTYPE_f64)
        scalars->f64[nth] = nth ? HUGE_VAL : -HUGE_VAL;
    else
        scalars->i64[nth] = nth ? INT64_MAX : INT64_MIN;
}

static mw_status clamp_between(const mw_kernel_call *k, int low, int high)
{
    mw__scalars scalars;
    set_bound(k, &scalars, 0, low);
    set_bound(k, &scalars, 1, high);
    return mw__family_run(k, &clamp_family, &scalars);
}

static mw_status clamp_kernel(const mw_kernel_call *k)
{
    return clamp_between(k, 1, 2);
}

static mw_status clamp_min_kernel(const mw_kernel_call *k)
{
    return clamp_between(k, 1, -1);
}

static mw_status clamp_max_kernel(const mw_kernel_call *k)
{
    return clamp_between(k, -1, 1);
}

static mw_status clamp_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (call->arg[1].kind == MW_ARG_NONE && call->arg[2].kind == MW_ARG_NONE)
        return MW_FAIL(MW_ERR_ARG, "%s: at least one of 'min' and 'max' must be given",
                       mw__call_name(call));
    return mw__rule_default(call, rule);
}

const mw_op mw_op_clamp = {
    .schema = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element, but at least min and at most max; NaN stays.",
    .monotone = 1,
    .dtype = MW_OUT_PROMOTE,
    .kernel = clamp_kernel,
    .factors = clamp_factors,
    .samples = "f32[4, 6], -0.5, 0.5; f64[5], 0; bf16[3, 7], none, 0.25; i64[6], -2, 3; "
               "i64[5], 0.5; f32[], 1, -1; f32[0, 3], 0, 1",
};

const mw_op mw_op_clamp_min = {
    .schema = "aten::clamp_min(Tensor self, Scalar min) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element, but at least min; NaN stays.",
    .monotone = 1,
    .dtype = MW_OUT_PROMOTE,
    .kernel = clamp_min_kernel,
    .samples = "f32[4, 6], -0.5; f64[5], 0; bf16[3, 7], 0.25; i64[6], -2; f32[], 1; f32[0, 3], 0",
};

const mw_op mw_op_clamp_max = {
    .schema = "aten::clamp_max(Tensor self, Scalar max) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element, but at most max; NaN stays.",
    .monotone = 1,
    .dtype = MW_OUT_PROMOTE,
    .kernel = clamp_max_kernel,
    .samples = "f32[4, 6], -0.5; f64[5], 0; f16[3, 7], 0.25; i64[6], 2; f32[], 1; f32[0, 3], 0",
};

/* ---- activations with a number ----------------------------------------------------------------
 */

/* softplus: a line where exp(beta x) would drown the 1. */
MW__ROW1_F32(leaky_f32, float, a > 0.0f ? a : a * s)
MW__ROW1(leaky_f64, double, double, f64, a > 0 ? a : a * s)
MW__ROW1_F32(softplus_f32, float, a *s > t ? a : log1pf(mw__exp_f32(a * s)) / s)
MW__ROW1(softplus_f64, double, double, f64, a *s > t ? a : log1p(exp(a * s)) / s)
static const mw__family leaky_family = {MW__BUILDS(leaky_f32), leaky_f64, NULL};
static const mw__family softplus_family = {MW__BUILDS(softplus_f32), softplus_f64, NULL};

static mw_status need_float(const mw_call_args *call)
{
    char text[MW_META_TEXT];
    if (mw_dtype_kind_of(call->in[0].dtype) == MW_KIND_FLOAT) return MW_OK;
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "%s: '%s' is %s, but must hold floats", mw__call_name(call),
                mw__operand_name(call, 0), mw__meta_text(&call->in[0], text));
    mw__error_hint("convert it to a float dtype first");
    return status;
}

/* Where the number is 0, -inf would become NaN: no order. */
static mw_status rising_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(need_float(call));
    rule->monotone = mw__arg_float(call, 1, 1) > 0;
    return mw__rule_default(call, rule);
}

static mw_status leaky_relu_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw__scalars_set(&scalars, 0, mw__class_of(k->out[0].dtype), k->call, 1, 0);
    return mw__family_run(k, &leaky_family, &scalars);
}

static mw_status softplus_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw__scalars_set(&scalars, 0, mw__class_of(k->out[0].dtype), k->call, 1, 1);
    mw__scalars_set(&scalars, 1, mw__class_of(k->out[0].dtype), k->call, 2, 20);
    return mw__family_run(k, &softplus_family, &scalars);
}

const mw_op mw_op_leaky_relu = {
    .schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element where it is positive, else the element times a slope.",
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .refuses = MW_REFUSES_EXTREMES,
    .kernel = leaky_relu_kernel,
    .factors = rising_factors,
    .samples = "f32[4, 6]; f64[5], 0.2; bf16[3, 7], -1; f16[4], 0; f32[], 2; f32[0, 3]",
};

const mw_op mw_op_softplus = {
    .schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "log(1 + exp(beta x)) / beta; the element itself where beta x is above the threshold.",
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = softplus_kernel,
    .factors = rising_factors,
    .samples = "f32[4, 6]; f64[5], 2; bf16[3, 7], 0.5; f32[6]in(-30,30), 1, 10; f32[]; f32[0, 3]",
};

/* ---- hardtanh and elu --------------------------------------------------------------------------
 */

static mw_status hardtanh_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 1, -1);
    mw__scalars_set(&scalars, 1, class_dtype, k->call, 2, 1);
    return mw__family_run(k, &clamp_family, &scalars);
}

const mw_op mw_op_hardtanh = {
    .schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element, but at least min_val and at most max_val; NaN stays.",
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = hardtanh_kernel,
    .samples = "f32[4, 6]; f64[5], 0, 6; bf16[3, 7], -0.25, 0.25; i64[6], -2, 3; f32[]; f32[0, 3]",
};

/* s is alpha times scale, t scale. */
MW__ROW1_F32(elu_f32, float, a > 0.0f ? a * t : expm1f(a) * s)
MW__ROW1(elu_f64, double, double, f64, a > 0 ? a * t : expm1(a) * s)
static const mw__family elu_family = {MW__BUILDS(elu_f32), elu_f64, NULL};

static mw_status elu_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 1, 1);
    mw__scalars_set(&scalars, 1, class_dtype, k->call, 2, 1);
    mw__scalars_fold(&scalars, class_dtype);
    return mw__family_run(k, &elu_family, &scalars);
}

static mw_status elu_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(need_float(call));
    if (mw__arg_float(call, 3, 1) != 1)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s: 'input_scale' other than 1: multiply self by it",
                       mw__call_name(call));
    double alpha = mw__arg_float(call, 1, 1), scale = mw__arg_float(call, 2, 1);
    rule->monotone = alpha * scale > 0 && scale > 0;
    return mw__rule_default(call, rule);
}

const mw_op mw_op_elu = {
    .schema = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> "
              "Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element where it is positive, else alpha times (exp(x) - 1); times scale.",
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .refuses = MW_REFUSES_EXTREMES,
    .kernel = elu_kernel,
    .factors = elu_factors,
    .samples = "f32[4, 6]; f64[5], 0.2; bf16[3, 7], 1, 1.5; f16[4], 2; f32[]; f32[0, 3]",
};
