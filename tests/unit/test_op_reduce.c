/* Reductions against loops in double (or int64) over single elements, on the ops' own samples and
 * on shapes that take each way through the kernel: rows, columns, chunks, gaps. And what sharding
 * relies on: identities of empty shards, the global count of a mean. Seeds are fixed and printed.
 */
#include "op_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 31 };

typedef enum what { SUM, MEAN, MAX, MIN } what;

typedef struct row {
    const char *word;
    what what;
    bool has_dims;
    const char *more;
} row;

#define SHAPES                                                                                   \
    "f32[3, 1500], [1]; f32[1500, 3], [0]; f32[700, 9], [0]; f32[5, 700], [0]; f32[2, 30, 40], " \
    "[1]; "                                                                                      \
    "f32[4, 5, 6, 7], [0, 2]; f32[4, 5, 6, 7], [1, 3], true; f64[3, 1100], [1]; f64[600, 5], "   \
    "[0]; "                                                                                      \
    "bf16[2, 600], [1]; f16[600, 2], [0]; f32[600, 1], [1]; f32[1, 600], [0]; f32[40, 30], [0, 1]"

static const row rows[] = {
    {"sum", SUM, false, "f32[70000]; f32[3, 1500], f64; i64[4000]; f16[3, 300], f32"},
    {"sum_dim_intlist", SUM, true, SHAPES "; i32[30, 40], [0]; u8[3, 300], [1]; bool[300, 2], [0]"},
    {"mean", MEAN, false, "f32[70000]; f64[1000]; bf16[3, 300]"},
    {"mean_dim", MEAN, true, SHAPES "; i64[30, 4], [0], false, f32"},
    {"amax", MAX, true, SHAPES "; i8[30, 40], [0]; u8[3, 300]; i16[300, 2], [0]; bool[4, 5]"},
    {"amin", MIN, true, SHAPES "; i8[30, 40], [0]; u8[3, 300]; i16[300, 2], [0]; bool[4, 5]"},
};

static uint32_t dims_of(const op_run *run, bool has_dims)
{
    int ndim = run->in[0].ndim;
    const mw_arg *arg = &run->sample.call.arg[1];
    if (!has_dims || arg->kind != MW_ARG_INTS || arg->count == 0) return (1u << ndim) - 1;
    uint32_t mask = 0;
    for (int i = 0; i < arg->count; i++)
        if (ndim) mask |= 1u << (arg->ints[i] < 0 ? arg->ints[i] + ndim : arg->ints[i]);
    return mask;
}

/* The result's element that an input's element goes to. */
static int64_t target_of(const mw_view *in, uint32_t mask, int64_t nth)
{
    int64_t target = 0, weight = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        if (!(mask >> d & 1u)) target += nth % in->shape[d] * weight, weight *= in->shape[d];
        nth /= in->shape[d];
    }
    return target;
}

typedef struct total {
    double value, size; /* the sum or extreme; sum of magnitudes */
    int64_t count;
} total;

static total *totals_of(const op_run *run, const row *r)
{
    const mw_view *in = &run->in[0];
    uint32_t mask = dims_of(run, r->has_dims);
    int64_t n = mw__view_count(&run->out[0]);
    total *t = calloc((size_t)n + 1, sizeof *t);
    assert_non_null(t);
    for (int64_t i = 0; i < mw__view_count(in); i++) {
        total *to = &t[target_of(in, mask, i)];
        double x = op_run_get(in, i);
        if (r->what == SUM || r->what == MEAN) to->value += x;
        if (r->what == MAX) to->value = to->count == 0 || x > to->value ? x : to->value;
        if (r->what == MIN) to->value = to->count == 0 || x < to->value ? x : to->value;
        to->size += fabs(x);
        to->count++;
    }
    for (int64_t i = 0; i < n && r->what == MEAN; i++)
        t[i].value /= (double)t[i].count, t[i].size /= (double)t[i].count;
    return t;
}

