/* The ops, one C function each: made from the op table by tools/gen_ops (`make docs`).
 *
 * Arguments are those of the ATen schema, in its order: int[] as a pointer and a count
 * (MW_INTS), Scalar as a double (a whole number counts as an integer), absent optional ones as
 * NULL, MW_NONE_INT, MW_NONE_FLOAT or MW_DTYPE_NONE; memory formats, layouts and devices are left
 * out. Results belong to the current scope. A failure returns NULL (-1 from a function that gives
 * a list), and so does an operand that is NULL; the first error stays in the rank's record.
 * Collective over the operands' mesh, all of them. */
#ifndef MESHWISE_OPS_H
#define MESHWISE_OPS_H

#include <meshwise/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 * Sum of two tensors, the second multiplied by alpha. */
MW_API mw_tensor * mw_add_at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha);
#define mw_add(...) mw_add_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
 * Sum of a tensor and a number multiplied by alpha. */
MW_API mw_tensor * mw_add_scalar_at(mw_site site, mw_tensor *self, double other, double alpha);
#define mw_add_scalar(...) mw_add_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 * Difference of two tensors, the second multiplied by alpha. */
MW_API mw_tensor * mw_sub_at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha);
#define mw_sub(...) mw_sub_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
 * A tensor less a number multiplied by alpha. */
MW_API mw_tensor * mw_sub_scalar_at(mw_site site, mw_tensor *self, double other, double alpha);
#define mw_sub_scalar(...) mw_sub_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
 * Product of two tensors, element by element. */
MW_API mw_tensor * mw_mul_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_mul(...) mw_mul_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
 * Product of a tensor and a number. */
MW_API mw_tensor * mw_mul_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_mul_scalar(...) mw_mul_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::div.Tensor(Tensor self, Tensor other) -> Tensor
 * Quotient of two tensors; of integers it is a float. */
MW_API mw_tensor * mw_div_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_div(...) mw_div_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::div.Scalar(Tensor self, Scalar other) -> Tensor
 * Quotient of a tensor and a number; of integers it is a float. */
MW_API mw_tensor * mw_div_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_div_scalar(...) mw_div_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
 * Each element to the power of a number. */
MW_API mw_tensor * mw_pow_tensor_scalar_at(mw_site site, mw_tensor *self, double exponent);
#define mw_pow_tensor_scalar(...) mw_pow_tensor_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
 * Each element to the power of another. */
MW_API mw_tensor * mw_pow_tensor_tensor_at(mw_site site, mw_tensor *self, mw_tensor *exponent);
#define mw_pow_tensor_tensor(...) mw_pow_tensor_tensor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::maximum(Tensor self, Tensor other) -> Tensor
 * The larger of two elements; NaN where either is NaN. */
MW_API mw_tensor * mw_maximum_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_maximum(...) mw_maximum_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::minimum(Tensor self, Tensor other) -> Tensor
 * The smaller of two elements; NaN where either is NaN. */
MW_API mw_tensor * mw_minimum_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_minimum(...) mw_minimum_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::neg(Tensor self) -> Tensor
 * The element with the other sign. */
MW_API mw_tensor * mw_neg_at(mw_site site, mw_tensor *self);
#define mw_neg(...) mw_neg_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::abs(Tensor self) -> Tensor
 * Absolute value. */
MW_API mw_tensor * mw_abs_at(mw_site site, mw_tensor *self);
#define mw_abs(...) mw_abs_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::relu(Tensor self) -> Tensor
 * The element where it is positive, else 0; NaN stays. */
MW_API mw_tensor * mw_relu_at(mw_site site, mw_tensor *self);
#define mw_relu(...) mw_relu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::exp(Tensor self) -> Tensor
 * Exponential function. */
MW_API mw_tensor * mw_exp_at(mw_site site, mw_tensor *self);
#define mw_exp(...) mw_exp_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::log(Tensor self) -> Tensor
 * Natural logarithm. */
MW_API mw_tensor * mw_log_at(mw_site site, mw_tensor *self);
#define mw_log(...) mw_log_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sqrt(Tensor self) -> Tensor
 * Square root; NaN of negative numbers. */
MW_API mw_tensor * mw_sqrt_at(mw_site site, mw_tensor *self);
#define mw_sqrt(...) mw_sqrt_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::rsqrt(Tensor self) -> Tensor
 * One divided by the square root. */
MW_API mw_tensor * mw_rsqrt_at(mw_site site, mw_tensor *self);
#define mw_rsqrt(...) mw_rsqrt_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::reciprocal(Tensor self) -> Tensor
 * One divided by the element. */
MW_API mw_tensor * mw_reciprocal_at(mw_site site, mw_tensor *self);
#define mw_reciprocal(...) mw_reciprocal_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sin(Tensor self) -> Tensor
 * Sine of an angle in radians. */
MW_API mw_tensor * mw_sin_at(mw_site site, mw_tensor *self);
#define mw_sin(...) mw_sin_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::cos(Tensor self) -> Tensor
 * Cosine of an angle in radians. */
MW_API mw_tensor * mw_cos_at(mw_site site, mw_tensor *self);
#define mw_cos(...) mw_cos_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::tanh(Tensor self) -> Tensor
 * Hyperbolic tangent. */
MW_API mw_tensor * mw_tanh_at(mw_site site, mw_tensor *self);
#define mw_tanh(...) mw_tanh_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sigmoid(Tensor self) -> Tensor
 * 1 / (1 + exp(-x)). */
MW_API mw_tensor * mw_sigmoid_at(mw_site site, mw_tensor *self);
#define mw_sigmoid(...) mw_sigmoid_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::silu(Tensor self) -> Tensor
 * x / (1 + exp(-x)): the element times its sigmoid. */
