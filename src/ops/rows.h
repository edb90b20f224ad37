/* rows: walking a view row by row along one dim, whatever its strides. */
#ifndef OPS_ROWS_H
#define OPS_ROWS_H

#include "ops/op.h"

/* Takes dim `dim` out of `view`: the row that starts at its first element is *ret_row, the rest
 * stays. A view of no dims is a row of one. */
static inline void mw__row_take(mw_view *view, int dim, mw_view *ret_row)
{
    *ret_row = (mw_view){view->data, view->dtype, 1, {1}, {1}};
    if (view->ndim == 0) return;
    ret_row->shape[0] = view->shape[dim];
    ret_row->stride[0] = view->stride[dim];
    view->ndim--;
    for (int d = dim; d < view->ndim; d++) {
        view->shape[d] = view->shape[d + 1];
        view->stride[d] = view->stride[d + 1];
    }
}

/* Where the element of the rest at `index` lies: the row's start. */
static inline void *mw__row_at(const mw_view *rest, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < rest->ndim; d++)
        at += index[d] * rest->stride[d];
    return rest->data ? (char *)rest->data + at * mw_dtype_size(rest->dtype) : NULL;
}

/* The next index of the rest, row-major; false after the last. */
static inline bool mw__row_step(int64_t *index, const mw_view *rest)
{
    int d = rest->ndim - 1;
    while (d >= 0 && ++index[d] == rest->shape[d])
        index[d--] = 0;
    return d >= 0;
}

/* Element `at` of a row as a view of no dims. */
static inline mw_view mw__row_element(const mw_view *row, int64_t at)
{
    mw_view one = {.data = (char *)row->data + at * row->stride[0] * mw_dtype_size(row->dtype),
                   .dtype = row->dtype};
    return one;
}

#endif
