/* How often computations run. The calls of a module make a graph without cycles; runs are handed
 * down from those that nobody calls, each computation once all its callers are known. What lies on
 * a cycle (no compiler prints one) is never reached, and its count not known. */
#include "log/xla_runs.h"

enum { EDGES = 1 << 18 };

typedef struct node {
    uint64_t name;
    int64_t runs, waits; /* callers that are not known yet */
    int64_t first;       /* its edges, in a list; -1: none */
    bool called, unknown, branch;
} node;

typedef struct graph {
    node *node; /* [cap], by name */
    int64_t *next, *queue;
    int64_t cap, nedge;
} graph;

void mw__runs_call(mw_explain *e, xla_runs *r, uint64_t caller, uint64_t callee, int64_t times,
                   bool branch)
{
    if (!caller || !callee || r->nedge >= EDGES) return;
    if (!mw__hlo_done(e, mw__grow(&r->edge, &r->cap_edge, r->nedge + 1, sizeof *r->edge))) return;
    r->edge[r->nedge++] = (runs_edge){caller, callee, times, branch};
}

void mw__runs_move(mw_explain *e, xla_runs *r, mw_draft *d, uint64_t computation, bool root,
                   int64_t bytes, int64_t mean)
{
    mw_entry *entry = mw__draft_entry(d);
    if (!entry || !mw__hlo_done(e, mw__grow(&r->move, &r->cap_move, r->nmove + 1, sizeof *r->move)))
        return;
    r->move[r->nmove++] = (runs_move){d, entry->says, computation, bytes, mean};
    if (!root) entry->says = "";
}

static node *node_of(const graph *g, uint64_t name)
{
    for (int64_t at = (int64_t)(name % (uint64_t)g->cap);; at = (at + 1) % g->cap) {
        node *n = &g->node[at];
        if (n->name == name) return n;
        if (n->name) continue;
        *n = (node){.name = name, .first = -1};
        return n;
    }
}

static bool graph_new(const xla_runs *r, graph *g)
{
    *g = (graph){.nedge = r->nedge, .cap = 4 * r->nedge + 16 + 2 * r->nmove};
    g->node = mw__zalloc((size_t)g->cap * sizeof *g->node);
    g->next = mw__zalloc((size_t)(r->nedge + 1) * sizeof *g->next);
    g->queue = mw__zalloc((size_t)g->cap * sizeof *g->queue);
    return g->node && g->next && g->queue;
}

static void graph_done(graph *g)
{
    mw__free(g->node, g->node ? (size_t)g->cap * sizeof *g->node : 0);
    mw__free(g->next, g->next ? (size_t)(g->nedge + 1) * sizeof *g->next : 0);
    mw__free(g->queue, g->queue ? (size_t)g->cap * sizeof *g->queue : 0);
}

static void hand_down(const node *caller, const runs_edge *edge, node *callee)
{
    int64_t product;
    if (mw__mul_size(caller->runs, edge->times ? edge->times : 1, &product) != MW_OK ||
        mw__add_size(callee->runs, product, &callee->runs) != MW_OK) {
        mw_error_clear();
        callee->unknown = true;
    }
    callee->unknown |= caller->unknown || !edge->times;
    callee->branch |= caller->branch || edge->branch;
}

static void count(const xla_runs *r, graph *g)
{
    int64_t head = 0, tail = 0;
    for (int64_t i = r->nedge; i-- > 0;) {
        node *caller = node_of(g, r->edge[i].caller), *callee = node_of(g, r->edge[i].callee);
        g->next[i] = caller->first;
        caller->first = i;
        callee->waits++;
        callee->called = true;
    }
    for (int64_t i = 0; i < g->cap; i++) {
        if (!g->node[i].name || g->node[i].waits) continue;
        g->node[i].runs = 1;
        g->queue[tail++] = i;
    }
    while (head < tail) {
        const node *caller = &g->node[g->queue[head++]];
        for (int64_t i = caller->first; i >= 0; i = g->next[i]) {
            node *callee = node_of(g, r->edge[i].callee);
            hand_down(caller, &r->edge[i], callee);
            if (--callee->waits == 0) g->queue[tail++] = callee - g->node;
        }
    }
}

/* ---- telling -----------------------------------------------------------------------------------
 */

