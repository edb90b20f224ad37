/* ProcessGroupNCCL (and its likes: XCCL, HCCL): the watchdog that gives up a collective, the
 * heartbeat monitor, the dump signals that tell how far the other ranks are.
 *
 *     [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15,
 *       OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600029
 *       milliseconds before timing out.
 *     [PG ID 0 PG GUID 0(default_pg) Rank 3] failure detected by watchdog at work sequence id: 15
 *       PG status: last enqueued work: 16, last completed work: 14
 *
 * The first of these does not name the group; the second, of the same rank and number, does. */
#include "log/hang.h"

#include <stdio.h>

typedef struct hang_pending {
    bool used;
    int64_t stream, rank, number, ran_ms, line;
    hang_what what;
} hang_pending;

static hang_pending *pending_of(hang_here *h)
{
    hang_state *s = h->s;
    if (!s->pending) s->pending = mw__arena_zalloc(&h->e->arena, HANG_PENDING * sizeof *s->pending);
    if (!s->pending) h->e->failed = true;
    int64_t stream = h->line->rank >= 0 ? h->line->rank : h->pg_rank;
    return s->pending && stream >= 0 ? &s->pending[stream % HANG_PENDING] : NULL;
}

static void put_timeout(hang_here *h, hang_group *g, const hang_pending *p)
{
    hang_member *m = mw__hang_member(h, g, p->rank);
    if (!m) return;
    if (m->stuck == HANG_NONE) {
        m->stuck = p->number;
        m->stuck_line = p->line;
        m->stuck_op = p->what.op;
        m->waited_ms = p->ran_ms;
    }
    g->first = MW_MIN(g->first, p->line);
    if (p->number != HANG_NONE) mw__hang_post(h, g, p->rank, p->number, &p->what);
}

static void flush(hang_here *h, hang_pending *p)
{
    if (!p->used) return;
    const char *pg = h->pg;
    h->pg = NULL;
    put_timeout(h, mw__hang_pg(h), p);
    h->pg = pg;
    p->used = false;
}

void mw__hang_pending_flush(hang_here *h)
{
    for (int i = 0; h->s->pending && i < HANG_PENDING; i++)
        flush(h, &h->s->pending[i]);
}

static void note_global(hang_here *h, hang_group *g)
{
    hang_member *m = mw__hang_member(h, g, h->pg_rank);
    if (!m || h->line->rank < 0) return;
    m->global = h->line->rank;
}

/* "rank 3", "rank 1 of group 2 (tp)", with the global one where it is another. */
static const char *who(hang_here *h)
{
    if (h->pg_rank == HANG_NONE && h->line->rank < 0) return "A rank that the text does not name";
    if (h->pg_rank == HANG_NONE) return mw__explain_text(h->e, "Rank %d", h->line->rank);
    if (!h->pg)
        return h->line->rank >= 0 && h->line->rank != h->pg_rank
                   ? mw__explain_text(h->e, "Rank %d (rank %lld of a group)", h->line->rank,
                                      (long long)h->pg_rank)
                   : mw__explain_text(h->e, "Rank %lld", (long long)h->pg_rank);
    const char *desc = h->pg_desc && h->pg_desc[0] ? h->pg_desc : "";
    const char *group =
        mw__explain_text(h->e, "group %s%s%s%s", h->pg, *desc ? " (" : "", desc, *desc ? ")" : "");
    return h->line->rank >= 0 && h->line->rank != h->pg_rank
               ? mw__explain_text(h->e, "Rank %d, rank %lld of %s,", h->line->rank,
                                  (long long)h->pg_rank, group)
               : mw__explain_text(h->e, "Rank %lld of %s", (long long)h->pg_rank, group);
}

/* ---- the time-out ------------------------------------------------------------------------ */

static void tell_timeout(hang_here *h, const hang_pending *p, const char *limit)
{
    int64_t key[2] = {p->number, 1};
    uint64_t hash = mw__hash(19, key, sizeof key) ^ mw__hash(2, p->what.op, strlen(p->what.op)) ^
                    mw__hash(3, p->what.shape, strlen(p->what.shape)) ^
                    (h->pg ? mw__hash(4, h->pg, strlen(h->pg)) : 0);
    if (mw__hang_told(h, hash)) return;
    mw_draft *d = mw__draft(h->e, h->line, "c10d", "timeout");
    mw__hang_keep_draft(h, hash, d);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = p->what.op;
    if (p->number != HANG_NONE)
        mw__fact(d, "sequence number", MW_HOW_STATED, h->from, "%lld", (long long)p->number);
    if (*p->what.op) mw__fact(d, "collective", MW_HOW_STATED, h->from, "%s", p->what.op);
    if (*p->what.shape) mw__fact(d, "size", MW_HOW_STATED, h->from, "%s", p->what.shape);
    if (*limit) mw__fact(d, "time-out", MW_HOW_STATED, h->from, "%s ms", limit);
    if (p->ran_ms != HANG_NONE)
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld ms", (long long)p->ran_ms);
    if (h->pg_rank != HANG_NONE)
        mw__fact(d, "rank in its group", MW_HOW_STATED, h->from, "%lld", (long long)h->pg_rank);
    char number[40] = "";
    if (p->number != HANG_NONE)
        (void)snprintf(number, sizeof number, " %lld", (long long)p->number);
    char waited[40] = "its time-out";
    if (p->ran_ms != HANG_NONE)
        (void)snprintf(waited, sizeof waited, "%lld ms", (long long)p->ran_ms);
    mw__draft_weight(d, 50);
    mw__draft_says(d, "%s waited %s in its collective%s%s%s and gave up.", who(h), waited, number,
                   *p->what.op ? ", " : "", p->what.op);
}

