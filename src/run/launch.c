/* Launching a program: one thread per rank, or the caller's own where this process is one rank
 * (mpi) or plays one (fake). Everything that a rank holds is freed by the launcher after all
 * threads have ended, when nobody reads anybody's memory. */
#include "run/run.h"

#include <limits.h>
#include <stdio.h>

static void free_rank(mw_rank *rank)
{
    mw__ctx *former = mw__ctx_swap(&rank->ctx);
    mw__calls_forget(rank);
    for (int64_t i = 0; i < rank->nowned; i++)
        mw__tensor_drop(rank, rank->owned[i]);
    mw__free(rank->owned, (size_t)rank->cap_owned * sizeof *rank->owned);
    while (rank->free_tensors) {
        mw_tensor *t = rank->free_tensors;
        rank->free_tensors = t->next;
        mw__free(t, sizeof *t);
    }
    mw__arena_done(&rank->scratch);
    mw__arena_done(&rank->plan_scratch);
    mw__arena_done(&rank->choose_scratch);
    mw__free(rank->received_by, (size_t)rank->mesh->nrank * sizeof(int64_t));
    mw__pool_done();
    (void)mw__ctx_swap(former);
}

static void *run_rank(void *user)
{
    mw_rank *rank = user;
    mw__ctx *former = mw__ctx_swap(&rank->ctx);
    int threads = rank->options->threads;
    rank->ended = threads > 1 ? mw__workers_new(threads, &rank->ctx.workers) : MW_OK;
    if (rank->ended == MW_OK) rank->ended = rank->program(rank->user);
    mw__workers_free(rank->ctx.workers);
    rank->ctx.workers = NULL;
    if (rank->ended != MW_OK) {
        if (rank->ctx.error.code == MW_OK)
            (void)MW_FAIL(rank->ended, "the program ended with: %s", mw_status_text(rank->ended));
        (void)mw__rank_failed(rank, rank->ended);
    }
    mw__comm_leave(rank->comm);
    (void)mw__ctx_swap(former);
    return NULL;
}

static bool is_echo(const mw_rank *rank)
{
    return rank->ended == MW_ERR_COMM || rank->ended == MW_ERR_TIMEOUT;
}

/* The failure that began it: one that is not the echo of another rank's. */
static const mw_rank *first_failed(const mw_rank *ranks, int n)
{
    const mw_rank *echo = NULL;
    for (int i = 0; i < n; i++) {
        if (ranks[i].ended == MW_OK) continue;
        if (ranks[i].ended != MW_ERR_COMM && ranks[i].ended != MW_ERR_TIMEOUT) return &ranks[i];
        if (!echo) echo = &ranks[i];
    }
    return echo;
}

static mw_status run_threads(mw_rank *ranks, int n)
{
    pthread_t *thread = mw__zalloc((size_t)n * sizeof *thread);
    if (!thread) return MW_NOMEM();
    mw_status status = MW_OK;
    int started = 0;
    for (; started < n && status == MW_OK; started++)
        if (pthread_create(&thread[started], NULL, run_rank, &ranks[started]) != 0) {
            status = MW_FAIL(MW_ERR_NOMEM, "the thread of rank %d of %d could not be started",
                             started, n);
            started--;
        }
    if (status != MW_OK && started > 0) mw__comm_fail(ranks[n - 1].comm, mw_last_error());
    for (int i = 0; i < started; i++)
        (void)pthread_join(thread[i], NULL);
    mw__free(thread, (size_t)n * sizeof *thread);
    return status;
}

static mw_status init_rank(mw_rank *rank, mw_mesh *mesh, mw_comm *comm,
                           const mw_launch_options *options, mw_status (*program)(void *),
                           void *user)
{
    mw__ctx_init(&rank->ctx, mw__ctx_get()->allocator);
    rank->ctx.rank = rank;
    rank->index = mw__comm_rank(comm);
    rank->mesh = mesh;
    rank->comm = comm;
    rank->options = options;
    rank->fake = mw__comm_fake(comm);
    rank->program = program;
    rank->user = user;
    mw__ctx *former = mw__ctx_swap(&rank->ctx);
    mw__arena_init(&rank->scratch);
    mw__arena_init(&rank->plan_scratch);
    mw__arena_init(&rank->choose_scratch);
    mw_status status = MW_OK;
    if (rank->fake) {
        rank->received_by = mw__zalloc((size_t)mesh->nrank * sizeof(int64_t));
        if (!rank->received_by) status = MW_NOMEM();
    }
    (void)mw__ctx_swap(former);
    return status == MW_OK ? MW_OK : MW_NOMEM();
}

