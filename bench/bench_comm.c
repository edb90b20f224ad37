/* What a collective costs: barrier and all_reduce of the threads backend, beside the same bytes
 * moved by one thread alone (memcpy, add) in the same run. Prints microseconds per call, the least
 * and the median of the rounds; a machine that does other work at the same time shows in the gap.
 */
#include "comm/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 64, ROUNDS = 21, MOST = 1 << 20 };

typedef struct job {
    int nrank, calls;
    int64_t bytes; /* 0: barriers */
    mw_comm *comm[RANKS];
    double round[ROUNDS]; /* seconds per call */
} job;

typedef struct start {
    job *j;
    int rank;
} start;

static void must(mw_status status)
{
    if (status == MW_OK) return;
    (void)fprintf(stderr, "bench_comm: %s\n", mw_last_error()->says);
    exit(1);
}

static mw_pull row(int peer, mw_reduce reduce, int64_t from, int64_t to, int64_t n)
{
    return (mw_pull){.peer = peer,
                     .reduce = (uint8_t)reduce,
                     .ndim = 1,
                     .from = from,
                     .to = to,
                     .size = {n},
                     .from_stride = {1},
                     .to_stride = {1}};
}

/* Two ranks: one transfer. More: reduce_scatter, then all_gather. */
static void all_reduce(mw_comm *comm, mw_team *team, mw_storage *from, mw_storage *to,
                       mw_storage *part, int64_t n)
{
    int p = mw__team_size(team), me = mw__team_me(team);
    int64_t chunk = (n + p - 1) / p, first = MW_MIN(n, me * chunk);
    mw_pull pull[RANKS];
    mw_transfer t = {.what = "all_reduce f32",
                     .hash = 1,
                     .team = team,
                     .dtype = MW_DTYPE_f32,
                     .from = from->data,
                     .storage = from,
                     .to = to->data,
                     .pull = pull,
                     .npull = p,
                     .nreader = p - 1};
    bool direct = p <= 2;
    for (int i = 0; i < p; i++)
        pull[i] = row(i, i ? MW_REDUCE_SUM : MW_REDUCE_NONE, direct ? 0 : first, 0,
                      direct ? n : MW_MIN(n, first + chunk) - first);
    if (!direct) t.to = part->data;
    must(mw__comm_wait_readers(comm, direct ? to : part));
    must(mw__comm_transfer(comm, &t));
    if (direct) return;
    for (int i = 0; i < p; i++) {
        int64_t at = MW_MIN(n, i * chunk);
        pull[i] = row(i, MW_REDUCE_NONE, 0, at, MW_MIN(n, at + chunk) - at);
    }
    t.hash = 2;
    t.from = part->data;
    t.storage = part;
    t.to = to->data;
    must(mw__comm_transfer(comm, &t));
}

static void *run_rank(void *arg)
{
    job *j = ((start *)arg)->j;
    int rank = ((start *)arg)->rank, ranks[RANKS];
    mw_comm *comm = j->comm[rank];
    mw_team *team;
    mw_storage *from, *to, *part;
    for (int r = 0; r < j->nrank; r++)
        ranks[r] = r;
    must(mw__comm_team(comm, ranks, j->nrank, &team));
    must(mw__storage_new(MOST, &from));
    must(mw__storage_new(MOST, &to));
    must(mw__storage_new(MOST, &part));
    memset(from->data, 0, MOST);
    memset(to->data, 0, MOST);
    memset(part->data, 0, MOST);
    for (int round = 0; round < ROUNDS; round++) {
        must(mw__comm_barrier(comm, team, "a round"));
        double start_at = mw__now();
        for (int i = 0; i < j->calls; i++) {
            if (j->bytes)
                all_reduce(comm, team, from, to, part, j->bytes / 4);
            else
                must(mw__comm_barrier(comm, team, "barrier"));
        }
        if (rank == 0) j->round[round] = (mw__now() - start_at) / j->calls;
    }
    must(mw__comm_barrier(comm, team, "the end"));
    mw__storage_unref(from);
    mw__storage_unref(to);
    mw__storage_unref(part);
    mw__comm_leave(comm);
    mw__pool_done();
    return NULL;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_rounds(const char *what, double *round)
{
    qsort(round, ROUNDS, sizeof *round, rising);
    printf("%-34s %9.2f %9.2f\n", what, round[0] * 1e6, round[ROUNDS / 2] * 1e6);
}

static void measure(int nrank, int64_t bytes)
{
    job j = {.nrank = nrank, .bytes = bytes};
    start starts[RANKS];
    pthread_t thread[RANKS];
    j.calls = bytes > 100000 ? 20 : nrank > 16 ? 20 : nrank > 2 ? 400 : 4000;
    must(mw__comm_threads_new(nrank, NULL, j.comm));
    for (int r = 0; r < nrank; r++) {
        starts[r] = (start){&j, r};
        if (pthread_create(&thread[r], NULL, run_rank, &starts[r]) != 0) exit(1);
    }
    for (int r = 0; r < nrank; r++)
        (void)pthread_join(thread[r], NULL);
    mw__comm_world_free(j.comm[0]);
    char what[64];
    if (bytes)
        (void)snprintf(what, sizeof what, "all_reduce %d ranks, %lld B", nrank, (long long)bytes);
    else
        (void)snprintf(what, sizeof what, "barrier %d ranks", nrank);
    print_rounds(what, j.round);
}

/* One thread moves, and adds, as many bytes. */
static void reference(int64_t bytes)
{
    static float a[MOST / 4], b[MOST / 4], c[MOST / 4];
    double copy[ROUNDS], add[ROUNDS];
    int calls = bytes > 100000 ? 100 : 10000;
    const void *rows[2] = {a, b};
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (int round = 0; round < ROUNDS; round++) {
        double t0 = mw__now();
        for (int i = 0; i < calls; i++) {
            memcpy(c, a, (size_t)bytes);
            __asm__ volatile("" : : "r"(c) : "memory");
        }
        double t1 = mw__now();
        for (int i = 0; i < calls; i++)
            mw__reduce_rows(MW_REDUCE_SUM, MW_DTYPE_f32, c, rows, 2, bytes / 4);
        copy[round] = (t1 - t0) / calls;
        add[round] = (mw__now() - t1) / calls;
    }
    char what[64];
    (void)snprintf(what, sizeof what, "memcpy of %lld B, alone", (long long)bytes);
    print_rounds(what, copy);
    (void)snprintf(what, sizeof what, "add of %lld B, alone", (long long)bytes);
    print_rounds(what, add);
}

int main(void)
{
    static const int64_t bytes[] = {2304, MOST};
    static const int ranks[] = {2, 4, 16, 64};
    printf("%-34s %9s %9s\n", "us per call", "least", "median");
    for (int b = 0; b < MW_COUNT(bytes); b++)
        reference(bytes[b]);
    for (int r = 0; r < MW_COUNT(ranks); r++) {
        measure(ranks[r], 0);
        for (int b = 0; b < MW_COUNT(bytes); b++)
            measure(ranks[r], bytes[b]);
    }
    return 0;
}
