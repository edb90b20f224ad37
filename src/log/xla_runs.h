/* How often what stands in a computation runs: loops, calls and branches around it, for the readers
 * of HLO and MLIR. Collectives are told where they stand, and multiplied when all of the module has
 * been read: callers may come after what they call. */
#ifndef LOG_XLA_RUNS_H
#define LOG_XLA_RUNS_H

#include "log/hlo_text.h"

typedef struct runs_edge { /* one computation runs another */
    uint64_t caller, callee;
    int64_t times; /* 0: not known */
    bool branch;   /* one of several, of which one runs */
} runs_edge;

typedef struct runs_move {
    mw_draft *draft;
    const char *says;
    uint64_t computation;
    int64_t bytes, mean; /* of one run, received by the device that receives most, and by all
                          * devices over their number; -1: not known */
} runs_move;

typedef struct xla_runs {
    runs_edge *edge;
    int64_t nedge, cap_edge;
    runs_move *move;
    int64_t nmove, cap_move;
} xla_runs;

/* What all moves of a module come to. */
typedef struct runs_total {
    int64_t moves, runs, bytes, mean; /* bytes, mean: -1 where some are not known */
    bool branch, unknown;             /* a count is a bound; of one run */
} runs_total;

/* Names are hashes; 0 is no name, and ignored. */
void mw__runs_call(mw_explain *e, xla_runs *r, uint64_t caller, uint64_t callee, int64_t times,
                   bool branch);

/* The draft's sentence waits for mw__runs_resolve where the computation may be called. */
void mw__runs_move(mw_explain *e, xla_runs *r, mw_draft *d, uint64_t computation, bool root,
                   int64_t bytes, int64_t mean);

/* Multiplies what was told, adds it up, and forgets all of it. */
void mw__runs_resolve(mw_explain *e, xla_runs *r, runs_total *ret);
void mw__runs_add(runs_total *to, const runs_total *more);
void mw__runs_done(xla_runs *r);

/* "received per device: ..." of all; nothing where there were no moves. */
void mw__runs_tell(mw_draft *d, const runs_total *total);

#endif
