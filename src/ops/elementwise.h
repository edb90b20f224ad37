/* elementwise: the driver of every op that works element by element, and the macros that write its
 * inner loops.
 *
 * A row function works on n elements of one machine type (f32, f64, i64 or bool), with inputs that
 * either run along (step 1) or stay put (step 0). The driver walks any strides and broadcasts with
 * tensor/nest.h, and converts chunks of whatever has another dtype or stride through small buffers
 * on the stack. So an op is one expression per machine type; f16 and bf16 compute in f32, integers
 * in 64 bits with wraparound. Nothing here allocates or fails. */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H

#include "ops/fastmath.h"
#include "ops/op.h"

enum { MW_MAP_INPUTS = 3 };

/* Up to two static numbers of an op, in the type in which the row computes. */
typedef union mw__scalars {
    float f32[2];
    double f64[2];
    int64_t i64[2];
} mw__scalars;

typedef void (*mw__row)(void *out, const void *const *in, const int64_t *step, int64_t n,
                        const mw__scalars *scalars);

/* A row function built twice: for any machine, and for one with AVX2. */
typedef struct mw__row_builds {
    mw__row any, avx2;
} mw__row_builds;

/* An op's row functions by the class in which it computes. NULL: not in this class. */
typedef struct mw__family {
    mw__row_builds f32;
    mw__row f64, i64;
} mw__family;

typedef struct mw__map {
    mw__row row;
    int nin;
    mw_dtype in[MW_MAP_INPUTS], out; /* what the row reads and writes: f32, f64, i64 or bool */
    mw__scalars scalars;
} mw__map;

/* Applies the row to all elements: in[nin] are broadcast to the shape of `out`, which may have any
 * strides and may be one of the inputs, but not overlap them otherwise. */
void mw__map_run(const mw__map *map, const mw_view *out, const mw_view *in);

/* The machine type in which a dtype is computed: f32, f64, or i64 for integers and bool. */
mw_dtype mw__class_of(mw_dtype dtype);

/* Whether every value of `from` is one of `to`, for floats: then a sum of parts may be converted
 * part by part. Integers wrap or round on the way, so only the same dtype keeps them. */
bool mw__dtype_widens(mw_dtype from, mw_dtype to);

/* The row of a family in a class, for this machine. */
mw__row mw__family_row(const mw__family *family, mw_dtype class_dtype);

/* Argument `pos` as scalar number `nth`, in the type of the class; `absent` where it is not given.
 */
void mw__scalars_set(mw__scalars *scalars, int nth, mw_dtype class_dtype, const mw_call_args *call,
                     int pos, int64_t absent);

/* Scalar `nth` times 1 or -1; scalar 0 times scalar 1, into 0. */
void mw__scalars_sign(mw__scalars *scalars, int nth, mw_dtype class_dtype, int sign);
void mw__scalars_fold(mw__scalars *scalars, mw_dtype class_dtype);

/* Runs a family over all operands, computing in the class of the result: what most kernels are. */
mw_status mw__family_run(const mw_kernel_call *k, const mw__family *family,
                         const mw__scalars *scalars);

/* ---- writing rows --------------------------------------------------------------------------
 * `expression` is over `a` (and `b`), elements of the row's type, and `s` and `t`, the scalars. f32
 * rows run in blocks of a fixed length, which both compilers turn into vector code at -O2 (a loop
 * of unknown length stays scalar there). `restrict` holds: the driver sees to it that a row's
 * result does not lie where its inputs do. */
#if defined(__x86_64__)
#define MW__TARGET_AVX2 __attribute__((target("avx2")))
#else
#define MW__TARGET_AVX2
#endif

#define MW__ROW_PARAMS \
    void *out, const void *const *in, const int64_t *step, int64_t n, const mw__scalars *scalars

/* Makes the two builds of name##_body; MW__BUILDS(name) is their pair. */
#define MW__ROW_BUILDS(name)                                \
    static void name##_any(MW__ROW_PARAMS)                  \
    {                                                       \
        name##_body(out, in, step, n, scalars);             \
    }                                                       \
    MW__TARGET_AVX2 static void name##_avx2(MW__ROW_PARAMS) \
    {                                                       \
        name##_body(out, in, step, n, scalars);             \
    }

#define MW__BUILDS(name)        \
    {                           \
        name##_any, name##_avx2 \
    }

