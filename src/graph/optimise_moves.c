/* What `optimise` does with movements: chains, delays, constants, hoisting. */
#include "graph/optimise.h"

#include "plan/choose.h"

static bool moves(const mw_node *n)
{
    return n->kind == MW_NODE_MARK || n->kind == MW_NODE_STEP;
}

static mw_status route(optimiser *o, const mw_layout *from, const mw_layout *to,
                       const mw_route **ret)
{
    int a, b;
    MW_TRY(mw__moves_number(&o->moves, from, &a));
    MW_TRY(mw__moves_number(&o->moves, to, &b));
    return mw__moves_get(&o->moves, a, b, ret);
}

/* A movement from x to `to`, before `at`, for the reasons of `like`. */
static mw_status add_movement(optimiser *o, mw_node *at, mw_ssa *x, const mw_layout *to,
                              const mw_node *like, mw_node **ret)
{
    const mw_route *way;
    MW_TRY(route(o, &x->layout, to, &way));
    int stop[2] = {way->via >= 0 ? way->via : way->to, way->to};
    for (int i = 0; i < (way->via >= 0 ? 2 : 1); i++) {
        const mw_route *half;
        MW_TRY(route(o, &x->layout, o->moves.layout[stop[i]], &half));
        MW_TRY(
            mw__graph_step(o->graph, at, x, x->mesh, o->moves.layout[stop[i]], MW_STEP_COUNT, ret));
        (*ret)->recv_bytes = half->recv_bytes;
        (*ret)->recv_bytes_total = half->price.bytes;
        (*ret)->asked = like->asked;
        (*ret)->because = like->because;
        (*ret)->site = like->site;
        (*ret)->chain = like->chain;
        (*ret)->alternative = like->alternative;
        (*ret)->nalternative = like->nalternative;
        x = (*ret)->out[0];
    }
    return MW_OK;
}

/* The node that makes a value takes over the name of the one that goes. */
static void take_name(mw_ssa *v, const mw_ssa *gone)
{
    v->name = gone->name;
}

/* ---- chains -----------------------------------------------------------------------------------
 */

/* The first value of the movements that end in `n`, nobody reading what lies between. */
static mw_status walk_up(optimiser *o, const mw_node *n, mw_ssa **ret_head, mw_price *ret,
                         const mw_node **ret_reason)
{
    *ret = (mw_price){0};
    *ret_reason = n;
    for (;;) {
        const mw_route *way;
        MW_TRY(route(o, &n->in[0]->layout, &n->out[0]->layout, &way));
        mw__price_add(ret, &way->price);
        if (way->price.bytes > 0) *ret_reason = n;
        const mw_node *up = n->in[0]->def;
        *ret_head = n->in[0];
        if (!moves(up) || o->uses[n->in[0]->id] != 1) return MW_OK;
        n = up;
    }
}

/* The movement of the chain that somebody asked for; NULL: none. */
static const mw_node *find_asked(const mw_node *n, const mw_ssa *head)
{
    for (; n->out[0] != head && moves(n); n = n->in[0]->def) {
        if (n->asked) return n;
        if (n->in[0] == head) break;
    }
    return NULL;
}

mw_status optimise_chains(optimiser *o)
{
    MW_TRY(optimise_count(o));
    for (mw_node *n = o->graph->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!moves(n) || !moves(n->in[0]->def) || n->in[0]->mutated || n->out[0]->mutated || n->own)
            continue;
        mw_ssa *head;
        mw_price now;
        const mw_node *reason;
        const mw_route *way;
        MW_TRY(walk_up(o, n, &head, &now, &reason));
        if (head->mutated || head == n->in[0]) continue;
        MW_TRY(route(o, &head->layout, &n->out[0]->layout, &way));
        if (mw__price_compare(&way->price, &now) >= 0) continue;
        const mw_node *asked = find_asked(n, head);
        mw_node like = asked ? *asked : *reason, *made = NULL;
        mw_ssa *out = n->out[0], *with = head;
        if (way->from != way->to) {
            MW_TRY(add_movement(o, n, head, &out->layout, &like, &made));
            with = made->out[0];
            take_name(with, out);
        }
        o->now[out->id] = with;
        for (mw_node *k = n, *up; k; k = up) { /* the old chain */
            up = k->in[0] == head ? NULL : k->in[0]->def;
            if (prev == k) prev = k->prev;
            mw__graph_erase(o->graph, k);
        }
        o->changes++;
    }
    optimise_replace(o);
    return MW_OK;
}

