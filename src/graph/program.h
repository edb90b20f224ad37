/* program: a placed graph made ready to run on this rank: calls decided, memory laid out. */
#ifndef GRAPH_PROGRAM_H
#define GRAPH_PROGRAM_H

#include "graph/graph.h"
#include "run/run.h"

typedef struct mw_program mw_program;
typedef struct mw_frozen mw_frozen; /* graph/frozen.h */

/* Makes `graph`, which must be placed, ready. The graph must outlive the program; `input` are the
 * tensors that stand for its parameters (those without a bound tensor), whose types it is made for.
 * Fails: MW_ERR_INTERNAL where an op would have to move something. Local. */
MW_NODISCARD mw_status mw__program_new(mw_rank *rank, const mw_graph *graph,
                                       mw_tensor *const *input, int ninput, mw_program **ret);
void mw__program_free(mw_rank *rank, mw_program *program); /* NULL is fine */

/* Runs it: results into ret[], handles of the current scope. Collective. */
MW_NODISCARD mw_status mw__program_run(mw_rank *rank, mw_program *program, mw_tensor *const *input,
                                       int ninput, mw_tensor **ret);

int64_t mw__program_bytes(const mw_program *program); /* of its arena: what lives at once at most */
int mw__program_halves(const mw_program *program); /* movements with steps between begin and end */
int mw__program_fused(const mw_program *program);  /* kernels that run in one loop with others */
int mw__program_steps(const mw_program *program);  /* kernels, copies and movements */

#endif
