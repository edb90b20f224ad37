/* classic: redistribution with the classic collectives only (slice, all_gather, all_to_all,
 * permute, reduce_scatter, all_reduce), by shortest path. */
#ifndef PLAN_CLASSIC_H
#define PLAN_CLASSIC_H

#include "plan/plan.h"

typedef enum mw_minimize { MW_MINIMIZE_TIME, MW_MINIMIZE_BYTES } mw_minimize;

/* The best plan found from one layout to another. The search is over states that cut each dim by an
 * ordered list of prime parts of axes; no state's shard is larger than the larger of source and
 * target. *ret_exact tells whether it was searched to the end; otherwise (strided, joint or too
 * many parts) the plan gathers what changes and slices. Fails as mw__plan_make. Pure. */
MW_NODISCARD mw_status mw__plan_classic(const mw_mesh *mesh, const mw_layout *from,
                                        const mw_layout *to, mw_minimize minimize, mw_arena *arena,
                                        mw_plan *ret, bool *ret_exact);

#endif
