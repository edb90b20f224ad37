/* The plan from one layout to another: at most one step that combines terms, one that moves
 * elements, and local steps around them. The moving step is an exchange: every rank gets exactly
 * what it lacks, so its bytes are the lower bound; where that is what a classic collective does, it
 * carries that name. */
#include "plan/plan.h"

enum { STEPS_OF_ONE = 4 }; /* scale, combine, move, mask */

static const struct {
    const char *name, *doc;
    bool moves;
} kinds[] = {
#define STEP(word, moves, doc) [MW_STEP_##word] = {#word, doc, moves},
#include "plan/steps.def"
#undef STEP
};

const char *mw__step_name(mw_step_kind kind)
{
    return kinds[kind].name;
}

bool mw__step_moves(mw_step_kind kind)
{
    return kinds[kind].moves;
}

/* ---- partial axes --------------------------------------------------------------------------- */

static const mw_partial *find_partial(const mw_layout *l, const mw_partial *p)
{
    for (int i = 0; i < l->npartial; i++)
        if (l->partial[i].axis == p->axis && l->partial[i].major == p->major &&
            l->partial[i].size == p->size)
            return &l->partial[i];
    return NULL;
}

static void drop_partial(mw_layout *l, const mw_partial *p)
{
    for (int i = 0; i < l->npartial; i++) {
        const mw_partial *q = &l->partial[i];
        if (q->axis != p->axis || q->major != p->major || q->size != p->size) continue;
        for (int j = i; j + 1 < l->npartial; j++)
            l->partial[j] = l->partial[j + 1];
        l->npartial--;
        memset(&l->partial[l->npartial], 0, sizeof l->partial[0]);
        return;
    }
}

static bool same_dims(const mw_layout *a, const mw_layout *b)
{
    for (int d = 0; d < a->ndim; d++)
        if (!mw__dim_equal(&a->dim[d], &b->dim[d])) return false;
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int64_t element_bytes(const mw_layout *l)
{
    return MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(l)));
}

static mw_step *new_step(mw_plan *plan, mw_step_kind kind, const mw_layout *to)
{
    mw_step *step = &plan->step[plan->nstep++];
    *step = (mw_step){.kind = kind, .dim = -1, .to_dim = -1, .to = *to};
    return step;
}

static const mw_layout *state(const mw_plan *plan)
{
    return plan->nstep ? &plan->step[plan->nstep - 1].to : &plan->from;
}

static void add_totals(mw_plan *plan, mw_step *step, int team, int phases)
{
    if (mw__step_moves(step->kind)) step->time_us = mw__step_time(team, step->recv_bytes, phases);
    plan->recv_bytes += step->recv_bytes;
    plan->recv_bytes_total += step->recv_bytes_total;
    plan->time_us += step->time_us;
}

static mw_status add_exchange(mw_plan *plan, const mw_layout *to, mw_arena *arena)
{
    const mw_layout *from = state(plan);
    if (same_dims(from, to)) return MW_OK;
    mw_moved moved;
    MW_TRY(mw__moved(plan->mesh, from, to, arena, &moved));
    int64_t bytes = element_bytes(from);
    mw_step *step = new_step(plan, MW_STEP_exchange, to);
    step->recv_bytes = moved.largest * bytes;
    step->recv_bytes_total = moved.total * bytes;
    MW_TRY(mw__step_name_move(plan->mesh, from, moved.largest, arena, step));
    add_totals(plan, step, mw__team_count(plan->mesh, step->axes), 1);
    return MW_OK;
}

static int terms_of(const mw_partial *reduce, int n)
{
    int terms = 1;
    for (int i = 0; i < n; i++)
        terms *= reduce[i].size;
    return terms;
}

static mw_step *new_reduction(mw_plan *plan, mw_step_kind kind, const mw_layout *to,
                              const mw_partial *reduce, int n)
{
    mw_step *step = new_step(plan, kind, to);
    memcpy(step->reduce, reduce, (size_t)n * sizeof *reduce);
    step->nreduce = n;
    for (int i = 0; i < n; i++)
        step->axes |= 1u << reduce[i].axis;
    return step;
}

bool mw__all_reduce_in_two_phases(const mw_mesh *mesh, const mw_partial *reduce, int n)
{
    for (int i = 0; i < n; i++)
        if (reduce[i].size != mesh->size[reduce[i].axis]) return false;
    return terms_of(reduce, n) > 2;
}

/* Every rank gets the combination of all terms of its shard. Two ranks read each other's in one
 * phase; more share the work: each combines a chunk, then the chunks go round. */
