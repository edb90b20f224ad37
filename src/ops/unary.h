/* unary: the macros that write ops of one operand, element by element: their rows for each machine
 * type, their kernel, and their row of the table. */
#ifndef OPS_UNARY_H
#define OPS_UNARY_H

#include "ops/elementwise.h"
#include "ops/refuses.h"

/* The rows, the family and the kernel of an op that gives floats. */
#define FLOAT_UNARY(word, f32_expression, f64_expression)                               \
    MW__ROW1_F32(word##_f32, float, f32_expression)                                     \
    MW__ROW1(word##_f64, double, double, f64, f64_expression)                           \
    static const mw__family word##_family = {MW__BUILDS(word##_f32), word##_f64, NULL}; \
    static mw_status word##_kernel(const mw_kernel_call *k)                             \
    {                                                                                   \
        return mw__family_run(k, &word##_family, NULL);                                 \
    }

/* The same of one that keeps integers. */
#define ANY_UNARY(word, f32_expression, f64_expression, i64_expression)                       \
    MW__ROW1_F32(word##_f32, float, f32_expression)                                           \
    MW__ROW1(word##_f64, double, double, f64, f64_expression)                                 \
    MW__ROW1(word##_i64, int64_t, int64_t, i64, i64_expression)                               \
    static const mw__family word##_family = {MW__BUILDS(word##_f32), word##_f64, word##_i64}; \
    static mw_status word##_kernel(const mw_kernel_call *k)                                   \
    {                                                                                         \
        return mw__family_run(k, &word##_family, NULL);                                       \
    }

#define FLOAT_SAMPLES \
    "f32[4, 6]; f64[5]; bf16[3, 7]; f16[2, 2, 3]; i64[6]<9; f32[]; f32[0, 3]; bool[4]"
#define POSITIVE_SAMPLES \
    "f32[4, 6]>0; f64[5]>0; bf16[3, 7]>0; f16[2, 2, 3]>0; i64[6]<9; f32[]>0; f32[0, 3]>0"

#define UNARY_OP(word, does, out, rises, inputs)            \
    const mw_op mw_op_##word = {                            \
        .schema = "aten::" #word "(Tensor self) -> Tensor", \
        .rule = "self[...] -> [...]",                       \
        .doc = does,                                        \
        .monotone = (rises),                                \
        .dtype = (out),                                     \
        .refuses = MW_REFUSES_UNARY,                        \
        .kernel = word##_kernel,                            \
        .samples = (inputs),                                \
    }

#endif
