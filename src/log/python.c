/* Reading what Python prints. A recursive reader over a cursor, with a budget of depth and nodes: a
 * bracket past the depth is a character like any other, and past the nodes the rest is left out, so
 * that no text can make it slow. */
#include "log/python.h"

#include <stdlib.h>

enum { DEPTH = 40, NODES = 1 << 16, STRING = 4096 };

typedef struct cursor {
    const char *at, *end;
    mw_arena *arena;
    int depth, nodes;
    bool failed;
} cursor;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static char peek(const cursor *c)
{
    return c->at < c->end ? *c->at : 0;
}

static char peek_next(const cursor *c)
{
    return c->at + 1 < c->end ? c->at[1] : 0;
}

static void spaces(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n'))
        c->at++;
}

static mw_py *node(cursor *c, mw_py_kind kind)
{
    mw_py *n = c->nodes < NODES ? mw__arena_zalloc(c->arena, sizeof *n) : NULL;
    if (!n) {
        c->failed = c->failed || c->nodes < NODES;
        c->at = c->end; /* the budget is used up: the rest is left out */
        return NULL;
    }
    c->nodes++;
    n->kind = kind;
    n->at = c->at;
    return n;
}

static void finish(const cursor *c, mw_py *n)
{
    n->length = c->at > n->at ? c->at - n->at : 0;
}

static mw_py *item(cursor *c);

/* Items up to the closing bracket, which is taken. */
static void items(cursor *c, mw_py *to, char close)
{
    mw_py **last = &to->first;
    c->depth++;
    for (;;) {
        spaces(c);
        char next = peek(c);
        if (c->at >= c->end || next == ')' || next == ']' || next == '}') break;
        if (next == ',') {
            c->at++;
            continue;
        }
        mw_py *made = item(c);
        if (!made) break;
        *last = made;
        last = &made->next;
        to->count++;
    }
    if (close && peek(c) == close) c->at++;
    c->depth--;
}

/* ---- values
 * ----------------------------------------------------------------------------------------- */

