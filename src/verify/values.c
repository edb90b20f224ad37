/* Sets of values, their shards and terms, and results put together again. Everything is index
 * arithmetic over single elements. Terms are random numbers above 1 and below -1 that happen to add
 * up (or that lie below the largest): never the whole and identities, which would let a rule that
 * is right by chance pass. All sums are made in double, which holds the small integers of samples
 * exactly. */
#include "verify/verify.h"

#include <math.h>

/* ---- sets ----------------------------------------------------------------------------------- */

/* What is done to the values of a set, by its number. */
enum { SET_PLAIN, SET_LARGE, SET_EQUAL, SET_SIGNS, SET_STRANGE, SET_KINDS };

static bool is_float(mw_dtype dtype)
{
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT;
}

static double varied(int set, double x, uint64_t bits)
{
    int kind = set % SET_KINDS;
    switch (kind) {
    case SET_LARGE:
        return 3 * x;
    case SET_EQUAL: /* halves: among them equal ones, and zero */
        return rint(x * (2 << set / SET_KINDS % 4)) / 2;
    case SET_SIGNS:
        return bits & 1 ? -x : x;
    default:
        return bits % 8 == 0   ? (double)NAN
               : bits % 8 == 1 ? HUGE_VAL
               : bits % 8 == 2 ? -HUGE_VAL
                               : x;
    }
}

/* Larger values, equal ones, other signs (also where the sample wants positive ones), NaN and
 * infinities. What the op refuses then is given as the sample has it. Integers change their signs
 * only, of one operand at a time: they may be indices. */
static void vary(mw_view *v, int set, int operand, int nin)
{
    int kind = set % SET_KINDS;
    bool floats = is_float(v->dtype), turn = set / SET_KINDS % nin == operand;
    if (kind == SET_PLAIN || (!floats && (kind != SET_SIGNS || !turn))) return;
    if (v->dtype == MW_DTYPE_bool || v->dtype == MW_DTYPE_u8) return;
    int64_t n = mw__view_count(v), size = mw_dtype_size(v->dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)v->data + i * size;
        uint64_t bits = mw__random_bits((uint64_t)(set * MOST_TENSORS + operand), (uint64_t)i) >> 7;
        mw__element_set(at, v->dtype, varied(set, mw__element_get(at, v->dtype), bits));
    }
}

/* The op on one rank. */
static mw_status reference(subject *s, value_set *v)
{
    int nout = s->rule.nout, nin = s->call.nin;
    place *in[MOST_TENSORS], *out[MOST_TENSORS];
    subject alone = *s;
    memset(alone.run, 0, sizeof alone.run);
    alone.scratch = s->arena;
    for (int i = 0; i < nin + nout; i++) {
        const mw_meta *m = i < nin ? &s->call.in[i] : &s->rule.out_meta[i - nin];
        mw_layout whole = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        MW_TRY(mw__place_get(s, i >= nin, i < nin ? i : i - nin, &whole,
                             i < nin ? &in[i] : &out[i - nin]));
    }
    v->out = mw__arena_zalloc(s->arena, (size_t)MW_MAX(nout, 1) * sizeof *v->out);
    v->largest = mw__arena_zalloc(s->arena, (size_t)MW_MAX(nout, 1) * sizeof *v->largest);
    if (!v->out || !v->largest) return MW_NOMEM();
    const ran *r;
    MW_TRY(mw__trial_run(&alone, in, out, (int)(v - s->set), &r));
    v->usable = !r->failed;
    if (r->failed) return MW_OK;
    for (int i = 0; i < nout; i++) {
        v->out[i] = r->result[i];
        int64_t n = mw__view_count(&v->out[i]), size = mw_dtype_size(v->out[i].dtype);
        for (int64_t k = 0; k < n; k++) {
            double x =
                fabs(mw__element_get((const char *)v->out[i].data + k * size, v->out[i].dtype));
            if (isfinite(x) && x > v->largest[i]) v->largest[i] = x;
        }
    }
    return MW_OK;
}

