/* A transfer between threads: publish what I offer, meet every peer, pull straight out of the
 * peers' buffers in the order of the pulls, and tell each that I am done with it.
 *
 * Every member is met, also those that nothing is pulled from: then a disagreement is seen by all,
 * a rank that has left is missed by all, and two slots are enough (threads.h). A peer that has not
 * come is waited for in the order of need, so pulling from the early ones goes on meanwhile. */
#include "comm/threads.h"

#include <assert.h>

/* Waits until a member has published its slot of my transfer, and compares. False: failed. */
static bool meet(mw__threads_end *me, const mw__threads_member *mine, int index, uint64_t hash)
{
    const mw__threads_team *team = mine->team;
    const mw__slot *slot = &team->slot[index][mine->number & 1];
    if (MW_UNLIKELY(__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != mine->number)) {
        mw__threads_wait wait = {0};
        const mw__threads_goal goal = {mine->team, index, mine->number};
        bool on = true;
        while (on && __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) != mine->number)
            on = mw__threads_pause(me, &wait, &goal);
        mw__threads_wait_done(me, &wait);
        if (!on) return false;
    }
    if (MW_LIKELY(slot->hash == hash)) return true;
    mw__threads_poison_disagree(me, mine->team, mine->number);
    return false;
}

static uint64_t hash_of(const mw_transfer *transfer)
{
    return transfer->hash + (uint64_t)transfer->dtype;
}

static void publish(mw__threads_end *me, mw__threads_member *mine, const mw_transfer *transfer)
{
    mw__threads_where_set(me, transfer->what);
    uint64_t number = ++mine->number;
    mw__slot *slot = &mine->team->slot[transfer->team->me][number & 1];
    slot->from = transfer->from;
    slot->hash = hash_of(transfer);
    slot->storage = transfer->nreader > 0 ? transfer->storage : NULL;
    if (slot->storage) __atomic_add_fetch(&slot->storage->readers, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->left, transfer->nreader, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->number, number, __ATOMIC_RELEASE);
}

/* The buffer that a pull reads, once its owner is there. False: failed. */
static bool find_source(mw__threads_end *me, mw__threads_member *mine, const mw_transfer *transfer,
                        const mw_pull *pull, uint64_t hash, const void **ret_from)
{
    int index = mine->team->index[pull->peer];
    assert(index >= 0); /* a plan pulls from its own team only */
    if (pull->peer == me->base.rank) {
        *ret_from = transfer->from;
        return true;
    }
    if (mine->pulled[index] != mine->number) {
        if (!meet(me, mine, index, hash)) return false;
        mine->pulled[index] = mine->number;
    }
    *ret_from = mine->team->slot[index][mine->number & 1].from;
    return true;
}

static bool pull_all(mw__threads_end *me, mw__threads_member *mine, const mw_transfer *transfer,
                     uint64_t hash)
{
    const void *from[MW_PULL_GROUP];
    bool past = mw__pulls_past(transfer->pull, transfer->npull, transfer->dtype);
    for (int i = 0, n; i < transfer->npull; i += n) {
        const mw_pull *pull = &transfer->pull[i];
        n = mw__pull_group(pull, transfer->npull - i);
        for (int j = 0; j < n; j++)
            if (!find_source(me, mine, transfer, &pull[j], hash, &from[j])) return false;
        mw__pull_group_run(pull, n, transfer->dtype, from, transfer->to, past);
    }
    return true;
}

/* Tells the peers that I have pulled from that I am done. The last reader of a slot takes it off
 * its storage's readers; the storage is there as long as it counts them. */
static void lower_all(const mw__threads_member *mine)
{
    for (int i = 0; i < mine->team->count; i++) {
        if (mine->pulled[i] != mine->number) continue;
        mw__slot *slot = &mine->team->slot[i][mine->number & 1];
        mw_storage *storage = slot->storage;
        if (__atomic_sub_fetch(&slot->left, 1, __ATOMIC_ACQ_REL) == 0 && storage)
            __atomic_sub_fetch(&storage->readers, 1, __ATOMIC_RELEASE);
    }
}

