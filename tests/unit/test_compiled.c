/* One function, three ways: called op by op, captured and run as text means it, compiled. The
 * values, where marks lie and what they move must be the same. */
#include "run_check.h"

#include <math.h>
#include <meshwise/graph.h>
#include <stdbool.h>

enum { ROWS = 8, COLS = 12, HIDDEN = 16 };

typedef struct net {
    mw_tensor *w1, *w2, *sum;
} net;

static mw_tensor *counted(const char *name, int64_t rows, int64_t cols, const char *layout)
{
    float data[HIDDEN * COLS];
    int64_t shape[2] = {rows, cols};
    for (int64_t i = 0; i < rows * cols; i++)
        data[i] = (float)((i * 7 + (int64_t)strlen(name)) % 11 - 5) / 4;
    mw_tensor *t = mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, layout);
    return mw_tensor_ref(mw_tensor_name(t, name));
}

/* The result of the mark is thrown away: later uses of `p` see it all the same. */
static mw_status forward(void *user, mw_tensor *const *in, mw_tensor **out)
{
    net *n = user;
    mw_tensor *p = mw_linear(mw_silu(mw_linear(in[0], n->w1, NULL)), n->w2, NULL);
    mw_tensor *early = mw_view(p, MW_INTS(ROWS * COLS));
    (void)mw_mark_sharding(p, NULL, "replicated");
    out[0] = mw_mul(p, p);
    out[1] = mw_add_(n->sum, mw_view(early, MW_INTS(ROWS, COLS)), 1);
    return out[0] && out[1] ? MW_OK : mw_last_error()->code;
}

static mw_status make(net *n, mw_tensor **x)
{
    n->w1 = counted("w1", HIDDEN, COLS, "[16@tp, 12]");
    n->w2 = counted("w2", COLS, HIDDEN, "[12, 16@tp]");
    n->sum = counted("sum", ROWS, COLS, "replicated");
    *x = counted("x", ROWS, COLS, "replicated");
    return *x ? MW_OK : mw_last_error()->code;
}

static mw_status drop(net *n, mw_tensor *x)
{
    mw_tensor_unref(n->w1);
    mw_tensor_unref(n->w2);
    mw_tensor_unref(n->sum);
    mw_tensor_unref(x);
    return MW_OK;
}

/* Sums may be of the same terms in another order. */
static bool near(float a, float b)
{
    return fabsf(a - b) <= 1e-5f * (1 + fabsf(b));
}

static mw_status three_ways(void *user)
{
    (void)user;
    net a, b;
    mw_tensor *x, *y, *eager[2], *compiled[2];
    static const int64_t size = ROWS * COLS * sizeof(float);
    float one[ROWS * COLS], two[ROWS * COLS];
    EXPECT(make(&a, &x) == MW_OK && make(&b, &y) == MW_OK);
    mw_compiled *c;
    EXPECT(mw_compile("net", forward, &b, 1, 2, &c) == MW_OK);
    for (int round = 0; round < 3; round++) {
        mw_usage before = mw_usage_get();
        EXPECT(forward(&a, &x, eager) == MW_OK);
        mw_usage middle = mw_usage_get();
        mw_status status = mw_compiled_call(c, &y, compiled);
        EXPECT(status == MW_OK);
        mw_usage after = mw_usage_get();
        EXPECT(after.collectives - middle.collectives <= middle.collectives - before.collectives);
        for (int k = 0; k < 2; k++) {
            EXPECT(mw_read(eager[k], MW_DTYPE_f32, one, size) == MW_OK);
            EXPECT(mw_read(compiled[k], MW_DTYPE_f32, two, size) == MW_OK);
            for (int i = 0; i < ROWS * COLS; i++)
                if (!near(one[i], two[i]))
                    return run_wrong(__FILE__, __LINE__, "round %d result %d element %d: %g, %g",
                                     round, k, i, (double)one[i], (double)two[i]);
        }
        /* what is written from outside was written there too */
        EXPECT(mw_read(a.sum, MW_DTYPE_f32, one, size) == MW_OK);
        EXPECT(mw_read(b.sum, MW_DTYPE_f32, two, size) == MW_OK);
        for (int i = 0; i < ROWS * COLS; i++)
            EXPECT(near(one[i], two[i]));
    }
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 1);
    mw_compiled_free(c);
    return drop(&a, x) == MW_OK ? drop(&b, y) : MW_ERR_INTERNAL;
}

