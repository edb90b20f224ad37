/* The sizes in a config.json of Transformers: what each family calls them, what holds where they
 * are not stated, and whether they fit together. */
#include "cli/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* FIELD(member, names in order of preference by family, least, what holds if it is not there). */
typedef struct field {
    size_t at; /* of an int64_t in decoder_config */
    const char *name[3];
    int64_t most, absent; /* absent 0: it must be there */
} field;

enum { LARGEST = 1 << 30, MOST_LAYERS = 4096, FROM_HEADS = -1, FROM_KV = -2, FROM_DIM = -3 };

#define AT(member) offsetof(decoder_config, member)
static const field usual[] = {
    {AT(layers), {"num_hidden_layers"}, MOST_LAYERS, 0},
    {AT(dim), {"hidden_size"}, LARGEST, 0},
    {AT(heads), {"num_attention_heads"}, LARGEST, 0},
    {AT(kv_heads), {"num_key_value_heads"}, LARGEST, FROM_HEADS},
    {AT(head_dim), {"head_dim"}, LARGEST, FROM_KV},
    {AT(hidden), {"intermediate_size"}, LARGEST, 0},
    {AT(vocab), {"vocab_size"}, LARGEST, 0},
    {AT(context), {"max_position_embeddings"}, LARGEST, 0},
};
static const field gpt2[] = {
    {AT(layers), {"n_layer", "num_hidden_layers"}, MOST_LAYERS, 0},
    {AT(dim), {"n_embd", "hidden_size"}, LARGEST, 0},
    {AT(heads), {"n_head", "num_attention_heads"}, LARGEST, 0},
    {AT(hidden), {"n_inner"}, LARGEST, FROM_DIM},
    {AT(vocab), {"vocab_size"}, LARGEST, 0},
    {AT(context), {"n_positions", "n_ctx", "max_position_embeddings"}, LARGEST, 0},
};
static const field bert[] = {
    {AT(layers), {"num_hidden_layers"}, MOST_LAYERS, 0},
    {AT(dim), {"hidden_size"}, LARGEST, 0},
    {AT(heads), {"num_attention_heads"}, LARGEST, 0},
    {AT(hidden), {"intermediate_size"}, LARGEST, 0},
    {AT(vocab), {"vocab_size"}, LARGEST, 0},
    {AT(context), {"max_position_embeddings"}, LARGEST, 0},
    {AT(types), {"type_vocab_size"}, LARGEST, 2},
};

/* ---- one field --------------------------------------------------------------------------------
 */

static json_t *find(json_t *root, const char *const *names, int n, const char **ret_name)
{
    for (int i = 0; i < n && names[i]; i++) {
        json_t *value = json_object_get(root, names[i]);
        if (!value || json_is_null(value)) continue;
        *ret_name = names[i];
        return value;
    }
    *ret_name = names[0];
    return NULL;
}

static void value_text(json_t *value, char *to, size_t size)
{
    size_t n = json_dumpb(value, to, size - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    to[n < size ? n : size - 1] = 0;
}

static mw_status wrong(const graph_state *g, const char *name, json_t *value, const char *expected)
{
    char text[80];
    value_text(value, text, sizeof text);
    return mw_error_set(MW_ERR_FORMAT, "%s: %s is %s: expected %s", g->path, name, text, expected);
}

static mw_status read_integer(const graph_state *g, json_t *root, const field *f, int64_t *to)
{
    const char *name;
    json_t *value = find(root, f->name, 3, &name);
    if (!value && f->absent) {
        *to = f->absent;
        return MW_OK;
    }
    if (!value)
        return mw_error_set(MW_ERR_FORMAT, "%s: %s is missing, which a %s model needs", g->path,
                            name, g->decoder.family->type);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "a whole number from 1 to %lld", (long long)f->most);
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > f->most)
        return wrong(g, name, value, expected);
    *to = json_integer_value(value);
    return MW_OK;
}

