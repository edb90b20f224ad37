/* The loops of reductions. Floats are folded in f64 (extremes in their own dtype) over 32 lanes,
 * chunk by chunk, so that a sum of a million f32 is right to its last bit or two and always the
 * same; integers in i64. Where the reduced dims are the dense ones rows are folded to a number;
 * else columns are folded side by side, so that memory is read in order either way. */
#include "ops/reduce.h"

#include "ops/elementwise.h"

#include <math.h>

enum { CHUNK = 512, LONG_CHUNK = 4096, LANES = 32 }; /* long: of rows that need no conversion */

/* Folds n elements into acc[0], and n elements into acc[0] ... acc[n - 1]. */
typedef void (*fold)(void *acc, const void *x, int64_t n);
typedef struct folds {
    fold row, columns;
} folds;

/* What is folded, by the type in which elements are loaded; f32 twice, for AVX2 too. */
typedef struct reducer {
    folds f32, f32_avx2, f64, i64;
    double none;          /* of floats: what nothing folds to */
    mw_reduce of_nothing; /* says what that is for integers */
} reducer;

/* ---- folding -----------------------------------------------------------------------------------
 */

#define SUM(acc, x)     ((acc) + (x))
#define SUM_INT(acc, x) MW__ADD_I64(acc, x)
#define MAX_F32(acc, x) mw__pick_f32(((x) > (acc)) | ((x) != (x)), x, acc)
#define MAX_F64(acc, x) mw__pick_f64(((x) > (acc)) | ((x) != (x)), x, acc)
#define MAX_INT(acc, x) ((x) > (acc) ? (x) : (acc))
#define MIN_F32(acc, x) mw__pick_f32(((x) < (acc)) | ((x) != (x)), x, acc)
#define MIN_F64(acc, x) mw__pick_f64(((x) < (acc)) | ((x) != (x)), x, acc)
#define MIN_INT(acc, x) ((x) < (acc) ? (x) : (acc))

#define HALVE(STEP, n)            \
    for (int j = 0; j < (n); j++) \
    lane[j] = STEP(lane[j], lane[j + (n)])

/* T is loaded, L is a lane's type, A the total's. The loops over lanes have a constant length: they
 * become vectors. */
#define FOLD(name, T, L, A, NONE, LANE_STEP, STEP)                                \
    MW__INLINE void name##_row(A *total, const T *x, int64_t n)                   \
    {                                                                             \
        L lane[LANES];                                                            \
        int64_t i = 0;                                                            \
        if (n >= LANES) {                                                         \
            for (int j = 0; j < LANES; j++)                                       \
                lane[j] = (NONE);                                                 \
            for (; i + LANES <= n; i += LANES)                                    \
                for (int j = 0; j < LANES; j++) {                                 \
                    const L value = (L)x[i + j];                                  \
                    lane[j] = LANE_STEP(lane[j], value);                          \
                }                                                                 \
            HALVE(LANE_STEP, 16);                                                 \
            HALVE(LANE_STEP, 8);                                                  \
            HALVE(LANE_STEP, 4);                                                  \
            HALVE(LANE_STEP, 2);                                                  \
            HALVE(LANE_STEP, 1);                                                  \
            const A some = (A)lane[0];                                            \
            *total = STEP(*total, some);                                          \
        }                                                                         \
        for (; i < n; i++) {                                                      \
            const A value = (A)x[i];                                              \
            *total = STEP(*total, value);                                         \
        }                                                                         \
    }                                                                             \
    MW__INLINE void name##_columns(A *restrict a, const T *restrict x, int64_t n) \
    {                                                                             \
        MW__BLOCKS(n, const A value = (A)x[i]; a[i] = STEP(a[i], value));         \
    }

#define FOLD_BUILD(name, build, target)                                            \
    target static void name##_row_##build(void *acc, const void *x, int64_t n)     \
    {                                                                              \
        name##_row(acc, x, n);                                                     \
    }                                                                              \
    target static void name##_columns_##build(void *acc, const void *x, int64_t n) \
    {                                                                              \
        name##_columns(acc, x, n);                                                 \
    }

#define FOLDS(name, build)                         \
    {                                              \
        name##_row_##build, name##_columns_##build \
    }

