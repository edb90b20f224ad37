/* The extreme along a dim, and where it stands: argmax, argmin, max.dim, min.dim. NaN is above any
 * number, and of equal elements the first is the one.
 *
 * Over a dim that is sharded they go by parts: the extreme is one small reduction, and the place is
 * another, the smallest of the places at which the ranks find it (span by span, whatever the cut).
 * Invariant: a rank without an element of a row gives the identities of both. */
#include "ops/interp.h"
#include "ops/rows.h"
#include "ops/rule_parts.h"
#include "ops/search.h"

#include <math.h>

enum { SEARCH_DIM = 1, SEARCH_KEEPDIM };

static int64_t global(const int64_t *position, int64_t at)
{
    return position ? position[at] : at;
}

/* ---- the rule --------------------------------------------------------------------------------
 */

/* Every dim a letter; those that are searched may be split by parts, and go. */
static mw_status search_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    char text[MW_META_TEXT];
    bool all = call->arg[SEARCH_DIM].kind == MW_ARG_NONE;
    bool keep = mw__arg_bool(call, SEARCH_KEEPDIM, false);
    int dim = -1;
    if (!all) MW_TRY(mw__arg_dim(call, SEARCH_DIM, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < self->ndim; d++) {
        bool searched = all || d == dim;
        if (searched && self->shape[d] == 0)
            return MW_FAIL(MW_ERR_SHAPE, "%s: self is %s: there is no element to choose",
                           mw__call_name(call), mw__meta_text(self, text));
        if (searched) rule->letter[first + d].mark = MW_MARK_PARTS;
        for (int o = 0; o < rule->nout; o++)
            if (!searched || keep) mw__rule_push(&rule->out[o], searched ? -1 : first + d);
    }
    rule->out_meta[rule->nout - 1].dtype = MW_DTYPE_i64;
    return MW_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* The position in the flattened whole tensor of an element of the flattened shard. */
static mw_status flat_position(const mw_kernel_call *k, int64_t at, int64_t *ret)
{
    const mw_view *in = &k->in[0];
    int64_t stride = 1;
    *ret = 0;
    for (int d = in->ndim - 1; d >= 0; d--) {
        const int64_t *position;
        MW_TRY(mw__search_positions(k, d, &position));
        *ret += global(position, at % in->shape[d]) * stride;
        at /= in->shape[d];
        stride *= k->call->in[0].shape[d];
    }
    return MW_OK;
}

/* Of all elements. */
static mw_status best_of_all(const mw_kernel_call *k, int sign)
{
    int64_t n = mw__view_count(&k->in[0]), *to = k->out[0].data;
    void *buffer;
    if (n == 0) { /* of an empty shard: no position */
        *to = -1;
        return MW_OK;
    }
    MW_TRY(mw__search_buffer(k, n, &buffer));
    mw__search_row r = mw__search_row_of(&k->in[0], buffer);
    return flat_position(k, mw__search_best(&r, sign), to);
}

/* Results are contiguous, and without the dim in the order of the rest. `values` may be NULL. */
static mw_status best_along(const mw_kernel_call *k, int sign, const mw_view *values,
                            int64_t *places)
{
    mw_view in = k->in[0], from;
    int64_t index[MW_MAX_DIMS] = {0}, nth = 0;
    void *buffer;
    int dim;
    MW_TRY(mw__arg_dim(k->call, SEARCH_DIM, in.ndim, &dim));
    mw__row_take(&in, dim, &from);
    MW_TRY(mw__search_buffer(k, from.shape[0], &buffer));
    do {
        from.data = mw__row_at(&in, index);
        mw__search_row r = mw__search_row_of(&from, buffer);
        places[nth] = mw__search_best(&r, sign);
        if (values) {
            mw_view to = {.dtype = values->dtype}, best = mw__row_element(&from, places[nth]);
            to.data = (char *)values->data + nth * mw_dtype_size(values->dtype);
            mw__view_copy(&to, &best);
        }
        nth++;
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static mw_status arg_of(const mw_kernel_call *k, int sign)
{
    if (mw__view_count(&k->out[0]) == 0) return MW_OK;
    if (k->call->arg[SEARCH_DIM].kind == MW_ARG_NONE) return best_of_all(k, sign);
    return best_along(k, sign, NULL, k->out[0].data);
}

static mw_status both_of(const mw_kernel_call *k, int sign)
{
    if (mw__view_count(&k->out[0]) == 0) return MW_OK;
    return best_along(k, sign, &k->out[0], k->out[1].data);
}

static mw_status argmax_kernel(const mw_kernel_call *k)
{
    return arg_of(k, 1);
}

static mw_status argmin_kernel(const mw_kernel_call *k)
{
    return arg_of(k, -1);
}

static mw_status max_dim_kernel(const mw_kernel_call *k)
{
    return both_of(k, 1);
}

static mw_status min_dim_kernel(const mw_kernel_call *k)
{
    return both_of(k, -1);
}

/* ---- the part: where a value first stands -----------------------------------------------------
 */

static mw_status first_equal_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    bool all = call->arg[2].kind == MW_ARG_NONE, keep = mw__arg_bool(call, 3, false);
    int dim = -1;
    if (!all) MW_TRY(mw__arg_dim(call, 2, self->ndim, &dim));
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < self->ndim; d++) {
        bool searched = all || d == dim;
        if (!searched) mw__rule_put(&rule->in[1], d, first + d);
        if (!searched || keep) mw__rule_push(&rule->out[0], searched ? -1 : first + d);
    }
    return MW_OK;
}

/* The first position of a row that equals the value, or n. NaN equals NaN. */
static int64_t find(const mw__search_row *r, const mw_view *value)
{
    int64_t i = 0;
    if (r->i64) {
        int64_t v = mw__element_get_i64(value->data, value->dtype);
        while (i < r->n && r->i64[i] != v)
            i++;
        return i;
    }
    double v = mw__element_get(value->data, value->dtype);
    for (; i < r->n; i++) {
        double a = r->f32 ? (double)r->f32[i] : r->f64[i];
        if (a == v || (isnan(a) && isnan(v))) break;
    }
    return i;
}

static mw_status first_equal_all(const mw_kernel_call *k)
{
    int64_t n = mw__view_count(&k->in[0]), *to = k->out[0].data;
    void *buffer;
    if (n == 0) { /* of an empty shard: no position, which the least of all does not see */
        *to = INT64_MAX;
        return MW_OK;
    }
    MW_TRY(mw__search_buffer(k, n, &buffer));
    mw__search_row r = mw__search_row_of(&k->in[0], buffer);
    int64_t at = n > 0 ? find(&r, &k->in[1]) : 0;
    *to = INT64_MAX;
    return at < n ? flat_position(k, at, to) : MW_OK;
}

static mw_status first_equal_kernel(const mw_kernel_call *k)
{
    mw_view in = k->in[0], value = k->in[1], from, one;
    int64_t index[MW_MAX_DIMS] = {0}, *to = k->out[0].data;
    const int64_t *position;
    void *buffer;
    int dim;
    if (mw__view_count(&k->out[0]) == 0) return MW_OK;
    if (k->call->arg[2].kind == MW_ARG_NONE) return first_equal_all(k);
    MW_TRY(mw__arg_dim(k->call, 2, in.ndim, &dim));
    MW_TRY(mw__search_positions(k, dim, &position));
    mw__row_take(&in, dim, &from);
    mw__row_take(&value, dim, &one);
    MW_TRY(mw__search_buffer(k, from.shape[0], &buffer));
    do {
        from.data = mw__row_at(&in, index);
        one.data = mw__row_at(&value, index);
        mw__search_row r = mw__search_row_of(&from, buffer);
        int64_t at = find(&r, &one);
        *to++ = at < r.n ? global(position, at) : INT64_MAX;
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static const mw_op first_equal = {
    .schema = "meshwise::first_equal(Tensor self, Tensor value, int? dim, bool keepdim) -> Tensor",
    .doc = "Where a value first stands along a dim, or in all; a part of argmax and its like.",
    .reduce = MW_REDUCE_MIN,
    .dtype = MW_OUT_INDEX,
    .factors = first_equal_factors,
    .kernel = first_equal_kernel,
};

/* The extreme with its dims kept, and its place. */
static mw_status parts_of(mw_interp *in, const mw_call_args *call, mw_tensor *x, int sign,
                          mw_tensor **ret_most, mw_tensor **ret_place)
{
    const mw_arg *dim = &call->arg[SEARCH_DIM];
    bool all = dim->kind == MW_ARG_NONE;
    mw_value dims = mw__val_ints(&dim->i, all ? 0 : 1), keep = mw__val_bool(true);
    mw_value at = all ? mw__val_none() : mw__val_int(dim->i);
    mw_tensor *most = sign > 0 ? MW_EMIT(in, amax, mw__val(x), dims, keep)
                               : MW_EMIT(in, amin, mw__val(x), dims, keep);
    *ret_most = in->settle(in, most);
    MW_EMIT_PART(in, first_equal, ret_place, 1, mw__val(x), mw__val(*ret_most), at,
                 mw__val_bool(mw__arg_bool(call, SEARCH_KEEPDIM, false)));
    *ret_place = in->settle(in, *ret_place);
    return in->status;
}

static mw_status argmax_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                              mw_tensor **ret_out)
{
    mw_tensor *most;
    return parts_of(in, call, operand[0], 1, &most, &ret_out[0]);
}

static mw_status argmin_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                              mw_tensor **ret_out)
{
    mw_tensor *most;
    return parts_of(in, call, operand[0], -1, &most, &ret_out[0]);
}

static mw_status both_parts(mw_interp *in, const mw_call_args *call, mw_tensor *x, int sign,
                            mw_tensor **ret_out)
{
    MW_TRY(parts_of(in, call, x, sign, &ret_out[0], &ret_out[1]));
    if (!mw__arg_bool(call, SEARCH_KEEPDIM, false))
        ret_out[0] =
            MW_EMIT(in, squeeze_dim, mw__val(ret_out[0]), mw__val_int(call->arg[SEARCH_DIM].i));
    return in->status;
}

static mw_status max_dim_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                               mw_tensor **ret_out)
{
    return both_parts(in, call, operand[0], 1, ret_out);
}

