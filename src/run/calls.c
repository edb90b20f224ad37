/* What the functions of meshwise/ops.h do: made from the op table by `make docs`. */
#include "run/values.h"

#include <meshwise/ops.h>

/* clang-format off */
#define OP(name) extern const mw_op mw_op_##name;
#include "ops/ops.def"
#undef OP

mw_tensor * mw_add_at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_add, args, 3);
}

mw_tensor * mw_add_scalar_at(mw_site site, mw_tensor *self, double other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_add_scalar, args, 3);
}

mw_tensor * mw_sub_at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_sub, args, 3);
}

mw_tensor * mw_sub_scalar_at(mw_site site, mw_tensor *self, double other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_sub_scalar, args, 3);
}

mw_tensor * mw_mul_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_mul, args, 2);
}

mw_tensor * mw_mul_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_mul_scalar, args, 2);
}

mw_tensor * mw_div_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_div, args, 2);
}

mw_tensor * mw_div_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_div_scalar, args, 2);
}

mw_tensor * mw_pow_tensor_scalar_at(mw_site site, mw_tensor *self, double exponent)
{
    const mw_value args[] = {v_tensor(self), v_scalar(exponent)};
    return mw__call_op(site, &mw_op_pow_tensor_scalar, args, 2);
}

mw_tensor * mw_pow_tensor_tensor_at(mw_site site, mw_tensor *self, mw_tensor *exponent)
{
    const mw_value args[] = {v_tensor(self), v_tensor(exponent)};
    return mw__call_op(site, &mw_op_pow_tensor_tensor, args, 2);
}

mw_tensor * mw_maximum_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_maximum, args, 2);
}

mw_tensor * mw_minimum_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_minimum, args, 2);
}

mw_tensor * mw_neg_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_neg, args, 1);
}

mw_tensor * mw_abs_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_abs, args, 1);
}

mw_tensor * mw_relu_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_relu, args, 1);
}

mw_tensor * mw_exp_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_exp, args, 1);
}

mw_tensor * mw_log_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_log, args, 1);
}

mw_tensor * mw_sqrt_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sqrt, args, 1);
}

mw_tensor * mw_rsqrt_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_rsqrt, args, 1);
}

mw_tensor * mw_reciprocal_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_reciprocal, args, 1);
}

mw_tensor * mw_sin_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sin, args, 1);
}

mw_tensor * mw_cos_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_cos, args, 1);
}

mw_tensor * mw_tanh_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_tanh, args, 1);
}

mw_tensor * mw_sigmoid_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sigmoid, args, 1);
}

mw_tensor * mw_silu_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_silu, args, 1);
}

mw_tensor * mw_gelu_at(mw_site site, mw_tensor *self, const char *approximate)
{
    const mw_value args[] = {v_tensor(self), v_text(approximate)};
    return mw__call_op(site, &mw_op_gelu, args, 2);
}

mw_tensor * mw_erf_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_erf, args, 1);
}

mw_tensor * mw_log1p_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_log1p, args, 1);
}

mw_tensor * mw_log2_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_log2, args, 1);
}

mw_tensor * mw_expm1_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_expm1, args, 1);
}

mw_tensor * mw_floor_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_floor, args, 1);
}

mw_tensor * mw_ceil_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_ceil, args, 1);
}

mw_tensor * mw_trunc_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_trunc, args, 1);
}

mw_tensor * mw_round_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_round, args, 1);
}

mw_tensor * mw_sign_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sign, args, 1);
}

mw_tensor * mw_square_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_square, args, 1);
}

mw_tensor * mw_clamp_at(mw_site site, mw_tensor *self, double min, double max)
{
    const mw_value args[] = {v_tensor(self), v_maybe_scalar(min), v_maybe_scalar(max)};
    return mw__call_op(site, &mw_op_clamp, args, 3);
}

mw_tensor * mw_clamp_min_at(mw_site site, mw_tensor *self, double min)
{
    const mw_value args[] = {v_tensor(self), v_scalar(min)};
    return mw__call_op(site, &mw_op_clamp_min, args, 2);
}

mw_tensor * mw_clamp_max_at(mw_site site, mw_tensor *self, double max)
{
    const mw_value args[] = {v_tensor(self), v_scalar(max)};
    return mw__call_op(site, &mw_op_clamp_max, args, 2);
}

mw_tensor * mw_hardtanh_at(mw_site site, mw_tensor *self, double min_val, double max_val)
{
    const mw_value args[] = {v_tensor(self), v_scalar(min_val), v_scalar(max_val)};
    return mw__call_op(site, &mw_op_hardtanh, args, 3);
}

mw_tensor * mw_elu_at(mw_site site, mw_tensor *self, double alpha, double scale, double input_scale)
{
    const mw_value args[] = {v_tensor(self), v_scalar(alpha), v_scalar(scale), v_scalar(input_scale)};
    return mw__call_op(site, &mw_op_elu, args, 4);
}

