/* Short messages of the layers around a collective: monitoredBarrier, gloo's connections, the store
 * through which ranks find each other, aborted communicators. Each says of one rank what it waited
 * for; none says why the other did not come. */
#include "log/hang.h"

#include <stdio.h>

static mw_draft *begin(hang_here *h, const char *source, const char *event, int weight)
{
    mw_draft *d = mw__draft(h->e, h->line, source, event);
    mw__draft_weight(d, weight);
    return d;
}

static const char *teller(const hang_here *h)
{
    if (h->line->rank < 0) return "A rank";
    const char *text = mw__explain_text(h->e, "Rank %d", h->line->rank);
    return text ? text : "A rank";
}

/* ---- monitoredBarrier -------------------------------------------------------------------- */

static bool barrier_line(hang_here *h)
{
    const char *at = strstr(h->at, " failed to pass monitoredBarrier");
    if (at) {
        const char *list = at;
        while (list > h->at && strchr("0123456789, -", list[-1]))
            list--;
        hang_ranks set = {0};
        int64_t limit;
        mw__hang_ranks_read(h, list, &set);
        if (!set.n) return false;
        mw_draft *d = begin(h, "c10d", "barrier", 80);
        const char *who = mw__hang_ranks_text(h->e, &set, "rank");
        mw__fact(d, "did not come", MW_HOW_STATED, h->from, "%s", who);
        bool timed = mw__hang_number(at, "monitoredBarrier in ", &limit);
        if (timed) mw__fact(d, "time-out", MW_HOW_STATED, h->from, "%lld ms", (long long)limit);
        bool all = strstr(h->at, "Ranks ") != NULL;
        mw__draft_says(d, "Rank 0 waited for %s in a barrier%s: %s did not come.", who,
                       all ? "" : " (the first that is late is named, others may be, too)",
                       set.n == 1 ? "it" : "they");
        mw__problem(
            d, "rank-behind", -1, -1,
            "look at what these ranks did instead: their own last log lines, or a stack dump "
            "(py-spy dump) of them while they hang",
            "The barrier says which: %s did not reach it%s.", who,
            timed ? " within the time-out" : "");
        if (!all)
            mw__missing(h->e,
                        "whether more ranks were late for the barrier of line %lld: it stops at "
                        "the first (wait_all_ranks=True names all)",
                        (long long)h->line->number);
        return true;
    }
    if (strcmp(h->at, "Original exception:") == 0) return true; /* the next line is it */
    if (!strstr(h->at, "successfully reached monitoredBarrier")) return false;
    int64_t rank = HANG_NONE;
    (void)mw__hang_number(h->at, "Rank ", &rank);
    mw_draft *d = begin(h, "c10d", "barrier", 20);
    if (rank != HANG_NONE)
        mw__fact(d, "came", MW_HOW_STATED, h->from, "rank %lld", (long long)rank);
    char who[40] = "A rank";
    if (rank != HANG_NONE) (void)snprintf(who, sizeof who, "Rank %lld", (long long)rank);
    mw__draft_says(
        d,
        "%s came to the barrier; rank 0 did not answer it: rank 0's message names who was "
        "late.",
        who);
    return true;
}

/* ---- gloo -------------------------------------------------------------------------------- */

static bool gloo_line(hang_here *h)
{
    const char *at;
    int64_t ms;
    if ((at = mw__hang_after(h->at, "imed out waiting ")) != NULL &&
        strstr(at, "operation to complete") && mw__hang_int(&at, &ms)) {
        bool receive = strstr(at, "recv operation") != NULL;
        mw_draft *d = begin(h, "gloo", "timeout", 50);
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld ms", (long long)ms);
        mw__draft_says(d, "%s waited %lld ms in gloo to %s, and nobody came.", teller(h),
                       (long long)ms, receive ? "receive" : "send");
        mw__problem(d, "collective-timeout", -1, -1,
                    "find the rank that did not come: a stack dump of every rank, or "
                    "TORCH_DISTRIBUTED_DEBUG=DETAIL, which names it",
                    "A peer did not come to a collective within %lld ms.", (long long)ms);
        mw__missing(h->e,
                    "for which rank and in which collective line %lld waited: gloo's message "
                    "names neither",
                    (long long)h->line->number);
        return true;
    }
    const char *closed = strstr(h->at, "Connection closed by peer");
    if (!closed) closed = strstr(h->at, "Connection reset by peer");
    if (!closed || !(strstr(h->at, "gloo") || strstr(closed, "peer ["))) return false;
    mw_draft *d = begin(h, "gloo", "connection-lost", 45);
    const char *open = strchr(closed, '[');
    if (open)
        mw__fact(d, "peer", MW_HOW_STATED, h->from, "%.*s", (int)MW_MIN(strcspn(open, " \n"), 80),
                 open);
    mw__draft_says(d, "%s lost the connection to another rank: that one's process has ended.",
                   teller(h));
    mw__problem(
        d, "rank-failed", -1, -1,
        "look for the first error of the other ranks: this message is a consequence",
        "The other end of a connection is closed: its process ended (by an error, a kill or by "
        "reaching its end) while this rank still communicated with it.");
    mw__missing(h->e,
                "which rank closed the connection of line %lld: an address stands there, no rank",
                (long long)h->line->number);
    return true;
}

