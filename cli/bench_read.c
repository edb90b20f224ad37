/* Reading memory as fast as one thread can: the bound that decoding is measured against. Sums of
 * 64-bit words in several chains, so that neither the additions nor one load at a time is what it
 * waits for. Compiled for the widest vectors that this machine has: wider loads read no faster from
 * memory on most machines, but the bound must not be an easy one. */
#include "cli/bench.h"

typedef uint64_t words __attribute__((vector_size(64), aligned(64)));

static inline uint64_t read_all(const void *at, int64_t size)
{
    const words *from = at;
    words sum[4] = {{0}};
    int64_t n = size / (int64_t)sizeof(words), i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += from[i + k];
    for (; i < n; i++)
        sum[0] += from[i];
    words all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    uint64_t total = 0;
    for (int k = 0; k < 8; k++)
        total += all[k];
    return total;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const void *at, int64_t size)
{
    return read_all(at, size);
}
#endif

uint64_t bench_read(const void *at, int64_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return read_avx2(at, size);
#endif
    return read_all(at, size);
}
