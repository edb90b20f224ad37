/* The vectors that the hot kernels are written in: 16 floats (vf) or 8 doubles (vd), in the
 * registers of one instruction set. MW_VEC says which: 256 (AVX2 with FMA) or 0 (the compiler's own
 * vectors, on any machine). A kernel body is written once against these names and included once per
 * set, so the sets cannot drift apart: lanes and the order of sums are the same in both; where
 * there is no FMA, products are rounded before they are added. 512-bit registers were tried and
 * left out: the kernels wait for memory, and read it 5 to 20 % slower with them. */
#ifndef OPS_VEC_H
#define OPS_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if MW_VEC != 0
#include <immintrin.h>
#endif

#if MW_VEC == 256
#define VEC_TARGET __attribute__((target("avx2,fma,f16c")))
#else
#define VEC_TARGET
#endif
#define VEC_FN   static inline __attribute__((always_inline)) VEC_TARGET
#define VEC_COLD static __attribute__((noinline, unused)) VEC_TARGET

/* Loops over rows and accumulators have constant counts and must vanish, or the accumulators live
 * in memory. clang sees to that by itself, and warns where it is told and cannot. */
#if defined(__clang__)
#define VEC_UNROLL
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

/* Asks for memory that will be read soon, a page ahead. Processors fetch
 * ahead by themselves, but stop at the end of a page, and where there is work to do for each line
 * they see too few lines to keep the memory busy. */
#define VEC_FETCH(at) __builtin_prefetch((const char *)(at) + 4096)

#define VF_LANES 16
#define VD_LANES 8

/* ---- AVX2 with FMA --------------------------------------------------------------------------- */
#if MW_VEC == 256

typedef struct vf {
    __m256 a, b; /* lanes 0-7 and 8-15 */
} vf;
typedef struct vd {
    __m256d a, b; /* lanes 0-3 and 4-7 */
} vd;

