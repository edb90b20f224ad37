/* Norms and softmax against their definitions in double: within rounding of the dtype, whatever the
 * layout in memory, the length of a row or the instruction set. */
#include "op_run.h"
#include "ops/gemv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const uint64_t seed = 20241207;

#define LL(x) ((long long)(x))

static void make(op_run *run, const char *word, const char *text, uint64_t order)
{
    if (op_run_make(run, op_run_find(word), text, seed + order, order) != MW_OK)
        fail_msg("%s(%s): %s", word, text, mw_last_error()->says);
}

static void make_and_run(op_run *run, const char *word, const char *text, uint64_t order)
{
    make(run, word, text, order);
    if (op_run_kernel(run) != MW_OK) fail_msg("%s(%s): %s", word, text, mw_last_error()->says);
}

static void near(const mw_view *out, int64_t nth, double want, double slack, const char *text)
{
    double got = op_run_get(out, nth);
    if (out->dtype == MW_DTYPE_f16) slack += 0x1p-24; /* spacing of its subnormals */
    if (!(fabs(got - want) <= op_run_epsilon(out->dtype) * fabs(want) + slack))
        fail_msg("%s, seed %llu: element %lld is %.9g, not %.9g", text, LL(seed), LL(nth), got,
                 want);
}

/* ---- norms
 * --------------------------------------------------------------------------------------- */

typedef struct stats {
    double mean, scale;
} stats;

static stats stats_of(const mw_view *in, int64_t row, int64_t n, bool center, double eps)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; center && i < n; i++)
        sum += op_run_get(in, row * n + i);
    stats s = {center ? sum / (double)n : 0, 0};
    for (int64_t i = 0; i < n; i++)
        squares += pow(op_run_get(in, row * n + i) - s.mean, 2);
    s.scale = 1 / sqrt(squares / (double)n + eps);
    return s;
}

static void check_norm(const op_run *run, int64_t n, bool center, double eps, const char *text)
{
    const mw_call_args *call = &run->sample.call;
    int weight = mw__arg_operand(call, 2), bias = center ? mw__arg_operand(call, 3) : -1;
    const mw_view *in = &run->in[0], *out = &run->out[0];
    double small = in->dtype == MW_DTYPE_f64 ? 1e-14 : 1e-6;
    stats s = {0, 0};
    for (int64_t i = 0; i < mw__view_count(out); i++) {
        if (i % n == 0) s = stats_of(in, i / n, n, center, eps);
        double want = (op_run_get(in, i) - s.mean) * s.scale;
        double slack = small * (fabs(want) + fabs(s.mean) * s.scale);
        if (weight >= 0) {
            want *= op_run_get(&run->in[weight], i % n);
            slack *= fabs(op_run_get(&run->in[weight], i % n));
        }
        if (bias >= 0) {
            want += op_run_get(&run->in[bias], i % n);
            slack += small * fabs(op_run_get(&run->in[bias], i % n));
        }
        near(out, i, want, slack, text);
    }
    for (int64_t row = 0; run->rule.nout == 3 && row < mw__view_count(&run->out[1]); row++) {
        s = stats_of(in, row, n, center, eps);
        near(&run->out[1], row, s.mean, 1e-7, text);
        near(&run->out[2], row, s.scale, 1e-6 * s.scale, text);
    }
}

static void norms_are_their_definitions(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 7, 8, 15, 16, 33, 576, 1000};
    static const char *const dtypes[] = {"f32", "f64", "bf16", "f16"};
    for (int i = 0; i < MW_COUNT(sizes) * MW_COUNT(dtypes); i++) {
        int64_t n = sizes[i % MW_COUNT(sizes)];
        const char *t = dtypes[i / MW_COUNT(sizes)];
        uint64_t order = (uint64_t)(i % 5);
        char text[200];
        op_run run;
        snprintf(text, sizeof text, "%s[3, 2, %lld], [%lld], %s[%lld], 0.001", t, LL(n), LL(n), t,
                 LL(n));
        make_and_run(&run, "rms_norm", text, order);
        check_norm(&run, n, false, 0.001, text);
        op_run_done(&run);
        snprintf(text, sizeof text, "%s[3, 2, %lld], [2, %lld], %s[2, %lld], %s[2, %lld], 0.001", t,
                 LL(n), LL(n), t, LL(n), t, LL(n));
        make_and_run(&run, "native_layer_norm", text, order);
        check_norm(&run, 2 * n, true, 0.001, text);
        op_run_done(&run);
        snprintf(text, sizeof text, "%s[3, %lld], [%lld], none, %s[%lld]", t, LL(n), LL(n), t,
                 LL(n));
        make_and_run(&run, "layer_norm", text, order);
        check_norm(&run, n, true, 1e-5, text);
        op_run_done(&run);
    }
}

