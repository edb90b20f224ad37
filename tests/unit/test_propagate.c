/* Propagation: the algebra of axes, programs by table (data/propagation.def), origins, and what
 * must hold of any program: annotations stay, layouts are legal, a second run changes nothing,
 * names do not matter; and a graph of one op goes where the eager call goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/passes.h"
#include "graph/propagate.h"
#include "graph/propagate_origin.h"
#include "layout_random.h"
#include "ops/sample.h"
#include "plan/choose.h"

static uint64_t first_seed = 20261130;

/* ---- axes -------------------------------------------------------------------------------------
 */

enum { X, Y };

static mw_axis_ref part(int axis, int32_t major, int32_t size)
{
    return (mw_axis_ref){(int16_t)axis, major, size};
}

static void test_parts_of_axes_contain_and_overlap(void **state)
{
    (void)state;
    assert_true(mw__axis_ref_contains(part(X, 1, 12), part(X, 2, 3)));
    assert_true(mw__axis_ref_contains(part(X, 2, 6), part(X, 2, 6)));
    assert_false(mw__axis_ref_contains(part(X, 2, 3), part(X, 1, 12)));
    assert_false(mw__axis_ref_contains(part(X, 1, 12), part(Y, 1, 12)));
    assert_true(mw__axis_ref_prefix_of(part(X, 2, 2), part(X, 2, 6)));
    assert_false(mw__axis_ref_prefix_of(part(X, 1, 2), part(X, 2, 2)));
    assert_false(mw__axis_ref_prefix_of(part(X, 1, 4), part(X, 1, 6)));
    assert_true(mw__axis_ref_suffix_of(part(X, 4, 3), part(X, 2, 6)));
    assert_false(mw__axis_ref_suffix_of(part(X, 2, 2), part(X, 2, 6)));
    assert_true(mw__axis_ref_overlaps(part(X, 1, 4), part(X, 2, 4)));
    assert_false(mw__axis_ref_overlaps(part(X, 1, 2), part(X, 2, 2)));
    assert_false(mw__axis_ref_overlaps(part(X, 1, 2), part(Y, 1, 2)));
}

static void test_parts_coexist_if_their_ends_divide(void **state)
{
    (void)state;
    assert_false(mw__axis_ref_coexist(part(X, 1, 2), part(X, 3, 2)));
    assert_false(mw__axis_ref_coexist(part(X, 1, 4), part(X, 1, 6)));
    assert_true(mw__axis_ref_coexist(part(X, 1, 2), part(X, 4, 2)));
    assert_true(mw__axis_ref_coexist(part(X, 1, 4), part(X, 2, 4)));
    assert_true(mw__axis_ref_coexist(part(X, 1, 2), part(Y, 3, 2)));
}

static void test_parts_are_cut_where_others_begin(void **state)
{
    mw_axis_ref r;
    (void)state;
    assert_true(mw__axis_ref_overlap(part(X, 1, 4), part(X, 2, 4), &r));
    assert_true(mw__axis_ref_equal(r, part(X, 2, 2)));
    assert_true(mw__axis_ref_prefix_without(part(X, 1, 16), part(X, 4, 2), &r));
    assert_true(mw__axis_ref_equal(r, part(X, 1, 4)));
    assert_false(mw__axis_ref_prefix_without(part(X, 4, 4), part(X, 1, 8), &r));
    assert_false(mw__axis_ref_prefix_without(part(X, 1, 2), part(X, 3, 2), &r));
    assert_true(mw__axis_ref_suffix_without(part(X, 1, 16), part(X, 4, 2), &r));
    assert_true(mw__axis_ref_equal(r, part(X, 8, 2)));
    assert_true(mw__axis_ref_common_prefix(part(X, 1, 4), part(X, 1, 6), &r));
    assert_true(mw__axis_ref_equal(r, part(X, 1, 2)));
    assert_false(mw__axis_ref_common_prefix(part(X, 1, 4), part(X, 2, 2), &r));
    assert_true(mw__axis_ref_merge(part(X, 1, 2), part(X, 2, 2), &r));
    assert_true(mw__axis_ref_equal(r, part(X, 1, 4)));
    assert_false(mw__axis_ref_merge(part(X, 2, 2), part(X, 1, 2), &r));
}

