/* Handles, their memory and their scopes. Heads come from the rank's free list and memory from its
 * pool, so that a warm program asks the allocator for nothing. */
#include "run/run.h"

#include <stdio.h>

mw_rank *mw__rank_get(void)
{
    mw_rank *rank = mw__ctx_get()->rank;
    if (MW_UNLIKELY(!rank)) {
        (void)MW_FAIL(MW_ERR_ARG, "a tensor is needed, but no program is running on a mesh here");
        mw__error_hint("call this from a function that mw_launch runs");
    }
    return rank;
}

mw_status mw__tensor_make(mw_rank *rank, mw_tensor **ret)
{
    mw_tensor *t = rank->free_tensors;
    if (MW_LIKELY(t != NULL)) {
        rank->free_tensors = t->next;
    } else {
        t = mw__alloc(sizeof *t);
        if (!t) return MW_NOMEM();
    }
    t->storage = NULL;
    t->local.data = NULL;
    t->name = NULL;
    t->recorded = NULL;
    t->apart = false;
    t->refs = 1;
    *ret = t;
    return MW_OK;
}

static mw_status own(mw_rank *rank, mw_tensor *t)
{
    if (MW_UNLIKELY(rank->nowned == rank->cap_owned))
        MW_TRY(mw__grow(&rank->owned, &rank->cap_owned, rank->nowned + 1, sizeof *rank->owned));
    rank->owned[rank->nowned++] = t;
    return MW_OK;
}

mw_status mw__tensor_new(mw_rank *rank, mw_tensor **ret)
{
    mw_tensor *t = NULL;
    MW_TRY(mw__tensor_make(rank, &t));
    mw_status status = own(rank, t);
    if (MW_UNLIKELY(status != MW_OK)) {
        mw__tensor_drop(rank, t);
        return status;
    }
    *ret = t;
    return MW_OK;
}

void mw__tensor_drop(mw_rank *rank, mw_tensor *t)
{
    if (!t || --t->refs > 0) return;
    mw__storage_unref(t->storage);
    if (MW_UNLIKELY(t->name != NULL)) mw__free(t->name, strlen(t->name) + 1);
    t->next = rank->free_tensors;
    rank->free_tensors = t;
}

void mw__local_view(const mw_rank *rank, const mw_mesh *mesh, const mw_layout *layout, mw_view *ret)
{
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_local_shape(mesh, layout, mw__mesh_own(mesh, rank->index), shape);
    ret->data = NULL;
    mw__view_set(ret, mw__layout_storage_dtype(layout), layout->ndim, shape);
}

mw_status mw__tensor_fill(mw_rank *rank, mw_tensor *t, int64_t bytes)
{
    if (rank->fake) return MW_OK;
    MW_TRY(mw__storage_new(bytes, &t->storage));
    t->local.data = t->storage->data;
    return MW_OK;
}

mw_status mw__tensor_again(mw_rank *rank, const mw_tensor *t, mw_tensor **ret)
{
    mw_tensor *again;
    MW_TRY(mw__tensor_new(rank, &again));
    again->type = t->type;
    again->local = t->local;
    again->apart = t->apart;
    again->storage = t->storage;
    if (again->storage) mw__storage_ref(again->storage);
    *ret = again;
    return MW_OK;
}

mw_status mw__tensor_dense(mw_rank *rank, mw_tensor *t, mw_tensor **ret)
{
    if (mw__view_contiguous(&t->local)) {
        t->refs++;
        *ret = t;
        return MW_OK;
    }
    mw_tensor *copy;
    MW_TRY(mw__tensor_make(rank, &copy));
    copy->local = t->local;
    copy->local.data = NULL;
    mw__view_set(&copy->local, t->local.dtype, t->local.ndim, t->local.shape);
    mw_status status =
        mw__ttype_get(t->type->mesh, &t->type->layout, copy->local.stride, &copy->type);
    if (status == MW_OK)
        status =
            mw__tensor_fill(rank, copy, mw__view_count(&t->local) * mw_dtype_size(t->local.dtype));
    if (status != MW_OK) {
        mw__tensor_drop(rank, copy);
        return status;
    }
    if (!rank->fake) mw__view_copy(&copy->local, &t->local);
    *ret = copy;
    return MW_OK;
}

/* ---- the public side ---------------------------------------------------------------------------
 */

