/* Annotations where PyTorch/XLA's users expect them: uneven dims, specs that are not in order, axes
 * together, ids in another order, a second mark, writes in place. By what the tensor says of
 * itself, what it holds, and what a second mark costs. */
#include "run_check.h"

static mw_tensor *counted(int ndim, const int64_t *shape)
{
    double count = 1;
    for (int d = 0; d < ndim; d++)
        count *= (double)shape[d];
    return mw_view(mw_arange(count, MW_DTYPE_f32), shape, ndim);
}

static mw_status mark(mw_tensor *t, const int64_t *ids, const char *shape, const char *spec)
{
    mw_tensor *out;
    int n;
    const mw_value args[] = {{.kind = MW_ARG_TENSOR, .as.tensor = t},
                             {.kind = MW_ARG_INTS, .count = 4, .as.ints = ids},
                             {.kind = MW_ARG_STR, .as.s = shape},
                             {.kind = MW_ARG_STR, .as.s = "None"},
                             {.kind = MW_ARG_STR, .as.s = spec}};
    return mw_op_call("xla::dynamo_mark_sharding", args, 5, &out, 1, &n);
}

static const int64_t in_order[] = {0, 1, 2, 3}, halves[] = {2, 3, 0, 1}, reversed[] = {3, 2, 1, 0};

typedef struct expected {
    int ndim;
    int64_t shape[4];
    const char *mesh, *spec, *text;
} expected;

static const expected cases[] = {
    {2, {8, 4}, "(2, 2)", "(0, 1)", "{devices=[2,2]0,1,2,3}"},
    {2, {8, 4}, "(2, 2)", "(1, 0)", "{devices=[2,2]0,2,1,3}"},
    {3, {2, 4, 6}, "(2, 2)", "(1, None, 0)", "{devices=[2,1,2]0,2,1,3}"},
    {4, {2, 3, 4, 2}, "(1, 2, 1, 2)", "(3, 0, 2, 1)", "{devices=[2,1,1,2]0,2,1,3}"},
    {2, {8, 4}, "(2, 2)", "((0, 1), None)", "{devices=[4,1]0,1,2,3}"},
    {2, {8, 4}, "(2, 2)", "(None, 0)", "{devices=[1,2,2]0,1,2,3 last_tile_dim_replicate}"},
    {1, {128}, "(4,)", "(0,)", "{devices=[4]0,1,2,3}"},
    {2, {5, 3}, "(4, 1)", "(0, 1)", "{devices=[4,1]0,1,2,3}"}, /* 5 = n + 1 */
    {2, {3, 5}, "(4, 1)", "(0, 1)", "{devices=[4,1]0,1,2,3}"}, /* fewer than n */
    {2, {8, 4}, "(2, 2)", "(None, None)", "{replicated}"},
    {0, {0}, "(2, 2)", "()", "{replicated}"},
};

static mw_status marks(void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const expected *c = &cases[i];
        mw_tensor *t = counted(c->ndim, c->shape);
        char got[160];
        if (mark(t, in_order, c->mesh, c->spec) != MW_OK)
            return run_wrong(__FILE__, __LINE__, "case %zu fails", i);
        EXPECT_OK(mw_get_sharding(t, got, sizeof got));
        if (strcmp(got, c->text) != 0)
            return run_wrong(__FILE__, __LINE__, "case %zu: %s, not %s", i, got, c->text);
        float value[256];
        int64_t count = 1;
        for (int d = 0; d < c->ndim; d++)
            count *= c->shape[d];
        EXPECT(mw_add__scalar(t, 1, 1)); /* keeps where it lies */
        EXPECT_OK(mw_get_sharding(t, got, sizeof got));
        EXPECT(strcmp(got, c->text) == 0);
        EXPECT_OK(mw_read(t, MW_DTYPE_f32, value, count * (int64_t)sizeof value[0]));
        for (int64_t k = 0; k < count; k++)
            EXPECT(value[k] == (float)(k + 1));
        mw_usage before = mw_usage_get();
        EXPECT_OK(mark(t, in_order, c->mesh, c->spec)); /* the same again does nothing */
        EXPECT_INT(mw_usage_get().collectives - before.collectives, 0);
        EXPECT(mw_clear_sharding(t) == t);
        EXPECT_OK(mark(t, in_order, "(4,)",
                       c->ndim == 1   ? "(None,)"
                       : c->ndim == 2 ? "(None, None)"
                       : c->ndim == 3 ? "(None, None, None)"
                       : c->ndim == 4 ? "(None, None, None, None)"
                                      : "()"));
        EXPECT_OK(mw_get_sharding(t, got, sizeof got));
        EXPECT(strcmp(got, "{replicated}") == 0);
    }
    return MW_OK;
}

/* Ids in an order that no axes of the launch say: an error that names both, and the tensor stays.
 */
static mw_status other_orders(void *user)
{
    (void)user;
    static const int64_t shape[] = {8, 4};
    mw_tensor *t = counted(2, shape);
    double sum;
    EXPECT_OK(mark(t, halves, "(2, 2)", "(None, 1)")); /* within a row it is the order */
    mw_status status = mark(t, reversed, "(4, 1)", "(0, 1)");
    EXPECT_INT(status, MW_ERR_LAYOUT);
    EXPECT_HAS(mw_last_error()->says, "no layout on mesh");
    mw_error_clear();
    EXPECT_OK(mw_item(mw_sum(t, MW_DTYPE_NONE), &sum));
    EXPECT(sum == 496);
    return MW_OK;
}

static void test_marks(void **state)
{
    (void)state;
    run_on("x=2,y=2", marks);
}

static void test_other_orders(void **state)
{
    (void)state;
    run_on("x=2,y=2", other_orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_other_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
