/* The public side of running: marks, reading, scopes, names, errors and how they pass through a
 * program, launching, and the boxed call. What moved, and who is told: test_run_account.c. */
#include "run_check.h"

#include <math.h>
#include <stdlib.h>

static const char *const meshes[] = {"x=1", "x=2", "x=3", "x=4", "x=2,y=2"};

static void run_on_all(mw_status (*program)(void *))
{
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        run_on(meshes[i], program);
}

static mw_tensor *counted(int64_t rows, int64_t columns)
{
    return mw_view(mw_arange((double)(rows * columns), MW_DTYPE_f32), MW_INTS(rows, columns));
}

/* Is element i of the whole i * factor + plus? */
static mw_status is_counted(mw_tensor *t, double factor, double plus)
{
    double data[256];
    int64_t count = 1;
    for (int d = 0; d < mw_tensor_ndim(t); d++)
        count *= mw_tensor_size(t, d);
    EXPECT_OK(mw_read(t, MW_DTYPE_f64, data, count * 8));
    for (int64_t i = 0; i < count; i++)
        if (data[i] != (double)i * factor + plus)
            return run_wrong(__FILE__, __LINE__, "element %lld of %s is %g", (long long)i,
                             run_layout(t), data[i]);
    return MW_OK;
}

#define EXPECT_COUNTED(...)                           \
    do {                                              \
        mw_status counted_ = is_counted(__VA_ARGS__); \
        if (counted_ != MW_OK) return counted_;       \
    } while (0)

/* ---- marks ----------------------------------------------------------------------------------- */

static mw_status marks(void *user)
{
    (void)user;
    mw_tensor *t = counted(8, 6), *before = mw_view(t, MW_INTS(6, 8)), *use = mw_neg(t);
    EXPECT(mw_mark_sharding(t, NULL, "[8@x, 6]") == t); /* and the result may be dropped */
    mw_layout want;
    EXPECT_OK(mw_layout_parse(mw_mesh_world(), "f32[8@x, 6]", &want));
    EXPECT(mw_layout_equal(mw_tensor_layout(t), &want));
    EXPECT(strcmp(run_layout(before), "f32[6, 8]") == 0);
    EXPECT(strcmp(run_layout(use), "f32[8, 6]") == 0);
    mw_tensor *after = mw_neg(t);
    EXPECT(mw_layout_equal(mw_tensor_layout(after), &want));
    EXPECT_COUNTED(t, 1, 0);
    EXPECT_COUNTED(before, 1, 0);
    EXPECT_COUNTED(after, -1, 0);
    EXPECT(mw_mark_sharding(t, NULL, "f32[8, 6@x]") == t);
    EXPECT_COUNTED(t, 1, 0);
    EXPECT_COUNTED(after, -1, 0);
    EXPECT(mw_mark_sharding(t, NULL, "replicated") == t);
    EXPECT(strcmp(run_layout(t), "f32[8, 6]") == 0);
    EXPECT_COUNTED(t, 1, 0);
    EXPECT_OK(mw_layout_parse(mw_mesh_world(), "[8@x?, 6?]", &want));
    EXPECT(mw_mark_layout(t, NULL, &want) == t);
    EXPECT(!strchr(run_layout(t), '?'));
    EXPECT(mw_mark_sharding(t, NULL, "[8@x, 6]") == t);
    EXPECT_COUNTED(mw_add(t, t, 1), 2, 0);
    return MW_OK;
}

static void test_a_mark_replaces_the_handle_and_nothing_else(void **state)
{
    (void)state;
    run_on_all(marks);
}

static mw_status twice_equal(void *user)
{
    (void)user;
    mw_tensor *t = mw_mark_sharding(counted(8, 6), NULL, "[8@x, 6]");
    mw_usage before = mw_usage_get();
    EXPECT(mw_mark_sharding(t, NULL, "[8@x, 6]") == t);
    EXPECT(mw_mark_sharding(t, NULL, "f32[8@x, 6?]") == t);
    mw_usage after = mw_usage_get();
    EXPECT_INT(after.collectives, before.collectives);
    EXPECT_INT(after.bytes_received, 0);
    EXPECT(mw_mark_sharding(t, NULL, "[8, 6@x]") == t);
    after = mw_usage_get();
    EXPECT_INT(after.collectives, before.collectives + 1);
    EXPECT_INT(after.bytes_received, 4 * 3 * 4);
    EXPECT_INT(after.bytes_unasked, 0);
    return MW_OK;
}

