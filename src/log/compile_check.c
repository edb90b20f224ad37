/* What a graph moves without need, and what it reads too early. A finding rests on all users of a
 * value: where one of them is not understood, nothing is said. */
#include "log/compile.h"
#include "plan/plan.h"

enum { CLASSES = 16, FEW = 3, FOLLOWED = 64 };

/* ---- what becomes of a result ------------------------------------------------------------------
 */

/* Through pieces and views, to the first wait of any branch. */
static int wait_below(const cp_graph *g, int node, int depth)
{
    for (int u = g->node[node].first_use; u >= 0; u = g->edge[u].next_use) {
        int to = g->edge[u].to;
        const cp_node *n = &g->node[to];
        if (n->kind == CP_WAIT) return to;
        int below =
            depth < 4 && (n->index >= 0 || mw__cp_looks(n)) ? wait_below(g, to, depth + 1) : -1;
        if (below >= 0) return below;
    }
    return -1;
}

int mw__cp_wait_of(const cp_graph *g, int node)
{
    return wait_below(g, node, 0);
}

static bool splits(const cp_node *n)
{
    return n->kind == CP_OP &&
           (mw__cp_is(n, "split") || mw__cp_is(n, "chunk") || mw__cp_is(n, "split_with_sizes") ||
            mw__cp_is(n, "tensor_split") || mw__cp_is(n, "split_with_sizes_copy"));
}

/* The last number of a call's arguments: `cat([a, b], 1)`, `cat((a, b), dim = 1)`. */
static int64_t last_number(const cp_node *n, int64_t otherwise)
{
    const char *end = n->rhs + n->rhs_length, *at = end;
    if (at > n->rhs && at[-1] == ')') at--;
    end = at;
    while (at > n->rhs && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == end || end - at > 3 || at == n->rhs) return otherwise;
    int64_t value = 0;
    for (const char *p = at; p < end; p++)
        value = value * 10 + (*p - '0');
    bool minus = at[-1] == '-';
    return minus ? -value : value;
}

/* Pieces of `split`, all of them and in order, put together along another dim; or -1. */
static int joined(const cp_graph *g, int split)
{
    int cat = -1, pieces = 0;
    for (int u = g->node[split].first_use; u >= 0; u = g->edge[u].next_use) {
        int piece = g->edge[u].to, to = mw__cp_only_user(g, piece);
        if (g->node[piece].index < 0 || to < 0 || (cat >= 0 && to != cat)) return -1;
        cat = to;
        pieces++;
    }
    if (cat < 0 || !(mw__cp_is(&g->node[cat], "cat") || mw__cp_is(&g->node[cat], "concat")) ||
        g->node[cat].nin != pieces)
        return -1;
    for (int i = 0; i < pieces; i++)
        if (g->node[mw__cp_in(g, cat, i)].index != i) return -1;
    if (g->node[split].nin != 1) return -1;
    int64_t whole = g->node[mw__cp_in(g, split, 0)].shape.bytes;
    return whole >= 0 && whole == g->node[cat].shape.bytes ? cat : -1;
}

int mw__cp_value(const cp_graph *g, int node, int64_t *ret_dim)
{
    int at = node;
    *ret_dim = 0;
    for (int i = 0; i < FOLLOWED; i++) {
        int user = mw__cp_only_user(g, at);
        if (user < 0) return at;
        const cp_node *n = &g->node[user];
        bool same = n->shape.ndim == g->node[at].shape.ndim && n->shape.sized;
        for (int d = 0; same && d < n->shape.ndim; d++)
            same = n->shape.dim[d] == g->node[at].shape.dim[d];
        if (mw__cp_looks(n) && same && n->nin == 1) {
            at = user;
            continue;
        }
        int cat = splits(n) ? joined(g, user) : -1;
        if (cat < 0) return at;
        int64_t dim = last_number(&g->node[cat], 0);
        *ret_dim = dim < 0 ? dim + g->node[cat].shape.ndim : dim;
        at = cat;
    }
    return at;
}

