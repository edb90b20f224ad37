/* Boxed arguments: what fits a schema, what torch would convert, and the sentences for the rest. */
#include "ops/args.h"
#include "ops/rule.h"
#include "ops/sample.h"
#include "ops/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TENSOR(n)                                       \
    {                                                   \
        .kind = MW_ARG_TENSOR, .first = (n), .count = 1 \
    }
#define INT(x)                       \
    {                                \
        .kind = MW_ARG_INT, .i = (x) \
    }
#define FLOAT(x)                       \
    {                                  \
        .kind = MW_ARG_FLOAT, .f = (x) \
    }
#define BOOL(x)                       \
    {                                 \
        .kind = MW_ARG_BOOL, .i = (x) \
    }
#define STR(x)                       \
    {                                \
        .kind = MW_ARG_STR, .s = (x) \
    }
#define SYMBOL(x)                       \
    {                                   \
        .kind = MW_ARG_SYMBOL, .s = (x) \
    }
#define DTYPE(x)                                \
    {                                           \
        .kind = MW_ARG_DTYPE, .i = MW_DTYPE_##x \
    }
#define INTS(n, ...)                                                 \
    {                                                                \
        .kind = MW_ARG_INTS, .count = (n), .ints = (const int64_t[]) \
        {                                                            \
            __VA_ARGS__                                              \
        }                                                            \
    }
#define STRS(n, ...)                                                     \
    {                                                                    \
        .kind = MW_ARG_STRS, .count = (n), .strs = (const char *const[]) \
        {                                                                \
            __VA_ARGS__                                                  \
        }                                                                \
    }
#define NONE                \
    {                       \
        .kind = MW_ARG_NONE \
    }

static const char mm[] = "aten::mm(Tensor self, Tensor mat2) -> Tensor";
static const char mark[] =
    "meshwise::mark_sharding(Tensor t, int[] device_ids, int[] mesh_shape, str[]? axis_names, str "
    "partition_spec) -> Tensor";
static const char many[] =
    "aten::many(Tensor self, int[1]? dim=None, float eps=1e-05, Scalar beta=1, int[2] stride=1, "
    "*, bool flag=False, ScalarType? dtype=None, str? mode=None, Tensor? out=None) -> Tensor";

static const mw_meta tensors[] = {
    {.dtype = MW_DTYPE_f32, .ndim = 2, .shape = {2, 3}},
    {.dtype = MW_DTYPE_bf16, .ndim = 1, .shape = {7}},
};

static mw_status bind(const char *text, const mw_given *given, int n, mw_arena *arena,
                      mw_schema *schema, mw_bound *bound)
{
    assert_int_equal(mw__schema_parse(text, schema), MW_OK);
    return mw__args_bind(schema, given, n, tensors, arena, bound);
}

