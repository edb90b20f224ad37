/* moves: layouts by number, and what it costs to bring a tensor from one to another, worked out
 * once for each pair. For passes that compare many: a layout is large, and so is a plan. */
#ifndef GRAPH_MOVES_H
#define GRAPH_MOVES_H

#include "base/lookup.h"
#include "plan/plan.h"

typedef struct mw_price {
    int64_t bytes; /* received by all ranks */
    double us;
    int steps;
} mw_price;

typedef struct mw_route {
    int from, to;
    int via; /* a layout in between through which less is received; -1: straight */
    mw_price price;
    int64_t recv_bytes, peak_bytes; /* of the largest rank; of the largest state */
} mw_route;

typedef struct mw_moves {
    const mw_mesh *mesh;
    bool thorough; /* look for what moves least even where it is not what is fastest */
    mw_arena arena, scratch;
    const mw_layout **layout; /* [n] */
    int64_t n, cap;
    mw_lookup layout_lookup; /* numbers */
    mw_lookup route_lookup;  /* mw_route, by both numbers */
} mw_moves;

void mw__moves_init(mw_moves *m, const mw_mesh *mesh);
void mw__moves_done(mw_moves *m);

/* The number of a layout; its `open` flags are passed over. */
MW_NODISCARD mw_status mw__moves_number(mw_moves *m, const mw_layout *layout, int *ret);

/* What it takes to get from one to the other, of the same shape and dtype. Borrowed from `m`. */
MW_NODISCARD mw_status mw__moves_get(mw_moves *m, int from, int to, const mw_route **ret);

/* Less bytes, then less time, then fewer steps: < 0 where a is the better. */
int mw__price_compare(const mw_price *a, const mw_price *b);
void mw__price_add(mw_price *a, const mw_price *b);

#endif
