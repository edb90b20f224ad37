/* meshwise graph --to SYSTEM: how the parameters lie, in the words of the system where the model
 * really runs, to be pasted there. */
#include "cli/graph.h"

#include <meshwise/notation.h>
#include <stdio.h>
#include <string.h>

typedef struct target {
    const char *name;
    mw_notation notation;
    const char *before, *between, *after; /* a tensor's name and words stand between these */
    const char *remark;                   /* before a line that only people read */
} target;

static const target targets[] = {
    {"dtensor", MW_NOTATION_DTENSOR, "    \"", "\": [", "],", "#"},
    {"torch_xla", MW_NOTATION_SPEC, "xs.mark_sharding(params[\"", "\"], mesh, ", ")", "#"},
    {"jax", MW_NOTATION_SPEC, "    \"", "\": ", ",", "#"},
    {"shardy", MW_NOTATION_SDY, "", ": #sdy.sharding", "", "//"},
};

static const target *target_named(const char *name)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}

mw_status graph_export_check(const char *name)
{
    if (target_named(name) || strcmp(name, "plan") == 0 || strcmp(name, "tp_plan") == 0)
        return MW_OK;
    return mw_error_set(
        MW_ERR_ARG, "--to %.40s: expected plan, tp_plan, dtensor, torch_xla, jax or shardy", name);
}

/* ---- words ------------------------------------------------------------------------------------
 */

/* `S(0)R` as `Shard(0), Replicate()`. */
static void placements(const char *text, char *to, size_t size)
{
    static const struct {
        const char *word, *says;
    } words[] = {
        {"_S(", "_StridedShard("}, {"S(", "Shard("}, {"P(", "Partial("}, {"R", "Replicate("}};
    size_t n = 0;
    to[0] = 0;
    while (*text && n + 64 < size) {
        const char *says = "";
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !*says; i++)
            if (strncmp(text, words[i].word, strlen(words[i].word)) == 0) {
                says = words[i].says;
                text += strlen(words[i].word);
            }
        if (!*says) {
            text++;
            continue;
        }
        n += (size_t)snprintf(to + n, size - n, "%s%s", n ? ", " : "", says);
        bool partial = strcmp(says, "Partial(") == 0, plain = strcmp(says, "Replicate(") == 0;
        size_t inside = plain ? 0 : strcspn(text, ")");
        if (strcmp(says, "_StridedShard(") == 0) { /* `0, 4`: its second argument goes by name */
            size_t dim = strcspn(text, ",");
            if (dim < inside) {
                n += (size_t)snprintf(to + n, size - n, "%.*s, split_factor=", (int)dim, text);
                dim += 1 + strspn(text + dim + 1, " ");
                text += dim;
                inside -= dim;
            }
        }
        n += (size_t)snprintf(to + n, size - n, partial ? "\"%.*s\")" : "%.*s)", (int)inside, text);
        text += plain ? 0 : inside + (text[inside] == ')');
    }
}

/* `P('x', None)` as the tuple `('x', None)`. */
static void tuple(const char *text, char *to, size_t size)
{
    const char *open = strchr(text, '(');
    size_t n = (size_t)snprintf(to, size, "%s", open ? open : text);
    bool one = !strchr(to, ',') && n > 2 && n + 1 < size;
    if (one) (void)snprintf(to + n - 1, size - n + 1, ",)");
}

static void words_of(const target *t, const char *text, char *to, size_t size)
{
    if (t->notation == MW_NOTATION_DTENSOR)
        placements(text, to, size);
    else if (strcmp(t->name, "torch_xla") == 0)
        tuple(text, to, size);
    else
        (void)snprintf(to, size, "%s", text);
}

/* The rank at each place of the mesh, "0, 2, 1, 3"; empty where they stand in order. */
static void ids_of(const mw_mesh *mesh, char *text, size_t size)
{
    int coord[64] = {0}, axes = mw_mesh_axes(mesh);
    bool ordered = true;
    size_t n = 0;
    for (int i = 0; i < mw_mesh_ranks(mesh) && n + 16 < size; i++) {
        int rank = mw_mesh_rank_at(mesh, coord);
        ordered = ordered && rank == i;
        n += (size_t)snprintf(text + n, size - n, "%s%d", i ? ", " : "", rank);
        for (int a = axes - 1; a >= 0 && ++coord[a] == mw_mesh_axis_size(mesh, a); a--)
            coord[a] = 0;
    }
    if (ordered) text[0] = 0;
}

