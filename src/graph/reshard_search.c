/* One way for each node, so that all ranks together receive the least.
 *
 * Nodes are decided in program order. A state says which copies there are of each value that is
 * still needed; two histories that end in one state differ in cost alone, and the cheaper is kept.
 * A state from which another could be made for no more than what that one costs is the better of
 * the two whatever follows, and the other goes. What is left is exact unless more states than the
 * limit are left: then the cheapest go on. */
#include "graph/reshard.h"

enum { MOST_STATES = 512, MOST_STATES_LARGE = 16 };

typedef struct state {
    int parent;
    const node_way *way;
    const ways *among;
    cost cost;
    int64_t order; /* which came first, where costs are equal */
    int *set;      /* [nslot] sets; 0: none, else number + 1 */
} state;

typedef struct step_states {
    int n;
    state *at;
} step_states;

typedef struct search {
    reshard *r;
    int nslot, most;
    int64_t work;      /* states made and compared; past the limit fewer go on */
    step_states *step; /* [nnode + 1]: before each node, and at the end */
    state *fresh;
    int64_t nfresh, cap_fresh;
    mw_lookup known;  /* of `fresh`, by its sets */
    mw_arena room[2]; /* for sets of states: of this node and the next */
} search;

static int compare_costs(const cost *a, const cost *b)
{
    int order = mw__price_compare(&a->price, &b->price);
    if (order) return order;
    return (a->work > b->work) - (a->work < b->work);
}

/* ---- slots ------------------------------------------------------------------------------------
 * A value has a slot from where its copies may differ between states to its last use. */

typedef struct slots {
    bool *used; /* [nvalue] */
    int n;
} slots;

static int take_slot(slots *s)
{
    int at = 0;
    while (at < s->n && s->used[at])
        at++;
    s->used[at] = true;
    s->n = MW_MAX(s->n, at + 1);
    return at;
}

static bool has_no_slot(const reshard *r, const mw_ssa *v)
{
    const value_state *s = &r->value[v->id];
    return s->free || (s->initial >= 0 && v->mutated);
}

/* Gives slots to values and classes to nodes, in order. ret_dead[i]: the slots that end at node i
 * are those of operands whose uses end; they are looked up again by counting. */
static mw_status plan_slots(search *s, int *left)
{
    reshard *r = s->r;
    slots all = {mw__arena_zalloc(&r->arena, (size_t)r->graph->nvalue + 1), 0};
    bool *dies = mw__arena_alloc(&r->arena, 1024);
    if (!all.used || !dies) return MW_NOMEM();
    for (int64_t i = 0; i < r->graph->nvalue; i++)
        left[i] = r->value[i].uses;
    for (int i = 0; i < r->nnode; i++) {
        int nin = reshard_nin(r, i);
        if (nin > 1024) return MW_FAIL(MW_ERR_UNSUPPORTED, "a call of more than 1024 tensors");
        for (int k = 0; k < nin; k++)
            left[reshard_in(r, i, k)->id]--;
        for (int k = 0; k < nin; k++) {
            mw_ssa *v = reshard_in(r, i, k);
            dies[k] = left[v->id] == 0;
            if (!dies[k] && r->value[v->id].slot < 0 && !has_no_slot(r, v))
                r->value[v->id].slot = take_slot(&all);
        }
        MW_TRY(reshard_class(r, i, dies, &r->class_of[i]));
        for (int k = 0; k < nin; k++) {
            int slot = r->value[reshard_in(r, i, k)->id].slot;
            if (dies[k] && slot >= 0) all.used[slot] = false;
        }
        for (int k = 0; r->node[i] && k < r->node[i]->nout; k++) {
            mw_ssa *v = r->node[i]->out[k];
            if (left[v->id] > 0) r->value[v->id].slot = take_slot(&all);
        }
    }
    s->nslot = all.n;
    return MW_OK;
}

/* ---- one node ---------------------------------------------------------------------------------
 */

