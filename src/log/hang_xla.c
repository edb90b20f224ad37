/* XLA's rendezvous: threads of one process that wait for each other before a collective.
 *
 *     This thread has been waiting for 5000ms for and may be stuck: participant
 *       AllReduceParticipantData{rank=2, element_count=8, type=F32, rendezvous_key=
 *       RendezvousKey{run_id=RunId: 7, global_devices=[0,1,2,3], num_local_participants=4,
 *       collective_op_kind=cross_module, op_id=3}} waiting for all participants to arrive at ...
 *     [id=0] This thread has been waiting for `all gather RendezvousKey{...}` for 20 seconds and
 *       may be stuck. Expected 4 threads to join the rendezvous, but only 3 of them arrived on
 *       time.
 *     Termination timeout for `NAME` of 40 seconds exceeded. Exiting to ensure a consistent
 *       program state. Expected 4 threads to join the rendezvous, but not all of them arrived ...
 *     Thread is unstuck! Warning above was a false-positive. Perhaps the timeout is too short.
 *
 * A participant's rank is its place in global_devices; an id is the order of arrival and names no
 * device. Whether a warning was a false one is known at the end, so problems are made there. */
#include "log/hang.h"

#include <stdio.h>

enum { WARNINGS = 256 };

typedef struct hang_wait {
    mw_draft *draft;
    const char *name;
    int64_t expected, arrived;
    bool all, ended;
} hang_wait;

typedef struct hang_xla {
    hang_wait wait[WARNINGS];
    int n;
    int64_t resumed, resumed_line;
} hang_xla;

typedef struct key {
    bool has;
    const char *devices, *run, *kind;
    int64_t op, local;
} key;

static hang_xla *state_of(hang_here *h)
{
    if (!h->s->xla) h->s->xla = mw__arena_zalloc(&h->e->arena, sizeof *h->s->xla);
    if (!h->s->xla) h->e->failed = true;
    return h->s->xla;
}

static void read_key(const hang_here *h, const char *text, key *ret)
{
    *ret = (key){.op = HANG_NONE, .local = HANG_NONE, .devices = "", .run = "", .kind = ""};
    const char *open = mw__hang_after(text, "RendezvousKey{"),
               *close = open ? strchr(open, '}') : NULL;
    if (!close) return;
    ret->has = true;
    ret->run = mw__hang_field(h, open, close, "run_id=");
    const char *list = mw__hang_after(open, "global_devices=[");
    if (list && list < close) ret->devices = mw__hang_keep(h, list, (int64_t)strcspn(list, "]}"));
    ret->kind = mw__hang_field(h, open, close, "collective_op_kind=");
    (void)mw__hang_number(open, "num_local_participants=", &ret->local);
    (void)mw__hang_number(open, "op_id=", &ret->op);
}

static hang_group *group_of(hang_here *h, const key *k)
{
    char text[400], name[120];
    (void)snprintf(text, sizeof text, "%.100s/%.280s", k->run, k->devices);
    (void)snprintf(name, sizeof name, "the rendezvous of devices %.80s", k->devices);
    hang_group *g = mw__hang_group(h, "xla", text, name);
    if (g) mw__hang_globals(h, g, k->devices);
    return g;
}

static void tell_key(const hang_here *h, mw_draft *d, const key *k)
{
    if (!k->has) return;
    if (*k->devices) mw__fact(d, "devices", MW_HOW_STATED, h->from, "%s", k->devices);
    if (k->local != HANG_NONE)
        mw__fact(d, "participants in this process", MW_HOW_STATED, h->from, "%lld",
                 (long long)k->local);
    if (*k->kind) mw__fact(d, "kind", MW_HOW_STATED, h->from, "%s", k->kind);
    if (k->op != HANG_NONE) mw__fact(d, "op id", MW_HOW_STATED, h->from, "%lld", (long long)k->op);
    if (*k->run) mw__fact(d, "run", MW_HOW_STATED, h->from, "%s", k->run);
}

