/* A graph's parts: values, nodes in program order, and how they are added, replaced and erased. */
#include "graph/graph.h"

#include "ops/rule.h"

#include <limits.h>
#include <stdio.h>

mw_status mw__graph_new(const char *name, mw_graph **ret)
{
    mw_graph *graph = mw__zalloc(sizeof *graph);
    if (!graph) return MW_NOMEM();
    mw__arena_init(&graph->arena);
    graph->by_name.arena = &graph->arena;
    graph->name = mw__arena_strndup(&graph->arena, name, strlen(name));
    if (!graph->name) {
        mw__graph_free(graph);
        return MW_NOMEM();
    }
    *ret = graph;
    return MW_OK;
}

void mw__graph_free(mw_graph *graph)
{
    if (!graph) return;
    mw__str_done(&graph->text);
    mw__free(graph->value, (size_t)graph->cap_value * sizeof(mw_ssa *));
    mw__arena_done(&graph->arena);
    mw__free(graph, sizeof *graph);
}

/* ---- meshes -----------------------------------------------------------------------------------
 */

static mw_status other_ranks(const mw_graph *graph, const mw_mesh *mesh)
{
    char a[256], b[256];
    (void)mw_mesh_print(graph->mesh[0], a, sizeof a);
    (void)mw_mesh_print(mesh, b, sizeof b);
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "mesh %s has other ranks than mesh %s of this program", b, a);
    mw__error_hint("the meshes of one program must name the same ranks; they may differ in shape, "
                   "axes and order");
    return status;
}

mw_status mw__graph_add_mesh(mw_graph *graph, mw_mesh *mesh, const char *name, int *ret_index)
{
    for (int i = 0; i < graph->nmesh; i++)
        if (mw_mesh_same(graph->mesh[i], mesh)) {
            *ret_index = i;
            return MW_OK;
        }
    if (graph->nmesh && !mw__mesh_same_ranks(graph->mesh[0], mesh)) return other_ranks(graph, mesh);
    if (graph->nmesh == MW_GRAPH_MESHES)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "more than %d meshes in one program", MW_GRAPH_MESHES);
    int n = graph->nmesh;
    graph->mesh[n] = mesh;
    graph->mesh_name[n] = name ? mw__arena_strndup(&graph->arena, name, strlen(name))
                          : n  ? mw__arena_printf(&graph->arena, "m%d", n)
                               : "m";
    if (!graph->mesh_name[n]) return MW_NOMEM();
    *ret_index = graph->nmesh++;
    return MW_OK;
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* The lookup keeps values that were renamed or erased since: they don't have the name any more. */
static mw_ssa *value_named(const mw_graph *graph, const char *name, uint64_t hash,
                           const mw_ssa *but)
{
    for (mw_found *i = NULL; (i = mw__lookup_next(&graph->by_name, hash, i));) {
        mw_ssa *v = i->item;
        if (v != but && graph->value[v->id] == v && strcmp(v->name, name) == 0) return v;
    }
    return NULL;
}

static uint64_t name_hash(const char *name)
{
    return mw__hash(3, name, strlen(name));
}

/* The name, or with a number behind it what nobody has. */
static mw_status name_value(mw_graph *graph, mw_ssa *value, const char *name)
{
    const char *base = name ? mw__arena_strndup(&graph->arena, name, strlen(name))
                            : mw__arena_printf(&graph->arena, "%d", value->id);
    const char *own = base;
    for (int k = 2; own && value_named(graph, own, name_hash(own), value); k++)
        own = mw__arena_printf(&graph->arena, "%s_%d", base, k);
    mw_found *added = own ? mw__lookup_add(&graph->by_name, name_hash(own)) : NULL;
    if (!added) return MW_NOMEM();
    added->item = value;
    value->name = own;
    return MW_OK;
}

mw_status mw__ssa_rename(mw_graph *graph, mw_ssa *value, const char *name)
{
    return name_value(graph, value, name);
}