static mw_status keeps_results(void *user)
{
    (void)user;
    net n;
    mw_tensor *x, *first[2], *second[2];
    EXPECT(make(&n, &x) == MW_OK);
    mw_compiled *c;
    EXPECT(mw_compile("net", forward, &n, 1, 2, &c) == MW_OK);
    float one[ROWS * COLS], again[ROWS * COLS];
    EXPECT(mw_compiled_call(c, &x, first) == MW_OK);
    EXPECT(mw_read(first[0], MW_DTYPE_f32, one, sizeof one) == MW_OK);
    mw_tensor *other = mw_mul_scalar(x, 2);
    EXPECT(mw_compiled_call(c, &other, second) == MW_OK);
    EXPECT(mw_read(first[0], MW_DTYPE_f32, again, sizeof again) == MW_OK);
    EXPECT(memcmp(one, again, sizeof one) == 0);
    mw_usage before = mw_usage_get();
    for (int i = 0; i < 4; i++) {
        mw_scope_begin("again");
        EXPECT(mw_compiled_call(c, &x, second) == MW_OK);
        (void)mw_scope_end(NULL);
        if (i == 0) before = mw_usage_get();
    }
    EXPECT_INT(mw_usage_get().allocations - before.allocations, 0);
    mw_compiled_free(c);
    return drop(&n, x);
}

static mw_status again(void *user)
{
    (void)user;
    net n;
    mw_tensor *x, *out[2];
    EXPECT(make(&n, &x) == MW_OK);
    mw_compiled *c;
    EXPECT(mw_compile("net", forward, &n, 1, 2, &c) == MW_OK);
    EXPECT(mw_compiled_call(c, &x, out) == MW_OK);
    EXPECT_HAS(mw_compiled_facts_get(c).why, "first call");
    EXPECT(mw_mark_sharding(x, NULL, "[8@tp, 12]") != NULL);
    EXPECT(mw_mark_sharding(x, NULL, "replicated") != NULL);
    EXPECT(mw_compiled_call(c, &x, out) == MW_OK);
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 1);
    EXPECT(mw_mark_sharding(n.w2, NULL, "replicated") != NULL);
    EXPECT(mw_compiled_call(c, &x, out) == MW_OK);
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 2);
    EXPECT_HAS(mw_compiled_facts_get(c).why, "(w2)");
    EXPECT_HAS(mw_compiled_facts_get(c).why, "16@tp");
    mw_compiled_free(c);
    return drop(&n, x);
}

/* A mark in the function re-places the caller's handle, compiled as op by op. */
static mw_status marks_input(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    mw_tensor *before = mw_mul_scalar(in[0], 2);
    (void)mw_mark_sharding(in[0], NULL, "[8@tp, 12]");
    out[0] = mw_add(before, in[0], 1);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status replaces_handles(void *user)
{
    (void)user;
    mw_tensor *a = counted("a", ROWS, COLS, "[8, 12@tp]"),
              *b = counted("a", ROWS, COLS, "[8, 12@tp]");
    mw_tensor *x, *y;
    float one[ROWS * COLS], two[ROWS * COLS];
    mw_compiled *c;
    EXPECT(a && b);
    EXPECT_OK(mw_compile("marks_input", marks_input, NULL, 1, 1, &c));
    for (int round = 0; round < 2; round++) {
        EXPECT_OK(marks_input(NULL, &a, &x));
        EXPECT_OK(mw_compiled_call(c, &b, &y));
        EXPECT(mw_layout_equal(mw_tensor_layout(a), mw_tensor_layout(b)));
        EXPECT_HAS(run_layout(b), "8@tp");
        EXPECT_OK(mw_read(b, MW_DTYPE_f32, two, sizeof two));
        EXPECT_OK(mw_read(a, MW_DTYPE_f32, one, sizeof one));
        EXPECT(memcmp(one, two, sizeof one) == 0);
        EXPECT_OK(mw_read(x, MW_DTYPE_f32, one, sizeof one));
        EXPECT_OK(mw_read(y, MW_DTYPE_f32, two, sizeof two));
        EXPECT(memcmp(one, two, sizeof one) == 0);
    }
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 2);
    EXPECT_HAS(mw_compiled_facts_get(c).why, "input 0 (a) was f32[8, 12@tp], is f32[8@tp, 12]");
    mw_compiled_free(c);
    mw_tensor_unref(a);
    mw_tensor_unref(b);
    return MW_OK;
}

