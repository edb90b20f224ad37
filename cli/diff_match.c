/* Matching two texts' movements. The order of a text does not matter: what moved is collected as
 * items, items are sorted by their words (collective, axis, op, direction, place), and neighbours
 * that agree are summed. */
#include "cli/diff.h"

#include <stdlib.h>
#include <string.h>

/* Facts that name a place in the source, in the order in which they are asked for. */
static const char *const places[] = {"called at", "source_file", "module"};

static const char *fact_of(const mw_entry *e, const char *name)
{
    for (int i = 0; i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0) return e->fact[i].value;
    return NULL;
}

static char *place_of(const mw_entry *e)
{
    const char *place = NULL, *line = "";
    for (size_t i = 0; !place && i < sizeof places / sizeof *places; i++) {
        place = fact_of(e, places[i]);
        if (place && i == 1) line = fact_of(e, "source_line");
    }
    if (!place) place = "";
    if (!line) line = "";
    size_t n = strlen(place), m = strlen(line);
    char *made = mw_memory(n + (m ? m + 1 : 0) + 1);
    if (!made) return NULL;
    memcpy(made, place, n);
    if (m) made[n++] = ':';
    memcpy(made + n, line, m + 1);
    return made;
}

static mw_status add(diff_list *list, int side, const mw_entry *e, const char *what, bool moved)
{
    if (list->nitem == list->cap_item) {
        int64_t cap = list->cap_item ? list->cap_item * 2 : 64;
        diff_item *grown = mw_memory((size_t)cap * sizeof *grown);
        if (!grown) return mw_last_error()->code;
        if (list->nitem) memcpy(grown, list->item, (size_t)list->nitem * sizeof *grown);
        if (list->item) mw_memory_free(list->item, (size_t)list->cap_item * sizeof *grown);
        list->item = grown;
        list->cap_item = cap;
    }
    char *place = place_of(e);
    if (!place) return mw_last_error()->code;
    list->item[list->nitem++] =
        (diff_item){side, e, what, e->axis, e->op, e->direction, place, moved};
    return MW_OK;
}

static mw_status collect(diff *d)
{
    mw_status status = MW_OK;
    for (int s = A; s < SIDES; s++)
        for (int64_t i = 0; i < mw_explain_entries(d->side[s].e); i++) {
            const mw_entry *e = mw_explain_entry(d->side[s].e, i);
            if (e->collective) status = add(&d->moved, s, e, e->collective, true);
            for (int p = 0; p < e->nproblem && status == MW_OK; p++)
                status = add(&d->problems, s, e, e->problem[p].kind, false);
            if (status != MW_OK) return status;
        }
    return MW_OK;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int by_kind(const diff_item *a, const diff_item *b)
{
    int order = strcmp(a->what, b->what);
    if (!order) order = strcmp(a->axis, b->axis);
    if (!order) order = strcmp(a->op, b->op);
    return order ? order : strcmp(a->direction, b->direction);
}

static int by_words(const void *left, const void *right)
{
    const diff_item *a = left, *b = right;
    int order = by_kind(a, b);
    if (!order) order = strcmp(a->place, b->place);
    if (!order) order = a->side - b->side;
    if (order) return order;
    return a->entry->first < b->entry->first ? -1 : a->entry->first > b->entry->first;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static void sum_item(diff_sum *sum, const diff_item *item)
{
    const mw_entry *e = item->entry;
    int64_t n = times(e->count, e->runs);
    sum->count = plus(sum->count, n);
    if (!item->moved)
        sum->bytes = 0;
    else if (e->bytes >= 0)
        sum->bytes = plus(sum->bytes, times(e->bytes, e->count));
    else
        sum->unknown = plus(sum->unknown, n);
    if (!sum->first || e->first < sum->first) sum->first = e->first;
    if (e->latest > sum->latest) sum->latest = e->latest;
}

static mw_status match(diff_list *list)
{
    if (!list->nitem) return MW_OK;
    qsort(list->item, (size_t)list->nitem, sizeof *list->item, by_words);
    list->kind = mw_memory((size_t)list->nitem * sizeof *list->kind);
    if (!list->kind) return mw_last_error()->code;
    for (int64_t i = 0; i < list->nitem; i++) {
        bool next = i == 0 || by_kind(&list->item[i - 1], &list->item[i]) != 0;
        if (next) list->kind[list->nkind++] = (diff_kind){.first = i};
        diff_kind *kind = &list->kind[list->nkind - 1];
        kind->end = i + 1;
        sum_item(&kind->sum[list->item[i].side], &list->item[i]);
    }
    return MW_OK;
}

int64_t diff_place(const diff_list *list, const diff_kind *kind, int64_t first, diff_sum ret[SIDES])
{
    int64_t i = first;
    ret[A] = ret[B] = (diff_sum){0};
    for (; i < kind->end && strcmp(list->item[i].place, list->item[first].place) == 0; i++)
        sum_item(&ret[list->item[i].side], &list->item[i]);
    return i;
}

static bool same_sum(const diff_sum *a, const diff_sum *b)
{
    return a->count == b->count && a->bytes == b->bytes && a->unknown == b->unknown;
}

diff_how diff_change(const diff_list *list, const diff_kind *kind)
{
    if (!kind->sum[B].count) return DIFF_WENT;
    if (!kind->sum[A].count) return DIFF_CAME;
    if (!same_sum(&kind->sum[A], &kind->sum[B])) return DIFF_CHANGED;
    diff_sum at[SIDES];
    for (int64_t i = kind->first; i < kind->end;) {
        i = diff_place(list, kind, i, at);
        if (!same_sum(&at[A], &at[B])) return DIFF_ELSEWHERE;
    }
    return DIFF_SAME;
}

/* What changed most in bytes first; then in count; else the words' order. */
static int64_t size_of(const diff_kind *kind, bool bytes)
{
    const diff_sum *a = &kind->sum[A], *b = &kind->sum[B];
    int64_t change = bytes ? b->bytes - a->bytes : b->count - a->count;
    return change < 0 ? -change : change;
}

static int by_change(const void *left, const void *right)
{
    const diff_kind *a = left, *b = right;
    for (int bytes = 1; bytes >= 0; bytes--)
        if (size_of(a, bytes) != size_of(b, bytes))
            return size_of(a, bytes) < size_of(b, bytes) ? 1 : -1;
    return a->first < b->first ? -1 : a->first > b->first;
}

mw_status diff_match(diff *d)
{
    mw_status status = collect(d);
    if (status == MW_OK) status = match(&d->moved);
    if (status == MW_OK) status = match(&d->problems);
    if (status != MW_OK) return status;
    if (d->moved.nkind)
        qsort(d->moved.kind, (size_t)d->moved.nkind, sizeof *d->moved.kind, by_change);
    if (d->problems.nkind)
        qsort(d->problems.kind, (size_t)d->problems.nkind, sizeof *d->problems.kind, by_change);
    return MW_OK;
}

static void free_list(diff_list *list)
{
    for (int64_t i = 0; i < list->nitem; i++)
        mw_memory_free(list->item[i].place, strlen(list->item[i].place) + 1);
    if (list->item) mw_memory_free(list->item, (size_t)list->cap_item * sizeof *list->item);
    if (list->kind) mw_memory_free(list->kind, (size_t)list->nitem * sizeof *list->kind);
}

void diff_done(diff *d)
{
    free_list(&d->moved);
    free_list(&d->problems);
}
