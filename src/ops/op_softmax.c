/* Softmax and its logarithm over one dim. A row is brought into contiguous f32 (f64 for f64),
 * worked on in place and written back; along the last dim of an f32 result that place is the result
 * itself. */
#include "ops/fastmath.h"
#include "ops/gemv.h"
#include "ops/interp.h"
#include "ops/rows.h"
#include "ops/rule_parts.h"

#include <math.h>

/* What is done to a row, in place. */
typedef struct row_functions {
    void (*f32)(float *row, int64_t n);
    void (*f64)(double *row, int64_t n);
} row_functions;

static void softmax_f32(float *row, int64_t n)
{
    (void)mw__row_kernels_get()->softmax(row, n);
}

/* x - max - log(sum(exp(x - max))) */
static void log_softmax_f32(float *row, int64_t n)
{
    float top = -HUGE_VALF;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        top = top > row[i] ? top : row[i];
    for (int64_t i = 0; i < n; i++)
        sum += (double)mw__exp_f32(row[i] - top);
    float less = (float)log(sum);
    for (int64_t i = 0; i < n; i++)
        row[i] = row[i] - top - less;
}

static void log_softmax_f64(double *row, int64_t n)
{
    double top = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        top = top > row[i] ? top : row[i];
    for (int64_t i = 0; i < n; i++)
        sum += exp(row[i] - top);
    sum = log(sum);
    for (int64_t i = 0; i < n; i++)
        row[i] = row[i] - top - sum;
}

static void run_row(const row_functions *rows, const mw_view *to, const mw_view *from,
                    const mw_view *work)
{
    bool direct = to->dtype == work->dtype && (to->stride[0] == 1 || to->shape[0] == 1);
    const mw_view *at = direct ? to : work;
    mw__view_copy(at, from);
    if (work->dtype == MW_DTYPE_f64)
        rows->f64(at->data, at->shape[0]);
    else
        rows->f32(at->data, at->shape[0]);
    if (!direct) mw__view_copy(to, work);
}

static mw_status run_rows(const mw_kernel_call *k, const row_functions *rows)
{
    mw_view in = k->in[0], out = k->out[0], from, to, work;
    int64_t index[MW_MAX_DIMS] = {0};
    int dim;
    MW_TRY(mw__arg_dim(k->call, 1, in.ndim, &dim));
    if (mw__view_count(&out) == 0) return MW_OK;
    mw__row_take(&in, dim, &from);
    mw__row_take(&out, dim, &to);
    bool wide = in.dtype == MW_DTYPE_f64 || out.dtype == MW_DTYPE_f64;
    mw__view_set(&work, wide ? MW_DTYPE_f64 : MW_DTYPE_f32, 1, to.shape);
    work.data = mw__arena_alloc(k->scratch, (size_t)(to.shape[0] * mw_dtype_size(work.dtype)));
    if (!work.data) return MW_NOMEM();
    do {
        from.data = mw__row_at(&in, index);
        to.data = mw__row_at(&out, index);
        run_row(rows, &to, &from, &work);
    } while (mw__row_step(index, &out));
    return MW_OK;
}

static mw_status softmax_kernel(const mw_kernel_call *k)
{
    static const row_functions rows = {softmax_f32, mw__softmax_f64};
    return run_rows(k, &rows);
}

static mw_status log_softmax_kernel(const mw_kernel_call *k)
{
    static const row_functions rows = {log_softmax_f32, log_softmax_f64};
    return run_rows(k, &rows);
}

static mw_status float_only(const mw_call_args *call, mw_rule *rule)
{
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) == MW_KIND_FLOAT)
        return mw__rule_default(call, rule);
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: not defined for %s", mw__call_name(call),
                  mw_dtype_name(call->in[0].dtype));
    mw__error_hint("pass dtype=f32 to softmax.int or log_softmax.int, or convert first");
    return MW_ERR_UNSUPPORTED;
}

static mw_status softmax_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    return float_only(call, rule);
}

static mw_status half_softmax_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    if (!mw__arg_bool(call, 2, false)) return float_only(call, rule);
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: half_to_float is true, but only GPUs convert on the way",
                  mw__call_name(call));
    mw__error_hint("pass false, and convert before or after");
    return MW_ERR_UNSUPPORTED;
}

/* The maximum and the sum are one value a row. f16 and bf16 are worked on in f32, as the kernel
 * does. */
