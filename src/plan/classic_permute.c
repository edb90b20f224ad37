/* Permutes: every rank gets another one's shard. One may reach every state whose dims are cut into
 * as many chunks, at the price of what that moves, so there are too many pairs to try each. Where
 * sizes divide every permute into a state costs the same, whichever state it starts from: all
 * states of one shape meet in a hub, and leave it for all arrangements of axes that have that
 * shape. Elsewhere a hub serves the first few that come along, one each. */
#include "plan/classic_search.h"

enum { HUBS = 3 };

/* Goes to the place where all permutes into `to_side` meet that start from shards of this shape. */
void mw__search_enter_hub(search *s, const state *now, int to_side, int from)
{
    space *sp = s->space;
    state hub = *now;
    bool even = to_side == now->side, cut = to_side != now->side;
    for (int d = 0; d < sp->ndim; d++) {
        const seq *q = &sp->seqs[now->seq[d]];
        cut = cut || (q->depth > 0 && !q->opaque);
        even = even && (q->even || sp->coarse);
        /* a dim cut all at once stays as it is, and is its own shape */
        hub.seq[d] = q->opaque ? -1 - now->seq[d] : (int32_t)q->ways;
    }
    if (!cut || (to_side != now->side && now->partial)) return;
    if (now->side == 1) to_side = 1;
    bool soon = s->pricing->hurry > 1;
    for (int slot = 0; slot < (even || soon ? 1 : HUBS); slot++) {
        uint64_t hash;
        hub.hub = (uint8_t)(1 + 2 * slot + to_side);
        int32_t n = mw__search_find(s, &hub, &hash);
        bool mine = n >= 0 && s->nodes[n].before == from;
        if (mine) return;
        if (n >= 0 && !(even && s->nodes[from].cost < s->nodes[n].cost)) continue;
        double ahead = s->nodes[from].ahead;
        if (even || soon)
            ahead = MW_MAX(ahead, mw__search_price(s, now->side, mw__state_shard(sp, now), ~0u, 1));
        mw__search_reach(s, &hub, s->nodes[from].cost, ahead, from);
        return;
    }
}

typedef struct fan {
    search *s;
    const state *start;
    int hub, to_side;
    uint32_t bits; /* of the start: the ranks that talk are at least those */
    int found;     /* arrangements */
    int64_t ways[MW_LAYOUT_DIMS];
} fan;

static bool same_cuts(const mw_dim *a, const mw_dim *b)
{
    if (a->nfactor != b->nfactor || a->ncut != b->ncut) return false;
    if (memcmp(a->factor, b->factor, sizeof a->factor) != 0) return false;
    if (memcmp(a->cuts, b->cuts, sizeof a->cuts) != 0) return false;
    for (int i = 0; i < a->ncut; i++)
        if (a->cut[i].size != b->cut[i].size || a->cut[i].joint != b->cut[i].joint ||
            (a->cut[i].axis < 0) != (b->cut[i].axis < 0))
            return false;
    return true;
}

static bool same_order(const fan *f, const state *next)
{
    const space *sp = f->s->space;
    for (int d = 0; d < sp->ndim; d++) {
        const seq *p = &sp->seqs[f->start->seq[d]], *q = &sp->seqs[next->seq[d]];
        if (p->depth != q->depth) return false;
        for (; p->parent >= 0; p = &sp->seqs[p->parent], q = &sp->seqs[q->parent])
            if (p->atom != q->atom) return false;
    }
    return true;
}

static void arrive(fan *f, const state *next)
{
    search *s = f->s;
    space *sp = s->space;
    const side *sd = &sp->side[f->to_side];
    if (memcmp(next, f->start, sizeof *next) == 0 || !mw__search_fits(s, next)) return;
    f->found++;
    double cost = s->nodes[f->hub].cost, ahead = mw__search_ahead(s, next);
    if (cost + ahead >= s->pricing->bound) return;
    double moved = mw__state_moved(sp, f->start, next);
    uint32_t bits = f->bits | (mw__state_bits(sp, next) & ~sd->busy);
    if (f->to_side != f->start->side) bits = ~0u;
    cost += mw__search_price(s, f->to_side, moved, bits, 1);
    /* of two that cost the same, the one that leaves the order of axes alone */
    if (!same_order(f, next)) cost += mw__search_tie(s);
    mw__search_reach(s, next, cost, ahead, f->hub);
}

/* How soon an atom is tried for dim d: those by which the target continues, then those that are
 * there, then others. */
static int turn_of(const fan *f, int d, int32_t here, int a)
{
    const space *sp = f->s->space;
    if (f->to_side == f->s->goal.side)
        for (int32_t g = f->s->goal.seq[d]; g >= 0 && sp->seqs[g].depth > sp->seqs[here].depth;
             g = sp->seqs[g].parent)
            if (sp->seqs[g].parent == here && sp->seqs[g].atom == a) return 0;
    return f->to_side == f->start->side &&
                   (sp->side[f->to_side].atoms[a].bits & ~sp->seqs[f->start->seq[d]].bits) == 0
               ? 1
               : 2;
}

/* Every arrangement of atoms whose counts of chunks per dim are those of the start. */
static void spread(fan *f, state *next, int d, uint32_t busy)
{
    search *s = f->s;
    space *sp = s->space;
    const side *sd = &sp->side[f->to_side];
    while (d < sp->ndim && sp->seqs[next->seq[d]].ways == f->ways[d])
        d++;
    if (d == sp->ndim) {
        arrive(f, next);
        return;
    }
    int32_t here = next->seq[d];
    const seq *q = &sp->seqs[f->start->seq[d]];
    bool few = s->pricing->most_fan < INT_MAX;
    int first = q->opaque ? sd->npart : 0, end = q->opaque ? sd->natom : sd->npart;
    for (int turn = 0; turn < (few ? 3 : 1); turn++)
        for (int a = first; a < end && f->found < s->pricing->most_fan && !mw__search_tired(s);
             a++) {
            const atom *t = &sd->atoms[a];
            if (busy & t->bits || f->ways[d] % (sp->seqs[here].ways * t->size) != 0) continue;
            if (t->whole && !same_cuts(t->whole, sp->side[f->start->side].atoms[q->atom].whole))
                continue;
            if (few && turn_of(f, d, here, a) != turn) continue;
            next->seq[d] = mw__seq_child(sp, f->to_side, d, here, a);
            if (next->seq[d] >= 0) spread(f, next, d, busy | t->bits);
        }
    next->seq[d] = here;
}

void mw__search_leave_hub(search *s, int hub)
{
    space *sp = s->space;
    const state start = s->nodes[s->nodes[hub].before].at;
    fan f = {.s = s, .start = &start, .hub = hub, .to_side = (s->nodes[hub].at.hub - 1) % 2};
    const side *sd = &sp->side[f.to_side];
    state next = start;
    next.side = (uint8_t)f.to_side;
    next.partial = start.partial;
    uint32_t busy = sd->busy;
    for (int i = 0; i < sp->from->npartial && f.to_side == 0; i++)
        if (start.partial >> i & 1) busy |= sp->partial_bits[i];
    f.bits = mw__state_bits(sp, &start) & ~sp->side[start.side].busy;
    for (int d = 0; d < sp->ndim; d++) {
        const seq *q = &sp->seqs[start.seq[d]];
        bool stays = q->opaque && f.to_side == start.side;
        f.ways[d] = q->ways;
        if (stays) busy |= q->bits;
        next.seq[d] = stays ? start.seq[d] : sd->root[d];
    }
    spread(&f, &next, 0, busy);
}
