/* Changing dims: axes taken away, an axis added, and the view algebra.
 *
 * A view keeps every element's place in row-major order, so the dims that it joins and splits are
 * one flat index, and it is free iff every axis's coordinate function of that index is a function
 * of one of the new dims' indices alone (perhaps in parts: `8@x` viewed as [2, 4] is `2@x:(1)2,
 * 4@x:(2)2`) and these functions have a text there. Where all cuts divide, that is a matter of
 * cutting a string of digits at the new boundaries; otherwise parts are assigned to dims by
 * comparing functions and the texts searched for. Dims that a view leaves alone are left alone. */
#include "mesh/digits.h"
#include "mesh/owner.h"
#include "mesh/search.h"

/* ---- axes taken away ----------------------------------------------------------------------- */

mw_dim mw__dim_without(const mw_mesh *mesh, const mw_dim *dim, uint32_t axes)
{
    mw_dim left = *dim;
    for (int c = 0; c < left.ncut; c++)
        if (left.cut[c].axis >= 0 && axes & 1u << left.cut[c].axis) {
            left.cut[c].size = 1; /* no effect: the canonical text has no such cuts */
            left.cut[c].major = 1;
        }
    return mw__dim_canonical(mesh, &left);
}

/* ---- an axis added ------------------------------------------------------------------------- */

/* What ranks may still hold of a factor. */
typedef struct rest_of {
    bool local; /* local cuts: a rank's list is not one piece */
    int n;      /* different lengths, 0 left out */
    int64_t length[16];
    int64_t longest;
} rest_of;

static rest_of rest_of_factor(const mw_dim *dim, int f)
{
    rest_of r = {.n = 1, .length = {dim->factor[f]}};
    int c = 0;
    for (int i = 0; i < f; i++)
        c += dim->cuts[i];
    for (int end = c + dim->cuts[f]; c < end;) {
        int64_t parts;
        r.local = r.local || dim->cut[c].axis < 0;
        c += mw__cut_group(&dim->cut[c], end - c, &parts);
        for (int i = 0, before = r.n; i < before; i++) {
            int64_t chunk = mw__chunk(r.length[i], parts), left = r.length[i] % chunk;
            r.length[i] = chunk;
            if (left && r.n < MW_COUNT(r.length)) r.length[r.n++] = left;
        }
    }
    for (int i = 0; i < r.n; i++)
        r.longest = MW_MAX(r.longest, r.length[i]);
    return r;
}

static bool all_divide(const rest_of *r, int64_t size)
{
    for (int i = 0; i < r->n; i++)
        if (r->length[i] % size != 0) return false;
    return !r->local;
}

static bool insert_cut(mw_dim *dim, int f, mw_cut cut)
{
    if (dim->ncut == MW_DIM_CUTS) return false;
    int at = 0;
    for (int i = 0; i <= f; i++)
        at += dim->cuts[i];
    memmove(&dim->cut[at + 1], &dim->cut[at], (size_t)(dim->ncut - at) * sizeof cut);
    dim->cut[at] = cut;
    dim->cuts[f]++;
    dim->ncut++;
    return true;
}

/* Whether chunks of factor f's lists are chunks of the ranks' whole lists, all factors before it
 * being used up. */
static bool in_order(const mw_dim *dim, int f, const rest_of *r, int64_t size)
{
    if (r->local) return false;
    bool alone = true; /* nothing is left of the factors behind */
    for (int g = f + 1; g < dim->nfactor; g++)
        alone = alone && rest_of_factor(dim, g).longest <= 1;
    return alone || all_divide(r, size);
}

/* The factor to cut where no cut gives every rank a chunk of its list as it stands: the first that
 * is divided evenly, else the one with the most left. */
static int best_factor(const mw_dim *dim, int64_t size)
{
    int best = 0;
    int64_t longest = -1;
    for (int f = 0; f < dim->nfactor; f++) {
        rest_of r = rest_of_factor(dim, f);
        if (all_divide(&r, size)) return f;
        if (r.longest >= longest) longest = r.longest, best = f;
    }
    return best;
}

