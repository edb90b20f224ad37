/* Stores by index into a copy: scatter, scatter_add, index_add, index_put.
 *
 * Where the dim that is written to is sharded, a rank writes the places that it holds and passes
 * over the others: nothing of self moves. What is added (not stored) may itself be sharded along
 * its entries: each rank adds its own, and the sum over the ranks is the result, with self counted
 * once. Stores can't be shared out so: of two to one place the last one counts. */
#include "ops/held.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#define MW_REFUSES_STORED                                                         \
    "*P(m*)* -> P(m*): what is stored or added to is combined first; "            \
    "*P(avg)* -> P(avg): a mean passes where a sum does, after a free division; " \
    "R, S(*) -> P(max): a number stored by any of the ranks, of bools; "          \
    "*P(sum)* -> P(sum): where what is stored is a number, or in places that ranks hold alike"

/* ---- elements ----------------------------------------------------------------------------------
 */

/* Adds `times` times the element at `from` to that at `to`; floats in double, integers with
 * wraparound. */
static void add_element(void *to, mw_dtype dtype, const void *from, mw_dtype from_dtype,
                        double times, int64_t whole_times)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT) {
        double more = mw__element_get(from, from_dtype);
        if (times != 1) more *= times;
        mw__element_set(to, dtype, mw__element_get(to, dtype) + more);
        return;
    }
    uint64_t sum = (uint64_t)mw__element_get_i64(to, dtype) +
                   (uint64_t)whole_times * (uint64_t)mw__element_get_i64(from, from_dtype);
    mw__element_set_i64(to, dtype, (int64_t)sum);
}

static void store_element(void *to, mw_dtype dtype, const void *from, mw_dtype from_dtype)
{
    if (dtype == from_dtype)
        memcpy(to, from, (size_t)mw_dtype_size(dtype));
    else
        mw__element_set(to, dtype, mw__element_get(from, from_dtype));
}

static void *element(const mw_view *v, int64_t at)
{
    return (char *)v->data + at * mw_dtype_size(v->dtype);
}

/* What is written to: the result, which begins as self (in place it is self). Sums in a narrow
 * float are taken in f64 and rounded once, by `finish`. */
static mw_status begin(const mw_kernel_call *k, bool add, mw_view *ret)
{
    const mw_view *out = &k->out[0];
    *ret = *out;
    bool wide = add && (out->dtype == MW_DTYPE_f16 || out->dtype == MW_DTYPE_bf16);
    if (wide) {
        size_t size = (size_t)MW_MAX(mw__view_count(out), 1) * sizeof(double);
        mw__view_set(ret, MW_DTYPE_f64, out->ndim, out->shape);
        ret->data = mw__arena_alloc(k->scratch, size);
        if (!ret->data) return MW_NOMEM();
    }
    if (ret->data != k->in[0].data) mw__view_copy(ret, &k->in[0]);
    return MW_OK;
}

static mw_status finish(const mw_kernel_call *k, const mw_view *written)
{
    if (written->data != k->out[0].data) mw__view_copy(&k->out[0], written);
    return MW_OK;
}

static mw_status need_numbers(const mw_call_args *call, int operand)
{
    char text[MW_META_TEXT];
    if (call->in[operand].dtype != MW_DTYPE_bool) return MW_OK;
    return MW_FAIL(MW_ERR_ARG, "%s: %s is %s: bools are not added", mw__call_name(call),
                   mw__operand_name(call, operand), mw__meta_text(&call->in[operand], text));
}

static mw_status need_ints(const mw_call_args *call, int operand)
{
    char text[MW_META_TEXT];
    if (mw_dtype_kind_of(call->in[operand].dtype) == MW_KIND_INT) return MW_OK;
    return MW_FAIL(MW_ERR_ARG, "%s: %s is %s: it must hold integers", mw__call_name(call),
                   mw__operand_name(call, operand), mw__meta_text(&call->in[operand], text));
}

/* Self is one term of the sum, what is written the other. */
static void two_terms(mw_rule *rule)
{
    rule->nterm = 2;
    for (int i = 1; i < rule->nin; i++)
        rule->in[i].term = 1;
}

