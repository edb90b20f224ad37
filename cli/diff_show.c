/* What differs, as text and as JSON. */
#include "cli/diff.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 8, PLACES_SHOWN = 3, ALL_PLACES = 1000 };

static const char *const words[] = {
#define X(name, word) [DIFF_##name] = word,
    DIFF_HOW_MAP(X)
#undef X
        [DIFF_SAME] = "same"};

const char *diff_how_word(diff_how how)
{
    return words[how];
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *path_of(const diff *d, int side)
{
    return strcmp(d->path[side], "-") == 0 ? "standard input" : d->path[side];
}

static void print_side(const diff *d, int s)
{
    const explained *x = &d->side[s];
    printf("%s: %lld movement%s", path_of(d, s), (long long)x->movements,
           x->movements == 1 ? "" : "s");
    if (x->movements > x->unknown) printf(", %lld B received per rank", (long long)x->bytes);
    if (x->unknown) printf(", no bytes given for %lld", (long long)x->unknown);
    if (x->problems)
        printf("; %lld problem%s", (long long)x->problems, x->problems == 1 ? "" : "s");
    int64_t unread = mw_explain_unread(x->e);
    if (unread) printf("; %lld line%s unread", (long long)unread, unread == 1 ? "" : "s");
    printf(".\n");
}

static void print_bytes(const diff_sum *sum)
{
    if (sum->unknown == sum->count)
        printf("bytes not given");
    else
        printf("%lld B%s", (long long)sum->bytes, sum->unknown ? " and some not given" : "");
}

static bool alike(const diff_sum *a, const diff_sum *b)
{
    return a->bytes == b->bytes && a->unknown == b->unknown;
}

static void print_sums(const diff_sum *a, const diff_sum *b, bool moved)
{
    const diff_sum *one = a->count ? a : b;
    bool both = a->count && b->count;
    if (both && a->count != b->count)
        printf("%lld -> %lld times", (long long)a->count, (long long)b->count);
    else
        printf("%lld time%s", (long long)one->count, one->count == 1 ? "" : "s");
    if (!moved) return;
    printf(", ");
    print_bytes(one);
    if (!both || alike(a, b)) return;
    printf(" -> ");
    print_bytes(b);
}

static void print_lines(const diff *d, int side, const diff_sum *sum)
{
    printf("%s line%s %lld", path_of(d, side), sum->latest != sum->first ? "s" : "",
           (long long)sum->first);
    if (sum->latest != sum->first) printf("-%lld", (long long)sum->latest);
}

/* The places where the sides differ; without a place in the source, lines alone. */
static void print_places(const diff *d, const diff_list *list, const diff_kind *kind, bool all)
{
    diff_sum at[SIDES];
    int shown = 0;
    for (int64_t i = kind->first, next; i < kind->end; i = next) {
        next = diff_place(list, kind, i, at);
        if (at[A].count == at[B].count && alike(&at[A], &at[B])) continue;
        if (++shown > PLACES_SHOWN && !all) {
            printf(", and elsewhere");
            return;
        }
        printf("%s", shown > 1 ? ", " : "  [");
        if (list->item[i].place[0]) printf("%s: ", list->item[i].place);
        for (int s = A; s < SIDES; s++) {
            if (!at[s].count) continue;
            if (s == B && at[A].count) printf(" -> ");
            print_lines(d, s, &at[s]);
        }
    }
    if (shown) printf("]");
}

static void print_kind(const diff *d, const diff_list *list, const diff_kind *kind, bool all)
{
    const diff_item *item = &list->item[kind->first];
    bool moved = list == &d->moved;
    printf("%-9s %s%s", diff_how_word(diff_change(list, kind)), moved ? "" : "problem ",
           item->what);
    if (item->axis[0]) printf(" over %s", item->axis);
    if (item->op[0]) printf(", %s", item->op);
    if (item->direction[0]) printf(", %s", item->direction);
    printf(": ");
    print_sums(&kind->sum[A], &kind->sum[B], moved);
    print_places(d, list, kind, all);
    printf("\n");
}

static int64_t print_list(const diff *d, const diff_list *list, bool all, int64_t *shown,
                          int64_t *same)
{
    int64_t left = 0;
    for (int64_t i = 0; i < list->nkind; i++) {
        if (diff_change(list, &list->kind[i]) == DIFF_SAME)
            ++*same;
        else if (all || *shown < SHOWN) {
            print_kind(d, list, &list->kind[i], all);
            ++*shown;
        } else
            left++;
    }
    return left;
}

void diff_text(const diff *d, bool all)
{
    int64_t shown = 0, same = 0, unused = 0;
    print_side(d, A);
    print_side(d, B);
    int64_t left = print_list(d, &d->moved, all, &shown, &same);
    if (!shown && !left)
        printf("%s",
               same ? "No difference in what moves.\n" : "Neither says that anything moves.\n");
    left += print_list(d, &d->problems, all, &shown, &unused);
    if (left) printf("%lld more differ (--all).\n", (long long)left);
    if (same && (shown || left))
        printf("%lld kind%s of movement the same.\n", (long long)same, same == 1 ? "" : "s");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *sum_json(const diff_sum *sum, bool moved)
{
    if (!sum->count) return json_null();
    if (!moved)
        return json_pack("{s:I, s:[I, I]}", "count", (json_int_t)sum->count, "lines",
                         (json_int_t)sum->first, (json_int_t)sum->latest);
    return json_pack("{s:I, s:o, s:I, s:[I, I]}", "count", (json_int_t)sum->count, "bytes",
                     sum->unknown == sum->count ? json_null() : json_integer(sum->bytes),
                     "without_bytes", (json_int_t)sum->unknown, "lines", (json_int_t)sum->first,
                     (json_int_t)sum->latest);
}

static json_t *places_json(const diff_list *list, const diff_kind *kind, bool moved)
{
    json_t *places = json_array();
    bool made = places != NULL;
    diff_sum at[SIDES];
    int n = 0;
    for (int64_t i = kind->first, next; made && i < kind->end && n < ALL_PLACES; i = next, n++) {
        next = diff_place(list, kind, i, at);
        const char *place = list->item[i].place;
        json_t *one =
            json_pack("{s:o, s:o, s:o}", "source", place[0] ? explain_text(place) : json_null(),
                      "a", sum_json(&at[A], moved), "b", sum_json(&at[B], moved));
        made = json_array_append_new(places, one) == 0;
    }
    if (made) return places;
    json_decref(places);
    return NULL;
}

static json_t *kind_json(const diff *d, const diff_list *list, const diff_kind *kind)
{
    const diff_item *item = &list->item[kind->first];
    bool moved = list == &d->moved;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", moved ? "collective" : "problem",
                     explain_text(item->what), "axis", explain_text(item->axis), "op",
                     explain_text(item->op), "direction", explain_text(item->direction), "a",
                     sum_json(&kind->sum[A], moved), "b", sum_json(&kind->sum[B], moved), "where",
                     places_json(list, kind, moved));
}

/* The kinds that differ in each way, as arrays under its word, and how many are the same. */
static json_t *list_json(const diff *d, const diff_list *list)
{
    json_t *o = json_object(), *of[DIFF_SAME] = {NULL};
    bool made = o != NULL;
    int64_t same = 0;
    for (int how = 0; made && how < DIFF_SAME; how++) {
        of[how] = json_array();
        made = set(o, words[how], of[how]);
    }
    for (int64_t i = 0; made && i < list->nkind; i++) {
        diff_how how = diff_change(list, &list->kind[i]);
        if (how == DIFF_SAME)
            same++;
        else
            made = json_array_append_new(of[how], kind_json(d, list, &list->kind[i])) == 0;
    }
    if (made && set(o, "same", json_integer(same))) return o;
    json_decref(o);
    return NULL;
}

static json_t *side_json(const diff *d, int s)
{
    const explained *x = &d->side[s];
    json_t *missing = json_array();
    bool made = missing != NULL;
    for (int64_t i = 0; made && i < mw_explain_missing(x->e); i++)
        made = json_array_append_new(missing, explain_text(mw_explain_missing_at(x->e, i))) == 0;
    if (!made) {
        json_decref(missing);
        return NULL;
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "file", explain_text(d->path[s]),
                     "lines", (json_int_t)mw_explain_lines(x->e), "unread",
                     (json_int_t)mw_explain_unread(x->e), "movements", (json_int_t)x->movements,
                     "bytes", (json_int_t)x->bytes, "movements_without_bytes",
                     (json_int_t)x->unknown, "problems", (json_int_t)x->problems, "missing",
                     missing);
}

int diff_json(const cli_args *args, const diff *d)
{
    return cli_print(args,
                     json_pack("{s:i, s:o, s:o, s:o, s:o}", "schema", 1, "a", side_json(d, A), "b",
                               side_json(d, B), "movements", list_json(d, &d->moved), "problems",
                               list_json(d, &d->problems)),
                     0);
}
