/* optimise, inside: counts and replacements that its steps share. */
#ifndef GRAPH_OPTIMISE_H
#define GRAPH_OPTIMISE_H

#include "graph/graph.h"
#include "graph/moves.h"

typedef struct optimiser {
    mw_graph *graph;
    mw_moves moves;
    mw_arena scratch;
    bool lowered; /* movements are steps of plans already */
    int *uses;    /* [nvalue] by id, at the start of each step */
    mw_ssa **now; /* [nvalue] by id: what stands for a value; NULL: itself */
    int64_t n;
    int64_t changes;
} optimiser;

/* Counts all uses anew and forgets replacements. */
MW_NODISCARD mw_status optimise_count(optimiser *o);

/* Uses become those of what stands for a value. */
void optimise_replace(optimiser *o);

MW_NODISCARD mw_status optimise_dead(optimiser *o);   /* what nobody sees goes */
MW_NODISCARD mw_status optimise_common(optimiser *o); /* what is made twice is made once */
MW_NODISCARD mw_status optimise_chains(optimiser *o); /* movements after each other: one */
MW_NODISCARD mw_status optimise_delay(optimiser *o);  /* terms are combined after linear ops */
MW_NODISCARD mw_status optimise_constants(optimiser *o);
MW_NODISCARD mw_status optimise_hoist(optimiser *o);

#endif
