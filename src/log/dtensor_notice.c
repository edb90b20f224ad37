/* PyTorch's own remarks beside the calls: how it searched for a placement, what it fell back to,
 * the operands of a call one by one (2.4). They tell what was decided, never that something moved.
 */
#include "log/dtensor.h"

#include <stdio.h>
#include <stdlib.h>

static bool digits_after(const char *at, const char *words, int64_t *ret)
{
    const char *p = strstr(at, words);
    size_t n = p ? strspn(p + strlen(words), "0123456789") : 0;
    if (!n || n > 17) return false;
    *ret = strtoll(p + strlen(words), NULL, 10);
    return true;
}

static void number(const dt_here *h, mw_draft *d, const char *words, const char *name)
{
    int64_t n;
    if (digits_after(h->at, words, &n))
        mw__fact(d, name, MW_HOW_STATED, mw__dt_line_from(h, h->first), "%lld", (long long)n);
}

/* `returning cost=0.5 [...], visited=12, exhaustive=49, transitions=3`. */
static bool search_line(const dt_here *h)
{
    static const char words[] = "returning cost=";
    if (!mw__dt_starts(h, words) || !strstr(h->at, "visited=")) return false;
    const char *from = mw__dt_line_from(h, h->first), *cost = h->at + sizeof words - 1;
    const char *spec = strchr(cost, ' '), *end = strstr(cost, ", visited=");
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "search");
    mw__fact(d, "cost", MW_HOW_STATED, from, "%.*s, by DTensor's cost model",
             (int)MW_MIN(strcspn(cost, " "), 24), cost);
    if (spec && end > spec)
        mw__fact(d, "found", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(end - spec - 1, 200),
                 spec + 1);
    number(h, d, "visited=", "combinations looked at");
    number(h, d, "exhaustive=", "combinations in all");
    mw__draft_says(d, "DTensor's search for the cheapest placements of an op is over; it says what "
                      "was chosen, and that nothing moved yet.");
    mw__missing(h->e,
                "the op of the search in line %lld: the line does not name it; the call after "
                "it is likely that op",
                (long long)h->first);
    return true;
}

/* `Selected strategy <in> -> <out> for <op> with input <...>, using symbolic hints: {...}`. */
static bool selected_line(const dt_here *h)
{
    if (!mw__dt_starts(h, "Selected strategy ") && !mw__dt_starts(h, "selected strategy "))
        return false;
    const char *from = mw__dt_line_from(h, h->first), *in = h->at + 18, *arrow = strstr(in, " -> ");
    const char *op = arrow ? strstr(arrow, " for ") : NULL;
    if (!op) return false;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "search");
    const char *name =
        mw__explain_text(h->e, "%.*s", (int)MW_MIN(strcspn(op + 5, " ("), 100), op + 5);
    mw_entry *entry = mw__draft_entry(d);
    if (entry && name) entry->op = name;
    mw__fact(d, "op", MW_HOW_STATED, from, "%s", name ? name : "");
    mw__fact(d, "operands wanted", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(arrow - in, 200), in);
    mw__fact(d, "result", MW_HOW_STATED, from, "%.*s", (int)MW_MIN(op - arrow - 4, 120), arrow + 4);
    const char *hints = strstr(op, "hints: ");
    if (hints)
        mw__fact(d, "symbolic sizes", MW_HOW_STATED, from,
                 "%.160s: the choice was made as if sizes were these", hints + 7);
    mw__draft_says(d, "DTensor chose placements for %s while some sizes were symbols.",
                   name ? name : "an op");
    return true;
}

/* `Dijkstra search exhausted without finding a valid strategy for <schema> on <mesh> (explored 49
 * combinations); falling back to full expansion`. */
static bool exhausted_line(const dt_here *h)
{
    const char *at = strstr(h->at, "search exhausted without finding a valid strategy for ");
    if (!at) return false;
    at = strstr(at, " for ") + 5;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "search");
    mw__fact(d, "op", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%.*s",
             (int)MW_MIN(strcspn(at, " ("), 100), at);
    number(h, d, "explored ", "combinations looked at");
    mw__draft_says(d,
                   "DTensor's quick search found no placements for an op and it goes through all "
                   "combinations: slow once, no fault of the result.");
    return true;
}

/* `arg_0 (dtensor): arg.shape=torch.Size([8, 8]) arg._spec=DTensorSpec(...)`. */
static bool arg_line(const dt_here *h)
{
    if (!mw__dt_starts(h, "arg_")) return false;
    const char *at = h->at + 4, *spec = strstr(h->at, "_spec="), *shape = strstr(h->at, "shape=");
    size_t n = strspn(at, "0123456789");
    if (!n || n > 4 || !spec || strncmp(at + n, " (dtensor)", 10) != 0) return false;
    dt_tensor t = {.nplacement = 0};
    mw_py *node;
    if (mw__py_read(spec + 6, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    const mw_py *first = node->kind == MW_PY_SEQ ? node->first : node;
    if (!mw__dt_read_tensor(first, &t)) return false;
    if (!t.shaped && shape && shape < spec) {
        if (mw__py_read(shape + 6, spec, h->scratch, &node) != MW_OK) h->e->failed = true;
        int count = h->e->failed ? -1
                                 : mw__py_ints(node->kind == MW_PY_SEQ ? node->first : node,
                                               t.shape, DT_DIMS);
        t.shaped = count >= 0;
        t.ndim = MW_MAX(count, 0);
    }
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "argument");
    char name[32];
    mw_str text = {0};
    (void)snprintf(name, sizeof name, "argument %.*s", (int)n, at);
    mw__dt_tensor_str(&t, &text);
    mw__fact(d, name, MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s (global shape)",
             mw__str_text(&text));
    mw_layout l;
    const char *why;
    mw__dt_mesh_complete(h, &t.mesh, t.nplacement);
    const mw_mesh *mesh = mw__dt_mesh_of(h, &t.mesh);
    if (mw__dt_layout(h, mesh, &t, &l, &why))
        mw__fact(d, "local shape", t.mesh.how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 "the global shape, cut as the placements say", "%s", mw__dt_locals(h, mesh, &l));
    mw__draft_says(d, "Argument %.*s of a call is %s; the line does not name the op.", (int)n, at,
                   mw__str_text(&text));
    mw__missing(h->e, "the op of the argument in line %lld: the line does not name it",
                (long long)h->first);
    mw__dt_done(h, &text);
    return true;
}

bool mw__dt_notice_line(const dt_here *h)
{
    return search_line(h) || selected_line(h) || exhausted_line(h) || arg_line(h);
}
