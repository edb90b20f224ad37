/* Random programs: chains of views, products, reductions, joins and marks, drawn from a seed, run
 * on many meshes and compared with one rank. What single calls can't show: the layouts, strides and
 * partial terms that calls leave to each other.
 *
 *     test_run_programs [programs [seed]] */
#include "run_check.h"

#include "layout_random.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 24, POOL = 6, MOST = 600, KEPT = STEPS * MOST };

static int programs = 60;
static uint64_t first_seed = 20241011;

typedef struct run {
    uint64_t seed;
    bool reference;
    double value[STEPS][MOST]; /* of every step's result, on one rank */
    int count[STEPS];
    char says[STEPS][64];
} run;

static int below(uint64_t *seed, int n)
{
    return naive_below(seed, n);
}

static int64_t count_of(const mw_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < mw_tensor_ndim(t); d++)
        n *= mw_tensor_size(t, d);
    return n;
}

static mw_tensor *fresh(uint64_t *seed)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 6, 8};
    int64_t shape[3], n = 1;
    int ndim = 1 + below(seed, 3);
    for (int d = 0; d < ndim; d++)
        n *= shape[d] = sizes[below(seed, 6)];
    double data[512];
    for (int64_t i = 0; i < n; i++)
        data[i] = below(seed, 9) - 4;
    return mw_from_data(MW_DTYPE_f64, shape, ndim, data, NULL, "replicated");
}

/* Other dims of the same product: two joined, or one parted. */
static mw_tensor *reshaped(uint64_t *seed, mw_tensor *t)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_tensor_ndim(t), n = 0, at = ndim ? below(seed, ndim) : 0;
    bool part = below(seed, 2) && ndim < 5;
    for (int d = 0; d < ndim; d++) {
        int64_t size = mw_tensor_size(t, d);
        if (d == at && part) {
            int64_t k = size % 2 == 0 ? 2 : size % 3 == 0 ? 3 : 1;
            if (below(seed, 2) && size) k = size / k;
            shape[n++] = k;
            shape[n++] = k ? size / k : 0;
        } else if (d == at + 1 && !part) {
            shape[n - 1] *= size;
        } else {
            shape[n++] = size;
        }
    }
    return mw_view(t, shape, n);
}

static mw_tensor *permuted(uint64_t *seed, mw_tensor *t)
{
    int64_t order[MW_LAYOUT_DIMS];
    int ndim = mw_tensor_ndim(t);
    for (int d = 0; d < ndim; d++)
        order[d] = d;
    for (int d = ndim - 1; d > 0; d--) {
        int other = below(seed, d + 1);
        int64_t swap = order[d];
        order[d] = order[other], order[other] = swap;
    }
    return mw_permute(t, order, ndim);
}

static mw_tensor *sliced(uint64_t *seed, mw_tensor *t)
{
    int ndim = mw_tensor_ndim(t);
    if (ndim == 0) return mw_alias(t);
    int d = below(seed, ndim);
    int64_t size = mw_tensor_size(t, d), first = size > 1 ? below(seed, (int)size - 1) : 0;
    return mw_slice(t, d, first, size, 1 + below(seed, 2));
}

/* A mark drawn from the mesh's own stream: the program's goes on alike everywhere. */
static mw_tensor *marked(uint64_t seed, mw_tensor *t)
{
    const mw_mesh *mesh = mw_mesh_world();
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_tensor_ndim(t);
    for (int d = 0; d < ndim; d++)
        shape[d] = mw_tensor_size(t, d);
    for (int d = 0; d < ndim; d++)
        if (shape[d] > 40) return t;
    uint32_t all = (1u << mw_mesh_axes(mesh)) - 1;
    mw_layout l = random_layout(mesh, &seed, MW_DTYPE_f64, ndim, shape, all, below(&seed, 3) == 0);
    if (below(&seed, 3) == 0)
        random_partials(mesh, &seed, &l, below(&seed, 4) ? MW_REDUCE_SUM : MW_REDUCE_MAX, all);
    return mw_mark_layout(t, NULL, &l);
}

static mw_tensor *matrix(mw_tensor *t)
{
    int ndim = mw_tensor_ndim(t);
    if (ndim == 2) return t;
    int64_t last = ndim ? mw_tensor_size(t, -1) : 1;
    return last ? mw_reshape(t, MW_INTS(count_of(t) / last, last)) : NULL;
}

static mw_tensor *product(mw_tensor *a, mw_tensor *b)
{
    a = matrix(a);
    b = matrix(b);
    if (mw_tensor_size(a, 1) == mw_tensor_size(b, 0)) return mw_mm(a, b);
    if (mw_tensor_size(a, 1) == mw_tensor_size(b, 1)) return mw_linear(a, b, NULL);
    return mw_mm(a, mw_permute(a, MW_INTS(1, 0)));
}

static bool same_shape(const mw_tensor *a, const mw_tensor *b)
{
    bool same = mw_tensor_ndim(a) == mw_tensor_ndim(b);
    for (int d = 0; same && d < mw_tensor_ndim(a); d++)
        same = mw_tensor_size(a, d) == mw_tensor_size(b, d);
    return same;
}

static mw_tensor *reduced(uint64_t *seed, mw_tensor *t)
{
    int ndim = mw_tensor_ndim(t);
    if (ndim == 0) return mw_neg(t);
    int64_t d = below(seed, ndim);
    bool keep = below(seed, 2);
    if (mw_tensor_size(t, (int)d) && below(seed, 3) == 0) return mw_amax(t, &d, 1, keep);
    return mw_sum_dim_intlist(t, &d, 1, keep, MW_DTYPE_NONE);
}

