/* Powers. The exponents that models use (2, 3, 0.5, ...) are products, roots and quotients, as in
 * torch, which are both faster and more exact than pow. */
#include "ops/elementwise.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

/* Repeated squaring with wraparound. To a negative exponent only 1 and -1 leave an integer. */
static int64_t power_i64(int64_t base, int64_t exponent)
{
    if (exponent < 0) {
        if (base == 1) return 1;
        return base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
    }
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t e = (uint64_t)exponent; e; e >>= 1) {
        if (e & 1) result *= square;
        square *= square;
    }
    return (int64_t)result;
}

MW__ROW2_F32(pow_f32, float, powf(a, b))
MW__ROW2(pow_f64, double, double, f64, pow(a, b))
MW__ROW2(pow_i64, int64_t, int64_t, i64, power_i64(a, b))
MW__ROW1_F32(pow_scalar_f32, float, powf(a, s))
MW__ROW1(pow_scalar_f64, double, double, f64, pow(a, s))
MW__ROW1(pow_scalar_i64, int64_t, int64_t, i64, power_i64(a, s))

static const mw__family pow_family = {MW__BUILDS(pow_f32), pow_f64, pow_i64};
static const mw__family pow_scalar_family = {MW__BUILDS(pow_scalar_f32), pow_scalar_f64,
                                             pow_scalar_i64};

#define SPECIAL(name, f32_expression, f64_expression) \
    MW__ROW1_F32(name##_f32, float, f32_expression)   \
    MW__ROW1(name##_f64, double, double, f64, f64_expression)

SPECIAL(square, a *a, a *a)
SPECIAL(cube, a *a *a, a *a *a)
SPECIAL(root, sqrtf(a), sqrt(a))
SPECIAL(inverse_root, 1.0f / sqrtf(a), 1.0 / sqrt(a))
SPECIAL(inverse, 1.0f / a, 1.0 / a)
SPECIAL(inverse_square, 1.0f / (a * a), 1.0 / (a * a))

/* Exponents with a row of their own; integers take the general one. */
static const struct {
    double exponent;
    mw__family family;
} specials[] = {
    {2, {MW__BUILDS(square_f32), square_f64, NULL}},
    {3, {MW__BUILDS(cube_f32), cube_f64, NULL}},
    {0.5, {MW__BUILDS(root_f32), root_f64, NULL}},
    {-0.5, {MW__BUILDS(inverse_root_f32), inverse_root_f64, NULL}},
    {-1, {MW__BUILDS(inverse_f32), inverse_f64, NULL}},
    {-2, {MW__BUILDS(inverse_square_f32), inverse_square_f64, NULL}},
};

static mw_status pow_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &pow_family, NULL);
}

static mw_status pow_scalar_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    double exponent = mw__arg_float(k->call, 1, 1);
    for (int i = 0; i < MW_COUNT(specials); i++)
        if (specials[i].exponent == exponent && class_dtype != MW_DTYPE_i64)
            return mw__family_run(k, &specials[i].family, NULL);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 1, 1);
    return mw__family_run(k, &pow_scalar_family, &scalars);
}

static mw_status pow_scalar_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    double exponent = mw__arg_float(call, 1, 1);
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) != MW_KIND_FLOAT && exponent < 0) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "%s: an integer to the power %g is no integer",
                                   mw__call_name(call), exponent);
        mw__error_hint("convert the tensor to a float dtype first");
        return status;
    }
    return mw__rule_default(call, rule);
}

const mw_op mw_op_pow_tensor_tensor = {
    .schema = "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    .rule = "self[...] exponent[...] -> [...]",
    .doc = "Each element to the power of another.",
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_EXTREMES,
    .kernel = pow_kernel,
    .samples = "f32[4, 6]>0, f32[6]; f64[3, 1]>0, f64[5]; i64[6]<5, i64[6]<4; f32[]>0, f32[]; "
               "bf16[4]>0, bf16[4]; f32[0], f32[0]",
};

const mw_op mw_op_pow_tensor_scalar = {
    .schema = "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Each element to the power of a number.",
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_EXTREMES,
    .kernel = pow_scalar_kernel,
    .factors = pow_scalar_factors,
    .samples =
        "f32[4, 6], 2; f64[5]>0, 0.5; f32[5]>0, -0.5; f32[3], 3; f64[4]>0, 1.7; i64[6]<9, 3; "
        "bf16[4, 2], 2; f32[]>0, -1; f32[0, 2], 2",
};
