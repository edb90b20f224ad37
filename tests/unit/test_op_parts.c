/* The parts of ops: what goes along a sharded dim gives what one rank gives (ties, NaN, uneven,
 * empty, strided and joint cuts included), and moves a small part of what gathering the operand
 * would. */
#include "run_check.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 3, MOST = 60003, ARGS = 6, OUT = 3 };

/* How an op is called: on x [ROWS, n], with up to ARGS more arguments; 'w' stands for a weight [n],
 * 'd' for [1], 'n' for [n], 'c' for a class of each row. */
typedef struct call {
    const char *word, *args;
    bool nan; /* also with a NaN among the elements */
} call;

static const call calls[] = {
    {"_softmax", "1f", false},
    {"softmax_int", "1", false},
    {"_log_softmax", "1f", false},
    {"log_softmax_int", "1", false},
    {"logsumexp", "d", false},
    {"rms_norm", "nw", false},
    {"layer_norm", "nww", false},
    {"native_layer_norm", "nwwe", false},
    {"var_correction", "d", false},
    {"std_correction", "d-t", false},
    {"var_mean_correction", "d", false},
    {"linalg_vector_norm", "2d", false},
    {"linalg_vector_norm", "3dt", false},
    {"norm_scalaropt_dim", "1d", true},
    {"argmax", "1", true},
    {"argmax", "-", true},
    {"argmin", "1t", true},
    {"argmin", "-", true},
    {"max_dim", "1", true},
    {"min_dim", "1t", true},
    {"topk", "71", true},
    {"topk", "31ft", true},
    {"cumsum", "1", true},
    {"cross_entropy_loss", "c", false},
    {"cross_entropy_loss", "c-0", false},
    {"nll_loss_nd", "cw1", false},
};

static float datum(int row, int at, bool nan)
{
    uint32_t h = (uint32_t)(row * 7919 + at) * 2654435761u;
    h ^= h >> 13;
    h *= 2246822519u;
    h ^= h >> 16;
    if (nan && row == 1 && at % 400 == 250) return NAN;
    return (float)((int)(h % 97) - 48) / 8; /* many are equal */
}

static mw_tensor *make(int n, bool nan, const char *layout)
{
    static _Thread_local float data[ROWS * MOST];
    for (int i = 0; i < ROWS * n; i++)
        data[i] = datum(i / n, i % n, nan);
    return mw_from_data(MW_DTYPE_f32, (const int64_t[]){ROWS, n}, 2, data, NULL, layout);
}

static mw_tensor *make_weight(int n)
{
    static _Thread_local float data[MOST];
    for (int i = 0; i < n; i++)
        data[i] = datum(9, i, false) + 7;
    return mw_from_data(MW_DTYPE_f32, (const int64_t[]){n}, 1, data, NULL, "replicated");
}

static mw_tensor *make_classes(int n)
{
    const int64_t class[ROWS] = {n - 1, 0, n / 2};
    return mw_from_data(MW_DTYPE_i64, (const int64_t[]){ROWS}, 1, class, NULL, "replicated");
}

static int run(const call *c, mw_tensor *x, int n, mw_tensor **out)
{
    mw_value value[ARGS] = {{.kind = MW_ARG_TENSOR, .as.tensor = x}};
    const int64_t dim = 1, size = n;
    int count = 1, nout = 0;
    for (const char *at = c->args; *at; at++) {
        mw_value *v = &value[count++];
        *v = (mw_value){.kind = MW_ARG_INT, .as.i = *at - '0'};
        if (*at == 't' || *at == 'f') *v = (mw_value){.kind = MW_ARG_BOOL, .as.i = *at == 't'};
        if (*at == '-') *v = (mw_value){.kind = MW_ARG_NONE};
        if (*at == 'e') *v = (mw_value){.kind = MW_ARG_FLOAT, .as.f = 1e-5};
        if (*at == 'd') *v = (mw_value){.kind = MW_ARG_INTS, .count = 1, .as.ints = &dim};
        if (*at == 'n') *v = (mw_value){.kind = MW_ARG_INTS, .count = 1, .as.ints = &size};
        if (*at == 'c') *v = (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = make_classes(n)};
        if (*at == 'w') *v = (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = make_weight(n)};
    }
    for (int i = 0; i < count; i++)
        if (strcmp(c->word, "std_correction") == 0 && i >= 2)
            value[i].name = i == 2 ? "correction" : "keepdim";
    return mw_op_call(c->word, value, count, out, OUT, &nout) == MW_OK ? nout : -1;
}

