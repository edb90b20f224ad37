/* How tests of the explainer let it run out of memory. */
#ifndef UNIT_EXPLAIN_MEMORY_H
#define UNIT_EXPLAIN_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/explain.h>
#include <stdbool.h>
#include <string.h>

static inline mw_status read_all(const char *text)
{
    mw_explain *e;
    mw_status status = mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e);
    if (status != MW_OK) return status;
    status = mw_explain_feed(e, text, (int64_t)strlen(text));
    if (status == MW_OK) status = mw_explain_finish(e);
    mw_explain_free(e);
    return status;
}

/* Reads each text as often as it allocates, another allocation failing each time: it is told, and
 * nothing is left behind. */
static inline void allocations_fail(const char *const *text, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t fail_at = 0, refused = 0;
        for (bool reached = true; reached;) {
            mw_fault_allocator fault;
            mw_fault_allocator_init(&fault, ++fail_at, 0);
            mw_allocator_use(&fault.allocator);
            mw_status status = read_all(text[i]);
            mw_allocator_use(NULL);
            assert_int_equal(fault.live, 0);
            reached = fault.count >= fail_at;
            assert_true(status == MW_OK || (reached && status == MW_ERR_NOMEM));
            refused += status != MW_OK;
        }
        assert_true(refused > 10);
    }
}

/* The same where every failed allocation must be told: only the run in which none fails succeeds.
 * Returns how many runs that took. */
static inline int64_t allocations_told(const char *text)
{
    int64_t fail_at = 0;
    mw_status status;
    do {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, ++fail_at, 0);
        mw_allocator_use(&fault.allocator);
        status = read_all(text);
        mw_allocator_use(NULL);
        assert_true(status == MW_OK || status == MW_ERR_NOMEM);
        assert_int_equal(fault.live, 0);
        if (status == MW_OK) assert_true(fault.count < fail_at);
    } while (status != MW_OK);
    return fail_at;
}

#endif