static mw_status asks(void *user, mw_tensor *const *in, mw_tensor **out)
{
    double value;
    out[0] = mw_sum(in[0], MW_DTYPE_NONE);
    mw_status status = mw_item(out[0], &value);
    *(int *)user = __LINE__ - 1;
    return status;
}

static mw_status refuses_values(void *user)
{
    (void)user;
    int line = 0;
    mw_graph *g;
    const char *in[] = {"f32[4, 3]"};
    EXPECT(mw_capture("asks", asks, &line, NULL, in, 1, 1, &g) == MW_ERR_ARG);
    char where[32];
    (void)snprintf(where, sizeof where, "test_compiled.c:%d", line);
    EXPECT_HAS(mw_last_error()->says, "item");
    EXPECT_HAS(mw_last_error()->says, "sum(");
    EXPECT_HAS(mw_last_error()->where, where);
    return MW_OK;
}

static mw_status differs(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    out[0] = mw_rank_index() == 1 ? mw_neg(in[0]) : mw_abs(in[0]);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status other_program(void *user)
{
    (void)user;
    mw_compiled *c;
    mw_tensor *x = mw_arange(4, MW_DTYPE_f32), *out[1];
    EXPECT(mw_compile("differs", differs, NULL, 1, 1, &c) == MW_OK);
    mw_status status = mw_compiled_call(c, &x, out);
    EXPECT_HAS(mw_last_error()->says, "another program");
    mw_compiled_free(c);
    EXPECT_INT(status, MW_ERR_COMM);
    return MW_OK;
}

/* What callers write into a result shows nowhere else, unless the function says so: not in what the
 * passes merged, not in a constant, not in what was redistributed without moving. */
static mw_status gives_alike(void *user, mw_tensor *const *in, mw_tensor **out)
{
    static const float data[2] = {1, 2};
    static const int64_t two = 2;
    (void)user;
    mw_tensor *constant = mw_from_data(MW_DTYPE_f32, &two, 1, data, NULL, "replicated");
    mw_tensor *written = mw_from_data(MW_DTYPE_f32, &two, 1, data, NULL, "replicated");
    out[0] = mw_mul_scalar(in[0], 3);
    out[1] = mw_mul_scalar(in[0], 3);
    out[2] = constant;
    out[3] = mw_redistribute(in[0], NULL, "replicated");
    out[4] = mw_add_(written, constant, 1);
    out[5] = in[0];
    out[6] = mw_view(in[0], MW_INTS(2, 1));
    return out[6] ? MW_OK : mw_last_error()->code;
}

static mw_status keeps_apart(void *user)
{
    (void)user;
    enum { RESULTS = 7 };
    mw_compiled *c;
    EXPECT_OK(mw_compile("alike", gives_alike, NULL, 1, RESULTS, &c));
    for (int round = 0; round < 3; round++) {
        mw_tensor *x = mw_arange(2, MW_DTYPE_f32), *y = mw_arange(2, MW_DTYPE_f32);
        mw_tensor *a[RESULTS], *b[RESULTS];
        EXPECT_OK(gives_alike(NULL, &x, a));
        EXPECT_OK(mw_compiled_call(c, &y, b));
        for (int k = 0; k < RESULTS; k++) {
            float one[2], two[2];
            for (int i = 0; i < RESULTS; i++) {
                EXPECT_OK(mw_read(a[i], MW_DTYPE_f32, one, sizeof one));
                EXPECT_OK(mw_read(b[i], MW_DTYPE_f32, two, sizeof two));
                if (memcmp(one, two, sizeof one) != 0)
                    return run_wrong(__FILE__, __LINE__,
                                     "round %d, %d written: result %d is %g, not %g", round, k, i,
                                     (double)two[0], (double)one[0]);
            }
            EXPECT(mw_add__scalar(a[k], k + 1, 1) && mw_add__scalar(b[k], k + 1, 1));
        }
    }
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 1);
    mw_compiled_free(c);
    return MW_OK;
}

