/* What is asked of a graph from outside: its parameters, its movements, the memory it needs. */
#include "graph/propagate_origin.h"

#include <stdio.h>

static const mw_node *parameter(const mw_graph *graph, int index)
{
    const mw_node *n = graph->first;
    while (n && index-- > 0)
        n = n->next;
    return n && n->kind == MW_NODE_INPUT ? n : NULL;
}

int mw_graph_parameters(const mw_graph *graph)
{
    int n = 0;
    for (const mw_node *k = graph->first; k && k->kind == MW_NODE_INPUT; k = k->next)
        n++;
    return n;
}

mw_parameter mw_graph_parameter(const mw_graph *graph, int index)
{
    const mw_node *n = parameter(graph, index);
    return n ? mw_node_parameter(n) : (mw_parameter){0};
}

void mw_graph_open_parameter(mw_graph *graph, int index)
{
    const mw_node *n = parameter(graph, index);
    if (!n) return;
    mw_ssa *v = n->out[0];
    for (int d = 0; d < v->layout.ndim; d++) {
        v->layout.dim[d] = mw__dim_plain(mw_layout_size(&v->layout, d));
        v->layout.dim[d].open = 1;
    }
    v->stated = false;
}

int64_t mw_graph_nodes(const mw_graph *graph)
{
    return graph->nnode;
}

static const mw_ssa *value_named(const mw_graph *graph, const char *name)
{
    name += *name == '%';
    for (int64_t i = 0; i < graph->nvalue; i++)
        if (graph->value[i] && strcmp(graph->value[i]->name, name) == 0) return graph->value[i];
    return NULL;
}

static mw_status no_value(const mw_graph *graph, const char *name)
{
    mw_status status = MW_FAIL(MW_ERR_ARG, "the program has no value '%.80s'", name);
    for (int64_t i = 0; i < graph->nvalue; i++) {
        const char *other = graph->value[i] ? graph->value[i]->name : "";
        if (!mw__nearest(name, &other, 1)) continue;
        mw__error_hint("did you mean '%s'?", other);
        break;
    }
    return status;
}

/* Of which operand the terms are: one that has them already, or one that the axis cuts along a dim
 * that the op sums over. */
static void partial_str(const mw_ssa *v, const mw_partial *p, mw_str *to)
{
    const char *axis = v->mesh->name[p->axis];
    mw__str_printf(to, "%%%s: each rank of %s has a term of a %s", v->name, axis,
                   mw__reduce_name((mw_reduce)p->kind));
    for (int partial = 1; partial >= 0; partial--)
        for (int i = 0; i < v->def->nin && v->def->kind == MW_NODE_OP; i++) {
            const mw_ssa *in = v->def->in[i];
            uint32_t axes =
                partial ? mw__layout_partial_axes(&in->layout) : mw__layout_axes(&in->layout);
            if (!(axes >> p->axis & 1)) continue;
            mw__str_printf(
                to, partial ? ", as of %%%s\n" : ": %%%s is cut over it, and %s sums that dim\n",
                in->name, mw__op_info_of(v->def->op)->word);
            return;
        }
    mw__str_puts(to, ": so it is stated\n");
}

mw_status mw_graph_why(mw_graph *graph, const char *value, int json, const char **ret)
{
    const mw_ssa *v = value_named(graph, value);
    if (!v) return no_value(graph, value);
    mw__str_clear(&graph->text);
    if (json) mw__origin_json(graph, v, &graph->text);
    for (int a = 0; !json && a < v->mesh->naxis; a++) {
        if (!(mw__layout_axes(&v->layout) >> a & 1)) continue;
        mw__origin_str(graph, v, a, &graph->text);
        mw__str_putc(&graph->text, '\n');
    }
    for (int i = 0; !json && i < v->layout.npartial; i++)
        partial_str(v, &v->layout.partial[i], &graph->text);
    if (!json && graph->text.length == 0)
        mw__str_printf(&graph->text, "%%%s: no axis cuts it\n", v->name);
    *ret = mw__str_text(&graph->text);
    return mw__str_status(&graph->text);
}

/* ---- movements --------------------------------------------------------------------------------
 */

static bool moves(const mw_node *n)
{
    return n->kind == MW_NODE_STEP && n->recv_bytes_total > 0;
}

