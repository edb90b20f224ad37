/* DTensor's rule, list by list, and the layout that has the same owners.
 *
 * Each placement chunks the list of positions that a rank holds by then. While every chunking
 * divides, the list is a string of digits of which the axes take the major ones, and the layout can
 * be read off. A split factor that stands last is a local cut. What is left, a joined list chunked
 * again unevenly, is compared list by list with candidates. */
#include "mesh/notation.h"

#include "mesh/digits.h"
#include "mesh/owner.h"

enum { MOST_RANGES = 1 << 21 };

void mw__ranges_done(mw__ranges *ranges)
{
    mw__free(ranges->at, (size_t)ranges->cap * sizeof *ranges->at);
    *ranges = (mw__ranges){0};
}

/* ---- lists --------------------------------------------------------------------------------- */

static mw_status add_range(mw__ranges *to, int64_t first, int64_t end)
{
    if (to->n && to->at[to->n - 1].end == first) {
        to->at[to->n - 1].end = end;
        return MW_OK;
    }
    if (to->n == MOST_RANGES)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "a shard has more than %d pieces: too many to list",
                       MOST_RANGES);
    if (to->n == to->cap) MW_TRY(mw__grow(&to->at, &to->cap, to->n + 1, sizeof *to->at));
    to->at[to->n++] = (mw_range){first, end};
    return MW_OK;
}

/* Walks along a list; places in it only rise. */
typedef struct walker {
    const mw__ranges *list;
    int64_t range, before; /* `before`: places before that range */
} walker;

/* Places [from, end) of the list. */
static mw_status take_places(walker *w, int64_t from, int64_t end, mw__ranges *to)
{
    while (from < end) {
        mw_range r = w->list->at[w->range];
        int64_t length = r.end - r.first;
        if (from >= w->before + length) {
            w->before += length;
            w->range++;
            continue;
        }
        int64_t stop = MW_MIN(end, w->before + length);
        MW_TRY(add_range(to, r.first + (from - w->before), r.first + (stop - w->before)));
        from = stop;
    }
    return MW_OK;
}

/* Of each of `split` chunks of the list, chunk number `at` of `parts`. */
static mw_status cut_list(const mw__ranges *list, int64_t split, int64_t parts, int64_t at,
                          mw__ranges *to)
{
    int64_t count = 0;
    for (int64_t i = 0; i < list->n; i++)
        count += list->at[i].end - list->at[i].first;
    walker w = {list, 0, 0};
    int64_t piece = mw__chunk(count, split);
    to->n = 0;
    for (int64_t start = 0, next = 0; start < count; start = next) {
        next = start < count - piece ? start + piece : count;
        int64_t length = MW_MIN(piece, count - start), chunk = mw__chunk(length, parts);
        if (at >= mw__chunk(length, chunk)) continue;
        int64_t first = at * chunk;
        int64_t end = first < length - chunk ? first + chunk : length;
        MW_TRY(take_places(&w, start + first, start + end, to));
    }
    return MW_OK;
}

mw_status mw__placed_ranges(const mw_mesh *mesh, int64_t size, const mw__placed *placed,
                            const int *coord, mw__ranges *ret)
{
    mw__ranges list = {0}, next = {0};
    mw_status status = MW_OK;
    if (size > 0) MW_TRY_GOTO(add_range(&list, 0, size), done);
    for (int i = 0; i < placed->n; i++) {
        int a = placed->axis[i];
        MW_TRY_GOTO(cut_list(&list, placed->split[i], mesh->size[a], coord[a], &next), done);
        mw__ranges former = list;
        list = next;
        next = former;
    }
    mw__ranges_done(ret);
    *ret = list;
    list = (mw__ranges){0};
done:
    mw__ranges_done(&list);
    mw__ranges_done(&next);
    return status;
}

/* ---- where all divides --------------------------------------------------------------------- */

/* Digits of the local list, major to minor: those that axes have taken stay in the string, marked
 * by their axis, and are skipped. */
typedef struct string {
    int n;
    mw__digit at[MW__DIGITS];
} string;

/* Splits free digit i so that its major part has `size`. */
static bool split_digit(string *s, int i, int64_t size)
{
    if (s->at[i].size == size) return true;
    if (s->at[i].size % size != 0 || s->n == MW__DIGITS) return false;
    memmove(&s->at[i + 1], &s->at[i], (size_t)(s->n - i) * sizeof *s->at);
    s->n++;
    s->at[i].size = size;
    s->at[i + 1].size /= size;
    return true;
}

/* Skips `split`, then takes `parts`, off the major free digits. */
static bool take_digits(string *s, int64_t split, int axis, int64_t parts)
{
    int32_t major = 1;
    for (int i = 0; i < s->n && parts > 1; i++) {
        mw__digit *digit = &s->at[i];
        if (digit->axis >= 0) continue;
        int64_t want = split > 1 ? split : parts;
        int64_t size = digit->size;
        if (want % size != 0) {
            if (!split_digit(s, i, want)) return false;
            size = want;
        }
        if (split > 1) {
            split /= size;
        } else {
            s->at[i].axis = axis;
            s->at[i].major = major;
            major *= (int32_t)size;
            parts /= size;
        }
    }
    return parts == 1;
}

