/* printf into a growing string, for the conversions that texts here are made of: s, .*s, c, d, i,
 * u, with l, ll or z. They are formatted here, because the C library's printf falls to a path many
 * times slower as soon as any library of the process registers a conversion of its own, as those do
 * that come with BLAS; an explained log is mostly formatting. From the first other conversion on,
 * the rest is the C library's. */
#include "base/base.h"

#include <stdio.h>

static void put_number(mw_str *str, uint64_t value, bool negative)
{
    char digits[24];
    char *at = digits + sizeof digits;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    if (negative) *--at = '-';
    mw__str_append(str, at, (size_t)(digits + sizeof digits - at));
}

static void put_signed(mw_str *str, int64_t value)
{
    put_number(str, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

static void put_text(mw_str *str, const char *text, int most)
{
    if (!text) text = "(null)";
    mw__str_append(str, text, most < 0 ? strlen(text) : strnlen(text, (size_t)most));
}

MW_PRINTF(2, 0) static void put_rest(mw_str *str, const char *format, va_list args)
{
    char few[200], *text = few;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(few, sizeof few, format, args);
    size_t size = length < 0 ? 0 : (size_t)length + 1;
    if (size > sizeof few) {
        text = mw__alloc(size);
        if (text) (void)vsnprintf(text, size, format, again);
    }
    va_end(again);
    if (!text)
        str->failed = true;
    else if (size)
        mw__str_append(str, text, size - 1);
    if (text != few) mw__free(text, size);
}

void mw__str_vprintf(mw_str *str, const char *format, va_list args)
{
    for (;;) {
        const char *spec = strchr(format, '%');
        mw__str_append(str, format, spec ? (size_t)(spec - format) : strlen(format));
        if (!spec) return;
        const char *at = spec + 1;
        bool cut = at[0] == '.' && at[1] == '*' && at[2] == 's';
        bool size = *at == 'z', longer = at[0] == 'l', longest = longer && at[1] == 'l';
        at += cut ? 2 : longest ? 2 : longer || size;
        if (!strchr(cut ? "s" : size || longer ? "diu" : "sdiuc%", *at) || !*at) {
            format = spec; /* a parameter, so that compilers know it for a format */
            put_rest(str, format, args);
            return;
        }
        int most = cut ? va_arg(args, int) : -1;
        bool sign = *at == 'd' || *at == 'i';
        if (*at == '%')
            mw__str_putc(str, '%');
        else if (*at == 's')
            put_text(str, va_arg(args, const char *), most);
        else if (*at == 'c')
            mw__str_putc(str, (char)va_arg(args, int));
        else if (sign)
            put_signed(str, longest  ? va_arg(args, long long)
                            : longer ? va_arg(args, long)
                            : size   ? (int64_t)va_arg(args, size_t)
                                     : va_arg(args, int));
        else
            put_number(str,
                       longest  ? va_arg(args, unsigned long long)
                       : longer ? va_arg(args, unsigned long)
                       : size   ? va_arg(args, size_t)
                                : va_arg(args, unsigned),
                       false);
        format = at + 1;
    }
}
