/* Element-wise ops against one formula per op in double, on each op's own samples and longer ones,
 * in several memory orders; then the values on which formulas go wrong: NaN, infinities, signed
 * zeros, wraparound. Seeds are fixed and printed. */
#include "op_run.h"

#include "ops/elementwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 20 };

/* x: the operands' elements; s: the Scalars in schema order, with their defaults. */
typedef double (*formula)(const double *x, const double *s);

#define FORMULA(name, expression)                        \
    static double name(const double *x, const double *s) \
    {                                                    \
        (void)x, (void)s;                                \
        return expression;                               \
    }

FORMULA(f_add, x[0] + s[0] * x[1])
FORMULA(f_add_scalar, x[0] + s[0] * s[1])
FORMULA(f_sub, x[0] - s[0] * x[1])
FORMULA(f_sub_scalar, x[0] - s[0] * s[1])
FORMULA(f_mul, x[0] * x[1])
FORMULA(f_mul_scalar, x[0] * s[0])
FORMULA(f_div, x[0] / x[1])
FORMULA(f_div_scalar, x[0] / s[0])
FORMULA(f_pow, pow(x[0], x[1]))
FORMULA(f_pow_scalar, pow(x[0], s[0]))
FORMULA(f_maximum, x[0] > x[1] ? x[0] : x[1])
FORMULA(f_minimum, x[0] < x[1] ? x[0] : x[1])
FORMULA(f_neg, -x[0])
FORMULA(f_abs, fabs(x[0]))
FORMULA(f_relu, x[0] > 0 ? x[0] : 0)
FORMULA(f_exp, exp(x[0]))
FORMULA(f_log, log(x[0]))
FORMULA(f_sqrt, sqrt(x[0]))
FORMULA(f_rsqrt, 1 / sqrt(x[0]))
FORMULA(f_reciprocal, 1 / x[0])
FORMULA(f_sin, sin(x[0]))
FORMULA(f_cos, cos(x[0]))
FORMULA(f_tanh, tanh(x[0]))
FORMULA(f_sigmoid, 1 / (1 + exp(-x[0])))
FORMULA(f_silu, x[0] / (1 + exp(-x[0])))
FORMULA(f_gelu, s[0] != 0
                    ? 0.5 * x[0] * (1 + tanh(sqrt(2 / acos(-1)) * (x[0] + 0.044715 * pow(x[0], 3))))
                    : 0.5 * x[0] * erfc(-x[0] / sqrt(2)))
FORMULA(f_eq, x[0] == x[1])
FORMULA(f_ne, x[0] != x[1])
FORMULA(f_lt, x[0] < x[1])
FORMULA(f_le, x[0] <= x[1])
FORMULA(f_gt, x[0] > x[1])
FORMULA(f_ge, x[0] >= x[1])
FORMULA(f_eq_scalar, x[0] == s[0])
FORMULA(f_ne_scalar, x[0] != s[0])
FORMULA(f_lt_scalar, x[0] < s[0])
FORMULA(f_le_scalar, x[0] <= s[0])
FORMULA(f_gt_scalar, x[0] > s[0])
FORMULA(f_ge_scalar, x[0] >= s[0])
FORMULA(f_where, x[0] != 0 ? x[1] : x[2])
FORMULA(f_masked_fill, x[1] != 0 ? s[0] : x[0])

typedef struct row {
    const char *word;
    formula formula;
    double ulps;      /* allowed, of the result's dtype */
    const char *more; /* samples beyond the op's own */
} row;

#define LONG1 "f32[3, 1000]; f32[777]; bf16[600]; f16[2, 300]; f64[300]"
#define LONG2                                                                                     \
    "f32[3, 1000], f32[3, 1000]; f32[5, 77], f32[5, 1]; f32[5, 1], f32[5, 77]; f32[], f32[600]; " \
    "bf16[2, 300], bf16[300]; f32[3, 1, 4, 1], f32[2, 1, 5]; f64[300], f32[300]; u8[4, 5], "      \
    "i32[5]; "                                                                                    \
    "f16[7, 33], bf16[7, 33]; f32[3, 1], f32[3, 1]; bool[4, 5], i8[5]; i16[300], i16[300]"