static void misfits_are_named(void **state)
{
    (void)state;
    const struct { /* not static: lists are compound literals */
        const char *schema;
        int n;
        mw_given given[6];
        const char *says, *hint;
    } bad[] = {
        {mm,
         2,
         {{NULL, TENSOR(0)}, {NULL, INT(3)}},
         "mm: expected Tensor for argument 'mat2' (position 1), got int 3\n"
         "  declaration: aten::mm(Tensor self, Tensor mat2) -> Tensor",
         ""},
        {mark,
         2,
         {{NULL, TENSOR(0)}, {NULL, SYMBOL("[u0]")}},
         "mark_sharding: expected int[] for argument 'device_ids' (position 1), got a value known "
         "only at run time: [u0]\n  declaration: meshwise::mark_sharding(Tensor t, int[] "
         "device_ids, int[] mesh_shape, str[]? axis_names, str partition_spec) -> Tensor",
         ""},
        {mark,
         2,
         {{NULL, TENSOR(0)}, {NULL, INT(3)}},
         "expected int[] for argument 'device_ids' (position 1), got int 3",
         ""},
        {mm, 1, {{NULL, TENSOR(0)}}, "mm: missing a value for argument 'mat2' (position 1)", ""},
        {mm,
         3,
         {{NULL, TENSOR(0)}, {NULL, TENSOR(0)}, {NULL, TENSOR(1)}},
         "mm: takes 2 positional arguments, got 3",
         ""},
        {mm,
         2,
         {{NULL, TENSOR(0)}, {"mat3", TENSOR(1)}},
         "mm: unknown argument 'mat3'",
         "did you mean 'mat2'?"},
        {mm,
         3,
         {{NULL, TENSOR(0)}, {"mat2", TENSOR(1)}, {"self", TENSOR(1)}},
         "mm: argument 'self' (position 0) is given twice",
         ""},
        {mm,
         2,
         {{NULL, TENSOR(0)}, {NULL, NONE}},
         "expected Tensor for argument 'mat2' (position 1), got None",
         ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {NULL, FLOAT(1.5)}},
         "expected int[1]? for argument 'dim' (position 1), got float 1.5",
         ""},
        {many, 2, {{NULL, TENSOR(0)}, {NULL, TENSOR(1)}}, "got Tensor bf16[7]", ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {"eps", BOOL(1)}},
         "expected float for argument 'eps' (position 2), got bool True",
         ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {"beta", STR("x\"y")}},
         "expected Scalar for argument 'beta' (position 3), got str \"x\\\"y\"",
         ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {"flag", INT(1)}},
         "expected bool for argument 'flag' (position 5), got int 1",
         ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {"dtype", STR("f33")}},
         "expected ScalarType? for argument 'dtype' (position 6), got str \"f33\"",
         ""},
        {many,
         2,
         {{NULL, TENSOR(0)}, {"mode", DTYPE(f16)}},
         "expected str? for argument 'mode' (position 7), got dtype f16",
         ""},
        {many,
         2,
         {{NULL, INTS(2, 4, 5)}, {"eps", FLOAT(1)}},
         "expected Tensor for argument 'self' (position 0), got int[] [4, 5]",
         ""},
        {many,
         6,
         {{NULL, TENSOR(0)},
          {NULL, NONE},
          {NULL, FLOAT(1)},
          {NULL, INT(1)},
          {NULL, INT(1)},
          {NULL, BOOL(1)}},
         "many: takes 5 positional arguments, got 6",
         "'flag' and what follows it are given by name"},
        {mark,
         4,
         {{NULL, TENSOR(0)}, {NULL, INTS(1, 0)}, {NULL, INTS(1, 1)}, {NULL, STR("x")}},
         "expected str[]? for argument 'axis_names' (position 3), got str \"x\"",
         ""},
    };
    for (int i = 0; i < MW_COUNT(bad); i++) {
        mw_arena arena;
        mw_schema schema;
        mw_bound bound = {.narg = 77};
        mw__arena_init(&arena);
        assert_int_equal(bind(bad[i].schema, bad[i].given, bad[i].n, &arena, &schema, &bound),
                         MW_ERR_ARG);
        assert_int_equal(bound.narg, 77);
        if (!strstr(mw_last_error()->says, bad[i].says))
            fail_msg("expected %s\ngot      %s", bad[i].says, mw_last_error()->says);
        assert_non_null(strstr(mw_last_error()->says, "\n  declaration: "));
        assert_string_equal(mw_last_error()->hint, bad[i].hint);
        mw__arena_done(&arena);
    }
}

