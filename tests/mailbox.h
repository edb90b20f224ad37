/* A transport between threads, for tests of the messages backend without MPI: a queue of mail for
 * each rank. Small messages are copied when they are sent, large ones when they are received, as
 * MPI does it. Mail is held back at random (by its seed), so that channels overtake each other. */
#ifndef TESTS_MAILBOX_H
#define TESTS_MAILBOX_H

#include "comm/messages.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAILBOX_RANKS = 16, MAILBOX_EAGER = 4096 };

typedef struct mail {
    struct mail *next;
    int from;
    mw__channel channel;
    const void *at;
    size_t size;
    int number;  /* the sender's request, done once it is received; -1: it is done already */
    char copy[]; /* of a small one */
} mail;

typedef struct mail_request {
    enum { REQUEST_FREE, REQUEST_SEND, REQUEST_RECEIVE, REQUEST_DONE } state;
    int rank;
    mw__channel channel;
    void *at;
    size_t size;
    uint64_t posted; /* receives are served in this order */
} mail_request;

typedef struct mailbox {
    mw__transport transport;
    struct mail_world *world;
    mail *first, **last;
    mail_request *request;
    int nrequest;
    uint64_t posted, seed;
    int told_silent; /* by failed(); -1: not called */
    int cut_after;   /* sends that still work; -1: all */
} mailbox;

typedef struct mail_world {
    pthread_mutex_t lock;
    int nrank;
    mailbox box[MAILBOX_RANKS];
} mail_world;

static inline const char *mailbox_reserve(mw__transport *t, int count,
                                          void *(*resize)(void *, void *, size_t, size_t),
                                          void *user)
{
    mailbox *me = (mailbox *)t;
    (void)resize;
    (void)user;
    me->request = calloc((size_t)count, sizeof *me->request);
    me->nrequest = count;
    return me->request ? NULL : "out of memory";
}

static inline void mailbox_release(mw__transport *t)
{
    mailbox *me = (mailbox *)t;
    free(me->request);
    me->request = NULL;
}

static inline const char *mailbox_send(mw__transport *t, int number, int rank, mw__channel channel,
                                       const void *at, size_t size)
{
    mailbox *me = (mailbox *)t, *to = &me->world->box[rank];
    bool eager = size <= MAILBOX_EAGER;
    if (me->cut_after == 0) return "the wire is cut";
    if (me->cut_after > 0) me->cut_after--;
    mail *m = malloc(sizeof *m + (eager ? size : 0));
    if (!m) return "out of memory";
    *m = (mail){.from = t->rank, .channel = channel, .at = at, .size = size, .number = number};
    if (eager) {
        m->number = -1;
        m->at = m->copy;
        if (size) memcpy(m->copy, at, size);
    }
    (void)pthread_mutex_lock(&me->world->lock);
    me->request[number].state = eager ? REQUEST_DONE : REQUEST_SEND;
    *to->last = m;
    to->last = &m->next;
    (void)pthread_mutex_unlock(&me->world->lock);
    return NULL;
}

static inline const char *mailbox_receive(mw__transport *t, int number, int rank,
                                          mw__channel channel, void *at, size_t size)
{
    mailbox *me = (mailbox *)t;
    (void)pthread_mutex_lock(&me->world->lock);
    me->request[number] = (mail_request){REQUEST_RECEIVE, rank, channel, at, size, ++me->posted};
    (void)pthread_mutex_unlock(&me->world->lock);
    return NULL;
}

/* The receive of mine that this mail is for: the earliest. */
static inline mail_request *mailbox_match(mailbox *me, const mail *m)
{
    mail_request *found = NULL;
    for (int i = 0; i < me->nrequest; i++) {
        mail_request *r = &me->request[i];
        if (r->state == REQUEST_RECEIVE && r->channel == m->channel &&
            (r->rank == MW_ANY_RANK || r->rank == m->from) && (!found || r->posted < found->posted))
            found = r;
    }
    return found;
}

static inline void mailbox_take(mailbox *me, mail **at)
{
    mail *m = *at;
    *at = m->next;
    if (!m->next) me->last = at;
    free(m);
}

/* Hands out mail, oldest first; what is held back holds back what comes after it on its channel. */
static inline void mailbox_deliver(mailbox *me)
{
    bool held[MAILBOX_RANKS][3] = {{false}};
    for (mail **at = &me->first; *at;) {
        mail *m = *at;
        mail_request *r = mailbox_match(me, m);
        me->seed = me->seed * 6364136223846793005u + 1442695040888963407u;
        if (!r || held[m->from][m->channel] || (me->seed >> 60) < 6) {
            held[m->from][m->channel] = true;
            at = &m->next;
            continue;
        }
        if (m->size) memcpy(r->at, m->at, MW_MIN(m->size, r->size));
        r->state = REQUEST_DONE;
        if (m->number >= 0) me->world->box[m->from].request[m->number].state = REQUEST_DONE;
        mailbox_take(me, at);
    }
}

static inline const char *mailbox_test(mw__transport *t, int first, int count, int *done,
                                       int *ret_done)
{
    mailbox *me = (mailbox *)t;
    int n = 0;
    (void)pthread_mutex_lock(&me->world->lock);
    mailbox_deliver(me);
    for (int i = first; i < first + count; i++)
        if (me->request[i].state == REQUEST_DONE) {
            me->request[i].state = REQUEST_FREE;
            done[n++] = i;
        }
    (void)pthread_mutex_unlock(&me->world->lock);
    *ret_done = n;
    return NULL;
}

/* Mail that has not been taken is taken back. */
static inline bool mailbox_drop(mw__transport *t, int first, int count)
{
    mailbox *me = (mailbox *)t;
    (void)pthread_mutex_lock(&me->world->lock);
    for (int i = first; i < first + count; i++)
        me->request[i].state = REQUEST_FREE;
    for (int r = 0; r < me->world->nrank; r++)
        for (mail **at = &me->world->box[r].first; *at;) {
            bool mine =
                (*at)->from == t->rank && (*at)->number >= first && (*at)->number < first + count;
            if (mine)
                mailbox_take(&me->world->box[r], at);
            else
                at = &(*at)->next;
        }
    (void)pthread_mutex_unlock(&me->world->lock);
    return true;
}

static inline void mailbox_failed(mw__transport *t, int silent, double grace, int code)
{
    (void)grace;
    (void)code;
    ((mailbox *)t)->told_silent = silent;
}

static inline void mail_world_init(mail_world *w, int nrank, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    (void)pthread_mutex_init(&w->lock, NULL);
    w->nrank = nrank;
    for (int r = 0; r < nrank; r++) {
        mailbox *b = &w->box[r];
        b->world = w;
        b->last = &b->first;
        b->seed = seed + (uint64_t)r;
        b->told_silent = b->cut_after = -1;
        b->transport = (mw__transport){.version = MW_TRANSPORT_VERSION,
                                       .name = "mailbox",
                                       .rank = r,
                                       .nrank = nrank,
                                       .near = nrank,
                                       .cores = 2,
                                       .reserve = mailbox_reserve,
                                       .release = mailbox_release,
                                       .send = mailbox_send,
                                       .receive = mailbox_receive,
                                       .test = mailbox_test,
                                       .drop = mailbox_drop,
                                       .failed = mailbox_failed};
    }
}

static inline void mail_world_done(mail_world *w)
{
    for (int r = 0; r < w->nrank; r++)
        while (w->box[r].first)
            mailbox_take(&w->box[r], &w->box[r].first);
    (void)pthread_mutex_destroy(&w->lock);
}

#endif
