/* Making entries: texts go into the explainer's arena, lists grow. Without memory the explainer is
 * marked failed and the rest is dropped. */
#include "log/explain.h"

enum { PROBLEM_WEIGHT = 40 };
enum { LAID_KEPT = 8, LAYOUT_TEXT = 400, MESH_TEXT = 600 };

static const char *copy(mw_explain *e, const char *text)
{
    const char *made = mw__arena_strndup(&e->arena, text, strlen(text));
    if (!made) e->failed = true;
    return made ? made : "";
}

static char *keep_formed(mw_explain *e)
{
    char *text = e->formed.failed
                     ? NULL
                     : mw__arena_strndup(&e->arena, mw__str_text(&e->formed), e->formed.length);
    if (!text) e->failed = true;
    return text;
}

MW_PRINTF(2, 0) static char *vformat(mw_explain *e, const char *format, va_list args)
{
    mw__str_clear(&e->formed);
    mw__str_vprintf(&e->formed, format, args);
    return keep_formed(e);
}

char *mw__explain_text(mw_explain *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = vformat(e, format, args);
    va_end(args);
    return text;
}

mw_draft *mw__draft(mw_explain *e, const mw_line *line, const char *source, const char *event)
{
    mw_draft *d = mw__arena_zalloc(&e->arena, sizeof *d);
    if (!d || mw__grow(&e->entry, &e->cap_entry, e->nentry + 1, sizeof *e->entry) != MW_OK) {
        e->failed = true;
        return NULL;
    }
    e->entry[e->nentry++] = d;
    d->e = e;
    d->entry =
        (mw_entry){.first = line->number,
                   .last = line->number,
                   .latest = line->number,
                   .count = 1,
                   .runs = 1,
                   .ranks = line->rank >= 0 && line->rank < 64 ? UINT64_C(1) << line->rank : 0,
                   .source = source,
                   .event = event,
                   .says = "",
                   .bytes = -1,
                   .axis = "",
                   .op = "",
                   .direction = ""};
    d->kind = mw__hash(mw__hash(43, source, strlen(source)), event, strlen(event));
    if (line->rank >= 0) d->same = mw__lockstep_hash(line);
    mw__lockstep_feed(e, d, line);
    return d;
}

void mw__draft_last(mw_draft *d, int64_t last)
{
    if (d) d->entry.last = d->entry.latest = last;
}

void mw__draft_says(mw_draft *d, const char *format, ...)
{
    if (!d) return;
    va_list args;
    va_start(args, format);
    const char *text = vformat(d->e, format, args);
    va_end(args);
    if (text) d->entry.says = text;
}

void mw__draft_moved(mw_draft *d, const char *collective, const char *axis, const char *op,
                     int64_t bytes)
{
    if (!d) return;
    d->entry.collective = collective;
    d->entry.axis = copy(d->e, axis);
    d->entry.op = copy(d->e, op);
    d->entry.bytes = bytes;
}

void mw__draft_direction(mw_draft *d, const char *direction)
{
    if (d) d->entry.direction = direction;
}

void mw__draft_weight(mw_draft *d, int weight)
{
    if (d) d->entry.weight = weight;
}

void mw__fact(mw_draft *d, const char *name, mw_how how, const char *from, const char *format, ...)
{
    if (!d) return;
    if (mw__grow(&d->fact, &d->cap_fact, d->entry.nfact + 1, sizeof *d->fact) != MW_OK) {
        d->e->failed = true;
        return;
    }
    va_list args;
    va_start(args, format);
    const char *value = vformat(d->e, format, args);
    va_end(args);
    d->fact[d->entry.nfact++] =
        (mw_fact){copy(d->e, name), value ? value : "", how, copy(d->e, from)};
    d->entry.fact = d->fact;
}

void mw__problem(mw_draft *d, const char *kind, int64_t bytes_now, int64_t bytes_after,
                 const char *fix, const char *format, ...)
{
    if (!d) return;
    if (mw__grow(&d->problem, &d->cap_problem, d->entry.nproblem + 1, sizeof *d->problem) !=
        MW_OK) {
        d->e->failed = true;
        return;
    }
    va_list args;
    va_start(args, format);
    const char *says = vformat(d->e, format, args);
    va_end(args);
    d->entry.weight = MW_MAX(d->entry.weight, PROBLEM_WEIGHT);
    d->problem[d->entry.nproblem++] =
        (mw_problem){kind, says ? says : "", copy(d->e, fix), bytes_now, bytes_after};
    d->entry.problem = d->problem;
}

void mw__draft_laid(mw_draft *d, const char *name, const mw_mesh *mesh, const mw_layout *layout,
                    mw_how how)
{
    char text[LAYOUT_TEXT], axes[MESH_TEXT];
    if (!d || d->entry.nlaid == LAID_KEPT) return;
    if (mw_layout_print(mesh, layout, text, sizeof text) >= LAYOUT_TEXT ||
        mw_mesh_print(mesh, axes, sizeof axes) >= MESH_TEXT)
        return; /* too long to draw */
    if (!d->laid) d->laid = mw__arena_zalloc(&d->e->arena, LAID_KEPT * sizeof *d->laid);
    if (!d->laid) {
        d->e->failed = true;
        return;
    }
    d->laid[d->entry.nlaid++] =
        (mw_laid){copy(d->e, name), copy(d->e, axes), copy(d->e, text), how};
    d->entry.laid = d->laid;
}

mw_entry *mw__draft_entry(mw_draft *d)
{
    return d ? &d->entry : NULL;
}

/* Looked up before it is kept: a sentence that comes again takes no memory. */
void mw__missing(mw_explain *e, const char *format, ...)
{
    if (e->nmissing == MISSING_KEPT) return;
    va_list args;
    va_start(args, format);
    mw__str_clear(&e->formed);
    mw__str_vprintf(&e->formed, format, args);
    va_end(args);
    uint64_t hash = mw__hash(1, mw__str_text(&e->formed), e->formed.length) | 1;
    int at = (int)(hash >> 1) & (MISSING_SLOTS - 1);
    for (; e->missing_seen[at]; at = (at + 1) & (MISSING_SLOTS - 1))
        if (e->missing_seen[at] == hash) return;
    const char *text = keep_formed(e);
    if (!text) return;
    e->missing_seen[at] = hash;
    e->missing[e->nmissing++] = text;
}

mw_arena *mw__explain_arena(mw_explain *e)
{
    return &e->arena;
}

mw_arena *mw__explain_scratch(mw_explain *e)
{
    return &e->scratch;
}

void mw__explain_once(mw_explain *e)
{
    e->once = true;
}

const mw_explain_options *mw__explain_options(const mw_explain *e)
{
    return &e->options;
}

const mw_mesh *mw__explain_mesh(const mw_explain *e)
{
    return e->mesh;
}
