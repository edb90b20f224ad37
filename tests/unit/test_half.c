/* The half formats against their definition, written here in doubles: every one of the 65536 bit
 * patterns, every midpoint between two neighbours and its own neighbours, and rows of every length
 * and alignment against the single conversions. */
#include "tensor/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct format {
    const char *name;
    mw_dtype dtype;
    int exponent, mantissa; /* bits */
    float (*to_f32)(uint16_t bits);
    uint16_t (*from_f32)(float value);
} format;

static const format formats[] = {
    {"f16", MW_DTYPE_f16, 5, 10, mw__f16_to_f32, mw__f32_to_f16},
    {"bf16", MW_DTYPE_bf16, 8, 7, mw__bf16_to_f32, mw__f32_to_bf16},
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value of a pattern by the definition of the formats; infinity and NaN likewise. */
static double defined(const format *f, uint16_t bits)
{
    int bias = (1 << (f->exponent - 1)) - 1, all = (1 << f->exponent) - 1;
    int exponent = bits >> f->mantissa & all, mantissa = bits & ((1 << f->mantissa) - 1);
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == all) return mantissa ? NAN : sign * HUGE_VAL;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - f->mantissa);
    return sign * ldexp((1 << f->mantissa) + mantissa, exponent - bias - f->mantissa);
}

/* Nearest pattern to a value that is not NaN, ties to the even one. The patterns of one sign rise
 * with their values, so it is a search; infinity stands where the next value would be. */
static uint16_t nearest(const format *f, float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    uint16_t infinity = (uint16_t)(((1 << f->exponent) - 1) << f->mantissa);
    if (isinf(size)) return sign | infinity;
    double beyond = ldexp(1.0, 1 << (f->exponent - 1));
    uint16_t low = 0, high = infinity;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (defined(f, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    double below = size - defined(f, low);
    double above = (high == infinity ? beyond : defined(f, high)) - size;
    bool up = above < below || (above == below && (high & 1) == 0);
    return sign | (up ? high : low);
}

static void check_from(const format *f, float value)
{
    uint16_t got = f->from_f32(value);
    if (isnan(value)) {
        if (!isnan(defined(f, got)) || (got >> 15) != (bits_of(value) >> 31))
            fail_msg("%s of NaN %08x is %04x", f->name, bits_of(value), got);
        return;
    }
    uint16_t want = nearest(f, value);
    if (got != want) fail_msg("%s of %a is %04x, not %04x", f->name, (double)value, got, want);
}

static void test_every_pattern_has_its_value(void **state)
{
    (void)state;
    for (int k = 0; k < MW_COUNT(formats); k++) {
        const format *f = &formats[k];
        for (int bits = 0; bits < 65536; bits++) {
            float got = f->to_f32((uint16_t)bits);
            double want = defined(f, (uint16_t)bits);
            bool same =
                isnan(want) ? isnan(got) : (double)got == want && !signbit(got) == !signbit(want);
            if (!same) fail_msg("%s %04x is %a, not %a", f->name, bits, (double)got, want);
            uint16_t back = f->from_f32(got);
            if (!isnan(want) && back != bits)
                fail_msg("%s %04x comes back %04x", f->name, bits, back);
            if (isnan(want) && !isnan(defined(f, back)))
                fail_msg("%s NaN %04x comes back %04x", f->name, bits, back);
        }
    }
}

static void test_rounding_is_to_nearest_even(void **state)
{
    (void)state;
    for (int k = 0; k < MW_COUNT(formats); k++) {
        const format *f = &formats[k];
        for (int bits = 0; bits < 65536; bits++) {
            float here = f->to_f32((uint16_t)bits);
            if (!isfinite(here)) continue;
            double next = defined(f, (uint16_t)(bits + 1));
            if (isinf(next)) next = copysign(ldexp(1.0, 1 << (f->exponent - 1)), next);
            float middle = (float)((double)here / 2 + next / 2);
            check_from(f, middle);
            check_from(f, float_of(bits_of(middle) + 1));
            check_from(f, float_of(bits_of(middle) - 1));
            check_from(f, float_of(bits_of(here) + 1));
            check_from(f, float_of(bits_of(here) - 1));
        }
    }
}

static void test_patterns_of_f32_all_over(void **state)
{
    (void)state;
    for (int k = 0; k < MW_COUNT(formats); k++)
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099)
            check_from(&formats[k], float_of((uint32_t)bits));
    for (int k = 0; k < MW_COUNT(formats); k++) {
        check_from(&formats[k], float_of(0x7f800001));
        check_from(&formats[k], float_of(0xff800001));
        check_from(&formats[k], float_of(0x7fffffff));
    }
}

static void test_rows_are_the_single_conversions(void **state)
{
    (void)state;
    enum { N = 65536 };
    uint16_t *half = malloc(N * sizeof *half), *back = malloc(N * sizeof *back);
    float *wide = malloc(N * sizeof *wide);
    assert_true(half && back && wide);
    for (int k = 0; k < MW_COUNT(formats); k++) {
        const format *f = &formats[k];
        for (int i = 0; i < N; i++)
            half[i] = (uint16_t)i;
        mw__row_to_f32(wide, half, f->dtype, N);
        for (int i = 0; i < N; i++)
            if (bits_of(wide[i]) != bits_of(f->to_f32(half[i])))
                fail_msg("row of %s %04x is %08x", f->name, i, bits_of(wide[i]));
        /* Patterns of all exponents, with low bits that round up, down and tie; NaNs among them. */
        for (int low = 0; low < 7; low++) {
            static const uint32_t tails[7] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1000};
            for (int i = 0; i < N; i++)
                wide[i] = float_of((uint32_t)i << 16 | tails[low]);
            mw__row_from_f32(back, f->dtype, wide, N);
            for (int i = 0; i < N; i++)
                if (back[i] != f->from_f32(wide[i]))
                    fail_msg("row to %s of %08x is %04x, not %04x", f->name, bits_of(wide[i]),
                             back[i], f->from_f32(wide[i]));
        }
    }
    free(half);
    free(back);
    free(wide);
}

