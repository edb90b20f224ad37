/* Takes down a C function as a graph: it is called once, with tensors that have shapes and no data,
 * while the rank's recorder is this one. A handle knows the value that stands for it; mark_sharding
 * gives it another, so that later uses see the mark and earlier ones do not, whether or not the
 * caller keeps the result. */
#include "graph/capture.h"

#include "ops/args.h"

typedef struct capture {
    mw_recorder recorder;
    mw_rank *rank;
    mw_graph *graph;
    mw_arena arena; /* of one call's arguments */
    uint32_t serial;
    const char *chain;       /* that of the last node, which the next one often shares */
    mw_tensor *const *given; /* [ngiven] what it will be called with; NULL: not known */
    int ngiven;
} capture;

/* ---- handles and values -----------------------------------------------------------------------
 */

/* What a handle without data has for a type: whole, until a mark says otherwise. */
static mw_status stand_for(capture *c, mw_tensor *t, mw_ssa *v, const mw_layout *layout)
{
    mw_layout lies = *layout;
    for (int d = 0; d < lies.ndim; d++)
        lies.dim[d].open = 0;
    mw__local_view(c->rank, v->mesh, &lies, &t->local);
    MW_TRY(mw__ttype_get(v->mesh, &lies, t->local.stride, &t->type));
    t->storage = NULL;
    t->recorded = v;
    t->recording = c->serial;
    return MW_OK;
}

static mw_status new_handle(capture *c, mw_ssa *v, mw_tensor **ret)
{
    mw_meta meta = mw__ssa_meta(v);
    mw_layout whole = mw_layout_replicated(meta.dtype, meta.ndim, meta.shape);
    bool placed = v->stated && v->layout.npartial == 0;
    MW_TRY(mw__tensor_new(c->rank, ret));
    return stand_for(c, *ret, v, placed ? &v->layout : &whole);
}

/* A tensor from outside: a parameter with a value of its own. */
static mw_status bind_tensor(capture *c, mw_tensor *t, mw_ssa **ret)
{
    mw_node *node;
    int mesh;
    MW_TRY(mw__graph_add_mesh(c->graph, t->type->mesh, NULL, &mesh));
    MW_TRY(mw__graph_input(c->graph, c->graph->mesh[mesh], &t->type->layout, t->name, &node));
    node->out[0]->stated = true;
    node->bound = mw_tensor_ref(t);
    t->recorded = node->out[0];
    t->recording = c->serial;
    *ret = node->out[0];
    return MW_OK;
}

