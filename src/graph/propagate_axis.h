/* propagate_axis: parts of mesh axes, and ordered lists of them. A part is the digits [major,
 * major * size) of an axis: with x = 16, x:(2)4 is the middle one of 2 * 4 * 2. Lists are ordered
 * as they cut: the first is the major one. Pure. */
#ifndef GRAPH_PROPAGATE_AXIS_H
#define GRAPH_PROPAGATE_AXIS_H

#include "mesh/mesh.h"

typedef struct mw_axis_ref {
    int16_t axis;
    int32_t major, size;
} mw_axis_ref;

mw_axis_ref mw__axis_ref_whole(const mw_mesh *mesh, int axis);
bool mw__axis_ref_equal(mw_axis_ref a, mw_axis_ref b);

/* Does `a` hold all of `b`? Do they begin (end) alike, `a` being the shorter or the same? */
bool mw__axis_ref_contains(mw_axis_ref a, mw_axis_ref b);
bool mw__axis_ref_prefix_of(mw_axis_ref a, mw_axis_ref b);
bool mw__axis_ref_suffix_of(mw_axis_ref a, mw_axis_ref b);

/* Have they digits in common? */
bool mw__axis_ref_overlaps(mw_axis_ref a, mw_axis_ref b);

/* Can one tensor name both? Of x = 6, x:(1)2 and x:(3)2 can't: 6 is not 2 * .. * 3 * .. */
bool mw__axis_ref_coexist(mw_axis_ref a, mw_axis_ref b);

/* What both have; the longest that both begin with; `a` up to (from) where `b` begins (ends). False
 * where nothing is left. */
bool mw__axis_ref_overlap(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret);
bool mw__axis_ref_common_prefix(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret);
bool mw__axis_ref_prefix_without(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret);
bool mw__axis_ref_suffix_without(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret);

/* `b` continues `a`: x:(1)2 and x:(2)2 are x:(1)4. */
bool mw__axis_ref_merge(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret);

/* ---- lists ---------------------------------------------------------------------------------- */

typedef struct mw_axis_list {
    int n;
    mw_axis_ref at[MW_DIM_CUTS];
} mw_axis_list;

int64_t mw__axis_list_product(const mw_axis_list *list);

/* Appends; merges with the last one where it continues that. False: no room. */
bool mw__axis_list_add(mw_axis_list *list, mw_axis_ref ref);

/* What two lists begin with alike; the last of it may be a part of both last ones. */
mw_axis_list mw__axis_list_common(const mw_axis_list *a, const mw_axis_list *b);

/* Is `a` what `b` begins with, and shorter? (x:(1)2 begins x.) */
bool mw__axis_list_strict_prefix(const mw_axis_list *a, const mw_axis_list *b);

/* The major axes on which `had` and `more` agree. Where one goes on after the other, the longer: if
 * it is `more`, only if *grow. Where they part, what lies before, and *grow becomes false. */
mw_axis_list mw__axis_list_meet(const mw_axis_list *had, const mw_axis_list *more, bool *grow);

#endif