/* ---- scatter -----------------------------------------------------------------------------------
 */

enum { SCATTER_DIM = 1, SCATTER_SRC = 3 };

static mw_status scatter_shapes(const mw_call_args *call, int dim)
{
    const mw_meta *self = &call->in[0], *index = &call->in[1], *src = &call->in[call->nin - 1];
    char text[3][MW_META_TEXT];
    bool fits = self->ndim == index->ndim && (call->nin < 3 || src->ndim == index->ndim);
    for (int d = 0; fits && d < self->ndim; d++)
        fits = (d == dim || index->shape[d] <= self->shape[d]) &&
               (call->nin < 3 || index->shape[d] <= src->shape[d]);
    if (fits) return MW_OK;
    return MW_FAIL(
        MW_ERR_SHAPE,
        "%s: self is %s, index %s, src %s: index needs as many dims, longer than self in "
        "none but dim %d and than src in none",
        mw__call_name(call), mw__meta_text(self, text[0]), mw__meta_text(index, text[1]),
        call->nin < 3 ? "a number" : mw__meta_text(src, text[2]), dim);
}

/* Letters of a dim that all three share, or of one where index names only its first part. */
static void scatter_letters(const mw_call_args *call, mw_rule *rule, int d, int dim, bool add)
{
    const mw_meta *self = &call->in[0], *index = &call->in[1];
    bool src = call->nin > 2, whole_src = !src || call->in[2].shape[d] == index->shape[d];
    bool shared = d != dim && self->shape[d] == index->shape[d] && whole_src;
    int letter = mw__rule_letter_nth(rule, "d", d, self->shape[d],
                                     shared || d == dim ? MW_MARK_FREE : MW_MARK_WHOLE);
    mw__rule_put(&rule->in[0], d, letter);
    mw__rule_push(&rule->out[0], letter);
    mw_mark entries = add && d == dim && whole_src ? MW_MARK_FREE : MW_MARK_WHOLE;
    if (!shared) letter = mw__rule_letter_nth(rule, "i", d, index->shape[d], entries);
    mw__rule_put(&rule->in[1], d, letter);
    if (src && !whole_src)
        letter = mw__rule_letter_nth(rule, "s", d, call->in[2].shape[d], MW_MARK_WHOLE);
    if (src) mw__rule_put(&rule->in[2], d, letter);
}

static mw_status scatter_rule(const mw_call_args *call, mw_rule *rule, bool add)
{
    int dim;
    MW_TRY(mw__arg_dim(call, SCATTER_DIM, call->in[0].ndim, &dim));
    MW_TRY(need_ints(call, 1));
    if (add) MW_TRY(need_numbers(call, 0));
    MW_TRY(scatter_shapes(call, dim));
    for (int d = 0; d < call->in[0].ndim; d++)
        scatter_letters(call, rule, d, dim, add);
    two_terms(rule);
    if (!add) rule->reduce = MW_REDUCE_NONE;
    return MW_OK;
}

/* The number that scatter.value stores, in the dtype of what it is stored into. */
static mw_view number_view(const mw_kernel_call *k, mw_dtype dtype, int64_t *space)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
        mw__element_set(space, dtype, mw__arg_float(k->call, SCATTER_SRC, 0));
    else
        mw__element_set_i64(space, dtype, mw__arg_int(k->call, SCATTER_SRC, 0));
    return (mw_view){.data = space, .dtype = dtype, .ndim = k->out[0].ndim};
}

