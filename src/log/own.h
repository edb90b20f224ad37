/* own: what the files share that read meshwise's own texts: event lines and their JSON, plans,
 * programs (IR), errors, layouts. All of them state types, `f32[8@dp, 64]{sum:tp}`, whose axes mean
 * something on a mesh that the text states (plans, programs) or the options give. */
#ifndef LOG_OWN_H
#define LOG_OWN_H

#include "log/explain.h"

/* A type as it stands in a text; nothing is known of the mesh yet. */
typedef struct own_type {
    const char *text; /* NUL-terminated; lives as long as the line being read */
    mw_dtype dtype;
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS]; /* of the whole */
    bool cut, partial;
    int mesh; /* of the program's meshes; -1: one that the text doesn't state */
} own_type;

enum { OWN_MESHES = 8 };

/* A mesh that the text states. */
typedef struct own_mesh {
    mw_mesh *mesh;
    uint64_t name; /* hash; 0: none */
    int64_t line;
} own_mesh;

/* A value of a program. */
typedef struct own_value {
    own_type type;
    int64_t line;
} own_value;

/* A movement whose lines have not all come. */
typedef struct own_pending {
    mw_line first; /* number 0: none; its texts are gone */
    int64_t line, received;
    const char *tensor, *text, *from, *to;
} own_pending;

typedef struct own_state {
    own_mesh mesh[OWN_MESHES]; /* of the last plan or program; the first is that of most types */
    int nmesh;
    mw_lookup told;  /* events: mw_draft by hash */
    mw_lookup value; /* values of programs: own_value by the hash of function and name */
    int64_t functions, mesh_functions; /* seen; and when the meshes were stated */
    bool in_function, in_parameters;
    mw_str program;        /* its meshes, and the lines of the function so far */
    size_t program_meshes; /* how much of that are meshes */
    mw_draft *function;
    mw_draft *plan; /* the one being read; NULL: none */
    own_type plan_at;
    int64_t plan_line, plan_received; /* the last line; sum of its steps */
    int alternatives;
    bool plan_other_mesh, plan_instead;
    own_pending pending;
    mw_draft *values; /* a result whose values may follow */
    mw_draft *error;  /* whose indented lines may follow */
    int64_t error_line;
} own_state;

typedef struct own_here {
    mw_explain *e;
    own_state *state;
    const mw_line *line;
    const char *from; /* "line 3" */
    bool apart;       /* the line need not lie on the mesh that the text stated last */
} own_here;

/* ---- words (own_words.c) ---------------------------------------------------------------------
 */
bool mw__own_skip(const char **at, const char *word); /* moves past the word if it stands there */
bool mw__own_int(const char **at, int64_t *ret);      /* a whole number from 0 */
bool mw__own_name(const char **at, const char **ret, int *ret_length); /* letters, digits, _ . - */

/* Copies without blanks at their ends: a piece, for the time of this line; a text, for good. */
const char *mw__own_cut(const own_here *h, const char *at, int64_t length);
const char *mw__own_keep(const own_here *h, const char *text);
void *mw__own_get(const mw_lookup *map, uint64_t key);
void mw__own_put(const own_here *h, mw_lookup *map, uint64_t key, void *value);

/* Step kinds of plans: is `name` one, and does it move bytes? The name is the table's own. */
const char *mw__own_step(const char *name, int length, bool *ret_moves);

/* ---- types (own_type.c) ----------------------------------------------------------------------
 */

/* Reads a type at *at and moves past it. */
bool mw__own_type(const own_here *h, const char **at, own_type *ret);

/* Keeps a mesh that the text states, after those that are there or instead of them. */
bool mw__own_mesh_set(const own_here *h, const char *text, uint64_t name, bool first);

/* The mesh of a type, or NULL; and how what follows from it is known. */
const mw_mesh *mw__own_mesh(const own_here *h, const own_type *t, mw_how *ret_how,
                            const char **ret_from);
bool mw__own_layout(const own_here *h, const own_type *t, mw_layout *ret);

/* Facts of a type: the type itself, the whole's bytes, and on a known mesh the largest local shape
 * and its bytes. `name` is that of the tensor. */
void mw__own_tell_type(const own_here *h, mw_draft *d, const char *name, const own_type *t,
                       const char *from);

/* What one step from a to b is and what the rank that receives most receives, by the planner; -1:
 * not known. *ret_kind: the step's kind where it is one moving step, else NULL. */
int64_t mw__own_moving(const own_here *h, const own_type *a, const own_type *b,
                       const char **ret_kind);

/* ---- texts -------------------------------------------------------------------------------------
 */
bool mw__own_event_line(const own_here *h);
bool mw__own_json_line(const own_here *h);
bool mw__own_plan_line(const own_here *h);
bool mw__own_ir_line(const own_here *h);
bool mw__own_exec_line(const own_here *h);
uint64_t mw__own_value_key(const own_here *h, const char *name, int length);

/* A line of a program is kept; its last one is there: what it leaves open is told. */
void mw__own_program_line(const own_here *h);
void mw__own_program_end(const own_here *h);
bool mw__own_error_line(const own_here *h);
void mw__own_error(const own_here *h, const char *says, const char *where, const char *hint);

/* One event, of either form. Texts are "" where not stated, numbers -1. */
typedef struct own_event {
    bool move;
    int rank;
    int64_t number, received, most;
    const char *op, *text, *result, *tensor, *from, *to, *why, *site, *chain;
    int asked;    /* -1: not stated */
    int64_t last; /* its last line; 0: it has one */
} own_event;
void mw__own_tell_event(const own_here *h, const own_event *v);

#endif
