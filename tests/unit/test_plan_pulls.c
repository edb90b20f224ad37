/* Pulls between random layouts, run on real arrays: every rank must get its target shard, fetch
 * nothing that it holds, combine terms in mesh order, and know how many ranks read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout_random.h"
#include "plan/plan.h"

#include <math.h>

enum { ROUNDS = 6000 };
static uint64_t first_seed = 20240701;

typedef struct shards {
    naive_shard of[NAIVE_RANKS];
} shards;
static shards from_shards, to_shards;

typedef struct pair_case {
    mw_mesh *mesh;
    mw_layout from, to;
    uint64_t seed;
} pair_case;

static const char *text_of_case(const pair_case *c, char *to, int size)
{
    char a[256], b[256], m[128];
    (void)mw_layout_print(c->mesh, &c->from, a, sizeof a);
    (void)mw_layout_print(c->mesh, &c->to, b, sizeof b);
    (void)mw_mesh_print(c->mesh, m, sizeof m);
    (void)snprintf(to, (size_t)size, "seed %llu, mesh %s, %s -> %s", (unsigned long long)c->seed, m,
                   a, b);
    return to;
}

#define CASE_FAIL(c, ...)                                                           \
    do {                                                                            \
        char case_text_[768];                                                       \
        print_error("%s: ", text_of_case((c), case_text_, (int)sizeof case_text_)); \
        fail_msg(__VA_ARGS__);                                                      \
    } while (0)

static bool draw_case(pair_case *c, uint64_t seed, bool partial)
{
    c->seed = seed;
    int which = naive_below(&seed, MW_COUNT(random_meshes));
    assert_int_equal(mw_mesh_parse(random_meshes[which], &c->mesh), MW_OK);
    int64_t shape[3];
    int ndim = random_shape(&seed, shape);
    if (naive_below(&seed, 40) == 0) ndim = 0;
    uint32_t all = (1u << mw_mesh_axes(c->mesh)) - 1;
    mw_dtype dtype = partial ? MW_DTYPE_f32 : MW_DTYPE_i32;
    c->from = random_layout(c->mesh, &seed, dtype, ndim, shape,
                            partial ? all & (uint32_t)naive_random(&seed) : all,
                            naive_below(&seed, 3) != 0);
    c->to = random_layout(c->mesh, &seed, dtype, ndim, shape, all, naive_below(&seed, 3) != 0);
    if (ndim > 1 && !partial) {
        random_share_axis(c->mesh, &c->from, 0, 1);
        random_share_axis(c->mesh, &c->to, 1, 0);
    }
    if (partial) random_partials(c->mesh, &seed, &c->from, MW_REDUCE_SUM, all);
    for (int r = 0; r < mw_mesh_ranks(c->mesh); r++) {
        naive_shard_of(c->mesh, &c->from, r, &from_shards.of[r]);
        naive_shard_of(c->mesh, &c->to, r, &to_shards.of[r]);
    }
    return !partial || c->from.npartial > 0;
}

/* ---- without a reduction -------------------------------------------------------------------- */

static void check_moves(const pair_case *c, int rank, const mw_pulls *pulls, bool *reads)
{
    static int32_t source[RANDOM_ELEMENTS], got[RANDOM_ELEMENTS];
    const naive_shard *want = &to_shards.of[rank];
    int64_t own = 0, received = 0;
    for (int i = 0; i < want->n; i++) {
        got[i] = -1;
        if (naive_shard_has(&from_shards.of[rank], want->at[i]))
            own++;
        else
            received++;
    }
    int64_t moved = 0, kept = 0;
    for (int p = 0; p < pulls->npull; p++) {
        const mw_pull *pull = &pulls->pull[p];
        const naive_shard *theirs = &from_shards.of[pull->peer];
        int64_t count = 1;
        for (int d = 0; d < pull->ndim; d++)
            count *= pull->size[d];
        if (pull->peer == rank)
            kept += count;
        else
            moved += count;
        reads[pull->peer] = reads[pull->peer] || count > 0;
        for (int i = 0; i < theirs->n; i++)
            source[i] = theirs->at[i];
        mw__pull_run(pull, MW_DTYPE_i32, source, got);
    }
    for (int i = 0; i < want->n; i++)
        if (got[i] != want->at[i])
            CASE_FAIL(c, "rank %d: local element %d is global %d, not %d", rank, i, got[i],
                      want->at[i]);
    if (moved != received || kept != own || pulls->own != own || pulls->received != received)
        CASE_FAIL(c, "rank %d: boxes move %lld and keep %lld (said %lld, %lld), not %lld and %lld",
                  rank, (long long)moved, (long long)kept, (long long)pulls->received,
                  (long long)pulls->own, (long long)received, (long long)own);
}

