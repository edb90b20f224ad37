/* What it costs to move data between ranks that are threads, through the public interface: a tensor
 * is redistributed again and again, as any program would do it, its result dropped each time.
 *
 * The bound is the traffic alone: every rank reads what it needs straight out of the other ranks'
 * memory and writes as much as its result has, by plain copies and sums without a word between the
 * ranks; by way of the caches and past them, and the faster of the two counts. Both take turns in
 * short rounds that all ranks begin together, so that a machine that does other work disturbs both
 * alike; a round takes as long as its slowest rank, and medians count. All memory has been touched
 * before. */
#include "cli/bench.h"
#include "cli/session.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_RANKS = 4,
    LEAST_ROUNDS = 5,
    MOST_ROUNDS = 401,
    MOST_CALLS = 256,
    CALIBRATIONS = 3,
    CACHES = 32 << 20
};
static const double round_seconds = 40e-6, row_seconds = 0.15;

/* What is done in turns. */
typedef enum way { MOVE, TRAFFIC, TRAFFIC_PAST_CACHES, WAYS } way;

typedef enum kind { GATHER, SCATTER, REDUCE, SWAP, KINDS } kind;

typedef struct row {
    kind kind;
    int64_t shape[3]; /* dim 0 is what is cut; SWAP: dim 1 afterwards */
    bench_move *to;
} row;

typedef struct state {
    row row[BENCH_COMM];
    int nrow, ranks;
    int cores;
    int64_t come;                   /* atomic: how often a rank has come to the start of a round */
    const char *source[MOST_RANKS]; /* every rank's shard before */
    double seconds[MOST_RANKS];     /* of a round, by rank */
    double sample[WAYS][MOST_ROUNDS];
} state;

/* One row on one rank. */
typedef struct measuring {
    state *s;
    const row *row;
    mw_tensor *from;
    char to[128]; /* layout */
    char *sink;   /* memory of the traffic's result */
    int64_t nth;  /* rounds so far */
    bool warm;    /* each round begins with a call that does not count */
} measuring;

/* ---- the traffic ------------------------------------------------------------------------------
 */

/* A sum of all ranks' terms of `bytes` at `at`. */
static void add(const measuring *m, int64_t at, int64_t bytes, bool past)
{
    const void *term[MOST_RANKS];
    for (int r = 0; r < m->s->ranks; r++)
        term[r] = m->s->source[r] + at;
    bench_add(m->sink, term, m->s->ranks, bytes, past);
}

/* `part` bytes at `at` of each rank; own ones are left out where they are there already. */
static void copy(const measuring *m, int64_t at, int64_t part, bool own, bool past)
{
    for (int r = 0; r < m->s->ranks; r++)
        if (own || r != mw_rank_index())
            bench_copy(m->sink + r * part, m->s->source[r] + at, part, past);
}

static void traffic(const measuring *m, bool past)
{
    const int64_t *shape = m->row->shape;
    int64_t n = shape[0] * shape[1] * shape[2] * 4, p = m->s->ranks, me = mw_rank_index();
    switch (m->row->kind) {
    case GATHER:
        copy(m, 0, n / p, true, past);
        break;
    case SWAP:
        copy(m, me * (n / p / p), n / p / p, true, past);
        break;
    case SCATTER:
        add(m, me * (n / p), n / p, past);
        break;
    default: /* two ranks add everything; more add a part each and copy the others */
        add(m, p == 2 ? 0 : me * (n / p), p == 2 ? n : n / p, past);
        if (p > 2) copy(m, 0, n / p, false, past);
    }
}

/* ---- measuring --------------------------------------------------------------------------------
 */

static mw_status run_way(const measuring *m, way w, int calls)
{
    for (int i = 0; i < calls; i++) {
        if (w != MOVE) {
            traffic(m, w == TRAFFIC_PAST_CACHES);
            continue;
        }
        mw_scope_begin("call");
        const mw_tensor *moved = mw_redistribute(m->from, NULL, m->to);
        (void)mw_scope_end(NULL);
        if (!moved) return mw_last_error()->code;
    }
    return MW_OK;
}

