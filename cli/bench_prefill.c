/* How fast a prompt is read, on 1, 2 and 4 ranks, and how near that is to its matmuls alone.
 *
 * The matmuls are those of the model on this rank's shapes, their kernel run again and again in the
 * same program just before the prompt, all ranks at the same time; the slowest rank's time counts.
 * What a prompt takes on top of that is everything else: attention, norms, activations, reductions
 * between the ranks, the dispatcher. Rank counts take turns, and medians count. */
#include "cli/bench.h"
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 3, TURNS = 3, SAMPLES = ROUNDS * TURNS, PROMPT = 128, REPEATS = 4, MOST_RANKS = 4 };

static const int rank_counts[BENCH_MESHES] = {1, 2, MOST_RANKS};

typedef struct measured {
    int n; /* samples so far */
    double tokens_per_second[SAMPLES], percent[SAMPLES];
} measured;

typedef struct state {
    session s;
    measured *to;
    int64_t prompt;             /* tokens */
    double matmul[MOST_RANKS];  /* seconds of all of a prompt's, by rank */
    double seconds[MOST_RANKS]; /* of a prompt */
} state;

static mw_tensor *whole(int64_t rows, int64_t columns)
{
    const int64_t shape[2] = {rows, columns};
    mw_layout layout = mw_layout_replicated(MW_DTYPE_f32, 2, shape);
    return mw_empty_layout(NULL, &layout);
}

/* Adds the seconds of x[tokens, in] weight[out, in]^T on this rank's shape of a weight, `times` of
 * them in a prompt. */
static mw_status add_matmul(const state *b, const char *name, int64_t out, int64_t in,
                            int64_t tokens, int64_t times, double *sum)
{
    int64_t shape[2] = {out, in}, local[MW_LAYOUT_DIMS];
    mw_layout layout;
    mw_status status = model_plan_layout(b->s.plan, name, 2, shape, &layout);
    if (status != MW_OK) return status;
    mw_layout_local_shape(b->s.mesh, &layout, mw_rank_index(), local);
    if (local[0] == 0 || local[1] == 0) return MW_OK;
    double seconds = 0;
    mw_scope_begin("matmul");
    const mw_value args[] = {
        {.kind = MW_ARG_TENSOR, .as.tensor = whole(tokens, local[1])},
        {.kind = MW_ARG_TENSOR, .as.tensor = whole(local[0], local[1])},
    };
    status = args[0].as.tensor && args[1].as.tensor
                 ? mw_op_repeat("linear", args, 2, REPEATS, &seconds)
                 : mw_last_error()->code;
    (void)mw_scope_end(NULL);
    *sum += seconds / REPEATS * (double)times;
    return status;
}

static mw_status matmuls(const state *b, double *ret_seconds)
{
    const llama_config *c = &b->s.config;
    int64_t q = c->heads * c->head_dim, k = c->kv_heads * c->head_dim, n = b->prompt;
    const struct {
        const char *name;
        int64_t out, in, tokens, times;
    } all[] = {
        {"blk.0.attn_q.weight", q, c->dim, n, c->layers},
        {"blk.0.attn_k.weight", k, c->dim, n, 2 * c->layers}, /* that of the values is alike */
        {"blk.0.attn_output.weight", c->dim, q, n, c->layers},
        {"blk.0.ffn_gate.weight", c->hidden, c->dim, n, 2 * c->layers}, /* and `up` */
        {"blk.0.ffn_down.weight", c->dim, c->hidden, n, c->layers},
        {"token_embd.weight", c->vocab, c->dim, 1, 1}, /* the head, of the last token alone */
    };
    double sum = 0;
    mw_status status = MW_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == MW_OK; i++)
        status =
            add_matmul(b, all[i].name, all[i].out, all[i].in, all[i].tokens, all[i].times, &sum);
    *ret_seconds = sum;
    return status;
}

static mw_status read_prompt(const state *b, llama *model, double *ret_seconds)
{
    int64_t ids[PROMPT], next;
    for (int i = 0; i < PROMPT; i++)
        ids[i] = i % b->s.config.vocab;
    const mw_sampler greedy = {0};
    llama_restart(model);
    double began = session_now();
    mw_scope_begin("prompt");
    mw_tensor *x = llama_forward(model, ids, b->prompt);
    x = mw_slice(x, 0, b->prompt - 1, b->prompt, 1);
    mw_status status = mw_sample(llama_logits(model, x), &greedy, 0, &next, NULL, NULL);
    (void)mw_scope_end(NULL);
    *ret_seconds = session_now() - began;
    return status;
}

static double slowest(const double *seconds, int n)
{
    double most = 0;
    for (int r = 0; r < n; r++)
        if (seconds[r] > most) most = seconds[r];
    return most;
}

/* Turn -1 warms up. */
static mw_status turn(state *b, llama *model, int nth)
{
    int me = mw_rank_index(), ranks = mw_mesh_ranks(b->s.mesh);
    mw_status status = mw_barrier();
    if (status == MW_OK) status = matmuls(b, &b->matmul[me]);
    if (status == MW_OK) status = mw_barrier();
    if (status == MW_OK) status = read_prompt(b, model, &b->seconds[me]);
    if (status == MW_OK) status = mw_barrier();
    if (status != MW_OK || me != 0 || nth < 0) return status;
    measured *m = b->to;
    double seconds = slowest(b->seconds, ranks);
    m->tokens_per_second[m->n] = (double)b->prompt / seconds;
    m->percent[m->n] = 100 * slowest(b->matmul, ranks) / seconds;
    m->n++;
    return MW_OK;
}

static mw_status program(void *user)
{
    state *b = user;
    llama *model;
    mw_status status = session_load(&b->s, b->prompt, &model);
    if (status != MW_OK) return status;
    for (int i = -1; i < TURNS && status == MW_OK; i++)
        status = turn(b, model, i);
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
    state b = {.to = to};
    int code = session_open(&with, path, &b.s);
    if (code >= 0) return code;
    b.prompt = b.s.config.context < PROMPT ? b.s.config.context : PROMPT;
    code = mw_launch(&b.s.launch, program, &b) == MW_OK ? -1 : cli_report(args);
    session_close(&b.s);
    return code;
}

int bench_prefill_run(const cli_args *args, const char *path, bench_prefill *ret)
{
    measured all[BENCH_MESHES] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BENCH_MESHES; i++) {
            int code = measure(args, path, rank_counts[i], &all[i]);
            if (code >= 0) return code;
        }
    }
    for (int i = 0; i < BENCH_MESHES; i++) {
        ret->row[i].ranks = rank_counts[i];
        ret->row[i].tokens_per_second = bench_median(all[i].tokens_per_second, all[i].n);
        ret->row[i].percent_of_matmul = bench_median(all[i].percent, all[i].n);
    }
    return -1;
}