static void a_missing_eps_is_that_of_the_dtype(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[2, 5], [5]", "f64[2, 5], [5]", "bf16[2, 5], [5]",
                                        "f16[2, 5], [5]"};
    static const double eps[] = {FLT_EPSILON, DBL_EPSILON, 0x1p-7, 0x1p-10};
    for (int c = 0; c < 4; c++) {
        op_run run;
        make(&run, "rms_norm", cases[c], 0);
        mw_view *in = &run.in[0]; /* small numbers, of which eps is a large part */
        for (int64_t i = 0; i < 10; i++)
            mw__element_set((char *)in->data + op_run_offset(in, i), in->dtype,
                            sqrt(eps[c]) * (double)(i + 1) / 5);
        assert_int_equal(op_run_kernel(&run), MW_OK);
        check_norm(&run, 5, false, eps[c], cases[c]);
        op_run_done(&run);
    }
}

/* A large mean does not drown the deviation: the sums are in double. */
static void a_large_mean_is_taken_off_first(void **state)
{
    (void)state;
    op_run run;
    make(&run, "native_layer_norm", "f32[1, 64], [64], none, none, 0", 0);
    for (int i = 0; i < 64; i++)
        ((float *)run.in[0].data)[i] = 4096 + (float)(i % 2);
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int i = 0; i < 64; i++)
        assert_true(fabs(op_run_get(&run.out[0], i) - (i % 2 ? 1 : -1)) < 1e-6);
    op_run_done(&run);
}

/* ---- softmax
 * ------------------------------------------------------------------------------------- */

static void check_softmax(const op_run *run, int dim, const char *text)
{
    const mw_view *in = &run->in[0], *out = &run->out[0];
    int64_t inner = 1, n = in->shape[dim];
    for (int d = dim + 1; d < in->ndim; d++)
        inner *= in->shape[d];
    for (int64_t i = 0; i < mw__view_count(out); i++) {
        int64_t first = i - i / inner % n * inner;
        double top = -INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++)
            top = fmax(top, op_run_get(in, first + j * inner));
        for (int64_t j = 0; j < n; j++)
            sum += exp(op_run_get(in, first + j * inner) - top);
        double want = exp(op_run_get(in, i) - top) / sum;
        near(out, i, want, out->dtype == MW_DTYPE_f64 ? 1e-15 : 5e-7 * want + 2e-38, text);
    }
}

static void softmax_is_its_definition(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 5, 15, 16, 17, 64, 301};
    static const char *const dtypes[] = {"f32", "f64", "bf16", "f16"};
    for (int i = 0; i < MW_COUNT(sizes) * MW_COUNT(dtypes) * 3; i++) {
        int64_t shape[3] = {3, 2, 4};
        int dim = i % 3;
        char text[100];
        op_run run;
        shape[dim] = sizes[i / 3 % MW_COUNT(sizes)];
        snprintf(text, sizeof text, "%s[%lld, %lld, %lld], %d", dtypes[i / 3 / MW_COUNT(sizes)],
                 LL(shape[0]), LL(shape[1]), LL(shape[2]), i % 2 ? dim : dim - 3);
        make_and_run(&run, "softmax.int", text, (uint64_t)(i % 4));
        check_softmax(&run, dim, text);
        op_run_done(&run);
    }
}

static void softmax_spans_the_range_of_exp(void **state)
{
    (void)state;
    op_run run;
    make(&run, "_softmax", "f32[40], 0, false", 0);
    for (int i = 0; i < 40; i++)
        ((float *)run.in[0].data)[i] = 1000 - 2.5F * (float)i;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    check_softmax(&run, 0, "falling by 2.5");
    op_run_done(&run);
}

static void softmax_converts_first_where_asked(void **state)
{
    (void)state;
    op_run run;
    make_and_run(&run, "softmax.int", "i64[3, 9], 1, f32", 0);
    assert_int_equal(run.out[0].dtype, MW_DTYPE_f32);
    check_softmax(&run, 1, "integers");
    op_run_done(&run);
    make_and_run(&run, "softmax.int", "bf16[3, 9], 1, f32", 2);
    assert_int_equal(run.out[0].dtype, MW_DTYPE_f32);
    check_softmax(&run, 1, "widened");
    op_run_done(&run);
}

