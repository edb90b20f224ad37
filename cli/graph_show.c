/* What `meshwise graph` prints. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

enum { RANKS_SHOWN = 64, WAYS = 8 };

static int64_t bytes_on(const mw_parameter *p, int rank)
{
    int64_t shape[MW_LAYOUT_DIMS], bytes = mw_dtype_size((mw_dtype)p->layout->dtype);
    mw_layout_local_shape(p->mesh, p->layout, rank, shape);
    for (int d = 0; d < p->layout->ndim; d++)
        bytes *= shape[d];
    return bytes;
}

/* Bytes of every rank, where they are few; the largest. */
static json_t *tensor_object(const mw_parameter *p, int64_t *sum)
{
    char layout[512];
    int n = mw_mesh_ranks(p->mesh);
    int64_t largest = 0;
    json_t *each = json_array();
    (void)mw_layout_print(p->mesh, p->layout, layout, sizeof layout);
    for (int r = 0; r < n && r < RANKS_SHOWN; r++) {
        int64_t bytes = bytes_on(p, r);
        if (bytes > largest) largest = bytes;
        sum[r] += bytes;
        (void)json_array_append_new(each, json_integer((json_int_t)bytes));
    }
    return json_pack("{s:s, s:s, s:I, s:o, s:b, s:b}", "name", p->name, "layout", layout, "bytes",
                     (json_int_t)largest, "bytes_per_rank", each, "stated", p->stated, "outside",
                     p->bound);
}

static json_t *ways_object(const mw_graph *graph, int64_t index)
{
    mw_other_way way[WAYS];
    int n = mw_graph_other_ways(graph, index, way, WAYS);
    json_t *list = json_array();
    for (int i = 0; list && i < n && i < WAYS; i++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:f}", "says", way[i].says, "recv_bytes",
                            (json_int_t)way[i].recv_bytes, "recv_bytes_total",
                            (json_int_t)way[i].recv_bytes_total, "peak_bytes",
                            (json_int_t)way[i].peak_bytes, "time_us", way[i].time_us));
    return list;
}

static json_t *move_object(const mw_graph *graph, const mw_move *m, int64_t index)
{
    char from[512], to[512];
    (void)mw_layout_print(m->mesh, m->from, from, sizeof from);
    (void)mw_layout_print(m->mesh, m->to, to, sizeof to);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:s, s:s, s:s, s:i, s:o}", "value",
                     m->value, "kind", m->kind, "axes", m->axes, "from", from, "to", to,
                     "recv_bytes", (json_int_t)m->recv_bytes, "recv_bytes_total",
                     (json_int_t)m->recv_bytes_total, "asked", m->asked, "because", m->because,
                     "chain", m->chain, "file", m->site.file ? m->site.file : "", "line",
                     m->site.line, "alternatives", ways_object(graph, index));
}

static json_t *moves_object(const mw_graph *graph, json_int_t *recv, json_int_t *total)
{
    int64_t n = mw_graph_moves(graph, NULL, 0);
    mw_move *move = mw_memory((size_t)(n + 1) * sizeof *move);
    json_t *list = json_array();
    if (!move || !list) {
        json_decref(list);
        return NULL;
    }
    (void)mw_graph_moves(graph, move, n);
    for (int64_t i = 0; i < n; i++) {
        *recv += move[i].recv_bytes;
        *total += move[i].recv_bytes_total;
        (void)json_array_append_new(list, move_object(graph, &move[i], i));
    }
    mw_memory_free(move, (size_t)(n + 1) * sizeof *move);
    return list;
}

static json_t *passes_object(const graph_state *g)
{
    json_t *list = json_array();
    for (int i = 0; list && i < g->npass; i++)
        (void)json_array_append_new(list, json_pack("{s:s, s:f, s:I}", "name", g->pass[i].name,
                                                    "seconds", g->pass[i].seconds, "nodes",
                                                    (json_int_t)g->pass[i].nodes));
    return list;
}

static json_t *memory_object(const graph_state *g, const mw_graph *graph, const int64_t *weights)
{
    int n = mw_mesh_ranks(g->s.mesh);
    json_t *each = json_array();
    int64_t most = 0, peak_most = 0;
    for (int r = 0; each && r < n && r < RANKS_SHOWN; r++) {
        int64_t peak = 0;
        if (mw_graph_peak_bytes(graph, r, &peak) != MW_OK) peak = -1;
        if (weights[r] > most) most = weights[r];
        if (peak > peak_most) peak_most = peak;
        (void)json_array_append_new(each, json_pack("{s:i, s:I, s:I}", "rank", r, "parameter_bytes",
                                                    (json_int_t)weights[r], "peak_bytes",
                                                    (json_int_t)peak));
    }
    return json_pack("{s:I, s:I, s:o}", "parameter_bytes", (json_int_t)most, "peak_bytes",
                     (json_int_t)peak_most, "ranks", each);
}

