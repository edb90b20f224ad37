/* What was explained as text: the answer in at most ten lines, or an entry with all its facts. */
#include "cli/explain.h"

#include <stdio.h>
#include <string.h>

static void lines_of(const mw_entry *e)
{
    if (e->first == e->last)
        printf("line %lld", (long long)e->first);
    else
        printf("lines %lld-%lld", (long long)e->first, (long long)e->last);
    if (e->count > 1) printf(" (%lld times)", (long long)e->count);
}

void explain_problems(const mw_entry *entry)
{
    for (int i = 0; i < entry->nproblem; i++) {
        const mw_problem *p = &entry->problem[i];
        printf("  PROBLEM %s: %s\n", p->kind, p->says);
        if (p->fix[0]) printf("    do: %s", p->fix);
        if (p->fix[0] && p->bytes_now >= 0 && p->bytes_after >= 0)
            printf(" (%lld B received per rank instead of %lld B)", (long long)p->bytes_after,
                   (long long)p->bytes_now);
        if (p->fix[0]) printf("\n");
    }
}

void explain_entry(const mw_explain *e, const mw_entry *entry)
{
    (void)e;
    lines_of(entry);
    printf(": %s\n", entry->says);
    if (entry->ranks) {
        printf("  told by rank");
        for (int r = 0; r < 64; r++)
            if (entry->ranks >> r & 1) printf(" %d", r);
        printf("\n");
    }
    for (int i = 0; i < entry->nfact; i++) {
        const mw_fact *f = &entry->fact[i];
        printf("  %s: %s   (%s: %s)\n", f->name, f->value, mw_how_name(f->how), f->from);
    }
    explain_problems(entry);
}

/* ---- the short answer ---------------------------------------------------------------------- */

enum { SHOWN = 220 }; /* bytes of a sentence in the short answer */

/* The text, or its beginning, which ends with a whole character; false: it was cut. */
static bool cut(const char *text, size_t most)
{
    size_t n = strlen(text);
    bool whole = n <= most;
    for (n = whole ? n : most; !whole && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        continue;
    printf("%.*s%s", (int)n, text, whole ? "" : "...");
    return whole;
}

void explain_line(const mw_entry *e)
{
    lines_of(e);
    printf(": ");
    (void)cut(e->says, SHOWN);
    printf("\n");
}

static void number(int64_t n, const char *what, const char *after)
{
    printf("%lld %s%s%s", (long long)n, what, n == 1 ? "" : "s", after);
}

void explain_moved(const explained *x)
{
    if (!x->movements) {
        printf("Nothing in it says that anything moved.\n");
        return;
    }
    printf("Movements: %lld collective%s", (long long)x->movements, x->movements == 1 ? "" : "s");
    if (x->unknown < x->movements) printf(", %lld B received per rank", (long long)x->bytes);
    if (x->unknown)
        printf("%s %lld",
               x->unknown < x->movements ? "; the text does not give the bytes of"
                                         : ", no bytes given for",
               (long long)x->unknown);
    printf(".\n");
}

/* Where the text tells forward from backward: how much of it in each; the lines that took. */
static int passes(const explained *x)
{
    static const char *const pass[] = {"forward", "backward", ""};
    int told = 0;
    for (int p = 0; p < 3; p++) {
        int64_t count = 0, bytes = 0;
        for (int64_t i = 0; i < x->nkind; i++)
            if (strcmp(x->kind[i].direction, pass[p]) == 0) {
                count += x->kind[i].count;
                bytes += x->kind[i].bytes;
            }
        if (!count || (p == 2 && !told)) continue;
        printf("%s%s: %lld", told++ ? "; " : "", *pass[p] ? pass[p] : "not told", (long long)count);
        if (bytes) printf(", %lld B", (long long)bytes);
    }
    if (told) printf(".\n");
    return told > 0;
}

int explain_worst(const explained *x, int most)
{
    int shown = 0;
    int64_t left = x->problems;
    for (int level = 100; level > 0 && shown < most; level -= 25)
        for (int64_t i = 0; i < mw_explain_entries(x->e) && shown < most; i++) {
            const mw_entry *e = mw_explain_entry(x->e, i);
            if (!e->nproblem || e->weight > level || e->weight <= level - 25) continue;
            printf("Problem, line %lld: ", (long long)e->first);
            const char *says = e->problem[0].says;
            bool whole = cut(says, SHOWN), dot = *says && says[strlen(says) - 1] == '.';
            if (e->problem[0].fix[0]) {
                printf("%s Do: ", whole && !dot ? "." : "");
                (void)cut(e->problem[0].fix, SHOWN);
            }
            printf("\n");
            shown++;
            left -= e->nproblem;
        }
    if (left > 0)
        printf("%lld more problem%s (--all --only problems lists %s).\n", (long long)left,
               left == 1 ? "" : "s", left == 1 ? "it" : "them");
    return shown + (left > 0);
}

/* What matters most besides movements and problems. */
static void others(const explained *x, int most)
{
    for (int64_t i = 0; i < mw_explain_entries(x->e) && most > 0; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        if (e->collective || e->nproblem) continue;
        explain_line(e);
        most--;
    }
}

static void counts(const explained *x)
{
    int64_t unread = mw_explain_unread(x->e);
    number(mw_explain_lines(x->e), "line", ": ");
    number(x->calls, "call", ", ");
    number(x->movements, "movement", ", ");
    number(x->problems, "problem", "");
    if (unread)
        printf("; %lld that nobody could read (first line %lld)", (long long)unread,
               (long long)mw_explain_unread_at(x->e, 0));
    printf(".\n");
}

/* What the text does not say: all of it, or the first in at most two lines. */
static void missing(const explained *x, bool all)
{
    int64_t n = mw_explain_missing(x->e);
    for (int64_t i = 0; i < (all ? n : n > 0); i++) {
        printf("Missing: ");
        (void)cut(mw_explain_missing_at(x->e, i), all ? (size_t)-1 : SHOWN);
        printf("\n");
    }
    if (n > 1 && !all)
        printf("Missing too: %lld more thing%s (--all lists %s).\n", (long long)n - 1,
               n == 2 ? "" : "s", n == 2 ? "it" : "them");
}

enum { LINES = 10, PROBLEMS = 2 };

void explain_short(const explained *x, bool all)
{
    int64_t gone = mw_explain_missing(x->e);
    int left = LINES - 1 - (gone > 1 ? 2 : gone > 0);
    counts(x);
    if (all && x->problems_only) return;
    left -= explain_worst(x, x->problems_only ? LINES - 2 : PROBLEMS);
    if (x->problems_only) return;
    if (mw_explain_entries(x->e)) {
        explain_moved(x);
        left -= 1 + passes(x);
    }
    for (int k = 0; k < WORST && x->worst[k] >= 0 && left > 0; k++, left--)
        explain_line(mw_explain_entry(x->e, x->worst[k]));
    if (!all) others(x, left);
    missing(x, all);
}
