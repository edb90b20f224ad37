/* The least text of a dim whose cuts do not all divide, found by search.
 *
 * Local cuts, factors and joint cuts are fixed, fewest first; then factors are chosen major to
 * minor (a divisor of what is left) and filled with cuts one by one. What a cut means depends on
 * nothing that comes after it, so each is compared at once with the coordinate function that is
 * wanted, and nearly every wrong turn ends at its first step. All texts of the first level that has
 * any are compared; the least wins. Work is counted in steps of the comparisons, and bounded. */
#include "mesh/search.h"

#include "mesh/candidate.h"

enum { MOST_LENGTHS = 24, MOST_PARTS = MW_DIM_CUTS + 2 };

typedef struct key {
    int local, factors, joint, cuts, names;
} key;

/* A part of an axis that the text has to place. Its coordinate repeats after `period` positions:
 * the factor that it stands in, with all that comes after, is no shorter. 1 where not known. */
typedef struct loose {
    mw_cut cut;
    int64_t period;
} loose;

typedef struct search {
    mw__candidate c;
    loose part[MOST_PARTS]; /* not placed yet */
    int npart;
    key used, level; /* so far; what this level of the search allows */
    bool found;
    key best_key;
    mw_dim best;
} search;

/* ---- comparing ----------------------------------------------------------------------------- */

/* The candidate's cuts against the first ones of the best text. */
static int compare_text(const search *s)
{
    for (int c = 0; c < MW_MIN(s->c.text.ncut, s->best.ncut); c++) {
        int order = mw__cut_compare(&s->c.text.cut[c], &s->best.cut[c]);
        if (order) return order;
    }
    return 0;
}

static int compare_sizes(const search *s)
{
    for (int f = 0; f < MW_MIN(s->c.text.nfactor, s->best.nfactor); f++) {
        int order = mw__compare(s->c.text.factor[f].size, s->best.factor[f]);
        if (order) return order;
    }
    return 0;
}

/* Whether nothing that begins with the candidate can be less than the best text. */
static bool hopeless(const search *s)
{
    if (s->c.steps >= MW__SEARCH_STEPS) return true;
    if (!s->found) return false;
    bool may_join = s->used.joint < s->level.joint;
    int cuts = s->used.cuts + (may_join ? s->npart > 0 : s->npart);
    int names = s->used.names + s->npart;
    if (cuts != s->best_key.cuts) return cuts > s->best_key.cuts;
    if (names != s->best_key.names) return names > s->best_key.names;
    int order = compare_sizes(s);
    if (order) return order > 0;
    return s->c.text.nfactor == s->level.factors && compare_text(s) > 0;
}

/* The candidate is complete: keep it if it is the least so far. */
static void keep(search *s)
{
    if (s->npart || s->used.joint != s->level.joint || s->used.local != s->level.local) return;
    int order = s->found ? mw__compare(s->used.cuts, s->best_key.cuts) : -1;
    if (!order) order = mw__compare(s->used.names, s->best_key.names);
    if (!order) order = compare_sizes(s);
    if (!order) order = compare_text(s);
    if (!order) /* the same cuts in other factors: early ones first */
        for (int f = 0; f < s->c.text.nfactor && !order; f++)
            order = mw__compare(s->best.cuts[f], s->c.text.factor[f].ncut);
    if (order >= 0) return;
    memset(&s->best, 0, sizeof s->best);
    s->best.nfactor = (uint8_t)s->c.text.nfactor;
    s->best.ncut = (uint8_t)s->c.text.ncut;
    for (int f = 0; f < s->c.text.nfactor; f++) {
        s->best.factor[f] = s->c.text.factor[f].size;
        s->best.cuts[f] = (uint8_t)s->c.text.factor[f].ncut;
    }
    memcpy(s->best.cut, s->c.text.cut, (size_t)s->c.text.ncut * sizeof *s->c.text.cut);
    s->best_key = s->used;
    s->found = true;
}

/* ---- building ------------------------------------------------------------------------------ */

static void add_cut(search *s, mw_cut cut)
{
    s->c.text.cut[s->c.text.ncut++] = cut;
    s->c.text.factor[s->c.text.nfactor - 1].ncut++;
}

static void drop_cut(search *s)
{
    s->c.text.ncut--;
    s->c.text.factor[s->c.text.nfactor - 1].ncut--;
}

