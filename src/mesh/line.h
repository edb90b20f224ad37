/* line: dims side by side as one string of factors over one flat index, and who holds position i.
 */
#ifndef MESH_LINE_H
#define MESH_LINE_H

#include "mesh/owner.h"

enum {
    MW__LINE_FACTORS = MW_LAYOUT_DIMS * MW_DIM_FACTORS,
    MW__LINE_CUTS = MW_LAYOUT_DIMS * MW_DIM_CUTS
};

typedef struct mw__line_factor {
    int64_t size, stride; /* stride: the product of the sizes of all later factors */
    int first, ncut;      /* its cuts in `cut` */
} mw__line_factor;

typedef struct mw__line {
    int64_t size;
    int64_t
        open_chunk; /* not 0: the chunks of the last cuts, while a joint group is not complete */
    int nfactor, ncut;
    mw__line_factor factor[MW__LINE_FACTORS];
    mw_cut cut[MW__LINE_CUTS];
} mw__line;

void mw__line_set(mw__line *line, const mw_dim *dims, int ndim);

/* The coordinate, on the axis part of cut `c` (a mesh axis, of factor `f`), of whoever holds
 * position `at`; up to *ret_next, exclusive, it is the same. Pure. */
int64_t mw__line_coord(const mw__line *line, int f, int c, int64_t at, int64_t *ret_next);

/* The coordinate on any part of an axis of whoever holds a position, as a function of a line. */
typedef struct mw__asked {
    const mw__line *line;
    int count;
    struct {
        int f, c;
        int64_t weight;
    } use[MW__LINE_CUTS];
    int64_t divide, modulo;
    int64_t period; /* the function repeats after this many positions */
} mw__asked;

void mw__asked_set(mw__asked *asked, const mw_mesh *mesh, const mw__line *line, const mw_cut *part);
int64_t mw__asked_coord(const mw__asked *asked, int64_t at, int64_t *ret_next);

/* The first position where the coordinate is not 0, if that is in the first list that the part's
 * cut finds; else -1: who wants to know has to look. */
int64_t mw__asked_rise(const mw__asked *asked);

/* The parts of axes that cut the line: neighbouring parts of an axis merged, by axis, then major
 * part. At most MW__LINE_CUTS; returns how many. */
int mw__line_parts(const mw__line *line, mw_cut *ret_part);

#endif
