/* Views, copies and factories: every element of a result is the operand's that the op's definition
 * names, in several memory orders; a view shares the operand's memory; and a shard's result is the
 * result's shard, for every letter that may be split, into even, uneven and empty parts. The last
 * is also asked of the element-wise ops and reductions. Seeds are fixed. */
#include "op_shard.h"

#include <math.h>
#include <stdio.h>

static mw_status run_view(op_run *run)
{
    for (int o = 0; o < run->rule.nout; o++)
        MW_TRY(run->op->view(&run->sample.call, o, &run->in[0], &run->out[o]));
    return MW_OK;
}

/* ---- whole tensors -----------------------------------------------------------------------------
 */

typedef struct view_case {
    const char *word, *sample;
    const char *shapes; /* of the results */
    const char *picks;  /* row-major numbers of the operand's elements, in the results' order */
} view_case;

static const view_case view_cases[] = {
    {"view", "f32[2, 3], [3, 2]", "[3, 2]", "0 1 2 3 4 5"},
    {"view", "f32[2, 3], [-1]", "[6]", "0 1 2 3 4 5"},
    {"reshape", "f32[2, 3], [1, 2, -1, 1]", "[1, 2, 3, 1]", "0 1 2 3 4 5"},
    {"reshape", "f32[], [1, 1]", "[1, 1]", "0"},
    {"reshape", "f32[1], []", "[]", "0"},
    {"_unsafe_view", "f32[4], [2, 2]", "[2, 2]", "0 1 2 3"},
    {"permute", "f32[2, 3], [1, 0]", "[3, 2]", "0 3 1 4 2 5"},
    {"permute", "f32[2, 1, 3], [-1, 0, 1]", "[3, 2, 1]", "0 3 1 4 2 5"},
    {"transpose_int", "f32[2, 2, 2], 0, -1", "[2, 2, 2]", "0 4 2 6 1 5 3 7"},
    {"transpose_int", "f32[], 0, -1", "[]", "0"},
    {"t", "f32[2, 3]", "[3, 2]", "0 3 1 4 2 5"},
    {"t", "f32[3]", "[3]", "0 1 2"},
    {"unsqueeze", "f32[2, 2], 1", "[2, 1, 2]", "0 1 2 3"},
    {"unsqueeze", "f32[2], -1", "[2, 1]", "0 1"},
    {"squeeze", "f32[1, 2, 1]", "[2]", "0 1"},
    {"squeeze_dim", "f32[1, 2, 1], -1", "[1, 2]", "0 1"},
    {"squeeze_dim", "f32[1, 2, 1], 1", "[1, 2, 1]", "0 1"},
    {"expand", "f32[2, 1], [2, 3]", "[2, 3]", "0 0 0 1 1 1"},
    {"expand", "f32[2], [2, -1]", "[2, 2]", "0 1 0 1"},
    {"expand", "f32[], [3]", "[3]", "0 0 0"},
    {"slice", "f32[6], 0, 1, 5, 2", "[2]", "1 3"},
    {"slice", "f32[6], 0, -3", "[3]", "3 4 5"},
    {"slice", "f32[6], 0, none, -4", "[2]", "0 1"},
    {"slice", "f32[2, 4], 1, 2, 99", "[2, 2]", "2 3 6 7"},
    {"slice", "f32[6], 0, 4, 2", "[0]", ""},
    {"slice", "f32[6], 0, 0, 6, 4", "[2]", "0 4"},
    {"slice", "f32[6], 0, 5, 6, 4", "[1]", "5"},
    {"select_int", "f32[2, 3], 0, -1", "[3]", "3 4 5"},
    {"select_int", "f32[2, 3], 1, 1", "[2]", "1 4"},
    {"split", "f32[4], 2", "[2] [2]", "0 1 2 3"},
    {"split", "f32[5], 2", "[2] [2] [1]", "0 1 2 3 4"},
    {"split", "f32[2, 4], 2, -1", "[2, 2] [2, 2]", "0 1 4 5 2 3 6 7"},
    {"split", "f32[3], 7", "[3]", "0 1 2"},
    {"unbind_int", "f32[2, 2], 1", "[2] [2]", "0 2 1 3"},
    {"alias", "f32[2]", "[2]", "0 1"},
    {"detach", "f32[2]", "[2]", "0 1"},
    {"contiguous", "f32[2, 2]", "[2, 2]", "0 1 2 3"},
};

