/* The tokenizer that a model file describes: text to ids and back, and the chat template.
 *
 *     "Hello, 42"  --specials--> pieces  --pre-tokenizer-->  Hello|,| |4|2  --merges-->  ids
 *
 * The caller fills an mw_vocab_source from the file and gives it up again after mw_tokenizer_new.
 *
 *     mw_tokenizer *t;
 *     mw_tokens tokens = {0};
 *     mw_status status = mw_tokenizer_new(&source, &t);
 *     if (status == MW_OK) status = mw_tokenizer_encode(t, "Hello", 5, 0, &tokens);
 *     for (int64_t i = 0; i < tokens.count; i++) printf("%d\n", tokens.ids[i]);
 *     mw_tokens_done(&tokens);
 *     mw_tokenizer_free(t);
 *
 * Text is bytes with a length, everywhere: NUL is a byte, and ill-formed UTF-8 is encoded byte by
 * byte. Some vocabularies have no token for some bytes; such a byte is lost, and always reported.
 */
#ifndef MESHWISE_TOKENIZER_H
#define MESHWISE_TOKENIZER_H

#include <meshwise/bytes.h>
#include <meshwise/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers that GGUF files use. */
typedef enum mw_token_type {
    MW_TOKEN_NORMAL = 1,
    MW_TOKEN_UNKNOWN = 2,
    MW_TOKEN_CONTROL = 3, /* <|im_start|>: parsed in text, as unknown and user-defined ones are */
    MW_TOKEN_USER = 4,
    MW_TOKEN_UNUSED = 5,
    MW_TOKEN_BYTE = 6
} mw_token_type;

/* What a model file says of its vocabulary; everything is borrowed during mw_tokenizer_new only.
 * The comment names the GGUF key. Ids are -1 where the file has none. */
typedef struct mw_vocab_source {
    const char *model; /* tokenizer.ggml.model: "gpt2" is byte-level BPE, the one that is read */
    const char *pre;   /* tokenizer.ggml.pre; NULL: "default" */
    const mw_bytes *tokens; /* tokenizer.ggml.tokens: in GPT-2's spelling of bytes */
    const int32_t *types;   /* tokenizer.ggml.token_type, one a token; NULL: all are normal */
    int64_t ntokens;
    const mw_bytes *merges; /* tokenizer.ggml.merges: "left right", most urgent first */
    int64_t nmerges;
    int64_t bos_id, eos_id, eot_id; /* tokenizer.ggml.bos_token_id, ... */
    int add_bos;                    /* tokenizer.ggml.add_bos_token; -1: not said */
    mw_bytes chat_template;         /* tokenizer.chat_template; at NULL: none */
} mw_vocab_source;

/* Immutable once made: any number of threads may use one. */
typedef struct mw_tokenizer mw_tokenizer;

/* Makes a tokenizer; copies what it needs. Fails: MW_ERR_UNSUPPORTED for another model than gpt2 or
 * a pre-tokenizer that is not in the table (the message names those that are); MW_ERR_FORMAT where
 * the vocabulary contradicts itself. The caller owns the result. Local. */
MW_API MW_NODISCARD mw_status mw_tokenizer_new(const mw_vocab_source *source, mw_tokenizer **ret);
MW_API void mw_tokenizer_free(mw_tokenizer *tokenizer); /* NULL is fine */

MW_API int64_t mw_tokenizer_size(const mw_tokenizer *tokenizer);    /* tokens in the vocabulary */
MW_API int64_t mw_tokenizer_bos(const mw_tokenizer *tokenizer);     /* or -1 */
MW_API int64_t mw_tokenizer_eos(const mw_tokenizer *tokenizer);     /* or -1 */
MW_API int mw_tokenizer_adds_bos(const mw_tokenizer *tokenizer);    /* the model's own rule */
MW_API const char *mw_tokenizer_pre(const mw_tokenizer *tokenizer); /* its name; borrowed */

/* 1 where the id ends a text or a turn. Pure. */
MW_API int mw_tokenizer_is_end(const mw_tokenizer *tokenizer, int64_t id);

/* The id of the token spelled so in the file ("<|im_end|>"), or -1. Pure. */
MW_API int64_t mw_tokenizer_find(const mw_tokenizer *tokenizer, const char *spelling,
                                 int64_t length);

