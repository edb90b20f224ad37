/* How close the few-row products come to the speed of memory. About 500 MB of weights, far beyond
 * every cache, are cycled through in the shapes of a small model, by one thread and by two at the
 * same time. Pieces of some megabytes are taken in turns by each product and by a loop of the same
 * instruction set that reads as many bytes and does nothing else. What is printed is the product's
 * speed and its part of the read's: medians, and upper quartiles, which other programs disturb
 * less. `bench_gemv [pieces]`. */
#include "ops/gemv.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MW_VEC 256
#include "ops/vec.h"

enum { THREADS = 2, SHAPES = 3, MOST_PIECES = 4096, PIECE_BYTES = 8 << 20 };

static const struct shape {
    int64_t n, k;
} shapes[SHAPES] = {{1536, 576}, {576, 1536}, {49152, 576}};

static const struct variant {
    const char *name;
    mw__gemv_type type;
    int64_t size; /* of a weight */
    bool axpy;
    int m;
} variants[] = {
    {"f32 dot, 1 row", MW_GEMV_F32, 4, false, 1},    {"f32 dot, 3 rows", MW_GEMV_F32, 4, false, 3},
    {"f32 dot, 7 rows", MW_GEMV_F32, 4, false, 7},   {"f32 axpy, 1 row", MW_GEMV_F32, 4, true, 1},
    {"f32 axpy, 3 rows", MW_GEMV_F32, 4, true, 3},   {"bf16 dot, 1 row", MW_GEMV_BF16, 2, false, 1},
    {"bf16 dot, 3 rows", MW_GEMV_BF16, 2, false, 3}, {"f64 dot, 1 row", MW_GEMV_F64, 8, false, 1},
};

typedef struct job {
    pthread_barrier_t *barrier;
    const char *weights;
    int64_t bytes;
    struct shape shape;
    const struct variant *variant;
    int pieces;
    double product[MOST_PIECES], read[MOST_PIECES]; /* bytes per second */
    float sink;
} job;

/* The sums must be registers: the unrolling says so to the compiler. */
VEC_TARGET static float read_all(const char *at, int64_t bytes)
{
    vf sum[4] = {vf_set(0), vf_set(0), vf_set(0), vf_set(0)};
    for (int64_t i = 0; i + 256 <= bytes; i += 256) {
        const float *row = (const float *)(const void *)(at + i);
        VEC_UNROLL
        for (int r = 0; r < 4; r++)
            sum[r] = vf_add(sum[r], vf_load(row + r * VF_LANES));
    }
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

static void multiply(const job *j, const char *at, int64_t bytes, const void *x, void *y)
{
    const mw__row_kernels *kernels = mw__row_kernels_get();
    const struct variant *v = j->variant;
    int64_t n = j->shape.n, k = j->shape.k, one = n * k * v->size;
    mw__gemv g = {.m = v->m, .n = n, .k = k, .x = x, .ldx = k, .ldw = v->axpy ? n : k, .y = y};
    g.ldy = n;
    for (int64_t done = 0; done < bytes; done += one) {
        g.w = at + done;
        (v->axpy ? kernels->axpy : kernels->dot)[v->type](&g);
    }
}

static void *run(void *user)
{
    job *j = user;
    int64_t one = j->shape.n * j->shape.k * j->variant->size, at = 0;
    int64_t piece = MW_MAX(one, PIECE_BYTES / one * one);
    size_t x_bytes = (size_t)(j->variant->m * j->shape.k * 8);
    void *x = aligned_alloc(64, x_bytes),
         *y = aligned_alloc(64, (size_t)(j->variant->m * j->shape.n * 8));
    if (!x || !y) abort();
    memset(x, 0, x_bytes);
    for (int i = 0; i < 2 * j->pieces; i++, at += piece) {
        if (at + piece > j->bytes) at = 0;
        pthread_barrier_wait(j->barrier);
        double start = mw__now();
        if (i % 2)
            multiply(j, j->weights + at, piece, x, y);
        else
            j->sink += read_all(j->weights + at, piece);
        (i % 2 ? j->product : j->read)[i / 2] = (double)piece / (mw__now() - start);
    }
    free(x);
    free(y);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *weights, int64_t bytes, struct shape shape,
                    const struct variant *variant, int pieces, int threads)
{
    static job jobs[THREADS];
    pthread_barrier_t barrier;
    pthread_t thread[THREADS];
    double read[2] = {0, 0}, product[2] = {0, 0};
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads)) abort();
    for (int t = 0; t < threads; t++) {
        job *j = &jobs[t];
        j->barrier = &barrier;
        j->bytes = bytes / threads;
        j->weights = weights + t * j->bytes;
        j->shape = shape, j->variant = variant, j->pieces = pieces, j->sink = 0;
        if (pthread_create(&thread[t], NULL, run, j)) abort();
    }
    for (int t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        qsort(jobs[t].read, (size_t)pieces, sizeof(double), by_size);
        qsort(jobs[t].product, (size_t)pieces, sizeof(double), by_size);
        for (int q = 0; q < 2; q++) {
            int at = q ? pieces * 3 / 4 : pieces / 2;
            read[q] += jobs[t].read[at];
            product[q] += jobs[t].product[at];
        }
    }
    pthread_barrier_destroy(&barrier);
    printf("  | %5.1f GB/s %5.1f %% %5.1f %%", product[0] / 1e9, 100 * product[0] / read[0],
           100 * product[1] / read[1]);
}

int main(int argc, char **argv)
{
    int64_t bytes = (int64_t)500 << 20;
    int pieces = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 120;
    char *weights = aligned_alloc(64, (size_t)bytes);
    if (!weights || pieces < 4 || pieces > MOST_PIECES) return 1;
    memset(weights, 0, (size_t)bytes);
    printf("kernels: %s\n%-30s  | %-26s  | %s\n", mw__row_kernels_get()->name, "",
           "1 thread     median  upper", "2 threads    median  upper");
    for (int v = 0; v < MW_COUNT(variants); v++)
        for (int s = 0; s < SHAPES; s++) {
            printf("%-18s %5lldx%-5lld", variants[v].name, (long long)shapes[s].n,
                   (long long)shapes[s].k);
            for (int threads = 1; threads <= THREADS; threads++)
                measure(weights, bytes, shapes[s], &variants[v], pieces, threads);
            printf("\n");
            (void)fflush(stdout);
        }
    free(weights);
    return 0;
}
