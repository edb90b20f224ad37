/* Scaled dot product attention: out = softmax(scale q k^T + mask) v.
 *
 * Query heads are h·g: h key heads, each shared by a group of g query heads. The rows of a group
 * are taken together, so that keys and values are read once for all of them: a step of decoding
 * reads its cache at the speed of memory (gemv.h), a prompt becomes matrix products over blocks of
 * rows whose scores fit the cache. Under a causal mask the columns that no row of a block may see
 * are not computed. Row positions are global: a rank may hold any part of the rows. A row that may
 * see nothing gives zeros. */
#include "ops/gemv.h"
#include "ops/matrix.h"
#include "ops/op.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { QUERY, KEY, VALUE, MASK, DROPOUT, CAUSAL, SCALE, GQA }; /* the arguments */

/* Rows of a block at most; scores of a block at most, where that leaves 16 rows. */
enum { BLOCK_ROWS = 128, BLOCK_SCORES = 1 << 18 };

/* ---- the rule ----------------------------------------------------------------------------------
 */

static mw_status misfit(const mw_call_args *call, const char *why)
{
    char text[3][MW_META_TEXT];
    for (int i = 0; i < 3; i++)
        (void)mw__meta_text(&call->in[i], text[i]);
    return MW_FAIL(MW_ERR_SHAPE,
                   "scaled_dot_product_attention: query is %s, key %s and value %s: %s", text[0],
                   text[1], text[2], why);
}

static mw_status check(const mw_call_args *call)
{
    const mw_meta *q = &call->in[0], *key = &call->in[1], *value = &call->in[2];
    double dropout = mw__arg_float(call, DROPOUT, 0);
    if (dropout != 0) {
        (void)MW_FAIL(MW_ERR_UNSUPPORTED,
                      "scaled_dot_product_attention: dropout_p is %g, and dropout is not supported",
                      dropout);
        mw__error_hint("pass dropout_p=0.0");
        return MW_ERR_UNSUPPORTED;
    }
    for (int i = 0; i < 3; i++)
        if (mw_dtype_kind_of(call->in[i].dtype) != MW_KIND_FLOAT)
            return misfit(call, "all three must be floats");
    int mask = mw__arg_operand(call, MASK);
    if (mask >= 0 && mw_dtype_kind_of(call->in[mask].dtype) == MW_KIND_INT)
        return MW_FAIL(MW_ERR_ARG,
                       "scaled_dot_product_attention: attn_mask is of %s: it must be bool (true: "
                       "take part) or a float that is added to the scores",
                       mw_dtype_name(call->in[mask].dtype));
    if (q->ndim < 2 || key->ndim < 2 || value->ndim < 2)
        return misfit(call, "each needs at least 2 dims");
    if (q->ndim != key->ndim || q->ndim != value->ndim)
        return misfit(call, "they need the same number of dims");
    if (q->shape[q->ndim - 1] != key->shape[q->ndim - 1])
        return misfit(call, "the last dims of query and key differ");
    if (key->shape[q->ndim - 2] != value->shape[q->ndim - 2])
        return misfit(call, "key and value differ in length (the last dim but one)");
    if (mw__arg_bool(call, CAUSAL, false) && mask >= 0)
        return MW_FAIL(MW_ERR_ARG, "scaled_dot_product_attention: is_causal and attn_mask exclude "
                                   "each other; write the causal part into the mask");
    return MW_OK;
}

/* A new letter on dim `dim` of those operands whose size there is not 1, and of the output. Where
 * an operand has one of the others' size, dims of size 1 are broadcast. */
static mw_status batch_letter(const mw_call_args *call, mw_rule *rule, int dim)
{
    int64_t size = 1;
    for (int i = 0; i < 3; i++) {
        int64_t own = call->in[i].shape[dim];
        if (own == 1) continue;
        if (size != 1 && own != size) return misfit(call, "the leading dims do not broadcast");
        size = own;
    }
    int letter = mw__rule_letter_nth(rule, "b", dim, size, MW_MARK_FREE);
    for (int i = 0; i < 3; i++)
        if (call->in[i].shape[dim] == size) mw__rule_put(&rule->in[i], dim, letter);
    mw__rule_push(&rule->out[0], letter);
    return MW_OK;
}

