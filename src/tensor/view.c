/* Views: shape and stride arithmetic, single elements, and copies between views of any strides and
 * dtypes. A copy walks rows (tensor/nest.h) and converts a row at a time, so that a strided view
 * costs what its rows cost. Conversions go straight from one machine type to the other; the two
 * half formats go through f32, which is also what torch does. */
#include "tensor/nest.h"

int64_t mw__view_count(const mw_view *view)
{
    int64_t count = 1;
    for (int d = 0; d < view->ndim; d++)
        count *= view->shape[d];
    return count;
}

bool mw__view_contiguous(const mw_view *view)
{
    int64_t expected = 1;
    bool gapless = true;
    for (int d = view->ndim - 1; d >= 0; d--) {
        int64_t size = view->shape[d];
        if (size == 0) return true;
        if (size == 1) continue;
        gapless = gapless && view->stride[d] == expected;
        expected *= size;
    }
    return gapless;
}

/* Strides of a size-0 shape count its 0 as 1, so that they stay distinct, as torch has them. */
static void row_major(int ndim, const int64_t *shape, int64_t *ret_stride)
{
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        ret_stride[d] = stride;
        stride *= MW_MAX(shape[d], 1);
    }
}

void mw__view_set(mw_view *view, mw_dtype dtype, int ndim, const int64_t *shape)
{
    view->dtype = dtype;
    view->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        view->shape[d] = shape[d];
    row_major(ndim, shape, view->stride);
}

/* Walks the old dims from the innermost and collects them into runs without gaps; each run must be
 * the product of some new dims, which then get strides within it. */
bool mw__view_reshape(const mw_view *view, int ndim, const int64_t *shape, int64_t *ret_stride)
{
    int64_t stride[MW_MAX_DIMS];
    if (mw__view_count(view) == 0 || mw__view_contiguous(view)) {
        row_major(ndim, shape, ret_stride);
        return true;
    }
    int to = ndim - 1;
    int64_t run = 1, base = 0;
    bool open = false; /* a run has begun */
    for (int from = view->ndim - 1; from >= 0; from--) {
        if (view->shape[from] == 1) continue;
        if (!open) base = view->stride[from];
        open = true;
        run *= view->shape[from];
        int above = from - 1;
        while (above >= 0 && view->shape[above] == 1)
            above--;
        if (above >= 0 && view->stride[above] == run * base) continue;
        int64_t covered = 1;
        while (to >= 0 && (covered < run || shape[to] == 1)) {
            stride[to] = covered * base;
            covered *= shape[to--];
        }
        if (covered != run) return false;
        run = 1, open = false;
    }
    for (int d = 0; d < ndim; d++)
        ret_stride[d] = d <= to ? 1 : stride[d];
    return true;
}

/* ---- elements ------------------------------------------------------------------------------ */

