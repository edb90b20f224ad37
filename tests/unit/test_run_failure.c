/* Failures: memory that runs out at any request, on any number of ranks; a rank that fails, leaves
 * or does not come; kernels that refuse their data. Every launch ends with the error that began it,
 * gives all memory back, and never hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <meshwise/meshwise.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- memory -------------------------------------------------------------------------------------
 */

static void ignore(void *user, const mw_event *event)
{
    atomic_long *events = user;
    atomic_fetch_add(events, (long)event->rank + 1);
}

static mw_status last(void)
{
    return mw_last_error()->code;
}

/* A little of everything: data, marks, products, parts, an op in place, views, a sample, text. */
static mw_status a_bit_of_all(void *user)
{
    (void)user;
    float data[32 * 8];
    int64_t ids[4] = {1, 3, 0, 5};
    for (int i = 0; i < 32 * 8; i++)
        data[i] = (float)(i % 7) - 3;
    mw_scope_begin("outer");
    mw_tensor *w = mw_from_data(MW_DTYPE_f32, MW_INTS(32, 8), data, NULL, "[32@x, 8]");
    mw_tensor *index = mw_from_data(MW_DTYPE_i64, MW_INTS(4), ids, NULL, "replicated");
    w = mw_tensor_name(w, "w");
    mw_tensor *x = mw_embedding(w, index, -1, false, false);
    mw_tensor *half = mw_to_dtype(x, MW_DTYPE_bf16, false, false);
    mw_tensor *y = mw_linear(x, w, NULL);
    y = mw_mark_sharding(y, NULL, "[4, 32@x]");
    mw_scope_begin("inner");
    mw_tensor *s = mw_softmax_int(y, 1, MW_DTYPE_NONE);
    mw_tensor *v = mw_permute(mw_view(s, MW_INTS(4, 4, 8)), MW_INTS(2, 0, 1));
    mw_tensor *sum = mw_sum(mw_mul(v, v), MW_DTYPE_NONE);
    (void)mw_copy_(y, mw_add(s, s, 1), false);
    double total = 0;
    if (!sum || mw_item(sum, &total) != MW_OK) return last();
    mw_tensor *kept = mw_scope_end(mw_redistribute(y, NULL, "[4@x, 32]"));
    int64_t picked = 0, top[3];
    double values[3];
    char text[256];
    int64_t length;
    if (!kept || !half) return last();
    mw_tensor *row = mw_select_int(kept, 0, 1);
    if (!row) return last();
    mw_sampler sampler = {.temperature = 0.7, .top_k = 5, .seed = 3};
    if (mw_sample(row, &sampler, 3, &picked, top, values) != MW_OK) return last();
    if (mw_format(kept, text, sizeof text, &length) != MW_OK) return last();
    if (mw_barrier() != MW_OK) return last();
    (void)mw_scope_end(NULL);
    return last();
}

/* Fails the n-th request, for every n, until the program no longer makes as many. */
static void fail_every_request(const char *mesh, const char *backend, int forever, bool events,
                               mw_status (*program)(void *))
{
    static mw_fault_allocator fault;
    int64_t n = 1;
    atomic_long seen = 0;
    mw_launch_options options = {.mesh = mesh, .backend = backend, .timeout = 20};
    if (events) options.sink = ignore, options.sink_user = &seen;
    mw_fault_allocator_init(&fault, 0, 0);
    mw_allocator_use(&fault.allocator);
    if (mw_launch(&options, program, NULL) != MW_OK)
        fail_msg("without failures: %s", mw_last_error()->says);
    int64_t requests = fault.count;
    assert_int_equal(fault.live, 0);
    for (;; n += 1 + (n > 300) * (n % 3)) {
        mw_error_clear();
        mw_fault_allocator_init(&fault, n, forever);
        mw_status status = mw_launch(&options, program, NULL);
        if (fault.live != 0)
            fail_msg("mesh %s, request %lld fails: %lld bytes are lost", mesh, (long long)n,
                     (long long)fault.live);
        if (fault.count < n) {
            assert_int_equal(status, MW_OK);
            break;
        }
        if (status != MW_ERR_NOMEM || mw_last_error()->code != MW_ERR_NOMEM)
            fail_msg("mesh %s, request %lld fails: the launch ends with %s: %s (record: %s)", mesh,
                     (long long)n, mw_status_name(status), mw_last_error()->says,
                     mw_status_name(mw_last_error()->code));
    }
    mw_allocator_use(NULL);
    mw_error_clear();
    printf("mesh %s, %s: %lld requests\n", mesh, backend ? backend : "threads",
           (long long)requests);
    assert_true(requests > 40);
}

static void test_any_request_for_memory_may_fail_on_one_rank(void **state)
{
    (void)state;
    fail_every_request("x=1", NULL, 0, false, a_bit_of_all);
    fail_every_request("x=1", NULL, 1, true, a_bit_of_all);
}

static void test_any_request_for_memory_may_fail_on_two_ranks(void **state)
{
    (void)state;
    fail_every_request("x=2", NULL, 0, false, a_bit_of_all);
    fail_every_request("x=2", NULL, 1, true, a_bit_of_all);
}

