/* The threads backend: ranks are threads of one process. What its files share.
 *
 *     threads.c           the world and its teams: made and freed
 *     threads_transfer.c  publish, meet, pull, lower
 *     threads_wait.c      how a rank waits, and how it notices that it waits in vain
 *     threads_fail.c      the one failure of a world and how every rank learns of it
 *
 * Each member of a team has two slots, used in turn by its transfers number 1, 2, 3, ... of that
 * team. A transfer ends only when every member has published the slot of that number. So who
 * publishes number n + 1 knows that all have published n, hence are done with n - 1, whose slot it
 * takes: two slots are enough, nobody ever waits for a free one, and nobody is ever more than one
 * ahead.
 *
 * A rank raises `inside` while it may read a peer's buffer. The one failure of a world, `failed`,
 * is raised for good; who enters afterwards turns back, who is inside comes out. Once all are out
 * nobody will read anything again, and readers that never came are struck off (mw__threads_settle).
 */
#ifndef COMM_THREADS_H
#define COMM_THREADS_H

#include "comm/backend.h"

#include <pthread.h>

enum { MW_CACHE_LINE = 64, MW_WHERE_WORDS = 24 };

/* Written by its owner, then published by `number` (release); `left` is lowered by the readers. */
typedef struct mw__slot {
    uint64_t number; /* atomic; of the transfer, per team from 1; 0: none yet */
    const void *from;
    uint64_t hash;
    mw_storage *storage; /* counts this slot among its readers while `left` > 0; may be NULL */
    int64_t left;        /* atomic: peers that have yet to read, or are reading */
    char pad[MW_CACHE_LINE - 40];
} mw__slot;

/* What the members of a team share. Immutable but for the slots. */
typedef struct mw__threads_team {
    struct mw__threads_team *next; /* in the world's list; locked */
    void *block;
    size_t bytes; /* of the block that holds all of it */
    int count;
    int *rank;           /* [count] */
    int *index;          /* [nrank]: place of a rank in the team, or -1 */
    mw__slot (*slot)[2]; /* [count] */
} mw__threads_team;

/* What one rank keeps for a team. */
typedef struct mw__threads_member {
    mw__threads_team *team;
    uint64_t number; /* of its last transfer here */
    uint64_t
        pulled[]; /* [count]: number of the last transfer in which it pulled from that member */
} mw__threads_member;

struct mw__threads_world;

/* One rank's end. Other ranks read the atomic parts. */
typedef struct mw__threads_end {
    mw_comm base;
    struct mw__threads_world *world;
    char pad0[MW_CACHE_LINE];
    int inside; /* atomic: may be reading peers' buffers */
    int left;   /* atomic: its program has ended */

    /* The last collective it came to, as text: a sequence lock, odd while it is being written. */
    uint64_t where_version;
    uint64_t where[MW_WHERE_WORDS];

    /* What it waits for, posted once it has waited long: `ticket` is odd while it does. Atomic. */
    uint64_t ticket;
    mw__threads_team *wait_team;
    int wait_index;
    uint64_t wait_number;
    char pad1[MW_CACHE_LINE];
} mw__threads_end;

/* The failure of a world; immutable once `failed` is set. */
typedef struct mw__threads_story {
    mw_status code;   /* MW_ERR_COMM or MW_ERR_TIMEOUT */
    int rank;         /* that is the cause; -1: no single one */
    const char *verb; /* what is said of a rank that needs it: "was waiting for it in" */
    char says[1200];
    char hint[512];
} mw__threads_story;

typedef struct mw__threads_world {
    void *block;
    size_t bytes;
    const mw_allocator *allocator;
    int nrank;
    int spins;          /* looks before a waiting rank gives way */
    double yield_until; /* seconds of giving way before it sleeps */
    double sleep_part;  /* of the time waited so far: how long it sleeps at a time */
    double timeout;
    mw__threads_end *end;    /* [nrank] */
    mw__threads_team *teams; /* locked */
    pthread_mutex_t lock;    /* teams, and the choice of the first failure */
    char pad[MW_CACHE_LINE];
    int failed; /* atomic */
    mw__threads_story story;
} mw__threads_world;

/* ---- waiting ------------------------------------------------------------------------------- */
typedef struct mw__threads_wait {
    int looks;
    double since; /* first look at the clock */
    bool posted;
} mw__threads_wait;

/* What is waited for: slot `number` of the team's member `index`; index -1: my own readers. */
typedef struct mw__threads_goal {
    mw__threads_team *team;
    int index;
    uint64_t number;
} mw__threads_goal;

/* To be called between two looks at what is waited for. False: the world has failed (perhaps just
 * now: a time-out, a peer that has left, ranks that wait for each other). */
bool mw__threads_pause(mw__threads_end *me, mw__threads_wait *wait, const mw__threads_goal *goal);

/* After the wait, whatever its end. */
void mw__threads_wait_done(mw__threads_end *me, mw__threads_wait *wait);

/* Gives way `turn` times, ever longer. */
void mw__threads_give_way(int turn);

/* ---- failing ------------------------------------------------------------------------------- */
bool mw__threads_failed(const mw__threads_world *world);

/* Poisons the world unless it already is. The story is copied. */
void mw__threads_poison(mw__threads_world *world, const mw__threads_story *story);

/* After the world has failed: leaves the inside, waits until nobody is inside, strikes off readers
 * that will never come. Afterwards this rank's buffers may be freed. */
void mw__threads_settle(mw__threads_end *me);

/* Makes this rank's error record out of the world's failure. `team` may be NULL. */
mw_status mw__threads_tell(mw__threads_end *me, const mw_team *team, const char *what);

/* The failures: of a rank alone, and those found while waiting and meeting. */
void mw__threads_poison_failed(mw__threads_end *me, const mw_error *error);
void mw__threads_poison_disagree(mw__threads_end *me, mw__threads_team *team, uint64_t number);
void mw__threads_poison_timeout(mw__threads_end *me, const mw__threads_goal *goal, double waited);
void mw__threads_poison_left(mw__threads_end *me, int rank);
void mw__threads_poison_circle(mw__threads_end *me);

/* Writes and reads an end's `where`. Reading gives "" where nothing was ever written. */
void mw__threads_where_set(mw__threads_end *me, const char *what);
void mw__threads_where_get(const mw__threads_end *end, char ret[MW_WHERE_WORDS * 8 + 1]);

/* The number of the last slot that a member has published. */
uint64_t mw__threads_last(const mw__threads_team *team, int index);

/* ---- transfers ----------------------------------------------------------------------------- */
mw_status mw__threads_transfer(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__threads_begin(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__threads_end_of(mw_comm *comm, const mw_transfer *transfer);
mw_status mw__threads_barrier(mw_comm *comm, mw_team *team, const char *what);
mw_status mw__threads_wait_readers(mw_comm *comm, const mw_storage *storage);

#endif
