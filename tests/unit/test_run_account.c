/* What a program moved, and who is told: events, the rows of the account, strict mode, and the
 * bytes that the fake backend counts for ranks that do not run. */
#include "run_check.h"

static mw_tensor *counted(int64_t rows, int64_t columns)
{
    return mw_view(mw_arange((double)(rows * columns), MW_DTYPE_f32), MW_INTS(rows, columns));
}

/* ---- events and accounts ------------------------------------------------------------- */

typedef struct seen_event {
    mw_event_kind kind;
    char op[32], text[256], result[64], tensor[32], from[64], to[64], axes[32], why[256], chain[64];
    int64_t recv, most;
    int asked, line;
} seen_event;

typedef struct seen {
    int n;
    seen_event at[64];
} seen;

#define KEEP(field) \
    (void)snprintf(e->field, sizeof e->field, "%.*s", (int)sizeof e->field - 1, event->field)

static void keep_event(void *user, const mw_event *event)
{
    seen *s = user;
    if (event->rank != 0 || s->n == 64) return;
    seen_event *e = &s->at[s->n++];
    e->kind = event->kind;
    KEEP(op);
    KEEP(text);
    KEEP(result);
    KEEP(tensor);
    KEEP(from);
    KEEP(to);
    KEEP(axes);
    KEEP(why);
    KEEP(chain);
    e->recv = event->recv_bytes;
    e->most = event->recv_bytes_most;
    e->asked = event->asked;
    e->line = event->site.line;
}

static int mark_line, mm_line, add_line;

static mw_status moves(void *user)
{
    (void)user;
    bool first = mw_rank_index() == 0;
    mw_tensor *a = counted(8, 4), *b = counted(4, 8), *c = counted(8, 8);
    mw_scope_begin("model");
    mw_scope_begin("block");
    if (first) mark_line = __LINE__ + 1;
    a = mw_tensor_name(mw_mark_sharding(a, NULL, "[8, 4@x]"), "a");
    b = mw_mark_sharding(b, NULL, "[4@x, 8]");
    if (first) mm_line = __LINE__ + 1;
    mw_tensor *p = mw_tensor_name(mw_mm(a, b), "product");
    EXPECT(strcmp(run_layout(p), "f32[8, 8]{sum:x}") == 0);
    if (first) add_line = __LINE__ + 1;
    mw_tensor *r = mw_relu(p);
    EXPECT(strcmp(run_layout(r), "f32[8@x, 8]") == 0);
    (void)mw_mark_sharding(c, NULL, "[8@x, 8]");
    (void)mw_mark_sharding(c, NULL, "replicated");
    (void)mw_scope_end(NULL);
    (void)mw_scope_end(NULL);
    mw_usage u = mw_usage_get();
    EXPECT_INT(u.collectives, 2);
    EXPECT_INT(u.bytes_received, 128 + 128);
    EXPECT_INT(u.bytes_unasked, 128);
    mw_cause cause[8];
    EXPECT_INT(mw_causes_get(cause, 8), 2);
    EXPECT_HAS(cause[0].cause, "relu unit/test_run_account.c:");
    EXPECT(strcmp(cause[0].kind, "reduce_scatter") == 0 && strcmp(cause[0].axes, "x") == 0);
    EXPECT(!cause[0].asked && cause[0].count == 1 && cause[0].bytes_received == 128);
    EXPECT_HAS(cause[1].cause, "mark_sharding unit/test_run_account.c:");
    EXPECT(strcmp(cause[1].kind, "all_gather") == 0 && cause[1].asked);
    return MW_OK;
}

static void test_every_movement_has_its_event(void **state)
{
    (void)state;
    static seen s;
    s.n = 0;
    run_with((mw_launch_options){.mesh = "x=2", .sink = keep_event, .sink_user = &s}, moves, NULL);
    int n = 0;
    const seen_event *move[8] = {NULL}, *call = NULL;
    for (int i = 0; i < s.n; i++) {
        if (s.at[i].kind == MW_EVENT_MOVE && n < 8) move[n++] = &s.at[i];
        if (s.at[i].kind == MW_EVENT_CALL && strcmp(s.at[i].op, "mm") == 0) call = &s.at[i];
    }
    assert_int_equal(n, 5);
    assert_string_equal(move[0]->text, "slice x dim 1");
    assert_string_equal(move[0]->op, "mark_sharding");
    assert_int_equal(move[0]->line, mark_line);
    assert_int_equal(move[0]->recv, 0);
    assert_int_equal(move[0]->asked, 1);
    assert_string_equal(move[2]->text, "reduce_scatter x dim 0 sum");
    assert_string_equal(move[2]->op, "relu");
    assert_string_equal(move[2]->tensor, "product");
    assert_string_equal(move[2]->from, "f32[8, 8]{sum:x}");
    assert_string_equal(move[2]->to, "f32[8@x, 8]");
    assert_string_equal(move[2]->axes, "x");
    assert_string_equal(move[2]->chain, "model/block");
    char why[sizeof move[2]->why];
    memcpy(why, move[2]->why, sizeof why);
    assert_non_null(strstr(why, "partial sum"));
    assert_int_equal(move[2]->recv, 128);
    assert_int_equal(move[2]->most, 128);
    assert_int_equal(move[2]->asked, 0);
    assert_int_equal(move[2]->line, add_line);
    assert_string_equal(move[4]->text, "all_gather x dim 0");
    assert_int_equal(move[4]->asked, 1);
    assert_string_equal(move[4]->why, "");
    assert_non_null(call);
    assert_string_equal(call->text, "mm(self: f32[8, 4@x], mat2: f32[4@x, 8])");
    assert_string_equal(call->result, "f32[8, 8]{sum:x}");
    assert_int_equal(call->line, mm_line);
}