static mw_tensor *joined(uint64_t *seed, mw_tensor *a, mw_tensor *b)
{
    if (!same_shape(a, b)) b = a;
    mw_tensor *both[] = {a, mw_mul_scalar(b, 2)};
    int ndim = mw_tensor_ndim(a);
    if (ndim == 0 || below(seed, 2)) return mw_stack(both, 2, below(seed, ndim + 1));
    return mw_cat(both, 2, below(seed, ndim));
}

static mw_tensor *combined(uint64_t *seed, mw_tensor *a, mw_tensor *b)
{
    if (!same_shape(a, b)) b = mw_add_scalar(a, 1, 1);
    switch (below(seed, 4)) {
    case 0:
        return mw_add(a, b, -2);
    case 1:
        return mw_mul(a, b);
    case 2:
        return mw_where_self(mw_gt_scalar(a, 0.5), b, a);
    default:
        return mw_maximum(a, b);
    }
}

static const char *const words[] = {"fresh", "reshape", "permute",   "slice",   "mark",
                                    "mm",    "reduce",  "join",      "combine", "scale",
                                    "relu",  "softmax", "unsqueeze", "to"};

static mw_tensor *step(uint64_t *seed, int which, mw_tensor *a, mw_tensor *b, uint64_t own)
{
    switch (which) {
    case 1:
        return reshaped(seed, a);
    case 2:
        return permuted(seed, a);
    case 3:
        return sliced(seed, a);
    case 4:
        return marked(own, a);
    case 5:
        return product(a, b);
    case 6:
        return reduced(seed, a);
    case 7:
        return joined(seed, a, b);
    case 8:
        return combined(seed, a, b);
    case 9:
        return mw_mul_scalar(a, below(seed, 2) ? -1 : 0.5);
    case 10:
        return mw_relu(a);
    case 11:
        return mw_tensor_ndim(a) ? mw_softmax_int(a, below(seed, mw_tensor_ndim(a)), MW_DTYPE_NONE)
                                 : mw_neg(a);
    case 12:
        return mw_tensor_ndim(a) < 5 ? mw_unsqueeze(a, below(seed, mw_tensor_ndim(a) + 1))
                                     : mw_squeeze(a);
    case 13:
        return mw_to_dtype(a, MW_DTYPE_f64, false, true);
    default:
        return fresh(seed);
    }
}

static mw_status check(run *r, int nth, mw_tensor *t)
{
    double got[MOST];
    int n = (int)count_of(t);
    EXPECT_OK(mw_read(t, MW_DTYPE_f64, got, n * 8));
    if (r->reference) {
        memcpy(r->value[nth], got, (size_t)n * sizeof *got);
        r->count[nth] = n;
        return MW_OK;
    }
    EXPECT_INT(n, r->count[nth]);
    for (int i = 0; i < n; i++) {
        double want = r->value[nth][i];
        if (got[i] != want && !(fabs(got[i] - want) <= 1e-9 * (1 + fabs(want))))
            return run_wrong(
                __FILE__, __LINE__, "seed %llu, step %d (%s): element %d of %s is %.17g, not %.17g",
                (unsigned long long)r->seed, nth, r->says[nth], i, run_layout(t), got[i], want);
    }
    return MW_OK;
}

static mw_status program(void *user)
{
    run *r = user;
    uint64_t seed = r->seed, own = r->seed ^ (uint64_t)mw_mesh_ranks(mw_mesh_world()) * 977;
    mw_tensor *pool[POOL];
    for (int i = 0; i < POOL; i++)
        pool[i] = mw_mark_sharding(fresh(&seed), NULL, "replicated");
    for (int i = 0; i < POOL; i++)
        pool[i] = marked(naive_random(&own), pool[i]);
    for (int i = 0; i < STEPS; i++) {
        int which = below(&seed, MW_COUNT(words)), a = below(&seed, POOL), b = below(&seed, POOL);
        int to = below(&seed, POOL);
        if (r->reference) (void)snprintf(r->says[i], sizeof r->says[i], "%s", words[which]);
        mw_tensor *t = step(&seed, which, pool[a], pool[b], naive_random(&own));
        if (!t)
            return run_wrong(__FILE__, __LINE__, "seed %llu, step %d (%s of %s) fails at %s",
                             (unsigned long long)r->seed, i, words[which], run_layout(pool[a]),
                             mw_last_error()->where);
        mw_status status = count_of(t) <= MOST ? check(r, i, t) : MW_OK;
        if (status != MW_OK) return status;
        if (count_of(t) <= 256 && mw_tensor_ndim(t) < 6) pool[to] = t;
    }
    for (int i = 0; i < POOL; i++) { /* nobody has spoilt what was made before */
        double sum;
        EXPECT_OK(mw_item(mw_sum(pool[i], MW_DTYPE_NONE), &sum));
    }
    return MW_OK;
}

static void test_programs_give_the_same_on_every_mesh(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2",     "x=3",         "x=4",
                                         "x=2,y=2", "x=2,y=2,z=2", "x=2,y=3 ids=[4,1,0,5,3,2]"};
    run *r = calloc(1, sizeof *r);
    assert_non_null(r);
    printf("seed %llu, %d programs of %d steps\n", (unsigned long long)first_seed, programs, STEPS);
    for (int i = 0; i < programs; i++) {
        r->seed = first_seed + (uint64_t)i;
        r->reference = true;
        run_with((mw_launch_options){.mesh = "x=1"}, program, r);
        r->reference = false;
        for (int m = 0; m < MW_COUNT(meshes); m++)
            run_with((mw_launch_options){.mesh = meshes[m], .timeout = 60}, program, r);
    }
    free(r);
}

int main(int argc, char **argv)
{
    if (argc > 1) programs = (int)strtol(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_give_the_same_on_every_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