static void test_the_same_mark_twice_moves_nothing_another_one_does(void **state)
{
    (void)state;
    run_on("x=2", twice_equal);
}

static mw_status redistributes(void *user)
{
    (void)user;
    mw_tensor *t = mw_mark_sharding(counted(7, 5), NULL, "[7@x, 5]");
    mw_tensor *u = mw_redistribute(t, NULL, "[7, 5@x]"),
              *same = mw_redistribute(t, NULL, "[7@x, 5]");
    EXPECT(u && same && u != t && same != t);
    EXPECT_COUNTED(t, 1, 0);
    EXPECT_COUNTED(u, 1, 0);
    EXPECT_COUNTED(same, 1, 0);
    EXPECT_COUNTED(mw_add(u, t, 1), 2, 0);
    mw_tensor *terms = mw_redistribute(t, NULL, "[7, 5]{sum:x}");
    EXPECT_COUNTED(terms, 1, 0);
    EXPECT_COUNTED(mw_add_scalar(terms, 1, 1), 1, 1); /* not once per term */
    return MW_OK;
}

static void test_a_redistribution_is_a_new_tensor(void **state)
{
    (void)state;
    run_on_all(redistributes);
}

static mw_status data_and_reading(void *user)
{
    (void)user;
    static const char *const layouts[] = {"replicated", "[5@x, 3]", "[5, 3@x]", "f32[5@x, 3?]"};
    float data[15];
    for (int i = 0; i < 15; i++)
        data[i] = (float)i;
    for (int i = 0; i < 4; i++) {
        mw_tensor *t = mw_from_data(MW_DTYPE_f32, MW_INTS(5, 3), data, NULL, layouts[i]);
        EXPECT(t);
        EXPECT_COUNTED(t, 1, 0);
        int32_t whole[15];
        EXPECT_OK(mw_read(t, MW_DTYPE_i32, whole, sizeof whole));
        EXPECT_INT(whole[14], 14);
        EXPECT(mw_read(t, MW_DTYPE_f32, whole, 8) == MW_ERR_ARG);
        EXPECT_HAS(mw_last_error()->says, "60 bytes as f32, the buffer 8");
        mw_error_clear();
    }
    if (mw_mesh_axis_size(mw_mesh_world(), 0) > 1) {
        EXPECT(!mw_from_data(MW_DTYPE_f32, MW_INTS(5, 3), data, NULL, "[5, 3]{sum:x}"));
        EXPECT_HAS(mw_last_error()->says, "is partial; data is whole");
        mw_error_clear();
    }
    EXPECT(!mw_from_data(MW_DTYPE_f32, MW_INTS(5, 3), data, NULL, "[5, 4]"));
    EXPECT_INT(mw_last_error()->code, MW_ERR_SHAPE);
    mw_error_clear();
    return MW_OK;
}

static void test_data_is_read_as_it_was_given(void **state)
{
    (void)state;
    run_on_all(data_and_reading);
}

static mw_status items_and_text(void *user)
{
    (void)user;
    mw_tensor *t = mw_mark_sharding(counted(2, 3), NULL, "[2, 3@x]");
    double value = 0;
    char text[128];
    int64_t length = 0;
    EXPECT_OK(mw_item(mw_sum(t, MW_DTYPE_NONE), &value));
    EXPECT_INT(value, 15);
    EXPECT(mw_item(t, &value) == MW_ERR_SHAPE);
    EXPECT_HAS(mw_last_error()->says, "item of a tensor of 6 elements");
    mw_error_clear();
    EXPECT_OK(mw_format(mw_mul_scalar(t, 0.5), text, sizeof text, &length));
    EXPECT(strcmp(text + strcspn(text, "\n"), "\n[[0, 0.5, 1],\n [1.5, 2, 2.5]]\n") == 0);
    EXPECT_INT(length, strlen(text));
    char small[4];
    EXPECT_OK(mw_format(t, small, sizeof small, &length));
    EXPECT(length > 3 && strlen(small) == 3);
    EXPECT_OK(mw_format(mw_gt_scalar(mw_arange(3, MW_DTYPE_i64), 1), text, sizeof text, &length));
    EXPECT(strcmp(text, "bool[3]\n[false, false, true]\n") == 0);
    EXPECT_OK(mw_format(mw_arange(0, MW_DTYPE_i64), text, sizeof text, &length));
    EXPECT(strcmp(text, "i64[0]\n[]\n") == 0);
    EXPECT_INT(mw_tensor_size(t, -1), 3);
    EXPECT_INT(mw_tensor_size(t, 7), 0);
    EXPECT_INT(mw_tensor_ndim(t), 2);
    return MW_OK;
}