/* All ranks are here, and on their cores: nobody has given way, as who waits at a barrier may have,
 * so none has to be woken while others are measured. With fewer cores that can't be had. `nth`:
 * rounds before this one. */
static void start_together(state *s, int64_t nth)
{
    enum { SPINS = 1 << 20 };
    int64_t all = (nth + 1) * s->ranks;
    (void)__atomic_add_fetch(&s->come, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; __atomic_load_n(&s->come, __ATOMIC_ACQUIRE) < all; i++)
        if (s->ranks > s->cores || i > SPINS) (void)sched_yield();
}

/* Seconds of one call in a round of some: of the slowest rank, the same on all. */
static mw_status measure_round(measuring *m, way w, int calls, double *ret)
{
    mw_status status = m->warm ? run_way(m, w, 1) : MW_OK;
    if (status == MW_OK) status = mw_barrier();
    if (status == MW_OK) start_together(m->s, m->nth++);
    double began = session_now();
    if (status == MW_OK) status = run_way(m, w, calls);
    m->s->seconds[mw_rank_index()] = (session_now() - began) / calls;
    if (status == MW_OK) status = mw_barrier();
    *ret = 0;
    for (int r = 0; r < m->s->ranks; r++)
        if (m->s->seconds[r] > *ret) *ret = m->s->seconds[r];
    return status;
}

static int within(double value, int least, int most)
{
    return value < least ? least : value > most ? most : (int)value;
}

/* How many calls make a round: found by doubling, since a call alone is a cold one. */
static mw_status calibrate(measuring *m, way w, int *ret_calls, double *ret_seconds)
{
    *ret_seconds = 0;
    double least = 0, seconds;
    int calls = 1;
    for (;;) {
        for (int i = 0; i < CALIBRATIONS; i++) {
            mw_status status = measure_round(m, w, calls, &seconds);
            if (status != MW_OK) return status;
            if (i == 0 || seconds < least) least = seconds;
            if (seconds > row_seconds / 20) break; /* a call of its own, or a slow machine */
        }
        if (calls == MOST_CALLS || least * calls > round_seconds / 2) break;
        calls *= 2;
    }
    *ret_calls = calls;
    *ret_seconds = least * calls;
    return MW_OK;
}

static mw_status measure(measuring *m)
{
    int calls[WAYS];
    double seconds, all = 0, middle[WAYS];
    mw_status status = MW_OK;
    for (way w = MOVE; w < WAYS && status == MW_OK; w++) {
        status = calibrate(m, w, &calls[w], &seconds);
        all += seconds;
    }
    int rounds = within(row_seconds / all, LEAST_ROUNDS, MOST_ROUNDS);
    for (int i = 0; i < rounds && status == MW_OK; i++)
        for (way w = MOVE; w < WAYS && status == MW_OK; w++) {
            status = measure_round(m, w, calls[w], &seconds);
            if (mw_rank_index() == 0) m->s->sample[w][i] = seconds;
        }
    if (status != MW_OK || mw_rank_index() != 0) return status;
    for (way w = MOVE; w < WAYS; w++)
        middle[w] = bench_median(m->s->sample[w], rounds); /* sorts */
    way bound = middle[TRAFFIC] < middle[TRAFFIC_PAST_CACHES] ? TRAFFIC : TRAFFIC_PAST_CACHES;
    m->row->to->seconds = middle[MOVE];
    m->row->to->least_seconds = m->s->sample[MOVE][0];
    m->row->to->bound_seconds = middle[bound];
    m->row->to->least_bound_seconds = m->s->sample[bound][0];
    return MW_OK;
}

/* A tensor of ones, so that its memory is there, and where that is. */
static mw_status make_tensor(const char *text, mw_tensor **ret, char **ret_data)
{
    mw_layout layout;
    mw_status status = mw_layout_parse(mw_mesh_world(), text, &layout);
    if (status != MW_OK) return status;
    void *data;
    int64_t count;
    *ret = mw_empty_layout(NULL, &layout);
    if (!*ret) return mw_last_error()->code;
    status = mw_local_data(*ret, &data, &count);
    if (status != MW_OK) return status;
    for (int64_t i = 0; i < count; i++)
        ((float *)data)[i] = 1;
    *ret_data = data;
    return MW_OK;
}

