/* The threads backend carrying data: collectives built from pulls against their definition,
 * bitwise; many small ones at uneven speeds; overlapping teams; more ranks than cores; buffers that
 * outlive their owners' interest in them. Terms are (i + rank + 1) % 8: float sums of these are
 * exact. */
#include "comm_world.h"

#include <time.h>

static const uint64_t SEED = 20240607;

static float term(int64_t i, int rank)
{
    return (float)((i + rank + 1) % 8);
}

static void nap(uint64_t *seed)
{
    if (random_below(seed, 50)) return;
    struct timespec t = {0, random_below(seed, 200) * 1000L};
    (void)nanosleep(&t, NULL);
}

/* What the team agrees on, from the kind of transfer and its size. */
static uint64_t agree(int kind, int64_t n)
{
    int64_t both[2] = {kind, n};
    return mw__hash(1, both, sizeof both);
}

typedef struct buffer {
    mw_storage *storage; /* NULL: plain memory */
    float *at;
    int64_t n;
} buffer;

static buffer new_buffer(world *w, int64_t n, bool plain)
{
    buffer b = {.n = n};
    if (plain) {
        b.at = mw__alloc((size_t)n * sizeof *b.at);
    } else {
        CHECK(w, mw__storage_new(n * (int64_t)sizeof *b.at, &b.storage) == MW_OK, "no memory");
        b.at = b.storage->data;
    }
    return b;
}

/* Spoils plain memory, which a transfer that has returned may not be reading any more. */
static void free_buffer(buffer *b)
{
    if (b->storage) {
        mw__storage_unref(b->storage);
        return;
    }
    memset(b->at, 0xff, (size_t)b->n * sizeof *b->at);
    mw__free(b->at, (size_t)b->n * sizeof *b->at);
}

enum { ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, ALL_REDUCE, SHIFT, KINDS };
static const char *const kind_name[KINDS] = {"all_gather", "all_to_all", "reduce_scatter",
                                             "all_reduce", "shift"};

/* Whole, or in halves with work between them: ranks need not do alike. */
static mw_status run_transfer(mw_comm *comm, const mw_transfer *t, uint64_t draw)
{
    if (draw % 2) return mw__comm_transfer(comm, t);
    MW_TRY(mw__comm_begin(comm, t));
    nap(&draw);
    MW_TRY(mw__comm_wait_readers(comm, &(mw_storage){0}));
    return mw__comm_end(comm, t);
}

/* One transfer of `kind` with k elements a rank (all_reduce: k in all) over the team; the terms are
 * those of the ranks' numbers in the world. Checks all that comes. */
static void one_transfer(world *w, mw_comm *comm, mw_team *team, int kind, int64_t k, bool plain)
{
    int p = mw__team_size(team), me = mw__team_me(team), rank = mw__comm_rank(comm);
    bool spread = kind == ALL_TO_ALL || kind == REDUCE_SCATTER;
    buffer from = new_buffer(w, spread ? p * k : k, plain);
    int64_t nto = kind == ALL_GATHER || kind == ALL_TO_ALL ? p * k : k;
    buffer to = new_buffer(w, nto, true);
    for (int64_t i = 0; i < from.n; i++)
        from.at[i] = term(i, rank);
    mw_pull pull[WORLD_RANKS];
    int npull = kind == SHIFT ? 1 : p, source = (me + 1) % p;
    for (int i = 0; i < npull; i++) {
        int peer = mw__team_rank(team, kind == SHIFT ? source : i);
        bool reduce = kind == REDUCE_SCATTER || kind == ALL_REDUCE;
        pull[i] = pull_row(peer, reduce && i ? MW_REDUCE_SUM : MW_REDUCE_NONE, spread ? me * k : 0,
                           reduce || kind == SHIFT ? 0 : i * k, k);
    }
    char what[64];
    (void)snprintf(what, sizeof what, "%s f32[%lld]", kind_name[kind], (long long)k);
    mw_transfer transfer = {.what = what,
                            .hash = agree(kind, k),
                            .team = team,
                            .dtype = MW_DTYPE_f32,
                            .from = from.at,
                            .storage = from.storage,
                            .to = to.at,
                            .pull = pull,
                            .npull = npull,
                            .nreader = kind == SHIFT ? p > 1 : p - 1};
    uint64_t draw = mw__hash((uint64_t)(kind * 1000 + k), &rank, sizeof rank);
    CHECK(w, run_transfer(comm, &transfer, draw) == MW_OK, "%s", mw_last_error()->says);
    for (int64_t i = 0; i < nto; i++) {
        int peer = mw__team_rank(team, kind == SHIFT ? source : (int)(i / MW_MAX(k, 1)) % p);
        float want = kind == ALL_GATHER   ? term(i % k, peer)
                     : kind == ALL_TO_ALL ? term(me * k + i % k, peer)
                     : kind == SHIFT      ? term(i, peer)
                                          : 0;
        if (kind == REDUCE_SCATTER || kind == ALL_REDUCE)
            for (int j = 0; j < p; j++)
                want += term((spread ? me * k : 0) + i, mw__team_rank(team, j));
        CHECK(w, memcmp(&want, &to.at[i], sizeof want) == 0,
              "%s of %d ranks, k %lld: [%lld] %g, not %g", kind_name[kind], p, (long long)k,
              (long long)i, (double)to.at[i], (double)want);
    }
    free_buffer(&from);
    free_buffer(&to);
}

