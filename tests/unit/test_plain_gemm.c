/* The products by plain loops, which programs without BLAS have, against those of BLAS. */
#include "ops/blas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define mw__gemm_run plain_gemm_run
void plain_gemm_run(const mw__gemm *g);
#include "ops/plain/gemm.c"
#undef mw__gemm_run

enum { M = 5, N = 4, K = 7, ROW = 9, MOST = ROW * ROW };

static void fill(void *to, bool wide, int seed)
{
    for (int i = 0; i < MOST; i++) {
        double value = (double)((i * 37 + seed * 11) % 29 - 14) / 8;
        if (wide)
            ((double *)to)[i] = value;
        else
            ((float *)to)[i] = (float)value;
    }
}

static void one(bool wide, bool a_flip, bool b_flip, double alpha, double beta)
{
    double a[MOST], b[MOST], blas[MOST], plain[MOST];
    fill(a, wide, 1);
    fill(b, wide, 2);
    fill(blas, wide, 3);
    fill(plain, wide, 3);
    mw__gemm g = {.wide = wide,
                  .a_flip = a_flip,
                  .b_flip = b_flip,
                  .m = M,
                  .n = N,
                  .k = K,
                  .lda = ROW,
                  .ldb = ROW,
                  .ldc = ROW,
                  .a = a,
                  .b = b,
                  .c = blas,
                  .alpha = alpha,
                  .beta = beta};
    mw__gemm_run(&g);
    g.c = plain;
    plain_gemm_run(&g);
    for (int i = 0; i < MOST; i++)
        assert_true(fabs(element(blas, wide, i) - element(plain, wide, i)) < 1e-4);
}

static void test_plain_products_agree_with_blas(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++)
        for (int beta = 0; beta < 2; beta++)
            one(bits & 1, bits & 2, bits & 4, 1.5, beta * 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain_products_agree_with_blas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
