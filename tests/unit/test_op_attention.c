/* Attention against its definition, element by element in double: heads shared by groups, masks of
 * both kinds, the causal order, prompts longer than a block, single steps over a strided cache. */
#include "op_run.h"

#include <math.h>
#include <stdio.h>

static const uint64_t seed = 20241103;

#define LL(x) ((long long)(x))

typedef struct shape {
    int64_t batch, heads, shared, t, s, e, v;
    bool causal;
} shape;

/* Element [batch, head, row, col] of a contiguous or strided view of 4 dims, broadcast. */
static double at(const mw_view *view, int64_t batch, int64_t head, int64_t row, int64_t col)
{
    int64_t index[4] = {batch, head, row, col}, nth = 0;
    for (int d = 0; d < view->ndim; d++) {
        int64_t i = index[d + 4 - view->ndim];
        nth = nth * view->shape[d] + (view->shape[d] == 1 ? 0 : i);
    }
    return op_run_get(view, nth);
}

static double masked(const op_run *run, const shape *c, const int64_t *index, int64_t col)
{
    const mw_view *mask = run->sample.call.nin > 3 ? &run->in[3] : NULL;
    if (c->causal && col > index[2]) return -INFINITY;
    if (!mask) return 0;
    double m = at(mask, index[0], index[1], index[2], col);
    if (mask->dtype == MW_DTYPE_bool) return m != 0 ? 0 : -INFINITY;
    return m;
}

static double want_at(const op_run *run, const shape *c, const int64_t *index, double *ret_terms)
{
    int64_t kv = index[1] / (c->heads / c->shared);
    double score[600], top = -INFINITY, sum = 0, value = 0;
    *ret_terms = 0;
    for (int64_t s = 0; s < c->s; s++) {
        double dot = 0;
        for (int64_t e = 0; e < c->e; e++)
            dot += at(&run->in[0], index[0], index[1], index[2], e) *
                   at(&run->in[1], index[0], kv, s, e);
        score[s] = dot / sqrt((double)c->e) + masked(run, c, index, s);
        top = fmax(top, score[s]);
    }
    if (top == -INFINITY) return 0;
    for (int64_t s = 0; s < c->s; s++)
        sum += score[s] = exp(score[s] - top);
    for (int64_t s = 0; s < c->s; s++) {
        double term = score[s] / sum * at(&run->in[2], index[0], kv, s, index[3]);
        value += term, *ret_terms += fabs(term);
    }
    return value;
}

static void check(const op_run *run, const shape *c, const char *text)
{
    const mw_view *out = &run->out[0];
    assert_int_equal(mw__view_count(out), c->batch * c->heads * c->t * c->v);
    for (int64_t i = 0; i < mw__view_count(out); i++) {
        int64_t index[4] = {i / c->v / c->t / c->heads, i / c->v / c->t % c->heads, i / c->v % c->t,
                            i % c->v};
        double terms, want = want_at(run, c, index, &terms), got = op_run_get(out, i);
        double loose = op_run_epsilon(out->dtype) * fabs(want) +
                       (out->dtype == MW_DTYPE_f64 ? 1e-14 : 3e-6) * terms;
        if (!(fabs(got - want) <= loose))
            fail_msg("%s: element %lld is %.9g, not %.9g", text, LL(i), got, want);
    }
}

static void run_case(const shape *c, const char *dtype, const char *mask, uint64_t order)
{
    char text[300], part[100] = "none";
    op_run run;
    if (mask) snprintf(part, sizeof part, "%s", mask);
    snprintf(text, sizeof text,
             "%s[%lld, %lld, %lld, %lld], %s[%lld, %lld, %lld, %lld], %s[%lld, %lld, %lld, %lld], "
             "%s, is_causal=%s, enable_gqa=%s",
             dtype, LL(c->batch), LL(c->heads), LL(c->t), LL(c->e), dtype, LL(c->batch),
             LL(c->shared), LL(c->s), LL(c->e), dtype, LL(c->batch), LL(c->shared), LL(c->s),
             LL(c->v), part, c->causal ? "true" : "false",
             c->heads == c->shared ? "false" : "true");
    const mw_op *op = op_run_find("scaled_dot_product_attention");
    if (op_run_make(&run, op, text, seed + order, order) != MW_OK || op_run_kernel(&run) != MW_OK)
        fail_msg("%s: %s", text, mw_last_error()->says);
    check(&run, c, text);
    op_run_done(&run);
}

