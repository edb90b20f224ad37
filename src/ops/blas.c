/* The door to BLAS: one setting and a counter of seats are all the state there is, and they are the
 * process's, as the library itself is. With its own threads OpenBLAS would make callers from
 * several ranks wait for each other; with more callers than buffers it ends the process. */
#include "ops/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <semaphore.h>

/* OpenBLAS as Debian builds it has buffers for 64 callers at least. More than there are cores gain
 * nothing; a caller that finds no seat sleeps until one is free. */
enum { SEATS = 32 };

/* What a BLAS integer surely holds, with room to spare. */
enum { MOST = 1 << 30 };

static struct {
    pthread_once_t once;
    sem_t seats;
} door = {.once = PTHREAD_ONCE_INIT};

static void open_door(void)
{
    openblas_set_num_threads(1);
    (void)sem_init(&door.seats, 0, SEATS);
}

static void call(const mw__gemm *g)
{
    CBLAS_TRANSPOSE a_flip = g->a_flip ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE b_flip = g->b_flip ? CblasTrans : CblasNoTrans;
    blasint m = (blasint)g->m, n = (blasint)g->n, k = (blasint)g->k;
    blasint lda = (blasint)g->lda, ldb = (blasint)g->ldb, ldc = (blasint)g->ldc;
    if (g->wide)
        cblas_dgemm(CblasRowMajor, a_flip, b_flip, m, n, k, g->alpha, g->a, lda, g->b, ldb, g->beta,
                    g->c, ldc);
    else
        cblas_sgemm(CblasRowMajor, a_flip, b_flip, m, n, k, (float)g->alpha, g->a, lda, g->b, ldb,
                    (float)g->beta, g->c, ldc);
}

static const char *moved(const void *at, const mw__gemm *g, int64_t elements)
{
    return (const char *)at + elements * (g->wide ? 8 : 4);
}

/* The part of `whole` with rows from i, columns from j and terms from k on, each at most MOST. */
static mw__gemm part_of(const mw__gemm *whole, int64_t i, int64_t j, int64_t k)
{
    mw__gemm part = *whole;
    part.m = MW_MIN(whole->m - i, MOST);
    part.n = MW_MIN(whole->n - j, MOST);
    part.k = MW_MIN(whole->k - k, MOST);
    part.a = moved(whole->a, whole, whole->a_flip ? k * whole->lda + i : i * whole->lda + k);
    part.b = moved(whole->b, whole, whole->b_flip ? j * whole->ldb + k : k * whole->ldb + j);
    part.c = (char *)whole->c + (i * whole->ldc + j) * (whole->wide ? 8 : 4);
    if (k > 0) part.beta = 1;
    return part;
}

void mw__gemm_run(const mw__gemm *g)
{
    (void)pthread_once(&door.once, open_door);
    while (sem_wait(&door.seats)) {} /* again after a signal */
    for (int64_t i = 0; i < g->m; i += MOST)
        for (int64_t j = 0; j < g->n; j += MOST)
            for (int64_t k = 0; k < g->k; k += MOST) {
                mw__gemm part = part_of(g, i, j, k);
                call(&part);
            }
    (void)sem_post(&door.seats);
}
