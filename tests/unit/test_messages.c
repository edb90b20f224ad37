/* The messages backend over a transport between threads: collectives against their definition, bit
 * by bit, with heads, bodies and boxes of every kind; and every way to fail, with what each rank is
 * told. Mail is delayed at random, so words overtake heads and ranks drift apart. */
#include "mailbox.h"

#include <setjmp.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static const uint64_t SEED = 20240915;

typedef struct test test;
typedef struct rank_state {
    test *t;
    mw_comm *comm;
    int rank;
    mw_status status; /* what the body came to */
    char says[1536], hint[512];
    char wrong[256]; /* the first check that did not hold */
} rank_state;

struct test {
    int nrank;
    mw_status (*body)(rank_state *me);
    mw_comm_options options;
    const char *mode;
    mail_world mail;
    rank_state rank[MAILBOX_RANKS];
};

#define CHECK(me, cond, ...)                                                \
    do {                                                                    \
        if (!(cond) && !(me)->wrong[0])                                     \
            (void)snprintf((me)->wrong, sizeof(me)->wrong, "" __VA_ARGS__); \
    } while (0)

/* One rank, as a launched program is run: what it fails with, or else what the others do. */
static void *run_rank(void *user)
{
    rank_state *me = user;
    me->status = me->t->body(me);
    if (me->status != MW_OK) mw__comm_fail(me->comm, mw_last_error());
    mw__comm_leave(me->comm);
    if (me->status == MW_OK) me->status = mw__comm_finish(me->comm);
    (void)snprintf(me->says, sizeof me->says, "%s", mw_last_error()->says);
    (void)snprintf(me->hint, sizeof me->hint, "%s", mw_last_error()->hint);
    return NULL;
}

static void run(test *t)
{
    pthread_t thread[MAILBOX_RANKS];
    mail_world_init(&t->mail, t->nrank, SEED);
    for (int r = 0; r < t->nrank; r++) {
        t->rank[r] = (rank_state){.t = t, .rank = r};
        assert_int_equal(
            mw__comm_messages_new(&t->mail.box[r].transport, &t->options, &t->rank[r].comm), MW_OK);
    }
    for (int r = 0; r < t->nrank; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &t->rank[r]), 0);
    for (int r = 0; r < t->nrank; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    for (int r = 0; r < t->nrank; r++)
        mw__comm_world_free(t->rank[r].comm);
    mail_world_done(&t->mail);
    for (int r = 0; r < t->nrank; r++)
        if (t->rank[r].wrong[0]) fail_msg("rank %d: %s", r, t->rank[r].wrong);
}

static mw_team *team_of(rank_state *me, int first, int count)
{
    int ranks[MAILBOX_RANKS];
    mw_team *team = NULL;
    for (int i = 0; i < count; i++)
        ranks[i] = first + i;
    CHECK(me, mw__comm_team(me->comm, ranks, count, &team) == MW_OK, "no team");
    return team;
}

/* ---- collectives --------------------------------------------------------------------------- */

enum { ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER, ALL_REDUCE, SHIFT, KINDS };

static float term(int64_t i, int rank)
{
    return (float)((i + rank + 1) % 8);
}

static mw_pull box_of(int peer, mw_reduce reduce, int64_t from, int64_t to, int64_t n, int gap)
{
    return (mw_pull){.peer = peer,
                     .reduce = (uint8_t)reduce,
                     .ndim = 2,
                     .from = from * gap,
                     .to = to * gap,
                     .size = {n, 1},
                     .from_stride = {gap, 1},
                     .to_stride = {gap, 1}};
}

/* The value of element i that comes from the team's member j, in all three kinds of pulling. */
static float expected(const mw_team *team, int kind, int64_t k, int64_t i)
{
    int p = mw__team_size(team), me = mw__team_me(team);
    float sum = 0;
    switch (kind) {
    case ALL_GATHER:
        return term(i % k, mw__team_rank(team, (int)(i / k)));
    case ALL_TO_ALL:
        return term(me * k + i % k, mw__team_rank(team, (int)(i / k)));
    case SHIFT:
        return term(i, mw__team_rank(team, (me + 1) % p));
    default:
        for (int j = 0; j < p; j++)
            sum += term((kind == REDUCE_SCATTER ? me * k : 0) + i, mw__team_rank(team, j));
        return sum;
    }
}