static mw_status min_dim_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                               mw_tensor **ret_out)
{
    return both_parts(in, call, operand[0], -1, ret_out);
}

/* ---- the ops --------------------------------------------------------------------------------- */

#define ARG_SAMPLES                                                                 \
    "f32[4, 6], 1; f32[3, 5, 2], 0, true; f64[7]; i64[3, 8]<4, -1; bf16[2, 9], 1; " \
    "f32[2, 3], none, true; f32[0, 4], 1; bool[3, 4], 0"
#define BOTH_SAMPLES                                                                             \
    "f32[4, 6], 1; f32[3, 5, 2], 0, true; f64[7], 0; i64[3, 8]<4, -1; bf16[2, 9], 1; f32[], 0; " \
    "f32[0, 4], 1; bool[3, 4], 0"

const mw_op mw_op_argmax = {
    .schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "The position of the largest element, the first of equal ones, along a dim or of all.",
    .dtype = MW_OUT_INDEX,
    .factors = search_factors,
    .kernel = argmax_kernel,
    .parts = argmax_parts,
    .reductions = 2,
    .samples = ARG_SAMPLES,
};

const mw_op mw_op_argmin = {
    .schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    .rule = "self[... dim:d^ ...] -> [...]",
    .doc = "The position of the smallest element, the first of equal ones, along a dim or of all.",
    .dtype = MW_OUT_INDEX,
    .factors = search_factors,
    .kernel = argmin_kernel,
    .parts = argmin_parts,
    .reductions = 2,
    .samples = ARG_SAMPLES,
};

const mw_op mw_op_max_dim = {
    .schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
              "indices)",
    .rule = "self[... dim:d^ ...] -> [...], i64[...]",
    .doc = "The largest element along a dim, and the first position that has it; NaN wins.",
    .factors = search_factors,
    .kernel = max_dim_kernel,
    .parts = max_dim_parts,
    .reductions = 2,
    .samples = BOTH_SAMPLES,
};

const mw_op mw_op_min_dim = {
    .schema = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
              "indices)",
    .rule = "self[... dim:d^ ...] -> [...], i64[...]",
    .doc = "The smallest element along a dim, and the first position that has it; NaN wins.",
    .factors = search_factors,
    .kernel = min_dim_kernel,
    .parts = min_dim_parts,
    .reductions = 2,
    .samples = BOTH_SAMPLES,
};
