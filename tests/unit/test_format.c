/* Growing strings are formatted as the C library formats, whatever the conversion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include "base/base.h"

#include <cmocka.h>
#include <limits.h>
#include <meshwise/alloc.h>
#include <stdio.h>

MW_PRINTF(1, 2) static void same(const char *format, ...)
{
    char expected[400];
    mw_str str = {0};
    va_list args;
    mw__str_puts(&str, "> ");
    va_start(args, format);
    mw__str_vprintf(&str, format, args);
    va_end(args);
    va_start(args, format);
    int n = vsnprintf(expected, sizeof expected, format, args);
    va_end(args);
    assert_int_equal(str.length, n + 2);
    assert_string_equal(mw__str_text(&str) + 2, expected);
    mw__str_done(&str);
}

static void as_printf(void **state)
{
    (void)state;
    same("plain, no conversion");
    same("%s|%.*s|%.*s|%.*s", "a", 2, "bcd", 0, "e", -1, "whole");
    same("%d %i %u %d %d", 0, -7, 7u, INT_MIN, INT_MAX);
    same("%ld %lu %lld %llu", LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX);
    same("%zu %c%c %% 100%%", (size_t)-1, 'x', '%');
    same("%5d|%-4s|%04x|%g|%.3f|%p", 12, "ab", 255u, 0.5, 1.0 / 3, (const void *)0);
    same("%s then %g then %s %d", "first", 2.5, "the rest is the library's", 3);
    same("%.3s %hd %hhu %+d %#x", "cut here", (short)-3, (unsigned char)9, 4, 16u);
    same("%s%300d", "wider than what is kept on the stack: ", 1);
}

/* Each allocation fails in turn: the string is marked, nothing is left. */
static void no_memory(void **state)
{
    (void)state;
    bool failed = true;
    for (int64_t at = 1; failed; at++) {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, at, 0);
        mw_allocator_use(&fault.allocator);
        mw_str str = {0};
        mw__str_printf(&str, "%s and %d", "some text", 12);
        mw__str_printf(&str, "%400d%s", 5, "");
        failed = str.failed;
        mw__str_done(&str);
        mw_allocator_use(NULL);
        assert_int_equal(fault.live, 0);
        assert_true(at < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_printf), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
