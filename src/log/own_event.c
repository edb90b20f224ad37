/* Events: the calls and movements that a run logs, a line each.
 *
 *     rank 0 #4 embedding(weight: f32[277@tp, 48], ...) -> f32[2, 48]{sum:tp}  [models/llama.c:132
 * step/llama] rank 0 #5 move all_reduce tp sum: f32[2, 48]{sum:tp} -> f32[2, 48]  384 B (most 384)
 * asked by mark_sharding  [...]
 *
 * A program's own sink may word movements otherwise; what stands between the types and the op is
 * read in any order. Events that differ in their rank and number alone are one entry, counted. */
#include "log/own.h"

#include <stdio.h>

/* ---- telling ---------------------------------------------------------------------------------
 */

static uint64_t key_of(const own_event *v)
{
    const char *const text[] = {v->op, v->text, v->result, v->tensor, v->from,
                                v->to, v->why,  v->site,   v->chain};
    int64_t number[] = {v->move, v->most, v->asked};
    uint64_t key = mw__hash(1, number, sizeof number);
    for (int i = 0; i < MW_COUNT(text); i++)
        key = mw__hash(key, text[i], strlen(text[i]) + 1);
    return key;
}

static void tell_place(const own_here *h, mw_draft *d, const own_event *v)
{
    if (v->site[0]) mw__fact(d, "called at", MW_HOW_STATED, h->from, "%s", v->site);
    if (v->chain[0]) mw__fact(d, "scopes", MW_HOW_STATED, h->from, "%s", v->chain);
}

static const char *at_site(const own_here *h, const own_event *v)
{
    const char *text = v->site[0] ? mw__explain_text(h->e, " at %s", v->site) : NULL;
    return text ? text : "";
}

static void tell_bytes(const own_here *h, mw_draft *d, const own_event *v, const char *kind,
                       const own_type *from, const own_type *to)
{
    if (v->most >= 0)
        mw__fact(d, "received per rank", MW_HOW_STATED, h->from, "%lld B", (long long)v->most);
    if (v->received >= 0 && v->most >= 0 && v->received != v->most)
        mw__fact(d, "received by the rank that tells", MW_HOW_STATED, h->from, "%lld B",
                 (long long)v->received);
    const char *planned;
    int64_t bytes = mw__explain_mesh(h->e) ? mw__own_moving(h, from, to, &planned) : -1;
    if (bytes < 0 || !planned || strcmp(planned, kind) != 0) return;
    mw__fact(d, "received by meshwise's own count", MW_HOW_ASSUMED,
             "if the mesh is the given one: the log states none", "%lld B", (long long)bytes);
}

static void say_move(const own_here *h, mw_draft *d, const own_event *v, bool moves)
{
    const char *bytes = !moves || v->most < 0 ? ""
                                              : mw__explain_text(h->e, ", %lld B received per rank",
                                                                 (long long)v->most);
    const char *of = v->tensor[0] ? mw__explain_text(h->e, " of %s", v->tensor) : "";
    const char *who = "";
    if (!bytes || !of) return;
    if (v->asked == 1)
        who = mw__explain_text(h->e, "; %s asked for it%s", v->op, at_site(h, v));
    else if (v->asked == 0)
        who = mw__explain_text(h->e, "; nobody asked for it: %s made it necessary%s", v->op,
                               at_site(h, v));
    mw__draft_says(d, "%s%s from %s to %s%s%s.", v->text, of, v->from, v->to,
                   moves ? bytes : ", nothing moves between ranks", who ? who : "");
}

