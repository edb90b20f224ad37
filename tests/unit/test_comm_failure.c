/* What goes wrong between ranks: every rank gets an error that says who, in what, why, and nobody
 * hangs or reads freed memory (run it under the sanitizers). Time-outs stay at their default of 60
 * s where the failure has to be noticed without one. */
#include "comm_world.h"

#include <time.h>

#define ALL_REDUCE "all_reduce f32[1, 576]{sum:tp} over tp"
#define ALL_GATHER "all_gather f32[1, 576@tp] over tp"

static void nap(double seconds)
{
    struct timespec t = {0, (long)(seconds * 1e9)};
    (void)nanosleep(&t, NULL);
}

static void keep(world *w, int rank, mw_status status)
{
    w->status[rank] = status;
    memcpy(w->says[rank], mw_last_error()->says, sizeof w->says[rank]);
}

static const mw_error no_memory = {.code = MW_ERR_NOMEM,
                                   .says = "out of memory",
                                   .where = "linear(f32[1, 576], f32[576@tp, 576])",
                                   .hint = "use more ranks"};

static _Thread_local bool fails_between; /* the halves of the next transfer */

/* Every member pulls all of every other's n floats; the buffers are freed at once, whatever came.
 */
static mw_status gather(mw_comm *comm, mw_team *team, const char *what, uint64_t hash, int64_t n,
                        bool stored)
{
    int p = mw__team_size(team);
    size_t bytes = (size_t)n * sizeof(float);
    mw_storage *storage = NULL;
    float *from = stored ? NULL : mw__alloc(bytes);
    float *to = mw__alloc(bytes * (size_t)p);
    if (stored && mw__storage_new((int64_t)bytes, &storage) == MW_OK) from = storage->data;
    mw_pull pull[WORLD_RANKS];
    memset(from, 0, bytes);
    for (int i = 0; i < p; i++)
        pull[i] = pull_row(mw__team_rank(team, i), MW_REDUCE_NONE, 0, i * n, n);
    mw_transfer transfer = {.what = what,
                            .hash = hash,
                            .team = team,
                            .dtype = MW_DTYPE_f32,
                            .from = from,
                            .storage = storage,
                            .to = to,
                            .pull = pull,
                            .npull = p,
                            .nreader = p - 1};
    mw_status status = mw__comm_begin(comm, &transfer);
    if (status == MW_OK && fails_between) mw__comm_fail(comm, &no_memory);
    if (status == MW_OK) status = mw__comm_end(comm, &transfer);
    if (stored)
        mw__storage_unref(storage);
    else
        mw__free(from, bytes);
    mw__free(to, bytes * (size_t)p);
    return status;
}

static void assert_all(const world *w, mw_status status, const char *part)
{
    for (int r = 0; r < w->nrank; r++) {
        assert_int_equal(w->status[r], status);
        if (!strstr(w->says[r], part))
            fail_msg("rank %d says \"%s\", not \"%s\"", r, w->says[r], part);
    }
}

/* ---- disagreement --------------------------------------------------------------------------- */

static void rank_1_gathers(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    CHECK(w, gather(comm, team, ALL_GATHER, 1, 8, true) == MW_OK, "%s", mw_last_error()->says);
    keep(w, rank,
         gather(comm, team, rank == 1 ? ALL_GATHER : ALL_REDUCE, rank == 1 ? 1 : 2, 8, true));
}

static void test_ranks_that_disagree_are_told_who_is_where(void **state)
{
    (void)state;
    world w = {.nrank = 2, .body = rank_1_gathers};
    world_run(&w, NULL);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(w.status[r], MW_ERR_COMM);
        assert_string_equal(w.says[r],
                            "ranks disagree about the collective: rank 0 is in " ALL_REDUCE
                            ", rank 1 is in " ALL_GATHER);
    }
    world many = {.nrank = 5, .body = rank_1_gathers};
    world_run(&many, NULL);
    assert_all(&many, MW_ERR_COMM, "ranks disagree about the collective: ");
    assert_all(&many, MW_ERR_COMM, "rank 1 is in " ALL_GATHER);
    assert_non_null(strstr(many.says[0], "rank 0 is in " ALL_REDUCE));
}

static void nobody_pulls(world *w, mw_comm *comm, int rank)
{
    mw_transfer transfer = {.what = rank == 3 ? "exchange A" : "exchange B",
                            .hash = rank == 3,
                            .team = whole_team(w, comm),
                            .dtype = MW_DTYPE_f32};
    keep(w, rank, mw__comm_transfer(comm, &transfer));
}

static void test_ranks_that_pull_from_nobody_disagree_too(void **state)
{
    (void)state;
    world w = {.nrank = 4, .body = nobody_pulls};
    world_run(&w, NULL);
    assert_all(&w, MW_ERR_COMM, "rank 3 is in exchange A");
}

