/* What was explained as one self-contained page: the text on one side, its meaning on the other,
 * linked by anchors and so readable without scripts. */
#include "cli/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Lines of the text that are shown; more are counted. */
enum { LINES_SHOWN = 20000, LINE_SHOWN = 4000 };

static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8>"
    "<meta name=viewport content='width=device-width,initial-scale=1'><title>meshwise "
    "explain</title>"
    "<style>body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#111;background:#fff}"
    "main{display:grid;grid-template-columns:1fr 1fr;gap:1rem;padding:1rem}"
    "header{padding:1rem 1rem "
    "0}pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px;margin:0}"
    "pre a{color:inherit;text-decoration:none}:target{background:#ffeaa0}"
    "article{border-left:3px solid #ccc;padding:0 .7rem;margin:0 0 "
    "1rem}article.bad{border-color:#b00}"
    "table{border-collapse:collapse;font-size:13px}td{vertical-align:top;padding:0 .6rem 0 0}"
    ".assumed{color:#a50}.derived{color:#06538a}svg{max-width:100%}"
    "@media(max-width:800px){main{grid-template-columns:1fr}}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}:target{background:#"
    "554400}"
    ".derived{color:#8cc8ff}.assumed{color:#ffb566}}</style>";

static void escaped(FILE *to, const char *at, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c == '<')
            (void)fputs("&lt;", to);
        else if (c == '>')
            (void)fputs("&gt;", to);
        else if (c == '&')
            (void)fputs("&amp;", to);
        else if (c == '"')
            (void)fputs("&quot;", to);
        else
            (void)fputc(c < 0x20 && c != '\t' ? ' ' : c, to);
    }
}

static void say(FILE *to, const char *text)
{
    escaped(to, text, (int64_t)strlen(text));
}

static void text_side(FILE *to, const explained *x, const char *text, int64_t length)
{
    (void)fputs("<section aria-label='the text'><pre>", to);
    int64_t number = 1, entry = 0;
    for (const char *at = text, *end = text + length; at < end && number <= LINES_SHOWN; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        while (entry < mw_explain_entries(x->e) && mw_explain_entry(x->e, entry)->last < number)
            entry++;
        const mw_entry *e = entry < mw_explain_entries(x->e) ? mw_explain_entry(x->e, entry) : NULL;
        (void)fprintf(to, "<span id=l%lld>", (long long)number);
        if (e && e->first <= number)
            (void)fprintf(to, "<a href='#e%lld'>%4lld  ", (long long)entry, (long long)number);
        else
            (void)fprintf(to, "<a>%4lld  ", (long long)number);
        escaped(to, at, stop - at > LINE_SHOWN ? LINE_SHOWN : stop - at);
        (void)fputs("</a></span>\n", to);
        at = stop + 1;
    }
    (void)fputs("</pre></section>", to);
}

/* A bar per movement, its height by bytes. */
static void timeline(FILE *to, const explained *x)
{
    int64_t most = 1, n = 0;
    for (int64_t i = 0; i < mw_explain_entries(x->e); i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        if (!e->collective || n == 200) continue;
        n++;
        if (e->bytes > most) most = e->bytes;
    }
    if (!n) return;
    (void)fprintf(to,
                  "<svg role=img aria-label='movements, in the order of the text' width=%lld "
                  "height=70 viewBox='0 0 %lld 70'>",
                  (long long)n * 14, (long long)n * 14);
    int64_t at = 0;
    for (int64_t i = 0; i < mw_explain_entries(x->e) && at < n; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        if (!e->collective) continue;
        int height = e->bytes < 0 ? 4 : 4 + (int)(60.0 * (double)e->bytes / (double)most);
        (void)fprintf(to, "<a href='#e%lld'><rect x=%lld y=%d width=10 height=%d fill='%s'><title>",
                      (long long)i, (long long)at * 14, 68 - height, height,
                      e->bytes < 0 ? "#999" : "#2a78c0");
        say(to, e->says);
        (void)fputs("</title></rect></a>", to);
        at++;
    }
    (void)fputs("</svg>", to);
}

static void meaning(FILE *to, const mw_entry *e, int64_t i)
{
    (void)fprintf(to, "<article id=e%lld%s><p><a href='#l%lld'>line %lld</a>: ", (long long)i,
                  e->nproblem ? " class=bad" : "", (long long)e->first, (long long)e->first);
    say(to, e->says);
    if (e->count > 1) (void)fprintf(to, " (%lld times)", (long long)e->count);
    (void)fputs("</p><details><summary>facts</summary><table>", to);
    for (int k = 0; k < e->nfact; k++) {
        (void)fputs("<tr><td>", to);
        say(to, e->fact[k].name);
        (void)fputs("<td>", to);
        say(to, e->fact[k].value);
        (void)fprintf(to, "<td class=%s>%s: ", mw_how_name(e->fact[k].how),
                      mw_how_name(e->fact[k].how));
        say(to, e->fact[k].from);
    }
    (void)fputs("</table></details>", to);
    for (int k = 0; k < e->nproblem; k++) {
        (void)fputs("<p><strong>", to);
        say(to, e->problem[k].kind);
        (void)fputs("</strong>: ", to);
        say(to, e->problem[k].says);
        (void)fputs("<br>Do: ", to);
        say(to, e->problem[k].fix);
        (void)fputs("</p>", to);
    }
    (void)fputs("</article>", to);
}

mw_status explain_html(const explained *x, const char *text, int64_t length, const char *path)
{
    FILE *to = fopen(path, "wb");
    if (!to) return mw_error_set(MW_ERR_IO, "%s: %s", path, strerror(errno));
    (void)fputs(head, to);
    (void)fprintf(
        to, "<header><h1>meshwise explain</h1><p>%lld lines, %lld movements, %lld problems.</p>",
        (long long)mw_explain_lines(x->e), (long long)x->movements, (long long)x->problems);
    timeline(to, x);
    for (int64_t i = 0; i < mw_explain_missing(x->e) && i < 50; i++) {
        (void)fputs(i ? "<li>" : "<p>Not in the text:</p><ul><li>", to);
        say(to, mw_explain_missing_at(x->e, i));
    }
    if (mw_explain_missing(x->e)) (void)fputs("</ul>", to);
    (void)fputs("</header><main>", to);
    text_side(to, x, text, length);
    (void)fputs("<section aria-label='what it means'>", to);
    for (int64_t i = 0; i < mw_explain_entries(x->e); i++)
        if (!x->problems_only || mw_explain_entry(x->e, i)->nproblem)
            meaning(to, mw_explain_entry(x->e, i), i);
    (void)fputs("</section></main></html>\n", to);
    bool failed = ferror(to) != 0;
    if (fclose(to) != 0 || failed)
        return mw_error_set(MW_ERR_IO, "%s: could not be written: %s", path, strerror(errno));
    return MW_OK;
}
