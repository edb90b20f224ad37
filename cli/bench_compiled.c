/* What a compiled program costs besides its kernels: a chain of one op on a tiny tensor, compiled
 * and called op by op, against the kernel alone, in turns; a program that has no op at all; and
 * what running element-wise ops as one loop gains on a tensor beyond the caches. */
#include "cli/bench.h"
#include "cli/session.h"

enum { ROUNDS = 51, CALLS = 64, NODES = 256, LARGE = BENCH_FUSED_MB << 18, LARGE_ROUNDS = 11 };

static mw_status chain(void *user, mw_tensor *const *in, mw_tensor **out)
{
    int nodes = *(const int *)user;
    mw_tensor *t = in[0];
    for (int i = 0; i < nodes; i++)
        t = mw_neg(t);
    out[0] = t;
    return t ? MW_OK : mw_last_error()->code;
}

typedef struct state {
    bench_compiled result;
    double step[ROUNDS], node[ROUNDS], eager[ROUNDS], fused[LARGE_ROUNDS];
} state;

static mw_status call_often(mw_compiled *compiled, int nodes, mw_tensor *x, double *ret_seconds)
{
    mw_status status = MW_OK;
    double began = session_now();
    for (int i = 0; i < CALLS && status == MW_OK; i++) {
        mw_tensor *out;
        mw_scope_begin("call");
        status = compiled ? mw_compiled_call(compiled, &x, &out) : chain(&nodes, &x, &out);
        (void)mw_scope_end(NULL);
    }
    *ret_seconds = session_now() - began;
    return status;
}

static mw_status measure(state *s, mw_compiled *none, mw_compiled *many, mw_tensor *x, int round)
{
    double step, compiled, eager, kernel;
    const mw_value arg = {.kind = MW_ARG_TENSOR, .as.tensor = x};
    int64_t before = mw_usage_get().allocations;
    mw_status status = call_often(none, 0, x, &step);
    if (status == MW_OK) status = call_often(many, NODES, x, &compiled);
    int64_t allocations = mw_usage_get().allocations - before;
    if (status == MW_OK) status = call_often(NULL, NODES, x, &eager);
    mw_scope_begin("kernel");
    if (status == MW_OK) status = mw_op_repeat("neg", &arg, 1, (int64_t)CALLS * NODES, &kernel);
    (void)mw_scope_end(NULL);
    if (status != MW_OK || round < 0) return status;
    s->result.allocations += allocations;
    s->step[round] = step / CALLS * 1e6;
    s->node[round] = (compiled - step - kernel) / CALLS / NODES * 1e6;
    s->eager[round] = (eager - kernel) / CALLS / NODES * 1e6;
    return MW_OK;
}

static mw_status measure_fused(state *s, mw_compiled *few, mw_tensor *x, int round)
{
    double began = session_now(), compiled;
    mw_tensor *out;
    int nodes = BENCH_FUSED_OPS;
    mw_scope_begin("fused");
    mw_status status = mw_compiled_call(few, &x, &out);
    (void)mw_scope_end(NULL);
    compiled = session_now() - began;
    began = session_now();
    mw_scope_begin("op by op");
    if (status == MW_OK) status = chain(&nodes, &x, &out);
    (void)mw_scope_end(NULL);
    if (round >= 0) s->fused[round] = (session_now() - began) / compiled;
    return status;
}

static mw_status fuse(state *s)
{
    int few = BENCH_FUSED_OPS;
    mw_compiled *c = NULL;
    mw_tensor *x = mw_ones(MW_INTS(LARGE), MW_DTYPE_f32);
    mw_status status = x ? mw_compile("few", chain, &few, 1, 1, &c) : mw_last_error()->code;
    for (int round = -2; round < LARGE_ROUNDS && status == MW_OK; round++)
        status = measure_fused(s, c, x, round);
    mw_compiled_free(c);
    return status;
}

static mw_status program(void *user)
{
    state *s = user;
    int none = 0, many = NODES;
    mw_compiled *a = NULL, *b = NULL;
    const int64_t one = 1;
    const float value = 0.5F;
    mw_tensor *x = mw_from_data(MW_DTYPE_f32, &one, 1, &value, NULL, "replicated");
    if (!x) return mw_last_error()->code;
    mw_status status = mw_compile("none", chain, &none, 1, 1, &a);
    if (status == MW_OK) status = mw_compile("many", chain, &many, 1, 1, &b);
    for (int round = -1; round < ROUNDS && status == MW_OK; round++)
        status = measure(s, a, b, x, round);
    mw_compiled_free(a);
    mw_compiled_free(b);
    return status == MW_OK ? fuse(s) : status;
}

mw_status bench_compiled_run(bench_compiled *ret)
{
    state s = {0};
    const mw_launch_options options = {.mesh = "tp=1"};
    mw_status status = mw_launch(&options, program, &s);
    if (status != MW_OK) return status;
    *ret = s.result;
    ret->step_us = bench_median(s.step, ROUNDS);
    ret->node_us = bench_median(s.node, ROUNDS);
    ret->fused_ratio = bench_median(s.fused, LARGE_ROUNDS);
    ret->eager_node_us = bench_median(s.eager, ROUNDS);
    return MW_OK;
}
