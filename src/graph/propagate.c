/* Pass `propagate`: layouts go from values that have them, along the factors of ops, to values
 * whose dims are open; forward, backward and sideways. The order is Shardy's: annotations by their
 * priority; for each, steps in which more and more ops and factors take part (flow_step), so that
 * what costs nothing is settled first; in each, a worklist, top down, until nothing changes.
 *
 * Axes are only ever added, to open dims: so it ends, and what is annotated stays. A value that
 * nothing reaches stays open and whole. Nothing passes between meshes. */
#include "graph/propagate.h"
#include "graph/passes.h"

/* ---- values -----------------------------------------------------------------------------------
 */

static spreads *spreads_of(flow *f, const mw_ssa *v)
{
    for (int m = 0; m < f->graph->nmesh; m++)
        if (f->graph->mesh[m] == v->mesh) return &f->spread[m];
    return NULL;
}

static bool annotated(const mw_ssa *v)
{
    return v->stated || v->def->kind == MW_NODE_INPUT;
}

static const char *kind_of_annotation(const mw_graph *graph, const mw_ssa *v)
{
    switch (v->def->kind) {
    case MW_NODE_INPUT:
        return "argument";
    case MW_NODE_MARK:
        return "mark_sharding";
    case MW_NODE_STEP:
        return "redistribute";
    default:
        for (int i = 0; i < graph->nresult; i++)
            if (graph->result[i] == v) return "result";
        return "annotation";
    }
}

static mw_status annotation_origin(flow *f, mw_ssa *v, const spread *at, int dim)
{
    for (int i = at->list.n - 1; i >= 0; i--) {
        mw_origin *o = mw__arena_zalloc(&f->graph->arena, sizeof *o);
        if (!o) return MW_NOMEM();
        const mw_axis_ref *axis = &at->list.at[i];
        *o = (mw_origin){.next = v->origin,
                         .dim = dim,
                         .axis = axis->axis,
                         .major = axis->major,
                         .size = axis->size,
                         .factor = "",
                         .because = kind_of_annotation(f->graph, v)};
        v->origin = o;
    }
    return MW_OK;
}

/* Dims whose turn comes later are closed and empty, and their axes kept for them. */
static void take_turn(flow *f, flow_value *value, int priority, bool first)
{
    const mw_ssa *v = value->ssa;
    spreads *s = spreads_of(f, v);
    value->nheld = 0;
    for (int i = 0; i < v->layout.npartial; i++) {
        const mw_partial *p = &v->layout.partial[i];
        value->held[value->nheld++] = (mw_axis_ref){p->axis, p->major, p->size};
    }
    for (int d = 0; d < v->layout.ndim; d++) {
        const spread *stated = mw__spread_of(s, &v->layout.dim[d]);
        int own = v->priority[d];
        if (own > priority) {
            value->at[d] = s->none;
            value->open &= ~(1u << d);
            for (int i = 0; i < stated->list.n; i++)
                value->held[value->nheld++] = stated->list.at[i];
        } else if (own == priority || first) {
            value->at[d] = stated;
            value->open = (value->open & ~(1u << d)) | (uint32_t)(v->layout.dim[d].open != 0) << d;
        }
    }
    value->version++;
}

static mw_status new_value(flow *f, mw_ssa *v, flow_value **ret)
{
    int axes = v->layout.npartial;
    for (int d = 0; d < v->layout.ndim; d++)
        axes += v->layout.dim[d].ncut;
    flow_value *value = mw__arena_zalloc(&f->arena, sizeof *value);
    if (!value) return MW_NOMEM();
    value->ssa = v;
    value->at = mw__arena_zalloc(&f->arena, (size_t)(v->layout.ndim + 1) * sizeof(spread *));
    value->held = mw__arena_zalloc(&f->arena, (size_t)(axes + 1) * sizeof *value->held);
    if (!value->at || !value->held) return MW_NOMEM();
    bool made = v->def->kind == MW_NODE_CONST || (v->def->kind == MW_NODE_OP && v->def->nin == 0);
    value->follows = made && !annotated(v);
    take_turn(f, value, 0, true);
    v->origin = NULL;
    for (int d = v->layout.ndim - 1; d >= 0; d--)
        MW_TRY(annotation_origin(f, v, mw__spread_of(spreads_of(f, v), &v->layout.dim[d]), d));
    *ret = value;
    return MW_OK;
}