static mw_axis_list list_of(int n, mw_axis_ref a, mw_axis_ref b)
{
    mw_axis_list list = {n, {a, b}};
    return list;
}

static void check_meet(mw_axis_list had, mw_axis_list more, bool grow, mw_axis_list want,
                       bool want_grow)
{
    mw_axis_list met = mw__axis_list_meet(&had, &more, &grow);
    assert_int_equal(met.n, want.n);
    for (int i = 0; i < met.n; i++)
        assert_true(mw__axis_ref_equal(met.at[i], want.at[i]));
    assert_int_equal(grow, want_grow);
}

static void test_lists_meet_on_their_major_axes(void **state)
{
    mw_axis_ref x = part(X, 1, 8), y = part(Y, 1, 2), x2 = part(X, 1, 2), x4 = part(X, 1, 4);
    (void)state;
    check_meet(list_of(1, x, x), list_of(2, x, y), true, list_of(2, x, y), true);
    check_meet(list_of(1, x, x), list_of(2, x, y), false, list_of(1, x, x), false);
    check_meet(list_of(2, x, y), list_of(1, x, x), true, list_of(2, x, y), true);
    check_meet(list_of(2, x, y), list_of(2, y, x), true, list_of(0, x, x), false);
    check_meet(list_of(1, x2, x), list_of(1, x4, x), true, list_of(1, x4, x), true);
    check_meet(list_of(1, x2, x), list_of(1, x4, x), false, list_of(1, x2, x), false);
    check_meet(list_of(2, x2, y), list_of(2, x4, y), true, list_of(1, x2, y), false);
    mw_axis_list a = list_of(1, x2, x), b = list_of(2, x4, y);
    assert_true(mw__axis_list_strict_prefix(&a, &b));
    assert_false(mw__axis_list_strict_prefix(&b, &a));
    assert_false(mw__axis_list_strict_prefix(&a, &a));
    a = list_of(0, x, x);
    assert_true(mw__axis_list_add(&a, x2) && mw__axis_list_add(&a, part(X, 2, 4)));
    assert_true(a.n == 1 && mw__axis_ref_equal(a.at[0], x));
    assert_int_equal(mw__axis_list_product(&b), 8);
}

/* ---- factors of reshapes ----------------------------------------------------------------------
 */

/* `[ij, k] -> [i, jk]` of the shapes. */
static void check_reshape(int nin, const int64_t *in, int nout, const int64_t *out,
                          const char *want)
{
    mw_arena arena;
    mw_str text = {0};
    flow_rule rule;
    mw_meta meta[2] = {{MW_DTYPE_f32, nin, {0}}, {MW_DTYPE_f32, nout, {0}}};
    memcpy(meta[0].shape, in, (size_t)nin * sizeof *in);
    memcpy(meta[1].shape, out, (size_t)nout * sizeof *out);
    mw__arena_init(&arena);
    assert_int_equal(mw__flow_reshape(&meta[0], &meta[1], &arena, &rule), MW_OK);
    for (int t = 0; t < 2; t++) {
        mw__str_puts(&text, t ? " -> [" : "[");
        for (int d = 0; d < rule.tensor[t].ndim; d++) {
            if (d) mw__str_puts(&text, ", ");
            for (int k = 0; k < rule.tensor[t].dim[d].n; k++)
                mw__str_puts(&text, rule.factor[rule.tensor[t].dim[d].factor[k]].name);
        }
        mw__str_putc(&text, ']');
    }
    assert_string_equal(mw__str_text(&text), want);
    mw__str_done(&text);
    mw__arena_done(&arena);
}

#define SHAPE(...)                                    \
    MW_COUNT(((int64_t[]){__VA_ARGS__})), (int64_t[]) \
    {                                                 \
        __VA_ARGS__                                   \
    }

static void test_reshapes_share_the_digits_that_lie_in_both(void **state)
{
    (void)state;
    check_reshape(SHAPE(2, 4), SHAPE(8), "[i, j] -> [ij]");
    check_reshape(SHAPE(8), SHAPE(2, 4), "[ij] -> [i, j]");
    check_reshape(SHAPE(4, 12), SHAPE(4, 2, 3, 2), "[i, jkl] -> [i, j, k, l]");
    check_reshape(SHAPE(8, 4, 5), SHAPE(2, 16, 5), "[ij, k, l] -> [i, jk, l]");
    check_reshape(SHAPE(6, 4), SHAPE(4, 6), "[ik, lj] -> [im, nj]"); /* only two are shared */
    check_reshape(SHAPE(3, 2), SHAPE(2, 3), "[i, j] -> [k, l]");
    check_reshape(SHAPE(1, 8, 4), SHAPE(8, 1, 4, 1), "[, i, j] -> [i, , j, ]");
    check_reshape(SHAPE(4, 0), SHAPE(0, 8), "[, ] -> [, ]");
}

