/* Pass `optimise`: the same values with less. What nobody sees goes; what is made twice is made
 * once; movements that follow each other become the one plan from the first layout to the last, so
 * that an all_reduce before a slice is a reduce_scatter; terms are combined after the linear ops
 * that read them; constants lie where they are wanted; what is moved of a parameter for several
 * users is moved at the start. Each step keeps a graph that is right, and none makes a movement
 * dearer.
 *
 * Memory that is written in place keeps its order: its values are neither merged nor moved. */
#include "graph/optimise.h"
#include "graph/passes.h"

#include "ops/table.h"

enum { ROUNDS = 4 };

mw_status optimise_count(optimiser *o)
{
    mw_graph *g = o->graph;
    mw__arena_clear(&o->scratch);
    o->n = g->nvalue;
    o->uses = mw__arena_zalloc(&o->scratch, (size_t)(o->n + 1) * sizeof *o->uses);
    o->now = mw__arena_zalloc(&o->scratch, (size_t)(o->n + 1) * sizeof *o->now);
    if (!o->uses || !o->now) return MW_NOMEM();
    for (const mw_node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            o->uses[n->in[i]->id]++;
    for (int i = 0; i < g->nresult; i++)
        o->uses[g->result[i]->id]++;
    return MW_OK;
}

static mw_ssa *standing(const optimiser *o, mw_ssa *v)
{
    while (v->id < o->n && o->now[v->id])
        v = o->now[v->id];
    return v;
}

void optimise_replace(optimiser *o)
{
    for (mw_node *n = o->graph->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            n->in[i] = standing(o, n->in[i]);
    for (int i = 0; i < o->graph->nresult; i++)
        o->graph->result[i] = standing(o, o->graph->result[i]);
}

/* ---- dead code --------------------------------------------------------------------------------
 */

/* Does the node's result share its operand's memory? A movement of nothing does. */
static bool shares(const mw_node *n)
{
    if (mw__node_writes(n) || mw__node_views(n)) return true;
    return (n->kind == MW_NODE_MARK || n->kind == MW_NODE_STEP) &&
           mw_layout_equal(&n->in[0]->layout, &n->out[0]->layout);
}

/* What is written in place is seen where its memory is a parameter's, or where anything of that
 * memory is read later; other nodes where a result is. */
mw_status optimise_dead(optimiser *o)
{
    mw_graph *g = o->graph;
    MW_TRY(optimise_count(o));
    int *root = mw__arena_alloc(&o->scratch, (size_t)(o->n + 1) * sizeof *root);
    bool *read = mw__arena_zalloc(&o->scratch, (size_t)o->n + 1);
    bool *used = mw__arena_zalloc(&o->scratch, (size_t)o->n + 1);
    if (!root || !read || !used) return MW_NOMEM();
    for (mw_node *n = g->first; n; n = n->next)
        for (int k = 0; k < n->nout; k++) {
            int id = n->out[k]->id;
            root[id] = shares(n) ? root[n->in[0]->id] : id;
            if (n->kind == MW_NODE_INPUT) read[id] = true;
        }
    for (int i = 0; i < g->nresult; i++)
        used[g->result[i]->id] = read[root[g->result[i]->id]] = true;
    for (mw_node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        bool seen = n->kind == MW_NODE_INPUT || (mw__node_writes(n) && read[root[n->out[0]->id]]);
        for (int k = 0; k < n->nout; k++)
            seen = seen || used[n->out[k]->id];
        for (int i = 0; i < n->nin && seen; i++)
            used[n->in[i]->id] = read[root[n->in[i]->id]] = true;
        if (seen) continue;
        mw__graph_erase(g, n);
        o->changes++;
    }
    return MW_OK;
}

/* ---- the same twice ---------------------------------------------------------------------------
 */

/* Not an op of which two calls need not agree, nor one whose result is memory that is written. */
static bool is_pure(const mw_node *n)
{
    if (n->kind == MW_NODE_INPUT || mw__node_writes(n)) return false;
    if (n->kind == MW_NODE_OP && n->op == mw__op_at(MW_OP_dropout)) return false;
    for (int k = 0; k < n->nout; k++)
        if (n->out[k]->mutated) return false;
    return true;
}

static uint64_t hash_pure(const mw_node *n)
{
    uint64_t h = mw__hash(n->kind == MW_NODE_MARK ? MW_NODE_STEP : n->kind, &n->op, sizeof n->op);
    for (int i = 0; i < n->narg; i++) {
        const mw_arg *a = &n->arg[i];
        h = mw__hash(h, &a->i, sizeof a->i);
        h = mw__hash(h, &a->f, sizeof a->f);
        if (a->kind == MW_ARG_INTS) h = mw__hash(h, a->ints, (size_t)a->count * sizeof *a->ints);
    }
    for (int i = 0; i < n->nin; i++)
        h = mw__hash(h, &n->in[i]->id, sizeof n->in[i]->id);
    uint64_t layout = mw__layout_hash(&n->out[0]->layout);
    return mw__hash(h ^ n->seed, &layout, sizeof layout);
}

static bool same_arg(const mw_arg *a, const mw_arg *b)
{
    if (a->kind != b->kind || a->first != b->first || a->count != b->count || a->i != b->i ||
        memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    if (a->kind == MW_ARG_INTS)
        return memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints) == 0;
    if (a->kind == MW_ARG_STR) return strcmp(a->s, b->s) == 0;
    return a->kind != MW_ARG_STRS;
}

/* Bytes, not values: -0 and 0 are two constants. */
static bool same_constant(const mw_node *a, const mw_node *b)
{
    if (a->fill != b->fill || a->seed != b->seed) return false;
    if (a->fill != MW_FILL_DATA) return true;
    const mw_layout *l = &a->out[0]->layout;
    size_t size = (size_t)(mw__layout_count(l) * mw_dtype_size((mw_dtype)l->dtype));
    return memcmp(a->data, b->data, size) == 0;
}

static bool moves(const mw_node *n)
{
    return n->kind == MW_NODE_MARK || n->kind == MW_NODE_STEP;
}

static bool same_value(const mw_ssa *a, const mw_ssa *b, bool placed)
{
    if (a->mesh != b->mesh || !mw_layout_equal(&a->layout, &b->layout)) return false;
    for (int d = 0; !placed && d < a->layout.ndim; d++)
        if (a->layout.dim[d].open != b->layout.dim[d].open) return false;
    return placed || a->stated == b->stated;
}

static bool same_node(const mw_node *a, const mw_node *b, bool placed)
{
    if (moves(a) != moves(b) || (!moves(a) && a->kind != b->kind) || a->op != b->op ||
        a->narg != b->narg || a->nin != b->nin || a->nout != b->nout)
        return false;
    for (int i = 0; i < a->narg; i++)
        if (!same_arg(&a->arg[i], &b->arg[i])) return false;
    for (int i = 0; i < a->nin; i++)
        if (a->in[i] != b->in[i]) return false;
    for (int k = 0; k < a->nout; k++)
        if (!same_value(a->out[k], b->out[k], placed)) return false;
    return a->kind != MW_NODE_CONST || same_constant(a, b);
}

static int root_of(const mw_ssa *v)
{
    return v->root ? v->root->id : v->id;
}

/* How often what the node reads has been written so far, by root: two nodes between which nothing
 * has been read the same. */
static int64_t writes_seen(const mw_node *n, const int *writes)
{
    int64_t seen = 0;
    for (int i = 0; i < n->nin; i++)
        seen += n->in[i]->mutated ? writes[root_of(n->in[i])] : 0;
    return seen;
}

mw_status optimise_common(optimiser *o)
{
    mw_graph *g = o->graph;
    MW_TRY(optimise_count(o));
    uint64_t cap = 64;
    while (cap < 2 * (uint64_t)g->nnode)
        cap *= 2;
    mw_node **slot = mw__arena_zalloc(&o->scratch, cap * sizeof *slot);
    int64_t *seen = mw__arena_zalloc(&o->scratch, cap * sizeof *seen); /* by slot */
    int *writes = mw__arena_zalloc(&o->scratch, (size_t)(o->n + 1) * sizeof *writes);
    if (!slot || !seen || !writes) return MW_NOMEM();
    for (mw_node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nin; i++)
            n->in[i] = standing(o, n->in[i]);
        if (mw__node_writes(n)) writes[root_of(n->in[0])]++;
        if (!n->nout || !is_pure(n)) continue;
        int64_t now = writes_seen(n, writes);
        uint64_t at = mw__hash(hash_pure(n), &now, sizeof now) % cap;
        while (slot[at] && (seen[at] != now || !same_node(slot[at], n, g->placed)))
            at = (at + 1) % cap;
        if (!slot[at]) {
            slot[at] = n;
            seen[at] = now;
            continue;
        }
        slot[at]->asked = slot[at]->asked || n->asked;
        for (int k = 0; k < n->nout; k++)
            o->now[n->out[k]->id] = slot[at]->out[k];
        mw__graph_erase(g, n);
        o->changes++;
    }
    optimise_replace(o);
    return MW_OK;
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static mw_status one_round(optimiser *o)
{
    MW_TRY(optimise_dead(o));
    MW_TRY(optimise_common(o));
    if (!o->graph->placed) return MW_OK;
    MW_TRY(optimise_constants(o));
    MW_TRY(optimise_delay(o));
    return optimise_chains(o);
}

mw_status mw__pass_optimise(mw_graph *graph)
{
    if (!graph->nmesh) return MW_OK;
    optimiser o = {.graph = graph};
    mw__arena_init(&o.scratch);
    mw__moves_init(&o.moves, graph->mesh[0]);
    for (const mw_node *n = graph->first; n; n = n->next)
        o.lowered = o.lowered || (n->kind == MW_NODE_STEP && n->step != MW_STEP_COUNT);
    mw_status status = MW_OK;
    for (int i = 0; i < ROUNDS && status == MW_OK; i++) {
        o.changes = 0;
        status = one_round(&o);
        if (!o.changes) break;
    }
    if (status == MW_OK && graph->placed) status = optimise_hoist(&o);
    mw__moves_done(&o.moves);
    mw__arena_done(&o.scratch);
    if (status == MW_OK && o.lowered && graph->placed) status = mw__pass_partition(graph);
    return status;
}
