/* meshwise explain [FILE|-]: what a log, dump or error says, what it means, and what it leaves out.
 * The text is read as it comes, and told as it comes with --all or where its writer pauses. */
#include "cli/explain.h"

#include <stdio.h>
#include <string.h>

/* The whole text, kept for --html alone. */
typedef struct kept {
    char *at;
    int64_t length, cap;
} kept;

static mw_status keep(kept *k, const char *at, int64_t length)
{
    if (k->length + length > k->cap) {
        int64_t cap = (k->length + length) * 2;
        char *grown = mw_memory((size_t)cap);
        if (!grown) return mw_last_error()->code;
        if (k->length) memcpy(grown, k->at, (size_t)k->length);
        if (k->at) mw_memory_free(k->at, (size_t)k->cap);
        k->at = grown;
        k->cap = cap;
    }
    memcpy(k->at + k->length, at, (size_t)length);
    k->length += length;
    return MW_OK;
}

/* When entries are told. */
typedef enum moment { READING, PAUSED, OVER } moment;

/* With --all each entry as soon as the next one begins. Without, where the writer pauses (as that
 * of `tail -f` does), a line for each: the answer as a whole comes at the end. */
static void tell_new(const cli_args *args, const mw_explain *e, int64_t *told, moment now)
{
    bool all = args->value[OPT_all] != NULL, problems = args->value[OPT_only] != NULL;
    if (args->json || args->value[OPT_question] || (!all && now != PAUSED)) return;
    int64_t end = mw_explain_entries(e) - (now == READING), before = *told;
    for (; *told < end; (*told)++) {
        const mw_entry *entry = mw_explain_entry(e, *told);
        if (!entry->says[0] && now != OVER) break; /* it waits for a line that may still come */
        if (problems && !entry->nproblem) continue;
        if (all) {
            explain_entry(e, entry);
        } else {
            explain_line(entry);
            explain_problems(entry);
        }
    }
    if (*told > before) (void)fflush(stdout);
}

typedef struct reading {
    const cli_args *args;
    mw_explain *e;
    kept text;
    int64_t told;
} reading;

static mw_status after_piece(void *user, const char *at, int64_t length)
{
    reading *r = user;
    mw_status status = at && r->args->value[OPT_html] ? keep(&r->text, at, length) : MW_OK;
    if (status == MW_OK) tell_new(r->args, r->e, &r->told, at ? READING : PAUSED);
    return status;
}

static mw_status check_only(const cli_args *args)
{
    const char *only = args->value[OPT_only];
    if (!only || strcmp(only, "problems") == 0) return MW_OK;
    return mw_error_set(MW_ERR_ARG, "--only %.40s: expected problems", only);
}

static int show(const cli_args *args, explained *x, reading *r)
{
    mw_status status = explain_sum(x);
    if (status == MW_OK && args->value[OPT_html])
        status = explain_html(x, r->text.at, r->text.length, args->value[OPT_html]);
    if (status != MW_OK) return cli_report(args);
    if (args->json) return explain_json(args, x);
    tell_new(args, x->e, &r->told, OVER);
    if (x->question)
        explain_answer(x);
    else
        explain_short(x, args->value[OPT_all] != NULL);
    return cli_flush();
}

int cmd_explain(const cli_args *args)
{
    if (args->npositional > 1)
        return cli_usage(args, "explain takes one file, or - for standard input");
    const char *path = args->npositional ? args->positional[0] : "-";
    mw_explain_options options;
    reading r = {.args = args};
    mw_status status = check_only(args);
    if (status == MW_OK) status = explain_options(args, &options);
    if (status == MW_OK) status = mw_explain_new(&options, &r.e);
    if (status == MW_OK) status = explain_read(path, r.e, after_piece, &r);
    explained x = {.e = r.e,
                   .question = args->value[OPT_question],
                   .file = path,
                   .problems_only = args->value[OPT_only] != NULL};
    int code = status == MW_OK ? show(args, &x, &r) : cli_report(args);
    explain_done(&x);
    mw_explain_free(r.e);
    if (r.text.at) mw_memory_free(r.text.at, (size_t)r.text.cap);
    return code;
}
