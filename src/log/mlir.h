/* StableHLO and Shardy text, inside: the state of its reader and what its files share. */
#ifndef LOG_MLIR_H
#define LOG_MLIR_H

#include "log/xla_runs.h"

enum { MLIR_MESHES = 16, MLIR_MARKS = 64, MLIR_VALUES = 1024, MLIR_DEPTH = 64, MLIR_ITER = 64 };
enum { MLIR_TILES = 8, MLIR_CALLS = 64 };

/* What is known of a value by its name, in one function. Newer ones replace older ones. */
typedef struct mlir_value {
    uint64_t hash;
    hlo_shape type;
    const char *op;       /* that made it, "stablehlo.dot_general"; in the arena */
    const char *sharding; /* `<@mesh, [...]>`; NULL: not known */
    mw_draft *waits;      /* a collective's entry: whose operand it becomes is still to be told */
    int64_t line;
    bool is_constant;
    int64_t constant;
    int64_t summed; /* elements that a reduce added up on each device; 0: none */
    int64_t group;  /* of an all-reduce that made it; 0: none */
} mlir_value;

typedef enum mlir_region {
    MLIR_OTHER,
    MLIR_MODULE,
    MLIR_FUNCTION,
    MLIR_CONDITION,
    MLIR_BODY,
    MLIR_MANUAL
} mlir_region;

/* A loop that is being read: how often it runs follows from its counter. */
typedef struct mlir_loop {
    int64_t line;
    int niter;
    struct {
        uint64_t name;
        bool known; /* where it begins */
        int64_t first;
    } iter[MLIR_ITER];
    int counter; /* of iter, or -1 */
    int64_t limit, step;
} mlir_loop;

typedef struct mlir_scope {
    mlir_region region;
    uint64_t computation; /* 0: none */
    mlir_loop *loop;      /* of a condition or body, in the arena */
} mlir_scope;

typedef struct mlir_tiles {
    int64_t line, tile[HLO_DIMS];
    int ndim;
} mlir_tiles;

/* A function that is called, or has a body. */
typedef struct mlir_call {
    uint64_t name;
    const char *text;
    int64_t line;            /* of a call; 0: its body is there */
    const char *sharding[2]; /* of two operands of which it got pieces; or NULL */
    hlo_shape operand[2], result;
} mlir_call;

typedef struct mlir_state {
    bool open;   /* inside a module or function */
    bool manual; /* inside a manual computation: shapes are one device's piece */
    int nmesh;
    struct {
        char name[64];
        mw_mesh *mesh;
        int64_t line;
    } mesh[MLIR_MESHES];
    int64_t dropped;   /* meshes that had no place: a mesh's address alone does not name it */
    mw_draft *pending; /* a collective with a region: its types stand behind that */
    int pending_kind;
    int64_t pending_group;
    uint64_t pending_name;
    mlir_scope scope[MLIR_DEPTH];
    int depth, over;   /* over: regions too deep to be kept */
    mlir_loop *loop;   /* its regions come next */
    uint64_t waiting;  /* a function whose head is not over */
    bool starved;      /* there was no memory for values */
    mlir_value *value; /* [MLIR_VALUES] */
    xla_runs runs;
    int64_t collectives, first, last;
    mlir_tiles tiles[MLIR_TILES]; /* shardings read lately, for messages that name none */
    int ntiles;
    mlir_call called[MLIR_CALLS];
    int ncalled;
    mw_str joined; /* an op whose attributes stand on lines of their own */
    int64_t joined_line;
} mlir_state;

typedef struct mlir_here {
    mw_explain *e;
    mlir_state *s;
    const mw_line *line;
    const char *text;
    const char *from;
} mlir_here;

const char *mw__mlir_close(const char *at); /* past the `>` that closes the `<` at `at`, or NULL */
/* The type of result `index` of the op: of the types at the end of the line. */
bool mw__mlir_type(const char *text, int index, hlo_shape *ret);
int mw__mlir_name(const char *text, const char **ret); /* `%0` of `%0 = ...`; length or 0 */
const mw_mesh *mw__mlir_mesh(const mlir_here *h, const char *sharding); /* `<@mesh, ...` or NULL */

/* ---- values and regions (mlir_value.c, mlir_scope.c) ---- */

/* Past the name of a value at `at` (`%0`, `%1#2`), whose hash is returned; 0 where there is none.
 */
uint64_t mw__mlir_value_name(const char **at);
mlir_value *mw__mlir_value(mlir_state *s, uint64_t name, bool make);
const mlir_value *mw__mlir_operand(const mlir_here *h, int index); /* of the op of the line */
void mw__mlir_define(
    const mlir_here *h); /* the op of the line makes its value, uses its operands */
void mw__mlir_values_clear(mlir_state *s);
void mw__mlir_scope(const mlir_here *h); /* regions that the line ends and begins, calls, loops */
uint64_t mw__mlir_computation(const mlir_state *s);
void mw__mlir_total(mw_explain *e, mlir_state *s); /* the module is over */

/* ---- what lines tell ---- */

bool mw__mlir_error(const mlir_here *h);
bool mw__mlir_sdy_collective(const mlir_here *h);
bool mw__mlir_collective(const mlir_here *h); /* stablehlo.all_reduce and its like */
bool mw__mlir_region_end(const mlir_here *h);
void mw__mlir_origins(const mlir_here *h); /* sdy.sharding_origins, sdy.propagation_edges */
void mw__mlir_gather(const mlir_here *h);  /* operand and indices cut by one axis */
void mw__mlir_manual(const mlir_here *h);  /* pieces made by hand, and what is called with them */
void mw__mlir_product(mw_explain *e, const mlir_call *call); /* of a call without a body */
mlir_call *mw__mlir_call(mlir_state *s, const char *name);   /* `name(`; or NULL */
void mw__mlir_mean(const mlir_here *h); /* a sum over devices, divided by their number */

/* Bytes of the piece of rank 0, the largest; -1: not known. */
int64_t mw__mlir_piece(const mlir_here *h, const mw_mesh *mesh, const char *sharding,
                       const hlo_shape *shape);

#endif
