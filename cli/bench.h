/* What the parts of `meshwise bench` share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"

/* The median of n numbers, which are sorted on the way. n >= 1. */
double bench_median(double *values, int n);

/* ---- dispatch: what a cached call costs on top of its kernel ---- */

enum { BENCH_OPS = 4, BENCH_AXES = 3 };

typedef struct bench_dispatch {
    struct {
        const char *op;
        double call_us, kernel_us, cached_us; /* medians; cached_us: of the differences */
    } op[BENCH_OPS];
    double cached_us;           /* of the op where it is largest */
    int64_t allocations;        /* requests for memory in all measured calls */
    double miss_us[BENCH_AXES]; /* mm, its layouts decided anew, on meshes of 1, 2, 3 axes */
} bench_dispatch;

MW_NODISCARD mw_status bench_dispatch_run(bench_dispatch *ret);
MW_NODISCARD mw_status bench_miss_run(double ret_us[BENCH_AXES]);

/* ---- compiled: what a program costs on top of its kernels ---- */

enum { BENCH_FUSED_OPS = 6, BENCH_FUSED_MB = 16 };

typedef struct bench_compiled {
    double step_us;       /* a call of a program without ops */
    double node_us;       /* a node, on top of its kernel */
    double eager_node_us; /* the same op called op by op, on top of its kernel */
    double fused_ratio;   /* time op by op over time as one loop, of BENCH_FUSED_OPS ops */
    int64_t allocations;  /* in all measured calls of programs */
} bench_compiled;

MW_NODISCARD mw_status bench_compiled_run(bench_compiled *ret);

/* ---- plan: what a pair of layouts costs that was never planned before ---- */

typedef struct bench_plan {
    int pairs;
    double pair_us, pair_us_most;       /* with the exchange: the median pair, the slowest */
    double classic_ms, classic_ms_most; /* with classic steps alone */
} bench_plan;

MW_NODISCARD mw_status bench_plan_run(bench_plan *ret);

/* ---- comm, reshard: what moving data costs, against the traffic it makes ---- */

enum { BENCH_COMM = 24, BENCH_RESHARD = 16 };

typedef struct bench_move {
    const char *op, *from, *to; /* the collective; the placements */
    int ranks;
    int64_t bytes; /* what a rank gathers, sends to a reduction or exchanges; reshard: the tensor */
    double seconds, bound_seconds; /* medians over the rounds, each the slowest rank's */
    double least_seconds, least_bound_seconds;
} bench_move;

MW_NODISCARD mw_status bench_comm_run(bench_move ret[BENCH_COMM]);
MW_NODISCARD mw_status bench_reshard_run(bench_move ret[BENCH_RESHARD]);

/* ---- bandwidth: bytes read and written a second, by all threads together ---- */

enum { BENCH_THREADS = 2 };

typedef struct bench_bandwidth {
    int rows;
    struct {
        int threads;
        double read_gbps, memcpy_gbps, add_gbps;
    } row[BENCH_THREADS];
} bench_bandwidth;

MW_NODISCARD mw_status bench_bandwidth_run(bench_bandwidth *ret);

/* ---- decode: tokens per second, against the time to read the weights ---- */

enum { BENCH_MESHES = 3 };

typedef struct bench_decode {
    struct {
        int ranks;
        double tokens_per_second;
        double read_gbps;        /* of all its threads together; 0 where not measured */
        double percent_of_bound; /* below 0 where there are more ranks than cores */
        double compiled_ratio;   /* speed of the compiled program over that op by op, in turns */
    } row[BENCH_MESHES];
} bench_decode;

/* Measures the model at `path`. On failure the error is reported: returns an exit code, else -1. */
int bench_decode_run(const cli_args *args, const char *path, bench_decode *ret);

/* ---- prefill: tokens of a prompt per second, against the matmuls alone ---- */

typedef struct bench_prefill {
    struct {
        int ranks;
        double tokens_per_second, percent_of_matmul;
    } row[BENCH_MESHES];
} bench_prefill;

/* As bench_decode_run. */
int bench_prefill_run(const cli_args *args, const char *path, bench_prefill *ret);

/* ---- what the bounds are made of ---- */

/* Keeps this rank's thread on a core of its own: a scheduler that has put two ranks on one core
 * would be measured instead of what they do. Does nothing where cores are fewer than ranks, or for
 * a rank alone, which runs on the caller's thread. */
void bench_pin(void);

/* Reads `size` bytes from `at` once, as fast as one thread can; returns a number that depends on
 * all of them, so that no compiler leaves the reading out. size: a multiple of 64. */
uint64_t bench_read(const void *at, int64_t size);

/* to = from, and to = from[0] + from[1] + ... (f32), as fast as one thread can; `stream`: past the
 * caches. bytes: a multiple of 64; memory aligned to 64. */
void bench_copy(void *to, const void *from, int64_t bytes, bool stream);
void bench_add(void *to, const void *const *from, int count, int64_t bytes, bool stream);

#endif
