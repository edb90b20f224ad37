/* A transformer of one of several families, as Hugging Face's config.json describes them: its
 * sizes, the names and shapes of its tensors, a plan, and its program on the public ops.
 *
 * It is made to be looked at: on the fake backend its tensors have shapes and no data, so that a
 * model of any size can be captured on a mesh of any size. */
#ifndef MODELS_DECODER_H
#define MODELS_DECODER_H

#include "models/plan.h"

#include <meshwise/meshwise.h>
#include <stdbool.h>

/* ---- families (families.def) ----------------------------------------------------------------- */

enum {
    DECODER_ROTATES = 1 << 0,    /* positions turn queries and keys */
    DECODER_POSITIONS = 1 << 1,  /* positions have learned vectors */
    DECODER_TYPES = 1 << 2,      /* so have the parts of a text, and the sum is normed */
    DECODER_GATED = 1 << 3,      /* the MLP is down(act(gate x) * up x) */
    DECODER_QKV_BIAS = 1 << 4,   /* always; a config may add biases of its own */
    DECODER_BIAS = 1 << 5,       /* everywhere */
    DECODER_HEAD_NORMS = 1 << 6, /* queries and keys are normed by head */
    DECODER_SCALED = 1 << 7,     /* embeddings are times sqrt(D) */
    DECODER_FUSED = 1 << 8,      /* query, key, value are one weight; weights are [in, out] */
    DECODER_BOTH_WAYS = 1 << 9,  /* every token sees all others: there is no cache */
    DECODER_POST_NORM = 1 << 10  /* the sum is normed, not what is added to it */
};

typedef enum decoder_norm {
    DECODER_NORM_RMS,
    DECODER_NORM_RMS_PLUS_ONE, /* times 1 + weight */
    DECODER_NORM_LAYER         /* with bias */
} decoder_norm;

typedef enum decoder_names {
    DECODER_NAMES_llama,
    DECODER_NAMES_gpt2,
    DECODER_NAMES_bert
} decoder_names;

typedef struct decoder_family {
    const char *type, *stem;
    decoder_names names;
    decoder_norm norm;
    int switches;
} decoder_family;

int decoder_families(void);
const decoder_family *decoder_family_at(int index);
const decoder_family *decoder_family_find(const char *type); /* NULL: unknown */

/* What stands on top of the layers, by what follows the stem in the class's name. */
typedef enum decoder_top {
    DECODER_TOP_NONE,   /* Model */
    DECODER_TOP_LM,     /* ForCausalLM, LMHeadModel */
    DECODER_TOP_MASKED, /* ForMaskedLM */
} decoder_top;

/* The class's top, or false: the family has no such class. `text`: all that it has, for errors. */
bool decoder_top_find(const decoder_family *family, const char *class_name, decoder_top *ret);
void decoder_classes(const decoder_family *family, char *to, int size);
decoder_top decoder_top_usual(const decoder_family *family);

/* ---- sizes ------------------------------------------------------------------------------------
 */

typedef enum decoder_act {
    DECODER_SILU,
    DECODER_GELU,      /* exact */
    DECODER_GELU_TANH, /* gelu_new, gelu_pytorch_tanh, gelu_fast */
    DECODER_RELU
} decoder_act;

typedef struct decoder_config {
    const decoder_family *family;
    decoder_top top;
    int64_t layers, dim, heads, kv_heads, head_dim, hidden, vocab, context, types;
    double norm_eps, rope_base;
    decoder_act act;
    bool tied; /* the head is the embedding */
    bool qkv_bias, out_bias, mlp_bias;
    mw_dtype dtype; /* of weights and what is computed with them */
} decoder_config;

/* ---- tensors (decoder_names.c) ----------------------------------------------------------------
 * X(role, of each layer, rows, columns). Sizes are those of decoder_size; NONE: a vector. */
