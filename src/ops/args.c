/* What ops ask of a call's arguments, and the names that messages use. */
#include "ops/args.h"
#include "ops/rule_parts.h"
#include "ops/table.h"

#include <stdio.h>

int64_t mw__arg_int(const mw_call_args *call, int pos, int64_t absent)
{
    const mw_arg *arg = &call->arg[pos];
    if (arg->kind == MW_ARG_FLOAT) return (int64_t)arg->f;
    return arg->kind == MW_ARG_NONE ? absent : arg->i;
}

double mw__arg_float(const mw_call_args *call, int pos, double absent)
{
    const mw_arg *arg = &call->arg[pos];
    if (arg->kind == MW_ARG_NONE) return absent;
    return arg->kind == MW_ARG_FLOAT ? arg->f : (double)arg->i;
}

bool mw__arg_bool(const mw_call_args *call, int pos, bool absent)
{
    const mw_arg *arg = &call->arg[pos];
    return arg->kind == MW_ARG_NONE ? absent : arg->i != 0;
}

mw_dtype mw__arg_dtype(const mw_call_args *call, int pos, mw_dtype absent)
{
    const mw_arg *arg = &call->arg[pos];
    return arg->kind == MW_ARG_DTYPE ? (mw_dtype)arg->i : absent;
}

int mw__arg_operand(const mw_call_args *call, int pos)
{
    const mw_arg *arg = &call->arg[pos];
    return arg->kind == MW_ARG_TENSOR ? arg->first : -1;
}

mw_status mw__arg_dim(const mw_call_args *call, int pos, int ndim, int *ret)
{
    return mw__dim_in_range(call, pos, call->arg[pos].i, ndim, ret);
}

mw_status mw__dim_in_range(const mw_call_args *call, int pos, int64_t value, int ndim, int *ret)
{
    int bound = MW_MAX(ndim, 1);
    if (value < -bound || value >= bound)
        return MW_FAIL(MW_ERR_SHAPE,
                       "%s: argument '%s' (position %d) is %lld, expected %d to %d for %d dim%s",
                       mw__call_name(call), mw__arg_name(call, pos), pos, (long long)value, -bound,
                       bound - 1, ndim, ndim == 1 ? "" : "s");
    *ret = (int)(value < 0 ? value + bound : value);
    return MW_OK;
}

/* ---- names for messages --------------------------------------------------------------------- */

const char *mw__call_name(const mw_call_args *call)
{
    const mw_op_info *info = mw__op_info_of(call->op);
    return info ? info->schema.name : "op";
}

const char *mw__arg_name(const mw_call_args *call, int pos)
{
    const mw_op_info *info = mw__op_info_of(call->op);
    return info && pos >= 0 && pos < info->schema.narg ? info->schema.arg[pos].name : "?";
}

const char *mw__operand_name(const mw_call_args *call, int operand)
{
    for (int a = 0; a < call->narg; a++) {
        const mw_arg *arg = &call->arg[a];
        bool tensor = arg->kind == MW_ARG_TENSOR || arg->kind == MW_ARG_TENSORS;
        if (tensor && operand >= arg->first && operand < arg->first + arg->count)
            return mw__arg_name(call, a);
    }
    return "?";
}

const char *mw__meta_text(const mw_meta *meta, char *to)
{
    size_t n = 0;
    n += (size_t)snprintf(to, MW_META_TEXT, "%s[", mw_dtype_name(meta->dtype));
    for (int d = 0; d < meta->ndim && n < MW_META_TEXT; d++)
        n += (size_t)snprintf(to + n, MW_META_TEXT - n, "%s%lld", d ? ", " : "",
                              (long long)meta->shape[d]);
    if (n < MW_META_TEXT) (void)snprintf(to + n, MW_META_TEXT - n, "]");
    return to;
}