mw_tensor * mw_leaky_relu_at(mw_site site, mw_tensor *self, double negative_slope)
{
    const mw_value args[] = {v_tensor(self), v_scalar(negative_slope)};
    return mw__call_op(site, &mw_op_leaky_relu, args, 2);
}

mw_tensor * mw_softplus_at(mw_site site, mw_tensor *self, double beta, double threshold)
{
    const mw_value args[] = {v_tensor(self), v_scalar(beta), v_scalar(threshold)};
    return mw__call_op(site, &mw_op_softplus, args, 3);
}

mw_tensor * mw_eq_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_eq, args, 2);
}

mw_tensor * mw_eq_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_eq_scalar, args, 2);
}

mw_tensor * mw_ne_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_ne, args, 2);
}

mw_tensor * mw_ne_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_ne_scalar, args, 2);
}

mw_tensor * mw_lt_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_lt, args, 2);
}

mw_tensor * mw_lt_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_lt_scalar, args, 2);
}

mw_tensor * mw_le_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_le, args, 2);
}

mw_tensor * mw_le_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_le_scalar, args, 2);
}

mw_tensor * mw_gt_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_gt, args, 2);
}

mw_tensor * mw_gt_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_gt_scalar, args, 2);
}

mw_tensor * mw_ge_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_ge, args, 2);
}

mw_tensor * mw_ge_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_ge_scalar, args, 2);
}

mw_tensor * mw_remainder_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_remainder, args, 2);
}

mw_tensor * mw_remainder_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_remainder_scalar, args, 2);
}

mw_tensor * mw_fmod_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_fmod, args, 2);
}

mw_tensor * mw_fmod_scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_fmod_scalar, args, 2);
}

mw_tensor * mw_floor_divide_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_floor_divide, args, 2);
}

mw_tensor * mw_div_tensor_mode_at(mw_site site, mw_tensor *self, mw_tensor *other, const char *rounding_mode)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other), v_maybe_text(rounding_mode)};
    return mw__call_op(site, &mw_op_div_tensor_mode, args, 3);
}

mw_tensor * mw_rsub_scalar_at(mw_site site, mw_tensor *self, double other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_rsub_scalar, args, 3);
}

mw_tensor * mw_addcmul_at(mw_site site, mw_tensor *self, mw_tensor *tensor1, mw_tensor *tensor2, double value)
{
    const mw_value args[] = {v_tensor(self), v_tensor(tensor1), v_tensor(tensor2), v_scalar(value)};
    return mw__call_op(site, &mw_op_addcmul, args, 4);
}

mw_tensor * mw_addcdiv_at(mw_site site, mw_tensor *self, mw_tensor *tensor1, mw_tensor *tensor2, double value)
{
    const mw_value args[] = {v_tensor(self), v_tensor(tensor1), v_tensor(tensor2), v_scalar(value)};
    return mw__call_op(site, &mw_op_addcdiv, args, 4);
}

mw_tensor * mw_lerp_scalar_at(mw_site site, mw_tensor *self, mw_tensor *end, double weight)
{
    const mw_value args[] = {v_tensor(self), v_tensor(end), v_scalar(weight)};
    return mw__call_op(site, &mw_op_lerp_scalar, args, 3);
}

mw_tensor * mw_lerp_at(mw_site site, mw_tensor *self, mw_tensor *end, mw_tensor *weight)
{
    const mw_value args[] = {v_tensor(self), v_tensor(end), v_tensor(weight)};
    return mw__call_op(site, &mw_op_lerp, args, 3);
}

mw_tensor * mw_dropout_at(mw_site site, mw_tensor *input, double p, bool train)
{
    const mw_value args[] = {v_tensor(input), v_number(p), v_boolean(train)};
    return mw__call_op(site, &mw_op_dropout, args, 3);
}

mw_tensor * mw_where_self_at(mw_site site, mw_tensor *condition, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(condition), v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_where_self, args, 3);
}

mw_tensor * mw_masked_fill_scalar_at(mw_site site, mw_tensor *self, mw_tensor *mask, double value)
{
    const mw_value args[] = {v_tensor(self), v_tensor(mask), v_scalar(value)};
    return mw__call_op(site, &mw_op_masked_fill_scalar, args, 3);
}

mw_tensor * mw_isnan_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_isnan, args, 1);
}

mw_tensor * mw_isinf_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_isinf, args, 1);
}

mw_tensor * mw_logical_not_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_logical_not, args, 1);
}

mw_tensor * mw_logical_and_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_logical_and, args, 2);
}

mw_tensor * mw_logical_or_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_logical_or, args, 2);
}

mw_tensor * mw_logical_xor_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_logical_xor, args, 2);
}

mw_tensor * mw_bitwise_not_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_bitwise_not, args, 1);
}

mw_tensor * mw_bitwise_and_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_bitwise_and, args, 2);
}

mw_tensor * mw_bitwise_or_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_bitwise_or, args, 2);
}

mw_tensor * mw_bitwise_xor_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_bitwise_xor, args, 2);
}

