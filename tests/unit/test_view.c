/* Views: contiguity, reshapes without a copy, conversions and copies, against loops over single
 * elements on random views of all dtypes. Seeds are fixed and printed. */
#include "tensor/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const mw_dtype dtypes[] = {MW_DTYPE_bool, MW_DTYPE_u8,  MW_DTYPE_i8,  MW_DTYPE_i16,
                                  MW_DTYPE_i32,  MW_DTYPE_i64, MW_DTYPE_f16, MW_DTYPE_bf16,
                                  MW_DTYPE_f32,  MW_DTYPE_f64};

static uint64_t random_state;

static int64_t random_below(int64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* A random view into `data`: dims in any order, with gaps. Returns how many elements it spans. */
static int64_t random_view(mw_view *view, void *data, mw_dtype dtype, int ndim,
                           const int64_t *shape)
{
    int order[MW_MAX_DIMS];
    int64_t stride = 1 + random_below(3);
    mw__view_set(view, dtype, ndim, shape);
    view->data = data;
    for (int d = 0; d < ndim; d++)
        order[d] = d;
    for (int d = ndim - 1; d > 0; d--) {
        int other = (int)random_below(d + 1), was = order[d];
        order[d] = order[other], order[other] = was;
    }
    for (int i = 0; i < ndim; i++) {
        view->stride[order[i]] = stride;
        stride *= shape[order[i]] + random_below(2);
    }
    return stride;
}

/* The address of element number `nth`, row-major. */
static char *element_at(const mw_view *view, int64_t nth)
{
    int64_t at = 0;
    for (int d = view->ndim - 1; d >= 0; d--) {
        at += nth % view->shape[d] * view->stride[d];
        nth /= view->shape[d];
    }
    return (char *)view->data + at * mw_dtype_size(view->dtype);
}

static void test_contiguous(void **state)
{
    (void)state;
    mw_view v = {.ndim = 3, .shape = {2, 3, 4}, .stride = {12, 4, 1}};
    assert_true(mw__view_contiguous(&v));
    assert_int_equal(mw__view_count(&v), 24);
    v.stride[0] = 13;
    assert_false(mw__view_contiguous(&v));
    v.shape[0] = 1; /* its stride does not matter */
    assert_true(mw__view_contiguous(&v));
    v.stride[1] = 5, v.shape[0] = 0; /* nothing is without gaps */
    assert_true(mw__view_contiguous(&v));
    v.ndim = 0;
    assert_true(mw__view_contiguous(&v));
    assert_int_equal(mw__view_count(&v), 1);
    v = (mw_view){.ndim = 2, .shape = {3, 3}, .stride = {0, 1}};
    assert_false(mw__view_contiguous(&v));
}

/* Splits n into a random list of factors. */
static int random_shape(int64_t n, int64_t *ret_shape)
{
    int ndim = 0;
    while (n > 1 && ndim < 4) {
        int64_t f = 1 + random_below(n);
        while (n % f)
            f--;
        ret_shape[ndim] = ndim == 3 ? n : f;
        n /= ret_shape[ndim++];
    }
    if (n > 1 || ndim == 0) ret_shape[ndim++] = n;
    return ndim;
}

/* Do these strides give the same elements in row-major order? */
static bool same_order(const mw_view *a, const mw_view *b)
{
    for (int64_t i = 0; i < mw__view_count(a); i++)
        if (element_at(a, i) != element_at(b, i)) return false;
    return true;
}

/* Is there any assignment of strides that reads `view` as `shape`? Stride of a dim is the distance
 * between its first two elements, so there is at most one. */
static bool reshapable(const mw_view *view, int ndim, const int64_t *shape)
{
    mw_view to = *view;
    mw__view_set(&to, view->dtype, ndim, shape);
    int64_t below = 1;
    for (int d = ndim - 1; d >= 0; below *= shape[d--])
        if (shape[d] > 1) to.stride[d] = element_at(view, below) - (char *)view->data;
    return same_order(view, &to);
}

static void test_reshape_finds_strides_where_there_are_some(void **state)
{
    (void)state;
    static char memory[1 << 16];
    random_state = 7;
    int found = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        int64_t counts[] = {1, 2, 6, 8, 12, 24, 36, 48}, n = counts[random_below(8)];
        int64_t from[MW_MAX_DIMS], to[MW_MAX_DIMS];
        int nfrom = random_shape(n, from), nto = random_shape(n, to);
        mw_view view, got;
        assert_true(random_view(&view, memory, MW_DTYPE_u8, nfrom, from) < (int64_t)sizeof memory);
        if (random_below(2)) mw__view_set(&view, MW_DTYPE_u8, nfrom, from);
        if (random_below(4) == 0) view.stride[random_below(nfrom)] = 0;
        mw__view_set(&got, MW_DTYPE_u8, nto, to);
        got.data = memory;
        bool can = mw__view_reshape(&view, nto, to, got.stride);
        assert_int_equal(can, reshapable(&view, nto, to));
        if (can) assert_true(same_order(&view, &got));
        found += can, refused += !can;
    }
    assert_true(found > 1000 && refused > 1000);
}

