/* Annotations as PyTorch/XLA has them besides mark_sharding: taking one back, its text, and manual
 * regions, in which every rank computes with its own shard as with a tensor of its own. */
#include "run/run.h"

#include <meshwise/notation.h>
#include <stdio.h>

mw_tensor *mw_clear_sharding_at(mw_site site, mw_tensor *t)
{
    if (!t) return NULL;
    mw_layout open = t->type->layout;
    for (int d = 0; d < open.ndim; d++) {
        open.dim[d] = mw__dim_plain(mw_layout_size(&open, d));
        open.dim[d].open = 1;
    }
    mw_rank *rank = mw__rank_get();
    /* Op by op a tensor lies somewhere, and stays there; what is taken down is free from here on.
     */
    if (!rank || !rank->recorder) return rank ? t : NULL;
    open.npartial = 0;
    memset(open.partial, 0, sizeof open.partial);
    return mw_mark_layout_at(site, t, t->type->mesh, &open);
}

mw_status mw_get_sharding(const mw_tensor *t, char *to, int size)
{
    mw_notation_text text;
    if (!t) return MW_FAIL(MW_ERR_ARG, "get_sharding of no tensor");
    MW_TRY(mw_notation_print(t->type->mesh, &t->type->layout, MW_NOTATION_HLO_V1, &text));
    mw_status status = MW_OK;
    if (text.text)
        (void)snprintf(to, (size_t)MW_MAX(size, 0), "%s", text.text);
    else
        status = MW_FAIL(MW_ERR_UNSUPPORTED, "get_sharding: %s", text.why);
    mw_notation_text_done(&text);
    return status;
}

/* The mesh of this rank alone. */
static mw_status own_mesh(const mw_rank *rank, mw_mesh **ret)
{
    mw_mesh *slice;
    MW_TRY(mw__mesh_slice(rank->mesh, 0, mw__mesh_own(rank->mesh, rank->index), &slice));
    mw_status status = mw__mesh_intern(slice, ret);
    mw_mesh_unref(slice);
    return status;
}

/* This rank's shard as a whole tensor on its own mesh, in the same memory. */
static mw_status shard_of(mw_rank *rank, mw_tensor *t, mw_tensor **ret)
{
    mw_mesh *mesh;
    mw_tensor *own;
    MW_TRY(own_mesh(rank, &mesh));
    MW_TRY(mw__tensor_again(rank, t, &own));
    mw_layout local =
        mw_layout_replicated((mw_dtype)t->type->layout.dtype, t->local.ndim, t->local.shape);
    MW_TRY(mw__ttype_get(mesh, &local, t->local.stride, &own->type));
    *ret = own;
    return MW_OK;
}

/* A captured program is one for all ranks: none of them has a shard of its own in it. */
static void no_manual(const char *op)
{
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s works op by op, and a program is being captured", op);
    mw__error_hint("do it outside of the function that is captured or compiled");
}

mw_tensor *mw_enable_manual_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                        const char *layout)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return NULL;
    if (rank->recorder) {
        no_manual("enable_manual_sharding");
        return NULL;
    }
    mw_tensor *placed = mw_redistribute_at(site, t, mesh, layout), *own;
    if (!placed) return NULL;
    if (placed->type->layout.npartial) {
        (void)MW_FAIL(MW_ERR_LAYOUT,
                      "enable_manual_sharding: %s is partial: a rank's term is no "
                      "value",
                      layout);
        return NULL;
    }
    return mw__rank_failed(rank, shard_of(rank, placed, &own)) == MW_OK ? own : NULL;
}

mw_tensor *mw_disable_manual_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh,
                                         const char *layout)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return NULL;
    if (rank->recorder) {
        no_manual("disable_manual_sharding");
        return NULL;
    }
    mw_tensor *dense;
    if (mw__rank_failed(rank, mw__tensor_dense(rank, t, &dense)) != MW_OK) return NULL;
    mw_tensor *out = mw_from_local_at(site, dense->local.dtype, dense->local.shape,
                                      dense->local.ndim, dense->local.data, mesh, layout);
    mw__tensor_drop(rank, dense);
    return out;
}
