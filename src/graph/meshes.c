/* Pass `meshes`: one mesh for the whole program, the first that it states: layouts on the others,
 * which are over the same ranks, are said on it (mesh/translate.c). */
#include "graph/passes.h"

mw_status mw__pass_meshes(mw_graph *graph)
{
    if (graph->nmesh < 2) return MW_OK;
    mw_mesh *main = graph->mesh[0];
    for (int64_t i = 0; i < graph->nvalue; i++) {
        mw_ssa *v = graph->value[i];
        if (!v || v->mesh == main) continue;
        mw_layout layout;
        MW_TRY(mw__layout_to_mesh(v->mesh, &v->layout, main, &layout));
        v->layout = layout;
        v->mesh = main;
    }
    graph->nmesh = 1;
    return MW_OK;
}