static int64_t times(int64_t bytes, int64_t by)
{
    int64_t product;
    if (bytes < 0 || mw__mul_size(bytes, by, &product) != MW_OK) {
        mw_error_clear();
        return -1;
    }
    return product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (a < 0 || b < 0 || mw__add_size(a, b, &sum) != MW_OK) {
        mw_error_clear();
        return -1;
    }
    return sum;
}

static void multiply(mw_explain *e, const runs_move *m, const node *n, runs_total *total)
{
    mw_entry *entry = mw__draft_entry(m->draft);
    bool unknown = n->unknown || n->waits > 0;
    int64_t runs = unknown ? 1 : n->runs, bytes = times(m->bytes, runs);
    total->runs = plus(total->runs, runs);
    total->bytes = plus(total->bytes, bytes);
    total->mean = plus(total->mean, times(m->mean, runs));
    total->branch |= n->branch;
    total->unknown |= unknown;
    if (n->branch)
        mw__fact(m->draft, "branch", MW_HOW_DERIVED, "a conditional runs one of its branches",
                 "it runs only where its branch of a conditional does: counts and bytes are the "
                 "most there can be");
    if (unknown) {
        mw__fact(m->draft, "runs", MW_HOW_DERIVED, "the loop around it states no trip count",
                 "once in each run of its loop: bytes are of one run");
        mw__missing(e, "how often the loop around line %lld runs: no known_trip_count",
                    (long long)entry->first);
        return;
    }
    if (runs == 1) return;
    mw__fact(m->draft, "runs", MW_HOW_DERIVED, "trip counts of the loops, and calls, around it",
             "%lld", (long long)runs);
    entry->runs = runs;
    if (bytes < 0) return;
    mw__fact(m->draft, "received per device in all runs", MW_HOW_DERIVED,
             "runs times the bytes of one", "%lld B", (long long)bytes);
    entry->bytes = bytes;
    size_t length = strlen(m->says);
    mw__draft_says(m->draft, "%.*s; %lld runs: %lld B.", (int)(length ? length - 1 : 0), m->says,
                   (long long)runs, (long long)bytes);
}

void mw__runs_resolve(mw_explain *e, xla_runs *r, runs_total *ret)
{
    graph g;
    bool made = r->nmove && graph_new(r, &g);
    *ret = (runs_total){.moves = r->nmove};
    if (made) count(r, &g);
    for (int64_t i = 0; i < r->nmove; i++) {
        static const node once = {.runs = 1};
        const runs_move *m = &r->move[i];
        mw_entry *entry = mw__draft_entry(m->draft);
        if (!*entry->says) entry->says = m->says;
        const node *n = made && m->computation ? node_of(&g, m->computation) : &once;
        multiply(e, m, n->called ? n : &once, ret);
    }
    if (r->nmove) graph_done(&g);
    if (r->nmove && !made) (void)mw__hlo_done(e, MW_ERR_NOMEM);
    r->nmove = r->nedge = 0;
}

void mw__runs_add(runs_total *to, const runs_total *more)
{
    if (!more->moves) return;
    to->moves += more->moves;
    to->runs = plus(to->runs, more->runs);
    to->bytes = plus(to->bytes, more->bytes);
    to->mean = plus(to->mean, more->mean);
    to->branch |= more->branch;
    to->unknown |= more->unknown;
}

void mw__runs_done(xla_runs *r)
{
    mw__free(r->edge, (size_t)r->cap_edge * sizeof *r->edge);
    mw__free(r->move, (size_t)r->cap_move * sizeof *r->move);
}

void mw__runs_tell(mw_draft *d, const runs_total *t)
{
    if (!t->moves) return;
    mw__fact(d, "collectives", MW_HOW_DERIVED, "counted", "%lld in the text, %s%lld runs",
             (long long)t->moves,
             t->branch    ? "at most "
             : t->unknown ? "at least "
                          : "",
             (long long)t->runs);
    if (t->bytes >= 0)
        mw__fact(d, "received per device", MW_HOW_DERIVED,
                 t->unknown ? "the sum over collectives, of one run where a loop has no count"
                            : "the sum over collectives, each of the device that receives most",
                 "%lld B", (long long)t->bytes);
    if (t->mean >= 0 && t->mean != t->bytes)
        mw__fact(d, "received per device, mean", MW_HOW_DERIVED,
                 "what all devices receive, over their number", "%lld B", (long long)t->mean);
}
