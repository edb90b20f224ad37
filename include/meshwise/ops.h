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

/* aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
 * Elements of self where the condition holds, else of other. */
MW_API mw_tensor * mw_where_self_at(mw_site site, mw_tensor *condition, mw_tensor *self, mw_tensor *other);
#define mw_where_self(...) mw_where_self_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
 * The tensor with a number in place of the elements that the mask picks. */
MW_API mw_tensor * mw_masked_fill_scalar_at(mw_site site, mw_tensor *self, mw_tensor *mask, double value);
#define mw_masked_fill_scalar(...) mw_masked_fill_scalar_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

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

/* aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
 * Largest element over some dims; NaN wins. */
MW_API mw_tensor * mw_amax_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim);
#define mw_amax(...) mw_amax_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
 * Smallest element over some dims; NaN wins. */
MW_API mw_tensor * mw_amin_at(mw_site site, mw_tensor *self, const int64_t *dim, int ndim, bool keepdim);
#define mw_amin(...) mw_amin_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

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

/* aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * 0, 1, 2, ... below the end. */
MW_API mw_tensor * mw_arange_at(mw_site site, double end, mw_dtype dtype);
#define mw_arange(...) mw_arange_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * Numbers from start by step, before the end. */
MW_API mw_tensor * mw_arange_start_step_at(mw_site site, double start, double end, double step, mw_dtype dtype);
#define mw_arange_start_step(...) mw_arange_start_step_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

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

/* aten::alias(Tensor(a) self) -> Tensor(a)
 * The tensor under another name. */
MW_API mw_tensor * mw_alias_at(mw_site site, mw_tensor *self);
#define mw_alias(...) mw_alias_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* aten::detach(Tensor(a) self) -> Tensor(a)
 * The tensor without its history. */
MW_API mw_tensor * mw_detach_at(mw_site site, mw_tensor *self);
#define mw_detach(...) mw_detach_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
