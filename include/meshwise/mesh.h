/* Meshes and layouts: who holds what.
 *
 * A mesh is a grid of ranks with named axes:
 *
 *     x=2,y=4                y 0  1  2  3
 *                      x 0     0  1  2  3      row-major: the first axis is the slowest
 *                      x 1     4  5  6  7
 *
 * A layout says how a tensor lies on a mesh. Each dim is a product of factors, major to minor; a
 * factor is cut by an ordered list of cuts: a mesh axis, several axes jointly, or a local cut. An
 * axis that cuts nothing is replicated, or partial: each rank holds a term of a sum, a max, ...
 *
 *     f32[16@x, 8]          dim 0 in chunks over x            S(0) R
 *     f32[2·8@y, 8]         each half of dim 0 over y         R _S(0, 2)
 *     f32[16, 8]{sum:x}     every rank of x holds a term      P(sum) R
 *
 * Everything here is Pure: same input, same bytes out. All values are rank-independent.
 */
#ifndef MESHWISE_MESH_H
#define MESHWISE_MESH_H

#include <meshwise/dtype.h>
#include <meshwise/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MW_MESH_AXES = 6,      /* axes of a mesh */
    MW_AXIS_NAME = 31,     /* bytes of an axis name */
    MW_MESH_RANKS = 65536, /* ranks of a mesh */
    MW_LAYOUT_DIMS = 8,    /* dims of a tensor */
    MW_DIM_FACTORS = 8,    /* factors of a dim */
    MW_DIM_CUTS = 12,      /* cuts of a dim */
    MW_LAYOUT_PARTIALS = 8
};

/* ---- mesh ---------------------------------------------------------------------------------- */

/* Immutable, reference-counted, shared between ranks. Two meshes are the same if names, sizes and
 * rank order are. */
typedef struct mw_mesh mw_mesh;

/* Reads `x=2,y=4` or `x=2,y=4 ids=[0,4,1,5,2,6,3,7]` (the rank at each grid place, row-major).
 * Fails: MW_ERR_PARSE with column and caret; MW_ERR_ARG for an axis twice, a size below 1, too many
 * axes or ranks, ids that are not a permutation. The caller owns the result. */
MW_API MW_NODISCARD mw_status mw_mesh_parse(const char *text, mw_mesh **ret);
MW_API mw_mesh *mw_mesh_ref(mw_mesh *mesh); /* returns mesh; atomic */
MW_API void mw_mesh_unref(mw_mesh *mesh);   /* NULL is fine; atomic */

MW_API int mw_mesh_ranks(const mw_mesh *mesh);
MW_API int mw_mesh_axes(const mw_mesh *mesh);
MW_API const char *mw_mesh_axis_name(const mw_mesh *mesh, int axis); /* borrowed */
MW_API int mw_mesh_axis_size(const mw_mesh *mesh, int axis);
MW_API int mw_mesh_axis_find(const mw_mesh *mesh, const char *name, int length); /* or -1 */
MW_API int mw_mesh_coord(const mw_mesh *mesh, int rank, int axis);
MW_API int mw_mesh_rank_at(const mw_mesh *mesh, const int *coords); /* one coordinate per axis */
MW_API int mw_mesh_same(const mw_mesh *a, const mw_mesh *b);

/* The text that mw_mesh_parse reads, into `to` of `size` bytes (always NUL-terminated); returns the
 * length that the whole text has. */
MW_API int mw_mesh_print(const mw_mesh *mesh, char *to, int size);

/* ---- layout --------------------------------------------------------------------------------- */

/* One cut. axis >= 0: the part of size `size` of that mesh axis after a major part of size `major`
 * (major 1 and size = the axis: all of it). axis == MW_CUT_LOCAL: `size` local chunks, all kept.
 * `joint`: cuts together with the cut before it, as one axis (that one major). */
enum { MW_CUT_LOCAL = -1 };
typedef struct mw_cut {
    int16_t axis;
    uint16_t joint;
    int32_t major;
    int32_t size;
} mw_cut;

/* One dim: its factors, major to minor, and the cuts of all of them in order. All unused bytes are
 * zero. A dim without factors has size 1. */
