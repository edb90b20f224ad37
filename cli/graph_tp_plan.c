/* tp_plan of Transformers: modules and the style in which each is split.
 *
 *     "base_model_tp_plan": {"layers.*.self_attn.q_proj": "colwise", ...}      names below the base
 *     "tp_plan": {"lm_head": "colwise_rep"}                                    names below the
 * model
 *
 * A style cuts a weight in equal parts over axis tp, whatever its rows mean: colwise its rows (what
 * comes out), rowwise its columns (what is summed over); of an embedding rowwise is the vocabulary.
 * What no entry names is whole on every rank. */
#include "cli/graph.h"

#include <stdio.h>
#include <string.h>

typedef enum cut { NOTHING, ROWS, COLUMNS } cut;

static const struct {
    const char *name;
    cut cut;
    int packed;
} styles[] = {
#define STYLE(name, cut, packed) {#name, cut, packed},
#include "cli/tp_styles.def"
#undef STYLE
};

enum { STYLES = sizeof styles / sizeof styles[0] };

/* ---- reading ----------------------------------------------------------------------------------
 */

static int style_named(const char *name)
{
    for (int i = 0; i < STYLES; i++)
        if (strcmp(styles[i].name, name) == 0) return i;
    return -1;
}

static mw_status unknown_style(const graph_state *g, const char *field, const char *module,
                               json_t *value)
{
    char known[512];
    int n = 0;
    for (int i = 0; i < STYLES; i++)
        n += snprintf(known + n, sizeof known - (size_t)n, "%s%s", i ? ", " : "", styles[i].name);
    return mw_error_set(MW_ERR_FORMAT, "%s: %s: %.80s is %s%.40s%s: expected one of %s", g->path,
                        field, module, json_is_string(value) ? "\"" : "",
                        json_is_string(value) ? json_string_value(value) : "no text",
                        json_is_string(value) ? "\"" : "", known);
}

/* The role of the module that an entry names, below the base or as a whole. */
static bool role_of(const graph_state *g, const char *module, decoder_role *ret)
{
    char key[128], whole[192];
    graph_key(module, key, sizeof key);
    (void)snprintf(whole, sizeof whole, "%s%s", decoder_base(&g->decoder), key);
    for (int r = 0; r < DECODER_ROLE_COUNT; r++) {
        bool bias = !decoder_has(&g->decoder, (decoder_role)r, false);
        if (bias && !decoder_has(&g->decoder, (decoder_role)r, true)) continue;
        decoder_tensor t = decoder_tensor_of(&g->decoder, (decoder_role)r, bias, -1);
        if (strcmp(t.module, key) != 0 && strcmp(t.module, whole) != 0) continue;
        *ret = (decoder_role)r;
        return true;
    }
    return false;
}

static mw_status read_entry(graph_state *g, const char *field, const char *module, json_t *value)
{
    decoder_role role;
    char text[200];
    int style = json_is_string(value) ? style_named(json_string_value(value)) : -1;
    if (style < 0) return unknown_style(g, field, module, value);
    bool head = strcmp(module, "lm_head") == 0 && g->decoder.tied;
    if (!head && !role_of(g, module, &role)) {
        bool container = styles[style].cut == NOTHING; /* "layers.*.mlp": no weight of its own */
        (void)snprintf(text, sizeof text, "%s: the model has no module %.80s", field, module);
        if (!container) session_note(&g->s, text);
        return MW_OK;
    }
    if (head) role = DECODER_HEAD;
    if (g->nstyle == GRAPH_STYLES)
        return mw_error_set(MW_ERR_FORMAT, "%s: %s has more than %d entries", g->path, field,
                            GRAPH_STYLES);
    graph_style *to = &g->style[g->nstyle++];
    decoder_tensor t =
        decoder_tensor_of(&g->decoder, role, !decoder_has(&g->decoder, role, false), -1);
    (void)snprintf(to->module, sizeof to->module, "%s", t.module);
    (void)snprintf(to->style, sizeof to->style, "%s", styles[style].name);
    return MW_OK;
}

