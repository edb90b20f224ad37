/* Spreads of dims and factors. Plain ones are lists of axes, handled by arithmetic alone; the
 * others go through mesh's view algebra, which is slower and exact. */
#include "graph/propagate_spread.h"

/* ---- the table --------------------------------------------------------------------------------
 */

typedef struct memo_entry {
    const void *key;
    size_t size;
    const void *value;
} memo_entry;

const void **mw__memo_at(mw_lookup *memo, const void *key, size_t size)
{
    uint64_t hash = mw__hash(11, key, size);
    for (mw_found *i = NULL; (i = mw__lookup_next(memo, hash, i));) {
        memo_entry *e = i->item;
        if (e->size == size && memcmp(e->key, key, size) == 0) return &e->value;
    }
    memo_entry *e = mw__arena_zalloc(memo->arena, sizeof *e);
    void *kept = mw__arena_alloc(memo->arena, size + 1);
    mw_found *added = e && kept ? mw__lookup_add(memo, hash) : NULL;
    if (!added) return NULL;
    memcpy(kept, key, size);
    *e = (memo_entry){.key = kept, .size = size};
    added->item = e;
    return &e->value;
}

/* Keys of the one table begin with what is asked. */
enum { ASK_DIM, ASK_SPLIT, ASK_JOIN, KEEP_LIST, KEEP_OF_DIM };

static const void **ask(spreads *s, int what, const spread *const *about, int nabout,
                        const int64_t *size, int nsize)
{
    int64_t key[1 + 2 * SPREAD_FACTORS];
    int n = 0;
    key[n++] = what;
    for (int i = 0; i < nabout; i++)
        key[n++] = (int64_t)(intptr_t)about[i];
    for (int i = 0; i < nsize; i++)
        key[n++] = size[i];
    const void **at = mw__memo_at(&s->known, key, (size_t)n * sizeof key[0]);
    if (!at) s->failed = true;
    return at;
}

mw_status mw__spreads_init(spreads *s, const mw_mesh *mesh, mw_arena *arena)
{
    *s = (spreads){.mesh = mesh, .arena = arena, .known = {.arena = arena}};
    spread *none = mw__arena_zalloc(arena, sizeof *none);
    if (!none) return MW_NOMEM();
    none->plain = true;
    none->product = 1;
    s->none = none;
    return MW_OK;
}

/* ---- making them ------------------------------------------------------------------------------
 */

static spread *new_spread(spreads *s, const mw_axis_list *list, const mw_dim *dim)
{
    spread *x = mw__arena_zalloc(s->arena, sizeof *x);
    if (!x) {
        s->failed = true;
        return NULL;
    }
    x->list = *list;
    x->plain = !dim;
    if (dim) x->dim = *dim;
    x->product = mw__axis_list_product(list);
    for (int i = 0; i < list->n; i++)
        x->axes |= 1u << list->at[i].axis;
    return x;
}

const spread *mw__spread_plain(spreads *s, const mw_axis_list *list)
{
    if (list->n == 0) return s->none;
    int64_t key[1 + MW_DIM_CUTS] = {KEEP_LIST};
    for (int i = 0; i < list->n; i++) {
        const mw_axis_ref *a = &list->at[i];
        key[1 + i] = ((int64_t)a->axis << 56) | ((int64_t)a->major << 28) | a->size;
    }
    const void **at = mw__memo_at(&s->known, key, (size_t)(1 + list->n) * sizeof key[0]);
    if (at && !*at) *at = new_spread(s, list, NULL);
    if (!at) s->failed = true;
    return at && *at ? *at : s->none;
}

/* A plain dim of that size: each axis cuts what is left. */
static bool plain_dim(const mw_mesh *mesh, const mw_axis_list *list, int64_t size, mw_dim *ret)
{
    *ret = mw__dim_plain(size);
    for (int i = 0; i < list->n; i++)
        if (!mw__dim_append(mesh, ret, list->at[i].axis, list->at[i].major, list->at[i].size))
            return false;
    return true;
}

static const spread *spread_of_new(spreads *s, const mw_dim *dim)
{
    mw_axis_list list = {0}, merged = {0};
    for (int c = 0; c < dim->ncut; c++) {
        const mw_cut *cut = &dim->cut[c];
        if (cut->axis < 0) continue;
        mw_axis_ref ref = {cut->axis, cut->major, cut->size};
        list.at[list.n++] = ref;
        (void)mw__axis_list_add(&merged, ref);
    }
    mw_dim plain;
    if (list.n == 0) return s->none;
    if (plain_dim(s->mesh, &merged, mw__dim_size(dim), &plain) && mw__dim_equal(&plain, dim))
        return mw__spread_plain(s, &merged);
    mw_dim closed = *dim;
    closed.open = 0;
    return new_spread(s, &list, &closed);
}

