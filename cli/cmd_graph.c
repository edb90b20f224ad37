/* meshwise graph: the program of a model on a mesh: how everything lies, what moves and why, how
 * much memory it takes. Nothing is loaded and nothing runs. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

static void open_rest(const graph_state *g, mw_graph *graph)
{
    for (int i = 0; i < mw_graph_parameters(graph); i++)
        if (!model_plan_has(g->s.plan, mw_graph_parameter(graph, i).name))
            mw_graph_open_parameter(graph, i);
}

static bool named(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n) {
        bool begins = at == list || strchr(", ", at[-1]);
        if (begins && (!at[n] || strchr(", ", at[n]))) return true;
    }
    return false;
}

static mw_status run_passes(graph_state *g, mw_graph *graph)
{
    const char *only = g->s.args->value[OPT_passes], *after = g->s.args->value[OPT_print_after];
    bool known = !after;
    for (int i = 0; i < mw_pass_count() && !known; i++)
        known = strcmp(after, mw_pass_name(i)) == 0;
    if (!known && strcmp(after, "capture") != 0)
        return mw_error_set(MW_ERR_ARG,
                            "--print-after %.40s: no such pass (meshwise opt lists them)", after);
    for (int i = 0; i < mw_pass_count(); i++) {
        if (after && strcmp(after, "capture") == 0 && i == 0) {
            (void)fputs(mw_graph_text(graph), stdout);
            g->printed = true;
        }
        if (only && strcmp(only, "all") != 0 && !named(only, mw_pass_name(i))) continue;
        double began = session_now();
        mw_status status = mw_graph_pass(graph, mw_pass_name(i));
        if (status != MW_OK) return status;
        if (g->npass < GRAPH_PASSES)
            g->pass[g->npass++] =
                (graph_pass){mw_pass_name(i), session_now() - began, mw_graph_nodes(graph)};
        if (after && strcmp(after, mw_pass_name(i)) == 0) {
            (void)fputs(mw_graph_text(graph), stdout);
            g->printed = true;
        }
    }
    return MW_OK;
}

static mw_status capture(graph_state *g, llama *model, mw_graph **ret)
{
    char ids[64];
    (void)snprintf(ids, sizeof ids, "i64[%lld]", (long long)g->prompt);
    const char *in[] = {ids, ids};
    return mw_capture("next", llama_next_function, model, NULL, in, 2, 1, ret);
}

static mw_status program(void *user)
{
    graph_state *g = user;
    llama *model;
    mw_graph *graph = NULL;
    mw_status status = session_load(&g->s, g->s.config.context, &model);
    if (status != MW_OK) return status;
    double began = session_now();
    status = capture(g, model, &graph);
    if (status == MW_OK) {
        g->captured = (int)mw_graph_nodes(graph);
        if (g->open_rest) open_rest(g, graph);
        status = run_passes(g, graph);
        g->seconds = session_now() - began;
    }
    if (status == MW_OK && !g->printed) {
        const char *to = g->s.args->value[OPT_to];
        g->object = to ? graph_export(g, graph, to) : graph_object(g, graph);
        if (!g->object) status = mw_error_set(MW_ERR_NOMEM, "out of memory");
    }
    mw_graph_free(graph);
    llama_close(model);
    return status;
}

int cmd_graph(const cli_args *args)
{
    if (args->npositional != 1)
        return cli_usage(args, "graph takes one model, not %d", args->npositional);
    graph_state g = {.prompt = 1, .open_rest = args->value[OPT_plan] != NULL};
    if (cli_int(args, OPT_prompt_length, 1, 1 << 20, &g.prompt) != MW_OK) return cli_report(args);
    if (args->value[OPT_to] && graph_export_check(args->value[OPT_to]) != MW_OK)
        return cli_report(args);
    cli_args own = *args;
    own.value[OPT_backend] = "fake";
    own.world = NULL;
    int code = session_open(&own, args->positional[0], &g.s);
    if (code >= 0) return code;
    if (g.open_rest) model_plan_rest_whole(g.s.plan);
    mw_status status = g.prompt <= g.s.config.context
                           ? mw_launch(&g.s.launch, program, &g)
                           : mw_error_set(MW_ERR_ARG, "--prompt-length %lld: the context has %lld",
                                          (long long)g.prompt, (long long)g.s.config.context);
    if (status != MW_OK)
        code = cli_report(args);
    else if (g.printed)
        code = cli_flush();
    else if (args->json)
        code = cli_print(args, json_incref(g.object), 0);
    else {
        if (args->value[OPT_to])
            graph_export_print(g.object);
        else
            graph_print(&g);
        code = cli_flush();
    }
    json_decref(g.object);
    session_close(&g.s);
    return code;
}
