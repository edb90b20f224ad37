/* Tile assignments: lists of ranks, and the parts of mesh axes that they are made of.
 *
 * A list is a product of axes iff it is a mixed-radix number: digits with a size and a stride.
 * Those digits, in places of the mesh's grid, are split where axes and dims of tiles end, and each
 * piece is a part of an axis. What owners can't tell apart is put in order first: replicas of a
 * tile, and ranks whose tile is empty. The same digits give the formula `<=[...]T(...)`. */
#include "mesh/notation.h"

#include "mesh/owner.h"
#include <stdlib.h>

void mw__tiling_done(mw__tiling *t)
{
    size_t table = (size_t)t->nrank * sizeof *t->rank;
    mw__free(t->rank, table);
    mw__free(t->place, table);
    t->rank = t->place = NULL;
}

/* ---- digits of a list ---------------------------------------------------------------------- */

int mw__iota_of(const int *list, int n, mw__iota *ret)
{
    int count = 0;
    if (n < 1 || list[0] != 0) return -1;
    for (int64_t unit = 1; unit < n;) {
        int64_t stride = list[unit], size = 2;
        while (size * unit < n && list[size * unit] == size * stride)
            size++;
        if (stride < 1 || n % (size * unit) != 0 || count == MW__IOTA) return -1;
        ret[count++] = (mw__iota){size, stride};
        unit *= size;
    }
    for (int k = 0; k < n; k++) {
        int64_t rest = k, value = 0;
        for (int i = 0; i < count; i++) {
            value += rest % ret[i].size * ret[i].stride;
            rest /= ret[i].size;
        }
        if (value != list[k]) return -1;
    }
    return count;
}

/* ---- what owners can't tell apart ---------------------------------------------------------- */

typedef struct item {
    int64_t group;
    int at;
} item;

static int compare_items(const void *a, const void *b)
{
    const item *p = a, *q = b;
    if (p->group != q->group) return p->group < q->group ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

/* Places of the list with one number hold the same. Replicas and terms of a sum do; so (if `empty`)
 * do tiles without positions. */
static int64_t group_of(const mw_reading *reading, int64_t place, bool empty)
{
    const mw__tiling *t = &reading->tiling;
    int64_t group = 0, unit = 1;
    int64_t terms = place / t->replicated % t->unreduced;
    place /= t->replicated * t->unreduced;
    if (t->replicated > 1 && t->unreduced > 1) {
        group = terms;
        unit = t->unreduced;
    }
    group += place % t->manual * unit;
    unit *= t->manual;
    place /= t->manual;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t size = reading->shape[d], chunk = mw__chunk(size, t->tile[d]);
        int64_t full = chunk ? mw__chunk(size, chunk) : 0;
        if (!empty) full = t->tile[d];
        group += MW_MIN(place % t->tile[d], full) * unit;
        unit *= t->tile[d] + 1;
        place /= t->tile[d];
    }
    return group;
}

/* The list in places of the mesh's grid, rising within every group. */
static mw_status sorted_places(const mw_reading *reading, bool empty, int *ret)
{
    const mw__tiling *t = &reading->tiling;
    const mw_mesh *mesh = reading->mesh;
    size_t bytes = (size_t)t->nrank * sizeof(item);
    item *where = mw__alloc(bytes), *what = mw__alloc(bytes);
    mw_status status = where && what ? MW_OK : MW_NOMEM();
    for (int k = 0; k < t->nrank && status == MW_OK; k++) {
        int64_t group = group_of(reading, k, empty);
        int rank = t->rank[k];
        where[k] = (item){group, k};
        what[k] = (item){group, mesh->place ? mesh->place[rank] : rank};
    }
    if (status == MW_OK) {
        qsort(where, (size_t)t->nrank, sizeof *where, compare_items);
        qsort(what, (size_t)t->nrank, sizeof *what, compare_items);
        for (int k = 0; k < t->nrank; k++)
            ret[where[k].at] = what[k].at;
    }
    mw__free(where, bytes);
    mw__free(what, bytes);
    return status;
}

/* ---- the layout of a tiling ---------------------------------------------------------------- */

