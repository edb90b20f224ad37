/* Ids to text. What holds for any bytes: decoding what was encoded gives the text less the lost
 * bytes, all at once or one id at a time; and a reader of the stream only ever sees whole
 * characters. */
#include "small_vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEED = 20240613 };

static small_vocab vocab;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static mw_tokenizer *make(void)
{
    mw_tokenizer *t;
    small_vocab_init(&vocab);
    assert_int_equal(mw_tokenizer_new(&vocab.source, &t), MW_OK);
    return t;
}

/* The id of a token by the bytes that it stands for. */
static int32_t id_of(const mw_tokenizer *t, const char *bytes)
{
    char spelled[SMALL_ROOM];
    int64_t length = small_spell(bytes, spelled);
    int64_t id = mw_tokenizer_find(t, spelled, length);
    assert_true(id >= 0);
    return (int32_t)id;
}

static void test_decoding_cuts_to_fit_and_tells_the_whole_length(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    int32_t ids[] = {id_of(t, "hello"), SMALL_USER, id_of(t, " hello")};
    char to[8] = "#######";
    int64_t length;
    assert_int_equal(mw_tokenizer_decode(t, ids, 3, NULL, 0, &length), MW_OK);
    assert_int_equal(length, 20);
    assert_int_equal(mw_tokenizer_decode(t, ids, 3, to, 8, &length), MW_OK);
    assert_int_equal(length, 20);
    assert_string_equal(to, "hellofo");
    assert_int_equal(mw_tokenizer_decode(t, ids, 0, to, 8, &length), MW_OK);
    assert_int_equal(length, 0);
    assert_string_equal(to, "");
    mw_tokenizer_free(t);
}

/* Writes some text, mostly well-formed, and what it decodes to: itself less the lost bytes. */
static int64_t random_text(uint32_t *random, bool well_formed, char *text, char *kept,
                           int64_t *ret_kept)
{
    static const char *const parts[] = {
        "hello",      " hello",  "aa",     "..",         " ",         "\n",           "12",
        "\u00e9",     "e\u0301", "\u4f60", "\U0001F600", "\u0440",    "<|im_start|>", "<|im",
        "for\twhile", "'s",      "\u3000", "\x04",       "\U0010FFFF"};
    int64_t length = 0;
    *ret_kept = 0;
    for (uint32_t i = next(random) % 30; i > 0; i--) {
        const char *part = parts[next(random) % MW_COUNT(parts)];
        int64_t size = (int64_t)strlen(part);
        if (!well_formed && size > 1) size -= next(random) % 2;
        memcpy(text + length, part, (size_t)size);
        length += size;
        if (!well_formed) text[length++] = (char)next(random);
    }
    for (int64_t i = 0; i < length; i++)
        if (!small_is_lost((uint8_t)text[i])) kept[(*ret_kept)++] = text[i];
    return length;
}

