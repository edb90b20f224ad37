/* All combinations of one call: every placement of every operand, and for each the results' ones.
 * What is claimed must be right; what is right must be claimed, unless it only says in other words
 * what is claimed: equal values on all ranks are also the terms of a mean, a maximum, a minimum. */
#include "verify/verify.h"

#include <stdio.h>

enum { MOST_COMBOS = 200000, RANDOM_COMBOS = 300, PLACES = 64 };

typedef struct combos {
    subject *s;
    report *r;
    bool missing;
    int n[MOST_TENSORS];
    place *choice[MOST_TENSORS][PLACES]; /* placements that are tried of each operand */
    int nout[MOST_TENSORS];
    place *result[MOST_TENSORS][PLACES];
    place **listed; /* [nlisted][nin] combinations that come in no order, each once */
    int64_t nlisted, cap;
} combos;

/* ---- the placements of a tensor ------------------------------------------------------------- */

static bool may_be(mw_reduce kind, mw_dtype dtype)
{
    if (kind == MW_REDUCE_MAX || kind == MW_REDUCE_MIN) return true;
    if (kind == MW_REDUCE_SUM) return dtype != MW_DTYPE_bool;
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT;
}

static mw_status add_place(combos *c, bool out, int nth, mw_layout *layout)
{
    int *n = out ? &c->nout[nth] : &c->n[nth];
    place **list = out ? c->result[nth] : c->choice[nth];
    mw__layout_canonical(c->s->mesh, layout);
    place *p;
    MW_TRY(mw__place_get(c->s, out, nth, layout, &p));
    for (int i = 0; i < *n; i++)
        if (list[i] == p) return MW_OK;
    if (*n < PLACES) list[(*n)++] = p;
    return MW_OK;
}

/* Adds what axis `a` may be, to a layout that says what the axes before it are. */
static mw_status add_axis(combos *c, bool out, int nth, const mw_layout *so_far, int a)
{
    static const mw_reduce kinds[] = {MW_REDUCE_SUM, MW_REDUCE_AVG, MW_REDUCE_MAX, MW_REDUCE_MIN};
    const mw_mesh *mesh = c->s->mesh;
    mw_layout l = *so_far;
    if (a == mesh->naxis) return add_place(c, out, nth, &l);
    MW_TRY(add_axis(c, out, nth, so_far, a + 1));
    for (int d = 0; d < l.ndim; d++) {
        l = *so_far;
        if (mw__dim_size(&l.dim[d]) > 0 && mw__dim_append(mesh, &l.dim[d], a, 1, mesh->size[a]))
            MW_TRY(add_axis(c, out, nth, &l, a + 1));
    }
    for (int k = 0; k < MW_COUNT(kinds); k++) {
        l = *so_far;
        if (!may_be(kinds[k], (mw_dtype)l.dtype)) continue;
        if (l.npartial && l.partial[0].kind != kinds[k]) continue; /* has no order-free value */
        l.partial[l.npartial++] = (mw_partial){
            .kind = (uint16_t)kinds[k], .axis = (int16_t)a, .major = 1, .size = mesh->size[a]};
        MW_TRY(add_axis(c, out, nth, &l, a + 1));
    }
    return MW_OK;
}

static mw_status make_places(combos *c)
{
    subject *s = c->s;
    for (int i = 0; i < s->call.nin + s->rule.nout; i++) {
        bool out = i >= s->call.nin;
        const mw_meta *m = out ? &s->rule.out_meta[i - s->call.nin] : &s->call.in[i];
        mw_layout whole = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        MW_TRY(add_axis(c, out, out ? i - s->call.nin : i, &whole, 0));
    }
    return MW_OK;
}

/* ---- one combination ------------------------------------------------------------------------ */

/* Infinity times a term is not a term of infinity times the sum: sums are finite. */
static bool says_something(const subject *s, place *const *in, int set)
{
    bool sums = false;
    for (int i = 0; i < s->call.nin; i++)
        sums = sums || mw__place_sums(in[i]);
    return s->set[set].usable && !(sums && mw__values_strange(set));
}

