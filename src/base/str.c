/* Text: growing strings, hashes, parse errors with a caret, the nearest name. */
#include "base/base.h"

#include <meshwise/version.h>
#include <stdio.h>

void mw__str_done(mw_str *str)
{
    mw__free(str->at, str->cap);
    *str = (mw_str){0};
}

void mw__str_clear(mw_str *str)
{
    str->length = 0;
    str->failed = false;
    if (str->at) str->at[0] = 0;
}

static bool make_room(mw_str *str, size_t more)
{
    if (str->failed) return false;
    size_t need = str->length + more + 1;
    if (need <= str->cap) return true;
    size_t cap = MW_MAX(need, str->cap + str->cap / 2 + 32);
    char *moved = str->at ? mw__realloc(str->at, str->cap, cap) : mw__alloc(cap);
    if (!moved) {
        str->failed = true;
        return false;
    }
    str->at = moved;
    str->cap = cap;
    return true;
}

void mw__str_append(mw_str *str, const char *text, size_t length)
{
    if (!make_room(str, length)) return;
    if (length) memcpy(str->at + str->length, text, length);
    str->length += length;
    str->at[str->length] = 0;
}

void mw__str_puts(mw_str *str, const char *text)
{
    mw__str_append(str, text, strlen(text));
}

void mw__str_putc(mw_str *str, char c)
{
    mw__str_append(str, &c, 1);
}

void mw__str_printf(mw_str *str, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mw__str_vprintf(str, format, args);
    va_end(args);
}

const char *mw__str_text(const mw_str *str)
{
    return str->at ? str->at : "";
}

mw_status mw__str_status(const mw_str *str)
{
    return str->failed ? MW_NOMEM() : MW_OK;
}

uint64_t mw__hash(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (; size >= 8; size -= 8, p += 8) { /* eight bytes at a step */
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; size; size--, p++)
        h = (h ^ *p) * 0x100000001b3u;
    h ^= h >> 32;
    return h * 0xff51afd7ed558ccdu;
}

int mw__text_column(const char *text, const char *at)
{
    int column = 1;
    for (const char *p = text; p < at && *p; p++)
        if (((unsigned char)*p & 0xc0) != 0x80) column++;
    /* `at` inside a character counts as that character's column */
    if (at > text && ((unsigned char)*at & 0xc0) == 0x80) column--;
    return column;
}

mw_status mw__parse_fail(const char *what, const char *text, const char *at, const char *format,
                         ...)
{
    char reason[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    int column = mw__text_column(text, at);
    /* A long text is shown around the fault only; the column counts from its real start. */
    const char *from = text;
    int shift = 0;
    while (column - shift > 60) {
        do
            from++;
        while (((unsigned char)*from & 0xc0) == 0x80);
        shift++;
    }
    int width = (int)strcspn(from, "\r\n");
    if (width > 400) {
        width = 400;
        while (width > 0 && ((unsigned char)from[width] & 0xc0) == 0x80)
            width--;
    }
    return MW_FAIL(MW_ERR_PARSE, "%s: %s at column %d\n  %.*s\n  %*s^", what, reason, column, width,
                   from, column - shift - 1, "");
}

/* Edit distance of two short names, cut off above 2. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > 2) return 3;
    int row[LONGEST + 2];
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = MW_MIN(MW_MIN(row[j], row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *mw__nearest(const char *name, const char *const *names, int count)
{
    const char *nearest = NULL;
    int best = 3;
    for (int i = 0; i < count; i++) {
        int d = distance(name, names[i]);
        if (d < best) best = d, nearest = names[i];
    }
    return nearest;
}

const char *mw_nearest_name(const char *name, const char *const *names, int count)
{
    return mw__nearest(name, names, count);
}

#define TEXT_OF(x)                   #x
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *mw_version(void)
{
    return VERSION(MW_VERSION_MAJOR, MW_VERSION_MINOR, MW_VERSION_PATCH);
}