static void test_decoding_gives_the_text_less_the_lost_bytes(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    uint32_t random = SEED;
    for (int round = 0; round < 4000; round++) {
        char text[600], kept[600], back[600];
        int64_t nkept, length, size = random_text(&random, round % 2, text, kept, &nkept);
        unsigned flags = next(&random) % 2 ? MW_ENCODE_PLAIN : 0;
        assert_int_equal(mw_tokenizer_encode(t, text, size, flags, &tokens), MW_OK);
        assert_int_equal(tokens.lost_count, size - nkept);
        for (int64_t i = 0; i < tokens.lost_count; i++) {
            assert_int_equal(tokens.lost[i].byte, (uint8_t)text[tokens.lost[i].at]);
            assert_true(i == 0 || tokens.lost[i].at > tokens.lost[i - 1].at);
        }
        assert_int_equal(
            mw_tokenizer_decode(t, tokens.ids, tokens.count, back, sizeof back, &length), MW_OK);
        assert_int_equal(length, nkept);
        if (nkept) assert_memory_equal(back, kept, (size_t)nkept);
    }
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static bool well_formed(const char *at, int64_t length)
{
    for (int n; length > 0; at += n, length -= n)
        if ((n = mw__utf8_length(at, length)) <= 0) return false;
    return true;
}

static void test_streaming_shows_whole_characters_and_loses_nothing(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    mw_decoder *decoder;
    assert_int_equal(mw_decoder_new(t, &decoder), MW_OK);
    uint32_t random = SEED;
    for (int round = 0; round < 4000; round++) {
        char text[600], kept[600], shown[600];
        int64_t nkept, size = random_text(&random, round % 2, text, kept, &nkept), used = 0;
        bool whole = well_formed(kept, nkept);
        assert_int_equal(mw_tokenizer_encode(t, text, size, 0, &tokens), MW_OK);
        for (int64_t i = 0; i <= tokens.count; i++) {
            mw_bytes out;
            if (i < tokens.count)
                assert_int_equal(mw_decoder_push(decoder, tokens.ids[i], &out), MW_OK);
            else
                mw_decoder_flush(decoder, &out);
            if (whole) assert_true(well_formed(out.at, out.length));
            if (whole && i == tokens.count) assert_int_equal(out.length, 0);
            memcpy(shown + used, out.at, (size_t)out.length);
            used += out.length;
        }
        assert_int_equal(used, nkept);
        assert_memory_equal(shown, kept, (size_t)used + (used == 0));
    }
    mw_decoder_free(decoder);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static void test_streaming_holds_a_character_until_its_last_byte(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_decoder *decoder;
    mw_bytes out;
    assert_int_equal(mw_decoder_new(t, &decoder), MW_OK);
    static const char text[] = "\xf4\x80\x82\x81";
    for (int i = 0; i < 4; i++) {
        assert_int_equal(mw_decoder_push(decoder, t->byte_id[(uint8_t)text[i]], &out), MW_OK);
        assert_int_equal(out.length, i == 3 ? 4 : 0);
    }
    assert_memory_equal(out.at, text, 4);
    /* What can no longer become a character goes out at once, and what follows it is judged anew.
     */
    assert_int_equal(mw_decoder_push(decoder, t->byte_id[0xe4], &out), MW_OK);
    assert_int_equal(out.length, 0);
    assert_int_equal(mw_decoder_push(decoder, t->byte_id[0xe5], &out), MW_OK);
    assert_int_equal(out.length, 1);
    assert_memory_equal(out.at, "\xe4", 1);
    /* A failed push changes nothing. */
    assert_int_equal(mw_decoder_push(decoder, -1, &out), MW_ERR_ARG);
    mw_decoder_flush(decoder, &out);
    assert_int_equal(out.length, 1);
    assert_memory_equal(out.at, "\xe5", 1);
    mw_decoder_flush(decoder, &out);
    assert_int_equal(out.length, 0);
    mw_decoder_free(decoder);
    mw_decoder_free(NULL);
    mw_tokenizer_free(t);
}

static void test_an_id_outside_the_vocabulary_is_named(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    int32_t ids[] = {3, 277};
    int64_t length = -7;
    mw_bytes piece;
    assert_int_equal(mw_tokenizer_decode(t, ids, 2, NULL, 0, &length), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says,
                        "token id 277 is not in the vocabulary of 277 tokens (0 to 276)");
    assert_int_equal(length, -7);
    assert_int_equal(mw_tokenizer_piece(t, -1, &piece), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says,
                        "token id -1 is not in the vocabulary of 277 tokens (0 to 276)");
    mw_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding_cuts_to_fit_and_tells_the_whole_length),
        cmocka_unit_test(test_decoding_gives_the_text_less_the_lost_bytes),
        cmocka_unit_test(test_streaming_shows_whole_characters_and_loses_nothing),
        cmocka_unit_test(test_streaming_holds_a_character_until_its_last_byte),
        cmocka_unit_test(test_an_id_outside_the_vocabulary_is_named),
    };
    printf("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
