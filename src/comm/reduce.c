/* Combining rows of elements, two at a time: to = a (+) b. One small function per dtype and kind,
 * written on vectors of 16 bytes, which every target of gcc and clang can lower; the tail goes
 * through the same expression, so an element's bits don't depend on where in the row it stands.
 *
 * f16 and bf16 are combined in f32 and rounded after every step: a reduction in one pass and the
 * same reduction pull by pull must give the same bits.
 *
 * How to add a dtype: its vector types, four COMBINE lines, and its row in pick(). */
#include "comm/backend.h"

typedef void combine(void *to, const void *a, const void *b, int64_t n);

typedef float v_f32 __attribute__((vector_size(16)));
typedef double v_f64 __attribute__((vector_size(16)));
typedef int8_t v_i8 __attribute__((vector_size(16)));
typedef int16_t v_i16 __attribute__((vector_size(16)));
typedef int32_t v_i32 __attribute__((vector_size(16)));
typedef int64_t v_i64 __attribute__((vector_size(16)));
typedef uint8_t v_u8 __attribute__((vector_size(16)));
typedef uint16_t v_u16 __attribute__((vector_size(16)));
typedef uint32_t v_u32 __attribute__((vector_size(16)));
typedef uint64_t v_u64 __attribute__((vector_size(16)));

/* `to` may be `a` or `b`: each step has read its elements before it writes them. */
#define COMBINE(name, vector, result)                                   \
    static void name(void *to, const void *a, const void *b, int64_t n) \
    {                                                                   \
        int64_t bytes = n * (int64_t)sizeof(((vector){0})[0]), at = 0;  \
        vector x, y, z;                                                 \
        for (; at + 16 <= bytes; at += 16) {                            \
            memcpy(&x, (const char *)a + at, 16);                       \
            memcpy(&y, (const char *)b + at, 16);                       \
            z = (result);                                               \
            memcpy((char *)to + at, &z, 16);                            \
        }                                                               \
        if (at == bytes) return;                                        \
        size_t rest = (size_t)(bytes - at);                             \
        x = y = (vector){0};                                            \
        memcpy(&x, (const char *)a + at, rest);                         \
        memcpy(&y, (const char *)b + at, rest);                         \
        z = (result);                                                   \
        memcpy((char *)to + at, &z, rest);                              \
    }

/* x where the mask's bits are set, else y; `bits` is the integer vector of the same width. */
#define SELECT(vector, bits, mask) ((vector)(((bits)(mask) & (bits)x) | (~(bits)(mask) & (bits)y)))

/* A NaN in x is chosen by x != x; one in y because no comparison with it holds. */
COMBINE(sum_f32, v_f32, x + y)
COMBINE(prod_f32, v_f32, x *y)
COMBINE(max_f32, v_f32, SELECT(v_f32, v_i32, (x > y) | (x != x)))
COMBINE(min_f32, v_f32, SELECT(v_f32, v_i32, (x < y) | (x != x)))
COMBINE(sum_f64, v_f64, x + y)
COMBINE(prod_f64, v_f64, x *y)
COMBINE(max_f64, v_f64, SELECT(v_f64, v_i64, (x > y) | (x != x)))
COMBINE(min_f64, v_f64, SELECT(v_f64, v_i64, (x < y) | (x != x)))

/* Sums and products of integers wrap around: unsigned serves both signs. */
COMBINE(sum_8, v_u8, x + y)
COMBINE(prod_8, v_u8, x *y)
COMBINE(sum_16, v_u16, x + y)
COMBINE(prod_16, v_u16, x *y)
COMBINE(sum_32, v_u32, x + y)
COMBINE(prod_32, v_u32, x *y)
COMBINE(sum_64, v_u64, x + y)
COMBINE(prod_64, v_u64, x *y)
COMBINE(max_u8, v_u8, SELECT(v_u8, v_i8, x > y))
COMBINE(min_u8, v_u8, SELECT(v_u8, v_i8, x < y))
COMBINE(max_i8, v_i8, SELECT(v_i8, v_i8, x > y))
COMBINE(min_i8, v_i8, SELECT(v_i8, v_i8, x < y))
COMBINE(max_i16, v_i16, SELECT(v_i16, v_i16, x > y))
COMBINE(min_i16, v_i16, SELECT(v_i16, v_i16, x < y))
COMBINE(max_i32, v_i32, SELECT(v_i32, v_i32, x > y))
COMBINE(min_i32, v_i32, SELECT(v_i32, v_i32, x < y))
COMBINE(max_i64, v_i64, SELECT(v_i64, v_i64, x > y))
COMBINE(min_i64, v_i64, SELECT(v_i64, v_i64, x < y))

