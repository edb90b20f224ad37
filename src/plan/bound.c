/* The least that any plan can let a rank receive. */
#include "plan/planner.h"

static bool had(const mw_layout *l, const mw_partial *p)
{
    for (int i = 0; i < l->npartial; i++)
        if (memcmp(&l->partial[i], p, sizeof *p) == 0) return true;
    return false;
}

/* Positions of sorted lists, each maximal ranges. */
typedef struct list {
    mw_range *at;
    int64_t n, cap;
} list;

static mw_status add_ranges(const mw_mesh *mesh, const mw_dim *dim, const int *coord,
                            mw_arena *arena, list *l)
{
    int64_t n = mw__dim_ranges(mesh, dim, coord, NULL, 0);
    if (l->n + n > l->cap) {
        int64_t cap = MW_MAX(2 * l->cap, l->n + n);
        mw_range *at = mw__arena_alloc(arena, (size_t)MW_MAX(cap, 1) * sizeof *at);
        if (!at) return MW_NOMEM();
        if (l->n) memcpy(at, l->at, (size_t)l->n * sizeof *at);
        l->at = at;
        l->cap = cap;
    }
    l->n += mw__dim_ranges(mesh, dim, coord, l->at + l->n, n);
    return MW_OK;
}

/* The union of what was added, sorted; insertion is enough, the lists come nearly in order. */
static void unite(list *l)
{
    for (int64_t i = 1; i < l->n; i++) {
        mw_range r = l->at[i];
        int64_t j = i;
        for (; j > 0 && l->at[j - 1].first > r.first; j--)
            l->at[j] = l->at[j - 1];
        l->at[j] = r;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (kept > 0 && l->at[i].first <= l->at[kept - 1].end)
            l->at[kept - 1].end = MW_MAX(l->at[kept - 1].end, l->at[i].end);
        else
            l->at[kept++] = l->at[i];
    }
    l->n = kept;
}

static int64_t size_of(const list *l)
{
    int64_t n = 0;
    for (int64_t i = 0; i < l->n; i++)
        n += l->at[i].end - l->at[i].first;
    return n;
}

static int64_t common(const list *a, const list *b)
{
    int64_t i = 0, j = 0, n = 0;
    while (i < a->n && j < b->n) {
        int64_t first = MW_MAX(a->at[i].first, b->at[j].first);
        int64_t end = MW_MIN(a->at[i].end, b->at[j].end);
        if (first < end) n += end - first;
        if (a->at[i].end <= b->at[j].end)
            i++;
        else
            j++;
    }
    return n;
}

/* The ranks that hold terms of the same elements as `rank` once a mask has been applied. */
static int target_group(const mw_mesh *mesh, const mw_partial *made, int nmade, int rank, int *ret)
{
    int coord[MW_MESH_AXES], n = 0;
    mw__mesh_coords(mesh, rank, coord);
    for (int r = 0; r < mesh->nrank; r++) {
        int other[MW_MESH_AXES];
        mw__mesh_coords(mesh, r, other);
        for (int i = 0; i < nmade; i++) { /* as `rank` in the digits of the made axes */
            int unit = mesh->size[made[i].axis] / (made[i].major * made[i].size);
            int mine = coord[made[i].axis] / unit % made[i].size;
            int theirs = other[made[i].axis] / unit % made[i].size;
            other[made[i].axis] += (mine - theirs) * unit;
        }
        if (memcmp(other, coord, (size_t)mesh->naxis * sizeof *coord) == 0) ret[n++] = r;
    }
    return n;
}

/* Of rank's target shard, what nobody of its group holds, shared among them. Which elements the
 * group holds is taken dim by dim. */
static mw_status missing_of_group(const mw_mesh *mesh, const mw_layout *from,
                                  const mw_mesh *to_mesh, const mw_layout *to, int rank,
                                  const int *group, int ngroup, mw_arena *arena, int64_t *ret)
{
    int64_t target = 1, held = 1;
    int coord[MW_MESH_AXES];
    for (int d = 0; d < to->ndim; d++) {
        list want = {NULL, 0, 0}, have = {NULL, 0, 0};
        mw__mesh_coords(to_mesh, rank, coord);
        MW_TRY(add_ranges(to_mesh, &to->dim[d], coord, arena, &want));
        for (int i = 0; i < ngroup; i++) {
            mw__mesh_coords(mesh, group[i], coord);
            MW_TRY(add_ranges(mesh, &from->dim[d], coord, arena, &have));
        }
        unite(&have);
        target *= size_of(&want);
        held *= common(&have, &want);
    }
    *ret = (target - held + ngroup - 1) / ngroup;
    return MW_OK;
}

mw_status mw__plan_bound(const mw_mesh *mesh, const mw_layout *from, const mw_mesh *to_mesh,
                         const mw_layout *to, mw_arena *arena, int64_t *each, bool *ret_reduction)
{
    bool one_mesh = mw_mesh_same(mesh, to_mesh);
    mw_partial made[MW_LAYOUT_PARTIALS];
    int nmade = 0;
    *ret_reduction = false;
    for (int i = 0; i < from->npartial; i++)
        *ret_reduction = *ret_reduction ||
                         (from->partial[i].size > 1 && !(one_mesh && had(to, &from->partial[i])));
    for (int i = 0; i < to->npartial; i++)
        if (!one_mesh || !had(from, &to->partial[i])) made[nmade++] = to->partial[i];
    int64_t bytes = MW_MAX(1, mw_dtype_size(mw__layout_storage_dtype(from)));
    if (!*ret_reduction && nmade == 0)
        MW_TRY(mw__moved_each(mesh, from, to_mesh, to, 1, arena, each));
    int *group = mw__arena_alloc(arena, (size_t)mesh->nrank * sizeof *group);
    if (!group) return MW_NOMEM();
    for (int r = 0; r < mesh->nrank; r++) {
        if (*ret_reduction) {
            each[r] = mw__layout_local_count(to_mesh, to, r);
        } else if (nmade > 0) {
            int n = target_group(to_mesh, made, nmade, r, group);
            MW_TRY(missing_of_group(mesh, from, to_mesh, to, r, group, n, arena, &each[r]));
        }
        each[r] *= bytes;
    }
    return MW_OK;
}
