/* Progressions, and one_hot: what an element is follows from its global position, so each rank
 * makes exactly its own part. */
#include "ops/elementwise.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- arange ------------------------------------------------------------------------------------
 */

typedef struct progression {
    bool is_float; /* some bound is */
    double start_f, step_f;
    int64_t start_i, step_i;
    int64_t count;
} progression;

static bool is_float(const mw_arg *arg)
{
    return arg->kind == MW_ARG_FLOAT;
}

static double as_float(const mw_arg *arg)
{
    return is_float(arg) ? arg->f : (double)arg->i;
}

static mw_status count_ints(const mw_call_args *call, int64_t end, progression *p)
{
    int64_t span;
    if (__builtin_sub_overflow(end, p->start_i, &span) || span == INT64_MIN)
        return MW_FAIL(MW_ERR_SHAPE, "%s: from %lld to %lld is further than an int64 tells",
                       mw__call_name(call), (long long)p->start_i, (long long)end);
    bool towards = span == 0 || (span > 0) == (p->step_i > 0);
    p->count = towards ? span / p->step_i + (span % p->step_i != 0) : -1;
    return MW_OK;
}

static mw_status count_floats(const mw_call_args *call, double end, progression *p)
{
    double count = ceil((end - p->start_f) / p->step_f);
    if (!(count < 0x1p62))
        return MW_FAIL(MW_ERR_SHAPE, "%s: from %g to %g by %g has no finite number of elements",
                       mw__call_name(call), p->start_f, end, p->step_f);
    p->count = count < 0 ? -1 : (int64_t)count;
    return MW_OK;
}

static mw_status progression_of(const mw_call_args *call, bool has_start, progression *ret)
{
    const mw_arg zero = {.kind = MW_ARG_INT, .i = 0}, one = {.kind = MW_ARG_INT, .i = 1};
    const mw_arg *start = has_start ? &call->arg[0] : &zero;
    const mw_arg *end = &call->arg[has_start ? 1 : 0];
    const mw_arg *step = has_start && call->arg[2].kind != MW_ARG_NONE ? &call->arg[2] : &one;
    progression p = {.is_float = is_float(start) || is_float(end) || is_float(step),
                     .start_f = as_float(start),
                     .step_f = as_float(step),
                     .start_i = start->i,
                     .step_i = step->i};
    if (p.step_f == 0) return MW_FAIL(MW_ERR_ARG, "%s: step must not be 0", mw__call_name(call));
    if (p.is_float)
        MW_TRY(count_floats(call, as_float(end), &p));
    else
        MW_TRY(count_ints(call, end->i, &p));
    if (p.count < 0)
        return MW_FAIL(MW_ERR_ARG, "%s: a step of %g does not lead from %g to %g",
                       mw__call_name(call), p.step_f, p.start_f, as_float(end));
    *ret = p;
    return MW_OK;
}

static mw_status arange_letters(const mw_call_args *call, bool has_start, mw_rule *rule)
{
    progression p = {0};
    MW_TRY(progression_of(call, has_start, &p));
    mw__rule_push(&rule->out[0], mw__rule_letter(rule, "n", p.count, MW_MARK_FREE));
    rule->out_meta[0].dtype =
        mw__arg_dtype(call, has_start ? 3 : 1, p.is_float ? MW_DTYPE_f32 : MW_DTYPE_i64);
    return MW_OK;
}

static mw_status arange_kernel_of(const mw_kernel_call *k, bool has_start)
{
    progression p = {0};
    const mw_range *ranges = NULL;
    int64_t count = 0;
    const mw_view *out = &k->out[0];
    char *at = out->data;
    MW_TRY(progression_of(k->call, has_start, &p));
    MW_TRY(
        mw__kernel_ranges(k, k->out_layout ? k->out_layout[0] : NULL, 0, p.count, &ranges, &count));
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = ranges[r].first; i < ranges[r].end; i++) {
            if (p.is_float)
                mw__element_set(at, out->dtype, p.start_f + (double)i * p.step_f);
            else
                mw__element_set_i64(at, out->dtype,
                                    MW__ADD_I64(p.start_i, MW__MUL_I64(i, p.step_i)));
            at += mw_dtype_size(out->dtype);
        }
    return MW_OK;
}

