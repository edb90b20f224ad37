/* --question: an answer about a token or a line of the text, out of the facts; or that there is
 * none. The question's own words are not interpreted: what is quoted, bracketed, a number of a line
 * or a word that some fact has as its name or value is looked up. */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 24, TOKEN = 120, ANSWERS = 12 };

typedef struct answer {
    const mw_entry *entry;
    const mw_fact *fact; /* NULL: the entry itself */
} answer;

typedef struct asked {
    char token[TOKENS][TOKEN];
    int n;
    int64_t line; /* 0: none */
} asked;

static void add_token(asked *a, const char *at, size_t length)
{
    while (length && strchr(" ,.?!;:'\"`", at[length - 1]))
        length--;
    if (length == 0 || length >= TOKEN || a->n == TOKENS) return;
    memcpy(a->token[a->n], at, length);
    a->token[a->n++][length] = 0;
}

static size_t quoted(const char *at)
{
    static const char open[] = "\"'`[(", close[] = "\"'`])";
    const char *which = *at ? strchr(open, *at) : NULL;
    if (!which) return 0;
    const char *end = strchr(at + 1, close[which - open]);
    return end ? (size_t)(end - at) + 1 : 0;
}

static void read_question(const char *text, asked *ret)
{
    for (const char *at = text; *at;) {
        at += strspn(at, " \t\n");
        size_t n = quoted(at);
        if (n > 2) {
            bool quotes = strchr("\"'`", *at) != NULL;
            add_token(ret, at + quotes, n - 2 * (size_t)quotes);
            at += n;
            continue;
        }
        n = strcspn(at, " \t\n");
        const char *colon = memchr(at, ':', n);
        if (colon && colon[1] >= '0' && colon[1] <= '9') ret->line = strtoll(colon + 1, NULL, 10);
        if (strncmp(at, "line", 4) == 0 && n <= 5) {
            const char *number = at + n + strspn(at + n, " ");
            if (*number >= '0' && *number <= '9') ret->line = strtoll(number, NULL, 10);
        }
        if (n > 2) add_token(ret, at, n);
        at += n;
    }
}

static bool word(const char *text)
{
    static const char *const common[] = {"what", "does", "mean", "the",  "why",   "how", "this",
                                         "that", "line", "from", "with", "mesh",  "is",  "are",
                                         "and",  "for",  "not",  "did",  "which", "was", "device"};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (strcasecmp(text, common[i]) == 0) return true;
    return false;
}

static bool matches(const mw_fact *f, const char *token)
{
    return strcmp(f->value, token) == 0 || strcmp(f->name, token) == 0 ||
           (strlen(token) > 3 && !word(token) &&
            (strncmp(f->value, token, strlen(token)) == 0 || strstr(f->name, token)));
}

static int find(const explained *x, answer *ret)
{
    asked a = {.n = 0};
    int n = 0;
    read_question(x->question, &a);
    for (int64_t i = 0; i < mw_explain_entries(x->e) && n < ANSWERS; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        bool here = a.line && e->first <= a.line && a.line <= e->last;
        if (here) ret[n++] = (answer){e, NULL};
        for (int k = 0; k < e->nfact && n < ANSWERS && (!a.line || here); k++)
            for (int t = 0; t < a.n; t++)
                if (!word(a.token[t]) && matches(&e->fact[k], a.token[t])) {
                    ret[n++] = (answer){e, &e->fact[k]};
                    break;
                }
    }
    return n;
}

static const char cannot[] = "the text and its facts give no answer to this; ask about a line "
                             "(line 3) or a piece of the text (\"[16]\")";

void explain_answer(const explained *x)
{
    answer found[ANSWERS];
    int n = find(x, found);
    if (!n) printf("I can't say: %s.\n", cannot);
    for (int i = 0; i < n; i++) {
        const mw_fact *f = found[i].fact;
        printf("line %lld, ", (long long)found[i].entry->first);
        if (f)
            printf("%s: %s = %s   (%s: %s)\n", found[i].entry->op, f->name, f->value,
                   mw_how_name(f->how), f->from);
        else
            printf("%s\n", found[i].entry->says);
    }
}

json_t *explain_answer_json(const explained *x)
{
    answer found[ANSWERS];
    int n = find(x, found);
    json_t *list = json_array();
    bool made = list != NULL;
    for (int i = 0; made && i < n; i++) {
        const mw_fact *f = found[i].fact;
        json_t *one =
            f ? json_pack("{s:I, s:o, s:o, s:s, s:o}", "line", (json_int_t)found[i].entry->first,
                          "name", explain_text(f->name), "value", explain_text(f->value), "how",
                          mw_how_name(f->how), "from", explain_text(f->from))
              : json_pack("{s:I, s:o}", "line", (json_int_t)found[i].entry->first, "says",
                          explain_text(found[i].entry->says));
        made = json_array_append_new(list, one) == 0;
    }
    if (!made) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:o, s:s}", "found", list, "says", n ? "" : cannot);
}
