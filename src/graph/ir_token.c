/* The characters of a program's text: errors with their line, words and signs, and what names mean.
 */
#include "graph/ir_parse.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- errors -----------------------------------------------------------------------------------
 */

const char *ir_line_of(const ir_parser *p, const char *at, int *ret_number)
{
    const char *line = p->text;
    int number = 1;
    for (const char *c = p->text; c < at; c++)
        if (*c == '\n') line = c + 1, number++;
    *ret_number = number;
    return line;
}

mw_status ir_fail(const ir_parser *p, const char *at, const char *format, ...)
{
    char says[400], what[32];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(says, sizeof says, format, list);
    va_end(list);
    int number;
    const char *line = ir_line_of(p, at, &number);
    (void)snprintf(what, sizeof what, "line %d", number);
    return mw__parse_fail(what, line, at, "%s", says);
}

mw_status ir_failed_at(const ir_parser *p, const char *at, mw_status status)
{
    if (status == MW_OK || status == MW_ERR_NOMEM) return status;
    mw_error *error = &mw__ctx_get()->error;
    if (strncmp(error->says, "line ", 5) == 0) return status;
    int number, shift = 0;
    const char *line = ir_line_of(p, at, &number), *from = line;
    int column = mw__text_column(line, at);
    while (column - shift > 60) { /* of a long line what is around the fault */
        do
            from++;
        while (((unsigned char)*from & 0xc0) == 0x80);
        shift++;
    }
    mw__error_where("line %d, column %d:\n    %.*s\n    %*s^", number, column,
                    (int)MW_MIN(strcspn(from, "\r\n"), 160), from, column - shift - 1, "");
    return status;
}

/* ---- tokens -----------------------------------------------------------------------------------
 */

void ir_space(ir_parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (*p->at != '#' && strncmp(p->at, "//", 2) != 0) return;
        p->at += strcspn(p->at, "\n");
    }
}

bool ir_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool ir_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ir_sees(ir_parser *p, const char *word)
{
    ir_space(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0) return false;
    return !ir_is_letter(word[n - 1]) || !(ir_is_letter(p->at[n]) || ir_is_digit(p->at[n]));
}

bool ir_take(ir_parser *p, const char *word)
{
    if (!ir_sees(p, word)) return false;
    p->at += strlen(word);
    return true;
}

mw_status ir_expect(ir_parser *p, const char *word)
{
    if (ir_take(p, word)) return MW_OK;
    return ir_fail(p, p->at, "expected '%s'%s", word, *p->at ? "" : ", not the end of the text");
}

bool ir_word(ir_parser *p, const char *more, char *to)
{
    ir_space(p);
    size_t n = 0;
    while (n + 1 < IR_NAME && (ir_is_letter(p->at[n]) || ir_is_digit(p->at[n]) ||
                               (p->at[n] && strchr(more, p->at[n]) && n > 0)))
        n++;
    memcpy(to, p->at, n);
    to[n] = 0;
    p->at += n;
    return n > 0;
}

mw_status ir_int(ir_parser *p, int64_t *ret)
{
    ir_space(p);
    char *end;
    long long value = strtoll(p->at, &end, 10);
    if (end == p->at) return ir_fail(p, p->at, "expected a number");
    p->at = end;
    *ret = value;
    return MW_OK;
}

/* ---- names ------------------------------------------------------------------------------------
 */

static ir_name *name_of(const ir_parser *p, const char *name, uint64_t hash)
{
    for (mw_found *i = NULL; (i = mw__lookup_next(&p->names, hash, i));) {
        ir_name *known = i->item;
        if (strcmp(known->name, name) == 0) return known;
    }
    return NULL;
}

mw_ssa *ir_lookup(const ir_parser *p, const char *name)
{
    const ir_name *known = name_of(p, name, mw__hash(7, name, strlen(name)));
    return known ? known->value : NULL;
}

mw_status ir_define(ir_parser *p, const char *name, mw_ssa *value)
{
    uint64_t hash = mw__hash(7, name, strlen(name));
    ir_name *known = name_of(p, name, hash);
    if (!known) {
        known = mw__arena_alloc(&p->scratch, sizeof *known);
        char *kept = mw__arena_strndup(&p->scratch, name, strlen(name));
        mw_found *added = known && kept ? mw__lookup_add(&p->names, hash) : NULL;
        if (!added) return MW_NOMEM();
        known->name = kept;
        added->item = known;
    }
    known->value = value;
    return MW_OK;
}
