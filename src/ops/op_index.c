/* Look-ups and stores by index. Where the dim that is indexed is sharded, a rank reads the rows
 * that it holds and leaves -0.0, the identity of addition, in the places of the others: the sum
 * over the ranks is the look-up, and no table moves. An index outside the whole dim is an error on
 * every rank that sees it, whoever would hold the row. */
#include "ops/held.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

/* ---- what all of them share --------------------------------------------------------------------
 */

/* `view` at position `at` of dim `dim`, without that dim. */
static mw_view select_at(const mw_view *view, int dim, int64_t at)
{
    mw_view part = *view;
    if (part.data)
        part.data = (char *)part.data + at * view->stride[dim] * mw_dtype_size(view->dtype);
    part.ndim--;
    for (int d = dim; d < part.ndim; d++) {
        part.shape[d] = view->shape[d + 1];
        part.stride[d] = view->stride[d + 1];
    }
    return part;
}

/* Fills with the identity of addition. */
static void fill_nothing(const mw_view *to)
{
    uint64_t element = 0;
    mw__element_set(&element, to->dtype, -0.0);
    mw_view from = *to;
    from.data = &element;
    memset(from.stride, 0, sizeof from.stride);
    mw__view_copy(to, &from);
}

/* Copies a row, or -0.0 where `at` is -1, between views of equal shape. */
static void copy_part(const mw_view *to, const mw_view *from, int dim, int64_t at)
{
    if (at < 0) {
        fill_nothing(to);
        return;
    }
    mw_view part = select_at(from, dim, at);
    if (part.ndim == 1 && part.dtype == to->dtype && part.stride[0] == 1 && to->stride[0] == 1) {
        if (part.shape[0] > 0)
            memcpy(to->data, part.data, (size_t)(part.shape[0] * mw_dtype_size(part.dtype)));
        return;
    }
    mw__view_copy(to, &part);
}

/* ---- embedding ---------------------------------------------------------------------------------
 */

static mw_status embedding_kernel(const mw_kernel_call *k)
{
    const mw_view *weight = &k->in[0];
    mw__held rows;
    const int64_t *index;
    int64_t count;
    MW_TRY(mw__held_of(k, 0, 0, &rows));
    MW_TRY(mw__held_indices(k, 1, rows.size, false, "the table", &index, &count));
    mw_view out; /* [count, d]: the result is contiguous */
    mw__view_set(&out, k->out[0].dtype, 2, (int64_t[]){count, weight->shape[1]});
    out.data = k->out[0].data;
    for (int64_t i = 0; i < count; i++) {
        mw_view to = select_at(&out, 0, i);
        copy_part(&to, weight, 0, mw__held_local(&rows, index[i]));
    }
    return MW_OK;
}

const mw_op mw_op_embedding = {
    .schema = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
              "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    .rule = "weight[v d], indices[...] -> [... d]",
    .doc = "The rows of weight that indices name.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .monotone_in = MW_ARG(0),
    .kernel = embedding_kernel,
    .samples =
        "f32[7, 4], i64[3]<7; f32[9, 5], i64[2, 3]<9; bf16[6, 8], i32[4]<6; "
        "f64[5, 3], i64[]<5; f16[4, 1], i64[2, 2]<4; f32[5, 3], i64[0]<5; f32[5, 0], i64[2]<5",
};

/* ---- index_select ------------------------------------------------------------------------------
 */

/* A sum over ranks is no look-up for bool: there the dim must be whole. */
static void whole_for_bool(const mw_call_args *call, int dim, mw_rule *rule)
{
    const mw_operand *self = &rule->in[0];
    if (call->in[0].dtype == MW_DTYPE_bool && self->nletter[dim] > 0)
        rule->letter[self->letter[dim][0]].mark = MW_MARK_WHOLE;
}

static mw_status index_select_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    int dim;
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, &dim));
    MW_TRY(mw__rule_default(call, rule));
    whole_for_bool(call, dim, rule);
    return MW_OK;
}

static mw_status index_select_kernel(const mw_kernel_call *k)
{
    int dim;
    mw__held rows;
    const int64_t *index;
    int64_t count;
    MW_TRY(mw__arg_dim(k->call, 1, k->in[0].ndim, &dim));
    MW_TRY(mw__held_of(k, 0, dim, &rows));
    MW_TRY(mw__held_indices(k, 1, rows.size, false, "the dim", &index, &count));
    for (int64_t i = 0; i < count; i++) {
        mw_view to = select_at(&k->out[0], dim, i);
        copy_part(&to, &k->in[0], dim, mw__held_local(&rows, index[i]));
    }
    return MW_OK;
}

const mw_op mw_op_index_select = {
    .schema = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    .rule = "self[... dim:d ...], index[i] -> [... i ...]",
    .doc = "The parts of self that index names along a dim.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0),
    .factors = index_select_factors,
    .monotone = 1,
    .monotone_in = MW_ARG(0),
    .refuses = MW_REFUSES_TRUTH,
    .kernel = index_select_kernel,
    .samples = "f32[7, 4], 0, i64[3]<7; f32[3, 5, 2], 1, i64[8]<5; bf16[4, 6], -1, i32[2]<6; "
               "i64[5], 0, i64[3]<5; bool[4, 3], 1, i64[5]<3; f32[0, 3], 1, i64[2]<3; "
               "f32[4, 3], 0, i64[0]<4",
};

