/* planner: the plans that there are from one layout to another, and the choice among them. */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include "plan/classic.h"

/* Bytes that each rank must receive at least, into each[ranks]: what its target shard
 * has and its source shard lacks. Where terms are to be combined: the target shard (a statement,
 * *ret_reduction). Where the target is partial over more axes: what nobody of the group holds,
 * shared among them. */
MW_NODISCARD mw_status mw__plan_bound(const mw_mesh *mesh, const mw_layout *from,
                                      const mw_mesh *to_mesh, const mw_layout *to, mw_arena *arena,
                                      int64_t *each, bool *ret_reduction);

/* One of the plans that there are. */
typedef struct mw_candidate {
    mw_plan plan;
    mw_replay replay;
    bool above; /* some state is larger than source and target */
} mw_candidate;

enum { MW_CANDIDATES = 8 };
typedef struct mw_candidates {
    int n, best;
    mw_candidate *at; /* [MW_CANDIDATES] */
} mw_candidates;

/* All plans worth a look, without duplicates, and which of them is the best. In the arena. */
MW_NODISCARD mw_status mw__plan_candidates(const mw_mesh *mesh, const mw_layout *from,
                                           const mw_layout *to, const mw_plan_options *options,
                                           mw_arena *arena, mw_candidates *ret);

struct mw_planned {
    mw_arena arena; /* all that the rest points to */
    mw_mesh *mesh, *to_mesh;
    mw_plan plan;
    mw_layout to;
    mw_plan_facts facts;
    mw_plan_step *step;
    mw_plan_link *link;
    mw_plan_alternative *alternative;
};

#endif
