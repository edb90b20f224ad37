/* The ways to run one node, given the copies that there are of its operands, and what each costs.
 * Nodes that are alike share them, so that the layers of a model are worked out once. */
#include "graph/parts.h"
#include "graph/reshard.h"

#include "ops/table.h"

enum { MOST_TUPLES = 8, WORK_OF_WAY = 100, WORK_OF_PARTS = 20000 };

typedef struct known_ways {
    const node_class *class;
    int *set;
    ways ways;
} known_ways;

/* ---- one way ----------------------------------------------------------------------------------
 */

mw_layout reshard_filled(const mw_layout *stated, const mw_layout *from)
{
    mw_layout to = *stated;
    uint32_t used = mw__layout_axes(&to) | mw__layout_partial_axes(&to);
    for (int d = 0; d < to.ndim; d++) {
        bool open = to.dim[d].open;
        to.dim[d].open = 0;
        if (!open || !mw__dim_whole(&to.dim[d]) || (mw__dim_axes(&from->dim[d]) & used)) continue;
        to.dim[d] = from->dim[d];
        to.dim[d].open = 0;
        used |= mw__dim_axes(&to.dim[d]);
    }
    return to;
}

typedef struct builder {
    reshard *r;
    const node_class *class;
    const int *sets;
    int nin, nout;
    node_way *list;
    int64_t n, cap;
    bool keeps_first; /* operand 0 must stay where it is */
} builder;

static double work_on(const reshard *r, int layout)
{
    return (double)mw__layout_largest_shard(r->moves.mesh, r->moves.layout[layout]);
}

static mw_status new_way(builder *b, node_way **ret)
{
    MW_TRY(mw__grow(&b->list, &b->cap, b->n + 1, sizeof *b->list));
    int n = b->nin > b->nout ? b->nin : b->nout;
    int *room = mw__arena_zalloc(&b->r->arena, (size_t)(5 * n + 5) * sizeof *room);
    if (!room) return MW_NOMEM();
    b->list[b->n] = (node_way){.in = room,
                               .out = room + n + 1,
                               .after = room + 2 * n + 2,
                               .made = room + 3 * n + 3,
                               .target = room + 4 * n + 4};
    *ret = &b->list[b->n];
    return MW_OK;
}

/* The set with one layout more, which costs something to make again. */
static mw_status with_copy(reshard *r, int set, int layout, int *ret)
{
    copies c = r->set[set];
    *ret = set;
    if (c.free || c.pinned) return MW_OK;
    for (int i = 0; i < c.n; i++)
        if (c.at[i] == layout) return MW_OK;
    if (c.n == RESHARD_COPIES) c.at[1] = c.at[--c.n];
    int at = c.n++;
    for (; at > 1 && c.at[at - 1] > layout; at--)
        c.at[at] = c.at[at - 1];
    c.at[at] = layout;
    return reshard_set(r, &c, ret);
}

/* Brings operand k to a layout: its price, and the set after it. */
static mw_status bring(builder *b, node_way *w, int k)
{
    reshard *r = b->r;
    const mw_node *node = b->class->node;
    int first = node ? reshard_first_like(node, k) : k;
    int set = first == k ? b->sets[k] : w->after[first];
    copies c = r->set[set];
    mw_price price;
    for (int i = first; i < k; i++) /* the same value, brought there already */
        if (node && node->in[i] == node->in[k] && w->in[i] == w->in[k]) {
            w->after[k] = set;
            return MW_OK;
        }
    MW_TRY(reshard_source(r, &c, w->in[k], NULL, &price));
    mw__price_add(&w->cost.price, &price);
    w->after[k] = set;
    if (price.bytes > 0) MW_TRY(with_copy(r, set, w->in[k], &w->after[k]));
    for (int i = first; i < k; i++)
        if (node && node->in[i] == node->in[k]) w->after[i] = w->after[k];
    return MW_OK;
}