static state *state_of(const search *s, const int *set, uint64_t hash)
{
    size_t size = (size_t)s->nslot * sizeof *set;
    for (mw_found *i = NULL; (i = mw__lookup_next(&s->known, hash, i));)
        if (memcmp(s->fresh[i->number].set, set, size) == 0) return &s->fresh[i->number];
    return NULL;
}

static mw_status add_state(search *s, const state *made, mw_arena *room)
{
    s->r->work++;
    uint64_t hash = mw__hash(5, made->set, (size_t)s->nslot * sizeof *made->set);
    state *there = state_of(s, made->set, hash);
    if (there) {
        int *set = there->set;
        int64_t order = there->order;
        if (compare_costs(&made->cost, &there->cost) >= 0) return MW_OK;
        *there = *made;
        there->set = set;
        there->order = order;
        return MW_OK;
    }
    MW_TRY(mw__grow(&s->fresh, &s->cap_fresh, s->nfresh + 1, sizeof *s->fresh));
    int *set = mw__arena_alloc(room, (size_t)(s->nslot + 1) * sizeof *set);
    mw_found *added = set ? mw__lookup_add(&s->known, hash) : NULL;
    if (!added) return MW_NOMEM();
    if (s->nslot) memcpy(set, made->set, (size_t)s->nslot * sizeof *set);
    added->number = s->nfresh;
    s->fresh[s->nfresh] = *made;
    s->fresh[s->nfresh].order = s->nfresh;
    s->fresh[s->nfresh++].set = set;
    return MW_OK;
}

static int set_of(const reshard *r, const state *from, const mw_ssa *v)
{
    const value_state *vs = &r->value[v->id];
    if (vs->slot >= 0 && from->set[vs->slot]) return from->set[vs->slot] - 1;
    return vs->initial;
}

/* The states that node i makes of one state. `left`: uses after it. */
static mw_status extend(search *s, int i, int parent, const state *from, const int *left, int *set,
                        int *sets, mw_arena *room)
{
    reshard *r = s->r;
    int nin = reshard_nin(r, i);
    for (int k = 0; k < nin; k++)
        sets[k] = set_of(r, from, reshard_in(r, i, k));
    const ways *all;
    MW_TRY(reshard_ways_of(r, i, r->class_of[i], sets, &all));
    for (int w = 0; w < all->n; w++) {
        const node_way *way = &all->at[w];
        state made = {parent, way, all, from->cost, 0, set};
        if (s->nslot) memcpy(set, from->set, (size_t)s->nslot * sizeof *set);
        mw__price_add(&made.cost.price, &way->cost.price);
        made.cost.work += way->cost.work;
        for (int k = 0; k < nin; k++) {
            const mw_ssa *v = reshard_in(r, i, k);
            int slot = r->value[v->id].slot;
            if (slot >= 0) set[slot] = left[v->id] > 0 ? way->after[k] + 1 : 0;
        }
        for (int k = 0; r->node[i] && k < r->node[i]->nout; k++) {
            int slot = r->value[r->node[i]->out[k]->id].slot;
            if (slot >= 0) set[slot] = way->made[k] + 1;
        }
        MW_TRY(add_state(s, &made, room));
    }
    return MW_OK;
}

/* Whatever follows, `a` does no worse than `b`: it could make b's copies first. */
static mw_status at_least_as_good(search *s, const state *a, const state *b, bool *ret)
{
    cost c = a->cost;
    *ret = false;
    for (int k = 0; k < s->nslot; k++) {
        if (a->set[k] == b->set[k]) continue;
        if (!a->set[k] || !b->set[k]) return MW_OK;
        mw_price gap;
        MW_TRY(reshard_gap(s->r, a->set[k] - 1, b->set[k] - 1, &gap));
        mw__price_add(&c.price, &gap);
        if (c.price.bytes > b->cost.price.bytes) return MW_OK;
    }
    *ret = compare_costs(&c, &b->cost) <= 0;
    return MW_OK;
}

static bool comes_after(const state *a, const state *b)
{
    int order = compare_costs(&a->cost, &b->cost);
    return order ? order > 0 : a->order > b->order;
}

