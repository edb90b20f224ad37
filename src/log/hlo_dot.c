/* A product whose operands were gathered just for it. Where the gathered dims are not contracted
 * and the groups differ, each device could have multiplied its pieces: nothing need move. The
 * product may stand in a computation of its own, which a fusion runs. */
#include "log/hlo.h"

/* The dims of `key={1,2}` in the text of attributes; whether `dim` is one of them. */
static bool in_dims(const char *attrs, const char *key, int64_t dim)
{
    const char *at = strstr(attrs, key);
    if (!at) return false;
    at += strlen(key);
    if (strncmp(at, "={", 2) != 0) return false;
    for (at += 2; *at && *at != '}';) {
        int64_t n;
        if (!mw__hlo_int(&at, &n)) return false;
        if (n == dim) return true;
        at += *at == ',';
    }
    return false;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a > INT64_C(1) << 60 || b > INT64_C(1) << 60 ? -1 : a + b;
}

/* Operations of the product: two for each term. */
static double work(const hlo_value *left, const hlo_value *right, const char *attrs)
{
    double n = 2;
    if (left->shape.ndim < 1 || right->shape.ndim < 1) return 0;
    for (int i = 0; i < left->shape.ndim; i++)
        n *= (double)left->shape.dim[i];
    for (int i = 0; i < right->shape.ndim; i++)
        if (!in_dims(attrs, "rhs_contracting_dims", i) && !in_dims(attrs, "rhs_batch_dims", i))
            n *= (double)right->shape.dim[i];
    return n;
}

static void tell(const hlo_op *op, const hlo_value *left, const hlo_value *right, const char *attrs)
{
    int64_t bytes = sum(left->gather_bytes, right->gather_bytes);
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "dot");
    mw__draft_says(d, "%.*s multiplies two tensors that were gathered just for it.",
                   op->name_length, op->name);
    mw__fact(d, "gathered dims", MW_HOW_DERIVED, "dimensions= of the two all-gathers",
             "%lld of the left operand, %lld of the right one: neither is contracted",
             (long long)left->gather_dim, (long long)right->gather_dim);
    double all = work(left, right, attrs);
    int64_t pieces = left->gather_size * right->gather_size;
    if (all > 0 && pieces > 1) {
        mw__fact(d, "operations per device", MW_HOW_DERIVED, "two for each term of the product",
                 "%.6g", all);
        mw__fact(d, "operations per device on pieces", MW_HOW_DERIVED,
                 "the product of the two group sizes divides the work", "%.6g: 1 of %lld parts",
                 all / (double)pieces, (long long)pieces);
    }
    mw__problem(d, "needless-movement", bytes, 0,
                "constrain the result of the dot to be cut in rows as the left operand and in "
                "columns as the right one (a sharding constraint before anything transposes or "
                "reshapes it)",
                "Neither gathered dim is contracted, and the groups differ: the product of the "
                "pieces needs no communication, and every device would do its part of the work "
                "only.");
}

static void judge(const hlo_op *op, const hlo_value *left, const hlo_value *right,
                  const char *attrs)
{
    if (!left || !right || !left->gather || !right->gather || left->gather_dim < 0 ||
        right->gather_dim < 0 || left->gather_groups == right->gather_groups)
        return;
    if (in_dims(attrs, "lhs_contracting_dims", left->gather_dim) ||
        in_dims(attrs, "rhs_contracting_dims", right->gather_dim) ||
        in_dims(attrs, "lhs_batch_dims", left->gather_dim) ||
        in_dims(attrs, "rhs_batch_dims", right->gather_dim))
        return;
    tell(op, left, right, attrs);
}

void mw__hlo_dot(const hlo_op *op)
{
    const hlo_value *left = mw__hlo_nth(op, 1), *right = mw__hlo_nth(op, 2);
    if (!left || !right) return;
    if (left->parameter && right->parameter && op->s->computation && !op->s->entry) {
        int a = left->parameter, b = right->parameter;
        hlo_value *c = mw__hlo_value(op->s, op->s->computation ^ HLO_INSIDE, true);
        if (!c) return;
        c->left = a;
        c->right = b;
        c->attrs = mw__explain_text(op->e, "%.400s", op->attrs);
    } else
        judge(op, left, right, op->attrs);
}

void mw__hlo_dot_inside(const hlo_op *op, const hlo_value *c)
{
    if (c->attrs) judge(op, mw__hlo_nth(op, c->left), mw__hlo_nth(op, c->right), c->attrs);
}
