/* Variance, deviation and vector norms over some dims. Sums are taken in double, in two passes, so
 * that a large mean costs no digits. Over a dim that is sharded they go by parts: the mean and the
 * sum of squares are one small reduction each. */
#include "ops/fold.h"
#include "ops/interp.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- what all of them share ------------------------------------------------------------------
 */

static mw_status need_float(const mw_call_args *call, const mw_rule *rule)
{
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) == MW_KIND_FLOAT) return MW_OK;
    char text[MW_META_TEXT];
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "%s: '%s' is %s, but must hold floats", mw__call_name(call),
                mw__operand_name(call, 0), mw__meta_text(&call->in[0], text));
    mw__error_hint("convert it to a float dtype first");
    return status;
}

/* The dims in the mask as an argument. */
static mw_value dims_of(const mw_call_args *call, uint32_t mask, int64_t *list)
{
    int n = 0;
    for (int d = 0; d < call->in[0].ndim; d++)
        if (mask >> d & 1u) list[n++] = d;
    return mw__val_ints(list, n);
}

static mw_dtype work_dtype(mw_dtype dtype)
{
    return dtype == MW_DTYPE_f64 ? dtype : MW_DTYPE_f32;
}

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

static void store(const mw_view *to, int64_t nth, double value)
{
    mw__element_set((char *)to->data + nth * mw_dtype_size(to->dtype), to->dtype, value);
}

/* ---- variance --------------------------------------------------------------------------------
 */

enum { VAR_DIM = 1, VAR_CORRECTION, VAR_KEEPDIM };

typedef struct spread {
    double *mean; /* of each result */
    double center, sum, count, divisor;
    bool root;
    const mw_view *variance, *mean_out; /* mean_out may be NULL */
} spread;

static void sum_start(void *state, int64_t nth)
{
    (void)nth;
    ((spread *)state)->sum = 0;
}

static void sum_chunk(void *state, const void *x, int64_t n)
{
    spread *s = state;
    const double *a = x;
    for (int64_t i = 0; i < n; i++)
        s->sum += a[i];
}

static void mean_end(void *state, int64_t nth)
{
    spread *s = state;
    s->mean[nth] = s->sum / s->count;
}

static void squares_start(void *state, int64_t nth)
{
    spread *s = state;
    s->center = s->mean[nth];
    s->sum = 0;
}

static void squares_chunk(void *state, const void *x, int64_t n)
{
    spread *s = state;
    const double *a = x;
    for (int64_t i = 0; i < n; i++)
        s->sum += (a[i] - s->center) * (a[i] - s->center);
}

static void squares_end(void *state, int64_t nth)
{
    spread *s = state;
    double variance = s->sum / s->divisor;
    store(s->variance, nth, s->root ? sqrt(variance) : variance);
    if (s->mean_out) store(s->mean_out, nth, s->center);
}

static double divisor_of(const mw_call_args *call, double count)
{
    return MW_MAX(0.0, count - mw__arg_float(call, VAR_CORRECTION, 1));
}

static mw_status run_spread(const mw_kernel_call *k, bool root, bool has_mean)
{
    static const mw__fold means = {MW_DTYPE_f64, sum_start, sum_chunk, mean_end};
    static const mw__fold squares = {MW_DTYPE_f64, squares_start, squares_chunk, squares_end};
    uint32_t mask = 0;
    MW_TRY(mw__dims_named(k->call, VAR_DIM, &mask));
    spread s = {.root = root, .variance = &k->out[0], .mean_out = has_mean ? &k->out[1] : NULL};
    s.count = mw__dims_count(k->call, mask);
    s.divisor = divisor_of(k->call, s.count);
    int64_t results = mw__view_count(&k->out[0]);
    s.mean = mw__arena_alloc(k->scratch, (size_t)MW_MAX(results, 1) * sizeof *s.mean);
    if (!s.mean) return MW_NOMEM();
    mw__fold_run(&means, &s, &k->in[0], mask);
    mw__fold_run(&squares, &s, &k->in[0], mask);
    return MW_OK;
}

static mw_status var_kernel(const mw_kernel_call *k)
{
    return run_spread(k, false, false);
}

static mw_status std_kernel(const mw_kernel_call *k)
{
    return run_spread(k, true, false);
}