static mw_status read_number(const graph_state *g, json_t *root, const char *name, double absent,
                             double *to)
{
    json_t *value = json_object_get(root, name);
    *to = absent;
    if (!value || json_is_null(value)) return MW_OK;
    *to = json_number_value(value);
    if (json_is_number(value) && isfinite(*to) && *to > 0) return MW_OK;
    return wrong(g, name, value, "a number above 0");
}

static mw_status read_flag(const graph_state *g, json_t *root, const char *name, bool absent,
                           bool *to)
{
    json_t *value = json_object_get(root, name);
    *to = absent;
    if (!value || json_is_null(value)) return MW_OK;
    *to = json_is_true(value);
    return json_is_boolean(value) ? MW_OK : wrong(g, name, value, "true or false");
}

/* ---- which model ------------------------------------------------------------------------------
 */

static mw_status unknown(const graph_state *g, const char *name, const char *is)
{
    char known[256];
    int n = 0;
    for (int i = 0; i < decoder_families(); i++)
        n += snprintf(known + n, sizeof known - (size_t)n, "%s%s", i ? ", " : "",
                      decoder_family_at(i)->type);
    return mw_error_set(MW_ERR_FORMAT, "%s: %s is \"%.60s\", which is not known; known are %s",
                        g->path, name, is, known);
}

/* The only class that the file names, or NULL. */
static mw_status class_of(const graph_state *g, json_t *root, const char **ret)
{
    json_t *list = json_object_get(root, "architectures");
    *ret = NULL;
    if (!list || json_is_null(list) || (json_is_array(list) && json_array_size(list) == 0))
        return MW_OK;
    *ret = json_string_value(json_array_get(list, 0));
    return *ret ? MW_OK : wrong(g, "architectures", list, "a list of the names of classes");
}

static const decoder_family *family_of_class(const char *class_name)
{
    decoder_top top;
    for (int i = 0; i < decoder_families(); i++)
        if (decoder_top_find(decoder_family_at(i), class_name, &top)) return decoder_family_at(i);
    return NULL;
}

