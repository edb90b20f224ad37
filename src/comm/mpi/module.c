/* The module meshwise_mpi.so: a transport over MPI. Everything is point to point and non-blocking;
 * each channel has a communicator of its own, so that no message of the program's own MPI code can
 * be taken for one of ours.
 *
 * MPI exists once in a process and can't be started again: this is the one place of meshwise that
 * keeps state of the process. Who starts MPI ends it: a program that has called MPI_Init itself
 * ends it itself; else it ends when the process does. A launcher kills the job as soon as one
 * process ends with an error, so in a world that has failed the ends wait for each other first
 * (say_bye). */
#include "comm/transport.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 3, BYE = 1, MASK_WORDS = 16 };

static struct mpi {
    mw__transport transport; /* version 0: not yet open */
    MPI_Comm comm[CHANNELS];
    MPI_Comm bye;
    MPI_Request *request;
    int *index; /* for MPI_Testsome */
    int nrequest;
    void *(*resize)(void *, void *, size_t, size_t);
    void *user;
    bool own; /* MPI was started here */
    bool failed;
    int silent, code;
    double grace;
    char says[MPI_MAX_ERROR_STRING + 64];
} mpi;

static const char *told(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return NULL;
    (void)MPI_Error_string(code, text, &length);
    (void)snprintf(mpi.says, sizeof mpi.says, "%s: %s", call, text);
    return mpi.says;
}

/* ---- requests ------------------------------------------------------------------------------ */

static size_t request_bytes(int count)
{
    return (size_t)count * sizeof(MPI_Request);
}

static size_t index_bytes(int count)
{
    return (size_t)count * sizeof(int);
}

static void release(mw__transport *t)
{
    (void)t;
    if (mpi.request) (void)mpi.resize(mpi.user, mpi.request, request_bytes(mpi.nrequest), 0);
    if (mpi.index) (void)mpi.resize(mpi.user, mpi.index, index_bytes(mpi.nrequest), 0);
    mpi.request = NULL;
    mpi.index = NULL;
    mpi.nrequest = 0;
}

static const char *reserve(mw__transport *t, int count,
                           void *(*resize)(void *, void *, size_t, size_t), void *user)
{
    mpi.resize = resize;
    mpi.user = user;
    mpi.request = resize(user, NULL, 0, request_bytes(count));
    mpi.index = resize(user, NULL, 0, index_bytes(count));
    mpi.nrequest = count;
    if (!mpi.request || !mpi.index) {
        release(t);
        return "out of memory";
    }
    for (int i = 0; i < count; i++)
        mpi.request[i] = MPI_REQUEST_NULL;
    return NULL;
}

static const char *send(mw__transport *t, int number, int rank, mw__channel channel, const void *at,
                        size_t size)
{
    (void)t;
    return told("MPI_Isend", MPI_Isend(at, (int)size, MPI_BYTE, rank, 0, mpi.comm[channel],
                                       &mpi.request[number]));
}

static const char *receive(mw__transport *t, int number, int rank, mw__channel channel, void *at,
                           size_t size)
{
    (void)t;
    return told("MPI_Irecv",
                MPI_Irecv(at, (int)size, MPI_BYTE, rank == MW_ANY_RANK ? MPI_ANY_SOURCE : rank, 0,
                          mpi.comm[channel], &mpi.request[number]));
}

