/* comm: ranks exchanging bytes. One primitive carries every collective: a *transfer*. Each rank of
 * a team posts the buffer it offers and a list of boxes to pull from the buffers of the others (its
 * own included), in order; a box is stored or combined. all_gather, all_to_all, reduce_scatter and
 * exchange are one transfer, a two-phase all_reduce is two.
 *
 * Backends: threads (ranks are threads of one process: a pull is a strided copy straight out of the
 * peer's buffer), mpi (ranks are processes: boxes travel in messages), fake (no data). They share
 * this interface and the order of reductions: the order of the pulls. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include "base/base.h"
#include "mesh/mesh.h"
#include "tensor/tensor.h"

typedef struct mw_comm mw_comm; /* one rank's end; used by that rank's thread only */
typedef struct mw_team mw_team; /* some ranks of the world, and this one's place among them */

/* A box: `size` elements per dim, at element offsets of the two buffers, with strides. Rows first,
 * the last dim innermost. */
enum { MW_PULL_DIMS = 8 };
typedef struct mw_pull {
    int peer;       /* rank number in the world whose buffer is read */
    uint8_t reduce; /* mw_reduce: how it combines with what is there; NONE: it is stored */
    uint8_t ndim;
    int64_t from, to;
    int64_t size[MW_PULL_DIMS];
    int64_t from_stride[MW_PULL_DIMS];
    int64_t to_stride[MW_PULL_DIMS];
} mw_pull;

typedef struct mw_transfer {
    const char *what; /* "all_reduce f32[1, 576]{sum:tp} over tp": for errors; lives as long */
    uint64_t hash;    /* of all that the team must agree on; unequal is an error on every rank */
    mw_team *team;
    mw_dtype dtype;      /* of the elements */
    const void *from;    /* this rank's buffer; NULL when it offers nothing (or fake) */
    mw_storage *storage; /* that holds `from`, so that it outlives the readers; may be NULL */
    void *to;            /* where pulls go; must not overlap `from` */
    const mw_pull *pull; /* in order */
    int npull;
    /* The other ranks' boxes out of my buffer (peer = who pulls), those of one peer in its order:
     * for backends where the sender acts (mw__comm_serves); threads needs only nreader. */
    const mw_pull *serve;
    int nserve;
    int nreader; /* how many other ranks pull from my buffer */
} mw_transfer;

/* Runs a transfer to its end. On return `to` is complete; `from` may still be read by peers: its
 * storage's `readers` says so. Collective over the team.
 * Fails on every rank of the team: MW_ERR_COMM when some rank failed, left or disagrees (says who
 * is where), MW_ERR_TIMEOUT when somebody does not come. Afterwards the world is poisoned. */
MW_NODISCARD mw_status mw__comm_transfer(mw_comm *comm, const mw_transfer *transfer);

/* The same in two halves: begin offers my buffer, end waits for the others and pulls. Between them
 * this rank may compute and wait for readers, and nothing else of comm; `from` must stay as it is,
 * and `to` is not touched. Both are given the same transfer. Fail as above; after a begin that has
 * failed there is no end. */
MW_NODISCARD mw_status mw__comm_begin(mw_comm *comm, const mw_transfer *transfer);
MW_NODISCARD mw_status mw__comm_end(mw_comm *comm, const mw_transfer *transfer);

/* Waits until every rank of the team is here. Same failures. */
MW_NODISCARD mw_status mw__comm_barrier(mw_comm *comm, mw_team *team, const char *what);

/* Waits until no peer reads the storage any more (before it is written in place). Same failures. */
MW_NODISCARD mw_status mw__comm_wait_readers(mw_comm *comm, const mw_storage *storage);

/* This rank has failed alone: every rank that waits, or will wait, for a collective gets an error
 * that names rank, op (from `error->where`) and cause. Local; a world's first failure counts. */
void mw__comm_fail(mw_comm *comm, const mw_error *error);

/* This rank's program has ended: who waits for it from now on gets an error instead of waiting.
 * Every rank calls this, or mw__comm_fail, before its thread ends: others, or a pool that waits for
 * readers (mw__pool_done), may wait for it otherwise. */
void mw__comm_leave(mw_comm *comm);

/* Waits, after mw__comm_leave, until all ranks have ended; where ranks are threads their launcher
 * does that. Fails with what began the failure of the world, if it has failed: the record says
 * what, and what it meant here. */
MW_NODISCARD mw_status mw__comm_finish(mw_comm *comm);

/* The team of `count` ranks (rising numbers, this rank among them); made on first use, kept by the
 * world. Local: no communication. */
MW_NODISCARD mw_status mw__comm_team(mw_comm *comm, const int *ranks, int count, mw_team **ret);
int mw__team_size(const mw_team *team);
int mw__team_me(const mw_team *team); /* index, not rank */
int mw__team_rank(const mw_team *team, int index);

int mw__comm_rank(const mw_comm *comm);
int mw__comm_ranks(const mw_comm *comm);
bool mw__comm_fake(const mw_comm *comm);           /* no data moves */
bool mw__comm_serves(const mw_comm *comm);         /* transfers must say what they serve */
const char *mw__comm_backend(const mw_comm *comm); /* "threads", "mpi", "fake" */

typedef struct mw_comm_options {
    double timeout; /* seconds to wait for a rank that does not come; 0: 60 */
    int cores;      /* ranks spin while they wait only if nrank <= cores; 0: ask the system */
    const volatile int *interrupt; /* mpi: a rank that waits gives up once this is not 0 */
} mw_comm_options;

/* Makes the ends of a world of nrank threads into ret_comm[nrank]. The creator frees them, after
 * every rank's thread has ended, with mw__comm_world_free(ret_comm[0]). */
MW_NODISCARD mw_status mw__comm_threads_new(int nrank, const mw_comm_options *options,
                                            mw_comm **ret_comm);

/* This process' end of the world that a launcher such as mpirun has started, by the module in the
 * file `module` (NULL: where the loader and the library's own place lead to). One at a time.
 * Fails: MW_ERR_UNSUPPORTED where there is no such module or no MPI. */
MW_NODISCARD mw_status mw__comm_mpi_new(const char *module, const mw_comm_options *options,
                                        mw_comm **ret_comm);

/* This process' rank in that world, and its size. */
MW_NODISCARD mw_status mw__comm_mpi_find(const char *module, int *ret_rank, int *ret_ranks);

/* One end of a world of nrank ranks that carries no data: this rank plays rank `rank`. */
MW_NODISCARD mw_status mw__comm_fake_new(int nrank, int rank, mw_comm **ret_comm);
void mw__comm_world_free(mw_comm *comm); /* NULL is fine */

/* Performs pulls whose peer's buffer is `from`: the strided copies and reductions themselves
 * (shared by all backends). Combining is done in the order given; MAX and MIN let NaN win. */
void mw__pull_run(const mw_pull *pull, mw_dtype dtype, const void *from, void *to);

/* to[i] = from[0][i] (+) from[1][i] (+) ... in that order: one pass over n elements. */
void mw__reduce_rows(mw_reduce kind, mw_dtype dtype, void *to, const void *const *from, int count,
                     int64_t n);

#endif