static mw_status new_value(mw_graph *graph, mw_node *def, int nth, mw_mesh *mesh,
                           const mw_layout *layout, const char *name, mw_ssa **ret)
{
    int64_t bytes = MW_MAX(1, mw_dtype_size((mw_dtype)layout->dtype));
    for (int d = 0; d < layout->ndim; d++)
        MW_TRY(mw__mul_size(bytes, mw_layout_size(layout, d), &bytes));
    MW_TRY(mw__grow(&graph->value, &graph->cap_value, graph->nvalue + 1, sizeof(mw_ssa *)));
    mw_ssa *v = mw__arena_zalloc(&graph->arena, sizeof *v);
    if (!v) return MW_NOMEM();
    v->id = (int)graph->nvalue;
    v->def = def;
    v->nth = nth;
    v->mesh = mesh;
    v->layout = *layout;
    graph->value[graph->nvalue++] = v;
    *ret = v;
    return name_value(graph, v, name);
}

mw_meta mw__ssa_meta(const mw_ssa *value)
{
    mw_meta meta = {.dtype = (mw_dtype)value->layout.dtype, .ndim = value->layout.ndim};
    mw_layout_shape(&value->layout, meta.shape);
    return meta;
}

static mw_layout open_layout(const mw_meta *meta)
{
    mw_layout l = mw_layout_replicated(meta->dtype, meta->ndim, meta->shape);
    for (int d = 0; d < l.ndim; d++)
        l.dim[d].open = 1;
    return l;
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static void link_before(mw_graph *graph, mw_node *node, mw_node *at)
{
    node->next = at;
    node->prev = at ? at->prev : graph->last;
    *(node->prev ? &node->prev->next : &graph->first) = node;
    *(at ? &at->prev : &graph->last) = node;
    graph->nnode++;
}

static void unlink_node(mw_graph *graph, mw_node *node)
{
    if (graph->last_input == node) graph->last_input = node->prev;
    *(node->prev ? &node->prev->next : &graph->first) = node->next;
    *(node->next ? &node->next->prev : &graph->last) = node->prev;
    graph->nnode--;
}

void mw__graph_move(mw_graph *graph, mw_node *node, mw_node *at)
{
    if (node == at) return;
    unlink_node(graph, node);
    link_before(graph, node, at);
}

static mw_status new_node(mw_graph *graph, mw_node_kind kind, int nin, int nout, mw_node **ret)
{
    mw_node *node = mw__arena_zalloc(&graph->arena, sizeof *node);
    if (!node) return MW_NOMEM();
    node->kind = kind;
    node->nin = nin;
    node->nout = nout;
    node->dim = node->to_dim = -1;
    node->step = MW_STEP_COUNT;
    node->because = node->chain = "";
    node->in = mw__arena_zalloc(&graph->arena, (size_t)(nin + 1) * sizeof(mw_ssa *));
    node->in_meta = mw__arena_zalloc(&graph->arena, (size_t)(nin + 1) * sizeof(mw_meta));
    node->out = mw__arena_zalloc(&graph->arena, (size_t)(nout + 1) * sizeof(mw_ssa *));
    if (!node->in || !node->in_meta || !node->out) return MW_NOMEM();
    *ret = node;
    return MW_OK;
}

static void set_operand(mw_node *node, int i, mw_ssa *value)
{
    node->in[i] = value;
    node->in_meta[i] = mw__ssa_meta(value);
}

mw_status mw__graph_input(mw_graph *graph, mw_mesh *mesh, const mw_layout *layout, const char *name,
                          mw_node **ret)
{
    mw_node *node;
    MW_TRY(new_node(graph, MW_NODE_INPUT, 0, 1, &node));
    MW_TRY(new_value(graph, node, 0, mesh, layout, name, &node->out[0]));
    mw_node *at = graph->last_input ? graph->last_input->next : graph->first;
    while (at && at->kind == MW_NODE_INPUT)
        at = at->next;
    link_before(graph, node, at);
    graph->last_input = node;
    *ret = node;
    return MW_OK;
}

mw_status mw__graph_const(mw_graph *graph, mw_node *at, mw_mesh *mesh, const mw_meta *meta,
                          mw_fill fill, uint64_t seed, const void *data, const char *name,
                          mw_node **ret)
{
    mw_node *node;
    mw_layout layout = open_layout(meta);
    MW_TRY(new_node(graph, MW_NODE_CONST, 0, 1, &node));
    node->fill = fill;
    node->seed = seed;
    if (fill == MW_FILL_DATA) {
        size_t size = (size_t)(mw__layout_count(&layout) * mw_dtype_size(meta->dtype));
        void *copy = mw__arena_alloc(&graph->arena, size + 1);
        if (!copy) return MW_NOMEM();
        if (size) memcpy(copy, data, size);
        node->data = copy;
    }
    MW_TRY(new_value(graph, node, 0, mesh, &layout, name, &node->out[0]));
    link_before(graph, node, at);
    *ret = node;
    return MW_OK;
}

/* The arguments in the graph's arena. */
static mw_status keep_args(mw_graph *graph, mw_node *node, const mw_arg *arg, int narg)
{
    mw_arena *arena = &graph->arena;
    mw_arg *kept = mw__arena_alloc(arena, (size_t)(narg + 1) * sizeof *kept);
    if (!kept) return MW_NOMEM();
    for (int i = 0; i < narg; i++) {
        kept[i] = arg[i];
        if (arg[i].kind == MW_ARG_INTS) {
            int64_t *ints = mw__arena_alloc(arena, (size_t)(arg[i].count + 1) * sizeof *ints);
            if (!ints) return MW_NOMEM();
            for (int k = 0; k < arg[i].count; k++)
                ints[k] = arg[i].ints[k];
            kept[i].ints = ints;
        } else if (arg[i].kind == MW_ARG_STR) {
            kept[i].s = mw__arena_strndup(arena, arg[i].s, strlen(arg[i].s));
            if (!kept[i].s) return MW_NOMEM();
        }
    }
    node->arg = kept;
    node->narg = narg;
    return MW_OK;
}

mw_call_args mw__node_call(const mw_node *node)
{
    return (mw_call_args){node->op, node->narg, node->arg, node->nin, node->in_meta};
}

mw_status mw__graph_op(mw_graph *graph, mw_node *at, const mw_op *op, const mw_arg *arg, int narg,
                       mw_ssa *const *in, int nin, mw_node **ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(op, &info));
    if (!graph->nmesh) return MW_FAIL(MW_ERR_ARG, "%s: the program has no mesh", info->schema.name);
    mw_mesh *mesh = nin ? in[0]->mesh : graph->mesh[0]; /* operands on others: see meshes.c */
    mw_node *node;
    MW_TRY(new_node(graph, MW_NODE_OP, nin, 0, &node));
    node->op = op;
    for (int i = 0; i < nin; i++)
        set_operand(node, i, in[i]);
    MW_TRY(keep_args(graph, node, arg, narg));
    mw_call_args call = mw__node_call(node);
    mw_arena scratch;
    mw__arena_init(&scratch);
    mw_rule *rule = mw__arena_zalloc(&scratch, sizeof *rule);
    mw_status status = rule ? mw__rule_of(&call, &scratch, rule) : MW_NOMEM();
    if (status == MW_OK) {
        node->nout = rule->nout;
        node->out = mw__arena_zalloc(&graph->arena, (size_t)(rule->nout + 1) * sizeof(mw_ssa *));
        if (!node->out) status = MW_NOMEM();
    }
    for (int i = 0; status == MW_OK && i < node->nout; i++) {
        mw_layout layout = open_layout(&rule->out_meta[i]);
        status = new_value(graph, node, i, mesh, &layout, NULL, &node->out[i]);
    }
    mw__arena_done(&scratch);
    MW_TRY(status);
    link_before(graph, node, at);
    *ret = node;
    return MW_OK;
}