static mw_status value_of(capture *c, mw_tensor *t, mw_ssa **ret)
{
    if (!t->recorded) return bind_tensor(c, t, ret);
    if (t->recording != c->serial)
        return MW_FAIL(MW_ERR_ARG, "a tensor that was made while another program was captured");
    *ret = t->recorded;
    return MW_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static mw_status place_node(capture *c, mw_node *node)
{
    char text[256];
    (void)mw__chain_text(c->rank, text, sizeof text);
    if (!c->chain || strcmp(c->chain, text) != 0) {
        c->chain = mw__arena_strndup(&c->graph->arena, text, strlen(text));
        if (!c->chain) return MW_NOMEM();
    }
    node->chain = c->chain;
    node->site = c->rank->site;
    node->site.file = mw__short_file(node->site.file);
    return MW_OK;
}

static void say_where(const capture *c, const char *what)
{
    char chain[256];
    mw__error_where("%s at %s:%d%s%s, while the program is captured", what,
                    mw__short_file(c->rank->site.file), c->rank->site.line,
                    c->rank->nchain ? " in " : "", mw__chain_text(c->rank, chain, sizeof chain));
}

static mw_status read_operands(capture *c, const mw_op_info *info, const mw_value *args, int nargs,
                               mw_tensor **tensor, int *ret_n)
{
    int n = 0;
    for (int i = 0; i < nargs; i++) {
        const mw_value *v = &args[i];
        int count = v->kind == MW_ARG_TENSOR ? 1 : v->kind == MW_ARG_TENSORS ? v->count : 0;
        for (int k = 0; k < count; k++) {
            mw_tensor *t = v->kind == MW_ARG_TENSOR ? v->as.tensor : v->as.tensors[k];
            if (!t)
                return c->rank->ctx.error.code != MW_OK
                           ? c->rank->ctx.error.code
                           : MW_FAIL(MW_ERR_ARG, "%s: an operand is NULL", info->schema.name);
            tensor[n++] = t;
        }
    }
    *ret_n = n;
    return MW_OK;
}

static int count_operands(const mw_value *args, int nargs)
{
    int n = 0;
    for (int i = 0; i < nargs; i++)
        n += args[i].kind == MW_ARG_TENSOR ? 1 : args[i].kind == MW_ARG_TENSORS ? args[i].count : 0;
    return n;
}

static mw_status record_op(capture *c, const mw_op *op, const mw_value *args, int nargs,
                           mw_node **ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(op, &info));
    mw__arena_clear(&c->arena);
    int n = count_operands(args, nargs);
    mw_tensor **tensor = mw__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(mw_tensor *));
    mw_meta *meta = mw__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *meta);
    mw_ssa **in = mw__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof(mw_ssa *));
    mw_given *given = mw__arena_zalloc(&c->arena, (size_t)(nargs + 1) * sizeof *given);
    mw_bound *bound = mw__arena_zalloc(&c->arena, sizeof *bound);
    if (!tensor || !meta || !in || !given || !bound) return MW_NOMEM();
    MW_TRY(read_operands(c, info, args, nargs, tensor, &n));
    mw__given_of(&info->schema, args, nargs, given);
    for (int i = 0; i < n; i++)
        meta[i] = mw__tensor_meta(tensor[i]);
    MW_TRY(mw__args_bind(&info->schema, given, nargs, meta, &c->arena, bound));
    for (int i = 0; i < bound->nin; i++)
        MW_TRY(value_of(c, tensor[bound->operand[i]], &in[i]));
    MW_TRY(mw__graph_op(c->graph, NULL, op, bound->arg, bound->narg, in, bound->nin, ret));
    return place_node(c, *ret);
}

static mw_status record_call(mw_recorder *r, const mw_op *op, const mw_value *args, int nargs,
                             mw_tensor **out, int cap, int *ret_nout)
{
    capture *c = (capture *)r;
    mw_node *node = NULL;
    mw_status status = record_op(c, op, args, nargs, &node);
    if (status == MW_OK && node->nout > cap)
        status = MW_FAIL(MW_ERR_ARG, "%s gives %d tensors, and there is room for %d",
                         mw__op_info_of(op)->schema.name, node->nout, cap);
    for (int i = 0; status == MW_OK && i < node->nout; i++)
        status = new_handle(c, node->out[i], &out[i]);
    if (status != MW_OK) {
        const mw_op_info *info = mw__op_info_of(op);
        if (!mw_last_error()->where[0]) say_where(c, info ? info->schema.name : "?");
        return status; /* an operand that is NULL tells what failed before, and where */
    }
    *ret_nout = node->nout;
    return MW_OK;
}

/* ---- marks ------------------------------------------------------------------------------------
 */