mw_status mw__values_get(subject *s, int set, value_set **ret)
{
    value_set *v = &s->set[set];
    *ret = v;
    if (v->made) return MW_OK;
    for (int plain = 0; plain < 2 && !v->usable; plain++) { /* plain: where larger ones don't do */
        mw_sample sample;
        MW_TRY(mw__sample_read(s->op, s->text, s->seed + (uint64_t)set, s->arena, &sample));
        mw_view *in = mw__arena_alloc(s->arena, (size_t)MW_MAX(s->call.nin, 1) * sizeof *in);
        if (!in) return MW_NOMEM();
        for (int i = 0; i < s->call.nin; i++) {
            in[i] = sample.in[i];
            if (!plain) vary(&in[i], set, i, s->call.nin);
        }
        v->in = in;
        v->made = true;
        MW_TRY(reference(s, v));
        for (int i = 0; i < s->call.nin && !v->usable; i++)
            for (place *p = s->in[i]; p; p = p->next)
                p->shard[set] = NULL;
    }
    return MW_OK;
}

/* ---- shards --------------------------------------------------------------------------------- */

static int64_t whole_index(const place *p, int rank, const int64_t *index, const int64_t *stride)
{
    int64_t at = 0;
    for (int d = 0; d < p->layout.ndim; d++)
        at += p->position[rank * p->layout.ndim + d][index[d]] * stride[d];
    return at;
}

static void next_index(const mw_view *v, int64_t *index)
{
    for (int d = v->ndim - 1; d >= 0 && ++index[d] == v->shape[d]; d--)
        index[d] = 0;
}

/* How many ranks hold a term, and the number of the term that `rank` holds. */
static int terms_of(const mw_mesh *mesh, const mw_layout *l, int rank, int *ret_nth, int *ret_avg)
{
    int coord[MW_MESH_AXES], n = 1, avg = 1;
    mw__mesh_coords(mesh, rank, coord);
    *ret_nth = 0;
    for (int i = 0; i < l->npartial; i++) {
        int size = mesh->size[l->partial[i].axis];
        *ret_nth = *ret_nth * size + coord[l->partial[i].axis];
        n *= size;
        if (l->partial[i].kind == MW_REDUCE_AVG) avg *= size;
    }
    if (ret_avg) *ret_avg = avg;
    return n;
}

/* Above 1 or below -1. */
static double random_term(mw_dtype_kind kind, bool halves, uint64_t stream, uint64_t nth)
{
    double u = mw__random_uniform(stream, nth);
    if (kind != MW_KIND_FLOAT) return floor(u * 19) - 9;
    double size = 1.25 + 4 * mw__random_uniform(stream ^ 0x5a5a, nth);
    if (halves) size = 1.5 + (double)(mw__random_bits(stream, nth) % 2) / 2;
    return u < 0.5 ? -size : size;
}

/* How far a term lies below the maximum. */
static double random_distance(mw_dtype_kind kind, bool halves, uint64_t stream, uint64_t nth)
{
    if (halves && kind == MW_KIND_FLOAT) return (double)(1 + mw__random_bits(stream, nth) % 3) / 2;
    if (halves) return (double)(1 + mw__random_bits(stream, nth) % 3);
    double x = fabs(random_term(kind, false, stream, nth));
    return kind == MW_KIND_INT ? x + 1 : x;
}

/* A term of a maximum or minimum: the whole, or anything beyond it. */
static double extreme(unsigned kind, int n, int nth, double whole, int set, uint64_t stream,
                      uint64_t first, mw_dtype memory)
{
    bool halves = set % SET_KINDS == SET_EQUAL, strange = set % SET_KINDS == SET_STRANGE;
    mw_dtype_kind numbers = mw_dtype_kind_of(memory);
    bool max = kind == MW_REDUCE_MAX;
    uint64_t own = first + 1 + (uint64_t)nth;
    if ((int)(mw__random_bits(stream, first) % (uint64_t)n) == nth) return whole;
    if (numbers == MW_KIND_BOOL) return mw__random_bits(stream, own + 20) & 1 ? whole : !max;
    double x = random_distance(numbers, halves, stream, own);
    if (memory == MW_DTYPE_u8) return max ? MW_MAX(0, whole - x) : MW_MIN(255, whole + x);
    if (isnan(whole) || whole == (max ? HUGE_VAL : -HUGE_VAL)) return x; /* wins over any other */
    if (strange && numbers == MW_KIND_FLOAT && mw__random_bits(stream, own + 40) % 4 == 0)
        return max ? -HUGE_VAL : HUGE_VAL;
    return max ? whole - x : whole + x;
}

