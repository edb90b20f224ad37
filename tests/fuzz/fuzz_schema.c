/* Fuzzes the texts of ops. An input is a schema, a newline, a rule, a newline, and bytes that the
 * shapes of a call are made from. A schema that reads must print, and what prints must read as the
 * same value; what does not read must leave a sentence. A rule that reads is laid over the call: it
 * fits, and then the letters of every dim multiply to its size, or it leaves a sentence. */
#include "ops/rule_parts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) abort();
}

static bool check_schema(const char *text, mw_schema *schema)
{
    mw_schema again;
    mw_str printed = {0};
    mw_error_clear();
    if (mw__schema_parse(text, schema) != MW_OK) {
        must(mw_last_error()->code == MW_ERR_PARSE && mw_last_error()->says[0]);
        return false;
    }
    mw__schema_str(schema, &printed);
    must(mw__schema_parse(mw__str_text(&printed), &again) == MW_OK);
    must(memcmp(schema, &again, sizeof again) == 0);
    mw__str_done(&printed);
    return true;
}

/* Shapes of the operands come from the input's bytes: small sizes, so that some agree. */
static void lay_rule(const mw_schema *schema, const mw_rule_text *text, const uint8_t *bytes,
                     size_t nbytes)
{
    static const mw_op op = {.schema = ""};
    enum { OPERANDS = 2 * MW_SCHEMA_ARGS };
    mw_meta meta[OPERANDS];
    mw_operand in[OPERANDS], out[MW_TEXT_OUT];
    mw_arg arg[MW_SCHEMA_ARGS];
    mw_rule rule;
    size_t at = 0;
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    memset(&rule, 0, sizeof rule);
    memset(arg, 0, sizeof arg);
    mw_call_args call = {.op = &op, .narg = schema->narg, .arg = arg, .in = meta};
#define BYTE() (at < nbytes ? bytes[at++] : 2u)
    for (int a = 0; a < schema->narg; a++) {
        const mw_type *type = &schema->arg[a].type;
        if (type->base == MW_TYPE_INT) arg[a] = (mw_arg){.kind = MW_ARG_INT, .i = BYTE() % 5 - 2};
        if (type->base != MW_TYPE_TENSOR || (type->optional && BYTE() % 2)) continue;
        arg[a] = (mw_arg){.kind = type->list ? MW_ARG_TENSORS : MW_ARG_TENSOR, .first = call.nin};
        arg[a].count = type->list ? (int)(BYTE() % 3) : 1;
        for (int k = 0; k < arg[a].count; k++, call.nin++) {
            meta[call.nin] =
                (mw_meta){.dtype = MW_DTYPE_f32, .ndim = (int)(BYTE() % (MW_MAX_DIMS + 1))};
            for (int d = 0; d < meta[call.nin].ndim; d++)
                meta[call.nin].shape[d] = BYTE() % 7;
            in[call.nin].ndim = (int8_t)meta[call.nin].ndim;
        }
    }
#undef BYTE
    rule.nin = call.nin;
    rule.nout = text->nout;
    rule.in = in;
    rule.out = out;
    if (mw__rule_lay(&call, text, &rule) != MW_OK) {
        must(mw_last_error()->says[0]);
        return;
    }
    must(rule.nletter <= MW_RULE_LETTERS);
    for (int i = 0; i < call.nin; i++)
        for (int d = 0; d < in[i].ndim; d++) {
            int64_t product = 1;
            for (int k = 0; k < in[i].nletter[d]; k++)
                product *= rule.letter[in[i].letter[d][k]].size;
            must(product == meta[i].shape[d]);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    char *rule = strchr(text, '\n');
    if (rule) *rule++ = 0;
    char *rest = rule ? strchr(rule, '\n') : NULL;
    if (rest) *rest++ = 0;
    mw_schema schema;
    mw_rule_text parsed;
    if (check_schema(text, &schema) && rule) {
        if (mw__rule_text_parse(&schema, rule, &parsed) == MW_OK)
            lay_rule(&schema, &parsed, (const uint8_t *)rest,
                     rest ? size - (size_t)(rest - text) : 0);
        else
            must(mw_last_error()->code == MW_ERR_PARSE);
    }
    free(text);
    return 0;
}
