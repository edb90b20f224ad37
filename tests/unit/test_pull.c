/* Pulls and row reductions against the plainest code that says the same: element by element. */
#include "comm/backend.h"

#include "comm_world.h"

#include <math.h>

enum { BYTES = 1 << 15 };

static const mw_dtype dtypes[] = {MW_DTYPE_bool, MW_DTYPE_u8,  MW_DTYPE_i8,  MW_DTYPE_i16,
                                  MW_DTYPE_i32,  MW_DTYPE_i64, MW_DTYPE_f16, MW_DTYPE_bf16,
                                  MW_DTYPE_f32,  MW_DTYPE_f64};

/* a (+) b as its definition says, in double or int64, then brought back to the dtype. */
static void combine_one(mw_reduce kind, mw_dtype dtype, void *to, const void *a, const void *b)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT) {
        double x = mw__element_get(a, dtype), y = mw__element_get(b, dtype);
        double z = kind == MW_REDUCE_PROD                           ? x * y
                   : kind == MW_REDUCE_SUM || kind == MW_REDUCE_AVG ? x + y
                   : isnan(x)                                       ? x
                   : isnan(y)                                       ? y
                   : kind == MW_REDUCE_MAX                          ? (x > y ? x : y)
                                                                    : (x < y ? x : y);
        mw__element_set(to, dtype, z);
        return;
    }
    int64_t x = mw__element_get_i64(a, dtype), y = mw__element_get_i64(b, dtype);
    int64_t z = kind == MW_REDUCE_PROD ? (int64_t)((uint64_t)x * (uint64_t)y)
                : kind == MW_REDUCE_SUM || kind == MW_REDUCE_AVG
                    ? (int64_t)((uint64_t)x + (uint64_t)y)
                : kind == MW_REDUCE_MAX ? (x > y ? x : y)
                                        : (x < y ? x : y);
    mw__element_set_i64(to, dtype, z);
}

/* Small whole numbers, exact in every dtype, now and then (for floats) a NaN, an infinity, -0. */
static void fill(void *to, mw_dtype dtype, int64_t n, uint64_t *seed)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
    char *at = to;
    for (int64_t i = 0; i < n; i++, at += mw_dtype_size(dtype)) {
        int value = random_below(seed, 9) - (dtype == MW_DTYPE_u8 ? 0 : 4);
        if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT && random_below(seed, 40) == 0)
            mw__element_set(at, dtype, odd[random_below(seed, 4)]);
        else if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT)
            mw__element_set(at, dtype, value + 1.0 / (1 + random_below(seed, 7)));
        else
            mw__element_set_i64(at, dtype, dtype == MW_DTYPE_bool ? value > 0 : value);
    }
}

/* Same bits, where any NaN is as good as another. */
static bool same(const void *a, const void *b, mw_dtype dtype)
{
    if (mw_dtype_kind_of(dtype) == MW_KIND_FLOAT && isnan(mw__element_get(a, dtype)))
        return isnan(mw__element_get(b, dtype));
    return memcmp(a, b, (size_t)mw_dtype_size(dtype)) == 0;
}

static void assert_same(const void *got, const void *want, mw_dtype dtype, int64_t n,
                        const char *what)
{
    int64_t size = mw_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        const char *g = (const char *)got + i * size, *w = (const char *)want + i * size;
        if (!same(g, w, dtype))
            fail_msg("%s %s: element %lld is %g, should be %g", what, mw_dtype_name(dtype),
                     (long long)i, mw__element_get(g, dtype), mw__element_get(w, dtype));
    }
}

static void test_rows_reduce_in_the_order_given(void **state)
{
    (void)state;
    static uint64_t from[6][BYTES / 8], got[BYTES / 8], want[BYTES / 8];
    uint64_t seed = 11;
    for (int d = 0; d < MW_COUNT(dtypes); d++) {
        mw_dtype dtype = dtypes[d];
        int64_t size = mw_dtype_size(dtype);
        for (int kind = MW_REDUCE_SUM; kind < MW_REDUCE_END; kind++) {
            static const int64_t counts[] = {0, 1, 3, 16, 17, 100, BYTES / 8};
            for (int c = 0; c < MW_COUNT(counts); c++) {
                int64_t n = counts[c];
                int terms = 1 + random_below(&seed, 6);
                const void *rows[6];
                for (int t = 0; t < terms; t++) {
                    fill(from[t], dtype, n, &seed);
                    rows[t] = from[t];
                }
                memcpy(want, from[0], (size_t)(n * size));
                for (int t = 1; t < terms; t++)
                    for (int64_t i = 0; i < n; i++) {
                        char *w = (char *)want + i * size;
                        combine_one((mw_reduce)kind, dtype, w, w, (char *)from[t] + i * size);
                    }
                memset(got, 0x5a, sizeof got);
                mw__reduce_rows((mw_reduce)kind, dtype, got, rows, terms, n);
                assert_same(got, want, dtype, n, "reduce_rows");
                if (n * size < BYTES) assert_int_equal(((unsigned char *)got)[n * size], 0x5a);
            }
        }
    }
}

