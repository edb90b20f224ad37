/* Between sharded tensors and a rank's own memory: shards given and taken, and regions in which a
 * program works on them by itself. */
#include "run/run.h"

static void local_of(const mw_view *view, mw_local *ret)
{
    *ret = (mw_local){.data = view->data, .dtype = view->dtype, .ndim = view->ndim};
    memcpy(ret->shape, view->shape, sizeof ret->shape);
    memcpy(ret->stride, view->stride, sizeof ret->stride);
}

mw_status mw_to_local(mw_tensor *t, mw_local *ret)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank)
        return mw_last_error()->code ? mw_last_error()->code
                                     : MW_FAIL(MW_ERR_ARG, "to_local of no tensor");
    local_of(&t->local, ret);
    return MW_OK;
}

/* What all makers of tensors check: sizes and dtype of a layout that stands for itself. */
static mw_status read_layout(mw_mesh *mesh, const char *what, mw_dtype dtype, const char *text,
                             mw_layout *ret)
{
    MW_TRY(mw_layout_parse(mesh, text, ret));
    if (ret->dtype == MW_DTYPE_NONE) ret->dtype = (uint8_t)dtype;
    if (ret->dtype == MW_DTYPE_NONE || (dtype != MW_DTYPE_NONE && ret->dtype != dtype))
        return MW_FAIL(MW_ERR_ARG, "%s: layout %s is not one of dtype %s", what, text,
                       mw_dtype_name(dtype));
    for (int d = 0; d < ret->ndim; d++)
        ret->dim[d].open = 0;
    return MW_OK;
}

static void shape_str(int ndim, const int64_t *shape, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int d = 0; d < ndim; d++)
        mw__str_printf(to, "%s%lld", d ? ", " : "", (long long)shape[d]);
    mw__str_putc(to, ']');
}

static mw_status check_shard(const mw_rank *rank, const mw_tensor *t, const int64_t *shape,
                             int ndim, const char *layout)
{
    const mw_view *v = &t->local;
    if (v->ndim == ndim && memcmp(v->shape, shape, (size_t)ndim * sizeof *shape) == 0) return MW_OK;
    mw_str want = {0}, have = {0};
    shape_str(v->ndim, v->shape, &want);
    shape_str(ndim, shape, &have);
    mw_status status =
        MW_FAIL(MW_ERR_SHAPE, "from_local: rank %d's shard of %s has shape %s, the data has %s",
                rank->index, layout, mw__str_text(&want), mw__str_text(&have));
    mw__str_done(&want);
    mw__str_done(&have);
    return status;
}

static mw_status copy_in(mw_tensor *t, mw_dtype dtype, const void *data)
{
    union {
        const void *from;
        void *to;
    } at = {.from = data}; /* a view is not told that it is only read */
    mw_view from = {.data = at.to};
    mw__view_set(&from, dtype, t->local.ndim, t->local.shape);
    if (mw__view_count(&from) == 0) return MW_OK;
    if (!data) return MW_FAIL(MW_ERR_ARG, "the data of a tensor is NULL");
    mw__view_copy(&t->local, &from);
    return MW_OK;
}

mw_tensor *mw_from_local_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                            const void *data, mw_mesh *mesh, const char *layout)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return NULL;
    rank->site = site;
    if (rank->recorder) {
        (void)rank->recorder->refuse(rank->recorder, "from_local", NULL);
        return NULL;
    }
    mw_layout want;
    if (!mesh) mesh = rank->mesh;
    mw_status status = read_layout(mesh, "from_local", dtype, layout, &want);
    if (status != MW_OK) return NULL;
    mw_tensor *t = mw_empty_layout(mesh, &want);
    if (!t) return NULL;
    status = check_shard(rank, t, shape, ndim, layout);
    if (status == MW_OK && !rank->fake) status = copy_in(t, dtype, data);
    return mw__rank_failed(rank, status) == MW_OK ? t : NULL;
}

/* Every rank has a term: the first rank the values, the others what changes nothing. */
static mw_status add_terms(const mw_mesh *mesh, mw_layout *layout)
{
    unsigned kind = layout->dtype == MW_DTYPE_bool ? MW_REDUCE_MAX : MW_REDUCE_SUM;
    for (int a = 0; a < mesh->naxis; a++) {
        if (mesh->size[a] < 2) continue;
        if (layout->npartial == MW_LAYOUT_PARTIALS) return MW_FAIL(MW_ERR_INTERNAL, "many axes");
        layout->partial[layout->npartial++] = (mw_partial){
            .kind = (uint16_t)kind, .axis = (int16_t)a, .major = 1, .size = mesh->size[a]};
    }
    return MW_OK;
}

static void fill_nothing(mw_tensor *t)
{
    int64_t n = mw__view_count(&t->local), size = mw_dtype_size(t->local.dtype);
    for (int64_t i = 0; i < n && mw_dtype_kind_of(t->local.dtype) == MW_KIND_FLOAT; i++)
        mw__element_set((char *)t->local.data + i * size, t->local.dtype, -0.0);
}

