/* Sampling from logits that may be sharded over the vocabulary. Every rank finds its own best
 * candidates; rows of (value, index) pairs go round in one exchange, and every rank combines all
 * rows alike. The noise of an element depends on seed, step and its global index, so the mesh
 * doesn't change the draw: sampling in proportion to exp(logit / T) is the largest of logit / T
 * plus Gumbel noise. */
#include "run/run.h"

#include <math.h>

typedef struct pair {
    double value, index; /* index -1: none */
} pair;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double gumbel(const mw_sampler *s, int64_t index)
{
    uint64_t bits =
        mix(mix(s->seed + 0x9e3779b97f4a7c15u) + mix(s->step * 0xd1342543de82ef95u + 1) +
            (uint64_t)index * 0x9e3779b97f4a7c15u);
    double u = ((double)(bits >> 11) + 0.5) * 0x1p-53; /* in (0, 1) */
    return -log(-log(u));
}

/* NaN counts as the largest, as in argmax; of equal values the smaller index wins. */
static bool before(pair a, pair b)
{
    if (b.index < 0) return a.index >= 0;
    if (a.index < 0) return false;
    bool an = isnan(a.value), bn = isnan(b.value);
    if (an != bn) return an;
    if (!an && a.value > b.value) return true;
    if (!an && a.value < b.value) return false;
    return a.index < b.index;
}

/* Puts p into the list of the best n, largest first; once, even if several ranks hold it. */
static void insert(pair *best, int n, pair p)
{
    if (n == 0 || !before(p, best[n - 1])) return;
    int at = n - 1;
    while (at > 0 && before(p, best[at - 1]))
        at--;
    if (at > 0 && best[at - 1].index == p.index) return; /* equals are neighbours */
    memmove(best + at + 1, best + at, (size_t)(n - 1 - at) * sizeof *best);
    best[at] = p;
}

/* Candidates of this rank: row[0] the best draw among all (unless only the top are drawn from),
 * then the best `ntop` by logit. */
static mw_status local_row(mw_rank *rank, const mw_tensor *dense, const mw_sampler *s, int ntop,
                           pair *row)
{
    for (int i = 0; i <= ntop; i++)
        row[i] = (pair){0, -1};
    const mw_layout *l = &dense->type->layout;
    int d = l->ndim - 1;
    int coord[MW_MESH_AXES];
    mw__mesh_coords(dense->type->mesh, mw__mesh_own(dense->type->mesh, rank->index), coord);
    mw_kernel_call k = {.mesh = dense->type->mesh, .coord = coord, .scratch = &rank->scratch};
    const mw_range *ranges;
    int64_t nrange, at = 0, size = mw_dtype_size(dense->local.dtype);
    MW_TRY(mw__kernel_ranges(&k, l, d, mw_layout_size(l, d), &ranges, &nrange));
    const char *data = dense->local.data;
    bool draw = s->temperature > 0 && s->top_k == 0;
    for (int64_t r = 0; r < nrange; r++)
        for (int64_t i = ranges[r].first; i < ranges[r].end; i++, at++) {
            pair p = {mw__element_get(data + at * size, dense->local.dtype), (double)i};
            if (ntop && before(p, row[ntop])) insert(row + 1, ntop, p);
            if (draw) p.value = p.value / s->temperature + gumbel(s, i);
            if (before(p, row[0])) row[0] = p;
        }
    mw__arena_clear(&rank->scratch);
    return MW_OK;
}

/* One row per rank of the axes that cut the logits: a tensor of its own, gathered like any other.
 */
static mw_status exchange_rows(mw_rank *rank, const mw_tensor *logits, int64_t width,
                               mw_tensor **rows)
{
    const mw_layout *l = &logits->type->layout;
    const mw_mesh *mesh = logits->type->mesh;
    uint32_t axes = mw__dim_axes(&l->dim[l->ndim - 1]);
    int64_t shape[2] = {mw__team_count(mesh, axes), width};
    mw_layout whole = mw_layout_replicated(MW_DTYPE_f64, 2, shape), cut = whole;
    mw_dim *dim = &cut.dim[0];
    for (int a = 0; a < mesh->naxis; a++)
        if (axes >> a & 1) dim->cut[dim->ncut++] = (mw_cut){(int8_t)a, 0, 1, mesh->size[a]};
    dim->cuts[0] = dim->ncut;
    mw__layout_canonical(mesh, &cut);
    mw_tensor *t = *rows;
    MW_TRY(mw__ttype_get(logits->type->mesh, &cut, t->local.stride, &t->type));
    mw_redist *redist;
    mw_reason reason = {"sample", "", logits->name, true};
    MW_TRY(mw__redist_get(rank, t->type, &whole, &redist));
    MW_TRY(mw__redist_run(rank, redist, t, &reason, rows));
    mw__tensor_drop(rank, t);
    return MW_OK;
}