mw_tensor * mw_sum_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_sum, args, 2);
}

mw_tensor * mw_sum_dim_intlist_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_ints(dim, ndim), v_boolean(keepdim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_sum_dim_intlist, args, 4);
}

mw_tensor * mw_mean_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_mean, args, 2);
}

mw_tensor * mw_mean_dim_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_ints(dim, ndim), v_boolean(keepdim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_mean_dim, args, 4);
}

mw_tensor * mw_max_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_max, args, 1);
}

mw_tensor * mw_min_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_min, args, 1);
}

mw_tensor * mw_amax_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_ints(dim, ndim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_amax, args, 3);
}

mw_tensor * mw_amin_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_ints(dim, ndim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_amin, args, 3);
}

mw_tensor * mw_any_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_any, args, 1);
}

mw_tensor * mw_any_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_any_dim, args, 3);
}

mw_tensor * mw_all_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_all, args, 1);
}

mw_tensor * mw_all_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_all_dim, args, 3);
}

mw_tensor * mw_prod_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_prod, args, 2);
}

mw_tensor * mw_prod_dim_int_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(keepdim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_prod_dim_int, args, 4);
}

mw_tensor * mw_var_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_maybe_ints(dim, ndim), v_maybe_scalar(correction), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_var_correction, args, 4);
}

mw_tensor * mw_std_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_maybe_ints(dim, ndim), v_maybe_scalar(correction), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_std_correction, args, 4);
}

mw_tensor * mw_var_mean_correction_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, double correction, bool keepdim, mw_tensor **ret_1)
{
    const mw_value args[] = {v_tensor(self), v_maybe_ints(dim, ndim), v_maybe_scalar(correction), v_boolean(keepdim)};
    mw_tensor *out[2];
    if (call_list(site, &mw_op_var_mean_correction, args, 4, out, 2) < 0) return NULL;
    if (ret_1) *ret_1 = out[1];
    return out[0];
}

mw_tensor * mw_linalg_vector_norm_at(mw_site site, mw_tensor *self, double ord, const int64_t *dim, int ndim, bool keepdim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_scalar(ord), v_maybe_ints(dim, ndim), v_boolean(keepdim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_linalg_vector_norm, args, 5);
}

mw_tensor * mw_norm_scalaropt_dim_at(mw_site site, mw_tensor *self, double p, const int64_t *dim, int ndim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_maybe_scalar(p), v_ints(dim, ndim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_norm_scalaropt_dim, args, 4);
}

mw_tensor * mw_clone_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self), v_none()};
    return mw__call_op(site, &mw_op_clone, args, 2);
}

mw_tensor * mw_contiguous_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self), v_text("contiguous_format")};
    return mw__call_op(site, &mw_op_contiguous, args, 2);
}

mw_tensor * mw_to_dtype_at(mw_site site, mw_tensor *self, mw_dtype dtype, bool non_blocking, bool copy)
{
    const mw_value args[] = {v_tensor(self), v_dtype_value(dtype), v_boolean(non_blocking), v_boolean(copy), v_none()};
    return mw__call_op(site, &mw_op_to_dtype, args, 5);
}

mw_tensor * mw_copy__at(mw_site site, mw_tensor *self, mw_tensor *src, bool non_blocking)
{
    const mw_value args[] = {v_tensor(self), v_tensor(src), v_boolean(non_blocking)};
    return mw__call_op(site, &mw_op_copy_, args, 3);
}

mw_tensor * mw_full_at(mw_site site, const int64_t *size, int nsize, double fill_value, mw_dtype dtype)
{
    const mw_value args[] = {v_ints(size, nsize), v_scalar(fill_value), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_full, args, 6);
}

mw_tensor * mw_zeros_like_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_dtype(dtype), v_none(), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_zeros_like, args, 6);
}

mw_tensor * mw_ones_like_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_maybe_dtype(dtype), v_none(), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_ones_like, args, 6);
}

mw_tensor * mw_full_like_at(mw_site site, mw_tensor *self, double fill_value, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_scalar(fill_value), v_maybe_dtype(dtype), v_none(), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_full_like, args, 7);
}

mw_tensor * mw_zeros_at(mw_site site, const int64_t *size, int nsize, mw_dtype dtype)
{
    const mw_value args[] = {v_ints(size, nsize), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_zeros, args, 5);
}

mw_tensor * mw_ones_at(mw_site site, const int64_t *size, int nsize, mw_dtype dtype)
{
    const mw_value args[] = {v_ints(size, nsize), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_ones, args, 5);
}

mw_tensor * mw_scalar_tensor_at(mw_site site, double s, mw_dtype dtype)
{
    const mw_value args[] = {v_scalar(s), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_scalar_tensor, args, 5);
}

mw_tensor * mw_new_zeros_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_new_zeros, args, 6);
}

mw_tensor * mw_new_ones_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_new_ones, args, 6);
}

mw_tensor * mw_new_full_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, double fill_value, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize), v_scalar(fill_value), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_new_full, args, 7);
}