static void defaults_and_conversions_fill_the_call(void **state)
{
    (void)state;
    mw_arena arena;
    mw_schema schema;
    mw_bound b;
    mw__arena_init(&arena);
    const mw_given given[] = {{NULL, TENSOR(1)},      {NULL, INT(-1)},    {"eps", INT(2)},
                              {"dtype", STR("half")}, {"out", TENSOR(0)}, {"beta", BOOL(1)}};
    assert_int_equal(bind(many, given, MW_COUNT(given), &arena, &schema, &b), MW_OK);
    assert_int_equal(b.narg, 9);
    assert_int_equal(b.nin, 2);
    assert_int_equal(b.operand[0], 1); /* schema order: self, then out */
    assert_int_equal(b.operand[1], 0);
    assert_int_equal(b.arg[0].first, 0);
    assert_int_equal(b.arg[8].first, 1);
    assert_int_equal(b.arg[1].kind, MW_ARG_INTS); /* int for int[1]? */
    assert_int_equal(b.arg[1].count, 1);
    assert_int_equal(b.arg[1].ints[0], -1);
    assert_int_equal(b.arg[2].kind, MW_ARG_FLOAT); /* int for float */
    assert_true(b.arg[2].f == 2);
    assert_int_equal(b.arg[3].kind, MW_ARG_BOOL); /* a Scalar stays what it is */
    assert_int_equal(b.arg[4].kind, MW_ARG_INTS); /* int[2] stride=1 */
    assert_int_equal(b.arg[4].count, 2);
    assert_int_equal(b.arg[4].ints[1], 1);
    assert_int_equal(b.arg[5].kind, MW_ARG_BOOL);
    assert_int_equal(b.arg[6].kind, MW_ARG_DTYPE);
    assert_int_equal(b.arg[6].i, MW_DTYPE_f16);
    assert_int_equal(b.arg[7].kind, MW_ARG_NONE);
    mw__arena_done(&arena);
}

static void lists_bind_and_an_empty_one_takes_the_type(void **state)
{
    (void)state;
    mw_arena arena;
    mw_schema schema;
    mw_bound b;
    mw__arena_init(&arena);
    const mw_given given[] = {{NULL, TENSOR(0)},
                              {NULL, INTS(2, 0, 1)},
                              {NULL, INTS(1, 2)},
                              {NULL, STRS(1, "x")},
                              {NULL, STR("(0, 1)")}};
    assert_int_equal(bind(mark, given, MW_COUNT(given), &arena, &schema, &b), MW_OK);
    assert_string_equal(b.arg[3].strs[0], "x");
    const mw_given empty[] = {{NULL, INTS(0, 0)}, {NULL, INT(0)}};
    assert_int_equal(
        bind("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", empty, 2, &arena, &schema, &b),
        MW_OK);
    assert_int_equal(b.arg[0].kind, MW_ARG_TENSORS);
    assert_int_equal(b.nin, 0);
    mw__arena_done(&arena);
}

/* ---- accessors and texts -------------------------------------------------------------------- */

static const mw_op op = {
    .schema = "test::args(Tensor input, Tensor[] rest, Tensor? bias=None, int dim=-1, "
              "Scalar x=2, *, Scalar alpha=1, ScalarType? dtype=None, str mode=\"a\") "
              "-> Tensor",
    .rule = "input[...] rest{[...]} bias?[...] -> [...]"};

static void accessors_read_what_is_there(void **state)
{
    (void)state;
    mw_arena arena;
    mw_sample s;
    int dim = 77;
    mw__arena_init(&arena);
    assert_int_equal(mw__op_add(&op), MW_OK);
    assert_int_equal(
        mw__sample_read(&op, "f32[2, 3], {f32[3]}, none, -2, 0.5, dtype=f16", 1, &arena, &s),
        MW_OK);
    assert_int_equal(mw__arg_operand(&s.call, 0), 0);
    assert_int_equal(mw__arg_operand(&s.call, 2), -1);
    assert_int_equal(mw__arg_int(&s.call, 3, 9), -2);
    assert_int_equal(mw__arg_int(&s.call, 2, 9), 9);
    assert_true(mw__arg_float(&s.call, 4, 9) == 0.5);
    assert_true(mw__arg_float(&s.call, 5, 9) == 1);
    assert_true(mw__arg_float(&s.call, 2, 9) == 9);
    assert_true(mw__arg_bool(&s.call, 2, true));
    assert_int_equal(mw__arg_dtype(&s.call, 6, MW_DTYPE_f32), MW_DTYPE_f16);
    assert_int_equal(mw__arg_dtype(&s.call, 2, MW_DTYPE_f32), MW_DTYPE_f32);
    assert_int_equal(mw__arg_dim(&s.call, 3, 2, &dim), MW_OK);
    assert_int_equal(dim, 0);
    assert_int_equal(mw__arg_dim(&s.call, 3, 1, &dim), MW_ERR_SHAPE);
    assert_string_equal(mw_last_error()->says,
                        "args: argument 'dim' (position 3) is -2, expected -1 to 0 for 1 dim");
    mw__arena_done(&arena);
}