/* ---- the store --------------------------------------------------------------------------- */

static bool joined_line(hang_here *h)
{
    int64_t seconds, have, want;
    const char *at = mw__hang_after(h->at, "waiting for clients. ");
    if (at && mw__hang_int(&at, &have) && *at++ == '/' && mw__hang_int(&at, &want)) {
        mw_draft *d = begin(h, "c10d", "store-timeout", 60);
        if (mw__hang_number(h->at, "imed out after ", &seconds))
            mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld s", (long long)seconds);
        mw__fact(d, "joined", MW_HOW_STATED, h->from, "%lld of %lld", (long long)have,
                 (long long)want);
        mw__draft_says(d, "At the start %lld of %lld ranks joined the store; %lld did not.",
                       (long long)have, (long long)want, (long long)(want - have));
        mw__problem(
            d, "rank-silent", -1, -1,
            "see that all processes were started with the same address, port and world size, "
            "and can reach that address",
            "%lld of %lld ranks never joined.", (long long)(want - have), (long long)want);
        mw__missing(h->e, "which ranks did not join: line %lld only counts them",
                    (long long)h->line->number);
        return true;
    }
    if (!strstr(h->at, "store based barrier") || !mw__hang_number(h->at, "world_size=", &want) ||
        (!mw__hang_number(h->at, "worker_count=", &have) &&
         !mw__hang_number(h->at, "num_workers_joined=", &have)))
        return false;
    mw_draft *d = begin(h, "c10d", "store-timeout", 60);
    mw__fact(d, "joined", MW_HOW_STATED, h->from, "%lld of %lld", (long long)have, (long long)want);
    mw__draft_says(d, "A group was being made: %lld of %lld ranks came, %lld did not.",
                   (long long)have, (long long)want, (long long)(want - have));
    if (have < want)
        mw__problem(d, "rank-behind", -1, -1,
                    "new_group is for all ranks, members or not, in the same order: see that each "
                    "calls it",
                    "%lld of %lld ranks did not come to the making of a process group.",
                    (long long)(want - have), (long long)want);
    mw__missing(h->e, "which ranks did not come: line %lld only counts them",
                (long long)h->line->number);
    return true;
}

static bool store_line(hang_here *h)
{
    int64_t ms;
    const char *at = mw__hang_after(h->at, "wait timeout after ");
    if (at && mw__hang_int(&at, &ms)) {
        mw_draft *d = begin(h, "c10d", "store-timeout", 40);
        const char *keys = mw__hang_after(at, "keys: ");
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld ms", (long long)ms);
        if (keys) mw__fact(d, "keys", MW_HOW_STATED, h->from, "%.200s", keys);
        mw__draft_says(d, "%s waited %lld ms for a key of the store that another rank was to set.",
                       teller(h), (long long)ms);
        if (strstr(h->at, "ncclUniqueId"))
            mw__problem(
                d, "rank-behind", -1, -1,
                "see that the first rank of the group comes to the same first collective",
                "The first rank of the group did not come to make the communicator: it sets "
                "the key.");
        mw__missing(h->e, "which rank was to set the key of line %lld", (long long)h->line->number);
        return true;
    }
    bool connect = strstr(h->at, "client socket has timed out after ") != NULL;
    bool plain = strncmp(h->at, "RuntimeError: Socket Timeout", 28) == 0 ||
                 strncmp(h->at, "Socket Timeout", 14) == 0 ||
                 strncmp(h->at, "torch.distributed.DistNetworkError: Socket Timeout", 50) == 0;
    if (!connect && !plain) return false;
    mw_draft *d = begin(h, "c10d", "store-timeout", 40);
    if (mw__hang_number(h->at, "timed out after ", &ms))
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld%s", (long long)ms,
                 strstr(h->at, "ms") ? " ms" : "");
    mw__draft_says(d,
                   connect ? "%s could not reach the store's address."
                           : "%s had no answer from the store: its host, usually rank 0, is gone "
                             "or busy.",
                   teller(h));
    return true;
}

static bool abort_line(hang_here *h)
{
    int64_t rank;
    if (!mw__hang_number(h->at, "NCCL communicator was aborted on rank ", &rank)) return false;
    mw_draft *d = begin(h, "c10d", "abort", 30);
    const char *why = mw__hang_after(h->at, "Original reason for failure was: ");
    mw__fact(d, "rank in its group", MW_HOW_STATED, h->from, "%lld", (long long)rank);
    if (why) mw__fact(d, "reason", MW_HOW_STATED, h->from, "%.300s", why);
    mw__draft_says(d, "Rank %lld used a communicator that was aborted before: %s.", (long long)rank,
                   why ? "the reason stands in the line" : "an earlier line says why");
    if (!why)
        mw__missing(h->e,
                    "why the communicator of line %lld was aborted: the first error of that rank "
                    "tells",
                    (long long)h->line->number);
    return true;
}

bool mw__hang_store(hang_here *h)
{
    return barrier_line(h) || gloo_line(h) || joined_line(h) || store_line(h) || abort_line(h);
}
