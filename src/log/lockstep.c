/* Ranks in lockstep: online comparison of their events. See lockstep.h. */
#include "log/lockstep.h"

#include "log/explain.h"

#include <stdio.h>

typedef struct variant variant;
struct variant { /* what some ranks told at one place */
    uint64_t hash, ranks;
    int64_t line;
    const mw_draft *draft;
    variant *more;
};

typedef struct sequence { /* of the events of one kind */
    uint64_t kind;
    const char *source, *event;
    variant *place; /* [LOCKSTEP_WINDOW]: ring of the places before `top` */
    int64_t top;
    int64_t at[LOCKSTEP_RANKS], last[LOCKSTEP_RANKS]; /* events told; the line of the last */
    int64_t lag[LOCKSTEP_RANKS]; /* the most that it was behind and caught up */
    uint64_t apart, lost;        /* ranks that are compared no more */
    int64_t split;               /* the first place with variants, or -1 */
    variant kept;                /* that place, once it has left the ring */
} sequence;

struct lockstep {
    sequence *of[LOCKSTEP_KINDS];
    int n, last_rank;
    int64_t turns; /* how often another rank spoke than before */
    bool over;     /* events or ranks that are not compared */
};

/* The text's words and digits; of "0x7f12" the mark alone. */
uint64_t mw__lockstep_hash(const mw_line *line)
{
    const char *at = line->text ? line->text : "", *address = strstr(at, "0x");
    uint64_t hash = 41;
    while (address) {
        hash = mw__hash(hash, at, (size_t)(address - at));
        at = address + 2;
        at += strspn(at, "0123456789abcdef");
        address = strstr(at, "0x");
    }
    return mw__hash(hash, at, strlen(at));
}

static bool comparable(const mw_entry *entry)
{
    static const char *const events[] = {"dispatch", "redistribute", "collective", "call", "move"};
    if (strcmp(entry->source, "nccl") == 0) return false; /* by number, on the board of hangs */
    for (int i = 0; i < MW_COUNT(events); i++)
        if (strcmp(entry->event, events[i]) == 0) return true;
    return false;
}

/* ---- feeding ------------------------------------------------------------------------------- */

static sequence *sequence_of(mw_explain *e, const mw_draft *d, const mw_line *line)
{
    lockstep *s = e->lockstep;
    size_t word = strspn(line->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    uint64_t kind = mw__hash(d->kind, line->text, word);
    for (int i = s->n; i-- > 0;)
        if (s->of[i]->kind == kind) return s->of[i];
    if (s->n == LOCKSTEP_KINDS) {
        s->over = true;
        return NULL;
    }
    sequence *q = mw__zalloc(sizeof *q);
    variant *ring = mw__zalloc(LOCKSTEP_WINDOW * sizeof *ring);
    if (!q || !ring) {
        mw__free(ring, LOCKSTEP_WINDOW * sizeof *ring);
        mw__free(q, sizeof *q);
        e->failed = true;
        return NULL;
    }
    q->place = ring;
    q->kind = kind;
    q->source = d->entry.source;
    q->event = d->entry.event;
    q->split = -1;
    return s->of[s->n++] = q;
}

static variant *place(sequence *q, int64_t at)
{
    variant *v = &q->place[at % LOCKSTEP_WINDOW];
    if (at == q->top) {
        q->top++;
        if (q->split == at - LOCKSTEP_WINDOW) q->kept = *v;
        *v = (variant){0};
    }
    return v;
}

/* Adds the rank to the variant of this hash. Whoever tells something else than the first of the
 * place is apart from here on. */
static void add(mw_explain *e, sequence *q, variant *v, int rank, const variant *told, int64_t at)
{
    enum { DIFFERENT = 16 };
    variant *own = v;
    if (!v->ranks) *v = *told;
    for (int n = 0; own->hash != told->hash; own = own->more, n++) {
        if (own->more) continue;
        if (n == DIFFERENT) return;
        own->more = mw__arena_zalloc(&e->arena, sizeof *own);
        if (!own->more) {
            e->failed = true;
            return;
        }
        *own->more = *told;
    }
    own->ranks |= UINT64_C(1) << rank;
    if (own == v) return;
    q->apart |= UINT64_C(1) << rank;
    if (q->split < 0 || at < q->split) q->split = at;
}

static lockstep *state_of(mw_explain *e)
{
    if (!e->lockstep) {
        e->lockstep = mw__zalloc(sizeof *e->lockstep);
        if (e->lockstep) e->lockstep->last_rank = -1;
    }
    if (!e->lockstep) e->failed = true;
    return e->lockstep;
}

void mw__lockstep_feed(mw_explain *e, mw_draft *d, const mw_line *line)
{
    if (line->rank < 0 || !comparable(&d->entry)) return;
    lockstep *s = state_of(e);
    if (!s) return;
    if (line->rank >= LOCKSTEP_RANKS) {
        s->over = true;
        return;
    }
    int rank = line->rank;
    sequence *q = sequence_of(e, d, line);
    if (!q) return;
    s->turns += rank != s->last_rank;
    s->last_rank = rank;
    int64_t at = q->at[rank]++;
    q->last[rank] = line->number;
    q->lag[rank] = MW_MAX(q->lag[rank], q->top - at - 1);
    if (q->apart >> rank & 1) return;
    if (at < q->top - LOCKSTEP_WINDOW) {
        q->lost |= UINT64_C(1) << rank;
        return;
    }
    const variant told = {.hash = d->same, .line = line->number, .draft = d};
    add(e, q, place(q, at), rank, &told, at);
}

void mw__lockstep_free(lockstep *s)
{
    if (!s) return;
    for (int i = 0; i < s->n; i++) {
        mw__free(s->of[i]->place, LOCKSTEP_WINDOW * sizeof *s->of[i]->place);
        mw__free(s->of[i], sizeof *s->of[i]);
    }
    mw__free(s, sizeof *s);
}

/* ---- telling ------------------------------------------------------------------------------- */

static const char *ranks_text(mw_explain *e, uint64_t ranks)
{
    char text[400];
    int n = snprintf(text, sizeof text, "rank%s", (ranks & (ranks - 1)) == 0 ? "" : "s");
    for (int r = 0, first = 1; r < LOCKSTEP_RANKS; r++) {
        if (!(ranks >> r & 1)) continue;
        bool last = r == LOCKSTEP_RANKS - 1 || (ranks >> (r + 1)) == 0;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%d",
                      first  ? " "
                      : last ? " and "
                             : ", ",
                      r);
        first = 0;
    }
    const char *kept = mw__explain_text(e, "%s", text);
    return kept ? kept : "";
}