/* Digits of a number: at most so many characters count. */
static mw_py *number(cursor *c)
{
    mw_py *n = node(c, MW_PY_INT);
    if (!n) return NULL;
    char text[48];
    size_t used = 0;
    const char *p = c->at;
    if (*p == '-' || *p == '+') text[used++] = *p++;
    bool real = false;
    for (; p < c->end; p++) {
        bool sign = (*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E');
        bool exponent = (*p == 'e' || *p == 'E') && p + 1 < c->end &&
                        (is_digit(p[1]) || p[1] == '-' || p[1] == '+');
        if (!is_digit(*p) && *p != '.' && !sign && !exponent) break;
        if (!is_digit(*p)) real = true;
        if (used + 1 < sizeof text) text[used++] = *p;
    }
    text[used] = 0;
    n->f = strtod(text, NULL);
    n->i = real ? 0 : strtoll(text, NULL, 10);
    if (real || used > 20) n->kind = MW_PY_FLOAT;
    c->at = p;
    finish(c, n);
    return n;
}

static mw_py *string(cursor *c)
{
    char quote = *c->at;
    const char *from = c->at + 1, *stop = MW_MIN(c->end, from + STRING), *p = from;
    while (p < stop && *p != quote)
        p += *p == '\\' && p + 1 < stop ? 2 : 1;
    bool closed = p < stop && *p == quote;
    mw_py *n = node(c, closed ? MW_PY_STR : MW_PY_MARK);
    if (!n) return NULL;
    n->name = from;
    n->name_length = closed ? (int)(p - from) : 0;
    c->at = closed ? p + 1 : from;
    finish(c, n);
    return n;
}

static mw_py *bracketed(cursor *c, mw_py *n)
{
    char close = *c->at == '(' ? ')' : *c->at == '[' ? ']' : '}';
    c->at++;
    items(c, n, close);
    finish(c, n);
    return n;
}

static mw_py *name(cursor *c)
{
    mw_py *n = node(c, MW_PY_NAME);
    if (!n) return NULL;
    const char *p = c->at;
    for (; p < c->end; p++) {
        bool colons = *p == ':' && p + 2 < c->end && p[1] == ':' && is_letter(p[2]);
        if (colons) p++;
        if (!colons && !is_letter(*p) && !is_digit(*p) && *p != '.') break;
    }
    n->name = c->at;
    n->name_length = (int)MW_MIN(p - c->at, 1 << 20);
    c->at = p;
    if (peek(c) == '(' && c->depth < DEPTH) {
        n->kind = MW_PY_CALL;
        return bracketed(c, n);
    }
    finish(c, n);
    return n;
}

static mw_py *value(cursor *c)
{
    char next = peek(c);
    if (is_digit(next) || ((next == '-' || next == '+') && is_digit(peek_next(c))))
        return number(c);
    if (is_letter(next)) return name(c);
    if (next == '\'' || next == '"') return string(c);
    if ((next == '(' || next == '[' || next == '{') && c->depth < DEPTH) {
        mw_py *n = node(c, next == '(' ? MW_PY_TUPLE : next == '[' ? MW_PY_LIST : MW_PY_DICT);
        return n ? bracketed(c, n) : NULL;
    }
    mw_py *n = node(c, MW_PY_MARK);
    if (!n) return NULL;
    c->at++;
    finish(c, n);
    return n;
}

/* `key=` (not `==`); moves past it. */
static bool key_of(cursor *c, const char **ret, int *ret_length)
{
    const char *p = c->at;
    if (p >= c->end || !is_letter(*p)) return false;
    while (p < c->end && p - c->at < 200 && (is_letter(*p) || is_digit(*p) || *p == '.'))
        p++;
    if (p + 1 >= c->end || *p != '=' || p[1] == '=') return false;
    *ret = c->at;
    *ret_length = (int)(p - c->at);
    c->at = p + 1;
    return true;
}

static bool ends_item(const cursor *c)
{
    char next = peek(c);
    return c->at >= c->end || next == ',' || next == ')' || next == ']' || next == '}';
}

static mw_py *item(cursor *c)
{
    const char *key = NULL;
    int key_length = 0;
    (void)key_of(c, &key, &key_length);
    spaces(c);
    const char *from = c->at;
    mw_py *one = NULL;
    if (!ends_item(c)) {
        one = value(c);
        const char *after = c->at;
        spaces(c);
        if (one && !ends_item(c)) {
            mw_py *run = node(c, MW_PY_SEQ);
            if (!run) return one;
            run->at = from;
            run->first = one;
            run->count = 1;
            for (mw_py *last = one; last && !ends_item(c); last = last->next) {
                last->next = value(c);
                if (!last->next) break;
                run->count++;
                after = c->at;
                spaces(c);
            }
            run->length = after - from;
            one = run;
        }
    }
    if (!one && key && (one = node(c, MW_PY_MARK)) != NULL) one->length = 0;
    if (one && key) {
        one->key = key;
        one->key_length = key_length;
    }
    return one;
}

/* ---- entries
 * ---------------------------------------------------------------------------------------- */

mw_status mw__py_read(const char *at, const char *end, mw_arena *arena, mw_py **ret)
{
    cursor c = {.at = at, .end = end, .arena = arena};
    spaces(&c);
    mw_py *made = item(&c);
    if (!made && !c.failed) {
        c.nodes = 0;
        made = node(&c, MW_PY_MARK);
    }
    if (c.failed || !made) return MW_NOMEM();
    *ret = made;
    return MW_OK;
}

mw_status mw__py_list(const char *at, const char *end, mw_arena *arena, mw_py **ret)
{
    cursor c = {.at = at, .end = end, .arena = arena};
    mw_py *n = node(&c, MW_PY_TUPLE);
    if (n) items(&c, n, 0);
    if (c.failed || !n) return MW_NOMEM();
    finish(&c, n);
    *ret = n;
    return MW_OK;
}

bool mw__py_is(const mw_py *n, const char *text)
{
    return n && (n->kind == MW_PY_NAME || n->kind == MW_PY_CALL) &&
           n->name_length == (int)strlen(text) && memcmp(n->name, text, strlen(text)) == 0;
}

bool mw__py_mark(const mw_py *n, char c)
{
    return n && n->kind == MW_PY_MARK && n->length == 1 && *n->at == c;
}

const mw_py *mw__py_child(const mw_py *n, int nth)
{
    const mw_py *child = n ? n->first : NULL;
    while (child && nth-- > 0)
        child = child->next;
    return child;
}

const mw_py *mw__py_key(const mw_py *n, const char *key)
{
    size_t length = strlen(key);
    for (const mw_py *child = n ? n->first : NULL; child; child = child->next)
        if (child->key && (size_t)child->key_length == length &&
            memcmp(child->key, key, length) == 0)
            return child;
    return NULL;
}

int mw__py_ints(const mw_py *n, int64_t *ret, int cap)
{
    if (mw__py_is(n, "torch.Size") && n->kind == MW_PY_CALL) n = n->first;
    if (!n || (n->kind != MW_PY_LIST && n->kind != MW_PY_TUPLE)) return -1;
    int count = 0;
    for (const mw_py *child = n->first; child; child = child->next) {
        if (child->kind != MW_PY_INT || child->key || count == cap) return -1;
        ret[count++] = child->i;
    }
    return count;
}

int mw__py_open(const char *text, int64_t length)
{
    int open = 0;
    for (int64_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '(' || c == '[' || c == '{') open++;
        if ((c == ')' || c == ']' || c == '}') && open) open--;
    }
    return open;
}