static void shapes_text(const op_run *run, mw_str *to)
{
    for (int o = 0; o < run->rule.nout; o++) {
        mw__str_puts(to, o ? " [" : "[");
        for (int d = 0; d < run->out[o].ndim; d++)
            mw__str_printf(to, "%s%d", d ? ", " : "", (int)run->out[o].shape[d]);
        mw__str_putc(to, ']');
    }
}

/* The operand's elements are their own numbers. */
static void number_elements(const op_run *run)
{
    const mw_view *in = &run->in[0];
    for (int64_t i = 0; i < mw__view_count(in); i++)
        mw__element_set((char *)in->data + op_run_offset(in, i), in->dtype, (double)i);
}

static void check_view(const view_case *c, uint64_t pick)
{
    op_run run;
    mw_str shapes = {0}, picks = {0};
    if (op_run_make(&run, op_run_find(c->word), c->sample, 1, pick) != MW_OK)
        fail_msg("%s(%s): %s", c->word, c->sample, mw_last_error()->says);
    number_elements(&run);
    mw_status status = run_view(&run);
    bool may_copy = pick != 0 && (run.op->reshape || strcmp(c->word, "contiguous") == 0);
    if (status != MW_ERR_UNSUPPORTED || !may_copy) {
        assert_int_equal(status, MW_OK);
        for (int o = 0; o < run.rule.nout; o++)
            for (int64_t i = 0; i < mw__view_count(&run.out[o]); i++)
                mw__str_printf(&picks, "%s%d", picks.length ? " " : "",
                               (int)op_run_get(&run.out[o], i));
        shapes_text(&run, &shapes);
        if (strcmp(mw__str_text(&picks), c->picks) != 0 || strcmp(mw__str_text(&shapes), c->shapes))
            fail_msg("%s(%s) is %s: %s, not %s: %s", c->word, c->sample, mw__str_text(&shapes),
                     mw__str_text(&picks), c->shapes, c->picks);
    }
    mw__str_done(&shapes);
    mw__str_done(&picks);
    op_run_done(&run);
}

static void test_views_pick_the_right_elements(void **state)
{
    (void)state;
    static const uint64_t orders[] = {0, 1, 2, 3, 12};
    for (int c = 0; c < MW_COUNT(view_cases); c++)
        for (int p = 0; p < MW_COUNT(orders); p++)
            check_view(&view_cases[c], orders[p]);
}

static void test_a_reshape_of_gaps_asks_for_a_copy(void **state)
{
    (void)state;
    op_run run;
    assert_int_equal(op_run_make(&run, op_run_find("view"), "f32[4, 6], [24]", 1, 0), MW_OK);
    run.in[0].stride[0] = 7;
    assert_int_equal(run_view(&run), MW_ERR_UNSUPPORTED);
    run.in[0].stride[0] = 6;
    assert_int_equal(run_view(&run), MW_OK);
    assert_ptr_equal(run.out[0].data, run.in[0].data);
    op_run_done(&run);
}

/* Shards without data (no elements, or ranks that only plan) give views without data. */
static void test_views_of_no_memory(void **state)
{
    (void)state;
    for (int id = 0; id < (int)MW_OP_COUNT; id++) {
        const mw_op *op = mw__op_at((mw_op_id)id);
        char sample[128];
        if (!op->view) continue;
        for (int n = 0; n < mw__sample_count(op->samples); n++) {
            op_run run;
            op_run_sample(op, n, sample, sizeof sample);
            assert_int_equal(op_run_make(&run, op, sample, 1, 0), MW_OK);
            run.in[0].data = NULL;
            assert_int_equal(run_view(&run), MW_OK);
            for (int o = 0; o < run.rule.nout; o++)
                assert_null(run.out[o].data);
            op_run_done(&run);
        }
    }
}

