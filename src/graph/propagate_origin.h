/* propagate_origin: why an axis lies where it lies, told from the value back to the annotation. */
#ifndef GRAPH_PROPAGATE_ORIGIN_H
#define GRAPH_PROPAGATE_ORIGIN_H

#include "graph/graph.h"

/* Appends, for each dim of the value that (a part of) the axis cuts, the chain as a sentence:
 *
 *     %h dim 1 on tp: from %u dim 1 along i1 of silu; from %w dim 0 along n of linear; %w is
 * annotated (argument)
 *
 * "%h: nothing on tp" where there is none. Pure. */
void mw__origin_str(const mw_graph *graph, const mw_ssa *value, int axis, mw_str *to);

/* The same of all axes, as a JSON list: {"axis", "dim", "chain": [{"from", "dim", "op", "factor"},
 * ...], "annotation"}. Pure. */
void mw__origin_json(const mw_graph *graph, const mw_ssa *value, mw_str *to);

#endif
