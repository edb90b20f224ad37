/* What every graph keeps: mw__graph_verify. A fault found here is a bug of whatever made or changed
 * the graph, not of the user's program. */
#include "graph/graph.h"
#include "ops/rule.h"

typedef struct checker {
    const mw_graph *graph;
    bool *defined; /* [nvalue] by id */
    mw_arena arena;
} checker;

static mw_status fault(const checker *c, const mw_node *node, const char *says)
{
    mw_str text = {0};
    mw__node_print(c->graph, node, &text);
    mw_status status =
        MW_FAIL(MW_ERR_INTERNAL, "the graph is wrong: %s: %.300s", says, mw__str_text(&text));
    mw__str_done(&text);
    return status;
}

static bool same_meta(const mw_meta *a, const mw_meta *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

static mw_status check_operands(const checker *c, const mw_node *node)
{
    for (int i = 0; i < node->nin; i++) {
        const mw_ssa *v = node->in[i];
        mw_meta meta = mw__ssa_meta(v);
        if (!v || v->id < 0 || v->id >= c->graph->nvalue || c->graph->value[v->id] != v)
            return fault(c, node, "an operand is none of its values");
        if (!c->defined[v->id]) return fault(c, node, "an operand is used before it is defined");
        if (!same_meta(&meta, &node->in_meta[i]))
            return fault(c, node, "an operand's shape or dtype has changed");
    }
    return MW_OK;
}

static mw_status check_results(checker *c, const mw_node *node)
{
    for (int i = 0; i < node->nout; i++) {
        const mw_ssa *v = node->out[i];
        if (v->def != node || v->nth != i || c->graph->value[v->id] != v)
            return fault(c, node, "a result does not know where it is defined");
        if (mw__layout_check(v->mesh, &v->layout) != MW_OK)
            return fault(c, node, mw_last_error()->says);
        c->defined[v->id] = true;
    }
    return MW_OK;
}

static mw_status check_op(checker *c, const mw_node *node)
{
    mw__arena_clear(&c->arena);
    mw_call_args call = mw__node_call(node);
    mw_rule *rule = mw__arena_zalloc(&c->arena, sizeof *rule);
    if (!rule) return MW_NOMEM();
    MW_TRY(mw__rule_of(&call, &c->arena, rule));
    if (rule->nout != node->nout) return fault(c, node, "the rule gives another number of results");
    for (int i = 0; i < node->nout; i++) {
        mw_meta meta = mw__ssa_meta(node->out[i]);
        if (!same_meta(&meta, &rule->out_meta[i]))
            return fault(c, node, "a result is not of the shape or dtype that the rule gives");
    }
    return MW_OK;
}

static bool lies_alike(const mw_layout *a, const mw_layout *b)
{
    for (int d = 0; d < a->ndim; d++)
        if (!mw__dim_equal(&a->dim[d], &b->dim[d])) return false;
    return a->npartial == b->npartial &&
           memcmp(a->partial, b->partial, a->npartial * sizeof a->partial[0]) == 0;
}

/* Where values lie as their layouts say, an op moves nothing and gives what its line says. */
static mw_status check_placed(checker *c, const mw_node *node)
{
    mw_call_args call = mw__node_call(node);
    const mw_layout **in = mw__arena_alloc(&c->arena, (size_t)(node->nin + 1) * sizeof *in);
    mw_choice choice;
    if (!in) return MW_NOMEM();
    for (int i = 0; i < node->nin; i++)
        in[i] = &node->in[i]->layout;
    const mw_mesh *mesh = node->nout ? node->out[0]->mesh : c->graph->mesh[0];
    MW_TRY(mw__choose(mesh, &call, in, &c->arena, &choice));
    if (choice.moves && !choice.parts) return fault(c, node, "an op would have to move an operand");
    for (int i = 0; i < node->nout && !choice.parts; i++)
        if (!lies_alike(&choice.out[i], &node->out[i]->layout))
            return fault(c, node, "an op's result lies otherwise than its line says");
    return MW_OK;
}

mw_status mw__graph_verify(const mw_graph *graph)
{
    checker c = {.graph = graph};
    c.defined = mw__zalloc((size_t)graph->nvalue + 1);
    if (!c.defined) return MW_NOMEM();
    mw__arena_init(&c.arena);
    mw_status status = MW_OK;
    for (const mw_node *n = graph->first; n && status == MW_OK; n = n->next) {
        status = check_operands(&c, n);
        if (status == MW_OK && n->kind == MW_NODE_OP) status = check_op(&c, n);
        if (status == MW_OK && n->kind == MW_NODE_OP && graph->placed) status = check_placed(&c, n);
        if (status == MW_OK) status = check_results(&c, n);
    }
    for (int i = 0; i < graph->nresult && status == MW_OK; i++)
        if (!c.defined[graph->result[i]->id])
            status = MW_FAIL(MW_ERR_INTERNAL, "the graph is wrong: result %d is not defined", i);
    mw__arena_done(&c.arena);
    mw__free(c.defined, (size_t)graph->nvalue + 1);
    return status;
}
