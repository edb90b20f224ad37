/* propagate_rule: what a node's operands and results have to do with one another, as factors: those
 * of its op's rule, of the two shapes of a reshape, or (marks, movements) one for each dim. */
#ifndef GRAPH_PROPAGATE_RULE_H
#define GRAPH_PROPAGATE_RULE_H

#include "graph/graph.h"
#include "graph/propagate_spread.h"

/* When factors take part. Each step does what those before it did, and more. */
typedef enum flow_step {
    FLOW_SAME,      /* ops that keep the elements' places or permute them, operands used once */
    FLOW_SAME_MANY, /* those ops in any case */
    FLOW_THROUGH, /* factors that no op contracts, needs whole or moves; back through broadcasts */
    FLOW_ANY,     /* all factors */
    FLOW_BROADCAST, /* on through broadcasts */
    FLOW_STRIDED,   /* to dims that this cuts behind a whole part (4·2@x) */
    FLOW_STEPS
} flow_step;

typedef struct flow_factor {
    const char *name;
    int64_t size;
    uint8_t from; /* the step from which it propagates, in an op that is not `same` */
    bool loose;   /* of other sizes here and there (slice, pad, cat): only plain spreads pass */
} flow_factor;

typedef struct flow_dim {
    int n; /* factors, major first; 0: nothing passes */
    int factor[SPREAD_FACTORS];
    int64_t size[SPREAD_FACTORS];
} flow_dim;

typedef struct flow_tensor {
    int ndim;
    const flow_dim *dim;
    int64_t count;        /* elements */
    uint8_t takes, gives; /* the steps from which it does; FLOW_STEPS: never */
} flow_tensor;

typedef struct flow_rule {
    int nfactor, nin, nout;
    const flow_factor *factor;
    const flow_tensor *tensor;    /* [nin + nout] */
    bool same;                    /* keeps all elements: pass-through */
    bool elementwise;             /* and in place */
    const struct flow_rule *more; /* tried after this one; NULL mostly */
} flow_rule;

/* The rule of a node; nodes of equal structure share theirs. NULL through *ret: nothing passes.
 * Fails with what the op's rule fails with. */
MW_NODISCARD mw_status mw__flow_rule_of(const mw_node *node, mw_lookup *known,
                                        const flow_rule **ret);

/* Factors that two shapes of as many elements share: digits that lie in a dim of each. */
MW_NODISCARD mw_status mw__flow_reshape(const mw_meta *in, const mw_meta *out, mw_arena *arena,
                                        flow_rule *ret);

#endif
