/* Matrix products. Each kernel brings its operands into the form of one product, or of one per
 * batch, and leaves the rest to matrix.c. What is added (self of addmm, the bias of linear) is a
 * term of its own in the rule: it is written to the result first, and the product is added to it.
 */
#include "ops/gemv.h"
#include "ops/matrix.h"
#include "ops/op.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

/* ---- what all of them share --------------------------------------------------------------------
 */

static mw_status no_bool(const mw_kernel_call *k)
{
    if (mw_dtype_kind_of(k->out[0].dtype) != MW_KIND_BOOL) return MW_OK;
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: not defined for bool", mw__call_name(k->call));
    mw__error_hint("convert to i64 or to a float first");
    return MW_ERR_UNSUPPORTED;
}

/* beta and alpha, where the op has them (`pos` >= 0: that of beta; alpha is the next). */
static mw_status scale(const mw_kernel_call *k, int pos, mw_product *ret)
{
    *ret = (mw_product){.narrow = k->narrow};
    ret->alpha = pos >= 0 ? mw__arg_float(k->call, pos + 1, 1) : 1;
    ret->beta = pos >= 0 ? mw__arg_float(k->call, pos, 1) : 0;
    ret->int_alpha = 1, ret->int_beta = 0;
    if (pos < 0 || mw_dtype_kind_of(k->out[0].dtype) == MW_KIND_FLOAT) return MW_OK;
    for (int p = pos; p <= pos + 1; p++)
        if (k->call->arg[p].kind == MW_ARG_FLOAT)
            return MW_FAIL(MW_ERR_ARG,
                           "%s: argument '%s' is %g, but the tensors hold integers: it must be an "
                           "integer too",
                           mw__call_name(k->call), mw__arg_name(k->call, p), k->call->arg[p].f);
    ret->int_alpha = mw__arg_int(k->call, pos + 1, 1);
    ret->int_beta = mw__arg_int(k->call, pos, 1);
    return MW_OK;
}

/* Writes `from`, broadcast, to `to`. */
static void fill(const mw_view *to, const mw_view *from)
{
    mw_view wide = *to;
    wide.data = from->data;
    wide.dtype = from->dtype;
    int lead = to->ndim - from->ndim;
    for (int d = 0; d < to->ndim; d++)
        wide.stride[d] = d < lead || from->shape[d - lead] == 1 ? 0 : from->stride[d - lead];
    mw__view_copy(to, &wide);
}

/* The weight of a product of few rows with a matrix, whose flipped or own rows are read. */
static int weight_of(const mw_kernel_call *k, int operand, bool flipped, mw_mat *ret)
{
    const mw_view *w = &k->in[operand];
    if (w->ndim != 2) return -1;
    *ret = mw__mat_of(w, 0);
    if (flipped) *ret = mw__mat_flip(*ret);
    bool few = mw__view_count(&k->out[0]) <= MW_GEMV_ROWS * ret->rows;
    return few ? operand : -1;
}

/* `view` with all dims but the last as one. False where its strides do not allow that. */
static bool fold_rows(const mw_view *view, mw_mat *ret)
{
    int last = view->ndim - 1;
    int64_t rows = 1, stride[2] = {view->shape[last], 1};
    for (int d = 0; d < last; d++)
        rows *= view->shape[d];
    int64_t shape[2] = {rows, view->shape[last]};
    if (mw__view_count(view) > 0 && !mw__view_reshape(view, 2, shape, stride)) return false;
    *ret = (mw_mat){view->data, view->dtype, rows, view->shape[last], stride[0], stride[1]};
    return true;
}

/* The same, by a copy if need be. */
static mw_status rows_of(const mw_view *view, mw_arena *scratch, mw_mat *ret)
{
    if (fold_rows(view, ret)) return MW_OK;
    mw_view copy;
    mw__view_set(&copy, view->dtype, view->ndim, view->shape);
    copy.data =
        mw__arena_alloc(scratch, (size_t)(mw__view_count(view) * mw_dtype_size(view->dtype)));
    if (!copy.data) return MW_NOMEM();
    mw__view_copy(&copy, view);
    (void)fold_rows(&copy, ret);
    return MW_OK;
}

