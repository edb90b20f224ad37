/* Transformers that differ in switches alone (families.def), as their papers describe them: Vaswani
 * et al. 2017; BERT, Devlin et al. 2018; GPT-2, Radford et al. 2019; LLaMA, Touvron et al. 2023.
 *
 *     x = embedding(ids) (+ positions) (+ types)
 *     per layer:  x = x + Wo attention(Wq norm(x), Wk norm(x), Wv norm(x))     [post-norm:
 *                 x = x + Wdown mlp(norm(x))                                   x = norm(x + f(x))]
 *     logits = Whead norm(x)
 *
 * Shapes: B sequences, T tokens of each in this step, S positions in the cache, D dim, H query
 * heads, K kv heads, E head dim, F hidden, V vocabulary. The program is written for whole tensors;
 * about the mesh it says where the weights lie (the plan), the ids, and the residual stream.
 *
 * Each weight is used in one call that stands here once: by its place, and the layers' loop, the
 * weights of all layers are known to belong together. */
#include "models/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Weights and biases by role: [out, in] (transposed: [in, out]), [out]. */
typedef struct weights {
    mw_tensor *w[DECODER_ROLE_COUNT], *b[DECODER_ROLE_COUNT];
    mw_tensor *keys, *values; /* [B, K, S, E] */
} weights;

struct decoder {
    decoder_config config;
    decoder_step step;
    mw_tensor *frequency; /* [E / 2]: base^(-2i / E) */
    weights top;          /* of no layer */
    weights *layer;
};

/* What one step works with besides the residual stream. */
typedef struct inputs {
    mw_tensor *position;      /* [T] */
    mw_tensor *cosine, *sine; /* [T, 1, E / 2]; NULL: nothing is rotated */
    mw_tensor *seen;          /* [T, S], bool; NULL: a prompt's own */
} inputs;

/* ---- parts ------------------------------------------------------------------------------------
 */

static mw_tensor *residual(mw_site site, const decoder *m, mw_tensor *x)
{
    return mw_mark_sharding_at(site, x, NULL, m->step.residual);
}

/* A product whose result is split as the weight's rows are; the bias too. */
static mw_tensor *project_at(mw_site site, const decoder *m, const weights *l, decoder_role role,
                             mw_tensor *x)
{
    if (!(m->config.family->switches & DECODER_FUSED) || !decoder_role_layered(role))
        return mw_linear_at(site, x, l->w[role], l->b[role]);
    mw_tensor *y = mw_matmul_at(site, x, l->w[role]);
    return l->b[role] ? mw_add_at(site, y, l->b[role], 1) : y;
}
#define project(...) project_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

/* A product back to the residual stream, where its terms are summed; the bias counts once. */
static mw_tensor *project_back_at(mw_site site, const decoder *m, const weights *l,
                                  decoder_role role, mw_tensor *x)
{
    bool fused = m->config.family->switches & DECODER_FUSED;
    mw_tensor *y =
        fused ? mw_matmul_at(site, x, l->w[role]) : mw_linear_at(site, x, l->w[role], NULL);
    y = residual(site, m, y);
    return l->b[role] ? mw_add_at(site, y, l->b[role], 1) : y;
}
#define project_back(...) project_back_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

static mw_tensor *norm_at(mw_site site, const decoder *m, const weights *l, decoder_role role,
                          mw_tensor *x)
{
    const decoder_config *c = &m->config;
    mw_tensor *w = l->w[role];
    int64_t size[1] = {mw_tensor_size(x, -1)};
    if (c->family->norm == DECODER_NORM_LAYER)
        return mw_layer_norm_at(site, x, size, 1, w, l->b[role], c->norm_eps, true);
    if (c->family->norm == DECODER_NORM_RMS_PLUS_ONE) w = mw_add_scalar_at(site, w, 1, 1);
    return mw_rms_norm_at(site, x, size, 1, w, c->norm_eps);
}
#define norm(...) norm_at(MW_SITE(#__VA_ARGS__), __VA_ARGS__)

