/* HLO shardings, read.
 *
 *     {devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}    V1: the list of devices
 *     {devices=[2,1,4]<=[8] last_tile_dim_replicate}              V2: the list as a formula
 *     {devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={unreduced, replicated}}
 *     {replicated} {maximal device=3} {manual} {unreduced} {{...}, {...}}
 *
 * `<=[a,b]T(1,0)` is the list 0, 1, ... shaped [a, b], transposed, read row by row. The device at
 * place k holds tile number k, row-major; the dims that the list has beyond the tensor's are
 * subgroups: copies, terms of a sum, or values that are each device's own. Devices are ranks. */
#include "mesh/notation.h"

#include "mesh/owner.h"
#include <stdio.h>

enum { MOST_DIMS = 2 * MW_LAYOUT_DIMS + 8, MOST_DIGITS = 24 };

typedef enum sub_kind { SUB_NONE, SUB_REPLICATED, SUB_MANUAL, SUB_UNREDUCED } sub_kind;

typedef struct hlo {
    mw__reader *r;
    mw_reading *reading;
    const char *start;
    sub_kind whole; /* {replicated} and so on */
    bool unknown, maximal;
    int64_t device; /* -1: none */
    int ndim;       /* of the tile assignment; 0: none */
    int64_t dim[MOST_DIMS];
    int nsub; /* types of its last dims */
    sub_kind sub[MOST_DIMS];
    int *list; /* of the mesh's size */
} hlo;

/* ---- lists --------------------------------------------------------------------------------- */

static mw_status read_ints(mw__reader *r, char close, int cap, int64_t *ret, int *ret_n)
{
    int n = 0;
    do {
        mw__reader_space(r);
        const char *at = r->at;
        int64_t value = 0;
        MW_TRY(mw__reader_int(r, "a number", &value));
        if (n == cap) return mw__reader_fail(r, at, MW_ERR_PARSE, "more than %d numbers", cap);
        ret[n++] = value;
    } while (mw__reader_take(r, ','));
    *ret_n = n;
    if (mw__reader_take(r, close)) return MW_OK;
    return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected ',' or '%c'", close);
}

/* Another number of devices than the mesh has. */
static mw_status wrong_count(const hlo *h, const char *at, int64_t count)
{
    mw_status status = mw__reader_fail(h->r, at, MW_ERR_ARG,
                                       "a tile assignment of %lld devices, but the mesh has %d",
                                       (long long)count, h->reading->mesh->nrank);
    mw__error_hint("an HLO sharding names every device of the mesh once");
    return status;
}

static mw_status product_of(const hlo *h, const char *at, const int64_t *dims, int n,
                            int64_t *ret_count)
{
    int64_t count = 1;
    for (int i = 0; i < n; i++) {
        if (dims[i] < 1)
            return mw__reader_fail(h->r, at, MW_ERR_PARSE,
                                   "a dim of a tile assignment is at least 1");
        if (dims[i] > MW_MESH_RANKS || count * dims[i] > MW_MESH_RANKS)
            return mw__reader_fail(h->r, at, MW_ERR_ARG, "more than %d devices", MW_MESH_RANKS);
        count *= dims[i];
    }
    *ret_count = count;
    return MW_OK;
}

/* 0,1,2,...: as many as the mesh has ranks, each once. */
static mw_status read_list(hlo *h, int64_t count)
{
    mw__reader *r = h->r;
    mw__reader_space(r);
    const char *start = r->at;
    int nrank = h->reading->mesh->nrank, n = 0;
    for (int i = 0; i < nrank; i++)
        h->list[i] = -1;
    int *place = h->reading->tiling.place;
    for (int i = 0; i < nrank; i++)
        place[i] = -1;
    do {
        mw__reader_space(r);
        const char *at = r->at;
        int64_t device = 0;
        MW_TRY(mw__reader_int(r, "a device", &device));
        if (n == count || n == nrank)
            return mw__reader_fail(r, at, MW_ERR_ARG, "more devices than the %lld tiles",
                                   (long long)count);
        if (device >= nrank)
            return mw__reader_fail(r, at, MW_ERR_ARG,
                                   "device %lld is not below the mesh's %d ranks",
                                   (long long)device, nrank);
        if (place[device] >= 0)
            return mw__reader_fail(r, at, MW_ERR_ARG, "device %lld is there twice",
                                   (long long)device);
        place[device] = n;
        h->list[n++] = (int)device;
    } while (mw__reader_take(r, ','));
    if (n != count)
        return mw__reader_fail(r, start, MW_ERR_ARG, "%d devices for %lld tiles", n,
                               (long long)count);
    return count == nrank ? MW_OK : wrong_count(h, start, count);
}

