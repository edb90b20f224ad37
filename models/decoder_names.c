/* The tensors of a model: their names as in the checkpoint, their shapes. */
#include "models/decoder.h"

#include <stdio.h>
#include <string.h>

/* ---- families ---------------------------------------------------------------------------------
 */

static const decoder_family families[] = {
#define FAMILY(type, names, stem, norm, switches) \
    {#type, stem, DECODER_NAMES_##names, DECODER_NORM_##norm, switches},
#include "models/families.def"
#undef FAMILY
};

int decoder_families(void)
{
    return (int)(sizeof families / sizeof families[0]);
}

const decoder_family *decoder_family_at(int index)
{
    return &families[index];
}

const decoder_family *decoder_family_find(const char *type)
{
    for (int i = 0; i < decoder_families(); i++)
        if (strcmp(families[i].type, type) == 0) return &families[i];
    return NULL;
}

/* The classes that a family's checkpoints may be of: the usual one first. */
static const struct {
    decoder_names names;
    const char *follows;
    decoder_top top;
} classes[] = {
    {DECODER_NAMES_llama, "ForCausalLM", DECODER_TOP_LM},
    {DECODER_NAMES_llama, "Model", DECODER_TOP_NONE},
    {DECODER_NAMES_gpt2, "LMHeadModel", DECODER_TOP_LM},
    {DECODER_NAMES_gpt2, "Model", DECODER_TOP_NONE},
    {DECODER_NAMES_bert, "ForMaskedLM", DECODER_TOP_MASKED},
    {DECODER_NAMES_bert, "Model", DECODER_TOP_NONE},
};

enum { CLASSES = sizeof classes / sizeof classes[0] };

bool decoder_top_find(const decoder_family *family, const char *class_name, decoder_top *ret)
{
    size_t n = strlen(family->stem);
    if (strncmp(class_name, family->stem, n) != 0) return false;
    for (int i = 0; i < CLASSES; i++)
        if (classes[i].names == family->names && strcmp(classes[i].follows, class_name + n) == 0) {
            *ret = classes[i].top;
            return true;
        }
    return false;
}

void decoder_classes(const decoder_family *family, char *to, int size)
{
    int at = 0;
    to[0] = 0;
    for (int i = 0; i < CLASSES && at < size; i++)
        if (classes[i].names == family->names)
            at += snprintf(to + at, (size_t)(size - at), "%s%s%s", at ? ", " : "", family->stem,
                           classes[i].follows);
}

decoder_top decoder_top_usual(const decoder_family *family)
{
    return family->names == DECODER_NAMES_bert ? DECODER_TOP_MASKED : DECODER_TOP_LM;
}

/* ---- names ------------------------------------------------------------------------------------
 */

/* A name that begins with `^` stands outside of the base. `%s`: the layer. */
static const char *const module_names[][DECODER_ROLE_COUNT] = {
    [DECODER_NAMES_llama] =
        {
            [DECODER_EMBED] = "embed_tokens",
            [DECODER_ATTN_NORM] = "layers.%s.input_layernorm",
            [DECODER_Q] = "layers.%s.self_attn.q_proj",
            [DECODER_K] = "layers.%s.self_attn.k_proj",
            [DECODER_V] = "layers.%s.self_attn.v_proj",
            [DECODER_Q_NORM] = "layers.%s.self_attn.q_norm",
            [DECODER_K_NORM] = "layers.%s.self_attn.k_norm",
            [DECODER_OUT] = "layers.%s.self_attn.o_proj",
            [DECODER_MLP_NORM] = "layers.%s.post_attention_layernorm",
            [DECODER_GATE] = "layers.%s.mlp.gate_proj",
            [DECODER_UP] = "layers.%s.mlp.up_proj",
            [DECODER_DOWN] = "layers.%s.mlp.down_proj",
            [DECODER_NORM] = "norm",
            [DECODER_HEAD] = "^lm_head",
        },
    [DECODER_NAMES_gpt2] =
        {
            [DECODER_EMBED] = "wte",
            [DECODER_POSITION] = "wpe",
            [DECODER_ATTN_NORM] = "h.%s.ln_1",
            [DECODER_QKV] = "h.%s.attn.c_attn",
            [DECODER_OUT] = "h.%s.attn.c_proj",
            [DECODER_MLP_NORM] = "h.%s.ln_2",
            [DECODER_UP] = "h.%s.mlp.c_fc",
            [DECODER_DOWN] = "h.%s.mlp.c_proj",
            [DECODER_NORM] = "ln_f",
            [DECODER_HEAD] = "^lm_head",
        },
    [DECODER_NAMES_bert] =
        {
            [DECODER_EMBED] = "embeddings.word_embeddings",
            [DECODER_POSITION] = "embeddings.position_embeddings",
            [DECODER_TYPE] = "embeddings.token_type_embeddings",
            [DECODER_EMBED_NORM] = "embeddings.LayerNorm",
            [DECODER_Q] = "encoder.layer.%s.attention.self.query",
            [DECODER_K] = "encoder.layer.%s.attention.self.key",
            [DECODER_V] = "encoder.layer.%s.attention.self.value",
            [DECODER_OUT] = "encoder.layer.%s.attention.output.dense",
            [DECODER_ATTN_NORM] = "encoder.layer.%s.attention.output.LayerNorm",
            [DECODER_UP] = "encoder.layer.%s.intermediate.dense",
            [DECODER_DOWN] = "encoder.layer.%s.output.dense",
            [DECODER_MLP_NORM] = "encoder.layer.%s.output.LayerNorm",
            [DECODER_POOL] = "pooler.dense",
            [DECODER_TRANSFORM] = "^cls.predictions.transform.dense",
            [DECODER_TRANSFORM_NORM] = "^cls.predictions.transform.LayerNorm",
            [DECODER_HEAD] = "^cls.predictions.decoder",
        },
};

const char *decoder_base(const decoder_config *c)
{
    static const char *const base[] = {[DECODER_NAMES_llama] = "model.",
                                       [DECODER_NAMES_gpt2] = "transformer.",
                                       [DECODER_NAMES_bert] = "bert."};
    return c->top == DECODER_TOP_NONE ? "" : base[c->family->names];
}

/* ---- which there are --------------------------------------------------------------------------
 */

static const struct {
    bool layered;
    decoder_size rows, cols;
} roles[] = {
#define X(role, layered, rows, cols) {layered, DECODER_SIZE_##rows, DECODER_SIZE_##cols},
    DECODER_ROLES(X)
#undef X
};

bool decoder_role_layered(decoder_role role)
{
    return roles[role].layered;
}

static bool has_bias(const decoder_config *c, decoder_role role)
{
    switch (role) {
    case DECODER_EMBED:
    case DECODER_POSITION:
    case DECODER_TYPE:
        return false;
    case DECODER_HEAD: /* BERT's, on top of the tied weight */
        return c->top == DECODER_TOP_MASKED;
    case DECODER_QKV:
    case DECODER_Q:
    case DECODER_K:
    case DECODER_V:
        return c->qkv_bias;
    case DECODER_OUT:
        return c->out_bias;
    case DECODER_GATE:
    case DECODER_UP:
    case DECODER_DOWN:
        return c->mlp_bias;
    default: /* norms, and BERT's tops */
        return c->family->norm == DECODER_NORM_LAYER;
    }
}

bool decoder_has(const decoder_config *c, decoder_role role, bool bias)
{
    int switches = c->family->switches;
    if (!module_names[c->family->names][role]) return false;
    if (bias && !has_bias(c, role)) return false;
    switch (role) {
    case DECODER_Q_NORM:
    case DECODER_K_NORM:
        return switches & DECODER_HEAD_NORMS;
    case DECODER_HEAD:
        return c->top != DECODER_TOP_NONE && (bias || !c->tied);
    case DECODER_POOL:
        return c->top == DECODER_TOP_NONE;
    case DECODER_TRANSFORM:
    case DECODER_TRANSFORM_NORM:
        return c->top == DECODER_TOP_MASKED;
    default:
        return true;
    }
}

/* ---- one of them ------------------------------------------------------------------------------
 */

static int64_t size_of(const decoder_config *c, decoder_size size)
{
    switch (size) {
    case DECODER_SIZE_D:
        return c->dim;
    case DECODER_SIZE_V:
        return c->vocab;
    case DECODER_SIZE_P:
        return c->context;
    case DECODER_SIZE_T:
        return c->types;
    case DECODER_SIZE_E:
        return c->head_dim;
    case DECODER_SIZE_Q:
        return c->heads * c->head_dim;
    case DECODER_SIZE_K:
        return c->kv_heads * c->head_dim;
    case DECODER_SIZE_QKV:
        return 3 * c->heads * c->head_dim;
    case DECODER_SIZE_F:
        return c->hidden;
    default:
        return 1;
    }
}

static bool transposed(const decoder_config *c, decoder_role role)
{
    return (c->family->switches & DECODER_FUSED) && roles[role].layered &&
           roles[role].cols != DECODER_SIZE_NONE;
}

decoder_tensor decoder_tensor_of(const decoder_config *c, decoder_role role, bool bias,
                                 int64_t layer)
{
    char number[24] = "*", own[96];
    const char *text = module_names[c->family->names][role], *percent = strstr(text, "%s");
    bool top = text[0] == '^';
    decoder_tensor t = {.role = role,
                        .layer = layer,
                        .bias = bias,
                        .transposed = !bias && transposed(c, role),
                        .size = {roles[role].rows, roles[role].cols}};
    if (layer >= 0) (void)snprintf(number, sizeof number, "%lld", (long long)layer);
    if (percent)
        (void)snprintf(own, sizeof own, "%.*s%s%s", (int)(percent - text), text, number,
                       percent + 2);
    else
        (void)snprintf(own, sizeof own, "%s", text + top);
    (void)snprintf(t.module, sizeof t.module, "%s%s", top ? "" : decoder_base(c), own);
    (void)snprintf(t.name, sizeof t.name, "%s.%s", t.module, bias ? "bias" : "weight");
    if (bias && role == DECODER_HEAD) (void)snprintf(t.name, sizeof t.name, "cls.predictions.bias");
    if (bias) t.size[1] = DECODER_SIZE_NONE;
    if (t.transposed) {
        t.size[0] = roles[role].cols;
        t.size[1] = roles[role].rows;
    }
    t.ndim = t.size[1] == DECODER_SIZE_NONE ? 1 : 2;
    for (int d = 0; d < 2; d++)
        t.shape[d] = size_of(c, t.size[d]);
    return t;
}
