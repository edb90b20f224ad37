/* Fits given values to a schema: positions and keywords, defaults, the conversions that torch makes
 * by itself (an int for int[1], an int for a float, a dtype's name), and the sentence for all else.
 * Invariant: on success every argument has the kind that its type says, or is NONE and optional. */
#include "ops/args.h"
#include "ops/scan.h"

typedef struct binder {
    const mw_schema *schema;
    const mw_meta *tensors;
    mw_arena *arena;
    mw_bound *bound;
    bool given[MW_SCHEMA_ARGS];
} binder;

/* ---- messages ------------------------------------------------------------------------------ */

/* Records what `says` holds and the declaration on a line of its own. */
static mw_status refuse(const binder *b, mw_str *says)
{
    enum { SHOWN = 700 }; /* leaves room for the declaration */
    mw_str declaration = {0};
    mw__schema_str(b->schema, &declaration);
    mw_status status;
    if (says->failed || declaration.failed)
        status = MW_NOMEM();
    else
        status = MW_FAIL(MW_ERR_ARG, "%.*s%s\n  declaration: %s", SHOWN, mw__str_text(says),
                         says->length > SHOWN ? "..." : "", mw__str_text(&declaration));
    mw__str_done(says);
    mw__str_done(&declaration);
    return status;
}

static void value_with_kind(const binder *b, const mw_arg *value, mw_str *to)
{
    static const char *const kinds[] = {
        [MW_ARG_NONE] = "",
        [MW_ARG_TENSOR] = "Tensor ",
        [MW_ARG_TENSORS] = "Tensor[] ",
        [MW_ARG_INT] = "int ",
        [MW_ARG_INTS] = "int[] ",
        [MW_ARG_FLOAT] = "float ",
        [MW_ARG_BOOL] = "bool ",
        [MW_ARG_DTYPE] = "dtype ",
        [MW_ARG_STR] = "str ",
        [MW_ARG_STRS] = "str[] ",
        [MW_ARG_SYMBOL] = "a value known only at run time: ",
    };
    bool anonymous = !b->tensors && (value->kind == MW_ARG_TENSOR || value->kind == MW_ARG_TENSORS);
    if (anonymous) {
        mw__str_puts(to, value->kind == MW_ARG_TENSOR ? "Tensor" : "Tensor[]");
        return;
    }
    mw__str_puts(to, kinds[value->kind]);
    mw__arg_str(value, b->tensors, to);
}

static mw_status wrong_kind(const binder *b, int pos, const mw_arg *value)
{
    mw_str says = {0};
    mw_type type = b->schema->arg[pos].type;
    type.alias = 0;
    mw__str_printf(&says, "%s: expected ", b->schema->name);
    mw__type_str(&type, &says);
    mw__str_printf(&says, " for argument '%s' (position %d), got ", b->schema->arg[pos].name, pos);
    value_with_kind(b, value, &says);
    return refuse(b, &says);
}

static mw_status missing(const binder *b, int pos)
{
    mw_str says = {0};
    mw__str_printf(&says, "%s: missing a value for argument '%s' (position %d)", b->schema->name,
                   b->schema->arg[pos].name, pos);
    return refuse(b, &says);
}

static int positional_count(const mw_schema *schema)
{
    int n = 0;
    while (n < schema->narg && !schema->arg[n].kwarg_only)
        n++;
    return n;
}

static mw_status too_many(const binder *b, int ngiven)
{
    mw_str says = {0};
    int most = positional_count(b->schema);
    mw__str_printf(&says, "%s: takes %d positional argument%s, got %d", b->schema->name, most,
                   most == 1 ? "" : "s", ngiven);
    mw_status status = refuse(b, &says);
    if (status == MW_ERR_ARG && most < b->schema->narg)
        mw__error_hint("'%s' and what follows it are given by name", b->schema->arg[most].name);
    return status;
}

static mw_status unknown_keyword(const binder *b, const char *name)
{
    mw_str says = {0};
    const char *names[MW_SCHEMA_ARGS];
    for (int i = 0; i < b->schema->narg; i++)
        names[i] = b->schema->arg[i].name;
    const char *nearest = mw__nearest(name, names, b->schema->narg);
    mw__str_printf(&says, "%s: unknown argument '%s'", b->schema->name, name);
    mw_status status = refuse(b, &says);
    if (status == MW_ERR_ARG && nearest) mw__error_hint("did you mean '%s'?", nearest);
    return status;
}

