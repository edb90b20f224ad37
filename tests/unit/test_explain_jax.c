/* What the explainer says of JAX's texts: shardings, types, meshes, messages. The messages are JAX
 * 0.4's to 0.10's; numbers are worked out by hand beside each. */
#include "explain_check.h"

/* ---- shardings ---------------------------------------------------------------------------------
 */

static const char shardings[] =
    "k (12, 10) float16 NamedSharding(mesh=Mesh('p': 2, 'q': 3, axis_types=(Auto, Auto)), "
    "spec=P('q', 'p'), memory_kind=device)\n"
    "NamedSharding(mesh={'p': 2, 'q': 3}, spec=PartitionSpec(('p', 'q'), None))\n"
    "NamedSharding(mesh=Mesh(device_ids=array([[0, 1],\n"
    "       [3, 2]]), axis_names=('p', 'q')), spec=PartitionSpec('p', 'q'))\n"
    "AbstractMesh(('p', 2), ('q', 4))\n"
    "y: f32[8@p,4]{U:q}\n"
    "GSPMDSharding({devices=[2,1,4]<=[8] last_tile_dim_replicate})\n"
    "SingleDeviceSharding(device=CpuDevice(id=3), memory_kind=device)\n"
    "PositionalSharding([[{CPU 0, 2}]\n"
    "                    [{CPU 1, 3}]])\n";

static void reprs_of_all_versions(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, shardings);
    const mw_entry *k = entry_at(e, "sharding", 1);
    has(k, "mesh", MW_HOW_STATED, "p=2,q=3");
    has(k, "sharding", MW_HOW_DERIVED, "{devices=[3,2]0,3,1,4,2,5}");
    has(k, "local shape", MW_HOW_DERIVED, "[4,5]");
    has(k, "local bytes", MW_HOW_DERIVED, "40 B");
    has(k, "memory kind", MW_HOW_STATED, "device");
    has(entry_at(e, "sharding", 2), "sharding", MW_HOW_ASSUMED, "{devices=[6,1]0,1,2,3,4,5}");
    has(entry_at(e, "sharding", 3), "sharding", MW_HOW_ASSUMED, "{devices=[2,2]0,1,3,2}");
    has(entry_at(e, "mesh", 5), "mesh", MW_HOW_STATED, "p=2,q=4");
    const mw_entry *y = entry_at(e, "sharding", 6);
    has(y, "spec", MW_HOW_STATED, "P('p', None, unreduced={'q'})");
    has(y, "in words", MW_HOW_DERIVED, "each device of q holds a term");
    has(entry_at(e, "sharding", 7), "meaning", MW_HOW_DERIVED, "each piece on 4 devices");
    has(entry_at(e, "sharding", 8), "device", MW_HOW_STATED, "3");
    has(entry_at(e, "sharding", 9), "sharding", MW_HOW_STATED,
        "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}");
    assert_int_equal(mw_explain_unread(e), 0);
    mw_explain_free(e);
}

/* Sizes of axes come from --mesh, and say so; without it they are missing. */
static void types_need_a_mesh(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "float32[16@p,6]\n");
    assert_null(fact_with(entry_at(e, "sharding", 1), "local shape", ""));
    assert_true(names_missing(e, "sizes of the mesh axes"));
    mw_explain_free(e);
    e = explain_on("p=4", "float32[16@p,6]\n");
    has(entry_at(e, "sharding", 1), "mesh", MW_HOW_ASSUMED, "p=4");
    has(entry_at(e, "sharding", 1), "local shape", MW_HOW_DERIVED, "[4,6]");
    mw_explain_free(e);
}

/* A type without axes is no claim that it is replicated. meshwise's own types are not JAX's. */
static void types_without_axes(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, "ShapedArray(bfloat16[3,5])\n");
    has(entry_at(e, "type", 1), "sharding", MW_HOW_DERIVED, "not the same as replicated");
    mw_explain_free(e);
    e = explain_on("x=2", "a word f32[8@x, 4] of meshwise\n");
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        assert_string_not_equal(mw_explain_entry(e, i)->source, "jax");
    mw_explain_free(e);
}

/* ---- messages ----------------------------------------------------------------------------------
 */

#define MESH "Mesh('p': 2, 'q': 3)\n"

/* [6,10] = [6@p,9@q] x [9@q,10]: a device has [3,10] terms, 120 B. All-reduce over 3: two phases of
 * 2/3, 160 B; reduce-scatter 80 B; the last dim does not divide by 3. */