/* Fills the list from <=[dims]T(perm). */
static void fill_iota(hlo *h, const int64_t *dims, const int64_t *perm, int n)
{
    int64_t stride[MOST_DIGITS], at[MOST_DIGITS] = {0};
    int64_t next = 1;
    for (int i = n - 1; i >= 0; i--) {
        stride[i] = next;
        next *= dims[i];
    }
    for (int k = 0; k < h->reading->mesh->nrank; k++) {
        int64_t device = 0;
        for (int i = 0; i < n; i++)
            device += at[i] * stride[perm[i]];
        h->list[k] = (int)device;
        for (int i = n - 1; i >= 0 && ++at[i] == dims[perm[i]]; i--)
            at[i] = 0;
    }
}

static mw_status read_iota(hlo *h, int64_t count)
{
    int64_t dims[MOST_DIGITS], perm[MOST_DIGITS], total;
    int n = 0, nperm = 0;
    mw__reader *r = h->r;
    mw__reader_space(r);
    const char *at = r->at;
    MW_TRY(mw__reader_expect(r, '[', "'[' and the dims of the iota"));
    MW_TRY(read_ints(r, ']', MOST_DIGITS, dims, &n));
    MW_TRY(product_of(h, at, dims, n, &total));
    if (total != count)
        return mw__reader_fail(r, at, MW_ERR_ARG, "an iota of %lld devices for %lld tiles",
                               (long long)total, (long long)count);
    if (count != h->reading->mesh->nrank) return wrong_count(h, at, count);
    for (int i = 0; i < n; i++)
        perm[i] = i;
    mw__reader_space(r);
    at = r->at;
    if (mw__reader_take(r, 'T')) {
        uint32_t seen = 0;
        MW_TRY(mw__reader_expect(r, '(', "'(' and a permutation"));
        MW_TRY(read_ints(r, ')', MOST_DIGITS, perm, &nperm));
        for (int i = 0; i < nperm; i++) {
            if (perm[i] >= n || seen >> perm[i] & 1) nperm = -1;
            seen |= nperm < 0 ? 0 : 1u << perm[i];
        }
        if (nperm != n)
            return mw__reader_fail(r, at, MW_ERR_PARSE, "not a permutation of the iota's %d dims",
                                   n);
    } else if (n > 1) {
        return mw__reader_fail(r, at, MW_ERR_PARSE,
                               "expected 'T(' and a permutation of the %d dims", n);
    }
    fill_iota(h, dims, perm, n);
    return MW_OK;
}

/* ---- items --------------------------------------------------------------------------------- */

static mw_status read_devices(hlo *h)
{
    int64_t count;
    mw__reader *r = h->r;
    mw__reader_space(r);
    const char *at = r->at;
    MW_TRY(mw__reader_expect(r, '[', "'[' and the tiles of each dim"));
    MW_TRY(read_ints(r, ']', MOST_DIMS, h->dim, &h->ndim));
    MW_TRY(product_of(h, at, h->dim, h->ndim, &count));
    if (!mw__reader_word(r, "<=")) return read_list(h, count);
    return read_iota(h, count);
}

static bool take_kind(mw__reader *r, sub_kind *ret)
{
    if (mw__reader_word(r, "replicated"))
        *ret = SUB_REPLICATED;
    else if (mw__reader_word(r, "manual"))
        *ret = SUB_MANUAL;
    else if (mw__reader_word(r, "unreduced"))
        *ret = SUB_UNREDUCED;
    else
        return false;
    return true;
}

static mw_status read_last_dims(hlo *h)
{
    MW_TRY(mw__reader_expect(h->r, '=', "'='"));
    MW_TRY(mw__reader_expect(h->r, '{', "'{' and the kinds of the last dims"));
    while (!mw__reader_take(h->r, '}')) {
        sub_kind kind;
        mw__reader_space(h->r);
        if (!take_kind(h->r, &kind) || h->nsub == MOST_DIMS)
            return mw__reader_fail(h->r, h->r->at, MW_ERR_PARSE,
                                   "expected replicated, manual or unreduced");
        h->sub[h->nsub++] = kind;
        if (mw__reader_peek(h->r) != '}')
            MW_TRY(mw__reader_expect(h->r, ',', "',' or '}' between kinds"));
    }
    return MW_OK;
}

/* metadata={op_name="..."}: braces balance outside of quotes. */
static mw_status skip_metadata(hlo *h)
{
    mw__reader *r = h->r;
    MW_TRY(mw__reader_expect(r, '=', "'='"));
    MW_TRY(mw__reader_expect(r, '{', "'{' and the metadata"));
    const char *start = r->at;
    bool quoted = false;
    for (int depth = 1; depth > 0; r->at++) {
        if (!*r->at) return mw__reader_fail(r, start, MW_ERR_PARSE, "the metadata has no end");
        if (*r->at == '"' && r->at[-1] != '\\') quoted = !quoted;
        if (!quoted) depth += (*r->at == '{') - (*r->at == '}');
    }
    return MW_OK;
}

