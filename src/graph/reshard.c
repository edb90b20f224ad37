/* Pass `reshard`: where operands disagree with what an op can do, something moves; this pass says
 * what. It chooses the layouts on which every node works so that all ranks together receive the
 * least over the whole program (reshard_search.c), then writes a `redistribute` wherever a value is
 * wanted otherwise than it was made. Afterwards every op is natural, and every value lies as its
 * line says.
 *
 * Fixed: what is annotated (arguments, marks, lines, results), and arguments to which `propagate`
 * gave an axis. Free: the rest. An argument of which nobody says anything lies as its users want
 * it. A program of one op is what an eager call of it is. */
#include "graph/reshard.h"
#include "graph/parts.h"
#include "graph/passes.h"

#include "ops/table.h"

enum { WIDE_OPS = 2048, WIDE_RANKS = 64, ALTERNATIVES = 4 };

/* A copy of a value in the graph. */
typedef struct place {
    int layout;
    mw_ssa *value;
    struct place *next;
} place;

typedef struct writer {
    reshard *r;
    place **places; /* [nvalue] by id; the first made first */
} writer;

/* ---- what is fixed ----------------------------------------------------------------------------
 */

static bool says_something(const mw_ssa *v)
{
    return v->stated || mw__layout_axes(&v->layout) || v->layout.npartial;
}

static mw_status set_initial(reshard *r, mw_ssa *v)
{
    bool constant = v->def->kind == MW_NODE_CONST;
    value_state *s = &r->value[v->id];
    copies c = {.n = 1, .pinned = v->mutated};
    s->free = !v->mutated && (constant ? !v->stated : !says_something(v));
    c.free = s->free;
    MW_TRY(mw__moves_number(&r->moves, &v->layout, &c.at[0]));
    return reshard_set(r, &c, &s->initial);
}

static mw_status survey(reshard *r)
{
    mw_graph *g = r->graph;
    int64_t most = g->nnode + g->nresult + 1;
    int nop = 0; /* ops, and what else is wanted */
    r->value = mw__arena_zalloc(&r->arena, (size_t)(g->nvalue + 1) * sizeof *r->value);
    r->is_result = mw__arena_zalloc(&r->arena, (size_t)g->nvalue + 1);
    r->node = mw__arena_zalloc(&r->arena, (size_t)most * sizeof *r->node);
    r->result = mw__arena_zalloc(&r->arena, (size_t)most * sizeof *r->result);
    r->class_of = mw__arena_zalloc(&r->arena, (size_t)most * sizeof *r->class_of);
    r->chosen = mw__arena_zalloc(&r->arena, (size_t)most * sizeof *r->chosen);
    r->among = mw__arena_zalloc(&r->arena, (size_t)most * sizeof *r->among);
    if (!r->value || !r->is_result || !r->node || !r->result || !r->class_of || !r->chosen ||
        !r->among)
        return MW_NOMEM();
    for (int64_t i = 0; i < g->nvalue; i++)
        r->value[i] = (value_state){-1, 0, -1, false};
    for (mw_node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->nin; i++)
            r->value[n->in[i]->id].uses++;
        if (n->kind == MW_NODE_INPUT || n->kind == MW_NODE_CONST)
            MW_TRY(set_initial(r, n->out[0]));
        else
            r->node[r->nnode++] = n;
        nop += n->kind == MW_NODE_OP;
        /* an eager call knows nothing of where its result is wanted */
        if (n->kind == MW_NODE_MARK || n->kind == MW_NODE_STEP) nop += 1;
        for (int k = 0; k < n->nout && n->kind == MW_NODE_OP; k++)
            nop += n->out[k]->stated;
    }
    for (int i = 0; i < g->nresult; i++) {
        mw_ssa *v = g->result[i];
        if (!v->stated && !r->is_result[v->id]) {
            r->result[r->nnode++] = v;
            r->value[v->id].uses++;
        }
        r->is_result[v->id] = true;
    }
    r->alone = nop == 1;
    const mw_mesh *mesh = r->moves.mesh; /* each axis multiplies what there is to look at */
    r->wide = (int64_t)nop << 2 * mesh->naxis <= WIDE_OPS && mesh->nrank <= WIDE_RANKS;
    r->moves.thorough = r->wide;
    return MW_OK;
}

