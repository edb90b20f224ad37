/* What the library offers: asked of the very chooser that decides calls. A combination is claimed
 * if the chooser, given operands that lie so, has an option under which none of them changes. (A
 * `^` letter that is split is another matter: then parts run, see parts.c.) */
#include "verify/verify.h"

enum { MOST_PICKS = 4096 };

typedef struct picks {
    axis_options *options; /* [naxis] */
    const option *pick[MW_MESH_AXES];
    int at[MW_MESH_AXES];
} picks;

static mw_status picks_start(subject *s, const mw_layout *const *in, picks *p)
{
    chooser *c = s->claims;
    c->arena = s->scratch;
    c->used = 0;
    MW_TRY(mw__chooser_prepare(c, in));
    int naxis = s->mesh->naxis;
    p->options = mw__arena_alloc(s->scratch, (size_t)naxis * sizeof *p->options);
    if (!p->options) return MW_NOMEM();
    for (int a = 0; a < naxis; a++) {
        mw__chooser_options(c, a, &p->options[a]);
        p->at[a] = 0;
        p->pick[a] = &p->options[a].at[0];
    }
    return MW_OK;
}

static bool picks_next(const subject *s, picks *p)
{
    for (int a = s->mesh->naxis - 1; a >= 0; a--) {
        bool more = ++p->at[a] < p->options[a].n;
        if (!more) p->at[a] = 0;
        p->pick[a] = &p->options[a].at[p->at[a]];
        if (more) return true;
    }
    return false;
}

static bool picks_parts(const subject *s, const picks *p)
{
    for (int a = 0; a < s->mesh->naxis; a++) {
        const option *o = p->pick[a];
        if (o->kind == OPT_LETTER && s->claims->by_parts[o->letter]) return true;
        /* as an operand has it: the letters are looked at one by one */
        for (int l = 0; o->kind == OPT_COPY && l < s->claims->rule->nletter; l++)
            if (s->claims->by_parts[l] &&
                (mw__dim_axes(&s->claims->operand[o->operand].by_letter[l]) >> a & 1))
                return true;
    }
    return false;
}

static bool same_layouts(const mw_layout *a, const mw_layout *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!mw_layout_equal(&a[i], &b[i])) return false;
    return true;
}

static mw_status add_claim(subject *s, const mw_layout *out, claim **list)
{
    int n = s->rule.nout;
    for (claim *c = *list; c; c = c->next)
        if (same_layouts(c->out, out, n)) return MW_OK;
    claim *c = mw__arena_alloc(s->scratch, sizeof *c);
    if (!c) return MW_NOMEM();
    c->out = mw__arena_alloc(s->scratch, (size_t)MW_MAX(n, 1) * sizeof *c->out);
    if (!c->out) return MW_NOMEM();
    memcpy(c->out, out, (size_t)n * sizeof *out);
    c->next = *list;
    *list = c;
    return MW_OK;
}

static mw_status claim_reshape(subject *s, const mw_layout *const *in, claim **ret)
{
    mw_choice choice = {.why = ""};
    MW_TRY(mw__choose(s->mesh, &s->call, in, s->scratch, &choice));
    return choice.moves ? MW_OK : add_claim(s, choice.out, ret);
}

/* The canonical form is what tensors have. */
static void canonical(const subject *s, mw_layout *layouts, int n)
{
    for (int i = 0; i < n; i++)
        mw__layout_canonical(s->mesh, &layouts[i]);
}

mw_status mw__claims_get(subject *s, place *const *in, claim **ret)
{
    const mw_layout *now[MOST_TENSORS];
    mw_layout *given, *want, *out;
    size_t nin = (size_t)s->call.nin + 1, nout = (size_t)s->rule.nout + 1;
    *ret = NULL;
    given = mw__arena_zalloc(s->scratch, (2 * nin + nout) * sizeof *given);
    if (!given) return MW_NOMEM();
    want = given + nin;
    out = want + nin;
    for (int i = 0; i < s->call.nin; i++) {
        given[i] = in[i]->layout;
        now[i] = &given[i];
    }
    if (s->op->reshape) return claim_reshape(s, now, ret);
    picks p;
    MW_TRY(picks_start(s, now, &p));
    int tried = 0;
    do {
        if (picks_parts(s, &p) || !mw__chooser_build(s->claims, p.pick, want, out)) continue;
        if (!same_layouts(given, want, s->call.nin)) continue;
        canonical(s, out, s->rule.nout);
        MW_TRY(add_claim(s, out, ret));
    } while (picks_next(s, &p) && ++tried < MOST_PICKS);
    return MW_OK;
}

/* ---- all that could be claimed -------------------------------------------------------------- */

