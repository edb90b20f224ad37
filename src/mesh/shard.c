/* Who holds what: a rank's positions of a dim, counted and as ranges, without visiting them.
 *
 * Every cut follows torch.chunk's rule on the list that is left. A list is summed up by how many
 * positions and maximal ranges of it a rank holds and whether it holds the first and the last one;
 * these sums of the parts give those of the whole, through local chunks (which touch each other)
 * and through factors (where the minor factor's ranges repeat once per position of the major one).
 * Ranges themselves are only spelled out while the caller has room for them. */
#include "mesh/owner.h"

typedef struct tally {
    int64_t count, ranges;
    bool first, last;
} tally;

/* What a rank holds of a list of `length` positions under cuts[0..n). */
static tally tally_cuts(const mw_mesh *mesh, const mw_cut *cut, int n, int64_t length,
                        const int *coord)
{
    int64_t from = 0, whole = length;
    bool last = true;
    for (int c = 0; c < n && length > 0;) {
        if (cut[c].axis == MW_CUT_LOCAL) {
            int64_t chunk = mw__chunk(length, cut[c].size);
            int64_t full = length / chunk, rest = length % chunk;
            tally a = tally_cuts(mesh, cut + c + 1, n - c - 1, chunk, coord);
            tally b = tally_cuts(mesh, cut + c + 1, n - c - 1, rest, coord);
            int64_t touching = (full - 1) * (a.last && a.first) + (rest && a.last && b.first);
            return (tally){full * a.count + b.count, full * a.ranges + b.ranges - touching,
                           from == 0 && a.first, last && (rest ? b.last : a.last)};
        }
        int64_t parts, at = 0;
        int group = mw__cut_group(cut + c, n - c, &parts);
        for (int i = 0; i < group; i++, c++)
            at = at * cut[c].size + mw__part_coord(mesh, &cut[c], coord);
        int64_t chunk = mw__chunk(length, parts);
        int64_t start = at < mw__chunk(length, chunk) ? at * chunk : length;
        last = last && start >= length - chunk;
        from += start;
        length = MW_MIN(chunk, length - start);
    }
    if (length <= 0 || whole <= 0) return (tally){0};
    return (tally){length, 1, from == 0, last};
}

/* Major factor over minor: positions of the product. */
static tally tally_product(tally major, tally minor, int64_t minor_size)
{
    bool first = major.first && minor.first, last = major.last && minor.last;
    if (minor.count == minor_size)
        return (tally){major.count * minor_size, minor_size ? major.ranges : 0, first, last};
    int64_t neighbours = major.count - major.ranges;
    int64_t touching = minor.first && minor.last ? neighbours : 0;
    return (tally){major.count * minor.count, major.count * minor.ranges - touching, first, last};
}

int64_t mw__dim_local_size(const mw_mesh *mesh, const mw_dim *dim, const int *coord)
{
    int64_t size = 1;
    int cut = 0;
    for (int f = 0; f < dim->nfactor; f++) {
        if (dim->cuts[f] == 0)
            size *= dim->factor[f];
        else
            size *= tally_cuts(mesh, dim->cut + cut, dim->cuts[f], dim->factor[f], coord).count;
        cut += dim->cuts[f];
    }
    return size;
}

/* ---- ranges -------------------------------------------------------------------------------- */

typedef struct lister {
    const mw_mesh *mesh;
    const mw_dim *dim;
    const int *coord;
    int first_cut[MW_DIM_FACTORS + 1];
    int64_t minor[MW_DIM_FACTORS];   /* size of all factors after this one */
    bool minor_full[MW_DIM_FACTORS]; /* and whether the rank holds all of that */
    bool minor_empty[MW_DIM_FACTORS];
    mw_range *range;
    int64_t cap, count;
} lister;

/* False when there is no room for more. */
static bool list_range(lister *l, int64_t first, int64_t end)
{
    if (l->count && l->range[l->count - 1].end == first) {
        l->range[l->count - 1].end = end;
        return true;
    }
    if (l->count == l->cap) return false;
    l->range[l->count++] = (mw_range){first, end};
    return true;
}

static bool list_factor(lister *l, int f, int64_t base);

/* Positions [from, from + length) of factor f, cut by its cuts from number c on. */
static bool list_cuts(lister *l, int f, int c, int64_t base, int64_t from, int64_t length)
{
    for (int end = l->first_cut[f + 1]; c < end && length > 0;) {
        const mw_cut *cut = &l->dim->cut[c];
        if (cut->axis == MW_CUT_LOCAL) {
            int64_t chunk = mw__chunk(length, cut->size);
            tally all = tally_cuts(l->mesh, cut, end - c, length, l->coord);
            if (all.count == 0) return true;
            if (all.count == length) break;
            for (int64_t at = 0;; at += chunk) {
                if (!list_cuts(l, f, c + 1, base, from + at, MW_MIN(chunk, length - at)))
                    return false;
                if (at >= length - chunk) return true; /* at + chunk may not fit */
            }
        }
        int64_t parts, at = 0;
        int group = mw__cut_group(cut, end - c, &parts);
        for (int i = 0; i < group; i++, c++)
            at = at * cut[i].size + mw__part_coord(l->mesh, &cut[i], l->coord);
        int64_t chunk = mw__chunk(length, parts);
        int64_t start = at < mw__chunk(length, chunk) ? at * chunk : length;
        from += start;
        length = MW_MIN(chunk, length - start);
    }
    if (length <= 0) return true;
    if (l->minor_full[f])
        return list_range(l, base + from * l->minor[f], base + (from + length) * l->minor[f]);
    for (int64_t p = from; p < from + length; p++)
        if (!list_factor(l, f + 1, base + p * l->minor[f])) return false;
    return true;
}

