/* meshwise run: a prompt goes in, tokens come out, with an account of what moved. */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct phase {
    int64_t tokens;
    double seconds;
} phase;

typedef struct run_state {
    session s;
    int64_t *prompt; /* ids */
    int64_t nprompt, nprompt_cap;
    int64_t n; /* new tokens at most */
    bool stop_at_end;
    mw_sampler sampler;
    mw_compiled_facts compiled; /* of rank 0; `why` is not kept */
    int top;
    /* results, written by rank 0 */
    int64_t *ids; /* [n] */
    int64_t nids, eos_at;
    int64_t *top_index; /* [n][top] */
    double *top_value;
    phase prefill, decode;
    mw_decoder *decoder;
    bool stream;
} run_state;

/* ---- the prompt --------------------------------------------------------------------------------
 */

static mw_status keep_prompt(run_state *r, int64_t count)
{
    r->prompt = mw_memory((size_t)(count > 0 ? count : 1) * sizeof *r->prompt);
    r->nprompt_cap = count > 0 ? count : 1;
    r->nprompt = count;
    return r->prompt ? MW_OK : mw_last_error()->code;
}

static mw_status encode(run_state *r, const char *text, int64_t length, unsigned flags)
{
    mw_tokens tokens = {0};
    mw_status status = mw_tokenizer_encode(r->s.model.tokenizer, text, length, flags, &tokens);
    if (status == MW_OK) status = keep_prompt(r, tokens.count);
    for (int64_t i = 0; i < tokens.count && status == MW_OK; i++)
        r->prompt[i] = tokens.ids[i];
    if (status == MW_OK && tokens.lost_count && cli_first(r->s.args))
        (void)fprintf(
            stderr,
            "meshwise: %lld bytes of the prompt have no token in this vocabulary and are lost\n",
            (long long)tokens.lost_count);
    mw_tokens_done(&tokens);
    return status;
}

static mw_status encode_chat(run_state *r, const char *text)
{
    const mw_turn turn = {"user", {text, (int64_t)strlen(text)}};
    int64_t length = 0;
    mw_status status = mw_chat_render(r->s.model.tokenizer, &turn, 1, 1, NULL, 0, &length);
    char *rendered = status == MW_OK ? mw_memory((size_t)length + 1) : NULL;
    if (status == MW_OK && !rendered) status = mw_last_error()->code;
    if (status == MW_OK)
        status = mw_chat_render(r->s.model.tokenizer, &turn, 1, 1, rendered, length + 1, &length);
    if (status == MW_OK) status = encode(r, rendered, length, MW_ENCODE_BOS);
    mw_memory_free(rendered, (size_t)length + 1);
    return status;
}

static mw_status read_ids(run_state *r, const char *text)
{
    if (!*text) return mw_error_set(MW_ERR_ARG, "--ids is empty: it takes token ids, as 504,1123");
    int64_t count = 1;
    for (const char *p = text; *p; p++)
        count += *p == ',';
    mw_status status = keep_prompt(r, count);
    const char *at = text;
    for (int64_t i = 0; i < count && status == MW_OK; i++) {
        char *end;
        long long id = strtoll(at, &end, 10);
        if (end == at || (*end && *end != ','))
            return mw_error_set(MW_ERR_ARG, "--ids: expected a number at `%.40s`", at);
        if (id < 0 || id >= r->s.config.vocab)
            return mw_error_set(MW_ERR_ARG, "--ids: %lld is outside the vocabulary of %lld tokens",
                                id, (long long)r->s.config.vocab);
        r->prompt[i] = id;
        at = end + (*end == ',');
    }
    return status;
}

static mw_status read_prompt(run_state *r)
{
    const char *const *value = r->s.args->value;
    if (value[OPT_ids]) return read_ids(r, value[OPT_ids]);
    if (value[OPT_chat]) return encode_chat(r, value[OPT_chat]);
    if (value[OPT_prompt])
        return encode(r, value[OPT_prompt], (int64_t)strlen(value[OPT_prompt]), MW_ENCODE_BOS);
    char *text;
    int64_t length;
    mw_status status = cli_read_file(value[OPT_prompt_file], &text, &length);
    if (status != MW_OK) return status;
    status = encode(r, text, length, MW_ENCODE_BOS);
    mw_memory_free(text, (size_t)length + 1);
    return status;
}

/* ---- options -----------------------------------------------------------------------------------
 */