static void add_all_reduce(mw_plan *plan, const mw_layout *to, const mw_partial *reduce, int n)
{
    const mw_mesh *mesh = plan->mesh;
    bool two = mw__all_reduce_in_two_phases(mesh, reduce, n);
    int64_t bytes = element_bytes(state(plan)), terms = terms_of(reduce, n), largest = 0, total = 0;
    for (int r = 0; r < mesh->nrank; r++) {
        int64_t count = mw__layout_local_count(mesh, to, r);
        int64_t chunk = (count + terms - 1) / terms;
        /* the first rank of a team has the largest chunk: it reads the others' terms of it, and
         * then the rest of the result */
        int64_t received = two ? chunk * (terms - 1) + (count - chunk) : count * (terms - 1);
        largest = MW_MAX(largest, received);
        total += two ? 2 * count * (terms - 1) : received;
    }
    if (two) total /= terms; /* the ranks of a team share these, not all evenly */
    mw_step *step = new_reduction(plan, MW_STEP_all_reduce, to, reduce, n);
    step->recv_bytes = largest * bytes;
    step->recv_bytes_total = total * bytes;
    add_totals(plan, step, (int)terms, two ? 2 : 1);
}

/* Every rank fetches all terms of what its shard of `to` holds. */
static mw_status add_reduce_scatter(mw_plan *plan, const mw_layout *to, const mw_partial *reduce,
                                    int n, mw_arena *arena)
{
    const mw_layout *from = state(plan);
    mw_moved moved;
    MW_TRY(mw__moved_terms(plan->mesh, from, to, terms_of(reduce, n), arena, &moved));
    int64_t bytes = element_bytes(from);
    mw_step *step = new_reduction(plan, MW_STEP_reduce_scatter, to, reduce, n);
    mw_moved beyond; /* where every rank has a term of its part already, terms are all that goes */
    MW_TRY(mw__moved(plan->mesh, from, to, arena, &beyond));
    int changed = 0;
    for (int d = 0; d < to->ndim; d++) {
        if (mw__dim_equal(&from->dim[d], &to->dim[d])) continue;
        if (beyond.total > 0) step->axes |= mw__dim_axes(&from->dim[d]) | mw__dim_axes(&to->dim[d]);
        step->dim = changed++ ? -1 : d;
    }
    step->recv_bytes = moved.largest * bytes;
    step->recv_bytes_total = moved.total * bytes;
    add_totals(plan, step, mw__team_count(plan->mesh, step->axes), 1);
    return MW_OK;
}

/* The reducing axes cut dim d of `l` as well: where a reduce_scatter may leave its result. */
static bool scatter_over(const mw_mesh *mesh, mw_layout *l, int d, const mw_partial *reduce, int n)
{
    for (int i = 0; i < n; i++)
        if (!mw__dim_append(mesh, &l->dim[d], reduce[i].axis, reduce[i].major, reduce[i].size))
            return false;
    l->dim[d] = mw__dim_canonical(mesh, &l->dim[d]);
    return true;
}

/* Steps past nstep are not copied. */
static void copy_plan(mw_plan *to, const mw_plan *from)
{
    memcpy(to, from, offsetof(mw_plan, step) + (size_t)from->nstep * sizeof from->step[0]);
}

static bool better(const mw_plan *a, const mw_plan *b)
{
    return b->nstep < 0 || a->time_us < b->time_us ||
           (a->time_us <= b->time_us && a->recv_bytes < b->recv_bytes);
}

/* Combines the terms over `reduce` and ends at `to`: all_reduce then exchange, or a direct
 * reduce_scatter, or one into some dim and an exchange; whichever takes least. */
static mw_status add_reduction(mw_plan *plan, const mw_layout *to, const mw_partial *reduce, int n,
                               mw_arena *arena)
{
    mw_layout reduced = *state(plan);
    for (int i = 0; i < n; i++)
        drop_partial(&reduced, &reduce[i]);
    mw_plan *best = mw__arena_alloc(arena, 2 * sizeof *best);
    if (!best) return MW_NOMEM();
    mw_plan *trial = best + 1;
    best->nstep = -1;
    copy_plan(trial, plan);
    add_all_reduce(trial, &reduced, reduce, n);
    MW_TRY(add_exchange(trial, to, arena));
    copy_plan(best, trial);
    if (!same_dims(&reduced, to)) {
        copy_plan(trial, plan);
        MW_TRY(add_reduce_scatter(trial, to, reduce, n, arena));
        if (better(trial, best)) copy_plan(best, trial);
    }
    for (int d = 0; d < to->ndim && !same_dims(&reduced, to); d++) {
        mw_layout middle = reduced;
        if (!scatter_over(plan->mesh, &middle, d, reduce, n) || same_dims(&middle, to)) continue;
        copy_plan(trial, plan);
        MW_TRY(add_reduce_scatter(trial, &middle, reduce, n, arena));
        MW_TRY(add_exchange(trial, to, arena));
        if (better(trial, best)) copy_plan(best, trial);
    }
    copy_plan(plan, best);
    return MW_OK;
}