/* Do the results vary at all over the sets? A constant is right in every way. */
static bool is_constant(const subject *s, place *const *in)
{
    bool any = false;
    double first = 0;
    for (int set = 0; set < SETS_MOST; set++) {
        if (!s->set[set].made || !says_something(s, in, set)) continue;
        for (int k = 0; k < s->rule.nout; k++) {
            const mw_view *v = &s->set[set].out[k];
            int64_t n = mw__view_count(v), size = mw_dtype_size(v->dtype);
            for (int64_t i = 0; i < n; i++) {
                double x = mw__element_get((const char *)v->data + i * size, v->dtype);
                if (any && x != first) return false; /* NaN too: it is a value */
                first = x;
                any = true;
            }
        }
    }
    return s->call.nin > 0;
}

/* Is result `nth` right in this placement, on this set? Sets that the op refuses say nothing. */
static mw_status right(subject *s, place *const *in, place *const *out, int nth, int set, bool *ret,
                       const char **ret_says)
{
    value_set *v;
    const ran *r;
    mismatch m;
    *ret = true;
    MW_TRY(mw__values_get(s, set, &v));
    if (!says_something(s, in, set)) return MW_OK;
    MW_TRY(mw__trial_run(s, in, out, set, &r));
    *ret = !r->failed;
    if (r->failed) {
        if (!ret_says) return MW_OK;
        *ret_says = mw__arena_strndup(s->scratch, r->why, strlen(r->why));
        return *ret_says ? MW_OK : MW_NOMEM();
    }
    MW_TRY(mw__values_agree(s, nth, out[nth], r, set, ret, &m));
    if (*ret || !ret_says) return MW_OK;
    *ret_says = mw__mismatch_text(s, in, set, &m);
    return *ret_says ? MW_OK : MW_NOMEM();
}

static mw_status places_of(subject *s, const mw_layout *out, place **ret)
{
    for (int i = 0; i < s->rule.nout; i++)
        MW_TRY(mw__place_get(s, true, i, &out[i], &ret[i]));
    return MW_OK;
}

static mw_status try_claim(combos *c, place *const *in, const claim *cl)
{
    subject *s = c->s;
    place *out[MOST_TENSORS];
    bool ok = true;
    const char *says = "";
    MW_TRY(places_of(s, cl->out, out));
    for (int set = 0; set < SETS_SURE && ok; set++)
        for (int i = 0; i < s->rule.nout && ok; i++)
            MW_TRY(right(s, in, out, i, set, &ok, &says));
    if (ok) return MW_OK;
    const char *text = mw__combo_text(s, in, out);
    if (!text) return MW_NOMEM();
    return mw__report(c->r, s, MW_FINDING_INCORRECT, text, says);
}

/* ---- what is right -------------------------------------------------------------------------- */

/* A sum of bools of which one is true is their maximum, too. */
static bool says_same(const mw_layout *claimed, const mw_layout *l)
{
    mw_layout sum = *l;
    if (l->dtype == MW_DTYPE_bool)
        for (int i = 0; i < l->npartial; i++)
            if (l->partial[i].kind == MW_REDUCE_MAX) sum.partial[i].kind = MW_REDUCE_SUM;
    return mw_layout_equal(claimed, l) || mw_layout_equal(claimed, &sum);
}

static bool is_claimed(const subject *s, const claim *list, place *const *out)
{
    for (; list; list = list->next) {
        bool same = true;
        for (int i = 0; i < s->rule.nout; i++)
            same = same && says_same(&list->out[i], &out[i]->layout);
        if (same) return true;
    }
    return false;
}

/* The place with axes of the mask, on which it is replicated, partial instead; NULL where there is
 * none. */
static mw_status read_as(subject *s, int nth, const place *p, uint32_t axes, mw_reduce kind,
                         place **ret)
{
    mw_layout l = p->layout;
    uint32_t used = mw__layout_axes(&l) | mw__layout_partial_axes(&l);
    *ret = NULL;
    if (l.npartial && l.partial[0].kind != kind) return MW_OK;
    for (int a = 0; a < s->mesh->naxis; a++) {
        if ((used | ~axes) >> a & 1) continue;
        int at = l.npartial++;
        for (; at > 0 && l.partial[at - 1].axis > a; at--)
            l.partial[at] = l.partial[at - 1];
        l.partial[at] = (mw_partial){
            .kind = (uint16_t)kind, .axis = (int16_t)a, .major = 1, .size = s->mesh->size[a]};
    }
    return mw__place_get(s, false, nth, &l, ret);
}

