/* Division that rounds, and remainders. Integers divide exactly, and by 0 they don't: the kernel
 * looks first. Floats follow Python: a remainder has the divisor's sign, and floor_divide is what
 * is left of a once the remainder is gone, so that both agree. */
#include "ops/elementwise.h"
#include "ops/rule_parts.h"
#include "ops/table.h"

#include <math.h>

/* ---- the expressions ------------------------------------------------------------------------- */

static inline double remainder_f64(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline double floor_divide_f64(double a, double b)
{
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static inline float remainder_f32(float a, float b)
{
    float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline float floor_divide_f32(float a, float b)
{
    if (b == 0) return a / b;
    float rest = fmodf(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysignf(0, a / b);
    float whole = floorf(quotient);
    return quotient - whole > 0.5f ? whole + 1 : whole;
}

/* b is not 0; the smallest integer by -1 wraps to itself. */
static inline int64_t trunc_divide_i64(int64_t a, int64_t b)
{
    return b == -1 ? MW__SUB_I64(0, a) : a / b;
}

static inline int64_t remainder_i64(int64_t a, int64_t b)
{
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int64_t floor_divide_i64(int64_t a, int64_t b)
{
    int64_t quotient = trunc_divide_i64(a, b);
    return b != -1 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

#define ROWS(word, f32_of, f64_of, i64_of)              \
    MW__ROW2_F32(word##_f32, float, f32_of)             \
    MW__ROW2(word##_f64, double, double, f64, f64_of)   \
    MW__ROW2(word##_i64, int64_t, int64_t, i64, i64_of) \
    static const mw__family word##_family = {MW__BUILDS(word##_f32), word##_f64, word##_i64};

ROWS(rest, remainder_f32(a, b), remainder_f64(a, b), remainder_i64(a, b))
ROWS(floored, floor_divide_f32(a, b), floor_divide_f64(a, b), floor_divide_i64(a, b))
ROWS(c_rest, fmodf(a, b), fmod(a, b), b == -1 ? 0 : a % b)
ROWS(truncated, truncf(a / b), trunc(a / b), trunc_divide_i64(a, b))
ROWS(exact, a / b, a / b, trunc_divide_i64(a, b))

/* ---- kernels --------------------------------------------------------------------------------- */

/* Whether some element of an integer view is 0. */
static mw_status has_zero(const mw_kernel_call *k, const mw_view *view, bool *ret)
{
    int64_t count = mw__view_count(view);
    int64_t *value = mw__arena_alloc(k->scratch, (size_t)MW_MAX(count, 1) * sizeof *value);
    if (!value) return MW_NOMEM();
    mw_view to;
    mw__view_set(&to, MW_DTYPE_i64, view->ndim, view->shape);
    to.data = value;
    mw__view_copy(&to, view);
    *ret = false;
    for (int64_t i = 0; i < count; i++)
        *ret = *ret || value[i] == 0;
    return MW_OK;
}

/* A number as a view of no dims: then there is one row for both overloads. */
static mw_status divide(const mw_kernel_call *k, const mw__family *family)
{
    mw_view in[2] = {k->in[0]};
    mw__scalars number;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    bool zero = false;
    if (k->nin == 2) {
        in[1] = k->in[1];
    } else {
        mw__scalars_set(&number, 0, class_dtype, k->call, 1, 1);
        in[1] = (mw_view){.data = &number, .dtype = class_dtype};
    }
    if (class_dtype == MW_DTYPE_i64 && mw__view_count(&k->out[0]) > 0)
        MW_TRY(has_zero(k, &in[1], &zero));
    if (zero) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "%s: an integer is divided by 0", mw__call_name(k->call));
        mw__error_hint("divide floats, where that gives inf or nan, or mask the zeros first");
        return status;
    }
    mw_kernel_call two = *k;
    two.nin = 2;
    two.in = in;
    return mw__family_run(&two, family, NULL);
}

static mw_status remainder_kernel(const mw_kernel_call *k)
{
    return divide(k, &rest_family);
}

static mw_status fmod_kernel(const mw_kernel_call *k)
{
    return divide(k, &c_rest_family);
}

static mw_status floor_divide_kernel(const mw_kernel_call *k)
{
    return divide(k, &floored_family);
}

static const char *rounding_of(const mw_call_args *call)
{
    return call->arg[2].kind == MW_ARG_STR ? call->arg[2].s : "";
}

static mw_status div_mode_kernel(const mw_kernel_call *k)
{
    const char *rounding = rounding_of(k->call);
    if (!*rounding) return mw__family_run(k, &exact_family, NULL); /* of floats */
    return divide(k, *rounding == 'f' ? &floored_family : &truncated_family);
}

/* Without rounding it is div.Tensor. */
static mw_status div_mode_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const char *rounding = rounding_of(call);
    const mw_op_info *info = mw__op_info_of(call->op);
    if (*rounding && strcmp(rounding, "floor") != 0 && strcmp(rounding, "trunc") != 0)
        return MW_FAIL(MW_ERR_ARG,
                       "%s: argument 'rounding_mode' must be 'floor', 'trunc' or None, got '%s'",
                       mw__call_name(call), rounding);
    if (*rounding) {
        rule->in[0].linear = 0;
        rule->out_meta[0].dtype = mw__rule_promote(call, &info->schema);
    }
    return mw__rule_default(call, rule);
}

#define WHOLE_SAMPLES                                                                         \
    "f32[4, 6], f32[6]>0; f64[3, 1], f64[5]>0; i64[7], i64[7]>0; bf16[4], f32[4]>0; i32[5], " \
    "i64[]>1; f32[], f32[]>0; f32[0, 3], f32[3]"

const mw_op mw_op_remainder = {
    .schema = "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "What is left of a division that rounds down; it has the divisor's sign.",
    .dtype = MW_OUT_PROMOTE,
    .kernel = remainder_kernel,
    .samples = WHOLE_SAMPLES,
};

const mw_op mw_op_remainder_scalar = {
    .schema = "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "What is left of a division by a number that rounds down; it has the number's sign.",
    .dtype = MW_OUT_PROMOTE,
    .kernel = remainder_kernel,
    .samples = "f32[4, 6], 0.5; f64[5], -2; i64[7], 3; i64[7], -4; bf16[4], 0.75; f32[], 2; "
               "f32[0, 3], 1",
};

const mw_op mw_op_fmod = {
    .schema = "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "What division towards 0 leaves: it has the sign of the dividend.",
    .dtype = MW_OUT_PROMOTE,
    .kernel = fmod_kernel,
    .samples = WHOLE_SAMPLES,
};

const mw_op mw_op_fmod_scalar = {
    .schema = "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "What division towards 0 by a number leaves.",
    .dtype = MW_OUT_PROMOTE,
    .kernel = fmod_kernel,
    .samples = "f32[4, 6], 0.5; f64[5], -2; i64[7], 3; i64[7], -4; bf16[4], 0.75; f32[], 2; "
               "f32[0, 3], 1",
};

const mw_op mw_op_floor_divide = {
    .schema = "aten::floor_divide(Tensor self, Tensor other) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "Quotient of two tensors, rounded down.",
    .dtype = MW_OUT_PROMOTE,
    .kernel = floor_divide_kernel,
    .samples = WHOLE_SAMPLES,
};

const mw_op mw_op_div_tensor_mode = {
    .schema = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    .rule = "self[...] other[...] -> [...]",
    .doc = "Quotient of two tensors, rounded down ('floor'), towards 0 ('trunc'), or as it is.",
    .linear_in = MW_ARG(0), /* without rounding */
    .dtype = MW_OUT_FLOAT,
    .kernel = div_mode_kernel,
    .factors = div_mode_factors,
    .samples = "f32[4, 6], f32[6]>0, \"floor\"; f64[3, 1], f64[5]>0, \"trunc\"; "
               "i64[7], i64[7]>0, \"trunc\"; i64[7], i64[7]>0, \"floor\"; f32[4], f32[4]>0, none; "
               "i64[3], i64[3]>0, none; f32[0, 3], f32[3], \"floor\"",
};