static mw_status read_item(hlo *h)
{
    mw__reader *r = h->r;
    int64_t group = 0;
    mw__reader_space(r);
    const char *at = r->at;
    if (mw__reader_word(r, "devices")) {
        if (h->ndim) return mw__reader_fail(r, at, MW_ERR_PARSE, "devices= is there twice");
        MW_TRY(mw__reader_expect(r, '=', "'='"));
        return read_devices(h);
    }
    if (mw__reader_word(r, "device")) {
        MW_TRY(mw__reader_expect(r, '=', "'='"));
        return mw__reader_int(r, "a device", &h->device);
    }
    if (take_kind(r, &h->whole)) return MW_OK;
    h->unknown = h->unknown || mw__reader_word(r, "unknown");
    h->maximal = h->maximal || mw__reader_word(r, "maximal");
    if (r->at != at) return MW_OK;
    if (mw__reader_word(r, "last_tile_dim_replicate")) {
        h->sub[0] = SUB_REPLICATED;
        h->nsub = 1;
        return MW_OK;
    }
    if (mw__reader_word(r, "last_tile_dims")) return read_last_dims(h);
    if (mw__reader_word(r, "metadata")) return skip_metadata(h);
    if (mw__reader_word(r, "shard_as") || mw__reader_word(r, "shard_like")) {
        MW_TRY(mw__reader_int(r, "a group", &group));
        mw__reading_note(h->reading, "sharded like the others of group %lld: that is left out",
                         (long long)group);
        return MW_OK;
    }
    if (mw__reader_word(r, "mesh") || mw__reader_word(r, "maximal_mesh"))
        return mw__reader_fail(r, at, MW_ERR_UNSUPPORTED,
                               "the named form of HLO shardings is not read; its Shardy text is");
    mw_status status = mw__reader_fail(r, at, MW_ERR_PARSE, "expected a part of an HLO sharding");
    mw__error_hint("like {devices=[2,1]0,1}, {devices=[2,1]<=[2]}, {replicated}, {maximal "
                   "device=0}");
    return status;
}

/* ---- what they say together ----------------------------------------------------------------- */

/* The dims of the list, sorted into tiles and subgroups: the order in which the list is walked to
 * have manual, unreduced and replicated last. */
static mw_status sort_dims(hlo *h, int *order)
{
    int ndim = h->reading->ndim, tiles = h->ndim - h->nsub, n = 0;
    mw__tiling *t = &h->reading->tiling;
    if (tiles != ndim) {
        mw_status status = mw__reader_fail(h->r, h->start, MW_ERR_SHAPE,
                                           "tiles for a tensor of %d dim%s, but the shape has %d",
                                           MW_MAX(tiles, 0), tiles == 1 ? "" : "s", ndim);
        if (tiles == ndim + 1 && !h->nsub) mw__error_hint("is last_tile_dim_replicate missing?");
        return status;
    }
    t->ndim = ndim;
    t->manual = t->unreduced = t->replicated = 1;
    for (int d = 0; d < ndim; d++) {
        t->tile[d] = h->reading->shape[d] ? h->dim[d] : 1;
        if (h->reading->shape[d]) order[n++] = d;
    }
    static const sub_kind last[] = {SUB_MANUAL, SUB_UNREDUCED, SUB_REPLICATED};
    int64_t *const size[] = {&t->manual, &t->unreduced, &t->replicated};
    for (int k = 0; k < MW_COUNT(last); k++)
        for (int i = 0; i < h->nsub; i++) {
            if (h->sub[i] != last[k]) continue;
            order[n++] = tiles + i;
            *size[k] *= h->dim[tiles + i];
        }
    for (int d = 0; d < ndim; d++) { /* tiles of nothing are copies of each other */
        if (h->reading->shape[d]) continue;
        order[n++] = d;
        t->replicated *= h->dim[d];
    }
    return MW_OK;
}

static void walk_list(hlo *h, const int *order)
{
    mw__tiling *t = &h->reading->tiling;
    int64_t stride[MOST_DIMS], at[MOST_DIMS] = {0}, next = 1;
    for (int i = h->ndim - 1; i >= 0; i--) {
        stride[i] = next;
        next *= h->dim[i];
    }
    for (int k = 0; k < t->nrank; k++) {
        int64_t place = 0;
        for (int i = 0; i < h->ndim; i++)
            place += at[i] * stride[order[i]];
        t->rank[k] = h->list[place];
        t->place[h->list[place]] = k;
        for (int i = h->ndim - 1; i >= 0 && ++at[i] == h->dim[order[i]]; i--)
            at[i] = 0;
    }
}

