/* Narrow forms: which matrices have one, and that products read the same bits from it. */
#include "ops/narrow.h"

#include <math.h>
#include <meshwise/alloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROWS = 5, MOST = 200 };

static uint32_t seed = 1;

static int next(int most)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)(seed >> 8) % (most + 1);
}

/* Scales as they are in files: f16. */
static float scale(void)
{
    return mw__f16_to_f32(mw__f32_to_f16((float)(next(1000) + 1) / 4096));
}

static float w[ROWS * MOST];

static mw_mat matrix(int64_t cols)
{
    return (mw_mat){w, MW_DTYPE_f32, ROWS, cols, cols, 1};
}

static void fill_blocks(int64_t cols, int most, bool offset)
{
    for (int64_t r = 0; r < ROWS; r++) {
        float d = 0, m = 0;
        for (int64_t k = 0; k < cols; k++) {
            if (k % MW_BLOCK == 0) d = scale(), m = offset ? -scale() * 3 : 0;
            w[r * cols + k] = (float)next(most) * d + m;
            if (!offset) w[r * cols + k] -= (float)(most / 2) * d;
        }
    }
    for (int64_t i = 0; i < ROWS * cols; i++)
        w[i] += 0.0F; /* no negative zero */
}

static mw_narrow *made(int64_t cols)
{
    mw_mat m = matrix(cols);
    mw_narrow *n;
    assert_int_equal(mw__narrow_make(&m, &n), MW_OK);
    if (!n) return NULL;
    float row[MOST];
    for (int64_t r = 0; r < ROWS; r++) {
        mw__narrow_row(n, r, row);
        assert_memory_equal(row, w + r * cols, (size_t)cols * sizeof *row);
    }
    return n;
}

static void expect(int64_t cols, int type)
{
    mw_narrow *n = made(cols);
    if (type < 0) {
        assert_null(n);
        return;
    }
    assert_non_null(n);
    assert_int_equal(n->type, type);
    assert_true(n->bytes * 3 / 2 <= ROWS * cols * 4);
    mw__narrow_free(n);
}

static void test_forms(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        int64_t cols = 24 + next(MOST - 24);
        fill_blocks(cols, 15, true);
        expect(cols, MW_GEMV_BLOCK4);
        fill_blocks(cols, 15, false);
        expect(cols, MW_GEMV_BLOCK4);
        fill_blocks(cols, 254, false);
        expect(cols, MW_GEMV_BLOCK8);
        for (int i = 0; i < ROWS * MOST; i++)
            w[i] = mw__bf16_to_f32(mw__f32_to_bf16(expf((float)(next(4000) - 2000) / 100)));
        expect(cols, MW_GEMV_BF16);
        for (int i = 0; i < ROWS * MOST; i++)
            w[i] = mw__f16_to_f32(mw__f32_to_f16(expf((float)(next(4000) - 2000) / 200)));
        expect(cols, mw__row_kernels_get()->widens_f16 ? MW_GEMV_F16 : -1);
        for (int i = 0; i < ROWS * MOST; i++)
            w[i] = expf((float)(next(4000) - 2000) / 100);
        expect(cols, -1);
    }
}

static void test_values_that_need_all_bits(void **state)
{
    (void)state;
    const float odd[] = {NAN, INFINITY, -INFINITY, -0.0F, 1e-40F, 3e38F, 0x1.000002p0F};
    for (int i = 0; i < MW_COUNT(odd); i++) {
        fill_blocks(64, 15, true);
        w[ROWS * 64 / 2 + 3] = odd[i];
        mw_narrow *n = made(64); /* none, or one that has the bits, which made() has checked */
        mw__narrow_free(n);
    }
    for (int i = 0; i < ROWS * 64; i++)
        w[i] = 0;
    expect(64, MW_GEMV_BLOCK4);
    for (int i = 0; i < ROWS * 64; i++)
        w[i] = 7.25F;
    expect(64, MW_GEMV_BLOCK4);
    mw_mat none = matrix(64);
    mw_narrow *n;
    none.dtype = MW_DTYPE_f64;
    assert_int_equal(mw__narrow_make(&none, &n), MW_OK);
    assert_null(n);
    none = matrix(64);
    none.col_stride = 2, none.cols = 32;
    assert_int_equal(mw__narrow_make(&none, &n), MW_OK);
    assert_null(n);
    none = matrix(0);
    assert_int_equal(mw__narrow_make(&none, &n), MW_OK);
    assert_null(n);
}

/* Every set of kernels, every number of rows, cut blocks: the same bits as from the whole. */
static void test_products(void **state)
{
    (void)state;
    static float x[MW_GEMV_ROWS * MOST], y[2][MW_GEMV_ROWS * ROWS];
    const mw__row_kernels *all[2];
    int sets = mw__row_kernels_all(all);
    for (int round = 0; round < 200; round++) {
        int64_t cols = 16 + next(MOST - 16);
        fill_blocks(cols, round % 2 ? 15 : 254, round % 4 < 2);
        mw_narrow *n = made(cols);
        if (!n) continue;
        for (int i = 0; i < MW_GEMV_ROWS * MOST; i++)
            x[i] = (float)(next(2000) - 1000) / 300;
        for (int s = 0; s < sets; s++)
            for (int m = 1; m <= MW_GEMV_ROWS; m++) {
                mw__gemv g = {m, ROWS, cols, x, MOST, w, cols, y[0], ROWS};
                all[s]->dot[MW_GEMV_F32](&g);
                g.w = mw__narrow_at(n, 0), g.ldw = n->ld, g.y = y[1];
                all[s]->dot[n->type](&g);
                assert_memory_equal(y[0], y[1], (size_t)(m * ROWS) * sizeof(float));
            }
        mw__narrow_free(n);
    }
}

static void test_failed_allocations(void **state)
{
    (void)state;
    fill_blocks(64, 254, true); /* the second form that is tried */
    for (int nth = 1, status = MW_ERR_NOMEM; status == MW_ERR_NOMEM; nth++) {
        mw_fault_allocator fault;
        mw__ctx ctx;
        mw_fault_allocator_init(&fault, nth, 0);
        mw__ctx_init(&ctx, &fault.allocator);
        mw__ctx *former = mw__ctx_swap(&ctx);
        mw_mat m = matrix(64);
        mw_narrow *n = NULL;
        status = mw__narrow_make(&m, &n);
        mw__narrow_free(n);
        mw__pool_done();
        (void)mw__ctx_swap(former);
        assert_int_equal(fault.live, 0);
        assert_true(status == MW_OK ? nth > 2 : nth < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_values_that_need_all_bits),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