/* ---- delay ------------------------------------------------------------------------------------
 */

/* Does operand i come from a movement that combines terms for this node alone, unasked? */
static bool combines(const optimiser *o, const mw_node *n, int i)
{
    const mw_ssa *v = n->in[i];
    const mw_node *def = v->def;
    return def->kind == MW_NODE_STEP && !def->asked && !v->mutated && !def->in[0]->mutated &&
           v->id < o->n && o->uses[v->id] == 1 && def->in[0]->layout.npartial &&
           !v->layout.npartial;
}

/* Would the node, its operands lying so, move nothing? Its results then. */
static mw_status natural_results(optimiser *o, const mw_node *n, const mw_layout *const *in,
                                 bool *ret_natural, const mw_layout **ret_out)
{
    mw_call_args call = mw__node_call(n);
    bool parts = false;
    if (n->op->reshape) {
        mw_choice choice;
        MW_TRY(mw__choose(o->moves.mesh, &call, in, &o->scratch, &choice));
        *ret_natural = !choice.moves;
        *ret_out = choice.out;
        return MW_OK;
    }
    chooser *c;
    MW_TRY(mw__chooser_new(o->moves.mesh, &call, &o->scratch, &c));
    MW_TRY(mw__chooser_natural(c, in, ret_natural, ret_out, &parts));
    *ret_natural = *ret_natural && !parts;
    return MW_OK;
}

/* The node with the operands of the mask as they were before their terms were combined: are its
 * results the same, with terms, and do all movements cost less? */
static mw_status try_delay(optimiser *o, const mw_node *n, uint32_t mask, const mw_layout **ret_out,
                           bool *ret_better)
{
    const mw_layout **in = mw__arena_alloc(&o->scratch, (size_t)(n->nin + 1) * sizeof *in);
    mw_price now = {0}, then = {0};
    if (!in) return MW_NOMEM();
    *ret_better = false;
    for (int i = 0; i < n->nin; i++) {
        const mw_node *def = n->in[i]->def;
        in[i] = &n->in[i]->layout;
        if (!(mask >> i & 1)) continue;
        const mw_route *way;
        in[i] = &def->in[0]->layout;
        MW_TRY(route(o, in[i], &n->in[i]->layout, &way));
        mw__price_add(&now, &way->price);
    }
    bool natural;
    MW_TRY(natural_results(o, n, in, &natural, ret_out));
    if (!natural) return MW_OK;
    for (int k = 0; k < n->nout; k++) {
        const mw_route *way;
        MW_TRY(route(o, &(*ret_out)[k], &n->out[k]->layout, &way));
        mw__price_add(&then, &way->price);
    }
    *ret_better = mw__price_compare(&then, &now) < 0;
    return MW_OK;
}

/* The terms go through the node, and what it gives is combined. */
static mw_status delay(optimiser *o, mw_node *n, uint32_t mask, const mw_layout *made_out)
{
    mw_node *like = NULL;
    for (int i = 0; i < n->nin; i++) {
        if (!(mask >> i & 1)) continue;
        mw_node *step = n->in[i]->def;
        n->in[i] = step->in[0];
        like = step;
        mw__graph_erase(o->graph, step);
    }
    for (int k = 0; k < n->nout; k++) {
        mw_ssa *out = n->out[k];
        mw_layout to = out->layout;
        out->layout = made_out[k];
        if (mw_layout_equal(&to, &out->layout)) continue;
        mw_node *made;
        MW_TRY(add_movement(o, n->next, out, &to, like, &made));
        o->now[out->id] = made->out[0];
        const char *name = made->out[0]->name;
        made->out[0]->name = out->name;
        out->name = name;
    }
    o->changes++;
    return MW_OK;
}

/* Uses after a node that was delayed are those of its combined result; the first step of the new
 * movement alone reads the terms. */
