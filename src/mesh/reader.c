/* A cursor over mesh and layout text. Both grammars share names, numbers and free white space; the
 * cursor never moves past the terminating NUL, so any text is safe to read. */
#include "mesh/reader.h"

#include <stdio.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

void mw__reader_space(mw__reader *r)
{
    while (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r'))
        r->at++;
}

char mw__reader_peek(mw__reader *r)
{
    mw__reader_space(r);
    return *r->at;
}

bool mw__reader_take(mw__reader *r, char c)
{
    if (mw__reader_peek(r) != c) return false;
    r->at++;
    return true;
}

mw_status mw__reader_fail(const mw__reader *r, const char *at, mw_status code, const char *format,
                          ...)
{
    char reason[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    mw_status status = mw__parse_fail(r->what, r->text, at, "%s", reason);
    if (code == status) return status;
    mw__ctx_get()->error.code = code; /* the picture is that of a parse error, the code is not */
    return code;
}

mw_status mw__reader_int(mw__reader *r, const char *of, int64_t *ret)
{
    mw__reader_space(r);
    const char *start = r->at;
    if (!is_digit(*start)) {
        if (*start == 0)
            return mw__reader_fail(r, start, MW_ERR_PARSE, "expected %s, found the end", of);
        if (*start == '-' && is_digit(start[1]))
            return mw__reader_fail(r, start, MW_ERR_PARSE, "expected %s, found a negative number",
                                   of);
        return mw__reader_fail(r, start, MW_ERR_PARSE, "expected %s", of);
    }
    int64_t value = 0;
    for (; is_digit(*r->at); r->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *r->at - '0', &value))
            return mw__reader_fail(r, start, MW_ERR_SHAPE, "the number does not fit in 64 bits");
    *ret = value;
    return MW_OK;
}

mw_status mw__reader_name(mw__reader *r, const char *of, int cap, char *ret)
{
    mw__reader_space(r);
    const char *start = r->at, *from = start, *end;
    bool quoted = *start == '"';
    if (quoted) {
        from = start + 1;
        end = from + strcspn(from, "\"");
        if (!*end) return mw__reader_fail(r, start, MW_ERR_PARSE, "the quoted name has no end");
    } else {
        end = from;
        if (is_letter(*end) || *end == '_')
            while (in_name(*end))
                end++;
    }
    if (end == from) {
        if (!*start)
            return mw__reader_fail(r, start, MW_ERR_PARSE, "expected %s, found the end", of);
        return mw__reader_fail(r, start, MW_ERR_PARSE, "expected %s", of);
    }
    if (end - from > cap)
        return mw__reader_fail(r, start, MW_ERR_PARSE, "the name is longer than %d bytes", cap);
    memcpy(ret, from, (size_t)(end - from));
    ret[end - from] = 0;
    r->at = end + quoted;
    return MW_OK;
}

bool mw__name_bare(const char *name)
{
    if (!is_letter(*name)) return false;
    while (in_name(*name))
        name++;
    return *name == 0;
}