/* One transfer with k elements a rank; `gap` 2 leaves every second element out on both sides. */
static mw_status one_transfer(rank_state *me, mw_team *team, int kind, int64_t k, int gap)
{
    int p = mw__team_size(team), place = mw__team_me(team), npull = kind == SHIFT ? 1 : p;
    int nserve = 0;
    bool spread = kind == ALL_TO_ALL || kind == REDUCE_SCATTER;
    bool reduces = kind == REDUCE_SCATTER || kind == ALL_REDUCE;
    int64_t nfrom = spread ? p * k : k, nto = kind == ALL_GATHER || kind == ALL_TO_ALL ? p * k : k;
    float *from = mw__zalloc((size_t)(nfrom * gap) * sizeof *from);
    float *to = mw__zalloc((size_t)(nto * gap) * sizeof *to);
    mw_pull pull[MAILBOX_RANKS], serve[MAILBOX_RANKS];
    for (int64_t i = 0; i < nfrom; i++)
        from[i * gap] = term(i, me->rank);
    for (int i = 0; i < npull; i++)
        pull[i] = box_of(mw__team_rank(team, kind == SHIFT ? (place + 1) % p : i),
                         reduces && i ? MW_REDUCE_SUM : MW_REDUCE_NONE, spread ? place * k : 0,
                         nto > k ? i * k : 0, k, gap);
    for (int i = 0; i < p; i++)
        if (i != place && (kind != SHIFT || (i + 1) % p == place))
            serve[nserve++] = box_of(mw__team_rank(team, i), MW_REDUCE_NONE, spread ? i * k : 0,
                                     nto > k ? place * k : 0, k, gap);
    const mw_transfer t = {.what = "a transfer",
                           .hash = (uint64_t)(kind * 1000 + k),
                           .team = team,
                           .dtype = MW_DTYPE_f32,
                           .from = from,
                           .to = to,
                           .pull = pull,
                           .npull = npull,
                           .serve = serve,
                           .nserve = nserve};
    mw_status status;
    if ((kind + k + gap + me->rank) % 2) {
        status = mw__comm_transfer(me->comm, &t);
    } else { /* in halves, with work between them */
        status = mw__comm_begin(me->comm, &t);
        if (k % 31 == 0) (void)nanosleep(&(struct timespec){0, 100000}, NULL);
        if (status == MW_OK) status = mw__comm_end(me->comm, &t);
    }
    for (int64_t i = 0; i < nto && status == MW_OK; i++)
        CHECK(me, to[i * gap] == expected(team, kind, k, i),
              "kind %d of %d ranks, k %d, gap %d: [%d] is %g", kind, p, (int)k, gap, (int)i,
              (double)to[i * gap]);
    mw__free(from, (size_t)(nfrom * gap) * sizeof *from);
    mw__free(to, (size_t)(nto * gap) * sizeof *to);
    return status;
}

static mw_status every_kind(rank_state *me)
{
    static const int64_t counts[] = {0, 1, 31, 576, 5003, 20011};
    mw_team *team = team_of(me, 0, me->t->nrank);
    for (int kind = 0; kind < KINDS; kind++)
        for (int c = 0; c < MW_COUNT(counts); c++)
            for (int gap = 1; gap <= 2; gap++)
                MW_TRY(one_transfer(me, team, kind, counts[c], gap));
    return MW_OK;
}

static void test_collectives_give_the_reference_bits(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < MW_COUNT(sizes); i++) {
        test t = {.nrank = sizes[i], .body = every_kind};
        run(&t);
        for (int r = 0; r < t.nrank; r++)
            if (t.rank[r].status != MW_OK) fail_msg("rank %d: %s", r, t.rank[r].says);
    }
}

