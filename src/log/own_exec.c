/* What `meshwise exec` tells of a run: results with their values, and movements over three lines.
 *
 *     %q : f32[8, 64@tp]
 *     [[0, 1], ...
 *     moved: 3 movements, 14336 B in all, 8192 B of them unasked
 *       line 8: %p: reduce_scatter dp,tp dim 0 sum, 768 B received per rank, 6144 B in all
 *         f32[8@dp, 64]{sum:tp} -> f32[8@dp,tp, 64]
 *         for softmax: axis tp: operand 0 is a partial sum
 */
#include "log/own.h"

/* Rows of numbers behind a result. */
static bool numbers(const own_here *h)
{
    const char *at = h->line->text;
    static const char *const words[] = {"nan", "inf", "true", "false", "True", "False"};
    bool any = false;
    while (*at) {
        size_t length = strchr("0123456789+-.,[] e", *at) != NULL;
        for (int i = 0; i < MW_COUNT(words) && !length; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0) length = strlen(words[i]);
        if (!length) return false;
        any = any || (*at != ' ' && *at != 'e');
        at += length;
    }
    return any;
}

/* `%q : f32[8, 64@tp]` */
static bool result(const own_here *h)
{
    const char *at = h->line->text, *name;
    int length;
    own_type t;
    if (!mw__own_skip(&at, "%") || !mw__own_name(&at, &name, &length) ||
        !mw__own_skip(&at, " : ") || !mw__own_type(h, &at, &t) || *at)
        return false;
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "result");
    const char *label = mw__explain_text(h->e, "%%%.*s", length, name);
    if (label) mw__own_tell_type(h, d, label, &t, h->from);
    mw__draft_says(d, "A result: %%%.*s is %s; its values follow.", length, name, t.text);
    h->state->values = d;
    return true;
}

static bool totals(const own_here *h)
{
    const char *at = h->line->text;
    int64_t n, all, unasked;
    bool nothing = strcmp(at, "moved: nothing") == 0;
    if (!nothing && (!mw__own_skip(&at, "moved: ") || !mw__own_int(&at, &n) ||
                     !mw__own_skip(&at, n == 1 ? " movement, " : " movements, ") ||
                     !mw__own_int(&at, &all) || !mw__own_skip(&at, " B in all, ") ||
                     !mw__own_int(&at, &unasked) || strcmp(at, " B of them unasked") != 0))
        return false;
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "totals");
    if (nothing) {
        mw__draft_says(d, "The run moved nothing.");
        return true;
    }
    mw__fact(d, "movements", MW_HOW_STATED, h->from, "%lld", (long long)n);
    mw__fact(d, "received by all ranks", MW_HOW_STATED, h->from, "%lld B", (long long)all);
    mw__fact(d, "of that unasked", MW_HOW_STATED, h->from, "%lld B", (long long)unasked);
    mw__draft_says(d,
                   "The run's own sum: %lld movement%s, %lld B received by all ranks together, "
                   "%lld B of them unasked.",
                   (long long)n, n == 1 ? "" : "s", (long long)all, (long long)unasked);
    return true;
}

/* `check: the same on one rank (largest difference 1.6e-07)`, or `check: DIFFERS from one rank: ..`
 */
static bool checked(const own_here *h)
{
    const char *at = h->line->text;
    if (!mw__own_skip(&at, "check: ")) return false;
    bool same = mw__own_skip(&at, "the same on one rank ("), differs = false;
    if (!same) differs = mw__own_skip(&at, "DIFFERS from one rank: ");
    if (!same && !differs) return false;
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "check");
    const char *rest = mw__own_cut(h, at, (int64_t)strlen(at) - same);
    mw__fact(d, "as on one rank", MW_HOW_STATED, h->from, "%s", same ? "yes" : "no");
    if (same) {
        mw__draft_says(d, "The results are those of the same program on one rank: %s.", rest);
        return true;
    }
    mw__draft_says(d, "The results are not those of the same program on one rank: %s.", rest);
    mw__problem(d, "differs-from-one-rank", -1, -1, "",
                "the sharded run gave other values than one rank: %s", rest);
    return true;
}

/* `line 8: %p: reduce_scatter dp,tp dim 0 sum, 768 B received per rank, 6144 B in all` */
static bool move(const own_here *h)
{
    own_pending *p = &h->state->pending;
    const char *at = h->line->text, *name, *comma;
    int length;
    int64_t line;
    bool moves;
    if (!mw__own_skip(&at, "line ") || !mw__own_int(&at, &line) || !mw__own_skip(&at, ": "))
        return false;
    const char *tensor = at, *colon = strstr(at, ": ");
    if (!colon) return false;
    const char *text = at = colon + 2;
    if (!mw__own_name(&at, &name, &length) || !mw__own_step(name, length, &moves)) return false;
    for (comma = at; (comma = strstr(comma, ", ")) != NULL; comma += 2) {
        const char *number = comma + 2;
        if (mw__own_int(&number, &p->received) && mw__own_skip(&number, " B received per rank"))
            break;
    }
    if (!comma) return false;
    p->first = *h->line;
    p->line = line;
    p->tensor = mw__own_keep(h, mw__own_cut(h, tensor, colon - tensor));
    p->text = mw__own_keep(h, mw__own_cut(h, text, comma - text));
    p->from = p->to = "";
    return true;
}