/* Is the combination one that is claimed of operands read as partial where they are whole? */
static mw_status implied(subject *s, place *const *in, place *const *out, bool *ret)
{
    static const mw_reduce kinds[] = {MW_REDUCE_AVG, MW_REDUCE_MAX, MW_REDUCE_MIN};
    int nin = MW_MIN(s->call.nin, 6);
    *ret = false;
    for (int k = 0; k < MW_COUNT(kinds) * (1 << s->mesh->naxis); k++)
        for (unsigned mask = 1; mask < 1u << nin; mask++) {
            place *as[MOST_TENSORS];
            bool all = true;
            claim *list;
            for (int i = 0; i < s->call.nin && all; i++) {
                as[i] = in[i];
                if (!(mask >> i & 1)) continue;
                MW_TRY(read_as(s, i, in[i], (uint32_t)(k / MW_COUNT(kinds)),
                               kinds[k % MW_COUNT(kinds)], &as[i]));
                all = as[i] && as[i] != in[i];
            }
            if (!all) continue;
            MW_TRY(mw__claims_get(s, as, &list));
            *ret = is_claimed(s, list, out);
            if (*ret) return MW_OK;
        }
    return MW_OK;
}

/* Does some rank hold nothing? Then shards may fit each other by coincidence. */
static bool has_empty(const subject *s, const place *p)
{
    bool empty = false;
    for (int rank = 0; rank < s->mesh->nrank; rank++)
        empty = empty || mw__view_count(&p->local[rank]) == 0;
    return empty;
}

/* A combination that was right on the first sets and isn't claimed. */
static mw_status look_closer(combos *c, place *const *in, place *const *out, const claim *claims)
{
    subject *s = c->s;
    bool ok = true;
    if (!c->missing || is_claimed(s, claims, out)) return MW_OK;
    for (int i = 0; i < s->call.nin; i++)
        if (has_empty(s, in[i])) return MW_OK;
    for (int set = SETS_SURE; set < SETS_MOST && ok; set++)
        for (int i = 0; i < s->rule.nout && ok; i++)
            MW_TRY(right(s, in, out, i, set, &ok, NULL));
    if (!ok || is_constant(s, in)) return MW_OK;
    MW_TRY(implied(s, in, out, &ok));
    if (ok) return MW_OK;
    const char *text = mw__combo_text(s, in, out), *axis;
    if (!text) return MW_NOMEM();
    for (int a = 0; a < s->mesh->naxis; a++) {
        axis = mw__combo_axis_text(s, in, out, a);
        if (!axis) return MW_NOMEM();
        const char *why = mw__refused(s->op, axis, s->scratch);
        if (why) return mw__report(c->r, s, MW_FINDING_REFUSED, text, why);
    }
    return mw__report(c->r, s, MW_FINDING_MISSING, text, "right on all values, and not offered");
}

/* Does `more` say what `less` says, and that equal values are terms of something? */
static bool is_echo(const mw_layout *more, const mw_layout *less)
{
    if (less->npartial >= more->npartial ||
        memcmp(less->dim, more->dim, less->ndim * sizeof less->dim[0]) != 0)
        return false;
    for (int i = 0; i < less->npartial; i++) {
        bool found = false;
        for (int k = 0; k < more->npartial; k++)
            found =
                found || memcmp(&less->partial[i], &more->partial[k], sizeof more->partial[k]) == 0;
        if (!found) return false;
    }
    return true;
}

/* Equal on all ranks is also a mean, a maximum and a minimum (zeros, a sum): these say nothing
 * more. */
static int drop_echoes(place **list, int n)
{
    place *all[PLACES];
    int kept = 0;
    memcpy(all, list, (size_t)n * sizeof *all);
    for (int i = 0; i < n; i++) {
        bool echo = false;
        for (int k = 0; k < n; k++)
            echo = echo || is_echo(&all[i]->layout, &all[k]->layout);
        if (!echo) list[kept++] = all[i];
    }
    return kept;
}

