/* What the messages backend stands on: ranks that are processes, and a way to send bytes from one
 * to another. A transport lives in a module of its own that is loaded at run time (mpi/), so that
 * the library needs nothing of MPI to be built, linked or started. The module knows nothing of
 * transfers and uses no name of the library; all that meshwise means by a message stands in
 * messages*.c.
 *
 * A request is a send or a receive under way, under a number that its starter chooses. Messages of
 * one sender, receiver and channel arrive in the order in which they were sent. */
#ifndef COMM_TRANSPORT_H
#define COMM_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

enum { MW_TRANSPORT_VERSION = 1, MW_ANY_RANK = -1 };

typedef enum mw__channel {
    MW_CHANNEL_HEAD, /* of transfers */
    MW_CHANNEL_BODY, /* what did not fit behind the head */
    MW_CHANNEL_WORD  /* between transfers: failures, farewells, questions */
} mw__channel;

/* Calls return NULL, or what went wrong: a sentence that lasts until the next call. */
typedef struct mw__transport mw__transport;
struct mw__transport {
    int version;
    const char *name; /* "mpi" */
    int rank, nrank;
    void *kept; /* the user's: memory that a request may still use until the process ends */
    int near;   /* ranks on this machine, this one among them */
    int cores;  /* that those may use together */

    /* Makes room for requests 0 to count - 1, none of which is under way. */
    const char *(*reserve)(mw__transport *t, int count,
                           void *(*resize)(void *, void *, size_t, size_t), void *user);
    /* Gives that room back. */
    void (*release)(mw__transport *t);

    /* Starts request `number`, which must not be under way. The bytes stay in use until it has
     * ended; a receive takes at most `size` of them. */
    const char *(*send)(mw__transport *t, int number, int rank, mw__channel channel, const void *at,
                        size_t size);
    const char *(*receive)(mw__transport *t, int number, int rank, mw__channel channel, void *at,
                           size_t size);

    /* Lets all requests get on; those among first to first + count - 1 that have ended since are
     * listed in done[]. Never waits. */
    const char *(*test)(mw__transport *t, int first, int count, int *done, int *ret_done);

    /* Takes back the requests first to first + count - 1. False where one is under way that can't
     * be taken back: its bytes stay in use. Never waits long. */
    bool (*drop)(mw__transport *t, int first, int count);

    /* This process will end because the world has failed; `silent` other ranks do not answer. Its
     * end waits for the ends of the rest, `grace` seconds at most, so that each can tell its error,
     * and takes the silent ones along with exit code `code`. */
    void (*failed)(mw__transport *t, int silent, double grace, int code);
};

/* The one name that a module exports. Connects this process, once; later calls give the same. */
#define MW_TRANSPORT_OPEN "meshwise_transport_open"
typedef const char *mw__transport_open(int version, mw__transport **ret);

#endif
