/* The pass `reshard`: how few bytes it lets random programs move, against a brute force of its own;
 * that a program of one op lies as an eager call has it, for every op of the table; that it is the
 * same each time; and what is left when memory fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/brute_layouts.h"
#include "graph/passes.h"
#include "layout_random.h"
#include "ops/sample.h"

static int64_t bytes_of(const mw_graph *graph)
{
    int64_t bytes = 0;
    for (const mw_node *n = graph->first; n; n = n->next)
        if (n->kind == MW_NODE_STEP || n->kind == MW_NODE_MARK) bytes += n->recv_bytes_total;
    return bytes;
}

static mw_graph *resharded(const char *text)
{
    mw_graph *graph;
    if (mw__graph_parse(text, NULL, NULL, &graph) != MW_OK)
        fail_msg("%s\n%s", mw_last_error()->says, text);
    if (mw__pass_reshard(graph) != MW_OK) fail_msg("%s\n%s", mw_last_error()->says, text);
    mw__graph_mutated(graph);
    if (mw__graph_verify(graph) != MW_OK) fail_msg("%s\n%s", mw_last_error()->says, text);
    return graph;
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

static void test_random_programs_move_the_least(void **state)
{
    (void)state;
    enum { PROGRAMS = 200 };
    const uint64_t seeds[] = {1, 20261130};
    for (int s = 0; s < MW_COUNT(seeds); s++) {
        int optimal = 0;
        brute_seed = seeds[s];
        for (int i = 0; i < PROGRAMS; i++) {
            brute_graph g;
            char text[2000];
            brute_random(&g);
            brute_text(&g, text, sizeof text);
            mw_graph *graph = resharded(text);
            int64_t chosen = bytes_of(graph), best = brute_least(&g);
            optimal += chosen <= best;
            if ((double)chosen > 1.25 * (double)best)
                fail_msg("seed %llu, program %d: %lld B, and %lld are enough\n%s",
                         (unsigned long long)seeds[s], i, (long long)chosen, (long long)best,
                         mw_graph_text(graph));
            mw__graph_free(graph);
        }
        if (optimal < PROGRAMS * 95 / 100)
            fail_msg("seed %llu: only %d of %d programs move the least",
                     (unsigned long long)seeds[s], optimal, PROGRAMS);
    }
}

/* What Shardy's own reshards receive in all, for single products and sums whose operands and
 * results are stated: never more than that. x=4, y=2; f32. */
static void test_never_above_shardy(void **state)
{
    (void)state;
    static const struct {
        const char *params, *body;
        int64_t most;
    } rows[] = {
        /* all_reduce over y of [16@x, 64]: each of 8 ranks receives 4 * 64 * 4 B */
        {"%a: f32[16@x, 32@y], %b: f32[32@y, 64]", "mm(%a, %b) : f32[16@x, 64]", 8 * 1024},
        /* the same, then a slice: a reduce_scatter does with half */
        {"%a: f32[16@x, 32@y], %b: f32[32@y, 64]", "mm(%a, %b) : f32[16@x, 64@y]", 8 * 512},
        /* the left operand gathered over y */
        {"%a: f32[16@x, 32@y], %b: f32[32, 64@y]", "mm(%a, %b) : f32[16@x, 64@y]", 8 * 256},
        /* left gathered over x, reduced over y, gathered over x */
        {"%a: f32[16@x, 32@y], %b: f32[32@y, 64@x]", "mm(%a, %b) : f32[16, 64]",
         8 * (768 + 1024) + 8 * 3072},
        /* one operand twice */
        {"%a: f32[32@x, 32@y]", "mm(%a, %a) : f32[32@x, 32@y]", 8 * (512 + 1536)},
        /* the big operand stays: left by all_to_all, all_reduce in two phases, slice */
        {"%a: f32[4@x, 4096], %b: f32[4096@x, 4096]", "mm(%a, %b) : f32[4@x, 4096]",
         8 * (12288 + 98304)},
        /* a slice of the left, all_reduce */
        {"%a: f32[16, 32@y], %b: f32[32@y, 64]", "mm(%a, %b) : f32[16@x, 64]", 8 * 1024},
        {"%a: f32[8, 16]", "neg(%a) : f32[8@x, 16]", 0},
        {"%a: f32[8@x, 16]", "neg(%a) : f32[8@y, 16]", 8 * 256},
        {"%a: f32[8@x, 16], %b: f32[8@x, 16]", "add(%a, %b) : f32[8, 16@y]", 8 * 192},
        {"%a: f32[8@x, 16], %b: f32[8, 16]", "add(%a, %b) : f32[8@x, 16]", 0},
        {"%a: f32[8@y, 8@x, 4]", "sum(%a, [0, 1]) : f32[4]", 8 * 28},
        {"%a: f32[16@x, 32@y]", "sort(%a, 1) : f32[16@x, 32@y], i64[16@x, 32@y]",
         8 * (128 + 128 + 256)},
    };
    for (int i = 0; i < MW_COUNT(rows); i++) {
        char text[600];
        bool two = strncmp(rows[i].body, "sort", 4) == 0;
        (void)snprintf(text, sizeof text,
                       "mesh @m = [x=4, y=2]\nfunc @f(%s) {\n  %%r%s = %s\n  return %%r%s\n}\n",
                       rows[i].params, two ? ", %s" : "", rows[i].body, two ? ", %s" : "");
        mw_graph *graph = resharded(text);
        if (bytes_of(graph) > rows[i].most)
            fail_msg("%lld B, and %lld are enough\n%s", (long long)bytes_of(graph),
                     (long long)rows[i].most, mw_graph_text(graph));
        mw__graph_free(graph);
    }
}

