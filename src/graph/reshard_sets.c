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

mw_status reshard_set(reshard *r, const copies *c, int *ret)
{
    uint64_t hash = hash_set(c);
    for (mw_found *i = NULL; (i = mw__lookup_next(&r->set_lookup, hash, i));)
        if (same_set(&r->set[i->number], c)) {
            *ret = (int)i->number;
            return MW_OK;
        }
    MW_TRY(mw__grow(&r->set, &r->cap_set, r->nset + 1, sizeof *r->set));
    mw_found *added = mw__lookup_add(&r->set_lookup, hash);
    if (!added) return MW_NOMEM();
    added->number = *ret = (int)r->nset;
    r->set[r->nset++] = *c;
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

static mw_status new_gap(reshard *r, int from, int to, uint64_t hash, known_gap **ret)
{
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
    mw_found *added = mw__lookup_add(&r->gap_lookup, hash);
    if (!added) return MW_NOMEM();
    added->item = *ret = known;
    return MW_OK;
}

mw_status reshard_gap(reshard *r, int from, int to, mw_price *ret)
{
    *ret = (mw_price){0};
    if (from == to) return MW_OK;
    int key[2] = {from, to};
    uint64_t hash = mw__hash(23, key, sizeof key);
    known_gap *known = NULL;
    for (mw_found *i = NULL; !known && (i = mw__lookup_next(&r->gap_lookup, hash, i));) {
        known_gap *one = i->item;
        if (one->from == from && one->to == to) known = one;
    }
    if (!known) MW_TRY(new_gap(r, from, to, hash, &known));
    *ret = known->price;
    return MW_OK;
}
