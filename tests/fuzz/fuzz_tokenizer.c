/* Fuzzes the tokenizer. The first byte of an input picks the pre-tokenizer and the flags. The rest
 * is the text; and its lines, by their first letter, also add to the vocabulary: `T` a token, `C` a
 * control token, `M` a merge, `J` the chat template. A vocabulary either is refused with a sentence
 * or works: what was encoded decodes to the text less the lost bytes, all at once and as a stream.
 */
#include "small_vocab.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_TRIED = 16384, ADDED = 80 };

static void must(int holds)
{
    if (!holds) abort();
}

static void add_line(small_vocab *v, const char *line, int64_t length)
{
    mw_bytes rest = {line + 1, length - 1};
    mw_vocab_source *s = &v->source;
    if (length < 1 || s->ntokens >= SMALL_MOST || s->nmerges >= ADDED) return;
    if (*line == 'J') s->chat_template = rest;
    if (*line == 'M') v->merges[s->nmerges++] = rest;
    if (*line == 'T' || *line == 'C') {
        v->types[s->ntokens] = *line == 'T' ? MW_TOKEN_NORMAL : MW_TOKEN_CONTROL;
        v->tokens[s->ntokens++] = rest;
    }
}

static void check_decoding(const mw_tokenizer *t, const mw_tokens *tokens, mw_bytes text)
{
    int64_t kept = text.length - tokens->lost_count, length, used = 0, lost = 0;
    char *whole = malloc((size_t)kept + 1);
    mw_decoder *decoder;
    must(whole && mw_decoder_new(t, &decoder) == MW_OK);
    must(mw_tokenizer_decode(t, tokens->ids, tokens->count, whole, kept + 1, &length) == MW_OK);
    must(length == kept);
    for (int64_t i = 0; i < text.length; i++) {
        if (lost < tokens->lost_count && tokens->lost[lost].at == i)
            must(tokens->lost[lost++].byte == (uint8_t)text.at[i]);
        else
            must(whole[used++] == text.at[i]);
    }
    used = 0;
    for (int64_t i = 0; i <= tokens->count; i++) {
        mw_bytes out;
        if (i < tokens->count)
            must(mw_decoder_push(decoder, tokens->ids[i], &out) == MW_OK);
        else
            mw_decoder_flush(decoder, &out);
        must(out.length <= kept - used);
        must(out.length == 0 || memcmp(out.at, whole + used, (size_t)out.length) == 0);
        used += out.length;
    }
    must(used == kept);
    mw_decoder_free(decoder);
    free(whole);
}

static void check_chat(const mw_tokenizer *t, mw_bytes text)
{
    mw_turn turn = {"user", text};
    int64_t length, again = -1;
    mw_status status = mw_chat_render(t, &turn, 1, 1, NULL, 0, &length);
    must(status == MW_OK || (status == MW_ERR_UNSUPPORTED && mw_last_error()->says[0]));
    if (status != MW_OK) return;
    char *to = malloc((size_t)length + 1);
    must(to && mw_chat_render(t, &turn, 1, 1, to, length + 1, &again) == MW_OK);
    must(again == length && to[length] == 0);
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const pres[] = {"smollm", "gpt-2", "llama-bpe", "qwen2", "default"};
    static small_vocab vocab;
    if (size == 0 || size > SIZE_MAX_TRIED) return 0;
    mw_bytes text = {(const char *)data + 1, (int64_t)size - 1};
    small_vocab_init(&vocab);
    vocab.source.pre = pres[(data[0] & 7) % MW_COUNT(pres)];
    for (int64_t from = 0, at = 0; at <= text.length; at++) {
        if (at < text.length && text.at[at] != '\n') continue;
        add_line(&vocab, text.at + from, at - from);
        from = at + 1;
    }
    mw_tokenizer *t;
    mw_tokens tokens = {0};
    if (mw_tokenizer_new(&vocab.source, &t) != MW_OK) {
        must(mw_last_error()->says[0] != 0);
        return 0;
    }
    unsigned flags = data[0] & 8 ? MW_ENCODE_PLAIN : 0;
    must(mw_tokenizer_encode(t, text.at, text.length, flags, &tokens) == MW_OK);
    check_decoding(t, &tokens, text);
    check_chat(t, text);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
    return 0;
}
