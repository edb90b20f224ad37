/* Products said by letters: dot, mv, outer, and einsum of two tensors. Each becomes batches of one
 * matrix product: letters that both operands and the result have are batches, those of one operand
 * and the result its rows or columns, those of both operands alone are summed. */
#include "ops/matrix.h"
#include "ops/op.h"
#include "ops/reduce.h"
#include "ops/rule_parts.h"

/* ---- dot, mv, outer --------------------------------------------------------------------------
 */

static mw_status no_bool(const mw_kernel_call *k)
{
    if (mw_dtype_kind_of(k->out[0].dtype) != MW_KIND_BOOL) return MW_OK;
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: not defined for bool", mw__call_name(k->call));
    mw__error_hint("convert to i64 or to a float first");
    return MW_ERR_UNSUPPORTED;
}

/* A view of one or two dims as a matrix: a vector as a row or as a column. */
static mw_mat matrix(const mw_view *v, bool row)
{
    if (v->ndim == 2) return mw__mat_of(v, 0);
    int64_t n = v->ndim ? v->shape[0] : 1, stride = v->ndim ? v->stride[0] : 1;
    return row ? (mw_mat){v->data, v->dtype, 1, n, 0, stride}
               : (mw_mat){v->data, v->dtype, n, 1, stride, 0};
}

static mw_status product(const mw_kernel_call *k, bool a_row, bool b_row)
{
    mw_product p = {.alpha = 1, .int_alpha = 1};
    MW_TRY(no_bool(k));
    p.a = matrix(&k->in[0], a_row);
    p.b = matrix(&k->in[1], b_row);
    p.c = matrix(&k->out[0], b_row);
    return mw__product_run(&p, k->scratch);
}

static mw_status dot_kernel(const mw_kernel_call *k)
{
    return product(k, true, false);
}

static mw_status mv_kernel(const mw_kernel_call *k)
{
    return product(k, false, false);
}

static mw_status outer_kernel(const mw_kernel_call *k)
{
    return product(k, false, true);
}

const mw_op mw_op_dot = {
    .schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
    .rule = "self[k], tensor[k] -> []",
    .doc = "Sum of the products of two vectors.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .kernel = dot_kernel,
    .samples = "f32[6], f32[6]; f64[9], f64[9]; bf16[20], bf16[20]; i64[4], i64[4]; f32[0], f32[0]",
};

const mw_op mw_op_mv = {
    .schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
    .rule = "self[m k], vec[k] -> [m]",
    .doc = "Product of a matrix and a vector.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .same_dtype = MW_ARG(0) | MW_ARG(1),
    .kernel = mv_kernel,
    .samples = "f32[4, 6], f32[6]; f64[1, 9], f64[9]; bf16[12, 20], bf16[20]; i64[3, 4], i64[4]; "
               "f32[0, 3], f32[3]; f32[3, 0], f32[0]",
};

const mw_op mw_op_outer = {
    .schema = "aten::outer(Tensor self, Tensor vec2) -> Tensor",
    .rule = "self[m], vec2[n] -> [m n]",
    .doc = "The products of each element of one vector with each of another.",
    .linear_in = MW_ARG(0) | MW_ARG(1),
    .dtype = MW_OUT_PROMOTE,
    .kernel = outer_kernel,
    .samples = "f32[4], f32[6]; f64[1], f64[9]; bf16[5], bf16[3]; i64[3], i64[4]; f32[0], f32[3]",
};

/* ---- einsum: the equation --------------------------------------------------------------------
 */

enum { EIN_LETTERS = 2 * MW_MAX_DIMS };

/* Each letter, and which dim of an operand (0, 1) or of the result (2) has it; -1: none. */
typedef struct equation {
    int n;
    char letter[EIN_LETTERS];
    int8_t dim[EIN_LETTERS][3];
    int ndim[3];
} equation;

static mw_status bad_equation(const mw_call_args *call, const char *why)
{
    mw_status status = MW_FAIL(MW_ERR_ARG, "einsum: equation '%s': %s", call->arg[0].s, why);
    mw__error_hint("write the letters of each dim, as in 'bhqd,bhkd->bhqk'");
    return status;
}

static mw_status add_letter(const mw_call_args *call, equation *e, char c, int side)
{
    int at = 0;
    while (at < e->n && e->letter[at] != c)
        at++;
    if (at == e->n) {
        if (side == 2) return bad_equation(call, "the result has a letter that no operand has");
        if (e->n == EIN_LETTERS) return bad_equation(call, "there are too many letters");
        e->letter[e->n++] = c;
        memset(e->dim[at], -1, sizeof e->dim[at]);
    }
    if (e->dim[at][side] >= 0)
        return bad_equation(call,
                            "a letter stands twice in one place; diagonals are not supported");
    e->dim[at][side] = (int8_t)e->ndim[side]++;
    return MW_OK;
}

