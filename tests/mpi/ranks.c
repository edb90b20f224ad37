/* ranks MODE [SEED]: one rank of a world that a launcher has started; tests/mpi/run starts it.
 *
 *     transfers   random transfers between random teams, then the same between threads: same bits
 *     layouts     random redistributions on meshes of that many ranks, then the same on threads
 *     compiled    a program whose sums are under way while it computes: the bits of op by op
 *     others      ways to fail; every rank prints the error that it gets and exits as the program
 * does */
#include "unit/layout_random.h"

#include "comm/comm.h"

#include <meshwise/graph.h>
#include <meshwise/meshwise.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 16, ROUNDS = 150, LAYOUTS = 60, BUFFER = 1 << 15, MOST_PULLS = 64 };

static _Noreturn void give_up(const char *what)
{
    const mw_error *e = mw_last_error();
    (void)fprintf(stderr, "ranks: %s: %s\n", what, e->says);
    if (e->hint[0]) (void)fprintf(stderr, "  hint: %s\n", e->hint);
    exit(e->code ? mw_status_exit(e->code) : 1);
}

/* ---- transfers ----------------------------------------------------------------------------- */

static const mw_dtype dtypes[] = {MW_DTYPE_f32, MW_DTYPE_f64, MW_DTYPE_bf16, MW_DTYPE_i32,
                                  MW_DTYPE_u8};

/* What one rank pulls in one transfer. */
typedef struct pulls {
    mw_pull at[MOST_PULLS];
    int n;
    int64_t used; /* of its target */
} pulls;

/* A random box out of a buffer of BUFFER elements; some are large enough to need a body. Its own
 * strides are those of a part of a bigger box, or gapless. */
static mw_pull random_box(uint64_t *seed, int64_t *ret_span)
{
    mw_pull box = {.ndim = (uint8_t)(1 + naive_below(seed, 3))};
    int64_t from = 1, to = 1;
    bool large = naive_below(seed, 6) == 0;
    for (int d = box.ndim - 1; d >= 0; d--) {
        box.size[d] = naive_below(seed, large ? 18 : 6);
        if (large && box.ndim == 1) box.size[d] = naive_below(seed, 9000);
        box.from_stride[d] = from;
        box.to_stride[d] = to;
        from *= MW_MAX(box.size[d], 1) + (naive_below(seed, 3) ? 0 : 1);
        to *= MW_MAX(box.size[d], 1) + (naive_below(seed, 3) ? 0 : 1);
    }
    box.from = naive_below(seed, (int)(BUFFER - from));
    *ret_span = to;
    return box;
}

/* Boxes that are stored, or combined from several members. */
static void draw_pulls(uint64_t *seed, const int *team, int n, pulls *ret)
{
    ret->n = 0;
    ret->used = 0;
    for (int group = naive_below(seed, 6); group > 0; group--) {
        int64_t span;
        mw_pull box = random_box(seed, &span);
        mw_reduce kind = (mw_reduce)(1 + naive_below(seed, MW_REDUCE_END - 1));
        int terms = naive_below(seed, 2) ? n : 1, first = naive_below(seed, n);
        if (ret->used + span > BUFFER) return;
        box.to = ret->used;
        ret->used += span;
        for (int i = 0; i < terms && ret->n < MOST_PULLS; i++) {
            box.peer = team[(first + i) % n];
            box.reduce = (uint8_t)(i ? kind : MW_REDUCE_NONE);
            ret->at[ret->n++] = box;
        }
    }
}

static void fill(void *at, mw_dtype dtype, uint64_t seed)
{
    for (int64_t i = 0; i < BUFFER; i++) {
        double value = (double)(naive_random(&seed) >> 40) / 4096.0 - 2000;
        mw__element_set((char *)at + i * mw_dtype_size(dtype), dtype,
                        dtype == MW_DTYPE_u8 ? (double)(i % 251) : value);
    }
}

typedef struct player {
    mw_comm *comm;
    int rank, nrank;
    uint64_t seed;
    uint64_t result[ROUNDS]; /* hash of what came; 0: not in the team */
    mw_status status;
} player;

