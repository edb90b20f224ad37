/* Storage: what the pool keeps of freed blocks, and that it gives all of it back. */
#include "tensor/tensor.h"

#include <meshwise/alloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

/* An own context, whose allocator counts. */
typedef struct fixture {
    mw_fault_allocator counts;
    mw__ctx ctx, *former;
} fixture;

static void begin(fixture *f)
{
    mw_fault_allocator_init(&f->counts, 0, 0);
    mw__ctx_init(&f->ctx, &f->counts.allocator);
    f->former = mw__ctx_swap(&f->ctx);
}

static void end(fixture *f)
{
    mw__pool_done();
    assert_int_equal(f->counts.live, 0);
    (void)mw__ctx_swap(f->former);
}

static mw_storage *make(int64_t bytes)
{
    mw_storage *made;
    assert_int_equal(mw__storage_new(bytes, &made), MW_OK);
    assert_int_equal((uintptr_t)made->data % 64, 0);
    assert_true(made->capacity >= bytes);
    return made;
}

static void test_a_freed_block_serves_again(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 100, 5000, MIB, 16 * MIB, 16 * MIB + 1, 40 * MIB};
    fixture f;
    begin(&f);
    for (int i = 0; i < MW_COUNT(sizes); i++) {
        mw_storage *first = make(sizes[i]);
        const void *data = first->data;
        mw__storage_unref(first);
        int64_t before = f.counts.count;
        mw_storage *again = make(sizes[i]);
        assert_ptr_equal(again->data, data);
        assert_int_equal(f.counts.count, before);
        mw__storage_unref(again);
    }
    end(&f);
}

static void test_a_large_block_does_not_serve_much_smaller_ones(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    mw_storage *large = make(64 * MIB);
    const void *data = large->data;
    mw__storage_unref(large);
    mw_storage *smaller = make(40 * MIB), *nearly = make(60 * MIB);
    assert_ptr_not_equal(smaller->data, data);
    assert_ptr_equal(nearly->data, data);
    mw__storage_unref(smaller);
    mw__storage_unref(nearly);
    end(&f);
}

static void test_large_blocks_are_kept_up_to_a_bound(void **state)
{
    (void)state;
    enum { BLOCKS = 8, BYTES = 40 * MIB, BOUND = 128 * MIB };
    mw_storage *block[BLOCKS];
    fixture f;
    begin(&f);
    for (int i = 0; i < BLOCKS; i++)
        block[i] = make(BYTES);
    const void *last = block[BLOCKS - 1]->data;
    for (int i = 0; i < BLOCKS; i++)
        mw__storage_unref(block[i]);
    assert_in_range(f.counts.live, 3 * BYTES, BOUND + MIB);
    mw_storage *newest = make(BYTES); /* the oldest went back first */
    assert_ptr_equal(newest->data, last);
    mw__storage_unref(newest);
    mw__storage_unref(make(BOUND + BYTES)); /* too large to be kept; the others stay */
    assert_in_range(f.counts.live, 3 * BYTES, BOUND + MIB);
    mw__pool_trim();
    assert_true(f.counts.live < MIB);
    end(&f);
}

static void test_a_block_that_is_read_waits(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    mw_storage *read = make(20 * MIB);
    const void *data = read->data;
    read->readers = 1;
    mw__storage_unref(read);
    mw_storage *other = make(20 * MIB);
    assert_ptr_not_equal(other->data, data);
    read->readers = 0;
    mw_storage *again = make(20 * MIB);
    assert_ptr_equal(again->data, data);
    mw__storage_unref(other);
    mw__storage_unref(again);
    end(&f);
}

/* Blocks of some size are pieces of few big ones, which go back when all of them are free. */
static void test_slabs(void **state)
{
    (void)state;
    enum { BLOCKS = 60, BYTES = 3 * MIB / 2 };
    mw_storage *block[BLOCKS];
    fixture f;
    begin(&f);
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = make(BYTES);
        memset(block[i]->data, i, BYTES);
    }
    assert_in_range(f.counts.count, 2, 10);
    assert_in_range(f.counts.live, BLOCKS * BYTES, BLOCKS * BYTES * 3 / 2 + 32 * MIB);
    for (int i = 0; i < BLOCKS; i++) {
        const unsigned char *at = block[i]->data;
        assert_true(at[0] == i && at[BYTES - 1] == i);
    }
    for (int i = 1; i < BLOCKS; i++)
        mw__storage_unref(block[i]);
    mw__pool_trim(); /* all but the slab of the first */
    assert_in_range(f.counts.live, BYTES, 5 * MIB);
    mw_storage *more = make(BYTES);
    assert_int_equal(*(unsigned char *)block[0]->data, 0);
    mw__storage_unref(more);
    mw__storage_unref(block[0]);
    end(&f);
}

static void test_a_failed_slab_is_an_error(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    mw_storage *made, *first = make(2 * MIB);
    f.counts.fail_at = f.counts.count + 1;
    f.counts.forever = 1;
    assert_int_equal(mw__storage_new(8 * MIB, &made), MW_ERR_NOMEM);
    f.counts.fail_at = 0;
    f.counts.forever = 0;
    mw__storage_unref(first);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_freed_block_serves_again),
        cmocka_unit_test(test_a_large_block_does_not_serve_much_smaller_ones),
        cmocka_unit_test(test_large_blocks_are_kept_up_to_a_bound),
        cmocka_unit_test(test_a_block_that_is_read_waits),
        cmocka_unit_test(test_slabs),
        cmocka_unit_test(test_a_failed_slab_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
