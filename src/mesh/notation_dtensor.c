/* DTensor: a placement for each axis of the mesh, in mesh order.
 *
 *     S(0)RP(sum)    (S(0), R, P)    [Shard(dim=0), Replicate(), Partial(sum)]    _S(0, 2)S(0)
 *     S(0)[1]S(0)[0]    the second axis cuts dim 0 first, then the first one
 *
 * S(d) cuts what a rank holds of dim d into chunks; _S(d, k) cuts it into k chunks, each of these
 * into chunks, and a rank keeps its chunk of each. Axes act in mesh order unless the numbers in
 * brackets say another. Texts of all releases are read: the names changed, the meaning didn't. */
#include "mesh/notation.h"

#include "mesh/owner.h"
#include <stdio.h>

typedef struct placement {
    const char *at;
    int dim; /* -1: none */
    int64_t split;
    mw_reduce partial;
    int order; /* -1: not stated */
} placement;

typedef struct dtensor {
    mw__reader *r;
    mw_reading *reading;
    int n;
    placement at[MW_MESH_AXES];
} dtensor;

/* ---- one placement ------------------------------------------------------------------------- */

/* Consumes any of the words (longest first), where no letter that is no placement follows: `RS(1)`
 * is R and S(1). */
static bool take_any(mw__reader *r, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(r->at, words[i], length) != 0) continue;
        r->at += length;
        return true;
    }
    return false;
}

/* `dim=` and so on before an argument: optional. */
static void skip_name(mw__reader *r, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        mw__reader after = *r;
        if (!mw__reader_word(&after, names[i]) || !mw__reader_take(&after, '=')) continue;
        *r = after;
        return;
    }
}

static mw_status read_dim(dtensor *t, placement *p)
{
    static const char *const names[] = {"dim"};
    int64_t dim = 0;
    skip_name(t->r, names, MW_COUNT(names));
    mw__reader_space(t->r);
    const char *at = t->r->at;
    if (*at == '-') {
        mw_status status =
            mw__reader_fail(t->r, at, MW_ERR_PARSE, "a dim is counted from the front, from 0");
        mw__error_hint("of a tensor of %d dims the last one is %d", t->reading->ndim,
                       t->reading->ndim - 1);
        return status;
    }
    MW_TRY(mw__reader_int(t->r, "a dim", &dim));
    if (dim >= t->reading->ndim)
        return mw__reader_fail(t->r, at, MW_ERR_SHAPE, "dim %lld of a tensor of %d dims",
                               (long long)dim, t->reading->ndim);
    p->dim = (int)dim;
    return MW_OK;
}

static mw_status read_shard(dtensor *t, bool strided, placement *p)
{
    static const char *const names[] = {"sf", "split_factor"};
    MW_TRY(mw__reader_expect(t->r, '(', "'(' and a dim"));
    MW_TRY(read_dim(t, p));
    if (strided) {
        MW_TRY(mw__reader_expect(t->r, ',', "',' and a split factor"));
        skip_name(t->r, names, MW_COUNT(names));
        mw__reader_space(t->r);
        const char *at = t->r->at;
        MW_TRY(mw__reader_int(t->r, "a split factor", &p->split));
        if (p->split < 1 || p->split > INT32_MAX)
            return mw__reader_fail(t->r, at, MW_ERR_PARSE, "a split factor is 1 to %d", INT32_MAX);
    }
    MW_TRY(mw__reader_expect(t->r, ')', "')'"));
    if (!mw__reader_take(t->r, '[')) return MW_OK;
    int64_t order = 0;
    mw__reader_space(t->r);
    const char *at = t->r->at;
    MW_TRY(mw__reader_int(t->r, "a place in the order of cuts", &order));
    if (order >= t->reading->mesh->naxis)
        return mw__reader_fail(t->r, at, MW_ERR_PARSE, "place %lld in an order of at most %d axes",
                               (long long)order, t->reading->mesh->naxis);
    p->order = (int)order;
    return mw__reader_expect(t->r, ']', "']'");
}

/* sum, 'sum', reduce_op=sum, <RedOpType.SUM: 0>: the kind of a partial. */
static mw_status read_kind(dtensor *t, placement *p)
{
    static const char *const names[] = {"reduce_op"};
    skip_name(t->r, names, MW_COUNT(names));
    mw__reader_space(t->r);
    const char *at = t->r->at, *word = at + strspn(at, "<'\""), *end = word;
    for (;
         (*end >= 'a' && *end <= 'z') || (*end >= 'A' && *end <= 'Z') || *end == '.' || *end == '_';
         end++)
        if (*end == '.') word = end + 1;
    p->partial = mw__reduce_read(word, (int)(end - word));
    if (p->partial == MW_REDUCE_NONE) {
        mw_status status = mw__reader_fail(t->r, at, MW_ERR_PARSE, "no kind of partial '%.*s'",
                                           (int)MW_MIN(end - word, 20), word);
        mw__error_hint("kinds are sum, avg, max, min and product");
        return status;
    }
    if (*at == '<')
        end += strcspn(end, ">") + (strchr(end, '>') != NULL);
    else if (*end == '\'' || *end == '"')
        end++;
    t->r->at = end;
    return MW_OK;
}

