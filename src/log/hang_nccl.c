/* NCCL's debug lines: communicators (INIT) and calls (COLL):
 *
 *     node1:1234:1300 [0] NCCL INFO ncclCommInitRank comm 0x5c rank 0 nranks 8 cudaDev 0
 *       nvmlDev 0 busId 1000 commId 0x3f - Init START
 *     node1:1234:1300 [0] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 1024
 *       datatype 7 op 0 root 0 comm 0x5c [nranks=8] stream 0x60
 *
 * opCount is hexadecimal and counts the calls of one communicator. An address names a communicator
 * within its process alone: only commId, or a group that can be no other, tells which belong
 * together. */
#include "log/hang.h"

#include <stdio.h>

typedef struct dtype_row {
    const char *name;
    int bytes;
} dtype_row;

static const dtype_row dtypes[] = {
#define DTYPE(code, name, bytes) [code] = {name, bytes},
#include "log/hang_nccl.def"
#undef DTYPE
};

static const char *const reductions[] = {
#define REDUCE(code, name) [code] = name,
#include "log/hang_nccl.def"
#undef REDUCE
};

typedef struct kind {
    const char *name, *collective;
    int times;
    bool share, reduces, rooted;
    const char *formula;
} kind;

static const kind kinds[] = {
#define COLLECTIVE(name, collective, times, share, reduces, rooted, formula) \
    {name, collective, times, share, reduces, rooted, formula},
#include "log/hang_nccl.def"
#undef COLLECTIVE
};

typedef struct call {
    const char *name;
    const kind *kind; /* NULL: point to point, or not known */
    int64_t count, dtype, op, root, nranks;
    uint64_t number, comm;
} call;

/* ---- communicators ----------------------------------------------------------------------- */

/* "node1:1234" of what stands before "NCCL INFO". */
static const char *process_of(const hang_here *h, const char *nccl)
{
    const char *end = nccl;
    while (end > h->line->text && end[-1] == ' ')
        end--;
    const char *at = end;
    while (at > h->line->text && at[-1] != ' ')
        at--;
    if (*at == '[') { /* the device */
        for (end = at; end > h->line->text && end[-1] == ' ';)
            end--;
        for (at = end; at > h->line->text && at[-1] != ' ';)
            at--;
    }
    const char *colon = memchr(at, ':', (size_t)(end - at)), *thread = NULL;
    if (colon) thread = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    return mw__hang_keep(h, at, (thread ? thread : end) - at);
}

static uint64_t comm_key(const hang_here *h, const char *process, uint64_t address)
{
    int64_t key[2] = {(int64_t)address, h->line->rank};
    return mw__hash(mw__hash(11, process, strlen(process)), key, sizeof key);
}

/* That of the key, a new one where it is the first time; NULL: no memory. */
static hang_comm *comm_of(hang_here *h, uint64_t key)
{
    mw_found *i = mw__lookup_next(&h->s->comm, key, NULL);
    if (i) return i->item;
    hang_comm *c = mw__arena_alloc(&h->e->arena, sizeof *c);
    i = c ? mw__lookup_add(&h->s->comm, key) : NULL;
    if (!i) {
        h->e->failed = true;
        return NULL;
    }
    *c = (hang_comm){-1, -1};
    i->item = c;
    return c;
}

/* The group of communicators of `nranks`, by its commId where that is stated. */
static hang_group *group_of(hang_here *h, int64_t nranks, uint64_t id)
{
    char key[80], name[80];
    (void)snprintf(key, sizeof key, "%lld/%llx", (long long)nranks, (unsigned long long)id);
    if (id)
        (void)snprintf(name, sizeof name, "the communicator 0x%llx of %lld ranks",
                       (unsigned long long)id, (long long)nranks);
    else
        (void)snprintf(name, sizeof name, "the communicators of %lld ranks", (long long)nranks);
    hang_group *g = mw__hang_group(h, "nccl", key, name);
    if (g && g->size == HANG_NONE && nranks > 0) {
        g->size = nranks;
        g->size_line = h->line->number;
        g->ordered = true;
        g->unnamed = id == 0;
    }
    return g;
}

static bool has_member(const hang_group *g, int64_t rank)
{
    return rank >= 0 && rank < g->nslot && g->slot[rank];
}

