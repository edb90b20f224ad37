/* What a movement could have been instead, with bytes: other placements of the tensor, and (where
 * an op's own preparation moved its operands) other layouts with which the op works. Every
 * candidate goes through meshwise's own choice and plans; none is made up here. */
#include "log/dtensor_replay.h"

#include <stdio.h>

enum { WAYS = 3, TRIALS = 256, LARGE = 1 << 28 }; /* LARGE: bytes of a piece worth a warning */

static bool laid(const dt_here *h, const mw_mesh *mesh, const dt_tensor *whole, int axis,
                 const dt_placement *p, mw_layout *ret)
{
    dt_tensor t = *whole;
    const char *why;
    t.placement[axis] = *p;
    if (!t.dtype && h->e->options.dtype) t.dtype = h->e->options.dtype;
    return mw__dt_layout(h, mesh, &t, ret, &why);
}

static void tell_held(const dt_here *h, mw_draft *d, const mw_mesh *mesh, const mw_layout *from,
                      const mw_layout *to, mw_how how, const char *by)
{
    int64_t before = mw__dt_local_bytes(mesh, from), after = mw__dt_local_bytes(mesh, to);
    (void)h;
    if (before < 0 || after < 0) return;
    mw__fact(d, "held per rank", how, by, "%lld B before, %lld B after", (long long)before,
             (long long)after);
    if (after >= LARGE && after >= 2 * MW_MAX(before, 1))
        mw__problem(d, "memory-cliff", -1, -1,
                    "leave it cut: let the op that uses it work on pieces (a loss over a cut "
                    "vocabulary combines one maximum and one sum a row), or cut another dim",
                    "each rank held %lld B of the tensor and then holds %lld B of it: it was made "
                    "%s on every rank",
                    (long long)before, (long long)after,
                    to->npartial ? "larger" : "whole over that axis");
}

/* The tensor cut elsewhere instead: by all-to-all from a cut, by reduce-scatter from terms. */
void mw__dt_other_ways(const dt_here *h, mw_draft *d, const mw_mesh *mesh, const dt_tensor *whole,
                       int axis, const dt_placement *to, mw_how how, const char *from)
{
    mw_layout was, is, other;
    const dt_placement *now = &whole->placement[axis];
    if (!mesh || axis >= mesh->naxis || !laid(h, mesh, whole, axis, now, &was) ||
        !laid(h, mesh, whole, axis, to, &is))
        return;
    tell_held(h, d, mesh, &was, &is, how, from);
    if (to->kind != 'R') return;
    int64_t bytes = mw__dt_moving(h, mesh, &was, &is, NULL);
    for (int dim = 0, n = 0; dim < whole->ndim && n < WAYS; dim++) {
        dt_placement cut = {.kind = 'S', .dim = dim, .split = 1, .order = -1};
        const char *steps;
        if (now->kind == 'S' && (now->dim == dim || now->dim + whole->ndim == dim)) continue;
        if (whole->shape[dim] < mesh->size[axis] || !laid(h, mesh, whole, axis, &cut, &other))
            continue;
        int64_t less = mw__dt_moving(h, mesh, &was, &other, &steps);
        if (less < 0 || bytes < 0 || less >= bytes) continue;
        char name[24];
        (void)snprintf(name, sizeof name, "other way %d", ++n);
        mw__fact(d, name, how, from,
                 "to Shard(%d) instead, if what uses it can work so: %s, %lld B received per rank "
                 "instead of %lld B",
                 dim, *steps ? steps : "local", (long long)less, (long long)bytes);
    }
}

/* ---- the call that uses it
 * --------------------------------------------------------------------------- */

void mw__dt_move_waits(const dt_here *h, mw_draft *d, int axis, const dt_placement *from,
                       const dt_tensor *after, int64_t bytes)
{
    h->r->move = (dt_move){
        .draft = d, .line = h->first, .axis = axis, .from = *from, .after = *after, .bytes = bytes};
}

static bool same_tensor(const dt_tensor *a, const dt_tensor *b)
{
    if (!a->shaped || !b->shaped || a->ndim != b->ndim || a->nplacement != b->nplacement ||
        (a->dtype && b->dtype && a->dtype != b->dtype) ||
        memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0)
        return false;
    for (int i = 0; i < a->nplacement; i++) {
        const dt_placement *p = &a->placement[i], *q = &b->placement[i];
        if (p->kind != q->kind || ((p->kind == 'S' || p->kind == '_') && p->dim != q->dim))
            return false;
    }
    return true;
}

