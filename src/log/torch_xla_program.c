/* What happens to annotated tensors in pasted code: products of them, and xm.all_gather. In SPMD
 * mode a program speaks of whole tensors; which pieces meet is worked out by meshwise's rule, as an
 * assumption of what the compiler does, since the text shows none of its work. */
#include "log/explain.h"
#include "log/torch_xla.h"
#include "ops/table.h"
#include "plan/plan.h"

#include <meshwise/plan.h>

enum { LAID = 256 };

/* ---- layouts -----------------------------------------------------------------------------------
 */

/* Of a tensor without an annotation: whole, which is what the compiler takes data for. */
static bool layout_of(const xs_here *h, const mw_mesh *mesh, const xs_value *v, mw_layout *ret)
{
    const char *text = v->marked ? v->marked : "{replicated}";
    mw_reading *r =
        mw__hlo_reading(h->e, mesh, text, (int64_t)strlen(text), v->tensor.ndim, v->tensor.shape);
    bool good = r && mw_reading_layout(r);
    if (good) {
        *ret = *mw_reading_layout(r);
        ret->dtype = (uint8_t)(v->tensor.dtype ? v->tensor.dtype : MW_DTYPE_f32);
    }
    mw_reading_free(r);
    return good;
}

/* A mesh on which both lie. */
static mw_mesh *mesh_of(const xs_here *h, const xs_value *a, const xs_value *b)
{
    hlo_sharding s[2];
    const xs_value *v[2] = {a, b};
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (v[i] && v[i]->marked && mw__hlo_sharding_read(v[i]->marked, &s[n])) n++;
    if (!n || s[0].devices > LAID) return NULL;
    return mw__hlo_mesh(h->e, &s[0], n > 1 ? &s[1] : NULL);
}

static const char *hlo_text(const xs_here *h, const mw_mesh *mesh, const mw_layout *l)
{
    mw_notation_text text = {.text = NULL};
    const char *kept = NULL;
    if (!mw__hlo_done(h->e, mw_notation_print(mesh, l, MW_NOTATION_HLO_V1, &text))) return NULL;
    if (text.text) kept = mw__explain_text(h->e, "%s", text.text);
    mw_notation_text_done(&text);
    return kept;
}

/* The ranks that differ on the axes alone: {{0,1},{2,3}}. */
static const char *groups_of(const xs_here *h, const mw_mesh *mesh, uint32_t axes)
{
    int rank[LAID];
    mw_str text = {0};
    mw__str_putc(&text, '{');
    for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
        int n = mw__team_ranks(mesh, axes, r, rank);
        if (rank[0] != r) continue;
        mw__str_puts(&text, text.length > 1 ? ",{" : "{");
        for (int i = 0; i < n; i++)
            mw__str_printf(&text, "%s%d", i ? "," : "", rank[i]);
        mw__str_putc(&text, '}');
    }
    mw__str_putc(&text, '}');
    return mw__hlo_keep(h->e, &text);
}

/* ---- products ----------------------------------------------------------------------------------
 */

static void tell_operand(const xs_here *h, mw_draft *d, const mw_mesh *mesh, int i,
                         const mw_layout *was, const mw_layout *now)
{
    if (mw_layout_equal(was, now)) return;
    const char *cost = mw__spmd_cost(h->e, mesh, was, now, false, NULL);
    if (cost)
        mw__fact(d, i ? "right operand" : "left operand", MW_HOW_ASSUMED,
                 "the HLO after partitioning would settle it", "brought to another sharding: %s",
                 cost);
}