static mw_status arange_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    return arange_letters(call, false, rule);
}

static mw_status arange_start_step_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    return arange_letters(call, true, rule);
}

static mw_status arange_kernel(const mw_kernel_call *k)
{
    return arange_kernel_of(k, false);
}

static mw_status arange_start_step_kernel(const mw_kernel_call *k)
{
    return arange_kernel_of(k, true);
}

const mw_op mw_op_arange = {
    .schema = "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
              "Device? device=None, bool? pin_memory=None) -> Tensor",
    .doc = "0, 1, 2, ... below the end.",
    .dtype = MW_OUT_ARG,
    .kernel = arange_kernel,
    .factors = arange_factors,
    .samples = "8; 5.5; 0; 7, f32; 12, i32; 6, bf16; 1, f64",
};

const mw_op mw_op_arange_start_step = {
    .schema = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "
              "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
              "bool? pin_memory=None) -> Tensor",
    .doc = "Numbers from start by step, before the end.",
    .dtype = MW_OUT_ARG,
    .kernel = arange_start_step_kernel,
    .factors = arange_start_step_factors,
    .samples = "2, 9; 0, 10, 3; 5, -5, -2; 0.5, 3, 0.25; 4, 4; 1, 8, 2, f32; 0, 6, 1, f64",
};

/* ---- one_hot ---------------------------------------------------------------------------------
 */

static mw_status one_hot_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    int64_t classes = mw__arg_int(call, 1, -1);
    char text[MW_META_TEXT];
    if (classes <= 0) {
        (void)MW_FAIL(MW_ERR_UNSUPPORTED,
                      "one_hot: num_classes is %lld, and a shape cannot depend on data",
                      (long long)classes);
        mw__error_hint("pass the number of classes");
        return MW_ERR_UNSUPPORTED;
    }
    if (call->in[0].dtype != MW_DTYPE_i64)
        return MW_FAIL(MW_ERR_ARG, "one_hot: self is %s, but must hold i64",
                       mw__meta_text(&call->in[0], text));
    int first = mw__rule_letters(rule, &rule->in[0], &call->in[0], "d", MW_MARK_FREE);
    for (int d = 0; d < call->in[0].ndim; d++)
        mw__rule_push(&rule->out[0], first + d);
    mw__rule_push(&rule->out[0], mw__rule_letter(rule, "c", classes, MW_MARK_FREE));
    return MW_OK;
}

static mw_status one_hot_kernel(const mw_kernel_call *k)
{
    const mw_view *out = &k->out[0];
    int last = out->ndim - 1;
    int64_t classes = mw__arg_int(k->call, 1, 1), n = mw__view_count(&k->in[0]), ranges;
    const mw_range *range;
    int64_t *index = mw__arena_alloc(k->scratch, (size_t)MW_MAX(n, 1) * sizeof *index);
    if (!index) return MW_NOMEM();
    mw_view to;
    mw__view_set(&to, MW_DTYPE_i64, k->in[0].ndim, k->in[0].shape);
    to.data = index;
    mw__view_copy(&to, &k->in[0]);
    MW_TRY(mw__kernel_ranges(k, k->out_layout ? k->out_layout[0] : NULL, last, classes, &range,
                             &ranges));
    int64_t *at = out->data;
    for (int64_t i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= classes)
            return MW_FAIL(MW_ERR_ARG, "one_hot: class %lld is outside of 0 to %lld",
                           (long long)index[i], (long long)classes - 1);
        for (int64_t r = 0; r < ranges; r++)
            for (int64_t c = range[r].first; c < range[r].end; c++)
                *at++ = c == index[i];
    }
    return MW_OK;
}

const mw_op mw_op_one_hot = {
    .schema = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
    .rule = "self[...] -> [... c]",
    .doc = "For every class number a row with 1 at its place and 0 elsewhere.",
    .dtype = MW_OUT_INDEX,
    .kernel = one_hot_kernel,
    .factors = one_hot_factors,
    .samples = "i64[5]<7, 7; i64[2, 3]<4, 6; i64[]<3, 3; i64[0], 4; i64[4]<1, 1",
};
