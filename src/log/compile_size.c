/* Sizes: of values from the values they come from, of groups from other calls on the same group, of
 * what a rank receives from both. */
#include "log/compile.h"

/* ---- groups ------------------------------------------------------------------------------------
 */

void mw__cp_group_learn(cp_here *h, const char *name, int64_t size, int64_t line)
{
    cp_state *s = h->s;
    for (int i = 0; i < s->ngroup; i++) {
        if (strcmp(s->group[i].name, name) != 0) continue;
        if (s->group[i].size != size) s->group[i].size = 0; /* a name of several groups */
        return;
    }
    if (s->ngroup == CP_GROUPS) return;
    cp_group *g = &s->group[s->ngroup++];
    *g = (cp_group){.size = size, .line = line};
    memcpy(g->name, name, strlen(name) + 1);
}

static void size_of_name(cp_here *h, cp_call *c)
{
    for (int i = 0; i < h->s->ngroup && !c->size; i++) {
        const cp_group *g = &h->s->group[i];
        if (strcmp(g->name, c->group) != 0 || !g->size) continue;
        c->size = g->size;
        c->size_how = MW_HOW_DERIVED;
        c->size_from =
            mw__explain_text(h->e, "line %lld states it for the same group", (long long)g->line);
    }
}

/* The name of the group of all ranks: the first that a process makes. */
static bool is_world(const cp_call *c)
{
    return strcmp(c->group, "0") == 0 || strcmp(c->group, "default") == 0;
}

/* The mesh that Dynamo's graph shows: a collective may be on another one. */
static void size_of_graph(cp_here *h, cp_call *c)
{
    if (c->size || h->s->mesh_ranks < 2) return;
    c->size = h->s->mesh_ranks;
    c->size_how = MW_HOW_ASSUMED;
    c->size_from = mw__explain_text(
        h->e,
        "whole and local size in line %lld are of a mesh of so many ranks; a call that "
        "states the size of this group would settle it",
        (long long)h->s->mesh_line);
}

static void size_of_mesh(cp_here *h, cp_call *c)
{
    const mw_mesh *mesh = mw__explain_mesh(h->e);
    bool one = mesh && mw_mesh_axes(mesh) == 1;
    if (c->size || !mesh || (!one && !is_world(c))) return;
    c->size = mw_mesh_ranks(mesh);
    c->size_how = MW_HOW_ASSUMED;
    c->size_from =
        one ? "--mesh; a call that states the size of this group would settle it"
            : "--mesh, where group 0 is the first one made, that of all ranks; a call that states "
              "its size would settle it";
}

void mw__cp_group_size(cp_here *h, cp_call *c, int64_t line)
{
    bool known = c->in_bytes > 0 && c->out_bytes > 0;
    int64_t a = c->kind == MW_COLLECTIVE_reduce_scatter ? c->in_bytes : c->out_bytes;
    int64_t b = c->kind == MW_COLLECTIVE_reduce_scatter ? c->out_bytes : c->in_bytes;
    bool grows = c->kind == MW_COLLECTIVE_reduce_scatter || c->kind == MW_COLLECTIVE_all_gather;
    if (!c->size && known && grows && a % b == 0) {
        c->size = a / b;
        c->size_how = MW_HOW_DERIVED;
        c->size_from =
            mw__explain_text(h->e, "the sizes before and after in line %lld", (long long)line);
        if (c->group[0]) mw__cp_group_learn(h, c->group, c->size, line);
    }
    if (!c->size && c->group[0]) size_of_name(h, c);
    if (!c->size) size_of_mesh(h, c);
    size_of_graph(h, c);
}

int64_t mw__cp_received(const cp_call *c)
{
    int64_t whole = c->in_bytes;
    if (c->uneven || !c->size) return c->size == 1 ? 0 : -1;
    if (c->kind == MW_COLLECTIVE_all_gather) whole = c->out_bytes >= 0 ? c->out_bytes : -1;
    if (whole < 0 && c->kind == MW_COLLECTIVE_all_gather && c->in_bytes >= 0 &&
        __builtin_mul_overflow(c->in_bytes, c->size, &whole))
        whole = -1;
    if (whole < 0 && c->kind == MW_COLLECTIVE_reduce_scatter && c->out_bytes >= 0 &&
        __builtin_mul_overflow(c->out_bytes, c->size, &whole))
        whole = -1;
    if (whole < 0 && c->kind != MW_COLLECTIVE_all_gather && c->kind != MW_COLLECTIVE_reduce_scatter)
        whole = c->out_bytes;
    return mw__collective_received(c->kind, whole, c->size);
}

