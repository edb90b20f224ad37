/* Every op of the table on its own samples: texts in order, results as inferred, every element
 * written, inputs untouched; and for each letter that may be split, the shards' results make the
 * whole's: pasted where the letter reaches the result, reduced where it does not. A wrong rule, or
 * a kernel that takes global sizes for local ones, fails here without a single rank. */
#include "op_table.h"
#include "ops/args.h"

#include <math.h>

/* ---- texts ---------------------------------------------------------------------------------- */

static void texts_are_in_order(void **state)
{
    (void)state;
    assert_true(MW_OP_COUNT > 0);
    for (int id = 0; id < (int)MW_OP_COUNT; id++) {
        place p = {mw__op_word((mw_op_id)id), -1, mw__op_at((mw_op_id)id)};
        const mw_op_info *info;
        mw_schema again;
        mw_str text = {0};
        if (mw__op_info(p.op, &info) != MW_OK) FAIL_AT(&p, "broken");
        mw__schema_str(&info->schema, &text);
        if (mw__schema_parse(mw__str_text(&text), &again) != MW_OK ||
            memcmp(&again, &info->schema, sizeof again) != 0)
            FAIL_AT(&p, "the schema does not print back: %s", mw__str_text(&text));
        mw__str_done(&text);
        size_t n = p.op->doc ? strlen(p.op->doc) : 0;
        if (n < 2 || p.op->doc[n - 1] != '.') FAIL_AT(&p, "the doc does not end in a full stop");
        if (mw__sample_count(p.op->samples) < 2) FAIL_AT(&p, "fewer than two samples");
        if (!p.op->kernel == !p.op->view) FAIL_AT(&p, "needs a kernel or a view, not both");
        if (p.op->reshape && !p.op->view) FAIL_AT(&p, "a reshape without a view");
        if (!p.op->rule && !p.op->factors && !p.op->reshape && !p.op->in_place_of)
            FAIL_AT(&p, "no rule of any kind");
    }
}

static void print_call(const place *p, mw_sample *sample, mw_rule *rule, mw_arena *arena)
{
    (void)rule, (void)arena;
    const mw_op_info *info = mw__op_info_of(p->op);
    mw_str text = {0};
    mw__call_str(&sample->call, NULL, NULL, &text);
    size_t n = strlen(info->schema.name);
    if (strncmp(mw__str_text(&text), info->schema.name, n) != 0 || text.at[n] != '(' ||
        text.at[text.length - 1] != ')')
        FAIL_AT(p, "prints as %s", mw__str_text(&text));
    mw__str_done(&text);
}

static void calls_print(void **state)
{
    (void)state;
    each_sample(print_call);
}

/* ---- one rank ------------------------------------------------------------------------------- */

static size_t bytes_of(const mw_view *view)
{
    return (size_t)(mw__view_count(view) * mw_dtype_size(view->dtype));
}

static uint64_t hash_of_inputs(const mw_sample *sample)
{
    uint64_t hash = 1;
    for (int i = 0; i < sample->call.nin; i++)
        if (sample->in[i].data) hash = mw__hash(hash, sample->in[i].data, bytes_of(&sample->in[i]));
    return hash;
}

/* Two runs into different garbage give the same bytes: all elements are written, none is read. */
static void run_whole(const place *p, mw_sample *sample, mw_rule *rule, mw_arena *arena)
{
    harness first = {.sample = sample, .rule = rule, .arena = arena, .in = sample->in};
    harness second = first;
    uint64_t before = hash_of_inputs(sample);
    harness_whole(&first);
    harness_whole(&second);
    if (harness_run(&first, 0x5a) != MW_OK) FAIL_AT(p, "does not run");
    if (harness_run(&second, 0xff) != MW_OK) FAIL_AT(p, "does not run again");
    if (hash_of_inputs(sample) != before) FAIL_AT(p, "writes to its operands");
    for (int i = 0; i < rule->nout; i++)
        if (memcmp(first.out[i].data, second.out[i].data, bytes_of(&first.out[i])) != 0)
            FAIL_AT(p, "result %d is not written everywhere, or differs from run to run", i);
}