static mw_status run_world(mw_mesh *mesh, mw_comm **comm, int nlocal,
                           const mw_launch_options *options, mw_status (*program)(void *),
                           void *user)
{
    mw_rank *ranks = mw__zalloc((size_t)nlocal * sizeof *ranks);
    if (!ranks) return MW_NOMEM();
    mw_status status = MW_OK;
    int made = 0;
    for (; made < nlocal && status == MW_OK; made++)
        status = init_rank(&ranks[made], mesh, comm[made], options, program, user);
    if (status == MW_OK) {
        mw_status others = MW_OK;
        if (nlocal == 1) {
            (void)run_rank(&ranks[0]);
            others = mw__comm_finish(comm[0]);
        } else {
            status = run_threads(ranks, nlocal);
        }
        const mw_rank *failed = first_failed(ranks, nlocal);
        if (status == MW_OK && failed) {
            mw__ctx_get()->error = failed->ctx.error;
            status = is_echo(failed) && others != MW_OK ? others : failed->ended;
            mw__ctx_get()->error.code = status;
        } else if (status == MW_OK) {
            status = others;
        }
    }
    for (int i = 0; i < made; i++)
        free_rank(&ranks[i]);
    mw__free(ranks, (size_t)nlocal * sizeof *ranks);
    return status;
}

/* One of this launch's backends; nlocal ends of it live in this process. */
static mw_status make_world(const mw_launch_options *options, const mw_mesh *mesh, int nlocal,
                            mw_comm **ret_comm)
{
    enum { MOST_THREADS = 4096 };
    const char *backend = options->backend ? options->backend : "threads";
    if (strcmp(backend, "fake") == 0) return mw__comm_fake_new(mesh->nrank, 0, ret_comm);
    if (strcmp(backend, "mpi") == 0) return mw__world_join(options, mesh, ret_comm);
    if (nlocal > MOST_THREADS) {
        mw_status status =
            MW_FAIL(MW_ERR_ARG, "a mesh of %d ranks: the threads backend runs at most %d", nlocal,
                    MOST_THREADS);
        mw__error_hint("use the fake backend to plan for more ranks");
        return status;
    }
    const mw_comm_options comm_options = {.timeout = options->timeout};
    return mw__comm_threads_new(nlocal, &comm_options, ret_comm);
}

static mw_status find_mesh(const mw_launch_options *options, bool mpi, mw_mesh **ret)
{
    char text[32];
    int rank, ranks = 1;
    if (mpi && !options->mesh) MW_TRY(mw_world_find("mpi", options->module, &rank, &ranks));
    (void)snprintf(text, sizeof text, "tp=%d", ranks);
    mw_mesh *read;
    MW_TRY(mw_mesh_parse(options->mesh ? options->mesh : text, &read));
    mw_status status = mw__mesh_intern(read, ret);
    mw_mesh_unref(read);
    return status;
}

mw_status mw_launch(const mw_launch_options *options, mw_status (*program)(void *user), void *user)
{
    const char *backend = options->backend ? options->backend : "threads";
    bool fake = strcmp(backend, "fake") == 0, mpi = strcmp(backend, "mpi") == 0;
    if (!fake && !mpi && strcmp(backend, "threads") != 0) {
        mw_status status = MW_FAIL(MW_ERR_ARG, "there is no backend '%s'", backend);
        mw__error_hint("backends: threads, mpi, fake");
        return status;
    }
    if (mw__ctx_get()->rank) return MW_FAIL(MW_ERR_ARG, "mw_launch inside a launched program");
    mw_mesh *mesh;
    MW_TRY(find_mesh(options, mpi, &mesh));
    int nlocal = fake || mpi ? 1 : mesh->nrank;
    mw_comm **comm = mw__zalloc((size_t)nlocal * sizeof *comm);
    if (!comm) return MW_NOMEM();
    mw_status status = make_world(options, mesh, nlocal, comm);
    if (status == MW_OK) {
        status = run_world(mesh, comm, nlocal, options, program, user);
        mw__comm_world_free(comm[0]);
    }
    mw__free(comm, (size_t)nlocal * sizeof *comm);
    return status;
}

int mw_rank_index(void)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    return rank ? rank->index : 0;
}

mw_mesh *mw_mesh_world(void)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    return rank ? rank->mesh : NULL;
}

int mw_is_fake(void)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    return rank && rank->fake;
}

mw_status mw_barrier(void)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    mw_team *team;
    if (rank->fake || rank->mesh->nrank == 1) return MW_OK;
    mw_status status = mw__world_team(rank->comm, &team);
    if (status == MW_OK) status = mw__comm_barrier(rank->comm, team, "barrier");
    return mw__rank_failed(rank, status);
}
