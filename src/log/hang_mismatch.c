/* What TORCH_DISTRIBUTED_DEBUG=DETAIL finds before a collective runs:
 *
 *     Detected mismatch between collectives on ranks. Rank 0 is running collective:
 *       CollectiveFingerPrint(SequenceNumber=7, OpType=ALLREDUCE, TensorShape=[6, 4],
 *       TensorDtypes=Float, TensorDeviceTypes=cuda), but Rank 2 is running collective:
 *       CollectiveFingerPrint(...).Collectives differ in the following aspects: ...
 *
 * A barrier's fingerprint has no tensors, and no comma behind its number. The last sentence repeats
 * what the two fingerprints say, and is not read. */
#include "log/hang.h"

#include <stdio.h>

typedef struct print {
    int64_t rank, number;
    const char *op, *shape, *dtype, *device;
    bool tensors;
} print;

/* Reads "Rank 2 is running collective: CollectiveFingerPrint(...)"; the words may be others
 * between. */
static const char *read_print(const hang_here *h, const char *at, print *ret)
{
    *ret = (print){.rank = HANG_NONE, .number = HANG_NONE};
    const char *rank = mw__hang_after(at, "Rank ");
    const char *open = mw__hang_after(rank, "CollectiveFingerPrint(");
    const char *next = mw__hang_after(rank, "Rank ");
    bool bare = rank && (!open || (next && next < open));
    if (bare) open = mw__hang_after(rank, "collective: ");
    if (!rank || !open || (next && next < open) || !mw__hang_int(&rank, &ret->rank)) return NULL;
    const char *end = open;
    for (int depth = 1; *end && !(bare && end == next); end++) {
        depth += *end == '(';
        if (*end == ')' && --depth == 0) break;
    }
    (void)mw__hang_number(open, "SequenceNumber=", &ret->number);
    const char *op = strstr(open, "OpType=");
    if (!op || op > end) {
        ret->op = "";
    } else {
        op += 7;
        ret->op =
            mw__hang_keep(h, op, (int64_t)strspn(op, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"));
    }
    ret->shape = mw__hang_field(h, open, end, "TensorShape=");
    ret->dtype = mw__hang_field(h, open, end, "TensorDtypes=");
    ret->device = mw__hang_field(h, open, end, "TensorDeviceTypes=");
    ret->tensors = *ret->shape != 0;
    return end;
}

static void tell_print(const hang_here *h, mw_draft *d, const print *p)
{
    char name[60];
    struct {
        const char *what, *value;
    } const row[] = {{"runs", p->op}, {"shape", p->shape}, {"dtype", p->dtype}};
    if (p->number != HANG_NONE) {
        (void)snprintf(name, sizeof name, "rank %lld: sequence number", (long long)p->rank);
        mw__fact(d, name, MW_HOW_STATED, h->from, "%lld", (long long)p->number);
    }
    for (int i = 0; i < MW_COUNT(row); i++) {
        if (!*row[i].value) continue;
        (void)snprintf(name, sizeof name, "rank %lld: %s", (long long)p->rank, row[i].what);
        mw__fact(d, name, MW_HOW_STATED, h->from, "%s", row[i].value);
    }
}

static bool differ(const char *a, const char *b)
{
    return *a && *b && strcmp(a, b) != 0;
}

/* Words for a fingerprint: "ALLREDUCE of [6, 4] Float". */
static const char *words(const hang_here *h, const print *p)
{
    const char *text =
        mw__explain_text(h->e, "%s%s%s%s%s", *p->op ? p->op : "a collective",
                         *p->shape ? " of " : "", p->shape, *p->dtype ? " " : "", p->dtype);
    return text ? text : "";
}

static const char same_order[] =
    "see that every rank comes to the same collectives in the same order: look for a branch, an "
    "early "
    "return or a loop count that hangs on rank or data before this call";

static void find_problem(const hang_here *h, mw_draft *d, const print *a, const print *b)
{
    const char *x = words(h, a), *y = words(h, b);
    bool numbers = a->number != HANG_NONE && b->number != HANG_NONE;
    if (numbers && a->number != b->number)
        mw__problem(
            d, "diverged-control-flow", -1, -1, same_order,
            "Rank %lld is in its collective %lld (%s), rank %lld in its collective %lld (%s): "
            "one of them has made %lld fewer than the other.",
            (long long)a->rank, (long long)a->number, x, (long long)b->rank, (long long)b->number,
            y, (long long)(a->number > b->number ? a->number - b->number : b->number - a->number));
    else if (differ(a->op, b->op))
        mw__problem(
            d, "diverged-control-flow", -1, -1, same_order,
            "Rank %lld runs %s where rank %lld runs %s%s: their programs took different ways.",
            (long long)a->rank, x, (long long)b->rank, y,
            numbers ? ", at the same sequence number" : "");
    else if (differ(a->shape, b->shape) || a->tensors != b->tensors)
        mw__problem(d, "uneven-inputs", -1, -1,
                    "make the inputs equal on all ranks (pad the last batch or drop it, pad uneven "
                    "pieces), or use a collective that takes sizes per rank",
                    "Both run %s, but rank %lld with shape %s and rank %lld with %s: a collective "
                    "needs the same on all ranks.",
                    a->op, (long long)a->rank, *a->shape ? a->shape : "none", (long long)b->rank,
                    *b->shape ? b->shape : "none");
    else if (differ(a->dtype, b->dtype))
        mw__problem(d, "dtype-mismatch", -1, -1, "cast to one dtype on all ranks before the call",
                    "Both run %s of %s, but rank %lld with dtype %s and rank %lld with %s.", a->op,
                    a->shape, (long long)a->rank, a->dtype, (long long)b->rank, b->dtype);
}

bool mw__hang_mismatch(hang_here *h)
{
    const char *at = mw__hang_after(h->at, "Detected mismatch between collectives on ranks");
    print a, b;
    if (!at) return false;
    mw_draft *d = mw__draft(h->e, h->line, "c10d", "mismatch");
    mw__draft_weight(d, 90);
    const char *end = read_print(h, at, &a);
    if (!end || !read_print(h, end, &b)) {
        mw__draft_says(d, "Ranks came to different collectives.");
        mw__missing(h->e, "which collectives the ranks came to: line %lld does not go on",
                    (long long)h->line->number);
        return true;
    }
    tell_print(h, d, &a);
    tell_print(h, d, &b);
    if (differ(a.device, b.device))
        mw__fact(d, "devices", MW_HOW_STATED, h->from, "%s and %s", a.device, b.device);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = a.op;
    mw__draft_says(
        d, "Ranks disagree about the next collective: rank %lld runs %s, rank %lld runs %s.",
        (long long)a.rank, words(h, &a), (long long)b.rank, words(h, &b));
    find_problem(h, d, &a, &b);
    if (h->line->rank != a.rank)
        mw__missing(h->e,
                    "whether the ranks of the fingerprints in line %lld are global ranks: they "
                    "count within the process group, which the text does not name",
                    (long long)h->line->number);
    mw__missing(h->e,
                "what the other ranks run: the check compares two fingerprints at a time (line "
                "%lld); each rank's own message names another pair",
                (long long)h->line->number);
    return true;
}
