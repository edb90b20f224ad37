/* classic_search: what the files of the classic search share: states, and what lies between two. */
#ifndef PLAN_CLASSIC_SEARCH_H
#define PLAN_CLASSIC_SEARCH_H

#include "plan/classic.h"

enum { MOST_ATOMS = 24, MOST_SEQS = 60000, MOST_RANKS = 1024 };

/* What may cut a dim: a prime part of a mesh axis; a larger part, which is needed where sizes do
 * not divide (there two cuts by 2 are not one by 4); or, in one dim only, all cuts of that dim as
 * they stand, where they are not plain (strided, joint): such a dim is cut all at once or not at
 * all. */
typedef struct atom {
    uint32_t bits; /* the prime parts that it takes up */
    int axis;
    int32_t major, size;
    const mw_dim *whole; /* NULL: a part, for any dim */
    int dim;             /* of `whole` */
} atom;

/* One order of atoms cutting one dim, major to minor: a node of the dim's trie. */
typedef struct seq {
    int32_t parent; /* -1: the root, nothing cut */
    int32_t child[MOST_ATOMS];
    uint32_t bits;
    int8_t atom, depth;
    bool even; /* all ranks hold as many positions */
    bool opaque;
    int64_t ways;    /* chunks */
    int64_t largest; /* positions of the rank that holds most */
    /* What each relevant rank holds, NULL where not yet asked for: positions lo[r] .. hi[r), or
     * where it is opaque range[first[r]] .. range[first[r + 1]). */
    double *lo, *hi;
    mw_range *range;
    int64_t *first;
} seq;

/* A mesh, and the atoms of its axes. */
typedef struct side {
    const mw_mesh *mesh;
    const mw_layout *ends[2]; /* source or target on this mesh, or NULL */
    uint32_t busy;            /* parts that cut nothing that changes: never free */
    int nbase, npart, natom;  /* primes, then larger parts, then dims as they stand */
    atom atoms[MOST_ATOMS];
    int32_t root[MW_LAYOUT_DIMS];
    int (*coord)[MW_MESH_AXES]; /* of every relevant rank */
} side;

typedef struct state {
    int32_t seq[MW_LAYOUT_DIMS];
    uint8_t partial; /* entries of the source's partials that are not yet combined */
    uint8_t side;
    uint8_t hub; /* 0: a state; else the place where permutes meet */
    uint8_t unused;
} state;

typedef struct space {
    mw_arena *arena;
    const mw_layout *from, *to;
    int ndim, nside, nrank; /* relevant ranks */
    side side[2];
    bool fixed[MW_LAYOUT_DIMS]; /* not plain, and the same in source and target: left alone */
    uint32_t partial_bits[MW_LAYOUT_PARTIALS]; /* the parts over which the source is partial */
    uint8_t kept;                              /* its partials that the target has too */
    seq *seqs;
    int nseq;
    double *scratch;       /* [2 nrank] */
    int64_t looks, worked; /* ranks looked at; what the last search took */
    bool full;             /* out of room: what was found need not be the best */
    bool no_memory;        /* a row could not be made */
    bool coarse;           /* too many ranks to look at each: the largest shards stand for all */
} space;

/* ---- classic_space.c ---- */

/* The sequence with one atom more; -1 where there is no room or the atom does not fit there. */
int32_t mw__seq_child(space *s, int side, int dim, int32_t at, int a);

/* The sequence cut by one part of an axis more: as one cut, or prime by prime where that is the
 * same. */
int32_t mw__seq_cut(space *s, int side, int dim, int32_t at, int32_t axis, int32_t major,
                    int32_t size);

/* Largest shard of a state, in elements. */
double mw__state_shard(const space *s, const state *at);

/* Elements received by the rank that receives most, from one state to another. */
double mw__state_moved(space *s, const state *a, const state *b);

uint32_t mw__state_bits(const space *s, const state *at);

/* The layout of a state: canonical. */
void mw__state_layout(const space *s, const state *at, mw_layout *ret);

/* Lays out sides, atoms and roots; `axes[side]` are those to be split, each into primes in the
 * order `order[side][axis]`. *ret_ok is false where source or target can't be said, or there are
 * too many parts. */
MW_NODISCARD mw_status mw__space_make(space *s, const uint32_t *axes, int order[2][MW_MESH_AXES],
                                      state *ret_from, state *ret_to, bool *ret_ok);

/* Prime sizes of `size` in the nth order (0 ...), false past the last: 6 is 2 then 3, or 3 then 2.
 */
bool mw__primes_in_order(int32_t size, int nth, int32_t *ret, int *ret_n);

/* ---- classic_search.c ---- */

typedef struct pricing {
    mw_minimize minimize;
    const mw_topology *topology;
    double bytes_each;
    double largest; /* elements that a shard may have */
    double bound;   /* a plan of this cost is known: look for cheaper ones only */
    int64_t work;   /* the search is given up after so much of it */
    int most_fan;   /* permutes that are tried from one place, the likeliest first */
    double hurry;   /* 1: the cheapest path; more: what lies ahead weighs as much more, so that some
                       path is found soon, at most this many times as dear */
} pricing;

enum { MOST_PATH = 40 };

/* The states of a cheapest path, both ends and hubs left out of it included: path[0] is the
 * source. *ret_n 0: none is cheaper than the bound. */
MW_NODISCARD mw_status mw__space_search(space *s, const pricing *p, const state *from,
                                        const state *to, state *path, bool *permuted, int *ret_n,
                                        double *ret_cost);

/* ---- inside a search: classic_search.c, classic_permute.c ---- */

typedef struct node {
    state at;
    double cost, ahead; /* from the source; at least to the target */
    int32_t before;     /* node that leads here, -1 */
    int32_t next;       /* of its bucket */
    double settled;     /* the cost at which it was expanded; < 0: not yet */
} node;

typedef struct heap_item {
    double key;
    int32_t node;
} heap_item;

/* Work is a pure measure, the same on every machine: nodes reached, and ranks looked at, of which
 * so many cost as much as a node. */
enum { LOOKS_OF_ONE = 24 };

typedef struct search {
    space *space;
    const pricing *pricing;
    state goal;
    double goal_shard;
    mw_link best_link;
    node *nodes;
    int nnode;
    int32_t *bucket;
    heap_item *heap;
    int nheap;
    int64_t work;
} search;

bool mw__search_tired(const search *s);

/* What a step costs whose ranks talk over the parts in `bits` and receive so many elements. */
double mw__search_price(const search *s, int side, double elements, uint32_t bits, int phases);
double mw__search_tie(const search *s); /* less than anything that is paid for */
double mw__search_ahead(const search *s, const state *at);
bool mw__search_fits(const search *s, const state *at); /* within memory */

/* The node of a state, -1 where it has not been reached; and its bucket. */
int32_t mw__search_find(const search *s, const state *at, uint64_t *ret_hash);

/* Reaches a node at a cost; from there at least `ahead` is to be paid, < 0: not yet known. */
void mw__search_reach(search *s, const state *at, double cost, double ahead, int before);

/* To the place where all permutes into `to_side` meet that start from shards of this shape, and
 * from there to all arrangements. */
void mw__search_enter_hub(search *s, const state *now, int to_side, int from);
void mw__search_leave_hub(search *s, int hub);

#endif
