/* A visit to a node: per factor, the axes on which its tensors agree, given to those that have
 * fewer.
 *
 * Factors may want one axis of a tensor: then they are served in turn, the one with the largest
 * source first, and results before operands. So the tensors of a node need not end alike: what they
 * still disagree on is a true conflict, left to the pass that pays for it. */
#include "graph/propagate.h"

enum { FACTORS = 128 };

typedef struct visit {
    flow *f;
    spreads *s;
    const mw_node *node;
    const flow_rule *rule;
    flow_step step;
    int version[FACTORS]; /* of each tensor's value when its lanes were laid, as far as there is
                             room */
    const spread *axes[FACTORS];
    int source[FACTORS];
    int order[FACTORS], norder;
} visit;

static flow_value *value_of(const visit *v, int t)
{
    const mw_node *n = v->node;
    return v->f->value[t < n->nin ? n->in[t]->id : n->out[t - n->nin]->id];
}

static flow_lane *lanes_of(const visit *v, int t)
{
    return v->f->lane + (int64_t)t * v->rule->nfactor;
}

/* ---- what the tensors have --------------------------------------------------------------------
 */

/* Parts of a dim (slice, split) are whole indices of its major factor: where that is cut, no part
 * lies as a part of the dim does, and the rule that takes the dim as one goes on. */
static bool cut_between_parts(const visit *v, const flow_dim *dim, const spread_parts *parts)
{
    for (int k = 0; k < dim->n && v->rule->more && parts; k++)
        if (v->rule->factor[dim->factor[k]].from == FLOW_ANY && parts->at[k] != v->s->none)
            return true;
    return false;
}

static void lay_dim(visit *v, int t, int d)
{
    const flow_dim *dim = &v->rule->tensor[t].dim[d];
    const flow_value *value = value_of(v, t);
    const spread *at = value->at[d];
    const spread_parts *parts = NULL;
    if (dim->n > 1 && at != v->s->none) parts = mw__spread_split(v->s, at, dim->size, dim->n);
    if (cut_between_parts(v, dim, parts)) return;
    for (int k = 0; k < dim->n; k++) {
        flow_lane *lane = &lanes_of(v, t)[dim->factor[k]];
        bool loose = v->rule->factor[dim->factor[k]].loose;
        if (lane->has || (loose && !at->plain)) continue;
        *lane = (flow_lane){.at = at,
                            .over = v->s->none,
                            .size = dim->size[k],
                            .dim = d,
                            .nth = k,
                            .has = true,
                            .closed = !(value->open >> d & 1),
                            .minor = k == dim->n - 1};
        if (dim->n == 1 || !parts) continue;
        lane->at = parts->at[k];
        if (parts->over == v->s->none) continue;
        if (k == parts->over_at) lane->over = parts->over;
        lane->closed = true;
    }
}

static void lay_tensor(visit *v, int t)
{
    memset(lanes_of(v, t), 0, (size_t)v->rule->nfactor * sizeof(flow_lane));
    for (int d = 0; d < v->rule->tensor[t].ndim; d++)
        lay_dim(v, t, d);
    if (t < FACTORS) v->version[t] = value_of(v, t)->version;
}

/* ---- what they agree on -----------------------------------------------------------------------
 */

static bool used_often(const visit *v)
{
    for (int t = 0; t < v->rule->nin; t++)
        if (v->rule->tensor[t].takes == FLOW_SAME && !value_of(v, t)->follows &&
            value_of(v, t)->uses > 1)
            return true;
    return false;
}

static bool gives(const visit *v, int t)
{
    return v->step >= v->rule->tensor[t].gives && !value_of(v, t)->follows;
}