static mw_status scatter_run(const mw_kernel_call *k, bool add)
{
    const mw_view *index_view = &k->in[1];
    mw__held rows = {.size = 1};
    const int64_t *index;
    int64_t count, at[MW_MAX_DIMS] = {0}, number[2];
    int dim;
    mw_view out;
    MW_TRY(begin(k, add, &out));
    mw_view src = k->nin > 2 ? k->in[2] : number_view(k, out.dtype, number);
    MW_TRY(mw__arg_dim(k->call, SCATTER_DIM, out.ndim, &dim));
    if (out.ndim > 0) MW_TRY(mw__held_of(k, 0, dim, &rows));
    MW_TRY(mw__held_indices(k, 1, rows.size, false, "the dim", &index, &count));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = out.ndim > 0 ? mw__held_local(&rows, index[i]) : 0, to = 0, from = 0;
        for (int d = 0; d < out.ndim; d++) {
            to += (d == dim ? row : at[d]) * out.stride[d];
            from += at[d] * src.stride[d];
        }
        if (row >= 0 && add)
            add_element(element(&out, to), out.dtype, element(&src, from), src.dtype, 1, 1);
        else if (row >= 0)
            store_element(element(&out, to), out.dtype, element(&src, from), src.dtype);
        for (int d = out.ndim - 1; d >= 0 && ++at[d] == index_view->shape[d]; d--)
            at[d] = 0;
    }
    return finish(k, &out);
}

#define SCATTERS(word, adds)                                                                  \
    static mw_status word##_kernel(const mw_kernel_call *k)                                   \
    {                                                                                         \
        return scatter_run(k, adds);                                                          \
    }                                                                                         \
    static mw_status word##_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule) \
    {                                                                                         \
        (void)arena;                                                                          \
        return scatter_rule(call, rule, adds);                                                \
    }

SCATTERS(scatter, false)
SCATTERS(scatter_add, true)

const mw_op mw_op_scatter_src = {
    .schema = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .rule = "self[... dim:d ...] + index[... dim:i* ...] src[... dim:i* ...] -> [... d ...]",
    .doc = "A copy of self with elements of src stored where index says along a dim.",
    .linear_in = MW_ARG(0) | MW_ARG(3),
    .same_dtype = MW_ARG(0) | MW_ARG(3),
    .factors = scatter_factors,
    .refuses = MW_REFUSES_STORED,
    .kernel = scatter_kernel,
    .samples = "f32[4, 6], 1, i64[4, 3]<6, f32[4, 3]; f32[5, 3], 0, i64[7, 3]<5, f32[7, 3]; "
               "f64[4, 6], -1, i64[2, 3]<6, f64[3, 5]; bf16[6], 0, i64[4]<6, bf16[4]; "
               "bool[3, 4], 0, i64[2, 4]<3, bool[2, 4]; i64[5], 0, i32[3]<5, i64[3]; "
               "f32[3, 4], 1, i64[3, 0]<4, f32[3, 0]",
};

const mw_op mw_op_scatter_value = {
    .schema = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    .rule = "self[... dim:d ...] + index[... dim:i* ...] -> [... d ...]",
    .doc = "A copy of self with a number stored where index says along a dim.",
    .factors = scatter_factors,
    .refuses = MW_REFUSES_STORED,
    .kernel = scatter_kernel,
    .samples = "f32[4, 6], 1, i64[4, 3]<6, 0.5; f32[5, 3], 0, i64[7, 3]<5, 2; "
               "f64[4, 6], -1, i64[2, 3]<6, -1; bf16[6], 0, i64[4]<6, 3; "
               "bool[3, 4], 0, i64[2, 4]<3, true; i64[5], 0, i64[3]<5, 7; f32[3, 4], 1, "
               "i64[3, 0]<4, 1",
};

const mw_op mw_op_scatter_add = {
    .schema = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    .rule = "self[... dim:d ...] + index[... dim:i ...] src[... dim:i ...] -> [... d ...]",
    .doc = "A copy of self with elements of src added where index says along a dim.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(3),
    .same_dtype = MW_ARG(0) | MW_ARG(3),
    .factors = scatter_add_factors,
    .refuses = MW_REFUSES_STORED,
    .kernel = scatter_add_kernel,
    .samples = "f32[4, 6], 1, i64[4, 3]<6, f32[4, 3]; f32[5, 3], 0, i64[7, 3]<5, f32[7, 3]; "
               "f64[4, 6], -1, i64[2, 3]<6, f64[3, 5]; bf16[6], 0, i64[4]<6, bf16[4]; "
               "i64[5], 0, i32[8]<5, i64[8]; f32[3, 4], 1, i64[3, 0]<4, f32[3, 0]",
};

/* ---- index_add ---------------------------------------------------------------------------------
 */