/* What is kept of a value that all of its users cut. */
typedef struct cut {
    int64_t bytes; /* of all pieces */
    int pieces;
    int first;        /* node of one */
    int dim;          /* that is cut; -1: several, or a selection */
    int64_t position; /* of the piece, counted in pieces; -1: not known */
} cut;

static int cut_dim(const cp_shape *whole, const cp_shape *part)
{
    int dim = -1;
    if (whole->ndim != part->ndim || whole->ndim < 1) return -1;
    for (int d = 0; d < whole->ndim; d++) {
        if (whole->dim[d] == part->dim[d]) continue;
        if (dim >= 0) return -1;
        dim = d;
    }
    return dim;
}

/* The start of `slice.Tensor(x, 0, 4, 8)` or `narrow(x, 0, 4, 4)`; -1: not a number. */
static int64_t start_of(cp_here *h, const cp_node *n)
{
    mw_py *py = NULL;
    if (mw__cp_failed(h,
                      mw__py_read(n->rhs, n->rhs + n->rhs_length, mw__explain_scratch(h->e), &py)))
        return -1;
    const mw_py *start = mw__py_child(py, 2);
    return start && start->kind == MW_PY_INT ? start->i : -1;
}

static bool add_piece(cp_here *h, const cp_shape *whole, int piece, cut *c)
{
    const cp_node *n = &h->g->node[piece];
    if (n->first_use < 0) return true; /* made, not used */
    if (n->shape.bytes < 0) return false;
    int dim = cut_dim(whole, &n->shape);
    c->bytes += n->shape.bytes;
    c->pieces++;
    c->dim = c->pieces > 1 && dim != c->dim ? -1 : dim;
    c->first = piece;
    int64_t start = n->index >= 0 ? n->index : start_of(h, n),
            size = dim >= 0 ? n->shape.dim[dim] : 0;
    c->position = n->index >= 0                                 ? start
                  : size > 0 && start >= 0 && start % size == 0 ? start / size
                                                                : -1;
    return true;
}

static bool is_cut(cp_here *h, int value, cut *ret)
{
    const cp_graph *g = h->g;
    const cp_shape *whole = &g->node[value].shape;
    *ret = (cut){.dim = -1, .position = -1};
    if (whole->bytes <= 0) return false;
    for (int u = g->node[value].first_use; u >= 0; u = g->edge[u].next_use) {
        int user = g->edge[u].to;
        const cp_node *n = &g->node[user];
        if (splits(n)) {
            for (int p = n->first_use; p >= 0; p = g->edge[p].next_use)
                if (g->node[g->edge[p].to].index < 0 || !add_piece(h, whole, g->edge[p].to, ret))
                    return false;
        } else if (n->kind == CP_OP &&
                   (mw__cp_is(n, "slice") || mw__cp_is(n, "narrow") || mw__cp_is(n, "select"))) {
            if (!add_piece(h, whole, user, ret)) return false;
        } else {
            return false;
        }
    }
    return ret->pieces > 0;
}

/* ---- findings of one movement ------------------------------------------------------------------
 */

static const char *shape_text(cp_here *h, const cp_shape *s)
{
    mw_str text = {0};
    mw__cp_shape_str(s, &text);
    const char *made = mw__explain_text(h->e, "%s", mw__str_text(&text));
    mw__cp_done(h, &text);
    return made ? made : "";
}

