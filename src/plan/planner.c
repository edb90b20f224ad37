/* Plans for users: the choice among all candidates, with its numbers and texts, and what else there
 * was. Owns copies of all it says, so that it outlives what it was made from. */
#include "plan/planner.h"

static const char *text_of_layout(mw_arena *arena, const mw_mesh *mesh, const mw_layout *l)
{
    int length = mw_layout_print(mesh, l, NULL, 0);
    char *text = mw__arena_alloc(arena, (size_t)length + 1);
    if (text) (void)mw_layout_print(mesh, l, text, length + 1);
    return text;
}

static const char *text_of_mesh(mw_arena *arena, const mw_mesh *mesh)
{
    int length = mw_mesh_print(mesh, NULL, 0);
    char *text = mw__arena_alloc(arena, (size_t)length + 1);
    if (text) (void)mw_mesh_print(mesh, text, length + 1);
    return text;
}

/* The string's text, kept in the arena; the string ends. */
static const char *take_text(mw_arena *arena, mw_str *str)
{
    char *text = str->failed ? NULL : mw__arena_strndup(arena, mw__str_text(str), str->length);
    mw__str_done(str);
    return text;
}

static mw_status fill_steps(mw_planned *p)
{
    const mw_plan *plan = &p->plan;
    p->step = mw__arena_zalloc(&p->arena, (size_t)MW_MAX(plan->nstep, 1) * sizeof *p->step);
    if (!p->step) return MW_NOMEM();
    for (int i = 0; i < plan->nstep; i++) {
        const mw_step *from = &plan->step[i];
        const mw_mesh *mesh = mw__plan_mesh(plan, i);
        mw_plan_step *to = &p->step[i];
        mw_str text = {0}, axes = {0}, reduce = {0};
        mw__step_str(mesh, from, &text);
        mw__step_axes_str(mesh, from, &axes);
        mw__step_reduce_str(from, &reduce);
        *to = (mw_plan_step){.kind = mw__step_name(from->kind),
                             .dim = from->dim,
                             .to_dim = from->to_dim,
                             .recv_bytes = from->recv_bytes,
                             .time_us = from->time_us};
        to->text = take_text(&p->arena, &text);
        to->axes = take_text(&p->arena, &axes);
        const char *combines = take_text(&p->arena, &reduce);
        to->reduce = from->nreduce ? combines : NULL;
        to->to = text_of_layout(&p->arena, mesh, &from->to);
        if (!to->text || !to->axes || !combines || !to->to) return MW_NOMEM();
    }
    p->facts.nstep = plan->nstep;
    return MW_OK;
}

static mw_status fill_links(mw_planned *p, const mw_topology *topology, const mw_replay *replay)
{
    if (!topology) return MW_OK;
    p->link = mw__arena_zalloc(&p->arena, (size_t)p->mesh->naxis * sizeof *p->link);
    if (!p->link) return MW_NOMEM();
    for (int x = 0; x < p->mesh->naxis; x++) {
        mw_link link = mw__topology_link(topology, p->mesh, x);
        p->link[x] = (mw_plan_link){.axis = p->mesh->name[x],
                                    .latency_us = link.latency_us,
                                    .gbps = link.bytes_per_us / 125,
                                    .recv_bytes = replay->link_largest[x],
                                    .total_bytes = replay->link_total[x]};
    }
    p->facts.nlink = p->mesh->naxis;
    return MW_OK;
}

static mw_status fill_alternatives(mw_planned *p, const mw_candidates *all)
{
    p->alternative = mw__arena_zalloc(&p->arena, (size_t)all->n * sizeof *p->alternative);
    if (!p->alternative) return MW_NOMEM();
    for (int i = 0; i < all->n; i++) {
        if (i == all->best) continue;
        const mw_candidate *c = &all->at[i];
        mw_str text = {0};
        mw__plan_str(&c->plan, &text);
        mw_plan_alternative *to = &p->alternative[p->facts.nalternative++];
        *to = (mw_plan_alternative){take_text(&p->arena, &text), c->replay.largest, c->replay.peak,
                                    c->replay.time_us};
        if (!to->steps) return MW_NOMEM();
    }
    return MW_OK;
}

static mw_status fill_numbers(mw_planned *p, const mw_layout *from, const mw_candidate *chosen)
{
    mw_plan_facts *f = &p->facts;
    int n = p->mesh->nrank;
    int64_t *each = mw__arena_alloc(&p->arena, (size_t)n * sizeof *each);
    int64_t *bound = mw__arena_alloc(&p->arena, (size_t)n * sizeof *bound);
    if (!each || !bound) return MW_NOMEM();
    memcpy(each, chosen->replay.each, (size_t)n * sizeof *each);
    bool reduction;
    MW_TRY(mw__plan_bound(p->mesh, from, p->to_mesh, &p->to, &p->arena, bound, &reduction));
    for (int r = 0; r < n; r++) {
        f->lower_bound_bytes = MW_MAX(f->lower_bound_bytes, bound[r]);
        f->lower_bound_bytes_total += bound[r];
    }
    f->reduction = reduction;
    f->nrank = n;
    f->recv_bytes = chosen->replay.largest;
    f->recv_bytes_total = chosen->replay.total;
    f->recv_bytes_each = each;
    f->peak_bytes = chosen->replay.peak;
    f->live_bytes = chosen->replay.live;
    f->time_us = chosen->replay.time_us;
    f->above_memory = chosen->above;
    return MW_OK;
}