/* The statements, for each i in [0, n): 32 and 8 at a time, then one by one. */
#define MW__BLOCKS(n, ...)                        \
    do {                                          \
        int64_t at_ = 0;                          \
        for (; at_ + 32 <= (n); at_ += 32)        \
            for (int64_t j_ = 0; j_ < 32; j_++) { \
                const int64_t i = at_ + j_;       \
                __VA_ARGS__;                      \
            }                                     \
        for (; at_ + 8 <= (n); at_ += 8)          \
            for (int64_t j_ = 0; j_ < 8; j_++) {  \
                const int64_t i = at_ + j_;       \
                __VA_ARGS__;                      \
            }                                     \
        for (int64_t i = at_; i < (n); i++) {     \
            __VA_ARGS__;                          \
        }                                         \
    } while (0)

/* One input, f32 to type TO, two builds. (The compilers honour `restrict` on parameters only, also
 * after inlining: hence the inner functions.) */
#define MW__ROW1_F32(name, TO, expression)                                                  \
    MW__INLINE void name##_run(TO *restrict o, const float *restrict x, int64_t n, float s, \
                               float t)                                                     \
    {                                                                                       \
        (void)s, (void)t;                                                                   \
        MW__BLOCKS(n, const float a = x[i]; o[i] = (expression));                           \
    }                                                                                       \
    MW__INLINE void name##_body(MW__ROW_PARAMS)                                             \
    {                                                                                       \
        const float s = scalars->f32[0], t = scalars->f32[1];                               \
        if (step[0] == 0) {                                                                 \
            TO value, *o = out;                                                             \
            name##_run(&value, in[0], 1, s, t);                                             \
            MW__BLOCKS(n, o[i] = value);                                                    \
        } else {                                                                            \
            name##_run(out, in[0], n, s, t);                                                \
        }                                                                                   \
    }                                                                                       \
    MW__ROW_BUILDS(name)

/* Two inputs, f32 to type TO, two builds: both run along, or one stays put. */
#define MW__ROW2_F32(name, TO, expression)                                                        \
    MW__INLINE void name##_both(TO *restrict o, const float *restrict x, const float *restrict y, \
                                int64_t n, float s)                                               \
    {                                                                                             \
        (void)s;                                                                                  \
        MW__BLOCKS(n, const float a = x[i]; const float b = y[i]; o[i] = (expression));           \
    }                                                                                             \
    MW__INLINE void name##_left(TO *restrict o, const float *restrict x, float b, int64_t n,      \
                                float s)                                                          \
    {                                                                                             \
        (void)s;                                                                                  \
        MW__BLOCKS(n, const float a = x[i]; o[i] = (expression));                                 \
    }                                                                                             \
    MW__INLINE void name##_right(TO *restrict o, float a, const float *restrict y, int64_t n,     \
                                 float s)                                                         \
    {                                                                                             \
        (void)s;                                                                                  \
        MW__BLOCKS(n, const float b = y[i]; o[i] = (expression));                                 \
    }                                                                                             \
    MW__INLINE void name##_body(MW__ROW_PARAMS)                                                   \
    {                                                                                             \
        const float s = scalars->f32[0];                                                          \
        const float *x = in[0], *y = in[1];                                                       \
        if (step[0] && step[1]) {                                                                 \
            name##_both(out, x, y, n, s);                                                         \
        } else if (step[0]) {                                                                     \
            name##_left(out, x, y[0], n, s);                                                      \
        } else if (step[1]) {                                                                     \
            name##_right(out, x[0], y, n, s);                                                     \
        } else {                                                                                  \
            TO value, *o = out;                                                                   \
            name##_both(&value, x, y, 1, s);                                                      \
            MW__BLOCKS(n, o[i] = value);                                                          \
        }                                                                                         \
    }                                                                                             \
    MW__ROW_BUILDS(name)

/* The same for another type T (`field` of mw__scalars), one build. */
#define MW__ROW1(name, TO, T, field, expression)                          \
    static void name(MW__ROW_PARAMS)                                      \
    {                                                                     \
        TO *o = out;                                                      \
        const T *x = in[0], s = scalars->field[0], t = scalars->field[1]; \
        (void)s, (void)t;                                                 \
        const int64_t xs = step[0];                                       \
        for (int64_t i = 0; i < n; i++) {                                 \
            const T a = x[i * xs];                                        \
            (void)a;                                                      \
            o[i] = (expression);                                          \
        }                                                                 \
    }

#define MW__ROW2(name, TO, T, field, expression)               \
    static void name(MW__ROW_PARAMS)                           \
    {                                                          \
        TO *o = out;                                           \
        const T *x = in[0], *y = in[1], s = scalars->field[0]; \
        (void)s;                                               \
        const int64_t xs = step[0], ys = step[1];              \
        for (int64_t i = 0; i < n; i++) {                      \
            const T a = x[i * xs], b = y[i * ys];              \
            o[i] = (expression);                               \
        }                                                      \
    }

/* Wrapping arithmetic of the i64 rows. */
#define MW__ADD_I64(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MW__SUB_I64(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))
#define MW__MUL_I64(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))

#endif
