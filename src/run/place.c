/* Placing: marks, redistributions, and tensors made from data. */
#include "run/run.h"

#include <meshwise/notation.h>

/* A layout in the words of another system. */
static mw_status read_notation(const mw_mesh *mesh, const char *text, const mw_layout *now,
                               const int64_t *shape, mw_layout *ret)
{
    mw_reading *reading;
    MW_TRY(mw_notation_read(mesh, text, now->ndim, shape, (mw_dtype)now->dtype, &reading));
    const mw_layout *layout = mw_reading_layout(reading);
    mw_status status = MW_OK;
    if (layout)
        *ret = *layout;
    else
        status = MW_FAIL(MW_ERR_LAYOUT, "%.200s: no layout on this mesh has these owners: %s", text,
                         mw_reading_why(reading));
    mw_reading_free(reading);
    return status;
}

mw_status mw__layout_for(mw_mesh *mesh, const mw_tensor *t, const char *text, mw_layout *ret)
{
    const mw_layout *now = &t->type->layout;
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(now, shape);
    if (strcmp(text, "replicated") == 0) {
        *ret = mw_layout_replicated((mw_dtype)now->dtype, now->ndim, shape);
        return MW_OK;
    }
    mw_notation notation;
    bool own = mw_notation_detect(text, &notation) != MW_OK || notation == MW_NOTATION_LAYOUT;
    if (!own) return read_notation(mesh, text, now, shape, ret);
    MW_TRY(mw_layout_parse(mesh, text, ret));
    if (ret->dtype == MW_DTYPE_NONE) ret->dtype = now->dtype;
    bool same = ret->ndim == now->ndim && ret->dtype == now->dtype;
    for (int d = 0; same && d < now->ndim; d++)
        same = mw_layout_size(ret, d) == shape[d];
    if (same) return MW_OK;
    mw_str have = {0};
    mw__layout_str(mesh, now, &have);
    mw_status status = MW_FAIL(MW_ERR_SHAPE,
                               "layout %s does not fit a tensor of type %s: dtype, number of "
                               "dims and sizes must be the same",
                               text, mw__str_text(&have));
    mw__str_done(&have);
    return status;
}

/* A layout on another mesh over the same ranks is said on the tensor's own. */
static mw_status on_its_mesh(const mw_tensor *t, const mw_mesh *mesh, mw_layout *layout)
{
    if (mesh == t->type->mesh || mw_mesh_same(t->type->mesh, mesh)) return MW_OK;
    if (mw__mesh_same_ranks(mesh, t->type->mesh))
        return mw__layout_to_mesh(mesh, layout, t->type->mesh, layout);
    char a[128], b[128];
    (void)mw_mesh_print(t->type->mesh, a, sizeof a);
    (void)mw_mesh_print(mesh, b, sizeof b);
    return MW_FAIL(MW_ERR_LAYOUT,
                   "the tensor lies on mesh %s, the layout is for mesh %s, which has other ranks",
                   a, b);
}

void mw__home_layout(const mw_rank *rank, mw_mesh **mesh, mw_layout *layout)
{
    mw_layout there;
    if (*mesh == rank->mesh || rank->recorder || mw_mesh_same(*mesh, rank->mesh)) return;
    if (!mw__mesh_same_ranks(*mesh, rank->mesh)) return;
    mw_error before = mw__ctx_get()->error;
    if (mw__layout_to_mesh(*mesh, layout, rank->mesh, &there) == MW_OK) {
        *layout = there;
        *mesh = rank->mesh;
    } else {
        mw__ctx_get()->error = before; /* it stays where it can be said */
    }
}

/* The mesh that NULL means: the launch's, but that of a tensor which lies on a slice. */
static mw_mesh *mesh_for(const mw_rank *rank, const mw_tensor *t, mw_mesh *mesh)
{
    if (mesh) return mesh;
    return t->type->mesh->world ? t->type->mesh : rank->mesh;
}

/* What placing `t` as `text` comes to; texts are remembered. */
static mw_status redist_for(mw_rank *rank, mw_tensor *t, mw_mesh *mesh, const char *text,
                            mw_redist **ret)
{
    size_t length = strlen(text);
    uint64_t hash = mw__hash((uint64_t)(uintptr_t)t->type, text, length);
    mw_known_mark *mark = &rank->marks[hash % MW_RANK_MARKS];
    if (mark->from == t->type && strcmp(mark->text, text) == 0 &&
        (mesh == t->type->mesh || mw_mesh_same(mesh, t->type->mesh))) {
        *ret = mark->redist;
        return MW_OK;
    }
    mw_layout layout;
    MW_TRY(mw__layout_for(mesh, t, text, &layout));
    MW_TRY(on_its_mesh(t, mesh, &layout));
    for (int d = 0; d < layout.ndim; d++)
        layout.dim[d].open = 0;
    MW_TRY(mw__redist_get(rank, t->type, &layout, ret));
    if (length < sizeof mark->text) {
        mark->from = t->type;
        mark->redist = *ret;
        memcpy(mark->text, text, length + 1);
    }
    return MW_OK;
}