static mw_status new_values(flow *f)
{
    mw_graph *graph = f->graph;
    f->value = mw__arena_zalloc(&f->arena, (size_t)(graph->nvalue + 1) * sizeof(flow_value *));
    if (!f->value) return MW_NOMEM();
    for (mw_node *n = graph->first; n; n = n->next)
        for (int i = 0; i < n->nout; i++) {
            mw_ssa *v = n->out[i];
            if (i == 0 && mw__node_writes(n) && !annotated(v) && v->mesh == n->in[0]->mesh)
                f->value[v->id] = f->value[n->in[0]->id]; /* the same memory: it lies as it lay */
            else
                MW_TRY(new_value(f, v, &f->value[v->id]));
        }
    for (mw_node *n = graph->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            f->value[n->in[i]->id]->uses++;
    for (int i = 0; i < graph->nresult; i++)
        f->value[graph->result[i]->id]->uses++;
    return MW_OK;
}

/* ---- the worklist -----------------------------------------------------------------------------
 */

typedef struct entry {
    const mw_node *node;
    const flow_rule *rule;
    bool waits;     /* is on the stack */
    int seen;       /* the sum of the versions of its values after the last visit */
    flow_step step; /* of that visit */
} entry;

typedef struct work {
    flow *f;
    entry *entry; /* in program order; nodes without a rule are left out */
    int n;
    int *stack, nstack;
    int *first_user, *user; /* users of value i: user[first_user[i] .. first_user[i + 1]), rising */
    int *maker;             /* by value; -1: none with a rule */
    bool *changed;
    bool any;
} work;

static mw_status make_entries(work *w)
{
    flow *f = w->f;
    size_t n = (size_t)f->graph->nnode + 1;
    int most = 0;
    w->entry = mw__arena_zalloc(&f->arena, n * sizeof *w->entry);
    w->stack = mw__arena_zalloc(&f->arena, n * sizeof *w->stack);
    if (!w->entry || !w->stack) return MW_NOMEM();
    for (mw_node *node = f->graph->first; node; node = node->next) {
        const flow_rule *rule;
        MW_TRY(mw__flow_rule_of(node, &f->rules, &rule));
        bool one_mesh = rule && node->nout > 0;
        for (int i = 0; i < node->nin && one_mesh; i++)
            one_mesh = node->in[i]->mesh == node->out[0]->mesh;
        if (!one_mesh) continue;
        w->entry[w->n++] = (entry){.node = node, .rule = rule, .seen = -1};
        most = MW_MAX(most, node->nin + node->nout);
    }
    w->changed = mw__arena_zalloc(&f->arena, (size_t)most + 1);
    return w->changed ? MW_OK : MW_NOMEM();
}

static mw_status make_users(work *w)
{
    flow *f = w->f;
    size_t n = (size_t)f->graph->nvalue + 2;
    w->first_user = mw__arena_zalloc(&f->arena, n * sizeof(int));
    w->maker = mw__arena_zalloc(&f->arena, n * sizeof(int));
    if (!w->first_user || !w->maker) return MW_NOMEM();
    memset(w->maker, 0xff, n * sizeof(int));
    int total = 0;
    for (int e = 0; e < w->n; e++) {
        const mw_node *node = w->entry[e].node;
        for (int i = 0; i < node->nin; i++)
            w->first_user[f->value[node->in[i]->id]->ssa->id + 1]++, total++;
        for (int i = 0; i < node->nout; i++) {
            int id = f->value[node->out[i]->id]->ssa->id;
            if (w->maker[id] < 0) w->maker[id] = e;
        }
    }
    for (size_t i = 1; i < n; i++)
        w->first_user[i] += w->first_user[i - 1];
    int *next = mw__arena_zalloc(&f->arena, n * sizeof(int));
    w->user = mw__arena_zalloc(&f->arena, (size_t)(total + 1) * sizeof(int));
    if (!next || !w->user) return MW_NOMEM();
    memcpy(next, w->first_user, n * sizeof(int));
    for (int e = 0; e < w->n; e++)
        for (int i = 0; i < w->entry[e].node->nin; i++)
            w->user[next[f->value[w->entry[e].node->in[i]->id]->ssa->id]++] = e;
    return MW_OK;
}

static void push(work *w, int e)
{
    if (w->entry[e].waits) return;
    w->entry[e].waits = true;
    w->stack[w->nstack++] = e;
}

/* Who looks at the value: its maker, and its users; the first of them comes next. */
static void push_neighbours(work *w, const flow_value *value, int but)
{
    int id = value->ssa->id;
    if (w->maker[id] >= 0 && w->maker[id] != but) push(w, w->maker[id]);
    for (int u = w->first_user[id + 1] - 1; u >= w->first_user[id]; u--)
        if (w->user[u] != but) push(w, w->user[u]);
}

static flow_value *nth_value(const work *w, const mw_node *node, int t)
{
    return w->f->value[t < node->nin ? node->in[t]->id : node->out[t - node->nin]->id];
}

static int versions(const work *w, const mw_node *node)
{
    int sum = 0;
    for (int t = 0; t < node->nin + node->nout; t++)
        sum += nth_value(w, node, t)->version;
    return sum;
}

static mw_status sweep(work *w, flow_step step)
{
    w->any = false;
    for (int e = w->n - 1; e >= 0; e--)
        push(w, e);
    while (w->nstack) {
        int at = w->stack[--w->nstack];
        entry *e = &w->entry[at];
        e->waits = false;
        if (e->seen == versions(w, e->node) && e->step == step) continue;
        MW_TRY(mw__flow_visit(w->f, e->node, e->rule, step, w->changed));
        e->seen = versions(w, e->node);
        e->step = step;
        for (int t = 0; t < e->node->nin + e->node->nout; t++) {
            if (!w->changed[t]) continue;
            w->any = true;
            push_neighbours(w, nth_value(w, e->node, t), at);
        }
    }
    return MW_OK;
}

/* A node is not looked at again for what it changed itself; a second sweep does. */
static mw_status run_steps(work *w)
{
    for (int step = 0; step < FLOW_STEPS; step++)
        do {
            MW_TRY(sweep(w, (flow_step)step));
            for (int e = 0; e < w->n && w->any; e++)
                w->entry[e].seen = -1;
        } while (w->any);
    return MW_OK;
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static int next_priority(const mw_graph *graph, int after)
{
    int next = -1;
    for (int64_t i = 0; i < graph->nvalue; i++) {
        const mw_ssa *v = graph->value[i];
        for (int d = 0; v && d < v->layout.ndim; d++)
            if (v->priority[d] > after && (next < 0 || v->priority[d] < next))
                next = v->priority[d];
    }
    return next;
}

static mw_status write_back(flow *f)
{
    for (int64_t i = 0; i < f->graph->nvalue; i++) {
        mw_ssa *v = f->graph->value[i];
        const flow_value *value = v ? f->value[v->id] : NULL;
        for (int d = 0; value && d < v->layout.ndim; d++) {
            spreads *s = spreads_of(f, v);
            mw_dim *dim = &v->layout.dim[d], now;
            if (value->at[d] == mw__spread_of(s, dim)) continue;
            if (!mw__spread_dim(s, value->at[d], mw__dim_size(dim), &now)) continue;
            now.open = dim->open;
            *dim = now;
        }
        if (value && value->ssa != v) v->origin = value->ssa->origin;
    }
    for (int m = 0; m < f->graph->nmesh; m++)
        if (f->spread[m].failed) return MW_NOMEM();
    return MW_OK;
}

static mw_status propagate(flow *f)
{
    work w = {.f = f};
    for (int m = 0; m < f->graph->nmesh; m++)
        MW_TRY(mw__spreads_init(&f->spread[m], f->graph->mesh[m], &f->arena));
    MW_TRY(new_values(f));
    MW_TRY(make_entries(&w));
    MW_TRY(make_users(&w));
    MW_TRY(run_steps(&w));
    for (int p = next_priority(f->graph, 0); p > 0; p = next_priority(f->graph, p)) {
        for (int64_t i = 0; i < f->graph->nvalue; i++) {
            flow_value *value = f->graph->value[i] ? f->value[i] : NULL;
            if (value && value->ssa->id == i) take_turn(f, value, p, false);
        }
        MW_TRY(run_steps(&w));
    }
    return write_back(f);
}

mw_status mw__propagate(mw_graph *graph, bool basic)
{
    flow f = {.graph = graph, .basic = basic};
    mw__arena_init(&f.arena);
    f.rules.arena = &f.arena;
    mw_status status = propagate(&f);
    mw__free(f.lane, (size_t)f.cap_lane * sizeof *f.lane);
    mw__arena_done(&f.arena);
    return status;
}

mw_status mw__pass_propagate(mw_graph *graph)
{
    return mw__propagate(graph, false);
}