/* A 2 x 2 grid: rows, columns and all, at speeds that differ. */
static mw_status teams_interleave(rank_state *me)
{
    int row[2] = {me->rank / 2 * 2, me->rank / 2 * 2 + 1},
        column[2] = {me->rank % 2, me->rank % 2 + 2};
    mw_team *team[3] = {NULL, NULL, team_of(me, 0, 4)};
    uint64_t common = SEED;
    MW_TRY(mw__comm_team(me->comm, row, 2, &team[0]));
    MW_TRY(mw__comm_team(me->comm, column, 2, &team[1]));
    for (int i = 0; i < 600; i++) {
        common = common * 6364136223846793005u + 1442695040888963407u;
        int which = (int)(common >> 40) % 3, kind = (int)(common >> 50) % KINDS;
        if (i % 50 == me->rank) (void)nanosleep(&(struct timespec){0, 300000}, NULL);
        MW_TRY(one_transfer(me, team[which], kind, (int64_t)(common >> 33) % 90, 1 + i % 2));
        if (i % 7 == 0)
            MW_TRY(mw__comm_barrier(me->comm, team[which], me->rank ? "here" : "there"));
        MW_TRY(mw__comm_wait_readers(me->comm, NULL));
    }
    return MW_OK;
}

static void test_overlapping_teams_interleave(void **state)
{
    (void)state;
    test t = {.nrank = 4, .body = teams_interleave};
    run(&t);
    for (int r = 0; r < t.nrank; r++)
        assert_int_equal(t.rank[r].status, MW_OK);
}

/* ---- failures ------------------------------------------------------------------------------ */

static mw_status meet(rank_state *me, mw_team *team, const char *what, uint64_t hash)
{
    const mw_transfer t = {.what = what, .hash = hash, .team = team, .dtype = MW_DTYPE_f32};
    (void)me;
    return mw__comm_transfer(me->comm, &t);
}

static mw_status fail_somehow(rank_state *me)
{
    const char *mode = me->t->mode;
    bool odd = me->rank == 1;
    mw_team *all = team_of(me, 0, me->t->nrank);
    MW_TRY(meet(me, all, "the beginning", 1));
    if (strcmp(mode, "hash") == 0) return meet(me, all, odd ? "a slice" : "a gather", odd ? 2 : 3);
    if (strcmp(mode, "teams") == 0)
        return odd ? meet(me, team_of(me, 0, 2), "a pair", 2) : meet(me, all, "a gather", 3);
    if (strcmp(mode, "one") == 0 && odd) MW_TRY(meet(me, team_of(me, 1, 1), "a team of one", 9));
    if (strcmp(mode, "sizes") == 0) return one_transfer(me, all, ALL_GATHER, odd ? 9000 : 8000, 1);
    if (strcmp(mode, "alone") == 0 && odd) return MW_FAIL(MW_ERR_IO, "the disk is full");
    if (strcmp(mode, "half") == 0 && odd) {
        const mw_transfer t = {.what = "a gather", .hash = 3, .team = all, .dtype = MW_DTYPE_f32};
        MW_TRY(mw__comm_begin(me->comm, &t));
        return MW_FAIL(MW_ERR_IO, "the disk is full");
    }
    if (strcmp(mode, "late") == 0) return odd ? MW_FAIL(MW_ERR_IO, "the disk is full") : MW_OK;
    if (strcmp(mode, "ended") == 0 && odd) return MW_OK;
    return meet(me, all, "a gather", 3);
}

/* Every rank fails with `code` and is told all the texts. */
static void each_is_told(const char *mode, mw_status code, const char *const *texts)
{
    test t = {.nrank = 3, .body = fail_somehow, .mode = mode, .options = {.timeout = 20}};
    run(&t);
    for (int r = 0; r < t.nrank; r++) {
        const rank_state *me = &t.rank[r];
        bool own = me->status == MW_ERR_IO && r == 1;
        /* A rank may still be on its way out of the first transfer when it is told of a late
         * failure. */
        bool late = strcmp(mode, "late") == 0 || strcmp(mode, "half") == 0;
        bool early = late && me->status == MW_ERR_COMM;
        if (me->status != code && !own && !early)
            fail_msg("%s: rank %d: %s, %s", mode, r, mw_status_name(me->status), me->says);
        for (int i = 0; texts[i]; i++)
            if (!strstr(me->says, texts[i]))
                fail_msg("%s: rank %d is not told '%s': %s", mode, r, texts[i], me->says);
        assert_int_equal(t.mail.box[r].told_silent, 0);
    }
}

static void test_a_disagreement_is_told_to_every_rank(void **state)
{
    (void)state;
    each_is_told("hash", MW_ERR_COMM,
                 (const char *const[]){"ranks disagree about the collective",
                                       "rank 1 is in a slice", "is in a gather", NULL});
    each_is_told("teams", MW_ERR_COMM,
                 (const char *const[]){"ranks disagree about the collective", "rank 1 is in a pair",
                                       "is in a gather", NULL});
    each_is_told("sizes", MW_ERR_COMM,
                 (const char *const[]){"ranks disagree about the collective", NULL});
}