json_t *graph_object(const graph_state *g, mw_graph *graph)
{
    int64_t weights[RANKS_SHOWN] = {0};
    json_int_t recv = 0, total = 0;
    json_t *tensors = json_array();
    for (int i = 0; tensors && i < mw_graph_parameters(graph); i++) {
        mw_parameter p = mw_graph_parameter(graph, i);
        (void)json_array_append_new(tensors, tensor_object(&p, weights));
    }
    json_t *moves = moves_object(graph, &recv, &total);
    size_t n = moves ? json_array_size(moves) : 0;
    return json_pack(
        "{s:i, s:s, s:s, s:I, s:{s:i, s:I}, s:f, s:o, s:o, s:o, s:{s:I, s:I, s:I}, s:o}", "schema",
        1, "model", mw_model_file_path(g->s.model.file), "mesh", g->s.mesh_text, "tokens",
        (json_int_t)g->prompt, "nodes", "captured", g->captured, "compiled",
        (json_int_t)mw_graph_nodes(graph), "seconds", g->seconds, "passes", passes_object(g),
        "tensors", tensors, "moves", moves, "comm", "collectives", (json_int_t)n, "recv_bytes",
        recv, "recv_bytes_total", total, "memory", memory_object(g, graph, weights));
}

/* ---- for people -------------------------------------------------------------------------------
 */

static const char *text_of(json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static double number_of(json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* Rows that differ in a number only (blk.0, blk.1, ...) are one row with a count. */
static void key_of(const char *name, char *to, size_t size)
{
    size_t n = 0;
    for (const char *c = name; *c && n + 1 < size; c++)
        if (*c >= '0' && *c <= '9') {
            if (n == 0 || to[n - 1] != '*') to[n++] = '*';
        } else {
            to[n++] = *c;
        }
    to[n] = 0;
}

static bool same_tensor(json_t *a, json_t *b)
{
    char x[128], y[128];
    key_of(text_of(a, "name"), x, sizeof x);
    key_of(text_of(b, "name"), y, sizeof y);
    return strcmp(x, y) == 0 && strcmp(text_of(a, "layout"), text_of(b, "layout")) == 0;
}

static void print_tensors(json_t *tensors)
{
    size_t i, k;
    json_t *t, *u;
    printf("tensors\n");
    json_array_foreach(tensors, i, t)
    {
        int count = 0;
        bool told = false;
        json_array_foreach(tensors, k, u)
        {
            if (!same_tensor(t, u)) continue;
            if (k < i) told = true;
            count++;
        }
        if (told) continue;
        char name[128];
        (void)snprintf(name, sizeof name, "%s", text_of(t, "name"));
        if (count > 1) key_of(text_of(t, "name"), name, sizeof name);
        printf("  %-28s %4d x  %-28s %12.0f B a rank%s\n", name, count, text_of(t, "layout"),
               number_of(t, "bytes"),
               json_is_true(json_object_get(t, "stated")) ? "" : "   (propagated)");
    }
}

static bool same_move(json_t *a, json_t *b)
{
    static const char *const keys[] = {"kind", "axes", "from", "to", "because", "chain", "file"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(text_of(a, keys[i]), text_of(b, keys[i])) != 0) return false;
    return number_of(a, "line") == number_of(b, "line");
}

static void print_moves(json_t *moves)
{
    size_t i, k;
    json_t *m, *u;
    json_array_foreach(moves, i, m)
    {
        int count = 0;
        bool told = false;
        json_array_foreach(moves, k, u)
        {
            if (!same_move(m, u)) continue;
            if (k < i) told = true;
            count++;
        }
        if (told) continue;
        printf("  %4d x  %s %s  %s -> %s\n          %.0f B to the rank that receives most, %s%s%s"
               "  (%s:%d)\n",
               count, text_of(m, "kind"), text_of(m, "axes"), text_of(m, "from"), text_of(m, "to"),
               number_of(m, "recv_bytes"),
               json_is_true(json_object_get(m, "asked")) ? "asked for" : "unasked",
               text_of(m, "because")[0] ? ": " : "", text_of(m, "because"), text_of(m, "file"),
               (int)number_of(m, "line"));
    }
}

void graph_print(const graph_state *g)
{
    json_t *o = g->object, *comm = json_object_get(o, "comm"),
           *memory = json_object_get(o, "memory");
    printf("%s on %s: %s of %.0f token%s, %d nodes captured, %.0f compiled, in %.0f ms\n",
           text_of(o, "model"), text_of(o, "mesh"), g->prompt == 1 ? "one step" : "a prompt",
           number_of(o, "tokens"), g->prompt == 1 ? "" : "s", g->captured,
           number_of(json_object_get(o, "nodes"), "compiled"), g->seconds * 1e3);
    print_tensors(json_object_get(o, "tensors"));
    printf("moved: %.0f movements, %.0f B to the rank that receives most, %.0f B in all\n",
           number_of(comm, "collectives"), number_of(comm, "recv_bytes"),
           number_of(comm, "recv_bytes_total"));
    print_moves(json_object_get(o, "moves"));
    printf("memory: %.1f MB of parameters on the fullest rank, %.3f MB of other values at most\n",
           number_of(memory, "parameter_bytes") / 1e6, number_of(memory, "peak_bytes") / 1e6);
    for (int i = 0; i < g->s.nnote; i++)
        printf("note: %s\n", g->s.note[i]);
}
