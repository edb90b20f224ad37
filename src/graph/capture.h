/* capture: a C function taken down as a graph. */
#ifndef GRAPH_CAPTURE_H
#define GRAPH_CAPTURE_H

#include "graph/graph.h"
#include "run/run.h"

/* Calls `f` with `nin` tensors without data, of the layouts in[] on `mesh` (open dims: to be
 * decided), and takes down what it does. `given` are the tensors that it will be called with, or
 * NULL: which of them are one tensor, or share memory, counts then, and so does where it leaves
 * their handles and those from outside (graph->replaced). Tensors that it uses from outside become
 * bound inputs: the graph holds a reference to each until mw__capture_unbind. Results may be
 * inputs.
 * Fails: what `f` fails with; MW_ERR_ARG where it asks for values. Local, but for marks on tensors
 * from outside, which are re-placed at once. */
MW_NODISCARD mw_status mw__capture(mw_rank *rank, mw_site site, const char *name, mw_function f,
                                   void *user, mw_mesh *mesh, const mw_layout *in, int nin,
                                   int nout, mw_tensor *const *given, mw_graph **ret);
void mw__capture_unbind(mw_rank *rank, mw_graph *graph);

#endif