static mw_tensor *activate(const decoder *m, mw_tensor *x)
{
    switch (m->config.act) {
    case DECODER_SILU:
        return mw_silu(x);
    case DECODER_GELU:
        return mw_gelu(x, "none");
    case DECODER_GELU_TANH:
        return mw_gelu(x, "tanh");
    default:
        return mw_relu(x);
    }
}

/* ---- attention --------------------------------------------------------------------------------
 */

/* Turns the pairs (i, i + E/2) of every head: x [B, T, heads, E]. */
static mw_tensor *rotate(const decoder *m, mw_tensor *x, const inputs *in, int64_t heads)
{
    int64_t b = m->step.batch, t = m->step.length, e = m->config.head_dim;
    if (!in->cosine) return x;
    mw_tensor *halves = mw_view(x, MW_INTS(b, t, heads, 2, e / 2));
    mw_tensor *first = mw_select_int(halves, 3, 0), *second = mw_select_int(halves, 3, 1);
    mw_tensor *turned[2] = {
        mw_sub(mw_mul(first, in->cosine), mw_mul(second, in->sine), 1),
        mw_add(mw_mul(second, in->cosine), mw_mul(first, in->sine), 1),
    };
    return mw_view(mw_stack(turned, 2, 3), MW_INTS(b, t, heads, e));
}

typedef struct heads {
    mw_tensor *q, *k, *v; /* [B, T, heads, E] */
} heads;

static heads fused_heads(const decoder *m, const weights *l, mw_tensor *x)
{
    const decoder_config *c = &m->config;
    mw_tensor *all = project(m, l, DECODER_QKV, x);
    all = mw_view(all, MW_INTS(m->step.batch, m->step.length, 3, c->heads, c->head_dim));
    heads h = {mw_select_int(all, 2, 0), mw_select_int(all, 2, 1), mw_select_int(all, 2, 2)};
    return h;
}

static heads separate_heads(const decoder *m, const weights *l, mw_tensor *x)
{
    const decoder_config *c = &m->config;
    int64_t b = m->step.batch, t = m->step.length, e = c->head_dim;
    heads h = {mw_view(project(m, l, DECODER_Q, x), MW_INTS(b, t, c->heads, e)),
               mw_view(project(m, l, DECODER_K, x), MW_INTS(b, t, c->kv_heads, e)),
               mw_view(project(m, l, DECODER_V, x), MW_INTS(b, t, c->kv_heads, e))};
    if (l->w[DECODER_Q_NORM]) h.q = norm(m, l, DECODER_Q_NORM, h.q);
    if (l->w[DECODER_K_NORM]) h.k = norm(m, l, DECODER_K_NORM, h.k);
    return h;
}

/* A prompt attends to itself, a later token to all of the cache up to its own position. */
static mw_tensor *attend(const decoder *m, const weights *l, heads h, const inputs *in)
{
    bool grouped = m->config.kv_heads != m->config.heads;
    mw_tensor *keys = h.k, *values = h.v;
    if (l->keys) {
        keys = mw_index_copy_(l->keys, 2, in->position, h.k);
        values = mw_index_copy_(l->values, 2, in->position, h.v);
    }
    if (in->seen)
        return mw_scaled_dot_product_attention(h.q, keys, values, in->seen, 0, false, MW_NONE_FLOAT,
                                               grouped);
    bool causal = !(m->config.family->switches & DECODER_BOTH_WAYS);
    return mw_scaled_dot_product_attention(h.q, h.k, h.v, NULL, 0, causal, MW_NONE_FLOAT, grouped);
}

