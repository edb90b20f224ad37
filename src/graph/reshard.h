/* reshard, inside: what its files share. Layouts are numbers of `moves`; the copies that there are
 * of a value are a set of such numbers, and sets are numbers too.
 *
 *     reshard_sets.c     sets of copies by number, and what lies between two
 *     reshard_class.c    nodes that are alike
 *     reshard_ways.c     the ways to run one node, its operands' copies given, with their prices
 *     reshard_search.c   one way for each node, the least sum over the graph
 *     reshard_asked.c    which movements somebody asked for
 *     reshard.c          what is fixed, what is free; the graph rewritten */
#ifndef GRAPH_RESHARD_H
#define GRAPH_RESHARD_H

#include "graph/graph.h"
#include "graph/moves.h"

enum { RESHARD_COPIES = 4, RESHARD_WORK = 2000000 };

/* The layouts in which a value is there. */
typedef struct copies {
    bool free;   /* it may lie in any way, at no cost: `at` holds the whole layout */
    bool pinned; /* its memory is written in place: what is moved is no copy of it for long */
    int n, at[RESHARD_COPIES]; /* the first is where it was made */
} copies;

/* What is counted, in this order: bytes, time, steps; then the elements that ops work on. */
typedef struct cost {
    mw_price price;
    double work;
} cost;

/* One way to run a node: the layouts on which it works and which it gives, and the sets of copies
 * that there are afterwards. */
typedef struct node_way {
    int *in, *out;              /* [nin], [nout] layouts */
    int *after, *made;          /* [nin], [nout] sets */
    int *target;                /* [nout] the layout to which a result must be brought; -1: none */
    bool parts, there_and_back; /* the second: operand 0 is written, and may not stay moved */
    cost cost;
} node_way;

typedef struct ways {
    int n, nother; /* the second: that no search needs, kept to be told as alternatives */
    node_way *at;  /* [n + nother] the cheapest first */
} ways;

enum { RESHARD_OTHERS = 3 };

/* Nodes that are alike have the same ways. */
typedef struct node_class {
    int number;
    mw_node *node; /* one that is so; NULL: a result */
    mw_ssa *result;
    bool *dies;
    const mw_layout **want; /* [nout] how results would be liked; NULL: no matter */
} node_class;

typedef struct value_state {
    int initial; /* the set of an input or a constant; else -1 */
    int uses;    /* left: by nodes, and as a result that is not stated */
    int slot;    /* its place in a state of the search; -1: none */
    bool free;
} value_state;

typedef struct reshard {
    mw_graph *graph;
    mw_moves moves;
    mw_arena arena, scratch;
    bool wide;          /* all ways, not only those that something speaks for */
    bool alone;         /* one op: as an eager call has it */
    int64_t work;       /* done so far: ways listed, states made; past a limit less is looked at */
    value_state *value; /* [nvalue] by id */
    bool *is_result;    /* [nvalue] */
    copies *set;        /* [nset] */
    int64_t nset, cap_set;
    mw_lookup set_lookup;   /* numbers; these four in the arena */
    mw_lookup class_lookup; /* node_class */
    mw_lookup ways_lookup;  /* known_ways, by class and sets */
    mw_lookup gap_lookup;   /* known_gap, by two sets */
    int nclass;
    int nnode;             /* that are decided: ops, marks, steps; then one for each open result */
    mw_node **node;        /* [nnode]; NULL: a result */
    mw_ssa **result;       /* [nnode]; NULL: a node */
    node_class **class_of; /* [nnode] */
    const node_way **chosen; /* [nnode] */
    const ways **among;      /* [nnode] the list that it is from */
    mw_error refused;        /* why a node had no way, operands lying so; code 0: all had one */
} reshard;

MW_NODISCARD mw_status reshard_set(reshard *r, const copies *c, int *ret);

/* What it costs to have the copies of `to` as well where those of `from` are. */
MW_NODISCARD mw_status reshard_gap(reshard *r, int from, int to, mw_price *ret);

/* The cheapest of the copies from which to get to a layout. `ret` may be NULL. */
MW_NODISCARD mw_status reshard_source(reshard *r, const copies *c, int to, int *ret_from,
                                      mw_price *ret);

/* The class of node i; `dies[k]`: operand k is not used after it. */
MW_NODISCARD mw_status reshard_class(reshard *r, int i, const bool *dies, node_class **ret);
MW_NODISCARD mw_status reshard_ways_of(reshard *r, int i, node_class *c, const int *sets,
                                       const ways **ret);

/* Marks the movements of the graph that somebody asked for. */
MW_NODISCARD mw_status reshard_asked(reshard *r);

/* Chooses a way for every node. */
MW_NODISCARD mw_status reshard_search(reshard *r);

/* Is the value read, or a result? Which operand before k is the same value (k: none)? */
bool reshard_used(const reshard *r, const mw_ssa *v);
int reshard_first_like(const mw_node *node, int k);

int reshard_nin(const reshard *r, int i);
mw_ssa *reshard_in(const reshard *r, int i, int k);

/* The layout `stated`, its dims that are open and whole as `from` has them where that can be said.
 */
mw_layout reshard_filled(const mw_layout *stated, const mw_layout *from);

#endif