static mw_status var_mean_kernel(const mw_kernel_call *k)
{
    return run_spread(k, false, true);
}

static mw_status var_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(need_float(call, rule));
    return mw__rule_default(call, rule);
}

/* The mean has size 1 in the reduced dims while it is subtracted; without keepdim these go. */
static mw_tensor *finish(mw_interp *in, const mw_call_args *call, mw_tensor *t, mw_dtype work,
                         mw_value dims, bool keepdim)
{
    t = convert(in, in->settle(in, t), work, call->in[0].dtype);
    if (keepdim || in->status != MW_OK) return t;
    for (int i = dims.count - 1; i >= 0; i--)
        t = MW_EMIT(in, squeeze_dim, mw__val(t), mw__val_int(dims.as.ints[i]));
    return t;
}

static mw_status spread_parts(mw_interp *in, const mw_call_args *call, mw_tensor *x, bool root,
                              mw_tensor **ret_var, mw_tensor **ret_mean)
{
    uint32_t mask = 0;
    int64_t list[MW_MAX_DIMS];
    MW_TRY(mw__dims_named(call, VAR_DIM, &mask));
    mw_value dims = dims_of(call, mask, list), keep = mw__val_bool(true), none = mw__val_none();
    mw_dtype work = work_dtype(call->in[0].dtype);
    bool keepdim = mw__arg_bool(call, VAR_KEEPDIM, false);
    x = convert(in, x, call->in[0].dtype, work);
    mw_tensor *mean = in->settle(in, MW_EMIT(in, mean_dim, mw__val(x), dims, keep, none));
    mw_tensor *off = MW_EMIT(in, sub, mw__val(x), mw__val(mean), mw__val_int(1));
    mw_tensor *square = MW_EMIT(in, mul, mw__val(off), mw__val(off));
    mw_tensor *sum = MW_EMIT(in, sum_dim_intlist, mw__val(square), dims, keep, none);
    mw_value by = mw__val_float(divisor_of(call, mw__dims_count(call, mask)));
    mw_tensor *variance = MW_EMIT(in, div_scalar, mw__val(sum), by);
    if (root) variance = MW_EMIT(in, sqrt, mw__val(variance));
    *ret_var = finish(in, call, variance, work, dims, keepdim);
    if (ret_mean) *ret_mean = finish(in, call, mean, work, dims, keepdim);
    return in->status;
}

static mw_status var_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                           mw_tensor **ret_out)
{
    return spread_parts(in, call, operand[0], false, &ret_out[0], NULL);
}

static mw_status std_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                           mw_tensor **ret_out)
{
    return spread_parts(in, call, operand[0], true, &ret_out[0], NULL);
}

static mw_status var_mean_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                                mw_tensor **ret_out)
{
    return spread_parts(in, call, operand[0], false, &ret_out[0], &ret_out[1]);
}

#define SPREAD_SAMPLES                                                                             \
    "f32[4, 6], [1]; f32[4, 6], [0], 0, true; f64[2, 5, 3], [0, -1], 0.5; bf16[9, 3], [0]; "       \
    "f32[7, 3], none, 1, false; f32[3, 1], [1]; f32[0, 3], [1]; f32[3, 0], [1], 0; f16[40], [0], " \
    "0, true"

const mw_op mw_op_var_correction = {
    .schema = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
              "bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "Variance over some dims: squares of what is off the mean, divided by their number less "
           "the correction.",
    .factors = var_factors,
    .kernel = var_kernel,
    .parts = var_parts,
    .reductions = 2,
    .samples = SPREAD_SAMPLES,
};

const mw_op mw_op_std_correction = {
    .schema = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
              "bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "Standard deviation over some dims: the root of the variance.",
    .factors = var_factors,
    .kernel = std_kernel,
    .parts = std_parts,
    .reductions = 2,
    .samples = SPREAD_SAMPLES,
};

const mw_op mw_op_var_mean_correction = {
    .schema = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, "
              "Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    .rule = "self[... dim:d^ ...] -> [...], [...]",
    .doc = "Variance over some dims, and the mean.",
    .factors = var_factors,
    .kernel = var_mean_kernel,
    .parts = var_mean_parts,
    .reductions = 2,
    .samples = SPREAD_SAMPLES,
};
