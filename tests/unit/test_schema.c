/* Declarations: what is read prints back, says what it holds, and bad text is named by its column.
 */
#include "ops/schema.h"
#include "ops/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* Each in ATen's own spelling, so that printing gives the same text. */
static const char *const declarations[] = {
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
    "dtype=None) -> Tensor",
    "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
    "bias, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
    "padding=[0, 0], SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> "
    "Tensor(a)",
    "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
    "aten::batch_norm(Tensor input, float momentum=0.1, float eps=1e-05, float big=1e+30, bool[3] "
    "mask=[True, False, True]) -> Tensor",
    "aten::elu(Tensor self, Scalar alpha=1.0, Scalar scale=-2) -> Tensor",
    "aten::_assert(Tensor self) -> ()",
    "meshwise::mark_sharding(Tensor t, int[] device_ids, int[] mesh_shape, str[]? axis_names, str "
    "partition_spec) -> Tensor",
};

static void print_gives_the_text_back(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(declarations); i++) {
        mw_schema schema, again;
        mw_str text = {0};
        assert_int_equal(mw__schema_parse(declarations[i], &schema), MW_OK);
        mw__schema_str(&schema, &text);
        assert_string_equal(mw__str_text(&text), declarations[i]);
        assert_int_equal(mw__schema_parse(mw__str_text(&text), &again), MW_OK);
        assert_memory_equal(&schema, &again, sizeof schema);
        mw__str_done(&text);
    }
}

static void fields_hold_what_the_text_says(void **state)
{
    (void)state;
    mw_schema s;
    assert_int_equal(mw__schema_parse(declarations[3], &s), MW_OK);
    assert_string_equal(s.space, "aten");
    assert_string_equal(s.name, "sum");
    assert_string_equal(s.overload, "dim_IntList");
    assert_int_equal(s.narg, 4);
    assert_int_equal(s.nresult, 1);
    assert_true(s.arg[1].type.list && s.arg[1].type.optional);
    assert_int_equal(s.arg[1].type.count, 1);
    assert_false(s.arg[1].has_default);
    assert_false(s.arg[2].kwarg_only);
    assert_int_equal(s.arg[2].absent.kind, MW_ARG_BOOL);
    assert_true(s.arg[3].kwarg_only && s.arg[3].has_default);
    assert_int_equal(mw__schema_find(&s, "keepdim", 7), 2);
    assert_int_equal(mw__schema_find(&s, "keep", 4), -1);

    assert_int_equal(mw__schema_parse(declarations[1], &s), MW_OK);
    assert_true(s.arg[0].type.written && s.arg[0].type.alias == 'a');
    assert_true(s.result[0].written);

    assert_int_equal(mw__schema_parse(declarations[8], &s), MW_OK);
    mw_arg padding = mw__schema_default(&s.arg[4]);
    assert_int_equal(padding.count, 2);
    assert_int_equal(padding.ints[1], 0);

    assert_int_equal(mw__schema_parse(declarations[12], &s), MW_OK);
    assert_string_equal(mw__schema_default(&s.arg[1]).s, "none");

    assert_int_equal(mw__schema_parse(declarations[13], &s), MW_OK);
    assert_true(s.arg[2].absent.f == 1e-5);
}

static void spaces_quotes_and_dtypes_are_read_in_other_spellings(void **state)
{
    (void)state;
    mw_schema s;
    mw_str text = {0};
    assert_int_equal(
        mw__schema_parse("aten::f( Tensor  x,str m='a',*,ScalarType d=long )->Tensor", &s), MW_OK);
    mw__schema_str(&s, &text);
    assert_string_equal(mw__str_text(&text),
                        "aten::f(Tensor x, str m=\"a\", *, ScalarType d=i64) -> Tensor");
    mw__str_done(&text);
}