static bool timeout_line(hang_here *h)
{
    const char *at = mw__hang_after(h->at, "Watchdog caught collective operation timeout: ");
    if (!at) return false;
    const char *work = strstr(at, "Work"), *end = work ? strstr(work, ") ran for") : NULL;
    if (!work) work = at;
    if (!end) end = work + strlen(work);
    if (h->pg_rank == HANG_NONE) { /* `...terminated with exception: [Rank 3] Watchdog` */
        const char *rank = mw__hang_after(h->line->text, "[Rank ");
        if (rank && rank < at) (void)mw__hang_int(&rank, &h->pg_rank);
    }
    hang_pending p = {.used = true,
                      .stream = h->line->rank,
                      .rank = h->pg_rank != HANG_NONE ? h->pg_rank : h->line->rank,
                      .number = HANG_NONE,
                      .ran_ms = HANG_NONE,
                      .line = h->line->number};
    (void)mw__hang_number(work, "SeqNum=", &p.number);
    (void)mw__hang_number(end, "ran for ", &p.ran_ms);
    p.what.op = mw__hang_field(h, work, end, "OpType=");
    p.what.dtype = "";
    const char *in = mw__hang_field(h, work, end, "NumelIn=");
    const char *out = mw__hang_field(h, work, end, "NumelOut=");
    const char *shape = mw__hang_field(h, work, end, "TensorShape=");
    p.what.shape = *shape ? shape : in;
    char counted[100];
    int n = *out && strcmp(in, out) != 0
                ? snprintf(counted, sizeof counted, "%.40s elements in, %.40s out", in, out)
                : snprintf(counted, sizeof counted, "%.40s elements", in);
    if (*in) p.what.shape = mw__hang_keep(h, counted, n);
    tell_timeout(h, &p, mw__hang_field(h, work, end, "Timeout(ms)="));
    hang_pending *slot = pending_of(h);
    bool repeated = slot && slot->used && slot->rank == p.rank && slot->number == p.number;
    if (h->pg) {
        if (repeated) slot->used = false;
        hang_group *g = mw__hang_pg(h);
        if (g) note_global(h, g);
        put_timeout(h, g, &p);
    } else if (!slot) {
        hang_pending own = p;
        flush(h, &own);
    } else if (!repeated) {
        flush(h, slot);
        *slot = p;
    }
    return true;
}

/* ---- how far a rank is ------------------------------------------------------------------- */

static void put_status(hang_here *h, int64_t enqueued, int64_t completed)
{
    hang_group *g = mw__hang_pg(h);
    int64_t rank = h->pg_rank != HANG_NONE ? h->pg_rank : h->line->rank;
    hang_member *m = mw__hang_member(h, g, rank);
    if (!m) return;
    if (h->pg_rank != HANG_NONE) note_global(h, g);
    m = mw__hang_member(h, g, rank);
    m->enqueued = enqueued;
    m->completed = completed <= enqueued ? completed : HANG_NONE; /* no number of a collective */
    m->status = h->line->number;
}

static void tell_status(hang_here *h, const char *event, int64_t enqueued, int64_t completed,
                        int64_t signal_from)
{
    int64_t key[5] = {enqueued, completed, signal_from, h->pg_rank, h->line->rank};
    uint64_t hash = mw__hash(23, key, sizeof key) ^ (h->pg ? mw__hash(4, h->pg, strlen(h->pg)) : 0);
    if (mw__hang_told(h, hash)) return;
    mw_draft *d = mw__draft(h->e, h->line, "c10d", event);
    mw__hang_keep_draft(h, hash, d);
    mw__fact(d, "last enqueued", MW_HOW_STATED, h->from, "%lld", (long long)enqueued);
    mw__fact(d, "last completed", MW_HOW_STATED, h->from, "%lld", (long long)completed);
    if (h->pg_rank != HANG_NONE)
        mw__fact(d, "rank in its group", MW_HOW_STATED, h->from, "%lld", (long long)h->pg_rank);
    if (signal_from != HANG_NONE)
        mw__fact(d, "signal from rank", MW_HOW_STATED, h->from, "%lld", (long long)signal_from);
    mw__draft_weight(d, 30);
    if (completed > enqueued)
        mw__draft_says(d,
                       "%s has issued %lld collectives; its number of the last completed one, "
                       "%lld, is none (it was never set).",
                       who(h), (long long)enqueued, (long long)completed);
    else
        mw__draft_says(d,
                       "%s has issued its collectives up to number %lld and completed them up "
                       "to %lld%s.",
                       who(h), (long long)enqueued, (long long)completed,
                       enqueued == completed ? ": it waits for none of them" : "");
}