static void dtypes_differ(world *w, mw_comm *comm, int rank)
{
    mw_transfer transfer = {.what = rank ? "all_reduce bf16[4]" : "all_reduce f32[4]",
                            .team = whole_team(w, comm),
                            .dtype = rank ? MW_DTYPE_bf16 : MW_DTYPE_f32};
    keep(w, rank, mw__comm_transfer(comm, &transfer));
}

static void test_different_dtypes_disagree(void **state)
{
    (void)state;
    world w = {.nrank = 2, .body = dtypes_differ};
    world_run(&w, NULL);
    assert_all(&w, MW_ERR_COMM, "rank 0 is in all_reduce f32[4], rank 1 is in all_reduce bf16[4]");
}

static void barrier_or_gather(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    CHECK(w, mw__comm_barrier(comm, team, rank ? "the start" : "a start") == MW_OK, "%s",
          mw_last_error()->says);
    keep(w, rank,
         rank ? mw__comm_barrier(comm, team, "the end")
              : gather(comm, team, ALL_GATHER, 1, 4, false));
}

static void test_a_barrier_meets_only_barriers(void **state)
{
    (void)state;
    world w = {.nrank = 2, .body = barrier_or_gather};
    world_run(&w, NULL);
    assert_all(&w, MW_ERR_COMM, "rank 0 is in " ALL_GATHER ", rank 1 is in the end");
}

/* Rank r calls on the team of r and r + 1, in a ring: nobody can ever go on. */
static void teams_in_a_ring(world *w, mw_comm *comm, int rank)
{
    int next = (rank + 1) % w->nrank;
    int ranks[2] = {MW_MIN(rank, next), MW_MAX(rank, next)};
    mw_team *team = NULL;
    char what[32];
    CHECK(w, mw__comm_team(comm, ranks, 2, &team) == MW_OK, "%s", mw_last_error()->says);
    (void)snprintf(what, sizeof what, "barrier %d", rank);
    keep(w, rank, mw__comm_barrier(comm, team, what));
}

static void test_a_circle_of_waiting_ranks_is_noticed_without_a_time_out(void **state)
{
    (void)state;
    world w = {.nrank = 3, .body = teams_in_a_ring};
    world_run(&w, NULL);
    assert_all(&w, MW_ERR_COMM, "ranks wait for each other in different collectives: ");
    assert_all(&w, MW_ERR_COMM, "rank 0 waits for rank 1 in barrier 0");
    assert_all(&w, MW_ERR_COMM, "rank 2 waits for rank 0 in barrier 2");
}

/* ---- one rank alone ------------------------------------------------------------------------- */

#define FAILED "rank 2 failed in linear(f32[1, 576], f32[576@tp, 576]): out of memory"

static void rank_2_fails(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    CHECK(w, gather(comm, team, ALL_GATHER, 1, 100, false) == MW_OK, "%s", mw_last_error()->says);
    if (rank == 2) {
        nap(*(const double *)w->arg);
        mw__comm_fail(comm, &no_memory);
        mw__comm_fail(comm, &(mw_error){.code = MW_ERR_IO, .says = "a second failure"});
    } else if (rank == 1) {
        nap(0.03);
    }
    keep(w, rank, gather(comm, team, ALL_REDUCE, 2, 100, rank % 2));
    CHECK(w, strcmp(mw_last_error()->hint, "use more ranks") == 0, "%s", mw_last_error()->hint);
    double before = mw__now();
    for (int i = 0; i < 3; i++) /* the world stays poisoned */
        CHECK(w, mw__comm_barrier(comm, team, "later") == MW_ERR_COMM, "it went on");
    CHECK(w, strstr(mw_last_error()->says, FAILED), "%s", mw_last_error()->says);
    CHECK(w, mw__now() - before < 10, "later calls wait");
}

static void test_a_rank_that_fails_alone_is_named_to_all(void **state)
{
    (void)state;
    static const double when[] = {0, 0.005, 0.06}; /* before the others come, while they wait */
    for (int i = 0; i < MW_COUNT(when); i++) {
        world w = {.nrank = 4, .body = rank_2_fails, .arg = (void *)&when[i]};
        world_run(&w, NULL);
        for (int r = 0; r < 4; r++) {
            char want[512];
            (void)snprintf(want, sizeof want, FAILED "; rank %d %s " ALL_REDUCE, r,
                           r == 2 ? "came to" : "was waiting for it in");
            assert_int_equal(w.status[r], MW_ERR_COMM);
            assert_string_equal(w.says[r], want);
        }
    }
    world many = {.nrank = 64, .body = rank_2_fails, .arg = (void *)&when[1]};
    world_run(&many, NULL);
    assert_all(&many, MW_ERR_COMM, FAILED "; rank ");
}

