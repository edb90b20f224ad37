/* A text that is being built, compared cut by cut with the owners that are wanted.
 *
 * What a cut means depends on nothing that comes after it, so it agrees or not as soon as it stands
 * there. The cheap questions come first: nearly every wrong cut already rises (gives a coordinate
 * other than 0) in the wrong place of the first list. Only cuts that pass are walked through, run
 * by run, over no more positions than two periodic functions need to be told apart. */
#include "mesh/candidate.h"

enum {
    LARGEST_PRIME = 1 << 20, /* trial division stops here: what is left counts as one prime */
    GLANCE = 48              /* steps of a comparison that need not be complete */
};

/* ---- divisors ------------------------------------------------------------------------------ */

static void add_prime(mw__candidate *s, int64_t prime, int power)
{
    int n = s->ndivisor;
    int64_t times = 1;
    for (int k = 0; k < power; k++) {
        times *= prime;
        for (int i = 0; i < n && s->ndivisor < MW__DIVISORS; i++)
            s->divisor[s->ndivisor++] = s->divisor[i] * times;
    }
}

/* All divisors, rising. */
static void find_divisors(mw__candidate *s)
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

int mw__cut_compare(const mw_cut *a, const mw_cut *b)
{
    int order = mw__compare(a->axis < 0, b->axis < 0);
    if (!order) order = mw__compare(a->axis, b->axis);
    if (!order) order = mw__compare(a->major, b->major);
    if (!order) order = mw__compare(a->size, b->size);
    return order ? order : mw__compare(a->joint, b->joint);
}

/* Whether cut c of the last factor of the candidate places its part where it is wanted, up to `end`
 * or as far as `most` steps go. */
static bool agrees_until(mw__candidate *s, int c, const mw__asked *asked, int64_t end, int most)
{
    int f = s->text.nfactor - 1;
    int64_t stride = s->wanted->stride;
    for (int64_t at = 0; at < end && most > 0; most--, s->steps++) {
        int64_t next, asked_next;
        if (s->steps >= MW__SEARCH_STEPS) return false;
        if (mw__line_coord(&s->text, f, c, at, &next) !=
            mw__asked_coord(asked, at * stride, &asked_next))
            return false;
        at = MW_MIN(next, mw__chunk(asked_next, stride));
    }
    return true;
}

/* Whether cut c of the candidate is a cut of the wanted line, word for word: no need to compare. */
static bool is_copy(const mw__candidate *s, int c, const mw__asked *asked)
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
        if (mw__cut_compare(&s->text.cut[own->first + i], &w->line->cut[other->first + i]) != 0)
            return false;
    return true;
}

/* The same everywhere: two functions with periods p and q that agree on the first p + q positions
 * are equal. */
static bool agrees(mw__candidate *s, int c)
{
    const mw__wanted *w = s->wanted;
    const mw__line_factor *factor = &s->text.factor[s->text.nfactor - 1];
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, &s->text.cut[c]);
    if (is_copy(s, c, &asked)) return true;
    int64_t end = w->size;
    if (asked.period % w->stride == 0)
        end = MW_MIN(end, factor->size * factor->stride + asked.period / w->stride);
    return agrees_until(s, c, &asked, end, MW__SEARCH_STEPS);
}

/* The positions after which a part's coordinate repeats, by the factors that it comes from. */
static int64_t stated_period(const mw__wanted *w, const mw__asked *asked)
{
    if (asked->period % w->stride != 0) return w->size;
    return MW_MIN(w->size, asked->period / w->stride);
}

static int64_t find_rise(mw__candidate *s, const mw_cut *part)
{
    for (int i = 0; i < s->nrise; i++)
        if (mw__cut_compare(&s->rise[i].cut, part) == 0) return s->rise[i].at;
    const mw__wanted *w = s->wanted;
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, part);
    int64_t at = mw__asked_rise(&asked), next, end = stated_period(w, &asked);
    if (at >= 0)
        end = INT64_MAX, at = mw__chunk(at, w->stride);
    else
        at = 0;
    for (; at < end && end < INT64_MAX && s->steps < MW__SEARCH_STEPS; s->steps++) {
        if (mw__asked_coord(&asked, at * w->stride, &next) != 0) break;
        at = mw__chunk(next, w->stride);
    }
    if (at >= end) at = INT64_MAX;
    if (s->nrise < MW__RISES) s->rise[s->nrise++] = (mw__rise){*part, at};
    return at;
}

/* Length of the first list that the cut number `first` of the last factor finds. */
static int64_t first_list(const mw__candidate *s, int first)
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
bool mw__candidate_agrees(mw__candidate *s, int first)
{
    int64_t length = first_list(s, first), parts;
    int64_t stride = s->text.factor[s->text.nfactor - 1].stride, end = length * stride;
    (void)mw__cut_group(&s->text.cut[first], s->text.ncut - first, &parts);
    int64_t minor = mw__chunk(length, parts);
    for (int c = s->text.ncut - 1; c >= first; c--) {
        mw_cut alone = s->text.cut[c];
        alone.joint = 0;
        int64_t at = find_rise(s, &alone), expected = minor < length ? minor * stride : end;
        if (MW_MIN(at, end) != expected) return false;
        minor = minor < length ? minor * alone.size : length;
    }
    for (int c = first; c < s->text.ncut; c++)
        if (!agrees(s, c)) return false;
    return true;
}

/* Whether the cuts from number `first` on can be the first ones of a longer joint group. How long
 * its chunks are is not known yet, but in the first list the last axis must count chunks of equal
 * length, and the place where its coordinate first rises tells which length. */
bool mw__candidate_may_join(mw__candidate *s, int first)
{
    int64_t stride = s->text.factor[s->text.nfactor - 1].stride;
    int64_t length = first_list(s, first), end = length * stride, parts = 1;
    int c = s->text.ncut - 1;
    mw_cut alone = s->text.cut[c];
    alone.joint = 0;
    for (int k = first; k <= c; k++)
        parts *= s->text.cut[k].size;
    int64_t at = MW_MIN(find_rise(s, &alone), end), chunk = at / stride;
    if (at % stride != 0 || chunk == 0 || mw__chunk(length, chunk) > parts) return false;
    if (c > first) { /* the chunks of the axis before are made of these */
        mw_cut major = s->text.cut[c - 1];
        major.joint = 0;
        int64_t before = find_rise(s, &major);
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

/* The least period of the part's coordinate. */
int64_t mw__candidate_period(mw__candidate *s, const mw_cut *part)
{
    const mw__wanted *w = s->wanted;
    mw__asked asked;
    mw__asked_set(&asked, w->mesh, w->line, part);
    int64_t known = stated_period(w, &asked), rises = find_rise(s, part);
    if (rises >= known) return 1; /* never */
    for (int i = 0; i < s->ndivisor && s->divisor[i] < known; i++) {
        if (s->divisor[i] <= rises || known % s->divisor[i] != 0) continue;
        int64_t period = s->divisor[i], end = MW_MIN(w->size, known + period), at = period;
        for (int64_t next, folded_next; at < end && s->steps < MW__SEARCH_STEPS; s->steps++) {
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

void mw__candidate_init(mw__candidate *s, const mw__wanted *wanted)
{
    s->wanted = wanted;
    s->text.nfactor = s->text.ncut = 0;
    s->text.open_chunk = 0;
    s->steps = 0;
    s->nrise = 0;
    find_divisors(s);
}