static void test_rows_of_every_length_and_offset_stay_inside(void **state)
{
    (void)state;
    uint16_t half[96], out[96];
    float wide[96];
    for (int k = 0; k < MW_COUNT(formats); k++) {
        const format *f = &formats[k];
        for (int i = 0; i < 96; i++)
            half[i] = (uint16_t)(i * 683);
        for (int offset = 0; offset < 9; offset++) {
            for (int n = 0; n <= 80; n++) {
                for (int i = 0; i < 96; i++)
                    wide[i] = -77.0f;
                mw__row_to_f32(wide + offset, half + offset, f->dtype, n);
                for (int i = 0; i < 96; i++) {
                    bool in = i >= offset && i < offset + n;
                    float want = in ? f->to_f32(half[i]) : -77.0f;
                    assert_int_equal(bits_of(wide[i]), bits_of(want));
                }
                memset(out, 0xee, sizeof out);
                mw__row_from_f32(out + offset, f->dtype, wide + offset, n);
                for (int i = 0; i < 96; i++) {
                    bool in = i >= offset && i < offset + n;
                    assert_int_equal(out[i], in ? f->from_f32(wide[i]) : 0xeeee);
                }
            }
        }
    }
}

static void test_rows_of_the_other_dtypes(void **state)
{
    (void)state;
    float got[4];
    mw__row_to_f32(got, (const int64_t[]){-1, 16777217, INT64_MAX}, MW_DTYPE_i64, 3);
    assert_true(got[0] == -1.0f && got[1] == 16777216.0f && got[2] == 0x1p63f);
    mw__row_to_f32(got, (const int32_t[]){INT32_MIN, 7}, MW_DTYPE_i32, 2);
    assert_true(got[0] == -0x1p31f && got[1] == 7.0f);
    mw__row_to_f32(got, (const int16_t[]){-32768, 9}, MW_DTYPE_i16, 2);
    assert_true(got[0] == -32768.0f && got[1] == 9.0f);
    mw__row_to_f32(got, (const int8_t[]){-128, 127}, MW_DTYPE_i8, 2);
    assert_true(got[0] == -128.0f && got[1] == 127.0f);
    mw__row_to_f32(got, (const uint8_t[]){255, 0}, MW_DTYPE_u8, 2);
    assert_true(got[0] == 255.0f && got[1] == 0.0f);
    mw__row_to_f32(got, (const uint8_t[]){1, 0}, MW_DTYPE_bool, 2);
    assert_true(got[0] == 1.0f && got[1] == 0.0f);
    mw__row_to_f32(got, (const double[]){0.1, 1e300}, MW_DTYPE_f64, 2);
    assert_true(got[0] == 0.1f && isinf(got[1]));
    mw__row_to_f32(got, (const float[]){0.1f, -0.0f}, MW_DTYPE_f32, 2);
    assert_true(got[0] == 0.1f && signbit(got[1]));

    /* Out of the range of int64 comes its least value; the low bits of that are 0. */
    const float from[] = {-1.9f, 1e30f, NAN, 65537.0f * 256};
    int64_t i64[4];
    mw__row_from_f32(i64, MW_DTYPE_i64, from, 4);
    assert_true(i64[0] == -1 && i64[1] == INT64_MIN && i64[2] == INT64_MIN && i64[3] == 0x1000100);
    int32_t i32[4];
    mw__row_from_f32(i32, MW_DTYPE_i32, from, 4);
    assert_true(i32[0] == -1 && i32[1] == 0 && i32[2] == 0 && i32[3] == 0x1000100);
    int16_t i16[4];
    mw__row_from_f32(i16, MW_DTYPE_i16, from, 4);
    assert_true(i16[0] == -1 && i16[1] == 0 && i16[2] == 0 && i16[3] == 0x100);
    int8_t i8[4];
    mw__row_from_f32(i8, MW_DTYPE_i8, from, 4);
    assert_true(i8[0] == -1 && i8[1] == 0 && i8[2] == 0 && i8[3] == 0);
    uint8_t u8[4];
    mw__row_from_f32(u8, MW_DTYPE_u8, from, 4);
    assert_true(u8[0] == 255 && u8[1] == 0 && u8[2] == 0 && u8[3] == 0);
    mw__row_from_f32(u8, MW_DTYPE_bool, (const float[]){-0.0f, 0.5f, NAN, 0.0f}, 4);
    assert_true(u8[0] == 0 && u8[1] == 1 && u8[2] == 1 && u8[3] == 0);
    double f64[2];
    mw__row_from_f32(f64, MW_DTYPE_f64, from, 2);
    assert_true(f64[0] == (double)-1.9f && f64[1] == (double)1e30f);
    float f32[2];
    mw__row_from_f32(f32, MW_DTYPE_f32, from, 2);
    assert_true(f32[0] == -1.9f && f32[1] == 1e30f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_has_its_value),
        cmocka_unit_test(test_rounding_is_to_nearest_even),
        cmocka_unit_test(test_patterns_of_f32_all_over),
        cmocka_unit_test(test_rows_are_the_single_conversions),
        cmocka_unit_test(test_rows_of_every_length_and_offset_stay_inside),
        cmocka_unit_test(test_rows_of_the_other_dtypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