/* One tensor as both inputs is one handle; two in one memory are not what they were apart. */
static mw_status writes_first(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    mw_tensor *before = mw_mul_scalar(in[1], 2);
    EXPECT(mw_add__scalar(in[0], 1, 1));
    out[0] = mw_sub(mw_mul_scalar(in[1], 2), before, 1);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status given_twice(void *user)
{
    (void)user;
    mw_compiled *c;
    EXPECT_OK(mw_compile("writes", writes_first, NULL, 2, 1, &c));
    static const float want[] = {0, 2, 2, 0};
    for (int i = 0; i < 4; i++) {
        mw_tensor *x = mw_arange(4, MW_DTYPE_f32), *out;
        mw_tensor *y = i == 1 ? x : i == 2 ? mw_view(x, MW_INTS(4)) : mw_arange(4, MW_DTYPE_f32);
        mw_tensor *in[] = {x, y};
        float got[4];
        EXPECT_OK(mw_compiled_call(c, in, &out));
        EXPECT_OK(mw_read(out, MW_DTYPE_f32, got, sizeof got));
        if (got[3] != want[i])
            return run_wrong(__FILE__, __LINE__, "pair %d: %g, not %g", i, (double)got[3],
                             (double)want[i]);
    }
    EXPECT_INT(mw_compiled_facts_get(c).compilations, 3);
    mw_compiled_free(c);
    return MW_OK;
}

static void test_keeps_apart(void **state)
{
    (void)state;
    run_on("tp=1", keeps_apart);
    run_on("tp=2", keeps_apart);
}

static void test_given_twice(void **state)
{
    (void)state;
    run_on("tp=2", given_twice);
}

static void test_three_ways(void **state)
{
    (void)state;
    static const char *const meshes[] = {"tp=1", "tp=2", "tp=3", "tp=4", "dp=2,tp=2"};
    for (size_t i = 0; i < sizeof meshes / sizeof meshes[0]; i++)
        run_on(meshes[i], three_ways);
}

static void test_keeps_results(void **state)
{
    (void)state;
    run_on("tp=2", keeps_results);
}

static void test_again(void **state)
{
    (void)state;
    run_on("tp=2", again);
}

static void test_replaces_handles(void **state)
{
    (void)state;
    run_on("tp=2", replaces_handles);
}

static void test_refuses_values(void **state)
{
    (void)state;
    run_on("tp=2", refuses_values);
}

/* The gradients of two layers, data-parallel: the first sum goes round while the second is made. */
static mw_status two_sums(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    for (int k = 0; k < 2; k++) {
        out[k] = mw_mm(mw_transpose_int(in[k], 0, 1), in[k + 1]);
        (void)mw_mark_sharding(out[k], NULL, "replicated");
    }
    return out[0] && out[1] ? MW_OK : mw_last_error()->code;
}

static mw_status begins_early(void *user)
{
    enum { N = 48 };
    float data[8 * N * N];
    float one[N * N], two[N * N];
    int64_t shape[2] = {8 * N, N};
    mw_tensor *in[3], *eager[2], *out[2];
    mw_compiled *c;
    (void)user;
    for (int i = 0; i < 8 * N * N; i++)
        data[i] = (float)(i * 7 % 13 - 6);
    for (int k = 0; k < 3; k++) {
        data[k] += 1;
        in[k] = mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, "[384@dp, 48]");
    }
    EXPECT(mw_compile("sums", two_sums, NULL, 3, 2, &c) == MW_OK);
    EXPECT(two_sums(NULL, in, eager) == MW_OK);
    for (int round = 0; round < 20; round++) {
        EXPECT(mw_compiled_call(c, in, out) == MW_OK);
        for (int k = 0; k < 2; k++) {
            EXPECT(mw_read(eager[k], MW_DTYPE_f32, one, sizeof one) == MW_OK);
            EXPECT(mw_read(out[k], MW_DTYPE_f32, two, sizeof two) == MW_OK);
            EXPECT(memcmp(one, two, sizeof one) == 0);
        }
    }
    EXPECT(mw_compiled_facts_get(c).halves == 1);
    mw_compiled_free(c);
    return MW_OK;
}