static const char contracting[] = MESH
    "f32[6@p,9@q]\n"
    "f32[9@q,10]\n"
    "Traceback (most recent call last):\n"
    "  File \"/u/run.py\", line 3, in <module>\n"
    "    c = a @ b\n"
    "  File \"/p/site-packages/jax/_src/lax.py\", line 8, in dot\n"
    "    raise error\n"
    "jax._src.core.ShardingTypeError: Contracting dimensions are sharded and it is ambiguous how "
    "the output should be sharded. Please specify the output sharding via the `out_sharding` "
    "parameter. Got lhs_contracting_spec=('q',) and rhs_contracting_spec=('q',)\n";

static void a_contraction(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, contracting);
    const mw_entry *x = entry_at(e, "error", 9);
    assert_string_equal(x->source, "jax");
    assert_true(has_problem(x, "ambiguous-result"));
    has(x, "lhs", MW_HOW_ASSUMED, "f32[6@p, 9@q], of line 2");
    has(x, "what would work", MW_HOW_ASSUMED, "P('p', None): all_reduce q sum, 160 B");
    has(x, "what would work", MW_HOW_ASSUMED,
        "P(('p', 'q'), None): reduce_scatter q dim 0 sum, 80 B");
    assert_null(fact_with(x, "what would work", "P('p', 'q'): reduce_scatter"));
    mw_explain_free(e);
}

/* Without operands: parts of the result. Over 2: all-reduce 1, reduce-scatter a half. */
static void a_contraction_of_unknown_operands(void **state)
{
    (void)state;
    const char *message = strstr(contracting, "jax._src");
    mw_explain *e = explain_on("q=2", message);
    const mw_entry *x = entry_at(e, "error", 1);
    has(x, "what would work", MW_HOW_ASSUMED, "reduce_scatter q dim 0 sum, 1/2 of the tensor");
    assert_true(names_missing(e, "operands of the product"));
    mw_explain_free(e);
    e = explain_on(NULL, message);
    assert_null(fact_with(entry_at(e, "error", 1), "what would work", ""));
    assert_true(names_missing(e, "sizes of the mesh's axes"));
    mw_explain_free(e);
}

static const char others[] = MESH
    "add operation with inputs: f32[6@p,4], f32[6,4@p] produces an illegally sharded result: "
    "f32[6@p,4@p]\n"
    "mul got incompatible shardings for broadcasting: ('p', None), ('q', None).\n"
    "This reshape is not supported. Please specify the sharding of the output via the "
    "`out_sharding` "
    "argument of jax.lax.reshape. Got operand type: float32[6,4@p], new sizes: (24,)\n"
    "Arguments to sort must be unsharded over the sorting dimension. Got arg "
    "sharding=NamedSharding(mesh=AbstractMesh('p': 2, 'q': 3, axis_types=(Explicit, Explicit)), "
    "spec=P(None, 'q')) and sorting dimension=1\n"
    "The array sharding: P('p', None) (`with_sharding_constraint` acts as an assert when all axes "
    "of "
    "mesh are of type `Explicit`. The array sharding: P('p', None) did not match the sharding "
    "provided: "
    "P(None, 'p').\n"
    "lhs is unreduced while rhs is not. `add` operation does not allow this because there will be "
    "implicit communication.\n"
    "lhs and rhs to `mul` cannot be unreduced since mul is bilinear. Got lhs=frozenset({'q'}), "
    "rhs=frozenset({'q'})\n"
    "NotImplementedError: sharding rule for scatter-add is not implemented. Please file a bug\n";