/* ---- shards ------------------------------------------------------------------------------------
 */

/* Fills local outputs from local inputs. A view that needs a copy of its operand gets one. */
static void run_local(op_run *run, const mw_view *in, mw_view *out)
{
    const mw_op *op = run->op;
    mw_kernel_call k = {.call = &run->sample.call,
                        .nin = run->sample.call.nin,
                        .nout = run->rule.nout,
                        .in = in,
                        .out = out,
                        .scratch = &run->arena};
    if (op->view)
        for (int o = 0; o < run->rule.nout; o++)
            assert_int_equal(op->view(&run->sample.call, o, &in[0], &out[o]), MW_OK);
    else
        assert_int_equal(op->kernel(&k), MW_OK);
}

static void make_outputs(op_run *run, const op_shard *s, mw_view *out)
{
    for (int o = 0; o < run->rule.nout; o++) {
        int64_t shape[MW_MAX_DIMS];
        op_shard_shape(s, &run->rule.out[o], shape);
        mw__view_set(&out[o], run->rule.out_meta[o].dtype, run->rule.out[o].ndim, shape);
        size_t bytes = (size_t)(mw__view_count(&out[o]) * mw_dtype_size(out[o].dtype));
        out[o].data = mw__arena_zalloc(&run->arena, bytes);
        assert_non_null(out[o].data);
    }
}

static bool close_enough(double got, double want, mw_dtype dtype, bool exact)
{
    if (got == want || (isnan(got) && isnan(want))) return true;
    if (exact || mw_dtype_kind_of(dtype) != MW_KIND_FLOAT) return false;
    return fabs(got - want) <= 32 * op_run_epsilon(dtype) * fmax(1, fabs(want));
}

static double combine(mw_reduce reduce, double a, double b)
{
    if (reduce == MW_REDUCE_MAX) return a > b || isnan(a) ? a : b;
    if (reduce == MW_REDUCE_MIN) return a < b || isnan(a) ? a : b;
    return a + b;
}

/* Runs the op on each part of the letter and compares with the whole result: part by part where the
 * result has the letter, else after combining the parts. */
static void check_letter(op_run *run, const char *sample, int letter, int parts)
{
    const mw_rule *rule = &run->rule;
    bool split = rule->letter[letter].in_output;
    int64_t count = mw__view_count(&run->out[0]);
    double *sum = mw__arena_zalloc(&run->arena, (size_t)(count + 1) * sizeof *sum);
    assert_non_null(sum);
    for (int part = 0; part < parts; part++) {
        op_shard s = {rule, letter, parts, part};
        mw_view in[OP_RUN_TENSORS], out[OP_RUN_TENSORS];
        for (int i = 0; i < rule->nin; i++)
            op_shard_take(run, &s, &rule->in[i], &run->in[i], &in[i]);
        make_outputs(run, &s, out);
        run_local(run, in, out);
        for (int o = 0; o < rule->nout; o++)
            for (int64_t i = 0; i < mw__view_count(&out[o]); i++) {
                double got = op_run_get(&out[o], i);
                if (!split) {
                    sum[i] = part ? combine(rule->reduce, sum[i], got) : got;
                    continue;
                }
                int64_t at =
                    op_shard_element(&s, &rule->out[o], run->out[o].shape, out[o].shape, i);
                double want = op_run_get(&run->out[o], at);
                if (!close_enough(got, want, out[o].dtype, true))
                    fail_msg("%s(%s) letter %s part %d of %d: output %d element %d is %g, not %g",
                             mw__op_info_of(run->op)->word, sample, rule->letter[letter].name, part,
                             parts, o, (int)i, got, want);
            }
    }
    for (int64_t i = 0; i < count && !split; i++)
        if (!close_enough(sum[i], op_run_get(&run->out[0], i), run->out[0].dtype, false))
            fail_msg("%s(%s) letter %s over %d parts: element %d combines to %g, not %g",
                     mw__op_info_of(run->op)->word, sample, rule->letter[letter].name, parts,
                     (int)i, sum[i], op_run_get(&run->out[0], i));
}

