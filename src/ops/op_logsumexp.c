/* log(sum(exp(x))) over some dims, the largest element taken out first so that nothing overflows. A
 * largest element that is infinite is not taken out: inf - inf would be NaN. */
#include "ops/fold.h"
#include "ops/interp.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { LSE_DIM = 1, LSE_KEEPDIM };

typedef struct lse {
    double *most; /* of each result */
    double top, sum;
    const mw_view *out;
} lse;

static void most_start(void *state, int64_t nth)
{
    (void)nth;
    ((lse *)state)->top = -HUGE_VAL;
}

static void most_chunk(void *state, const void *x, int64_t n)
{
    lse *s = state;
    const double *a = x;
    for (int64_t i = 0; i < n; i++)
        if (a[i] > s->top || isnan(a[i])) s->top = a[i];
}

static void most_end(void *state, int64_t nth)
{
    lse *s = state;
    s->most[nth] = isinf(s->top) ? 0 : s->top;
}

static void sum_start(void *state, int64_t nth)
{
    lse *s = state;
    s->top = s->most[nth];
    s->sum = 0;
}

static void sum_chunk(void *state, const void *x, int64_t n)
{
    lse *s = state;
    const double *a = x;
    for (int64_t i = 0; i < n; i++)
        s->sum += exp(a[i] - s->top);
}

static void sum_end(void *state, int64_t nth)
{
    lse *s = state;
    mw__element_set((char *)s->out->data + nth * mw_dtype_size(s->out->dtype), s->out->dtype,
                    s->top + log(s->sum));
}

static mw_status logsumexp_kernel(const mw_kernel_call *k)
{
    static const mw__fold most = {MW_DTYPE_f64, most_start, most_chunk, most_end};
    static const mw__fold sum = {MW_DTYPE_f64, sum_start, sum_chunk, sum_end};
    uint32_t mask = 0;
    lse s = {.out = &k->out[0]};
    MW_TRY(mw__dims_named(k->call, LSE_DIM, &mask));
    int64_t results = mw__view_count(&k->out[0]);
    s.most = mw__arena_alloc(k->scratch, (size_t)MW_MAX(results, 1) * sizeof *s.most);
    if (!s.most) return MW_NOMEM();
    mw__fold_run(&most, &s, &k->in[0], mask);
    mw__fold_run(&sum, &s, &k->in[0], mask);
    return MW_OK;
}

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

/* Of no elements there is no largest, and the sum is 0. */
static mw_status logsumexp_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask = 0;
    MW_TRY(mw__dims_named(call, LSE_DIM, &mask));
    MW_TRY(mw__rule_default(call, rule));
    for (int l = 0; l < rule->nletter && mw__dims_count(call, mask) == 0; l++)
        if (rule->letter[l].mark == MW_MARK_PARTS) rule->letter[l].mark = MW_MARK_WHOLE;
    return MW_OK;
}

static mw_status logsumexp_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                                 mw_tensor **ret_out)
{
    uint32_t mask = 0;
    int64_t list[MW_MAX_DIMS];
    int n = 0;
    MW_TRY(mw__dims_named(call, LSE_DIM, &mask));
    for (int d = 0; d < call->in[0].ndim; d++)
        if (mask >> d & 1u) list[n++] = d;
    mw_dtype from = call->in[0].dtype, work = from == MW_DTYPE_f64 ? from : MW_DTYPE_f32;
    mw_dtype to = mw_dtype_kind_of(from) == MW_KIND_FLOAT ? from : MW_DTYPE_f32;
    mw_value dims = mw__val_ints(list, n), keep = mw__val_bool(true), one = mw__val_int(1);
    mw_tensor *x = convert(in, operand[0], from, work);
    mw_tensor *most = in->settle(in, MW_EMIT(in, amax, mw__val(x), dims, keep));
    mw_tensor *infinite = MW_EMIT(in, isinf, mw__val(most));
    most = MW_EMIT(in, masked_fill_scalar, mw__val(most), mw__val(infinite), mw__val_int(0));
    mw_tensor *e = MW_EMIT(in, exp, mw__val(MW_EMIT(in, sub, mw__val(x), mw__val(most), one)));
    mw_tensor *sum = MW_EMIT(in, sum_dim_intlist, mw__val(e), dims, keep, mw__val_none());
    mw_tensor *out = MW_EMIT(in, add, mw__val(MW_EMIT(in, log, mw__val(sum))), mw__val(most), one);
    out = convert(in, out, work, to);
    for (int i = n - 1; i >= 0 && !mw__arg_bool(call, LSE_KEEPDIM, false); i--)
        out = MW_EMIT(in, squeeze_dim, mw__val(out), mw__val_int(list[i]));
    ret_out[0] = out;
    return in->status;
}

const mw_op mw_op_logsumexp = {
    .schema = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "Logarithm of the sum of exponentials over some dims.",
    .dtype = MW_OUT_FLOAT,
    .factors = logsumexp_factors,
    .kernel = logsumexp_kernel,
    .parts = logsumexp_parts,
    .reductions = 2,
    .samples = "f32[4, 6], [1]; f32[4, 6], [0], true; f64[2, 5, 3], [0, -1]; bf16[9, 3], [0]; "
               "i64[4, 5]<9, [1]; f32[], [0]; f32[0, 3], [1]; f32[3, 0], [1]",
};
