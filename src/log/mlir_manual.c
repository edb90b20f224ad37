/* Manual regions of the older spelling: `@Sharding` says how a value is cut,
 * `@SPMDFullToShardShape` hands on one device's piece of it, and a function is called with pieces.
 * Where the function's body is not in the text, and its types fit a product of matrices, what that
 * would leave is told as assumed. */
#include "log/collective.h"
#include "log/mlir.h"

#include <meshwise/notation.h>
#include <stdio.h>

/* The sharding's whole shape from its pieces; false where they don't fit. */
static bool whole(const hlo_sharding *s, const hlo_shape *piece, int64_t *ret)
{
    if (s->kind != HLO_TILES_KIND || s->ntile - s->nsub != piece->ndim) return false;
    for (int i = 0; i < piece->ndim; i++)
        if (mw__mul_size(piece->dim[i], s->tile[i], &ret[i]) != MW_OK) {
            mw_error_clear();
            return false;
        }
    return true;
}

static bool cut_of(const mlir_value *v, hlo_sharding *ret)
{
    return v && v->sharding && *v->sharding == '{' && mw__hlo_sharding_read(v->sharding, ret) &&
           ret->kind == HLO_TILES_KIND;
}

/* `%1 = custom_call @SPMDFullToShardShape(%0)`: the piece must be what the sharding of %0 leaves.
 */
static void begins(const mlir_here *h)
{
    const mlir_value *from = mw__mlir_operand(h, 0);
    hlo_sharding s;
    hlo_shape piece;
    if (!cut_of(from, &s) || !mw__mlir_type(h->text, 0, &piece)) return;
    const char *sharding = from->sharding, *name = h->text;
    hlo_shape all = from->type;
    mlir_value *v = mw__mlir_value(h->s, mw__mlir_value_name(&name), true);
    if (!v) return;
    v->sharding = sharding;
    if (all.ndim != piece.ndim || s.ntile - s.nsub != all.ndim) return;
    bool fits = true;
    for (int i = 0; i < all.ndim; i++)
        fits &= piece.dim[i] == (all.dim[i] + s.tile[i] - 1) / s.tile[i];
    mw_str a = {0}, b = {0};
    mw__hlo_shape_str(&all, &a);
    mw__hlo_shape_str(&piece, &b);
    mw_draft *d = mw__draft(h->e, h->line, "stablehlo", "manual");
    mw__draft_says(d, "One device's piece %s of %s, cut as %.300s says.", mw__str_text(&b),
                   mw__str_text(&a), sharding);
    mw__fact(d, "piece", MW_HOW_STATED, h->from, "%s", mw__str_text(&b));
    mw__fact(d, "whole", MW_HOW_STATED, h->from, "%s", mw__str_text(&a));
    mw__fact(d, "fits", MW_HOW_DERIVED, "the whole's dims over the numbers of pieces", "%s",
             fits ? "yes: whole and piece agree with the sharding" : "no");
    if (!fits)
        mw__problem(d, "manual-shape", -1, -1, "cut the value as the region expects it",
                    "The piece %s is not what the sharding leaves of %s.", mw__str_text(&b),
                    mw__str_text(&a));
    mw__str_done(&a);
    mw__str_done(&b);
}

/* ---- a product of pieces -----------------------------------------------------------------------
 */

typedef struct product {
    const mw_mesh *mesh;
    const mw_layout *left, *right;
    hlo_shape piece; /* of the result, on each device */
} product;

static bool same_cuts(const mw_dim *a, const mw_dim *b)
{
    return a->ncut == b->ncut && a->ncut > 0 &&
           memcmp(a->cut, b->cut, a->ncut * sizeof *a->cut) == 0;
}

/* The axes of a dim's cuts, and how many devices differ along them. */
static int64_t axes(const product *p, const mw_dim *dim, mw_str *to)
{
    int64_t size = 1;
    for (int c = 0; c < dim->ncut; c++) {
        if (dim->cut[c].axis < 0) continue;
        mw__str_printf(to, "%s%s", to->length ? "," : "",
                       mw_mesh_axis_name(p->mesh, dim->cut[c].axis));
        size *= dim->cut[c].size;
    }
    return size;
}

/* Devices that differ along the axes of the dim's cuts alone. */
static void groups(const product *p, const mw_dim *dim, mw_str *to)
{
    int n = mw_mesh_ranks(p->mesh);
    bool told[64] = {false};
    if (n > MW_COUNT(told)) return;
    for (int r = 0; r < n; r++) {
        if (told[r]) continue;
        mw__str_puts(to, to->length ? ",{" : "{");
        for (int q = r, first = 1; q < n; q++) {
            bool same = true;
            for (int axis = 0; axis < mw_mesh_axes(p->mesh); axis++) {
                bool cut = false;
                for (int c = 0; c < dim->ncut; c++)
                    cut |= dim->cut[c].axis == axis;
                same &= cut || mw_mesh_coord(p->mesh, q, axis) == mw_mesh_coord(p->mesh, r, axis);
            }
            if (!same) continue;
            mw__str_printf(to, "%s%d", first ? "" : ",", q);
            told[q] = true;
            first = 0;
        }
        mw__str_putc(to, '}');
    }
}

/* Rows as the left operand's, columns as the right one's. */
static void tell_result(mw_explain *e, mw_draft *d, const product *p)
{
    mw_layout result = *p->left;
    mw_notation_text text = {.text = NULL};
    result.dim[1] = p->right->dim[1];
    if (!mw__hlo_done(e, mw_notation_print(p->mesh, &result, MW_NOTATION_HLO_V2, &text))) return;
    if (text.text)
        mw__fact(d, "sharding of the result", MW_HOW_ASSUMED,
                 "the body of the function: rows as the left operand's, columns as the right one's",
                 "%s, once the terms are added", text.text);
    mw_notation_text_done(&text);
}

