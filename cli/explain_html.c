/* What was explained as one self-contained page: a summary with drawings of the meshes and of what
 * moved; below it the text on one side and its meaning on the other, linked line by line. */
#include "cli/html.h"

#include <errno.h>
#include <string.h>

/* What is shown of a long text; more is counted. */
enum { LINES_SHOWN = 20000, LINE_SHOWN = 4000, ENTRIES_SHOWN = 5000, LISTED = 20, MESHES = 4 };
enum { SPAN = 2000, UNREAD = 1000 };

/* ---- the summary ----------------------------------------------------------------------------- */

static void list_problems(const html *h)
{
    int64_t shown = 0;
    if (!h->x->problems) return;
    html_raw(h, "<p>Problems:</p><ul>");
    for (int64_t i = 0; i < mw_explain_entries(h->x->e) && shown < LISTED; i++) {
        const mw_entry *e = mw_explain_entry(h->x->e, i);
        for (int k = 0; k < e->nproblem && shown < LISTED; k++, shown++) {
            (void)fprintf(h->to, "<li><a href='#e%lld'>line %lld</a>: ", (long long)i,
                          (long long)e->first);
            html_text(h, e->problem[k].says);
            html_raw(h, "</li>");
        }
    }
    if (shown < h->x->problems)
        (void)fprintf(h->to, "<li>and %lld more</li>", (long long)(h->x->problems - shown));
    html_raw(h, "</ul>");
}

static void list_missing(const html *h)
{
    int64_t n = mw_explain_missing(h->x->e);
    if (!n) return;
    html_raw(h, "<details open><summary>");
    html_number(h, n, "thing");
    html_raw(h, " that the text does not say</summary><ul>");
    for (int64_t i = 0; i < n && i < LISTED; i++) {
        html_raw(h, "<li>");
        html_text(h, mw_explain_missing_at(h->x->e, i));
        html_raw(h, "</li>");
    }
    if (n > LISTED) (void)fprintf(h->to, "<li>and %lld more</li>", (long long)(n - LISTED));
    html_raw(h, "</ul></details>");
}

/* The different meshes of all tensors, each once. */
static void draw_meshes(const html *h)
{
    const char *drawn[MESHES];
    int n = 0;
    for (int64_t i = 0; i < mw_explain_entries(h->x->e); i++) {
        const mw_entry *e = mw_explain_entry(h->x->e, i);
        for (int k = 0; k < e->nlaid; k++) {
            bool known = n == MESHES;
            mw_mesh *mesh = NULL;
            for (int m = 0; m < n && !known; m++)
                known = strcmp(drawn[m], e->laid[k].mesh) == 0;
            if (known) continue;
            drawn[n++] = e->laid[k].mesh;
            if (mw_mesh_parse(e->laid[k].mesh, &mesh) != MW_OK) continue;
            html_mesh(h, mesh);
            mw_mesh_unref(mesh);
        }
    }
}

static void summary(const html *h)
{
    const explained *x = h->x;
    int64_t unread = mw_explain_unread(x->e);
    html_raw(h, "<header><h1>What ");
    html_text(h, strcmp(x->file, "-") == 0 ? "the text" : x->file);
    html_raw(h, " says</h1><p>");
    html_number(h, mw_explain_lines(x->e), "line");
    html_raw(h, ", ");
    html_number(h, x->calls, "call");
    html_raw(h, ", ");
    html_number(h, x->movements, "movement");
    if (x->movements > x->unknown)
        (void)fprintf(h->to, " (%lld B received per rank%s)", (long long)x->bytes,
                      x->unknown ? ", where given" : "");
    html_raw(h, ", ");
    html_number(h, x->problems, "problem");
    if (unread) {
        html_raw(h, "; ");
        html_number(h, unread, "line");
        html_raw(h, " that nobody could read");
    }
    html_raw(h, ".</p>");
    list_problems(h);
    list_missing(h);
    html_raw(h, "<div class=drawings>");
    draw_meshes(h);
    html_timeline(h);
    html_raw(h, "</div><p class='note keys'><kbd>j</kbd> <kbd>k</kbd> next and former entry, "
                "<kbd>n</kbd> next problem</p></header>\n");
}