static bool even_dim(const mw_mesh *mesh, int64_t size, const mw__placed *placed, mw_dim *ret)
{
    string s = {.n = 1, .at = {{MW_CUT_LOCAL, 0, size}}};
    if (size == 0) return false;
    for (int i = 0; i < placed->n; i++)
        if (!take_digits(&s, placed->split[i], placed->axis[i], mesh->size[placed->axis[i]]))
            return false;
    return mw__digits_dim(s.at, s.n, ret);
}

/* ---- where not ----------------------------------------------------------------------------- */

/* One factor: split factors all 1, but for the last. */
static bool direct_dim(const mw_mesh *mesh, int64_t size, const mw__placed *placed, mw_dim *ret)
{
    mw_dim dim = mw__dim_plain(size);
    for (int i = 0; i < placed->n; i++) {
        int a = placed->axis[i];
        if (placed->split[i] > 1 && i < placed->n - 1) return false;
        if (placed->split[i] > 1)
            dim.cut[dim.ncut++] = mw__cut_make(MW_CUT_LOCAL, false, 1, (int32_t)placed->split[i]);
        dim.cut[dim.ncut++] = mw__cut_make(a, false, 1, mesh->size[a]);
    }
    dim.cuts[0] = dim.ncut;
    *ret = dim;
    return true;
}

/* Without the axes of size 1: whatever their split factor, they leave the list as it is. */
static mw__placed without_ones(const mw_mesh *mesh, const mw__placed *placed)
{
    mw__placed kept = {0};
    for (int i = 0; i < placed->n; i++) {
        if (mesh->size[placed->axis[i]] == 1) continue;
        kept.axis[kept.n] = placed->axis[i];
        kept.split[kept.n++] = placed->split[i];
    }
    return kept;
}

mw_status mw__placed_dim(const mw_mesh *mesh, int64_t size, const mw__placed *placed, mw_dim *ret,
                         bool *ret_found)
{
    mw_dim dim;
    bool found = true;
    mw__placed kept = without_ones(mesh, placed);
    if (size == 0)
        dim = mw__dim_plain(0);
    else if (!direct_dim(mesh, size, &kept, &dim) && !even_dim(mesh, size, &kept, &dim))
        MW_TRY(mw__placed_search(mesh, size, &kept, &dim, &found));
    *ret_found = found;
    *ret = found ? dim : mw__dim_plain(size);
    return MW_OK;
}

/* ---- the same owners ----------------------------------------------------------------------- */

enum { MOST_COMPARED = 4096 }; /* ranges of a shard */

/* Writes the dim's ranges beside the list's. */
static bool same_list(const mw_mesh *mesh, const mw_dim *dim, const mw__ranges *list,
                      const int *coord, mw_range *room)
{
    if (mw__dim_ranges(mesh, dim, coord, room, MOST_COMPARED) != list->n) return false;
    return !list->n || memcmp(room, list->at, (size_t)list->n * sizeof *room) == 0;
}

static bool same_lists(const mw_mesh *mesh, const mw_dim *dim, const mw__placed *placed,
                       mw_range *room, bool *ret_failed)
{
    int coord[MW_MESH_AXES] = {0};
    mw__ranges list = {0};
    bool same = true;
    for (int a = 0; a >= 0 && same;) {
        mw_status status = mw__placed_ranges(mesh, mw__dim_size(dim), placed, coord, &list);
        if (status == MW_ERR_NOMEM) *ret_failed = true;
        same = status == MW_OK && same_list(mesh, dim, &list, coord, room);
        for (a = mesh->naxis - 1; a >= 0; a--) {
            if (!(mw__dim_axes(dim) >> a & 1)) continue;
            if (++coord[a] < mesh->size[a]) break;
            coord[a] = 0;
        }
    }
    mw__ranges_done(&list);
    return same;
}

bool mw__placed_is(const mw_mesh *mesh, const mw_dim *dim, const mw__placed *placed,
                   bool *ret_failed)
{
    int64_t size = mw__dim_size(dim);
    int coord[MW_MESH_AXES] = {0};
    mw__placed kept = without_ones(mesh, placed);
    mw_dim got;
    if (size == 0) return true;
    if (even_dim(mesh, size, &kept, &got)) {
        got = mw__dim_canonical(mesh, &got);
        return mw__dim_equal(&got, dim);
    }
    if (mw__dim_ranges(mesh, dim, coord, NULL, 0) > MOST_COMPARED) {
        if (!direct_dim(mesh, size, &kept, &got)) return false;
        got = mw__dim_canonical(mesh, &got);
        return mw__dim_equal(&got, dim);
    }
    mw_range *room = mw__alloc(MOST_COMPARED * sizeof *room);
    if (!room) *ret_failed = true;
    bool same = room && same_lists(mesh, dim, &kept, room, ret_failed);
    mw__free(room, MOST_COMPARED * sizeof *room);
    return same;
}
