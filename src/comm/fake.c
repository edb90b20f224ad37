/* The fake backend: one rank of a world of any size, of which the others are only imagined.
 * Transfers agree with everybody and move nothing, so a plan for thousands of ranks can be walked
 * through on one thread. A failure poisons it as it would a real world. */
#include "comm/backend.h"

typedef struct fake_end {
    mw_comm base;
    mw_error failure; /* code MW_OK while nothing has failed */
} fake_end;

static mw_status tell(const mw_comm *comm, const char *what)
{
    const mw_error *failure = &((const fake_end *)comm)->failure;
    if (MW_LIKELY(failure->code == MW_OK)) return MW_OK;
    (void)MW_FAIL(MW_ERR_COMM, "rank %d failed%s%.300s: %.1000s; it came to %.150s", comm->rank,
                  failure->where[0] ? " in " : "", failure->where, failure->says, what);
    if (failure->hint[0]) mw__error_hint("%s", failure->hint);
    return MW_ERR_COMM;
}

static mw_status fake_transfer(mw_comm *comm, const mw_transfer *transfer)
{
    return tell(comm, transfer->what);
}

static mw_status fake_barrier(mw_comm *comm, mw_team *team, const char *what)
{
    (void)team;
    return tell(comm, what);
}

static mw_status fake_wait_readers(mw_comm *comm, const mw_storage *storage)
{
    (void)storage;
    return tell(comm, "a wait for readers");
}

static void fake_fail(mw_comm *comm, const mw_error *error)
{
    fake_end *me = (fake_end *)comm;
    if (me->failure.code != MW_OK) return;
    me->failure = *error;
    if (me->failure.code == MW_OK) me->failure.code = MW_ERR_INTERNAL;
}

static void fake_leave(mw_comm *comm)
{
    (void)comm;
}

static mw_status fake_attach(mw_comm *comm, mw_team *team)
{
    (void)comm;
    team->backend = NULL;
    return MW_OK;
}

static void fake_detach(mw_comm *comm, mw_team *team)
{
    (void)comm;
    (void)team;
}

static void fake_world_free(mw_comm *comm)
{
    mw__teams_free(comm);
    mw__world_free(comm->allocator, comm, sizeof(fake_end));
}

static const mw__backend fake_backend = {
    .name = "fake",
    .fake = true,
    .transfer = fake_transfer,
    .begin = fake_transfer,
    .end = fake_transfer,
    .barrier = fake_barrier,
    .wait_readers = fake_wait_readers,
    .fail = fake_fail,
    .leave = fake_leave,
    .attach = fake_attach,
    .detach = fake_detach,
    .world_free = fake_world_free,
};

mw_status mw__comm_fake_new(int nrank, int rank, mw_comm **ret_comm)
{
    if (nrank < 1) return MW_FAIL(MW_ERR_ARG, "a world needs at least one rank, got %d", nrank);
    if (rank < 0 || rank >= nrank)
        return MW_FAIL(MW_ERR_ARG, "a world of %d ranks has ranks 0 to %d, got rank %d", nrank,
                       nrank - 1, rank);
    const mw_allocator *allocator = mw__ctx_get()->allocator;
    fake_end *me = mw__world_alloc(allocator, sizeof *me);
    if (!me) return MW_NOMEM();
    memset(me, 0, sizeof *me);
    me->base.backend = &fake_backend;
    me->base.allocator = allocator;
    me->base.rank = rank;
    me->base.nrank = nrank;
    *ret_comm = &me->base;
    return MW_OK;
}
