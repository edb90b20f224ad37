/* compare: ops whose result is true or false, element by element. They compute in the promoted
 * dtype of their operands, not in that of their result. */
#ifndef OPS_COMPARE_H
#define OPS_COMPARE_H

#include "ops/elementwise.h"

/* `tensor` for two operands, `scalar` (may be NULL) for one; argument 1, where it is a number, is
 * the scalar s of the rows. */
mw_status mw__compare_run(const mw_kernel_call *k, const mw__family *tensor,
                          const mw__family *scalar);

#endif
