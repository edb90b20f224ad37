/* A plan put to the test: run on thread ranks, by the executor that runs every redistribution, on
 * data of which each element is known (its global index, or terms that follow from it), and every
 * element of every rank's target shard looked at. */
#include "plan/planner.h"
#include "run/run.h"

#include <math.h>
#include <stdatomic.h>

typedef struct trial {
    const mw_planned *planned;
    _Atomic int64_t checked, wrong;
} trial;

/* ---- what each element is ----------------------------------------------------------------------
 */

/* Whole numbers below this are exact in the dtype. */
static int64_t most_exact(mw_dtype dtype)
{
    if (dtype == MW_DTYPE_bool) return 2;
    if (dtype == MW_DTYPE_bf16) return 1 << 8;
    if (dtype == MW_DTYPE_f16) return 1 << 11;
    if (dtype == MW_DTYPE_f32) return 1 << 24;
    int64_t size = mw_dtype_size(dtype);
    return size >= 8 ? (int64_t)1 << 53 : (int64_t)1 << (8 * size - 1);
}

/* The terms of one element add up to less than `most`, or are 1 and -1. `digits` tells which rank's
 * term it is. */
static double term_of(const mw_layout *from, int64_t most, int64_t index, int64_t digits)
{
    if (from->npartial == 0) return (double)(index % most);
    int64_t terms = 1, averaged = 1;
    bool multiplies = false, bounded = true;
    for (int i = 0; i < from->npartial; i++) {
        unsigned kind = from->partial[i].kind;
        terms *= from->partial[i].size;
        if (kind == MW_REDUCE_AVG) averaged *= from->partial[i].size;
        multiplies = multiplies || kind == MW_REDUCE_PROD;
        bounded = bounded && (kind == MW_REDUCE_MAX || kind == MW_REDUCE_MIN);
    }
    uint64_t hash = mw__hash(17, &index, sizeof index);
    hash = mw__hash(hash, &digits, sizeof digits) >> 20;
    bool is_signed =
        mw_dtype_kind_of((mw_dtype)from->dtype) != MW_KIND_BOOL && from->dtype != MW_DTYPE_u8;
    if (multiplies) return hash % 2 && is_signed ? -1 : 1;
    if (bounded) return (double)(hash % (uint64_t)most);
    uint64_t room = (uint64_t)MW_MAX(2, most / MW_MAX(1, terms * averaged));
    return (double)(hash % room) * (double)averaged;
}

/* A rank's digits on the partial axes of `of`, those with a bit in `which` only, as one number. */
static int64_t digits_of(const mw_mesh *mesh, const mw_layout *of, unsigned which, int rank)
{
    int coord[MW_MESH_AXES];
    int64_t digits = 0;
    mw__mesh_coords(mesh, rank, coord);
    for (int i = 0; i < of->npartial; i++) {
        const mw_partial *p = &of->partial[i];
        int unit = mesh->size[p->axis] / (p->major * p->size);
        digits = digits * p->size + (which >> i & 1 ? coord[p->axis] / unit % p->size : 0);
    }
    return digits;
}

static bool holds_value(const mw_partial *made, int nmade, const mw_mesh *mesh, int rank)
{
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, rank, coord);
    for (int i = 0; i < nmade; i++) {
        int unit = mesh->size[made[i].axis] / (made[i].major * made[i].size);
        bool alike = made[i].kind == MW_REDUCE_AVG || made[i].kind == MW_REDUCE_MAX ||
                     made[i].kind == MW_REDUCE_MIN;
        if (!alike && coord[made[i].axis] / unit % made[i].size != 0) return false;
    }
    return true;
}

/* What a rank must hold in the end. */
typedef struct expectation {
    const mw_layout *from;
    int64_t most;
    unsigned combined; /* partial axes of the source whose terms are combined */
    int64_t kept;      /* the rank's digits on the others */
    double factor;     /* of kept terms: those of an average that have become terms of a sum */
    bool has_value;    /* else the identity of `made` */
    double identity;
} expectation;

