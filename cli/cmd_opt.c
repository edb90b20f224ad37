/* meshwise opt: runs passes on a program's text and prints what they make of it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void print_passes(void)
{
    for (int i = 0; i < mw_pass_count(); i++)
        printf("%-12s %s\n", mw_pass_name(i), mw_pass_doc(i));
}

static mw_status print_graph(mw_graph *graph)
{
    const char *text = mw_graph_text(graph);
    if (!text) return mw_error_set(MW_ERR_NOMEM, "out of memory");
    (void)fputs(text, stdout);
    return MW_OK;
}

static int print_why(const cli_args *args, mw_graph *graph)
{
    const char *says;
    if (mw_graph_why(graph, args->value[OPT_why], args->json, &says) != MW_OK)
        return cli_report(args);
    if (args->json)
        return cli_print(args,
                         json_pack("{s:i, s:s, s:o}", "schema", 1, "value", args->value[OPT_why],
                                   "why", json_loads(says, 0, NULL)),
                         0);
    (void)fputs(says, stdout);
    return cli_flush();
}

int cmd_opt(const cli_args *args)
{
    if (args->npositional == 0) {
        print_passes();
        return cli_flush();
    }
    char *text;
    int64_t length;
    mw_graph *graph = NULL;
    const char *after = args->value[OPT_print_after];
    mw_status status = cli_read_file(args->positional[0], &text, &length);
    if (status != MW_OK) return cli_report(args);
    status = mw_graph_parse(text, args->positional[0], args->value[OPT_mesh], &graph);
    mw_memory_free(text, (size_t)length + 1);
    if (status == MW_OK) status = mw_graph_check(graph);
    if (status == MW_OK && (args->value[OPT_passes] || after))
        status = cli_passes(graph, args, NULL, NULL);
    if (status == MW_OK && args->value[OPT_why]) {
        int code = print_why(args, graph);
        mw_graph_free(graph);
        return code;
    }
    if (status == MW_OK && args->json) {
        const char *out = mw_graph_text(graph);
        int code = out ? cli_print(args, json_pack("{s:i, s:s}", "schema", 1, "text", out), 0)
                       : cli_report(args);
        mw_graph_free(graph);
        return code;
    }
    if (status == MW_OK && !after) status = print_graph(graph);
    int code = status == MW_OK ? cli_flush() : cli_report(args);
    mw_graph_free(graph);
    return code;
}
