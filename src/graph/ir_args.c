/* What stands in the arguments of a call in a program's text.
 *
 *     args = [ [ word "=" ] arg { "," [ word "=" ] arg } ] ;
 *     arg  = expr | number | "True" | "False" | "None" | string | dtype | "@" name | "[" args "]" ;
 *
 * Where a call places a tensor, a list like [Shard(0), None] is a text in another notation: taken
 * as it stands. */
#include "graph/ir_parse.h"

#include <errno.h>
#include <stdlib.h>

/* ---- static values ----------------------------------------------------------------------------
 */

static mw_status read_string(ir_parser *p, const char **ret)
{
    char quote = *p->at;
    const char *begin = p->at++, *end = p->at;
    while (*end && *end != quote && *end != '\n')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (*end != quote) return ir_fail(p, begin, "a string that does not end");
    char *text = mw__arena_alloc(&p->scratch, (size_t)(end - p->at) + 1);
    if (!text) return MW_NOMEM();
    size_t n = 0;
    for (const char *c = p->at; c < end; c++)
        text[n++] = *c == '\\' ? *++c : *c;
    text[n] = 0;
    p->at = end + 1;
    *ret = text;
    return MW_OK;
}

mw_status ir_number(ir_parser *p, mw_arg *ret)
{
    char *end, *real_end;
    errno = 0;
    long long whole = strtoll(p->at, &end, 10);
    bool over = errno == ERANGE;
    double real = strtod(p->at, &real_end);
    if (real_end == p->at) return ir_fail(p, p->at, "expected a value");
    if (real_end > end || over)
        *ret = (mw_arg){.kind = MW_ARG_FLOAT, .f = real};
    else
        *ret = (mw_arg){.kind = MW_ARG_INT, .i = whole};
    p->at = real_end;
    return MW_OK;
}

/* A word that stands for a value; false where it stands for none. */
static bool read_constant(const char *word, mw_arg *ret)
{
    static const struct {
        const char *word;
        mw_arg arg;
    } known[] = {
        {"None", {.kind = MW_ARG_NONE}},          {"True", {.kind = MW_ARG_BOOL, .i = 1}},
        {"true", {.kind = MW_ARG_BOOL, .i = 1}},  {"False", {.kind = MW_ARG_BOOL, .i = 0}},
        {"false", {.kind = MW_ARG_BOOL, .i = 0}},
    };
    for (int i = 0; i < MW_COUNT(known); i++)
        if (strcmp(word, known[i].word) == 0) {
            *ret = known[i].arg;
            return true;
        }
    if (strncmp(word, "torch.", 6) == 0) word += 6;
    mw_dtype dtype = mw_dtype_read(word, (int)strlen(word));
    *ret = (mw_arg){.kind = MW_ARG_DTYPE, .i = dtype};
    return dtype != MW_DTYPE_NONE;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

bool ir_starts_number(const char *at)
{
    at += *at == '-' || *at == '+';
    return (*at >= '0' && *at <= '9') || *at == '.' || strncmp(at, "inf", 3) == 0 ||
           strncmp(at, "nan", 3) == 0;
}

/* The word that begins here is a value of data: True, inf, the e of 1e3. */
static bool is_data_word(const char *at, size_t n)
{
    static const char *const words[] = {"True", "False", "true", "false", "inf", "nan", "e", "E"};
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strlen(words[i]) == n && strncmp(at, words[i], n) == 0) return true;
    return false;
}

/* Data: a list that holds lists, fractions or bools, and no words. A list of ints may be sizes. */
static bool is_data(const char *at)
{
    bool data = false;
    int depth = 0;
    for (; *at; at++) {
        if (*at == '#' || strncmp(at, "//", 2) == 0) at += strcspn(at, "\n");
        if (!*at || *at == '%' || *at == '"' || *at == '\'') return false;
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
        if (depth == 0) return data;
        size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
        if (n && !is_data_word(at, n)) return false;
        data = data || n || depth > 1 || *at == '.';
        at += n ? n - 1 : 0;
    }
    return false;
}

mw_status ir_add_tensor(ir_parser *p, ir_args *args, mw_ssa *v)
{
    if (args->ntensor == MW_COUNT(args->tensor))
        return ir_fail(p, p->at, "more than %d tensors in a call", MW_COUNT(args->tensor));
    args->tensor[args->ntensor++] = v;
    return MW_OK;
}