static void calls_print_as_they_were_made(void **state)
{
    (void)state;
    static const struct {
        const char *sample, *text;
    } cases[] = {
        {"f32[2, 3], {f32[3], f16[]}",
         "args(input: f32[2, 3], rest: [f32[3], f16[]], None, -1, 2)"},
        {"f32[3], {}, f32[3], 0, 0.5, 2, f16, \"b\"",
         "args(input: f32[3], rest: [], bias: f32[3], 0, 0.5, alpha=2, dtype=f16, mode=\"b\")"},
    };
    assert_int_equal(mw__op_add(&op), MW_OK);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        mw_arena arena;
        mw_sample s;
        mw_str text = {0};
        mw__arena_init(&arena);
        assert_int_equal(mw__sample_read(&op, cases[i].sample, 1, &arena, &s), MW_OK);
        mw__call_str(&s.call, NULL, NULL, &text);
        assert_string_equal(mw__str_text(&text), cases[i].text);
        mw__str_done(&text);
        mw__arena_done(&arena);
    }
    mw_mesh *mesh;
    mw_layout layout;
    mw_arena arena;
    mw_sample s;
    mw_str text = {0};
    mw__arena_init(&arena);
    assert_int_equal(mw_mesh_parse("tp=2", &mesh), MW_OK);
    assert_int_equal(mw_layout_parse(mesh, "f32[3@tp·4]", &layout), MW_OK);
    assert_int_equal(mw__sample_read(&op, "f32[12], {f32[1]}", 1, &arena, &s), MW_OK);
    mw__call_str(&s.call, mesh, (const mw_layout *const[]){&layout, NULL}, &text);
    assert_string_equal(mw__str_text(&text),
                        "args(input: f32[3@tp·4], rest: [f32[1]], None, -1, 2)");
    mw__str_done(&text);
    mw__arena_done(&arena);
    mw_mesh_unref(mesh);
}

static void out_of_memory_is_an_error_and_nothing_leaks(void **state)
{
    (void)state;
    const mw_given good[] = {{NULL, TENSOR(0)}, {NULL, INT(1)}}, bad[] = {{NULL, INT(0)}};
    for (int which = 0; which < 2; which++)
        for (int64_t at = 1;; at++) {
            mw_fault_allocator fault;
            mw_arena arena;
            mw_schema schema;
            mw_bound bound;
            mw_fault_allocator_init(&fault, at, 1);
            mw_allocator_use(&fault.allocator);
            mw__arena_init(&arena);
            mw_status status =
                bind(many, which ? bad : good, which ? 1 : 2, &arena, &schema, &bound);
            mw__arena_done(&arena);
            mw_allocator_use(NULL);
            assert_int_equal(fault.live, 0);
            if (fault.count < at) {
                assert_int_equal(status, which ? MW_ERR_ARG : MW_OK);
                assert_true(at > 1);
                break;
            }
            assert_int_equal(status, MW_ERR_NOMEM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misfits_are_named),
        cmocka_unit_test(defaults_and_conversions_fill_the_call),
        cmocka_unit_test(lists_bind_and_an_empty_one_takes_the_type),
        cmocka_unit_test(accessors_read_what_is_there),
        cmocka_unit_test(calls_print_as_they_were_made),
        cmocka_unit_test(out_of_memory_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