static bool in_all_outputs(const mw_rule *rule, int letter)
{
    for (int o = 0; o < rule->nout; o++) {
        bool found = false;
        for (int d = 0; d < rule->out[o].ndim; d++)
            for (int i = 0; i < rule->out[o].nletter[d]; i++)
                found = found || rule->out[o].letter[d][i] == letter;
        if (!found) return false;
    }
    return true;
}

/* May the letter be split, as a plan would? */
static bool splittable(const mw_rule *rule, int letter)
{
    const mw_letter *l = &rule->letter[letter];
    if (l->mark != MW_MARK_FREE) return false;
    return l->in_output ? in_all_outputs(rule, letter) : rule->reduce != MW_REDUCE_NONE;
}

static int check_op(const mw_op *op)
{
    char sample[128];
    int checked = 0;
    for (int n = 0; n < mw__sample_count(op->samples); n++) {
        op_run run;
        op_run_sample(op, n, sample, sizeof sample);
        if (op_run_make(&run, op, sample, 3, 0) != MW_OK)
            fail_msg("%s(%s): %s", op->schema, sample, mw_last_error()->says);
        run_local(&run, run.in, run.out);
        for (int l = 0; l < run.rule.nletter; l++)
            for (int parts = 2; parts <= 5 && splittable(&run.rule, l); parts++, checked++)
                check_letter(&run, sample, l, parts);
        op_run_done(&run);
    }
    return checked;
}

static const char *const words[] = {"add",
                                    "add_scalar",
                                    "sub",
                                    "sub_scalar",
                                    "mul",
                                    "mul_scalar",
                                    "div",
                                    "div_scalar",
                                    "pow_tensor_scalar",
                                    "pow_tensor_tensor",
                                    "maximum",
                                    "minimum",
                                    "neg",
                                    "abs",
                                    "relu",
                                    "exp",
                                    "log",
                                    "sqrt",
                                    "rsqrt",
                                    "reciprocal",
                                    "sin",
                                    "cos",
                                    "tanh",
                                    "sigmoid",
                                    "silu",
                                    "gelu",
                                    "eq",
                                    "eq_scalar",
                                    "ne",
                                    "lt",
                                    "le",
                                    "gt",
                                    "ge",
                                    "ge_scalar",
                                    "where_self",
                                    "masked_fill_scalar",
                                    "sum",
                                    "sum_dim_intlist",
                                    "mean",
                                    "mean_dim",
                                    "amax",
                                    "amin",
                                    "clone",
                                    "to_dtype",
                                    "copy_",
                                    "full",
                                    "zeros_like",
                                    "ones_like",
                                    "permute",
                                    "transpose_int",
                                    "t",
                                    "unsqueeze",
                                    "squeeze",
                                    "squeeze_dim",
                                    "expand",
                                    "slice",
                                    "select_int",
                                    "split",
                                    "unbind_int",
                                    "alias",
                                    "detach",
                                    "contiguous"};

/* Ops whose shards are told by letters; arange asks for positions and has a test of its own. */
static void test_a_shards_result_is_the_results_shard(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(words); i++)
        if (check_op(op_run_find(words[i])) == 0) fail_msg("%s: no letter to split", words[i]);
}

/* `letters`: the operand's dims, then the results', as `q*.p` for a product. */
static void check_letters(const char *word, const char *sample, const char *letters)
{
    op_run run;
    mw_str text = {0};
    if (op_run_make(&run, op_run_find(word), sample, 1, 0) != MW_OK)
        fail_msg("%s(%s): %s", word, sample, mw_last_error()->says);
    for (int o = -1; o < run.rule.nout; o++) {
        const mw_operand *operand = o < 0 ? &run.rule.in[0] : &run.rule.out[o];
        mw__str_puts(&text, o < 0 ? "[" : " [");
        for (int d = 0; d < operand->ndim; d++) {
            if (d) mw__str_putc(&text, ' ');
            if (!operand->nletter[d]) mw__str_putc(&text, '1');
            for (int i = 0; i < operand->nletter[d]; i++) {
                const mw_letter *l = &run.rule.letter[operand->letter[d][i]];
                mw__str_printf(&text, "%s%s%s", i ? "." : "", l->name,
                               l->mark == MW_MARK_WHOLE ? "*" : "");
            }
        }
        mw__str_putc(&text, ']');
    }
    if (strcmp(mw__str_text(&text), letters) != 0)
        fail_msg("%s(%s) has %s, not %s", word, sample, mw__str_text(&text), letters);
    mw__str_done(&text);
    op_run_done(&run);
}