bool mw__dim_append(const mw_mesh *mesh, mw_dim *dim, int axis, int32_t major, int32_t size)
{
    mw_dim to = *dim;
    for (int c = 0; c < to.ncut; c++)
        if (to.cut[c].axis == axis &&
            !mw__parts_apart(to.cut[c].major, to.cut[c].size, major, size))
            return false;
    if (to.nfactor == 0) {
        to = mw__dim_plain(1);
        to.open = dim->open;
    }
    int at = -1;
    for (int f = 0; f < to.nfactor && at < 0; f++) {
        rest_of r = rest_of_factor(&to, f);
        if (r.longest <= 1 && f < to.nfactor - 1) continue; /* used up */
        if (in_order(&to, f, &r, size))
            at = f;
        else if (r.local || r.n > 1 || size % r.length[0] != 0)
            at = best_factor(&to, size);
        else {
            /* fewer positions than ranks: a part of the axis uses them up, the rest goes on */
            int32_t part = (int32_t)r.length[0];
            if (!insert_cut(&to, f, mw__cut_make(axis, false, major, part))) return false;
            major *= part;
            size /= part;
        }
    }
    if (!insert_cut(&to, at < 0 ? to.nfactor - 1 : at, mw__cut_make(axis, false, major, size)))
        return false;
    *dim = mw__dim_canonical(mesh, &to);
    return true;
}

/* ---- views where all cuts divide ----------------------------------------------------------- */

/* Cuts the string of digits into dims. False where a boundary falls inside a digit. */
static bool split_digits(mw__digits *digits, const int64_t *sizes, int nto, mw_dim *ret_to)
{
    int at = 0;
    for (int d = 0; d < nto; d++) {
        mw__digit own[MW__DIGITS];
        int n = 0;
        for (int64_t left = sizes[d]; left > 1;) {
            mw__digit *digit = &digits->at[at];
            own[n] = *digit;
            if (left % digit->size == 0) {
                left /= digit->size;
                at++;
            } else if (digit->size % left == 0) {
                own[n].size = left;
                digit->size /= left;
                if (digit->axis >= 0) digit->major *= (int32_t)left;
                left = 1;
            } else {
                return false;
            }
            n++;
        }
        if (!mw__digits_dim(own, n, &ret_to[d])) return false;
    }
    return true;
}

/* ---- views where some don't ---------------------------------------------------------------- */

enum {
    MOST_TRIES = 16,
    MOST_FIT_STEPS = 1 << 18 /* of all comparisons of one view: some 30 ms */
};

typedef struct view {
    const mw_mesh *mesh;
    const mw__line *line;
    int nto;
    const int64_t *size;
    int64_t stride[MW_LAYOUT_DIMS];
    int npart[MW_LAYOUT_DIMS]; /* parts assigned to each dim */
    mw_cut part[MW_LAYOUT_DIMS][MW_DIM_CUTS];
    int most_local;
    int tries;
    int64_t steps;
    mw_dim *to;
} view;

/* Whether the part's coordinate is a function of the index of dim d: it changes where that index
 * does (seen over two of its own periods, it does so in all) and repeats when that index does. */
static bool fits(view *v, const mw_cut *part, int d)
{
    mw__asked asked;
    mw__asked_set(&asked, v->mesh, v->line, part);
    int64_t stride = v->stride[d], period = stride * v->size[d];
    const mw__line_factor *factor = &v->line->factor[asked.use[0].f];
    if (asked.count == 1 && factor->stride % stride == 0 && period % asked.period == 0) return true;
    int64_t end = 2 * asked.period;
    if (period % asked.period != 0) end += period;
    end = MW_MIN(end, v->line->size);
    for (int64_t at = 0, before = -1; at < end;) {
        int64_t next, folded_next, folded = at % period;
        int64_t coord = mw__asked_coord(&asked, at, &next);
        if (coord != mw__asked_coord(&asked, folded, &folded_next)) return false;
        if (at > 0 && coord != before && at % stride != 0) return false;
        if (++v->steps > MOST_FIT_STEPS) return false;
        before = coord;
        at = MW_MIN(next, at + (MW_MIN(folded_next, period) - folded));
    }
    return true;
}