static void operands_that_differ(void **state)
{
    (void)state;
    mw_explain *e = explain_on(NULL, others);
    const mw_entry *add = entry_at(e, "error", 2);
    has(add, "op", MW_HOW_STATED, "add");
    has(add, "the result would be", MW_HOW_STATED, "P('p', 'p')");
    has(add, "operand 0: local shape", MW_HOW_DERIVED, "[3,4]");
    has(add, "what would work", MW_HOW_DERIVED,
        "operand 1 to P('p', None): all_to_all p 1->0, 24 B");
    const mw_entry *mul = entry_at(e, "error", 3);
    has(mul, "op", MW_HOW_STATED, "mul");
    has(mul, "operand 1: spec", MW_HOW_STATED, "P('q', None)");
    assert_true(has_problem(mul, "shardings-differ"));
    const mw_entry *reshape = entry_at(e, "error", 4);
    has(reshape, "without moving", MW_HOW_DERIVED, "f32[6\u00b74@p]");
    has(reshape, "what would work", MW_HOW_DERIVED, "all_gather p dim 1, 48 B");
    const mw_entry *sort = entry_at(e, "error", 5);
    has(sort, "dim", MW_HOW_STATED, "1");
    has(sort, "what would work", MW_HOW_DERIVED,
        "P(None, None): all_gather q dim 1, 2/3 of the tensor");
    has(sort, "what would work", MW_HOW_DERIVED,
        "P('q', None): all_to_all q 1->0, 2/9 of the tensor");
    const mw_entry *change = entry_at(e, "error", 6);
    has(change, "resharding would cost", MW_HOW_DERIVED, "all_to_all p 0->1, 1/4 of the tensor");
    assert_true(names_missing(e, "the operand in line 7"));
    has(entry_at(e, "error", 8), "what would work", MW_HOW_DERIVED, "all_reduce q sum, 4/3");
    has(entry_at(e, "error", 9), "op", MW_HOW_STATED, "scatter-add");
    mw_explain_free(e);
}

/* Every wording of a dim that does not divide: 10 in 4. */
static void sizes_that_do_not_divide(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "ValueError: One of pjit arguments was given the sharding of NamedSharding(mesh={'p': 2, "
        "'q': "
        "4}, spec=PartitionSpec(None, 'q')), which implies that the global size of its dimension 1 "
        "should be divisible by 4, but it is equal to 10 (full shape: (3, 10))",
        "IndivisibleError: Sharding NamedSharding(mesh=Mesh('p': 2, 'q': 4), spec=P(None, 'q'), "
        "memory_kind=device) implies that array axis 1 is partitioned 4 times, but the dimension "
        "size is "
        "10 (full shape: (3, 10), per-dimension tiling factors: [1, 4] should evenly divide the "
        "shape)",
        "Sharding spec ('q',) implies that array axis 1 is partitioned 4 times, but does not "
        "evenly "
        "divide the dimension size 10. Got shape: (3, 10) and sharding "
        "NamedSharding(mesh=AbstractMesh("
        "'p': 2, 'q': 4, axis_types=(Explicit, Explicit)), spec=P(None, 'q'))"};
    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++) {
        mw_explain *e = explain_on(NULL, texts[i]);
        const mw_entry *x = entry_at(e, "error", 1);
        assert_true(has_problem(x, "not-divisible"));
        assert_int_equal(x->nproblem, 1);
        has(x, "dim", MW_HOW_STATED, "1");
        has(x, "pieces", MW_HOW_STATED, "4");
        has(x, "size", MW_HOW_STATED, "10");
        has(x, "padded", MW_HOW_DERIVED, "12: 2 more, 3 in each");
        has(x, "axes that divide it", MW_HOW_DERIVED, "p (2)");
        has(x, "as XLA would pad it: local shape", MW_HOW_DERIVED, "[3,3] at most");
        mw_explain_free(e);
    }
}

static void specs_that_do_not_fit(void **state)
{
    (void)state;
    mw_explain *e = explain_on(
        NULL,
        "ValueError: Sharding NamedSharding(mesh={'p': 2}, spec=PartitionSpec('p', None)) is only "
        "valid for values of rank at least 2, but was applied to a value of rank 1.\n"
        "A single NamedSharding spec specification can map every mesh axis to at most one "
        "positional dimension, but P('p', ('q', 'p')) has duplicate entries for `p`\n"
        "ValueError: Resource axis: row of P('row', None) is not found in mesh: ('rows', 'c').\n"
        "ValueError: Number of devices 8 must be >= the product of mesh_shape (3, 4)\n");
    has(entry_at(e, "error", 1), "dims of the value", MW_HOW_STATED, "1");
    has(entry_at(e, "error", 2), "axis", MW_HOW_STATED, "p");
    has(entry_at(e, "error", 3), "nearest axis", MW_HOW_DERIVED, "rows");
    has(entry_at(e, "error", 4), "places of the mesh", MW_HOW_DERIVED, "12");
    mw_explain_free(e);
}

static const char *const torn[] = {shardings, contracting, others};

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
        cmocka_unit_test(reprs_of_all_versions),
        cmocka_unit_test(types_need_a_mesh),
        cmocka_unit_test(types_without_axes),
        cmocka_unit_test(a_contraction),
        cmocka_unit_test(a_contraction_of_unknown_operands),
        cmocka_unit_test(operands_that_differ),
        cmocka_unit_test(sizes_that_do_not_divide),
        cmocka_unit_test(specs_that_do_not_fit),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
