/* PyTorch/XLA, inside: the state of its reader and what its files share.
 *
 *     reader_torch_xla.c   which line is what: statements, errors, printed shardings
 *     torch_xla_code.c     pasted Python: names bound to numbers, lists, tensors, meshes
 *     torch_xla_mark.c     one annotation: mesh and spec held against their rules, and told
 *     torch_xla_program.c  products of annotated tensors, xm.all_gather
 *     torch_xla_op.c       the custom ops: declarations, calls, casts that fail
 *     torch_xla_words.c    an annotation told in words
 *     torch_xla_print.c    printed shardings, and printed nothing
 *     torch_xla_errors.def what each message means */
#ifndef LOG_TORCH_XLA_H
#define LOG_TORCH_XLA_H

#include "log/spmd.h"

enum { XS_NAMES = 128, XS_ENTRIES = 32, XS_IDS = 4096 };

typedef enum xs_kind { XS_NONE, XS_INT, XS_INTS, XS_TENSOR, XS_MESH, XS_TEXT } xs_kind;

typedef struct xs_value { /* of an expression */
    xs_kind kind;
    int64_t i;
    int64_t *ints; /* [n], in the arena; a list of lists is flat */
    int64_t n;
    int64_t symbols;       /* elements of a list that are no numbers */
    const char *symbol;    /* the first of these */
    spmd_value tensor;     /* of a tensor */
    const spmd_mesh *mesh; /* of a mesh */
    const char *text;      /* of anything: its source */
    int64_t line;          /* where it was bound */
    const char *marked;    /* the sharding that the tensor has been given */
    int64_t marked_line;
} xs_value;

typedef struct xs_state {
    struct {
        char name[SPMD_NAME];
        xs_value value;
    } bound[XS_NAMES];
    int nbound;
    spmd_told told;
    spmd_joined joined;
    /* a failed call of a custom op that goes on in the next lines */
    mw_draft *op;
    int64_t op_line;
    /* the last printed sharding */
    int64_t print_line;
    const char *print_label, *print_text; /* the last one that was not empty */
} xs_state;

typedef struct xs_here {
    mw_explain *e;
    xs_state *s;
    const mw_line *line;
    const char *text; /* the statement */
    int64_t first;
    const char *from; /* "line 3" */
} xs_here;

/* ---- code ------------------------------------------------------------------------------------ */
xs_value mw__xs_eval(const xs_here *h, const mw_py *node);
xs_value *mw__xs_find(const xs_here *h, const char *name, int length); /* or NULL */
bool mw__xs_statement(const xs_here *h);
bool mw__xs_ends(const mw_py *node, const char *name); /* a call of a.b.name */
spmd_mesh *mw__xs_mesh_new(const xs_here *h);
bool mw__xs_mesh_text(const xs_here *h, const mw_py *node,
                      spmd_mesh *ret); /* {'device_ids': ...} */

/* ---- programs (torch_xla_program.c) ---- */
xs_value mw__xs_product(const xs_here *h, const mw_py *node); /* tells each product */
bool mw__xs_all_gather(const xs_here *h, const mw_py *call);

/* ---- marks ----------------------------------------------------------------------------------- */

/* One annotation. */
typedef struct xs_mark {
    const char *name;      /* the tensor's expression */
    spmd_value tensor;     /* spec: its partition spec */
    const spmd_mesh *mesh; /* NULL: not known */
    const mw_py *spec;     /* NULL: not known */
    xs_value *bound;       /* the tensor's name, or NULL */
} xs_mark;

bool mw__xs_mesh_check(const xs_here *h, mw_draft *d, const spmd_mesh *mesh); /* true: it holds */
bool mw__xs_mark_check(const xs_here *h, mw_draft *d, const xs_mark *mark);   /* likewise */
void mw__xs_mark_tell(const xs_here *h, mw_draft *d, const xs_mark *mark);

/* ---- lines ----------------------------------------------------------------------------------- */
bool mw__xs_op_line(const xs_here *h); /* a failed call, or what belongs to it */
bool mw__xs_op_call(const xs_here *h, const mw_py *call, bool kept);
bool mw__xs_declaration(const xs_here *h);
bool mw__xs_print_line(const xs_here *h);
bool mw__xs_words_line(const xs_here *h);
const char *mw__xs_keep(const xs_here *h, const char *at, int64_t length); /* into the arena */

#endif