mw_tensor *mw_distribute_at(mw_site site, mw_dtype dtype, const int64_t *shape, int ndim,
                            const void *data, mw_mesh *mesh, const char *layout)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return NULL;
    rank->site = site;
    if (!mesh) mesh = rank->mesh;
    if (ndim < 0 || ndim > MW_LAYOUT_DIMS || mw_dtype_size(dtype) == 0) {
        (void)MW_FAIL(MW_ERR_ARG, "distribute: %d dims of dtype %s", ndim, mw_dtype_name(dtype));
        return NULL;
    }
    if (rank->recorder) {
        (void)rank->recorder->refuse(rank->recorder, "distribute", NULL);
        return NULL;
    }
    mw_layout terms = mw_layout_replicated(dtype, ndim, shape), want;
    mw_ttype pretend = {.mesh = mesh, .layout = terms};
    mw_tensor like = {.type = &pretend};
    mw_status status = mw__layout_check(mesh, &terms);
    if (status == MW_OK) status = mw__layout_for(mesh, &like, layout, &want); /* before it moves */
    if (status == MW_OK) status = add_terms(mesh, &terms);
    mw_tensor *t = status == MW_OK ? mw_empty_layout(mesh, &terms) : NULL;
    if (!t) return NULL;
    if (!rank->fake) {
        fill_nothing(t);
        int coord[MW_MESH_AXES] = {0};
        bool first = mw__mesh_own(mesh, rank->index) == mw_mesh_rank_at(mesh, coord);
        if (first) status = copy_in(t, dtype, data);
        if (mw__rank_failed(rank, status) != MW_OK) return NULL;
    }
    return mw_redistribute_at(site, t, mesh, layout);
}

mw_tensor *mw_full_tensor_at(mw_site site, mw_tensor *t)
{
    return t ? mw_redistribute_at(site, t, t->type->mesh, "replicated") : NULL;
}

/* ---- regions -------------------------------------------------------------------------------- */

typedef struct region {
    mw_local *in, *out;
    mw_status (*run)(void *user, const mw_local *in, const mw_local *out);
    void *user;
} region;

static mw_status make_results(mw_mesh *mesh, const char *const *layouts, int n, mw_local *local,
                              mw_tensor **ret)
{
    for (int i = 0; i < n; i++) {
        mw_layout layout;
        MW_TRY(read_layout(mesh, "local_map", MW_DTYPE_NONE, layouts[i], &layout));
        ret[i] = mw_empty_layout(mesh, &layout);
        if (!ret[i]) return mw_last_error()->code;
        local_of(&ret[i]->local, &local[i]);
    }
    return MW_OK;
}

static mw_status bring(mw_site site, mw_mesh *mesh, mw_tensor *t, const char *layout, int nth,
                       mw_local *ret)
{
    if (!t)
        return mw_last_error()->code ? mw_last_error()->code
                                     : MW_FAIL(MW_ERR_ARG, "local_map: operand %d is NULL", nth);
    if (layout) t = mw_redistribute_at(site, t, mesh, layout);
    if (!t) return mw_last_error()->code;
    local_of(&t->local, ret);
    return MW_OK;
}

static mw_status run_region(mw_rank *rank, const region *g)
{
    if (rank->fake) return MW_OK;
    mw_status status = g->run(g->user, g->in, g->out);
    if (status != MW_OK && mw_last_error()->code == MW_OK)
        status = MW_FAIL(status, "local_map: the region failed: %s", mw_status_text(status));
    return mw__rank_failed(rank, status);
}

mw_status mw_local_map_at(mw_site site, mw_tensor *const *operands, const char *const *in_layouts,
                          int noperands, const char *const *out_layouts, int nresults,
                          mw_status (*run)(void *user, const mw_local *in, const mw_local *out),
                          void *user, mw_tensor **ret)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    if (noperands < 0 || nresults < 0 || !run)
        return MW_FAIL(MW_ERR_ARG, "local_map needs a region, and no negative counts");
    rank->site = site;
    if (rank->recorder) return rank->recorder->refuse(rank->recorder, "local_map", NULL);
    mw_mesh *mesh = noperands && operands[0] ? operands[0]->type->mesh : rank->mesh;
    size_t size = (size_t)(noperands + nresults + 1) * sizeof(mw_local);
    mw_local *local = mw__alloc(size);
    if (!local) return mw__rank_failed(rank, MW_NOMEM());
    mw_status status = MW_OK;
    for (int i = 0; i < noperands && status == MW_OK; i++)
        status = bring(site, mesh, operands[i], in_layouts ? in_layouts[i] : NULL, i, &local[i]);
    if (status == MW_OK) status = make_results(mesh, out_layouts, nresults, local + noperands, ret);
    if (status == MW_OK) status = run_region(rank, &(region){local, local + noperands, run, user});
    mw__free(local, size);
    return status;
}
