/* graph: programs as values. A program in SSA form over the ops of the table, its text form, what
 * captures it, and the passes that work on it.
 *
 *     text or a C function --parse, capture--> graph --passes.def--> graph --program--> runs
 *
 * A value's layout says how it lies, or, before the pass `reshard`, how it is wanted to lie; dims
 * with `open` are not decided. The text means the same at every stage: what an op gives is brought
 * to the layout that its line states. After `partition` nothing is left to bring: every movement is
 * a node of its own.
 *
 * Everything of a graph lies in its arena and dies with it. Passes are Pure: they look at the graph
 * alone; none communicates. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/lookup.h"
#include "mesh/mesh.h"
#include "ops/table.h"
#include "plan/plan.h"

#include <meshwise/graph.h>

typedef struct mw_node mw_node;
typedef struct mw_ssa mw_ssa;

/* ---- why an axis lies where it lies ------------------------------------------------------------
 * One link of a chain that ends at an annotation: the value got (part of) an axis on a dim through
 * a node, along a factor of its rule, from another value. */
typedef struct mw_origin {
    struct mw_origin *next; /* of the same value */
    int dim;                /* -1: partial over the axis */
    int16_t axis;
    int32_t major, size;
    const mw_ssa *from; /* NULL: the value's own annotation */
    const mw_node *via; /* NULL likewise */
    const char *factor; /* letter of the rule of `via`; "" likewise */
    const char
        *because; /* "mark_sharding", "argument", "result": what kind of annotation; else "" */
} mw_origin;

/* ---- values --------------------------------------------------------------------------------- */
struct mw_ssa {
    int id;           /* its place in graph->value */
    const char *name; /* "h"; unique in the graph */
    mw_node *def;
    int nth;          /* which result of def */
    mw_mesh *mesh;    /* one of graph->mesh */
    mw_layout layout; /* global shape and dtype; canonical; `open` dims are not decided */
    bool stated;      /* its text states a layout: an annotation, not something inferred */
    uint8_t priority[MW_MAX_DIMS]; /* of an annotation, by dim: 0 propagates first */
    mw_ssa *root;                  /* whose memory it is; set with `mutated` */
    int last;                      /* where it is used last; likewise */
    bool written;                  /* of a root: some node writes into its memory; likewise */
    bool mutated; /* it shares memory with what some node writes in place; a view, if that is while
                     it is needed */
    mw_origin *origin;
};

/* ---- nodes ---------------------------------------------------------------------------------- */
typedef enum mw_node_kind {
    MW_NODE_INPUT, /* a parameter: one result */
    MW_NODE_CONST, /* data that the program states */
    MW_NODE_OP,    /* an op of the table, on operands that lie anyhow */
    MW_NODE_MARK,  /* mark_sharding: from here on the handle lies as the result's layout says */
    MW_NODE_STEP   /* a movement: its operand brought to the result's layout in one step of a plan;
                      MW_STEP_COUNT as its kind: in as many as it takes (`redistribute`) */
} mw_node_kind;

/* What could have been done instead, with its price. */
typedef struct mw_alternative {
    const char *says; /* "gather %x whole" */
    int64_t recv_bytes, recv_bytes_total, peak_bytes;
    double time_us;
} mw_alternative;

/* Data of a constant. Made by a function of the element's index (`randn`), or stored. */
typedef enum mw_fill { MW_FILL_DATA, MW_FILL_RANDN, MW_FILL_RAND } mw_fill;

struct mw_node {
    mw_node *prev, *next; /* in program order */
    mw_node_kind kind;
    const mw_op *op;   /* OP */
    const mw_arg *arg; /* OP: [narg] in schema order; operands are counted in `in` */
    int narg;
    mw_ssa **in; /* [nin] */
    int nin;
    mw_ssa **out; /* [nout] */
    int nout;
    mw_meta *in_meta; /* [nin] of `in`, kept beside them for mw__node_call */

    mw_fill fill; /* CONST */
    uint64_t seed;
    const void *data; /* CONST: row-major, of the result's dtype; in the arena */

