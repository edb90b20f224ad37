/* plan: how a tensor gets from one layout to another (redistribute), what that costs (cost), and
 * which layouts a call uses (choose). Pure: everything is decided from layouts, the same on every
 * rank; only mw__step_pulls looks from one rank's place, at what that rank does in a step. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/base.h"
#include "comm/comm.h"
#include "mesh/mesh.h"
#include "ops/op.h"

/* ---- steps ---------------------------------------------------------------------------------- */
typedef enum mw_step_kind {
#define STEP(word, moves, doc) MW_STEP_##word,
#include "plan/steps.def"
#undef STEP
    MW_STEP_COUNT
} mw_step_kind;

const char *mw__step_name(mw_step_kind kind);
bool mw__step_moves(mw_step_kind kind);

enum { MW_STEP_PARTS = 12 };

/* One step: the tensor goes from the layout before it to `to`. */
typedef struct mw_step {
    mw_step_kind kind;
    uint32_t axes;   /* mesh axes whose ranks talk: the team has equal coordinates on the rest */
    int dim, to_dim; /* tensor dims, -1 where it has none */
    mw_layout to;
    const mw_mesh *mesh;        /* of `to`, where it is not the plan's; else NULL */
    mw_cut part[MW_STEP_PARTS]; /* the parts of axes that it is about, where it is known which */
    int npart;
    mw_partial
        reduce[MW_LAYOUT_PARTIALS]; /* the partial axes whose terms are combined, made or scaled */
    int nreduce;
    int64_t recv_bytes;       /* received by the rank that receives most */
    int64_t recv_bytes_total; /* by all ranks together */
    double time_us;
} mw_step;

enum { MW_PLAN_STEPS = 12 };

typedef struct mw_plan {
    const mw_mesh *mesh;
    mw_layout from;
    int64_t recv_bytes, recv_bytes_total, peak_bytes; /* sums over the steps; the largest state */
    double time_us;
    int nstep;
    mw_step step[MW_PLAN_STEPS];
} mw_plan;

/* The plan from one canonical layout to another of the same sizes and dtype on one mesh.
 * Fails: MW_ERR_LAYOUT where the shapes or dtypes differ or no plan exists (another kind of
 * partial), MW_ERR_NOMEM. */
MW_NODISCARD mw_status mw__plan_make(const mw_mesh *mesh, const mw_layout *from,
                                     const mw_layout *to, mw_arena *arena, mw_plan *ret);

/* The mesh on which the state after step `i` lies; -1: the source. */
const mw_mesh *mw__plan_mesh(const mw_plan *plan, int i);

/* A plan of no steps: the tensor stays as it is. */
void mw__plan_start(const mw_mesh *mesh, const mw_layout *from, mw_plan *ret);

/* Appends what brings the plan's last state to `to` with one moving step (or one combining and one
 * moving step, and local ones around them), and counts it. For planners that choose the states
 * themselves. */
MW_NODISCARD mw_status mw__plan_add(mw_plan *plan, const mw_layout *to, mw_arena *arena);

/* Names a step from `from` to step->to that moves elements without combining any: its kind, axes,
 * parts and dims. `largest`: elements that the rank that receives most receives. */
MW_NODISCARD mw_status mw__step_name_move(const mw_mesh *mesh, const mw_layout *from,
                                          int64_t largest, mw_arena *arena, mw_step *step);

/* MW_ERR_LAYOUT unless both have the same shape and dtype. */
MW_NODISCARD mw_status mw__plan_check_pair(const mw_mesh *mesh, const mw_layout *from,
                                           const mw_layout *to);

/* Does an all_reduce over these partial axes go in two phases (each rank combines a chunk, then the
 * chunks go round), or does every rank read all terms? */
bool mw__all_reduce_in_two_phases(const mw_mesh *mesh, const mw_partial *reduce, int n);

/* `all_gather x dim 1; slice dim 0`: appends the plan's text. */
void mw__plan_str(const mw_plan *plan, mw_str *to);
void mw__step_str(const mw_mesh *mesh, const mw_step *step, mw_str *to);
void mw__axes_str(const mw_mesh *mesh, uint32_t axes, mw_str *to); /* "x,y" */
void mw__step_axes_str(const mw_mesh *mesh, const mw_step *step, mw_str *to);
void mw__step_reduce_str(const mw_step *step, mw_str *to); /* "sum"; nothing where none */

/* ---- what one rank does in a step -------------------------------------------------------------
 */

/* The pulls by which `rank` gets its shard of `to` out of shards of `from` (no dtype conversion):
 * each element from the nearest holder; where `from` is partial over the axes of `reduce` (of one
 * kind), from all who hold a term, in mesh order, combined. Arrays are in the arena. */
typedef struct mw_pulls {
    mw_pull *pull;
    int npull;
    int64_t own, received; /* elements, terms counted each */
} mw_pulls;
MW_NODISCARD mw_status mw__pulls_make(const mw_mesh *mesh, const mw_layout *from,
                                      const mw_layout *to, const mw_partial *reduce, int nreduce,
                                      int rank, mw_arena *arena, mw_pulls *ret);

