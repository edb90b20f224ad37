/* Which movements somebody asked for: those whose tensor, or one that it reaches through views,
 * casts and additive ops only, lies where the user wrote that it lies. (Moving an argument of an
 * addition to where a mark wants the sum is what the mark asked for, if that is cheaper.) */
#include "graph/reshard.h"

#include "ops/rule.h"
#include "ops/table.h"

/* f(a + b) = f(a) + f(b) in all its tensors at once; a view, or a cast. */
static mw_status hands_on(const mw_node *node, mw_arena *arena, bool *ret)
{
    *ret = false;
    if (node->kind != MW_NODE_OP || mw__node_writes(node)) return MW_OK;
    *ret = mw__node_views(node) || node->op == mw__op_at(MW_OP_to_dtype);
    if (*ret) return MW_OK;
    mw__arena_clear(arena);
    mw_rule *rule = mw__arena_zalloc(arena, sizeof *rule);
    if (!rule) return MW_NOMEM();
    mw_call_args call = mw__node_call(node);
    MW_TRY(mw__rule_of(&call, arena, rule));
    uint64_t terms = 0;
    *ret = rule->nin > 0;
    for (int i = 0; i < rule->nin && *ret; i++) {
        int term = rule->in[i].term;
        *ret = rule->in[i].linear && term >= 0 && term < 64 && !(terms >> term & 1);
        if (*ret) terms |= 1ull << term;
    }
    return MW_OK;
}

static bool moves(const mw_node *node)
{
    return node->kind == MW_NODE_MARK || node->kind == MW_NODE_STEP;
}

mw_status reshard_asked(reshard *r)
{
    mw_graph *g = r->graph;
    bool *written =
        mw__arena_zalloc(&r->arena, (size_t)g->nvalue + 1); /* by id: where the user says */
    if (!written) return MW_NOMEM();
    for (mw_node *n = g->last; n; n = n->prev) {
        bool any = false;
        for (int k = 0; k < n->nout; k++) {
            any = any || written[n->out[k]->id];
            any = any || (n->kind == MW_NODE_OP && n->out[k]->stated);
        }
        if (moves(n)) {
            n->asked = n->asked || (any && n->recv_bytes_total > 0);
            if ((n->asked || any) && mw_layout_equal(&n->in[0]->layout, &n->out[0]->layout))
                written[n->in[0]->id] = true;
            continue;
        }
        bool on = false;
        if (any) MW_TRY(hands_on(n, &r->scratch, &on));
        for (int i = 0; i < n->nin && on; i++)
            written[n->in[i]->id] = true;
    }
    return MW_OK;
}
