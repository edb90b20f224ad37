/* A lookup finds what was added, all of it and nothing else, whatever the hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include "base/lookup.h"

#include <cmocka.h>
#include <meshwise/alloc.h>

enum { KEYS = 3000 };

/* Hashes that begin at one place, that are the same, that are 0, odd, and all over. */
static uint64_t hash_of(int kind, int64_t key)
{
    switch (kind) {
    case 0:
        return 7;
    case 1:
        return (uint64_t)key % 3;
    case 2:
        return (uint64_t)key << 40;
    case 3:
        return (uint64_t)key * 2 + 1;
    default:
        return mw__hash(3, &key, sizeof key);
    }
}

static int times_found(const mw_lookup *lookup, uint64_t hash, int64_t key)
{
    int found = 0;
    for (mw_found *i = NULL; (i = mw__lookup_next(lookup, hash, i));)
        found += i->number == key;
    return found;
}

static void fill_and_find(mw_lookup *lookup, int kind, int64_t keys)
{
    assert_null(mw__lookup_next(lookup, hash_of(kind, 0), NULL));
    for (int64_t key = 0; key < keys; key++) {
        mw_found *i = mw__lookup_add(lookup, hash_of(kind, key));
        assert_non_null(i);
        i->number = key;
    }
    assert_int_equal(lookup->n, keys);
    for (int64_t key = 0; key < keys; key++)
        assert_int_equal(times_found(lookup, hash_of(kind, key), key), 1);
    for (int64_t key = keys; key < 2 * keys; key++)
        assert_int_equal(times_found(lookup, hash_of(kind, key), key), 0);
}

static void finds(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int in_arena = 0; in_arena < 2; in_arena++) {
            mw_arena arena;
            mw__arena_init(&arena);
            mw_lookup lookup = {.arena = in_arena ? &arena : NULL};
            int64_t keys = kind < 2 ? 300 : KEYS; /* one chain is searched to its end */
            fill_and_find(&lookup, kind, keys);
            mw__lookup_clear(&lookup);
            fill_and_find(&lookup, kind, keys);
            mw__lookup_done(&lookup);
            assert_null(mw__lookup_next(&lookup, 7, NULL));
            mw__arena_done(&arena);
        }
}

/* Each allocation fails in turn: what was added before stays, nothing is left. */
static void no_memory(void **state)
{
    (void)state;
    bool failed = true;
    for (int64_t at = 1; failed; at++) {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, at, 0);
        mw_allocator_use(&fault.allocator);
        mw_lookup lookup = {0};
        failed = false;
        for (int64_t key = 0; key < KEYS && !failed; key++) {
            mw_found *i = mw__lookup_add(&lookup, hash_of(4, key));
            if (i) i->number = key;
            failed = !i;
        }
        int64_t found = 0;
        for (int64_t key = 0; key < lookup.n; key++)
            found += times_found(&lookup, hash_of(4, key), key);
        assert_int_equal(found, lookup.n);
        assert_true(failed || lookup.n == KEYS);
        mw__lookup_done(&lookup);
        mw_allocator_use(NULL);
        assert_int_equal(fault.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
