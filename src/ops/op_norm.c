/* Normalisation over the last dims: rms_norm and layer_norm. Sums are taken in double, so that the
 * result is as good as its dtype; elements are read and written once, in f32 (f64 for f64). */
#include "ops/gemv.h"
#include "ops/interp.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <float.h>
#include <math.h>

enum { INPUT, SHAPE, WEIGHT }; /* the arguments that all have */

/* ---- the rule ----------------------------------------------------------------------------------
 */

static mw_status check_shape(const mw_call_args *call)
{
    const mw_arg *shape = &call->arg[SHAPE];
    const mw_meta *in = &call->in[0];
    char text[MW_META_TEXT];
    bool fits = shape->count >= 1 && shape->count <= in->ndim;
    for (int i = 0; fits && i < shape->count; i++)
        fits = shape->ints[i] == in->shape[in->ndim - shape->count + i];
    if (!fits)
        return MW_FAIL(MW_ERR_SHAPE,
                       "%s: normalized_shape has %d dims, which are not the last dims of input %s",
                       mw__call_name(call), shape->count, mw__meta_text(in, text));
    if (mw_dtype_kind_of(in->dtype) != MW_KIND_FLOAT)
        return MW_FAIL(MW_ERR_ARG, "%s: input is %s, but must be a float", mw__call_name(call),
                       mw__meta_text(in, text));
    for (int i = 1; i < call->nin; i++) {
        bool same = call->in[i].ndim == shape->count;
        for (int d = 0; same && d < shape->count; d++)
            same = call->in[i].shape[d] == shape->ints[d];
        if (!same)
            return MW_FAIL(MW_ERR_SHAPE, "%s: %s is %s, but must have the normalized shape",
                           mw__call_name(call), mw__operand_name(call, i),
                           mw__meta_text(&call->in[i], text));
    }
    return MW_OK;
}

/* Every dim a letter, the normalised ones to be split by parts only; weight and bias have these.
 * The statistics of layer_norm have size 1 there. */
static mw_status norm_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(check_shape(call));
    const mw_meta *in = &call->in[0];
    int lead = in->ndim - call->arg[SHAPE].count;
    int first = mw__rule_letters(rule, &rule->in[0], in, "d", MW_MARK_FREE);
    for (int d = lead; d < in->ndim; d++)
        rule->letter[first + d].mark = MW_MARK_PARTS;
    for (int i = 1; i < call->nin; i++)
        mw__rule_copy(&rule->in[i], 0, &rule->in[0], lead, in->ndim - lead);
    for (int o = 0; o < rule->nout; o++)
        for (int d = 0; d < in->ndim; d++)
            mw__rule_push(&rule->out[o], o == 0 || d < lead ? first + d : -1);
    return MW_OK;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

typedef struct norm {
    bool center; /* layer_norm */
    double eps;
    int64_t rows, n;
    mw_view in;            /* [rows, n], contiguous rows unless `buffer` is used */
    mw_dtype dtype;        /* in which rows are worked on: f32 or f64 */
    void *weight, *bias;   /* [n] of `dtype`, or NULL */
    void *buffer, *result; /* [n] of `dtype` */
} norm;

static void *row_at(const mw_view *view, int64_t row)
{
    return (char *)view->data + row * view->stride[0] * mw_dtype_size(view->dtype);
}

static mw_status new_row(const mw_kernel_call *k, const norm *m, void **ret)
{
    *ret = mw__arena_alloc(k->scratch, (size_t)(m->n * mw_dtype_size(m->dtype)));
    return *ret ? MW_OK : MW_NOMEM();
}

/* The operand of argument `pos` as a row of the working dtype; NULL where it is absent. */
static mw_status vector(const mw_kernel_call *k, const norm *m, int pos, void **ret)
{
    int operand = mw__arg_operand(k->call, pos);
    *ret = NULL;
    if (operand < 0) return MW_OK;
    const mw_view *from = &k->in[operand];
    if (from->dtype == m->dtype && mw__view_contiguous(from)) {
        *ret = from->data;
        return MW_OK;
    }
    MW_TRY(new_row(k, m, ret));
    mw_view to;
    mw__view_set(&to, m->dtype, from->ndim, from->shape);
    to.data = *ret;
    mw__view_copy(&to, from);
    return MW_OK;
}