static void agree(visit *v, int factor)
{
    int n = v->rule->nin + v->rule->nout;
    const spread *axes = v->s->none;
    bool grow = true;
    for (int t = 0; t < n; t++)
        if (lanes_of(v, t)[factor].has && gives(v, t))
            axes = mw__spread_meet(v->s, axes, lanes_of(v, t)[factor].at, &grow);
    v->axes[factor] = axes;
    v->source[factor] = -1;
    int64_t largest = -1;
    for (int t = 0; t < n && axes != v->s->none; t++) {
        const flow_lane *lane = &lanes_of(v, t)[factor];
        if (!lane->has || !gives(v, t) || v->rule->tensor[t].count <= largest) continue;
        if (lane->at != axes && !mw__spread_strict_prefix(v->s, axes, lane->at)) continue;
        largest = v->rule->tensor[t].count;
        v->source[factor] = t;
    }
}

/* Is factor a served before factor b? */
static bool before(const visit *v, int a, int b)
{
    int sa = v->source[a], sb = v->source[b];
    int64_t ca = sa < 0 ? -1 : v->rule->tensor[sa].count;
    int64_t cb = sb < 0 ? -1 : v->rule->tensor[sb].count;
    if (ca != cb) return ca > cb;
    if (v->rule->elementwise && v->axes[a]->product != v->axes[b]->product)
        return v->axes[a]->product > v->axes[b]->product;
    return sa != sb ? sa < sb : a < b;
}

static void put_in_order(visit *v)
{
    bool often = v->rule->same && used_often(v);
    v->norder = 0;
    for (int factor = 0; factor < v->rule->nfactor; factor++) {
        const flow_factor *what = &v->rule->factor[factor];
        flow_step from = !v->rule->same ? (flow_step)what->from
                         : often        ? FLOW_SAME_MANY
                                        : FLOW_SAME;
        if (v->step < from || what->size == 0) continue;
        agree(v, factor);
        if (v->axes[factor] == v->s->none) continue;
        int at = v->norder++;
        for (; at > 0 && before(v, factor, v->order[at - 1]); at--)
            v->order[at] = v->order[at - 1];
        v->order[at] = factor;
    }
}

/* ---- what one tensor may take -----------------------------------------------------------------
 */