/* 1 where the row has an inf or only -inf or a NaN: everything is NaN. -inf alone is 0. */
static void softmax_of_what_is_not_finite(void **state)
{
    (void)state;
    static const float odd[] = {INFINITY, NAN, -INFINITY};
    for (int c = 0; c < 3; c++)
        for (int n = 3; n < 40; n += 17) {
            char text[40];
            op_run run;
            snprintf(text, sizeof text, "f32[%d], 0, false", n);
            make(&run, "_softmax", text, 0);
            ((float *)run.in[0].data)[n / 2] = odd[c];
            assert_int_equal(op_run_kernel(&run), MW_OK);
            for (int i = 0; i < n; i++) {
                double got = op_run_get(&run.out[0], i);
                bool fine = odd[c] == -INFINITY ? (got == 0) == (i == n / 2)
                                                : isnan(got) || (odd[c] == INFINITY && got == 0);
                if (!fine) fail_msg("%g among %d: element %d is %g", (double)odd[c], n, i, got);
            }
            op_run_done(&run);
        }
}

static void every_instruction_set_agrees(void **state)
{
    (void)state;
    const mw__row_kernels *sets[2];
    int count = mw__row_kernels_all(sets);
    for (int64_t n = 0; n < 70; n++) {
        float row[70], out[2][70], y[2][70];
        for (int64_t i = 0; i < n; i++)
            row[i] = (float)mw__random_normal(seed, (uint64_t)(n * 100 + i)) * 9;
        for (int s = 0; s < count; s++) {
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < n; i++)
                sum += (double)row[i], squares += pow((double)row[i] - 0.5, 2);
            assert_true(fabs(sets[s]->sum(row, n) - sum) < 1e-9);
            assert_true(fabs(sets[s]->sum_squares(row, n, 0.5) - squares) < 1e-9);
            memcpy(out[s], row, sizeof row);
            float top = sets[s]->softmax(out[s], n);
            for (int64_t i = 0; i < n; i++)
                assert_true(row[i] <= top);
            sets[s]->affine(y[s], row, 0.5F, 2, row, row, n);
            for (int64_t i = 0; i < n; i++) {
                assert_true(fabsf(out[s][i] - out[0][i]) <= 4e-7F * out[0][i] + 1e-37F);
                assert_true(y[s][i] == (row[i] - 0.5F) * 2 * row[i] + row[i]);
            }
        }
    }
}

/* ---- refusals
 * ------------------------------------------------------------------------------------ */

static void refuses(const char *word, const char *text, mw_status code, const char *says)
{
    op_run run;
    mw_error_clear();
    mw_status status = op_run_make(&run, op_run_find(word), text, seed, 0);
    op_run_done(&run);
    if (status != code || !strstr(mw_last_error()->says, says))
        fail_msg("%s(%s): status %d, says: %s", word, text, status, mw_last_error()->says);
}

static void misfits_are_explained(void **state)
{
    (void)state;
    refuses("rms_norm", "f32[4, 6], [5]", MW_ERR_SHAPE, "not the last dims of input f32[4, 6]");
    refuses("rms_norm", "f32[4, 6], [2, 4, 6]", MW_ERR_SHAPE, "normalized_shape has 3 dims");
    refuses("rms_norm", "f32[4, 6], [6], f32[4]", MW_ERR_SHAPE, "weight is f32[4]");
    refuses("rms_norm", "i64[4, 6], [6]", MW_ERR_ARG, "must be a float");
    refuses("native_layer_norm", "f32[4, 6], [6], f32[6], f32[1], 0.1", MW_ERR_SHAPE,
            "bias is f32[1]");
    refuses("_softmax", "f16[4, 6], 1, true", MW_ERR_UNSUPPORTED, "half_to_float is true");
    refuses("softmax.int", "i64[4, 6], 1", MW_ERR_UNSUPPORTED, "not defined for i64");
    refuses("softmax.int", "f32[4, 6], 2", MW_ERR_SHAPE, "dim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_are_their_definitions),
        cmocka_unit_test(a_missing_eps_is_that_of_the_dtype),
        cmocka_unit_test(a_large_mean_is_taken_off_first),
        cmocka_unit_test(softmax_is_its_definition),
        cmocka_unit_test(softmax_spans_the_range_of_exp),
        cmocka_unit_test(softmax_converts_first_where_asked),
        cmocka_unit_test(softmax_of_what_is_not_finite),
        cmocka_unit_test(every_instruction_set_agrees),
        cmocka_unit_test(misfits_are_explained),
    };
    print_message("seed %llu\n", LL(seed));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
