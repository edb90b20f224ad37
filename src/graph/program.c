/* Makes a placed graph ready to run: every op's call is decided on the types that its operands will
 * have, views are resolved, and values get places in an arena by how long they live. */
#include "graph/program_parts.h"

/* ---- places -----------------------------------------------------------------------------------
 */

static mw_status new_place(mw_rank *rank, mw_program *p, const mw_ttype *type, const mw_view *local,
                           int *ret)
{
    MW_TRY(mw__grow(&p->place, &p->cap_place, p->nplace + 1, sizeof *p->place));
    mw_tensor *t;
    MW_TRY(mw__tensor_make(rank, &t));
    t->type = type;
    t->local = *local;
    t->local.data = NULL;
    int n = (int)p->nplace++;
    p->place[n] = (place){.handle = t, .root = n, .slot = -1, .first = -1, .last = -1};
    *ret = n;
    return MW_OK;
}

/* A place of its own in the arena, written by the step that is made next. */
static mw_status own_place(mw_rank *rank, mw_program *p, const mw_ttype *type, const mw_view *local,
                           int *ret)
{
    MW_TRY(new_place(rank, p, type, local, ret));
    place *at = &p->place[*ret];
    MW_TRY(mw__mul_size(mw__view_count(local), mw_dtype_size(local->dtype), &at->bytes));
    at->slot = 0; /* which one is decided when all are known */
    at->first = at->last = p->nstep;
    return MW_OK;
}

static void use(mw_program *p, int at, int step)
{
    place *root = &p->place[p->place[at].root];
    root->last = MW_MAX(root->last, step);
}

static mw_status add_step(mw_program *p, run_kind kind, const mw_node *node, int nin, int nout,
                          run_step **ret)
{
    int64_t cap = p->cap_step;
    MW_TRY(mw__grow(&p->step, &cap, p->nstep + 1, sizeof *p->step));
    p->cap_step = (int)cap;
    run_step *s = &p->step[p->nstep];
    *s = (run_step){.kind = kind, .node = node, .nin = nin, .nout = nout};
    s->in = mw__arena_alloc(&p->arena, (size_t)(nin + nout + 1) * sizeof *s->in);
    if (!s->in) return MW_NOMEM();
    s->out = s->in + nin;
    *ret = s;
    return MW_OK;
}

static void end_step(mw_program *p, const run_step *s)
{
    for (int i = 0; i < s->nin; i++)
        use(p, s->in[i], p->nstep);
    p->nstep++;
}

/* ---- movements in halves ----------------------------------------------------------------------
 * A movement begins where its node stands and ends before its value is read, its operand written,
 * or the next one begins. */

static mw_status end_begun(mw_program *p)
{
    run_step *s, begun = p->begun;
    if (!begun.redist) return MW_OK;
    p->begun = (run_step){0};
    run_step *last = &p->step[p->nstep - 1];
    if (last->kind == RUN_BEGIN) { /* nothing is between them */
        last->kind = RUN_MOVE;
        return MW_OK;
    }
    MW_TRY(add_step(p, RUN_END, begun.node, 1, 1, &s));
    s->redist = begun.redist;
    s->reason = begun.reason;
    s->in[0] = begun.in[0];
    s->out[0] = begun.out[0];
    end_step(p, s);
    return MW_OK;
}

/* Before a step that reads (or writes) the place. */
static mw_status end_for(mw_program *p, int at, bool writes)
{
    if (!p->begun.redist) return MW_OK;
    int root = p->place[at].root, from = p->place[p->begun.in[0]].root;
    /* Two tensors from outside may be one memory. */
    bool from_there = root == from || (p->place[root].slot < 0 && p->place[from].slot < 0);
    bool waits = root == p->place[p->begun.out[0]].root || (writes && from_there);
    return waits ? end_begun(p) : MW_OK;
}

/* ---- ops --------------------------------------------------------------------------------------
 */