static void test_any_request_for_memory_may_fail_on_three_ranks(void **state)
{
    (void)state;
    fail_every_request("x=3", NULL, 0, true, a_bit_of_all);
}

static mw_status without_values(void *user)
{
    (void)user;
    mw_tensor *a = mw_from_data(MW_DTYPE_f32, MW_INTS(64, 64), NULL, NULL, "[64, 64@x]");
    mw_tensor *b = mw_from_data(MW_DTYPE_f32, MW_INTS(64, 64), NULL, NULL, "[64@x, 64]");
    mw_tensor *c = mw_mark_sharding(mw_mm(a, b), NULL, "[64, 64@y]");
    return mw_relu(c) && mw_softmax_int(c, 1, MW_DTYPE_NONE) ? MW_OK : last();
}

static void test_any_request_for_memory_may_fail_on_the_fake_backend(void **state)
{
    (void)state;
    fail_every_request("x=4,y=8", "fake", 0, true, without_values);
}

/* A program that goes on regardless: the ranks whose memory failed still tell the others. */
static mw_status goes_on_regardless(void *user)
{
    (void)user;
    mw_tensor *x = mw_arange(64, MW_DTYPE_f32);
    for (int i = 0; i < 4; i++) {
        x = mw_mark_sharding(x, NULL, i % 2 ? "replicated" : "[64@x]");
        x = mw_add_scalar(x, 1, 1);
    }
    mw_status status = mw_barrier();
    return status == MW_OK ? last() : status;
}

static void test_a_program_may_check_its_errors_at_its_end_only(void **state)
{
    (void)state;
    fail_every_request("x=2", NULL, 0, false, goes_on_regardless);
    fail_every_request("x=3", NULL, 0, false, goes_on_regardless);
}

/* ---- one rank alone
 * ------------------------------------------------------------------------------ */

typedef struct outcome {
    _Atomic int code[8];
    char says[8][1536];
} outcome;

static mw_status note(outcome *o, mw_status status)
{
    int rank = mw_rank_index();
    o->code[rank] = (int)status;
    (void)snprintf(o->says[rank], sizeof o->says[rank], "%s", mw_last_error()->says);
    return status;
}

static mw_status ten_reductions(void *user)
{
    mw_tensor *x = mw_arange(64, MW_DTYPE_f32);
    for (int i = 0; i < 10; i++) {
        mw_tensor *cut = mw_redistribute(x, NULL, "[64@x]"), *sum = mw_sum(cut, MW_DTYPE_NONE);
        double value;
        if (!sum || mw_item(sum, &value) != MW_OK) return note(user, last());
    }
    return note(user, MW_OK);
}

static void test_an_injected_failure_reaches_every_rank(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        outcome o = {0};
        mw_launch_options options = {.mesh = "x=3", .fail_rank = rank, .fail_op = 7, .timeout = 20};
        assert_int_equal(mw_launch(&options, ten_reductions, &o), MW_ERR_RANK);
        assert_non_null(strstr(mw_last_error()->says, "injected failure of rank"));
        assert_non_null(strstr(mw_last_error()->where, "sum("));
        for (int r = 0; r < 3; r++)
            assert_int_equal(o.code[r], r == rank ? MW_ERR_RANK : MW_ERR_COMM);
        char who[32];
        (void)snprintf(who, sizeof who, "rank %d", rank);
        for (int r = 0; r < 3; r++)
            if (!strstr(o.says[r], who)) fail_msg("rank %d says: %s", r, o.says[r]);
        mw_error_clear();
    }
}

static void test_without_an_injected_failure_all_is_well(void **state)
{
    (void)state;
    outcome o = {0};
    mw_launch_options options = {.mesh = "x=3", .fail_rank = 1, .fail_op = 0};
    assert_int_equal(mw_launch(&options, ten_reductions, &o), MW_OK);
}

static mw_status one_leaves(void *user)
{
    mw_tensor *x = mw_arange(64, MW_DTYPE_f32);
    if (mw_rank_index() == 1) return note(user, MW_OK);
    x = mw_mark_sharding(x, NULL, "[64@x]");
    double value;
    mw_status status = mw_item(mw_sum(x, MW_DTYPE_NONE), &value);
    return note(user, status);
}

static void test_a_rank_that_returns_early_is_named(void **state)
{
    (void)state;
    outcome o = {0};
    mw_status status =
        mw_launch(&(mw_launch_options){.mesh = "x=3", .timeout = 20}, one_leaves, &o);
    assert_int_equal(status, MW_ERR_COMM);
    assert_int_equal(o.code[1], MW_OK);
    for (int r = 0; r < 3; r += 2) {
        assert_int_equal(o.code[r], MW_ERR_COMM);
        if (!strstr(o.says[r], "rank 1")) fail_msg("rank %d says: %s", r, o.says[r]);
    }
    mw_error_clear();
}

static mw_status one_dawdles(void *user)
{
    if (mw_rank_index() == 1) {
        struct timespec t = {0, 600 * 1000 * 1000};
        (void)nanosleep(&t, NULL);
    }
    return note(user, mw_barrier());
}