/* Terms of halves are kept in f32. */
static bool is_wide(const place *p)
{
    return p->local[0].dtype != (mw_dtype)p->layout.dtype;
}

/* Results in every placement that has the shapes of `shape`, one by one. */
static mw_status try_shapes(combos *c, place *const *in, place *const *shape, const claim *claims)
{
    subject *s = c->s;
    place *out[MOST_TENSORS], *good[MOST_TENSORS][PLACES];
    int ngood[MOST_TENSORS] = {0}, nout = s->rule.nout, at[MOST_TENSORS] = {0};
    int64_t valid = 1;
    bool wide = false; /* kernels need not convert, unless a claim makes them */
    for (int i = 0; i < s->call.nin; i++)
        wide = wide || is_wide(in[i]);
    for (int i = 0; i < nout; i++) {
        for (int k = 0; k < c->nout[i]; k++) {
            bool ok = true;
            memcpy(out, shape, sizeof(place *) * (size_t)nout);
            out[i] = c->result[i][k];
            int written = mw__trial_written(s, i);
            if (written >= 0 && !mw_layout_equal(&out[i]->layout, &in[written]->layout))
                continue; /* the handle stays as it lies */
            if (memcmp(out[i]->layout.dim, shape[i]->layout.dim,
                       out[i]->layout.ndim * sizeof(mw_dim)) != 0)
                continue;
            bool half =
                out[i]->layout.dtype == MW_DTYPE_f16 || out[i]->layout.dtype == MW_DTYPE_bf16;
            if (half && is_wide(out[i]) != wide) continue;
            for (int set = 0; set < SETS_SURE && ok; set++)
                MW_TRY(right(s, in, out, i, set, &ok, NULL));
            if (ok) good[i][ngood[i]++] = out[i];
        }
        valid *= ngood[i];
        ngood[i] = drop_echoes(good[i], ngood[i]);
    }
    c->r->result->valid += valid;
    for (int tried = 0; valid && tried < PLACES; tried++) {
        int i = 0;
        for (int k = 0; k < nout; k++)
            out[k] = good[k][at[k]];
        MW_TRY(look_closer(c, in, out, claims));
        for (i = 0; i < nout && ++at[i] == ngood[i]; i++)
            at[i] = 0;
        if (i == nout) break;
    }
    return MW_OK;
}

/* The place of the result that is cut as this, if its shapes on all ranks are those of a call. */
static mw_status try_results(combos *c, place *const *in, const claim *claims)
{
    subject *s = c->s;
    place *shape[MOST_TENSORS];
    int nout = s->rule.nout;
    if (nout > 1) { /* no size arguments: one set of shapes */
        mw_meta want[MOST_TENSORS];
        if (!mw__trial_shapes(s, in, NULL, 0, want)) return MW_OK;
        for (int i = 0; i < nout; i++) {
            shape[i] = NULL;
            for (int k = 0; k < c->nout[i] && !shape[i]; k++) {
                const mw_view *v = &c->result[i][k]->local[0];
                if (v->ndim == want[i].ndim &&
                    memcmp(v->shape, want[i].shape, (size_t)v->ndim * sizeof v->shape[0]) == 0)
                    shape[i] = c->result[i][k];
            }
            if (!shape[i]) return MW_OK;
        }
        return mw__trial_fits(s, in, shape) ? try_shapes(c, in, shape, claims) : MW_OK;
    }
    for (int k = 0; k < c->nout[0]; k++) {
        shape[0] = c->result[0][k];
        bool seen = false;
        for (int j = 0; j < k; j++)
            seen = seen || memcmp(c->result[0][j]->layout.dim, shape[0]->layout.dim,
                                  shape[0]->layout.ndim * sizeof(mw_dim)) == 0;
        if (!seen && mw__trial_fits(s, in, shape)) MW_TRY(try_shapes(c, in, shape, claims));
    }
    return MW_OK;
}

