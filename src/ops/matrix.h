/* matrix: products of strided matrices of any dtype, for the ops that contract.
 *
 *     mw_mat w = mw__mat_of(&weight, 0);               [n, k]
 *     mw_product p = {.a = x, .b = mw__mat_flip(w), .c = y, .alpha = 1};
 *     MW_TRY(mw__product_run(&p, k->scratch));         y = x w^T
 *
 * Few rows are read at the speed of memory by the row kernels (gemv.h), many go to BLAS on this one
 * thread. Layouts that neither takes are copied first. */
#ifndef OPS_MATRIX_H
#define OPS_MATRIX_H

#include "base/base.h"
#include "tensor/tensor.h"

/* A matrix in memory. Strides in elements; any values, 0 and overlaps included. */
typedef struct mw_mat {
    void *data;
    mw_dtype dtype;
    int64_t rows, cols;
    int64_t row_stride, col_stride;
} mw_mat;

/* The last two dims of a view (which has at least two), `offset` elements on. */
mw_mat mw__mat_of(const mw_view *view, int64_t offset);

/* Transposed: the same memory. */
mw_mat mw__mat_flip(mw_mat m);

/* The memory of `m` as a view of two dims. */
mw_view mw__mat_view(mw_mat m);

/* `at` moved on by `elements` of this dtype. */
void *mw__mat_at(void *at, mw_dtype dtype, int64_t elements);

/* c = alpha a b + beta c. Where beta is 0, c is not read. A sum over no terms is +0. Floats compute
 * in f32, or in f64 where any of the three is f64; integers in int64, modulo 2^64, with int_alpha
 * and int_beta. c has any dtype of the same kind and must not overlap a or b. */
typedef struct mw_product {
    mw_mat a, b, c; /* [m, k] [k, n] [m, n] */
    double alpha, beta;
    int64_t int_alpha, int_beta;
    const struct mw_narrow *narrow; /* b in fewer bytes (narrow.h): its columns as rows; or NULL */
    int64_t narrow_at;              /* its row that is the first column of b */
} mw_product;

/* Fails: MW_ERR_NOMEM. What it puts into `scratch` is the caller's to clear. */
MW_NODISCARD mw_status mw__product_run(const mw_product *p, mw_arena *scratch);

#endif
