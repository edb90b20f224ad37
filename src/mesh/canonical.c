/* The canonical spelling: two texts with the same owners become the same bytes.
 *
 * Where every cut divides, a dim is a string of digits, major to minor: parts of axes, and free
 * numbers that every rank runs through. The string is unique once neighbours are merged (free with
 * free, adjacent parts of an axis into one) and digits of size 1 are dropped, and reading it off as
 * factors (axes, then one free digit) gives the least text. Only what is left over, an uneven cut
 * or fewer positions than ranks, is searched for (search.c). */
#include "mesh/owner.h"

#include "mesh/digits.h"
#include "mesh/search.h"

mw_cut mw__cut_make(int axis, bool joint, int32_t major, int32_t size)
{
    mw_cut cut;
    memset(&cut, 0, sizeof cut);
    cut.axis = (int16_t)axis;
    cut.joint = joint;
    cut.major = major;
    cut.size = size;
    return cut;
}

/* ---- digits -------------------------------------------------------------------------------- */

static bool push_digit(mw__digits *d, int axis, int32_t major, int64_t size)
{
    if (size == 1) return true;
    mw__digit *last = d->count ? &d->at[d->count - 1] : NULL;
    if (last && axis < 0 && last->axis < 0) {
        last->size *= size;
        return true;
    }
    if (last && axis >= 0 && last->axis == axis && (int64_t)last->major * last->size == major) {
        last->size *= size;
        return true;
    }
    if (d->count == MW__DIGITS) return false;
    d->at[d->count++] = (mw__digit){axis, major, size};
    return true;
}

bool mw__digits_add(mw__digits *d, const mw_dim *dim)
{
    const mw_cut *cut = dim->cut;
    for (int f = 0; f < dim->nfactor; f++) {
        int64_t left = dim->factor[f];
        for (int c = 0; c < dim->cuts[f]; c++, cut++) {
            if (left % cut->size != 0) return false;
            left /= cut->size;
            if (!push_digit(d, cut->axis, cut->axis < 0 ? 0 : cut->major, cut->size)) return false;
        }
        if (!push_digit(d, MW_CUT_LOCAL, 0, left)) return false;
    }
    return true;
}

bool mw__digits_dim(const mw__digit *digit, int count, mw_dim *ret)
{
    mw_dim dim;
    memset(&dim, 0, sizeof dim);
    bool closed = true; /* the last factor has its free digit: axes start another */
    for (int i = 0; i < count; i++) {
        bool free_digit = digit[i].axis < 0;
        if (closed && (!free_digit || dim.nfactor == 0)) {
            if (dim.nfactor == MW_DIM_FACTORS) return false;
            dim.factor[dim.nfactor++] = 1;
        }
        dim.factor[dim.nfactor - 1] *= digit[i].size;
        closed = free_digit;
        if (free_digit) continue;
        if (dim.ncut == MW_DIM_CUTS) return false;
        dim.cuts[dim.nfactor - 1]++;
        dim.cut[dim.ncut++] =
            mw__cut_make(digit[i].axis, false, digit[i].major, (int32_t)digit[i].size);
    }
    *ret = dim.nfactor ? dim : mw__dim_plain(1);
    return true;
}

/* ---- dims ---------------------------------------------------------------------------------- */

/* Cuts of one factor that have an effect, into `to`; returns how many. */
static int tidy_cuts(const mw_cut *cut, int n, mw_cut *to)
{
    int kept = 0, axes = 0; /* axes: as many of `to` as end with an axis */
    for (int c = 0; c < n;) {
        int64_t ignored;
        int group = mw__cut_group(&cut[c], n - c, &ignored), first = kept;
        for (int end = c + group; c < end; c++) {
            if (cut[c].size == 1) continue;
            to[kept] = cut[c];
            to[kept].joint = kept > first;
            kept++;
            if (cut[c].axis >= 0) axes = kept;
        }
    }
    return axes;
}

mw_dim mw__dim_tidy(const mw_dim *dim)
{
    mw_dim ret;
    memset(&ret, 0, sizeof ret);
    ret.open = dim->open;
    const mw_cut *cut = dim->cut;
    for (int f = 0; f < dim->nfactor; f++) {
        mw_cut kept[MW_DIM_CUTS];
        int n = tidy_cuts(cut, dim->cuts[f], kept);
        cut += dim->cuts[f];
        int last = ret.nfactor - 1;
        if (n == 0 && dim->factor[f] == 1) continue;
        if (n == 0 && last >= 0 && ret.cuts[last] == 0) {
            ret.factor[last] *= dim->factor[f];
            continue;
        }
        ret.factor[ret.nfactor] = dim->factor[f];
        ret.cuts[ret.nfactor++] = (uint8_t)n;
        for (int c = 0; c < n; c++)
            ret.cut[ret.ncut++] = kept[c];
    }
    if (ret.nfactor == 0) {
        ret.nfactor = 1;
        ret.factor[0] = 1;
    }
    return ret;
}

