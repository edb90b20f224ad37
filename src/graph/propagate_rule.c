/* The factors of a node, for propagation. Ops say them themselves (ops/rule.h); what is added here
 * is when they take part, the factors of a reshape, and a second rule where an op changes the size
 * of a dim but keeps its order. */
#include "graph/propagate_rule.h"

#include "ops/rule.h"

/* ---- building ---------------------------------------------------------------------------------
 */

typedef struct builder {
    mw_arena *arena;
    flow_factor *factor;
    flow_tensor *tensor;
    flow_dim **dim; /* [tensor] of `tensor`, while they are written */
    int nfactor, cap_factor, ntensor;
} builder;

static mw_status begin(builder *b, mw_arena *arena, int nin, int nout, int factors)
{
    *b = (builder){.arena = arena, .cap_factor = factors, .ntensor = nin + nout};
    b->factor = mw__arena_zalloc(arena, (size_t)(factors + 1) * sizeof *b->factor);
    b->tensor = mw__arena_zalloc(arena, (size_t)(b->ntensor + 1) * sizeof *b->tensor);
    b->dim = mw__arena_zalloc(arena, (size_t)(b->ntensor + 1) * sizeof *b->dim);
    return b->factor && b->tensor && b->dim ? MW_OK : MW_NOMEM();
}

static mw_status set_tensor(builder *b, int t, const mw_meta *meta)
{
    b->dim[t] = mw__arena_zalloc(b->arena, (size_t)(meta->ndim + 1) * sizeof(flow_dim));
    if (!b->dim[t]) return MW_NOMEM();
    b->tensor[t].ndim = meta->ndim;
    b->tensor[t].dim = b->dim[t];
    b->tensor[t].count = 1;
    for (int d = 0; d < meta->ndim; d++)
        b->tensor[t].count *= meta->shape[d];
    return MW_OK;
}

static int add_factor(builder *b, const char *name, int64_t size, int from)
{
    b->factor[b->nfactor] = (flow_factor){.name = name, .size = size, .from = (uint8_t)from};
    return b->nfactor++;
}

/* A letter of the alphabet, as rules are written: i, j, k, ... */
static const char *nth_name(const builder *b)
{
    int n = b->nfactor, letters = 'z' - 'i' + 1;
    if (n < letters) return mw__arena_printf(b->arena, "%c", 'i' + n);
    return mw__arena_printf(b->arena, "z%d", n - letters);
}

static void put(flow_dim *dim, int factor, int64_t size)
{
    if (dim->n == SPREAD_FACTORS) return; /* keep_whole sees it */
    dim->factor[dim->n] = factor;
    dim->size[dim->n++] = size;
}

/* Nothing passes through a dim that is more than its factors. */
static void keep_whole(flow_dim *dim, int64_t size)
{
    int64_t product = 1;
    for (int k = 0; k < dim->n; k++)
        product *= dim->size[k];
    if (product != size) dim->n = 0;
}

static void end(builder *b, int nin, flow_rule *ret)
{
    *ret = (flow_rule){.nfactor = b->nfactor,
                       .nin = nin,
                       .nout = b->ntensor - nin,
                       .factor = b->factor,
                       .tensor = b->tensor};
}

/* ---- marks and movements ----------------------------------------------------------------------
 */

static mw_status identity(const mw_meta *meta, mw_arena *arena, flow_rule *ret)
{
    builder b;
    MW_TRY(begin(&b, arena, 1, 1, meta->ndim));
    MW_TRY(set_tensor(&b, 0, meta));
    MW_TRY(set_tensor(&b, 1, meta));
    for (int d = 0; d < meta->ndim; d++) {
        const char *name = nth_name(&b);
        if (!name) return MW_NOMEM();
        int f = add_factor(&b, name, meta->shape[d], FLOW_SAME);
        put(&b.dim[0][d], f, meta->shape[d]);
        put(&b.dim[1][d], f, meta->shape[d]);
    }
    end(&b, 1, ret);
    ret->same = ret->elementwise = true;
    return MW_OK;
}

/* ---- reshapes ---------------------------------------------------------------------------------
 */

/* A dim of a shape seen in the flat index: the strides [lo, hi). */
typedef struct run {
    int64_t lo, hi;
} run;

static int runs_of(const mw_meta *meta, run *ret)
{
    int64_t stride = 1;
    for (int d = meta->ndim - 1; d >= 0; d--) {
        ret[d] = (run){stride, stride * meta->shape[d]};
        stride *= meta->shape[d];
    }
    return meta->ndim;
}