static void test_reshape_of_nothing(void **state)
{
    (void)state;
    mw_view v = {.ndim = 2, .shape = {3, 0}, .stride = {7, 5}};
    int64_t stride[MW_MAX_DIMS];
    assert_true(mw__view_reshape(&v, 3, (const int64_t[]){0, 2, 2}, stride));
    assert_int_equal(stride[0], 4);
}

/* What torch's `to` gives, through double (or int64 between integers). */
static bool is_float(mw_dtype dtype)
{
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT;
}

static double converted(double value, mw_dtype to)
{
    switch ((int)to) {
    case MW_DTYPE_bool:
        return value != 0;
    case MW_DTYPE_u8:
        return (double)(uint8_t)(int64_t)value;
    case MW_DTYPE_i8:
        return (double)(int8_t)(int64_t)value;
    case MW_DTYPE_i16:
        return (double)(int16_t)(int64_t)value;
    case MW_DTYPE_i32:
        return (double)(int32_t)(int64_t)value;
    case MW_DTYPE_i64:
        return (double)(int64_t)value;
    case MW_DTYPE_f16:
        return (double)mw__f16_to_f32(mw__f32_to_f16((float)value));
    case MW_DTYPE_bf16:
        return (double)mw__bf16_to_f32(mw__f32_to_bf16((float)value));
    case MW_DTYPE_f32:
        return (double)(float)value;
    default:
        return value;
    }
}

static void fill_random(const mw_view *view)
{
    for (int64_t i = 0; i < mw__view_count(view); i++) {
        double value = (double)(random_below(2001) - 1000);
        if (is_float(view->dtype)) value /= 8;
        mw__element_set(element_at(view, i), view->dtype, value);
    }
}

/* Bytes outside the view must stay: the whole memory is compared with what single writes make. */
static void check_copy(mw_dtype to_dtype, mw_dtype from_dtype, int ndim, const int64_t *shape)
{
    enum { BYTES = 1 << 17 };
    static char from_memory[BYTES], to_memory[BYTES], expected[BYTES];
    mw_view from, to, check;
    random_view(&from, from_memory, from_dtype, ndim, shape);
    random_view(&to, to_memory, to_dtype, ndim, shape);
    if (ndim && random_below(3) == 0) from.stride[random_below(ndim)] = 0;
    fill_random(&from);
    memset(to_memory, 0x5a, BYTES);
    memset(expected, 0x5a, BYTES);
    check = to;
    check.data = expected;
    for (int64_t i = 0; i < mw__view_count(&to); i++) {
        double value = mw__element_get(element_at(&from, i), from_dtype);
        mw__element_set(element_at(&check, i), to_dtype, converted(value, to_dtype));
    }
    mw__view_copy(&to, &from);
    if (memcmp(to_memory, expected, BYTES) != 0)
        fail_msg("copy %s <- %s of %d dims differs", mw_dtype_name(to_dtype),
                 mw_dtype_name(from_dtype), ndim);
}

