/* What a plan does to every rank, counted step by step: what it receives, over which links, and
 * what it holds. A plan's price is that of the steps that will run, not of the search that found
 * them. */
#include "plan/classic.h"

const mw_mesh *mw__plan_mesh(const mw_plan *plan, int i)
{
    return i >= 0 && plan->step[i].mesh ? plan->step[i].mesh : plan->mesh;
}

static const mw_layout *layout_after(const mw_plan *plan, int i)
{
    return i < 0 ? &plan->from : &plan->step[i].to;
}

static int64_t bytes_each(const mw_layout *l)
{
    return MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(l)));
}

static int terms_of(const mw_step *step)
{
    int terms = 1;
    for (int i = 0; i < step->nreduce; i++)
        terms *= step->reduce[i].size;
    return terms;
}

static bool in_two_phases(const mw_mesh *mesh, const mw_step *step)
{
    return step->kind == MW_STEP_all_reduce &&
           mw__all_reduce_in_two_phases(mesh, step->reduce, step->nreduce);
}

/* A rank's place in its team, in mesh order. */
static int place_in_team(const mw_mesh *mesh, uint32_t axes, int rank)
{
    int coord[MW_MESH_AXES], at = 0;
    mw__mesh_coords(mesh, rank, coord);
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1) at = at * mesh->size[a] + coord[a];
    return at;
}

/* Elements that every rank receives in step i. */
static mw_status received(const mw_plan *plan, int i, mw_arena *arena, int64_t *each)
{
    const mw_step *step = &plan->step[i];
    const mw_mesh *mesh = mw__plan_mesh(plan, i - 1);
    memset(each, 0, (size_t)mesh->nrank * sizeof *each);
    if (!mw__step_moves(step->kind)) return MW_OK;
    int64_t n = terms_of(step);
    if (!in_two_phases(mesh, step))
        return mw__moved_each(mesh, layout_after(plan, i - 1), mw__plan_mesh(plan, i), &step->to,
                              (int)n, arena, each);
    for (int r = 0; r < mesh->nrank; r++) {
        int64_t count = mw__layout_local_count(mesh, &step->to, r), chunk = (count + n - 1) / n;
        int64_t me = place_in_team(mesh, step->axes, r);
        int64_t mine = MW_MIN(count, (me + 1) * chunk) - MW_MIN(count, me * chunk);
        each[r] = (n - 1) * mine + count - mine;
    }
    return MW_OK;
}

/* ---- links -------------------------------------------------------------------------------------
 */

/* The axis over which an element comes from `peer`: of those on which the two differ, the slowest.
 */
static int axis_between(const mw_mesh *mesh, const mw_topology *topology, int rank, int peer)
{
    int a[MW_MESH_AXES], b[MW_MESH_AXES], slowest = -1;
    double least = 0;
    mw__mesh_coords(mesh, rank, a);
    mw__mesh_coords(mesh, peer, b);
    for (int x = 0; x < mesh->naxis; x++) {
        if (a[x] == b[x]) continue;
        double speed = mw__topology_link(topology, mesh, x).bytes_per_us;
        if (slowest < 0 || speed < least) slowest = x, least = speed;
    }
    return slowest;
}

static int64_t box_count(const mw_pull *pull)
{
    int64_t n = 1;
    for (int d = 0; d < pull->ndim; d++)
        n *= pull->size[d];
    return n;
}

/* A two-phase all_reduce: the chunk's terms from everybody, then everybody's chunk. */
static void links_of_phases(const mw_plan *plan, int i, int r, const mw_topology *topology,
                            int *team, int64_t *by_axis)
{
    const mw_step *step = &plan->step[i];
    const mw_mesh *mesh = mw__plan_mesh(plan, i - 1);
    int n = mw__team_ranks(mesh, step->axes, r, team);
    int64_t count = mw__layout_local_count(mesh, &step->to, r), chunk = (count + n - 1) / n;
    int64_t me = place_in_team(mesh, step->axes, r);
    int64_t mine = MW_MIN(count, (me + 1) * chunk) - MW_MIN(count, me * chunk);
    for (int k = 0; k < n; k++) {
        if (team[k] == r) continue;
        int64_t at = place_in_team(mesh, step->axes, team[k]);
        int64_t theirs = MW_MIN(count, (at + 1) * chunk) - MW_MIN(count, at * chunk);
        by_axis[axis_between(mesh, topology, r, team[k])] += mine + theirs;
    }
}

/* Bytes of step i by axis, the largest rank and all ranks; the peers are those of the pulls. */
static mw_status links_of_step(const mw_plan *plan, int i, const mw_topology *topology,
                               int64_t (*each)[MW_MESH_AXES], mw_arena *arena)
{
    const mw_step *step = &plan->step[i];
    const mw_mesh *mesh = mw__plan_mesh(plan, i - 1);
    const mw_layout *from = layout_after(plan, i - 1);
    int64_t bytes = bytes_each(from);
    memset(each, 0, (size_t)mesh->nrank * sizeof *each);
    if (!mw__step_moves(step->kind)) return MW_OK;
    int *team = mw__arena_alloc(arena, (size_t)mesh->nrank * sizeof *team);
    if (!team) return MW_NOMEM();
    for (int r = 0; r < mesh->nrank; r++) {
        if (in_two_phases(mesh, step)) {
            links_of_phases(plan, i, r, topology, team, each[r]);
        } else {
            mw_pulls pulls;
            MW_TRY(mw__pulls_between(mesh, from, mw__plan_mesh(plan, i), &step->to, step->reduce,
                                     step->nreduce, r, arena, &pulls));
            for (int k = 0; k < pulls.npull; k++)
                if (pulls.pull[k].peer != r)
                    each[r][axis_between(mesh, topology, r, pulls.pull[k].peer)] +=
                        box_count(&pulls.pull[k]);
        }
        for (int x = 0; x < mesh->naxis; x++)
            each[r][x] *= bytes;
    }
    return MW_OK;
}