/* Without `->` the result has the letters that stand once, in the alphabet's order. */
static mw_status implicit_result(const mw_call_args *call, equation *e)
{
    for (int c = 'A'; c <= 'z'; c++)
        for (int l = 0; l < e->n; l++)
            if (e->letter[l] == c && (e->dim[l][0] < 0 || e->dim[l][1] < 0) && e->dim[l][2] < 0)
                MW_TRY(add_letter(call, e, (char)c, 2));
    return MW_OK;
}

static mw_status read_equation(const mw_call_args *call, equation *e)
{
    int side = 0;
    bool arrow = false;
    memset(e, 0, sizeof *e);
    if (call->nin != 2) {
        (void)MW_FAIL(MW_ERR_UNSUPPORTED, "einsum: %d tensors, and exactly two are supported",
                      call->nin);
        mw__error_hint("contract them pair by pair");
        return MW_ERR_UNSUPPORTED;
    }
    for (const char *c = call->arg[0].s; *c; c++) {
        if (*c == ' ') continue;
        if (*c == ',' && side == 0) {
            side = 1;
        } else if (*c == '-' && c[1] == '>' && side == 1) {
            side = 2, arrow = true, c++;
        } else if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z')) {
            MW_TRY(add_letter(call, e, *c, side));
        } else {
            return bad_equation(call, *c == '.' ? "'...' is not supported"
                                                : "a letter, ',' or '->' is expected");
        }
    }
    if (side == 0) return bad_equation(call, "there are two tensors, and one list of letters");
    if (!arrow) MW_TRY(implicit_result(call, e));
    for (int i = 0; i < 2; i++)
        if (e->ndim[i] != call->in[i].ndim)
            return bad_equation(call, "a tensor has more or fewer dims than letters");
    return e->ndim[2] <= MW_MAX_DIMS ? MW_OK : bad_equation(call, "the result has too many dims");
}

static mw_status einsum_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    equation e;
    (void)arena;
    MW_TRY(read_equation(call, &e));
    int letter_at[MW_MAX_DIMS] = {0};
    for (int l = 0; l < e.n; l++) {
        const int8_t *dim = e.dim[l];
        const char name[2] = {e.letter[l], 0};
        int64_t size = dim[0] >= 0 ? call->in[0].shape[dim[0]] : call->in[1].shape[dim[1]];
        if (dim[0] >= 0 && dim[1] >= 0 && call->in[1].shape[dim[1]] != size)
            return MW_FAIL(MW_ERR_SHAPE,
                           "einsum: letter '%s' has size %lld in one tensor, %lld in "
                           "the other",
                           name, (long long)size, (long long)call->in[1].shape[dim[1]]);
        int letter = mw__rule_letter(rule, name, size, MW_MARK_FREE);
        for (int i = 0; i < 2; i++)
            if (dim[i] >= 0) mw__rule_put(&rule->in[i], dim[i], letter);
        if (dim[2] >= 0) letter_at[dim[2]] = letter;
    }
    for (int d = 0; d < e.ndim[2]; d++)
        mw__rule_push(&rule->out[0], letter_at[d]);
    return MW_OK;
}

/* ---- einsum: the kernel ----------------------------------------------------------------------
 */

/* Letters in the order batches, rows, summed ones, columns; the sizes of these four together. */
typedef struct plan {
    int order[EIN_LETTERS], n;
    int64_t size[4];
} plan;

enum { BATCH, ROW, SUMMED, COLUMN };

/* Letters of one operand alone are summed before: no group (-1). */
static int group_of(const int8_t *dim)
{
    if (dim[0] >= 0 && dim[1] >= 0) return dim[2] >= 0 ? BATCH : SUMMED;
    if (dim[2] < 0) return -1;
    return dim[0] >= 0 ? ROW : COLUMN;
}

static int64_t local_size(const mw_kernel_call *k, const int8_t *dim)
{
    return dim[0] >= 0 ? k->in[0].shape[dim[0]] : k->in[1].shape[dim[1]];
}

static plan plan_of(const mw_kernel_call *k, const equation *e)
{
    plan p = {.size = {1, 1, 1, 1}};
    for (int g = BATCH; g <= COLUMN; g++)
        for (int l = 0; l < e->n; l++) {
            if (group_of(e->dim[l]) != g) continue;
            p.order[p.n++] = l;
            p.size[g] *= local_size(k, e->dim[l]);
        }
    return p;
}