static void check_reduce(cp_here *h, int node, mw_draft *d, int64_t bytes)
{
    const cp_call *c = h->g->node[node].call;
    int64_t dim, part;
    int value = mw__cp_value(h->g, node, &dim);
    cut k;
    if (c->size < 2 || !is_cut(h, value, &k)) return;
    if (__builtin_mul_overflow(k.bytes, c->size, &part) || part > h->g->node[value].shape.bytes)
        return;
    const cp_node *piece = &h->g->node[k.first];
    int64_t after = mw__collective_received(MW_COLLECTIVE_reduce_scatter, c->in_bytes, c->size);
    mw__problem(
        d, "needless-movement", bytes, after,
        "reduce_scatter_tensor in its place (with DTensor: redistribute the partial sums to Shard, "
        "not to Replicate and then Shard); where every rank keeps the same part, cut before the "
        "all_reduce",
        "Of the reduced tensor only %s is used (line %lld), one part in %lld: a reduce-scatter "
        "gives "
        "each rank its part for half the bytes.",
        shape_text(h, &piece->shape), (long long)piece->line, (long long)c->size);
}

static bool other_rank(const cp_here *h, const cp_call *c, int64_t position)
{
    return strcmp(c->group, "0") == 0 && h->g->rank >= 0 && position >= 0 && position != h->g->rank;
}

static void check_gather(cp_here *h, int node, mw_draft *d, int64_t bytes)
{
    const cp_graph *g = h->g;
    const cp_call *c = g->node[node].call;
    int64_t dim;
    int value = mw__cp_value(g, node, &dim), in = mw__cp_in(g, node, 0);
    cut k;
    if (c->nin != 1 || in < 0 || c->size < 2 || !is_cut(h, value, &k) || k.dim < 0) return;
    const cp_node *piece = &g->node[k.first];
    if (k.bytes > c->in_bytes || c->in_bytes < 0) return;
    if (k.dim == dim && !other_rank(h, c, k.position)) {
        if (k.bytes != c->in_bytes) return;
        mw__problem(
            d, "needless-movement", bytes, 0,
            "use the value from before the all_gather (with DTensor: leave it Shard, without a "
            "redistribution to Replicate in between)",
            "The gathered tensor is only cut back into a part of the size that each rank had (%s, "
            "line "
            "%lld): if that is its own part, nothing needs to move.",
            shape_text(h, &piece->shape), (long long)piece->line);
    } else if (k.dim != dim && k.bytes == c->in_bytes) {
        mw__problem(d, "needless-movement", bytes,
                    mw__collective_received(MW_COLLECTIVE_all_to_all, c->in_bytes, c->size),
                    "an all_to_all in its place; DTensor uses one where the backend has it (gloo "
                    "on CPU has "
                    "not)",
                    "Gathered along dim %lld, then cut along dim %d to %s (line %lld): an "
                    "all-to-all moves only "
                    "what each rank lacks.",
                    (long long)dim, k.dim, shape_text(h, &piece->shape), (long long)piece->line);
    }
}

static int first_of_all(const cp_graph *g, int node)
{
    int at = mw__cp_in(g, node, 0);
    for (int i = 0; i < FOLLOWED && at >= 0; i++) {
        const cp_node *n = &g->node[at];
        int in = mw__cp_in(g, at, 0);
        if (n->kind != CP_OP || !mw__cp_looks(n) || n->nin != 1 || in < 0 ||
            n->shape.ndim != g->node[in].shape.ndim)
            break;
        bool same = true;
        for (int d = 0; d < n->shape.ndim; d++)
            same = same && n->shape.dim[d] == g->node[in].shape.dim[d];
        if (!same) break;
        at = in;
    }
    return at;
}