VEC_FN vf vf_set(float x)
{
    return (vf){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
VEC_FN vf vf_load(const float *at)
{
    return (vf){_mm256_loadu_ps(at), _mm256_loadu_ps(at + 8)};
}
VEC_FN __m256 vf_widen_bf16(const uint16_t *at)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
VEC_FN vf vf_load_bf16(const uint16_t *at)
{
    return (vf){vf_widen_bf16(at), vf_widen_bf16(at + 8)};
}
VEC_FN vf vf_load_f16(const uint16_t *at)
{
    return (vf){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at)),
                _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at + 8)))};
}
VEC_FN vf vf_widen_u8(__m128i bytes)
{
    __m256i low = _mm256_cvtepu8_epi32(bytes);
    __m256i high = _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(bytes, bytes));
    return (vf){_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)};
}
VEC_FN vf vf_load_u8(const uint8_t *at)
{
    return vf_widen_u8(_mm_loadu_si128((const __m128i *)(const void *)at));
}
/* The low halves of 16 bytes (at_high 0), or the high ones. */
VEC_FN vf vf_load_u4(const uint8_t *at, int at_high)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    if (at_high) bytes = _mm_srli_epi16(bytes, 4);
    return vf_widen_u8(_mm_and_si128(bytes, _mm_set1_epi8(15)));
}
VEC_FN void vf_store(float *at, vf x)
{
    _mm256_storeu_ps(at, x.a);
    _mm256_storeu_ps(at + 8, x.b);
}
VEC_FN vf vf_add(vf x, vf y)
{
    return (vf){_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
VEC_FN vf vf_sub(vf x, vf y)
{
    return (vf){_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
VEC_FN vf vf_mul(vf x, vf y)
{
    return (vf){_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
VEC_FN vf vf_div(vf x, vf y)
{
    return (vf){_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
VEC_FN vf vf_fma(vf x, vf y, vf z)
{
    return (vf){_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
VEC_FN vf vf_max(vf x, vf y)
{
    return (vf){_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
VEC_FN vf vf_round(vf x)
{
    return (vf){_mm256_round_ps(x.a, 8), _mm256_round_ps(x.b, 8)};
}
VEC_FN __m256 vf_pow2_half(__m256 n)
{
    __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
VEC_FN vf vf_pow2(vf n)
{
    return (vf){vf_pow2_half(n.a), vf_pow2_half(n.b)};
}
VEC_FN vf vf_zero_below(vf y, vf x, vf limit)
{
    return (vf){_mm256_andnot_ps(_mm256_cmp_ps(x.a, limit.a, _CMP_LT_OQ), y.a),
                _mm256_andnot_ps(_mm256_cmp_ps(x.b, limit.b, _CMP_LT_OQ), y.b)};
}
VEC_FN __m128 vf_fold(vf x)
{
    __m256 b = _mm256_add_ps(x.a, x.b);
    return _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
}
VEC_FN __m128 vf_fold_max(vf x)
{
    __m256 b = _mm256_max_ps(x.a, x.b);
    return _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
}

VEC_FN vd vd_set(double x)
{
    return (vd){_mm256_set1_pd(x), _mm256_set1_pd(x)};
}
VEC_FN vd vd_load(const double *at)
{
    return (vd){_mm256_loadu_pd(at), _mm256_loadu_pd(at + 4)};
}
VEC_FN vd vd_load_f32(const float *at)
{
    return (vd){_mm256_cvtps_pd(_mm_loadu_ps(at)), _mm256_cvtps_pd(_mm_loadu_ps(at + 4))};
}
VEC_FN void vd_store(double *at, vd x)
{
    _mm256_storeu_pd(at, x.a);
    _mm256_storeu_pd(at + 4, x.b);
}
VEC_FN vd vd_add(vd x, vd y)
{
    return (vd){_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)};
}
VEC_FN vd vd_sub(vd x, vd y)
{
    return (vd){_mm256_sub_pd(x.a, y.a), _mm256_sub_pd(x.b, y.b)};
}
VEC_FN vd vd_mul(vd x, vd y)
{
    return (vd){_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b)};
}
VEC_FN vd vd_fma(vd x, vd y, vd z)
{
    return (vd){_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)};
}
VEC_FN __m256d vd_fold(vd x)
{
    return _mm256_add_pd(x.a, x.b);
}

/* ---- plain C --------------------------------------------------------------------------------- */
#else

/* Four lanes at a time by the compiler's own vector types, which every machine has or imitates. */
typedef float vec_f4 __attribute__((vector_size(16)));
typedef uint32_t vec_u4 __attribute__((vector_size(16)));
typedef double vec_d2 __attribute__((vector_size(16)));

typedef union vf {
    float v[VF_LANES];
    vec_f4 q[4];
} vf;
typedef union vd {
    double v[VD_LANES];
    vec_d2 q[4];
} vd;

/* `expression` for each lane l, or for each quarter l. */
#define VEC_LANES(type, lanes, expression) \
    type r;                                \
    for (int l = 0; l < (lanes); l++)      \
        r.v[l] = (expression);             \
    return r
#define VEC_QUARTERS(type, expression) \
    type r;                            \
    VEC_UNROLL                         \
    for (int l = 0; l < 4; l++)        \
        r.q[l] = (expression);         \
    return r

VEC_FN vf vf_set(float x)
{
    vec_f4 q = {x, x, x, x};
    VEC_QUARTERS(vf, q);
}
VEC_FN vf vf_load(const float *at)
{
    vf r;
    memcpy(&r, at, sizeof r);
    return r;
}
VEC_FN vf vf_load_bf16(const uint16_t *at)
{
    VEC_QUARTERS(vf,
                 (vec_f4)((vec_u4){at[4 * l], at[4 * l + 1], at[4 * l + 2], at[4 * l + 3]} << 16));
}
VEC_FN vf vf_load_f16(const uint16_t *at)
{
    VEC_LANES(vf, VF_LANES, mw__f16_to_f32(at[l]));
}
VEC_FN vf vf_load_u8(const uint8_t *at)
{
    VEC_LANES(vf, VF_LANES, (float)at[l]);
}
VEC_FN vf vf_load_u4(const uint8_t *at, int at_high)
{
    VEC_LANES(vf, VF_LANES, (float)(at_high ? at[l] >> 4 : at[l] & 15));
}
VEC_FN void vf_store(float *at, vf x)
{
    memcpy(at, &x, sizeof x);
}
VEC_FN vf vf_add(vf x, vf y)
{
    VEC_QUARTERS(vf, x.q[l] + y.q[l]);
}
VEC_FN vf vf_sub(vf x, vf y)
{
    VEC_QUARTERS(vf, x.q[l] - y.q[l]);
}
VEC_FN vf vf_mul(vf x, vf y)
{
    VEC_QUARTERS(vf, x.q[l] * y.q[l]);
}
VEC_FN vf vf_div(vf x, vf y)
{
    VEC_QUARTERS(vf, x.q[l] / y.q[l]);
}
VEC_FN vf vf_fma(vf x, vf y, vf z)
{
    VEC_QUARTERS(vf, x.q[l] * y.q[l] + z.q[l]);
}
VEC_FN vf vf_max(vf x, vf y)
{
    VEC_LANES(vf, VF_LANES, x.v[l] > y.v[l] ? x.v[l] : y.v[l]);
}
VEC_FN vd vd_set(double x)
{
    vec_d2 q = {x, x};
    VEC_QUARTERS(vd, q);
}
VEC_FN vd vd_load(const double *at)
{
    vd r;
    memcpy(&r, at, sizeof r);
    return r;
}
VEC_FN vd vd_load_f32(const float *at)
{
    VEC_LANES(vd, VD_LANES, (double)at[l]);
}
VEC_FN void vd_store(double *at, vd x)
{
    memcpy(at, &x, sizeof x);
}
VEC_FN vd vd_add(vd x, vd y)
{
    VEC_QUARTERS(vd, x.q[l] + y.q[l]);
}
VEC_FN vd vd_sub(vd x, vd y)
{
    VEC_QUARTERS(vd, x.q[l] - y.q[l]);
}
VEC_FN vd vd_mul(vd x, vd y)
{
    VEC_QUARTERS(vd, x.q[l] * y.q[l]);
}
VEC_FN vd vd_fma(vd x, vd y, vd z)
{
    VEC_QUARTERS(vd, x.q[l] * y.q[l] + z.q[l]);
}
#endif

/* ---- sums over lanes ---------------------------------------------------------------------------
 * Always halves first, then neighbours: ((0+8)+(4+12)) + ... , so that one order holds everywhere.
 */
#if MW_VEC != 0
VEC_FN float vf_sum(vf a)
{
    __m128 b = vf_fold(a);
    b = _mm_hadd_ps(b, b);
    return _mm_cvtss_f32(_mm_hadd_ps(b, b));
}
VEC_FN float vf_max_of(vf a)
{
    float v[4];
    _mm_storeu_ps(v, vf_fold_max(a));
    float low = v[0] > v[1] ? v[0] : v[1];
    float high = v[2] > v[3] ? v[2] : v[3];
    return low > high ? low : high;
}
VEC_FN double vd_sum(vd a)
{
    double v[4];
    _mm256_storeu_pd(v, vd_fold(a));
    return (v[0] + v[1]) + (v[2] + v[3]);
}
#else
VEC_FN float vf_sum(vf a)
{
    float v[4];
    for (int l = 0; l < 4; l++)
        v[l] = (a.v[l] + a.v[l + 8]) + (a.v[l + 4] + a.v[l + 12]);
    return (v[0] + v[1]) + (v[2] + v[3]);
}
VEC_FN float vf_max_of(vf a)
{
    float most = a.v[0];
    for (int l = 1; l < VF_LANES; l++)
        most = most > a.v[l] ? most : a.v[l];
    return most;
}
VEC_FN double vd_sum(vd a)
{
    double v[4];
    for (int l = 0; l < 4; l++)
        v[l] = a.v[l] + a.v[l + 4];
    return (v[0] + v[1]) + (v[2] + v[3]);
}
#endif

/* ---- exp
 * -----------------------------------------------------------------------------------------
 * Within 1.5 ulp for x in [-87.3, 88]; 0 below, NaN for NaN; not for larger x. x = n ln 2 + r with
 * |r| <= ln 2 / 2, exp(r) by its Taylor series up to r^7 (the next term is below 6e-9). */
#if MW_VEC != 0
VEC_FN vf vf_exp(vf x)
{
    const vf limit = vf_set(-87.33F);
    vf at = vf_max(limit, x);
    vf n = vf_round(vf_mul(at, vf_set(1.44269504F)));
    vf r = vf_fma(n, vf_set(-0.693359375F), at);
    r = vf_fma(n, vf_set(2.12194440e-4F), r);
    vf p = vf_set(1.0F / 5040);
    p = vf_fma(p, r, vf_set(1.0F / 720));
    p = vf_fma(p, r, vf_set(1.0F / 120));
    p = vf_fma(p, r, vf_set(1.0F / 24));
    p = vf_fma(p, r, vf_set(1.0F / 6));
    p = vf_fma(p, r, vf_set(0.5F));
    p = vf_fma(p, vf_mul(r, r), r);
    p = vf_add(p, vf_set(1.0F));
    return vf_zero_below(vf_mul(p, vf_pow2(n)), x, limit);
}
#else
VEC_FN vf vf_exp(vf x)
{
    VEC_LANES(vf, VF_LANES, expf(x.v[l]));
}
#endif

/* ---- ends of rows: fewer than a vector, the missing lanes 0 ------------------------------------
 */
VEC_COLD vf vf_load_part(const float *at, int64_t n)
{
    float lanes[VF_LANES] = {0};
    memcpy(lanes, at, (size_t)n * sizeof *at);
    return vf_load(lanes);
}
VEC_COLD vf vf_load_bf16_part(const uint16_t *at, int64_t n)
{
    uint16_t lanes[VF_LANES] = {0};
    memcpy(lanes, at, (size_t)n * sizeof *at);
    return vf_load_bf16(lanes);
}
VEC_COLD vf vf_load_f16_part(const uint16_t *at, int64_t n)
{
    uint16_t lanes[VF_LANES] = {0};
    memcpy(lanes, at, (size_t)n * sizeof *at);
    return vf_load_f16(lanes);
}
VEC_COLD vd vd_load_part(const double *at, int64_t n)
{
    double lanes[VD_LANES] = {0};
    memcpy(lanes, at, (size_t)n * sizeof *at);
    return vd_load(lanes);
}
VEC_COLD void vf_store_part(float *at, vf a, int64_t n)
{
    float lanes[VF_LANES];
    vf_store(lanes, a);
    memcpy(at, lanes, (size_t)n * sizeof *at);
}
VEC_COLD void vd_store_part(double *at, vd a, int64_t n)
{
    double lanes[VD_LANES];
    vd_store(lanes, a);
    memcpy(at, lanes, (size_t)n * sizeof *at);
}

#endif