/* The same for programs, on x=2, y=4, their results lying anyhow. */
static void test_programs_never_above_shardy(void **state)
{
    (void)state;
    static const struct {
        const char *params, *body;
        int64_t most;
    } rows[] = {
        /* slice and permute the second, add, gather the sum over y */
        {"%a: f32[32@y, 16], %b: f32[32@x, 16]", "%r = add(%a, %b)", 8 * (512 + 1536)},
        /* the left by all_to_all, all_reduce over x, slice */
        {"%a: f32[32@x, 16], %b: f32[16@x, 24]", "%r = mm(%a, %b)", 8 * (512 + 3072)},
        /* all_reduce over y of the last product alone */
        {"%x: f32[16@x, 32], %w: f32[32, 64@y], %v: f32[64@y, 32]",
         "%h = mm(%x, %w)\n  %s = relu(%h)\n  %r = mm(%s, %v)", 8 * 1536},
        /* two products of one tensor: an all_reduce each */
        {"%a: f32[32, 16@y], %w: f32[16@y, 24], %v: f32[16, 8@x]",
         "%p = mm(%a, %w)\n  %q = mm(%a, %v)\n  %s = sum(%q)\n  %r = mul(%p, %s)",
         8 * (4608 + 768) + 8 * 4},
        /* slices alone */
        {"%c: bool[16@x, 8], %a: f32[16, 8@y], %b: f32[16, 8@y]", "%r = where(%c, %a, %b)", 0},
        /* all_reduce over y of the product, the rest where it lies */
        {"%a: f32[32@x, 16@y], %w: f32[16@y, 64]",
         "%p = mm(%a, %w)\n  %h = tanh(%p)\n  %g = t(%h)\n  %v = view(%g, [16, 4, 32])\n"
         "  %r = sum(%v, [1])",
         8 * 6144},
    };
    for (int i = 0; i < MW_COUNT(rows); i++) {
        char text[600];
        (void)snprintf(text, sizeof text,
                       "mesh @m = [x=2, y=4]\nfunc @f(%s) {\n  %s\n  return %%r\n}\n",
                       rows[i].params, rows[i].body);
        mw_graph *graph = resharded(text);
        if (bytes_of(graph) > rows[i].most)
            fail_msg("%lld B, and %lld are enough\n%s", (long long)bytes_of(graph),
                     (long long)rows[i].most, mw_graph_text(graph));
        mw__graph_free(graph);
    }
}

