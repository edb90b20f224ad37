/* What a call's mesh axes may do: how the operands lie on the rule's letters, the options of each
 * axis, and the layouts that one option per axis makes. The choice among them is choose.c. */
#include "plan/choose.h"

#include "ops/rule.h"

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

uint64_t mw__letters_with(const chooser *c, int i, int axis)
{
    uint64_t mask = 0;
    const operand_state *s = &c->operand[i];
    for (int l = 0; l < c->rule->nletter; l++)
        if ((s->letters >> l & 1) && (mw__dim_axes(&s->by_letter[l]) >> axis & 1))
            mask |= 1ull << l;
    return mask;
}

const mw_partial *mw__partial_on(const mw_layout *l, int axis)
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
bool mw__carriers(const chooser *c, int axis, int letter, unsigned kind, char *ret_role)
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
        const mw_partial *p = mw__partial_on(c->operand[i].now, axis);
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
            if (!mw__carriers(c, axis, l, c->rule->reduce, role)) continue;
        }
        add_option(o, (option){OPT_LETTER, l, -1, c->contracted[l] ? c->rule->reduce : 0});
    }
    for (int i = 0; i < c->nin; i++) {
        const mw_partial *p = mw__partial_on(c->operand[i].now, axis);
        if (p && passes(c, i, p->kind)) {
            char role[MOST_OPERANDS];
            if (mw__carriers(c, axis, -1, p->kind, role))
                add_option(o, (option){OPT_PASS, -1, -1, p->kind});
        }
        /* An axis cut in parts may lie on several letters: as this operand has it. (Not where one
         * of them is worked in parts: the ops of the parts contract it, and would move the others.)
         */
        uint64_t at = mw__letters_with(c, i, axis);
        if (at & (at - 1)) {
            bool legal = true;
            for (int l = 0; l < c->rule->nletter; l++)
                if (at >> l & 1)
                    legal = legal && c->splittable[l] && !c->contracted[l] && !c->by_parts[l];
            if (legal) add_option(o, (option){OPT_COPY, -1, i, 0});
        }
    }
}

uint64_t mw__letters_of_option(const chooser *c, int axis, const option *o)
{
    if (o->kind == OPT_LETTER) return 1ull << o->letter;
    if (o->kind == OPT_COPY) return mw__letters_with(c, o->operand, axis);
    return 0;
}

/* Does the option leave every operand as it is, on this axis? */
bool mw__option_natural(const chooser *c, int axis, const option *o)
{
    uint64_t wanted = mw__letters_of_option(c, axis, o);
    char role[MOST_OPERANDS];
    bool partial = o->kind == OPT_PASS || (o->kind == OPT_LETTER && c->contracted[o->letter]);
    if (partial && !mw__carriers(c, axis, o->kind == OPT_LETTER ? o->letter : -1, o->reduce, role))
        return false;
    for (int i = 0; i < c->nin; i++) {
        const operand_state *s = &c->operand[i];
        if (c->rule->in[i].unread && !(wanted & s->letters)) continue;
        bool is_cut = mw__layout_axes(s->now) >> axis & 1;
        const mw_partial *p = mw__partial_on(s->now, axis);
        if (mw__letters_with(c, i, axis) != (wanted & s->letters)) return false;
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

static void append_axes(const chooser *c, mw_dim *dim, uint32_t axes)
{
    for (int i = 0; i < c->mesh->naxis; i++) {
        int a = c->minor_first ? c->mesh->naxis - 1 - i : i;
        if (axes >> a & 1) (void)mw__dim_append(c->mesh, dim, a, 1, c->mesh->size[a]);
    }
}

/* How letter l is cut when exactly these axes cut it: as operand `like` has it, or (-1) as those
 * have it that already agree, the largest voice first. */
static mw_dim letter_cut(const chooser *c, int l, uint32_t axes, int like)
{
    mw_dim best = mw__dim_plain(c->rule->letter[l].size);
    if (!axes) return best;
    int64_t best_voice = -1;
    for (int i = 0; i < c->nin; i++) {
        if (!(c->operand[i].letters >> l & 1) || (like >= 0 && i != like)) continue;
        const mw_dim *now = &c->operand[i].by_letter[l];
        mw_dim dim = *now; /* canonical: what loses nothing stays so */
        if (mw__dim_axes(now) & ~axes) dim = mw__dim_without(c->mesh, now, ~axes);
        append_axes(c, &dim, axes & ~mw__dim_axes(&dim));
        int64_t voice = 0;
        for (int j = 0; j < c->nin; j++)
            if ((c->operand[j].letters >> l & 1) &&
                mw__dim_equal(&c->operand[j].by_letter[l], &dim))
                voice += 1 + bytes_of(c->operand[j].now);
        if (voice > best_voice) best = dim, best_voice = voice;
    }
    if (best_voice < 0) append_axes(c, &best, axes); /* a letter of results alone */
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
        if (role[i] == 'p') ret[0] = *mw__partial_on(c->operand[i].now, axis);
    return 1;
}

/* Makes operands and results of the option partial. False where an operand that carries terms has
 * them over another part of the axis. */
static bool add_partials(const chooser *c, int axis, const option *o, mw_layout *in, mw_layout *out)
{
    char role[MOST_OPERANDS];
    mw_partial part[MW_DIM_CUTS + 1];
    if (!mw__carriers(c, axis, o->kind == OPT_LETTER ? o->letter : -1, o->reduce, role))
        return false;
    int n = parts_of_option(c, axis, o, role, part);
    for (int i = 0; i < c->nin; i++) {
        if (role[i] != 'p' && role[i] != 'm') continue;
        const mw_partial *p = mw__partial_on(c->operand[i].now, axis);
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
    int like[MW_RULE_LETTERS];
    memset(like, -1, sizeof like);
    for (int a = 0; a < c->mesh->naxis; a++) {
        if (!pick[a]) continue;
        uint64_t at = mw__letters_of_option(c, a, pick[a]);
        for (int l = 0; at; l++, at >>= 1) {
            if (!(at & 1)) continue;
            axes[l] |= 1u << a;
            if (pick[a]->kind == OPT_COPY) like[l] = pick[a]->operand;
        }
    }
    for (int l = 0; l < c->rule->nletter; l++)
        c->cut[l] = letter_cut(c, l, axes[l], like[l]);
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
        if (!one_kind(&out[k]) || !mw__layout_apart(&out[k])) return false;
    for (int i = 0; i < c->nin; i++)
        if (!one_kind(&in[i]) || !mw__layout_apart(&in[i])) return false;
    /* What is written in place lies as it lay, and says so: no maximum may become a minimum there.
     */
    return !c->in_place || mw_layout_equal(&in[0], &out[0]);
}