/* ---- shapes ------------------------------------------------------------------------------------
 */

static void take_shape(cp_shape *to, const cp_shape *from)
{
    if (!to->sized)
        *to = *from;
    else if (!to->bits && from->bits)
        mw__cp_shape_dtype(to, from->dtype, (int)strlen(from->dtype));
}

static void fill_result(cp_node *n, const cp_shape *in)
{
    const cp_call *c = n->call;
    cp_shape result = *in;
    bool gather = c->kind == MW_COLLECTIVE_all_gather,
         scatter = c->kind == MW_COLLECTIVE_reduce_scatter;
    if (n->shape.sized || c->nin != 1) {
        take_shape(&n->shape, in);
        return;
    }
    if (gather || scatter) {
        if (!c->size || result.ndim < 1) return;
        if (gather && __builtin_mul_overflow(result.dim[0], c->size, &result.dim[0])) return;
        if (scatter && result.dim[0] % c->size != 0) return;
        if (scatter) result.dim[0] /= c->size;
        mw__cp_shape_set(&result, result.ndim, result.dim);
    } else if (c->uneven || strstr(c->name, "shard_dim")) {
        return;
    }
    n->shape = result;
}

static void fill_move(cp_here *h, int node)
{
    cp_graph *g = h->g;
    cp_node *n = &g->node[node];
    cp_call *c = n->call;
    int64_t sum = c->nin > 0 && c->nin <= n->nin ? 0 : -1;
    for (int i = 0; i < c->nin && sum >= 0; i++) {
        int64_t bytes = g->node[mw__cp_in(g, node, i)].shape.bytes;
        if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum)) sum = -1;
    }
    c->in_bytes = sum;
    bool fused = strstr(c->name, "fused_") != NULL;
    if (n->nin > 0 && !fused) fill_result(n, &g->node[mw__cp_in(g, node, 0)].shape);
    c->out_bytes = c->nin == 1 && !fused                 ? n->shape.bytes
                   : c->kind == MW_COLLECTIVE_all_reduce ? sum
                                                         : -1;
    mw__cp_group_size(h, c, n->line);
    if (n->nin > 0 && !n->shape.sized && !fused) { /* the size of the group may be known by now */
        fill_result(n, &g->node[mw__cp_in(g, node, 0)].shape);
        if (c->nin == 1) c->out_bytes = n->shape.bytes;
    }
}

/* A piece of what a collective on a list gives. */
static void fill_piece(const cp_graph *g, cp_node *n, int of)
{
    const cp_call *c = g->node[of].call;
    if (!c || n->shape.sized || n->index < 0 || n->index >= c->nin ||
        c->kind != MW_COLLECTIVE_all_reduce)
        return;
    int in = mw__cp_in(g, of, n->index);
    if (in >= 0) n->shape = g->node[in].shape;
}

void mw__cp_fill(cp_here *h)
{
    cp_graph *g = h->g;
    mw_dtype dtype = mw__explain_options(h->e)->dtype;
    int work = 0;
    for (int i = 0; i < g->nnode; i++) {
        cp_node *n = &g->node[i];
        work += n->kind == CP_OP && n->index < 0 && !mw__cp_looks(n);
        n->work = work;
        int in = mw__cp_in(g, i, 0);
        if (n->call)
            fill_move(h, i);
        else if (in >= 0 && n->index >= 0)
            fill_piece(g, n, in);
        else if (in >= 0 && (n->kind == CP_WAIT || n->callee_length == 0) && n->kind != CP_RETURN &&
                 n->nin == 1)
            take_shape(&n->shape, &g->node[in].shape);
        if (n->shape.sized && !n->shape.bits && dtype != MW_DTYPE_NONE) {
            mw__cp_shape_dtype(&n->shape, mw_dtype_name(dtype), (int)strlen(mw_dtype_name(dtype)));
            g->assumed = true;
            if (n->call) fill_move(h, i);
        }
    }
}
