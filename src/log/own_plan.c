/* Plans as `meshwise plan` prints them: the mesh and the two layouts, a line a step, what it costs
 * in all, what else could be done. A plan says what would move. Its numbers are counted again on
 * its own mesh. */
#include "log/own.h"

#include <stdio.h>

static void extend(const own_here *h)
{
    mw__draft_last(h->state->plan, h->line->number);
    h->state->plan_line = h->line->number;
}

/* `mesh x=2,y=4   f32[16@x, 8] -> f32[16, 8@x]`, or `mesh A -> B   ...` where the target's differs.
 */
static bool header(const own_here *h)
{
    const char *at = h->line->text;
    own_type from, to;
    if (!mw__own_skip(&at, "mesh ")) return false;
    const char *blank = strstr(at, "   ");
    if (!blank) return false;
    const char *mesh = mw__own_cut(h, at, blank - at), *p = blank + strspn(blank, " ");
    const char *other = strstr(mesh, " -> ");
    if (!mw__own_type(h, &p, &from) || !mw__own_skip(&p, " -> ") || !mw__own_type(h, &p, &to) || *p)
        return false;
    if (!mw__own_mesh_set(h, other ? mw__own_cut(h, mesh, other - mesh) : mesh, 0, true))
        return false;
    own_state *s = h->state;
    s->plan = mw__draft(h->e, h->line, "meshwise", "plan");
    s->plan_at = from;
    s->plan_at.text = mw__own_keep(h, from.text);
    s->plan_received = 0;
    s->alternatives = 0;
    s->plan_other_mesh = other != NULL;
    s->plan_instead = false;
    mw__fact(s->plan, "mesh", MW_HOW_STATED, h->from, "%s", mesh);
    mw__own_tell_type(h, s->plan, "from", &from, h->from);
    if (other)
        mw__fact(s->plan, "to", MW_HOW_STATED, h->from, "%s", to.text);
    else
        mw__own_tell_type(h, s->plan, "to", &to, h->from);
    mw__draft_says(s->plan, "A plan on the mesh %s: how a tensor would get from %s to %s.", mesh,
                   from.text, to.text);
    mw__draft_weight(s->plan, 10);
    extend(h);
    return true;
}

static void count_again(const own_here *h, mw_draft *d, const char *kind, const own_type *to,
                        int64_t stated)
{
    const char *same;
    int64_t bytes =
        h->state->plan_other_mesh ? -1 : mw__own_moving(h, &h->state->plan_at, to, &same);
    if (bytes < 0 || !same || strcmp(same, kind) != 0) return;
    mw__fact(d, "received by meshwise's own count", MW_HOW_DERIVED,
             "both layouts, on the plan's mesh", "%lld B", (long long)bytes);
    if (bytes != stated)
        mw__problem(d, "wrong-value", stated, bytes, "",
                    "the line says %lld B received; from %s to %s the rank that receives most "
                    "receives %lld B",
                    (long long)stated, h->state->plan_at.text, to->text, (long long)bytes);
}

/* `all_gather x dim 1    -> f32[16@y, 8]   recv 64 B` */
static bool step(const own_here *h)
{
    const char *at = h->line->text, *name, *arrow = strstr(at, " -> ");
    int length;
    bool moves;
    own_type to;
    int64_t bytes = 0;
    const char *kind =
        mw__own_name(&at, &name, &length) ? mw__own_step(name, length, &moves) : NULL;
    if (!kind || !arrow || h->state->plan_instead) return false;
    const char *p = arrow + 4;
    if (!mw__own_type(h, &p, &to)) return false;
    p += strspn(p, " ");
    if (*p && (!mw__own_skip(&p, "recv ") || !mw__own_int(&p, &bytes) || strcmp(p, " B") != 0))
        return false;
    const char *text = mw__own_cut(h, h->line->text, arrow - h->line->text);
    const char *axes = text + length + (text[length] == ' ');
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "step");
    const char *axis = mw__own_cut(h, axes, (int64_t)strcspn(axes, " "));
    if (moves) mw__draft_moved(d, kind, axis, "", bytes);
    mw__fact(d, "collective", MW_HOW_STATED, h->from, "%s", kind);
    if (axis[0]) mw__fact(d, "mesh axis", MW_HOW_STATED, h->from, "%s", axis);
    mw__fact(d, "from", MW_HOW_STATED, "the line before", "%s", h->state->plan_at.text);
    if (h->state->plan_other_mesh)
        mw__fact(d, "to", MW_HOW_STATED, h->from, "%s", to.text);
    else
        mw__own_tell_type(h, d, "to", &to, h->from);
    mw__fact(d, "received per rank", MW_HOW_STATED, h->from, "%lld B", (long long)bytes);
    if (moves) count_again(h, d, kind, &to, bytes);
    if (moves)
        mw__draft_says(d, "Planned: %s, which gives %s; %lld B received per rank.", text, to.text,
                       (long long)bytes);
    else
        mw__draft_says(d, "Planned: %s, which gives %s; nothing moves between ranks.", text,
                       to.text);
    h->state->plan_at = to;
    h->state->plan_at.text = mw__own_keep(h, to.text);
    h->state->plan_received += bytes;
    return true;
}