static void check_readers(const pair_case *c, const mw_partial *reduce, int n,
                          bool (*reads)[NAIVE_RANKS], mw_arena *arena)
{
    for (int r = 0; r < mw_mesh_ranks(c->mesh); r++) {
        int want = 0, got = -1;
        for (int q = 0; q < mw_mesh_ranks(c->mesh); q++)
            want += q != r && reads[q][r];
        assert_int_equal(mw__pulls_readers(c->mesh, &c->from, &c->to, reduce, n, r, arena, &got),
                         MW_OK);
        if (got != want) CASE_FAIL(c, "rank %d has %d readers, not %d", r, got, want);
    }
}

static void test_pulls_give_the_target_shard_and_fetch_only_what_lacks(void **state)
{
    (void)state;
    mw_arena arena;
    mw__arena_init(&arena);
    printf("seed %llu, %d pairs\n", (unsigned long long)first_seed, ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        pair_case c;
        bool reads[NAIVE_RANKS][NAIVE_RANKS] = {{false}};
        (void)draw_case(&c, first_seed + (uint64_t)round, false);
        mw__arena_clear(&arena);
        for (int r = 0; r < mw_mesh_ranks(c.mesh); r++) {
            mw_pulls pulls;
            assert_int_equal(mw__pulls_make(c.mesh, &c.from, &c.to, NULL, 0, r, &arena, &pulls),
                             MW_OK);
            check_moves(&c, r, &pulls, reads[r]);
        }
        check_readers(&c, NULL, 0, reads, &arena);
        mw_mesh_unref(c.mesh);
    }
    mw__arena_done(&arena);
}

/* ---- with terms ------------------------------------------------------------------------------ */

/* The term that a rank holds of an element: sums of these depend on the order. */
static float term(int at, int rank)
{
    uint64_t seed = (uint64_t)at * 64 + (uint64_t)rank;
    return (float)((double)(naive_random(&seed) >> 20) * 0x1p-30) * (rank % 2 ? -1 : 1);
}

/* Parts of axes on which holders of terms and of other shards differ from me: cuts and partials. */
static int moving_parts(const mw_layout *from, mw_partial *ret_part)
{
    int n = 0;
    for (int i = 0; i < from->npartial; i++)
        ret_part[n++] = from->partial[i];
    for (int d = 0; d < from->ndim; d++)
        for (int i = 0; i < from->dim[d].ncut; i++) {
            const mw_cut *cut = &from->dim[d].cut[i];
            if (cut->axis >= 0)
                ret_part[n++] =
                    (mw_partial){.axis = cut->axis, .major = cut->major, .size = cut->size};
        }
    return n;
}

/* The terms of an element, combined in mesh order: over the places of the grid, row-major. */
static float combined(const pair_case *c, int rank, int at)
{
    int coord[MW_MESH_AXES] = {0}, naxis = mw_mesh_axes(c->mesh);
    mw_partial part[64];
    int npart = moving_parts(&c->from, part);
    float sum = 0;
    bool any = false;
    for (;;) {
        int other = mw_mesh_rank_at(c->mesh, coord);
        if (naive_is_term_of(c->mesh, part, npart, rank, other) &&
            naive_shard_has(&from_shards.of[other], at)) {
            sum = any ? sum + term(at, other) : term(at, other);
            any = true;
        }
        int a = naxis - 1;
        for (; a >= 0 && ++coord[a] == mw_mesh_axis_size(c->mesh, a); a--)
            coord[a] = 0;
        if (a < 0) return sum;
    }
}