static void every_kind_and_count(world *w, mw_comm *comm, int rank)
{
    static const int64_t counts[] = {0, 1, 31, 576, 5003};
    mw_team *team = whole_team(w, comm);
    (void)rank;
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < MW_COUNT(counts); c++)
            for (int plain = 0; plain < 2; plain++)
                one_transfer(w, comm, team, kind, counts[c], plain);
}

static void test_collectives_give_the_reference_bits(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < MW_COUNT(sizes); i++) {
        world w = {.nrank = sizes[i], .body = every_kind_and_count};
        world_run(&w, NULL);
    }
}

/* All ranks draw kinds and counts from one stream, naps from their own. */
static void many_small(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    uint64_t common = w->seed, own = w->seed + (uint64_t)rank + 1;
    int rounds = *(const int *)w->arg;
    for (int i = 0; i < rounds && !w->found; i++) {
        int kind = random_below(&common, KINDS + 1), k = random_below(&common, 40);
        bool plain = random_below(&own, 4) == 0;
        nap(&own);
        if (kind < KINDS)
            one_transfer(w, comm, team, kind, k, plain);
        else
            CHECK(w, mw__comm_barrier(comm, team, "a barrier") == MW_OK, "%s",
                  mw_last_error()->says);
    }
}

static void test_thousands_of_small_transfers_at_uneven_speeds(void **state)
{
    (void)state;
    static const int sizes[] = {2, 3, 5};
    for (int i = 0; i < MW_COUNT(sizes); i++) {
        world w = {.nrank = sizes[i], .body = many_small, .arg = &(int){3000}, .seed = SEED};
        world_run(&w, NULL);
    }
}

static void test_many_more_ranks_than_cores_get_on(void **state)
{
    (void)state;
    world w = {.nrank = 64, .body = many_small, .arg = &(int){60}, .seed = SEED};
    world_run(&w, NULL);
}

static void test_ranks_spin_or_give_way_alike(void **state)
{
    (void)state;
    for (int cores = 1; cores <= 4; cores += 3) {
        world w = {.nrank = 3, .body = many_small, .arg = &(int){500}, .seed = SEED + 1};
        world_run(&w, &(mw_comm_options){.cores = cores});
    }
}

/* Rank 3 r + c of a 2 x 3 grid: its row, its column, and all. */
static void rows_and_columns(world *w, mw_comm *comm, int rank)
{
    int r = rank / 3, c = rank % 3;
    int row[3] = {3 * r, 3 * r + 1, 3 * r + 2}, column[2] = {c, 3 + c};
    mw_team *team[3] = {NULL, NULL, whole_team(w, comm)};
    CHECK(w, mw__comm_team(comm, row, 3, &team[0]) == MW_OK, "%s", mw_last_error()->says);
    CHECK(w, mw__comm_team(comm, column, 2, &team[1]) == MW_OK, "%s", mw_last_error()->says);
    uint64_t common = w->seed, own = w->seed + (uint64_t)rank + 1;
    for (int i = 0; i < 1500 && !w->found; i++) {
        int which = random_below(&common, 5) % 3, kind = random_below(&common, KINDS);
        nap(&own);
        one_transfer(w, comm, team[which], kind, random_below(&common, 30), i % 2);
    }
}

static void test_overlapping_teams_interleave(void **state)
{
    (void)state;
    world w = {.nrank = 6, .body = rows_and_columns, .seed = SEED + 2};
    world_run(&w, NULL);
}

