/* The parameters of all layers, told once: those whose names differ in numbers alone and that lie
 * alike are one group. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

void graph_key(const char *name, char *to, size_t size)
{
    size_t n = 0;
    bool word = false; /* a number that ends a word is part of it: "fc1" */
    for (const char *c = name; *c && n + 1 < size; c++) {
        bool digit = *c >= '0' && *c <= '9';
        if (digit && !word && n) {
            if (to[n - 1] != '*') to[n++] = '*';
            continue;
        }
        word = *c != '.';
        to[n++] = *c;
    }
    to[n] = 0;
}

static int64_t bytes_on(const graph_group *group, int rank)
{
    int64_t shape[MW_LAYOUT_DIMS], bytes = mw_dtype_size((mw_dtype)group->layout.dtype);
    mw_layout_local_shape(group->mesh, &group->layout, rank, shape);
    for (int d = 0; d < group->layout.ndim; d++)
        bytes *= shape[d];
    return bytes;
}

static graph_group *new_group(graph_state *g, const char *key, const mw_parameter *p)
{
    if (g->ngroup == g->cap_group) {
        int cap = g->cap_group ? 2 * g->cap_group : 64;
        graph_group *more = mw_memory((size_t)cap * sizeof *more);
        if (!more) return NULL;
        if (g->ngroup) memcpy(more, g->group, (size_t)g->ngroup * sizeof *more);
        mw_memory_free(g->group, (size_t)g->cap_group * sizeof *more);
        g->group = more;
        g->cap_group = cap;
    }
    graph_group *group = &g->group[g->ngroup++];
    *group = (graph_group){
        .layout = *p->layout, .mesh = g->s.mesh, .stated = p->stated, .bound = p->bound};
    (void)snprintf(group->name, sizeof group->name, "%s", p->name);
    (void)snprintf(group->key, sizeof group->key, "%s", key);
    return group;
}

static graph_group *group_for(graph_state *g, const mw_parameter *p)
{
    char key[sizeof g->group->key];
    graph_key(p->name, key, sizeof key);
    for (int i = g->ngroup - 1; i >= 0; i--) {
        graph_group *group = &g->group[i];
        if (strcmp(group->key, key) == 0 && mw_layout_equal(&group->layout, p->layout) &&
            group->stated == p->stated)
            return group;
    }
    return new_group(g, key, p);
}

mw_status graph_groups_make(graph_state *g, const mw_graph *graph)
{
    int ranks = mw_mesh_ranks(g->s.mesh);
    g->nparameter = mw_graph_parameters(graph);
    g->group_of = mw_memory((size_t)(g->nparameter + 1) * sizeof *g->group_of);
    g->total = mw_memory((size_t)ranks * sizeof *g->total);
    if (!g->group_of || !g->total) return mw_last_error()->code;
    const mw_node *node = NULL;
    for (int i = 0; i < g->nparameter; i++) { /* they come first */
        node = mw_graph_next(graph, node);
        mw_parameter p = mw_node_parameter(node);
        graph_group *group = group_for(g, &p);
        if (!group) return mw_last_error()->code;
        group->count++;
        g->group_of[i] = (int)(group - g->group);
    }
    for (int i = 0; i < g->ngroup; i++)
        for (int r = 0; r < ranks; r++) {
            int64_t bytes = bytes_on(&g->group[i], r);
            if (bytes > g->group[i].most) g->group[i].most = bytes;
            if (r < GRAPH_RANKS) g->group[i].bytes[r] = bytes;
            g->total[r] += bytes * g->group[i].count;
        }
    return MW_OK;
}

void graph_groups_free(graph_state *g)
{
    mw_memory_free(g->group, (size_t)g->cap_group * sizeof *g->group);
    mw_memory_free(g->group_of, (size_t)(g->nparameter + 1) * sizeof *g->group_of);
    if (g->total) mw_memory_free(g->total, (size_t)mw_mesh_ranks(g->s.mesh) * sizeof *g->total);
    g->group = NULL;
    g->group_of = NULL;
    g->total = NULL;
}

bool graph_is_weight(const char *name)
{
    size_t n = strlen(name);
    return (n > 7 && strcmp(name + n - 7, ".weight") == 0) ||
           (n > 5 && strcmp(name + n - 5, ".bias") == 0);
}

bool graph_tensor_find(const graph_state *g, const char *key, decoder_tensor *ret)
{
    for (int i = 0; g->is_config && i < 2 * DECODER_ROLE_COUNT; i++) {
        decoder_role role = (decoder_role)(i / 2);
        if (!decoder_has(&g->decoder, role, i % 2)) continue;
        decoder_tensor t = decoder_tensor_of(&g->decoder, role, i % 2, -1);
        if (strcmp(t.name, key) != 0) continue;
        *ret = t;
        return true;
    }
    return false;
}

/* ---- the plan as a page -----------------------------------------------------------------------
 */

/* Do all parameters of this key lie alike? */
static bool alike(const graph_state *g, const graph_group *group)
{
    for (int i = 0; i < g->ngroup; i++)
        if (strcmp(g->group[i].key, group->key) == 0 &&
            !mw_layout_equal(&g->group[i].layout, &group->layout))
            return false;
    return true;
}

