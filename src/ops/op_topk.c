/* The k largest (or smallest) of a dim, in order, and their positions.
 *
 * Over a dim that is sharded no element moves but candidates: of every span (spans.h) the first k,
 * which is all that can be among the first k of the whole. They stand in one small tensor, each
 * rank filling its own slots and leaving -0.0 in the others; its sum over the ranks is everybody's.
 * Slots are in the order of positions, so that of equal elements the first still comes first. */
#include "ops/interp.h"
#include "ops/rows.h"
#include "ops/rule_parts.h"
#include "ops/search.h"
#include "ops/spans.h"

enum { TOPK_K = 1, TOPK_DIM, TOPK_LARGEST };

/* ---- topk ------------------------------------------------------------------------------------
 */

static mw_status topk_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    int dim;
    MW_TRY(mw__arg_dim(call, TOPK_DIM, self->ndim, &dim));
    int64_t n = self->ndim > 0 ? self->shape[dim] : 1, k = mw__arg_int(call, TOPK_K, 0);
    if (k < 0 || k > n)
        return MW_FAIL(MW_ERR_ARG,
                       "topk: argument 'k' is %lld, but dim %d of self has %lld elements",
                       (long long)k, dim, (long long)n);
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    /* a sum over ranks is no look-up for bool */
    if (self->ndim > 0)
        rule->letter[first + dim].mark =
            self->dtype == MW_DTYPE_bool ? MW_MARK_WHOLE : MW_MARK_PARTS;
    int kept = mw__rule_letter(rule, "q", k, MW_MARK_WHOLE);
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < self->ndim; d++)
            mw__rule_push(&rule->out[o], d == dim ? kept : first + d);
    rule->out_meta[1].dtype = MW_DTYPE_i64;
    return MW_OK;
}

/* The first of each row into the results; `names` (may be NULL): what its positions are called, a
 * view of self's shape. */