static mw_status measure_row(state *s, const row *r, int64_t *nth)
{
    long long a = (long long)r->shape[0], b = (long long)r->shape[1], c = (long long)r->shape[2];
    measuring m = {.s = s, .row = r};
    mw_tensor *sink;
    char text[128], *source;
    bool terms = r->kind == SCATTER || r->kind == REDUCE;
    (void)snprintf(text, sizeof text, "f32[%lld%s, %lld, %lld]%s", a, terms ? "" : "@x", b, c,
                   terms ? "{sum:x}" : "");
    (void)snprintf(m.to, sizeof m.to, "f32[%lld%s, %lld%s, %lld]", a,
                   r->kind == SCATTER ? "@x" : "", b, r->kind == SWAP ? "@x" : "", c);
    mw_status status = make_tensor(text, &m.from, &source);
    if (status == MW_OK) status = make_tensor(m.to, &sink, &m.sink);
    if (status != MW_OK) return status;
    s->source[mw_rank_index()] = source;
    m.nth = *nth;
    m.warm = r->to->bytes <= CACHES; /* else nothing of it is left in a cache anyway */
    status = measure(&m);
    *nth = m.nth;
    return status;
}

static mw_status program(void *user)
{
    state *s = user;
    int64_t rounds = 0;
    bench_pin();
    mw_status status = MW_OK;
    for (int i = 0; i < s->nrow && status == MW_OK; i++) {
        mw_scope_begin("row");
        status = measure_row(s, &s->row[i], &rounds);
        (void)mw_scope_end(NULL);
    }
    return status;
}

static mw_status launch(state *s)
{
    char mesh[16];
    (void)snprintf(mesh, sizeof mesh, "x=%d", s->ranks);
    const mw_launch_options options = {.mesh = mesh};
    s->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return mw_launch(&options, program, s);
}

/* ---- the rows ---------------------------------------------------------------------------------
 */

mw_status bench_comm_run(bench_move ret[BENCH_COMM])
{
    static const int64_t sizes[] = {16 << 10, 1 << 20, 64 << 20};
    static const char *const ops[KINDS] = {"all_gather", "reduce_scatter", "all_reduce",
                                           "all_to_all"};
    int n = 0;
    for (int p = 2; p <= MOST_RANKS; p *= 2) {
        state s = {.ranks = p};
        for (kind k = 0; k < KINDS; k++)
            for (int i = 0; i < 3; i++) {
                int64_t count = sizes[i] / 4;
                row *r = &s.row[s.nrow++];
                *r = (row){k, {count, 1, 1}, &ret[n]};
                if (k == SWAP) *r = (row){k, {p, p, count / p}, &ret[n]};
                ret[n++] = (bench_move){.op = ops[k], .ranks = p, .bytes = sizes[i]};
            }
        mw_status status = launch(&s);
        if (status != MW_OK) return status;
    }
    return MW_OK;
}

mw_status bench_reshard_run(bench_move ret[BENCH_RESHARD])
{
    static const int64_t sides[] = {64, 512, 2048, 4096};
    static const struct {
        kind kind;
        const char *from, *to;
    } pairs[] = {
        {SWAP, "S(0)", "S(1)"}, {GATHER, "S(0)", "R"}, {REDUCE, "P", "R"}, {SCATTER, "P", "S(0)"}};
    state s = {.ranks = 2};
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++)
        for (int i = 0; i < 4; i++) {
            bench_move *to = &ret[s.nrow];
            s.row[s.nrow++] = (row){pairs[k].kind, {sides[i], sides[i], 1}, to};
            *to = (bench_move){.from = pairs[k].from,
                               .to = pairs[k].to,
                               .ranks = 2,
                               .bytes = sides[i] * sides[i] * 4};
        }
    return launch(&s);
}