const spread *mw__spread_of(spreads *s, const mw_dim *dim)
{
    if (dim->ncut == 0) return s->none;
    struct {
        int64_t what;
        mw_dim dim;
    } key = {KEEP_OF_DIM, *dim};
    key.dim.open = 0;
    const void **at = mw__memo_at(&s->known, &key, sizeof key);
    if (!at) s->failed = true;
    if (!at) return s->none;
    if (*at) return *at;
    const spread *x = spread_of_new(s, dim);
    if (x) *at = x;
    return x ? x : s->none;
}

bool mw__spread_dim(spreads *s, const spread *x, int64_t size, mw_dim *ret)
{
    if (!x->plain) {
        *ret = x->dim;
        return mw__dim_size(&x->dim) == size;
    }
    if (x == s->none) {
        *ret = mw__dim_plain(size);
        return true;
    }
    const void **at = ask(s, ASK_DIM, &x, 1, &size, 1);
    if (!at) return false;
    if (!*at) {
        mw_dim *dim = mw__arena_zalloc(s->arena, sizeof *dim);
        if (!dim) s->failed = true;
        if (!dim || !plain_dim(s->mesh, &x->list, size, dim)) return false;
        *at = dim;
    }
    *ret = *(const mw_dim *)*at;
    return true;
}

/* ---- prefixes ---------------------------------------------------------------------------------
 */

const spread *mw__spread_cut(spreads *s, const spread *x, const mw_axis_list *list)
{
    if (list->n == 0) return s->none;
    if (x->plain) return mw__spread_plain(s, list);
    if (list->n == x->list.n && mw__axis_ref_equal(list->at[list->n - 1], x->list.at[list->n - 1]))
        return x;
    mw_dim dim = x->dim;
    int at = 0;
    for (int c = 0; c < dim.ncut; c++) {
        if (dim.cut[c].axis < 0) continue;
        if (at < list->n) {
            dim.cut[c].major = list->at[at].major;
            dim.cut[c].size = list->at[at].size;
        } else {
            dim.cut[c].major = dim.cut[c].size = 1; /* no effect: the canonical text drops it */
        }
        at++;
    }
    dim = mw__dim_canonical(s->mesh, &dim);
    return mw__spread_of(s, &dim);
}

bool mw__spread_strict_prefix(spreads *s, const spread *a, const spread *b)
{
    if (a == b) return false;
    if (a == s->none) return true;
    if (!mw__axis_list_strict_prefix(&a->list, &b->list)) return false;
    return (a->plain && b->plain) || mw__spread_cut(s, b, &a->list) == a;
}

const spread *mw__spread_meet(spreads *s, const spread *had, const spread *more, bool *grow)
{
    if (had == more || more == s->none) return had;
    if (had == s->none) return *grow ? more : had;
    if (had->plain && more->plain) {
        mw_axis_list met = mw__axis_list_meet(&had->list, &more->list, grow);
        return mw__spread_plain(s, &met);
    }
    if (mw__spread_strict_prefix(s, more, had)) return had;
    if (mw__spread_strict_prefix(s, had, more)) return *grow ? more : had;
    *grow = false;
    mw_axis_list common = mw__axis_list_common(&had->list, &more->list);
    for (; common.n > 0; common.n--) {
        const spread *a = mw__spread_cut(s, had, &common);
        if (a == mw__spread_cut(s, more, &common)) return a;
    }
    return s->none;
}

/* ---- factors of a dim -------------------------------------------------------------------------
 */