static size_t put_line(const graph_group *group, const char *name, char *to, size_t size)
{
    char text[512];
    mw_layout plain = group->layout;
    plain.dtype = MW_DTYPE_NONE;
    for (int d = 0; d < plain.ndim; d++)
        plain.dim[d].open = 0;
    (void)mw_layout_print(group->mesh, &plain, text, sizeof text);
    return (size_t)snprintf(to, size, "%s: %s\n", name, text);
}

/* Those that lie alike have one line for all; else each has its own. */
json_t *graph_page(const graph_state *g, const mw_graph *graph)
{
    size_t size = 1024 + 700 * (size_t)g->nparameter, n = 0;
    char *text = mw_memory(size);
    if (!text) return NULL;
    n += (size_t)snprintf(text, size, "# how the weights lie on %s\n", g->s.mesh_text);
    for (int i = 0; i < g->ngroup; i++) {
        const graph_group *group = &g->group[i];
        bool told = false;
        if (!graph_is_weight(group->name)) continue;
        if (alike(g, group)) {
            for (int k = 0; k < i && !told; k++)
                told = strcmp(g->group[k].key, group->key) == 0;
            if (!told) n += put_line(group, group->key, text + n, size - n);
            continue;
        }
        for (int k = 0; k < g->nparameter; k++)
            if (g->group_of[k] == i)
                n += put_line(group, mw_graph_parameter(graph, k).name, text + n, size - n);
    }
    json_t *page = json_text(text, (int64_t)n);
    mw_memory_free(text, size);
    return page;
}

/* ---- copies -----------------------------------------------------------------------------------
 */

/* On how many ranks of the axis each part lies. */
static int64_t copies_over(const graph_group *group, int axis)
{
    int64_t cut = 1;
    for (int d = 0; d < group->layout.ndim; d++)
        for (int c = 0; c < group->layout.dim[d].ncut; c++)
            if (group->layout.dim[d].cut[c].axis == axis) cut *= group->layout.dim[d].cut[c].size;
    return mw_mesh_axis_size(group->mesh, axis) / cut;
}

/* Why a tensor of the model is not cut over tp by the model's own plan. */
static void why_whole(const graph_state *g, const decoder_tensor *t, int64_t ranks, char *to,
                      size_t size)
{
    const decoder_config *c = &g->decoder;
    bool keys = t->size[0] == DECODER_SIZE_K || t->size[1] == DECODER_SIZE_K;
    if (keys && decoder_heads_over(c, ranks) == DECODER_HEADS_COPIED)
        (void)snprintf(to, size,
                       "%lld kv head%s over tp=%lld: ranks whose query heads share one "
                       "each have it",
                       (long long)c->kv_heads, c->kv_heads == 1 ? "" : "s", (long long)ranks);
    else if (t->size[0] == DECODER_SIZE_E)
        (void)snprintf(to, size, "every head is normed with the same weights");
    else if (t->role == DECODER_POOL || t->role == DECODER_TRANSFORM)
        (void)snprintf(to, size, "it works on the residual stream once, after the layers");
    else if (t->ndim == 1)
        (void)snprintf(to, size, "it works on the residual stream, which is whole on every rank");
    else
        (void)snprintf(to, size, "its rows are added to the residual stream, which is whole");
}

static void why_copied(const graph_state *g, const graph_group *group, const char *axis,
                       int64_t ranks, char *to, size_t size)
{
    decoder_tensor t;
    bool found = graph_tensor_find(g, group->key, &t), weight = graph_is_weight(group->name);
    if (strcmp(axis, "tp") != 0 && strcmp(axis, "dp") != 0)
        (void)snprintf(to, size, "nothing is split over %s: its ranks all compute the same", axis);
    else if (strcmp(axis, "dp") == 0 && weight)
        (void)snprintf(to, size, "each part of the batch needs all weights");
    else if (weight && !group->stated)
        (void)snprintf(to, size, "no annotation reaches it");
    else if (weight && g->s.args->value[OPT_plan])
        (void)snprintf(to, size, "%s says so", g->s.args->value[OPT_plan]);
    else if (weight && g->nstyle && (!found || !graph_tp_plan_style(g, t.role)))
        (void)snprintf(to, size, "no entry of tp_plan names it");
    else if (weight && g->nstyle)
        (void)snprintf(to, size, "tp_plan: %s", graph_tp_plan_style(g, t.role));
    else if (found)
        why_whole(g, &t, ranks, to, size);
    else if (weight)
        (void)snprintf(to, size, "the plan has it whole");
    else if (strstr(group->key, "keys") || strstr(group->key, "values"))
        (void)snprintf(to, size, "a cache lies as the projection that fills it");
    else
        (void)snprintf(to, size, "every rank needs all of it");
}

json_t *graph_copies(const graph_state *g)
{
    json_t *list = json_array();
    for (int a = 0; list && a < mw_mesh_axes(g->s.mesh); a++)
        for (int i = 0; i < g->ngroup; i++) {
            const graph_group *group = &g->group[i];
            const char *axis = mw_mesh_axis_name(g->s.mesh, a);
            int64_t copies = copies_over(group, a);
            if (copies == 1 || !group->bound) continue;
            char why[200];
            why_copied(g, group, axis, mw_mesh_axis_size(g->s.mesh, a), why, sizeof why);
            (void)json_array_append_new(
                list, json_pack("{s:s, s:I, s:s, s:I, s:I, s:s}", "name", group->key, "count",
                                (json_int_t)group->count, "axis", axis, "copies",
                                (json_int_t)copies, "bytes", (json_int_t)group->most, "why", why));
        }
    return list;
}
