/* The row kernels in AVX-512 registers (gemv_set.h is the text). */
#include "ops/gemv.h"

#if defined(__x86_64__)
#define MW_VEC       512
#define MW_VEC_NAME  "avx512"
#define MW_VEC_TABLE mw__row_kernels_avx512
#include "ops/gemv_set.h"
#endif