/* Has the program used this tensor's memory, through another handle? */
static bool is_seen(const capture *c, const mw_tensor *t)
{
    for (int i = 0; i < c->ngiven && t->storage; i++)
        if (c->given[i]->storage == t->storage) return true;
    for (const mw_node *n = c->graph->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (n->bound && t->storage && ((const mw_tensor *)n->bound)->storage == t->storage)
            return true;
    return false;
}

/* A tensor from outside that the program has not used: it is re-placed now, once, as the same call
 * outside would, and not each time the program runs. */
static mw_status place_outside(capture *c, mw_tensor *t, mw_mesh *mesh, const mw_layout *to)
{
    mw_layout closed = *to;
    for (int d = 0; d < closed.ndim; d++)
        closed.dim[d].open = 0;
    mw_reason reason = {"mark_sharding", "", t->name, true};
    c->rank->recorder = NULL;
    mw_status status = mw__tensor_replace(c->rank, t, mesh, &closed, &reason);
    c->rank->recorder = &c->recorder;
    return status;
}

static mw_status record_place(mw_recorder *r, mw_tensor *t, mw_mesh *mesh, const mw_layout *to,
                              bool mark, mw_tensor **ret)
{
    capture *c = (capture *)r;
    int index;
    mw_ssa *x;
    mw_node *node;
    MW_TRY(mw__mesh_intern(mesh, &mesh));
    MW_TRY(mw__graph_add_mesh(c->graph, mesh, NULL, &index));
    if (mark && !t->recorded && mw_mesh_same(mesh, t->type->mesh) && !is_seen(c, t))
        MW_TRY(place_outside(c, t, mesh, to));
    MW_TRY(value_of(c, t, &x));
    if (mark)
        MW_TRY(mw__graph_mark(c->graph, NULL, x, c->graph->mesh[index], to, &node));
    else
        MW_TRY(mw__graph_step(c->graph, NULL, x, c->graph->mesh[index], to, MW_STEP_COUNT, &node));
    node->asked = true;
    MW_TRY(place_node(c, node));
    *ret = t;
    if (!mark) return new_handle(c, node->out[0], ret);
    if (!t->storage) return stand_for(c, t, node->out[0], to);
    t->recorded = node->out[0]; /* from outside: its own data stays where it is */
    return MW_OK;
}

static mw_status record_begin(mw_recorder *r, mw_mesh *mesh, const mw_layout *layout,
                              const void *data, mw_tensor **ret)
{
    capture *c = (capture *)r;
    int index;
    mw_node *node;
    MW_TRY(mw__mesh_intern(mesh, &mesh));
    MW_TRY(mw__graph_add_mesh(c->graph, mesh, NULL, &index));
    mw_meta meta = {(mw_dtype)layout->dtype, layout->ndim, {0}};
    mw_layout_shape(layout, meta.shape);
    if (data) {
        MW_TRY(mw__graph_const(c->graph, NULL, mesh, &meta, MW_FILL_DATA, 0, data, NULL, &node));
    } else {
        const mw_op *zeros = mw__op_at(MW_OP_zeros);
        mw_given given[] = {{NULL, {.kind = MW_ARG_INTS, .count = meta.ndim, .ints = meta.shape}},
                            {"dtype", {.kind = MW_ARG_DTYPE, .i = meta.dtype}}};
        mw__arena_clear(&c->arena);
        mw_bound *bound = mw__arena_zalloc(&c->arena, sizeof *bound);
        if (!bound) return MW_NOMEM();
        const mw_op_info *info;
        MW_TRY(mw__op_info(zeros, &info));
        MW_TRY(mw__args_bind(&info->schema, given, 2, NULL, &c->arena, bound));
        MW_TRY(mw__graph_op(c->graph, NULL, zeros, bound->arg, bound->narg, NULL, 0, &node));
    }
    node->out[0]->mesh = c->graph->mesh[index];
    node->out[0]->layout = *layout;
    node->out[0]->stated = true;
    MW_TRY(place_node(c, node));
    return new_handle(c, node->out[0], ret);
}

static void record_name(mw_recorder *r, mw_tensor *t, const char *name)
{
    capture *c = (capture *)r;
    if (t->recording != c->serial) return;
    mw_ssa *v = t->recorded;
    if (mw__ssa_rename(c->graph, v, name) != MW_OK) v->name = "?"; /* a name is not worth failing */
}

static mw_status record_ints(mw_recorder *r, mw_tensor *t, mw_arena *arena, const int64_t **ret,
                             int *ret_count, const char **ret_text)
{
    capture *c = (capture *)r;
    mw_ssa *v;
    MW_TRY(value_of(c, t, &v));
    MW_TRY(mw__fold_ints(v, arena, ret, ret_count));
    *ret_text = mw__arena_printf(arena, "[%%%s]", v->name);
    return *ret_text ? MW_OK : MW_NOMEM();
}

static mw_status record_refuse(mw_recorder *r, const char *what, const mw_tensor *t)
{
    capture *c = (capture *)r;
    mw_str of = {0};
    if (t && t->recorded && t->recording == c->serial) {
        mw__str_puts(&of, ": ");
        mw__node_print(c->graph, ((mw_ssa *)t->recorded)->def, &of);
    }
    mw_status status = MW_FAIL(
        MW_ERR_ARG, "%s asks for values, and while a program is captured there are none%.300s",
        what, mw__str_text(&of));
    mw__str_done(&of);
    say_where(c, what);
    mw__error_hint("what depends on data must stay a tensor (where, gather, ...); what is known "
                   "before the program runs can be passed in as a number");
    return status;
}

/* ---- the function -----------------------------------------------------------------------------
 */

/* A tensor that is given twice is one handle. */
static mw_status make_inputs(capture *c, mw_mesh *mesh, const mw_layout *layout, int n,
                             mw_tensor *const *given, mw_tensor **ret)
{
    for (int i = 0; i < n; i++) {
        mw_node *node;
        mw_mesh *own = given ? given[i]->type->mesh : mesh;
        int index;
        MW_TRY(mw__graph_add_mesh(c->graph, own, NULL, &index));
        MW_TRY(mw__graph_input(c->graph, c->graph->mesh[index], &layout[i], NULL, &node));
        for (int d = 0; d < layout[i].ndim; d++)
            node->out[0]->stated |= !layout[i].dim[d].open;
        for (int k = 0; k < i && given && !ret[i]; k++)
            if (given[k] == given[i]) ret[i] = ret[k];
        if (!ret[i]) MW_TRY(new_handle(c, node->out[0], &ret[i]));
    }
    return MW_OK;
}

/* Inputs that lie in one memory: what is written through one is read through the others, and by
 * handles that the program does not know. (One handle that is given twice is one.) */
static void find_shared(const mw_graph *graph, mw_tensor *const *given)
{
    int at = 0, number = 0;
    for (mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next) {
        const mw_tensor *t = n->bound ? n->bound : given ? given[at] : NULL;
        int before = 0;
        at += !n->bound;
        for (mw_node *m = graph->first; t && t->storage && m != n && !n->memory; m = m->next) {
            const mw_tensor *u = m->bound ? m->bound : given ? given[before] : NULL;
            before += !m->bound;
            if (!u || u == t || u->storage != t->storage) continue;
            if (!m->memory) m->memory = ++number;
            n->memory = m->memory;
        }
        if (t && !n->memory && mw__storage_shared(t->storage)) n->memory = ++number;
    }
}

static mw_status run_function(capture *c, mw_function f, void *user, mw_tensor *const *in,
                              mw_tensor **out, mw_ssa **result, int nout)
{
    MW_TRY(f(user, in, out));
    for (int i = 0; i < nout; i++) {
        if (!out[i])
            return c->rank->ctx.error.code != MW_OK
                       ? c->rank->ctx.error.code
                       : MW_FAIL(MW_ERR_ARG, "the captured function gave no result %d", i);
        MW_TRY(value_of(c, out[i], &result[i]));
    }
    return MW_OK;
}

/* Has a mark put the handle elsewhere? One that states what was so already has not. */
static bool is_replaced(const mw_ssa *now)
{
    const mw_ssa *v = now;
    while (v->def->kind == MW_NODE_MARK && !v->def->own &&
           mw_layout_equal(&v->layout, &v->def->in[0]->layout)) {
        for (int d = 0; d < v->layout.ndim; d++)
            if (v->layout.dim[d].open) return true;
        v = v->def->in[0];
    }
    return v->def->kind != MW_NODE_INPUT;
}

/* Handles, of inputs and from outside, that stand for another value now. */
static mw_status find_replaced(capture *c, mw_tensor *const *in, int nout, mw_ssa **result,
                               mw_ssa ***ret)
{
    mw_graph *graph = c->graph;
    int ninput = 0, at = 0, outside = 0;
    for (const mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        ninput++;
    graph->replaced = mw__arena_alloc(&graph->arena, (size_t)(ninput + 1) * sizeof(int));
    mw_ssa **all = mw__arena_alloc(&graph->arena, (size_t)(ninput + nout + 1) * sizeof *all);
    if (!graph->replaced || !all) return MW_NOMEM();
    memcpy(all, result, (size_t)nout * sizeof *all);
    for (const mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next) {
        const mw_tensor *t = n->bound ? n->bound : in[at];
        int which = n->bound ? -1 - outside++ : at++;
        if (!is_replaced(t->recorded)) continue;
        graph->replaced[graph->nreplaced] = which;
        all[nout + graph->nreplaced++] = t->recorded;
    }
    *ret = all;
    return MW_OK;
}

/* The mark leaves an input's handle as it is: nobody else looks into its memory. */
static bool stays_alone(const mw_node *mark)
{
    const mw_ssa *x = mark->in[0];
    return x->def->kind == MW_NODE_INPUT && !x->def->memory && !mark->own &&
           mw_layout_equal(&x->layout, &mark->out[0]->layout);
}

/* Whose memory it is as the function wrote it: views and writes share, and marks of a lone input;
 * other marks give memory of their own as soon as that can be told, which callers can. */
static const mw_ssa *root_of(const mw_ssa *v)
{
    for (;;) {
        const mw_node *n = v->def;
        bool shares = mw__node_views(n) || (mw__node_writes(n) && v->nth == 0) ||
                      (n->kind == MW_NODE_MARK && stays_alone(n));
        if (!shares) return v;
        v = n->in[0];
    }
}

/* Whose memory the results are, before passes merge what is the same. */
static mw_status note_roots(mw_graph *graph)
{
    graph->root = mw__arena_alloc(&graph->arena, (size_t)(graph->nresult + 1) * sizeof(int));
    graph->views = mw__arena_zalloc(&graph->arena, (size_t)graph->nresult + 1);
    if (!graph->root || !graph->views) return MW_NOMEM();
    for (int i = 0; i < graph->nresult; i++) {
        const mw_ssa *v = graph->result[i], *root = root_of(v);
        graph->root[i] = root->id;
        graph->views[i] = root != v && root->def->kind == MW_NODE_INPUT && v->root != v;
    }
    return MW_OK;
}

/* Handles from outside stand for nothing any more. */
static void release(const mw_graph *graph)
{
    for (const mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next)
        if (n->bound) ((mw_tensor *)n->bound)->recorded = NULL;
}

void mw__capture_unbind(mw_rank *rank, mw_graph *graph)
{
    for (mw_node *n = graph->first; n && n->kind == MW_NODE_INPUT; n = n->next) {
        mw__tensor_drop(rank, n->bound);
        n->bound = NULL;
    }
}

static mw_status capture_all(capture *c, mw_function f, void *user, mw_mesh *mesh,
                             const mw_layout *layout, int nin, int nout, mw_tensor *const *given)
{
    int index;
    size_t room = (size_t)(nin + 2 * nout + 1) * sizeof(void *);
    mw_tensor **in = mw__arena_zalloc(&c->graph->arena, room);
    if (!in) return MW_NOMEM();
    MW_TRY(mw__mesh_intern(mesh, &mesh));
    MW_TRY(mw__graph_add_mesh(c->graph, mesh, NULL, &index));
    mw_ssa **result =
        mw__arena_zalloc(&c->graph->arena, (size_t)(nin + nout + 1) * sizeof(mw_ssa *));
    if (!result) return MW_NOMEM();
    mw_scope_begin(c->graph->name);
    c->rank->recorder = &c->recorder;
    mw_status status = make_inputs(c, mesh, layout, nin, given, in);
    if (status == MW_OK) status = run_function(c, f, user, in, in + nin, result, nout);
    if (status == MW_OK) find_shared(c->graph, given);
    if (status == MW_OK && given) {
        status = mw__graph_results(c->graph, result, nout);
        mw__graph_mutated(c->graph); /* which marks give handles memory of their own */
    }
    if (status == MW_OK && given) status = find_replaced(c, in, nout, result, &result);
    if (status == MW_OK) status = mw__graph_results(c->graph, result, nout + c->graph->nreplaced);
    c->rank->recorder = NULL;
    (void)mw_scope_end(NULL);
    return status;
}

mw_status mw__capture(mw_rank *rank, mw_site site, const char *name, mw_function f, void *user,
                      mw_mesh *mesh, const mw_layout *in, int nin, int nout,
                      mw_tensor *const *given, mw_graph **ret)
{
    if (rank->recorder) return rank->recorder->refuse(rank->recorder, "capture", NULL);
    capture c = {.recorder = {record_call, record_place, record_begin, record_name, record_ints,
                              record_refuse},
                 .rank = rank,
                 .serial = ++rank->recordings,
                 .given = given,
                 .ngiven = given ? nin : 0};
    rank->site = site;
    MW_TRY(mw__graph_new(name, &c.graph));
    mw__arena_init(&c.arena);
    mw_status status = capture_all(&c, f, user, mesh, in, nin, nout, given);
    mw__arena_done(&c.arena);
    release(c.graph);
    if (status == MW_OK) {
        mw__graph_mutated(c.graph);
        status = note_roots(c.graph);
    }
    if (status == MW_OK) {
        *ret = c.graph;
        return MW_OK;
    }
    mw__capture_unbind(rank, c.graph);
    mw__graph_free(c.graph);
    return status;
}
