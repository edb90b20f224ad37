/* From two layouts to the boxes that a rank copies. A shard is the product of one list of positions
 * per dim, and a mesh axis cuts one dim only. So each dim is matched alone: for every coordinate
 * that the source's axes of this dim can have, the runs that its list shares with my target list. A
 * box is one such match per dim; the peer is where the coordinates meet. Axes that replicate the
 * source are taken at my own coordinate: the nearest holder, and for what I hold already, myself.
 */
#include "plan/plan.h"

/* `count` runs of `length` positions each, at regular distances in both lists. */
typedef struct segment {
    int64_t from, to, length, count, from_step, to_step;
} segment;

/* What one coordinate of the source's axes has for me in one dim. */
typedef struct piece {
    int place;          /* its part of the peer's grid place */
    int64_t local_size; /* of the peer's shard in this dim */
    segment *segment;
    int nsegment;
} piece;

typedef struct dim_match {
    piece *piece;
    int npiece;
} dim_match;

typedef struct ranges {
    mw_range *at;
    int64_t count;
} ranges;

/* A digit of a mesh coordinate: the part of an axis that a cut names. */
typedef struct digit {
    int axis, size;
    int unit;  /* ranks of the axis that one step of the digit passes over */
    int place; /* the same in places of the grid */
} digit;

enum { MOST_DIGITS = MW_LAYOUT_DIMS * MW_DIM_CUTS };

typedef struct builder {
    const mw_mesh *mesh, *to_mesh;
    const mw_layout *from, *to;
    mw_arena *arena;
    const mw_partial *reduce;
    int nreduce;
    int coord[MW_MESH_AXES], to_coord[MW_MESH_AXES]; /* mine, on each mesh */
    int *group;                                      /* place parts of the ranks that hold terms */
    int ngroup;
    int64_t to_stride[MW_LAYOUT_DIMS];
    const piece *picked[MW_LAYOUT_DIMS];
    dim_match dim[MW_LAYOUT_DIMS];
    mw_pull *pull;
    int64_t npull, cap;
    int64_t own, received;
    int me;
} builder;

static mw_status ranges_at(const mw_mesh *mesh, const mw_dim *dim, const int *coord,
                           mw_arena *arena, ranges *ret)
{
    mw_range few[4];
    int64_t count = mw__dim_ranges(mesh, dim, coord, few, MW_COUNT(few));
    mw_range *at = mw__arena_alloc(arena, (size_t)MW_MAX(count, 1) * sizeof *at);
    if (!at) return MW_NOMEM();
    if (count <= MW_COUNT(few))
        memcpy(at, few, (size_t)count * sizeof *at);
    else
        (void)mw__dim_ranges(mesh, dim, coord, at, count);
    *ret = (ranges){at, count};
    return MW_OK;
}

/* Adds a run to the segments, extending the last one where it keeps its rhythm. */
static void add_run(segment *list, int *n, int64_t from, int64_t to, int64_t length)
{
    if (*n > 0) {
        segment *last = &list[*n - 1];
        int64_t from_step = from - last->from, to_step = to - last->to;
        if (last->length == length && last->count == 1) {
            last->count = 2, last->from_step = from_step, last->to_step = to_step;
            return;
        }
        if (last->length == length && from_step == last->from_step * last->count &&
            to_step == last->to_step * last->count) {
            last->count++;
            return;
        }
    }
    list[(*n)++] = (segment){from, to, length, 1, 0, 0};
}

/* Positions that both lists have, as segments of places in the lists. */
static mw_status match_ranges(const ranges *from, const ranges *to, mw_arena *arena, piece *p)
{
    p->segment = mw__arena_alloc(arena, (size_t)(from->count + to->count + 1) * sizeof(segment));
    if (!p->segment) return MW_NOMEM();
    int64_t i = 0, j = 0, from_at = 0, to_at = 0;
    while (i < from->count && j < to->count) {
        mw_range a = from->at[i], b = to->at[j];
        int64_t first = MW_MAX(a.first, b.first), end = MW_MIN(a.end, b.end);
        if (first < end)
            add_run(p->segment, &p->nsegment, from_at + first - a.first, to_at + first - b.first,
                    end - first);
        if (a.end <= b.end) from_at += a.end - a.first, i++;
        if (b.end <= a.end) to_at += b.end - b.first, j++;
    }
    return MW_OK;
}

static digit digit_of(const mw_mesh *mesh, int axis, int32_t major, int32_t size)
{
    int unit = mesh->size[axis] / (major * size);
    return (digit){axis, size, unit, unit * mesh->stride[axis]};
}