static void bad_text_is_named_by_its_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "expected the name of a namespace at column 1"},
        {"aten", "expected '::' after the namespace at column 5"},
        {"aten::f(Tenso x) -> Tensor", "unknown type 'Tenso' at column 9"},
        {"aten::f(Tensor) -> Tensor", "expected the name of an argument at column 15"},
        {"aten::f(Tensor x, Tensor x) -> Tensor", "argument 'x' twice at column 26"},
        {"aten::f(int x=1, int y) -> Tensor", "'y' without a default"},
        {"aten::f(int x=0.5) -> Tensor", "a number as default of a int"},
        {"aten::f(int x=None) -> Tensor", "None as default of what is not optional"},
        {"aten::f(bool x=1) -> Tensor", "a number as default of a bool"},
        {"aten::f(str x=\"abc) -> Tensor", "a string that does not end"},
        {"aten::f(int[2 x) -> Tensor", "expected ']' after a list's length"},
        {"aten::f(int[9] x) -> Tensor", "a length from 1 to 8"},
        {"aten::f(int[] x=[1,2,3,4,5]) -> Tensor", "more than 4 values in a default"},
        {"aten::f(Tensor(a x) -> Tensor", "expected ')' after an alias"},
        {"aten::f(int x=99999999999999999999) -> Tensor", "unknown default"},
        {"aten::f(Tensor x)", "expected '->'"},
        {"aten::f(Tensor x) -> Tensor y z", "text after the end"},
        {"aten::f(*, ) -> Tensor", "expected a type"},
    };
    for (int i = 0; i < MW_COUNT(bad); i++) {
        mw_schema schema = {.narg = 77};
        assert_int_equal(mw__schema_parse(bad[i].text, &schema), MW_ERR_PARSE);
        assert_int_equal(schema.narg, 77); /* untouched */
        if (!strstr(mw_last_error()->says, bad[i].says))
            fail_msg("%s\nsays: %s", bad[i].says, mw_last_error()->says);
    }
}

static void too_much_for_the_struct_is_refused(void **state)
{
    (void)state;
    mw_schema schema;
    mw_str text = {0};
    mw__str_puts(&text, "aten::f(");
    for (int i = 0; i <= MW_SCHEMA_ARGS; i++)
        mw__str_printf(&text, "%sint a%d", i ? ", " : "", i);
    mw__str_puts(&text, ") -> Tensor");
    assert_int_equal(mw__schema_parse(mw__str_text(&text), &schema), MW_ERR_PARSE);
    assert_non_null(strstr(mw_last_error()->says, "more than 16 arguments"));
    mw__str_clear(&text);
    mw__str_puts(&text, "aten::");
    for (int i = 0; i < MW_SCHEMA_NAME; i++)
        mw__str_putc(&text, 'x');
    mw__str_puts(&text, "() -> Tensor");
    assert_int_equal(mw__schema_parse(mw__str_text(&text), &schema), MW_ERR_PARSE);
    assert_non_null(strstr(mw_last_error()->says, "longer than 39 characters"));
    mw__str_done(&text);
}

static void floats_print_as_the_shortest_text_that_reads_back(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1, "1.0"},
        {-3, "-3.0"},
        {1e-5, "1e-05"},
        {1.0 / 3, "0.3333333333333333"},
        {0, "0.0"},
        {1e300, "1e+300"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        mw_str text = {0};
        mw__float_str(cases[i].value, &text);
        assert_string_equal(mw__str_text(&text), cases[i].text);
        mw__str_done(&text);
    }
}

/* ---- look-up -------------------------------------------------------------------------------- */

static const mw_op first = {.schema = "test::blend(Tensor self) -> Tensor",
                            .rule = "self[n] -> [n]"};
static const mw_op second = {.schema = "test::blend.Scalar(Tensor self, Scalar x) -> Tensor",
                             .rule = "self[n] -> [n]"};
static const mw_op same_name = {.schema = "test::blend.Scalar(Tensor self) -> Tensor",
                                .rule = "self[n] -> [n]"};