/* The same value was moved in the same way before, as an earlier user of the same node. */
static void check_twice(cp_here *h, int node, mw_draft *d, int64_t bytes)
{
    const cp_graph *g = h->g;
    const cp_call *c = g->node[node].call;
    bool sure = c->kind == MW_COLLECTIVE_all_gather || c->kind == MW_COLLECTIVE_all_reduce ||
                c->kind == MW_COLLECTIVE_reduce_scatter;
    int value =
        sure && c->nin == 1 && !c->here && !strstr(c->name, "fused_") ? first_of_all(g, node) : -1;
    int steps = 0, first = -1;
    if (value < 0) return;
    for (int u = g->node[value].first_use; u >= 0 && steps < FOLLOWED * 4;
         u = g->edge[u].next_use, steps++) {
        int at = g->edge[u].to;
        for (int i = 0; i < 4 && g->node[at].kind == CP_OP && mw__cp_looks(&g->node[at]); i++) {
            int next = mw__cp_only_user(g, at);
            if (next < 0) break;
            at = next;
        }
        const cp_call *other = g->node[at].call;
        if (at < node && other && other->kind == c->kind && other->nin == 1 &&
            strcmp(other->group, c->group) == 0 && strcmp(other->reduce, c->reduce) == 0 &&
            first_of_all(g, at) == value)
            first = first < 0 ? at : MW_MIN(first, at);
    }
    if (first < 0) return;
    mw__problem(
        d, "needless-movement", bytes, 0,
        "keep the result of the first one and use it again (one redistribute before both uses)",
        "The same value went through the same collective in line %lld: its result is there "
        "already.",
        (long long)g->node[first].line);
}

/* Two reductions of one value, over one group after the other. */
static void check_chain(cp_here *h, int node, mw_draft *d, int64_t bytes)
{
    const cp_graph *g = h->g;
    const cp_call *c = g->node[node].call;
    int at = mw__cp_in(g, node, 0), i = 0;
    for (; i < FOLLOWED && at >= 0 && mw__cp_looks(&g->node[at]) && mw__cp_only_user(g, at) >= 0;
         i++)
        at = mw__cp_in(g, at, 0);
    const cp_call *first = at >= 0 && i > 0 ? g->node[at].call : NULL;
    if (!first || c->nin != 1 || first->kind != MW_COLLECTIVE_all_reduce || first->nin != 1 ||
        strcmp(first->reduce, c->reduce) != 0 || strcmp(first->group, c->group) == 0 ||
        first->size < 2 || c->size < 2)
        return;
    int64_t now = mw__cp_received(first);
    int64_t joint =
        mw__collective_received(MW_COLLECTIVE_all_reduce, c->in_bytes, first->size * c->size);
    if (now < 0 || joint < 0 || bytes < 0 || first->size > INT32_MAX / c->size) return;
    mw__problem(
        d, "needless-movement", now + bytes, joint,
        "one all_reduce over both mesh axes (a flattened mesh), where every pair of the two groups "
        "meets "
        "in the larger one",
        "The value was reduced over group %s in line %lld and is reduced again over group %s: one "
        "reduction over the %lld ranks of both would receive less.",
        first->group, (long long)g->node[at].line, c->group, (long long)(first->size * c->size));
}

static void check_wait(cp_here *h, int node, mw_draft *d)
{
    const cp_graph *g = h->g;
    if (!g->over || mw__cp_wait_of(g, node) >= 0 ||
        strstr(g->node[node].call->name, "symm_mem") == g->node[node].call->name)
        return;
    for (int u = g->node[node].first_use; u >= 0; u = g->edge[u].next_use) {
        const cp_node *n = &g->node[g->edge[u].to];
        if (n->kind == CP_RETURN || n->kind == CP_WAIT || n->index >= 0 || mw__cp_looks(n))
            continue;
        mw__problem(d, "not-awaited", -1, -1, "call wait_tensor on the result before it is used",
                    "The result is read in line %lld, and no wait_tensor stands between: the "
                    "collective may "
                    "still be running there, and the values are not defined.",
                    (long long)n->line);
        return;
    }
}

void mw__cp_check_move(cp_here *h, int node, mw_draft *d, int64_t bytes)
{
    const cp_call *c = h->g->node[node].call;
    if (h->g->stage == CP_CODE) return; /* kernels hide who reads what */
    check_wait(h, node, d);
    if (c->kind == MW_COLLECTIVE_all_reduce) {
        check_reduce(h, node, d, bytes);
        check_chain(h, node, d, bytes);
    }
    if (c->kind == MW_COLLECTIVE_all_gather) check_gather(h, node, d, bytes);
    check_twice(h, node, d, bytes);
}

/* ---- findings of a graph -----------------------------------------------------------------------
 */

