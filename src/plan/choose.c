/* Which layouts a call runs with. Per mesh axis the legal choices are: nowhere (replicated), one of
 * the rule's letters, or a partial sum (max, min) that passes through. A combination fixes the
 * layout that every operand must have; the one that is cheapest to reach wins. If some combination
 * moves nothing it is found without a search; otherwise all are tried, operands' prices remembered.
 *
 * Ties go the way DTensor breaks them: what changes no placement, then the first that costs
 * nothing, then the first of the cheapest. A combination that moves something also pays for the
 * reduction that the partial result it leaves will need; one that moves nothing does not. */
#include "plan/choose.h"

#include "ops/rule.h"

enum { MOST_COMBINATIONS = 20000 };

/* ---- what the operands have ------------------------------------------------------------------ */

static void letters_of(const mw_operand *o, uint64_t *ret_mask)
{
    uint64_t mask = 0;
    for (int d = 0; d < o->ndim; d++)
        for (int i = 0; i < o->nletter[d]; i++)
            mask |= 1ull << o->letter[d][i];
    *ret_mask = mask;
}

/* Splits each dim's cuts over the letters that the dim is made of. Axes for which that can't be
 * said are given up: they will be gathered. */
static void split_operand(chooser *c, int i)
{
    const mw_operand *o = &c->rule->in[i];
    operand_state *s = &c->operand[i];
    letters_of(o, &s->letters);
    for (int d = 0; d < o->ndim; d++) {
        mw_dim dim = s->now->dim[d];
        dim.open = 0;
        int n = o->nletter[d];
        if (n == 0) continue; /* size 1, or broadcast: whatever axes it has must go */
        if (n == 1) {
            s->by_letter[o->letter[d][0]] = dim;
            continue;
        }
        int64_t sizes[MW_DIM_LETTERS];
        for (int k = 0; k < n; k++)
            sizes[k] = c->rule->letter[o->letter[d][k]].size;
        mw_dim part[MW_DIM_LETTERS];
        uint32_t in_the_way = 0;
        if (!mw__dims_regroup(c->mesh, &dim, 1, sizes, n, part, &in_the_way)) {
            dim = mw__dim_without(c->mesh, &dim, in_the_way);
            if (!mw__dims_regroup(c->mesh, &dim, 1, sizes, n, part, NULL))
                for (int k = 0; k < n; k++)
                    part[k] = mw__dim_plain(sizes[k]);
        }
        for (int k = 0; k < n; k++)
            s->by_letter[o->letter[d][k]] = part[k];
    }
}

mw_status mw__chooser_prepare(chooser *c, const mw_layout *const *in)
{
    int nletter = MW_MAX(c->rule->nletter, 1);
    c->operand = mw__arena_zalloc(c->arena, (size_t)MW_MAX(c->nin, 1) * sizeof *c->operand);
    if (!c->operand) return MW_NOMEM();
    for (int i = 0; i < c->nin; i++) {
        operand_state *s = &c->operand[i];
        s->now = in[i];
        s->by_letter = mw__arena_alloc(c->arena, (size_t)nletter * sizeof(mw_dim));
        if (!s->by_letter) return MW_NOMEM();
        split_operand(c, i);
        uint32_t axes = mw__layout_axes(in[i]) | mw__layout_partial_axes(in[i]);
        for (int a = 0; a < c->mesh->naxis; a++)
            if (axes >> a & 1) c->used |= 1u << a;
    }
    /* A letter that only some outputs have can't be split: the others would need a reduction. */
    for (int l = 0; l < c->rule->nletter; l++) {
        int have = 0;
        for (int o = 0; o < c->rule->nout; o++) {
            uint64_t mask;
            letters_of(&c->rule->out[o], &mask);
            have += (int)(mask >> l & 1);
        }
        bool contracted = have == 0;
        c->by_parts[l] = c->rule->letter[l].mark == MW_MARK_PARTS && c->reductions > 0;
        if (c->by_parts[l]) {
            c->splittable[l] = true;
            continue;
        }
        c->splittable[l] = c->rule->letter[l].mark == MW_MARK_FREE &&
                           (contracted ? c->rule->reduce != MW_REDUCE_NONE : have == c->rule->nout);
        c->contracted[l] = contracted;
    }
    return MW_OK;
}

/* ---- choices of one axis ----------------------------------------------------------------------
 */

