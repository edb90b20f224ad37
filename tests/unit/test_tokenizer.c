/* Text to ids, on a small vocabulary made in code. The judge of merging is the definition:
 * look for the best pair, merge it, look again. What holds for any bytes: decoding gives the text
 * less the lost bytes, all at once or one id at a time. */
#include "small_vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEED = 20240612 };

static small_vocab vocab;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static mw_tokenizer *make(void)
{
    mw_tokenizer *t;
    assert_int_equal(mw_tokenizer_new(&vocab.source, &t), MW_OK);
    return t;
}

static int fresh_vocab(void **state)
{
    (void)state;
    small_vocab_init(&vocab);
    mw_error_clear();
    return 0;
}

/* Encodes and writes the pieces with a bar after each. */
static const char *encoded(const mw_tokenizer *t, const char *text, unsigned flags)
{
    static char shown[512];
    mw_tokens tokens = {0};
    size_t used = 0;
    shown[0] = 0;
    assert_int_equal(mw_tokenizer_encode(t, text, (int64_t)strlen(text), flags, &tokens), MW_OK);
    for (int64_t i = 0; i < tokens.count; i++) {
        mw_bytes piece;
        assert_int_equal(mw_tokenizer_piece(t, tokens.ids[i], &piece), MW_OK);
        assert_true(used + (size_t)piece.length + 2 < sizeof shown);
        memcpy(shown + used, piece.at, (size_t)piece.length);
        used += (size_t)piece.length;
        shown[used++] = '|';
        shown[used] = 0;
    }
    mw_tokens_done(&tokens);
    return shown;
}

static void test_merges_apply_by_urgency_then_from_the_left(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    assert_string_equal(encoded(t, "xyz", 0), "x|yz|"); /* "yz" is more urgent than "xy" */
    assert_string_equal(encoded(t, "xy", 0), "xy|");
    assert_string_equal(encoded(t, "aaa", 0), "aa|a|");
    assert_string_equal(encoded(t, "aaaaaaa", 0), "aaaa|aa|a|");
    assert_string_equal(encoded(t, "hello hello", 0), "hello| hello|");
    assert_string_equal(encoded(t, "hel", 0), "he|l|");
    assert_string_equal(encoded(t, "a's", 0), "a|'s|");
    assert_string_equal(encoded(t, "\xf0\x9f\x98\x80", 0), "\xf0\x9f\x98|\x80|");
    mw_tokenizer_free(t);
}

static void test_merges_do_not_cross_pieces(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    assert_string_equal(encoded(t, "e\xcc\x81", 0),
                        "e|\xcc\x81|"); /* though "e" + mark has a merge */
    assert_string_equal(encoded(t, "\r\nx", 0), "\r|\n|x|");
    assert_string_equal(encoded(t, "\r\n", 0), "\r\n|");
    mw_tokenizer_free(t);
}

/* The definition of merging, quadratic. */
static int64_t merge_anew(const mw_tokenizer *t, int32_t *ids, int64_t count)
{
    for (;;) {
        const mw__merge *best = NULL;
        int64_t at = 0;
        for (int64_t i = 0; i + 1 < count; i++) {
            const mw__merge *m = mw__merge_find(t, ids[i], ids[i + 1]);
            if (m && (!best || m->rank < best->rank)) best = m, at = i;
        }
        if (!best) return count;
        ids[at] = best->id;
        count--;
        memmove(ids + at + 1, ids + at + 2, (size_t)(count - at - 1) * sizeof *ids);
    }
}

