/* reduce: sums and extremes of a strided view over some of its dims. Nothing here allocates or
 * fails. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "ops/op.h"

/* Folds the dims in `mask` (bit per dim) by SUM, MAX or MIN into `out`, which is contiguous and
 * holds the other dims in order (dims of size 1 don't matter). Elements are converted to out's
 * dtype as torch does before summing. `count`, where it is not 0, divides a float sum. Nothing
 * folds to the identity: 0, -inf or the smallest integer, inf or the largest. NaN wins over any
 * extreme. */
void mw__reduce_run(mw_reduce kind, const mw_view *in, uint32_t mask, double count,
                    const mw_view *out);

#endif