/* Parts of axes, minor to major, while the groups of a tiling are filled from the last one. */
typedef struct filler {
    const mw_mesh *mesh;
    int64_t left; /* of the group being filled */
    int n;
    mw_cut part[2 * MW_DIM_CUTS];
} filler;

/* Takes as much of the digit as one axis and the group hold. False where they don't divide. */
static bool take_part(filler *f, mw__iota *digit)
{
    const mw_mesh *mesh = f->mesh;
    for (int a = 0; a < mesh->naxis; a++) {
        int64_t unit = mesh->stride[a], end = unit * mesh->size[a];
        if (digit->stride < unit || digit->stride >= end || digit->stride % unit != 0) continue;
        if (end % digit->stride != 0 || f->n == MW_COUNT(f->part)) return false;
        int64_t room = end / digit->stride;
        int64_t size = MW_MIN(MW_MIN(digit->size, room), f->left);
        if (digit->size % size != 0 || room % size != 0 || f->left % size != 0) return false;
        f->part[f->n++] = mw__cut_make(a, false, (int32_t)(room / size), (int32_t)size);
        f->left /= size;
        digit->size /= size;
        digit->stride *= size;
        return true;
    }
    return false;
}

/* The parts of the next group, of `size` places, major to minor. */
static bool fill_group(filler *f, mw__iota **digit, const mw__iota *end, int64_t size,
                       mw__tile *ret)
{
    mw__tile tile = {0};
    f->left = size;
    f->n = 0;
    while (f->left > 1) {
        if (*digit == end || !take_part(f, *digit)) return false;
        if ((*digit)->size == 1) ++*digit;
    }
    if (f->n > MW_DIM_CUTS) return false;
    while (f->n > 0)
        tile.part[tile.n++] = f->part[--f->n];
    *ret = tile;
    return true;
}

static void not_a_product(mw_reading *reading)
{
    char mesh[160];
    (void)mw_mesh_print(reading->mesh, mesh, (int)sizeof mesh);
    mw__reading_unsayable(reading,
                          "the order of the devices is not made of axes of the mesh %s, or parts "
                          "of axes: no layout on this mesh has these tiles",
                          mesh);
}

static bool add_partials(mw_layout *layout, const mw__tile *tile)
{
    for (int i = 0; i < tile->n; i++) {
        if (layout->npartial == MW_LAYOUT_PARTIALS) return false;
        layout->partial[layout->npartial++] = (mw_partial){MW_REDUCE_SUM, tile->part[i].axis,
                                                           tile->part[i].major, tile->part[i].size};
    }
    return true;
}

static bool place_tiles(mw_reading *reading, mw__iota *digit, int n)
{
    const mw__tiling *t = &reading->tiling;
    const mw__iota *end = digit + n;
    filler f = {.mesh = reading->mesh};
    mw__tile tile;
    if (!fill_group(&f, &digit, end, t->replicated, &tile)) return false;
    if (!fill_group(&f, &digit, end, t->unreduced, &tile)) return false;
    if (!add_partials(&reading->layout, &tile)) return false;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (!fill_group(&f, &digit, end, t->tile[d], &tile)) return false;
        reading->layout.dim[d] = mw__tile_dim(reading->shape[d], &tile, false);
    }
    return true;
}

/* ---- where many tiles are empty ------------------------------------------------------------ */

/* Their ranks may stand in any order, of which the list that was read is one; another may be a
 * product of axes. All orders of the axes' prime parts are tried. */
enum { MOST_PRIMES = 6 };

typedef struct guess {
    const mw_reading *reading;
    const int64_t *group; /* of each place of the grid, by the list that was read */
    int n;
    mw__iota prime[MW__IOTA], to[MW__IOTA]; /* `to`: major to minor */
} guess;

static bool guess_fits(const guess *g)
{
    int64_t at[MW__IOTA] = {0};
    for (int k = 0; k < g->reading->tiling.nrank; k++) {
        int64_t place = 0;
        for (int i = 0; i < g->n; i++)
            place += at[i] * g->to[i].stride;
        if (g->group[place] != group_of(g->reading, k, true)) return false;
        for (int i = g->n - 1; i >= 0 && ++at[i] == g->to[i].size; i--)
            at[i] = 0;
    }
    return true;
}

