/* One weight type's products with few rows. Included once per type by gemv_set.h, with
 *   G(name)    the type's own name for a function
 *   T, W       element types of x and y, and of w
 *   V, LANES   the vector of T
 *   VOP(name)  an operation of V
 *   WLOAD, WLOAD_PART   a vector of w as V
 * No include guard on purpose. `rows` and `count` are constants wherever these are inlined. */

/* Row j of w against all `rows` rows of x. One row at a time, from its start to its end: w is then
 * read in one stream. Several streams at once measured 10 to 50 % slower. */
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
        VEC_FETCH(w + k);
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
        VEC_FETCH(w + j);
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

GEMV_BY_ROWS(dot)
GEMV_BY_ROWS(axpy)

#undef G
#undef T
#undef W
#undef V
#undef LANES
#undef VOP
#undef WLOAD
#undef WLOAD_PART