static mw_status read_numbers(run_state *r, const cli_args *args)
{
    int64_t top_k = 0, seed = 0, top = 0;
    r->n = args->value[OPT_chat] ? 256 : 128;
    mw_status status = cli_int(args, OPT_n, 0, 1 << 24, &r->n);
    if (status == MW_OK) status = cli_int(args, OPT_top_k, 0, 1 << 20, &top_k);
    if (status == MW_OK) status = cli_int(args, OPT_seed, 0, INT64_MAX, &seed);
    if (status == MW_OK) status = cli_int(args, OPT_top, 0, 1 << 16, &top);
    if (status == MW_OK) status = cli_float(args, OPT_temp, 0, 1e6, &r->sampler.temperature);
    r->sampler.top_k = (int)top_k;
    r->sampler.seed = (uint64_t)seed;
    r->top = (int)top;
    return status;
}

/* Exactly one source of the prompt; -1 where the arguments are right. */
static int check_args(const cli_args *args)
{
    static const cli_option_id sources[] = {OPT_prompt, OPT_prompt_file, OPT_chat, OPT_ids};
    int given = 0;
    for (int i = 0; i < 4; i++)
        given += args->value[sources[i]] != NULL;
    if (args->npositional != 1)
        return cli_usage(args, "run takes one model file, not %d", args->npositional);
    if (given != 1)
        return cli_usage(args,
                         "run takes exactly one of --prompt, --prompt-file, --chat and --ids");
    return -1;
}

static mw_status make_room(run_state *r)
{
    int64_t context = r->s.config.context;
    if (!r->s.args->value[OPT_n] && r->nprompt < context && r->nprompt + r->n > context)
        r->n = context - r->nprompt;
    if (r->nprompt + r->n > context)
        return mw_error_set(
            MW_ERR_ARG, "a prompt of %lld tokens and %lld new ones: the model's context has %lld",
            (long long)r->nprompt, (long long)r->n, (long long)context);
    if (r->nprompt == 0)
        return mw_error_set(MW_ERR_ARG, "the prompt is empty: there is nothing to continue");
    r->ids = mw_memory((size_t)(r->n + 1) * sizeof *r->ids);
    r->top_index = mw_memory((size_t)(r->n * r->top + 1) * sizeof *r->top_index);
    r->top_value = mw_memory((size_t)(r->n * r->top + 1) * sizeof *r->top_value);
    if (!r->ids || !r->top_index || !r->top_value) return mw_last_error()->code;
    r->eos_at = -1;
    r->stop_at_end = r->s.args->value[OPT_chat] && !r->s.args->value[OPT_ignore_eos];
    r->stream = !r->s.args->json;
    return mw_decoder_new(r->s.model.tokenizer, &r->decoder);
}

/* ---- the program
 * --------------------------------------------------------------------------------- */

/* Rank 0 keeps the token and shows its text. */
static mw_status accept(run_state *r, int64_t step, int64_t id)
{
    r->ids[step] = id;
    r->nids = step + 1;
    bool ends = mw_tokenizer_is_end(r->s.model.tokenizer, id) != 0;
    if (ends && r->eos_at < 0) r->eos_at = step;
    if (!r->stream || (ends && r->stop_at_end)) return MW_OK;
    mw_bytes text;
    mw_status status = mw_decoder_push(r->decoder, id, &text);
    if (status != MW_OK || text.length == 0) return status;
    (void)fwrite(text.at, 1, (size_t)text.length, stdout);
    (void)fflush(stdout);
    return MW_OK;
}

/* One step: `n` tokens in, the next one out. */
static mw_status step(run_state *r, llama *model, const int64_t *ids, int64_t n, int64_t number,
                      int64_t *ret)
{
    bool first = mw_rank_index() == 0;
    mw_scope_begin("step");
    mw_tensor *logits = llama_next(model, ids, n);
    mw_sampler sampler = r->sampler;
    sampler.step = (uint64_t)number;
    int64_t unused_index[1];
    double unused_value[1];
    int64_t *top_index = first ? r->top_index + number * r->top : unused_index;
    double *top_value = first ? r->top_value + number * r->top : unused_value;
    mw_status status =
        mw_sample(logits, &sampler, r->top, ret, r->top && first ? top_index : NULL, top_value);
    (void)mw_scope_end(NULL);
    if (status == MW_OK && first && !mw_is_fake()) status = accept(r, number, *ret);
    return status;
}

