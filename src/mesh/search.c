/* The least text of a dim whose cuts do not all divide, found by search.
 *
 * Local cuts, factors and joint cuts are fixed, fewest first; then factors are chosen major to
 * minor (a divisor of what is left) and filled with cuts one by one. What a cut means depends on
 * nothing that comes after it, so each is compared at once with the coordinate function that is
 * wanted, and nearly every wrong turn ends at its first step. All texts of the first level that has
 * any are compared; the least wins. Work is counted in steps of the comparisons, and bounded. */
#include "mesh/search.h"

enum {
    MOST_STEPS = 1 << 18,    /* of all comparisons of one search: some 40 ms */
    MOST_DIVISORS = 1600,    /* more than any number up to 10^9 has */
    LARGEST_PRIME = 1 << 20, /* trial division stops here: what is left counts as one prime */
    MOST_LENGTHS = 24,
    MOST_PARTS = MW_DIM_CUTS + 2,
    MOST_RISES = 48,
    GLANCE = 48 /* steps of a comparison that need not be complete */
};

typedef struct key {
    int local, factors, joint, cuts, names;
} key;

/* A part of an axis that the text has to place. Its coordinate repeats after `period` positions:
 * the factor that it stands in, with all that comes after, is no shorter. 1 where not known. */
typedef struct loose {
    mw_cut cut;
    int64_t period;
} loose;

/* Where a part's coordinate first rises above 0; INT64_MAX: nowhere. */
typedef struct rise {
    mw_cut cut;
    int64_t at;
} rise;

typedef struct search {
    const mw__wanted *wanted;
    mw__line text;          /* the candidate so far */
    loose part[MOST_PARTS]; /* not placed yet */
    int npart;
    key used, level; /* so far; what this level of the search allows */
    bool found;
    key best_key;
    mw_dim best;
    int64_t steps;
    int nrise;
    rise rise[MOST_RISES]; /* those asked for so far */
    int ndivisor;
    int64_t divisor[MOST_DIVISORS];
} search;

/* ---- divisors ------------------------------------------------------------------------------ */

static void add_prime(search *s, int64_t prime, int power)
{
    int n = s->ndivisor;
    int64_t times = 1;
    for (int k = 0; k < power; k++) {
        times *= prime;
        for (int i = 0; i < n && s->ndivisor < MOST_DIVISORS; i++)
            s->divisor[s->ndivisor++] = s->divisor[i] * times;
    }
}