static void check_terms(const pair_case *c, int rank, const mw_pulls *pulls, bool *reads)
{
    static float source[RANDOM_ELEMENTS], got[RANDOM_ELEMENTS];
    const naive_shard *want = &to_shards.of[rank];
    int64_t own = 0, terms = 1;
    for (int i = 0; i < c->from.npartial; i++)
        terms *= c->from.partial[i].size;
    for (int i = 0; i < want->n; i++) {
        own += naive_shard_has(&from_shards.of[rank], want->at[i]);
        got[i] = NAN;
    }
    if (pulls->own != own || pulls->received != want->n * terms - own)
        CASE_FAIL(c, "rank %d: own %lld and received %lld, not %lld and %lld", rank,
                  (long long)pulls->own, (long long)pulls->received, (long long)own,
                  (long long)(want->n * terms - own));
    for (int p = 0; p < pulls->npull; p++) {
        const mw_pull *pull = &pulls->pull[p];
        const naive_shard *theirs = &from_shards.of[pull->peer];
        for (int i = 0; i < theirs->n; i++)
            source[i] = term(theirs->at[i], pull->peer);
        mw__pull_run(pull, MW_DTYPE_f32, source, got);
        reads[pull->peer] = true;
    }
    for (int i = 0; i < want->n; i++) {
        float sum = combined(c, rank, want->at[i]);
        if (memcmp(&got[i], &sum, sizeof sum) != 0)
            CASE_FAIL(c, "rank %d: local element %d is %.9g, not %.9g", rank, i, (double)got[i],
                      (double)sum);
    }
}

static void test_terms_are_combined_in_mesh_order(void **state)
{
    (void)state;
    mw_arena arena;
    mw__arena_init(&arena);
    int ran = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pair_case c;
        bool reads[NAIVE_RANKS][NAIVE_RANKS] = {{false}};
        bool partial = draw_case(&c, first_seed + 1000000 + (uint64_t)round, true);
        mw__arena_clear(&arena);
        for (int r = 0; partial && r < mw_mesh_ranks(c.mesh); r++) {
            mw_pulls pulls;
            assert_int_equal(mw__pulls_make(c.mesh, &c.from, &c.to, c.from.partial, c.from.npartial,
                                            r, &arena, &pulls),
                             MW_OK);
            check_terms(&c, r, &pulls, reads[r]);
        }
        if (partial) check_readers(&c, c.from.partial, c.from.npartial, reads, &arena);
        ran += partial;
        mw_mesh_unref(c.mesh);
    }
    mw__arena_done(&arena);
    printf("%d pairs with terms\n", ran);
    assert_true(ran > ROUNDS / 4);
}

static void test_teams_are_the_ranks_that_differ_on_the_axes(void **state)
{
    (void)state;
    for (int m = 0; m < MW_COUNT(random_meshes); m++) {
        mw_mesh *mesh;
        assert_int_equal(mw_mesh_parse(random_meshes[m], &mesh), MW_OK);
        for (uint32_t axes = 0; axes < 1u << mw_mesh_axes(mesh); axes++)
            for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
                int ranks[NAIVE_RANKS], n = mw__team_ranks(mesh, axes, r, ranks), at = 0;
                assert_int_equal(n, mw__team_count(mesh, axes));
                for (int q = 0; q < mw_mesh_ranks(mesh); q++) {
                    bool in = true;
                    for (int a = 0; a < mw_mesh_axes(mesh); a++)
                        in = in && ((axes >> a & 1) ||
                                    mw_mesh_coord(mesh, q, a) == mw_mesh_coord(mesh, r, a));
                    if (in) assert_int_equal(ranks[at++], q);
                }
                assert_int_equal(at, n);
            }
        mw_mesh_unref(mesh);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pulls_give_the_target_shard_and_fetch_only_what_lacks),
        cmocka_unit_test(test_terms_are_combined_in_mesh_order),
        cmocka_unit_test(test_teams_are_the_ranks_that_differ_on_the_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
