/* tree: what DebugMode's trees are read with, one file each:
 *
 *     dtensor_tree.c       which line is what; ops, and what stands below them
 *     dtensor_tree_move.c  redistributions: steps, bytes, on whose account
 *     dtensor_tree_comm.c  collectives: what a rank receives
 *     dtensor_tree_block.c blocks that were told before
 *     dtensor_tree_size.c  sizes of mesh axes, as pieces and groups show them
 *
 * Depth says who caused what. A line is a frame of a stack while lines below it may come; it is
 * told when they are over, because they tell the sizes. */
#ifndef LOG_DTENSOR_TREE_H
#define LOG_DTENSOR_TREE_H

#include "log/dtensor.h"

enum { TREE_DEPTH = 32, TREE_STEPS = 16, TREE_GROUPS = 32, TREE_MOST = 63 };

typedef struct tree_frame {
    int indent;
    int64_t line;
    dt_call *call;      /* an op on whole tensors */
    mw_draft *move;     /* a redistribution */
    const char *module; /* a module */
    /* of a redistribution */
    int operand;    /* of the op above, or -1 */
    const char *op; /* that op, or "" */
    dt_tensor from, to, piece;
    bool explicit_said, implicit_said;
    int nstep;
    int step_axis[TREE_STEPS]; /* mesh axis of each step that moves; -1: several at once */
    int64_t logical[DT_DIMS];
    int nlogical;
    const char *collective; /* of the lines below */
    bool gathers;           /* one of them is an all_gather */
    int64_t bytes;          /* received per rank, of all its collectives; -1 not known */
    int64_t first_bytes;    /* of the first */
    const char *first_kind; /* the first's kind and what went into it, where its group waits */
    int64_t first_in;
    int64_t group; /* ranks of its collectives; 0 not known */
    mw_how group_how;
    bool by_option; /* the size is that of --mesh */
    int ncollective;
    /* of an op */
    bool ran;           /* on pieces: its own line below it was seen */
    unsigned moved;     /* mask of operands that a redistribution below moves */
    dt_tensor wants[4]; /* where, of the first of these */
} tree_frame;

/* What is known of the size of one axis of the meshes of so many axes. */
typedef struct tree_axis {
    uint64_t may; /* bit n: n ranks leave such first pieces; 0: nothing said */
    int64_t stated, even;
} tree_axis;

typedef struct tree_group {
    char name[24];
    int64_t size;
} tree_group;

enum { TREE_LINES = 400, TREE_TEXT = 1 << 16, TREE_TOLD = 4096 };

typedef struct tree_line {
    int64_t number;
    int indent; /* past that of the block */
    int64_t at, length;
} tree_line;

/* A call and the lines below it, kept until it is over. */
typedef struct tree_block {
    int nline; /* 0: none is open */
    int indent, rank;
    tree_line line[TREE_LINES];
    mw_str text; /* each line ends with a zero */
} tree_block;

typedef struct tree_told {
    uint64_t key;       /* 0: none */
    int64_t first, end; /* its entries */
    const char *pass;   /* after it */
} tree_told;

typedef struct dt_tree {
    tree_frame at[TREE_DEPTH];
    int depth;
    int64_t nop; /* ops on whole tensors so far */
    tree_axis axis[DT_AXES + 1][DT_AXES];
    tree_group group[TREE_GROUPS];
    int ngroup;
    int64_t version; /* grows whenever a size is learnt */
    tree_block block;
    tree_told told[TREE_TOLD];
    int64_t only; /* the one size of all groups; 0: none seen, -1: several */
    struct {      /* a redistribution of argument 0, for in-place ops */
        int indent;
        int64_t line, op_line; /* of the op above it; 0: none */
        dt_tensor from, to;
    } first_moved;
} dt_tree;

tree_frame *mw__tree_push(const dt_here *h, dt_tree *t);
void mw__tree_pop(const dt_here *h, dt_tree *t, int indent); /* frames from that indent on */
tree_frame *mw__tree_move_above(dt_tree *t);                 /* or NULL, as below */
tree_frame *mw__tree_op_above(dt_tree *t);
const char *mw__tree_module(const dt_tree *t);

/* The first axis that changes between two placements so that something moves, and how; NULL. */
const char *mw__tree_changed(const dt_tensor *from, const dt_tensor *to, int *ret_axis);

bool mw__tree_read(const dt_here *h, dt_tree *t);       /* one line, now */
bool mw__tree_block_line(const dt_here *h, dt_tree *t); /* true: it waits in a block */
void mw__tree_block_end(const dt_here *h, dt_tree *t);
void mw__tree_block_done(tree_block *b);

bool mw__tree_move_line(const dt_here *h, dt_tree *t);
void mw__tree_move_tell(const dt_here *h, dt_tree *t, tree_frame *f);
bool mw__tree_comm_line(const dt_here *h, dt_tree *t);

/* What a rank of n receives, of the piece that goes in; -1 where piece or n is not known. */
int64_t mw__tree_received(const char *kind, int64_t piece, int64_t n);

/* ---- sizes ------------------------------------------------------------------------------------
 */

void mw__tree_size_group(dt_tree *t, const char *name, int64_t size);
int64_t mw__tree_group(const dt_tree *t, const char *name); /* 0: not known */
void mw__tree_size_stated(dt_tree *t, int naxis, int axis, int64_t size);
void mw__tree_size_piece(dt_tree *t, const dt_tensor *whole, const dt_tensor *piece);
int64_t mw__tree_size(const dt_tree *t, int naxis, int axis, mw_how *ret_how); /* 0: not known */
bool mw__tree_mesh(const dt_tree *t, int naxis, dt_mesh *ret); /* false: an axis is not known */

#endif
