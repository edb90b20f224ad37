/* What the flight recorder's analyzer prints (torchfrtrace and its forerunners): a sentence, and
 * lines `name: value` under it.
 *
 *     Not all ranks joining collective, sequence number: 5
 *     group info: 0:default_pg
 *     collective: nccl:all_reduce
 *     missing ranks: {1}
 *     input sizes: [[3, 4]]
 *     world size: 2
 *     expected ranks: {0, 1}
 *     collective state: scheduled
 *     error msg: Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH, ...
 */
#include "log/hang.h"

#include <stdio.h>

enum { LINES = 40 };

typedef enum finding { NONE, NOT_JOINED, DIFFERS, SIZES } finding;

typedef struct hang_analysis {
    mw_draft *draft; /* NULL: no block is open */
    finding what;
    int64_t number, last;
    char group[160], op[160], state[40], sizes[200], error[300];
    hang_ranks absent;
} hang_analysis;

static const struct {
    const char *words;
    finding what;
} heads[] = {
    {"Not all ranks joining collective", NOT_JOINED},
    {"Input/output mismatch in the collective", SIZES},
};

static hang_analysis *state_of(hang_here *h)
{
    hang_state *s = h->s;
    if (!s->analysis) s->analysis = mw__arena_zalloc(&h->e->arena, sizeof *s->analysis);
    if (!s->analysis) h->e->failed = true;
    return s->analysis;
}

static void say(hang_here *h, hang_analysis *a)
{
    const char *absent = a->absent.n ? mw__hang_ranks_text(h->e, &a->absent, "rank") : "";
    char number[40] = "";
    if (a->number != HANG_NONE)
        (void)snprintf(number, sizeof number, " %lld", (long long)a->number);
    mw__draft_says(a->draft, "The analyzer found: %s collective%s%s%s%s%s%s%s.",
                   a->what == NOT_JOINED ? "not all ranks came to" : "ranks differ in", number,
                   a->op[0] ? ", " : "", a->op, a->group[0] ? ", of group " : "", a->group,
                   absent[0] ? "; missing: " : "", absent);
}

void mw__hang_analysis_end(hang_here *h)
{
    hang_analysis *a = h->s->analysis;
    if (!a || !a->draft) return;
    say(h, a);
    if (a->what == NOT_JOINED && a->absent.n)
        mw__problem(
            a->draft, "rank-behind", -1, -1,
            "look at the last entries of these ranks' dumps, with stacks: what they did instead",
            "%s did not come to %s, which the others have %s.",
            mw__hang_ranks_text(h->e, &a->absent, "Rank"), a->op[0] ? a->op : "it",
            a->state[0] ? a->state : "issued");
    else if (a->what == NOT_JOINED)
        mw__missing(h->e,
                    "which ranks did not come: the analysis that ends in line %lld does not go on",
                    (long long)a->last);
    else
        mw__problem(a->draft, a->what == SIZES ? "uneven-inputs" : "collective-mismatch", -1, -1,
                    "compare this number's entries in the dumps of the ranks: op, sizes and stack",
                    "Ranks came to %s with something different%s%s.",
                    a->op[0] ? a->op : "a collective", a->error[0] ? ": " : "", a->error);
    a->draft = NULL;
}

static void open_block(hang_here *h, finding what, const char *at)
{
    hang_analysis *a = state_of(h);
    if (!a) return;
    mw__hang_analysis_end(h);
    *a = (hang_analysis){.what = what, .number = HANG_NONE, .last = h->line->number};
    if (!mw__hang_number(at, "sequence number: ", &a->number) &&
        !mw__hang_number(at, "joining collective ", &a->number))
        (void)mw__hang_number(at, "mismatch in the collective ", &a->number);
    a->draft = mw__draft(h->e, h->line, "c10d", "analysis");
    mw__draft_weight(a->draft, 80);
    if (a->number != HANG_NONE)
        mw__fact(a->draft, "sequence number", MW_HOW_STATED, h->from, "%lld", (long long)a->number);
    const char *group = mw__hang_after(at, " for group "),
               *op = mw__hang_after(at, " collective n");
    if (group) (void)snprintf(a->group, sizeof a->group, "%.*s", (int)strcspn(group, " "), group);
    if (group && op) (void)snprintf(a->op, sizeof a->op, "n%.*s", (int)strcspn(op, " "), op);
    const char *absent = mw__hang_after(at, "Missing ranks are ");
    if (absent) mw__hang_ranks_read(h, absent, &a->absent);
    say(h, a);
}

