/* Reads and prints ATen's declarations: the text before and after the arrow, types with their alias
 * marks, defaults. A recursive descent over a cursor; fills a value, allocates nothing.
 * Invariant: printing what was read and reading it again gives the same value. */
#include "ops/schema.h"

#include "ops/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const type_words[MW_TYPE_END] = {
#define X(name, word) [MW_TYPE_##name] = word,
    MW_TYPE_MAP(X)
#undef X
};

/* Defaults that are words; the number is what they are called by in c10. */
static const struct {
    uint8_t base;
    const char *word;
    int64_t value;
} constants[] = {
    {MW_TYPE_MEMORY_FORMAT, "contiguous_format", 0},
    {MW_TYPE_MEMORY_FORMAT, "preserve_format", 1},
    {MW_TYPE_MEMORY_FORMAT, "channels_last", 2},
    {MW_TYPE_LAYOUT, "strided", 0},
};

/* ---- reading -------------------------------------------------------------------------------- */

static mw_status read_name(scan *s, const char *role, char *to, size_t cap)
{
    size_t n = scan_name(s);
    if (n == 0) return SCAN_FAIL(s, "expected the name of %s", role);
    if (n >= cap) return SCAN_FAIL(s, "name of %s longer than %d characters", role, (int)cap - 1);
    memcpy(to, s->at, n);
    memset(to + n, 0, cap - n);
    s->at += n;
    return MW_OK;
}

/* `(a)`, `(a!)`, `(a -> *)` */
static mw_status read_alias(scan *s, mw_type *type)
{
    if (!scan_take(s, "(")) return MW_OK;
    scan_space(s);
    if (!(*s->at >= 'a' && *s->at <= 'z')) return SCAN_FAIL(s, "expected an alias letter");
    type->alias = *s->at++;
    type->written = scan_take(s, "!");
    if (scan_take(s, "->")) {
        if (!scan_take(s, "*")) return SCAN_FAIL(s, "expected '*' after '->' in an alias");
        type->spreads = true;
    }
    if (!scan_take(s, ")")) return SCAN_FAIL(s, "expected ')' after an alias");
    return MW_OK;
}

static mw_status read_list_mark(scan *s, mw_type *type)
{
    int64_t count = 0;
    if (!scan_take(s, "]")) {
        if (!mw__scan_int(s, &count) || count < 1 || count > MW_MAX_DIMS)
            return SCAN_FAIL(s, "expected ']' or a length from 1 to %d", MW_MAX_DIMS);
        if (!scan_take(s, "]")) return SCAN_FAIL(s, "expected ']' after a list's length");
    }
    type->list = true;
    type->count = (int8_t)count;
    return MW_OK;
}

static mw_status read_type(scan *s, mw_type *ret)
{
    mw_type type = {.base = MW_TYPE_END};
    size_t n = scan_name(s);
    for (uint8_t i = 0; i < MW_TYPE_END; i++)
        if (scan_word(s->at, n, type_words[i])) type.base = i;
    if (type.base == MW_TYPE_END)
        return n ? SCAN_FAIL(s, "unknown type '%.*s'", (int)n, s->at)
                 : SCAN_FAIL(s, "expected a type");
    s->at += n;
    MW_TRY(read_alias(s, &type));
    if (scan_take(s, "?")) type.optional = true;
    if (scan_take(s, "[")) {
        type.element_optional = type.optional;
        type.optional = false;
        MW_TRY(read_list_mark(s, &type));
        MW_TRY(read_alias(s, &type));
        if (scan_take(s, "?")) type.optional = true;
    }
    *ret = type;
    return MW_OK;
}