/* A random box inside two buffers of `room` elements each. */
static mw_pull random_box(uint64_t *seed, int64_t room)
{
    for (;;) {
        mw_pull p = {.ndim = (uint8_t)random_below(seed, 5)};
        int64_t from_end = 0, to_end = 0, from_step = 1, to_step = 1;
        for (int d = p.ndim - 1; d >= 0; d--) {
            p.size[d] = random_below(seed, 16) ? 1 + random_below(seed, 7) : 0;
            p.from_stride[d] = random_below(seed, 6) ? from_step : random_below(seed, 9);
            p.to_stride[d] = to_step;
            from_step = MW_MAX(from_step, p.from_stride[d] * MW_MAX(p.size[d], 1));
            to_step *= MW_MAX(p.size[d], 1) + (random_below(seed, 3) == 0); /* gaps now and then */
            if (d == p.ndim - 1 && random_below(seed, 3) == 0) p.to_stride[d] = 2, to_step *= 2;
            from_end += p.from_stride[d] * MW_MAX(p.size[d] - 1, 0);
            to_end += p.to_stride[d] * MW_MAX(p.size[d] - 1, 0);
        }
        if (from_end >= room || to_end >= room) continue;
        p.from = random_below(seed, (int)(room - from_end));
        p.to = random_below(seed, (int)(room - to_end));
        return p;
    }
}

static void pull_plainly(const mw_pull *p, mw_dtype dtype, const void *from, void *to)
{
    int64_t size = mw_dtype_size(dtype), count = 1;
    for (int d = 0; d < p->ndim; d++)
        count *= p->size[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t f = p->from, t = p->to, rest = i;
        for (int d = p->ndim - 1; d >= 0; d--) {
            f += rest % p->size[d] * p->from_stride[d];
            t += rest % p->size[d] * p->to_stride[d];
            rest /= p->size[d];
        }
        const char *source = (const char *)from + f * size;
        char *target = (char *)to + t * size;
        if (p->reduce == MW_REDUCE_NONE)
            memcpy(target, source, (size_t)size);
        else
            combine_one(p->reduce, dtype, target, target, source);
    }
}

static void test_pulls_equal_the_plain_loop(void **state)
{
    (void)state;
    static uint64_t from[BYTES / 8], got[BYTES / 8], want[BYTES / 8];
    uint64_t seed = 12;
    for (int round = 0; round < 4000; round++) {
        mw_dtype dtype = dtypes[random_below(&seed, MW_COUNT(dtypes))];
        int64_t room = 1000;
        mw_pull p = random_box(&seed, room);
        p.reduce = (uint8_t)random_below(&seed, MW_REDUCE_END);
        fill(from, dtype, room, &seed);
        fill(got, dtype, room, &seed);
        memcpy(want, got, sizeof want);
        mw__pull_run(&p, dtype, from, got);
        pull_plainly(&p, dtype, from, want);
        assert_same(got, want, dtype, room, "pull");
    }
}

static void test_a_group_gives_the_bits_of_its_pulls(void **state)
{
    (void)state;
    static uint64_t from[5][BYTES / 8], got[BYTES / 8], want[BYTES / 8];
    uint64_t seed = 13;
    int grouped = 0;
    for (int round = 0; round < 2000; round++) {
        mw_dtype dtype = dtypes[random_below(&seed, MW_COUNT(dtypes))];
        int64_t room = 1000;
        mw_pull pull[5], first = random_box(&seed, room);
        mw_reduce kind = (mw_reduce)(1 + random_below(&seed, MW_REDUCE_END - 1));
        const void *sources[5];
        for (int i = 0; i < 5; i++) {
            pull[i] = first;
            pull[i].from = random_below(&seed, (int)first.from + 1);
            pull[i].reduce = (uint8_t)(i ? kind : MW_REDUCE_NONE);
            fill(from[i], dtype, room, &seed);
            sources[i] = from[i];
        }
        int n = 1 + random_below(&seed, 5);
        assert_int_equal(mw__pull_group(pull, n), n);
        fill(got, dtype, room, &seed);
        memcpy(want, got, sizeof want);
        mw__pull_group_run(pull, n, dtype, sources, got, random_below(&seed, 2));
        for (int i = 0; i < n; i++)
            pull_plainly(&pull[i], dtype, from[i], want);
        assert_same(got, want, dtype, room, "group");
        grouped += n > 1;
    }
    assert_true(grouped > 1000);
}