mw_status graph_tp_plan_read(graph_state *g, json_t *root)
{
    static const char *const fields[] = {"tp_plan", "_tp_plan", "base_model_tp_plan"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        json_t *plan = json_object_get(root, fields[i]), *value;
        const char *module;
        if (!plan || json_is_null(plan)) continue;
        if (json_is_string(plan) && strcmp(json_string_value(plan), "auto") == 0) continue;
        if (!json_is_object(plan))
            return mw_error_set(MW_ERR_FORMAT, "%s: %s is no object of modules and styles", g->path,
                                fields[i]);
        json_object_foreach(plan, module, value)
        {
            mw_status status = read_entry(g, fields[i], module, value);
            if (status != MW_OK) return status;
        }
    }
    return MW_OK;
}

const char *graph_tp_plan_style(const graph_state *g, decoder_role role)
{
    decoder_tensor t =
        decoder_tensor_of(&g->decoder, role, !decoder_has(&g->decoder, role, false), -1);
    for (int i = 0; i < g->nstyle; i++)
        if (strcmp(g->style[i].module, t.module) == 0) return g->style[i].style;
    return NULL;
}

/* ---- as a plan --------------------------------------------------------------------------------
 */

static bool embeds(decoder_role role)
{
    return role == DECODER_EMBED || role == DECODER_POSITION || role == DECODER_TYPE;
}

/* The dim of the tensor, as it is stored, that the style cuts; -1: none. */
static int cut_dim(const decoder_tensor *t, int style)
{
    if (style < 0 || styles[style].cut == NOTHING) return -1;
    bool rows = styles[style].cut == ROWS;
    if (t->bias || t->ndim == 1) return rows && t->bias ? 0 : -1;
    return (embeds(t->role) ? !rows : rows) ^ t->transposed ? 0 : 1;
}

/* A style that parts a head is told. */
static void note_heads(graph_state *g, const decoder_tensor *t, int dim, int64_t ranks)
{
    const decoder_config *c = &g->decoder;
    decoder_size size = t->size[dim];
    int64_t heads = size == DECODER_SIZE_Q || size == DECODER_SIZE_QKV ? c->heads
                    : size == DECODER_SIZE_K                           ? c->kv_heads
                                                                       : 0;
    char text[200];
    if (t->bias || heads == 0 || heads % ranks == 0) return;
    (void)snprintf(text, sizeof text,
                   "tp_plan cuts %s in %lld equal parts: its %lld heads of %lld are cut inside",
                   t->module, (long long)ranks, (long long)heads, (long long)c->head_dim);
    session_note(&g->s, text);
}

