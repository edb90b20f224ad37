/* mark_sharding as PyTorch/XLA's users know it: its declarations by name, its texts, manual
 * regions, several meshes in one program; the same in programs that run op by op and in captured
 * ones. */
#include "run_check.h"

static mw_tensor *counted(int64_t rows, int64_t cols)
{
    return mw_view(mw_arange((double)(rows * cols), MW_DTYPE_f32), MW_INTS(rows, cols));
}

static mw_value tensor(mw_tensor *t)
{
    return (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = t};
}

static mw_value ints(const int64_t *at, int n)
{
    return (mw_value){.kind = MW_ARG_INTS, .count = n, .as.ints = at};
}

static mw_value text(const char *s)
{
    return s ? (mw_value){.kind = MW_ARG_STR, .as.s = s} : (mw_value){.kind = MW_ARG_NONE};
}

static mw_status mark(const char *name, mw_tensor *t, mw_value ids, mw_value shape,
                      const char *names, const char *spec, mw_tensor **ret)
{
    mw_value args[] = {tensor(t), ids, shape, text(names), text(spec)};
    int n;
    return mw_op_call(name, args, 5, ret, 1, &n);
}

static const int64_t ids4[] = {0, 1, 2, 3}, shape22[] = {2, 2}, shape4[] = {4};