MW_API mw_tensor * mw_silu_at(mw_site site, mw_tensor *self);
#define mw_silu(...) mw_silu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::gelu(Tensor self, *, str approximate='none') -> Tensor
 * The element times the normal distribution's mass below it, exactly or by tanh. */
MW_API mw_tensor * mw_gelu_at(mw_site site, mw_tensor *self, const char *approximate);
#define mw_gelu(...) mw_gelu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::erf(Tensor self) -> Tensor
 * Error function. */
MW_API mw_tensor * mw_erf_at(mw_site site, mw_tensor *self);
#define mw_erf(...) mw_erf_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::log1p(Tensor self) -> Tensor
 * log(1 + x), exact near 0. */
MW_API mw_tensor * mw_log1p_at(mw_site site, mw_tensor *self);
#define mw_log1p(...) mw_log1p_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::log2(Tensor self) -> Tensor
 * Logarithm to base 2. */
MW_API mw_tensor * mw_log2_at(mw_site site, mw_tensor *self);
#define mw_log2(...) mw_log2_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::expm1(Tensor self) -> Tensor
 * exp(x) - 1, exact near 0. */
MW_API mw_tensor * mw_expm1_at(mw_site site, mw_tensor *self);
#define mw_expm1(...) mw_expm1_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::floor(Tensor self) -> Tensor
 * The largest integer that is not above. */
MW_API mw_tensor * mw_floor_at(mw_site site, mw_tensor *self);
#define mw_floor(...) mw_floor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ceil(Tensor self) -> Tensor
 * The smallest integer that is not below. */
MW_API mw_tensor * mw_ceil_at(mw_site site, mw_tensor *self);
#define mw_ceil(...) mw_ceil_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::trunc(Tensor self) -> Tensor
 * The integer part. */
MW_API mw_tensor * mw_trunc_at(mw_site site, mw_tensor *self);
#define mw_trunc(...) mw_trunc_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::round(Tensor self) -> Tensor
 * The nearest integer, of two the even one. */
MW_API mw_tensor * mw_round_at(mw_site site, mw_tensor *self);
#define mw_round(...) mw_round_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sign(Tensor self) -> Tensor
 * 1, 0 or -1; 0 of NaN. */
MW_API mw_tensor * mw_sign_at(mw_site site, mw_tensor *self);
#define mw_sign(...) mw_sign_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::square(Tensor self) -> Tensor
 * The element times itself. */
MW_API mw_tensor * mw_square_at(mw_site site, mw_tensor *self);
#define mw_square(...) mw_square_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
 * The element, but at least min and at most max; NaN stays. */
MW_API mw_tensor * mw_clamp_at(mw_site site, mw_tensor *self, double min, double max);
#define mw_clamp(...) mw_clamp_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::clamp_min(Tensor self, Scalar min) -> Tensor
 * The element, but at least min; NaN stays. */
MW_API mw_tensor * mw_clamp_min_at(mw_site site, mw_tensor *self, double min);
#define mw_clamp_min(...) mw_clamp_min_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::clamp_max(Tensor self, Scalar max) -> Tensor
 * The element, but at most max; NaN stays. */
MW_API mw_tensor * mw_clamp_max_at(mw_site site, mw_tensor *self, double max);
#define mw_clamp_max(...) mw_clamp_max_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
 * The element, but at least min_val and at most max_val; NaN stays. */
MW_API mw_tensor * mw_hardtanh_at(mw_site site, mw_tensor *self, double min_val, double max_val);
#define mw_hardtanh(...) mw_hardtanh_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
 * The element where it is positive, else alpha times (exp(x) - 1); times scale. */
MW_API mw_tensor * mw_elu_at(mw_site site, mw_tensor *self, double alpha, double scale, double input_scale);
#define mw_elu(...) mw_elu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
 * The element where it is positive, else the element times a slope. */
MW_API mw_tensor * mw_leaky_relu_at(mw_site site, mw_tensor *self, double negative_slope);
#define mw_leaky_relu(...) mw_leaky_relu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
 * log(1 + exp(beta x)) / beta; the element itself where beta x is above the threshold. */
MW_API mw_tensor * mw_softplus_at(mw_site site, mw_tensor *self, double beta, double threshold);
#define mw_softplus(...) mw_softplus_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element equals the other. */
MW_API mw_tensor * mw_eq_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_eq(...) mw_eq_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element equals the number. */
MW_API mw_tensor * mw_eq_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_eq_scalar(...) mw_eq_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element differs from the other. */
MW_API mw_tensor * mw_ne_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_ne(...) mw_ne_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element differs from the number. */
MW_API mw_tensor * mw_ne_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_ne_scalar(...) mw_ne_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element is less than the other. */
MW_API mw_tensor * mw_lt_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_lt(...) mw_lt_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element is less than the number. */
MW_API mw_tensor * mw_lt_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_lt_scalar(...) mw_lt_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::le.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element is at most the other. */
MW_API mw_tensor * mw_le_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_le(...) mw_le_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::le.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element is at most the number. */
MW_API mw_tensor * mw_le_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_le_scalar(...) mw_le_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::gt.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element is greater than the other. */
MW_API mw_tensor * mw_gt_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_gt(...) mw_gt_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element is greater than the number. */
MW_API mw_tensor * mw_gt_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_gt_scalar(...) mw_gt_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ge.Tensor(Tensor self, Tensor other) -> Tensor
 * True where an element is at least the other. */
MW_API mw_tensor * mw_ge_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_ge(...) mw_ge_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
 * True where an element is at least the number. */
MW_API mw_tensor * mw_ge_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_ge_scalar(...) mw_ge_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor
 * What is left of a division that rounds down; it has the divisor's sign. */
MW_API mw_tensor * mw_remainder_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_remainder(...) mw_remainder_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor
 * What is left of a division by a number that rounds down; it has the number's sign. */
