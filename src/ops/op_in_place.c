/* In-place forms: ops that write their result to their first operand. Each is a schema here; rule,
 * flags and kernel are those of the op that it is a form of (rule.c reads them from there), which
 * works element by element and so may write where it reads. The operand keeps its dtype, its
 * layout and its strides.
 *
 * How to add one: a line below and its word in ops.def. */
#include "ops/op.h"

#define OP(name) extern const mw_op mw_op_##name;
#include "ops/ops.def"
#undef OP

static mw_status in_place_kernel(const mw_kernel_call *k)
{
    mw_call_args call = *k->call;
    mw_kernel_call form = *k;
    call.op = k->call->op->in_place_of;
    form.call = &call;
    return call.op->kernel(&form);
}

/* `rest` is the schema's text after `self`. */
#define IN_PLACE(word, form, name, rest, inputs)                           \
    const mw_op mw_op_##word = {                                           \
        .schema = "aten::" name "(Tensor(a!) self" rest ") -> Tensor(a!)", \
        .doc = "The op " #form ", written to self.",                       \
        .in_place_of = &mw_op_##form,                                      \
        .kernel = in_place_kernel,                                         \
        .samples = inputs,                                                 \
    }

#define ONE "f32[4, 6]; f64[5]; bf16[3, 7]; f32[]; f32[0, 3]"
#define WITH_NUMBER \
    "f32[4, 6], 2; f64[5], -0.5; bf16[3, 7], 1.5; i64[4]<9, 3; f32[], 1; f32[0, 3], 1"
#define WITH_TENSOR                                                                      \
    "f32[4, 6], f32[6]; f64[3, 5], f64[3, 1]; bf16[4, 8], bf16[8]; i64[7]<9, i32[7]<9; " \
    "f32[], f32[]; f32[0, 3], f32[3]"

IN_PLACE(add_, add, "add_.Tensor", ", Tensor other, *, Scalar alpha=1", WITH_TENSOR);
IN_PLACE(add__scalar, add_scalar, "add_.Scalar", ", Scalar other, Scalar alpha=1", WITH_NUMBER);
IN_PLACE(sub_, sub, "sub_.Tensor", ", Tensor other, *, Scalar alpha=1", WITH_TENSOR);
IN_PLACE(sub__scalar, sub_scalar, "sub_.Scalar", ", Scalar other, Scalar alpha=1", WITH_NUMBER);
IN_PLACE(mul_, mul, "mul_.Tensor", ", Tensor other", WITH_TENSOR);
IN_PLACE(mul__scalar, mul_scalar, "mul_.Scalar", ", Scalar other", WITH_NUMBER);
IN_PLACE(div_, div, "div_.Tensor", ", Tensor other",
         "f32[4, 6], f32[6]>0; f64[3, 5], f64[3, 1]>0; bf16[4, 8], bf16[8]>0; f32[], f32[]>0; "
         "f32[0, 3], f32[3]>0");
IN_PLACE(div__scalar, div_scalar, "div_.Scalar", ", Scalar other",
         "f32[4, 6], 2; f64[5], -0.5; bf16[3, 7], 1.5; f32[], 1; f32[0, 3], 1");
IN_PLACE(neg_, neg, "neg_", "", ONE);
IN_PLACE(relu_, relu, "relu_", "", ONE);
IN_PLACE(exp_, exp, "exp_", "", ONE);
IN_PLACE(tanh_, tanh, "tanh_", "", ONE);
IN_PLACE(sigmoid_, sigmoid, "sigmoid_", "", ONE);
IN_PLACE(silu_, silu, "silu_", "", ONE);
IN_PLACE(sqrt_, sqrt, "sqrt_", "", "f32[4, 6]>0; f64[5]>0; bf16[3, 7]>0; f32[]>0; f32[0, 3]>0");
IN_PLACE(rsqrt_, rsqrt, "rsqrt_", "", "f32[4, 6]>0; f64[5]>0; bf16[3, 7]>0; f32[]>0; f32[0, 3]>0");
IN_PLACE(gelu_, gelu, "gelu_", ", *, str approximate='none'",
         "f32[4, 6]; f64[5], \"tanh\"; bf16[3, 7]; f32[]; f32[0, 3]");
IN_PLACE(pow__scalar, pow_tensor_scalar, "pow_.Scalar", ", Scalar exponent",
         "f32[4, 6], 2; f64[5]>0, 0.5; bf16[4], 2; i64[6]<9, 3; f32[]>0, -1; f32[0, 2], 2");
IN_PLACE(clamp_, clamp, "clamp_", ", Scalar? min=None, Scalar? max=None",
         "f32[4, 6], -0.5, 0.5; f64[5], 0; bf16[3, 7], none, 0.25; i64[6], -2, 3; f32[0, 3], 0, 1");
IN_PLACE(masked_fill__scalar, masked_fill_scalar, "masked_fill_.Scalar",
         ", Tensor mask, Scalar value",
         "f32[4, 6], bool[4, 6], 0; f32[2, 4, 6], bool[4, 6], -1e9; f64[5], bool[1], 0.5; "
         "i64[4]<9, bool[4], 7; bf16[3, 2], bool[2], 0; f32[0], bool[0], 0");
IN_PLACE(fill__scalar, full_like, "fill_.Scalar", ", Scalar value",
         "f32[4, 6], 0.5; i64[3]<9, 7; bf16[2, 5], -1; f32[], 1; f32[0, 2], 1");
IN_PLACE(zero_, zeros_like, "zero_", "", ONE);
