/* Sums of products in one pass: rsub, addcmul, addcdiv, lerp; and dropout where it does nothing.
 * What is added is a term of its own in the rule, so that a sum over ranks holds it once. */
#include "ops/elementwise.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

/* ---- rsub: other - alpha self -----------------------------------------------------------------
 */

MW__ROW1_F32(rsub_f32, float, s - t * a)
MW__ROW1(rsub_f64, double, double, f64, s - t * a)
MW__ROW1(rsub_i64, int64_t, int64_t, i64, MW__SUB_I64(s, MW__MUL_I64(t, a)))
static const mw__family rsub_family = {MW__BUILDS(rsub_f32), rsub_f64, rsub_i64};

static mw_status rsub_kernel(const mw_kernel_call *k)
{
    mw__scalars scalars;
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__scalars_set(&scalars, 0, class_dtype, k->call, 1, 0);
    mw__scalars_set(&scalars, 1, class_dtype, k->call, 2, 1);
    return mw__family_run(k, &rsub_family, &scalars);
}

/* Linear only where nothing is added. */
static mw_status rsub_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    double by = mw__arg_float(call, 2, 1);
    if (rule->out_meta[0].dtype == MW_DTYPE_bool)
        return MW_FAIL(MW_ERR_ARG, "%s: bool tensors cannot be subtracted", mw__call_name(call));
    rule->monotone = (int8_t)((by < 0) - (by > 0));
    rule->in[0].linear = mw__arg_float(call, 1, 0) == 0;
    return mw__rule_default(call, rule);
}

const mw_op mw_op_rsub_scalar = {
    .schema = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "A number less a tensor multiplied by alpha.",
    .linear_in = MW_ARG(0), /* with other 0 */
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_MEAN,
    .kernel = rsub_kernel,
    .factors = rsub_factors,
    .samples = "f32[4, 6], 1; f64[5], 0, 2; f32[5], 0; bf16[3, 7], 1.5, -1; i64[6]<9, 3; f32[], 1; "
               "f32[0, 3], 1",
};

/* ---- three operands ---------------------------------------------------------------------------
 */

/* Over a, b, c and the number s. */
#define ROW3(name, T, field, expression)                                   \
    static void name(MW__ROW_PARAMS)                                       \
    {                                                                      \
        T *o = out;                                                        \
        const T *x = in[0], *y = in[1], *z = in[2], s = scalars->field[0]; \
        const int64_t xs = step[0], ys = step[1], zs = step[2];            \
        (void)s;                                                           \
        for (int64_t i = 0; i < n; i++) {                                  \
            const T a = x[i * xs], b = y[i * ys], c = z[i * zs];           \
            o[i] = (expression);                                           \
        }                                                                  \
    }

ROW3(addcmul_f32, float, f32, a + s * b * c)
ROW3(addcmul_f64, double, f64, a + s * b * c)
ROW3(addcmul_i64, int64_t, i64, MW__ADD_I64(a, MW__MUL_I64(MW__MUL_I64(s, b), c)))
ROW3(addcdiv_f32, float, f32, a + s * b / c)
ROW3(addcdiv_f64, double, f64, a + s * b / c)
/* From the nearer end, so that weights 0 and 1 give the ends themselves. */
ROW3(lerp_f32, float, f32, c < 0.5f ? a + c * (b - a) : b - (b - a) * (1 - c))
ROW3(lerp_f64, double, f64, c < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c))

static const mw__family addcmul_family = {{addcmul_f32, addcmul_f32}, addcmul_f64, addcmul_i64};
static const mw__family addcdiv_family = {{addcdiv_f32, addcdiv_f32}, addcdiv_f64, NULL};
static const mw__family lerp_family = {{lerp_f32, lerp_f32}, lerp_f64, NULL};

static mw_status with_value(const mw_kernel_call *k, const mw__family *family)
{
    mw__scalars scalars;
    mw__scalars_set(&scalars, 0, mw__class_of(k->out[0].dtype), k->call, 3, 1);
    return mw__family_run(k, family, &scalars);
}

static mw_status addcmul_kernel(const mw_kernel_call *k)
{
    return with_value(k, &addcmul_family);
}

static mw_status addcdiv_kernel(const mw_kernel_call *k)
{
    return with_value(k, &addcdiv_family);
}

static mw_status floats_only(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) != MW_KIND_FLOAT) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "%s: not defined for %s", mw__call_name(call),
                                   mw_dtype_name(rule->out_meta[0].dtype));
        mw__error_hint("convert the tensors to a float dtype first");
        return status;
    }
    return mw__rule_default(call, rule);
}