/* The calls and what the tensor's text is afterwards, on 2 x 2 ranks. */
static mw_status declared(void *user)
{
    (void)user;
    static const struct {
        const char *name, *shape, *names, *spec, *text;
    } calls[] = {
        {"mark_sharding", NULL, NULL, "(0, 1)", "{devices=[2,2]0,1,2,3}"},
        {"mark_sharding", NULL, NULL, "(1, 0)", "{devices=[2,2]0,2,1,3}"},
        {"mark_sharding", NULL, NULL, "((0, 1), None)", "{devices=[4,1]0,1,2,3}"},
        {"mark_sharding", NULL, NULL, "((1, 0), None)", "{devices=[4,1]0,2,1,3}"},
        {"mark_sharding", NULL, NULL, "(None, 1)",
         "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}"},
        {"mark_sharding", NULL, NULL, "(None, None)", "{replicated}"},
        {"xla::dynamo_mark_sharding", NULL, "('a', 'b')", "('b', None)",
         "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}"},
        {"xla::dynamo_mark_sharding", "(4,)", "None", "(None, 0)", "{devices=[1,4]0,1,2,3}"},
        {"dynamo_mark_sharding", "(2, 2)", "None", "(0, None)",
         "{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        mw_tensor *t = counted(8, 4), *out;
        mw_value shape = calls[i].shape ? text(calls[i].shape) : ints(shape22, 2);
        if (mark(calls[i].name, t, ints(ids4, 4), shape, calls[i].names, calls[i].spec, &out) !=
            MW_OK)
            return run_wrong(__FILE__, __LINE__, "call %zu fails", i);
        char got[128];
        EXPECT(out == t); /* the handle itself is re-placed, whoever keeps the result */
        EXPECT_OK(mw_get_sharding(t, got, sizeof got));
        if (strcmp(got, calls[i].text) != 0)
            return run_wrong(__FILE__, __LINE__, "call %zu: %s, not %s", i, got, calls[i].text);
        double sum;
        EXPECT_OK(mw_item(mw_sum(t, MW_DTYPE_NONE), &sum));
        EXPECT(sum == 496);
    }
    return MW_OK;
}

/* What is refused, and the words that must be there. */
static mw_status refused(void *user)
{
    (void)user;
    static const int64_t twice[] = {0, 1, 2, 2}, far[] = {0, 1, 2, 9}, two[] = {0, 1},
                         shape12[] = {1, 2};
    const mw_value symbol = {.kind = MW_ARG_SYMBOL, .as.s = "[u0]"};
    const struct {
        mw_value ids, shape;
        const char *names, *spec, *says[3];
    } calls[] = {
        {symbol, ints(shape22, 2), NULL, "(0, 1)", {"'device_ids' (position 1)", "[u0]", "int[]"}},
        {ints(two, 2),
         ints(shape22, 2),
         NULL,
         "(0, 1)",
         {"'device_ids' (position 1)", "[0, 1]", "4"}},
        {ints(two, 2), ints(shape12, 2), NULL, "(0, 1)", {"'device_ids'", "runs on 4", "all"}},
        {ints(twice, 4), ints(shape22, 2), NULL, "(0, 1)", {"'device_ids'", "id 2", "twice"}},
        {ints(far, 4), ints(shape22, 2), NULL, "(0, 1)", {"'device_ids'", "id 9", "0 to 3"}},
        {ints(ids4, 4),
         ints(shape22, 2),
         "('a',)",
         "(0, 1)",
         {"'axis_names' (position 3)", "1 names", "2"}},
        {ints(ids4, 4), ints(shape22, 2), "('a', 'a')", "(0, 1)", {"'axis_names'", "'a'", "twice"}},
        {ints(ids4, 4),
         ints(shape22, 2),
         NULL,
         "(0,)",
         {"'partition_spec' (position 4)", "1 entry", "2 dims"}},
        {ints(ids4, 4),
         ints(shape22, 2),
         NULL,
         "(0, 1, None)",
         {"'partition_spec'", "3 entries", "2 dims"}},
        {ints(ids4, 4), ints(shape22, 2), NULL, "(0, 0)", {"'partition_spec'", "twice", "d0"}},
        {ints(ids4, 4), ints(shape22, 2), NULL, "(0, 2)", {"'partition_spec'", "2 axes", "2"}},
        {ints(ids4, 4),
         ints(shape22, 2),
         NULL,
         "((0, (1,)), None)",
         {"'partition_spec'", "tuple", "holds"}},
        {ints(ids4, 4),
         ints(shape22, 2),
         "('a', 'b')",
         "('c', None)",
         {"'partition_spec'", "'c'", "axis"}},
        {ints(ids4, 4),
         text("2 by 2"),
         "None",
         "(0, 1)",
         {"'mesh_shape' (position 2)", "2 by 2", "tuple"}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        mw_tensor *t = counted(8, 4), *out;
        mw_error_clear();
        mw_status status = mark("mark_sharding", t, calls[i].ids, calls[i].shape, calls[i].names,
                                calls[i].spec, &out);
        if (status == MW_OK) return run_wrong(__FILE__, __LINE__, "call %zu is not refused", i);
        for (int k = 0; k < 3; k++)
            if (!strstr(mw_last_error()->says, calls[i].says[k]))
                return run_wrong(__FILE__, __LINE__, "call %zu does not say %s", i,
                                 calls[i].says[k]);
        EXPECT_HAS(mw_last_error()->says, "declaration: ");
    }
    mw_error_clear();
    return MW_OK;
}

/* Ids made by ops of constants are constants, whether the program is captured or not. */
static mw_status ids_from_arange(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    mw_tensor *ids = mw_arange(4, MW_DTYPE_i64), *marked;
    mw_status status =
        mark("mark_sharding", in[0], tensor(ids), ints(shape4, 1), NULL, "(0, None)", &marked);
    out[0] = mw_mul_scalar(in[0], 2); /* the result of the mark is not looked at */
    return status;
}

static mw_status ids_from_input(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    mw_tensor *marked;
    out[0] = in[0];
    return mark("mark_sharding", in[0], tensor(in[1]), ints(shape4, 1), NULL, "(0, None)", &marked);
}

static mw_status captured(void *user)
{
    (void)user;
    const char *in[] = {"f32[8?, 4?]", "i64[4]"};
    mw_tensor *x = counted(8, 4), *out;
    mw_graph *g;
    EXPECT_OK(ids_from_arange(NULL, &x, &out));
    EXPECT_HAS(run_layout(x), "8@x,y");
    EXPECT_OK(mw_capture("marked", ids_from_arange, NULL, NULL, in, 1, 1, &g));
    EXPECT_OK(mw_graph_pass(g, "all"));
    EXPECT_HAS(mw_graph_text(g), "f32[8@x,y, 4]");
    mw_graph_free(g);
    EXPECT(mw_capture("run_time", ids_from_input, NULL, NULL, in, 2, 1, &g) == MW_ERR_ARG);
    EXPECT_HAS(mw_last_error()->says, "'device_ids' (position 1)");
    EXPECT_HAS(mw_last_error()->says, "known only at run time");
    EXPECT_HAS(mw_last_error()->hint, "constants");
    mw_error_clear();
    return MW_OK;
}

/* Each rank adds its own number to its own rows: no op of the whole could say that. */
static mw_status manual(void *user)
{
    (void)user;
    mw_tensor *t = counted(6, 2);
    mw_tensor *own = mw_enable_manual_sharding(t, NULL, "[6@x, 2]");
    EXPECT(own);
    int64_t rows = mw_tensor_size(own, 0);
    mw_usage before = mw_usage_get();
    own = mw_add_scalar(own, 100.0 * mw_rank_index(), 1);
    EXPECT_INT(mw_usage_get().bytes_received - before.bytes_received, 0);
    mw_tensor *back = mw_disable_manual_sharding(own, NULL, "f32[6@x, 2]");
    EXPECT(back);
    double value[12];
    EXPECT_OK(mw_read(back, MW_DTYPE_f64, value, sizeof value));
    for (int i = 0; i < 12; i++)
        EXPECT(value[i] == i + 100.0 * (double)(i / 2 / rows));
    EXPECT(mw_clear_sharding(back) == back);
    EXPECT_HAS(run_layout(back), "6@x");
    return MW_OK;
}

static void test_declared(void **state)
{
    (void)state;
    run_on("x=2,y=2", declared);
    run_on("n=4", declared);
}

static void test_refused(void **state)
{
    (void)state;
    run_on("x=2,y=2", refused);
}

static void test_captured(void **state)
{
    (void)state;
    run_on("x=2,y=2", captured);
}

static void test_manual(void **state)
{
    (void)state;
    run_on("x=2", manual);
    run_on("x=3", manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_captured),
        cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