/* Term number `nth` of `n` of the element number `at`, which is `whole`. */
static double term(const mw_layout *l, int n, int nth, int avg, double whole, int set,
                   uint64_t stream, int64_t at, mw_dtype memory)
{
    bool halves = set % SET_KINDS == SET_EQUAL;
    unsigned kind = l->partial[0].kind;
    mw_dtype_kind numbers = mw_dtype_kind_of(memory);
    uint64_t first = (uint64_t)at * 64;
    if (kind == MW_REDUCE_SUM || kind == MW_REDUCE_AVG) {
        double left = whole * avg, x = 0;
        for (int i = 0; i < n; i++) {
            x = i < n - 1 ? random_term(numbers, halves, stream, first + (uint64_t)i) : left;
            if (memory == MW_DTYPE_f32) x = (float)x;
            if (i == nth) return x;
            left -= x;
        }
        return x;
    }
    return extreme(kind, n, nth, whole, set, stream, first, memory);
}

static void put(void *to, mw_dtype dtype, double value)
{
    if (is_float(dtype) || dtype == MW_DTYPE_bool)
        mw__element_set(to, dtype, value);
    else
        mw__element_set_i64(to, dtype, (int64_t)value);
}

static mw_status make_shard(subject *s, int operand, const place *p, int set, int rank, mw_view *to)
{
    const mw_view *whole = &s->set[set].in[operand];
    int64_t count = mw__view_count(to), size = mw_dtype_size(to->dtype),
            from_size = mw_dtype_size(whole->dtype), index[MW_MAX_DIMS] = {0};
    size_t bytes = (size_t)(count * size);
    char *data = mw__arena_alloc(s->arena, bytes + 2 * s->slack);
    if (!data) return MW_NOMEM();
    memset(data, 0xff, bytes + 2 * s->slack); /* NaN, or -1: what no kernel should read */
    data += s->slack;
    to->data = data;
    int nth, avg, n = terms_of(s->mesh, &p->layout, rank, &nth, &avg);
    uint64_t stream = mw__random_bits(s->seed + 77, (uint64_t)(set * MOST_TENSORS + operand));
    for (int64_t i = 0; i < count; i++) {
        int64_t at = whole_index(p, rank, index, whole->stride);
        const char *from = (const char *)whole->data + at * from_size;
        if (p->layout.npartial)
            put(data + i * size, to->dtype,
                term(&p->layout, n, nth, avg, mw__element_get(from, whole->dtype), set, stream, at,
                     to->dtype));
        else
            memcpy(data + i * size, from, (size_t)size);
        next_index(to, index);
    }
    return MW_OK;
}

mw_status mw__shards_get(subject *s, int operand, place *p, int set, const mw_view **ret)
{
    int nrank = s->mesh->nrank;
    if (!p->shard[set]) {
        mw_view *shard = mw__arena_alloc(s->arena, (size_t)nrank * sizeof *shard);
        if (!shard) return MW_NOMEM();
        for (int rank = 0; rank < nrank; rank++) {
            shard[rank] = p->local[rank];
            MW_TRY(make_shard(s, operand, p, set, rank, &shard[rank]));
        }
        p->shard[set] = shard;
    }
    *ret = p->shard[set];
    return MW_OK;
}

/* ---- results -------------------------------------------------------------------------------- */

/* Absolute difference allowed from `want`. `coarsest`: of the operands' and the result's dtype;
 * `largest`: the largest number of the result, which may be the sum of such. */
static double allowed(mw_dtype coarsest, double want, double largest)
{
    double size = 1 + fabs(want), all = fmin(largest, 1000);
    if (coarsest == MW_DTYPE_f64) return 1e-10 * size + 1e-11 * all;
    if (coarsest == MW_DTYPE_f32) return 1e-4 * size + 1e-5 * all;
    return (coarsest == MW_DTYPE_f16 ? 0x1p-8 : 0x1p-5) * (size + all / 8);
}

static mw_dtype coarser(mw_dtype a, mw_dtype b)
{
    static const uint8_t rank[MW_DTYPE_END] = {
        [MW_DTYPE_f64] = 1, [MW_DTYPE_f32] = 2, [MW_DTYPE_f16] = 3, [MW_DTYPE_bf16] = 4};
    return rank[b] > rank[a] ? b : a;
}