static mw_status play_round(player *p, uint64_t *common, int round, char *from, char *to)
{
    static _Thread_local pulls all[MOST_RANKS];
    static _Thread_local mw_pull serve[MOST_PULLS * MOST_RANKS];
    int team[MOST_RANKS], n = 0, me = -1, nserve = 0, nreader = 0;
    mw_dtype dtype = dtypes[naive_below(common, MW_COUNT(dtypes))];
    for (int r = 0; r < p->nrank; r++)
        if (naive_below(common, 4) || (n == 0 && r + 1 == p->nrank)) team[n++] = r;
    for (int i = 0; i < n; i++) {
        draw_pulls(common, team, n, &all[i]);
        if (team[i] == p->rank) me = i;
    }
    if (me < 0) return MW_OK;
    for (int i = 0; i < n; i++) {
        int before = nserve;
        for (int k = 0; k < all[i].n && i != me; k++)
            if (all[i].at[k].peer == p->rank) {
                serve[nserve] = all[i].at[k];
                serve[nserve++].peer = team[i];
            }
        nreader += nserve > before;
    }
    fill(from, dtype, p->seed + (uint64_t)(round * 1000 + p->rank));
    memset(to, 0, BUFFER * 8);
    mw_transfer t = {.what = "a random transfer",
                     .hash = (uint64_t)round,
                     .dtype = dtype,
                     .from = from,
                     .to = to,
                     .pull = all[me].at,
                     .npull = all[me].n,
                     .serve = serve,
                     .nserve = nserve,
                     .nreader = nreader};
    MW_TRY(mw__comm_team(p->comm, team, n, &t.team));
    MW_TRY(mw__comm_transfer(p->comm, &t));
    p->result[round] = mw__hash(1, to, BUFFER * 8) | 1;
    return MW_OK;
}

static void *play(void *user)
{
    player *p = user;
    uint64_t common = p->seed;
    char *from = mw__alloc(BUFFER * 8), *to = mw__alloc(BUFFER * 8);
    if (!from || !to) exit(1);
    for (int round = 0; round < ROUNDS && p->status == MW_OK; round++)
        p->status = play_round(p, &common, round, from, to);
    if (p->status != MW_OK) give_up("a transfer");
    mw__comm_leave(p->comm);
    mw__free(from, BUFFER * 8);
    mw__free(to, BUFFER * 8);
    return NULL;
}

static int compare(const player *mpi, const player *threads)
{
    for (int i = 0; i < ROUNDS; i++)
        if (mpi->result[i] != threads->result[i]) {
            (void)fprintf(stderr, "ranks: seed %llu: transfer %d differs on rank %d\n",
                          (unsigned long long)mpi->seed, i, mpi->rank);
            return 1;
        }
    return 0;
}

