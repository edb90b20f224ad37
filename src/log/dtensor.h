/* dtensor: what the reader of DTensor's texts is made of, one file each:
 *
 *     reader_dtensor.c  which line is what; what waits for the next line
 *     dtensor_text.c    meshes, placements, tensors as printed
 *     dtensor_lay.c     these as layouts; local shapes, bytes, plans
 *     dtensor_call.c    a call: its op, its arguments by name
 *     dtensor_tell.c    its facts: shapes, bytes, mesh, results
 *     dtensor_replay.c  a call bound and laid out for meshwise
 *     dtensor_check.c   a call held against meshwise's own rules
 *     dtensor_view.c    views that take a strided placement
 *     dtensor_move.c    redistributions, and on whose account
 *     dtensor_error.c   errors, tracebacks
 *     dtensor_print.c   prints that people add
 *     dtensor_pass.c    forward or backward
 *     dtensor_ways.c    what a movement could have been instead
 *     dtensor_value.c   labels that can't be true, values that will be wrong
 *     dtensor_notice.c  PyTorch's own remarks: searches, warnings
 *     dtensor_tree.h    DebugMode's trees
 *     dtensor_counts.c  CommDebugMode's tables
 *
 * Nothing here knows a rule: owners come from mesh, results and what must move from ops and plan.
 */
#ifndef LOG_DTENSOR_H
#define LOG_DTENSOR_H

#include "log/explain.h"
#include "log/python.h"
#include "ops/args.h"
#include "ops/table.h"
#include "plan/plan.h"

enum { DT_AXES = MW_MESH_AXES, DT_DIMS = MW_LAYOUT_DIMS, DT_RANKS = 65, DT_ARGS = 64, DT_OUT = 16 };
enum { DT_MESHES = 64, DT_SCHEMAS = 128, DT_MODULES = 16 }; /* kept by the state */

/* ---- as printed ------------------------------------------------------------------------------ */

typedef struct dt_placement {
    char kind; /* S, _ (strided), R, P, M (masked), N (norm), ? */
    int dim;   /* as printed: may be negative */
    int order; /* -1: not stated */
    int64_t split;
    char reduce[16];
} dt_placement;

typedef struct dt_mesh {
    int naxis; /* 0: not known */
    int size[DT_AXES];
    char name[DT_AXES][MW_AXIS_NAME + 1]; /* "" where there is none */
    char device[16];
    bool has_names;
    mw_how how;   /* stated in this line; derived from another; assumed */
    int64_t line; /* where it is stated */
} dt_mesh;

typedef struct dt_tensor {
    bool shaped, placed;
    bool local; /* the shape is that of one rank's piece */
    int ndim;
    int64_t shape[DT_DIMS];
    int nstride; /* 0: not stated */
    int64_t stride[DT_DIMS];
    mw_dtype dtype;
    int nplacement;
    dt_placement placement[DT_AXES];
    dt_mesh mesh; /* naxis 0: not stated with it */
} dt_tensor;

/* Placements in any form, glued or listed; false where the text is none. */
bool mw__dt_read_placements(const char *at, int64_t length, dt_tensor *ret);
bool mw__dt_read_mesh(const mw_py *node, dt_mesh *ret); /* DeviceMesh(...) */
bool mw__dt_read_tensor(const mw_py *node,
                        dt_tensor *ret);                  /* Spec(...), DTensorSpec(...), dt: ... */
bool mw__dt_read_meta(const mw_py *node, dt_tensor *ret); /* TensorMeta(...) */

void mw__dt_placements_str(const dt_tensor *t, mw_str *to);            /* S(0)R */
void mw__dt_placements_long(const dt_placement *p, int n, mw_str *to); /* [Shard(0), Replicate()] */
void mw__dt_shape_str(const int64_t *shape, int ndim, mw_str *to);
void mw__dt_tensor_str(const dt_tensor *t, mw_str *to); /* f32[2, 16] S(0) */
void mw__dt_mesh_str(const dt_mesh *m, mw_str *to);     /* tp=2 */

/* ---- state ----------------------------------------------------------------------------------- */

typedef enum dt_value_kind {
    DT_NONE,
    DT_TENSOR,
    DT_TENSORS,
    DT_INT,
    DT_INTS,
    DT_FLOAT,
    DT_BOOL,
    DT_STR,
    DT_OTHER
} dt_value_kind;

typedef struct dt_value {
    dt_value_kind kind;
    const char *name; /* keyword, or NULL */
    const char *text; /* as printed */
    int64_t i;
    double f;
    const int64_t *ints;
    int count;
    dt_tensor *tensor; /* [count] */
} dt_value;