static void heads_and_groups(void **state)
{
    (void)state;
    static const shape cases[] = {
        {2, 4, 4, 5, 7, 8, 6, false},   {1, 9, 3, 1, 40, 64, 64, false},
        {2, 6, 2, 3, 5, 16, 16, false}, {1, 8, 1, 1, 9, 8, 8, false},
        {1, 4, 2, 20, 33, 8, 5, false}, {1, 20, 1, 1, 12, 8, 8, false},
        {1, 2, 2, 1, 1, 1, 1, false},   {2, 0, 0, 3, 4, 8, 8, false},
        {2, 2, 2, 0, 4, 8, 8, false},   {1, 2, 2, 3, 0, 8, 4, false},
        {1, 2, 1, 3, 4, 8, 0, false},
    };
    for (int i = 0; i < MW_COUNT(cases); i++)
        for (uint64_t order = 0; order < 5; order++) {
            run_case(&cases[i], "f32", NULL, order);
            run_case(&cases[i], "f64", NULL, order);
            run_case(&cases[i], "bf16", NULL, order);
            run_case(&cases[i], "f16", NULL, order);
        }
}

static void later_columns_are_hidden(void **state)
{
    (void)state;
    static const shape cases[] = {
        {1, 2, 2, 7, 7, 8, 8, true},     {1, 2, 1, 9, 5, 8, 8, true},   {1, 3, 1, 3, 9, 8, 8, true},
        {1, 2, 1, 140, 140, 8, 4, true}, {2, 4, 2, 20, 33, 4, 4, true}, {1, 1, 1, 1, 9, 4, 4, true},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        run_case(&cases[i], "f32", NULL, (uint64_t)i);
        run_case(&cases[i], "f64", NULL, 0);
    }
}

static void masks_are_added_or_hide(void **state)
{
    (void)state;
    const shape c = {2, 6, 2, 4, 9, 8, 8, false}, big = {1, 4, 2, 20, 530, 8, 4, false};
    static const char *const masks[] = {
        "f32[4, 9]",       "bool[4, 9]",       "f32[9]",          "bool[1, 1, 9]",
        "f32[4, 1]",       "f32[6, 4, 9]",     "bool[6, 1, 9]",   "f32[2, 1, 4, 9]",
        "f32[2, 6, 4, 9]", "bool[2, 1, 1, 9]", "f64[1, 6, 4, 9]", "bf16[4, 9]",
    };
    for (int i = 0; i < MW_COUNT(masks); i++) {
        run_case(&c, "f32", masks[i], 0);
        run_case(&c, "f32", masks[i], (uint64_t)i + 1);
    }
    run_case(&big, "f32", "bool[20, 530]", 0);
    run_case(&big, "f64", "f32[4, 20, 530]", 3);
}

static void a_row_that_sees_nothing_is_zero(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f32", "f64"};
    for (int i = 0; i < 2; i++) {
        char text[120];
        op_run run;
        snprintf(text, sizeof text, "%s[2, 9, 4], %s[2, 5, 4], %s[2, 5, 3], bool[9, 5]", dtypes[i],
                 dtypes[i], dtypes[i]);
        if (op_run_make(&run, op_run_find("scaled_dot_product_attention"), text, seed, 0) != MW_OK)
            fail();
        memset(run.in[3].data, 1, 45);
        memset((char *)run.in[3].data + 10, 0, 5);
        assert_int_equal(op_run_kernel(&run), MW_OK);
        for (int64_t j = 0; j < 54; j++)
            assert_true((op_run_get(&run.out[0], j) == 0) == (j / 3 % 9 == 2));
        op_run_done(&run);
    }
}

static void not_a_number_stays(void **state)
{
    (void)state;
    op_run run;
    if (op_run_make(&run, op_run_find("scaled_dot_product_attention"),
                    "f32[3, 4], f32[20, 4], f32[20, 2]", seed, 0) != MW_OK)
        fail();
    ((float *)run.in[0].data)[5] = NAN;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int64_t j = 0; j < 6; j++)
        assert_true(!isnan(op_run_get(&run.out[0], j)) == (j / 2 != 1));
    op_run_done(&run);
}

/* Keys and values are read where they lie: the first rows of a longer cache. */
static void a_step_reads_part_of_a_cache(void **state)
{
    (void)state;
    const shape c = {1, 6, 2, 1, 13, 8, 8, false};
    op_run run;
    if (op_run_make(&run, op_run_find("scaled_dot_product_attention"),
                    "f32[1, 6, 1, 8], f32[1, 2, 13, 8], f32[1, 2, 13, 8], enable_gqa=true", seed,
                    0) != MW_OK)
        fail();
    for (int i = 1; i < 3; i++) {
        float *cache = mw__arena_zalloc(&run.arena, 2 * 50 * 8 * sizeof *cache);
        for (int64_t h = 0; h < 2; h++)
            memcpy(cache + h * 50 * 8, (float *)run.in[i].data + h * 13 * 8,
                   13 * 8 * sizeof *cache);
        run.in[i].data = cache;
        run.in[i].stride[1] = 50 * 8;
    }
    assert_int_equal(op_run_kernel(&run), MW_OK);
    check(&run, &c, "a step");
    op_run_done(&run);
}

