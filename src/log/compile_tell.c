/* The entry of a graph, and of all that stands in it. */
#include "log/compile.h"

#include <stdio.h>

const char *const mw__cp_stage_words[CP_STAGES] = {
    [CP_DYNAMO] = "Dynamo's graph",
    [CP_PRE_GRAD] = "inductor's graph before its passes",
    [CP_JOINT] = "AOTAutograd's joint graph",
    [CP_AOT] = "AOTAutograd's graph",
    [CP_POST_GRAD] = "inductor's graph after its passes",
    [CP_CODE] = "inductor's code",
};

static void find_direction(cp_graph *g)
{
    if (strstr(g->title, "Forward") || strstr(g->title, "forward")) {
        g->direction = "forward";
        g->direction_how = MW_HOW_STATED;
    } else if (strstr(g->title, "Backward") || strstr(g->title, "backward")) {
        g->direction = "backward";
        g->direction_how = MW_HOW_STATED;
    } else if (g->stage != CP_JOINT && (g->whole || g->tangents)) {
        g->direction = g->tangents ? "backward" : "forward";
        g->direction_how = MW_HOW_DERIVED;
    }
}

/* Programs without a compile id are told apart by their stages: an earlier one again is a new one.
 */
static void find_unit(cp_here *h)
{
    cp_graph *g = h->g;
    cp_state *s = h->s;
    int which = strcmp(g->direction, "backward") == 0, *last = s->last_stage[h->stream];
    if (g->unit[0]) return;
    bool again = last[which] > (int)g->stage + 1 || (last[which] == (int)g->stage + 1 && g->staged);
    if (g->stage == CP_JOINT) again = last[0] > CP_JOINT || last[1] > CP_JOINT;
    if (again) {
        s->serial[h->stream]++;
        last[0] = last[1] = 0;
    }
    last[which] = (int)g->stage + 1;
    (void)snprintf(g->unit, sizeof g->unit, "#%d", s->serial[h->stream]);
}

static int count_moves(const cp_graph *g, int64_t *ret_bytes, int *ret_unknown)
{
    int n = 0;
    *ret_bytes = *ret_unknown = 0;
    for (int i = 0; i < g->nnode; i++) {
        if (!g->node[i].call) continue;
        int64_t bytes = mw__cp_received(g->node[i].call);
        n++;
        if (bytes < 0 || __builtin_add_overflow(*ret_bytes, bytes, ret_bytes)) ++*ret_unknown;
    }
    return n;
}

/* Whole tensors: redistributions are shown, what ops do on their own is not. */
static void tell_whole(cp_here *h, mw_draft *d)
{
    const cp_graph *g = h->g;
    cp_state *s = h->s;
    s->later = s->later || g->stage > CP_PRE_GRAD;
    for (int i = 0; i < g->nnode; i++) {
        if (!g->node[i].shape.placed) continue;
        mw__fact(d, "DTensors", MW_HOW_DERIVED, "their annotations name placements",
                 "whole, with placements: what moves is shown as a redistribution, and what an op "
                 "redistributes by itself is not shown");
        if (!s->dtensor_line) s->dtensor_line = g->first;
        return;
    }
}

static mw_draft *tell_graph(cp_here *h)
{
    cp_graph *g = h->g;
    int64_t bytes;
    int unknown, n = count_moves(g, &bytes, &unknown);
    mw_line line = {.number = g->first, .rank = g->rank, .text = "", .raw = ""};
    if (mw__cp_other_rank(h, n)) return NULL;
    mw_draft *d = mw__draft(h->e, &line, "compile", "graph");
    const char *from = mw__cp_from(h, g->first);
    char each[80] = "";
    bool both = g->title[0] && g->staged;
    if (g->title[0]) mw__fact(d, "title", MW_HOW_STATED, from, "%s", g->title);
    if (g->staged)
        mw__fact(d, "stage", MW_HOW_DERIVED, "its title or log", "%s",
                 mw__cp_stage_words[g->stage]);
    if (g->unit[0] && g->unit[0] != '#')
        mw__fact(d, "compilation", MW_HOW_STATED, from,
                 "%s: frame, and how often it was compiled before", g->unit);
    mw__fact(d, "printed", MW_HOW_DERIVED, "graphs are logged where they are traced",
             "once, when the program was compiled: nothing moved then, and each run of the graph "
             "moves it all");
    tell_whole(h, d);
    mw__fact(d, "collectives", MW_HOW_DERIVED, "calls in the graph, waits not counted", "%d", n);
    if (n && !unknown)
        mw__fact(d, "received per rank and run", MW_HOW_DERIVED, "the sum over its collectives",
                 "%lld B", (long long)bytes);
    if (*g->direction)
        mw__fact(d, "direction", g->direction_how,
                 g->direction_how == MW_HOW_STATED ? "its title"
                                                   : "tangents among its inputs, or none",
                 "%s", g->direction);
    if (!g->over || !g->whole)
        mw__missing(h->e, "%s of the graph in line %lld: the text is cut",
                    !g->whole ? "the inputs" : "the end", (long long)g->first);
    if (n && !unknown)
        (void)snprintf(each, sizeof each, ", %lld B received per rank each time it runs",
                       (long long)bytes);
    mw__draft_says(d,
                   "%s%s%s%s: %d collective%s%s; it is printed once, when it is compiled, and "
                   "nothing moves then.",
                   g->title[0] ? g->title
                   : g->staged ? mw__cp_stage_words[g->stage]
                               : "A graph",
                   both ? " (" : "", both ? mw__cp_stage_words[g->stage] : "", both ? ")" : "", n,
                   n == 1 ? "" : "s", each);
    mw__draft_direction(d, g->direction);
    mw__draft_weight(d, n ? 20 : 3);
    h->s->moves = h->s->moves || n;
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = "the graph";
    return d;
}

