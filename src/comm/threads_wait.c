/* How a rank waits. With a core for every rank it looks again and again for a while; with fewer it
 * gives way almost at once, since what it waits for may need this very core. Who has waited long
 * sleeps for a small part of the time it has waited already, so waking late costs a few percent and
 * nobody has to wake anybody. Only then does it look at the clock, and around itself: has the
 * peer's program ended, do ranks wait for each other in a circle, is the time over? */
#include "comm/threads.h"

#include <sched.h>
#include <time.h>

enum { CLOCK_EVERY = 8 }; /* turns of giving way between two looks at the clock */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void sleep_for(double seconds)
{
    struct timespec t = {0, (long)(seconds * 1e9)};
    (void)nanosleep(&t, NULL);
}

void mw__threads_give_way(int turn)
{
    if (turn < 1000)
        (void)sched_yield();
    else
        sleep_for(100e-6);
}

/* Posts what this rank waits for. The ticket goes odd last. */
static void post(mw__threads_end *me, mw__threads_wait *wait, const mw__threads_goal *goal)
{
    if (wait->posted || goal->index < 0) return;
    __atomic_store_n(&me->wait_team, goal->team, __ATOMIC_RELAXED);
    __atomic_store_n(&me->wait_index, goal->index, __ATOMIC_RELAXED);
    __atomic_store_n(&me->wait_number, goal->number, __ATOMIC_RELAXED);
    __atomic_store_n(&me->ticket, me->ticket + 1, __ATOMIC_SEQ_CST);
    wait->posted = true;
}

void mw__threads_wait_done(mw__threads_end *me, mw__threads_wait *wait)
{
    if (wait->posted) __atomic_store_n(&me->ticket, me->ticket + 1, __ATOMIC_SEQ_CST);
    wait->posted = false;
}

/* Follows who waits for whom from me on. Returns a hash of all tickets passed if that leads back to
 * me and nobody on the way has come yet to where it is waited for, else 0. */
static uint64_t follow(const mw__threads_end *me)
{
    const mw__threads_world *world = me->world;
    const mw__threads_end *at = me;
    uint64_t hash = 1;
    for (int steps = 0; steps < world->nrank; steps++) {
        uint64_t ticket = __atomic_load_n(&at->ticket, __ATOMIC_SEQ_CST);
        if (ticket % 2 == 0) return 0;
        const mw__threads_team *team = __atomic_load_n(&at->wait_team, __ATOMIC_RELAXED);
        int index = __atomic_load_n(&at->wait_index, __ATOMIC_RELAXED);
        uint64_t number = __atomic_load_n(&at->wait_number, __ATOMIC_RELAXED);
        if (__atomic_load_n(&at->ticket, __ATOMIC_SEQ_CST) != ticket) return 0;
        if (mw__threads_last(team, index) >= number) return 0;
        hash = mw__hash(hash, &ticket, sizeof ticket);
        at = &world->end[team->rank[index]];
        if (at == me) return hash | 1;
    }
    return 0;
}

/* Two walks with the same tickets: between them all on the way were waiting at the same time, each
 * for a next one that was waiting, too. None of them can ever go on. */
static bool in_circle(const mw__threads_end *me)
{
    uint64_t first = follow(me);
    return first && follow(me) == first;
}

/* What a rank looks for once it has waited a while. False: it waits in vain. */
static bool look_around(mw__threads_end *me, mw__threads_wait *wait, const mw__threads_goal *goal)
{
    double waited = mw__now() - wait->since;
    if (waited >= me->world->timeout) {
        mw__threads_poison_timeout(me, goal, waited);
        return false;
    }
    if (waited < me->world->yield_until) {
        (void)sched_yield();
        return true;
    }
    post(me, wait, goal);
    if (goal->index >= 0 && in_circle(me)) {
        mw__threads_poison_circle(me);
        return false;
    }
    sleep_for(MW_MIN(MW_MAX(waited * me->world->sleep_part, 20e-6), 1e-3));
    return true;
}

/* A peer that has left without coming will never come. Its slots are final by then. */
static bool has_left(mw__threads_end *me, const mw__threads_goal *goal)
{
    if (goal->index < 0) return false;
    int rank = goal->team->rank[goal->index];
    if (!__atomic_load_n(&me->world->end[rank].left, __ATOMIC_ACQUIRE)) return false;
    if (mw__threads_last(goal->team, goal->index) >= goal->number) return false;
    mw__threads_poison_left(me, rank);
    return true;
}

bool mw__threads_pause(mw__threads_end *me, mw__threads_wait *wait, const mw__threads_goal *goal)
{
    if (MW_UNLIKELY(mw__threads_failed(me->world))) return false;
    int turn = wait->looks++ - me->world->spins;
    if (turn < 0) {
        relax();
        return true;
    }
    if (turn == 0) wait->since = mw__now();
    if (MW_UNLIKELY(turn % CLOCK_EVERY == 0 || wait->posted)) {
        if (has_left(me, goal)) return false;
        return look_around(me, wait, goal);
    }
    (void)sched_yield();
    return true;
}