mw_tensor * mw_arange_at(mw_site site, double end, mw_dtype dtype)
{
    const mw_value args[] = {v_scalar(end), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_arange, args, 5);
}

mw_tensor * mw_arange_start_step_at(mw_site site, double start, double end, double step, mw_dtype dtype)
{
    const mw_value args[] = {v_scalar(start), v_scalar(end), v_scalar(step), v_maybe_dtype(dtype), v_none(), v_none(), v_none()};
    return mw__call_op(site, &mw_op_arange_start_step, args, 7);
}

mw_tensor * mw_one_hot_at(mw_site site, mw_tensor *self, int64_t num_classes)
{
    const mw_value args[] = {v_tensor(self), v_integer(num_classes)};
    return mw__call_op(site, &mw_op_one_hot, args, 2);
}

mw_tensor * mw_flip_at(mw_site site, mw_tensor *self, const int64_t *dims, int ndims)
{
    const mw_value args[] = {v_tensor(self), v_ints(dims, ndims)};
    return mw__call_op(site, &mw_op_flip, args, 2);
}

mw_tensor * mw_roll_at(mw_site site, mw_tensor *self, const int64_t *shifts, int nshifts, const int64_t *dims, int ndims)
{
    const mw_value args[] = {v_tensor(self), v_ints(shifts, nshifts), v_ints(dims, ndims)};
    return mw__call_op(site, &mw_op_roll, args, 3);
}

mw_tensor * mw_repeat_at(mw_site site, mw_tensor *self, const int64_t *repeats, int nrepeats)
{
    const mw_value args[] = {v_tensor(self), v_ints(repeats, nrepeats)};
    return mw__call_op(site, &mw_op_repeat, args, 2);
}

mw_tensor * mw_tril_at(mw_site site, mw_tensor *self, int64_t diagonal)
{
    const mw_value args[] = {v_tensor(self), v_integer(diagonal)};
    return mw__call_op(site, &mw_op_tril, args, 2);
}

mw_tensor * mw_triu_at(mw_site site, mw_tensor *self, int64_t diagonal)
{
    const mw_value args[] = {v_tensor(self), v_integer(diagonal)};
    return mw__call_op(site, &mw_op_triu, args, 2);
}

mw_tensor * mw_constant_pad_nd_at(mw_site site, mw_tensor *self, const int64_t *pad, int npad, double value)
{
    const mw_value args[] = {v_tensor(self), v_ints(pad, npad), v_scalar(value)};
    return mw__call_op(site, &mw_op_constant_pad_nd, args, 3);
}

mw_tensor * mw_view_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize)};
    return mw__call_op(site, &mw_op_view, args, 2);
}

mw_tensor * mw_reshape_at(mw_site site, mw_tensor *self, const int64_t *shape, int nshape)
{
    const mw_value args[] = {v_tensor(self), v_ints(shape, nshape)};
    return mw__call_op(site, &mw_op_reshape, args, 2);
}

mw_tensor * mw__unsafe_view_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize)};
    return mw__call_op(site, &mw_op__unsafe_view, args, 2);
}

mw_tensor * mw_permute_at(mw_site site, mw_tensor *self, const int64_t *dims, int ndims)
{
    const mw_value args[] = {v_tensor(self), v_ints(dims, ndims)};
    return mw__call_op(site, &mw_op_permute, args, 2);
}

mw_tensor * mw_transpose_int_at(mw_site site, mw_tensor *self, int64_t dim0, int64_t dim1)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim0), v_integer(dim1)};
    return mw__call_op(site, &mw_op_transpose_int, args, 3);
}

mw_tensor * mw_swapaxes_at(mw_site site, mw_tensor *self, int64_t axis0, int64_t axis1)
{
    const mw_value args[] = {v_tensor(self), v_integer(axis0), v_integer(axis1)};
    return mw__call_op(site, &mw_op_swapaxes, args, 3);
}

mw_tensor * mw_t_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_t, args, 1);
}

mw_tensor * mw_unsqueeze_at(mw_site site, mw_tensor *self, int64_t dim)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim)};
    return mw__call_op(site, &mw_op_unsqueeze, args, 2);
}

mw_tensor * mw_squeeze_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_squeeze, args, 1);
}

mw_tensor * mw_squeeze_dim_at(mw_site site, mw_tensor *self, int64_t dim)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim)};
    return mw__call_op(site, &mw_op_squeeze_dim, args, 2);
}

mw_tensor * mw_expand_at(mw_site site, mw_tensor *self, const int64_t *size, int nsize, bool implicit)
{
    const mw_value args[] = {v_tensor(self), v_ints(size, nsize), v_boolean(implicit)};
    return mw__call_op(site, &mw_op_expand, args, 3);
}

mw_tensor * mw_slice_at(mw_site site, mw_tensor *self, int64_t dim, int64_t start, int64_t end, int64_t step)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_maybe_integer(start), v_maybe_integer(end), v_integer(step)};
    return mw__call_op(site, &mw_op_slice, args, 5);
}