static bool init_line(hang_here *h, const char *text, const char *process)
{
    uint64_t address, id = 0;
    int64_t rank, nranks, device;
    if (!mw__hang_hex(text, "comm ", &address) || !mw__hang_number(text, " rank ", &rank) ||
        !mw__hang_number(text, " nranks ", &nranks))
        return false;
    (void)mw__hang_hex(text, "commId ", &id);
    uint64_t key = comm_key(h, process, address);
    hang_comm *c = comm_of(h, key);
    if (!c) return true;
    if (strstr(text, "Destroy COMPLETE") || strstr(text, "Abort COMPLETE")) {
        bool gone = strstr(text, "Abort COMPLETE") != NULL;
        mw_draft *d = mw__draft(h->e, h->line, "nccl", gone ? "abort" : "communicator");
        mw__fact(d, "rank in the communicator", MW_HOW_STATED, h->from, "%lld", (long long)rank);
        mw__draft_says(d, "Rank %lld of a communicator of %lld ranks %s it.", (long long)rank,
                       (long long)nranks, gone ? "aborted" : "destroyed");
        return true;
    }
    bool known = c->rank >= 0 && id == 0; /* a later line of the same communicator */
    hang_group *g = known ? &h->s->group[c->group] : group_of(h, nranks, id);
    if (!g) return true;
    if (c->group < 0) g->ambiguous |= g->unnamed && has_member(g, rank);
    c->group = (int32_t)(g - h->s->group);
    c->rank = (int32_t)MW_MIN(rank, INT32_MAX);
    hang_member *m = mw__hang_member(h, g, rank);
    if (m && h->line->rank >= 0) m->global = h->line->rank;
    uint64_t told = mw__hash(id + 1, &nranks, sizeof nranks);
    if (mw__hang_told(h, told) || known) return true;
    mw_draft *d = mw__draft(h->e, h->line, "nccl", "communicator");
    mw__hang_keep_draft(h, told, d);
    mw__fact(d, "ranks", MW_HOW_STATED, h->from, "%lld", (long long)nranks);
    mw__fact(d, "rank in the communicator", MW_HOW_STATED, h->from, "%lld", (long long)rank);
    if (mw__hang_number(text, " cudaDev ", &device))
        mw__fact(d, "device", MW_HOW_STATED, h->from, "%lld", (long long)device);
    if (id) mw__fact(d, "commId", MW_HOW_STATED, h->from, "0x%llx", (unsigned long long)id);
    mw__draft_says(d, "Process %s joins %s as rank %lld.", process, g->name, (long long)rank);
    return true;
}

/* ---- calls ------------------------------------------------------------------------------- */

static bool read_call(const hang_here *h, const char *text, call *ret)
{
    const char *colon = strstr(text, ": opCount ");
    *ret = (call){.op = -1, .root = -1};
    if (!colon || colon - text > 40 || !mw__hang_hex(colon, "opCount ", &ret->number) ||
        !mw__hang_number(colon, " count ", &ret->count) ||
        !mw__hang_number(colon, " datatype ", &ret->dtype) ||
        !mw__hang_hex(colon, " comm ", &ret->comm))
        return false;
    (void)mw__hang_number(colon, " op ", &ret->op);
    (void)mw__hang_number(colon, " root ", &ret->root);
    if (!mw__hang_number(colon, "nranks=", &ret->nranks)) ret->nranks = HANG_NONE;
    ret->name = mw__hang_keep(h, text, colon - text);
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strcmp(ret->name, kinds[i].name) == 0) ret->kind = &kinds[i];
    return true;
}

static int64_t received(const call *c)
{
    const kind *k = c->kind;
    int64_t bytes;
    if (!k || !k->times || c->nranks < 1 || c->dtype < 0 || c->dtype >= MW_COUNT(dtypes) ||
        __builtin_mul_overflow(c->count, dtypes[c->dtype].bytes, &bytes) ||
        __builtin_mul_overflow(bytes, k->times * (c->nranks - 1), &bytes))
        return -1;
    return k->share ? bytes / c->nranks : bytes;
}

static const char *dtype_of(const call *c)
{
    return c->dtype >= 0 && c->dtype < MW_COUNT(dtypes) ? dtypes[c->dtype].name : "";
}

