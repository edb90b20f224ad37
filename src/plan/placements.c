/* The placements of an op on one mesh axis, listed. Nothing here knows a rule: the chooser is asked
 * what it would allow, once with all operands whole (which gives its letters) and once for every
 * operand and reduction with that operand partial (which gives what passes through); the layouts
 * that it makes of each option are the rows. A reshape has no letters: every placement of its
 * operand is tried, and is legal if it moves nothing. */
#include "ops/sample.h"
#include "plan/choose.h"

#include <stdio.h>

typedef struct lister {
    mw_mesh *mesh; /* one axis, x */
    mw_arena *arena;
    const mw_call_args *call;
    chooser *c;
    mw_layout *in, *out;   /* of the row being made */
    const mw_layout **now; /* [nin] what the chooser is asked about */
    mw_layout *whole, *partial;
    mw_op_placement *rows; /* those told so far */
    int nrow, cap;
    void (*tell)(void *user, const mw_op_placement *row);
    void *user;
} lister;

/* ---- one layout in DTensor's words --------------------------------------------------------- */

/* Is `dim` what this text says? */
static bool is_dim(const mw_mesh *mesh, const mw_dim *dim, const char *text)
{
    mw_layout l;
    return mw_layout_parse(mesh, text, &l) == MW_OK && mw__dim_equal(&l.dim[0], dim);
}

static const char *dim_text(const lister *l, const mw_dim *dim, int d)
{
    char text[64];
    long long size = mw__dim_size(dim);
    (void)snprintf(text, sizeof text, "[%lld@x]", size);
    if (is_dim(l->mesh, dim, text)) return mw__arena_printf(l->arena, "S(%d)", d);
    for (long long k = 2; k < size; k++) {
        (void)snprintf(text, sizeof text, "[%lld@:%lld,x]", size, k);
        if (is_dim(l->mesh, dim, text)) return mw__arena_printf(l->arena, "_S(%d, %lld)", d, k);
    }
    return "";
}

static const char *layout_text(const lister *l, const mw_layout *layout)
{
    if (layout->npartial)
        return mw__arena_printf(l->arena, "P(%s)",
                                mw__reduce_name((mw_reduce)layout->partial[0].kind));
    for (int d = 0; d < layout->ndim; d++) {
        if (!mw__dim_axes(&layout->dim[d])) continue;
        const char *text = dim_text(l, &layout->dim[d], d);
        if (!text || *text) return text;
        mw_str all = {0}; /* no text of DTensor's has these owners */
        mw__layout_str(l->mesh, layout, &all);
        text = mw__arena_strndup(l->arena, mw__str_text(&all), all.length);
        if (mw__str_status(&all) != MW_OK) text = NULL;
        mw__str_done(&all);
        return text;
    }
    return "R";
}

/* ---- rows ---------------------------------------------------------------------------------- */

static mw_status texts(lister *l, const mw_layout *layouts, int n, const char *const **ret)
{
    const char **list = mw__arena_alloc(l->arena, (size_t)MW_MAX(n, 1) * sizeof *list);
    if (!list) return MW_NOMEM();
    for (int i = 0; i < n; i++) {
        list[i] = layout_text(l, &layouts[i]);
        if (!list[i]) return MW_NOMEM();
    }
    *ret = list;
    return MW_OK;
}

static bool same_texts(const char *const *a, const char *const *b, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0) return false;
    return true;
}

/* Tells a row, once. */
static mw_status add_row(lister *l, const mw_layout *in, const mw_layout *out)
{
    mw_op_placement row = {.nin = l->c->nin, .nout = l->c->rule->nout};
    MW_TRY(texts(l, in, row.nin, &row.in));
    MW_TRY(texts(l, out, row.nout, &row.out));
    for (int i = 0; i < l->nrow; i++)
        if (same_texts(l->rows[i].in, row.in, row.nin) &&
            same_texts(l->rows[i].out, row.out, row.nout))
            return MW_OK;
    if (l->nrow < l->cap) l->rows[l->nrow++] = row;
    l->tell(l->user, &row);
    return MW_OK;
}

/* ---- what the chooser allows --------------------------------------------------------------- */

