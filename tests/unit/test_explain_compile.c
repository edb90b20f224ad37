/* torch.compile's texts, beyond what tests/cases asserts: bytes in pieces, ranks mixed, stages,
 * sizes that are read later, lack of memory, hostile texts. */
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

#define REDUCE(name, in, group)                                                                  \
    "    " name ": \"f32[6, 10][10, 1]cpu\" = torch.ops._c10d_functional.all_reduce.default(" in \
    ", 'sum', '" group "');  " in " = None\n"
#define WAIT(name, in)                                                                            \
    "    " name ": \"f32[6, 10][10, 1]cpu\" = torch.ops._c10d_functional.wait_tensor.default(" in \
    ");  " in " = None\n"
#define GRAPH(title, body, result)                                                                 \
    "TRACED GRAPH\n ===== " title                                                                  \
    " =====\n <eval_with_key>.7 class GraphModule(torch.nn.Module):\n"                             \
    "    def forward(self, arg0_1: \"f32[6, 10][10, 1]cpu\"):\n"                                   \
    "    # File: /home/u/net.py:12 in forward, code: x = self.lin(x)\n" body "    return (" result \
    ",)\n"

static const char one_graph[] =
    GRAPH("Forward graph 0", REDUCE("all_reduce", "arg0_1", "0") WAIT("wait_tensor", "all_reduce"),
          "wait_tensor");
static const char gather_graph[] =
    GRAPH("Forward graph 1",
          "    g: \"f32[18, 10][10, 1]cpu\" = "
          "torch.ops._c10d_functional.all_gather_into_tensor.default(arg0_1, 3, '0')\n"
          "    w: \"f32[18, 10][10, 1]cpu\" = torch.ops._c10d_functional.wait_tensor.default(g)\n",
          "w");

static mw_explain *explain(const char *text, int64_t piece, const char *mesh)
{
    mw_explain *e = NULL;
    int64_t length = (int64_t)strlen(text);
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = mesh}, &e), MW_OK);
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

/* Movements: how often each was told, added up; their bytes. */
static int64_t movements(const mw_explain *e, int64_t *ret_bytes)
{
    int64_t n = 0;
    *ret_bytes = 0;
    for (int64_t i = 0; i < mw_explain_entries(e); i++) {
        const mw_entry *entry = mw_explain_entry(e, i);
        if (!entry->collective) continue;
        n += entry->count;
        *ret_bytes += entry->bytes * entry->count;
    }
    return n;
}

static void pieces(void **state)
{
    (void)state;
    mw_explain *whole = explain(one_graph, 1 << 20, "tp=2");
    int64_t sizes[] = {1, 7, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        mw_explain *e = explain(one_graph, sizes[s], "tp=2");
        assert_int_equal(mw_explain_entries(e), mw_explain_entries(whole));
        for (int64_t i = 0; i < mw_explain_entries(e); i++) {
            const mw_entry *a = mw_explain_entry(e, i), *b = mw_explain_entry(whole, i);
            assert_string_equal(a->says, b->says);
            assert_int_equal(a->nfact, b->nfact);
        }
        mw_explain_free(e);
    }
    const mw_entry *move = mw_explain_entry(whole, 1);
    assert_string_equal(move->collective, "all_reduce");
    assert_int_equal(move->bytes, 240); /* 2 x 1/2 x 240 */
    assert_int_equal(move->first, 6);
    assert_int_equal(move->last, 7);
    mw_explain_free(whole);
}

/* A size that a later graph states is that of the earlier call on the group too. */
static void size_read_later(void **state)
{
    (void)state;
    char text[4000];
    (void)snprintf(text, sizeof text, "%s%s", one_graph, gather_graph);
    mw_explain *e = explain(text, 100, NULL);
    const mw_entry *move = mw_explain_entry(e, 1);
    assert_int_equal(move->bytes, 320); /* 2 x 2/3 x 240 */
    assert_int_equal(fact(move, "group size")->how, MW_HOW_DERIVED);
    for (int64_t i = 0; i < mw_explain_missing(e); i++)
        assert_null(strstr(mw_explain_missing_at(e, i), "group size"));
    mw_explain_free(e);
}