static void kernels_write_what_was_inferred(void **state)
{
    (void)state;
    each_sample(run_whole);
}

/* ---- shards --------------------------------------------------------------------------------- */

static void compare(const place *p, const mw_view *expected, const mw_view *got, const char *letter,
                    int ranks)
{
    int64_t n = mw__view_count(expected), size = mw_dtype_size(expected->dtype);
    double most = tolerance(expected->dtype);
    for (int64_t i = 0; i < n; i++) {
        double e = mw__element_get((const char *)expected->data + i * size, expected->dtype);
        double g =
            mw__element_get((const char *)got->data + i * mw_dtype_size(got->dtype), got->dtype);
        if (e == g || (isnan(e) && isnan(g)) || fabs(e - g) <= most * (1 + fabs(e))) continue;
        FAIL_AT(p, "letter %s over %d ranks: element %lld is %.9g, whole it is %.9g", letter, ranks,
                (long long)i, g, e);
    }
}

/* One letter over one axis, as a fold over coordinates. */
typedef struct split {
    const place *p;
    const mw_sample *sample;
    const mw_rule *rule;
    const mw_mesh *mesh;
    mw_arena *arena;
    int letter, nrank;
    uint32_t terms; /* those that hold the letter */
    const mw_layout *in[HARNESS_OPERANDS], *out[HARNESS_OPERANDS];
    mw_view result[HARNESS_OPERANDS];
} split;

static void fill_with(mw_view *view, double value)
{
    int64_t n = mw__view_count(view), size = mw_dtype_size(view->dtype);
    for (int64_t i = 0; i < n; i++)
        mw__element_set((char *)view->data + i * size, view->dtype, value);
}

/* A sum's terms without the letter are whole on the first rank and nothing on the others. */
static bool is_nothing(const split *s, int operand, int coord)
{
    int term = s->rule->in[operand].term;
    return coord > 0 && term >= 0 && !(s->terms >> term & 1u);
}

static void shard_inputs(const split *s, int coord, bool partial, mw_view *in)
{
    for (int i = 0; i < s->sample->call.nin; i++) {
        harness_local(s->mesh, s->in[i], coord, s->sample->in[i].dtype, &in[i]);
        if (!harness_make(&in[i], 0, s->arena)) FAIL_AT(s->p, "out of memory");
        if (!harness_shard(s->mesh, s->in[i], coord, &s->sample->in[i], &in[i], false))
            FAIL_AT(s->p, "the shard of operand %d has an unexpected shape", i);
        if (partial && is_nothing(s, i, coord)) fill_with(&in[i], -0.0);
    }
}

/* Adds a partial result to what the ranks before have given. */
static void reduce_into(const split *s, mw_view *total, const mw_view *part)
{
    int64_t n = mw__view_count(total), size = mw_dtype_size(total->dtype);
    int64_t step = mw_dtype_size(part->dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)total->data + i * size;
        double a = mw__element_get(at, total->dtype);
        double b = mw__element_get((const char *)part->data + i * step, part->dtype);
        double value = a + b;
        if (s->rule->reduce == MW_REDUCE_MAX) value = a > b || isnan(a) ? a : b;
        if (s->rule->reduce == MW_REDUCE_MIN) value = a < b || isnan(a) ? a : b;
        if (s->rule->reduce == MW_REDUCE_PROD) value = a * b;
        mw__element_set(at, total->dtype, value);
    }
}

static void run_coordinate(split *s, int coord, bool partial)
{
    mw_view in[HARNESS_OPERANDS];
    harness h = {.sample = s->sample, .rule = s->rule, .arena = s->arena, .mesh = s->mesh};
    h.coord = coord;
    h.in = in;
    memcpy(h.in_layout, s->in, sizeof s->in);
    memcpy(h.out_layout, s->out, sizeof s->out);
    shard_inputs(s, coord, partial, in);
    for (int i = 0; i < s->rule->nout; i++)
        harness_local(s->mesh, s->out[i], coord, s->result[i].dtype, &h.out[i]);
    if (harness_run(&h, 0x5a) != MW_OK)
        FAIL_AT(s->p, "letter %s over %d ranks: rank %d does not run",
                s->rule->letter[s->letter].name, s->nrank, coord);
    for (int i = 0; i < s->rule->nout; i++) {
        if (!harness_has(&s->rule->out[i], s->letter)) {
            if (coord == 0)
                mw__view_copy(&s->result[i], &h.out[i]);
            else if (partial)
                reduce_into(s, &s->result[i], &h.out[i]);
        } else if (!harness_shard(s->mesh, s->out[i], coord, &s->result[i], &h.out[i], true)) {
            FAIL_AT(s->p, "the shard of result %d has an unexpected shape", i);
        }
    }
}