static void test_copies_convert_between_all_dtypes_and_strides(void **state)
{
    (void)state;
    random_state = 11;
    print_message("seed 11\n");
    for (int round = 0; round < 6; round++)
        for (int a = 0; a < MW_COUNT(dtypes); a++)
            for (int b = 0; b < MW_COUNT(dtypes); b++) {
                int64_t shape[4];
                int ndim = (int)random_below(5);
                for (int d = 0; d < ndim; d++)
                    shape[d] = 1 + random_below(round == 0 ? 9 : 5);
                check_copy(dtypes[a], dtypes[b], ndim, shape);
            }
    check_copy(MW_DTYPE_f32, MW_DTYPE_f32, 2, (const int64_t[]){70, 50});
    check_copy(MW_DTYPE_bf16, MW_DTYPE_bf16, 3, (const int64_t[]){3, 40, 33});
    check_copy(MW_DTYPE_bf16, MW_DTYPE_f32, 1, (const int64_t[]){3000});
    check_copy(MW_DTYPE_f16, MW_DTYPE_i64, 1, (const int64_t[]){3000});
}

static void test_copy_transposes_and_broadcasts(void **state)
{
    (void)state;
    float from[50 * 70], to[70 * 50];
    for (int i = 0; i < 50 * 70; i++)
        from[i] = (float)i;
    mw_view t = {
        .data = from, .dtype = MW_DTYPE_f32, .ndim = 2, .shape = {70, 50}, .stride = {1, 70}};
    mw_view v = {.data = to};
    mw__view_set(&v, MW_DTYPE_f32, 2, t.shape);
    mw__view_copy(&v, &t);
    for (int i = 0; i < 70; i++)
        for (int j = 0; j < 50; j++)
            assert_true(to[i * 50 + j] == from[j * 70 + i]);
    mw_view row = {.data = from, .dtype = MW_DTYPE_f32, .ndim = 1, .shape = {50}, .stride = {1}};
    mw__view_copy(&v, &row);
    for (int i = 0; i < 70 * 50; i++)
        assert_true(to[i] == from[i % 50]);
}

static void test_special_values_convert(void **state)
{
    (void)state;
    const struct {
        double from;
        int64_t i64, i8, truth;
    } cases[] = {{-0.0, 0, 0, 0},
                 {0.5, 0, 0, 1},
                 {-1.9, -1, -1, 1},
                 {300.7, 300, 44, 1},
                 {(double)NAN, INT64_MIN, 0, 1},
                 {1e300, INT64_MIN, 0, 1},
                 {-1e300, INT64_MIN, 0, 1}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        int64_t wide;
        int8_t narrow;
        uint8_t truth;
        mw__row_convert(&wide, MW_DTYPE_i64, 1, &cases[i].from, MW_DTYPE_f64, 1, 1);
        mw__row_convert(&narrow, MW_DTYPE_i8, 1, &cases[i].from, MW_DTYPE_f64, 1, 1);
        mw__row_convert(&truth, MW_DTYPE_bool, 1, &cases[i].from, MW_DTYPE_f64, 1, 1);
        assert_int_equal(wide, cases[i].i64);
        assert_int_equal(narrow, cases[i].i8);
        assert_int_equal(truth, cases[i].truth);
    }
    const double special[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, -0.0};
    for (int d = 0; d < MW_COUNT(dtypes); d++) {
        if (!is_float(dtypes[d])) continue;
        for (int i = 0; i < MW_COUNT(special); i++) {
            char element[8];
            mw__element_set(element, dtypes[d], special[i]);
            double back = mw__element_get(element, dtypes[d]);
            if (isnan(special[i]))
                assert_true(isnan(back));
            else
                assert_true(back == special[i] && signbit(back) == signbit(special[i]));
        }
    }
}

static void test_integers_keep_all_bits(void **state)
{
    (void)state;
    int64_t big = (INT64_C(1) << 53) + 1, stored;
    mw__element_set_i64(&stored, MW_DTYPE_i64, big);
    assert_true(stored == big && mw__element_get_i64(&stored, MW_DTYPE_i64) == big);
    int32_t wrapped;
    mw__element_set_i64(&wrapped, MW_DTYPE_i32, (INT64_C(5) << 32) + 7);
    assert_int_equal(wrapped, 7);
    float f = 2.75f;
    assert_int_equal(mw__element_get_i64(&f, MW_DTYPE_f32), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contiguous),
        cmocka_unit_test(test_reshape_finds_strides_where_there_are_some),
        cmocka_unit_test(test_reshape_of_nothing),
        cmocka_unit_test(test_copies_convert_between_all_dtypes_and_strides),
        cmocka_unit_test(test_copy_transposes_and_broadcasts),
        cmocka_unit_test(test_special_values_convert),
        cmocka_unit_test(test_integers_keep_all_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