/* `view` at position `at` of dim `dim`, without that dim. */
static mw_view part_at(const mw_view *view, int dim, int64_t at)
{
    mw_view part = *view;
    part.data = element(view, at * view->stride[dim]);
    part.ndim--;
    for (int d = dim; d < part.ndim; d++) {
        part.shape[d] = view->shape[d + 1];
        part.stride[d] = view->stride[d + 1];
    }
    return part;
}

/* Adds (or stores) `from`, of the same shape, to `to`. */
static void put_part(const mw_view *to, const mw_view *from, bool add, double times,
                     int64_t whole_times)
{
    int64_t at[MW_MAX_DIMS] = {0}, count = mw__view_count(to);
    for (int64_t i = 0; i < count; i++) {
        int64_t a = 0, b = 0;
        for (int d = 0; d < to->ndim; d++) {
            a += at[d] * to->stride[d];
            b += at[d] * from->stride[d];
        }
        if (add)
            add_element(element(to, a), to->dtype, element(from, b), from->dtype, times,
                        whole_times);
        else
            store_element(element(to, a), to->dtype, element(from, b), from->dtype);
        for (int d = to->ndim - 1; d >= 0 && ++at[d] == to->shape[d]; d--)
            at[d] = 0;
    }
}

static mw_status index_add_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(need_numbers(call, 0));
    MW_TRY(need_ints(call, 1));
    return mw__rule_default(call, rule);
}

static mw_status index_add_kernel(const mw_kernel_call *k)
{
    int dim;
    mw__held rows;
    const int64_t *index;
    int64_t count;
    mw_view out;
    MW_TRY(begin(k, true, &out));
    MW_TRY(mw__arg_dim(k->call, 1, out.ndim, &dim));
    MW_TRY(mw__held_of(k, 0, dim, &rows));
    MW_TRY(mw__held_indices(k, 1, rows.size, false, "the dim", &index, &count));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = mw__held_local(&rows, index[i]);
        if (row < 0) continue;
        mw_view to = part_at(&out, dim, row), from = part_at(&k->in[2], dim, i);
        put_part(&to, &from, true, mw__arg_float(k->call, 4, 1), mw__arg_int(k->call, 4, 1));
    }
    return finish(k, &out);
}

const mw_op mw_op_index_add = {
    .schema = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar "
              "alpha=1) -> Tensor",
    .rule = "self[... dim:d ...] + index[i] source[... dim:i ...] -> [... d ...]",
    .doc = "A copy of self with alpha times the parts of source added at the places that index "
           "names along a dim.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(3),
    .same_dtype = MW_ARG(0) | MW_ARG(3),
    .factors = index_add_factors,
    .refuses = MW_REFUSES_STORED,
    .kernel = index_add_kernel,
    .samples = "f32[7, 4], 0, i64[9]<7, f32[9, 4]; f32[3, 5, 2], 1, i64[4]<5, f32[3, 4, 2], "
               "alpha=0.5; bf16[4, 6], -1, i64[3]<6, bf16[4, 3]; i64[5], 0, i32[6]<5, i64[6], "
               "alpha=3; f32[4, 3], 0, i64[0]<4, f32[0, 3]; f32[0, 3], 1, i64[2]<3, f32[0, 2]",
};

/* ---- index_put ---------------------------------------------------------------------------------
 * self[i0, i1, ...] = values: index k names positions of dim k of self; the indices are broadcast
 * to a common shape, and values to that shape and the dims behind the indexed ones. */

enum { PUT_INDICES = 1, PUT_VALUES, PUT_ADDS };

typedef struct put {
    int n;    /* indices */
    int nj;   /* dims of their common shape */
    int rest; /* dims of self behind the indexed ones */
    int64_t j[MW_MAX_DIMS];
    bool add;
} put;

