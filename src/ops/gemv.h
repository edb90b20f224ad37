/* gemv: the kernels that read memory once: products with few rows, softmax and sums of rows. A row
 * of weights is read once for all rows of x, at the speed of memory: this is what generating a
 * token costs. Everything is for one thread, contiguous rows, and float or double sums; matrix.c
 * and the ops bring other layouts and dtypes into this form. */
#ifndef OPS_GEMV_H
#define OPS_GEMV_H

#include "base/base.h"
#include "tensor/tensor.h"

enum { MW_GEMV_ROWS = 7 }; /* more rows than this are a matrix product for BLAS */

/* y = x w for m rows of x (1..MW_GEMV_ROWS). Types: x and y are f32, or f64 for f64 weights. */
typedef struct mw__gemv {
    int m;
    int64_t n, k;
    const void *x; /* [m, k], rows `ldx` apart */
    int64_t ldx;
    const void *w; /* [n, k] for dot, [k, n] for axpy; rows `ldw` apart (any stride, also 0) */
    int64_t ldw;
    void *y; /* [m, n], rows `ldy` apart; overwritten */
    int64_t ldy;
} mw__gemv;

typedef void mw__gemv_fn(const mw__gemv *g);

/* Values of a row as base + q * step, exact in f32 with or without FMA. Those of a block4: the low
 * halves of the bytes are the first MW_BLOCK / 2. */
enum { MW_BLOCK = 32 };
typedef struct mw__block4 {
    float step, base;
    uint8_t q[MW_BLOCK / 2];
} mw__block4;
typedef struct mw__block8 {
    float step, base;
    uint8_t q[MW_BLOCK];
} mw__block8;

/* Weights that the kernels read as they are. */
typedef enum mw__gemv_type {
    MW_GEMV_F32,
    MW_GEMV_BF16,
    MW_GEMV_F16,
    MW_GEMV_F64,
    MW_GEMV_PLAIN, /* how many there are of those before, whose weights are elements */
    MW_GEMV_BLOCK4 =
        MW_GEMV_PLAIN, /* dot alone: k in blocks of MW_BLOCK, the last of which may be cut */
    MW_GEMV_BLOCK8,
    MW_GEMV_TYPES
} mw__gemv_type;

/* The kernels of one instruction set. Every sum has 16 lanes (8 of doubles): its bits depend on the
 * row and the column alone, not on the number of rows or columns. */
typedef struct mw__row_kernels {
    const char *name;
    bool widens_f16; /* by one instruction: reading f16 costs no more than reading f32 */
    mw__gemv_fn *dot[MW_GEMV_TYPES];  /* y[i,j] = sum_k x[i,k] w[j,k]; zeros where k is 0 */
    mw__gemv_fn *axpy[MW_GEMV_TYPES]; /* y[i,j] = sum_k x[i,k] w[k,j]; likewise */

    /* row = softmax(row) in place. Returns the largest element: where it is -inf the row is NaN. */
    float (*softmax)(float *row, int64_t n);
    /* Sum, and sum of (x - mean)^2, in double. */
    double (*sum)(const float *row, int64_t n);
    double (*sum_squares)(const float *row, int64_t n, double mean);
    /* to = (x - mean) * scale * weight + bias; weight, bias may be NULL. */
    void (*affine)(float *to, const float *x, float mean, float scale, const float *weight,
                   const float *bias, int64_t n);
} mw__row_kernels;

/* The fastest that this machine runs. Pure in effect: the same on every call of a process. */
const mw__row_kernels *mw__row_kernels_get(void);

/* All that this machine runs, for tests and benchmarks: up to 2, slowest first; returns how many.
 */
int mw__row_kernels_all(const mw__row_kernels *ret[2]);

/* The same for a row of doubles, by the C library's exp. */
void mw__softmax_f64(double *row, int64_t n);

extern const mw__row_kernels mw__row_kernels_any;
#if defined(__x86_64__)
extern const mw__row_kernels mw__row_kernels_avx2;
#endif

#endif
