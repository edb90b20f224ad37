/* Expressions of a program's text: names, calls, method chains.
 *
 *     expr    = operand { operator operand } ;                        ir_infix.c
 *     operand = ( "%" name | call | list | number | "(" expr ")" )
 *               { "." word [ "(" args ")" ] | "[" index "]" } ;
 *     call    = word "(" args ")" ;               an op by any of its names, or one of
 *               tensor(list) randn(sizes, seed=) rand(sizes, seed=) mark_sharding(expr [, text])
 *               redistribute(expr) all_gather(expr, axes=[x], dim=0) ...  (any call with axes=)
 */
#include "graph/ir_parse.h"

/* `%name`: the longest that is defined, since names may hold points and methods follow one. */
static mw_status read_name(ir_parser *p, mw_ssa **ret)
{
    char name[IR_NAME];
    const char *at = p->at++;
    if (!ir_word(p, ".", name)) return ir_fail(p, at, "expected a name after '%%'");
    char *end = name + strlen(name);
    while (!(*ret = ir_lookup(p, name))) {
        char *point = strrchr(name, '.');
        if (!point) return ir_fail(p, at, "%%%s is used before it is defined", name);
        p->at -= end - point;
        *point = 0;
        end = point;
    }
    return MW_OK;
}

static mw_status read_primary(ir_parser *p, mw_ssa **ret, int cap, int *ret_n)
{
    char word[IR_NAME];
    const char *at = (ir_space(p), p->at);
    *ret_n = 1;
    if (*at == '%') return read_name(p, ret);
    if (*at == '[') return ir_literal(p, ret);
    if (*at == '(') {
        p->at++;
        MW_TRY(ir_expr(p, ret, 1, ret_n));
        return ir_expect(p, ")");
    }
    if (!ir_word(p, ".:", word)) return ir_fail(p, at, "expected an expression");
    const char *plain = ir_plain_word(word);
    if (strcmp(plain, "tensor") == 0 || strcmp(plain, "randn") == 0 || strcmp(plain, "rand") == 0)
        return ir_const(p, plain, ret);
    if (!ir_sees(p, "(")) return ir_fail(p, p->at, "expected '(' after %s", word);
    ir_args *args = mw__arena_zalloc(&p->scratch, sizeof *args);
    if (!args) return MW_NOMEM();
    args->places = ir_call_places(word);
    MW_TRY(ir_args_read(p, args));
    return ir_call(p, word, at, args, ret, cap, ret_n);
}

static mw_status read_method(ir_parser *p, mw_ssa *self, mw_ssa **ret, int cap, int *ret_n)
{
    char word[IR_NAME];
    const char *at = p->at;
    if (!ir_word(p, ":", word)) return ir_fail(p, at, "expected a method after '.'");
    ir_args *args = mw__arena_zalloc(&p->scratch, sizeof *args);
    if (!args) return MW_NOMEM();
    args->n = args->ntensor = 1;
    args->given[0].value = (mw_arg){.kind = MW_ARG_TENSOR, .count = 1};
    args->at[0] = at;
    args->tensor[0] = self;
    args->places = ir_call_places(word);
    if (*p->at != '(' && (strcmp(word, "T") == 0 || strcmp(word, "mT") == 0)) {
        mw_arg last[2] = {{.kind = MW_ARG_INT, .i = -2}, {.kind = MW_ARG_INT, .i = -1}};
        if (self->layout.ndim > 2 && strcmp(word, "T") == 0)
            return ir_fail(p, at, "T of %d dims: permute says which go where", self->layout.ndim);
        for (int i = 0; i < 2 && self->layout.ndim >= 2; i++)
            args->given[args->n++].value = last[i];
        return ir_call(p, self->layout.ndim < 2 ? "t" : "transpose", at, args, ret, cap, ret_n);
    }
    MW_TRY(ir_args_read(p, args));
    return ir_call(p, word, at, args, ret, cap, ret_n);
}

enum { RESULTS = 32 };

/* One of several results: `.values`, `.indices`, `[1]`. */
static mw_status pick_result(ir_parser *p, mw_ssa **out, int *ret_n)
{
    int64_t nth = 0;
    const char *at = p->at++;
    if (*at == '[') {
        MW_TRY(ir_int(p, &nth));
        MW_TRY(ir_expect(p, "]"));
    } else if (ir_take(p, "indices")) {
        nth = 1;
    } else if (!ir_take(p, "values")) {
        return ir_fail(p, at, "%d results: name them, or pick one by [0], [1], .values or .indices",
                       *ret_n);
    }
    if (nth < 0 || nth >= *ret_n)
        return ir_fail(p, at, "of %d results none is [%lld]", *ret_n, (long long)nth);
    out[0] = out[nth];
    *ret_n = 1;
    return MW_OK;
}

mw_status ir_postfix(ir_parser *p, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n)
{
    mw_ssa *out[RESULTS];
    *ret_one = (ir_operand){0};
    ir_space(p);
    const char *at = p->at;
    if (ir_starts_number(p->at)) {
        *ret_n = 1;
        ret_one->number = true;
        return ir_number(p, &ret_one->arg);
    }
    MW_TRY(read_primary(p, out, RESULTS, ret_n));
    while (*p->at == '.' || *p->at == '[') {
        if (*ret_n > 1) {
            MW_TRY(pick_result(p, out, ret_n));
        } else if (*p->at == '[') {
            MW_TRY(ir_index(p, out[0], out));
        } else {
            p->at++;
            MW_TRY(read_method(p, out[0], out, RESULTS, ret_n));
        }
    }
    if (*ret_n > (ret ? cap : 1))
        return ir_fail(p, at,
                       "this gives %d results, where %d can stand: pick one by [0], .values "
                       "or .indices, or name them: %%a, %%b = ...",
                       *ret_n, ret ? cap : 1);
    if (*ret_n >= 1) ret_one->value = out[0];
    for (int i = 0; ret && i < *ret_n; i++)
        ret[i] = out[i];
    return MW_OK;
}

mw_status ir_operands(ir_parser *p, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n)
{
    if (p->depth == IR_DEPTH) return ir_fail(p, p->at, "nested deeper than %d", IR_DEPTH);
    p->depth++;
    mw_status status = ir_infix(p, 0, ret_one, ret, cap, ret_n);
    p->depth--;
    return status;
}

mw_status ir_expr(ir_parser *p, mw_ssa **ret, int cap, int *ret_n)
{
    ir_operand one;
    const char *at = (ir_space(p), p->at);
    MW_TRY(ir_operands(p, &one, ret, cap, ret_n));
    if (one.number)
        return ir_fail(p, at, "expected a tensor, not a number: tensor(...) makes one of it");
    return MW_OK;
}
