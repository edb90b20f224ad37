/* The device mesh: a grid of ranks with named axes, read from text, immutable from then on.
 *
 * A rank and its place in the grid are the same number unless `ids=` permutes them; the identity is
 * stored as no table at all, so that the common mesh answers every question by arithmetic and two
 * texts of one mesh give equal meshes. A mesh remembers the allocator that made it: the last
 * reference may be dropped by another thread. */
#include "mesh/mesh.h"

#include "mesh/reader.h"
#include <stdio.h>

static void free_with(const mw_allocator *allocator, void *block, size_t size)
{
    if (block) (void)allocator->resize(allocator->user, block, size, 0);
}

mw_mesh *mw_mesh_ref(mw_mesh *mesh)
{
    if (mesh) (void)__atomic_add_fetch(&mesh->refs, 1, __ATOMIC_RELAXED);
    return mesh;
}

void mw_mesh_unref(mw_mesh *mesh)
{
    if (!mesh || __atomic_sub_fetch(&mesh->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    const mw_allocator *allocator = mesh->allocator;
    size_t table = (size_t)mesh->nrank * sizeof *mesh->id;
    free_with(allocator, mesh->id, table);
    free_with(allocator, mesh->place, table);
    free_with(allocator, mesh->world, table);
    free_with(allocator, mesh, sizeof *mesh);
}

int mw_mesh_ranks(const mw_mesh *mesh)
{
    return mesh->nrank;
}

int mw_mesh_axes(const mw_mesh *mesh)
{
    return mesh->naxis;
}

const char *mw_mesh_axis_name(const mw_mesh *mesh, int axis)
{
    return mesh->name[axis];
}

int mw_mesh_axis_size(const mw_mesh *mesh, int axis)
{
    return mesh->size[axis];
}

int mw_mesh_axis_find(const mw_mesh *mesh, const char *name, int length)
{
    for (int a = 0; a < mesh->naxis; a++)
        if ((int)strlen(mesh->name[a]) == length &&
            memcmp(mesh->name[a], name, (size_t)length) == 0)
            return a;
    return -1;
}

int mw_mesh_coord(const mw_mesh *mesh, int rank, int axis)
{
    int place = mesh->place ? mesh->place[rank] : rank;
    return place / mesh->stride[axis] % mesh->size[axis];
}

void mw__mesh_coords(const mw_mesh *mesh, int rank, int *ret_coord)
{
    int place = mesh->place ? mesh->place[rank] : rank;
    for (int a = 0; a < mesh->naxis; a++) {
        ret_coord[a] = place / mesh->stride[a];
        place -= ret_coord[a] * mesh->stride[a];
    }
}

int mw_mesh_rank_at(const mw_mesh *mesh, const int *coords)
{
    int place = 0;
    for (int a = 0; a < mesh->naxis; a++)
        place += coords[a] * mesh->stride[a];
    return mesh->id ? mesh->id[place] : place;
}

int mw_mesh_same(const mw_mesh *a, const mw_mesh *b)
{
    if (a == b) return 1;
    if (a->hash != b->hash || a->naxis != b->naxis || a->nrank != b->nrank) return 0;
    for (int i = 0; i < a->naxis; i++)
        if (a->size[i] != b->size[i] || strcmp(a->name[i], b->name[i]) != 0) return 0;
    if (!a->world != !b->world ||
        (a->world && memcmp(a->world, b->world, (size_t)a->nrank * sizeof *a->world) != 0))
        return 0;
    if (!a->id || !b->id) return a->id == b->id;
    return memcmp(a->id, b->id, (size_t)a->nrank * sizeof *a->id) == 0;
}

/* A text of any length into a buffer that may be shorter: counts on, writes while there is room. */
typedef struct clipped {
    char *to;
    int size, length;
} clipped;

static void clip_printf(clipped *out, const char *format, ...) MW_PRINTF(2, 3);

static void clip_printf(clipped *out, const char *format, ...)
{
    bool room = out->length < out->size;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room ? out->to + out->length : NULL,
                      room ? (size_t)(out->size - out->length) : 0, format, args);
    va_end(args);
    if (n > 0) out->length += n;
}

int mw_mesh_print(const mw_mesh *mesh, char *to, int size)
{
    clipped out = {to, size, 0};
    if (size > 0) to[0] = 0;
    for (int a = 0; a < mesh->naxis; a++) {
        const char *quote = mw__name_bare(mesh->name[a]) ? "" : "\"";
        clip_printf(&out, "%s%s%s%s=%d", a ? "," : "", quote, mesh->name[a], quote, mesh->size[a]);
    }
    for (int i = 0; mesh->id && i < mesh->nrank; i++)
        clip_printf(&out, "%s%d", i ? "," : " ids=[", mesh->id[i]);
    if (mesh->id) clip_printf(&out, "]");
    for (int i = 0; mesh->world && i < mesh->nrank; i++)
        clip_printf(&out, "%s%d", i ? "," : " on ranks [", mesh->world[i]);
    if (mesh->world) clip_printf(&out, "]");
    return out.length;
}

/* ---- reading ------------------------------------------------------------------------------- */

static mw_status read_axis(mw__reader *r, mw_mesh *mesh)
{
    mw__reader_space(r);
    const char *start = r->at;
    if (mesh->naxis == MW_MESH_AXES)
        return mw__reader_fail(r, start, MW_ERR_ARG, "a mesh has at most %d axes", MW_MESH_AXES);
    char *name = mesh->name[mesh->naxis];
    MW_TRY(mw__reader_name(r, "an axis, like tp=4", MW_AXIS_NAME, name));
    if (mw_mesh_axis_find(mesh, name, (int)strlen(name)) >= 0)
        return mw__reader_fail(r, start, MW_ERR_ARG, "axis '%s' is there twice", name);
    if (!mw__reader_take(r, '='))
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected '=' and the size of axis '%s'",
                               name);
    mw__reader_space(r);
    const char *number = r->at;
    bool negative = *number == '-' && number[1] >= '0' && number[1] <= '9';
    if (negative) r->at++;
    int64_t size = 0;
    mw_status status = mw__reader_int(r, "a size, like tp=4", &size);
    if (status == MW_ERR_SHAPE)
        size = INT64_MAX; /* too many ranks, whatever the number */
    else
        MW_TRY(status);
    if (negative || size < 1)
        return mw__reader_fail(r, number, MW_ERR_ARG, "axis '%s' has a size below 1", name);
    if (size > MW_MESH_RANKS || mesh->nrank * size > MW_MESH_RANKS)
        return mw__reader_fail(r, number, MW_ERR_ARG, "a mesh has at most %d ranks", MW_MESH_RANKS);
    mesh->size[mesh->naxis++] = (int)size;
    mesh->nrank *= (int)size;
    return MW_OK;
}

