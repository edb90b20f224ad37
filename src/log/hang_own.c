/* meshwise's own failures, as every rank tells them (comm/threads_fail.c, comm/messages_fail.c):
 *
 *     rank 1 failed in linear(...): out of memory; rank 0 was waiting for it in all_reduce ...
 *     rank 2 has ended its program; rank 0 waits for it in ...
 *     ranks disagree about the collective: rank 0 is in A, rank 1 is in B, for one the number 3 of
 *       this team, for the other the number 4
 *     rank 0 has waited 3 s for rank 2 in A: rank 2 does not answer (it was last in B), rank 1 is
 *       in A
 *     ranks wait for each other in different collectives: rank 0 waits for rank 1 in A, rank 1 ...
 *
 * After what is common to all comes, behind a semicolon, the place of the rank that tells. */
#include "log/hang.h"

#include <stdio.h>

enum { CLAUSES = 64 };

typedef enum verb { IS_IN, NOT_COME, NO_ANSWER, ENDED, WAITS, WAITED, FAILED, WAS } verb;

typedef struct clause {
    int64_t rank;
    const char *says; /* "is in all_reduce tp sum of f32[4, 6]" */
    verb verb;
} clause;

static const struct {
    const char *words;
    verb verb;
} verbs[] = {
    {"is in ", IS_IN},
    {"has not come yet", NOT_COME},
    {"does not answer", NO_ANSWER},
    {"has ended its program", ENDED},
    {"waits for it in ", WAS},
    {"was waiting for it in ", WAS},
    {"waits for rank ", WAITS},
    {"has waited ", WAITED},
    {"failed in ", FAILED},
    {"failed: ", FAILED},
    {"was in ", WAS},
    {"came to ", WAS},
    {"was told to end while it waited for rank ", WAS},
};

/* "rank 3 is in ": the rank and what it does. */
static bool clause_at(const char *at, clause *ret)
{
    if (strncmp(at, "rank ", 5) != 0) return false;
    const char *p = at + 5;
    if (*p < '0' || *p > '9' || !mw__hang_int(&p, &ret->rank) || *p++ != ' ') return false;
    for (int i = 0; i < MW_COUNT(verbs); i++) {
        if (strncmp(p, verbs[i].words, strlen(verbs[i].words)) != 0) continue;
        ret->says = p;
        ret->verb = verbs[i].verb;
        return true;
    }
    return false;
}

/* Clauses of a sentence; those that follow a comma, a semicolon or a colon. */
static int clauses(const hang_here *h, const char *text, clause *ret)
{
    int n = 0;
    const char *begin[CLAUSES + 1];
    for (const char *at = text; *at && n < CLAUSES; at++) {
        bool may = at == text || (at[-1] == ' ' && at > text + 1 && strchr(",;:", at[-2]));
        if (!may || !clause_at(at, &ret[n])) continue;
        begin[n++] = at;
    }
    for (int i = 0; i < n; i++) {
        const char *end = i + 1 < n ? begin[i + 1] - 2 : text + strlen(text);
        if (end < ret[i].says) end = ret[i].says;
        const char *kept =
            mw__arena_strndup(mw__explain_scratch(h->e), ret[i].says, (size_t)(end - ret[i].says));
        if (!kept) h->e->failed = true;
        ret[i].says = kept ? kept : "";
    }
    return n;
}

static void tell_clauses(const hang_here *h, mw_draft *d, const clause *c, int n)
{
    for (int i = 0; i < n; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "rank %lld", (long long)c[i].rank);
        mw__fact(d, name, MW_HOW_STATED, h->from, "%.300s", c[i].says);
    }
}

static mw_draft *begin(hang_here *h, const char *event, int weight)
{
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", event);
    mw__draft_weight(d, weight);
    return d;
}

static const char same_order[] =
    "let every rank come to the same collectives, with the same shapes, dtypes, "
    "layouts and teams, in the same order";

/* "all_reduce" of "is in all_reduce tp sum". */
static int64_t op_length(const char *says)
{
    return (int64_t)strcspn(says + 6, " ,(");
}

static void tell_disagreement(hang_here *h, const char *text, const clause *c, int n)
{
    mw_draft *d = begin(h, "mismatch", 90);
    int64_t a = HANG_NONE, b = HANG_NONE;
    const clause *x = &c[0], *y = NULL;
    tell_clauses(h, d, c, n);
    for (int i = 1; i < n && !y; i++)
        if (c[i].verb == IS_IN && strcmp(c[i].says, x->says) != 0) y = &c[i];
    if (!y && n > 1) y = &c[1];
    const char *numbers = mw__hang_after(text, "for one the number ");
    if (numbers && mw__hang_int(&numbers, &a)) (void)mw__hang_number(numbers, "the number ", &b);
    mw__draft_says(
        d, "meshwise stopped all ranks: they disagree about the next collective%s%.120s%s%.120s.",
        y ? "; one " : "", y ? x->says : "", y ? ", another " : "", y ? y->says : "");
    if (!y) return;
    bool same = op_length(x->says) == op_length(y->says) &&
                strncmp(x->says, y->says, 6 + (size_t)op_length(x->says)) == 0;
    bool shapes = same && b == HANG_NONE && strcmp(x->says, y->says) != 0;
    mw__problem(d, shapes ? "uneven-inputs" : "diverged-control-flow", -1, -1, same_order,
                "Rank %lld %.200s, where rank %lld %.200s%s.", (long long)x->rank, x->says,
                (long long)y->rank, y->says,
                b != HANG_NONE ? ": they have made different numbers of collectives" : "");
}

