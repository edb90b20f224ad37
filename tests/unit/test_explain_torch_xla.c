/* What the explainer says of PyTorch/XLA's texts: annotations in code, custom ops, messages,
 * prints. Numbers are worked out by hand beside each text. */
#include "explain_check.h"

#include <stdio.h>

/* ---- annotations -------------------------------------------------------------------------------
 */

static const char code[] = "n = 6\n"
                           "mesh = xs.Mesh(np.arange(n), (n // 3, 3), ('p', 'q'))\n"
                           "w = torch.zeros(12, 9, dtype=torch.bfloat16).to('xla')\n"
                           "xs.mark_sharding(w, mesh, ('q', 'p'))\n"
                           "xs.mark_sharding(v, mesh, (('q', 'p'),\n"
                           "                 None))  # v comes from elsewhere\n"
                           "xs.mark_sharding(w, mesh, ('q', None))\n";

/* Rows in 3, columns in 2 with ceil: 9 = 5 + 4. Device q of row p is p*3+q. */
static void spec_cuts_in_its_order(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, code);
    const mw_entry *x = entry_at(e, "mark_sharding", 4);
    has(x, "sharding", MW_HOW_DERIVED, "{devices=[3,2]0,3,1,4,2,5}");
    has(x, "local shape", MW_HOW_DERIVED, "[4,5] at most");
    has(x, "local bytes", MW_HOW_DERIVED, "40 B");
    has(x, "shape", MW_HOW_STATED, "[12,9]");
    has(x, "mesh", MW_HOW_STATED, "p=2,q=3");
    assert_int_equal(x->nproblem, 0);
    const mw_entry *v = entry_at(e, "mark_sharding", 5);
    assert_int_equal(v->last, 6);
    has(v, "sharding", MW_HOW_DERIVED, "{devices=[6,1]0,3,1,4,2,5}");
    assert_null(fact_with(v, "local shape", ""));
    assert_true(names_missing(e, "shape and dtype of v"));
    assert_true(has_problem(entry_at(e, "mark_sharding", 7), "marked-twice"));
    mw_explain_free(e);
}

static void the_same_mark_again_is_fine(void **state)
{
    (void)state;
    mw_explain *e =
        explain_on(NULL, "m = Mesh(range(4), (4,))\nt = torch.ones(8, 2)\n"
                         "mark_sharding(t, m, (0, None))\nmark_sharding(t, m, (0, None))\n");
    const mw_entry *x = entry_at(e, "mark_sharding", 4);
    assert_int_equal(x->nproblem, 0);
    has(x, "no change", MW_HOW_DERIVED, "line 3");
    mw_explain_free(e);
}

/* Each spec and mesh that PyTorch/XLA asserts against. */
static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *spec, *kind;
    } refused[] = {
        {"Mesh(range(6), (2, 3), ('p', 'q'))", "('p',)", "spec-rank"},
        {"Mesh(range(6), (2, 3), ('p', 'q'))", "('p', 'p')", "spec-axis-twice"},
        {"Mesh(range(6), (2, 3), ('p', 'q'))", "(0, ('q', 'p'))", "spec-axis-twice"},
        {"Mesh(range(6), (2, 3), ('p', 'q'))", "('p', 'r')", "spec-axis"},
        {"Mesh(range(6), (2, 3))", "('p', None)", "spec-axis"},
        {"Mesh(range(6), (2, 3))", "(0, 2)", "spec-axis"},
        {"Mesh(range(6), (2, 3))", "(0, (1, (0,)))", "spec-nested"},
        {"Mesh(range(6), (2, 3))", "(0.5, None)", "spec-type"},
        {"Mesh(range(6), (2, 3), ('p', 'q'))", "('p')", "spec-type"},
        {"Mesh(range(5), (2, 3))", "(0, 1)", "device-count"},
        {"Mesh([0, 1, 2, 3, 4, 4], (2, 3))", "(0, 1)", "mesh-ids"},
        {"Mesh([0, 1, 2, 3, 4, 6], (2, 3))", "(0, 1)", "mesh-ids"},
        {"Mesh(range(6), (2, 3), ('p', 'p'))", "(0, 1)", "mesh-names"},
        {"Mesh(range(6), (2, 3), ('p',))", "(0, 1)", "mesh-names"},
    };
    for (int i = 0; i < (int)(sizeof refused / sizeof *refused); i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "t = torch.rand((4, 6))\nxs.mark_sharding(t, %s, %s)\n",
                       refused[i].mesh, refused[i].spec);
        mw_explain *e = explain_on(NULL, text);
        const mw_entry *x = entry_at(e, "mark_sharding", 2);
        if (!has_problem(x, refused[i].kind)) fail_msg("not %s: %s", refused[i].kind, text);
        assert_int_equal(x->nproblem, 1);
        assert_null(fact_with(x, "sharding", ""));
        mw_explain_free(e);
    }
}