static mw_status read_default_list(scan *s, mw_schema_arg *arg)
{
    arg->absent.kind = MW_ARG_INTS;
    if (!arg->type.list) return SCAN_FAIL(s, "a list as default of what is no list");
    if (scan_take(s, "]")) return MW_OK;
    for (;;) {
        int64_t value;
        if (arg->type.base == MW_TYPE_BOOL) {
            bool yes = scan_take(s, "True");
            if (!yes && !scan_take(s, "False")) return SCAN_FAIL(s, "expected True or False");
            value = yes;
        } else if (!mw__scan_int(s, &value)) {
            return SCAN_FAIL(s, "expected an integer");
        }
        if (arg->absent.count == MW_SCHEMA_INTS)
            return SCAN_FAIL(s, "more than %d values in a default", MW_SCHEMA_INTS);
        arg->ints[arg->absent.count++] = value;
        if (scan_take(s, "]")) return MW_OK;
        if (!scan_take(s, ",")) return SCAN_FAIL(s, "expected ',' or ']' in a default");
    }
}

static mw_status read_default_string(scan *s, mw_schema_arg *arg, char quote)
{
    size_t n = 0;
    while (s->at[n] && s->at[n] != quote && s->at[n] != '\\' && s->at[n] != '\n')
        n++;
    if (s->at[n] != quote) return SCAN_FAIL(s, "a string that does not end");
    if (arg->type.base != MW_TYPE_STR || arg->type.list)
        return SCAN_FAIL(s, "a string as default of what is no str");
    if (n >= sizeof arg->text) return SCAN_FAIL(s, "a default string that is too long");
    memcpy(arg->text, s->at, n);
    arg->absent.kind = MW_ARG_STR;
    s->at += n + 1;
    return MW_OK;
}

/* Words other than None, True and False: `contiguous_format`, `float32`. */
static mw_status read_default_word(scan *s, mw_schema_arg *arg)
{
    size_t n = scan_name(s);
    if (arg->type.base == MW_TYPE_DTYPE) {
        mw_dtype dtype = mw_dtype_read(s->at, (int)n);
        if (dtype != MW_DTYPE_NONE) {
            arg->absent = (mw_arg){.kind = MW_ARG_DTYPE, .i = dtype};
            s->at += n;
            return MW_OK;
        }
    }
    for (int i = 0; i < MW_COUNT(constants); i++)
        if (constants[i].base == arg->type.base && scan_word(s->at, n, constants[i].word)) {
            arg->absent = (mw_arg){.kind = MW_ARG_INT, .i = constants[i].value};
            s->at += n;
            return MW_OK;
        }
    return SCAN_FAIL(s, "unknown default");
}

static mw_status read_default_number(scan *s, mw_schema_arg *arg, bool integer, int64_t i, double f)
{
    uint8_t base = arg->type.base;
    bool takes_int = base == MW_TYPE_INT || base == MW_TYPE_SYMINT || base == MW_TYPE_SCALAR;
    bool takes_float = base == MW_TYPE_FLOAT || base == MW_TYPE_SCALAR;
    if (integer && takes_int)
        arg->absent = (mw_arg){.kind = MW_ARG_INT, .i = i};
    else if (takes_float)
        arg->absent = (mw_arg){.kind = MW_ARG_FLOAT, .f = f};
    else
        return SCAN_FAIL(s, "a number as default of a %s", type_words[base]);
    return MW_OK;
}

static mw_status read_default(scan *s, mw_schema_arg *arg)
{
    bool integer;
    int64_t i;
    double f;
    arg->has_default = true;
    size_t n = scan_name(s);
    if (scan_word(s->at, n, "None")) {
        if (!arg->type.optional) return SCAN_FAIL(s, "None as default of what is not optional");
        s->at += n;
        return MW_OK;
    }
    if (scan_word(s->at, n, "True") || scan_word(s->at, n, "False")) {
        if (arg->type.base != MW_TYPE_BOOL) return SCAN_FAIL(s, "a bool as default of no bool");
        arg->absent = (mw_arg){.kind = MW_ARG_BOOL, .i = n == 4};
        s->at += n;
        return MW_OK;
    }
    if (scan_take(s, "[")) return read_default_list(s, arg);
    if (scan_take(s, "\"")) return read_default_string(s, arg, '"');
    if (scan_take(s, "'")) return read_default_string(s, arg, '\'');
    if (mw__scan_number(s, &integer, &i, &f)) return read_default_number(s, arg, integer, i, f);
    return read_default_word(s, arg);
}

