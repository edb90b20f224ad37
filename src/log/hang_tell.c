/* At the end of the text, per group: who waits for what, who differs, who is not shown. Each is
 * said with the lines it comes from; what follows only if the text is whole is missing, not told.
 */
#include "log/hang.h"

#include <stdio.h>

typedef struct view {
    hang_here *h;
    hang_group *g;
    int64_t index;
    const char *word; /* "rank", "group rank", "dump" */
    mw_draft *draft;
    int64_t stuck; /* the number in which ranks wait; HANG_NONE */
    hang_ranks waiting, behind, ahead, absent;
    bool split; /* some wait in what others are through with */
} view;

static const char *ranks(const view *v, const hang_ranks *set)
{
    return mw__hang_ranks_text(v->h->e, set, v->word);
}

static const char *line_text(const view *v, int64_t line)
{
    const char *text = mw__explain_text(v->h->e, "line %lld", (long long)line);
    return text ? text : "";
}

/* ---- what is known ----------------------------------------------------------------------- */

/* How far a member is known to have come: the largest number that it issued. */
static int64_t reached(const hang_member *m)
{
    int64_t far = m->last;
    if (m->enqueued != HANG_NONE) far = MW_MAX(far, m->enqueued);
    return far;
}

static void find_stuck(view *v)
{
    for (int64_t i = 0; i < v->g->nmember; i++) {
        const hang_member *m = &v->g->member[i];
        if (m->stuck != HANG_NONE && (v->stuck == HANG_NONE || m->stuck < v->stuck))
            v->stuck = m->stuck;
    }
    for (int64_t i = 0; v->stuck == HANG_NONE && i < v->g->nmember; i++) {
        const hang_member *m = &v->g->member[i]; /* nobody gave up, but somebody waits */
        if (m->enqueued != HANG_NONE && m->completed != HANG_NONE && m->completed < m->enqueued)
            v->stuck = m->completed + 1;
    }
}

static void sort_members(view *v)
{
    mw_explain *e = v->h->e;
    for (int64_t i = 0; i < v->g->nmember; i++) {
        const hang_member *m = &v->g->member[i];
        int64_t far = reached(m);
        if (v->stuck == HANG_NONE || far == HANG_NONE) continue;
        bool past = m->completed != HANG_NONE && m->completed >= v->stuck;
        if (past || (m->stuck != HANG_NONE && m->stuck > v->stuck)) /* it would have told of this */
            mw__hang_ranks_add(e, &v->ahead, m->rank);
        else if (far < v->stuck)
            mw__hang_ranks_add(e, &v->behind, m->rank);
        else
            mw__hang_ranks_add(e, &v->waiting, m->rank);
    }
}

/* Ranks that a group must have, by its size or by those that are shown, and that no line shows. */
static void find_absent(view *v)
{
    const hang_group *g = v->g;
    int64_t end = g->size != HANG_NONE ? MW_MIN(g->size, HANG_RANKS) : 0;
    if (g->dumps) return;
    for (int64_t i = 0; i < g->nmember; i++)
        end = MW_MAX(end, (int64_t)g->member[i].rank + 1);
    for (int64_t r = 0; r < end; r++)
        if (r >= g->nslot || !g->slot[r]) mw__hang_ranks_add(v->h->e, &v->absent, r);
}

/* Nobody says that it waits, but the lines of some ranks stop where others go on: those are behind,
 * unless their last line is among the last of the text, where the order of ranks is chance. */
