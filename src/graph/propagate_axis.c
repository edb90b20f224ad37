/* Parts of axes as ranges of digits: [major, major * size). Two parts of one axis can stand in one
 * tensor iff all their four ends, sorted, divide one another. */
#include "graph/propagate_axis.h"

static int32_t end_of(mw_axis_ref a)
{
    return a.major * a.size;
}

static int32_t gcd(int32_t a, int32_t b)
{
    while (b) {
        int32_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

mw_axis_ref mw__axis_ref_whole(const mw_mesh *mesh, int axis)
{
    return (mw_axis_ref){(int16_t)axis, 1, mesh->size[axis]};
}

bool mw__axis_ref_equal(mw_axis_ref a, mw_axis_ref b)
{
    return a.axis == b.axis && a.major == b.major && a.size == b.size;
}

bool mw__axis_ref_contains(mw_axis_ref a, mw_axis_ref b)
{
    return a.axis == b.axis && b.major % a.major == 0 && end_of(a) % end_of(b) == 0;
}

bool mw__axis_ref_prefix_of(mw_axis_ref a, mw_axis_ref b)
{
    return a.axis == b.axis && a.major == b.major && b.size % a.size == 0;
}

bool mw__axis_ref_suffix_of(mw_axis_ref a, mw_axis_ref b)
{
    return a.axis == b.axis && end_of(a) == end_of(b) && a.major % b.major == 0;
}

bool mw__axis_ref_overlaps(mw_axis_ref a, mw_axis_ref b)
{
    return a.axis == b.axis && a.major < end_of(b) && b.major < end_of(a);
}

bool mw__axis_ref_coexist(mw_axis_ref a, mw_axis_ref b)
{
    if (a.axis != b.axis) return true;
    int32_t end[4] = {a.major, b.major, end_of(a), end_of(b)};
    for (int i = 1; i < 4; i++)
        for (int k = i; k > 0 && end[k - 1] > end[k]; k--) {
            int32_t one = end[k];
            end[k] = end[k - 1], end[k - 1] = one;
        }
    for (int i = 1; i < 4; i++)
        if (end[i] % end[i - 1] != 0) return false;
    return true;
}

/* The digits [from, to) of a's axis, if there are any. */
static bool range(mw_axis_ref a, int32_t from, int32_t to, mw_axis_ref *ret)
{
    if (to <= from || to % from != 0) return false;
    *ret = (mw_axis_ref){a.axis, from, to / from};
    return true;
}

bool mw__axis_ref_overlap(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret)
{
    if (a.axis != b.axis || !mw__axis_ref_coexist(a, b)) return false;
    return range(a, MW_MAX(a.major, b.major), MW_MIN(end_of(a), end_of(b)), ret);
}

bool mw__axis_ref_common_prefix(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret)
{
    if (a.axis != b.axis || a.major != b.major) return false;
    return range(a, a.major, a.major * gcd(a.size, b.size), ret);
}

bool mw__axis_ref_prefix_without(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret)
{
    if (!mw__axis_ref_coexist(a, b)) return false;
    if (!mw__axis_ref_overlaps(a, b)) {
        *ret = a;
        return true;
    }
    return range(a, a.major, b.major, ret);
}

bool mw__axis_ref_suffix_without(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret)
{
    if (!mw__axis_ref_coexist(a, b)) return false;
    if (!mw__axis_ref_overlaps(a, b)) {
        *ret = a;
        return true;
    }
    return range(a, end_of(b), end_of(a), ret);
}

bool mw__axis_ref_merge(mw_axis_ref a, mw_axis_ref b, mw_axis_ref *ret)
{
    if (a.axis != b.axis || end_of(a) != b.major) return false;
    *ret = (mw_axis_ref){a.axis, a.major, a.size * b.size};
    return true;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

int64_t mw__axis_list_product(const mw_axis_list *list)
{
    int64_t product = 1;
    for (int i = 0; i < list->n; i++)
        product *= list->at[i].size;
    return product;
}

bool mw__axis_list_add(mw_axis_list *list, mw_axis_ref ref)
{
    if (list->n && mw__axis_ref_merge(list->at[list->n - 1], ref, &list->at[list->n - 1]))
        return true;
    if (list->n == MW_COUNT(list->at)) return false;
    list->at[list->n++] = ref;
    return true;
}

mw_axis_list mw__axis_list_common(const mw_axis_list *a, const mw_axis_list *b)
{
    mw_axis_list common = {0};
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (!mw__axis_ref_common_prefix(a->at[i], b->at[i], &common.at[i])) break;
        common.n++;
        if (!mw__axis_ref_equal(a->at[i], b->at[i])) break;
    }
    return common;
}

bool mw__axis_list_strict_prefix(const mw_axis_list *a, const mw_axis_list *b)
{
    if (a->n == 0) return b->n > 0;
    if (a->n > b->n) return false;
    for (int i = 0; i + 1 < a->n; i++)
        if (!mw__axis_ref_equal(a->at[i], b->at[i])) return false;
    bool same = mw__axis_ref_equal(a->at[a->n - 1], b->at[a->n - 1]);
    return same ? a->n < b->n : mw__axis_ref_prefix_of(a->at[a->n - 1], b->at[a->n - 1]);
}

mw_axis_list mw__axis_list_meet(const mw_axis_list *had, const mw_axis_list *more, bool *grow)
{
    mw_axis_list met = {0};
    int i = 0;
    for (; i < had->n && i < more->n; i++) {
        mw_axis_ref a = had->at[i], b = more->at[i];
        if (mw__axis_ref_equal(a, b)) {
            met.at[met.n++] = a;
        } else if (mw__axis_ref_prefix_of(b, a) && i + 1 == more->n) {
            met.at[met.n++] = a;
        } else if (mw__axis_ref_prefix_of(a, b) && i + 1 == had->n && *grow) {
            met.at[met.n++] = b;
        } else {
            mw_axis_ref alike;
            if (a.major == b.major &&
                (mw__axis_ref_prefix_of(a, b) || mw__axis_ref_prefix_of(b, a)) &&
                mw__axis_ref_common_prefix(a, b, &alike))
                met.at[met.n++] = alike;
            *grow = false;
            return met;
        }
    }
    for (int k = i; k < had->n; k++)
        met.at[met.n++] = had->at[k];
    for (int k = i; k < more->n && *grow; k++)
        met.at[met.n++] = more->at[k];
    return met;
}
