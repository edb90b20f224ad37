/* Reading, copying and adding memory as fast as one thread can: the bounds that others are measured
 * against. Reading sums 64-bit words in several chains, so that neither the additions nor one load
 * at a time is what it waits for. Everything is compiled for the widest vectors that this machine
 * has: wider loads read no faster from memory on most machines, but the bound must not be an easy
 * one. Copies and sums can go past the caches, which pays where the result is larger than they are;
 * who measures tries both. */
#include "cli/bench.h"

#include <sched.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint64_t words __attribute__((vector_size(64), aligned(64)));
typedef float floats __attribute__((vector_size(32), aligned(32)));

static inline __attribute__((always_inline)) uint64_t read_all(const void *at, int64_t size)
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

static inline __attribute__((always_inline)) void add_all(void *to, const void *const *from,
                                                          int count, int64_t bytes)
{
    floats *sum = to;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof(floats); i++) {
        floats s = ((const floats *)from[0])[i];
        for (int k = 1; k < count; k++)
            s += ((const floats *)from[k])[i];
        sum[i] = s;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const void *at, int64_t size)
{
    return read_all(at, size);
}

__attribute__((target("avx2"))) static void add_avx2(void *to, const void *const *from, int count,
                                                     int64_t bytes)
{
    if (count == 2)
        add_all(to, from, 2, bytes);
    else
        add_all(to, from, count, bytes);
}

__attribute__((target("avx2"))) static void add_past(void *to, const void *const *from, int count,
                                                     int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += 32) {
        __m256 sum = _mm256_load_ps((const float *)((const char *)from[0] + at));
        for (int k = 1; k < count; k++)
            sum = _mm256_add_ps(sum, _mm256_load_ps((const float *)((const char *)from[k] + at)));
        _mm256_stream_ps((float *)((char *)to + at), sum);
    }
    _mm_sfence();
}

__attribute__((target("avx2"))) static void copy_past(void *to, const void *from, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += 64) {
        __m256i a = _mm256_load_si256((const void *)((const char *)from + at));
        __m256i b = _mm256_load_si256((const void *)((const char *)from + at + 32));
        _mm256_stream_si256((void *)((char *)to + at), a);
        _mm256_stream_si256((void *)((char *)to + at + 32), b);
    }
    _mm_sfence();
}
#endif

void bench_pin(void)
{
    cpu_set_t may, one;
    int ranks = mw_mesh_ranks(mw_mesh_world());
    if (ranks < 2 || sched_getaffinity(0, sizeof may, &may) != 0 || ranks > CPU_COUNT(&may)) return;
    int left = mw_rank_index();
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &may) || left-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

uint64_t bench_read(const void *at, int64_t size)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return read_avx2(at, size);
#endif
    return read_all(at, size);
}

void bench_copy(void *to, const void *from, int64_t bytes, bool stream)
{
#if defined(__x86_64__)
    if (stream && __builtin_cpu_supports("avx2")) {
        copy_past(to, from, bytes);
        return;
    }
#endif
    (void)stream;
    memcpy(to, from, (size_t)bytes);
}

void bench_add(void *to, const void *const *from, int count, int64_t bytes, bool stream)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        (stream ? add_past : add_avx2)(to, from, count, bytes);
        return;
    }
#endif
    (void)stream;
    add_all(to, from, count, bytes);
}
