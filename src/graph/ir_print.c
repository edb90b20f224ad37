/* A graph as text: what ir_parse.c reads back, the same to the byte. */
#include "graph/graph.h"
#include "mesh/reader.h"
#include "ops/args.h"

static const char *mesh_name(const mw_graph *graph, const mw_mesh *mesh)
{
    for (int i = 0; i < graph->nmesh; i++)
        if (graph->mesh[i] == mesh) return graph->mesh_name[i];
    return "?";
}

static void type_str(const mw_graph *graph, const mw_ssa *v, mw_str *to)
{
    bool any = false, alike = true;
    mw__layout_str(v->mesh, &v->layout, to);
    if (v->layout.ndim == 0 && !v->layout.npartial && !v->stated) mw__str_putc(to, '?');
    if (v->mesh != graph->mesh[0]) mw__str_printf(to, " on @%s", mesh_name(graph, v->mesh));
    for (int d = 0; d < v->layout.ndim; d++) {
        any = any || v->priority[d];
        alike = alike && v->priority[d] == v->priority[0];
    }
    if (any && alike) mw__str_printf(to, " p%d", v->priority[0]);
    if (!any || alike) return;
    mw__str_puts(to, " p(");
    for (int d = 0; d < v->layout.ndim; d++)
        mw__str_printf(to, "%s%d", d ? ", " : "", v->priority[d]);
    mw__str_putc(to, ')');
}

/* ---- constants --------------------------------------------------------------------------------
 */

static void element_str(const void *at, mw_dtype dtype, mw_str *to)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
        mw__float_str(mw__element_get(at, dtype), to);
    else if (dtype == MW_DTYPE_bool)
        mw__str_puts(to, mw__element_get_i64(at, dtype) ? "True" : "False");
    else
        mw__str_printf(to, "%lld", (long long)mw__element_get_i64(at, dtype));
}

static const char *nested_str(const char *at, const mw_meta *meta, int dim, mw_str *to)
{
    if (dim == meta->ndim) {
        element_str(at, meta->dtype, to);
        return at + mw_dtype_size(meta->dtype);
    }
    mw__str_putc(to, '[');
    for (int64_t i = 0; i < meta->shape[dim]; i++) {
        if (i) mw__str_puts(to, ", ");
        at = nested_str(at, meta, dim + 1, to);
    }
    mw__str_putc(to, ']');
    return at;
}