/* The input as rows, without a copy where strides allow it. */
static mw_status fold(const mw_kernel_call *k, norm *m)
{
    const mw_view *in = &k->in[0];
    int lead = in->ndim - k->call->arg[SHAPE].count;
    m->rows = m->n = 1;
    for (int d = 0; d < in->ndim; d++)
        *(d < lead ? &m->rows : &m->n) *= in->shape[d];
    int64_t shape[2] = {m->rows, m->n};
    mw__view_set(&m->in, in->dtype, 2, shape);
    m->in.data = in->data;
    if (m->rows * m->n == 0 || mw__view_reshape(in, 2, shape, m->in.stride)) return MW_OK;
    mw_view copy;
    mw__view_set(&copy, in->dtype, in->ndim, in->shape);
    copy.data = mw__arena_alloc(k->scratch, (size_t)(m->rows * m->n * mw_dtype_size(in->dtype)));
    if (!copy.data) return MW_NOMEM();
    mw__view_copy(&copy, in);
    mw__view_set(&m->in, in->dtype, 2, shape);
    m->in.data = copy.data;
    return MW_OK;
}

static void stats_f32(const norm *m, const float *x, double *ret_mean, double *ret_scale)
{
    const mw__row_kernels *kernels = mw__row_kernels_get();
    double n = (double)m->n;
    *ret_mean = m->center ? kernels->sum(x, m->n) / n : 0;
    *ret_scale = 1 / sqrt(kernels->sum_squares(x, m->n, *ret_mean) / n + m->eps);
}

static void stats_f64(const norm *m, const double *x, double *ret_mean, double *ret_scale)
{
    double sum = 0, squares = 0, n = (double)m->n;
    for (int64_t i = 0; m->center && i < m->n; i++)
        sum += x[i];
    *ret_mean = m->center ? sum / n : 0;
    for (int64_t i = 0; i < m->n; i++)
        squares += (x[i] - *ret_mean) * (x[i] - *ret_mean);
    *ret_scale = 1 / sqrt(squares / n + m->eps);
}

static void affine_f64(const norm *m, double *to, const double *x, double mean, double scale)
{
    const double *weight = m->weight, *bias = m->bias;
    for (int64_t i = 0; i < m->n; i++) {
        double y = (x[i] - mean) * scale;
        if (weight) y *= weight[i];
        to[i] = bias ? y + bias[i] : y;
    }
}

/* One row from its memory to the result's. */
static void run_row(const norm *m, int64_t row, void *to, mw_dtype to_dtype, double *ret_mean,
                    double *ret_scale)
{
    const void *x = row_at(&m->in, row);
    mw_view from = {(void *)(uintptr_t)x, m->in.dtype, 1, {m->n}, {m->in.stride[1]}};
    mw_view work = {m->buffer, m->dtype, 1, {m->n}, {1}};
    if (from.dtype != m->dtype || (from.stride[0] != 1 && m->n > 1)) {
        mw__view_copy(&work, &from);
        x = m->buffer;
    }
    void *y = to_dtype == m->dtype ? to : m->result;
    if (m->dtype == MW_DTYPE_f64) {
        stats_f64(m, x, ret_mean, ret_scale);
        affine_f64(m, y, x, *ret_mean, *ret_scale);
    } else {
        stats_f32(m, x, ret_mean, ret_scale);
        mw__row_kernels_get()->affine(y, x, (float)*ret_mean, (float)*ret_scale, m->weight, m->bias,
                                      m->n);
    }
    if (y == to) return;
    mw_view given = {to, to_dtype, 1, {m->n}, {1}};
    work.data = y;
    mw__view_copy(&given, &work);
}

