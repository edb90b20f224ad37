/* Pass `combine`: small all_reduces that wait for the same ranks and do not need each other become
 * one: what they combine is laid end to end, goes round once, and is cut apart again. Worth it as
 * long as copying costs less than the time that every collective takes for itself, by the cost
 * model; larger ones stay alone. */
#include "graph/moves.h"
#include "graph/passes.h"

#include "ops/table.h"

typedef struct combine {
    mw_graph *graph;
    mw_moves moves;
    mw_node **group; /* [n] in program order */
    int n;
    int64_t cap;
} combine;

/* ---- which --------------------------------------------------------------------------------------
 */

/* The elements of a value whose dims from the second on are whole on every rank: as [rows, rest]
 * where the first is cut, else as one row. */
static bool cuts_rows(const mw_layout *l)
{
    return l->ndim && !mw__dim_whole(&l->dim[0]);
}

static int64_t rows_of(const mw_layout *l)
{
    return cuts_rows(l) ? mw_layout_size(l, 0) : 1;
}

static bool is_small(const mw_node *n)
{
    int team = mw__team_count(n->out[0]->mesh, n->axes);
    int64_t rank_bytes = mw__layout_largest_shard(n->out[0]->mesh, &n->in[0]->layout);
    double copies_us = mw__step_time(1, 4 * rank_bytes, 0); /* read and written, before and after */
    return copies_us < mw__step_time(team, 0, 1);
}

static bool may_join(const mw_node *n)
{
    if (n->kind != MW_NODE_STEP || n->step != MW_STEP_all_reduce) return false;
    const mw_layout *l = &n->in[0]->layout;
    if (n->in[0]->mutated || n->out[0]->mutated || l->npartial != 1 || !mw__layout_count(l))
        return false;
    if (l->partial[0].kind == MW_REDUCE_PROD) return false; /* no cat of factors */
    for (int d = 1; d < l->ndim; d++)
        if (!mw__dim_whole(&l->dim[d])) return false;
    return n->out[0]->layout.npartial == 0 && is_small(n);
}

static bool alike(const mw_node *a, const mw_node *b)
{
    const mw_layout *l = &a->in[0]->layout, *k = &b->in[0]->layout;
    return a->asked == b->asked && a->axes == b->axes && a->out[0]->mesh == b->out[0]->mesh &&
           l->dtype == k->dtype &&
           memcmp(&l->partial[0], &k->partial[0], sizeof l->partial[0]) == 0 &&
           cuts_rows(l) == cuts_rows(k) && (!cuts_rows(l) || mw__dim_equal(&l->dim[0], &k->dim[0]));
}

/* ---- one for all --------------------------------------------------------------------------------
 */

/* A node of an op before `at`, whose result lies as it comes: dim 0 as that of the group. */
static mw_status emit(combine *c, mw_node *at, mw_op_id op, const mw_arg *arg, mw_ssa *const *in,
                      int nin, mw_ssa **ret)
{
    mw_node *made;
    const mw_op_info *info;
    const mw_layout *like = &in[0]->layout;
    MW_TRY(mw__op_info(mw__op_at(op), &info));
    MW_TRY(mw__graph_op(c->graph, at, mw__op_at(op), arg, info->schema.narg, in, nin, &made));
    mw_ssa *v = made->out[0];
    v->stated = true;
    for (int d = 0; d < v->layout.ndim; d++)
        v->layout.dim[d].open = 0;
    if (cuts_rows(like)) v->layout.dim[0] = like->dim[0];
    v->layout.npartial = like->npartial;
    memcpy(v->layout.partial, like->partial, sizeof v->layout.partial);
    made->site = at ? at->site : (mw_site){0};
    made->chain = at ? at->chain : "";
    *ret = v;
    return MW_OK;
}

static mw_status reshape(combine *c, mw_node *at, mw_ssa *x, const int64_t *shape, int ndim,
                         mw_ssa **ret)
{
    bool same = x->layout.ndim == ndim;
    for (int d = 0; d < ndim && same; d++)
        same = mw_layout_size(&x->layout, d) == shape[d];
    *ret = x;
    if (same) return MW_OK;
    const mw_arg arg[] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1},
                          {.kind = MW_ARG_INTS, .ints = shape, .count = ndim}};
    return emit(c, at, MW_OP_reshape, arg, &x, 1, ret);
}

/* Columns [from, from + count) of the combined rows, in the shape that the member had. */
static mw_status cut_out(combine *c, mw_node *at, mw_ssa *whole, int64_t from, int64_t count,
                         const mw_layout *as, mw_ssa **ret)
{
    int64_t shape[MW_MAX_DIMS];
    const mw_arg arg[] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1},
                          {.kind = MW_ARG_INT, .i = 1},
                          {.kind = MW_ARG_INT, .i = from},
                          {.kind = MW_ARG_INT, .i = from + count},
                          {.kind = MW_ARG_INT, .i = 1}};
    const mw_arg clone[] = {{.kind = MW_ARG_TENSOR, .first = 0, .count = 1}, {.kind = MW_ARG_NONE}};
    mw_ssa *columns;
    MW_TRY(emit(c, at, MW_OP_slice, arg, &whole, 1, &columns));
    if (rows_of(&whole->layout) > 1) /* dense, as what they stand for was */
        MW_TRY(emit(c, at, MW_OP_clone, clone, &columns, 1, &columns));
    mw_layout_shape(as, shape);
    return reshape(c, at, columns, shape, as->ndim, ret);
}