static mw_status read_args(scan *s, mw_schema *schema)
{
    bool kwarg_only = false, had_default = false;
    if (!scan_take(s, "(")) return SCAN_FAIL(s, "expected '('");
    if (scan_take(s, ")")) return MW_OK;
    for (;;) {
        if (!kwarg_only && scan_take(s, "*")) {
            kwarg_only = true;
            if (!scan_take(s, ",")) return SCAN_FAIL(s, "expected ',' after '*'");
        }
        if (schema->narg == MW_SCHEMA_ARGS)
            return SCAN_FAIL(s, "more than %d arguments", MW_SCHEMA_ARGS);
        mw_schema_arg *arg = &schema->arg[schema->narg];
        *arg = (mw_schema_arg){.kwarg_only = kwarg_only};
        MW_TRY(read_type(s, &arg->type));
        scan_space(s);
        const char *name_at = s->at;
        MW_TRY(read_name(s, "an argument", arg->name, sizeof arg->name));
        if (mw__schema_find(schema, arg->name, strlen(arg->name)) >= 0) {
            s->at = name_at;
            return SCAN_FAIL(s, "argument '%s' twice", arg->name);
        }
        schema->narg++;
        if (scan_take(s, "="))
            MW_TRY(read_default(s, arg));
        else if (had_default && !kwarg_only)
            return SCAN_FAIL(s, "'%s' without a default after one that has one", arg->name);
        had_default = arg->has_default;
        if (scan_take(s, ")")) return MW_OK;
        if (!scan_take(s, ",")) return SCAN_FAIL(s, "expected ',' or ')'");
    }
}

static mw_status read_result(scan *s, mw_schema *schema)
{
    if (schema->nresult == MW_SCHEMA_RESULTS)
        return SCAN_FAIL(s, "more than %d results", MW_SCHEMA_RESULTS);
    int i = schema->nresult;
    MW_TRY(read_type(s, &schema->result[i]));
    if (scan_name(s))
        MW_TRY(read_name(s, "a result", schema->result_name[i], sizeof schema->result_name[i]));
    schema->nresult++;
    return MW_OK;
}

static mw_status read_results(scan *s, mw_schema *schema)
{
    if (!scan_take(s, "->")) return SCAN_FAIL(s, "expected '->'");
    if (!scan_take(s, "(")) return read_result(s, schema);
    if (scan_take(s, ")")) return MW_OK;
    for (;;) {
        MW_TRY(read_result(s, schema));
        if (scan_take(s, ")")) return MW_OK;
        if (!scan_take(s, ",")) return SCAN_FAIL(s, "expected ',' or ')' after a result");
    }
}

mw_status mw__schema_parse(const char *text, mw_schema *ret)
{
    scan cursor = {"schema", text, text}, *s = &cursor;
    mw_schema schema;
    memset(&schema, 0, sizeof schema);
    MW_TRY(read_name(s, "a namespace", schema.space, sizeof schema.space));
    if (!scan_take(s, "::")) return SCAN_FAIL(s, "expected '::' after the namespace");
    MW_TRY(read_name(s, "an op", schema.name, sizeof schema.name));
    if (scan_take(s, "."))
        MW_TRY(read_name(s, "an overload", schema.overload, sizeof schema.overload));
    MW_TRY(read_args(s, &schema));
    MW_TRY(read_results(s, &schema));
    scan_space(s);
    if (*s->at) return SCAN_FAIL(s, "text after the end");
    *ret = schema;
    return MW_OK;
}

int mw__schema_find(const mw_schema *schema, const char *name, size_t length)
{
    for (int i = 0; i < schema->narg; i++)
        if (scan_word(name, length, schema->arg[i].name)) return i;
    return -1;
}

