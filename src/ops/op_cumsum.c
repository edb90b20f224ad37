/* Running sums and products along a dim.
 *
 * Over a dim that is sharded a running sum goes by parts: each span (spans.h) on its own, the
 * totals of the spans summed up (a small tensor that each rank fills in its own slots), and what
 * came before a span added to it:
 *
 *     rank 0: 1 2 3        1 3 6        totals 6, 9        1 3 6
 *     rank 1: 4 5          4 9          before 0, 6        10 15
 */
#include "ops/elementwise.h"
#include "ops/interp.h"
#include "ops/refuses.h"
#include "ops/rows.h"
#include "ops/rule_parts.h"
#include "ops/spans.h"

enum { CUM_DIM = 1, CUM_DTYPE };

/* ---- kernels --------------------------------------------------------------------------------- */

/* A total, in the type in which elements are added. */
typedef struct total {
    bool is_float;
    double f;
    int64_t i;
} total;

static void add_to(total *t, const mw_view *x)
{
    if (t->is_float)
        t->f += mw__element_get(x->data, x->dtype);
    else
        t->i = MW__ADD_I64(t->i, mw__element_get_i64(x->data, x->dtype));
}

static void multiply(total *t, const mw_view *x)
{
    if (t->is_float)
        t->f *= mw__element_get(x->data, x->dtype);
    else
        t->i = MW__MUL_I64(t->i, mw__element_get_i64(x->data, x->dtype));
}

static void put(const total *t, const mw_view *to)
{
    if (t->is_float)
        mw__element_set(to->data, to->dtype, t->f);
    else
        mw__element_set_i64(to->data, to->dtype, t->i);
}

static total nothing(mw_dtype dtype, int64_t value)
{
    return (total){mw_dtype_kind_of(dtype) == MW_KIND_FLOAT, (double)value, value};
}

/* n elements of a row from position `at` on. Elements are converted first, as torch does. */
static void run_row(const mw_view *from, const mw_view *to, int64_t at, int64_t n,
                    void (*step)(total *t, const mw_view *x), total t)
{
    double element;
    mw_view x = {.data = &element, .dtype = to->dtype};
    for (int64_t i = at; i < at + n; i++) {
        mw_view a = mw__row_element(from, i), b = mw__row_element(to, i);
        mw__view_copy(&x, &a);
        step(&t, &x);
        put(&t, &b);
    }
}