/* ---- programs by table ------------------------------------------------------------------------
 */

typedef struct program {
    const char *name;
    bool basic;
    const char *mesh, *params, *body, *results, *want;
} program;

static const program programs[] = {
#define PROGRAM(name, basic, mesh, params, body, results, want) \
    {#name, basic, mesh, params, body, results, want},
#include "data/propagation.def"
#undef PROGRAM
};

static mw_graph *read_graph(const char *text)
{
    mw_graph *graph;
    if (mw__graph_parse(text, "test", NULL, &graph) != MW_OK)
        fail_msg("%s\n%s\n%s", mw_last_error()->says, mw_last_error()->where, text);
    return graph;
}

static mw_graph *graph_of(const program *p)
{
    mw_str text = {0};
    mw__str_printf(&text, "mesh @m = [%s]\nfunc @main(%s) {\n%s\nreturn %s\n}\n", p->mesh,
                   p->params, p->body, p->results);
    mw_graph *graph = read_graph(mw__str_text(&text));
    mw__str_done(&text);
    return graph;
}

static const mw_ssa *value_named(const mw_graph *graph, const char *name, size_t length)
{
    for (int64_t i = 0; i < graph->nvalue; i++)
        if (graph->value[i] && strlen(graph->value[i]->name) == length &&
            memcmp(graph->value[i]->name, name, length) == 0)
            return graph->value[i];
    fail_msg("no value %.*s", (int)length, name);
    return NULL;
}

/* `%a f32[...]; %b f32[...]` */
static void check_layouts(const mw_graph *graph, const program *p)
{
    for (const char *at = p->want; *at;) {
        size_t name = strcspn(++at, " "), type = strcspn(at + name + 1, ";");
        const mw_ssa *v = value_named(graph, at, name);
        mw_str got = {0};
        mw__layout_str(v->mesh, &v->layout, &got);
        if (got.length != type || memcmp(got.at, at + name + 1, type) != 0)
            fail_msg("%s: %%%s is %s, not %.*s", p->name, v->name, mw__str_text(&got), (int)type,
                     at + name + 1);
        mw__str_done(&got);
        at += name + 1 + type;
        at += strspn(at, "; ");
    }
}

static void test_programs_are_laid_as_the_table_says(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(programs); i++) {
        mw_graph *graph = graph_of(&programs[i]);
        assert_int_equal(mw__propagate(graph, programs[i].basic), MW_OK);
        check_layouts(graph, &programs[i]);
        assert_int_equal(mw__graph_verify(graph), MW_OK);
        mw__graph_free(graph);
    }
}

/* ---- origins ----------------------------------------------------------------------------------
 */

static void check_origin(const mw_graph *graph, const char *name, int axis, const char *want)
{
    mw_str text = {0};
    mw__origin_str(graph, value_named(graph, name, strlen(name)), axis, &text);
    assert_string_equal(mw__str_text(&text), want);
    mw__str_done(&text);
}