static mw_status tensor_list(ir_parser *p, ir_args *args, const char *close, mw_arg *ret)
{
    *ret = (mw_arg){.kind = MW_ARG_TENSORS, .first = args->ntensor};
    while (!ir_sees(p, close)) {
        mw_ssa *v;
        int n;
        if (ir_sees(p, "None"))
            return ir_fail(p, p->at,
                           "None in a list of tensors: move the dims that are indexed to "
                           "the front, by transpose");
        MW_TRY(ir_expr(p, &v, 1, &n));
        MW_TRY(ir_add_tensor(p, args, v));
        ret->count++;
        if (!ir_take(p, ",")) break;
    }
    return ir_expect(p, close);
}

/* `[u0]`: a value known only at run time, as traces of other systems print it. */
static mw_status symbol(ir_parser *p, const char *begin, const char *close, mw_arg *ret)
{
    const char *end = begin + strcspn(begin, "])\n");
    if (*end != *close) return ir_fail(p, end, "expected '%s'", close);
    p->at = end + 1;
    *ret = (mw_arg){.kind = MW_ARG_SYMBOL,
                    .s = mw__arena_strndup(&p->scratch, begin, (size_t)(p->at - begin))};
    return ret->s ? MW_OK : MW_NOMEM();
}

static mw_status int_list(ir_parser *p, const char *begin, const char *close, mw_arg *ret)
{
    int64_t *at = NULL, cap = 0, n = 0;
    while (!ir_sees(p, close)) {
        if (!ir_starts_number(p->at)) return symbol(p, begin, close, ret);
        if (n == cap) {
            int64_t more = cap ? 2 * cap : 8;
            int64_t *grown = mw__arena_alloc(&p->scratch, (size_t)more * sizeof *grown);
            if (!grown) return MW_NOMEM();
            if (n) memcpy(grown, at, (size_t)n * sizeof *at);
            at = grown, cap = more;
        }
        MW_TRY(ir_int(p, &at[n]));
        n++;
        if (!ir_take(p, ",")) break;
    }
    static const int64_t none;
    *ret = (mw_arg){.kind = MW_ARG_INTS, .count = (int)n, .ints = at ? at : &none};
    return ir_expect(p, close);
}

/* Whether the parentheses here hold one expression: no comma of their own, and not numbers only. */
static bool one_expression(const char *at)
{
    int depth = 0;
    bool value = false;
    for (; *at; at++) {
        if (*at == '(' || *at == '[') depth++;
        if (*at == ')' || *at == ']') depth--;
        if (depth == 0) break;
        if (*at == ',' && depth == 1) return false;
        value = value || *at == '%';
    }
    return value;
}

static mw_status read_list(ir_parser *p, ir_args *args, mw_arg *ret)
{
    const char *begin = p->at, *close = *begin == '(' ? ")" : "]";
    if (*begin == '[' && is_data(begin)) {
        mw_ssa *v;
        MW_TRY(ir_literal(p, &v));
        *ret = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
        return ir_add_tensor(p, args, v);
    }
    p->at++;
    ir_space(p);
    bool tensors = *p->at == '%' || *p->at == '-' ? !ir_starts_number(p->at) : false;
    if (!tensors && !ir_starts_number(p->at) && *p->at != *close) { /* [f(x), g(y)] or [u0] */
        const char *word = p->at + strcspn(p->at, "(,])\n");
        tensors = *word == '(';
    }
    return tensors ? tensor_list(p, args, close, ret) : int_list(p, begin, close, ret);
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static mw_status add_operand(ir_parser *p, ir_args *args, const ir_operand *x, mw_arg *ret)
{
    if (x->number) {
        *ret = x->arg;
        return MW_OK;
    }
    *ret = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
    return ir_add_tensor(p, args, x->value);
}

static mw_status add_symbol(ir_parser *p, const char *text, size_t length, mw_arg *ret)
{
    *ret = (mw_arg){.kind = MW_ARG_SYMBOL, .s = mw__arena_strndup(&p->scratch, text, length)};
    return ret->s ? MW_OK : MW_NOMEM();
}

static mw_status read_value(ir_parser *p, ir_args *args, mw_arg *ret)
{
    ir_space(p);
    if (*p->at == '[' || (*p->at == '(' && !one_expression(p->at))) return read_list(p, args, ret);
    if (*p->at == '"' || *p->at == '\'') {
        ret->kind = MW_ARG_STR;
        return read_string(p, &ret->s);
    }
    char word[IR_NAME];
    const char *at = p->at;
    if (*at == '@') { /* a mesh by its name */
        p->at++;
        if (!ir_word(p, "", word)) return ir_fail(p, at, "expected the name of a mesh after '@'");
        return add_symbol(p, at, (size_t)(p->at - at), ret);
    }
    if (*at != '%' && !ir_starts_number(at) && ir_word(p, ".:", word) && !ir_sees(p, "(")) {
        if (read_constant(word, ret)) return MW_OK;
        MW_TRY(add_symbol(p, word, strlen(word), ret));
        size_t letters = strcspn(word, "0123456789"); /* u0, s1: known at run time, in traces */
        bool symbol = letters == 1 && word[1] && strspn(word + 1, "0123456789") + 1 == strlen(word);
        if (!symbol || *word == 'f') ret->kind = MW_ARG_STR;
        return MW_OK;
    }
    p->at = at;
    ir_operand x;
    int n;
    MW_TRY(ir_operands(p, &x, NULL, 1, &n));
    return add_operand(p, args, &x, ret);
}

/* ---- placements -------------------------------------------------------------------------------
 */

static bool word_is(const char *at, size_t n, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(words[i]) == n && strncmp(at, words[i], n) == 0) return true;
    return false;
}