    mw_step_kind step;                    /* STEP */
    uint32_t axes;                        /* STEP: the mesh axes whose ranks talk */
    int dim, to_dim;                      /* STEP: -1 where it has none */
    int64_t recv_bytes, recv_bytes_total; /* STEP: of the rank that receives most; of all */
    bool own; /* MARK, STEP: the result has memory of its own whether or not anything moves, since
                 one could tell: somebody writes into the one while the other is used. Set with
                 `mutated` */
    int meanwhile; /* STEP: ops that run between its begin and the wait for it; after `schedule` */
    bool asked;    /* STEP: the user wrote where it lies */
    const char *because; /* why it is there; "" */
    const mw_alternative *alternative;
    int nalternative;

    mw_site site;      /* of the user's call; file NULL: none */
    const char *chain; /* "llama/block"; "" */
    void *bound; /* INPUT: what capture bound to it (a tensor of the rank); NULL: a parameter */
    int memory;  /* INPUT: of those with one number each may be written through another; 0: alone */
    int mark;    /* for passes: 0 between them */
};

/* ---- graphs --------------------------------------------------------------------------------- */
enum { MW_GRAPH_MESHES = 8 };

struct mw_graph {
    mw_arena arena;
    const char *name;               /* "main" */
    mw_mesh *mesh[MW_GRAPH_MESHES]; /* interned, or owned by the caller: outlive the graph */
    const char *mesh_name[MW_GRAPH_MESHES];
    int nmesh;
    mw_node *first, *last;
    mw_node *last_input; /* added last, among the INPUTs that all begin with; NULL: not known */
    mw_ssa **value;      /* [nvalue] by id; an erased value's place is NULL */
    int64_t nvalue, cap_value;
    mw_lookup by_name; /* graph.c's, in the arena: also what was renamed or erased since */
    mw_ssa **result;   /* [nresult] */
    const char *const *result_name; /* [nresult] as the program was written: passes may rename */
    int nresult;
    int *root;     /* [nresult] of what is captured: the id of the value whose memory each result
                      is, as the function wrote it; else NULL */
    bool *views;   /* [nresult] likewise: it is a view of an input */
    int *replaced; /* [nreplaced] whose handle a mark re-placed: the k-th parameter, or as -1 - k
                      the k-th tensor from outside. Their values then are the last of `result`, for
                      callers whose handles must follow */
    int nreplaced;
    int64_t nnode;
    bool placed; /* every value lies as its layout says: after `reshard` */
    mw_str text; /* what mw_graph_text has given out */
};

/* A graph without nodes; `name` is copied. Freed by mw__graph_free (NULL is fine). Local. */
MW_NODISCARD mw_status mw__graph_new(const char *name, mw_graph **ret);
void mw__graph_free(mw_graph *graph);

/* Adds a mesh under a name (NULL: the next free of m, m1, m2, ...), or finds the same one there.
 * MW_ERR_ARG where its ranks are not those of the meshes there, naming both. */
MW_NODISCARD mw_status mw__graph_add_mesh(mw_graph *graph, mw_mesh *mesh, const char *name,
                                          int *ret_index);

/* ---- building. Nodes go before `at` (NULL: to the end). Metas, layouts and names are worked out;
 * results are open in all dims. `name` (NULL: a number) is made unique. --------------------------
 */
MW_NODISCARD mw_status mw__graph_input(mw_graph *graph, mw_mesh *mesh, const mw_layout *layout,
                                       const char *name, mw_node **ret);
MW_NODISCARD mw_status mw__graph_const(mw_graph *graph, mw_node *at, mw_mesh *mesh,
                                       const mw_meta *meta, mw_fill fill, uint64_t seed,
                                       const void *data, const char *name, mw_node **ret);

/* An op call. `arg` as mw_bound's: in schema order, operands counted in `in`; everything is copied.
 * Fails with what the op's rule fails with. */
MW_NODISCARD mw_status mw__graph_op(mw_graph *graph, mw_node *at, const mw_op *op,
                                    const mw_arg *arg, int narg, mw_ssa *const *in, int nin,
                                    mw_node **ret);