static void test_chains_of_origins_end_at_annotations(void **state)
{
    (void)state;
    mw_graph *graph =
        read_graph("mesh @m = [dp=2, tp=4]\n"
                   "func @mlp(%x: f32[8@dp, 64], %u: f32[256@tp, 64], %d: f32[64?, 256?]) {\n"
                   "  %h = linear(%x, %u)\n  %a = silu(%h)\n  %y = linear(%a, %d)\n"
                   "  %z = mark_sharding(%y) : f32[8?, 64@tp]\n  %r = neg(%z)\n  return %r\n}\n");
    assert_int_equal(mw__pass_propagate(graph), MW_OK);
    check_origin(graph, "x", 0, "%x dim 0 on dp: %x is annotated (argument)");
    check_origin(graph, "x", 1, "%x: nothing on tp");
    check_origin(graph, "a", 1,
                 "%a dim 1 on tp: from %h dim 1 along i1 of silu; from %u dim 0 along n of linear; "
                 "%u is annotated (argument)");
    check_origin(graph, "r", 1,
                 "%r dim 1 on tp: from %z dim 1 along i1 of neg; %z is annotated (mark_sharding)");
    mw_str json = {0};
    mw__origin_json(graph, value_named(graph, "h", 1), &json);
    assert_string_equal(
        mw__str_text(&json),
        "[{\"axis\": \"dp\", \"dim\": 0, \"chain\": [{\"from\": \"x\", \"dim\": 0, \"op\": "
        "\"linear\", \"factor\": \"i0\"}], \"annotation\": \"argument\"}, {\"axis\": \"tp\", "
        "\"dim\": 1, \"chain\": [{\"from\": \"u\", \"dim\": 0, \"op\": \"linear\", \"factor\": "
        "\"n\"}], \"annotation\": \"argument\"}]");
    mw__str_done(&json);
    mw__graph_free(graph);
}

/* Every axis of every value has a chain. */
static void check_origins(const mw_graph *graph)
{
    for (int64_t i = 0; i < graph->nvalue; i++) {
        const mw_ssa *v = graph->value[i];
        for (int a = 0; v && a < v->mesh->naxis; a++) {
            if (!(mw__layout_axes(&v->layout) >> a & 1)) continue;
            mw_str text = {0};
            mw__origin_str(graph, v, a, &text);
            assert_non_null(strstr(mw__str_text(&text), "is annotated ("));
            mw__str_done(&text);
        }
    }
}

/* ---- several meshes ---------------------------------------------------------------------------
 */

static void test_nothing_passes_between_meshes(void **state)
{
    (void)state;
    mw_graph *graph =
        read_graph("mesh @m = [x=2, y=2]\nmesh @n = [z=4]\n"
                   "func @main(%a: f32[8@x, 8], %b: f32[8@z?, 8?] on @n) {\n"
                   "  %s = neg(%a)\n  %t = neg(%b)\n"
                   "  %u = redistribute(%s) : f32[8?, 8?] on @n\n  return %t, %u\n}\n");
    assert_int_equal(mw__pass_propagate(graph), MW_OK);
    const mw_ssa *u = value_named(graph, "u", 1), *t = value_named(graph, "t", 1);
    assert_int_equal(mw__layout_axes(&u->layout), 0);
    assert_int_equal(mw__layout_axes(&t->layout), 1);
    mw__graph_free(graph);
}

/* ---- written in place -------------------------------------------------------------------------
 */

static void test_what_is_written_in_place_lies_as_it_lay(void **state)
{
    (void)state;
    mw_graph *graph = read_graph("mesh @m = [x=2, y=2]\n"
                                 "func @main(%a: f32[8?, 6?], %b: f32[8, 6@y]) {\n"
                                 "  %s = add_(%a, %b)\n  %t = mul_(%s, 2)\n"
                                 "  %r = neg(%t) : f32[8@x, 6?]\n  return %r\n}\n");
    assert_int_equal(mw__pass_propagate(graph), MW_OK);
    const mw_ssa *a = value_named(graph, "a", 1), *t = value_named(graph, "t", 1);
    assert_true(mw_layout_equal(&a->layout, &t->layout));
    assert_int_equal(mw__layout_axes(&a->layout), 3);
    mw__graph_free(graph);
}

/* ---- any program ------------------------------------------------------------------------------
 */

enum { SIDE = 8 };

typedef struct maker {
    uint64_t seed;
    const mw_mesh *mesh;
    mw_str *text;
    const char *prefix;
    int n; /* values so far, each [SIDE, SIDE] */
    bool priorities;
} maker;

static void random_type(maker *m, mw_str *to, bool annotate)
{
    int64_t shape[2] = {SIDE, SIDE};
    uint32_t all = (1u << mw_mesh_axes(m->mesh)) - 1;
    mw_layout l = random_layout(m->mesh, &m->seed, MW_DTYPE_f32, 2, shape, annotate ? all : 0,
                                naive_below(&m->seed, 4) == 0);
    for (int d = 0; d < 2; d++)
        l.dim[d].open = (uint8_t)(naive_below(&m->seed, 3) > 0);
    mw__layout_str(m->mesh, &l, to);
    if (m->priorities && naive_below(&m->seed, 4) == 0)
        mw__str_printf(to, " p(%d, %d)", (int)naive_below(&m->seed, 3),
                       (int)naive_below(&m->seed, 3));
}