static mw_status read_family(graph_state *g, json_t *root)
{
    decoder_config *c = &g->decoder;
    const char *class_name;
    json_t *type = json_object_get(root, "model_type");
    mw_status status = class_of(g, root, &class_name);
    if (status != MW_OK) return status;
    if (type && !json_is_null(type) && !json_is_string(type))
        return wrong(g, "model_type", type, "the name of a family");
    if (json_is_string(type)) {
        c->family = decoder_family_find(json_string_value(type));
        if (!c->family) return unknown(g, "model_type", json_string_value(type));
    } else if (class_name) {
        c->family = family_of_class(class_name);
        if (!c->family) return unknown(g, "architectures", class_name);
    } else {
        return mw_error_set(MW_ERR_FORMAT,
                            "%s: neither model_type nor architectures says which model it is",
                            g->path);
    }
    c->top = decoder_top_usual(c->family);
    if (!class_name || decoder_top_find(c->family, class_name, &c->top)) return MW_OK;
    char known[200];
    decoder_classes(c->family, known, sizeof known);
    return mw_error_set(MW_ERR_FORMAT, "%s: architectures is \"%.60s\": of a %s model %s are known",
                        g->path, class_name, c->family->type, known);
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

static mw_status read_act(graph_state *g, json_t *root)
{
    static const struct {
        const char *name;
        decoder_act act;
    } acts[] = {
        {"silu", DECODER_SILU},           {"swish", DECODER_SILU},
        {"gelu", DECODER_GELU},           {"gelu_python", DECODER_GELU},
        {"gelu_new", DECODER_GELU_TANH},  {"gelu_pytorch_tanh", DECODER_GELU_TANH},
        {"gelu_fast", DECODER_GELU_TANH}, {"relu", DECODER_RELU},
    };
    static const char *const names[] = {"hidden_activation", "hidden_act", "activation_function"};
    static const char *const absent[] = {[DECODER_NAMES_llama] = "silu",
                                         [DECODER_NAMES_gpt2] = "gelu_new",
                                         [DECODER_NAMES_bert] = "gelu"};
    const decoder_family *family = g->decoder.family;
    const char *name, *text = absent[family->names];
    json_t *value = find(root, names, 3, &name);
    if (family->switches & DECODER_SCALED) text = "gelu_pytorch_tanh";
    if (value) text = json_string_value(value);
    for (size_t i = 0; text && i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(acts[i].name, text) == 0) {
            g->decoder.act = acts[i].act;
            /* Gemma's first files say gelu and mean the other */
            if ((family->switches & DECODER_SCALED) && acts[i].act == DECODER_GELU)
                g->decoder.act = DECODER_GELU_TANH;
            return MW_OK;
        }
    return wrong(g, name, value, "silu, gelu, gelu_new, gelu_pytorch_tanh or relu");
}

static mw_status read_dtype(graph_state *g, json_t *root)
{
    static const char *const names[] = {"dtype", "torch_dtype"};
    const char *name;
    json_t *value = find(root, names, 2, &name);
    g->decoder.dtype = MW_DTYPE_f32;
    if (g->s.args->value[OPT_dtype])
        g->decoder.dtype = g->s.dtype;
    else if (json_is_string(value))
        g->decoder.dtype = mw_dtype_read(json_string_value(value), (int)json_string_length(value));
    else if (value)
        g->decoder.dtype = MW_DTYPE_NONE;
    if (g->decoder.dtype == MW_DTYPE_NONE || mw_dtype_kind_of(g->decoder.dtype) != MW_KIND_FLOAT)
        return wrong(g, name, value, "float32, bfloat16 or float16");
    return MW_OK;
}

static mw_status read_base(const graph_state *g, json_t *root, double *to)
{
    json_t *nested = json_object_get(root, "rope_parameters"); /* where newer files have it */
    if (json_is_object(nested) && json_object_get(nested, "rope_theta")) root = nested;
    return read_number(g, root, "rope_theta", 10000, to);
}

static mw_status read_switches(graph_state *g, json_t *root)
{
    decoder_config *c = &g->decoder;
    int switches = c->family->switches;
    bool attention = false, all = switches & DECODER_BIAS;
    bool tied = c->family->names != DECODER_NAMES_llama || (switches & DECODER_SCALED);
    const char *eps = c->family->names == DECODER_NAMES_llama  ? "rms_norm_eps"
                      : c->family->names == DECODER_NAMES_gpt2 ? "layer_norm_epsilon"
                                                               : "layer_norm_eps";
    mw_status status = read_flag(g, root, "tie_word_embeddings", tied, &c->tied);
    if (status == MW_OK) status = read_flag(g, root, "attention_bias", all, &attention);
    if (status == MW_OK) status = read_flag(g, root, "mlp_bias", all, &c->mlp_bias);
    if (status == MW_OK) status = read_number(g, root, eps, 1e-6, &c->norm_eps);
    if (status == MW_OK) status = read_base(g, root, &c->rope_base);
    c->qkv_bias = attention || (switches & DECODER_QKV_BIAS);
    c->out_bias = attention;
    return status;
}

/* What is not stated follows from the rest. */
static void complete(decoder_config *c)
{
    if (c->kv_heads == FROM_HEADS || c->family->names != DECODER_NAMES_llama)
        c->kv_heads = c->heads;
    if (c->hidden == FROM_DIM) c->hidden = 4 * c->dim;
    if (c->head_dim > 0) return;
    c->head_dim = c->dim / c->heads;
    if (c->family->switches & DECODER_SCALED) c->head_dim = 256;     /* Gemma's own */
    if (c->family->switches & DECODER_HEAD_NORMS) c->head_dim = 128; /* Qwen3's */
}

static mw_status check(const graph_state *g, bool stated)
{
    const decoder_config *c = &g->decoder;
    bool gpt = c->family->names == DECODER_NAMES_gpt2;
    const char *heads = gpt ? "n_head" : "num_attention_heads";
    if (c->heads % c->kv_heads)
        return mw_error_set(MW_ERR_FORMAT,
                            "%s: %s (%lld) is no multiple of num_key_value_heads (%lld)", g->path,
                            heads, (long long)c->heads, (long long)c->kv_heads);
    bool follows = !(c->family->switches & (DECODER_SCALED | DECODER_HEAD_NORMS));
    if (!stated && follows && c->dim % c->heads)
        return mw_error_set(
            MW_ERR_FORMAT, "%s: %s (%lld) is no multiple of %s (%lld)%s", g->path,
            gpt ? "n_embd" : "hidden_size", (long long)c->dim, heads, (long long)c->heads,
            c->family->names == DECODER_NAMES_llama ? ", and head_dim is missing" : "");
    if ((c->family->switches & DECODER_ROTATES) && c->head_dim % 2)
        return mw_error_set(MW_ERR_FORMAT,
                            "%s: head_dim is %lld: heads are rotated in pairs of elements", g->path,
                            (long long)c->head_dim);
    if (c->head_dim > LARGEST / c->heads)
        return mw_error_set(MW_ERR_FORMAT, "%s: %s (%lld) times head_dim (%lld) is too large",
                            g->path, heads, (long long)c->heads, (long long)c->head_dim);
    return MW_OK;
}

/* What changes values and not where anything lies, or what is not worked out here. */
static mw_status note_rest(graph_state *g, json_t *root)
{
    json_t *window = json_object_get(root, "sliding_window");
    bool used = !json_is_false(json_object_get(root, "use_sliding_window"));
    json_t *kind = json_object_get(root, "position_embedding_type");
    char text[200];
    if (json_is_integer(window) && used &&
        json_integer_value(window) < (json_int_t)g->decoder.context) {
        (void)snprintf(text, sizeof text,
                       "sliding_window %lld is not applied: the cache holds every position",
                       (long long)json_integer_value(window));
        session_note(&g->s, text);
    }
    if (json_is_object(json_object_get(root, "quantization_config"))) {
        (void)snprintf(text, sizeof text,
                       "quantization_config is not applied: weights are counted as %s",
                       mw_dtype_name(g->decoder.dtype));
        session_note(&g->s, text);
    }
    if (json_is_string(kind) && strcmp(json_string_value(kind), "absolute") != 0)
        return wrong(g, "position_embedding_type", kind, "absolute");
    if (json_is_true(json_object_get(root, "is_decoder")) &&
        (g->decoder.family->switches & DECODER_BOTH_WAYS))
        return wrong(g, "is_decoder", json_object_get(root, "is_decoder"), "false");
    json_t *part = json_object_get(root, "partial_rotary_factor");
    if (json_is_number(part) && json_number_value(part) != 1)
        return wrong(g, "partial_rotary_factor", part, "1");
    return MW_OK;
}

mw_status graph_fields_read(graph_state *g, json_t *root)
{
    decoder_config *c = &g->decoder;
    mw_status status = read_family(g, root);
    if (status != MW_OK) return status;
    const field *fields = usual;
    size_t n = sizeof usual / sizeof usual[0];
    if (c->family->names == DECODER_NAMES_gpt2) {
        fields = gpt2;
        n = sizeof gpt2 / sizeof gpt2[0];
    } else if (c->family->names == DECODER_NAMES_bert) {
        fields = bert;
        n = sizeof bert / sizeof bert[0];
    }
    for (size_t i = 0; i < n && status == MW_OK; i++) {
        int64_t value = 0;
        status = read_integer(g, root, &fields[i], &value);
        memcpy((char *)c + fields[i].at, &value, sizeof value);
    }
    if (status != MW_OK) return status;
    bool stated = c->head_dim > 0;
    complete(c);
    status = check(g, stated);
    if (status == MW_OK) status = read_act(g, root);
    if (status == MW_OK) status = read_dtype(g, root);
    if (status == MW_OK) status = read_switches(g, root);
    return status == MW_OK ? note_rest(g, root) : status;
}
