/* compile: texts that torch.compile logs, one file each part:
 *
 *     reader_compile.c   which line is what; graphs begin and end
 *     compile_event.c    graph breaks and recompilations
 *     compile_text.c     words of these texts: ids, tensors as annotated, calls
 *     compile_graph.c    statements into nodes, who uses what
 *     compile_call.c     calls of functional collectives
 *     compile_size.c     shapes that follow from others, ranks of a group, bytes
 *     compile_table.c    graphs printed as a table, their sizes
 *     compile_check.c    what moves more than it has to, what is not awaited
 *     compile_tell.c     the entry of a graph, and all that is told with it
 *     compile_move.c     the entry of a collective
 *     compile_place.c    redistributions of whole tensors in Dynamo's graphs
 *     compile_once.c     one movement, told at several stages and by several ranks
 *
 * A graph is kept while its lines come and told when it is over, as what follows a collective says
 * what became of its result. Sizes of groups are known from calls that state them. */
#ifndef LOG_COMPILE_H
#define LOG_COMPILE_H

#include "log/collective.h"
#include "log/explain.h"
#include "log/python.h"

enum { CP_DIMS = 8, CP_STREAMS = RANK_STREAMS, CP_GROUPS = 256, CP_NAME = 40 };

/* In the order in which one program goes through them. */
typedef enum cp_stage {
    CP_DYNAMO,
    CP_PRE_GRAD,
    CP_JOINT,
    CP_AOT,
    CP_POST_GRAD,
    CP_CODE,
    CP_STAGES
} cp_stage;

/* `"f32[8, 16][16, 1]cpu"`, `"DTensor(f32[8, 16], S(0))"`. */
typedef struct cp_shape {
    bool sized;
    char dtype[16];   /* "": not known */
    const char *text; /* of dtype and sizes, where a size is a symbol */
    int length;
    int bits, ndim; /* ndim -1: too many, or a size that is a symbol */
    int64_t dim[CP_DIMS];
    int64_t bytes;      /* -1: not known */
    const char *placed; /* a DTensor's placements: its sizes are the whole tensor's; else NULL */
    int placed_length;
} cp_shape;

typedef enum cp_kind { CP_INPUT, CP_OP, CP_MOVE, CP_WAIT, CP_RETURN } cp_kind;

/* What a call of a collective says. */
typedef struct cp_call {
    const char *name; /* with its namespace, as written */
    int name_length;
    mw_collective kind;
    char group[CP_NAME], reduce[16];
    int64_t size; /* ranks; 0: not known */
    mw_how size_how;
    const char *size_from;
    int64_t in_bytes, out_bytes; /* of one rank; -1: not known */
    int nin;                     /* tensors */
    bool uneven;                 /* parts of an all-to-all differ in size */
    bool here;                   /* writes its result over its input */
    bool place;                  /* no call: a redistribution, which later stages print as calls */
} cp_call;

typedef struct cp_node {
    uint64_t hash;
    const char *name; /* in the graph's arena */
    int name_length;
    const char *rhs; /* of the statement; "" for inputs */
    int64_t rhs_length;
    const char *callee;
    int callee_length;
    cp_shape shape;
    cp_kind kind;
    int64_t line;
    const char *source, *user; /* `# File:` above it; the last one outside PyTorch; or NULL */
    cp_call *call;             /* of a collective */
    bool backward;             /* comes from a tangent */
    int index;                 /* of a piece taken out of a list: which; else -1 */
    int work;                  /* computing ops up to this one */
    int first_in, nin;         /* in edge[] */
    int first_use;             /* edge, or -1 */
} cp_node;

typedef struct cp_edge {
    int from, to;
    int next_use; /* of `from`, or -1 */
} cp_edge;