static bool finish(view *v)
{
    if (v->tries++ >= MOST_TRIES || v->steps > MOST_FIT_STEPS) return false;
    mw_dim to[MW_LAYOUT_DIMS];
    for (int d = 0; d < v->nto; d++) {
        if (v->npart[d] == 0) {
            to[d] = mw__dim_plain(v->size[d]);
            continue;
        }
        mw__wanted wanted = {.mesh = v->mesh,
                             .line = v->line,
                             .size = v->size[d],
                             .stride = v->stride[d],
                             .npart = v->npart[d],
                             .most_local = v->most_local};
        memcpy(wanted.part, v->part[d], sizeof wanted.part);
        if (!mw__dim_least(&wanted, NULL, &to[d])) return false;
    }
    memcpy(v->to, to, (size_t)v->nto * sizeof *to);
    return true;
}

/* Assigns the first `n` of the pending parts to dims, whole or piece by piece. */
static bool assign(view *v, mw_cut *pending, int n)
{
    if (n == 0) return finish(v);
    mw_cut part = pending[n - 1];
    for (int d = 0; d < v->nto; d++) {
        if (v->npart[d] == MW_DIM_CUTS || !fits(v, &part, d)) continue;
        v->part[d][v->npart[d]++] = part;
        if (assign(v, pending, n - 1)) return true;
        v->npart[d]--;
        pending[n - 1] = part;
    }
    for (int32_t size = 2; size <= part.size / 2; size++) {
        if (part.size % size != 0) continue;
        mw_cut piece = part;
        piece.size = size;
        for (int d = 0; d < v->nto; d++) {
            if (v->npart[d] == MW_DIM_CUTS || !fits(v, &piece, d)) continue;
            v->part[d][v->npart[d]++] = piece;
            pending[n - 1] = mw__cut_make(part.axis, false, part.major * size, part.size / size);
            if (assign(v, pending, n)) return true;
            v->npart[d]--;
            pending[n - 1] = part;
        }
    }
    return false;
}

static bool search_view(const mw_mesh *mesh, const mw_dim *from, int nfrom, const int64_t *sizes,
                        int nto, mw_dim *ret_to)
{
    mw__line line;
    mw_cut pending[MW__LINE_CUTS];
    mw__line_set(&line, from, nfrom);
    if (line.size > MW__SEARCH_SIZE) return false;
    view v = {.mesh = mesh, .line = &line, .nto = nto, .size = sizes, .to = ret_to};
    for (int c = 0; c < line.ncut; c++)
        v.most_local += line.cut[c].axis < 0;
    int64_t stride = 1;
    for (int d = nto - 1; d >= 0; d--) {
        v.stride[d] = stride;
        stride *= sizes[d];
    }
    return assign(&v, pending, mw__line_parts(&line, pending));
}

/* ---- views --------------------------------------------------------------------------------- */

/* Dims that become dims of the same product, and no fewer of them do. */
static bool regroup_some(const mw_mesh *mesh, const mw_dim *from, int nfrom, const int64_t *sizes,
                         int nto, mw_dim *ret_to)
{
    if (nfrom == 1 && nto == 1) {
        ret_to[0] = mw__dim_canonical(mesh, &from[0]);
        return true;
    }
    mw__digits digits;
    digits.count = 0;
    bool even = true;
    for (int i = 0; i < nfrom && even; i++)
        even = mw__digits_add(&digits, &from[i]);
    if (even) return split_digits(&digits, sizes, nto, ret_to);
    return search_view(mesh, from, nfrom, sizes, nto, ret_to);
}