static void expect(const mw_planned *p, int rank, expectation *e)
{
    const mw_layout *from = &p->plan.from;
    bool one_mesh = mw_mesh_same(p->mesh, p->to_mesh);
    mw_partial made[MW_LAYOUT_PARTIALS];
    unsigned kept = 0, new_ones = (1u << p->to.npartial) - 1;
    int nmade = 0;
    double factor = 1;
    for (int i = 0; i < from->npartial; i++)
        for (int j = 0; j < p->to.npartial && one_mesh; j++) {
            const mw_partial *a = &from->partial[i], *b = &p->to.partial[j];
            if (a->axis != b->axis || a->major != b->major || a->size != b->size) continue;
            bool scaled = a->kind == MW_REDUCE_AVG && b->kind == MW_REDUCE_SUM;
            if (a->kind != b->kind && !scaled) continue;
            if (scaled) factor /= a->size;
            kept |= 1u << i;
            new_ones &= ~(1u << j);
        }
    for (int j = 0; j < p->to.npartial; j++)
        if (new_ones >> j & 1) made[nmade++] = p->to.partial[j];
    *e = (expectation){from,
                       most_exact((mw_dtype)from->dtype),
                       ((1u << from->npartial) - 1) & ~kept,
                       digits_of(p->mesh, from, kept, rank),
                       factor,
                       holds_value(made, nmade, p->to_mesh, rank),
                       nmade ? mw__reduce_identity((mw_reduce)made[0].kind) : 0};
}

/* The terms of an element, combined one partial axis after the other, the last one innermost. */
static double combine(const expectation *e, int64_t index, int at, int64_t digits)
{
    const mw_layout *from = e->from;
    if (at == from->npartial) return term_of(from, e->most, index, digits);
    const mw_partial *p = &from->partial[at];
    int64_t weight = 1;
    for (int i = at + 1; i < from->npartial; i++)
        weight *= from->partial[i].size;
    if (!(e->combined >> at & 1))
        return combine(e, index, at + 1, digits + e->kept / weight % p->size * weight);
    double result = combine(e, index, at + 1, digits);
    for (int64_t i = 1; i < p->size; i++) {
        double next = combine(e, index, at + 1, digits + i * weight);
        if (p->kind == MW_REDUCE_MAX)
            result = fmax(result, next);
        else if (p->kind == MW_REDUCE_MIN)
            result = fmin(result, next);
        else if (p->kind == MW_REDUCE_PROD)
            result *= next;
        else
            result += next;
    }
    if (p->kind == MW_REDUCE_AVG) result /= (double)p->size;
    return from->dtype == MW_DTYPE_bool && result > 1 ? 1 : result;
}

/* ---- every element of a shard ------------------------------------------------------------------
 */

/* Global positions of a rank's shard, dim by dim, and how far it has been walked through. */
typedef struct walk {
    int ndim;
    int64_t count, *position[MW_LAYOUT_DIMS], size[MW_LAYOUT_DIMS], at[MW_LAYOUT_DIMS],
        stride[MW_LAYOUT_DIMS];
} walk;

static mw_status start_walk(const mw_mesh *mesh, const mw_layout *l, int rank, mw_arena *arena,
                            walk *w)
{
    int coord[MW_MESH_AXES];
    mw__mesh_coords(mesh, rank, coord);
    w->ndim = l->ndim;
    w->count = 1;
    int64_t stride = 1;
    for (int d = l->ndim - 1; d >= 0; d--) {
        int64_t n = mw__dim_ranges(mesh, &l->dim[d], coord, NULL, 0);
        mw_range *range = mw__arena_alloc(arena, (size_t)MW_MAX(n, 1) * sizeof *range);
        w->size[d] = mw__dim_local_size(mesh, &l->dim[d], coord);
        w->position[d] = mw__arena_alloc(arena, (size_t)MW_MAX(w->size[d], 1) * sizeof(int64_t));
        if (!range || !w->position[d]) return MW_NOMEM();
        (void)mw__dim_ranges(mesh, &l->dim[d], coord, range, n);
        for (int64_t i = 0, k = 0; i < n; i++)
            for (int64_t x = range[i].first; x < range[i].end; x++)
                w->position[d][k++] = x;
        w->at[d] = 0;
        w->stride[d] = stride;
        stride *= mw__dim_size(&l->dim[d]);
        w->count *= w->size[d];
    }
    return MW_OK;
}