static mw_tensor *attention(const decoder *m, const weights *l, mw_tensor *x, const inputs *in)
{
    const decoder_config *c = &m->config;
    bool fused = c->family->switches & DECODER_FUSED;
    heads h = fused ? fused_heads(m, l, x) : separate_heads(m, l, x);
    h.q = mw_transpose_int(rotate(m, h.q, in, c->heads), 1, 2);
    h.k = mw_transpose_int(rotate(m, h.k, in, c->kv_heads), 1, 2);
    h.v = mw_transpose_int(h.v, 1, 2);
    mw_tensor *seen = mw_transpose_int(attend(m, l, h, in), 1, 2);
    mw_tensor *joined =
        mw_reshape(seen, MW_INTS(m->step.batch, m->step.length, c->heads * c->head_dim));
    return project_back(m, l, DECODER_OUT, joined);
}

static mw_tensor *mlp(const decoder *m, const weights *l, mw_tensor *x)
{
    mw_tensor *h;
    if (m->config.family->switches & DECODER_GATED) {
        h = activate(m, project(m, l, DECODER_GATE, x));
        h = mw_mul(h, project(m, l, DECODER_UP, x));
    } else {
        h = activate(m, project(m, l, DECODER_UP, x));
    }
    return project_back(m, l, DECODER_DOWN, h);
}

static mw_tensor *block(const decoder *m, const weights *l, mw_tensor *x, const inputs *in)
{
    if (m->config.family->switches & DECODER_POST_NORM) {
        x = norm(m, l, DECODER_ATTN_NORM, mw_add(x, attention(m, l, x, in), 1));
        return norm(m, l, DECODER_MLP_NORM, mw_add(x, mlp(m, l, x), 1));
    }
    x = mw_add(x, attention(m, l, norm(m, l, DECODER_ATTN_NORM, x), in), 1);
    return mw_add(x, mlp(m, l, norm(m, l, DECODER_MLP_NORM, x)), 1);
}

/* ---- the step ---------------------------------------------------------------------------------
 */

static mw_tensor *embed(const decoder *m, mw_tensor *ids, mw_tensor *position)
{
    const decoder_config *c = &m->config;
    const weights *w = &m->top;
    mw_tensor *x = mw_embedding(w->w[DECODER_EMBED], ids, -1, false, false);
    x = residual(MW_SITE("embedding"), m, x);
    if (c->family->switches & DECODER_SCALED) x = mw_mul_scalar(x, sqrt((double)c->dim));
    if (w->w[DECODER_POSITION])
        x = mw_add(x, mw_embedding(w->w[DECODER_POSITION], position, -1, false, false), 1);
    if (w->w[DECODER_TYPE]) {
        mw_tensor *type = mw_zeros_like(ids, MW_DTYPE_NONE);
        x = mw_add(x, mw_embedding(w->w[DECODER_TYPE], type, -1, false, false), 1);
    }
    return w->w[DECODER_EMBED_NORM] ? norm(m, w, DECODER_EMBED_NORM, x) : x;
}

static inputs make_inputs(const decoder *m, mw_tensor *position)
{
    inputs in = {.position = position};
    if (m->frequency) {
        mw_tensor *p = mw_to_dtype(position, MW_DTYPE_f32, false, false);
        mw_tensor *angle = mw_mul(mw_view(p, MW_INTS(m->step.length, 1, 1)), m->frequency);
        in.cosine = mw_to_dtype(mw_cos(angle), m->config.dtype, false, false);
        in.sine = mw_to_dtype(mw_sin(angle), m->config.dtype, false, false);
    }
    if (m->step.positions && m->step.length == 1)
        in.seen = mw_le(mw_arange((double)m->step.positions, MW_DTYPE_i64),
                        mw_view(position, MW_INTS(1, 1)));
    return in;
}

