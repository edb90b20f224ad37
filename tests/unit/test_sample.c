/* Samples: texts become calls with data that depends on the seed alone and keeps its bounds. */
#include "ops/sample.h"
#include "ops/table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const mw_op op = {.schema = "test::sampled(Tensor a, Tensor[] b, int? n=None, int[] "
                                   "list=[], float x=0.5, bool yes=False, "
                                   "*, ScalarType? dtype=None, str? mode=None) -> Tensor",
                         .rule = "a[...] b{[...]} -> [...]",
                         .samples =
                             "f32[2, 3], {f32[3], i64[3]<10}, 4, [1, -2], 1e-3, true, f16, \"a;b\";"
                             "bool[], {}, dtype=f64 ; f64[0, 3]>0, {}, none, list=[7]"};

static void setup_op(void)
{
    assert_int_equal(mw__op_add(&op), MW_OK);
}

static void values_are_read(void **state)
{
    (void)state;
    mw_arena arena;
    mw_sample s;
    setup_op();
    mw__arena_init(&arena);
    assert_int_equal(mw__sample_count(op.samples), 3);
    assert_int_equal(mw__sample_count(NULL), 0);
    assert_int_equal(mw__sample_make(&op, 0, 1, &arena, &s), MW_OK);
    assert_int_equal(s.call.nin, 3);
    assert_int_equal(s.call.in[2].dtype, MW_DTYPE_i64);
    assert_int_equal(s.call.in[0].ndim, 2);
    assert_int_equal(s.call.in[0].shape[1], 3);
    assert_int_equal(s.call.arg[1].count, 2);
    assert_int_equal(s.call.arg[2].i, 4);
    assert_int_equal(s.call.arg[3].ints[1], -2);
    assert_true(s.call.arg[4].f == 1e-3);
    assert_true(s.call.arg[5].i == 1);
    assert_int_equal(s.call.arg[6].i, MW_DTYPE_f16);
    assert_string_equal(s.call.arg[7].s, "a;b");
    assert_int_equal(mw__sample_make(&op, 1, 1, &arena, &s), MW_OK);
    assert_int_equal(s.call.in[0].ndim, 0);
    assert_int_equal(s.call.arg[6].i, MW_DTYPE_f64);
    assert_int_equal(mw__sample_make(&op, 2, 1, &arena, &s), MW_OK);
    assert_null(s.in[0].data); /* no elements */
    assert_int_equal(s.call.arg[2].kind, MW_ARG_NONE);
    assert_int_equal(s.call.arg[3].ints[0], 7);
    assert_int_equal(mw__sample_make(&op, 3, 1, &arena, &s), MW_ERR_ARG);
    mw__arena_done(&arena);
}

static void data_depends_on_the_seed_alone(void **state)
{
    (void)state;
    mw_arena arena;
    mw_sample a, b, c;
    setup_op();
    mw__arena_init(&arena);
    assert_int_equal(mw__sample_read(&op, "f32[100], {f32[100]}", 5, &arena, &a), MW_OK);
    assert_int_equal(mw__sample_read(&op, "f32[100], {f32[100]}", 5, &arena, &b), MW_OK);
    assert_int_equal(mw__sample_read(&op, "f32[100], {f32[100]}", 6, &arena, &c), MW_OK);
    assert_memory_equal(a.in[0].data, b.in[0].data, 400);
    assert_memory_not_equal(a.in[0].data, a.in[1].data, 400);
    assert_memory_not_equal(a.in[0].data, c.in[0].data, 400);
    assert_true(mw__view_contiguous(&a.in[0]));
    mw__arena_done(&arena);
}

typedef struct spread {
    double least, most, mean;
    int whole; /* how many are integers */
} spread;

static spread spread_of(const char *tensor)
{
    enum { N = 1000 };
    mw_arena arena;
    mw_sample s;
    char text[80];
    spread r = {HUGE_VAL, -HUGE_VAL, 0, 0};
    setup_op();
    mw__arena_init(&arena);
    assert_true(strlen(tensor) + 5 < sizeof text);
    (void)snprintf(text, sizeof text, "%s, {}", tensor);
    assert_int_equal(mw__sample_read(&op, text, 3, &arena, &s), MW_OK);
    for (int i = 0; i < N; i++) {
        const char *at = (const char *)s.in[0].data + i * mw_dtype_size(s.in[0].dtype);
        double x = mw__element_get(at, s.in[0].dtype);
        r.least = fmin(r.least, x);
        r.most = fmax(r.most, x);
        r.mean += x / N;
        r.whole += x == floor(x);
    }
    mw__arena_done(&arena);
    return r;
}

