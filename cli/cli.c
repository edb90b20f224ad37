/* What the commands share: reports, numbers, files, models. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_error(const mw_error *e)
{
    (void)fprintf(stderr, "meshwise: %s\n", e->says[0] ? e->says : mw_status_text(e->code));
    if (e->where[0]) (void)fprintf(stderr, "  in %s\n", e->where);
    if (e->hint[0]) (void)fprintf(stderr, "  hint: %s\n", e->hint);
    if (e->code != MW_ERR_INTERNAL) return;
    for (int i = 0; i < e->nframe; i++)
        (void)fprintf(stderr, "  at %s (%s:%d)\n", e->frame[i].function, e->frame[i].file,
                      e->frame[i].line);
}

int cli_report(const cli_args *args)
{
    mw_error e = *mw_last_error();
    int code = mw_status_exit(e.code);
    if (cli_first(args) || args->world->each) print_error(&e);
    if (!args->json || !cli_first(args)) return code;
    json_t *object =
        json_pack("{s:i, s:{s:s, s:s+, s:s, s:s}}", "schema", 1, "error", "code",
                  mw_status_name(e.code), "says", e.says, "", "where", e.where, "hint", e.hint);
    if (!object) /* a message that is not UTF-8 */
        object = json_pack("{s:i, s:{s:s, s:s, s:s, s:s}}", "schema", 1, "error", "code",
                           mw_status_name(e.code), "says", mw_status_text(e.code), "where", "",
                           "hint", "");
    return cli_print(args, object, code);
}

static const char *spelling_of(cli_option_id id)
{
    static const char *const spelling[OPT_COUNT] = {
#define OPTION(id, text, argument, commands, help) [OPT_##id] = text,
#include "cli/options.def"
#undef OPTION
    };
    return spelling[id];
}

mw_status cli_int(const cli_args *args, cli_option_id id, int64_t least, int64_t most, int64_t *ret)
{
    const char *text = args->value[id];
    if (!text) return MW_OK;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        return mw_error_set(MW_ERR_ARG, "%s %.60s: expected a whole number from %lld to %lld",
                            spelling_of(id), text, (long long)least, (long long)most);
    *ret = value;
    return MW_OK;
}

mw_status cli_float(const cli_args *args, cli_option_id id, double least, double most, double *ret)
{
    const char *text = args->value[id];
    if (!text) return MW_OK;
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < least || value > most)
        return mw_error_set(MW_ERR_ARG, "%s %.60s: expected a number from %g to %g",
                            spelling_of(id), text, least, most);
    *ret = value;
    return MW_OK;
}

int cli_flush(void)
{
    errno = 0;
    if (!ferror(stdout) && fflush(stdout) == 0) return 0;
    (void)fprintf(stderr, "meshwise: standard output could not be written: %s\n",
                  errno ? strerror(errno) : "an earlier write failed");
    return EXIT_FILE;
}

int cli_print(const cli_args *args, json_t *object, int code)
{
    if (!object) {
        (void)fprintf(stderr, "meshwise: the result could not be written as JSON: out of memory\n");
        if (args->json)
            (void)puts("{\"schema\":1,\"error\":{\"code\":\"ERR_NOMEM\",\"says\":\"the result "
                       "could not be written "
                       "as JSON: out of memory\",\"where\":\"\",\"hint\":\"\"}}");
        return mw_status_exit(MW_ERR_NOMEM);
    }
    bool whole = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0;
    json_decref(object);
    (void)putchar('\n');
    int failed = cli_flush();
    if (!failed && !whole) failed = mw_status_exit(MW_ERR_NOMEM);
    return failed ? failed : code;
}

static mw_status read_stream(FILE *in, const char *path, char **ret, int64_t *ret_length)
{
    enum { STEP = 1 << 16 };
    size_t cap = STEP, length = 0;
    char *text = mw_memory(cap + 1);
    while (text) {
        length += fread(text + length, 1, cap - length, in);
        if (length < cap) break;
        char *grown = mw_memory(cap * 2 + 1);
        if (grown) memcpy(grown, text, length);
        mw_memory_free(text, cap + 1);
        text = grown;
        cap *= 2;
    }
    if (!text) return mw_last_error()->code;
    if (ferror(in)) {
        mw_memory_free(text, cap + 1);
        return mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    }
    char *exact = mw_memory(length + 1);
    if (exact) memcpy(exact, text, length);
    mw_memory_free(text, cap + 1);
    if (!exact) return mw_last_error()->code;
    *ret = exact;
    *ret_length = (int64_t)length;
    return MW_OK;
}

mw_status cli_read_file(const char *path, char **ret, int64_t *ret_length)
{
    if (strcmp(path, "-") == 0) return read_stream(stdin, "standard input", ret, ret_length);
    FILE *in = fopen(path, "rb");
    if (!in) return mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    mw_status status = read_stream(in, path, ret, ret_length);
    (void)fclose(in);
    return status;
}