/* ---- the text -------------------------------------------------------------------------------- */

/* For each line the entry that tells least else, 1 and up; 0: none; -1: nobody could read it. */
static void map_lines(const html *h, int64_t *entry)
{
    const mw_explain *e = h->x->e;
    for (int64_t i = 0; i < mw_explain_entries(e) && i < ENTRIES_SHOWN; i++) {
        const mw_entry *one = mw_explain_entry(e, i);
        int64_t last = one->last - one->first < SPAN ? one->last : one->first;
        if (h->x->problems_only && !one->nproblem) continue;
        for (int64_t line = one->first; line <= last && line <= LINES_SHOWN; line++) {
            const mw_entry *was = entry[line] ? mw_explain_entry(e, entry[line] - 1) : NULL;
            if (!was || was->last - was->first > one->last - one->first) entry[line] = i + 1;
        }
    }
    int64_t line;
    for (int64_t i = 0; i < UNREAD && (line = mw_explain_unread_at(e, i)) != 0; i++)
        if (line <= LINES_SHOWN && !entry[line]) entry[line] = -1;
}

static void text_side(const html *h, const int64_t *entry)
{
    const char *end = h->text + h->length;
    int64_t line = 1;
    html_raw(h, "<main><section aria-label='the text'><h2>The text</h2>");
    for (const char *at = h->text; at < end && line <= LINES_SHOWN; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const mw_entry *e = entry[line] > 0 ? mw_explain_entry(h->x->e, entry[line] - 1) : NULL;
        if (e)
            (void)fprintf(h->to, "<a class='line%s' id=l%lld href='#e%lld'>",
                          e->nproblem ? " bad" : "", (long long)line, (long long)entry[line] - 1);
        else
            (void)fprintf(h->to, "<span class='line%s' id=l%lld>",
                          entry[line] < 0 ? " unread' title='nobody could read this line" : "",
                          (long long)line);
        (void)fprintf(h->to, "<b>%lld</b>", (long long)line);
        html_bytes(h, at, stop - at > LINE_SHOWN ? LINE_SHOWN : stop - at);
        if (stop - at > LINE_SHOWN) html_raw(h, " ...");
        html_raw(h, e ? "</a>\n" : "</span>\n");
        at = stop + 1;
    }
    if (mw_explain_lines(h->x->e) > LINES_SHOWN)
        (void)fprintf(h->to, "<p class=note>%lld lines more.</p>",
                      (long long)(mw_explain_lines(h->x->e) - LINES_SHOWN));
    html_raw(h, "</section>\n");
}

/* ---- the meaning ----------------------------------------------------------------------------- */

static void facts(const html *h, const mw_entry *e)
{
    if (!e->nfact) return;
    html_raw(h, "<details><summary>");
    html_number(h, e->nfact, "fact");
    html_raw(h, "</summary><table>");
    for (int k = 0; k < e->nfact; k++) {
        const mw_fact *f = &e->fact[k];
        html_raw(h, "<tr><td>");
        html_text(h, f->name);
        html_raw(h, "</td><td>");
        html_text(h, f->value);
        (void)fprintf(h->to, "</td><td class=%s>%s: ", mw_how_name(f->how), mw_how_name(f->how));
        html_text(h, f->from);
        html_raw(h, "</td></tr>");
    }
    html_raw(h, "</table></details>");
}

static void drawings(html *h, const mw_entry *e)
{
    if (!e->nlaid) return;
    html_raw(h, "<details><summary>which rank holds what</summary><div class=drawings>");
    for (int k = 0; k < e->nlaid; k++)
        html_shards(h, &e->laid[k]);
    html_raw(h, "</div></details>");
}

