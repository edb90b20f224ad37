/* The types in which tensors are stored, and what a block of each means. A block holds 32 weights
 * along the last dim: a scale d (and a minimum m) as f16 and an integer q per weight. The value is
 * d * q (+ m), computed in f32. The product has at most 11 + 8 bits and is exact, so a value is
 * rounded once, in the addition, and the portable and the fast code agree in every bit. Nibbles of
 * byte j are weights j and 16 + j.
 *
 * To add a type: a row of `types`; to make it readable, a portable function, and a fast one that
 * the test of blocks compares with it. */
#include "io/io.h"

#if MW__AVX2
#define FAST(function) function
#else
#define FAST(function) NULL
#endif

enum { HALF = MW__BLOCK_MOST / 2 };

static float half_at(const uint8_t *at)
{
    return mw__f16_to_f32((uint16_t)(at[0] | at[1] << 8));
}

static void q4_0(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 18, to += 32) {
        float d = half_at(from);
        for (int j = 0; j < HALF; j++) {
            to[j] = d * (float)((from[2 + j] & 15) - 8);
            to[HALF + j] = d * (float)((from[2 + j] >> 4) - 8);
        }
    }
}

static void q4_1(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 20, to += 32) {
        float d = half_at(from), m = half_at(from + 2);
        for (int j = 0; j < HALF; j++) {
            to[j] = d * (float)(from[4 + j] & 15) + m;
            to[HALF + j] = d * (float)(from[4 + j] >> 4) + m;
        }
    }
}

/* The fifth bits of all 32 weights stand in four bytes of their own. */
static int fifth_bit(const uint8_t *bits, int weight)
{
    return (bits[weight / 8] >> weight % 8 & 1) << 4;
}

static void q5_0(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 22, to += 32) {
        float d = half_at(from);
        for (int j = 0; j < HALF; j++) {
            int low = (from[6 + j] & 15) | fifth_bit(from + 2, j);
            int high = (from[6 + j] >> 4) | fifth_bit(from + 2, HALF + j);
            to[j] = d * (float)(low - 16);
            to[HALF + j] = d * (float)(high - 16);
        }
    }
}

static void q5_1(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 24, to += 32) {
        float d = half_at(from), m = half_at(from + 2);
        for (int j = 0; j < HALF; j++) {
            int low = (from[8 + j] & 15) | fifth_bit(from + 4, j);
            int high = (from[8 + j] >> 4) | fifth_bit(from + 4, HALF + j);
            to[j] = d * (float)low + m;
            to[HALF + j] = d * (float)high + m;
        }
    }
}

static void q8_0(float *to, const uint8_t *from, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++, from += 34, to += 32) {
        float d = half_at(from);
        for (int j = 0; j < MW__BLOCK_MOST; j++)
            to[j] = d * (float)(int8_t)from[2 + j];
    }
}

/* Types without a dtype or a function are known by name (and size, where given): a file with them
 * opens and lists, and reading one says so. */
/* clang-format off */
static const mw__block_type types[] = {
    {"F32",      0,   1,   4, MW_DTYPE_f32,  NULL, NULL},
    {"F16",      1,   1,   2, MW_DTYPE_f16,  NULL, NULL},
    {"Q4_0",     2,  32,  18, MW_DTYPE_NONE, q4_0, FAST(mw__q4_0_avx2)},
    {"Q4_1",     3,  32,  20, MW_DTYPE_NONE, q4_1, FAST(mw__q4_1_avx2)},
    {"Q5_0",     6,  32,  22, MW_DTYPE_NONE, q5_0, FAST(mw__q5_0_avx2)},
    {"Q5_1",     7,  32,  24, MW_DTYPE_NONE, q5_1, FAST(mw__q5_1_avx2)},
    {"Q8_0",     8,  32,  34, MW_DTYPE_NONE, q8_0, FAST(mw__q8_0_avx2)},
    {"Q8_1",     9,  32,  36, MW_DTYPE_NONE, NULL, NULL},
    {"Q2_K",    10, 256,  84, MW_DTYPE_NONE, NULL, NULL},
    {"Q3_K",    11, 256, 110, MW_DTYPE_NONE, NULL, NULL},
    {"Q4_K",    12, 256, 144, MW_DTYPE_NONE, NULL, NULL},
    {"Q5_K",    13, 256, 176, MW_DTYPE_NONE, NULL, NULL},
    {"Q6_K",    14, 256, 210, MW_DTYPE_NONE, NULL, NULL},
    {"Q8_K",    15,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ2_XXS", 16,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ2_XS",  17,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ3_XXS", 18,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ1_S",   19,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ4_NL",  20,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ3_S",   21,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ2_S",   22,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"IQ4_XS",  23,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"I8",      24,   1,   1, MW_DTYPE_i8,   NULL, NULL},
    {"I16",     25,   1,   2, MW_DTYPE_i16,  NULL, NULL},
    {"I32",     26,   1,   4, MW_DTYPE_i32,  NULL, NULL},
    {"I64",     27,   1,   8, MW_DTYPE_i64,  NULL, NULL},
    {"F64",     28,   1,   8, MW_DTYPE_f64,  NULL, NULL},
    {"IQ1_M",   29,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"BF16",    30,   1,   2, MW_DTYPE_bf16, NULL, NULL},
    {"TQ1_0",   34,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"TQ2_0",   35,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"MXFP4",   39,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"NVFP4",   40,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"Q1_0",    41,   0,   0, MW_DTYPE_NONE, NULL, NULL},
    {"Q2_0",    42,   0,   0, MW_DTYPE_NONE, NULL, NULL},
};
/* clang-format on */

const mw__block_type *mw__block_type_find(uint32_t code)
{
    for (int i = 0; i < MW_COUNT(types); i++)
        if (types[i].code == code) return &types[i];
    return NULL;
}

bool mw__block_type_readable(const mw__block_type *type)
{
    return type->dtype != MW_DTYPE_NONE || type->portable;
}

void mw__block_types_hint(void)
{
    char list[256];
    size_t at = 0;
    for (int i = 0; i < MW_COUNT(types); i++) {
        size_t length = strlen(types[i].name);
        if (!mw__block_type_readable(&types[i]) || at + length + 3 > sizeof list) continue;
        if (at > 0) {
            memcpy(list + at, ", ", 2);
            at += 2;
        }
        memcpy(list + at, types[i].name, length);
        at += length;
    }
    list[at] = 0;
    mw__error_hint("use a file with tensors of these types: %s", list);
}

void mw__blocks_to_f32(const mw__block_type *type, float *to, const uint8_t *from, int64_t blocks)
{
#if MW__AVX2
    if (__builtin_cpu_supports("avx2")) { /* which has F16C too: see tensor/half.c */
        type->avx2(to, from, blocks);
        return;
    }
#endif
    type->portable(to, from, blocks);
}
