/* The types of tensors, and their meshes, interned process-wide. Lists only grow, at their heads,
 * by compare-and-swap: looking up takes no lock, and two ranks that add the same type agree on one.
 * Types are never freed: they are few (a program's distinct types), and calls point to them. They
 * outlive the launch, so they come from the C library and not from the program's allocator, and
 * hold copies of meshes, not a program's own; a failure of that is still reported. */
#include "run/run.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 1 << 14 };

static _Atomic(mw_ttype *) bucket[BUCKETS];

typedef struct known_mesh {
    mw_mesh mesh;
    struct known_mesh *next;
    int table[]; /* of mesh.id, mesh.place, mesh.world, where the mesh has them */
} known_mesh;

static _Atomic(known_mesh *) meshes;

static known_mesh *find_mesh(known_mesh *from, const known_mesh *end, const mw_mesh *mesh)
{
    while (from != end && !mw_mesh_same(&from->mesh, mesh))
        from = from->next;
    return from != end ? from : NULL;
}

static known_mesh *copy_mesh(const mw_mesh *mesh)
{
    size_t table = (size_t)mesh->nrank * sizeof(int);
    bool any = mesh->id || mesh->world;
    known_mesh *copy = calloc(1, sizeof *copy + (any ? 3 * table : 0));
    if (!copy) return NULL;
    copy->mesh = *mesh;
    copy->mesh.refs = 1; /* the list's, for ever */
    copy->mesh.allocator = mw__libc_allocator();
    if (mesh->id) {
        copy->mesh.id = memcpy(copy->table, mesh->id, table);
        copy->mesh.place = memcpy(copy->table + mesh->nrank, mesh->place, table);
    }
    if (mesh->world) copy->mesh.world = memcpy(copy->table + 2 * mesh->nrank, mesh->world, table);
    return copy;
}

mw_status mw__mesh_intern(const mw_mesh *mesh, mw_mesh **ret)
{
    known_mesh *head = atomic_load_explicit(&meshes, memory_order_acquire);
    known_mesh *found = find_mesh(head, NULL, mesh), *copy = NULL;
    while (!found) {
        if (!copy) copy = copy_mesh(mesh);
        if (!copy) return MW_NOMEM();
        copy->next = head;
        if (atomic_compare_exchange_weak_explicit(&meshes, &head, copy, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret = &copy->mesh;
            return MW_OK;
        }
        found = find_mesh(head, copy->next, mesh);
    }
    free(copy);
    *ret = &found->mesh;
    return MW_OK;
}

static uint64_t hash_of(const mw_mesh *mesh, const mw_layout *layout, const int64_t *stride)
{
    uint64_t h = mw__hash(mesh->hash, layout, offsetof(mw_layout, dim));
    h = mw__hash(h, layout->dim, layout->ndim * sizeof layout->dim[0]);
    h = mw__hash(h, layout->partial, layout->npartial * sizeof layout->partial[0]);
    return mw__hash(h, stride, layout->ndim * sizeof *stride);
}

static bool is_type(const mw_ttype *t, uint64_t hash, const mw_mesh *mesh, const mw_layout *layout,
                    const int64_t *stride)
{
    return t->hash == hash && mw_mesh_same(t->mesh, mesh) && mw_layout_equal(&t->layout, layout) &&
           memcmp(t->stride, stride, layout->ndim * sizeof *stride) == 0;
}

static const mw_ttype *find(const mw_ttype *from, const mw_ttype *end, uint64_t hash,
                            const mw_mesh *mesh, const mw_layout *layout, const int64_t *stride)
{
    for (; from != end; from = from->next)
        if (is_type(from, hash, mesh, layout, stride)) return from;
    return NULL;
}

mw_status mw__ttype_get(const mw_mesh *mesh, const mw_layout *layout, const int64_t *stride,
                        const mw_ttype **ret)
{
    uint64_t hash = hash_of(mesh, layout, stride);
    _Atomic(mw_ttype *) *at = &bucket[hash % BUCKETS];
    mw_ttype *head = atomic_load_explicit(at, memory_order_acquire);
    const mw_ttype *found = find(head, NULL, hash, mesh, layout, stride);
    if (found) {
        *ret = found;
        return MW_OK;
    }
    mw_mesh *lasting;
    MW_TRY(mw__mesh_intern(mesh, &lasting));
    mw_ttype *type = calloc(1, sizeof *type);
    if (!type) return MW_NOMEM();
    type->mesh = lasting;
    type->layout = *layout;
    type->hash = hash;
    memcpy(type->stride, stride, layout->ndim * sizeof *stride);
    do {
        type->next = head;
        if (atomic_compare_exchange_weak_explicit(at, &head, type, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            *ret = type;
            return MW_OK;
        }
        found = find(head, type->next, hash, mesh, layout, stride);
    } while (!found);
    free(type);
    *ret = found;
    return MW_OK;
}
