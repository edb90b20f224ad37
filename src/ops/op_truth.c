/* Reductions of truth values and products: any, all, prod. Each rank folds its own shard; the
 * ranks' results combine by the same operation, which for bool is the maximum (any) or the minimum
 * (all). A partial operand is combined first: the tests of terms say nothing of their sum. */
#include "ops/elementwise.h"
#include "ops/fold.h"
#include "ops/reduce.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

static uint32_t all_dims(const mw_call_args *call)
{
    return (1u << call->in[0].ndim) - 1;
}

/* Argument 1 where the op has one dim there. */
static mw_status dim_of(const mw_call_args *call, bool has_dim, uint32_t *ret_mask)
{
    *ret_mask = all_dims(call);
    return has_dim ? mw__dims_named(call, 1, ret_mask) : MW_OK;
}

/* ---- any and all ----------------------------------------------------------------------------- */

/* A copy as bool, by the test != 0, and then its extreme. */
static mw_status truth(const mw_kernel_call *k, bool has_dim, mw_reduce kind)
{
    uint32_t mask = 0;
    MW_TRY(dim_of(k->call, has_dim, &mask));
    mw_view holds = k->in[0];
    if (holds.dtype != MW_DTYPE_bool) {
        mw__view_set(&holds, MW_DTYPE_bool, k->in[0].ndim, k->in[0].shape);
        holds.data = mw__arena_alloc(k->scratch, (size_t)MW_MAX(mw__view_count(&holds), 1));
        if (!holds.data) return MW_NOMEM();
        mw__view_copy(&holds, &k->in[0]);
    }
    mw__reduce_run(kind, &holds, mask, 0, &k->out[0]);
    return MW_OK;
}

#define TRUTH(word, name, args, dims, has_dim, kind, does, inputs) \
    static mw_status word##_kernel(const mw_kernel_call *k)        \
    {                                                              \
        return truth(k, has_dim, kind);                            \
    }                                                              \
    const mw_op mw_op_##word = {                                   \
        .schema = "aten::" name "(Tensor self" args ") -> Tensor", \
        .rule = dims,                                              \
        .doc = does,                                               \
        .reduce = kind,                                            \
        .dtype = MW_OUT_BOOL,                                      \
        .refuses = MW_REFUSES_TRUTH,                               \
        .kernel = word##_kernel,                                   \
        .samples = inputs,                                         \
    }

#define WHOLE_SAMPLES "bool[4, 6]; bool[3]; f32[4, 6]; i64[5]<2; bf16[3]; bool[]; bool[0, 3]"
#define DIM_SAMPLES                                                                              \
    "bool[4, 6], 1; bool[3, 2], 0, true; f32[4, 6], -1; i64[5, 2]<2, 0; bf16[3], 0; bool[], 0; " \
    "bool[0, 3], 0; f32[0, 3], 1"

TRUTH(any, "any", "", "self[...] -> []", false, MW_REDUCE_MAX, "True where some element is not 0.",
      WHOLE_SAMPLES);
TRUTH(all, "all", "", "self[...] -> []", false, MW_REDUCE_MIN, "True where no element is 0.",
      WHOLE_SAMPLES);
TRUTH(any_dim, "any.dim", ", int dim, bool keepdim=False", "self[... dim:d ...] -> [...]", true,
      MW_REDUCE_MAX, "True where some element along a dim is not 0.", DIM_SAMPLES);
TRUTH(all_dim, "all.dim", ", int dim, bool keepdim=False", "self[... dim:d ...] -> [...]", true,
      MW_REDUCE_MIN, "True where no element along a dim is 0.", DIM_SAMPLES);

/* ---- prod ------------------------------------------------------------------------------------ */

typedef struct product {
    double f64;
    int64_t i64;
    const mw_view *out;
} product;

static void product_start(void *state, int64_t nth)
{
    product *p = state;
    (void)nth;
    p->f64 = 1;
    p->i64 = 1;
}

static void product_f64(void *state, const void *x, int64_t n)
{
    const double *a = x;
    for (int64_t i = 0; i < n; i++)
        ((product *)state)->f64 *= a[i];
}

static void product_i64(void *state, const void *x, int64_t n)
{
    product *p = state;
    const int64_t *a = x;
    for (int64_t i = 0; i < n; i++)
        p->i64 = MW__MUL_I64(p->i64, a[i]);
}

static void product_end(void *state, int64_t nth)
{
    product *p = state;
    void *at = (char *)p->out->data + nth * mw_dtype_size(p->out->dtype);
    if (mw_dtype_kind_of(p->out->dtype) == MW_KIND_FLOAT)
        mw__element_set(at, p->out->dtype, p->f64);
    else
        mw__element_set_i64(at, p->out->dtype, p->i64);
}

static mw_status prod_of(const mw_kernel_call *k, bool has_dim)
{
    static const mw__fold floats = {MW_DTYPE_f64, product_start, product_f64, product_end};
    static const mw__fold integers = {MW_DTYPE_i64, product_start, product_i64, product_end};
    uint32_t mask = 0;
    product p = {.out = &k->out[0]};
    MW_TRY(dim_of(k->call, has_dim, &mask));
    bool is_float = mw_dtype_kind_of(p.out->dtype) == MW_KIND_FLOAT;
    mw__fold_run(is_float ? &floats : &integers, &p, &k->in[0], mask);
    return MW_OK;
}

static mw_status prod_kernel(const mw_kernel_call *k)
{
    return prod_of(k, false);
}

static mw_status prod_dim_kernel(const mw_kernel_call *k)
{
    return prod_of(k, true);
}

const mw_op mw_op_prod = {
    .schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    .rule = "self[...] -> []",
    .doc = "Product of all elements; of integers in i64.",
    .reduce = MW_REDUCE_PROD,
    .dtype = MW_OUT_SUM,
    .kernel = prod_kernel,
    .samples = "f32[2, 3]; f64[5, 2]; i32[6]<9; f32[]; f32[0, 3]; f32[5], f64",
};

const mw_op mw_op_prod_dim_int = {
    .schema = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, "
              "ScalarType? dtype=None) -> Tensor",
    .rule = "self[... dim:d ...] -> [...]",
    .doc = "Product along a dim; of integers in i64.",
    .reduce = MW_REDUCE_PROD,
    .dtype = MW_OUT_SUM,
    .refuses = MW_REFUSES_TRUTH "; S(*) -> P(min): of 0 and 1 it is a product, too",
    .kernel = prod_dim_kernel,
    .samples = "f32[4, 6], 1; f32[4, 6], 0, true; f64[2, 5, 3], -1; bf16[4, 3], 0; i32[7, 2]<5, 0; "
               "bool[3, 4], 1; f32[], 0; f32[0, 3], 0; f32[3, 4], 1, false, f64",
};