static bool regroup(const mw_mesh *mesh, const mw_dim *from, int nfrom, const int64_t *sizes,
                    int nto, mw_dim *ret_to)
{
    int64_t count = 1;
    bool same = nfrom == nto;
    for (int i = 0; i < nfrom; i++) {
        int64_t size = mw__dim_size(&from[i]);
        count *= size;
        same = same && size == sizes[i];
    }
    for (int d = 0; d < nto && count == 0; d++) /* no elements: any owners are these owners */
        ret_to[d] = same ? mw__dim_canonical(mesh, &from[d]) : mw__dim_plain(sizes[d]);
    if (count == 0) return true;
    int i = 0, j = 0;
    while (j < nto) {
        int first = i, to = j++;
        int64_t a = i < nfrom ? mw__dim_size(&from[i++]) : 1, b = sizes[to];
        while (a != b) {
            if (a < b && i < nfrom)
                a *= mw__dim_size(&from[i++]);
            else if (j < nto)
                b *= sizes[j++];
            else
                return false;
        }
        if (j == nto) i = nfrom; /* dims of size 1 may be left: their axes belong somewhere */
        if (i == first)
            ret_to[to] = mw__dim_plain(1);
        else if (!regroup_some(mesh, from + first, i - first, sizes + to, j - to, ret_to + to))
            return false;
    }
    for (; i < nfrom; i++) /* only where there are no dims to view as */
        if (!mw__dim_whole(&from[i])) return false;
    return true;
}

/* The fewest axes without which the view is free: one, two, or all; the most minor first. */
static uint32_t axes_in_the_way(const mw_mesh *mesh, const mw_dim *from, int nfrom,
                                const int64_t *sizes, int nto)
{
    mw_dim left[MW_LAYOUT_DIMS], to[MW_LAYOUT_DIMS];
    int axis[MW_MESH_AXES], n = 0;
    uint32_t all = 0;
    for (int i = nfrom - 1; i >= 0; i--)
        for (int c = from[i].ncut - 1; c >= 0; c--) {
            int a = from[i].cut[c].axis;
            if (a < 0 || all & 1u << a) continue;
            all |= 1u << a;
            axis[n++] = a;
        }
    for (int two = 0; two < 2; two++)
        for (int p = 0; p < n; p++)
            for (int q = two ? p + 1 : p; q < (two ? n : p + 1); q++) {
                uint32_t mask = 1u << axis[p] | 1u << axis[q];
                for (int i = 0; i < nfrom; i++)
                    left[i] = mw__dim_without(mesh, &from[i], mask);
                if (regroup(mesh, left, nfrom, sizes, nto, to)) return mask;
            }
    return all;
}

bool mw__dims_regroup(const mw_mesh *mesh, const mw_dim *from, int nfrom, const int64_t *sizes,
                      int nto, mw_dim *ret_to, uint32_t *ret_axes)
{
    mw_dim to[MW_LAYOUT_DIMS];
    if (regroup(mesh, from, nfrom, sizes, nto, to)) {
        if (nto) memcpy(ret_to, to, (size_t)nto * sizeof *to);
        return true;
    }
    if (ret_axes) *ret_axes = axes_in_the_way(mesh, from, nfrom, sizes, nto);
    return false;
}

mw_status mw_layout_view(const mw_mesh *mesh, const mw_layout *layout, int ndim,
                         const int64_t *shape, mw_layout *ret)
{
    int64_t count = 1;
    uint32_t axes = 0;
    mw_layout out = {.dtype = layout->dtype, .npartial = layout->npartial};
    if (ndim < 0 || ndim > MW_LAYOUT_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "a view of %d dims: at most %d", ndim, MW_LAYOUT_DIMS);
    for (int d = 0; d < ndim; d++)
        MW_TRY(mw__mul_size(count, shape[d], &count));
    if (count != mw__layout_count(layout))
        return MW_FAIL(MW_ERR_SHAPE, "a view of %lld elements as %lld",
                       (long long)mw__layout_count(layout), (long long)count);
    out.ndim = (uint8_t)ndim;
    memcpy(out.partial, layout->partial, sizeof out.partial);
    if (!mw__dims_regroup(mesh, layout->dim, layout->ndim, shape, ndim, out.dim, &axes))
        return MW_FAIL(MW_ERR_LAYOUT, "the new dims cut through what a rank holds");
    *ret = out;
    return MW_OK;
}
