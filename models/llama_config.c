/* A LLaMA's sizes, read from a GGUF file's keys, and the plan that follows from them. */
#include "models/llama.h"

#include <stdio.h>
#include <string.h>

static mw_status integer(const mw_model_file *file, const char *key, int64_t *ret)
{
    mw_status status = mw_model_file_i64(file, key, ret);
    if (status != MW_OK) return status;
    enum { LARGEST = 1 << 30 };
    if (*ret >= 1 && *ret <= LARGEST) return MW_OK;
    return mw_error_set(MW_ERR_FORMAT, "%s: %s is %lld, which no model can have",
                        mw_model_file_path(file), key, (long long)*ret);
}

/* A key that may be missing, with what it then means. */
static mw_status integer_or(const mw_model_file *file, const char *key, int64_t absent,
                            int64_t *ret)
{
    *ret = absent;
    return mw_model_file_find(file, key) ? integer(file, key, ret) : MW_OK;
}

static mw_status check_architecture(const mw_model_file *file)
{
    mw_bytes name;
    mw_status status = mw_model_file_string(file, "general.architecture", &name);
    if (status != MW_OK) return status;
    if (name.length == 5 && memcmp(name.at, "llama", 5) == 0) return MW_OK;
    return mw_error_set(
        MW_ERR_UNSUPPORTED, "%s: a model of architecture '%.*s'; only llama can be run",
        mw_model_file_path(file), (int)(name.length < 40 ? name.length : 40), name.at);
}

static mw_status check_sizes(const mw_model_file *file, const llama_config *c)
{
    const char *path = mw_model_file_path(file);
    if (c->heads % c->kv_heads != 0)
        return mw_error_set(MW_ERR_FORMAT, "%s: %lld query heads can't share %lld kv heads evenly",
                            path, (long long)c->heads, (long long)c->kv_heads);
    if (c->head_dim % 2 != 0)
        return mw_error_set(MW_ERR_FORMAT, "%s: heads of %lld elements can't be rotated in pairs",
                            path, (long long)c->head_dim);
    return MW_OK;
}

mw_status llama_config_read(const mw_model_file *file, llama_config *ret)
{
    llama_config c = {0};
    const struct {
        const char *key;
        int64_t *to;
    } sizes[] = {
        {"llama.block_count", &c.layers},         {"llama.embedding_length", &c.dim},
        {"llama.feed_forward_length", &c.hidden}, {"llama.attention.head_count", &c.heads},
        {"llama.context_length", &c.context},
    };
    mw_status status = check_architecture(file);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == MW_OK; i++)
        status = integer(file, sizes[i].key, sizes[i].to);
    if (status == MW_OK)
        status = integer_or(file, "llama.attention.head_count_kv", c.heads, &c.kv_heads);
    if (status == MW_OK)
        status = integer_or(file, "llama.attention.key_length", c.dim / c.heads, &c.head_dim);
    if (status == MW_OK)
        status = mw_model_file_f64(file, "llama.attention.layer_norm_rms_epsilon", &c.norm_eps);
    c.rope_base = 10000;
    if (status == MW_OK && mw_model_file_find(file, "llama.rope.freq_base"))
        status = mw_model_file_f64(file, "llama.rope.freq_base", &c.rope_base);
    const mw_model_tensor *embedding;
    const int64_t any_vocab[2] = {-1, c.dim};
    if (status == MW_OK)
        status = mw_model_file_require(file, "token_embd.weight", 2, any_vocab, &embedding);
    if (status == MW_OK) status = check_sizes(file, &c);
    if (status != MW_OK) return status;
    c.vocab = embedding->shape[0];
    c.tied = mw_model_file_tensor_find(file, "output.weight") == NULL;
    *ret = c;
    return MW_OK;
}

int llama_plan_text(const llama_config *c, char *to, int size)
{
    long long d = (long long)c->dim, k = (long long)c->kv_heads, e = (long long)c->head_dim;
    long long group = (long long)(c->heads / c->kv_heads) * e;
    return snprintf(
        to, (size_t)size,
        "# Tensor parallel over axis tp. A kv group (a kv head and the query heads that share it)\n"
        "# is never cut; the MLP is split by hidden units, the vocabulary by tokens.\n"
        "token_embd.weight: [%lld@tp, %lld]\n"
        "output.weight: [%lld@tp, %lld]\n"
        "blk.*.attn_q.weight: [%lld@tp·%lld, %lld]\n"
        "blk.*.attn_k.weight: [%lld@tp·%lld, %lld]\n"
        "blk.*.attn_v.weight: [%lld@tp·%lld, %lld]\n"
        "blk.*.attn_output.weight: [%lld, %lld@tp·%lld]\n"
        "blk.*.ffn_gate.weight: [%lld@tp, %lld]\n"
        "blk.*.ffn_up.weight: [%lld@tp, %lld]\n"
        "blk.*.ffn_down.weight: [%lld, %lld@tp]\n"
        "*norm.weight: [%lld]\n",
        (long long)c->vocab, d, (long long)c->vocab, d, k, group, d, k, e, d, k, e, d, d, k, group,
        (long long)c->hidden, d, (long long)c->hidden, d, d, (long long)c->hidden, d);
}
