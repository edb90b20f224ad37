/* The one failure of a world. The first to see something wrong writes the story and raises
 * `failed`; every rank then comes out of what it is in, or turns back from what it comes to, with
 * an error made of that story and of its own place in it.
 *
 * Telling a failure takes no memory: all texts have fixed sizes and are cut where they must be.
 * Texts of peers are read while these may be moving on, hence the sequence lock on `where`. */
#include "comm/threads.h"

#include <stdio.h>

/* Appends to a text of fixed size; one that doesn't fit ends in "...". */
typedef struct text {
    char *at;
    size_t size, length;
} text;

static void put(text *t, const char *format, ...) MW_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->length, t->size - t->length, format, args);
    va_end(args);
    if (n > 0) t->length += (size_t)n;
    if (t->length < t->size) return;
    t->length = t->size - 1;
    memcpy(t->at + t->size - 4, "...", 3);
}

static text says_of(mw__threads_story *story)
{
    return (text){story->says, sizeof story->says, 0};
}

bool mw__threads_failed(const mw__threads_world *world)
{
    return __atomic_load_n(&world->failed, __ATOMIC_ACQUIRE);
}

void mw__threads_poison(mw__threads_world *world, const mw__threads_story *story)
{
    (void)pthread_mutex_lock(&world->lock);
    if (!mw__threads_failed(world)) {
        world->story = *story;
        __atomic_store_n(&world->failed, 1, __ATOMIC_SEQ_CST);
    }
    (void)pthread_mutex_unlock(&world->lock);
}

/* Takes off the readers of a slot that never came. Whoever finds them first does it. */
static void strike_readers(mw__slot *slot)
{
    if (__atomic_exchange_n(&slot->left, 0, __ATOMIC_ACQ_REL) != 0 && slot->storage)
        __atomic_sub_fetch(&slot->storage->readers, 1, __ATOMIC_RELEASE);
}

void mw__threads_settle(mw__threads_end *me)
{
    mw__threads_world *world = me->world;
    __atomic_store_n(&me->inside, 0, __ATOMIC_RELEASE);
    for (int r = 0; r < world->nrank; r++)
        for (int turn = 0; __atomic_load_n(&world->end[r].inside, __ATOMIC_SEQ_CST); turn++)
            mw__threads_give_way(turn);
    (void)pthread_mutex_lock(&world->lock);
    for (mw__threads_team *team = world->teams; team; team = team->next)
        for (int i = 0; i < team->count; i++)
            for (int k = 0; k < 2; k++)
                strike_readers(&team->slot[i][k]);
    (void)pthread_mutex_unlock(&world->lock);
}

/* ---- where a rank is ----------------------------------------------------------------------- */

