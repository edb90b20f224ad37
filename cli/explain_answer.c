/* --question: an answer about a piece of the text or a line of it, out of the facts; what such a
 * piece means anywhere (explain_words.def); or that there is no answer. The question's own sentence
 * is not interpreted: what is quoted, bracketed, a number of a line, or a word that stands in some
 * fact is looked up. */
#include "cli/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 24, TOKEN = 200, ANSWERS = 12, MEANINGS = 6 };

typedef struct answer {
    const mw_entry *entry;
    const mw_fact *fact; /* NULL: the entry itself */
} answer;

typedef struct asked {
    char token[TOKENS][TOKEN];
    bool quoted[TOKENS];
    int n;
    int64_t line; /* 0: none */
} asked;

/* ---- the question -------------------------------------------------------------------------- */

static void add_token(asked *a, const char *at, size_t length, bool quoted)
{
    while (length && strchr(" ,?!;'\"`", at[length - 1]))
        length--;
    if (length > 1 && (at[length - 1] == '.' || (at[length - 1] == ':' && at[length - 2] != ']')))
        length--;
    if (length == 0 || length >= TOKEN || a->n == TOKENS) return;
    memcpy(a->token[a->n], at, length);
    a->token[a->n][length] = 0;
    a->quoted[a->n++] = quoted;
}

static size_t quote(const char *at)
{
    const char *end = *at && strchr("\"`", *at) ? strchr(at + 1, *at) : NULL;
    if (!end && *at == '\'' && isspace((unsigned char)at[-1] ? (unsigned char)at[-1] : ' '))
        end = strchr(at + 1, '\'');
    return end ? (size_t)(end - at) + 1 : 0;
}

/* A word, with the blanks inside its brackets: Spec(R on (16,)). */
static size_t word_length(const char *at)
{
    int open = 0;
    size_t n = 0;
    for (; at[n] && (open > 0 || !strchr(" \t\n", at[n])); n++)
        open += (at[n] == '(' || at[n] == '[') - (at[n] == ')' || at[n] == ']');
    return open > 0 ? strcspn(at, " \t\n") : n;
}

static int64_t number_at(const char *at)
{
    return *at >= '0' && *at <= '9' ? strtoll(at, NULL, 10) : 0;
}

static void read_question(const char *text, asked *ret)
{
    char padded[1200] = " ";
    (void)snprintf(padded + 1, sizeof padded - 1, "%s", text);
    for (const char *at = padded + 1; *at;) {
        at += strspn(at, " \t\n");
        size_t n = quote(at);
        if (n > 2) {
            add_token(ret, at + 1, n - 2, true);
            at += n;
            continue;
        }
        n = word_length(at);
        if (strncmp(at, "@ mesh", 6) == 0 || strncmp(at, "mesh dim", 8) == 0) {
            add_token(ret, at, strcspn(at, "?!\n"), true);
            at += *at == '@' ? 2 : 5;
            continue;
        }
        const char *colon = memchr(at, ':', n);
        if (colon && !memchr(at, '(', n) && !memchr(at, ']', n) && !memchr(at, '.', n) &&
            number_at(colon + 1))
            ret->line = number_at(colon + 1);
        if (strncasecmp(at, "line", 4) == 0 && n <= 5) {
            int64_t line = number_at(at + n + strspn(at + n, " "));
            if (line) ret->line = line;
        }
        add_token(ret, at, n, false);
        at += n;
    }
}

/* Words of the question itself. */
static bool common(const char *text)
{
    static const char *const words[] = {
        "a",      "about",  "after", "all",   "an",    "and",  "are",    "as",    "at",    "be",
        "before", "by",     "can",   "did",   "do",    "does", "for",    "from",  "has",   "have",
        "how",    "i",      "in",    "is",    "it",    "its",  "line",   "many",  "mean",  "means",
        "mesh",   "much",   "my",    "need",  "not",   "of",   "on",     "or",    "rank",  "say",
        "so",     "than",   "that",  "the",   "there", "this", "to",     "was",   "what",  "when",
        "where",  "which",  "who",   "whose", "why",   "will", "with",   "you",   "dim",   "device",
        "bytes",  "tensor", "op",    "log",   "text",  "here", "number", "stand", "stands"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0) return true;
    return false;
}

/* ---- what a piece means ---------------------------------------------------------------------- */

typedef struct meaning {
    const char *form, *says;
} meaning;

static const meaning meanings[] = {
#define WORD(form, says) {form, says},
#include "cli/explain_words.def"
#undef WORD
};