static void random_statement(maker *m)
{
    static const char *const one[] = {
        "neg(%%%s%d)",
        "t(%%%s%d)",
        "softmax(%%%s%d, -1)",
        "cumsum(%%%s%d, 0)",
        "flip(%%%s%d, [1])",
        "reshape(reshape(%%%s%d, [2, 4, 8]), [8, 8])",
        "reshape(permute(reshape(%%%s%d, [2, 4, 8]), [1, 0, 2]), [8, 8])",
        "expand(sum(%%%s%d, [1], True), [8, 8])",
        "mul(%%%s%d, 2)"};
    static const char *const two[] = {"add(%%%s%d, %%%s%d)",
                                      "mm(%%%s%d, %%%s%d)",
                                      "linear(%%%s%d, %%%s%d)",
                                      "masked_fill(%%%s%d, gt(%%%s%d, 0), 0)",
                                      "narrow(cat([%%%s%d, %%%s%d], 0), 0, 3, 8)",
                                      "narrow(cat([%%%s%d, %%%s%d], 1), 1, 8, 8)"};
    int a = (int)naive_below(&m->seed, m->n), b = (int)naive_below(&m->seed, m->n);
    mw__str_printf(m->text, "  %%%s%d = ", m->prefix, m->n);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (naive_below(&m->seed, 2))
        mw__str_printf(m->text, one[naive_below(&m->seed, MW_COUNT(one))], m->prefix, a);
    else
        mw__str_printf(m->text, two[naive_below(&m->seed, MW_COUNT(two))], m->prefix, a, m->prefix,
                       b);
#pragma GCC diagnostic pop
    if (naive_below(&m->seed, 4) == 0) {
        mw__str_puts(m->text, " : ");
        random_type(m, m->text, true);
    }
    mw__str_putc(m->text, '\n');
    m->n++;
}

/* The same program for the same seed, whatever the names' prefix. */
static void random_program(uint64_t seed, const mw_mesh *mesh, const char *axes, const char *prefix,
                           bool priorities, mw_str *text)
{
    maker m = {seed, mesh, text, prefix, 0, priorities};
    mw__str_printf(text, "mesh @m = [%s]\nfunc @main(", axes);
    int params = 1 + (int)naive_below(&m.seed, 3), ops = 1 + (int)naive_below(&m.seed, 8);
    for (; m.n < params; m.n++) {
        mw__str_printf(text, "%s%%%s%d: ", m.n ? ", " : "", prefix, m.n);
        random_type(&m, text, naive_below(&m.seed, 2));
    }
    mw__str_puts(text, ") {\n");
    for (int i = 0; i < ops; i++)
        random_statement(&m);
    mw__str_printf(text, "  return %%%s%d\n}\n", prefix, m.n - 1);
}

static mw_layout *layouts_of(const mw_graph *graph)
{
    mw_layout *l = mw__alloc((size_t)graph->nvalue * sizeof *l);
    assert_non_null(l);
    for (int64_t i = 0; i < graph->nvalue; i++)
        l[i] = graph->value[i]->layout;
    return l;
}

/* Closed dims are as they were; open ones have what they had, and perhaps more. */
static void check_kept(const mw_graph *graph, const mw_layout *before)
{
    for (int64_t i = 0; i < graph->nvalue; i++) {
        const mw_ssa *v = graph->value[i];
        assert_memory_equal(v->layout.partial, before[i].partial, sizeof before[i].partial);
        for (int d = 0; d < v->layout.ndim; d++) {
            const mw_dim *was = &before[i].dim[d], *is = &v->layout.dim[d];
            assert_int_equal(was->open, is->open);
            if (!was->open) assert_true(mw__dim_equal(was, is));
            assert_int_equal(mw__dim_axes(was) & ~mw__dim_axes(is), 0);
        }
        assert_int_equal(mw__layout_check(v->mesh, &v->layout), MW_OK);
    }
}

