/* The plans from one layout to another that are worth a look, and the choice among them.
 *
 * The exchange moves the least. Where an axis is slow it goes in two levels: the target is cut
 * further over the fast axes that would hold copies of it, so that of what a fast group lacks each
 * rank fetches its share over the slow axis, and then the shares go round over the fast ones. Every
 * element crosses the slow axis once for each group, never once for each rank. */
#include "plan/planner.h"

typedef struct chooser {
    const mw_mesh *mesh, *to_mesh;
    const mw_layout *from, *to;
    const mw_plan_options *options;
    mw_arena *arena;
    int64_t largest; /* bytes of the larger of source and target */
    mw_candidates *all;
    bool one_mesh;
} chooser;

static bool same_text(const mw_plan *a, const mw_plan *b)
{
    if (a->nstep != b->nstep) return false;
    for (int i = 0; i < a->nstep; i++) {
        const mw_step *p = &a->step[i], *q = &b->step[i];
        if (p->kind != q->kind || p->mesh != q->mesh || !mw_layout_equal(&p->to, &q->to))
            return false;
    }
    return true;
}

static mw_candidate *next_candidate(const chooser *c)
{
    return &c->all->at[c->all->n];
}

/* Counts what the plan in the next place does, and keeps it unless it is there already. */
static mw_status keep(chooser *c)
{
    mw_candidate *k = next_candidate(c);
    MW_TRY(mw__plan_replay(&k->plan, c->options->topology, c->arena, &k->replay));
    k->above = k->replay.peak > c->largest;
    for (int i = 0; i < c->all->n; i++)
        if (same_text(&c->all->at[i].plan, &k->plan)) return MW_OK;
    if (c->all->n + 1 < MW_CANDIDATES) c->all->n++;
    return MW_OK;
}

/* ---- between two meshes ------------------------------------------------------------------------
 */

static mw_status one_peer_each(const chooser *c, const mw_layout *from, bool *ret)
{
    *ret = false;
    for (int r = 0; r < c->mesh->nrank; r++) {
        mw_pulls pulls;
        MW_TRY(mw__pulls_between(c->mesh, from, c->to_mesh, c->to, NULL, 0, r, c->arena, &pulls));
        for (int i = 1; i < pulls.npull; i++)
            if (pulls.pull[i].peer != pulls.pull[0].peer) return MW_OK;
        if (mw__layout_local_count(c->mesh, from, r) !=
            mw__layout_local_count(c->to_mesh, c->to, r))
            return MW_OK;
    }
    *ret = true;
    return MW_OK;
}