static mw_status dense_copy(mw_rank *rank, mw_program *p, const mw_node *node, int from, int *ret)
{
    MW_TRY(end_for(p, from, false));
    const mw_tensor *t = p->place[from].handle;
    mw_view dense = t->local;
    mw__view_set(&dense, t->local.dtype, t->local.ndim, t->local.shape);
    const mw_ttype *type;
    MW_TRY(mw__ttype_get(t->type->mesh, &t->type->layout, dense.stride, &type));
    run_step *s;
    MW_TRY(own_place(rank, p, type, &dense, ret));
    MW_TRY(add_step(p, RUN_DENSE, node, 1, 1, &s));
    s->in[0] = from;
    s->out[0] = *ret;
    end_step(p, s);
    return MW_OK;
}

static mw_status decide(mw_rank *rank, mw_program *p, const mw_node *node, const int *in,
                        mw_call **ret)
{
    mw_value args[MW_SCHEMA_ARGS];
    mw_tensor **operand = mw__arena_alloc(&p->arena, (size_t)(node->nin + 1) * sizeof(mw_tensor *));
    if (!operand) return MW_NOMEM();
    for (int i = 0; i < node->nin; i++)
        operand[i] = p->place[in[i]].handle;
    for (int i = 0; i < node->narg; i++)
        args[i] = mw__value_of(&node->arg[i], operand);
    rank->site = node->site;
    return mw__call_decide(rank, node->op, args, node->narg, operand, node->nin, ret);
}

static mw_status not_placed(const mw_graph *graph, const mw_node *node)
{
    mw_str text = {0};
    mw__node_print(graph, node, &text);
    mw_status status =
        MW_FAIL(MW_ERR_INTERNAL, "a program that is not partitioned can't be made ready: %.300s",
                mw__str_text(&text));
    mw__str_done(&text);
    return status;
}

/* A result that shares memory: of a view at a distance from its operand, of an op in place there
 * itself. Where the operand's data is known, so is its own. */
static mw_status shared_place(mw_rank *rank, mw_program *p, int base, const mw_ttype *type,
                              const mw_view *local, int64_t offset, int *ret)
{
    MW_TRY(new_place(rank, p, type, local, ret));
    p->place[*ret].root = p->place[base].root;
    p->place[*ret].offset = offset;
    return MW_OK;
}

static mw_status add_view(mw_rank *rank, mw_program *p, const mw_node *node, mw_call *call,
                          int base)
{
    for (int i = 0; i < node->nout; i++) {
        int at;
        run_step *s;
        MW_TRY(shared_place(rank, p, base, call->out_type[i], &call->out[i], call->view_offset[i],
                            &at));
        p->of_value[node->out[i]->id] = at;
        MW_TRY(add_step(p, RUN_VIEW, node, 1, 1, &s));
        s->in[0] = base;
        s->out[0] = at;
        end_step(p, s);
    }
    return MW_OK;
}

static mw_status add_kernel(mw_rank *rank, mw_program *p, const mw_node *node, mw_call *call,
                            const int *in)
{
    int *out = mw__arena_alloc(&p->arena, (size_t)(node->nout + 1) * sizeof *out);
    if (!out) return MW_NOMEM();
    for (int i = 0; i < node->nin; i++)
        MW_TRY(end_for(p, in[i], call->in_place && i == 0));
    for (int i = 0; i < node->nout; i++) {
        if (call->in_place && i == 0) {
            MW_TRY(shared_place(rank, p, in[0], call->out_type[0], &call->out[0], 0, &out[0]));
        } else {
            MW_TRY(own_place(rank, p, call->out_type[i], &call->out[i], &out[i]));
        }
        p->of_value[node->out[i]->id] = out[i];
    }
    run_step *s;
    MW_TRY(add_step(p, RUN_KERNEL, node, node->nin, node->nout, &s));
    s->call = call;
    s->waits = call->in_place;
    memcpy(s->in, in, (size_t)node->nin * sizeof *in);
    memcpy(s->out, out, (size_t)node->nout * sizeof *out);
    end_step(p, s);
    return MW_OK;
}

