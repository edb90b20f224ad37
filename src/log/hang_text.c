/* Pieces of lines about hangs: heads in brackets, numbers behind words, lists of ranks. */
#include "log/hang.h"

#include <stdlib.h>

const char *mw__hang_after(const char *text, const char *words)
{
    const char *at = text ? strstr(text, words) : NULL;
    return at ? at + strlen(words) : NULL;
}

bool mw__hang_int(const char **at, int64_t *ret)
{
    const char *p = *at + strspn(*at, " ");
    int64_t value = 0;
    bool negative = *p == '-';
    p += negative;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            return false;
    *ret = negative ? -value : value;
    *at = p;
    return true;
}

bool mw__hang_number(const char *text, const char *words, int64_t *ret)
{
    const char *at = mw__hang_after(text, words);
    return at && mw__hang_int(&at, ret);
}

bool mw__hang_hex(const char *text, const char *words, uint64_t *ret)
{
    const char *at = mw__hang_after(text, words);
    if (!at) return false;
    at += strspn(at, " ");
    char *end;
    size_t digits = strspn(at + 2 * (strncmp(at, "0x", 2) == 0), "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 16) return false;
    *ret = strtoull(at, &end, 16);
    return true;
}

static const char *copy(const hang_here *h, const char *at, size_t length)
{
    const char *kept = mw__arena_strndup(&h->e->arena, at, length);
    if (!kept) h->e->failed = true;
    return kept ? kept : "";
}

/* Names of ops and shapes come with every line of a long log, and are few. */
const char *mw__hang_keep(const hang_here *h, const char *at, int64_t most)
{
    enum { SHORT = 100 };
    hang_state *s = h->s;
    size_t length = (size_t)MW_MIN(most, 400);
    if (!s->word) s->word = mw__arena_zalloc(&h->e->arena, HANG_WORDS * sizeof *s->word);
    if (!s->word || length > SHORT) return copy(h, at, length);
    uint64_t i = mw__hash(5, at, length) % HANG_WORDS;
    for (; s->word[i]; i = (i + 1) % HANG_WORDS)
        if (strncmp(s->word[i], at, length) == 0 && !s->word[i][length]) return s->word[i];
    const char *kept = copy(h, at, length);
    if (s->nword < HANG_WORDS / 2 && *kept) {
        s->word[i] = kept;
        s->nword++;
    }
    return kept;
}

const char *mw__hang_field(const hang_here *h, const char *at, const char *end, const char *name)
{
    const char *value = mw__hang_after(at, name);
    if (!value || value >= end) return "";
    int depth = 0;
    const char *p = value;
    for (; p < end; p++) {
        if (strchr("[(<{", *p)) depth++;
        if (strchr("])>}", *p) && depth-- == 0) break;
        if (*p == ',' && depth == 0) break;
    }
    return mw__hang_keep(h, value, p - value);
}

/* ---- heads ------------------------------------------------------------------------------- */

/* `PG ID 0 PG GUID 0(default_pg) Rank 3`, `PG 0 (default_pg) Rank 3`, `PG 0 Rank 3`, `Rank 3`. */
static bool read_pg(hang_here *h, const char *at, const char *close)
{
    const char *rank = NULL;
    for (const char *p = at; (p = mw__hang_after(p, "Rank ")) != NULL && p < close;)
        rank = p;
    if (!rank || !mw__hang_int(&rank, &h->pg_rank)) return false;
    const char *id = mw__hang_after(at, "GUID ");
    if (!id || id > close) id = mw__hang_after(at, "PG ID ");
    if (!id || id > close) id = mw__hang_after(at, "PG ");
    if (!id || id > close) return true;
    const char *end = id + strcspn(id, " (]");
    h->pg = mw__hang_keep(h, id, end - id);
    const char *open = memchr(at, '(', (size_t)(close - at));
    if (open) h->pg_desc = mw__hang_keep(h, open + 1, (int64_t)strcspn(open + 1, ")]"));
    return true;
}

/* Length of "what(): " or "torch.distributed.DistBackendError: " at `at`; 0: none. */
static size_t error_name(const char *at)
{
    size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._0123456789()");
    bool error = (n >= 5 && strncmp(at + n - 5, "Error", 5) == 0) ||
                 (n >= 9 && strncmp(at + n - 9, "Exception", 9) == 0) ||
                 (n == 6 && strncmp(at, "what()", 6) == 0);
    return error && at[n] == ':' && at[n + 1] == ' ' ? n + 2 : 0;
}

void mw__hang_head(hang_here *h)
{
    h->pg = h->pg_desc = NULL;
    h->pg_rank = h->id = HANG_NONE;
    h->at = h->line->text;
    for (int rounds = 0; rounds < 8; rounds++) {
        const char *at = h->at + strspn(h->at, " ");
        size_t name = error_name(at);
        if (name) {
            h->at = at + name;
            continue;
        }
        if (*at != '[') break;
        const char *close = strchr(at, ']');
        if (!close || close - at > 200) break;
        if (strncmp(at, "[id=", 4) == 0)
            (void)mw__hang_number(at, "[id=", &h->id);
        else if (strncmp(at, "[PG ", 4) == 0 || strncmp(at, "[Rank ", 6) == 0)
            (void)read_pg(h, at, close);
        else if (close[1] != ' ' && close[1] != ':')
            break;
        h->at = close + 1 + (close[1] == ':');
    }
    h->at += strspn(h->at, " ");
}

/* ---- ranks ------------------------------------------------------------------------------- */

bool mw__hang_ranks_has(const hang_ranks *set, int64_t rank)
{
    int64_t low = 0, high = set->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (set->at[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->at[low] == rank;
}

void mw__hang_ranks_add(mw_explain *e, hang_ranks *set, int64_t rank)
{
    if (rank < 0 || rank >= HANG_RANKS || mw__hang_ranks_has(set, rank)) return;
    if (set->n == set->cap) { /* in the arena: what is left behind is no more than the set */
        int64_t cap = set->cap ? set->cap * 2 : 8;
        int32_t *grown = mw__arena_alloc(&e->arena, (size_t)cap * sizeof *grown);
        if (!grown) {
            e->failed = true;
            return;
        }
        if (set->n) memcpy(grown, set->at, (size_t)set->n * sizeof *grown);
        set->at = grown;
        set->cap = cap;
    }
    int64_t at = set->n++;
    for (; at > 0 && set->at[at - 1] > rank; at--)
        set->at[at] = set->at[at - 1];
    set->at[at] = (int32_t)rank;
}

void mw__hang_ranks_read(const hang_here *h, const char *text, hang_ranks *set)
{
    for (const char *at = text; *at;) {
        at += strspn(at, " [{(,");
        if (strncmp(at, "and ", 4) == 0) at += 4;
        int64_t first, last;
        if (*at == '-' || !mw__hang_int(&at, &first)) return;
        last = first;
        if (*at == '-') {
            at++;
            if (!mw__hang_int(&at, &last)) return;
        }
        for (int64_t r = first; r <= MW_MIN(last, HANG_RANKS - 1); r++)
            mw__hang_ranks_add(h->e, set, r);
    }
}

const char *mw__hang_ranks_text(mw_explain *e, const hang_ranks *set, const char *word)
{
    enum { RUNS = 40 };
    mw_str text = {0};
    mw__str_printf(&text, "%s%s", word, set->n == 1 ? "" : "s");
    int runs = 0;
    for (int64_t i = 0, end; i < set->n; i = end) {
        for (end = i + 1; end < set->n && set->at[end] == set->at[end - 1] + 1; end++) {}
        if (end - i == 2) end--; /* two are listed, three or more are a run */
        if (runs++ == RUNS) {
            mw__str_printf(&text, " and %lld more", (long long)(set->n - i));
            break;
        }
        bool final = end == set->n && i > 0;
        mw__str_printf(&text, "%s%d", i == 0 ? " " : final ? " and " : ", ", set->at[i]);
        if (end - i > 1) mw__str_printf(&text, "-%d", set->at[end - 1]);
    }
    const char *kept = mw__arena_strndup(&e->arena, mw__str_text(&text), text.length);
    if (!kept || text.failed) e->failed = true;
    mw__str_done(&text);
    return kept ? kept : "";
}

const char *mw__hang_capital(mw_explain *e, const char *text)
{
    char *made = mw__arena_strndup(&e->arena, text, strlen(text));
    if (!made) {
        e->failed = true;
        return text;
    }
    if (made[0] >= 'a' && made[0] <= 'z') made[0] = (char)(made[0] - 'a' + 'A');
    return made;
}

const char *mw__hang_verb(const hang_ranks *set, const char *one, const char *many)
{
    return set->n == 1 ? one : many;
}
