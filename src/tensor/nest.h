/* nest: the loops over a few strided views of one shape.
 *
 * The first view gives the shape; the others are broadcast to it, torch's way. Dims of size 1 go,
 * dims that lie behind each other in every view are merged, and the rest is ordered so that the
 * first view is walked in memory order. What is left is a row (the innermost dim) and an odometer
 * over the outer dims:
 *
 *     mw__nest nest;
 *     if (!mw__nest_init(&nest, views, 2)) return;   // nothing to do: no elements
 *     do row(nest.at[0], nest.at[1], nest.size[nest.ndim - 1]);
 *     while (mw__nest_next(&nest));
 */
#ifndef TENSOR_NEST_H
#define TENSOR_NEST_H

#include "tensor/tensor.h"

enum { MW_NEST_VIEWS = 4 };

typedef struct mw__nest {
    int ndim, nview;                            /* ndim >= 1 */
    char *at[MW_NEST_VIEWS];                    /* the current row's first elements */
    int64_t row_stride[MW_NEST_VIEWS];          /* of the innermost dim, in elements */
    int64_t index[MW_MAX_DIMS];                 /* odometer over the outer dims */
    int64_t size[MW_MAX_DIMS];                  /* outermost first */
    int64_t stride[MW_NEST_VIEWS][MW_MAX_DIMS]; /* in bytes */
} mw__nest;

/* False where there are no elements. */
bool mw__nest_init(mw__nest *nest, const mw_view *const *view, int nview);

/* Steps to the next row; false after the last. */
bool mw__nest_next(mw__nest *nest);

#endif