static void find_stopped(view *v)
{
    const hang_group *g = v->g;
    int64_t most = HANG_NONE, tail = v->h->e->lines - 4 * g->nmember - 8;
    hang_ranks cut = {0};
    for (int64_t i = 0; i < g->nmember; i++)
        most = MW_MAX(most, g->member[i].last);
    for (int64_t i = 0; i < g->nmember; i++) {
        const hang_member *m = &g->member[i];
        if (m->last == HANG_NONE || m->last == most) continue;
        mw__hang_ranks_add(v->h->e, m->last_line < tail ? &v->behind : &cut, m->rank);
        if (m->last_line < tail && (v->stuck == HANG_NONE || m->last + 1 < v->stuck))
            v->stuck = m->last + 1;
    }
    for (int64_t i = 0; v->stuck != HANG_NONE && i < g->nmember; i++)
        if (g->member[i].last >= v->stuck)
            mw__hang_ranks_add(v->h->e, &v->waiting, g->member[i].rank);
    if (cut.n)
        mw__missing(v->h->e,
                    "whether %s of %s would have gone on: the text ends a few lines after their "
                    "last collective, others are up to number %lld",
                    mw__hang_ranks_text(v->h->e, &cut, v->word), g->name, (long long)most);
}

/* ---- numbers under which ranks posted different things ----------------------------------- */

/* Ranks of `a` that are not in `b`. */
static hang_ranks without(const view *v, const hang_ranks *a, const hang_ranks *b)
{
    hang_ranks left = {0};
    for (int64_t i = 0; i < a->n; i++)
        if (!mw__hang_ranks_has(b, a->at[i])) mw__hang_ranks_add(v->h->e, &left, a->at[i]);
    return left;
}

/* Ops whose sizes may differ from rank to rank. */
static bool may_differ(const char *op)
{
    static const char *const names[] = {"lltoall",  "LLTOALL", "ll_to_all", "LL_TO_ALL", "lltoAll",
                                        "end",      "SEND",    "ecv",       "RECV",      "OALESCED",
                                        "oalesced", "ather",   "GATHER",    "catter",    "SCATTER",
                                        "barrier",  "BARRIER", "llToAll"};
    static const char *const even[] = {"REDUCE_SCATTER", "reduce_scatter",        "ReduceScatter",
                                       "ALLGATHER_BASE", "_all_gather_base",      "_ALLGATHER_BASE",
                                       "AllGather",      "all_gather_into_tensor"};
    for (int i = 0; i < MW_COUNT(even); i++)
        if (strstr(op, even[i])) return false;
    for (int i = 0; i < MW_COUNT(names); i++)
        if (strstr(op, names[i])) return true;
    return false;
}

static const char *what(const view *v, const hang_post *p)
{
    const char *text =
        mw__explain_text(v->h->e, "%s%s%s%s%s", *p->op ? p->op : "a collective",
                         *p->shape ? " of " : "", p->shape, *p->dtype ? " " : "", p->dtype);
    return text ? text : "";
}

typedef enum difference { SAME, OPS, SHAPES, DTYPES } difference;

static difference compare(const hang_post *a, const hang_post *b)
{
    if (*a->op && *b->op && strcmp(a->op, b->op) != 0) return OPS;
    if (*a->shape && *b->shape && strcmp(a->shape, b->shape) != 0)
        return may_differ(a->op) ? SAME : SHAPES;
    if (*a->dtype && *b->dtype && strcmp(a->dtype, b->dtype) != 0) return DTYPES;
    return SAME;
}

/* The first number of the group with two posts that differ, each by ranks that don't have the
 * other. */
static bool find_difference(const view *v, int64_t *ret_number, const hang_post **ret_a,
                            const hang_post **ret_b)
{
    const hang_state *s = v->h->s;
    bool found = false;
    for (int64_t i = 0; s->event && i < HANG_EVENTS * 2; i++) {
        const hang_event *e = &s->event[i];
        if (e->group != v->index || (found && e->number >= *ret_number)) continue;
        for (const hang_post *a = e->post; a; a = a->next)
            for (const hang_post *b = a->next; b; b = b->next) {
                if (compare(a, b) == SAME || !without(v, &a->ranks, &b->ranks).n ||
                    !without(v, &b->ranks, &a->ranks).n)
                    continue;
                if (found && e->number == *ret_number) continue;
                found = true;
                *ret_number = e->number;
                *ret_a = a->ranks.n >= b->ranks.n ? a : b;
                *ret_b = a->ranks.n >= b->ranks.n ? b : a;
            }
    }
    return found;
}

