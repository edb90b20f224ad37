/* Pass `groups`: parameters that a program uses at one place of its source, as the weights of the
 * layers of a loop, are one group (Shardy's sharding_group): where some of them are annotated, all
 * alike, and others not at all, these take the annotation. */
#include "graph/passes.h"

typedef struct use {
    const mw_node *node; /* the first that uses the parameter */
    int operand;
} use;

typedef struct member {
    mw_ssa *value;
    use use;
} member;

static bool same_place(const member *a, const member *b)
{
    const mw_node *x = a->use.node, *y = b->use.node;
    if (!x || !y || x->op != y->op || x->kind != y->kind || a->use.operand != b->use.operand)
        return false;
    if (x->site.line != y->site.line || !x->site.file || !y->site.file ||
        strcmp(x->site.file, y->site.file) != 0 || strcmp(x->chain, y->chain) != 0)
        return false;
    mw_meta m = mw__ssa_meta(a->value), n = mw__ssa_meta(b->value);
    return m.dtype == n.dtype && m.ndim == n.ndim && a->value->mesh == b->value->mesh &&
           memcmp(m.shape, n.shape, (size_t)m.ndim * sizeof m.shape[0]) == 0;
}

static uint64_t place_hash(const member *m)
{
    const mw_node *n = m->use.node;
    mw_meta meta = mw__ssa_meta(m->value);
    uint64_t h = mw__hash((uint64_t)m->use.operand, &n->op, sizeof n->op);
    h = mw__hash(h, &n->site.line, sizeof n->site.line);
    return mw__hash(h, meta.shape, (size_t)meta.ndim * sizeof meta.shape[0]);
}

static void find_uses(const mw_graph *graph, member *m, int64_t *of_value)
{
    for (const mw_node *n = graph->first; n; n = n->next)
        for (int i = 0; i < n->nin; i++) {
            int64_t at = of_value[n->in[i]->id];
            if (at >= 0 && !m[at].use.node) m[at].use = (use){n, i};
        }
}

static mw_status annotate(mw_graph *graph, mw_ssa *to, const mw_ssa *from)
{
    to->layout = from->layout;
    to->stated = true;
    memcpy(to->priority, from->priority, sizeof to->priority);
    for (int d = 0; d < to->layout.ndim; d++)
        for (int c = 0; c < to->layout.dim[d].ncut; c++) {
            const mw_cut *cut = &to->layout.dim[d].cut[c];
            mw_origin *o = mw__arena_zalloc(&graph->arena, sizeof *o);
            if (!o) return MW_NOMEM();
            *o = (mw_origin){to->origin, d,    cut->axis, cut->major, cut->size,
                             from,       NULL, "",        "group"};
            to->origin = o;
        }
    return MW_OK;
}

/* Members of a hash's chain that stand at one place: all annotated ones must agree. */
static mw_status join(mw_graph *graph, member *m, const int64_t *next, int64_t first)
{
    for (int64_t i = first; i >= 0; i = next[i]) {
        if (m[i].value->stated) continue;
        const mw_ssa *from = NULL;
        bool agree = true;
        for (int64_t k = first; k >= 0; k = next[k]) {
            if (k == i || !m[k].value->stated || m[k].value->origin || !same_place(&m[i], &m[k]))
                continue;
            if (from && !mw_layout_equal(&from->layout, &m[k].value->layout)) agree = false;
            if (!from) from = m[k].value;
        }
        if (from && agree) MW_TRY(annotate(graph, m[i].value, from));
    }
    return MW_OK;
}

static mw_status join_all(mw_graph *graph, member *m, int64_t n, int64_t *next, int64_t *head,
                          int64_t nhead)
{
    for (int64_t h = 0; h < nhead; h++)
        head[h] = -1;
    for (int64_t i = n - 1; i >= 0; i--) { /* in their order within a chain */
        if (!m[i].use.node) continue;
        int64_t *at = &head[place_hash(&m[i]) % (uint64_t)nhead];
        next[i] = *at;
        *at = i;
    }
    for (int64_t h = 0; h < nhead; h++)
        MW_TRY(join(graph, m, next, head[h]));
    return MW_OK;
}

mw_status mw__pass_groups(mw_graph *graph)
{
    mw_arena arena;
    int64_t n = 0, annotated = 0;
    for (const mw_node *k = graph->first; k && k->kind == MW_NODE_INPUT; k = k->next) {
        n++;
        annotated += k->out[0]->stated;
    }
    if (annotated == 0 || annotated == n) return MW_OK;
    mw__arena_init(&arena);
    int64_t nhead = 4 * n;
    member *m = mw__arena_zalloc(&arena, (size_t)n * sizeof *m);
    int64_t *of_value = mw__arena_alloc(&arena, (size_t)graph->nvalue * sizeof *of_value);
    int64_t *next = mw__arena_alloc(&arena, (size_t)n * sizeof *next);
    int64_t *head = mw__arena_alloc(&arena, (size_t)nhead * sizeof *head);
    mw_status status = m && of_value && next && head ? MW_OK : MW_NOMEM();
    if (status == MW_OK) {
        int64_t i = 0;
        for (int64_t v = 0; v < graph->nvalue; v++)
            of_value[v] = -1;
        for (mw_node *k = graph->first; k && k->kind == MW_NODE_INPUT; k = k->next) {
            of_value[k->out[0]->id] = i;
            m[i++].value = k->out[0];
        }
        find_uses(graph, m, of_value);
        status = join_all(graph, m, n, next, head, nhead);
    }
    mw__arena_done(&arena);
    return status;
}