static bool status_line(hang_here *h)
{
    int64_t enqueued, completed, number = HANG_NONE, from = HANG_NONE;
    const char *at = h->at;
    bool has = (mw__hang_number(at, "ast enqueued NCCL work: ", &enqueued) ||
                mw__hang_number(at, "ast enqueued work: ", &enqueued)) &&
               (mw__hang_number(at, "last completed NCCL work: ", &completed) ||
                mw__hang_number(at, "last completed work: ", &completed));
    if (!has) return false;
    if (!mw__hang_number(at, "at work sequence id: ", &number))
        (void)mw__hang_number(at, "Timeout at NCCL work: ", &number);
    (void)mw__hang_number(at, "timeout from rank ", &from);
    put_status(h, enqueued, completed);
    hang_pending *slot = number != HANG_NONE ? pending_of(h) : NULL;
    if (slot && slot->used && slot->number == number && slot->rank == h->pg_rank) {
        slot->used = false;
        put_timeout(h, mw__hang_pg(h), slot);
    } else if (number != HANG_NONE) {
        hang_pending p = {.rank = h->pg_rank,
                          .number = number,
                          .ran_ms = HANG_NONE,
                          .line = h->line->number,
                          .what = {"", "", "", false}};
        put_timeout(h, mw__hang_pg(h), &p);
    }
    tell_status(h, "status", enqueued, completed, from);
    return true;
}

/* ---- the rest of it ---------------------------------------------------------------------- */

typedef struct phrase {
    const char *words, *event, *says;
    int weight;
} phrase;

static const phrase phrases[] = {
    {"watchdog got stuck for", "heartbeat",
     "the watchdog itself made no progress: it hangs in a CUDA or NCCL call, or waits for the "
     "interpreter's lock; this is no evidence that a collective hangs",
     45},
    {"Heartbeat monitor timed out", "heartbeat",
     "the watchdog itself made no progress: it hangs in a CUDA or NCCL call, or waits for the "
     "interpreter's lock; this is no evidence that a collective hangs",
     45},
    {"Some NCCL operations have failed or timed out", "abort",
     "a collective failed or timed out, so results computed since may be wrong", 5},
    {"we are taking the entire process down", "abort", "its process is ended because of that", 5},
    {"watchdog thread terminated with exception", "abort",
     "its watchdog ends with the error that this line repeats", 5},
    {"Received a global timeout from another rank", "status", "another rank has timed out", 10},
    {"Received a dump signal due to", "status", "it was told to dump because of a time-out", 10},
    {"First PG on this rank to signal dumping", "status", "it tells the others to dump", 3},
    {"Stack trace of the failed collective", "status",
     "where the collective was issued: in the lines below, if its flight recorder was on", 3},
    {"Terminating the process after attempting to dump debug info", "abort",
     "its process is ended after the dump", 5},
};

static bool phrase_line(hang_here *h)
{
    for (int i = 0; i < MW_COUNT(phrases); i++) {
        const phrase *p = &phrases[i];
        if (!strstr(h->at, p->words)) continue;
        int64_t key[2] = {i, h->pg_rank};
        uint64_t hash = mw__hash(29, key, sizeof key);
        if (mw__hang_told(h, hash)) return true;
        mw_draft *d = mw__draft(h->e, h->line, "c10d", p->event);
        mw__hang_keep_draft(h, hash, d);
        if (strstr(h->at, "failed collective") && !strstr(h->at, "not found")) h->s->traced = d;
        mw__draft_weight(d, p->weight);
        mw__fact(d, "says", MW_HOW_STATED, h->from, "%.300s", h->at);
        mw__draft_says(d, "%s: %s.", who(h), p->says);
        return true;
    }
    return false;
}

/* "#2 step from /home/me/train.py:44": one of a Python stack. The first that is not PyTorch's says
 * where the program issued the collective. */
static bool python_frame(hang_here *h)
{
    const char *at = h->line->text, *from = strstr(at, " from ");
    if (*at != '#' || at[1] < '0' || at[1] > '9' || !from) return false;
    if (h->s->traced && !strstr(from, "/torch/") && !strstr(from, "<frozen")) {
        mw__fact(h->s->traced, "issued at", MW_HOW_STATED, h->from, "%.200s", from + 6);
        h->s->traced = NULL;
    }
    return true;
}

bool mw__hang_frames(hang_here *h)
{
    enum { NEAR = 60 };
    const char *at = h->line->text;
    hang_state *s = h->s;
    if (!s->watched || h->line->number - s->watched > NEAR) return false;
    bool mine = python_frame(h) || strncmp(at, "frame #", 7) == 0 ||
                strncmp(at, "Exception raised from ", 22) == 0 ||
                strncmp(at, "terminate called after throwing an instance of 'c10", 51) == 0;
    if (mine) s->watched = h->line->number;
    return mine;
}

bool mw__hang_watchdog(hang_here *h)
{
    if (!timeout_line(h) && !status_line(h) && !phrase_line(h)) return false;
    h->s->watched = h->line->number;
    return true;
}
