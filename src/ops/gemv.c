/* The row kernels in plain C (gemv_set.h is the text), and the choice of the set that this machine
 * runs: made anew on each call from the processor's flags, which is two loads and no state. */
#include "ops/gemv.h"

#define MW_VEC       0
#define MW_VEC_NAME  "any"
#define MW_VEC_TABLE mw__row_kernels_any
#include "ops/gemv_set.h"

/* Every processor with AVX2 also has F16C, which the compilers have no portable question for. */
int mw__row_kernels_all(const mw__row_kernels *ret[2])
{
    int count = 0;
    ret[count++] = &mw__row_kernels_any;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        ret[count++] = &mw__row_kernels_avx2;
#endif
    return count;
}

const mw__row_kernels *mw__row_kernels_get(void)
{
    const mw__row_kernels *all[2];
    int count = mw__row_kernels_all(all);
    return all[count - 1];
}

void mw__softmax_f64(double *row, int64_t n)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        top = top > row[i] ? top : row[i];
    for (int64_t i = 0; i < n; i++)
        sum += row[i] = exp(row[i] - top);
    for (int64_t i = 0; i < n; i++)
        row[i] /= sum;
}
