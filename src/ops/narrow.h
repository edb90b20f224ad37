/* narrow: the values of a float matrix in fewer bytes, all of them exactly. Weights that were
 * stored in 4 or 8 bits, or as bf16 or f16, are such matrices still when they have been widened to
 * f32: what is read for every token is then a half to a fifth of what it was, and the sums have the
 * same bits.
 *
 * Forms, tried narrowest first: blocks of 32 values of a row, base + q * step with q in 4 bits (24
 * bytes) or in 8 (40 bytes); bf16; f16. A matrix takes one form for all of its rows, or none. */
#ifndef OPS_NARROW_H
#define OPS_NARROW_H

#include "ops/gemv.h"
#include "ops/matrix.h"

typedef struct mw_narrow {
    mw__gemv_type type;
    int64_t rows, cols; /* each row is a column of the product's b */
    int64_t ld;         /* blocks (elements) of a row */
    int64_t bytes;
    mw_storage *storage;
} mw_narrow;

/* Of a matrix whose rows are contiguous. *ret stays NULL where there is no narrower form that has
 * the same bits (other dtypes, NaN, infinities and negative zeros among them). The caller frees it,
 * on this rank. Fails: MW_ERR_NOMEM. Local. */
MW_NODISCARD mw_status mw__narrow_make(const mw_mat *m, mw_narrow **ret);
void mw__narrow_free(mw_narrow *narrow); /* NULL is fine */

/* Where row `row` is. */
const void *mw__narrow_at(const mw_narrow *narrow, int64_t row);

/* Row `row` as f32, for tests. */
void mw__narrow_row(const mw_narrow *narrow, int64_t row, float *ret);

#endif
