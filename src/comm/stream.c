/* Copies and sums that go past the caches. A result larger than they are is gone from them before
 * anybody reads it; stores that bypass them spare reading every line of it first, about a third of
 * the traffic of a copy. x86 with AVX2; elsewhere these are plain copies and sums.
 *
 * Such stores are not ordered with others: mw__stream_done must come before anything that tells
 * another thread of the result. */
#include "comm/backend.h"

enum { LINE = 64 };

#if defined(__x86_64__)
#include <immintrin.h>

/* Bytes until `at` begins a line. */
static int64_t to_line(const void *at)
{
    return (int64_t)(-(uintptr_t)at & (LINE - 1));
}

__attribute__((target("avx2"))) static void copy_lines(char *to, const char *from, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += LINE) {
        __m256i a = _mm256_loadu_si256((const void *)(from + at));
        __m256i b = _mm256_loadu_si256((const void *)(from + at + 32));
        _mm256_stream_si256((void *)(to + at), a);
        _mm256_stream_si256((void *)(to + at + 32), b);
    }
}

/* Several rows side by side: a row is too short for the machine to foresee the next one, which may
 * lie anywhere, so that a row at a time waits for memory at each beginning; measured on rows of
 * 8 KiB, four at a time take half as long and as long as one copy without gaps. `more`: as many
 * rows follow. */
enum { ROWS = 4 };

__attribute__((target("avx2"))) static void copy_lines_of_rows(char *to, int64_t to_step,
                                                               const char *from, int64_t from_step,
                                                               int64_t bytes, bool more)
{
    int64_t ahead = more ? ROWS * from_step : 0;
    for (int64_t at = 0; at < bytes; at += LINE)
        for (int k = 0; k < ROWS; k++) {
            const char *f = from + k * from_step + at;
            char *t = to + k * to_step + at;
            _mm_prefetch(f + ahead, _MM_HINT_T0);
            __m256i a = _mm256_loadu_si256((const void *)f);
            __m256i b = _mm256_loadu_si256((const void *)(f + 32));
            _mm256_stream_si256((void *)t, a);
            _mm256_stream_si256((void *)(t + 32), b);
        }
}

/* `from` of the rows begin at the same element as `to`. */
__attribute__((target("avx2"))) static void sum_lines(float *to, const void *const *from, int count,
                                                      int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i += LINE / 4) {
        const float *at = (const float *)from[0] + i;
        __m256 a = _mm256_loadu_ps(at), b = _mm256_loadu_ps(at + 8);
        for (int k = 1; k < count; k++) {
            at = (const float *)from[k] + i;
            a = _mm256_add_ps(a, _mm256_loadu_ps(at));
            b = _mm256_add_ps(b, _mm256_loadu_ps(at + 8));
        }
        _mm256_stream_ps(to + i, a);
        _mm256_stream_ps(to + i + 8, b);
    }
}

static bool can_stream(void)
{
    return __builtin_cpu_supports("avx2");
}

void mw__stream_done(void)
{
    _mm_sfence();
}
#else
void mw__stream_done(void)
{
}
#endif

static void stream_row(char *to, const char *from, int64_t bytes)
{
#if defined(__x86_64__)
    int64_t head = to_line(to), lines = (bytes - head) / LINE * LINE;
    if (lines > 0 && can_stream()) {
        memcpy(to, from, (size_t)head);
        copy_lines(to + head, from + head, lines);
        memcpy(to + head + lines, from + head + lines, (size_t)(bytes - head - lines));
        return;
    }
#endif
    memcpy(to, from, (size_t)bytes);
}

void mw__stream_copy_rows(char *to, int64_t to_step, const char *from, int64_t from_step,
                          int64_t bytes, int64_t rows)
{
    int64_t r = 0;
#if defined(__x86_64__)
    int64_t head = to_line(to), lines = (bytes - head) / LINE * LINE;
    if (to_step % LINE == 0 && lines > 0 && can_stream())
        for (; r + ROWS <= rows; r += ROWS) {
            char *t = to + r * to_step;
            const char *f = from + r * from_step;
            copy_lines_of_rows(t + head, to_step, f + head, from_step, lines, r + 2 * ROWS <= rows);
            for (int k = 0; k < ROWS; k++, t += to_step, f += from_step) {
                memcpy(t, f, (size_t)head);
                memcpy(t + head + lines, f + head + lines, (size_t)(bytes - head - lines));
            }
        }
#endif
    for (; r < rows; r++)
        stream_row(to + r * to_step, from + r * from_step, bytes);
}

/* Sums of elements [first, end), in the order of the rows. */
static void sum_some(float *to, const void *const *from, int count, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        float sum = ((const float *)from[0])[i];
        for (int k = 1; k < count; k++)
            sum += ((const float *)from[k])[i];
        to[i] = sum;
    }
}

void mw__stream_sum_f32(float *to, const void *const *from, int count, int64_t n)
{
    int64_t done = 0;
#if defined(__x86_64__)
    int64_t head = to_line(to) / 4, end = head + (n - head) / (LINE / 4) * (LINE / 4);
    if (end > head && can_stream()) {
        sum_some(to, from, count, 0, head);
        sum_lines(to, from, count, head, end);
        done = end;
    }
#endif
    sum_some(to, from, count, done, n);
}