static void say_where(const mw_rank *rank, const char *op, const mw_tensor *t)
{
    char chain[256];
    mw_str text = {0};
    mw__layout_str(t->type->mesh, &t->type->layout, &text);
    mw__error_where("%s(%s) at %s:%d%s%s", op, mw__str_text(&text), mw__short_file(rank->site.file),
                    rank->site.line, rank->nchain ? " in " : "",
                    mw__chain_text(rank, chain, sizeof chain));
    mw__str_done(&text);
}

/* Before anything has moved: what every rank sees alike is an error; a lack of memory, which this
 * rank alone may have, is told to the others, or they would wait for it in the next collective. */
static void refuse(mw_rank *rank, const char *op, const mw_tensor *t, mw_status status)
{
    say_where(rank, op, t);
    if (status == MW_ERR_NOMEM) (void)mw__rank_failed(rank, status);
}

/* The tensor as `redist` leaves it: a temporary handle. */
static mw_status place(mw_rank *rank, const mw_reason *reason, mw_tensor *t, mw_redist *redist,
                       mw_tensor **ret)
{
    mw_status status = mw__redist_run(rank, redist, t, reason, ret);
    if (status == MW_OK) return MW_OK;
    say_where(rank, reason->op, t);
    return mw__rank_failed(rank, status);
}

void mw__tensor_rebind(mw_rank *rank, mw_tensor *t, mw_tensor *from)
{
    mw_storage *old = t->storage;
    t->type = from->type;
    t->local = from->local;
    t->storage = from->storage;
    if (t->storage) mw__storage_ref(t->storage);
    mw__storage_unref(old);
    mw__tensor_drop(rank, from);
}

/* A temporary handle on a copy of the tensor, of the type that it is placed as. */
static mw_status copy_of(mw_rank *rank, const mw_tensor *t, const mw_ttype *type, mw_tensor **ret)
{
    mw_tensor *copy;
    MW_TRY(mw__tensor_make(rank, &copy));
    copy->type = type;
    copy->local = t->local;
    mw__view_set(&copy->local, t->local.dtype, t->local.ndim, t->local.shape);
    copy->local.data = NULL;
    mw_status status = mw__tensor_fill(
        rank, copy, mw__view_count(&copy->local) * mw_dtype_size(copy->local.dtype));
    if (status != MW_OK) {
        mw__tensor_drop(rank, copy);
        return mw__rank_failed(rank, status);
    }
    mw__view_copy(&copy->local, &t->local);
    *ret = copy;
    return MW_OK;
}

/* From now on the handle's memory is its own, whether or not anything moves: what it was a view of,
 * or what views it, would be another's on a mesh where something does. */
static mw_status re_place(mw_rank *rank, const mw_reason *reason, mw_tensor *t, mw_redist *redist)
{
    mw_tensor *placed;
    t->apart = false;
    if (redist->plan.nstep > 0)
        MW_TRY(place(rank, reason, t, redist, &placed));
    else if (mw__storage_shared(t->storage))
        MW_TRY(copy_of(rank, t, redist->to, &placed));
    else
        return MW_OK;
    mw__tensor_rebind(rank, t, placed);
    return MW_OK;
}

static mw_reason asked_by(const char *op, const mw_tensor *t)
{
    return (mw_reason){op, "", t->name, true};
}

/* While the program is taken down. */
static mw_tensor *record(mw_rank *rank, const char *op, mw_tensor *t, mw_mesh *mesh,
                         const mw_layout *layout)
{
    mw_layout want = *layout;
    mw_tensor *placed;
    mw_status status = mw__layout_check(mesh, &want);
    if (status == MW_OK) {
        mw__layout_canonical(mesh, &want);
        bool mark = strcmp(op, "mark_sharding") == 0;
        status = rank->recorder->place(rank->recorder, t, mesh, &want, mark, &placed);
    }
    if (status == MW_OK) return placed;
    refuse(rank, op, t, status);
    return NULL;
}

static mw_tensor *record_text(mw_rank *rank, const char *op, mw_tensor *t, mw_mesh *mesh,
                              const char *text)
{
    mw_layout layout;
    mesh = mesh_for(rank, t, mesh);
    mw_status status = mw__layout_for(mesh, t, text, &layout);
    if (status == MW_OK) return record(rank, op, t, mesh, &layout);
    refuse(rank, op, t, status);
    return NULL;
}

mw_status mw__tensor_replace(mw_rank *rank, mw_tensor *t, mw_mesh *mesh, const mw_layout *to,
                             const mw_reason *reason)
{
    mw_redist *redist;
    mw_layout there = *to;
    mw_status status = on_its_mesh(t, mesh, &there);
    if (status == MW_OK) status = mw__redist_get(rank, t->type, &there, &redist);
    if (status == MW_OK) return re_place(rank, reason, t, redist);
    refuse(rank, reason->op, t, status);
    return status;
}