mw_tensor * mw_select_int_at(mw_site site, mw_tensor *self, int64_t dim, int64_t index)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_integer(index)};
    return mw__call_op(site, &mw_op_select_int, args, 3);
}

int mw_split_at(mw_site site, mw_tensor *self, int64_t split_size, int64_t dim, mw_tensor **ret, int cap)
{
    const mw_value args[] = {v_tensor(self), v_integer(split_size), v_integer(dim)};
    return call_list(site, &mw_op_split, args, 3, ret, cap);
}

int mw_unbind_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor **ret, int cap)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim)};
    return call_list(site, &mw_op_unbind_int, args, 2, ret, cap);
}

mw_tensor * mw_narrow_at(mw_site site, mw_tensor *self, int64_t dim, int64_t start, int64_t length)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_integer(start), v_integer(length)};
    return mw__call_op(site, &mw_op_narrow, args, 4);
}

int mw_chunk_at(mw_site site, mw_tensor *self, int64_t chunks, int64_t dim, mw_tensor **ret, int cap)
{
    const mw_value args[] = {v_tensor(self), v_integer(chunks), v_integer(dim)};
    return call_list(site, &mw_op_chunk, args, 3, ret, cap);
}

mw_tensor * mw_flatten_using_ints_at(mw_site site, mw_tensor *self, int64_t start_dim, int64_t end_dim)
{
    const mw_value args[] = {v_tensor(self), v_integer(start_dim), v_integer(end_dim)};
    return mw__call_op(site, &mw_op_flatten_using_ints, args, 3);
}

mw_tensor * mw_unflatten_int_at(mw_site site, mw_tensor *self, int64_t dim, const int64_t *sizes, int nsizes)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_ints(sizes, nsizes)};
    return mw__call_op(site, &mw_op_unflatten_int, args, 3);
}

mw_tensor * mw_movedim_int_at(mw_site site, mw_tensor *self, int64_t source, int64_t destination)
{
    const mw_value args[] = {v_tensor(self), v_integer(source), v_integer(destination)};
    return mw__call_op(site, &mw_op_movedim_int, args, 3);
}

mw_tensor * mw_view_dtype_at(mw_site site, mw_tensor *self, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_dtype_value(dtype)};
    return mw__call_op(site, &mw_op_view_dtype, args, 2);
}

mw_tensor * mw_alias_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_alias, args, 1);
}

mw_tensor * mw_detach_at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_detach, args, 1);
}

mw_tensor * mw_mm_at(mw_site site, mw_tensor *self, mw_tensor *mat2)
{
    const mw_value args[] = {v_tensor(self), v_tensor(mat2)};
    return mw__call_op(site, &mw_op_mm, args, 2);
}

mw_tensor * mw_addmm_at(mw_site site, mw_tensor *self, mw_tensor *mat1, mw_tensor *mat2, double beta, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(mat1), v_tensor(mat2), v_scalar(beta), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_addmm, args, 5);
}

mw_tensor * mw_bmm_at(mw_site site, mw_tensor *self, mw_tensor *mat2)
{
    const mw_value args[] = {v_tensor(self), v_tensor(mat2)};
    return mw__call_op(site, &mw_op_bmm, args, 2);
}

mw_tensor * mw_baddbmm_at(mw_site site, mw_tensor *self, mw_tensor *batch1, mw_tensor *batch2, double beta, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(batch1), v_tensor(batch2), v_scalar(beta), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_baddbmm, args, 5);
}

mw_tensor * mw_matmul_at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_matmul, args, 2);
}

mw_tensor * mw_linear_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias)
{
    const mw_value args[] = {v_tensor(input), v_tensor(weight), v_maybe(bias)};
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_linear, args, 3);
}

mw_tensor * mw_dot_at(mw_site site, mw_tensor *self, mw_tensor *tensor)
{
    const mw_value args[] = {v_tensor(self), v_tensor(tensor)};
    return mw__call_op(site, &mw_op_dot, args, 2);
}

mw_tensor * mw_mv_at(mw_site site, mw_tensor *self, mw_tensor *vec)
{
    const mw_value args[] = {v_tensor(self), v_tensor(vec)};
    return mw__call_op(site, &mw_op_mv, args, 2);
}

mw_tensor * mw_outer_at(mw_site site, mw_tensor *self, mw_tensor *vec2)
{
    const mw_value args[] = {v_tensor(self), v_tensor(vec2)};
    return mw__call_op(site, &mw_op_outer, args, 2);
}

mw_tensor * mw_einsum_at(mw_site site, const char *equation, mw_tensor *const *tensors, int ntensors, const int64_t *path, int npath)
{
    const mw_value args[] = {v_text(equation), v_tensors(tensors, ntensors), v_maybe_ints(path, npath)};
    return mw__call_op(site, &mw_op_einsum, args, 3);
}