void mw_scope_begin(const char *name)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return;
    if (rank->nchain < MW_CHAIN && rank->depth == rank->nchain) {
        rank->chain[rank->nchain].name = name;
        rank->chain[rank->nchain].first = rank->nowned;
        rank->nchain++;
    }
    rank->depth++;
}

mw_tensor *mw_scope_end(mw_tensor *keep)
{
    mw_rank *rank = mw__rank_get();
    if (!rank || rank->depth == 0) return keep;
    if (--rank->depth >= rank->nchain) return keep; /* deeper than the chain: its parent's scope */
    int64_t first = rank->chain[--rank->nchain].first;
    bool ours = false;
    for (int64_t i = first; i < rank->nowned; i++) {
        if (rank->owned[i] == keep && !ours)
            ours = true; /* handed on, not given up */
        else
            mw__tensor_drop(rank, rank->owned[i]);
    }
    rank->nowned = first;
    if (ours) rank->owned[rank->nowned++] = keep;
    return keep;
}

mw_tensor *mw_tensor_ref(mw_tensor *t)
{
    if (t) t->refs++;
    return t;
}

void mw_tensor_unref(mw_tensor *t)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (rank) mw__tensor_drop(rank, t);
}

mw_dtype mw_tensor_dtype(const mw_tensor *t)
{
    return t ? (mw_dtype)t->type->layout.dtype : MW_DTYPE_NONE;
}

int mw_tensor_ndim(const mw_tensor *t)
{
    return t ? t->type->layout.ndim : 0;
}

int64_t mw_tensor_size(const mw_tensor *t, int dim)
{
    if (!t) return 0;
    int ndim = t->type->layout.ndim;
    if (dim < 0) dim += ndim;
    return dim >= 0 && dim < ndim ? mw_layout_size(&t->type->layout, dim) : 0;
}

const mw_layout *mw_tensor_layout(const mw_tensor *t)
{
    return t ? &t->type->layout : NULL;
}

mw_mesh *mw_tensor_mesh(const mw_tensor *t)
{
    return t ? t->type->mesh : NULL;
}

int64_t mw_tensor_local_bytes(const mw_tensor *t)
{
    return t ? mw__view_count(&t->local) * mw_dtype_size(t->local.dtype) : 0;
}

mw_tensor *mw_tensor_name(mw_tensor *t, const char *name)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return t;
    size_t size = strlen(name) + 1;
    char *copy = mw__alloc(size);
    if (!copy) {
        (void)mw__rank_failed(rank, MW_NOMEM());
        return NULL;
    }
    memcpy(copy, name, size);
    if (t->name) mw__free(t->name, strlen(t->name) + 1);
    t->name = copy;
    if (rank->recorder && t->recorded) rank->recorder->name(rank->recorder, t, name);
    return t;
}

const char *mw__chain_text(const mw_rank *rank, char *to, int size)
{
    int at = 0;
    to[0] = 0;
    for (int i = 0; i < rank->nchain && at < size - 1; i++) {
        int n = snprintf(to + at, (size_t)(size - at), "%s%s", i ? "/" : "",
                         rank->chain[i].name ? rank->chain[i].name : "?");
        if (n < 0) break;
        at += n;
    }
    return to;
}

/* ---- making ------------------------------------------------------------------------------------
 */

mw_tensor *mw_empty_layout(mw_mesh *mesh, const mw_layout *layout)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return NULL;
    mw_tensor *t;
    mw_layout canonical = *layout;
    if (!mesh) mesh = rank->mesh;
    if (mw__layout_check(mesh, layout) != MW_OK) return NULL;
    mw__home_layout(rank, &mesh, &canonical);
    for (int d = 0; d < canonical.ndim; d++)
        canonical.dim[d].open = 0;
    mw__layout_canonical(mesh, &canonical);
    if (rank->recorder)
        return rank->recorder->begin(rank->recorder, mesh, &canonical, NULL, &t) == MW_OK ? t
                                                                                          : NULL;
    mw_status status = mw__tensor_new(rank, &t);
    if (status == MW_OK) {
        mw__local_view(rank, mesh, &canonical, &t->local);
        status = mw__ttype_get(mesh, &canonical, t->local.stride, &t->type);
    }
    if (status == MW_OK) status = mw__tensor_fill(rank, t, mw_tensor_local_bytes(t));
    if (status != MW_OK) {
        (void)mw__rank_failed(rank, status);
        return NULL;
    }
    if (!rank->fake) memset(t->local.data, 0, (size_t)mw_tensor_local_bytes(t));
    return t;
}