void mw__cp_tell(cp_here *h)
{
    cp_graph *g = h->g;
    int64_t first = h->e->nentry;
    uint64_t hash;
    if (g->nnode == 0) {
        mw__cp_graph_clear(g);
        return;
    }
    find_direction(g);
    if (!mw__cp_told_before(h, &hash)) {
        bool fresh = false;
        find_unit(h);
        mw__cp_mesh_learn(h);
        mw__cp_fill(h);
        mw_draft *d = tell_graph(h);
        for (int i = 0; i < g->nnode && !h->e->failed; i++) {
            if (g->node[i].call) fresh = mw__cp_tell_move(h, i) || fresh;
            if (g->node[i].kind == CP_WAIT && g->stage != CP_CODE) mw__cp_tell_wait(h, i);
            if (g->node[i].kind == CP_OP) mw__cp_place(h, i);
        }
        if (fresh) mw__cp_check_graph(h, d);
        mw__cp_withdraw(h);
        mw__cp_told_add(h, hash, first, h->e->nentry);
    }
    mw__cp_graph_clear(g);
}

/* What it would be on each axis of a mesh that was given. */
static void tell_no_size(cp_here *h, const cp_wanted *w)
{
    const mw_mesh *mesh = mw__explain_mesh(h->e);
    const char *words = mw__collective_words(w->kind);
    mw_str axes = {0};
    for (int a = 0; mesh && a < mw_mesh_axes(mesh); a++) {
        cp_call c = {.kind = w->kind,
                     .in_bytes = w->in_bytes,
                     .out_bytes = w->out_bytes,
                     .size = mw_mesh_axis_size(mesh, a)};
        int64_t bytes = mw__cp_received(&c);
        mw__str_printf(&axes, "%s%s", a ? ", " : "", mw_mesh_axis_name(mesh, a));
        if (bytes >= 0) mw__str_printf(&axes, " (%lld B received)", (long long)bytes);
    }
    if (axes.length)
        mw__missing(h->e,
                    "the group size of the %s in line %lld, so its bytes: the text names group %s "
                    "only, not "
                    "which axis of the mesh that is: %s",
                    words, (long long)w->line, w->group, mw__str_text(&axes));
    else
        mw__missing(
            h->e,
            "the group size of the %s in line %lld, so its bytes: the text names group %s only "
            "(--mesh tp=2 would give it, or a call in the text that states the size of that group)",
            words, (long long)w->line, w->group);
    mw__cp_done(h, &axes);
}

void mw__cp_settle(cp_here *h)
{
    cp_state *s = h->s;
    for (int64_t i = 0; i < s->nwanted; i++) {
        cp_wanted *w = &s->wanted[i];
        cp_call c = {.kind = w->kind, .in_bytes = w->in_bytes, .out_bytes = w->out_bytes};
        memcpy(c.group, w->group, sizeof c.group);
        mw__cp_group_size(h, &c, w->line);
        int64_t bytes = mw__cp_received(&c);
        mw_entry *entry = mw__draft_entry(w->draft);
        if (c.size)
            mw__fact(w->draft, "group size", c.size_how, c.size_from ? c.size_from : "", "%lld",
                     (long long)c.size);
        if (bytes >= 0) {
            mw__fact(w->draft, "received per rank",
                     c.size_how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                     mw__collective_formula(c.kind), "%lld B", (long long)bytes);
            if (entry && entry->collective) entry->bytes = bytes;
        } else if (!c.size) {
            tell_no_size(h, w);
        } else {
            mw__missing(
                h->e,
                "the bytes of the %s in line %lld: its shape is not printed or has symbols in it",
                mw__collective_words(w->kind), (long long)w->line);
        }
    }
    s->nwanted = 0;
    if (s->moves)
        mw__missing(h->e, "how often the compiled graphs run: they are printed when they are "
                          "compiled, not at each step");
    if (s->dtensor_line && !s->later)
        mw__missing(
            h->e,
            "the collectives of the graph in line %lld: Dynamo sees DTensors whole, and what "
            "an op redistributes by itself is not in it (TORCH_LOGS=aot_graphs prints them)",
            (long long)s->dtensor_line);
}