static void test_items_and_text(void **state)
{
    (void)state;
    run_on_all(items_and_text);
}

/* ---- life ---------------------------------------------------------------------------- */

static mw_status scopes(void *user)
{
    (void)user;
    mw_tensor *outer = counted(8, 8);
    int64_t live = mw_usage_get().live_bytes;
    for (int round = 0; round < 3; round++) {
        mw_scope_begin("a");
        mw_tensor *x = mw_add(outer, outer, 1);
        mw_scope_begin("b");
        mw_tensor *y = mw_mul_scalar(x, 2);
        for (int i = 0; i < 5; i++)
            y = mw_neg(y);
        y = mw_scope_end(y);
        EXPECT_INT(mw_usage_get().live_bytes, live + 2 * 256);
        EXPECT_COUNTED(y, -4, 0);
        EXPECT(mw_scope_end(NULL) == NULL);
        EXPECT_INT(mw_usage_get().live_bytes, live);
    }
    EXPECT_COUNTED(outer, 1, 0);
    mw_scope_begin("c");
    mw_tensor *held = mw_tensor_ref(mw_neg(outer));
    (void)mw_scope_end(NULL);
    EXPECT_COUNTED(held, -1, 0);
    mw_tensor_unref(held);
    EXPECT_INT(mw_usage_get().live_bytes, live);
    for (int i = 0; i < 40; i++) /* deeper than the call chain that is told */
        mw_scope_begin("deep");
    mw_tensor *deep = mw_neg(outer);
    for (int i = 0; i < 40; i++)
        deep = mw_scope_end(deep);
    EXPECT_COUNTED(deep, -1, 0);
    mw_scope_begin("views keep memory");
    mw_tensor *part = mw_scope_end(mw_select_int(mw_add_scalar(outer, 3, 1), 0, 0));
    EXPECT_COUNTED(part, 1, 3);
    EXPECT(mw_scope_end(part) == part); /* of no scope: nothing happens */
    EXPECT_COUNTED(part, 1, 3);
    return MW_OK;
}

static void test_scopes_end_their_tensors_but_one(void **state)
{
    (void)state;
    run_on("x=1", scopes);
    run_on("x=3", scopes);
}

static mw_status warm(void *user)
{
    (void)user;
    mw_tensor *w = mw_mark_sharding(counted(16, 8), NULL, "[16@x, 8]");
    mw_tensor *x = counted(4, 8);
    int64_t before = 0, misses = 0;
    for (int i = 0; i < 100; i++) {
        if (i == 4) before = mw_usage_get().allocations, misses = mw_usage_get().misses;
        mw_scope_begin("step");
        mw_tensor *y = mw_linear(x, w, NULL);
        y = mw_add(mw_relu(y), y, 1);
        y = mw_view(mw_permute(y, MW_INTS(1, 0)), MW_INTS(4, 4, 4));
        (void)mw_mark_sharding(y, NULL, "replicated");
        (void)mw_copy_(x, mw_add_scalar(x, 0, 1), false);
        double value;
        EXPECT_OK(mw_item(mw_sum(mw_linear(x, w, NULL), MW_DTYPE_NONE), &value));
        (void)mw_scope_end(NULL);
    }
    EXPECT_INT(mw_usage_get().misses, misses);
    /* While peers still read a block, a step may need one more, once or a few times. */
    int64_t more = mw_usage_get().allocations - before;
    EXPECT(more <= (mw_mesh_ranks(mw_mesh_world()) == 1 ? 0 : 20));
    return MW_OK;
}