static void another_team_fails(world *w, mw_comm *comm, int rank)
{
    mw_team *team = NULL;
    CHECK(w,
          mw__comm_team(comm, (int[]){0, 1}, rank < 2 ? 2 : 0, &team) ==
              (rank < 2 ? MW_OK : MW_ERR_ARG),
          "%s", mw_last_error()->says);
    if (rank == 2) {
        nap(0.01);
        mw__comm_fail(comm, &(mw_error){.code = MW_ERR_IO, .says = "no such file"});
        keep(w, rank, MW_OK);
        return;
    }
    mw_status status = MW_OK;
    while (status == MW_OK) /* healthy among themselves until the world fails */
        status = mw__comm_barrier(comm, team, "a barrier of two");
    keep(w, rank, status);
}

static void test_a_failure_reaches_teams_without_the_failing_rank(void **state)
{
    (void)state;
    world w = {.nrank = 3, .body = another_team_fails};
    world_run(&w, NULL);
    assert_int_equal(w.status[0], MW_ERR_COMM);
    assert_string_equal(w.says[0], "rank 2 failed: no such file; rank 0 was in a barrier of two");
    assert_string_equal(w.says[1], "rank 2 failed: no such file; rank 1 was in a barrier of two");
}

static void rank_1_leaves(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    CHECK(w, gather(comm, team, ALL_GATHER, 1, 100, true) == MW_OK, "%s", mw_last_error()->says);
    if (rank == 1) {
        nap(*(const double *)w->arg);
        mw__comm_leave(comm);
        return;
    }
    if (rank == 0) nap(0.004);
    keep(w, rank, gather(comm, team, ALL_REDUCE, 2, 100, rank % 2));
    mw__comm_leave(comm);
}

static void test_a_rank_that_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    static const double when[] = {0, 0.05};
    for (int i = 0; i < MW_COUNT(when); i++) {
        world w = {.nrank = 3, .body = rank_1_leaves, .arg = (void *)&when[i], .no_leave = true};
        world_run(&w, NULL);
        for (int r = 0; r < 3; r += 2) {
            char want[512];
            (void)snprintf(want, sizeof want,
                           "rank 1 has ended its program; rank %d waits for it in " ALL_REDUCE, r);
            assert_int_equal(w.status[r], MW_ERR_COMM);
            assert_string_equal(w.says[r], want);
        }
    }
}

static void leaves_in_turn(world *w, mw_comm *comm, int rank)
{
    for (int last = 0; last <= rank; last++) { /* teams that lose their lowest rank, one by one */
        int ranks[WORLD_RANKS];
        mw_team *team = NULL;
        for (int r = last; r < w->nrank; r++)
            ranks[r - last] = r;
        CHECK(w, mw__comm_team(comm, ranks, w->nrank - last, &team) == MW_OK, "%s",
              mw_last_error()->says);
        for (int i = 0; i < 20; i++)
            CHECK(w, gather(comm, team, ALL_GATHER, 1, 50, i % 2) == MW_OK, "%s",
                  mw_last_error()->says);
    }
}

static void test_ranks_may_end_while_others_go_on(void **state)
{
    (void)state;
    world w = {.nrank = 5, .body = leaves_in_turn};
    world_run(&w, NULL);
}

/* ---- time-outs ------------------------------------------------------------------------------ */

static void rank_1_never_comes(world *w, mw_comm *comm, int rank)
{
    mw_team *team = whole_team(w, comm);
    CHECK(w, mw__comm_barrier(comm, team, "the start") == MW_OK, "%s", mw_last_error()->says);
    if (rank == 1) nap(0.5);
    keep(w, rank, gather(comm, team, rank == 1 ? "late" : ALL_REDUCE, 2, 100, true));
}

static void test_a_rank_that_does_not_come_is_a_time_out(void **state)
{
    (void)state;
    world w = {.nrank = 3, .body = rank_1_never_comes};
    world_run(&w, &(mw_comm_options){.timeout = 0.2});
    assert_all(&w, MW_ERR_TIMEOUT,
               "s for rank 1: rank 1 has not come yet (it was last in the start)");
    assert_all(&w, MW_ERR_TIMEOUT, ", rank 0 is in " ALL_REDUCE ", rank 2 is in " ALL_REDUCE);
    assert_non_null(strstr(w.says[1], "; rank 1 was in late"));
}

static void counts_one_reader_too_many(world *w, mw_comm *comm, int rank)
{
    float from[4] = {0};
    mw_transfer transfer = {.what = "exchange",
                            .team = whole_team(w, comm),
                            .dtype = MW_DTYPE_f32,
                            .from = from,
                            .nreader = rank == 0};
    mw_status status = mw__comm_transfer(comm, &transfer);
    while (status == MW_OK)
        status = mw__comm_barrier(comm, transfer.team, "the end");
    keep(w, rank, status);
}

