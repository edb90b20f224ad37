/* What a backend of comm is to the rest of it: a table of functions, and the parts of an end and of
 * a team that all backends share. A backend puts mw_comm first in its own end and hangs what it
 * keeps for a team at mw_team.backend. Everything that depends on the transport stays behind this
 * table. */
#ifndef COMM_BACKEND_H
#define COMM_BACKEND_H

#include "comm/comm.h"

typedef struct mw__backend {
    const char *name;
    bool fake;   /* no data moves */
    bool serves; /* needs `serve` of a transfer */
    mw_status (*transfer)(mw_comm *comm, const mw_transfer *transfer);
    mw_status (*begin)(mw_comm *comm, const mw_transfer *transfer);
    mw_status (*end)(mw_comm *comm, const mw_transfer *transfer);
    mw_status (*barrier)(mw_comm *comm, mw_team *team, const char *what);
    mw_status (*wait_readers)(mw_comm *comm, const mw_storage *storage);
    void (*fail)(mw_comm *comm, const mw_error *error);
    void (*leave)(mw_comm *comm);
    mw_status (*finish)(mw_comm *comm); /* NULL: nothing to wait for */
    /* Sets team->backend of a team that is otherwise complete, and the reverse. Local. */
    mw_status (*attach)(mw_comm *comm, mw_team *team);
    void (*detach)(mw_comm *comm, mw_team *team);
    void (*world_free)(mw_comm *comm);
} mw__backend;

struct mw_team {
    mw_team *next; /* in its bucket */
    uint64_t hash; /* of the rank list */
    void *backend;
    int count, me;
    int rank[]; /* [count], rising */
};

enum { MW_TEAM_BUCKETS = 16 };

struct mw_comm {
    const mw__backend *backend;
    const mw_allocator *allocator; /* of the world: all that lives as long as it does */
    int rank, nrank;
    mw_team *team[MW_TEAM_BUCKETS]; /* those that this rank has asked for */
};

/* Memory of the world, from its creator's allocator whichever thread asks. NULL on failure. */
void *mw__world_alloc(const mw_allocator *allocator, size_t size);
void mw__world_free(const mw_allocator *allocator, void *block, size_t size);

/* Detaches and frees this end's teams: part of every world_free. */
void mw__teams_free(mw_comm *comm);

/* How many pulls from pull[0] on are one reduction: the same destination box, the first stored, the
 * rest combined alike. At least 1, at most MW_PULL_GROUP. */
enum { MW_PULL_GROUP = 64 };
int mw__pull_group(const mw_pull *pull, int count);

/* Runs such a group in one pass; from[i] is the buffer of pull[i]'s peer. The bits are those of the
 * pulls run one by one. `past`: the result should not go through the caches. */
void mw__pull_group_run(const mw_pull *pull, int count, mw_dtype dtype, const void *const *from,
                        void *to, bool past);

/* Is what all these pulls write too large for the caches? */
bool mw__pulls_past(const mw_pull *pull, int count, mw_dtype dtype);

/* to = from, and to = from[0] + from[1] + ... (in that order), past the caches; `to` must not
 * overlap. Others may look at the result only after mw__stream_done. */
void mw__stream_copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step,
                          int64_t bytes, int64_t rows); /* steps in bytes */
void mw__stream_sum_f32(float *to, const void *const *from, int count, int64_t n);
void mw__stream_done(void);

#endif