/* The first call after a move that somebody asked for, if it takes a tensor like the one moved:
 * what would it have needed without that move? */
void mw__dt_tell_user(dt_replay *r)
{
    dt_move *move = &r->h->r->move;
    mw_choice choice;
    mw_layout was;
    int at = -1;
    if (!move->draft || r->call->line < move->line) return;
    for (int i = 0; i < r->args.nin && at < 0; i++)
        if (same_tensor(r->stated[i], &move->after)) at = i;
    mw_draft *d = move->draft;
    if (at >= 0 || ++move->calls > 4) move->draft = NULL;
    if (at < 0) return;
    dt_tensor t = *r->stated[at];
    t.dtype = r->args.in[at].dtype;
    const mw_layout **in = mw__arena_alloc(r->h->scratch, (size_t)r->args.nin * sizeof *in);
    if (!in) {
        r->h->e->failed = true;
        return;
    }
    memcpy(in, r->in, (size_t)r->args.nin * sizeof *in);
    in[at] = &was;
    if (!laid(r->h, r->mesh, &t, move->axis, &move->from, &was) ||
        mw__dt_failed(r->h, mw__choose(r->mesh, &r->args, in, r->h->scratch, &choice)) ||
        choice.parts || choice.nout < 1)
        return;
    int64_t need = 0;
    for (int i = 0; i < r->args.nin && need >= 0; i++) {
        int64_t one = mw_layout_equal(in[i], &choice.in[i])
                          ? 0
                          : mw__dt_moving(r->h, r->mesh, in[i], &choice.in[i], NULL);
        need = one < 0 ? -1 : need + one;
    }
    if (need < 0 || move->bytes < 0 || need >= move->bytes) return;
    mw__fact(d, "without it", MW_HOW_ASSUMED,
             "a call takes a tensor like the one moved; that it is the same is not in the text",
             "line %lld, %s, would need %lld B received per rank with it where it lay, instead of "
             "%lld B: result %s",
             (long long)r->call->line, r->call->word, (long long)need, (long long)move->bytes,
             mw__dt_placements_of(r, &choice.out[0]));
}

/* ---- masked partials
 * --------------------------------------------------------------------------------- */

void mw__dt_tell_masked(const dt_here *h, mw_draft *d, const dt_tensor *t)
{
    for (int a = 0; a < t->nplacement; a++) {
        if (t->placement[a].kind != 'M') continue;
        mw__fact(
            d, "masked partial", MW_HOW_DERIVED, "what the placement means",
            "on mesh dim %d each rank holds the rows that it found in its own piece of a table, "
            "and zeros elsewhere; their sum is the value. The mask (which ids were out of its "
            "range) is kept beside the tensor, belongs to that one lookup, and redistribute "
            "needs it, once: two tables must not share it",
            a);
        (void)h;
        return;
    }
}

/* ---- an op's operands
 * -------------------------------------------------------------------------------- */

typedef struct way {
    mw_layout in[3], out;
    int64_t bytes, after; /* to bring the operands there; and the result to the one it had */
} way;

typedef struct search {
    dt_replay *r;
    const mw_layout *result; /* where the result is to lie; NULL: not known */
    mw_layout trial[3];
    int nin, tried, n;
    way best[WAYS];
} search;

static void keep(search *s, const way *w)
{
    int at = s->n;
    int64_t sum = w->bytes + w->after;
    while (at > 0 && s->best[at - 1].bytes + s->best[at - 1].after > sum)
        at--;
    if (at == WAYS) return;
    for (int i = MW_MIN(s->n, WAYS - 1); i > at; i--)
        s->best[i] = s->best[i - 1];
    s->best[at] = *w;
    s->n = MW_MIN(s->n + 1, WAYS);
}