/* "all_reduce" of "AllReduceParticipantData{". */
static const char *collective_of(const char *data, const char *start)
{
    static const struct {
        const char *name, *collective;
    } row[] = {{"AllReduce", "all_reduce"},
               {"AllGather", "all_gather"},
               {"ReduceScatter", "reduce_scatter"},
               {"AllToAll", "all_to_all"},
               {"CollectivePermute", "collective_permute"}};
    for (int i = 0; i < MW_COUNT(row); i++) {
        size_t n = strlen(row[i].name);
        if ((size_t)(data - start) >= n && strncmp(data - n, row[i].name, n) == 0)
            return row[i].collective;
    }
    return "";
}

static bool participant_line(hang_here *h)
{
    const char *data = strstr(h->at, "ParticipantData{");
    if (!data || !strstr(h->at, "may be stuck")) return false;
    key k;
    int64_t rank = HANG_NONE, waited;
    read_key(h, data, &k);
    const char *end = strstr(data, "rendezvous_key=");
    if (!end) end = data + strcspn(data, "}");
    const char *collective = collective_of(data, h->at);
    (void)mw__hang_number(data, "rank=", &rank);
    const char *counted = mw__hang_field(h, data, end, "element_count=");
    const char *type = mw__hang_field(h, data, end, "type=");
    hang_group *g = k.has ? group_of(h, &k) : NULL;
    hang_what w = {collective, counted, type, false};
    if (rank != HANG_NONE) mw__hang_post(h, g, rank, k.op == HANG_NONE ? 0 : k.op, &w);
    mw_draft *d = mw__draft(h->e, h->line, "xla", "wait");
    mw__draft_weight(d, 40);
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = collective;
    if (mw__hang_number(h->at, "waiting for ", &waited))
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld%s", (long long)waited,
                 strstr(h->at, "ms for") ? " ms" : " s");
    if (*collective) mw__fact(d, "collective", MW_HOW_STATED, h->from, "%s", collective);
    if (rank != HANG_NONE)
        mw__fact(d, "place among the devices", MW_HOW_STATED, h->from, "%lld", (long long)rank);
    if (*counted) mw__fact(d, "elements", MW_HOW_STATED, h->from, "%s", counted);
    if (*type) mw__fact(d, "dtype", MW_HOW_STATED, h->from, "%s", type);
    tell_key(h, d, &k);
    char who[60] = "A device";
    if (rank != HANG_NONE)
        (void)snprintf(who, sizeof who, "The device at place %lld", (long long)rank);
    mw__draft_says(d, "%s waits%s%s%s%s for the others.", who, *collective ? " in " : "",
                   collective, *k.devices ? " over devices " : "", k.devices);
    return true;
}

/* ---- named rendezvous -------------------------------------------------------------------- */

static const char *thread_count(const char *text, int64_t *expected, int64_t *arrived, bool *all)
{
    *expected = *arrived = HANG_NONE;
    *all = false;
    const char *at = mw__hang_after(text, "Expected ");
    if (at && strstr(at, "threads to join the rendezvous")) {
        if (!mw__hang_int(&at, expected)) return NULL;
        (void)mw__hang_number(at, "but only ", arrived);
        return at;
    }
    at = mw__hang_after(text, "All ");
    if (!at || !strstr(at, "threads joined the rendezvous") || !mw__hang_int(&at, expected))
        return NULL;
    *arrived = *expected;
    *all = true;
    return at;
}

static void tell_wait(hang_here *h, hang_wait *w, const key *k, int64_t seconds)
{
    mw_draft *d = w->draft;
    mw__draft_weight(d, w->ended ? 60 : 40);
    mw__fact(d, "waits at", MW_HOW_STATED, h->from, "%s", w->name);
    if (seconds != HANG_NONE)
        mw__fact(d, "waited", MW_HOW_STATED, h->from, "%lld s", (long long)seconds);
    if (w->expected != HANG_NONE)
        mw__fact(d, "expected", MW_HOW_STATED, h->from, "%lld threads", (long long)w->expected);
    if (w->arrived != HANG_NONE && !w->all)
        mw__fact(d, "arrived", MW_HOW_STATED, h->from, "%lld threads", (long long)w->arrived);
    if (h->id != HANG_NONE)
        mw__fact(d, "order of arrival", MW_HOW_DERIVED, "what the id counts; it names no device",
                 "%lld", (long long)h->id);
    tell_key(h, d, k);
    char count[120] = "the text does not say how many came";
    if (w->all)
        (void)snprintf(count, sizeof count, "all %lld came, and their leader does not go on",
                       (long long)w->expected);
    else if (w->arrived != HANG_NONE)
        (void)snprintf(count, sizeof count, "%lld of %lld came", (long long)w->arrived,
                       (long long)w->expected);
    else if (w->expected != HANG_NONE)
        (void)snprintf(count, sizeof count, "not all of %lld came", (long long)w->expected);
    mw__draft_says(d, "A thread of XLA %s at a rendezvous (%.150s): %s.",
                   w->ended ? "gave up" : "waits", w->name, count);
}