/* Takes the piece (times `before`, `size`) out of part i; what is left of it stays to be placed. */
static void take_part(search *s, int i, int32_t before, int32_t size)
{
    mw_cut whole = s->part[i].cut, rest = whole;
    s->part[i] = s->part[--s->npart];
    rest.size = before;
    if (before > 1) s->part[s->npart++] = (loose){rest, 1};
    rest.major = whole.major * before * size;
    rest.size = whole.size / (before * size);
    if (rest.size > 1) s->part[s->npart++] = (loose){rest, 1};
}

static void fill_factor(search *s);

/* Goes on behind a cut (or a complete joint group of cuts from number `first` on). */
static void go_on(search *s, int first)
{
    s->used.cuts++;
    s->used.joint += s->c.text.ncut - first > 1;
    fill_factor(s);
    s->used.joint -= s->c.text.ncut - first > 1;
    s->used.cuts--;
}

static void add_axis(search *s, int first);

/* Tries the piece (times `before`, `size`) of part i as the next axis. */
static void try_piece(search *s, int first, int i, int32_t before, int32_t size)
{
    mw_cut piece = s->part[i].cut;
    piece.major *= before;
    piece.size = size;
    piece.joint = first < s->c.text.ncut;
    s->c.steps++;
    add_cut(s, piece);
    bool joins = s->used.joint < s->level.joint && mw__candidate_may_join(&s->c, first);
    bool stands = mw__candidate_agrees(&s->c, first);
    if (joins || stands) {
        loose parts[MOST_PARTS];
        int npart = s->npart;
        memcpy(parts, s->part, sizeof parts);
        take_part(s, i, before, size);
        s->used.names++;
        if (joins && !hopeless(s)) add_axis(s, first);
        if (stands && !hopeless(s)) go_on(s, first);
        s->used.names--;
        s->npart = npart;
        memcpy(s->part, parts, sizeof parts);
    }
    drop_cut(s);
}

/* One more axis, alone or joint with those from cut number `first` on: every part, then every piece
 * of one (which costs a name more, at least). */
static void add_axis(search *s, int first)
{
    if (s->c.text.ncut == MW_DIM_CUTS) return;
    int npart = s->npart;
    for (int i = 0; i < npart; i++)
        try_piece(s, first, i, 1, s->part[i].cut.size);
    if (npart == MW_DIM_CUTS) return;
    for (int i = 0; i < npart; i++) {
        s->used.names++;
        bool stop = hopeless(s);
        s->used.names--;
        if (stop) return;
        int32_t whole = s->part[i].cut.size;
        s->c.steps += whole / 8;
        for (int32_t size = whole / 2; size > 1; size--) {
            if (whole % size != 0) continue;
            for (int32_t before = 1; before <= whole / size; before++)
                if (whole / size % before == 0) try_piece(s, first, i, before, size);
        }
    }
}

/* The lengths that the lists of the last factor have, over all ranks; 0 left out. */
static int list_lengths(const search *s, int64_t *length)
{
    const mw__line_factor *factor = &s->c.text.factor[s->c.text.nfactor - 1];
    int n = 1;
    length[0] = factor->size;
    for (int c = factor->first; c < factor->first + factor->ncut;) {
        int64_t parts;
        c += mw__cut_group(&s->c.text.cut[c], factor->first + factor->ncut - c, &parts);
        for (int i = 0, before = n; i < before; i++) {
            int64_t chunk = mw__chunk(length[i], parts), rest = length[i] % chunk;
            length[i] = chunk;
            bool known = rest == 0 || n == MOST_LENGTHS;
            for (int j = 0; j < n && !known; j++)
                known = length[j] == rest;
            if (!known) length[n++] = rest;
        }
    }
    return n;
}

/* A local cut: of the numbers of chunks that make the same chunks, the smallest. */
static void add_local(search *s)
{
    int64_t length[MOST_LENGTHS];
    int n = list_lengths(s, length);
    for (int64_t k = 2; k <= INT32_MAX && s->c.steps < MW__SEARCH_STEPS;) {
        int64_t same = INT64_MAX; /* up to here the chunks are the same */
        for (int i = 0; i < n; i++) {
            int64_t chunk = mw__chunk(length[i], k);
            if (chunk > 1) same = MW_MIN(same, (length[i] - 1) / (chunk - 1));
        }
        if (same == INT64_MAX) return; /* chunks of 1: what follows would cut nothing */
        add_cut(s, mw__cut_make(MW_CUT_LOCAL, false, 1, (int32_t)k));
        s->used.cuts++;
        s->used.local++;
        s->c.steps++;
        if (!hopeless(s)) fill_factor(s);
        s->used.local--;
        s->used.cuts--;
        drop_cut(s);
        k = same + 1;
    }
}

