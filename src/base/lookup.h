/* lookup: finds a thing by the hash of its key; an open hash table. The keys lie with the caller,
 * who compares: several may have one hash.
 *
 *     for (mw_found *i = NULL; (i = mw__lookup_next(&lookup, hash, i));)
 *         if (same(i->item, key)) return i->item;
 *
 * Where the hash is the key (64 bits of a text), the first is the only one. */
#ifndef BASE_LOOKUP_H
#define BASE_LOOKUP_H

#include "base/base.h"

typedef struct mw_found {
    uint64_t hash; /* 0: free */
    union {        /* the caller's */
        void *item;
        int64_t number;
    };
} mw_found;

/* `= {0}` is empty, and `= {.arena = ..}` takes its room there and needs no done. */
typedef struct mw_lookup {
    mw_found *at; /* [cap], a power of two; at most half are taken */
    int64_t n, cap;
    mw_arena *arena;
} mw_lookup;

void mw__lookup_done(mw_lookup *lookup);
void mw__lookup_clear(mw_lookup *lookup); /* keeps its room */

/* A new one of that hash, in no order, for the caller to fill; NULL: no memory. Those found before
 * may have moved. */
mw_found *mw__lookup_add(mw_lookup *lookup, uint64_t hash);

/* Where a hash begins. Some differ in their low bits alone, some hardly there: the bits taken are
 * of a product, where they depend on all that are lower. */
static inline int64_t mw__lookup_start(const mw_lookup *lookup, uint64_t hash)
{
    return (int64_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (lookup->cap - 1);
}

/* The next of that hash after `i` (NULL: the first); NULL: no more. */
static inline mw_found *mw__lookup_next(const mw_lookup *lookup, uint64_t hash, const mw_found *i)
{
    if (!lookup->cap) return NULL;
    hash += !hash;
    int64_t at = i ? (i - lookup->at + 1) & (lookup->cap - 1) : mw__lookup_start(lookup, hash);
    while (lookup->at[at].hash && lookup->at[at].hash != hash)
        at = (at + 1) & (lookup->cap - 1);
    return lookup->at[at].hash ? &lookup->at[at] : NULL;
}

#endif
