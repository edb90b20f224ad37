/* spmd: what the readers of PyTorch/XLA's and JAX's texts and pictures share: meshes as these
 * systems write them, a partition spec told as facts, and what a change of sharding costs. Owners
 * come from the notation reader of mesh and costs from plan: no rule stands here. */
#ifndef LOG_SPMD_H
#define LOG_SPMD_H

#include "log/hlo_text.h"
#include "log/python.h"
#include "ops/op.h"

enum { SPMD_MESHES = 16, SPMD_TOLD = 256, SPMD_NAME = 48 };

/* A mesh that the text states. */
typedef struct spmd_mesh {
    int naxis; /* 0: none */
    int64_t size[MW_MESH_AXES];
    char name[MW_MESH_AXES][MW_AXIS_NAME + 1]; /* "": it has no names */
    int nname;
    const int64_t *id; /* [nid], or NULL: in order */
    int64_t nid;
    int64_t line; /* where; 0: given with --mesh */
} spmd_mesh;

/* The meshwise mesh of it, which the caller unrefs; NULL where it can't be one. Axes without names
 * are a, b, c, ... */
mw_mesh *mw__spmd_mesh_make(mw_explain *e, const spmd_mesh *mesh);
int64_t mw__spmd_mesh_size(const spmd_mesh *mesh); /* the product; -1 where it is too large */
void mw__spmd_mesh_str(const spmd_mesh *mesh, mw_str *to);
bool mw__spmd_mesh_of(const mw_mesh *mesh, spmd_mesh *ret); /* as stated, of a meshwise mesh */
int mw__spmd_axis(const spmd_mesh *mesh, const char *name, int length); /* or -1 */
void mw__spmd_tell_mesh(mw_explain *e, mw_draft *d, const spmd_mesh *mesh);

/* A sharded value: what is known of it. */
typedef struct spmd_value {
    int ndim; /* -1: not known */
    int64_t shape[MW_LAYOUT_DIMS];
    mw_dtype dtype;   /* NONE: not known */
    const char *spec; /* a partition spec, or an HLO sharding; NULL: not known */
    int nentry;       /* entries of the spec */
    bool shorter;     /* the value may have more dims than the spec has entries */
} spmd_value;

/* Reads its spec on a mesh, with sizes of our own where it has none (*ret_proxy). NULL where it
 * can't be read: `why` (may be NULL) then gets the reason, "" where memory lacks. */
mw_reading *mw__spmd_reading(mw_explain *e, const mw_mesh *mesh, const spmd_value *value,
                             bool *ret_proxy, const char **why);

/* Facts of it: the sharding in XLA's words, in words, local shape, bytes, devices that hold nothing
 * but padding, copies. `label` stands before their names. False where the spec can't be read: then
 * nothing is told. */
bool mw__spmd_tell(mw_explain *e, mw_draft *d, const char *label, const mw_mesh *mesh,
                   const spmd_value *value);

/* ---- costs ------------------------------------------------------------------------------------
 * Of a change from one layout to another: "all_gather c dim 1, 384 B received per device", or
 * "..., 3/8 of the tensor received per device" where `proxy`. NULL: no plan. *ret_bytes (may be
 * NULL): -1 where proxy. */
const char *mw__spmd_cost(mw_explain *e, const mw_mesh *mesh, const mw_layout *from,
                          const mw_layout *to, bool proxy, int64_t *ret_bytes);

/* "axes" that cut a dim of the layout, as names: x,y */
const char *mw__spmd_axes(mw_explain *e, const mw_mesh *mesh, uint32_t axes);
const char *mw__spmd_spec(mw_explain *e, const mw_mesh *mesh, const mw_layout *layout); /* P(...) */

/* ---- lines ------------------------------------------------------------------------------------
 */

/* A text that was told before counts, and is told no more. */
typedef struct spmd_told {
    struct {
        uint64_t hash;
        mw_draft *draft;
    } at[SPMD_TOLD];
    int n;
} spmd_told;
bool mw__spmd_again(spmd_told *told, uint64_t hash, const mw_line *line);
void mw__spmd_tell_once(spmd_told *told, uint64_t hash, mw_draft *draft);

/* A statement over several lines, joined while its brackets are open. */
typedef struct spmd_joined {
    mw_str text;
    int64_t first; /* its first line */
    int lines;     /* 0: none is open */
} spmd_joined;

/* Takes the line into the open statement, or begins one where `begins` and its brackets stay open;
 * one of more than `most` bytes is over.
 * *ret_text and *ret_first are then the statement's; *ret_open: it goes on, and the line is taken.
 */
MW_NODISCARD mw_status mw__spmd_join(spmd_joined *joined, const mw_line *line, bool begins,
                                     size_t most, const char **ret_text, int64_t *ret_first,
                                     bool *ret_open, bool *ret_taken);
/* The open statement as a line, where it ends unfinished; false: none is open. */
bool mw__spmd_unjoin(spmd_joined *joined, mw_line *ret);

const char *mw__spmd_from(mw_explain *e, int64_t line); /* "line 3" */

/* The program's own frame of a traceback that ended just before the line, as a fact. */
void mw__spmd_tell_frame(mw_explain *e, mw_draft *d, const mw_line *line);

/* The int after `phrase`, at or after `text`; false where there is none. */
bool mw__spmd_int_after(const char *text, const char *phrase, int64_t *ret);

bool mw__spmd_word_char(char c); /* of a Python name */

#endif