static void test_a_rank_that_does_not_come_is_a_time_out(void **state)
{
    (void)state;
    outcome o = {0};
    mw_launch_options options = {.mesh = "x=2", .timeout = 0.1};
    assert_int_equal(mw_launch(&options, one_dawdles, &o), MW_ERR_TIMEOUT);
    assert_int_equal(o.code[0], MW_ERR_TIMEOUT);
    assert_non_null(strstr(mw_last_error()->says, "rank"));
    mw_error_clear();
}

static mw_status ranks_disagree(void *user)
{
    mw_tensor *x = mw_arange(64, MW_DTYPE_f32);
    x = mw_mark_sharding(x, NULL, "[64@x]");
    bool odd = mw_rank_index() == 1;
    x = mw_mark_sharding(odd ? mw_view(x, MW_INTS(8, 8)) : x, NULL, odd ? "[8, 8]" : "[64]");
    return note(user, x ? MW_OK : last());
}

static void test_ranks_that_disagree_get_an_error(void **state)
{
    (void)state;
    outcome o = {0};
    mw_launch_options options = {.mesh = "x=2", .timeout = 20};
    assert_int_equal(mw_launch(&options, ranks_disagree, &o), MW_ERR_COMM);
    for (int r = 0; r < 2; r++)
        assert_int_equal(o.code[r], MW_ERR_COMM);
    mw_error_clear();
}

/* ---- kernels
 * --------------------------------------------------------------------------------------- */

static mw_status looks_up_too_far(void *user)
{
    const int64_t ids[4] = {0, 1, 99, 2};
    mw_tensor *table =
        mw_mark_sharding(mw_view(mw_arange(24, MW_DTYPE_f32), MW_INTS(8, 3)), NULL, "[8@x, 3]");
    mw_tensor *index = mw_from_data(MW_DTYPE_i64, MW_INTS(4), ids, NULL, "replicated");
    mw_tensor *x = mw_embedding(table, index, -1, false, false);
    mw_tensor *y = mw_neg(x);
    assert_null(y);
    double value;
    mw_status status = mw_item(mw_sum(y, MW_DTYPE_NONE), &value);
    return note(user, status);
}

static void test_an_index_outside_the_table_is_an_error_on_every_rank(void **state)
{
    (void)state;
    outcome o = {0};
    mw_launch_options options = {.mesh = "x=3", .timeout = 20};
    assert_int_equal(mw_launch(&options, looks_up_too_far, &o), MW_ERR_ARG);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(o.code[r], MW_ERR_ARG);
        if (!strstr(o.says[r], "99")) fail_msg("rank %d says: %s", r, o.says[r]);
    }
    assert_non_null(strstr(mw_last_error()->where, "embedding("));
    mw_error_clear();
}

/* The index is split: one rank alone meets the bad one. */
static mw_status one_looks_up_too_far(void *user)
{
    const int64_t ids[4] = {0, 1, 99, 2};
    mw_tensor *table = mw_view(mw_arange(24, MW_DTYPE_f32), MW_INTS(8, 3));
    mw_tensor *index = mw_from_data(MW_DTYPE_i64, MW_INTS(4), ids, NULL, "[4@x]");
    double value;
    mw_tensor *sum = mw_sum(mw_embedding(table, index, -1, false, false), MW_DTYPE_NONE);
    return note(user, sum ? mw_item(sum, &value) : last());
}

static void test_an_index_that_one_rank_alone_meets_reaches_all(void **state)
{
    (void)state;
    outcome o = {0};
    mw_launch_options options = {.mesh = "x=2", .timeout = 20};
    assert_int_equal(mw_launch(&options, one_looks_up_too_far, &o), MW_ERR_ARG);
    assert_int_equal(o.code[1], MW_ERR_ARG);
    assert_int_equal(o.code[0], MW_ERR_COMM);
    if (!strstr(o.says[0], "rank 1") || !strstr(o.says[0], "99"))
        fail_msg("rank 0 says: %s", o.says[0]);
    mw_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_request_for_memory_may_fail_on_one_rank),
        cmocka_unit_test(test_any_request_for_memory_may_fail_on_two_ranks),
        cmocka_unit_test(test_any_request_for_memory_may_fail_on_three_ranks),
        cmocka_unit_test(test_any_request_for_memory_may_fail_on_the_fake_backend),
        cmocka_unit_test(test_a_program_may_check_its_errors_at_its_end_only),
        cmocka_unit_test(test_an_injected_failure_reaches_every_rank),
        cmocka_unit_test(test_without_an_injected_failure_all_is_well),
        cmocka_unit_test(test_a_rank_that_returns_early_is_named),
        cmocka_unit_test(test_a_rank_that_does_not_come_is_a_time_out),
        cmocka_unit_test(test_ranks_that_disagree_get_an_error),
        cmocka_unit_test(test_an_index_outside_the_table_is_an_error_on_every_rank),
        cmocka_unit_test(test_an_index_that_one_rank_alone_meets_reaches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