int64_t mw_graph_moves(const mw_graph *graph, mw_move *ret, int64_t cap)
{
    int64_t at = 0;
    for (const mw_node *n = graph->first; n; n = n->next) {
        if (!moves(n)) continue;
        if (at < cap) {
            const mw_ssa *from = n->in[0], *to = n->out[0];
            mw_move *m = &ret[at];
            *m = (mw_move){.value = from->name,
                           .kind =
                               n->step == MW_STEP_COUNT ? "redistribute" : mw__step_name(n->step),
                           .from = &from->layout,
                           .to = &to->layout,
                           .mesh = to->mesh,
                           .recv_bytes = n->recv_bytes,
                           .recv_bytes_total = n->recv_bytes_total,
                           .asked = n->asked,
                           .because = n->because,
                           .chain = n->chain,
                           .site = n->site};
            mw_str axes = {0};
            mw__axes_str(to->mesh, n->axes, &axes);
            (void)snprintf(m->axes, sizeof m->axes, "%s", mw__str_text(&axes));
            mw__str_done(&axes);
        }
        at++;
    }
    return at;
}

int mw_graph_other_ways(const mw_graph *graph, int64_t index, mw_other_way *ret, int cap)
{
    for (const mw_node *n = graph->first; n; n = n->next) {
        if (!moves(n) || index-- > 0) continue;
        for (int i = 0; i < n->nalternative && i < cap; i++) {
            const mw_alternative *a = &n->alternative[i];
            ret[i] = (mw_other_way){a->says, a->recv_bytes, a->recv_bytes_total, a->peak_bytes,
                                    a->time_us};
        }
        return n->nalternative;
    }
    return 0;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static int64_t bytes_of(const mw_ssa *v, int rank)
{
    return mw__layout_local_count(v->mesh, &v->layout, rank) *
           mw_dtype_size(mw__layout_storage_dtype(&v->layout));
}

/* The value whose memory this one is. */
static const mw_ssa *owner(const mw_ssa *v)
{
    while (mw__node_views(v->def) || (mw__node_writes(v->def) && v->nth == 0))
        v = v->def->in[0];
    return v;
}

mw_status mw__node_wish(const mw_node *node, mw_arena *arena, const char **ret_op,
                        const char **ret_why)
{
    static const char line[] = "its line says";
    const char *because = node->because;
    *ret_op = node->kind == MW_NODE_MARK ? "mark_sharding" : "redistribute";
    *ret_why = "";
    if (node->asked || node->kind == MW_NODE_MARK) {
        if (strncmp(because, "mark_sharding", 13) == 0) *ret_op = "mark_sharding";
        if (strncmp(because, line, sizeof line - 1) == 0) *ret_op = "type";
        return MW_OK;
    }
    size_t n = strcspn(because, ": "); /* "softmax: axis tp: ..." */
    *ret_why = because;
    if (n == 0 || strncmp(because + n, ": ", 2) != 0) return MW_OK;
    *ret_why = because + n + 2;
    *ret_op = mw__arena_strndup(arena, because, n);
    return *ret_op ? MW_OK : MW_NOMEM();
}

mw_status mw_graph_peak_bytes(const mw_graph *graph, int rank, int64_t *ret)
{
    const mw_node **last = mw__zalloc((size_t)(graph->nvalue + 1) * sizeof(mw_node *));
    if (!last) return MW_NOMEM();
    for (const mw_node *n = graph->first; n; n = n->next) {
        for (int i = 0; i < n->nin; i++)
            last[owner(n->in[i])->id] = n;
        for (int i = 0; i < n->nout; i++)
            last[owner(n->out[i])->id] = n;
    }
    for (int i = 0; i < graph->nresult; i++)
        last[owner(graph->result[i])->id] = NULL; /* it stays */
    int64_t live = 0, peak = 0;
    for (const mw_node *n = graph->first; n; n = n->next) {
        if (n->kind == MW_NODE_INPUT) continue;
        for (int i = 0; i < n->nout; i++)
            if (owner(n->out[i]) == n->out[i]) live += bytes_of(n->out[i], rank);
        peak = MW_MAX(peak, live);
        for (int i = 0; i < n->nin + n->nout; i++) {
            const mw_ssa *v = owner(i < n->nin ? n->in[i] : n->out[i - n->nin]);
            if (last[v->id] != n || v->def->kind == MW_NODE_INPUT) continue;
            live -= bytes_of(v, rank);
            last[v->id] = NULL; /* once */
        }
    }
    mw__free(last, (size_t)(graph->nvalue + 1) * sizeof(mw_node *));
    *ret = peak;
    return MW_OK;
}