/* Whether factors of `left` positions in all can place what is not placed yet. */
static bool has_room(const search *s, int64_t left)
{
    for (int i = 0; i < s->npart; i++)
        if (left % s->part[i].period != 0) return false;
    return true;
}

/* Chooses factors from the next one on; `left` is the product of their sizes. */
static void next_factor(search *s, int64_t left)
{
    bool last = s->c.text.nfactor == s->level.factors - 1;
    if (!has_room(s, left) || (s->npart == 0 && !last)) return;
    for (int i = 0; i < s->c.ndivisor && s->c.steps < MW__SEARCH_STEPS; i++) {
        int64_t size = last ? left : s->c.divisor[i];
        if (size > left) break;
        if (left % size != 0) continue;
        s->c.text.factor[s->c.text.nfactor++] =
            (mw__line_factor){size, left / size, s->c.text.ncut, 0};
        s->c.steps++;
        if (!hopeless(s)) fill_factor(s);
        s->c.text.nfactor--;
        if (last) break;
    }
}

/* Chooses the cuts of the last factor from here on, none included, and what comes after. */
static void fill_factor(search *s)
{
    const mw__line_factor *factor = &s->c.text.factor[s->c.text.nfactor - 1];
    bool after_local = factor->ncut > 0 && s->c.text.cut[s->c.text.ncut - 1].axis < 0;
    bool after_uncut = s->c.text.nfactor > 1 && factor[-1].ncut == 0;
    bool may_end = factor->ncut ? !after_local : factor->size > 1 && !after_uncut;
    if (may_end && s->c.text.nfactor == s->level.factors)
        keep(s);
    else if (may_end)
        next_factor(s, factor->stride);
    if (hopeless(s)) return;
    if (s->npart) add_axis(s, s->c.text.ncut);
    if (s->npart && s->used.local < s->level.local && s->c.text.ncut < MW_DIM_CUTS) add_local(s);
}

static key key_of(const mw_dim *dim)
{
    key k = {.factors = dim->nfactor};
    for (int c = 0; c < dim->ncut;) {
        int64_t ignored;
        int group = mw__cut_group(&dim->cut[c], dim->ncut - c, &ignored);
        k.local += dim->cut[c].axis < 0;
        k.names += dim->cut[c].axis < 0 ? 0 : group;
        k.joint += group > 1;
        k.cuts++;
        c += group;
    }
    return k;
}

/* Prime factors, counted: no text has more names of axes than the parts have. */
static int count_primes(int32_t n)
{
    int count = 0;
    for (int32_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p)
            count++;
    return count + (n > 1);
}

/* All texts of one level: those with as many local cuts, factors and joint cuts. `known` is one. */
static bool search_level(search *s, const loose *part, key level, const mw_dim *known)
{
    s->level = level;
    s->used = (key){0};
    s->c.text.nfactor = s->c.text.ncut = 0;
    s->npart = s->c.wanted->npart;
    memcpy(s->part, part, sizeof s->part);
    if (known) {
        s->best = *known;
        s->best_key = key_of(known);
        s->found = true;
    }
    next_factor(s, s->c.wanted->size);
    return s->found;
}

bool mw__dim_least(const mw__wanted *wanted, const mw_dim *known, mw_dim *ret)
{
    search s;
    loose part[MOST_PARTS] = {0};
    int names = 0;
    s.found = false;
    mw__candidate_init(&s.c, wanted);
    for (int i = 0; i < wanted->npart; i++) {
        part[i] = (loose){wanted->part[i], mw__candidate_period(&s.c, &wanted->part[i])};
        names += count_primes(wanted->part[i].size);
    }
    key most = {wanted->most_local, MW_MIN(2 * names + 1, MW_DIM_FACTORS), names / 2, 0, 0};
    key own = known ? key_of(known) : most;
    for (key at = {0}; at.local <= own.local && s.c.steps < MW__SEARCH_STEPS;) {
        bool last = known && at.local == own.local && at.factors + 1 == own.factors;
        bool level_of_known = last && at.joint == own.joint;
        key level = at;
        level.factors++;
        if (search_level(&s, part, level, level_of_known ? known : NULL)) {
            *ret = s.best;
            return true;
        }
        /* the next level: joint cuts count fastest, then factors, then local cuts */
        if (++at.joint <= most.joint || last) continue;
        at.joint = 0;
        if (++at.factors < most.factors) continue;
        at.factors = 0;
        at.local++;
    }
    if (known) *ret = *known;
    return known != NULL;
}
