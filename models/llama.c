/* LLaMA (Touvron et al., 2023; grouped-query attention as in LLaMA 2), as the paper describes it:
 *
 *     x = embedding(ids)
 *     per layer:  x = x + Wo attention(rope(Wq norm(x)), rope(Wk norm(x)), Wv norm(x))
 *                 x = x + Wdown (silu(Wgate norm(x)) * Wup norm(x))
 *     logits = Whead norm(x)
 *
 * Shapes: T tokens of this call, S positions in the cache, D dim, H query heads, K kv heads, E head
 * dim, F hidden, V vocabulary. The program is written for whole tensors. Its only words about the
 * mesh are the plan's, for the weights, and three marks: the residual stream is whole on every
 * rank. From these, every activation's layout follows. */
#include "models/llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct layer {
    mw_tensor *attn_norm;     /* [D] */
    mw_tensor *wq;            /* [H E, D] */
    mw_tensor *wk, *wv;       /* [K E, D] */
    mw_tensor *wo;            /* [D, H E] */
    mw_tensor *ffn_norm;      /* [D] */
    mw_tensor *gate, *up;     /* [F, D] */
    mw_tensor *down;          /* [D, F] */
    mw_tensor *keys, *values; /* [K, S, E] */
} layer;

struct llama {
    llama_config config;
    int64_t positions, position;
    int64_t weight_bytes;
    mw_tensor *embedding;   /* [V, D] */
    mw_tensor *head;        /* [V, D]; the same tensor where tied */
    mw_tensor *output_norm; /* [D] */
    mw_tensor *frequency;   /* [E / 2], f64: base^(-2i / E) */
    mw_compiled *compiled;  /* of `next`, or NULL */
    int runs_compiled;
    layer *layer;
};

/* ---- forward -----------------------------------------------------------------------------------
 */

typedef struct rotation {
    mw_tensor *cosine, *sine; /* [T, 1, E / 2] */
} rotation;

/* Angles of these positions [T], in f64: position * frequency. */
static rotation rotation_of(const llama *m, mw_tensor *position)
{
    mw_tensor *p = mw_to_dtype(position, MW_DTYPE_f64, false, false);
    p = mw_view(p, MW_INTS(mw_tensor_size(position, 0), 1, 1));
    mw_tensor *angle = mw_mul(p, m->frequency);
    rotation r = {mw_to_dtype(mw_cos(angle), MW_DTYPE_f32, false, false),
                  mw_to_dtype(mw_sin(angle), MW_DTYPE_f32, false, false)};
    return r;
}

/* x W^T. Activations are f32; a weight of another dtype takes them in its own. What it calls stands
 * where it is called. */
static mw_tensor *project_at(mw_site site, mw_tensor *x, mw_tensor *weight)
{
    mw_dtype dtype = mw_tensor_dtype(weight);
    if (dtype == MW_DTYPE_f32) return mw_linear_at(site, x, weight, NULL);
    mw_tensor *y = mw_linear_at(site, mw_to_dtype_at(site, x, dtype, false, false), weight, NULL);
    return mw_to_dtype_at(site, y, MW_DTYPE_f32, false, false);
}
#define project(...) project_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* Rotates the pairs (2i, 2i + 1) of every head: x [T, heads, E]. */
static mw_tensor *rotate(mw_tensor *x, rotation r, int64_t heads, int64_t head_dim)
{
    int64_t n = mw_tensor_size(x, 0);
    mw_tensor *pairs = mw_view(x, MW_INTS(n, heads, head_dim / 2, 2));
    mw_tensor *even = mw_select_int(pairs, 3, 0), *odd = mw_select_int(pairs, 3, 1);
    mw_tensor *turned[2] = {
        mw_sub(mw_mul(even, r.cosine), mw_mul(odd, r.sine), 1),
        mw_add(mw_mul(even, r.sine), mw_mul(odd, r.cosine), 1),
    };
    return mw_view(mw_stack(turned, 2, 3), MW_INTS(n, heads, head_dim));
}