/* ---- copies in the graph ----------------------------------------------------------------------
 */

static mw_status add_place(writer *w, const mw_ssa *v, int layout, mw_ssa *value)
{
    place *p = mw__arena_alloc(&w->r->arena, sizeof *p), **end = &w->places[v->id];
    if (!p) return MW_NOMEM();
    while (*end)
        end = &(*end)->next;
    *p = (place){layout, value, NULL};
    *end = p;
    return MW_OK;
}

/* The value lies so where it is made. */
static mw_status put(writer *w, mw_ssa *v, int layout)
{
    v->layout = *w->r->moves.layout[layout];
    return add_place(w, v, layout, v);
}

static mw_status nearest(writer *w, const mw_ssa *v, int layout, const place **ret,
                         const mw_route **ret_move)
{
    *ret = NULL;
    for (const place *p = w->places[v->id]; p; p = p->next) {
        const mw_route *move;
        MW_TRY(mw__moves_get(&w->r->moves, p->layout, layout, &move));
        if (*ret && mw__price_compare(&move->price, &(*ret_move)->price) >= 0) continue;
        *ret = p;
        *ret_move = move;
    }
    return MW_OK;
}

static mw_status add_step(writer *w, mw_node *at, mw_ssa *x, const mw_route *move, bool asked,
                          const char *because, mw_node **ret)
{
    reshard *r = w->r;
    const mw_route *half = move;
    if (move->via >= 0) {
        MW_TRY(mw__moves_get(&r->moves, move->from, move->via, &half));
        MW_TRY(add_step(w, at, x, half, asked, because, ret));
        x = (*ret)->out[0];
        MW_TRY(mw__moves_get(&r->moves, move->via, move->to, &half));
    }
    mw_node *step;
    MW_TRY(
        mw__graph_step(r->graph, at, x, x->mesh, r->moves.layout[move->to], MW_STEP_COUNT, &step));
    step->asked = asked;
    step->because = because;
    step->recv_bytes = half->recv_bytes;
    step->recv_bytes_total = half->price.bytes;
    /* Of a result, and of what the line of a value asks for: whoever made it. */
    const mw_node *by = at && !asked ? at : x->def;
    step->site = by->site;
    step->chain = by->chain;
    *ret = step;
    return MW_OK;
}

/* The value as it lies in a layout, before `at`: a copy that there is, or a new one. *ret_step:
 * what was added; NULL: nothing. */
static mw_status bring(writer *w, mw_node *at, mw_ssa *v, int layout, bool asked,
                       const char *because, mw_ssa **ret, mw_node **ret_step)
{
    const place *p;
    const mw_route *move;
    *ret_step = NULL;
    MW_TRY(nearest(w, v, layout, &p, &move));
    *ret = p->value;
    if (p->layout == layout) return MW_OK;
    MW_TRY(add_step(w, at, p->value, move, asked, because, ret_step));
    *ret = (*ret_step)->out[0];
    return v->mutated ? MW_OK : add_place(w, v, layout, *ret);
}

/* `step` gives what `v` stands for, and `v` takes the name of its result; what node gave is
 * nameless. */
static void rename_result(mw_node *node, int k, mw_node *step, mw_node *first)
{
    mw_ssa *v = node->out[k], *s = step->out[0];
    node->out[k] = s;
    s->def = node;
    s->nth = k;
    s->stated = false;
    step->out[0] = v;
    v->def = step;
    v->nth = 0;
    mw_layout l = s->layout;
    s->layout = v->layout;
    v->layout = l;
    first->in[0] = s;
}

/* ---- reasons ----------------------------------------------------------------------------------
 */