/* The head dim with enable_gqa: query and output h·g, key and value h. */
static mw_status group_letters(const mw_call_args *call, mw_rule *rule, int dim)
{
    int64_t heads = call->in[0].shape[dim], shared = call->in[1].shape[dim];
    if (call->in[2].shape[dim] != shared) return misfit(call, "key and value differ in heads");
    if (shared == 0 ? heads != 0 : heads % shared != 0)
        return misfit(call, "the heads of query are not a multiple of those of key");
    int h = mw__rule_letter(rule, "h", shared, MW_MARK_FREE);
    int g = mw__rule_letter(rule, "g", shared == 0 ? 1 : heads / shared, MW_MARK_FREE);
    for (int i = 0; i < 3; i++)
        mw__rule_put(&rule->in[i], dim, h);
    mw__rule_put(&rule->in[0], dim, g);
    mw__rule_push(&rule->out[0], h);
    mw__rule_put(&rule->out[0], dim, g);
    return MW_OK;
}

/* The mask is broadcast to [..., heads, t, s]: its dims get the letters of those that they match.
 */
static mw_status mask_letters(const mw_call_args *call, mw_rule *rule, int s)
{
    int mask = mw__arg_operand(call, MASK), ndim = call->in[0].ndim;
    if (mask < 0) return MW_OK;
    const mw_meta *meta = &call->in[mask];
    char text[MW_META_TEXT];
    if (meta->ndim > ndim)
        return MW_FAIL(MW_ERR_SHAPE,
                       "scaled_dot_product_attention: attn_mask is %s, but query has %d "
                       "dims",
                       mw__meta_text(meta, text), ndim);
    for (int i = 0; i < meta->ndim; i++) {
        int dim = ndim - meta->ndim + i;
        const mw_operand *out = &rule->out[0];
        int64_t size = 1;
        for (int l = 0; l < out->nletter[dim] && dim < ndim - 1; l++)
            size *= rule->letter[out->letter[dim][l]].size;
        if (dim == ndim - 1) size = rule->letter[s].size;
        if (meta->shape[i] != size && meta->shape[i] != 1)
            return MW_FAIL(MW_ERR_SHAPE,
                           "scaled_dot_product_attention: attn_mask is %s: its dim %d must be 1 or "
                           "%lld",
                           mw__meta_text(meta, text), i, (long long)size);
        if (meta->shape[i] != size) continue;
        if (dim == ndim - 1)
            mw__rule_put(&rule->in[mask], i, s);
        else
            mw__rule_copy(&rule->in[mask], i, out, dim, 1);
    }
    return MW_OK;
}

static mw_status attention_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(check(call));
    int ndim = call->in[0].ndim;
    bool grouped = mw__arg_bool(call, GQA, false) && ndim > 2;
    for (int d = 0; d < ndim - 2; d++) {
        if (grouped && d == ndim - 3)
            MW_TRY(group_letters(call, rule, d));
        else
            MW_TRY(batch_letter(call, rule, d));
    }
    int t = mw__rule_letter(rule, "t", call->in[0].shape[ndim - 2], MW_MARK_FREE);
    int s = mw__rule_letter(rule, "s", call->in[1].shape[ndim - 2], MW_MARK_WHOLE);
    int e = mw__rule_letter(rule, "e", call->in[0].shape[ndim - 1], MW_MARK_WHOLE);
    int v = mw__rule_letter(rule, "v", call->in[2].shape[ndim - 1], MW_MARK_FREE);
    mw__rule_put(&rule->in[0], ndim - 2, t);
    mw__rule_put(&rule->in[0], ndim - 1, e);
    mw__rule_put(&rule->in[1], ndim - 2, s);
    mw__rule_put(&rule->in[1], ndim - 1, e);
    mw__rule_put(&rule->in[2], ndim - 2, s);
    mw__rule_put(&rule->in[2], ndim - 1, v);
    mw__rule_push(&rule->out[0], t);
    MW_TRY(mask_letters(call, rule, s));
    mw__rule_push(&rule->out[0], v);
    return MW_OK;
}

/* ---- one group of heads ------------------------------------------------------------------------
 */

typedef struct group {
    mw_dtype dtype; /* of the sums: f64 or f32 */
    double scale;
    const int64_t *position; /* [t] global positions of the rows; NULL: no causal mask */
    int64_t g, t;
    mw_view q;          /* [g, t, e] */
    mw_mat key, value;  /* [s, e], [s, v] */
    mw_mat out;         /* [g t, v] */
    mw_view mask;       /* [g, t, s], strides 0 where broadcast; data NULL: none */
    mw_mat rows, score; /* room for a block: [rows, e], [rows, s] */
    mw_arena *scratch;  /* cleared after each block */
} group;

