/* Vector norms over some dims: (sum |x|^p)^(1/p), with the limits: p = inf is the largest size,
 * -inf the smallest, 0 counts what is not 0. Over a dim that is sharded the sum, or the extreme, is
 * one small reduction. NaN wins. */
#include "ops/fold.h"
#include "ops/interp.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { NORM_P = 1, NORM_DIM, NORM_KEEPDIM };

static double order_of(const mw_call_args *call)
{
    return mw__arg_float(call, NORM_P, 2);
}

/* ---- kernel ---------------------------------------------------------------------------------- */

typedef struct norm {
    double p, total;
    const mw_view *out;
} norm;

static void norm_start(void *state, int64_t nth)
{
    norm *m = state;
    (void)nth;
    m->total = isinf(m->p) ? (m->p > 0 ? 0 : HUGE_VAL) : 0;
}

static void norm_chunk(void *state, const void *x, int64_t n)
{
    norm *m = state;
    const double *a = x, p = m->p;
    double total = m->total;
    for (int64_t i = 0; i < n; i++) {
        double size = fabs(a[i]);
        if (p == 2)
            total += size * size;
        else if (p == 1)
            total += size;
        else if (p == 0)
            total += a[i] != 0;
        else if (!isinf(p))
            total += pow(size, p);
        else if (isnan(size) || (p > 0 ? size > total : size < total))
            total = isnan(total) ? total : size;
    }
    m->total = total;
}

static void norm_end(void *state, int64_t nth)
{
    norm *m = state;
    double value = m->total;
    if (m->p == 2)
        value = sqrt(value);
    else if (m->p != 0 && m->p != 1 && !isinf(m->p))
        value = pow(value, 1 / m->p);
    mw__element_set((char *)m->out->data + nth * mw_dtype_size(m->out->dtype), m->out->dtype,
                    value);
}

static mw_status norm_kernel(const mw_kernel_call *k)
{
    static const mw__fold fold = {MW_DTYPE_f64, norm_start, norm_chunk, norm_end};
    uint32_t mask = 0;
    norm m = {.p = order_of(k->call), .out = &k->out[0]};
    MW_TRY(mw__dims_named(k->call, NORM_DIM, &mask));
    mw__fold_run(&fold, &m, &k->in[0], mask);
    return MW_OK;
}

/* ---- rule ------------------------------------------------------------------------------------ */

static mw_status norm_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask = 0;
    char text[MW_META_TEXT];
    if (mw_dtype_kind_of(call->in[0].dtype) != MW_KIND_FLOAT ||
        mw_dtype_kind_of(rule->out_meta[0].dtype) != MW_KIND_FLOAT) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "%s: self is %s and the result %s: both must be floats",
                    mw__call_name(call), mw__meta_text(&call->in[0], text),
                    mw_dtype_name(rule->out_meta[0].dtype));
        mw__error_hint("convert self to a float dtype first");
        return status;
    }
    MW_TRY(mw__dims_named(call, NORM_DIM, &mask));
    if ((order_of(call) < 0 || isinf(order_of(call))) && mw__dims_count(call, mask) == 0)
        return MW_FAIL(MW_ERR_SHAPE, "%s: of no elements there is no norm of order %g",
                       mw__call_name(call), order_of(call));
    return mw__rule_default(call, rule);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

static mw_tensor *sum(mw_interp *in, mw_tensor *t, mw_value dims, mw_value keep)
{
    return MW_EMIT(in, sum_dim_intlist, mw__val(t), dims, keep, mw__val_none());
}

/* The norm of a float tensor. */
static mw_tensor *emit_norm(mw_interp *in, mw_tensor *x, double p, mw_value dims, mw_value keep,
                            mw_dtype work)
{
    if (p == 0) {
        mw_tensor *holds = MW_EMIT(in, ne_scalar, mw__val(x), mw__val_int(0));
        return sum(in, convert(in, holds, MW_DTYPE_bool, work), dims, keep);
    }
    if (p == 2)
        return MW_EMIT(in, sqrt,
                       mw__val(sum(in, MW_EMIT(in, mul, mw__val(x), mw__val(x)), dims, keep)));
    x = MW_EMIT(in, abs, mw__val(x));
    if (isinf(p) && p > 0) return MW_EMIT(in, amax, mw__val(x), dims, keep);
    if (isinf(p)) return MW_EMIT(in, amin, mw__val(x), dims, keep);
    if (p == 1) return sum(in, x, dims, keep);
    x = MW_EMIT(in, pow_tensor_scalar, mw__val(x), mw__val_float(p));
    return MW_EMIT(in, pow_tensor_scalar, mw__val(sum(in, x, dims, keep)), mw__val_float(1 / p));
}

static mw_status norm_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                            mw_tensor **ret_out)
{
    uint32_t mask = 0;
    int64_t list[MW_MAX_DIMS];
    int n = 0;
    MW_TRY(mw__dims_named(call, NORM_DIM, &mask));
    for (int d = 0; d < call->in[0].ndim; d++)
        if (mask >> d & 1u) list[n++] = d;
    mw_dtype from = call->in[0].dtype;
    mw_dtype to = call->narg > 4 ? mw__arg_dtype(call, 4, from) : from;
    mw_dtype work = from == MW_DTYPE_f64 || to == MW_DTYPE_f64 ? MW_DTYPE_f64 : MW_DTYPE_f32;
    mw_value keep = mw__val_bool(mw__arg_bool(call, NORM_KEEPDIM, false));
    mw_tensor *x = convert(in, operand[0], from, work);
    x = emit_norm(in, x, order_of(call), mw__val_ints(list, n), keep, work);
    ret_out[0] = convert(in, in->settle(in, x), work, to);
    return in->status;
}

const mw_op mw_op_linalg_vector_norm = {
    .schema = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, "
              "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "The norm of some order over some dims; inf and -inf are the extremes, 0 counts.",
    .dtype = MW_OUT_ARG,
    .factors = norm_factors,
    .refuses = MW_REFUSES_PARTS,
    .kernel = norm_kernel,
    .parts = norm_parts,
    .reductions = 1,
    .samples =
        "f32[4, 6]; f32[4, 6], 1, [1]; f64[2, 5, 3], 3, [0, -1], true; bf16[9, 3], inf, [0]; "
        "f32[4, 6], -inf, [0]; f32[5, 7], 0, [1], true; f16[40], 2, none, false, f32; "
        "f32[0, 3], 2, [1]; f32[3, 0], 2, [1]; f32[6], 0.5",
};

const mw_op mw_op_norm_scalaropt_dim = {
    .schema = "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
              "Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "The norm of order p over some dims; None is 2.",
    .factors = norm_factors,
    .refuses = MW_REFUSES_PARTS,
    .kernel = norm_kernel,
    .parts = norm_parts,
    .reductions = 1,
    .samples = "f32[4, 6], none, [1]; f32[4, 6], 1, [0], true; f64[2, 5, 3], 2, [0, -1]; "
               "bf16[9, 3], inf, [0]; f32[0, 3], 2, [1]; f32[3, 0], 2, [1]",
};