static void tell_waits(hang_here *h, const char *text, const clause *c, int n)
{
    mw_draft *d = begin(h, "timeout", 85);
    hang_ranks silent = {0}, ended = {0};
    int64_t goal = HANG_NONE;
    (void)mw__hang_number(text, " for rank ", &goal);
    tell_clauses(h, d, c, n);
    for (int i = 1; i < n; i++) {
        if (c[i].verb == NOT_COME || c[i].verb == NO_ANSWER)
            mw__hang_ranks_add(h->e, &silent, c[i].rank);
        if (c[i].verb == ENDED) mw__hang_ranks_add(h->e, &ended, c[i].rank);
    }
    char who[60] = "for the readers of its buffer";
    if (goal != HANG_NONE) (void)snprintf(who, sizeof who, "for rank %lld", (long long)goal);
    mw__draft_says(d, "Rank %lld waited %s until its time-out%s%s.", (long long)c[0].rank, who,
                   silent.n ? "; without a sign of " : "",
                   silent.n ? mw__hang_ranks_text(h->e, &silent, "rank") : "");
    if (silent.n)
        mw__problem(
            d, "rank-behind", -1, -1,
            "see what it does: it is stopped, gone, or works long on its own, which needs a "
            "longer --timeout",
            "%s did not come to the collective in which the others wait.",
            mw__hang_ranks_text(h->e, &silent, "Rank"));
    if (ended.n)
        mw__problem(d, "diverged-control-flow", -1, -1, same_order,
                    "%s had ended the program while others waited.",
                    mw__hang_ranks_text(h->e, &ended, "Rank"));
    if (strlen(text) > 3 && strcmp(text + strlen(text) - 3, "...") == 0)
        mw__missing(h->e, "where the other ranks are: the message of line %lld is cut at its end",
                    (long long)h->line->number);
}

static void tell_circle(hang_here *h, const clause *c, int n)
{
    mw_draft *d = begin(h, "mismatch", 90);
    tell_clauses(h, d, c, n);
    mw__draft_says(d,
                   "Ranks wait for each other in a circle, in different collectives: a deadlock.");
    if (n > 1)
        mw__problem(d, "diverged-control-flow", -1, -1, same_order,
                    "Rank %lld %.200s, and rank %lld %.200s: neither can go on.",
                    (long long)c[0].rank, c[0].says, (long long)c[1].rank, c[1].says);
}

static void tell_failure(hang_here *h, const clause *c, int n)
{
    bool ended = c[0].verb == ENDED;
    mw_draft *d = begin(h, ended ? "mismatch" : "rank-failed", 80);
    tell_clauses(h, d, c, n);
    mw__draft_says(d, "Rank %lld %.250s; rank %lld %.150s.", (long long)c[0].rank, c[0].says,
                   (long long)c[n - 1].rank, c[n - 1].says);
    if (ended)
        mw__problem(d, "diverged-control-flow", -1, -1, same_order,
                    "Rank %lld ended its program while rank %lld still needed it for a collective.",
                    (long long)c[0].rank, (long long)c[n - 1].rank);
    else
        mw__problem(
            d, "rank-failed", -1, -1,
            "mend what that rank failed at; the others only waited for it",
            "Rank %lld %.250s: the cause is its own, the waiting of the others a consequence.",
            (long long)c[0].rank, c[0].says);
}

bool mw__hang_own(hang_here *h)
{
    const char *text = h->line->text;
    if (strncmp(text, "meshwise: ", 10) == 0) text += 10;
    const char *disagree = mw__hang_after(text, "ranks disagree about the collective: ");
    const char *circle =
        mw__hang_after(text, "ranks wait for each other in different collectives: ");
    clause c[CLAUSES], first;
    if (disagree || circle) {
        int n = clauses(h, disagree ? disagree : circle, c);
        if (n && disagree) tell_disagreement(h, disagree, c, n);
        if (n && circle) tell_circle(h, c, n);
        return n > 0;
    }
    if (!clause_at(text, &first) || first.verb == IS_IN || first.verb == NOT_COME) return false;
    int n = clauses(h, text, c);
    if (first.verb == WAITED && strstr(text, " s for ")) {
        tell_waits(h, text, c, n);
        return true;
    }
    if ((first.verb != FAILED && first.verb != ENDED) || n < 2 || c[n - 1].verb != WAS)
        return false;
    tell_failure(h, c, n);
    return true;
}