/* Logits [B, 1, V] of the last token, or [B, T, V] of all. */
static mw_tensor *logits(const decoder *m, mw_tensor *x)
{
    const weights *w = &m->top;
    int64_t n = m->step.length;
    mw_tensor *head = w->w[DECODER_HEAD] ? w->w[DECODER_HEAD] : w->w[DECODER_EMBED];
    if (m->config.top == DECODER_TOP_MASKED) {
        x = activate(m, project(m, w, DECODER_TRANSFORM, x));
        x = norm(m, w, DECODER_TRANSFORM_NORM, x);
    } else if (n > 1) {
        x = mw_slice(x, 1, n - 1, n, 1);
    }
    mw_tensor *y = mw_linear(x, head, w->b[DECODER_HEAD]);
    return m->step.logits ? mw_mark_sharding(y, NULL, m->step.logits) : y;
}

mw_status decoder_function(void *user, mw_tensor *const *given, mw_tensor **out)
{
    const decoder *m = user;
    if (!mw_tensor_name(given[0], "ids") || !mw_tensor_name(given[1], "positions"))
        return mw_last_error()->code;
    mw_scope_begin(m->config.family->type);
    inputs in = make_inputs(m, given[1]);
    mw_tensor *x = embed(m, given[0], given[1]);
    for (int64_t i = 0; i < m->config.layers && x; i++) {
        mw_scope_begin("block");
        x = mw_scope_end(block(m, &m->layer[i], x, &in));
    }
    if (m->top.w[DECODER_NORM]) x = norm(m, &m->top, DECODER_NORM, x);
    x = mw_scope_end(x);
    if (m->config.top != DECODER_TOP_NONE) {
        out[0] = logits(m, x);
    } else {
        out[0] = x;
        if (m->top.w[DECODER_POOL])
            out[1] = mw_tanh(project(m, &m->top, DECODER_POOL, mw_select_int(x, 1, 0)));
    }
    return out[0] && mw_last_error()->code == MW_OK ? MW_OK : mw_last_error()->code;
}

