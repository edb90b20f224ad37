/* Whose memory a value is, and who can tell: what views, writes in place and marks share, which
 * marks and redistributions must have memory of their own, and which values change under their
 * users. */
#include "graph/graph.h"

/* A mark that moves nothing gives the handle no new memory, unless that could be told from one that
 * moves. Where layouts are not decided it may. */
static bool may_move_nothing(const mw_node *mark)
{
    if (mark->own) return false;
    const mw_layout *from = &mark->in[0]->layout, *to = &mark->out[0]->layout;
    for (int d = 0; d < to->ndim; d++)
        if (from->dim[d].open || to->dim[d].open) return true;
    return mw_layout_equal(from, to);
}

/* What a value may share memory with, one step up; NULL: memory of its own. */
static mw_ssa *shares_with(const mw_ssa *v)
{
    const mw_node *n = v->def;
    if (mw__node_writes(n) || mw__node_views(n)) return n->in[0];
    return n->kind == MW_NODE_MARK && may_move_nothing(n) ? n->in[0] : NULL;
}

/* Inputs that lie in one memory have the first of them as their root. */
static mw_ssa *input_root(const mw_graph *graph, mw_node *input)
{
    if (!input->memory) return input->out[0];
    mw_node *n = graph->first;
    while (n->memory != input->memory)
        n = n->next;
    return n->out[0];
}

static void find_roots(mw_graph *graph)
{
    for (int64_t i = 0; i < graph->nvalue; i++)
        if (graph->value[i]) graph->value[i]->written = false;
    for (mw_node *n = graph->first; n; n = n->next)
        for (int k = 0; k < n->nout; k++) {
            mw_ssa *v = n->out[k], *base = shares_with(v);
            v->mutated = false;
            v->last = 0;
            v->root = base ? base->root : n->kind == MW_NODE_INPUT ? input_root(graph, n) : v;
            if (mw__node_writes(n) && k == 0) v->root->written = true;
        }
    for (int i = 0; i < graph->nresult; i++)
        graph->result[i]->last = INT_MAX;
}

static bool comes_from(const mw_ssa *v, const mw_node *mark)
{
    for (; v; v = shares_with(v))
        if (v->def == mark) return true;
    return false;
}

/* Is a value that shares the mark's memory, but is not made from what it marks, used after it? An
 * input is: its caller sees it. */
static bool others_live(const mw_graph *graph, const mw_node *mark)
{
    const mw_ssa *x = mark->in[0], *root = mark->out[0]->root;
    for (const mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (n->out[0] != x && n->out[0]->root == root) return true;
    for (const mw_node *n = mark->next; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            if (n->in[i]->root == root && !comes_from(n->in[i], mark)) return true;
    for (int i = 0; i < graph->nresult; i++)
        if (graph->result[i]->root == root && !comes_from(graph->result[i], mark)) return true;
    return false;
}

static bool written_after(const mw_node *node, const mw_ssa *root)
{
    if (!root->written) return false;
    for (const mw_node *n = node->next; n; n = n->next)
        if (mw__node_writes(n) && n->in[0]->root == root) return true;
    return false;
}

/* Callers have both the mark's handle (as a result, or as the input that it is) and something else
 * of its memory (a result, another input): they may write into the one and look at the other. */
static bool both_given(const mw_graph *graph, const mw_node *mark)
{
    const mw_node *input = mark->in[0]->def;
    bool marked = input->kind == MW_NODE_INPUT, other = marked && input->memory;
    for (int i = 0; i < graph->nresult; i++) {
        if (graph->result[i]->root != mark->out[0]->root) continue;
        bool from = comes_from(graph->result[i], mark);
        marked = marked || from;
        other = other || !from;
    }
    return marked && other;
}

/* Finds the marks and redistributions whose result must have memory of its own: on a mesh where it
 * moves it has, so where it does not it must have, too, as soon as that shows. A redistribution is
 * another tensor than its operand; a mark is the same handle, so that others must be there. */
static void find_own(mw_graph *graph)
{
    for (mw_node *n = graph->first; n; n = n->next) {
        if (n->own || (n->kind != MW_NODE_MARK && n->kind != MW_NODE_STEP)) continue;
        const mw_ssa *out = n->out[0];
        if (n->kind == MW_NODE_STEP) {
            n->own = n->step == MW_STEP_COUNT &&
                     (written_after(n, out->root) || written_after(n, n->in[0]->root));
        } else if (out->root != out && /* else it moves */
                   ((written_after(n, out->root) && others_live(graph, n)) ||
                    both_given(graph, n))) {
            n->own = true;
            find_roots(graph);
        }
    }
}

/* A view is like any other value unless a write to its memory comes before its last use. Backwards:
 * `mark` of a root's node is then the next write. */
void mw__graph_mutated(mw_graph *graph)
{
    int at = (int)graph->nnode + 1;
    find_roots(graph);
    find_own(graph);
    for (mw_node *n = graph->last; n; n = n->prev, at--) {
        for (int k = 0; k < n->nout; k++) {
            mw_ssa *v = n->out[k], *base = shares_with(v);
            int written = v->root->def->mark;
            if (written && (!base || written < v->last)) v->mutated = true;
            if (base) base->last = MW_MAX(base->last, v->last);
        }
        for (int i = 0; i < n->nin; i++)
            n->in[i]->last = MW_MAX(n->in[i]->last, at);
        if (!mw__node_writes(n)) continue;
        n->out[0]->mutated = true;
        n->in[0]->root->def->mark = at;
        for (mw_ssa *v = n->in[0]; v && !v->mutated; v = shares_with(v))
            v->mutated = true;
    }
    for (mw_node *n = graph->first; n; n = n->next)
        n->mark = 0;
}