MW_NODISCARD mw_status mw__graph_mark(mw_graph *graph, mw_node *at, mw_ssa *x, mw_mesh *mesh,
                                      const mw_layout *layout, mw_node **ret);
/* A movement to `to`. kind MW_STEP_COUNT: `redistribute`. Bytes are the caller's to fill. */
MW_NODISCARD mw_status mw__graph_step(mw_graph *graph, mw_node *at, mw_ssa *x, mw_mesh *mesh,
                                      const mw_layout *to, mw_step_kind kind, mw_node **ret);
MW_NODISCARD mw_status mw__graph_results(mw_graph *graph, mw_ssa *const *value, int n);
MW_NODISCARD mw_status mw__ssa_rename(mw_graph *graph, mw_ssa *value, const char *name);
MW_NODISCARD mw_status mw__graph_note(mw_graph *graph, const char **ret, const char *format, ...)
    MW_PRINTF(3, 4); /* text in the arena */

/* ---- looking. Pure -------------------------------------------------------------------------- */
mw_call_args mw__node_call(const mw_node *node); /* of an OP; borrowed from the node */
mw_meta mw__ssa_meta(const mw_ssa *value);
bool mw__node_writes(const mw_node *node); /* in place: its result is its first operand's memory */
bool mw__node_views(const mw_node *node);  /* its results share its first operand's memory */
int mw__ssa_uses(const mw_graph *graph, const mw_ssa *value); /* by nodes and as a result */

/* Whose wish the movement of a STEP or MARK is: the op (in `arena`, or static) and why; `because`
 * taken apart, so that it is told as op by op. Fails: MW_ERR_NOMEM. */
MW_NODISCARD mw_status mw__node_wish(const mw_node *node, mw_arena *arena, const char **ret_op,
                                     const char **ret_why);

/* ---- changing ------------------------------------------------------------------------------- */
/* Every use of `from` by nodes from `at` on (NULL: from the first) and, if `results`, as a result,
 * becomes `to`. */
void mw__graph_replace(mw_graph *graph, mw_ssa *from, mw_ssa *to, mw_node *at, bool results);
void mw__graph_erase(mw_graph *graph, mw_node *node);             /* its results have no uses */
void mw__graph_move(mw_graph *graph, mw_node *node, mw_node *at); /* before `at` */
/* Sets `mutated` and `root` of all values anew, after nodes were added. */
void mw__graph_mutated(mw_graph *graph);

/* ---- text ------------------------------------------------------------------------------------
 * docs/ir.md has the grammar. Printing and parsing are inverse. */
void mw__graph_print(const mw_graph *graph, mw_str *to);
void mw__node_print(const mw_graph *graph, const mw_node *node, mw_str *to); /* one line, no end */

/* Reads a text, as mw_graph_parse; `mesh` (may be NULL) is interned. MW_ERR_PARSE with line, column
 * and caret; MW_ERR_ARG for an unknown op, with the nearest name; MW_ERR_SHAPE where types
 * disagree. */
MW_NODISCARD mw_status mw__graph_parse(const char *text, const char *file, mw_mesh *mesh,
                                       mw_graph **ret);

/* The values, row-major, of a tensor of ints that constants and ops on them alone make; *ret_count
 * -1 where it is none. In the arena. Pure. */
MW_NODISCARD mw_status mw__fold_ints(const mw_ssa *value, mw_arena *arena, const int64_t **ret,
                                     int *ret_count);

/* Element `index` of what `fill` draws (RANDN, RAND): by seed and index alone. Pure. */
double mw__fill_at(mw_fill fill, uint64_t seed, int64_t index);

/* The data of a CONST, whole on every rank: a tensor of the current scope. Local. */
MW_NODISCARD mw_status mw__const_tensor(const mw_node *node, struct mw_tensor **ret);

/* ---- checking --------------------------------------------------------------------------------
 * What every graph keeps: values are defined before they are used, metas are those of the rules,
 * layouts are legal on their meshes; where `placed`: no op has to move anything. MW_ERR_INTERNAL
 * says which node. */
MW_NODISCARD mw_status mw__graph_verify(const mw_graph *graph);

#endif
