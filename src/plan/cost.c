/* What a movement costs: elements received, counted exactly over all coordinates of the axes that
 * matter, and time from built-in constants (the same on every machine, so that every rank decides
 * alike). */
#include "plan/plan.h"

/* Per transfer, per peer, per byte: of the order of what shared memory gives. Only their ratios
 * matter. */
static const double latency_us = 1.0, per_peer_us = 0.25, bytes_per_us = 10000.0;

double mw__step_time(int team, int64_t recv_bytes, int phases)
{
    return phases * (latency_us + per_peer_us * (team - 1)) + (double)recv_bytes / bytes_per_us;
}

/* Of one dim at one coordinate: positions in the target's list, and in both lists. */
typedef struct shared {
    int64_t target, both;
} shared;

typedef struct dim_table {
    uint32_t axes;
    shared *at; /* by the coordinates on `axes`, row-major */
} dim_table;

static mw_status list(const mw_mesh *mesh, const mw_dim *dim, const int *coord, mw_arena *arena,
                      mw_range **ret, int64_t *ret_count)
{
    enum { GUESS = 8 };
    mw_range *at = mw__arena_alloc(arena, GUESS * sizeof *at);
    if (!at) return MW_NOMEM();
    int64_t count = mw__dim_ranges(mesh, dim, coord, at, GUESS);
    if (count > GUESS) {
        at = mw__arena_alloc(arena, (size_t)count * sizeof *at);
        if (!at) return MW_NOMEM();
        (void)mw__dim_ranges(mesh, dim, coord, at, count);
    }
    *ret = at;
    *ret_count = count;
    return MW_OK;
}

/* One rank's place: its coordinates on the source's mesh and on the target's. */
typedef struct place {
    const mw_mesh *mesh, *to_mesh;
    const int *coord, *to_coord;
} place;

static mw_status count_shared(const place *p, const mw_dim *from, const mw_dim *to, mw_arena *arena,
                              shared *ret)
{
    ret->target = mw__dim_local_size(p->to_mesh, to, p->to_coord);
    if (mw__dim_whole(from) || (p->mesh == p->to_mesh && mw__dim_equal(from, to))) {
        ret->both = ret->target;
        return MW_OK;
    }
    if (mw__dim_whole(to)) {
        ret->both = mw__dim_local_size(p->mesh, from, p->coord);
        return MW_OK;
    }
    mw_range *a, *b;
    int64_t na, nb, i = 0, j = 0, both = 0;
    MW_TRY(list(p->mesh, from, p->coord, arena, &a, &na));
    MW_TRY(list(p->to_mesh, to, p->to_coord, arena, &b, &nb));
    while (i < na && j < nb) {
        int64_t first = MW_MAX(a[i].first, b[j].first), end = MW_MIN(a[i].end, b[j].end);
        if (first < end) both += end - first;
        if (a[i].end <= b[j].end)
            i++;
        else
            j++;
    }
    ret->both = both;
    return MW_OK;
}

static bool next(const mw_mesh *mesh, uint32_t axes, int *coord)
{
    for (int a = mesh->naxis - 1; a >= 0; a--) {
        if (!(axes >> a & 1)) continue;
        if (++coord[a] < mesh->size[a]) return true;
        coord[a] = 0;
    }
    return false;
}

static int64_t index_in(const mw_mesh *mesh, uint32_t axes, const int *coord)
{
    int64_t index = 0;
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1) index = index * mesh->size[a] + coord[a];
    return index;
}

static mw_status fill_table(const mw_mesh *mesh, const mw_dim *from, const mw_dim *to,
                            mw_arena *arena, dim_table *table)
{
    table->axes = mw__dim_axes(from) | mw__dim_axes(to);
    table->at = mw__arena_alloc(arena, (size_t)mw__team_count(mesh, table->axes) * sizeof(shared));
    if (!table->at) return MW_NOMEM();
    int coord[MW_MESH_AXES] = {0};
    place p = {mesh, mesh, coord, coord};
    int64_t i = 0;
    do
        MW_TRY(count_shared(&p, from, to, arena, &table->at[i++]));
    while (next(mesh, table->axes, coord));
    return MW_OK;
}

mw_status mw__moved_terms(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                          int terms, mw_arena *arena, mw_moved *ret)
{
    dim_table table[MW_LAYOUT_DIMS];
    uint32_t axes = 0;
    for (int d = 0; d < from->ndim; d++) {
        MW_TRY(fill_table(mesh, &from->dim[d], &to->dim[d], arena, &table[d]));
        axes |= table[d].axes;
    }
    mw_moved moved = {0, 0};
    int coord[MW_MESH_AXES] = {0};
    do {
        int64_t target = 1, both = 1;
        for (int d = 0; d < from->ndim; d++) {
            const shared *s = &table[d].at[index_in(mesh, table[d].axes, coord)];
            target *= s->target;
            both *= s->both;
        }
        int64_t received = target * terms - both;
        moved.largest = MW_MAX(moved.largest, received);
        moved.total += received;
    } while (next(mesh, axes, coord));
    moved.total *= mw__team_count(mesh, ~axes & ((1u << mesh->naxis) - 1));
    *ret = moved;
    return MW_OK;
}

mw_status mw__moved(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                    mw_arena *arena, mw_moved *ret)
{
    return mw__moved_terms(mesh, from, to, 1, arena, ret);
}

mw_status mw__moved_each(const mw_mesh *mesh, const mw_layout *from, const mw_mesh *to_mesh,
                         const mw_layout *to, int terms, mw_arena *arena, int64_t *each)
{
    int coord[MW_MESH_AXES], to_coord[MW_MESH_AXES];
    place p = {mesh, to_mesh, coord, to_coord};
    for (int r = 0; r < mesh->nrank; r++) {
        mw__mesh_coords(mesh, r, coord);
        mw__mesh_coords(to_mesh, r, to_coord);
        int64_t target = 1, both = 1;
        for (int d = 0; d < from->ndim; d++) {
            shared s;
            MW_TRY(count_shared(&p, &from->dim[d], &to->dim[d], arena, &s));
            target *= s.target;
            both *= s.both;
        }
        each[r] = target * terms - both;
    }
    return MW_OK;
}
