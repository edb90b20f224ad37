/* JAX, inside: the state of its reader and what its files share.
 *
 *     reader_jax.c    which line is what; texts that go on in the next lines
 *     jax_text.c      meshes, shardings and types as JAX prints them
 *     jax_error.c     messages: what they say in numbers and names
 *     jax_replay.c    what would work, priced: ops and plans of meshwise
 *     jax_errors.def  what each message means */
#ifndef LOG_JAX_H
#define LOG_JAX_H

#include "log/spmd.h"

enum { JX_VALUES = 8, JX_KEPT = 16, JX_MESHES = 16, JX_AXES = 8 };

/* The axes that cut one dim, as names: pieces of the text. */
typedef struct jx_entry {
    int n;
    const char *at[JX_AXES];
    int length[JX_AXES];
    bool open; /* UNCONSTRAINED */
} jx_entry;

/* A value with a sharding, as printed. */
typedef struct jx_value {
    int ndim; /* of the shape; -1: none */
    int64_t shape[MW_LAYOUT_DIMS];
    mw_dtype dtype;
    bool has_spec;
    int nentry;
    jx_entry entry[MW_LAYOUT_DIMS]; /* those past nentry are None */
    jx_entry unreduced, reduced, varying;
    const char *spec; /* P(...), in the arena */
    bool has_mesh;
    spmd_mesh mesh;
    const char *types; /* of the mesh's axes, as printed; NULL */
    const char *memory;
    int64_t line; /* where it stands */
} jx_value;

typedef struct jx_state {
    spmd_mesh mesh; /* the last one stated; naxis 0: none */
    struct {
        char name[SPMD_NAME];
        spmd_mesh mesh;
    } named[JX_MESHES];
    int nnamed;
    jx_value kept[JX_KEPT]; /* values printed last */
    int nkept;
    spmd_told told;
    spmd_joined joined;
} jx_state;

typedef struct jx_here {
    mw_explain *e;
    jx_state *s;
    const mw_line *line;
    const char *text;
    int64_t first;
    const char *from;
} jx_here;

/* ---- texts ----------------------------------------------------------------------------------- */

/* The next value in the text at or after *at (NamedSharding(...), ShapedArray(...), f32[8@x,4]),
 * which moves past it. Types without any `@` count where `plain`. */
bool mw__jx_next(const jx_here *h, const char **at, bool plain, jx_value *ret);
bool mw__jx_type(const jx_here *h, const char **at, jx_value *ret); /* f32[8@x,4]{U:y} at *at */
bool mw__jx_spec(const jx_here *h, const mw_py *node,
                 jx_value *ret); /* P('x', None), ('x', None) */
bool mw__jx_mesh(const jx_here *h, const mw_py *node, spmd_mesh *ret, const char **ret_types);
mw_py *mw__jx_py(const jx_here *h, const char *at); /* the value at its start, or NULL */
const char *mw__jx_keep(const jx_here *h, const char *at, int64_t length);
const char *mw__jx_word(const char *text, const char *word); /* at a word's start, or NULL */

/* ---- telling --------------------------------------------------------------------------------- */

/* The mesh of a value: its own, the last one in the text, or that of --mesh; NULL. The caller
 * unrefs. *ret (may be NULL) gets it as stated. */
mw_mesh *mw__jx_mesh_of(const jx_here *h, const jx_value *v, spmd_mesh *ret);
void mw__jx_tell(const jx_here *h, mw_draft *d, const char *label, const jx_value *v);

/* ---- replay ----------------------------------------------------------------------------------
 * What would work instead, with costs, as facts. `op`: as JAX names it. */
typedef struct jx_case {
    const jx_here *h;
    mw_draft *d;
    const char *op;
    int n; /* operands */
    jx_value *value;
    int dim; /* that must be whole; -1 */
} jx_case;
void mw__jx_contracting(const jx_case *c, const char *lhs, const char *rhs);
void mw__jx_conflict(const jx_case *c); /* operands of one op that don't agree */
void mw__jx_whole_dim(const jx_case *c);
void mw__jx_reshape(const jx_case *c, int ndim, const int64_t *shape);
void mw__jx_reduce(const jx_case *c); /* unreduced: what the reduction costs */
void mw__jx_change(const jx_case *c, const jx_value *from, const jx_value *to, const char *name);

/* ---- lines ----------------------------------------------------------------------------------- */
bool mw__jx_error_line(const jx_here *h);
bool mw__jx_mesh_line(const jx_here *h);     /* a mesh in code, or as it prints itself */
bool mw__jx_mesh_sentence(const jx_here *h); /* what a message says of one */
bool mw__jx_claims(const mw_line *line);     /* it has a message of JAX */

#endif