/* Result k lies as w->out says; where its line states otherwise it is brought there. */
static mw_status make(builder *b, node_way *w, int k)
{
    reshard *r = b->r;
    const mw_ssa *v = b->class->node->out[k];
    copies c = {.pinned = v->mutated, .n = 1, .at = {w->out[k]}};
    w->target[k] = -1;
    if (v->stated) {
        const mw_layout *made = r->moves.layout[w->out[k]];
        mw_layout to = reshard_filled(&v->layout, made);
        MW_TRY(mw__moves_number(&r->moves, &to, &w->target[k]));
        if (w->target[k] == w->out[k]) w->target[k] = -1;
    } else if (v->mutated && !mw__node_writes(v->def) && !mw__node_views(v->def)) {
        /* mostly terms of a sum can't be written in place: they are combined where they are made */
        mw_layout to = *r->moves.layout[w->out[k]];
        to.npartial = 0;
        memset(to.partial, 0, sizeof to.partial);
        MW_TRY(mw__moves_number(&r->moves, &to, &w->target[k]));
        if (w->target[k] == w->out[k]) w->target[k] = -1;
    }
    if (w->target[k] >= 0) {
        const mw_route *move;
        MW_TRY(mw__moves_get(&r->moves, w->out[k], w->target[k], &move));
        if (reshard_used(r, v)) mw__price_add(&w->cost.price, &move->price);
        c.at[0] = w->target[k];
        MW_TRY(mw__moves_get(&r->moves, w->target[k], w->out[k], &move));
        if (move->price.bytes > 0 && !c.pinned) c.at[c.n++] = w->out[k];
    }
    return reshard_set(r, &c, &w->made[k]);
}

static bool same_way(const builder *b, const node_way *a, const node_way *c)
{
    return memcmp(a->in, c->in, (size_t)b->nin * sizeof *a->in) == 0 &&
           memcmp(a->out, c->out, (size_t)b->nout * sizeof *a->out) == 0;
}

/* Prices the newest way and keeps it, if it is new. */
static mw_status keep_way(builder *b)
{
    node_way *w = &b->list[b->n];
    for (int64_t i = 0; i < b->n; i++)
        if (same_way(b, &b->list[i], w)) return MW_OK;
    for (int k = 0; k < b->nin; k++)
        MW_TRY(bring(b, w, k));
    for (int k = 0; k < b->nout; k++)
        MW_TRY(make(b, w, k));
    for (int k = 0; k < b->nin; k++)
        w->cost.work += work_on(b->r, w->in[k]);
    for (int k = 0; k < b->nout; k++)
        w->cost.work += work_on(b->r, w->out[k]);
    b->n++;
    return MW_OK;
}

/* ---- parts ------------------------------------------------------------------------------------
 */

/* What the parts move, and how their results lie: by recording them in a graph of their own. */
static mw_status price_parts(builder *b, const mw_layout *in, node_way *w)
{
    reshard *r = b->r;
    const mw_node *node = b->class->node;
    mw_graph *trial;
    MW_TRY(mw__graph_new("parts", &trial));
    int index;
    mw_mesh *mesh = r->graph->mesh[0];
    mw_ssa **value = mw__arena_alloc(&r->scratch, (size_t)(b->nin + b->nout + 1) * sizeof *value);
    mw_status status = value ? mw__graph_add_mesh(trial, mesh, NULL, &index) : MW_NOMEM();
    for (int k = 0; k < b->nin && status == MW_OK; k++) {
        mw_node *input;
        status = mw__graph_input(trial, mesh, &in[k], NULL, &input);
        if (status == MW_OK) value[k] = input->out[0];
    }
    mw_call_args call = mw__node_call(node);
    mw_ssa **out = value + b->nin;
    if (status == MW_OK) status = mw__parts_record(trial, NULL, &call, value, b->nout, out);
    for (const mw_node *n = trial->first; n && status == MW_OK; n = n->next) {
        if (n->kind != MW_NODE_STEP) continue;
        int from, to;
        const mw_route *move;
        status = mw__moves_number(&r->moves, &n->in[0]->layout, &from);
        if (status == MW_OK) status = mw__moves_number(&r->moves, &n->out[0]->layout, &to);
        if (status == MW_OK) status = mw__moves_get(&r->moves, from, to, &move);
        if (status == MW_OK) mw__price_add(&w->cost.price, &move->price);
    }
    for (int k = 0; k < b->nout && status == MW_OK; k++)
        status = mw__moves_number(&r->moves, &out[k]->layout, &w->out[k]);
    mw__graph_free(trial);
    return status;
}

/* ---- ops --------------------------------------------------------------------------------------
 */

static mw_status add_way(builder *b, const mw_layout *in, const mw_layout *out, bool parts)
{
    reshard *r = b->r;
    node_way *w;
    MW_TRY(new_way(b, &w));
    for (int k = 0; k < b->nin; k++)
        MW_TRY(mw__moves_number(&r->moves, &in[k], &w->in[k]));
    if (b->keeps_first && w->in[0] != r->set[b->sets[0]].at[0]) return MW_OK;
    w->parts = parts;
    if (parts) {
        MW_TRY(price_parts(b, in, w));
    } else {
        for (int k = 0; k < b->nout; k++)
            MW_TRY(mw__moves_number(&r->moves, &out[k], &w->out[k]));
    }
    return keep_way(b);
}

