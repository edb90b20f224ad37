/* Nodes that are alike: the same call on the same shapes, results stated alike, operands whose last
 * use it is or is not. */
#include "graph/reshard.h"

int reshard_nin(const reshard *r, int i)
{
    return r->node[i] ? r->node[i]->nin : 1;
}

mw_ssa *reshard_in(const reshard *r, int i, int k)
{
    return r->node[i] ? r->node[i]->in[k] : r->result[i];
}

/* ---- classes ----------------------------------------------------------------------------------
 */

bool reshard_used(const reshard *r, const mw_ssa *v)
{
    return r->value[v->id].uses > 0 || r->is_result[v->id];
}

/* Which operand before k is the same value; k itself where none is. */
int reshard_first_like(const mw_node *node, int k)
{
    int first = 0;
    while (node->in[first] != node->in[k])
        first++;
    return first;
}

static uint64_t hash_value(uint64_t h, const mw_ssa *v)
{
    uint64_t bits[2] = {mw__layout_hash(&v->layout),
                        (uint64_t)v->stated | (uint64_t)v->mutated << 1};
    for (int d = 0; d < v->layout.ndim; d++)
        bits[1] = bits[1] << 1 | v->layout.dim[d].open;
    return mw__hash(h, bits, sizeof bits);
}

static uint64_t hash_node(const reshard *r, const mw_node *node, const bool *dies)
{
    uint64_t h = mw__hash((uint64_t)node->kind, &node->op, sizeof node->op);
    for (int i = 0; i < node->narg; i++) {
        const mw_arg *a = &node->arg[i];
        h = mw__hash(h, &a->kind, sizeof a->kind);
        h = mw__hash(h, &a->i, sizeof a->i);
        h = mw__hash(h, &a->f, sizeof a->f);
        if (a->kind == MW_ARG_INTS) h = mw__hash(h, a->ints, (size_t)a->count * sizeof *a->ints);
        if (a->kind == MW_ARG_STR) h = mw__hash(h, a->s, strlen(a->s));
    }
    for (int i = 0; i < node->nin; i++) {
        int like[3] = {reshard_first_like(node, i), node->in[i]->mutated, dies[i]};
        h = mw__hash(h, &node->in_meta[i].dtype, sizeof node->in_meta[i].dtype);
        h = mw__hash(h, node->in_meta[i].shape,
                     (size_t)node->in_meta[i].ndim * sizeof node->in_meta[i].shape[0]);
        h = mw__hash(h, like, sizeof like);
    }
    for (int i = 0; i < node->nout; i++) {
        int used = reshard_used(r, node->out[i]);
        h = hash_value(mw__hash(h, &used, sizeof used), node->out[i]);
    }
    return h;
}

static bool same_arg(const mw_arg *a, const mw_arg *b)
{
    if (a->kind != b->kind || a->count != b->count || a->first != b->first || a->i != b->i ||
        memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    if (a->kind == MW_ARG_INTS)
        return memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints) == 0;
    if (a->kind == MW_ARG_STR) return strcmp(a->s, b->s) == 0;
    return a->kind != MW_ARG_STRS;
}

static bool same_value(const mw_ssa *a, const mw_ssa *b)
{
    if (a->stated != b->stated || a->mutated != b->mutated ||
        !mw_layout_equal(&a->layout, &b->layout))
        return false;
    for (int d = 0; d < a->layout.ndim; d++)
        if (a->layout.dim[d].open != b->layout.dim[d].open) return false;
    return true;
}

static bool alike(const reshard *r, const node_class *c, const mw_node *b, const bool *dies)
{
    const mw_node *a = c->node;
    if (!a || a->kind != b->kind || a->op != b->op || a->narg != b->narg || a->nin != b->nin ||
        a->nout != b->nout || a->step != b->step)
        return false;
    for (int i = 0; i < a->narg; i++)
        if (!same_arg(&a->arg[i], &b->arg[i])) return false;
    for (int i = 0; i < a->nin; i++) {
        const mw_meta *p = &a->in_meta[i], *q = &b->in_meta[i];
        if (p->dtype != q->dtype || p->ndim != q->ndim || dies[i] != c->dies[i] ||
            reshard_first_like(a, i) != reshard_first_like(b, i) ||
            a->in[i]->mutated != b->in[i]->mutated ||
            memcmp(p->shape, q->shape, (size_t)p->ndim * sizeof p->shape[0]) != 0)
            return false;
    }
    for (int i = 0; i < a->nout; i++)
        if (reshard_used(r, a->out[i]) != reshard_used(r, b->out[i]) ||
            !same_value(a->out[i], b->out[i]))
            return false;
    return true;
}

static mw_status new_class(reshard *r, int i, const bool *dies, node_class **ret)
{
    mw_node *node = r->node[i];
    int nin = reshard_nin(r, i), nout = node ? node->nout : 0;
    node_class *c = mw__arena_zalloc(&r->arena, sizeof *c);
    bool *kept = mw__arena_alloc(&r->arena, (size_t)nin + 1);
    const mw_layout **want = mw__arena_zalloc(&r->arena, (size_t)(nout + 1) * sizeof *want);
    if (!c || !kept || !want) return MW_NOMEM();
    if (nin) memcpy(kept, dies, (size_t)nin);
    *c = (node_class){r->nclass++, node, r->result[i], kept, want};
    for (int k = 0; k < nout; k++)
        if (mw__layout_axes(&node->out[k]->layout)) want[k] = &node->out[k]->layout;
    *ret = c;
    return MW_OK;
}

mw_status reshard_class(reshard *r, int i, const bool *dies, node_class **ret)
{
    if (!r->node[i]) return new_class(r, i, dies, ret);
    uint64_t hash = hash_node(r, r->node[i], dies);
    for (mw_found *k = NULL; (k = mw__lookup_next(&r->class_lookup, hash, k));)
        if (alike(r, k->item, r->node[i], dies)) {
            *ret = k->item;
            return MW_OK;
        }
    MW_TRY(new_class(r, i, dies, ret));
    mw_found *added = mw__lookup_add(&r->class_lookup, hash);
    if (!added) return MW_NOMEM();
    added->item = *ret;
    return MW_OK;
}
