/* The half formats, and rows of any dtype to and from f32.
 *
 * The portable functions define every bit: nearest, ties to even; a NaN keeps its sign and the
 * upper bits of its payload and becomes quiet; subnormals are exact. The AVX2 rows give the same
 * bits, so the machine never changes a result. Every processor with AVX2 also has the F16C
 * conversions (the x86-64-v3 level asks for both), so one question decides. */
#include "tensor/tensor.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_AVX2 1
#define AVX2      __attribute__((target("avx2,f16c")))
#include <immintrin.h>
#else
#define HAVE_AVX2 0
#endif

static uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float mw__bf16_to_f32(uint16_t bits)
{
    return f32_of((uint32_t)bits << 16);
}

uint16_t mw__f32_to_bf16(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float mw__f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    if (exponent == 31) {
        uint32_t quiet = mantissa ? 0x400000 : 0;
        return f32_of(sign | 0x7f800000 | quiet | mantissa << 13);
    }
    if (exponent > 0) return f32_of(sign | (exponent + 112) << 23 | mantissa << 13);
    /* Zero or subnormal: mantissa * 2^-24, which f32 holds exactly. */
    return f32_of(sign | f32_bits((float)mantissa * 0x1p-24f));
}

uint16_t mw__f32_to_f16(float value)
{
    uint32_t bits = f32_bits(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff));
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
    if (size < 0x38800000) {
        /* Below the smallest normal half, 2^-14: adding 0.5 puts the unit 2^-24 of the subnormals
         * at the last bit of the sum, so that the addition rounds as it should. */
        uint32_t sum = f32_bits(f32_of(size) + 0.5f);
        return (uint16_t)(sign | (sum - 0x3f000000));
    }
    uint32_t rounded = size + 0xfff + (size >> 13 & 1);
    return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

#if HAVE_AVX2

/* Each returns how many elements it has done; the portable loop does the rest. */

AVX2 static int64_t bf16_to_f32_avx2(float *to, const uint16_t *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
        _mm256_storeu_ps(to + i, _mm256_castsi256_ps(wide));
    }
    return i;
}

AVX2 static int64_t f16_to_f32_avx2(float *to, const uint16_t *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
    }
    return i;
}

AVX2 static int64_t f32_to_bf16_avx2(uint16_t *to, const float *from, int64_t n)
{
    const __m256i one = _mm256_set1_epi32(1), bias = _mm256_set1_epi32(0x7fff);
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    const __m256i infinity = _mm256_set1_epi32(0x7f800000), quiet = _mm256_set1_epi32(0x40);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(from + i));
        __m256i upper = _mm256_srli_epi32(bits, 16);
        __m256i up = _mm256_add_epi32(bias, _mm256_and_si256(upper, one));
        __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, up), 16);
        __m256i nan = _mm256_cmpgt_epi32(_mm256_and_si256(bits, magnitude), infinity);
        __m256i half = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, quiet), nan);
        __m256i packed = _mm256_packus_epi32(half, half); /* each half of the register by itself */
        packed = _mm256_permute4x64_epi64(packed, 0x08);
        _mm_storeu_si128((__m128i *)(void *)(to + i), _mm256_castsi256_si128(packed));
    }
    return i;
}

AVX2 static int64_t f32_to_f16_avx2(uint16_t *to, const float *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128((__m128i *)(void *)(to + i), half);
    }
    return i;
}

#define FAST(call) (__builtin_cpu_supports("avx2") ? (call) : 0)
#else
#define FAST(call) 0
#endif

static void row_bf16_to_f32(float *to, const uint16_t *from, int64_t n)
{
    for (int64_t i = FAST(bf16_to_f32_avx2(to, from, n)); i < n; i++)
        to[i] = mw__bf16_to_f32(from[i]);
}

static void row_f16_to_f32(float *to, const uint16_t *from, int64_t n)
{
    for (int64_t i = FAST(f16_to_f32_avx2(to, from, n)); i < n; i++)
        to[i] = mw__f16_to_f32(from[i]);
}

static void row_f32_to_bf16(uint16_t *to, const float *from, int64_t n)
{
    for (int64_t i = FAST(f32_to_bf16_avx2(to, from, n)); i < n; i++)
        to[i] = mw__f32_to_bf16(from[i]);
}

static void row_f32_to_f16(uint16_t *to, const float *from, int64_t n)
{
    for (int64_t i = FAST(f32_to_f16_avx2(to, from, n)); i < n; i++)
        to[i] = mw__f32_to_f16(from[i]);
}

/* As mw__view_copy: towards zero by way of int64, whose low bits stay; beyond it, and for NaN, what
 * the x86 conversion gives. */
static int64_t truncated(float value)
{
    return value >= -0x1p63f && value < 0x1p63f ? (int64_t)value : INT64_MIN;
}

#define TO_F32(type)                    \
    do {                                \
        const type *source = from;      \
        for (int64_t i = 0; i < n; i++) \
            to[i] = (float)source[i];   \
        return;                         \
    } while (0)

void mw__row_to_f32(float *to, const void *from, mw_dtype dtype, int64_t n)
{
    switch (dtype) {
    case MW_DTYPE_f32:
        if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
        return;
    case MW_DTYPE_bf16:
        row_bf16_to_f32(to, from, n);
        return;
    case MW_DTYPE_f16:
        row_f16_to_f32(to, from, n);
        return;
    case MW_DTYPE_f64:
        TO_F32(double);
    case MW_DTYPE_i64:
        TO_F32(int64_t);
    case MW_DTYPE_i32:
        TO_F32(int32_t);
    case MW_DTYPE_i16:
        TO_F32(int16_t);
    case MW_DTYPE_i8:
        TO_F32(int8_t);
    case MW_DTYPE_u8:
        TO_F32(uint8_t);
    case MW_DTYPE_bool:
        for (int64_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)from)[i] ? 1.0f : 0.0f;
        return;
    case MW_DTYPE_NONE:
    case MW_DTYPE_END:
        return;
    }
}

#define FROM_F32(type)                            \
    do {                                          \
        type *target = to;                        \
        for (int64_t i = 0; i < n; i++)           \
            target[i] = (type)truncated(from[i]); \
        return;                                   \
    } while (0)

void mw__row_from_f32(void *to, mw_dtype dtype, const float *from, int64_t n)
{
    switch (dtype) {
    case MW_DTYPE_f32:
        if (n > 0) memcpy(to, from, (size_t)n * sizeof *from);
        return;
    case MW_DTYPE_bf16:
        row_f32_to_bf16(to, from, n);
        return;
    case MW_DTYPE_f16:
        row_f32_to_f16(to, from, n);
        return;
    case MW_DTYPE_f64:
        for (int64_t i = 0; i < n; i++)
            ((double *)to)[i] = (double)from[i];
        return;
    case MW_DTYPE_i64:
        FROM_F32(int64_t);
    case MW_DTYPE_i32:
        FROM_F32(int32_t);
    case MW_DTYPE_i16:
        FROM_F32(int16_t);
    case MW_DTYPE_i8:
        FROM_F32(int8_t);
    case MW_DTYPE_u8:
        FROM_F32(uint8_t);
    case MW_DTYPE_bool:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = from[i] != 0.0f;
        return;
    case MW_DTYPE_NONE:
    case MW_DTYPE_END:
        return;
    }
}