static const mw_op bad_rule = {.schema = "test::bad(Tensor self) -> Tensor",
                               .rule = "self[n] -> [m]"};
static const mw_op two_results = {.schema = "test::two(Tensor self) -> (Tensor, Tensor)",
                                  .rule = "self[n] -> [n]"};

static bool finds(const char *name, const mw_op *op)
{
    return mw__op_find(name, strlen(name)) == op;
}

static void added_ops_are_found_by_every_spelling(void **state)
{
    (void)state;
    assert_true(finds("blend", NULL));
    assert_int_equal(mw__op_add(&first), MW_OK);
    assert_int_equal(mw__op_add(&second), MW_OK);
    assert_int_equal(mw__op_add(&second), MW_OK); /* again: nothing happens */
    assert_true(finds("blend", &first));
    assert_true(finds("blend.default", &first));
    assert_true(finds("blend.Scalar", &second));
    assert_true(finds("test::blend.Scalar", &second));
    assert_true(finds("torch.ops.test.blend.default", &first));
    assert_true(finds("aten::blend.Scalar", NULL));
    assert_true(finds("blend.Tensor", NULL));
    assert_int_equal(mw__op_add(&same_name), MW_ERR_ARG);
    assert_non_null(strstr(mw_last_error()->says, "there is an op 'test::blend.Scalar' already"));
    assert_int_equal(mw__op_add(&bad_rule), MW_ERR_PARSE);
    assert_int_equal(mw__op_add(&two_results), MW_ERR_INTERNAL);
    assert_true(finds("bad", NULL));
}

static void table_ops_are_found_by_every_spelling(void **state)
{
    (void)state;
    assert_true(MW_OP_COUNT > 0);
    for (int i = 0; i < (int)MW_OP_COUNT; i++) {
        const mw_op *op = mw__op_at((mw_op_id)i);
        const mw_op_info *info = mw__op_info_of(op);
        char key[MW_OP_KEY + 8], full[MW_OP_KEY];
        assert_non_null(info);
        assert_ptr_equal(info->op, op);
        assert_true(finds(mw__op_word((mw_op_id)i), op));
        (void)mw__op_key_of(info, MW_KEY_FULL, full);
        if (!finds(full, op)) fail_msg("%s is not found", full);
        (void)snprintf(key, sizeof key, "aten::%s", full);
        assert_true(finds(key, op));
        (void)snprintf(key, sizeof key, "aten.%s", full);
        assert_true(finds(key, op));
        assert_non_null(mw__op_find(info->schema.name, strlen(info->schema.name)));
    }
}

static void unknown_op_names_the_nearest(void **state)
{
    (void)state;
    const mw_op *op = NULL;
    char word[64] = {0};
    const char *known = mw__op_word((mw_op_id)0);
    assert_true(strlen(known) + 3 < sizeof word);
    (void)snprintf(word, sizeof word, "%sq", known);
    assert_int_equal(mw__op_named(word, strlen(word), &op), MW_ERR_ARG);
    assert_null(op);
    assert_non_null(strstr(mw_last_error()->says, word));
    assert_non_null(strstr(mw_last_error()->hint, "did you mean"));
    assert_int_equal(mw__op_named("aten::nothing_like_it", 21, &op), MW_ERR_ARG);
    assert_string_equal(mw_last_error()->hint, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(print_gives_the_text_back),
        cmocka_unit_test(fields_hold_what_the_text_says),
        cmocka_unit_test(spaces_quotes_and_dtypes_are_read_in_other_spellings),
        cmocka_unit_test(bad_text_is_named_by_its_column),
        cmocka_unit_test(too_much_for_the_struct_is_refused),
        cmocka_unit_test(floats_print_as_the_shortest_text_that_reads_back),
        cmocka_unit_test(added_ops_are_found_by_every_spelling),
        cmocka_unit_test(table_ops_are_found_by_every_spelling),
        cmocka_unit_test(unknown_op_names_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