/* `Collective sequence number: 5 has errors`. */
static bool head_line(hang_here *h)
{
    for (int i = 0; i < MW_COUNT(heads); i++) {
        const char *at = strstr(h->at, heads[i].words);
        if (!at) continue;
        open_block(h, heads[i].what, at);
        return true;
    }
    const char *at = mw__hang_after(h->at, "Collective sequence number: ");
    if (!at || !strstr(at, "has errors")) return false;
    open_block(h, DIFFERS, at - strlen("sequence number: "));
    return true;
}

static bool value_line(hang_here *h, hang_analysis *a)
{
    static const char *const names[] = {
        "group info",   "collective",         "missing ranks",          "input sizes",
        "output sizes", "world size",         "expected ranks",         "collective state",
        "error msg",    "internal record id", "collective stack trace", "total numel",
        "error_culprit"};
    for (int i = 0; i < MW_COUNT(names); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(h->at, names[i], n) != 0 || h->at[n] != ':') continue;
        const char *value = h->at + n + 1 + strspn(h->at + n + 1, " ");
        if (i == 0) (void)snprintf(a->group, sizeof a->group, "%s", value);
        if (i == 1) (void)snprintf(a->op, sizeof a->op, "%s", value);
        if (i == 2) mw__hang_ranks_read(h, value, &a->absent);
        if (i == 7) (void)snprintf(a->state, sizeof a->state, "%s", value);
        if (i == 8) (void)snprintf(a->error, sizeof a->error, "%s", value);
        if (*value) mw__fact(a->draft, names[i], MW_HOW_STATED, h->from, "%.200s", value);
        mw__draft_last(a->draft, h->line->number);
        say(h, a);
        return true;
    }
    return false;
}

/* "  all_reduce at /home/me/train.py:44" under a stack trace. */
static bool frame_line(const hang_here *h)
{
    const char *at = strstr(h->at, " at "), *colon = at ? strrchr(at, ':') : NULL;
    return colon && colon[1] >= '0' && colon[1] <= '9' && at - h->at < 120;
}

static bool verdict_line(hang_here *h)
{
    static const struct {
        const char *words, *says;
    } row[] = {
        {"We cannot decide what's wrong with this collective entry",
         "dumps of some ranks lack, so the analyzer could not tell what is wrong"},
        {"No errors found for this collective entry",
         "the ranks agree about the collective: its not ending has another cause (network, device, "
         "a "
         "kernel before it)"},
        {"Too many errors", "it stopped: too many mismatches"},
    };
    for (int i = 0; i < MW_COUNT(row); i++) {
        if (!strstr(h->at, row[i].words)) continue;
        mw_draft *d = mw__draft(h->e, h->line, "c10d", "analysis");
        mw__draft_weight(d, 30);
        const char *absent = mw__hang_after(h->at, "dumps from ranks ");
        if (absent) {
            hang_ranks set = {0};
            mw__hang_ranks_read(h, absent, &set);
            if (set.n)
                mw__fact(d, "dumps not there", MW_HOW_STATED, h->from, "%s",
                         mw__hang_ranks_text(h->e, &set, "rank"));
        }
        mw__draft_says(d, "The analyzer says: %s.", row[i].says);
        return true;
    }
    return false;
}

bool mw__hang_analysis(hang_here *h)
{
    hang_analysis *a = h->s->analysis;
    if (head_line(h) || verdict_line(h)) return true;
    if (!a || !a->draft) return false;
    if (h->line->number - a->last > LINES) {
        mw__hang_analysis_end(h);
        return false;
    }
    if (!value_line(h, a) && !frame_line(h)) return false;
    a->last = h->line->number;
    return true;
}

bool mw__hang_inside(const hang_state *s)
{
    return s->analysis && s->analysis->draft;
}