static void test_a_warm_program_asks_for_no_memory(void **state)
{
    (void)state;
    run_on_all(warm);
}

static mw_status in_place_on_views(void *user)
{
    (void)user;
    mw_tensor *t = mw_mark_sharding(counted(8, 6), NULL, "[8@x, 6]");
    mw_tensor *column = mw_select_int(t, 1, 2);
    EXPECT(mw_copy_(column, mw_mul_scalar(mw_arange(8, MW_DTYPE_f32), 100), false));
    double all[48];
    EXPECT_OK(mw_read(t, MW_DTYPE_f64, all, sizeof all));
    for (int i = 0; i < 48; i++)
        EXPECT_INT(all[i], i % 6 == 2 ? i / 6 * 100 : i);
    mw_tensor *moved = mw_redistribute(t, NULL, "[8, 6@x]"); /* peers may still read t now */
    EXPECT(mw_copy_(t, mw_neg(t), false));
    EXPECT_OK(mw_read(moved, MW_DTYPE_f64, all, sizeof all));
    EXPECT_INT(all[47], 47);
    EXPECT_OK(mw_read(t, MW_DTYPE_f64, all, sizeof all));
    EXPECT_INT(all[47], -47);
    return MW_OK;
}

static void test_in_place_ops_write_through_views(void **state)
{
    (void)state;
    run_on_all(in_place_on_views);
}

/* A row of a tensor that is split by rows has to be moved: writing into it can't reach the tensor.
 */
static mw_status in_place_on_a_moved_view(void *user)
{
    (void)user;
    mw_tensor *t = mw_mark_sharding(counted(8, 6), NULL, "[8@x, 6]");
    mw_tensor *row = mw_select_int(t, 0, 1);
    EXPECT(row);
    EXPECT(!mw_copy_(mw_alias(row), mw_arange(6, MW_DTYPE_f32), false)); /* a view of it neither */
    EXPECT_INT(mw_last_error()->code, MW_ERR_LAYOUT);
    EXPECT_HAS(mw_last_error()->says, "copy_ would write into a view that had to be moved");
    EXPECT_HAS(mw_last_error()->hint, "mark_sharding");
    return mw_last_error()->code;
}

static void test_a_moved_view_is_not_written_to(void **state)
{
    (void)state;
    mw_launch_options options = {.mesh = "x=2"};
    assert_int_equal(mw_launch(&options, in_place_on_a_moved_view, NULL), MW_ERR_LAYOUT);
}

/* ---- errors -------------------------------------------------------------------------- */

static mw_status passes_null_on(void *user)
{
    (void)user;
    mw_tensor *x = counted(4, 6), *w = counted(5, 6);
    mw_scope_begin("net");
    mw_tensor *bad = mw_mm(x, w); /* 4x6 by 5x6 */
    int line = __LINE__ - 1;
    (void)mw_scope_end(NULL);
    EXPECT(!bad);
    char first[sizeof mw_last_error()->says], at[64];
    (void)snprintf(first, sizeof first, "%s", mw_last_error()->says);
    (void)snprintf(at, sizeof at, "test_run.c:%d in net", line);
    EXPECT_INT(mw_last_error()->code, MW_ERR_SHAPE);
    EXPECT_HAS(mw_last_error()->where, "mm(f32[4, 6], f32[5, 6]) at ");
    EXPECT_HAS(mw_last_error()->where, at);
    mw_tensor *y = mw_add(mw_relu(bad), x, 1), *parts[4], *list[] = {x, bad};
    EXPECT(!y && !mw_cat(list, 2, 0) && mw_split(bad, 2, 0, parts, 4) == -1);
    EXPECT(!mw_mark_sharding(bad, NULL, "replicated") && !mw_redistribute(bad, NULL, "replicated"));
    EXPECT(!mw_linear(x, w, bad)); /* an optional operand that failed is not an absent one */
    EXPECT(!mw_layer_norm(x, MW_INTS(6), bad, NULL, 1e-5, true));
    EXPECT(!mw_tensor_name(bad, "bad") && !mw_copy_(bad, x, false));
    double value;
    EXPECT(mw_item(bad, &value) == MW_ERR_SHAPE &&
           mw_read(bad, MW_DTYPE_f32, &value, 8) == MW_ERR_SHAPE);
    EXPECT(strcmp(mw_last_error()->says, first) == 0);
    mw_error_clear();
    EXPECT(mw_linear(x, w, NULL));
    EXPECT(!mw_neg(NULL));
    EXPECT_HAS(mw_last_error()->says, "neg: an operand is NULL");
    mw_error_clear();
    return MW_OK;
}

