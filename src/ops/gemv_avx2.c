/* The row kernels in AVX2 registers with FMA (gemv_set.h is the text). */
#include "ops/gemv.h"

#if defined(__x86_64__)
#define MW_VEC       256
#define MW_VEC_NAME  "avx2"
#define MW_VEC_TABLE mw__row_kernels_avx2
#include "ops/gemv_set.h"
#endif