/* One name with two sizes: no size is taken from it. */
static void sizes_that_contradict(void **state)
{
    (void)state;
    char text[8000], other[2000];
    (void)snprintf(other, sizeof other, "%s", gather_graph);
    memcpy(strstr(other, "arg0_1, 3,"), "arg0_1, 4,", 10);
    memcpy(strstr(other, "g: \"f32[18"), "g: \"f32[24", 10);
    (void)snprintf(text, sizeof text, "%s%s%s", gather_graph, other, one_graph);
    mw_explain *e = explain(text, 100, NULL);
    const mw_entry *last = mw_explain_entry(e, mw_explain_entries(e) - 1);
    assert_string_equal(last->collective, "all_reduce");
    assert_int_equal(last->bytes, -1);
    mw_explain_free(e);
}

/* The same graph of three ranks, line by line in turn and in colour. */
static void ranks(void **state)
{
    (void)state;
    static char text[20000];
    size_t at = 0;
    const char *line = one_graph;
    while (*line) {
        int n = (int)strcspn(line, "\n");
        for (int rank = 0; rank < 3; rank++)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "\x1b[32m[rank%d]:I1130 10:00:00.5 77 torch/x.py:9] [3/1] "
                                   "[__aot_graphs] %.*s\x1b[0m\n",
                                   rank, n, line);
        line += n + 1;
    }
    mw_explain *e = explain(text, 333, "tp=3");
    int64_t bytes;
    assert_int_equal(movements(e, &bytes), 1);
    assert_int_equal(bytes, 320);
    assert_int_equal(mw_explain_entries(e), 2);
    assert_int_equal(mw_explain_entry(e, 1)->ranks, 7);
    assert_string_equal(fact(mw_explain_entry(e, 0), "compilation")->value,
                        "3/1: frame, and how often it was compiled before");
    assert_int_equal(mw_explain_unread(e), 0);
    mw_explain_free(e);
}

/* AOTAutograd, then inductor, which makes two reductions into one: one counts. */
static void later_stages_decide(void **state)
{
    (void)state;
    static const char two[] =
        GRAPH("Forward graph 0",
              REDUCE("r0", "arg0_1", "0") WAIT("w0", "r0") REDUCE("r1", "w0", "0") WAIT("w1", "r1"),
              "w1");
    static const char later[] =
        GRAPH("AFTER POST GRAD", REDUCE("r0", "arg0_1", "0") WAIT("w0", "r0"), "w0");
    char text[8000];
    int64_t bytes;
    (void)snprintf(text, sizeof text, "%s", two);
    mw_explain *e = explain(text, 999, "tp=2");
    assert_int_equal(movements(e, &bytes), 2);
    mw_explain_free(e);
    (void)snprintf(text, sizeof text, "%s%s", two, later);
    e = explain(text, 999, "tp=2");
    assert_int_equal(movements(e, &bytes), 1);
    assert_int_equal(bytes, 240);
    mw_explain_free(e);
    (void)snprintf(text, sizeof text, "%s%s", later, two); /* another program: it begins anew */
    e = explain(text, 999, "tp=2");
    assert_int_equal(movements(e, &bytes), 3);
    mw_explain_free(e);
}

/* A cut within all of a value, and one whose piece is of another size: no finding. */
static void no_false_alarm(void **state)
{
    (void)state;
    static const char *const after[] = {
        "    s: \"f32[3, 10]\" = torch.ops.aten.slice.Tensor(w0, 0, 0, 3)\n"
        "    t: \"f32[6, 10]\" = torch.ops.aten.relu.default(w0)\n    return (s, t)\n",
        "    s: \"f32[4, 10]\" = torch.ops.aten.slice.Tensor(w0, 0, 0, 4)\n    return (s,)\n",
        "    p = torch.ops.aten.split.Tensor(w0, 3)\n    a: \"f32[3, 10]\" = p[0]\n"
        "    b: \"f32[3, 10]\" = p[1]\n    return (a, b)\n",
        "    return (w0, w0)\n", "    return (r0,)\n"};
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        char text[4000];
        (void)snprintf(text, sizeof text, "%s%s%s%s",
                       "def forward(self, arg0_1: \"f32[6, 10]\"):\n", REDUCE("r0", "arg0_1", "0"),
                       WAIT("w0", "r0"), after[i]);
        mw_explain *e = explain(text, 64, "tp=2");
        for (int64_t k = 0; k < mw_explain_entries(e); k++)
            assert_int_equal(mw_explain_entry(e, k)->nproblem, 0);
        mw_explain_free(e);
    }
}

