/* Comparisons, and what chooses by their outcome: where and masked_fill.
 * A comparison computes in the promoted dtype of its operands, not in that of its result. */
#include "ops/compare.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"
#include "ops/table.h"

/* ---- comparisons ----------------------------------------------------------------------------- */

typedef struct comparison {
    mw__family tensor, scalar;
} comparison;

mw_status mw__compare_run(const mw_kernel_call *k, const mw__family *tensor,
                          const mw__family *scalar)
{
    const mw_op_info *info = mw__op_info_of(k->call->op);
    mw_dtype class_dtype = mw__class_of(mw__rule_promote(k->call, &info->schema));
    const mw__family *family = k->nin == 2 ? tensor : scalar;
    mw__map map = {.row = mw__family_row(family, class_dtype),
                   .nin = k->nin,
                   .in = {class_dtype, class_dtype},
                   .out = MW_DTYPE_bool};
    if (k->nin == 1 && k->call->narg > 1)
        mw__scalars_set(&map.scalars, 0, class_dtype, k->call, 1, 0);
    mw__map_run(&map, &k->out[0], k->in);
    return MW_OK;
}

#define COMPARISON_ROWS(word, operator)                                         \
    MW__ROW2_F32(word##_f32, uint8_t, a operator b)                             \
    MW__ROW2(word##_f64, uint8_t, double, f64, a operator b)                    \
    MW__ROW2(word##_i64, uint8_t, int64_t, i64, a operator b)                   \
    MW__ROW1_F32(word##_scalar_f32, uint8_t, a operator s)                      \
    MW__ROW1(word##_scalar_f64, uint8_t, double, f64, a operator s)             \
    MW__ROW1(word##_scalar_i64, uint8_t, int64_t, i64, a operator s)            \
    static const comparison word##_rows = {                                     \
        {MW__BUILDS(word##_f32), word##_f64, word##_i64},                       \
        {MW__BUILDS(word##_scalar_f32), word##_scalar_f64, word##_scalar_i64}}; \
    static mw_status word##_kernel(const mw_kernel_call *k)                     \
    {                                                                           \
        return mw__compare_run(k, &word##_rows.tensor, &word##_rows.scalar);    \
    }

#define COMPARISON(word, operator, does)                                                         \
    COMPARISON_ROWS(word, operator)                                                              \
    const mw_op mw_op_##word = {                                                                 \
        .schema = "aten::" #word ".Tensor(Tensor self, Tensor other) -> Tensor",                 \
        .rule = "self[...] other[...] -> [...]",                                                 \
        .doc = "True where an element " does " the other.",                                      \
        .dtype = MW_OUT_BOOL,                                                                    \
        .refuses = MW_REFUSES_TRUTH,                                                             \
        .kernel = word##_kernel,                                                                 \
        .samples = "f32[4, 6], f32[6]; f64[3, 1], f64[5]; i64[7]<4, i64[7]<4; bf16[4], f32[4]; " \
                   "i64[5]<3, f32[]; bool[6], bool[6]; f32[0, 3], f32[3]",                       \
    };                                                                                           \
    const mw_op mw_op_##word##_scalar = {                                                        \
        .schema = "aten::" #word ".Scalar(Tensor self, Scalar other) -> Tensor",                 \
        .rule = "self[...] -> [...]",                                                            \
        .doc = "True where an element " does " the number.",                                     \
        .dtype = MW_OUT_BOOL,                                                                    \
        .refuses = MW_REFUSES_TRUTH,                                                             \
        .kernel = word##_kernel,                                                                 \
        .samples = "f32[4, 6], 0.5; f64[5], 0; i64[7]<4, 2; i64[7]<4, 1.5; f16[3], 0.25; "       \
                   "bool[6], true; f32[], 1; f32[0, 3], 1",                                      \
    }

COMPARISON(eq, ==, "equals");
COMPARISON(ne, !=, "differs from");
COMPARISON(lt, <, "is less than");
COMPARISON(le, <=, "is at most");
COMPARISON(gt, >, "is greater than");
COMPARISON(ge, >=, "is at least");

/* ---- where ----------------------------------------------------------------------------------- */

/* f32 by bits and in blocks: the condition is data, and a branch on it is guessed wrong half the
 * time. A value that stays put is a row of one. */
MW__INLINE void where_along(float *restrict o, const uint8_t *restrict c, const float *restrict x,
                            const float *restrict y, int64_t n)
{
    MW__BLOCKS(n, o[i] = mw__pick_f32(c[i] != 0, x[i], y[i]));
}

MW__INLINE void where_first(float *restrict o, const uint8_t *restrict c, const float *restrict x,
                            float y, int64_t n)
{
    MW__BLOCKS(n, o[i] = mw__pick_f32(c[i] != 0, x[i], y));
}

MW__INLINE void where_second(float *restrict o, const uint8_t *restrict c, float x,
                             const float *restrict y, int64_t n)
{
    MW__BLOCKS(n, o[i] = mw__pick_f32(c[i] != 0, x, y[i]));
}

#define WHERE_LOOP(T)                                       \
    T *o = out;                                             \
    const uint8_t *c = in[0];                               \
    const T *x = in[1], *y = in[2];                         \
    const int64_t cs = step[0], xs = step[1], ys = step[2]; \
    (void)scalars;                                          \
    for (int64_t i = 0; i < n; i++)                         \
    o[i] = c[i * cs] ? x[i * xs] : y[i * ys]

static void where_f64(MW__ROW_PARAMS)
{
    WHERE_LOOP(double);
}

static void where_i64(MW__ROW_PARAMS)
{
    WHERE_LOOP(int64_t);
}

MW__INLINE void where_f32_body(MW__ROW_PARAMS)
{
    if (step[0] && step[1] && step[2]) {
        where_along(out, in[0], in[1], in[2], n);
    } else if (step[0] && step[1]) {
        where_first(out, in[0], in[1], *(const float *)in[2], n);
    } else if (step[0] && step[2]) {
        where_second(out, in[0], *(const float *)in[1], in[2], n);
    } else {
        WHERE_LOOP(float);
    }
}

MW__ROW_BUILDS(where_f32)

static const mw__family where_family = {MW__BUILDS(where_f32), where_f64, where_i64};

static mw_status where_kernel(const mw_kernel_call *k)
{
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__map map = {.row = mw__family_row(&where_family, class_dtype),
                   .nin = 3,
                   .in = {MW_DTYPE_bool, class_dtype, class_dtype},
                   .out = class_dtype};
    mw__map_run(&map, &k->out[0], k->in);
    return MW_OK;
}

const mw_op mw_op_where_self = {
    .schema = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    .rule = "condition[...]; self[...] + other[...] -> [...]",
    .doc = "Elements of self where the condition holds, else of other.",
    .linear_in = MW_ARG(1) | MW_ARG(2),
    .monotone = 1,
    .joint = MW_JOINT_EXTREME,
    .dtype = MW_OUT_PROMOTE,
    .kernel = where_kernel,
    .samples =
        "bool[4, 6], f32[4, 6], f32[4, 6]; bool[4, 1], f32[6], f32[]; bool[5], f64[5], f64[5]; "
        "bool[3], i64[3]<9, i64[3]<9; bool[4], bf16[4], bf16[]; bool[], f32[], f32[]; "
        "bool[0], f32[0], f32[0]",
};

/* ---- masked_fill ----------------------------------------------------------------------------- */

/* where, with the number for its first value. */
#define FILL_ROW(name, where, T, field)                     \
    static void name(MW__ROW_PARAMS)                        \
    {                                                       \
        const T value = scalars->field[0];                  \
        const void *const parts[] = {in[1], &value, in[0]}; \
        const int64_t steps[] = {step[1], 0, step[0]};      \
        where(out, parts, steps, n, scalars);               \
    }

FILL_ROW(fill_f32_any, where_f32_any, float, f32)
FILL_ROW(fill_f32_avx2, where_f32_avx2, float, f32)
FILL_ROW(fill_f64, where_f64, double, f64)
FILL_ROW(fill_i64, where_i64, int64_t, i64)

static const mw__family fill_family = {MW__BUILDS(fill_f32), fill_f64, fill_i64};

static mw_status masked_fill_kernel(const mw_kernel_call *k)
{
    mw_dtype class_dtype = mw__class_of(k->out[0].dtype);
    mw__map map = {.row = mw__family_row(&fill_family, class_dtype),
                   .nin = 2,
                   .in = {class_dtype, MW_DTYPE_bool},
                   .out = class_dtype};
    mw__scalars_set(&map.scalars, 0, class_dtype, k->call, 2, 0);
    mw__map_run(&map, &k->out[0], k->in);
    return MW_OK;
}

/* Filling with 0 scales each term by 0 or 1; any other value would be added once per term. */
static mw_status masked_fill_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (call->in[1].dtype != MW_DTYPE_bool)
        return MW_FAIL(MW_ERR_ARG, "%s: expected a bool tensor for argument 'mask', got %s",
                       mw__call_name(call), mw_dtype_name(call->in[1].dtype));
    rule->in[0].linear = mw__arg_float(call, 2, 0) == 0;
    return mw__rule_default(call, rule);
}

const mw_op mw_op_masked_fill_scalar = {
    .schema = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    .rule = "self[...] mask[...] -> [...]",
    .doc = "The tensor with a number in place of the elements that the mask picks.",
    .linear_in = MW_ARG(0), /* with value 0 */
    .monotone = 1,
    .monotone_in = MW_ARG(0),
    .dtype = MW_OUT_FIRST,
    .refuses = MW_REFUSES_MEAN "; " MW_REFUSES_TRUTH,
    .kernel = masked_fill_kernel,
    .factors = masked_fill_factors,
    .samples = "f32[4, 6], bool[4, 6], 0; f32[2, 4, 6], bool[4, 6], -1e9; f64[5], bool[1], 0.5; "
               "i64[4]<9, bool[4], 7; bf16[3, 2], bool[2], 0; f32[], bool[], 1; f32[0], bool[0], 0",
};