static void tell_call(hang_here *h, const call *c)
{
    const kind *k = c->kind;
    int64_t bytes = received(c);
    mw_draft *d = mw__draft(h->e, h->line, "nccl", "collective");
    int64_t key[6] = {c->count, c->dtype, c->op, c->root, c->nranks, 13};
    mw__hang_keep_draft(h, mw__hash(17, key, sizeof key) ^ mw__hash(1, c->name, strlen(c->name)),
                        d);
    char axis[60] = "ranks not said";
    if (c->nranks > 0) (void)snprintf(axis, sizeof axis, "%lld ranks", (long long)c->nranks);
    const char *dtype = dtype_of(c);
    mw__draft_moved(d,
                    k                              ? k->collective
                    : strcmp(c->name, "Send") == 0 ? "send"
                                                   : c->name,
                    axis, "", bytes);
    mw__fact(d, "count", MW_HOW_STATED, h->from, "%lld", (long long)c->count);
    if (*dtype)
        mw__fact(d, "dtype", MW_HOW_DERIVED, "NCCL's number of the dtype", "%s (datatype %lld)",
                 dtype, (long long)c->dtype);
    if (k && k->reduces && c->op >= 0 && c->op < MW_COUNT(reductions))
        mw__fact(d, "combines by", MW_HOW_DERIVED, "NCCL's number of the op", "%s (op %lld)",
                 reductions[c->op], (long long)c->op);
    if (!k || k->rooted)
        mw__fact(d, k ? "root" : "peer", MW_HOW_STATED, h->from, "%lld", (long long)c->root);
    if (c->nranks > 0) mw__fact(d, "ranks", MW_HOW_STATED, h->from, "%lld", (long long)c->nranks);
    if (bytes >= 0)
        mw__fact(d, "received per rank", MW_HOW_DERIVED, k->formula, "%lld B", (long long)bytes);
    mw__draft_says(d, "NCCL %s of %lld%s%s over %s%s.", c->name, (long long)c->count,
                   *dtype ? " " : " elements", dtype, axis,
                   c->nranks == 1 ? ": nothing moves between ranks" : "");
}

static bool call_line(hang_here *h, const char *text, const char *process)
{
    call c;
    if (!read_call(h, text, &c)) return false;
    hang_comm *comm = comm_of(h, comm_key(h, process, c.comm));
    if (!comm) return true;
    hang_group *g = comm->group >= 0 ? &h->s->group[comm->group] : group_of(h, c.nranks, 0);
    if (!g) return true;
    int64_t rank = comm->rank, global = HANG_NONE;
    if (rank < 0 && mw__hang_number(text, " globalrank ", &global) && global == h->line->rank)
        rank = global;
    if (rank < 0 && h->line->rank >= 0) {
        if (comm->group < 0) g->ambiguous |= g->unnamed && has_member(g, h->line->rank);
        rank = h->line->rank;
    }
    comm->group = (int32_t)(g - h->s->group);
    mw_line line = *h->line;
    if (line.rank < 0 && comm->rank >= 0) line.rank = comm->rank; /* each is one teller */
    const mw_line *was = h->line;
    h->line = &line;
    int64_t key[6] = {c.count, c.dtype, c.op, c.root, c.nranks, 13};
    if (!mw__hang_told(h, mw__hash(17, key, sizeof key) ^ mw__hash(1, c.name, strlen(c.name))))
        tell_call(h, &c);
    h->line = was;
    if (rank < 0) {
        mw__missing(h->e,
                    "which rank of its communicator process %s is: no INIT line says it "
                    "(NCCL_DEBUG_SUBSYS=INIT,COLL prints them)",
                    process);
        g->unplaced = true;
        return true;
    }
    char shape[40];
    (void)snprintf(shape, sizeof shape, "%lld", (long long)c.count);
    bool pair = !c.kind;
    hang_what w = {c.name, pair ? "" : mw__hang_keep(h, shape, (int64_t)strlen(shape)),
                   pair ? "" : dtype_of(&c), false};
    if (!pair) mw__hang_post(h, g, rank, (int64_t)(c.number & INT64_MAX), &w);
    return true;
}

/* `NCCL WARN ...`: what went wrong below the collectives, in NCCL's words. */
static bool warning_line(hang_here *h)
{
    const char *at = mw__hang_after(h->line->text, "NCCL WARN ");
    if (!at) return false;
    uint64_t hash = mw__hash(47, at, strlen(at));
    if (mw__hang_told(h, hash)) return true;
    mw_draft *d = mw__draft(h->e, h->line, "nccl", "warning");
    mw__hang_keep_draft(h, hash, d);
    mw__draft_weight(d, 35);
    mw__fact(d, "says", MW_HOW_STATED, h->from, "%.300s", at);
    bool closed = strstr(at, "onnection closed") || strstr(at, "onnection reset") ||
                  strstr(at, "onnection refused");
    mw__draft_says(d, "NCCL warns: %.200s", at);
    if (closed)
        mw__missing(h->e, "which rank closed the connection of line %lld: an address stands there",
                    (long long)h->line->number);
    return true;
}

bool mw__hang_nccl(hang_here *h)
{
    const char *nccl = strstr(h->line->text, "NCCL INFO ");
    if (!nccl) return warning_line(h);
    const char *process = process_of(h, nccl), *text = nccl + strlen("NCCL INFO ");
    text += strspn(text, " ");
    return call_line(h, text, process) || init_line(h, text, process);
}
