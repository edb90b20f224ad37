/* make_model FILE [--seed N] [--context N] [--without TENSOR] [--reshape TENSOR]: writes a tiny
 * LLaMA as GGUF, for tests that need a whole model and none in particular. Weights are random, the
 * vocabulary is that of small_vocab.h. Sizes are chosen to be awkward: 3 kv groups and 277 tokens
 * divide over no mesh of 2, 4 or 5.
 * --without leaves a tensor out; --reshape gives it a row too few: for tests of bad files. */
#include "gguf_writer.h"
#include "ops/sample.h"
#include "small_vocab.h"

#include <math.h>

enum { DIM = 48, LAYERS = 3, HEADS = 6, KV_HEADS = 3, HEAD_DIM = 8, HIDDEN = 64 };

static const char template[] =
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe brief.<|im_end|>\\n' }}{% "
    "endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}";

typedef struct maker {
    gguf_writer out, data;
    uint64_t seed, context, ntensor;
    const char *without, *reshape;
    bool writing; /* the second time: the first counts tensors and fills `data` */
} maker;

/* One tensor of [rows, cols] (cols 0: a vector), F32. Vectors are norms: around 1. */
static void tensor(maker *m, const char *name, uint64_t rows, uint64_t cols)
{
    if (m->without && strcmp(m->without, name) == 0) return;
    if (m->reshape && strcmp(m->reshape, name) == 0) rows--;
    uint64_t dims[2] = {cols ? cols : rows, rows}, count = rows * (cols ? cols : 1);
    uint64_t nth = m->ntensor++;
    if (m->writing) {
        put_tensor(&m->out, name, cols ? 2 : 1, dims, 0, m->data.size);
    }
    put_align(&m->data, 32);
    double scale = cols ? 1.5 / sqrt((double)cols) : 0.1;
    for (uint64_t i = 0; i < count; i++)
        put_f32(&m->data,
                (float)((cols ? 0 : 1) + scale * mw__random_normal(m->seed * 1000 + nth, i)));
    put_align(&m->data, 32);
}

static void tensors(maker *m, uint64_t vocab)
{
    const struct {
        const char *name;
        uint64_t rows, cols;
    } layer[] = {
        {"attn_norm", DIM, 0},
        {"attn_q", HEADS * HEAD_DIM, DIM},
        {"attn_k", KV_HEADS * HEAD_DIM, DIM},
        {"attn_v", KV_HEADS * HEAD_DIM, DIM},
        {"attn_output", DIM, HEADS * HEAD_DIM},
        {"ffn_norm", DIM, 0},
        {"ffn_gate", HIDDEN, DIM},
        {"ffn_up", HIDDEN, DIM},
        {"ffn_down", DIM, HIDDEN},
    };
    m->ntensor = 0;
    writer_done(&m->data);
    tensor(m, "token_embd.weight", vocab, DIM);
    tensor(m, "output_norm.weight", DIM, 0);
    tensor(m, "output.weight", vocab, DIM);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < MW_COUNT(layer); i++) {
            char name[64];
            (void)snprintf(name, sizeof name, "blk.%d.%s.weight", l, layer[i].name);
            tensor(m, name, layer[i].rows, layer[i].cols);
        }
}

enum { U32 = 4, I32 = 5, F32 = 6, STRING = 8 };

static void number(gguf_writer *w, const char *key, uint64_t value)
{
    put_key(w, key, U32);
    put_uint(w, value, 4);
}

static void text(gguf_writer *w, const char *key, const char *value)
{
    put_key(w, key, STRING);
    put_string(w, value);
}

static void list(gguf_writer *w, const char *key, const mw_bytes *values, int64_t n)
{
    put_array(w, key, STRING, (uint64_t)n);
    for (int64_t i = 0; i < n; i++)
        put_string_of(w, values[i].at, (size_t)values[i].length);
}

enum { VALUES = 17 };

static void values(maker *m, const mw_vocab_source *v)
{
    gguf_writer *w = &m->out;
    text(w, "general.architecture", "llama");
    number(w, "llama.block_count", LAYERS);
    number(w, "llama.embedding_length", DIM);
    number(w, "llama.feed_forward_length", HIDDEN);
    number(w, "llama.attention.head_count", HEADS);
    number(w, "llama.attention.head_count_kv", KV_HEADS);
    number(w, "llama.context_length", m->context);
    put_key(w, "llama.attention.layer_norm_rms_epsilon", F32);
    put_f32(w, 1e-5F);
    put_key(w, "llama.rope.freq_base", F32);
    put_f32(w, 10000);
    text(w, "tokenizer.ggml.model", v->model);
    text(w, "tokenizer.ggml.pre", v->pre);
    list(w, "tokenizer.ggml.tokens", v->tokens, v->ntokens);
    put_array(w, "tokenizer.ggml.token_type", I32, (uint64_t)v->ntokens);
    for (int64_t i = 0; i < v->ntokens; i++)
        put_uint(w, (uint64_t)v->types[i], 4);
    list(w, "tokenizer.ggml.merges", v->merges, v->nmerges);
    number(w, "tokenizer.ggml.bos_token_id", (uint64_t)v->bos_id);
    number(w, "tokenizer.ggml.eos_token_id", (uint64_t)v->eos_id);
    text(w, "tokenizer.chat_template", template);
}

static int read_options(maker *m, int argc, char **argv)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            m->seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--context") == 0)
            m->context = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--without") == 0)
            m->without = argv[i + 1];
        else if (strcmp(argv[i], "--reshape") == 0)
            m->reshape = argv[i + 1];
        else
            return 0;
    }
    return argc >= 2 && argc % 2 == 0;
}

int main(int argc, char **argv)
{
    static small_vocab vocab;
    maker m = {.seed = 45, .context = 64};
    if (!read_options(&m, argc, argv)) {
        (void)fprintf(stderr, "use: make_model FILE [--seed N] [--context N] [--without TENSOR] "
                              "[--reshape TENSOR]\n");
        return 2;
    }
    small_vocab_init(&vocab);
    tensors(&m, (uint64_t)vocab.source.ntokens); /* how many there are */
    put_head(&m.out, 3, m.ntensor, VALUES);
    values(&m, &vocab.source);
    m.writing = true;
    tensors(&m, (uint64_t)vocab.source.ntokens);
    put_align(&m.out, 32);
    put(&m.out, m.data.at, m.data.size);
    file_write(argv[1], m.out.at, m.out.size);
    writer_done(&m.data);
    writer_done(&m.out);
    return 0;
}