static mw_draft *tell_move(const own_here *h, const mw_line *line, const own_event *v)
{
    mw_draft *d = mw__draft(h->e, line, "meshwise", "move");
    const char *at = v->text, *name, *axes = "";
    int length, naxes = 0;
    bool moves = true;
    own_type from, to;
    const char *kind =
        mw__own_name(&at, &name, &length) ? mw__own_step(name, length, &moves) : NULL;
    if (kind && *at == ' ') {
        axes = at + 1;
        naxes = (int)strcspn(axes, " ");
    }
    const char *axis = mw__own_cut(h, axes, naxes);
    if (kind && moves) mw__draft_moved(d, kind, axis, v->op, v->most);
    mw__fact(d, "movement", MW_HOW_STATED, h->from, "%s", v->text);
    if (kind) mw__fact(d, "collective", MW_HOW_STATED, h->from, "%s", kind);
    if (axis[0]) mw__fact(d, "mesh axis", MW_HOW_STATED, h->from, "%s", axis);
    if (v->tensor[0]) mw__fact(d, "tensor", MW_HOW_STATED, h->from, "%s", v->tensor);
    const char *a = v->from, *b = v->to;
    if (mw__own_type(h, &a, &from)) mw__own_tell_type(h, d, "from", &from, h->from);
    if (mw__own_type(h, &b, &to)) mw__own_tell_type(h, d, "to", &to, h->from);
    if (kind && from.text[0] && to.text[0]) tell_bytes(h, d, v, kind, &from, &to);
    if (v->asked >= 0) mw__fact(d, "asked", MW_HOW_STATED, h->from, "%s", v->asked ? "yes" : "no");
    if (v->op[0]) mw__fact(d, "on account of", MW_HOW_STATED, h->from, "%s", v->op);
    if (v->why[0]) mw__fact(d, "reason", MW_HOW_STATED, h->from, "%s", v->why);
    tell_place(h, d, v);
    say_move(h, d, v, moves);
    if (v->asked == 0 && moves && v->most > 0) {
        const char *fix = mw__explain_text(
            h->e, "mark the operand with mark_sharding as %s, or place its producer so", v->to);
        mw__problem(d, "unasked-movement", v->most, -1, fix ? fix : "",
                    "nobody asked for this movement; %s made it necessary%s%s", v->op,
                    v->why[0] ? ": " : "", v->why);
    }
    return d;
}

/* `weight: f32[...]` and plain values, up to the closing bracket. */
static void tell_arguments(const own_here *h, mw_draft *d, const char *at)
{
    int depth = 0, position = 0;
    for (const char *first = at;; at++) {
        if (*at == '(' || *at == '[' || *at == '{') depth++;
        bool end = !*at || (depth == 0 && *at == ')');
        if (*at == ')' || *at == ']' || *at == '}') depth--;
        if (!end && (depth != 0 || *at != ',')) continue;
        const char *text = mw__own_cut(h, first, at - first), *p = text, *name;
        int length;
        own_type t;
        bool named = mw__own_name(&p, &name, &length) && mw__own_skip(&p, ": ");
        if (named && mw__own_type(h, &p, &t))
            mw__own_tell_type(h, d, mw__own_cut(h, name, length), &t, h->from);
        else if (text[0]) {
            const char *as = mw__explain_text(h->e, "argument %d", position);
            if (as) mw__fact(d, as, MW_HOW_STATED, h->from, "%s", text);
        }
        position++;
        if (end) return;
        first = at + 1;
    }
}

static mw_draft *tell_call(const own_here *h, const mw_line *line, const own_event *v)
{
    mw_draft *d = mw__draft(h->e, line, "meshwise", "call");
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = mw__own_keep(h, v->op);
    mw__fact(d, "op", MW_HOW_STATED, h->from, "%s", v->op);
    const char *open = strchr(v->text, '(');
    if (open) tell_arguments(h, d, open + 1);
    own_type t;
    int n = 0;
    for (const char *at = v->result; mw__own_type(h, &at, &t); n++) {
        const char *name = mw__explain_text(h->e, "output %d", n);
        if (name) mw__own_tell_type(h, d, name, &t, h->from);
        if (!mw__own_skip(&at, ",")) break;
        at += strspn(at, " ");
    }
    tell_place(h, d, v);
    mw__draft_says(d, "%s gives %s%s.", v->op, v->result[0] ? v->result : "nothing", at_site(h, v));
    return d;
}

void mw__own_tell_event(const own_here *h, const own_event *v)
{
    mw_line line = *h->line;
    if (v->rank >= 0) line.rank = v->rank;
    uint64_t key = key_of(v);
    mw_draft *d = mw__own_get(&h->state->told, key);
    if (d) {
        mw__draft_again(d, &line);
        return;
    }
    d = v->move ? tell_move(h, &line, v) : tell_call(h, &line, v);
    if (d && v->last) mw__draft_last(d, v->last);
    if (d) mw__own_put(h, &h->state->told, key, d);
}

/* ---- reading ---------------------------------------------------------------------------------
 */

/* `[models/llama.c:132 step/llama]` at the end; *end moves before it. */
static void read_site(const own_here *h, const char *text, const char **end, own_event *v)
{
    if (*end <= text || (*end)[-1] != ']') return;
    const char *open = *end - 1;
    while (open > text && *open != '[')
        open--;
    const char *colon = memchr(open, ':', (size_t)(*end - open));
    if (*open != '[' || open == text || !colon || colon[1] < '0' || colon[1] > '9') return;
    const char *stop = colon + 1 + strspn(colon + 1, "0123456789");
    if (*stop != ' ' && *stop != ']') return;
    v->site = mw__own_cut(h, open + 1, stop - open - 1);
    v->chain = mw__own_cut(h, stop, *end - 1 - stop);
    *end = open;
    while (*end > text && (*end)[-1] == ' ')
        --*end;
}

