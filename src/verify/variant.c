/* Samples with other sizes, by editing their text: a number in a tensor's brackets is a size. What
 * comes out may be no call at all (a list of ints may have meant a size, too); reading it tells. */
#include "verify/verify.h"

#include <ctype.h>
#include <stdlib.h>

static const char *sample_end(const char *text)
{
    bool quoted = false;
    for (; *text && (quoted || *text != ';'); text++)
        if (*text == '"') quoted = !quoted;
    return text;
}

const char *mw__sample_text(const char *samples, int nth, mw_arena *arena)
{
    for (; nth > 0; nth--)
        samples = sample_end(samples) + 1;
    while (*samples == ' ')
        samples++;
    return mw__arena_strndup(arena, samples, (size_t)(sample_end(samples) - samples));
}

typedef struct walk {
    const char *at, *start;
    bool quoted, shape, list;
} walk;

/* The next number that may be a size; false at the end. The text before it is passed over. */
static bool next_number(walk *w, const char **ret_before, bool *ret_shape, int64_t *ret)
{
    for (;; w->at++) {
        char c = *w->at;
        if (!c) return false;
        if (c == '"') w->quoted = !w->quoted;
        if (w->quoted) continue;
        if (c == '[') {
            w->shape = w->at > w->start && isalnum((unsigned char)w->at[-1]);
            w->list = !w->shape;
        } else if (c == ']') {
            w->shape = w->list = false;
        } else if ((w->shape || w->list) && isdigit((unsigned char)c) && w->at[-1] != '-') {
            char *end;
            *ret_before = w->at;
            *ret_shape = w->shape;
            *ret = strtoll(w->at, &end, 10);
            w->at = end;
            return true;
        }
    }
}

const char *mw__sample_resized(const char *sample, int64_t from, int64_t to, bool lists,
                               mw_arena *arena)
{
    walk w = {.at = sample, .start = sample};
    mw_str text = {0};
    const char *done = sample, *before;
    bool shape;
    int64_t n;
    while (next_number(&w, &before, &shape, &n)) {
        mw__str_append(&text, done, (size_t)(before - done));
        bool changes = (shape || lists) && (from ? n == from : n > 1);
        mw__str_printf(&text, "%lld", (long long)(!changes ? n : to ? to : n + 1));
        done = w.at;
    }
    mw__str_puts(&text, done);
    const char *copy = mw__arena_strndup(arena, mw__str_text(&text), text.length);
    if (text.failed) copy = NULL;
    mw__str_done(&text);
    return copy;
}

int mw__sample_sizes(const char *sample, int64_t *ret, int cap)
{
    walk w = {.at = sample, .start = sample};
    const char *before;
    bool shape;
    int64_t n;
    int found = 0;
    while (next_number(&w, &before, &shape, &n)) {
        bool known = !shape || n < 2;
        for (int i = 0; i < found; i++)
            known = known || ret[i] == n;
        if (!known && found < cap) ret[found++] = n;
    }
    return found;
}