static mw_status run_norm(const mw_kernel_call *k, norm *m)
{
    const mw_view *out = &k->out[0];
    MW_TRY(fold(k, m));
    bool wide = m->in.dtype == MW_DTYPE_f64 || out->dtype == MW_DTYPE_f64;
    m->dtype = wide ? MW_DTYPE_f64 : MW_DTYPE_f32;
    MW_TRY(vector(k, m, WEIGHT, &m->weight));
    if (m->center) MW_TRY(vector(k, m, WEIGHT + 1, &m->bias));
    MW_TRY(new_row(k, m, &m->buffer));
    MW_TRY(new_row(k, m, &m->result));
    int64_t size = mw_dtype_size(out->dtype);
    for (int64_t row = 0; row < m->rows; row++) {
        double stat[2];
        char *to = out->data ? (char *)out->data + row * m->n * size : NULL;
        run_row(m, row, to, out->dtype, &stat[0], &stat[1]);
        for (int o = 1; o < k->nout; o++) { /* mean and 1 / deviation */
            const mw_view *to_stat = &k->out[o];
            char *at = (char *)to_stat->data + row * mw_dtype_size(to_stat->dtype);
            mw__element_set(at, to_stat->dtype, stat[o - 1]);
        }
    }
    return MW_OK;
}

/* ---- the ops -----------------------------------------------------------------------------------
 */

static double epsilon(mw_dtype dtype)
{
    if (dtype == MW_DTYPE_f64) return DBL_EPSILON;
    if (dtype == MW_DTYPE_bf16) return 0x1p-7;
    return dtype == MW_DTYPE_f16 ? 0x1p-10 : (double)FLT_EPSILON;
}

static mw_status rms_norm_kernel(const mw_kernel_call *k)
{
    norm m = {.eps = mw__arg_float(k->call, 3, epsilon(k->call->in[0].dtype))};
    return run_norm(k, &m);
}

static mw_status layer_norm_kernel(const mw_kernel_call *k)
{
    norm m = {.center = true, .eps = mw__arg_float(k->call, 4, 1e-5)};
    return run_norm(k, &m);
}

/* ---- parts: the mean and the mean of squares are one value a row -------------------------------
 */

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

/* x / root(mean(x^2) + eps), x being off its mean already; *ret_scale: one over the root. */
static mw_tensor *emit_scaled(mw_interp *in, mw_tensor *x, mw_value dims, double eps,
                              mw_tensor **ret_scale)
{
    mw_tensor *square = MW_EMIT(in, mul, mw__val(x), mw__val(x));
    mw_tensor *mean =
        MW_EMIT(in, mean_dim, mw__val(square), dims, mw__val_bool(true), mw__val_none());
    mw_tensor *more = MW_EMIT(in, add_scalar, mw__val(mean), mw__val_float(eps), mw__val_int(1));
    *ret_scale = MW_EMIT(in, rsqrt, mw__val(more));
    return MW_EMIT(in, mul, mw__val(x), mw__val(*ret_scale));
}

/* f16 and bf16 are worked on in f32, as the kernel does. ret_out[1] and [2] are set if `stats`. */
static mw_status norm_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                            const norm *how, bool stats, mw_tensor **ret_out)
{
    int64_t list[MW_MAX_DIMS];
    int count = call->arg[SHAPE].count, ndim = call->in[0].ndim;
    for (int i = 0; i < count; i++)
        list[i] = ndim - count + i;
    mw_dtype own = call->in[0].dtype, work = own == MW_DTYPE_f64 ? own : MW_DTYPE_f32;
    mw_value dims = mw__val_ints(list, count), keep = mw__val_bool(true);
    mw_tensor *x = convert(in, operand[0], own, work), *mean = NULL, *scale;
    if (how->center) {
        mean = in->settle(in, MW_EMIT(in, mean_dim, mw__val(x), dims, keep, mw__val_none()));
        x = MW_EMIT(in, sub, mw__val(x), mw__val(mean), mw__val_int(1));
    }
    x = emit_scaled(in, x, dims, how->eps, &scale);
    int weight = mw__arg_operand(call, WEIGHT);
    int bias = how->center ? mw__arg_operand(call, WEIGHT + 1) : -1;
    if (weight >= 0) x = MW_EMIT(in, mul, mw__val(x), mw__val(operand[weight]));
    if (bias >= 0) x = MW_EMIT(in, add, mw__val(x), mw__val(operand[bias]), mw__val_int(1));
    ret_out[0] = convert(in, x, work, own);
    if (stats) {
        ret_out[1] = convert(in, mean, work, own);
        ret_out[2] = convert(in, scale, work, own);
    }
    return in->status;
}

