/* The dtypes of a call's results: torch's promotion in its three classes (tensors with dims,
 * tensors without, Scalars), and the other rules of mw_out_dtype. */
#include "ops/rule_parts.h"
#include "ops/table.h"

/* A lower class matters only where its kind (bool < int < float) is above that of a higher class.
 */
static mw_dtype combine(mw_dtype high, mw_dtype low)
{
    if (high == MW_DTYPE_NONE) return low;
    if (low == MW_DTYPE_NONE || mw_dtype_kind_of(low) <= mw_dtype_kind_of(high)) return high;
    return low;
}

/* Scalars such as alpha=1, which scale and do not take part, have a default that is a number. */
static bool counts(const mw_schema_arg *arg)
{
    return arg->type.base == MW_TYPE_SCALAR && !arg->kwarg_only &&
           (!arg->has_default || arg->absent.kind == MW_ARG_NONE);
}

mw_dtype mw__rule_promote(const mw_call_args *call, const mw_schema *schema)
{
    mw_dtype dims = MW_DTYPE_NONE, none = MW_DTYPE_NONE, scalar = MW_DTYPE_NONE;
    for (int i = 0; i < call->nin; i++) {
        mw_dtype *class = call->in[i].ndim ? &dims : &none;
        *class = mw_dtype_promote(*class, call->in[i].dtype);
    }
    for (int a = 0; a < schema->narg; a++) {
        if (!counts(&schema->arg[a])) continue;
        mw_dtype dtype = MW_DTYPE_NONE;
        if (call->arg[a].kind == MW_ARG_FLOAT) dtype = MW_DTYPE_f32;
        if (call->arg[a].kind == MW_ARG_INT) dtype = MW_DTYPE_i64;
        if (call->arg[a].kind == MW_ARG_BOOL) dtype = MW_DTYPE_bool;
        scalar = mw_dtype_promote(scalar, dtype);
    }
    return combine(dims, combine(none, scalar));
}

static mw_dtype dtype_argument(const mw_call_args *call, const mw_op_info *info)
{
    int pos = info->dtype_arg;
    return pos < 0 ? MW_DTYPE_NONE : mw__arg_dtype(call, pos, MW_DTYPE_NONE);
}

static mw_dtype result_dtype(const mw_call_args *call, const mw_op_info *info)
{
    mw_dtype first = call->nin ? call->in[0].dtype : MW_DTYPE_f32, dtype;
    switch (mw__op_form(call->op)->dtype) {
    case MW_OUT_PROMOTE:
        return mw__rule_promote(call, &info->schema);
    case MW_OUT_FLOAT:
        dtype = mw__rule_promote(call, &info->schema);
        return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT ? dtype : MW_DTYPE_f32;
    case MW_OUT_SUM:
        dtype = dtype_argument(call, info);
        if (dtype != MW_DTYPE_NONE) return dtype;
        return mw_dtype_kind_of(first) == MW_KIND_FLOAT ? first : MW_DTYPE_i64;
    case MW_OUT_ARG:
        dtype = dtype_argument(call, info);
        return dtype != MW_DTYPE_NONE ? dtype : first;
    case MW_OUT_BOOL:
        return MW_DTYPE_bool;
    case MW_OUT_INDEX:
        return MW_DTYPE_i64;
    case MW_OUT_FIRST:
        break;
    }
    return first;
}

/* In place, the result keeps the dtype of what it is written to, which must be of its kind. */
static mw_status fit_written(const mw_call_args *call, const mw_schema *schema, int nth,
                             mw_dtype *dtype)
{
    const mw_type *result = &schema->result[nth];
    for (int a = 0; a < schema->narg; a++) {
        const mw_type *type = &schema->arg[a].type;
        if (!type->written || type->alias != result->alias || !call->arg[a].count) continue;
        mw_dtype was = call->in[call->arg[a].first].dtype;
        if (mw_dtype_kind_of(*dtype) > mw_dtype_kind_of(was))
            return MW_FAIL(MW_ERR_ARG, "%s: a result of %s cannot be written to '%s' of %s",
                           mw__call_name(call), mw_dtype_name(*dtype), schema->arg[a].name,
                           mw_dtype_name(was));
        *dtype = was;
    }
    return MW_OK;
}

mw_status mw__rule_dtypes(const mw_call_args *call, const mw_op_info *info, mw_rule *rule)
{
    mw_dtype dtype = result_dtype(call, info);
    for (int i = 0; i < rule->nout; i++) {
        mw_dtype own = dtype;
        bool stated = info->has_rule && i < info->rule.nout && info->rule.out[i].dtype;
        if (stated) own = (mw_dtype)info->rule.out[i].dtype;
        if (i < info->schema.nresult && info->schema.result[i].written)
            MW_TRY(fit_written(call, &info->schema, i, &own));
        rule->out_meta[i].dtype = own;
    }
    return MW_OK;
}