typedef struct lister {
    subject *s;
    const mw_layout **now;
    mw_layout *whole, *partial, *in, *out;
    mw_status (*tell)(void *user, const mw_layout *in);
    void *user;
} lister;

static mw_status list_options(lister *l)
{
    subject *s = l->s;
    picks p;
    MW_TRY(picks_start(s, l->now, &p));
    int tried = 0;
    do {
        if (picks_parts(s, &p) || !mw__chooser_build(s->claims, p.pick, l->in, l->out)) continue;
        canonical(s, l->in, s->call.nin);
        MW_TRY(l->tell(l->user, l->in));
    } while (picks_next(s, &p) && ++tried < MOST_PICKS);
    return MW_OK;
}

/* Operand `which` partial over each axis of the mask in the same way. */
static void set_partial(lister *l, int which, uint32_t axes, mw_reduce kind)
{
    const mw_mesh *mesh = l->s->mesh;
    mw_layout *p = &l->partial[which];
    if (l->now[which] == &l->whole[which]) *p = l->whole[which];
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1)
            p->partial[p->npartial++] = (mw_partial){
                .kind = (uint16_t)kind, .axis = (int16_t)a, .major = 1, .size = mesh->size[a]};
    l->now[which] = p;
}

static void all_whole(lister *l)
{
    for (int i = 0; i < l->s->call.nin; i++)
        l->now[i] = &l->whole[i];
}

static mw_status list_all(lister *l)
{
    static const mw_reduce kinds[] = {MW_REDUCE_SUM, MW_REDUCE_AVG, MW_REDUCE_MAX, MW_REDUCE_MIN};
    int naxis = l->s->mesh->naxis, nin = l->s->call.nin;
    all_whole(l);
    MW_TRY(list_options(l));
    for (int k = 0; k < MW_COUNT(kinds); k++)
        for (uint32_t axes = 1; axes < 1u << naxis; axes++)
            for (int i = 0; i < nin; i++) {
                all_whole(l);
                set_partial(l, i, axes, kinds[k]);
                MW_TRY(list_options(l));
            }
    /* different operands, over different axes */
    for (int k = 0; naxis == 2 && k < MW_COUNT(kinds); k++)
        for (int i = 0; i < nin; i++)
            for (int j = 0; j < nin; j++) {
                if (i == j) continue;
                all_whole(l);
                set_partial(l, i, 1, kinds[k]);
                set_partial(l, j, 2, kinds[k]);
                MW_TRY(list_options(l));
            }
    return MW_OK;
}

mw_status mw__claims_list(subject *s, mw_status (*tell)(void *user, const mw_layout *in),
                          void *user)
{
    size_t nin = (size_t)s->call.nin + 1, nout = (size_t)s->rule.nout + 1;
    lister l = {.s = s, .tell = tell, .user = user};
    if (s->op->reshape) return MW_OK; /* has no options */
    l.now = mw__arena_alloc(s->arena, nin * sizeof *l.now);
    l.whole = mw__arena_zalloc(s->arena, (3 * nin + nout) * sizeof *l.whole);
    if (!l.now || !l.whole) return MW_NOMEM();
    l.partial = l.whole + nin;
    l.in = l.partial + nin;
    l.out = l.in + nin;
    for (int i = 0; i < s->call.nin; i++) {
        const mw_meta *m = &s->call.in[i];
        l.whole[i] = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        mw__layout_canonical(s->mesh, &l.whole[i]);
    }
    return list_all(&l);
}

mw_status mw__claims_parts(subject *s, mw_status (*tell)(void *user, const mw_layout *in),
                           void *user)
{
    size_t nin = (size_t)s->call.nin + 1, nout = (size_t)s->rule.nout + 1;
    const mw_layout **now = mw__arena_alloc(s->arena, nin * sizeof *now);
    mw_layout *whole = mw__arena_zalloc(s->arena, (2 * nin + nout) * sizeof *whole);
    mw_layout *in = whole ? whole + nin : NULL;
    picks p;
    if (!now || !whole) return MW_NOMEM();
    if (!s->op->parts) return MW_OK;
    for (int i = 0; i < s->call.nin; i++) {
        const mw_meta *m = &s->call.in[i];
        whole[i] = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        mw__layout_canonical(s->mesh, &whole[i]);
        now[i] = &whole[i];
    }
    MW_TRY(picks_start(s, now, &p));
    do {
        if (!picks_parts(s, &p) || !mw__chooser_build(s->claims, p.pick, in, in + nin)) continue;
        uint32_t axes = 0;
        canonical(s, in, s->call.nin);
        for (int i = 0; i < s->call.nin; i++)
            axes |= mw__layout_axes(&in[i]);
        if (axes) MW_TRY(tell(user, in)); /* what has no elements is not split */
    } while (picks_next(s, &p));
    return MW_OK;
}