static void check_sample(const row *r, const char *sample)
{
    static const uint64_t picks[] = {0, 1, 2, 3, 12, 45};
    for (int p = 0; p < MW_COUNT(picks); p++) {
        op_run run;
        if (op_run_make(&run, op_run_find(r->word), sample, SEED, picks[p]) != MW_OK ||
            op_run_kernel(&run) != MW_OK)
            fail_msg("%s(%s): %s", r->word, sample, mw_last_error()->says);
        total *want = totals_of(&run, r);
        mw_dtype dtype = run.out[0].dtype;
        bool exact = mw_dtype_kind_of(dtype) != MW_KIND_FLOAT || r->what == MAX || r->what == MIN;
        for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
            double got = op_run_get(&run.out[0], i), value = want[i].value;
            double unit = dtype == MW_DTYPE_f64 ? 64 * want[i].size : fabs(value) * 0.5000001;
            double allowed = exact ? 0 : unit * op_run_epsilon(dtype) + want[i].size * 1e-14;
            if (!(fabs(got - value) <= allowed) && !(isnan(got) && isnan(value)))
                fail_msg("%s(%s) pick %d element %lld: got %.17g, want %.17g", r->word, sample,
                         (int)picks[p], (long long)i, got, value);
        }
        free(want);
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

static void test_sums_means_and_extremes(void **state)
{
    (void)state;
    print_message("seed %d\n", SEED);
    for (int i = 0; i < MW_COUNT(rows); i++) {
        check_text(&rows[i], op_run_find(rows[i].word)->samples);
        check_text(&rows[i], rows[i].more);
    }
}

static void check_shape(const char *word, const char *sample, const char *meta)
{
    op_run run;
    char text[64] = "";
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    const mw_meta *out = &run.rule.out_meta[0];
    size_t n = (size_t)snprintf(text, sizeof text, "%s[", mw_dtype_name(out->dtype));
    for (int d = 0; d < out->ndim; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", d ? ", " : "", (int)out->shape[d]);
    (void)snprintf(text + n, sizeof text - n, "]");
    assert_string_equal(text, meta);
    op_run_done(&run);
}

static void test_shapes_and_dtypes(void **state)
{
    (void)state;
    check_shape("sum", "bool[3, 4]", "i64[]");
    check_shape("sum", "bf16[3, 4]", "bf16[]");
    check_shape("sum", "bf16[3, 4], f32", "f32[]");
    check_shape("sum_dim_intlist", "i32[3, 4], [1]", "i64[3]");
    check_shape("sum_dim_intlist", "f32[3, 4, 5], [0, -1], true", "f32[1, 4, 1]");
    check_shape("mean_dim", "f32[3, 4, 5], [1]", "f32[3, 5]");
    check_shape("amax", "u8[3, 4], [0]", "u8[4]");
    check_shape("amin", "f32[3, 4]", "f32[]");
    check_shape("amax", "f32[], [0]", "f32[]");
}

/* NaN in any place of a row or column wins, whatever comes after it. */
static void test_nan_wins(void **state)
{
    (void)state;
    static const char *const samples[] = {"f32[70, 4], [0]", "f32[4, 70], [1]", "f32[280]"};
    for (int s = 0; s < MW_COUNT(samples); s++)
        for (int word = 0; word < 2; word++)
            for (int at = 0; at < 280; at += 13) {
                op_run run;
                int nan = 0;
                const mw_op *op = op_run_find(word ? "amax" : "amin");
                assert_int_equal(op_run_make(&run, op, samples[s], 1, 0), MW_OK);
                ((float *)run.in[0].data)[at] = NAN;
                assert_int_equal(op_run_kernel(&run), MW_OK);
                for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
                    nan += isnan(op_run_get(&run.out[0], i)) != 0;
                assert_int_equal(nan, 1);
                op_run_done(&run);
            }
}

/* A shard without elements of a reduced dim: its part must change nothing. */
static void check_nothing(const char *word, const char *sample, int dim, double want)
{
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    run.in[0].shape[dim] = 0;
    run.in[0].data = NULL;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
        if (op_run_get(&run.out[0], i) != want)
            fail_msg("%s of nothing is %g", word, op_run_get(&run.out[0], i));
    op_run_done(&run);
}

static void test_empty_shards_give_the_identity(void **state)
{
    (void)state;
    check_nothing("sum_dim_intlist", "f32[4, 600], [0]", 0, 0);
    check_nothing("mean_dim", "f32[4, 600], [0]", 0, 0);
    check_nothing("amax", "f32[4, 600], [0]", 0, (double)-INFINITY);
    check_nothing("amin", "bf16[4, 6], [1]", 1, (double)INFINITY);
    check_nothing("amax", "i8[4, 6], [1]", 1, -128);
    check_nothing("amin", "i8[4, 6], [1]", 1, 127);
    check_nothing("amax", "u8[4, 6], [1]", 1, 0);
    check_nothing("amin", "u8[4, 6], [1]", 1, 255);
    check_nothing("amax", "bool[4, 6], [1]", 1, 0);
    check_nothing("amin", "bool[4, 6], [1]", 1, 1);
    check_nothing("amin", "i32[4, 6], [1]", 1, INT32_MAX);
    op_run run;
    int64_t most = 0;
    assert_int_equal(op_run_make(&run, op_run_find("amin"), "i64[4]", 1, 0), MW_OK);
    run.in[0].shape[0] = 0;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    memcpy(&most, run.out[0].data, sizeof most);
    assert_true(most == INT64_MAX);
    op_run_done(&run);
}

static void test_mean_divides_by_the_global_count(void **state)
{
    (void)state;
    op_run run;
    float in[3] = {1, 2, 6};
    assert_int_equal(op_run_make(&run, op_run_find("mean"), "f32[12]", 1, 0), MW_OK);
    run.in[0].data = in;
    run.in[0].shape[0] = 3; /* this rank's quarter */
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_true(op_run_get(&run.out[0], 0) == 0.75);
    op_run_done(&run);
}

static void test_mean_of_nothing_is_nan(void **state)
{
    (void)state;
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find("mean"), "f32[0]", 1, 0), MW_OK);
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_true(isnan(op_run_get(&run.out[0], 0)));
    op_run_done(&run);
}

