/* Fuzz target: any bytes as a program's text. What parses must hold together and print to what
 * parses to the same text; small programs must survive every pass, and hold together after each. */
#include "graph/graph.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool held)
{
    if (!held) abort();
}

static char *print(mw_graph *graph)
{
    const char *text = mw_graph_text(graph);
    demand(text != NULL);
    size_t length = strlen(text) + 1;
    char *copy = malloc(length);
    demand(copy != NULL);
    memcpy(copy, text, length);
    return copy;
}

/* Passes are run where meshes and programs are small enough to be quick. */
static void run_passes(mw_graph *graph)
{
    if (graph->nnode > 12 || !graph->nmesh || graph->mesh[0]->nrank > 16) return;
    for (int64_t i = 0; i < graph->nvalue; i++)
        if (mw__layout_count(&graph->value[i]->layout) > 4096) return;
    for (int i = 0; i < mw_pass_count(); i++) {
        if (mw_graph_pass(graph, mw_pass_name(i)) != MW_OK) {
            demand(mw_last_error()->code != MW_ERR_INTERNAL);
            return;
        }
        demand(mw_graph_check(graph) == MW_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mw_graph *graph = NULL, *again = NULL;
    char *text = malloc(size + 1);
    demand(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (mw_graph_parse(text, "fuzz.mw", NULL, &graph) == MW_OK) {
        demand(mw_graph_check(graph) == MW_OK);
        char *first = print(graph);
        demand(mw_graph_parse(first, "fuzz.mw", NULL, &again) == MW_OK);
        char *second = print(again);
        demand(strcmp(first, second) == 0);
        run_passes(again);
        free(first);
        free(second);
        mw_graph_free(again);
        mw_graph_free(graph);
    }
    free(text);
    return 0;
}
