/* All row kernels of one instruction set: included by one .c file per set, which defines MW_VEC and
 * the name of its table, MW_VEC_TABLE. The text is the same for all sets; see vec.h. */
#include "ops/gemv.h"

#include "ops/vec.h"

#define VF_OP(name) vf_##name
#define VD_OP(name) vd_##name

/* G(what), from G(what_all), which takes the number of rows. */
#if MW_VEC != 0
/* A function per number of rows, so that the accumulators of each are registers. */
#define GEMV_ROWS(what, rows)                                  \
    VEC_TARGET static void G(what##_##rows)(const mw__gemv *g) \
    {                                                          \
        G(what##_all)(g, rows);                                \
    }
#define GEMV_BY_ROWS(what)                                                                        \
    GEMV_ROWS(what, 1)                                                                            \
    GEMV_ROWS(what, 2)                                                                            \
    GEMV_ROWS(what, 3)                                                                            \
    GEMV_ROWS(what, 4)                                                                            \
    GEMV_ROWS(what, 5)                                                                            \
    GEMV_ROWS(what, 6)                                                                            \
    GEMV_ROWS(what, 7)                                                                            \
    static void G(what)(const mw__gemv *g)                                                        \
    {                                                                                             \
        static mw__gemv_fn *const by_rows[MW_GEMV_ROWS] = {G(what##_1), G(what##_2), G(what##_3), \
                                                           G(what##_4), G(what##_5), G(what##_6), \
                                                           G(what##_7)};                          \
        by_rows[g->m - 1](g);                                                                     \
    }
#else
/* Plain C has too few registers for more than one row at a time. */
#define GEMV_BY_ROWS(what)                        \
    static void G(what)(const mw__gemv *g)        \
    {                                             \
        mw__gemv one = *g;                        \
        for (int i = 0; i < g->m; i++) {          \
            one.x = (const T *)g->x + i * g->ldx; \
            one.y = (T *)g->y + i * g->ldy;       \
            G(what##_all)(&one, 1);               \
        }                                         \
    }
#endif

#define G(name)    f32_##name
#define T          float
#define W          float
#define V          vf
#define LANES      VF_LANES
#define VOP(name)  VF_OP(name)
#define WLOAD      vf_load
#define WLOAD_PART vf_load_part
#include "ops/gemv_body.h"

#define G(name)    bf16_##name
#define T          float
#define W          uint16_t
#define V          vf
#define LANES      VF_LANES
#define VOP(name)  VF_OP(name)
#define WLOAD      vf_load_bf16
#define WLOAD_PART vf_load_bf16_part
#include "ops/gemv_body.h"

#define G(name)    f16_##name
#define T          float
#define W          uint16_t
#define V          vf
#define LANES      VF_LANES
#define VOP(name)  VF_OP(name)
#define WLOAD      vf_load_f16
#define WLOAD_PART vf_load_f16_part
#include "ops/gemv_body.h"

#define G(name)    f64_##name
#define T          double
#define W          double
#define V          vd
#define LANES      VD_LANES
#define VOP(name)  VD_OP(name)
#define WLOAD      vd_load
#define WLOAD_PART vd_load_part
#include "ops/gemv_body.h"

#define G(name)        block4_##name
#define T              float
#define BLOCK          mw__block4
#define QLOAD(b, half) vf_load_u4((b)->q, half)
#include "ops/gemv_block.h"

#define G(name)        block8_##name
#define T              float
#define BLOCK          mw__block8
#define QLOAD(b, half) vf_load_u8((b)->q + (half))
#include "ops/gemv_block.h"

/* ---- rows --------------------------------------------------------------------------------------
 */

VEC_TARGET static float row_softmax(float *row, int64_t n)
{
    int64_t whole = n - n % VF_LANES;
    vf most = vf_set(-INFINITY);
    for (int64_t i = 0; i < whole; i += VF_LANES)
        most = vf_max(most, vf_load(row + i));
    float top = vf_max_of(most);
    for (int64_t i = whole; i < n; i++)
        top = top > row[i] ? top : row[i];

    vf total = vf_set(0);
    for (int64_t i = 0; i < whole; i += VF_LANES) {
        vf e = vf_exp(vf_sub(vf_load(row + i), vf_set(top)));
        vf_store(row + i, e);
        total = vf_add(total, e);
    }
    float sum = vf_sum(total);
    if (whole < n) {
        vf e = vf_exp(vf_sub(vf_load_part(row + whole, n - whole), vf_set(top)));
        vf_store_part(row + whole, e, n - whole);
        sum += vf_sum(vf_load_part(row + whole, n - whole));
    }
    for (int64_t i = 0; i < whole; i += VF_LANES)
        vf_store(row + i, vf_div(vf_load(row + i), vf_set(sum)));
    for (int64_t i = whole; i < n; i++)
        row[i] /= sum;
    return top;
}

VEC_TARGET static double row_sum(const float *row, int64_t n)
{
    int64_t whole = n - n % VD_LANES;
    vd total = vd_set(0);
    for (int64_t i = 0; i < whole; i += VD_LANES)
        total = vd_add(total, vd_load_f32(row + i));
    double sum = vd_sum(total);
    for (int64_t i = whole; i < n; i++)
        sum += (double)row[i];
    return sum;
}

VEC_TARGET static double row_sum_squares(const float *row, int64_t n, double mean)
{
    int64_t whole = n - n % VD_LANES;
    vd total = vd_set(0);
    for (int64_t i = 0; i < whole; i += VD_LANES) {
        vd x = vd_sub(vd_load_f32(row + i), vd_set(mean));
        total = vd_fma(x, x, total);
    }
    double sum = vd_sum(total);
    for (int64_t i = whole; i < n; i++)
        sum += ((double)row[i] - mean) * ((double)row[i] - mean);
    return sum;
}

VEC_TARGET static void row_affine(float *to, const float *x, float mean, float scale,
                                  const float *weight, const float *bias, int64_t n)
{
    int64_t whole = n - n % VF_LANES;
    for (int64_t i = 0; i < whole; i += VF_LANES) {
        vf y = vf_mul(vf_sub(vf_load(x + i), vf_set(mean)), vf_set(scale));
        if (weight) y = vf_mul(y, vf_load(weight + i));
        if (bias) y = vf_add(y, vf_load(bias + i));
        vf_store(to + i, y);
    }
    for (int64_t i = whole; i < n; i++) {
        float y = (x[i] - mean) * scale;
        if (weight) y *= weight[i];
        if (bias) y += bias[i];
        to[i] = y;
    }
}

const mw__row_kernels MW_VEC_TABLE = {
    .name = MW_VEC_NAME,
    .widens_f16 = MW_VEC != 0,
    .dot = {f32_dot, bf16_dot, f16_dot, f64_dot, block4_dot, block8_dot},
    .axpy = {f32_axpy, bf16_axpy, f16_axpy, f64_axpy},
    .softmax = row_softmax,
    .sum = row_sum,
    .sum_squares = row_sum_squares,
    .affine = row_affine,
};
