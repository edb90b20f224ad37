/* Programs as values: read from text or captured from a C function, worked on by passes, run.
 *
 *     mw_graph *g;
 *     MW_TRY(mw_graph_parse(text, "mlp.mw", NULL, &g));
 *     MW_TRY(mw_graph_pass(g, "propagate"));
 *     puts(mw_graph_text(g));
 *
 * docs/ir.md has the grammar of the text. A graph belongs to one thread at a time.
 */
#ifndef MESHWISE_GRAPH_H
#define MESHWISE_GRAPH_H

#include <meshwise/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_graph mw_graph;

/* Reads a program. `file` (may be NULL) names it in errors and events; `mesh` (may be NULL) is the
 * text of the mesh it runs on: it takes the place of the first mesh that the text states.
 * Fails: MW_ERR_PARSE with line, column and caret; MW_ERR_ARG for an unknown op, with the nearest
 * name; MW_ERR_SHAPE where types disagree. The caller owns the result. Local. */
MW_API MW_NODISCARD mw_status mw_graph_parse(const char *text, const char *file, const char *mesh,
                                             mw_graph **ret);
MW_API void mw_graph_free(mw_graph *graph); /* NULL is fine */

/* The text that mw_graph_parse reads; borrowed until the graph is changed, printed again or freed.
 * NULL without memory. Local. */
MW_API const char *mw_graph_text(mw_graph *graph);
MW_API mw_mesh *mw_graph_mesh(const mw_graph *graph); /* its first; borrowed; NULL: none. Local */

/* ---- passes. Pure: they change the graph, and look at nothing else ----------------------------- */
MW_API int mw_pass_count(void);
MW_API const char *mw_pass_name(int index); /* in the order in which they make sense */
MW_API const char *mw_pass_doc(int index);

/* Runs one pass, or "all" in order. Fails: MW_ERR_ARG for an unknown name, with the nearest;
 * MW_ERR_LAYOUT where an annotation can't be kept. */
MW_API MW_NODISCARD mw_status mw_graph_pass(mw_graph *graph, const char *name);

/* Checks what every graph keeps (values defined before use, types as the rules give them, legal
 * layouts). Fails: MW_ERR_INTERNAL, naming the line. Pure. */
MW_API MW_NODISCARD mw_status mw_graph_check(const mw_graph *graph);

/* ---- running -----------------------------------------------------------------------------------
 * Runs the program op by op, as the same calls in C would: op by op, what an op gives brought to the
 * layout that its line states. `input` are its parameters in order. Results, as many as the program
 * returns, belong to the current scope. Collective.
 * Fails: MW_ERR_ARG where the number of inputs, their dtypes or shapes are not those of the
 * program; what its ops fail with. */
MW_API int mw_graph_inputs(const mw_graph *graph);
MW_API int mw_graph_results(const mw_graph *graph);
MW_API const char *mw_graph_result_name(const mw_graph *graph, int index); /* borrowed */
MW_API MW_NODISCARD mw_status mw_graph_run(const mw_graph *graph, mw_tensor *const *input,
                                           int ninput, mw_tensor **ret);

/* The same with every tensor whole on every rank: layouts and marks are passed over. What the
 * program means, whatever the mesh. */
MW_API MW_NODISCARD mw_status mw_graph_run_whole(const mw_graph *graph, mw_tensor *const *input,
                                                 int ninput, mw_tensor **ret);

#ifdef __cplusplus
}
#endif
#endif
