/* The JSON forms of meshwise's texts, an object a line: events of `--log json`, and errors. Only
 * what is asked for is read; nested values are passed over. */
#include "log/own.h"

#include <stdlib.h>

typedef struct own_field {
    const char *key;
    const char *text; /* decoded string; "" for others */
    const char *raw;  /* where its value stands */
} own_field;

enum { FIELDS = 40 };

typedef struct own_object {
    own_field field[FIELDS];
    int n;
} own_object;

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char *utf8(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (char)(c < 0x20 ? ' ' : c);
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* A string at *at (on its quote) into scratch; newlines stay. NULL: none, or no memory. */
static const char *string(const own_here *h, const char **at)
{
    const char *p = *at + 1;
    char *made = mw__arena_alloc(mw__explain_scratch(h->e), strlen(p) + 1), *to = made;
    if (!made) {
        h->e->failed = true;
        return NULL;
    }
    while (*p && *p != '"') {
        if (*p != '\\') {
            *to++ = *p++;
            continue;
        }
        char c = *++p;
        if (!c) return NULL;
        p++;
        if (c == 'u') {
            unsigned code = 0;
            for (int i = 0; i < 4; i++, p++) {
                if (hex(*p) < 0) return NULL;
                code = code << 4 | (unsigned)hex(*p);
            }
            to = utf8(to, code);
        } else
            *to++ = c == 'n' ? '\n' : c == 't' || c == 'r' || c == 'b' || c == 'f' ? ' ' : c;
    }
    if (*p != '"') return NULL;
    *to = 0;
    *at = p + 1;
    return made;
}

/* Past a value that is no string: a number, a word, or what is between balanced brackets. */
static bool skip_value(const own_here *h, const char **at)
{
    int depth = 0;
    do {
        if (**at == '"') {
            const char *close = *at + 1;
            for (; *close && *close != '"'; close++)
                if (*close == '\\' && close[1]) close++;
            if (!*close) return false;
            *at = close + 1;
        } else if (**at == '{' || **at == '[') {
            depth++;
            ++*at;
        } else if (**at == '}' || **at == ']') {
            if (depth == 0) return true;
            depth--;
            ++*at;
        } else if (!**at)
            return false;
        else if (**at == ',' && depth == 0)
            return true;
        else
            ++*at;
    } while (depth > 0 || (**at != ',' && **at != '}'));
    (void)h;
    return true;
}

static bool object(const own_here *h, const char *at, own_object *ret)
{
    ret->n = 0;
    if (!mw__own_skip(&at, "{")) return false;
    do {
        at += strspn(at, " ");
        if (*at != '"' || ret->n == FIELDS) return false;
        own_field *f = &ret->field[ret->n++];
        f->key = string(h, &at);
        at += strspn(at, " ");
        if (!f->key || !mw__own_skip(&at, ":")) return false;
        at += strspn(at, " ");
        f->raw = at;
        f->text = *at == '"' ? string(h, &at) : "";
        if (!f->text || (*f->raw != '"' && !skip_value(h, &at))) return false;
        at += strspn(at, " ");
    } while (mw__own_skip(&at, ","));
    return mw__own_skip(&at, "}");
}

static const own_field *field(const own_object *o, const char *key)
{
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->field[i].key, key) == 0) return &o->field[i];
    return NULL;
}

static const char *text(const own_object *o, const char *key)
{
    const own_field *f = field(o, key);
    return f ? f->text : "";
}

static int64_t number(const own_object *o, const char *key)
{
    const own_field *f = field(o, key);
    int64_t n;
    const char *at = f ? f->raw : "";
    return mw__own_int(&at, &n) ? n : -1;
}

static void tell_event(const own_here *h, const own_object *o, bool move)
{
    const char *site = text(o, "file");
    if (site[0] && number(o, "line") >= 0)
        site = mw__arena_printf(mw__explain_scratch(h->e), "%s:%lld", site,
                                (long long)number(o, "line"));
    int64_t rank = number(o, "rank");
    const own_field *asked = field(o, "asked");
    own_event v = {.move = move,
                   .rank = rank < MW_MESH_RANKS ? (int)rank : -1,
                   .number = number(o, "number"),
                   .received = number(o, "recv_bytes"),
                   .most = number(o, "recv_bytes_most"),
                   .op = text(o, "op"),
                   .text = text(o, "text"),
                   .result = text(o, "result"),
                   .tensor = text(o, "tensor"),
                   .from = text(o, "from"),
                   .to = text(o, "to"),
                   .why = text(o, "why"),
                   .site = site ? site : "",
                   .chain = text(o, "chain"),
                   .asked = asked ? *asked->raw == 't' : -1};
    mw__own_tell_event(h, &v);
}

bool mw__own_json_line(const own_here *h)
{
    own_object *o = NULL;
    if (strncmp(h->line->text, "{\"", 2) != 0) return false;
    if (!strstr(h->line->text, "\"event\"") && !strstr(h->line->text, "\"error\"")) return false;
    o = mw__arena_alloc(mw__explain_scratch(h->e), sizeof *o);
    if (!o) {
        h->e->failed = true;
        return false;
    }
    if (!object(h, h->line->text, o)) return false;
    const char *event = text(o, "event");
    bool move = strcmp(event, "move") == 0, call = strcmp(event, "call") == 0;
    if ((move || call) && field(o, "number") && field(o, "text")) {
        tell_event(h, o, move);
        return true;
    }
    const own_field *error = field(o, "error");
    if (!error || !field(o, "schema") || !object(h, error->raw, o) || !field(o, "says"))
        return false;
    mw__own_error(h, text(o, "says"), text(o, "where"), text(o, "hint"));
    return true;
}
