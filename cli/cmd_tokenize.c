/* meshwise tokenize: text to token ids, or back.
 *
 * The text is taken as it is: special tokens in it are tokens, nothing is stripped, no BOS is
 * added. What the vocabulary can't say is told on stderr and in "lost_bytes"; it is no failure,
 * since the model would lose it in the same way. */
#include "cli/cli.h"
#include "cli/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct input {
    const char *at;
    int64_t length;
    char *owned; /* what was read from standard input, or NULL */
} input;

static mw_status read_input(const char *text, input *ret)
{
    if (strcmp(text, "-") != 0) {
        *ret = (input){.at = text, .length = (int64_t)strlen(text)};
        return MW_OK;
    }
    input in = {0};
    mw_status status = cli_read_file("-", &in.owned, &in.length);
    if (status != MW_OK) return status;
    in.at = in.owned;
    *ret = in;
    return MW_OK;
}

static void free_input(input *in)
{
    if (in->owned) mw_memory_free(in->owned, (size_t)in->length + 1);
}

/* Appends to a list and says whether that worked: a NULL value is one that there was no memory for.
 */
static bool append(json_t *list, json_t *value)
{
    return list && value && json_array_append_new(list, value) == 0;
}

/* ---- text to ids --------------------------------------------------------------------------- */

static json_t *tokens_json(const mw_tokenizer *tokenizer, const mw_tokens *tokens)
{
    json_t *ids = json_array(), *pieces = json_array(), *lost = json_array();
    bool made = ids && pieces && lost;
    for (int64_t i = 0; i < tokens->count && made; i++) {
        mw_bytes piece;
        made = mw_tokenizer_piece(tokenizer, tokens->ids[i], &piece) == MW_OK &&
               append(ids, json_integer(tokens->ids[i])) &&
               append(pieces, json_text(piece.at, piece.length));
    }
    for (int64_t i = 0; i < tokens->lost_count && made; i++)
        made = append(lost, json_pack("{s:I, s:i}", "at", (json_int_t)tokens->lost[i].at, "byte",
                                      (int)tokens->lost[i].byte));
    if (made)
        return json_pack("{s:i, s:o, s:o, s:o}", "schema", 1, "ids", ids, "pieces", pieces,
                         "lost_bytes", lost);
    json_decref(ids);
    json_decref(pieces);
    json_decref(lost);
    return NULL;
}

/* At most so many lost bytes are named one by one. */
enum { LOST_SHOWN = 8 };

static void tell_lost(const mw_tokens *tokens)
{
    if (!tokens->lost_count) return;
    (void)fprintf(stderr, "meshwise: %lld of the text's bytes have no token in this vocabulary:",
                  (long long)tokens->lost_count);
    for (int64_t i = 0; i < tokens->lost_count && i < LOST_SHOWN; i++)
        (void)fprintf(stderr, "%s 0x%02x at %lld", i ? "," : "", tokens->lost[i].byte,
                      (long long)tokens->lost[i].at);
    (void)fprintf(stderr, "%s\n", tokens->lost_count > LOST_SHOWN ? ", ..." : "");
}

/* One line, as `run --ids` and `tokenize --decode` read it. */
static int print_ids(const mw_tokens *tokens)
{
    for (int64_t i = 0; i < tokens->count; i++)
        printf("%s%d", i ? "," : "", (int)tokens->ids[i]);
    (void)putchar('\n');
    return cli_flush();
}

static int encode(const cli_args *args, const mw_tokenizer *tokenizer, const input *in)
{
    mw_tokens tokens = {0};
    if (mw_tokenizer_encode(tokenizer, in->at, in->length, 0, &tokens) != MW_OK)
        return cli_report(args);
    tell_lost(&tokens);
    int code =
        args->json ? cli_print(args, tokens_json(tokenizer, &tokens), 0) : print_ids(&tokens);
    mw_tokens_done(&tokens);
    return code;
}

/* ---- ids to text --------------------------------------------------------------------------- */

static bool is_gap(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Reads the id at *at and moves past it. */
static mw_status read_id(const input *in, int64_t *at, int64_t vocab, int32_t *ret)
{
    char word[24];
    int64_t n = 0;
    while (*at + n < in->length && !is_gap(in->at[*at + n]))
        n++;
    int64_t kept = n < (int64_t)sizeof word ? n : (int64_t)sizeof word - 1;
    memcpy(word, in->at + *at, (size_t)kept);
    word[kept] = 0;
    char *end;
    errno = 0;
    long long id = strtoll(word, &end, 10);
    if (kept < n || end != word + n || errno)
        return mw_error_set(MW_ERR_ARG, "--decode: expected a token id, found `%s`", word);
    if (id < 0 || id >= vocab)
        return mw_error_set(MW_ERR_ARG, "--decode: %lld is outside the vocabulary of %lld tokens",
                            id, (long long)vocab);
    *ret = (int32_t)id;
    *at += n;
    return MW_OK;
}

static mw_status read_ids(const input *in, int64_t vocab, int32_t *ids, int64_t *ret_count)
{
    int64_t count = 0;
    for (int64_t at = 0; at < in->length;) {
        if (is_gap(in->at[at])) {
            at++;
            continue;
        }
        mw_status status = read_id(in, &at, vocab, &ids[count]);
        if (status != MW_OK) return status;
        count++;
    }
    *ret_count = count;
    return MW_OK;
}

static int print_text(const cli_args *args, const char *text, int64_t length)
{
    if (args->json) {
        json_t *string = json_text(text, length);
        return cli_print(args, string ? json_pack("{s:i, s:o}", "schema", 1, "text", string) : NULL,
                         0);
    }
    (void)fwrite(text, 1, (size_t)length, stdout); /* exactly these bytes: no newline is added */
    return cli_flush();
}

static int decode_ids(const cli_args *args, const mw_tokenizer *tokenizer, const int32_t *ids,
                      int64_t count)
{
    int64_t length = 0;
    if (mw_tokenizer_decode(tokenizer, ids, count, NULL, 0, &length) != MW_OK)
        return cli_report(args);
    size_t size = (size_t)length + 1;
    char *text = mw_memory(size);
    if (!text) return cli_report(args);
    mw_status status = mw_tokenizer_decode(tokenizer, ids, count, text, (int64_t)size, &length);
    int code = status == MW_OK ? print_text(args, text, length) : cli_report(args);
    mw_memory_free(text, size);
    return code;
}

static int decode(const cli_args *args, const mw_tokenizer *tokenizer, const input *in)
{
    size_t size =
        ((size_t)in->length / 2 + 1) * sizeof(int32_t); /* an id and a gap take two bytes */
    int32_t *ids = mw_memory(size);
    if (!ids) return cli_report(args);
    int64_t count = 0;
    mw_status status = read_ids(in, mw_tokenizer_size(tokenizer), ids, &count);
    int code = status == MW_OK ? decode_ids(args, tokenizer, ids, count) : cli_report(args);
    mw_memory_free(ids, size);
    return code;
}

int cmd_tokenize(const cli_args *args)
{
    if (args->npositional != 2)
        return cli_usage(args, "tokenize takes a model file and a text, not %d arguments",
                         args->npositional);
    cli_model model = {0};
    input in = {0};
    mw_status status = cli_model_open(args->positional[0], &model);
    if (status == MW_OK) status = read_input(args->positional[1], &in);
    int code;
    if (status != MW_OK)
        code = cli_report(args);
    else if (args->value[OPT_decode])
        code = decode(args, model.tokenizer, &in);
    else
        code = encode(args, model.tokenizer, &in);
    free_input(&in);
    cli_model_close(&model);
    return code;
}