static mw_status generate(run_state *r, llama *model)
{
    bool first = mw_rank_index() == 0;
    double began = session_now();
    int64_t id = 0;
    mw_status status = MW_OK;
    for (int64_t i = 0; i < r->n && status == MW_OK; i++) {
        status =
            i == 0 ? step(r, model, r->prompt, r->nprompt, 0, &id) : step(r, model, &id, 1, i, &id);
        double now = session_now();
        if (!first) {
        } else if (i == 0) {
            r->prefill = (phase){r->nprompt, now - began};
            began = now;
        } else {
            r->decode = (phase){i, now - began};
        }
        if (r->stop_at_end && !mw_is_fake() && mw_tokenizer_is_end(r->s.model.tokenizer, id)) break;
    }
    return status;
}

static mw_status program(void *user)
{
    run_state *r = user;
    llama *model;
    mw_status status = session_load(&r->s, r->nprompt + r->n, &model);
    if (status != MW_OK) return status;
    if (r->s.args->value[OPT_compiled]) status = llama_compile(model, 1);
    if (status == MW_OK && mw_barrier() == MW_OK) {
        mw_usage since = mw_usage_get();
        status = generate(r, model);
        if (status == MW_OK && mw_rank_index() == 0 && llama_compiled(model))
            r->compiled = mw_compiled_facts_get(llama_compiled(model));
        if (status == MW_OK) status = session_report(&r->s, model, &since);
    } else if (status == MW_OK) {
        status = mw_last_error()->code;
    }
    llama_close(model);
    return status;
}

/* ---- results
 * --------------------------------------------------------------------------------------- */

static double rate(phase p)
{
    return p.seconds > 0 ? (double)p.tokens / p.seconds : 0;
}

static json_t *phase_json(phase p)
{
    return json_pack("{s:I, s:f, s:f}", "tokens", (json_int_t)p.tokens, "seconds", p.seconds,
                     "tokens_per_second", rate(p));
}

static json_t *ids_json(const int64_t *ids, int64_t n)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < n; i++)
        (void)json_array_append_new(list, json_integer(ids[i]));
    return list;
}

static json_t *top_json(const run_state *r)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < r->nids; i++) {
        json_t *row = json_array();
        for (int k = 0; row && k < r->top; k++) {
            int64_t at = i * r->top + k;
            if (r->top_index[at] >= 0)
                (void)json_array_append_new(
                    row, json_pack("[I, f]", (json_int_t)r->top_index[at], r->top_value[at]));
        }
        (void)json_array_append_new(list, row);
    }
    return list;
}

static json_t *text_json(const run_state *r)
{
    int32_t *ids = mw_memory((size_t)(r->nids + 1) * sizeof *ids);
    int64_t length = 0;
    json_t *text = NULL;
    for (int64_t i = 0; ids && i < r->nids; i++)
        ids[i] = (int32_t)r->ids[i];
    if (ids && mw_tokenizer_decode(r->s.model.tokenizer, ids, r->nids, NULL, 0, &length) == MW_OK) {
        char *bytes = mw_memory((size_t)length + 1);
        if (bytes && mw_tokenizer_decode(r->s.model.tokenizer, ids, r->nids, bytes, length + 1,
                                         &length) == MW_OK)
            text = json_text(bytes, length);
        mw_memory_free(bytes, (size_t)length + 1);
    }
    mw_memory_free(ids, (size_t)(r->nids + 1) * sizeof *ids);
    return text;
}

static int print_json(const run_state *r)
{
    const session *s = &r->s;
    json_t *o =
        json_pack("{s:i, s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                  "schema", 1, "model", mw_model_file_path(s->model.file), "mesh", session_mesh(s),
                  "backend", s->launch.backend, "ranks", mw_mesh_ranks(s->mesh), "prompt_ids",
                  ids_json(r->prompt, r->nprompt), "ids", ids_json(r->ids, r->nids), "text",
                  text_json(r), "eos_at", r->eos_at >= 0 ? json_integer(r->eos_at) : json_null(),
                  "prefill", phase_json(r->prefill), "decode", phase_json(r->decode), "comm",
                  session_comm(s), "memory", session_memory(s), "notes", session_notes(s));
    if (o && r->top) (void)json_object_set_new(o, "top", top_json(r));
    if (o && r->compiled.compilations)
        (void)json_object_set_new(
            o, "compiled",
            json_pack("{s:i, s:f, s:i, s:i, s:I, s:I}", "compilations", r->compiled.compilations,
                      "last_seconds", r->compiled.seconds, "nodes", r->compiled.nodes, "steps",
                      r->compiled.steps, "arena_bytes", (json_int_t)r->compiled.arena_bytes,
                      "frozen_bytes", (json_int_t)r->compiled.frozen_bytes));
    return cli_print(s->args, o, 0);
}