typedef struct cp_graph {
    mw_arena arena;
    bool made;       /* the arena */
    bool open, over; /* has begun; its return was read */
    bool whole;      /* its inputs were read */
    bool titled;     /* a title waits for its graph */
    cp_stage stage;
    bool staged; /* the stage is stated */
    char title[80], unit[24];
    const char *direction; /* "forward", "backward", "" */
    mw_how direction_how;
    int64_t first, last;
    int rank;
    cp_node *node;
    int64_t nnode, cap_node;
    cp_edge *edge;
    int64_t nedge, cap_edge;
    mw_lookup newest; /* number of the newest node of a name */
    const char *source, *user;
    uint64_t hash; /* of what it says */
    bool tangents;
    mw_str pending; /* a statement whose brackets are open */
    int64_t pending_first;
    int depth, pending_lines;
    char quote;
    bool in_kernel;    /* inside a quoted kernel of generated code */
    bool table;        /* printed as a table: sizes may follow */
    bool sizes;        /* they do */
    bool code;         /* generated code: its call() may still come */
    bool comment;      /* the last line was one: it may go on */
    char artifact[32]; /* that of its lines */
    bool assumed;      /* a dtype was taken from the options */
} cp_graph;

typedef struct cp_group {
    char name[CP_NAME];
    int64_t size, line; /* size 0: lines contradict each other */
} cp_group;

typedef struct cp_wanted { /* a movement whose group's size may still be read */
    mw_draft *draft;
    mw_collective kind;
    int64_t in_bytes, out_bytes, line;
    char group[CP_NAME];
} cp_wanted;

typedef struct cp_moved cp_moved;
typedef struct cp_unit cp_unit;
typedef struct cp_told cp_told;

typedef struct cp_state {
    cp_graph *graph[CP_STREAMS];
    cp_group group[CP_GROUPS];
    int ngroup;
    int64_t mesh_ranks,
        mesh_line; /* of a mesh of one axis that Dynamo's graph shows; 0: none, -1: several */
    int64_t dtensor_line; /* of a graph with whole tensors, or 0 */
    bool moves;           /* a graph with collectives */
    bool later;           /* a graph of a stage that prints collectives */
    cp_wanted *wanted;
    int64_t nwanted, cap_wanted;
    cp_moved *moved; /* compile_once.c */
    int64_t nmoved, cap_moved;
    mw_lookup unit, told;          /* cp_unit, cp_told */
    int serial[CP_STREAMS];        /* of programs without a compile id */
    int last_stage[CP_STREAMS][2]; /* by direction, of those */
    mw_draft *broken[CP_STREAMS];  /* a graph break, a recompilation: its lines go on */
    const char *broken_kind[CP_STREAMS];
} cp_state;

typedef struct cp_here {
    mw_explain *e;
    cp_state *s;
    cp_graph *g;
    const mw_line *line;
    const char *text; /* without compile id and artifact */
    char unit[24];
    char artifact[32]; /* "aot_graphs", or "" */
    int stream;
} cp_here;

/* ---- text ---- */
void mw__cp_line(cp_here *h); /* splits off `[0/0] [__aot_graphs]` */
bool mw__cp_word(char c);
int mw__cp_ident(const char *at); /* length of a name, or 0 */
bool mw__cp_shape_read(const char *at, int64_t length, cp_shape *ret);
void mw__cp_shape_set(cp_shape *s, int ndim, const int64_t *dim); /* keeps the dtype */
void mw__cp_shape_dtype(cp_shape *s, const char *name, int length);
void mw__cp_shape_str(const cp_shape *s, mw_str *to); /* f32[8, 16] */
/* The collective (or wait) that a callee names, or false. `ret_name` ends before the overload. */
bool mw__cp_call_of(const char *callee, int length, mw_collective *ret_kind, const char **ret_args,
                    bool *ret_old);
const char *mw__cp_from(cp_here *h, int64_t line); /* "line 3" */

/* ---- events ---- */
bool mw__cp_event(cp_here *h); /* graph breaks, recompilations */