static void test_begins_early(void **state)
{
    (void)state;
    run_on("dp=2", begins_early);
    run_on("dp=4", begins_early);
}

/* A chain whose middle nobody else sees, on tensors beyond the first cache; %kept is a result. */
static mw_status long_chain(void *user, mw_tensor *const *in, mw_tensor **out)
{
    const int64_t *shape = user;
    mw_tensor *gate = mw_silu(mw_add(mw_mul(in[0], in[1]), in[2], 1));
    mw_tensor *kept = mw_mul(gate, in[1]);
    mw_tensor *half = mw_to_dtype(mw_add_scalar(kept, 1.5, 1), MW_DTYPE_bf16, false, false);
    mw_tensor *x = mw_where_self(mw_gt_scalar(kept, 0.25), half,
                                 mw_to_dtype(in[0], MW_DTYPE_bf16, false, false));
    out[0] = mw_view(mw_neg(x), MW_INTS(shape[1], shape[0]));
    out[1] = kept;
    return out[0] && out[1] ? MW_OK : mw_last_error()->code;
}

static mw_status fuses(void *user)
{
    enum { MOST = 60000 };
    static const int64_t shapes[][2] = {{1, 40000}, {200, 300}, {3, 7}, {130, 129}};
    float *data = mw_memory(3 * MOST * sizeof *data), *one = data + MOST, *two = one + MOST;
    (void)user;
    for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++) {
        int64_t n = shapes[i][0] * shapes[i][1], size = n * (int64_t)sizeof(float);
        int64_t shape[2] = {shapes[i][0], shapes[i][1]};
        mw_tensor *in[3], *eager[2], *out[2];
        mw_compiled *c;
        for (int k = 0; k < 3; k++) {
            for (int64_t j = 0; j < n; j++)
                data[j] = (float)(j * (7 + k) % 1009 - 500) / 300;
            in[k] = mw_from_data(MW_DTYPE_f32, shape, k == 2 ? 0 : 2, data, NULL, "replicated");
        }
        EXPECT(mw_compile("chain", long_chain, shape, 3, 2, &c) == MW_OK);
        EXPECT(long_chain(shape, in, eager) == MW_OK);
        for (int round = 0; round < 2; round++) {
            EXPECT(mw_compiled_call(c, in, out) == MW_OK);
            for (int k = 0; k < 2; k++) {
                EXPECT(mw_read(eager[k], MW_DTYPE_f32, one, size) == MW_OK);
                EXPECT(mw_read(out[k], MW_DTYPE_f32, two, size) == MW_OK);
                EXPECT(memcmp(one, two, (size_t)size) == 0);
            }
        }
        mw_compiled_facts facts = mw_compiled_facts_get(c);
        EXPECT(n >= 16384 ? facts.fused >= 4 : facts.fused == 0 || n < 100);
        EXPECT(i != 1 || facts.arena_bytes < 2 * size); /* two results and pieces */
        mw_compiled_free(c);
    }
    mw_memory_free(data, 3 * MOST * sizeof *data);
    return MW_OK;
}

static void test_fuses(void **state)
{
    (void)state;
    run_on("tp=1", fuses);
    run_on("tp=2", fuses);
}

typedef struct frozen_net {
    mw_tensor *w1, *w2, *cache;
} frozen_net;

