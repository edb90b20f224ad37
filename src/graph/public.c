/* The public interface of graphs: meshwise/graph.h. */
#include "graph/capture.h"
#include "graph/passes.h"
#include "run/run.h"

mw_status mw_graph_parse(const char *text, const char *file, const char *mesh, mw_graph **ret)
{
    mw_mesh *read = NULL, *lasting = NULL;
    if (mesh) {
        MW_TRY(mw_mesh_parse(mesh, &read));
        mw_status status = mw__mesh_intern(read, &lasting);
        mw_mesh_unref(read);
        MW_TRY(status);
    }
    return mw__graph_parse(text, file, lasting, ret);
}

void mw_graph_free(mw_graph *graph)
{
    mw_rank *rank = mw__ctx_get()->rank;
    if (graph && rank) mw__capture_unbind(rank, graph);
    mw__graph_free(graph);
}

const char *mw_graph_text(mw_graph *graph)
{
    mw__str_clear(&graph->text);
    mw__graph_print(graph, &graph->text);
    return graph->text.failed ? NULL : mw__str_text(&graph->text);
}

mw_mesh *mw_graph_mesh(const mw_graph *graph)
{
    return graph->nmesh ? graph->mesh[0] : NULL;
}

int mw_graph_inputs(const mw_graph *graph)
{
    int n = 0;
    for (const mw_node *k = graph->first; k && k->kind == MW_NODE_INPUT; k = k->next)
        n += !k->bound;
    return n;
}

int mw_graph_results(const mw_graph *graph)
{
    return graph->nresult;
}

const char *mw_graph_result_name(const mw_graph *graph, int index)
{
    return graph->result_name[index];
}

mw_status mw_graph_check(const mw_graph *graph)
{
    return mw__graph_verify(graph);
}

/* ---- passes -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *doc;
    mw_status (*run)(mw_graph *graph);
} passes[] = {
#define PASS(name, doc) {#name, doc, mw__pass_##name},
#include "graph/passes.def"
#undef PASS
};

int mw_pass_count(void)
{
    return MW_COUNT(passes);
}

const char *mw_pass_name(int index)
{
    return passes[index].name;
}

const char *mw_pass_doc(int index)
{
    return passes[index].doc;
}

static mw_status run_pass(mw_graph *graph, int index)
{
    MW_TRY(passes[index].run(graph));
    mw__graph_mutated(graph);
#ifdef MW_SLOW_CHECKS
    MW_TRY(mw__graph_verify(graph));
#endif
    return MW_OK;
}

mw_status mw_graph_pass(mw_graph *graph, const char *name)
{
    const char *names[MW_COUNT(passes)];
    bool all = strcmp(name, "all") == 0;
    for (int i = 0; i < MW_COUNT(passes); i++) {
        names[i] = passes[i].name;
        if (!all && strcmp(name, passes[i].name) != 0) continue;
        MW_TRY(run_pass(graph, i));
        if (!all) return MW_OK;
    }
    if (all) return MW_OK;
    mw_status status = MW_FAIL(MW_ERR_ARG, "no pass '%.60s'", name);
    const char *nearest = mw__nearest(name, names, MW_COUNT(names));
    if (nearest) mw__error_hint("did you mean %s?", nearest);
    return status;
}
