/* Look-ups, stores, searches and joins against their definitions, on operands in any memory order;
 * on one shard of a table; at ties and NaN; and what they refuse. */
#include "op_run.h"

#include <math.h>
#include <stdio.h>

static const uint64_t seed = 20250111;

#define LL(x) ((long long)(x))

static void make(op_run *run, const char *word, const char *text, uint64_t order)
{
    if (op_run_make(run, op_run_find(word), text, seed + order, order) != MW_OK)
        fail_msg("%s(%s): %s", word, text, mw_last_error()->says);
}

static void make_and_run(op_run *run, const char *word, const char *text, uint64_t order)
{
    make(run, word, text, order);
    if (op_run_kernel(run) != MW_OK) fail_msg("%s(%s): %s", word, text, mw_last_error()->says);
}

/* The indices of element `nth` of a view, and back. */
static void unravel(const mw_view *view, int64_t nth, int64_t *ret)
{
    for (int d = view->ndim - 1; d >= 0; d--) {
        ret[d] = nth % view->shape[d];
        nth /= view->shape[d];
    }
}

static double element(const mw_view *view, const int64_t *index)
{
    int64_t nth = 0;
    for (int d = 0; d < view->ndim; d++)
        nth = nth * view->shape[d] + index[d];
    return op_run_get(view, nth);
}

static int64_t index_at(const mw_view *view, int64_t nth)
{
    return (int64_t)op_run_get(view, nth);
}

static void same(double got, double want, const char *text, int64_t nth)
{
    if (got != want) fail_msg("%s: element %lld is %g, not %g", text, LL(nth), got, want);
}

/* ---- look-ups
 * ------------------------------------------------------------------------------------ */

static void embedding_takes_rows(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[7, 5], i64[3, 4]<7", "bf16[9, 8], i32[6]<9",
                                        "f64[3, 1], i64[]<3", "f16[4, 3], i64[2, 2, 2]<4"};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            make_and_run(&run, "embedding", cases[c], order);
            int64_t d = run.in[0].shape[1];
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
                same(op_run_get(&run.out[0], i),
                     op_run_get(&run.in[0], index_at(&run.in[1], i / d) * d + i % d), cases[c], i);
            op_run_done(&run);
        }
}

static void index_select_takes_parts(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[7, 5], 0, i64[9]<7", "f32[2, 5, 3], 1, i64[4]<5",
                                        "bool[4, 3], -1, i64[2]<3", "i64[6], 0, i32[3]<6"};
    static const int dims[] = {0, 1, 1, 0};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t index[MW_MAX_DIMS];
            make_and_run(&run, "index_select", cases[c], order);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                unravel(&run.out[0], i, index);
                index[dims[c]] = index_at(&run.in[1], index[dims[c]]);
                same(op_run_get(&run.out[0], i), element(&run.in[0], index), cases[c], i);
            }
            op_run_done(&run);
        }
}

static void gather_takes_elements(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[4, 6], 1, i64[4, 9]<6",
                                        "f32[5, 3, 2], 0, i64[2, 3, 2]<5",
                                        "bf16[4, 6], -1, i64[2, 3]<6", "i32[6], 0, i32[8]<6"};
    static const int dims[] = {1, 0, 1, 0};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t index[MW_MAX_DIMS];
            make_and_run(&run, "gather", cases[c], order);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                unravel(&run.out[0], i, index);
                index[dims[c]] = index_at(&run.in[1], i);
                same(op_run_get(&run.out[0], i), element(&run.in[0], index), cases[c], i);
            }
            op_run_done(&run);
        }
}

/* The second of two ranks, which holds rows 4 to 6 of 7: it reads those, and gives -0.0 for the
 * rest. */
