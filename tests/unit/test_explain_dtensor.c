/* DTensor's texts under failing allocations and in pieces: what the cases (tests/cases) read whole
 * must fail cleanly at each allocation, and must not hang on how the bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

#include <meshwise/explain.h>
#include <string.h>

#define OUT(place, shape)                                                                     \
    "OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh((tp=2), device: 'cuda', stride: " \
    "(1,)), placements=(" place ",), tensor_meta=TensorMeta(shape=torch.Size([" shape         \
    "]), stride=(1,), dtype=torch.float32)), redistribute_schema="

static const char *const texts[] = {
    /* explicit moves, their other ways and their user; two steps of one tensor */
    "Dispatching op_call: Op(op=aten.relu.default, args_schema=Spec(S(0) on (8,)) @ mesh: (2,))\n"
    "output_sharding for aten.relu.default: " OUT(
        "Shard(dim=0)",
        "8") "None, "
             "needs_redistribute=False)\n"
             "redistribute from S(0) to R on mesh dim 0\n"
             "Dispatching op_call: Op(op=aten.exp.default, args_schema=Spec(R on (8,)) @ mesh: "
             "(2,))\n"
             "redistribute from P to R on mesh dim 0\nredistribute from P to R on mesh dim 1\n",
    /* a view that is a copy, and a write into it */
    "Dispatching op_call: Op(op=aten.slice.Tensor, args_schema=Spec(S(0) on (8,)), 0, 0, 4 @ mesh: "
    "(2,))\n"
    "output_sharding for aten.slice.Tensor: " OUT(
        "Replicate()",
        "4") "OpSchema(op=aten.slice.Tensor, "
             "args_schema=(Spec(R on (8,)), 0, 0, 4), kwargs_schema={}), needs_redistribute=True)\n"
             "Dispatching op_call: Op(op=aten.zero_.default, args_schema=Spec(R on (4,)) @ mesh: "
             "(2,))\n"
             "Dispatching op_call: Op(op=aten.mul.Tensor, args_schema=Spec(R on (4,)), 2.0 @ mesh: "
             "(2,))\n",
    /* trees: implicit, explicit, several steps, lists, modules, blocks told twice */
    "[nn.Mod] Mlp\n"
    "  aten::mm(dt: f32[8, 12]| S(0), dt: f32[12, 4]| S(0))\n"
    "    -> output: S(0)\n"
    "    redistribute_input [implicit] (1, S(0) -> R)\n"
    "      redistribute_input(t: f32[3, 4], trace: S(0)->R)\n"
    "        _c10d_functional::all_gather_into_tensor(t: f32[3, 4], 4, 0)  ->  t: f32[12, 4]\n"
    "    aten::mm(t: f32[2, 12], t: f32[12, 4])  ->  t: f32[2, 4]\n"
    "    redistribute_input [explicit] (t: f32[], trace: P(sum)P(sum)->RP(sum)->RR)\n"
    "      _c10d_functional::all_reduce(t: f32[], sum, 1)  ->  t: f32[]\n"
    "      _c10d_functional::all_reduce(t: f32[], sum, 3)  ->  t: f32[]\n"
    "    c10d::scatter_(['t: f32[2]'], [['t: f32[2]', 't: f32[2]']], X, 0)\n"
    "  aten::ones_like(dt: f32[]| R)\n  aten::sum(dt: f32[4]| MaskP(sum, 4, 0))\n"
    "  aten::ones_like(dt: f32[]| R)\n  aten::sum(dt: f32[4]| MaskP(sum, 4, 0))\n",
    /* faults of values and labels */
    "(emb): Embedding(50, 6)\n"
    "sharding_prop MISS (C++ fast path): aten.embedding.default(Spec(f32[48, 6](S(0))), "
    "Spec(i64[4](R))) on DeviceMesh((tp=4), 'cuda', stride=(1,))) -> Spec(f32[4, 6](MaskP(sum, 4, "
    "0)))\n"
    "sharding_prop MISS (C++ fast path): aten._log_softmax.default(Spec(f32[4, 8192, "
    "80000](S(2))), 2, "
    "False) on DeviceMesh((tp=2), 'cuda', stride=(1,))) -> Spec(f32[4, 8192, 80000](R))\n"
    "sharding_prop MISS (C++ fast path): aten.exp.default(Spec(f32[8](_S(0, 2)))) on "
    "DeviceMesh((tp=2),"
    " 'cpu', stride=(1,))) -> Spec(f32[8](_S(0, 2)))\n"
    "RuntimeError: Sharding propagation failed for aten.mm.default(Spec(f32[4, 6](R)), "
    "Spec(f32[12, "
    "4](S(1))))\n",
    /* remarks */
    "returning cost=2.25 [S(0), R], visited=7, exhaustive=25, transitions=2\n"
    "Selected strategy ('S(0)',) -> R for aten.mm.default with input (), using symbolic hints: {}\n"
    "arg_0 (dtensor): arg.shape=torch.Size([6]) arg._spec=Spec(S(0) on (6,))\n"
    "While redistributing from (P, P) to (R, R), 2 sequential all_reduce operations will be "
    "performed. "
    "To optimize, flatten mesh dimensions [\"dp\", \"tp\"] so\n"
    "Global\n  FORWARD PASS\n    *c10d_functional.all_gather_into_tensor: 1\n    A\n      FORWARD "
    "PASS\n        *c10d_functional.all_gather_into_tensor: 1\n  BACKWARD PASS\n    "
    "*c10d_functional.reduce_scatter_tensor: 1\n",
};

