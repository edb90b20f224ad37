/* A vocabulary made in code, for tests of the tokenizer: special tokens, one token per byte but for
 * a few that are lost, and what the merges below make. Everything is in fixed arrays. */
#ifndef TESTS_SMALL_VOCAB_H
#define TESTS_SMALL_VOCAB_H

#include "text/text.h"

enum {
    SMALL_END,      /* <|end|> */
    SMALL_IM_START, /* <|im_start|> */
    SMALL_IM_END,   /* <|im_end|> */
    SMALL_IM,       /* <|im: begins two others */
    SMALL_USER,     /* "for\twhile": user-defined, with a byte that is never spelled so */
    SMALL_SPECIALS,
    SMALL_MOST = 400,
    SMALL_ROOM = 32
};

typedef struct small_vocab {
    mw_vocab_source source;
    mw_bytes tokens[SMALL_MOST], merges[SMALL_MOST];
    int32_t types[SMALL_MOST];
    char token_text[SMALL_MOST][SMALL_ROOM], merge_text[SMALL_MOST][SMALL_ROOM];
} small_vocab;

/* Bytes without a token: a control byte, two that UTF-8 never uses, and a lead byte. */
static inline bool small_is_lost(int byte)
{
    return byte == 0x04 || byte == 0xc0 || byte == 0xff || byte == 0xd1;
}

static inline void small_add_token(small_vocab *v, const char *spelling, int64_t length, int type)
{
    int64_t id = v->source.ntokens++;
    memcpy(v->token_text[id], spelling, (size_t)length);
    v->tokens[id] = (mw_bytes){v->token_text[id], length};
    v->types[id] = type;
}

static inline int64_t small_spell(const char *bytes, char *to)
{
    int64_t length = 0;
    for (; *bytes; bytes++)
        length += mw__byte_spell((uint8_t)*bytes, to + length);
    return length;
}

/* The merge of two byte strings, and the token that it makes. */
static inline void small_add_merge(small_vocab *v, const char *left, const char *right)
{
    int64_t nth = v->source.nmerges++;
    char *text = v->merge_text[nth], joined[SMALL_ROOM];
    int64_t length = small_spell(left, text);
    text[length++] = ' ';
    length += small_spell(right, text + length);
    v->merges[nth] = (mw_bytes){text, length};
    length = small_spell(left, joined);
    length += small_spell(right, joined + length);
    small_add_token(v, joined, length, MW_TOKEN_NORMAL);
}

/* Fills `v`; callers change `v->source` before they make a tokenizer of it. */
static inline void small_vocab_init(small_vocab *v)
{
    static const char *const specials[] = {"<|end|>", "<|im_start|>", "<|im_end|>", "<|im",
                                           "for\twhile"};
    static const char *const merges[][2] = {
        {"y", "z"},       {"x", "y"},        {"h", "e"},       {"l", "l"},
        {"he", "ll"},     {"hell", "o"},     {" ", "hello"},   {"a", "a"},
        {"aa", "aa"},     {"aaaa", "aaaa"},  {".", "."},       {"..", ".."},
        {" ", " "},       {"\xe4", "\xbd"},  {"\xf0", "\x9f"}, {"\xf0\x9f", "\x98"},
        {"\xcc", "\x81"}, {"e", "\xcc\x81"}, {"'", "s"},       {"\r", "\n"},
    };
    memset(v, 0, sizeof *v);
    v->source = (mw_vocab_source){.model = "gpt2",
                                  .pre = "smollm",
                                  .tokens = v->tokens,
                                  .types = v->types,
                                  .merges = v->merges,
                                  .bos_id = SMALL_END,
                                  .eos_id = SMALL_IM_END,
                                  .eot_id = -1,
                                  .add_bos = -1};
    for (int i = 0; i < SMALL_SPECIALS; i++)
        small_add_token(v, specials[i], (int64_t)strlen(specials[i]),
                        i == SMALL_USER ? MW_TOKEN_USER : MW_TOKEN_CONTROL);
    for (int byte = 0; byte < 256; byte++) {
        char spelled[2];
        if (!small_is_lost(byte))
            small_add_token(v, spelled, mw__byte_spell((uint8_t)byte, spelled), MW_TOKEN_NORMAL);
    }
    for (int i = 0; i < MW_COUNT(merges); i++)
        small_add_merge(v, merges[i][0], merges[i][1]);
}

#endif
