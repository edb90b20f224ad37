/* How fast a model decodes, on 1, 2 and 4 ranks, and how near that is to reading its weights once a
 * token.
 *
 * The bound is measured in the same program, by the same threads, just before the tokens: every
 * rank reads a buffer of the size of the largest rank's weights, which lies in memory as weights
 * do. Rank counts take turns, so that a slow minute of the machine falls on all of them; medians
 * count. Where ranks share cores a bound for a thread has no meaning, and none is given. */
#include "cli/bench.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 3,
    TURNS = 2,
    SAMPLES = ROUNDS * TURNS,
    TOKENS = 64,
    PROMPT = 8,
    PASSES = 3,
    MOST_RANKS = 4
};

static const int rank_counts[BENCH_MESHES] = {1, 2, MOST_RANKS};

typedef struct measured {
    int n; /* samples so far */
    double tokens_per_second[SAMPLES], read_gbps[SAMPLES], percent[SAMPLES];
    double compiled_ratio[SAMPLES]; /* time op by op over time compiled, of one turn */
} measured;

typedef struct state {
    session s;
    measured *to;
    int64_t tokens;             /* decoded in a turn */
    int turn[MOST_RANKS];       /* which one each rank is at */
    bool bound;                 /* is the bound measured? */
    double seconds[MOST_RANKS]; /* each rank's time to read its buffer PASSES times */
    uint64_t seen[MOST_RANKS];
} state;

static mw_status decode(const state *b, llama *model, double *ret_seconds)
{
    int64_t ids[PROMPT];
    for (int i = 0; i < PROMPT; i++)
        ids[i] = i % b->s.config.vocab;
    const mw_sampler greedy = {0};
    double began = 0;
    mw_status status = MW_OK;
    llama_restart(model);
    for (int64_t i = 0; i <= b->tokens && status == MW_OK; i++) {
        int64_t n = i == 0 ? PROMPT : 1;
        if (i == 1) began = session_now();
        mw_scope_begin("step");
        status = mw_sample(llama_next(model, ids, n), &greedy, 0, ids, NULL, NULL);
        (void)mw_scope_end(NULL);
    }
    *ret_seconds = session_now() - began;
    return status;
}

static int64_t largest_weights(const state *b, const llama *model)
{
    int64_t most = 0;
    for (int r = 0; r < mw_mesh_ranks(b->s.mesh); r++) {
        int64_t bytes = llama_weight_bytes_of(model, r);
        if (bytes > most) most = bytes;
    }
    return most;
}

/* A buffer of about `bytes`, written once; made as weights are. */
static mw_status make_buffer(int64_t bytes, void **ret, int64_t *ret_size)
{
    const int64_t words = (bytes + 63) / 64 * 16;
    mw_layout layout = mw_layout_replicated(MW_DTYPE_f32, 1, &words);
    int64_t count;
    mw_tensor *buffer = mw_empty_layout(NULL, &layout);
    if (!buffer) return mw_last_error()->code;
    mw_status status = mw_local_data(buffer, ret, &count);
    if (status != MW_OK) return status;
    memset(*ret, 1, (size_t)words * 4);
    *ret_size = words * 4;
    return MW_OK;
}

/* The same tokens op by op and compiled, in the order that the turn's number says. */
static mw_status decode_both(const state *b, llama *model, double *ret_seconds,
                             double *ret_compiled)
{
    mw_status status = MW_OK;
    bool compiled = b->turn[mw_rank_index()] % 2 == 1;
    for (int i = 0; i < 2 && status == MW_OK; i++, compiled = !compiled) {
        status = llama_compile(model, compiled);
        if (status == MW_OK) status = decode(b, model, compiled ? ret_compiled : ret_seconds);
    }
    return status;
}

static mw_status turn(state *b, llama *model, const void *buffer, int64_t size)
{
    int me = mw_rank_index(), n = mw_mesh_ranks(b->s.mesh);
    mw_status status = mw_barrier();
    double began = session_now();
    for (int i = 0; i < PASSES && buffer; i++)
        b->seen[me] += bench_read(buffer, size);
    b->seconds[me] = session_now() - began;
    if (status == MW_OK) status = mw_barrier();
    double seconds = 0, compiled = 0;
    if (status == MW_OK) status = decode_both(b, model, &seconds, &compiled);
    if (status != MW_OK || me != 0) return status;
    double slowest = 0;
    for (int r = 0; r < n; r++)
        if (b->seconds[r] > slowest) slowest = b->seconds[r];
    measured *m = b->to;
    double share = (double)size * PASSES / slowest; /* bytes a second, of one thread */
    double per_token = seconds / (double)b->tokens;
    m->tokens_per_second[m->n] = 1 / per_token;
    m->compiled_ratio[m->n] = seconds / compiled;
    m->read_gbps[m->n] = share * n * 1e-9;
    m->percent[m->n] = 100 * ((double)largest_weights(b, model) / share) / per_token;
    m->n++;
    return MW_OK;
}

static mw_status program(void *user)
{
    state *b = user;
    llama *model;
    mw_status status = session_load(&b->s, PROMPT + b->tokens, &model);
    if (status != MW_OK) return status;
    void *buffer = NULL;
    int64_t size = 0;
    if (b->bound) status = make_buffer(largest_weights(b, model), &buffer, &size);
    for (int i = 0; i < TURNS && status == MW_OK; i++) {
        b->turn[mw_rank_index()] = i;
        status = turn(b, model, buffer, size);
    }
    llama_close(model);
    return status;
}

/* One launch on so many ranks. -1, or an exit code. */
static int measure(const cli_args *args, const char *path, int ranks, measured *to)
{
    char mesh[16];
    (void)snprintf(mesh, sizeof mesh, "tp=%d", ranks);
    cli_args with = *args;
    with.value[OPT_mesh] = mesh;
    state b = {.to = to, .bound = ranks <= sysconf(_SC_NPROCESSORS_ONLN)};
    int code = session_open(&with, path, &b.s);
    if (code >= 0) return code;
    int64_t room = b.s.config.context - PROMPT;
    b.tokens = room < TOKENS ? room : TOKENS;
    mw_status status = MW_OK;
    if (b.tokens < 1)
        status = mw_error_set(MW_ERR_UNSUPPORTED,
                              "the model's context of %lld tokens is too short to measure",
                              (long long)b.s.config.context);
    if (status == MW_OK) status = mw_launch(&b.s.launch, program, &b);
    code = status == MW_OK ? -1 : cli_report(args);
    session_close(&b.s);
    return code;
}

int bench_decode_run(const cli_args *args, const char *path, bench_decode *ret)
{
    measured all[BENCH_MESHES] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BENCH_MESHES; i++) {
            int code = measure(args, path, rank_counts[i], &all[i]);
            if (code >= 0) return code;
        }
    }
    for (int i = 0; i < BENCH_MESHES; i++) {
        measured *m = &all[i];
        bool bound = rank_counts[i] <= sysconf(_SC_NPROCESSORS_ONLN);
        ret->row[i].ranks = rank_counts[i];
        ret->row[i].tokens_per_second = bench_median(m->tokens_per_second, m->n);
        ret->row[i].compiled_ratio = bench_median(m->compiled_ratio, m->n);
        ret->row[i].read_gbps = bound ? bench_median(m->read_gbps, m->n) : 0;
        ret->row[i].percent_of_bound = bound ? bench_median(m->percent, m->n) : -1;
    }
    return -1;
}
