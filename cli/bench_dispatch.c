/* What an eager call costs on top of its kernel once its layouts are known: the same call is made
 * through the public interface, and its kernel is run alone, in turns; the medians of the
 * differences count. Tiny tensors, so that the kernel hides nothing; a program of one rank, as any
 * other. */
#include "cli/bench.h"
#include "cli/session.h"

#include <string.h>

enum { ROUNDS = 101, CALLS = 2048, CALLS_PER_SCOPE = 16, SIZE = 4 };

typedef struct operands {
    mw_tensor *a, *b;         /* [SIZE, SIZE] */
    mw_tensor *weight, *bias; /* [SIZE] */
} operands;

static mw_tensor *call_add(const operands *o)
{
    return mw_add(o->a, o->b, 1);
}

static mw_tensor *call_mm(const operands *o)
{
    return mw_mm(o->a, o->b);
}

static mw_tensor *call_view(const operands *o)
{
    return mw_view(o->a, MW_INTS(SIZE / 2, SIZE * 2));
}

static mw_tensor *call_layer_norm(const operands *o)
{
    return mw_layer_norm(o->a, MW_INTS(SIZE), o->weight, o->bias, 1e-5, true);
}

/* A call as the public interface makes it; bench_op.args makes the same one by name. */
typedef struct bench_op {
    const char *name;
    mw_tensor *(*call)(const operands *o);
    mw_value args[4];
    int nargs;
} bench_op;

static const int64_t halves[] = {SIZE / 2, SIZE * 2}, rows[] = {SIZE};

static void list_ops(const operands *o, bench_op *to)
{
    const mw_value a = {.kind = MW_ARG_TENSOR, .as.tensor = o->a};
    const mw_value b = {.kind = MW_ARG_TENSOR, .as.tensor = o->b};
    const mw_value weight = {.kind = MW_ARG_TENSOR, .as.tensor = o->weight};
    const mw_value bias = {.kind = MW_ARG_TENSOR, .as.tensor = o->bias};
    const mw_value view = {.kind = MW_ARG_INTS, .count = 2, .as.ints = halves};
    const mw_value norm = {.kind = MW_ARG_INTS, .count = 1, .as.ints = rows};
    const bench_op all[BENCH_OPS] = {
        {"add", call_add, {a, b}, 2},
        {"mm", call_mm, {a, b}, 2},
        {"view", call_view, {a, view}, 2},
        {"layer_norm", call_layer_norm, {a, norm, weight, bias}, 4},
    };
    memcpy(to, all, sizeof all);
}

typedef struct state {
    bench_dispatch result;
    double call[BENCH_OPS][ROUNDS], kernel[BENCH_OPS][ROUNDS], top[BENCH_OPS][ROUNDS];
} state;

static mw_status run_calls(const bench_op *op, const operands *o, double *ret_seconds)
{
    mw_tensor *last = o->a;
    double began = session_now();
    for (int i = 0; i < CALLS && last; i += CALLS_PER_SCOPE) {
        mw_scope_begin("calls");
        for (int k = 0; k < CALLS_PER_SCOPE; k++)
            last = op->call(o);
        (void)mw_scope_end(NULL);
    }
    *ret_seconds = session_now() - began;
    return last ? MW_OK : mw_last_error()->code;
}

/* One round of one op; round -1 warms up. */
static mw_status measure(state *s, const bench_op *op, int nth, const operands *o, int round)
{
    double call, kernel;
    int64_t before = mw_usage_get().allocations;
    mw_status status = run_calls(op, o, &call);
    int64_t more = mw_usage_get().allocations - before;
    mw_scope_begin("kernel");
    if (status == MW_OK) status = mw_op_repeat(op->name, op->args, op->nargs, CALLS, &kernel);
    (void)mw_scope_end(NULL);
    if (status != MW_OK || round < 0) return status;
    s->call[nth][round] = call / CALLS * 1e6;
    s->kernel[nth][round] = kernel / CALLS * 1e6;
    s->top[nth][round] = (call - kernel) / CALLS * 1e6;
    s->result.allocations += more;
    return MW_OK;
}

static mw_status program(void *user)
{
    state *s = user;
    const float values[SIZE * SIZE] = {0.5F, -1,    2,  0.25F, 3, -0.125F, 1,  -2,
                                       4,    0.75F, -3, 1.5F,  2, 1,       -1, 0.5F};
    const int64_t square[2] = {SIZE, SIZE};
    operands o = {
        .a = mw_from_data(MW_DTYPE_f32, square, 2, values, NULL, "replicated"),
        .b = mw_from_data(MW_DTYPE_f32, square, 2, values, NULL, "replicated"),
        .weight = mw_from_data(MW_DTYPE_f32, square, 1, values, NULL, "replicated"),
        .bias = mw_from_data(MW_DTYPE_f32, square, 1, values, NULL, "replicated"),
    };
    if (!o.a || !o.b || !o.weight || !o.bias) return mw_last_error()->code;
    bench_op ops[BENCH_OPS];
    list_ops(&o, ops);
    mw_status status = MW_OK;
    for (int round = -1; round < ROUNDS && status == MW_OK; round++)
        for (int i = 0; i < BENCH_OPS && status == MW_OK; i++)
            status = measure(s, &ops[i], i, &o, round);
    for (int i = 0; i < BENCH_OPS; i++)
        s->result.op[i].op = ops[i].name;
    return status;
}

mw_status bench_dispatch_run(bench_dispatch *ret)
{
    state s = {0};
    const mw_launch_options options = {.mesh = "tp=1"};
    mw_status status = mw_launch(&options, program, &s);
    if (status != MW_OK) return status;
    *ret = s.result;
    for (int i = 0; i < BENCH_OPS; i++) {
        ret->op[i].call_us = bench_median(s.call[i], ROUNDS);
        ret->op[i].kernel_us = bench_median(s.kernel[i], ROUNDS);
        ret->op[i].cached_us = bench_median(s.top[i], ROUNDS);
        if (i == 0 || ret->op[i].cached_us > ret->cached_us) ret->cached_us = ret->op[i].cached_us;
    }
    return MW_OK;
}
