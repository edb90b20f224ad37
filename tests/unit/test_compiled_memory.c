/* Whose memory a value is: marks, redistributions and views in programs that write in place, called
 * op by op and compiled, on one rank and on several: one answer. */
#include "run_check.h"

#include <meshwise/graph.h>

enum { ROWS = 4, COLS = 6, COUNT = ROWS * COLS };

static mw_tensor *counted(void)
{
    float data[COUNT];
    int64_t shape[2] = {ROWS, COLS};
    for (int i = 0; i < COUNT; i++)
        data[i] = (float)i / 4;
    return mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, "replicated");
}

static mw_status all_there(mw_tensor *const *out, int n)
{
    for (int k = 0; k < n; k++)
        if (!out[k]) return mw_last_error()->code;
    return MW_OK;
}

/* ---- functions: `in[0]` is written, and what else there is of its memory shows it, or not ------
 */

/* A view that is marked is a tensor of its own from then on. */
static mw_status marks_a_view(mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *v = mw_view(in[0], MW_INTS(COLS, ROWS));
    (void)mw_mark_sharding(v, NULL, "[6@tp, 4]");
    (void)mw_add__scalar(in[0], 1, 1);
    out[0] = mw_mul_scalar(v, 1);
    out[1] = mw_mul_scalar(in[0], 1);
    return all_there(out, 2);
}

/* What was taken as a view before the mark keeps the memory of before. */
static mw_status writes_the_older_view(mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *x = mw_mul_scalar(in[0], 2), *v = mw_view(x, MW_INTS(COUNT));
    (void)mw_mark_sharding(x, NULL, "[4, 6@tp]");
    (void)mw_add__scalar(v, 5, 1);
    out[0] = mw_mul_scalar(x, 1);
    out[1] = mw_mul_scalar(v, 1);
    return all_there(out, 2);
}

/* A redistribution is another tensor, also where nothing moves. */
static mw_status redistributes_a_view(mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *r = mw_redistribute(mw_unsqueeze(in[0], 0), NULL, "replicated");
    (void)mw_add__scalar(in[0], 100, 1);
    out[0] = r;
    out[1] = mw_mul_scalar(in[0], 1);
    return all_there(out, 2);
}

static mw_status writes_the_redistributed(mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *r = mw_redistribute(in[0], NULL, "replicated");
    (void)mw_add__scalar(r, 100, 1);
    out[0] = mw_mul_scalar(in[0], 1);
    out[1] = mw_mul_scalar(r, 1);
    return all_there(out, 2);
}

/* The second of several views is as good as the first. */
static mw_status writes_a_later_chunk(mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *part[2];
    if (mw_chunk(in[0], 2, 1, part, 2) != 2) return mw_last_error()->code;
    (void)mw_mul__scalar(part[1], -1);
    (void)mw_mark_sharding(part[1], NULL, "[4@tp, 3]");
    out[0] = mw_mul_scalar(in[0], 1);
    out[1] = mw_mul_scalar(part[1], 1);
    return all_there(out, 2);
}

typedef mw_status function(mw_tensor *const *in, mw_tensor **out);

static const struct {
    const char *name;
    function *f;
    float at[2]; /* element 5 of both results */
} functions[] = {
    {"marks a view", marks_a_view, {1.25F, 2.25F}},
    {"writes the older view", writes_the_older_view, {2.5F, 7.5F}},
    {"redistributes a view", redistributes_a_view, {1.25F, 101.25F}},
    {"writes the redistributed", writes_the_redistributed, {1.25F, 101.25F}},
    {"writes a later chunk", writes_a_later_chunk, {-1.25F, -2.75F}},
};

static mw_status call(void *user, mw_tensor *const *in, mw_tensor **out)
{
    return (*(function *const *)user)(in, out);
}

static mw_status check(const char *name, const char *how, mw_tensor *const *out, const float *want)
{
    float values[COUNT];
    for (int k = 0; k < 2; k++) {
        int64_t row = mw_tensor_ndim(out[k]) > 1 ? mw_tensor_size(out[k], 1) : 1;
        if (mw_tensor_ndim(out[k]) > 2) row *= mw_tensor_size(out[k], 2);
        EXPECT(mw_read(out[k], MW_DTYPE_f32, values, mw_tensor_size(out[k], 0) * row * 4) == MW_OK);
        if (values[5] != want[k])
            return run_wrong(__FILE__, __LINE__, "%s, %s: result %d is %g, not %g", name, how, k,
                             (double)values[5], (double)want[k]);
    }
    return MW_OK;
}

static mw_status one_answer(void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        mw_scope_begin("one");
        mw_tensor *x = counted(), *y = counted(), *out[2];
        mw_compiled *c;
        EXPECT(functions[i].f(&x, out) == MW_OK);
        EXPECT(check(functions[i].name, "op by op", out, functions[i].at) == MW_OK);
        EXPECT(mw_compile(functions[i].name, call, (void *)&functions[i].f, 1, 2, &c) == MW_OK);
        EXPECT(mw_compiled_call(c, &y, out) == MW_OK);
        EXPECT(check(functions[i].name, "compiled", out, functions[i].at) == MW_OK);
        mw_compiled_free(c);
        (void)mw_scope_end(NULL);
    }
    return MW_OK;
}

/* ---- what a program must not do ----------------------------------------------------------------
 */

