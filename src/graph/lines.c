/* A graph line by line, for those who draw it. */
#include "graph/graph.h"

const mw_node *mw_graph_next(const mw_graph *graph, const mw_node *node)
{
    return node ? node->next : graph->first;
}

static const char *step_name(const mw_node *n)
{
    return n->step == MW_STEP_COUNT ? "redistribute" : mw__step_name(n->step);
}

mw_graph_line mw_node_line(const mw_node *n)
{
    static const char *const kinds[] = {[MW_NODE_INPUT] = "parameter",
                                        [MW_NODE_CONST] = "constant",
                                        [MW_NODE_OP] = "op",
                                        [MW_NODE_MARK] = "mark",
                                        [MW_NODE_STEP] = "movement"};
    mw_graph_line line = {.kind = kinds[n->kind],
                          .name = "",
                          .nin = n->nin,
                          .nout = n->nout,
                          .recv_bytes = n->recv_bytes,
                          .recv_bytes_total = n->recv_bytes_total,
                          .asked = n->asked,
                          .because = n->because ? n->because : "",
                          .chain = n->chain ? n->chain : "",
                          .site = n->site};
    const mw_op_info *info = n->kind == MW_NODE_OP ? mw__op_info_of(n->op) : NULL;
    if (info) line.name = info->schema.name;
    if (n->kind == MW_NODE_STEP) line.name = step_name(n);
    return line;
}

mw_parameter mw_node_parameter(const mw_node *n)
{
    const mw_ssa *v = n->out[0];
    return (mw_parameter){v->name, &v->layout, v->mesh, n->bound != NULL, v->stated};
}

static mw_graph_value value_of(const mw_ssa *v)
{
    return (mw_graph_value){v->id, v->name, &v->layout, v->mesh};
}

mw_graph_value mw_node_operand(const mw_node *n, int index)
{
    return value_of(n->in[index]);
}

mw_graph_value mw_node_result(const mw_node *n, int index)
{
    return value_of(n->out[index]);
}

mw_graph_value mw_graph_result(const mw_graph *graph, int index)
{
    return value_of(graph->result[index]);
}
