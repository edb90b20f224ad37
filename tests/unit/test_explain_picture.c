/* What the explainer says of pictures of shardings: cells, their devices, the layouts with these
 * owners. */
#include "explain_check.h"

static const char boxes[] = "+-------+-------+-------+\n"
                            "| TPU 0 | TPU 2 | TPU 4 |\n"
                            "+-------+-------+-------+\n"
                            "|  TPU  | TPU 3 | TPU 5 |\n"
                            "|   1   |       |       |\n"
                            "+-------+-------+-------+\n"
                            "text\n";

static void a_box_of_any_strokes(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, boxes);
    const mw_entry *x = entry_at(e, "sharding", 1);
    assert_int_equal(x->last, 6);
    has(x, "grid", MW_HOW_STATED, "2 x 3");
    has(x, "devices", MW_HOW_STATED, "TPU");
    has(x, "sharding", MW_HOW_DERIVED, "{devices=[2,3]0,2,4,1,3,5}");
    has(x, "as a partition spec", MW_HOW_DERIVED, "P('b', 'a')");
    assert_true(names_missing(e, "no sizes"));
    assert_int_equal(mw_explain_unread(e), 1);
    mw_explain_free(e);
}

#define TOP    "\u250c\u2500\u2500\u2500\u2500\u2500\u252c\u2500\u2500\u2500\u2500\u2510\n"
#define BOTTOM "\u2514\u2500\u2500\u2500\u2500\u2500\u2534\u2500\u2500\u2500\u2500\u2518\n"
#define BAR    "\u2502"

/* Copies, and a cell of which a part is lost: filled in as an assumption. */
static void a_cell_too_narrow(void **state)
{
    (void)state;
    mw_explain *e =
        explain_on(NULL, "# w: shape (6, 8) spec P(None, 'k')\n" TOP BAR " CPU " BAR "  C\u2026" BAR
                         "\n" BAR " 0,2 " BAR " 1\u2026 " BAR "\n" BOTTOM);
    const mw_entry *x = entry_at(e, "sharding", 2);
    has(x, "shape", MW_HOW_STATED, "[6,8]");
    has(x, "who holds what", MW_HOW_ASSUMED, "{0,2} {1,3}");
    has(x, "sharding", MW_HOW_ASSUMED, "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}");
    has(x, "local shape", MW_HOW_DERIVED, "[6,4]");
    has(x, "spec", MW_HOW_STATED, "P(None, 'k')");
    assert_int_equal(x->nproblem, 0);
    assert_true(names_missing(e, "1 cell of the picture"));
    mw_explain_free(e);
}

/* A spec that the picture contradicts. */
static void a_spec_that_differs(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "# w: shape (6, 8) spec P('k', None)\n" TOP BAR "CPU 0" BAR
                                     " 1  " BAR "\n" BOTTOM);
    assert_true(has_problem(entry_at(e, "sharding", 2), "spec-differs"));
    mw_explain_free(e);
}

/* Nothing can be read: nothing is made up. */
static void nothing_to_read(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, TOP BAR "     " BAR "    " BAR "\n" BOTTOM);
    const mw_entry *x = entry_at(e, "sharding", 1);
    assert_null(fact_with(x, "sharding", ""));
    assert_true(names_missing(e, "2 cells"));
    mw_explain_free(e);
}

static void without_strokes(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "  CPU 0,1    CPU 2,3 \n\n  CPU 4,5    CPU 6,7 \nCPU 3\n");
    const mw_entry *x = entry_at(e, "sharding", 1);
    has(x, "sharding", MW_HOW_DERIVED, "{devices=[2,2,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}");
    assert_int_equal(mw_explain_entries(e), 1);
    mw_explain_free(e);
}

/* 7 rows by chunks of 2, each in chunks of 1; columns whole. DTensor cuts axis by axis. */
static const char ranges[] = "         Col 0-3\n"
                             "-------  ---------\n"
                             "Row 0-1  cuda:0\n"
                             "Row 2-3  cuda:1\n"
                             "Row 4-5  cuda:2\n"
                             "Row 6-6  cuda:3\n";

static void a_table_of_ranges(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, ranges);
    const mw_entry *x = entry_at(e, "sharding", 1);
    has(x, "shape", MW_HOW_DERIVED, "[7,4]");
    has(x, "local shapes", MW_HOW_DERIVED, "3: [1,4]");
    has(x, "layouts with these owners", MW_HOW_DERIVED, "S(0) on a=4");
    mw_explain_free(e);
    e = explain_on("p=2,q=2", ranges);
    has(entry_at(e, "sharding", 1), "layouts with these owners", MW_HOW_DERIVED,
        "S(0)S(0) on p=2,q=2");
    mw_explain_free(e);
}

static const char *const torn[] = {boxes, ranges};

/* ---- memory ------------------------------------------------------------------------------------
 */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    allocations_fail(torn, (int)(sizeof torn / sizeof *torn));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_of_any_strokes),      cmocka_unit_test(a_cell_too_narrow),
        cmocka_unit_test(a_spec_that_differs),       cmocka_unit_test(nothing_to_read),
        cmocka_unit_test(without_strokes),           cmocka_unit_test(a_table_of_ranges),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