static double time_over_links(const mw_plan *plan, int i, const mw_topology *topology,
                              int64_t (*each)[MW_MESH_AXES])
{
    const mw_mesh *mesh = mw__plan_mesh(plan, i - 1);
    double latency = 0, time = 0;
    for (int x = 0; x < mesh->naxis; x++) {
        int64_t most = 0;
        mw_link link = mw__topology_link(topology, mesh, x);
        for (int r = 0; r < mesh->nrank; r++)
            most = MW_MAX(most, each[r][x]);
        time += (double)most / link.bytes_per_us;
        if (most > 0) latency = MW_MAX(latency, link.latency_us);
    }
    return time + latency * (in_two_phases(mesh, &plan->step[i]) ? 2 : 1);
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static int64_t bytes_held(const mw_plan *plan, int i, int rank)
{
    const mw_layout *l = layout_after(plan, i);
    return mw__layout_local_count(mw__plan_mesh(plan, i), l, rank) * bytes_each(l);
}

static void count_memory(const mw_plan *plan, mw_replay *ret)
{
    for (int r = 0; r < plan->mesh->nrank; r++) {
        int64_t before = bytes_held(plan, -1, r);
        ret->peak = MW_MAX(ret->peak, before);
        ret->live = MW_MAX(ret->live, before);
        for (int i = 0; i < plan->nstep; i++) {
            int64_t after = bytes_held(plan, i, r);
            ret->peak = MW_MAX(ret->peak, after);
            ret->live = MW_MAX(ret->live, before + after);
            before = after;
        }
    }
}

/* ---- the whole plan ----------------------------------------------------------------------------
 */

typedef struct counters {
    int64_t *each;
    int64_t (*link)[MW_MESH_AXES], (*links)[MW_MESH_AXES]; /* of a step; of all steps */
} counters;

static mw_status count_links(mw_plan *plan, int i, const mw_topology *topology, counters *c,
                             mw_arena *arena)
{
    MW_TRY(links_of_step(plan, i, topology, c->link, arena));
    plan->step[i].time_us = time_over_links(plan, i, topology, c->link);
    for (int r = 0; r < plan->mesh->nrank; r++)
        for (int x = 0; x < MW_MESH_AXES; x++)
            c->links[r][x] += c->link[r][x];
    return MW_OK;
}

mw_status mw__plan_replay(mw_plan *plan, const mw_topology *topology, mw_arena *arena,
                          mw_replay *ret)
{
    size_t n = (size_t)plan->mesh->nrank;
    memset(ret, 0, sizeof *ret);
    counters c = {mw__arena_zalloc(arena, n * sizeof *c.each),
                  topology ? mw__arena_zalloc(arena, n * sizeof *c.link) : NULL,
                  topology ? mw__arena_zalloc(arena, n * sizeof *c.links) : NULL};
    ret->each = mw__arena_zalloc(arena, n * sizeof *ret->each);
    if (!c.each || !ret->each || (topology && (!c.link || !c.links))) return MW_NOMEM();
    const mw_link link = mw__topology_worst(NULL, plan->mesh, 0);
    for (int i = 0; i < plan->nstep; i++) {
        mw_step *step = &plan->step[i];
        int64_t bytes = bytes_each(layout_after(plan, i - 1));
        MW_TRY(received(plan, i, arena, c.each));
        step->recv_bytes = step->recv_bytes_total = 0;
        for (size_t r = 0; r < n; r++) {
            ret->each[r] += c.each[r] * bytes;
            step->recv_bytes = MW_MAX(step->recv_bytes, c.each[r] * bytes);
            step->recv_bytes_total += c.each[r] * bytes;
        }
        int phases = in_two_phases(mw__plan_mesh(plan, i - 1), step) ? 2 : 1;
        step->time_us = 0;
        if (step->recv_bytes > 0)
            step->time_us = phases * link.latency_us + (double)step->recv_bytes / link.bytes_per_us;
        if (topology && step->recv_bytes > 0) MW_TRY(count_links(plan, i, topology, &c, arena));
        ret->time_us += step->time_us;
        ret->total += step->recv_bytes_total;
    }
    for (size_t r = 0; r < n; r++) {
        ret->largest = MW_MAX(ret->largest, ret->each[r]);
        for (int x = 0; topology && x < plan->mesh->naxis; x++) {
            ret->link_largest[x] = MW_MAX(ret->link_largest[x], c.links[r][x]);
            ret->link_total[x] += c.links[r][x];
        }
    }
    count_memory(plan, ret);
    plan->recv_bytes = ret->largest;
    plan->recv_bytes_total = ret->total;
    plan->peak_bytes = ret->peak;
    plan->time_us = ret->time_us;
    return MW_OK;
}

bool mw__plan_better(mw_minimize minimize, const mw_plan *a, const mw_plan *b)
{
    if (minimize == MW_MINIMIZE_TIME && a->time_us != b->time_us) return a->time_us < b->time_us;
    if (a->recv_bytes != b->recv_bytes) return a->recv_bytes < b->recv_bytes;
    if (a->recv_bytes_total != b->recv_bytes_total)
        return a->recv_bytes_total < b->recv_bytes_total;
    return a->time_us < b->time_us;
}
