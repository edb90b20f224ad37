/* Pass `partition`: every movement becomes the steps of its plan, one node each, and an op whose
 * `^` letter is split the ops of its parts. What is left is what each rank does: local ops, and
 * collectives that stand where they happen. A mark is a movement that somebody asked for; one that
 * moves nothing goes. */
#include "graph/moves.h"
#include "graph/parts.h"
#include "graph/passes.h"

#include "ops/table.h"

typedef struct known_plan {
    int from, to;
    mw_plan *plan; /* its steps alone, no room for more */
} known_plan;

typedef struct partition {
    mw_graph *graph;
    mw_moves moves;
    mw_arena scratch;
    mw_ssa **now;    /* [n] by id: what stands for a value that went; NULL: itself */
    int64_t n;       /* its capacity */
    mw_lookup known; /* known_plan; in the arena of `moves` */
} partition;

static mw_ssa *standing(const partition *p, mw_ssa *v)
{
    return v->id < p->n && p->now[v->id] ? p->now[v->id] : v;
}

/* Values are added while nodes are written: the list grows with them. */
static mw_status stand_for(partition *p, const mw_ssa *gone, mw_ssa *v)
{
    int64_t had = p->n;
    if (gone->id >= had) {
        MW_TRY(mw__grow(&p->now, &p->n, p->graph->nvalue, sizeof(mw_ssa *)));
        memset(p->now + had, 0, (size_t)(p->n - had) * sizeof *p->now);
    }
    p->now[gone->id] = v;
    return MW_OK;
}

/* ---- plans ------------------------------------------------------------------------------------
 */

static const known_plan *plan_known(const partition *p, int from, int to, uint64_t hash)
{
    for (mw_found *i = NULL; (i = mw__lookup_next(&p->known, hash, i));) {
        const known_plan *known = i->item;
        if (known->from == from && known->to == to) return known;
    }
    return NULL;
}

static mw_status new_plan(partition *p, int from, int to, uint64_t hash, const known_plan **ret)
{
    mw__arena_clear(&p->scratch);
    mw_plan *plan = mw__arena_alloc(&p->scratch, sizeof *plan);
    if (!plan) return MW_NOMEM();
    plan->nstep = 0;
    MW_TRY(mw__plan_make(p->moves.mesh, p->moves.layout[from], p->moves.layout[to], &p->scratch,
                         plan));
    size_t size = offsetof(mw_plan, step) + (size_t)plan->nstep * sizeof plan->step[0];
    mw_plan *kept = mw__arena_alloc(&p->moves.arena, size);
    known_plan *known = mw__arena_alloc(&p->moves.arena, sizeof *known);
    mw_found *added = kept && known ? mw__lookup_add(&p->known, hash) : NULL;
    if (!added) return MW_NOMEM();
    memcpy(kept, plan, size);
    *known = (known_plan){from, to, kept};
    added->item = known;
    *ret = known;
    return MW_OK;
}

static mw_status plan_of(partition *p, const mw_layout *from, const mw_layout *to,
                         const mw_plan **ret)
{
    int key[2];
    MW_TRY(mw__moves_number(&p->moves, from, &key[0]));
    MW_TRY(mw__moves_number(&p->moves, to, &key[1]));
    uint64_t hash = mw__hash(31, key, sizeof key);
    const known_plan *known = plan_known(p, key[0], key[1], hash);
    if (!known) MW_TRY(new_plan(p, key[0], key[1], hash, &known));
    *ret = known->plan;
    return MW_OK;
}

/* ---- movements --------------------------------------------------------------------------------
 */

static void set_step(mw_node *node, const mw_step *step)
{
    node->kind = MW_NODE_STEP;
    node->step = step->kind;
    node->axes = step->axes;
    node->dim = step->dim;
    node->to_dim = step->to_dim;
    node->recv_bytes = step->recv_bytes;
    node->recv_bytes_total = step->recv_bytes_total;
}

/* A redistribution that moves nothing is a tensor of its own all the same: what is written into one
 * of the two may not show in the other. */
static mw_status write_copy(partition *p, mw_node *node)
{
    const mw_op *clone = mw__op_at(MW_OP_clone);
    const mw_arg arg[] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1}, {.kind = MW_ARG_NONE}};
    const mw_op_info *info;
    mw_node *copy;
    MW_TRY(mw__op_info(clone, &info));
    MW_TRY(mw__graph_op(p->graph, node, clone, arg, info->schema.narg, node->in, 1, &copy));
    copy->out[0]->layout = node->out[0]->layout;
    copy->out[0]->mutated = node->out[0]->mutated;
    copy->site = node->site;
    copy->chain = node->chain;
    const char *name = node->out[0]->name;
    MW_TRY(stand_for(p, node->out[0], copy->out[0]));
    mw__graph_erase(p->graph, node);
    copy->out[0]->name = name;
    return MW_OK;
}