mw_tensor * mw_convolution_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, bool transposed, const int64_t *output_padding, int noutput_padding, int64_t groups)
{
    const mw_value args[] = {v_tensor(input), v_tensor(weight), v_maybe(bias), v_ints(stride, nstride), v_ints(padding, npadding), v_ints(dilation, ndilation), v_boolean(transposed), v_ints(output_padding, noutput_padding), v_integer(groups)};
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_convolution, args, 9);
}

mw_tensor * mw_conv1d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups)
{
    const mw_value args[] = {v_tensor(input), v_tensor(weight), v_maybe(bias), v_ints(stride, nstride), v_ints(padding, npadding), v_ints(dilation, ndilation), v_integer(groups)};
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_conv1d, args, 7);
}

mw_tensor * mw_conv2d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups)
{
    const mw_value args[] = {v_tensor(input), v_tensor(weight), v_maybe(bias), v_ints(stride, nstride), v_ints(padding, npadding), v_ints(dilation, ndilation), v_integer(groups)};
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_conv2d, args, 7);
}

mw_tensor * mw_conv3d_at(mw_site site, mw_tensor *input, mw_tensor *weight, mw_tensor *bias, const int64_t *stride, int nstride, const int64_t *padding, int npadding, const int64_t *dilation, int ndilation, int64_t groups)
{
    const mw_value args[] = {v_tensor(input), v_tensor(weight), v_maybe(bias), v_ints(stride, nstride), v_ints(padding, npadding), v_ints(dilation, ndilation), v_integer(groups)};
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_conv3d, args, 7);
}

mw_tensor * mw_scaled_dot_product_attention_at(mw_site site, mw_tensor *query, mw_tensor *key, mw_tensor *value, mw_tensor *attn_mask, double dropout_p, bool is_causal, double scale, bool enable_gqa)
{
    const mw_value args[] = {v_tensor(query), v_tensor(key), v_tensor(value), v_maybe(attn_mask), v_number(dropout_p), v_boolean(is_causal), v_maybe_number(scale), v_boolean(enable_gqa)};
    if (!attn_mask && failed()) return NULL;
    return mw__call_op(site, &mw_op_scaled_dot_product_attention, args, 8);
}

mw_tensor * mw_rms_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, double eps)
{
    const mw_value args[] = {v_tensor(input), v_ints(normalized_shape, nnormalized_shape), v_maybe(weight), v_maybe_number(eps)};
    if (!weight && failed()) return NULL;
    return mw__call_op(site, &mw_op_rms_norm, args, 4);
}

mw_tensor * mw_layer_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, mw_tensor *bias, double eps, bool cudnn_enable)
{
    const mw_value args[] = {v_tensor(input), v_ints(normalized_shape, nnormalized_shape), v_maybe(weight), v_maybe(bias), v_number(eps), v_boolean(cudnn_enable)};
    if (!weight && failed()) return NULL;
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_layer_norm, args, 6);
}

mw_tensor * mw_native_layer_norm_at(mw_site site, mw_tensor *input, const int64_t *normalized_shape, int nnormalized_shape, mw_tensor *weight, mw_tensor *bias, double eps, mw_tensor **ret_1, mw_tensor **ret_2)
{
    const mw_value args[] = {v_tensor(input), v_ints(normalized_shape, nnormalized_shape), v_maybe(weight), v_maybe(bias), v_number(eps)};
    if (!weight && failed()) return NULL;
    if (!bias && failed()) return NULL;
    mw_tensor *out[3];
    if (call_list(site, &mw_op_native_layer_norm, args, 5, out, 3) < 0) return NULL;
    if (ret_1) *ret_1 = out[1];
    if (ret_2) *ret_2 = out[2];
    return out[0];
}

mw_tensor * mw_group_norm_at(mw_site site, mw_tensor *input, int64_t num_groups, mw_tensor *weight, mw_tensor *bias, double eps, bool cudnn_enabled)
{
    const mw_value args[] = {v_tensor(input), v_integer(num_groups), v_maybe(weight), v_maybe(bias), v_number(eps), v_boolean(cudnn_enabled)};
    if (!weight && failed()) return NULL;
    if (!bias && failed()) return NULL;
    return mw__call_op(site, &mw_op_group_norm, args, 6);
}

mw_tensor * mw__softmax_at(mw_site site, mw_tensor *self, int64_t dim, bool half_to_float)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(half_to_float)};
    return mw__call_op(site, &mw_op__softmax, args, 3);
}

mw_tensor * mw_softmax_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_softmax_int, args, 3);
}

mw_tensor * mw__log_softmax_at(mw_site site, mw_tensor *self, int64_t dim, bool half_to_float)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(half_to_float)};
    return mw__call_op(site, &mw_op__log_softmax, args, 3);
}

mw_tensor * mw_log_softmax_int_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_log_softmax_int, args, 3);
}

mw_tensor * mw_logsumexp_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_ints(dim, ndim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_logsumexp, args, 3);
}