/* A movement for an op tells what else the op could have worked on, and what that moves. */
static void test_alternatives_stand_on_the_node(void **state)
{
    (void)state;
    mw_graph *graph = resharded("mesh @m = [x=2]\n"
                                "func @f(%a: f32[4, 16@x], %b: f32[16, 64@x]) {\n"
                                "  %c = mm(%a, %b)\n  %d = exp(%c)\n  return %d\n}\n");
    const mw_node *step = graph->first;
    while (step && step->kind != MW_NODE_STEP)
        step = step->next;
    assert_non_null(step);
    assert_true(step->nalternative > 0);
    assert_non_null(strstr(step->because, "%a splits k, %b splits n"));
    for (int i = 0; i < step->nalternative; i++) {
        const mw_alternative *a = &step->alternative[i];
        assert_non_null(strstr(a->says, "%a as f32["));
        assert_non_null(strstr(a->says, ", %b as f32["));
        assert_true(a->recv_bytes_total >= a->recv_bytes && a->peak_bytes > 0);
    }
    mw__graph_free(graph);
}

/* ---- one op -----------------------------------------------------------------------------------
 */

/* Does the graph's op work on the layouts that an eager call takes? */
static void check_against_eager(const mw_mesh *mesh, mw_graph *graph, const mw_layout *const *now,
                                mw_arena *arena)
{
    const mw_node *op = graph->first;
    while (op->kind != MW_NODE_OP)
        op = op->next;
    mw_call_args call = mw__node_call(op);
    mw_choice choice;
    assert_int_equal(mw__choose(mesh, &call, now, arena, &choice), MW_OK);
    for (int i = 0; i < call.nin; i++) {
        if (mw_layout_equal(&op->in[i]->layout, &choice.in[i])) continue;
        mw_str text = {0};
        mw__layout_str(mesh, &choice.in[i], &text);
        fail_msg("operand %d: an eager call takes %s\n%s", i, mw__str_text(&text),
                 mw_graph_text(graph));
    }
    for (int i = 0; i < choice.nout && !choice.parts; i++)
        assert_true(mw_layout_equal(&op->out[i]->layout, &choice.out[i]));
}

static void one_op(mw_mesh *mesh, const mw_op *op, int nth, mw_arena *arena)
{
    mw_sample sample;
    mw_graph *graph;
    int index;
    assert_int_equal(mw__sample_make(op, nth, 0, arena, &sample), MW_OK);
    assert_int_equal(mw__graph_new("f", &graph), MW_OK);
    assert_int_equal(mw__graph_add_mesh(graph, mesh, NULL, &index), MW_OK);
    int nin = sample.call.nin;
    mw_ssa **in = mw__arena_alloc(arena, (size_t)(nin + 1) * sizeof(mw_ssa *));
    const mw_layout **now = mw__arena_alloc(arena, (size_t)(nin + 1) * sizeof *now);
    for (int i = 0; i < nin; i++) {
        const mw_meta *m = &sample.call.in[i];
        mw_layout *l = mw__arena_alloc(arena, sizeof *l);
        *l = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        for (int a = 0; a < mesh->naxis; a++) { /* each axis on some dim, or nowhere, or terms */
            int d = brute_below(m->ndim + 2);
            if (d < m->ndim)
                (void)mw__dim_append(mesh, &l->dim[d], a, 1, mesh->size[a]);
            else if (d == m->ndim + 1 && mw_dtype_kind_of(m->dtype) == MW_KIND_FLOAT)
                l->partial[l->npartial++] =
                    (mw_partial){MW_REDUCE_SUM, (int16_t)a, 1, mesh->size[a]};
        }
        mw__layout_canonical(mesh, l);
        mw_node *node;
        assert_int_equal(mw__graph_input(graph, mesh, l, NULL, &node), MW_OK);
        node->out[0]->stated = true;
        in[i] = node->out[0];
        now[i] = l;
    }
    mw_node *node;
    assert_int_equal(
        mw__graph_op(graph, NULL, op, sample.call.arg, sample.call.narg, in, nin, &node), MW_OK);
    assert_int_equal(mw__graph_results(graph, node->out, node->nout), MW_OK);
    mw__graph_mutated(graph);
    bool writes = mw__node_writes(node); /* then it may have to go there and back */
    mw_status status = mw__pass_reshard(graph);
    if (status == MW_ERR_UNSUPPORTED && writes && now[0]->npartial) {
        mw__graph_free(graph); /* terms cannot be written over */
        return;
    }
    if (status != MW_OK) fail_msg("%s", mw_last_error()->says);
    mw__graph_mutated(graph);
    if (mw__graph_verify(graph) != MW_OK)
        fail_msg("%s\n%s", mw_last_error()->says, mw_graph_text(graph));
    if (!writes) check_against_eager(mesh, graph, now, arena);
    mw__graph_free(graph);
}

