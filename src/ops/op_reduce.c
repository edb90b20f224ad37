/* Reductions: sum, mean, amax, amin. Floats are folded in f64 over 32 lanes, chunk by chunk, so
 * that a sum of a million f32 is right to its last bit or two and always the same; integers in i64.
 * Where the reduced dims are the dense ones rows are folded to a number; else columns are folded
 * side by side, so that memory is read in order either way. Invariant: a rank that holds nothing of
 * a reduced dim gives the identity, and mean divides by the global count, so that parts of a
 * sharded reduction combine by their sum, maximum or minimum. */
#include "ops/elementwise.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { CHUNK = 512, LANES = 32 };

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

#define SUM_FLOAT(acc, x) ((acc) + (x))
#define SUM_INT(acc, x)   MW__ADD_I64(acc, x)
#define MAX_FLOAT(acc, x) ((((x) > (acc)) | ((x) != (x))) ? (x) : (acc))
#define MAX_INT(acc, x)   ((x) > (acc) ? (x) : (acc))
#define MIN_FLOAT(acc, x) ((((x) < (acc)) | ((x) != (x))) ? (x) : (acc))
#define MIN_INT(acc, x)   ((x) < (acc) ? (x) : (acc))

/* T is loaded, A accumulates. The loops over lanes have a constant length: they become vectors. */
#define FOLD(name, T, A, NONE, STEP)                                       \
    MW__INLINE void name##_row(void *acc, const void *from, int64_t n)     \
    {                                                                      \
        const T *restrict x = from;                                        \
        A *total = acc, lane[LANES];                                       \
        int64_t i = 0;                                                     \
        if (n >= LANES) {                                                  \
            for (int j = 0; j < LANES; j++)                                \
                lane[j] = (NONE);                                          \
            for (; i + LANES <= n; i += LANES)                             \
                for (int j = 0; j < LANES; j++) {                          \
                    const A value = (A)x[i + j];                           \
                    lane[j] = STEP(lane[j], value);                        \
                }                                                          \
            for (int width = LANES / 2; width > 0; width /= 2)             \
                for (int j = 0; j < width; j++)                            \
                    lane[j] = STEP(lane[j], lane[j + width]);              \
            *total = STEP(*total, lane[0]);                                \
        }                                                                  \
        for (; i < n; i++) {                                               \
            const A value = (A)x[i];                                       \
            *total = STEP(*total, value);                                  \
        }                                                                  \
    }                                                                      \
    MW__INLINE void name##_columns(void *acc, const void *from, int64_t n) \
    {                                                                      \
        const T *restrict x = from;                                        \
        A *restrict a = acc;                                               \
        MW__BLOCKS(n, const A value = (A)x[i]; a[i] = STEP(a[i], value));  \
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

#define REDUCER(name, STEP, NONE_FLOAT, NONE_INT, kind)        \
    FOLD(name##_f32, float, double, NONE_FLOAT, STEP##_FLOAT)  \
    FOLD(name##_f64, double, double, NONE_FLOAT, STEP##_FLOAT) \
    FOLD(name##_i64, int64_t, int64_t, NONE_INT, STEP##_INT)   \
    FOLD_BUILD(name##_f32, any, )                              \
    FOLD_BUILD(name##_f32, avx2, MW__TARGET_AVX2)              \
    FOLD_BUILD(name##_f64, any, )                              \
    FOLD_BUILD(name##_i64, any, )                              \
    static const reducer name = {                              \
        FOLDS(name##_f32, any),                                \
        FOLDS(name##_f32, avx2),                               \
        FOLDS(name##_f64, any),                                \
        FOLDS(name##_i64, any),                                \
        NONE_FLOAT,                                            \
        kind,                                                  \
    };

REDUCER(sums, SUM, 0.0, 0, MW_REDUCE_SUM)
REDUCER(maxima, MAX, -HUGE_VAL, INT64_MIN, MW_REDUCE_MAX)
REDUCER(minima, MIN, HUGE_VAL, INT64_MAX, MW_REDUCE_MIN)

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

static const void *take(reduction *r, const char *at, int64_t stride, int64_t n)
{
    int64_t bytes = mw_dtype_size(r->memory);
    if (r->memory == r->load && (stride == bytes || n == 1)) return at;
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
    start(r, CHUNK);
    do {
        const char *row = at;
        do
            for (int64_t i = 0; i < n; i += CHUNK) {
                int64_t some = MW_MIN(n - i, CHUNK);
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

static void reduce(const reducer *how, const mw_kernel_call *k, uint32_t mask, double count)
{
    const mw_view *in = &k->in[0], *out = &k->out[0];
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

/* ---- the ops -----------------------------------------------------------------------------------
 */

/* Bit per dim that the call reduces: those of argument 1 where the op has it; None, [] mean all. */
static mw_status reduced_dims(const mw_call_args *call, bool has_dims, uint32_t *ret_mask)
{
    int ndim = call->in[0].ndim;
    uint32_t mask = 0;
    const mw_arg *dims = &call->arg[1];
    if (!has_dims || dims->kind == MW_ARG_NONE || (dims->kind == MW_ARG_INTS && dims->count == 0)) {
        *ret_mask = (1u << ndim) - 1;
        return MW_OK;
    }
    int count = dims->kind == MW_ARG_INTS ? dims->count : 1;
    for (int i = 0; i < count; i++) {
        int dim;
        int64_t value = dims->kind == MW_ARG_INTS ? dims->ints[i] : dims->i;
        MW_TRY(mw__dim_in_range(call, 1, value, ndim, &dim));
        if (mask >> dim & 1u)
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d stands twice in argument 'dim'",
                           mw__call_name(call), dim);
        mask |= 1u << dim;
    }
    *ret_mask = mask;
    return MW_OK;
}

/* A sum of parts in a narrower dtype, or in integers, is not the part of a sum; and truth values
 * have no sum between ranks. */
static mw_status sum_rule(const mw_call_args *call, mw_rule *rule)
{
    mw_dtype from = call->in[0].dtype, to = rule->out_meta[0].dtype;
    MW_TRY(mw__rule_default(call, rule));
    rule->in[0].linear = mw__dtype_widens(from, to) || mw_dtype_kind_of(from) != MW_KIND_FLOAT;
    if (to == MW_DTYPE_bool) rule->in[0].linear = 0, rule->reduce = MW_REDUCE_NONE;
    return MW_OK;
}

static mw_status mean_rule(const mw_call_args *call, mw_rule *rule)
{
    mw_dtype to = rule->out_meta[0].dtype;
    if (mw_dtype_kind_of(to) != MW_KIND_FLOAT) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "%s: the mean of integers is none; got %s",
                                   mw__call_name(call), mw_dtype_name(to));
        mw__error_hint("pass dtype=float32, or convert the tensor to a float dtype first");
        return status;
    }
    MW_TRY(mw__rule_default(call, rule));
    rule->in[0].linear = mw__dtype_widens(call->in[0].dtype, to);
    return MW_OK;
}

static mw_status extreme_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask;
    MW_TRY(reduced_dims(call, true, &mask));
    for (int d = 0; d < call->in[0].ndim; d++)
        if ((mask >> d & 1u) && call->in[0].shape[d] == 0)
            return MW_FAIL(
                MW_ERR_SHAPE,
                "%s: dim %d has size 0, and of no elements none is the largest or smallest",
                mw__call_name(call), d);
    return mw__rule_default(call, rule);
}

static mw_status sum_kernel_of(const mw_kernel_call *k, bool has_dims)
{
    uint32_t mask;
    MW_TRY(reduced_dims(k->call, has_dims, &mask));
    reduce(&sums, k, mask, 0);
    return MW_OK;
}

static mw_status mean_kernel_of(const mw_kernel_call *k, bool has_dims)
{
    uint32_t mask;
    double count = 1;
    MW_TRY(reduced_dims(k->call, has_dims, &mask));
    for (int d = 0; d < k->call->in[0].ndim; d++)
        if (mask >> d & 1u) count *= (double)k->call->in[0].shape[d];
    if (count == 0) count = NAN; /* torch: the mean of nothing */
    reduce(&sums, k, mask, count);
    return MW_OK;
}

static mw_status extreme_kernel_of(const mw_kernel_call *k, const reducer *how)
{
    uint32_t mask;
    MW_TRY(reduced_dims(k->call, true, &mask));
    reduce(how, k, mask, 0);
    return MW_OK;
}

/* Functions of the table, for the overloads with and without dims. */
#define OVERLOAD(word, does, has_dims)                                                        \
    static mw_status word##_kernel(const mw_kernel_call *k)                                   \
    {                                                                                         \
        return does##_kernel_of(k, has_dims);                                                 \
    }                                                                                         \
    static mw_status word##_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule) \
    {                                                                                         \
        (void)arena;                                                                          \
        return does##_rule(call, rule);                                                       \
    }

OVERLOAD(sum, sum, false)
OVERLOAD(sum_dim, sum, true)
OVERLOAD(mean, mean, false)
OVERLOAD(mean_dim, mean, true)

static mw_status amax_kernel(const mw_kernel_call *k)
{
    return extreme_kernel_of(k, &maxima);
}

static mw_status amin_kernel(const mw_kernel_call *k)
{
    return extreme_kernel_of(k, &minima);
}

const mw_op mw_op_sum = {
    .schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Sum of all elements; of integers in i64.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_SUM,
    .kernel = sum_kernel,
    .factors = sum_factors,
    .samples =
        "f32[4, 6]; f64[5, 2, 3]; bf16[9, 3]; i32[7]<9; bool[8]; f32[]; f32[0, 3]; f32[5, 7], f64",
};

const mw_op mw_op_sum_dim_intlist = {
    .schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
              "ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Sum over some dims; of integers in i64.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_SUM,
    .kernel = sum_dim_kernel,
    .factors = sum_dim_factors,
    .samples = "f32[4, 6], [1]; f32[4, 6], [0], true; f64[2, 5, 3], [0, -1]; bf16[9, 3], [1]; "
               "i32[7, 2]<9, [0]; bool[3, 4], [1]; f32[], [0]; f32[0, 3], [0]; f32[4, 6], none; "
               "f32[3, 4, 5], [1], false, f64",
};

const mw_op mw_op_mean = {
    .schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Mean of all elements.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_ARG,
    .kernel = mean_kernel,
    .factors = mean_factors,
    .samples = "f32[4, 6]; f64[5, 2, 3]; bf16[9, 3]; f32[]; i64[6]<9, f32",
};

const mw_op mw_op_mean_dim = {
    .schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
              "ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Mean over some dims.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_ARG,
    .kernel = mean_dim_kernel,
    .factors = mean_dim_factors,
    .samples = "f32[4, 6], [1]; f32[4, 6], [-1], true; f64[2, 5, 3], [0, 2]; f16[9, 3], [0]; "
               "i32[7, 2]<9, [0], false, f64; f32[], [0]; f32[3, 0], [0]; f32[4, 6], none",
};

#define EXTREME_SAMPLES                                                                           \
    "f32[4, 6], [1]; f32[4, 6], [0], true; f64[2, 5, 3], [0, -1]; bf16[9, 3]; i32[7, 2]<9, [0]; " \
    "bool[3, 4], [1]; u8[5]<9, [0]; f32[]; f32[0, 3], [1]"

const mw_op mw_op_amax = {
    .schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Largest element over some dims; NaN wins.",
    .reduce = MW_REDUCE_MAX,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = amax_kernel,
    .factors = extreme_factors,
    .samples = EXTREME_SAMPLES,
};

const mw_op mw_op_amin = {
    .schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Smallest element over some dims; NaN wins.",
    .reduce = MW_REDUCE_MIN,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = amin_kernel,
    .factors = extreme_factors,
    .samples = EXTREME_SAMPLES,
};