/* The stores are releases: who sees one of the new words sees the odd version, too. */
void mw__threads_where_set(mw__threads_end *me, const char *what)
{
    uint64_t version = me->where_version;
    size_t length = strnlen(what, sizeof me->where - 1);
    __atomic_store_n(&me->where_version, version + 1, __ATOMIC_RELAXED);
    for (size_t at = 0; at <= length; at += 8) { /* the last word holds the NUL */
        uint64_t word = 0;
        memcpy(&word, what + at, MW_MIN(length - at, 8));
        __atomic_store_n(&me->where[at / 8], word, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&me->where_version, version + 2, __ATOMIC_RELEASE);
}

void mw__threads_where_get(const mw__threads_end *end, char ret[MW_WHERE_WORDS * 8 + 1])
{
    for (int turn = 0;; turn++) {
        uint64_t version = __atomic_load_n(&end->where_version, __ATOMIC_ACQUIRE);
        for (int i = 0; i < MW_WHERE_WORDS; i++) {
            uint64_t word = __atomic_load_n(&end->where[i], __ATOMIC_ACQUIRE);
            memcpy(ret + (size_t)i * 8, &word, 8);
        }
        ret[(size_t)MW_WHERE_WORDS * 8] = 0;
        if (version % 2 == 0 && __atomic_load_n(&end->where_version, __ATOMIC_RELAXED) == version)
            return;
        mw__threads_give_way(turn);
    }
}

uint64_t mw__threads_last(const mw__threads_team *team, int index)
{
    uint64_t even = __atomic_load_n(&team->slot[index][0].number, __ATOMIC_ACQUIRE);
    uint64_t odd = __atomic_load_n(&team->slot[index][1].number, __ATOMIC_ACQUIRE);
    return MW_MAX(even, odd);
}

/* "rank 1 is in all_gather ...", "rank 1 has not come yet (it was last in ...)". */
static void put_rank(text *t, const mw__threads_team *team, int index, uint64_t number,
                     const mw__threads_world *world)
{
    char where[MW_WHERE_WORDS * 8 + 1];
    const mw__threads_end *end = &world->end[team->rank[index]];
    mw__threads_where_get(end, where);
    bool here = mw__threads_last(team, index) >= number;
    bool inside = __atomic_load_n(&end->inside, __ATOMIC_ACQUIRE);
    put(t, "%srank %d ", t->length && t->at[t->length - 1] != ' ' ? ", " : "", end->base.rank);
    if (here || (inside && where[0]))
        put(t, "is in %s", where);
    else if (where[0])
        put(t, "has not come yet (it was last in %s)", where);
    else
        put(t, "has not come yet");
}

/* ---- the failures -------------------------------------------------------------------------- */

static const char same_order[] = "every rank must come to the same collectives, with the same "
                                 "shapes, dtypes, layouts and teams, in the same order";

void mw__threads_poison_failed(mw__threads_end *me, const mw_error *error)
{
    mw__threads_story story = {
        .code = MW_ERR_COMM, .rank = me->base.rank, .verb = "was waiting for it in"};
    text t = says_of(&story);
    put(&t, "rank %d failed", me->base.rank);
    if (error->where[0]) put(&t, " in %s", error->where);
    put(&t, ": %s", error->says[0] ? error->says : mw_status_text(error->code));
    text hint = {story.hint, sizeof story.hint, 0};
    put(&hint, "%s", error->hint);
    mw__threads_poison(me->world, &story);
}

void mw__threads_poison_left(mw__threads_end *me, int rank)
{
    mw__threads_story story = {.code = MW_ERR_COMM, .rank = rank, .verb = "waits for it in"};
    text t = says_of(&story);
    put(&t, "rank %d has ended its program", rank);
    text hint = {story.hint, sizeof story.hint, 0};
    put(&hint, "%s", same_order);
    mw__threads_poison(me->world, &story);
}

/* Members are listed in their order, from both sides of the disagreement: at most `EACH` of those
 * who agree with me and `EACH` of those who don't. */
void mw__threads_poison_disagree(mw__threads_end *me, mw__threads_team *team, uint64_t number)
{
    enum { EACH = 4 };
    mw__threads_story story = {.code = MW_ERR_COMM, .rank = -1, .verb = "was in"};
    text t = says_of(&story);
    put(&t, "ranks disagree about the collective: ");
    uint64_t mine = team->slot[team->index[me->base.rank]][number & 1].hash;
    int listed[2] = {0, 0}, more = 0;
    for (int i = 0; i < team->count; i++) {
        const mw__slot *slot = &team->slot[i][number & 1];
        if (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != number) continue;
        int *side = &listed[slot->hash == mine];
        if (*side == EACH) {
            more++;
            continue;
        }
        ++*side;
        put_rank(&t, team, i, number, me->world);
    }
    if (more) put(&t, " and so on (%d more)", more);
    text hint = {story.hint, sizeof story.hint, 0};
    put(&hint, "%s", same_order);
    mw__threads_poison(me->world, &story);
}

/* Names those who have not come before those who have: a long list is cut at its end. */
void mw__threads_poison_timeout(mw__threads_end *me, const mw__threads_goal *goal, double waited)
{
    mw__threads_story story = {.code = MW_ERR_TIMEOUT, .rank = -1, .verb = "was in"};
    text t = says_of(&story);
    put(&t, "rank %d has waited %.3g s ", me->base.rank, waited);
    if (goal->index < 0) {
        put(&t, "for the readers of its buffer");
    } else {
        put(&t, "for rank %d: ", goal->team->rank[goal->index]);
        for (int missing = 1; missing >= 0; missing--)
            for (int i = 0; i < goal->team->count; i++)
                if ((mw__threads_last(goal->team, i) < goal->number) == missing)
                    put_rank(&t, goal->team, i, goal->number, me->world);
    }
    text hint = {story.hint, sizeof story.hint, 0};
    put(&hint, "%s; a rank that works long between two needs a longer time-out", same_order);
    mw__threads_poison(me->world, &story);
}

void mw__threads_poison_circle(mw__threads_end *me)
{
    mw__threads_story story = {.code = MW_ERR_COMM, .rank = -1, .verb = "was in"};
    text t = says_of(&story);
    char where[MW_WHERE_WORDS * 8 + 1];
    put(&t, "ranks wait for each other in different collectives: ");
    const mw__threads_end *at = me;
    do { /* nobody in the circle moves until the world has failed */
        const mw__threads_end *next =
            &at->world->end[__atomic_load_n(&at->wait_team, __ATOMIC_RELAXED)
                                ->rank[__atomic_load_n(&at->wait_index, __ATOMIC_RELAXED)]];
        mw__threads_where_get(at, where);
        put(&t, "%srank %d waits for rank %d in %s", at == me ? "" : ", ", at->base.rank,
            next->base.rank, where);
        at = next;
    } while (at != me && !mw__threads_failed(me->world));
    text hint = {story.hint, sizeof story.hint, 0};
    put(&hint, "%s", same_order);
    mw__threads_poison(me->world, &story);
}

/* Whether the text says already where the rank is. */
static bool names(const char *says, int rank)
{
    char is[32], waits[40];
    (void)snprintf(is, sizeof is, "rank %d is in ", rank);
    (void)snprintf(waits, sizeof waits, "rank %d waits for ", rank);
    return strstr(says, is) || strstr(says, waits);
}

mw_status mw__threads_tell(mw__threads_end *me, const mw_team *team, const char *what)
{
    const mw__threads_story *story = &me->world->story;
    const mw__threads_member *member = team ? team->backend : NULL;
    int rank = me->base.rank, cause = story->rank;
    bool needs = cause >= 0 && member && member->team->index[cause] >= 0;
    const char *verb = cause == rank ? "came to" : needs ? story->verb : "was in";
    if (cause < 0 && names(story->says, rank))
        (void)MW_FAIL(story->code, "%s", story->says);
    else
        (void)MW_FAIL(story->code, "%s; rank %d %s %.200s", story->says, rank, verb, what);
    if (story->hint[0]) mw__error_hint("%s", story->hint);
    return story->code;
}
