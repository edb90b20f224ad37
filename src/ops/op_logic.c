/* Truth values and bits: what tests an element, and what joins tests. Elements count as true where
 * they are not 0, NaN among them. */
#include "ops/compare.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- tests of one element --------------------------------------------------------------------
 */

#define TEST(word, does, f32_expression, f64_expression, i64_expression, inputs)           \
    MW__ROW1_F32(word##_f32, uint8_t, f32_expression)                                      \
    MW__ROW1(word##_f64, uint8_t, double, f64, f64_expression)                             \
    MW__ROW1(word##_i64, uint8_t, int64_t, i64, i64_expression)                            \
    static mw_status word##_kernel(const mw_kernel_call *k)                                \
    {                                                                                      \
        static const mw__family family = {MW__BUILDS(word##_f32), word##_f64, word##_i64}; \
        return mw__compare_run(k, NULL, &family);                                          \
    }                                                                                      \
    const mw_op mw_op_##word = {                                                           \
        .schema = "aten::" #word "(Tensor self) -> Tensor",                                \
        .rule = "self[...] -> [...]",                                                      \
        .doc = does,                                                                       \
        .dtype = MW_OUT_BOOL,                                                              \
        .refuses = MW_REFUSES_TRUTH,                                                       \
        .kernel = word##_kernel,                                                           \
        .samples = inputs,                                                                 \
    }

#define TEST_SAMPLES "f32[4, 6]; f64[5]; i64[7]<3; bf16[3, 4]; bool[6]; f32[]; f32[0, 3]"

TEST(isnan, "True where the element is not a number.", a != a, a != a, 0, TEST_SAMPLES);
TEST(isinf, "True where the element is infinite.", fabsf(a) == HUGE_VALF, fabs(a) == HUGE_VAL, 0,
     TEST_SAMPLES);
TEST(logical_not, "True where the element is 0.", a == 0, a == 0, a == 0, TEST_SAMPLES);

/* ---- tests of two ----------------------------------------------------------------------------
 */

#define LOGIC(word, does, operator)                                                        \
    MW__ROW2_F32(word##_f32, uint8_t, (a != 0) operator(b != 0))                           \
    MW__ROW2(word##_f64, uint8_t, double, f64, (a != 0) operator(b != 0))                  \
    MW__ROW2(word##_i64, uint8_t, int64_t, i64, (a != 0) operator(b != 0))                 \
    static mw_status word##_kernel(const mw_kernel_call *k)                                \
    {                                                                                      \
        static const mw__family family = {MW__BUILDS(word##_f32), word##_f64, word##_i64}; \
        return mw__compare_run(k, &family, NULL);                                          \
    }                                                                                      \
    const mw_op mw_op_##word = {                                                           \
        .schema = "aten::" #word "(Tensor self, Tensor other) -> Tensor",                  \
        .rule = "self[...] other[...] -> [...]",                                           \
        .doc = "True where " does ".",                                                     \
        .dtype = MW_OUT_BOOL,                                                              \
        .refuses = MW_REFUSES_TRUTH,                                                       \
        .kernel = word##_kernel,                                                           \
        .samples = "bool[4, 6], bool[6]; i64[7]<3, i64[7]<3; f32[3, 1], bool[5]; "         \
                   "f64[4], f64[4]; bool[], bool[]; bool[0, 3], bool[3]",                  \
    }

LOGIC(logical_and, "both elements hold", &);
LOGIC(logical_or, "one of the elements holds, or both", |);
LOGIC(logical_xor, "one of the elements holds, but not both", ^);

/* ---- bits: integers and bool ------------------------------------------------------------------
 */

MW__ROW2(bit_and, int64_t, int64_t, i64, a &b)
MW__ROW2(bit_or, int64_t, int64_t, i64, a | b)
MW__ROW2(bit_xor, int64_t, int64_t, i64, a ^ b)
MW__ROW1(bit_not, int64_t, int64_t, i64, a ^ s)

static mw_status bits_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) == MW_KIND_FLOAT) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "%s: a %s has no bits to join", mw__call_name(call),
                                   mw_dtype_name(rule->out_meta[0].dtype));
        mw__error_hint("integers and bool do; compare floats first");
        return status;
    }
    return mw__rule_default(call, rule);
}

/* All bits of an integer turn over, and the one of a bool. */
static mw_status bitwise_not_kernel(const mw_kernel_call *k)
{
    static const mw__family family = {{NULL, NULL}, NULL, bit_not};
    mw__scalars scalars = {.i64 = {k->out[0].dtype == MW_DTYPE_bool ? 1 : -1, 0}};
    return mw__family_run(k, &family, &scalars);
}

#define BITS(word, row, does)                                                        \
    static mw_status word##_kernel(const mw_kernel_call *k)                          \
    {                                                                                \
        static const mw__family family = {{NULL, NULL}, NULL, row};                  \
        return mw__family_run(k, &family, NULL);                                     \
    }                                                                                \
    const mw_op mw_op_##word = {                                                     \
        .schema = "aten::" #word ".Tensor(Tensor self, Tensor other) -> Tensor",     \
        .rule = "self[...] other[...] -> [...]",                                     \
        .doc = does " of the elements, bit by bit.",                                 \
        .dtype = MW_OUT_PROMOTE,                                                     \
        .refuses = MW_REFUSES_TRUTH,                                                 \
        .kernel = word##_kernel,                                                     \
        .factors = bits_factors,                                                     \
        .samples = "bool[4, 6], bool[6]; i64[7], i64[7]; i32[3, 1], i64[5]; u8[4], " \
                   "u8[4]; bool[], bool[]; bool[0, 3], bool[3]",                     \
    }

BITS(bitwise_and, bit_and, "And");
BITS(bitwise_or, bit_or, "Or");
BITS(bitwise_xor, bit_xor, "Exclusive or");

const mw_op mw_op_bitwise_not = {
    .schema = "aten::bitwise_not(Tensor self) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Every bit turned over; of a bool, the other value.",
    .dtype = MW_OUT_FIRST,
    .refuses = MW_REFUSES_TRUTH,
    .kernel = bitwise_not_kernel,
    .factors = bits_factors,
    .samples = "bool[4, 6]; i64[7]; i32[3, 2]; u8[5]; bool[]; bool[0, 3]",
};
