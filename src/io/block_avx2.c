/* Quantised blocks to f32 with AVX2, chosen at run time. Every type becomes 32 signed bytes first;
 * then one tail widens, multiplies and adds. They must give the bits of the portable definition. */
#include "io/io.h"

#if MW__AVX2

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,f16c")))

AVX2 static inline __m256 scale_at(const uint8_t *at)
{
    return _mm256_set1_ps(_cvtsh_ss((unsigned short)(at[0] | at[1] << 8)));
}

AVX2 static inline __m128i load16(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* 16 bytes of nibbles as 32 bytes: the low ones, then the high ones. */
AVX2 static inline __m256i nibbles(const uint8_t *at)
{
    __m128i packed = load16(at), mask = _mm_set1_epi8(15);
    __m128i high = _mm_and_si128(_mm_srli_epi16(packed, 4), mask);
    return _mm256_set_m128i(high, _mm_and_si128(packed, mask));
}

/* 32 bits as 32 bytes of 0 or 16. */
AVX2 static inline __m256i fifth_bits(const uint8_t *at)
{
    int bits;
    memcpy(&bits, at, sizeof bits);
    const __m256i byte = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                          2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201ULL);
    __m256i spread = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), byte), bit);
    return _mm256_and_si256(_mm256_cmpeq_epi8(spread, bit), _mm256_set1_epi8(16));
}

AVX2 static inline __m256 widen(__m128i bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

AVX2 static inline void store_scaled(float *to, __m256i q, __m256 d)
{
    __m128i low = _mm256_castsi256_si128(q), high = _mm256_extracti128_si256(q, 1);
    _mm256_storeu_ps(to, _mm256_mul_ps(d, widen(low)));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(d, widen(_mm_srli_si128(low, 8))));
    _mm256_storeu_ps(to + 16, _mm256_mul_ps(d, widen(high)));
    _mm256_storeu_ps(to + 24, _mm256_mul_ps(d, widen(_mm_srli_si128(high, 8))));
}

AVX2 static inline __m256 affine(__m128i bytes, __m256 d, __m256 m)
{
    return _mm256_add_ps(_mm256_mul_ps(d, widen(bytes)), m);
}

AVX2 static inline void store_affine(float *to, __m256i q, __m256 d, __m256 m)
{
    __m128i low = _mm256_castsi256_si128(q), high = _mm256_extracti128_si256(q, 1);
    _mm256_storeu_ps(to, affine(low, d, m));
    _mm256_storeu_ps(to + 8, affine(_mm_srli_si128(low, 8), d, m));
    _mm256_storeu_ps(to + 16, affine(high, d, m));
    _mm256_storeu_ps(to + 24, affine(_mm_srli_si128(high, 8), d, m));
}

AVX2 void mw__q4_0_avx2(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 18, to += 32) {
        __m256i q = _mm256_sub_epi8(nibbles(from + 2), _mm256_set1_epi8(8));
        store_scaled(to, q, scale_at(from));
    }
}

AVX2 void mw__q4_1_avx2(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 20, to += 32)
        store_affine(to, nibbles(from + 4), scale_at(from), scale_at(from + 2));
}

AVX2 void mw__q5_0_avx2(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 22, to += 32) {
        __m256i q = _mm256_or_si256(nibbles(from + 6), fifth_bits(from + 2));
        store_scaled(to, _mm256_sub_epi8(q, _mm256_set1_epi8(16)), scale_at(from));
    }
}

AVX2 void mw__q5_1_avx2(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 24, to += 32) {
        __m256i q = _mm256_or_si256(nibbles(from + 8), fifth_bits(from + 4));
        store_affine(to, q, scale_at(from), scale_at(from + 2));
    }
}

AVX2 void mw__q8_0_avx2(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 34, to += 32) {
        __m256i q = _mm256_set_m128i(load16(from + 18), load16(from + 2));
        store_scaled(to, q, scale_at(from));
    }
}

#endif