mw_tensor * mw_cross_entropy_loss_at(mw_site site, mw_tensor *self, mw_tensor *target, mw_tensor *weight, int64_t reduction, int64_t ignore_index, double label_smoothing)
{
    const mw_value args[] = {v_tensor(self), v_tensor(target), v_maybe(weight), v_integer(reduction), v_integer(ignore_index), v_number(label_smoothing)};
    if (!weight && failed()) return NULL;
    return mw__call_op(site, &mw_op_cross_entropy_loss, args, 6);
}

mw_tensor * mw_nll_loss_nd_at(mw_site site, mw_tensor *self, mw_tensor *target, mw_tensor *weight, int64_t reduction, int64_t ignore_index)
{
    const mw_value args[] = {v_tensor(self), v_tensor(target), v_maybe(weight), v_integer(reduction), v_integer(ignore_index)};
    if (!weight && failed()) return NULL;
    return mw__call_op(site, &mw_op_nll_loss_nd, args, 5);
}

mw_tensor * mw_mse_loss_at(mw_site site, mw_tensor *self, mw_tensor *target, int64_t reduction)
{
    const mw_value args[] = {v_tensor(self), v_tensor(target), v_integer(reduction)};
    return mw__call_op(site, &mw_op_mse_loss, args, 3);
}

mw_tensor * mw_embedding_at(mw_site site, mw_tensor *weight, mw_tensor *indices, int64_t padding_idx, bool scale_grad_by_freq, bool sparse)
{
    const mw_value args[] = {v_tensor(weight), v_tensor(indices), v_integer(padding_idx), v_boolean(scale_grad_by_freq), v_boolean(sparse)};
    return mw__call_op(site, &mw_op_embedding, args, 5);
}

mw_tensor * mw_index_select_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index)};
    return mw__call_op(site, &mw_op_index_select, args, 3);
}

mw_tensor * mw_gather_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, bool sparse_grad)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_boolean(sparse_grad)};
    return mw__call_op(site, &mw_op_gather, args, 4);
}

mw_tensor * mw_index_copy__at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *source)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_tensor(source)};
    return mw__call_op(site, &mw_op_index_copy_, args, 4);
}

mw_tensor * mw_scatter_src_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *src)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_tensor(src)};
    return mw__call_op(site, &mw_op_scatter_src, args, 4);
}

mw_tensor * mw_scatter_value_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, double value)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_scalar(value)};
    return mw__call_op(site, &mw_op_scatter_value, args, 4);
}

mw_tensor * mw_scatter_add_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *src)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_tensor(src)};
    return mw__call_op(site, &mw_op_scatter_add, args, 4);
}

mw_tensor * mw_index_add_at(mw_site site, mw_tensor *self, int64_t dim, mw_tensor *index, mw_tensor *source, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_tensor(index), v_tensor(source), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_index_add, args, 5);
}

mw_tensor * mw_index_put_at(mw_site site, mw_tensor *self, mw_tensor *const *indices, int nindices, mw_tensor *values, bool accumulate)
{
    const mw_value args[] = {v_tensor(self), v_tensors(indices, nindices), v_tensor(values), v_boolean(accumulate)};
    return mw__call_op(site, &mw_op_index_put, args, 4);
}

mw_tensor * mw_argmax_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_maybe_integer(dim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_argmax, args, 3);
}

mw_tensor * mw_argmin_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim)
{
    const mw_value args[] = {v_tensor(self), v_maybe_integer(dim), v_boolean(keepdim)};
    return mw__call_op(site, &mw_op_argmin, args, 3);
}

mw_tensor * mw_max_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_tensor **ret_indices)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(keepdim)};
    mw_tensor *out[2];
    if (call_list(site, &mw_op_max_dim, args, 3, out, 2) < 0) return NULL;
    if (ret_indices) *ret_indices = out[1];
    return out[0];
}

mw_tensor * mw_min_dim_at(mw_site site, mw_tensor *self, int64_t dim, bool keepdim, mw_tensor **ret_indices)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(keepdim)};
    mw_tensor *out[2];
    if (call_list(site, &mw_op_min_dim, args, 3, out, 2) < 0) return NULL;
    if (ret_indices) *ret_indices = out[1];
    return out[0];
}

mw_tensor * mw_topk_at(mw_site site, mw_tensor *self, int64_t k, int64_t dim, bool largest, bool sorted, mw_tensor **ret_indices)
{
    const mw_value args[] = {v_tensor(self), v_integer(k), v_integer(dim), v_boolean(largest), v_boolean(sorted)};
    mw_tensor *out[2];
    if (call_list(site, &mw_op_topk, args, 5, out, 2) < 0) return NULL;
    if (ret_indices) *ret_indices = out[1];
    return out[0];
}

mw_tensor * mw_sort_at(mw_site site, mw_tensor *self, int64_t dim, bool descending, mw_tensor **ret_indices)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(descending)};
    mw_tensor *out[2];
    if (call_list(site, &mw_op_sort, args, 3, out, 2) < 0) return NULL;
    if (ret_indices) *ret_indices = out[1];
    return out[0];
}

