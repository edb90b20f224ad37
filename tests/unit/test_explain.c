/* The explainer as a library: pieces, ranks that interleave, repeats, lack of memory, hostile
 * texts. What it says of real situations is asserted by tests/cases. */
#include "explain_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the above first */
#include <cmocka.h>
#include <meshwise/alloc.h>
#include <meshwise/explain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char call_line[] = "Dispatching op_call: Op(op=aten.mm.default, args_schema=Spec(S(0) "
                                "on (8, 6)), Spec(R on (6, 4)) "
                                "@ mesh: (2,))\n";
static const char out_line[] =
    "output_sharding for aten.mm.default: OutputSharding(output_spec=DTensorSpec(mesh=DeviceMesh("
    "(tp=2), device: 'cuda', stride: (1,)), placements=(Shard(dim=0),), tensor_meta=TensorMeta("
    "shape=torch.Size([8, 4]), stride=(4, 1), dtype=torch.float32)), redistribute_schema=None, "
    "needs_redistribute=False)\n";
static const char move_line[] = "redistribute from S(0) to R on mesh dim 0\n";

static mw_explain *explain(const char *text, int64_t piece)
{
    mw_explain *e = NULL;
    int64_t length = (int64_t)strlen(text);
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    for (int64_t at = 0; at < length; at += piece)
        assert_int_equal(mw_explain_feed(e, text + at, length - at < piece ? length - at : piece),
                         MW_OK);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    return e;
}

static const mw_fact *fact(const mw_entry *e, const char *name)
{
    for (int i = 0; i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0) return &e->fact[i];
    return NULL;
}

static void text_of(char *to, size_t size, const char *a, const char *b, const char *c)
{
    (void)snprintf(to, size, "%s%s%s", a, b, c);
}

/* However the bytes come, the same is said. */
static void pieces(void **state)
{
    (void)state;
    char text[2000];
    text_of(text, sizeof text, call_line, out_line, move_line);
    mw_explain *whole = explain(text, 100000);
    assert_int_equal(mw_explain_entries(whole), 2);
    for (int64_t piece = 1; piece < 40; piece += 6) {
        mw_explain *e = explain(text, piece);
        assert_int_equal(mw_explain_entries(e), mw_explain_entries(whole));
        for (int64_t i = 0; i < mw_explain_entries(e); i++) {
            const mw_entry *a = mw_explain_entry(e, i), *b = mw_explain_entry(whole, i);
            assert_string_equal(a->says, b->says);
            assert_int_equal(a->nfact, b->nfact);
        }
        mw_explain_free(e);
    }
    mw_explain_free(whole);
}

/* An all-gather of [8, 4] f32 over two ranks brings each 64 bytes; that it is this tensor is
 * assumed. */
static void movement(void **state)
{
    (void)state;
    char text[2000];
    text_of(text, sizeof text, call_line, out_line, move_line);
    mw_explain *e = explain(text, 4096);
    const mw_entry *call = mw_explain_entry(e, 0), *move = mw_explain_entry(e, 1);
    assert_int_equal(call->first, 1);
    assert_int_equal(call->last, 2);
    assert_null(call->collective);
    assert_string_equal(fact(call, "mat2")->value, "[6, 4] R");
    assert_int_equal(fact(call, "mat2")->how, MW_HOW_STATED);
    assert_string_equal(move->collective, "all_gather");
    assert_string_equal(move->axis, "tp");
    assert_int_equal(move->bytes, 64);
    assert_int_equal(fact(move, "received per rank")->how, MW_HOW_ASSUMED);
    assert_true(mw_explain_missing(e) > 0);
    mw_explain_free(e);
}

/* Lines of three ranks, interleaved: each thing once, told by three. */
static void ranks(void **state)
{
    (void)state;
    char text[8000] = "";
    const char *lines[] = {call_line, out_line, move_line};
    size_t at = 0;
    for (int i = 0; i < 3; i++)
        for (int rank = 0; rank < 3; rank++)
            at += (size_t)snprintf(text + at, sizeof text - at, "[rank%d]: %s", rank, lines[i]);
    mw_explain *e = explain(text, 512);
    assert_int_equal(mw_explain_entries(e), 2);
    for (int64_t i = 0; i < 2; i++) {
        assert_int_equal(mw_explain_entry(e, i)->count, 1);
        assert_int_equal(mw_explain_entry(e, i)->ranks, 7);
    }
    mw_explain_free(e);
}

