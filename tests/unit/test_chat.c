/* The chat template: which are recognised, what is taken from them, and what conversations look
 * like. */
#include "small_vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static small_vocab vocab;

static mw_tokenizer *make(const char *template)
{
    mw_tokenizer *t;
    if (template) vocab.source.chat_template = (mw_bytes){template, (int64_t)strlen(template)};
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

#define TURN \
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"

static const char *rendered(const mw_tokenizer *t, const mw_turn *turns, int count, int open_reply)
{
    static char text[512];
    int64_t length;
    assert_int_equal(mw_chat_render(t, turns, count, open_reply, text, sizeof text, &length),
                     MW_OK);
    assert_int_equal(length, strlen(text));
    return text;
}

#define SAY(role, text)                   \
    {                                     \
        (role),                           \
        {                                 \
            (text), (int64_t)strlen(text) \
        }                                 \
    }

static void test_default_system_turn_comes_first_unless_the_caller_has_one(void **state)
{
    (void)state;
    mw_tokenizer *t = make("{% if messages[0]['role'] != 'system' %}"
                           "{{ '<|im_start|>system\\nBe brief.<|im_end|>\\n' }}{% endif %}" TURN);
    mw_turn turns[] = {SAY("user", "Hi"), SAY("assistant", "Yes?"), SAY("user", "")};
    assert_string_equal(rendered(t, turns, 1, 1),
                        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                        "<|im_start|>assistant\n");
    assert_string_equal(rendered(t, turns, 3, 0),
                        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                        "<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n<|im_end|>\n");
    mw_turn own[] = {SAY("system", "Be long."), SAY("user", "Hi")};
    assert_string_equal(rendered(t, own, 2, 1),
                        "<|im_start|>system\nBe long.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
                        "<|im_start|>assistant\n");
    assert_string_equal(rendered(t, NULL, 0, 0), "<|im_start|>system\nBe brief.<|im_end|>\n");
    mw_tokenizer_free(t);
}

static const struct {
    const char *template, *system; /* NULL: none */
} systems[] = {
    {TURN, NULL},
    {"{{ '<|im_start|>system\\nBe.<|im_end|>\\n' }}" TURN, "Be."},
    {"{{ \"<|im_start|>system\\nIt's \\\"so\\\".<|im_end|>\\n\" }}" TURN, "It's \"so\"."},
    {"{{ '<|im_start|>system\\nA\\tb\\\\c\\d\\n\\nE\\'<|im_end|>' }}" TURN, "A\tb\\c\\d\n\nE'"},
    /* A line break inside a literal may be a real one, as GGUF files have it. */
    {"{{ '<|im_start|>system\nBe {{plain}}.<|im_end|>\n' }}" TURN, "Be {{plain}}."},
    /* Template text outside of expressions. */
    {"{% if not s %}<|im_start|>system\nBe 'it'.<|im_end|>\n{% endif %}" TURN, "Be 'it'."},
    {"<|im_start|>system\n{{ messages[0].content }}<|im_end|>\n" TURN, NULL},
    /* The first that is written out counts; one that is put together is none. */
    {"{{ '<|im_start|>system\\n' + m + '<|im_end|>\\n' }}{{ '<|im_start|>system\\nBe.<|im_end|>' "
     "}}" TURN,
     "Be."},
    {"{{ '<|im_start|>system\\n' + m + '<|im_end|>\\n' }}" TURN, NULL},
    {"{{ '<|im_start|>system\\n<|im_end|>\\n' }}" TURN, ""},
    {"{{ '<|im_start|>system' }}" TURN, NULL},
    {TURN "{{ '<|im_start|>system\\nnever ends", NULL},
    {TURN "<|im_start|>system", NULL},
    {TURN "'<|im_start|>system\\", NULL},
    /* Other ways to write a turn of the family. */
    {"<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n", NULL},
    {"{{'<|im_start|>user\\n' + message['content'] + '<|im_end|>\\n'}}", NULL},
};

static void test_default_system_message_is_what_the_template_spells_out(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(systems); i++) {
        mw_tokenizer *t = make(systems[i].template);
        mw_bytes system = mw_chat_default_system(t);
        int64_t length;
        if (mw_chat_render(t, NULL, 0, 0, NULL, 0, &length) != MW_OK)
            fail_msg("row %d: %s", i, mw_last_error()->says);
        if (!systems[i].system && system.at)
            fail_msg("row %d: a system message where there is none: %s", i, system.at);
        if (systems[i].system && !system.at) fail_msg("row %d: no system message", i);
        if (systems[i].system) assert_string_equal(system.at, systems[i].system);
        if (systems[i].system) assert_int_equal(system.length, strlen(systems[i].system));
        mw_tokenizer_free(t);
    }
}

