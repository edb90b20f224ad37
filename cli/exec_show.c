/* What `meshwise exec` prints. */
#include "cli/exec.h"

#include <stdio.h>
#include <string.h>

static void print_move(const exec_move *m)
{
    printf("  line %d: %s%s%s: %s, %lld B received per rank, %lld B in all\n", m->line,
           m->tensor[0] ? "%" : "", m->tensor, m->tensor[0] ? "" : m->op, m->text,
           (long long)m->recv_bytes, (long long)m->recv_bytes_all);
    printf("    %s -> %s\n", m->from, m->to);
    bool by_call = strcmp(m->op, "mark_sharding") == 0 || strcmp(m->op, "redistribute") == 0;
    if (m->asked)
        printf("    asked for by %s\n", by_call ? m->op : "the type that its line states");
    else
        printf("    for %s%s%s\n", m->op, m->why[0] ? ": " : "", m->why);
}

void exec_print(const exec_state *s)
{
    for (int i = 0; i < s->nresult; i++) {
        const exec_result *r = &s->result[i];
        printf("%%%s : %s%s", mw_graph_result_name(s->graph, i), r->text ? r->text : r->layout,
               r->text ? "" : "\n");
    }
    long long all = 0, unasked = 0;
    for (int64_t i = 0; i < s->nmove; i++) {
        all += s->move[i].recv_bytes_all;
        if (!s->move[i].asked) unasked += s->move[i].recv_bytes_all;
    }
    if (s->nmove == 0) printf("moved: nothing\n");
    if (s->nmove)
        printf("moved: %lld movement%s, %lld B in all, %lld B of them unasked\n",
               (long long)s->nmove, s->nmove == 1 ? "" : "s", all, unasked);
    for (int64_t i = 0; i < s->nmove; i++)
        print_move(&s->move[i]);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static json_t *number(const exec_result *r, int64_t nth)
{
    double value = r->value[nth];
    if (r->dtype == MW_DTYPE_bool) return json_boolean(value != 0);
    if (r->whole) return json_integer((json_int_t)r->whole[nth]);
    if (value != value) return json_string("nan");
    if (value - value != 0) return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

static json_t *nested(const exec_result *r, int dim, int64_t *at)
{
    if (dim == r->ndim) return number(r, (*at)++);
    json_t *list = json_array();
    for (int64_t i = 0; list && i < r->shape[dim]; i++)
        (void)json_array_append_new(list, nested(r, dim + 1, at));
    return list;
}

static json_t *result_object(const exec_state *s, int i)
{
    const exec_result *r = &s->result[i];
    int64_t at = 0;
    return json_pack("{s:s, s:s, s:s, s:o}", "name", mw_graph_result_name(s->graph, i), "layout",
                     r->layout, "dtype", mw_dtype_name(r->dtype), "values",
                     r->value ? nested(r, 0, &at) : json_null());
}

static json_t *move_object(const exec_move *m)
{
    char kind[48];
    (void)snprintf(kind, sizeof kind, "%.*s", (int)strcspn(m->text, " "), m->text);
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:s}", "line",
                     m->line, "value", m->tensor, "op", m->op, "kind", kind, "text", m->text,
                     "axes", m->axes, "from", m->from, "to", m->to, "recv_bytes",
                     (json_int_t)m->recv_bytes, "recv_bytes_total", (json_int_t)m->recv_bytes_all,
                     "asked", m->asked, "because", m->why);
}

json_t *exec_object(const exec_state *s)
{
    char mesh[512];
    (void)mw_mesh_print(mw_graph_mesh(s->graph), mesh, sizeof mesh);
    json_t *results = json_array(), *moves = json_array();
    for (int i = 0; results && i < s->nresult; i++)
        (void)json_array_append_new(results, result_object(s, i));
    json_int_t all = 0, unasked = 0;
    for (int64_t i = 0; moves && i < s->nmove; i++) {
        (void)json_array_append_new(moves, move_object(&s->move[i]));
        all += s->move[i].recv_bytes_all;
        if (!s->move[i].asked) unasked += s->move[i].recv_bytes_all;
    }
    return json_pack("{s:i, s:s, s:o, s:o, s:{s:I, s:I, s:I}}", "schema", 1, "mesh", mesh,
                     "results", results, "moves", moves, "comm", "collectives",
                     (json_int_t)s->nmove, "bytes_received", all, "unasked", unasked);
}
