/* Kernels against loops over single elements, each written from what the op means: functions,
 * divisions, statistics, searches, arrangements, contractions, losses; and what they refuse. */
#include "op_run.h"

#include <math.h>
#include <stdio.h>

static op_run run;

static void make(const char *word, const char *sample)
{
    if (op_run_make(&run, op_run_find(word), sample, 7, 0) != MW_OK ||
        (run.op->kernel && op_run_kernel(&run) != MW_OK))
        fail_msg("%s(%s): %s", word, sample, mw_last_error()->says);
}

static double in(int operand, int64_t at)
{
    return op_run_get(&run.in[operand], at);
}

static double out(int result, int64_t at)
{
    return op_run_get(&run.out[result], at);
}

static void is(int result, int64_t at, double want)
{
    double got = out(result, at);
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= 1e-5 * (1 + fabs(want)))
        return;
    fail_msg("%s: element %lld of result %d is %.9g, not %.9g", run.op->schema, (long long)at,
             result, got, want);
}

/* Puts numbers into operand 0 of f32 and runs again. */
static void put(const float *value, int n)
{
    assert_int_equal(mw__view_count(&run.in[0]), n);
    memcpy(run.in[0].data, value, (size_t)n * sizeof *value);
    assert_int_equal(op_run_kernel(&run), MW_OK);
}

/* ---- element by element ---------------------------------------------------------------------- */

static void each(const char *word, const char *sample, double (*f)(double))
{
    make(word, sample);
    for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
        is(0, i, f(in(0, i)));
    op_run_done(&run);
}

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static double square(double x)
{
    return x * x;
}

static double half_slope(double x)
{
    return x > 0 ? x : x / 2;
}

static double soft(double x)
{
    return log(1 + exp(x));
}

static double middle(double x)
{
    return fmin(fmax(x, -0.5), 0.25);
}

static void test_functions(void **state)
{
    (void)state;
    each("erf", "f32[40]", erf);
    each("expm1", "f64[40]", expm1);
    each("log1p", "f32[40]>0", log1p);
    each("log2", "f32[40]>0", log2);
    each("floor", "f32[40]", floor);
    each("ceil", "f64[40]", ceil);
    each("trunc", "f32[40]", trunc);
    each("round", "f32[40]", rint);
    each("sign", "f32[40]", sign);
    each("square", "i64[40]", square);
    each("leaky_relu", "f32[40], 0.5", half_slope);
    each("softplus", "f32[40]", soft);
    each("clamp", "f32[40], -0.5, 0.25", middle);
}

static void test_special_numbers(void **state)
{
    (void)state;
    const float special[] = {NAN, INFINITY, -INFINITY, -0.5f, 2.5f, 3.5f};
    make("clamp", "f32[6], 0, 1");
    put(special, 6);
    const double clamped[] = {NAN, 1, 0, 0, 1, 1};
    for (int i = 0; i < 6; i++)
        is(0, i, clamped[i]);
    op_run_done(&run);
    make("round", "f32[6]");
    put(special, 6);
    const double rounded[] = {NAN, INFINITY, -INFINITY, 0, 2, 4}; /* halves to the even one */
    for (int i = 0; i < 6; i++)
        is(0, i, rounded[i]);
    op_run_done(&run);
    const struct {
        const char *word;
        double truth[6];
    } tests[] = {{"isnan", {1, 0, 0, 0, 0, 0}}, {"isinf", {0, 1, 1, 0, 0, 0}}};
    for (int t = 0; t < 2; t++) {
        make(tests[t].word, "f32[6]");
        put(special, 6);
        for (int i = 0; i < 6; i++)
            is(0, i, tests[t].truth[i]);
        op_run_done(&run);
    }
}

