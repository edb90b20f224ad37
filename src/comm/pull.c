/* Pulls: boxes of one strided buffer copied into, or combined with, boxes of another. A box is
 * first made as flat as it can be (dims that lie gapless in both buffers become one), then walked
 * row by row; a row that is gapless on both sides is one memcpy or one vector loop. Invariant:
 * every element of the destination sees the pulls in their order, each rounded to the dtype,
 * whichever path is taken. */
#include "comm/backend.h"

typedef struct box {
    int ndim;
    int64_t size[MW_PULL_DIMS], from[MW_PULL_DIMS], to[MW_PULL_DIMS]; /* strides in elements */
} box;

/* The box without dims of size 1 and with neighbours merged; ndim at least 1. False when empty. */
static bool flatten(const mw_pull *pull, box *ret)
{
    box b = {.ndim = 0};
    for (int d = 0; d < pull->ndim; d++) {
        int64_t size = pull->size[d], from = pull->from_stride[d], to = pull->to_stride[d];
        if (size == 0) return false;
        if (size == 1) continue;
        int last = b.ndim - 1;
        if (last >= 0 && b.from[last] == size * from && b.to[last] == size * to) {
            b.size[last] *= size;
        } else {
            last = b.ndim++;
            b.size[last] = size;
        }
        b.from[last] = from;
        b.to[last] = to;
    }
    if (b.ndim == 0) {
        b.ndim = 1;
        b.size[0] = b.from[0] = b.to[0] = 1;
    }
    *ret = b;
    return true;
}

/* Moves to the next row: offsets of both sides follow. False after the last. */
static bool next_row(const box *b, int64_t *index, int64_t *from, int64_t *to)
{
    for (int d = b->ndim - 2; d >= 0; d--) {
        *from += b->from[d];
        *to += b->to[d];
        if (++index[d] < b->size[d]) return true;
        *from -= b->from[d] * b->size[d];
        *to -= b->to[d] * b->size[d];
        index[d] = 0;
    }
    return false;
}

#define STRIDED(type)                              \
    {                                              \
        type *t = to;                              \
        const type *f = from;                      \
        for (int64_t i = 0; i < n; i++)            \
            t[i * to_stride] = f[i * from_stride]; \
        break;                                     \
    }

/* Elements are moved as integers of their size: buffers are aligned to their elements. */
static void copy_row(void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t n,
                     int64_t size)
{
    typedef uint16_t __attribute__((may_alias)) any16;
    typedef uint32_t __attribute__((may_alias)) any32;
    typedef uint64_t __attribute__((may_alias)) any64;
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1:
        STRIDED(uint8_t)
    case 2:
        STRIDED(any16)
    case 4:
        STRIDED(any32)
    default:
        STRIDED(any64)
    }
}

/* A row to be combined whose elements are not side by side goes through two small buffers. */
static void combine_row(mw_reduce kind, mw_dtype dtype, void *to, int64_t to_stride,
                        const void *from, int64_t from_stride, int64_t n)
{
    enum { PART = 256 };
    uint64_t old[PART], term[PART];
    int64_t size = mw_dtype_size(dtype);
    if (to_stride == 1 && from_stride == 1) {
        mw__reduce_rows(kind, dtype, to, (const void *const[]){to, from}, 2, n);
        return;
    }
    for (int64_t first = 0; first < n; first += PART) {
        int64_t part = MW_MIN(PART, n - first);
        char *t = (char *)to + first * to_stride * size;
        const char *f = (const char *)from + first * from_stride * size;
        copy_row(old, 1, t, to_stride, part, size);
        copy_row(term, 1, f, from_stride, part, size);
        mw__reduce_rows(kind, dtype, old, (const void *const[]){old, term}, 2, part);
        copy_row(t, to_stride, old, 1, part, size);
    }
}

/* Rows shorter than this gain nothing from going past the caches: their ends share lines. */
enum { STREAM_ROW = 512, STREAM_RESULT = 8 << 20 };

bool mw__pulls_past(const mw_pull *pull, int count, mw_dtype dtype)
{
    int64_t elements = 0;
    for (int i = 0; i < count; i++) {
        int64_t written =
            pull[i].reduce == MW_REDUCE_NONE; /* the others write where one has stored */
        for (int d = 0; d < pull[i].ndim; d++)
            written *= pull[i].size[d];
        elements += written;
    }
    return elements * mw_dtype_size(dtype) >= STREAM_RESULT;
}