static void rename_uses(optimiser *o, mw_node *n)
{
    for (int i = 0; i < n->nin; i++) {
        mw_ssa *v = n->in[i];
        if (v->id < o->n && o->now[v->id]) n->in[i] = o->now[v->id];
    }
}

mw_status optimise_delay(optimiser *o)
{
    MW_TRY(optimise_count(o));
    mw_node *skip = NULL; /* movements just made read what they read */
    for (mw_node *n = o->graph->first; n; n = n->next) {
        if (skip && n == skip) skip = NULL;
        if (skip) continue;
        rename_uses(o, n);
        if (n->kind != MW_NODE_OP || n->nin > 31 || mw__node_writes(n)) continue;
        bool mutated = false;
        for (int k = 0; k < n->nout; k++)
            mutated = mutated || n->out[k]->mutated;
        uint32_t all = 0;
        for (int i = 0; i < n->nin; i++)
            if (combines(o, n, i)) all |= 1u << i;
        const mw_layout *out;
        bool better = false;
        uint32_t mask = all;
        if (all && !mutated) MW_TRY(try_delay(o, n, mask, &out, &better));
        for (int i = 0; i < n->nin && all && !mutated && !better; i++) {
            if (!(all >> i & 1) || all == 1u << i) continue;
            mask = 1u << i;
            MW_TRY(try_delay(o, n, mask, &out, &better));
        }
        if (!better) continue;
        skip = n->next;
        mw_node *after = n->next;
        MW_TRY(delay(o, n, mask, out));
        skip = after;
        if (!after) break;
    }
    for (int i = 0; i < o->graph->nresult; i++) {
        mw_ssa *v = o->graph->result[i];
        if (v->id < o->n && o->now[v->id]) o->graph->result[i] = o->now[v->id];
    }
    return MW_OK;
}

/* ---- constants --------------------------------------------------------------------------------
 */

/* A movement of nothing goes. A constant that one movement reads is made where that would bring it:
 * every rank knows all of it. */
mw_status optimise_constants(optimiser *o)
{
    MW_TRY(optimise_count(o));
    for (mw_node *n = o->graph->first, *next; n; n = next) {
        next = n->next;
        if (!moves(n)) continue;
        mw_ssa *v = n->in[0], *out = n->out[0];
        while (v->id < o->n && o->now[v->id])
            v = o->now[v->id];
        if (mw_layout_equal(&v->layout, &out->layout) && !v->mutated && !out->mutated && !n->own) {
            o->now[out->id] = v;
            mw__graph_erase(o->graph, n);
            o->changes++;
            continue;
        }
        if (v->def->kind != MW_NODE_CONST || v != n->in[0]) continue;
        if (o->uses[v->id] != 1 || v->mutated || out->mutated || out->layout.npartial) continue;
        v->layout = out->layout;
        v->stated = true;
        o->now[out->id] = v;
        mw__graph_erase(o->graph, n);
        o->changes++;
    }
    optimise_replace(o);
    return MW_OK;
}

/* ---- hoisting ---------------------------------------------------------------------------------
 */

/* A movement of a parameter (or of what was moved of one) goes to the start, where it is shared or
 * leaves no rank with more than it had: what runs before the first op can run while others wait,
 * and needs no repeating where the program does. */
mw_status optimise_hoist(optimiser *o)
{
    mw_graph *g = o->graph;
    MW_TRY(optimise_count(o));
    mw_node *start = g->first;
    while (start && start->kind == MW_NODE_INPUT)
        start = start->next;
    bool *early = mw__arena_zalloc(&o->scratch, (size_t)o->n + 1);
    if (!early) return MW_NOMEM();
    for (mw_node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->kind == MW_NODE_INPUT) early[n->out[0]->id] = !n->out[0]->mutated;
        if (!moves(n) || !early[n->in[0]->id] || n->out[0]->mutated) continue;
        int64_t had = mw__layout_largest_shard(o->moves.mesh, &n->in[0]->layout);
        int64_t has = mw__layout_largest_shard(o->moves.mesh, &n->out[0]->layout);
        if (o->uses[n->out[0]->id] < 2 && has > had) continue;
        early[n->out[0]->id] = true;
        if (n == start)
            start = n->next;
        else
            mw__graph_move(g, n, start);
    }
    return MW_OK;
}
