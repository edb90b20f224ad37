/* How a rank waits for messages: by looking, since only looking lets them get on. With a core for
 * every rank of the machine it looks again and again for a while; with fewer it gives way almost at
 * once. Who has waited long sleeps for a small part of the time it has waited already. At half of
 * the time-out it asks the others where they are; who is in the library answers, who computes does
 * so late, who is stopped or gone never does. So when the time is over it can be said who is
 * silent. */
#include "comm/messages.h"

#include <sched.h>
#include <time.h>

enum { CLOCK_EVERY = 8 }; /* looks between two at the clock */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- words --------------------------------------------------------------------------------- */

/* Sends a short word unless the last one to that rank is still on its way: then it isn't listening,
 * and this one would not help. */
static void send_note(mw__messages_end *me, int rank, mw__word_kind kind)
{
    mw__transport *t = me->transport;
    int number = me->words + me->base.nrank + rank, done = 0, list[1];
    if (me->note_out[rank] && (t->test(t, number, 1, list, &done) != NULL || done == 0)) return;
    mw__word *word = (mw__word *)me->note[rank];
    word->kind = (int32_t)kind;
    word->rank = me->base.rank;
    word->as.answer.goal = me->goal;
    memcpy(word->as.answer.what, me->where, sizeof me->where);
    me->note_out[rank] = t->send(t, number, rank, MW_CHANNEL_WORD, word, MW_NOTE_BYTES) == NULL;
}

static bool take_word(mw__messages_end *me)
{
    const mw__word *word = &me->word;
    if (word->rank < 0 || word->rank >= me->base.nrank) return mw__messages_listen(me);
    mw__peer *from = &me->peer[word->rank];
    switch ((mw__word_kind)word->kind) {
    case MW_WORD_ENDED:
        from->ended = true;
        break;
    case MW_WORD_FAILED:
        from->ended = true;
        mw__messages_adopt(me, &word->as.story);
        break;
    case MW_WORD_ASK:
        send_note(me, word->rank, MW_WORD_ANSWER);
        break;
    case MW_WORD_ANSWER:
        from->answered = true;
        from->goal = word->as.answer.goal;
        memcpy(from->last, word->as.answer.what, sizeof from->last);
        from->last[MW_WHAT_BYTES - 1] = 0;
        break;
    }
    return mw__messages_listen(me);
}

bool mw__messages_listen(mw__messages_end *me)
{
    mw__transport *t = me->transport;
    const char *wrong = t->receive(t, 0, MW_ANY_RANK, MW_CHANNEL_WORD, &me->word, sizeof me->word);
    if (wrong) mw__messages_poison_transport(me, wrong);
    return !me->failed;
}

/* ---- looking ------------------------------------------------------------------------------- */

int mw__messages_look(mw__messages_end *me)
{
    mw__transport *t = me->transport;
    int n = 0, count = me->team ? 1 + 3 * me->team->count : 1;
    const char *wrong = t->test(t, 0, count, me->done, &n);
    if (MW_UNLIKELY(wrong)) mw__messages_poison_transport(me, wrong);
    for (int i = 0; i < n && !me->failed; i++) {
        int number = me->done[i];
        if (number == 0)
            (void)take_word(me);
        else
            (void)mw__messages_ended(me, (number - 1) / 3, (number - 1) % 3);
    }
    return MW_UNLIKELY(me->failed) ? -1 : n;
}

static void ask_all(mw__messages_end *me)
{
    for (int r = 0; r < me->base.nrank; r++)
        if (r != me->base.rank && !me->peer[r].ended) send_note(me, r, MW_WORD_ASK);
}

/* A rank that has ended sends nothing more. Its last head may be slower than its farewell, though:
 * they go by different channels. */
static bool in_vain(const mw__messages_end *me, int goal, double waited)
{
    return me->team && me->peer[goal].ended && waited > 0.1;
}

/* What a rank looks for once it has waited a while. False: it waits in vain. */
static bool look_around(mw__messages_end *me, mw__wait *wait, int goal)
{
    double waited = mw__now() - wait->since;
    if (me->interrupt && *me->interrupt) {
        mw__messages_poison_told_to_end(me, goal);
    } else if (in_vain(me, goal, waited)) {
        mw__messages_poison_ended(me, goal);
    } else if (waited >= me->timeout) {
        mw__messages_poison_timeout(me, goal, waited);
    } else if (waited < me->yield_until) {
        (void)sched_yield();
    } else {
        if (!wait->asked && waited > me->timeout / 2) ask_all(me);
        wait->asked = wait->asked || waited > me->timeout / 2;
        double seconds = MW_MIN(MW_MAX(waited * me->sleep_part, 20e-6), 1e-3);
        const struct timespec t = {0, (long)(seconds * 1e9)};
        (void)nanosleep(&t, NULL);
    }
    return !me->failed;
}

bool mw__messages_pause(mw__messages_end *me, mw__wait *wait, int goal)
{
    int came = mw__messages_look(me);
    if (came != 0) return came > 0;
    me->goal = goal;
    int turn = wait->looks++ - me->spins;
    if (turn < 0) {
        relax();
        return true;
    }
    if (turn == 0) wait->since = mw__now();
    if (turn % CLOCK_EVERY == 0 || wait->asked) return look_around(me, wait, goal);
    (void)sched_yield();
    return true;
}