static void test_null_passes_through_and_the_first_error_stays(void **state)
{
    (void)state;
    run_on("x=1", passes_null_on);
    run_on("x=2", passes_null_on);
}

/* Other axes over the same ranks: what is placed there is said on the launch's mesh. An order of
 * ranks that its axes can't say keeps the tensor apart. */
static mw_status other_mesh(void *user)
{
    (void)user;
    mw_mesh *mesh, *flat, *odd;
    EXPECT_OK(mw_mesh_parse("r=2,s=2", &mesh));
    EXPECT_OK(mw_mesh_parse("n=4", &flat));
    EXPECT_OK(mw_mesh_parse("r=2,s=2 ids=[0,2,3,1]", &odd));
    float data[4] = {1, 2, 3, 4};
    mw_tensor *a = mw_from_data(MW_DTYPE_f32, MW_INTS(4), data, NULL, "[4@x]");
    mw_tensor *b = mw_from_data(MW_DTYPE_f32, MW_INTS(4), data, mesh, "[4@s]");
    mw_tensor *c = mw_from_data(MW_DTYPE_f32, MW_INTS(4), data, odd, "[4@s]");
    EXPECT(a && b && c);
    EXPECT(strcmp(run_layout(b), "f32[4@y]") == 0);
    EXPECT(strcmp(run_layout(c), "f32[4@s]") == 0);
    EXPECT(mw_add(a, b, 1));
    EXPECT(mw_mark_sharding(b, flat, "[4@n]"));
    EXPECT(strcmp(run_layout(b), "f32[4@x,y]") == 0);
    EXPECT(mw_mark_sharding(b, flat, "S(0)"));
    EXPECT(mw_mark_sharding(b, mesh, "('r',)"));
    EXPECT(strcmp(run_layout(b), "f32[4@x]") == 0);
    EXPECT(!mw_add(a, c, 1));
    EXPECT_INT(mw_last_error()->code, MW_ERR_LAYOUT);
    EXPECT_HAS(mw_last_error()->says, "mesh x=2,y=2");
    EXPECT_HAS(mw_last_error()->says, "mesh r=2,s=2 ids=[0,2,3,1]");
    mw_error_clear();
    EXPECT(!mw_mark_sharding(a, NULL, "[4@z]"));
    EXPECT_INT(mw_last_error()->code, MW_ERR_PARSE);
    mw_error_clear();
    EXPECT(!mw_mark_sharding(a, NULL, "[5@x]"));
    EXPECT_HAS(mw_last_error()->says, "does not fit a tensor of type f32[4@x]");
    mw_error_clear();
    mw_mesh_unref(mesh);
    mw_mesh_unref(flat);
    mw_mesh_unref(odd);
    return MW_OK;
}

static void test_tensors_of_several_meshes(void **state)
{
    (void)state;
    run_on("x=2,y=2", other_mesh);
}

static mw_status nothing(void *user)
{
    (void)user;
    return MW_OK;
}

static mw_status launches(void *user)
{
    (void)user;
    EXPECT(mw_launch(&(mw_launch_options){.mesh = "x=2"}, nothing, NULL) == MW_ERR_ARG);
    mw_error_clear();
    return MW_OK;
}