/* ---- graph ---- */
cp_graph *mw__cp_graph(cp_here *h); /* of the line's rank; NULL without memory */
void mw__cp_graph_clear(cp_graph *g);
void mw__cp_graph_free(cp_graph *g);
void mw__cp_done(cp_here *h, mw_str *text);       /* gives it up; one that failed is marked */
bool mw__cp_failed(cp_here *h, mw_status status); /* true: not OK; it is marked */
void mw__cp_statement(cp_here *h, const char *text, int64_t line); /* may hold several, by `;` */
void mw__cp_inputs(cp_here *h, const char *text, int64_t length,
                   int64_t line);            /* def forward(...) */
void mw__cp_read_call(cp_here *h, int node); /* where it is one */
bool mw__cp_table_row(cp_here *h);
bool mw__cp_table_size(cp_here *h); /* `l_x_: (4, 3)` */
void mw__cp_fill(cp_here *h);       /* shapes that follow from others, and what the calls say */
int mw__cp_in(const cp_graph *g, int node, int nth);              /* its input, or -1 */
int mw__cp_find(const cp_graph *g, const char *name, int length); /* or -1 */
/* Past ops that only look at a value in another way. */
bool mw__cp_is(const cp_node *n,
               const char *op); /* its op's name, whatever namespace and overload */
bool mw__cp_looks(const cp_node *n);
int mw__cp_only_user(const cp_graph *g, int node); /* or -1 */
int mw__cp_op(cp_here *h, const char *name, int length, const char *rhs,
              int64_t line); /* a node, or -1 */

/* ---- groups ---- */
void mw__cp_group_learn(cp_here *h, const char *name, int64_t size, int64_t line);
void mw__cp_group_size(cp_here *h, cp_call *c, int64_t line);
int64_t mw__cp_received(const cp_call *c);

/* ---- telling ---- */
void mw__cp_tell(cp_here *h);                /* the graph, and clears it */
void mw__cp_settle(cp_here *h);              /* at the end: sizes that were read later, or never */
bool mw__cp_tell_move(cp_here *h, int node); /* true: it counts as a movement */
void mw__cp_tell_wait(cp_here *h, int node); /* where its collective is not in the graph */
void mw__cp_check_move(cp_here *h, int node, mw_draft *d, int64_t bytes);
void mw__cp_check_graph(cp_here *h, mw_draft *d);
int mw__cp_value(const cp_graph *g, int node,
                 int64_t *ret_dim); /* of a collective: awaited, pieces joined; or -1 */
int mw__cp_wait_of(const cp_graph *g, int node); /* or -1 */
void mw__cp_mesh_learn(cp_here *h);
void mw__cp_place(cp_here *h, int node); /* a redistribution of whole tensors, as Dynamo sees it */
const char *mw__cp_direction(const cp_graph *g, const cp_node *n);
void mw__cp_tell_source(cp_here *h, mw_draft *d, const cp_node *n);
extern const char *const mw__cp_stage_words[CP_STAGES];

/* ---- once ---- */
typedef struct cp_same {
    mw_draft *draft; /* the movement, told before; NULL: it is a new one */
    bool rank;       /* by another rank at this stage: it is counted there */
    bool told;       /* at this stage too */
} cp_same;

/* A graph that says the same as one told before: its entries are counted. */
bool mw__cp_told_before(cp_here *h, uint64_t *ret_hash);
/* A graph of the same compilation and stage, with as many collectives, that another rank has told.
 */
bool mw__cp_other_rank(cp_here *h, int collectives);
void mw__cp_told_add(cp_here *h, uint64_t hash, int64_t first, int64_t end);
cp_same mw__cp_same(cp_here *h, const cp_node *n, const char *direction);
void mw__cp_moved_add(cp_here *h, const cp_call *c, const char *direction, mw_draft *d);
/* Movements of earlier stages that this graph does without. */
void mw__cp_withdraw(cp_here *h);
void mw__cp_once_free(cp_state *s);

#endif