static mw_status try_operands(combos *c, place *const *in)
{
    subject *s = c->s;
    claim *claims;
    mw__arena_clear(s->scratch);
    mw__trial_reset(s);
    int64_t results = 1;
    for (int i = 0; i < s->rule.nout; i++)
        results *= c->nout[i];
    c->r->result->combinations += results;
    MW_TRY(mw__claims_get(s, in, &claims));
    for (const claim *cl = claims; cl; cl = cl->next)
        MW_TRY(try_claim(c, in, cl));
    if (s->rule.nout == 0) return MW_OK;
    return try_results(c, in, claims);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Puts a combination on the list, once. */
static mw_status list_combo(combos *c, place *const *in)
{
    int64_t nin = c->s->call.nin;
    if (nin == 0) {
        c->nlisted = 1;
        return MW_OK;
    }
    for (int64_t i = 0; i < c->nlisted; i++)
        if (memcmp(c->listed + i * nin, in, (size_t)nin * sizeof *in) == 0) return MW_OK;
    MW_TRY(mw__grow(&c->listed, &c->cap, (c->nlisted + 1) * nin, sizeof(place *)));
    memcpy(c->listed + c->nlisted * nin, in, (size_t)nin * sizeof *in);
    c->nlisted++;
    return MW_OK;
}

/* What the rule's options are made of; on one axis only what no placement says. */
static mw_status list_claimed(void *user, const mw_layout *in)
{
    combos *c = user;
    place *at[MOST_TENSORS];
    bool known = c->s->mesh->naxis == 1;
    for (int i = 0; i < c->s->call.nin; i++) {
        bool found = false;
        if (in[i].npartial && !may_be((mw_reduce)in[i].partial[0].kind, (mw_dtype)in[i].dtype))
            return MW_OK; /* there are no such terms */
        MW_TRY(mw__place_get(c->s, false, i, &in[i], &at[i]));
        for (int k = 0; k < c->n[i]; k++)
            found = found || c->choice[i][k] == at[i];
        known = known && found;
    }
    return known ? MW_OK : list_combo(c, at);
}

static mw_status list_random(combos *c)
{
    place *at[MOST_TENSORS];
    for (int k = 0; k < RANDOM_COMBOS; k++) {
        for (int i = 0; i < c->s->call.nin; i++)
            at[i] = c->choice[i][mw__random_bits(c->s->seed + (uint64_t)k, (uint64_t)i) %
                                 (uint64_t)c->n[i]];
        MW_TRY(list_combo(c, at));
    }
    return MW_OK;
}

static mw_status try_listed(combos *c)
{
    place *in[MOST_TENSORS];
    int nin = c->s->call.nin;
    for (int64_t i = 0; i < c->nlisted; i++) {
        if (nin) memcpy(in, c->listed + i * nin, (size_t)nin * sizeof *in);
        MW_TRY(try_operands(c, in));
    }
    return MW_OK;
}

static mw_status try_every(combos *c)
{
    place *in[MOST_TENSORS];
    int at[MOST_TENSORS] = {0}, nin = c->s->call.nin;
    for (int64_t tried = 0; tried < MOST_COMBOS; tried++) {
        int i = 0;
        for (int k = 0; k < nin; k++)
            in[k] = c->choice[k][at[k]];
        MW_TRY(try_operands(c, in));
        for (i = 0; i < nin && ++at[i] == c->n[i]; i++)
            at[i] = 0;
        if (i == nin) break;
    }
    return MW_OK;
}

mw_status mw__combos_try(subject *s, report *r, bool missing)
{
    combos *c = mw__arena_zalloc(s->arena, sizeof *c);
    if (!c) return MW_NOMEM();
    *c = (combos){.s = s, .r = r, .missing = missing && s->generic};
    bool two = s->mesh->naxis > 1;
    mw_status status = make_places(c);
    if (status == MW_OK) status = mw__claims_list(s, list_claimed, c);
    if (status == MW_OK && two) status = list_random(c);
    if (status == MW_OK) status = try_listed(c);
    if (status == MW_OK && !two) status = try_every(c);
    mw__free(c->listed, (size_t)c->cap * sizeof(place *));
    return status;
}