static void print_stats(const run_state *r)
{
    const session *s = &r->s;
    int64_t tokens = r->prefill.tokens + r->decode.tokens;
    (void)fprintf(
        stderr,
        "\nspeed\n  prompt  %6lld tokens  %8.1f tokens/s\n  decode  %6lld tokens  %8.1f tokens/s\n",
        (long long)r->prefill.tokens, rate(r->prefill), (long long)r->decode.tokens,
        rate(r->decode));
    const mw_compiled_facts *c = &r->compiled;
    if (c->compilations)
        (void)fprintf(
            stderr,
            "  compiled %5d program%s, the last in %.0f ms; weights in narrow form %.1f MB "
            "beside those below\n",
            c->compilations, c->compilations > 1 ? "s" : "", c->seconds * 1e3,
            (double)c->frozen_bytes * 1e-6);
    json_t *comm = session_comm(s), *row;
    size_t i;
    (void)fprintf(stderr, "what moved, and why\n");
    json_array_foreach(json_object_get(comm, "by_cause"), i, row)
    {
        double bytes = (double)json_integer_value(json_object_get(row, "bytes_received"));
        (void)fprintf(stderr,
                      "  %-14s over %-4s %6lld times  %10.0f B received, %8.0f B a token  %s  %s\n",
                      json_string_value(json_object_get(row, "kind")),
                      json_string_value(json_object_get(row, "axes")),
                      (long long)json_integer_value(json_object_get(row, "count")), bytes,
                      tokens ? bytes / (double)tokens : 0,
                      json_is_true(json_object_get(row, "asked")) ? "asked by" : "UNASKED, for",
                      json_string_value(json_object_get(row, "cause")));
    }
    if (json_array_size(json_object_get(comm, "by_cause")) == 0)
        (void)fprintf(stderr, "  nothing\n");
    json_decref(comm);
    (void)fprintf(stderr, "memory\n");
    for (int k = 0; k < mw_mesh_ranks(s->mesh) && k < 16; k++)
        (void)fprintf(stderr, "  rank %-3d weights %7.1f MB   most in use %7.1f MB\n", k,
                      (double)s->rank[k].weight_bytes / 1e6, (double)s->rank[k].peak_bytes / 1e6);
    for (int k = 0; k < s->nnote; k++)
        (void)fprintf(stderr, "note: %s\n", s->note[k]);
}

static void finish_stream(run_state *r)
{
    mw_bytes rest;
    mw_decoder_flush(r->decoder, &rest);
    (void)fwrite(rest.at, 1, (size_t)rest.length, stdout);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void free_state(run_state *r)
{
    mw_decoder_free(r->decoder);
    mw_memory_free(r->prompt, (size_t)r->nprompt_cap * sizeof *r->prompt);
    mw_memory_free(r->ids, (size_t)(r->n + 1) * sizeof *r->ids);
    mw_memory_free(r->top_index, (size_t)(r->n * r->top + 1) * sizeof *r->top_index);
    mw_memory_free(r->top_value, (size_t)(r->n * r->top + 1) * sizeof *r->top_value);
    session_close(&r->s);
}

int cmd_run(const cli_args *args)
{
    run_state r = {0};
    int code = check_args(args);
    if (code >= 0) return code;
    if (read_numbers(&r, args) != MW_OK) return cli_report(args);
    code = session_open(args, args->positional[0], &r.s);
    if (code >= 0) return code;
    mw_status status = read_prompt(&r);
    if (status == MW_OK) status = make_room(&r);
    status = session_launch(&r.s, status, program, &r);
    if (status != MW_OK) {
        code = cli_report(args);
    } else if (!cli_first(args)) {
        code = 0; /* the first rank prints */
    } else if (args->json) {
        code = print_json(&r);
    } else {
        finish_stream(&r);
        if (args->value[OPT_stats]) print_stats(&r);
        code = 0;
    }
    free_state(&r);
    return code;
}
