/* candidate: a text that is being built, cut by cut, to have the owners that are wanted. */
#ifndef MESH_CANDIDATE_H
#define MESH_CANDIDATE_H

#include "mesh/search.h"

enum {
    MW__SEARCH_STEPS = 1 << 18, /* of all comparisons of one search: some 30 ms */
    MW__RISES = 48,
    MW__DIVISORS = 1600 /* more than any number up to 10^9 has */
};

/* Where a part's coordinate first rises above 0; INT64_MAX: nowhere. */
typedef struct mw__rise {
    mw_cut cut;
    int64_t at;
} mw__rise;

typedef struct mw__candidate {
    const mw__wanted *wanted;
    mw__line text; /* so far; questions are about its last factor and last cuts */
    int64_t steps; /* of comparisons; when they are used up nothing agrees any more */
    int nrise;
    mw__rise rise[MW__RISES]; /* those asked for so far */
    int ndivisor;
    int64_t divisor[MW__DIVISORS]; /* of the wanted size, rising */
} mw__candidate;

void mw__candidate_init(mw__candidate *s, const mw__wanted *wanted);

/* Whether the joint group of cuts (or the one cut) from number `first` on, the last ones, places
 * its parts where they are wanted. */
bool mw__candidate_agrees(mw__candidate *s, int first);

/* Whether these cuts can be the first ones of a longer joint group. True may be wrong. */
bool mw__candidate_may_join(mw__candidate *s, int first);

/* The least period of the part's coordinate, a divisor of the size. */
int64_t mw__candidate_period(mw__candidate *s, const mw_cut *part);

/* The order of cuts: axes before local cuts, mesh order, major part, size; joint ones last. Pure.
 */
int mw__cut_compare(const mw_cut *a, const mw_cut *b);

static inline int mw__compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

#endif