static int digits_of_dim(const mw_mesh *mesh, const mw_dim *dim, digit *ret)
{
    int n = 0;
    for (int i = 0; i < dim->ncut; i++) {
        const mw_cut *cut = &dim->cut[i];
        if (cut->axis >= 0) ret[n++] = digit_of(mesh, cut->axis, cut->major, cut->size);
    }
    return n;
}

static int value_of(const digit *g, const int *coord)
{
    return coord[g->axis] / g->unit % g->size;
}

/* Sets the digits to 0 in `coord`; returns how many combinations of values they have. */
static int clear_digits(const digit *g, int n, int *coord)
{
    int combinations = 1;
    for (int i = 0; i < n; i++) {
        coord[g[i].axis] -= value_of(&g[i], coord) * g[i].unit;
        combinations *= g[i].size;
    }
    return combinations;
}

/* Steps `coord` through all values of the digits, the last one fastest; false after the last. */
static bool next_digits(const digit *g, int n, int *coord)
{
    for (int i = n - 1; i >= 0; i--) {
        int value = value_of(&g[i], coord);
        if (value + 1 < g[i].size) {
            coord[g[i].axis] += g[i].unit;
            return true;
        }
        coord[g[i].axis] -= value * g[i].unit;
    }
    return false;
}

static int place_of(const digit *g, int n, const int *coord)
{
    int place = 0;
    for (int i = 0; i < n; i++)
        place += value_of(&g[i], coord) * g[i].place;
    return place;
}

static mw_status match_dim(builder *b, int d)
{
    const mw_dim *from = &b->from->dim[d];
    digit digits[MW_DIM_CUTS];
    int n = digits_of_dim(b->mesh, from, digits), coord[MW_MESH_AXES];
    memcpy(coord, b->coord, sizeof coord);
    int combinations = clear_digits(digits, n, coord);
    dim_match *match = &b->dim[d];
    match->piece = mw__arena_zalloc(b->arena, (size_t)combinations * sizeof(piece));
    if (!match->piece) return MW_NOMEM();
    ranges mine, theirs;
    MW_TRY(ranges_at(b->to_mesh, &b->to->dim[d], b->to_coord, b->arena, &mine));
    do {
        piece *p = &match->piece[match->npiece];
        *p = (piece){.place = place_of(digits, n, coord),
                     .local_size = mw__dim_local_size(b->mesh, from, coord)};
        if (p->local_size == 0) continue;
        MW_TRY(ranges_at(b->mesh, from, coord, b->arena, &theirs));
        MW_TRY(match_ranges(&theirs, &mine, b->arena, p));
        if (p->nsegment > 0) match->npiece++;
    } while (next_digits(digits, n, coord));
    return MW_OK;
}

/* One level of a box being put together. */
typedef struct level {
    int64_t size, from_stride, to_stride;
} level;

/* Merges levels that are one in both buffers and drops those of size 1. */
static int merge_levels(level *at, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (at[i].size == 1) continue;
        level *outer = kept ? &at[kept - 1] : NULL;
        if (outer && outer->from_stride == at[i].size * at[i].from_stride &&
            outer->to_stride == at[i].size * at[i].to_stride) {
            outer->size *= at[i].size;
            outer->from_stride = at[i].from_stride;
            outer->to_stride = at[i].to_stride;
        } else {
            at[kept++] = at[i];
        }
    }
    return kept;
}

static mw_status push_pull(builder *b, const mw_pull *pull)
{
    if (b->npull == b->cap) { /* in the arena: a doubled copy, the old one dies with the arena */
        int64_t cap = b->cap ? b->cap * 2 : 16;
        mw_pull *moved = mw__arena_alloc(b->arena, (size_t)cap * sizeof *moved);
        if (!moved) return MW_NOMEM();
        if (b->npull) memcpy(moved, b->pull, (size_t)b->npull * sizeof *moved);
        b->pull = moved;
        b->cap = cap;
    }
    b->pull[b->npull++] = *pull;
    return MW_OK;
}

/* The box from every rank that holds a term of it, in rank order. */
static mw_status emit_terms(builder *b, const mw_pull *box, int place, int64_t count)
{
    for (int g = 0; g < b->ngroup; g++) {
        mw_pull pull = *box;
        int at = place + b->group[g];
        pull.peer = b->mesh->id ? b->mesh->id[at] : at;
        pull.reduce = (uint8_t)(g == 0 ? MW_REDUCE_NONE : b->reduce->kind);
        if (pull.peer == b->me)
            b->own += count;
        else
            b->received += count;
        MW_TRY(push_pull(b, &pull));
    }
    return MW_OK;
}