static bool has_form(const char *token, const char *form)
{
    for (; *form && *form != '*'; form++) {
        if (*form != '#') {
            if (*token++ != *form) return false;
            continue;
        }
        token += *token == '-';
        if (!isdigit((unsigned char)*token)) return false;
        if (form[1] == '#')
            token++; /* ####: so many digits */
        else
            token += strspn(token, "0123456789");
    }
    return *form == '*' || !*token;
}

static const char *meaning_of(const char *token)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (has_form(token, meanings[i].form)) return meanings[i].says;
    return NULL;
}

static int find_meanings(const asked *a, int *ret)
{
    int n = 0;
    for (int t = 0; t < a->n && n < MEANINGS; t++)
        if ((a->quoted[t] || !common(a->token[t])) && meaning_of(a->token[t])) ret[n++] = t;
    return n;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Spec(R on (16,)) as facts write it: [16] R; Spec(f32[8, 4](S(0))): f32[8, 4] S(0). */
static void as_fact(const char *token, char *to, size_t size)
{
    const char *on = strstr(token, " on ("), *end = token + strlen(token);
    size_t spec = strncmp(token, "Spec(", 5) == 0 ? 5 : 0;
    const char *at = token + spec;
    (void)snprintf(to, size, "%s", token);
    if (spec && end > at && end[-1] == ')') end--;
    if (on && on < end && end[-1] == ')') {
        const char *shape = on + 5, *stop = end - 1;
        while (stop > shape && (stop[-1] == ',' || stop[-1] == ' '))
            stop--;
        (void)snprintf(to, size, "[%.*s] %.*s", (int)(stop - shape), shape, (int)(on - at), at);
    } else if (spec && strstr(at, "](") && strstr(at, "](") < end) {
        const char *open = strstr(at, "](") + 2;
        int inner = end > open && end[-1] == ')' ? (int)(end - open) - 1 : (int)(end - open);
        (void)snprintf(to, size, "%.*s %.*s", (int)(open - at) - 1, at, inner, open);
    }
}

/* `word` stands in `text`, no letter or digit beside it. */
static bool stands_in(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        bool before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_') &&
                      isalnum((unsigned char)word[0]);
        bool after =
            (isalnum((unsigned char)at[n]) || at[n] == '_') && isalnum((unsigned char)word[n - 1]);
        if (!before && !after) return true;
    }
    return false;
}

static bool matches(const mw_fact *f, const char *token)
{
    char form[TOKEN + 8];
    as_fact(token, form, sizeof form);
    if (strcmp(f->value, form) == 0 || strcmp(f->name, form) == 0) return true;
    if (strncmp(token, "@ mesh", 6) == 0) return strcmp(f->name, "mesh") == 0;
    if (strncmp(token, "mesh dim", 8) == 0) return strcmp(f->name, "mesh axis") == 0;
    return strlen(token) > 1 && (stands_in(f->name, token) || stands_in(f->value, form));
}

/* How well: 0 the value or name itself, 1 a word of it. */
static int closeness(const mw_fact *f, const char *token)
{
    char form[TOKEN + 8];
    as_fact(token, form, sizeof form);
    return strcmp(f->value, form) == 0 || strcmp(f->name, form) == 0 ? 0 : 1;
}

/* Collectives and passes by name, ops: the entries that are of these. */
static bool is_entry(const mw_entry *e, const char *token)
{
    char name[TOKEN];
    (void)snprintf(name, sizeof name, "%s", token);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    size_t n = strlen(name);
    if (e->collective) {
        size_t k = strlen(e->collective);
        if (strncmp(name, e->collective, k) == 0 && (n == k || strcmp(name + k, "s") == 0))
            return true;
        if (strcasecmp(name, e->direction) == 0 && *name) return true;
    }
    if (strcmp(e->event, "redistribute") == 0 && strncmp(token, "redistribute from", 17) == 0)
        return true;
    return e->op[0] && strcmp(e->op, token) == 0;
}

static bool known(const answer *list, int n, const mw_entry *e, const mw_fact *f)
{
    for (int i = 0; i < n; i++)
        if (list[i].entry == e && list[i].fact == f) return true;
    return false;
}

/* Facts whose name, of several words, the question has: it asks for these and nothing else. */
static int find_named(const explained *x, const asked *a, answer *ret)
{
    int n = 0;
    for (int64_t i = 0; i < mw_explain_entries(x->e) && n < ANSWERS; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        bool here = a->line && e->first <= a->line && a->line <= e->last;
        for (int k = 0; k < e->nfact && n < ANSWERS && (!a->line || here); k++)
            if (strchr(e->fact[k].name, ' ') && stands_in(x->question, e->fact[k].name))
                ret[n++] = (answer){e, &e->fact[k]};
    }
    return n;
}

