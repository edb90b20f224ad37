/* held: which positions of a dim a rank holds, and indices into the whole dim. */
#ifndef OPS_HELD_H
#define OPS_HELD_H

#include "ops/op.h"

typedef struct mw__held {
    const mw_range *range;
    int64_t count;
    int64_t size; /* of the whole dim */
} mw__held;

/* Of dim `dim` of an operand, in the call's scratch. */
MW_NODISCARD mw_status mw__held_of(const mw_kernel_call *k, int operand, int dim, mw__held *ret);

/* Where the global position lies in the shard; -1: another rank has it. */
int64_t mw__held_local(const mw__held *rows, int64_t position);

/* The indices as contiguous int64 in the call's scratch, each checked against the size of what it
 * indexes, which messages call `what`. `wraps`: those below 0 count from the end. MW_ERR_ARG: no
 * integers, or one is outside. */
MW_NODISCARD mw_status mw__held_indices(const mw_kernel_call *k, int operand, int64_t size,
                                        bool wraps, const char *what, const int64_t **ret,
                                        int64_t *ret_count);

#endif
