/* --question in words of its own: a question that names no piece of the text may still ask for
 * what is wrong, what moves, what is held, or what the text leaves out (explain_topics.def). The
 * answer is those entries themselves; nothing is concluded here. */
#include "cli/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 12 };

enum { PROBLEMS, MOVEMENTS, MEMORY, MISSING };

static const struct {
    int what;
    const char *words;
} topics[] = {
#define TOPIC(what, words) {what, words},
#include "cli/explain_topics.def"
#undef TOPIC
};

/* ---- which --------------------------------------------------------------------------------- */

static bool is_one_of(const char *words, const char *word, size_t n)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t k = strcspn(at, " ");
        bool begins = at[k - 1] == '*';
        if (begins ? n >= k - 1 && memcmp(at, word, k - 1) == 0
                   : n == k && memcmp(at, word, k) == 0)
            return true;
        at += k;
    }
    return false;
}

/* The next word of a question, in small letters and without hyphens; its length, 0 at the end. */
static size_t next_word(const char **at, char *to, size_t size)
{
    size_t n = 0;
    while (**at && !isalpha((unsigned char)**at))
        ++*at;
    for (; isalpha((unsigned char)**at) || **at == '-' || **at == '_'; ++*at)
        if (**at != '-' && n + 1 < size) /* all_gather is a piece of a text, all-gather a word */
            to[n++] = (char)tolower((unsigned char)**at);
    to[n] = 0;
    return n;
}

unsigned explain_topics(const char *question)
{
    unsigned asked = 0;
    char word[80];
    for (size_t n; (n = next_word(&question, word, sizeof word)) > 0;)
        for (size_t t = 0; t < sizeof topics / sizeof *topics; t++)
            if (is_one_of(topics[t].words, word, n)) asked |= 1U << topics[t].what;
    return asked;
}

/* ---- what is held --------------------------------------------------------------------------- */

static bool of_memory(const mw_fact *f)
{
    static const char *const names[] = {"bytes", "local bytes", "held per", "piece before", "peak"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = strstr(f->name, names[i]);
        if (at && (at == f->name || at[-1] == ' ')) return true;
    }
    return false;
}

static int memory_facts(const explained *x, const mw_entry **entry, const mw_fact **fact)
{
    int n = 0;
    for (int64_t i = 0; i < mw_explain_entries(x->e) && n < MOST; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        for (int k = 0; k < e->nfact && n < MOST; k++) {
            if (!of_memory(&e->fact[k])) continue;
            entry[n] = e;
            fact[n++] = &e->fact[k];
        }
    }
    return n;
}

/* On whose account it moved, as far as that is told: by itself, or by the op that XLA names. */
static const mw_fact *account_of(const mw_entry *e)
{
    static const char *const names[] = {"on account of", "op_name", "operand made by"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int k = 0; k < e->nfact; k++)
            if (strcmp(e->fact[k].name, names[i]) == 0) return &e->fact[k];
    return NULL;
}

/* ---- text ----------------------------------------------------------------------------------- */

void explain_topics_text(const explained *x, unsigned asked)
{
    if (asked >> PROBLEMS & 1) {
        if (x->problems)
            (void)explain_worst(x, MOST);
        else
            printf("No problem was found in what could be read.\n");
    }
    if (asked >> MOVEMENTS & 1) {
        explain_moved(x);
        int shown = 0;
        for (int64_t i = 0; i < mw_explain_entries(x->e) && shown < MOST; i++) {
            const mw_entry *e = mw_explain_entry(x->e, i);
            if (!e->collective) continue;
            explain_line(e);
            const mw_fact *f = account_of(e);
            if (f) printf("  %s: %s   (%s: %s)\n", f->name, f->value, mw_how_name(f->how), f->from);
            shown++;
        }
    }
    if (asked >> MEMORY & 1) {
        const mw_entry *e[MOST];
        const mw_fact *f[MOST];
        int n = memory_facts(x, e, f);
        for (int i = 0; i < n; i++)
            printf("line %lld, %s%s%s = %s   (%s: %s)\n", (long long)e[i]->first, e[i]->op,
                   e[i]->op[0] ? ": " : "", f[i]->name, f[i]->value, mw_how_name(f[i]->how),
                   f[i]->from);
        if (!n) printf("No bytes held are known: shape, dtype or mesh is not in the text.\n");
    }
    if (asked >> MISSING & 1)
        for (int64_t i = 0; i < mw_explain_missing(x->e) && i < MOST; i++)
            printf("Missing: %s\n", mw_explain_missing_at(x->e, i));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static bool append(json_t *list, json_t *value)
{
    return list && json_array_append_new(list, value) == 0;
}

static bool add_problems(const explained *x, json_t *to)
{
    bool made = true;
    for (int64_t i = 0; made && i < mw_explain_entries(x->e) && json_array_size(to) < MOST; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        for (int k = 0; made && k < e->nproblem; k++)
            made =
                append(to, json_pack("{s:I, s:s, s:o, s:o}", "line", (json_int_t)e->first, "kind",
                                     e->problem[k].kind, "says", explain_text(e->problem[k].says),
                                     "fix", explain_text(e->problem[k].fix)));
    }
    return made;
}

static bool add_movements(const explained *x, json_t *to)
{
    bool made = true;
    for (int64_t i = 0; made && i < mw_explain_entries(x->e) && json_array_size(to) < MOST; i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        if (!e->collective) continue;
        const mw_fact *f = account_of(e);
        made =
            append(to, json_pack("{s:I, s:o, s:o, s:o, s:o}", "line", (json_int_t)e->first, "says",
                                 explain_text(e->says), "collective", explain_text(e->collective),
                                 "bytes", e->bytes < 0 ? json_null() : json_integer(e->bytes),
                                 "on_account_of", f ? explain_text(f->value) : json_null()));
    }
    return made;
}

static bool add_memory(const explained *x, json_t *to)
{
    const mw_entry *e[MOST];
    const mw_fact *f[MOST];
    int n = memory_facts(x, e, f);
    bool made = true;
    for (int i = 0; made && i < n; i++)
        made = append(to, json_pack("{s:I, s:o, s:o, s:s, s:o}", "line", (json_int_t)e[i]->first,
                                    "name", explain_text(f[i]->name), "value",
                                    explain_text(f[i]->value), "how", mw_how_name(f[i]->how),
                                    "from", explain_text(f[i]->from)));
    return made;
}

static bool add_missing(const explained *x, json_t *to)
{
    bool made = true;
    for (int64_t i = 0; made && i < mw_explain_missing(x->e) && i < MOST; i++)
        made = append(to, explain_text(mw_explain_missing_at(x->e, i)));
    return made;
}

bool explain_topics_json(const explained *x, unsigned asked, json_t *to)
{
    static bool (*const add[])(const explained *, json_t *) = {[PROBLEMS] = add_problems,
                                                               [MOVEMENTS] = add_movements,
                                                               [MEMORY] = add_memory,
                                                               [MISSING] = add_missing};
    static const char *const key[] = {"problems", "movements", "memory", "missing"};
    bool made = to != NULL;
    for (int t = 0; made && t < (int)(sizeof add / sizeof *add); t++) {
        if (!(asked >> t & 1)) continue;
        json_t *list = json_array();
        made = list && add[t](x, list) && json_object_set(to, key[t], list) == 0;
        json_decref(list);
    }
    return made;
}