mw_tensor *mw_mark_sharding_at(mw_site site, mw_tensor *t, mw_mesh *mesh, const char *layout)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return NULL;
    rank->site = site;
    if (rank->recorder) return record_text(rank, "mark_sharding", t, mesh, layout);
    mw_redist *redist;
    mw_status status = redist_for(rank, t, mesh_for(rank, t, mesh), layout, &redist);
    if (status != MW_OK) {
        refuse(rank, "mark_sharding", t, status);
        return NULL;
    }
    const mw_reason reason = asked_by("mark_sharding", t);
    return re_place(rank, &reason, t, redist) == MW_OK ? t : NULL;
}

mw_tensor *mw_mark_layout_at(mw_site site, mw_tensor *t, mw_mesh *mesh, const mw_layout *layout)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return NULL;
    rank->site = site;
    mw_layout want = *layout;
    mesh = mesh_for(rank, t, mesh);
    if (want.dtype == MW_DTYPE_NONE) want.dtype = t->type->layout.dtype;
    if (rank->recorder) return record(rank, "mark_sharding", t, mesh, &want);
    for (int d = 0; d < want.ndim; d++)
        want.dim[d].open = 0; /* nothing propagates any more: it lies as it lies */
    mw_status status = mw__layout_check(mesh, &want);
    if (status != MW_OK) {
        refuse(rank, "mark_sharding", t, status);
        return NULL;
    }
    mw__layout_canonical(mesh, &want);
    const mw_reason reason = asked_by("mark_sharding", t);
    return mw__tensor_replace(rank, t, mesh, &want, &reason) == MW_OK ? t : NULL;
}

/* The same values in memory of their own: a new tensor never shares with the old one, whether or
 * not anything had to move, or what is written into one would show in the other on some meshes. */
static mw_status with_own_memory(mw_rank *rank, const mw_tensor *t, mw_tensor **placed)
{
    if (!t->storage || (*placed)->storage != t->storage) return MW_OK;
    mw_tensor *copy;
    MW_TRY(mw__tensor_make(rank, &copy));
    copy->type = (*placed)->type;
    copy->local = (*placed)->local;
    mw_status status = mw__tensor_fill(rank, copy, mw_tensor_local_bytes(copy));
    if (status != MW_OK) {
        mw__tensor_drop(rank, copy);
        return status;
    }
    mw__view_copy(&copy->local, &(*placed)->local);
    mw__tensor_drop(rank, *placed);
    *placed = copy;
    return MW_OK;
}

mw_tensor *mw_redistribute_at(mw_site site, mw_tensor *t, mw_mesh *mesh, const char *layout)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) return NULL;
    rank->site = site;
    if (rank->recorder) return record_text(rank, "redistribute", t, mesh, layout);
    mw_redist *redist;
    mw_status status = redist_for(rank, t, mesh_for(rank, t, mesh), layout, &redist);
    if (status != MW_OK) {
        refuse(rank, "redistribute", t, status);
        return NULL;
    }
    mw_tensor *placed, *out;
    const mw_reason reason = asked_by("redistribute", t);
    if (place(rank, &reason, t, redist, &placed) != MW_OK) return NULL;
    if (with_own_memory(rank, t, &placed) != MW_OK || mw__tensor_new(rank, &out) != MW_OK) {
        mw__tensor_drop(rank, placed);
        (void)mw__rank_failed(rank, MW_ERR_NOMEM);
        return NULL;
    }
    mw__tensor_rebind(rank, out, placed);
    return out;
}

mw_tensor *mw_from_data_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                           const void *data, mw_mesh *mesh, const char *layout)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return NULL;
    rank->site = site;
    if (!mesh) mesh = rank->mesh;
    if (ndim < 0 || ndim > MW_LAYOUT_DIMS || mw_dtype_size(dtype) == 0) {
        (void)MW_FAIL(MW_ERR_ARG, "from_data: %d dims of dtype %s", ndim, mw_dtype_name(dtype));
        return NULL;
    }
    mw_layout whole = mw_layout_replicated(dtype, ndim, shape), want = whole;
    mw_ttype pretend = {.mesh = mesh, .layout = whole};
    mw_tensor like = {.type = &pretend};
    mw_status status = mw__layout_check(mesh, &whole);
    if (status == MW_OK) status = mw__layout_for(mesh, &like, layout, &want);
    if (status == MW_ERR_NOMEM) (void)mw__rank_failed(rank, status);
    if (status != MW_OK) return NULL;
    if (want.npartial) {
        (void)MW_FAIL(MW_ERR_LAYOUT, "from_data: %s is partial; data is whole", layout);
        return NULL;
    }
    mw__home_layout(rank, &mesh, &want);
    mw_tensor *t;
    if (rank->recorder)
        return rank->recorder->begin(rank->recorder, mesh, &want, data, &t) == MW_OK ? t : NULL;
    t = mw_empty_layout(mesh, &want);
    if (!t || rank->fake) return t;
    mw_pulls pulls;
    mw__arena_clear(&rank->plan_scratch);
    status = mw__pulls_make(mesh, &whole, &want, NULL, 0, mw__mesh_own(mesh, rank->index),
                            &rank->plan_scratch, &pulls);
    for (int i = 0; status == MW_OK && i < pulls.npull; i++)
        mw__pull_run(&pulls.pull[i], dtype, data, t->local.data);
    return mw__rank_failed(rank, status) == MW_OK ? t : NULL;
}