/* Each row goes its own way between two collectives of all. */
static void rows_apart(world *w, mw_comm *comm, int rank)
{
    int r = rank / 2, row[2] = {2 * r, 2 * r + 1};
    mw_team *team = NULL, *all = whole_team(w, comm);
    CHECK(w, mw__comm_team(comm, row, 2, &team) == MW_OK, "%s", mw_last_error()->says);
    for (int i = 0; i < 200 && !w->found; i++) {
        for (int j = 0; j < (i + 3 * r) % 7; j++)
            one_transfer(w, comm, team, (i + j + r) % KINDS, 5 + r, j % 2);
        one_transfer(w, comm, all, i % KINDS, 9, false);
    }
}

static void test_teams_without_common_ranks_are_independent(void **state)
{
    (void)state;
    world w = {.nrank = 6, .body = rows_apart, .seed = SEED + 3};
    world_run(&w, NULL);
}

/* ---- strided and fused through a whole transfer ---------------------------------------------- */

/* Columns of a [rows, 4 p] matrix go to their ranks: an all_to_all of dim 1 to dim 0. */
static void transpose_owners(world *w, mw_comm *comm, int rank)
{
    enum { ROWS = 7, WIDE = 4 };
    mw_team *team = whole_team(w, comm);
    int p = w->nrank;
    uint16_t from[ROWS * WIDE * 8], to[8 * ROWS * WIDE];
    mw_pull pull[8];
    for (int i = 0; i < ROWS * WIDE * p; i++)
        from[i] = (uint16_t)(1000 * rank + i);
    for (int r = 0; r < p; r++)
        pull[r] = (mw_pull){.peer = r,
                            .ndim = 2,
                            .from = rank * WIDE,
                            .to = (int64_t)r * ROWS * WIDE,
                            .size = {ROWS, WIDE},
                            .from_stride = {(int64_t)WIDE * p, 1},
                            .to_stride = {WIDE, 1}};
    mw_transfer transfer = {.what = "all_to_all 1->0",
                            .hash = 5,
                            .team = team,
                            .dtype = MW_DTYPE_f16,
                            .from = from,
                            .to = to,
                            .pull = pull,
                            .npull = p,
                            .nreader = p - 1};
    CHECK(w, mw__comm_transfer(comm, &transfer) == MW_OK, "%s", mw_last_error()->says);
    for (int i = 0; i < p * ROWS * WIDE; i++) {
        int owner = i / (ROWS * WIDE), row = i / WIDE % ROWS, col = rank * WIDE + i % WIDE;
        int want = 1000 * owner + row * WIDE * p + col;
        CHECK(w, to[i] == want, "[%d] %d, not %d", i, to[i], want);
    }
}

static void test_boxes_are_pulled_without_packing(void **state)
{
    (void)state;
    world w = {.nrank = 5, .body = transpose_owners};
    world_run(&w, NULL);
}

/* ---- lifetimes ------------------------------------------------------------------------------ */

/* Rank 0 offers a storage and drops it at once; the others read it late. Its memory may not be used
 * again before they have: the next storage of that size has to be another, or be free of readers.
 */
static void owner_drops_first(world *w, mw_comm *comm, int rank)
{
    enum { N = 20000 };
    mw_team *team = whole_team(w, comm);
    uint64_t own = w->seed + (uint64_t)rank;
    float *to = mw__alloc(N * sizeof *to);
    for (int round = 0; round < 100; round++) {
        mw_storage *storage = NULL;
        mw_transfer transfer = {
            .what = "broadcast", .hash = 9, .team = team, .dtype = MW_DTYPE_f32};
        mw_pull pull = pull_row(0, MW_REDUCE_NONE, 0, 0, N);
        if (rank == 0) {
            CHECK(w, mw__storage_new(N * 4, &storage) == MW_OK, "no memory");
            for (int i = 0; i < N; i++)
                ((float *)storage->data)[i] = (float)(round + i);
            transfer.storage = storage;
            transfer.from = storage->data;
            transfer.nreader = w->nrank - 1;
        } else {
            transfer.to = to;
            transfer.pull = &pull;
            transfer.npull = 1;
        }
        nap(&own);
        CHECK(w, mw__comm_transfer(comm, &transfer) == MW_OK, "%s", mw_last_error()->says);
        mw__storage_unref(storage);
        for (int i = 0; rank != 0 && i < N; i++)
            CHECK(w, to[i] == (float)(round + i), "round %d: [%d] %g", round, i, (double)to[i]);
    }
    mw__free(to, N * sizeof *to);
}