static void test_equal_parts_of_a_dim_may_be_split(void **state)
{
    (void)state;
    check_letters("slice", "f32[8, 6], 0, 4, 8", "[q*.p i1] [p i1]");
    check_letters("slice", "f32[8, 6], 0, 2, 8", "[n* i1] [p* i1]");
    check_letters("slice", "f32[8, 6], 0, 0, 8", "[p i1] [p i1]");
    check_letters("slice", "f32[8, 6], 0, 0, 8, 2", "[n* i1] [p* i1]");
    check_letters("slice", "f32[9], 0, 3, 6", "[q*.p] [p]");
    check_letters("slice", "f32[8], 0, 6, 8", "[q*.p] [p]");
    check_letters("slice", "f32[8], 0, 5, 7", "[n*] [p*]");
    check_letters("split", "f32[8, 6], 4", "[q*.p i1] [p i1] [p i1]");
    check_letters("split", "f32[8, 6], 5", "[n* i1] [p* i1] [r* i1]");
    check_letters("split", "f32[6], 4", "[n*] [p*] [r*]");
    check_letters("split", "f32[8], 8", "[p] [p]");
    check_letters("select_int", "f32[8, 6], 0, 3", "[n* i1] [i1]");
    check_letters("unbind_int", "f32[3, 2], 1", "[i0 n*] [i0] [i0]");
    check_letters("expand", "f32[2, 1], [3, 2, 4]", "[i1 1] [i0 i1 i2]");
    check_letters("unsqueeze", "f32[2, 3], 1", "[i0 i1] [i0 1 i1]");
    check_letters("permute", "f32[2, 3], [1, 0]", "[i0 i1] [i1 i0]");
}

/* ---- copies and factories ----------------------------------------------------------------------
 */

static void test_copy_in_place_takes_any_strides(void **state)
{
    (void)state;
    static const char *const samples[] = {"f32[4, 6], f32[4, 6]", "f32[4, 6], f64[6]",
                                          "bf16[3, 5], f32[3, 1]", "i64[40], f32[]"};
    for (int s = 0; s < MW_COUNT(samples); s++)
        for (uint64_t pick = 0; pick < 4; pick++) {
            op_run run;
            assert_int_equal(op_run_make(&run, op_run_find("copy_"), samples[s], 2, pick), MW_OK);
            run.out[0] = run.in[0];
            assert_int_equal(op_run_kernel(&run), MW_OK);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                char element[8];
                double from = op_run_get_broadcast(&run.in[1], &run.out[0], i);
                mw__element_set(element, run.out[0].dtype, from);
                assert_true(op_run_get(&run.out[0], i) ==
                            mw__element_get(element, run.out[0].dtype));
            }
            op_run_done(&run);
        }
}

static void check_values(const char *word, const char *sample, const char *dtype,
                         const char *values)
{
    op_run run;
    mw_str text = {0};
    if (op_run_make(&run, op_run_find(word), sample, 1, 0) != MW_OK || op_run_kernel(&run) != MW_OK)
        fail_msg("%s(%s): %s", word, sample, mw_last_error()->says);
    for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++)
        mw__str_printf(&text, "%s%g", i ? " " : "", op_run_get(&run.out[0], i));
    assert_string_equal(mw_dtype_name(run.out[0].dtype), dtype);
    assert_string_equal(mw__str_text(&text), values);
    mw__str_done(&text);
    op_run_done(&run);
}