static uint64_t letters_with(const chooser *c, int i, int axis)
{
    uint64_t mask = 0;
    const operand_state *s = &c->operand[i];
    for (int l = 0; l < c->rule->nletter; l++)
        if ((s->letters >> l & 1) && (mw__dim_axes(&s->by_letter[l]) >> axis & 1))
            mask |= 1ull << l;
    return mask;
}

static const mw_partial *partial_on(const mw_layout *l, int axis)
{
    for (int i = 0; i < l->npartial; i++)
        if (l->partial[i].axis == axis) return &l->partial[i];
    return NULL;
}

static bool is_sum(unsigned kind)
{
    return kind == MW_REDUCE_SUM || kind == MW_REDUCE_AVG;
}

/* May a partial of this kind come in through operand i? */
static bool passes(const chooser *c, int i, unsigned kind)
{
    if (c->is_view) return i == 0;
    const mw_operand *o = &c->rule->in[i];
    bool folds = c->rule->reduce != MW_REDUCE_NONE && !is_sum(c->rule->reduce);
    if (is_sum(kind)) return o->linear && !folds;
    if (kind != MW_REDUCE_MAX && kind != MW_REDUCE_MIN) return false;
    return o->monotone && (!folds || kind == (unsigned)c->rule->reduce);
}

/* In which way operand i takes part when the axis makes the result partial: 's' it holds a split
 * letter, 'p' it stays partial, 'm' it becomes partial by a mask, 'r' it is whole. In every term
 * one operand carries; false where a term has none that could. */
static bool carriers(const chooser *c, int axis, int letter, unsigned kind, char *ret_role)
{
    const mw_rule *rule = c->rule;
    for (int i = 0; i < c->nin; i++)
        ret_role[i] = 'r';
    bool carried[64] = {false};
    int nterm = MW_MIN(rule->nterm, 64);
    for (int i = 0; i < c->nin && letter >= 0; i++) {
        if (!(c->operand[i].letters >> letter & 1)) continue;
        ret_role[i] = 's';
        if (rule->in[i].term < 0) return false;
        carried[rule->in[i].term] = true;
    }
    for (int i = 0; i < c->nin; i++) {
        int term = rule->in[i].term;
        const mw_partial *p = partial_on(c->operand[i].now, axis);
        if (!p || term < 0 || term >= nterm || carried[term] || !passes(c, i, p->kind)) continue;
        if (p->kind != kind && !(is_sum(p->kind) && is_sum(kind))) continue;
        ret_role[i] = 'p';
        carried[term] = true;
    }
    bool sum = is_sum(kind);
    for (int i = 0; i < c->nin; i++) {
        int term = rule->in[i].term;
        if (term < 0 || term >= nterm || carried[term] || !sum || !rule->in[i].linear) continue;
        ret_role[i] = 'm';
        carried[term] = true;
    }
    int carry = 0;
    for (int t = 0; t < nterm; t++)
        carry += carried[t];
    if (sum) return carry == nterm;
    return carry == 1 || (carry > 1 && (c->rule->joint & MW_JOINT(kind)));
}

static void add_option(axis_options *o, option more)
{
    if (o->n < MW_COUNT(o->at)) o->at[o->n++] = more;
}

void mw__chooser_options(chooser *c, int axis, axis_options *o)
{
    o->n = 0;
    add_option(o, (option){OPT_WHOLE, -1, -1, 0});
    for (int l = 0; l < c->rule->nletter; l++) {
        if (!c->splittable[l]) continue;
        if (c->contracted[l]) {
            char role[MOST_OPERANDS];
            if (!carriers(c, axis, l, c->rule->reduce, role)) continue;
        }
        add_option(o, (option){OPT_LETTER, l, -1, c->contracted[l] ? c->rule->reduce : 0});
    }
    for (int i = 0; i < c->nin; i++) {
        const mw_partial *p = partial_on(c->operand[i].now, axis);
        if (p && passes(c, i, p->kind)) {
            char role[MOST_OPERANDS];
            if (carriers(c, axis, -1, p->kind, role))
                add_option(o, (option){OPT_PASS, -1, -1, p->kind});
        }
        /* An axis cut in parts may lie on several letters: as this operand has it. */
        uint64_t at = letters_with(c, i, axis);
        if (at & (at - 1)) {
            bool legal = true;
            for (int l = 0; l < c->rule->nletter; l++)
                if (at >> l & 1) legal = legal && c->splittable[l] && !c->contracted[l];
            if (legal) add_option(o, (option){OPT_COPY, -1, i, 0});
        }
    }
}