static bool named_line(hang_here *h)
{
    const char *wait = mw__hang_after(h->at, "This thread has been waiting for ");
    const char *term = mw__hang_after(h->at, "Termination timeout for ");
    const char *at = wait ? wait : term;
    if (!at) return false;
    const char *end = *at == '`' ? strchr(at + 1, '`') : strstr(at, wait ? " for " : " of ");
    if (!end) return false;
    int64_t seconds = HANG_NONE;
    const char *after = mw__hang_after(end, wait ? " for " : " of ");
    if (after) (void)mw__hang_int(&after, &seconds);
    hang_wait w = {.name = mw__hang_keep(h, at + (*at == '`'), end - at - (*at == '`')),
                   .ended = !wait};
    if (!thread_count(end, &w.expected, &w.arrived, &w.all) && !strstr(end, "stuck")) return false;
    key k;
    read_key(h, at, &k);
    int64_t parts[4] = {w.expected, w.arrived, w.ended, w.all};
    uint64_t hash = mw__hash(31, parts, sizeof parts) ^ mw__hash(6, w.name, strlen(w.name));
    if (mw__hang_told(h, hash)) return true;
    hang_xla *x = state_of(h);
    w.draft = mw__draft(h->e, h->line, "xla", w.ended ? "timeout" : "wait");
    mw__hang_keep_draft(h, hash, w.draft);
    tell_wait(h, &w, &k, seconds);
    if (!w.all)
        mw__missing(h->e,
                    "which devices did not come to the rendezvous of line %lld: XLA counts them "
                    "only",
                    (long long)h->line->number);
    if (x && x->n < WARNINGS) x->wait[x->n++] = w;
    return true;
}

static bool unstuck_line(hang_here *h)
{
    if (!strstr(h->at, "Thread is unstuck!")) return false;
    hang_xla *x = state_of(h);
    if (!x) return true;
    x->resumed++;
    x->resumed_line = h->line->number;
    uint64_t hash = mw__hash(37, "", 0);
    if (mw__hang_told(h, hash)) return true;
    mw_draft *d = mw__draft(h->e, h->line, "xla", "resumed");
    mw__hang_keep_draft(h, hash, d);
    mw__draft_says(d, "A thread that waited went on: its warning was a false one, of a long wait.");
    return true;
}

static bool mismatch_line(hang_here *h)
{
    const char *at = mw__hang_after(h->at, "Mismatch among ");
    if (!at || !strstr(at, "participants")) return false;
    mw_draft *d = mw__draft(h->e, h->line, "xla", "mismatch");
    mw__draft_weight(d, 85);
    mw__fact(d, "says", MW_HOW_STATED, h->from, "%.390s", h->at);
    mw__draft_says(d, "Devices came to one rendezvous with collectives that differ.");
    mw__problem(d, "diverged-control-flow", -1, -1,
                "see that all devices run one program, and that no two runs are in flight at once",
                "XLA found participants of one collective that differ: %.300s", at);
    return true;
}

bool mw__hang_xla_line(hang_here *h)
{
    return participant_line(h) || named_line(h) || unstuck_line(h) || mismatch_line(h);
}

static const char in_flight[] =
    "on CPU: wait for results now and then (block_until_ready), since many runs in flight share "
    "one pool "
    "of threads; else: a stack dump of the process shows where the missing threads are";