static void tell_result(const xs_here *h, mw_draft *d, const mw_mesh *mesh, const mw_layout *out,
                        mw_layout *ret)
{
    mw_str shape = {0};
    int64_t local[MW_LAYOUT_DIMS];
    uint32_t terms = mw__layout_partial_axes(out);
    *ret = *out;
    ret->npartial = 0;
    memset(ret->partial, 0, sizeof ret->partial);
    mw__layout_canonical(mesh, ret);
    mw_layout_local_shape(mesh, ret, 0, local);
    mw__hlo_str_shape(ret->ndim, local, &shape);
    mw__fact(d, "local shape of the result", MW_HOW_ASSUMED,
             "the HLO after partitioning would settle it", "%s", mw__hlo_keep(h->e, &shape));
    if (!terms) {
        mw__fact(d, "communication", MW_HOW_ASSUMED, "meshwise's rule for the product",
                 "none for the result: no dim that is summed over is cut");
        return;
    }
    const char *cost = mw__spmd_cost(h->e, mesh, out, ret, false, NULL);
    const char *groups = groups_of(h, mesh, terms);
    mw__fact(d, "communication", MW_HOW_ASSUMED, "meshwise's rule for the product, and its planner",
             "each device makes a term of the sum, since the dim that is summed over is cut: %s",
             cost ? cost : "a reduction");
    mw__fact(d, "replica groups", MW_HOW_ASSUMED, "the devices whose terms are added",
             "%s: groups of one device would add nothing, and leave one term", groups);
}

static xs_value product(const xs_here *h, const xs_value *a, const xs_value *b)
{
    xs_value v = {.kind = XS_NONE};
    const mw_op *op = mw__op_find("mm", 2);
    mw_mesh *mesh = NULL;
    mw_layout l[2], out;
    if (a->kind != XS_TENSOR || b->kind != XS_TENSOR || a->tensor.ndim != 2 ||
        b->tensor.ndim != 2 || a->tensor.shape[1] != b->tensor.shape[0])
        return v;
    v.kind = XS_TENSOR;
    v.tensor = (spmd_value){
        .ndim = 2, .shape = {a->tensor.shape[0], b->tensor.shape[1]}, .dtype = a->tensor.dtype};
    mesh = op ? mesh_of(h, a, b) : NULL;
    if (!mesh || !layout_of(h, mesh, a, &l[0]) || !layout_of(h, mesh, b, &l[1])) {
        mw_mesh_unref(mesh);
        return v;
    }
    mw_meta meta[2] = {{.dtype = (mw_dtype)l[0].dtype, .ndim = 2},
                       {.dtype = (mw_dtype)l[1].dtype, .ndim = 2}};
    for (int i = 0; i < 2; i++)
        mw_layout_shape(&l[i], meta[i].shape);
    const mw_layout *in[2] = {&l[0], &l[1]};
    mw_arg arg[2] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1},
                     {.kind = MW_ARG_TENSOR, .first = 1, .count = 1}};
    mw_call_args call = {.op = op, .narg = 2, .arg = arg, .nin = 2, .in = meta};
    mw_choice choice;
    if (mw__hlo_done(h->e, mw__choose(mesh, &call, in, &h->e->scratch, &choice)) &&
        choice.nout == 1 && !choice.parts) {
        mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "product");
        mw_str shapes = {0};
        mw__hlo_str_shape(2, v.tensor.shape, &shapes);
        mw__fact(d, "result", MW_HOW_DERIVED, "the operands' shapes", "%s",
                 mw__hlo_keep(h->e, &shapes));
        for (int i = 0; i < 2; i++)
            tell_operand(h, d, mesh, i, &l[i], &choice.in[i]);
        tell_result(h, d, mesh, &choice.out[0], &out);
        v.marked = hlo_text(h, mesh, &out);
        if (v.marked)
            mw__fact(d, "sharding of the result", MW_HOW_ASSUMED,
                     "the HLO after propagation would settle it", "%s", v.marked);
        mw__draft_says(d, "A product of annotated tensors%s.",
                       choice.out[0].npartial ? ": its terms must be added up over devices" : "");
    }
    mw_mesh_unref(mesh);
    return v;
}

/* `A @ B @ C`, `(A @ B) @ C`, `torch.matmul(A, B)`. */
xs_value mw__xs_product(const xs_here *h, const mw_py *node)
{
    xs_value none = {.kind = XS_NONE};
    if (!node) return none;
    if (node->kind == MW_PY_TUPLE && node->count == 1) return mw__xs_product(h, node->first);
    bool call = mw__xs_ends(node, "matmul") || mw__xs_ends(node, "mm");
    if (node->kind == MW_PY_CALL && call && node->count == 2) {
        xs_value a = mw__xs_product(h, node->first), b = mw__xs_product(h, node->first->next);
        return product(h, &a, &b);
    }
    if (node->kind != MW_PY_SEQ || !mw__py_mark(mw__py_child(node, 1), '@')) {
        xs_value v = mw__xs_eval(h, node);
        return v.kind == XS_TENSOR ? v : none;
    }
    xs_value sum = mw__xs_product(h, node->first);
    for (const mw_py *at = node->first->next; at && sum.kind && at->next; at = at->next->next) {
        if (!mw__py_mark(at, '@')) return none;
        xs_value next = mw__xs_product(h, at->next);
        sum = product(h, &sum, &next);
    }
    return sum;
}