/* The mesh as that system makes it. NULL without memory. */
static json_t *mesh_words(const target *t, const mw_mesh *mesh)
{
    char sizes[256] = "", names[512] = "", sdy[512] = "";
    int n = mw_mesh_axes(mesh);
    for (int a = 0; a < n; a++) {
        const char *comma = a + 1 < n ? ", " : n == 1 ? "," : "", *plain = a + 1 < n ? ", " : "";
        size_t s = strlen(sizes), k = strlen(names), d = strlen(sdy);
        (void)snprintf(sizes + s, sizeof sizes - s, "%d%s", mw_mesh_axis_size(mesh, a), comma);
        (void)snprintf(names + k, sizeof names - k, "\"%s\"%s", mw_mesh_axis_name(mesh, a), comma);
        (void)snprintf(sdy + d, sizeof sdy - d, "\"%s\"=%d%s", mw_mesh_axis_name(mesh, a),
                       mw_mesh_axis_size(mesh, a), plain);
    }
    size_t room = 32 + 16 * (size_t)mw_mesh_ranks(mesh);
    char *ids = mw_memory(room);
    if (!ids) return NULL;
    ids_of(mesh, ids, room);
    bool ordered = !ids[0];
    json_t *o;
    if (strcmp(t->name, "dtensor") == 0)
        o = ordered ? json_sprintf("mesh = init_device_mesh(\"cuda\", (%s), mesh_dim_names=(%s))",
                                   sizes, names)
                    : json_sprintf("mesh = DeviceMesh(\"cuda\", torch.tensor([%s]).view(%s), "
                                   "mesh_dim_names=(%s))",
                                   ids, sizes, names);
    else if (strcmp(t->name, "torch_xla") == 0)
        o = ordered ? json_sprintf("mesh = xs.Mesh(np.arange(%d), (%s), (%s))", mw_mesh_ranks(mesh),
                                   sizes, names)
                    : json_sprintf("mesh = xs.Mesh(np.array([%s]), (%s), (%s))", ids, sizes, names);
    else if (strcmp(t->name, "jax") == 0)
        o = ordered ? json_sprintf("mesh = jax.make_mesh((%s), (%s))", sizes, names)
                    : json_sprintf("mesh = jax.sharding.Mesh(np.array(jax.devices())[[%s]].reshape"
                                   "((%s)), (%s))",
                                   ids, sizes, names);
    else
        o = ordered ? json_sprintf("sdy.mesh @mesh = <[%s]>", sdy)
                    : json_sprintf("sdy.mesh @mesh = <[%s], device_ids=[%s]>", sdy, ids);
    mw_memory_free(ids, room);
    return o;
}

/* ---- the page ---------------------------------------------------------------------------------
 */

static json_t *row_of(const target *t, const mw_parameter *p)
{
    mw_notation_text text;
    char words[1024];
    json_t *row;
    if (mw_notation_print(p->mesh, p->layout, t->notation, &text) != MW_OK) return NULL;
    if (text.text) {
        words_of(t, text.text, words, sizeof words);
        row = json_pack("{s:s, s:s}", "name", p->name, "text", words);
    } else {
        row = json_pack("{s:s, s:n, s:s}", "name", p->name, "text", "why", text.why);
    }
    mw_notation_text_done(&text);
    return row;
}

json_t *graph_export(const graph_state *g, const mw_graph *graph, const char *name)
{
    const target *t = target_named(name);
    if (strcmp(name, "tp_plan") == 0) return graph_tp_plan_object(g);
    if (strcmp(name, "plan") == 0)
        return json_pack("{s:i, s:s, s:s, s:o}", "schema", 1, "to", name, "mesh", g->s.mesh_text,
                         "text", graph_page(g, graph));
    json_t *rows = json_array();
    for (int i = 0; rows && i < mw_graph_parameters(graph); i++) {
        mw_parameter p = mw_graph_parameter(graph, i);
        json_t *row = row_of(t, &p);
        if (!row || json_array_append_new(rows, row) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:i, s:s, s:o, s:o}", "schema", 1, "to", t->name, "mesh",
                     mesh_words(t, g->s.mesh), "tensors", rows);
}

int graph_export_print(json_t *object)
{
    const char *to = json_string_value(json_object_get(object, "to"));
    const target *t = target_named(to);
    if (strcmp(to, "tp_plan") == 0) return graph_tp_plan_print(object);
    if (!t) {
        printf("%s", json_string_value(json_object_get(object, "text")));
        return 0;
    }
    bool dictionary = t->before[0] == ' ';
    size_t i;
    json_t *row;
    printf("%s\n", json_string_value(json_object_get(object, "mesh")));
    if (dictionary) printf("placements = {\n");
    json_array_foreach(json_object_get(object, "tensors"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "name"));
        const char *text = json_string_value(json_object_get(row, "text"));
        if (text)
            printf("%s%s%s%s%s\n", t->before, name, t->between, text, t->after);
        else
            printf("%s %s: %s\n", t->remark, name, json_string_value(json_object_get(row, "why")));
    }
    if (dictionary) printf("}\n");
    return 0;
}