MW_API mw_tensor * mw_remainder_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_remainder_scalar(...) mw_remainder_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor
 * What division towards 0 leaves: it has the sign of the dividend. */
MW_API mw_tensor * mw_fmod_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_fmod(...) mw_fmod_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor
 * What division towards 0 by a number leaves. */
MW_API mw_tensor * mw_fmod_scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_fmod_scalar(...) mw_fmod_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::floor_divide(Tensor self, Tensor other) -> Tensor
 * Quotient of two tensors, rounded down. */
MW_API mw_tensor * mw_floor_divide_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_floor_divide(...) mw_floor_divide_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
 * Quotient of two tensors, rounded down ('floor'), towards 0 ('trunc'), or as it is. */
MW_API mw_tensor * mw_div_tensor_mode_at(mw_site site, mw_tensor *self, mw_tensor *other, const char *rounding_mode);
#define mw_div_tensor_mode(...) mw_div_tensor_mode_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
 * A number less a tensor multiplied by alpha. */
MW_API mw_tensor * mw_rsub_scalar_at(mw_site site, mw_tensor *self, double other, double alpha);
#define mw_rsub_scalar(...) mw_rsub_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
 * self plus value times the product of two tensors. */
MW_API mw_tensor * mw_addcmul_at(mw_site site, mw_tensor *self, mw_tensor *tensor1, mw_tensor *tensor2, double value);
#define mw_addcmul(...) mw_addcmul_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
 * self plus value times the quotient of two tensors. */
MW_API mw_tensor * mw_addcdiv_at(mw_site site, mw_tensor *self, mw_tensor *tensor1, mw_tensor *tensor2, double value);
#define mw_addcdiv(...) mw_addcdiv_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
 * The point between two tensors that a weight says: 0 is self, 1 is end. */
MW_API mw_tensor * mw_lerp_scalar_at(mw_site site, mw_tensor *self, mw_tensor *end, double weight);
#define mw_lerp_scalar(...) mw_lerp_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
 * The point between two tensors that a third one says: 0 is self, 1 is end. */
MW_API mw_tensor * mw_lerp_at(mw_site site, mw_tensor *self, mw_tensor *end, mw_tensor *weight);
#define mw_lerp(...) mw_lerp_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::dropout(Tensor input, float p, bool train) -> Tensor
 * The same values: dropout outside of training, or of nothing. */
MW_API mw_tensor * mw_dropout_at(mw_site site, mw_tensor *input, double p, bool train);
#define mw_dropout(...) mw_dropout_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
 * Elements of self where the condition holds, else of other. */
MW_API mw_tensor * mw_where_self_at(mw_site site, mw_tensor *condition, mw_tensor *self, mw_tensor *other);
#define mw_where_self(...) mw_where_self_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
 * The tensor with a number in place of the elements that the mask picks. */
MW_API mw_tensor * mw_masked_fill_scalar_at(mw_site site, mw_tensor *self, mw_tensor *mask, double value);
#define mw_masked_fill_scalar(...) mw_masked_fill_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::isnan(Tensor self) -> Tensor
 * True where the element is not a number. */
MW_API mw_tensor * mw_isnan_at(mw_site site, mw_tensor *self);
#define mw_isnan(...) mw_isnan_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::isinf(Tensor self) -> Tensor
 * True where the element is infinite. */
MW_API mw_tensor * mw_isinf_at(mw_site site, mw_tensor *self);
#define mw_isinf(...) mw_isinf_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::logical_not(Tensor self) -> Tensor
 * True where the element is 0. */
MW_API mw_tensor * mw_logical_not_at(mw_site site, mw_tensor *self);
#define mw_logical_not(...) mw_logical_not_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::logical_and(Tensor self, Tensor other) -> Tensor
 * True where both elements hold. */
MW_API mw_tensor * mw_logical_and_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_logical_and(...) mw_logical_and_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::logical_or(Tensor self, Tensor other) -> Tensor
 * True where one of the elements holds, or both. */
MW_API mw_tensor * mw_logical_or_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_logical_or(...) mw_logical_or_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::logical_xor(Tensor self, Tensor other) -> Tensor
 * True where one of the elements holds, but not both. */
MW_API mw_tensor * mw_logical_xor_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_logical_xor(...) mw_logical_xor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::bitwise_not(Tensor self) -> Tensor
 * Every bit turned over; of a bool, the other value. */
MW_API mw_tensor * mw_bitwise_not_at(mw_site site, mw_tensor *self);
#define mw_bitwise_not(...) mw_bitwise_not_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
 * And of the elements, bit by bit. */
MW_API mw_tensor * mw_bitwise_and_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_bitwise_and(...) mw_bitwise_and_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
 * Or of the elements, bit by bit. */
MW_API mw_tensor * mw_bitwise_or_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_bitwise_or(...) mw_bitwise_or_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
 * Exclusive or of the elements, bit by bit. */
MW_API mw_tensor * mw_bitwise_xor_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_bitwise_xor(...) mw_bitwise_xor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
 * Sum of all elements; of integers in i64. */
MW_API mw_tensor * mw_sum_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_sum(...) mw_sum_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
 * Sum over some dims; of integers in i64. */
MW_API mw_tensor * mw_sum_dim_intlist_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype);
#define mw_sum_dim_intlist(...) mw_sum_dim_intlist_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
 * Mean of all elements. */
MW_API mw_tensor * mw_mean_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_mean(...) mw_mean_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
 * Mean over some dims. */
MW_API mw_tensor * mw_mean_dim_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype);
#define mw_mean_dim(...) mw_mean_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::max(Tensor self) -> Tensor
 * Largest of all elements; NaN wins. */