/* One factor, plain cuts of different axes, and each cut finds lists of more than one position: no
 * other text is as short, and no other order of the cuts has these owners. Once the lists are down
 * to one position, whole axes may stand in any order, and the mesh's is the least. */
static bool is_least(const mw_mesh *mesh, mw_dim *dim)
{
    if (dim->nfactor != 1) return false;
    int64_t length = dim->factor[0];
    uint32_t axes = 0;
    int tail = dim->ncut;
    bool whole = true;
    for (int c = 0; c < dim->ncut; c++) {
        const mw_cut *cut = &dim->cut[c];
        if (cut->axis < 0 || cut->joint || axes & 1u << cut->axis) return false;
        if (length == 1 && dim->ncut > 1) tail = MW_MIN(tail, c);
        whole = whole && cut->size == mesh->size[cut->axis];
        axes |= 1u << cut->axis;
        length = mw__chunk(length, cut->size);
    }
    if (tail < dim->ncut && !whole) return false;
    for (int c = tail + 1; c < dim->ncut; c++)
        for (int k = c; k > tail && dim->cut[k - 1].axis > dim->cut[k].axis; k--) {
            mw_cut cut = dim->cut[k];
            dim->cut[k] = dim->cut[k - 1];
            dim->cut[k - 1] = cut;
        }
    return true;
}

static mw_dim search_least(const mw_mesh *mesh, const mw_dim *dim)
{
    mw__line line;
    mw_cut part[MW__LINE_CUTS];
    mw__line_set(&line, dim, 1);
    mw__wanted wanted = {.mesh = mesh, .line = &line, .size = line.size, .stride = 1};
    wanted.npart = mw__line_parts(&line, part);
    memcpy(wanted.part, part, (size_t)wanted.npart * sizeof *part);
    mw_dim ret;
    return mw__dim_least(&wanted, dim, &ret) ? ret : *dim;
}

mw_dim mw__dim_canonical(const mw_mesh *mesh, const mw_dim *dim)
{
    mw_dim ret;
    mw__digits digits;
    int64_t size = mw__dim_size(dim);
    digits.count = 0;
    if (dim->ncut == 0 || size == 0)
        ret = mw__dim_plain(size);
    else if (!mw__digits_add(&digits, dim) || !mw__digits_dim(digits.at, digits.count, &ret)) {
        ret = mw__dim_tidy(dim);
        if (ret.ncut == 0)
            ret = mw__dim_plain(size);
        else if (size <= MW__SEARCH_SIZE && !is_least(mesh, &ret))
            ret = search_least(mesh, &ret);
    }
    ret.open = dim->open;
    return ret;
}

/* ---- layouts ------------------------------------------------------------------------------- */

/* By axis, then major part; neighbours of one kind merged; axes of size 1 dropped. */
static void sort_partials(mw_layout *layout)
{
    mw_partial *part = layout->partial;
    int n = 0;
    for (int i = 0; i < layout->npartial; i++) {
        mw_partial moved = part[i];
        if (moved.size == 1) continue;
        int at = n++;
        for (; at > 0 && (part[at - 1].axis > moved.axis ||
                          (part[at - 1].axis == moved.axis && part[at - 1].major > moved.major));
             at--)
            part[at] = part[at - 1];
        part[at] = moved;
    }
    int kept = 0;
    for (int i = 0; i < n; i++) {
        mw_partial *last = kept ? &part[kept - 1] : NULL;
        if (last && last->axis == part[i].axis && last->kind == part[i].kind &&
            last->major * last->size == part[i].major)
            last->size *= part[i].size;
        else
            part[kept++] = part[i];
    }
    memset(part + kept, 0, (size_t)(layout->npartial - kept) * sizeof *part);
    layout->npartial = (uint8_t)kept;
}

void mw__layout_canonical(const mw_mesh *mesh, mw_layout *layout)
{
    for (int d = 0; d < layout->ndim; d++)
        layout->dim[d] = mw__dim_canonical(mesh, &layout->dim[d]);
    if (layout->npartial) sort_partials(layout);
}