static mw_status reason_of(writer *w, const mw_node *node, const char **ret)
{
    reshard *r = w->r;
    mw__arena_clear(&r->scratch);
    const mw_layout **in = mw__arena_alloc(&r->scratch, (size_t)(node->nin + 1) * sizeof *in);
    if (!in) return MW_NOMEM();
    for (int k = 0; k < node->nin; k++)
        in[k] = &node->in[k]->layout;
    mw_call_args call = mw__node_call(node);
    const char *why;
    MW_TRY(mw__choose_why(r->moves.mesh, &call, in, &r->scratch, &why));
    mw_str text = {0};
    mw__str_printf(&text, "%s: ", mw__op_info_of(node->op)->schema.name);
    if (*why)
        mw__why_named(node, why, &text);
    else
        mw__str_puts(&text, "on these layouts of its operands less moves in all");
    *ret = mw__arena_strndup(&r->graph->arena, mw__str_text(&text), text.length);
    mw_status status = *ret ? mw__str_status(&text) : MW_NOMEM();
    mw__str_done(&text);
    return status;
}

static mw_status say_way(writer *w, int i, const node_way *way, mw_alternative *ret)
{
    reshard *r = w->r;
    mw_str text = {0};
    mw_status status = MW_OK;
    *ret = (mw_alternative){0};
    for (int k = 0; k < reshard_nin(r, i) && status == MW_OK; k++) {
        const mw_ssa *v = reshard_in(r, i, k);
        const place *p = w->places[v->id];
        const mw_route *move;
        mw__str_printf(&text, "%s%%%s as ", k ? ", " : "", v->name);
        mw__layout_str(r->moves.mesh, r->moves.layout[way->in[k]], &text);
        status = mw__moves_get(&r->moves, p->layout, way->in[k], &move);
        if (status != MW_OK) break;
        ret->recv_bytes += move->recv_bytes;
        ret->recv_bytes_total += move->price.bytes;
        ret->time_us += move->price.us;
        ret->peak_bytes = MW_MAX(ret->peak_bytes, move->peak_bytes);
    }
    ret->says = mw__arena_strndup(&r->graph->arena, mw__str_text(&text), text.length);
    if (status == MW_OK) status = ret->says ? mw__str_status(&text) : MW_NOMEM();
    mw__str_done(&text);
    return status;
}

/* What else node i could have worked on, kept on the first movement that it made. */
static mw_status add_alternatives(writer *w, int i, mw_node *step)
{
    reshard *r = w->r;
    const ways *all = r->among[i];
    mw_alternative *list = mw__arena_alloc(&r->graph->arena, ALTERNATIVES * sizeof *list);
    if (!list) return MW_NOMEM();
    int n = 0;
    for (int k = 0; k < all->n + all->nother && n < ALTERNATIVES; k++)
        if (&all->at[k] != r->chosen[i]) MW_TRY(say_way(w, i, &all->at[k], &list[n++]));
    step->alternative = list;
    step->nalternative = n;
    return MW_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

/* The memory that an op writes cannot stay where the op works: it is copied back. */
static mw_status copy_back(writer *w, mw_node *node, mw_ssa *x, int home)
{
    reshard *r = w->r;
    static const char because[] = "what was written goes back to where it lies";
    mw_ssa *h = node->out[0];
    int now;
    const mw_route *move;
    mw_node *back, *copy;
    MW_TRY(mw__moves_number(&r->moves, &h->layout, &now));
    MW_TRY(mw__moves_get(&r->moves, now, home, &move));
    MW_TRY(add_step(w, node->next, h, move, false, because, &back));
    const mw_arg arg[] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1},
                          {.kind = MW_ARG_TENSOR, .first = 1, .count = 1},
                          {.kind = MW_ARG_BOOL}};
    mw_ssa *in[] = {x, back->out[0]};
    MW_TRY(mw__graph_op(r->graph, back->next, mw__op_at(MW_OP_copy_), arg, 3, in, 2, &copy));
    copy->out[0]->layout = *r->moves.layout[home];
    mw_node *first = node->next; /* the first half of the way back reads what the op gave */
    rename_result(node, 0, copy, first);
    return MW_OK;
}