static bool try_guesses(guess *g, int placed, uint32_t used)
{
    if (placed == g->n) return guess_fits(g);
    for (int i = 0; i < g->n; i++) {
        if (used >> i & 1) continue;
        g->to[placed] = g->prime[i];
        if (try_guesses(g, placed + 1, used | 1u << i)) return true;
    }
    return false;
}

static bool split_primes(const mw_mesh *mesh, guess *g)
{
    for (int a = 0; a < mesh->naxis; a++) {
        int left = mesh->size[a];
        for (int p = 2; left > 1; p++)
            for (; left % p == 0; left /= p) {
                if (g->n == MOST_PRIMES) return false;
                g->prime[g->n++] = (mw__iota){p, (int64_t)mesh->stride[a] * (left / p)};
            }
    }
    return true;
}

static mw_status guess_digits(const mw_reading *reading, mw__iota *ret, int *ret_n)
{
    const mw__tiling *t = &reading->tiling;
    const mw_mesh *mesh = reading->mesh;
    guess g = {.reading = reading};
    *ret_n = -1;
    if (!split_primes(mesh, &g)) return MW_OK;
    size_t bytes = (size_t)t->nrank * sizeof *g.group;
    int64_t *group = mw__alloc(bytes);
    if (!group) return MW_NOMEM();
    for (int k = 0; k < t->nrank; k++)
        group[mesh->place ? mesh->place[t->rank[k]] : t->rank[k]] = group_of(reading, k, true);
    g.group = group;
    if (try_guesses(&g, 0, 0)) {
        *ret_n = g.n;
        for (int i = 0; i < g.n; i++)
            ret[i] = g.to[g.n - 1 - i];
    }
    mw__free(group, bytes);
    return MW_OK;
}

/* ---- reading ------------------------------------------------------------------------------- */

mw_status mw__tiling_layout(mw_reading *reading)
{
    const mw__tiling *t = &reading->tiling;
    mw__iota digit[MW__IOTA];
    if (t->manual > 1) {
        mw__reading_unsayable(reading,
                              "manual axes: every device of a group has a value of its own");
        return MW_OK;
    }
    size_t table = (size_t)t->nrank * sizeof *t->rank;
    int *place = mw__alloc(table);
    if (!place) return MW_NOMEM();
    bool found = false;
    mw_status status = MW_OK;
    const mw_layout empty = reading->layout; /* partials of a failed try are dropped */
    for (int sort = 0; sort < 3 && !found && status == MW_OK; sort++) {
        int n = -1;
        reading->layout = empty;
        status =
            sort < 2 ? sorted_places(reading, sort == 1, place) : guess_digits(reading, digit, &n);
        if (status == MW_OK && sort < 2) n = mw__iota_of(place, t->nrank, digit);
        found = status == MW_OK && n >= 0 && place_tiles(reading, digit, n);
    }
    if (status == MW_OK && !found) not_a_product(reading);
    mw__free(place, table);
    return status;
}

/* ---- the tiling of a layout ---------------------------------------------------------------- */

/* The smallest parts of axes that the used ones are made of. */
typedef struct atoms {
    int n;
    struct {
        int axis, stride; /* stride: in places of the grid */
        int32_t major, size;
        bool used;
    } at[MW__IOTA];
} atoms;

/* The next place after `from` where a used part of the axis begins or ends. */
static int64_t next_bound(const mw_mesh *mesh, const mw__tile *tiles, int ntile, int axis,
                          int64_t from)
{
    int64_t next = mesh->size[axis];
    for (int i = 0; i < ntile; i++)
        for (int k = 0; k < tiles[i].n; k++) {
            const mw_cut *part = &tiles[i].part[k];
            int64_t end = (int64_t)part->major * part->size;
            if (part->axis != axis) continue;
            if (part->major > from) next = MW_MIN(next, part->major);
            if (end > from) next = MW_MIN(next, end);
        }
    return next;
}