int decoder_results(const decoder_config *c)
{
    return decoder_has(c, DECODER_POOL, false) ? 2 : 1;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static mw_status new_tensor(mw_mesh *mesh, const mw_layout *layout, const char *name,
                            mw_tensor **ret)
{
    *ret = mw_tensor_ref(mw_empty_layout(mesh, layout));
    return mw_tensor_name(*ret, name) ? MW_OK : mw_last_error()->code;
}

static mw_status open_tensor(const decoder *m, const model_plan *plan, const decoder_tensor *t,
                             mw_tensor **ret)
{
    mw_layout layout;
    mw_status status = model_plan_layout(plan, t->name, t->ndim, t->shape, &layout);
    if (status != MW_OK) return status;
    layout.dtype = (uint8_t)m->config.dtype;
    return new_tensor(NULL, &layout, t->name, ret);
}

static mw_status open_weights(const decoder *m, const model_plan *plan, int64_t layer, weights *to)
{
    mw_status status = MW_OK;
    for (int i = 0; i < 2 * DECODER_ROLE_COUNT && status == MW_OK; i++) {
        decoder_role role = (decoder_role)(i / 2);
        bool bias = i % 2;
        if (decoder_role_layered(role) != (layer >= 0)) continue;
        if (!decoder_has(&m->config, role, bias)) continue;
        decoder_tensor t = decoder_tensor_of(&m->config, role, bias, layer);
        status = open_tensor(m, plan, &t, bias ? &to->b[role] : &to->w[role]);
    }
    return status;
}

/* How the key heads of a projection's rows lie: its dims `heads` and `element`, seen apart. Where
 * rows are cut through heads, every rank keeps all of the cache. */
static void heads_layout(const decoder *m, const weights *l, mw_layout *cache)
{
    const decoder_config *c = &m->config;
    int fused = (c->family->switches & DECODER_FUSED) != 0;
    mw_tensor *weight = l->w[fused ? DECODER_QKV : DECODER_K];
    int64_t own[3] = {3, c->kv_heads, c->head_dim}, all = c->kv_heads * c->head_dim;
    if (fused) all *= 3;
    mw_layout rows = mw_layout_replicated(c->dtype, 1, &all), apart;
    rows.dim[0] = mw_tensor_layout(weight)->dim[fused];
    mw_status status =
        mw_layout_view(mw_tensor_mesh(weight), &rows, 2 + fused, own + !fused, &apart);
    if (status == MW_OK) {
        cache->dim[1] = apart.dim[fused];
        cache->dim[3] = apart.dim[fused + 1];
    } else {
        mw_error_clear();
    }
}

static bool same_keys(const decoder *m, const weights *a, const weights *b)
{
    decoder_role role = m->config.family->switches & DECODER_FUSED ? DECODER_QKV : DECODER_K;
    return mw_layout_equal(mw_tensor_layout(a->w[role]), mw_tensor_layout(b->w[role]));
}

static mw_status open_caches(const decoder *m)
{
    const decoder_config *c = &m->config;
    mw_layout ids, cache, whole;
    int64_t shape[4] = {m->step.batch, c->kv_heads, m->step.positions, c->head_dim};
    if (!m->step.positions) return MW_OK;
    mw_status status = mw_layout_parse(mw_mesh_world(), m->step.ids, &ids);
    whole = cache = mw_layout_replicated(c->dtype, 4, shape);
    if (status == MW_OK) cache.dim[0] = ids.dim[0];
    for (int64_t i = 0; i < c->layers && status == MW_OK; i++) {
        char name[64];
        weights *l = &m->layer[i];
        if (i == 0 || !same_keys(m, l, &m->layer[i - 1])) {
            cache.dim[1] = whole.dim[1];
            cache.dim[3] = whole.dim[3];
            heads_layout(m, l, &cache);
        }
        (void)snprintf(name, sizeof name, "cache.%lld.keys", (long long)i);
        if (status == MW_OK) status = new_tensor(NULL, &cache, name, &l->keys);
        (void)snprintf(name, sizeof name, "cache.%lld.values", (long long)i);
        if (status == MW_OK) status = new_tensor(NULL, &cache, name, &l->values);
    }
    return status;
}

static mw_status open_all(decoder *m, const model_plan *plan)
{
    const decoder_config *c = &m->config;
    mw_status status = open_weights(m, plan, -1, &m->top);
    for (int64_t i = 0; i < c->layers && status == MW_OK; i++)
        status = open_weights(m, plan, i, &m->layer[i]);
    if (status == MW_OK) status = open_caches(m);
    if (status != MW_OK || !(c->family->switches & DECODER_ROTATES)) return status;
    int64_t half[1] = {c->head_dim / 2};
    mw_layout layout = mw_layout_replicated(MW_DTYPE_f32, 1, half);
    return new_tensor(NULL, &layout, "rotary.inv_freq", &m->frequency);
}

mw_status decoder_open(const decoder_config *config, const model_plan *plan,
                       const decoder_step *step, decoder **ret)
{
    decoder *m = mw_memory(sizeof *m);
    if (!m) return mw_last_error()->code;
    m->config = *config;
    m->step = *step;
    m->layer = mw_memory((size_t)config->layers * sizeof *m->layer);
    mw_status status = m->layer ? open_all(m, plan) : mw_last_error()->code;
    if (status != MW_OK) {
        decoder_close(m);
        return status;
    }
    *ret = m;
    return MW_OK;
}

static void close_weights(weights *w)
{
    for (int r = 0; r < DECODER_ROLE_COUNT; r++) {
        mw_tensor_unref(w->w[r]);
        mw_tensor_unref(w->b[r]);
    }
    mw_tensor_unref(w->keys);
    mw_tensor_unref(w->values);
}

void decoder_close(decoder *m)
{
    if (!m) return;
    close_weights(&m->top);
    for (int64_t i = 0; m->layer && i < m->config.layers; i++)
        close_weights(&m->layer[i]);
    mw_tensor_unref(m->frequency);
    mw_memory_free(m->layer, (size_t)m->config.layers * sizeof *m->layer);
    mw_memory_free(m, sizeof *m);
}
