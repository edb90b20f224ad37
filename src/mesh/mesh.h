/* mesh: the device mesh, layouts and shard arithmetic, for the modules above. Pure, all of it. */
#ifndef MESH_MESH_H
#define MESH_MESH_H

#include "base/base.h"
#include "tensor/tensor.h"

#include <meshwise/mesh.h>

struct mw_mesh {
    int refs; /* atomic */
    int naxis;
    int nrank;
    int size[MW_MESH_AXES];
    int stride[MW_MESH_AXES]; /* of the grid, row-major */
    char name[MW_MESH_AXES][MW_AXIS_NAME + 1];
    int *id;    /* rank at each grid place; NULL: the place itself */
    int *place; /* grid place of each rank; NULL likewise */
    int *world; /* of a slice: the launch's rank that each of its ranks is; NULL: the same number */
    uint64_t hash;
    const mw_allocator *allocator;
};

/* ---- one dim at a time ---------------------------------------------------------------------
 * The algebra works on one dim: its factors and cuts are a value of their own. `coord` is the
 * rank's coordinate on every axis (mw__mesh_coords). */
void mw__mesh_coords(const mw_mesh *mesh, int rank, int *ret_coord);

/* The mesh of the ranks that differ from `rank` only on the axes of the mask, with these axes. The
 * caller owns it. */
MW_NODISCARD mw_status mw__mesh_slice(const mw_mesh *mesh, uint32_t axes, int rank, mw_mesh **ret);

/* The rank of the mesh that the launch's rank is, or -1; and back. */
int mw__mesh_own(const mw_mesh *mesh, int world);
int mw__mesh_world(const mw_mesh *mesh, int own);

int64_t mw__dim_size(const mw_dim *dim);
bool mw__dim_whole(const mw_dim *dim);    /* no mesh axis cuts it: every rank holds all of it */
uint32_t mw__dim_axes(const mw_dim *dim); /* bit per mesh axis that cuts it, in whole or part */
bool mw__dim_equal(const mw_dim *a, const mw_dim *b); /* canonical bytes, `open` aside */

/* A dim of one factor without cuts. */
mw_dim mw__dim_plain(int64_t size);

/* Positions that the rank at `coord` holds, counted, and as maximal ranges (as mw_layout_ranges).
 */
int64_t mw__dim_local_size(const mw_mesh *mesh, const mw_dim *dim, const int *coord);
int64_t mw__dim_ranges(const mw_mesh *mesh, const mw_dim *dim, const int *coord,
                       mw_range *ret_range, int64_t cap);

/* The canonical spelling of the dim (the least text of its class). Never fails: a dim
 * that cannot be improved stays. */
mw_dim mw__dim_canonical(const mw_mesh *mesh, const mw_dim *dim);

/* The dim without the cuts of (any part of) the axes in the mask; canonical. What is left cuts in
 * the same order. */
mw_dim mw__dim_without(const mw_mesh *mesh, const mw_dim *dim, uint32_t axes);

/* The dim with axis (part) appended as the last, most minor cut of its last factor that makes
 * sense: the ranks' chunks of what each now holds, in order; a dim without cuts gets a plain one.
 * False where the capacities are used up. */
bool mw__dim_append(const mw_mesh *mesh, mw_dim *dim, int axis, int32_t major, int32_t size);

/* Regroups the concatenation (row-major flattening) of `nfrom` dims into `nto` dims of the given
 * sizes with the same owners: the view algebra. Products of sizes must agree. Result canonical.
 * False where no text has these owners (the caller then redistributes); then *ret_axes (if not
 * NULL) gets the mask of mesh axes that stand in the way. */
bool mw__dims_regroup(const mw_mesh *mesh, const mw_dim *from, int nfrom, const int64_t *sizes,
                      int nto, mw_dim *ret_to, uint32_t *ret_axes);

/* ---- layouts ------------------------------------------------------------------------------- */

/* As mw_layout_parse, of the layout at *at inside a longer `text` (which errors show); *at moves
 * past it. A `{` after the dims is read as partials. */
MW_NODISCARD mw_status mw__layout_read(const mw_mesh *mesh, const char *text, const char **at,
                                       mw_layout *ret);

void mw__layout_canonical(const mw_mesh *mesh, mw_layout *layout);

/* Checks capacities, axes used twice (partial axes included), sizes. MW_ERR_LAYOUT says what. */
MW_NODISCARD mw_status mw__layout_check(const mw_mesh *mesh, const mw_layout *layout);
/* Do all parts of axes in it stand apart, so that every element has its owners? Pure. */
bool mw__layout_apart(const mw_layout *layout);
uint64_t mw__layout_hash(const mw_layout *layout);
int64_t mw__layout_count(const mw_layout *layout); /* elements; the product of sizes */
int64_t mw__layout_local_count(const mw_mesh *mesh, const mw_layout *layout, int rank);
int64_t mw__layout_largest_shard(const mw_mesh *mesh, const mw_layout *layout); /* elements */
void mw__layout_str(const mw_mesh *mesh, const mw_layout *layout,
                    mw_str *to); /* appends the text */
void mw__dim_str(const mw_mesh *mesh, const mw_dim *dim, mw_str *to);
uint32_t mw__layout_axes(const mw_layout *layout);         /* axes that cut a dim */
uint32_t mw__layout_partial_axes(const mw_layout *layout); /* axes it is partial over */

/* Have both the same ranks of the launch, in whatever order? Pure. */
bool mw__mesh_same_ranks(const mw_mesh *a, const mw_mesh *b);

/* The layout on `to` that has the owners of `layout` on `from`, a mesh of the same ranks; `open`
 * dims stay so. MW_ERR_LAYOUT where there is none. Pure. */
MW_NODISCARD mw_status mw__layout_to_mesh(const mw_mesh *from, const mw_layout *layout,
                                          const mw_mesh *to, mw_layout *ret);

/* The dtype that the memory of a shard has: f32 for partial sums of f16 and bf16, else the dtype.
 */
mw_dtype mw__layout_storage_dtype(const mw_layout *layout);

const char *mw__reduce_name(mw_reduce kind);
double mw__reduce_identity(mw_reduce kind);

#endif