static void sort_states(state *at, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap /= 2)
        for (int64_t i = gap; i < n; i++) {
            state one = at[i];
            int64_t k = i;
            for (; k >= gap && comes_after(&at[k - gap], &one); k -= gap)
                at[k] = at[k - gap];
            at[k] = one;
        }
}

/* Keeps of the fresh states those that may still win. */
static mw_status keep_best(search *s, int i)
{
    sort_states(s->fresh, s->nfresh);
    int kept = 0;
    if (s->r->work > RESHARD_WORK) s->most = MOST_STATES_LARGE;
    for (int64_t k = 0; k < s->nfresh && kept < s->most; k++) {
        bool worse = false;
        for (int b = 0; b < kept && !worse; b++)
            MW_TRY(at_least_as_good(s, &s->fresh[b], &s->fresh[k], &worse));
        s->r->work += kept;
        if (!worse) s->fresh[kept++] = s->fresh[k];
    }
    state *at = mw__arena_alloc(&s->r->arena, (size_t)(kept + 1) * sizeof *at);
    if (!at) return MW_NOMEM();
    if (kept) memcpy(at, s->fresh, (size_t)kept * sizeof *at);
    s->step[i + 1] = (step_states){kept, at};
    s->nfresh = 0;
    mw__lookup_clear(&s->known);
    return MW_OK;
}

static mw_status no_way(const reshard *r)
{
    if (r->refused.code == MW_OK)
        return MW_FAIL(MW_ERR_INTERNAL, "no layouts were found for a node of the program");
    mw__ctx_get()->error = r->refused;
    return r->refused.code;
}

static mw_status run(search *s)
{
    reshard *r = s->r;
    int *left = mw__arena_alloc(&r->arena, (size_t)(r->graph->nvalue + 1) * sizeof *left);
    s->step = mw__arena_zalloc(&r->arena, (size_t)(r->nnode + 1) * sizeof *s->step);
    if (!left || !s->step) return MW_NOMEM();
    MW_TRY(plan_slots(s, left));
    for (int64_t i = 0; i < r->graph->nvalue; i++)
        left[i] = r->value[i].uses;
    int *set = mw__arena_zalloc(&r->arena, (size_t)(s->nslot + 1) * sizeof *set);
    int *sets = mw__arena_alloc(&r->arena, 1024 * sizeof *sets);
    state *first = mw__arena_zalloc(&r->arena, sizeof *first);
    int *none = mw__arena_zalloc(&r->arena, (size_t)(s->nslot + 1) * sizeof *none);
    if (!set || !sets || !first || !none) return MW_NOMEM();
    first->set = none;
    s->step[0] = (step_states){1, first};
    for (int i = 0; i < r->nnode; i++) {
        mw_arena *room = &s->room[i & 1];
        mw__arena_clear(room);
        for (int k = 0; k < reshard_nin(r, i); k++)
            left[reshard_in(r, i, k)->id]--;
        for (int k = 0; k < s->step[i].n; k++) {
            if (k == MOST_STATES_LARGE && r->work > RESHARD_WORK)
                break; /* the cheapest come first */
            MW_TRY(extend(s, i, k, &s->step[i].at[k], left, set, sets, room));
        }
        MW_TRY(keep_best(s, i));
        if (!s->step[i + 1].n) return no_way(r);
    }
    int at = 0; /* states are sorted: the first is the best */
    for (int i = r->nnode; i > 0; i--) {
        r->chosen[i - 1] = s->step[i].at[at].way;
        r->among[i - 1] = s->step[i].at[at].among;
        at = s->step[i].at[at].parent;
    }
    return MW_OK;
}

mw_status reshard_search(reshard *r)
{
    search s = {.r = r, .most = r->wide ? MOST_STATES : MOST_STATES_LARGE};
    mw__arena_init(&s.room[0]);
    mw__arena_init(&s.room[1]);
    mw_status status = run(&s);
    mw__arena_done(&s.room[0]);
    mw__arena_done(&s.room[1]);
    mw__free(s.fresh, (size_t)s.cap_fresh * sizeof *s.fresh);
    mw__lookup_done(&s.known);
    return status;
}
