/* search: the order in which elements stand, and rows to look for them in. Of equal elements the
 * first comes first, so every answer is one answer. */
#ifndef OPS_SEARCH_H
#define OPS_SEARCH_H

#include "ops/op.h"

/* A row as contiguous f32, f64 or i64: one of the three is set. */
typedef struct mw__search_row {
    const float *f32;
    const double *f64;
    const int64_t *i64;
    int64_t n;
} mw__search_row;

/* In which dtype rows of this one are read; a buffer for n of its elements. */
mw_dtype mw__search_dtype(mw_dtype dtype);
MW_NODISCARD mw_status mw__search_buffer(const mw_kernel_call *k, int64_t n, void **ret);

/* `from` as a row, copied into `buffer` unless it can be read. */
mw__search_row mw__search_row_of(const mw_view *from, void *buffer);

/* Does element i come before element j, places aside? `sign` 1: larger first, NaN before all;
 * -1: smaller first, NaN last. */
bool mw__search_before(const mw__search_row *r, int64_t i, int64_t j, int sign);

/* The largest (sign 1) or smallest (-1) element, NaN above either; n > 0. */
int64_t mw__search_best(const mw__search_row *r, int sign);

/* The first k of the row in order, into ret[k]; at most n. Returns how many. */
int64_t mw__search_first(const mw__search_row *r, int64_t k, int sign, int64_t *ret);

/* The global positions that the shard's positions of dim `dim` of operand 0 are; NULL: the same. */
MW_NODISCARD mw_status mw__search_positions(const mw_kernel_call *k, int dim, const int64_t **ret);

#endif