/* A million terms of which a plain f32 loop would lose a percent. */
static void test_long_sums_are_exact(void **state)
{
    (void)state;
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find("sum"), "f32[4000000]", 1, 0), MW_OK);
    float *x = run.in[0].data;
    double want = 0;
    for (int i = 0; i < 4000000; i++)
        x[i] = 0.1f, want += (double)0.1f;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_true(op_run_get(&run.out[0], 0) == (double)(float)want);
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
    check_refused("mean", "i64[3]", "the mean of integers is none");
    check_refused("amax", "f32[3, 0], [1]", "dim 1 has size 0");
    check_refused("amax", "f32[0]", "dim 0 has size 0");
    check_refused("sum_dim_intlist", "f32[3, 4], [2]", "dim");
    check_refused("sum_dim_intlist", "f32[3, 4], [1, -1]", "dim 1 stands twice");
}

static void check_rule(const char *word, const char *sample, mw_reduce reduce, int linear)
{
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find(word), sample, 1, 0), MW_OK);
    if (run.rule.reduce != reduce || run.rule.in[0].linear != linear)
        fail_msg("%s(%s): reduce %d, linear %d", word, sample, (int)run.rule.reduce,
                 run.rule.in[0].linear);
    op_run_done(&run);
}

static void test_which_parts_may_be_summed(void **state)
{
    (void)state;
    check_rule("sum", "f32[3]", MW_REDUCE_SUM, 1);
    check_rule("sum", "bf16[3], f32", MW_REDUCE_SUM, 1);
    check_rule("sum", "f32[3], bf16", MW_REDUCE_SUM, 0);
    check_rule("sum", "f32[3], i64", MW_REDUCE_SUM, 0);
    check_rule("sum", "i64[3], bool", MW_REDUCE_NONE, 0);
    check_rule("mean", "f32[3]", MW_REDUCE_SUM, 1);
    check_rule("amax", "f32[3]", MW_REDUCE_MAX, 0);
    check_rule("amin", "f32[3]", MW_REDUCE_MIN, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_means_and_extremes),
        cmocka_unit_test(test_shapes_and_dtypes),
        cmocka_unit_test(test_nan_wins),
        cmocka_unit_test(test_empty_shards_give_the_identity),
        cmocka_unit_test(test_mean_divides_by_the_global_count),
        cmocka_unit_test(test_mean_of_nothing_is_nan),
        cmocka_unit_test(test_long_sums_are_exact),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_which_parts_may_be_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