typedef struct mw_dim {
    uint8_t nfactor, ncut;
    uint8_t open;                   /* propagation may add axes */
    uint8_t cuts[MW_DIM_FACTORS];   /* how many of `cut` each factor has */
    uint8_t unused[5];              /* no padding: equal dims have equal bytes */
    int64_t factor[MW_DIM_FACTORS]; /* sizes */
    mw_cut cut[MW_DIM_CUTS];
} mw_dim;

/* X(name, value, text, identity as double). How the terms of a partial tensor combine. */
#define MW_REDUCE_MAP(X)        \
    X(SUM, 1, "sum", -0.0)      \
    X(AVG, 2, "avg", -0.0)      \
    X(MAX, 3, "max", -HUGE_VAL) \
    X(MIN, 4, "min", HUGE_VAL)  \
    X(PROD, 5, "prod", 1.0)

typedef enum mw_reduce {
    MW_REDUCE_NONE = 0,
#define X(name, value, text, identity) MW_REDUCE_##name = (value),
    MW_REDUCE_MAP(X)
#undef X
        MW_REDUCE_END
} mw_reduce;

/* The axis (or part of an axis) over which a tensor is partial. */
typedef struct mw_partial {
    uint16_t kind; /* mw_reduce */
    int16_t axis;
    int32_t major, size;
} mw_partial;

/* A plain value without pointers: copy freely, `= {0}` is a layout of no dims (a scalar without
 * dtype). Canonical layouts are equal iff their bytes are. */
typedef struct mw_layout {
    uint8_t dtype; /* mw_dtype; MW_DTYPE_NONE where not stated */
    uint8_t ndim, npartial;
    uint8_t unused[5];
    mw_dim dim[MW_LAYOUT_DIMS];
    mw_partial partial[MW_LAYOUT_PARTIALS]; /* by axis, then major part */
} mw_layout;

/* Reads layout text, `f32[16@x, 8]{sum:y}`, with or without the dtype; canonical on return.
 * Fails: MW_ERR_PARSE with column and caret (unknown dtype, unknown axis with the nearest name, an
 * axis used twice, mixed partial kinds, a sub-axis that does not fit, ...); MW_ERR_SHAPE where the
 * size overflows. */
MW_API MW_NODISCARD mw_status mw_layout_parse(const mw_mesh *mesh, const char *text,
                                              mw_layout *ret);

/* Prints a layout as its text; as mw_mesh_print. */
MW_API int mw_layout_print(const mw_mesh *mesh, const mw_layout *layout, char *to, int size);

/* The replicated layout of a shape. ndim <= MW_LAYOUT_DIMS. */
MW_API mw_layout mw_layout_replicated(mw_dtype dtype, int ndim, const int64_t *shape);

/* Same owners, same partial axes, same dtype: canonical bytes agree. Both must be canonical. */
MW_API int mw_layout_equal(const mw_layout *a, const mw_layout *b);

/* The size of dim `dim`, and the sizes of all into shape[ndim]. */
MW_API int64_t mw_layout_size(const mw_layout *layout, int dim);
MW_API void mw_layout_shape(const mw_layout *layout, int64_t *ret_shape);

/* The shape of the shard of `rank` (in mesh order: the rank's own number). Dims may be 0. */
MW_API void mw_layout_local_shape(const mw_mesh *mesh, const mw_layout *layout, int rank,
                                  int64_t *ret_shape);

/* How the tensor lies when it is seen as `shape`, the same elements in the same row-major order (a
 * view): the same owners, dtype and partial axes. Fails: MW_ERR_SHAPE for another number of
 * elements, MW_ERR_LAYOUT where the new dims cut through what a rank holds. Pure. */
MW_API MW_NODISCARD mw_status mw_layout_view(const mw_mesh *mesh, const mw_layout *layout, int ndim,
                                             const int64_t *shape, mw_layout *ret);

/* Global positions [first, end) in rising order. */
typedef struct mw_range {
    int64_t first, end;
} mw_range;

/* The positions that `rank` holds of dim `dim`: up to `cap` maximal ranges into ret_range; returns
 * how many there are in all. */
MW_API int64_t mw_layout_ranges(const mw_mesh *mesh, const mw_layout *layout, int rank, int dim,
                                mw_range *ret_range, int64_t cap);

#ifdef __cplusplus
}
#endif
#endif
