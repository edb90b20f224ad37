/* text: what the files of the tokenizer share. Public calls are in <meshwise/tokenizer.h>. */
#ifndef TEXT_TEXT_H
#define TEXT_TEXT_H

#include "base/base.h"

#include <meshwise/tokenizer.h>

/* ---- utf8.c: bytes, characters and GPT-2's spelling of bytes --------------------------------- */

/* Length 1 to 4 of the well-formed character at `at`; 0 where the bytes there begin none; -k where
 * all k bytes that are left may still become one. `size` > 0. Pure. */
int mw__utf8_length(const char *at, int64_t size);

/* GPT-2 spells each byte as one printable character. Pure. */
int mw__byte_spell(uint8_t byte, char to[2]); /* length, 1 or 2 */
int mw__byte_unspell(const char *at, int64_t size,
                     uint8_t *ret); /* bytes read, 0: is no spelling */

/* A short, printable picture of any bytes, for messages. Returns `to`. Pure. */
enum { MW__QUOTE = 96 };
const char *mw__text_quote(mw_bytes bytes, char to[MW__QUOTE]);

/* Appends to a caller's fixed buffer and counts what would not fit, as snprintf does. */
typedef struct mw__sink {
    char *to;
    int64_t size, length;
} mw__sink;
void mw__sink_init(mw__sink *sink, char *to, int64_t size);
void mw__sink_add(mw__sink *sink, const char *at, int64_t length);

/* ---- pretoken.c: cutting text into the pieces that merges may not cross ---------------------- */

typedef struct mw__pretoken mw__pretoken; /* immutable: a row of the table, patterns compiled */
typedef struct mw__splitter mw__splitter; /* one thread's scratch for it */
typedef mw_status (*mw__piece_fn)(void *user, const char *piece, int64_t length);

MW_NODISCARD mw_status mw__pretoken_new(const char *name, mw__pretoken **ret);
void mw__pretoken_free(mw__pretoken *pretoken);
const char *mw__pretoken_name(const mw__pretoken *pretoken);
bool mw__pretoken_whole_first(
    const mw__pretoken *pretoken); /* a piece that is a token is that token */
bool mw__pretoken_adds_bos(const mw__pretoken *pretoken); /* where the file doesn't say */

MW_NODISCARD mw_status mw__splitter_new(const mw__pretoken *pretoken, mw__splitter **ret);
void mw__splitter_free(mw__splitter *splitter);

/* Calls `emit` for each piece, in order; together they are the text. */
MW_NODISCARD mw_status mw__splitter_run(mw__splitter *splitter, const char *text, int64_t length,
                                        mw__piece_fn emit, void *user);

/* ---- vocab.c --------------------------------------------------------------------------------- */

typedef struct mw__merge {
    int32_t left, right; /* left -1: a free slot */
    int32_t rank, id;
} mw__merge;

typedef struct mw__special {
    mw_bytes spelling;
    int32_t id;
} mw__special;

typedef struct mw__chat {
    bool given, known; /* the file has a template; it is of the ChatML family */
    mw_bytes system;   /* the default system message, at NULL: none */
} mw__chat;

struct mw_tokenizer {
    mw_arena arena; /* holds this struct too */
    int64_t count;
    mw_bytes *spelling;   /* [count] as in the file */
    mw_bytes *piece;      /* [count] the bytes that it stands for */
    uint8_t *type;        /* [count] */
    int64_t longest;      /* bytes of the longest piece */
    int32_t byte_id[256]; /* -1: the vocabulary has no token for this byte */
    int32_t *by_spelling; /* open addressing, -1 free */
    int64_t spelling_slots;
    mw__merge *merge; /* open addressing by (left, right) */
    int64_t merge_slots;
    mw__special *special; /* sorted by spelling: found by narrowing a range byte by byte */
    int64_t nspecial;
    bool begins_special[256];
    mw__pretoken *pre;
    int64_t bos, eos, eot;
    bool add_bos;
    mw__chat chat;
};

/* The merge of two neighbours, or NULL. Pure. */
const mw__merge *mw__merge_find(const mw_tokenizer *t, int32_t left, int32_t right);

/* The longest special token that begins at `at`, or -1. Pure. */
int32_t mw__special_find(const mw_tokenizer *t, const char *at, int64_t size);

/* ---- bpe.c ----------------------------------------------------------------------------------- */

/* One thread's scratch for merging; `= {0}` is empty. */
typedef struct mw__symbol {
    int32_t id;         /* -1: merged into its left neighbour */
    int32_t prev, next; /* -1: none */
} mw__symbol;
typedef struct mw__candidate {
    int32_t rank, at; /* `at`: index of the left symbol */
    int32_t left, right, id;
} mw__candidate;
typedef struct mw__bpe {
    mw__symbol *symbol;
    int64_t symbol_cap;
    mw__candidate *heap;
    int64_t heap_cap, heap_count;
    mw_str spelling;
} mw__bpe;
void mw__bpe_done(mw__bpe *bpe);

/* Appends the ids of one piece, which starts at offset `at` of the text, to `tokens`. */
MW_NODISCARD mw_status mw__bpe_run(mw__bpe *bpe, const mw_tokenizer *t, mw_bytes piece, int64_t at,
                                   mw_tokens *tokens);

/* ---- chat.c ---------------------------------------------------------------------------------- */

/* Recognises the template and takes the default system message from it (into t's arena). */
MW_NODISCARD mw_status mw__chat_read(mw_tokenizer *t, mw_bytes text);

#endif