static void test_a_team_of_one_needs_nobody(void **state)
{
    (void)state;
    test t = {.nrank = 3, .body = fail_somehow, .mode = "one"};
    run(&t);
    for (int r = 0; r < t.nrank; r++)
        assert_int_equal(t.rank[r].status, MW_OK);
}

static void test_a_rank_that_fails_alone_is_named_to_all(void **state)
{
    (void)state;
    each_is_told("alone", MW_ERR_COMM, (const char *const[]){"the disk is full", NULL});
    each_is_told("late", MW_ERR_IO, (const char *const[]){"the disk is full", NULL});
    each_is_told("half", MW_ERR_IO, (const char *const[]){"the disk is full", NULL});
}

static void test_a_rank_that_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    each_is_told("ended", MW_ERR_COMM, (const char *const[]){"rank 1 has ended its program", NULL});
}

/* 0 waits for 1 in another team than that in which 1 waits for both. */
static mw_status miss_each_other(rank_state *me)
{
    mw_team *all = team_of(me, 0, 3);
    MW_TRY(meet(me, all, "the beginning", 1));
    if (me->rank == 0) return meet(me, team_of(me, 0, 2), "a pair", 2);
    if (me->rank == 2) (void)nanosleep(&(struct timespec){0, 500000000}, NULL);
    return meet(me, all, "a gather", 3);
}

/* It shows at once, though rank 2 has not come yet. */
static void test_a_pair_that_misses_each_other_is_a_disagreement(void **state)
{
    (void)state;
    test t = {.nrank = 3, .body = miss_each_other, .options = {.timeout = 20}};
    run(&t);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(t.rank[r].status, MW_ERR_COMM);
        assert_non_null(strstr(t.rank[r].says, "rank 1 is in a gather"));
        assert_non_null(strstr(t.rank[r].says, "rank 0 is in a pair"));
    }
}

/* The last rank computes on and on. */
static mw_status wait_for_the_silent(rank_state *me)
{
    mw_team *all = team_of(me, 0, 4);
    MW_TRY(meet(me, all, "the beginning", 1));
    if (me->rank == 3) (void)nanosleep(&(struct timespec){2, 0}, NULL);
    return meet(me, all, "a gather", 3);
}

static void test_who_is_silent_is_named_when_the_time_is_over(void **state)
{
    (void)state;
    test t = {.nrank = 4, .body = wait_for_the_silent, .options = {.timeout = 1}};
    run(&t);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(t.rank[r].status, MW_ERR_TIMEOUT);
        assert_non_null(strstr(t.rank[r].says, "for rank 3 in a gather: rank 3 does not answer (it "
                                               "was last in the beginning), "));
        assert_non_null(strstr(t.rank[r].says, " is in a gather, waiting for rank 3"));
        assert_int_equal(t.mail.box[r].told_silent, 1);
    }
}

static const volatile int told_to_end = 1;

static mw_status wait_and_be_told(rank_state *me)
{
    mw_team *all = team_of(me, 0, 2);
    if (me->rank == 1) {
        (void)nanosleep(&(struct timespec){0, 300000000}, NULL);
        return MW_OK;
    }
    return meet(me, all, "a gather", 3);
}

static void test_a_rank_that_is_told_to_end_says_what_it_waited_for(void **state)
{
    (void)state;
    test t = {.nrank = 2, .body = wait_and_be_told, .options = {.interrupt = &told_to_end}};
    run(&t);
    assert_int_equal(t.rank[0].status, MW_ERR_COMM);
    assert_non_null(
        strstr(t.rank[0].says, "rank 0 was told to end while it waited for rank 1 in a gather"));
    assert_int_equal(t.rank[1].status, MW_ERR_COMM);
}

static mw_status cut_the_wire(rank_state *me)
{
    mw_team *all = team_of(me, 0, 2);
    MW_TRY(meet(me, all, "the beginning", 1));
    if (me->rank == 1) me->t->mail.box[1].cut_after = 0;
    return meet(me, all, "a gather", 3);
}