static int64_t gcd64(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

typedef struct shared {
    int in, out;
    run at;
    int factor;
} shared;

/* The digits of stride [lo, hi) are digits of a dim if its own stride divides lo, and hi its end.
 */
static int shared_digits(const run *in, int nin, const run *out, int nout, shared *ret)
{
    int n = 0;
    for (int i = 0; i < nin; i++)
        for (int o = 0; o < nout; o++) {
            run both = {in[i].lo / gcd64(in[i].lo, out[o].lo) * out[o].lo,
                        gcd64(in[i].hi, out[o].hi)};
            if (both.hi > both.lo && both.hi % both.lo == 0) ret[n++] = (shared){i, o, both, -1};
        }
    return n;
}

/* The factors of a dim: the shared ones that lie in it and, between them, its own. */
static mw_status fill_dim(builder *b, flow_dim *dim, run at, const shared *all, int n, int d,
                          bool in)
{
    int64_t down = at.hi;
    for (int i = 0; i <= n; i++) { /* they come major first */
        if (i < n && (in ? all[i].in : all[i].out) != d) continue;
        int64_t next = i < n ? all[i].at.hi : at.lo;
        if (down > next) {
            const char *name = nth_name(b);
            if (!name) return MW_NOMEM();
            put(dim, add_factor(b, name, down / next, FLOW_SAME), down / next);
        }
        if (i == n) break;
        put(dim, all[i].factor, all[i].at.hi / all[i].at.lo);
        down = all[i].at.lo;
    }
    keep_whole(dim, at.hi / at.lo);
    return MW_OK;
}

mw_status mw__flow_reshape(const mw_meta *in, const mw_meta *out, mw_arena *arena, flow_rule *ret)
{
    builder b;
    run from[MW_MAX_DIMS], to[MW_MAX_DIMS];
    shared all[MW_MAX_DIMS * MW_MAX_DIMS];
    MW_TRY(begin(&b, arena, 1, 1, 12 * MW_MAX_DIMS));
    MW_TRY(set_tensor(&b, 0, in));
    MW_TRY(set_tensor(&b, 1, out));
    if (b.tensor[0].count > 0) {
        int n = shared_digits(from, runs_of(in, from), to, runs_of(out, to), all);
        for (int i = 0; i < n; i++) {
            const char *name = nth_name(&b);
            if (!name) return MW_NOMEM();
            all[i].factor = add_factor(&b, name, all[i].at.hi / all[i].at.lo, FLOW_SAME);
        }
        for (int d = 0; d < in->ndim; d++)
            MW_TRY(fill_dim(&b, &b.dim[0][d], from[d], all, n, d, true));
        for (int d = 0; d < out->ndim; d++)
            MW_TRY(fill_dim(&b, &b.dim[1][d], to[d], all, n, d, false));
    }
    end(&b, 1, ret);
    ret->same = true;
    return MW_OK;
}

/* ---- the rule of an op ------------------------------------------------------------------------
 */

static bool has_letter(const mw_operand *o, int letter)
{
    for (int d = 0; d < o->ndim; d++)
        for (int k = 0; k < o->nletter[d]; k++)
            if (o->letter[d][k] == letter) return true;
    return false;
}

static const mw_operand *nth_operand(const mw_rule *rule, int t)
{
    return t < rule->nin ? &rule->in[t] : &rule->out[t - rule->nin];
}

/* `^` counts as free: the op then works in parts. */
static bool is_free(const mw_letter *l)
{
    return l->mark == MW_MARK_FREE || l->mark == MW_MARK_PARTS;
}

/* Does every output have every letter of every operand, none contracted, whole or moved? */
static bool keeps_all(const mw_rule *rule)
{
    for (int l = 0; l < rule->nletter; l++) {
        if (rule->letter[l].size == 1) continue;
        if (!is_free(&rule->letter[l])) return false;
        for (int o = 0; o < rule->nout; o++)
            if (!has_letter(&rule->out[o], l)) return false;
    }
    return rule->nout > 0 && rule->nin > 0;
}

/* And are the letters of every operand in the places of the outputs' (broadcast dims aside)? */
static bool keeps_places(const mw_rule *rule)
{
    const mw_operand *out = &rule->out[0];
    for (int t = 0; t < rule->nin + rule->nout; t++) {
        const mw_operand *o = nth_operand(rule, t);
        if (o->ndim > out->ndim) return false;
        for (int d = 0; d < o->ndim; d++) {
            int at = d + out->ndim - o->ndim;
            if (o->nletter[d] == 0) continue;
            if (o->nletter[d] > 1 || out->nletter[at] != 1 || o->letter[d][0] != out->letter[at][0])
                return false;
        }
    }
    return true;
}

extern const mw_op mw_op_expand, mw_op_repeat;

/* Does the operand lack a letter of the results that another operand has, or an expansion adds? */
static bool is_broadcast(const mw_node *node, const mw_rule *rule, int t)
{
    for (int l = 0; l < rule->nletter; l++) {
        if (rule->letter[l].size == 1 || !rule->letter[l].in_output || has_letter(&rule->in[t], l))
            continue;
        if (node->op == &mw_op_expand || node->op == &mw_op_repeat) return true;
        for (int i = 0; i < rule->nin; i++)
            if (has_letter(&rule->in[i], l)) return true;
    }
    return false;
}

static void set_dims(builder *b, const mw_rule *rule, int t)
{
    const mw_operand *o = nth_operand(rule, t);
    for (int d = 0; d < o->ndim; d++)
        for (int k = 0; k < o->nletter[d]; k++)
            put(&b->dim[t][d], o->letter[d][k], rule->letter[o->letter[d][k]].size);
}

/* ---- dims that change their size --------------------------------------------------------------
 */

/* Does operand t have dim d with another size than result o has it? */
static bool resized(const mw_rule *rule, const mw_meta *in, int t, int o, int d)
{
    const mw_meta *out = &rule->out_meta[o];
    return in->ndim == out->ndim && d < in->ndim && in->shape[d] != out->shape[d] &&
           rule->in[t].nletter[d] > 0 && rule->out[o].nletter[d] > 0;
}

/* Have they a letter in common there? Then that goes first, and is exact: q·p of equal parts. */
static bool alike(const mw_rule *rule, int t, int o, int d)
{
    const mw_operand *in = &rule->in[t], *out = &rule->out[o];
    for (int k = 0; k < in->nletter[d]; k++)
        for (int j = 0; j < out->nletter[d]; j++)
            if (in->letter[d][k] == out->letter[d][j]) return true;
    return false;
}

/* One factor for each dim that the op makes longer or shorter, of another size in each tensor. */
static mw_status resize_rule(const mw_node *node, const mw_rule *rule, mw_arena *arena,
                             const flow_rule **ret)
{
    builder b;
    int ndim = 0;
    bool any = false;
    for (int i = 0; i < rule->nout; i++)
        ndim = MW_MAX(ndim, rule->out_meta[i].ndim);
    MW_TRY(begin(&b, arena, rule->nin, rule->nout, ndim));
    for (int t = 0; t < b.ntensor; t++)
        MW_TRY(
            set_tensor(&b, t, t < rule->nin ? &node->in_meta[t] : &rule->out_meta[t - rule->nin]));
    for (int d = 0; d < ndim; d++) {
        const char *name = nth_name(&b);
        if (!name) return MW_NOMEM();
        int f = add_factor(&b, name, 0, FLOW_ANY);
        b.factor[f].loose = true;
        for (int t = 0; t < rule->nin; t++)
            for (int o = 0; o < rule->nout; o++) {
                const mw_meta *in = &node->in_meta[t], *out = &rule->out_meta[o];
                if (!resized(rule, in, t, o, d)) continue;
                any = true;
                if (alike(rule, t, o, d)) b.factor[f].from = FLOW_STRIDED;
                b.factor[f].size = MW_MAX(b.factor[f].size, MW_MAX(in->shape[d], out->shape[d]));
                flow_dim *from = &b.dim[t][d], *to = &b.dim[rule->nin + o][d];
                if (!from->n) put(from, f, in->shape[d]);
                if (!to->n) put(to, f, out->shape[d]);
            }
    }
    if (!any) return MW_OK;
    flow_rule *made = mw__arena_zalloc(arena, sizeof *made);
    if (!made) return MW_NOMEM();
    end(&b, rule->nin, made);
    *ret = made;
    return MW_OK;
}

static mw_status op_rule(const mw_node *node, const mw_rule *rule, mw_arena *arena, flow_rule *ret)
{
    builder b;
    bool same = keeps_all(rule);
    MW_TRY(begin(&b, arena, rule->nin, rule->nout, rule->nletter));
    for (int l = 0; l < rule->nletter; l++) {
        const mw_letter *letter = &rule->letter[l];
        const char *name = mw__arena_strndup(arena, letter->name, strlen(letter->name));
        if (!name) return MW_NOMEM();
        (void)add_factor(&b, name, letter->size,
                         letter->in_output && is_free(letter) ? FLOW_THROUGH : FLOW_ANY);
    }
    for (int t = 0; t < b.ntensor; t++) {
        MW_TRY(
            set_tensor(&b, t, t < rule->nin ? &node->in_meta[t] : &rule->out_meta[t - rule->nin]));
        set_dims(&b, rule, t);
        if (t >= rule->nin) continue;
        if (is_broadcast(node, rule, t) && (same || rule->nin == 1)) {
            b.tensor[t].takes = FLOW_THROUGH;
            b.tensor[t].gives = FLOW_BROADCAST;
        }
        if (rule->in[t].unread) b.tensor[t].takes = FLOW_STEPS;
    }
    end(&b, rule->nin, ret);
    ret->same = same;
    ret->elementwise = same && keeps_places(rule);
    return node->op->borders ? resize_rule(node, rule, arena, &ret->more) : MW_OK;
}

/* ---- by structure -----------------------------------------------------------------------------
 */

/* What the rule depends on, as bytes. */
static mw_status structure_key(const mw_node *node, mw_str *key)
{
    mw__str_append(key, (const char *)&node->kind, sizeof node->kind);
    mw__str_append(key, (const char *)&node->op, sizeof node->op);
    for (int i = 0; i < node->narg; i++) {
        const mw_arg *a = &node->arg[i];
        int64_t head[4] = {a->kind, a->first, a->count, a->i};
        mw__str_append(key, (const char *)head, sizeof head);
        mw__str_append(key, (const char *)&a->f, sizeof a->f);
        if (a->kind == MW_ARG_INTS)
            mw__str_append(key, (const char *)a->ints, (size_t)a->count * sizeof a->ints[0]);
        if (a->kind == MW_ARG_STR) mw__str_append(key, a->s, strlen(a->s) + 1);
        for (int k = 0; a->kind == MW_ARG_STRS && k < a->count; k++)
            mw__str_append(key, a->strs[k], strlen(a->strs[k]) + 1);
    }
    for (int i = 0; i < node->nin; i++) {
        const mw_meta *m = &node->in_meta[i];
        int head[2] = {(int)m->dtype, m->ndim};
        mw__str_append(key, (const char *)head, sizeof head);
        mw__str_append(key, (const char *)m->shape, (size_t)m->ndim * sizeof m->shape[0]);
    }
    return mw__str_status(key);
}

static mw_status make_rule(const mw_node *node, mw_arena *arena, flow_rule *ret)
{
    if (node->kind != MW_NODE_OP) return identity(&node->in_meta[0], arena, ret);
    mw_call_args call = mw__node_call(node);
    mw_arena scratch;
    mw__arena_init(&scratch);
    mw_rule *rule = mw__arena_zalloc(&scratch, sizeof *rule);
    mw_status status = rule ? mw__rule_of(&call, &scratch, rule) : MW_NOMEM();
    if (status == MW_OK)
        status = node->op->reshape
                     ? mw__flow_reshape(&node->in_meta[0], &rule->out_meta[0], arena, ret)
                     : op_rule(node, rule, arena, ret);
    mw__arena_done(&scratch);
    return status;
}

mw_status mw__flow_rule_of(const mw_node *node, mw_lookup *known, const flow_rule **ret)
{
    bool moves =
        node->kind == MW_NODE_MARK || (node->kind == MW_NODE_STEP && node->step == MW_STEP_COUNT);
    *ret = NULL;
    if (!moves && (node->kind != MW_NODE_OP || node->nin == 0)) return MW_OK;
    mw_str key = {0};
    mw_status status = structure_key(node, &key);
    const void **at = status == MW_OK ? mw__memo_at(known, key.at, key.length) : NULL;
    mw__str_done(&key);
    MW_TRY(status);
    if (!at) return MW_NOMEM();
    if (!*at) {
        flow_rule *rule = mw__arena_zalloc(known->arena, sizeof *rule);
        if (!rule) return MW_NOMEM();
        MW_TRY(make_rule(node, known->arena, rule));
        *at = rule;
    }
    *ret = *at;
    return MW_OK;
}