static mw_status given_twice(const binder *b, int pos)
{
    mw_str says = {0};
    mw__str_printf(&says, "%s: argument '%s' (position %d) is given twice", b->schema->name,
                   b->schema->arg[pos].name, pos);
    return refuse(b, &says);
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* An int where int[n] is wanted stands for n of it. */
static mw_status spread_int(const binder *b, int count, mw_arg *value)
{
    int64_t *ints = mw__arena_alloc(b->arena, (size_t)count * sizeof *ints);
    if (!ints) return MW_NOMEM();
    for (int i = 0; i < count; i++)
        ints[i] = value->i;
    *value = (mw_arg){.kind = MW_ARG_INTS, .count = count, .ints = ints};
    return MW_OK;
}

static bool fits_list(const mw_type *type, mw_arg *value)
{
    bool empty = value->kind == MW_ARG_INTS && value->count == 0; /* `[]` has no kind of its own */
    switch (type->base) {
    case MW_TYPE_TENSOR:
        if (empty) value->kind = MW_ARG_TENSORS;
        return value->kind == MW_ARG_TENSORS;
    case MW_TYPE_STR:
        if (empty) value->kind = MW_ARG_STRS;
        return value->kind == MW_ARG_STRS;
    case MW_TYPE_INT:
    case MW_TYPE_SYMINT:
    case MW_TYPE_BOOL:
        return value->kind == MW_ARG_INTS;
    default:
        return false;
    }
}

static bool fits_dtype(mw_arg *value)
{
    if (value->kind == MW_ARG_DTYPE) return true;
    if (value->kind != MW_ARG_STR) return false;
    mw_dtype dtype = mw_dtype_read(value->s, (int)strlen(value->s));
    *value = (mw_arg){.kind = MW_ARG_DTYPE, .i = dtype};
    return dtype != MW_DTYPE_NONE;
}

static bool fits_one(const mw_type *type, mw_arg *value)
{
    uint8_t kind = value->kind;
    switch (type->base) {
    case MW_TYPE_TENSOR:
        return kind == MW_ARG_TENSOR;
    case MW_TYPE_INT:
    case MW_TYPE_SYMINT:
        return kind == MW_ARG_INT;
    case MW_TYPE_FLOAT:
        if (kind == MW_ARG_INT) *value = (mw_arg){.kind = MW_ARG_FLOAT, .f = (double)value->i};
        return value->kind == MW_ARG_FLOAT;
    case MW_TYPE_BOOL:
        return kind == MW_ARG_BOOL;
    case MW_TYPE_SCALAR:
        return kind == MW_ARG_INT || kind == MW_ARG_FLOAT || kind == MW_ARG_BOOL;
    case MW_TYPE_DTYPE:
        return fits_dtype(value);
    case MW_TYPE_STR:
        return kind == MW_ARG_STR;
    default: /* MemoryFormat, Layout, Device, Generator: nothing here depends on them */
        return kind == MW_ARG_STR || kind == MW_ARG_INT;
    }
}

static mw_status fit(const binder *b, int pos, const mw_arg *given)
{
    const mw_type *type = &b->schema->arg[pos].type;
    mw_arg value = *given;
    bool fits;
    if (value.kind == MW_ARG_NONE) {
        fits = type->optional;
    } else if (type->list) {
        bool integers = type->base == MW_TYPE_INT || type->base == MW_TYPE_SYMINT;
        if (integers && type->count && value.kind == MW_ARG_INT)
            MW_TRY(spread_int(b, type->count, &value));
        fits = fits_list(type, &value);
    } else {
        fits = fits_one(type, &value);
    }
    if (!fits) return wrong_kind(b, pos, given);
    if (value.kind == MW_ARG_TENSOR) value.count = 1;
    b->bound->arg[pos] = value;
    return MW_OK;
}

static mw_status fit_default(const binder *b, int pos)
{
    const mw_schema_arg *arg = &b->schema->arg[pos];
    if (!arg->has_default) return missing(b, pos);
    mw_arg value = mw__schema_default(arg);
    return fit(b, pos, &value);
}

/* Numbers the operands through all arguments. */
static mw_status number_operands(const binder *b)
{
    mw_bound *bound = b->bound;
    int64_t n = 0;
    for (int a = 0; a < bound->narg; a++)
        if (bound->arg[a].kind == MW_ARG_TENSOR || bound->arg[a].kind == MW_ARG_TENSORS)
            n += bound->arg[a].count;
    if (n > INT_MAX / (int)sizeof *bound->operand)
        return MW_FAIL(MW_ERR_ARG, "%s: too many tensors", b->schema->name);
    bound->operand = mw__arena_alloc(b->arena, (size_t)n * sizeof *bound->operand);
    if (!bound->operand) return MW_NOMEM();
    bound->nin = 0;
    for (int a = 0; a < bound->narg; a++) {
        mw_arg *arg = &bound->arg[a];
        if (arg->kind != MW_ARG_TENSOR && arg->kind != MW_ARG_TENSORS) continue;
        int first = arg->first;
        arg->first = bound->nin;
        for (int i = 0; i < arg->count; i++)
            bound->operand[bound->nin++] = first + i;
    }
    return MW_OK;
}

mw_status mw__args_bind(const mw_schema *schema, const mw_given *given, int ngiven,
                        const mw_meta *tensors, mw_arena *arena, mw_bound *ret)
{
    mw_bound bound = {.narg = schema->narg};
    binder b = {.schema = schema, .tensors = tensors, .arena = arena, .bound = &bound};
    int next = 0, positional = positional_count(schema), unnamed = 0;
    for (int i = 0; i < ngiven; i++)
        unnamed += !given[i].name;
    if (unnamed > positional) return too_many(&b, unnamed);
    for (int i = 0; i < ngiven; i++) {
        const char *name = given[i].name;
        int pos = name ? mw__schema_find(schema, name, strlen(name)) : next++;
        if (pos < 0) return unknown_keyword(&b, name);
        if (b.given[pos]) return given_twice(&b, pos);
        b.given[pos] = true;
        MW_TRY(fit(&b, pos, &given[i].value));
    }
    for (int pos = 0; pos < schema->narg; pos++)
        if (!b.given[pos]) MW_TRY(fit_default(&b, pos));
    MW_TRY(number_operands(&b));
    *ret = bound;
    return MW_OK;
}