MW_API mw_tensor * mw_max_at(mw_site site, mw_tensor *self);
#define mw_max(...) mw_max_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::min(Tensor self) -> Tensor
 * Smallest of all elements; NaN wins. */
MW_API mw_tensor * mw_min_at(mw_site site, mw_tensor *self);
#define mw_min(...) mw_min_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
 * Largest element over some dims; NaN wins. */
MW_API mw_tensor * mw_amax_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim);
#define mw_amax(...) mw_amax_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
 * Smallest element over some dims; NaN wins. */
MW_API mw_tensor * mw_amin_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim);
#define mw_amin(...) mw_amin_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::any(Tensor self) -> Tensor
 * True where some element is not 0. */
MW_API mw_tensor * mw_any_at(mw_site site, mw_tensor *self);
#define mw_any(...) mw_any_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
 * True where some element along a dim is not 0. */
MW_API mw_tensor * mw_any_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim);
#define mw_any_dim(...) mw_any_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::all(Tensor self) -> Tensor
 * True where no element is 0. */
MW_API mw_tensor * mw_all_at(mw_site site, mw_tensor *self);
#define mw_all(...) mw_all_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
 * True where no element along a dim is 0. */
MW_API mw_tensor * mw_all_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim);
#define mw_all_dim(...) mw_all_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
 * Product of all elements; of integers in i64. */
MW_API mw_tensor * mw_prod_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_prod(...) mw_prod_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
 * Product along a dim; of integers in i64. */
MW_API mw_tensor * mw_prod_dim_int_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_dtype dtype);
#define mw_prod_dim_int(...) mw_prod_dim_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
 * Variance over some dims: squares of what is off the mean, divided by their number less the correction. */
MW_API mw_tensor * mw_var_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim);
#define mw_var_correction(...) mw_var_correction_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
 * Standard deviation over some dims: the root of the variance. */
MW_API mw_tensor * mw_std_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim);
#define mw_std_correction(...) mw_std_correction_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
 * Variance over some dims, and the mean. */
MW_API mw_tensor * mw_var_mean_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim, mw_tensor **ret_1);
#define mw_var_mean_correction(...) mw_var_mean_correction_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
 * The norm of some order over some dims; inf and -inf are the extremes, 0 counts. */
MW_API mw_tensor * mw_linalg_vector_norm_at(mw_site site, mw_tensor *self, double ord, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype);
#define mw_linalg_vector_norm(...) mw_linalg_vector_norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
 * The norm of order p over some dims; None is 2. */
MW_API mw_tensor * mw_norm_scalaropt_dim_at(mw_site site, mw_tensor *self, double p, const int64_t *dim, int ndim, bool keepdim);
#define mw_norm_scalaropt_dim(...) mw_norm_scalaropt_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
 * A copy in memory of its own. */
MW_API mw_tensor * mw_clone_at(mw_site site, mw_tensor *self);
#define mw_clone(...) mw_clone_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)
 * The tensor itself where it has no gaps, else a copy without. */
MW_API mw_tensor * mw_contiguous_at(mw_site site, mw_tensor *self);
#define mw_contiguous(...) mw_contiguous_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
 * The same values in another dtype. */
MW_API mw_tensor * mw_to_dtype_at(mw_site site, mw_tensor *self, mw_dtype dtype, bool non_blocking, bool copy);
#define mw_to_dtype(...) mw_to_dtype_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
 * Writes the values of src, expanded and converted, where self lies. */
MW_API mw_tensor * mw_copy__at(mw_site site, mw_tensor *self, mw_tensor *src, bool non_blocking);
#define mw_copy_(...) mw_copy__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * A tensor with one number everywhere. */
MW_API mw_tensor * mw_full_at(mw_site site, const int64_t *size, int nsize, double fill_value, mw_dtype dtype);
#define mw_full(...) mw_full_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
 * Zeros in the shape and dtype of a tensor. */
MW_API mw_tensor * mw_zeros_like_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_zeros_like(...) mw_zeros_like_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
 * Ones in the shape and dtype of a tensor. */
MW_API mw_tensor * mw_ones_like_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_ones_like(...) mw_ones_like_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
 * One number everywhere, in the shape and dtype of a tensor. */
MW_API mw_tensor * mw_full_like_at(mw_site site, mw_tensor *self, double fill_value, mw_dtype dtype);
#define mw_full_like(...) mw_full_like_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * A tensor of zeros. */
MW_API mw_tensor * mw_zeros_at(mw_site site, const int64_t *size, int nsize, mw_dtype dtype);
#define mw_zeros(...) mw_zeros_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * A tensor of ones. */
MW_API mw_tensor * mw_ones_at(mw_site site, const int64_t *size, int nsize, mw_dtype dtype);
#define mw_ones(...) mw_ones_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * A number as a tensor without dims. */
MW_API mw_tensor * mw_scalar_tensor_at(mw_site site, double s, mw_dtype dtype);
#define mw_scalar_tensor(...) mw_scalar_tensor_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * Zeros of some shape, in the dtype of a tensor. */
MW_API mw_tensor * mw_new_zeros_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, mw_dtype dtype);
#define mw_new_zeros(...) mw_new_zeros_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * Ones of some shape, in the dtype of a tensor. */
MW_API mw_tensor * mw_new_ones_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, mw_dtype dtype);
#define mw_new_ones(...) mw_new_ones_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * One number everywhere, in some shape and the dtype of a tensor. */
MW_API mw_tensor * mw_new_full_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, double fill_value, mw_dtype dtype);
#define mw_new_full(...) mw_new_full_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * 0, 1, 2, ... below the end. */
MW_API mw_tensor * mw_arange_at(mw_site site, double end, mw_dtype dtype);
#define mw_arange(...) mw_arange_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * Numbers from start by step, before the end. */
MW_API mw_tensor * mw_arange_start_step_at(mw_site site, double start, double end, double step, mw_dtype dtype);
#define mw_arange_start_step(...) mw_arange_start_step_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::one_hot(Tensor self, int num_classes=-1) -> Tensor
 * For every class number a row with 1 at its place and 0 elsewhere. */