static mw_status emit_levels(builder *b, level *at, int n, int64_t from, int64_t to, int place)
{
    if (n > MW_PULL_DIMS) { /* deeper than a box can be: one box per step of the outermost level */
        for (int64_t i = 0; i < at[0].size; i++)
            MW_TRY(emit_levels(b, at + 1, n - 1, from + i * at[0].from_stride,
                               to + i * at[0].to_stride, place));
        return MW_OK;
    }
    mw_pull box = {.from = from, .to = to, .ndim = (uint8_t)n};
    int64_t count = 1;
    for (int i = 0; i < n; i++) {
        box.size[i] = at[i].size;
        box.from_stride[i] = at[i].from_stride;
        box.to_stride[i] = at[i].to_stride;
        count *= at[i].size;
    }
    return emit_terms(b, &box, place, count);
}

/* One piece is picked in every dim: all combinations of their segments. */
static mw_status emit_boxes(builder *b, int d, int64_t from, int64_t to, level *at, int n,
                            const int64_t *from_stride, int place)
{
    if (d == b->from->ndim) {
        level merged[2 * MW_LAYOUT_DIMS + 1];
        memcpy(merged, at, (size_t)n * sizeof *at);
        return emit_levels(b, merged, merge_levels(merged, n), from, to, place);
    }
    const piece *p = b->picked[d];
    for (int i = 0; i < p->nsegment; i++) {
        const segment *s = &p->segment[i];
        at[n] = (level){s->count, s->from_step * from_stride[d], s->to_step * b->to_stride[d]};
        at[n + 1] = (level){s->length, from_stride[d], b->to_stride[d]};
        MW_TRY(emit_boxes(b, d + 1, from + s->from * from_stride[d], to + s->to * b->to_stride[d],
                          at, n + 2, from_stride, place));
    }
    return MW_OK;
}

static mw_status pick_pieces(builder *b, int d, int place)
{
    if (d < b->from->ndim) {
        for (int i = 0; i < b->dim[d].npiece; i++) {
            b->picked[d] = &b->dim[d].piece[i];
            MW_TRY(pick_pieces(b, d + 1, place + b->picked[d]->place));
        }
        return MW_OK;
    }
    int64_t from_stride[MW_LAYOUT_DIMS], stride = 1;
    for (int i = b->from->ndim - 1; i >= 0; i--) {
        from_stride[i] = stride;
        stride *= b->picked[i]->local_size;
    }
    level at[2 * MW_LAYOUT_DIMS + 1];
    return emit_boxes(b, 0, 0, 0, at, 0, from_stride, place);
}

/* The ranks that hold terms of what I reduce, as parts of a place; one of part 0 without reduction.
 */
static mw_status fill_group(builder *b, const digit *digits)
{
    int coord[MW_MESH_AXES] = {0};
    b->group =
        mw__arena_alloc(b->arena, (size_t)clear_digits(digits, b->nreduce, coord) * sizeof(int));
    if (!b->group) return MW_NOMEM();
    do
        b->group[b->ngroup++] = place_of(digits, b->nreduce, coord);
    while (next_digits(digits, b->nreduce, coord));
    return MW_OK;
}

mw_status mw__pulls_between(const mw_mesh *mesh, const mw_layout *from, const mw_mesh *to_mesh,
                            const mw_layout *to, const mw_partial *reduce, int nreduce, int rank,
                            mw_arena *arena, mw_pulls *ret)
{
    builder *b = mw__arena_zalloc(arena, sizeof *b);
    if (!b) return MW_NOMEM();
    b->mesh = mesh, b->to_mesh = to_mesh, b->from = from, b->to = to, b->arena = arena,
    b->me = rank;
    b->reduce = reduce, b->nreduce = nreduce;
    mw__mesh_coords(mesh, rank, b->coord);
    mw__mesh_coords(to_mesh, rank, b->to_coord);
    digit digits[MOST_DIGITS + MW_LAYOUT_PARTIALS];
    int n = 0;
    for (; n < nreduce; n++)
        digits[n] = digit_of(mesh, reduce[n].axis, reduce[n].major, reduce[n].size);
    MW_TRY(fill_group(b, digits));
    int64_t stride = 1;
    for (int d = to->ndim - 1; d >= 0; d--) {
        b->to_stride[d] = stride;
        stride *= mw__dim_local_size(to_mesh, &to->dim[d], b->to_coord);
        n += digits_of_dim(mesh, &from->dim[d], digits + n);
    }
    if (stride > 0) {
        for (int d = 0; d < from->ndim; d++)
            MW_TRY(match_dim(b, d));
        /* On digits that no piece chooses the source is replicated: the peer has mine. */
        int mine = mesh->place ? mesh->place[rank] : rank;
        MW_TRY(pick_pieces(b, 0, mine - place_of(digits, n, b->coord)));
    }
    *ret = (mw_pulls){b->pull, (int)b->npull, b->own, b->received};
    return MW_OK;
}