static mw_status told(void *user, const mw_way *w)
{
    builder *b = user;
    b->r->work += w->parts ? WORK_OF_PARTS : WORK_OF_WAY;
    return add_way(b, w->in, w->out, w->parts);
}

static mw_status eager_way(builder *b, const mw_call_args *call, const mw_layout *const *now)
{
    mw_choice choice;
    MW_TRY(mw__choose(b->r->moves.mesh, call, now, &b->r->scratch, &choice));
    return add_way(b, choice.in, choice.out, choice.parts);
}

/* What is written cannot stay where it is: it goes where the op can work, and back. */
static mw_status there_and_back(builder *b, const mw_call_args *call, const mw_layout *const *now)
{
    reshard *r = b->r;
    const mw_node *node = b->class->node;
    if (now[0]->npartial)
        return MW_FAIL(MW_ERR_UNSUPPORTED,
                       "%s writes %%%s in place, which holds terms of a %s: mark it first, so that "
                       "they are combined",
                       mw__op_info_of(node->op)->schema.name, node->in[0]->name,
                       mw__reduce_name((mw_reduce)now[0]->partial[0].kind));
    MW_TRY(eager_way(b, call, now));
    if (!b->n) return MW_OK;
    node_way *w = &b->list[0];
    const mw_route *back;
    int home = r->set[b->sets[0]].at[0];
    MW_TRY(mw__moves_get(&r->moves, w->out[0], home, &back));
    mw__price_add(&w->cost.price, &back->price);
    w->there_and_back = true;
    w->after[0] = b->sets[0];
    return reshard_set(r, &(copies){.pinned = true, .n = 1, .at = {home}}, &w->made[0]);
}

/* A view of memory that is written, which would have to move: it would be no view. (reshape may
 * copy on one rank too, and contiguous promises nothing.) */
static mw_status moved_view(builder *b, const mw_call_args *call, const mw_layout *const *now)
{
    const mw_node *node = b->class->node;
    bool used = false;
    for (int k = 0; k < b->nout; k++)
        used = used || reshard_used(b->r, node->out[k]);
    if (!used || node->op == mw__op_at(MW_OP_reshape) || node->op == mw__op_at(MW_OP_contiguous))
        return eager_way(b, call, now);
    mw_status status =
        MW_FAIL(MW_ERR_LAYOUT,
                "%s of %%%s is written in place, and would have to be moved: what it views would "
                "not change, though it does on one rank",
                mw__op_info_of(node->op)->schema.name, node->in[0]->name);
    mw__error_hint("mark %%%s so that the view needs no movement, or write through index_copy_ or "
                   "where",
                   node->in[0]->name);
    return status;
}

/* For each choice of one copy of every operand what the call could do. */
static mw_status op_ways(builder *b)
{
    reshard *r = b->r;
    const mw_node *node = b->class->node;
    mw_call_args call = mw__node_call(node);
    const mw_layout **now = mw__arena_alloc(&r->scratch, (size_t)(b->nin + 1) * sizeof *now);
    int *at = mw__arena_zalloc(&r->scratch, (size_t)(b->nin + 1) * sizeof *at), tuples = 0;
    if (!now || !at) return MW_NOMEM();
    for (;;) {
        for (int k = 0; k < b->nin; k++)
            now[k] = r->moves.layout[r->set[b->sets[k]].at[at[k]]];
        if (r->alone)
            MW_TRY(eager_way(b, &call, now));
        else
            MW_TRY(mw__choose_ways(r->moves.mesh, &call, now, b->class->want, r->wide, &r->scratch,
                                   told, b));
        int k = b->nin - 1;
        for (; k >= 0; k--) {
            if (++at[k] < r->set[b->sets[k]].n) break;
            at[k] = 0;
        }
        if (k < 0 || r->alone || ++tuples == MOST_TUPLES) break;
    }
    if (b->n || !b->keeps_first) return MW_OK;
    for (int k = 0; k < b->nin; k++)
        now[k] = r->moves.layout[r->set[b->sets[k]].at[0]];
    b->keeps_first = false;
    mw_status status =
        mw__node_writes(node) ? there_and_back(b, &call, now) : moved_view(b, &call, now);
    if (status != MW_ERR_LAYOUT && status != MW_ERR_UNSUPPORTED) return status;
    r->refused = *mw_last_error(); /* there is no way from here; from elsewhere there may be one */
    mw_error_clear();
    return MW_OK;
}