static mw_status add_op(mw_rank *rank, mw_program *p, const mw_node *node)
{
    int *in = mw__arena_alloc(&p->arena, (size_t)(node->nin + 1) * sizeof *in);
    if (!in) return MW_NOMEM();
    for (int i = 0; i < node->nin; i++)
        in[i] = p->of_value[node->in[i]->id];
    mw_call *call;
    MW_TRY(decide(rank, p, node, in, &call));
    bool dense =
        call->view && call->moves && call->prepare[0].contiguous && !call->prepare[0].redist;
    if (dense) { /* these strides need a copy first */
        mw__call_free(call);
        MW_TRY(dense_copy(rank, p, node, in[0], &in[0]));
        MW_TRY(decide(rank, p, node, in, &call));
    }
    mw_status status = MW_OK;
    if (call->moves || call->parts)
        status = not_placed(p->graph, node);
    else if (call->view)
        status = add_view(rank, p, node, call, in[0]);
    else
        status = add_kernel(rank, p, node, call, in);
    if (status != MW_OK || call->view) mw__call_free(call); /* of a view all is known */
    return status;
}

/* ---- movements --------------------------------------------------------------------------------
 */

/* From the place to the value's layout; nothing to do leaves the same handle. */
static mw_status add_move(mw_rank *rank, mw_program *p, const mw_node *node, const mw_ssa *v,
                          int from)
{
    MW_TRY(end_for(p, from, false));
    const mw_tensor *t = p->place[from].handle;
    mw_layout to = v->layout;
    for (int d = 0; d < to.ndim; d++)
        to.dim[d].open = 0;
    p->of_value[v->id] = from;
    if (mw_layout_equal(&t->type->layout, &to)) return MW_OK;
    mw_plan *plan = mw__arena_zalloc(&p->arena, sizeof *plan);
    if (!plan) return MW_NOMEM();
    mw__arena_clear(&rank->plan_scratch);
    MW_TRY(mw__plan_make(t->type->mesh, &t->type->layout, &to, &rank->plan_scratch, plan));
    if (plan->nstep == 0) return MW_OK;
    mw_redist *redist;
    int at;
    run_step *s;
    mw_reason reason = {"", "", v->name, node->asked || node->kind == MW_NODE_MARK};
    if (node->kind == MW_NODE_STEP || node->kind == MW_NODE_MARK)
        MW_TRY(mw__node_wish(node, &p->arena, &reason.op, &reason.why));
    else
        reason.op = node->kind == MW_NODE_OP ? mw__op_info_of(node->op)->schema.name : "input";
    MW_TRY(mw__redist_planned(rank, t->type, plan, t->type->mesh, &to, &redist));
    bool halves = !rank->fake && mw__redist_halves(redist, t);
    mw_status status = mw__redist_moves(redist) ? end_begun(p) : MW_OK;
    if (status == MW_OK)
        status = own_place(rank, p, redist->to, &redist->hop[plan->nstep - 1].out, &at);
    if (status == MW_OK) status = add_step(p, halves ? RUN_BEGIN : RUN_MOVE, node, 1, 1, &s);
    if (status != MW_OK) {
        mw__redist_free(redist);
        return status;
    }
    s->redist = redist;
    s->reason = reason;
    s->in[0] = from;
    s->out[0] = at;
    end_step(p, s);
    if (halves) p->begun = *s;
    p->of_value[v->id] = at;
    return MW_OK;
}

/* ---- where values begin -----------------------------------------------------------------------
 */

/* On the program's mesh: the owners are the same. */
static mw_status add_outside(mw_rank *rank, mw_program *p, const mw_tensor *t, mw_mesh *mesh,
                             bool data, int *ret)
{
    const mw_ttype *type = t->type;
    if (!mw_mesh_same(type->mesh, mesh)) {
        mw_layout there;
        MW_TRY(mw__layout_to_mesh(type->mesh, &type->layout, mesh, &there));
        MW_TRY(mw__ttype_get(mesh, &there, t->local.stride, &type));
    }
    MW_TRY(new_place(rank, p, type, &t->local, ret));
    mw_tensor *handle = p->place[*ret].handle;
    handle->apart = t->apart;
    if (!data) return MW_OK;
    handle->local.data = t->local.data;
    handle->storage = t->storage;
    if (handle->storage) mw__storage_ref(handle->storage);
    return MW_OK;
}

