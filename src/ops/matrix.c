/* Products of strided matrices: which kernel takes them, and what has to be copied before and
 * after. The choice depends on the shapes and strides of this rank's own operands alone, so a
 * program gives the same bits on every run of one mesh. Sums are f32 (f64, int64); the result is
 * rounded to its dtype once, at the end. */
#include "ops/matrix.h"

#include "ops/blas.h"
#include "ops/gemv.h"
#include "ops/narrow.h"

/* Floats of a panel of b that is copied at a time: a megabyte stays in the second cache. */
enum { PANEL = 1 << 18 };

mw_mat mw__mat_of(const mw_view *view, int64_t offset)
{
    int r = view->ndim - 2, c = view->ndim - 1;
    return (mw_mat){mw__mat_at(view->data, view->dtype, offset),
                    view->dtype,
                    view->shape[r],
                    view->shape[c],
                    view->stride[r],
                    view->stride[c]};
}

mw_mat mw__mat_flip(mw_mat m)
{
    return (mw_mat){m.data, m.dtype, m.cols, m.rows, m.col_stride, m.row_stride};
}

mw_view mw__mat_view(mw_mat m)
{
    return (mw_view){m.data, m.dtype, 2, {m.rows, m.cols}, {m.row_stride, m.col_stride}};
}

void *mw__mat_at(void *at, mw_dtype dtype, int64_t elements)
{
    return at ? (char *)at + elements * mw_dtype_size(dtype) : NULL;
}

static mw_mat contiguous(void *data, mw_dtype dtype, int64_t rows, int64_t cols)
{
    return (mw_mat){data, dtype, rows, cols, cols, 1};
}

/* Starts on a cache line: a vector load that crosses two costs twice. */
static mw_status make(mw_arena *scratch, mw_dtype dtype, int64_t rows, int64_t cols, mw_mat *ret)
{
    int64_t bytes;
    MW_TRY(mw__mul_size(rows, cols, &bytes));
    MW_TRY(mw__mul_size(bytes, mw_dtype_size(dtype), &bytes));
    char *data = mw__arena_alloc(scratch, (size_t)bytes + 63);
    if (!data) return MW_NOMEM();
    data += -(uintptr_t)data % 64;
    *ret = contiguous(data, dtype, rows, cols);
    return MW_OK;
}

/* A row-major copy of `from` in another dtype. */
static mw_status pack(mw_arena *scratch, mw_mat from, mw_dtype dtype, mw_mat *ret)
{
    MW_TRY(make(scratch, dtype, from.rows, from.cols, ret));
    mw_view to_view = mw__mat_view(*ret), from_view = mw__mat_view(from);
    mw__view_copy(&to_view, &from_view);
    return MW_OK;
}

/* ---- the end: c = alpha y + beta c ------------------------------------------------------------
 */

static void mix_f32(float *c, const float *y, int64_t n, float alpha, float beta)
{
    if (beta == 0)
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * y[j];
    else
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * y[j] + beta * c[j];
}

static void mix_f64(double *c, const double *y, int64_t n, double alpha, double beta)
{
    if (beta == 0)
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * y[j];
    else
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * y[j] + beta * c[j];
}

static void mix(void *c, const void *y, mw_dtype dtype, int64_t n, const mw_product *p)
{
    if (dtype == MW_DTYPE_f64)
        mix_f64(c, y, n, p->alpha, p->beta);
    else
        mix_f32(c, y, n, (float)p->alpha, (float)p->beta);
}

/* y is contiguous and of the dtype of the sums. A row of c that is not goes through a buffer. */
static mw_status finish(const mw_product *p, mw_mat y, mw_arena *scratch)
{
    bool direct = p->c.dtype == y.dtype && (p->c.col_stride == 1 || y.cols == 1);
    mw_mat buffer = {0};
    if (!direct) MW_TRY(make(scratch, y.dtype, 1, y.cols, &buffer));
    for (int64_t i = 0; i < y.rows; i++) {
        void *from = mw__mat_at(y.data, y.dtype, i * y.row_stride);
        mw_mat row = p->c;
        row.rows = 1;
        row.data = mw__mat_at(p->c.data, p->c.dtype, i * p->c.row_stride);
        if (direct) {
            mix(row.data, from, y.dtype, y.cols, p);
            continue;
        }
        mw_view c_row = mw__mat_view(row), buffered = mw__mat_view(buffer);
        if (p->beta != 0) mw__view_copy(&buffered, &c_row);
        mix(buffer.data, from, y.dtype, y.cols, p);
        mw__view_copy(&c_row, &buffered);
    }
    return MW_OK;
}

/* c itself where a kernel may write the sums there, else room for them. */
static mw_status place(const mw_product *p, mw_dtype dtype, bool as_is, mw_arena *scratch,
                       mw_mat *ret)
{
    mw_mat c = p->c;
    if (c.rows == 1) c.row_stride = c.cols;
    if (c.cols == 1) c.col_stride = 1;
    bool direct = as_is && c.dtype == dtype && c.col_stride == 1 && c.row_stride >= c.cols &&
                  c.row_stride <= INT_MAX;
    if (!direct) return make(scratch, dtype, c.rows, c.cols, ret);
    *ret = c;
    return MW_OK;
}

