/* The helpers of one rank: threads that share a large kernel's work, one job each. They wait by
 * spinning a little and then sleeping, so that a rank with nothing to share costs nothing. Jobs
 * must not fail loudly: they leave their outcome in what `arg` points to. */
#include "base/base.h"

#include <pthread.h>
#include <sched.h>

enum { SPINS = 2000, MOST_WORKERS = 255 };

struct mw__workers {
    int count; /* helper threads, the rank's own not counted */
    pthread_t thread[MOST_WORKERS];
    mw__ctx ctx[MOST_WORKERS];
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int round;   /* atomic: raised for every batch of jobs */
    int pending; /* atomic: helpers that have not finished the round */
    bool stop;
    void (*job)(void *arg, int index);
    void *arg;
    int jobs;
    size_t size;
};

typedef struct start {
    mw__workers *workers;
    int index;
} start;

static int wait_round(mw__workers *w, int seen)
{
    for (int i = 0; i < SPINS; i++) {
        int round = __atomic_load_n(&w->round, __ATOMIC_ACQUIRE);
        if (round != seen) return round;
        if (i % 64 == 63) (void)sched_yield();
    }
    (void)pthread_mutex_lock(&w->lock);
    while (w->round == seen)
        (void)pthread_cond_wait(&w->wake, &w->lock);
    int round = w->round;
    (void)pthread_mutex_unlock(&w->lock);
    return round;
}

static void *work(void *user)
{
    start s = *(start *)user;
    mw__workers *w = s.workers;
    (void)mw__ctx_swap(&w->ctx[s.index]);
    __atomic_sub_fetch(&w->pending, 1, __ATOMIC_RELEASE); /* `user` is no longer needed */
    for (int seen = 0;;) {
        seen = wait_round(w, seen);
        if (w->stop) break;
        if (s.index + 1 < w->jobs) w->job(w->arg, s.index + 1);
        __atomic_sub_fetch(&w->pending, 1, __ATOMIC_RELEASE);
    }
    (void)mw__ctx_swap(NULL);
    return NULL;
}

static void wait_done(mw__workers *w)
{
    for (int i = 0; __atomic_load_n(&w->pending, __ATOMIC_ACQUIRE) != 0; i++)
        if (i % 64 == 63) (void)sched_yield();
}

static void next_round(mw__workers *w)
{
    w->pending = w->count;
    (void)pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->round, w->round + 1, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
}

mw_status mw__workers_new(int threads, mw__workers **ret)
{
    if (threads < 2 || threads > MOST_WORKERS + 1)
        return MW_FAIL(MW_ERR_ARG, "%d threads of a rank: from 1 to %d", threads, MOST_WORKERS + 1);
    mw__workers *w = mw__zalloc(sizeof *w);
    if (!w) return MW_NOMEM();
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wake, NULL);
    mw_status status = MW_OK;
    for (; w->count < threads - 1 && status == MW_OK; w->count++) {
        start s = {w, w->count};
        mw__ctx_init(&w->ctx[w->count], mw__ctx_get()->allocator);
        w->pending = 1;
        if (pthread_create(&w->thread[w->count], NULL, work, &s) != 0) {
            status =
                MW_FAIL(MW_ERR_NOMEM, "helper thread %d of a rank could not be started", w->count);
            break;
        }
        wait_done(w);
    }
    if (status != MW_OK) {
        mw__workers_free(w);
        return status;
    }
    *ret = w;
    return MW_OK;
}

void mw__workers_free(mw__workers *w)
{
    if (!w) return;
    w->stop = true;
    next_round(w);
    for (int i = 0; i < w->count; i++)
        (void)pthread_join(w->thread[i], NULL);
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_mutex_destroy(&w->lock);
    mw__free(w, sizeof *w);
}

int mw__workers_threads(const mw__workers *w)
{
    return w ? w->count + 1 : 1;
}

void mw__workers_run(mw__workers *w, void (*job)(void *arg, int index), void *arg, int jobs)
{
    if (!w || jobs < 2) {
        for (int i = 0; i < jobs; i++)
            job(arg, i);
        return;
    }
    w->job = job;
    w->arg = arg;
    w->jobs = jobs;
    next_round(w);
    job(arg, 0);
    wait_done(w);
}