static const char *what(mw_explain *e, const variant *v)
{
    const char *says = v->draft->entry.says;
    size_t length = strlen(says);
    while (length && strchr(". ", says[length - 1]))
        length--;
    const char *text = mw__explain_text(e, "%.*s", (int)MW_MIN(length, 160), says);
    return text ? text : "";
}

static int count(uint64_t ranks)
{
    return __builtin_popcountll(ranks);
}

static mw_draft *begin(mw_explain *e, int64_t first, int64_t last, uint64_t ranks)
{
    mw_line line = {.number = MW_MIN(first, last), .rank = -1, .text = ""};
    mw_draft *d = mw__draft(e, &line, "ranks", "difference");
    mw__draft_last(d, MW_MAX(first, last));
    mw__draft_weight(d, 85);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->ranks = ranks;
    return d;
}

static const char same_order[] =
    "see what leads these ranks another way: a branch, an early return, an exception or a loop "
    "count that hangs on rank or data before this event";

static const variant *split_of(const sequence *q)
{
    return q->split < q->top - LOCKSTEP_WINDOW ? &q->kept : &q->place[q->split % LOCKSTEP_WINDOW];
}

/* Ranks told different things at one place. */
static void tell_split(mw_explain *e, const sequence *q)
{
    const variant *first = split_of(q), *most = first;
    for (const variant *v = first; v; v = v->more)
        if (count(v->ranks) > count(most->ranks)) most = v;
    uint64_t others = 0;
    const variant *other = NULL;
    for (const variant *v = first; v; v = v->more) {
        if (v == most) continue;
        others |= v->ranks;
        if (!other) other = v;
    }
    bool tie = count(other->ranks) == count(most->ranks);
    mw_draft *d = begin(e, most->line, other->line, tie ? others | most->ranks : others);
    mw__draft_says(d, "From their %s %lld on ranks part: %s (line %lld) and %s (line %lld).",
                   q->event, (long long)q->split + 1, ranks_text(e, most->ranks),
                   (long long)most->line, ranks_text(e, other->ranks), (long long)other->line);
    for (const variant *v = first; v; v = v->more) {
        char from[40];
        (void)snprintf(from, sizeof from, "line %lld", (long long)v->line);
        mw__fact(d, ranks_text(e, v->ranks), MW_HOW_STATED, from, "%s", what(e, v));
    }
    mw__fact(d, "alike before", MW_HOW_DERIVED, "their events in order", "%lld",
             (long long)q->split);
    if (q->split == 0) {
        mw__missing(e,
                    "whether %s and %s are meant to do the same: they differ from their first %s "
                    "(ranks of pipeline stages do)",
                    ranks_text(e, most->ranks), ranks_text(e, other->ranks), q->event);
        return;
    }
    mw__problem(
        d, "diverged-control-flow", -1, -1, same_order,
        "After %lld events alike %s %s \"%s\" (line %lld) where %s %s \"%s\" (line %lld): if "
        "they run one program this is a likely cause of a hang.",
        (long long)q->split, ranks_text(e, other->ranks),
        count(other->ranks) == 1 ? "tells" : "tell", what(e, other), (long long)other->line,
        ranks_text(e, most->ranks), count(most->ranks) == 1 ? "tells" : "tell", what(e, most),
        (long long)most->line);
}

/* Whether the rank is further behind than chance explains: the text goes on for some turns after
 * the others' next event, and by more events than twice what any rank was ever behind before (logs
 * one after the other are behind by nature). */
