/* What the parts of `meshwise bench` share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"

/* The median of n numbers, which are sorted on the way. n >= 1. */
double bench_median(double *values, int n);

/* ---- dispatch: what a cached call costs on top of its kernel ---- */

enum { BENCH_OPS = 4 };

typedef struct bench_dispatch {
    struct {
        const char *op;
        double call_us, kernel_us, cached_us; /* medians; cached_us: of the differences */
    } op[BENCH_OPS];
    double cached_us;    /* of the op where it is largest */
    int64_t allocations; /* requests for memory in all measured calls */
} bench_dispatch;

MW_NODISCARD mw_status bench_dispatch_run(bench_dispatch *ret);

/* ---- decode: tokens per second, against the time to read the weights ---- */

enum { BENCH_MESHES = 3 };

typedef struct bench_decode {
    struct {
        int ranks;
        double tokens_per_second;
        double read_gbps;        /* of all its threads together; 0 where not measured */
        double percent_of_bound; /* below 0 where there are more ranks than cores */
    } row[BENCH_MESHES];
} bench_decode;

/* Measures the model at `path`. On failure the error is reported: returns an exit code, else -1. */
int bench_decode_run(const cli_args *args, const char *path, bench_decode *ret);

/* Reads `size` bytes from `at` once, as fast as one thread can; returns a number that depends on
 * all of them, so that no compiler leaves the reading out. size: a multiple of 64. */
uint64_t bench_read(const void *at, int64_t size);

#endif
