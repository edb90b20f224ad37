/* What a library user builds with: shards given and taken, manual regions, slices of meshes, ops of
 * one's own, sharded tensors as text. Every program runs on several meshes. */
#include "run_check.h"

#include <stdlib.h>

static const char *const meshes[] = {"x=1", "x=2", "x=3", "x=2,y=2", "x=2,y=2 ids=[3,1,0,2]"};

static void run_on_all(mw_status (*program)(void *))
{
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        run_on(meshes[i], program);
}

static mw_tensor *counted(int64_t rows, int64_t columns)
{
    return mw_view(mw_arange((double)(rows * columns), MW_DTYPE_f32), MW_INTS(rows, columns));
}

static mw_status is_counted(mw_tensor *t, double factor, double plus)
{
    double data[64];
    int64_t count = mw_tensor_size(t, 0) * mw_tensor_size(t, 1);
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

/* ---- shards --------------------------------------------------------------------------------- */

static mw_status shards_go_out_and_in(void *user)
{
    (void)user;
    mw_local local;
    mw_tensor *t = mw_mark_sharding(counted(5, 3), NULL, "[5@x, 3]");
    EXPECT_OK(mw_to_local(t, &local));
    EXPECT_INT(local.ndim, 2);
    EXPECT_INT(local.dtype, MW_DTYPE_f32);
    int64_t shape[2];
    mw_layout_local_shape(mw_mesh_world(), mw_tensor_layout(t), mw_rank_index(), shape);
    EXPECT_INT(local.shape[0], shape[0]);
    EXPECT_INT(local.stride[0], 3);
    mw_tensor *back = mw_from_local(MW_DTYPE_f32, local.shape, 2, local.data, NULL, "f32[5@x, 3]");
    EXPECT(back != NULL);
    EXPECT_COUNTED(back, 1, 0);
    mw_tensor *turned = mw_t(t);
    EXPECT_OK(mw_to_local(turned, &local)); /* as it lies: nothing is copied */
    EXPECT_INT(local.stride[1], 3);
    return MW_OK;
}

static void test_shards_go_out_and_in(void **state)
{
    (void)state;
    run_on_all(shards_go_out_and_in);
}

static mw_status shard_of_another_shape(void *user)
{
    (void)user;
    const int64_t shape[2] = {3, 3};
    const float data[9] = {0};
    EXPECT(!mw_from_local(MW_DTYPE_f32, shape, 2, data, NULL, "f32[5@x, 3]") ||
           mw_rank_index() == 0);
    if (mw_rank_index() == 1)
        EXPECT_HAS(mw_last_error()->says, "rank 1's shard of f32[5@x, 3] has shape [2, 3], the "
                                          "data has [3, 3]");
    return MW_OK;
}

static void test_shard_of_another_shape(void **state)
{
    (void)state;
    run_on("x=2", shard_of_another_shape);
}

static mw_status data_of_the_first_rank(void *user)
{
    (void)user;
    const int64_t shape[2] = {3, 2};
    const float data[6] = {0, 1, 2, 3, 4, 5};
    int first = mw_mesh_coord(mw_mesh_world(), mw_rank_index(), 0) == 0 &&
                mw_rank_index() == mw_mesh_rank_at(mw_mesh_world(), (const int[2]){0, 0});
    mw_tensor *t = mw_distribute(MW_DTYPE_f32, shape, 2, first ? data : NULL, NULL, "[3@x, 2]");
    EXPECT(t != NULL);
    EXPECT_COUNTED(t, 1, 0);
    if (mw_mesh_axis_size(mw_mesh_world(), 0) == 2) EXPECT_HAS(run_layout(t), "f32[3@x, 2]");
    mw_tensor *sum = mw_matmul(mw_mark_sharding(counted(2, 4), NULL, "[2, 4@x]"),
                               mw_mark_sharding(counted(4, 2), NULL, "[4@x, 2]"));
    mw_tensor *full = mw_full_tensor(sum);
    EXPECT(full != NULL);
    EXPECT_INT(mw_tensor_layout(full)->npartial, 0);
    double want[4];
    EXPECT_OK(mw_read(full, MW_DTYPE_f64, want, sizeof want));
    EXPECT(want[0] == 28 && want[3] == 98);
    return MW_OK;
}

static void test_data_of_the_first_rank(void **state)
{
    (void)state;
    run_on_all(data_of_the_first_rank);
}

/* ---- regions -------------------------------------------------------------------------------- */

static mw_status add_rows(void *user, const mw_local *in, const mw_local *out)
{
    double plus = *(const double *)user;
    for (int64_t r = 0; r < in[0].shape[0]; r++)
        for (int64_t c = 0; c < in[0].shape[1]; c++)
            ((float *)out[0].data)[r * out[0].stride[0] + c] =
                ((const float *)in[0].data)[r * in[0].stride[0] + c * in[0].stride[1]] +
                (float)plus;
    return MW_OK;
}

static mw_status manual_region(void *user)
{
    (void)user;
    double plus = 7;
    mw_tensor *t = mw_mark_sharding(counted(6, 5), NULL, "[6, 5@x]"), *out = NULL;
    const char *in_layout = "[6@x, 5]", *out_layout = "f32[6@x, 5]";
    EXPECT_OK(mw_local_map(&t, &in_layout, 1, &out_layout, 1, add_rows, &plus, &out));
    EXPECT_COUNTED(out, 1, 7);
    EXPECT_COUNTED(t, 1, 0);
    return MW_OK;
}

static void test_manual_region(void **state)
{
    (void)state;
    run_on_all(manual_region);
}

static mw_status fails_on_rank_1(void *user, const mw_local *in, const mw_local *out)
{
    (void)user, (void)in, (void)out;
    return mw_rank_index() == 1 ? mw_error_set(MW_ERR_ARG, "no luck on this rank") : MW_OK;
}

static mw_status region_that_fails(void *user)
{
    (void)user;
    mw_tensor *out = NULL;
    const char *out_layout = "f32[4@x]";
    mw_status status = mw_local_map(NULL, NULL, 0, &out_layout, 1, fails_on_rank_1, NULL, &out);
    if (status == MW_OK) status = mw_barrier();
    return status;
}

static void test_region_that_fails(void **state)
{
    (void)state;
    assert_int_not_equal(
        mw_launch(&(mw_launch_options){.mesh = "x=2", .timeout = 30}, region_that_fails, NULL),
        MW_OK);
    assert_non_null(strstr(mw_last_error()->says, "no luck on this rank"));
}

/* ---- slices --------------------------------------------------------------------------------- */

static mw_status on_a_slice(void *user)
{
    (void)user;
    mw_mesh *world = mw_mesh_world(), *slice;
    EXPECT_OK(mw_mesh_slice(NULL, "y", &slice));
    EXPECT_INT(mw_mesh_ranks(slice), 2);
    /* the ranks of each slice have values of their own */
    int x = mw_mesh_coord(world, mw_rank_index(), 0);
    float data[12];
    for (int i = 0; i < 12; i++)
        data[i] = (float)(i + 100 * x);
    const int64_t shape[2] = {4, 3};
    mw_tensor *t = mw_from_data(MW_DTYPE_f32, shape, 2, data, slice, "[4@y, 3]");
    EXPECT_COUNTED(t, 1, 100 * x);
    mw_tensor *twice = mw_add(t, t, 1);
    EXPECT_HAS(run_layout(twice), "f32[4@y, 3]");
    EXPECT_COUNTED(twice, 2, 200 * x);
    double sum;
    EXPECT_OK(mw_item(mw_sum(t, MW_DTYPE_NONE), &sum));
    EXPECT(sum == 66 + 1200 * x);
    EXPECT(mw_mark_sharding(t, NULL, "[4, 3@y]") == t);
    EXPECT_COUNTED(t, 1, 100 * x);
    mw_mesh_unref(slice);
    return MW_OK;
}

static mw_status two_meshes(void *user)
{
    (void)user;
    mw_mesh *slice;
    EXPECT_OK(mw_mesh_slice(NULL, "y", &slice));
    mw_tensor *t = mw_empty_layout(slice, &(mw_layout){.dtype = MW_DTYPE_f32});
    EXPECT(!mw_add(mw_sum(counted(2, 2), MW_DTYPE_NONE), t, 1));
    EXPECT_HAS(mw_last_error()->says, "mesh x=2,y=2");
    EXPECT_HAS(mw_last_error()->says, "mesh y=2 on ranks [");
    mw_error_clear();
    EXPECT(mw_mesh_slice(NULL, "z", &slice) == MW_ERR_ARG);
    EXPECT_HAS(mw_last_error()->says, "has no axis 'z'");
    mw_error_clear();
    return MW_OK;
}

static void test_slices_of_a_mesh(void **state)
{
    (void)state;
    run_on("x=2,y=2", on_a_slice);
    run_on("x=2,y=2 ids=[3,1,0,2]", on_a_slice);
    run_on("x=3,y=2", on_a_slice);
    run_on("x=2,y=2", two_meshes);
}

/* ---- text ----------------------------------------------------------------------------------- */

static mw_status shards_as_text(void *user)
{
    (void)user;
    char text[1000];
    int64_t length;
    mw_tensor *t = mw_mark_sharding(counted(3, 2), NULL, "[3@x, 2]");
    EXPECT_OK(mw_format_shards(t, text, sizeof text, &length));
    EXPECT(strcmp(text, "f32[3@x, 2] on x=2\n"
                        "rank 0 (x 0) [0:2, 0:2]\n[[0, 1],\n [2, 3]]\n"
                        "rank 1 (x 1) [2:3, 0:2]\n[[4, 5]]\n") == 0);
    EXPECT_INT(length, strlen(text));
    t = mw_matmul(mw_mark_sharding(counted(1, 2), NULL, "[1, 2@x]"),
                  mw_mark_sharding(counted(2, 1), NULL, "[2@x, 1]"));
    EXPECT_OK(mw_format_shards(t, text, sizeof text, &length));
    EXPECT_HAS(text, "rank 1 (x 1) [0:1, 0:1], a term of sum over x\n[[1]]\n");
    return MW_OK;
}

static void test_shards_as_text(void **state)
{
    (void)state;
    run_on("x=2", shards_as_text);
}

/* ---- ops of one's own ----------------------------------------------------------------------- */

static mw_status scale_rows(const mw_kernel *k)
{
    const mw_local *x = &k->in[0], *by = &k->in[1], *out = &k->out[0];
    double times = mw_kernel_float(k, 2, 1);
    for (int64_t r = 0; r < out->shape[0]; r++)
        for (int64_t c = 0; c < out->shape[1]; c++)
            ((float *)out->data)[r * out->stride[0] + c * out->stride[1]] =
                ((const float *)x->data)[r * x->stride[0] + c * x->stride[1]] *
                ((const float *)by->data)[r * by->stride[0]] * (float)times;
    return MW_OK;
}

static mw_op_definition scaling(const char *schema, const char *rule)
{
    return (mw_op_definition){.schema = schema,
                              .rule = rule,
                              .doc = "Multiplies each row by a number.",
                              .linear = 1 << 0 | 1 << 1,
                              .samples = "f32[4, 6], f32[4], 2; f32[5, 3], f32[5], -1",
                              .kernel = scale_rows};
}

static mw_status calls_its_op(void *user)
{
    (void)user;
    mw_tensor *x = mw_mark_sharding(counted(4, 3), NULL, "[4@x, 3]"), *out;
    const float two[4] = {2, 2, 2, 2};
    const int64_t shape[1] = {4};
    mw_tensor *by = mw_from_data(MW_DTYPE_f32, shape, 1, two, NULL, "[4@x]");
    const mw_value args[3] = {{.kind = MW_ARG_TENSOR, .as.tensor = x},
                              {.kind = MW_ARG_TENSOR, .as.tensor = by},
                              {.kind = MW_ARG_FLOAT, .as.f = 1.5}};
    int n;
    int64_t before = mw_usage_get().bytes_received;
    EXPECT_OK(mw_op_call("mine::scale_rows", args, 3, &out, 1, &n));
    EXPECT_INT(mw_usage_get().bytes_received, before);
    EXPECT_COUNTED(out, 3, 0);
    return MW_OK;
}

static void test_op_of_ones_own(void **state)
{
    (void)state;
    mw_op_definition d = scaling("mine::scale_rows(Tensor self, Tensor by, float times) -> Tensor",
                                 "self[m n] by[m] -> [m n]");
    assert_int_equal(mw_op_define(&d), MW_OK);
    run_on_all(calls_its_op);
    mw_verify_result r;
    assert_int_equal(mw_verify("mine::scale_rows", NULL, NULL, NULL, &r), MW_OK);
    assert_true(r.combinations > 100 && r.valid > 0);
    assert_int_equal(r.incorrect, 0);
    assert_int_equal(r.missing, 0);
    assert_int_equal(mw_op_define(&d), MW_ERR_ARG); /* taken */
    d.schema = "mine::bad(Tensor self -> Tensor";
    assert_int_equal(mw_op_define(&d), MW_ERR_PARSE);
}

typedef struct seen {
    int incorrect, missing;
    char placements[128], says[1024];
} seen;

static void note(void *user, const mw_verify_finding *f)
{
    seen *s = user;
    if (f->kind == MW_FINDING_MISSING) s->missing++;
    if (f->kind != MW_FINDING_INCORRECT || s->incorrect++) return;
    (void)snprintf(s->placements, sizeof s->placements, "%s", f->placements);
    (void)snprintf(s->says, sizeof s->says, "%s", f->says);
}

/* The kernel scales row r by by[r]; this rule splits `by` with the columns. */
static void test_wrong_rule_is_found(void **state)
{
    (void)state;
    mw_op_definition d = scaling("mine::scale_wrong(Tensor self, Tensor by, float times) -> Tensor",
                                 "self[m n] by[n] -> [m n]");
    d.samples = "f32[4, 4], f32[4], 2";
    assert_int_equal(mw_op_define(&d), MW_OK);
    mw_verify_result r;
    seen s = {0};
    assert_int_equal(mw_verify("mine::scale_wrong", NULL, note, &s, &r), MW_OK);
    assert_int_equal(r.incorrect, s.incorrect);
    assert_true(r.incorrect >= 2);
    assert_string_equal(s.placements, "S(0), R -> S(0)");
    assert_non_null(strstr(s.says, "one rank gives"));
    assert_non_null(strstr(s.says, "operand 0 as S(0): rank 0 ["));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_go_out_and_in),
        cmocka_unit_test(test_shard_of_another_shape),
        cmocka_unit_test(test_data_of_the_first_rank),
        cmocka_unit_test(test_manual_region),
        cmocka_unit_test(test_region_that_fails),
        cmocka_unit_test(test_slices_of_a_mesh),
        cmocka_unit_test(test_shards_as_text),
        cmocka_unit_test(test_op_of_ones_own),
        cmocka_unit_test(test_wrong_rule_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