static mw_status run_topk(const mw_kernel_call *k, int dim, int sign, const mw_view *names)
{
    mw_view in = k->in[0], values = k->out[0], places = k->out[1], from, value, place, name, rest;
    int64_t index[MW_MAX_DIMS] = {0};
    void *buffer;
    if (mw__view_count(&values) == 0) return MW_OK;
    rest = names ? *names : k->in[0];
    mw__row_take(&in, dim, &from);
    mw__row_take(&values, dim, &value);
    mw__row_take(&places, dim, &place);
    mw__row_take(&rest, dim, &name);
    int64_t n = value.shape[0];
    if (from.shape[0] < n)
        return MW_FAIL(MW_ERR_INTERNAL, "topk: %lld elements on this rank, and %lld are wanted",
                       (long long)from.shape[0], (long long)n);
    int64_t *first = mw__arena_alloc(k->scratch, (size_t)n * sizeof *first);
    if (!first) return MW_NOMEM();
    MW_TRY(mw__search_buffer(k, from.shape[0], &buffer));
    do {
        from.data = mw__row_at(&in, index);
        value.data = mw__row_at(&values, index);
        name.data = mw__row_at(&rest, index);
        int64_t *to = mw__row_at(&places, index);
        mw__search_row r = mw__search_row_of(&from, buffer);
        (void)mw__search_first(&r, n, sign, first);
        for (int64_t i = 0; i < n; i++) {
            mw_view a = mw__row_element(&value, i), b = mw__row_element(&from, first[i]);
            mw__view_copy(&a, &b);
            mw_view called = mw__row_element(&name, first[i]);
            to[i * place.stride[0]] =
                names ? mw__element_get_i64(called.data, called.dtype) : first[i];
        }
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static mw_status topk_kernel(const mw_kernel_call *k)
{
    int dim;
    MW_TRY(mw__arg_dim(k->call, TOPK_DIM, k->in[0].ndim, &dim));
    return run_topk(k, dim, mw__arg_bool(k->call, TOPK_LARGEST, true) ? 1 : -1, NULL);
}

/* ---- parts: the candidates of every span ------------------------------------------------------
 */

enum { SPAN_K = 1, SPAN_DIM, SPAN_LARGEST, SPAN_SLOTS };

static mw_status span_topk_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    int dim;
    MW_TRY(mw__arg_dim(call, SPAN_DIM, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    int slots = mw__rule_letter(rule, "s", mw__arg_int(call, SPAN_SLOTS, 0), MW_MARK_WHOLE);
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < self->ndim; d++)
            mw__rule_push(&rule->out[o], d == dim ? slots : first + d);
    rule->out_meta[1].dtype = MW_DTYPE_i64;
    return MW_OK;
}

static void fill_nothing(const mw_view *to)
{
    double element = 0;
    mw__element_set(&element, to->dtype, -0.0);
    mw_view from = *to;
    from.data = &element;
    memset(from.stride, 0, sizeof from.stride);
    if (mw__view_count(to) > 0) mw__view_copy(to, &from);
}

typedef struct candidates {
    mw_kernel_spans spans;
    int64_t most;  /* of a span */
    int64_t *slot; /* [spans.count] where each span's begin */
    int64_t *first;
    void *buffer;
    int sign;
} candidates;

static mw_status candidates_of(const mw_kernel_call *k, int dim, int64_t slots, candidates *ret)
{
    int64_t longest = 0, at = 0;
    MW_TRY(mw__kernel_spans(k, dim, &ret->spans));
    const mw_kernel_spans *s = &ret->spans;
    ret->slot = mw__arena_alloc(k->scratch, (size_t)MW_MAX(s->count, 1) * sizeof *ret->slot);
    if (!ret->slot) return MW_NOMEM();
    for (int64_t i = 0; i < s->count; i++) {
        int64_t n = s->span[i].end - s->span[i].first;
        ret->slot[i] = at;
        at += MW_MIN(n, ret->most);
        longest = MW_MAX(longest, n);
    }
    if (at != slots)
        return MW_FAIL(MW_ERR_INTERNAL, "span_topk: %lld candidates for %lld slots", (long long)at,
                       (long long)slots);
    ret->first = mw__arena_alloc(k->scratch, (size_t)MW_MAX(MW_MIN(longest, ret->most), 1) *
                                                 sizeof *ret->first);
    MW_TRY(mw__search_buffer(k, longest, &ret->buffer));
    return ret->first ? MW_OK : MW_NOMEM();
}

/* One row: its spans one after the other. */
static void span_row(const candidates *c, const mw_view *from, const mw_view *value,
                     const mw_view *place)
{
    int64_t at = 0;
    for (int64_t i = 0; i < c->spans.own_count; i++) {
        const mw_span *span = &c->spans.span[c->spans.own[i]];
        mw_view part = mw__row_element(from, at);
        part.ndim = 1;
        part.shape[0] = span->end - span->first;
        part.stride[0] = from->stride[0];
        mw__search_row r = mw__search_row_of(&part, c->buffer);
        int64_t n = mw__search_first(&r, c->most, c->sign, c->first);
        for (int64_t j = 0; j < n; j++) {
            int64_t to = c->slot[c->spans.own[i]] + j;
            mw_view a = mw__row_element(value, to), b = mw__row_element(&part, c->first[j]);
            mw__view_copy(&a, &b);
            mw_view p = mw__row_element(place, to);
            mw__element_set_i64(p.data, p.dtype, span->first + c->first[j]);
        }
        at += part.shape[0];
    }
}

static mw_status span_topk_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], values = k->out[0], places = k->out[1], from, value, place;
    int64_t index[MW_MAX_DIMS] = {0};
    candidates c = {.most = mw__arg_int(k->call, SPAN_K, 0)};
    int dim;
    MW_TRY(mw__arg_dim(k->call, SPAN_DIM, in.ndim, &dim));
    c.sign = mw__arg_bool(k->call, SPAN_LARGEST, true) ? 1 : -1;
    fill_nothing(&values);
    fill_nothing(&places);
    if (mw__view_count(&values) == 0 || mw__view_count(&in) == 0) return MW_OK;
    MW_TRY(candidates_of(k, dim, values.shape[dim], &c));
    mw__row_take(&in, dim, &from);
    mw__row_take(&values, dim, &value);
    mw__row_take(&places, dim, &place);
    do {
        from.data = mw__row_at(&in, index);
        value.data = mw__row_at(&values, index);
        place.data = mw__row_at(&places, index);
        span_row(&c, &from, &value, &place);
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static const mw_op span_topk = {
    .schema = "meshwise::span_topk(Tensor self, int k, int dim, bool largest, int slots) -> "
              "(Tensor values, Tensor indices)",
    .doc = "The k largest of each span of a dim, and their positions; a part of topk.",
    .reduce = MW_REDUCE_SUM,
    .factors = span_topk_factors,
    .kernel = span_topk_kernel,
};

/* The first of the candidates, under their own names. */
enum { MERGE_K = 2, MERGE_DIM, MERGE_LARGEST };

static mw_status merge_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    int dim;
    MW_TRY(mw__arg_dim(call, MERGE_DIM, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    rule->letter[first + dim].mark = MW_MARK_WHOLE;
    mw__rule_copy(&rule->in[1], 0, &rule->in[0], 0, self->ndim);
    int kept = mw__rule_letter(rule, "q", mw__arg_int(call, MERGE_K, 0), MW_MARK_WHOLE);
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < self->ndim; d++)
            mw__rule_push(&rule->out[o], d == dim ? kept : first + d);
    rule->out_meta[1].dtype = MW_DTYPE_i64;
    return MW_OK;
}

static mw_status merge_kernel(const mw_kernel_call *k)
{
    int dim;
    MW_TRY(mw__arg_dim(k->call, MERGE_DIM, k->in[0].ndim, &dim));
    return run_topk(k, dim, mw__arg_bool(k->call, MERGE_LARGEST, true) ? 1 : -1, &k->in[1]);
}

static const mw_op merge_topk = {
    .schema = "meshwise::merge_topk(Tensor self, Tensor indices, int k, int dim, bool largest) -> "
              "(Tensor values, Tensor indices)",
    .doc = "The k largest of candidates, and what these are called; a part of topk.",
    .factors = merge_factors,
    .kernel = merge_kernel,
};

static mw_status topk_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                            mw_tensor **ret_out)
{
    int dim;
    MW_TRY(mw__arg_dim(call, TOPK_DIM, call->in[0].ndim, &dim));
    int64_t k = mw__arg_int(call, TOPK_K, 0);
    int64_t slots = in->spans(in, operand[0], dim, k);
    mw_value most = mw__val_int(k), at = mw__val_int(dim);
    mw_value largest = mw__val_bool(mw__arg_bool(call, TOPK_LARGEST, true));
    mw_tensor *found[2];
    MW_EMIT_PART(in, span_topk, found, 2, mw__val(operand[0]), most, at, largest,
                 mw__val_int(slots));
    MW_EMIT_PART(in, merge_topk, ret_out, 2, mw__val(found[0]), mw__val(found[1]), most, at,
                 largest);
    return in->status;
}

const mw_op mw_op_topk = {
    .schema =
        "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
        "(Tensor values, Tensor indices)",
    .rule = "self[... dim:d^ ...] -> [... q ...], i64[... q ...]",
    .doc = "The k largest elements along a dim, largest first, and their positions.",
    .factors = topk_factors,
    .kernel = topk_kernel,
    .parts = topk_parts,
    .reductions = 2,
    .samples = "f32[4, 6], 3; f32[5, 3], 2, 0; f64[7], 7; i64[3, 8]<4, 4, 1, false; bf16[2, 9], 1; "
               "f32[2, 3], 0; f32[0, 4], 2; f32[], 1; f32[2, 31], 3, 1; bool[3, 4], 2",
};
