/* Operands that lie as a test wants them: cut in any way, in memory that is permuted or has gaps,
 * and partial, their terms really split over the ranks. */
#ifndef TESTS_RUN_OPERAND_H
#define TESTS_RUN_OPERAND_H

#include "layout_random.h"

#include <math.h>
#include <meshwise/meshwise.h>

typedef enum laying { LAY_PLAIN, LAY_PERMUTED, LAY_SLICED } laying;

typedef struct operand_case {
    mw_layout layout;
    uint64_t seed;
    laying laying;
    int order[MW_MAX_DIMS]; /* permuted: dim of the memory that dim d is */
    int sliced;             /* dim that is a part of a longer one */
} operand_case;

/* Terms are whole multiples of the value, and so are all sums of a few: nothing is rounded. */
static inline double sum_term(double value, uint64_t seed, int nth, int terms)
{
    int before = 0, now = 0;
    for (int i = 0; i <= nth; i++) {
        before = now;
        now = i + 1 == terms ? 1 : naive_below(&seed, 4) - 1;
        if (now - before == 3 || now - before == -3) now = before;
    }
    return value * (now - before);
}

static inline double random_unit(uint64_t seed)
{
    return (double)(naive_random(&seed) >> 11) * 0x1p-53;
}

/* The term number `nth` of `terms` of a value. */
static inline double term(unsigned kind, double value, uint64_t seed, int nth, int terms,
                          bool whole)
{
    bool holds = (int)(seed % (uint64_t)terms) == nth;
    double off =
        whole ? floor(3 * random_unit(seed + (uint64_t)nth)) : random_unit(seed + (uint64_t)nth);
    switch ((mw_reduce)kind) {
    case MW_REDUCE_SUM:
        return sum_term(value, seed, nth, terms);
    case MW_REDUCE_AVG:
        return sum_term(value * terms, seed, nth, terms);
    case MW_REDUCE_MAX:
        return holds ? value : value - off;
    case MW_REDUCE_MIN:
        return holds ? value : value + off;
    case MW_REDUCE_PROD:
        return holds ? value : 1;
    case MW_REDUCE_NONE:
    case MW_REDUCE_END:
        break;
    }
    return value;
}

/* Which of the terms this rank holds: its place on the partial axes, first one slowest. */
static inline int term_of_rank(const mw_mesh *mesh, const mw_layout *l, int rank, int *ret_terms)
{
    int nth = 0;
    *ret_terms = 1;
    for (int i = 0; i < l->npartial; i++) {
        const mw_partial *p = &l->partial[i];
        int unit = mw_mesh_axis_size(mesh, p->axis) / (p->major * p->size);
        nth = nth * p->size + mw_mesh_coord(mesh, rank, p->axis) / unit % p->size;
        *ret_terms *= p->size;
    }
    return nth;
}

/* The layout of the memory that the operand is a view of. */
static inline mw_layout memory_layout(const operand_case *c)
{
    mw_layout l = c->layout;
    if (c->laying == LAY_PERMUTED)
        for (int d = 0; d < l.ndim; d++)
            l.dim[c->order[d]] = c->layout.dim[d];
    if (c->laying == LAY_SLICED)
        l.dim[c->sliced] = mw__dim_plain(2 * mw__dim_size(&l.dim[c->sliced]) + 1);
    return l;
}

/* The element of the operand that an element of the memory is, row-major; -1: of none. */
static inline int64_t operand_element(const operand_case *c, const mw_layout *memory, int64_t at)
{
    int64_t index[MW_MAX_DIMS], own[MW_MAX_DIMS], number = 0;
    for (int d = memory->ndim - 1; d >= 0; d--) {
        int64_t size = mw__dim_size(&memory->dim[d]);
        index[d] = at % size;
        at /= size;
    }
    for (int d = 0; d < memory->ndim; d++) {
        own[d] = index[c->laying == LAY_PERMUTED ? c->order[d] : d];
        if (c->laying == LAY_SLICED && d == c->sliced) {
            if (index[d] % 2 == 0) return -1; /* elements 1, 3, 5, ... are its */
            own[d] = index[d] / 2;
        }
        number = number * mw__dim_size(&c->layout.dim[d]) + own[d];
    }
    return number;
}

static inline mw_tensor *view_of(mw_tensor *t, const operand_case *c)
{
    int ndim = c->layout.ndim;
    int64_t dims[MW_MAX_DIMS];
    if (c->laying == LAY_PERMUTED) {
        for (int d = 0; d < ndim; d++)
            dims[d] = c->order[d];
        return mw_permute(t, dims, ndim);
    }
    if (c->laying == LAY_SLICED) return mw_slice(t, c->sliced, 1, mw_tensor_size(t, c->sliced), 2);
    return t;
}