/* The end of a text in another notation, `[Shard(0), Replicate()]`, `('x', None)`, `S(0)R`: up to
 * the comma or parenthesis that ends the argument. NULL: it is none. */
static const char *placement_end(const char *at)
{
    static const char *const known[] = {
        "Shard", "Replicate", "Partial", "_StridedShard", "None", "S",
        "R",     "P",         "_S",      "PartitionSpec"};
    int depth = 0;
    bool placed = *at == '[' || *at == '(' ? false : true, found = false;
    for (; *at && *at != '\n' && *at != '%'; at++) {
        if (depth == 0 && (*at == ',' || *at == ')')) return found ? at : NULL;
        if (*at == '(' || *at == '[') depth++;
        if (*at == ')' || *at == ']') depth--;
        if (*at == '\'' || *at == '"') {
            if (placed && depth == 0) return NULL; /* a string by itself is read as one */
            found = true;
        }
        size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
        if (n == 0) continue;
        bool one = word_is(at, n, known, MW_COUNT(known));
        if (placed && !found && !one && strspn(at, "SRP") != n) return NULL;
        found = found || one || strspn(at, "SRP") == n;
        at += n - 1;
    }
    return NULL;
}

static bool take_placement(ir_parser *p, mw_arg *ret)
{
    const char *end = placement_end(p->at);
    if (!end) return false;
    *ret = (mw_arg){.kind = MW_ARG_STR,
                    .s = mw__arena_strndup(&p->scratch, p->at, (size_t)(end - p->at))};
    if (ret->s) p->at = end;
    return ret->s != NULL;
}

static mw_status read_arg(ir_parser *p, ir_args *args)
{
    if (args->n == IR_ARGS) return ir_fail(p, p->at, "more than %d arguments", IR_ARGS);
    mw_given *given = &args->given[args->n];
    char word[IR_NAME];
    const char *begin = (ir_space(p), p->at);
    *given = (mw_given){0};
    if (*begin != '%' && ir_word(p, "", word) && ir_take(p, "=") && *p->at != '=') {
        given->name = mw__arena_strndup(&p->scratch, word, strlen(word));
        if (!given->name) return MW_NOMEM();
        ir_space(p);
    } else {
        p->at = begin;
    }
    args->at[args->n++] = p->at;
    if (given->name && strcmp(given->name, "axes") == 0) { /* names of mesh axes, as they stand */
        const char *end = p->at + strcspn(p->at, "]\n");
        if (*p->at != '[' || *end != ']') return ir_fail(p, p->at, "expected axes like [x, y]");
        given->value =
            (mw_arg){.kind = MW_ARG_SYMBOL,
                     .s = mw__arena_strndup(&p->scratch, p->at + 1, (size_t)(end - p->at - 1))};
        p->at = end + 1;
        return given->value.s ? MW_OK : MW_NOMEM();
    }
    if (args->places && take_placement(p, &given->value)) return MW_OK;
    return read_value(p, args, &given->value);
}

mw_status ir_args_read(ir_parser *p, ir_args *args)
{
    MW_TRY(ir_expect(p, "("));
    while (!ir_sees(p, ")")) {
        MW_TRY(read_arg(p, args));
        if (!ir_take(p, ",")) break;
    }
    return ir_expect(p, ")");
}