static uint64_t letters_of_option(const chooser *c, int axis, const option *o)
{
    if (o->kind == OPT_LETTER) return 1ull << o->letter;
    if (o->kind == OPT_COPY) return letters_with(c, o->operand, axis);
    return 0;
}

/* Does the option leave every operand as it is, on this axis? */
static bool is_natural(const chooser *c, int axis, const option *o)
{
    uint64_t wanted = letters_of_option(c, axis, o);
    char role[MOST_OPERANDS];
    bool partial = o->kind == OPT_PASS || (o->kind == OPT_LETTER && c->contracted[o->letter]);
    if (partial && !carriers(c, axis, o->kind == OPT_LETTER ? o->letter : -1, o->reduce, role))
        return false;
    for (int i = 0; i < c->nin; i++) {
        const operand_state *s = &c->operand[i];
        if (c->rule->in[i].unread && !(wanted & s->letters)) continue;
        bool is_cut = mw__layout_axes(s->now) >> axis & 1;
        const mw_partial *p = partial_on(s->now, axis);
        if (letters_with(c, i, axis) != (wanted & s->letters)) return false;
        if (!(wanted & s->letters) && is_cut) return false; /* on a dim that has no letter */
        if (partial && role[i] == 'm') return false;
        if ((p != NULL) != (partial && role[i] == 'p') && !c->rule->in[i].unread) return false;
    }
    return true;
}

/* ---- one combination --------------------------------------------------------------------------
 */

static int64_t bytes_of(const mw_layout *l)
{
    return mw__layout_count(l) * MW_MAX(1, mw_dtype_size((mw_dtype)l->dtype));
}

/* How letter l is cut when exactly these axes cut it: as the operands have it that already agree,
 * the largest voice first. */
static mw_dim letter_cut(const chooser *c, int l, uint32_t axes)
{
    mw_dim best = mw__dim_plain(c->rule->letter[l].size);
    if (!axes) return best;
    int64_t best_voice = -1;
    for (int i = 0; i < c->nin; i++) {
        if (!(c->operand[i].letters >> l & 1)) continue;
        const mw_dim *now = &c->operand[i].by_letter[l];
        mw_dim dim = mw__dim_without(c->mesh, now, ~axes);
        for (int a = 0; a < c->mesh->naxis; a++)
            if ((axes & ~mw__dim_axes(&dim)) >> a & 1)
                (void)mw__dim_append(c->mesh, &dim, a, 1, c->mesh->size[a]);
        int64_t voice = 0;
        for (int j = 0; j < c->nin; j++)
            if ((c->operand[j].letters >> l & 1) &&
                mw__dim_equal(&c->operand[j].by_letter[l], &dim))
                voice += 1 + bytes_of(c->operand[j].now);
        if (voice > best_voice) best = dim, best_voice = voice;
    }
    return best;
}

/* The dims of an operand or output, put together from its letters. */
static bool join_dims(const chooser *c, const mw_operand *o, const mw_dim *by_letter,
                      mw_layout *ret)
{
    ret->ndim = (uint8_t)o->ndim;
    for (int d = 0; d < o->ndim; d++) {
        int n = o->nletter[d];
        if (n == 0) {
            ret->dim[d] = mw__dim_plain(1);
            continue;
        }
        if (n == 1) {
            ret->dim[d] = by_letter[o->letter[d][0]];
            continue;
        }
        mw_dim part[MW_DIM_LETTERS];
        int64_t size = 1;
        for (int k = 0; k < n; k++) {
            part[k] = by_letter[o->letter[d][k]];
            size *= mw__dim_size(&part[k]);
        }
        if (!mw__dims_regroup(c->mesh, part, n, &size, 1, &ret->dim[d], NULL)) return false;
    }
    return true;
}

static void add_partial(mw_layout *l, int axis, int32_t major, int32_t size, unsigned kind)
{
    if (l->npartial == MW_LAYOUT_PARTIALS) return;
    int at = l->npartial++;
    for (; at > 0 && (l->partial[at - 1].axis > axis ||
                      (l->partial[at - 1].axis == axis && l->partial[at - 1].major > major));
         at--)
        l->partial[at] = l->partial[at - 1];
    l->partial[at] =
        (mw_partial){.kind = (uint8_t)kind, .axis = (int8_t)axis, .major = major, .size = size};
}