static void a_shard_of_a_table_leaves_nothing_elsewhere(void **state)
{
    (void)state;
    static const char *const words[] = {"embedding", "index_select"};
    static const char *const texts[] = {"f32[7, 3], i64[5]<7", "f32[7, 3], 0, i64[5]<7"};
    mw_mesh *mesh;
    mw_layout layout;
    if (mw_mesh_parse("x=2", &mesh) != MW_OK) fail();
    if (mw_layout_parse(mesh, "f32[7@x, 3]", &layout) != MW_OK) fail();
    for (int c = 0; c < 2; c++) {
        op_run run;
        make(&run, words[c], texts[c], 0);
        static const int64_t index[] = {6, 0, 4, 3, 5};
        memcpy(run.in[1].data, index, sizeof index);
        const float *whole = run.in[0].data;
        mw_view in[2] = {run.in[0], run.in[1]};
        in[0].data = (float *)run.in[0].data + 4 * 3;
        in[0].shape[0] = 3;
        const mw_layout *layouts[2] = {&layout, NULL};
        const int coord = 1;
        mw_kernel_call k = {&run.sample.call, 2,       1,    in,         run.out, mesh,
                            &coord,           layouts, NULL, &run.arena, NULL};
        assert_int_equal(run.op->kernel(&k), MW_OK);
        for (int i = 0; i < 15; i++) {
            float got = ((float *)run.out[0].data)[i];
            float want = index[i / 3] >= 4 ? whole[index[i / 3] * 3 + i % 3] : -0.0F;
            assert_memory_equal(&got, &want, sizeof got);
        }
        ((int64_t *)run.in[1].data)[2] = 7;
        assert_int_equal(run.op->kernel(&k), MW_ERR_ARG);
        assert_non_null(strstr(mw_last_error()->says, "index 7 is outside the"));
        assert_non_null(strstr(mw_last_error()->says, "of size 7"));
        op_run_done(&run);
    }
    mw_mesh_unref(mesh);
}

static void index_copy_writes_in_place(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[7, 5], 0, i64[3]<7, f32[3, 5]",
                                        "bf16[2, 9, 4], 1, i64[2]<9, bf16[2, 2, 4]",
                                        "i64[4, 6], -1, i32[1]<6, i64[4, 1]"};
    static const int dims[] = {0, 1, 1};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run, former;
            int64_t index[MW_MAX_DIMS];
            make(&run, "index_copy_", cases[c], order);
            make(&former, "index_copy_", cases[c], order);
            run.out[0] = run.in[0];
            assert_int_equal(op_run_kernel(&run), MW_OK);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                double want = op_run_get(&former.in[0], i);
                unravel(&run.out[0], i, index);
                int64_t place = index[dims[c]];
                for (int64_t j = 0; j < run.in[1].shape[0]; j++) {
                    if (index_at(&run.in[1], j) != place) continue;
                    index[dims[c]] = j;
                    want = element(&run.in[2], index); /* the last one stays */
                }
                same(op_run_get(&run.out[0], i), want, cases[c], i);
            }
            op_run_done(&run);
            op_run_done(&former);
        }
}

/* ---- searches
 * ------------------------------------------------------------------------------------ */

/* Whether x comes before y: larger, or NaN where y is none. */
static bool ahead(double x, double y, int sign)
{
    if (isnan(x) || isnan(y)) return sign > 0 ? isnan(x) && !isnan(y) : !isnan(x) && isnan(y);
    return sign * x > sign * y;
}

static void argmax_is_the_first_largest(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "f32[4, 6], 1", "f32[3, 5, 2], 0, true", "i64[3, 8]<4, -1", "bf16[2, 9], 0",
        "f64[40], 0",   "bool[3, 4], 1",         "u8[5, 9]<3, 1"};
    static const int dims[] = {1, 0, 1, 0, 0, 1, 1};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t index[MW_MAX_DIMS];
            make_and_run(&run, "argmax", cases[c], order);
            const mw_view *in = &run.in[0];
            mw_view keep = *in; /* the result with the dim kept */
            keep.shape[dims[c]] = 1;
            assert_int_equal(mw__view_count(&keep), mw__view_count(&run.out[0]));
            for (int64_t i = 0; i < mw__view_count(&keep); i++) {
                int64_t best = 0;
                double top = NAN;
                unravel(&keep, i, index);
                for (int64_t j = 0; j < in->shape[dims[c]]; j++) {
                    index[dims[c]] = j;
                    double x = element(in, index);
                    if (j == 0 || ahead(x, top, 1)) best = j, top = x;
                }
                same(op_run_get(&run.out[0], i), (double)best, cases[c], i);
            }
            op_run_done(&run);
        }
}