static const char same_order[] = "see that every rank comes to the same collectives in the same "
                                 "order: look for a branch, an early "
                                 "return, an exception that is caught or a loop count that hangs "
                                 "on rank or data before this number";

static void tell_difference(view *v, int64_t number, const hang_post *a, const hang_post *b)
{
    difference d = compare(a, b);
    const char *kind = d == OPS      ? "diverged-control-flow"
                       : d == SHAPES ? "uneven-inputs"
                                     : "dtype-mismatch";
    const char *fix =
        d == OPS      ? same_order
        : d == SHAPES ? "make the inputs equal on all ranks (pad the last batch or drop it, pad "
                        "uneven pieces), or use a collective that takes sizes per rank"
                      : "cast to one dtype on all ranks before the call";
    char from[80];
    (void)snprintf(from, sizeof from, "lines %lld and %lld", (long long)a->line,
                   (long long)b->line);
    mw__fact(v->draft, "first difference", MW_HOW_DERIVED, from, "number %lld", (long long)number);
    mw__problem(v->draft, kind, -1, -1, fix,
                "Under number %lld %s posted %s (line %lld), and %s %s (line %lld)%s.",
                (long long)number, ranks(v, &a->ranks), what(v, a), (long long)a->line,
                ranks(v, &b->ranks), what(v, b), (long long)b->line,
                d == OPS ? ": different ways through the program, a likely cause of the hang" : "");
    for (const hang_post *p = a; p; p = p == a ? b : NULL) {
        char name[120];
        (void)snprintf(name, sizeof name, "%.100s posted", ranks(v, &p->ranks));
        mw__fact(v->draft, name, MW_HOW_STATED, line_text(v, p->line), "%s", what(v, p));
    }
}

/* ---- one group --------------------------------------------------------------------------- */

static void tell_member(const view *v, const hang_member *m)
{
    char name[60], global[40] = "";
    (void)snprintf(name, sizeof name, "%s %d", v->word, m->rank);
    if (!v->g->world && m->global != HANG_NONE)
        (void)snprintf(global, sizeof global, " (global rank %lld)", (long long)m->global);
    if (m->stuck != HANG_NONE) {
        char waited[40] = "";
        if (m->waited_ms != HANG_NONE)
            (void)snprintf(waited, sizeof waited, ", %lld ms", (long long)m->waited_ms);
        mw__fact(v->draft, name, MW_HOW_STATED, line_text(v, m->stuck_line),
                 "waits in number %lld%s%s%s%s", (long long)m->stuck, *m->stuck_op ? ", " : "",
                 m->stuck_op, waited, global);
    } else if (m->enqueued != HANG_NONE && m->completed != HANG_NONE) {
        mw__fact(v->draft, name, MW_HOW_STATED, line_text(v, m->status),
                 "last enqueued %lld, last completed %lld%s", (long long)m->enqueued,
                 (long long)m->completed, global);
    } else if (m->last != HANG_NONE) {
        mw__fact(v->draft, name, MW_HOW_STATED, line_text(v, m->last_line),
                 "last is number %lld%s%s%s", (long long)m->last, *m->last_op ? ", " : "",
                 m->last_op, global);
    }
}

static const char *stuck_words(const view *v)
{
    const hang_event *e = mw__hang_event(v->h->s, v->index, v->stuck);
    return e && e->post && *e->post->op ? what(v, e->post) : "a collective that no line names";
}

