/* meshwise's own texts as the explainer reads them: long logs, and lack of memory. What is said of
 * them is asserted by tests/cases. */
#include "unit/explain_check.h"

#include <stdio.h>

static const char program[] =
    "mesh @m = [dp=2, tp=4]\n"
    "mesh @n = [all=8]\n"
    "func @f(%x: f32[6@dp, 32], %o: f32[24@all] on @n) {\n"
    "  %g = all_gather(%x, axes=[dp], dim=0)  : f32[6, 32]  ; because: 96 B received per rank\n"
    "  %r = redistribute(%x)  : f32[6, 32@tp]\n"
    "  return %g\n"
    "}\n";
static const char plan[] =
    "mesh a=4   bf16[20@a] -> bf16[20]\n"
    "  all_gather a dim 0           -> bf16[20]   recv 30 B\n"
    "recv 30 B per rank at most, 30 B on average; no plan needs less than 30 B\n"
    "peak 40 B, live 50 B, 1 us\n";
static const char error[] =
    "meshwise: layout: axis 'x' is used twice at column 13\n"
    "  f32[16@x, 8@x]\n"
    "              ^\n"
    "  hint: an axis stands in at most one place of a layout\n"
    "softmax would move f32[5, 8@a] to f32[5, 8] unasked: all_gather a dim 1 (120 bytes to the "
    "rank that receives most); axis a\n";
static const char run[] =
    "%q : f32[2@tp]\n[0, 1]\n"
    "moved: 1 movement, 8 B in all, 8 B of them unasked\n"
    "  line 8: %p: all_gather tp dim 0, 4 B received per rank, 8 B in all\n"
    "    f32[2@tp] -> f32[2]\n"
    "    for neg: axis tp\n"
    "rank 0 #1 neg(self: f32[2]) -> f32[2]  [a.c:1 s]\n"
    "{\"event\":\"move\",\"rank\":1,\"number\":5,\"op\":\"mm\",\"text\":\"all_reduce tp sum\","
    "\"from\":\"f32[2]{sum:tp}\",\"to\":\"f32[2]\",\"recv_bytes\":8,\"recv_bytes_most\":8,"
    "\"asked\":true,\"file\":\"a.c\",\"line\":1}\n"
    "{\"schema\":1,\"error\":{\"code\":\"ERR_ARG\",\"says\":\"no\",\"where\":\"\",\"hint\":\"do "
    "it\"}}\n"
    "f32[3@tp]\n";

/* A log of a long run costs memory for what differs in it alone. */
static void test_events_that_differ_in_number_alone_are_counted(void **state)
{
    (void)state;
    mw_fault_allocator counted;
    mw_fault_allocator_init(&counted, 0, 0);
    mw_allocator_use(&counted.allocator);
    mw_explain *e = NULL;
    int64_t few = 0;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    for (int i = 0; i < 4000; i++) {
        char line[300];
        int n = snprintf(line, sizeof line,
                         i % 2 ? "rank %d #%d move all_gather tp dim 1: f32[6, 10@tp] -> f32[6, "
                                 "10]  %d B (most 120)  asked by mark_sharding  [a.c:44 s]\n"
                               : "rank %d #%d neg(self: f32[%d]) -> f32[6]  [a.c:45 s]\n",
                         i / 2 % 2, i, i % 2 ? i % 120 : 6);
        assert_int_equal(mw_explain_feed(e, line, n), MW_OK);
        if (i == 100) few = counted.live;
    }
    assert_int_equal(counted.live, few);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    assert_int_equal(mw_explain_entries(e), 2);
    assert_int_equal(mw_explain_entry(e, 0)->count, 1000);
    assert_int_equal(mw_explain_entry(e, 1)->count, 1000);
    assert_int_equal(mw_explain_entry(e, 1)->bytes, 120);
    assert_int_equal(mw_explain_entry(e, 1)->ranks, 3);
    mw_explain_free(e);
    assert_int_equal(counted.live, 0);
    mw_allocator_use(NULL);
}

static void test_lack_of_memory_is_told_wherever_it_comes(void **state)
{
    (void)state;
    static char text[4000];
    (void)snprintf(text, sizeof text, "%s%s%s%s", program, plan, error, run);
    int64_t fail_at = 0, failed = 0;
    mw_status status;
    do {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, ++fail_at, 0);
        mw_allocator_use(&fault.allocator);
        status = read_all(text);
        mw_allocator_use(NULL);
        assert_true(status == MW_OK || status == MW_ERR_NOMEM);
        assert_int_equal(fault.live, 0);
        failed += status != MW_OK;
    } while (fail_at < 3000 && (status != MW_OK || fail_at < 20));
    assert_int_equal(status, MW_OK);
    assert_true(failed > 20);
}

static void test_a_mesh_of_another_text_is_only_assumed(void **state)
{
    (void)state;
    static char text[4000];
    (void)snprintf(text, sizeof text, "%sf32[8@tp]\nf32[8@nobody]\n", program);
    mw_explain *e = explain_on(NULL, text);
    has(entry_at(e, "function", 3), "local shape of %x", MW_HOW_DERIVED, "[3, 32]");
    has(entry_at(e, "function", 3), "local shape of %o", MW_HOW_DERIVED, "[3]");
    has(entry_at(e, "layout", 8), "local shape of layout", MW_HOW_ASSUMED, "[2]");
    assert_null(fact_with(entry_at(e, "layout", 9), "local shape of layout", ""));
    assert_int_equal(entry_at(e, "collective", 5)->bytes, 96);
    assert_false(has_problem(entry_at(e, "collective", 5), "wrong-value"));
    assert_true(has_problem(entry_at(e, "collective", 4), "wrong-value"));
    assert_false(names_missing(e, "the mesh"));
    mw_explain_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_that_differ_in_number_alone_are_counted),
        cmocka_unit_test(test_lack_of_memory_is_told_wherever_it_comes),
        cmocka_unit_test(test_a_mesh_of_another_text_is_only_assumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
