/* What moved, in the order of the text: a bar per movement, or per run of movements where there are
 * many, its height by bytes. What has no bytes stands as a short grey bar. */
#include "cli/html.h"

#include <string.h>

enum { BARS = 120, BAR = 9, STEP = 12, HEIGHT = 90, LEFT = 86, KINDS = 8, LEGEND = 18 };

typedef struct bar {
    int64_t entry; /* the first one */
    int64_t bytes, n, unknown;
    int kind;
} bar;

typedef struct timeline {
    bar bar[BARS];
    int nbar, nkind;
    const char *kind[KINDS]; /* collectives, in the order in which they come */
    int64_t most, per_bar;
} timeline;

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int kind_of(timeline *t, const char *collective)
{
    for (int i = 0; i < t->nkind; i++)
        if (strcmp(t->kind[i], collective) == 0) return i;
    if (t->nkind == KINDS) return KINDS - 1;
    t->kind[t->nkind] = collective;
    return t->nkind++;
}

static void collect(const html *h, timeline *t)
{
    int64_t n = 0, all = 0;
    for (int64_t i = 0; i < mw_explain_entries(h->x->e); i++)
        all += mw_explain_entry(h->x->e, i)->collective != NULL;
    t->per_bar = (all + BARS - 1) / BARS;
    for (int64_t i = 0; i < mw_explain_entries(h->x->e); i++) {
        const mw_entry *e = mw_explain_entry(h->x->e, i);
        if (!e->collective) continue;
        int at = (int)(n++ / t->per_bar);
        bar *b = &t->bar[at];
        if (at == t->nbar) {
            *b = (bar){.entry = i, .kind = kind_of(t, e->collective)};
            t->nbar++;
        }
        int64_t bytes;
        if (e->bytes >= 0 && !__builtin_mul_overflow(e->bytes, e->count, &bytes))
            b->bytes = plus(b->bytes, bytes);
        b->n = plus(b->n, e->count);
        if (e->bytes < 0) b->unknown = plus(b->unknown, e->count);
        if (b->bytes > t->most) t->most = b->bytes;
    }
}

static void one_bar(const html *h, const timeline *t, int at)
{
    const bar *b = &t->bar[at];
    const mw_entry *e = mw_explain_entry(h->x->e, b->entry);
    bool known = b->unknown < b->n;
    int height = 4, x = LEFT + at * STEP;
    if (known && t->most) height = 3 + (int)((HEIGHT - 6) * ((double)b->bytes / (double)t->most));
    (void)fprintf(h->to, "<a href='#e%lld'><title>line %lld: ", (long long)b->entry,
                  (long long)e->first);
    if (t->per_bar > 1)
        (void)fprintf(h->to, "%lld movements from here on, ", (long long)b->n);
    else
        (void)fprintf(h->to, "%s%s, ", e->collective, b->n > 1 ? " (several times)" : "");
    if (known)
        (void)fprintf(h->to, "%lld B received per rank", (long long)b->bytes);
    else
        html_raw(h, "bytes not given");
    (void)fprintf(h->to, "</title><rect class='bar %s%d' x=%d y=%d width=%d height=%d></rect></a>",
                  known ? "k" : "none k", known ? b->kind : 0, x, HEIGHT - height + 6, BAR, height);
}

static void legend(const html *h, const timeline *t)
{
    html_raw(h, "<p class=legend>");
    for (int i = 0; i < t->nkind; i++) {
        (void)fprintf(h->to, "<span><i class=k%d></i>", i);
        html_text(h, i == KINDS - 1 ? "others" : t->kind[i]);
        html_raw(h, "</span> ");
    }
    if (h->x->unknown) html_raw(h, "<span><i class=none></i>bytes not given</span>");
    html_raw(h, "</p>");
}

void html_timeline(const html *h)
{
    timeline t = {.nbar = 0};
    if (!h->x->movements) return;
    collect(h, &t);
    int width = LEFT + t.nbar * STEP + 8;
    html_raw(h, "<figure class=wide><figcaption>what moved, in the order of the text");
    if (t.per_bar > 1)
        (void)fprintf(h->to, " (a bar is %lld entries, coloured as its first)",
                      (long long)t.per_bar);
    (void)fprintf(h->to,
                  "</figcaption><svg role=img aria-label='movements and their bytes' width=%d "
                  "height=%d viewBox='0 0 %d %d'>",
                  width, HEIGHT + LEGEND, width, HEIGHT + LEGEND);
    (void)fprintf(h->to,
                  "<text class=lab x=%d y=14 text-anchor=end>%lld B</text>"
                  "<text class=lab x=%d y=%d text-anchor=end>0 B</text>"
                  "<path class=rule d='M%d %d H%d'></path>",
                  LEFT - 6, (long long)t.most, LEFT - 6, HEIGHT + 6, LEFT - 2, HEIGHT + 6, width);
    for (int i = 0; i < t.nbar; i++)
        one_bar(h, &t, i);
    html_raw(h, "</svg>");
    legend(h, &t);
    html_raw(h, "</figure>");
}
