/* Operators between values in a program's text, with Python's precedence.
 *
 *     infix = unary { ("==" | "<" | "|" | "^" | "&" | "+" | "-" | "*" | "/" | "@" ...) unary } ;
 *     unary = [ "-" | "~" ] postfix [ "**" unary ] ;
 *
 * An operator stands on the line of its left operand: what a new line begins with is a statement.
 * Between two numbers it is worked out. `%` and `//` begin names and comments, and are none. */
#include "graph/ir_parse.h"

#include <math.h>

typedef struct sign {
    const char *text;
    int level;            /* binds tighter where higher */
    const char *word;     /* the op of two values, or of a value and a number */
    const char *mirrored; /* that of a number and a value, with the value first; NULL: none */
} sign;

enum { POWER = 6, UNARY = 5 };

static const sign signs[] = {
    {"==", 0, "eq", "eq"},        {"!=", 0, "ne", "ne"},         {"<=", 0, "le", "ge"},
    {">=", 0, "ge", "le"},        {"<", 0, "lt", "gt"},          {">", 0, "gt", "lt"},
    {"|", 1, "bitwise_or", NULL}, {"^", 2, "bitwise_xor", NULL}, {"&", 3, "bitwise_and", NULL},
    {"+", 4, "add", "add"},       {"-", 4, "sub", "rsub"},       {"**", POWER, "pow", NULL},
    {"*", 5, "mul", "mul"},       {"/", 5, "div", "div"},        {"@", 5, "matmul", NULL},
};