/* One row over 3 devices: two hold padding only. */
static void idle_devices(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "t = torch.zeros(1, 10)\n"
                                     "xs.mark_sharding(t, xs.Mesh(range(6), (3, 2)), (0, 1))\n");
    const mw_entry *x = entry_at(e, "mark_sharding", 2);
    assert_true(has_problem(x, "idle-devices"));
    has(x, "devices without data", MW_HOW_DERIVED, "4 of 6 hold padding only: 2,3,4,5");
    has(x, "instead: partition_spec", MW_HOW_DERIVED, "(None, 1)");
    has(x, "instead: sharding", MW_HOW_DERIVED,
        "{devices=[1,2,3]0,2,4,1,3,5 last_tile_dim_replicate}");
    mw_explain_free(e);
}

/* ---- custom ops --------------------------------------------------------------------------------
 */

static const char cast[] =
    "torch._dynamo.exc.TorchRuntimeError: Failed running call_function "
    "xla.dynamo_mark_sharding(*(FakeTensor(..., device='xla:0', size=(2, 64, 48)), [s0, s1], "
    "(2, 3), \"('p', 'q')\", \"(None, 'p', 'q')\"), **{}):\n"
    "xla::dynamo_mark_sharding() Expected a value of type 'List[int]' for argument 'device_ids' "
    "but "
    "instead found type 'immutable_list'.\n"
    "Position: 1\n"
    "Value: [s0, s1]\n"
    "Declaration: xla::dynamo_mark_sharding(Tensor input, int[] device_ids, int[] mesh_shape, str "
    "axis_names, str partition_spec) -> Tensor\n"
    "Cast error details: Unable to cast Python instance\n"
    "after it\n";

static void a_cast_that_fails(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, cast);
    const mw_entry *x = entry_at(e, "error", 1);
    assert_int_equal(x->last, 6);
    assert_int_equal(mw_explain_entries(e), 1);
    assert_int_equal(mw_explain_unread(e), 1);
    has(x, "what blocks", MW_HOW_DERIVED, "s0 is a SymInt");
    has(x, "device ids", MW_HOW_STATED, "2");
    has(x, "devices of mesh_shape", MW_HOW_DERIVED, "6");
    assert_true(has_problem(x, "device-count"));
    has(x, "device order", MW_HOW_ASSUMED, "0 to 5");
    has(x, "sharding", MW_HOW_DERIVED, "{devices=[1,2,3]0,1,2,3,4,5}");
    has(x, "local shape", MW_HOW_DERIVED, "[2,32,16]");
    has(x, "this form", MW_HOW_DERIVED, "2024-03");
    has(x, "position", MW_HOW_STATED, "1");
    assert_false(has_problem(x, "idle-devices"));
    mw_explain_free(e);
}

/* Ids that are ints are not blamed. */
static void ids_that_are_ints(void **state)
{
    (void)state;
    mw_explain *e = explain_on(
        NULL,
        "RuntimeError: Failed running call_function xla.dynamo_mark_sharding(*(FakeTensor(..., "
        "size=(4,)), [1, 0], [2], 'None', '(0,)'), **{}):\n");
    const mw_entry *x = entry_at(e, "error", 1);
    assert_null(fact_with(x, "what blocks", ""));
    assert_false(has_problem(x, "device-count"));
    has(x, "sharding", MW_HOW_DERIVED, "{devices=[2]1,0}");
    mw_explain_free(e);
}

static void op_calls_in_code(void **state)
{
    (void)state;
    mw_explain *e = explain_on(
        NULL,
        "torch.ops.xla.dynamo_mark_sharding(y, [0, 1, 2, 3], [2, 2], 'None', '(1, 0)')\n"
        "y = torch.ops.xla.dynamo_mark_sharding(y, [0, 1, 2, 3], [2, 2], 'None', '(1, 0)')\n"
        "y = torch.ops.xla.aot_mark_sharding(y, \"{'device_ids': [3, 2, 1, 0], 'mesh_shape': (2, "
        "2), 'axis_names': ('p', 'q')}\", \"('q', None)\")\n"
        "torch.ops.xla.xla_mark_sharding_dynamo_custom_op(t, [[0, 1], [2, 3]], [[0, 1]], [[0, "
        "2], [1, 3]], 5)\n");
    assert_true(has_problem(entry_at(e, "mark_sharding", 1), "dropped-result"));
    assert_false(has_problem(entry_at(e, "mark_sharding", 2), "dropped-result"));
    has(entry_at(e, "mark_sharding", 2), "sharding", MW_HOW_DERIVED, "{devices=[2,2]0,2,1,3}");
    has(entry_at(e, "mark_sharding", 3), "sharding", MW_HOW_DERIVED,
        "{devices=[2,1,2]1,3,0,2 last_tile_dim_replicate}");
    has(entry_at(e, "mark_sharding", 4), "sharding", MW_HOW_STATED,
        "{devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}");
    mw_explain_free(e);
}

/* ---- programs ----------------------------------------------------------------------------------
 */

/* [2,6] x [6,8], columns in 4: local [2,2]; times [8,5], rows in 4: terms of [2,5]. Its 10 elements
 * in chunks of 3: three other terms of one's own chunk, then the 7 of the others: 64 B. The
 * all_gather joins two copies; gathering its pieces costs half of 192 B. */