static mw_status rms_norm_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                                mw_tensor **ret_out)
{
    const norm how = {.eps = mw__arg_float(call, 3, epsilon(call->in[0].dtype))};
    return norm_parts(in, call, operand, &how, false, ret_out);
}

static mw_status layer_norm_parts(mw_interp *in, const mw_call_args *call,
                                  mw_tensor *const *operand, mw_tensor **ret_out)
{
    const norm how = {.center = true, .eps = mw__arg_float(call, 4, 1e-5)};
    return norm_parts(in, call, operand, &how, false, ret_out);
}

static mw_status native_layer_norm_parts(mw_interp *in, const mw_call_args *call,
                                         mw_tensor *const *operand, mw_tensor **ret_out)
{
    const norm how = {.center = true, .eps = mw__arg_float(call, 4, 1e-5)};
    return norm_parts(in, call, operand, &how, true, ret_out);
}

/* ---- the table's rows --------------------------------------------------------------------------
 */

const mw_op mw_op_rms_norm = {
    .schema = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
              "float? eps=None) -> Tensor",
    .rule = "input[... d^], weight?[d^] -> [... d^]",
    .doc =
        "Divides by the root of the mean of squares over the last dims, and multiplies by weight.",
    .linear_in = MW_ARG(2),
    .factors = norm_factors,
    .refuses = MW_REFUSES_BIAS,
    .kernel = rms_norm_kernel,
    .parts = rms_norm_parts,
    .reductions = 1,
    .samples = "f32[4, 6], [6], f32[6], 1e-5; f32[2, 3, 20], [3, 20]; f64[3, 5], [5], f64[5]; "
               "bf16[2, 40], [40], bf16[40], 0.001; f16[5], [5]; f32[0, 4], [4], f32[4]",
};

const mw_op mw_op_native_layer_norm = {
    .schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
              "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    .rule = "input[... d^], weight?[d^], bias?[d^] -> [... d^], [... 1], [... 1]",
    .doc = "Normalises the last dims to mean 0 and deviation 1, then multiplies by weight and adds "
           "bias; also gives the mean and one over the deviation.",
    .factors = norm_factors,
    .refuses = MW_REFUSES_BIAS,
    .kernel = layer_norm_kernel,
    .parts = native_layer_norm_parts,
    .reductions = 2,
    .samples = "f32[4, 6], [6], f32[6], f32[6], 1e-5; f32[2, 3, 20], [3, 20], none, none, 0.001; "
               "f64[3, 5], [5], f64[5], none, 1e-5; bf16[2, 40], [40], bf16[40], bf16[40], 1e-5; "
               "f32[0, 4], [4], f32[4], f32[4], 1e-5",
};

const mw_op mw_op_layer_norm = {
    .schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
              "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    .rule = "input[... d^], weight?[d^], bias?[d^] -> [... d^]",
    .doc = "Normalises the last dims to mean 0 and deviation 1, then multiplies by weight and adds "
           "bias.",
    .factors = norm_factors,
    .refuses = MW_REFUSES_BIAS,
    .kernel = layer_norm_kernel,
    .parts = layer_norm_parts,
    .reductions = 2,
    .samples = "f32[4, 6], [6], f32[6], f32[6]; f32[2, 3, 20], [3, 20]; f64[3, 5], [5], f64[5]; "
               "f16[2, 33], [33], none, f16[33]; f32[0, 4], [4], f32[4], f32[4]",
};
