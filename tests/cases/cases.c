/* Situations to explain, and what must be said of them: facts by name and value, movements,
 * problems, what is missing; never wording. Each FILE of the arguments is one:
 *
 *     title: a layer norm and what comes after it
 *     kind: a
 *     mesh: tp=2                  (optional, as --mesh; `dtype:` likewise)
 *     text:
 *     ...lines as they were pasted...
 *     expect:
 *     1: normalized_shape = [24] (stated)     line 1 has such a fact; ~: its value has this in it
 *     3* all_gather 1152                      line 3 moved so many bytes per rank; ?: not known
 *     3# 2                                    it is told twice
 *     8! view-loses-sharding                  line 8 has that problem
 *     8! view-loses-sharding 720 > 144        and both byte counts
 *     8- none                                 line 8 has no problem
 *     ?? dtype                                something missing is named with this word
 *     unread 2                                so many lines can't be read
 *
 * Prints for each case, and for each kind of them, how many of these are right, missing and wrong;
 * for each that isn't right where it stands, what was told instead, and the line of the text that
 * it is about. With -v those that are right, too. */
#include <meshwise/explain.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    int right, missing, wrong;
} tally;

typedef struct situation {
    char title[160], kind[8], mesh[80], dtype[16];
    char *text, *expect;
    int64_t length;
    int expect_line; /* of the file, on which the first expectation stands */
} situation;

enum { KINDS = 16 };
typedef struct kind_tally {
    char name[8];
    int cases;
    tally sum;
} kind_tally;

/* ---- the file ------------------------------------------------------------------------------ */

static char *read_whole(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? calloc(1, 1 << 20) : NULL;
    if (text) (void)fread(text, 1, (1 << 20) - 1, in);
    if (in) (void)fclose(in);
    return text;
}

static bool header(const char *line, const char *key, char *to, size_t size)
{
    size_t n = strlen(key);
    if (strncmp(line, key, n) != 0) return false;
    line += n + strspn(line + n, " ");
    (void)snprintf(to, size, "%.*s", (int)strcspn(line, "\n"), line);
    return true;
}

static bool read_situation(char *file, situation *ret)
{
    char *text = strstr(file, "\ntext:\n"), *expect = text ? strstr(text, "\nexpect:\n") : NULL;
    if (!expect) return false;
    for (const char *line = file; line && line < text + 1; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!header(line, "title:", ret->title, sizeof ret->title) &&
            !header(line, "kind:", ret->kind, sizeof ret->kind) &&
            !header(line, "mesh:", ret->mesh, sizeof ret->mesh))
            (void)header(line, "dtype:", ret->dtype, sizeof ret->dtype);
    }
    ret->text = text + 7;
    ret->length = expect + 1 - ret->text;
    ret->expect = expect + 9;
    ret->expect_line = 1;
    for (const char *at = file; at < ret->expect; at++)
        ret->expect_line += *at == '\n';
    return true;
}

/* ---- one expectation ----------------------------------------------------------------------- */

typedef enum verdict { RIGHT, MISSING, WRONG } verdict;

static bool at_line(const mw_entry *e, int64_t line)
{
    return e->first <= line && line <= e->last;
}

/* `name = value (how)`. */
static verdict fact(const mw_explain *x, int64_t line, const char *rest, const char **ret_got)
{
    const char *sign = strstr(rest, " = "), *tilde = strstr(rest, " ~ ");
    bool part = tilde && (!sign || tilde < sign);
    if (part) sign = tilde;
    if (!sign) return WRONG;
    char name[120], value[400], how[16] = "";
    (void)snprintf(name, sizeof name, "%.*s", (int)(sign - rest), rest);
    (void)snprintf(value, sizeof value, "%s", sign + 3);
    char *open = strrchr(value, '(');
    for (int k = 0; open && k < MW_HOW_KINDS; k++) {
        (void)snprintf(how, sizeof how, "(%s)", mw_how_name((mw_how)k));
        if (strcmp(open, how) != 0) continue;
        (void)snprintf(how, sizeof how, "%s", mw_how_name((mw_how)k));
        open[-1] = 0;
        break;
    }
    if (how[0] == '(') how[0] = 0;
    verdict v = MISSING;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        for (int k = 0; at_line(e, line) && k < e->nfact; k++) {
            const mw_fact *f = &e->fact[k];
            if (strcmp(f->name, name) != 0) continue;
            bool same = part ? strstr(f->value, value) != NULL : strcmp(f->value, value) == 0;
            if (same && (!how[0] || strcmp(how, mw_how_name(f->how)) == 0)) return RIGHT;
            *ret_got = f->value;
            v = WRONG;
        }
    }
    return v;
}

static verdict problem(const mw_explain *x, int64_t line, const char *kind)
{
    size_t n = strcspn(kind, " ");
    char *end;
    long long now = strtoll(kind + n, &end, 10);
    bool numbers = end != kind + n;
    long long after = numbers ? strtoll(end + strspn(end, " >"), NULL, 10) : 0;
    verdict v = MISSING;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        for (int k = 0; at_line(e, line) && k < e->nproblem; k++) {
            const mw_problem *p = &e->problem[k];
            if (n && (strlen(p->kind) != n || strncmp(p->kind, kind, n) != 0)) continue;
            if (!numbers || (p->bytes_now == now && p->bytes_after == after)) return RIGHT;
            v = WRONG;
        }
    }
    return v;
}

static verdict moved(const mw_explain *x, int64_t line, const char *rest)
{
    size_t n = strcspn(rest, " ");
    int64_t bytes = rest[n] && rest[n + 1] != '?' ? strtoll(rest + n, NULL, 10) : -1;
    verdict v = MISSING;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        if (!at_line(e, line) || !e->collective) continue;
        if (strlen(e->collective) == n && strncmp(e->collective, rest, n) == 0 && e->bytes == bytes)
            return RIGHT;
        v = WRONG;
    }
    return v;
}