static bool one_kind(const mw_layout *l)
{
    for (int i = 1; i < l->npartial; i++)
        if (l->partial[i].kind != l->partial[0].kind &&
            !(is_sum(l->partial[i].kind) && is_sum(l->partial[0].kind)))
            return false;
    return true;
}

/* What the result is partial in: an operand that falls turns a maximum into a minimum. */
static unsigned kind_after(const chooser *c, unsigned kind, const char *role)
{
    bool falls = false;
    for (int i = 0; i < c->nin && !c->is_view; i++)
        falls = falls || (role[i] == 'p' && c->rule->in[i].monotone < 0);
    if (!falls || is_sum(kind)) return kind;
    return kind == MW_REDUCE_MAX ? MW_REDUCE_MIN : MW_REDUCE_MAX;
}

/* The parts of an axis on which the option leaves terms: where the letter is really cut (perhaps by
 * a part of the axis, or, having no elements, not at all), or what the operands are partial over.
 */
static int parts_of_option(const chooser *c, int axis, const option *o, const char *role,
                           mw_partial *ret)
{
    int n = 0;
    if (o->kind == OPT_LETTER) {
        const mw_dim *dim = &c->cut[o->letter];
        for (int i = 0; i < dim->ncut; i++) {
            const mw_cut *cut = &dim->cut[i];
            if (cut->axis != axis) continue;
            int at = n++;
            for (; at > 0 && ret[at - 1].major > cut->major; at--)
                ret[at] = ret[at - 1];
            ret[at] = (mw_partial){.major = cut->major, .size = cut->size};
        }
        int kept = 0;
        for (int i = 0; i < n; i++) { /* neighbours are one part */
            if (kept && ret[kept - 1].major * ret[kept - 1].size == ret[i].major)
                ret[kept - 1].size *= ret[i].size;
            else
                ret[kept++] = ret[i];
        }
        return kept;
    }
    for (int i = 0; i < c->nin; i++)
        if (role[i] == 'p') ret[0] = *partial_on(c->operand[i].now, axis);
    return 1;
}

/* Makes operands and results of the option partial. False where an operand that carries terms has
 * them over another part of the axis. */
static bool add_partials(const chooser *c, int axis, const option *o, mw_layout *in, mw_layout *out)
{
    char role[MOST_OPERANDS];
    mw_partial part[MW_DIM_CUTS + 1];
    if (!carriers(c, axis, o->kind == OPT_LETTER ? o->letter : -1, o->reduce, role)) return false;
    int n = parts_of_option(c, axis, o, role, part);
    for (int i = 0; i < c->nin; i++) {
        if (role[i] != 'p' && role[i] != 'm') continue;
        const mw_partial *p = partial_on(c->operand[i].now, axis);
        if (role[i] == 'p' && o->kind == OPT_LETTER &&
            (n != 1 || p->major != part[0].major || p->size != part[0].size))
            return false;
        for (int k = 0; k < n; k++)
            add_partial(&in[i], axis, part[k].major, part[k].size, o->reduce);
    }
    for (int i = 0; i < c->rule->nout; i++)
        for (int k = 0; k < n; k++)
            add_partial(&out[i], axis, part[k].major, part[k].size, kind_after(c, o->reduce, role));
    return true;
}

/* Fills the layouts of a combination. False where no text can say them. */
bool mw__chooser_build(chooser *c, const option *const *pick, mw_layout *in, mw_layout *out)
{
    uint32_t axes[MW_RULE_LETTERS] = {0};
    for (int a = 0; a < c->mesh->naxis; a++) {
        if (!pick[a]) continue;
        uint64_t at = letters_of_option(c, a, pick[a]);
        for (int l = 0; at; l++, at >>= 1)
            if (at & 1) axes[l] |= 1u << a;
    }
    for (int l = 0; l < c->rule->nletter; l++)
        c->cut[l] = letter_cut(c, l, axes[l]);
    for (int i = 0; i < c->nin; i++) {
        in[i] = (mw_layout){.dtype = c->operand[i].now->dtype};
        if (c->rule->in[i].unread) in[i] = *c->operand[i].now;
        if (!c->rule->in[i].unread && !join_dims(c, &c->rule->in[i], c->cut, &in[i])) return false;
    }
    for (int o = 0; o < c->rule->nout; o++) {
        out[o] = (mw_layout){.dtype = (uint8_t)c->rule->out_meta[o].dtype};
        if (!join_dims(c, &c->rule->out[o], c->cut, &out[o])) return false;
    }
    for (int a = 0; a < c->mesh->naxis; a++)
        if (pick[a] && pick[a]->reduce && !add_partials(c, a, pick[a], in, out)) return false;
    for (int k = 0; k < c->rule->nout; k++)
        if (!one_kind(&out[k])) return false;
    for (int i = 0; i < c->nin; i++)
        if (!one_kind(&in[i])) return false;
    /* What is written in place lies as it lay, and says so: no maximum may become a minimum there.
     */
    return !c->in_place || mw_layout_equal(&in[0], &out[0]);
}