MW_API mw_tensor * mw_one_hot_at(mw_site site, mw_tensor *self, int64_t num_classes);
#define mw_one_hot(...) mw_one_hot_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::flip(Tensor self, int[] dims) -> Tensor
 * The elements along some dims in reverse. */
MW_API mw_tensor * mw_flip_at(mw_site site, mw_tensor *self, const int64_t *dims, int ndims);
#define mw_flip(...) mw_flip_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
 * The elements moved along some dims, what leaves at the end coming in at the start. */
MW_API mw_tensor * mw_roll_at(mw_site site, mw_tensor *self, const int64_t *shifts, int nshifts, const int64_t *dims, int ndims);
#define mw_roll(...) mw_roll_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::repeat(Tensor self, SymInt[] repeats) -> Tensor
 * Copies of the tensor side by side along its dims. */
MW_API mw_tensor * mw_repeat_at(mw_site site, mw_tensor *self, const int64_t *repeats, int nrepeats);
#define mw_repeat(...) mw_repeat_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::tril(Tensor self, SymInt diagonal=0) -> Tensor
 * The elements on and below a diagonal of the last two dims, and zeros. */
MW_API mw_tensor * mw_tril_at(mw_site site, mw_tensor *self, int64_t diagonal);
#define mw_tril(...) mw_tril_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::triu(Tensor self, SymInt diagonal=0) -> Tensor
 * The elements on and above a diagonal of the last two dims, and zeros. */
MW_API mw_tensor * mw_triu_at(mw_site site, mw_tensor *self, int64_t diagonal);
#define mw_triu(...) mw_triu_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
 * The tensor with a number around it; negative pads cut from it. */
MW_API mw_tensor * mw_constant_pad_nd_at(mw_site site, mw_tensor *self, const int64_t *pad, int npad, double value);
#define mw_constant_pad_nd(...) mw_constant_pad_nd_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
 * The same elements in another shape. */
MW_API mw_tensor * mw_view_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize);
#define mw_view(...) mw_view_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
 * The same elements in another shape; a copy where strides demand it. */
MW_API mw_tensor * mw_reshape_at(mw_site site, mw_tensor *self, const int64_t *shape, int nshape);
#define mw_reshape(...) mw_reshape_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor
 * The same elements in another shape, of a tensor that nobody uses afterwards. */
MW_API mw_tensor * mw__unsafe_view_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize);
#define mw__unsafe_view(...) mw__unsafe_view_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)
 * The dims in another order. */
MW_API mw_tensor * mw_permute_at(mw_site site, mw_tensor *self, const int64_t *dims, int ndims);
#define mw_permute(...) mw_permute_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
 * Two dims in each other's place. */
MW_API mw_tensor * mw_transpose_int_at(mw_site site, mw_tensor *self, int64_t dim0, int64_t dim1);
#define mw_transpose_int(...) mw_transpose_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)
 * Two dims change places: transpose, by its other name. */
MW_API mw_tensor * mw_swapaxes_at(mw_site site, mw_tensor *self, int64_t axis0, int64_t axis1);
#define mw_swapaxes(...) mw_swapaxes_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::t(Tensor(a) self) -> Tensor(a)
 * The transpose of a matrix; a vector stays. */
MW_API mw_tensor * mw_t_at(mw_site site, mw_tensor *self);
#define mw_t(...) mw_t_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
 * A new dim of size 1. */
MW_API mw_tensor * mw_unsqueeze_at(mw_site site, mw_tensor *self, int64_t dim);
#define mw_unsqueeze(...) mw_unsqueeze_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::squeeze(Tensor(a) self) -> Tensor(a)
 * The tensor without its dims of size 1. */
MW_API mw_tensor * mw_squeeze_at(mw_site site, mw_tensor *self);
#define mw_squeeze(...) mw_squeeze_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
 * The tensor without a dim if its size is 1. */
MW_API mw_tensor * mw_squeeze_dim_at(mw_site site, mw_tensor *self, int64_t dim);
#define mw_squeeze_dim(...) mw_squeeze_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
 * Dims of size 1 repeated without copying. */
MW_API mw_tensor * mw_expand_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, bool implicit);
#define mw_expand(...) mw_expand_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
 * A range of a dim, every step-th element of it. */
MW_API mw_tensor * mw_slice_at(mw_site site, mw_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step);
#define mw_slice(...) mw_slice_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
 * One index of a dim, which goes. */
MW_API mw_tensor * mw_select_int_at(mw_site site, mw_tensor *self, int64_t dim, int64_t index);
#define mw_select_int(...) mw_select_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
 * The parts of a dim, each of a size, the last maybe smaller. */
MW_API int mw_split_at(mw_site site, mw_tensor *self, int64_t split_size, int64_t dim, mw_tensor **ret, int cap);
#define mw_split(...) mw_split_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
 * Every index of a dim as a tensor without it. */
MW_API int mw_unbind_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor **ret, int cap);
#define mw_unbind_int(...) mw_unbind_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
 * A range of a dim, by its start and length. */
MW_API mw_tensor * mw_narrow_at(mw_site site, mw_tensor *self, int64_t dim, int64_t start, int64_t length);
#define mw_narrow(...) mw_narrow_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
 * The parts of a dim, as many as said or fewer, the last maybe smaller. */
MW_API int mw_chunk_at(mw_site site, mw_tensor *self, int64_t chunks, int64_t dim, mw_tensor **ret, int cap);
#define mw_chunk(...) mw_chunk_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
 * Neighbouring dims as one. */