static const sign *sign_here(const ir_parser *p, const char **ret_at)
{
    const char *at = p->at + strspn(p->at, " \t");
    *ret_at = at;
    if (strncmp(at, "//", 2) == 0 || strncmp(at, "->", 2) == 0) return NULL;
    for (int i = 0; i < MW_COUNT(signs); i++)
        if (strncmp(at, signs[i].text, strlen(signs[i].text)) == 0) return &signs[i];
    return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

static double as_real(const mw_arg *a)
{
    return a->kind == MW_ARG_FLOAT ? a->f : (double)a->i;
}

/* Whole where both are and the result fits; false: not an operator of numbers. */
static bool work_out(const char *text, const mw_arg *a, const mw_arg *b, mw_arg *ret)
{
    int64_t whole = 0;
    bool ints = a->kind != MW_ARG_FLOAT && b->kind != MW_ARG_FLOAT, fits = false;
    double x = as_real(a), y = as_real(b), real;
    if (strcmp(text, "+") == 0) {
        fits = ints && !__builtin_add_overflow(a->i, b->i, &whole);
        real = x + y;
    } else if (strcmp(text, "-") == 0) {
        fits = ints && !__builtin_sub_overflow(a->i, b->i, &whole);
        real = x - y;
    } else if (strcmp(text, "*") == 0) {
        fits = ints && !__builtin_mul_overflow(a->i, b->i, &whole);
        real = x * y;
    } else if (strcmp(text, "/") == 0) {
        real = x / y;
    } else if (strcmp(text, "**") == 0) {
        real = pow(x, y);
        fits = ints && y >= 0 && fabs(real) < 0x1p53;
        if (fits) whole = (int64_t)real;
    } else {
        return false;
    }
    *ret =
        fits ? (mw_arg){.kind = MW_ARG_INT, .i = whole} : (mw_arg){.kind = MW_ARG_FLOAT, .f = real};
    return true;
}

/* ---- values -----------------------------------------------------------------------------------
 */

static mw_status join(ir_parser *p, const sign *s, const char *at, const ir_operand *a,
                      const ir_operand *b, ir_operand *ret)
{
    if (a->number && b->number) {
        *ret = (ir_operand){.number = true};
        if (work_out(s->text, &a->arg, &b->arg, &ret->arg)) return MW_OK;
        return ir_fail(p, at, "'%s' between two numbers: one side is a tensor", s->text);
    }
    ir_operand x[2] = {*a, *b};
    const char *word = s->word;
    *ret = (ir_operand){0};
    if (a->number && !s->mirrored && s->level != POWER)
        return ir_fail(p, at,
                       "a number cannot stand before '%s': make a tensor of it, like "
                       "full([2], 0.5)",
                       s->text);
    if (a->number && strcmp(s->text, "/") == 0) {
        MW_TRY(ir_call_with(p, "reciprocal", at, b, 1, &x[0].value));
        x[0].number = false;
        x[1] = *a;
        word = "mul";
    } else if (a->number && s->mirrored) {
        x[0] = *b, x[1] = *a;
        word = s->mirrored;
    }
    return ir_call_with(p, word, at, x, 2, &ret->value);
}

/* A sign before a value; that of a number has been read with it. */
static mw_status read_unary(ir_parser *p, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n)
{
    ir_space(p);
    const char *at = p->at;
    bool minus = *at == '-' && !ir_starts_number(at);
    if (!minus && *at != '~') return ir_postfix(p, ret_one, ret, cap, ret_n);
    p->at++;
    if (p->depth == IR_DEPTH) return ir_fail(p, at, "nested deeper than %d", IR_DEPTH);
    p->depth++;
    ir_operand x;
    mw_status status = ir_infix(p, UNARY + 1, &x, NULL, 1, ret_n);
    p->depth--;
    MW_TRY(status);
    if (x.number) {
        const mw_arg zero = {.kind = MW_ARG_INT};
        *ret_one = x;
        if (!minus) return ir_fail(p, at, "'~' before a number");
        (void)work_out("-", &zero, &x.arg, &ret_one->arg);
        return MW_OK;
    }
    *ret_one = (ir_operand){0};
    return ir_call_with(p,
                        minus                                    ? "neg"
                        : x.value->layout.dtype == MW_DTYPE_bool ? "logical_not"
                                                                 : "bitwise_not",
                        at, &x, 1, &ret_one->value);
}

/* What `-` makes of it: a number's negative, or a call of neg. */
static mw_status negate(ir_parser *p, const char *at, ir_operand *x)
{
    const mw_arg zero = {.kind = MW_ARG_INT};
    if (x->number) {
        (void)work_out("-", &zero, &x->arg, &x->arg);
        return MW_OK;
    }
    ir_operand positive = *x;
    *x = (ir_operand){0};
    return ir_call_with(p, "neg", at, &positive, 1, &x->value);
}

mw_status ir_infix(ir_parser *p, int least, ir_operand *ret_one, mw_ssa **ret, int cap, int *ret_n)
{
    const char *at;
    bool joined = false;
    ir_space(p);
    const char *begin = p->at;
    MW_TRY(read_unary(p, ret_one, ret, cap, ret_n));
    for (const sign *s; (s = sign_here(p, &at)) && s->level >= least; joined = true) {
        if (*ret_n != 1) return ir_fail(p, at, "'%s' after %d values", s->text, *ret_n);
        if (p->depth == IR_DEPTH) return ir_fail(p, at, "nested deeper than %d", IR_DEPTH);
        p->at = at + strlen(s->text);
        ir_operand right, left = *ret_one;
        int n;
        p->depth++;
        mw_status status =
            ir_infix(p, s->level == POWER ? POWER : s->level + 1, &right, NULL, 1, &n);
        p->depth--;
        MW_TRY(status);
        bool behind = s->level == POWER && left.number && *begin == '-' && !joined; /* -2 ** 2 */
        if (behind) MW_TRY(negate(p, at, &left));
        MW_TRY(join(p, s, at, &left, &right, ret_one));
        if (behind) MW_TRY(negate(p, at, ret_one));
    }
    if (joined) *ret_n = 1;
    if (ret && *ret_n == 1 && !ret_one->number) ret[0] = ret_one->value;
    return MW_OK;
}