void mw__hang_xla_end(hang_here *h)
{
    hang_xla *x = h->s->xla;
    int64_t warnings = 0;
    for (int i = 0; x && i < x->n; i++) {
        const mw_entry *entry = mw__draft_entry(x->wait[i].draft);
        if (!x->wait[i].ended && entry) warnings += entry->count;
    }
    for (int i = 0; x && i < x->n; i++) {
        const hang_wait *w = &x->wait[i];
        if (!w->ended && x->resumed > 0) {
            if (x->resumed < warnings)
                mw__missing(h->e,
                            "which of the waits went on: %lld lines warn, %lld say that a "
                            "thread is unstuck, and these name none",
                            (long long)warnings, (long long)x->resumed);
            continue;
        }
        if (w->all)
            mw__problem(w->draft, "collective-timeout", -1, -1,
                        "a stack dump of the process shows what its leader does",
                        "All %lld threads came to %.150s and their leader does not finish it.",
                        (long long)w->expected, w->name);
        else if (w->expected != HANG_NONE && w->arrived != HANG_NONE)
            mw__problem(w->draft, "rank-behind", -1, -1, in_flight,
                        "%lld of %lld threads did not come to %.150s.",
                        (long long)(w->expected - w->arrived), (long long)w->expected, w->name);
        else if (w->expected != HANG_NONE)
            mw__problem(w->draft, "rank-behind", -1, -1, in_flight,
                        "Not all of %lld threads came to %.150s.", (long long)w->expected, w->name);
    }
}

/* Devices whose participants were told: where each waits last, and which of the key's none tells.
 */
void mw__hang_tell_xla(hang_here *h, const hang_group *g)
{
    hang_ranks at = {0}, elsewhere = {0}, absent = {0};
    mw_explain *e = h->e;
    if (!g->nmember) return;
    int64_t number = g->member[0].last, other = number;
    for (int64_t i = 0; i < g->nmember; i++) {
        const hang_member *m = &g->member[i];
        if (m->last != number) other = m->last;
        mw__hang_ranks_add(e, m->last == number ? &at : &elsewhere, m->rank);
    }
    for (int64_t r = 0; g->size != HANG_NONE && r < MW_MIN(g->size, HANG_RANKS); r++)
        if (r >= g->nslot || !g->slot[r]) mw__hang_ranks_add(e, &absent, r);
    if (h->s->xla && h->s->xla->resumed) {
        mw__missing(
            e, "which of the waiting devices went on: lines say that a thread is unstuck, and name "
               "none");
        return;
    }
    mw_line first = {.number = g->first, .rank = -1};
    mw_draft *d = mw__draft(e, &first, "xla", "hang");
    mw__draft_last(d, g->last);
    mw__draft_weight(d, 90);
    const char *here = mw__hang_ranks_text(e, &at, "place"), *from = "the lines of the waits";
    mw__draft_says(d, "In %s the devices at %s wait at op id %lld%s%s%s%s.", g->name, here,
                   (long long)number, elsewhere.n ? ", others elsewhere: at " : "",
                   elsewhere.n ? mw__hang_ranks_text(e, &elsewhere, "place") : "",
                   absent.n ? "; no line shows " : "",
                   absent.n ? mw__hang_ranks_text(e, &absent, "place") : "");
    mw__fact(d, "waiting", MW_HOW_STATED, from, "%s", here);
    if (absent.n) {
        mw__fact(d, "not shown", MW_HOW_DERIVED, "global_devices of the rendezvous key", "%s",
                 mw__hang_ranks_text(e, &absent, "place"));
        mw__missing(e, "what the devices at %s of %s do: no line shows them",
                    mw__hang_ranks_text(e, &absent, "place"), g->name);
    }
    if (elsewhere.n)
        mw__problem(
            d, "diverged-control-flow", -1, -1, in_flight,
            "In one run the devices at %s wait at op id %lld, those at %s elsewhere (op id %lld): "
            "each waits for the other.",
            here, (long long)number, mw__hang_ranks_text(e, &elsewhere, "place"), (long long)other);
    else if (absent.n)
        mw__problem(d, "rank-silent", -1, -1, in_flight,
                    "The devices at %s wait; those at %s are not among the waiting.", here,
                    mw__hang_ranks_text(e, &absent, "place"));
}
