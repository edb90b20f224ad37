/* fastmath: exp and its family in f32, written so that a loop over them becomes vector code: no
 * branches, no calls, no tables. Every machine gives the same bits, because nothing here is fused.
 * exp is within 2 ulp of the true value over the whole range, subnormal results included; NaN stays
 * NaN, overflow is inf. */
#ifndef OPS_FASTMATH_H
#define OPS_FASTMATH_H

#include "base/base.h"

#define MW__INLINE static inline __attribute__((always_inline))

MW__INLINE float mw__float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

MW__INLINE uint32_t mw__bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* One of two numbers, by bits: a conditional would tempt gcc to work out the constant's case apart,
 * and a loop with two paths stays scalar. */
MW__INLINE float mw__pick_f32(int first, float a, float b)
{
    uint32_t mask = 0u - (uint32_t)first;
    return mw__float_of_bits((mw__bits_of_float(a) & mask) | (mw__bits_of_float(b) & ~mask));
}

MW__INLINE double mw__pick_f64(int first, double a, double b)
{
    uint64_t mask = first ? UINT64_MAX : 0, x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = (x & mask) | (y & ~mask);
    memcpy(&a, &x, sizeof a);
    return a;
}

/* exp(x) = 2^k exp(r) with k the nearest integer to x / ln 2, so |r| <= ln 2 / 2, and a polynomial
 * for (exp(r) - 1 - r) / r^2. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
 * ln 2 is taken off in two parts of which k times the first is exact. 2^k is applied in two halves:
 * each is a normal number, so that overflow and gradual underflow come out by themselves. */
MW__INLINE float mw__exp_f32(float x)
{
    const float magic = 0x1.8p23f;
    x = mw__pick_f32(x > 89.0f, 89.0f, x);
    x = mw__pick_f32(x < -104.0f, -104.0f, x);
    float rounded = x * 0x1.715476p0f + magic;
    float k = rounded - magic;
    float r = (x - k * 0x1.62ep-1f) - k * 0x1.0bfbe8p-15f;
    float p = 0.0013814539f;
    p = p * r + 0.0083687454f;
    p = p * r + 0.041668389f;
    p = p * r + 0.16666521f;
    p = p * r + 0.49999994f;
    p = p * (r * r) + r + 1.0f;
    int32_t power = (int32_t)(mw__bits_of_float(rounded) - 0x4b400000u);
    int32_t half = power >> 1;
    float first = mw__float_of_bits((uint32_t)(half + 127) << 23);
    float second = mw__float_of_bits((uint32_t)(power - half + 127) << 23);
    return p * first * second;
}

MW__INLINE float mw__sigmoid_f32(float x)
{
    return 1.0f / (1.0f + mw__exp_f32(-x));
}

MW__INLINE float mw__silu_f32(float x)
{
    return x / (1.0f + mw__exp_f32(-x));
}

/* An odd polynomial near 0, where 1 - 2 / (exp(2x) + 1) would cancel; that formula elsewhere. */
MW__INLINE float mw__tanh_f32(float x)
{
    uint32_t sign = mw__bits_of_float(x) & 0x80000000u;
    float size = mw__float_of_bits(mw__bits_of_float(x) & 0x7fffffffu);
    float z = size * size;
    float p = -0.005717042f;
    p = p * z + 0.020650584f;
    p = p * z - 0.053743497f;
    p = p * z + 0.13331491f;
    p = p * z - 0.33333284f;
    float small = p * z * size + size;
    float large = 1.0f - 2.0f / (mw__exp_f32(size + size) + 1.0f);
    float result = mw__pick_f32(size < 0.625f, small, large);
    return mw__float_of_bits(mw__bits_of_float(result) | sign);
}

/* x times the normal distribution's mass below x. With y = |x| the mass beyond y is exp(-y^2 / 2)
 * times a smooth function of t = 1 / (1 + 0.35 y), a polynomial here; so both tails keep their
 * relative precision. The square is taken in two parts, the first of them exact, since an error in
 * it is one in the exponent. */
MW__INLINE float mw__gelu_f32(float x)
{
    float y = mw__float_of_bits(mw__bits_of_float(x) & 0x7fffffffu);
    y = mw__pick_f32(y > 15.0f, 15.0f, y);
    float high = mw__float_of_bits(mw__bits_of_float(y) & 0xfffff000u);
    float h = -0.5f * ((y - high) * (y + high));
    float e = mw__exp_f32(-0.5f * (high * high));
    e = e + e * (h * (1.0f + h * (0.5f + h * 0.16666667f)));
    float t = 1.0f / (1.0f + 0.35f * y);
    float p = -0.029163852f;
    p = p * t + 0.14406046f;
    p = p * t - 0.25590119f;
    p = p * t + 0.15939216f;
    p = p * t - 0.02326335f;
    p = p * t + 0.10557461f;
    p = p * t + 0.11981554f;
    p = p * t + 0.13986433f;
    p = p * t + 0.13962126f;
    float beyond = e * (p * t);
    return x * mw__pick_f32(x < 0.0f, beyond, 1.0f - beyond);
}

/* x/2 (1 + tanh(u)) with u = sqrt(2/pi) (x + 0.044715 x^3) is x * sigmoid(2u), which keeps its
 * relative precision where tanh is near -1. */
MW__INLINE float mw__gelu_tanh_f32(float x)
{
    float u = 1.5957691216f * (x + 0.044715f * (x * x * x));
    return x / (1.0f + mw__exp_f32(-u));
}

#endif