/* All divisors, rising. */
static void find_divisors(search *s)
{
    int64_t left = s->wanted->size;
    s->divisor[0] = 1;
    s->ndivisor = 1;
    for (int64_t p = 2; p <= LARGEST_PRIME && p * p <= left; p += 1 + (p & 1)) {
        int power = 0;
        for (; left % p == 0; left /= p)
            power++;
        if (power) add_prime(s, p, power);
    }
    if (left > 1) add_prime(s, left, 1);
    for (int i = 1; i < s->ndivisor; i++) { /* few and nearly in order */
        int64_t moved = s->divisor[i];
        int at = i;
        for (; at > 0 && s->divisor[at - 1] > moved; at--)
            s->divisor[at] = s->divisor[at - 1];
        s->divisor[at] = moved;
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* The order of cuts: axes before local cuts, mesh order, major part, size; joint ones last. */
static int compare_cuts(const mw_cut *a, const mw_cut *b)
{
    int order = compare(a->axis < 0, b->axis < 0);
    if (!order) order = compare(a->axis, b->axis);
    if (!order) order = compare(a->major, b->major);
    if (!order) order = compare(a->size, b->size);
    return order ? order : compare(a->joint, b->joint);
}

/* Whether cut c of the last factor of the candidate places its part where it is wanted, up to `end`
 * or as far as `most` steps go. */
static bool agrees_until(search *s, int c, const mw__asked *asked, int64_t end, int most)
{
    int f = s->text.nfactor - 1;
    int64_t stride = s->wanted->stride;
    for (int64_t at = 0; at < end && most > 0; most--, s->steps++) {
        int64_t next, asked_next;
        if (s->steps >= MOST_STEPS) return false;
        if (mw__line_coord(&s->text, f, c, at, &next) !=
            mw__asked_coord(asked, at * stride, &asked_next))
            return false;
        at = MW_MIN(next, mw__chunk(asked_next, stride));
    }
    return true;
}

/* Whether cut c of the candidate is a cut of the wanted line, word for word: no need to compare. */
static bool is_copy(const search *s, int c, const mw__asked *asked)
{
    const mw__wanted *w = s->wanted;
    const mw__line_factor *own = &s->text.factor[s->text.nfactor - 1];
    if (asked->count != 1) return false;
    const mw__line_factor *other = &w->line->factor[asked->use[0].f];
    int n = s->text.ncut - own->first; /* up to the end of the group, which c is in */
    if (own->size != other->size || own->stride * w->stride != other->stride || other->ncut < n ||
        asked->use[0].c - other->first != c - own->first)
        return false;
    if (other->ncut > n && w->line->cut[other->first + n].joint) return false;
    for (int i = 0; i < n; i++)
        if (compare_cuts(&s->text.cut[own->first + i], &w->line->cut[other->first + i]) != 0)
            return false;
    return true;
}

/* The same everywhere: two functions with periods p and q that agree on the first p + q positions
 * are equal. */
static bool agrees(search *s, int c)
{
    const mw__wanted *w = s->wanted;
    const mw__line_factor *factor = &s->text.factor[s->text.nfactor - 1];
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, &s->text.cut[c]);
    if (is_copy(s, c, &asked)) return true;
    int64_t end = w->size;
    if (asked.period % w->stride == 0)
        end = MW_MIN(end, factor->size * factor->stride + asked.period / w->stride);
    return agrees_until(s, c, &asked, end, MOST_STEPS);
}

/* The candidate's cuts against the first ones of the best text. */
static int compare_text(const search *s)
{
    for (int c = 0; c < MW_MIN(s->text.ncut, s->best.ncut); c++) {
        int order = compare_cuts(&s->text.cut[c], &s->best.cut[c]);
        if (order) return order;
    }
    return 0;
}

static int compare_sizes(const search *s)
{
    for (int f = 0; f < MW_MIN(s->text.nfactor, s->best.nfactor); f++) {
        int order = compare(s->text.factor[f].size, s->best.factor[f]);
        if (order) return order;
    }
    return 0;
}

/* Whether nothing that begins with the candidate can be less than the best text. */
static bool hopeless(const search *s)
{
    if (s->steps >= MOST_STEPS) return true;
    if (!s->found) return false;
    bool may_join = s->used.joint < s->level.joint;
    int cuts = s->used.cuts + (may_join ? s->npart > 0 : s->npart);
    int names = s->used.names + s->npart;
    if (cuts != s->best_key.cuts) return cuts > s->best_key.cuts;
    if (names != s->best_key.names) return names > s->best_key.names;
    int order = compare_sizes(s);
    if (order) return order > 0;
    return s->text.nfactor == s->level.factors && compare_text(s) > 0;
}

/* The candidate is complete: keep it if it is the least so far. */
static void keep(search *s)
{
    if (s->npart || s->used.joint != s->level.joint || s->used.local != s->level.local) return;
    int order = s->found ? compare(s->used.cuts, s->best_key.cuts) : -1;
    if (!order) order = compare(s->used.names, s->best_key.names);
    if (!order) order = compare_sizes(s);
    if (!order) order = compare_text(s);
    if (!order) /* the same cuts in other factors: early ones first */
        for (int f = 0; f < s->text.nfactor && !order; f++)
            order = compare(s->best.cuts[f], s->text.factor[f].ncut);
    if (order >= 0) return;
    memset(&s->best, 0, sizeof s->best);
    s->best.nfactor = (uint8_t)s->text.nfactor;
    s->best.ncut = (uint8_t)s->text.ncut;
    for (int f = 0; f < s->text.nfactor; f++) {
        s->best.factor[f] = s->text.factor[f].size;
        s->best.cuts[f] = (uint8_t)s->text.factor[f].ncut;
    }
    memcpy(s->best.cut, s->text.cut, (size_t)s->text.ncut * sizeof *s->text.cut);
    s->best_key = s->used;
    s->found = true;
}

/* ---- building ------------------------------------------------------------------------------ */

static void add_cut(search *s, mw_cut cut)
{
    s->text.cut[s->text.ncut++] = cut;
    s->text.factor[s->text.nfactor - 1].ncut++;
}

static void drop_cut(search *s)
{
    s->text.ncut--;
    s->text.factor[s->text.nfactor - 1].ncut--;
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

/* The positions after which a part's coordinate repeats, by the factors that it comes from. */
static int64_t stated_period(const mw__wanted *w, const mw__asked *asked)
{
    if (asked->period % w->stride != 0) return w->size;
    return MW_MIN(w->size, asked->period / w->stride);
}

static int64_t rise_of(search *s, const mw_cut *part)
{
    for (int i = 0; i < s->nrise; i++)
        if (compare_cuts(&s->rise[i].cut, part) == 0) return s->rise[i].at;
    const mw__wanted *w = s->wanted;
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, part);
    int64_t at = mw__asked_rise(&asked), next, end = stated_period(w, &asked);
    if (at >= 0)
        end = INT64_MAX, at = mw__chunk(at, w->stride);
    else
        at = 0;
    for (; at < end && end < INT64_MAX && s->steps < MOST_STEPS; s->steps++) {
        if (mw__asked_coord(&asked, at * w->stride, &next) != 0) break;
        at = mw__chunk(next, w->stride);
    }
    if (at >= end) at = INT64_MAX;
    if (s->nrise < MOST_RISES) s->rise[s->nrise++] = (rise){*part, at};
    return at;
}

/* Length of the first list that the cut number `first` of the last factor finds. */
static int64_t first_list(const search *s, int first)
{
    const mw__line_factor *factor = &s->text.factor[s->text.nfactor - 1];
    int64_t length = factor->size;
    for (int k = factor->first; k < first;) {
        int64_t parts;
        k += mw__cut_group(&s->text.cut[k], first - k, &parts);
        length = mw__chunk(length, parts);
    }
    return length;
}

/* Whether the group of cuts from number `first` on places its parts where they are wanted. Most
 * don't rise where they should in the first list, which costs little to see. */
static bool group_agrees(search *s, int first)
{
    int64_t length = first_list(s, first), parts;
    int64_t stride = s->text.factor[s->text.nfactor - 1].stride, end = length * stride;
    (void)mw__cut_group(&s->text.cut[first], s->text.ncut - first, &parts);
    int64_t minor = mw__chunk(length, parts);
    for (int c = s->text.ncut - 1; c >= first; c--) {
        mw_cut alone = s->text.cut[c];
        alone.joint = 0;
        int64_t at = rise_of(s, &alone), expected = minor < length ? minor * stride : end;
        if (MW_MIN(at, end) != expected) return false;
        minor = minor < length ? minor * alone.size : length;
    }
    for (int c = first; c < s->text.ncut; c++)
        if (!agrees(s, c)) return false;
    return true;
}

/* Goes on behind a cut (or a complete joint group of cuts from number `first` on). */
static void go_on(search *s, int first)
{
    s->used.cuts++;
    s->used.joint += s->text.ncut - first > 1;
    fill_factor(s);
    s->used.joint -= s->text.ncut - first > 1;
    s->used.cuts--;
}

/* Whether the cuts from number `first` on can be the first ones of a longer joint group. How long
 * its chunks are is not known yet, but in the first list the last axis must count chunks of equal
 * length, and the place where its coordinate first rises tells which length. */
static bool may_join(search *s, int first)
{
    int64_t stride = s->text.factor[s->text.nfactor - 1].stride;
    int64_t length = first_list(s, first), end = length * stride, parts = 1;
    int c = s->text.ncut - 1;
    mw_cut alone = s->text.cut[c];
    alone.joint = 0;
    for (int k = first; k <= c; k++)
        parts *= s->text.cut[k].size;
    int64_t at = MW_MIN(rise_of(s, &alone), end), chunk = at / stride;
    if (at % stride != 0 || chunk == 0 || mw__chunk(length, chunk) > parts) return false;
    if (c > first) { /* the chunks of the axis before are made of these */
        mw_cut major = s->text.cut[c - 1];
        major.joint = 0;
        int64_t before = rise_of(s, &major);
        if (major.axis == alone.axis && major.major * major.size == alone.major) return false;
        if (before < end ? before != at * alone.size : at < end && at * alone.size < end)
            return false;
    }
    mw__asked asked;
    mw__asked_set(&asked, s->wanted->mesh, s->wanted->line, &alone);
    s->text.open_chunk = chunk;
    bool may = agrees_until(s, c, &asked, end, GLANCE);
    s->text.open_chunk = 0;
    return may;
}

static void add_axis(search *s, int first);

/* Tries the piece (times `before`, `size`) of part i as the next axis. */
static void try_piece(search *s, int first, int i, int32_t before, int32_t size)
{
    mw_cut piece = s->part[i].cut;
    piece.major *= before;
    piece.size = size;
    piece.joint = first < s->text.ncut;
    s->steps++;
    add_cut(s, piece);
    bool joins = s->used.joint < s->level.joint && may_join(s, first);
    bool stands = group_agrees(s, first);
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
    if (s->text.ncut == MW_DIM_CUTS) return;
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
        s->steps += whole / 8;
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
    const mw__line_factor *factor = &s->text.factor[s->text.nfactor - 1];
    int n = 1;
    length[0] = factor->size;
    for (int c = factor->first; c < factor->first + factor->ncut;) {
        int64_t parts;
        c += mw__cut_group(&s->text.cut[c], factor->first + factor->ncut - c, &parts);
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
    for (int64_t k = 2; k <= INT32_MAX && s->steps < MOST_STEPS;) {
        int64_t same = INT64_MAX; /* up to here the chunks are the same */
        for (int i = 0; i < n; i++) {
            int64_t chunk = mw__chunk(length[i], k);
            if (chunk > 1) same = MW_MIN(same, (length[i] - 1) / (chunk - 1));
        }
        if (same == INT64_MAX) return; /* chunks of 1: what follows would cut nothing */
        add_cut(s, mw__cut_make(MW_CUT_LOCAL, false, 1, (int32_t)k));
        s->used.cuts++;
        s->used.local++;
        s->steps++;
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
    bool last = s->text.nfactor == s->level.factors - 1;
    if (!has_room(s, left) || (s->npart == 0 && !last)) return;
    for (int i = 0; i < s->ndivisor && s->steps < MOST_STEPS; i++) {
        int64_t size = last ? left : s->divisor[i];
        if (size > left) break;
        if (left % size != 0) continue;
        s->text.factor[s->text.nfactor++] = (mw__line_factor){size, left / size, s->text.ncut, 0};
        s->steps++;
        if (!hopeless(s)) fill_factor(s);
        s->text.nfactor--;
        if (last) break;
    }
}

/* Chooses the cuts of the last factor from here on, none included, and what comes after. */
static void fill_factor(search *s)
{
    const mw__line_factor *factor = &s->text.factor[s->text.nfactor - 1];
    bool after_local = factor->ncut > 0 && s->text.cut[s->text.ncut - 1].axis < 0;
    bool after_uncut = s->text.nfactor > 1 && factor[-1].ncut == 0;
    bool may_end = factor->ncut ? !after_local : factor->size > 1 && !after_uncut;
    if (may_end && s->text.nfactor == s->level.factors)
        keep(s);
    else if (may_end)
        next_factor(s, factor->stride);
    if (hopeless(s)) return;
    if (s->npart) add_axis(s, s->text.ncut);
    if (s->npart && s->used.local < s->level.local && s->text.ncut < MW_DIM_CUTS) add_local(s);
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

/* The least period of the part's coordinate. */
static int64_t period_of(search *s, const mw_cut *part)
{
    const mw__wanted *w = s->wanted;
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, part);
    int64_t known = stated_period(w, &asked), rises = rise_of(s, part);
    if (rises >= known) return 1; /* never */
    for (int i = 0; i < s->ndivisor && s->divisor[i] < known; i++) {
        if (s->divisor[i] <= rises || known % s->divisor[i] != 0) continue;
        int64_t period = s->divisor[i], end = MW_MIN(w->size, known + period), at = period;
        for (int64_t next, folded_next; at < end && s->steps < MOST_STEPS; s->steps++) {
            int64_t folded = at % period;
            if (mw__asked_coord(&asked, at * w->stride, &next) !=
                mw__asked_coord(&asked, folded * w->stride, &folded_next))
                break;
            folded_next = MW_MIN(mw__chunk(folded_next, w->stride), period);
            at = MW_MIN(mw__chunk(next, w->stride), at + folded_next - folded);
        }
        if (at >= end) return period;
    }
    return known;
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
    s->text.nfactor = s->text.ncut = 0;
    s->text.open_chunk = 0;
    s->npart = s->wanted->npart;
    memcpy(s->part, part, sizeof s->part);
    if (known) {
        s->best = *known;
        s->best_key = key_of(known);
        s->found = true;
    }
    next_factor(s, s->wanted->size);
    return s->found;
}

bool mw__dim_least(const mw__wanted *wanted, const mw_dim *known, mw_dim *ret)
{
    search s;
    loose part[MOST_PARTS] = {0};
    int names = 0;
    s.wanted = wanted;
    s.steps = 0;
    s.nrise = 0;
    s.found = false;
    find_divisors(&s);
    for (int i = 0; i < wanted->npart; i++) {
        part[i] = (loose){wanted->part[i], period_of(&s, &wanted->part[i])};
        names += count_primes(wanted->part[i].size);
    }
    key most = {wanted->most_local, MW_MIN(2 * names + 1, MW_DIM_FACTORS), names / 2, 0, 0};
    key own = known ? key_of(known) : most;
    for (key at = {0}; at.local <= own.local && s.steps < MOST_STEPS;) {
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