static void test_a_dropped_storage_lives_until_its_readers_are_done(void **state)
{
    (void)state;
    world w = {.nrank = 3, .body = owner_drops_first, .seed = SEED + 4};
    world_run(&w, NULL);
}

/* The owner writes in place after waiting for readers. */
static void write_in_place(world *w, mw_comm *comm, int rank)
{
    enum { N = 30000 };
    mw_team *team = whole_team(w, comm);
    mw_storage *storage = NULL;
    float *to = mw__alloc(N * sizeof *to);
    int next = (rank + 1) % w->nrank;
    mw_pull pull = pull_row(next, MW_REDUCE_NONE, 0, 0, N);
    CHECK(w, mw__storage_new(N * 4, &storage) == MW_OK, "no memory");
    for (int round = 0; round < 200; round++) {
        CHECK(w, mw__comm_wait_readers(comm, storage) == MW_OK, "%s", mw_last_error()->says);
        CHECK(w, storage->readers == 0, "%d readers", storage->readers);
        for (int i = 0; i < N; i++)
            ((float *)storage->data)[i] = (float)(rank * 1000 + round);
        mw_transfer transfer = {.what = "shift",
                                .hash = 3,
                                .team = team,
                                .dtype = MW_DTYPE_f32,
                                .from = storage->data,
                                .storage = storage,
                                .to = to,
                                .pull = &pull,
                                .npull = 1,
                                .nreader = 1};
        CHECK(w, mw__comm_transfer(comm, &transfer) == MW_OK, "%s", mw_last_error()->says);
        for (int i = 0; i < N; i++)
            CHECK(w, to[i] == (float)(next * 1000 + round), "round %d: %g", round, (double)to[i]);
    }
    mw__storage_unref(storage);
    mw__free(to, N * sizeof *to);
}

static void test_a_buffer_is_written_in_place_after_its_readers(void **state)
{
    (void)state;
    world w = {.nrank = 4, .body = write_in_place};
    world_run(&w, NULL);
}

/* ---- ends and teams -------------------------------------------------------------------------- */

static void test_teams_are_found_again_without_allocating(void **state)
{
    (void)state;
    mw_comm *comm[4];
    mw_team *a = NULL, *b = NULL, *c = NULL;
    assert_int_equal(mw__comm_threads_new(4, NULL, comm), MW_OK);
    assert_int_equal(mw__comm_team(comm[1], (int[]){1, 3}, 2, &a), MW_OK);
    assert_int_equal(mw__comm_team(comm[1], (int[]){1, 2}, 2, &b), MW_OK);
    int64_t before = mw__ctx_get()->allocations;
    assert_int_equal(mw__comm_team(comm[1], (int[]){1, 3}, 2, &c), MW_OK);
    assert_int_equal(mw__ctx_get()->allocations, before);
    assert_ptr_equal(a, c);
    assert_ptr_not_equal(a, b);
    assert_int_equal(mw__team_size(a), 2);
    assert_int_equal(mw__team_me(a), 0);
    assert_int_equal(mw__team_rank(a, 1), 3);
    assert_int_equal(mw__comm_rank(comm[1]), 1);
    assert_int_equal(mw__comm_ranks(comm[1]), 4);
    assert_false(mw__comm_fake(comm[1]));
    assert_string_equal(mw__comm_backend(comm[1]), "threads");
    mw__comm_world_free(comm[0]);
    mw__comm_world_free(NULL);
}

static void assert_team_refused(mw_comm *comm, const int *ranks, int count, const char *says)
{
    mw_team *team = NULL;
    assert_int_equal(mw__comm_team(comm, ranks, count, &team), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says, says);
    assert_null(team);
}

static void test_wrong_teams_and_worlds_are_refused(void **state)
{
    (void)state;
    mw_comm *comm[4];
    assert_int_equal(mw__comm_threads_new(0, NULL, comm), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says, "a world has 1 to 65536 ranks, got 0");
    assert_int_equal(mw__comm_threads_new(4, NULL, comm), MW_OK);
    assert_team_refused(comm[1], (int[]){0}, 0, "a team needs at least one rank, got 0");
    assert_team_refused(comm[1], (int[]){1, 4}, 2, "a team may hold ranks 0 to 3, got rank 4");
    assert_team_refused(comm[1], (int[]){3, 1}, 2,
                        "a team lists its ranks in rising order, got 1 after 3");
    assert_team_refused(comm[1], (int[]){0, 2}, 2,
                        "rank 1 asks for a team of 2 ranks that it is not in");
    mw__comm_world_free(comm[0]);
}