/* `view` with leading dims of size 1 up to `ndim`, every dim of size 1 with stride 0. */
static mw_view lead(const mw_view *view, int ndim)
{
    mw_view wide = {view->data, view->dtype, ndim, {0}, {0}};
    int more = ndim - view->ndim;
    for (int d = 0; d < ndim; d++) {
        wide.shape[d] = d < more ? 1 : view->shape[d - more];
        wide.stride[d] = wide.shape[d] == 1 ? 0 : view->stride[d - more];
    }
    return wide;
}

/* A product for each index of the leading dims of c; a and b have as many dims, each of c's size or
 * of size 1. `like` has alpha and beta. */
static mw_status batches(const mw_product *like, const mw_view *a, const mw_view *b,
                         const mw_view *c)
{
    int64_t index[MW_MAX_DIMS] = {0};
    int ndim = c->ndim - 2;
    if (mw__view_count(c) == 0) return MW_OK;
    mw_arena scratch; /* cleared after each product, which the call's is not */
    mw__arena_init(&scratch);
    mw_status status = MW_OK;
    for (;;) {
        int64_t at[3] = {0};
        for (int d = 0; d < ndim; d++) {
            at[0] += a->shape[d] == 1 ? 0 : index[d] * a->stride[d];
            at[1] += b->shape[d] == 1 ? 0 : index[d] * b->stride[d];
            at[2] += index[d] * c->stride[d];
        }
        mw_product p = *like;
        p.a = mw__mat_of(a, at[0]);
        p.b = mw__mat_of(b, at[1]);
        p.c = mw__mat_of(c, at[2]);
        MW_TRY_GOTO(mw__product_run(&p, &scratch), done);
        mw__arena_clear(&scratch);
        int d = ndim - 1;
        while (d >= 0 && ++index[d] == c->shape[d])
            index[d--] = 0;
        if (d < 0) break;
    }
done:
    mw__arena_done(&scratch);
    return status;
}

/* ---- two dims ----------------------------------------------------------------------------------
 */

static mw_status mm_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, -1, &p));
    p.a = mw__mat_of(&k->in[0], 0);
    p.b = mw__mat_of(&k->in[1], 0);
    p.c = mw__mat_of(&k->out[0], 0);
    return mw__product_run(&p, k->scratch);
}

static int mm_weight(const mw_kernel_call *k, mw_mat *ret)
{
    return weight_of(k, 1, true, ret);
}

const mw_op mw_op_mm = {
    .schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
    .rule = "self[m k], mat2[k n] -> [m n]",
    .doc = "Matrix product of two matrices.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .kernel = mm_kernel,
    .weight = mm_weight,
    .samples = "f32[4, 6], f32[6, 5]; f64[1, 9], f64[9, 3]; f32[12, 16], f32[16, 12]; "
               "bf16[3, 8], bf16[8, 4]; f16[9, 5], f16[5, 9]; i64[3, 4]<10, i64[4, 2]<10; "
               "f32[0, 4], f32[4, 3]; f32[2, 0], f32[0, 3]; f32[5, 3], f32[3, 1]",
};

static mw_status addmm_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, 3, &p));
    if (p.beta != 0) fill(&k->out[0], &k->in[0]);
    p.a = mw__mat_of(&k->in[1], 0);
    p.b = mw__mat_of(&k->in[2], 0);
    p.c = mw__mat_of(&k->out[0], 0);
    return mw__product_run(&p, k->scratch);
}

static int addmm_weight(const mw_kernel_call *k, mw_mat *ret)
{
    return weight_of(k, 2, true, ret);
}

const mw_op mw_op_addmm = {
    .schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
              "Scalar alpha=1) -> Tensor",
    .rule = "self<[m n] + mat1[m k] mat2[k n] -> [m n]",
    .doc = "beta times self plus alpha times the matrix product of mat1 and mat2.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .refuses = MW_REFUSES_BIAS,
    .kernel = addmm_kernel,
    .weight = addmm_weight,
    .samples =
        "f32[5], f32[4, 6], f32[6, 5]; f32[4, 5], f32[4, 6], f32[6, 5], beta=0.5, alpha=2; "
        "f64[3, 1], f64[3, 7], f64[7, 2]; bf16[12], bf16[9, 8], bf16[8, 12]; "
        "f32[], f32[2, 3], f32[3, 2]; i32[2]<10, i32[3, 4]<10, i32[4, 2]<10, beta=3, alpha=2; "
        "f32[3], f32[2, 0], f32[0, 3]; f32[3], f32[0, 4], f32[4, 3]",
};

/* ---- batches -----------------------------------------------------------------------------------
 */