static void split_axes(const mw_mesh *mesh, const mw__tile *tiles, int ntile, atoms *ret)
{
    ret->n = 0;
    for (int a = 0; a < mesh->naxis; a++)
        for (int64_t from = 1; from < mesh->size[a];) {
            int64_t end = next_bound(mesh, tiles, ntile, a, from);
            int i = ret->n++;
            ret->at[i].axis = a;
            ret->at[i].major = (int32_t)from;
            ret->at[i].size = (int32_t)(end / from);
            ret->at[i].stride = (int)(mesh->stride[a] * (mesh->size[a] / end));
            ret->at[i].used = false;
            from = end;
        }
}

/* Appends the atoms of a tile to the digits, major to minor; returns how many places they make. */
static int64_t append_tile(atoms *all, const mw__tile *tile, mw__iota *digit, int *n)
{
    int64_t count = 1;
    for (int k = 0; k < tile->n; k++)
        for (int i = 0; i < all->n; i++) {
            const mw_cut *part = &tile->part[k];
            if (all->at[i].axis != part->axis || all->at[i].major < part->major ||
                all->at[i].major >= part->major * part->size)
                continue;
            all->at[i].used = true;
            count *= all->at[i].size;
            digit[(*n)++] = (mw__iota){all->at[i].size, all->at[i].stride};
        }
    return count;
}

static int compare_ranks(const void *a, const void *b)
{
    int p = *(const int *)a, q = *(const int *)b;
    return (p > q) - (p < q);
}

static mw_status fill_ranks(const mw_mesh *mesh, const mw__iota *digit, int n, mw__tiling *t)
{
    size_t table = (size_t)mesh->nrank * sizeof *t->rank;
    int64_t at[MW__IOTA] = {0};
    t->nrank = mesh->nrank;
    t->rank = mw__alloc(table);
    t->place = mw__alloc(table);
    if (!t->rank || !t->place) {
        mw__tiling_done(t);
        return MW_NOMEM();
    }
    for (int k = 0; k < t->nrank; k++) {
        int64_t place = 0;
        for (int i = 0; i < n; i++)
            place += at[i] * digit[i].stride;
        t->rank[k] = mesh->id ? mesh->id[place] : (int)place;
        for (int i = n - 1; i >= 0 && ++at[i] == digit[i].size; i--)
            at[i] = 0;
    }
    for (int k = 0; mesh->id && k < t->nrank; k += (int)t->replicated)
        qsort(t->rank + k, (size_t)t->replicated, sizeof *t->rank, compare_ranks);
    for (int k = 0; k < t->nrank; k++)
        t->place[t->rank[k]] = k;
    return MW_OK;
}

/* The tiles of all dims, and the unreduced parts as one more. */
static bool tiles_of(const mw_mesh *mesh, const mw_layout *layout, mw__tile *tiles, mw_str *why)
{
    for (int d = 0; d < layout->ndim; d++) {
        if (layout->dim[d].open) {
            mw__str_printf(why, "dim %d is open: HLO has no word for it", d);
            return false;
        }
        if (!mw__tile_of(mesh, &layout->dim[d], false, &tiles[d])) {
            mw__tile_why(mesh, d, &layout->dim[d], false, "HLO", why);
            return false;
        }
    }
    mw__tile *unreduced = &tiles[layout->ndim];
    unreduced->n = 0;
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        if (part->kind != MW_REDUCE_SUM) {
            mw__str_printf(why, "HLO's unreduced is a sum, not %s",
                           mw__reduce_name((mw_reduce)part->kind));
            return false;
        }
        unreduced->part[unreduced->n++] = mw__cut_make(part->axis, false, part->major, part->size);
    }
    return true;
}

