/* Reductions as ops: sum, mean, amax, amin. The loops are in reduce.c.
 * Invariant: a rank that holds nothing of a reduced dim gives the identity, and mean divides by the
 * global count, so that parts of a sharded reduction combine by their sum, maximum or minimum. */
#include "ops/elementwise.h"
#include "ops/fold.h"
#include "ops/reduce.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

/* Bit per dim that the call reduces: those of argument 1 where the op has it. */
static mw_status reduced_dims(const mw_call_args *call, bool has_dims, uint32_t *ret_mask)
{
    *ret_mask = (1u << call->in[0].ndim) - 1;
    return has_dims ? mw__dims_named(call, 1, ret_mask) : MW_OK;
}

/* A sum of parts in a narrower dtype, or in integers, is not the part of a sum; and truth values
 * have no sum between ranks. */
static mw_status sum_rule(const mw_call_args *call, mw_rule *rule)
{
    mw_dtype from = call->in[0].dtype, to = rule->out_meta[0].dtype;
    MW_TRY(mw__rule_default(call, rule));
    rule->in[0].linear = mw__dtype_widens(from, to) || mw_dtype_kind_of(from) != MW_KIND_FLOAT;
    if (to == MW_DTYPE_bool) rule->in[0].linear = 0, rule->reduce = MW_REDUCE_NONE;
    return MW_OK;
}

static mw_status mean_rule(const mw_call_args *call, mw_rule *rule)
{
    mw_dtype to = rule->out_meta[0].dtype;
    if (mw_dtype_kind_of(to) != MW_KIND_FLOAT) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "%s: the mean of integers is none; got %s",
                                   mw__call_name(call), mw_dtype_name(to));
        mw__error_hint("pass dtype=float32, or convert the tensor to a float dtype first");
        return status;
    }
    MW_TRY(mw__rule_default(call, rule));
    rule->in[0].linear = mw__dtype_widens(call->in[0].dtype, to);
    return MW_OK;
}

static mw_status extreme_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask = 0;
    MW_TRY(reduced_dims(call, true, &mask));
    for (int d = 0; d < call->in[0].ndim; d++)
        if ((mask >> d & 1u) && call->in[0].shape[d] == 0)
            return MW_FAIL(
                MW_ERR_SHAPE,
                "%s: dim %d has size 0, and of no elements none is the largest or smallest",
                mw__call_name(call), d);
    return mw__rule_default(call, rule);
}

static mw_status sum_kernel_of(const mw_kernel_call *k, bool has_dims)
{
    uint32_t mask = 0;
    MW_TRY(reduced_dims(k->call, has_dims, &mask));
    mw__reduce_run(MW_REDUCE_SUM, &k->in[0], mask, 0, &k->out[0]);
    return MW_OK;
}

static mw_status mean_kernel_of(const mw_kernel_call *k, bool has_dims)
{
    uint32_t mask = 0;
    MW_TRY(reduced_dims(k->call, has_dims, &mask));
    double count = mw__dims_count(k->call, mask);
    if (count == 0) count = NAN; /* torch: the mean of nothing */
    mw__reduce_run(MW_REDUCE_SUM, &k->in[0], mask, count, &k->out[0]);
    return MW_OK;
}

static mw_status extreme_kernel_of(const mw_kernel_call *k, mw_reduce kind)
{
    uint32_t mask = 0;
    MW_TRY(reduced_dims(k->call, true, &mask));
    mw__reduce_run(kind, &k->in[0], mask, 0, &k->out[0]);
    return MW_OK;
}

/* Functions of the table, for the overloads with and without dims. */
#define OVERLOAD(word, does, has_dims)                                                        \
    static mw_status word##_kernel(const mw_kernel_call *k)                                   \
    {                                                                                         \
        return does##_kernel_of(k, has_dims);                                                 \
    }                                                                                         \
    static mw_status word##_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule) \
    {                                                                                         \
        (void)arena;                                                                          \
        return does##_rule(call, rule);                                                       \
    }

OVERLOAD(sum, sum, false)
OVERLOAD(sum_dim, sum, true)
OVERLOAD(mean, mean, false)
OVERLOAD(mean_dim, mean, true)

static mw_status amax_kernel(const mw_kernel_call *k)
{
    return extreme_kernel_of(k, MW_REDUCE_MAX);
}

static mw_status amin_kernel(const mw_kernel_call *k)
{
    return extreme_kernel_of(k, MW_REDUCE_MIN);
}

