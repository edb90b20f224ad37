/* The report of NCCL_DESYNC_DEBUG, over several lines: which ranks lag, in the group's own words.
 *
 *     - [0] Timeout at collective: ALLREDUCE, #15
 *     - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
 *       - [1, 3] joined but didn't finish collective #14 (count from 1)
 *       - [2] finished collective #13, but didn't join collective #14 (count from 1)
 *     - Snapshot of ranks' latest states:
 *       #15 started ranks:
 *         [0] started ALLREDUCE
 *       #14 finished ranks:
 *         [0] finished ALLREDUCE
 */
#include "log/hang.h"

#include <stdio.h>

static void tell(hang_here *h, const hang_ranks *set, const char *says, int weight)
{
    mw_draft *d = mw__draft(h->e, h->line, "c10d", "desync");
    mw__draft_weight(d, weight);
    if (set->n)
        mw__fact(d, "ranks", MW_HOW_STATED, h->from, "%s",
                 mw__hang_ranks_text(h->e, set, "group rank"));
    mw__draft_says(d, "The process group's own report: %s%s%s.",
                   set->n ? mw__hang_ranks_text(h->e, set, "rank") : "", set->n ? " " : "", says);
}

static void post(hang_here *h, const hang_ranks *set, int64_t number, const char *op, bool done)
{
    hang_group *g = mw__hang_pg(h);
    hang_what w = {op, "", "", done};
    for (int64_t i = 0; g && i < set->n; i++)
        mw__hang_post(h, g, set->at[i], number, &w);
}

/* They are in that collective, and wait. */
static void stick(hang_here *h, const hang_ranks *set, int64_t number, const char *op)
{
    hang_group *g = mw__hang_pg(h);
    for (int64_t i = 0; g && i < set->n; i++) {
        hang_member *m = mw__hang_member(h, g, set->at[i]);
        if (!m || m->stuck != HANG_NONE) continue;
        m->stuck = number;
        m->stuck_line = h->line->number;
        m->stuck_op = op;
    }
}

static const char *op_at(const hang_here *h, const char *at)
{
    return mw__hang_keep(h, at, (int64_t)strcspn(at, " ,\t"));
}

static bool lagging(hang_here *h, const hang_ranks *set, const char *at)
{
    int64_t joined, finished;
    if (mw__hang_number(at, "joined but didn't finish collective #", &joined)) {
        post(h, set, joined, "", false);
        stick(h, set, joined, "");
        tell(h, set,
             mw__explain_text(h->e, "came to collective %lld and did not finish it",
                              (long long)joined),
             40);
        return true;
    }
    if (!mw__hang_number(at, "finished collective #", &finished) ||
        !mw__hang_number(at, "didn't join collective #", &joined))
        return false;
    hang_group *g = mw__hang_pg(h);
    for (int64_t i = 0; g && i < set->n; i++) {
        hang_member *m = mw__hang_member(h, g, set->at[i]);
        if (!m) continue;
        m->enqueued = m->completed = finished;
        m->status = h->line->number;
    }
    tell(h, set,
         mw__explain_text(h->e, "finished collective %lld and did not come to number %lld",
                          (long long)finished, (long long)joined),
         45);
    return true;
}

bool mw__hang_desync(hang_here *h)
{
    hang_state *s = h->s;
    const char *at = h->line->text + strspn(h->line->text, "- ");
    hang_ranks set = {0};
    int64_t number;
    if (strstr(at, "lagging/dead/mismatched ranks that caused the desync") ||
        strstr(at, "Snapshot of ranks' latest states")) {
        s->desync_line = h->line->number;
        return true;
    }
    bool inside = s->desync_line && h->line->number - s->desync_line < 4;
    if (strncmp(at, "Not all ranks joined", 20) == 0 && inside) return true;
    if (*at == '#' && inside && mw__hang_number(at, "#", &number) &&
        (strstr(at, "started ranks") || strstr(at, "finished ranks"))) {
        s->desync_line = h->line->number;
        s->desync_number = number;
        return true;
    }
    const char *close = *at == '[' ? strchr(at, ']') : NULL;
    if (!close) return false;
    const char *after = mw__hang_after(close, "] Timeout at collective: ");
    if (after && after - close == 25 && mw__hang_number(after, "#", &number)) {
        mw__hang_ranks_read(h, at, &set);
        post(h, &set, number, op_at(h, after), false);
        stick(h, &set, number, op_at(h, after));
        tell(h, &set, mw__explain_text(h->e, "timed out in collective %lld", (long long)number),
             40);
        s->desync_line = h->line->number;
        return true;
    }
    if (!inside) return false;
    mw__hang_ranks_read(h, at, &set);
    if (lagging(h, &set, close)) {
        s->desync_line = h->line->number;
        return true;
    }
    bool started = strncmp(close, "] started ", 10) == 0;
    bool finished = strncmp(close, "] finished ", 11) == 0;
    if (!started && !finished) return false;
    s->desync_line = h->line->number;
    post(h, &set, s->desync_number, op_at(h, close + (started ? 10 : 11)), finished);
    tell(h, &set,
         mw__explain_text(h->e, "%s collective %lld, %s", started ? "started" : "finished",
                          (long long)s->desync_number, op_at(h, close + (started ? 10 : 11))),
         20);
    return true;
}