#define DECODER_ROLES(X)              \
    X(EMBED, false, V, D)             \
    X(POSITION, false, P, D)          \
    X(TYPE, false, T, D)              \
    X(EMBED_NORM, false, D, NONE)     \
    X(ATTN_NORM, true, D, NONE)       \
    X(QKV, true, QKV, D)              \
    X(Q, true, Q, D)                  \
    X(K, true, K, D)                  \
    X(V, true, K, D)                  \
    X(Q_NORM, true, E, NONE)          \
    X(K_NORM, true, E, NONE)          \
    X(OUT, true, D, Q)                \
    X(MLP_NORM, true, D, NONE)        \
    X(GATE, true, F, D)               \
    X(UP, true, F, D)                 \
    X(DOWN, true, D, F)               \
    X(NORM, false, D, NONE)           \
    X(POOL, false, D, D)              \
    X(TRANSFORM, false, D, D)         \
    X(TRANSFORM_NORM, false, D, NONE) \
    X(HEAD, false, V, D)

typedef enum decoder_role {
#define X(role, layered, rows, cols) DECODER_##role,
    DECODER_ROLES(X)
#undef X
        DECODER_ROLE_COUNT
} decoder_role;

typedef enum decoder_size {
    DECODER_SIZE_NONE,
    DECODER_SIZE_D,   /* the residual stream */
    DECODER_SIZE_V,   /* vocabulary */
    DECODER_SIZE_P,   /* positions */
    DECODER_SIZE_T,   /* types of tokens */
    DECODER_SIZE_E,   /* a head */
    DECODER_SIZE_Q,   /* all query heads */
    DECODER_SIZE_K,   /* all key heads */
    DECODER_SIZE_QKV, /* query, key and value heads */
    DECODER_SIZE_F    /* the MLP's hidden units */
} decoder_size;

/* One tensor of the model. */
typedef struct decoder_tensor {
    decoder_role role;
    int64_t layer; /* -1: of none */
    bool bias;
    bool transposed;             /* a weight [in, out] */
    char module[112], name[128]; /* "model.layers.0.mlp.up_proj", the same with ".weight" */
    int ndim;
    decoder_size size[2]; /* as stored */
    int64_t shape[2];
} decoder_tensor;

/* Does the model have this role's weight, its bias? Pure. */
bool decoder_has(const decoder_config *config, decoder_role role, bool bias);
bool decoder_role_layered(decoder_role role);
/* That tensor; `layer` -1 of a layered role: with `*` for the number. Pure. */
decoder_tensor decoder_tensor_of(const decoder_config *config, decoder_role role, bool bias,
                                 int64_t layer);
/* What stands before the names of the layers: "model.", or "". Pure. */
const char *decoder_base(const decoder_config *config);

/* ---- plans (decoder_plan.c) -------------------------------------------------------------------
 */

/* How the heads lie over axis tp of `n` ranks. */
typedef enum decoder_heads {
    DECODER_HEADS_GROUPS, /* by kv group: a kv head and the query heads that share it */
    DECODER_HEADS_COPIED  /* by query head; ranks whose query heads share a kv head each have it */
} decoder_heads;
decoder_heads decoder_heads_over(const decoder_config *config, int64_t n);

/* The plan over axis tp of `n` ranks (0: the mesh has none, all is whole). Its text, into `to`;
 * returns the length. Pure. */
int decoder_plan_text(const decoder_config *config, int64_t n, char *to, int size);

/* ---- the model (decoder.c) --------------------------------------------------------------------
 */

typedef struct decoder decoder;

/* What a step is. */
typedef struct decoder_step {
    int64_t batch, length; /* sequences; tokens of each */
    int64_t positions;     /* that the KV cache holds; 0: there is none */
    const char *ids;       /* the layout of the ids, "i64[2@dp, 1]" */
    const char *residual;  /* of the residual stream, "[2@dp, 1, 4096]" */
    const char *logits;    /* of the logits; NULL: as they come */
} decoder_step;

/* Tensors without data, which lie as the plan says. Everything belongs to the current scope;
 * decoder_close frees the rest. Local. Fails: MW_ERR_LAYOUT where the plan does not fit. */
MW_NODISCARD mw_status decoder_open(const decoder_config *config, const model_plan *plan,
                                    const decoder_step *step, decoder **ret);
void decoder_close(decoder *model); /* NULL is fine */

/* The step, to be captured: ids [B, T] (and positions [T] where there is a cache) in; logits of the
 * last token, or what the top gives, out. `user` is the decoder. */
mw_status decoder_function(void *user, mw_tensor *const *in, mw_tensor **out);
int decoder_results(const decoder_config *config); /* how many results it has */

#endif
