/* tensor: what one rank holds: dtypes, strided views of memory, refcounted storage.
 * Sharding is not known here. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "base/base.h"

#include <meshwise/dtype.h>

enum { MW_MAX_DIMS = 8 };

/* ---- views ---------------------------------------------------------------------------------
 * A strided view of memory that somebody else owns: what a kernel gets. A value; copy freely.
 * Strides are in elements, may be 0 (expanded) and, for size <= 1 dims, anything. */
typedef struct mw_view {
    void *data; /* element [0, 0, ...]; NULL when there are no elements or no data (fake) */
    mw_dtype dtype;
    int ndim;
    int64_t shape[MW_MAX_DIMS];
    int64_t stride[MW_MAX_DIMS];
} mw_view;

int64_t mw__view_count(const mw_view *view); /* elements; the product of the shape */

/* Row-major without gaps (dims of size 1 don't matter; an empty view is). */
bool mw__view_contiguous(const mw_view *view);

/* Sets dtype, shape and row-major strides; data stays. */
void mw__view_set(mw_view *view, mw_dtype dtype, int ndim, const int64_t *shape);

/* Strides under which `view` reads as `shape` (same count) without a copy: torch's computeStride.
 * False where there are none. */
bool mw__view_reshape(const mw_view *view, int ndim, const int64_t *shape, int64_t *ret_stride);

/* Copies elements, `from` broadcast to the shape of `to`, converting dtypes as torch's `to` does
 * (float to int truncates towards zero, to bool tests != 0, round-to-nearest-even to narrower
 * floats). Any strides. The two must not overlap unless they are the same. */
void mw__view_copy(const mw_view *to, const mw_view *from);

/* n elements of a row from one dtype and stride (in elements; 0 repeats one element) to another, by
 * the same conversions. */
void mw__row_convert(void *to, mw_dtype to_dtype, int64_t to_stride, const void *from,
                     mw_dtype from_dtype, int64_t from_stride, int64_t n);

/* One element as double or int64 and back (i64 beyond 2^53 keeps its bits by the _i64 forms). */
double mw__element_get(const void *at, mw_dtype dtype);
int64_t mw__element_get_i64(const void *at, mw_dtype dtype);
void mw__element_set(void *at, mw_dtype dtype, double value);
void mw__element_set_i64(void *at, mw_dtype dtype, int64_t value);

/* ---- half formats -------------------------------------------------------------------------- */
float mw__bf16_to_f32(uint16_t bits);
uint16_t mw__f32_to_bf16(float value); /* round to nearest even; NaN stays NaN */
float mw__f16_to_f32(uint16_t bits);
uint16_t mw__f32_to_f16(float value);

/* Rows of n elements, vectorised where the machine can. `from` and `to` must not overlap. */
void mw__row_to_f32(float *to, const void *from, mw_dtype dtype, int64_t n);
void mw__row_from_f32(void *to, mw_dtype dtype, const float *from, int64_t n);

/* ---- storage -------------------------------------------------------------------------------
 * Refcounted bytes, 64-byte aligned, of one rank. Freed blocks go to the context's pool, so that a
 * warm program allocates nothing. `readers` counts peers that are reading these bytes in a
 * collective (comm raises it before a peer may start and the peer lowers it): a storage whose count
 * of references falls to 0 while it has readers waits in the pool's limbo. */
typedef struct mw_storage {
    void *data;
    int64_t size;     /* bytes asked for */
    int64_t capacity; /* bytes that are there */
    int refs;         /* of one rank's thread: not atomic */
    int held;         /* of these, by compiled programs: handles that nobody else looks through */
    int readers;      /* atomic */
    int frozen;       /* by compiled functions that count on its values: not to be written */
    struct mw__pool *pool;
    struct mw__slab *slab;   /* of which it is a piece, or NULL */
    struct mw_storage *next; /* free list or limbo */
} mw_storage;

/* Bytes in use by tensors of this pool's rank. */
typedef struct mw__pool_stats {
    int64_t live, peak;
} mw__pool_stats;

MW_NODISCARD mw_status mw__storage_new(int64_t bytes, mw_storage **ret);
void mw__storage_ref(mw_storage *storage);
void mw__storage_unref(mw_storage *storage); /* NULL is fine */

/* Do several handles look into it, compiled programs' aside? NULL: none does. */
static inline bool mw__storage_shared(const mw_storage *storage)
{
    return storage && storage->refs - storage->held > 1;
}

/* The pool of this thread's context, made on first use. Trim gives free blocks back to the
 * allocator; done also waits for readers and frees the pool (live must be 0, else it leaks them on
 * purpose rather than crash). */
MW_NODISCARD mw_status mw__pool_get(struct mw__pool **ret);
void mw__pool_trim(void);
void mw__pool_done(void);
mw__pool_stats mw__pool_stats_get(void);

#endif