/* Quotient and remainder of integers, and of floats, go together. */
static void test_divisions(void **state)
{
    (void)state;
    static const int a[] = {7, -7, 7, -7, 6, -6}, b[] = {2, 2, -2, -2, 3, 3};
    static const int floors[] = {3, -4, -4, 3, 2, -2}, rests[] = {1, 1, -1, -1, 0, 0};
    static const int truncs[] = {3, -3, -3, 3, 2, -2};
    static const struct {
        const char *word, *more;
        const int *want;
    } ops[] = {{"floor_divide", "", floors},
               {"remainder", "", rests},
               {"div_tensor_mode", ", \"trunc\"", truncs},
               {"div_tensor_mode", ", \"floor\"", floors}};
    for (int o = 0; o < MW_COUNT(ops); o++)
        for (int is_float = 0; is_float < 2; is_float++) {
            char sample[64];
            (void)snprintf(sample, sizeof sample, "%s[6]>0, %s[6]>0%s", is_float ? "f32" : "i64",
                           is_float ? "f32" : "i64", ops[o].more);
            make(ops[o].word, sample);
            for (int i = 0; i < 6; i++) {
                mw_dtype dtype = run.in[0].dtype;
                int64_t size = mw_dtype_size(dtype);
                mw__element_set((char *)run.in[0].data + i * size, dtype, a[i]);
                mw__element_set((char *)run.in[1].data + i * size, dtype, b[i]);
            }
            assert_int_equal(op_run_kernel(&run), MW_OK);
            for (int i = 0; i < 6; i++)
                is(0, i, ops[o].want[i]);
            op_run_done(&run);
        }
    assert_int_equal(op_run_make(&run, op_run_find("floor_divide"), "i64[2], i64[2]<1", 1, 0),
                     MW_OK);
    assert_int_equal(op_run_kernel(&run), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->says, "divided by 0"));
    op_run_done(&run);
}

static void test_blends(void **state)
{
    (void)state;
    make("addcmul", "f32[9], f32[9], f32[9], 3");
    for (int i = 0; i < 9; i++)
        is(0, i, in(0, i) + 3 * in(1, i) * in(2, i));
    op_run_done(&run);
    make("addcdiv", "f32[9], f32[9], f32[9]>0, 3");
    for (int i = 0; i < 9; i++)
        is(0, i, in(0, i) + 3 * in(1, i) / in(2, i));
    op_run_done(&run);
    make("lerp", "f32[9], f32[9], f32[9]<1");
    for (int i = 0; i < 9; i++)
        is(0, i, in(0, i) + in(2, i) * (in(1, i) - in(0, i)));
    op_run_done(&run);
    make("rsub_scalar", "f32[9], 5, 2");
    for (int i = 0; i < 9; i++)
        is(0, i, 5 - 2 * in(0, i));
    op_run_done(&run);
}

/* ---- reductions of [5, 7] along dim 1 --------------------------------------------------------
 */

typedef double reduction(const double *x, int n);

static void along(const char *word, const char *more, reduction *f)
{
    char sample[64];
    (void)snprintf(sample, sizeof sample, "f32[5, 7]%s", more);
    make(word, sample);
    for (int r = 0; r < 5; r++) {
        double x[7];
        for (int i = 0; i < 7; i++)
            x[i] = in(0, r * 7 + i);
        is(0, r, f(x, 7));
    }
    op_run_done(&run);
}

static double var_of(const double *x, int n)
{
    double mean = 0, sum = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (n - 1);
}

static double std_of(const double *x, int n)
{
    return sqrt(var_of(x, n));
}

static double norm_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += pow(fabs(x[i]), 3);
    return cbrt(sum);
}

static double most_of(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static double product_of(const double *x, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= x[i];
    return product;
}

static double lse_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += exp(x[i]);
    return log(sum);
}

static double argmin_of(const double *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] < x[best]) best = i;
    return best;
}

static void test_reductions(void **state)
{
    (void)state;
    along("var_correction", ", [1]", var_of);
    along("std_correction", ", [1]", std_of);
    along("linalg_vector_norm", ", 3, [1]", norm_of);
    along("norm_scalaropt_dim", ", inf, [1]", most_of);
    along("prod_dim_int", ", 1", product_of);
    along("logsumexp", ", [1]", lse_of);
    along("argmin", ", 1", argmin_of);
    make("any_dim", "f32[1, 3], 1");
    put((const float[]){0, 0.25f, 0}, 3); /* a fraction is not 0 */
    is(0, 0, 1);
    op_run_done(&run);
    make("all", "f32[3]");
    put((const float[]){1, NAN, 0.5f}, 3); /* nor is NaN */
    is(0, 0, 1);
    put((const float[]){1, 0, 1}, 3);
    is(0, 0, 0);
    op_run_done(&run);
}