typedef struct dt_call {
    int64_t line;
    const char *name;        /* as printed, with dots: aten.mm.default */
    const char *word;        /* short: mm */
    const mw_op *op;         /* NULL: not in meshwise's table */
    const mw_schema *schema; /* NULL: not known */
    const mw_op *same_as;    /* an op whose rule holds for the first three arguments and the first
                                result; NULL: none */
    int narg;
    dt_value *arg;
    dt_mesh mesh;
    bool flat; /* a cache key: lists are flattened */
    mw_draft *draft;
    /* the result, where the text tells it */
    bool has_out, needs, has_needs;
    bool moved;   /* in a tree: a collective stands below it */
    bool in_tree; /* needs and wanted come from the lines below it in a tree */
    int nout;
    dt_tensor *out;
    dt_tensor placed_out; /* output 0 where placements alone are told; nplacement 0: not */
    int nwanted;
    dt_value *wanted; /* redistribute_schema's arguments */
    int64_t out_line;
    bool told;  /* the facts are written */
    bool alone; /* a schema that stands by itself, in no log */
} dt_call;

/* A move that somebody asked for, waiting for the call that uses it. */
typedef struct dt_move {
    mw_draft *draft; /* NULL: none waits */
    int64_t line;
    int axis, calls; /* calls seen since */
    dt_placement from;
    dt_tensor after; /* the whole tensor, as it then lies */
    int64_t bytes;
} dt_move;

/* A view that is a copy, because its input was moved for it: writes into it are lost. */
typedef struct dt_copy {
    dt_tensor tensor; /* shaped: there is one */
    int64_t line;
    const char *op;
} dt_copy;

/* One rank's lines. */
typedef struct dt_rank {
    dt_call *call;  /* the last one */
    int step;       /* moves since its output */
    dt_tensor last; /* the last known result */
    int64_t last_line;
    const char *last_op;
    dt_move move;
    dt_copy copy;
    struct { /* steps of one tensor, one after another */
        mw_layout start, now;
        const mw_mesh *mesh;
        int64_t line, bytes; /* bytes -1: not known */
    } chain;
    const char *pass, *pass_why; /* forward, backward; NULL: not known */
    int64_t pass_from;           /* the first entry of it */
    mw_str pending;              /* a statement that goes on in the next line */
    int64_t pending_first;
    int pending_lines;
    /* a traceback */
    int64_t trace_first, trace_last;
    const char *trace_file, *trace_function, *trace_code;
    const char *user_file, *user_code; /* the last frame outside torch */
    mw_draft *last_error;
    int64_t last_error_line;
} dt_rank;

/* A print that announces a change of placement. */
typedef struct dt_said {
    int64_t line;
    dt_tensor from, to;
    const char *text;
} dt_said;

/* A module as PyTorch prints it: Embedding(100, 16), Linear(in_features=16, out_features=100). */
typedef struct dt_module {
    int64_t size[2]; /* of its weight */
    int64_t line;    /* 0: none */
} dt_module;

typedef struct dt_known_mesh {
    dt_mesh mesh;
    mw_mesh *made;
} dt_known_mesh;

typedef struct dt_state {
    dt_rank *rank[DT_RANKS];
    dt_known_mesh mesh[DT_MESHES]; /* those seen last */
    int64_t nmesh, turn;
    dt_mesh last_mesh;                     /* the last one stated anywhere */
    const mw_schema *declared[DT_SCHEMAS]; /* read once */
    dt_said said;
    dt_module module[DT_MODULES]; /* those printed last */
    int64_t nmodule;
    struct dt_tree *tree;
    struct dt_counts *counts;
    dt_call **call_of; /* by entry */
    int64_t cap_call_of;
} dt_state;

typedef struct dt_here { /* one line being read */
    mw_explain *e;
    dt_state *s;
    dt_rank *r;
    const mw_line *line;
    const char *at; /* the statement: the line's text, or joined lines */
    const char *end;
    int64_t first; /* its first line */
    mw_arena *scratch;
} dt_here;

/* ---- lay ------------------------------------------------------------------------------------- */

/* The meshwise mesh of a stated one (kept by the state), or NULL where it can't be one. */
const mw_mesh *mw__dt_mesh_of(const dt_here *h, const dt_mesh *m);

/* Completes what the text leaves out of a mesh of so many axes: from the options, or meshes seen.
 */
void mw__dt_mesh_complete(const dt_here *h, dt_mesh *m, int naxis);
const char *mw__dt_axis_name(const dt_here *h, const dt_mesh *m, int axis);

/* The layout of a placed tensor. false: not known, or no layout; `why` then says why ("" where the
 * text says too little). */