static mw_status frozen_forward(void *user, mw_tensor *const *in, mw_tensor **out)
{
    frozen_net *n = user;
    mw_tensor *h = mw_silu(mw_linear(in[0], n->w1, NULL));
    out[0] = mw_mm(h, mw_transpose_int(n->w2, 0, 1));
    (void)mw_mark_sharding(out[0], NULL, "replicated");
    return mw_add_(n->cache, out[0], 1) && out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status weight(const char *name, int64_t rows, int64_t cols, const char *layout,
                        mw_tensor **ret)
{
    float data[512 * 192];
    int64_t shape[2] = {rows, cols};
    for (int64_t i = 0; i < rows * cols; i++)
        data[i] = (float)(i * 7 % 11) * (float)(1 + i / 32 % 5) / 64 - 0.25F;
    *ret = mw_tensor_ref(
        mw_tensor_name(mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, layout), name));
    return *ret ? MW_OK : mw_last_error()->code;
}

/* Frozen weights are read in fewer bytes: the same bits; nothing may write into them meanwhile. */
static mw_status freezes(void *user)
{
    (void)user;
    enum { IN = 192, OUT = 512 };
    frozen_net n;
    mw_tensor *x, *plain[1], *out[1];
    mw_compiled *c, *like;
    float one[3 * IN], two[3 * IN];
    EXPECT(weight("w1", OUT, IN, "[512@tp, 192]", &n.w1) == MW_OK);
    EXPECT(weight("w2", IN, OUT, "[192, 512@tp]", &n.w2) == MW_OK);
    EXPECT(weight("x", 3, IN, "replicated", &x) == MW_OK);
    EXPECT(weight("cache", 3, IN, "replicated", &n.cache) == MW_OK);
    EXPECT(mw_compile("frozen", frozen_forward, &n, 1, 1, &c) == MW_OK);
    EXPECT(mw_compile("like", frozen_forward, &n, 1, 1, &like) == MW_OK);
    EXPECT(mw_compiled_freeze(c) == MW_OK && mw_compiled_freeze(c) == MW_OK);
    for (int round = 0; round < 3; round++) {
        EXPECT(mw_compiled_call(c, &x, out) == MW_OK);
        EXPECT(mw_compiled_call(like, &x, plain) == MW_OK);
        EXPECT(mw_read(plain[0], MW_DTYPE_f32, one, sizeof one) == MW_OK);
        EXPECT(mw_read(out[0], MW_DTYPE_f32, two, sizeof two) == MW_OK);
        EXPECT(memcmp(one, two, sizeof one) == 0);
    }
    EXPECT(mw_compiled_facts_get(c).frozen_bytes > 0);
    EXPECT_INT(mw_compiled_facts_get(like).frozen_bytes, 0);
    EXPECT(mw_compiled_freeze(like) == MW_ERR_ARG);
    mw_error_clear();
    EXPECT(mw_mul_(n.cache, x) != NULL); /* is written by the program, so it is not frozen */
    EXPECT(mw_zero_(n.w1) == NULL && mw_last_error()->code == MW_ERR_ARG);
    EXPECT(strstr(mw_last_error()->says, "zero_ would write into w1") != NULL);
    mw_error_clear();
    EXPECT(mw_zero_(mw_transpose_int(n.w2, 0, 1)) == NULL);
    mw_error_clear();
    mw_compiled_free(c);
    EXPECT(mw_zero_(n.w1) != NULL && mw_compiled_call(like, &x, plain) == MW_OK);
    mw_compiled_free(like);
    mw_tensor_unref(n.w1);
    mw_tensor_unref(n.w2);
    mw_tensor_unref(n.cache);
    mw_tensor_unref(x);
    return MW_OK;
}

static void test_freezes(void **state)
{
    (void)state;
    run_on("tp=1", freezes);
    run_on("tp=2", freezes);
    run_on("tp=3", freezes);
    run_with((mw_launch_options){.mesh = "tp=1", .threads = 3}, freezes,
             NULL); /* they share rows */
}

static void test_other_program(void **state)
{
    (void)state;
    run_on("tp=2", other_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_ways),
        cmocka_unit_test(test_keeps_results),
        cmocka_unit_test(test_keeps_apart),
        cmocka_unit_test(test_given_twice),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_refuses_values),
        cmocka_unit_test(test_replaces_handles),
        cmocka_unit_test(test_begins_early),
        cmocka_unit_test(test_fuses),
        cmocka_unit_test(test_freezes),
        cmocka_unit_test(test_other_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
