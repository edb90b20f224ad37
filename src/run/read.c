/* Reading values: the local shard, the whole, one element, text. What is read is asked for. */
#include "run/run.h"

#include <stdio.h>

static mw_status with_values(mw_rank **ret, mw_tensor *t, const char *what, mw_site site)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank) {
        if (mw_last_error()->code != MW_OK) return mw_last_error()->code;
        return MW_FAIL(MW_ERR_ARG, "%s of no tensor", what);
    }
    rank->site = site;
    if (rank->recorder) return rank->recorder->refuse(rank->recorder, what, t);
    if (rank->fake)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s: the fake backend carries no values", what);
    *ret = rank;
    return MW_OK;
}

/* A dense, whole copy on this rank: a temporary handle. */
static mw_status gather(mw_rank *rank, const char *what, mw_tensor *t, mw_tensor **ret)
{
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&t->type->layout, shape);
    mw_layout whole =
        mw_layout_replicated((mw_dtype)t->type->layout.dtype, t->type->layout.ndim, shape);
    mw_redist *redist;
    mw_reason reason = {what, "", t->name, true};
    MW_TRY(mw__redist_get(rank, t->type, &whole, &redist));
    return mw__rank_failed(rank, mw__redist_run(rank, redist, t, &reason, ret));
}

mw_status mw_local_data(mw_tensor *t, void **ret_data, int64_t *ret_count)
{
    mw_rank *rank;
    MW_TRY(with_values(&rank, t, "local_data", (mw_site){0}));
    mw_tensor *dense;
    MW_TRY(mw__rank_failed(rank, mw__tensor_dense(rank, t, &dense)));
    if (dense !=
        t) { /* the handle keeps the dense copy, so that what is lent lives as long as it */
        mw_storage *old = t->storage;
        t->type = dense->type;
        t->local = dense->local;
        t->storage = dense->storage;
        mw__storage_ref(t->storage);
        mw__storage_unref(old);
    }
    mw__tensor_drop(rank, dense);
    *ret_data = t->local.data;
    *ret_count = mw__view_count(&t->local);
    return MW_OK;
}

mw_status mw_read_at(mw_site site, mw_tensor *t, mw_dtype dtype, void *to, int64_t size)
{
    mw_rank *rank;
    MW_TRY(with_values(&rank, t, "read", site));
    int64_t need = mw__layout_count(&t->type->layout) * mw_dtype_size(dtype);
    if (size != need)
        return MW_FAIL(MW_ERR_ARG, "read: the tensor has %lld bytes as %s, the buffer %lld",
                       (long long)need, mw_dtype_name(dtype), (long long)size);
    mw_tensor *whole;
    MW_TRY(gather(rank, "read", t, &whole));
    mw_view view = whole->local;
    view.data = to;
    mw__view_set(&view, dtype, whole->local.ndim, whole->local.shape);
    mw__view_copy(&view, &whole->local);
    mw__tensor_drop(rank, whole);
    return MW_OK;
}

mw_status mw_item_at(mw_site site, mw_tensor *t, double *ret)
{
    mw_rank *rank;
    MW_TRY(with_values(&rank, t, "item", site));
    if (mw__layout_count(&t->type->layout) != 1)
        return MW_FAIL(MW_ERR_SHAPE, "item of a tensor of %lld elements: only one has an item",
                       (long long)mw__layout_count(&t->type->layout));
    mw_tensor *whole;
    MW_TRY(gather(rank, "item", t, &whole));
    *ret = mw__element_get(whole->local.data, whole->local.dtype);
    mw__tensor_drop(rank, whole);
    return MW_OK;
}

static void format_dim(const mw_view *v, int d, const char *at, int indent, mw_str *to)
{
    if (d == v->ndim) {
        if (v->dtype == MW_DTYPE_bool)
            mw__str_puts(to, mw__element_get_i64(at, v->dtype) ? "true" : "false");
        else if (mw_dtype_kind_of(v->dtype) == MW_KIND_INT)
            mw__str_printf(to, "%lld", (long long)mw__element_get_i64(at, v->dtype));
        else
            mw__str_printf(to, "%.6g", mw__element_get(at, v->dtype));
        return;
    }
    int64_t step = v->stride[d] * mw_dtype_size(v->dtype), n = v->shape[d];
    mw__str_putc(to, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i && d + 1 < v->ndim)
            mw__str_printf(to, ",\n%*s", indent + d + 1, "");
        else if (i)
            mw__str_puts(to, ", ");
        format_dim(v, d + 1, at + i * step, indent, to);
    }
    mw__str_putc(to, ']');
}

void mw__format_view(const mw_view *view, mw_str *to)
{
    format_dim(view, 0, view->data, 0, to);
    mw__str_putc(to, '\n');
}

mw_status mw_format_at(mw_site site, mw_tensor *t, char *to, int64_t size, int64_t *ret_length)
{
    mw_rank *rank;
    MW_TRY(with_values(&rank, t, "format", site));
    mw_tensor *whole;
    MW_TRY(gather(rank, "format", t, &whole));
    mw_str text = {0};
    mw__layout_str(t->type->mesh, &t->type->layout, &text);
    mw__str_putc(&text, '\n');
    mw__format_view(&whole->local, &text);
    mw__tensor_drop(rank, whole);
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) {
        *ret_length = (int64_t)text.length;
        if (size > 0) (void)snprintf(to, (size_t)size, "%s", mw__str_text(&text));
    }
    mw__str_done(&text);
    return mw__rank_failed(rank, status);
}