static mw_status put_of(const mw_call_args *call, put *ret)
{
    char text[2][MW_META_TEXT];
    const mw_meta *self = &call->in[0], *values = &call->in[call->nin - 1];
    *ret = (put){.n = call->arg[PUT_INDICES].count, .add = mw__arg_bool(call, PUT_ADDS, false)};
    if (ret->n < 1 || ret->n > self->ndim)
        return MW_FAIL(MW_ERR_SHAPE, "%s: %d indices for self %s: one for each of its first dims",
                       mw__call_name(call), ret->n, mw__meta_text(self, text[0]));
    ret->rest = self->ndim - ret->n;
    for (int i = 1; i <= ret->n; i++)
        ret->nj = MW_MAX(ret->nj, call->in[i].ndim);
    for (int d = 0; d < ret->nj; d++)
        ret->j[d] = 1;
    for (int i = 1; i <= ret->n; i++) {
        MW_TRY(need_ints(call, i));
        for (int d = 0; d < call->in[i].ndim; d++) {
            int64_t size = call->in[i].shape[d], *to = &ret->j[ret->nj - call->in[i].ndim + d];
            if (size != 1 && *to != 1 && *to != size)
                return MW_FAIL(MW_ERR_SHAPE, "%s: indices %s and %s do not broadcast",
                               mw__call_name(call), mw__meta_text(&call->in[1], text[0]),
                               mw__meta_text(&call->in[i], text[1]));
            if (*to == 1) *to = size;
        }
    }
    int all = ret->nj + ret->rest, lead = all - values->ndim;
    bool fits = lead >= 0 && all <= MW_MAX_DIMS;
    for (int d = 0; fits && d < values->ndim; d++) {
        int at = lead + d;
        int64_t size = at < ret->nj ? ret->j[at] : self->shape[ret->n + at - ret->nj];
        fits = values->shape[d] == 1 || values->shape[d] == size;
    }
    if (fits) return MW_OK;
    return MW_FAIL(
        MW_ERR_SHAPE, "%s: values %s do not broadcast to what the indices name of self %s",
        mw__call_name(call), mw__meta_text(values, text[0]), mw__meta_text(self, text[1]));
}

static void put_letter(mw_operand *operand, const mw_meta *meta, int dim, int letter)
{
    if (dim >= 0 && meta->shape[dim] != 1) mw__rule_put(operand, dim, letter);
}

static mw_status put_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    put p;
    MW_TRY(put_of(call, &p));
    if (p.add) MW_TRY(need_numbers(call, 0));
    const mw_meta *self = &call->in[0], *values = &call->in[call->nin - 1];
    mw_operand *to = &rule->in[call->nin - 1];
    int lead = p.nj + p.rest - values->ndim;
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < self->ndim; d++) {
        mw__rule_push(&rule->out[0], first + d);
        if (d >= p.n) put_letter(to, values, p.nj + d - p.n - lead, first + d);
    }
    for (int d = 0; d < p.nj; d++) {
        if (p.j[d] == 1) continue;
        int letter =
            mw__rule_letter_nth(rule, "j", d, p.j[d], p.add ? MW_MARK_FREE : MW_MARK_WHOLE);
        for (int i = 1; i <= p.n; i++)
            put_letter(&rule->in[i], &call->in[i], d - (p.nj - call->in[i].ndim), letter);
        put_letter(to, values, d - lead, letter);
    }
    two_terms(rule);
    if (!p.add) rule->reduce = MW_REDUCE_NONE;
    return MW_OK;
}

/* The offset of entry `at` of dims `of` broadcast from `v`'s first n dims, the last of which is the
 * last of `at`. */
static int64_t entry_of(const mw_view *v, int n, const int64_t *at, int of)
{
    int64_t offset = 0;
    for (int d = 0; d < n; d++)
        if (v->shape[d] != 1) offset += at[of - n + d] * v->stride[d];
    return offset;
}

/* The part of self that entry `at` names; false: another rank has it. */
static bool part_named(const mw_kernel_call *k, const put *p, const mw__held *rows,
                       const int64_t *const *index, const int64_t *at, const mw_view *out,
                       mw_view *ret)
{
    int64_t to = 0;
    for (int i = 0; i < p->n; i++) {
        mw_view flat;
        mw__view_set(&flat, MW_DTYPE_i64, k->in[i + 1].ndim, k->in[i + 1].shape);
        int64_t row = mw__held_local(&rows[i], index[i][entry_of(&flat, flat.ndim, at, p->nj)]);
        if (row < 0) return false;
        to += row * out->stride[i];
    }
    *ret = (mw_view){.data = element(out, to), .dtype = out->dtype, .ndim = p->rest};
    for (int d = 0; d < p->rest; d++) {
        ret->shape[d] = out->shape[p->n + d];
        ret->stride[d] = out->stride[p->n + d];
    }
    return true;
}

