/* A sharded tensor as text: what each rank holds of it. Each rank writes its own part; the parts
 * become rows of a tensor of bytes, which is read like any other, on whatever mesh it lies. */
#include "run/run.h"

#include <stdio.h>

static void ranges_str(const mw_rank *rank, const mw_tensor *t, mw_str *to)
{
    enum { MOST = 16 };
    const mw_mesh *mesh = t->type->mesh;
    int own = mw__mesh_own(mesh, rank->index);
    mw__str_putc(to, '[');
    for (int d = 0; d < t->type->layout.ndim; d++) {
        mw_range range[MOST];
        int64_t n = mw_layout_ranges(mesh, &t->type->layout, own, d, range, MOST);
        if (d) mw__str_puts(to, ", ");
        if (n == 0) mw__str_puts(to, "none");
        for (int64_t i = 0; i < n && i < MOST; i++)
            mw__str_printf(to, "%s%lld:%lld", i ? "+" : "", (long long)range[i].first,
                           (long long)range[i].end);
        if (n > MOST) mw__str_puts(to, "+...");
    }
    mw__str_putc(to, ']');
}

static void shard_str(const mw_rank *rank, const mw_tensor *t, mw_str *to)
{
    const mw_mesh *mesh = t->type->mesh;
    const mw_layout *l = &t->type->layout;
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, mw__mesh_own(mesh, rank->index), coord);
    mw__str_printf(to, "rank %d (", rank->index);
    for (int a = 0; a < mesh->naxis; a++)
        mw__str_printf(to, "%s%s %d", a ? ", " : "", mesh->name[a], coord[a]);
    mw__str_puts(to, ") ");
    ranges_str(rank, t, to);
    for (int i = 0; i < l->npartial; i++)
        mw__str_printf(to, "%s %s over %s", i ? "," : ", a term of",
                       mw__reduce_name((mw_reduce)l->partial[i].kind),
                       mesh->name[l->partial[i].axis]);
    mw__str_putc(to, '\n');
    mw__format_view(&t->local, to);
}

/* `u8[ranks@(x,y), size]`: a row of bytes for each rank, by its place. */
static mw_tensor *rows_of(mw_rank *rank, mw_mesh *mesh, const void *mine, int64_t size)
{
    mw_str text = {0};
    mw__str_printf(&text, "u8[%d", mesh->nrank);
    for (int a = 0; a < mesh->naxis; a++)
        mw__str_printf(&text, "%s%s", a ? "," : "@(", mesh->name[a]);
    mw__str_printf(&text, "), %lld]", (long long)size);
    const int64_t shape[2] = {1, size};
    mw_tensor *t = NULL;
    if (mw__rank_failed(rank, mw__str_status(&text)) == MW_OK)
        t = mw_from_local_at(rank->site, MW_DTYPE_u8, shape, 2, mine, mesh, mw__str_text(&text));
    mw__str_done(&text);
    return t;
}

/* The rows of all ranks, in memory of this rank's: *ret of *ret_bytes. */
static mw_status gather_rows(mw_rank *rank, mw_mesh *mesh, const void *mine, int64_t size,
                             char **ret, int64_t *ret_bytes)
{
    mw_tensor *rows = rows_of(rank, mesh, mine, size);
    if (!rows) return mw_last_error()->code;
    int64_t bytes = mesh->nrank * size;
    char *all = mw__alloc((size_t)bytes + 1);
    if (!all) return mw__rank_failed(rank, MW_NOMEM());
    mw_status status = mw_read_at(rank->site, rows, MW_DTYPE_u8, all, bytes);
    if (status != MW_OK) {
        mw__free(all, (size_t)bytes + 1);
        return status;
    }
    *ret = all;
    *ret_bytes = bytes;
    return MW_OK;
}

static mw_status longest_of(mw_rank *rank, mw_mesh *mesh, int64_t mine, int64_t *ret)
{
    char *all;
    int64_t bytes;
    *ret = 0;
    MW_TRY(gather_rows(rank, mesh, &mine, (int64_t)sizeof mine, &all, &bytes));
    for (int i = 0; i < mesh->nrank; i++) {
        int64_t length;
        memcpy(&length, all + i * (int64_t)sizeof length, sizeof length);
        *ret = MW_MAX(*ret, length);
    }
    mw__free(all, (size_t)bytes + 1);
    return MW_OK;
}

/* All ranks' texts after one another; each row is padded with NULs. */
static mw_status join(mw_rank *rank, mw_mesh *mesh, const mw_str *mine, mw_str *to)
{
    int64_t size, bytes;
    char *all;
    MW_TRY(longest_of(rank, mesh, (int64_t)mine->length + 1, &size));
    char *row = mw__zalloc((size_t)size);
    if (!row) return mw__rank_failed(rank, MW_NOMEM());
    memcpy(row, mw__str_text(mine), mine->length);
    mw_status status = gather_rows(rank, mesh, row, size, &all, &bytes);
    mw__free(row, (size_t)size);
    MW_TRY(status);
    for (int i = 0; i < mesh->nrank; i++)
        mw__str_puts(to, all + i * size);
    mw__free(all, (size_t)bytes + 1);
    return mw__rank_failed(rank, mw__str_status(to));
}

mw_status mw_format_shards_at(mw_site site, mw_tensor *t, char *to, int64_t size,
                              int64_t *ret_length)
{
    mw_rank *rank = t ? mw__rank_get() : NULL;
    if (!rank)
        return mw_last_error()->code ? mw_last_error()->code
                                     : MW_FAIL(MW_ERR_ARG, "format_shards of no tensor");
    if (rank->fake)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "format_shards: the fake backend carries no values");
    rank->site = site;
    mw_str mine = {0}, all = {0};
    shard_str(rank, t, &mine);
    mw__layout_str(t->type->mesh, &t->type->layout, &all);
    char mesh[256];
    (void)mw_mesh_print(t->type->mesh, mesh, sizeof mesh);
    mw__str_printf(&all, " on %s\n", mesh);
    mw_scope_begin("format_shards");
    mw_status status = mw__rank_failed(rank, mw__str_status(&mine));
    if (status == MW_OK) status = join(rank, t->type->mesh, &mine, &all);
    (void)mw_scope_end(NULL);
    if (status == MW_OK) {
        *ret_length = (int64_t)all.length;
        if (size > 0) (void)snprintf(to, (size_t)size, "%s", mw__str_text(&all));
    }
    mw__str_done(&mine);
    mw__str_done(&all);
    return status;
}