static int64_t gcd64(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* On a factor with others behind it, axes have to divide it. Where no part of the first one does,
 * or all ranks still get something, it is cut unevenly as a dim of its own would be. */
static bool may_be_uneven(const flow_lane *lane, const spread *axes)
{
    return lane->minor || lane->size % axes->product == 0 || axes->product <= lane->size ||
           gcd64(lane->size, axes->list.at[0].size) == 1;
}

/* The part of the axis that the factor can have after `product` before it. */
static bool fits_factor(const visit *v, const flow_value *value, const flow_lane *lane, bool uneven,
                        int64_t product, mw_axis_ref *axis)
{
    for (int i = 0; i < value->nheld; i++)
        if (!mw__axis_ref_prefix_without(*axis, value->held[i], axis)) return false;
    const mw_axis_list *had = &lane->at->list;
    for (int i = 0; i < had->n; i++)
        if (mw__axis_ref_contains(had->at[i], *axis)) return true;
    if (!lane->closed && lane->over == v->s->none) {
        if (uneven) return true;
        axis->size = (int32_t)gcd64(lane->size / product, axis->size);
        return axis->size > 1;
    }
    if (!had->n || !mw__axis_ref_prefix_of(had->at[had->n - 1], *axis)) return false;
    *axis = had->at[had->n - 1];
    return true;
}

static const spread *within_factor(const visit *v, int t, const flow_lane *lane, const spread *axes)
{
    const flow_value *value = value_of(v, t);
    bool uneven = may_be_uneven(lane, axes);
    mw_axis_list list = {0};
    int64_t product = 1;
    for (int i = 0; i < axes->list.n; i++) {
        mw_axis_ref axis = axes->list.at[i];
        if (!fits_factor(v, value, lane, uneven, product, &axis)) break;
        list.at[list.n++] = axis;
        if (!mw__axis_ref_equal(axis, axes->list.at[i])) break;
        product *= axis.size;
    }
    return mw__spread_cut(v->s, axes, &list);
}

static bool clear_of(mw_axis_ref *axis, const spread *other)
{
    if (!(other->axes >> axis->axis & 1)) return true;
    for (int i = 0; i < other->list.n; i++)
        if (!mw__axis_ref_prefix_without(*axis, other->list.at[i], axis)) return false;
    return true;
}

/* Without what the tensor's other dims and factors have. Dims that no factor reaches count too. */
static const spread *across_factors(const visit *v, int t, int factor, const spread *axes)
{
    const flow_value *value = value_of(v, t);
    const flow_lane *lanes = lanes_of(v, t);
    mw_axis_list list = {0};
    for (int i = 0; i < axes->list.n; i++) {
        mw_axis_ref axis = axes->list.at[i];
        bool clear = true;
        int own = lanes[factor].has ? lanes[factor].dim : -1;
        for (int d = 0; d < v->rule->tensor[t].ndim && clear; d++)
            if (d != own) clear = clear_of(&axis, value->at[d]);
        const flow_dim *dim = own < 0 ? NULL : &v->rule->tensor[t].dim[own];
        for (int k = 0; dim && k < dim->n && clear; k++) {
            const flow_lane *other = &lanes[dim->factor[k]];
            if (dim->factor[k] != factor && other->has)
                clear = clear_of(&axis, other->at) && clear_of(&axis, other->over);
        }
        if (!clear) break;
        list.at[list.n++] = axis;
        if (!mw__axis_ref_equal(axis, axes->list.at[i])) break;
    }
    return mw__spread_cut(v->s, axes, &list);
}

/* Basic: only what every tensor of the node could have, its other factors as they lie. */
static const spread *in_all(const visit *v, int factor, const spread *axes)
{
    for (int t = 0; t < v->rule->nin + v->rule->nout; t++) {
        const flow_lane *lanes = lanes_of(v, t);
        if (lanes[factor].has) axes = within_factor(v, t, &lanes[factor], axes);
        axes = across_factors(v, t, factor, axes);
    }
    return axes;
}

/* An elementwise op does not spread an operand further than its result. */
static const spread *as_results(const visit *v, int factor, const spread *axes)
{
    for (int o = 0; o < v->rule->nout; o++) {
        const flow_lane *lane = &lanes_of(v, v->rule->nin + o)[factor];
        if (lane->has && mw__spread_strict_prefix(v->s, lane->at, axes)) axes = lane->at;
    }
    return axes;
}

/* ---- giving it --------------------------------------------------------------------------------
 */

static mw_status remember(visit *v, int t, int d, int factor, const spread *had, const spread *now)
{
    flow_value *value = value_of(v, t);
    for (int i = 0; i < now->list.n; i++) {
        bool old = false;
        for (int k = 0; k < had->list.n && !old; k++)
            old = mw__axis_ref_contains(had->list.at[k], now->list.at[i]);
        if (old) continue;
        mw_origin *o = mw__arena_zalloc(&v->f->graph->arena, sizeof *o);
        const char *name = v->rule->factor[factor].name;
        char *kept = o ? mw__arena_strndup(&v->f->graph->arena, name, strlen(name)) : NULL;
        if (!kept) return MW_NOMEM();
        const mw_axis_ref *axis = &now->list.at[i];
        *o = (mw_origin){.next = value->ssa->origin,
                         .dim = d,
                         .axis = axis->axis,
                         .major = axis->major,
                         .size = axis->size,
                         .from = value_of(v, v->source[factor])->ssa,
                         .via = v->node,
                         .factor = kept,
                         .because = ""};
        value->ssa->origin = o;
    }
    return MW_OK;
}

/* A factor behind others gets axes where those are all used up or, in the last step, all whole: a
 * strided dim is no tile, and waits until tiles have gone where they go. A dim whose major part is
 * cut and has more to cut would be strided twice. */
static bool majors_allow(const visit *v, const flow_dim *dim, const flow_lane *lanes, int nth)
{
    bool whole = v->step >= FLOW_STRIDED || lanes[dim->factor[nth]].at != v->s->none, full = true;
    for (int k = 0; k < nth; k++) {
        const flow_lane *lane = &lanes[dim->factor[k]];
        if (dim->size[k] == 1) continue;
        whole = whole && lane->at == v->s->none;
        full = full && lane->at->product == dim->size[k];
    }
    return whole || full;
}

static mw_status give(visit *v, int t, int factor, const spread *axes, bool *ret_changed)
{
    flow_lane *lanes = lanes_of(v, t), *lane = &lanes[factor];
    flow_value *value = value_of(v, t);
    const flow_dim *dim = &v->rule->tensor[t].dim[lane->dim];
    const spread *part[SPREAD_FACTORS], *joined = axes;
    if (!majors_allow(v, dim, lanes, lane->nth)) return MW_OK;
    if (v->rule->factor[factor].loose && axes->product > lane->size) return MW_OK;
    if (dim->n > 1) {
        for (int k = 0; k < dim->n; k++)
            part[k] = k == lane->nth ? axes : lanes[dim->factor[k]].at;
        joined = mw__spread_join(v->s, part, dim->size, dim->n);
    }
    mw_dim said; /* can a layout say it at all? */
    int64_t size = mw_layout_size(&value->ssa->layout, lane->dim);
    if (!joined || joined == value->at[lane->dim] || !mw__spread_dim(v->s, joined, size, &said))
        return MW_OK;
    MW_TRY(remember(v, t, lane->dim, factor, lane->at, axes));
    lane->at = axes;
    value->at[lane->dim] = joined;
    value->version++;
    if (t < FACTORS) v->version[t] = value->version;
    *ret_changed = true;
    return MW_OK;
}

static mw_status serve(visit *v, int t, bool *ret_changed)
{
    *ret_changed = false;
    if (v->step < v->rule->tensor[t].takes) return MW_OK;
    if (t >= FACTORS || v->version[t] != value_of(v, t)->version) lay_tensor(v, t);
    for (int i = 0; i < v->norder; i++) {
        int factor = v->order[i];
        const flow_lane *lane = &lanes_of(v, t)[factor];
        if (!lane->has || lane->at == v->axes[factor]) continue;
        const spread *axes = within_factor(v, t, lane, v->axes[factor]);
        if (!mw__spread_strict_prefix(v->s, lane->at, axes)) continue;
        axes = across_factors(v, t, factor, axes);
        if (v->rule->elementwise && t < v->rule->nin) axes = as_results(v, factor, axes);
        if (!mw__spread_strict_prefix(v->s, lane->at, axes)) continue;
        MW_TRY(give(v, t, factor, axes, ret_changed));
    }
    return MW_OK;
}

static mw_status one_rule(visit *v, bool *ret_changed)
{
    int n = v->rule->nin + v->rule->nout;
    MW_TRY(
        mw__grow(&v->f->lane, &v->f->cap_lane, (int64_t)n * v->rule->nfactor, sizeof(flow_lane)));
    for (int t = 0; t < n; t++)
        lay_tensor(v, t);
    put_in_order(v);
    for (int i = 0; i < v->norder && v->f->basic; i++)
        v->axes[v->order[i]] = in_all(v, v->order[i], v->axes[v->order[i]]);
    for (int i = 0; i < n && v->norder; i++) { /* results first */
        int t = i < v->rule->nout ? v->rule->nin + i : i - v->rule->nout;
        bool changed;
        MW_TRY(serve(v, t, &changed));
        ret_changed[t] = ret_changed[t] || changed;
    }
    return v->s->failed ? MW_NOMEM() : MW_OK;
}

mw_status mw__flow_visit(flow *f, const mw_node *node, const flow_rule *rule, flow_step step,
                         bool *ret_changed)
{
    visit v = {.f = f, .node = node, .step = step};
    memset(ret_changed, 0, (size_t)(rule->nin + rule->nout) * sizeof *ret_changed);
    for (int m = 0; m < f->graph->nmesh; m++)
        if (f->graph->mesh[m] == node->out[0]->mesh) v.s = &f->spread[m];
    for (; v.s && rule; rule = rule->more) {
        v.rule = rule;
        if (rule->nfactor > 0 && rule->nfactor <= FACTORS) MW_TRY(one_rule(&v, ret_changed));
    }
    return MW_OK;
}