/* ---- marks, steps, results --------------------------------------------------------------------
 */

static mw_status move_way(builder *b, const mw_layout *to)
{
    node_way *w;
    int at;
    MW_TRY(mw__moves_number(&b->r->moves, to, &at));
    MW_TRY(new_way(b, &w));
    w->in[0] = at;
    for (int k = 0; k < b->nout; k++)
        w->out[k] = at;
    return keep_way(b);
}

/* A mark's dims that are open lie as some copy has them, or whole, or have the axes that a copy has
 * elsewhere. */
static mw_status mark_ways(builder *b)
{
    reshard *r = b->r;
    const mw_layout *to = &b->class->node->out[0]->layout;
    const copies set = r->set[b->sets[0]];
    bool open = false;
    for (int d = 0; d < to->ndim; d++)
        open = open || (to->dim[d].open && mw__dim_whole(&to->dim[d]));
    for (int i = 0; i < set.n; i++) {
        mw_layout l = reshard_filled(to, r->moves.layout[set.at[i]]);
        MW_TRY(move_way(b, &l));
        if (!open) return MW_OK;
        uint32_t lost = (mw__layout_axes(r->moves.layout[set.at[i]]) |
                         mw__layout_partial_axes(r->moves.layout[set.at[i]])) &
                        ~(mw__layout_axes(&l) | mw__layout_partial_axes(&l));
        for (int a = 0; a < r->moves.mesh->naxis; a++)
            for (int d = 0; (lost >> a & 1) && d < to->ndim; d++) {
                if (!to->dim[d].open || !mw__dim_whole(&to->dim[d])) continue;
                mw_layout more = l;
                if (!mw__dim_append(r->moves.mesh, &more.dim[d], a, 1, r->moves.mesh->size[a]))
                    continue;
                mw__layout_canonical(r->moves.mesh, &more);
                MW_TRY(move_way(b, &more));
            }
    }
    mw_layout whole = *to;
    for (int d = 0; d < whole.ndim; d++)
        whole.dim[d].open = 0;
    return move_way(b, &whole);
}

/* Terms that are combined may be cut on any dim by the axes that held them, and by those that hold
 * copies: what is not wanted whole is not received whole. */
static mw_status cut_results(builder *b, const mw_layout *now, mw_layout whole)
{
    const mw_mesh *mesh = b->r->moves.mesh;
    uint32_t axes = (1u << mesh->naxis) - 1;
    uint32_t terms = mw__layout_partial_axes(now),
             free_axes = axes & ~mw__layout_axes(&whole) & ~terms;
    for (int d = 0; d < now->ndim; d++)
        for (int e = -1; e < (b->r->wide ? now->ndim : 0); e++) { /* copies are cut on e; -1: no */
            mw_layout cut = whole;
            bool fits = true;
            for (int a = 0; e >= 0 && a < mesh->naxis; a++)
                if ((free_axes >> a & 1) && mesh->size[a] > 1)
                    fits = fits && mw__dim_append(mesh, &cut.dim[e], a, 1, mesh->size[a]);
            for (int i = 0; i < now->npartial; i++)
                fits = fits && mw__dim_append(mesh, &cut.dim[d], now->partial[i].axis,
                                              now->partial[i].major, now->partial[i].size);
            mw__layout_canonical(mesh, &cut);
            if (fits) MW_TRY(move_way(b, &cut));
        }
    return MW_OK;
}

/* A result that nobody stated lies in any way that is no partial one. */
static mw_status result_ways(builder *b)
{
    reshard *r = b->r;
    copies set = r->set[b->sets[0]];
    for (int i = 0; i < set.n; i++)
        if (!r->moves.layout[set.at[i]]->npartial) MW_TRY(move_way(b, r->moves.layout[set.at[i]]));
    if (b->n) return MW_OK;
    mw_layout now = *r->moves.layout[set.at[0]], whole = now;
    whole.npartial = 0;
    memset(whole.partial, 0, sizeof whole.partial);
    MW_TRY(move_way(b, &whole));
    return cut_results(b, &now, whole);
}

/* ---- the list ---------------------------------------------------------------------------------
 */

static int compare_ways(const node_way *a, const node_way *b)
{
    int order = mw__price_compare(&a->cost.price, &b->cost.price);
    if (order) return order;
    return (a->cost.work > b->cost.work) - (a->cost.work < b->cost.work);
}