static mw_status lay_out(combine *c, mw_node *at, mw_ssa **ret)
{
    mw_ssa **row = mw__arena_alloc(&c->graph->arena, (size_t)c->n * sizeof *row);
    if (!row) return MW_NOMEM();
    for (int i = 0; i < c->n; i++) {
        const mw_layout *l = &c->group[i]->in[0]->layout;
        int64_t rows = rows_of(l), shape[2] = {rows, mw__layout_count(l) / rows};
        MW_TRY(reshape(c, at, c->group[i]->in[0], shape, 2, &row[i]));
    }
    const mw_arg arg[] = {{.kind = MW_ARG_TENSORS, .first = 0, .count = c->n},
                          {.kind = MW_ARG_INT, .i = 1}};
    return emit(c, at, MW_OP_cat, arg, row, c->n, ret);
}

static mw_status add_all_reduce(combine *c, mw_node *at, mw_ssa *x, mw_ssa **ret)
{
    int from, to_number;
    const mw_route *way;
    const mw_node *first = c->group[0];
    mw_node *made;
    mw_layout to = x->layout;
    to.npartial = 0;
    memset(to.partial, 0, sizeof to.partial);
    MW_TRY(mw__graph_step(c->graph, at, x, x->mesh, &to, MW_STEP_all_reduce, &made));
    MW_TRY(mw__moves_number(&c->moves, &x->layout, &from));
    MW_TRY(mw__moves_number(&c->moves, &to, &to_number));
    MW_TRY(mw__moves_get(&c->moves, from, to_number, &way));
    made->axes = first->axes;
    made->dim = made->to_dim = -1;
    made->recv_bytes = way->recv_bytes;
    made->recv_bytes_total = way->price.bytes;
    made->site = first->site;
    made->chain = first->chain;
    made->asked = first->asked;
    MW_TRY(mw__graph_note(c->graph, &made->because, "%s%s%d small ones at once, %%%s to %%%s",
                          first->because, first->because[0] ? "; " : "", c->n, first->out[0]->name,
                          c->group[c->n - 1]->out[0]->name));
    *ret = made->out[0];
    return MW_OK;
}

/* The group becomes one before its last member, where all that it combines is there. */
static mw_status join(combine *c)
{
    mw_node *at = c->n ? c->group[c->n - 1] : NULL;
    mw_ssa *all = NULL, *whole;
    if (c->n < 2) {
        c->n = 0;
        return MW_OK;
    }
    MW_TRY(lay_out(c, at, &all));
    MW_TRY(add_all_reduce(c, at, all, &whole));
    int64_t column = 0;
    for (int i = 0; i < c->n; i++) {
        mw_node *gone = c->group[i];
        mw_ssa *part, *out = gone->out[0];
        int64_t count = mw__layout_count(&out->layout) / rows_of(&out->layout);
        MW_TRY(cut_out(c, at, whole, column, count, &out->layout, &part));
        column += count;
        mw__graph_replace(c->graph, out, part, NULL, true);
        const char *name = out->name;
        out->name = part->name;
        part->name = name;
    }
    for (int i = 0; i < c->n; i++)
        mw__graph_erase(c->graph, c->group[i]);
    c->n = 0;
    return MW_OK;
}

/* ---- the pass -----------------------------------------------------------------------------------
 */

static bool reads_group(const combine *c, const mw_node *n)
{
    for (int i = 0; i < n->nin; i++)
        for (int k = 0; k < c->n; k++)
            if (n->in[i] == c->group[k]->out[0]) return true;
    return false;
}

static mw_status run(combine *c)
{
    for (mw_node *n = c->graph->first, *next; n; n = next) {
        next = n->next;
        bool small = may_join(n);
        if (c->n && (reads_group(c, n) || (small && !alike(n, c->group[0])))) MW_TRY(join(c));
        if (!small) continue;
        MW_TRY(mw__grow(&c->group, &c->cap, c->n + 1, sizeof(mw_node *)));
        c->group[c->n++] = n;
    }
    return join(c);
}

mw_status mw__pass_combine(mw_graph *graph)
{
    if (!graph->nmesh || !graph->placed) return MW_OK;
    combine c = {.graph = graph};
    mw__moves_init(&c.moves, graph->mesh[0]);
    mw_status status = run(&c);
    mw__free(c.group, (size_t)c.cap * sizeof *c.group);
    mw__moves_done(&c.moves);
    return status;
}