MW_API mw_tensor * mw_flatten_using_ints_at(mw_site site, mw_tensor *self, int64_t start_dim, int64_t end_dim);
#define mw_flatten_using_ints(...) mw_flatten_using_ints_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
 * One dim as several. */
MW_API mw_tensor * mw_unflatten_int_at(mw_site site, mw_tensor *self, int64_t dim, const int64_t *sizes, int nsizes);
#define mw_unflatten_int(...) mw_unflatten_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)
 * One dim at another place, the others in their order. */
MW_API mw_tensor * mw_movedim_int_at(mw_site site, mw_tensor *self, int64_t source, int64_t destination);
#define mw_movedim_int(...) mw_movedim_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
 * The same bytes as elements of another dtype. */
MW_API mw_tensor * mw_view_dtype_at(mw_site site, mw_tensor *self, mw_dtype dtype);
#define mw_view_dtype(...) mw_view_dtype_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::alias(Tensor(a) self) -> Tensor(a)
 * The tensor under another name. */
MW_API mw_tensor * mw_alias_at(mw_site site, mw_tensor *self);
#define mw_alias(...) mw_alias_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::detach(Tensor(a) self) -> Tensor(a)
 * The tensor without its history. */
MW_API mw_tensor * mw_detach_at(mw_site site, mw_tensor *self);
#define mw_detach(...) mw_detach_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mm(Tensor self, Tensor mat2) -> Tensor
 * Matrix product of two matrices. */
MW_API mw_tensor * mw_mm_at(mw_site site, mw_tensor *self, mw_tensor *mat2);
#define mw_mm(...) mw_mm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * beta times self plus alpha times the matrix product of mat1 and mat2. */
MW_API mw_tensor * mw_addmm_at(mw_site site, mw_tensor *self, mw_tensor *mat1, mw_tensor *mat2, double beta, double alpha);
#define mw_addmm(...) mw_addmm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::bmm(Tensor self, Tensor mat2) -> Tensor
 * Matrix product of each pair of matrices of two batches. */
MW_API mw_tensor * mw_bmm_at(mw_site site, mw_tensor *self, mw_tensor *mat2);
#define mw_bmm(...) mw_bmm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * beta times self plus alpha times the matrix products of two batches. */
MW_API mw_tensor * mw_baddbmm_at(mw_site site, mw_tensor *self, mw_tensor *batch1, mw_tensor *batch2, double beta, double alpha);
#define mw_baddbmm(...) mw_baddbmm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::matmul(Tensor self, Tensor other) -> Tensor
 * Matrix product of the last two dims; the others broadcast, and a single dim is a vector. */
MW_API mw_tensor * mw_matmul_at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_matmul(...) mw_matmul_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
 * Product of the rows of input with the rows of weight, plus a bias. */
MW_API mw_tensor * mw_linear_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias);
#define mw_linear(...) mw_linear_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::dot(Tensor self, Tensor tensor) -> Tensor
 * Sum of the products of two vectors. */
MW_API mw_tensor * mw_dot_at(mw_site site, mw_tensor *self, mw_tensor *tensor);
#define mw_dot(...) mw_dot_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mv(Tensor self, Tensor vec) -> Tensor
 * Product of a matrix and a vector. */
MW_API mw_tensor * mw_mv_at(mw_site site, mw_tensor *self, mw_tensor *vec);
#define mw_mv(...) mw_mv_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::outer(Tensor self, Tensor vec2) -> Tensor
 * The products of each element of one vector with each of another. */
MW_API mw_tensor * mw_outer_at(mw_site site, mw_tensor *self, mw_tensor *vec2);
#define mw_outer(...) mw_outer_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
 * Product of two tensors as an equation of letters says it, such as 'bhqd,bhkd->bhqk'. */
MW_API mw_tensor * mw_einsum_at(mw_site site, const char *equation, mw_tensor *const *tensors, int ntensors, const int64_t *path, int npath);
#define mw_einsum(...) mw_einsum_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor
 * The sums under a window that moves over the last dims. */
MW_API mw_tensor * mw_convolution_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, bool transposed, const int64_t *output_padding, int noutput_padding, int64_t groups);
#define mw_convolution(...) mw_convolution_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor
 * convolution over the last dim. */
MW_API mw_tensor * mw_conv1d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups);
#define mw_conv1d(...) mw_conv1d_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor
 * convolution over the last two dims. */
MW_API mw_tensor * mw_conv2d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups);
#define mw_conv2d(...) mw_conv2d_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor
 * convolution over the last three dims. */
MW_API mw_tensor * mw_conv3d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups);
#define mw_conv3d(...) mw_conv3d_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
 * Attention: the softmax of scaled query times key, plus a mask, times value. */
MW_API mw_tensor * mw_scaled_dot_product_attention_at(mw_site site, mw_tensor *query, mw_tensor *key, mw_tensor *value, mw_tensor *attn_mask, double dropout_p, bool is_causal, double scale, bool enable_gqa);
#define mw_scaled_dot_product_attention(...) mw_scaled_dot_product_attention_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
 * Divides by the root of the mean of squares over the last dims, and multiplies by weight. */
MW_API mw_tensor * mw_rms_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, double eps);
#define mw_rms_norm(...) mw_rms_norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor
 * Normalises the last dims to mean 0 and deviation 1, then multiplies by weight and adds bias. */
MW_API mw_tensor * mw_layer_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, mw_tensor *bias, double eps, bool cudnn_enable);
#define mw_layer_norm(...) mw_layer_norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)
 * Normalises the last dims to mean 0 and deviation 1, then multiplies by weight and adds bias; also gives the mean and one over the deviation. */