/* What one call works with besides the residual stream. */
typedef struct inputs {
    mw_tensor *position; /* [T] */
    rotation rotation;
    mw_tensor *seen; /* [T, S], bool: the positions that each may look at; NULL: a prompt's own */
} inputs;

/* A prompt attends to itself, a later token to all of the cache up to its own position. Nothing
 * here depends on the position but through data, so that one program serves every token. */
static mw_tensor *attend(const layer *l, mw_tensor *q, mw_tensor *k, mw_tensor *v, const inputs *c)
{
    mw_tensor *keys = mw_index_copy_(l->keys, 1, c->position, k);
    mw_tensor *values = mw_index_copy_(l->values, 1, c->position, v);
    if (!c->seen)
        return mw_scaled_dot_product_attention(q, k, v, NULL, 0, true, MW_NONE_FLOAT, true);
    return mw_scaled_dot_product_attention(q, keys, values, c->seen, 0, false, MW_NONE_FLOAT, true);
}

static mw_tensor *attention(const llama *m, const layer *l, mw_tensor *x, const inputs *now)
{
    const llama_config *c = &m->config;
    int64_t n = mw_tensor_size(x, 0);
    mw_tensor *q = mw_view(project(x, l->wq), MW_INTS(n, c->heads, c->head_dim));
    mw_tensor *k = mw_view(project(x, l->wk), MW_INTS(n, c->kv_heads, c->head_dim));
    mw_tensor *v = mw_view(project(x, l->wv), MW_INTS(n, c->kv_heads, c->head_dim));
    q = mw_transpose_int(rotate(q, now->rotation, c->heads, c->head_dim), 0, 1);
    k = mw_transpose_int(rotate(k, now->rotation, c->kv_heads, c->head_dim), 0, 1);
    mw_tensor *heads = attend(l, q, k, mw_transpose_int(v, 0, 1), now);
    mw_tensor *joined =
        mw_reshape(mw_transpose_int(heads, 0, 1), MW_INTS(n, c->heads * c->head_dim));
    return project(joined, l->wo);
}

static mw_tensor *mlp(const layer *l, mw_tensor *x)
{
    mw_tensor *gate = mw_silu(project(x, l->gate));
    return project(mw_mul(gate, project(x, l->up)), l->down);
}

static mw_tensor *norm(const llama *m, mw_tensor *x, mw_tensor *weight)
{
    return mw_rms_norm(x, MW_INTS(m->config.dim), weight, m->config.norm_eps);
}

static mw_tensor *block(const llama *m, const layer *l, mw_tensor *x, const inputs *c)
{
    mw_tensor *a = attention(m, l, norm(m, x, l->attn_norm), c);
    x = mw_add(x, mw_mark_sharding(a, NULL, "replicated"), 1);
    mw_tensor *f = mlp(l, norm(m, x, l->ffn_norm));
    return mw_add(x, mw_mark_sharding(f, NULL, "replicated"), 1);
}

/* Weights may be bf16: activations are f32 all the same. */
static mw_tensor *embed(const llama *m, mw_tensor *ids)
{
    mw_tensor *x = mw_embedding(m->embedding, ids, -1, false, false);
    x = mw_mark_sharding(x, NULL, "replicated");
    return mw_to_dtype(x, MW_DTYPE_f32, false, false);
}

static mw_tensor *forward(const llama *m, mw_tensor *ids, mw_tensor *position)
{
    int64_t n = mw_tensor_size(ids, 0);
    mw_scope_begin("llama");
    inputs c = {.position = position, .rotation = rotation_of(m, position)};
    if (n == 1)
        c.seen =
            mw_le(mw_arange((double)m->positions, MW_DTYPE_i64), mw_view(position, MW_INTS(1, 1)));
    mw_tensor *x = embed(m, ids);
    for (int64_t i = 0; i < m->config.layers && x; i++) {
        mw_scope_begin("block");
        x = mw_scope_end(block(m, &m->layer[i], x, &c));
    }
    return mw_scope_end(norm(m, x, m->output_norm));
}