static int64_t next_index(walk *w)
{
    int64_t index = 0;
    for (int d = 0; d < w->ndim; d++)
        index += w->position[d][w->at[d]] * w->stride[d];
    for (int d = w->ndim - 1; d >= 0 && ++w->at[d] == w->size[d]; d--)
        w->at[d] = 0;
    return index;
}

static void put(char *at, mw_dtype dtype, double value)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
        mw__element_set(at, dtype, value);
    else
        mw__element_set_i64(at, dtype, (int64_t)value);
}

static double get(const char *at, mw_dtype dtype)
{
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT ? mw__element_get(at, dtype)
                                                    : (double)mw__element_get_i64(at, dtype);
}

static mw_status fill_source(mw_rank *rank, const mw_planned *p, mw_tensor *t)
{
    const mw_layout *from = &p->plan.from;
    walk w;
    MW_TRY(start_walk(p->mesh, from, rank->index, &rank->plan_scratch, &w));
    int64_t most = most_exact((mw_dtype)from->dtype), size = mw_dtype_size(t->local.dtype);
    int64_t digits = digits_of(p->mesh, from, ~0u, rank->index);
    for (int64_t i = 0; i < w.count; i++)
        put((char *)t->local.data + i * size, t->local.dtype,
            term_of(from, most, next_index(&w), digits));
    return MW_OK;
}

/* A value that has been through the dtype: what rounding makes of it is no fault of the plan's. */
static bool is_right(const char *at, mw_dtype dtype, double expected)
{
    char rounded[8];
    put(rounded, dtype, expected);
    double want = get(rounded, dtype), have = get(at, dtype);
    return have == want || fabs(have - want) <= 1e-6 * fabs(want);
}

static mw_status check_target(mw_rank *rank, trial *t, const mw_tensor *out)
{
    const mw_planned *p = t->planned;
    walk w;
    expectation e;
    MW_TRY(start_walk(p->to_mesh, &p->to, rank->index, &rank->plan_scratch, &w));
    expect(p, rank->index, &e);
    int64_t wrong = 0, size = mw_dtype_size(out->local.dtype);
    for (int64_t i = 0; i < w.count; i++) {
        double expected = e.has_value ? combine(&e, next_index(&w), 0, 0) * e.factor : e.identity;
        if (!is_right((const char *)out->local.data + i * size, out->local.dtype, expected))
            wrong++;
    }
    atomic_fetch_add(&t->checked, w.count);
    atomic_fetch_add(&t->wrong, wrong);
    return MW_OK;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static mw_status run_here(mw_rank *rank, trial *t)
{
    const mw_planned *p = t->planned;
    mw_tensor *source = mw_empty_layout(p->mesh, &p->plan.from), *out = NULL;
    if (!source) return mw_last_error()->code;
    mw_redist *redist = NULL;
    mw__arena_clear(&rank->plan_scratch);
    MW_TRY(fill_source(rank, p, source));
    MW_TRY(mw__redist_planned(rank, source->type, &p->plan, p->to_mesh, &p->to, &redist));
    mw_reason reason = {"plan", "", "", true};
    mw_status status = mw__redist_run(rank, redist, source, &reason, &out);
    if (status == MW_OK) status = check_target(rank, t, out);
    if (out) mw__tensor_drop(rank, out);
    if (status == MW_OK) status = mw_barrier(); /* nobody reads what ends here any more */
    mw__redist_free(redist);
    return status;
}

static mw_status program(void *user)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    return run_here(rank, user);
}

mw_status mw_planned_run(const mw_planned *planned, int64_t *ret_checked, int64_t *ret_wrong)
{
    const mw_layout *from = &planned->plan.from;
    for (int i = 0; i < from->npartial; i++)
        if (from->partial[i].kind == MW_REDUCE_AVG &&
            mw_dtype_kind_of((mw_dtype)from->dtype) != MW_KIND_FLOAT)
            return MW_FAIL(MW_ERR_UNSUPPORTED, "an average of %s is not a number of that dtype",
                           mw_dtype_name((mw_dtype)from->dtype));
    trial t = {.planned = planned};
    mw_launch_options options = {.mesh = planned->facts.mesh};
    MW_TRY(mw_launch(&options, program, &t));
    *ret_checked = atomic_load(&t.checked);
    *ret_wrong = atomic_load(&t.wrong);
    return MW_OK;
}