#define LONG_POSITIVE                                                                    \
    "f32[3, 1000]>0, f32[3, 1000]>0; f32[5, 77], f32[5, 1]>0; f32[5, 1], f32[5, 77]>0; " \
    "bf16[2, 300], bf16[300]>0; f64[300], f32[300]>0; f16[7, 33], bf16[7, 33]>0"
#define COMPARE        "i64[300]<5, i64[300]<5; f32[3, 500]<2, f32[500]<2; u8[7, 9]<4, f32[9]<4; " LONG2
#define COMPARE_SCALAR "f32[3, 333], 0; i32[300]<5, 3; bf16[200], -0.5"

static const row rows[] = {
    {"add", f_add, 1, LONG2 "; f32[300], f32[300], -1.5; f16[5], f32[], 3; i32[9], i32[9], -2"},
    {"sub", f_sub, 1,
     "f32[3, 1000], f32[3, 1000]; f32[5, 77], f32[5, 1]; f64[300], f32[300], -0.25; u8[4, 5], "
     "i32[5]"},
    {"add_scalar", f_add_scalar, 2, "f32[3, 1000], 0.5, 3; i16[40], 1000, 3"},
    {"sub_scalar", f_sub_scalar, 2, "f32[3, 1000], 0.5, 3; i16[40], 1000, 3"},
    {"mul", f_mul, 1, LONG2},
    {"mul_scalar", f_mul_scalar, 1, "f32[3, 1000], -3; f16[600], 0.5"},
    {"div", f_div, 1, LONG_POSITIVE "; i64[40], i64[40]>0; bool[5], u8[5]>0"},
    {"div_scalar", f_div_scalar, 1, "f32[3, 1000], -3; f16[600], 7; bool[4], 2"},
    {"pow_tensor_tensor", f_pow, 2, "f32[3, 300]>0, f32[300]; i32[30], i32[30]in(0,4)"},
    {"pow_tensor_scalar", f_pow_scalar, 4,
     "f32[333], 2; f32[333], 3; f64[9], -1; f32[20]>0, -0.5; f32[20], -2; f32[20]>0, 0.5; "
     "f32[20]>0, 1.3; i32[30], 5; bf16[300], 3; i64[4], 0.5"},
    {"maximum", f_maximum, 0.5, LONG2},
    {"minimum", f_minimum, 0.5, LONG2},
    {"neg", f_neg, 0.5, LONG1 "; i8[300]"},
    {"abs", f_abs, 0.5, LONG1 "; i8[300]"},
    {"relu", f_relu, 0.5, LONG1 "; i8[300]"},
    {"exp", f_exp, 2, LONG1},
    {"log", f_log, 2, "f32[3, 1000]>0; bf16[600]>0"},
    {"sqrt", f_sqrt, 1, "f32[3, 1000]>0; bf16[600]>0"},
    {"rsqrt", f_rsqrt, 2, "f32[3, 1000]>0; bf16[600]>0"},
    {"reciprocal", f_reciprocal, 1, "f32[3, 1000]>0; bf16[600]>0"},
    {"sin", f_sin, 2, LONG1},
    {"cos", f_cos, 2, LONG1},
    {"tanh", f_tanh, 4, LONG1},
    {"sigmoid", f_sigmoid, 4, LONG1},
    {"silu", f_silu, 4, LONG1},
    {"gelu", f_gelu, 20, LONG1 "; f32[3, 1000], \"tanh\""},
    {"eq", f_eq, 0, COMPARE},
    {"ne", f_ne, 0, COMPARE},
    {"lt", f_lt, 0, COMPARE},
    {"le", f_le, 0, COMPARE},
    {"gt", f_gt, 0, COMPARE},
    {"ge", f_ge, 0, COMPARE},
    {"eq_scalar", f_eq_scalar, 0, COMPARE_SCALAR},
    {"ne_scalar", f_ne_scalar, 0, COMPARE_SCALAR},
    {"lt_scalar", f_lt_scalar, 0, COMPARE_SCALAR},
    {"le_scalar", f_le_scalar, 0, COMPARE_SCALAR},
    {"gt_scalar", f_gt_scalar, 0, COMPARE_SCALAR},
    {"ge_scalar", f_ge_scalar, 0, COMPARE_SCALAR},
    {"where_self", f_where, 0.5,
     "bool[3, 400], f32[400], f32[3, 1]; bool[300], bf16[300], f32[]; bool[2, 3], i64[3], bool[2, "
     "1]; "
     "bool[3, 1], i32[2, 3, 4], i32[4]; u8[5]<2, f32[5], f64[5]"},
    {"masked_fill_scalar", f_masked_fill, 0.5,
     "f32[3, 400], bool[3, 1], 7; bf16[300], bool[300], -2"},
};

