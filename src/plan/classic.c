/* Classic plans: the path that the search finds, as steps.
 *
 * An axis whose size has different primes may be split in several orders (6 is 2 then 3, or 3 then
 * 2), and which parts a plan needs isn't known before; so there is one search per order, each only
 * for what is cheaper than what the others found. A step is named by the edge that it was. */
#include "plan/classic_search.h"

#include <math.h>

enum { MOST_ORDERS = 12 };

/* Any plan, soon, as a bound for what follows; good ones; the best. Work is for all orders
 * together: the last pass seldom needs all of it, and where it does the plan is that of a pass
 * before. */
static const struct {
    double hurry;
    int fan, work;
} passes[] = {{1000, 1, 12000}, {2, 4, 12000}, {1, 24, 24000}, {1, INT_MAX, 24000}};

typedef struct planner {
    const mw_mesh *mesh, *to_mesh;
    const mw_plan_options *options;
    mw_arena *arena;
    mw_layout from, to; /* between the local steps at both ends */
    mw_plan *plan;
    space *space;
    int64_t work;
} planner;

/* ---- steps -------------------------------------------------------------------------------------
 */

static const mw_layout *last_layout(const mw_plan *plan)
{
    return plan->nstep ? &plan->step[plan->nstep - 1].to : &plan->from;
}

static bool same_partial(const mw_partial *a, const mw_partial *b)
{
    return a->axis == b->axis && a->major == b->major && a->size == b->size;
}

static const mw_partial *find_partial(const mw_layout *l, const mw_partial *p)
{
    for (int i = 0; i < l->npartial; i++)
        if (same_partial(&l->partial[i], p)) return &l->partial[i];
    return NULL;
}

static bool is_slice(mw_step_kind kind)
{
    return kind == MW_STEP_slice || kind == MW_STEP_relabel;
}

