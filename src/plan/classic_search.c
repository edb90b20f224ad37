/* A* over the states of classic_space.c, with the classic collectives as edges. A gather or an
 * all_to_all takes the most minor atoms of a dim; a slice appends a free one; a permute may reach
 * every state whose dims are cut into as many chunks, at the price of what that moves. (Shardy
 * fixes the order of axes by a permute first; two all_to_alls in the right order often need none.)
 *
 * What lies ahead of a state is at least what an exchange would have to move, which no sequence of
 * steps can undercut; so the search goes straight for the target. Where sizes divide every permute
 * into a state costs the same, whichever state it starts from; so all of one shape meet in a hub.
 * Elsewhere the first few that come along are tried. */
#include "plan/classic_search.h"

enum { MOST_NODES = 60000, MOST_HEAP = 200000, BUCKETS = 1 << 14, SHAPES = 4 };

bool mw__search_tired(const search *s)
{
    return s->space->full || s->work + s->space->looks / LOOKS_OF_ONE > s->pricing->work;
}

/* ---- prices ------------------------------------------------------------------------------------
 */

static uint32_t axes_of(const space *s, int side_index, uint32_t bits)
{
    const side *sd = &s->side[side_index];
    uint32_t axes = 0;
    for (int a = 0; a < sd->nbase; a++)
        if (bits & sd->atoms[a].bits) axes |= 1u << sd->atoms[a].axis;
    return axes;
}

/* `bits`: the parts of axes whose ranks talk. */
double mw__search_price(const search *s, int side_index, double elements, uint32_t bits, int phases)
{
    double bytes = elements * s->pricing->bytes_each;
    if (s->pricing->minimize == MW_MINIMIZE_BYTES)
        return bytes + s->pricing->bytes_each * (elements > 0 ? 1e-3 * phases : 1e-5);
    if (elements <= 0) return 1e-6;
    mw_link link = s->best_link;
    if (s->pricing->topology)
        link = mw__topology_worst(s->pricing->topology, s->space->side[side_index].mesh,
                                  axes_of(s->space, side_index, bits));
    return phases * link.latency_us + bytes / link.bytes_per_us;
}

/* Less than anything that is paid for. */
double mw__search_tie(const search *s)
{
    return 1e-5 * s->pricing->bytes_each / s->best_link.bytes_per_us;
}

/* At least what is still to be paid: all that the target holds and this state lacks, or the whole
 * target shard where terms are still to be combined. */
double mw__search_ahead(const search *s, const state *at)
{
    double elements = s->goal_shard;
    if (at->partial == s->goal.partial) elements = mw__state_moved(s->space, at, &s->goal);
    if (elements <= 0) return 0;
    double bytes = elements * s->pricing->bytes_each;
    if (s->pricing->minimize == MW_MINIMIZE_BYTES) return bytes + s->pricing->bytes_each * 1e-3;
    return s->best_link.latency_us + bytes / s->best_link.bytes_per_us;
}

/* ---- the queue ---------------------------------------------------------------------------------
 */

