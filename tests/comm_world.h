/* For tests of comm: runs a function on every rank of a world of threads. Asserts of the test
 * library may not be used off the main thread, so ranks record what they find with CHECK and the
 * main thread asserts that nothing was found. */
#ifndef TESTS_COMM_WORLD_H
#define TESTS_COMM_WORLD_H

#include "comm/comm.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORLD_RANKS = 64 };

typedef struct world {
    int nrank;
    mw_comm *comm[WORLD_RANKS];
    void (*body)(struct world *world, mw_comm *comm, int rank);
    void *arg;
    uint64_t seed;
    bool no_leave; /* the body says itself when a rank leaves */
    int found;     /* atomic: checks that did not hold */
    char first[512];
    char says[WORLD_RANKS][1536]; /* for bodies to keep error texts in */
    mw_status status[WORLD_RANKS];
} world;

#define CHECK(world, cond, ...)                                                  \
    do {                                                                         \
        if (!(cond)) world_found(world, __FILE__, __LINE__, #cond, __VA_ARGS__); \
    } while (0)

static inline void world_found(world *w, const char *file, int line, const char *what,
                               const char *format, ...) MW_PRINTF(5, 6);
static inline void world_found(world *w, const char *file, int line, const char *what,
                               const char *format, ...)
{
    if (__atomic_fetch_add(&w->found, 1, __ATOMIC_RELAXED) > 0) return;
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)snprintf(w->first, sizeof w->first, "%.80s:%d: %.120s: %s", file, line, what, text);
}

typedef struct world_start {
    world *w;
    int rank;
} world_start;

static inline void *world_thread(void *arg)
{
    const world_start *start = arg;
    world *w = start->w;
    mw_comm *comm = w->comm[start->rank];
    w->body(w, comm, start->rank);
    if (!w->no_leave) mw__comm_leave(comm);
    mw__pool_done();
    return NULL;
}

/* Makes the world, runs body on every rank, frees the world; asserts that no check failed. */
static inline void world_run(world *w, const mw_comm_options *options)
{
    pthread_t thread[WORLD_RANKS];
    world_start start[WORLD_RANKS];
    assert_int_equal(mw__comm_threads_new(w->nrank, options, w->comm), MW_OK);
    for (int r = 0; r < w->nrank; r++) {
        start[r] = (world_start){w, r};
        assert_int_equal(pthread_create(&thread[r], NULL, world_thread, &start[r]), 0);
    }
    for (int r = 0; r < w->nrank; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    mw__comm_world_free(w->comm[0]);
    if (w->found)
        fail_msg("seed %llu: %d checks: %s", (unsigned long long)w->seed, w->found, w->first);
}

/* A small generator (splitmix64): each rank has its own stream. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int random_below(uint64_t *state, int n)
{
    return (int)(next_random(state) % (uint64_t)n);
}

/* A pull of n elements in a row. */
static inline mw_pull pull_row(int peer, mw_reduce reduce, int64_t from, int64_t to, int64_t n)
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

/* The team of all ranks of the world. */
static inline mw_team *whole_team(world *w, mw_comm *comm)
{
    int ranks[WORLD_RANKS];
    mw_team *team = NULL;
    for (int r = 0; r < w->nrank; r++)
        ranks[r] = r;
    CHECK(w, mw__comm_team(comm, ranks, w->nrank, &team) == MW_OK, "%s", mw_last_error()->says);
    return team;
}

#endif