/* The price of bringing operand i to a layout; remembered. */
static mw_status price(chooser *c, int i, const mw_layout *to, double *ret)
{
    operand_state *s = &c->operand[i];
    *ret = 0;
    if (mw_layout_equal(s->now, to)) return MW_OK;
    for (const known_price *k = s->prices; k; k = k->next)
        if (mw_layout_equal(&k->to, to)) {
            *ret = k->us;
            return MW_OK;
        }
    known_price *k = mw__arena_alloc(c->arena, sizeof *k);
    mw_plan *plan = mw__arena_alloc(c->arena, sizeof *plan);
    if (!k || !plan) return MW_NOMEM();
    MW_TRY(mw__plan_make(c->mesh, s->now, to, c->arena, plan));
    *k = (known_price){*to, plan->time_us, s->prices};
    s->prices = k;
    *ret = plan->time_us;
    return MW_OK;
}

static mw_status total(chooser *c, const mw_layout *in, const mw_layout *out, double *ret,
                       bool *ret_same)
{
    double us = 0;
    bool same = true;
    for (int i = 0; i < c->nin; i++) {
        double one;
        MW_TRY(price(c, i, &in[i], &one));
        if (c->in_place && i == 0) one *= 2; /* there and back */
        us += one;
        same = same && mw_layout_equal(c->operand[i].now, &in[i]);
    }
    for (int k = 0; us > 0 && k < c->rule->nout; k++) {
        if (!out[k].npartial) continue;
        int64_t bytes = mw__layout_largest_shard(c->mesh, &out[k]) *
                        mw_dtype_size(mw__layout_storage_dtype(&out[k]));
        us += mw__step_time(mw__team_count(c->mesh, mw__layout_partial_axes(&out[k])), bytes, 1);
    }
    *ret = us;
    *ret_same = same;
    return MW_OK;
}

/* ---- the search -------------------------------------------------------------------------------
 */

typedef struct best {
    mw_layout *in, *out;
    double us;
    bool found, parts;
} best;

/* What the parts of the op move: a few all_reduces over the axes that split a `^` letter, each of
 * one value per row. 0 where no such letter is split. */
static double price_of_parts(const chooser *c, const option *const *pick)
{
    uint32_t axes = 0;
    int64_t along = 1;
    for (int a = 0; a < c->mesh->naxis; a++) {
        uint64_t at = pick[a] ? letters_of_option(c, a, pick[a]) : 0;
        for (int l = 0; at; l++, at >>= 1) {
            if (!(at & 1) || !c->by_parts[l]) continue;
            if (!axes) along = MW_MAX(1, c->rule->letter[l].size);
            axes |= 1u << a;
        }
    }
    if (!axes) return 0;
    int64_t rows = mw__layout_count(&c->trial_in[0]) / along;
    int64_t bytes = rows * MW_MAX(1, mw_dtype_size((mw_dtype)c->trial_in[0].dtype));
    return c->reductions * mw__step_time(mw__team_count(c->mesh, axes), bytes, 1);
}

static mw_status try_combination(chooser *c, const option *const *pick, best *b, bool *ret_same)
{
    bool same = false;
    double us;
    if (mw__chooser_build(c, pick, c->trial_in, c->trial_out)) {
        MW_TRY(total(c, c->trial_in, c->trial_out, &us, &same));
        double parts = price_of_parts(c, pick);
        us += parts;
        same = same && !(parts > 0);
        if (!b->found || us < b->us) {
            b->found = true;
            b->parts = parts > 0;
            b->us = us;
            memcpy(b->in, c->trial_in, (size_t)c->nin * sizeof(mw_layout));
            memcpy(b->out, c->trial_out, (size_t)c->rule->nout * sizeof(mw_layout));
        }
    }
    *ret_same = same;
    return MW_OK;
}

