/* The canonical spelling: two texts with the same owners become the same bytes.
 *
 * Where every cut divides, a dim is a string of digits, major to minor: parts of axes, and free
 * numbers that every rank runs through. The string is unique once neighbours are merged (free with
 * free, adjacent parts of an axis into one) and digits of size 1 are dropped, and reading it off as
 * factors (axes, then one free digit) gives the least text. Only what is left over, an uneven cut
 * or fewer positions than ranks, is searched for (search.c). */
#include "mesh/owner.h"

#include "mesh/digits.h"

mw_cut mw__cut_make(int axis, bool joint, int32_t major, int32_t size)
{
    mw_cut cut;
    memset(&cut, 0, sizeof cut);
    cut.axis = (int8_t)axis;
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

mw_dim mw__dim_canonical(const mw_mesh *mesh, const mw_dim *dim)
{
    (void)mesh;
    mw_dim ret;
    bool done = false;
    if (dim->ncut == 0 || mw__dim_size(dim) == 0) {
        ret = mw__dim_plain(mw__dim_size(dim));
        done = true;
    } else {
        mw__digits digits;
        digits.count = 0;
        done = mw__digits_add(&digits, dim) && mw__digits_dim(digits.at, digits.count, &ret);
    }
    if (!done) ret = *dim;
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