static void scale_can_be_given(void **state)
{
    (void)state;
    op_run run;
    if (op_run_make(&run, op_run_find("scaled_dot_product_attention"),
                    "f32[3, 4], f32[5, 4], f32[5, 2], scale=0", seed, 0) != MW_OK)
        fail();
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int64_t j = 0; j < 6; j++) { /* all columns weigh the same */
        double mean = 0;
        for (int64_t s = 0; s < 5; s++)
            mean += op_run_get(&run.in[2], s * 2 + j % 2) / 5;
        assert_true(fabs(op_run_get(&run.out[0], j) - mean) < 1e-6);
    }
    op_run_done(&run);
}

static void leading_dims_broadcast(void **state)
{
    (void)state;
    op_run run, same;
    const mw_op *op = op_run_find("scaled_dot_product_attention");
    if (op_run_make(&run, op, "f32[2, 3, 4, 8], f32[1, 3, 5, 8], f32[2, 1, 5, 8]", seed, 0) !=
        MW_OK)
        fail();
    if (op_run_make(&same, op, "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8]", seed, 0) !=
        MW_OK)
        fail();
    for (int i = 0; i < 3; i++) {
        same.in[i].data = run.in[i].data;
        for (int d = 0; d < 2; d++)
            if (run.in[i].shape[d] == 1) same.in[i].stride[d] = 0;
        if (i == 2) same.in[i].stride[0] = 40;
    }
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_int_equal(op_run_kernel(&same), MW_OK);
    assert_memory_equal(run.out[0].data, same.out[0].data, 2 * 3 * 4 * 8 * sizeof(float));
    op_run_done(&run);
    op_run_done(&same);
}

static void refuses(const char *text, mw_status code, const char *says)
{
    op_run run;
    mw_error_clear();
    mw_status status =
        op_run_make(&run, op_run_find("scaled_dot_product_attention"), text, seed, 0);
    op_run_done(&run);
    if (status != code || !strstr(mw_last_error()->says, says))
        fail_msg("%s: status %d, says: %s", text, status, mw_last_error()->says);
}

static void misfits_are_explained(void **state)
{
    (void)state;
    refuses("f32[2, 4], f32[3, 4], f32[3, 4], none, 0.1", MW_ERR_UNSUPPORTED, "dropout_p is 0.1");
    refuses("i64[2, 4], i64[3, 4], i64[3, 4]", MW_ERR_SHAPE, "all three must be floats");
    refuses("f32[4], f32[4], f32[4]", MW_ERR_SHAPE, "at least 2 dims");
    refuses("f32[1, 2, 4], f32[3, 4], f32[3, 4]", MW_ERR_SHAPE, "the same number of dims");
    refuses("f32[2, 4], f32[3, 5], f32[3, 4]", MW_ERR_SHAPE,
            "the last dims of query and key differ");
    refuses("f32[2, 4], f32[3, 4], f32[2, 4]", MW_ERR_SHAPE, "differ in length");
    refuses("f32[2, 4], f32[3, 4], f32[3, 4], f32[2, 3], is_causal=true", MW_ERR_ARG,
            "exclude each other");
    refuses("f32[2, 4], f32[3, 4], f32[3, 4], i64[2, 3]", MW_ERR_ARG, "attn_mask is of i64");
    refuses("f32[2, 4], f32[3, 4], f32[3, 4], f32[2, 2]", MW_ERR_SHAPE, "its dim 1 must be 1 or 3");
    refuses("f32[2, 4], f32[3, 4], f32[3, 4], f32[1, 2, 3]", MW_ERR_SHAPE, "but query has 2 dims");
    refuses("f32[4, 2, 8], f32[2, 3, 8], f32[2, 3, 8]", MW_ERR_SHAPE, "do not broadcast");
    refuses("f32[4, 2, 8], f32[3, 3, 8], f32[3, 3, 8], enable_gqa=true", MW_ERR_SHAPE,
            "not a multiple");
    refuses("f32[4, 2, 8], f32[2, 3, 8], f32[4, 3, 8], enable_gqa=true", MW_ERR_SHAPE,
            "differ in heads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_and_groups),
        cmocka_unit_test(later_columns_are_hidden),
        cmocka_unit_test(masks_are_added_or_hide),
        cmocka_unit_test(a_row_that_sees_nothing_is_zero),
        cmocka_unit_test(not_a_number_stays),
        cmocka_unit_test(a_step_reads_part_of_a_cache),
        cmocka_unit_test(scale_can_be_given),
        cmocka_unit_test(leading_dims_broadcast),
        cmocka_unit_test(misfits_are_explained),
    };
    print_message("seed %llu\n", LL(seed));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
