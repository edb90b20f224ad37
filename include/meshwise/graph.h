/* Programs as values: read from text or captured from a C function, worked on by passes, run.
 *
 *     mw_graph *g;
 *     mw_status status = mw_graph_parse(text, "mlp.mw", NULL, &g);
 *     if (status == MW_OK) status = mw_graph_pass(g, "propagate");
 *     if (status == MW_OK) puts(mw_graph_text(g));
 *
 * Within a launch (tensor.h) a function of tensors runs as a program:
 *
 *     mw_status net(void *user, mw_tensor *const *in, mw_tensor **out);
 *
 *     mw_compiled *c;
 *     mw_status status = mw_compile("net", net, &weights, 1, 1, &c);
 *     if (status == MW_OK) status = mw_compiled_freeze(c);       where weights never change
 *     if (status == MW_OK) status = mw_compiled_call(c, &x, &y); as often as needed
 *     mw_compiled_free(c);
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

/* ---- passes. Pure: they change the graph, and look at nothing else -----------------------------
 */
MW_API int mw_pass_count(void);
MW_API const char *mw_pass_name(int index); /* in the order in which they make sense */
MW_API const char *mw_pass_doc(int index);

/* Runs one pass, or "all" in order. Fails: MW_ERR_ARG for an unknown name, with the nearest;
 * MW_ERR_LAYOUT where an annotation can't be kept. */
MW_API MW_NODISCARD mw_status mw_graph_pass(mw_graph *graph, const char *name);

/* Checks what every graph keeps (values defined before use, types as the rules give them, legal
 * layouts). Fails: MW_ERR_INTERNAL, naming the line. Pure. */
MW_API MW_NODISCARD mw_status mw_graph_check(const mw_graph *graph);

/* ---- looking. Pure; texts are borrowed until the graph changes ----------------------------------
 */

/* A parameter: of the function, or (bound) a tensor from outside that it uses. */
typedef struct mw_parameter {
    const char *name;
    const mw_layout *layout;
    mw_mesh *mesh;
    int bound;
    int stated; /* it lies so because it was written so; else propagation has chosen */
} mw_parameter;
MW_API int mw_graph_parameters(const mw_graph *graph);
MW_API mw_parameter mw_graph_parameter(const mw_graph *graph, int index);

/* Takes back what is stated of a parameter: all its dims are propagation's to decide. */
MW_API void mw_graph_open_parameter(mw_graph *graph, int index);

/* A movement of the program, in order of the program. Bytes are those of one run. */
typedef struct mw_move {
    const char *value; /* what moves */
    const char *kind;  /* "all_reduce" */
    char axes[64];     /* "tp" */
    const mw_layout *from, *to;
    mw_mesh *mesh;
    int64_t recv_bytes;       /* received by the rank that receives most */
    int64_t recv_bytes_total; /* by all ranks */
    int asked;
    const char *because; /* "" where nothing is known but that it was asked for */
    const char *chain;   /* scopes it stands in: "next/llama/block" */
    mw_site site;
} mw_move;

/* How many movements there are; the first `cap` of them into ret[]. */
MW_API int64_t mw_graph_moves(const mw_graph *graph, mw_move *ret, int64_t cap);

/* What could have been done instead of movement `index`: up to `cap` sentences with their bytes;
 * returns how many there are. */
typedef struct mw_other_way {
    const char *says;
    int64_t recv_bytes, recv_bytes_total, peak_bytes;
    double time_us;
} mw_other_way;
MW_API int mw_graph_other_ways(const mw_graph *graph, int64_t index, mw_other_way *ret, int cap);

MW_API int64_t mw_graph_nodes(const mw_graph *graph);

/* Why the value of that name lies where it lies: for each axis the chain from it to an annotation,
 * a sentence a line; or (`json`) as a list of objects. Borrowed until the next call, or until the
 * graph is changed or freed. Fails: MW_ERR_ARG for an unknown name, with the nearest. Pure. */
MW_API MW_NODISCARD mw_status mw_graph_why(mw_graph *graph, const char *value, int json,
                                           const char **ret);

/* A line of the program: one after another with mw_graph_next(graph, NULL), ... up to NULL. */
typedef struct mw_node mw_node;
typedef struct mw_graph_line {
    const char *kind; /* "parameter", "constant", "op", "mark" or "movement" */
    const char *name; /* of the op ("mm") or the movement ("all_reduce"); "" else */
    int nin, nout;
    int64_t recv_bytes, recv_bytes_total; /* of a movement, as mw_move has them */
    int asked;
    const char *because, *chain;
    mw_site site;
} mw_graph_line;
typedef struct mw_graph_value {
    int64_t id; /* the same for what makes it and what uses it; below the number of values */
    const char *name;
    const mw_layout *layout;
    mw_mesh *mesh;
} mw_graph_value;
MW_API const mw_node *mw_graph_next(const mw_graph *graph, const mw_node *node);
MW_API mw_graph_line mw_node_line(const mw_node *node);
MW_API mw_parameter mw_node_parameter(const mw_node *node); /* of a line of that kind */
MW_API mw_graph_value mw_node_operand(const mw_node *node, int index);
MW_API mw_graph_value mw_node_result(const mw_node *node, int index);

MW_API mw_graph_value mw_graph_result(const mw_graph *graph, int index); /* as it is now */

/* The most bytes that `rank` holds at once of values that the program itself makes (parameters
 * aside), if each goes when nobody needs it any more. Fails: MW_ERR_NOMEM. */