static mw_step *push(mw_plan *plan, mw_step_kind kind, const mw_layout *to, const mw_mesh *mesh)
{
    if (plan->nstep == MW_PLAN_STEPS) return NULL;
    mw_step *step = &plan->step[plan->nstep++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->dim = step->to_dim = -1;
    step->to = *to;
    step->mesh = mesh;
    return step;
}

/* What is still to be combined is combined on the source's mesh; then one exchange changes mesh. */
static mw_status exchange_between(chooser *c)
{
    mw_candidate *k = next_candidate(c);
    mw_layout whole = *c->from, target = *c->to;
    whole.npartial = target.npartial = 0;
    memset(whole.partial, 0, sizeof whole.partial);
    memset(target.partial, 0, sizeof target.partial);
    MW_TRY(mw__plan_make(c->mesh, c->from, &whole, c->arena, &k->plan));
    int64_t *each = mw__arena_alloc(c->arena, (size_t)c->mesh->nrank * sizeof *each), moved = 0;
    if (!each) return MW_NOMEM();
    MW_TRY(mw__moved_each(c->mesh, &whole, c->to_mesh, &target, 1, c->arena, each));
    bool smaller = false;
    for (int r = 0; r < c->mesh->nrank; r++) {
        moved += each[r];
        smaller = smaller || mw__layout_local_count(c->mesh, &whole, r) !=
                                 mw__layout_local_count(c->to_mesh, &target, r);
    }
    bool one = false;
    if (moved > 0) MW_TRY(one_peer_each(c, &whole, &one));
    if (moved > 0 || smaller) {
        mw_step_kind kind = moved == 0 ? MW_STEP_slice : one ? MW_STEP_permute : MW_STEP_exchange;
        mw_step *step = push(&k->plan, kind, &target, c->to_mesh);
        if (step) step->axes = (uint32_t)((1u << c->to_mesh->naxis) - 1);
    }
    if (c->to->npartial) {
        mw_step *step = push(&k->plan, MW_STEP_mask, c->to, c->to_mesh);
        if (step) memcpy(step->reduce, c->to->partial, sizeof step->reduce);
        if (step) step->nreduce = c->to->npartial;
    }
    return keep(c);
}

/* ---- two levels --------------------------------------------------------------------------------
 */

static uint32_t axes_at_least(const chooser *c, double bytes_per_us)
{
    uint32_t axes = 0;
    for (int x = 0; x < c->mesh->naxis; x++)
        if (mw__topology_link(c->options->topology, c->mesh, x).bytes_per_us >= bytes_per_us)
            axes |= 1u << x;
    return axes;
}

static int64_t total_over(const mw_replay *r, uint32_t axes)
{
    int64_t total = 0;
    for (int x = 0; x < MW_MESH_AXES; x++)
        if (axes >> x & 1) total += r->link_total[x];
    return total;
}

static bool cut_over(const mw_mesh *mesh, mw_layout *l, int d, uint32_t axes)
{
    for (int x = 0; x < mesh->naxis; x++)
        if ((axes >> x & 1) && mesh->size[x] > 1 &&
            !mw__dim_append(mesh, &l->dim[d], x, 1, mesh->size[x]))
            return false;
    mw__layout_canonical(mesh, l);
    return true;
}

/* The best plan through a middle state, whichever dim the fast axes cut there. `middles` makes the
 * states before the target and returns how many. */
static mw_status through_middle(chooser *c, uint32_t fast,
                                int (*middles)(const chooser *c, uint32_t fast, int d,
                                               mw_layout *ret))
{
    mw_candidate *best = next_candidate(c);
    mw_plan *trial = mw__arena_alloc(c->arena, sizeof *trial);
    if (!trial) return MW_NOMEM();
    bool any = false;
    for (int d = 0; d < c->to->ndim; d++) {
        mw_layout middle[2];
        int n = middles(c, fast, d, middle);
        if (n == 0) continue;
        mw__plan_start(c->mesh, c->from, trial);
        for (int i = 0; i < n; i++)
            MW_TRY(mw__plan_add(trial, &middle[i], c->arena));
        MW_TRY(mw__plan_add(trial, c->to, c->arena));
        mw_replay replay;
        MW_TRY(mw__plan_replay(trial, c->options->topology, c->arena, &replay));
        uint32_t slow = ~fast;
        if (total_over(&replay, slow) > total_over(&c->all->at[0].replay, slow)) continue;
        if (any && !mw__plan_better(c->options->minimize, trial, &best->plan)) continue;
        any = true;
        best->plan = *trial;
    }
    return any ? keep(c) : MW_OK;
}

/* The target, its copies over fast axes shared out. */
static int cut_target(const chooser *c, uint32_t fast, int d, mw_layout *ret)
{
    uint32_t free_axes = fast & ~mw__layout_axes(c->to);
    if (c->from->npartial || c->to->npartial || !free_axes) return 0;
    ret[0] = *c->to;
    return cut_over(c->mesh, &ret[0], d, free_axes) && !mw_layout_equal(&ret[0], c->to) &&
           !mw_layout_equal(&ret[0], c->from);
}

/* Terms are combined over the fast axes, each rank for its share, then over the slow ones. */
static int reduce_in_levels(const chooser *c, uint32_t fast, int d, mw_layout *ret)
{
    uint32_t shared = 0;
    if (c->to->npartial) return 0;
    ret[0] = *c->from;
    ret[0].npartial = 0;
    memset(ret[0].partial, 0, sizeof ret[0].partial);
    for (int i = 0; i < c->from->npartial; i++) {
        const mw_partial *p = &c->from->partial[i];
        if (p->kind == MW_REDUCE_AVG) return 0;
        if ((fast >> p->axis & 1) && p->size == c->mesh->size[p->axis])
            shared |= 1u << p->axis;
        else
            ret[0].partial[ret[0].npartial++] = *p;
    }
    if (!shared || ret[0].npartial == 0 || !cut_over(c->mesh, &ret[0], d, shared)) return 0;
    ret[1] = ret[0];
    ret[1].npartial = 0;
    memset(ret[1].partial, 0, sizeof ret[1].partial);
    return 2;
}

static mw_status two_levels(chooser *c)
{
    double least = 0;
    for (int x = 0; x < c->mesh->naxis; x++) {
        double speed = mw__topology_link(c->options->topology, c->mesh, x).bytes_per_us;
        least = x ? MW_MIN(least, speed) : speed;
    }
    uint32_t tried = 0; /* sets of fast axes: one per link class but the slowest */
    for (int x = 0; x < c->mesh->naxis; x++) {
        double speed = mw__topology_link(c->options->topology, c->mesh, x).bytes_per_us;
        uint32_t fast = axes_at_least(c, speed);
        if (speed <= least || tried == fast) continue;
        tried = fast;
        MW_TRY(through_middle(c, fast, c->from->npartial ? reduce_in_levels : cut_target));
    }
    return MW_OK;
}

/* ---- all ---------------------------------------------------------------------------------------
 */

/* A second search, for the other measure, has to be cheap: it is for the alternatives. */
enum { MUCH_WORK = 20000 };

static mw_status classic(chooser *c, mw_minimize minimize, int64_t *ret_work)
{
    mw_plan_options options = *c->options;
    options.minimize = minimize;
    mw_classic_notes notes;
    MW_TRY(mw__plan_classic(c->mesh, c->from, c->to, &options, c->arena, &next_candidate(c)->plan,
                            &notes));
    *ret_work = notes.work;
    return keep(c);
}

/* What changes is gathered, then the target cut out of it: what a planner must never lose to. */
static mw_status gather_and_slice(chooser *c)
{
    if (!c->one_mesh || c->from->npartial || c->to->npartial) return MW_OK;
    mw_layout middle = *c->from;
    for (int d = 0; d < middle.ndim; d++)
        if (!mw__dim_equal(&c->from->dim[d], &c->to->dim[d]))
            middle.dim[d] = mw__dim_plain(mw__dim_size(&middle.dim[d]));
    mw_plan *plan = &next_candidate(c)->plan;
    mw__plan_start(c->mesh, c->from, plan);
    MW_TRY(mw__plan_add(plan, &middle, c->arena));
    MW_TRY(mw__plan_add(plan, c->to, c->arena));
    for (int i = 0; i < plan->nstep; i++) /* over several dims at once it is no single collective */
        if (plan->step[i].kind == MW_STEP_exchange) plan->step[i].kind = MW_STEP_all_gather;
    return keep(c);
}

/* The best: of those within memory where there are any. */
static void choose(chooser *c)
{
    mw_candidates *all = c->all;
    all->best = 0;
    for (int i = 1; i < all->n; i++) {
        const mw_candidate *a = &all->at[i], *b = &all->at[all->best];
        if (a->above != b->above ? b->above
                                 : mw__plan_better(c->options->minimize, &a->plan, &b->plan))
            all->best = i;
    }
}

mw_status mw__plan_candidates(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                              const mw_plan_options *options, mw_arena *arena, mw_candidates *ret)
{
    const mw_mesh *to_mesh = options->to_mesh ? options->to_mesh : mesh;
    chooser c = {mesh, to_mesh, from, to, options, arena, 0, ret, mw_mesh_same(mesh, to_mesh)};
    if (c.one_mesh) c.to_mesh = mesh;
    int64_t bytes = MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(from)));
    c.largest = bytes * MW_MAX(mw__layout_largest_shard(mesh, from),
                               mw__layout_largest_shard(c.to_mesh, to));
    bytes = MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(to)));
    c.largest = MW_MAX(c.largest, bytes * mw__layout_largest_shard(c.to_mesh, to));
    ret->n = 0;
    ret->at = mw__arena_alloc(arena, MW_CANDIDATES * sizeof *ret->at);
    if (!ret->at) return MW_NOMEM();
    if (options->steps == MW_STEPS_ALL) {
        if (c.one_mesh) {
            MW_TRY(mw__plan_make(mesh, from, to, arena, &next_candidate(&c)->plan));
            MW_TRY(keep(&c));
        } else {
            MW_TRY(exchange_between(&c));
        }
        if (options->topology && c.one_mesh) MW_TRY(two_levels(&c));
    }
    int64_t work;
    MW_TRY(classic(&c, options->minimize, &work));
    mw_minimize other =
        options->minimize == MW_MINIMIZE_TIME ? MW_MINIMIZE_BYTES : MW_MINIMIZE_TIME;
    if (work <= MUCH_WORK) MW_TRY(classic(&c, other, &work));
    MW_TRY(gather_and_slice(&c));
    choose(&c);
    return MW_OK;
}