static void tell_product(mw_explain *e, int64_t at, const product *p)
{
    const mw_dim *inner = &p->left->dim[1];
    mw_str names = {0}, who = {0};
    int64_t n = axes(p, inner, &names);
    int64_t bytes = mw__collective_received(MW_COLLECTIVE_all_reduce, p->piece.bytes, n);
    groups(p, inner, &who);
    mw_line line = {.number = at, .rank = -1};
    mw_draft *d = mw__draft(e, &line, "stablehlo", "product");
    const char *how = "the body of the function, which is not in the text: its types fit a product "
                      "of matrices whose inner dims are both cut so";
    mw__draft_says(d,
                   "If the function multiplies its operands, each device is left with a term of a "
                   "sum over %lld devices.",
                   (long long)n);
    mw__fact(d, "terms over", MW_HOW_ASSUMED, how, "%s: %lld devices each", mw__str_text(&names),
             (long long)n);
    if (who.length) mw__fact(d, "groups", MW_HOW_ASSUMED, how, "%s", mw__str_text(&who));
    if (bytes >= 0)
        mw__fact(d, "received per device to add them up", MW_HOW_ASSUMED, how,
                 "%lld B by an all-reduce of %lld B", (long long)bytes, (long long)p->piece.bytes);
    tell_result(e, d, p);
    mw__str_done(&names);
    mw__str_done(&who);
}

void mw__mlir_product(mw_explain *e, const mlir_call *call)
{
    hlo_sharding left, right;
    product p = {.piece = call->result};
    const hlo_shape *a = &call->operand[0], *b = &call->operand[1];
    int64_t shape[2][HLO_DIMS];
    if (!call->sharding[0] || !call->sharding[1] || a->ndim != 2 || b->ndim != 2 ||
        p.piece.ndim != 2 || a->dim[1] != b->dim[0] || p.piece.dim[0] != a->dim[0] ||
        p.piece.dim[1] != b->dim[1])
        return;
    if (!mw__hlo_sharding_read(call->sharding[0], &left) ||
        !mw__hlo_sharding_read(call->sharding[1], &right) || !whole(&left, a, shape[0]) ||
        !whole(&right, b, shape[1]))
        return;
    mw_mesh *mesh = mw__hlo_mesh(e, &left, &right);
    mw_reading *x = mesh ? mw__hlo_sharding_reading(e, mesh, &left, 2, shape[0]) : NULL;
    mw_reading *y = mesh ? mw__hlo_sharding_reading(e, mesh, &right, 2, shape[1]) : NULL;
    p.mesh = mesh;
    p.left = x ? mw_reading_layout(x) : NULL;
    p.right = y ? mw_reading_layout(y) : NULL;
    if (p.left && p.right && same_cuts(&p.left->dim[1], &p.right->dim[0]))
        tell_product(e, call->line, &p);
    mw_reading_free(x);
    mw_reading_free(y);
    mw_mesh_unref(mesh);
}

/* `%4 = call @f(%1, %3)`: what it got is kept until its body comes, or does not. */
static void called(const mlir_here *h, const char *at)
{
    const mlir_value *value[2] = {mw__mlir_operand(h, 0), mw__mlir_operand(h, 1)};
    mlir_call *call = mw__mlir_call(h->s, at + 1);
    hlo_sharding s;
    if (!call || call->line != h->line->number || !mw__mlir_type(h->text, 0, &call->result)) return;
    for (int i = 0; i < 2; i++) {
        if (!cut_of(value[i], &s)) return;
        call->sharding[i] = value[i]->sharding;
        call->operand[i] = value[i]->type;
    }
}

/* `%1 = stablehlo.iota dim = 0 : tensor<8xi32>` in a region: every device counts from 0. */
static void counts(const mlir_here *h)
{
    const char *at = strstr(h->text, "stablehlo.iota dim = ");
    hlo_shape piece;
    int64_t dim;
    if (!h->s->manual || !at || (at += 21, !mw__hlo_int(&at, &dim)) ||
        !mw__mlir_type(h->text, 0, &piece) || dim >= piece.ndim)
        return;
    int64_t n = piece.dim[dim];
    mw_draft *d = mw__draft(h->e, h->line, "stablehlo", "iota");
    mw__draft_says(d,
                   "An iota in a manual region: each device counts from 0 to %lld, positions in "
                   "its own piece.",
                   (long long)n - 1);
    mw__fact(d, "values", MW_HOW_DERIVED, "an op in a manual region works on one device's piece",
             "0 to %lld along dim %lld, on every device", (long long)n - 1, (long long)dim);
    mw__fact(d, "positions in the whole", MW_HOW_DERIVED,
             "piece k of a dim cut in pieces of that length begins at k times it",
             "%lldk to %lldk + %lld on the devices of piece k, if the dim is cut: add the device's "
             "place along the axis that cuts it (partition_id, axis_index) times %lld; nothing "
             "need move for it",
             (long long)n, (long long)n, (long long)n - 1, (long long)n);
}

void mw__mlir_manual(const mlir_here *h)
{
    if (*h->text != '%') return;
    counts(h);
    if (strstr(h->text, "@SPMDFullToShardShape(")) begins(h);
    const char *call = strstr(h->text, "call @");
    if (call && !strstr(h->text, "custom_call")) called(h, call + 5);
}
