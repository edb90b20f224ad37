/* The interface of comm: each call goes to the backend of its end. What every backend would do
 * alike stands here and in team.c. */
#include "comm/backend.h"

void *mw__world_alloc(const mw_allocator *allocator, size_t size)
{
    mw__ctx_get()->allocations++;
    return allocator->resize(allocator->user, NULL, 0, size);
}

void mw__world_free(const mw_allocator *allocator, void *block, size_t size)
{
    if (block) (void)allocator->resize(allocator->user, block, size, 0);
}

mw_status mw__comm_transfer(mw_comm *comm, const mw_transfer *transfer)
{
    return comm->backend->transfer(comm, transfer);
}

mw_status mw__comm_begin(mw_comm *comm, const mw_transfer *transfer)
{
    return comm->backend->begin(comm, transfer);
}

mw_status mw__comm_end(mw_comm *comm, const mw_transfer *transfer)
{
    return comm->backend->end(comm, transfer);
}

mw_status mw__comm_barrier(mw_comm *comm, mw_team *team, const char *what)
{
    return comm->backend->barrier(comm, team, what);
}

mw_status mw__comm_wait_readers(mw_comm *comm, const mw_storage *storage)
{
    return comm->backend->wait_readers(comm, storage);
}

void mw__comm_fail(mw_comm *comm, const mw_error *error)
{
    comm->backend->fail(comm, error);
}

void mw__comm_leave(mw_comm *comm)
{
    comm->backend->leave(comm);
}

mw_status mw__comm_finish(mw_comm *comm)
{
    return comm->backend->finish ? comm->backend->finish(comm) : MW_OK;
}

bool mw__comm_serves(const mw_comm *comm)
{
    return comm->backend->serves;
}

int mw__comm_rank(const mw_comm *comm)
{
    return comm->rank;
}

int mw__comm_ranks(const mw_comm *comm)
{
    return comm->nrank;
}

bool mw__comm_fake(const mw_comm *comm)
{
    return comm->backend->fake;
}

const char *mw__comm_backend(const mw_comm *comm)
{
    return comm->backend->name;
}

void mw__comm_world_free(mw_comm *comm)
{
    if (comm) comm->backend->world_free(comm);
}