/* torch's sums of bool are `or`, its products `and`. */
COMBINE(or_bool, v_u8, x | y)
COMBINE(and_bool, v_u8, x &y)

/* The function for kind and dtype; f16 and bf16 give that of f32. AVG combines as SUM: the division
 * belongs to whoever asked for the average. */
static combine *pick(mw_reduce kind, mw_dtype dtype)
{
    static combine *const table[MW_DTYPE_END][4] = {
        [MW_DTYPE_bool] = {or_bool, and_bool, or_bool, and_bool},
        [MW_DTYPE_u8] = {sum_8, prod_8, max_u8, min_u8},
        [MW_DTYPE_i8] = {sum_8, prod_8, max_i8, min_i8},
        [MW_DTYPE_i16] = {sum_16, prod_16, max_i16, min_i16},
        [MW_DTYPE_i32] = {sum_32, prod_32, max_i32, min_i32},
        [MW_DTYPE_i64] = {sum_64, prod_64, max_i64, min_i64},
        [MW_DTYPE_f16] = {sum_f32, prod_f32, max_f32, min_f32},
        [MW_DTYPE_bf16] = {sum_f32, prod_f32, max_f32, min_f32},
        [MW_DTYPE_f32] = {sum_f32, prod_f32, max_f32, min_f32},
        [MW_DTYPE_f64] = {sum_f64, prod_f64, max_f64, min_f64},
    };
    static const uint8_t column[MW_REDUCE_END] = {
        [MW_REDUCE_SUM] = 0, [MW_REDUCE_AVG] = 0, [MW_REDUCE_PROD] = 1,
        [MW_REDUCE_MAX] = 2, [MW_REDUCE_MIN] = 3,
    };
    return table[dtype][column[kind]];
}

/* Halves: at most as many elements as a chunk has (see below). */
enum { CHUNK_BYTES = 4096, CHUNK_HALVES = CHUNK_BYTES / 2 };

static void combine_halves(combine *two, mw_dtype dtype, void *to, const void *a, const void *b,
                           int64_t n)
{
    float x[CHUNK_HALVES], y[CHUNK_HALVES];
    mw__row_to_f32(x, a, dtype, n);
    mw__row_to_f32(y, b, dtype, n);
    two(x, x, y, n);
    mw__row_from_f32(to, dtype, x, n);
}

/* Works in chunks that stay in the nearest cache, so that `to` is written to memory once however
 * many rows there are. */
void mw__reduce_rows(mw_reduce kind, mw_dtype dtype, void *to, const void *const *from, int count,
                     int64_t n)
{
    int64_t size = mw_dtype_size(dtype);
    if (count == 1) {
        if (n > 0 && to != from[0]) memcpy(to, from[0], (size_t)(n * size));
        return;
    }
    combine *two = pick(kind, dtype);
    bool half = dtype == MW_DTYPE_f16 || dtype == MW_DTYPE_bf16;
    int64_t chunk = count == 2 && !half ? n : CHUNK_BYTES / size;
    for (int64_t first = 0; first < n; first += chunk) {
        int64_t part = MW_MIN(chunk, n - first), at = first * size;
        const void *sum = (const char *)from[0] + at;
        for (int i = 1; i < count; i++) {
            const void *term = (const char *)from[i] + at;
            if (half)
                combine_halves(two, dtype, (char *)to + at, sum, term, part);
            else
                two((char *)to + at, sum, term, part);
            sum = (char *)to + at;
        }
    }
}
