/* Redistributions in Dynamo's graphs, where DTensors are annotated whole:
 *
 *     r: "DTensor(f32[8, 12], R)" = w.redistribute(mesh, [Replicate()])
 *
 * The collectives for them stand in the graphs of later stages; until one is read, the planner says
 * what they move. The size of the mesh comes from a tensor that the graph shows both whole and as
 * one rank's piece, or from --mesh. */
#include "log/compile.h"
#include "log/dtensor.h"

#include <meshwise/plan.h>
#include <stdio.h>

typedef struct place {
    dt_tensor from, to; /* placements only */
    const cp_shape *whole;
    mw_mesh *mesh; /* NULL: not known */
    mw_how how;
    const char *how_from;
} place;

static bool read_placed(const cp_shape *s, dt_tensor *ret)
{
    *ret = (dt_tensor){.nplacement = 0};
    return s->placed && mw__dt_read_placements(s->placed, s->placed_length, ret) &&
           ret->nplacement > 0;
}

/* Ranks on a mesh of one axis, from a value that is seen whole and cut; 0: not to be known. */
static int64_t ranks_of(const cp_graph *g, int64_t *ret_line)
{
    for (int i = 0; i < g->nnode; i++) {
        const cp_node *n = &g->node[i];
        int in = mw__cp_in(g, i, 0);
        bool down = mw__cp_is(n, "to_local"), up = mw__cp_is(n, "from_local");
        if (n->kind != CP_OP || in < 0 || (!down && !up)) continue;
        const cp_shape *whole = down ? &g->node[in].shape : &n->shape,
                       *piece = down ? &n->shape : &g->node[in].shape;
        dt_tensor t;
        if (!read_placed(whole, &t) || t.nplacement != 1 || t.placement[0].kind != 'S' ||
            !piece->sized)
            continue;
        int d = t.placement[0].dim < 0 ? t.placement[0].dim + whole->ndim : t.placement[0].dim;
        if (whole->ndim != piece->ndim || d < 0 || d >= whole->ndim || piece->dim[d] < 1 ||
            whole->dim[d] % piece->dim[d])
            continue;
        *ret_line = n->line;
        return whole->dim[d] / piece->dim[d];
    }
    return 0;
}

void mw__cp_mesh_learn(cp_here *h)
{
    cp_state *s = h->s;
    int64_t line = 0, ranks = h->g->stage <= CP_PRE_GRAD ? ranks_of(h->g, &line) : 0;
    if (ranks < 2 || s->mesh_ranks == ranks) return;
    s->mesh_ranks = s->mesh_ranks ? -1 : ranks;
    s->mesh_line = line;
}

static void find_mesh(cp_here *h, place *p)
{
    const mw_mesh *given = mw__explain_mesh(h->e);
    int64_t line = 0, ranks = p->from.nplacement == 1 ? ranks_of(h->g, &line) : 0;
    char text[32];
    (void)snprintf(text, sizeof text, "a=%lld", (long long)ranks);
    if (ranks > 1 && ranks <= MW_MESH_RANKS && !mw__cp_failed(h, mw_mesh_parse(text, &p->mesh))) {
        p->how = MW_HOW_DERIVED;
        p->how_from = mw__explain_text(h->e, "whole and local size in line %lld", (long long)line);
    } else if (given && mw_mesh_axes(given) == p->from.nplacement) {
        p->mesh = mw_mesh_ref((mw_mesh *)given);
        p->how = MW_HOW_ASSUMED;
        p->how_from = "--mesh; a later stage's graph would settle it";
    }
}

