/* Layouts as values: sizes, equality, hashes, the check, and their text.
 *
 * A layout holds no pointers. Structs have padding, so equality and hashes look at the fields in
 * use rather than at bytes: a layout copied field by field is the same layout. */
#include "mesh/mesh.h"

#include "mesh/owner.h"
#include "mesh/reader.h"
#include <math.h>
#include <stdio.h>

/* ---- reductions ---------------------------------------------------------------------------- */

typedef struct reduce_row {
    const char *name;
    double identity;
} reduce_row;

static const reduce_row reduce_rows[MW_REDUCE_END] = {[MW_REDUCE_NONE] = {"none", 0},
#define X(name, value, text, identity) [MW_REDUCE_##name] = {text, identity},
                                                      MW_REDUCE_MAP(X)
#undef X
};

const char *mw__reduce_name(mw_reduce kind)
{
    return reduce_rows[kind < MW_REDUCE_END ? kind : MW_REDUCE_NONE].name;
}

double mw__reduce_identity(mw_reduce kind)
{
    return reduce_rows[kind < MW_REDUCE_END ? kind : MW_REDUCE_NONE].identity;
}

/* ---- sizes --------------------------------------------------------------------------------- */

int64_t mw__dim_size(const mw_dim *dim)
{
    int64_t size = 1;
    for (int f = 0; f < dim->nfactor; f++)
        size *= dim->factor[f];
    return size;
}

bool mw__dim_whole(const mw_dim *dim)
{
    return mw__dim_axes(dim) == 0;
}

uint32_t mw__dim_axes(const mw_dim *dim)
{
    uint32_t axes = 0;
    for (int c = 0; c < dim->ncut; c++)
        if (dim->cut[c].axis >= 0) axes |= 1u << dim->cut[c].axis;
    return axes;
}

mw_dim mw__dim_plain(int64_t size)
{
    mw_dim dim;
    memset(&dim, 0, sizeof dim);
    dim.nfactor = 1;
    dim.factor[0] = size;
    return dim;
}

int64_t mw_layout_size(const mw_layout *layout, int dim)
{
    return mw__dim_size(&layout->dim[dim]);
}

void mw_layout_shape(const mw_layout *layout, int64_t *ret_shape)
{
    for (int d = 0; d < layout->ndim; d++)
        ret_shape[d] = mw__dim_size(&layout->dim[d]);
}

int64_t mw__layout_count(const mw_layout *layout)
{
    int64_t count = 1;
    for (int d = 0; d < layout->ndim; d++)
        count *= mw__dim_size(&layout->dim[d]);
    return count;
}

mw_layout mw_layout_replicated(mw_dtype dtype, int ndim, const int64_t *shape)
{
    mw_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.dtype = (uint8_t)dtype;
    layout.ndim = (uint8_t)ndim;
    for (int d = 0; d < ndim; d++)
        layout.dim[d] = mw__dim_plain(shape[d]);
    return layout;
}

uint32_t mw__layout_axes(const mw_layout *layout)
{
    uint32_t axes = 0;
    for (int d = 0; d < layout->ndim; d++)
        axes |= mw__dim_axes(&layout->dim[d]);
    return axes;
}

uint32_t mw__layout_partial_axes(const mw_layout *layout)
{
    uint32_t axes = 0;
    for (int p = 0; p < layout->npartial; p++)
        axes |= 1u << layout->partial[p].axis;
    return axes;
}

mw_dtype mw__layout_storage_dtype(const mw_layout *layout)
{
    bool narrow = layout->dtype == MW_DTYPE_f16 || layout->dtype == MW_DTYPE_bf16;
    for (int p = 0; narrow && p < layout->npartial; p++)
        if (layout->partial[p].kind == MW_REDUCE_SUM || layout->partial[p].kind == MW_REDUCE_AVG)
            return MW_DTYPE_f32;
    return (mw_dtype)layout->dtype;
}

/* ---- equality and hash --------------------------------------------------------------------- */