static int find(const explained *x, const asked *a, answer *ret)
{
    int n = find_named(x, a, ret);
    if (n) return n;
    for (int64_t i = 0; i < mw_explain_entries(x->e) && n < ANSWERS; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        bool here = a->line && e->first <= a->line && a->line <= e->last, hit = here;
        for (int t = 0; t < a->n && !hit; t++)
            hit = !a->line && (a->quoted[t] || !common(a->token[t])) && is_entry(e, a->token[t]);
        if (hit) ret[n++] = (answer){e, NULL};
    }
    for (int close = 0; close < 2; close++)
        for (int64_t i = 0; i < mw_explain_entries(x->e) && n < ANSWERS; i++) {
            const mw_entry *e = mw_explain_entry(x->e, i);
            bool here = a->line && e->first <= a->line && a->line <= e->last;
            for (int k = 0; k < e->nfact && n < ANSWERS && (!a->line || here); k++)
                for (int t = 0; t < a->n; t++) {
                    bool ask = a->quoted[t] || !common(a->token[t]);
                    if (!ask || !matches(&e->fact[k], a->token[t]) ||
                        closeness(&e->fact[k], a->token[t]) != close ||
                        known(ret, n, e, &e->fact[k]))
                        continue;
                    ret[n++] = (answer){e, &e->fact[k]};
                    break;
                }
        }
    return n;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char cannot[] = "the text and its facts give no answer to this; ask about a line "
                             "(line 3) or a piece of the text (\"[16]\")";

/* What the question asks for in words of its own; nothing where it names a line, a piece of the
 * text or a fact, which is what it is about then. */
static unsigned topics(const explained *x, const asked *a, const answer *found, int n)
{
    bool piece = a->line > 0;
    for (int t = 0; t < a->n; t++)
        piece = piece || a->quoted[t] || strpbrk(a->token[t], "[({") != NULL;
    bool named = n > 0 && found[0].fact && strchr(found[0].fact->name, ' ') &&
                 stands_in(x->question, found[0].fact->name);
    return piece || named ? 0 : explain_topics(x->question);
}

void explain_answer(const explained *x)
{
    asked a = {.n = 0};
    answer found[ANSWERS];
    int means[MEANINGS];
    read_question(x->question, &a);
    int n = find(x, &a, found), m = find_meanings(&a, means);
    unsigned asked_for = topics(x, &a, found, n);
    if (!n && !m && !asked_for) printf("I can't say: %s.\n", cannot);
    explain_topics_text(x, asked_for);
    for (int i = 0; i < n; i++) {
        const mw_fact *f = found[i].fact;
        if (!f && asked_for && (found[i].entry->collective || found[i].entry->nproblem)) continue;
        printf("line %lld, ", (long long)found[i].entry->first);
        if (f)
            printf("%s%s%s = %s   (%s: %s)\n", found[i].entry->op,
                   found[i].entry->op[0] ? ": " : "", f->name, f->value, mw_how_name(f->how),
                   f->from);
        else
            printf("%s\n", found[i].entry->says);
    }
    for (int i = 0; i < m; i++)
        printf("in such texts, %s: %s\n", a.token[means[i]], meaning_of(a.token[means[i]]));
}

static json_t *one_answer(const answer *found)
{
    const mw_fact *f = found->fact;
    json_int_t line = (json_int_t)found->entry->first;
    if (!f) return json_pack("{s:I, s:o}", "line", line, "says", explain_text(found->entry->says));
    return json_pack("{s:I, s:o, s:o, s:s, s:o}", "line", line, "name", explain_text(f->name),
                     "value", explain_text(f->value), "how", mw_how_name(f->how), "from",
                     explain_text(f->from));
}

json_t *explain_answer_json(const explained *x)
{
    asked a = {.n = 0};
    answer found[ANSWERS];
    int means[MEANINGS];
    read_question(x->question, &a);
    int n = find(x, &a, found), m = find_meanings(&a, means);
    json_t *list = json_array(), *general = json_array();
    bool made = list && general;
    for (int i = 0; made && i < n; i++)
        made = json_array_append_new(list, one_answer(&found[i])) == 0;
    for (int i = 0; made && i < m; i++)
        made = json_array_append_new(
                   general, json_pack("{s:o, s:o}", "word", explain_text(a.token[means[i]]),
                                      "means", explain_text(meaning_of(a.token[means[i]])))) == 0;
    if (!made) {
        json_decref(list);
        json_decref(general);
        return NULL;
    }
    unsigned asked_for = topics(x, &a, found, n);
    json_t *all = json_pack("{s:o, s:o, s:s}", "found", list, "meanings", general, "says",
                            n || m || asked_for ? "" : cannot);
    if (!all || explain_topics_json(x, asked_for, all)) return all;
    json_decref(all);
    return NULL;
}
