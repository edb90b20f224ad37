/* fold: reductions that reduce.h does not have, written as a function over chunks of a row. */
#ifndef OPS_FOLD_H
#define OPS_FOLD_H

#include "ops/op.h"

/* Chunks come as f64 or i64, whatever the view holds. `nth` counts the results, which are the dims
 * that are not folded, in row-major order. */
typedef struct mw__fold {
    mw_dtype load; /* f64 or i64 */
    void (*start)(void *state, int64_t nth);
    void (*chunk)(void *state, const void *x, int64_t n);
    void (*end)(void *state, int64_t nth);
} mw__fold;

/* Folds the dims in the mask. Nothing here allocates or fails. */
void mw__fold_run(const mw__fold *fold, void *state, const mw_view *in, uint32_t mask);

/* Bit per dim that argument `pos` names: an int, an int list; None and an empty list name all.
 * Fails: MW_ERR_SHAPE for a dim that is not there, or stands twice. */
MW_NODISCARD mw_status mw__dims_named(const mw_call_args *call, int pos, uint32_t *ret_mask);

/* How many elements the dims in the mask have of the whole operand 0. */
double mw__dims_count(const mw_call_args *call, uint32_t mask);

#endif