static void argmax_settles_ties_and_nan(void **state)
{
    (void)state;
    static const float rows[][4] = {
        {1, 3, 3, 2},     {NAN, 1, NAN, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {0, -0.0F, 0, 0}, {2, 1, NAN, 5},          {-1, -2, -3, -0.5F}};
    static const int64_t want[] = {1, 0, 0, 0, 2, 3};
    op_run run;
    make(&run, "argmax", "f32[6, 4], 1", 0);
    memcpy(run.in[0].data, rows, sizeof rows);
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_memory_equal(run.out[0].data, want, sizeof want);
    op_run_done(&run);
    make(&run, "argmax", "i64[3]", 0);
    int64_t close[] = {((int64_t)1 << 60), ((int64_t)1 << 60) + 1, 0};
    memcpy(run.in[0].data, close, sizeof close);
    assert_int_equal(op_run_kernel(&run), MW_OK);
    assert_int_equal(*(int64_t *)run.out[0].data, 1);
    op_run_done(&run);
}

static void argmax_of_all_counts_row_by_row(void **state)
{
    (void)state;
    for (uint64_t order = 0; order < 5; order++) {
        op_run run;
        make_and_run(&run, "argmax", "f32[3, 4, 5]", order);
        int64_t best = 0;
        for (int64_t i = 1; i < 60; i++)
            if (op_run_get(&run.in[0], i) > op_run_get(&run.in[0], best)) best = i;
        assert_int_equal(*(int64_t *)run.out[0].data, best);
        op_run_done(&run);
    }
}

/* A rank with part of the dim, or none of it, speaks of the whole dim's positions. */
static void argmax_of_a_shard_is_global(void **state)
{
    (void)state;
    mw_mesh *mesh;
    mw_layout layout;
    op_run run;
    int64_t to;
    if (mw_mesh_parse("x=4", &mesh) != MW_OK) fail();
    if (mw_layout_parse(mesh, "f32[2·3@x]", &layout) != MW_OK) fail();
    const mw_layout *layouts[1] = {&layout};
    static const float mine[] = {1, 7};
    make(&run, "argmax", "f32[6]", 0);
    mw_view in = {(void *)(uintptr_t)mine, MW_DTYPE_f32, 1, {2}, {1}};
    mw_view out = {&to, MW_DTYPE_i64, 0, {0}, {0}};
    int coord = 1;
    mw_kernel_call k = {&run.sample.call, 1,       1,    &in,        &out, mesh,
                        &coord,           layouts, NULL, &run.arena, NULL};
    assert_int_equal(run.op->kernel(&k), MW_OK);
    assert_int_equal(to, 4); /* it holds positions 1 and 4 */
    coord = 3;
    in.shape[0] = 0;
    assert_int_equal(run.op->kernel(&k), MW_OK);
    assert_int_equal(to, -1);
    op_run_done(&run);
    mw_mesh_unref(mesh);
}

static void topk_is_sorted_and_stable(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[4, 6], 3", "i64[3, 9]<4, 9, 1, false",
                                        "bf16[5, 3], 2, 0", "f64[7], 1", "u8[2, 30]<3, 20"};
    static const int dims[] = {1, 1, 0, 0, 1};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t at[MW_MAX_DIMS];
            make_and_run(&run, "topk", cases[c], order);
            const mw_view *in = &run.in[0];
            int sign = c == 1 ? -1 : 1;
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                unravel(&run.out[0], i, at);
                int64_t rank = at[dims[c]], place = index_at(&run.out[1], i), before = 0;
                double value = op_run_get(&run.out[0], i);
                for (int64_t j = 0; j < in->shape[dims[c]]; j++) {
                    at[dims[c]] = j;
                    double x = element(in, at);
                    before += ahead(x, value, sign) || (x == value && j < place);
                }
                at[dims[c]] = place;
                same(value, element(in, at), cases[c], i);
                same((double)before, (double)rank, cases[c], i);
            }
            op_run_done(&run);
        }
}