typedef struct bucket { /* collectives of one kind, none of which waits for another */
    int count;
    int64_t bytes, most, first, last;
} bucket;

static bool same_class(const cp_node *a, const cp_node *b)
{
    const cp_call *x = a->call, *y = b->call;
    return x->kind == y->kind && a->backward == b->backward && strcmp(x->group, y->group) == 0 &&
           strcmp(x->reduce, y->reduce) == 0 && x->size == y->size;
}

/* Numbers every node by how many of a class it comes after; equal numbers don't depend on each
 * other. */
static void level(const cp_graph *g, const cp_node *of, int *depth, bucket *at, int nbucket)
{
    for (int i = 0; i < g->nnode; i++) {
        const cp_node *n = &g->node[i];
        int deep = 0;
        for (int k = 0; k < n->nin; k++)
            deep = MW_MAX(deep, depth[mw__cp_in(g, i, k)]);
        depth[i] = deep;
        if (!n->call || !same_class(n, of)) continue;
        int64_t bytes = mw__cp_received(n->call);
        depth[i] = deep + 1;
        if (deep >= nbucket || bytes < 0) continue;
        bucket *b = &at[deep];
        if (!b->count) b->first = n->line;
        b->last = n->line;
        b->count++;
        b->bytes += bytes;
        b->most = MW_MAX(b->most, bytes);
    }
}

static void tell_small(mw_draft *d, const cp_node *of, const bucket *b)
{
    const cp_call *c = of->call;
    int phases = c->kind == MW_COLLECTIVE_all_reduce && c->size > 2 ? 2 : 1;
    double start = mw__step_time((int)MW_MIN(c->size, MW_MESH_RANKS), 0, phases);
    double most = mw__step_time((int)MW_MIN(c->size, MW_MESH_RANKS), b->most, phases);
    if (b->count < FEW || c->size < 2 || most > 2 * start) return;
    mw__problem(
        d, "small-collectives", b->bytes, b->bytes,
        "put them into one: a coalesced call (all_reduce_coalesced, "
        "all_gather_into_tensor_coalesced), or "
        "inductor's bucketing of collectives (torch._inductor.config: bucket_all_gathers_fx, "
        "bucket_reduce_scatters_fx)",
        "%d %s calls on group %s in lines %lld to %lld receive %lld B together, at most %lld B "
        "each, and none "
        "needs the result of another: the time of each is that of starting it, so one call would "
        "do.",
        b->count, mw__collective_words(c->kind), c->group, (long long)b->first, (long long)b->last,
        (long long)b->bytes, (long long)b->most);
}

void mw__cp_check_graph(cp_here *h, mw_draft *d)
{
    const cp_graph *g = h->g;
    int of[CLASSES], nclass = 0;
    if (g->stage == CP_CODE) return;
    for (int i = 0; i < g->nnode && nclass < CLASSES; i++) {
        int k = 0;
        if (!g->node[i].call) continue;
        while (k < nclass && !same_class(&g->node[of[k]], &g->node[i]))
            k++;
        if (k == nclass) of[nclass++] = i;
    }
    enum { BUCKETS = 4096 };
    bucket *at = nclass ? mw__zalloc(BUCKETS * sizeof *at) : NULL;
    int *depth = nclass ? mw__zalloc((size_t)g->nnode * sizeof *depth) : NULL;
    if (nclass && (!at || !depth)) h->e->failed = true;
    for (int k = 0; k < nclass && at && depth; k++) {
        memset(at, 0, BUCKETS * sizeof *at);
        level(g, &g->node[of[k]], depth, at, BUCKETS);
        int best = 0;
        for (int b = 1; b < BUCKETS; b++)
            if (at[b].count > at[best].count) best = b;
        tell_small(d, &g->node[of[k]], &at[best]);
    }
    mw__free(at, BUCKETS * sizeof *at);
    mw__free(depth, (size_t)g->nnode * sizeof *depth);
}
