/* Cleaning a line: what stands around the text goes, what it tells (rank, source file) is kept.
 * Each rule takes something off the front and they are tried until none applies, so that prefixes
 * may stand in any order:
 * `(Worker pid=7) [rank1]:V1130 08:57:22.683000 5575 torch/_dispatch.py:269] text`. */
#include "log/log.h"

#include <stdlib.h>

/* ---- characters
 * ---------------------------------------------------------------------------------- */

typedef struct spelling {
    const char *from, *to;
} spelling;

/* What editors, forums and terminals make of plain characters. */
static const spelling spellings[] = {
    {"\xe2\x80\x98", "'"}, {"\xe2\x80\x99", "'"}, {"\xe2\x80\x9c", "\""}, {"\xe2\x80\x9d", "\""},
    {"\xe2\x80\xb2", "'"}, {"\xc2\xa0", " "},     {"\xe2\x80\x89", " "},  {"\xe2\x80\xaf", " "},
    {"\xe2\x80\x8b", ""},  {"\xef\xbb\xbf", ""},  {"\xe2\x86\x92", "->"}, {"\xe2\x88\x92", "-"},
    {"&lt;", "<"},         {"&gt;", ">"},         {"&amp;", "&"},         {"&quot;", "\""},
    {"&#39;", "'"},        {"&#x27;", "'"},       {"&nbsp;", " "},        {"\t", "    "},
};

static int64_t escape_length(const char *at, int64_t left)
{
    if (left < 2 || at[0] != '\x1b') return 0;
    int64_t n = 2;
    if (at[1] == '[')
        while (n < left && (at[n] < 0x40 || at[n] > 0x7e))
            n++;
    else if (at[1] == ']')
        while (n < left && at[n] != '\a' && at[n] != '\x1b')
            n++;
    else
        return 2;
    return n < left ? n + 1 : left;
}

/* Bytes that are not copied as they stand: control characters, others than ASCII, entities. */
static bool is_special(unsigned char c)
{
    return c < 0x20 || c >= 0x7f || c == '&';
}

/* One special byte or more at `at`; returns how many. */
static int64_t respell(const char *at, int64_t left, mw_str *to)
{
    unsigned char c = (unsigned char)*at;
    int64_t escape = escape_length(at, left);
    if (escape) return escape;
    for (int k = 0; (c >= 0x80 || c == '&' || c == '\t') && k < MW_COUNT(spellings); k++) {
        size_t n = strlen(spellings[k].from);
        if (*spellings[k].from != *at || (int64_t)n > left || memcmp(at, spellings[k].from, n) != 0)
            continue;
        mw__str_puts(to, spellings[k].to);
        return (int64_t)n;
    }
    mw__str_putc(to, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    return 1;
}

static void plain(const char *raw, int64_t length, mw_str *to)
{
    int64_t start = 0;
    /* a progress bar rewrites its line: the last writing counts */
    for (const char *at = raw;
         length > 1 && (at = memchr(at, '\r', (size_t)(raw + length - 1 - at)));)
        start = ++at - raw;
    for (int64_t i = start; i < length;) {
        int64_t from = i;
        while (i < length && !is_special((unsigned char)raw[i]))
            i++;
        mw__str_append(to, raw + from, (size_t)(i - from));
        if (i < length) i += respell(raw + i, length - i, to);
    }
}

/* ---- prefixes
 * ------------------------------------------------------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *skip_spaces(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* `[rank3]:`, `[default3]:`, `[3]:`, `[1,3]<stdout>:`, `rank 3:`, `Rank 3 |`, `3: `. */
static const char *rank_prefix(const char *at, int *ret_rank)
{
    static const char *const words[] = {"[rank", "[default", "[Rank", "[Rank ", "[rank ", "[1,"};
    for (int i = 0; *at == '[' && i < MW_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(at, words[i], n) != 0 || !is_digit(at[n])) continue;
        const char *end = skip_digits(at + n);
        if (*end != ']') continue;
        *ret_rank = (int)strtol(at + n, NULL, 10);
        end++;
        if (strncmp(end, "<std", 4) == 0)
            end += strcspn(end, ">") + (end[strcspn(end, ">")] == '>');
        return *end == ':' ? end + 1 : end;
    }
    if ((strncmp(at, "rank ", 5) == 0 || strncmp(at, "Rank ", 5) == 0) && is_digit(at[5])) {
        const char *end = skip_digits(at + 5);
        if (*end == ':' || (*end == ' ' && end[1] == '|')) {
            *ret_rank = (int)strtol(at + 5, NULL, 10);
            return end + (*end == ':' ? 1 : 2);
        }
    }
    return NULL;
}

