/* StableHLO and Shardy text, inside: the state of its reader and what its files share. */
#ifndef LOG_MLIR_H
#define LOG_MLIR_H

#include "log/hlo_text.h"

enum { MLIR_MESHES = 16, MLIR_MARKS = 64 };

typedef struct mlir_state {
    bool open;   /* inside a module or function */
    bool manual; /* inside a manual computation: shapes are one device's piece */
    int nmesh;
    struct {
        char name[64];
        mw_mesh *mesh;
        int64_t line;
    } mesh[MLIR_MESHES];
    mw_draft *pending; /* a collective with a region: its types stand behind that */
    const char *pending_kind;
    int64_t pending_group;
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

bool mw__mlir_sdy_collective(const mlir_here *h);
bool mw__mlir_collective(const mlir_here *h); /* stablehlo.all_reduce and its like */
bool mw__mlir_region_end(const mlir_here *h);

#endif