static void test_factories(void **state)
{
    (void)state;
    check_values("full", "[2, 2], 7", "i64", "7 7 7 7");
    check_values("full", "[3], 0.5", "f32", "0.5 0.5 0.5");
    check_values("full", "[2], true", "bool", "1 1");
    check_values("full", "[2], 3, bf16", "bf16", "3 3");
    check_values("full", "[], 3", "i64", "3");
    check_values("full", "[0], 3", "i64", "");
    check_values("zeros_like", "i32[3]", "i32", "0 0 0");
    check_values("zeros_like", "i32[3], f64", "f64", "0 0 0");
    check_values("ones_like", "bf16[3]", "bf16", "1 1 1");
    check_values("arange", "4", "i64", "0 1 2 3");
    check_values("arange", "3.5", "f32", "0 1 2 3");
    check_values("arange", "3, bf16", "bf16", "0 1 2");
    check_values("arange_start_step", "2, 9, 3", "i64", "2 5 8");
    check_values("arange_start_step", "2, 8, 3", "i64", "2 5");
    check_values("arange_start_step", "5, 0, -2", "i64", "5 3 1");
    check_values("arange_start_step", "0, 1, 0.25", "f32", "0 0.25 0.5 0.75");
    check_values("arange_start_step", "3, 3", "i64", "");
}

static void test_arange_knows_where_its_shard_lies(void **state)
{
    (void)state;
    static const char *const layouts[] = {"i64[10@x]", "i64[2·5@x]", "i64[5@x·2]", "i64[10]"};
    mw_mesh *mesh;
    assert_int_equal(mw_mesh_parse("x=3", &mesh), MW_OK);
    for (int l = 0; l < MW_COUNT(layouts); l++)
        for (int rank = 0; rank < 3; rank++) {
            op_run run;
            mw_layout layout;
            mw_range range[10];
            int coord[MW_MESH_AXES], n = 0;
            assert_int_equal(mw_layout_parse(mesh, layouts[l], &layout), MW_OK);
            mw__mesh_coords(mesh, rank, coord);
            assert_int_equal(op_run_make(&run, op_run_find("arange_start_step"), "7, 37, 3", 1, 0),
                             MW_OK);
            mw_layout_local_shape(mesh, &layout, rank, run.out[0].shape);
            const mw_layout *out_layout = &layout;
            mw_kernel_call k = {.call = &run.sample.call,
                                .nout = 1,
                                .out = run.out,
                                .mesh = mesh,
                                .coord = coord,
                                .out_layout = &out_layout,
                                .scratch = &run.arena};
            assert_int_equal(run.op->kernel(&k), MW_OK);
            int64_t nrange = mw_layout_ranges(mesh, &layout, rank, 0, range, 10);
            for (int64_t r = 0; r < nrange; r++)
                for (int64_t i = range[r].first; i < range[r].end; i++)
                    assert_true(op_run_get(&run.out[0], n++) == (double)(7 + 3 * i));
            assert_int_equal(n, run.out[0].shape[0]);
            op_run_done(&run);
        }
    mw_mesh_unref(mesh);
}

static void test_which_conversions_keep_sums_and_order(void **state)
{
    (void)state;
    static const struct {
        const char *sample;
        int linear, monotone;
    } cases[] = {{"f32[2], f32", 1, 1},  {"bf16[2], f32", 1, 1}, {"f16[2], f64", 1, 1},
                 {"f32[2], bf16", 0, 1}, {"f64[2], f32", 0, 1},  {"f16[2], bf16", 0, 1},
                 {"f32[2], i64", 0, 0},  {"i64[2], f32", 0, 1},  {"i32[2], i64", 0, 1},
                 {"i64[2], i32", 0, 0},  {"i64[2], bool", 0, 0}, {"bool[2], f32", 0, 1}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        op_run run;
        assert_int_equal(op_run_make(&run, op_run_find("to_dtype"), cases[i].sample, 1, 0), MW_OK);
        if (run.rule.in[0].linear != cases[i].linear ||
            run.rule.in[0].monotone != cases[i].monotone)
            fail_msg("to(%s): linear %d, monotone %d", cases[i].sample, run.rule.in[0].linear,
                     run.rule.in[0].monotone);
        op_run_done(&run);
    }
}