static void *row_at(mw_mat m, int64_t row)
{
    return mw__mat_at(m.data, m.dtype, row * m.row_stride);
}

/* Rows [first, end) of the group, times scale, to g->rows. */
static void load_rows(const group *g, int64_t first, int64_t end)
{
    for (int64_t r = first; r < end; r++) {
        mw_mat from = {0}, to = g->rows;
        int64_t at = r / g->t * g->q.stride[0] + r % g->t * g->q.stride[1];
        from = (mw_mat){
            mw__mat_at(g->q.data, g->q.dtype, at), g->q.dtype, 1, to.cols, 0, g->q.stride[2]};
        to.data = row_at(g->rows, r - first);
        to.rows = 1;
        mw_view from_view = mw__mat_view(from), to_view = mw__mat_view(to);
        mw__view_copy(&to_view, &from_view);
        for (int64_t i = 0; i < to.cols; i++) {
            if (g->dtype == MW_DTYPE_f64)
                ((double *)to.data)[i] *= g->scale;
            else
                ((float *)to.data)[i] *= (float)g->scale;
        }
    }
}

static void add_to(void *row, mw_dtype dtype, int64_t i, double value)
{
    if (dtype == MW_DTYPE_f64)
        ((double *)row)[i] += value;
    else
        ((float *)row)[i] += (float)value;
}

/* Adds the mask to the scores of row r: -inf where a bool mask or the causal order hides a column.
 */
static void apply_masks(const group *g, void *row, int64_t r, int64_t columns)
{
    if (g->position)
        for (int64_t i = MW_MAX(g->position[r % g->t] + 1, 0); i < columns; i++)
            add_to(row, g->dtype, i, -INFINITY);
    if (!g->mask.data) return;
    const char *at = g->mask.data;
    int64_t size = mw_dtype_size(g->mask.dtype);
    at += (r / g->t * g->mask.stride[0] + r % g->t * g->mask.stride[1]) * size;
    bool bytes = g->mask.dtype == MW_DTYPE_bool && g->mask.stride[2] == 1;
    if (bytes && !memchr(at, 0, (size_t)columns)) return; /* it hides nothing */
    for (int64_t i = 0; i < columns; i++, at += g->mask.stride[2] * size) {
        if (g->mask.dtype != MW_DTYPE_bool)
            add_to(row, g->dtype, i, mw__element_get(at, g->mask.dtype));
        else if (!*(const uint8_t *)at)
            add_to(row, g->dtype, i, -INFINITY);
    }
}

/* A row without any column left is zeros, not NaN. The search ends at the first column mostly. */
static void softmax_row(const group *g, void *row, int64_t columns)
{
    bool hidden = true, wide = g->dtype == MW_DTYPE_f64;
    for (int64_t i = 0; hidden && i < columns; i++)
        hidden = (wide ? ((double *)row)[i] : (double)((float *)row)[i]) == -INFINITY;
    if (hidden)
        memset(row, 0, (size_t)(columns * mw_dtype_size(g->dtype)));
    else if (wide)
        mw__softmax_f64(row, columns);
    else
        (void)mw__row_kernels_get()->softmax(row, columns);
}

/* The last column that a bool mask shows row r, and 1; at least 1. */
static int64_t shown(const group *g, int64_t r)
{
    const uint8_t *at = g->mask.data;
    at += r / g->t * g->mask.stride[0] + r % g->t * g->mask.stride[1];
    int64_t stride = g->mask.stride[2], n = g->key.rows;
    if (stride == 1 && n > 0) { /* bytes are 0 or 1 */
        const uint8_t *last = memrchr(at, 1, (size_t)n);
        return last ? last - at + 1 : MW_MIN(1, n);
    }
    while (n > 1 && !at[(n - 1) * stride])
        n--;
    return n;
}

/* Columns that some row of [first, end) may see: what lies behind them is not computed. */
static int64_t columns_of(const group *g, int64_t first, int64_t end)
{
    if (g->mask.data && g->mask.dtype == MW_DTYPE_bool) {
        int64_t seen = 0;
        for (int64_t r = first; r < end && seen < g->key.rows; r++)
            seen = MW_MAX(seen, shown(g, r));
        return seen;
    }
    if (!g->position) return g->key.rows;
    int64_t most = -1;
    for (int64_t r = first; r < end; r++)
        most = MW_MAX(most, g->position[r % g->t]);
    return MW_MIN(most + 1, g->key.rows);
}

