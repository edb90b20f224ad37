/* Tiles: a dim cut once, by the product of some axes, which is how HLO, Shardy and partition specs
 * cut. A dim of a layout is such a tile if some order of the axes (or parts of axes) that cut it
 * gives the same owners; the order is found by trying, nearly always the first. */
#include "mesh/notation.h"

#include "mesh/owner.h"

mw_status mw__tile_add(mw__tile *tile, const mw__reader *r, const char *at, mw_cut part)
{
    if (tile->n == MW_DIM_CUTS)
        return mw__reader_fail(r, at, MW_ERR_PARSE, "a dim has at most %d cuts", MW_DIM_CUTS);
    part.joint = tile->n > 0;
    tile->part[tile->n++] = part;
    return MW_OK;
}

mw_dim mw__tile_dim(int64_t size, const mw__tile *tile, bool open)
{
    mw_dim dim = mw__dim_plain(size);
    dim.open = open;
    dim.ncut = dim.cuts[0] = (uint8_t)tile->n;
    for (int i = 0; i < tile->n; i++) {
        dim.cut[i] = tile->part[i];
        dim.cut[i].joint = i > 0;
    }
    return dim;
}

/* ---- the same owners ----------------------------------------------------------------------- */

/* The next coordinates on the axes of the mask; false after the last. */
static bool next_coord(const mw_mesh *mesh, uint32_t axes, int *coord)
{
    for (int a = mesh->naxis - 1; a >= 0; a--) {
        if (!(axes >> a & 1)) continue;
        if (++coord[a] < mesh->size[a]) return true;
        coord[a] = 0;
    }
    return false;
}

static bool holds_tile(const mw_mesh *mesh, const mw_dim *dim, const mw__tile *tile, int64_t size,
                       const int *coord)
{
    int64_t at = 0, count = 1;
    for (int i = 0; i < tile->n; i++) {
        at = at * tile->part[i].size + mw__part_coord(mesh, &tile->part[i], coord);
        count *= tile->part[i].size;
    }
    int64_t chunk = mw__chunk(size, count);
    int64_t first = at <= size / MW_MAX(chunk, 1) ? at * chunk : size;
    int64_t end = first < size - chunk ? first + chunk : size;
    mw_range range;
    int64_t n = mw__dim_ranges(mesh, dim, coord, &range, 1);
    if (n == 0) return first >= end;
    return n == 1 && range.first == first && range.end == end;
}

static bool same_owners(const mw_mesh *mesh, const mw_dim *dim, const mw__tile *tile)
{
    int coord[MW_MESH_AXES] = {0};
    int64_t size = mw__dim_size(dim);
    do
        if (!holds_tile(mesh, dim, tile, size, coord)) return false;
    while (next_coord(mesh, mw__dim_axes(dim), coord));
    return true;
}

/* ---- orders -------------------------------------------------------------------------------- */

enum { MOST_ORDERS = 5040 };

typedef struct orders {
    const mw_mesh *mesh;
    const mw_dim *dim;
    const mw__tile *from;
    mw__tile to;
    uint32_t used;
    int tried;
} orders;

static bool try_orders(orders *o)
{
    if (o->to.n == o->from->n)
        return o->tried++ < MOST_ORDERS && same_owners(o->mesh, o->dim, &o->to);
    for (int i = 0; i < o->from->n && o->tried < MOST_ORDERS; i++) {
        if (o->used >> i & 1) continue;
        o->used |= 1u << i;
        o->to.part[o->to.n++] = o->from->part[i];
        if (try_orders(o)) return true;
        o->to.n--;
        o->used &= ~(1u << i);
    }
    return false;
}

/* The parts that cut the dim as its text has them, or its axes, whole. */
static mw__tile parts_of(const mw_mesh *mesh, const mw_dim *dim, bool whole)
{
    mw__tile tile = {0};
    uint32_t seen = 0;
    for (int c = 0; c < dim->ncut; c++) {
        mw_cut cut = dim->cut[c];
        if (cut.axis < 0) continue;
        bool again = whole && seen >> cut.axis & 1;
        seen |= 1u << cut.axis;
        if (whole) cut = mw__cut_make(cut.axis, false, 1, mesh->size[cut.axis]);
        if (!again) tile.part[tile.n++] = cut;
    }
    return tile;
}

/* Parts of parts, down to primes. False where there are none, or too many. */
static bool split_parts(mw__tile *tile)
{
    mw__tile to = {0};
    for (int i = 0; i < tile->n; i++) {
        mw_cut part = tile->part[i];
        for (int32_t p = 2; part.size > 1;) {
            if ((int64_t)p * p > part.size) p = part.size;
            if (part.size % p != 0) {
                p++;
                continue;
            }
            if (to.n == MW_DIM_CUTS) return false;
            to.part[to.n++] = mw__cut_make(part.axis, false, part.major, p);
            part.major *= p;
            part.size /= p;
        }
    }
    bool more = to.n > tile->n;
    *tile = to;
    return more;
}

/* Neighbours that are one part of an axis. */
static void join_parts(mw__tile *tile)
{
    int n = 0;
    for (int i = 0; i < tile->n; i++) {
        mw_cut *last = n ? &tile->part[n - 1] : NULL, part = tile->part[i];
        if (last && last->axis == part.axis && last->major * last->size == part.major) {
            last->size *= part.size;
            continue;
        }
        part.joint = n > 0;
        tile->part[n++] = part;
    }
    tile->n = n;
}

bool mw__tile_of(const mw_mesh *mesh, const mw_dim *dim, bool whole, mw__tile *ret)
{
    mw__tile from = parts_of(mesh, dim, whole);
    orders o = {.mesh = mesh, .dim = dim, .from = &from};
    bool found = try_orders(&o);
    if (!found && !whole && split_parts(&from)) {
        o = (orders){.mesh = mesh, .dim = dim, .from = &from};
        found = try_orders(&o);
    }
    if (!found) return false;
    join_parts(&o.to);
    *ret = o.to;
    return true;
}

void mw__tile_why(const mw_mesh *mesh, int d, const mw_dim *dim, bool whole, const char *who,
                  mw_str *why)
{
    const mw_cut *part = NULL;
    bool local = dim->nfactor > 1;
    for (int c = 0; c < dim->ncut; c++) {
        if (dim->cut[c].axis < 0)
            local = true;
        else if (dim->cut[c].size != mesh->size[dim->cut[c].axis])
            part = &dim->cut[c];
    }
    mw__str_printf(why, "dim %d is ", d);
    mw__dim_str(mesh, dim, why);
    if (whole && part)
        mw__str_printf(why, ": %s does not cut by a part of axis %s", who, mesh->name[part->axis]);
    else if (local)
        mw__str_printf(why, ": %s cuts a dim once, into one piece for each rank", who);
    else
        mw__str_printf(why,
                       ", chunked axis by axis: %s cuts once by the product of the axes, which "
                       "gives other owners for this size",
                       who);
}
