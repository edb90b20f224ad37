/* A model file with its tokenizer: the keys of the file become the source of the vocabulary. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Arrays that live while the tokenizer is made. */
typedef struct vocabulary {
    mw_bytes *tokens, *merges;
    int32_t *types;
    int64_t ntokens, nmerges;
    char model[32], pre[64];
} vocabulary;

static void free_vocabulary(vocabulary *v)
{
    mw_memory_free(v->tokens, (size_t)v->ntokens * sizeof *v->tokens);
    mw_memory_free(v->merges, (size_t)v->nmerges * sizeof *v->merges);
    mw_memory_free(v->types, (size_t)v->ntokens * sizeof *v->types);
}

static mw_status strings(const mw_model_file *file, const char *key, mw_bytes **ret,
                         int64_t *ret_count)
{
    const mw_model_value *value;
    mw_status status = mw_model_file_array(file, key, MW_VALUE_STRING, &value);
    if (status != MW_OK) return status;
    mw_bytes *list = mw_memory((size_t)value->count * sizeof *list);
    if (!list) return mw_last_error()->code;
    *ret = list;
    *ret_count = value->count;
    for (int64_t i = 0; i < value->count && status == MW_OK; i++)
        status = mw_model_value_string(value, i, &list[i]);
    return status;
}

static mw_status types(const mw_model_file *file, vocabulary *v)
{
    const mw_model_value *value;
    mw_status status = mw_model_file_array(file, "tokenizer.ggml.token_type", MW_VALUE_I32, &value);
    if (status != MW_OK) return status;
    if (value->count != v->ntokens)
        return mw_error_set(MW_ERR_FORMAT, "%s: %lld token types for %lld tokens",
                            mw_model_file_path(file), (long long)value->count,
                            (long long)v->ntokens);
    v->types = mw_memory((size_t)v->ntokens * sizeof *v->types);
    if (!v->types) return mw_last_error()->code;
    for (int64_t i = 0; i < value->count && status == MW_OK; i++) {
        int64_t type = 0;
        status = mw_model_value_i64(value, i, &type);
        v->types[i] = (int32_t)type;
    }
    return status;
}

/* A short string as a C string. */
static mw_status word(const mw_model_file *file, const char *key, char *to, int size)
{
    mw_bytes text;
    mw_status status = mw_model_file_string(file, key, &text);
    if (status != MW_OK) return status;
    if (text.length >= size || memchr(text.at, 0, (size_t)text.length))
        return mw_error_set(MW_ERR_FORMAT, "%s: %s is no word", mw_model_file_path(file), key);
    memcpy(to, text.at, (size_t)text.length);
    to[text.length] = 0;
    return MW_OK;
}

static mw_status id_or_none(const mw_model_file *file, const char *key, int64_t *ret)
{
    *ret = -1;
    return mw_model_file_find(file, key) ? mw_model_file_i64(file, key, ret) : MW_OK;
}

static mw_status fill(const mw_model_file *file, vocabulary *v, mw_vocab_source *s)
{
    mw_status status = word(file, "tokenizer.ggml.model", v->model, sizeof v->model);
    if (status == MW_OK) status = strings(file, "tokenizer.ggml.tokens", &v->tokens, &v->ntokens);
    bool bpe = status == MW_OK && strcmp(v->model, "gpt2") == 0;
    if (bpe) status = strings(file, "tokenizer.ggml.merges", &v->merges, &v->nmerges);
    if (status == MW_OK && mw_model_file_find(file, "tokenizer.ggml.token_type"))
        status = types(file, v);
    bool has_pre = mw_model_file_find(file, "tokenizer.ggml.pre") != NULL;
    if (status == MW_OK && has_pre)
        status = word(file, "tokenizer.ggml.pre", v->pre, sizeof v->pre);
    *s = (mw_vocab_source){.model = v->model,
                           .pre = has_pre ? v->pre : NULL,
                           .tokens = v->tokens,
                           .types = v->types,
                           .ntokens = v->ntokens,
                           .merges = v->merges,
                           .nmerges = v->nmerges,
                           .add_bos = -1};
    if (status == MW_OK) status = id_or_none(file, "tokenizer.ggml.bos_token_id", &s->bos_id);
    if (status == MW_OK) status = id_or_none(file, "tokenizer.ggml.eos_token_id", &s->eos_id);
    if (status == MW_OK) status = id_or_none(file, "tokenizer.ggml.eot_token_id", &s->eot_id);
    if (status == MW_OK && mw_model_file_find(file, "tokenizer.ggml.add_bos_token"))
        status = mw_model_file_bool(file, "tokenizer.ggml.add_bos_token", &s->add_bos);
    if (status == MW_OK && mw_model_file_find(file, "tokenizer.chat_template"))
        status = mw_model_file_string(file, "tokenizer.chat_template", &s->chat_template);
    return status;
}

mw_status cli_model_open(const char *path, cli_model *ret)
{
    cli_model m = {0};
    mw_status status = mw_model_file_open(path, &m.file);
    if (status != MW_OK) return status;
    vocabulary v = {0};
    mw_vocab_source source;
    status = fill(m.file, &v, &source);
    if (status == MW_OK) status = mw_tokenizer_new(&source, &m.tokenizer);
    free_vocabulary(&v);
    if (status != MW_OK) {
        cli_model_close(&m);
        return status;
    }
    *ret = m;
    return MW_OK;
}

void cli_model_close(cli_model *model)
{
    mw_tokenizer_free(model->tokenizer);
    mw_model_file_close(model->file);
    *model = (cli_model){0};
}
