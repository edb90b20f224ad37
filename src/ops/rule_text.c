/* Reads a rule's text into a form that a call can be laid over without looking at characters again.
 * The grammar is in rule.h. Everything that is wrong with a text is found here, so that rule.c only
 * has to look at calls.
 * Invariant: an operand's items are plain ones, then one run of flexible ones (`...`, named), then
 * plain ones; every letter of an output stands in some operand. */
#include "ops/rule.h"
#include "ops/scan.h"

typedef struct reader {
    scan s;
    const mw_schema *schema;
    mw_rule_text *rule;
    int term;
} reader;

#define FAIL(r, ...) SCAN_FAIL(&(r)->s, __VA_ARGS__)

static mw_status read_mark(reader *r, mw_text_letter *letter)
{
    mw_mark mark;
    switch (*r->s.at) { /* no space before a mark */
    case '*':
        mark = MW_MARK_WHOLE;
        break;
    case '~':
        mark = MW_MARK_NEIGHBOURS;
        break;
    case '^':
        mark = MW_MARK_PARTS;
        break;
    default:
        return MW_OK;
    }
    if (letter->mark != MW_MARK_FREE && letter->mark != mark)
        return FAIL(r, "letter '%s' with two different marks", letter->name);
    letter->mark = (uint8_t)mark;
    r->s.at++;
    return MW_OK;
}

/* Reads a letter with its mark; makes it unless `known` demands that it is there already. */
static mw_status read_letter(reader *r, bool known, uint8_t *ret)
{
    mw_rule_text *rule = r->rule;
    size_t n = scan_name(&r->s);
    if (n == 0) return FAIL(r, "expected a letter, '...', '1' or ']'");
    int found = -1;
    for (int i = 0; i < rule->nletter; i++)
        if (scan_word(r->s.at, n, rule->letter[i].name)) found = i;
    if (found < 0) {
        if (known) return FAIL(r, "letter '%.*s' stands in no operand", (int)n, r->s.at);
        if (n >= sizeof rule->letter[0].name) return FAIL(r, "a letter's name is too long");
        if (rule->nletter == MW_TEXT_LETTERS) return FAIL(r, "too many letters");
        found = rule->nletter++;
        memcpy(rule->letter[found].name, r->s.at, n);
    }
    r->s.at += n;
    MW_TRY(read_mark(r, &rule->letter[found]));
    *ret = (uint8_t)found;
    return MW_OK;
}

static mw_status read_product(reader *r, bool known, mw_text_dim *dim)
{
    for (;;) {
        if (dim->nletter == MW_DIM_LETTERS)
            return FAIL(r, "more than %d letters in a dim", MW_DIM_LETTERS);
        MW_TRY(read_letter(r, known, &dim->letter[dim->nletter]));
        dim->nletter++;
        if (!scan_take(&r->s, "\xc2\xb7")) return MW_OK;
    }
}

/* `dim:d`: the argument's name has been seen, the cursor is behind the colon. */
static mw_status read_named(reader *r, const char *name, size_t length, mw_text_dim *dim)
{
    int pos = mw__schema_find(r->schema, name, length);
    if (pos < 0) return FAIL(r, "no argument '%.*s' in the schema", (int)length, name);
    uint8_t base = r->schema->arg[pos].type.base;
    if (base != MW_TYPE_INT && base != MW_TYPE_SYMINT)
        return FAIL(r, "argument '%.*s' holds no dims", (int)length, name);
    if (r->rule->named >= 0 && r->rule->named != pos)
        return FAIL(r, "dims named by two arguments: write a 'factors' override");
    r->rule->named = (int8_t)pos;
    dim->kind = MW_TEXT_NAMED;
    MW_TRY(read_letter(r, false, &dim->letter[0]));
    dim->nletter = 1;
    r->rule->letter[dim->letter[0]].named = true;
    return MW_OK;
}

static mw_status read_dim(reader *r, bool output, mw_text_dim *dim)
{
    scan *s = &r->s;
    if (scan_take(s, "...")) {
        dim->kind = MW_TEXT_DOTS;
        return MW_OK;
    }
    if (scan_take(s, "1")) return MW_OK;
    size_t n = scan_name(s);
    const char *name = s->at;
    if (!output && n && name[n] == ':') {
        s->at += n + 1;
        return read_named(r, name, n, dim);
    }
    return read_product(r, output, dim);
}

static bool is_named_letter(const mw_rule_text *rule, const mw_text_dim *dim)
{
    return dim->kind == MW_TEXT_PLAIN && dim->nletter == 1 && rule->letter[dim->letter[0]].named;
}

/* In an output a named letter, and a letter between two `...`, stand for the named dims. */
static void mark_named(const mw_rule_text *rule, mw_text_operand *out)
{
    int first = -1, last = -1;
    for (int i = 0; i < out->ndim; i++)
        if (out->dim[i].kind == MW_TEXT_DOTS) {
            if (first < 0) first = i;
            last = i;
        }
    for (int i = 0; i < out->ndim; i++)
        if (is_named_letter(rule, &out->dim[i]) || (i > first && i < last && first >= 0))
            if (out->dim[i].kind == MW_TEXT_PLAIN) out->dim[i].kind = MW_TEXT_NAMED;
}

/* Counts the items by kind and checks that the flexible ones are one run. */
static mw_status settle(reader *r, mw_text_operand *operand)
{
    int flexible_end = -1;
    for (int i = 0; i < operand->ndim; i++) {
        const mw_text_dim *dim = &operand->dim[i];
        if (dim->kind == MW_TEXT_PLAIN) {
            if (flexible_end < 0) operand->lead++;
            operand->nplain++;
            continue;
        }
        if (flexible_end >= 0 && flexible_end != i)
            return FAIL(r, "a plain dim between '...' or named dims");
        flexible_end = i + 1;
        if (dim->kind == MW_TEXT_DOTS) operand->dots = true;
        if (dim->kind == MW_TEXT_NAMED) operand->named = true;
    }
    if (operand->expand && flexible_end >= 0)
        return FAIL(r, "'<' and '...' or named dims do not go together");
    return MW_OK;
}

