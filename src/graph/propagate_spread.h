/* propagate_spread: how one dim, or one factor of a dim, is spread over mesh axes. Interned: equal
 * spreads are one pointer, and what is worked out from them is remembered.
 *
 * Most are plain: "cut by these axes in this order", whatever the size. Others are not (3@x·4: of
 * each third a part): those keep their dim. A spread is a list of axes either way, and one is a
 * prefix of another if the list is and the owners agree. */
#ifndef GRAPH_PROPAGATE_SPREAD_H
#define GRAPH_PROPAGATE_SPREAD_H

#include "base/lookup.h"
#include "graph/propagate_axis.h"

typedef struct spread {
    bool plain;
    uint32_t axes; /* bit per axis */
    int64_t product;
    mw_axis_list list;
    mw_dim dim; /* of one that is not plain */
} spread;

/* Remembers pointers by bytes, in the arena of the lookup. Where the value of a key stands: NULL
 * there until it is set. NULL: no memory. */
const void **mw__memo_at(mw_lookup *memo, const void *key, size_t size);

enum { SPREAD_FACTORS = MW_LAYOUT_DIMS }; /* of a dim: what mesh regroups at once */

typedef struct spreads {
    const mw_mesh *mesh;
    mw_arena *arena;
    mw_lookup known;
    const spread *none; /* cut by nothing */
    bool failed;        /* no memory: results are `none` from then on */
} spreads;

MW_NODISCARD mw_status mw__spreads_init(spreads *s, const mw_mesh *mesh, mw_arena *arena);

const spread *mw__spread_plain(spreads *s, const mw_axis_list *list);
const spread *mw__spread_of(spreads *s, const mw_dim *dim);

/* The dim of that size. False where no dim can say it. */
bool mw__spread_dim(spreads *s, const spread *x, int64_t size, mw_dim *ret);

/* The spread by the first axes alone, as far as `list`, which its own list begins with, goes. */
const spread *mw__spread_cut(spreads *s, const spread *x, const mw_axis_list *list);
bool mw__spread_strict_prefix(spreads *s, const spread *a, const spread *b);

/* As mw__axis_list_meet. */
const spread *mw__spread_meet(spreads *s, const spread *had, const spread *more, bool *grow);

/* A dim's spread as those of its factors, of n sizes, major first. *ret_over: axes of the dim that
 * fall on no factor (`none`: all do), and at which factor they stopped. */
typedef struct spread_parts {
    const spread *at[SPREAD_FACTORS];
    const spread *over;
    int over_at;
} spread_parts;
const spread_parts *mw__spread_split(spreads *s, const spread *x, const int64_t *size, int n);

/* Back: the dim whose factors are spread so, or NULL where no dim can say it. */
const spread *mw__spread_join(spreads *s, const spread *const *part, const int64_t *size, int n);

#endif