/* ---- searches: NaN above all, the first of equal ones ----------------------------------------
 */

static void test_searches(void **state)
{
    (void)state;
    const float x[] = {2, 5, 1, 5, 1}, nan[] = {2, NAN, 1, NAN, 7};
    static const struct {
        const char *word, *sample;
        double value, place, nan_place;
    } ops[] = {{"max_dim", "f32[5], 0", 5, 1, 1}, {"min_dim", "f32[5], 0", 1, 2, 1}};
    for (int i = 0; i < 2; i++) {
        make(ops[i].word, ops[i].sample);
        put(x, 5);
        is(0, 0, ops[i].value);
        is(1, 0, ops[i].place);
        put(nan, 5);
        is(0, 0, NAN);
        is(1, 0, ops[i].nan_place);
        op_run_done(&run);
    }
    static const double rising[] = {2, 4, 0, 1, 3}, falling[] = {1, 3, 0, 2, 4};
    for (int descending = 0; descending < 2; descending++) {
        make("sort", descending ? "f32[5], 0, true" : "f32[5], 0");
        put(x, 5);
        for (int i = 0; i < 5; i++) {
            int place = (int)(descending ? falling[i] : rising[i]);
            is(0, i, (double)x[place]);
            is(1, i, place);
        }
        op_run_done(&run);
    }
    make("argsort", "f32[5], 0");
    put(nan, 5); /* NaN is last */
    const double order[] = {2, 0, 4, 1, 3};
    for (int i = 0; i < 5; i++)
        is(0, i, order[i]);
    op_run_done(&run);
    make("cumsum", "f32[4, 3], 0");
    for (int i = 0; i < 12; i++) {
        double sum = 0;
        for (int r = 0; r <= i / 3; r++)
            sum += in(0, r * 3 + i % 3);
        is(0, i, sum);
    }
    op_run_done(&run);
}

/* ---- arrangements of [3, 4] ------------------------------------------------------------------
 */

static void test_arrangements(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        static const struct {
            const char *word, *sample;
        } ops[] = {{"flip", "f32[3, 4], [1]"},
                   {"roll", "f32[3, 4], [1], [1]"},
                   {"tril", "f32[3, 4], 1"},
                   {"triu", "f32[3, 4], 1"}};
        make(ops[which].word, ops[which].sample);
        for (int i = 0; i < 12; i++) {
            int r = i / 4, c = i % 4;
            double want = in(0, r * 4 + (which == 0 ? 3 - c : (c + 3) % 4));
            if (which == 2) want = c - r <= 1 ? in(0, i) : 0;
            if (which == 3) want = c - r >= 1 ? in(0, i) : 0;
            is(0, i, want);
        }
        op_run_done(&run);
    }
    make("repeat", "f32[3, 4], [2, 1, 2]");
    assert_int_equal(run.out[0].ndim, 3);
    for (int i = 0; i < 48; i++)
        is(0, i, in(0, i / 8 % 3 * 4 + i % 4));
    op_run_done(&run);
    make("constant_pad_nd", "f32[3, 4], [1, -1, 0, 1], 9");
    for (int i = 0; i < 16; i++)
        is(0, i, i / 4 == 3 || i % 4 == 0 ? 9 : in(0, i - 1));
    op_run_done(&run);
    make("one_hot", "i64[4]<3, 3");
    for (int i = 0; i < 12; i++)
        is(0, i, i % 3 == in(0, i / 3));
    op_run_done(&run);
}

/* ---- contractions and losses ----------------------------------------------------------------- */

