/* Ops of one operand, element by element. Each is an expression for f32 and one for f64 (integers
 * become f32 first, as in torch), written out once more as integers where these stay integers.
 * Where a function never falls it passes a maximum of parts through (monotone); sqrt and log do
 * not, because they are NaN for a negative part although the maximum may be positive. */
#include "ops/rule_parts.h"
#include "ops/unary.h"

#include <math.h>

#define SQRT_HALF  0.70710678118654752440
#define GELU_SCALE 1.5957691216057307 /* 2 sqrt(2 / pi) */

/* How to add an op: its rows here, its row of the table at the end, its word in ops.def. */
ANY_UNARY(neg, -a, -a, MW__SUB_I64(0, a))
ANY_UNARY(abs, fabsf(a), fabs(a), a < 0 ? MW__SUB_I64(0, a) : a)
ANY_UNARY(relu, a < 0.0f ? 0.0f : a, a < 0.0 ? 0.0 : a, a < 0 ? 0 : a)
FLOAT_UNARY(exp, mw__exp_f32(a), exp(a))
FLOAT_UNARY(log, logf(a), log(a))
FLOAT_UNARY(sqrt, sqrtf(a), sqrt(a))
FLOAT_UNARY(rsqrt, 1.0f / sqrtf(a), 1.0 / sqrt(a))
FLOAT_UNARY(reciprocal, 1.0f / a, 1.0 / a)
FLOAT_UNARY(sin, sinf(a), sin(a))
FLOAT_UNARY(cos, cosf(a), cos(a))
FLOAT_UNARY(tanh, mw__tanh_f32(a), tanh(a))
FLOAT_UNARY(sigmoid, mw__sigmoid_f32(a), 1.0 / (1.0 + exp(-a)))
FLOAT_UNARY(silu, mw__silu_f32(a), a / (1.0 + exp(-a)))

/* erfc, not 1 + erf, keeps the relative precision of the left tail. */
FLOAT_UNARY(gelu_erf, mw__gelu_f32(a), 0.5 * a * erfc(a * -SQRT_HALF))
FLOAT_UNARY(gelu_tanh, mw__gelu_tanh_f32(a),
            a / (1.0 + exp(-GELU_SCALE * (a + 0.044715 * a * a * a))))

static bool approximates(const mw_call_args *call, const char *how)
{
    const mw_arg *arg = &call->arg[1];
    return strcmp(arg->kind == MW_ARG_STR ? arg->s : "none", how) == 0;
}

static mw_status gelu_kernel(const mw_kernel_call *k)
{
    return approximates(k->call, "tanh") ? gelu_tanh_kernel(k) : gelu_erf_kernel(k);
}

static mw_status gelu_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (!approximates(call, "none") && !approximates(call, "tanh"))
        return MW_FAIL(MW_ERR_ARG,
                       "gelu: argument 'approximate' must be 'none' or 'tanh', got '%s'",
                       call->arg[1].s);
    return mw__rule_default(call, rule);
}

/* The negative of an unsigned number is not smaller than that of a larger one. */
static mw_status neg_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    mw_dtype dtype = call->in[0].dtype;
    if (dtype == MW_DTYPE_bool) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "%s: a bool tensor has no negative", mw__call_name(call));
        mw__error_hint("convert it to an integer dtype, or compare it with 0");
        return status;
    }
    if (dtype == MW_DTYPE_u8) rule->monotone = 0;
    return mw__rule_default(call, rule);
}

UNARY_OP(abs, "Absolute value.", MW_OUT_FIRST, 0,
         "f32[4, 6]; f64[5]; bf16[3, 7]; i64[6]<9; i32[4]<5; f32[]; f32[0, 3]");
UNARY_OP(relu, "The element where it is positive, else 0; NaN stays.", MW_OUT_FIRST, 1,
         "f32[4, 6]; f64[5]; bf16[3, 7]; f16[4]; i64[6]<9; f32[]; f32[0, 3]");
UNARY_OP(exp, "Exponential function.", MW_OUT_FLOAT, 1, FLOAT_SAMPLES);
UNARY_OP(log, "Natural logarithm.", MW_OUT_FLOAT, 0, POSITIVE_SAMPLES);
UNARY_OP(sqrt, "Square root; NaN of negative numbers.", MW_OUT_FLOAT, 0, POSITIVE_SAMPLES);
UNARY_OP(rsqrt, "One divided by the square root.", MW_OUT_FLOAT, 0, POSITIVE_SAMPLES);
UNARY_OP(reciprocal, "One divided by the element.", MW_OUT_FLOAT, 0, POSITIVE_SAMPLES);
UNARY_OP(sin, "Sine of an angle in radians.", MW_OUT_FLOAT, 0, FLOAT_SAMPLES);
UNARY_OP(cos, "Cosine of an angle in radians.", MW_OUT_FLOAT, 0, FLOAT_SAMPLES);
UNARY_OP(tanh, "Hyperbolic tangent.", MW_OUT_FLOAT, 1, FLOAT_SAMPLES);
UNARY_OP(sigmoid, "1 / (1 + exp(-x)).", MW_OUT_FLOAT, 1, FLOAT_SAMPLES);
UNARY_OP(silu, "x / (1 + exp(-x)): the element times its sigmoid.", MW_OUT_FLOAT, 0,
         "f32[4, 6]; f64[5]; bf16[3, 7]; f16[2, 2, 3]; f32[]; f32[0, 3]");

const mw_op mw_op_neg = {
    .schema = "aten::neg(Tensor self) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element with the other sign.",
    .linear_in = MW_ARG(0),
    .monotone = -1,
    .dtype = MW_OUT_FIRST,
    .kernel = neg_kernel,
    .factors = neg_factors,
    .samples = "f32[4, 6]; f64[5]; bf16[3, 7]; i64[6]<9; u8[4]<9; f32[]; f32[0, 3]",
};

const mw_op mw_op_gelu = {
    .schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "The element times the normal distribution's mass below it, exactly or by tanh.",
    .dtype = MW_OUT_FLOAT,
    .kernel = gelu_kernel,
    .factors = gelu_factors,
    .samples = "f32[4, 6]; f64[5], \"tanh\"; bf16[3, 7]; f32[4, 5], \"tanh\"; f32[]; f32[0, 3]",
};