mw_status graph_tp_plan_text(graph_state *g, char *to, int size)
{
    int n = 0, axis = mw_mesh_axis_find(g->s.mesh, "tp", 2);
    int64_t ranks = axis < 0 ? 1 : mw_mesh_axis_size(g->s.mesh, axis);
    to[0] = 0;
    for (int i = 0; i < 2 * DECODER_ROLE_COUNT; i++) {
        decoder_role role = (decoder_role)(i / 2);
        if (!decoder_has(&g->decoder, role, i % 2)) continue;
        decoder_tensor t = decoder_tensor_of(&g->decoder, role, i % 2, -1);
        const char *name = graph_tp_plan_style(g, role);
        int style = name ? style_named(name) : -1, dim = axis < 0 ? -1 : cut_dim(&t, style);
        if (dim >= 0) note_heads(g, &t, dim, ranks);
        n += snprintf(to + n, (size_t)(size - n), "%s: [", t.name);
        for (int d = 0; d < t.ndim; d++) {
            bool packed = d == dim && !styles[style].packed && t.size[d] == DECODER_SIZE_QKV;
            long long all = (long long)t.shape[d];
            n += snprintf(to + n, (size_t)(size - n), "%s%s%lld%s", d ? ", " : "",
                          packed ? "3·" : "", packed ? all / 3 : all, d == dim ? "@tp" : "");
        }
        n += snprintf(to + n, (size_t)(size - n), "]\n");
    }
    return MW_OK;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static bool lies(const graph_group *group, int dim)
{
    int64_t shape[MW_LAYOUT_DIMS];
    char text[128];
    int n = 0;
    mw_layout plain;
    mw_layout_shape(&group->layout, shape);
    n += snprintf(text, sizeof text, "%s[", mw_dtype_name((mw_dtype)group->layout.dtype));
    for (int d = 0; d < group->layout.ndim; d++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld%s", d ? ", " : "",
                      (long long)shape[d], d == dim ? "@tp" : "");
    (void)snprintf(text + n, sizeof text - (size_t)n, "]");
    if (mw_layout_parse(group->mesh, text, &plain) != MW_OK) return false;
    mw_layout closed = group->layout;
    for (int d = 0; d < closed.ndim; d++)
        closed.dim[d].open = 0;
    return mw_layout_equal(&plain, &closed);
}

/* Is it the weight of an embedding, is it stored [in, out]? Of a file's model by its name. */
static void kind_of(const graph_state *g, const graph_group *group, bool *embedding,
                    bool *transposed)
{
    decoder_tensor t;
    bool found = graph_tensor_find(g, group->key, &t);
    *embedding = found ? embeds(t.role) : strcmp(group->key, "token_embd.weight") == 0;
    *transposed = found && t.transposed;
}

/* What was read of a weight that is whole, and is not said by leaving it out. */
static const char *style_of_whole(const graph_state *g, const graph_group *group)
{
    decoder_tensor t;
    const char *style =
        graph_tensor_find(g, group->key, &t) ? graph_tp_plan_style(g, t.role) : NULL;
    return style && strcmp(style, "sequence_parallel") == 0 ? style : NULL;
}

/* The style under which a weight lies as it does: NULL: whole, or with `ret_why`: none. */
static const char *style_of(const graph_state *g, const graph_group *group, char *ret_why,
                            size_t size)
{
    bool embedding, transposed;
    kind_of(g, group, &embedding, &transposed);
    ret_why[0] = 0;
    if (lies(group, -1)) return style_of_whole(g, group);
    if (group->layout.ndim == 2 && lies(group, 0))
        return embedding != transposed ? "rowwise" : "colwise";
    if (group->layout.ndim == 2 && lies(group, 1))
        return embedding != transposed ? "colwise" : "rowwise";
    char text[512];
    (void)mw_layout_print(group->mesh, &group->layout, text, sizeof text);
    (void)snprintf(ret_why, size,
                   "%s is no cut in equal parts over tp, which is all that tp_plan "
                   "can say",
                   text);
    return NULL;
}

static bool is_top(const graph_state *g, const char *module)
{
    const char *base = decoder_base(&g->decoder);
    return g->is_config ? strncmp(module, base, strlen(base)) != 0 : strcmp(module, "output") == 0;
}

json_t *graph_tp_plan_object(const graph_state *g)
{
    json_t *base = json_object(), *top = json_object(), *rows = json_array();
    for (int i = 0; i < g->ngroup && base && top && rows; i++) {
        const graph_group *group = &g->group[i];
        char module[128], why[640];
        size_t n = strlen(group->key);
        if (n < 8 || strcmp(group->key + n - 7, ".weight") != 0) continue;
        (void)snprintf(module, sizeof module, "%.*s", (int)(n - 7), group->key);
        const char *style = style_of(g, group, why, sizeof why);
        if (why[0])
            (void)json_array_append_new(
                rows, json_pack("{s:s, s:n, s:s}", "name", module, "text", "why", why));
        if (!style) continue;
        bool above = is_top(g, module);
        if (above && strcmp(style, "colwise") == 0) style = "colwise_rep"; /* its users want all */
        const char *name =
            above || !g->is_config ? module : module + strlen(decoder_base(&g->decoder));
        (void)json_object_set_new(above ? top : base, name, json_string(style));
        (void)json_array_append_new(rows, json_pack("{s:s, s:s}", "name", module, "text", style));
    }
    return json_pack("{s:i, s:s, s:o, s:o, s:o}", "schema", 1, "to", "tp_plan",
                     "base_model_tp_plan", base, "tp_plan", top, "tensors", rows);
}

int graph_tp_plan_print(json_t *object)
{
    size_t i;
    json_t *row, *both = json_pack("{s:O, s:O}", "base_model_tp_plan",
                                   json_object_get(object, "base_model_tp_plan"), "tp_plan",
                                   json_object_get(object, "tp_plan"));
    if (!both || json_dumpf(both, stdout, JSON_INDENT(2)) != 0) {
        json_decref(both);
        return EXIT_FILE;
    }
    json_decref(both);
    (void)putchar('\n');
    json_array_foreach(json_object_get(object, "tensors"), i, row)
    {
        const char *why = json_string_value(json_object_get(row, "why"));
        if (why)
            (void)fprintf(stderr, "note: %s: %s\n", json_string_value(json_object_get(row, "name")),
                          why);
    }
    return 0;
}