mw_status mw__graph_mark(mw_graph *graph, mw_node *at, mw_ssa *x, mw_mesh *mesh,
                         const mw_layout *layout, mw_node **ret)
{
    mw_node *node;
    MW_TRY(new_node(graph, MW_NODE_MARK, 1, 1, &node));
    set_operand(node, 0, x);
    MW_TRY(new_value(graph, node, 0, mesh, layout, NULL, &node->out[0]));
    node->out[0]->stated = true;
    link_before(graph, node, at);
    *ret = node;
    return MW_OK;
}

mw_status mw__graph_step(mw_graph *graph, mw_node *at, mw_ssa *x, mw_mesh *mesh,
                         const mw_layout *to, mw_step_kind kind, mw_node **ret)
{
    mw_node *node;
    MW_TRY(new_node(graph, MW_NODE_STEP, 1, 1, &node));
    node->step = kind;
    set_operand(node, 0, x);
    MW_TRY(new_value(graph, node, 0, mesh, to, NULL, &node->out[0]));
    node->out[0]->stated = true;
    link_before(graph, node, at);
    *ret = node;
    return MW_OK;
}

mw_status mw__graph_results(mw_graph *graph, mw_ssa *const *value, int n)
{
    graph->result = mw__arena_alloc(&graph->arena, (size_t)(n + 1) * sizeof(mw_ssa *));
    if (!graph->result) return MW_NOMEM();
    for (int i = 0; i < n; i++)
        graph->result[i] = value[i];
    const char **name = mw__arena_alloc(&graph->arena, (size_t)(n + 1) * sizeof *name);
    if (!name) return MW_NOMEM();
    for (int i = 0; i < n; i++) {
        name[i] = mw__arena_strndup(&graph->arena, value[i]->name, strlen(value[i]->name));
        if (!name[i]) return MW_NOMEM();
    }
    graph->result_name = name;
    graph->nresult = n;
    return MW_OK;
}