/* The ids and the positions of the next n tokens. */
static void next_inputs(const llama *m, const int64_t *ids, int64_t n, mw_tensor **in)
{
    in[0] = mw_from_data(MW_DTYPE_i64, &n, 1, ids, NULL, "replicated");
    in[1] = mw_arange_start_step((double)m->position, (double)(m->position + n), 1, MW_DTYPE_i64);
    if (n != 1) return;
    in[1] = mw_from_data(MW_DTYPE_i64, &n, 1, &m->position, NULL, "replicated"); /* never a miss */
}

mw_tensor *llama_forward(llama *m, const int64_t *ids, int64_t n)
{
    mw_tensor *in[2];
    next_inputs(m, ids, n, in);
    mw_tensor *x = forward(m, in[0], in[1]);
    if (x) m->position += n;
    return x;
}

mw_tensor *llama_logits(llama *m, mw_tensor *rows)
{
    return project(rows, m->head);
}

mw_status llama_next_function(void *user, mw_tensor *const *in, mw_tensor **out)
{
    llama *m = user;
    int64_t n = mw_tensor_size(in[0], 0);
    mw_tensor *x = forward(m, in[0], in[1]);
    if (n > 1) x = mw_slice(x, 0, n - 1, n, 1);
    out[0] = llama_logits(m, x);
    return out[0] ? MW_OK : mw_last_error()->code;
}

mw_tensor *llama_next(llama *m, const int64_t *ids, int64_t n)
{
    mw_tensor *in[2], *logits = NULL;
    next_inputs(m, ids, n, in);
    mw_status status = m->runs_compiled ? mw_compiled_call(m->compiled, in, &logits)
                                        : llama_next_function(m, in, &logits);
    if (status != MW_OK) return NULL;
    m->position += n;
    return logits;
}

mw_status llama_compile(llama *m, int on)
{
    mw_status status = MW_OK;
    if (on && !m->compiled) {
        const int64_t id = 0;
        mw_tensor *in[2];
        status = mw_compile("next", llama_next_function, m, 2, 1, &m->compiled);
        if (status == MW_OK) status = mw_compiled_freeze(m->compiled); /* the weights stay */
        mw_scope_begin("compile"); /* what serves every token of decoding */
        next_inputs(m, &id, 1, in);
        if (status == MW_OK) status = mw_compiled_prepare(m->compiled, in);
        (void)mw_scope_end(NULL);
    }
    m->runs_compiled = on && status == MW_OK;
    return status;
}

const mw_compiled *llama_compiled(const llama *m)
{
    return m->runs_compiled ? m->compiled : NULL;
}

/* log(sum(exp(logits))) - logit[target]. The largest logit, the sum and the target's logit are
 * small: they are made whole; the logits stay where they are. */
mw_tensor *llama_nll(llama *m, mw_tensor *rows, const int64_t *targets, int64_t n)
{
    mw_scope_begin("nll");
    mw_tensor *logits = llama_logits(m, rows);
    mw_tensor *most = mw_mark_sharding(mw_amax(logits, MW_INTS(1), true), NULL, "replicated");
    mw_tensor *sum =
        mw_sum_dim_intlist(mw_exp(mw_sub(logits, most, 1)), MW_INTS(1), true, MW_DTYPE_NONE);
    sum = mw_mark_sharding(sum, NULL, "replicated");
    mw_tensor *ids = mw_from_data(MW_DTYPE_i64, &n, 1, targets, NULL, "replicated");
    mw_tensor *target =
        mw_mark_sharding(mw_embedding(m->head, ids, -1, false, false), NULL, "replicated");
    target = mw_sum_dim_intlist(mw_mul(rows, target), MW_INTS(1), true, MW_DTYPE_NONE);
    mw_tensor *nll = mw_sub(mw_add(mw_log(sum), most, 1), target, 1);
    return mw_scope_end(mw_view(nll, MW_INTS(n)));
}

