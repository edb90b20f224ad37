/* The ways in which a call may run, listed: for a search over a whole program, where the cheapest
 * way of one call need not be the best. What is legal is the chooser's business alone: a way is one
 * option per axis made into layouts, and it is told only if the chooser, its operands lying so,
 * moves nothing. */
#include "plan/choose.h"

#include "ops/rule.h"

enum { MOST_WIDE = 400, MOST_NARROW = 160, MOST_RESHAPED = 256 };

typedef struct lister {
    const mw_mesh *mesh;
    const mw_call_args *call;
    const mw_layout *const *now, *const *want;
    bool wide;
    mw_arena *arena;
    chooser *c, *check; /* the second is asked what moves nothing */
    mw_layout *in, *out;
    const mw_layout **at; /* [nin] of `in` */
    mw_status (*tell)(void *user, const mw_way *way);
    void *user;
} lister;

static mw_status tell_natural(lister *l)
{
    bool natural;
    mw_way way = {.in = l->in};
    MW_TRY(mw__chooser_natural(l->check, l->at, &natural, &way.out, &way.parts));
    return natural ? l->tell(l->user, &way) : MW_OK;
}

/* ---- letters ----------------------------------------------------------------------------------
 */

/* Does a result that is wanted have the axis on a dim with this letter? */
static bool wanted_on(const lister *l, int axis, int letter)
{
    for (int o = 0; l->want && o < l->c->rule->nout; o++) {
        const mw_operand *out = &l->c->rule->out[o];
        for (int d = 0; l->want[o] && d < out->ndim; d++) {
            if (!(mw__dim_axes(&l->want[o]->dim[d]) >> axis & 1)) continue;
            for (int k = 0; k < out->nletter[d]; k++)
                if (out->letter[d][k] == letter) return true;
        }
    }
    return false;
}

/* Drops options that cannot help: a letter of one position is never cut anew, nor one that would
 * have the op worked in parts, nor, unless all are wanted, one that the axis does not divide; and
 * of the others those stay for which something speaks: an operand that has the letter cut by the
 * axis, or holds terms over it that must be combined somewhere, or a result that is wanted so. */
static void narrow(const lister *l, axis_options *o, int axis, bool wide)
{
    const chooser *c = l->c;
    bool terms = wide;
    for (int i = 0; i < c->nin; i++)
        terms = terms || mw__partial_on(c->operand[i].now, axis);
    int kept = 0;
    for (int i = 0; i < o->n; i++) {
        bool there = o->at[i].kind != OPT_LETTER;
        for (int k = 0; k < c->nin && !there; k++)
            there = mw__letters_with(c, k, axis) & mw__letters_of_option(c, axis, &o->at[i]);
        if (!there) {
            int64_t size = c->rule->letter[o->at[i].letter].size;
            there = size > 1 && !c->by_parts[o->at[i].letter] &&
                    (wide || size % l->mesh->size[axis] == 0) &&
                    (terms || wanted_on(l, axis, o->at[i].letter));
        }
        if (there) o->at[kept++] = o->at[i];
    }
    o->n = kept;
}

static double combinations(const lister *l, const axis_options *options)
{
    double n = 1;
    for (int a = 0; a < l->mesh->naxis; a++)
        if (l->c->used >> a & 1) n *= options[a].n;
    return n;
}

static mw_status try_all(lister *l, const axis_options *options)
{
    const option *pick[MW_MESH_AXES] = {NULL};
    int at[MW_MESH_AXES] = {0}, naxis = l->mesh->naxis;
    for (;;) {
        for (int a = 0; a < naxis; a++)
            if (l->c->used >> a & 1) pick[a] = &options[a].at[at[a]];
        for (int order = 0; order <= l->wide; order++) {
            l->c->minor_first = order;
            if (mw__chooser_build(l->c, pick, l->in, l->out)) MW_TRY(tell_natural(l));
        }
        int a = naxis - 1;
        for (; a >= 0; a--) {
            if (!(l->c->used >> a & 1)) continue;
            if (++at[a] < options[a].n) break;
            at[a] = 0;
        }
        if (a < 0) return MW_OK;
    }
}

static mw_status by_letters(lister *l)
{
    MW_TRY(mw__chooser_prepare(l->c, l->now));
    for (int o = 0; l->want && o < l->c->rule->nout; o++)
        if (l->want[o]) l->c->used |= mw__layout_axes(l->want[o]);
    if (l->wide) l->c->used |= (1u << l->mesh->naxis) - 1; /* copies, cut, make what moves less */
    axis_options *options = mw__arena_alloc(l->arena, MW_MESH_AXES * sizeof *options);
    if (!options) return MW_NOMEM();
    for (int a = 0; a < l->mesh->naxis; a++)
        if (l->c->used >> a & 1) mw__chooser_options(l->c, a, &options[a]);
    double most = l->wide ? MOST_WIDE : MOST_NARROW;
    for (int a = 0; a < l->mesh->naxis; a++)
        if (l->c->used >> a & 1) narrow(l, &options[a], a, l->wide);
    for (int a = 0; a < l->mesh->naxis && combinations(l, options) > most; a++)
        if (l->c->used >> a & 1) narrow(l, &options[a], a, false);
    for (int a = l->mesh->naxis - 1; a >= 0 && combinations(l, options) > most; a--)
        if (l->c->used >> a & 1) options[a].n = MW_MIN(options[a].n, 2);
    return try_all(l, options);
}

