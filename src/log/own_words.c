/* Words of meshwise's own texts, and a map from hashes to what was told under them. */
#include "log/own.h"

#include "plan/plan.h"

bool mw__own_skip(const char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0) return false;
    *at += n;
    return true;
}

bool mw__own_int(const char **at, int64_t *ret)
{
    const char *p = *at;
    int64_t n = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
            return false;
    if (p == *at) return false;
    *at = p;
    *ret = n;
    return true;
}

bool mw__own_name(const char **at, const char **ret, int *ret_length)
{
    const char *p = *at;
    while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
           *p == '_' || *p == '.' || *p == '-')
        p++;
    if (p == *at || p - *at > 200) return false;
    *ret = *at;
    *ret_length = (int)(p - *at);
    *at = p;
    return true;
}

static const char *copy(const own_here *h, mw_arena *arena, const char *at, int64_t length)
{
    while (length > 0 && *at == ' ') {
        at++;
        length--;
    }
    while (length > 0 && at[length - 1] == ' ')
        length--;
    char *kept = length > 0 ? mw__arena_strndup(arena, at, (size_t)length) : NULL;
    if (length > 0 && !kept) h->e->failed = true;
    return kept ? kept : "";
}

const char *mw__own_cut(const own_here *h, const char *at, int64_t length)
{
    return copy(h, mw__explain_scratch(h->e), at, length);
}

const char *mw__own_keep(const own_here *h, const char *at)
{
    return copy(h, mw__explain_arena(h->e), at, (int64_t)strlen(at));
}

const char *mw__own_step(const char *name, int length, bool *ret_moves)
{
    for (int i = 0; i < MW_STEP_COUNT; i++) {
        const char *known = mw__step_name((mw_step_kind)i);
        if (strlen(known) != (size_t)length || strncmp(known, name, (size_t)length) != 0) continue;
        *ret_moves = mw__step_moves((mw_step_kind)i);
        return known;
    }
    return NULL;
}

/* ---- the map ---------------------------------------------------------------------------------
 */

void *mw__own_get(const mw_lookup *map, uint64_t key)
{
    const mw_found *i = mw__lookup_next(map, key, NULL);
    return i ? i->item : NULL;
}

void mw__own_put(const own_here *h, mw_lookup *map, uint64_t key, void *value)
{
    mw_found *i = mw__lookup_next(map, key, NULL);
    if (!i) i = mw__lookup_add(map, key);
    if (i)
        i->item = value;
    else
        h->e->failed = true;
}