static void topk_puts_nan_where_the_largest_is(void **state)
{
    (void)state;
    static const float row[] = {1, NAN, 3, NAN, -2};
    static const int64_t down[] = {1, 3, 2, 0, 4}, up[] = {4, 0, 2, 1, 3};
    for (int i = 0; i < 2; i++) {
        op_run run;
        make(&run, "topk", i ? "f32[5], 5, 0, false" : "f32[5], 5", 0);
        memcpy(run.in[0].data, row, sizeof row);
        assert_int_equal(op_run_kernel(&run), MW_OK);
        assert_memory_equal(run.out[1].data, i ? up : down, sizeof up);
        op_run_done(&run);
    }
}

/* ---- joins
 * --------------------------------------------------------------------------------------- */

static void cat_lays_parts_one_after_the_other(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{f32[2, 3], f32[2, 3], f32[2, 3]}, 1", "{f32[2, 3], f32[4, 3], f32[0, 3]}",
        "{bf16[2, 3], f64[2, 1]}, -1", "{i64[3]}", "{f32[0], f32[2, 3], f32[1, 3]}"};
    static const int dims[] = {1, 0, 1, 0, 0};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t index[MW_MAX_DIMS];
            make_and_run(&run, "cat", cases[c], order);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                int part = 0, dim = dims[c];
                unravel(&run.out[0], i, index);
                while (run.in[part].ndim <= dim || index[dim] >= run.in[part].shape[dim] ||
                       mw__view_count(&run.in[part]) == 0) {
                    if (mw__view_count(&run.in[part])) index[dim] -= run.in[part].shape[dim];
                    part++;
                }
                same(op_run_get(&run.out[0], i), element(&run.in[part], index), cases[c], i);
            }
            op_run_done(&run);
        }
}

static void stack_lays_parts_side_by_side(void **state)
{
    (void)state;
    static const char *const cases[] = {"{f32[2, 3], f32[2, 3], f32[2, 3]}, 1", "{f32[4], f32[4]}",
                                        "{bf16[2, 3], f32[2, 3]}, -1", "{i64[], i64[], i64[]}"};
    static const int dims[] = {1, 0, 2, 0};
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (uint64_t order = 0; order < 5; order++) {
            op_run run;
            int64_t index[MW_MAX_DIMS];
            make_and_run(&run, "stack", cases[c], order);
            assert_int_equal(run.out[0].shape[dims[c]], run.sample.call.nin);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                unravel(&run.out[0], i, index);
                const mw_view *part = &run.in[index[dims[c]]];
                for (int d = dims[c]; d < part->ndim; d++)
                    index[d] = index[d + 1];
                same(op_run_get(&run.out[0], i), element(part, index), cases[c], i);
            }
            op_run_done(&run);
        }
}

/* Equal parts keep their letter in the result, behind one that counts them: shards join for free.
 */
