/* Tensors out of nothing. Their dims are letters of the result alone, so each rank makes exactly
 * its own part; what a part holds depends on global positions only. */
#include "ops/elementwise.h"
#include "ops/rule_parts.h"

#include <math.h>

/* ---- one value everywhere ---------------------------------------------------------------------
 */

static mw_status fill(const mw_view *out, const mw_arg *value)
{
    double element; /* room for any dtype */
    if (mw__view_count(out) == 0) return MW_OK;
    if (value->kind == MW_ARG_FLOAT)
        mw__element_set(&element, out->dtype, value->f);
    else
        mw__element_set_i64(&element, out->dtype, value->i);
    mw_view from = *out; /* which may have any strides */
    from.data = &element;
    memset(from.stride, 0, sizeof from.stride);
    mw__view_copy(out, &from);
    return MW_OK;
}

static mw_status full_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &k->call->arg[1]);
}

static mw_status zeros_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &(mw_arg){.kind = MW_ARG_INT, .i = 0});
}

/* What is written in place keeps its terms: a sum of zeros. */
static mw_status zeros_like_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    rule->in[0].linear = !rule->in[0].unread;
    return mw__rule_default(call, rule);
}

static mw_status ones_kernel(const mw_kernel_call *k)
{
    return fill(&k->out[0], &(mw_arg){.kind = MW_ARG_INT, .i = 1});
}

/* The dtype of a Scalar on its own. */
static mw_dtype dtype_of(const mw_arg *value)
{
    if (value->kind == MW_ARG_BOOL) return MW_DTYPE_bool;
    return value->kind == MW_ARG_FLOAT ? MW_DTYPE_f32 : MW_DTYPE_i64;
}

static mw_status full_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_arg *size = &call->arg[0];
    if (size->count > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "%s: %d dims; there may be at most %d", mw__call_name(call),
                       size->count, MW_MAX_DIMS);
    for (int d = 0; d < size->count; d++) {
        if (size->ints[d] < 0)
            return MW_FAIL(MW_ERR_SHAPE, "%s: dim %d of argument 'size' is negative: %lld",
                           mw__call_name(call), d, (long long)size->ints[d]);
        mw__rule_push(&rule->out[0],
                      mw__rule_letter_nth(rule, "i", d, size->ints[d], MW_MARK_FREE));
    }
    rule->out_meta[0].dtype = mw__arg_dtype(call, 2, dtype_of(&call->arg[1]));
    return MW_OK;
}

const mw_op mw_op_full = {
    .schema = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
              "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    .doc = "A tensor with one number everywhere.",
    .dtype = MW_OUT_ARG,
    .kernel = full_kernel,
    .factors = full_factors,
    .samples =
        "[4, 6], 0.5; [3], 7; [2, 2], true; [], 1.5; [0, 3], 1; [4], 2, bf16; [3, 2], 1, f64",
};

const mw_op mw_op_zeros_like = {
    .schema =
        "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Zeros in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = zeros_kernel,
    .factors = zeros_like_factors,
    .samples = "f32[4, 6]; i64[3]<9; bf16[2, 5]; f32[]; f32[0, 2]; f32[3], i32",
};

const mw_op mw_op_ones_like = {
    .schema =
        "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "Ones in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = ones_kernel,
    .samples = "f32[4, 6]; i64[3]<9; bf16[2, 5]; f32[]; f32[0, 2]; f32[3], f64",
};

const mw_op mw_op_full_like = {
    .schema = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, "
              "Layout? layout=None, Device? device=None, bool? pin_memory=None, "
              "MemoryFormat? memory_format=None) -> Tensor",
    .rule = "self[...] -> [...]",
    .doc = "One number everywhere, in the shape and dtype of a tensor.",
    .unread = MW_ARG(0),
    .dtype = MW_OUT_ARG,
    .kernel = full_kernel,
    .samples =
        "f32[4, 6], 0.5; i64[3]<9, 7; bf16[2, 5], -1; f32[], 1; f32[0, 2], 1; f32[3], 2, f64",
};

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
