#include "base/lookup.h"

void mw__lookup_done(mw_lookup *lookup)
{
    if (!lookup->arena) mw__free(lookup->at, (size_t)lookup->cap * sizeof *lookup->at);
    *lookup = (mw_lookup){.arena = lookup->arena};
}

void mw__lookup_clear(mw_lookup *lookup)
{
    if (lookup->n) memset(lookup->at, 0, (size_t)lookup->cap * sizeof *lookup->at);
    lookup->n = 0;
}

static mw_found *free_one(mw_lookup *lookup, uint64_t hash)
{
    int64_t at = mw__lookup_start(lookup, hash);
    while (lookup->at[at].hash)
        at = (at + 1) & (lookup->cap - 1);
    lookup->n++;
    lookup->at[at].hash = hash;
    return &lookup->at[at];
}

static bool grow(mw_lookup *lookup)
{
    mw_lookup more = {.cap = lookup->cap ? 2 * lookup->cap : 64, .arena = lookup->arena};
    size_t size = (size_t)more.cap * sizeof *more.at;
    more.at = lookup->arena ? mw__arena_zalloc(lookup->arena, size) : mw__zalloc(size);
    if (!more.at) return false;
    for (int64_t i = 0; i < lookup->cap; i++)
        if (lookup->at[i].hash) *free_one(&more, lookup->at[i].hash) = lookup->at[i];
    mw__lookup_done(lookup);
    *lookup = more;
    return true;
}

mw_found *mw__lookup_add(mw_lookup *lookup, uint64_t hash)
{
    if (2 * (lookup->n + 1) > lookup->cap && !grow(lookup)) return NULL;
    return free_one(lookup, hash + !hash);
}