static bool agrees(mw_dtype dtype, mw_dtype coarsest, double got, double want, double largest)
{
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (!is_float(dtype) || isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= allowed(coarsest, want, largest);
}

static double combine(unsigned kind, double a, double b)
{
    if (kind == MW_REDUCE_MAX) return isnan(a) || a > b ? a : b;
    if (kind == MW_REDUCE_MIN) return isnan(a) || a < b ? a : b;
    return kind == MW_REDUCE_PROD ? a * b : a + b;
}

/* The axes over which the place neither cuts nor has terms: there ranks hold the same. */
static int replica_of(const mw_mesh *mesh, const mw_layout *l, int rank)
{
    int coord[MW_MESH_AXES], at = 0;
    uint32_t used = mw__layout_axes(l) | mw__layout_partial_axes(l);
    mw__mesh_coords(mesh, rank, coord);
    for (int a = 0; a < mesh->naxis; a++)
        if (!(used >> a & 1)) at = at * mesh->size[a] + coord[a];
    return at;
}

/* Adds one rank's shard to the whole. */
static void add_shard(const subject *s, const place *p, const mw_view *shard, int rank,
                      const int64_t *stride, double *sum, int *terms)
{
    int64_t count = mw__view_count(shard), size = mw_dtype_size(shard->dtype);
    int64_t index[MW_MAX_DIMS] = {0};
    int nth, avg;
    (void)terms_of(s->mesh, &p->layout, rank, &nth, &avg);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = whole_index(p, rank, index, stride);
        double x = mw__element_get((const char *)shard->data + i * size, shard->dtype) / avg;
        sum[at] = terms[at] ? combine(p->layout.partial[0].kind, sum[at], x) : x;
        terms[at]++;
        next_index(shard, index);
    }
}

bool mw__values_same(const subject *s, int nth, int set, bool finite, const double *sum,
                     int first_rank, mismatch *ret)
{
    const mw_view *want = &s->set[set].out[nth];
    int64_t count = mw__view_count(want), size = mw_dtype_size(want->dtype);
    mw_dtype coarsest = want->dtype;
    for (int i = 0; i < s->call.nin; i++)
        coarsest = coarser(coarsest, s->call.in[i].dtype);
    for (int64_t i = 0; i < count; i++) {
        double w = mw__element_get((const char *)want->data + i * size, want->dtype), got = sum[i];
        if (mw_dtype_kind_of(want->dtype) == MW_KIND_INT) { /* sums wrap as the dtype does */
            char wrapped[8];
            mw__element_set_i64(wrapped, want->dtype, (int64_t)got);
            if (got == floor(got)) got = mw__element_get(wrapped, want->dtype);
        }
        if (finite ? !isfinite(w) : isinf(w) && isnan(got)) continue; /* infinity less infinity */
        if (agrees(want->dtype, coarsest, got, w, s->set[set].largest[nth])) continue;
        *ret = (mismatch){.result = nth, .rank = first_rank, .got = got, .want = w};
        for (int d = want->ndim - 1, left = (int)i; d >= 0; d--) {
            ret->index[d] = left % (int)want->shape[d];
            left /= (int)want->shape[d];
        }
        return false;
    }
    return true;
}

mw_status mw__values_agree(subject *s, int nth, const place *p, const ran *r, int set,
                           bool *ret_right, mismatch *ret)
{
    const mw_view *want = &s->set[set].out[nth];
    size_t count = (size_t)mw__view_count(want) + 1;
    double *sum = mw__arena_alloc(s->scratch, count * sizeof *sum);
    int *terms = mw__arena_alloc(s->scratch, count * sizeof *terms);
    int nrank = s->mesh->nrank, nout = s->rule.nout;
    bool finite = false; /* of sums of terms only what is finite is promised */
    for (int i = 0; i < s->call.nin; i++)
        finite = finite || mw__place_sums(r->in[i]);
    if (!sum || !terms) return MW_NOMEM();
    *ret_right = true;
    for (int group = 0; group < nrank && *ret_right; group++) {
        int first = -1;
        memset(terms, 0, count * sizeof *terms);
        for (int rank = 0; rank < nrank; rank++) {
            if (replica_of(s->mesh, &p->layout, rank) != group) continue;
            if (first < 0) first = rank;
            add_shard(s, p, &r->result[rank * nout + nth], rank, want->stride, sum, terms);
        }
        if (first >= 0) *ret_right = mw__values_same(s, nth, set, finite, sum, first, ret);
    }
    return MW_OK;
}

bool mw__place_sums(const place *p)
{
    unsigned kind = p->layout.npartial ? p->layout.partial[0].kind : 0;
    return kind == MW_REDUCE_SUM || kind == MW_REDUCE_AVG;
}

bool mw__values_strange(int set)
{
    return set % SET_KINDS == SET_STRANGE;
}