/* The cursor is behind '['. */
static mw_status read_dims(reader *r, bool output, mw_text_operand *operand)
{
    while (!scan_take(&r->s, "]")) {
        if (operand->ndim == MW_COUNT(operand->dim)) return FAIL(r, "too many dims");
        MW_TRY(read_dim(r, output, &operand->dim[operand->ndim]));
        operand->ndim++;
    }
    if (output) mark_named(r->rule, operand);
    return settle(r, operand);
}

static mw_status find_operand(reader *r, mw_text_operand *operand)
{
    size_t n = scan_name(&r->s);
    if (n == 0) return FAIL(r, "expected an operand's name");
    int pos = mw__schema_find(r->schema, r->s.at, n);
    if (pos < 0 || r->schema->arg[pos].type.base != MW_TYPE_TENSOR)
        return FAIL(r, "no Tensor argument '%.*s' in the schema", (int)n, r->s.at);
    for (int i = 0; i < r->rule->nin; i++)
        if (r->rule->in[i].arg == pos) return FAIL(r, "operand '%.*s' twice", (int)n, r->s.at);
    operand->arg = (int8_t)pos;
    r->s.at += n;
    return MW_OK;
}

static mw_status read_operand(reader *r)
{
    scan *s = &r->s;
    if (r->rule->nin == MW_TEXT_IN) return FAIL(r, "more than %d operands", MW_TEXT_IN);
    mw_text_operand *operand = &r->rule->in[r->rule->nin];
    MW_TRY(find_operand(r, operand));
    const mw_type *type = &r->schema->arg[operand->arg].type;
    operand->term = (int8_t)r->term;
    operand->optional = scan_take(s, "?");
    operand->expand = scan_take(s, "<");
    operand->list = scan_take(s, "{");
    if (operand->list) operand->spread = scan_take(s, "+");
    if (operand->optional != type->optional || operand->list != type->list)
        return FAIL(r, "'%s' is written otherwise in the schema: '?' or '{}' lacks or is too much",
                    r->schema->arg[operand->arg].name);
    if (!scan_take(s, "[")) return FAIL(r, "expected '['");
    MW_TRY(read_dims(r, false, operand));
    if (operand->list && !scan_take(s, "}")) return FAIL(r, "expected '}'");
    r->rule->nin++;
    return MW_OK;
}

static mw_status read_operands(reader *r)
{
    scan *s = &r->s;
    bool common = false;
    for (;;) {
        MW_TRY(read_operand(r));
        if (scan_take(s, "->")) break;
        if (scan_take(s, "+")) {
            r->term++;
        } else if (scan_take(s, ";")) {
            if (common || r->term) return FAIL(r, "';' after the first term");
            common = true;
            for (int i = 0; i < r->rule->nin; i++)
                r->rule->in[i].term = -1;
            if (scan_take(s, "->")) break;
        } else {
            (void)scan_take(s, ",");
        }
    }
    r->rule->nterm = (uint8_t)(r->term + 1);
    return MW_OK;
}

static mw_status read_output(reader *r)
{
    scan *s = &r->s;
    if (r->rule->nout == MW_TEXT_OUT) return FAIL(r, "more than %d outputs", MW_TEXT_OUT);
    mw_text_operand *out = &r->rule->out[r->rule->nout];
    out->arg = -1;
    size_t n = scan_name(s);
    if (n) {
        out->dtype = (uint8_t)mw_dtype_read(s->at, (int)n);
        if (!out->dtype) return FAIL(r, "unknown dtype '%.*s'", (int)n, s->at);
        s->at += n;
    }
    if (!scan_take(s, "[")) return FAIL(r, "expected '['");
    MW_TRY(read_dims(r, true, out));
    r->rule->nout++;
    return MW_OK;
}

static mw_status check_whole(reader *r)
{
    const mw_rule_text *rule = r->rule;
    bool dots = false;
    for (int i = 0; i < rule->nin; i++)
        dots = dots || rule->in[i].dots || rule->in[i].named;
    for (int i = 0; i < rule->nout; i++)
        if ((rule->out[i].dots || rule->out[i].named) && !dots)
            return FAIL(r, "'...' in an output and in no operand");
    for (int a = 0; a < r->schema->narg; a++) {
        bool found = r->schema->arg[a].type.base != MW_TYPE_TENSOR;
        for (int i = 0; i < rule->nin; i++)
            found = found || rule->in[i].arg == a;
        if (!found) return FAIL(r, "operand '%s' lacks", r->schema->arg[a].name);
    }
    return MW_OK;
}

mw_status mw__rule_text_parse(const mw_schema *schema, const char *text, mw_rule_text *ret)
{
    mw_rule_text rule;
    memset(&rule, 0, sizeof rule);
    rule.named = -1;
    rule.keepdim = (int8_t)mw__schema_find(schema, "keepdim", 7);
    reader r = {.s = {"rule", text, text}, .schema = schema, .rule = &rule};
    MW_TRY(read_operands(&r));
    do
        MW_TRY(read_output(&r));
    while (scan_take(&r.s, ","));
    scan_space(&r.s);
    if (*r.s.at) return FAIL(&r, "text after the end");
    MW_TRY(check_whole(&r));
    *ret = rule;
    return MW_OK;
}