static mw_status make_world_and_teams(void)
{
    mw_comm *comm[3];
    mw_team *team;
    mw_status status = mw__comm_threads_new(3, NULL, comm);
    if (status != MW_OK) return status;
    for (int r = 0; r < 3 && status == MW_OK; r++)
        status = mw__comm_team(comm[r], (int[]){0, 1, 2}, 3, &team);
    if (status == MW_OK) status = mw__comm_team(comm[2], (int[]){1, 2}, 2, &team);
    mw__comm_world_free(comm[0]);
    return status;
}

static mw_status make_fake_and_team(void)
{
    mw_comm *comm;
    mw_team *team;
    mw_status status = mw__comm_fake_new(3, 1, &comm);
    if (status != MW_OK) return status;
    status = mw__comm_team(comm, (int[]){0, 1, 2}, 3, &team);
    mw__comm_world_free(comm);
    return status;
}

static void test_creation_survives_every_failing_allocation(void **state)
{
    (void)state;
    mw_status (*const scenario[])(void) = {make_world_and_teams, make_fake_and_team};
    for (int s = 0; s < MW_COUNT(scenario); s++) {
        mw_status status = MW_ERR_NOMEM;
        int64_t at = 0;
        while (status != MW_OK) {
            mw_fault_allocator fault;
            mw_fault_allocator_init(&fault, ++at, 0);
            mw_allocator_use(&fault.allocator);
            status = scenario[s]();
            mw_allocator_use(NULL);
            assert_true(status == MW_OK || status == MW_ERR_NOMEM);
            assert_int_equal(fault.live, 0);
        }
        assert_true(at > 2); /* the loop has failed something */
    }
}

static void test_the_fake_world_agrees_with_everything(void **state)
{
    (void)state;
    mw_comm *comm;
    mw_team *team;
    int all[100];
    for (int r = 0; r < 100; r++)
        all[r] = r;
    assert_int_equal(mw__comm_fake_new(100, 100, &comm), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->says,
                        "a world of 100 ranks has ranks 0 to 99, got rank 100");
    assert_int_equal(mw__comm_fake_new(0, 0, &comm), MW_ERR_ARG);
    assert_int_equal(mw__comm_fake_new(100, 7, &comm), MW_OK);
    assert_int_equal(mw__comm_team(comm, all, 100, &team), MW_OK);
    assert_true(mw__comm_fake(comm));
    assert_string_equal(mw__comm_backend(comm), "fake");
    assert_int_equal(mw__comm_rank(comm), 7);
    mw_pull pull = pull_row(3, MW_REDUCE_NONE, 0, 0, 10);
    mw_transfer transfer = {.what = "all_gather",
                            .team = team,
                            .dtype = MW_DTYPE_f32,
                            .pull = &pull,
                            .npull = 1,
                            .nreader = 99};
    assert_int_equal(mw__comm_transfer(comm, &transfer), MW_OK);
    assert_int_equal(mw__comm_barrier(comm, team, "end"), MW_OK);
    assert_int_equal(mw__comm_wait_readers(comm, NULL), MW_OK);
    mw_error error = {
        .code = MW_ERR_IO, .says = "no such file", .where = "load(\"w\")", .hint = "look"};
    mw__comm_fail(comm, &error);
    assert_int_equal(mw__comm_transfer(comm, &transfer), MW_ERR_COMM);
    assert_string_equal(mw_last_error()->says,
                        "rank 7 failed in load(\"w\"): no such file; it came to all_gather");
    assert_string_equal(mw_last_error()->hint, "look");
    mw__comm_leave(comm);
    mw__comm_world_free(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_give_the_reference_bits),
        cmocka_unit_test(test_thousands_of_small_transfers_at_uneven_speeds),
        cmocka_unit_test(test_many_more_ranks_than_cores_get_on),
        cmocka_unit_test(test_ranks_spin_or_give_way_alike),
        cmocka_unit_test(test_overlapping_teams_interleave),
        cmocka_unit_test(test_teams_without_common_ranks_are_independent),
        cmocka_unit_test(test_boxes_are_pulled_without_packing),
        cmocka_unit_test(test_a_dropped_storage_lives_until_its_readers_are_done),
        cmocka_unit_test(test_a_buffer_is_written_in_place_after_its_readers),
        cmocka_unit_test(test_teams_are_found_again_without_allocating),
        cmocka_unit_test(test_wrong_teams_and_worlds_are_refused),
        cmocka_unit_test(test_creation_survives_every_failing_allocation),
        cmocka_unit_test(test_the_fake_world_agrees_with_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