/* Dims of `view` in the plan's order, those of the groups in the mask: a permuted view. */
static mw_view arrange(const mw_view *view, const equation *e, const plan *p, int side)
{
    mw_view to = {.data = view->data, .dtype = view->dtype};
    for (int i = 0; i < p->n; i++) {
        int d = e->dim[p->order[i]][side];
        if (d < 0) continue;
        to.shape[to.ndim] = view->shape[d];
        to.stride[to.ndim++] = view->stride[d];
    }
    return to;
}

/* The operand, lone letters summed, dense in the plan's order. */
static mw_status operand(const mw_kernel_call *k, const equation *e, const plan *p, int side,
                         void **ret)
{
    mw_view from = k->in[side], kept = from, to;
    uint32_t alone = 0;
    for (int l = 0; l < e->n; l++)
        if (group_of(e->dim[l]) < 0 && e->dim[l][side] >= 0) alone |= 1u << e->dim[l][side];
    if (alone) { /* the sum has the operand's dims, those of size 1 where letters went */
        for (int d = 0; d < kept.ndim; d++)
            if (alone >> d & 1u) kept.shape[d] = 1;
        mw__view_set(&kept, from.dtype, kept.ndim, kept.shape);
        kept.data = mw__arena_alloc(
            k->scratch, (size_t)(MW_MAX(mw__view_count(&kept), 1) * mw_dtype_size(kept.dtype)));
        if (!kept.data) return MW_NOMEM();
        mw__reduce_run(MW_REDUCE_SUM, &from, alone, 0, &kept);
    }
    mw_view ordered = arrange(&kept, e, p, side);
    mw__view_set(&to, ordered.dtype, ordered.ndim, ordered.shape);
    int64_t count = mw__view_count(&to);
    to.data = mw__arena_alloc(k->scratch, (size_t)(MW_MAX(count, 1) * mw_dtype_size(to.dtype)));
    if (!to.data) return MW_NOMEM();
    if (count > 0) mw__view_copy(&to, &ordered);
    *ret = to.data;
    return MW_OK;
}

static mw_status einsum_kernel(const mw_kernel_call *k)
{
    equation e;
    void *a, *b;
    MW_TRY(no_bool(k));
    MW_TRY(read_equation(k->call, &e));
    plan p = plan_of(k, &e);
    mw_view out = arrange(&k->out[0], &e, &p, 2), dense;
    mw_dtype dtype = out.dtype, in[2] = {k->in[0].dtype, k->in[1].dtype};
    int64_t count = mw__view_count(&out), m = p.size[ROW], s = p.size[SUMMED], n = p.size[COLUMN];
    if (count == 0) return MW_OK;
    MW_TRY(operand(k, &e, &p, 0, &a));
    MW_TRY(operand(k, &e, &p, 1, &b));
    mw__view_set(&dense, dtype, out.ndim, out.shape);
    dense.data = mw__arena_alloc(k->scratch, (size_t)(count * mw_dtype_size(dtype)));
    if (!dense.data) return MW_NOMEM();
    for (int64_t i = 0; i < p.size[BATCH]; i++) {
        mw_product one = {.alpha = 1, .int_alpha = 1};
        one.a = (mw_mat){mw__mat_at(a, in[0], i * m * s), in[0], m, s, s, 1};
        one.b = (mw_mat){mw__mat_at(b, in[1], i * s * n), in[1], s, n, n, 1};
        one.c = (mw_mat){mw__mat_at(dense.data, dtype, i * m * n), dtype, m, n, n, 1};
        MW_TRY(mw__product_run(&one, k->scratch));
    }
    mw__view_copy(&out, &dense);
    return MW_OK;
}

const mw_op mw_op_einsum = {
    .schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    .doc = "Product of two tensors as an equation of letters says it, such as 'bhqd,bhkd->bhqk'.",
    .reduce = MW_REDUCE_SUM,
    .linear_in = MW_ARG(1),
    .same_dtype = MW_ARG(1),
    .factors = einsum_factors,
    .kernel = einsum_kernel,
    .samples = "\"ij,jk->ik\", {f32[4, 6], f32[6, 5]}; \"bhqd,bhkd->bhqk\", {f32[2, 3, 4, 5], "
               "f32[2, 3, 6, 5]}; \"i,i\", {f64[7], f64[7]}; \"i,j->ji\", {f32[3], f32[4]}; "
               "\"ija,jb->bi\", {f64[2, 3, 4], f64[3, 5]}; \"ij,kj\", {bf16[3, 8], bf16[4, 8]}; "
               "\"ij,ij->ij\", {i64[3, 4], i64[3, 4]}; \"ij,jk->ik\", {f32[0, 3], f32[3, 2]}; "
               "\"ij,jk->ik\", {f32[2, 0], f32[0, 3]}",
};