static mw_status write_results(writer *w, mw_node *node, const node_way *way)
{
    reshard *r = w->r;
    for (int k = 0; k < node->nout; k++) {
        mw_ssa *v = node->out[k];
        MW_TRY(put(w, v, way->out[k]));
        if (way->target[k] < 0 || !(r->value[v->id].uses || r->is_result[v->id])) continue;
        const mw_route *move;
        mw_node *step, *after = node->next;
        MW_TRY(mw__moves_get(&r->moves, way->out[k], way->target[k], &move));
        MW_TRY(add_step(w, after, v, move, v->stated,
                        v->stated ? "its line says that it lies so"
                                  : "it is written in place, which terms of a sum can't be",
                        &step));
        mw_node *first = move->via >= 0 ? step->prev : step;
        rename_result(node, k, step, first);
        w->places[v->id] = NULL;
        MW_TRY(add_place(w, v, way->target[k], v));
        if (!v->mutated) MW_TRY(add_place(w, v, way->out[k], node->out[k]));
    }
    return MW_OK;
}

static mw_status write_op(writer *w, int i)
{
    reshard *r = w->r;
    mw_node *node = r->node[i], *step, *first = NULL;
    const node_way *way = r->chosen[i];
    const char *because = "";
    mw_ssa **in = mw__arena_alloc(&r->graph->arena, (size_t)(node->nin + 1) * sizeof(mw_ssa *));
    if (!in) return MW_NOMEM();
    mw_ssa *target = node->nin ? node->in[0] : NULL;
    int home = target ? w->places[target->id]->layout : 0;
    for (int k = 0; k < node->nin; k++) {
        const place *p;
        const mw_route *move;
        MW_TRY(nearest(w, node->in[k], way->in[k], &p, &move));
        if (p->layout != way->in[k] && !*because) MW_TRY(reason_of(w, node, &because));
        MW_TRY(bring(w, node, node->in[k], way->in[k], false, because, &in[k], &step));
        if (step && !first) first = step;
    }
    if (first) MW_TRY(add_alternatives(w, i, first));
    node->in = in;
    MW_TRY(write_results(w, node, way));
    if (!way->there_and_back) return MW_OK;
    mw_ssa *h = node->out[0];
    MW_TRY(copy_back(w, node, target, home));
    w->places[h->id] = NULL;
    return put(w, h, home);
}

/* A mark, or a step that the program states: it moves by itself, unless a copy lies there already.
 */
static mw_status write_move(writer *w, int i)
{
    reshard *r = w->r;
    mw_node *node = r->node[i], *step;
    int to = r->chosen[i]->in[0];
    mw_ssa *v = node->in[0], *out = node->out[0];
    const place *p;
    const mw_route *move;
    if (node->kind == MW_NODE_STEP) {
        node->step = MW_STEP_COUNT;
        node->dim = node->to_dim = -1;
        node->axes = 0;
    }
    if (node->kind == MW_NODE_MARK || !*node->because) node->asked = true;
    if (!*node->because)
        node->because = node->kind == MW_NODE_MARK ? "mark_sharding" : "redistribute";
    MW_TRY(nearest(w, v, to, &p, &move));
    node->in[0] = p->value;
    if (move->via >= 0) {
        const mw_route *half;
        MW_TRY(mw__moves_get(&r->moves, move->from, move->via, &half));
        MW_TRY(add_step(w, node, p->value, half, true, node->because, &step));
        node->in[0] = step->out[0];
        MW_TRY(mw__moves_get(&r->moves, move->via, to, &move));
    }
    node->recv_bytes = move->recv_bytes;
    node->recv_bytes_total = move->price.bytes;
    MW_TRY(put(w, out, to));
    return v->mutated || out->mutated || p->layout == to ? MW_OK : add_place(w, v, to, out);
}

static mw_status write_result(writer *w, int i)
{
    reshard *r = w->r;
    mw_ssa *v = r->result[i], *at;
    mw_node *step;
    MW_TRY(
        bring(w, NULL, v, r->chosen[i]->in[0], false, "the result may not be partial", &at, &step));
    if (step) MW_TRY(add_alternatives(w, i, step));
    for (int k = 0; k < r->graph->nresult; k++)
        if (r->graph->result[k] == v) r->graph->result[k] = at;
    return MW_OK;
}

