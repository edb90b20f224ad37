/* owner: what the files of this module share: parts of axes, and dims as one string of factors. */
#ifndef MESH_OWNER_H
#define MESH_OWNER_H

#include "mesh/mesh.h"

/* Parts of one axis that can stand in one layout: neither overlaps nor cuts across the other. Pure.
 */
bool mw__parts_apart(int32_t major_a, int32_t size_a, int32_t major_b, int32_t size_b);

/* Partial kinds that may stand on different axes of one layout. Pure. */
bool mw__reduces_mix(mw_reduce a, mw_reduce b);

/* A cut with all its bytes, padding included. Pure. */
mw_cut mw__cut_make(int axis, bool joint, int32_t major, int32_t size);

/* A rank's coordinate on a part of an axis. Pure. */
static inline int64_t mw__part_coord(const mw_mesh *mesh, const mw_cut *cut, const int *coord)
{
    int minor = mesh->size[cut->axis] / (cut->major * cut->size);
    return coord[cut->axis] / minor % cut->size;
}

/* Length of the run of cuts that cut together, from `cut` on, of `n` cuts; the product of their
 * sizes into *ret_size. Pure. */
static inline int mw__cut_group(const mw_cut *cut, int n, int64_t *ret_size)
{
    int64_t size = cut[0].size;
    int count = 1;
    for (; count < n && cut[count].joint; count++)
        size *= cut[count].size;
    *ret_size = size;
    return count;
}

/* Positions 0..length-1 in chunks of ceil(length / parts): torch.chunk's rule. Pure. */
static inline int64_t mw__chunk(int64_t length, int64_t parts)
{
    return length / parts + (length % parts != 0);
}

#endif
