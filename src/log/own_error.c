/* Errors as the tool prints them: a sentence, and indented lines with the place, a hint, a text
 * with a caret under what is wrong. Strict mode's refusals name the movement that was refused. */
#include "log/own.h"

typedef struct refusal {
    const char *op, *change, *steps, *why;
    int64_t bytes;
} refusal;

/* `softmax would move A to B unasked: STEPS (64 bytes to the rank that receives most); WHY` */
static bool read_refusal(const own_here *h, const char *at, refusal *ret)
{
    const char *name;
    int length;
    if (!mw__own_name(&at, &name, &length) || !mw__own_skip(&at, " would move ")) return false;
    const char *unasked = strstr(at, " unasked: "), *open;
    const char *most = unasked ? strstr(unasked, " bytes to the rank that receives most)") : NULL;
    if (!most) return false;
    for (open = most; open > unasked && *open != '('; open--) {}
    const char *number = open + 1;
    if (!mw__own_int(&number, &ret->bytes) || number != most) return false;
    const char *why = strchr(most, ';');
    ret->op = mw__own_cut(h, name, length);
    ret->change = mw__own_cut(h, at, unasked - at);
    ret->steps = mw__own_cut(h, unasked + 10, open - unasked - 10);
    ret->why = why ? mw__own_cut(h, why + 1, (int64_t)strlen(why + 1)) : "";
    return true;
}

static void tell_refusal(const own_here *h, const refusal *r)
{
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "strict");
    mw_entry *entry = mw__draft_entry(d);
    const char *to = strstr(r->change, " to "), *fix = "";
    own_type a, b;
    if (entry) entry->op = mw__own_keep(h, r->op);
    mw__fact(d, "op", MW_HOW_STATED, h->from, "%s", r->op);
    if (to) {
        const char *from = mw__own_cut(h, r->change, to - r->change), *target = to + 4, *p = from;
        if (mw__own_type(h, &p, &a)) mw__own_tell_type(h, d, "from", &a, h->from);
        p = target;
        if (mw__own_type(h, &p, &b)) mw__own_tell_type(h, d, "to", &b, h->from);
        fix = mw__explain_text(
            h->e, "mark the operand with mark_sharding as %s, or place its producer so", target);
    }
    mw__fact(d, "steps", MW_HOW_STATED, h->from, "%s", r->steps);
    mw__fact(d, "would be received per rank", MW_HOW_STATED, h->from, "%lld B",
             (long long)r->bytes);
    if (r->why[0]) mw__fact(d, "reason", MW_HOW_STATED, h->from, "%s", r->why);
    mw__draft_says(d, "Strict mode refused what %s needs: %s from %s, %lld B received per rank.",
                   r->op, r->steps, r->change, (long long)r->bytes);
    mw__problem(d, "unasked-movement", r->bytes, -1, fix ? fix : "",
                "nobody asked for this movement, and strict mode refuses it; %s", r->why);
    h->state->error = d;
    h->state->error_line = h->line->number;
}

static void tell_error(const own_here *h, const char *says)
{
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "error");
    const char *column = strstr(says, " at column ");
    int64_t n;
    mw__fact(d, "message", MW_HOW_STATED, h->from, "%s", says);
    if (column) {
        column += strlen(" at column ");
        if (mw__own_int(&column, &n))
            mw__fact(d, "column", MW_HOW_STATED, h->from, "%lld", (long long)n);
    }
    mw__draft_says(d, "meshwise stopped: %s.", says);
    mw__problem(d, "error", -1, -1, "", "%s", says);
    h->state->error = d;
    h->state->error_line = h->line->number;
}

static void sentence(const own_here *h, const char *says)
{
    refusal r;
    if (read_refusal(h, says, &r))
        tell_refusal(h, &r);
    else
        tell_error(h, says);
}

/* The advice that the text itself gives is the fix. */
static void advise(const own_here *h, const char *hint)
{
    mw_draft *d = h->state->error;
    mw_entry *entry = mw__draft_entry(d);
    mw__fact(d, "hint", MW_HOW_STATED, h->from, "%s", hint);
    if (entry && entry->nproblem) d->problem[0].fix = mw__own_keep(h, hint);
}

static void follow(const own_here *h)
{
    mw_draft *d = h->state->error;
    const char *at = h->line->text;
    if (mw__own_skip(&at, "hint: "))
        advise(h, at);
    else if (mw__own_skip(&at, "in "))
        mw__fact(d, "where", MW_HOW_STATED, h->from, "%s", at);
    else if (mw__own_skip(&at, "at "))
        mw__fact(d, "frame", MW_HOW_STATED, h->from, "%s", at);
    else if (at[strspn(at, " ^")])
        mw__fact(d, "text", MW_HOW_STATED, h->from, "%s", at);
    mw__draft_last(d, h->line->number);
    h->state->error_line = h->line->number;
}

void mw__own_error(const own_here *h, const char *says, const char *where, const char *hint)
{
    const char *text = mw__own_cut(h, says, (int64_t)strcspn(says, "\n"));
    sentence(h, text);
    if (where[0]) mw__fact(h->state->error, "where", MW_HOW_STATED, h->from, "%s", where);
    if (hint[0]) advise(h, hint);
    h->state->error = NULL;
}

bool mw__own_error_line(const own_here *h)
{
    const char *at = h->line->text;
    own_state *s = h->state;
    refusal r;
    if (mw__own_skip(&at, "strict: ") || mw__own_skip(&at, "error: ")) {}
    if (read_refusal(h, at, &r)) {
        tell_refusal(h, &r);
        return true;
    }
    at = h->line->text;
    bool next = s->error && h->line->number == s->error_line + 1;
    if (next && (h->line->indent >= 2 || strncmp(at, "hint: ", 6) == 0)) {
        follow(h);
        return true;
    }
    s->error = NULL;
    if (mw__own_skip(&at, "meshwise: ") && *at) {
        sentence(h, at);
        return true;
    }
    return strcmp(at, "strict mode refuses an unasked movement") == 0;
}