static mw_step *push_step(mw_plan *plan, mw_step_kind kind, const mw_mesh *mesh,
                          const mw_layout *to)
{
    mw_step *last = plan->nstep ? &plan->step[plan->nstep - 1] : NULL;
    if (last && is_slice(kind) && is_slice(last->kind)) { /* slices in a row are one */
        if (kind == MW_STEP_slice) last->kind = kind;
        last->to = *to;
        last->mesh = mesh == plan->mesh ? NULL : mesh;
        return last;
    }
    if (plan->nstep == MW_PLAN_STEPS) return NULL;
    mw_step *step = &plan->step[plan->nstep++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    step->dim = step->to_dim = -1;
    step->to = *to;
    step->mesh = mesh == plan->mesh ? NULL : mesh;
    return step;
}

/* The parts of axes in `bits`, and those that the step has already, in order; neighbouring parts of
 * one axis as one. */
static void set_parts(const side *sd, uint32_t bits, mw_step *step)
{
    for (int i = 0; i < step->npart; i++)
        for (int a = 0; a < sd->nbase; a++) {
            const atom *t = &sd->atoms[a];
            const mw_cut *p = &step->part[i];
            if (t->axis == p->axis && t->major >= p->major && t->major < p->major * p->size)
                bits |= t->bits;
        }
    step->npart = 0;
    for (int a = 0; a < sd->nbase; a++) {
        const atom *t = &sd->atoms[a];
        if (!(bits & t->bits)) continue;
        step->axes |= 1u << t->axis;
        mw_cut *last = step->npart ? &step->part[step->npart - 1] : NULL;
        if (last && last->axis == t->axis && last->major * last->size == t->major)
            last->size *= t->size;
        else if (step->npart < MW_STEP_PARTS)
            step->part[step->npart++] =
                (mw_cut){.axis = (int16_t)t->axis, .major = t->major, .size = t->size};
    }
}

static uint32_t all_axes(const mw_mesh *mesh)
{
    return (uint32_t)((1u << mesh->naxis) - 1);
}

/* What differs between two states of one mesh. */
typedef struct change {
    int count, less, more; /* dims that differ; one that loses atoms, one that gains some */
    uint32_t bits;
} change;

static change compare(const space *s, const state *a, const state *b)
{
    change c = {0, -1, -1, 0};
    for (int d = 0; d < s->ndim; d++) {
        if (a->seq[d] == b->seq[d]) continue;
        uint32_t before = s->seqs[a->seq[d]].bits, after = s->seqs[b->seq[d]].bits;
        c.count++;
        c.bits |= before ^ after;
        if (before & ~after) c.less = d;
        if (after & ~before) c.more = d;
    }
    return c;
}

static uint32_t axes_that_change(const mw_layout *a, const mw_layout *b)
{
    uint32_t axes = 0;
    for (int d = 0; d < a->ndim; d++)
        if (!mw__dim_equal(&a->dim[d], &b->dim[d]))
            axes |= mw__dim_axes(&a->dim[d]) | mw__dim_axes(&b->dim[d]);
    return axes;
}

/* The edge that a search took, as a step. False where the plan is full. A step that moves nothing
 * is a slice, whatever led to it. */
static bool add_edge(planner *p, const state *a, const state *b, bool permuted)
{
    space *s = p->space;
    const side *sd = &s->side[b->side];
    const mw_layout before = *last_layout(p->plan);
    bool same_mesh = s->side[a->side].mesh == sd->mesh, combines = a->partial != b->partial;
    mw_layout to;
    mw__state_layout(s, b, &to);
    if (same_mesh && mw_layout_equal(&before, &to)) return true;
    change c = permuted ? (change){0, -1, -1, 0} : compare(s, a, b);
    mw_step_kind kind = permuted     ? MW_STEP_permute
                        : c.less < 0 ? MW_STEP_slice
                        : c.more < 0 ? MW_STEP_all_gather
                                     : MW_STEP_all_to_all;
    if (combines)
        kind = c.count ? MW_STEP_reduce_scatter : MW_STEP_all_reduce;
    else if (mw__state_moved(s, a, b) <= 0)
        kind = same_mesh ? MW_STEP_slice : MW_STEP_relabel;
    int dim = c.less >= 0 ? c.less : c.more;
    mw_step *last = p->plan->nstep ? &p->plan->step[p->plan->nstep - 1] : NULL;
    bool merged = last && is_slice(kind) && is_slice(last->kind);
    if (c.count != 1 || (merged && last->dim != dim)) dim = -1;
    mw_step *step = push_step(p->plan, kind, sd->mesh, &to);
    if (!step) return false;
    step->dim = kind == MW_STEP_all_to_all ? c.less : dim;
    step->to_dim = kind == MW_STEP_all_to_all ? c.more : -1;
    if (!same_mesh)
        step->axes = all_axes(sd->mesh);
    else if (permuted)
        step->axes |= axes_that_change(&before, &to);
    else
        set_parts(sd, c.bits, step);
    for (int i = 0; i < s->from->npartial; i++) {
        if (!((a->partial & ~b->partial) >> i & 1)) continue;
        step->reduce[step->nreduce++] = s->from->partial[i];
        step->axes |= 1u << s->from->partial[i].axis;
    }
    return true;
}

/* Averages that will be combined become sums. */
static void add_scale(planner *p, const mw_layout *from, const mw_layout *to)
{
    p->from = *from;
    mw_partial scaled[MW_LAYOUT_PARTIALS];
    int n = 0;
    for (int i = 0; i < from->npartial; i++) {
        const mw_partial *there = find_partial(to, &from->partial[i]);
        if (from->partial[i].kind != MW_REDUCE_AVG || (there && there->kind == MW_REDUCE_AVG))
            continue;
        scaled[n++] = from->partial[i];
        p->from.partial[i].kind = MW_REDUCE_SUM;
    }
    if (!n) return;
    mw_step *step = push_step(p->plan, MW_STEP_scale, p->mesh, &p->from);
    memcpy(step->reduce, scaled, (size_t)n * sizeof *scaled);
    step->nreduce = n;
}

/* What the target is partial over and the source was not: one rank keeps the value. */
static bool add_mask(planner *p, const mw_layout *to)
{
    mw_partial made[MW_LAYOUT_PARTIALS];
    int n = 0;
    for (int i = 0; i < to->npartial; i++)
        if (!find_partial(&p->to, &to->partial[i])) made[n++] = to->partial[i];
    if (!n) return true;
    mw_step *step = push_step(p->plan, MW_STEP_mask, p->to_mesh, to);
    if (!step) return false;
    memcpy(step->reduce, made, (size_t)n * sizeof *made);
    step->nreduce = n;
    return true;
}

/* The target without the partial axes that a mask makes. */
static void set_target(planner *p, const mw_layout *to)
{
    p->to = *to;
    p->to.npartial = 0;
    memset(p->to.partial, 0, sizeof p->to.partial);
    for (int i = 0; i < to->npartial; i++) {
        const mw_partial *had = find_partial(&p->from, &to->partial[i]);
        if (had && had->kind == to->partial[i].kind) p->to.partial[p->to.npartial++] = *had;
    }
}

/* ---- searching ----------------------------------------------------------------------------------
 */

static bool plain_cuts(const mw_dim *dim)
{
    if (dim->nfactor > 1) return false;
    for (int i = 0; i < dim->ncut; i++)
        if (dim->cut[i].axis < 0 || dim->cut[i].joint) return false;
    return true;
}

/* `twice`: the one mesh as two sides, whose axes are split in different orders. */
static void set_space(planner *p, bool twice, uint32_t *axes)
{
    space *s = p->space;
    s->arena = p->arena;
    s->from = &p->from, s->to = &p->to;
    s->ndim = p->from.ndim;
    s->nside = p->mesh == p->to_mesh && !twice ? 1 : 2;
    memset(s->side, 0, sizeof s->side);
    s->side[0].mesh = p->mesh;
    s->side[1].mesh = p->to_mesh;
    s->side[0].ends[0] = &p->from;
    s->side[s->nside - 1].ends[1] = &p->to;
    axes[0] = mw__layout_axes(&p->from) | mw__layout_partial_axes(&p->from);
    axes[1] = mw__layout_axes(&p->to);
    if (p->mesh == p->to_mesh) /* with a topology a detour over a fast axis may pay */
        axes[0] = axes[1] = p->options->topology ? all_axes(p->mesh) : axes[0] | axes[1];
    else /* which parts a permute needs on either side isn't known */
        axes[0] = all_axes(p->mesh), axes[1] = all_axes(p->to_mesh);
    for (int d = 0; d < s->ndim; d++)
        s->fixed[d] = s->nside == 1 && mw__dim_equal(&p->from.dim[d], &p->to.dim[d]) &&
                      !plain_cuts(&p->from.dim[d]);
    s->kept = 0;
    for (int i = 0; i < p->from.npartial; i++)
        if (find_partial(&p->to, &p->from.partial[i])) s->kept |= (uint8_t)(1u << i);
}

/* The next combination of orders; false after the last. */
static bool next_orders(const space *s, const uint32_t *axes, int order[2][MW_MESH_AXES])
{
    for (int i = 0; i < s->nside; i++)
        for (int x = 0; x < s->side[i].mesh->naxis; x++) {
            int32_t primes[32];
            int n;
            if (!(axes[i] >> x & 1)) continue;
            if (mw__primes_in_order(s->side[i].mesh->size[x], ++order[i][x], primes, &n))
                return true;
            order[i][x] = 0;
        }
    return false;
}

/* One search, whose path replaces the plan's steps from `nstart` on. */
static mw_status search_once(planner *p, const uint32_t *axes, int order[2][MW_MESH_AXES],
                             pricing *pr, int nstart, bool *ret_found)
{
    state from, to, path[MOST_PATH];
    bool permuted[MOST_PATH], ok;
    int n = 0;
    double cost;
    MW_TRY(mw__space_make(p->space, axes, order, &from, &to, &ok));
    if (!ok) return MW_OK;
    MW_TRY(mw__space_search(p->space, pr, &from, &to, path, permuted, &n, &cost));
    pr->work -= p->space->worked;
    p->work += p->space->worked;
    if (n == 0) return MW_OK;
    mw_step kept[1] = {p->plan->step[0]};
    int nkept = p->plan->nstep;
    p->plan->nstep = nstart;
    bool fits = true;
    for (int i = 1; i < n && fits; i++)
        fits = add_edge(p, &path[i - 1], &path[i], permuted[i]);
    if (!fits) { /* longer than a plan can be: as if it had not been found */
        p->plan->step[0] = kept[0];
        p->plan->nstep = MW_MIN(nkept, nstart);
        return MW_OK;
    }
    *ret_found = true;
    pr->bound = cost;
    return MW_OK;
}

/* Searches under every order, first in a hurry, so that there is a plan and a bound, and then for
 * the cheapest. */
static mw_status search_orders(planner *p, bool twice, double largest, bool *ret_found)
{
    uint32_t axes[2];
    set_space(p, twice, axes);
    pricing pr = {.minimize = p->options->minimize,
                  .topology = p->options->topology,
                  .bytes_each =
                      (double)MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(&p->from))),
                  .largest = largest,
                  .bound = INFINITY};
    int nstart = p->plan->nstep;
    *ret_found = false;
    for (int pass = 0; pass < MW_COUNT(passes); pass++) {
        int order[2][MW_MESH_AXES] = {{0}}, tried = 0;
        pr.hurry = passes[pass].hurry;
        pr.most_fan = passes[pass].fan;
        pr.work = passes[pass].work;
        do
            MW_TRY(search_once(p, axes, order, &pr, nstart, ret_found));
        while (++tried < MOST_ORDERS && pr.work > 0 && next_orders(p->space, axes, order));
    }
    return MW_OK;
}