static mw_status bmm_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, -1, &p));
    return batches(&p, &k->in[0], &k->in[1], &k->out[0]);
}

const mw_op mw_op_bmm = {
    .schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
    .rule = "self[b m k], mat2[b k n] -> [b m n]",
    .doc = "Matrix product of each pair of matrices of two batches.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .kernel = bmm_kernel,
    .samples = "f32[3, 4, 6], f32[3, 6, 5]; f64[2, 9, 3], f64[2, 3, 8]; "
               "bf16[4, 1, 8], bf16[4, 8, 3]; i64[2, 3, 4]<10, i64[2, 4, 2]<10; "
               "f32[0, 3, 4], f32[0, 4, 5]; f32[2, 3, 0], f32[2, 0, 4]",
};

static mw_status baddbmm_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, 3, &p));
    if (p.beta != 0) fill(&k->out[0], &k->in[0]);
    return batches(&p, &k->in[1], &k->in[2], &k->out[0]);
}

const mw_op mw_op_baddbmm = {
    .schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
              "Scalar alpha=1) -> Tensor",
    .rule = "self<[b m n] + batch1[b m k] batch2[b k n] -> [b m n]",
    .doc = "beta times self plus alpha times the matrix products of two batches.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .refuses = MW_REFUSES_BIAS,
    .kernel = baddbmm_kernel,
    .samples = "f32[3, 4, 5], f32[3, 4, 6], f32[3, 6, 5]; f32[5], f32[2, 9, 3], f32[2, 3, 5], "
               "beta=2, alpha=3; "
               "f64[2, 1, 4], f64[2, 3, 2], f64[2, 2, 4]; bf16[3, 2, 2], bf16[3, 2, 4], "
               "bf16[3, 4, 2]; f32[2, 3], f32[0, 2, 4], f32[0, 4, 3]; "
               "f32[2, 2, 3], f32[2, 2, 0], f32[2, 0, 3]",
};

/* ---- any dims ----------------------------------------------------------------------------------
 */

static mw_status linear_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, -1, &p));
    int bias = mw__arg_operand(k->call, 2);
    if (bias >= 0) {
        fill(&k->out[0], &k->in[bias]);
        p.beta = 1, p.int_beta = 1;
    }
    MW_TRY(rows_of(&k->in[0], k->scratch, &p.a));
    p.b = mw__mat_flip(mw__mat_of(&k->in[1], 0));
    (void)fold_rows(&k->out[0], &p.c); /* is contiguous */
    return mw__product_run(&p, k->scratch);
}

static int linear_weight(const mw_kernel_call *k, mw_mat *ret)
{
    return weight_of(k, 1, false, ret);
}

const mw_op mw_op_linear = {
    .schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    .rule = "input[... k] weight[n k] + bias?[n] -> [... n]",
    .doc = "Product of the rows of input with the rows of weight, plus a bias.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),
    .refuses = MW_REFUSES_BIAS,
    .kernel = linear_kernel,
    .weight = linear_weight,
    .samples = "f32[4, 6], f32[5, 6], f32[5]; f32[2, 3, 6], f32[8, 6]; f32[6], f32[5, 6], f32[5]; "
               "f64[2, 5, 3], f64[4, 3], f64[4]; bf16[2, 8], bf16[6, 8], bf16[6]; "
               "f16[9, 4], f16[9, 4]; f32[0, 6], f32[5, 6], f32[5]; f32[3, 0], f32[4, 0], f32[4]",
};

/* Dims of a matmul operand that are batches. */
static int batch_dims(const mw_meta *meta)
{
    return MW_MAX(meta->ndim - 2, 0);
}

/* The size of batch dim `d` of `n` right-aligned ones; 1 where the operand has fewer. */
static int64_t batch_size(const mw_meta *meta, int d, int n)
{
    int at = d - (n - batch_dims(meta));
    return at < 0 ? 1 : meta->shape[at];
}

static mw_status matmul_fail(const mw_call_args *call, const char *why)
{
    char self[MW_META_TEXT], other[MW_META_TEXT];
    return MW_FAIL(MW_ERR_SHAPE, "matmul: self is %s and other is %s: %s",
                   mw__meta_text(&call->in[0], self), mw__meta_text(&call->in[1], other), why);
}