/* `recv 64 B per rank at most, 64 B on average; no plan needs less than 64 B` */
static bool totals(const own_here *h)
{
    const char *at = h->line->text, *mean, *least;
    mw_draft *d = h->state->plan;
    int64_t bytes;
    if (!mw__own_skip(&at, "recv ") || !mw__own_int(&at, &bytes) ||
        !mw__own_skip(&at, " B per rank at most, "))
        return false;
    mean = at;
    at += strspn(at, "0123456789.");
    mw__fact(d, "received per rank", MW_HOW_STATED, h->from, "%lld B", (long long)bytes);
    mw__fact(d, "received on average", MW_HOW_STATED, h->from, "%.*s B", (int)(at - mean), mean);
    if (mw__own_skip(&at, " B on average; no plan needs less than "))
        mw__fact(d, "lower bound", MW_HOW_STATED, h->from, "%s", at);
    else if ((least = strstr(at, "the target shard is ")) != NULL)
        mw__fact(d, "target shard", MW_HOW_STATED, h->from, "%s",
                 least + strlen("the target shard is "));
    /* a rank that receives most in one step need not do so in another */
    if (bytes > h->state->plan_received)
        mw__problem(d, "wrong-value", bytes, h->state->plan_received, "",
                    "the steps receive %lld B per rank in all, not %lld B",
                    (long long)h->state->plan_received, (long long)bytes);
    return true;
}

/* `peak 128 B, live 192 B, 1.01 us` */
static bool memory(const own_here *h)
{
    const char *at = h->line->text;
    int64_t peak, live;
    if (!mw__own_skip(&at, "peak ") || !mw__own_int(&at, &peak) ||
        !mw__own_skip(&at, " B, live ") || !mw__own_int(&at, &live) || !mw__own_skip(&at, " B, "))
        return false;
    mw__fact(h->state->plan, "largest shard", MW_HOW_STATED, h->from, "%lld B", (long long)peak);
    mw__fact(h->state->plan, "live at once", MW_HOW_STATED, h->from, "%lld B", (long long)live);
    mw__fact(h->state->plan, "time by the cost model", MW_HOW_STATED, h->from, "%s", at);
    return true;
}

static bool rest(const own_here *h)
{
    static const char *const notes[] = {"nothing to do: ", "some state is larger ", "checked "};
    const char *at = h->line->text, *name;
    int length;
    bool moves;
    mw_draft *d = h->state->plan;
    if (strcmp(at, "instead:") == 0) {
        h->state->plan_instead = true;
        return true;
    }
    for (int i = 0; i < MW_COUNT(notes); i++)
        if (strncmp(at, notes[i], strlen(notes[i])) == 0) {
            mw__fact(d, i == 2 ? "checked" : "note", MW_HOW_STATED, h->from, "%s",
                     i == 2 ? at + strlen(notes[i]) : at);
            return true;
        }
    if (mw__own_skip(&at, "axis ") && mw__own_name(&at, &name, &length) && strstr(at, " gbps): ")) {
        const char *label = mw__explain_text(h->e, "axis %.*s", length, name);
        if (label) mw__fact(d, label, MW_HOW_STATED, h->from, "%s", at + strspn(at, " "));
        return true;
    }
    at = h->line->text;
    if (!h->state->plan_instead || !mw__own_name(&at, &name, &length) ||
        !mw__own_step(name, length, &moves) || !strstr(at, "   recv "))
        return false;
    const char *label = mw__explain_text(h->e, "alternative %d", ++h->state->alternatives);
    if (label) mw__fact(d, label, MW_HOW_STATED, h->from, "%s", h->line->text);
    return true;
}

bool mw__own_plan_line(const own_here *h)
{
    own_state *s = h->state;
    if (header(h)) return true;
    if (!s->plan || h->line->number > s->plan_line + 3) return false;
    if (step(h)) {
        s->plan_line = h->line->number;
        return true;
    }
    if (!totals(h) && !memory(h) && !rest(h)) return false;
    extend(h);
    return true;
}