static void const_str(const mw_node *node, mw_str *to)
{
    mw_meta meta = mw__ssa_meta(node->out[0]);
    if (node->fill == MW_FILL_DATA) {
        mw__str_puts(to, "tensor(");
        (void)nested_str(node->data, &meta, 0, to);
    } else {
        mw__str_printf(to, "%s([", node->fill == MW_FILL_RANDN ? "randn" : "rand");
        for (int d = 0; d < meta.ndim; d++)
            mw__str_printf(to, "%s%lld", d ? ", " : "", (long long)meta.shape[d]);
        mw__str_printf(to, "], seed=%llu", (unsigned long long)node->seed);
    }
    mw__str_printf(to, ", dtype=%s", mw_dtype_name(meta.dtype));
    if (node->fill == MW_FILL_DATA && mw__layout_count(&node->out[0]->layout) == 0) {
        mw__str_puts(to, ", shape=[");
        for (int d = 0; d < meta.ndim; d++)
            mw__str_printf(to, "%s%lld", d ? ", " : "", (long long)meta.shape[d]);
        mw__str_putc(to, ']');
    }
    mw__str_putc(to, ')');
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static void operand_str(const mw_node *node, int i, mw_str *to)
{
    mw__str_printf(to, "%%%s", node->in[i]->name);
}

/* Positional arguments that nothing follows but defaults are left out too. */
static int last_given(const mw_op_info *info, const mw_node *node)
{
    int last = -1;
    for (int a = 0; a < node->narg; a++)
        if (!info->schema.arg[a].kwarg_only &&
            !mw__arg_is_default(&info->schema.arg[a], &node->arg[a]))
            last = a;
    return last;
}

static void op_str(const mw_node *node, mw_str *to)
{
    const mw_op_info *info = mw__op_info_of(node->op);
    if (!info) return;
    const char *comma = "";
    int last = last_given(info, node);
    mw__str_printf(to, "%s(", info->word);
    for (int a = 0; a < node->narg; a++) {
        const mw_schema_arg *schema = &info->schema.arg[a];
        const mw_arg *arg = &node->arg[a];
        if (schema->kwarg_only ? mw__arg_is_default(schema, arg) : a > last) continue;
        mw__str_puts(to, comma);
        comma = ", ";
        if (schema->kwarg_only) mw__str_printf(to, "%s=", schema->name);
        if (arg->kind == MW_ARG_TENSOR) {
            operand_str(node, arg->first, to);
        } else if (arg->kind == MW_ARG_TENSORS) {
            mw__str_putc(to, '[');
            for (int i = 0; i < arg->count; i++) {
                if (i) mw__str_puts(to, ", ");
                operand_str(node, arg->first + i, to);
            }
            mw__str_putc(to, ']');
        } else {
            mw__arg_str(arg, NULL, to);
        }
    }
    mw__str_putc(to, ')');
}

static void step_str(const mw_node *node, mw_str *to)
{
    bool any = node->step == MW_STEP_COUNT;
    mw__str_printf(to, "%s(", any ? "redistribute" : mw__step_name(node->step));
    operand_str(node, 0, to);
    if (!any) {
        mw__str_puts(to, ", axes=[");
        mw__axes_str(node->out[0]->mesh, node->axes, to);
        mw__str_putc(to, ']');
    }
    if (node->dim >= 0) mw__str_printf(to, ", dim=%d", node->dim);
    if (node->to_dim >= 0) mw__str_printf(to, ", to_dim=%d", node->to_dim);
    mw__str_putc(to, ')');
}

static void why_str(const mw_node *node, mw_str *to)
{
    bool moves = node->kind == MW_NODE_STEP && node->recv_bytes_total > 0;
    if (!node->because[0] && !moves) return;
    mw__str_printf(to, "  ; %s: %s", node->asked ? "asked" : "because", node->because);
    if (moves)
        mw__str_printf(to, "%s%lld B received per rank, %lld B in all",
                       node->because[0] ? ". " : "", (long long)node->recv_bytes,
                       (long long)node->recv_bytes_total);
    if (moves && node->meanwhile)
        mw__str_printf(to, "; %d op%s meanwhile", node->meanwhile, node->meanwhile > 1 ? "s" : "");
}

void mw__node_print(const mw_graph *graph, const mw_node *node, mw_str *to)
{
    for (int i = 0; i < node->nout; i++)
        mw__str_printf(to, "%s%%%s", i ? ", " : "", node->out[i]->name);
    mw__str_puts(to, node->nout ? " = " : "");
    switch (node->kind) {
    case MW_NODE_INPUT:
        mw__str_puts(to, "input()");
        break;
    case MW_NODE_CONST:
        const_str(node, to);
        break;
    case MW_NODE_OP:
        op_str(node, to);
        break;
    case MW_NODE_MARK:
        mw__str_puts(to, "mark_sharding(");
        operand_str(node, 0, to);
        mw__str_putc(to, ')');
        break;
    case MW_NODE_STEP:
        step_str(node, to);
        break;
    }
    for (int i = 0; i < node->nout; i++) {
        mw__str_puts(to, i ? ", " : " : ");
        type_str(graph, node->out[i], to);
    }
    why_str(node, to);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void mesh_str(const mw_graph *graph, int i, mw_str *to)
{
    const mw_mesh *mesh = graph->mesh[i];
    mw__str_printf(to, "mesh @%s = [", graph->mesh_name[i]);
    for (int a = 0; a < mesh->naxis; a++) {
        const char *quote = mw__name_bare(mesh->name[a]) ? "" : "\"";
        mw__str_printf(to, "%s%s%s%s=%d", a ? ", " : "", quote, mesh->name[a], quote,
                       mesh->size[a]);
    }
    mw__str_putc(to, ']');
    if (mesh->id) {
        mw__str_puts(to, " ids=[");
        for (int r = 0; r < mesh->nrank; r++)
            mw__str_printf(to, "%s%d", r ? "," : "", mesh->id[r]);
        mw__str_putc(to, ']');
    }
    mw__str_putc(to, '\n');
}

enum { SHORT_HEADER = 3 }; /* parameters that stand on one line */

static void header_str(const mw_graph *graph, mw_str *to)
{
    int n = 0;
    for (const mw_node *k = graph->first; k && k->kind == MW_NODE_INPUT; k = k->next)
        n++;
    mw__str_printf(to, "func @%s(", graph->name);
    const mw_node *k = graph->first;
    for (int i = 0; i < n; i++, k = k->next) {
        if (n > SHORT_HEADER) mw__str_puts(to, "\n    ");
        mw__str_printf(to, "%%%s: ", k->out[0]->name);
        type_str(graph, k->out[0], to);
        if (i + 1 < n) mw__str_puts(to, n > SHORT_HEADER ? "," : ", ");
    }
    mw__str_puts(to, ") {\n");
}

void mw__graph_print(const mw_graph *graph, mw_str *to)
{
    for (int i = 0; i < graph->nmesh; i++)
        mesh_str(graph, i, to);
    header_str(graph, to);
    for (const mw_node *n = graph->first; n; n = n->next) {
        if (n->kind == MW_NODE_INPUT) continue;
        mw__str_puts(to, "  ");
        mw__node_print(graph, n, to);
        mw__str_putc(to, '\n');
    }
    if (graph->nresult) mw__str_puts(to, "  return ");
    for (int i = 0; i < graph->nresult; i++)
        mw__str_printf(to, "%s%%%s", i ? ", " : "", graph->result[i]->name);
    mw__str_puts(to, graph->nresult ? "\n}\n" : "}\n");
}
