/* Numbers in the small languages of ops. strtod and strtoll would follow the locale and skip more
 * kinds of space than these languages have, so what is handed to strtod is a copy of plain digits.
 */
#include "ops/scan.h"

#include <math.h>
#include <stdlib.h>

bool mw__scan_int(scan *s, int64_t *ret)
{
    scan_space(s);
    const char *p = s->at;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!scan_is_digit(*p)) return false;
    int64_t value = 0;
    for (; scan_is_digit(*p); p++) {
        int digit = *p - '0';
        if (__builtin_mul_overflow(value, 10, &value)) return false;
        if (__builtin_add_overflow(value, negative ? -digit : digit, &value)) return false;
    }
    s->at = p;
    *ret = value;
    return true;
}

static bool scan_special(scan *s, double *ret)
{
    const char *p = s->at + (*s->at == '-' || *s->at == '+');
    double value;
    if (strncmp(p, "inf", 3) == 0)
        value = (double)INFINITY;
    else if (strncmp(p, "nan", 3) == 0)
        value = (double)NAN;
    else
        return false;
    if (scan_is_letter(p[3]) || scan_is_digit(p[3])) return false;
    *ret = *s->at == '-' ? -value : value;
    s->at = p + 3;
    return true;
}

bool mw__scan_number(scan *s, bool *ret_int, int64_t *ret_i, double *ret_f)
{
    enum { LONGEST = 63 };
    scan_space(s);
    *ret_int = false;
    if (scan_special(s, ret_f)) return true;
    const char *p = s->at;
    if (*p == '-' || *p == '+') p++;
    const char *digits = p;
    while (scan_is_digit(*p))
        p++;
    bool whole = p > digits, fraction = false, exponent = false;
    if (*p == '.') {
        const char *after = ++p;
        while (scan_is_digit(*p))
            p++;
        fraction = true;
        whole = whole || p > after;
    }
    if (!whole) return false;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
        if (scan_is_digit(*q)) {
            while (scan_is_digit(*q))
                q++;
            p = q;
            exponent = true;
        }
    }
    if (!fraction && !exponent) {
        *ret_int = true;
        if (!mw__scan_int(s, ret_i)) return false;
        *ret_f = (double)*ret_i;
        return true;
    }
    char copy[LONGEST + 1];
    size_t n = (size_t)(p - s->at);
    if (n > LONGEST) return false;
    memcpy(copy, s->at, n);
    copy[n] = 0;
    *ret_f = strtod(copy, NULL);
    s->at = p;
    return true;
}
