/* Encoding and decoding. Encoding cuts at special tokens first (leftmost, then longest), hands what
 * lies between to the pre-tokenizer and each piece to the merges; a piece is a slice of the
 * caller's text all the way down, so a lost byte's offset is a subtraction. */
#include "text/text.h"

int64_t mw_tokenizer_size(const mw_tokenizer *t)
{
    return t->count;
}

int64_t mw_tokenizer_bos(const mw_tokenizer *t)
{
    return t->bos;
}

int64_t mw_tokenizer_eos(const mw_tokenizer *t)
{
    return t->eos;
}

int mw_tokenizer_adds_bos(const mw_tokenizer *t)
{
    return t->add_bos;
}

const char *mw_tokenizer_pre(const mw_tokenizer *t)
{
    return mw__pretoken_name(t->pre);
}

int mw_tokenizer_is_end(const mw_tokenizer *t, int64_t id)
{
    return id >= 0 && (id == t->eos || id == t->eot);
}

/* ---- text to ids --------------------------------------------------------------------------- */

typedef struct encoder {
    const mw_tokenizer *t;
    const char *text; /* the whole of it: offsets count from here */
    mw__splitter *splitter;
    mw__bpe bpe;
    mw_tokens *tokens;
} encoder;

static mw_status encode_piece(void *user, const char *piece, int64_t length)
{
    encoder *e = user;
    return mw__bpe_run(&e->bpe, e->t, (mw_bytes){piece, length}, piece - e->text, e->tokens);
}

static mw_status add_id(mw_tokens *tokens, int64_t id)
{
    MW_TRY(mw__grow(&tokens->ids, &tokens->cap, tokens->count + 1, sizeof *tokens->ids));
    tokens->ids[tokens->count++] = (int32_t)id;
    return MW_OK;
}

static mw_status encode_text(encoder *e, int64_t length, bool plain)
{
    int64_t from = 0, at = 0;
    while (at < length) {
        int32_t special = plain ? -1 : mw__special_find(e->t, e->text + at, length - at);
        if (special < 0) {
            at++;
            continue;
        }
        MW_TRY(mw__splitter_run(e->splitter, e->text + from, at - from, encode_piece, e));
        MW_TRY(add_id(e->tokens, special));
        at += e->t->spelling[special].length;
        from = at;
    }
    return mw__splitter_run(e->splitter, e->text + from, length - from, encode_piece, e);
}

mw_status mw_tokenizer_encode(const mw_tokenizer *t, const char *text, int64_t length,
                              unsigned flags, mw_tokens *tokens)
{
    mw_status status;
    encoder e = {.t = t, .text = text ? text : "", .tokens = tokens};
    tokens->count = tokens->lost_count = 0;
    /* Symbols are numbered by int32_t, and U+FFFD takes three bytes for one. */
    if (length < 0 || length > INT32_MAX)
        return MW_FAIL(MW_ERR_ARG,
                       "a text of %lld bytes cannot be tokenized at once; the most is %d",
                       (long long)length, INT32_MAX);
    MW_TRY(mw__splitter_new(t->pre, &e.splitter));
    if ((flags & MW_ENCODE_BOS) && t->add_bos) MW_TRY_GOTO(add_id(tokens, t->bos), done);
    MW_TRY_GOTO(encode_text(&e, length, flags & MW_ENCODE_PLAIN), done);
done:
    if (status != MW_OK) tokens->count = tokens->lost_count = 0;
    mw__bpe_done(&e.bpe);
    mw__splitter_free(e.splitter);
    return status;
}

void mw_tokens_done(mw_tokens *tokens)
{
    mw__free(tokens->ids, (size_t)tokens->cap * sizeof *tokens->ids);
    mw__free(tokens->lost, (size_t)tokens->lost_cap * sizeof *tokens->lost);
    *tokens = (mw_tokens){0};
}

/* ---- ids to text --------------------------------------------------------------------------- */

mw_status mw_tokenizer_piece(const mw_tokenizer *t, int64_t id, mw_bytes *ret)
{
    if (id < 0 || id >= t->count)
        return MW_FAIL(MW_ERR_ARG,
                       "token id %lld is not in the vocabulary of %lld tokens (0 to %lld)",
                       (long long)id, (long long)t->count, (long long)t->count - 1);
    *ret = t->piece[id];
    return MW_OK;
}

mw_status mw_tokenizer_decode(const mw_tokenizer *t, const int32_t *ids, int64_t count, char *to,
                              int64_t size, int64_t *ret_length)
{
    mw__sink sink;
    mw__sink_init(&sink, to, size);
    for (int64_t i = 0; i < count; i++) {
        mw_bytes piece = {0};
        MW_TRY(mw_tokenizer_piece(t, ids[i], &piece));
        mw__sink_add(&sink, piece.at, piece.length);
    }
    mw__sink_add(&sink, "", 0);
    *ret_length = sink.length;
    return MW_OK;
}

/* `room` holds what was held back, then the piece: what is complete is handed out from its front,
 * the rest is moved there by the next call. */
struct mw_decoder {
    const mw_tokenizer *tokenizer;
    const mw_allocator *allocator;
    int64_t shown, held; /* room[shown .. shown + held) is held back */
    char room[];
};

static size_t decoder_size(const mw_tokenizer *t)
{
    return sizeof(mw_decoder) + (size_t)t->longest + 4;
}

mw_status mw_decoder_new(const mw_tokenizer *t, mw_decoder **ret)
{
    mw_decoder *decoder = mw__zalloc(decoder_size(t));
    if (!decoder) return MW_NOMEM();
    decoder->tokenizer = t;
    decoder->allocator = mw__ctx_get()->allocator;
    *ret = decoder;
    return MW_OK;
}

void mw_decoder_free(mw_decoder *d)
{
    if (!d) return;
    (void)d->allocator->resize(d->allocator->user, d, decoder_size(d->tokenizer), 0);
}

mw_status mw_decoder_push(mw_decoder *d, int64_t id, mw_bytes *ret)
{
    mw_bytes piece = {0};
    MW_TRY(mw_tokenizer_piece(d->tokenizer, id, &piece));
    memmove(d->room, d->room + d->shown, (size_t)d->held);
    if (piece.length) memcpy(d->room + d->held, piece.at, (size_t)piece.length);
    int64_t size = d->held + piece.length, at = 0;
    while (at < size) {
        int length = mw__utf8_length(d->room + at, size - at);
        if (length < 0) break; /* more to come, perhaps */
        at += length ? length : 1;
    }
    d->shown = at;
    d->held = size - at;
    *ret = (mw_bytes){d->room, at};
    return MW_OK;
}

void mw_decoder_flush(mw_decoder *d, mw_bytes *ret)
{
    *ret = (mw_bytes){d->room + d->shown, d->held};
    d->shown += d->held;
    d->held = 0;
}