static bool has_stopped(const mw_explain *e, const sequence *q, int rank, int ranks)
{
    enum {
        FEW = 8,
        ALIKE = 3
    }; /* events: ranks of a short text are easily so far apart; so many
        * alike before say that the ranks were all to be shown */
    int64_t tail = e->lines - 3 * ranks - 4, at = q->at[rank], lag = 0;
    bool kept = at >= q->top - LOCKSTEP_WINDOW;
    bool woven = e->lockstep->turns > 2 * ranks;
    if (q->last[rank] >= tail || (kept && q->place[at % LOCKSTEP_WINDOW].line >= tail))
        return false;
    for (int r = 0; r < LOCKSTEP_RANKS; r++)
        lag = MW_MAX(lag, q->lag[r]);
    if (at < ALIKE && q->top - at <= FEW) return false;
    return !woven || q->top - at > MW_MAX(2 * lag + 1, FEW);
}

/* Ranks that told `at` events, though the text goes on long after the others' next one. */
static void tell_stop(mw_explain *e, const sequence *q, int64_t at, int64_t last, uint64_t ranks)
{
    const variant *next = at >= q->top - LOCKSTEP_WINDOW ? &q->place[at % LOCKSTEP_WINDOW] : NULL;
    mw_draft *d = begin(e, last, next ? next->line : last, ranks);
    const char *who = ranks_text(e, ranks);
    bool one = count(ranks) == 1;
    mw__draft_says(d, "R%s %s %lld events (%s), the last in line %lld; others go on to %lld.",
                   who + 1, one ? "tells" : "tell", (long long)at, q->event, (long long)last,
                   (long long)q->top);
    if (next) {
        char from[40];
        (void)snprintf(from, sizeof from, "line %lld", (long long)next->line);
        mw__fact(d, "next of the others", MW_HOW_STATED, from, "%s", what(e, next));
        mw__fact(d, "others", MW_HOW_STATED, from, "%s", ranks_text(e, next->ranks));
    }
    mw__problem(d, "rank-behind", -1, -1, same_order,
                "R%s %s after %s %lld (line %lld), the others go on to %lld: if the log is whole, "
                "these wait in their next collective, a likely hang.",
                who + 1, one ? "stops" : "stop", q->event, (long long)at, (long long)last,
                (long long)q->top);
}

/* Returns the ranks that were told; those of `known` were before. */
static uint64_t tell_stops(mw_explain *e, const sequence *q, uint64_t known)
{
    int ranks = 0;
    uint64_t stopped = 0, cut = 0;
    for (int r = 0; r < LOCKSTEP_RANKS; r++)
        ranks += q->at[r] > 0;
    for (int r = 0; r < LOCKSTEP_RANKS; r++) {
        uint64_t bit = UINT64_C(1) << r;
        if (!q->at[r] || (q->apart | q->lost | known) & bit || q->at[r] >= q->top) continue;
        if (has_stopped(e, q, r, ranks))
            stopped |= bit;
        else
            cut |= bit;
    }
    for (int r = 0; r < LOCKSTEP_RANKS; r++) { /* those that stop at one place together */
        uint64_t same = 0;
        int64_t last = 0;
        for (int o = r; stopped >> r & 1 && o < LOCKSTEP_RANKS; o++) {
            if (!(stopped >> o & 1) || q->at[o] != q->at[r]) continue;
            same |= UINT64_C(1) << o;
            last = MW_MAX(last, q->last[o]);
        }
        if (same) tell_stop(e, q, q->at[r], last, same);
        stopped &= ~same;
        known |= same;
    }
    if (cut)
        mw__missing(e,
                    "whether %s would have told as many events (%s) as the others: the text ends a "
                    "few lines after their last one",
                    ranks_text(e, cut), q->event);
    return known;
}

static void tell_lost(mw_explain *e, const sequence *q)
{
    if (q->lost)
        mw__missing(e,
                    "whether %s told the same as the others all along (%s): it is further behind "
                    "them than %d events",
                    ranks_text(e, q->lost), q->event, LOCKSTEP_WINDOW);
}

/* One difference is told: that which the text shows first. What follows from it differs, too. */
void mw__lockstep_tell(mw_explain *e)
{
    lockstep *s = e->lockstep;
    const sequence *first = NULL;
    uint64_t stopped = 0;
    int64_t line = INT64_MAX;
    for (int i = 0; s && i < s->n; i++) {
        const sequence *q = s->of[i];
        if (q->split < 0) continue;
        if (split_of(q)->line < line) {
            line = split_of(q)->line;
            first = q;
        }
    }
    if (first) tell_split(e, first);
    for (int i = 0; s && i < s->n; i++) {
        if (!first) stopped = tell_stops(e, s->of[i], stopped);
        tell_lost(e, s->of[i]);
    }
    if (s && s->over)
        mw__missing(e,
                    "whether all ranks told the same: ranks 0 to %d and %d kinds of events are "
                    "compared",
                    LOCKSTEP_RANKS - 1, LOCKSTEP_KINDS);
}