static void test_einsum(void **state)
{
    (void)state;
    make("einsum", "\"abcx,bdcy->bda\", {f32[2, 3, 4, 2], f32[3, 5, 4, 2]}"); /* x, y alone */
    for (int i = 0; i < 30; i++) {
        int b = i / 10, d = i / 2 % 5, a = i % 2;
        double sum = 0;
        for (int c = 0; c < 4; c++)
            for (int xy = 0; xy < 4; xy++)
                sum += in(0, ((a * 3 + b) * 4 + c) * 2 + xy / 2) *
                       in(1, ((b * 5 + d) * 4 + c) * 2 + xy % 2);
        is(0, i, sum);
    }
    op_run_done(&run);
    make("einsum", "\"ba,ca\", {f32[2, 3], f32[4, 3]}"); /* the result is bc */
    assert_int_equal(run.out[0].shape[0], 2);
    for (int i = 0; i < 8; i++) {
        double sum = 0;
        for (int a = 0; a < 3; a++)
            sum += in(0, i / 4 * 3 + a) * in(1, i % 4 * 3 + a);
        is(0, i, sum);
    }
    op_run_done(&run);
}

static void test_losses(void **state)
{
    (void)state;
    make("cross_entropy_loss", "f32[6, 5], i64[6]<5, f32[5]>0, 1, 3");
    double total = 0, weights = 0;
    for (int r = 0; r < 6; r++) {
        int t = (int)in(1, r);
        double sum = 0;
        for (int c = 0; c < 5; c++)
            sum += exp(in(0, r * 5 + c));
        if (t == 3) continue; /* ignored */
        total += in(2, t) * (log(sum) - in(0, r * 5 + t));
        weights += in(2, t);
    }
    is(0, 0, total / weights);
    op_run_done(&run);
    make("mse_loss", "f32[4, 6], f32[6]");
    total = 0;
    for (int i = 0; i < 24; i++)
        total += square(in(0, i) - in(1, i % 6)) / 24;
    is(0, 0, total);
    op_run_done(&run);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refused(const char *word, const char *sample, const char *says)
{
    mw_error_clear();
    mw_status status = op_run_make(&run, op_run_find(word), sample, 1, 0);
    if (status == MW_OK) status = op_run_kernel(&run);
    if (status == MW_OK || !strstr(mw_last_error()->says, says))
        fail_msg("%s(%s): '%s' does not say '%s'", word, sample, mw_last_error()->says, says);
    op_run_done(&run);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("clamp", "f32[3]", "at least one of 'min' and 'max'");
    refused("bitwise_and", "f32[3], f32[3]", "has no bits");
    refused("leaky_relu", "i64[3]", "must hold floats");
    refused("div_tensor_mode", "f32[3], f32[3], \"up\"", "'floor', 'trunc' or None");
    refused("dropout", "f32[3], 0.5, true", "random numbers are not supported");
    refused("var_correction", "i64[3], [0]", "must hold floats");
    refused("linalg_vector_norm", "f32[3, 0], inf, [1]", "of no elements");
    refused("repeat", "f32[3, 4], [2]", "argument 'repeats'");
    refused("tril", "f32[3]", "at least 2 dims");
    refused("roll", "f32[3], [1, 2], [0]", "2 shifts for 1 dims");
    refused("constant_pad_nd", "f32[3], [-2, -2]", "cannot be padded");
    refused("one_hot", "i64[3]", "cannot depend on data");
    refused("one_hot", "i64[3]in(5,9), 4", "is outside of 0 to 3");
    refused("einsum", "\"ii,ij->j\", {f32[2, 2], f32[2, 2]}", "diagonals are not supported");
    refused("einsum", "\"ij,jk->iz\", {f32[2, 2], f32[2, 2]}", "no operand has");
    refused("einsum", "\"i\", {f32[2]}", "exactly two are supported");
    refused("cross_entropy_loss", "f32[3, 5], i64[4]<5", "their sizes differ");
    refused("cross_entropy_loss", "f32[3, 5], i64[3]in(5,9)", "outside of the 5 classes");
    refused("cross_entropy_loss", "f32[3, 5], i64[3]<5, none, 1, -100, 0.1", "label_smoothing");
    refused("mse_loss", "f32[3], f32[3], 3", "argument 'reduction' is 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),    cmocka_unit_test(test_special_numbers),
        cmocka_unit_test(test_divisions),    cmocka_unit_test(test_blends),
        cmocka_unit_test(test_reductions),   cmocka_unit_test(test_searches),
        cmocka_unit_test(test_arrangements), cmocka_unit_test(test_einsum),
        cmocka_unit_test(test_losses),       cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