static bool types(const own_here *h)
{
    own_pending *p = &h->state->pending;
    const char *at = h->line->text;
    own_type from, to;
    if (p->from[0] || !mw__own_type(h, &at, &from) || !mw__own_skip(&at, " -> ") ||
        !mw__own_type(h, &at, &to) || *at)
        return false;
    p->from = mw__own_keep(h, from.text);
    p->to = mw__own_keep(h, to.text);
    return true;
}

/* `for OP: why`, or `asked for by OP`: all is known. */
static bool cause(const own_here *h)
{
    own_pending *p = &h->state->pending;
    const char *at = h->line->text;
    bool asked = mw__own_skip(&at, "asked for by ");
    if (!p->from[0] || (!asked && !mw__own_skip(&at, "for "))) return false;
    const char *colon = strstr(at, ": ");
    own_here first = *h;
    first.line = &p->first;
    first.from = mw__arena_printf(mw__explain_scratch(h->e), "lines %lld to %lld",
                                  (long long)p->first.number, (long long)h->line->number);
    if (!first.from) first.from = h->from;
    const char *site =
        mw__arena_printf(mw__explain_scratch(h->e), "line %lld of the program", (long long)p->line);
    own_event v = {.move = true,
                   .rank = -1,
                   .number = -1,
                   .received = p->received,
                   .most = p->received,
                   .op = colon ? mw__own_cut(h, at, colon - at) : at,
                   .text = p->text,
                   .result = "",
                   .tensor = p->tensor,
                   .from = p->from,
                   .to = p->to,
                   .why = colon ? colon + 2 : "",
                   .site = site ? site : "",
                   .chain = "",
                   .last = h->line->number,
                   .asked = asked};
    mw__own_tell_event(&first, &v);
    p->first.number = 0;
    return true;
}

/* `all_reduce  over tp  8 times  101376 B received,  2304 B a token  asked by  CAUSE`: a row of
 * `run --stats`, the account of the rank that receives most. */
static bool account(const own_here *h)
{
    const char *at = h->line->text, *name, *axes;
    int length;
    int64_t times, bytes;
    bool moves, asked;
    const char *kind =
        mw__own_name(&at, &name, &length) ? mw__own_step(name, length, &moves) : NULL;
    at += strspn(at, " ");
    if (!kind || !mw__own_skip(&at, "over ")) return false;
    axes = at;
    at += strcspn(at, " ");
    const char *axis = mw__own_cut(h, axes, at - axes);
    at += strspn(at, " ");
    if (!mw__own_int(&at, &times) || !mw__own_skip(&at, " times")) return false;
    at += strspn(at, " ");
    if (!mw__own_int(&at, &bytes) || !mw__own_skip(&at, " B received,")) return false;
    const char *token = strstr(at, " B a token  ");
    if (!token) return false;
    at = token + strlen(" B a token  ");
    asked = mw__own_skip(&at, "asked by");
    if (!asked && !mw__own_skip(&at, "UNASKED, for")) return false;
    const char *cause = mw__own_cut(h, at, (int64_t)strlen(at));
    const char *blank = strchr(cause, ' ');
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "account");
    mw_entry *entry = mw__draft_entry(d);
    mw__draft_moved(d, kind, axis, mw__own_cut(h, cause, (int64_t)strcspn(cause, " ")), bytes);
    if (entry) entry->runs = times;
    mw__fact(d, "times", MW_HOW_STATED, h->from, "%lld", (long long)times);
    mw__fact(d, "received per rank", MW_HOW_STATED, h->from, "%lld B in all", (long long)bytes);
    mw__fact(d, "asked", MW_HOW_STATED, h->from, "%s", asked ? "yes" : "no");
    if (blank) mw__fact(d, "called at", MW_HOW_STATED, h->from, "%s", blank + 1);
    mw__draft_says(d, "%s over %s, %lld time%s: %lld B received per rank in all; %s %s.", kind,
                   axis, (long long)times, times == 1 ? "" : "s", (long long)bytes,
                   asked ? "asked for by" : "nobody asked for it, it was made for", cause);
    if (!asked && bytes > 0)
        mw__problem(d, "unasked-movement", bytes, -1, "",
                    "nobody asked for these movements; they were made for %s", cause);
    return true;
}

bool mw__own_exec_line(const own_here *h)
{
    own_state *s = h->state;
    int64_t behind = s->pending.first.number ? h->line->number - s->pending.first.number : 0;
    if ((behind == 1 && types(h)) || (behind == 2 && cause(h))) return true;
    if (s->values && numbers(h)) {
        mw__draft_last(s->values, h->line->number);
        return true;
    }
    s->values = NULL;
    return result(h) || totals(h) || checked(h) || move(h) || account(h);
}