static void problems(const html *h, const mw_entry *e)
{
    for (int k = 0; k < e->nproblem; k++) {
        const mw_problem *p = &e->problem[k];
        html_raw(h, "<div class=problem><p><strong>");
        html_text(h, p->kind);
        html_raw(h, "</strong>: ");
        html_text(h, p->says);
        html_raw(h, "</p>");
        if (p->fix[0]) {
            html_raw(h, "<p>Do: ");
            html_text(h, p->fix);
            if (p->bytes_now >= 0 && p->bytes_after >= 0)
                (void)fprintf(h->to, " (%lld B received per rank instead of %lld B)",
                              (long long)p->bytes_after, (long long)p->bytes_now);
            html_raw(h, "</p>");
        }
        html_raw(h, "</div>");
    }
}

static void meaning(html *h, const mw_entry *e, int64_t i)
{
    (void)fprintf(h->to, "<article id=e%lld%s><p class=tag><a href='#l%lld'>", (long long)i,
                  e->nproblem ? " class=bad" : "", (long long)e->first);
    if (e->first == e->last)
        (void)fprintf(h->to, "line %lld", (long long)e->first);
    else
        (void)fprintf(h->to, "lines %lld-%lld", (long long)e->first, (long long)e->last);
    html_raw(h, "</a>");
    if (e->count > 1) (void)fprintf(h->to, ", %lld times", (long long)e->count);
    html_raw(h, "</p><p>");
    html_text(h, e->says);
    html_raw(h, "</p>");
    problems(h, e);
    facts(h, e);
    drawings(h, e);
    html_raw(h, "</article>\n");
}

static void meaning_side(html *h)
{
    int64_t n = mw_explain_entries(h->x->e), hidden = 0;
    html_raw(h, "<section aria-label='what it means'><h2>What it means</h2>");
    for (int64_t i = 0; i < n; i++) {
        const mw_entry *e = mw_explain_entry(h->x->e, i);
        if (h->x->problems_only && !e->nproblem) continue;
        if (i < ENTRIES_SHOWN)
            meaning(h, e, i);
        else
            hidden++;
    }
    if (!n) html_raw(h, "<p class=note>Nothing in the text could be read.</p>");
    if (hidden) (void)fprintf(h->to, "<p class=note>%lld entries more.</p>", (long long)hidden);
    html_raw(h, "</section></main>\n");
}

static void page(html *h, const int64_t *entry)
{
    for (int i = 0; html_head[i]; i++)
        html_raw(h, html_head[i]);
    html_raw(h, "<title>What ");
    html_text(h, h->x->file);
    html_raw(h, " says</title>\n</head>\n<body>\n"
                "<svg width=0 height=0 style='position:absolute' aria-hidden=true><defs><pattern "
                "id=hatch width=6 height=6 patternUnits=userSpaceOnUse patternTransform='rotate("
                "45)'><path d='M0 0V6' stroke='#1b1f24' stroke-opacity=.35 stroke-width=2></path>"
                "</pattern></defs></svg>\n");
    summary(h);
    text_side(h, entry);
    meaning_side(h);
    html_raw(h, html_script);
    html_raw(h, "</body>\n</html>\n");
}

mw_status explain_html(const explained *x, const char *text, int64_t length, const char *path)
{
    size_t size = (LINES_SHOWN + 2) * sizeof(int64_t);
    int64_t *entry = mw_memory(size);
    if (!entry) return mw_last_error()->code;
    memset(entry, 0, size);
    html *h = mw_memory(sizeof *h);
    mw_status status = h ? MW_OK : mw_last_error()->code;
    if (h) *h = (html){.to = fopen(path, "wb"), .x = x, .text = text, .length = length};
    if (h && !h->to) status = mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    if (status == MW_OK) {
        map_lines(h, entry);
        page(h, entry);
        bool failed = ferror(h->to) != 0;
        if (fclose(h->to) != 0 || failed)
            status = mw_error_set(MW_ERR_IO, "%s: could not be written: %s", path, strerror(errno));
    }
    mw_memory_free(h, sizeof *h);
    mw_memory_free(entry, size);
    return status;
}
