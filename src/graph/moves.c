/* Layouts by number and the prices between them. A price is that of the plan that will run. */
#include "graph/moves.h"

void mw__moves_init(mw_moves *m, const mw_mesh *mesh)
{
    memset(m, 0, sizeof *m);
    m->mesh = mesh;
    mw__arena_init(&m->arena);
    mw__arena_init(&m->scratch);
}

void mw__moves_done(mw_moves *m)
{
    mw__free(m->layout, (size_t)m->cap * sizeof *m->layout);
    mw__lookup_done(&m->layout_lookup);
    mw__lookup_done(&m->route_lookup);
    mw__arena_done(&m->arena);
    mw__arena_done(&m->scratch);
}

/* ---- layouts ----------------------------------------------------------------------------------
 */

mw_status mw__moves_number(mw_moves *m, const mw_layout *layout, int *ret)
{
    mw_layout key = *layout;
    for (int d = 0; d < key.ndim; d++)
        key.dim[d].open = 0;
    uint64_t hash = mw__layout_hash(&key);
    for (mw_found *i = NULL; (i = mw__lookup_next(&m->layout_lookup, hash, i));)
        if (mw_layout_equal(m->layout[i->number], &key)) {
            *ret = (int)i->number;
            return MW_OK;
        }
    MW_TRY(mw__grow(&m->layout, &m->cap, m->n + 1, sizeof *m->layout));
    mw_layout *kept = mw__arena_alloc(&m->arena, sizeof *kept);
    mw_found *added = kept ? mw__lookup_add(&m->layout_lookup, hash) : NULL;
    if (!added) return MW_NOMEM();
    *kept = key;
    added->number = *ret = (int)m->n;
    m->layout[m->n++] = kept;
    return MW_OK;
}

/* ---- prices -----------------------------------------------------------------------------------
 */

void mw__price_add(mw_price *a, const mw_price *b)
{
    a->bytes += b->bytes;
    a->us += b->us;
    a->steps += b->steps;
}

/* Times are sums of the same few terms in different orders. */
int mw__price_compare(const mw_price *a, const mw_price *b)
{
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    double apart = a->us - b->us, close = 1e-9 * (1 + MW_MAX(a->us, b->us));
    if (apart < -close || apart > close) return apart < 0 ? -1 : 1;
    return (a->steps > b->steps) - (a->steps < b->steps);
}

static void take_plan(mw_route *route, const mw_plan *plan)
{
    mw_price price = {plan->recv_bytes_total, plan->time_us, plan->nstep};
    mw__price_add(&route->price, &price);
    route->recv_bytes += plan->recv_bytes;
    route->peak_bytes = MW_MAX(route->peak_bytes, plan->peak_bytes);
}

/* Two plans instead of one, if less is received so: a plan by itself takes what is fastest, which
 * for little data need not be what moves least. */
static mw_status try_via(mw_moves *m, mw_route *route, const mw_layout *middle, mw_plan *plan)
{
    int via;
    mw_route two = {.from = route->from, .to = route->to};
    MW_TRY(mw__moves_number(m, middle, &via));
    if (via == route->from || via == route->to) return MW_OK;
    MW_TRY(mw__plan_make(m->mesh, m->layout[route->from], middle, &m->scratch, plan));
    if (plan->recv_bytes_total > route->price.bytes) return MW_OK;
    take_plan(&two, plan);
    MW_TRY(mw__plan_make(m->mesh, middle, m->layout[route->to], &m->scratch, plan));
    take_plan(&two, plan);
    two.via = via;
    if (mw__price_compare(&two.price, &route->price) < 0) *route = two;
    return MW_OK;
}

static mw_layout without_partials(const mw_layout *l)
{
    mw_layout whole = *l;
    whole.npartial = 0;
    memset(whole.partial, 0, sizeof whole.partial);
    return whole;
}

/* Terms may be cut before they are combined, by the axes that hold copies of them; or combined
 * where they lie; or each rank combines a part, on whichever dim. */
static mw_status try_middles(mw_moves *m, mw_route *route, mw_plan *plan)
{
    const mw_layout *from = m->layout[route->from], *to = m->layout[route->to];
    if (!from->npartial || to->npartial || route->price.bytes == 0) return MW_OK;
    mw_layout middle = *to;
    for (int d = 0; d < to->ndim; d++)
        middle.dim[d] = mw__dim_without(m->mesh, &to->dim[d], mw__layout_partial_axes(from));
    middle.npartial = from->npartial;
    memcpy(middle.partial, from->partial, sizeof middle.partial);
    MW_TRY(try_via(m, route, &middle, plan));
    middle = without_partials(from);
    if (!m->thorough) return MW_OK;
    MW_TRY(try_via(m, route, &middle, plan));
    for (int d = 0; d < from->ndim; d++) {
        bool fits = true;
        middle = without_partials(from);
        for (int i = 0; i < from->npartial; i++)
            fits = fits && mw__dim_append(m->mesh, &middle.dim[d], from->partial[i].axis,
                                          from->partial[i].major, from->partial[i].size);
        mw__layout_canonical(m->mesh, &middle);
        if (fits) MW_TRY(try_via(m, route, &middle, plan));
    }
    return MW_OK;
}

mw_status mw__moves_get(mw_moves *m, int from, int to, const mw_route **ret)
{
    int key[2] = {from, to};
    uint64_t hash = mw__hash(11, key, sizeof key);
    for (mw_found *i = NULL; (i = mw__lookup_next(&m->route_lookup, hash, i));) {
        const mw_route *known = i->item;
        if (known->from != from || known->to != to) continue;
        *ret = known;
        return MW_OK;
    }
    mw_route *route = mw__arena_zalloc(&m->arena, sizeof *route);
    if (!route) return MW_NOMEM();
    *route = (mw_route){.from = from, .to = to, .via = -1};
    if (from != to) {
        mw__arena_clear(&m->scratch);
        mw_plan *plan = mw__arena_alloc(&m->scratch, sizeof *plan);
        if (!plan) return MW_NOMEM();
        MW_TRY(mw__plan_make(m->mesh, m->layout[from], m->layout[to], &m->scratch, plan));
        take_plan(route, plan);
        MW_TRY(try_middles(m, route, plan));
    }
    mw_found *added = mw__lookup_add(&m->route_lookup, hash);
    if (!added) return MW_NOMEM();
    added->item = route;
    *ret = route;
    return MW_OK;
}
