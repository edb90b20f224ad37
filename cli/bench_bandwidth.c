/* How fast memory is read, copied and added by 1 and by 2 threads, each on buffers of its own that
 * no cache holds. Bytes read and written both count. */
#include "cli/bench.h"
#include "cli/session.h"

#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 7, BUFFERS = 3, BYTES = 64 << 20 };

typedef enum work { READ, COPY, COPY_PAST, ADD, ADD_PAST, WORKS } work;

typedef struct state {
    int threads;
    uint64_t seen[BENCH_THREADS];
    double seconds[BENCH_THREADS]; /* of a round, by rank */
    double sample[WORKS][ROUNDS];
} state;

static mw_status make_buffer(void **ret)
{
    const int64_t shape = BYTES / 4;
    int64_t count;
    mw_layout layout = mw_layout_replicated(MW_DTYPE_f32, 1, &shape);
    mw_tensor *buffer = mw_empty_layout(NULL, &layout);
    if (!buffer) return mw_last_error()->code;
    mw_status status = mw_local_data(buffer, ret, &count);
    for (int64_t i = 0; status == MW_OK && i < count; i++)
        ((float *)*ret)[i] = 1;
    return status;
}

static mw_status measure(state *s, void *const *buffer, work w, int round)
{
    const void *terms[2] = {buffer[1], buffer[2]};
    int me = mw_rank_index();
    mw_status status = mw_barrier();
    double began = session_now();
    if (w == READ)
        s->seen[me] += bench_read(buffer[1], BYTES);
    else if (w == COPY || w == COPY_PAST)
        bench_copy(buffer[0], buffer[1], BYTES, w == COPY_PAST);
    else
        bench_add(buffer[0], terms, 2, BYTES, w == ADD_PAST);
    s->seconds[me] = session_now() - began;
    if (status == MW_OK) status = mw_barrier();
    if (me != 0 || round < 0) return status;
    double slowest = 0;
    for (int r = 0; r < s->threads; r++)
        if (s->seconds[r] > slowest) slowest = s->seconds[r];
    s->sample[w][round] = slowest;
    return status;
}

static mw_status program(void *user)
{
    state *s = user;
    void *buffer[BUFFERS];
    mw_status status = MW_OK;
    bench_pin();
    for (int i = 0; i < BUFFERS && status == MW_OK; i++)
        status = make_buffer(&buffer[i]);
    for (int round = -1; round < ROUNDS && status == MW_OK; round++)
        for (work w = READ; w < WORKS && status == MW_OK; w++)
            status = measure(s, buffer, w, round);
    return status;
}

mw_status bench_bandwidth_run(bench_bandwidth *ret)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ret->rows = 0;
    for (int threads = 1; threads <= BENCH_THREADS && threads <= cores; threads++) {
        state s = {.threads = threads};
        char mesh[16];
        (void)snprintf(mesh, sizeof mesh, "tp=%d", threads);
        const mw_launch_options options = {.mesh = mesh};
        mw_status status = mw_launch(&options, program, &s);
        if (status != MW_OK) return status;
        double gbps[WORKS];
        for (work w = READ; w < WORKS; w++) {
            double moved = w == READ ? 1 : w < ADD ? 2 : 3; /* times BYTES, by a thread */
            gbps[w] = moved * BYTES * threads / bench_median(s.sample[w], ROUNDS) * 1e-9;
        }
        int row = ret->rows++;
        ret->row[row].threads = threads;
        ret->row[row].read_gbps = gbps[READ];
        ret->row[row].memcpy_gbps = gbps[COPY] > gbps[COPY_PAST] ? gbps[COPY] : gbps[COPY_PAST];
        ret->row[row].add_gbps = gbps[ADD] > gbps[ADD_PAST] ? gbps[ADD] : gbps[ADD_PAST];
    }
    return MW_OK;
}