static mw_status fill(mw_planned *p, const mw_layout *from, const mw_plan_options *options,
                      mw_arena *scratch)
{
    mw_candidates all;
    MW_TRY(mw__plan_candidates(p->mesh, from, &p->to, options, scratch, &all));
    const mw_candidate *chosen = &all.at[all.best];
    p->plan = chosen->plan;
    p->plan.mesh = p->mesh;
    for (int i = 0; i < p->plan.nstep; i++)
        if (p->plan.step[i].mesh) p->plan.step[i].mesh = p->to_mesh;
    mw_plan_facts *f = &p->facts;
    f->from = text_of_layout(&p->arena, p->mesh, from);
    f->to = text_of_layout(&p->arena, p->to_mesh, &p->to);
    f->mesh = text_of_mesh(&p->arena, p->mesh);
    if (!f->from || !f->to || !f->mesh) return MW_NOMEM();
    if (!mw_mesh_same(p->mesh, p->to_mesh)) {
        f->to_mesh = text_of_mesh(&p->arena, p->to_mesh);
        if (!f->to_mesh) return MW_NOMEM();
    }
    MW_TRY(fill_numbers(p, from, chosen));
    MW_TRY(fill_links(p, options->topology, &chosen->replay));
    MW_TRY(fill_steps(p));
    return fill_alternatives(p, &all);
}

static mw_status check(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                       const mw_plan_options *options)
{
    const mw_mesh *to_mesh = options->to_mesh ? options->to_mesh : mesh;
    if (to_mesh->nrank != mesh->nrank)
        return MW_FAIL(MW_ERR_ARG, "the target's mesh has %d ranks, the source's %d",
                       to_mesh->nrank, mesh->nrank);
    if (mw_mesh_same(mesh, to_mesh)) {
        MW_TRY(mw__plan_check_pair(mesh, from, to));
    } else {
        bool same = from->ndim == to->ndim && from->dtype == to->dtype;
        for (int d = 0; same && d < from->ndim; d++)
            same = mw__dim_size(&from->dim[d]) == mw__dim_size(&to->dim[d]);
        if (!same)
            return MW_FAIL(MW_ERR_LAYOUT,
                           "from one mesh to the other shape and dtype must stay the same");
    }
    /* all sums of bytes over ranks and steps have to fit */
    int64_t most = MW_MAX(1, mw_dtype_size((mw_dtype)from->dtype)) * 8 * MW_PLAN_STEPS;
    if (mw__mul_size(mw__layout_count(from), most, &most) != MW_OK ||
        mw__mul_size(most, mesh->nrank, &most) != MW_OK)
        return MW_FAIL(MW_ERR_SHAPE,
                       "a tensor of %lld elements is too large to plan: the bytes that %d ranks "
                       "may receive do not fit in 64 bits",
                       (long long)mw__layout_count(from), mesh->nrank);
    return mw__topology_check(options->topology, mesh, to_mesh);
}

mw_status mw_plan_layouts(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                          const mw_plan_options *options, mw_planned **ret)
{
    static const mw_plan_options defaults = {0};
    if (!options) options = &defaults;
    MW_TRY(check(mesh, from, to, options));
    mw_planned *p = mw__zalloc(sizeof *p);
    if (!p) return MW_NOMEM();
    mw__arena_init(&p->arena);
    /* a mesh counts its users, and that count is all that is written to */
    p->mesh = mw_mesh_ref((mw_mesh *)(uintptr_t)mesh);
    p->to_mesh = mw_mesh_ref((mw_mesh *)(uintptr_t)(options->to_mesh ? options->to_mesh : mesh));
    p->to = *to;
    mw_layout source = *from;
    for (int d = 0; d < source.ndim; d++)
        source.dim[d].open = p->to.dim[d].open = 0;
    mw_arena scratch;
    mw__arena_init(&scratch);
    mw_status status = fill(p, &source, options, &scratch);
    mw__arena_done(&scratch);
    if (status != MW_OK) {
        mw_planned_free(p);
        return status;
    }
    *ret = p;
    return MW_OK;
}

void mw_planned_free(mw_planned *planned)
{
    if (!planned) return;
    mw_mesh_unref(planned->mesh);
    mw_mesh_unref(planned->to_mesh);
    mw__arena_done(&planned->arena);
    mw__free(planned, sizeof *planned);
}

const mw_plan_facts *mw_planned_facts(const mw_planned *planned)
{
    return &planned->facts;
}

const mw_plan_step *mw_planned_step(const mw_planned *planned, int index)
{
    return &planned->step[index];
}

const mw_plan_link *mw_planned_link(const mw_planned *planned, int index)
{
    return &planned->link[index];
}

const mw_plan_alternative *mw_planned_alternative(const mw_planned *planned, int index)
{
    return &planned->alternative[index];
}