/* Where too many combinations would have to be tried, an axis keeps to where some operand has it.
 */
static void shorten(const chooser *c, axis_options *o, int axis)
{
    int kept = 0;
    for (int i = 0; i < o->n; i++) {
        bool there = o->at[i].kind != OPT_LETTER;
        for (int k = 0; k < c->nin; k++)
            there = there || (letters_with(c, k, axis) & letters_of_option(c, axis, &o->at[i]));
        if (there) o->at[kept++] = o->at[i];
    }
    o->n = kept;
}

static mw_status search(chooser *c, axis_options *options, best *b)
{
    const option *pick[MW_MESH_AXES] = {NULL};
    int at[MW_MESH_AXES] = {0}, naxis = c->mesh->naxis;
    double combinations = 1;
    for (int a = 0; a < naxis; a++)
        if (c->used >> a & 1) combinations *= options[a].n;
    for (int a = 0; a < naxis && combinations > MOST_COMBINATIONS; a++)
        if (c->used >> a & 1) shorten(c, &options[a], a);
    for (;;) {
        for (int a = 0; a < naxis; a++)
            if (c->used >> a & 1) pick[a] = &options[a].at[at[a]];
        bool same;
        MW_TRY(try_combination(c, pick, b, &same));
        int a = naxis - 1;
        for (; a >= 0; a--) {
            if (!(c->used >> a & 1)) continue;
            if (++at[a] < options[a].n) break;
            at[a] = 0;
        }
        if (a < 0) return MW_OK;
    }
}

/* What stands in the way of moving nothing: the first axis on which operands disagree. */
static mw_status say_why(chooser *c, uint32_t odd, const char **ret)
{
    mw_str text = {0};
    for (int a = 0; a < c->mesh->naxis; a++) {
        if (!(odd >> a & 1)) continue;
        if (text.length) mw__str_puts(&text, "; ");
        mw__str_printf(&text, "axis %s:", c->mesh->name[a]);
        for (int i = 0; i < c->nin; i++) {
            const mw_partial *p = partial_on(c->operand[i].now, a);
            uint64_t at = letters_with(c, i, a);
            mw__str_printf(&text, "%s operand %d ", i ? "," : "", i);
            if (p)
                mw__str_printf(&text, "is a partial %s", mw__reduce_name((mw_reduce)p->kind));
            else if (at)
                for (int l = 0; l < c->rule->nletter; l++) {
                    if (!(at >> l & 1)) continue;
                    mw__str_printf(&text, "splits %s%s", c->rule->letter[l].name,
                                   c->by_parts[l]     ? ", which must be whole or worked in parts"
                                   : c->splittable[l] ? ""
                                                      : ", which must be whole");
                }
            else
                mw__str_puts(&text, mw__layout_axes(c->operand[i].now) >> a & 1
                                        ? "splits a dim that can't be split here"
                                        : "is whole");
        }
    }
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) {
        *ret = mw__arena_strndup(c->arena, mw__str_text(&text), text.length);
        if (!*ret) status = MW_NOMEM();
    }
    mw__str_done(&text);
    return status;
}

static mw_status choose_by_letters(chooser *c, const mw_layout *const *in, mw_choice *ret)
{
    MW_TRY(mw__chooser_prepare(c, in));
    size_t nin = (size_t)MW_MAX(c->nin, 1), nout = (size_t)MW_MAX(c->rule->nout, 1);
    mw_layout *all = mw__arena_alloc(c->arena, 2 * (nin + nout) * sizeof *all);
    if (!all) return MW_NOMEM();
    best b = {.in = all, .out = all + nin};
    c->trial_in = all + nin + nout, c->trial_out = c->trial_in + nin;
    axis_options *options = mw__arena_alloc(c->arena, MW_MESH_AXES * sizeof *options);
    if (!options) return MW_NOMEM();
    const option *natural[MW_MESH_AXES] = {NULL};
    uint32_t odd = 0;
    for (int a = 0; a < c->mesh->naxis; a++) {
        if (!(c->used >> a & 1)) continue;
        mw__chooser_options(c, a, &options[a]);
        for (int i = 0; i < options[a].n; i++)
            if (is_natural(c, a, &options[a].at[i])) natural[a] = &options[a].at[i];
        if (!natural[a]) odd |= 1u << a;
    }
    bool same = false;
    if (!odd) MW_TRY(try_combination(c, natural, &b, &same));
    if (!same) {
        b.found = false;
        MW_TRY(search(c, options, &b));
        MW_TRY(say_why(c, odd ? odd : c->used, &ret->why));
    }
    if (!b.found) return MW_FAIL(MW_ERR_INTERNAL, "no layout was found for a call of an op");
    *ret = (mw_choice){.in = b.in,
                       .out = b.out,
                       .out_meta = c->rule->out_meta,
                       .nin = c->nin,
                       .nout = c->rule->nout,
                       .time_us = b.us,
                       .moves = !same,
                       .parts = b.parts,
                       .why = same ? "" : ret->why};
    return MW_OK;
}

