/* explain, inside: the explainer's state. Readers see log.h only. */
#ifndef LOG_EXPLAIN_H
#define LOG_EXPLAIN_H

#include "base/lookup.h"
#include "log/lockstep.h"
#include "log/log.h"

enum {
#define READER(name, doc) READER_##name,
#include "log/readers.def"
#undef READER
    READERS
};

enum { MISSING_KEPT = 1000, MISSING_SLOTS = 2048 };
enum { RANK_STREAMS = 65 }; /* lines without a rank, and those of ranks 0 to 63 */

struct mw_draft {
    mw_entry entry;
    mw_explain *e;
    uint64_t kind, same; /* hashes: of source and event; of the text that told it (lockstep.h) */
    mw_fact *fact;
    int64_t cap_fact;
    mw_problem *problem;
    int64_t cap_problem;
    mw_laid *laid; /* [LAID_KEPT], in the arena */
    int64_t *told; /* [RANK_STREAMS] how often by each; NULL: lines without a rank alone tell it */
};

/* A line that was read once: the entries that it made. */
typedef struct seen {
    int64_t first, end;
    int reader;
} seen;

struct mw_explain {
    mw_arena arena;
    mw_explain_options options;
    mw_mesh *mesh;
    bool failed; /* an allocation of a draft */
    int64_t lines;
    mw_str partial; /* a line whose end has not come */
    mw_str cleaned;
    mw_str formed;                    /* a text being made, before it goes into the arena */
    uint64_t before[RANK_STREAMS][2]; /* hashes of the last two lines of each rank */
    mw_arena scratch;                 /* cleared before each line */
    bool once;                        /* the line being read may not be counted unread again */
    int open;                         /* the reader that took the last line, or -1 */
    void *state[READERS];
    mw_draft **entry;
    int64_t nentry, cap_entry;
    const char *missing[MISSING_KEPT];
    uint64_t missing_seen[MISSING_SLOTS]; /* hashes of these sentences; 0: an empty slot */
    int64_t nmissing;
    int64_t unread[1000], nunread;
    lockstep *lockstep;    /* what ranks tell in which order; NULL: nothing yet */
    mw_lookup seen;        /* seen, by the cleaned text and the two lines before it of that rank */
    struct hlo_memo *memo; /* of shardings (hlo_memo.c); in the arena */
};

#endif
