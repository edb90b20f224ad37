/* Verifying: the whole table holds on two ranks; faults planted into rules are found, and where one
 * is not possible the reason is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <meshwise/meshwise.h>
#include <stdio.h>
#include <string.h>

static void tell(void *user, const mw_verify_finding *f)
{
    (void)user;
    if (f->kind == MW_FINDING_REFUSED) return;
    printf("%s(%s): %s: %s\n", f->op, f->sample, f->placements, f->says);
}

static void test_whole_table(void **state)
{
    (void)state;
    static const char *const meshes[] = {"2", "3", "2x2"};
    for (int m = 0; m < 3; m++) {
        int64_t combinations = 0;
        int wrong = 0;
        for (int i = 0; i < mw_op_count(); i++) {
            mw_op_text text;
            mw_verify_result r;
            const mw_verify_options options = {.mesh = meshes[m]};
            assert_int_equal(mw_op_describe(mw_op_at(i), &text), MW_OK);
            if (mw_verify(text.word, &options, tell, NULL, &r) != MW_OK)
                fail_msg("%s: %s", text.word, mw_last_error()->says);
            assert_true(r.samples > 0 && r.combinations > 0 && r.valid > 0);
            wrong += r.incorrect + r.missing;
            combinations += r.combinations;
        }
        printf("mesh %s: %lld combinations\n", meshes[m], (long long)combinations);
        assert_int_equal(wrong, 0);
        assert_true(combinations > 50 * mw_op_count());
    }
}

typedef struct seen {
    int n;
    char placements[256], says[1024];
} seen;

static void note(void *user, const mw_verify_finding *f)
{
    seen *s = user;
    if (f->kind != MW_FINDING_INCORRECT || s->n++) return;
    (void)snprintf(s->placements, sizeof s->placements, "%s", f->placements);
    (void)snprintf(s->says, sizeof s->says, "%s", f->says);
}

static void expect_plant(const char *op, mw_plant plant, const char *placements)
{
    const mw_verify_options options = {.plant = plant};
    mw_verify_result r;
    seen s = {0};
    if (mw_verify(op, &options, note, &s, &r) != MW_OK)
        fail_msg("%s, %s: %s", op, mw_plant_name(plant), mw_last_error()->says);
    assert_true(r.incorrect > 0);
    assert_int_equal(r.incorrect, s.n);
    assert_true(r.planted[0]);
    assert_string_equal(s.placements, placements);
    assert_true(s.says[0]);
}

static void test_plants_are_found(void **state)
{
    (void)state;
    expect_plant("mm", MW_PLANT_LETTER, "R, R -> S(0)");
    expect_plant("linear", MW_PLANT_LETTER, "R, R, R -> S(0)");
    expect_plant("softmax_int", MW_PLANT_MARK, "S(1) -> S(1)");
    expect_plant("layer_norm", MW_PLANT_MARK, "S(1), S(0), S(0) -> S(1)");
    expect_plant("exp", MW_PLANT_FLAG, "P(sum) -> P(sum)");
    expect_plant("embedding", MW_PLANT_FLAG, "R, P(sum) -> P(sum)");
    expect_plant("add", MW_PLANT_BIAS, "P(sum), R -> P(sum)");
    expect_plant("addmm", MW_PLANT_BIAS, "P(sum), R, R -> P(sum)");
}

static void expect_not_possible(const char *op, mw_plant plant, const char *why)
{
    const mw_verify_options options = {.plant = plant};
    mw_verify_result r;
    assert_int_equal(mw_verify(op, &options, NULL, NULL, &r), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->says, why));
}

static void test_plants_that_are_not_possible(void **state)
{
    (void)state;
    expect_not_possible("mm", MW_PLANT_BIAS, "no second term");
    expect_not_possible("mm", MW_PLANT_MARK, "no letter of its rule has a mark");
    expect_not_possible("view", MW_PLANT_LETTER, "not from a rule");
    expect_not_possible("permute", MW_PLANT_FLAG, "a view passes every partial");
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    mw_verify_result r;
    assert_int_equal(mw_verify("aten::mmm", NULL, NULL, NULL, &r), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->hint, "'mm'"));
    const mw_verify_options mesh = {.mesh = "2x"};
    assert_int_equal(mw_verify("mm", &mesh, NULL, NULL, &r), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->hint, "2x2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_table),
        cmocka_unit_test(test_plants_are_found),
        cmocka_unit_test(test_plants_that_are_not_possible),
        cmocka_unit_test(test_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