/* Numbers among the static arguments; a string counts as "is it tanh". */
static void scalars_of(const mw_call_args *call, double *ret)
{
    int n = 0;
    for (int a = 0; a < call->narg; a++) {
        const mw_arg *arg = &call->arg[a];
        if (arg->kind == MW_ARG_INT || arg->kind == MW_ARG_BOOL) ret[n++] = (double)arg->i;
        if (arg->kind == MW_ARG_FLOAT) ret[n++] = arg->f;
        if (arg->kind == MW_ARG_STR) ret[n++] = strcmp(arg->s, "tanh") == 0;
    }
}

/* Terms that cancel leave the rounding of the larger one, hence `scale`. */
static void check_element(const op_run *run, const row *r, const char *sample, int64_t nth)
{
    double x[3] = {0}, s[4] = {1, 1, 1, 1}, scale = 0;
    const mw_view *out = &run->out[0];
    scalars_of(&run->sample.call, s);
    for (int i = 0; i < run->sample.call.nin; i++) {
        x[i] = op_run_get_broadcast(&run->in[i], out, nth);
        scale = fmax(scale, fabs(x[i]));
    }
    double want = r->formula(x, s), got = op_run_get(out, nth);
    bool cancels = strstr(r->word, "add") || strstr(r->word, "sub");
    bool is_float = mw_dtype_kind_of(out->dtype) == MW_KIND_FLOAT;
    if (is_float) { /* what the formula's result is in the result's dtype */
        double rounded;
        char element[8];
        mw__element_set(element, out->dtype, want);
        rounded = mw__element_get(element, out->dtype);
        if (got == rounded || (isnan(got) && isnan(want))) return;
    } else { /* integers wrap, truth is 0 or 1 */
        char element[8];
        mw__element_set(element, out->dtype, want);
        want = mw__element_get(element, out->dtype);
    }
    double unit =
        is_float ? op_run_epsilon(out->dtype) * (fabs(want) + (cancels ? 4 * scale : 0)) : 0;
    if (fabs(got - want) <= r->ulps * unit) return;
    fail_msg("%s(%s) element %lld: got %.17g, want %.17g (of %.17g, %.17g, %.17g)", r->word, sample,
             (long long)nth, got, want, x[0], x[1], x[2]);
}

static void check_sample(const row *r, const char *sample)
{
    static const uint64_t picks[] = {0, 1, 2, 3, 12, 45};
    for (int p = 0; p < MW_COUNT(picks); p++) {
        op_run run;
        if (op_run_make(&run, op_run_find(r->word), sample, SEED + picks[p], picks[p]) != MW_OK ||
            op_run_kernel(&run) != MW_OK)
            fail_msg("%s(%s): %s", r->word, sample, mw_last_error()->says);
        for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
            check_element(&run, r, sample, i);
        op_run_done(&run);
    }
}

static void check_text(const row *r, const char *samples)
{
    char sample[128];
    mw_op op = {.samples = samples};
    for (int n = 0; n < mw__sample_count(samples); n++)
        check_sample(r, op_run_sample(&op, n, sample, sizeof sample));
}