/* `(RayWorker pid=12, ip=10.0.0.1)`, `(MyActor(rank=3) pid=12)`. */
static const char *ray_prefix(const char *at)
{
    if (*at != '(') return NULL;
    const char *pid = strstr(at, "pid=");
    if (!pid || pid - at > 80) return NULL;
    const char *end = strchr(pid, ')');
    if (!end || end - at > 160) return NULL;
    end++;
    while (strncmp(end, " [repeated", 10) == 0 && strchr(end, ']'))
        end = strchr(end, ']') + 1;
    return end;
}

/* `2024-05-01 08:57:22,683`, `[2024-05-01T08:57:22Z]`, `08:57:22.683`. */
static const char *time_prefix(const char *at)
{
    const char *p = at + (*at == '[');
    if (is_digit(p[0]) && is_digit(p[1]) && is_digit(p[2]) && is_digit(p[3]) && p[4] == '-') {
        const char *q = p + strspn(p, "0123456789-");
        if (q - p != 10 || (*q != ' ' && *q != 'T')) return NULL;
        p = q + 1;
    }
    if (!(is_digit(p[0]) && is_digit(p[1]) && p[2] == ':' && is_digit(p[3]) && is_digit(p[4]) &&
          p[5] == ':'))
        return NULL;
    p += strspn(p, "0123456789:.,");
    if (*p == 'Z') p++;
    if (*at == '[') return *p == ']' ? p + 1 : NULL;
    return *p == ' ' || *p == ':' ? p + 1 : NULL;
}

/* glog and torch: `I0000 00:00:00.000000   123 file.cc:45] `, `V1130 08:57:22.683000 5575
 * torch/x.py:9] [0/0] `, `[E1130 08:57:22.683000123 File.cpp:9] `, or what was left of it:
 * `_dispatch.py:152] `. The file is kept. */
static const char *log_prefix(const char *at, mw_line *line)
{
    bool open = at[0] == '[' && at[1] && strchr("IWEF", at[1]) && (is_digit(at[2]) || at[2] == ' ');
    const char *p = at + open;
    if (open && p[1] == ' ') p = skip_spaces(p + 1); /* `[E File.cpp:9] ` */
    if (strchr("VIWEFD", *p) && *p && is_digit(p[1]) && is_digit(p[2]) && is_digit(p[3])) {
        p += 1 + strspn(p + 1, "0123456789");
        p = skip_spaces(p);
        p += strspn(p, "0123456789:.");
        p = skip_spaces(p);
        p = skip_spaces(skip_digits(p));
    }
    const char *file = p;
    while (is_word(*p) || strchr("/.-+<>", *p ? *p : ' '))
        p++;
    if (p == file || *p != ':' || !is_digit(p[1])) return NULL;
    const char *colon = p, *end = skip_digits(p + 1);
    if (*end != ']' || !memchr(file, '.', (size_t)(colon - file))) return NULL;
    if (!line->file) {
        line->file = file;
        line->file_line = (int)strtol(colon + 1, NULL, 10);
    }
    return end + 1;
}

/* Quoting of mails and Markdown. */
static const char *quote_prefix(const char *at)
{
    if (at[0] == '>' && at[1] == ' ') return at + 2;
    return NULL;
}

void mw__line_clean(const char *raw, int64_t length, mw_str *to, mw_line *ret)
{
    mw__str_clear(to);
    ret->raw = raw;
    plain(raw, length, to);
    const char *at = mw__str_text(to), *next = at;
    for (int rounds = 0; next && rounds < 8; rounds++) {
        at = next;
        const char *text = skip_spaces(at);
        /* behind a source file's prefix, `[Rank 3] ` is the message's: rank 3 of some group */
        next = ret->file && strncmp(text, "[Rank ", 6) == 0 ? NULL : rank_prefix(text, &ret->rank);
        if (!next) next = ray_prefix(text);
        if (!next) next = time_prefix(text);
        if (!next) next = log_prefix(text, ret);
        if (!next) next = quote_prefix(text);
    }
    const char *text = skip_spaces(at);
    ret->indent = (int)(text - at);
    size_t end = strlen(text);
    while (end > 0 && text[end - 1] == ' ')
        end--;
    if (end >= 3 && strncmp(text, "```", 3) == 0) end = 0; /* a fence */
    ret->text = text;
    ret->length = (int64_t)end;
    if (to->at) to->at[text - to->at + (int64_t)end] = 0;
}