static mw_status same(const call *c, const char *layout, mw_tensor *got, mw_tensor *want)
{
    static _Thread_local double a[ROWS * MOST], b[ROWS * MOST];
    int64_t count = 1;
    EXPECT_INT(mw_tensor_ndim(got), mw_tensor_ndim(want));
    EXPECT_INT(mw_tensor_dtype(got), mw_tensor_dtype(want));
    for (int d = 0; d < mw_tensor_ndim(got); d++) {
        EXPECT_INT(mw_tensor_size(got, d), mw_tensor_size(want, d));
        count *= mw_tensor_size(got, d);
    }
    EXPECT_INT(mw_tensor_layout(got)->npartial, 0); /* the caller gets values, not terms */
    EXPECT_OK(mw_read(got, MW_DTYPE_f64, a, count * 8));
    EXPECT_OK(mw_read(want, MW_DTYPE_f64, b, count * 8));
    for (int64_t i = 0; i < count; i++)
        if (!(isnan(a[i]) && isnan(b[i])) && !(fabs(a[i] - b[i]) <= 2e-5 * (1 + fabs(b[i]))))
            return run_wrong(__FILE__, __LINE__, "%s(%s) of %s: element %lld is %.9g, not %.9g",
                             c->word, c->args, layout, (long long)i, a[i], b[i]);
    return MW_OK;
}

/* Results and bytes of all ops on one layout. Where `few` is false any number may move. */
static mw_status try_layout(const char *layout, int n, bool few)
{
    for (int i = 0; i < 2 * MW_COUNT(calls); i++) {
        const call *c = &calls[i / 2];
        mw_tensor *got[OUT], *want[OUT];
        if (i % 2 && !c->nan) continue;
        mw_scope_begin(c->word);
        mw_tensor *x = make(n, i % 2, layout), *whole = make(n, i % 2, "replicated");
        int64_t before = mw_usage_get().bytes_received;
        int nout = run(c, x, n, got);
        int64_t moved = mw_usage_get().bytes_received - before;
        EXPECT(nout > 0);
        EXPECT_INT(run(c, whole, n, want), nout);
        if (few && moved > ROWS * n * 4 / 8)
            return run_wrong(__FILE__, __LINE__, "%s(%s) of %s moves %lld bytes", c->word, c->args,
                             layout, (long long)moved);
        for (int o = 0; o < nout; o++) {
            mw_status status = same(c, layout, got[o], want[o]);
            if (status != MW_OK) return status;
        }
        (void)mw_scope_end(NULL);
    }
    return MW_OK;
}

#define TRY(...)                                     \
    do {                                             \
        mw_status status_ = try_layout(__VA_ARGS__); \
        if (status_ != MW_OK) return status_;        \
    } while (0)

static mw_status on_two(void *user)
{
    (void)user;
    TRY("f32[3, 60000@x]", 60000, true);
    TRY("f32[3, 60003@x]", 60003, true);
    TRY("f32[3, 60000@:2,x]", 60000, true); /* in two runs each */
    TRY("f32[3, 8@x]", 8, false);
    return MW_OK;
}

static mw_status on_three(void *user)
{
    (void)user;
    TRY("f32[3, 60000@x]", 60000, true);
    TRY("f32[3@x, 1000]", 1000, false);
    TRY("f32[3, 7@x]", 7, false); /* 3, 3, 1 */
    return MW_OK;
}

static mw_status on_four(void *user)
{
    (void)user;
    TRY("f32[3, 9@x]", 9, false); /* one rank has nothing */
    TRY("f32[3, 60001@x]", 60001, true);
    return MW_OK;
}

static mw_status on_two_by_two(void *user)
{
    (void)user;
    TRY("f32[3, 60000@x,y]", 60000, true);
    TRY("f32[3, 60001@y,x]", 60001, true);
    TRY("f32[3@x, 60000@y]", 60000, true);
    TRY("f32[3, 60002@(x,y)]", 60002, true);
    TRY("f32[3, 60000@y]", 60000, true);
    return MW_OK;
}

static void test_two_ranks(void **state)
{
    (void)state;
    run_on("x=2", on_two);
}

static void test_three_ranks(void **state)
{
    (void)state;
    run_on("x=3", on_three);
}

static void test_four_ranks(void **state)
{
    (void)state;
    run_on("x=4", on_four);
}

static void test_two_by_two_ranks(void **state)
{
    (void)state;
    run_on("x=2,y=2", on_two_by_two);
}

/* A partial sum is combined on the way, and that may cut the summed dim further. */
static mw_status running_sum_of_terms(void *user)
{
    (void)user;
    mw_tensor *t = mw_to_dtype(mw_arange(9, MW_DTYPE_f32), MW_DTYPE_bf16, false, false);
    EXPECT(mw_mark_sharding(t, NULL, "[9@x]{sum:y}"));
    double sums[9];
    EXPECT_OK(mw_read(mw_cumsum(t, 0, MW_DTYPE_NONE), MW_DTYPE_f64, sums, sizeof sums));
    for (int i = 0; i < 9; i++)
        EXPECT_INT(sums[i], i * (i + 1) / 2);
    return MW_OK;
}

static void test_terms_of_a_running_sum(void **state)
{
    (void)state;
    run_on("x=2,y=3", running_sum_of_terms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms_of_a_running_sum),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_three_ranks),
        cmocka_unit_test(test_four_ranks),
        cmocka_unit_test(test_two_by_two_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