/* Nothing was found: what changes is gathered, and the target cut out of it. */
static void gather_and_slice(planner *p)
{
    mw_layout middle = p->from;
    for (int d = 0; d < middle.ndim; d++)
        if (!mw__dim_equal(&p->from.dim[d], &p->to.dim[d]) || p->mesh != p->to_mesh)
            middle.dim[d] = mw__dim_plain(mw__dim_size(&middle.dim[d]));
    mw_layout whole = middle;
    if (middle.npartial != p->to.npartial) {
        mw_step *step;
        mw_layout reduced = p->from;
        reduced.npartial = p->to.npartial;
        memcpy(reduced.partial, p->to.partial, sizeof reduced.partial);
        whole.npartial = reduced.npartial;
        memcpy(whole.partial, reduced.partial, sizeof whole.partial);
        step = push_step(p->plan, MW_STEP_all_reduce, p->mesh, &reduced);
        for (int i = 0; i < p->from.npartial; i++)
            if (!find_partial(&p->to, &p->from.partial[i])) {
                step->reduce[step->nreduce++] = p->from.partial[i];
                step->axes |= 1u << p->from.partial[i].axis;
            }
    }
    if (!mw_layout_equal(last_layout(p->plan), &whole)) {
        mw_step *step = push_step(p->plan, MW_STEP_all_gather, p->mesh, &whole);
        for (int d = 0, n = 0; d < whole.ndim; d++)
            if (!mw__dim_equal(&p->from.dim[d], &whole.dim[d])) {
                step->axes |= mw__dim_axes(&p->from.dim[d]);
                step->dim = n++ ? -1 : d;
            }
    }
    if (!mw_layout_equal(&whole, &p->to)) {
        mw_step *step = push_step(p->plan, MW_STEP_slice, p->to_mesh, &p->to);
        for (int d = 0, n = 0; d < whole.ndim; d++)
            if (!mw__dim_equal(&p->to.dim[d], &whole.dim[d])) {
                step->axes |= mw__dim_axes(&p->to.dim[d]);
                step->dim = n++ ? -1 : d;
            }
    }
}