static mw_status add_input(mw_rank *rank, mw_program *p, const mw_node *node,
                           mw_tensor *const *input, int ninput)
{
    int at;
    const mw_tensor *t = node->bound;
    if (!t) {
        if (p->ninput == ninput)
            return MW_FAIL(MW_ERR_ARG, "parameter %%%s was given no tensor", node->out[0]->name);
        t = input[p->ninput];
    }
    MW_TRY(add_outside(rank, p, t, node->out[0]->mesh, node->bound != NULL, &at));
    if (!node->bound) p->parameter[p->ninput++] = at;
    return add_move(rank, p, node, node->out[0], at);
}

static mw_status add_const(mw_rank *rank, mw_program *p, const mw_node *node)
{
    mw_tensor *t;
    int at;
    MW_TRY(mw__const_tensor(node, &t));
    MW_TRY(add_outside(rank, p, t, node->out[0]->mesh, true, &at));
    if (node->out[0]->mutated) MW_TRY(dense_copy(rank, p, node, at, &at)); /* anew in each run */
    return add_move(rank, p, node, node->out[0], at);
}

static mw_status add_node(mw_rank *rank, mw_program *p, const mw_node *node,
                          mw_tensor *const *input, int ninput)
{
    switch (node->kind) {
    case MW_NODE_INPUT:
        return add_input(rank, p, node, input, ninput);
    case MW_NODE_CONST:
        return add_const(rank, p, node);
    case MW_NODE_MARK:
    case MW_NODE_STEP:
        return add_move(rank, p, node, node->out[0], p->of_value[node->in[0]->id]);
    case MW_NODE_OP:
        break;
    }
    MW_TRY(add_op(rank, p, node));
    for (int i = 0; i < node->nout; i++) {
        int at = p->of_value[node->out[i]->id];
        const mw_ssa *v = node->out[i];
        bool open = false;
        for (int d = 0; d < v->layout.ndim; d++)
            open = open || v->layout.dim[d].open;
        if (!open && v->stated) MW_TRY(add_move(rank, p, node, v, at));
    }
    return MW_OK;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* Is the place a result's as it is? Not where its memory is the program's, or another result's, or
 * an input's, and the function made one of its own: callers may write into it. */
static bool is_own(const mw_program *p, int i, int at)
{
    const mw_graph *g = p->graph;
    if (!g->root) return true;
    int root = p->place[at].root;
    const mw_ssa *wrote = g->value[g->root[i]];
    if (p->place[root].slot < 0) return wrote && wrote->def->kind == MW_NODE_INPUT;
    for (int k = 0; k < i; k++)
        if (p->place[p->result[k]].root == root && g->root[k] != g->root[i]) return false;
    return true;
}

/* Would callers who write into it expect to see that in an input? */
static bool is_apart(const mw_program *p, int i, int at)
{
    return p->graph->views && p->graph->views[i] && p->place[p->place[at].root].slot >= 0;
}

static mw_status find_results(mw_rank *rank, mw_program *p)
{
    p->apart = mw__arena_zalloc(&p->arena, (size_t)p->graph->nresult + 1);
    if (!p->apart) return MW_NOMEM();
    for (int i = 0; i < p->graph->nresult; i++) {
        const mw_ssa *v = p->graph->result[i];
        int at = p->of_value[v->id];
        p->apart[i] = is_apart(p, i, at);
        if (!is_own(p, i, at)) MW_TRY(dense_copy(rank, p, v->def, at, &at));
        p->result[i] = at;
    }
    return MW_OK;
}

static mw_status find_writes(mw_program *p)
{
    p->write = mw__arena_alloc(&p->arena, (size_t)(p->nstep + 1) * sizeof *p->write);
    if (!p->write) return MW_NOMEM();
    for (int i = 0; i < p->nstep; i++)
        if (p->step[i].kind == RUN_KERNEL && p->step[i].call->in_place &&
            p->place[p->place[p->step[i].in[0]].root].slot < 0)
            p->write[p->nwrite++] = &p->step[i];
    return MW_OK;
}

/* Views of what is given when it runs, and what is written there: their handles get memory then. */
static mw_status find_loose(mw_program *p)
{
    p->loose = mw__arena_alloc(&p->arena, (size_t)(p->nstep + 1) * sizeof(int));
    if (!p->loose) return MW_NOMEM();
    for (int i = 0; i < p->nstep; i++) {
        const run_step *s = &p->step[i];
        bool shares = s->kind == RUN_VIEW || (s->kind == RUN_KERNEL && s->call->in_place);
        if (shares && !p->place[s->out[0]].handle->storage) p->loose[p->nloose++] = s->out[0];
    }
    return MW_OK;
}

/* Memory that the program has, or has from outside, counts its handles and slots among those
 * through which nobody looks. */
static void hold(mw_program *p, int by)
{
    for (int64_t i = 0; i < p->nplace; i++) {
        place *at = &p->place[i];
        if (by > 0) at->held = at->handle->storage != NULL;
        if (at->held) at->handle->storage->held += by;
    }
    for (int64_t i = 0; i < p->nslot; i++)
        if (p->slot[i].storage) p->slot[i].storage->held += by;
    p->holds = by > 0;
}

static mw_status make(mw_rank *rank, mw_program *p, mw_tensor *const *input, int ninput)
{
    p->of_value = mw__arena_alloc(&p->arena, (size_t)(p->graph->nvalue + 1) * sizeof(int));
    p->parameter = mw__arena_alloc(&p->arena, (size_t)(ninput + 1) * sizeof(int));
    p->result = mw__arena_alloc(&p->arena, (size_t)(p->graph->nresult + 1) * sizeof(int));
    if (!p->of_value || !p->parameter || !p->result) return MW_NOMEM();
    for (const mw_node *n = p->graph->first; n; n = n->next)
        MW_TRY(add_node(rank, p, n, input, ninput));
    MW_TRY(end_begun(p));
    MW_TRY(find_results(rank, p));
    mw__program_fuse(p, &rank->plan_scratch);
    MW_TRY(mw__program_lay_out(rank, p));
    MW_TRY(find_loose(p));
    MW_TRY(find_writes(p));
    hold(p, 1);
    return MW_OK;
}

mw_status mw__program_new(mw_rank *rank, const mw_graph *graph, mw_tensor *const *input, int ninput,
                          mw_program **ret)
{
    mw_program *p = mw__zalloc(sizeof *p);
    if (!p) return MW_NOMEM();
    mw__arena_init(&p->arena);
    p->graph = graph;
    mw_scope_begin("program");
    mw_status status = make(rank, p, input, ninput);
    (void)mw_scope_end(NULL);
    if (status != MW_OK) {
        mw__program_free(rank, p);
        return status;
    }
    *ret = p;
    return MW_OK;
}

void mw__program_free(mw_rank *rank, mw_program *p)
{
    if (!p) return;
    if (p->holds) hold(p, -1);
    for (int i = 0; i < p->nstep; i++) {
        mw__call_free(p->step[i].call);
        if (p->step[i].kind != RUN_END) mw__redist_free(p->step[i].redist); /* as its begin */
    }
    for (int64_t i = 0; i < p->nplace; i++)
        mw__tensor_drop(rank, p->place[i].handle);
    for (int64_t i = 0; i < p->nslot; i++)
        mw__storage_unref(p->slot[i].storage);
    mw__free(p->step, (size_t)p->cap_step * sizeof *p->step);
    mw__free(p->place, (size_t)p->cap_place * sizeof *p->place);
    mw__free(p->slot, (size_t)p->cap_slot * sizeof *p->slot);
    mw__arena_done(&p->arena);
    mw__free(p, sizeof *p);
}

int64_t mw__program_bytes(const mw_program *p)
{
    return p->bytes;
}

int mw__program_fused(const mw_program *p)
{
    int count = 0;
    for (int i = 0; i < p->nstep; i++)
        count += p->step[i].fused;
    return count;
}

int mw__program_halves(const mw_program *p)
{
    int count = 0;
    for (int i = 0; i < p->nstep; i++)
        count += p->step[i].kind == RUN_END;
    return count;
}

int mw__program_steps(const mw_program *p)
{
    return p->nstep;
}