static void test_readers_that_do_not_come_are_a_time_out(void **state)
{
    (void)state;
    world w = {.nrank = 2, .body = counts_one_reader_too_many};
    world_run(&w, &(mw_comm_options){.timeout = 0.05});
    assert_all(&w, MW_ERR_TIMEOUT, "s for ");
}

static void waits_for_readers(world *w, mw_comm *comm, int rank)
{
    mw_storage storage = {.readers = 1}; /* a peer that reads and never ends */
    if (rank == 1) {
        nap(0.01);
        mw__comm_fail(comm, &no_memory);
    }
    keep(w, rank, mw__comm_wait_readers(comm, &storage));
}

static void test_a_wait_for_readers_ends_with_the_world(void **state)
{
    (void)state;
    world w = {.nrank = 2, .body = waits_for_readers};
    world_run(&w, NULL);
    assert_all(&w, MW_ERR_COMM, ": out of memory; rank ");
    assert_non_null(strstr(w.says[0], "rank 0 was in a wait for the readers of its buffer"));
}

/* ---- at any moment --------------------------------------------------------------------------- */

typedef struct accident {
    int victim, step;
    bool leaves, half; /* half: fails between the halves of a transfer */
} accident;

static void something_happens(world *w, mw_comm *comm, int rank)
{
    const accident *a = w->arg;
    mw_team *team = whole_team(w, comm), *row = NULL;
    int ranks[2] = {rank / 2 * 2, rank / 2 * 2 + 1};
    CHECK(w, mw__comm_team(comm, ranks, 2, &row) == MW_OK, "%s", mw_last_error()->says);
    uint64_t common = w->seed, own = w->seed + (uint64_t)rank + 1;
    mw_status status = MW_OK;
    for (int i = 0; i < 40 && status == MW_OK; i++) {
        bool all = random_below(&common, 3) > 0;
        int64_t n = random_below(&common, 10) ? 1 + random_below(&common, 50) : 40000;
        if (rank == a->victim && i == a->step) {
            fails_between = a->half;
            if (a->half)
                status = gather(comm, all ? team : row, "half", (uint64_t)n, n, true);
            else if (!a->leaves)
                mw__comm_fail(comm, &no_memory);
            break;
        }
        status = gather(comm, all ? team : row, all ? ALL_GATHER : "a row", (uint64_t)n, n,
                        random_below(&own, 2));
    }
    if (rank == a->victim && a->leaves && !a->half && status == MW_OK) mw__comm_leave(comm);
    if (rank != a->victim && status == MW_OK) status = mw__comm_barrier(comm, team, "the end");
    keep(w, rank, status);
    if (rank != a->victim || !a->leaves || a->half) mw__comm_leave(comm);
}

static void test_whatever_the_moment_all_get_the_error_and_memory_is_safe(void **state)
{
    (void)state;
    uint64_t seed = 77;
    for (int round = 0; round < 150; round++) {
        accident a = {random_below(&seed, 4), random_below(&seed, 40), random_below(&seed, 2),
                      round % 3 == 0};
        world w = {.nrank = 4,
                   .body = something_happens,
                   .arg = &a,
                   .seed = next_random(&seed),
                   .no_leave = true};
        world_run(&w, NULL);
        char part[64];
        (void)snprintf(part, sizeof part,
                       a.leaves && !a.half ? "rank %d has ended" : "rank %d failed in", a.victim);
        for (int r = 0; r < 4; r++) {
            if (r == a.victim) continue;
            assert_int_equal(w.status[r], MW_ERR_COMM);
            if (!strstr(w.says[r], part)) fail_msg("round %d rank %d: %s", round, r, w.says[r]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_that_disagree_are_told_who_is_where),
        cmocka_unit_test(test_ranks_that_pull_from_nobody_disagree_too),
        cmocka_unit_test(test_different_dtypes_disagree),
        cmocka_unit_test(test_a_barrier_meets_only_barriers),
        cmocka_unit_test(test_a_circle_of_waiting_ranks_is_noticed_without_a_time_out),
        cmocka_unit_test(test_a_rank_that_fails_alone_is_named_to_all),
        cmocka_unit_test(test_a_failure_reaches_teams_without_the_failing_rank),
        cmocka_unit_test(test_a_rank_that_has_ended_is_not_waited_for),
        cmocka_unit_test(test_ranks_may_end_while_others_go_on),
        cmocka_unit_test(test_a_rank_that_does_not_come_is_a_time_out),
        cmocka_unit_test(test_readers_that_do_not_come_are_a_time_out),
        cmocka_unit_test(test_a_wait_for_readers_ends_with_the_world),
        cmocka_unit_test(test_whatever_the_moment_all_get_the_error_and_memory_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