/* The movement's own node becomes the last step; the others go before it. */
static mw_status write_steps(partition *p, mw_node *node)
{
    mw_ssa *x = node->in[0];
    const mw_plan *plan = NULL;
    MW_TRY(plan_of(p, &x->layout, &node->out[0]->layout, &plan));
    if (!plan->nstep && node->own) return write_copy(p, node);
    if (!plan->nstep) {
        MW_TRY(stand_for(p, node->out[0], x));
        mw__graph_erase(p->graph, node);
        return MW_OK;
    }
    for (int i = 0; i + 1 < plan->nstep; i++) {
        mw_node *step;
        MW_TRY(mw__graph_step(p->graph, node, x, x->mesh, &plan->step[i].to, plan->step[i].kind,
                              &step));
        set_step(step, &plan->step[i]);
        step->asked = node->asked;
        step->because = node->because;
        step->site = node->site;
        step->chain = node->chain;
        x = step->out[0];
    }
    set_step(node, &plan->step[plan->nstep - 1]);
    node->in[0] = x;
    return MW_OK;
}

/* ---- parts ------------------------------------------------------------------------------------
 */

static mw_status has_parts(partition *p, const mw_node *node, bool *ret)
{
    *ret = false;
    if (!node->op->parts) return MW_OK;
    mw__arena_clear(&p->scratch);
    const mw_layout **in = mw__arena_alloc(&p->scratch, (size_t)(node->nin + 1) * sizeof *in);
    if (!in) return MW_NOMEM();
    bool cut = false;
    for (int i = 0; i < node->nin; i++) {
        in[i] = &node->in[i]->layout;
        cut = cut || mw__layout_axes(in[i]);
    }
    if (!cut) return MW_OK;
    mw_call_args call = mw__node_call(node);
    mw_choice choice;
    MW_TRY(mw__choose(p->moves.mesh, &call, in, &p->scratch, &choice));
    *ret = choice.parts;
    return MW_OK;
}

/* The parts stand in the op's place; *ret: the first of them. */
static mw_status write_parts(partition *p, mw_node *node, mw_node **ret)
{
    mw_node *before = node->prev;
    mw_call_args call = mw__node_call(node);
    mw_ssa **out = mw__arena_alloc(&p->graph->arena, (size_t)(node->nout + 1) * sizeof *out);
    if (!out) return MW_NOMEM();
    MW_TRY(mw__parts_record(p->graph, node, &call, node->in, node->nout, out));
    mw_node *first = before ? before->next : p->graph->first;
    for (mw_node *n = first; n != node; n = n->next) {
        n->site = node->site;
        n->chain = node->chain;
    }
    for (int k = 0; k < node->nout; k++) {
        MW_TRY(stand_for(p, node->out[k], out[k]));
        if (out[k]->def->kind != MW_NODE_INPUT) out[k]->name = node->out[k]->name;
    }
    *ret = first == node ? node->next : first;
    mw__graph_erase(p->graph, node);
    return MW_OK;
}

/* ---- the pass ---------------------------------------------------------------------------------
 */

static mw_status run(partition *p)
{
    mw_graph *g = p->graph;
    for (mw_node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->nin; i++)
            n->in[i] = standing(p, n->in[i]);
        if (n->kind == MW_NODE_MARK || (n->kind == MW_NODE_STEP && n->step == MW_STEP_COUNT)) {
            MW_TRY(write_steps(p, n));
        } else if (n->kind == MW_NODE_OP) {
            bool parts;
            MW_TRY(has_parts(p, n, &parts));
            if (parts) MW_TRY(write_parts(p, n, &next));
        }
    }
    for (int i = 0; i < g->nresult; i++)
        g->result[i] = standing(p, g->result[i]);
    return MW_OK;
}

mw_status mw__pass_partition(mw_graph *graph)
{
    if (!graph->placed) MW_TRY(mw__pass_reshard(graph));
    if (!graph->nmesh) return MW_OK;
    partition p = {.graph = graph};
    mw__arena_init(&p.scratch);
    mw__moves_init(&p.moves, graph->mesh[0]);
    p.known.arena = &p.moves.arena;
    mw_status status = run(&p);
    mw__free(p.now, (size_t)p.n * sizeof *p.now);
    mw__moves_done(&p.moves);
    mw__arena_done(&p.scratch);
    return status;
}