static void data_keeps_its_bounds(void **state)
{
    (void)state;
    spread s = spread_of("f32[1000]");
    assert_true(s.least < -2 && s.most > 2 && fabs(s.mean) < 0.15);
    s = spread_of("f64[1000]>0");
    assert_true(s.least > 0 && s.most > 2);
    s = spread_of("f32[1000]in(-1,1)");
    assert_true(s.least >= -1 && s.least < -0.9 && s.most < 1 && s.most > 0.9);
    s = spread_of("i64[1000]<10");
    assert_true(s.least == 0 && s.most == 9 && s.whole == 1000);
    s = spread_of("i32[1000]");
    assert_true(s.least == -9 && s.most == 9 && s.whole == 1000);
    s = spread_of("u8[1000]");
    assert_true(s.least == 0 && s.most == 9);
    s = spread_of("i64[1000]>0");
    assert_true(s.least == 1 && s.most == 9);
    s = spread_of("i64[1000]in(-2,3)");
    assert_true(s.least == -2 && s.most == 2);
    s = spread_of("bool[1000]");
    assert_true(s.least == 0 && s.most == 1 && fabs(s.mean - 0.5) < 0.1);
    s = spread_of("bf16[1000]");
    assert_true(s.least < -2 && s.most > 2);
}

static void bad_text_is_named_by_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        mw_status code;
    } bad[] = {
        {"f32[2", "expected ',' or ']' at column 6", MW_ERR_PARSE},
        {"f32[-2], {}", "expected a size at column", MW_ERR_PARSE},
        {"f32[1,1,1,1,1,1,1,1,1]", "more than 8 dims", MW_ERR_PARSE},
        {"f32[2]<-1, {}", "expected a number above 0", MW_ERR_PARSE},
        {"f32[2]in(1,0), {}", "expected 'in(a,b)' with a < b", MW_ERR_PARSE},
        {"f32[2], {3}", "expected a tensor at column 10", MW_ERR_PARSE},
        {"f32[2], {} 3", "expected ',' or ';' at column 12", MW_ERR_PARSE},
        {"f32[2], {}, huh", "expected a value at column 13", MW_ERR_PARSE},
        {"f32[2], {}, 1, [1, \"a\"]", "items of two kinds", MW_ERR_PARSE},
        {"f32[2], {}, 1, [1], 1, true, mode=\"a", "a string that does not end", MW_ERR_PARSE},
        {"f32[2], {}, x=1, 3", "a value without a name after one with a name", MW_ERR_PARSE},
        {"f32[2], {}, 1, [1], 1, true, f16, \"a\", 9", "more values than arguments", MW_ERR_PARSE},
        {"f32[2]", "missing a value for argument 'b'", MW_ERR_ARG},
        {"f32[2], 3", "expected Tensor[] for argument 'b' (position 1), got int 3", MW_ERR_ARG},
        {"f32[2], {}, q=3", "unknown argument 'q'", MW_ERR_ARG},
        {"f32[2], {}; f32[2], {}", "expected one sample", MW_ERR_ARG},
    };
    setup_op();
    for (int i = 0; i < MW_COUNT(bad); i++) {
        mw_arena arena;
        mw_sample s;
        mw__arena_init(&arena);
        assert_int_equal(mw__sample_read(&op, bad[i].text, 1, &arena, &s), bad[i].code);
        if (!strstr(mw_last_error()->says, bad[i].says))
            fail_msg("%s\nsays: %s\nnot:  %s", bad[i].text, mw_last_error()->says, bad[i].says);
        mw__arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(data_depends_on_the_seed_alone),
        cmocka_unit_test(data_keeps_its_bounds),
        cmocka_unit_test(bad_text_is_named_by_its_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