static void test_formulas(void **state)
{
    (void)state;
    print_message("seed %d\n", SEED);
    for (int i = 0; i < MW_COUNT(rows); i++) {
        check_text(&rows[i], op_run_find(rows[i].word)->samples);
        if (rows[i].more) check_text(&rows[i], rows[i].more);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* One f32 op on one or two f32 rows, by its kernel. */
static void run_f32(const char *word, const char *args, const float *a, const float *b, float *out,
                    int64_t n)
{
    op_run run;
    char sample[64];
    (void)snprintf(sample, sizeof sample, "f32[%d]%s%s", (int)n, b ? ", f32[1]" : "", args);
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    run.in[0].data = (void *)(uintptr_t)a;
    if (b) run.in[1] = run.in[0], run.in[1].data = (void *)(uintptr_t)b;
    run.out[0].data = out;
    run.out[0].shape[0] = n;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    op_run_done(&run);
}

static double ulp_of(double value)
{
    float f = fabsf((float)value);
    if (f < 0x1p-126f) return 0x1p-149;
    return (double)(nextafterf(f, INFINITY) - f);
}

typedef struct accuracy {
    const char *word;
    double (*exact)(double);
    double low, high, ulps;
} accuracy;

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_silu(double x)
{
    return x / (1 + exp(-x));
}

static double exact_gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2));
}

/* Every 997th float of a range. */
static void check_accuracy(const accuracy *a)
{
    enum { N = 1024 };
    float x[N], y[N];
    double worst = 0, at = 0;
    uint32_t bits = 0;
    for (bool more = true; more;) {
        int n = 0;
        while (n < N && more) {
            float value = mw__float_of_bits(bits);
            if ((double)value >= a->low && (double)value <= a->high) x[n++] = value;
            more = bits + 997 > bits;
            bits += 997;
        }
        if (n == 0) continue;
        run_f32(a->word, "", x, NULL, y, n);
        for (int i = 0; i < n; i++) {
            double want = a->exact((double)x[i]);
            double error = fabs((double)y[i] - want) / ulp_of(want);
            if (error > worst) worst = error, at = (double)x[i];
        }
    }
    print_message("%s: at most %.2f ulp (at %.9g)\n", a->word, worst, at);
    if (worst > a->ulps) fail_msg("%s(%.9g) is off by %.3f ulp", a->word, at, worst);
}

static void test_fast_functions_are_accurate(void **state)
{
    (void)state;
    static const accuracy cases[] = {{"exp", exp, -104, 88.72, 2},
                                     {"tanh", tanh, -20, 20, 4},
                                     {"sigmoid", exact_sigmoid, -87, 20, 4},
                                     {"silu", exact_silu, -87, 20, 4},
                                     {"gelu", exact_gelu, -12, 12, 8}};
    for (int i = 0; i < MW_COUNT(cases); i++)
        check_accuracy(&cases[i]);
}

static void test_both_builds_give_the_same_bits(void **state)
{
    (void)state;
    enum { N = 1003 };
    float x[N], fast[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i - 500) * 0.137f;
    run_f32("exp", "", x, NULL, fast, N);
    for (int i = 0; i < N; i++)
        assert_true(mw__bits_of_float(fast[i]) == mw__bits_of_float(mw__exp_f32(x[i])));
    run_f32("tanh", "", x, NULL, fast, N);
    for (int i = 0; i < N; i++)
        assert_true(mw__bits_of_float(fast[i]) == mw__bits_of_float(mw__tanh_f32(x[i])));
}

typedef struct special {
    const char *word;
    float a, b, want;
} special;

#define INF INFINITY