static const char *test(mw__transport *t, int first, int count, int *done, int *ret_done)
{
    int n = 0;
    (void)t;
    int code = MPI_Testsome(count, mpi.request + first, &n, mpi.index, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return told("MPI_Testsome", code);
    if (n == MPI_UNDEFINED) n = 0; /* none is under way */
    for (int i = 0; i < n; i++)
        done[i] = first + mpi.index[i];
    *ret_done = n;
    return NULL;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(void)
{
    const struct timespec t = {0, 1000000};
    (void)nanosleep(&t, NULL);
}

static bool drop(mw__transport *t, int first, int count)
{
    (void)t;
    for (int i = first; i < first + count; i++)
        if (mpi.request[i] != MPI_REQUEST_NULL) (void)MPI_Cancel(&mpi.request[i]);
    double until = now() + 0.2;
    for (int all = 0;;) {
        (void)MPI_Testall(count, mpi.request + first, &all, MPI_STATUSES_IGNORE);
        if (all) return true;
        if (now() > until) break;
        nap();
    }
    for (int i = first; i < first + count; i++)
        mpi.request[i] = MPI_REQUEST_NULL; /* never asked for again: its number is free */
    return false;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void failed(mw__transport *t, int silent, double grace, int code)
{
    (void)t;
    mpi.failed = true;
    mpi.silent = silent;
    mpi.grace = grace;
    mpi.code = code;
}

/* Tells all others that this process is at its end, and waits for as many of them as still answer.
 * True where all have come. */
static bool say_bye(void)
{
    double until = now() + mpi.grace;
    int others = mpi.transport.nrank - 1, came = 0;
    for (int r = 0; r <= others; r++) {
        MPI_Request request;
        if (r == mpi.transport.rank) continue;
        if (MPI_Isend(NULL, 0, MPI_BYTE, r, BYE, mpi.bye, &request) == MPI_SUCCESS)
            (void)MPI_Request_free(&request);
    }
    while (came < others - mpi.silent && now() < until) {
        int there = 0;
        MPI_Status status;
        (void)MPI_Iprobe(MPI_ANY_SOURCE, BYE, mpi.bye, &there, &status);
        if (!there)
            nap();
        else if (MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, BYE, mpi.bye, &status) ==
                 MPI_SUCCESS)
            came++;
    }
    return came == others;
}

static void at_exit(void)
{
    int over = 0;
    (void)MPI_Finalized(&over);
    if (over) return;
    if (mpi.failed && !say_bye()) {
        (void)fflush(NULL); /* MPI_Abort does not */
        (void)MPI_Abort(MPI_COMM_WORLD, mpi.code);
    }
    if (mpi.own) (void)MPI_Finalize();
}

/* ---- the beginning ------------------------------------------------------------------------- */

/* How many ranks share this machine, and how many cores they may use together: a launcher may have
 * bound each to one of its own. */
static int look_near(mw__transport *t)
{
    MPI_Comm near;
    unsigned long mask[MASK_WORDS] = {0}, all[MASK_WORDS] = {0};
    int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    if (code != MPI_SUCCESS) return code;
    (void)MPI_Comm_size(near, &t->near);
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)sched_getaffinity(0, sizeof set, &set);
    memcpy(mask, &set, sizeof set < sizeof mask ? sizeof set : sizeof mask);
    code = MPI_Allreduce(mask, all, MASK_WORDS, MPI_UNSIGNED_LONG, MPI_BOR, near);
    t->cores = 0;
    for (int i = 0; i < MASK_WORDS; i++)
        t->cores += __builtin_popcountl(all[i]);
    (void)MPI_Comm_free(&near);
    return code;
}

static int connect_all(mw__transport *t)
{
    int code = MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, &t->nrank);
    for (int i = 0; i <= CHANNELS && code == MPI_SUCCESS; i++) {
        MPI_Comm *comm = i < CHANNELS ? &mpi.comm[i] : &mpi.bye;
        code = MPI_Comm_dup(MPI_COMM_WORLD, comm);
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    }
    return code == MPI_SUCCESS ? look_near(t) : code;
}

__attribute__((visibility("default"))) mw__transport_open meshwise_transport_open;

const char *meshwise_transport_open(int version, mw__transport **ret)
{
    if (version != MW_TRANSPORT_VERSION) return "the module was built for another meshwise";
    if (mpi.transport.version == 0) {
        int started = 0, level = 0, code = MPI_Initialized(&started);
        if (code == MPI_SUCCESS && !started) {
            code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
            mpi.own = true;
        }
        if (code != MPI_SUCCESS) return told("MPI_Init_thread", code);
        if (atexit(at_exit) != 0) return "out of memory";
        mpi.transport = (mw__transport){.name = "mpi",
                                        .reserve = reserve,
                                        .release = release,
                                        .send = send,
                                        .receive = receive,
                                        .test = test,
                                        .drop = drop,
                                        .failed = failed};
        code = connect_all(&mpi.transport);
        if (code != MPI_SUCCESS) return told("connecting", code);
        mpi.transport.version = MW_TRANSPORT_VERSION;
    }
    if (mpi.failed) return "a launch of this process has failed; MPI can't be used again";
    *ret = &mpi.transport;
    return NULL;
}
