/* Sets of copies by number, and what lies between two sets. */
#include "graph/reshard.h"

static bool same_set(const copies *a, const copies *b)
{
    return a->free == b->free && a->pinned == b->pinned && a->n == b->n &&
           memcmp(a->at, b->at, (size_t)a->n * sizeof a->at[0]) == 0;
}

static uint64_t hash_set(const copies *c)
{
    return mw__hash((uint64_t)(c->free + 2 * c->pinned), c->at, (size_t)c->n * sizeof c->at[0]);
}

static mw_status grow_slots(reshard *r)
{
    int64_t cap = r->cap_set_slot ? 2 * r->cap_set_slot : 256;
    int *slot = mw__arena_zalloc(&r->arena, (size_t)cap * sizeof *slot);
    if (!slot) return MW_NOMEM();
    for (int i = 0; i < (int)r->nset; i++) {
        uint64_t at = hash_set(&r->set[i]) % (uint64_t)cap;
        while (slot[at])
            at = (at + 1) % (uint64_t)cap;
        slot[at] = i + 1;
    }
    r->set_slot = slot;
    r->cap_set_slot = cap;
    return MW_OK;
}

mw_status reshard_set(reshard *r, const copies *c, int *ret)
{
    if (2 * r->nset >= r->cap_set_slot) MW_TRY(grow_slots(r));
    uint64_t at = hash_set(c) % (uint64_t)r->cap_set_slot;
    for (; r->set_slot[at]; at = (at + 1) % (uint64_t)r->cap_set_slot)
        if (same_set(&r->set[r->set_slot[at] - 1], c)) {
            *ret = r->set_slot[at] - 1;
            return MW_OK;
        }
    MW_TRY(mw__grow(&r->set, &r->cap_set, r->nset + 1, sizeof *r->set));
    r->set[r->nset++] = *c;
    r->set_slot[at] = (int)r->nset;
    *ret = (int)r->nset - 1;
    return MW_OK;
}

mw_status reshard_source(reshard *r, const copies *c, int to, int *ret_from, mw_price *ret)
{
    const mw_route *best = NULL;
    for (int i = 0; i < c->n; i++) {
        const mw_route *move;
        MW_TRY(mw__moves_get(&r->moves, c->at[i], to, &move));
        if (!best || mw__price_compare(&move->price, &best->price) < 0) best = move;
    }
    if (ret_from) *ret_from = best->from;
    if (ret) *ret = c->free ? (mw_price){0} : best->price;
    return MW_OK;
}

/* ---- between two ------------------------------------------------------------------------------
 */

/* What is written in place is where it is: where it lies otherwise is not made of it. */
static const int64_t NEVER = INT64_MAX / 4;

typedef struct known_gap {
    int from, to;
    mw_price price;
} known_gap;

static uint64_t gap_place(const reshard *r, int from, int to)
{
    int key[2] = {from, to};
    uint64_t at = mw__hash(23, key, sizeof key) % (uint64_t)r->cap_gap;
    while (r->gap[at] && (r->gap[at]->from != from || r->gap[at]->to != to))
        at = (at + 1) % (uint64_t)r->cap_gap;
    return at;
}

static mw_status grow_gaps(reshard *r)
{
    int64_t cap = r->cap_gap, more = cap ? 2 * cap : 256;
    known_gap **old = r->gap;
    known_gap **slot = mw__arena_zalloc(&r->arena, (size_t)more * sizeof *slot);
    if (!slot) return MW_NOMEM();
    r->gap = slot;
    r->cap_gap = more;
    for (int64_t i = 0; i < cap; i++)
        if (old[i]) slot[gap_place(r, old[i]->from, old[i]->to)] = old[i];
    return MW_OK;
}

mw_status reshard_gap(reshard *r, int from, int to, mw_price *ret)
{
    *ret = (mw_price){0};
    if (from == to) return MW_OK;
    if (2 * r->ngap >= r->cap_gap) MW_TRY(grow_gaps(r));
    uint64_t at = gap_place(r, from, to);
    if (!r->gap[at]) {
        known_gap *known = mw__arena_zalloc(&r->arena, sizeof *known);
        if (!known) return MW_NOMEM();
        *known = (known_gap){.from = from, .to = to};
        copies a = r->set[from], b = r->set[to];
        for (int i = 0; i < b.n; i++) {
            mw_price one;
            MW_TRY(reshard_source(r, &a, b.at[i], NULL, &one));
            mw__price_add(&known->price, &one);
        }
        if ((a.pinned || b.pinned) && a.at[0] != b.at[0]) known->price.bytes = NEVER;
        r->gap[at] = known;
        r->ngap++;
    }
    *ret = r->gap[at]->price;
    return MW_OK;
}