static void test_one_op_lies_as_eager(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2", "x=3", "x=2,y=2"};
    brute_seed = 5;
    for (int m = 0; m < MW_COUNT(meshes); m++) {
        mw_mesh *mesh;
        assert_int_equal(mw_mesh_parse(meshes[m], &mesh), MW_OK);
        for (int i = 0; i < MW_OP_COUNT; i++) {
            const mw_op *op = mw__op_at((mw_op_id)i);
            if (!op->samples) continue;
            for (int s = 0; s < mw__sample_count(op->samples); s++)
                for (int again = 0; again < 4; again++) {
                    mw_arena arena;
                    mw__arena_init(&arena);
                    one_op(mesh, op, s, &arena);
                    mw__arena_done(&arena);
                }
        }
        mw_mesh_unref(mesh);
    }
}

/* ---- always the same, and without memory ------------------------------------------------------
 */

static void make_layers(int n, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size,
                                 "mesh @m = [dp=2, tp=2]\nfunc @layers(%%x0: f32[8@dp, 16], "
                                 "%%w: f32[32@tp, 16], %%v: f32[16, 32@tp]) {\n");
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at,
                               "  %%a%d = rms_norm(%%x%d, [16])\n  %%h%d = linear(%%a%d, %%w)\n"
                               "  %%s%d = silu(%%h%d)\n  %%p%d = linear(%%s%d, %%v)\n"
                               "  %%x%d = add(%%x%d, %%p%d)\n",
                               i, i, i, i, i, i, i, i, i + 1, i, i);
    (void)snprintf(text + at, size - at, "  return %%x%d\n}\n", n);
}

static void test_it_is_the_same_each_time(void **state)
{
    (void)state;
    static char text[40000];
    make_layers(40, text, sizeof text);
    mw_graph *a = resharded(text), *b = resharded(text);
    assert_string_equal(mw_graph_text(a), mw_graph_text(b));
    int64_t bytes[3]; /* each layer costs what the others do */
    for (int n = 0; n < 3; n++) {
        make_layers(60 + 20 * n, text, sizeof text);
        mw_graph *g = resharded(text);
        bytes[n] = bytes_of(g);
        mw__graph_free(g);
    }
    assert_int_equal(bytes[2] - bytes[1], bytes[1] - bytes[0]);
    mw__graph_free(a);
    mw__graph_free(b);
}

static mw_status all_passes(const char *text)
{
    mw_graph *graph;
    MW_TRY(mw__graph_parse(text, NULL, NULL, &graph));
    mw_status status = mw__pass_reshard(graph);
    if (status == MW_OK) status = mw__pass_partition(graph);
    if (status == MW_OK) status = mw__pass_optimise(graph);
    mw__graph_free(graph);
    return status;
}

static void test_without_memory(void **state)
{
    (void)state;
    static const char text[] = "mesh @m = [x=2]\n"
                               "func @f(%a: f32[4, 16@x], %b: f32[16@x, 64]) {\n"
                               "  %c = mm(%a, %b)\n"
                               "  mark_sharding(%c, '[4, 64@x]')\n"
                               "  %d = softmax(%c, 1)\n"
                               "  %e = add(%d, %c)\n"
                               "  return %e\n}\n";
    static mw_fault_allocator fault;
    assert_int_equal(all_passes(text), MW_OK); /* what is made once for the process is made */
    for (int64_t n = 1;; n++) {
        mw_fault_allocator_init(&fault, n, 0);
        mw_allocator_use(&fault.allocator);
        mw_status status = all_passes(text);
        mw_allocator_use(NULL);
        assert_int_equal(fault.live, 0);
        if (fault.count < n) {
            assert_int_equal(status, MW_OK);
            return;
        }
        assert_int_equal(status, MW_ERR_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_move_the_least),
        cmocka_unit_test(test_never_above_shardy),
        cmocka_unit_test(test_programs_never_above_shardy),
        cmocka_unit_test(test_alternatives_stand_on_the_node),
        cmocka_unit_test(test_one_op_lies_as_eager),
        cmocka_unit_test(test_it_is_the_same_each_time),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