static void check_program(uint64_t seed, const char *axes, bool basic)
{
    mw_mesh *mesh;
    mw_str text = {0}, other = {0}, first = {0}, second = {0};
    assert_int_equal(mw_mesh_parse(axes, &mesh), MW_OK);
    random_program(seed, mesh, axes, "v", true, &text);
    random_program(seed, mesh, axes, "name", true, &other);
    mw_graph *graph = read_graph(mw__str_text(&text)), *renamed = read_graph(mw__str_text(&other));
    mw_layout *before = layouts_of(graph);
    assert_int_equal(mw__propagate(graph, basic), MW_OK);
    assert_int_equal(mw__propagate(renamed, basic), MW_OK);
    check_kept(graph, before);
    check_origins(graph);
    assert_int_equal(mw__graph_verify(graph), MW_OK);
    for (int64_t i = 0; i < graph->nvalue; i++)
        assert_true(mw_layout_equal(&graph->value[i]->layout, &renamed->value[i]->layout));
    mw__graph_print(graph, &first);
    mw_graph *again = read_graph(mw__str_text(&first));
    mw__graph_print(again, &second);
    assert_string_equal(mw__str_text(&first), mw__str_text(&second));
    mw__free(before, (size_t)graph->nvalue * sizeof *before);
    mw__graph_free(graph);
    mw__graph_free(renamed);
    mw__graph_free(again);
    mw__str_done(&text);
    mw__str_done(&other);
    mw__str_done(&first);
    mw__str_done(&second);
    mw_mesh_unref(mesh);
}

static const char *const meshes[] = {"x=2", "x=2,y=2", "x=4,y=2", "x=3,y=2", "x=16", "x=2,y=2,z=2"};

static void test_any_program_stays_legal_and_keeps_annotations(void **state)
{
    (void)state;
    for (int i = 0; i < 600; i++)
        check_program(first_seed + (uint64_t)i * 977, meshes[i % MW_COUNT(meshes)], i % 5 == 0);
}

/* (Priorities aside: what a dim with one was given is its own annotation the second time.) */
static void test_a_second_run_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        const char *axes = meshes[i % MW_COUNT(meshes)];
        mw_mesh *mesh;
        mw_str text = {0}, first = {0}, second = {0};
        assert_int_equal(mw_mesh_parse(axes, &mesh), MW_OK);
        random_program(first_seed + 5 + (uint64_t)i * 131, mesh, axes, "v", false, &text);
        mw_graph *graph = read_graph(mw__str_text(&text));
        assert_int_equal(mw__pass_propagate(graph), MW_OK);
        mw__graph_print(graph, &first);
        assert_int_equal(mw__pass_propagate(graph), MW_OK);
        mw__graph_print(graph, &second);
        if (strcmp(mw__str_text(&first), mw__str_text(&second)) != 0)
            fail_msg("once:\n%s\ntwice:\n%s", mw__str_text(&first), mw__str_text(&second));
        mw__graph_free(graph);
        mw__str_done(&text);
        mw__str_done(&first);
        mw__str_done(&second);
        mw_mesh_unref(mesh);
    }
}

/* ---- one op -----------------------------------------------------------------------------------
 */

typedef struct agreement {
    int natural, same;
} agreement;

/* Operands lie anyhow, and closed; where the eager call moves nothing, its results' dims are those
 * that propagation finds. */