mw_status mw__plan_classic(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                           const mw_plan_options *options, mw_arena *arena, mw_plan *ret,
                           mw_classic_notes *ret_notes)
{
    planner *p = mw__arena_zalloc(arena, sizeof *p);
    if (!p) return MW_NOMEM();
    p->space = mw__arena_zalloc(arena, sizeof *p->space);
    if (!p->space) return MW_NOMEM();
    p->space->seqs = mw__arena_alloc(arena, MOST_SEQS * sizeof *p->space->seqs);
    if (!p->space->seqs) return MW_NOMEM();
    MW_TRY(mw__plan_check_pair(mesh, from, to));
    p->mesh = mesh, p->options = options, p->arena = arena, p->plan = ret;
    p->to_mesh =
        options->to_mesh && !mw_mesh_same(mesh, options->to_mesh) ? options->to_mesh : mesh;
    mw__plan_start(mesh, from, ret);
    *ret_notes = (mw_classic_notes){false, 0};
    if (p->to_mesh == mesh && mw_layout_equal(from, to)) return MW_OK;
    add_scale(p, from, to);
    set_target(p, to);
    double largest = (double)MW_MAX(mw__layout_largest_shard(mesh, from),
                                    mw__layout_largest_shard(p->to_mesh, to));
    bool found, one_mesh = p->mesh == p->to_mesh;
    MW_TRY(search_orders(p, false, largest, &found));
    /* source and target may split an axis in different orders, which no single one serves */
    if (!found && one_mesh && mesh->nrank <= MOST_RANKS)
        MW_TRY(search_orders(p, true, largest, &found));
    if (!found) {
        ret_notes->above = true;
        MW_TRY(search_orders(p, false, INFINITY, &found));
    }
    if (!found) gather_and_slice(p);
    if (ret->nstep == 1 && ret->step[0].kind == MW_STEP_relabel) ret->nstep = 0;
    if (!add_mask(p, to))
        return MW_FAIL(MW_ERR_UNSUPPORTED, "a plan of more than %d steps", MW_PLAN_STEPS);
    ret_notes->work = p->work;
    mw_replay replay;
    return mw__plan_replay(ret, options->topology, arena, &replay);
}