/* Terms of an average become terms of a sum wherever they won't stay as they are. */
static void add_scale(mw_plan *plan, const mw_layout *to)
{
    mw_layout next = *state(plan);
    mw_partial scaled[MW_LAYOUT_PARTIALS];
    int n = 0;
    for (int i = 0; i < next.npartial; i++) {
        const mw_partial *there = find_partial(to, &next.partial[i]);
        if (next.partial[i].kind != MW_REDUCE_AVG || (there && there->kind == MW_REDUCE_AVG))
            continue;
        scaled[n++] = next.partial[i];
        next.partial[i].kind = MW_REDUCE_SUM;
    }
    if (!n) return;
    mw_step *step = new_step(plan, MW_STEP_scale, &next);
    memcpy(step->reduce, scaled, (size_t)n * sizeof *scaled);
    step->nreduce = n;
}

static void add_mask(mw_plan *plan, const mw_layout *to)
{
    const mw_layout *now = state(plan);
    mw_partial made[MW_LAYOUT_PARTIALS];
    int n = 0;
    for (int i = 0; i < to->npartial; i++)
        if (!find_partial(now, &to->partial[i])) made[n++] = to->partial[i];
    if (!n) return;
    mw_step *step = new_step(plan, MW_STEP_mask, to);
    memcpy(step->reduce, made, (size_t)n * sizeof *made);
    step->nreduce = n;
}

mw_status mw__plan_check_pair(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to)
{
    bool same = from->ndim == to->ndim && from->dtype == to->dtype;
    for (int d = 0; same && d < from->ndim; d++)
        same = mw__dim_size(&from->dim[d]) == mw__dim_size(&to->dim[d]);
    if (same) return MW_OK;
    mw_str text = {0};
    mw__layout_str(mesh, from, &text);
    mw__str_puts(&text, " to ");
    mw__layout_str(mesh, to, &text);
    mw_status status = MW_FAIL(MW_ERR_LAYOUT, "redistribute %s: shape and dtype must stay the same",
                               mw__str_text(&text));
    mw__str_done(&text);
    return status;
}

static int64_t peak_bytes(const mw_plan *plan)
{
    int64_t peak = mw__layout_largest_shard(plan->mesh, &plan->from) * element_bytes(&plan->from);
    for (int i = 0; i < plan->nstep; i++) {
        const mw_layout *l = &plan->step[i].to;
        peak = MW_MAX(peak, mw__layout_largest_shard(plan->mesh, l) * element_bytes(l));
    }
    return peak;
}

/* Steps past nstep say nothing and are not cleared: a plan is large. */
void mw__plan_start(const mw_mesh *mesh, const mw_layout *from, mw_plan *ret)
{
    memset(ret, 0, offsetof(mw_plan, step));
    ret->mesh = mesh;
    ret->from = *from;
    ret->peak_bytes = peak_bytes(ret);
}

mw_status mw__plan_add(mw_plan *plan, const mw_layout *to, mw_arena *arena)
{
    if (mw_layout_equal(state(plan), to)) return MW_OK;
    if (plan->nstep + STEPS_OF_ONE > MW_PLAN_STEPS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "a plan of more than %d steps", MW_PLAN_STEPS);
    add_scale(plan, to);
    mw_partial reduce[MW_LAYOUT_PARTIALS];
    int n = 0;
    mw_layout target = *to; /* without the partial axes that a mask makes at the end */
    const mw_layout *now = state(plan);
    for (int i = to->npartial - 1; i >= 0; i--) {
        const mw_partial *p = find_partial(now, &to->partial[i]);
        if (!p || p->kind != to->partial[i].kind) drop_partial(&target, &to->partial[i]);
    }
    for (int i = 0; i < now->npartial; i++)
        if (!find_partial(&target, &now->partial[i])) reduce[n++] = now->partial[i];
    if (n > 0)
        MW_TRY(add_reduction(plan, &target, reduce, n, arena));
    else
        MW_TRY(add_exchange(plan, &target, arena));
    add_mask(plan, to);
    plan->peak_bytes = peak_bytes(plan);
    return MW_OK;
}

mw_status mw__plan_make(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                        mw_arena *arena, mw_plan *ret)
{
    mw__plan_start(mesh, from, ret);
    if (mw_layout_equal(from, to)) return MW_OK;
    MW_TRY(mw__plan_check_pair(mesh, from, to));
    return mw__plan_add(ret, to, arena);
}