static int64_t gcd64(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Axes fill the factors, major first; an axis that is too large for what is left of one goes on in
 * the next. Where what is left and the axis have nothing in common the rest is over. True: all cuts
 * divide, so that the owners are those of the dim. */
static bool fill(spreads *s, const spread *x, const int64_t *size, int n, spread_parts *ret)
{
    mw_axis_list part[SPREAD_FACTORS], over = {0};
    bool exact = true;
    int f = 0;
    memset(part, 0, (size_t)n * sizeof part[0]);
    int64_t left = size[0];
    for (int i = 0; i < x->list.n; i++) {
        mw_axis_ref a = x->list.at[i];
        while (a.size > 1 && over.n == 0) {
            while (left == 1 && f < n - 1)
                left = size[++f];
            int32_t step = (int32_t)gcd64(left, a.size);
            if (f == n - 1) { /* the last takes all */
                exact = exact && step == a.size;
                left /= step;
                step = a.size;
            } else if (step == 1) {
                break;
            } else {
                left /= step;
            }
            (void)mw__axis_list_add(&part[f], (mw_axis_ref){a.axis, a.major, step});
            a.major *= step;
            a.size /= step;
        }
        if (a.size > 1) (void)mw__axis_list_add(&over, a);
    }
    for (int k = 0; k < n; k++)
        ret->at[k] = mw__spread_plain(s, &part[k]);
    ret->over = mw__spread_plain(s, &over);
    ret->over_at = f;
    return exact && over.n == 0;
}

/* Of a regrouped dim: where axes outnumber elements its text may not be the least. */
static const spread *canonical(spreads *s, const mw_dim *dim)
{
    mw_dim least = mw__dim_canonical(s->mesh, dim);
    return mw__spread_of(s, &least);
}

/* By the owners: as many of the axes as regroup. */
static bool regroup(spreads *s, const spread *x, const int64_t *size, int n, bool all,
                    spread_parts *ret)
{
    mw_dim dim, part[SPREAD_FACTORS];
    int64_t total = 1;
    for (int k = 0; k < n; k++)
        total *= size[k];
    mw_axis_list list = x->list;
    for (; list.n > 0; list.n--) {
        const spread *less = mw__spread_cut(s, x, &list);
        if (mw__spread_dim(s, less, total, &dim) &&
            mw__dims_regroup(s->mesh, &dim, 1, size, n, part, NULL))
            break;
        if (all) return false;
    }
    for (int k = 0; k < n; k++)
        ret->at[k] = list.n ? canonical(s, &part[k]) : s->none;
    mw_axis_list over = {0};
    for (int i = list.n; i < x->list.n; i++)
        (void)mw__axis_list_add(&over, x->list.at[i]);
    ret->over = mw__spread_plain(s, &over);
    ret->over_at = 0;
    return true;
}

const spread_parts *mw__spread_split(spreads *s, const spread *x, const int64_t *size, int n)
{
    const void **at = ask(s, ASK_SPLIT, &x, 1, size, n);
    if (at && *at) return *at;
    spread_parts *parts = at ? mw__arena_zalloc(s->arena, sizeof *parts) : NULL;
    if (!parts) {
        s->failed = true;
        return NULL;
    }
    int64_t total = 1;
    for (int k = 0; k < n; k++)
        total *= size[k];
    if (!x->plain) {
        (void)regroup(s, x, size, n, false, parts);
    } else if (!fill(s, x, size, n, parts) && x->product <= total && parts->over == x) {
        spread_parts exact; /* no axis divides: perhaps the owners fall on factors all the same */
        if (regroup(s, x, size, n, true, &exact)) *parts = exact;
    }
    at = ask(s, ASK_SPLIT, &x, 1, size, n);
    if (at) *at = parts;
    return parts;
}

static const spread *join_new(spreads *s, const spread *const *part, const int64_t *size, int n)
{
    mw_axis_list list = {0};
    bool tiles = true, ended = false;
    for (int k = 0; k < n && tiles; k++) { /* full ones, then one, then none */
        tiles = part[k]->plain && (!ended || part[k] == s->none);
        for (int i = 0; i < part[k]->list.n && tiles; i++)
            tiles = mw__axis_list_add(&list, part[k]->list.at[i]);
        if (k < n - 1) tiles = tiles && size[k] % part[k]->product == 0;
        ended = ended || part[k]->product != size[k];
    }
    if (tiles) return mw__spread_plain(s, &list);
    mw_dim dim[SPREAD_FACTORS], whole;
    int64_t total = 1;
    for (int k = 0; k < n; k++) {
        if (!mw__spread_dim(s, part[k], size[k], &dim[k])) return NULL;
        total *= size[k];
    }
    if (!mw__dims_regroup(s->mesh, dim, n, &total, 1, &whole, NULL)) return NULL;
    return canonical(s, &whole);
}

const spread *mw__spread_join(spreads *s, const spread *const *part, const int64_t *size, int n)
{
    const void **at = ask(s, ASK_JOIN, part, n, size, n);
    if (at && *at) return *at == s ? NULL : *at;
    const spread *x = join_new(s, part, size, n);
    at = ask(s, ASK_JOIN, part, n, size, n);
    if (at) *at = x ? (const void *)x : s; /* the table itself stands for: none can say it */
    return x;
}