static void tell_behind(view *v)
{
    if (!v->behind.n) return;
    int64_t most = HANG_NONE;
    for (int64_t i = 0; i < v->g->nmember; i++)
        if (mw__hang_ranks_has(&v->behind, v->g->member[i].rank))
            most = MW_MAX(most, reached(&v->g->member[i]));
    mw__problem(
        v->draft, "rank-behind", -1, -1,
        "look at what these ranks do instead, with a stack dump (py-spy dump) while they hang: a "
        "rank counts a collective once the call that issues it has returned, so it may also be "
        "stuck in that very call",
        "%s %s not issued number %lld, in which %s %s: the last of them that %s issued is %lld.",
        mw__hang_capital(v->h->e, ranks(v, &v->behind)), mw__hang_verb(&v->behind, "has", "have"),
        (long long)v->stuck, ranks(v, &v->waiting), mw__hang_verb(&v->waiting, "waits", "wait"),
        mw__hang_verb(&v->behind, "it has", "they have"), (long long)most);
}

/* Collectives that no rank leaves before all ranks have come. */
static bool needs_all(const view *v)
{
    static const char *const names[] = {
        "ALLREDUCE", "ALLGATHER",  "REDUCE_SCATTER", "ALLTOALL",       "BARRIER",    "allreduce",
        "allgather", "all_reduce", "all_gather",     "reduce_scatter", "all_to_all", "barrier"};
    const hang_event *e = mw__hang_event(v->h->s, v->index, v->stuck);
    for (int i = 0; e && e->post && i < MW_COUNT(names); i++)
        if (strstr(e->post->op, names[i])) return true;
    return false;
}

/* One rank is through with what another waits in: they were not in it together. */
static void tell_ahead(view *v)
{
    if (!v->ahead.n || !v->waiting.n) return;
    mw__fact(v->draft, "past it", MW_HOW_DERIVED,
             "they completed it, or wait in a later one: a rank gives up its first one that hangs",
             "%s", ranks(v, &v->ahead));
    v->split = !v->behind.n && needs_all(v); /* else those behind are the cause */
    if (!v->split) return;
    mw__problem(v->draft, "rank-ahead", -1, -1, same_order,
                "%s %s in number %lld, and %s %s past it: under that number they were not in one "
                "collective.",
                mw__hang_capital(v->h->e, ranks(v, &v->waiting)),
                mw__hang_verb(&v->waiting, "waits", "wait"), (long long)v->stuck,
                ranks(v, &v->ahead), mw__hang_verb(&v->ahead, "is", "are"));
}

static void tell_absent(view *v)
{
    if (!v->absent.n) return;
    const char *who = ranks(v, &v->absent);
    mw__fact(v->draft, "not shown", MW_HOW_DERIVED,
             v->g->size != HANG_NONE ? line_text(v, v->g->size_line) : "ranks count from 0", "%s",
             who);
    mw__missing(v->h->e,
                "what %s of %s %s: no line shows %s. %s may be the one that the others wait "
                "for, or its log was not pasted",
                who, v->g->name, mw__hang_verb(&v->absent, "does", "do"),
                mw__hang_verb(&v->absent, "it", "them"),
                mw__hang_verb(&v->absent, "It", "One of them"));
    bool suspect = v->stuck != HANG_NONE && !v->behind.n && !v->split && v->waiting.n > 0;
    const char *shown = ranks(v, &v->waiting);
    if (suspect)
        mw__problem(v->draft, "rank-silent", -1, -1,
                    "find these ranks' logs, or dump their stacks: they are the first to look at",
                    "%s (%s) wait in number %lld; %s %s not shown.",
                    v->ahead.n ? "Some that are shown" : "All ranks that are shown", shown,
                    (long long)v->stuck, who, mw__hang_verb(&v->absent, "is", "are"));
}

static void say(view *v, bool differs)
{
    mw_draft *d = v->draft;
    if (v->stuck == HANG_NONE) {
        mw__draft_says(d, "In %s ranks posted different collectives under one number.", v->g->name);
        return;
    }
    mw__draft_says(d, "In %s %s %s in number %lld, %s%s%s%s%s%s.", v->g->name,
                   v->waiting.n ? ranks(v, &v->waiting) : "a rank",
                   mw__hang_verb(&v->waiting, "waits", v->waiting.n ? "wait" : "waits"),
                   (long long)v->stuck, stuck_words(v), v->behind.n ? ", to which " : "",
                   v->behind.n ? ranks(v, &v->behind) : "", v->behind.n ? " did not come" : "",
                   differs ? ": ranks disagree about a collective" : "",
                   !v->behind.n && v->absent.n
                       ? mw__explain_text(v->h->e, "; no line shows %s", ranks(v, &v->absent))
                       : "");
}