mw_status mw__tiling_of(const mw_mesh *mesh, const mw_layout *layout, mw__tiling *ret,
                        bool *ret_found, mw_str *why)
{
    mw__tile tiles[MW_LAYOUT_DIMS + 1];
    mw__iota digit[MW__IOTA];
    atoms all;
    int n = 0;
    mw__tiling t = {.ndim = layout->ndim, .manual = 1, .replicated = 1};
    *ret_found = tiles_of(mesh, layout, tiles, why);
    if (!*ret_found) return MW_OK;
    split_axes(mesh, tiles, layout->ndim + 1, &all);
    for (int d = 0; d < layout->ndim; d++)
        t.tile[d] = append_tile(&all, &tiles[d], digit, &n);
    t.unreduced = append_tile(&all, &tiles[layout->ndim], digit, &n);
    for (int i = 0; i < all.n; i++) {
        if (all.at[i].used) continue;
        t.replicated *= all.at[i].size;
        digit[n++] = (mw__iota){all.at[i].size, all.at[i].stride};
    }
    MW_TRY(fill_ranks(mesh, digit, n, &t));
    *ret = t;
    return MW_OK;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* The formula, as short as it gets: neighbouring digits that are one are one already. */
static bool put_iota(const mw__tiling *t, mw_str *to)
{
    mw__iota digit[MW__IOTA];
    int n = mw__iota_of(t->rank, t->nrank, digit), order[MW__IOTA];
    if (n < 0) return false;
    if (n == 0) n = 1, digit[0] = (mw__iota){1, 1};
    for (int i = 0; i < n; i++) { /* by stride, falling: the dims of the iota */
        int at = i;
        for (; at > 0 && digit[order[at - 1]].stride < digit[i].stride; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    mw__str_puts(to, "<=[");
    for (int i = 0; i < n; i++)
        mw__str_printf(to, "%s%lld", i ? "," : "", (long long)digit[order[i]].size);
    mw__str_putc(to, ']');
    if (n == 1) return true;
    for (int k = n - 1; k >= 0; k--)
        for (int i = 0; i < n; i++)
            if (order[i] == k) mw__str_printf(to, "%s%d", k == n - 1 ? "T(" : ",", i);
    mw__str_putc(to, ')');
    return true;
}

static void put_list(const mw__tiling *t, mw_str *to)
{
    for (int k = 0; k < t->nrank; k++)
        mw__str_printf(to, k ? ",%d" : "%d", t->rank[k]);
}

static void put_subgroups(const mw__tiling *t, mw_str *to)
{
    const int64_t size[] = {t->manual, t->unreduced, t->replicated};
    static const char *const name[] = {"manual", "unreduced", "replicated"};
    if (t->manual == 1 && t->unreduced == 1) {
        if (t->replicated > 1) mw__str_puts(to, " last_tile_dim_replicate");
        return;
    }
    const char *before = " last_tile_dims={";
    for (int i = 0; i < MW_COUNT(size); i++) {
        if (size[i] == 1) continue;
        mw__str_puts(to, before);
        mw__str_puts(to, name[i]);
        before = ", ";
    }
    mw__str_putc(to, '}');
}

void mw__tiling_str(const mw__tiling *t, bool iota, mw_str *to, mw_str *why)
{
    const char *whole = t->replicated == t->nrank  ? "{replicated}"
                        : t->unreduced == t->nrank ? "{unreduced}"
                        : t->manual == t->nrank    ? "{manual}"
                                                   : NULL;
    if (whole) {
        mw__str_puts(to, whole);
        return;
    }
    mw__str_puts(to, "{devices=[");
    for (int d = 0; d < t->ndim; d++)
        mw__str_printf(to, d ? ",%lld" : "%lld", (long long)t->tile[d]);
    const int64_t sub[] = {t->manual, t->unreduced, t->replicated};
    bool first = t->ndim == 0;
    for (int i = 0; i < MW_COUNT(sub); i++) {
        if (sub[i] == 1) continue;
        mw__str_printf(to, first ? "%lld" : ",%lld", (long long)sub[i]);
        first = false;
    }
    mw__str_putc(to, ']');
    if (!iota)
        put_list(t, to);
    else if (!put_iota(t, to))
        mw__str_puts(why, "the order of the ranks is no iota, reshaped and transposed");
    put_subgroups(t, to);
    mw__str_putc(to, '}');
}

mw_status mw__hlo_print(const mw_mesh *mesh, const mw_layout *layout, bool iota, mw_str *to,
                        mw_str *why)
{
    mw__tiling t;
    bool found;
    MW_TRY(mw__tiling_of(mesh, layout, &t, &found, why));
    if (!found) return MW_OK;
    mw__tiling_str(&t, iota, to, why);
    mw__tiling_done(&t);
    return MW_OK;
}
