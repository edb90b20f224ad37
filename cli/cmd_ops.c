/* meshwise ops: the op table, and the placements that follow from it. */
#include "cli/cli.h"

#include <stdio.h>

/* ---- JSON ---------------------------------------------------------------------------------- */

typedef struct collector {
    json_t *rows;
    bool failed;
} collector;

static json_t *words(const char *const *text, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n && list; i++)
        if (json_array_append_new(list, json_string(text[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static void collect(void *user, const mw_op_placement *row)
{
    collector *c = user;
    json_t *in = words(row->in, row->nin), *out = words(row->out, row->nout);
    json_t *object = json_pack("{s:o, s:o}", "in", in, "out", out);
    if (!object || json_array_append_new(c->rows, object) != 0) c->failed = true;
}

/* One op; NULL without memory, or with an error in the record where its placements can't be had. */
static json_t *op_json(const mw_op *op)
{
    mw_op_text text;
    collector c = {.rows = json_array()};
    if (!c.rows) return NULL;
    if (mw_op_describe(op, &text) != MW_OK || mw_op_placements(op, collect, &c) != MW_OK ||
        c.failed) {
        json_decref(c.rows);
        return NULL;
    }
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "name", text.word, "aten", text.aten, "schema",
                  text.schema, "rule", text.rule, "doc", text.doc, "placements", c.rows);
    if (object && text.refuses[0])
        (void)json_object_set_new(object, "refuses", json_string(text.refuses));
    return object;
}

static int print_json(const cli_args *args, const mw_op *only)
{
    json_t *ops = json_array();
    bool made = ops != NULL;
    for (int i = 0; i < (only ? 1 : mw_op_count()) && made; i++)
        made = json_array_append_new(ops, op_json(only ? only : mw_op_at(i))) == 0;
    if (!made) json_decref(ops);
    if (!made && mw_last_error()->code != MW_OK) return cli_report(args);
    return cli_print(args, made ? json_pack("{s:i, s:o}", "schema", 1, "ops", ops) : NULL, 0);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_words(const char *const *text, int n)
{
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? " " : "", text[i]);
}

static void print_placement(void *user, const mw_op_placement *row)
{
    int *nth = user;
    printf("  %-12s", (*nth)++ ? "" : "placements");
    print_words(row->in, row->nin);
    printf("%s-> ", row->nin ? " " : "");
    print_words(row->out, row->nout);
    (void)putchar('\n');
}

static int print_op(const cli_args *args, const mw_op *op)
{
    mw_op_text text;
    int nth = 0;
    if (mw_op_describe(op, &text) != MW_OK) return cli_report(args);
    printf("%s: %s\n", text.word, text.doc);
    printf("  %-12s%s\n", "schema", text.schema);
    printf("  %-12s%s\n", "rule", text.rule[0] ? text.rule : "said by code, from the arguments");
    if (mw_op_placements(op, print_placement, &nth) != MW_OK) return cli_report(args);
    if (text.refuses[0]) printf("  %-12s%s\n", "refused", text.refuses);
    return cli_flush();
}

static int print_list(const cli_args *args)
{
    for (int i = 0; i < mw_op_count(); i++) {
        mw_op_text text;
        if (mw_op_describe(mw_op_at(i), &text) != MW_OK) return cli_report(args);
        printf("%-28s  %s\n", text.word, text.doc);
    }
    return cli_flush();
}

int cmd_ops(const cli_args *args)
{
    const mw_op *op = NULL;
    if (args->npositional > 1)
        return cli_usage(args, "ops takes the name of one op, not %d arguments", args->npositional);
    if (args->npositional == 1 && mw_op_find(args->positional[0], &op) != MW_OK)
        return cli_report(args);
    if (args->json) return print_json(args, op);
    return op ? print_op(args, op) : print_list(args);
}
