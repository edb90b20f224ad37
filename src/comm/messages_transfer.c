/* A transfer by messages: pack for each peer what it pulls from me, send it behind a head, and pull
 * my own boxes out of what comes in, in the order of the pulls. A peer's boxes arrive packed in the
 * order in which I pull them. A box that is large, alone and gapless goes straight from buffer to
 * buffer.
 *
 * Every member sends a head to every other, also where no box goes along: then a disagreement is
 * seen by all, and a rank that is missing is missed by all. */
#include "comm/messages.h"

#include <assert.h>

enum { ROOM = MW_HEAD_BYTES - MW_HEAD_SIZE, PIECE = 1 << 28, ALIGN = 64 };

typedef struct member {
    uint64_t number; /* of its last transfer in this team */
} member;

static int64_t elements(const mw_pull *box)
{
    int64_t count = 1;
    for (int d = 0; d < box->ndim; d++)
        count *= box->size[d];
    return count;
}

static bool gapless(const mw_pull *box, const int64_t *stride)
{
    int64_t want = 1;
    for (int d = box->ndim - 1; d >= 0; d--) {
        if (box->size[d] == 1) continue;
        if (stride[d] != want) return false;
        want *= box->size[d];
    }
    return true;
}

static void set_gapless(const mw_pull *box, int64_t *stride)
{
    int64_t want = 1;
    for (int d = box->ndim - 1; d >= 0; d--) {
        stride[d] = want;
        want *= box->size[d];
    }
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool grow(mw__messages_end *me, mw__scratch *s, int64_t need)
{
    size_t size = (size_t)need + ALIGN;
    if (need == 0 || s->size >= size) return true;
    char *at = mw__world_alloc(me->base.allocator, size);
    if (!at) return false;
    mw__world_free(me->base.allocator, s->at, s->size);
    *s = (mw__scratch){at, size};
    return true;
}

static char *aligned(const mw__scratch *s)
{
    return s->at + (ALIGN - (uintptr_t)s->at % ALIGN) % ALIGN;
}

/* ---- what goes where ----------------------------------------------------------------------- */

static void start_round(mw__messages_end *me, const mw_team *team)
{
    me->round++;
    for (int i = 0; i < team->count; i++) {
        mw__peer *p = &me->peer[team->rank[i]];
        p->round = me->round;
        p->place = i;
        p->come = p->here = p->direct = p->answered = false;
        p->boxes_in = p->boxes_out = p->sends = 0;
        p->bytes_in = p->bytes_out = p->in_done = p->out_done = p->taken = 0;
        p->body_in = NULL;
        p->body_out = NULL;
    }
}

/* Sums up what each peer gets and gives. */
static void sum_boxes(mw__messages_end *me, const mw_transfer *t, bool *ret_reduces)
{
    int64_t size = mw_dtype_size(t->dtype);
    *ret_reduces = false;
    for (int i = 0; i < t->npull; i++) {
        mw__peer *p = &me->peer[t->pull[i].peer];
        assert(p->round == me->round); /* a plan pulls from its own team only */
        if (t->pull[i].reduce != MW_REDUCE_NONE) *ret_reduces = true;
        if (p->boxes_in++ == 0) p->first_in = &t->pull[i];
        p->bytes_in += elements(&t->pull[i]) * size;
    }
    for (int i = 0; i < t->nserve; i++) {
        mw__peer *p = &me->peer[t->serve[i].peer];
        assert(p->round == me->round);
        if (p->boxes_out++ == 0) p->first_out = &t->serve[i];
        p->bytes_out += elements(&t->serve[i]) * size;
    }
}

/* Bytes that don't fit behind a head: straight between the buffers where one gapless box is all,
 * and nothing is combined; else through scratch memory. */
static bool place_bodies(mw__messages_end *me, const mw_transfer *t, bool reduces)
{
    int64_t in = 0, out = 0, size = mw_dtype_size(t->dtype);
    for (int i = 0; i < t->team->count; i++) {
        mw__peer *p = &me->peer[t->team->rank[i]];
        if (i == t->team->me) continue;
        p->direct = p->bytes_in > ROOM && !reduces && p->boxes_in == 1 &&
                    gapless(p->first_in, p->first_in->to_stride);
        if (p->bytes_in > ROOM && !p->direct) in += round_up(p->bytes_in);
        if (p->bytes_out <= ROOM) continue;
        if (p->boxes_out == 1 && gapless(p->first_out, p->first_out->from_stride))
            p->body_out = (const char *)t->from + p->first_out->from * size;
        else
            out += round_up(p->bytes_out);
    }
    if (!grow(me, &me->in, in) || !grow(me, &me->out, out)) return false;
    in = out = 0;
    for (int i = 0; i < t->team->count; i++) {
        mw__peer *p = &me->peer[t->team->rank[i]];
        if (i == t->team->me) continue;
        if (p->direct) {
            p->body_in = (char *)t->to + p->first_in->to * size;
        } else if (p->bytes_in > ROOM) {
            p->body_in = aligned(&me->in) + in;
            in += round_up(p->bytes_in);
        }
        if (p->bytes_out > ROOM && !p->body_out) {
            p->pack = aligned(&me->out) + out;
            p->body_out = p->pack;
            out += round_up(p->bytes_out);
        } else {
            p->pack = p->bytes_out <= ROOM && p->bytes_out > 0 ? p->out + MW_HEAD_SIZE : NULL;
        }
    }
    return true;
}

static void pack_all(mw__messages_end *me, const mw_transfer *t)
{
    int64_t size = mw_dtype_size(t->dtype);
    for (int i = 0; i < t->nserve; i++) {
        mw__peer *p = &me->peer[t->serve[i].peer];
        if (!p->pack) continue; /* goes as it lies */
        mw_pull box = t->serve[i];
        box.reduce = MW_REDUCE_NONE;
        box.to = 0;
        set_gapless(&box, box.to_stride);
        mw__pull_run(&box, t->dtype, t->from, p->pack);
        p->pack += elements(&box) * size;
    }
}

/* ---- messages under way -------------------------------------------------------------------- */

static int request_of(int place, int part)
{
    return 1 + 3 * place + part;
}

static bool start(mw__messages_end *me, const char *went_wrong)
{
    if (MW_LIKELY(!went_wrong)) return true;
    mw__messages_poison_transport(me, went_wrong);
    return false;
}

static bool send_piece(mw__messages_end *me, mw__peer *p, int rank)
{
    int64_t piece = MW_MIN(p->bytes_out - p->out_done, PIECE);
    const char *at = p->body_out + p->out_done;
    p->out_done += piece;
    return start(me, me->transport->send(me->transport, request_of(p->place, 1), rank,
                                         MW_CHANNEL_BODY, at, (size_t)piece));
}

static bool receive_piece(mw__messages_end *me, mw__peer *p, int rank)
{
    int64_t piece = MW_MIN(p->bytes_in - p->in_done, PIECE);
    char *at = p->body_in + p->in_done;
    p->in_done += piece;
    return start(me, me->transport->receive(me->transport, request_of(p->place, 2), rank,
                                            MW_CHANNEL_BODY, at, (size_t)piece));
}

static bool receive_heads(mw__messages_end *me, const mw_team *team)
{
    for (int i = 0; i < team->count; i++) {
        int rank = team->rank[i];
        if (i == team->me) continue;
        if (!start(me, me->transport->receive(me->transport, request_of(i, 2), rank,
                                              MW_CHANNEL_HEAD, me->peer[rank].in, MW_HEAD_BYTES)))
            return false;
    }
    return true;
}

/* From the next member on, so that not all send to the same one first. */
static bool send_all(mw__messages_end *me, const mw_team *team)
{
    for (int k = 1; k < team->count; k++) {
        int rank = team->rank[(team->me + k) % team->count];
        mw__peer *p = &me->peer[rank];
        mw__head *out = (mw__head *)p->out;
        *out = me->mine;
        out->bytes = p->bytes_out;
        size_t size = MW_HEAD_SIZE + (size_t)(p->bytes_out <= ROOM ? p->bytes_out : 0);
        p->sends++;
        if (!start(me, me->transport->send(me->transport, request_of(p->place, 0), rank,
                                           MW_CHANNEL_HEAD, p->out, size)))
            return false;
        if (p->bytes_out <= ROOM) continue;
        p->sends++;
        if (!send_piece(me, p, rank)) return false;
    }
    return true;
}

/* A head has come. */
static bool take_head(mw__messages_end *me, mw__peer *p, int rank)
{
    mw__head *theirs = (mw__head *)p->in;
    const mw__head *mine = &me->mine;
    theirs->what[MW_WHAT_BYTES - 1] = 0;
    memcpy(p->last, theirs->what, sizeof p->last);
    p->here = true;
    if (theirs->number != mine->number || theirs->team != mine->team ||
        theirs->hash != mine->hash || theirs->bytes != p->bytes_in) {
        mw__messages_poison_disagree(me, theirs, rank);
        return false;
    }
    if (p->bytes_in > ROOM) return receive_piece(me, p, rank);
    p->body_in = p->in + MW_HEAD_SIZE;
    p->come = true;
    return true;
}

bool mw__messages_ended(mw__messages_end *me, int place, int part)
{
    int rank = me->team->rank[place];
    mw__peer *p = &me->peer[rank];
    if (part == 2) {
        if (!p->here) return take_head(me, p, rank);
        if (p->in_done < p->bytes_in) return receive_piece(me, p, rank);
        p->come = true;
        return true;
    }
    if (part == 1 && p->out_done < p->bytes_out) return send_piece(me, p, rank);
    p->sends--;
    return true;
}

/* ---- pulling ------------------------------------------------------------------------------- */

static bool wait_for(mw__messages_end *me, int rank)
{
    const mw__peer *p = &me->peer[rank];
    mw__wait wait = {0};
    while (!p->come)
        if (!mw__messages_pause(me, &wait, rank)) return false;
    return true;
}

/* The pull as it is to be run: out of what has come from its peer. */
static bool find_source(mw__messages_end *me, const mw_transfer *t, const mw_pull *pull,
                        mw_pull *ret, const void **ret_from)
{
    *ret = *pull;
    *ret_from = t->from;
    if (pull->peer == me->base.rank) return true;
    if (!wait_for(me, pull->peer)) return false;
    mw__peer *p = &me->peer[pull->peer];
    *ret_from = p->body_in;
    ret->from = p->taken;
    set_gapless(pull, ret->from_stride);
    p->taken += elements(pull);
    return true;
}

/* Pulls that are one reduction stay one where their sources have come to lie alike, which is so
 * unless my own box has gaps; the bits are the same either way. */
static bool pull_all(mw__messages_end *me, const mw_transfer *t)
{
    mw_pull pull[MW_PULL_GROUP];
    const void *from[MW_PULL_GROUP];
    bool past = mw__pulls_past(t->pull, t->npull, t->dtype);
    for (int i = 0, n; i < t->npull; i += n) {
        n = mw__pull_group(&t->pull[i], t->npull - i);
        if (me->peer[t->pull[i].peer].direct) {
            if (!wait_for(me, t->pull[i].peer)) return false;
            continue;
        }
        for (int j = 0; j < n; j++)
            if (!find_source(me, t, &t->pull[i + j], &pull[j], &from[j])) return false;
        for (int j = 0, alike; j < n; j += alike) {
            alike = mw__pull_group(&pull[j], n - j);
            mw__pull_group_run(&pull[j], alike, t->dtype, &from[j], t->to, past);
        }
    }
    return true;
}

/* Waits for the heads of those that nothing was pulled from, and until my own bytes are taken. */
static bool wait_rest(mw__messages_end *me, const mw_team *team)
{
    for (int k = 1; k < team->count; k++) {
        int rank = team->rank[(team->me + k) % team->count];
        if (!wait_for(me, rank)) return false;
        mw__wait wait = {0};
        while (me->peer[rank].sends > 0)
            if (!mw__messages_pause(me, &wait, rank)) return false;
    }
    return true;
}

static void set_where(mw__messages_end *me, const char *what)
{
    size_t length = strnlen(what, MW_WHAT_BYTES - 1);
    memcpy(me->where, what, length);
    me->where[length] = 0;
}

/* After a failure nothing of the transfer is under way. */
static mw_status tell(mw__messages_end *me, const mw_transfer *t)
{
    mw__messages_settle(me);
    return mw__messages_tell(me, t->team, t->what);
}

mw_status mw__messages_begin(mw_comm *comm, const mw_transfer *t)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    if (MW_UNLIKELY(me->failed)) return mw__messages_tell(me, t->team, t->what);
    bool reduces;
    start_round(me, t->team);
    sum_boxes(me, t, &reduces);
    if (!place_bodies(me, t, reduces)) return MW_NOMEM();
    pack_all(me, t);
    set_where(me, t->what);
    me->mine = (mw__head){.number = ++((member *)t->team->backend)->number,
                          .team = t->team->hash,
                          .hash = t->hash + (uint64_t)t->dtype};
    memcpy(me->mine.what, me->where, sizeof me->mine.what);
    me->team = t->team;
    return MW_LIKELY(receive_heads(me, t->team) && send_all(me, t->team)) ? MW_OK : tell(me, t);
}

mw_status mw__messages_end_of(mw_comm *comm, const mw_transfer *t)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    if (MW_UNLIKELY(me->failed || !pull_all(me, t) || !wait_rest(me, t->team))) return tell(me, t);
    me->team = NULL;
    return MW_OK;
}

mw_status mw__messages_transfer(mw_comm *comm, const mw_transfer *t)
{
    MW_TRY(mw__messages_begin(comm, t));
    return mw__messages_end_of(comm, t);
}

mw_status mw__messages_wait_readers(mw_comm *comm, const mw_storage *storage)
{
    mw__messages_end *me = (mw__messages_end *)comm;
    (void)storage; /* a transfer returns only when its bytes are out */
    if (MW_LIKELY(!me->failed)) return MW_OK;
    return mw__messages_tell(me, NULL, "a wait for the readers of its buffer");
}