static void sort_ways(node_way *at, int64_t n) /* stable: what was told first comes first */
{
    for (int64_t i = 1; i < n; i++) {
        node_way one = at[i];
        int64_t k = i;
        for (; k > 0 && compare_ways(&at[k - 1], &one) > 0; k--)
            at[k] = at[k - 1];
        at[k] = one;
    }
}

/* Whatever follows, `a` does no worse than `b`: from its copies those of b can be made. */
static mw_status makes_needless(const builder *b, const node_way *a, const node_way *other,
                                bool *ret)
{
    cost c = a->cost;
    *ret = false;
    for (int k = 0; k < b->nout + b->nin; k++) {
        bool in = k >= b->nout;
        if (in ? b->class->dies[k - b->nout] : !reshard_used(b->r, b->class->node->out[k]))
            continue;
        mw_price gap;
        if (in)
            MW_TRY(reshard_gap(b->r, a->after[k - b->nout], other->after[k - b->nout], &gap));
        else
            MW_TRY(reshard_gap(b->r, a->made[k], other->made[k], &gap));
        mw__price_add(&c.price, &gap);
        if (c.price.bytes > other->cost.price.bytes) return MW_OK;
    }
    int order = mw__price_compare(&c.price, &other->cost.price);
    *ret = order < 0 || (order == 0 && c.work <= other->cost.work);
    return MW_OK;
}

static mw_status keep_list(builder *b, known_ways *known)
{
    sort_ways(b->list, b->n);
    known->ways.at = mw__arena_alloc(&b->r->arena, (size_t)(b->n + 1) * sizeof *known->ways.at);
    if (!known->ways.at) return MW_NOMEM();
    node_way other[RESHARD_OTHERS];
    for (int64_t i = 0; i < b->n; i++) {
        bool needless = false;
        for (int k = 0; k < known->ways.n && !needless; k++)
            MW_TRY(makes_needless(b, &known->ways.at[k], &b->list[i], &needless));
        if (!needless)
            known->ways.at[known->ways.n++] = b->list[i];
        else if (known->ways.nother < RESHARD_OTHERS)
            other[known->ways.nother++] = b->list[i];
    }
    if (known->ways.nother)
        memcpy(known->ways.at + known->ways.n, other, (size_t)known->ways.nother * sizeof *other);
    return MW_OK;
}

static bool writes_through(const mw_node *view)
{
    for (int k = 0; k < view->nout; k++)
        if (view->out[k]->mutated) return true;
    return false;
}

static mw_status make_list(reshard *r, const node_class *class, known_ways *known)
{
    const mw_node *node = class->node;
    builder b = {.r = r,
                 .class = class,
                 .sets = known->set,
                 .nin = node ? node->nin : 1,
                 .nout = node ? node->nout : 0};
    b.keeps_first = node && b.nin > 0 && r->set[known->set[0]].pinned && node->in[0]->mutated &&
                    (mw__node_writes(node) || (mw__node_views(node) && writes_through(node)));
    mw__arena_clear(&r->scratch);
    mw_status status = !node                      ? result_ways(&b)
                       : node->kind == MW_NODE_OP ? op_ways(&b)
                                                  : mark_ways(&b);
    if (status == MW_OK) status = keep_list(&b, known);
    mw__free(b.list, (size_t)b.cap * sizeof *b.list);
    return status;
}

mw_status reshard_ways_of(reshard *r, int i, node_class *c, const int *sets, const ways **ret)
{
    int nin = reshard_nin(r, i);
    uint64_t hash = mw__hash((uint64_t)c->number, sets, (size_t)nin * sizeof *sets);
    for (mw_found *k = NULL; (k = mw__lookup_next(&r->ways_lookup, hash, k));) {
        known_ways *known = k->item;
        if (known->class == c && memcmp(known->set, sets, (size_t)nin * sizeof *sets) == 0) {
            *ret = &known->ways;
            return MW_OK;
        }
    }
    if (r->work > RESHARD_WORK) r->wide = false;
    known_ways *known = mw__arena_zalloc(&r->arena, sizeof *known);
    int *set = mw__arena_alloc(&r->arena, (size_t)(nin + 1) * sizeof *set);
    if (!known || !set) return MW_NOMEM();
    if (nin) memcpy(set, sets, (size_t)nin * sizeof *set);
    *known = (known_ways){.class = c, .set = set};
    MW_TRY(make_list(r, c, known));
    mw_found *added = mw__lookup_add(&r->ways_lookup, hash);
    if (!added) return MW_NOMEM();
    added->item = known;
    *ret = &known->ways;
    return MW_OK;
}
