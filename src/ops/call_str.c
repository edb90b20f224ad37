/* Calls and values as text, as they stand in messages, logs and events. */
#include "ops/args.h"
#include "ops/rule_parts.h"

void mw__meta_str(const mw_meta *meta, mw_str *to)
{
    char text[MW_META_TEXT];
    mw__str_puts(to, mw__meta_text(meta, text));
}

static void quoted_str(const char *text, mw_str *to)
{
    mw__str_putc(to, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') mw__str_putc(to, '\\');
        mw__str_putc(to, *text);
    }
    mw__str_putc(to, '"');
}

static void tensor_str(const mw_meta *tensors, int nth, mw_str *to)
{
    if (tensors)
        mw__meta_str(&tensors[nth], to);
    else
        mw__str_puts(to, "Tensor");
}

static void list_str(const mw_arg *arg, const mw_meta *tensors, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int i = 0; i < arg->count; i++) {
        if (i) mw__str_puts(to, ", ");
        if (arg->kind == MW_ARG_INTS)
            mw__str_printf(to, "%lld", (long long)arg->ints[i]);
        else if (arg->kind == MW_ARG_STRS)
            quoted_str(arg->strs[i], to);
        else
            tensor_str(tensors, arg->first + i, to);
    }
    mw__str_putc(to, ']');
}

void mw__arg_str(const mw_arg *arg, const mw_meta *tensors, mw_str *to)
{
    switch ((mw_arg_kind)arg->kind) {
    case MW_ARG_NONE:
        mw__str_puts(to, "None");
        break;
    case MW_ARG_TENSOR:
        tensor_str(tensors, arg->first, to);
        break;
    case MW_ARG_TENSORS:
    case MW_ARG_INTS:
    case MW_ARG_STRS:
        list_str(arg, tensors, to);
        break;
    case MW_ARG_INT:
        mw__str_printf(to, "%lld", (long long)arg->i);
        break;
    case MW_ARG_FLOAT:
        mw__float_str(arg->f, to);
        break;
    case MW_ARG_BOOL:
        mw__str_puts(to, arg->i ? "True" : "False");
        break;
    case MW_ARG_DTYPE:
        mw__str_puts(to, mw_dtype_name((mw_dtype)arg->i));
        break;
    case MW_ARG_STR:
        quoted_str(arg->s, to);
        break;
    case MW_ARG_SYMBOL:
        mw__str_puts(to, arg->s);
        break;
    }
}

bool mw__arg_is_default(const mw_schema_arg *arg, const mw_arg *value)
{
    mw_arg absent = mw__schema_default(arg);
    if (!arg->has_default || absent.kind != value->kind) return false;
    switch ((mw_arg_kind)value->kind) {
    case MW_ARG_NONE:
        return true;
    case MW_ARG_FLOAT:
        return absent.f == value->f;
    case MW_ARG_STR:
        return strcmp(absent.s, value->s) == 0;
    case MW_ARG_INTS:
        if (value->count == 0) return absent.count == 0;
        return absent.count == value->count &&
               memcmp(absent.ints, value->ints, (size_t)value->count * sizeof *value->ints) == 0;
    case MW_ARG_INT:
    case MW_ARG_BOOL:
    case MW_ARG_DTYPE:
        return absent.i == value->i;
    default:
        return false;
    }
}

static void operand_str(const mw_call_args *call, const mw_mesh *mesh,
                        const mw_layout *const *layout, int operand, mw_str *to)
{
    if (layout && layout[operand])
        mw__layout_str(mesh, layout[operand], to);
    else
        mw__meta_str(&call->in[operand], to);
}

void mw__call_str(const mw_call_args *call, const mw_mesh *mesh, const mw_layout *const *layout,
                  mw_str *to)
{
    const mw_op_info *info = mw__op_info_of(call->op);
    const char *comma = "";
    mw__str_printf(to, "%s(", mw__call_name(call));
    for (int a = 0; info && a < call->narg; a++) {
        const mw_schema_arg *schema = &info->schema.arg[a];
        const mw_arg *arg = &call->arg[a];
        if (schema->kwarg_only && mw__arg_is_default(schema, arg)) continue;
        mw__str_puts(to, comma);
        comma = ", ";
        if (arg->kind == MW_ARG_TENSOR) {
            mw__str_printf(to, "%s: ", schema->name);
            operand_str(call, mesh, layout, arg->first, to);
        } else if (arg->kind == MW_ARG_TENSORS) {
            mw__str_printf(to, "%s: [", schema->name);
            for (int i = 0; i < arg->count; i++) {
                if (i) mw__str_puts(to, ", ");
                operand_str(call, mesh, layout, arg->first + i, to);
            }
            mw__str_putc(to, ']');
        } else {
            if (schema->kwarg_only) mw__str_printf(to, "%s=", schema->name);
            mw__arg_str(arg, call->in, to);
        }
    }
    mw__str_putc(to, ')');
}