/* ---- few rows ---------------------------------------------------------------------------------
 */

/* The kernels' number of a weight dtype that goes with sums of `dtype`; -1 where it must be copied.
 */
static int weight_type(mw_dtype weight, mw_dtype dtype)
{
    if (dtype == MW_DTYPE_f64) return weight == MW_DTYPE_f64 ? MW_GEMV_F64 : -1;
    if (weight == MW_DTYPE_f32) return MW_GEMV_F32;
    if (weight == MW_DTYPE_bf16) return MW_GEMV_BF16;
    return weight == MW_DTYPE_f16 ? MW_GEMV_F16 : -1;
}

static mw_status few_rows(const mw_product *p, mw_dtype dtype, mw_arena *scratch)
{
    const mw__row_kernels *kernels = mw__row_kernels_get();
    mw_mat x = p->a, w = p->b, y;
    if (x.dtype != dtype || (x.col_stride != 1 && x.cols > 1)) MW_TRY(pack(scratch, x, dtype, &x));
    bool dot = w.row_stride == 1 || w.rows == 1, axpy = w.col_stride == 1 || w.cols == 1;
    int type = weight_type(w.dtype, dtype);
    if (type < 0 || (!dot && !axpy)) {
        MW_TRY(pack(scratch, mw__mat_flip(w), dtype, &w));
        w = mw__mat_flip(w);
        type = weight_type(w.dtype, dtype);
        dot = true;
    }
    bool as_is = p->alpha == 1 && p->beta == 0;
    MW_TRY(place(p, dtype, as_is, scratch, &y));
    mw__gemv g = {(int)x.rows, w.cols,       w.rows, x.data,      x.row_stride,
                  w.data,      w.col_stride, y.data, y.row_stride};
    if (!dot) g.ldw = w.row_stride;
    if (p->narrow && dtype == MW_DTYPE_f32) {
        dot = true;
        type = (int)p->narrow->type;
        g.ldw = p->narrow->ld;
        g.w = mw__narrow_at(p->narrow, p->narrow_at);
    }
    (dot ? kernels->dot : kernels->axpy)[type](&g);
    return y.data == p->c.data ? MW_OK : finish(p, y, scratch);
}

/* ---- many rows --------------------------------------------------------------------------------
 */

/* How BLAS would read `m`: as it lies, flipped, or (false) not at all. */
static bool blas_reads(mw_mat m, mw_dtype dtype, bool *ret_flip, int64_t *ret_ld)
{
    if (m.rows == 1) m.row_stride = MW_MAX(m.cols, m.col_stride);
    if (m.cols == 1) m.col_stride = m.row_stride == 1 ? MW_MAX(m.rows, 1) : 1;
    *ret_flip = m.col_stride != 1;
    *ret_ld = *ret_flip ? m.col_stride : m.row_stride;
    if (m.dtype != dtype || *ret_ld > INT_MAX) return false;
    return *ret_flip ? m.row_stride == 1 && *ret_ld >= m.rows : *ret_ld >= m.cols;
}

/* Columns [from, from + g->n) of the result, with b read as it lies or copied. */
static void panel(const mw_product *p, mw__gemm *g, int64_t from, void *room)
{
    mw_mat b = p->b;
    b.cols = g->n;
    b.data = mw__mat_at(b.data, b.dtype, from * b.col_stride);
    if (room) {
        mw_mat flipped = contiguous(room, g->wide ? MW_DTYPE_f64 : MW_DTYPE_f32, b.cols, b.rows);
        mw_view to = mw__mat_view(mw__mat_flip(flipped)), like = mw__mat_view(b);
        mw__view_copy(&to, &like);
        b = mw__mat_flip(flipped);
        g->b_flip = true;
        g->ldb = flipped.row_stride;
    }
    g->b = b.data;
    mw__gemm_run(g);
}

static mw_status many_rows(const mw_product *p, mw_dtype dtype, mw_arena *scratch)
{
    mw_mat a = p->a, y, room = {0};
    mw__gemm g = {.wide = dtype == MW_DTYPE_f64, .m = a.rows, .k = a.cols};
    if (!blas_reads(a, dtype, &g.a_flip, &g.lda)) {
        MW_TRY(pack(scratch, a, dtype, &a));
        g.a_flip = false, g.lda = a.row_stride;
    }
    MW_TRY(place(p, dtype, true, scratch, &y));
    bool direct = y.data == p->c.data;
    g.a = a.data, g.ldc = y.row_stride;
    g.alpha = direct ? p->alpha : 1;
    g.beta = direct ? p->beta : 0;
    int64_t n = p->b.cols, width = n;
    if (!blas_reads(p->b, dtype, &g.b_flip, &g.ldb)) {
        width = MW_MIN(n, MW_MAX(64, PANEL / p->b.rows));
        MW_TRY(make(scratch, dtype, width, p->b.rows, &room));
    }
    for (int64_t from = 0; from < n; from += width) {
        g.n = MW_MIN(width, n - from);
        g.c = mw__mat_at(y.data, dtype, from);
        panel(p, &g, from, room.data);
    }
    return direct ? MW_OK : finish(p, y, scratch);
}