static const special specials[] = {
    {"exp", NAN, 0, NAN},
    {"exp", INF, 0, INF},
    {"exp", -INF, 0, 0},
    {"exp", 89, 0, INF},
    {"exp", -103.9f, 0, 0x1p-149f},
    {"exp", -200, 0, 0},
    {"exp", 1e30f, 0, INF},
    {"exp", -0.0f, 0, 1},
    {"tanh", NAN, 0, NAN},
    {"tanh", INF, 0, 1},
    {"tanh", -INF, 0, -1},
    {"tanh", -0.0f, 0, -0.0f},
    {"sigmoid", -INF, 0, 0},
    {"sigmoid", INF, 0, 1},
    {"sigmoid", NAN, 0, NAN},
    {"silu", INF, 0, INF},
    {"silu", NAN, 0, NAN},
    {"relu", NAN, 0, NAN},
    {"relu", -INF, 0, 0},
    {"relu", INF, 0, INF},
    {"abs", -0.0f, 0, 0},
    {"neg", 0, 0, -0.0f},
    {"sqrt", -1, 0, NAN},
    {"log", 0, 0, -INF},
    {"log", -1, 0, NAN},
    {"rsqrt", 0, 0, INF},
    {"reciprocal", 0, 0, INF},
    {"gelu", NAN, 0, NAN},
    {"gelu", INF, 0, INF},
    {"maximum", NAN, 1, NAN},
    {"maximum", 1, NAN, NAN},
    {"maximum", -INF, 1, 1},
    {"minimum", NAN, 1, NAN},
    {"minimum", 1, NAN, NAN},
    {"minimum", INF, 1, 1},
    {"div", 1, 0, INF},
    {"div", -1, 0, -INF},
    {"div", 0, 0, NAN},
    {"mul", 0, INF, NAN},
    {"add", INF, -INF, NAN},
    {"add", -0.0f, -0.0f, -0.0f},
};

/* Each in a row of 41, so that blocks and ends see it. */
static void test_special_values(void **state)
{
    (void)state;
    for (int c = 0; c < MW_COUNT(specials); c++) {
        enum { N = 41 };
        float a[N], b[N], out[N];
        const special *s = &specials[c];
        bool two = strlen(s->word) == 3 ? strcmp(s->word, "exp") && strcmp(s->word, "abs") &&
                                              strcmp(s->word, "neg") && strcmp(s->word, "log")
                                        : strstr(s->word, "imum") != NULL;
        for (int i = 0; i < N; i++)
            a[i] = s->a, b[i] = s->b;
        run_f32(s->word, "", a, two ? b : NULL, out, N);
        for (int i = 0; i < N; i++)
            if (isnan(s->want) ? !isnan(out[i])
                               : out[i] != s->want || signbit(out[i]) != signbit(s->want))
                fail_msg("%s(%g, %g)[%d] is %g, not %g", s->word, (double)s->a, (double)s->b, i,
                         (double)out[i], (double)s->want);
    }
}

static void run_i64(const char *word, const char *sample, int64_t a, int64_t b, int64_t *out)
{
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    *(int64_t *)run.in[0].data = a;
    if (run.sample.call.nin > 1) *(int64_t *)run.in[1].data = b;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    memcpy(out, run.out[0].data, (size_t)mw_dtype_size(run.out[0].dtype));
    op_run_done(&run);
}

static void test_integers_wrap(void **state)
{
    (void)state;
    int64_t got;
    run_i64("add", "i64[1], i64[1]", INT64_MAX, 1, &got);
    assert_true(got == INT64_MIN);
    run_i64("mul", "i64[1], i64[1]", INT64_C(1) << 62, 4, &got);
    assert_true(got == 0);
    run_i64("neg", "i64[1]", INT64_MIN, 0, &got);
    assert_true(got == INT64_MIN);
    run_i64("pow_tensor_tensor", "i64[1], i64[1]", 3, 41, &got);
    assert_true(got == INT64_C(-420491770248316829)); /* 3^41 less 2 * 2^64 */
    run_i64("pow_tensor_tensor", "i64[1], i64[1]", -1, -3, &got);
    assert_true(got == -1);
    run_i64("pow_tensor_tensor", "i64[1], i64[1]", 5, -3, &got);
    assert_true(got == 0);
    float quotient[2];
    run_i64("div", "i64[1], i64[1]", 7, 2, (int64_t *)(void *)quotient);
    assert_true(quotient[0] == 3.5f);
    run_i64("div", "i64[1], i64[1]", -7, 0, (int64_t *)(void *)quotient);
    assert_true(quotient[0] == -INFINITY);
    int64_t truth = 0; /* beyond what a double tells apart */
    run_i64("eq", "i64[1], i64[1]", (INT64_C(1) << 53) + 1, INT64_C(1) << 53, &truth);
    assert_int_equal(truth, 0);
}