static const char *find_before(const char *at, const char *end, const char *word)
{
    const char *found = strstr(at, word);
    return found && found + strlen(word) <= end ? found : NULL;
}

/* What stands behind the types: bytes, who asked, for which op, of which tensor, why. */
static bool read_account(const own_here *h, const char *at, const char *end, own_event *v)
{
    const char *by = find_before(at, end, " by "), *name;
    int length;
    at += strspn(at, ", ");
    if (!mw__own_int(&at, &v->received) || !mw__own_skip(&at, " B")) return false;
    v->most = v->received;
    if (mw__own_skip(&at, " (most ") && !mw__own_int(&at, &v->most)) return false;
    if (!by) return true;
    if (find_before(at, by + 1, "asked"))
        v->asked = !find_before(at, by + 1, "unasked") && !find_before(at, by + 1, "UNASKED");
    else if (find_before(at, by + 1, "UNASKED"))
        v->asked = 0;
    by += 4;
    if (!mw__own_name(&by, &name, &length)) return false;
    v->op = mw__own_cut(h, name, length);
    if (mw__own_skip(&by, " of ")) {
        const char *colon = find_before(by, end, ": ");
        v->tensor = mw__own_cut(h, by, (colon ? colon : end) - by);
        by = colon ? colon : end;
    }
    if (mw__own_skip(&by, ": ") && by < end) v->why = mw__own_cut(h, by, end - by);
    return true;
}

static bool read_move(const own_here *h, const char *at, const char *end, own_event *v)
{
    const char *colon = strstr(at, ": "), *name, *first = at;
    int length;
    bool moves;
    own_type from, to;
    if (!colon || !mw__own_name(&first, &name, &length) || !mw__own_step(name, length, &moves))
        return false;
    const char *p = colon + 2;
    if (!mw__own_type(h, &p, &from) || !mw__own_skip(&p, " -> ") || !mw__own_type(h, &p, &to))
        return false;
    v->move = true;
    v->text = mw__own_cut(h, at, colon - at);
    v->from = from.text;
    v->to = to.text;
    return p <= end && read_account(h, p, end, v);
}

static bool read_call(const own_here *h, const char *at, const char *end, own_event *v)
{
    const char *p = at, *name;
    int length, depth = 0;
    if (!mw__own_name(&p, &name, &length) || *p != '(') return false;
    for (; p < end; p++) {
        if (*p == '(') depth++;
        if (*p == ')' && --depth == 0) break;
    }
    if (p >= end || strncmp(p + 1, " -> ", 4) != 0) return false;
    v->op = mw__own_cut(h, name, length);
    v->text = mw__own_cut(h, at, p + 1 - at);
    v->result = mw__own_cut(h, p + 5, end - p - 5);
    own_type t;
    const char *result = v->result;
    return !*result || mw__own_type(h, &result, &t);
}

bool mw__own_event_line(const own_here *h)
{
    own_event v = {.rank = -1,
                   .number = -1,
                   .received = -1,
                   .most = -1,
                   .op = "",
                   .text = "",
                   .result = "",
                   .tensor = "",
                   .from = "",
                   .to = "",
                   .why = "",
                   .site = "",
                   .chain = "",
                   .asked = -1};
    const char *at = h->line->text, *end = at + h->line->length;
    int64_t rank;
    bool numbered = false;
    if (mw__own_skip(&at, "rank ")) {
        if (!mw__own_int(&at, &rank) || !mw__own_skip(&at, " #") || !mw__own_int(&at, &v.number) ||
            !mw__own_skip(&at, " "))
            return false;
        v.rank = rank < MW_MESH_RANKS ? (int)rank : -1;
        numbered = true;
    }
    const char *arrow = strstr(at, " -> ");
    if (!arrow) return false;
    read_site(h, at, &end, &v);
    const char *first = at;
    if (mw__own_skip(&at, "moved ") || mw__own_skip(&at, "move ")) at += strspn(at, " ");
    bool read = at < end && read_move(h, at, end, &v);
    if (!read) {
        v.move = false;
        read = (numbered || v.site[0]) && first < end && read_call(h, first, end, &v);
    }
    if (read) mw__own_tell_event(h, &v);
    return read;
}
