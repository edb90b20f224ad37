/* Weights: each rank reads its own shard of a stored tensor, straight into a tensor's memory. */
#include "io/io.h"
#include "run/run.h"

#include <meshwise/model_file.h>

/* The positions that this rank holds, per dim, in the arena. */
static mw_status box_of(const mw_rank *rank, const mw_mesh *mesh, const mw_layout *layout,
                        mw_arena *arena, mw_model_box *box)
{
    for (int d = 0; d < layout->ndim; d++) {
        int64_t count = mw_layout_ranges(mesh, layout, rank->index, d, NULL, 0);
        mw_range *range = mw__arena_alloc(arena, (size_t)(count + 1) * sizeof *range);
        if (!range) return MW_NOMEM();
        (void)mw_layout_ranges(mesh, layout, rank->index, d, range, count);
        box->dim[d].range = range;
        box->dim[d].count = count;
    }
    return MW_OK;
}

static mw_status load(mw_rank *rank, const mw_model_file *file, const mw_model_tensor *stored,
                      mw_mesh *mesh, const mw_layout *layout, mw_tensor **ret)
{
    mw_model_box box = {0};
    mw_tensor *t;
    mw__arena_clear(&rank->plan_scratch);
    MW_TRY(mw__tensor_new(rank, &t));
    mw__local_view(rank, mesh, layout, &t->local);
    MW_TRY(mw__ttype_get(mesh, layout, t->local.stride, &t->type));
    MW_TRY(mw__tensor_fill(rank, t, mw_tensor_local_bytes(t)));
    *ret = t;
    if (rank->fake) return MW_OK;
    MW_TRY(box_of(rank, mesh, layout, &rank->plan_scratch, &box));
    return mw_model_file_read(file, stored, &box, (mw_dtype)layout->dtype, t->local.data);
}

mw_tensor *mw_model_file_load(const mw_model_file *file, const char *name, mw_mesh *mesh,
                              const mw_layout *layout)
{
    mw_rank *rank = mw__ctx_get()->rank;
    if (!rank) {
        (void)MW_FAIL(MW_ERR_ARG, "a weight is loaded by a program that mw_launch runs");
        return NULL;
    }
    if (!mesh) mesh = rank->mesh;
    mw_layout canonical = *layout;
    int64_t shape[MW_LAYOUT_DIMS];
    const mw_model_tensor *stored;
    mw_tensor *t = NULL;
    mw_layout_shape(layout, shape);
    mw_status status = mw__layout_check(mesh, layout);
    if (status == MW_OK) status = mw_model_file_require(file, name, layout->ndim, shape, &stored);
    if (status != MW_OK) return NULL; /* every rank sees these alike */
    mw__layout_canonical(mesh, &canonical);
    status = mw__rank_failed(rank, load(rank, file, stored, mesh, &canonical, &t));
    return status == MW_OK ? mw_tensor_name(t, name) : NULL;
}
