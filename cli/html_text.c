/* Text into the page. Whatever comes from outside goes through here: no character of it can end an
 * element, an attribute or the page's encoding. */
#include "cli/html.h"

#include <string.h>

void html_raw(const html *h, const char *text)
{
    (void)fputs(text, h->to);
}

static const char *entity(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_bytes(const html *h, const char *at, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)at[i];
        const char *as = entity(c);
        if (as)
            (void)fputs(as, h->to);
        else
            (void)fputc((c < 0x20 && c != '\t') || c == 0x7f ? ' ' : c, h->to);
    }
}

void html_text(const html *h, const char *text)
{
    html_bytes(h, text, (int64_t)strlen(text));
}

void html_number(const html *h, int64_t n, const char *what)
{
    (void)fprintf(h->to, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}