static void must_refuse(const mw_tokenizer *t, const char *says)
{
    mw_turn turn = SAY("user", "Hi");
    int64_t length = -7;
    assert_int_equal(mw_chat_render(t, &turn, 1, 1, NULL, 0, &length), MW_ERR_UNSUPPORTED);
    assert_int_equal(length, -7);
    assert_string_equal(mw_last_error()->says, says);
    assert_string_equal(mw_last_error()->hint,
                        "--prompt works: write the turns out as the model was trained on them");
    assert_null(mw_chat_default_system(t).at);
}

static void test_other_templates_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "{{ '[INST] ' + message['content'] + ' [/INST]' }}",
        "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}",
        /* Markers of the family with another one between the role and the content. */
        "{{ '<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>\\n' }}",
        /* No line break after the role, or after the end. */
        "{{ '<|im_start|>' + message['role'] + ': ' + message['content'] + '<|im_end|>\\n' }}",
        "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' }}",
        "<|im_start|>",
        "<|im_end|>\n",
        "<|im_start|>role",
    };
    for (int i = 0; i < MW_COUNT(others); i++) {
        mw_tokenizer *t = make(others[i]);
        must_refuse(t,
                    "the model file's chat template is not of the ChatML family, the one that is "
                    "known: turns between <|im_start|> and <|im_end|>");
        mw_tokenizer_free(t);
    }
    mw_tokenizer *t = make("");
    must_refuse(t, "the model file has no chat template");
    mw_tokenizer_free(t);
    vocab.source.chat_template = (mw_bytes){0};
    t = make(NULL);
    must_refuse(t, "the model file has no chat template");
    mw_tokenizer_free(t);
}

static void test_markers_must_be_tokens(void **state)
{
    (void)state;
    vocab.token_text[SMALL_IM_END][3] = 'x';
    mw_tokenizer *t = make(TURN);
    must_refuse(t, "the model file's chat template is not of the ChatML family, the one that is "
                   "known: turns between <|im_start|> and <|im_end|>");
    mw_tokenizer_free(t);
}

static void test_a_turn_needs_a_role(void **state)
{
    (void)state;
    mw_tokenizer *t = make(TURN);
    mw_turn turns[] = {SAY("user", "Hi"), SAY("", "x")};
    int64_t length;
    assert_int_equal(mw_chat_render(t, turns, 2, 1, NULL, 0, &length), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says,
                        "turn 1 of 2 has no role (turns are counted from 0)");
    turns[0].role = NULL;
    assert_int_equal(mw_chat_render(t, turns, 1, 1, NULL, 0, &length), MW_ERR_ARG);
    mw_tokenizer_free(t);
}

static void test_content_is_bytes_and_the_output_is_cut_to_fit(void **state)
{
    (void)state;
    mw_tokenizer *t = make(TURN);
    mw_turn turn = {"user", {"a\0b", 3}};
    char text[64], cut[20];
    int64_t length;
    assert_int_equal(mw_chat_render(t, &turn, 1, 0, text, sizeof text, &length), MW_OK);
    assert_int_equal(length, 31);
    assert_memory_equal(text, "<|im_start|>user\na\0b<|im_end|>\n", 32);
    assert_int_equal(mw_chat_render(t, &turn, 1, 0, cut, sizeof cut, &length), MW_OK);
    assert_int_equal(length, 31);
    assert_memory_equal(cut, "<|im_start|>user\na\0", 20);
    mw_tokenizer_free(t);
}

static void test_end_of_turn_is_an_end_and_markers_encode_to_one_id(void **state)
{
    (void)state;
    vocab.source.eos_id = SMALL_END; /* a base model's file: the template alone knows better */
    mw_tokenizer *t = make(TURN);
    mw_turn turn = SAY("user", "aa");
    mw_tokens tokens = {0};
    const char *text = rendered(t, &turn, 1, 1);
    assert_int_equal(mw_tokenizer_encode(t, text, (int64_t)strlen(text), 0, &tokens), MW_OK);
    assert_int_equal(tokens.ids[0], SMALL_IM_START);
    assert_int_equal(tokens.count, 1 + 4 + 1 + 1 + 1 + 1 + 1 + 9 + 1);
    assert_int_equal(tokens.ids[7], SMALL_IM_END);
    assert_true(mw_tokenizer_is_end(t, SMALL_IM_END));
    assert_true(mw_tokenizer_is_end(t, SMALL_END));
    mw_tokens_done(&tokens);
    mw_tokenizer_free(t);
    vocab.source.chat_template = (mw_bytes){0};
    t = make(NULL);
    assert_false(mw_tokenizer_is_end(t, SMALL_IM_END));
    mw_tokenizer_free(t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fresh_vocab)
    const struct CMUnitTest tests[] = {
        TEST(test_default_system_turn_comes_first_unless_the_caller_has_one),
        TEST(test_default_system_message_is_what_the_template_spells_out),
        TEST(test_other_templates_are_refused),
        TEST(test_markers_must_be_tokens),
        TEST(test_a_turn_needs_a_role),
        TEST(test_content_is_bytes_and_the_output_is_cut_to_fit),
        TEST(test_end_of_turn_is_an_end_and_markers_encode_to_one_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
