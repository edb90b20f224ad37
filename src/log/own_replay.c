/* Programs that leave movements open, replayed: where an op can't work on its operands as they lie,
 * or gives its result another layout than the program states, the op table and the planner say what
 * meshwise would move, op by op. A program in which everything is placed gets nothing from here. */
#include "log/own.h"

#include "graph/graph.h"
#include "plan/plan.h"

enum { PROGRAM = 1 << 20, RANKS = 256 };

void mw__own_program_line(const own_here *h)
{
    mw_str *text = &h->state->program;
    if (text->length > PROGRAM) return; /* too long to replay */
    mw__str_append(text, h->line->text, (size_t)h->line->length);
    mw__str_putc(text, '\n');
    if (text->failed) h->e->failed = true;
}

/* true: it is not there; lack of memory is marked. */
static bool failed(const own_here *h, mw_status status)
{
    if (status == MW_OK) return false;
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    mw_error_clear();
    return true;
}

static bool is_open(const mw_ssa *v)
{
    for (int d = 0; d < v->layout.ndim; d++)
        if (v->layout.dim[d].open) return true;
    return false;
}

static const own_value *known(const own_here *h, const mw_ssa *v)
{
    return mw__own_get(&h->state->value, mw__own_value_key(h, v->name, (int)strlen(v->name)));
}

typedef struct gap {
    const mw_node *node;
    const mw_ssa *value;
    const mw_layout *from, *to;
    const char *why;
    bool result;
} gap;

/* One movement that the program leaves open, as an entry of the line where its need arises. */
static void tell_gap(const own_here *h, const gap *g)
{
    mw_arena *scratch = mw__explain_scratch(h->e);
    const mw_mesh *mesh = g->value->mesh;
    const own_value *at = known(h, g->node->out[0]);
    const mw_op_info *info = mw__op_info_of(g->node->op);
    mw_plan *plan = mw__arena_zalloc(scratch, sizeof *plan);
    if (failed(h, plan ? mw__plan_make(mesh, g->from, g->to, scratch, plan) : MW_NOMEM())) return;
    if (plan->recv_bytes == 0 || !at || !info) return;
    const char *kind = "redistribute";
    int moving = 0;
    mw_str steps = {0}, axes = {0}, from = {0}, to = {0};
    for (int i = 0; i < plan->nstep; i++) {
        if (!mw__step_moves(plan->step[i].kind)) continue;
        moving++;
        kind = moving == 1 ? mw__step_name(plan->step[i].kind) : "redistribute";
        mw__str_clear(&axes);
        mw__step_axes_str(mesh, &plan->step[i], &axes);
    }
    mw__plan_str(plan, &steps);
    mw__layout_str(mesh, g->from, &from);
    mw__layout_str(mesh, g->to, &to);
    mw_line line = {.number = at->line, .rank = -1};
    mw_draft *d = mw__draft(h->e, &line, "meshwise", "open movement");
    static const char by[] = "replayed through meshwise's op table and planner, op by op";
    mw__draft_moved(d, kind, moving == 1 ? mw__str_text(&axes) : "", info->word, plan->recv_bytes);
    const char *there = mw__arena_printf(scratch, "line %lld", (long long)at->line);
    mw__fact(d, g->result ? "result" : "operand", MW_HOW_STATED, there ? there : "", "%%%s",
             g->value->name);
    mw__fact(d, "from", g->result ? MW_HOW_DERIVED : MW_HOW_STATED, g->result ? by : "its type",
             "%s", mw__str_text(&from));
    mw__fact(d, "to", g->result ? MW_HOW_STATED : MW_HOW_DERIVED, g->result ? "its type" : by, "%s",
             mw__str_text(&to));
    mw__fact(d, "steps", MW_HOW_DERIVED, by, "%s", mw__str_text(&steps));
    mw__fact(d, "received per rank", MW_HOW_DERIVED, by, "%lld B", (long long)plan->recv_bytes);
    if (g->why[0] && !g->result) mw__fact(d, "reason", MW_HOW_DERIVED, by, "%s", g->why);
    mw__draft_says(d,
                   "The program leaves a movement open: %s %s %%%s as %s, and it is %s: %s, %lld B "
                   "received per rank.",
                   info->word, g->result ? "is to give" : "needs", g->value->name,
                   mw__str_text(&to), mw__str_text(&from), mw__str_text(&steps),
                   (long long)plan->recv_bytes);
    if (steps.failed || axes.failed || from.failed || to.failed) h->e->failed = true;
    mw__str_done(&steps);
    mw__str_done(&axes);
    mw__str_done(&from);
    mw__str_done(&to);
}

static void replay_node(const own_here *h, const mw_node *node)
{
    mw_arena *scratch = mw__explain_scratch(h->e);
    if (node->kind != MW_NODE_OP || node->nin == 0 || node->nout == 0) return;
    const mw_mesh *mesh = node->out[0]->mesh;
    const mw_layout **in = mw__arena_zalloc(scratch, (size_t)node->nin * sizeof *in);
    if (!in) {
        h->e->failed = true;
        return;
    }
    for (int i = 0; i < node->nin; i++) {
        if (node->in[i]->mesh != mesh || is_open(node->in[i])) return;
        in[i] = &node->in[i]->layout;
    }
    mw_choice choice;
    mw_call_args call = mw__node_call(node);
    if (mw_mesh_ranks(mesh) > RANKS || failed(h, mw__choose(mesh, &call, in, scratch, &choice)))
        return;
    for (int i = 0; i < node->nin && i < choice.nin; i++) {
        gap g = {node, node->in[i], in[i], &choice.in[i], choice.why, false};
        if (!mw_layout_equal(in[i], &choice.in[i])) tell_gap(h, &g);
    }
    for (int i = 0; i < node->nout && i < choice.nout && !choice.parts; i++) {
        const mw_ssa *out = node->out[i];
        gap g = {node, out, &choice.out[i], &out->layout, "", true};
        if (out->mesh == mesh && out->stated && !is_open(out) &&
            !mw_layout_equal(&out->layout, &choice.out[i]))
            tell_gap(h, &g);
    }
}

/* What a pasted piece of a program lacks is no fault of it: the reason is told as a fact. */
static mw_graph *parse(const own_here *h, const char *text)
{
    mw_graph *graph = NULL;
    mw_status status = mw__graph_parse(text, "", NULL, &graph);
    if (status != MW_OK && status != MW_ERR_NOMEM) {
        const char *says = mw_last_error()->says;
        mw__fact(h->state->function, "not replayed", MW_HOW_DERIVED,
                 "meshwise's own reader of programs", "%.*s", (int)strcspn(says, "\n"), says);
    }
    return failed(h, status) ? NULL : graph;
}

void mw__own_program_end(const own_here *h)
{
    mw_str *text = &h->state->program;
    mw_graph *graph =
        text->length > 0 && text->length <= PROGRAM ? parse(h, mw__str_text(text)) : NULL;
    for (const mw_node *n = graph ? graph->first : NULL; n && !h->e->failed; n = n->next)
        replay_node(h, n);
    mw__graph_free(graph);
    if (text->at && !text->failed) { /* another function on the same meshes may follow */
        text->length = h->state->program_meshes;
        text->at[text->length] = 0;
    }
}