static mw_status finish_tiles(hlo *h)
{
    int order[MOST_DIMS];
    if (h->whole != SUB_NONE || h->maximal || h->unknown || h->device >= 0)
        return mw__reader_fail(h->r, h->start, MW_ERR_PARSE,
                               "a tile assignment beside replicated, manual, maximal or unknown");
    MW_TRY(sort_dims(h, order));
    walk_list(h, order);
    return mw__tiling_layout(h->reading);
}

static mw_status finish_whole(hlo *h)
{
    mw_reading *reading = h->reading;
    const mw_mesh *mesh = reading->mesh;
    if (h->maximal) {
        if (h->device < 0)
            return mw__reader_fail(h->r, h->start, MW_ERR_PARSE, "maximal needs device=");
        if (h->device >= mesh->nrank)
            return mw__reader_fail(h->r, h->start, MW_ERR_ARG,
                                   "device %lld is not below the mesh's %d ranks",
                                   (long long)h->device, mesh->nrank);
        if (mesh->nrank == 1) return MW_OK;
        reading->maximal = (int)h->device;
        mw__reading_unsayable(reading, "the whole tensor lies on device %d alone", (int)h->device);
        return MW_OK;
    }
    if (h->device >= 0 || h->nsub)
        return mw__reader_fail(h->r, h->start, MW_ERR_PARSE, "devices without a tile assignment");
    if (h->unknown)
        return mw__reader_fail(h->r, h->start, MW_ERR_UNSUPPORTED,
                               "unknown: propagation has not yet said how this lies");
    if (h->whole == SUB_MANUAL)
        mw__reading_unsayable(reading,
                              "manual: every device has a value of its own, of this shape");
    for (int a = 0; h->whole == SUB_UNREDUCED && a < mesh->naxis; a++)
        MW_TRY(mw__reading_add_partial(reading, h->r, h->start, MW_REDUCE_SUM,
                                       mw__cut_make(a, false, 1, mesh->size[a])));
    if (h->whole != SUB_NONE) return MW_OK;
    return mw__reader_fail(h->r, h->start, MW_ERR_PARSE, "an HLO sharding needs a tile assignment");
}

static mw_status read_items(hlo *h)
{
    bool any = false;
    for (; !mw__reader_take(h->r, '}'); any = true) {
        if (any) (void)mw__reader_take(h->r, ',');
        MW_TRY(read_item(h));
    }
    return h->ndim ? finish_tiles(h) : finish_whole(h);
}

static mw_status read_single(mw__reader *r, mw_reading *reading)
{
    mw__tiling *t = &reading->tiling;
    hlo h = {.r = r, .reading = reading, .start = r->at, .device = -1};
    size_t table = (size_t)reading->mesh->nrank * sizeof *h.list;
    t->nrank = reading->mesh->nrank;
    h.list = mw__alloc(table);
    t->rank = mw__alloc(table);
    t->place = mw__alloc(table);
    mw_status status = h.list && t->rank && t->place ? MW_OK : MW_NOMEM();
    if (status == MW_OK) status = mw__reader_expect(r, '{', "'{' and a sharding");
    if (status == MW_OK) status = read_items(&h);
    if (status != MW_OK || !h.ndim) mw__tiling_done(t);
    mw__free(h.list, table);
    return status;
}

/* The printer of tuples counts in comments: they are skipped like blanks. */
static void skip_comment(mw__reader *r)
{
    mw__reader_space(r);
    const char *end = strncmp(r->at, "/*", 2) == 0 ? strstr(r->at, "*/") : NULL;
    if (end) r->at = end + 2;
}

/* Of a tuple, the first element is read; that there are more is noted. */
mw_status mw__hlo_read(mw__reader *r, mw_reading *reading)
{
    mw__reader inside = *r;
    (void)mw__reader_take(&inside, '{');
    char next = mw__reader_peek(&inside);
    if (next != '{' && next != '}') return read_single(r, reading);
    if (next == '}')
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "an empty tuple has no sharding to show");
    *r = inside;
    MW_TRY(read_single(r, reading));
    int count = 1;
    for (;; count++) {
        if (!mw__reader_take(r, ',')) break;
        skip_comment(r);
        if (mw__reader_peek(r) != '{')
            return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected '{' and a sharding");
        int depth = 0;
        do {
            if (!*r->at)
                return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected '}', found the end");
            depth += (*r->at == '{') - (*r->at == '}');
            r->at++;
        } while (depth);
    }
    if (count > 1)
        mw__reading_note(reading, "a tuple of %d shardings: this is the first", count);
    else
        mw__reading_note(reading, "a tuple of one sharding");
    return mw__reader_expect(r, '}', "',' or '}' in the tuple");
}