/* `f32[8@a, 12]{sum:b}` */
static bool layout_of(cp_here *h, const place *p, const dt_tensor *t, mw_layout *ret)
{
    mw_str text = {0};
    const cp_shape *s = p->whole;
    bool good = s->ndim >= 0 && s->bits;
    mw__str_printf(&text, "%s[", s->dtype);
    for (int d = 0; d < s->ndim; d++) {
        mw__str_printf(&text, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
        const char *before = "@";
        for (int a = 0; a < t->nplacement; a++) {
            const dt_placement *q = &t->placement[a];
            if (q->kind != 'S' || (q->dim < 0 ? q->dim + s->ndim : q->dim) != d) continue;
            mw__str_printf(&text, "%s%s", before, mw_mesh_axis_name(p->mesh, a));
            before = ",";
        }
    }
    mw__str_puts(&text, "]");
    const char *before = "{";
    for (int a = 0; a < t->nplacement; a++) {
        const dt_placement *q = &t->placement[a];
        good = good && (q->kind == 'S' || q->kind == 'R' || q->kind == 'P');
        if (q->kind != 'P') continue;
        mw__str_printf(&text, "%s%s:%s", before, q->reduce[0] ? q->reduce : "sum",
                       mw_mesh_axis_name(p->mesh, a));
        before = ", ";
    }
    if (*before == ',') mw__str_puts(&text, "}");
    good = good && !mw__cp_failed(h, mw__str_status(&text)) &&
           !mw__cp_failed(h, mw_layout_parse(p->mesh, mw__str_text(&text), ret));
    mw__cp_done(h, &text);
    return good;
}

static int64_t moving(cp_here *h, const place *p)
{
    mw_layout a, b;
    mw_planned *plan = NULL;
    mw_plan_options options = {.steps = MW_STEPS_CLASSIC, .minimize = MW_MINIMIZE_BYTES};
    if (!p->mesh || mw_mesh_ranks(p->mesh) > 1024 || !layout_of(h, p, &p->from, &a) ||
        !layout_of(h, p, &p->to, &b))
        return -1;
    if (mw__cp_failed(h, mw_plan_layouts(p->mesh, &a, &b, &options, &plan))) return -1;
    int64_t bytes = mw_planned_facts(plan)->recv_bytes;
    mw_planned_free(plan);
    return bytes;
}

static const char *placements(cp_here *h, const dt_tensor *t)
{
    mw_str text = {0};
    mw__dt_placements_str(t, &text);
    const char *made = mw__explain_text(h->e, "%s", mw__str_text(&text));
    mw__cp_done(h, &text);
    return made ? made : "";
}

/* One name for what moves: of the axis that changes, "" where several do. */
static mw_collective kind_of(const place *p, int *ret_axis)
{
    mw_collective kind = MW_COLLECTIVE_NONE;
    int changes = 0;
    for (int a = 0; a < p->from.nplacement && a < p->to.nplacement; a++) {
        const char *name = mw__dt_collective(&p->from.placement[a], &p->to.placement[a]);
        bool shift = name && strcmp(name, "all_to_all") == 0 &&
                     p->from.placement[a].dim == p->to.placement[a].dim;
        if (!name || shift) continue;
        changes++;
        *ret_axis = a;
        kind = mw__collective_find(name);
    }
    return changes == 1 ? kind : MW_COLLECTIVE_NONE;
}

static void normalize(dt_tensor *t, int ndim)
{
    for (int a = 0; a < t->nplacement; a++)
        if (t->placement[a].kind == 'S' && t->placement[a].dim < 0) t->placement[a].dim += ndim;
}

static void tell(cp_here *h, int node, place *p)
{
    cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    mw_line line = {.number = n->line, .rank = g->rank, .text = "", .raw = ""};
    mw_draft *d = mw__draft(h->e, &line, "compile", "redistribute");
    const char *from = placements(h, &p->from), *to = placements(h, &p->to),
               *at = mw__cp_from(h, n->line);
    mw_str whole = {0};
    int axis = -1;
    mw_collective kind = kind_of(p, &axis);
    find_mesh(h, p);
    int64_t bytes = moving(h, p);
    bool exchange = kind == MW_COLLECTIVE_all_to_all;
    char name[24] = "", each[64] = "";
    if (axis >= 0) (void)snprintf(name, sizeof name, "mesh dim %d", axis);
    if (bytes >= 0)
        (void)snprintf(each, sizeof each, ": %lld B received per rank and run", (long long)bytes);
    mw__cp_shape_str(p->whole, &whole);
    mw__fact(d, "from", MW_HOW_STATED, mw__cp_from(h, g->node[mw__cp_in(g, node, 0)].line), "%s",
             from);
    mw__fact(d, "to", MW_HOW_STATED, at, "%s", to);
    mw__fact(d, "whole tensor", MW_HOW_STATED, at,
             "%s: a DTensor's annotation is of the whole, other tensors' of one rank",
             mw__str_text(&whole));
    mw__cp_tell_source(h, d, n);
    if (p->mesh)
        mw__fact(d, "ranks of the mesh", p->how, p->how_from ? p->how_from : "", "%d",
                 (int)mw_mesh_ranks(p->mesh));
    if (bytes >= 0)
        mw__fact(d, "received per rank", exchange ? MW_HOW_ASSUMED : p->how,
                 exchange ? "an all-to-all; where the backend has none (gloo on CPU), DTensor "
                            "gathers and cuts: "
                            "TORCH_LOGS=aot_graphs would settle it"
                          : "meshwise's plan for that change",
                 "%lld B", (long long)bytes);
    if (kind != MW_COLLECTIVE_NONE)
        mw__draft_moved(d, mw__collective_name(kind), name, "redistribute", bytes);
    mw__draft_says(d, "A redistribution of %s from %s to %s%s%s%s.", mw__str_text(&whole), from, to,
                   kind ? ": one " : "", mw__collective_words(kind), each);
    mw__draft_direction(d, "forward");
    mw__draft_weight(d, 25);
    if (!p->mesh)
        mw__missing(h->e,
                    "the size of the mesh of the redistribution in line %lld: Dynamo's graph does "
                    "not print it (--mesh, or the "
                    "graph of TORCH_LOGS=aot_graphs)",
                    (long long)n->line);
    cp_call call = {.kind = kind, .in_bytes = -1, .place = true};
    if (kind != MW_COLLECTIVE_NONE) mw__cp_moved_add(h, &call, "forward", d);
    mw__cp_done(h, &whole);
}

void mw__cp_place(cp_here *h, int node)
{
    cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    int in = mw__cp_in(g, node, 0);
    place p = {.whole = &n->shape};
    if (in < 0 || !g->node[in].shape.placed || !n->callee_length) return;
    bool full = mw__cp_is(n, "full_tensor");
    if (!full && !mw__cp_is(n, "redistribute")) return;
    if (!read_placed(&g->node[in].shape, &p.from)) return;
    if (full) {
        p.to = p.from;
        for (int a = 0; a < p.to.nplacement; a++)
            p.to.placement[a] = (dt_placement){.kind = 'R', .order = -1};
    } else if (!read_placed(&n->shape, &p.to) || p.to.nplacement != p.from.nplacement) {
        return;
    }
    normalize(&p.from, n->shape.ndim);
    normalize(&p.to, n->shape.ndim);
    if (strcmp(placements(h, &p.from), placements(h, &p.to)) != 0) tell(h, node, &p);
    mw_mesh_unref(p.mesh);
}