const mw_op mw_op_addcmul = {
    .schema = "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
              "Tensor",
    .rule = "self[...] + tensor1[...] tensor2[...] -> [...]",
    .doc = "self plus value times the product of two tensors.",
    .linear_in = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_BIAS,
    .kernel = addcmul_kernel,
    .samples = "f32[4, 6], f32[4, 6], f32[6]; f64[3, 1], f64[5], f64[3, 5], -0.5; "
               "bf16[4, 2], bf16[4, 1], bf16[2]; i64[5]<9, i64[5]<9, i64[]<9, 2; f32[], f32[], "
               "f32[]; f32[0, 3], f32[3], f32[0, 3]",
};

const mw_op mw_op_addcdiv = {
    .schema = "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> "
              "Tensor",
    .rule = "self[...] + tensor1[...] tensor2[...] -> [...]",
    .doc = "self plus value times the quotient of two tensors.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .dtype = MW_OUT_PROMOTE,
    .refuses = MW_REFUSES_BIAS,
    .kernel = addcdiv_kernel,
    .factors = floats_only,
    .samples = "f32[4, 6], f32[4, 6], f32[6]>0; f64[3, 1], f64[5], f64[3, 5]>0, -0.5; "
               "bf16[4, 2], bf16[4, 1], bf16[2]>0; f32[], f32[], f32[]>0; "
               "f32[0, 3], f32[3], f32[0, 3]",
};

/* ---- lerp -------------------------------------------------------------------------------------
 */

/* The number as a view of no dims. */
static mw_status lerp_scalar_kernel(const mw_kernel_call *k)
{
    double weight = mw__arg_float(k->call, 2, 0);
    mw_view in[3] = {k->in[0], k->in[1], {.data = &weight, .dtype = MW_DTYPE_f64}};
    mw_kernel_call three = *k;
    three.nin = 3;
    three.in = in;
    return mw__family_run(&three, &lerp_family, NULL);
}

static mw_status lerp_kernel(const mw_kernel_call *k)
{
    return mw__family_run(k, &lerp_family, NULL);
}

const mw_op mw_op_lerp_scalar = {
    .schema = "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    .rule = "self[...] + end[...] -> [...]",
    .doc = "The point between two tensors that a weight says: 0 is self, 1 is end.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .refuses = MW_REFUSES_EXTREMES,
    .kernel = lerp_scalar_kernel,
    .factors = floats_only,
    .samples = "f32[4, 6], f32[6], 0.25; f64[3, 1], f64[5], 0.75; bf16[4], bf16[4], 0.5; "
               "f32[5], f32[5], -1; f32[], f32[], 2; f32[0, 3], f32[3], 0.1",
};

const mw_op mw_op_lerp = {
    .schema = "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    .rule = "weight[...]; self[...] + end[...] -> [...]",
    .doc = "The point between two tensors that a third one says: 0 is self, 1 is end.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .refuses = MW_REFUSES_MEAN,
    .kernel = lerp_kernel,
    .factors = floats_only,
    .samples = "f32[4, 6], f32[6], f32[4, 1]; f64[3, 1], f64[5], f64[5]; bf16[4], bf16[4], bf16[]; "
               "f32[5], f32[5], f32[5]<1; f32[], f32[], f32[]; f32[0, 3], f32[3], f32[0, 3]",
};

/* ---- dropout ----------------------------------------------------------------------------------
 */

static mw_status dropout_kernel(const mw_kernel_call *k)
{
    mw__view_copy(&k->out[0], &k->in[0]);
    return MW_OK;
}

static mw_status dropout_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    double p = mw__arg_float(call, 1, 0);
    if (!(p >= 0 && p <= 1))
        return MW_FAIL(MW_ERR_ARG, "dropout: argument 'p' must be between 0 and 1, got %g", p);
    if (p > 0 && mw__arg_bool(call, 2, false)) {
        (void)MW_FAIL(MW_ERR_UNSUPPORTED,
                      "dropout: p is %g in training, and random numbers are not supported", p);
        mw__error_hint("pass train=false, or p=0");
        return MW_ERR_UNSUPPORTED;
    }
    return mw__rule_default(call, rule);
}

const mw_op mw_op_dropout = {
    .schema = "aten::dropout(Tensor input, float p, bool train) -> Tensor",
    .rule = "input[...] -> [...]",
    .doc = "The same values: dropout outside of training, or of nothing.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .kernel = dropout_kernel,
    .factors = dropout_factors,
    .samples =
        "f32[4, 6], 0.1, false; f64[5], 0.0, true; bf16[3, 7], 0.5, false; f32[], 1.0, false; "
        "f32[0, 3], 0.1, false",
};
