/* Plans: how a tensor gets from one layout to another, and what that costs.
 *
 *     f32[16@y, 8@x] -> f32[16@y, 8]        all_gather x dim 1        each rank receives 64 B
 *
 * With the exchange every rank receives exactly what it lacks, in one step. With the classic
 * collectives alone (slice, all_gather, all_to_all, permute, reduce_scatter, all_reduce) the plan
 * is a shortest path over layouts, and no state's shard is larger than the larger of source and
 * target where any such path exists.
 *
 *     mw_planned *plan;
 *     if (mw_plan_layouts(mesh, &from, &to, NULL, &plan) == MW_OK) {
 *         const mw_plan_facts *facts = mw_planned_facts(plan);
 *         for (int i = 0; i < facts->nstep; i++)
 *             puts(mw_planned_step(plan, i)->text);
 *         mw_planned_free(plan);
 *     }
 */
#ifndef MESHWISE_PLAN_H
#define MESHWISE_PLAN_H

#include <meshwise/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- topology --------------------------------------------------------------------------------
 * What the links of each mesh axis cost. */
typedef struct mw_topology mw_topology;

/* Reads lines `axis NAME: latency_us 10, gbps 25` (gigabits a second), `default: ...` for the other
 * axes, and `#` comments. Fails: MW_ERR_PARSE with line, column and caret. The caller owns the
 * result. Pure. */
MW_API MW_NODISCARD mw_status mw_topology_parse(const char *text, mw_topology **ret);
MW_API void mw_topology_free(mw_topology *topology); /* NULL is fine */

/* ---- planning ---------------------------------------------------------------------------------
 */

typedef enum mw_plan_steps { MW_STEPS_ALL, MW_STEPS_CLASSIC } mw_plan_steps;

/* TIME: least time. BYTES: fewest received by the rank that receives most, then by all together,
 * then least time. */
typedef enum mw_minimize { MW_MINIMIZE_TIME, MW_MINIMIZE_BYTES } mw_minimize;

typedef struct mw_plan_options { /* all 0: the defaults */
    mw_plan_steps steps;
    mw_minimize minimize;
    const mw_topology *topology; /* NULL: all links are alike */
    const mw_mesh *to_mesh; /* of the target: another mesh over the same ranks; NULL: the same */
} mw_plan_options;

typedef struct mw_planned mw_planned;

/* Plans from one canonical layout to another of the same sizes and dtype.
 * Fails: MW_ERR_LAYOUT where shapes or dtypes differ, or partial kinds do, or a partial target lies
 * on another mesh; MW_ERR_ARG for meshes of different numbers of ranks, or a topology that names
 * other axes. The caller owns the result, which keeps no pointer to the arguments. Pure. */
MW_API MW_NODISCARD mw_status mw_plan_layouts(const mw_mesh *mesh, const mw_layout *from,
                                              const mw_layout *to, const mw_plan_options *options,
                                              mw_planned **ret);
MW_API void mw_planned_free(mw_planned *planned); /* NULL is fine */

/* Texts and arrays live as long as the plan. */
typedef struct mw_plan_step {
    const char *kind;   /* "all_gather" */
    const char *text;   /* "all_gather x dim 1" */
    const char *axes;   /* "x,y:(2)2": the parts of mesh axes over which ranks talk, or that cut */
    int dim, to_dim;    /* -1: none */
    const char *reduce; /* "sum"; NULL where nothing is combined */
    const char *to;     /* the layout after the step */
    int64_t recv_bytes; /* received by the rank that receives most in this step */
    double time_us;
} mw_plan_step;

/* What goes over the links of one mesh axis: elements that come from a rank which differs on that
 * axis, and on no slower one. */
typedef struct mw_plan_link {
    const char *axis;
    double latency_us, gbps;
    int64_t recv_bytes, total_bytes; /* the largest rank; all together */
} mw_plan_link;

typedef struct mw_plan_alternative {
    const char *steps; /* "all_to_all x 1->0; all_gather y dim 1" */
    int64_t recv_bytes, peak_bytes;
    double time_us;
} mw_plan_alternative;

typedef struct mw_plan_facts {
    const char *mesh, *to_mesh; /* texts; to_mesh NULL where it is the same */
    const char *from, *to;
    int nrank, nstep, nlink, nalternative; /* nlink: 0 without a topology */
    int64_t recv_bytes, recv_bytes_total;  /* of the whole plan: the largest rank; all ranks */
    const int64_t *recv_bytes_each;        /* [nrank] */
    int64_t peak_bytes;                    /* the largest shard of any state */
    int64_t live_bytes;                    /* the most that one rank holds at once */
    int64_t lower_bound_bytes, lower_bound_bytes_total;
    int reduction;    /* the bound is a statement: terms must be combined */
    int above_memory; /* no plan of these steps stays below the larger of source and target */
    double time_us;
} mw_plan_facts;

MW_API const mw_plan_facts *mw_planned_facts(const mw_planned *planned);
MW_API const mw_plan_step *mw_planned_step(const mw_planned *planned, int index);
MW_API const mw_plan_link *mw_planned_link(const mw_planned *planned, int index);
MW_API const mw_plan_alternative *mw_planned_alternative(const mw_planned *planned, int index);

/* Runs the plan on as many thread ranks, on data whose every element is known, and looks at each
 * element of each rank's target shard. *ret_checked counts them, *ret_wrong those that are not what
 * they must be. Fails: MW_ERR_UNSUPPORTED for more ranks than threads can be, or dtypes without
 * kernels; what running fails with. */
MW_API MW_NODISCARD mw_status mw_planned_run(const mw_planned *planned, int64_t *ret_checked,
                                             int64_t *ret_wrong);

#ifdef __cplusplus
}
#endif
#endif
