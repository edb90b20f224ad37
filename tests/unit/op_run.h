/* Runs one op's kernel or view on a sample, on one rank and without a dispatcher, with operands
 * laid out in memory as a test wants them. For tests that compare with loops over single elements.
 */
#ifndef TESTS_OP_RUN_H
#define TESTS_OP_RUN_H

#include "ops/op.h"
#include "ops/rule.h"
#include "ops/sample.h"
#include "ops/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OP_RUN_TENSORS = 16 };

typedef struct op_run {
    mw_arena arena;
    const mw_op *op;
    mw_sample sample;
    mw_rule rule;
    mw_view in[OP_RUN_TENSORS], out[OP_RUN_TENSORS];
} op_run;

static inline const mw_op *op_run_find(const char *word)
{
    const mw_op *op = mw__op_find(word, strlen(word));
    if (!op) fail_msg("no op '%s'", word);
    return op;
}

/* The offset of element number `nth` (row-major), in bytes. */
static inline int64_t op_run_offset(const mw_view *view, int64_t nth)
{
    int64_t at = 0;
    for (int d = view->ndim - 1; d >= 0; d--) {
        at += nth % view->shape[d] * view->stride[d];
        nth /= view->shape[d];
    }
    return at * mw_dtype_size(view->dtype);
}

static inline double op_run_get(const mw_view *view, int64_t nth)
{
    return mw__element_get((char *)view->data + op_run_offset(view, nth), view->dtype);
}

/* Element `nth` of an operand broadcast to the shape of `out`. */
static inline double op_run_get_broadcast(const mw_view *view, const mw_view *out, int64_t nth)
{
    mw_view as = {.data = view->data, .dtype = view->dtype, .ndim = out->ndim};
    for (int d = 0; d < out->ndim; d++) {
        int own = d - (out->ndim - view->ndim);
        as.shape[d] = out->shape[d];
        as.stride[d] = own < 0 || view->shape[own] == 1 ? 0 : view->stride[own];
    }
    return op_run_get(&as, nth);
}

/* A copy of `from` whose dims lie in an order picked by `pick`, with gaps between elements. 0 keeps
 * the row-major order and no gaps. */
static inline void op_run_restride(op_run *run, const mw_view *from, uint64_t pick, mw_view *to)
{
    *to = *from;
    int64_t count = mw__view_count(from), stride = pick % 2 + 1;
    if (pick == 0 || count == 0) return;
    bool placed[MW_MAX_DIMS] = {false};
    for (int i = 0; i < from->ndim; i++) {
        int d = (int)((pick >> i) % (uint64_t)from->ndim);
        while (placed[d])
            d = (d + 1) % from->ndim;
        placed[d] = true;
        to->stride[d] = stride;
        stride *= from->shape[d];
        stride += i == 0 && pick % 3 == 0;
    }
    to->data = mw__arena_zalloc(&run->arena, (size_t)((stride + 1) * 8));
    assert_non_null(to->data);
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)to->data + op_run_offset(to, i), (char *)from->data + op_run_offset(from, i),
               (size_t)mw_dtype_size(from->dtype));
}

/* Reads the sample, lays out its operands, and makes outputs of the rule's shapes and dtypes. */
static inline mw_status op_run_make(op_run *run, const mw_op *op, const char *sample, uint64_t seed,
                                    uint64_t pick)
{
    memset(run, 0, sizeof *run);
    mw__arena_init(&run->arena);
    run->op = op;
    MW_TRY(mw__sample_read(op, sample, seed, &run->arena, &run->sample));
    MW_TRY(mw__rule_of(&run->sample.call, &run->arena, &run->rule));
    assert_true(run->rule.nout <= OP_RUN_TENSORS);
    for (int i = 0; i < run->sample.call.nin; i++)
        op_run_restride(run, &run->sample.in[i], pick ? pick + (uint64_t)i : 0, &run->in[i]);
    for (int i = 0; i < run->rule.nout; i++) {
        const mw_meta *meta = &run->rule.out_meta[i];
        mw__view_set(&run->out[i], meta->dtype, meta->ndim, meta->shape);
        size_t bytes = (size_t)(mw__view_count(&run->out[i]) * mw_dtype_size(meta->dtype));
        run->out[i].data = mw__arena_alloc(&run->arena, bytes);
        assert_non_null(run->out[i].data);
        memset(run->out[i].data, 0x77, bytes);
    }
    return MW_OK;
}

static inline mw_status op_run_kernel(op_run *run)
{
    mw_kernel_call k = {.call = &run->sample.call,
                        .nin = run->sample.call.nin,
                        .nout = run->rule.nout,
                        .in = run->in,
                        .out = run->out,
                        .scratch = &run->arena};
    return run->op->kernel(&k);
}

static inline void op_run_done(op_run *run)
{
    mw__arena_done(&run->arena);
}

/* The nth sample of the op as a text of its own, into `to`. */
static inline const char *op_run_sample(const mw_op *op, int nth, char *to, size_t size)
{
    const char *at = op->samples;
    for (; nth > 0; nth--)
        at = strchr(at, ';') + 1;
    size_t n = strcspn(at, ";");
    assert_true(n < size);
    memcpy(to, at, n);
    to[n] = 0;
    return to;
}

/* Relative spacing of the dtype's numbers. */
static inline double op_run_epsilon(mw_dtype dtype)
{
    if (dtype == MW_DTYPE_f64) return 0x1p-52;
    if (dtype == MW_DTYPE_f32) return 0x1p-23;
    return dtype == MW_DTYPE_f16 ? 0x1p-10 : 0x1p-7;
}

#endif