static mw_status read_ids(mw__reader *r, mw_mesh *mesh)
{
    const char *start = r->at;
    size_t table = (size_t)mesh->nrank * sizeof *mesh->id;
    mesh->id = mw__alloc(table);
    mesh->place = mw__alloc(table);
    if (!mesh->id || !mesh->place) return MW_NOMEM();
    for (int i = 0; i < mesh->nrank; i++)
        mesh->place[i] = -1;
    bool identity = true;
    int count = 0;
    do {
        mw__reader_space(r);
        const char *number = r->at;
        int64_t id = 0;
        MW_TRY(mw__reader_int(r, "a rank", &id));
        if (count == mesh->nrank)
            return mw__reader_fail(r, number, MW_ERR_ARG, "ids has more than the mesh's %d ranks",
                                   mesh->nrank);
        if (id >= mesh->nrank)
            return mw__reader_fail(r, number, MW_ERR_ARG,
                                   "ids is not a permutation: rank %lld is not below %d",
                                   (long long)id, mesh->nrank);
        if (mesh->place[id] >= 0)
            return mw__reader_fail(r, number, MW_ERR_ARG,
                                   "ids is not a permutation: rank %lld is there twice",
                                   (long long)id);
        identity = identity && id == count;
        mesh->place[id] = count;
        mesh->id[count++] = (int)id;
    } while (mw__reader_take(r, ','));
    if (!mw__reader_take(r, ']'))
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected ',' or ']' in ids");
    if (count < mesh->nrank)
        return mw__reader_fail(r, start, MW_ERR_ARG, "ids has %d ranks, the mesh has %d", count,
                               mesh->nrank);
    if (identity) {
        mw__free(mesh->id, table);
        mw__free(mesh->place, table);
        mesh->id = mesh->place = NULL;
    }
    return MW_OK;
}