/* ---- all_gather --------------------------------------------------------------------------------
 */

static const mw_py *argument(const mw_py *call, const char *key, int nth)
{
    const mw_py *by_key = mw__py_key(call, key), *c = mw__py_child(call, nth);
    return by_key ? by_key : c && !c->key ? c : NULL;
}

static void tell_gather(const xs_here *h, mw_draft *d, const xs_value *t)
{
    mw_layout from, to;
    mw_mesh *mesh = mesh_of(h, t, NULL);
    if (!mesh || !layout_of(h, mesh, t, &from)) {
        mw_mesh_unref(mesh);
        return;
    }
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&from, shape);
    to = mw_layout_replicated((mw_dtype)from.dtype, from.ndim, shape);
    const char *cost = mw__spmd_cost(h->e, mesh, &from, &to, false, NULL);
    mw__fact(d, "to gather the pieces", MW_HOW_DERIVED,
             "the plan from its sharding to a whole copy",
             "mark_sharding(t, mesh, (None, ...)): %s, over %s", cost ? cost : "?",
             groups_of(h, mesh, mw__layout_axes(&from)));
    mw_mesh_unref(mesh);
}

/* `xm.all_gather(t, dim=0, groups=[[0, 4], ...])` */
bool mw__xs_all_gather(const xs_here *h, const mw_py *call)
{
    if (!mw__xs_ends(call, "xm.all_gather") && !mw__xs_ends(call, "xla_model.all_gather"))
        return false;
    const mw_py *value = argument(call, "value", 0), *dim = argument(call, "dim", 1);
    const mw_py *groups = argument(call, "groups", 2);
    xs_value t = mw__xs_eval(h, value), along = mw__xs_eval(h, dim);
    int64_t each = groups && groups->kind == MW_PY_LIST && groups->first ? groups->first->count : 0;
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "all_gather");
    if (!d) return true;
    mw__draft_says(d,
                   "xm.all_gather in SPMD mode: the program speaks of whole tensors there, so this "
                   "joins copies of the whole tensor; it does not gather its pieces.");
    bool known = t.kind == XS_TENSOR && t.tensor.ndim > 0;
    int at =
        along.kind == XS_INT && along.i >= 0 && known && along.i < t.tensor.ndim ? (int)along.i : 0;
    if (known && each > 1 && t.tensor.shape[at] < INT64_C(1) << 40) {
        mw_str was = {0}, now = {0};
        int64_t shape[MW_LAYOUT_DIMS];
        memcpy(shape, t.tensor.shape, sizeof shape);
        mw__hlo_str_shape(t.tensor.ndim, shape, &was);
        shape[at] *= each;
        mw__hlo_str_shape(t.tensor.ndim, shape, &now);
        const char *old = mw__hlo_keep(h->e, &was);
        mw__fact(d, "shape", MW_HOW_STATED, h->from, "%s", old);
        mw__fact(
            d, "literal result", MW_HOW_DERIVED, "one copy of the whole tensor for each of a group",
            "%s: the tensor %lld times, dim %d", mw__hlo_keep(h->e, &now), (long long)each, at);
    }
    if (known && t.marked) tell_gather(h, d, &t);
    mw__problem(
        d, "collective-on-whole", -1, -1,
        "to gather the pieces change the sharding: mark_sharding(t, mesh, (None, ...)) keeps the "
        "shape; or work on pieces in a manual region (enable_manual_sharding), where all_gather "
        "means what it says",
        "a collective of xm is applied to a whole tensor: its result is longer than the tensor "
        "that was sharded%s",
        known && each > 1 ? "" : ", if its groups have more than one device");
    return true;
}