static void test_a_transport_that_fails_is_told(void **state)
{
    (void)state;
    test t = {.nrank = 2, .body = cut_the_wire, .options = {.timeout = 0.3}};
    run(&t);
    assert_int_equal(t.rank[1].status, MW_ERR_COMM);
    assert_non_null(strstr(t.rank[1].says, "mailbox failed on rank 1: the wire is cut"));
    assert_int_equal(t.rank[0].status, MW_ERR_TIMEOUT); /* nobody could tell it */
    assert_non_null(strstr(t.rank[0].says, "rank 1 does not answer"));
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Rank 1 has no memory for a large transfer: it fails alone, and rank 0 is told. */
static mw_status starve(rank_state *me)
{
    mw_team *all = team_of(me, 0, 2);
    MW_TRY(one_transfer(me, all, ALL_REDUCE, 100, 1));
    mw_fault_allocator *fault = me->rank ? (mw_fault_allocator *)me->comm->allocator->user : NULL;
    if (fault) fault->fail_at = fault->count + 1;
    mw_status status = one_transfer(me, all, ALL_REDUCE, 100000, 1);
    if (fault) fault->fail_at = 0;
    return status;
}

static void test_a_lack_of_memory_is_a_failure_of_that_rank(void **state)
{
    (void)state;
    mw_fault_allocator fault;
    test t = {.nrank = 2, .body = starve};
    mw_fault_allocator_init(&fault, 0, 0);
    mail_world_init(&t.mail, 2, SEED);
    pthread_t thread[2];
    for (int r = 0; r < 2; r++) {
        if (r == 1) mw_allocator_use(&fault.allocator);
        t.rank[r] = (rank_state){.t = &t, .rank = r};
        assert_int_equal(mw__comm_messages_new(&t.mail.box[r].transport, NULL, &t.rank[r].comm),
                         MW_OK);
    }
    mw_allocator_use(NULL);
    for (int r = 0; r < 2; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &t.rank[r]), 0);
    for (int r = 0; r < 2; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    for (int r = 0; r < 2; r++)
        mw__comm_world_free(t.rank[r].comm);
    mail_world_done(&t.mail);
    assert_int_equal(t.rank[1].status, MW_ERR_NOMEM);
    assert_int_equal(t.rank[0].status, MW_ERR_COMM);
    assert_non_null(strstr(t.rank[0].says, "rank 1 failed: out of memory"));
    assert_int_equal(fault.live, 0);
}

/* Making an end and a team fails cleanly at each request for memory. */
static void test_an_end_is_made_or_not_at_all(void **state)
{
    (void)state;
    for (int64_t fail_at = 1;; fail_at++) {
        mw_fault_allocator fault;
        mail_world post;
        mw_comm *comm = NULL;
        mw_team *team;
        mw_fault_allocator_init(&fault, fail_at, 0);
        mail_world_init(&post, 3, SEED);
        mw_allocator_use(&fault.allocator);
        mw_status status = mw__comm_messages_new(&post.box[0].transport, NULL, &comm);
        if (status == MW_OK) status = mw__comm_team(comm, (int[]){0, 1, 2}, 3, &team);
        mw__comm_world_free(comm);
        mw_allocator_use(NULL);
        mail_world_done(&post);
        assert_int_equal(fault.live, 0);
        if (fault.count < fail_at) {
            assert_int_equal(status, MW_OK);
            break;
        }
        assert_int_equal(status, MW_ERR_NOMEM);
    }
}

int main(void)
{
    print_message("seed %llu\n", (unsigned long long)SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_give_the_reference_bits),
        cmocka_unit_test(test_overlapping_teams_interleave),
        cmocka_unit_test(test_a_disagreement_is_told_to_every_rank),
        cmocka_unit_test(test_a_team_of_one_needs_nobody),
        cmocka_unit_test(test_a_rank_that_fails_alone_is_named_to_all),
        cmocka_unit_test(test_a_rank_that_has_ended_is_not_waited_for),
        cmocka_unit_test(test_a_pair_that_misses_each_other_is_a_disagreement),
        cmocka_unit_test(test_who_is_silent_is_named_when_the_time_is_over),
        cmocka_unit_test(test_a_rank_that_is_told_to_end_says_what_it_waited_for),
        cmocka_unit_test(test_a_transport_that_fails_is_told),
        cmocka_unit_test(test_a_lack_of_memory_is_a_failure_of_that_rank),
        cmocka_unit_test(test_an_end_is_made_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
