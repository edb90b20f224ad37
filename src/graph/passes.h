/* The passes by name. Each changes the graph and looks at nothing else (Pure); none leaves it half
 * changed but for lack of memory. What each does stands in its file. */
#ifndef GRAPH_PASSES_H
#define GRAPH_PASSES_H

#include "graph/graph.h"

#define PASS(name, doc) MW_NODISCARD mw_status mw__pass_##name(mw_graph *graph);
#include "graph/passes.def"
#undef PASS

#endif