/* The operand with the values of `whole`, lying so, its terms split over the ranks. */
static inline mw_tensor *make_operand(const operand_case *c, const mw_view *whole)
{
    static _Thread_local naive_shard shard;
    const mw_mesh *mesh = mw_mesh_world();
    mw_layout memory = memory_layout(c);
    mw_tensor *t = mw_empty_layout(NULL, &memory);
    void *data;
    int64_t count;
    if (!t || mw_local_data(t, &data, &count) != MW_OK) return NULL;
    naive_shard_of(mesh, &memory, mw_rank_index(), &shard);
    if (count != shard.n) {
        (void)mw_error_set(MW_ERR_INTERNAL, "a shard has %lld elements, not %d", (long long)count,
                           shard.n);
        return NULL;
    }
    mw_dtype dtype = mw__layout_storage_dtype(&memory);
    int64_t size = mw_dtype_size(dtype), from_size = mw_dtype_size(whole->dtype);
    bool is_float = mw_dtype_kind_of(dtype) == MW_KIND_FLOAT;
    int terms, nth = term_of_rank(mesh, &memory, mw_rank_index(), &terms);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = operand_element(c, &memory, shard.at[i]);
        double value =
            at < 0 ? 77 : mw__element_get((char *)whole->data + at * from_size, whole->dtype);
        if (memory.npartial) {
            uint64_t seed = c->seed ^ (uint64_t)shard.at[i] * 0x9e3779b97f4a7c15u;
            naive_random(&seed);
            value = term(memory.partial[0].kind, value, seed, nth, terms, !is_float);
        }
        if (is_float)
            mw__element_set((char *)data + i * size, dtype, value);
        else
            mw__element_set_i64((char *)data + i * size, dtype, (int64_t)value);
    }
    t = view_of(t, c);
    if (t && !mw_layout_equal(mw_tensor_layout(t), &c->layout)) {
        char a[256], b[256];
        (void)mw_layout_print(mesh, mw_tensor_layout(t), a, sizeof a);
        (void)mw_layout_print(mesh, &c->layout, b, sizeof b);
        (void)mw_error_set(MW_ERR_INTERNAL, "a view of memory lies as %s, not %s", a, b);
        return NULL;
    }
    return t;
}

/* ---- drawn at random --------------------------------------------------------------------- */

static inline mw_reduce random_kind(uint64_t *seed, mw_dtype dtype)
{
    static const mw_reduce of_floats[] = {MW_REDUCE_SUM, MW_REDUCE_SUM, MW_REDUCE_SUM,
                                          MW_REDUCE_AVG, MW_REDUCE_MAX, MW_REDUCE_MIN,
                                          MW_REDUCE_PROD};
    static const mw_reduce of_ints[] = {MW_REDUCE_SUM, MW_REDUCE_SUM, MW_REDUCE_MAX, MW_REDUCE_MIN};
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
        return of_floats[naive_below(seed, MW_COUNT(of_floats))];
    if (dtype == MW_DTYPE_u8 || dtype == MW_DTYPE_bool)
        return MW_REDUCE_NONE; /* no terms below 0 */
    return of_ints[naive_below(seed, MW_COUNT(of_ints))];
}

static inline void random_laying(uint64_t *seed, operand_case *c)
{
    int ndim = c->layout.ndim;
    c->laying = ndim == 0 ? LAY_PLAIN : (laying)naive_below(seed, 3);
    if (naive_below(seed, 2)) c->laying = LAY_PLAIN;
    for (int d = 0; d < ndim; d++)
        c->order[d] = d;
    for (int d = ndim - 1; d > 0; d--) {
        int other = naive_below(seed, d + 1), swap = c->order[d];
        c->order[d] = c->order[other], c->order[other] = swap;
    }
    c->sliced = ndim ? naive_below(seed, ndim) : 0;
    if (c->laying == LAY_SLICED && (!mw__dim_whole(&c->layout.dim[c->sliced]) ||
                                    2 * mw__dim_size(&c->layout.dim[c->sliced]) >= NAIVE_SIZE ||
                                    3 * mw__layout_count(&c->layout) > RANDOM_ELEMENTS))
        c->laying = LAY_PLAIN;
}

/* An average of 3 terms rounds, so it becomes a sum. */
static inline void averages_of_powers(mw_layout *l)
{
    int terms = 1;
    for (int i = 0; i < l->npartial; i++)
        terms *= l->partial[i].size;
    for (int i = 0; i < l->npartial; i++)
        if (l->partial[i].kind == MW_REDUCE_AVG && (terms & (terms - 1)))
            l->partial[i].kind = MW_REDUCE_SUM;
}

#endif