static void push(search *s, double key, int32_t n)
{
    if (s->nheap == MOST_HEAP) {
        s->space->full = true;
        return;
    }
    int at = s->nheap++;
    for (; at > 0 && key < s->heap[(at - 1) / 2].key; at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = (heap_item){key, n};
}

static heap_item pop(search *s)
{
    heap_item top = s->heap[0], last = s->heap[--s->nheap];
    int at = 0;
    for (;;) {
        int c = 2 * at + 1;
        if (c >= s->nheap) break;
        if (c + 1 < s->nheap && s->heap[c + 1].key < s->heap[c].key) c++;
        if (last.key <= s->heap[c].key) break;
        s->heap[at] = s->heap[c];
        at = c;
    }
    s->heap[at] = last;
    return top;
}

int32_t mw__search_find(const search *s, const state *at, uint64_t *ret_hash)
{
    *ret_hash = 0x9e3779b97f4a7c15u;
    for (int d = 0; d < s->space->ndim; d++)
        *ret_hash = (*ret_hash ^ (uint32_t)at->seq[d]) * 0xff51afd7ed558ccdu;
    *ret_hash ^= (uint64_t)at->hub << 16 ^ (uint64_t)at->partial << 8 ^ at->side;
    *ret_hash = (*ret_hash * 0xc4ceb9fe1a85ec53u >> 40) % BUCKETS;
    int32_t n = s->bucket[*ret_hash];
    while (n >= 0 && memcmp(&s->nodes[n].at, at, sizeof *at) != 0)
        n = s->nodes[n].next;
    return n;
}

/* Reaches a node at a cost; from there at least `ahead` is to be paid, < 0: not yet known. */
void mw__search_reach(search *s, const state *at, double cost, double ahead, int before)
{
    if (cost >= s->pricing->bound) return;
    s->work++;
    uint64_t hash;
    int32_t n = mw__search_find(s, at, &hash);
    if (n < 0) {
        if (s->nnode == MOST_NODES) {
            s->space->full = true;
            return;
        }
        n = s->nnode++;
        if (ahead < 0) ahead = mw__search_ahead(s, at);
        s->nodes[n] = (node){*at, cost, ahead, before, s->bucket[hash], -1};
        s->bucket[hash] = n;
    } else if (cost >= s->nodes[n].cost) {
        return;
    }
    s->nodes[n].cost = cost;
    s->nodes[n].before = before;
    if (cost + s->nodes[n].ahead < s->pricing->bound)
        push(s, cost + s->pricing->hurry * s->nodes[n].ahead, n);
}

static void reach(search *s, const state *at, double cost, int before)
{
    mw__search_reach(s, at, cost, -1, before);
}

/* ---- edges -------------------------------------------------------------------------------------
 */

bool mw__search_fits(const search *s, const state *at)
{
    return mw__state_shard(s->space, at) <= s->pricing->largest;
}

static void reach_moved(search *s, const state *now, const state *next, uint32_t bits, int from)
{
    if (!mw__search_fits(s, next)) return;
    double moved = mw__state_moved(s->space, now, next);
    double cost = s->nodes[from].cost + mw__search_price(s, next->side, moved, bits, 1);
    /* of two that cost the same, the one that changes mesh first */
    if (next->side + 1 < s->space->nside) cost += mw__search_tie(s);
    reach(s, next, cost, from);
}

static void slices(search *s, const state *now, int from)
{
    space *sp = s->space;
    const side *sd = &sp->side[now->side];
    uint32_t busy = mw__state_bits(sp, now);
    for (int a = 0; a < sd->natom; a++) {
        if (busy & sd->atoms[a].bits) continue;
        for (int d = 0; d < sp->ndim; d++) {
            if (sp->fixed[d]) continue;
            state next = *now;
            next.seq[d] = mw__seq_child(sp, now->side, d, now->seq[d], a);
            if (next.seq[d] < 0) continue;
            reach(s, &next, s->nodes[from].cost + mw__search_price(s, now->side, 0, 0, 1), from);
        }
    }
}

/* Free atoms that cut every dim into as many chunks as the target has: from there one permute is
 * enough. The search would come upon them late, since a slice alone brings it no nearer. */
static void slice_to_shape(search *s, state *next, int d, uint32_t busy, int *left, int from)
{
    space *sp = s->space;
    const side *sd = &sp->side[next->side];
    while (d < sp->ndim && sp->seqs[next->seq[d]].ways == sp->seqs[s->goal.seq[d]].ways)
        d++;
    if (d == sp->ndim) {
        reach(s, next, s->nodes[from].cost + mw__search_price(s, next->side, 0, 0, 1), from);
        (*left)--;
        return;
    }
    int32_t here = next->seq[d];
    if (sp->fixed[d]) return;
    for (int a = 0; a<sd->nbase && * left> 0 && !mw__search_tired(s); a++) {
        const atom *t = &sd->atoms[a];
        if (busy & t->bits || sp->seqs[s->goal.seq[d]].ways % (sp->seqs[here].ways * t->size) != 0)
            continue;
        next->seq[d] = mw__seq_child(sp, next->side, d, here, a);
        if (next->seq[d] >= 0) slice_to_shape(s, next, d, busy | t->bits, left, from);
    }
    next->seq[d] = here;
}

/* A list of parts of axes, major to minor, to cut a dim with. */
typedef struct part_list {
    int n;
    atom at[MOST_ATOMS];
} part_list;

static void add_part(part_list *l, const atom *t, bool merge)
{
    atom *last = l->n ? &l->at[l->n - 1] : NULL;
    if (merge && last && last->axis == t->axis && last->major * last->size == t->major)
        last->size *= t->size;
    else if (l->n < MOST_ATOMS)
        l->at[l->n++] = *t;
}

/* The parts cut dim d of `next` as well. */
static bool append(const search *s, state *next, int d, const part_list *l)
{
    for (int i = 0; i < l->n; i++) {
        next->seq[d] = mw__seq_cut(s->space, next->side, d, next->seq[d], l->at[i].axis,
                                   l->at[i].major, l->at[i].size);
        if (next->seq[d] < 0) return false;
    }
    return true;
}

/* The atoms taken off a dim, most minor first, as parts. */
static void list_moved(const side *sd, const int *moved, int n, bool merge, part_list *l)
{
    l->n = 0;
    for (int i = n - 1; i >= 0; i--) {
        const atom *t = &sd->atoms[moved[i]];
        if (!t->whole) {
            add_part(l, t, merge);
            continue;
        }
        for (int a = 0; a < sd->nbase; a++)
            if (t->bits & sd->atoms[a].bits) add_part(l, &sd->atoms[a], merge);
    }
}

/* An all_to_all from a suffix of dim d into dim e. */
static void exchange_dims(search *s, const state *now, const state *without, const int *moved,
                          int n, uint32_t bits, int e, int from)
{
    const side *sd = &s->space->side[now->side];
    part_list l;
    state next = *without, merged = *without;
    list_moved(sd, moved, n, false, &l);
    if (append(s, &next, e, &l)) reach_moved(s, now, &next, bits, from);
    list_moved(sd, moved, n, true, &l); /* where sizes don't divide, one cut differs from two */
    if (append(s, &merged, e, &l) && merged.seq[e] != next.seq[e])
        reach_moved(s, now, &merged, bits, from);
    for (int a = sd->npart; a < sd->natom; a++) { /* into a dim that is cut all at once */
        if (sd->atoms[a].bits != bits || sd->atoms[a].dim != e) continue;
        next = *without;
        next.seq[e] = mw__seq_child(s->space, now->side, e, next.seq[e], a);
        if (next.seq[e] >= 0) reach_moved(s, now, &next, bits, from);
    }
}

/* Takes the most minor atoms off a dim: gathered, or put at the end of another dim. */
static void suffixes(search *s, const state *now, int from)
{
    space *sp = s->space;
    for (int d = 0; d < sp->ndim; d++) {
        state next = *now;
        uint32_t bits = 0;
        int moved[MOST_ATOMS], n = 0;
        while (!sp->fixed[d] && sp->seqs[next.seq[d]].parent >= 0) {
            const seq *q = &sp->seqs[next.seq[d]];
            bits |= sp->side[now->side].atoms[q->atom].bits;
            moved[n++] = q->atom;
            next.seq[d] = q->parent;
            reach_moved(s, now, &next, bits, from);
            for (int e = 0; e < sp->ndim; e++)
                if (e != d && !sp->fixed[e]) exchange_dims(s, now, &next, moved, n, bits, e, from);
        }
    }
}

/* Combines the terms of some partial axes: all_reduce, or reduce_scatter into a dim. */
static void reductions(search *s, const state *now, int from)
{
    space *sp = s->space;
    const side *sd = &sp->side[now->side];
    unsigned open = now->partial & ~sp->kept & 0xffu;
    for (unsigned some = open; some; some = (some - 1) & open) {
        uint32_t bits = 0;
        part_list l = {.n = 0};
        int nreduce = 0;
        double terms = 1;
        mw_partial reduce[MW_LAYOUT_PARTIALS];
        for (int i = sp->from->npartial - 1; i >= 0; i--) {
            if (!(some >> i & 1)) continue;
            bits |= sp->partial_bits[i];
            reduce[nreduce++] = sp->from->partial[i];
            terms *= sp->from->partial[i].size;
        }
        for (int a = 0; a < sd->nbase; a++)
            if (bits & sd->atoms[a].bits) add_part(&l, &sd->atoms[a], true);
        state next = *now;
        next.partial = (uint8_t)(now->partial & ~some);
        double whole = mw__state_shard(sp, now);
        bool two = mw__all_reduce_in_two_phases(sd->mesh, reduce, nreduce);
        double chunk = (double)(((int64_t)whole + (int64_t)terms - 1) / (int64_t)terms);
        double moved = two ? chunk * (terms - 1) + whole - chunk : whole * (terms - 1);
        reach(s, &next, s->nodes[from].cost + mw__search_price(s, 0, moved, bits, two ? 2 : 1),
              from);
        for (int d = 0; d < sp->ndim; d++) {
            state cut = next;
            if (sp->fixed[d] || !append(s, &cut, d, &l)) continue;
            moved = mw__state_moved(sp, now, &cut) + mw__state_shard(sp, &cut) * (terms - 1);
            reach(s, &cut, s->nodes[from].cost + mw__search_price(s, 0, moved, bits, 1), from);
        }
    }
}

/* ---- the search --------------------------------------------------------------------------------
 */

static void expand(search *s, int n)
{
    const state now = s->nodes[n].at;
    if (now.hub) {
        mw__search_leave_hub(s, n);
        return;
    }
    if (now.side == s->goal.side && now.partial == s->goal.partial && s->nodes[n].ahead <= 0)
        reach(s, &s->goal, s->nodes[n].cost + mw__search_price(s, now.side, 0, 0, 1), n);
    slices(s, &now, n);
    state shaped = now;
    int left = SHAPES;
    slice_to_shape(s, &shaped, 0, mw__state_bits(s->space, &now), &left, n);
    suffixes(s, &now, n);
    reductions(s, &now, n);
    mw__search_enter_hub(s, &now, now.side, n);
    if (now.side + 1 < s->space->nside) mw__search_enter_hub(s, &now, now.side + 1, n);
}

static mw_status allocate(search *s)
{
    mw_arena *arena = s->space->arena;
    s->nodes = mw__arena_alloc(arena, MOST_NODES * sizeof *s->nodes);
    s->bucket = mw__arena_alloc(arena, BUCKETS * sizeof *s->bucket);
    s->heap = mw__arena_alloc(arena, MOST_HEAP * sizeof *s->heap);
    if (!s->nodes || !s->bucket || !s->heap) return MW_NOMEM();
    memset(s->bucket, 0xff, BUCKETS * sizeof *s->bucket);
    return MW_OK;
}

static void set_best_link(search *s)
{
    s->best_link = mw__topology_worst(NULL, s->space->side[0].mesh, 0);
    bool any = false;
    for (int i = 0; s->pricing->topology && i < s->space->nside; i++)
        for (int x = 0; x < s->space->side[i].mesh->naxis; x++, any = true) {
            mw_link link = mw__topology_link(s->pricing->topology, s->space->side[i].mesh, x);
            if (!any) s->best_link = link;
            s->best_link.latency_us = MW_MIN(s->best_link.latency_us, link.latency_us);
            s->best_link.bytes_per_us = MW_MAX(s->best_link.bytes_per_us, link.bytes_per_us);
        }
}

static int path_to(const search *s, int32_t goal, state *path, bool *permuted)
{
    int32_t at[MOST_PATH];
    bool through[MOST_PATH] = {false};
    int n = 0;
    for (int32_t i = goal; i >= 0; i = s->nodes[i].before) {
        if (s->nodes[i].at.hub) {
            through[n - 1] = true;
            continue;
        }
        if (n == MOST_PATH) return 0;
        at[n++] = i;
    }
    for (int i = 0; i < n; i++) {
        path[i] = s->nodes[at[n - 1 - i]].at;
        permuted[i] = through[n - 1 - i];
    }
    return n;
}

mw_status mw__space_search(space *sp, const pricing *p, const state *from, const state *to,
                           state *path, bool *permuted, int *ret_n, double *ret_cost)
{
    search whole = {.space = sp, .pricing = p, .goal = *to}, *s = &whole;
    *ret_n = 0;
    MW_TRY(allocate(s));
    s->goal_shard = mw__state_shard(sp, to);
    set_best_link(s);
    reach(s, from, 0, -1);
    sp->looks = 0;
    while (s->nheap > 0 && !mw__search_tired(s)) {
        heap_item item = pop(s);
        node *n = &s->nodes[item.node];
        if (n->settled >= 0 && n->settled <= n->cost) continue;
        n->settled = n->cost;
        if (memcmp(&n->at, to, sizeof *to) == 0) {
            *ret_n = path_to(s, item.node, path, permuted);
            *ret_cost = n->cost;
            break;
        }
        expand(s, item.node);
        if (sp->no_memory) return MW_NOMEM();
    }
    sp->worked = s->work + sp->looks / LOOKS_OF_ONE;
    return MW_OK;
}