static mw_status list_letters(lister *l, bool partial)
{
    axis_options options;
    MW_TRY(mw__chooser_prepare(l->c, l->now));
    mw__chooser_options(l->c, 0, &options);
    for (int i = 0; i < options.n; i++) {
        const option *o = &options.at[i];
        if (partial != (o->kind == OPT_PASS)) continue;
        if (o->kind == OPT_LETTER && l->c->by_parts[o->letter]) continue; /* its parts move */
        const option *pick[MW_MESH_AXES] = {o};
        if (mw__chooser_build(l->c, pick, l->in, l->out)) MW_TRY(add_row(l, l->in, l->out));
    }
    return MW_OK;
}

/* A reshape of its operand as it is in l->now. */
static mw_status try_reshape(lister *l)
{
    mw_choice choice;
    MW_TRY(mw__choose(l->mesh, l->call, l->now, l->arena, &choice));
    return choice.moves ? MW_OK : add_row(l, choice.in, choice.out);
}

static mw_status list_reshapes(lister *l)
{
    MW_TRY(try_reshape(l));
    for (int d = 0; d < l->whole[0].ndim; d++) {
        mw_layout split = l->whole[0];
        if (!mw__dim_append(l->mesh, &split.dim[d], 0, 1, l->mesh->size[0])) continue;
        mw__layout_canonical(l->mesh, &split);
        l->now[0] = &split;
        MW_TRY(try_reshape(l));
    }
    return MW_OK;
}

static mw_status list_all(lister *l)
{
    static const mw_reduce kinds[] = {MW_REDUCE_SUM, MW_REDUCE_MAX, MW_REDUCE_MIN};
    bool reshape = l->call->op->reshape != NULL;
    MW_TRY(reshape ? list_reshapes(l) : list_letters(l, false));
    for (int k = 0; k < MW_COUNT(kinds); k++) {
        for (int i = 0; i < l->call->nin; i++) {
            for (int j = 0; j < l->call->nin; j++)
                l->now[j] = &l->whole[j];
            *l->partial = l->whole[i];
            l->partial->npartial = 1;
            l->partial->partial[0] =
                (mw_partial){.kind = (uint16_t)kinds[k], .major = 1, .size = l->mesh->size[0]};
            l->now[i] = l->partial;
            MW_TRY(reshape ? try_reshape(l) : list_letters(l, true));
        }
    }
    return MW_OK;
}

static mw_status make_room(lister *l)
{
    size_t nin = (size_t)MW_MAX(l->call->nin, 1), nout = (size_t)MW_MAX(l->c->rule->nout, 1);
    l->cap = MW_COUNT(((axis_options *)0)->at) + MW_MAX_DIMS + 3 * l->call->nin;
    l->rows = mw__arena_alloc(l->arena, (size_t)l->cap * sizeof *l->rows);
    l->now = mw__arena_alloc(l->arena, nin * sizeof *l->now);
    l->whole = mw__arena_alloc(l->arena, (2 * nin + nout + 1) * sizeof *l->whole);
    if (!l->rows || !l->now || !l->whole) return MW_NOMEM();
    l->in = l->whole + nin;
    l->out = l->in + nin;
    l->partial = l->out + nout;
    for (int i = 0; i < l->call->nin; i++) {
        const mw_meta *m = &l->call->in[i];
        l->whole[i] = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        l->now[i] = &l->whole[i];
    }
    return MW_OK;
}

static mw_status list_op(lister *l, const mw_op *op)
{
    mw_sample sample;
    if (!op->samples || mw__sample_count(op->samples) < 1)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "an op without a sample has no placements to show");
    MW_TRY(mw__sample_make(op, 0, 0, l->arena, &sample));
    l->call = &sample.call;
    MW_TRY(mw__chooser_new(l->mesh, l->call, l->arena, &l->c));
    MW_TRY(make_room(l));
    return list_all(l);
}

mw_status mw_op_placements(const mw_op *op,
                           void (*row)(void *user, const mw_op_placement *placement), void *user)
{
    if (!op) return MW_FAIL(MW_ERR_ARG, "there is no such op: NULL");
    mw_mesh *mesh;
    MW_TRY(mw_mesh_parse("x=2", &mesh));
    mw_arena arena;
    mw__arena_init(&arena);
    lister l = {.mesh = mesh, .arena = &arena, .tell = row, .user = user};
    mw_status status = list_op(&l, op);
    mw__arena_done(&arena);
    mw_mesh_unref(mesh);
    return status;
}