static void check_one_op(const mw_op *op, int nth, const mw_mesh *mesh, uint64_t *seed,
                         agreement *count)
{
    mw_arena arena;
    mw_sample sample;
    mw_choice choice;
    mw_graph *graph;
    mw_node *node, *input;
    mw__arena_init(&arena);
    assert_int_equal(mw__sample_make(op, nth, 1, &arena, &sample), MW_OK);
    mw_layout *in = mw__arena_alloc(&arena, (size_t)(sample.call.nin + 1) * sizeof *in);
    const mw_layout **at = mw__arena_alloc(&arena, (size_t)(sample.call.nin + 1) * sizeof *at);
    mw_ssa **value = mw__arena_alloc(&arena, (size_t)(sample.call.nin + 1) * sizeof *value);
    assert_true(in && at && value);
    assert_int_equal(mw__graph_new("one", &graph), MW_OK);
    int index;
    assert_int_equal(mw__graph_add_mesh(graph, (mw_mesh *)(uintptr_t)mesh, "m", &index), MW_OK);
    for (int i = 0; i < sample.call.nin; i++) {
        const mw_meta *meta = &sample.call.in[i];
        in[i] = random_layout(mesh, seed, meta->dtype, meta->ndim, meta->shape,
                              (1u << mw_mesh_axes(mesh)) - 1, naive_below(seed, 4) == 0);
        at[i] = &in[i];
        assert_int_equal(mw__graph_input(graph, graph->mesh[0], &in[i], NULL, &input), MW_OK);
        value[i] = input->out[0];
    }
    assert_int_equal(mw__graph_op(graph, NULL, op, sample.call.arg, sample.call.narg, value,
                                  sample.call.nin, &node),
                     MW_OK);
    assert_int_equal(mw__choose(mesh, &sample.call, at, &arena, &choice), MW_OK);
    assert_int_equal(mw__pass_propagate(graph), MW_OK);
    bool factory = op->unread != 0; /* the shape alone counts: any layout is natural */
    for (int o = 0; o < choice.nout && !choice.moves && !factory; o++) {
        bool same = true;
        for (int d = 0; d < choice.out[o].ndim; d++)
            same = same && mw__dim_equal(&choice.out[o].dim[d], &node->out[o]->layout.dim[d]);
        count->natural++;
        count->same += same;
        if (same || op->reshape)
            continue; /* reshapes: where Shardy's rule for uneven axes is kept */
        mw_str text = {0};
        mw__graph_print(graph, &text);
        mw__str_puts(&text, "eager: ");
        mw__layout_str(mesh, &choice.out[o], &text);
        fail_msg("%s", mw__str_text(&text));
    }
    mw__graph_free(graph);
    mw__arena_done(&arena);
}

static void test_one_op_goes_where_the_eager_call_goes(void **state)
{
    uint64_t seed = first_seed;
    agreement count = {0}, reshapes = {0};
    (void)state;
    for (int m = 0; m < 4; m++) {
        mw_mesh *mesh;
        assert_int_equal(mw_mesh_parse(meshes[m], &mesh), MW_OK);
        for (int id = 0; id < MW_OP_COUNT; id++) {
            const mw_op *op = mw__op_at((mw_op_id)id);
            for (int i = 0; i < 6 * mw__sample_count(op->samples); i++)
                check_one_op(op, i / 6, mesh, &seed, op->reshape ? &reshapes : &count);
        }
        mw_mesh_unref(mesh);
    }
    print_message("%d results, %d of reshapes alike (%d)\n", count.natural, reshapes.same,
                  reshapes.natural);
    assert_true(count.natural > 1000);
    assert_true(reshapes.same * 10 > reshapes.natural * 8);
}

/* ---- failures ---------------------------------------------------------------------------------
 */

static void test_every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    const program *p = &programs[MW_COUNT(programs) - 1];
    bool works = false;
    int n = 0;
    for (; !works && n < 2000; n++) {
        mw_fault_allocator fault;
        mw_fault_allocator_init(&fault, n + 1, 1);
        mw_graph *graph = graph_of(p);
        mw_allocator_use(&fault.allocator);
        mw_status status = mw__pass_propagate(graph);
        mw_allocator_use(NULL);
        assert_true(status == MW_OK || status == MW_ERR_NOMEM);
        works = status == MW_OK;
        mw__graph_free(graph);
        assert_int_equal(fault.live, 0);
    }
    assert_true(works && n > 20);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_axes_contain_and_overlap),
        cmocka_unit_test(test_parts_coexist_if_their_ends_divide),
        cmocka_unit_test(test_parts_are_cut_where_others_begin),
        cmocka_unit_test(test_lists_meet_on_their_major_axes),
        cmocka_unit_test(test_reshapes_share_the_digits_that_lie_in_both),
        cmocka_unit_test(test_programs_are_laid_as_the_table_says),
        cmocka_unit_test(test_chains_of_origins_end_at_annotations),
        cmocka_unit_test(test_nothing_passes_between_meshes),
        cmocka_unit_test(test_what_is_written_in_place_lies_as_it_lay),
        cmocka_unit_test(test_any_program_stays_legal_and_keeps_annotations),
        cmocka_unit_test(test_a_second_run_changes_nothing),
        cmocka_unit_test(test_one_op_goes_where_the_eager_call_goes),
        cmocka_unit_test(test_every_failed_allocation_is_an_error_and_leaks_nothing),
    };
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    printf("seed %llu\n", (unsigned long long)first_seed);
    return cmocka_run_group_tests_name("propagate", tests, NULL, NULL);
}