/* ---- free values ------------------------------------------------------------------------------
 */

typedef struct wanted {
    int layout;
    struct wanted *next;
} wanted;

static mw_status makes_all(reshard *r, int layout, const wanted *all, bool *ret)
{
    *ret = true;
    for (const wanted *x = all; x && *ret; x = x->next) {
        const mw_route *move;
        MW_TRY(mw__moves_get(&r->moves, layout, x->layout, &move));
        *ret = move->price.bytes == 0;
    }
    return MW_OK;
}

/* A free value lies as its uses want it; where they differ, so that each gets its part of it for
 * nothing. */
static mw_status settle_free(writer *w, mw_ssa *v, const wanted *all)
{
    reshard *r = w->r;
    int whole, best = -1;
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&v->layout, shape);
    mw_layout l = mw_layout_replicated((mw_dtype)v->layout.dtype, v->layout.ndim, shape);
    MW_TRY(mw__moves_number(&r->moves, &l, &whole));
    for (const wanted *x = all; x && best < 0; x = x->next) {
        bool fits = false;
        if (!r->moves.layout[x->layout]->npartial) MW_TRY(makes_all(r, x->layout, all, &fits));
        if (fits) best = x->layout;
    }
    if (!all) MW_TRY(mw__moves_number(&r->moves, &v->layout, &best));
    return put(w, v, best < 0 ? whole : best);
}

static mw_status settle_inputs(writer *w)
{
    reshard *r = w->r;
    wanted **all = mw__arena_zalloc(&r->arena, (size_t)(r->graph->nvalue + 1) * sizeof *all);
    if (!all) return MW_NOMEM();
    for (int i = r->nnode - 1; i >= 0; i--)
        for (int k = 0; k < reshard_nin(r, i); k++) {
            const mw_ssa *v = reshard_in(r, i, k);
            if (!r->value[v->id].free) continue;
            wanted *x = mw__arena_alloc(&r->arena, sizeof *x);
            if (!x) return MW_NOMEM();
            *x = (wanted){r->chosen[i]->in[k], all[v->id]};
            all[v->id] = x;
        }
    for (mw_node *n = r->graph->first; n; n = n->next) {
        if (n->kind != MW_NODE_INPUT && n->kind != MW_NODE_CONST) continue;
        mw_ssa *v = n->out[0];
        const copies *c = &r->set[r->value[v->id].initial];
        MW_TRY(c->free ? settle_free(w, v, all[v->id]) : put(w, v, c->at[0]));
        v->stated = true;
    }
    return MW_OK;
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static mw_status rewrite(reshard *r)
{
    writer w = {.r = r};
    w.places = mw__arena_zalloc(&r->arena, (size_t)(r->graph->nvalue + 1) * sizeof(place *));
    if (!w.places) return MW_NOMEM();
    MW_TRY(settle_inputs(&w));
    for (int i = 0; i < r->nnode; i++)
        MW_TRY(!r->node[i]                      ? write_result(&w, i)
               : r->node[i]->kind == MW_NODE_OP ? write_op(&w, i)
                                                : write_move(&w, i));
    r->graph->placed = true;
    return reshard_asked(r);
}

mw_status mw__pass_reshard(mw_graph *graph)
{
    if (graph->nmesh > 1) MW_TRY(mw__pass_meshes(graph));
    if (!graph->nmesh) return MW_OK;
    reshard r = {.graph = graph};
    mw__arena_init(&r.arena);
    r.set_lookup.arena = r.class_lookup.arena = r.ways_lookup.arena = r.gap_lookup.arena = &r.arena;
    mw__arena_init(&r.scratch);
    mw__moves_init(&r.moves, graph->mesh[0]);
    mw_status status = survey(&r);
    if (status == MW_OK) status = reshard_search(&r);
    if (status == MW_OK) status = rewrite(&r);
    mw__free(r.set, (size_t)r.cap_set * sizeof *r.set);
    mw__moves_done(&r.moves);
    mw__arena_done(&r.scratch);
    mw__arena_done(&r.arena);
    return status;
}
