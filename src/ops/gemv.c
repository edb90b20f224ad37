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

void mw__row_take(mw_view *view, int dim, mw_view *ret_row)
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