/* Partial sums of halves lie in f32: a kernel looks at its views, not at the call's dtypes. */
static void test_views_may_be_wider_than_the_call_says(void **state)
{
    (void)state;
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find("mul_scalar"), "bf16[40], 1.5", 3, 0), MW_OK);
    float in[40], out[40];
    for (int i = 0; i < 40; i++)
        in[i] = 1.0f + (float)i * 0x1p-20f;
    run.in[0].data = in, run.in[0].dtype = MW_DTYPE_f32;
    run.out[0].data = out, run.out[0].dtype = MW_DTYPE_f32;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int i = 0; i < 40; i++)
        assert_true(out[i] == in[i] * 1.5f);
    op_run_done(&run);
}

static void test_writes_where_it_reads(void **state)
{
    (void)state;
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find("add"), "f32[700], f32[700]", 5, 0), MW_OK);
    float *a = run.in[0].data, *b = run.in[1].data, want[700];
    for (int i = 0; i < 700; i++)
        want[i] = a[i] + b[i];
    run.out[0] = run.in[0];
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_memory_equal(a, want, sizeof want);
    op_run_done(&run);
}

static void check_refused(const char *word, const char *sample, const char *says)
{
    op_run run;
    mw_status status = op_run_make(&run, op_run_find(word), sample, 1, 0);
    op_run_done(&run);
    if (status == MW_OK || !strstr(mw_last_error()->says, says))
        fail_msg("%s(%s): expected '%s', got '%s'", word, sample, says,
                 status == MW_OK ? "success" : mw_last_error()->says);
}

static void test_refusals(void **state)
{
    (void)state;
    check_refused("sub", "bool[2], bool[2]", "bool tensors cannot be subtracted");
    check_refused("neg", "bool[2]", "a bool tensor has no negative");
    check_refused("pow_tensor_scalar", "i64[2], -2", "an integer to the power -2 is no integer");
    check_refused("gelu", "f32[2], \"erf\"", "'none' or 'tanh', got 'erf'");
    check_refused("masked_fill_scalar", "f32[2], i64[2], 0", "expected a bool tensor");
    check_refused("add", "f32[2, 3], f32[2]", "do not agree");
}

static void check_flags(const char *word, const char *sample, int monotone, int linear)
{
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    if (run.rule.in[0].monotone != monotone || run.rule.in[0].linear != linear)
        fail_msg("%s(%s): monotone %d, linear %d", word, sample, run.rule.in[0].monotone,
                 run.rule.in[0].linear);
    op_run_done(&run);
}

/* What may pass depends on static arguments and dtypes. */
static void test_flags(void **state)
{
    (void)state;
    check_flags("mul_scalar", "f32[2], 3", 1, 1);
    check_flags("mul_scalar", "f32[2], -3", -1, 1);
    check_flags("mul_scalar", "f32[2], 0", 0, 1);
    check_flags("add", "f32[2], f32[2]", 1, 1);
    check_flags("add", "f32[2], f32[2], -1", 1, 1);
    check_flags("add_scalar", "f32[2], 1", 1, 0);
    check_flags("neg", "f32[2]", -1, 1);
    check_flags("neg", "u8[2]", 0, 1);
    check_flags("masked_fill_scalar", "f32[2], bool[2], 0", 1, 1);
    check_flags("masked_fill_scalar", "f32[2], bool[2], 1", 1, 0);
    check_flags("exp", "f32[2]", 1, 0);
    check_flags("sqrt", "f32[2]", 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_fast_functions_are_accurate),
        cmocka_unit_test(test_both_builds_give_the_same_bits),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_views_may_be_wider_than_the_call_says),
        cmocka_unit_test(test_writes_where_it_reads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
