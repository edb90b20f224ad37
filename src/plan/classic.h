/* classic: redistribution with the classic collectives only (slice, all_gather, all_to_all,
 * permute, reduce_scatter, all_reduce), by shortest path. */
#ifndef PLAN_CLASSIC_H
#define PLAN_CLASSIC_H

#include "plan/topology.h"

/* What planning says besides the plan. */
typedef struct mw_classic_notes {
    bool above;   /* no plan was found whose states are all within source and target */
    int64_t work; /* of the searches: nodes reached, or as many looks at ranks as cost the same */
} mw_classic_notes;

/* The best plan found from one layout to another, which may lie on another mesh over the same
 * ranks. No state's shard is larger than the larger of source and target, unless no such plan is
 * found: the notes say so. Steps are filled in by mw__plan_replay. Fails as mw__plan_make.
 * Pure. */
MW_NODISCARD mw_status mw__plan_classic(const mw_mesh *mesh, const mw_layout *from,
                                        const mw_layout *to, const mw_plan_options *options,
                                        mw_arena *arena, mw_plan *ret, mw_classic_notes *ret_notes);

/* What a plan does to every rank; also written into the plan's totals and its steps' numbers. */
typedef struct mw_replay {
    int64_t *each; /* [ranks] bytes received */
    int64_t total, largest, peak, live;
    double time_us;
    int64_t link_largest[MW_MESH_AXES], link_total[MW_MESH_AXES]; /* with a topology: by axis */
} mw_replay;
MW_NODISCARD mw_status mw__plan_replay(mw_plan *plan, const mw_topology *topology, mw_arena *arena,
                                       mw_replay *ret);

/* a is the better plan, of two that have been replayed. */
bool mw__plan_better(mw_minimize minimize, const mw_plan *a, const mw_plan *b);

#endif