const mw_op mw_op_sum = {
    .schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Sum of all elements; of integers in i64.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_SUM,
    .kernel = sum_kernel,
    .factors = sum_factors,
    .samples =
        "f32[4, 6]; f64[5, 2, 3]; bf16[9, 3]; i32[7]<9; bool[8]; f32[]; f32[0, 3]; f32[5, 7], f64",
};

const mw_op mw_op_sum_dim_intlist = {
    .schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
              "ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Sum over some dims; of integers in i64.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_SUM,
    .kernel = sum_dim_kernel,
    .factors = sum_dim_factors,
    .samples = "f32[4, 6], [1]; f32[4, 6], [0], true; f64[2, 5, 3], [0, -1]; bf16[9, 3], [1]; "
               "i32[7, 2]<9, [0]; bool[3, 4], [1]; f32[], [0]; f32[0, 3], [0]; f32[4, 6], none; "
               "f32[3, 4, 5], [1], false, f64",
};

const mw_op mw_op_mean = {
    .schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Mean of all elements.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_ARG,
    .refuses = MW_REFUSES_INTEGERS,
    .kernel = mean_kernel,
    .factors = mean_factors,
    .samples = "f32[4, 6]; f64[5, 2, 3]; bf16[9, 3]; f32[]; i64[6]<9, f32",
};

const mw_op mw_op_mean_dim = {
    .schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, "
              "ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Mean over some dims.",
    .linear_in = MW_ARG(0),
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_ARG,
    .refuses = MW_REFUSES_INTEGERS,
    .kernel = mean_dim_kernel,
    .factors = mean_dim_factors,
    .samples = "f32[4, 6], [1]; f32[4, 6], [-1], true; f64[2, 5, 3], [0, 2]; f16[9, 3], [0]; "
               "i32[7, 2]<9, [0], false, f64; f32[], [0]; f32[3, 0], [0]; f32[4, 6], none",
};

#define EXTREME_SAMPLES                                                                           \
    "f32[4, 6], [1]; f32[4, 6], [0], true; f64[2, 5, 3], [0, -1]; bf16[9, 3]; i32[7, 2]<9, [0]; " \
    "bool[3, 4], [1]; u8[5]<9, [0]; f32[]; f32[0, 3], [1]"

/* Over all dims: as amax, which has none to name. */
static mw_status extreme_all_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    for (int d = 0; d < call->in[0].ndim; d++)
        if (call->in[0].shape[d] == 0)
            return MW_FAIL(
                MW_ERR_SHAPE,
                "%s: dim %d has size 0, and of no elements none is the largest or smallest",
                mw__call_name(call), d);
    return mw__rule_default(call, rule);
}

static mw_status max_kernel(const mw_kernel_call *k)
{
    mw__reduce_run(MW_REDUCE_MAX, &k->in[0], (1u << k->in[0].ndim) - 1, 0, &k->out[0]);
    return MW_OK;
}

static mw_status min_kernel(const mw_kernel_call *k)
{
    mw__reduce_run(MW_REDUCE_MIN, &k->in[0], (1u << k->in[0].ndim) - 1, 0, &k->out[0]);
    return MW_OK;
}

#define ALL_SAMPLES "f32[4, 6]; f64[2, 5, 3]; bf16[9, 3]; i32[7, 2]<9; bool[3, 4]; f32[]; f32[1, 3]"

const mw_op mw_op_max = {
    .schema = "aten::max(Tensor self) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Largest of all elements; NaN wins.",
    .reduce = MW_REDUCE_MAX,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = max_kernel,
    .factors = extreme_all_factors,
    .samples = ALL_SAMPLES,
};

const mw_op mw_op_min = {
    .schema = "aten::min(Tensor self) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Smallest of all elements; NaN wins.",
    .reduce = MW_REDUCE_MIN,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = min_kernel,
    .factors = extreme_all_factors,
    .samples = ALL_SAMPLES,
};

const mw_op mw_op_amax = {
    .schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Largest element over some dims; NaN wins.",
    .reduce = MW_REDUCE_MAX,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = amax_kernel,
    .factors = extreme_factors,
    .samples = EXTREME_SAMPLES,
};

const mw_op mw_op_amin = {
    .schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Smallest element over some dims; NaN wins.",
    .reduce = MW_REDUCE_MIN,
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .kernel = amin_kernel,
    .factors = extreme_factors,
    .samples = EXTREME_SAMPLES,
};
