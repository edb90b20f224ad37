/* Random layouts on small meshes, and what a rank holds under one, written out position by
 * position: for tests that move tensors. */
#ifndef LAYOUT_RANDOM_H
#define LAYOUT_RANDOM_H

#include "layout_naive.h"

enum { RANDOM_ELEMENTS = 4096 };

/* A layout of this shape; axes of the mask cut its dims, each at most one of them or (now and then,
 * in parts) two. Canonical. */
static inline mw_layout random_layout(const mw_mesh *mesh, uint64_t *seed, mw_dtype dtype, int ndim,
                                      const int64_t *shape, uint32_t axes, bool odd)
{
    mw_layout l;
    memset(&l, 0, sizeof l);
    l.dtype = (uint8_t)dtype;
    l.ndim = (uint8_t)ndim;
    int first = ndim ? naive_below(seed, ndim) : 0;
    for (int i = 0; i < ndim; i++) {
        int d = (first + i) % ndim;
        if (odd) {
            l.dim[d] = naive_random_dim(mesh, seed, shape[d], axes, true);
        } else {
            l.dim[d] = mw__dim_plain(shape[d]);
            for (int a = 0; a < mw_mesh_axes(mesh); a++)
                if ((axes >> a & 1) && naive_below(seed, 2))
                    (void)mw__dim_append(mesh, &l.dim[d], a, 1, mw_mesh_axis_size(mesh, a));
        }
        axes &= ~mw__dim_axes(&l.dim[d]);
    }
    mw__layout_canonical(mesh, &l);
    return l;
}

/* What is left free of the axis (its minor half) by a cut of its major half in dim d: cuts `other`.
 */
static inline void random_share_axis(const mw_mesh *mesh, mw_layout *l, int d, int other)
{
    for (int i = 0; i < l->dim[d].ncut; i++) {
        const mw_cut *cut = &l->dim[d].cut[i];
        int whole = cut->axis >= 0 ? mw_mesh_axis_size(mesh, cut->axis) : 1;
        if (cut->axis < 0 || cut->major != 1 || cut->size == whole) continue;
        for (int j = 0; j < l->dim[d].ncut; j++)
            if (j != i && l->dim[d].cut[j].axis == cut->axis) return;
        (void)mw__dim_append(mesh, &l->dim[other], cut->axis, cut->size, whole / cut->size);
        mw__layout_canonical(mesh, l);
        return;
    }
}

/* Makes the layout partial over those axes of the mask that cut no dim, each with even chance. */
static inline void random_partials(const mw_mesh *mesh, uint64_t *seed, mw_layout *l,
                                   mw_reduce kind, uint32_t axes)
{
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        if (!(axes >> a & 1) || (mw__layout_axes(l) >> a & 1) || naive_below(seed, 2)) continue;
        mw_partial *p = &l->partial[l->npartial++];
        memset(p, 0, sizeof *p);
        p->kind = (uint16_t)kind;
        p->axis = (int16_t)a;
        p->major = 1;
        p->size = mw_mesh_axis_size(mesh, a);
    }
    mw__layout_canonical(mesh, l);
}

/* The row-major numbers, in the whole, of the elements of a shard, in its own row-major order. */
typedef struct naive_shard {
    int ndim, n;
    int64_t shape[MW_LAYOUT_DIMS];
    int at[RANDOM_ELEMENTS];
} naive_shard;

static inline void naive_coords(const mw_mesh *mesh, int rank, int *coord)
{
    for (int a = 0; a < mw_mesh_axes(mesh); a++)
        coord[a] = mw_mesh_coord(mesh, rank, a);
}

static inline void naive_shard_of(const mw_mesh *mesh, const mw_layout *l, int rank, naive_shard *s)
{
    int coord[MW_MESH_AXES];
    naive_coords(mesh, rank, coord);
    s->ndim = l->ndim;
    s->n = 1;
    s->at[0] = 0;
    for (int d = 0; d < l->ndim; d++) {
        naive_list list = naive_dim(mesh, &l->dim[d], coord);
        int size = 1, n = 0;
        static _Thread_local int next[RANDOM_ELEMENTS];
        for (int f = 0; f < l->dim[d].nfactor; f++)
            size *= (int)l->dim[d].factor[f];
        s->shape[d] = list.n;
        for (int i = 0; i < s->n; i++)
            for (int j = 0; j < list.n; j++)
                next[n++] = s->at[i] * size + list.at[j];
        memcpy(s->at, next, (size_t)n * sizeof *next);
        s->n = n;
    }
}

static inline bool naive_shard_has(const naive_shard *s, int at)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i] == at) return true;
    return false;
}

/* Do the ranks differ on the partial's part of its axis only, and if so by nothing else? The ranks
 * that hold the terms of what `rank` holds are those where this is true for all its partials. */
static inline bool naive_is_term_of(const mw_mesh *mesh, const mw_partial *reduce, int n, int rank,
                                    int other)
{
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        int mine = mw_mesh_coord(mesh, rank, a), theirs = mw_mesh_coord(mesh, other, a);
        for (int i = 0; i < n; i++) {
            if (reduce[i].axis != a) continue;
            int unit = mw_mesh_axis_size(mesh, a) / (reduce[i].major * reduce[i].size);
            mine -= mine / unit % reduce[i].size * unit;
            theirs -= theirs / unit % reduce[i].size * unit;
        }
        if (mine != theirs) return false;
    }
    return true;
}

static const char *const random_meshes[] = {"x=2",
                                            "x=3",
                                            "x=4",
                                            "x=6",
                                            "x=2,y=2",
                                            "x=2,y=3",
                                            "x=4,y=2",
                                            "x=2,y=2,z=2",
                                            "x=2,y=3 ids=[5,0,3,1,4,2]",
                                            "x=3,y=2",
                                            "x=4 ids=[2,0,3,1]"};

/* A shape of 1 to 3 dims of sizes 0 to 24, of not too many elements. */
static inline int random_shape(uint64_t *seed, int64_t *shape)
{
    static const int most[] = {0, 24, 16, 10};
    int ndim = 1 + naive_below(seed, 3);
    for (int d = 0; d < ndim; d++)
        shape[d] = naive_below(seed, 20) == 0 ? 0 : 1 + naive_below(seed, most[ndim]);
    return ndim;
}

#endif
