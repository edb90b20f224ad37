/* The door to BLAS where there is no BLAS: the same products by plain loops. Programs that only
 * read texts are linked with this file before the library, so that none of BLAS comes with them. */
#include "ops/blas.h"

static double element(const void *at, bool wide, int64_t index)
{
    return wide ? ((const double *)at)[index] : (double)((const float *)at)[index];
}

static double dot(const mw__gemm *g, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < g->k; k++)
        sum += element(g->a, g->wide, g->a_flip ? k * g->lda + i : i * g->lda + k) *
               element(g->b, g->wide, g->b_flip ? j * g->ldb + k : k * g->ldb + j);
    return sum;
}

void mw__gemm_run(const mw__gemm *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            int64_t at = i * g->ldc + j;
            double value = g->alpha * dot(g, i, j);
            if (g->beta != 0) value += g->beta * element(g->c, g->wide, at);
            if (g->wide)
                ((double *)g->c)[at] = value;
            else
                ((float *)g->c)[at] = (float)value;
        }
}