/* Rows long enough to be stored past the caches, at any place within a line. */
static void test_rows_past_the_caches_have_the_same_bits(void **state)
{
    (void)state;
    enum { ROOM = 1 << 13 };
    static float from[4][ROOM], got[ROOM], want[ROOM];
    uint64_t seed = 29;
    for (int round = 0; round < 1000; round++) {
        int n = 1 + random_below(&seed, 4), columns = 100 + random_below(&seed, 500);
        int rows = 1 + random_below(&seed, 10);
        int pitch = random_below(&seed, 2) ? columns + 40 : (columns + 31) / 16 * 16;
        mw_pull pull[4];
        const void *sources[4];
        int to = random_below(&seed, 64);
        for (int i = 0; i < n; i++) {
            pull[i] = (mw_pull){.ndim = 2,
                                .reduce = i ? MW_REDUCE_SUM : MW_REDUCE_NONE,
                                .from = random_below(&seed, 64),
                                .to = to,
                                .size = {rows, columns},
                                .from_stride = {columns + 3, 1},
                                .to_stride = {pitch, 1}};
            fill(from[i], MW_DTYPE_f32, ROOM, &seed);
            sources[i] = from[i];
        }
        fill(got, MW_DTYPE_f32, ROOM, &seed);
        memcpy(want, got, sizeof want);
        mw__pull_group_run(pull, n, MW_DTYPE_f32, sources, got, true);
        for (int i = 0; i < n; i++)
            pull_plainly(&pull[i], MW_DTYPE_f32, sources[i], want);
        assert_same(got, want, MW_DTYPE_f32, ROOM, "past the caches");
    }
}

static void test_only_large_results_go_past_the_caches(void **state)
{
    (void)state;
    mw_pull pull[2];
    for (int i = 0; i < 2; i++)
        pull[i] = pull_row(i, MW_REDUCE_NONE, 0, 0, 1 << 20);
    assert_true(mw__pulls_past(pull, 2, MW_DTYPE_f32));
    pull[1].reduce = MW_REDUCE_SUM; /* now both write the same 4 MiB */
    assert_false(mw__pulls_past(pull, 2, MW_DTYPE_f32));
    assert_false(mw__pulls_past(pull, 0, MW_DTYPE_f32));
}

static void test_groups_end_where_the_box_or_the_kind_changes(void **state)
{
    (void)state;
    mw_pull pull[4];
    for (int i = 0; i < 4; i++)
        pull[i] = pull_row(i, i ? MW_REDUCE_SUM : MW_REDUCE_NONE, 7 * i, 3, 10);
    assert_int_equal(mw__pull_group(pull, 4), 4);
    pull[3].to = 4;
    assert_int_equal(mw__pull_group(pull, 4), 3);
    pull[2].reduce = MW_REDUCE_MAX;
    assert_int_equal(mw__pull_group(pull, 4), 2);
    pull[1].size[0] = 9;
    assert_int_equal(mw__pull_group(pull, 4), 1);
    pull[1] = pull_row(1, MW_REDUCE_NONE, 0, 3, 10);
    assert_int_equal(mw__pull_group(pull, 4), 1);
    pull[0].reduce = MW_REDUCE_SUM;
    assert_int_equal(mw__pull_group(pull, 4), 1);
}

static void test_halves_round_after_every_step(void **state)
{
    (void)state;
    /* 256 + 1 is 256 in bf16 (ties to even), twice: one rounding at the end would give 258. */
    uint16_t a = mw__f32_to_bf16(256), one = mw__f32_to_bf16(1), got;
    mw__reduce_rows(MW_REDUCE_SUM, MW_DTYPE_bf16, &got, (const void *const[]){&a, &one, &one}, 3,
                    1);
    assert_int_equal(got, mw__f32_to_bf16(256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_reduce_in_the_order_given),
        cmocka_unit_test(test_pulls_equal_the_plain_loop),
        cmocka_unit_test(test_a_group_gives_the_bits_of_its_pulls),
        cmocka_unit_test(test_rows_past_the_caches_have_the_same_bits),
        cmocka_unit_test(test_only_large_results_go_past_the_caches),
        cmocka_unit_test(test_groups_end_where_the_box_or_the_kind_changes),
        cmocka_unit_test(test_halves_round_after_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