/* ---- integers ---------------------------------------------------------------------------------
 */

static mw_status integers(const mw_product *p, mw_arena *scratch)
{
    mw_mat a, b;
    MW_TRY(pack(scratch, p->a, MW_DTYPE_i64, &a));
    MW_TRY(pack(scratch, mw__mat_flip(p->b), MW_DTYPE_i64, &b));
    for (int64_t i = 0; i < a.rows; i++) {
        const int64_t *x = (const int64_t *)a.data + i * a.cols;
        for (int64_t j = 0; j < b.rows; j++) {
            const int64_t *w = (const int64_t *)b.data + j * b.cols;
            uint64_t sum = 0; /* unsigned, because overflow wraps */
            for (int64_t k = 0; k < a.cols; k++)
                sum += (uint64_t)x[k] * (uint64_t)w[k];
            void *at = mw__mat_at(p->c.data, p->c.dtype, i * p->c.row_stride + j * p->c.col_stride);
            sum *= (uint64_t)p->int_alpha;
            if (p->int_beta != 0)
                sum += (uint64_t)p->int_beta * (uint64_t)mw__element_get_i64(at, p->c.dtype);
            mw__element_set_i64(at, p->c.dtype, (int64_t)sum);
        }
    }
    return MW_OK;
}

/* ---- the choice -------------------------------------------------------------------------------
 */

static mw_status no_terms(const mw_product *p, mw_dtype dtype, mw_arena *scratch)
{
    mw_mat y;
    MW_TRY(make(scratch, dtype, p->c.rows, p->c.cols, &y));
    memset(y.data, 0, (size_t)(y.rows * y.cols * mw_dtype_size(dtype)));
    return finish(p, y, scratch);
}

static mw_status run_here(const mw_product *p, mw_arena *scratch)
{
    if (p->c.rows == 0 || p->c.cols == 0) return MW_OK;
    if (mw_dtype_kind_of(p->c.dtype) != MW_KIND_FLOAT) return integers(p, scratch);
    bool wide =
        p->a.dtype == MW_DTYPE_f64 || p->b.dtype == MW_DTYPE_f64 || p->c.dtype == MW_DTYPE_f64;
    mw_dtype dtype = wide ? MW_DTYPE_f64 : MW_DTYPE_f32;
    if (p->a.cols == 0) return no_terms(p, dtype, scratch);
    if (p->a.rows <= MW_GEMV_ROWS) return few_rows(p, dtype, scratch);
    if (p->b.cols > MW_GEMV_ROWS) return many_rows(p, dtype, scratch);
    mw_product flipped = *p;
    flipped.a = mw__mat_flip(p->b);
    flipped.b = mw__mat_flip(p->a);
    flipped.c = mw__mat_flip(p->c);
    flipped.narrow = NULL;
    return few_rows(&flipped, dtype, scratch);
}

/* ---- shared by the threads of a rank ---------------------------------------------------------
 */

enum { LEAST_SHARED = 1 << 17, COLUMNS = 64 }; /* multiplications worth waking a thread for */

typedef struct shared {
    const mw_product *p;
    int jobs;
    mw_status status[256];
} shared;

/* One thread's columns of c, whole blocks of them. */
static void run_share(void *arg, int index)
{
    shared *s = arg;
    int64_t blocks = (s->p->c.cols + COLUMNS - 1) / COLUMNS;
    int64_t first = blocks * index / s->jobs * COLUMNS;
    int64_t end = MW_MIN(s->p->c.cols, blocks * (index + 1) / s->jobs * COLUMNS);
    mw_product part = *s->p;
    part.b.cols = part.c.cols = end - first;
    part.b.data = mw__mat_at(part.b.data, part.b.dtype, first * part.b.col_stride);
    part.c.data = mw__mat_at(part.c.data, part.c.dtype, first * part.c.col_stride);
    part.narrow_at += first;
    mw_arena scratch;
    mw__arena_init(&scratch);
    s->status[index] = run_here(&part, &scratch);
    mw__arena_done(&scratch);
}

mw_status mw__product_run(const mw_product *p, mw_arena *scratch)
{
    mw__workers *workers = mw__ctx_get()->workers;
    if (MW_LIKELY(!workers) ||
        (double)p->c.rows * (double)p->c.cols * (double)p->a.cols < LEAST_SHARED)
        return run_here(p, scratch);
    shared s = {.p = p, .jobs = mw__workers_threads(workers)};
    mw__workers_run(workers, run_share, &s, s.jobs);
    for (int i = 0; i < s.jobs; i++)
        if (s.status[i] != MW_OK) return MW_FAIL(s.status[i], "%s", mw_status_text(s.status[i]));
    return MW_OK;
}