static mw_status read_partial(dtensor *t, placement *p)
{
    p->partial = MW_REDUCE_SUM;
    if (!mw__reader_take(t->r, '(') || mw__reader_take(t->r, ')')) return MW_OK;
    MW_TRY(read_kind(t, p));
    return mw__reader_expect(t->r, ')', "')'");
}

/* Terms that an embedding leaves: rows that are elsewhere are zero here, so they add up like any
 * partial sum. What it masks with is no part of the layout. */
static mw_status read_mask(dtensor *t, placement *p)
{
    p->partial = MW_REDUCE_SUM;
    mw__reading_note(t->reading, "a masked partial is read as a partial sum; its mask is left out");
    if (!mw__reader_take(t->r, '(') || mw__reader_take(t->r, ')')) return MW_OK;
    MW_TRY(read_kind(t, p));
    for (int depth = 1; depth > 0; t->r->at++) {
        char c = *t->r->at;
        if (!c) return mw__reader_fail(t->r, t->r->at, MW_ERR_PARSE, "expected ')', found the end");
        depth += (c == '(') - (c == ')');
    }
    return MW_OK;
}

static mw_status read_placement(dtensor *t)
{
    static const char *const strided[] = {"_StridedShard", "StridedShard", "_S"};
    static const char *const shard[] = {"_Shard", "Shard", "S"};
    static const char *const mask[] = {"_MaskPartial", "MaskPartial", "_MaskP", "MaskP"};
    static const char *const norm[] = {"_NormPartial", "NormPartial", "_NormP", "NormP"};
    static const char *const partial[] = {"_Partial", "Partial", "P"};
    static const char *const replicate[] = {"Replicate", "R"};
    mw__reader *r = t->r;
    mw__reader_space(r);
    const char *at = r->at;
    if (t->n == t->reading->mesh->naxis)
        return mw__reader_fail(r, at, MW_ERR_ARG, "more placements than the mesh's %d axes", t->n);
    placement *p = &t->at[t->n++];
    *p = (placement){.at = at, .dim = -1, .split = 1, .order = -1};
    if (take_any(r, replicate, MW_COUNT(replicate))) {
        if (mw__reader_take(r, '(')) return mw__reader_expect(r, ')', "')'");
        return MW_OK;
    }
    if (take_any(r, strided, MW_COUNT(strided))) return read_shard(t, true, p);
    if (take_any(r, shard, MW_COUNT(shard))) return read_shard(t, false, p);
    if (take_any(r, mask, MW_COUNT(mask))) return read_mask(t, p);
    if (take_any(r, partial, MW_COUNT(partial))) return read_partial(t, p);
    if (take_any(r, norm, MW_COUNT(norm)))
        return mw__reader_fail(r, at, MW_ERR_UNSUPPORTED,
                               "terms of a norm are no sum, max or min: no layout says them");
    mw_status status = mw__reader_fail(r, at, MW_ERR_PARSE, "expected a placement");
    mw__error_hint("placements are S(dim), R, P(sum) and _S(dim, split factor), one for each axis");
    return status;
}

static mw_status read_all(dtensor *t)
{
    char open = mw__reader_peek(t->r);
    char close = open == '(' ? ')' : open == '[' ? ']' : 0;
    if (close) t->r->at++;
    for (bool any = false;; any = true) {
        char c = mw__reader_peek(t->r);
        if (c == close || (!close && (!c || c == '"'))) break;
        if (any && mw__reader_take(t->r, ',') && mw__reader_peek(t->r) == close) break;
        MW_TRY(read_placement(t));
    }
    if (close) MW_TRY(mw__reader_expect(t->r, close, "a placement or the end of the list"));
    int axes = t->reading->mesh->naxis;
    if (t->n != axes)
        return mw__reader_fail(t->r, t->r->at, MW_ERR_ARG, "%d placement%s for the mesh's %d axes",
                               t->n, t->n == 1 ? "" : "s", axes);
    return MW_OK;
}

/* ---- the layout ---------------------------------------------------------------------------- */