/* ---- opening -----------------------------------------------------------------------------------
 */

typedef struct loader {
    llama *model;
    const mw_model_file *file;
    const model_plan *plan;
    mw_dtype dtype;
    int64_t done, total;
    void (*loaded)(void *user, double share);
    void *user;
} loader;

/* One weight; vectors (norms) are small and stay f32. */
static mw_status load(loader *l, mw_tensor **ret, const char *name, int ndim, int64_t rows,
                      int64_t cols)
{
    int64_t shape[2] = {rows, cols};
    mw_layout layout;
    mw_status status = model_plan_layout(l->plan, name, ndim, shape, &layout);
    if (status != MW_OK) return status;
    layout.dtype = (uint8_t)(ndim == 1 ? MW_DTYPE_f32 : l->dtype);
    *ret = mw_model_file_load(l->file, name, NULL, &layout);
    if (!*ret) return mw_last_error()->code;
    l->model->weight_bytes += mw_tensor_local_bytes(*ret);
    l->done++;
    if (l->loaded) l->loaded(l->user, (double)l->done / (double)l->total);
    return MW_OK;
}

static mw_status load_layer(loader *l, int64_t i)
{
    const llama_config *c = &l->model->config;
    layer *to = &l->model->layer[i];
    int64_t q = c->heads * c->head_dim, k = c->kv_heads * c->head_dim;
    const struct {
        mw_tensor **to;
        const char *name;
        int ndim;
        int64_t rows, cols;
    } weights[] = {
        {&to->attn_norm, "attn_norm", 1, c->dim, 1},
        {&to->wq, "attn_q", 2, q, c->dim},
        {&to->wk, "attn_k", 2, k, c->dim},
        {&to->wv, "attn_v", 2, k, c->dim},
        {&to->wo, "attn_output", 2, c->dim, q},
        {&to->ffn_norm, "ffn_norm", 1, c->dim, 1},
        {&to->gate, "ffn_gate", 2, c->hidden, c->dim},
        {&to->up, "ffn_up", 2, c->hidden, c->dim},
        {&to->down, "ffn_down", 2, c->dim, c->hidden},
    };
    for (size_t w = 0; w < sizeof weights / sizeof weights[0]; w++) {
        char name[96];
        (void)snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)i, weights[w].name);
        mw_status status =
            load(l, weights[w].to, name, weights[w].ndim, weights[w].rows, weights[w].cols);
        if (status != MW_OK) return status;
    }
    return MW_OK;
}

/* A cache [K, S, E] that lies as what a projection [K E, D] gives does, its heads seen apart. */
static mw_status new_cache(const llama *m, mw_tensor *weight, const char *name, mw_tensor **ret)
{
    const llama_config *c = &m->config;
    int64_t shape[3] = {c->kv_heads, m->positions, c->head_dim};
    mw_layout cache = mw_layout_replicated(MW_DTYPE_f32, 3, shape), rows, heads;
    rows = mw_layout_replicated(MW_DTYPE_f32, 1, &(int64_t){c->kv_heads * c->head_dim});
    rows.dim[0] = mw_tensor_layout(weight)->dim[0];
    if (mw_layout_view(mw_tensor_mesh(weight), &rows, 2, (int64_t[]){shape[0], shape[2]}, &heads) ==
        MW_OK) {
        cache.dim[0] = heads.dim[0];
        cache.dim[2] = heads.dim[1];
    } else {
        mw_error_clear(); /* rows cut through heads: every rank keeps all of the cache */
    }
    *ret = mw_tensor_ref(mw_empty_layout(mw_tensor_mesh(weight), &cache));
    return mw_tensor_name(*ret, name) ? MW_OK : mw_last_error()->code;
}

static mw_status make_caches(llama *m)
{
    mw_status status = MW_OK;
    for (int64_t i = 0; i < m->config.layers && status == MW_OK; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%lld.keys", (long long)i);
        status = new_cache(m, m->layer[i].wk, name, &m->layer[i].keys);
        (void)snprintf(name, sizeof name, "blk.%lld.values", (long long)i);
        if (status == MW_OK) status = new_cache(m, m->layer[i].wv, name, &m->layer[i].values);
    }
    return status;
}

