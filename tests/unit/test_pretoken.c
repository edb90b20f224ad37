/* Characters, GPT-2's spelling of bytes, and the cutting of text into pieces: each rule of each row
 * of the table by an example worked out by hand, white space against Unicode's list, and the one
 * law that holds for any bytes: the pieces join to the text. */
#include "small_vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEED = 20240611 };

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int encode_char(uint32_t c, char to[4])
{
    if (c < 0x80) return to[0] = (char)c, 1;
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)((length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0) | c);
    return length;
}

static void test_every_character_has_its_length_and_its_prefixes_wait(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[4];
        int length = encode_char(c, text);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(mw__utf8_length(text, length), surrogate ? 0 : length);
        for (int cut = 1; cut < length && !surrogate; cut++)
            assert_int_equal(mw__utf8_length(text, cut), -cut);
    }
}

static void test_ill_formed_bytes_begin_no_character(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",     "\xbf",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80",
        "\xe0\x9f", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",     "\xc3(",        "\xe2\x82(",        "\xf0\x9f\x98(",    "\xe2(",
    };
    for (int i = 0; i < MW_COUNT(bad); i++)
        assert_int_equal(mw__utf8_length(bad[i], (int64_t)strlen(bad[i])), 0);
}

static void test_spelling_of_bytes_is_one_to_one(void **state)
{
    (void)state;
    static const struct {
        int byte;
        const char *spelled;
    } known[] = {{'!', "!"},      {'~', "~"},      {' ', "\u0120"}, {'\n', "\u010a"},
                 {0, "\u0100"},   {127, "\u0121"}, {160, "\u0142"}, {173, "\u0143"},
                 {161, "\u00a1"}, {255, "\u00ff"}};
    for (int byte = 0; byte < 256; byte++) {
        char spelled[2];
        uint8_t back;
        int length = mw__byte_spell((uint8_t)byte, spelled);
        assert_int_equal(mw__utf8_length(spelled, length), length);
        assert_int_equal(mw__byte_unspell(spelled, length, &back), length);
        assert_int_equal(back, byte);
    }
    for (int i = 0; i < MW_COUNT(known); i++) {
        char spelled[2];
        int length = mw__byte_spell((uint8_t)known[i].byte, spelled);
        assert_int_equal(length, strlen(known[i].spelled));
        assert_memory_equal(spelled, known[i].spelled, (size_t)length);
    }
    uint8_t byte;
    static const char *const no_spelling[] = {" ",      "\n",   "\u00ad", "\u0144",
                                              "\u4f60", "\xff", "\x7f"};
    for (int i = 0; i < MW_COUNT(no_spelling); i++)
        assert_int_equal(mw__byte_unspell(no_spelling[i], (int64_t)strlen(no_spelling[i]), &byte),
                         0);
}

/* Pieces with a bar after each. */
typedef struct pieces {
    char text[8192];
    int64_t length, count;
} pieces;

static mw_status collect(void *user, const char *piece, int64_t length)
{
    pieces *p = user;
    assert_true(length > 0);
    assert_true(p->length + length < (int64_t)sizeof p->text - 2);
    memcpy(p->text + p->length, piece, (size_t)length);
    p->length += length;
    p->text[p->length++] = '|';
    p->text[p->length] = 0;
    p->count++;
    return MW_OK;
}

static mw__splitter *splitter_of(const char *name, mw__pretoken **ret)
{
    mw__splitter *splitter;
    assert_int_equal(mw__pretoken_new(name, ret), MW_OK);
    assert_int_equal(mw__splitter_new(*ret, &splitter), MW_OK);
    return splitter;
}

static const struct {
    const char *pre, *text, *pieces;
} splits[] = {
    {"smollm", "", ""},
    {"smollm", "Hello, world!", "Hello|,| world|!|"},
    {"smollm", "  ", "  |"},
    {"smollm", " a  b   c", " a| | b|  | c|"},
    /* Each digit is a piece of its own, so the spaces before it end a text. */
    {"smollm", "a   12 3", "a|   |1|2| |3|"},
    {"smollm", "x86_64", "x|8|6|_|6|4|"},
    {"smollm", "\n  1. sub", "\n  |1|.| sub|"},
    {"gpt-2", "a   12 3", "a|  | 12| 3|"},
    {"gpt-2", "\n  1. sub", "\n | 1|.| sub|"},
    /* Digits of other scripts, a superscript and a Roman numeral are \p{N}. */
    {"smollm", "\u0967\u0968 \u0661\u00b2\u216b", "\u0967|\u0968| |\u0661|\u00b2|\u216b|"},
    {"gpt-2", "\u0967\u0968 \u0661\u00b2\u216b", "\u0967\u0968| \u0661\u00b2\u216b|"},
    /* Contractions are lower case, and cut a word wherever they stand. */
    {"smollm", "it's I'M 'll we'reno", "it|'s| I|'|M| '|ll| we|'re|no|"},
    {"smollm", "'s 't 'd", "'s| '|t| '|d|"},
    {"smollm", "can't'", "can|'t|'|"},
    {"smollm", "a\r\nb\r\n\r\nc", "a|\r|\n|b|\r\n\r|\n|c|"},
    {"smollm", "a\n\n", "a|\n\n|"},
    {"smollm", "\t\tx", "\t|\t|x|"},
    {"smollm", "end \nx", "end| |\n|x|"},
    {"smollm", "!!! ??\n", "!!!| ??|\n|"},
    /* No-break space, ideographic space, line separator, next line are white space, never " ?". */
    {"smollm",
     "a\u00a0b\u3000c\u2028d\xc2\x85"
     "e",
     "a|\u00a0|b|\u3000|c|\u2028|d|\xc2\x85|e|"},
    /* Zero-width space, byte-order mark, Mongolian vowel separator and U+001C are not. */
    {"smollm", "a\u200bb\ufeff\u180e c", "a|\u200b|b|\ufeff\u180e| c|"},
    {"smollm", "a \u180e", "a| \u180e|"},
    {"smollm", "a \x1c!", "a| \x1c!|"},
    /* A combining mark is no letter; a modifier letter is. */
    {"smollm", "e\u0301x \u0301", "e|\u0301|x| \u0301|"},
    {"smollm", "a\u02b0 \u4f60\u597d\uff0c\U0001F600", "a\u02b0| \u4f60\u597d|\uff0c\U0001F600|"},
    /* A byte that begins no character counts as a symbol. */
    {"smollm", "a\xff! \x80", "a|\xff!| \x80|"},
    {"smollm", "\xe4\xbd", "\xe4\xbd|"},
    {"smollm", "\xe4\xbd\xa0\xe4 b", "\xe4\xbd\xa0|\xe4| b|"},
    {"smollm", "a \xed\xa0\x80\xf0\x9f 1", "a| \xed\xa0\x80\xf0\x9f| |1|"},
    {"llama-bpe", "12345 it'S", "123|45| it|'S|"},
    {"llama-bpe", "\n\n a!\n\nb  1", "\n\n| a|!\n\n|b| | |1|"},
    {"llama-bpe", "(word \u00e9t\u00e9\tx", "(word| \u00e9t\u00e9|\tx|"},
    {"qwen2", "12345 it'S", "1|2|3|4|5| it|'S|"},
    {"qwen2", "a  \r\n b  ", "a|  \r\n| b|  |"},
    /* The default cuts at punctuation first and then again each run of digits by threes. */
    {"default", "a (b) 12345", "a| |(|b|)| |123|45|"},
    {NULL, "a, b", "a|,| b|"},
};

static void test_pieces_are_those_worked_out_by_hand(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(splits); i++) {
        mw__pretoken *pretoken;
        mw__splitter *splitter = splitter_of(splits[i].pre, &pretoken);
        pieces got = {0};
        assert_int_equal(mw__splitter_run(splitter, splits[i].text, (int64_t)strlen(splits[i].text),
                                          collect, &got),
                         MW_OK);
        if (strcmp(got.text, splits[i].pieces) != 0)
            fail_msg("row %d, '%s': got %s, expected %s", i, splits[i].text, got.text,
                     splits[i].pieces);
        mw__splitter_free(splitter);
        mw__pretoken_free(pretoken);
    }
}

static void test_nul_is_a_symbol(void **state)
{
    (void)state;
    mw__pretoken *pretoken;
    mw__splitter *splitter = splitter_of("smollm", &pretoken);
    pieces got = {0};
    assert_int_equal(mw__splitter_run(splitter, "a\0!b", 4, collect, &got), MW_OK);
    assert_int_equal(got.count, 3);
    assert_memory_equal(got.text, "a|\0!|b|", 7);
    mw__splitter_free(splitter);
    mw__pretoken_free(pretoken);
}

static int pieces_of(mw__splitter *splitter, const char *text, int64_t length)
{
    pieces got = {0};
    assert_int_equal(mw__splitter_run(splitter, text, length, collect, &got), MW_OK);
    return (int)got.count;
}

/* Of the four categories that the patterns know, a character is the one whose sample it joins;
 * white space joins none of the other three. */
static void test_white_space_is_unicodes_list(void **state)
{
    (void)state;
    mw__pretoken *pretoken;
    mw__splitter *splitter = splitter_of("gpt-2", &pretoken);
    int found = 0;
    for (uint32_t c = 0; c < 0x110000; c += c < 0x3100 ? 1 : 211) {
        if (c >= 0xd800 && c < 0xe000) continue;
        bool joins = false;
        for (int i = 0; i < 3; i++) {
            char text[5] = {"a1."[i]};
            joins |= pieces_of(splitter, text, 1 + encode_char(c, text + 1)) == 1;
        }
        bool space = (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
                     (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
                     c == 0x205f || c == 0x3000;
        if (joins == space) fail_msg("U+%04X is wrongly %swhite space", c, joins ? "no " : "");
        found += space;
    }
    assert_int_equal(found, 25);
    mw__splitter_free(splitter);
    mw__pretoken_free(pretoken);
}

typedef struct joined {
    const char *at;
    int64_t pieces;
} joined;

static mw_status follow(void *user, const char *piece, int64_t length)
{
    joined *j = user;
    assert_ptr_equal(piece, j->at);
    assert_true(length > 0);
    j->at += length;
    j->pieces++;
    return MW_OK;
}

static void test_pieces_of_any_bytes_join_to_the_text(void **state)
{
    (void)state;
    static const char *const names[] = {"default", "gpt-2", "smollm", "llama-bpe", "qwen2"};
    static const char *const parts[] = {" ",      "  ",     "\n",   "\r\n",   "1",
                                        "23",     "a",      "Be",   "\u00e9", "'s",
                                        "'S",     "!",      "\xff", "\xe4",   "\u3000",
                                        "\u0301", "\u0661", ".,",   "\t",     "\xf0\x9f\x98\x80"};
    printf("seed %d\n", SEED);
    uint32_t random = SEED;
    for (int n = 0; n < MW_COUNT(names); n++) {
        mw__pretoken *pretoken;
        mw__splitter *splitter = splitter_of(names[n], &pretoken);
        for (int round = 0; round < 2000; round++) {
            char text[256];
            int64_t length = 0;
            for (uint32_t i = next(&random) % 40; i > 0; i--) {
                const char *part = parts[next(&random) % MW_COUNT(parts)];
                memcpy(text + length, part, strlen(part));
                length += (int64_t)strlen(part);
                if (next(&random) % 8 == 0) text[length++] = (char)next(&random);
            }
            joined j = {text, 0};
            assert_int_equal(mw__splitter_run(splitter, text, length, follow, &j), MW_OK);
            assert_ptr_equal(j.at, text + length);
        }
        mw__splitter_free(splitter);
        mw__pretoken_free(pretoken);
    }
}

/* More spaces than PCRE2 by itself would try to give back one by one, looking for a line break. */
static void test_a_long_run_is_no_reason_to_give_up(void **state)
{
    (void)state;
    enum { LENGTH = 10500000 };
    mw__pretoken *pretoken;
    mw__splitter *splitter = splitter_of("llama-bpe", &pretoken);
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, ' ', LENGTH);
    text[LENGTH - 1] = 'x';
    joined j = {text, 0};
    assert_int_equal(mw__splitter_run(splitter, text, LENGTH, follow, &j), MW_OK);
    assert_ptr_equal(j.at, text + LENGTH);
    assert_int_equal(j.pieces, 2);
    free(text);
    mw__splitter_free(splitter);
    mw__pretoken_free(pretoken);
}

static mw_status refuse(void *user, const char *piece, int64_t length)
{
    (void)piece;
    (void)length;
    int *left = user;
    return --*left < 0 ? MW_FAIL(MW_ERR_ARG, "no more") : MW_OK;
}

static void test_a_failing_receiver_stops_the_cutting(void **state)
{
    (void)state;
    mw__pretoken *pretoken;
    mw__splitter *splitter = splitter_of("smollm", &pretoken);
    int left = 2;
    assert_int_equal(mw__splitter_run(splitter, "a b c d", 7, refuse, &left), MW_ERR_ARG);
    assert_int_equal(left, -1);
    mw__splitter_free(splitter);
    mw__pretoken_free(pretoken);
}

static void test_names_are_whole_words_and_unknown_ones_are_told(void **state)
{
    (void)state;
    static const char *const other[] = {"gpt2", "phi-2", "starcoder", "llama3", "deepseek-r1-qwen"};
    mw__pretoken *pretoken;
    for (int i = 0; i < MW_COUNT(other); i++) {
        assert_int_equal(mw__pretoken_new(other[i], &pretoken), MW_OK);
        mw__pretoken_free(pretoken);
    }
    assert_int_equal(mw__pretoken_new("llama3", &pretoken), MW_OK);
    assert_string_equal(mw__pretoken_name(pretoken), "llama-bpe");
    mw__pretoken_free(pretoken);
    static const char *const unknown[] = {"", "phi", "gpt2 phi-2", "star", "coder", "smollm3"};
    for (int i = 0; i < MW_COUNT(unknown); i++) {
        char says[200];
        (void)snprintf(says, sizeof says,
                       "the pre-tokenizer '%s' is not known; known are default, gpt-2, smollm, "
                       "llama-bpe, qwen2",
                       unknown[i]);
        assert_int_equal(mw__pretoken_new(unknown[i], &pretoken), MW_ERR_UNSUPPORTED);
        assert_string_equal(mw_last_error()->says, says);
    }
    assert_string_equal(mw_last_error()->hint, "did the file mean 'smollm'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character_has_its_length_and_its_prefixes_wait),
        cmocka_unit_test(test_ill_formed_bytes_begin_no_character),
        cmocka_unit_test(test_spelling_of_bytes_is_one_to_one),
        cmocka_unit_test(test_pieces_are_those_worked_out_by_hand),
        cmocka_unit_test(test_nul_is_a_symbol),
        cmocka_unit_test(test_white_space_is_unicodes_list),
        cmocka_unit_test(test_pieces_of_any_bytes_join_to_the_text),
        cmocka_unit_test(test_a_long_run_is_no_reason_to_give_up),
        cmocka_unit_test(test_a_failing_receiver_stops_the_cutting),
        cmocka_unit_test(test_names_are_whole_words_and_unknown_ones_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