/* The same where `to` lies on another mesh over the same ranks. */
MW_NODISCARD mw_status mw__pulls_between(const mw_mesh *mesh, const mw_layout *from,
                                         const mw_mesh *to_mesh, const mw_layout *to,
                                         const mw_partial *reduce, int nreduce, int rank,
                                         mw_arena *arena, mw_pulls *ret);

/* How many other ranks pull from `rank` in that same transfer. */
MW_NODISCARD mw_status mw__pulls_readers(const mw_mesh *mesh, const mw_layout *from,
                                         const mw_layout *to, const mw_partial *reduce, int nreduce,
                                         int rank, mw_arena *arena, int *ret);
MW_NODISCARD mw_status mw__readers_between(const mw_mesh *mesh, const mw_layout *from,
                                           const mw_mesh *to_mesh, const mw_layout *to,
                                           const mw_partial *reduce, int nreduce, int rank,
                                           mw_arena *arena, int *ret);

/* The ranks that differ from `rank` only on the axes of the mask, rising; count <= mesh ranks. */
int mw__team_ranks(const mw_mesh *mesh, uint32_t axes, int rank, int *ret_ranks);
int mw__team_count(const mw_mesh *mesh, uint32_t axes);

/* ---- cost ------------------------------------------------------------------------------------
 * Elements received by the rank that receives most and by all together, where each rank gets
 * exactly what its shard of `to` has and its shard of `from` lacks (partial axes are ignored). */
typedef struct mw_moved {
    int64_t largest, total;
} mw_moved;
MW_NODISCARD mw_status mw__moved(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                                 mw_arena *arena, mw_moved *ret);

/* The same where `terms` ranks hold a term of every element and all terms are fetched. */
MW_NODISCARD mw_status mw__moved_terms(const mw_mesh *mesh, const mw_layout *from,
                                       const mw_layout *to, int terms, mw_arena *arena,
                                       mw_moved *ret);

/* What each rank receives, into each[ranks], where `to` may lie on another mesh over the same
 * ranks. */
MW_NODISCARD mw_status mw__moved_each(const mw_mesh *mesh, const mw_layout *from,
                                      const mw_mesh *to_mesh, const mw_layout *to, int terms,
                                      mw_arena *arena, int64_t *each);

/* Time of a step in microseconds: latency of its team plus bytes over bandwidth. Built-in
 * constants. */
double mw__step_time(int team, int64_t recv_bytes, int phases);

/* ---- choose -----------------------------------------------------------------------------------
 */
typedef struct mw_choice {
    mw_layout *in;     /* [nin] the layouts that the op works on */
    mw_layout *out;    /* [nout] canonical, with dtype */
    mw_meta *out_meta; /* [nout] */
    int nin, nout;
    double time_us; /* of the movements that bring the operands there */
    bool moves;     /* some operand must be redistributed */
    bool parts; /* a `^` letter is split: the op's parts run, not its kernel; `out` says nothing */
    const char *why; /* what stands in the way of moving nothing; "" where nothing moves */
} mw_choice;

/* The layouts with which a call runs, given those of its operands: the legal combination that costs
 * least to reach. All operands live on `mesh`. In the arena.
 * Fails: what the op's rule fails with (shapes, dims, dtypes). */
MW_NODISCARD mw_status mw__choose(const mw_mesh *mesh, const mw_call_args *call,
                                  const mw_layout *const *in, mw_arena *arena, mw_choice *ret);

/* mw_choice's `why` alone, without looking for what is cheapest. */
MW_NODISCARD mw_status mw__choose_why(const mw_mesh *mesh, const mw_call_args *call,
                                      const mw_layout *const *in, mw_arena *arena,
                                      const char **ret);

/* One way to run a call: how its operands lie, and then its results. */
typedef struct mw_way {
    const mw_layout *in;  /* [nin] */
    const mw_layout *out; /* [nout]; says nothing where `parts` */
    bool parts;           /* as mw_choice's */
} mw_way;

/* Tells the ways to which operands that lie as `now` could be brought: as they are, if that moves
 * nothing, first; then combinations of one option per axis. mw__choose, its operands as way->in
 * has them, moves nothing and gives way->out. The same way may be told twice. `want` (may be NULL,
 * and its entries) is how results would be liked: options for it are among those tried. `wide`: all
 * that the axes in use may do; else what an operand or a wanted result speaks for. A way is
 * borrowed during `tell`. Fails: as mw__choose, and with what `tell` fails with. */
MW_NODISCARD mw_status mw__choose_ways(const mw_mesh *mesh, const mw_call_args *call,
                                       const mw_layout *const *now, const mw_layout *const *want,
                                       bool wide, mw_arena *arena,
                                       mw_status (*tell)(void *user, const mw_way *way),
                                       void *user);

#endif
