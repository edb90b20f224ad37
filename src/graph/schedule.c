/* Pass `schedule`: a collective begins where it stands and is waited for before its value is read,
 * or the next one begins; what stands between runs meanwhile. So each is put early enough, and
 * behind it what does not need its value, that the work covers the time it takes, by the cost model
 * and no further: what is held ready early takes memory. Collectives keep their order, and so does
 * all that has to do with memory that is written in place. */
#include "graph/passes.h"

#include "ops/rule.h"

enum { WINDOW = 64 }; /* nodes that are looked at around a collective */

static const double steps_per_us = 4000, bytes_per_us = 10000; /* of one rank's processor */

typedef struct schedule {
    mw_graph *graph;
    mw_arena scratch;
} schedule;

static bool communicates(const mw_node *n)
{
    return n->kind == MW_NODE_STEP && n->recv_bytes_total > 0;
}

/* ---- how long ---------------------------------------------------------------------------------
 */

static int64_t local_count(const mw_ssa *v)
{
    return mw__layout_local_count(v->mesh, &v->layout, 0);
}

static int64_t local_bytes(const mw_ssa *v)
{
    return local_count(v) * mw_dtype_size((mw_dtype)v->layout.dtype);
}

/* Multiplications and the like: as many as its letters have values together, of which this rank has
 * the part that it has of the largest operand. */
static mw_status count_steps(schedule *s, const mw_node *n, double *ret)
{
    mw_rule rule;
    mw_call_args call = mw__node_call(n);
    mw__arena_clear(&s->scratch);
    MW_TRY(mw__rule_of(&call, &s->scratch, &rule));
    double part = 1;
    int64_t most = 0;
    for (int i = 0; i < n->nin; i++) {
        int64_t whole = mw__layout_count(&n->in[i]->layout);
        if (whole <= most) continue;
        most = whole;
        part = (double)local_count(n->in[i]) / (double)whole;
    }
    *ret = part;
    for (int l = 0; l < rule.nletter; l++)
        *ret *= (double)rule.letter[l].size;
    return MW_OK;
}

static mw_status time_of(schedule *s, const mw_node *n, double *ret_us)
{
    double steps = 0;
    *ret_us = 0;
    if (n->kind == MW_NODE_CONST || mw__node_views(n)) return MW_OK;
    for (int i = 0; i < n->nin; i++)
        *ret_us += (double)local_bytes(n->in[i]) / bytes_per_us;
    for (int i = 0; i < n->nout; i++)
        *ret_us += (double)local_bytes(n->out[i]) / bytes_per_us;
    if (n->kind == MW_NODE_OP && n->op->kernel) MW_TRY(count_steps(s, n, &steps));
    *ret_us += steps / steps_per_us;
    return MW_OK;
}

/* ---- what must keep its order -----------------------------------------------------------------
 */

static bool touches(const mw_node *n, const mw_ssa *root)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->root == root) return true;
    for (int i = 0; i < n->nout; i++)
        if (n->out[i]->root == root) return true;
    return false;
}

/* Both have to do with one memory that is written. */
static bool share_memory(const mw_node *a, const mw_node *b)
{
    for (int i = 0; i < a->nin + a->nout; i++) {
        const mw_ssa *v = i < a->nin ? a->in[i] : a->out[i - a->nin];
        if (v->root->written && touches(b, v->root)) return true;
    }
    return false;
}

static bool reads(const mw_node *n, const mw_node *of)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->def == of) return true;
    return false;
}

static bool follows(const mw_node *n, const mw_node *first)
{
    return reads(n, first) || share_memory(n, first);
}

/* A call of it that changes places with another draws other numbers. */
static bool draws(const mw_node *n)
{
    return n->kind == MW_NODE_OP && n->op == mw__op_at(MW_OP_dropout);
}

/* ---- one collective ---------------------------------------------------------------------------
 */

/* Where it is waited for: at the first node that reads it, or whose like does; NULL: at the end.
 * *ret_us: of what runs meanwhile. */
static mw_status find_wait(schedule *s, const mw_node *m, mw_node **ret, double *ret_us)
{
    mw_node *n = m->next;
    *ret_us = 0;
    for (; n && !communicates(n) && !follows(n, m); n = n->next) {
        double us;
        MW_TRY(time_of(s, n, &us));
        *ret_us += us;
    }
    *ret = n;
    return MW_OK;
}

/* Over nodes that it does not follow. */
static mw_status begin_earlier(schedule *s, mw_node *m, double us, double *covered)
{
    mw_node *at = m;
    double found = 0;
    for (int i = 0; i < WINDOW && *covered + found < us; i++) {
        mw_node *n = at->prev;
        double more;
        if (!n || n->kind == MW_NODE_INPUT || communicates(n) || follows(m, n)) break;
        MW_TRY(time_of(s, n, &more));
        found += more;
        at = n;
    }
    if (found == 0) return MW_OK;
    mw__graph_move(s->graph, m, at);
    *covered += found;
    return MW_OK;
}

/* What stands behind the wait and follows neither the collective nor what waits for it. Those that
 * stay are marked. */
static mw_status fill_in(schedule *s, const mw_node *m, mw_node *wait, double us, double *covered)
{
    mw_node *next, *end = wait;
    int looked = 0;
    for (mw_node *n = wait; n && looked < WINDOW && *covered < us; n = next, looked++) {
        next = end = n->next;
        bool stays = n == wait || communicates(n) || draws(n) || follows(n, m);
        for (const mw_node *k = wait; k != n && !stays; k = k->next)
            stays = k->mark && follows(n, k);
        n->mark = stays;
        double more;
        if (stays) continue;
        MW_TRY(time_of(s, n, &more));
        *covered += more;
        mw__graph_move(s->graph, n, wait);
    }
    for (mw_node *n = wait; n != end; n = n->next)
        n->mark = 0;
    return MW_OK;
}

static mw_status place(schedule *s, mw_node *m)
{
    mw_node *wait;
    double covered, us;
    us = mw__step_time(mw__team_count(m->out[0]->mesh, m->axes), m->recv_bytes, 1);
    MW_TRY(find_wait(s, m, &wait, &covered));
    if (covered < us && wait) MW_TRY(fill_in(s, m, wait, us, &covered));
    if (covered < us) MW_TRY(begin_earlier(s, m, us, &covered));
    return MW_OK;
}

static void count_meanwhile(mw_node *m)
{
    m->meanwhile = 0;
    for (const mw_node *n = m->next; n && !communicates(n) && !follows(n, m); n = n->next)
        m->meanwhile += n->kind == MW_NODE_OP && !mw__node_views(n);
}

mw_status mw__pass_schedule(mw_graph *graph)
{
    schedule s = {.graph = graph};
    if (!graph->nmesh) return MW_OK;
    mw__graph_mutated(graph); /* roots, and which are written */
    mw__arena_init(&s.scratch);
    mw_status status = MW_OK;
    for (mw_node *n = graph->first, *next; n && status == MW_OK; n = next) {
        next = n->next;
        if (communicates(n)) status = place(&s, n);
    }
    for (mw_node *n = graph->first; n && status == MW_OK; n = n->next)
        if (communicates(n)) count_meanwhile(n);
    mw__arena_done(&s.scratch);
    return status;
}