bool mw__dim_equal(const mw_dim *a, const mw_dim *b)
{
    if (a->nfactor != b->nfactor || a->ncut != b->ncut) return false;
    for (int f = 0; f < a->nfactor; f++)
        if (a->factor[f] != b->factor[f] || a->cuts[f] != b->cuts[f]) return false;
    for (int c = 0; c < a->ncut; c++) {
        const mw_cut *p = &a->cut[c], *q = &b->cut[c];
        if (p->axis != q->axis || p->joint != q->joint || p->major != q->major ||
            p->size != q->size)
            return false;
    }
    return true;
}

int mw_layout_equal(const mw_layout *a, const mw_layout *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim || a->npartial != b->npartial) return 0;
    for (int d = 0; d < a->ndim; d++)
        if (!mw__dim_equal(&a->dim[d], &b->dim[d])) return 0;
    for (int i = 0; i < a->npartial; i++) {
        const mw_partial *p = &a->partial[i], *q = &b->partial[i];
        if (p->kind != q->kind || p->axis != q->axis || p->major != q->major || p->size != q->size)
            return 0;
    }
    return 1;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

uint64_t mw__layout_hash(const mw_layout *layout)
{
    uint64_t h = mix(0xcbf29ce484222325u, (uint64_t)layout->dtype << 16 |
                                              (uint64_t)layout->ndim << 8 | layout->npartial);
    for (int d = 0; d < layout->ndim; d++) {
        const mw_dim *dim = &layout->dim[d];
        h = mix(h, (uint64_t)dim->nfactor << 8 | dim->ncut);
        for (int f = 0; f < dim->nfactor; f++)
            h = mix(mix(h, (uint64_t)dim->factor[f]), dim->cuts[f]);
        for (int c = 0; c < dim->ncut; c++) {
            const mw_cut *cut = &dim->cut[c];
            h = mix(h, (uint64_t)(uint16_t)cut->axis << 16 | cut->joint);
            h = mix(h, (uint64_t)(uint32_t)cut->major << 32 | (uint32_t)cut->size);
        }
    }
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        h = mix(h, (uint64_t)part->kind << 16 | (uint16_t)part->axis);
        h = mix(h, (uint64_t)(uint32_t)part->major << 32 | (uint32_t)part->size);
    }
    return mix(h, h >> 32);
}

/* ---- check --------------------------------------------------------------------------------- */

bool mw__parts_apart(int32_t major_a, int32_t size_a, int32_t major_b, int32_t size_b)
{
    if (major_a > major_b) return mw__parts_apart(major_b, size_b, major_a, size_a);
    return major_b % ((int64_t)major_a * size_a) == 0;
}

static mw_status check_part(const mw_mesh *mesh, int axis, int32_t major, int32_t size)
{
    if (axis < 0 || axis >= mesh->naxis)
        return MW_FAIL(MW_ERR_LAYOUT, "a layout names axis number %d of a mesh with %d axes", axis,
                       mesh->naxis);
    if (major < 1 || size < 1 || mesh->size[axis] % ((int64_t)major * size) != 0)
        return MW_FAIL(MW_ERR_LAYOUT, "part (%d)%d does not fit axis '%s' of size %d", major, size,
                       mesh->name[axis], mesh->size[axis]);
    return MW_OK;
}

typedef struct used_part {
    int axis;
    int32_t major, size;
} used_part;

enum { MOST_PARTS = MW_LAYOUT_DIMS * MW_DIM_CUTS + MW_LAYOUT_PARTIALS };

static mw_status use_part(const mw_mesh *mesh, used_part *used, int *count, used_part part)
{
    MW_TRY(check_part(mesh, part.axis, part.major, part.size));
    for (int i = 0; i < *count; i++)
        if (used[i].axis == part.axis &&
            !mw__parts_apart(used[i].major, used[i].size, part.major, part.size))
            return MW_FAIL(MW_ERR_LAYOUT, "axis '%s' is used twice in one layout",
                           mesh->name[part.axis]);
    used[(*count)++] = part;
    return MW_OK;
}