static void equal_parts_may_be_sharded(void **state)
{
    (void)state;
    op_run run;
    make(&run, "cat", "{f32[8, 2], f32[8, 2]}", 0);
    const mw_operand *out = &run.rule.out[0];
    assert_int_equal(out->nletter[0], 2);
    assert_int_equal(run.rule.letter[out->letter[0][0]].size, 2);
    assert_int_equal(out->letter[0][1], run.rule.in[0].letter[0][0]);
    assert_int_equal(run.rule.letter[out->letter[0][1]].mark, MW_MARK_FREE);
    assert_int_equal(run.rule.nterm, 2);
    op_run_done(&run);
    make(&run, "cat", "{f32[8, 2], f32[4, 2]}", 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(run.rule.letter[run.rule.in[i].letter[0][0]].mark, MW_MARK_WHOLE);
    op_run_done(&run);
}

static void many_sizes_share_letters(void **state)
{
    (void)state;
    mw_str text = {0};
    op_run run;
    for (int i = 0; i < 32; i++) /* more than op_run holds: only the rule is asked for */
        mw__str_printf(&text, "%sf32[%d]", i ? ", " : "{", i % 8 + 1);
    mw__str_puts(&text, "}");
    memset(&run, 0, sizeof run);
    mw__arena_init(&run.arena);
    if (mw__sample_read(op_run_find("cat"), mw__str_text(&text), seed, &run.arena, &run.sample) !=
            MW_OK ||
        mw__rule_of(&run.sample.call, &run.arena, &run.rule) != MW_OK)
        fail_msg("%s", mw_last_error()->says);
    assert_int_equal(run.rule.out_meta[0].shape[0], 4 * 36);
    assert_int_equal(run.rule.nletter, 9);
    mw__str_done(&text);
    op_run_done(&run);
}

/* ---- refusals
 * ------------------------------------------------------------------------------------ */

static void refuses(const char *word, const char *text, mw_status code, const char *says)
{
    op_run run;
    mw_error_clear();
    mw_status status = op_run_make(&run, op_run_find(word), text, seed, 0);
    if (status == MW_OK) status = op_run_kernel(&run);
    op_run_done(&run);
    if (status != code || !strstr(mw_last_error()->says, says))
        fail_msg("%s(%s): status %d, says: %s", word, text, status, mw_last_error()->says);
}

static void misfits_are_explained(void **state)
{
    (void)state;
    refuses("embedding", "f32[5, 3], f32[2]", MW_ERR_ARG,
            "indices is f32[2]: it must hold integers");
    refuses("embedding", "f32[5, 3], i64[4]in(-3,-1)", MW_ERR_ARG,
            "is outside the table of size 5");
    refuses("index_select", "f32[5, 3], 2, i64[2]<5", MW_ERR_SHAPE, "dim");
    refuses("index_copy_", "f32[5, 3], 0, i64[2]in(5,7), f32[2, 3]", MW_ERR_ARG,
            "is outside the dim of size 5");
    refuses("gather", "f32[5, 3], 0, i64[2, 4]<3", MW_ERR_SHAPE,
            "none but dim 0 longer than in self");
    refuses("gather", "f32[5, 3], 1, i64[2]<3", MW_ERR_SHAPE, "index needs as many dims");
    refuses("argmax", "f32[5, 0], 1", MW_ERR_SHAPE, "self is f32[5, 0]: there is no element");
    refuses("topk", "f32[5, 3], 4", MW_ERR_ARG, "'k' is 4, but dim 1 of self has 3 elements");
    refuses("cat", "{f32[], f32[]}", MW_ERR_SHAPE, "no dims to join along; use stack");
    refuses("cat", "{f32[2, 3], f32[3, 4]}", MW_ERR_SHAPE,
            "tensors[1] is f32[3, 4], which does not go with f32[2, 3]");
    refuses("stack", "{f32[2, 3], f32[2, 4]}", MW_ERR_SHAPE, "tensors[1] is f32[2, 4]");
    refuses("stack", "{f32[2, 3]}, 3", MW_ERR_SHAPE, "dim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding_takes_rows),
        cmocka_unit_test(index_select_takes_parts),
        cmocka_unit_test(gather_takes_elements),
        cmocka_unit_test(a_shard_of_a_table_leaves_nothing_elsewhere),
        cmocka_unit_test(index_copy_writes_in_place),
        cmocka_unit_test(argmax_is_the_first_largest),
        cmocka_unit_test(argmax_settles_ties_and_nan),
        cmocka_unit_test(argmax_of_all_counts_row_by_row),
        cmocka_unit_test(argmax_of_a_shard_is_global),
        cmocka_unit_test(topk_is_sorted_and_stable),
        cmocka_unit_test(topk_puts_nan_where_the_largest_is),
        cmocka_unit_test(cat_lays_parts_one_after_the_other),
        cmocka_unit_test(stack_lays_parts_side_by_side),
        cmocka_unit_test(equal_parts_may_be_sharded),
        cmocka_unit_test(many_sizes_share_letters),
        cmocka_unit_test(misfits_are_explained),
    };
    print_message("seed %llu\n", LL(seed));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