/* ---- what is refused ---------------------------------------------------------------------------
 */

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *word, *sample, *says;
    } cases[] = {
        {"view", "f32[2, 3], [4, 2]",
         "f32[2, 3] (6 elements) cannot have the shape [4, 2]: that is 8"},
        {"view", "f32[2, 3], [4, -1]", "no size in place of -1"},
        {"view", "f32[2, 3], [-1, -1]", "only one size can be -1"},
        {"view", "f32[2, 3], [-2, 3]", "a size is negative"},
        {"view", "f32[0, 3], [0, -1]", "-1 could be any size"},
        {"view", "f32[2], [1, 1, 1, 1, 1, 1, 1, 1, 2]", "too many dims"},
        {"view", "f32[2], [4611686018427387904, 4]", "too many elements"},
        {"permute", "f32[2, 3], [0]", "must name all 2 dims, got 1"},
        {"permute", "f32[2, 3], [0, -2]", "dim 0 stands twice"},
        {"permute", "f32[2, 3], [0, 2]", "dim"},
        {"transpose_int", "f32[2, 3], 0, 2", "dim"},
        {"t", "f32[2, 3, 4]", "at most 2 dims, got 3"},
        {"unsqueeze", "f32[2], 2", "dim"},
        {"expand", "f32[2, 3], [4, 3]", "dim 0 of f32[2, 3] cannot be expanded to size 4"},
        {"expand", "f32[2, 3], [3]", "names 1 dims"},
        {"expand", "f32[3], [-1, 3]", "cannot be expanded to size -1"},
        {"slice", "f32[4], 0, 0, 4, 0", "step must be positive, got 0"},
        {"slice", "f32[], 0", "without dims"},
        {"slice", "f32[4], 1", "dim"},
        {"select_int", "f32[2, 3], 1, 3", "index 3 is outside dim 1 of f32[2, 3]"},
        {"select_int", "f32[0], 0, 0", "index 0 is outside"},
        {"split", "f32[4], 0", "'split_size' must be positive, got 0"},
        {"split", "f32[4], -1", "'split_size' must be positive, got -1"},
        {"split", "f32[4], 2, 1", "dim"},
        {"unbind_int", "f32[]", "without dims"},
        {"copy_", "f32[2, 3], f32[2]", "'src' f32[2] cannot be expanded to 'self' f32[2, 3]"},
        {"full", "[2, -1], 0", "dim 1 of argument 'size' is negative: -1"},
        {"arange_start_step", "0, 5, 0", "step must not be 0"},
        {"arange_start_step", "0, 5, -1", "a step of -1 does not lead from 0 to 5"},
        {"arange", "-2", "a step of 1 does not lead from 0 to -2"},
        {"arange_start_step", "0, 1e300, 1", "no finite number of elements"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        op_run run;
        mw_status status = op_run_make(&run, op_run_find(cases[i].word), cases[i].sample, 1, 0);
        op_run_done(&run);
        if (status == MW_OK || !strstr(mw_last_error()->says, cases[i].says))
            fail_msg("%s(%s): expected '%s', got '%s'", cases[i].word, cases[i].sample,
                     cases[i].says, status == MW_OK ? "success" : mw_last_error()->says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_pick_the_right_elements),
        cmocka_unit_test(test_a_reshape_of_gaps_asks_for_a_copy),
        cmocka_unit_test(test_views_of_no_memory),
        cmocka_unit_test(test_a_shards_result_is_the_results_shard),
        cmocka_unit_test(test_equal_parts_of_a_dim_may_be_split),
        cmocka_unit_test(test_copy_in_place_takes_any_strides),
        cmocka_unit_test(test_factories),
        cmocka_unit_test(test_arange_knows_where_its_shard_lies),
        cmocka_unit_test(test_which_conversions_keep_sums_and_order),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
