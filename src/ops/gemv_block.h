/* One block form's products with few rows (narrow.h), as gemv_body.h has them for plain weights:
 * lanes and the order of sums are the same, so that the bits are. Included once per form by
 * gemv_set.h, with
 *   G(name)          the form's own name for a function
 *   T                float
 *   BLOCK            the struct of a block
 *   QLOAD(b, half)   its q of one half of the block as vf
 * No include guard on purpose. */

VEC_FN void G(dot_row)(const mw__gemv *g, int64_t j, const int rows)
{
    const float *x = g->x;
    const BLOCK *b = (const BLOCK *)g->w + j * g->ldw;
    vf sum[MW_GEMV_ROWS];
    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = vf_set(0);
    int64_t k = 0;
    for (; k + MW_BLOCK <= g->k; k += MW_BLOCK, b++) {
        VEC_FETCH(b);
        vf step = vf_set(b->step), base = vf_set(b->base);
        VEC_UNROLL
        for (int half = 0; half < MW_BLOCK; half += VF_LANES) {
            vf wide = vf_fma(QLOAD(b, half), step, base);
            VEC_UNROLL
            for (int i = 0; i < rows; i++)
                sum[i] = vf_fma(wide, vf_load(x + i * g->ldx + k + half), sum[i]);
        }
    }
    for (int half = 0; k + half < g->k; half += VF_LANES) {
        int64_t left = MW_MIN(g->k - k - half, VF_LANES);
        vf wide = vf_fma(QLOAD(b, half), vf_set(b->step), vf_set(b->base));
        VEC_UNROLL
        for (int i = 0; i < rows; i++)
            sum[i] = vf_fma(wide, vf_load_part(x + i * g->ldx + k + half, left), sum[i]);
    }
    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        ((float *)g->y)[i * g->ldy + j] = vf_sum(sum[i]);
}

VEC_FN void G(dot_all)(const mw__gemv *g, const int rows)
{
    for (int64_t j = 0; j < g->n; j++)
        G(dot_row)(g, j, rows);
}

GEMV_BY_ROWS(dot)

#undef G
#undef T
#undef BLOCK
#undef QLOAD