static mw_status strict(void *user)
{
    (void)user;
    mw_tensor *a = mw_mark_sharding(counted(8, 4), NULL, "[8, 4@x]");
    mw_tensor *b = mw_mark_sharding(counted(4, 8), NULL, "[4@x, 8]");
    mw_tensor *p = mw_mm(a, b);
    EXPECT(p); /* moves nothing */
    mw_scope_begin("layer");
    EXPECT(!mw_relu(p));
    EXPECT_INT(mw_last_error()->code, MW_ERR_STRICT);
    EXPECT_HAS(mw_last_error()->says, "relu would move f32[8, 8]{sum:x} to f32[8@x, 8]");
    EXPECT_HAS(mw_last_error()->says, "unasked: reduce_scatter x dim 0 sum");
    EXPECT_HAS(mw_last_error()->says, "128 bytes");
    EXPECT_HAS(mw_last_error()->says, "partial sum");
    EXPECT_HAS(mw_last_error()->hint, "as f32[8@x, 8]");
    EXPECT_HAS(mw_last_error()->where, "relu(f32[8, 8]{sum:x}) at ");
    EXPECT_HAS(mw_last_error()->where, "test_run_account.c:");
    EXPECT_HAS(mw_last_error()->where, " in layer");
    mw_error_clear();
    (void)mw_scope_end(NULL);
    p = mw_mark_sharding(p, NULL, "replicated"); /* asked */
    EXPECT(mw_relu(p));
    double value;
    EXPECT_OK(mw_item(mw_sum(a, MW_DTYPE_NONE), &value)); /* reading asks */
    EXPECT_INT(mw_usage_get().bytes_unasked, 0);
    return MW_OK;
}

static void test_strict_mode_refuses_what_nobody_asked_for(void **state)
{
    (void)state;
    run_with((mw_launch_options){.mesh = "x=2", .strict = 1, .timeout = 20}, strict, NULL);
}

/* ---- the fake backend ---------------------------------------------------------------- */

typedef struct traffic {
    int64_t received[8], unasked[8];
} traffic;

/* A program of uneven shards, sums, softmax by parts, and marks. */
static mw_status busy(void *user)
{
    traffic *t = user;
    mw_tensor *x = mw_mark_sharding(counted(7, 9), NULL, "[7@x, 9]");
    mw_tensor *w = mw_mark_sharding(counted(9, 11), NULL, "[9, 11@y]");
    mw_tensor *y = mw_mm(x, w);
    (void)mw_mark_sharding(y, NULL, "[7@y, 11@x]");
    mw_tensor *s = mw_softmax_int(y, 1, MW_DTYPE_NONE);
    mw_tensor *p = mw_mm(mw_redistribute(s, NULL, "[7, 11@x,y]"), mw_permute(w, MW_INTS(1, 0)));
    EXPECT(p && mw_relu(p));
    mw_tensor *all = mw_sum(mw_redistribute(s, NULL, "[7@x,y, 11]"), MW_DTYPE_NONE);
    EXPECT(mw_add(all, all, 1) && mw_exp(all));
    EXPECT(mw_redistribute(p, NULL, "[7@(y,x), 9]") && mw_redistribute(p, NULL, "[7, 9@x]{sum:y}"));
    for (int r = 0; r < 8; r++)
        if (mw_is_fake() || r == mw_rank_index()) t->received[r] = mw_usage_received(r);
    t->unasked[mw_rank_index()] = mw_usage_get().bytes_unasked;
    double value;
    EXPECT(!mw_is_fake() || mw_item(all, &value) == MW_ERR_UNSUPPORTED);
    mw_error_clear();
    return MW_OK;
}

static void test_the_fake_backend_counts_every_ranks_bytes(void **state)
{
    (void)state;
    static const char *const both[] = {"x=2,y=2", "x=2,y=3", "x=4,y=2",
                                       "x=2,y=3 ids=[4,1,0,5,3,2]"};
    for (int i = 0; i < 4; i++) {
        traffic real = {0}, fake = {0};
        run_with((mw_launch_options){.mesh = both[i], .timeout = 30}, busy, &real);
        run_with((mw_launch_options){.mesh = both[i], .backend = "fake"}, busy, &fake);
        int64_t unasked = 0, total = 0;
        for (int r = 0; r < 8; r++) {
            if (real.received[r] != fake.received[r])
                fail_msg("%s: rank %d receives %lld, on the fake backend %lld", both[i], r,
                         (long long)real.received[r], (long long)fake.received[r]);
            unasked += real.unasked[r];
            total += real.received[r];
        }
        assert_true(total > 0 && unasked > 0);
        assert_int_equal(unasked, fake.unasked[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_movement_has_its_event),
        cmocka_unit_test(test_strict_mode_refuses_what_nobody_asked_for),
        cmocka_unit_test(test_the_fake_backend_counts_every_ranks_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