/* A reshape: free if the owners regroup; otherwise the axes in the way are gathered. */
static mw_status choose_reshape(chooser *c, const mw_layout *in, mw_choice *ret)
{
    mw_layout *both = mw__arena_alloc(c->arena, 2 * sizeof *both);
    if (!both) return MW_NOMEM();
    mw_layout *from = &both[0], *to = &both[1];
    const mw_meta *out = &c->rule->out_meta[0];
    *from = *in;
    for (int d = 0; d < from->ndim; d++)
        from->dim[d].open = 0;
    *to = (mw_layout){.dtype = (uint8_t)out->dtype, .ndim = (uint8_t)out->ndim};
    *ret = (mw_choice){
        .in = from, .out = to, .out_meta = c->rule->out_meta, .nin = 1, .nout = 1, .why = ""};
    uint32_t in_the_way = 0;
    while (!mw__dims_regroup(c->mesh, from->dim, from->ndim, out->shape, out->ndim, to->dim,
                             &in_the_way)) {
        if (!(in_the_way & mw__layout_axes(from))) in_the_way = mw__layout_axes(from);
        if (!in_the_way) return MW_FAIL(MW_ERR_INTERNAL, "a whole tensor could not be reshaped");
        for (int d = 0; d < from->ndim; d++)
            from->dim[d] = mw__dim_without(c->mesh, &from->dim[d], in_the_way);
        ret->moves = true;
        mw_str axes = {0};
        mw__axes_str(c->mesh, in_the_way, &axes);
        ret->why = mw__arena_printf(c->arena, "the new dims cut through what %s holds",
                                    mw__str_text(&axes));
        bool whole = ret->why && !axes.failed;
        mw__str_done(&axes);
        if (!whole) return MW_NOMEM();
    }
    to->npartial = from->npartial;
    memcpy(to->partial, from->partial, sizeof to->partial);
    mw_plan *plan = mw__arena_alloc(c->arena, sizeof *plan);
    if (!plan) return MW_NOMEM();
    MW_TRY(mw__plan_make(c->mesh, in, from, c->arena, plan));
    ret->time_us = plan->time_us;
    return MW_OK;
}

mw_status mw__chooser_new(const mw_mesh *mesh, const mw_call_args *call, mw_arena *arena,
                          chooser **ret)
{
    mw_rule *rule = mw__arena_zalloc(arena, sizeof *rule);
    chooser *c = mw__arena_zalloc(arena, sizeof *c);
    if (!rule || !c) return MW_NOMEM();
    MW_TRY(mw__rule_of(call, arena, rule));
    const mw_op_info *info;
    MW_TRY(mw__op_info(call->op, &info));
    if (call->nin > MOST_OPERANDS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s of %d tensors: at most %d at once",
                       info->schema.name, call->nin, MOST_OPERANDS);
    c->mesh = mesh, c->rule = rule, c->arena = arena, c->nin = call->nin;
    c->is_view = call->op->view != NULL;
    c->reductions = call->op->parts ? call->op->reductions : 0;
    c->in_place = info->schema.narg > 0 && info->schema.arg[0].type.written;
    *ret = c;
    return MW_OK;
}

mw_status mw__choose(const mw_mesh *mesh, const mw_call_args *call, const mw_layout *const *in,
                     mw_arena *arena, mw_choice *ret)
{
    chooser *c;
    MW_TRY(mw__chooser_new(mesh, call, arena, &c));
    if (call->op->reshape) return choose_reshape(c, in[0], ret);
    return choose_by_letters(c, in, ret);
}