/* Copies a box of gapless rows past the caches: its two innermost dims at a time. */
static void stream_box(const box *b, int64_t size, const mw_pull *pull, const void *from, void *to)
{
    int64_t index[MW_PULL_DIMS] = {0}, f = pull->from, t = pull->to;
    int row = b->ndim - 1;
    box outer = *b;
    outer.ndim = MW_MAX(row, 1);
    int64_t rows = row ? b->size[row - 1] : 1, from_step = row ? b->from[row - 1] : 0,
            to_step = row ? b->to[row - 1] : 0;
    do {
        mw__stream_copy_rows((char *)to + t * size, to_step * size, (const char *)from + f * size,
                             from_step * size, b->size[row] * size, rows);
    } while (next_row(&outer, index, &f, &t));
    mw__stream_done();
}

static void run_box(const mw_pull *pull, mw_dtype dtype, const void *from, void *to, bool past)
{
    box b;
    if (!flatten(pull, &b)) return;
    int64_t size = mw_dtype_size(dtype), index[MW_PULL_DIMS] = {0};
    int64_t f = pull->from, t = pull->to;
    int row = b.ndim - 1;
    if (past && pull->reduce == MW_REDUCE_NONE && b.from[row] == 1 && b.to[row] == 1 &&
        b.size[row] * size >= STREAM_ROW) {
        stream_box(&b, size, pull, from, to);
        return;
    }
    do {
        const char *source = (const char *)from + f * size;
        char *target = (char *)to + t * size;
        if (pull->reduce == MW_REDUCE_NONE)
            copy_row(target, b.to[row], source, b.from[row], b.size[row], size);
        else
            combine_row(pull->reduce, dtype, target, b.to[row], source, b.from[row], b.size[row]);
    } while (next_row(&b, index, &f, &t));
}

void mw__pull_run(const mw_pull *pull, mw_dtype dtype, const void *from, void *to)
{
    run_box(pull, dtype, from, to, mw__pulls_past(pull, 1, dtype));
}

static bool same_box(const mw_pull *a, const mw_pull *b)
{
    size_t bytes = a->ndim * sizeof a->size[0];
    return a->ndim == b->ndim && a->to == b->to && memcmp(a->size, b->size, bytes) == 0 &&
           memcmp(a->from_stride, b->from_stride, bytes) == 0 &&
           memcmp(a->to_stride, b->to_stride, bytes) == 0;
}

int mw__pull_group(const mw_pull *pull, int count)
{
    if (count < 2 || pull[0].reduce != MW_REDUCE_NONE || pull[1].reduce == MW_REDUCE_NONE) return 1;
    int n = 1;
    while (n < count && n < MW_PULL_GROUP && pull[n].reduce == pull[1].reduce &&
           same_box(&pull[0], &pull[n]))
        n++;
    return n;
}

void mw__pull_group_run(const mw_pull *pull, int count, mw_dtype dtype, const void *const *from,
                        void *to, bool past)
{
    box b;
    if (!flatten(&pull[0], &b)) return;
    int row = b.ndim - 1;
    if (count == 1 || b.from[row] != 1 || b.to[row] != 1) {
        for (int i = 0; i < count; i++)
            run_box(&pull[i], dtype, from[i], to, past);
        return;
    }
    int64_t size = mw_dtype_size(dtype), index[MW_PULL_DIMS] = {0};
    int64_t f = 0, t = pull[0].to;
    const void *source[MW_PULL_GROUP];
    bool sum = pull[1].reduce == MW_REDUCE_SUM || pull[1].reduce == MW_REDUCE_AVG;
    bool stream = past && sum && dtype == MW_DTYPE_f32 && b.size[row] * size >= STREAM_ROW;
    do {
        for (int i = 0; i < count; i++)
            source[i] = (const char *)from[i] + (pull[i].from + f) * size;
        char *target = (char *)to + t * size;
        if (stream)
            mw__stream_sum_f32((float *)target, source, count, b.size[row]);
        else
            mw__reduce_rows(pull[1].reduce, dtype, target, source, count, b.size[row]);
    } while (next_row(&b, index, &f, &t));
    if (stream) mw__stream_done();
}
