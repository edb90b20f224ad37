/* meshwise opt: runs passes on a program's text and prints what they make of it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void print_passes(void)
{
    for (int i = 0; i < mw_pass_count(); i++)
        printf("%-12s %s\n", mw_pass_name(i), mw_pass_doc(i));
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

/* ---- the program as an object -----------------------------------------------------------------
 */

static json_t *value_json(mw_graph_value v)
{
    char type[512];
    (void)mw_layout_print(v.mesh, v.layout, type, sizeof type);
    return json_pack("{s:s, s:s}", "name", v.name, "type", type);
}

static json_t *node_json(const mw_node *node)
{
    mw_graph_line line = mw_node_line(node);
    json_t *in = json_array(), *out = json_array();
    for (int i = 0; in && i < line.nin; i++)
        (void)json_array_append_new(in, json_string(mw_node_operand(node, i).name));
    for (int i = 0; out && i < line.nout; i++)
        (void)json_array_append_new(out, value_json(mw_node_result(node, i)));
    json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:s}", "kind", line.kind, "op", line.name,
                          "operands", in, "results", out, "because", line.because);
    if (o && line.site.line) (void)json_object_set_new(o, "line", json_integer(line.site.line));
    if (!o || strcmp(line.kind, "movement") != 0) return o;
    (void)json_object_set_new(o, "asked", json_boolean(line.asked));
    (void)json_object_set_new(o, "recv_bytes", json_integer(line.recv_bytes));
    (void)json_object_set_new(o, "recv_bytes_total", json_integer(line.recv_bytes_total));
    return o;
}

static json_t *graph_json(mw_graph *graph)
{
    const char *text = mw_graph_text(graph);
    json_t *nodes = json_array(), *results = json_array();
    for (const mw_node *n = NULL; nodes && (n = mw_graph_next(graph, n));)
        (void)json_array_append_new(nodes, node_json(n));
    for (int i = 0; results && i < mw_graph_results(graph); i++)
        (void)json_array_append_new(results, json_string(mw_graph_result(graph, i).name));
    return json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "text", text ? text : "", "nodes", nodes,
                     "results", results);
}

int cmd_opt(const cli_args *args)
{
    if (args->npositional == 0) {
        print_passes();
        return cli_flush();
    }
    if (args->npositional > 1) return cli_usage(args, "opt: expected one FILE");
    if (args->json && args->value[OPT_print_after])
        return cli_usage(args, "--print-after prints the program, --json one object: one of them");
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
        int code = cli_print(args, graph_json(graph), 0);
        mw_graph_free(graph);
        return code;
    }
    if (status == MW_OK && !after) status = cli_print_graph(graph);
    int code = status == MW_OK ? cli_flush() : cli_report(args);
    mw_graph_free(graph);
    return code;
}