static mw_status new_rows(mw_rank *rank, int64_t width, mw_tensor **ret)
{
    mw_tensor *t;
    MW_TRY(mw__tensor_make(rank, &t));
    mw__view_set(&t->local, MW_DTYPE_f64, 2, (const int64_t[]){1, width});
    mw_status status = mw__tensor_fill(rank, t, width * 8);
    if (status != MW_OK) {
        mw__tensor_drop(rank, t);
        return status;
    }
    *ret = t;
    return MW_OK;
}

static void combine(const pair *rows, int64_t nrows, int ntop, pair *all)
{
    for (int i = 0; i <= ntop; i++)
        all[i] = (pair){0, -1};
    for (int64_t r = 0; r < nrows; r++) {
        const pair *row = rows + r * (ntop + 1);
        if (before(row[0], all[0])) all[0] = row[0];
        for (int i = 1; i <= ntop; i++)
            insert(all + 1, ntop, row[i]);
    }
}

static mw_status check(const mw_tensor *logits, const mw_sampler *s, int top)
{
    const mw_layout *l = &logits->type->layout;
    int64_t count = mw__layout_count(l);
    if (l->ndim < 1 || count < 1 || count != mw_layout_size(l, l->ndim - 1))
        return MW_FAIL(MW_ERR_SHAPE,
                       "sample: wanted logits [V] or [1, V], got %d dims and %lld elements",
                       l->ndim, (long long)count);
    if (!(s->temperature >= 0) || !isfinite(s->temperature) || s->top_k < 0 || top < 0)
        return MW_FAIL(MW_ERR_ARG, "sample: temperature %g, top_k %d, top %d: none may be negative",
                       s->temperature, s->top_k, top);
    return MW_OK;
}

/* Logits that are partial, or split along a dim of size 1, are first made right. */
static mw_status usable(mw_rank *rank, mw_tensor *logits, mw_tensor **ret)
{
    mw_layout want = logits->type->layout;
    want.npartial = 0;
    memset(want.partial, 0, sizeof want.partial);
    for (int d = 0; d + 1 < want.ndim; d++)
        want.dim[d] = mw__dim_plain(1);
    if (mw_layout_equal(&want, &logits->type->layout)) return mw__tensor_dense(rank, logits, ret);
    mw_redist *redist;
    mw_reason reason = {"sample", "", logits->name, true};
    MW_TRY(mw__redist_get(rank, logits->type, &want, &redist));
    return mw__redist_run(rank, redist, logits, &reason, ret);
}

static mw_status sample(mw_rank *rank, mw_tensor *logits, const mw_sampler *s, int ntop, pair *all)
{
    int64_t width = 2 * (ntop + 1);
    mw_tensor *rows, *dense;
    MW_TRY(usable(rank, logits, &dense));
    mw_status status = new_rows(rank, width, &rows);
    if (status == MW_OK) {
        if (!rank->fake) status = local_row(rank, dense, s, ntop, rows->local.data);
        if (status == MW_OK) status = exchange_rows(rank, dense, width, &rows);
        if (status == MW_OK && !rank->fake)
            combine(rows->local.data, rows->local.shape[0], ntop, all);
        mw__tensor_drop(rank, rows);
    }
    mw__tensor_drop(rank, dense);
    return status;
}

mw_status mw_sample_at(mw_site site, mw_tensor *logits, const mw_sampler *s, int top,
                       int64_t *ret_index, int64_t *ret_top_index, double *ret_top_value)
{
    mw_rank *rank = logits ? mw__rank_get() : NULL;
    if (!rank)
        return mw_last_error()->code != MW_OK ? mw_last_error()->code
                                              : MW_FAIL(MW_ERR_ARG, "sample: logits are NULL");
    rank->site = site;
    MW_TRY(check(logits, s, top));
    int64_t vocab = mw__layout_count(&logits->type->layout);
    int drawn = s->temperature > 0 ? (int)MW_MIN(s->top_k, vocab) : 0;
    int ntop = (int)MW_MIN(MW_MAX(drawn, top), vocab);
    pair *all = mw__zalloc((size_t)(ntop + 1) * sizeof *all);
    if (!all) return mw__rank_failed(rank, MW_NOMEM());
    mw_status status = mw__rank_failed(rank, sample(rank, logits, s, ntop, all));
    if (status == MW_OK) {
        pair best = {0, -1};
        for (int i = 1; i <= drawn; i++) {
            pair p = {all[i].value / s->temperature + gumbel(s, (int64_t)all[i].index),
                      all[i].index};
            if (before(p, best)) best = p;
        }
        *ret_index = (int64_t)(drawn ? best.index : all[0].index);
        if (rank->fake) *ret_index = 0;
        for (int i = 0; i < top && ret_top_index; i++) {
            bool there = i < ntop;
            ret_top_index[i] = there ? (int64_t)all[i + 1].index : -1;
            ret_top_value[i] = there ? all[i + 1].value : 0;
        }
    }
    mw__free(all, (size_t)(ntop + 1) * sizeof *all);
    return status;
}