/* ---- text to ids --------------------------------------------------------------------------- */

/* A byte of the text that no token can say. */
typedef struct mw_lost_byte {
    int64_t at; /* offset in the text */
    uint8_t byte;
} mw_lost_byte;

/* What encoding gives. `= {0}` is empty; reused by the next encode; mw_tokens_done frees it. */
typedef struct mw_tokens {
    int32_t *ids;
    int64_t count, cap;
    mw_lost_byte *lost; /* in the order of the text */
    int64_t lost_count, lost_cap;
} mw_tokens;

enum {
    MW_ENCODE_BOS = 1,  /* begin with BOS if the model's own rule says so */
    MW_ENCODE_PLAIN = 2 /* "<|im_end|>" in the text is ten characters, not a token */
};

/* Replaces what `tokens` held. Lost bytes are no failure: look at lost_count. Fails: MW_ERR_ARG for
 * a text of 2 GiB or more; MW_ERR_NOMEM; `tokens` is then empty. Local. */
MW_API MW_NODISCARD mw_status mw_tokenizer_encode(const mw_tokenizer *tokenizer, const char *text,
                                                  int64_t length, unsigned flags,
                                                  mw_tokens *tokens);
MW_API void mw_tokens_done(mw_tokens *tokens);

/* ---- ids to text --------------------------------------------------------------------------- */

/* The bytes that one id stands for, borrowed from the tokenizer; special tokens give their
 * spelling. They need not be whole characters. Fails: MW_ERR_ARG for an id outside the vocabulary.
 * Pure. */
MW_API MW_NODISCARD mw_status mw_tokenizer_piece(const mw_tokenizer *tokenizer, int64_t id,
                                                 mw_bytes *ret);

/* The bytes of all ids, into `to` of `size` bytes (cut to fit, NUL-terminated where size > 0);
 * ret_length is the length of the whole, so that a first call with size 0 tells it. Fails as
 * mw_tokenizer_piece. Pure. */
MW_API MW_NODISCARD mw_status mw_tokenizer_decode(const mw_tokenizer *tokenizer, const int32_t *ids,
                                                  int64_t count, char *to, int64_t size,
                                                  int64_t *ret_length);

/* Decodes one id at a time for a reader who wants whole characters: bytes that begin a UTF-8
 * character are held back until it is complete or cannot become so. All that comes out, the flush
 * included, is byte for byte what mw_tokenizer_decode gives. The tokenizer must outlive it. */
typedef struct mw_decoder mw_decoder;
MW_API MW_NODISCARD mw_status mw_decoder_new(const mw_tokenizer *tokenizer, mw_decoder **ret);
MW_API void mw_decoder_free(mw_decoder *decoder); /* NULL is fine */

/* ret: what can be shown now, possibly nothing; valid until the next call. Fails: as
 * mw_tokenizer_piece, and the decoder is as before. Local. */
MW_API MW_NODISCARD mw_status mw_decoder_push(mw_decoder *decoder, int64_t id, mw_bytes *ret);

/* The bytes still held (never more than 3); the decoder is as new. Local. */
MW_API void mw_decoder_flush(mw_decoder *decoder, mw_bytes *ret);

/* ---- chat ---------------------------------------------------------------------------------- */

typedef struct mw_turn {
    const char *role; /* "system", "user", "assistant", ... */
    mw_bytes content; /* taken as it is */
} mw_turn;

/* Writes the conversation as the model's template does, beginning with the template's default
 * system turn unless turn 0 is a system one, and ending with the opening of the assistant's turn if
 * `open_reply`. Encode the result with special tokens parsed. Output as in mw_tokenizer_decode.
 * Fails: MW_ERR_UNSUPPORTED where the file has no template or one that is not of the ChatML family;
 * MW_ERR_ARG for a turn without a role. Pure. */
MW_API MW_NODISCARD mw_status mw_chat_render(const mw_tokenizer *tokenizer, const mw_turn *turns,
                                             int count, int open_reply, char *to, int64_t size,
                                             int64_t *ret_length);

/* The template's default system message; at NULL where it has none. Borrowed. Pure. */
MW_API mw_bytes mw_chat_default_system(const mw_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif
#endif