static mw_status read_mesh(mw__reader *r, mw_mesh *mesh)
{
    do
        MW_TRY(read_axis(r, mesh));
    while (mw__reader_take(r, ','));
    int stride = 1;
    for (int a = mesh->naxis - 1; a >= 0; a--) {
        mesh->stride[a] = stride;
        stride *= mesh->size[a];
    }
    mw__reader_space(r);
    if (strncmp(r->at, "ids", 3) == 0) {
        r->at += 3;
        if (!mw__reader_take(r, '=') || !mw__reader_take(r, '['))
            return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected ids=[0,1,...]");
        MW_TRY(read_ids(r, mesh));
    }
    if (mw__reader_peek(r))
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected ',', ids=[...] or the end");
    return MW_OK;
}

static uint64_t hash_mesh(const mw_mesh *mesh)
{
    uint64_t h = mw__hash(0, mesh->size, (size_t)mesh->naxis * sizeof *mesh->size);
    for (int a = 0; a < mesh->naxis; a++)
        h = mw__hash(h, mesh->name[a], strlen(mesh->name[a]) + 1);
    size_t table = (size_t)mesh->nrank * sizeof *mesh->id;
    if (mesh->world) h = mw__hash(h, mesh->world, table);
    return mesh->id ? mw__hash(h, mesh->id, table) : h;
}

mw_status mw_mesh_parse(const char *text, mw_mesh **ret)
{
    mw_mesh *mesh = mw__zalloc(sizeof *mesh);
    if (!mesh) return MW_NOMEM();
    mesh->refs = 1;
    mesh->nrank = 1;
    mesh->allocator = mw__ctx_get()->allocator;
    mw__reader r = {"mesh", text, text};
    mw_status status = MW_OK;
    MW_TRY_GOTO(read_mesh(&r, mesh), fail);
    mesh->hash = hash_mesh(mesh);
    *ret = mesh;
    return MW_OK;
fail:
    mw_mesh_unref(mesh);
    return status;
}

/* ---- slices --------------------------------------------------------------------------------- */

int mw__mesh_world(const mw_mesh *mesh, int own)
{
    return mesh->world ? mesh->world[own] : own;
}

int mw__mesh_own(const mw_mesh *mesh, int world)
{
    if (!mesh->world) return world < mesh->nrank ? world : -1;
    for (int i = 0; i < mesh->nrank; i++)
        if (mesh->world[i] == world) return i;
    return -1;
}

/* Its ranks are numbered by their places, so that it needs no table but that of whom they are. */
mw_status mw__mesh_slice(const mw_mesh *mesh, uint32_t axes, int rank, mw_mesh **ret)
{
    mw_mesh *slice = mw__zalloc(sizeof *slice);
    if (!slice) return MW_NOMEM();
    slice->refs = 1;
    slice->nrank = 1;
    slice->allocator = mw__ctx_get()->allocator;
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, rank, coord);
    for (int a = 0; a < mesh->naxis; a++) {
        if (!(axes >> a & 1)) continue;
        memcpy(slice->name[slice->naxis], mesh->name[a], sizeof mesh->name[a]);
        slice->size[slice->naxis++] = mesh->size[a];
        slice->nrank *= mesh->size[a];
    }
    for (int a = slice->naxis - 1, stride = 1; a >= 0; stride *= slice->size[a--])
        slice->stride[a] = stride;
    slice->world = mw__alloc((size_t)slice->nrank * sizeof *slice->world);
    if (!slice->world) {
        mw_mesh_unref(slice);
        return MW_NOMEM();
    }
    for (int i = 0; i < slice->nrank; i++) {
        int of[MW_MESH_AXES], n = 0;
        mw__mesh_coords(slice, i, of);
        for (int a = 0; a < mesh->naxis; a++)
            if (axes >> a & 1) coord[a] = of[n++];
        slice->world[i] = mw__mesh_world(mesh, mw_mesh_rank_at(mesh, coord));
    }
    slice->hash = hash_mesh(slice);
    *ret = slice;
    return MW_OK;
}