MW_API mw_tensor * mw_native_layer_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, mw_tensor *bias, double eps, mw_tensor **ret_1, mw_tensor **ret_2);
#define mw_native_layer_norm(...) mw_native_layer_norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor
 * Normalises each group of channels of each sample to mean 0 and deviation 1, then multiplies by weight and adds bias. */
MW_API mw_tensor * mw_group_norm_at(mw_site site, mw_tensor *input, int64_t num_groups, mw_tensor *weight, mw_tensor *bias, double eps, bool cudnn_enabled);
#define mw_group_norm(...) mw_group_norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
 * Softmax over a dim. */
MW_API mw_tensor * mw__softmax_at(mw_site site, mw_tensor *self, int64_t dim, bool half_to_float);
#define mw__softmax(...) mw__softmax_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
 * Softmax over a dim, computed in and given as dtype. */
MW_API mw_tensor * mw_softmax_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype);
#define mw_softmax_int(...) mw_softmax_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
 * Logarithm of the softmax over a dim. */
MW_API mw_tensor * mw__log_softmax_at(mw_site site, mw_tensor *self, int64_t dim, bool half_to_float);
#define mw__log_softmax(...) mw__log_softmax_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
 * Logarithm of the softmax over a dim, computed in and given as dtype. */
MW_API mw_tensor * mw_log_softmax_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype);
#define mw_log_softmax_int(...) mw_log_softmax_int_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
 * Logarithm of the sum of exponentials over some dims. */
MW_API mw_tensor * mw_logsumexp_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim);
#define mw_logsumexp(...) mw_logsumexp_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor
 * Minus the logarithm of the softmax at each target, as mean (1), sum (2), or all (0). */
MW_API mw_tensor * mw_cross_entropy_loss_at(mw_site site, mw_tensor *self, mw_tensor *target, mw_tensor *weight, int64_t reduction, int64_t ignore_index, double label_smoothing);
#define mw_cross_entropy_loss(...) mw_cross_entropy_loss_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
 * Minus the log-probability at each target, as mean (1), sum (2), or all (0). */
MW_API mw_tensor * mw_nll_loss_nd_at(mw_site site, mw_tensor *self, mw_tensor *target, mw_tensor *weight, int64_t reduction, int64_t ignore_index);
#define mw_nll_loss_nd(...) mw_nll_loss_nd_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
 * Squares of what is between two tensors: their mean (1), their sum (2), or all (0). */
MW_API mw_tensor * mw_mse_loss_at(mw_site site, mw_tensor *self, mw_tensor *target, int64_t reduction);
#define mw_mse_loss(...) mw_mse_loss_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
 * The rows of weight that indices name. */
MW_API mw_tensor * mw_embedding_at(mw_site site, mw_tensor *weight, mw_tensor *indices, int64_t padding_idx, bool scale_grad_by_freq, bool sparse);
#define mw_embedding(...) mw_embedding_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
 * The parts of self that index names along a dim. */
MW_API mw_tensor * mw_index_select_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index);
#define mw_index_select(...) mw_index_select_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
 * The elements of self that index names along a dim, place by place. */
MW_API mw_tensor * mw_gather_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, bool sparse_grad);
#define mw_gather(...) mw_gather_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)
 * Writes the parts of source into self at the places that index names along a dim. */
MW_API mw_tensor * mw_index_copy__at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *source);
#define mw_index_copy_(...) mw_index_copy__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
 * A copy of self with elements of src stored where index says along a dim. */
MW_API mw_tensor * mw_scatter_src_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *src);
#define mw_scatter_src(...) mw_scatter_src_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
 * A copy of self with a number stored where index says along a dim. */
MW_API mw_tensor * mw_scatter_value_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, double value);
#define mw_scatter_value(...) mw_scatter_value_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
 * A copy of self with elements of src added where index says along a dim. */
MW_API mw_tensor * mw_scatter_add_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *src);
#define mw_scatter_add(...) mw_scatter_add_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
 * A copy of self with alpha times the parts of source added at the places that index names along a dim. */
MW_API mw_tensor * mw_index_add_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *source, double alpha);
#define mw_index_add(...) mw_index_add_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
 * A copy of self with values stored, or added, at the places that the indices name in its first dims. */
MW_API mw_tensor * mw_index_put_at(mw_site site, mw_tensor *self, mw_tensor *const *indices, int nindices, mw_tensor *values, bool accumulate);
#define mw_index_put(...) mw_index_put_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
 * The position of the largest element, the first of equal ones, along a dim or of all. */
MW_API mw_tensor * mw_argmax_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim);
#define mw_argmax(...) mw_argmax_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
 * The position of the smallest element, the first of equal ones, along a dim or of all. */
MW_API mw_tensor * mw_argmin_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim);
#define mw_argmin(...) mw_argmin_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
 * The largest element along a dim, and the first position that has it; NaN wins. */
MW_API mw_tensor * mw_max_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_tensor **ret_indices);
#define mw_max_dim(...) mw_max_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
 * The smallest element along a dim, and the first position that has it; NaN wins. */
MW_API mw_tensor * mw_min_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_tensor **ret_indices);
#define mw_min_dim(...) mw_min_dim_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
 * The k largest elements along a dim, largest first, and their positions. */
MW_API mw_tensor * mw_topk_at(mw_site site, mw_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted, mw_tensor **ret_indices);
#define mw_topk(...) mw_topk_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
 * The elements along a dim in rising or falling order, and where they were. */
MW_API mw_tensor * mw_sort_at(mw_site site, mw_tensor *self, int64_t dim, bool descending, mw_tensor **ret_indices);
#define mw_sort(...) mw_sort_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
 * The positions that put the elements along a dim in rising or falling order. */
MW_API mw_tensor * mw_argsort_at(mw_site site, mw_tensor *self, int64_t dim, bool descending);
#define mw_argsort(...) mw_argsort_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
 * Sums of all elements up to each one along a dim; of integers in i64. */