static const char program[] = "ids = np.arange(4)\n"
                              "a, b = 1, 2\n"
                              "x = torch.ones(2, 6)\n"
                              "u = torch.ones(6, 8)\n"
                              "v = torch.ones(8, 5)\n"
                              "xs.mark_sharding(u, xs.Mesh(ids, (1, 4)), (0, 1))\n"
                              "xs.mark_sharding(v, xs.Mesh(ids, (4, 1)), (0, 1))\n"
                              "y = (x @ u) @ v\n"
                              "t = torch.ones(8, 6)\n"
                              "xs.mark_sharding(t, xs.Mesh(ids, (2, 2)), (0, None))\n"
                              "g = xm.all_gather(t, dim=1, groups=[[0, 2], [1, 3]])\n";

static void products_and_gathers(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, program);
    const mw_entry *last = NULL;
    int products = 0;
    for (int64_t i = 0; i < mw_explain_entries(e); i++) {
        const mw_entry *x = mw_explain_entry(e, i);
        if (strcmp(x->event, "product") != 0) continue;
        if (products++ == 0) {
            has(x, "sharding of the result", MW_HOW_ASSUMED, "{devices=[1,4]0,1,2,3}");
            has(x, "communication", MW_HOW_ASSUMED, "none");
            assert_null(fact_with(x, "replica groups", ""));
        }
        last = x;
    }
    assert_int_equal(products, 2);
    has(last, "communication", MW_HOW_ASSUMED, "all_reduce a sum, 64 B");
    has(last, "replica groups", MW_HOW_ASSUMED, "{{0,1,2,3}}");
    assert_null(last->collective); /* the text shows no movement */
    const mw_entry *g = entry_at(e, "all_gather", 11);
    has(g, "literal result", MW_HOW_DERIVED, "[8,12]");
    has(g, "to gather the pieces", MW_HOW_DERIVED, "96 B received per device, over {{0,2},{1,3}}");
    assert_true(has_problem(g, "collective-on-whole"));
    mw_explain_free(e);
}

/* ---- messages and prints -----------------------------------------------------------------------
 */

static void messages(void **state)
{
    (void)state;
    mw_explain *e = explain_on(
        NULL,
        "Traceback (most recent call last):\n"
        "  File \"/u/net.py\", line 7, in f\n"
        "    m = xs.Mesh(ids, (2, 5))\n"
        "  File \"/p/site-packages/torch_xla/distributed/spmd/xla_sharding.py\", line 9, in g\n"
        "    assert n == m\n"
        "AssertionError: Number of device IDs (9) must match mesh size (10)\n"
        "RuntimeError: Input tensor is not an XLA tensor: CPUFloatType\n"
        "RuntimeError: Existing annotation must be cleared first: {devices=[2,1]0,1}\n"
        "AssertionError: Partition spec length (3) should be equal to the input rank (2).\n"
        "AssertionError: Partition spec length (3) should be equal to the input rank (2).\n");
    const mw_entry *x = entry_at(e, "error", 6);
    assert_string_equal(x->source, "torch_xla");
    has(x, "device ids", MW_HOW_STATED, "9");
    has(x, "mesh size", MW_HOW_STATED, "10");
    assert_true(has_problem(x, "device-count"));
    has(entry_at(e, "error", 7), "it is", MW_HOW_STATED, "CPUFloatType");
    has(entry_at(e, "error", 8), "it has: meaning", MW_HOW_DERIVED, "dim 0 cut in 2");
    assert_int_equal(entry_at(e, "error", 9)->count, 2);
    mw_explain_free(e);
}

/* Nothing printed is not "replicated"; what linear would make of it is an assumption. */
static void prints_of_nothing(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "x {devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}\n"
                                     "mid\n"
                                     "out ''\n"
                                     "other words here\n"
                                     "late\n");
    has(entry_at(e, "sharding", 1), "meaning", MW_HOW_DERIVED, "dim 1 cut in 2");
    const mw_entry *mid = entry_at(e, "sharding", 2);
    has(mid, "sharding", MW_HOW_STATED, "nothing is printed");
    has(mid, "by propagation", MW_HOW_ASSUMED, "");
    assert_int_equal(mid->nproblem, 0);
    (void)entry_at(e, "sharding", 3);
    assert_int_equal(mw_explain_entries(e), 3);
    assert_int_equal(mw_explain_unread(e), 2);
    assert_true(names_missing(e, "sharding of mid"));
    mw_explain_free(e);
}

static const char *const torn[] = {code, cast, program};

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
        cmocka_unit_test(spec_cuts_in_its_order),
        cmocka_unit_test(the_same_mark_again_is_fine),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(idle_devices),
        cmocka_unit_test(a_cast_that_fails),
        cmocka_unit_test(ids_that_are_ints),
        cmocka_unit_test(op_calls_in_code),
        cmocka_unit_test(products_and_gathers),
        cmocka_unit_test(messages),
        cmocka_unit_test(prints_of_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