mw_status mw__graph_note(mw_graph *graph, const char **ret, const char *format, ...)
{
    char small[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(small, sizeof small, format, list);
    va_end(list);
    const char *kept = NULL;
    if (n >= 0 && n < (int)sizeof small) {
        kept = mw__arena_strndup(&graph->arena, small, (size_t)n);
    } else if (n >= 0) {
        char *room = mw__arena_alloc(&graph->arena, (size_t)n + 1);
        va_start(list, format);
        if (room) (void)vsnprintf(room, (size_t)n + 1, format, list);
        va_end(list);
        kept = room;
    }
    if (!kept) return MW_NOMEM();
    *ret = kept;
    return MW_OK;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

bool mw__node_writes(const mw_node *node)
{
    if (node->kind != MW_NODE_OP) return false;
    const mw_op_info *info = mw__op_info_of(node->op);
    return info && info->schema.narg > 0 && info->schema.arg[0].type.written;
}

bool mw__node_views(const mw_node *node)
{
    return node->kind == MW_NODE_OP && node->op->view && node->nin > 0;
}

int mw__ssa_uses(const mw_graph *graph, const mw_ssa *value)
{
    int uses = 0;
    for (const mw_node *n = value->def; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            uses += n->in[i] == value;
    for (int i = 0; i < graph->nresult; i++)
        uses += graph->result[i] == value;
    return uses;
}

/* ---- changing ---------------------------------------------------------------------------------
 */

void mw__graph_replace(mw_graph *graph, mw_ssa *from, mw_ssa *to, mw_node *at, bool results)
{
    for (mw_node *n = at ? at : graph->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++)
            if (n->in[i] == from) set_operand(n, i, to);
    for (int i = 0; results && i < graph->nresult; i++)
        if (graph->result[i] == from) graph->result[i] = to;
}

void mw__graph_erase(mw_graph *graph, mw_node *node)
{
    unlink_node(graph, node);
    for (int i = 0; i < node->nout; i++)
        graph->value[node->out[i]->id] = NULL;
}
