/* search: the least text of a dim with given owners. */
#ifndef MESH_SEARCH_H
#define MESH_SEARCH_H

#include "mesh/line.h"

/* Larger dims are not searched: sizes times ranks stay far from the end of 64 bits. */
#define MW__SEARCH_SIZE ((int64_t)1 << 44)

/* What to find: a dim of `size` positions, whose position u is held, on each of the parts, by the
 * coordinate that holds position u * stride of `line`. */
typedef struct mw__wanted {
    const mw_mesh *mesh;
    const mw__line *line;
    int64_t size, stride;
    int npart;
    mw_cut part[MW_DIM_CUTS];
    int most_local; /* local cuts that the text may have */
} mw__wanted;

/* The least text (in the order: local cuts, factors, joint cuts, cuts, names, sizes, cuts).
 * `known` (or NULL) is a text with these owners, tidy (mw__dim_tidy): the search never gives worse.
 * False where no text was found. Pure; bounded work, above which `known` is returned. */
bool mw__dim_least(const mw__wanted *wanted, const mw_dim *known, mw_dim *ret);

/* The dim without cuts of size 1, local cuts that nothing follows, and factors that say nothing;
 * uncut neighbours are merged. The same owners. */
mw_dim mw__dim_tidy(const mw_dim *dim);

#endif