static mw_status check_dim(const mw_dim *dim)
{
    if (dim->nfactor > MW_DIM_FACTORS || dim->ncut > MW_DIM_CUTS)
        return MW_FAIL(MW_ERR_LAYOUT, "a dim has at most %d factors and %d cuts", MW_DIM_FACTORS,
                       MW_DIM_CUTS);
    int cuts = 0;
    int64_t size = 1;
    for (int f = 0; f < dim->nfactor; f++) {
        if (dim->factor[f] < 0)
            return MW_FAIL(MW_ERR_LAYOUT, "a dim has a factor of negative size %lld",
                           (long long)dim->factor[f]);
        MW_TRY(mw__mul_size(size, dim->factor[f], &size));
        cuts += dim->cuts[f];
    }
    if (cuts != dim->ncut)
        return MW_FAIL(MW_ERR_LAYOUT, "a dim has %d cuts, its factors have %d", dim->ncut, cuts);
    return MW_OK;
}

bool mw__layout_apart(const mw_layout *layout)
{
    used_part used[MOST_PARTS];
    int count = 0;
    uint32_t seen = 0;
    bool again = false; /* some axis stands twice; else there is nothing to compare */
    for (int d = 0; d < layout->ndim; d++)
        for (int i = 0; i < layout->dim[d].ncut; i++) {
            const mw_cut *cut = &layout->dim[d].cut[i];
            if (cut->axis == MW_CUT_LOCAL) continue;
            again = again || (seen >> cut->axis & 1);
            seen |= 1u << cut->axis;
            used[count++] = (used_part){cut->axis, cut->major, cut->size};
        }
    for (int i = 0; i < layout->npartial; i++) {
        const mw_partial *p = &layout->partial[i];
        again = again || (seen >> p->axis & 1);
        seen |= 1u << p->axis;
        used[count++] = (used_part){p->axis, p->major, p->size};
    }
    for (int i = 0; i < count && again; i++)
        for (int k = 0; k < i; k++)
            if (used[i].axis == used[k].axis &&
                !mw__parts_apart(used[i].major, used[i].size, used[k].major, used[k].size))
                return false;
    return true;
}

mw_status mw__layout_check(const mw_mesh *mesh, const mw_layout *layout)
{
    used_part used[MOST_PARTS];
    int count = 0;
    if (layout->ndim > MW_LAYOUT_DIMS || layout->npartial > MW_LAYOUT_PARTIALS)
        return MW_FAIL(MW_ERR_LAYOUT, "a layout has at most %d dims and %d partial axes",
                       MW_LAYOUT_DIMS, MW_LAYOUT_PARTIALS);
    int64_t elements = 1;
    for (int d = 0; d < layout->ndim; d++) {
        const mw_dim *dim = &layout->dim[d];
        MW_TRY(check_dim(dim));
        MW_TRY(mw__mul_size(elements, mw__dim_size(dim), &elements));
        for (int c = 0; c < dim->ncut; c++) {
            const mw_cut *cut = &dim->cut[c];
            if (cut->axis == MW_CUT_LOCAL && cut->size >= 1) continue;
            MW_TRY(use_part(mesh, used, &count, (used_part){cut->axis, cut->major, cut->size}));
        }
    }
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        if (part->kind == MW_REDUCE_NONE || part->kind >= MW_REDUCE_END)
            return MW_FAIL(MW_ERR_LAYOUT, "a layout is partial in an unknown way");
        if (!mw__reduces_mix((mw_reduce)layout->partial[0].kind, (mw_reduce)part->kind))
            return MW_FAIL(MW_ERR_LAYOUT, "partial %s and partial %s do not commute",
                           mw__reduce_name((mw_reduce)layout->partial[0].kind),
                           mw__reduce_name((mw_reduce)part->kind));
        MW_TRY(use_part(mesh, used, &count, (used_part){part->axis, part->major, part->size}));
    }
    return MW_OK;
}

bool mw__reduces_mix(mw_reduce a, mw_reduce b)
{
    bool sum_a = a == MW_REDUCE_SUM || a == MW_REDUCE_AVG;
    bool sum_b = b == MW_REDUCE_SUM || b == MW_REDUCE_AVG;
    return a == b || (sum_a && sum_b);
}
