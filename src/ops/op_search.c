/* Searches along a dim: argmax and topk. Both order elements the same way: larger first, NaN before
 * all, and of equal ones the first, so the answer is one answer. Positions are global: a rank that
 * holds a part of the dim gives the whole dim's position of its own best element. */
#include "ops/gemv.h"
#include "ops/op.h"
#include "ops/rule_parts.h"

#include <math.h>

/* A row as contiguous f32, f64 or i64. */
typedef struct row {
    const float *f32;
    const double *f64;
    const int64_t *i64;
    int64_t n;
} row;

static mw_dtype work_dtype(mw_dtype dtype)
{
    if (mw_dtype_kind_of(dtype) != MW_KIND_FLOAT) return MW_DTYPE_i64;
    return dtype == MW_DTYPE_f64 ? MW_DTYPE_f64 : MW_DTYPE_f32;
}

/* `from` as a row, copied into `buffer` (of its elements' working dtype) unless it can be read. */
static row row_of(const mw_view *from, void *buffer)
{
    mw_dtype dtype = work_dtype(from->dtype);
    const void *at = from->data;
    if (from->dtype != dtype || !mw__view_contiguous(from)) {
        mw_view to;
        mw__view_set(&to, dtype, from->ndim, from->shape);
        to.data = buffer;
        mw__view_copy(&to, from);
        at = buffer;
    }
    return (row){dtype == MW_DTYPE_f32 ? at : NULL, dtype == MW_DTYPE_f64 ? at : NULL,
                 dtype == MW_DTYPE_i64 ? at : NULL, mw__view_count(from)};
}

/* Whether element i comes before element j, places aside. `sign` -1: smaller first, NaN last. */
static bool before(const row *r, int64_t i, int64_t j, int sign)
{
    if (r->i64) return sign > 0 ? r->i64[i] > r->i64[j] : r->i64[i] < r->i64[j];
    double a = r->f32 ? (double)r->f32[i] : r->f64[i];
    double b = r->f32 ? (double)r->f32[j] : r->f64[j];
    if (isnan(a) || isnan(b)) return sign > 0 ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return sign > 0 ? a > b : a < b;
}

static int64_t best_of(const row *r)
{
    int64_t best = 0;
    if (r->f32) { /* the long rows: logits. The negation lets a NaN through. */
        for (int64_t i = 1; i < r->n; i++)
            if (!(r->f32[i] <= r->f32[best]) && before(r, i, best, 1)) best = i;
        return best;
    }
    for (int64_t i = 1; i < r->n; i++)
        if (before(r, i, best, 1)) best = i;
    return best;
}

/* The global positions that the shard's positions of dim `dim` are; NULL: the same. */
static mw_status positions_of(const mw_kernel_call *k, int dim, const int64_t **ret)
{
    *ret = NULL;
    if (!k->mesh || !k->in_layout || !k->in_layout[0] || k->in[0].ndim == 0) return MW_OK;
    const mw_range *range;
    int64_t count, at = 0;
    MW_TRY(mw__kernel_ranges(k, k->in_layout[0], dim, k->call->in[0].shape[dim], &range, &count));
    int64_t *position = mw__arena_alloc(k->scratch, (size_t)k->in[0].shape[dim] * sizeof *position);
    if (!position) return MW_NOMEM();
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = range[r].first; i < range[r].end && at < k->in[0].shape[dim]; i++)
            position[at++] = i;
    *ret = position;
    return MW_OK;
}

static int64_t global(const int64_t *position, int64_t at)
{
    return position ? position[at] : at;
}

static void *moved(const mw_view *rest, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < rest->ndim; d++)
        at += index[d] * rest->stride[d];
    return (char *)rest->data + at * mw_dtype_size(rest->dtype);
}

static bool step(int64_t *index, const mw_view *rest)
{
    int d = rest->ndim - 1;
    while (d >= 0 && ++index[d] == rest->shape[d])
        index[d--] = 0;
    return d >= 0;
}

static mw_status new_buffer(const mw_kernel_call *k, int64_t n, void **ret)
{
    *ret = mw__arena_alloc(k->scratch, (size_t)(n * mw_dtype_size(work_dtype(k->in[0].dtype))));
    return *ret ? MW_OK : MW_NOMEM();
}

/* ---- argmax ------------------------------------------------------------------------------------
 */

static mw_status argmax_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    char text[MW_META_TEXT];
    bool all = call->arg[1].kind == MW_ARG_NONE, keep = mw__arg_bool(call, 2, false);
    int dim = -1;
    if (!all) MW_TRY(mw__arg_dim(call, 1, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < self->ndim; d++) {
        bool searched = all || d == dim;
        if (searched && self->shape[d] == 0)
            return MW_FAIL(MW_ERR_SHAPE, "argmax: self is %s: there is no element to choose",
                           mw__meta_text(self, text));
        if (searched) rule->letter[first + d].mark = MW_MARK_PARTS;
        if (!searched || keep) mw__rule_push(&rule->out[0], searched ? -1 : first + d);
    }
    return MW_OK;
}

/* The position in the flattened whole tensor of an element of the flattened shard. */
static mw_status flat_position(const mw_kernel_call *k, int64_t at, int64_t *ret)
{
    const mw_view *in = &k->in[0];
    int64_t stride = 1;
    *ret = 0;
    for (int d = in->ndim - 1; d >= 0; d--) {
        const int64_t *position;
        MW_TRY(positions_of(k, d, &position));
        *ret += global(position, at % in->shape[d]) * stride;
        at /= in->shape[d];
        stride *= k->call->in[0].shape[d];
    }
    return MW_OK;
}

