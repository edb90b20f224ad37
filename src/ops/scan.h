/* scan: a cursor over a text, for the three small languages of ops: schemas, rules, samples.
 * Never reads past the NUL. */
#ifndef OPS_SCAN_H
#define OPS_SCAN_H

#include "base/base.h"

typedef struct scan {
    const char *what; /* "schema": names the language in messages */
    const char *text, *at;
} scan;

#define SCAN_FAIL(s, ...) mw__parse_fail((s)->what, (s)->text, (s)->at, __VA_ARGS__)

static inline void scan_space(scan *s)
{
    while (*s->at == ' ' || *s->at == '\n' || *s->at == '\t')
        s->at++;
}

/* Steps over `word`, after spaces, if it stands here. */
static inline bool scan_take(scan *s, const char *word)
{
    scan_space(s);
    size_t n = strlen(word);
    if (strncmp(s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

static inline bool scan_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the name that stands here, after spaces; 0 for none. Does not step over it. */
static inline size_t scan_name(scan *s)
{
    scan_space(s);
    size_t n = 0;
    if (scan_is_letter(*s->at))
        while (scan_is_letter(s->at[n]) || scan_is_digit(s->at[n]))
            n++;
    return n;
}

static inline bool scan_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

/* Reads an optionally signed decimal integer; false (and no step) where there is none or it is too
 * large for int64_t. */
bool mw__scan_int(scan *s, int64_t *ret);

/* Reads `3`, `-0.5`, `1e-05`, `inf`, `nan`: *ret_int tells whether it was written as an integer,
 * and then *ret_i holds it. */
bool mw__scan_number(scan *s, bool *ret_int, int64_t *ret_i, double *ret_f);

#endif
