/* propagate: the state of propagation, shared by its files. propagate.c says in which order nodes
 * are visited, propagate_visit.c what a visit does. */
#ifndef GRAPH_PROPAGATE_H
#define GRAPH_PROPAGATE_H

#include "graph/propagate_rule.h"

/* What is known of a value so far. Results written in place have that of the operand. */
typedef struct flow_value {
    mw_ssa *ssa;
    const spread **at; /* by dim */
    uint32_t open;     /* bit per dim: may get more axes */
    int nheld; /* axes that its dims can't have: partial over them, or their turn comes later */
    mw_axis_ref *held;
    int uses;     /* by nodes, and as a result */
    bool follows; /* made of nothing, and not annotated: lies as its users like */
    int version;  /* counts changes */
} flow_value;

/* A factor of one tensor of the node that is being visited. */
typedef struct flow_lane {
    const spread *at, *over; /* over: axes of the dim that fall on no factor */
    int64_t size;
    int dim, nth; /* the factor is the nth of that dim */
    bool has, closed, minor;
} flow_lane;

typedef struct flow {
    mw_graph *graph;
    bool basic; /* a factor passes what all tensors of the node can take, or nothing */
    mw_arena arena;
    spreads spread[MW_GRAPH_MESHES];
    mw_lookup rules;
    flow_value **value; /* [nvalue] by id */
    flow_lane *lane;    /* room for a visit: [tensor][factor] */
    int64_t cap_lane;
} flow;

/* What a node's factors make its tensors agree on. ret_changed[nin + nout]: which got more axes. */
MW_NODISCARD mw_status mw__flow_visit(flow *f, const mw_node *node, const flow_rule *rule,
                                      flow_step step, bool *ret_changed);

/* The pass, in the simpler way that Shardy calls basic where `basic` is set: a conflict in one
 * tensor of a node holds the factor back in all. */
MW_NODISCARD mw_status mw__propagate(mw_graph *graph, bool basic);

#endif
