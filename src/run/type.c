/* The types of tensors, interned process-wide. Buckets are lists that only grow, at their heads, by
 * compare-and-swap: looking up takes no lock, and two ranks that add the same type agree on one.
 * Types are never freed: they are few (a program's distinct types), and calls point to them. */
#include "run/run.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { BUCKETS = 1 << 14 };

static _Atomic(mw_ttype *) bucket[BUCKETS];

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

mw_status mw__ttype_get(mw_mesh *mesh, const mw_layout *layout, const int64_t *stride,
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
    /* Outlives the launch, so it comes from the C library and not from the program's allocator; a
     * failure of that is still reported. */
    mw_ttype *type = calloc(1, sizeof *type);
    if (!type) return MW_NOMEM();
    type->mesh = mw_mesh_ref(mesh);
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
    mw_mesh_unref(type->mesh);
    free(type);
    *ret = found;
    return MW_OK;
}