bool mw__dt_layout(const dt_here *h, const mw_mesh *mesh, const dt_tensor *t, mw_layout *ret,
                   const char **why);
/* The same read back into placements. */
bool mw__dt_unlayout(const dt_here *h, const mw_mesh *mesh, const mw_layout *l, dt_tensor *ret);

const char *mw__dt_locals(const dt_here *h, const mw_mesh *mesh, const mw_layout *l); /* text */
bool mw__dt_uneven(const mw_mesh *mesh, const mw_layout *l);
int64_t mw__dt_bytes(const dt_tensor *t); /* of the whole; -1 not known */
int64_t mw__dt_local_bytes(const mw_mesh *mesh, const mw_layout *l); /* the largest shard's */

/* Bytes received by the rank that receives most from one to the other, and the steps' text (may be
 * NULL); -1: no plan. */
int64_t mw__dt_moving(const dt_here *h, const mw_mesh *mesh, const mw_layout *from,
                      const mw_layout *to, const char **steps);
/* Of a single placement's change on one axis: the collective's name, NULL where nothing moves. */
const char *mw__dt_collective(const dt_placement *from, const dt_placement *to);

/* true: not OK. Lack of memory is marked. */
bool mw__dt_failed(const dt_here *h, mw_status status);

/* Gives a string up; one that failed is marked. */
void mw__dt_done(const dt_here *h, mw_str *str);

const char *mw__dt_text(const dt_here *h, const mw_str *str); /* into the arena; gives `str` up */
const char *mw__dt_line_from(const dt_here *h, int64_t line); /* "line 3" */

/* Names for a mesh that was derived, where a mesh of its sizes has been seen with names. */
void mw__dt_mesh_names(const dt_here *h, dt_mesh *m);

/* ---- ways ------------------------------------------------------------------------------------ */

/* What else could be done with `whole` (as it lies before the move) on that axis than bringing it
 * to `to`, what each rank then holds, and what of memory that costs. `how`, `from`: of the tensor.
 */
void mw__dt_other_ways(const dt_here *h, mw_draft *d, const mw_mesh *mesh, const dt_tensor *whole,
                       int axis, const dt_placement *to, mw_how how, const char *from);

/* That move, told of a tensor that is known whole, waits for the call that uses it. */
void mw__dt_move_waits(const dt_here *h, mw_draft *d, int axis, const dt_placement *from,
                       const dt_tensor *after, int64_t bytes);

/* What a masked partial is, where one of the placements is so. */
void mw__dt_tell_masked(const dt_here *h, mw_draft *d, const dt_tensor *t);

/* ---- passes ---------------------------------------------------------------------------------- */
void mw__dt_pass_of(const dt_here *h, const dt_call *call); /* its direction; later ones' too */
const char *mw__dt_pass_now(const dt_here *h);              /* "forward", "backward", "" */
bool mw__dt_declares_backward(const char *word, size_t length);

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call's arguments from nodes: Op(...), aten.mm.default(...), OpSchema(...). NULL: it is none. */
dt_call *mw__dt_read_call(const dt_here *h, const mw_py *node, bool flat);
void mw__dt_read_values(const dt_here *h, const mw_py *first, dt_value **ret, int *ret_n);
bool mw__dt_tensors_of(const dt_here *h, const mw_py *node, dt_tensor *ret, int cap, int *ret_n);
void mw__dt_call_begin(const dt_here *h, dt_call *call, const char *event);
void mw__dt_call_tell(const dt_here *h, dt_call *call); /* writes its facts, once */
void mw__dt_call_check(const dt_here *h, dt_call *call, const mw_mesh *mesh);
const char *mw__dt_arg_name(const dt_call *call, int position);
int mw__dt_bind_flat(const dt_here *h, dt_call *call);

/* ---- lines ------------------------------------------------------------------------------------
 */
void mw__dt_rank_flush(const dt_here *h); /* the rank's call is over */
bool mw__dt_move_line(const dt_here *h);
bool mw__dt_error_line(const dt_here *h);
bool mw__dt_trace_line(const dt_here *h);
bool mw__dt_print_line(const dt_here *h);
bool mw__dt_notice_line(const dt_here *h);
bool mw__dt_tree_line(const dt_here *h);
bool mw__dt_counts_line(const dt_here *h);
void mw__dt_tree_end(const dt_here *h);
void mw__dt_tree_pause(const dt_here *h); /* another line comes: what waits is told */
void mw__dt_tree_free(struct dt_tree *tree);
void mw__dt_counts_end(const dt_here *h);
void mw__dt_counts_free(struct dt_counts *counts);
bool mw__dt_starts(const dt_here *h, const char *word); /* moves past it */

#endif