static mw_status matmul_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *a = &call->in[0], *b = &call->in[1];
    if (a->ndim == 0 || b->ndim == 0) return matmul_fail(call, "both need at least one dim");
    int n = MW_MAX(batch_dims(a), batch_dims(b));
    for (int d = 0; d < n; d++) {
        int64_t sizes[2] = {batch_size(a, d, n), batch_size(b, d, n)};
        if (sizes[0] != sizes[1] && sizes[0] != 1 && sizes[1] != 1)
            return matmul_fail(call, "the dims before the last two do not broadcast");
        int64_t size = sizes[0] == 1 ? sizes[1] : sizes[0];
        int letter = mw__rule_letter_nth(rule, "b", d, size, MW_MARK_FREE);
        for (int i = 0; i < 2; i++)
            if (sizes[i] == size && d >= n - batch_dims(&call->in[i]))
                mw__rule_put(&rule->in[i], d - (n - batch_dims(&call->in[i])), letter);
        mw__rule_push(&rule->out[0], letter);
    }
    int64_t size = a->shape[a->ndim - 1];
    int row = MW_MAX(b->ndim - 2, 0);
    if (b->shape[row] != size)
        return matmul_fail(call, b->ndim == 1
                                     ? "their last dims differ"
                                     : "the last dim of self is not the last but one of other");
    int k = mw__rule_letter(rule, "k", size, MW_MARK_FREE);
    mw__rule_put(&rule->in[0], a->ndim - 1, k);
    mw__rule_put(&rule->in[1], row, k);
    if (a->ndim > 1) {
        int m = mw__rule_letter(rule, "m", a->shape[a->ndim - 2], MW_MARK_FREE);
        mw__rule_put(&rule->in[0], a->ndim - 2, m);
        mw__rule_push(&rule->out[0], m);
    }
    if (b->ndim > 1) {
        int last = mw__rule_letter(rule, "n", b->shape[b->ndim - 1], MW_MARK_FREE);
        mw__rule_put(&rule->in[1], b->ndim - 1, last);
        mw__rule_push(&rule->out[0], last);
    }
    return MW_OK;
}

/* Inserts a dim of size 1 before dim `dim`. */
static mw_view insert(const mw_view *view, int dim)
{
    mw_view wide = *view;
    wide.ndim++;
    for (int d = view->ndim; d > dim; d--) {
        wide.shape[d] = view->shape[d - 1];
        wide.stride[d] = view->stride[d - 1];
    }
    wide.shape[dim] = 1;
    wide.stride[dim] = 0;
    return wide;
}

static mw_status matmul_kernel(const mw_kernel_call *k)
{
    mw_product p;
    MW_TRY(no_bool(k));
    MW_TRY(scale(k, -1, &p));
    mw_view a = k->in[0], b = k->in[1], c = k->out[0];
    bool row = a.ndim == 1, column = b.ndim == 1;
    if (column) {
        b = insert(&b, 1);
        c = insert(&c, c.ndim);
    }
    if (row) {
        a = insert(&a, 0);
        c = insert(&c, c.ndim - 1);
    }
    if (b.ndim == 2 && fold_rows(&a, &p.a)) { /* all batches are rows of one product */
        p.b = mw__mat_of(&b, 0);
        (void)fold_rows(&c, &p.c);
        return mw__product_run(&p, k->scratch);
    }
    a = lead(&a, c.ndim);
    b = lead(&b, c.ndim);
    return batches(&p, &a, &b, &c);
}

static int matmul_weight(const mw_kernel_call *k, mw_mat *ret)
{
    return weight_of(k, 1, true, ret);
}

const mw_op mw_op_matmul = {
    .schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
    .rule = "self[... m k], other[... k n] -> [... m n]",
    .doc =
        "Matrix product of the last two dims; the others broadcast, and a single dim is a vector.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .factors = matmul_factors,
    .kernel = matmul_kernel,
    .weight = matmul_weight,
    .samples = "f32[4, 6], f32[6, 5]; f32[6], f32[6]; f32[4, 6], f32[6]; f32[6], f32[6, 5]; "
               "f64[2, 3, 4], f64[4, 5]; f32[3, 4], f32[2, 4, 5]; f32[2, 1, 3, 4], f32[5, 4, 2]; "
               "f32[5], f32[2, 5, 3]; f32[2, 4, 5], f32[5]; bf16[2, 3, 4], bf16[2, 4, 3]; "
               "i64[2, 3]<10, i64[3, 2]<10; f32[0, 3, 4], f32[4, 5]; f32[2, 0], f32[0, 3]",
};