static mw_status run_block(const group *g, int64_t first, int64_t end)
{
    int64_t columns = columns_of(g, first, end);
    mw_product p = {.alpha = 1};
    load_rows(g, first, end);
    p.a = g->rows;
    p.a.rows = end - first;
    p.b = g->key;
    p.b.rows = columns;
    p.b = mw__mat_flip(p.b);
    p.c = g->score;
    p.c.rows = end - first;
    p.c.cols = columns;
    MW_TRY(mw__product_run(&p, g->scratch));
    for (int64_t r = first; r < end; r++) {
        void *row = row_at(g->score, r - first);
        apply_masks(g, row, r, columns);
        softmax_row(g, row, columns);
    }
    p.a = p.c;
    p.b = g->value;
    p.b.rows = columns;
    p.c = g->out;
    p.c.rows = end - first;
    p.c.data = row_at(g->out, first);
    MW_TRY(mw__product_run(&p, g->scratch));
    mw__arena_clear(g->scratch);
    return MW_OK;
}

/* Few rows are taken together, heads of a group included; blocks of many stay within a head, so
 * that the causal mask cuts off columns. */
static mw_status run_group(const group *g)
{
    int64_t all = g->g * g->t;
    for (int64_t first = 0, end; first < all; first = end) {
        end = MW_MIN(first + g->rows.rows, all);
        if (g->t > MW_GEMV_ROWS) end = MW_MIN(end, (first / g->t + 1) * g->t);
        MW_TRY(run_block(g, first, end));
    }
    return MW_OK;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static mw_status make_room(const mw_kernel_call *k, mw_dtype dtype, int64_t rows, int64_t cols,
                           mw_mat *ret)
{
    *ret = (mw_mat){NULL, dtype, rows, cols, cols, 1};
    ret->data = mw__arena_alloc(k->scratch, (size_t)(rows * cols * mw_dtype_size(dtype)));
    return ret->data ? MW_OK : MW_NOMEM();
}

static mw_status row_positions(const mw_kernel_call *k, group *g)
{
    int dim = k->out[0].ndim - 2;
    const mw_range *range;
    int64_t count, at = 0;
    if (!mw__arg_bool(k->call, CAUSAL, false)) return MW_OK;
    MW_TRY(mw__kernel_ranges(k, k->out_layout ? k->out_layout[0] : NULL, dim,
                             k->call->in[0].shape[dim], &range, &count));
    int64_t *position = mw__arena_alloc(k->scratch, (size_t)g->t * sizeof *position);
    if (!position) return MW_NOMEM();
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = range[r].first; i < range[r].end && at < g->t; i++)
            position[at++] = i;
    g->position = position;
    return MW_OK;
}

/* What is the same for all groups. */
static mw_status prepare(const mw_kernel_call *k, group *g)
{
    const mw_view *q = &k->in[0], *out = &k->out[0];
    int rows = q->ndim - 2, last = q->ndim - 1;
    bool wide = false;
    for (int i = 0; i < 3; i++)
        wide = wide || k->in[i].dtype == MW_DTYPE_f64;
    g->dtype = wide || out->dtype == MW_DTYPE_f64 ? MW_DTYPE_f64 : MW_DTYPE_f32;
    int64_t e = q->shape[last], s = k->in[1].shape[rows];
    g->scale = mw__arg_float(k->call, SCALE, e > 0 ? 1 / sqrt((double)e) : 1);
    g->t = out->shape[rows];
    g->g = 1;
    int64_t heads = rows > 0 ? k->in[1].shape[rows - 1] : 0;
    if (mw__arg_bool(k->call, GQA, false) && heads > 0) g->g = out->shape[rows - 1] / heads;
    MW_TRY(row_positions(k, g));
    int64_t block = MW_MAX(16, MW_MIN(BLOCK_ROWS, BLOCK_SCORES / MW_MAX(s, 1)));
    block = MW_MIN(block, g->g * g->t);
    MW_TRY(make_room(k, g->dtype, block, e, &g->rows));
    return make_room(k, g->dtype, block, s, &g->score);
}

/* Elements from the start of `view` to the matrix of the leading indices; `each` heads a step in
 * the last leading dim. */
