/* topology: what the links of each mesh axis cost. */
#ifndef PLAN_TOPOLOGY_H
#define PLAN_TOPOLOGY_H

#include "plan/plan.h"

#include <meshwise/plan.h>

typedef struct mw_link {
    double latency_us, bytes_per_us;
} mw_link;

struct mw_topology {
    mw_link otherwise; /* of axes that the file does not name */
    int naxis;
    char name[MW_MESH_AXES][MW_AXIS_NAME + 1];
    mw_link link[MW_MESH_AXES];
};

/* The link of a mesh axis; the built-in one where `topology` is NULL. */
mw_link mw__topology_link(const mw_topology *topology, const mw_mesh *mesh, int axis);

/* Of the axes in the mask: the largest latency, and the least bandwidth. */
mw_link mw__topology_worst(const mw_topology *topology, const mw_mesh *mesh, uint32_t axes);

/* MW_ERR_ARG where it names an axis that neither mesh has. */
MW_NODISCARD mw_status mw__topology_check(const mw_topology *topology, const mw_mesh *a,
                                          const mw_mesh *b);

#endif
