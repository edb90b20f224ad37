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

/* A rule that names nothing is a slip of the pen, or of another model. */
static void note_idle_rules(graph_state *g, const mw_graph *graph)
{
    const char *path = g->s.args->value[OPT_plan];
    int n = mw_graph_parameters(graph), line, idle = 0;
    for (int r = 0; path && r < model_plan_rules(g->s.plan); r++) {
        char text[300];
        const char *glob = model_plan_glob(g->s.plan, r, &line);
        bool matches = false;
        for (int i = 0; i < n && !matches; i++)
            matches = model_plan_matches(g->s.plan, r, mw_graph_parameter(graph, i).name);
        if (matches || ++idle > 5) continue;
        (void)snprintf(text, sizeof text, "%.100s:%d: no tensor is called %.100s", path, line,
                       glob);
        session_note(&g->s, text);
    }
}

/* Why the bytes of a sum are twice those of its dtype. */
static void note_wide_sums(graph_state *g, const mw_graph *graph)
{
    for (const mw_node *n = NULL; (n = mw_graph_next(graph, n));) {
        if (mw_node_line(n).recv_bytes_total == 0) continue;
        const mw_layout *l = mw_node_operand(n, 0).layout;
        bool half = l->dtype == MW_DTYPE_bf16 || l->dtype == MW_DTYPE_f16;
        if (!half || !l->npartial) continue;
        session_note(&g->s,
                     "terms of a sum in bf16 or f16 are kept, and travel, as f32: 4 bytes an "
                     "element, rounded once at the end");
        return;
    }
}

static void keep_pass(void *user, mw_graph *graph, const char *name, double seconds)
{
    graph_state *g = user;
    if (g->npass < GRAPH_PASSES)
        g->pass[g->npass++] = (graph_pass){name, seconds, mw_graph_nodes(graph)};
}

static mw_status run_passes(graph_state *g, mw_graph *graph)
{
    g->printed = g->s.args->value[OPT_print_after] != NULL;
    return cli_passes(graph, g->s.args, keep_pass, g);
}

static mw_status capture_file(graph_state *g, llama *model, mw_graph **ret)
{
    char ids[64];
    (void)snprintf(ids, sizeof ids, "i64[%lld]", (long long)g->prompt);
    const char *in[] = {ids, ids};
    return mw_capture("next", llama_next_function, model, NULL, in, 2, 1, ret);
}

static mw_status capture_config(graph_state *g, decoder *model, mw_graph **ret)
{
    char position[64];
    (void)snprintf(position, sizeof position, "i64[%lld]", (long long)g->prompt);
    const char *in[] = {g->step.ids, position};
    return mw_capture("step", decoder_function, model, NULL, in, 2, decoder_results(&g->decoder),
                      ret);
}

/* What is told of the program is made while it is there. */
static mw_status tell(graph_state *g, mw_graph *graph)
{
    const char *const *value = g->s.args->value;
    mw_status status = graph_groups_make(g, graph);
    if (status != MW_OK) return status;
    g->object = value[OPT_to] ? graph_export(g, graph, value[OPT_to]) : graph_object(g, graph);
    if (!g->object) return mw_error_set(MW_ERR_NOMEM, "out of memory");
    if (value[OPT_dot]) status = graph_draw_dot(g, graph, value[OPT_dot]);
    if (status == MW_OK && value[OPT_html]) status = graph_draw_html(g, graph, value[OPT_html]);
    return status;
}

static mw_status program(void *user)
{
    graph_state *g = user;
    llama *file = NULL;
    decoder *config = NULL;
    mw_graph *graph = NULL;
    mw_status status = g->is_config ? decoder_open(&g->decoder, g->s.plan, &g->step, &config)
                                    : session_load(&g->s, g->s.config.context, &file);
    double began = session_now();
    if (status == MW_OK)
        status = g->is_config ? capture_config(g, config, &graph) : capture_file(g, file, &graph);
    if (status == MW_OK) {
        g->captured = (int)mw_graph_nodes(graph);
        note_idle_rules(g, graph);
        if (g->open_rest) open_rest(g, graph);
        status = run_passes(g, graph);
        g->seconds = session_now() - began;
    }
    if (status == MW_OK) note_wide_sums(g, graph);
    if (status == MW_OK && !g->printed) status = tell(g, graph);
    mw_graph_free(graph);
    decoder_close(config);
    llama_close(file);
    return status;
}

/* A model file begins with its own letters; what does not, and is called .json or begins as JSON,
 * is a config. */
static bool is_config(const char *path)
{
    unsigned char begin[64] = {0};
    size_t length = strlen(path), n = 0, at = 0;
    bool named = length > 5 && strcmp(path + length - 5, ".json") == 0;
    FILE *in = fopen(path, "rb");
    if (in) n = fread(begin, 1, sizeof begin - 1, in);
    if (in) (void)fclose(in);
    while (at < n && strchr(" \t\r\n", begin[at]))
        at++;
    return strncmp((const char *)begin, "GGUF", 4) != 0 && (named || begin[at] == '{');
}

static int open_config(const cli_args *args, graph_state *g)
{
    g->s = (session){.args = args, .started = session_now()};
    if (graph_config_open(g) == MW_OK) return -1;
    int code = cli_report(args);
    session_close(&g->s);
    return code;
}

static int open_file(const cli_args *args, graph_state *g)
{
    int code = session_open(args, g->path, &g->s);
    if (code >= 0) return code;
    mw_status status = MW_OK;
    if (g->prompt > g->s.config.context)
        status = mw_error_set(MW_ERR_ARG, "--prompt-length %lld: the context has %lld",
                              (long long)g->prompt, (long long)g->s.config.context);
    else if (args->value[OPT_batch] || args->value[OPT_context])
        status = mw_error_set(MW_ERR_ARG,
                              "%s is for a config.json: a model file has one sequence, "
                              "and its own context",
                              args->value[OPT_batch] ? "--batch" : "--context");
    if (status == MW_OK) return -1;
    code = cli_report(args);
    session_close(&g->s);
    return code;
}

static int print(const cli_args *args, graph_state *g)
{
    int code = 0;
    if (g->printed) return cli_flush();
    if (args->json) return cli_print(args, json_incref(g->object), 0);
    if (args->value[OPT_to])
        code = graph_export_print(g->object);
    else
        graph_print(g);
    int flushed = cli_flush();
    return code ? code : flushed;
}

int cmd_graph(const cli_args *args)
{
    if (args->npositional != 1)
        return cli_usage(args, "graph takes one model, not %d", args->npositional);
    cli_args own = *args;
    own.value[OPT_backend] = "fake";
    own.world = NULL;
    graph_state *g = mw_memory(sizeof *g);
    if (!g) return cli_report(args);
    *g = (graph_state){.path = args->positional[0],
                       .batch = 1,
                       .prompt = 1,
                       .open_rest = args->value[OPT_plan] != NULL};
    mw_status status = cli_int(args, OPT_prompt_length, 1, 1 << 20, &g->prompt);
    if (status == MW_OK && args->value[OPT_to]) status = graph_export_check(args->value[OPT_to]);
    g->is_config = is_config(g->path);
    int code = status != MW_OK ? cli_report(args)
               : g->is_config  ? open_config(&own, g)
                               : open_file(&own, g);
    if (code < 0) {
        if (g->open_rest) model_plan_rest_whole(g->s.plan);
        status = mw_launch(&g->s.launch, program, g);
        code = status == MW_OK ? print(args, g) : cli_report(args);
        json_decref(g->object);
        graph_groups_free(g);
        session_close(&g->s);
    }
    mw_memory_free(g, sizeof *g);
    return code;
}