static verdict counted(const mw_explain *x, int64_t line, int64_t n)
{
    verdict v = MISSING;
    for (int64_t i = 0; i < mw_explain_entries(x); i++) {
        const mw_entry *e = mw_explain_entry(x, i);
        if (at_line(e, line)) v = e->count == n ? RIGHT : WRONG;
        if (v == RIGHT) return v;
    }
    return v;
}

static verdict named_missing(const mw_explain *x, const char *words)
{
    for (int64_t i = 0; i < mw_explain_missing(x); i++)
        if (strstr(mw_explain_missing_at(x, i), words)) return RIGHT;
    return MISSING;
}

static verdict check(const mw_explain *x, const char *line, const char **ret_got)
{
    char *end;
    if (strncmp(line, "?? ", 3) == 0) return named_missing(x, line + 3);
    if (strncmp(line, "unread ", 7) == 0)
        return mw_explain_unread(x) == strtoll(line + 7, NULL, 10) ? RIGHT : WRONG;
    int64_t at = strtoll(line, &end, 10);
    const char *rest = *end ? end + 1 + strspn(end + 1, " ") : end;
    switch (*end) {
    case ':':
        return fact(x, at, rest, ret_got);
    case '*':
        return moved(x, at, rest);
    case '#':
        return counted(x, at, strtoll(rest, NULL, 10));
    case '!':
        return problem(x, at, rest);
    case '-':
        return problem(x, at, "") == MISSING ? RIGHT : WRONG;
    default:
        return WRONG;
    }
}

/* ---- a case -------------------------------------------------------------------------------- */

/* The line of the text that the expectation is about, if it is about one. */
static void quote(const situation *s, const char *expectation)
{
    long long number = strtoll(expectation, NULL, 10);
    const char *at = s->text, *end = s->text + s->length;
    for (long long line = 1; number > 0 && at < end; line++) {
        int n = (int)strcspn(at, "\n");
        if (line == number) {
            printf("    line %lld: %.*s%s\n", number, n > 150 ? 150 : n, at, n > 150 ? "..." : "");
            return;
        }
        at += n + 1;
    }
}

static void check_all(const char *path, const situation *s, const mw_explain *x, bool all, tally *t)
{
    static const char *const names[] = {"right", "missing", "wrong"};
    char line[600];
    int number = s->expect_line;
    for (const char *at = s->expect; *at; number++) {
        size_t n = strcspn(at, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)n, at);
        at += n + (at[n] == '\n');
        if (!line[0] || line[0] == '/') continue;
        const char *got = NULL;
        verdict v = check(x, line, &got);
        t->right += v == RIGHT;
        t->missing += v == MISSING;
        t->wrong += v == WRONG;
        if (v == RIGHT && !all) continue;
        printf("%s:%d: %s: %s%s%s\n", path, number, names[v], line,
               got && v != RIGHT ? "   got " : "", got && v != RIGHT ? got : "");
        if (v != RIGHT) quote(s, line);
    }
}

static void add(tally *to, const tally *t)
{
    to->right += t->right;
    to->missing += t->missing;
    to->wrong += t->wrong;
}

static void add_kind(kind_tally *kinds, const char *name, const tally *t)
{
    int i = 0;
    while (i < KINDS - 1 && kinds[i].cases && strcmp(kinds[i].name, name) != 0)
        i++;
    (void)snprintf(kinds[i].name, sizeof kinds[i].name, "%s", name);
    kinds[i].cases++;
    add(&kinds[i].sum, t);
}

static bool run(const char *path, bool verbose, tally *all, kind_tally *kinds)
{
    situation s = {.kind = "a"};
    char *file = read_whole(path);
    if (!file || !read_situation(file, &s)) {
        printf("%s: can't be read\n", path);
        free(file);
        return false;
    }
    tally t = {0};
    mw_explain *x = NULL;
    mw_explain_options options = {.mesh = s.mesh[0] ? s.mesh : NULL};
    if (s.dtype[0]) options.dtype = mw_dtype_read(s.dtype, (int)strlen(s.dtype));
    bool read = mw_explain_new(&options, &x) == MW_OK &&
                mw_explain_feed(x, s.text, s.length) == MW_OK && mw_explain_finish(x) == MW_OK;
    if (read) check_all(path, &s, x, verbose, &t);
    printf("%s  %3d right %3d missing %3d wrong   %s\n", s.kind, t.right, t.missing, t.wrong,
           s.title);
    mw_explain_free(x);
    free(file);
    add(all, &t);
    add_kind(kinds, s.kind, &t);
    return read && t.right > 0 && t.missing + t.wrong == 0;
}

int main(int argc, char **argv)
{
    tally all = {0};
    kind_tally kinds[KINDS] = {0};
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    int failed = 0, cases = argc - 1 - verbose;
    for (int i = 1 + verbose; i < argc; i++)
        failed += !run(argv[i], verbose, &all, kinds);
    for (int k = 0; k < KINDS && kinds[k].cases; k++)
        printf("kind %-3s %3d cases: %4d right, %d missing, %d wrong\n", kinds[k].name,
               kinds[k].cases, kinds[k].sum.right, kinds[k].sum.missing, kinds[k].sum.wrong);
    printf("all      %3d cases: %4d right, %d missing, %d wrong; %d cases failed\n", cases,
           all.right, all.missing, all.wrong, failed);
    return cases < 1 || failed ? 1 : 0;
}