static int64_t offset_of(const mw_view *view, const int64_t *index, int64_t each)
{
    int64_t offset = 0;
    for (int d = 0; d < view->ndim - 2; d++)
        if (view->shape[d] != 1)
            offset += index[d] * view->stride[d] * (d == view->ndim - 3 ? each : 1);
    return offset;
}

/* Stride of dim `dim`, counted from the end of the mask; 0 where it is broadcast. */
static int64_t mask_stride(const mw_view *mask, int from_end)
{
    int dim = mask->ndim - from_end;
    return dim < 0 || mask->shape[dim] == 1 ? 0 : mask->stride[dim];
}

static void point_group(const mw_kernel_call *k, const int64_t *index, group *g)
{
    const mw_view *q = &k->in[0], *out = &k->out[0];
    int ndim = q->ndim, mask = mw__arg_operand(k->call, MASK);
    g->q = (mw_view){NULL, q->dtype, 3, {g->g, g->t, q->shape[ndim - 1]}, {0}};
    g->q.data = mw__mat_at(q->data, q->dtype, offset_of(q, index, g->g));
    for (int i = 0; i < 3; i++)
        g->q.stride[i] = ndim + i >= 3 ? q->stride[ndim - 3 + i] : 0;
    g->key = mw__mat_of(&k->in[1], offset_of(&k->in[1], index, 1));
    g->value = mw__mat_of(&k->in[2], offset_of(&k->in[2], index, 1));
    g->out = mw__mat_of(out, offset_of(out, index, g->g)); /* contiguous: heads follow */
    g->out.rows = g->g * g->t;
    g->mask = (mw_view){0};
    if (mask < 0) return;
    const mw_view *m = &k->in[mask];
    int64_t offset = 0;
    for (int from_end = 3; from_end <= ndim && from_end <= m->ndim; from_end++)
        offset += index[ndim - from_end] * mask_stride(m, from_end) * (from_end == 3 ? g->g : 1);
    g->mask = (mw_view){mw__mat_at(m->data, m->dtype, offset), m->dtype, 3, {0}, {0}};
    for (int i = 0; i < 3; i++)
        g->mask.stride[i] = mask_stride(m, 3 - i);
}

static mw_status attention_kernel(const mw_kernel_call *k)
{
    const mw_view *out = &k->out[0];
    int64_t index[MW_MAX_DIMS] = {0};
    int lead = out->ndim - 2;
    if (mw__view_count(out) == 0) return MW_OK;
    mw_arena scratch;
    mw__arena_init(&scratch);
    group g = {.scratch = &scratch};
    mw_status status = MW_OK;
    MW_TRY_GOTO(prepare(k, &g), done);
    for (;;) {
        point_group(k, index, &g);
        MW_TRY_GOTO(run_group(&g), done);
        int d = lead - 1;
        while (d >= 0 && ++index[d] == out->shape[d] / (d == lead - 1 ? g.g : 1))
            index[d--] = 0;
        if (d < 0) break;
    }
done:
    mw__arena_done(&scratch);
    return status;
}

const mw_op mw_op_scaled_dot_product_attention = {
    .schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
              "Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
              "float? scale=None, bool enable_gqa=False) -> Tensor",
    .rule = "query[... h·g t e*], key[... h s* e*], value[... h s* v], attn_mask?[... h·g t s*] "
            "-> [... h·g t v]",
    .doc = "Attention: the softmax of scaled query times key, plus a mask, times value.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(2),
    .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .factors = attention_factors,
    .kernel = attention_kernel,
    .samples =
        "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6]; "
        "f32[2, 6, 9, 4], f32[2, 2, 9, 4], f32[2, 2, 9, 4], is_causal=true, enable_gqa=true; "
        "f64[3, 5, 4], f64[3, 7, 4], f64[3, 7, 4], bool[5, 7]; "
        "f32[1, 6, 1, 4], f32[1, 3, 6, 4], f32[1, 3, 6, 4], f32[1, 1, 1, 6], scale=0.5, "
        "enable_gqa=true; bf16[4, 3, 8], bf16[4, 6, 8], bf16[4, 6, 8]; "
        "f32[4, 3], f32[5, 3], f32[5, 2], is_causal=true; "
        "f32[0, 2, 3], f32[0, 4, 3], f32[0, 4, 3]; f32[2, 3, 4], f32[2, 0, 4], f32[2, 0, 5]",
};