/* Beyond the range, and for NaN, what the x86 conversion gives; C leaves it undefined. */
static inline int64_t truncate(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

double mw__element_get(const void *at, mw_dtype dtype)
{
    double value = 0;
    mw__row_convert(&value, MW_DTYPE_f64, 1, at, dtype, 1, 1);
    return value;
}

int64_t mw__element_get_i64(const void *at, mw_dtype dtype)
{
    int64_t value = 0;
    mw__row_convert(&value, MW_DTYPE_i64, 1, at, dtype, 1, 1);
    return value;
}

void mw__element_set(void *at, mw_dtype dtype, double value)
{
    mw__row_convert(at, dtype, 1, &value, MW_DTYPE_f64, 1, 1);
}

void mw__element_set_i64(void *at, mw_dtype dtype, int64_t value)
{
    mw__row_convert(at, dtype, 1, &value, MW_DTYPE_i64, 1, 1);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Strided moves of elements of one size, without a look at what they are. */
#define MOVE_ROW(type)                                 \
    do {                                               \
        type *t = to;                                  \
        const type *f = from;                          \
        if (from_stride == 0)                          \
            for (int64_t i = 0; i < n; i++)            \
                t[i * to_stride] = f[0];               \
        else                                           \
            for (int64_t i = 0; i < n; i++)            \
                t[i * to_stride] = f[i * from_stride]; \
    } while (0)

static void move_row(void *to, int64_t to_stride, const void *from, int64_t from_stride,
                     int64_t bytes, int64_t n)
{
    if (to_stride == 1 && from_stride == 1) {
        memmove(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1:
        MOVE_ROW(uint8_t);
        return;
    case 2:
        MOVE_ROW(uint16_t);
        return;
    case 4:
        MOVE_ROW(uint32_t);
        return;
    default:
        MOVE_ROW(uint64_t);
        return;
    }
}

/* Casts. To an integer a float truncates; between integers the low bits stay. */
#define TO_BOOL(value, is_float)      ((uint8_t)((value) != 0))
#define TO_INT(type, value, is_float) ((is_float) ? (type)truncate((double)(value)) : (type)(value))
#define TO_U8(value, is_float)        TO_INT(uint8_t, value, is_float)
#define TO_I8(value, is_float)        TO_INT(int8_t, value, is_float)
#define TO_I16(value, is_float)       TO_INT(int16_t, value, is_float)
#define TO_I32(value, is_float)       TO_INT(int32_t, value, is_float)
#define TO_I64(value, is_float)       TO_INT(int64_t, value, is_float)
#define TO_F32(value, is_float)       ((float)(value))
#define TO_F64(value, is_float)       ((double)(value))

#define CONVERT_CASE(from_dtype, from_type, is_float, CAST)         \
    case MW_DTYPE_##from_dtype: {                                   \
        const from_type *f = from;                                  \
        for (int64_t i = 0; i < n; i++)                             \
            to[i * to_stride] = CAST(f[i * from_stride], is_float); \
        return;                                                     \
    }

/* One function per target type, with a loop per source type. Halves never come here. */
#define CONVERT_TO(name, type, CAST)                                                   \
    static void convert_to_##name(type *to, int64_t to_stride, const void *from,       \
                                  mw_dtype from_dtype, int64_t from_stride, int64_t n) \
    {                                                                                  \
        switch ((int)from_dtype) {                                                     \
            CONVERT_CASE(bool, uint8_t, 0, CAST)                                       \
            CONVERT_CASE(u8, uint8_t, 0, CAST)                                         \
            CONVERT_CASE(i8, int8_t, 0, CAST)                                          \
            CONVERT_CASE(i16, int16_t, 0, CAST)                                        \
            CONVERT_CASE(i32, int32_t, 0, CAST)                                        \
            CONVERT_CASE(i64, int64_t, 0, CAST)                                        \
            CONVERT_CASE(f32, float, 1, CAST)                                          \
            CONVERT_CASE(f64, double, 1, CAST)                                         \
        }                                                                              \
    }

CONVERT_TO(bool, uint8_t, TO_BOOL)
CONVERT_TO(u8, uint8_t, TO_U8)
CONVERT_TO(i8, int8_t, TO_I8)
CONVERT_TO(i16, int16_t, TO_I16)
CONVERT_TO(i32, int32_t, TO_I32)
CONVERT_TO(i64, int64_t, TO_I64)
CONVERT_TO(f32, float, TO_F32)
CONVERT_TO(f64, double, TO_F64)

/* Between two of the eight machine types. */
static void convert_native(void *to, mw_dtype to_dtype, int64_t to_stride, const void *from,
                           mw_dtype from_dtype, int64_t from_stride, int64_t n)
{
    switch ((int)to_dtype) {
#define CASE(name)                                                          \
    case MW_DTYPE_##name:                                                   \
        convert_to_##name(to, to_stride, from, from_dtype, from_stride, n); \
        return;
        CASE(bool)
        CASE(u8)
        CASE(i8)
        CASE(i16)
        CASE(i32)
        CASE(i64)
        CASE(f32)
        CASE(f64)
#undef CASE
    }
}

static bool is_half(mw_dtype dtype)
{
    return dtype == MW_DTYPE_f16 || dtype == MW_DTYPE_bf16;
}

enum { CHUNK = 256 }; /* elements converted at a time: 1.5 KiB on the stack */

/* At most CHUNK elements of which at least one side is a half: through f32. */
static void convert_half(void *to, mw_dtype to_dtype, int64_t to_stride, const void *from,
                         mw_dtype from_dtype, int64_t from_stride, int64_t n)
{
    float wide[CHUNK];
    uint16_t half[CHUNK];
    if (is_half(from_dtype)) {
        if (from_stride != 1) move_row(half, 1, from, from_stride, 2, n);
        mw__row_to_f32(wide, from_stride != 1 ? half : from, from_dtype, n);
    } else {
        convert_native(wide, MW_DTYPE_f32, 1, from, from_dtype, from_stride, n);
    }
    if (!is_half(to_dtype)) {
        convert_native(to, to_dtype, to_stride, wide, MW_DTYPE_f32, 1, n);
    } else if (to_stride == 1) {
        mw__row_from_f32(to, to_dtype, wide, n);
    } else {
        mw__row_from_f32(half, to_dtype, wide, n);
        move_row(to, to_stride, half, 1, 2, n);
    }
}

void mw__row_convert(void *to, mw_dtype to_dtype, int64_t to_stride, const void *from,
                     mw_dtype from_dtype, int64_t from_stride, int64_t n)
{
    int64_t to_bytes = mw_dtype_size(to_dtype), from_bytes = mw_dtype_size(from_dtype);
    if (to_dtype == from_dtype) {
        move_row(to, to_stride, from, from_stride, to_bytes, n);
        return;
    }
    if (!is_half(to_dtype) && !is_half(from_dtype)) {
        convert_native(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
        return;
    }
    for (int64_t i = 0; i < n; i += CHUNK)
        convert_half((char *)to + i * to_stride * to_bytes, to_dtype, to_stride,
                     (const char *)from + i * from_stride * from_bytes, from_dtype, from_stride,
                     MW_MIN(n - i, CHUNK));
}

/* ---- copies -------------------------------------------------------------------------------- */

enum { TILE = 16 }; /* of a transposing copy: 16 cache lines in, 16 out */

/* Where the source runs along the dim outside the row (a transpose), rows are cut into tiles so
 * that a cache line that was fetched is used up before it goes. Takes the two innermost dims at
 * once. */
static void copy_transposed(const mw__nest *nest, mw_dtype dtype)
{
    int inner = nest->ndim - 1, outer = nest->ndim - 2;
    int64_t bytes = mw_dtype_size(dtype);
    for (int64_t i = 0; i < nest->size[outer]; i += TILE)
        for (int64_t j = 0; j < nest->size[inner]; j += TILE)
            for (int64_t r = i; r < MW_MIN(i + TILE, nest->size[outer]); r++)
                move_row(nest->at[0] + r * nest->stride[0][outer] + j * nest->stride[0][inner],
                         nest->row_stride[0],
                         nest->at[1] + r * nest->stride[1][outer] + j * nest->stride[1][inner],
                         nest->row_stride[1], bytes, MW_MIN(TILE, nest->size[inner] - j));
}

void mw__view_copy(const mw_view *to, const mw_view *from)
{
    mw__nest nest;
    if (to->data == from->data && to->dtype == from->dtype && to->ndim == from->ndim &&
        memcmp(to->stride, from->stride, (size_t)to->ndim * sizeof to->stride[0]) == 0)
        return;
    if (!mw__nest_init(&nest, (const mw_view *const[]){to, from}, 2)) return;
    int inner = nest.ndim - 1;
    bool transposed = to->dtype == from->dtype && inner > 0 &&
                      nest.stride[1][inner - 1] == mw_dtype_size(from->dtype) &&
                      nest.row_stride[1] > 1 && nest.size[inner] >= TILE;
    if (!transposed) {
        do
            mw__row_convert(nest.at[0], to->dtype, nest.row_stride[0], nest.at[1], from->dtype,
                            nest.row_stride[1], nest.size[inner]);
        while (mw__nest_next(&nest));
        return;
    }
    mw__nest outer = nest; /* the loops outside the two innermost dims */
    outer.ndim--;
    do {
        nest.at[0] = outer.at[0], nest.at[1] = outer.at[1];
        copy_transposed(&nest, to->dtype);
    } while (mw__nest_next(&outer));
}
