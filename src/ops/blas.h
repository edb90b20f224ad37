/* blas: the one door to the BLAS library. Rank threads call it at the same time, so the library is
 * told once to keep to the caller's thread, and no more callers are let in than it has buffers for.
 */
#ifndef OPS_BLAS_H
#define OPS_BLAS_H

#include "base/base.h"

/* c = alpha a b + beta c with c [m, n] row-major, rows `ldc` apart. `a_flip`: a lies in memory as
 * [k, m] with rows `lda` apart, else as [m, k]; b likewise. f64 for `wide`, else f32. m, n, k >= 1;
 * the distances are at least the length of a row and at most INT_MAX. Where beta is 0, c is not
 * read. */
typedef struct mw__gemm {
    bool wide, a_flip, b_flip;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    const void *a, *b;
    void *c;
    double alpha, beta;
} mw__gemm;

void mw__gemm_run(const mw__gemm *g);

#endif