static bool list_factor(lister *l, int f, int64_t base)
{
    if (l->minor_empty[f]) return true;
    return list_cuts(l, f, l->first_cut[f], base, 0, l->dim->factor[f]);
}

int64_t mw__dim_ranges(const mw_mesh *mesh, const mw_dim *dim, const int *coord,
                       mw_range *ret_range, int64_t cap)
{
    lister l = {.mesh = mesh, .dim = dim, .coord = coord, .range = ret_range, .cap = cap};
    for (int f = 0; f < dim->nfactor; f++)
        l.first_cut[f + 1] = l.first_cut[f] + dim->cuts[f];
    tally all = {1, 1, true, true};
    int64_t size = 1;
    for (int f = dim->nfactor - 1; f >= 0; f--) {
        l.minor[f] = size;
        l.minor_full[f] = all.count == size;
        l.minor_empty[f] = all.count == 0;
        tally own =
            tally_cuts(mesh, dim->cut + l.first_cut[f], dim->cuts[f], dim->factor[f], coord);
        all = tally_product(own, all, size);
        size *= dim->factor[f];
    }
    if (all.count == 0) return 0;
    if (dim->nfactor == 0)
        (void)(cap > 0 && list_range(&l, 0, 1));
    else if (cap > 0)
        (void)list_factor(&l, 0, 0);
    return all.ranges;
}

int64_t mw_layout_ranges(const mw_mesh *mesh, const mw_layout *layout, int rank, int dim,
                         mw_range *ret_range, int64_t cap)
{
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, rank, coord);
    return mw__dim_ranges(mesh, &layout->dim[dim], coord, ret_range, cap);
}

void mw_layout_local_shape(const mw_mesh *mesh, const mw_layout *layout, int rank,
                           int64_t *ret_shape)
{
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, rank, coord);
    for (int d = 0; d < layout->ndim; d++)
        ret_shape[d] = mw__dim_local_size(mesh, &layout->dim[d], coord);
}

int64_t mw__layout_local_count(const mw_mesh *mesh, const mw_layout *layout, int rank)
{
    int64_t shape[MW_LAYOUT_DIMS], count = 1;
    mw_layout_local_shape(mesh, layout, rank, shape);
    for (int d = 0; d < layout->ndim; d++)
        count *= shape[d];
    return count;
}

/* ---- the largest shard --------------------------------------------------------------------- */

/* Coordinate 0 holds the most of any list that is cut by axes; more of a longer list, too, unless
 * local cuts follow: 10 in 3 local chunks over 2 ranks gives 5, but 9 gives 6. So the lists that a
 * local cut may meet are tried one by one. */
static int64_t most_of(const mw_mesh *mesh, const mw_cut *cut, int n, int64_t length)
{
    static const int zero[MW_MESH_AXES] = {0};
    int last_local = -1;
    for (int c = 0; c < n; c++)
        if (cut[c].axis == MW_CUT_LOCAL) last_local = c;
    if (last_local < 0 || length == 0) return tally_cuts(mesh, cut, n, length, zero).count;
    int digits = 0;
    int64_t size[MW_DIM_CUTS] = {0}, at[MW_DIM_CUTS] = {0}, most = 0;
    const mw_cut *part[MW_DIM_CUTS];
    for (int c = 0; c < last_local; c++)
        if (cut[c].axis >= 0) part[digits] = &cut[c], size[digits++] = cut[c].size;
    for (int d = 0; d >= 0;) {
        int coord[MW_MESH_AXES] = {0};
        for (int i = 0; i < digits; i++) {
            int minor = mesh->size[part[i]->axis] / (part[i]->major * part[i]->size);
            coord[part[i]->axis] += (int)at[i] * minor;
        }
        most = MW_MAX(most, tally_cuts(mesh, cut, n, length, coord).count);
        for (d = digits - 1; d >= 0 && ++at[d] == size[d]; d--)
            at[d] = 0;
    }
    return most;
}

int64_t mw__layout_largest_shard(const mw_mesh *mesh, const mw_layout *layout)
{
    int64_t count = 1;
    for (int d = 0; d < layout->ndim; d++) {
        const mw_dim *dim = &layout->dim[d];
        int cut = 0;
        for (int f = 0; f < dim->nfactor; f++) {
            count *= most_of(mesh, dim->cut + cut, dim->cuts[f], dim->factor[f]);
            cut += dim->cuts[f];
        }
    }
    return count;
}