mw_arg mw__schema_default(const mw_schema_arg *arg)
{
    mw_arg value = arg->absent;
    if (value.kind == MW_ARG_INTS) value.ints = arg->ints;
    if (value.kind == MW_ARG_STR) value.s = arg->text;
    return value;
}

/* ---- printing ------------------------------------------------------------------------------- */

void mw__float_str(double value, mw_str *to)
{
    char text[40];
    if (isnan(value)) {
        mw__str_puts(to, "nan");
        return;
    }
    if (isinf(value)) {
        mw__str_puts(to, value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    mw__str_puts(to, text);
    if (!strpbrk(text, ".e")) mw__str_puts(to, ".0");
}

void mw__type_str(const mw_type *type, mw_str *to)
{
    mw__str_puts(to, type_words[type->base]);
    if (type->alias)
        mw__str_printf(to, "(%c%s%s)", type->alias, type->written ? "!" : "",
                       type->spreads ? " -> *" : "");
    if (type->element_optional) mw__str_putc(to, '?');
    if (type->list && type->count) mw__str_printf(to, "[%d]", type->count);
    if (type->list && !type->count) mw__str_puts(to, "[]");
    if (type->optional) mw__str_putc(to, '?');
}

static void default_int_str(const mw_schema_arg *arg, mw_str *to)
{
    for (int i = 0; i < MW_COUNT(constants); i++)
        if (constants[i].base == arg->type.base && constants[i].value == arg->absent.i) {
            mw__str_puts(to, constants[i].word);
            return;
        }
    mw__str_printf(to, "%lld", (long long)arg->absent.i);
}

static void default_str(const mw_schema_arg *arg, mw_str *to)
{
    const mw_arg *value = &arg->absent;
    switch (value->kind) {
    case MW_ARG_INT:
        default_int_str(arg, to);
        break;
    case MW_ARG_FLOAT:
        mw__float_str(value->f, to);
        break;
    case MW_ARG_BOOL:
        mw__str_puts(to, value->i ? "True" : "False");
        break;
    case MW_ARG_DTYPE:
        mw__str_puts(to, mw_dtype_name((mw_dtype)value->i));
        break;
    case MW_ARG_STR:
        mw__str_printf(to, "%c%s%c", strchr(arg->text, '"') ? '\'' : '"', arg->text,
                       strchr(arg->text, '"') ? '\'' : '"');
        break;
    case MW_ARG_INTS:
        mw__str_putc(to, '[');
        for (int i = 0; i < value->count; i++)
            if (arg->type.base == MW_TYPE_BOOL)
                mw__str_printf(to, "%s%s", i ? ", " : "", arg->ints[i] ? "True" : "False");
            else
                mw__str_printf(to, "%s%lld", i ? ", " : "", (long long)arg->ints[i]);
        mw__str_putc(to, ']');
        break;
    default:
        mw__str_puts(to, "None");
    }
}

void mw__schema_str(const mw_schema *schema, mw_str *to)
{
    mw__str_printf(to, "%s::%s%s%s(", schema->space, schema->name, schema->overload[0] ? "." : "",
                   schema->overload);
    for (int i = 0; i < schema->narg; i++) {
        const mw_schema_arg *arg = &schema->arg[i];
        if (i) mw__str_puts(to, ", ");
        if (arg->kwarg_only && (i == 0 || !schema->arg[i - 1].kwarg_only)) mw__str_puts(to, "*, ");
        mw__type_str(&arg->type, to);
        mw__str_printf(to, " %s", arg->name);
        if (!arg->has_default) continue;
        mw__str_putc(to, '=');
        default_str(arg, to);
    }
    mw__str_puts(to, schema->nresult == 1 ? ") -> " : ") -> (");
    for (int i = 0; i < schema->nresult; i++) {
        if (i) mw__str_puts(to, ", ");
        mw__type_str(&schema->result[i], to);
        if (schema->result_name[i][0]) mw__str_printf(to, " %s", schema->result_name[i]);
    }
    if (schema->nresult != 1) mw__str_putc(to, ')');
}