MW_API MW_NODISCARD mw_status mw_graph_peak_bytes(const mw_graph *graph, int rank, int64_t *ret);

/* ---- running -----------------------------------------------------------------------------------
 * Runs the program op by op, as the same calls in C would: op by op, what an op gives brought to
 * the layout that its line states. `input` are its parameters in order. Results, as many as the
 * program returns, belong to the current scope. Collective. Fails: MW_ERR_ARG where the number of
 * inputs, their dtypes or shapes are not those of the program; what its ops fail with. */
MW_API int mw_graph_inputs(const mw_graph *graph);
MW_API int mw_graph_results(const mw_graph *graph);
MW_API const char *mw_graph_result_name(const mw_graph *graph, int index); /* borrowed */
MW_API MW_NODISCARD mw_status mw_graph_run(const mw_graph *graph, mw_tensor *const *input,
                                           int ninput, mw_tensor **ret);

/* The same with every tensor whole on every rank: layouts and marks are passed over. What the
 * program means, whatever the mesh. */
MW_API MW_NODISCARD mw_status mw_graph_run_whole(const mw_graph *graph, mw_tensor *const *input,
                                                 int ninput, mw_tensor **ret);

/* ---- capturing ---------------------------------------------------------------------------------
 * A function of tensors, written against the same ops as any program: results into out[], as many
 * as the caller asks for. Called once with tensors that have shapes and no data, it is taken down:
 * control flow over what is known then unrolls; asking for values is an error that names who asks.
 * mark_sharding is taken down as what it is: from there on the handle lies as it says. */
typedef mw_status (*mw_function)(void *user, mw_tensor *const *in, mw_tensor **out);

/* Takes down `f`, called with `nin` tensors of the layouts in[] (text, with dtype and sizes; `?` a
 * dim that propagation may decide) on `mesh` (NULL: the launch's). Tensors from outside that it
 * uses become parameters that know their tensor. The caller frees the graph, within the launch.
 * Fails: what `f` fails with; MW_ERR_ARG where it asks for values. Local, but for marks on tensors
 * from outside, which are re-placed at once. */
MW_API MW_NODISCARD mw_status mw_capture_at(mw_site site, const char *name, mw_function f,
                                            void *user, mw_mesh *mesh, const char *const *in,
                                            int nin, int nout, mw_graph **ret);
#define mw_capture(...) mw_capture_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* ---- compiling ---------------------------------------------------------------------------------
 * A function that runs as a program: captured when it is first called, put through the passes, laid
 * out in one arena, and run from then on without capturing, choosing or allocating. It is compiled
 * again when an input, or a tensor from outside, has another type than before: that is always
 * checked. The function itself, and what `user` points to, are looked at while it is captured, not
 * again: another tensor in the place of one from outside is given as an input, or to a new
 * mw_compiled. Every rank compiles for itself; before a new program's first movement the ranks make
 * sure that it is the same. */
typedef struct mw_compiled mw_compiled;

/* `nin` inputs, `nout` results. Nothing is captured yet. The caller frees it, within the launch. */
MW_API MW_NODISCARD mw_status mw_compile(const char *name, mw_function f, void *user, int nin,
                                         int nout, mw_compiled **ret);
MW_API void mw_compiled_free(mw_compiled *compiled); /* NULL is fine */

/* From now on tensors from outside that the function reads and does not write are frozen: they keep
 * their values for as long as it lives, and ops that would write into them fail with MW_ERR_ARG
 * (through mw_local_data and mw_to_local they must not be written either). What follows from their
 * values is then made once: a weight matrix whose values have an exact form in fewer bytes (4 or 8
 * bits a value in blocks, bf16, f16) is read in that form where there are few rows. Results have
 * the same bits. Before the first call; MW_ERR_ARG later. Local. */
MW_API MW_NODISCARD mw_status mw_compiled_freeze(mw_compiled *compiled);

/* Calls it: `nout` results, tensors of the current scope whose values stay what they are.
 * Fails: what capturing and running fail with; MW_ERR_COMM on every rank where ranks have compiled
 * different programs. Collective. */
MW_API MW_NODISCARD mw_status mw_compiled_call_at(mw_site site, mw_compiled *compiled,
                                                  mw_tensor *const *in, mw_tensor **out);
#define mw_compiled_call(...) mw_compiled_call_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* Compiles it for inputs such as these, if it isn't yet, and runs nothing: so that a first call
 * that must be quick is. Fails and is collective as the call. */
MW_API MW_NODISCARD mw_status mw_compiled_prepare_at(mw_site site, mw_compiled *compiled,
                                                     mw_tensor *const *in);
#define mw_compiled_prepare(...) mw_compiled_prepare_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

typedef struct mw_compiled_facts {
    int compilations;     /* so far */
    const char *why;      /* what made the last one necessary: "input 0 was f32[4], is f32[5]" */
    double seconds;       /* that the last one took */
    int nodes, steps;     /* of the program; what of it takes a step when it runs */
    int halves;           /* movements between whose begin and end other steps run */
    int fused;            /* element-wise ops that run in one loop with others */
    int64_t arena_bytes;  /* of this rank: all that its own values ever need at once */
    int64_t frozen_bytes; /* of this rank: what was made of frozen tensors */
} mw_compiled_facts;
MW_API mw_compiled_facts mw_compiled_facts_get(const mw_compiled *compiled); /* Local */
MW_API mw_graph *
mw_compiled_graph(const mw_compiled *compiled); /* of the last; borrowed, or NULL */

#ifdef __cplusplus
}
#endif
#endif
