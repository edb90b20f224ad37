/* meshwise eval: how well a model foresees a text. */
#include "cli/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 128 }; /* rows of logits at a time: [128, vocab] */

typedef struct eval_state {
    session s;
    int64_t *ids;
    int64_t n;
    int64_t scored;
    double sum; /* of negative log-likelihoods, in f64; written by rank 0 */
} eval_state;

/* Scores ids[first + 1 .. end) after ids[first ..]: one pass, an empty cache before the first. */
static mw_status score_window(eval_state *e, llama *model, int64_t first, int64_t end)
{
    int64_t n = end - first - 1;
    mw_scope_begin("window");
    mw_tensor *rows = llama_forward(model, e->ids + first, n);
    mw_status status = rows ? MW_OK : mw_last_error()->code;
    for (int64_t at = 0; at < n && status == MW_OK; at += ROWS) {
        int64_t count = n - at < ROWS ? n - at : ROWS;
        mw_scope_begin("rows");
        mw_tensor *part = mw_slice(rows, 0, at, at + count, 1);
        mw_tensor *nll = llama_nll(model, part, e->ids + first + 1 + at, count);
        double each[ROWS];
        if (!mw_is_fake())
            status = mw_read(nll, MW_DTYPE_f64, each, count * (int64_t)sizeof(double));
        if (!nll) status = mw_last_error()->code;
        for (int64_t i = 0; i < count && status == MW_OK && mw_rank_index() == 0 && !mw_is_fake();
             i++)
            e->sum += each[i];
        (void)mw_scope_end(NULL);
    }
    (void)mw_scope_end(NULL);
    return status;
}

static mw_status program(void *user)
{
    eval_state *e = user;
    int64_t window = e->s.config.context < e->n ? e->s.config.context : e->n;
    llama *model;
    mw_status status = session_load(&e->s, window, &model);
    if (status != MW_OK) return status;
    int64_t scored = 0;
    for (int64_t first = 0; first + 1 < e->n && status == MW_OK; first += window) {
        int64_t end = first + window < e->n ? first + window : e->n;
        if (end - first < 2) break;
        llama_restart(model);
        status = score_window(e, model, first, end);
        scored += end - first - 1;
    }
    if (mw_rank_index() == 0) e->scored = scored;
    llama_close(model);
    return status;
}

static mw_status read_text(eval_state *e, const char *path)
{
    char *text;
    int64_t length;
    mw_status status = cli_read_file(path, &text, &length);
    if (status != MW_OK) return status;
    mw_tokens tokens = {0};
    /* The newline that ends a text file's last line is the file's, not the text's. */
    int64_t text_length = length;
    if (text_length > 0 && text[text_length - 1] == '\n') text_length--;
    if (text_length > 0 && text_length < length && text[text_length - 1] == '\r') text_length--;
    status = mw_tokenizer_encode(e->s.model.tokenizer, text, text_length, MW_ENCODE_PLAIN, &tokens);
    mw_memory_free(text, (size_t)length + 1);
    if (status == MW_OK && tokens.count < 2)
        status = mw_error_set(MW_ERR_FORMAT,
                              "%s: %lld tokens; two are the least of which one can be scored", path,
                              (long long)tokens.count);
    if (status == MW_OK) {
        e->n = tokens.count;
        e->ids = mw_memory((size_t)e->n * sizeof *e->ids);
        if (!e->ids) status = mw_last_error()->code;
    }
    for (int64_t i = 0; e->ids && i < e->n; i++)
        e->ids[i] = tokens.ids[i];
    if (status == MW_OK && tokens.lost_count && cli_first(e->s.args))
        (void)fprintf(
            stderr,
            "meshwise: %lld bytes of the text have no token in this vocabulary and are lost\n",
            (long long)tokens.lost_count);
    mw_tokens_done(&tokens);
    return status;
}

static int print_result(const eval_state *e, double expect)
{
    const cli_args *args = e->s.args;
    double nll = e->sum / (double)e->scored;
    int code = args->value[OPT_expect] && !(fabs(nll - expect) <= 1e-5) ? EXIT_NO : 0;
    if (args->json)
        return cli_print(args,
                         json_pack("{s:i, s:I, s:f, s:f}", "schema", 1, "tokens",
                                   (json_int_t)e->scored, "nll", nll, "perplexity", exp(nll)),
                         code);
    printf("%lld tokens scored, mean negative log-likelihood %.7f, perplexity %.5f\n",
           (long long)e->scored, nll, exp(nll));
    if (code) (void)fprintf(stderr, "meshwise: expected %.7f within 1e-5\n", expect);
    return code;
}

int cmd_eval(const cli_args *args)
{
    eval_state e = {0};
    double expect = 0;
    if (args->npositional != 2)
        return cli_usage(args, "eval takes a model file and a text file, not %d arguments",
                         args->npositional);
    if (cli_float(args, OPT_expect, -1e9, 1e9, &expect) != MW_OK) return cli_report(args);
    int code = session_open(args, args->positional[0], &e.s);
    if (code >= 0) return code;
    mw_status status = read_text(&e, args->positional[1]);
    if (status == MW_OK && strcmp(e.s.launch.backend, "fake") == 0)
        status = mw_error_set(MW_ERR_ARG, "eval needs values; the fake backend has none");
    status = session_launch(&e.s, status, program, &e);
    if (status != MW_OK)
        code = cli_report(args);
    else
        code = cli_first(args) ? print_result(&e, expect) : 0;
    mw_memory_free(e.ids, (size_t)e.n * sizeof *e.ids);
    session_close(&e.s);
    return code;
}