/* Each allocation fails in turn: that is said, and nothing is left. */
static void no_memory(void **state)
{
    (void)state;
    static char text[20000];
    (void)snprintf(
        text, sizeof text, "%s%s%s", one_graph, gather_graph,
        "[0/0] [__graph_breaks] Graph break in user code at /home/u/net.py:3\n"
        "[0/0] [__graph_breaks] Graph Break Reason: Unsupported: print\n"
        "[0/1] [__recompiles] Recompiling function f in /home/u/net.py:1\n"
        "[0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected "
        "4, actual 6\n"
        "TRACED GRAPH\n ===== __compiled_fn_1 =====\n"
        "def forward(self, L_x_: \"DTensor(f32[8, 12][12, 1]cpu, S(0))\"):\n"
        "    l: \"f32[4, 12]\" = L_x_.to_local()\n"
        "    r: \"DTensor(f32[8, 12][12, 1]cpu, R)\" = L_x_.redistribute(mesh, R)\n"
        "    return (r, l)\n"
        "TRACED GRAPH\n ===== __compiled_fn_2 =====\n"
        "placeholder    a  L_a_  ()  {}\n"
        "call_function  b  _c10d_functional.all_reduce  (a, 'sum', '0')  {}\n"
        "output  output  output  ((b,),)  {}\n"
        "TRACED GRAPH TENSOR SIZES\na: (4, 3)\n"
        "# AOT ID: ['0_forward']\ndef call(args):\n    a, = args\n"
        "    buf0 = empty_strided_cpu((4, 3), (3, 1), torch.float32)\n"
        "    torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')\n"
        "    torch.ops._c10d_functional.wait_tensor.default(buf0)\n    return (buf0, )\n");
    assert_true(allocations_told(text) > 50);
}

/* Much of one thing. All are linear; a minute would be a hang. */
static void hostile(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "TRACED GRAPH\n ===== Forward graph 0 =====\ndef forward(self, ",
        "x: \"f32[2]\" = torch.ops._c10d_functional.all_reduce.default(",
        "TRACED GRAPH\n ===== __compiled_fn_1 =====\ncall_function  a  ",
        "Output code:\n# AOT ID: ['0']\ndef call(args):\n", "[0/0] [__recompiles] - "};
    static const char *const bodies[] = {
        "(",
        "\"'",
        "a: \"f32[9, 9]\", ",
        "x = x\n",
        "[0/0] [__aot_graphs] ",
        "; x = None",
        ("x: \"f32[99999999999, 99999999999]\" = torch.ops._c10d_functional.all_reduce.default(x, "
         "'s', '0')\n"),
        "w = torch.ops._c10d_functional.wait_tensor.default(w)\n",
        "===\n",
        "'''\n",
        "#"};
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH + 400);
    assert_non_null(text);
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
            size_t at = strlen(heads[h]), n = strlen(bodies[b]);
            memcpy(text, heads[h], at);
            for (; at < LENGTH; at += n)
                memcpy(text + at, bodies[b], n);
            text[at] = 0;
            mw_explain *e = explain(text, 65536, "tp=2");
            mw_explain_free(e);
        }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces),
                                       cmocka_unit_test(size_read_later),
                                       cmocka_unit_test(sizes_that_contradict),
                                       cmocka_unit_test(ranks),
                                       cmocka_unit_test(later_stages_decide),
                                       cmocka_unit_test(no_false_alarm),
                                       cmocka_unit_test(no_memory),
                                       cmocka_unit_test(hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