/* clang-format off */
#define REDUCER(name, NONE_FLOAT, kind)                                                  \
    FOLD_BUILD(name##_f32, any, )                                                                  \
    FOLD_BUILD(name##_f32, avx2, MW__TARGET_AVX2)                                                  \
    FOLD_BUILD(name##_f64, any, )                                                                  \
    FOLD_BUILD(name##_i64, any, )                                                                  \
    static const reducer name = {                                                                  \
        FOLDS(name##_f32, any), FOLDS(name##_f32, avx2), FOLDS(name##_f64, any),                   \
        FOLDS(name##_i64, any), NONE_FLOAT, kind,                                                  \
    };

FOLD(sums_f32, float, double, double, 0.0, SUM, SUM)
FOLD(sums_f64, double, double, double, 0.0, SUM, SUM)
FOLD(sums_i64, int64_t, int64_t, int64_t, 0, SUM_INT, SUM_INT)
REDUCER(sums, 0.0, MW_REDUCE_SUM)

FOLD(maxima_f32, float, float, double, -HUGE_VALF, MAX_F32, MAX_F64)
FOLD(maxima_f64, double, double, double, -HUGE_VAL, MAX_F64, MAX_F64)
FOLD(maxima_i64, int64_t, int64_t, int64_t, INT64_MIN, MAX_INT, MAX_INT)
REDUCER(maxima, -HUGE_VAL, MW_REDUCE_MAX)

FOLD(minima_f32, float, float, double, HUGE_VALF, MIN_F32, MIN_F64)
FOLD(minima_f64, double, double, double, HUGE_VAL, MIN_F64, MIN_F64)
FOLD(minima_i64, int64_t, int64_t, int64_t, INT64_MAX, MIN_INT, MIN_INT)
REDUCER(minima, HUGE_VAL, MW_REDUCE_MIN)
/* clang-format on */

static const folds *folds_of(const reducer *r, mw_dtype load)
{
    if (load == MW_DTYPE_f64) return &r->f64;
    if (load == MW_DTYPE_i64) return &r->i64;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return &r->f32_avx2;
#endif
    return &r->f32;
}

/* What nothing folds to in an integer dtype: 0, or the end of its range. */
static int64_t none_of(mw_reduce kind, mw_dtype dtype)
{
    bool is_unsigned = dtype == MW_DTYPE_bool || dtype == MW_DTYPE_u8;
    int bits = dtype == MW_DTYPE_bool ? 1 : (int)mw_dtype_size(dtype) * 8 - !is_unsigned;
    int64_t most = (int64_t)((UINT64_C(1) << bits) - 1);
    if (kind == MW_REDUCE_SUM) return 0;
    if (kind == MW_REDUCE_MIN) return most;
    return is_unsigned ? 0 : -most - 1;
}

/* ---- walking -----------------------------------------------------------------------------------
 */

typedef struct walk {
    int n;
    int64_t size[MW_MAX_DIMS], stride[MW_MAX_DIMS], index[MW_MAX_DIMS]; /* strides in bytes */
} walk;

/* After the last step `at` is back where it began. */
static bool walk_next(walk *w, const char **at)
{
    for (int d = w->n - 1; d >= 0; d--) {
        *at += w->stride[d];
        if (++w->index[d] < w->size[d]) return true;
        w->index[d] = 0;
        *at -= w->size[d] * w->stride[d];
    }
    return false;
}

static void walk_add(walk *w, int64_t size, int64_t stride)
{
    int last = w->n - 1;
    if (size == 1) return;
    if (last >= 0 && w->stride[last] == stride * size) {
        w->size[last] *= size;
        w->stride[last] = stride;
        return;
    }
    w->size[w->n] = size;
    w->stride[w->n] = stride;
    w->index[w->n++] = 0;
}

/* Takes the innermost dim off a walk: the row. */
static void walk_pop(walk *w, int64_t *ret_size, int64_t *ret_stride)
{
    *ret_size = w->n ? w->size[w->n - 1] : 1;
    *ret_stride = w->n ? w->stride[w->n - 1] : 0;
    w->n -= w->n > 0;
}

typedef struct reduction {
    const reducer *how;
    const folds *fold;
    walk kept, reduced;
    const char *data;
    mw_dtype memory, load, acc; /* of the input; as it is folded; f64 or i64 */
    const mw_view *out;
    int64_t total, done; /* results in all, and those written */
    double count;        /* 0, or what a mean divides by */
    union {
        double f64[CHUNK];
        int64_t i64[CHUNK];
    } results;
    _Alignas(64) char buffer[CHUNK * 8]; /* a converted chunk */
} reduction;

static bool is_direct(const reduction *r, int64_t stride)
{
    return r->memory == r->load && stride == mw_dtype_size(r->memory);
}

static const void *take(reduction *r, const char *at, int64_t stride, int64_t n)
{
    int64_t bytes = mw_dtype_size(r->memory);
    if (is_direct(r, stride)) return at;
    mw__row_convert(r->buffer, r->load, 1, at, r->memory, stride / bytes, n);
    return r->buffer;
}

/* Sets the next results, at most n, to what nothing folds to. */
static void start(reduction *r, int64_t n)
{
    n = MW_MIN(n, r->total - r->done);
    int64_t none = none_of(r->how->of_nothing, r->out->dtype);
    for (int64_t i = 0; i < n; i++)
        if (r->acc == MW_DTYPE_f64)
            r->results.f64[i] = r->how->none;
        else
            r->results.i64[i] = none;
}

static void finish(reduction *r, int64_t n)
{
    if (r->count != 0)
        for (int64_t i = 0; i < n; i++)
            r->results.f64[i] /= r->count;
    char *to = (char *)r->out->data + r->done * mw_dtype_size(r->out->dtype);
    mw__row_convert(to, r->out->dtype, 1, &r->results, r->acc, 1, n);
    r->done += n;
}

static void fold_rows(reduction *r)
{
    int64_t n, stride, m = 0;
    const char *at = r->data;
    walk_pop(&r->reduced, &n, &stride);
    int64_t chunk = is_direct(r, stride) ? LONG_CHUNK : CHUNK;
    start(r, CHUNK);
    do {
        const char *row = at;
        do
            for (int64_t i = 0; i < n; i += chunk) {
                int64_t some = MW_MIN(n - i, chunk);
                r->fold->row(&r->results.f64[m], take(r, row + i * stride, stride, some), some);
            }
        while (walk_next(&r->reduced, &row));
        if (++m == CHUNK) {
            finish(r, m);
            start(r, CHUNK);
            m = 0;
        }
    } while (walk_next(&r->kept, &at));
    finish(r, m);
}

static void fold_columns(reduction *r)
{
    int64_t n, stride;
    const char *at = r->data;
    walk_pop(&r->kept, &n, &stride);
    do
        for (int64_t i = 0; i < n; i += CHUNK) {
            int64_t some = MW_MIN(n - i, CHUNK);
            const char *row = at + i * stride;
            start(r, some);
            do
                r->fold->columns(&r->results, take(r, row, stride, some), some);
            while (walk_next(&r->reduced, &row));
            finish(r, some);
        }
    while (walk_next(&r->kept, &at));
}

static void fold_nothing(reduction *r)
{
    while (r->done < r->total) {
        int64_t some = MW_MIN(r->total - r->done, CHUNK);
        start(r, some);
        finish(r, some);
    }
}

/* Dims in order, the reduced ones with larger strides outside (their order is ours to choose). */
static void make_walks(reduction *r, const mw_view *in, uint32_t mask)
{
    int64_t bytes = mw_dtype_size(in->dtype);
    int order[MW_MAX_DIMS], n = 0;
    for (int d = 0; d < in->ndim; d++) {
        if (!(mask >> d & 1u)) {
            walk_add(&r->kept, in->shape[d], in->stride[d] * bytes);
            continue;
        }
        int at = n++;
        for (; at > 0 && in->stride[order[at - 1]] < in->stride[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int i = 0; i < n; i++)
        walk_add(&r->reduced, in->shape[order[i]], in->stride[order[i]] * bytes);
}

static const reducer *reducer_of(mw_reduce kind)
{
    if (kind == MW_REDUCE_MAX) return &maxima;
    return kind == MW_REDUCE_MIN ? &minima : &sums;
}

void mw__reduce_run(mw_reduce kind, const mw_view *in, uint32_t mask, double count,
                    const mw_view *out)
{
    const reducer *how = reducer_of(kind);
    bool is_float = mw_dtype_kind_of(out->dtype) == MW_KIND_FLOAT;
    bool narrow = mw__class_of(in->dtype) == MW_DTYPE_f32;
    mw_dtype load = !is_float ? MW_DTYPE_i64 : (narrow ? MW_DTYPE_f32 : MW_DTYPE_f64);
    reduction r;
    r.total = mw__view_count(out);
    if (r.total == 0) return;
    r.how = how;
    r.fold = folds_of(how, load);
    r.kept.n = r.reduced.n = 0;
    r.data = in->data;
    r.memory = in->dtype;
    r.load = load;
    r.acc = is_float ? MW_DTYPE_f64 : MW_DTYPE_i64;
    r.out = out;
    r.done = 0;
    r.count = count;
    if (mw__view_count(in) == 0) {
        fold_nothing(&r);
        return;
    }
    make_walks(&r, in, mask);
    const walk *kept = &r.kept, *reduced = &r.reduced;
    bool by_columns = kept->n && reduced->n &&
                      kept->stride[kept->n - 1] < reduced->stride[reduced->n - 1] &&
                      kept->size[kept->n - 1] >= 4;
    if (by_columns)
        fold_columns(&r);
    else
        fold_rows(&r);
}
