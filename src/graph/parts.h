/* parts: the small program that an op names where a `^` letter of it is split, as nodes. */
#ifndef GRAPH_PARTS_H
#define GRAPH_PARTS_H

#include "graph/graph.h"

/* Adds the parts of a call before `at`, operands lying as `in` do: its ops, each natural, and a
 * `redistribute` wherever something has to be brought together. ret_out[nout]: its results, whose
 * layouts are decided. */
MW_NODISCARD mw_status mw__parts_record(mw_graph *graph, mw_node *at, const mw_call_args *call,
                                        mw_ssa *const *in, int nout, mw_ssa **ret_out);

/* A reason of the chooser's, "operand 1" in it being the node's operand by name. */
void mw__why_named(const mw_node *node, const char *why, mw_str *to);

#endif
