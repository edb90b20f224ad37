/* What a rank receives in a collective: one formula for every text that names one. */
#ifndef LOG_COLLECTIVE_H
#define LOG_COLLECTIVE_H

#include <stdint.h>

typedef enum mw_collective {
    MW_COLLECTIVE_NONE,
#define COLLECTIVE(name, words, formula) MW_COLLECTIVE_##name,
#include "log/collectives.def"
#undef COLLECTIVE
    MW_COLLECTIVE_KINDS
} mw_collective;

/* The kind of a name as below, or MW_COLLECTIVE_NONE. Pure. */
mw_collective mw__collective_find(const char *name);

/* "all_gather", "all-gather", and what a rank of n receives, in words. Pure. */
const char *mw__collective_name(mw_collective kind);
const char *mw__collective_words(mw_collective kind);
const char *mw__collective_formula(mw_collective kind);

/* Bytes that one rank of a group of `n` receives; -1 where a number is not known (negative) or the
 * result is too large. `whole` is what the group has between its ranks in one piece: the result of
 * a gather, the input of a reduce-scatter, the tensor of the others. Pure. */
int64_t mw__collective_received(mw_collective kind, int64_t whole, int64_t n);

#endif