/* An empty shard of a row has no candidate: -1. */
static mw_status argmax_all(const mw_kernel_call *k)
{
    int64_t n = mw__view_count(&k->in[0]), *to = k->out[0].data;
    void *buffer;
    *to = -1;
    if (n == 0) return MW_OK;
    MW_TRY(new_buffer(k, n, &buffer));
    row r = row_of(&k->in[0], buffer);
    return flat_position(k, best_of(&r), to);
}

static mw_status argmax_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], from;
    int64_t index[MW_MAX_DIMS] = {0}, *to = k->out[0].data;
    const int64_t *position;
    void *buffer;
    int dim;
    if (mw__view_count(&k->out[0]) == 0) return MW_OK;
    if (k->call->arg[1].kind == MW_ARG_NONE) return argmax_all(k);
    MW_TRY(mw__arg_dim(k->call, 1, in.ndim, &dim));
    MW_TRY(positions_of(k, dim, &position));
    mw__row_take(&in, dim, &from);
    MW_TRY(new_buffer(k, from.shape[0], &buffer));
    do { /* the result is contiguous, and without the dim in the order of the rest */
        from.data = from.shape[0] > 0 ? moved(&in, index) : NULL;
        row r = row_of(&from, buffer);
        *to++ = r.n > 0 ? global(position, best_of(&r)) : -1;
    } while (step(index, &in));
    return MW_OK;
}

const mw_op mw_op_argmax = {
    .schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "The position of the largest element, the first of equal ones, along a dim or of all.",
    .dtype = MW_OUT_INDEX,
    .factors = argmax_factors,
    .kernel = argmax_kernel,
    .samples = "f32[4, 6], 1; f32[3, 5, 2], 0, true; f64[7]; i64[3, 8]<4, -1; bf16[2, 9], 1; "
               "f32[2, 3], none, true; f32[0, 4], 1; bool[3, 4], 0",
};

/* ---- topk --------------------------------------------------------------------------------------
 */

enum { TOPK_K = 1, TOPK_DIM, TOPK_LARGEST };

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
    if (self->ndim > 0) rule->letter[first + dim].mark = MW_MARK_PARTS;
    int kept = mw__rule_letter(rule, "q", k, MW_MARK_WHOLE);
    for (int o = 0; o < 2; o++)
        for (int d = 0; d < self->ndim; d++)
            mw__rule_push(&rule->out[o], d == dim ? kept : first + d);
    rule->out_meta[1].dtype = MW_DTYPE_i64;
    return MW_OK;
}

/* The first `k` of the row in order, into ret[k]. `kept` stays sorted; most elements are turned
 * away by one comparison with its last. */
static void first_of(const row *r, int64_t k, int sign, int64_t *ret)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < r->n && k > 0; i++) {
        if (kept == k && !before(r, i, ret[k - 1], sign)) continue;
        int64_t at = kept < k ? kept++ : k - 1;
        for (; at > 0 && before(r, i, ret[at - 1], sign); at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
}

static mw_status topk_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], values = k->out[0], places = k->out[1], from, value, place;
    int64_t index[MW_MAX_DIMS] = {0};
    const int64_t *position;
    void *buffer;
    int dim, sign = mw__arg_bool(k->call, TOPK_LARGEST, true) ? 1 : -1;
    MW_TRY(mw__arg_dim(k->call, TOPK_DIM, in.ndim, &dim));
    if (mw__view_count(&values) == 0) return MW_OK;
    MW_TRY(positions_of(k, dim, &position));
    mw__row_take(&in, dim, &from);
    mw__row_take(&values, dim, &value);
    mw__row_take(&places, dim, &place);
    int64_t n = value.shape[0];
    if (from.shape[0] < n)
        return MW_FAIL(MW_ERR_INTERNAL, "topk: %lld elements on this rank, and %lld are wanted",
                       (long long)from.shape[0], (long long)n);
    int64_t *first = mw__arena_alloc(k->scratch, (size_t)n * sizeof *first);
    if (!first) return MW_NOMEM();
    MW_TRY(new_buffer(k, from.shape[0], &buffer));
    do {
        from.data = moved(&in, index);
        value.data = moved(&values, index);
        int64_t *to = moved(&places, index);
        row r = row_of(&from, buffer);
        first_of(&r, n, sign, first);
        for (int64_t i = 0; i < n; i++) {
            mw_view a = {(char *)value.data + i * value.stride[0] * mw_dtype_size(value.dtype),
                         value.dtype,
                         0,
                         {0},
                         {0}};
            mw_view b = {(char *)from.data + first[i] * from.stride[0] * mw_dtype_size(from.dtype),
                         from.dtype,
                         0,
                         {0},
                         {0}};
            mw__view_copy(&a, &b);
            to[i * place.stride[0]] = global(position, first[i]);
        }
    } while (step(index, &in));
    return MW_OK;
}

const mw_op mw_op_topk = {
    .schema =
        "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
        "(Tensor values, Tensor indices)",
    .rule = "self[... dim:d^ ...] -> [... q ...], i64[... q ...]",
    .doc = "The k largest elements along a dim, largest first, and their positions.",
    .factors = topk_factors,
    .kernel = topk_kernel,
    .samples = "f32[4, 6], 3; f32[5, 3], 2, 0; f64[7], 7; i64[3, 8]<4, 4, 1, false; bf16[2, 9], 1; "
               "f32[2, 3], 0; f32[0, 4], 2; f32[], 1",
};