MW_API mw_tensor * mw_cumsum_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype);
#define mw_cumsum(...) mw_cumsum_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
 * Products of all elements up to each one along a dim; of integers in i64. */
MW_API mw_tensor * mw_cumprod_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype);
#define mw_cumprod(...) mw_cumprod_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::cat(Tensor[] tensors, int dim=0) -> Tensor
 * The tensors one after the other along a dim. */
MW_API mw_tensor * mw_cat_at(mw_site site, mw_tensor *const *tensors, int ntensors, int64_t dim);
#define mw_cat(...) mw_cat_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::stack(Tensor[] tensors, int dim=0) -> Tensor
 * The tensors side by side along a new dim. */
MW_API mw_tensor * mw_stack_at(mw_site site, mw_tensor *const *tensors, int ntensors, int64_t dim);
#define mw_stack(...) mw_stack_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
 * The op add, written to self. */
MW_API mw_tensor * mw_add__at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha);
#define mw_add_(...) mw_add__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
 * The op add_scalar, written to self. */
MW_API mw_tensor * mw_add__scalar_at(mw_site site, mw_tensor *self, double other, double alpha);
#define mw_add__scalar(...) mw_add__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
 * The op sub, written to self. */
MW_API mw_tensor * mw_sub__at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha);
#define mw_sub_(...) mw_sub__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
 * The op sub_scalar, written to self. */
MW_API mw_tensor * mw_sub__scalar_at(mw_site site, mw_tensor *self, double other, double alpha);
#define mw_sub__scalar(...) mw_sub__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
 * The op mul, written to self. */
MW_API mw_tensor * mw_mul__at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_mul_(...) mw_mul__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
 * The op mul_scalar, written to self. */
MW_API mw_tensor * mw_mul__scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_mul__scalar(...) mw_mul__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
 * The op div, written to self. */
MW_API mw_tensor * mw_div__at(mw_site site, mw_tensor *self, mw_tensor *other);
#define mw_div_(...) mw_div__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
 * The op div_scalar, written to self. */
MW_API mw_tensor * mw_div__scalar_at(mw_site site, mw_tensor *self, double other);
#define mw_div__scalar(...) mw_div__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::neg_(Tensor(a!) self) -> Tensor(a!)
 * The op neg, written to self. */
MW_API mw_tensor * mw_neg__at(mw_site site, mw_tensor *self);
#define mw_neg_(...) mw_neg__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::relu_(Tensor(a!) self) -> Tensor(a!)
 * The op relu, written to self. */
MW_API mw_tensor * mw_relu__at(mw_site site, mw_tensor *self);
#define mw_relu_(...) mw_relu__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::exp_(Tensor(a!) self) -> Tensor(a!)
 * The op exp, written to self. */
MW_API mw_tensor * mw_exp__at(mw_site site, mw_tensor *self);
#define mw_exp_(...) mw_exp__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::tanh_(Tensor(a!) self) -> Tensor(a!)
 * The op tanh, written to self. */
MW_API mw_tensor * mw_tanh__at(mw_site site, mw_tensor *self);
#define mw_tanh_(...) mw_tanh__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)
 * The op sigmoid, written to self. */
MW_API mw_tensor * mw_sigmoid__at(mw_site site, mw_tensor *self);
#define mw_sigmoid_(...) mw_sigmoid__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::silu_(Tensor(a!) self) -> Tensor(a!)
 * The op silu, written to self. */
MW_API mw_tensor * mw_silu__at(mw_site site, mw_tensor *self);
#define mw_silu_(...) mw_silu__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::sqrt_(Tensor(a!) self) -> Tensor(a!)
 * The op sqrt, written to self. */
MW_API mw_tensor * mw_sqrt__at(mw_site site, mw_tensor *self);
#define mw_sqrt_(...) mw_sqrt__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)
 * The op rsqrt, written to self. */
MW_API mw_tensor * mw_rsqrt__at(mw_site site, mw_tensor *self);
#define mw_rsqrt_(...) mw_rsqrt__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::gelu_(Tensor(a!) self, *, str approximate='none') -> Tensor(a!)
 * The op gelu, written to self. */
MW_API mw_tensor * mw_gelu__at(mw_site site, mw_tensor *self, const char *approximate);
#define mw_gelu_(...) mw_gelu__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
 * The op pow_tensor_scalar, written to self. */
MW_API mw_tensor * mw_pow__scalar_at(mw_site site, mw_tensor *self, double exponent);
#define mw_pow__scalar(...) mw_pow__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
 * The op clamp, written to self. */
MW_API mw_tensor * mw_clamp__at(mw_site site, mw_tensor *self, double min, double max);
#define mw_clamp_(...) mw_clamp__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)
 * The op masked_fill_scalar, written to self. */
MW_API mw_tensor * mw_masked_fill__scalar_at(mw_site site, mw_tensor *self, mw_tensor *mask, double value);
#define mw_masked_fill__scalar(...) mw_masked_fill__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
 * The op full_like, written to self. */
MW_API mw_tensor * mw_fill__scalar_at(mw_site site, mw_tensor *self, double value);
#define mw_fill__scalar(...) mw_fill__scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::zero_(Tensor(a!) self) -> Tensor(a!)
 * The op zeros_like, written to self. */
MW_API mw_tensor * mw_zero__at(mw_site site, mw_tensor *self);
#define mw_zero_(...) mw_zero__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
 * The op index_put, written to self. */
MW_API mw_tensor * mw_index_put__at(mw_site site, mw_tensor *self, mw_tensor *const *indices, int nindices, mw_tensor *values, bool accumulate);
#define mw_index_put_(...) mw_index_put__at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