/* ---- gather ------------------------------------------------------------------------------------
 */

static mw_status gather_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0], *index = &call->in[1];
    char text[2][MW_META_TEXT];
    int dim;
    MW_TRY(mw__arg_dim(call, 1, self->ndim, &dim));
    bool fits = self->ndim == index->ndim;
    for (int d = 0; fits && d < self->ndim; d++)
        fits = d == dim || index->shape[d] <= self->shape[d];
    if (!fits)
        return MW_FAIL(MW_ERR_SHAPE,
                       "gather: self is %s and index %s: index needs as many dims, none but dim %d "
                       "longer than in self",
                       mw__meta_text(self, text[0]), mw__meta_text(index, text[1]), dim);
    for (int d = 0; d < self->ndim; d++) {
        /* where index is shorter its positions are the first ones of self: neither may be cut */
        bool shared = d != dim && self->shape[d] == index->shape[d];
        mw_mark mark = d == dim || shared ? MW_MARK_FREE : MW_MARK_WHOLE;
        int letter = mw__rule_letter_nth(rule, "d", d, self->shape[d], mark);
        mw__rule_put(&rule->in[0], d, letter);
        if (!shared) letter = mw__rule_letter_nth(rule, "i", d, index->shape[d], mark);
        mw__rule_put(&rule->in[1], d, letter);
        mw__rule_push(&rule->out[0], letter);
    }
    if (self->ndim > 0) whole_for_bool(call, dim, rule);
    return MW_OK;
}

static mw_status gather_kernel(const mw_kernel_call *k)
{
    const mw_view *self = &k->in[0], *out = &k->out[0];
    mw__held rows = {.size = 1};
    const int64_t *index;
    int64_t count, at[MW_MAX_DIMS] = {0}, size = mw_dtype_size(self->dtype);
    int dim;
    MW_TRY(mw__arg_dim(k->call, 1, self->ndim, &dim));
    if (self->ndim > 0) MW_TRY(mw__held_of(k, 0, dim, &rows));
    MW_TRY(mw__held_indices(k, 1, rows.size, false, "the dim", &index, &count));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = self->ndim > 0 ? mw__held_local(&rows, index[i]) : 0, from = 0;
        for (int d = 0; d < self->ndim; d++)
            from += (d == dim ? row : at[d]) * self->stride[d];
        mw_view to = {(char *)out->data + i * mw_dtype_size(out->dtype), out->dtype, 0, {0}, {0}};
        mw_view like = {NULL, self->dtype, 0, {0}, {0}};
        if (row < 0) {
            fill_nothing(&to);
        } else {
            like.data = (char *)self->data + from * size;
            mw__view_copy(&to, &like);
        }
        for (int d = out->ndim - 1; d >= 0 && ++at[d] == out->shape[d]; d--)
            at[d] = 0;
    }
    return MW_OK;
}

const mw_op mw_op_gather = {
    .schema =
        "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    .rule = "self[... dim:d ...], index[... dim:i ...] -> [... i ...]",
    .doc = "The elements of self that index names along a dim, place by place.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0),
    .factors = gather_factors,
    .monotone = 1,
    .monotone_in = MW_ARG(0),
    .refuses = MW_REFUSES_TRUTH,
    .kernel = gather_kernel,
    .samples =
        "f32[4, 6], 1, i64[4, 3]<6; f32[5, 3, 2], 0, i64[7, 3, 2]<5; "
        "f64[4, 6], 1, i64[2, 3]<6; bf16[4, 6], -1, i64[4, 9]<6; bool[3, 4], 0, i64[2, 4]<3; "
        "f32[0, 4], 1, i64[0, 2]<4; i64[6], 0, i64[4]<6",
};

/* ---- index_copy_ -------------------------------------------------------------------------------
 */

static mw_status index_copy_kernel(const mw_kernel_call *k)
{
    int dim;
    const int64_t *index;
    int64_t count;
    MW_TRY(mw__arg_dim(k->call, 1, k->out[0].ndim, &dim));
    MW_TRY(mw__held_indices(k, 1, k->out[0].shape[dim], false, "the dim", &index, &count));
    for (int64_t i = 0; i < count; i++) {
        mw_view to = select_at(&k->out[0], dim, index[i]);
        copy_part(&to, &k->in[2], dim, i);
    }
    return MW_OK;
}

const mw_op mw_op_index_copy_ = {
    .schema =
        "aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
    .rule = "self[... dim:d* ...], index[i*], source[... dim:i* ...] -> [... d* ...]",
    .doc = "Writes the parts of source into self at the places that index names along a dim.",
    .same_dtype = MW_ARG(0) | MW_ARG(3),
    .refuses = MW_REFUSES_WRITTEN,
    .kernel = index_copy_kernel,
    .samples = "f32[7, 4], 0, i64[2]<7, f32[2, 4]; f32[3, 5, 2], 1, i64[1]<5, f32[3, 1, 2]; "
               "bf16[4, 6], -1, i64[3]<6, bf16[4, 3]; i64[5], 0, i64[2]<5, i64[2]; "
               "f32[4, 3], 0, i64[0]<4, f32[0, 3]; f32[0, 3], 1, i64[2]<3, f32[0, 2]",
};
