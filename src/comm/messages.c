/* The messages backend's end: made with all it needs for any number of transfers, and given back
 * when nothing of it is under way any more. Beginning and ending are collective: ranks that were
 * started differently find out before the first transfer, and a rank that is done stays until all
 * are, since a failure of any of them is a failure of the launch. */
#include "comm/messages.h"

#include <stdio.h>

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* ---- teams --------------------------------------------------------------------------------- */

static mw_status messages_attach(mw_comm *comm, mw_team *team)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    for (int i = 0; i < team->count; i++) {
        mw__peer *p = &me->peer[team->rank[i]];
        if (i == team->me || p->out) continue;
        char *heads = mw__world_alloc(comm->allocator, 2 * MW_HEAD_BYTES);
        if (!heads) return MW_NOMEM();
        memset(heads, 0, 2 * MW_HEAD_BYTES);
        p->out = heads;
        p->in = heads + MW_HEAD_BYTES;
    }
    team->backend = mw__world_alloc(comm->allocator, sizeof(uint64_t));
    if (!team->backend) return MW_NOMEM();
    *(uint64_t *)team->backend = 0;
    return MW_OK;
}

static void messages_detach(mw_comm *comm, mw_team *team)
{
    mw__world_free(comm->allocator, team->backend, sizeof(uint64_t));
}

/* ---- beginning and ending ------------------------------------------------------------------ */

mw_status mw__messages_barrier(mw_comm *comm, mw_team *team, const char *what)
{
    static const char words[] = "barrier"; /* all barriers of a team agree, whatever they say */
    const mw_transfer nothing = {.what = what,
                                 .hash = mw__hash(0, words, sizeof words),
                                 .team = team,
                                 .dtype = MW_DTYPE_NONE};
    return mw__messages_transfer(comm, &nothing);
}

static void messages_fail(mw_comm *comm, const mw_error *error)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    mw__messages_poison_failed(me, error);
    mw__messages_settle(me); /* of a transfer that has begun */
}

static void messages_leave(mw_comm *comm)
{
    mw__messages_farewell((mw__messages_end *)comm, MW_WORD_ENDED);
}

static mw_status messages_finish(mw_comm *comm)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    (void)snprintf(me->where, sizeof me->where, "the end of the program");
    for (int r = 0; r < comm->nrank; r++)
        me->peer[r].answered = false;
    for (int r = 0; r < comm->nrank && !me->failed; r++) {
        mw__wait wait = {0};
        bool on = r != comm->rank;
        while (on && !me->peer[r].ended)
            on = mw__messages_pause(me, &wait, r);
    }
    if (!me->failed) return MW_OK;
    (void)mw__messages_tell(me, NULL, me->where);
    mw__ctx_get()->error.code = (mw_status)me->story.cause;
    return (mw_status)me->story.cause;
}

static void free_all(mw__messages_end *me)
{
    const mw_allocator *allocator = me->base.allocator;
    mw__teams_free(&me->base);
    for (int r = 0; r < me->base.nrank; r++)
        mw__world_free(allocator, me->peer[r].out, 2 * MW_HEAD_BYTES);
    mw__world_free(allocator, me->in.at, me->in.size);
    mw__world_free(allocator, me->out.at, me->out.size);
    me->transport->release(me->transport);
    mw__world_free(allocator, me->block, me->bytes);
}

/* What the transport may still read or write when a failed world ends is left to the end of the
 * process. */
static void messages_world_free(mw_comm *comm)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    mw__transport *t = me->transport;
    /* A silent rank may never take its farewell. */
    int spared = me->failed ? me->story.silent : 0, n = 0;
    for (double until = mw__now() + 1; me->farewells > spared && mw__now() < until;) {
        if (t->test(t, me->words, comm->nrank, me->done, &n) != NULL) break;
        me->farewells -= n;
    }
    if (!t->drop(t, 0, me->nrequest)) me->stuck = true;
    if (me->stuck)
        t->kept = me;
    else
        free_all(me);
}

static const mw__backend messages_backend = {
    .name = "mpi",
    .fake = false,
    .serves = true,
    .transfer = mw__messages_transfer,
    .begin = mw__messages_begin,
    .end = mw__messages_end_of,
    .barrier = mw__messages_barrier,
    .wait_readers = mw__messages_wait_readers,
    .fail = messages_fail,
    .leave = messages_leave,
    .finish = messages_finish,
    .attach = messages_attach,
    .detach = messages_detach,
    .world_free = messages_world_free,
};

/* Ranks with a core each look for some 100 us before they let others run; ranks that share cores
 * give way at once. */
static void set_patience(mw__messages_end *me, const mw_comm_options *options)
{
    double timeout = options ? options->timeout : 0;
    int cores = options && options->cores > 0 ? options->cores : me->transport->cores;
    bool own_core = me->transport->near <= cores;
    me->timeout = timeout > 0 ? timeout : 60;
    me->spins = own_core ? 400 : 1;
    me->yield_until = own_core ? 20e-3 : 2e-3;
    me->sleep_part = own_core ? 1.0 / 64 : 1.0 / 16;
    me->interrupt = options ? options->interrupt : NULL;
}

/* One block: the end, what it knows of each rank, and lists as long as there are ranks or requests.
 */
static mw__messages_end *new_end(const mw_allocator *allocator, int nrank)
{
    size_t n = (size_t)nrank, requests = 1 + 5 * n;
    size_t peers = round_up(sizeof(mw__messages_end)),
           notes = peers + round_up(n * sizeof(mw__peer)), done = notes + n * MW_NOTE_BYTES,
           flags = done + round_up(requests * sizeof(int)), bytes = flags + n * sizeof(bool);
    char *block = mw__world_alloc(allocator, bytes);
    if (!block) return NULL;
    memset(block, 0, bytes);
    mw__messages_end *me = (mw__messages_end *)block;
    me->block = block;
    me->bytes = bytes;
    me->peer = (mw__peer *)(block + peers);
    me->note = (char(*)[MW_NOTE_BYTES])(block + notes);
    me->done = (int *)(block + done);
    me->note_out = (bool *)(block + flags);
    me->words = 1 + 3 * nrank;
    me->nrequest = (int)requests;
    me->goal = -1;
    me->base = (mw_comm){.backend = &messages_backend, .allocator = allocator, .nrank = nrank};
    return me;
}

mw_status mw__comm_messages_new(mw__transport *transport, const mw_comm_options *options,
                                mw_comm **ret_comm)
{
    const mw_allocator *allocator = mw__ctx_get()->allocator;
    if (transport->nrank > MW_MESH_RANKS)
        return MW_FAIL(MW_ERR_ARG, "a world has 1 to %d ranks, got %d", MW_MESH_RANKS,
                       transport->nrank);
    mw__messages_end *me = new_end(allocator, transport->nrank);
    if (!me) return MW_NOMEM();
    me->base.rank = transport->rank;
    me->transport = transport;
    set_patience(me, options);
    const char *wrong =
        transport->reserve(transport, me->nrequest, allocator->resize, allocator->user);
    if (wrong) {
        mw__world_free(allocator, me->block, me->bytes);
        return MW_FAIL(MW_ERR_NOMEM, "%s: %s", transport->name, wrong);
    }
    if (!mw__messages_listen(me)) {
        mw_status status = mw__messages_tell(me, NULL, "the start");
        free_all(me);
        return status;
    }
    *ret_comm = &me->base;
    return MW_OK;
}
