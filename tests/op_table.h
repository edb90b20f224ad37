/* For tests over the op table: calls back for each sample of each op, and names both in failures.
 */
#ifndef TESTS_OP_TABLE_H
#define TESTS_OP_TABLE_H

#include "op_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t op_seed = 20240611;

/* Names the op and the sample in every failure. */
typedef struct place {
    const char *word;
    int sample;
    const mw_op *op;
} place;

#define FAIL_AT(p, ...)                                                    \
    do {                                                                   \
        print_error("%s, sample %d (seed %llu): ", (p)->word, (p)->sample, \
                    (unsigned long long)op_seed);                          \
        print_error(__VA_ARGS__);                                          \
        print_error("\n  last error: %s\n", mw_last_error()->says);        \
        fail();                                                            \
    } while (0)

typedef void (*visit)(const place *p, mw_sample *sample, mw_rule *rule, mw_arena *arena);

/* Calls back for each sample of each op, with its rule made. */
static inline void each_sample(visit f)
{
    for (int id = 0; id < (int)MW_OP_COUNT; id++) {
        place p = {mw__op_word((mw_op_id)id), 0, mw__op_at((mw_op_id)id)};
        for (; p.sample < mw__sample_count(p.op->samples); p.sample++) {
            mw_arena arena;
            mw_sample sample;
            mw_rule rule;
            mw_error_clear();
            mw__arena_init(&arena);
            if (mw__sample_make(p.op, p.sample, op_seed, &arena, &sample) != MW_OK)
                FAIL_AT(&p, "the sample cannot be made");
            if (mw__rule_of(&sample.call, &arena, &rule) != MW_OK)
                FAIL_AT(&p, "the call has no rule");
            if (sample.call.nin > HARNESS_OPERANDS || rule.nout > HARNESS_OPERANDS)
                FAIL_AT(&p, "more operands than the test holds");
            f(&p, &sample, &rule, &arena);
            mw__arena_done(&arena);
        }
    }
}

/* Of a value near 1. */
static inline double tolerance(mw_dtype dtype)
{
    switch (dtype) {
    case MW_DTYPE_f64:
        return 1e-12;
    case MW_DTYPE_f32:
        return 1e-5;
    case MW_DTYPE_f16:
        return 4e-3;
    case MW_DTYPE_bf16:
        return 3e-2;
    default:
        return 0;
    }
}

#endif