/* The order in which the axes cut dim d. */
static mw_status order_dim(dtensor *t, int d)
{
    mw__placed *placed = &t->reading->placed[d];
    int count = 0, stated = 0;
    uint32_t seen = 0;
    for (int a = 0; a < t->n; a++) {
        if (t->at[a].dim != d) continue;
        count++;
        stated += t->at[a].order >= 0;
    }
    for (int a = 0; a < t->n; a++) {
        const placement *p = &t->at[a];
        if (p->dim != d) continue;
        int order = stated ? p->order : placed->n;
        if (order < 0 || order >= count || seen >> order & 1)
            return mw__reader_fail(t->r, p->at, MW_ERR_PARSE,
                                   "the order of dim %d's %d cuts must name each place from 0 once",
                                   d, count);
        seen |= 1u << order;
        placed->axis[order] = a;
        placed->split[order] = p->split;
        placed->n++;
    }
    return MW_OK;
}

mw_status mw__dtensor_read(mw__reader *r, mw_reading *reading)
{
    dtensor t = {.r = r, .reading = reading};
    const mw_mesh *mesh = reading->mesh;
    MW_TRY(read_all(&t));
    for (int a = 0; a < t.n; a++) {
        reading->partial[a] = t.at[a].partial;
        if (t.at[a].partial == MW_REDUCE_NONE) continue;
        MW_TRY(mw__reading_add_partial(reading, r, t.at[a].at, t.at[a].partial,
                                       mw__cut_make(a, false, 1, mesh->size[a])));
    }
    for (int d = 0; d < reading->ndim; d++) {
        bool found = true;
        MW_TRY(order_dim(&t, d));
        MW_TRY(mw__placed_dim(mesh, reading->shape[d], &reading->placed[d], &reading->layout.dim[d],
                              &found));
        if (!found)
            mw__reading_unsayable(reading,
                                  "dim %d: what follows _S chunks all that it left, as one list, "
                                  "and for size %lld no "
                                  "layout text was found that has these owners",
                                  d, (long long)reading->shape[d]);
    }
    return MW_OK;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void put_partial(mw_reduce kind, mw_str *to)
{
    const char *name = kind == MW_REDUCE_PROD ? "product" : mw__reduce_name(kind);
    mw__str_printf(to, "P(%s)", name);
}

/* Whether the dim's order of cuts is that of the mesh. */
static bool in_mesh_order(const mw__placed *placed)
{
    for (int i = 1; i < placed->n; i++)
        if (placed->axis[i] < placed->axis[i - 1]) return false;
    return true;
}

static void put_shard(const mw__placed *placed, int d, int i, mw_str *to)
{
    if (placed->split[i] > 1)
        mw__str_printf(to, "_S(%d, %lld)", d, (long long)placed->split[i]);
    else
        mw__str_printf(to, "S(%d)", d);
    if (!in_mesh_order(placed)) mw__str_printf(to, "[%d]", i);
}

void mw__placed_str(const mw_mesh *mesh, const mw__placed *placed, int ndim,
                    const mw_reduce *partial, mw_str *to)
{
    for (int a = 0; a < mesh->naxis; a++) {
        bool put = partial[a] != MW_REDUCE_NONE;
        if (put) put_partial(partial[a], to);
        for (int d = 0; d < ndim && !put; d++)
            for (int i = 0; i < placed[d].n && !put; i++) {
                if (placed[d].axis[i] != a) continue;
                put_shard(&placed[d], d, i, to);
                put = true;
            }
        if (!put) mw__str_putc(to, 'R');
    }
}

/* The pieces of a dim's text that are still whole where axis `a` cuts, and lie before it: how many
 * chunks it must make to cut what it cuts. */
static int64_t split_before(const mw_dim *dim, int a)
{
    int64_t split = 1;
    const mw_cut *cut = dim->cut;
    for (int f = 0; f < dim->nfactor; f++) {
        int64_t left = dim->factor[f];
        for (int c = 0; c < dim->cuts[f]; c++, cut++) {
            if (cut->axis == a) return split;
            if (cut->axis < 0 || cut->axis > a) split *= cut->size;
            left = mw__chunk(left, cut->size);
        }
        split *= MW_MAX(left, 1);
    }
    return split;
}

/* The axes of a dim in mesh order, or in the order of its text; split factors as in order. */
static void place_axes(const mw_dim *dim, bool by_mesh, mw__placed *ret)
{
    mw__placed placed = {0};
    uint32_t axes = mw__dim_axes(dim);
    if (by_mesh) {
        for (int a = 0; a < MW_MESH_AXES; a++)
            if (axes >> a & 1) {
                placed.axis[placed.n] = a;
                placed.split[placed.n++] = split_before(dim, a);
            }
    } else {
        for (int c = 0; c < dim->ncut; c++) {
            if (dim->cut[c].axis < 0) continue;
            placed.axis[placed.n] = dim->cut[c].axis;
            placed.split[placed.n++] = 1;
        }
    }
    *ret = placed;
}

static bool is_dim(const mw_mesh *mesh, const mw_dim *dim, const mw__placed *placed,
                   bool *ret_failed)
{
    for (int i = 0; i < placed->n; i++)
        if (placed->split[i] < 1 || placed->split[i] > INT32_MAX) return false;
    return mw__placed_is(mesh, dim, placed, ret_failed);
}

/* Other split factors, where sizes don't divide: few positions, one or two axes. */
static bool try_splits(const mw_mesh *mesh, const mw_dim *dim, mw__placed *placed, bool *ret_failed)
{
    enum { MOST = 64 };
    int64_t size = mw__dim_size(dim);
    if (size > MOST || placed->n > 2 || placed->n == 0) return false;
    for (int64_t first = 1; first <= size && !*ret_failed; first++)
        for (int64_t second = 1; second <= (placed->n > 1 ? size : 1); second++) {
            placed->split[0] = first;
            if (placed->n > 1) placed->split[1] = second;
            if (is_dim(mesh, dim, placed, ret_failed)) return true;
        }
    return false;
}

/* Whether what would be printed is also read as this dim: reading searches no further than so far.
 */
static bool reads_back(const mw_mesh *mesh, const mw_dim *dim, const mw__placed *placed,
                       bool *ret_failed)
{
    mw_dim got;
    bool found = false, direct = true; /* a split factor that stands last needs no search */
    for (int i = 0; i < placed->n - 1; i++)
        direct = direct && placed->split[i] == 1;
    if (direct) return true;
    mw_status status = mw__placed_dim(mesh, mw__dim_size(dim), placed, &got, &found);
    if (status == MW_ERR_NOMEM) *ret_failed = true;
    if (status != MW_OK || !found) return false;
    got = mw__dim_canonical(mesh, &got);
    return mw__dim_equal(&got, dim);
}

/* Placements of one dim, whose owners are the dim's; false where there are none, or memory lacks.
 */
static bool place_dim(const mw_mesh *mesh, const mw_dim *dim, mw__placed *ret, bool *ret_failed)
{
    place_axes(dim, true, ret);
    if (is_dim(mesh, dim, ret, ret_failed) && reads_back(mesh, dim, ret, ret_failed)) return true;
    mw__placed ordered;
    place_axes(dim, false, &ordered);
    if (is_dim(mesh, dim, &ordered, ret_failed)) {
        *ret = ordered;
        return true;
    }
    return try_splits(mesh, dim, ret, ret_failed) && reads_back(mesh, dim, ret, ret_failed);
}

static bool whole_axes(const mw_mesh *mesh, const mw_layout *layout, int d, mw_str *why)
{
    const mw_dim *dim = &layout->dim[d];
    for (int c = 0; c < dim->ncut; c++) {
        const mw_cut *cut = &dim->cut[c];
        if (cut->axis < 0 || cut->size == mesh->size[cut->axis]) continue;
        mw__str_printf(why, "dim %d is ", d);
        mw__dim_str(mesh, dim, why);
        mw__str_printf(why, ": DTensor does not cut by a part of axis %s", mesh->name[cut->axis]);
        return false;
    }
    if (dim->open) mw__str_printf(why, "dim %d is open: DTensor has no word for it", d);
    return !dim->open;
}

void mw__dtensor_print(const mw_mesh *mesh, const mw_layout *layout, mw_str *to, mw_str *why)
{
    mw__placed placed[MW_LAYOUT_DIMS] = {0};
    mw_reduce partial[MW_MESH_AXES] = {MW_REDUCE_NONE};
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        partial[part->axis] = (mw_reduce)part->kind;
        if (part->size == mesh->size[part->axis]) continue;
        mw__str_printf(why, "DTensor is not partial over a part of axis %s",
                       mesh->name[part->axis]);
        return;
    }
    for (int d = 0; d < layout->ndim; d++) {
        if (!whole_axes(mesh, layout, d, why)) return;
        bool placed_so = place_dim(mesh, &layout->dim[d], &placed[d], &to->failed);
        if (to->failed) return; /* that is no reason for a layout without a name */
        if (placed_so) continue;
        mw__str_printf(why, "dim %d is ", d);
        mw__dim_str(mesh, &layout->dim[d], why);
        mw__str_puts(why, ": DTensor chunks axis by axis, which gives other owners for this size");
        return;
    }
    mw__placed_str(mesh, placed, layout->ndim, partial, to);
}