static mw_status writes_input(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    out[0] = mw_mul_scalar(in[0], 2);
    return mw_add__scalar(in[1], 1, 1) && out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status reads_outside(void *user, mw_tensor *const *in, mw_tensor **out)
{
    out[0] = mw_add(in[0], user, 1);
    return out[0] ? MW_OK : mw_last_error()->code;
}

/* A refused write is refused before anything is done, and the world goes on. */
static mw_status refuses(void *user)
{
    (void)user;
    mw_tensor *x = counted(), *w = counted(), *out[1], *in[2] = {x, w};
    mw_compiled *writes, *frozen;
    EXPECT(mw_compile("writes", writes_input, NULL, 2, 1, &writes) == MW_OK);
    EXPECT(mw_compiled_call(writes, in, out) == MW_OK);
    EXPECT(mw_compile("frozen", reads_outside, w, 1, 1, &frozen) == MW_OK);
    EXPECT(mw_compiled_freeze(frozen) == MW_OK && mw_compiled_call(frozen, &x, out) == MW_OK);
    EXPECT(mw_compiled_call(writes, in, out) == MW_ERR_ARG);
    mw_error_clear();
    EXPECT(mw_barrier() == MW_OK);
    mw_compiled_free(frozen);
    EXPECT(mw_compiled_call(writes, in, out) == MW_OK);
    mw_compiled_free(writes);
    return MW_OK;
}

/* The caller gives two tensors of one memory: what one is moved from, the other writes. */
static mw_status moves_and_writes(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    out[0] = mw_redistribute(in[0], NULL, "replicated");
    mw_tensor *other = mw_mul_scalar(in[2], 3);
    (void)mw_zero_(in[1]);
    out[1] = mw_add(out[0], other, 1);
    return all_there(out, 2);
}

static mw_status one_memory(void *user)
{
    (void)user;
    enum { N = 64 };
    float data[N * N], values[N * N];
    int64_t shape[2] = {N, N};
    mw_compiled *c;
    EXPECT(mw_compile("one memory", moves_and_writes, NULL, 3, 2, &c) == MW_OK);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N * N; i++)
            data[i] = (float)(i % 100);
        mw_tensor *x = mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, "[64@tp, 64]");
        mw_tensor *z = mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, "replicated");
        mw_tensor *in[3] = {x, mw_view(x, MW_INTS(N, N)), z}, *out[2];
        EXPECT(mw_compiled_call(c, in, out) == MW_OK);
        EXPECT(mw_read(out[1], MW_DTYPE_f32, values, sizeof values) == MW_OK);
        for (int i = 0; i < N * N; i++)
            EXPECT(values[i] == 4 * data[i]);
    }
    mw_compiled_free(c);
    return MW_OK;
}

/* Inputs may lie on meshes of their own. */
static mw_status adds(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    out[0] = mw_add(in[0], in[1], 1);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status two_meshes(void *user)
{
    (void)user;
    mw_mesh *mesh;
    float values[COUNT];
    EXPECT(mw_mesh_parse("a=2,b=2 ids=[0,2,1,3]", &mesh) == MW_OK);
    mw_tensor *in[2] = {counted(), counted()}, *out[1];
    EXPECT(mw_mark_sharding(in[0], NULL, "[4@tp, 6]") != NULL);
    EXPECT(mw_mark_sharding(in[1], mesh, "[4@b, 6@a]") != NULL);
    mw_compiled *c;
    EXPECT(mw_compile("adds", adds, NULL, 2, 1, &c) == MW_OK);
    for (int round = 0; round < 2; round++) {
        EXPECT(mw_compiled_call(c, in, out) == MW_OK);
        EXPECT(mw_read(out[0], MW_DTYPE_f32, values, sizeof values) == MW_OK);
        for (int i = 0; i < COUNT; i++)
            EXPECT(values[i] == (float)i / 2);
    }
    mw_compiled_free(c);
    mw_mesh_unref(mesh);
    return MW_OK;
}

/* A weight that is marked after its use lies so from the second call on, and is never copied. */
static mw_status marks_late(void *user, mw_tensor *const *in, mw_tensor **out)
{
    mw_tensor *h = mw_mul(in[0], user);
    (void)mw_mark_sharding(user, NULL, "[4@tp, 6]");
    out[0] = mw_add(h, user, 1);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status settles(void *user)
{
    (void)user;
    mw_tensor *x = counted(), *w = counted(), *out[1];
    mw_compiled *c;
    EXPECT(mw_compile("late", marks_late, w, 1, 1, &c) == MW_OK);
    for (int round = 0; round < 6; round++)
        EXPECT(mw_compiled_call(c, &x, out) == MW_OK);
    EXPECT(mw_compiled_facts_get(c).compilations <= 2);
    mw_compiled_free(c);
    return MW_OK;
}

static void test_settles(void **state)
{
    (void)state;
    run_on("tp=1", settles);
    run_on("tp=2", settles);
}

static void test_one_answer(void **state)
{
    (void)state;
    static const char *const meshes[] = {"tp=1", "tp=2", "tp=3", "tp=4"};
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i++)
        run_on(meshes[i], one_answer);
}

static void test_refuses(void **state)
{
    (void)state;
    run_on("tp=2", refuses);
}

static void test_one_memory(void **state)
{
    (void)state;
    run_on("tp=2", one_memory);
    run_on("tp=3", one_memory);
}

static void test_two_meshes(void **state)
{
    (void)state;
    run_on("tp=4", two_meshes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_answer), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_one_memory), cmocka_unit_test(test_two_meshes),
        cmocka_unit_test(test_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