static void begin(view *v, int64_t line)
{
    mw_line first = {.number = line, .rank = -1};
    v->draft = mw__draft(v->h->e, &first, v->g->source, "hang");
    mw__draft_last(v->draft, MW_MAX(line, v->g->last));
    mw__draft_weight(v->draft, 95);
}

static void tell_how_many(const view *v)
{
    const hang_group *g = v->g;
    if (g->dumps) return;
    if (g->size != HANG_NONE)
        mw__fact(v->draft, "ranks in the group", MW_HOW_STATED, line_text(v, g->size_line), "%lld",
                 (long long)g->size);
    else
        mw__missing(v->h->e,
                    "how many ranks %s has: a rank past the last shown one would not be missed",
                    g->name);
    if (*g->globals)
        mw__fact(v->draft, "global ranks of the group, in order", MW_HOW_STATED,
                 line_text(v, g->globals_line), "%s", g->globals);
    else if (!g->world)
        mw__missing(v->h->e,
                    "which global ranks are in %s: its list of ranks (pg_config, or the call "
                    "that made the group) tells",
                    g->name);
}

static void tell_group(hang_here *h, int64_t index)
{
    view v = {.h = h, .g = &h->s->group[index], .index = index, .stuck = HANG_NONE};
    hang_group *g = v.g;
    bool too_many = g->size != HANG_NONE && g->nmember > g->size && !g->dumps;
    if (g->unnamed && (g->ambiguous || too_many)) {
        mw__missing(h->e,
                    "which of %s belong together: lines with commId tell "
                    "(NCCL_DEBUG_SUBSYS=INIT,COLL)",
                    g->name);
        return;
    }
    if (strcmp(g->source, "xla") == 0) {
        mw__hang_tell_xla(h, g);
        return;
    }
    v.word = mw__hang_word(g);
    find_stuck(&v);
    int64_t number = 0;
    const hang_post *a = NULL, *b = NULL;
    bool differs = find_difference(&v, &number, &a, &b);
    bool nccl = strcmp(g->source, "nccl") == 0;
    if (nccl && !differs) find_stopped(&v);
    bool waits = v.stuck != HANG_NONE;
    if (!waits && !differs) return;
    if (!nccl) sort_members(&v);
    find_absent(&v);
    begin(&v, differs && !waits ? MW_MIN(a->line, b->line) : g->first);
    say(&v, differs);
    if (differs) tell_difference(&v, number, a, b);
    if (waits) {
        tell_behind(&v);
        if (!differs) tell_ahead(&v);
        tell_absent(&v);
        if (!v.behind.n && !v.split && !v.absent.n && !differs)
            mw__problem(
                v.draft, "collective-timeout", -1, -1,
                "if the dumps or logs of all ranks show the same collective, look below it: "
                "network, a device that is stuck, a kernel before it on one rank's stream",
                "%s %s in number %lld and nothing shows a rank that differs.",
                v.waiting.n ? mw__hang_capital(h->e, ranks(&v, &v.waiting)) : "A rank",
                v.waiting.n > 1 ? "wait" : "waits", (long long)v.stuck);
    }
    tell_how_many(&v);
    for (int64_t i = 0; i < g->nmember && i < HANG_FACTS; i++)
        tell_member(&v, &g->member[i]);
}

void mw__hang_tell(hang_here *h)
{
    for (int64_t i = 0; i < h->s->ngroup; i++)
        tell_group(h, i);
    if (h->s->dropped)
        mw__missing(h->e,
                    "some collectives and ranks of the text: up to %d numbers, %d groups and %d "
                    "ranks of one are compared",
                    HANG_EVENTS, HANG_GROUPS, HANG_RANKS);
}