/* Rows in parts of which each begins anew: the spans, or (NULL) the whole. */
static mw_status run_rows(const mw_kernel_call *k, const mw_kernel_spans *spans, bool product)
{
    mw_view in = k->in[0], out = k->out[0], from, to;
    int64_t index[MW_MAX_DIMS] = {0};
    int dim;
    MW_TRY(mw__arg_dim(k->call, CUM_DIM, in.ndim, &dim));
    if (mw__view_count(&out) == 0) return MW_OK;
    mw__row_take(&in, dim, &from);
    mw__row_take(&out, dim, &to);
    const total start = nothing(k->out[0].dtype, product);
    do {
        from.data = mw__row_at(&in, index);
        to.data = mw__row_at(&out, index);
        int64_t at = 0, parts = spans ? spans->own_count : 1;
        for (int64_t i = 0; i < parts; i++) {
            int64_t n = from.shape[0];
            if (spans) n = spans->span[spans->own[i]].end - spans->span[spans->own[i]].first;
            run_row(&from, &to, at, n, product ? multiply : add_to, start);
            at += n;
        }
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static mw_status cumsum_kernel(const mw_kernel_call *k)
{
    return run_rows(k, NULL, false);
}

static mw_status cumprod_kernel(const mw_kernel_call *k)
{
    return run_rows(k, NULL, true);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static mw_status span_cumsum_kernel(const mw_kernel_call *k)
{
    mw_kernel_spans spans;
    int dim;
    MW_TRY(mw__arg_dim(k->call, CUM_DIM, k->in[0].ndim, &dim));
    MW_TRY(mw__kernel_spans(k, dim, &spans));
    return run_rows(k, &spans, false);
}

static const mw_op span_cumsum = {
    .schema = "meshwise::span_cumsum(Tensor self, int dim) -> Tensor",
    .rule = "self[... dim:d ...] -> [... d ...]",
    .doc = "Running sums within each span of a dim; a part of cumsum.",
    .kernel = span_cumsum_kernel,
};

static mw_status span_last_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    int dim;
    MW_TRY(mw__arg_dim(call, 1, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    int slots = mw__rule_letter(rule, "s", mw__arg_int(call, 2, 0), MW_MARK_WHOLE);
    for (int d = 0; d < self->ndim; d++)
        mw__rule_push(&rule->out[0], d == dim ? slots : first + d);
    return MW_OK;
}

/* Each rank fills the slots of its spans with their last elements. */
static mw_status span_last_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], out = k->out[0], from, to;
    int64_t index[MW_MAX_DIMS] = {0};
    mw_kernel_spans spans;
    int dim;
    MW_TRY(mw__arg_dim(k->call, 1, in.ndim, &dim));
    MW_TRY(mw__kernel_spans(k, dim, &spans));
    for (int64_t i = 0, n = mw__view_count(&out); i < n; i++)
        mw__element_set((char *)out.data + i * mw_dtype_size(out.dtype), out.dtype, -0.0);
    if (mw__view_count(&out) == 0 || mw__view_count(&in) == 0) return MW_OK;
    if (spans.count != out.shape[dim])
        return MW_FAIL(MW_ERR_INTERNAL, "span_last: %lld spans for %lld slots",
                       (long long)spans.count, (long long)out.shape[dim]);
    mw__row_take(&in, dim, &from);
    mw__row_take(&out, dim, &to);
    do {
        from.data = mw__row_at(&in, index);
        to.data = mw__row_at(&out, index);
        int64_t at = 0;
        for (int64_t i = 0; i < spans.own_count; i++) {
            const mw_span *span = &spans.span[spans.own[i]];
            at += span->end - span->first;
            mw_view last = mw__row_element(&from, at - 1);
            mw_view slot = mw__row_element(&to, spans.own[i]);
            mw__view_copy(&slot, &last);
        }
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static const mw_op span_last = {
    .schema = "meshwise::span_last(Tensor self, int dim, int slots) -> Tensor",
    .doc = "The last element of each span of a dim; a part of cumsum.",
    .reduce = MW_REDUCE_SUM,
    .factors = span_last_factors,
    .kernel = span_last_kernel,
};

/* running[.. s ..] is added to the elements of span s + 1. */
static mw_status span_shift_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], out = k->out[0], running = k->in[1], from, to, before;
    int64_t index[MW_MAX_DIMS] = {0};
    mw_kernel_spans spans;
    int dim;
    MW_TRY(mw__arg_dim(k->call, 2, in.ndim, &dim));
    MW_TRY(mw__kernel_spans(k, dim, &spans));
    if (mw__view_count(&out) == 0) return MW_OK;
    mw__row_take(&in, dim, &from);
    mw__row_take(&out, dim, &to);
    mw__row_take(&running, dim, &before);
    do {
        from.data = mw__row_at(&in, index);
        to.data = mw__row_at(&out, index);
        before.data = mw__row_at(&running, index);
        int64_t at = 0;
        for (int64_t i = 0; i < spans.own_count; i++) {
            const mw_span *span = &spans.span[spans.own[i]];
            for (int64_t n = span->end - span->first; n > 0; n--, at++) {
                mw_view a = mw__row_element(&from, at), b = mw__row_element(&to, at);
                total t = nothing(to.dtype, 0);
                add_to(&t, &a);
                mw_view more = mw__row_element(&before, MW_MAX(spans.own[i] - 1, 0));
                if (spans.own[i] > 0) add_to(&t, &more);
                put(&t, &b);
            }
        }
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static const mw_op span_shift = {
    .schema = "meshwise::span_shift(Tensor self, Tensor running, int dim) -> Tensor",
    .rule = "self[... dim:d ...], running[... dim:s* ...] -> [... d ...]",
    .doc = "Each span of a dim with what came before it added; a part of cumsum.",
    .kernel = span_shift_kernel,
};

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

/* f16 and bf16 are worked on in f32, as the kernel does. */
static mw_status cumsum_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                              mw_tensor **ret_out)
{
    int dim;
    MW_TRY(mw__arg_dim(call, CUM_DIM, call->in[0].ndim, &dim));
    mw_dtype from = call->in[0].dtype;
    mw_dtype to = mw_dtype_kind_of(from) == MW_KIND_FLOAT ? from : MW_DTYPE_i64;
    to = mw__arg_dtype(call, CUM_DTYPE, to);
    mw_dtype work = to == MW_DTYPE_f16 || to == MW_DTYPE_bf16 ? MW_DTYPE_f32 : to;
    mw_tensor *x = convert(in, operand[0], from, work), *own, *last, *out;
    mw_value at = mw__val_int(dim);
    MW_EMIT_PART(in, span_cumsum, &own, 1, mw__val(x), at);
    /* Where x is a partial sum, this has combined it, and may have cut the dim further by that. */
    int64_t slots = in->spans(in, own, dim, 1);
    MW_EMIT_PART(in, span_last, &last, 1, mw__val(own), at, mw__val_int(slots));
    last = in->settle(in, last);
    mw_tensor *running = MW_EMIT(in, cumsum, mw__val(last), at, mw__val_none());
    MW_EMIT_PART(in, span_shift, &out, 1, mw__val(own), mw__val(running), at);
    ret_out[0] = convert(in, out, work, to);
    return in->status;
}

/* ---- the ops --------------------------------------------------------------------------------- */

static mw_status cumsum_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    mw_dtype from = call->in[0].dtype, to = rule->out_meta[0].dtype;
    rule->in[0].linear =
        mw__dtype_widens(from, to) || (mw_dtype_kind_of(from) == MW_KIND_INT && to == MW_DTYPE_i64);
    MW_TRY(mw__rule_default(call, rule));
    if (to == MW_DTYPE_bool) { /* truth values have no sum between ranks */
        rule->in[0].linear = 0;
        for (int l = 0; l < rule->nletter; l++)
            if (rule->letter[l].mark == MW_MARK_PARTS) rule->letter[l].mark = MW_MARK_WHOLE;
    }
    return MW_OK;
}

#define CUM_SAMPLES                                                                          \
    "f32[4, 6], 1; f32[5, 3], 0; f64[2, 7, 3], -2; bf16[9], 0; i32[7, 2]<9, 0; bool[5], 0; " \
    "f32[], 0; f32[0, 3], 0; f32[3, 0], 1; f32[4, 5], 1, f64"

const mw_op mw_op_cumsum = {
    .schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [... d^ ...]",
    .doc = "Sums of all elements up to each one along a dim; of integers in i64.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_SUM,
    .factors = cumsum_factors,
    .kernel = cumsum_kernel,
    .parts = cumsum_parts,
    .reductions = 1,
    .samples = CUM_SAMPLES,
};

const mw_op mw_op_cumprod = {
    .schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d* ...] -> [... d* ...]",
    .doc = "Products of all elements up to each one along a dim; of integers in i64.",
    .dtype = MW_OUT_SUM,
    .refuses = MW_REFUSES_TRUTH,
    .kernel = cumprod_kernel,
    .samples = CUM_SAMPLES,
};
