/* digits: a dim whose cuts all divide, as a mixed-radix number: which digits belong to axes. */
#ifndef MESH_DIGITS_H
#define MESH_DIGITS_H

#include "mesh/mesh.h"

/* axis >= 0: a part of that axis; MW_CUT_LOCAL: free, every rank runs through it. */
typedef struct mw__digit {
    int axis;
    int32_t major; /* 0 where free */
    int64_t size;
} mw__digit;

enum { MW__DIGITS = 2 * MW_LAYOUT_DIMS * (MW_DIM_CUTS + 2) };

/* Major to minor; neighbours merged, no digit of size 1. */
typedef struct mw__digits {
    int count;
    mw__digit at[MW__DIGITS];
} mw__digits;

/* Appends the dim (of size > 0) as more minor digits. False where some cut does not divide. */
bool mw__digits_add(mw__digits *digits, const mw_dim *dim);

/* The least text of a string of digits. False where it needs more factors or cuts than a dim has.
 */
bool mw__digits_dim(const mw__digit *digit, int count, mw_dim *ret);

#endif