static mw_status parts_of(mw_interp *in, const mw_call_args *call, mw_tensor *x, bool is_log,
                          mw_tensor **ret_out)
{
    int dim;
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, &dim));
    mw_dtype to = call->arg[2].kind == MW_ARG_DTYPE ? (mw_dtype)call->arg[2].i : call->in[0].dtype;
    mw_dtype work = to == MW_DTYPE_f64 ? MW_DTYPE_f64 : MW_DTYPE_f32;
    const int64_t at = dim;
    mw_value dims = mw__val_ints(&at, 1), keep = mw__val_bool(true), no = mw__val_bool(false);
    if (call->in[0].dtype != work)
        x = MW_EMIT(in, to_dtype, mw__val(x), mw__val_dtype(work), no, no, mw__val_none());
    mw_tensor *most = MW_EMIT(in, amax, mw__val(x), dims, keep);
    mw_tensor *shifted =
        MW_EMIT(in, sub, mw__val(x), mw__val(in->settle(in, most)), mw__val_int(1));
    mw_tensor *e = MW_EMIT(in, exp, mw__val(shifted));
    mw_tensor *sum = MW_EMIT(in, sum_dim_intlist, mw__val(e), dims, keep, mw__val_none());
    mw_tensor *out;
    if (is_log)
        out = MW_EMIT(in, sub, mw__val(shifted), mw__val(MW_EMIT(in, log, mw__val(sum))),
                      mw__val_int(1));
    else
        out = MW_EMIT(in, div, mw__val(e), mw__val(sum));
    if (to != work)
        out = MW_EMIT(in, to_dtype, mw__val(out), mw__val_dtype(to), no, no, mw__val_none());
    ret_out[0] = out;
    return in->status;
}

/* exp(x - max) / sum(exp(x - max)) */
static mw_status softmax_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                               mw_tensor **ret_out)
{
    return parts_of(in, call, operand[0], false, ret_out);
}

/* x - max - log(sum(exp(x - max))) */
static mw_status log_softmax_parts(mw_interp *in, const mw_call_args *call,
                                   mw_tensor *const *operand, mw_tensor **ret_out)
{
    return parts_of(in, call, operand[0], true, ret_out);
}

const mw_op mw_op__softmax = {
    .schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [... d^ ...]",
    .doc = "Softmax over a dim.",
    .factors = half_softmax_factors,
    .kernel = softmax_kernel,
    .parts = softmax_parts,
    .reductions = 2,
    .samples = "f32[4, 6], 1, false; f32[3, 5, 4], 0, false; f64[2, 7], -1, false; "
               "bf16[40], 0, false; f16[3, 33], 1, false; f32[0, 4], 1, false; f32[3, 0], 1, false",
};

const mw_op mw_op_softmax_int = {
    .schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [... d^ ...]",
    .doc = "Softmax over a dim, computed in and given as dtype.",
    .dtype = MW_OUT_ARG,
    .factors = softmax_factors,
    .kernel = softmax_kernel,
    .parts = softmax_parts,
    .reductions = 2,
    .samples = "f32[4, 6], 1; bf16[3, 5, 4], 1, f32; f64[2, 7], -1; i64[3, 4], 1, f32; "
               "f32[2, 3], 0, f64; f32[0, 4], 0",
};

const mw_op mw_op__log_softmax = {
    .schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [... d^ ...]",
    .doc = "Logarithm of the softmax over a dim.",
    .factors = half_softmax_factors,
    .kernel = log_softmax_kernel,
    .parts = log_softmax_parts,
    .reductions = 2,
    .samples = "f32[4, 6], 1, false; f32[3, 5, 4], 0, false; f64[2, 7], -1, false; "
               "bf16[40], 0, false; f16[3, 33], 1, false; f32[0, 4], 1, false; f32[3, 0], 1, false",
};

const mw_op mw_op_log_softmax_int = {
    .schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [... d^ ...]",
    .doc = "Logarithm of the softmax over a dim, computed in and given as dtype.",
    .dtype = MW_OUT_ARG,
    .factors = softmax_factors,
    .kernel = log_softmax_kernel,
    .parts = log_softmax_parts,
    .reductions = 2,
    .samples = "f32[4, 6], 1; bf16[3, 5, 4], 1, f32; f64[2, 7], -1; i64[3, 4], 1, f32; "
               "f32[2, 3], 0, f64; f32[0, 4], 0",
};
