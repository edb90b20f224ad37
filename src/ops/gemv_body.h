/* One weight type's products with few rows. Included once per type by gemv_set.h, with
 *   G(name)    the type's own name for a function
 *   T, W       element types of x and y, and of w
 *   V, LANES   the vector of T
 *   VOP(name)  an operation of V
 *   WLOAD, WLOAD_PART   a vector of w as V
 * No include guard on purpose. `rows` and `count` are constants wherever these are inlined. */

/* Row j of w against all `rows` rows of x. One row at a time, from its start to its end: w is then
 * read in one stream, which the processor fetches ahead by itself. Several streams at once, or
 * fetching by hand, measured 10 to 50 % slower. */
VEC_FN void G(dot_row)(const mw__gemv *g, int64_t j, const int rows)
{
    const T *x = g->x;
    const W *w = (const W *)g->w + j * g->ldw;
    V sum[MW_GEMV_ROWS];
    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = VOP(set)(0);
    int64_t k = 0;
    for (; k + LANES <= g->k; k += LANES) {
        V wide = WLOAD(w + k);
        VEC_UNROLL
        for (int i = 0; i < rows; i++)
            sum[i] = VOP(fma)(wide, VOP(load)(x + i * g->ldx + k), sum[i]);
    }
    if (k < g->k) {
        V wide = WLOAD_PART(w + k, g->k - k);
        VEC_UNROLL
        for (int i = 0; i < rows; i++)
            sum[i] = VOP(fma)(wide, VOP(load_part)(x + i * g->ldx + k, g->k - k), sum[i]);
    }
    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        ((T *)g->y)[i * g->ldy + j] = VOP(sum)(sum[i]);
}

VEC_FN void G(dot_all)(const mw__gemv *g, const int rows)
{
    for (int64_t j = 0; j < g->n; j++)
        G(dot_row)(g, j, rows);
}

/* Columns [from, end) of y += x[, k] w[k, ]. One row of w at a time, for the reason above. */
VEC_FN void G(axpy_row)(const mw__gemv *g, int64_t k, int64_t from, int64_t end, const int rows)
{
    const W *w = (const W *)g->w + k * g->ldw;
    V x[MW_GEMV_ROWS];
    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        x[i] = VOP(set)(((const T *)g->x)[i * g->ldx + k]);
    int64_t j = from;
    for (; j + LANES <= end; j += LANES) {
        V wide = WLOAD(w + j);
        VEC_UNROLL
        for (int i = 0; i < rows; i++) {
            T *y = (T *)g->y + i * g->ldy + j;
            VOP(store)(y, VOP(fma)(x[i], wide, VOP(load)(y)));
        }
    }
    if (j < end) {
        V wide = WLOAD_PART(w + j, end - j);
        VEC_UNROLL
        for (int i = 0; i < rows; i++) {
            T *y = (T *)g->y + i * g->ldy + j;
            VOP(store_part)(y, VOP(fma)(x[i], wide, VOP(load_part)(y, end - j)), end - j);
        }
    }
}

/* In blocks of columns, so that the block of y stays in the second cache. Narrower ones would fit
 * the first, but w is then read in pieces, which costs more than they save. */
VEC_FN void G(axpy_all)(const mw__gemv *g, const int rows)
{
    enum { COLUMNS = 1 << 16 };
    for (int i = 0; i < rows; i++)
        memset((T *)g->y + i * g->ldy, 0, (size_t)g->n * sizeof(T));
    for (int64_t from = 0; from < g->n; from += COLUMNS) {
        int64_t end = MW_MIN(from + COLUMNS, g->n);
        for (int64_t k = 0; k < g->k; k++)
            G(axpy_row)(g, k, from, end, rows);
    }
}

#if MW_VEC != 0
/* A function per number of rows, so that the accumulators of each are registers. */
#define FEW(rows)                                            \
    VEC_TARGET static void G(dot_##rows)(const mw__gemv *g)  \
    {                                                        \
        G(dot_all)(g, rows);                                 \
    }                                                        \
    VEC_TARGET static void G(axpy_##rows)(const mw__gemv *g) \
    {                                                        \
        G(axpy_all)(g, rows);                                \
    }
FEW(1)
FEW(2)
FEW(3)
FEW(4)
FEW(5)
FEW(6)
FEW(7)
#undef FEW

static void G(dot)(const mw__gemv *g)
{
    static mw__gemv_fn *const by_rows[MW_GEMV_ROWS] = {G(dot_1), G(dot_2), G(dot_3), G(dot_4),
                                                       G(dot_5), G(dot_6), G(dot_7)};
    by_rows[g->m - 1](g);
}

static void G(axpy)(const mw__gemv *g)
{
    static mw__gemv_fn *const by_rows[MW_GEMV_ROWS] = {G(axpy_1), G(axpy_2), G(axpy_3), G(axpy_4),
                                                       G(axpy_5), G(axpy_6), G(axpy_7)};
    by_rows[g->m - 1](g);
}
#else
/* Plain C has too few registers for more than one row at a time. */
static void G(each)(const mw__gemv *g, mw__gemv_fn *one_row)
{
    mw__gemv one = *g;
    for (int i = 0; i < g->m; i++) {
        one.x = (const T *)g->x + i * g->ldx;
        one.y = (T *)g->y + i * g->ldy;
        one_row(&one);
    }
}

static void G(dot_1)(const mw__gemv *g)
{
    G(dot_all)(g, 1);
}

static void G(axpy_1)(const mw__gemv *g)
{
    G(axpy_all)(g, 1);
}

static void G(dot)(const mw__gemv *g)
{
    G(each)(g, G(dot_1));
}

static void G(axpy)(const mw__gemv *g)
{
    G(each)(g, G(axpy_1));
}
#endif

#undef G
#undef T
#undef W
#undef V
#undef LANES
#undef VOP
#undef WLOAD
#undef WLOAD_PART