static mw_status explain(const char *text, size_t piece, int64_t *ret_entries, uint64_t *ret_hash)
{
    mw_explain *e = NULL;
    size_t length = strlen(text);
    mw_status status = mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e);
    for (size_t at = 0; status == MW_OK && at < length; at += piece)
        status =
            mw_explain_feed(e, text + at, (int64_t)(at + piece < length ? piece : length - at));
    if (status == MW_OK) status = mw_explain_finish(e);
    if (status == MW_OK) {
        *ret_entries = mw_explain_entries(e);
        *ret_hash = 1;
        for (int64_t i = 0; i < *ret_entries; i++) {
            const mw_entry *one = mw_explain_entry(e, i);
            *ret_hash = mw__hash(*ret_hash, one->says, strlen(one->says));
            for (int k = 0; k < one->nfact; k++)
                *ret_hash = mw__hash(*ret_hash, one->fact[k].value, strlen(one->fact[k].value));
            for (int k = 0; k < one->nproblem; k++)
                *ret_hash = mw__hash(*ret_hash, one->problem[k].says, strlen(one->problem[k].says));
        }
    }
    mw_explain_free(e);
    return status;
}

static void no_memory(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(texts); i++) {
        int64_t fail_at = 0, entries;
        uint64_t hash;
        mw_status status;
        do {
            mw_fault_allocator fault;
            mw_fault_allocator_init(&fault, ++fail_at, 0);
            mw_allocator_use(&fault.allocator);
            status = explain(texts[i], 1 << 20, &entries, &hash);
            mw_allocator_use(NULL);
            assert_true(status == MW_OK || status == MW_ERR_NOMEM);
            assert_int_equal(fault.live, 0);
            if (status == MW_OK) assert_true(fault.count < fail_at);
        } while (status != MW_OK);
        assert_true(fail_at > 20);
    }
}

/* The same is told however the bytes arrive. */
static void in_pieces(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, 64, 1000};
    for (int i = 0; i < MW_COUNT(texts); i++) {
        int64_t whole, some;
        uint64_t hash, other;
        assert_int_equal(explain(texts[i], 1 << 20, &whole, &hash), MW_OK);
        assert_true(whole > 1);
        for (int k = 0; k < MW_COUNT(sizes); k++) {
            assert_int_equal(explain(texts[i], sizes[k], &some, &other), MW_OK);
            assert_int_equal(some, whole);
            assert_true(hash == other);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_memory), cmocka_unit_test(in_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