/* What is written there: as `like`, broadcast from the values. */
static mw_view part_written(const mw_view *values, const put *p, const int64_t *at,
                            const mw_view *like)
{
    mw_view part = *like;
    int lead = p->nj + p->rest - values->ndim, nj = MW_MAX(p->nj - lead, 0);
    part.data = element(values, entry_of(values, nj, at, p->nj));
    for (int d = 0; d < p->rest; d++) {
        int v = p->nj + d - lead;
        part.stride[d] = v >= 0 && values->shape[v] != 1 ? values->stride[v] : 0;
    }
    return part;
}

static mw_status put_kernel(const mw_kernel_call *k)
{
    put p;
    mw__held rows[MW_MAX_DIMS];
    const int64_t *index[MW_MAX_DIMS];
    int64_t j[MW_MAX_DIMS], at[MW_MAX_DIMS] = {0}, total = 1, unused;
    mw_view out;
    MW_TRY(put_of(k->call, &p));
    MW_TRY(begin(k, p.add, &out));
    for (int d = 0; d < p.nj; d++)
        j[d] = 1;
    for (int i = 0; i < p.n; i++) {
        const mw_view *in = &k->in[i + 1];
        MW_TRY(mw__held_of(k, 0, i, &rows[i]));
        MW_TRY(mw__held_indices(k, i + 1, rows[i].size, true, "the dim", &index[i], &unused));
        for (int d = 0; d < in->ndim; d++)
            if (in->shape[d] != 1) j[p.nj - in->ndim + d] = in->shape[d];
    }
    for (int d = 0; d < p.nj; d++)
        total *= j[d];
    for (int64_t nth = 0; nth < total; nth++) {
        mw_view to;
        if (part_named(k, &p, rows, index, at, &out, &to)) {
            mw_view from = part_written(&k->in[k->nin - 1], &p, at, &to);
            put_part(&to, &from, p.add, 1, 1);
        }
        for (int d = p.nj - 1; d >= 0 && ++at[d] == j[d]; d--)
            at[d] = 0;
    }
    return finish(k, &out);
}

#define PUT_SAMPLES                                                                               \
    "f32[7], {i64[4]<7}, f32[4]; f32[5, 4], {i64[3]<5}, f32[3, 4]; f32[4, 6], {i64[4]<4, "        \
    "i64[4]<6}, f32[4]; f64[4, 6, 3], {i64[2, 1]<4, i64[3]<6}, f64[2, 3, 3]; f32[5, 4], "         \
    "{i64[3]<5}, f32[4]; f32[5, 4], {i64[3]<5}, f32[]; f32[6], {i64[9]<6}, f32[9], true; f32[4, " \
    "6], {i64[5]<4, i64[5]<6}, f32[5], true; i64[5, 3], {i32[4]<5}, i64[4, 1], true; bool[5], "   \
    "{i64[2]<5}, bool[2]; bf16[5, 2], {i64[0]<5}, bf16[0, 2]"

const mw_op mw_op_index_put = {
    .schema = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool "
              "accumulate=False) -> Tensor",
    .rule = "self[d... r...] + indices{[j...]} values[j... r...] -> [d... r...]",
    .doc = "A copy of self with values stored, or added, at the places that the indices name in "
           "its first dims.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(2),
    .same_dtype = MW_ARG(0) | MW_ARG(2),
    .factors = put_factors,
    .refuses = MW_REFUSES_STORED,
    .kernel = put_kernel,
    .samples = PUT_SAMPLES,
};

const mw_op mw_op_index_put_ = {
    .schema = "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool "
              "accumulate=False) -> Tensor(a!)",
    .doc = "The op index_put, written to self.",
    .in_place_of = &mw_op_index_put,
    .kernel = put_kernel,
    .samples = PUT_SAMPLES,
};