static void test_launching_checks_what_it_is_given(void **state)
{
    (void)state;
    assert_int_equal(mw_launch(&(mw_launch_options){.mesh = "x=0"}, nothing, NULL), MW_ERR_ARG);
    assert_int_equal(mw_launch(&(mw_launch_options){.mesh = "x"}, nothing, NULL), MW_ERR_PARSE);
    mw_launch_options smoke = {.mesh = "x=2", .backend = "smoke"};
    assert_int_equal(mw_launch(&smoke, nothing, NULL), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->hint, "threads"));
    assert_int_equal(mw_launch(&(mw_launch_options){.mesh = "x=5000"}, nothing, NULL), MW_ERR_ARG);
    run_on("x=2", launches);
    mw_error_clear();
    assert_null(mw_arange(3, MW_DTYPE_f32));
    assert_non_null(strstr(mw_last_error()->hint, "mw_launch"));
    assert_int_equal(mw_rank_index(), 0);
    assert_null(mw_mesh_world());
    mw_error_clear();
}

/* ---- the boxed call ------------------------------------------------------------------ */

static mw_status boxed(void *user)
{
    (void)user;
    mw_tensor *x = counted(4, 6), *out[4];
    int n = 0;
    mw_value self = {.kind = MW_ARG_TENSOR, .as.tensor = x};
    mw_value alpha = {.name = "alpha", .kind = MW_ARG_INT, .as.i = 3};
    mw_value other = {.name = "other", .kind = MW_ARG_TENSOR, .as.tensor = x};
    EXPECT_OK(mw_op_call("aten::add.Tensor", ((mw_value[]){self, alpha, other}), 3, out, 4, &n));
    EXPECT_INT(n, 1);
    EXPECT_COUNTED(out[0], 4, 0);
    mw_value size = {.name = "split_size", .kind = MW_ARG_INT, .as.i = 2};
    mw_value dim = {.name = "dim", .kind = MW_ARG_INT, .as.i = -1};
    EXPECT_OK(mw_op_call("split", ((mw_value[]){self, dim, size}), 3, out, 4, &n));
    EXPECT_INT(n, 3);
    EXPECT_INT(mw_tensor_size(out[2], 1), 2);
    EXPECT(mw_op_call("split", ((mw_value[]){self, dim, size}), 3, out, 2, &n) == MW_ERR_ARG);
    EXPECT_HAS(mw_last_error()->says, "gives 3 tensors, and there is room for 2");
    EXPECT(mw_op_call("ad", &self, 1, out, 4, &n) == MW_ERR_ARG);
    EXPECT_HAS(mw_last_error()->hint, "add");
    mw_value symbol = {.kind = MW_ARG_SYMBOL, .as.s = "[u0]"};
    EXPECT(mw_op_call("view", ((mw_value[]){self, symbol}), 2, out, 4, &n) == MW_ERR_ARG);
    EXPECT_HAS(mw_last_error()->says, "view: expected");
    EXPECT_HAS(mw_last_error()->says, "for argument 'size' (position 1), got a value known only at "
                                      "run time: [u0]");
    EXPECT_HAS(mw_last_error()->says, "declaration: aten::view(Tensor(a) self, SymInt[] size)");
    EXPECT_HAS(mw_last_error()->where, "test_run.c:");
    mw_value none = {.kind = MW_ARG_TENSOR};
    mw_error_clear();
    EXPECT(mw_op_call("neg", &none, 1, out, 4, &n) == MW_ERR_ARG);
    EXPECT(mw_op_call("neg", NULL, 0, out, 4, &n) == MW_ERR_ARG);
    mw_error_clear();
    return MW_OK;
}

static void test_the_boxed_call_takes_names_and_checks_them(void **state)
{
    (void)state;
    run_on_all(boxed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mark_replaces_the_handle_and_nothing_else),
        cmocka_unit_test(test_the_same_mark_twice_moves_nothing_another_one_does),
        cmocka_unit_test(test_a_redistribution_is_a_new_tensor),
        cmocka_unit_test(test_data_is_read_as_it_was_given),
        cmocka_unit_test(test_items_and_text),
        cmocka_unit_test(test_scopes_end_their_tensors_but_one),
        cmocka_unit_test(test_a_warm_program_asks_for_no_memory),
        cmocka_unit_test(test_in_place_ops_write_through_views),
        cmocka_unit_test(test_a_moved_view_is_not_written_to),
        cmocka_unit_test(test_null_passes_through_and_the_first_error_stays),
        cmocka_unit_test(test_tensors_of_several_meshes),
        cmocka_unit_test(test_launching_checks_what_it_is_given),
        cmocka_unit_test(test_the_boxed_call_takes_names_and_checks_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
