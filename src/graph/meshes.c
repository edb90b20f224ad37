/* Pass `meshes`: one mesh for the whole program, the first of those that it states on which all its
 * layouts can be said: those on the others, which are over the same ranks, are said on it
 * (mesh/translate.c). */
#include "graph/passes.h"

/* Says all layouts on `main`; with `keep` the values have them from then on. */
static mw_status say_all(mw_graph *graph, mw_mesh *main, bool keep)
{
    for (int64_t i = 0; i < graph->nvalue; i++) {
        mw_ssa *v = graph->value[i];
        if (!v || v->mesh == main) continue;
        mw_layout layout;
        MW_TRY(mw__layout_to_mesh(v->mesh, &v->layout, main, &layout));
        if (!keep) continue;
        v->layout = layout;
        v->mesh = main;
    }
    return MW_OK;
}

mw_status mw__pass_meshes(mw_graph *graph)
{
    if (graph->nmesh < 2) return MW_OK;
    mw_error first = {.code = MW_OK};
    for (int i = 0; i < graph->nmesh; i++) {
        mw_mesh *main = graph->mesh[i];
        mw_status status = say_all(graph, main, false);
        if (status == MW_OK) {
            MW_TRY(say_all(graph, main, true));
            graph->mesh[0] = main;
            graph->mesh_name[0] = graph->mesh_name[i];
            graph->nmesh = 1;
            return MW_OK;
        }
        if (status != MW_ERR_LAYOUT) return status;
        if (i == 0) first = *mw_last_error();
        mw_error_clear();
    }
    mw__ctx_get()->error = first;
    return first.code;
}