mw_status mw__pulls_make(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                         const mw_partial *reduce, int nreduce, int rank, mw_arena *arena,
                         mw_pulls *ret)
{
    return mw__pulls_between(mesh, from, mesh, to, reduce, nreduce, rank, arena, ret);
}

static bool overlap(const ranges *a, const ranges *b)
{
    int64_t i = 0, j = 0;
    while (i < a->count && j < b->count) {
        if (a->at[i].first < b->at[j].end && b->at[j].first < a->at[i].end) return true;
        if (a->at[i].end <= b->at[j].end)
            i++;
        else
            j++;
    }
    return false;
}

mw_status mw__readers_between(const mw_mesh *mesh, const mw_layout *from, const mw_mesh *to_mesh,
                              const mw_layout *to, const mw_partial *reduce, int nreduce, int rank,
                              mw_arena *arena, int *ret)
{
    int coord[MW_MESH_AXES], n = 0, readers = 0;
    mw__mesh_coords(mesh, rank, coord);
    digit digits[MOST_DIGITS + MW_LAYOUT_PARTIALS];
    ranges mine[MW_LAYOUT_DIMS], theirs;
    for (; n < nreduce; n++)
        digits[n] = digit_of(mesh, reduce[n].axis, reduce[n].major, reduce[n].size);
    for (int d = 0; d < from->ndim; d++) {
        MW_TRY(ranges_at(mesh, &from->dim[d], coord, arena, &mine[d]));
        n += digits_of_dim(mesh, &from->dim[d], digits + n);
    }
    /* Who pulls from me differs from me only on digits by which the source is cut or partial. */
    int peer[MW_MESH_AXES];
    memcpy(peer, coord, sizeof peer);
    (void)clear_digits(digits, n, peer);
    do {
        bool reads = memcmp(peer, coord, (size_t)mesh->naxis * sizeof *peer) != 0;
        int at[MW_MESH_AXES];
        if (to_mesh == mesh)
            memcpy(at, peer, sizeof at);
        else
            mw__mesh_coords(to_mesh, mw_mesh_rank_at(mesh, peer), at);
        for (int d = 0; reads && d < from->ndim; d++) {
            MW_TRY(ranges_at(to_mesh, &to->dim[d], at, arena, &theirs));
            reads = overlap(&mine[d], &theirs);
        }
        readers += reads;
    } while (next_digits(digits, n, peer));
    *ret = readers;
    return MW_OK;
}

mw_status mw__pulls_readers(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                            const mw_partial *reduce, int nreduce, int rank, mw_arena *arena,
                            int *ret)
{
    return mw__readers_between(mesh, from, mesh, to, reduce, nreduce, rank, arena, ret);
}

int mw__team_count(const mw_mesh *mesh, uint32_t axes)
{
    int n = 1;
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1) n *= mesh->size[a];
    return n;
}

int mw__team_ranks(const mw_mesh *mesh, uint32_t axes, int rank, int *ret_ranks)
{
    int coord[MW_MESH_AXES], ndigit = 0, n = 0;
    digit digits[MW_MESH_AXES];
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1) digits[ndigit++] = digit_of(mesh, a, 1, mesh->size[a]);
    mw__mesh_coords(mesh, rank, coord);
    int base = (mesh->place ? mesh->place[rank] : rank) - place_of(digits, ndigit, coord);
    (void)clear_digits(digits, ndigit, coord);
    do {
        int place = base + place_of(digits, ndigit, coord);
        int r = mesh->id ? mesh->id[place] : place, at = n++;
        for (; at > 0 && ret_ranks[at - 1] > r; at--) /* kept rising: nearly sorted already */
            ret_ranks[at] = ret_ranks[at - 1];
        ret_ranks[at] = r;
    } while (next_digits(digits, ndigit, coord));
    return n;
}