static mw_status load_all(loader *l)
{
    llama *m = l->model;
    const llama_config *c = &m->config;
    mw_status status = load(l, &m->embedding, "token_embd.weight", 2, c->vocab, c->dim);
    if (status == MW_OK) status = load(l, &m->output_norm, "output_norm.weight", 1, c->dim, 1);
    m->head = m->embedding;
    if (status == MW_OK && !c->tied)
        status = load(l, &m->head, "output.weight", 2, c->vocab, c->dim);
    for (int64_t i = 0; i < c->layers && status == MW_OK; i++)
        status = load_layer(l, i);
    if (status == MW_OK) status = make_caches(m);
    if (status != MW_OK) return status;
    /* base^(-2i / E), i = 0 .. E/2 - 1 */
    mw_tensor *exponent = mw_mul_scalar(mw_arange((double)(c->head_dim / 2), MW_DTYPE_f64),
                                        -2.0 / (double)c->head_dim);
    m->frequency = mw_exp(mw_mul_scalar(exponent, log(c->rope_base)));
    return m->frequency ? MW_OK : mw_last_error()->code;
}

mw_status llama_open(const mw_model_file *file, const llama_config *config, const model_plan *plan,
                     mw_dtype dtype, int64_t positions, void (*loaded)(void *user, double share),
                     void *user, llama **ret)
{
    llama *m = mw_memory(sizeof *m);
    if (!m) return mw_last_error()->code;
    m->config = *config;
    m->positions = positions;
    m->layer = mw_memory((size_t)config->layers * sizeof *m->layer);
    loader l = {m, file, plan, dtype, 0, 9 * config->layers + 2 + !config->tied, loaded, user};
    mw_status status = m->layer ? load_all(&l) : mw_last_error()->code;
    if (status != MW_OK) {
        llama_close(m);
        return status;
    }
    *ret = m;
    return MW_OK;
}

void llama_close(llama *m)
{
    if (!m) return;
    mw_compiled_free(m->compiled);
    for (int64_t i = 0; m->layer && i < m->config.layers; i++) {
        mw_tensor_unref(m->layer[i].keys);
        mw_tensor_unref(m->layer[i].values);
    }
    mw_memory_free(m->layer, (size_t)m->config.layers * sizeof *m->layer);
    mw_memory_free(m, sizeof *m);
}

int64_t llama_weight_bytes(const llama *m)
{
    return m->weight_bytes;
}

/* Bytes of a rank's shard of one tensor. */
static int64_t shard_bytes(const mw_tensor *t, int rank)
{
    int64_t shape[MW_LAYOUT_DIMS], bytes = mw_dtype_size(mw_tensor_dtype(t));
    mw_layout_local_shape(mw_tensor_mesh(t), mw_tensor_layout(t), rank, shape);
    for (int d = 0; d < mw_tensor_ndim(t); d++)
        bytes *= shape[d];
    return bytes;
}

int64_t llama_weight_bytes_of(const llama *m, int rank)
{
    int64_t sum = shard_bytes(m->embedding, rank) + shard_bytes(m->output_norm, rank);
    if (!m->config.tied) sum += shard_bytes(m->head, rank);
    for (int64_t i = 0; i < m->config.layers; i++) {
        const layer *l = &m->layer[i];
        const mw_tensor *weights[] = {l->attn_norm, l->wq,   l->wk, l->wv,  l->wo,
                                      l->ffn_norm,  l->gate, l->up, l->down};
        for (size_t w = 0; w < sizeof weights / sizeof weights[0]; w++)
            sum += shard_bytes(weights[w], rank);
    }
    return sum;
}

int64_t llama_position(const llama *m)
{
    return m->position;
}

void llama_restart(llama *m)
{
    m->position = 0;
}