/* Meets the members that nothing was pulled from, starting after myself so that not all ranks look
 * at the same one. */
static bool meet_rest(mw__threads_end *me, const mw__threads_member *mine, int place, uint64_t hash)
{
    int count = mine->team->count;
    for (int i = place + 1; i < place + count; i++) {
        int index = i < count ? i : i - count;
        if (mine->pulled[index] != mine->number && !meet(me, mine, index, hash)) return false;
    }
    return true;
}

/* Waits until a counter of readers that only falls is 0. False: failed. */
static bool wait_zero(mw__threads_end *me, bool (*being_read)(const void *), const void *of)
{
    mw__threads_wait wait = {0};
    const mw__threads_goal goal = {NULL, -1, 0};
    bool on = true;
    while (on && being_read(of))
        on = mw__threads_pause(me, &wait, &goal);
    mw__threads_wait_done(me, &wait);
    return on;
}

static bool slot_is_read(const void *slot)
{
    return __atomic_load_n(&((const mw__slot *)slot)->left, __ATOMIC_ACQUIRE) != 0;
}

static bool storage_is_read(const void *storage)
{
    return __atomic_load_n(&((const mw_storage *)storage)->readers, __ATOMIC_ACQUIRE) != 0;
}

/* A buffer that no storage holds may be freed as soon as the transfer returns: its readers are
 * waited for here. */
static bool end_inside(mw__threads_end *me, mw__threads_member *mine, const mw_transfer *transfer)
{
    int place = transfer->team->me;
    uint64_t hash = hash_of(transfer);
    const mw__slot *slot = &mine->team->slot[place][mine->number & 1];
    if (!pull_all(me, mine, transfer, hash)) return false;
    lower_all(mine);
    if (!meet_rest(me, mine, place, hash)) return false;
    return transfer->storage || !transfer->nreader || wait_zero(me, slot_is_read, slot);
}

static mw_status run(mw_comm *comm, const mw_transfer *transfer, bool begins, bool ends)
{
    mw__threads_end *me = (mw__threads_end *)comm;
    mw__threads_member *mine = transfer->team->backend;
    /* In one order with the raising of `failed`: either I see that, or those who settle see me. */
    __atomic_store_n(&me->inside, 1, __ATOMIC_SEQ_CST);
    bool on = !__atomic_load_n(&me->world->failed, __ATOMIC_SEQ_CST);
    if (MW_LIKELY(on) && begins) publish(me, mine, transfer);
    if (MW_LIKELY(on) && ends) on = end_inside(me, mine, transfer);
    if (MW_LIKELY(on)) {
        __atomic_store_n(&me->inside, 0, __ATOMIC_RELEASE);
        return MW_OK;
    }
    mw__threads_settle(me);
    return mw__threads_tell(me, transfer->team, transfer->what);
}

mw_status mw__threads_transfer(mw_comm *comm, const mw_transfer *transfer)
{
    return run(comm, transfer, true, true);
}

mw_status mw__threads_begin(mw_comm *comm, const mw_transfer *transfer)
{
    return run(comm, transfer, true, false);
}

mw_status mw__threads_end_of(mw_comm *comm, const mw_transfer *transfer)
{
    return run(comm, transfer, false, true);
}

mw_status mw__threads_barrier(mw_comm *comm, mw_team *team, const char *what)
{
    static const char words[] = "barrier"; /* all barriers of a team agree, whatever they say */
    const mw_transfer nothing = {.what = what,
                                 .hash = mw__hash(0, words, sizeof words),
                                 .team = team,
                                 .dtype = MW_DTYPE_NONE};
    return mw__threads_transfer(comm, &nothing);
}

mw_status mw__threads_wait_readers(mw_comm *comm, const mw_storage *storage)
{
    mw__threads_end *me = (mw__threads_end *)comm;
    if (MW_LIKELY(!mw__threads_failed(me->world)) && wait_zero(me, storage_is_read, storage))
        return MW_OK;
    mw__threads_settle(me);
    return mw__threads_tell(me, NULL, "a wait for the readers of its buffer");
}
