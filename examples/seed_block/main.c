/* A transformer block under sequence parallelism, as DTensor's log shows it: a layer norm on a
 * sequence that is split, a redistribution that the attention asks for (not the norm), heads over
 * the mesh, and the reshape of a batched product that flattens batch and split heads.
 *
 *     seed_block --batch 2 --seq 16 --dim 16 --heads 4 --mesh tp=2 --device xpu --log dispatch
 *
 * --log dispatch prints the calls of rank 0 as DTensor logs them; --log events what meshwise itself
 * records: which call caused a movement, how many bytes, and who asked for it. */
#include <meshwise/meshwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct block {
    int64_t batch, seq, dim, heads;
    bool dispatch, events;
    bool started; /* the weights are made: what follows is the block; rank 0's alone */
} block;

static mw_tensor *weight(int64_t rows, int64_t cols, const char *layout)
{
    mw_tensor *n = mw_view(mw_arange((double)(rows * cols), MW_DTYPE_f32), MW_INTS(rows, cols));
    mw_tensor *w = mw_mul_scalar(mw_sin(n), 0.25); /* anything fixed */
    return mw_mark_sharding(w, NULL, layout);
}

/* x [B, T, C] times w [out, C] transposed, as ATen takes a linear apart. */
static mw_tensor *linear(const block *b, mw_tensor *x, mw_tensor *w, int64_t in, int64_t out)
{
    mw_tensor *rows = mw_view(x, MW_INTS(b->batch * b->seq, in));
    return mw__unsafe_view(mw_mm(rows, mw_t(w)), MW_INTS(b->batch, b->seq, out));
}

static mw_tensor *heads_of(const block *b, mw_tensor *x)
{
    int64_t per_head = b->dim / b->heads;
    return mw_transpose_int(mw_view(x, MW_INTS(b->batch, b->seq, b->heads, per_head)), 1, 2);
}

/* A batched product of [B, H, m, k] and [B, H, k, n], as ATen takes matmul apart. */
static mw_tensor *matmul(const block *b, mw_tensor *x, mw_tensor *y)
{
    int64_t g = b->batch * b->heads, m = mw_tensor_size(x, 2), k = mw_tensor_size(x, 3),
            n = mw_tensor_size(y, 3);
    mw_tensor *left = mw__unsafe_view(
        mw_clone(mw_expand(x, MW_INTS(b->batch, b->heads, m, k), false)), MW_INTS(g, m, k));
    mw_tensor *right = mw__unsafe_view(
        mw_clone(mw_expand(y, MW_INTS(b->batch, b->heads, k, n), false)), MW_INTS(g, k, n));
    return mw_view(mw_bmm(left, right), MW_INTS(b->batch, b->heads, m, n));
}

static mw_status program(void *user)
{
    block *b = user;
    int64_t c = b->dim, per_head = c / b->heads;
    char cols[64], rows[64], sequence[96];
    (void)snprintf(cols, sizeof cols, "[%lld@tp, %lld]", (long long)c, (long long)c);
    (void)snprintf(rows, sizeof rows, "[%lld, %lld@tp]", (long long)c, (long long)c);
    (void)snprintf(sequence, sizeof sequence, "[%lld, %lld@tp, %lld]", (long long)b->batch,
                   (long long)b->seq, (long long)c);
    mw_tensor *wq = weight(c, c, cols), *wk = weight(c, c, cols), *wv = weight(c, c, cols);
    mw_tensor *wo = weight(c, c, rows);
    mw_tensor *x = mw_view(mw_arange((double)(b->batch * b->seq * c), MW_DTYPE_f32),
                           MW_INTS(b->batch, b->seq, c));
    x = mw_mark_sharding(mw_cos(x), NULL, sequence);
    mw_tensor *ones = mw_full(MW_INTS(c), 1, MW_DTYPE_f32),
              *zeros = mw_full(MW_INTS(c), 0, MW_DTYPE_f32);
    if (mw_rank_index() == 0) b->started = true;

    mw_tensor *mean, *rstd;
    mw_tensor *n = mw_native_layer_norm(x, MW_INTS(c), ones, zeros, 1e-5, &mean, &rstd);
    /* For the attention: every rank needs the whole sequence. */
    n = mw_redistribute(n, NULL, "replicated");
    mw_tensor *q = heads_of(b, linear(b, n, wq, c, c));
    mw_tensor *k = heads_of(b, linear(b, n, wk, c, c));
    mw_tensor *v = heads_of(b, linear(b, n, wv, c, c));
    mw_tensor *scores = mw_div_scalar(matmul(b, q, mw_transpose_int(k, 2, 3)), (double)per_head);
    mw_tensor *mixed = matmul(b, mw__softmax(scores, -1, false), v);
    mw_tensor *joined = mw_clone(mw_transpose_int(mixed, 1, 2));
    mw_tensor *out = linear(b, mw_view(joined, MW_INTS(b->batch, b->seq, c)), wo, c, c);
    out = mw_redistribute(out, NULL, sequence);
    out = mw_add(x, out, 1);
    return out ? MW_OK : mw_last_error()->code;
}

static void show(void *user, const mw_event *e)
{
    const block *b = user;
    if (e->rank != 0 || !b->started) return;
    if (b->dispatch) printf("%s", e->dispatch);
    if (!b->events) return;
    if (e->kind == MW_EVENT_CALL)
        printf("%s -> %s  [%s:%d]\n", e->text, e->result, e->site.file, e->site.line);
    else
        printf("%s: %s -> %s  %lld B received, %s by %s%s%s  [%s:%d]\n", e->text, e->from, e->to,
               (long long)e->recv_bytes, e->asked ? "asked for" : "unasked, caused", e->op,
               e->why[0] ? ": " : "", e->why, e->site.file, e->site.line);
}

static int usage(const char *what)
{
    (void)fprintf(stderr,
                  "seed_block: %s\n  --batch B --seq T --dim C --heads H --mesh tp=2 --device xpu "
                  "--log dispatch|events\n",
                  what);
    return 2;
}

int main(int argc, char **argv)
{
    block b = {.batch = 2, .seq = 16, .dim = 16, .heads = 4};
    mw_launch_options options = {.mesh = "tp=2", .sink = show, .sink_user = &b, .dispatch = 1};
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {
        {"--batch", &b.batch}, {"--seq", &b.seq}, {"--dim", &b.dim}, {"--heads", &b.heads}};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage("an option without its value");
        const char *name = argv[i], *value = argv[i + 1];
        bool known = false;
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            if (strcmp(name, numbers[k].name) == 0)
                known = true, *numbers[k].to = strtoll(value, NULL, 10);
        if (strcmp(name, "--mesh") == 0) known = true, options.mesh = value;
        if (strcmp(name, "--device") == 0) known = true, options.device = value;
        if (strcmp(name, "--log") == 0) {
            known = strcmp(value, "dispatch") == 0 || strcmp(value, "events") == 0;
            b.dispatch = b.dispatch || strcmp(value, "dispatch") == 0;
            b.events = b.events || strcmp(value, "events") == 0;
        }
        if (!known) return usage(name);
    }
    if (b.batch < 1 || b.seq < 1 || b.heads < 1 || b.dim < b.heads || b.dim % b.heads != 0)
        return usage("sizes are positive, and dim is a multiple of heads");
    mw_status status = mw_launch(&options, program, &b);
    if (status != MW_OK)
        (void)fprintf(stderr, "seed_block: %s\n  in %s\n", mw_last_error()->says,
                      mw_last_error()->where);
    return mw_status_exit(status);
}