/* ---- reshapes ---------------------------------------------------------------------------------
 */

static mw_status tell_reshape(lister *l, const mw_layout *now)
{
    mw_choice choice;
    MW_TRY(mw__choose(l->mesh, l->call, &now, l->arena, &choice));
    mw_way way = {choice.in, choice.out, false};
    return l->tell(l->user, &way);
}

/* The operand as it must lie for the result to lie as wanted. */
static mw_status reshape_from_wanted(lister *l)
{
    const mw_layout *want = l->want ? l->want[0] : NULL;
    if (!want || !mw__layout_axes(want)) return MW_OK;
    mw_layout in = *l->now[0];
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&in, shape);
    if (!mw__dims_regroup(l->mesh, want->dim, want->ndim, shape, in.ndim, in.dim, NULL))
        return MW_OK;
    uint32_t both = mw__layout_axes(&in) & mw__layout_partial_axes(&in);
    if (both) {
        in.npartial = 0;
        memset(in.partial, 0, sizeof in.partial);
    }
    return tell_reshape(l, &in);
}

/* Every dim for every axis that the operand has: what a movement before the reshape could make. */
static mw_status reshape_everywhere(lister *l)
{
    const mw_layout *now = l->now[0];
    uint32_t used = mw__layout_axes(now) | mw__layout_partial_axes(now);
    int at[MW_MESH_AXES] = {0}, naxis = l->mesh->naxis, tried = 0;
    for (;;) {
        mw_layout in = *now;
        for (int a = 0; a < naxis; a++) { /* 0: as it is; 1: nowhere; then a dim each */
            if (!(used >> a & 1) || at[a] == 0) continue;
            for (int d = 0; d < in.ndim; d++)
                in.dim[d] = mw__dim_without(l->mesh, &in.dim[d], 1u << a);
            int kept = 0;
            for (int i = 0; i < in.npartial; i++)
                if (in.partial[i].axis != a) in.partial[kept++] = in.partial[i];
            memset(&in.partial[kept], 0, (size_t)(in.npartial - kept) * sizeof in.partial[0]);
            in.npartial = (uint8_t)kept;
        }
        for (int a = 0; a < naxis; a++)
            if ((used >> a & 1) && at[a] > 1)
                (void)mw__dim_append(l->mesh, &in.dim[at[a] - 2], a, 1, l->mesh->size[a]);
        mw__layout_canonical(l->mesh, &in);
        MW_TRY(tell_reshape(l, &in));
        int a = naxis - 1;
        for (; a >= 0; a--) {
            if (!(used >> a & 1)) continue;
            if (++at[a] < now->ndim + 2) break;
            at[a] = 0;
        }
        if (a < 0 || ++tried == MOST_RESHAPED) return MW_OK;
    }
}

static mw_status by_reshape(lister *l)
{
    MW_TRY(tell_reshape(l, l->now[0]));
    MW_TRY(reshape_from_wanted(l));
    mw_layout whole = *l->now[0];
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&whole, shape);
    whole = mw_layout_replicated((mw_dtype)whole.dtype, whole.ndim, shape);
    MW_TRY(tell_reshape(l, &whole));
    return l->wide ? reshape_everywhere(l) : MW_OK;
}

/* ---- all --------------------------------------------------------------------------------------
 */

mw_status mw__choose_ways(const mw_mesh *mesh, const mw_call_args *call,
                          const mw_layout *const *now, const mw_layout *const *want, bool wide,
                          mw_arena *arena, mw_status (*tell)(void *user, const mw_way *way),
                          void *user)
{
    lister l = {.mesh = mesh,
                .call = call,
                .now = now,
                .want = want,
                .wide = wide,
                .arena = arena,
                .tell = tell,
                .user = user};
    if (call->op->reshape) return by_reshape(&l);
    MW_TRY(mw__chooser_new(mesh, call, arena, &l.c));
    MW_TRY(mw__chooser_new(mesh, call, arena, &l.check));
    size_t nin = (size_t)MW_MAX(call->nin, 1), nout = (size_t)MW_MAX(l.c->rule->nout, 1);
    l.in = mw__arena_alloc(arena, (nin + nout) * sizeof *l.in);
    l.at = mw__arena_alloc(arena, nin * sizeof *l.at);
    if (!l.in || !l.at) return MW_NOMEM();
    l.out = l.in + nin;
    for (int i = 0; i < call->nin; i++) {
        l.in[i] = *now[i];
        l.at[i] = now[i];
    }
    MW_TRY(tell_natural(&l));
    for (int i = 0; i < call->nin; i++)
        l.at[i] = &l.in[i];
    return by_letters(&l);
}