static void test_merging_is_that_of_the_definition(void **state)
{
    (void)state;
    /* More merges over few letters, so that they compete. */
    static const char *const more[][2] = {{"b", "a"},  {"a", "b"},   {"ab", "ab"}, {"ba", "b"},
                                          {"aa", "b"}, {"b", "b"},   {"bb", "aa"}, {"ab", "ba"},
                                          {"c", "a"},  {"ca", "ab"}, {"b", "c"},   {"bc", "ca"}};
    for (int i = 0; i < MW_COUNT(more); i++)
        small_add_merge(&vocab, more[i][0], more[i][1]);
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    mw__bpe bpe = {0};
    uint32_t random = SEED;
    printf("seed %d\n", SEED);
    for (int round = 0; round < 20000; round++) {
        char text[64];
        int32_t ids[64];
        int64_t length = next(&random) % 64;
        for (int64_t i = 0; i < length; i++) {
            text[i] = "aabbc"[next(&random) % 5];
            ids[i] = t->byte_id[(uint8_t)text[i]];
        }
        int64_t count = merge_anew(t, ids, length);
        tokens.count = 0;
        assert_int_equal(mw__bpe_run(&bpe, t, (mw_bytes){text, length}, 0, &tokens), MW_OK);
        assert_int_equal(tokens.count, count);
        if (count) assert_memory_equal(tokens.ids, ids, (size_t)count * sizeof *ids);
    }
    mw__bpe_done(&bpe);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static void test_special_tokens_are_parsed_the_longest_first(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    static const char text[] = "a<|im_start|>user<|im_end|><|im<|im_start<|end|>";
    assert_int_equal(mw_tokenizer_encode(t, text, sizeof text - 1, 0, &tokens), MW_OK);
    assert_int_equal(tokens.ids[1], SMALL_IM_START);
    assert_string_equal(encoded(t, text, 0),
                        "a|<|im_start|>|u|s|e|r|<|im_end|>|<|im|<|im|_|s|t|a|r|t|<|end|>|");
    assert_int_equal(tokens.ids[tokens.count - 1], SMALL_END);
    assert_string_equal(encoded(t, "for\twhile", 0), "for\twhile|");
    assert_string_equal(encoded(t, "for\twhil", 0), "f|o|r|\t|w|h|i|l|");
    assert_string_equal(encoded(t, "<<|end|>>", 0), "<|<|end|>|>|");
    /* A special token ends the text before it: its spaces stay together. */
    assert_string_equal(encoded(t, "a  <|end|>  b", 0), "a|  |<|end|>| | |b|");
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static void test_plain_encoding_sees_characters_only(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    assert_string_equal(encoded(t, "<|end|>", MW_ENCODE_PLAIN), "<|||e|n|d|||>|");
    mw_tokenizer_free(t);
}

static void test_bos_follows_the_files_rule(void **state)
{
    (void)state;
    static const struct {
        const char *pre;
        int add_bos, bos_id, expect;
    } rules[] = {
        {"smollm", -1, SMALL_END, 0}, {"smollm", 1, SMALL_END, 1},
        {"smollm", 0, SMALL_END, 0},  {"llama-bpe", -1, SMALL_END, 1},
        {"llama-bpe", -1, -1, 0},     {"llama-bpe", 0, SMALL_END, 0},
    };
    for (int i = 0; i < MW_COUNT(rules); i++) {
        vocab.source.pre = rules[i].pre;
        vocab.source.add_bos = rules[i].add_bos;
        vocab.source.bos_id = rules[i].bos_id;
        mw_tokenizer *t = make();
        mw_tokens tokens = {0};
        assert_int_equal(mw_tokenizer_adds_bos(t), rules[i].expect);
        assert_int_equal(mw_tokenizer_encode(t, "a", 1, MW_ENCODE_BOS, &tokens), MW_OK);
        assert_int_equal(tokens.count, 1 + rules[i].expect);
        if (rules[i].expect) assert_int_equal(tokens.ids[0], SMALL_END);
        assert_int_equal(mw_tokenizer_encode(t, "a", 1, 0, &tokens), MW_OK);
        assert_int_equal(tokens.count, 1);
        mw_tokens_done(&tokens);
        mw_tokenizer_free(t);
    }
}

static void test_a_piece_that_is_a_token_wins_where_the_row_says_so(void **state)
{
    (void)state;
    small_add_token(&vocab, "xyz", 3, MW_TOKEN_NORMAL);
    mw_tokenizer *t = make();
    assert_string_equal(encoded(t, "xyz", 0), "x|yz|");
    mw_tokenizer_free(t);
    vocab.source.pre = "llama-bpe";
    t = make();
    assert_string_equal(encoded(t, "xyz", 0), "xyz|");
    assert_string_equal(encoded(t, "xyzx", 0), "x|yz|x|");
    mw_tokenizer_free(t);
}

static void test_lost_bytes_are_told_and_their_neighbours_meet(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    static const char text[] = "..\x04..<|end|>x\xff\xc0";
    static const mw_lost_byte lost[] = {{2, 0x04}, {13, 0xff}, {14, 0xc0}};
    assert_int_equal(mw_tokenizer_encode(t, text, sizeof text - 1, 0, &tokens), MW_OK);
    assert_string_equal(encoded(t, text, 0), "....|<|end|>|x|");
    assert_int_equal(tokens.lost_count, MW_COUNT(lost));
    for (int i = 0; i < MW_COUNT(lost); i++) {
        assert_int_equal(tokens.lost[i].at, lost[i].at);
        assert_int_equal(tokens.lost[i].byte, lost[i].byte);
    }
    /* The next text starts afresh. */
    assert_int_equal(mw_tokenizer_encode(t, "x", 1, 0, &tokens), MW_OK);
    assert_int_equal(tokens.lost_count, 0);
    assert_int_equal(tokens.count, 1);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static void test_empty_text_has_no_tokens_and_nul_is_a_byte(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    assert_int_equal(mw_tokenizer_encode(t, "", 0, 0, &tokens), MW_OK);
    assert_int_equal(tokens.count, 0);
    assert_int_equal(mw_tokenizer_encode(t, NULL, 0, 0, &tokens), MW_OK);
    assert_int_equal(tokens.count, 0);
    assert_int_equal(mw_tokenizer_encode(t, "a\0a", 3, 0, &tokens), MW_OK);
    assert_int_equal(tokens.count, 3);
    assert_int_equal(tokens.ids[1], t->byte_id[0]);
    char back[8];
    int64_t length;
    assert_int_equal(mw_tokenizer_decode(t, tokens.ids, 3, back, sizeof back, &length), MW_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(back, "a\0a", 4);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

/* Were any of these quadratic, the test would run for hours. */
static void test_long_runs_take_time_in_proportion(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 };
    static const struct {
        char byte;
        int64_t ids, lost;
    } runs[] = {{'a', LENGTH / 8, 0},   {' ', LENGTH / 2, 0}, {'<', LENGTH, 0},
                {'.', LENGTH / 4, 0},   {'1', LENGTH, 0},     {(char)0x80, LENGTH, 0},
                {(char)0xff, 0, LENGTH}};
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    char *text = malloc(LENGTH);
    assert_non_null(text);
    for (int i = 0; i < MW_COUNT(runs); i++) {
        memset(text, runs[i].byte, LENGTH);
        assert_int_equal(mw_tokenizer_encode(t, text, LENGTH, 0, &tokens), MW_OK);
        assert_int_equal(tokens.count, runs[i].ids);
        assert_int_equal(tokens.lost_count, runs[i].lost);
    }
    free(text);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

static void test_the_vocabulary_answers_for_itself(void **state)
{
    (void)state;
    /* Of two tokens spelled alike the later is found; of two equal merges the earlier counts. */
    small_add_token(&vocab, "zz", 2, MW_TOKEN_NORMAL);
    small_add_token(&vocab, "zz", 2, MW_TOKEN_NORMAL);
    small_add_token(&vocab, "", 0, MW_TOKEN_UNUSED);
    small_add_token(&vocab, "\u4f60 \u597d", 7, MW_TOKEN_NORMAL); /* not in GPT-2's spelling */
    vocab.merges[vocab.source.nmerges++] = vocab.merges[0];
    vocab.source.types = NULL;
    mw_tokenizer *t = make();
    int64_t size = mw_tokenizer_size(t);
    mw_bytes piece;
    assert_int_equal(size, vocab.source.ntokens);
    assert_int_equal(mw_tokenizer_find(t, "zz", 2), size - 3);
    assert_int_equal(mw_tokenizer_find(t, "", 0), -1);
    assert_int_equal(mw_tokenizer_find(t, "zzz", 3), -1);
    assert_int_equal(mw_tokenizer_piece(t, size - 1, &piece), MW_OK);
    assert_int_equal(piece.length, 7);
    assert_memory_equal(piece.at, "\u4f60 \u597d", 7);
    assert_int_equal(mw_tokenizer_bos(t), SMALL_END);
    assert_int_equal(mw_tokenizer_eos(t), SMALL_IM_END);
    assert_true(mw_tokenizer_is_end(t, SMALL_IM_END));
    assert_false(mw_tokenizer_is_end(t, SMALL_IM_START));
    assert_false(mw_tokenizer_is_end(t, -1));
    assert_string_equal(mw_tokenizer_pre(t), "smollm");
    /* Without types no token is special. */
    assert_string_equal(encoded(t, "<|end|>", 0), "<|||e|n|d|||>|");
    assert_string_equal(encoded(t, "xyz", 0), "x|yz|");
    mw_tokenizer_free(t);
    mw_tokenizer_free(NULL);
}

static void must_refuse(mw_status status, const char *says)
{
    mw_tokenizer *t = NULL;
    assert_int_equal(mw_tokenizer_new(&vocab.source, &t), status);
    assert_null(t);
    assert_string_equal(mw_last_error()->says, says);
    small_vocab_init(&vocab);
}

static void set_merge(const char *text)
{
    vocab.merges[3] = (mw_bytes){text, (int64_t)strlen(text)};
}

static void test_a_source_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    vocab.source.model = "llama";
    must_refuse(MW_ERR_UNSUPPORTED,
                "the file's tokenizer is of the kind 'llama'; the kind that is read "
                "is 'gpt2', byte-level BPE");
    assert_string_equal(mw_last_error()->hint, "token ids can be given as they are, with --ids");
    vocab.source.model = NULL;
    must_refuse(MW_ERR_UNSUPPORTED,
                "the file's tokenizer is of the kind ''; the kind that is read is "
                "'gpt2', byte-level BPE");
    vocab.source.pre = "tekken";
    must_refuse(MW_ERR_UNSUPPORTED,
                "the pre-tokenizer 'tekken' is not known; known are default, gpt-2, "
                "smollm, llama-bpe, qwen2");
    vocab.source.ntokens = 0;
    must_refuse(MW_ERR_FORMAT, "a vocabulary of 0 tokens and 20 merges cannot be used");
    vocab.source.bos_id = 1000;
    must_refuse(MW_ERR_FORMAT, "the bos id 1000 is not in the vocabulary of 277 tokens");
    vocab.source.eos_id = -2;
    must_refuse(MW_ERR_FORMAT, "the eos id -2 is not in the vocabulary of 277 tokens");
    vocab.source.eot_id = 277;
    must_refuse(MW_ERR_FORMAT, "the eot id 277 is not in the vocabulary of 277 tokens");
    vocab.source.add_bos = 1, vocab.source.bos_id = -1;
    must_refuse(MW_ERR_FORMAT, "the file asks for a bos token before each text and names none");
    vocab.types[7] = 9;
    must_refuse(MW_ERR_FORMAT, "token 7 of the vocabulary has the type 9; types are 0 to 6");
    set_merge("lol");
    must_refuse(MW_ERR_FORMAT, "merge 3, 'lol', is not two tokens with a space between");
    set_merge("lo ");
    must_refuse(MW_ERR_FORMAT, "merge 3, 'lo ', is not two tokens with a space between");
    set_merge("");
    must_refuse(MW_ERR_FORMAT, "merge 3, '', is not two tokens with a space between");
    set_merge("l \n\xff");
    must_refuse(MW_ERR_FORMAT, "merge 3, 'l \\x0a\\xff', needs the token '\\x0a\\xff', which the "
                               "vocabulary of 277 tokens lacks");
    set_merge("l o");
    must_refuse(MW_ERR_FORMAT,
                "merge 3, 'l o', needs the token 'lo', which the vocabulary of 277 tokens lacks");
    vocab.source.ntokens = SMALL_SPECIALS;
    must_refuse(MW_ERR_FORMAT,
                "the vocabulary of 5 tokens has no token for any single byte, so it is "
                "not a byte-level one");
    assert_int_equal(mw_tokenizer_new(NULL, NULL), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says,
                        "mw_tokenizer_new needs a source and a place for the result");
}

static void test_a_text_that_is_too_long_is_refused_unread(void **state)
{
    (void)state;
    mw_tokenizer *t = make();
    mw_tokens tokens = {0};
    assert_int_equal(mw_tokenizer_encode(t, "", (int64_t)INT32_MAX + 1, 0, &tokens), MW_ERR_ARG);
    assert_string_equal(
        mw_last_error()->says,
        "a text of 2147483648 bytes cannot be tokenized at once; the most is 2147483647");
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
}

/* Everything once; the first failure ends it. */
static mw_status scenario(void)
{
    mw_status status;
    mw_tokenizer *t = NULL;
    mw_decoder *decoder = NULL;
    mw_tokens tokens = {0};
    mw_bytes out;
    bool encoded_all = false;
    static const char text[] = "hello <|im_start|>\x04 aaaaaaaaaaaaaaaaaaaa \xff 12";
    MW_TRY_GOTO(mw_tokenizer_new(&vocab.source, &t), done);
    MW_TRY_GOTO(mw_tokenizer_encode(t, text, sizeof text - 1, MW_ENCODE_BOS, &tokens), done);
    encoded_all = true;
    MW_TRY_GOTO(mw_decoder_new(t, &decoder), done);
    for (int64_t i = 0; i < tokens.count; i++)
        MW_TRY_GOTO(mw_decoder_push(decoder, tokens.ids[i], &out), done);
done:
    if (!encoded_all) assert_int_equal(tokens.count, 0);
    mw_decoder_free(decoder);
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
    return status;
}

static void test_every_failing_allocation_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    static const char *const pres[] = {"smollm", "llama-bpe", "default"};
    static const char system[] =
        "'<|im_start|>system\\nBe.<|im_end|>\\n' + '<|im_start|>' + role + '\\n'";
    for (int i = 0; i < MW_COUNT(pres); i++) {
        mw_status status = MW_ERR_NOMEM;
        int64_t failed = 0;
        vocab.source.pre = pres[i];
        vocab.source.chat_template = (mw_bytes){system, sizeof system - 1};
        while (status != MW_OK) {
            mw_fault_allocator fault;
            mw_fault_allocator_init(&fault, ++failed, 0);
            mw_allocator_use(&fault.allocator);
            status = scenario();
            mw_allocator_use(NULL);
            assert_int_equal(fault.live, 0);
            if (status != MW_OK) assert_int_equal(status, MW_ERR_NOMEM);
            assert_true(failed < 10000);
        }
        assert_true(failed > 20);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fresh_vocab)
    const struct CMUnitTest tests[] = {
        TEST(test_merges_apply_by_urgency_then_from_the_left),
        TEST(test_merges_do_not_cross_pieces),
        TEST(test_merging_is_that_of_the_definition),
        TEST(test_special_tokens_are_parsed_the_longest_first),
        TEST(test_plain_encoding_sees_characters_only),
        TEST(test_bos_follows_the_files_rule),
        TEST(test_a_piece_that_is_a_token_wins_where_the_row_says_so),
        TEST(test_lost_bytes_are_told_and_their_neighbours_meet),
        TEST(test_empty_text_has_no_tokens_and_nul_is_a_byte),
        TEST(test_long_runs_take_time_in_proportion),
        TEST(test_the_vocabulary_answers_for_itself),
        TEST(test_a_source_that_contradicts_itself_is_refused),
        TEST(test_a_text_that_is_too_long_is_refused_unread),
        TEST(test_every_failing_allocation_is_told_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
