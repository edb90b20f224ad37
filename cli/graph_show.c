/* What `meshwise graph` prints. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

enum { WAYS = 8 };

/* Bytes of the first ranks; the largest of all. */
static json_t *tensor_object(const graph_state *g, const graph_group *group, const mw_parameter *p)
{
    char layout[512];
    int n = mw_mesh_ranks(g->s.mesh);
    json_t *each = json_array();
    (void)mw_layout_print(p->mesh, p->layout, layout, sizeof layout);
    for (int r = 0; r < n && r < GRAPH_RANKS; r++)
        (void)json_array_append_new(each, json_integer((json_int_t)group->bytes[r]));
    return json_pack("{s:s, s:s, s:I, s:o, s:b, s:b}", "name", p->name, "layout", layout, "bytes",
                     (json_int_t)group->most, "bytes_per_rank", each, "stated", p->stated,
                     "outside", p->bound);
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

typedef struct rank_bytes {
    int64_t most, least;   /* of all parameters */
    int64_t weights, rest; /* of what lies outside the program, on a rank that has most of each */
} rank_bytes;

static rank_bytes parameter_bytes(const graph_state *g)
{
    rank_bytes b = {.least = g->total[0]};
    for (int r = 0; r < mw_mesh_ranks(g->s.mesh); r++) {
        if (g->total[r] > b.most) b.most = g->total[r];
        if (g->total[r] < b.least) b.least = g->total[r];
    }
    for (int i = 0; i < g->ngroup; i++) {
        const graph_group *group = &g->group[i];
        int64_t *to = graph_is_weight(group->name) ? &b.weights : &b.rest;
        if (group->bound) *to += group->most * group->count;
    }
    return b;
}

static json_t *memory_object(const graph_state *g, const mw_graph *graph)
{
    int n = mw_mesh_ranks(g->s.mesh);
    json_t *each = json_array();
    int64_t peak_most = 0;
    rank_bytes bytes = parameter_bytes(g);
    for (int r = 0; each && r < n && r < GRAPH_RANKS; r++) {
        int64_t peak = 0;
        if (mw_graph_peak_bytes(graph, r, &peak) != MW_OK) peak = -1;
        if (peak > peak_most) peak_most = peak;
        (void)json_array_append_new(each, json_pack("{s:i, s:I, s:I}", "rank", r, "parameter_bytes",
                                                    (json_int_t)g->total[r], "peak_bytes",
                                                    (json_int_t)peak));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "parameter_bytes", (json_int_t)bytes.most,
                     "parameter_bytes_least", (json_int_t)bytes.least, "weight_bytes",
                     (json_int_t)bytes.weights, "cache_bytes", (json_int_t)bytes.rest, "peak_bytes",
                     (json_int_t)peak_most, "ranks", each);
}

static json_t *tensors_object(const graph_state *g, const mw_graph *graph)
{
    json_t *tensors = json_array();
    const mw_node *node = NULL;
    for (int i = 0; tensors && i < g->nparameter; i++) {
        node = mw_graph_next(graph, node);
        mw_parameter p = mw_node_parameter(node);
        (void)json_array_append_new(tensors, tensor_object(g, &g->group[g->group_of[i]], &p));
    }
    return tensors;
}

json_t *graph_object(const graph_state *g, mw_graph *graph)
{
    json_int_t recv = 0, total = 0;
    json_t *moves = moves_object(graph, &recv, &total);
    size_t n = moves ? json_array_size(moves) : 0;
    return json_pack(
        "{s:i, s:s, s:s, s:I, s:I, s:{s:i, s:I}, s:f, s:o, s:o, s:o, s:{s:I, s:I, "
        "s:I, s:I}, s:o, s:o, s:o, s:o}",
        "schema", 1, "model", g->path, "mesh", g->s.mesh_text, "sequences", (json_int_t)g->batch,
        "tokens", (json_int_t)g->prompt, "nodes", "captured", g->captured, "compiled",
        (json_int_t)mw_graph_nodes(graph), "seconds", g->seconds, "passes", passes_object(g),
        "tensors", tensors_object(g, graph), "moves", moves, "comm", "collectives", (json_int_t)n,
        "recv_bytes", recv, "recv_bytes_total", total, "recv_bytes_total_token",
        total / (g->batch * g->prompt), "memory", memory_object(g, graph), "replicated",
        graph_copies(g), "plan", graph_page(g, graph), "notes", session_notes(&g->s));
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

static const char *shown_name(const graph_group *group)
{
    return group->count > 1 ? group->key : group->name;
}

static void print_tensors(const graph_state *g)
{
    int names = 0, layouts = 0;
    char layout[512];
    for (int i = 0; i < g->ngroup; i++) {
        int n = (int)strlen(shown_name(&g->group[i]));
        int l = mw_layout_print(g->s.mesh, &g->group[i].layout, layout, sizeof layout);
        if (n > names) names = n;
        if (l > layouts) layouts = l;
    }
    printf("tensors\n");
    for (int i = 0; i < g->ngroup; i++) {
        const graph_group *group = &g->group[i];
        (void)mw_layout_print(g->s.mesh, &group->layout, layout, sizeof layout);
        int dots = 0; /* `·` takes two bytes and one column */
        for (const char *c = layout; *c; c++)
            dots += (unsigned char)*c == 0xc2;
        printf("  %-*s %4lld x  %-*s %12lld B a rank%s\n", names, shown_name(group),
               (long long)group->count, layouts + dots, layout, (long long)group->most,
               group->stated ? "" : "   (propagated)");
    }
}

/* Alike but for numbers, which tell layers apart. */
static bool same_but_numbers(const char *a, const char *b)
{
    for (;;) {
        size_t m = strspn(a, "0123456789"), n = strspn(b, "0123456789");
        if ((m > 0) != (n > 0)) return false;
        a += m;
        b += n;
        if (*a != *b) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}

static bool same_move(json_t *a, json_t *b)
{
    static const char *const keys[] = {"kind", "axes", "from", "to", "chain", "file"};
    if (number_of(a, "line") != number_of(b, "line")) return false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(text_of(a, keys[i]), text_of(b, keys[i])) != 0) return false;
    return same_but_numbers(text_of(a, "because"), text_of(b, "because"));
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

/* Axes that copy everything are told once, others by tensor. */
static void print_copies(json_t *copies)
{
    size_t i, k;
    json_t *row, *other;
    if (json_array_size(copies)) printf("on several ranks alike\n");
    json_array_foreach(copies, i, row)
    {
        long long tensors = 0;
        double bytes = 0;
        bool told = false;
        json_array_foreach(copies, k, other)
        {
            if (strcmp(text_of(row, "axis"), text_of(other, "axis")) != 0 ||
                strcmp(text_of(row, "why"), text_of(other, "why")) != 0 ||
                number_of(row, "copies") != number_of(other, "copies"))
                continue;
            told = told || k < i;
            tensors += (long long)number_of(other, "count");
            bytes += number_of(other, "count") * number_of(other, "bytes");
        }
        if (told) continue;
        printf("  over %s: %.0f copies of %s", text_of(row, "axis"), number_of(row, "copies"),
               text_of(row, "name"));
        if (tensors > (long long)number_of(row, "count"))
            printf(" and others like it, %lld tensors", tensors);
        else if (tensors > 1)
            printf(", %lld tensors", tensors);
        printf(" (%.3f MB a rank): %s\n", bytes / 1e6, text_of(row, "why"));
    }
}

/* Each rank, where they are few. */
static void print_ranks(json_t *ranks, int n)
{
    size_t i;
    json_t *rank;
    if (n == 1 || n > 16) return;
    json_array_foreach(ranks, i, rank)
        printf("  rank %-3.0f %12.3f MB of parameters %12.3f MB of other values\n",
               number_of(rank, "rank"), number_of(rank, "parameter_bytes") / 1e6,
               number_of(rank, "peak_bytes") / 1e6);
}

static void print_step(const graph_state *g)
{
    bool all = g->is_config && (g->decoder.family->switches & DECODER_BOTH_WAYS);
    printf("%s of %lld token%s",
           all              ? "one pass"
           : g->prompt == 1 ? "one step"
                            : "a prompt",
           (long long)g->prompt, g->prompt == 1 ? "" : "s");
    if (g->batch > 1) printf(" in each of %lld sequences", (long long)g->batch);
}

void graph_print(const graph_state *g)
{
    json_t *o = g->object, *comm = json_object_get(o, "comm"),
           *memory = json_object_get(o, "memory");
    printf("%s on %s: ", text_of(o, "model"), text_of(o, "mesh"));
    print_step(g);
    printf(", %d nodes captured, %.0f compiled, in %.0f ms\n", g->captured,
           number_of(json_object_get(o, "nodes"), "compiled"), g->seconds * 1e3);
    print_tensors(g);
    print_copies(json_object_get(o, "replicated"));
    printf("moved: %.0f movements, %.0f B to the rank that receives most, %.0f B in all",
           number_of(comm, "collectives"), number_of(comm, "recv_bytes"),
           number_of(comm, "recv_bytes_total"));
    if (g->batch * g->prompt > 1)
        printf("; %.0f B in all for a token", number_of(comm, "recv_bytes_total_token"));
    printf("\n");
    print_moves(json_object_get(o, "moves"));
    printf("memory: %.3f MB of parameters on the fullest rank (weights %.3f, caches and tables "
           "%.3f), %.3f MB on the emptiest; %.3f MB of other values at most\n",
           number_of(memory, "parameter_bytes") / 1e6, number_of(memory, "weight_bytes") / 1e6,
           number_of(memory, "cache_bytes") / 1e6, number_of(memory, "parameter_bytes_least") / 1e6,
           number_of(memory, "peak_bytes") / 1e6);
    print_ranks(json_object_get(memory, "ranks"), mw_mesh_ranks(g->s.mesh));
    printf("plan\n%s", text_of(o, "plan"));
    for (int i = 0; i < g->s.nnote; i++)
        printf("note: %s\n", g->s.note[i]);
}
