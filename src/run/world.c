/* The ranks of a launch as a whole: joining a world of processes, and exchanging what the host
 * knows (reports, errors) rather than what tensors hold. Nothing here is booked as movement. */
#include "run/run.h"

#include <stdio.h>

mw_status mw__world_team(mw_comm *comm, mw_team **ret)
{
    int n = mw__comm_ranks(comm);
    int *all = mw__alloc((size_t)n * sizeof *all);
    if (!all) return MW_NOMEM();
    for (int i = 0; i < n; i++)
        all[i] = i;
    mw_status status = mw__comm_team(comm, all, n, ret);
    mw__free(all, (size_t)n * sizeof *all);
    return status;
}

mw_status mw_world_find(const char *backend, const char *module, int *ret_rank, int *ret_ranks)
{
    if (strcmp(backend, "mpi") == 0) return mw__comm_mpi_find(module, ret_rank, ret_ranks);
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "the backend '%s' has no ranks before a launch", backend);
    mw__error_hint("mpi has: its launcher starts them");
    return status;
}

/* All ranks are there and were started for the same mesh. */
static mw_status meet(mw_comm *comm, const mw_mesh *mesh, const char *mesh_text)
{
    char what[160];
    mw_team *team;
    MW_TRY(mw__world_team(comm, &team));
    (void)snprintf(what, sizeof what, "the start of a launch on the mesh %.100s", mesh_text);
    const mw_transfer nothing = {
        .what = what, .hash = mesh->hash, .team = team, .dtype = MW_DTYPE_NONE};
    return mw__comm_transfer(comm, &nothing);
}

mw_status mw__world_join(const mw_launch_options *options, const mw_mesh *mesh, mw_comm **ret_comm)
{
    int rank, ranks;
    char text[256];
    (void)mw_mesh_print(mesh, text, sizeof text);
    MW_TRY(mw__comm_mpi_find(options->module, &rank, &ranks));
    if (ranks != mesh->nrank) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "the launcher started %d ranks, and the mesh %.200s is of %d",
                    ranks, text, mesh->nrank);
        mw__error_hint("start as many ranks as the mesh has (mpirun -n %d), or leave the mesh to "
                       "its default, tp=%d",
                       mesh->nrank, ranks);
        return status;
    }
    const mw_comm_options comm_options = {.timeout = options->timeout,
                                          .interrupt = options->interrupt};
    mw_comm *comm;
    MW_TRY(mw__comm_mpi_new(options->module, &comm_options, &comm));
    mw_status status = meet(comm, mesh, text);
    if (status != MW_OK) {
        mw__comm_fail(comm, mw_last_error());
        mw__comm_world_free(comm);
        return status;
    }
    *ret_comm = comm;
    return MW_OK;
}

/* Rank i's bytes lie at i * size of the result. */
static mw_status gather(mw_rank *rank, const void *mine, int64_t size, void *ret_all)
{
    int n = rank->mesh->nrank;
    mw_team *team;
    MW_TRY(mw__world_team(rank->comm, &team));
    mw_pull *pull = mw__alloc((size_t)(2 * n) * sizeof *pull), *serve = pull + n;
    if (!pull) return MW_NOMEM();
    for (int i = 0; i < n; i++) {
        pull[i] = (mw_pull){.peer = i, .ndim = 1, .to = i * size, .size = {size}};
        pull[i].from_stride[0] = pull[i].to_stride[0] = 1;
        serve[i] = pull[i];
        serve[i].to = rank->index * size;
    }
    serve[rank->index] = serve[n - 1]; /* the others, in any order */
    const mw_transfer transfer = {.what = "a gathering of what each rank knows",
                                  .hash = mw__hash(1, &size, sizeof size),
                                  .team = team,
                                  .dtype = MW_DTYPE_u8,
                                  .from = mine,
                                  .to = ret_all,
                                  .pull = pull,
                                  .npull = size > 0 ? n : 0,
                                  .serve = serve,
                                  .nserve = size > 0 ? n - 1 : 0,
                                  .nreader = size > 0 ? n - 1 : 0};
    mw_status status = mw__comm_transfer(rank->comm, &transfer);
    mw__free(pull, (size_t)(2 * n) * sizeof *pull);
    return status;
}

mw_status mw_gather_bytes(const void *mine, int64_t size, void *ret_all)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    if (size < 0) return MW_FAIL(MW_ERR_ARG, "gather_bytes: %lld bytes", (long long)size);
    if (!rank->fake) return mw__rank_failed(rank, gather(rank, mine, size, ret_all));
    if (size) memcpy((char *)ret_all + rank->index * size, mine, (size_t)size);
    return MW_OK;
}
