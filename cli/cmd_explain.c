/* meshwise explain [FILE|-]: what a log, dump or error says, what it means, and what it leaves out.
 * The text is read as it comes; with --all entries are told as soon as the next one begins. */
#include "cli/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 };

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

static void tell_new(const cli_args *args, const mw_explain *e, int64_t *told, bool last)
{
    if (args->json || !args->value[OPT_all] || args->value[OPT_question]) return;
    bool problems = args->value[OPT_only] != NULL;
    int64_t end = mw_explain_entries(e) - (last ? 0 : 1), before = *told;
    for (; *told < end; (*told)++) {
        const mw_entry *entry = mw_explain_entry(e, *told);
        if (!entry->says[0] && !last) break; /* it waits for a line that may still come */
        if (!problems || entry->nproblem) explain_entry(e, entry);
    }
    if (*told > before) (void)fflush(stdout);
}

static mw_status read_all(const cli_args *args, int from, const char *path, mw_explain *e,
                          kept *text, int64_t *told)
{
    char *chunk = mw_memory(CHUNK);
    if (!chunk) return mw_last_error()->code;
    mw_status status = MW_OK;
    while (status == MW_OK) {
        ssize_t n = read(from, chunk, CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
        if (n <= 0) break;
        status = mw_explain_feed(e, chunk, n);
        if (status == MW_OK && text) status = keep(text, chunk, n);
        if (status == MW_OK) tell_new(args, e, told, false);
    }
    mw_memory_free(chunk, CHUNK);
    if (status == MW_OK) status = mw_explain_finish(e);
    return status;
}

static mw_status options_of(const cli_args *args, mw_explain_options *ret)
{
    const char *dtype = args->value[OPT_as_dtype], *only = args->value[OPT_only];
    *ret = (mw_explain_options){.mesh = args->value[OPT_mesh]};
    if (only && strcmp(only, "problems") != 0)
        return mw_error_set(MW_ERR_ARG, "--only %.40s: expected problems", only);
    if (!dtype) return MW_OK;
    ret->dtype = mw_dtype_read(dtype, (int)strlen(dtype));
    if (ret->dtype != MW_DTYPE_NONE) return MW_OK;
    return mw_error_set(MW_ERR_ARG, "--dtype %.40s: no such dtype", dtype);
}

static int show(const cli_args *args, explained *x, const kept *text, int64_t *told)
{
    mw_status status = explain_sum(x);
    if (status == MW_OK && args->value[OPT_html])
        status = explain_html(x, text->at, text->length, args->value[OPT_html]);
    if (status != MW_OK) return cli_report(args);
    if (args->json) return explain_json(args, x);
    tell_new(args, x->e, told, true);
    if (x->question)
        explain_answer(x);
    else
        explain_short(x);
    return cli_flush();
}

int cmd_explain(const cli_args *args)
{
    if (args->npositional > 1)
        return cli_usage(args, "explain takes one file, or - for standard input");
    const char *path = args->npositional ? args->positional[0] : "-";
    mw_explain_options options;
    mw_explain *e = NULL;
    kept text = {0};
    int64_t told = 0;
    int from = STDIN_FILENO;
    mw_status status = options_of(args, &options);
    if (status == MW_OK && strcmp(path, "-") != 0) {
        from = open(path, O_RDONLY | O_CLOEXEC);
        if (from < 0) status = mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (status == MW_OK) status = mw_explain_new(&options, &e);
    if (status == MW_OK)
        status = read_all(args, from, path, e, args->value[OPT_html] ? &text : NULL, &told);
    explained x = {.e = e,
                   .question = args->value[OPT_question],
                   .file = path,
                   .problems_only = args->value[OPT_only] != NULL};
    int code = status == MW_OK ? show(args, &x, &text, &told) : cli_report(args);
    explain_done(&x);
    mw_explain_free(e);
    if (text.at) mw_memory_free(text.at, (size_t)text.cap);
    if (from > STDIN_FILENO) (void)close(from);
    return code;
}
