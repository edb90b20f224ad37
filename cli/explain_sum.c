/* Sums over what was explained: movements by kind, the worst of them, problems. */
#include "cli/explain.h"

#include <string.h>

enum { KINDS = 1000 };

static bool same(const moved_kind *k, const mw_entry *e)
{
    return strcmp(k->collective, e->collective) == 0 && strcmp(k->axis, e->axis) == 0 &&
           strcmp(k->op, e->op) == 0 && strcmp(k->direction, e->direction) == 0;
}

static mw_status kind_of(explained *x, const mw_entry *e, moved_kind **ret)
{
    for (int64_t i = 0; i < x->nkind; i++)
        if (same(&x->kind[i], e)) {
            *ret = &x->kind[i];
            return MW_OK;
        }
    if (x->nkind == KINDS) { /* what is over goes with the last */
        *ret = &x->kind[KINDS - 1];
        x->kind[KINDS - 1] =
            (moved_kind){"others", "", "", "", (*ret)->count, (*ret)->bytes, (*ret)->unknown};
        return MW_OK;
    }
    if (x->nkind == x->cap_kind) {
        int64_t cap = x->cap_kind ? x->cap_kind * 2 : 16;
        moved_kind *grown = mw_memory((size_t)cap * sizeof *grown);
        if (!grown) return mw_last_error()->code;
        if (x->nkind) memcpy(grown, x->kind, (size_t)x->nkind * sizeof *grown);
        if (x->kind) mw_memory_free(x->kind, (size_t)x->cap_kind * sizeof *grown);
        x->kind = grown;
        x->cap_kind = cap;
    }
    x->kind[x->nkind] = (moved_kind){e->collective, e->axis, e->op, e->direction, 0, 0, 0};
    *ret = &x->kind[x->nkind++];
    return MW_OK;
}

static int64_t weight(const explained *x, int64_t i)
{
    const mw_entry *e = mw_explain_entry(x->e, i);
    int64_t bytes = e->bytes > 0 ? e->bytes : 0, all;
    return __builtin_mul_overflow(bytes, e->count, &all) ? INT64_MAX : all;
}

static void worst(explained *x, int64_t i)
{
    for (int k = 0; k < WORST; k++) {
        if (x->worst[k] >= 0 && weight(x, x->worst[k]) >= weight(x, i)) continue;
        for (int j = WORST - 1; j > k; j--)
            x->worst[j] = x->worst[j - 1];
        x->worst[k] = i;
        return;
    }
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

mw_status explain_sum(explained *x)
{
    for (int k = 0; k < WORST; k++)
        x->worst[k] = -1;
    for (int64_t i = 0; i < mw_explain_entries(x->e); i++) {
        const mw_entry *e = mw_explain_entry(x->e, i);
        x->problems += e->nproblem;
        if (strcmp(e->event, "dispatch") == 0 || strcmp(e->event, "call") == 0)
            x->calls = add(x->calls, e->count);
        if (!e->collective) continue;
        moved_kind *kind = NULL;
        mw_status status = kind_of(x, e, &kind);
        if (status != MW_OK) return status;
        int64_t times;
        if (__builtin_mul_overflow(e->count, e->runs, &times)) times = INT64_MAX;
        kind->count = add(kind->count, times);
        x->movements = add(x->movements, times);
        if (e->bytes >= 0) {
            kind->bytes = add(kind->bytes, weight(x, i));
            x->bytes = add(x->bytes, weight(x, i));
        } else {
            kind->unknown = add(kind->unknown, times);
            x->unknown = add(x->unknown, times);
        }
        worst(x, i);
    }
    return MW_OK;
}

void explain_done(explained *x)
{
    if (x->kind) mw_memory_free(x->kind, (size_t)x->cap_kind * sizeof *x->kind);
}
