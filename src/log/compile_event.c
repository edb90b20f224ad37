/* Graph breaks and recompilations, so far as they tell about collectives: what runs between two
 * graphs is in none of them, and a function that is compiled again prints its collectives again. */
#include "log/compile.h"

static const char *after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? at + strlen(word) : NULL;
}

static void begin(cp_here *h, const char *kind, mw_draft *d)
{
    h->s->broken[h->stream] = d;
    h->s->broken_kind[h->stream] = kind;
}

static bool break_line(cp_here *h)
{
    const char *where =
        strncmp(h->text, "Graph break", 11) == 0 ? after(h->text, "user code at ") : NULL;
    if (!where) return false;
    mw_draft *d = mw__draft(h->e, h->line, "compile", "graph-break");
    mw__fact(d, "where", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%.600s", where);
    if (h->unit[0])
        mw__fact(d, "compilation", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%s", h->unit);
    mw__draft_says(d,
                   "The graph ends at %.300s: what is done there runs outside of graphs, and "
                   "another graph begins after it.",
                   where);
    mw__draft_weight(d, 12);
    mw__missing(h->e, "what moves between two graphs, at a graph break: these logs show graphs "
                      "only (DebugMode or CommDebugMode would show it)");
    begin(h, "graph_breaks", d);
    return true;
}

static bool recompile_line(cp_here *h)
{
    const char *what = strncmp(h->text, "Recompiling function ", 21) == 0 ? h->text + 21 : NULL;
    if (!what) return false;
    mw_draft *d = mw__draft(h->e, h->line, "compile", "recompile");
    mw__fact(d, "function", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%.600s", what);
    if (h->unit[0])
        mw__fact(d, "compilation", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%s", h->unit);
    mw__draft_says(d,
                   "Compiled again: %.300s. Its graphs are printed again; a run uses one of them, "
                   "so their bytes do not add up.",
                   what);
    mw__draft_weight(d, 12);
    begin(h, "recompiles", d);
    return true;
}

/* `- 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6` */
static void guard_line(cp_here *h, mw_draft *d)
{
    static const char *const placed[] = {"_spec",   "placements", "device_mesh",  "DeviceMesh",
                                         "DTensor", "subclass",   "_local_tensor"};
    const char *at = h->text + 2 + strspn(h->text + 2, "0123456789/_ ");
    if (*at == ':') at += 1 + strspn(at + 1, " ");
    mw__fact(d, "because", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%.600s", at);
    for (int i = 0; i < MW_COUNT(placed); i++) {
        if (!strstr(at, placed[i])) continue;
        mw__fact(d, "guard is on", MW_HOW_DERIVED, "the words of the guard",
                 "how a tensor is placed, or on its mesh: another sharding compiles another graph");
        return;
    }
    if (strstr(at, "size mismatch"))
        mw__fact(
            d, "guard is on", MW_HOW_DERIVED, "the words of the guard",
            "a size: the graph before holds for that size only, or from now on sizes are symbols");
}

static bool goes_on(cp_here *h, const char *kind)
{
    static const char *const words[] = {"Graph Break Reason:",
                                        "triggered by the following guard",
                                        "Explanation:",
                                        "Hint:",
                                        "Developer debug context:",
                                        "For more details about this graph break",
                                        "User code traceback:",
                                        "Reason:",
                                        "- "};
    if (h->artifact[0]) return strncmp(h->artifact, kind, 9) == 0;
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strncmp(h->text, words[i], strlen(words[i])) == 0) return true;
    return false;
}

bool mw__cp_event(cp_here *h)
{
    if (break_line(h) || recompile_line(h)) return true;
    mw_draft *d = h->s->broken[h->stream];
    if (!d || !goes_on(h, h->s->broken_kind[h->stream])) {
        h->s->broken[h->stream] = NULL;
        return false;
    }
    const char *reason = after(h->text, "Reason: ");
    if (!reason) reason = after(h->text, "Explanation: ");
    if (reason)
        mw__fact(d, "reason", MW_HOW_STATED, mw__cp_from(h, h->line->number), "%.600s", reason);
    if (strncmp(h->text, "- ", 2) == 0) guard_line(h, d);
    mw__draft_last(d, h->line->number);
    return true;
}