mw_tensor * mw_argsort_at(mw_site site, mw_tensor *self, int64_t dim, bool descending)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_boolean(descending)};
    return mw__call_op(site, &mw_op_argsort, args, 3);
}

mw_tensor * mw_cumsum_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_cumsum, args, 3);
}

mw_tensor * mw_cumprod_at(mw_site site, mw_tensor *self, int64_t dim, mw_dtype dtype)
{
    const mw_value args[] = {v_tensor(self), v_integer(dim), v_maybe_dtype(dtype)};
    return mw__call_op(site, &mw_op_cumprod, args, 3);
}

mw_tensor * mw_cat_at(mw_site site, mw_tensor *const *tensors, int ntensors, int64_t dim)
{
    const mw_value args[] = {v_tensors(tensors, ntensors), v_integer(dim)};
    return mw__call_op(site, &mw_op_cat, args, 2);
}

mw_tensor * mw_stack_at(mw_site site, mw_tensor *const *tensors, int ntensors, int64_t dim)
{
    const mw_value args[] = {v_tensors(tensors, ntensors), v_integer(dim)};
    return mw__call_op(site, &mw_op_stack, args, 2);
}

mw_tensor * mw_add__at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_add_, args, 3);
}

mw_tensor * mw_add__scalar_at(mw_site site, mw_tensor *self, double other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_add__scalar, args, 3);
}

mw_tensor * mw_sub__at(mw_site site, mw_tensor *self, mw_tensor *other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_sub_, args, 3);
}

mw_tensor * mw_sub__scalar_at(mw_site site, mw_tensor *self, double other, double alpha)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other), v_scalar(alpha)};
    return mw__call_op(site, &mw_op_sub__scalar, args, 3);
}

mw_tensor * mw_mul__at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_mul_, args, 2);
}

mw_tensor * mw_mul__scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_mul__scalar, args, 2);
}

mw_tensor * mw_div__at(mw_site site, mw_tensor *self, mw_tensor *other)
{
    const mw_value args[] = {v_tensor(self), v_tensor(other)};
    return mw__call_op(site, &mw_op_div_, args, 2);
}

mw_tensor * mw_div__scalar_at(mw_site site, mw_tensor *self, double other)
{
    const mw_value args[] = {v_tensor(self), v_scalar(other)};
    return mw__call_op(site, &mw_op_div__scalar, args, 2);
}

mw_tensor * mw_neg__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_neg_, args, 1);
}

mw_tensor * mw_relu__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_relu_, args, 1);
}

mw_tensor * mw_exp__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_exp_, args, 1);
}

mw_tensor * mw_tanh__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_tanh_, args, 1);
}

mw_tensor * mw_sigmoid__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sigmoid_, args, 1);
}

mw_tensor * mw_silu__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_silu_, args, 1);
}

mw_tensor * mw_sqrt__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_sqrt_, args, 1);
}

mw_tensor * mw_rsqrt__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_rsqrt_, args, 1);
}

mw_tensor * mw_gelu__at(mw_site site, mw_tensor *self, const char *approximate)
{
    const mw_value args[] = {v_tensor(self), v_text(approximate)};
    return mw__call_op(site, &mw_op_gelu_, args, 2);
}

mw_tensor * mw_pow__scalar_at(mw_site site, mw_tensor *self, double exponent)
{
    const mw_value args[] = {v_tensor(self), v_scalar(exponent)};
    return mw__call_op(site, &mw_op_pow__scalar, args, 2);
}

mw_tensor * mw_clamp__at(mw_site site, mw_tensor *self, double min, double max)
{
    const mw_value args[] = {v_tensor(self), v_maybe_scalar(min), v_maybe_scalar(max)};
    return mw__call_op(site, &mw_op_clamp_, args, 3);
}

mw_tensor * mw_masked_fill__scalar_at(mw_site site, mw_tensor *self, mw_tensor *mask, double value)
{
    const mw_value args[] = {v_tensor(self), v_tensor(mask), v_scalar(value)};
    return mw__call_op(site, &mw_op_masked_fill__scalar, args, 3);
}

mw_tensor * mw_fill__scalar_at(mw_site site, mw_tensor *self, double value)
{
    const mw_value args[] = {v_tensor(self), v_scalar(value)};
    return mw__call_op(site, &mw_op_fill__scalar, args, 2);
}

mw_tensor * mw_zero__at(mw_site site, mw_tensor *self)
{
    const mw_value args[] = {v_tensor(self)};
    return mw__call_op(site, &mw_op_zero_, args, 1);
}

mw_tensor * mw_index_put__at(mw_site site, mw_tensor *self, mw_tensor *const *indices, int nindices, mw_tensor *values, bool accumulate)
{
    const mw_value args[] = {v_tensor(self), v_tensors(indices, nindices), v_tensor(values), v_boolean(accumulate)};
    return mw__call_op(site, &mw_op_index_put_, args, 4);
}