static int transfers(mw_comm *comm, uint64_t seed)
{
    static player mpi, threads[MOST_RANKS];
    mw_comm *ends[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    int n = mw__comm_ranks(comm), rank = mw__comm_rank(comm);
    mpi = (player){.comm = comm, .rank = rank, .nrank = n, .seed = seed};
    (void)play(&mpi);
    if (mw__comm_finish(comm) != MW_OK) give_up("the end");
    mw__comm_world_free(comm);
    if (mw__comm_threads_new(n, NULL, ends) != MW_OK) give_up("threads");
    for (int r = 0; r < n; r++) {
        threads[r] = (player){.comm = ends[r], .rank = r, .nrank = n, .seed = seed};
        if (pthread_create(&thread[r], NULL, play, &threads[r]) != 0) exit(1);
    }
    for (int r = 0; r < n; r++)
        (void)pthread_join(thread[r], NULL);
    mw__comm_world_free(ends[0]);
    return compare(&mpi, &threads[rank]);
}

/* ---- layouts ------------------------------------------------------------------------------- */

typedef struct moves {
    uint64_t seed;
    int made; /* results written */
    uint64_t result[MOST_RANKS][LAYOUTS];
} moves;

static const mw_reduce kinds[] = {MW_REDUCE_SUM, MW_REDUCE_MAX, MW_REDUCE_AVG, MW_REDUCE_PROD};

static mw_status move_one(uint64_t *seed, uint64_t *ret)
{
    static const mw_dtype of[] = {MW_DTYPE_f32, MW_DTYPE_bf16, MW_DTYPE_f64};
    mw_mesh *mesh = mw_mesh_world();
    int64_t shape[MW_LAYOUT_DIMS], count;
    int ndim = random_shape(seed, shape);
    mw_dtype dtype = of[naive_below(seed, MW_COUNT(of))];
    uint32_t axes = (1U << mw_mesh_axes(mesh)) - 1;
    if (naive_below(seed, 6) == 0) shape[0] *= 900; /* beyond what goes with a head */
    mw_layout from = random_layout(mesh, seed, dtype, ndim, shape, axes, naive_below(seed, 2));
    mw_layout to = random_layout(mesh, seed, dtype, ndim, shape, axes, naive_below(seed, 2));
    random_partials(mesh, seed, &from, kinds[naive_below(seed, MW_COUNT(kinds))], axes);
    mw_tensor *t = mw_empty_layout(NULL, &from);
    void *data;
    if (!t) return mw_last_error()->code;
    MW_TRY(mw_local_data(t, &data, &count));
    int64_t size = mw_tensor_local_bytes(t) / MW_MAX(count, 1);
    uint64_t own = *seed + (uint64_t)(from.npartial ? mw_rank_index() : 0);
    mw_dtype held = size == 8 ? MW_DTYPE_f64 : size == 4 ? MW_DTYPE_f32 : MW_DTYPE_bf16;
    for (int64_t i = 0; i < count; i++)
        mw__element_set((char *)data + i * size, held,
                        (double)(naive_random(&own) >> 40) / 4096.0 - 2000);
    if (!mw_mark_layout(t, NULL, &to)) return mw_last_error()->code;
    MW_TRY(mw_local_data(t, &data, &count));
    *ret = mw__hash((uint64_t)count, data, (size_t)mw_tensor_local_bytes(t));
    return MW_OK;
}

static mw_status move_all(void *user)
{
    moves *m = user;
    uint64_t seed = m->seed;
    mw_status status = MW_OK;
    for (int i = 0; i < LAYOUTS && status == MW_OK; i++) {
        mw_scope_begin("move");
        status = move_one(&seed, &m->result[mw_rank_index()][i]);
        (void)mw_scope_end(NULL);
    }
    return status;
}

/* Every mesh of the list that has as many ranks; several launches of one process, too. */
static int layouts(int rank, int ranks, uint64_t seed)
{
    static moves mpi, threads;
    int tried = 0;
    for (int i = 0; i < MW_COUNT(random_meshes); i++) {
        mw_mesh *mesh;
        if (mw_mesh_parse(random_meshes[i], &mesh) != MW_OK) give_up("a mesh");
        bool fits = mw_mesh_ranks(mesh) == ranks;
        mw_mesh_unref(mesh);
        if (!fits) continue;
        mw_launch_options options = {.mesh = random_meshes[i], .backend = "mpi"};
        mpi.seed = threads.seed = seed;
        if (mw_launch(&options, move_all, &mpi) != MW_OK) give_up("a launch on mpi");
        options.backend = "threads";
        if (mw_launch(&options, move_all, &threads) != MW_OK) give_up("a launch on threads");
        tried++;
        for (int k = 0; k < LAYOUTS; k++)
            if (mpi.result[rank][k] != threads.result[rank][k]) {
                (void)fprintf(stderr, "ranks: seed %llu, mesh %s: move %d differs on rank %d\n",
                              (unsigned long long)seed, random_meshes[i], k, rank);
                return 1;
            }
    }
    if (tried == 0) (void)fprintf(stderr, "ranks: no mesh of %d ranks to try\n", ranks);
    return tried == 0;
}

/* ---- ways to fail -------------------------------------------------------------------------- */

static mw_status pass(mw_comm *comm, mw_team *team, const char *what, uint64_t hash, int64_t n)
{
    int ranks = mw__team_size(team), me = mw__comm_rank(comm);
    mw_pull pull[MOST_RANKS], serve[MOST_RANKS];
    float *from = mw__zalloc((size_t)n * sizeof *from),
          *to = mw__zalloc((size_t)n * 4 * MOST_RANKS);
    int nserve = 0;
    for (int i = 0; i < ranks; i++) {
        pull[i] = (mw_pull){.peer = mw__team_rank(team, i), .ndim = 1, .to = i * n, .size = {n}};
        pull[i].from_stride[0] = pull[i].to_stride[0] = 1;
        if (pull[i].peer != me) serve[nserve++] = pull[i];
    }
    const mw_transfer t = {.what = what,
                           .hash = hash,
                           .team = team,
                           .dtype = MW_DTYPE_f32,
                           .from = from,
                           .to = to,
                           .pull = pull,
                           .npull = ranks,
                           .serve = serve,
                           .nserve = nserve,
                           .nreader = ranks - 1};
    mw_status status;
    if (n % 3) { /* in halves */
        status = mw__comm_begin(comm, &t);
        if (status == MW_OK) status = mw__comm_end(comm, &t);
    } else {
        status = mw__comm_transfer(comm, &t);
    }
    mw__free(from, (size_t)n * sizeof *from);
    mw__free(to, (size_t)n * 4 * MOST_RANKS);
    return status;
}

static mw_status fail(mw_comm *comm, const char *mode)
{
    int rank = mw__comm_rank(comm), n = mw__comm_ranks(comm), all[MOST_RANKS];
    mw_team *team;
    for (int r = 0; r < n; r++)
        all[r] = r;
    MW_TRY(mw__comm_team(comm, all, n, &team));
    MW_TRY(pass(comm, team, "the beginning", 1, 5));
    bool odd = rank == 1;
    if (strcmp(mode, "disagree") == 0)
        return pass(comm, team, odd ? "a scatter" : "a gather", odd ? 2 : 3, 5);
    if (strcmp(mode, "sizes") == 0) return pass(comm, team, "a gather", 3, odd ? 90000 : 50000);
    if (strcmp(mode, "order") == 0) {
        MW_TRY(pass(comm, team, odd ? "the second" : "the first", odd ? 5 : 4, 90000));
        return pass(comm, team, odd ? "the first" : "the second", odd ? 4 : 5, 90000);
    }
    if (strcmp(mode, "ended") == 0) return odd ? MW_OK : pass(comm, team, "a gather", 3, 5);
    if (strcmp(mode, "alone") == 0) {
        if (odd) return MW_FAIL(MW_ERR_IO, "the disk of rank 1 is full");
        return pass(comm, team, "a gather", 3, 5);
    }
    if (strcmp(mode, "late") == 0) { /* the others have ended well when rank 1 fails */
        if (odd) return MW_FAIL(MW_ERR_IO, "the disk of rank 1 is full");
        return MW_OK;
    }
    if (strcmp(mode, "stopped") == 0 && odd) (void)raise(SIGSTOP);
    if (strcmp(mode, "died") == 0 && odd) (void)raise(SIGKILL);
    return pass(comm, team, "a gather", 3, 5);
}

static volatile sig_atomic_t told;

static void note(int number)
{
    (void)number;
    told = 1;
}

static int failures(const char *mode, double timeout)
{
    mw_comm *comm;
    const mw_comm_options options = {.timeout = timeout, .interrupt = &told};
    (void)signal(SIGTERM, note);
    if (mw__comm_mpi_new(NULL, &options, &comm) != MW_OK) give_up("the start");
    mw_status status = fail(comm, mode);
    if (status != MW_OK) mw__comm_fail(comm, mw_last_error());
    mw__comm_leave(comm);
    if (status == MW_OK) status = mw__comm_finish(comm);
    int rank = mw__comm_rank(comm);
    mw__comm_world_free(comm);
    if (status == MW_OK) return 0;
    (void)fprintf(stderr, "on rank %d: %s: %s\n", rank, mw_status_name(status),
                  mw_last_error()->says);
    return mw_status_exit(MW_ERR_COMM);
}

/* ---- compiled programs --------------------------------------------------------------------- */

enum { N = 40, SUMS = 3 };

static mw_status sums(void *user, mw_tensor *const *in, mw_tensor **out)
{
    (void)user;
    for (int k = 0; k < SUMS; k++) {
        out[k] = mw_mm(mw_transpose_int(in[k], 0, 1), in[k + 1]);
        (void)mw_mark_sharding(out[k], NULL, "replicated");
        if (k) out[k] = mw_add(out[k], mw_relu(out[k - 1]), 1);
    }
    return out[SUMS - 1] ? MW_OK : mw_last_error()->code;
}

static mw_status compile_sums(void *user)
{
    static float data[20 * N * N], one[N * N], two[N * N];
    const int64_t shape[2] = {20 * N, N};
    mw_tensor *in[SUMS + 1], *plain[SUMS], *out[SUMS];
    mw_compiled *c;
    (void)user;
    for (int k = 0; k <= SUMS; k++) {
        for (int i = 0; i < 20 * N * N; i++)
            data[i] = (float)(i * (7 + k) % 13 - 6);
        in[k] = mw_from_data(MW_DTYPE_f32, shape, 2, data, NULL, "[800@x, 40]");
    }
    MW_TRY(mw_compile("sums", sums, NULL, SUMS + 1, SUMS, &c));
    mw_status status = sums(NULL, in, plain);
    for (int round = 0; round < 100 && status == MW_OK; round++) {
        mw_scope_begin("round");
        status = mw_compiled_call(c, in, out);
        for (int k = 0; k < SUMS && status == MW_OK; k++) {
            status = mw_read(plain[k], MW_DTYPE_f32, one, sizeof one);
            if (status == MW_OK) status = mw_read(out[k], MW_DTYPE_f32, two, sizeof two);
            if (status == MW_OK && memcmp(one, two, sizeof one) != 0)
                status = MW_FAIL(MW_ERR_INTERNAL, "round %d: sum %d differs", round, k);
        }
        (void)mw_scope_end(NULL);
    }
    if (status == MW_OK && mw_compiled_facts_get(c).halves < 1)
        status = MW_FAIL(MW_ERR_INTERNAL, "nothing runs meanwhile");
    mw_compiled_free(c);
    return status;
}

static int compiled(int ranks)
{
    char mesh[16];
    (void)snprintf(mesh, sizeof mesh, "x=%d", ranks);
    const mw_launch_options options = {.mesh = mesh, .backend = "mpi"};
    if (mw_launch(&options, compile_sums, NULL) != MW_OK) give_up("compiled");
    return 0;
}

/* ---- starting ------------------------------------------------------------------------------ */

static mw_status nothing(void *user)
{
    (void)user;
    return MW_OK;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 20240915;
    int rank, ranks;
    if (mw_world_find("mpi", NULL, &rank, &ranks) != MW_OK) give_up("joining");
    if (ranks > MOST_RANKS) return 2;
    if (rank == 0)
        (void)fprintf(stderr, "ranks: %s on %d ranks, seed %llu\n", mode, ranks,
                      (unsigned long long)seed);
    if (strcmp(mode, "compiled") == 0) return compiled(ranks);
    if (strcmp(mode, "layouts") == 0) return layouts(rank, ranks, seed);
    if (strcmp(mode, "meshes") == 0) {
        const mw_launch_options options = {.mesh = rank == 1 ? "x=2,y=2" : "x=4", .backend = "mpi"};
        mw_status status = mw_launch(&options, nothing, NULL);
        if (status != MW_OK)
            (void)fprintf(stderr, "on rank %d: %s: %s\n", rank, mw_status_name(status),
                          mw_last_error()->says);
        return mw_status_exit(status);
    }
    if (strcmp(mode, "transfers") != 0) return failures(mode, 2);
    mw_comm *comm;
    if (mw__comm_mpi_new(NULL, NULL, &comm) != MW_OK) give_up("the start");
    return transfers(comm, seed);
}