static void try_one(search *s)
{
    const dt_replay *r = s->r;
    const mw_layout *in[3];
    mw_choice choice;
    way w = {.bytes = 0};
    for (int i = 0; i < s->nin; i++)
        in[i] = &s->trial[i];
    if (s->tried++ >= TRIALS ||
        mw__dt_failed(r->h, mw__choose(r->mesh, &r->args, in, r->h->scratch, &choice)) ||
        choice.moves || choice.parts || choice.nout < 1)
        return;
    for (int i = 0; i < s->nin; i++) {
        if (mw_layout_equal(&r->layout[i], in[i])) continue;
        int64_t one = mw__dt_moving(r->h, r->mesh, &r->layout[i], in[i], NULL);
        if (one < 0) return;
        w.bytes += one;
    }
    w.out = choice.out[0];
    if (s->result && !mw_layout_equal(&w.out, s->result)) {
        w.after = mw__dt_moving(r->h, r->mesh, &w.out, s->result, NULL);
        if (w.after < 0) return;
    }
    memcpy(w.in, s->trial, sizeof w.in);
    keep(s, &w);
}

/* Operand i in every simple placement on the axis, and so on for those after it. */
static void walk(search *s, int axis, int i)
{
    if (i == s->nin) {
        try_one(s);
        return;
    }
    dt_tensor t = *s->r->stated[i];
    t.dtype = s->r->args.in[i].dtype;
    dt_placement now = t.placement[axis];
    for (int dim = -2; dim < t.ndim && s->tried < TRIALS; dim++) {
        dt_placement p = {.kind = dim < 0 ? 'R' : 'S', .dim = dim, .split = 1, .order = -1};
        if (dim == -2) p = now;
        if (dim == -1 && now.kind == 'R') continue;
        if (dim >= 0 && now.kind == 'S' && (now.dim == dim || now.dim + t.ndim == dim)) continue;
        if (dim >= 0 && t.shape[dim] < s->r->mesh->size[axis]) continue;
        if (laid(s->r->h, s->r->mesh, &t, axis, &p, &s->trial[i])) walk(s, axis, i + 1);
    }
}

static void tell_way(search *s, int k)
{
    const way *w = &s->best[k];
    const dt_replay *r = s->r;
    mw_str text = {0};
    for (int i = 0; i < s->nin; i++) {
        const char *name = r->call->schema->arg[r->arg_of[i]].name, *steps;
        if (mw_layout_equal(&r->layout[i], &w->in[i])) continue;
        (void)mw__dt_moving(r->h, r->mesh, &r->layout[i], &w->in[i], &steps);
        mw__str_printf(&text, "%s to %s (%s), ", name, mw__dt_placements_of(r, &w->in[i]),
                       *steps ? steps : "local");
    }
    char fact[24];
    (void)snprintf(fact, sizeof fact, "way %d", k + 1);
    mw_how how = r->assumed_dtype || r->meant ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
    const char *by = r->meant
                         ? "meshwise's choice and plans, with the operand as it was likely meant"
                     : r->assumed_dtype ? "meshwise's choice and plans; the dtype is assumed"
                                        : "meshwise's choice and plans";
    if (w->after)
        mw__fact(r->call->draft, fact, how, by,
                 "%s%lld B received per rank; result %s, and %lld B more to bring it where it is: "
                 "%lld B in all",
                 mw__str_text(&text), (long long)w->bytes, mw__dt_placements_of(r, &w->out),
                 (long long)w->after, (long long)(w->bytes + w->after));
    else
        mw__fact(r->call->draft, fact, how, by, "%s%lld B received per rank; result %s",
                 mw__str_text(&text), (long long)w->bytes, mw__dt_placements_of(r, &w->out));
    mw__dt_done(r->h, &text);
}

/* The cheapest combinations with which the op runs, one mesh axis being changed: the first on which
 * something moved. */
void mw__dt_tell_ways(dt_replay *r, int axis, const mw_layout *result)
{
    if (r->args.nin < 1 || r->args.nin > 3 || axis < 0 || axis >= r->mesh->naxis ||
        r->mesh->nrank > 64)
        return;
    for (int i = 0; i < r->args.nin; i++)
        if (r->stated[i]->nplacement <= axis || r->stated[i]->ndim > 4) return;
    search *s = mw__arena_zalloc(r->h->scratch, sizeof *s);
    if (!s) {
        r->h->e->failed = true;
        return;
    }
    s->r = r;
    s->result = result;
    s->nin = r->args.nin;
    walk(s, axis, 0);
    for (int k = 0; k < s->n; k++)
        tell_way(s, k);
    mw_error_clear();
}