/* A layer repeated is counted; memory does not grow with it. */
static void repeats(void **state)
{
    (void)state;
    char text[2000];
    text_of(text, sizeof text, call_line, out_line, move_line);
    mw_fault_allocator counted;
    mw_fault_allocator_init(&counted, 0, 0);
    mw_allocator_use(&counted.allocator);
    mw_explain *e = NULL;
    int64_t few = 0;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mw_explain_feed(e, text, (int64_t)strlen(text)), MW_OK);
        if (i == 10) few = counted.live;
    }
    assert_int_equal(counted.live, few);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    int64_t told = 0;
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        if (mw_explain_entry(e, i)->collective) told += mw_explain_entry(e, i)->count;
    assert_int_equal(told, 1000);
    mw_explain_free(e);
    assert_int_equal(counted.live, 0);
    mw_allocator_use(NULL);
}

/* Each allocation fails in turn: that is said, and nothing is left. */
static void no_memory(void **state)
{
    (void)state;
    char text[4000];
    text_of(text, sizeof text, call_line, out_line, move_line);
    (void)strncat(text,
                  "Global\n  FORWARD PASS\n    *c10d_functional.all_reduce: 2\n"
                  "aten::mm(dt: f32[8, 6]| S(0), dt: f32[6, 4]| S(0))\n"
                  "  redistribute_input(1, S(0) -> R)\n"
                  "Traceback (most recent call last):\n  File \"x.py\", line 3, in f\n    g()\n"
                  "RuntimeError: Sharding propagation failed for aten.view.default(\n"
                  "Spec(f32[4, 6](S(1))), [24])\n",
                  sizeof text - strlen(text) - 1);
    assert_true(allocations_told(text) > 20);
}

/* Much of one thing: brackets, quotes, arrows, specs. All are linear; a minute would be a hang. */
static void hostile(void **state)
{
    (void)state;
    static const char *const heads[] = {"Dispatching op_call: Op(op=aten.cat.default, args_schema=",
                                        "sharding_prop HIT (C++ fast path): aten::add(",
                                        "output_sharding for aten.mm.default: ",
                                        "aten.mm.default(Spec(",
                                        "RuntimeError: ",
                                        "redistribute_input(0, "};
    static const char *const bodies[] = {
        "[",    "(", "\"'", " -> Spec(", "Spec(S(0) on (2, 2)), ", "{", "99999999999999999999,",
        "S(-1)"};
    enum { LENGTH = 300000 };
    char *text = malloc(LENGTH + 200);
    assert_non_null(text);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
            size_t at = strlen(heads[h]), n = strlen(bodies[b]);
            memcpy(text, heads[h], at);
            for (; at < LENGTH; at += n)
                memcpy(text + at, bodies[b], n);
            text[at] = 0;
            mw_explain *e = explain(text, 65536);
            assert_int_equal(mw_explain_lines(e), 1);
            mw_explain_free(e);
        }
    free(text);
}

static void unread(void **state)
{
    (void)state;
    mw_explain *e = explain("hello\n\nnothing here\n", 7);
    assert_int_equal(mw_explain_entries(e), 0);
    assert_int_equal(mw_explain_unread(e), 2);
    assert_int_equal(mw_explain_unread_at(e, 0), 1);
    assert_int_equal(mw_explain_unread_at(e, 1), 3);
    assert_int_equal(mw_explain_unread_at(e, 2), 0);
    assert_int_equal(mw_explain_lines(e), 3);
    assert_null(mw_explain_entry(e, 0));
    assert_null(mw_explain_missing_at(e, 0));
    mw_explain_free(e);
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = "tp=x"}, &e), MW_ERR_PARSE);
    assert_string_equal(mw_how_name(MW_HOW_ASSUMED), "assumed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces),    cmocka_unit_test(movement),
                                       cmocka_unit_test(ranks),     cmocka_unit_test(repeats),
                                       cmocka_unit_test(no_memory), cmocka_unit_test(hostile),
                                       cmocka_unit_test(unread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