static void run_split(split *s, const mw_view *whole)
{
    bool partial = !s->rule->letter[s->letter].in_output;
    for (int i = 0; i < s->rule->nin; i++) {
        if (s->rule->in[i].term >= 0 && harness_has(&s->rule->in[i], s->letter))
            s->terms |= 1u << s->rule->in[i].term;
        s->in[i] = harness_layout(s->mesh, s->rule, &s->rule->in[i], s->sample->in[i].dtype,
                                  s->letter, s->arena);
        if (!s->in[i]) FAIL_AT(s->p, "out of memory");
    }
    for (int i = 0; i < s->rule->nout; i++) {
        mw_dtype dtype = whole[i].dtype;
        bool half = dtype == MW_DTYPE_f16 || dtype == MW_DTYPE_bf16;
        if (partial && half && s->rule->reduce == MW_REDUCE_SUM) dtype = MW_DTYPE_f32;
        s->out[i] =
            harness_layout(s->mesh, s->rule, &s->rule->out[i], whole[i].dtype, s->letter, s->arena);
        mw__view_set(&s->result[i], dtype, whole[i].ndim, whole[i].shape);
        if (!s->out[i] || !harness_make(&s->result[i], 0xff, s->arena))
            FAIL_AT(s->p, "out of memory");
    }
    for (int coord = 0; coord < s->nrank; coord++)
        run_coordinate(s, coord, partial);
    for (int i = 0; i < s->rule->nout; i++)
        compare(s->p, &whole[i], &s->result[i], s->rule->letter[s->letter].name, s->nrank);
}

/* Whether the rule lets the letter be split over an axis without further help. */
static bool may_split(const mw_rule *rule, int letter)
{
    const mw_letter *l = &rule->letter[letter];
    if (l->mark != MW_MARK_FREE) return false;
    if (!l->in_output && rule->reduce == MW_REDUCE_NONE) return false;
    for (int i = 0; i < rule->nin; i++)
        if (harness_has(&rule->in[i], letter) > 1) return false;
    for (int i = 0; i < rule->nout; i++)
        if (harness_has(&rule->out[i], letter) > 1) return false;
    return true;
}

static int splits; /* how many were tried, for the test of the test */

static void run_shards(const place *p, mw_sample *sample, mw_rule *rule, mw_arena *arena)
{
    static const char *const meshes[] = {"x=2", "x=3", "x=7"};
    if (p->op->reshape) return; /* has no letters: the layouts are regrouped */
    harness whole = {.sample = sample, .rule = rule, .arena = arena, .in = sample->in};
    harness_whole(&whole);
    if (harness_run(&whole, 0x5a) != MW_OK) FAIL_AT(p, "does not run");
    for (int letter = 0; letter < rule->nletter; letter++) {
        if (!may_split(rule, letter)) continue;
        for (int m = 0; m < MW_COUNT(meshes); m++) {
            mw_mesh *mesh = NULL;
            assert_int_equal(mw_mesh_parse(meshes[m], &mesh), MW_OK);
            split s = {.p = p, .sample = sample, .rule = rule, .mesh = mesh, .arena = arena};
            s.letter = letter;
            s.nrank = mw_mesh_ranks(mesh);
            run_split(&s, whole.out);
            mw_mesh_unref(mesh);
            splits++;
        }
    }
}

static void shards_make_the_whole(void **state)
{
    (void)state;
    splits = 0;
    each_sample(run_shards);
    assert_true(splits > (int)MW_OP_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_in_order),
        cmocka_unit_test(calls_print),
        cmocka_unit_test(kernels_write_what_was_inferred),
        cmocka_unit_test(shards_make_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
