/* The choice of layouts for a call: by table what moves nothing, as DTensor has it, and what
 * happens where operands disagree; and that no combination of options is cheaper than the one
 * chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout_random.h"
#include "ops/sample.h"
#include "plan/choose.h"

static uint64_t first_seed = 20241001;

typedef struct row {
    const char *mesh, *op, *sample;
    const char *in[4];  /* as the operands lie */
    const char *use[4]; /* as the op works on them; NULL: as they lie */
    const char *out[3];
} row;

static const row table[] = {
    /* products: the rows of DTensor's matrix multiplication */
    {"x=4",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8@x, 12]", "f32[12, 16]"},
     {0},
     {"f32[8@x, 16]"}},
    {"x=4",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12]", "f32[12, 16@x]"},
     {0},
     {"f32[8, 16@x]"}},
    {"x=4",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12@x]", "f32[12@x, 16]"},
     {0},
     {"f32[8, 16]{sum:x}"}},
    {"x=4",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12]{sum:x}", "f32[12, 16]"},
     {0},
     {"f32[8, 16]{sum:x}"}},
    {"x=4",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12]", "f32[12, 16]{sum:x}"},
     {0},
     {"f32[8, 16]{sum:x}"}},
    {"x=2,y=2",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8@x, 12@y]", "f32[12@y, 16]"},
     {0},
     {"f32[8@x, 16]{sum:y}"}},
    {"x=2,y=2",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8@x, 12]", "f32[12, 16@y]"},
     {0},
     {"f32[8@x, 16@y]"}},
    {"x=2,y=2",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12@y,x]", "f32[12@y,x, 16]"},
     {0},
     {"f32[8, 16]{sum:x,y}"}},
    {"x=2,y=2",
     "mm",
     "f32[8, 12], f32[12, 16]",
     {"f32[8, 12@x]{sum:y}", "f32[12@x, 16]"},
     {0},
     {"f32[8, 16]{sum:x,y}"}},
    {"x=4",
     "addmm",
     "f32[16], f32[8, 12], f32[12, 16]",
     {"f32[16]{sum:x}", "f32[8, 12@x]", "f32[12@x, 16]"},
     {0},
     {"f32[8, 16]{sum:x}"}},
    {"x=4",
     "addmm",
     "f32[16], f32[8, 12], f32[12, 16]",
     {"f32[16@x]", "f32[8, 12]", "f32[12, 16@x]"},
     {0},
     {"f32[8, 16@x]"}},
    /* a whole bias beside a contracted letter: kept on one rank, nothing is received */
    {"x=4",
     "addmm",
     "f32[16], f32[8, 12], f32[12, 16]",
     {"f32[16]", "f32[8, 12@x]", "f32[12@x, 16]"},
     {"f32[16]{sum:x}", "f32[8, 12@x]", "f32[12@x, 16]"},
     {"f32[8, 16]{sum:x}"}},
    {"x=4",
     "linear",
     "f32[2, 8, 12], f32[16, 12], f32[16]",
     {"f32[2, 8, 12]", "f32[16@x, 12]", "f32[16@x]"},
     {0},
     {"f32[2, 8, 16@x]"}},
    {"x=4",
     "linear",
     "f32[2, 8, 12], f32[16, 12], none",
     {"f32[2, 8, 12@x]", "f32[16, 12@x]"},
     {0},
     {"f32[2, 8, 16]{sum:x}"}},
    {"x=2",
     "bmm",
     "f32[4, 3, 5], f32[4, 5, 6]",
     {"f32[4@x, 3, 5]", "f32[4@x, 5, 6]"},
     {0},
     {"f32[4@x, 3, 6]"}},
    /* element-wise */
    {"x=4", "add", "f32[8, 12], f32[12]", {"f32[8@x, 12]", "f32[12]"}, {0}, {"f32[8@x, 12]"}},
    {"x=4", "add", "f32[8, 12], f32[12]", {"f32[8, 12@x]", "f32[12@x]"}, {0}, {"f32[8, 12@x]"}},
    {"x=4", "add", "f32[8], f32[8]", {"f32[8]{sum:x}", "f32[8]{sum:x}"}, {0}, {"f32[8]{sum:x}"}},
    {"x=4", "add", "f32[8], f32[8]", {"f32[8]{max:x}", "f32[8]"}, {0}, {"f32[8]{max:x}"}},
    {"x=4", "mul", "f32[8], f32[8]", {"f32[8]{sum:x}", "f32[8]"}, {0}, {"f32[8]{sum:x}"}},
    {"x=2,y=2",
     "mul",
     "f32[8], f32[8]",
     {"f32[8]{sum:x}", "f32[8]{sum:y}"},
     {0},
     {"f32[8]{sum:x,y}"}},
    {"x=4", "mul_scalar", "f32[8], -2", {"f32[8]{max:x}"}, {0}, {"f32[8]{min:x}"}},
    {"x=4", "neg", "f32[8]", {"f32[8]{min:x}"}, {0}, {"f32[8]{max:x}"}},
    {"x=4", "neg", "f32[8]", {"f32[8]{avg:x}"}, {0}, {"f32[8]{avg:x}"}},
    {"x=4", "relu", "f32[8]", {"f32[8]{max:x}"}, {0}, {"f32[8]{max:x}"}},
    {"x=4", "maximum", "f32[8], f32[8]", {"f32[8]{max:x}", "f32[8]"}, {0}, {"f32[8]{max:x}"}},
    {"x=4", "to_dtype", "bf16[8], f32", {"bf16[8]{sum:x}"}, {0}, {"f32[8]{sum:x}"}},
    {"x=4",
     "where_self",
     "bool[8], f32[8], f32[8]",
     {"bool[8]", "f32[8]{sum:x}", "f32[8]{sum:x}"},
     {0},
     {"f32[8]{sum:x}"}},
    {"x=4",
     "where_self",
     "bool[8], f32[8], f32[8]",
     {"bool[8@x]", "f32[8@x]", "f32[8@x]"},
     {0},
     {"f32[8@x]"}},
    {"x=4",
     "masked_fill_scalar",
     "f32[8], bool[8], 0",
     {"f32[8]{sum:x}", "bool[8]"},
     {0},
     {"f32[8]{sum:x}"}},
    /* reductions, look-ups, joins, views */
    {"x=4", "sum", "f32[8, 12]", {"f32[8@x, 12]"}, {0}, {"f32[]{sum:x}"}},
    {"x=4", "sum", "f32[8, 12]", {"f32[8, 12]{sum:x}"}, {0}, {"f32[]{sum:x}"}},
    {"x=2,y=2", "sum_dim_intlist", "f32[8, 12], [1]", {"f32[8@x, 12@y]"}, {0}, {"f32[8@x]{sum:y}"}},
    {"x=4", "amax", "f32[8, 12], [0]", {"f32[8@x, 12]"}, {0}, {"f32[12]{max:x}"}},
    {"x=4", "amin", "f32[8, 12], [0]", {"f32[8, 12]{min:x}"}, {0}, {"f32[12]{min:x}"}},
    {"x=4",
     "embedding",
     "f32[8, 6], i64[5]<8",
     {"f32[8@x, 6]", "i64[5]"},
     {0},
     {"f32[5, 6]{sum:x}"}},
    {"x=4", "embedding", "f32[8, 6], i64[5]<8", {"f32[8, 6]", "i64[5@x]"}, {0}, {"f32[5@x, 6]"}},
    {"x=2", "embedding", "f32[8, 6], i64[5]<8", {"f32[8, 6@x]", "i64[5]"}, {0}, {"f32[5, 6@x]"}},
    {"x=4", "_softmax", "f32[8, 12], 1, false", {"f32[8@x, 12]"}, {0}, {"f32[8@x, 12]"}},
    {"x=2", "cat", "{f32[4], f32[4]}", {"f32[4@x]", "f32[4@x]"}, {0}, {"f32[2·4@x]"}},
    {"x=4", "view", "f32[8, 12], [96]", {"f32[8@x, 12]"}, {0}, {"f32[96@x]"}},
    {"x=4", "view", "f32[8, 12], [96]", {"f32[8, 12@x]"}, {0}, {"f32[8·12@x]"}},
    {"x=4", "view", "f32[96], [8, 12]", {"f32[8·12@x]"}, {0}, {"f32[8, 12@x]"}},
    {"x=4", "permute", "f32[8, 12], [1, 0]", {"f32[8, 12@x]"}, {0}, {"f32[12@x, 8]"}},
    {"x=4", "split", "f32[8, 12], 6, 1", {"f32[8@x, 12]"}, {0}, {"f32[8@x, 6]", "f32[8@x, 6]"}},
    /* where operands disagree: the same axis on m and n; the smaller operand moves */
    {"x=4",
     "mm",
     "f32[4, 64], f32[64, 512]",
     {"f32[4@x, 64]", "f32[64, 512@x]"},
     {"f32[4, 64]", "f32[64, 512@x]"},
     {"f32[4, 512@x]"}},
    {"x=4",
     "mm",
     "f32[512, 64], f32[64, 4]",
     {"f32[512@x, 64]", "f32[64, 4@x]"},
     {"f32[512@x, 64]", "f32[64, 4]"},
     {"f32[512@x, 4]"}},
    {"x=2,y=2",
     "mm",
     "f32[4, 64], f32[64, 512]",
     {"f32[4@x, 64]", "f32[64@y, 512@x]"},
     {"f32[4, 64@y]", "f32[64@y, 512@x]"},
     {"f32[4, 512@x]{sum:y}"}},
    {"x=4",
     "add",
     "f32[256, 256], f32[256, 256]",
     {"f32[256@x, 256]", "f32[256, 256]"},
     {"f32[256@x, 256]", "f32[256@x, 256]"},
     {"f32[256@x, 256]"}},
    {"x=2",
     "eq",
     "f32[8], f32[8]",
     {"f32[8]{sum:x}", "f32[8]{sum:x}"},
     {"f32[8@x]", "f32[8@x]"},
     {"bool[8@x]"}},
    {"x=4", "add_scalar", "f32[8], 1", {"f32[8@x]"}, {0}, {"f32[8@x]"}},
    {"x=4", "topk", "f32[8, 12], 3", {"f32[8@x, 12]"}, {0}, {"f32[8@x, 3]", "i64[8@x, 3]"}},
    {"x=2",
     "copy_",
     "f32[8, 4], f32[8, 4]",
     {"f32[8@x, 4]", "f32[8, 4]"},
     {"f32[8@x, 4]", "f32[8@x, 4]"},
     {"f32[8@x, 4]"}},
    {"x=2",
     "scaled_dot_product_attention",
     "f32[2, 4, 5, 6], f32[2, 4, 7, 6], f32[2, 4, 7, 6]",
     {"f32[2, 4@x, 5, 6]", "f32[2, 4@x, 7, 6]", "f32[2, 4@x, 7, 6]"},
     {0},
     {"f32[2, 4@x, 5, 6]"}},
};

static mw_layout parse(const mw_mesh *mesh, const char *text)
{
    mw_layout l;
    if (mw_layout_parse(mesh, text, &l) != MW_OK) fail_msg("%s: %s", text, mw_last_error()->says);
    return l;
}

static void check_layout(const mw_mesh *mesh, const row *t, const char *what, int i,
                         const mw_layout *got, const char *want)
{
    mw_layout wanted = parse(mesh, want);
    if (mw_layout_equal(got, &wanted)) return;
    char text[256];
    (void)mw_layout_print(mesh, got, text, sizeof text);
    fail_msg("%s(%s) of %s, %s, %s on %s: %s %d is %s, not %s", t->op, t->sample, t->in[0],
             t->in[1] ? t->in[1] : "", t->in[2] ? t->in[2] : "", t->mesh, what, i, text, want);
}

static void check_row(const row *t, mw_arena *arena)
{
    mw_mesh *mesh;
    mw_sample sample;
    mw_layout in[4];
    const mw_layout *now[4];
    mw_choice choice;
    const mw_op *op = mw__op_find(t->op, strlen(t->op));
    assert_non_null(op);
    assert_int_equal(mw_mesh_parse(t->mesh, &mesh), MW_OK);
    if (mw__sample_read(op, t->sample, 1, arena, &sample) != MW_OK)
        fail_msg("%s: %s", t->sample, mw_last_error()->says);
    bool moves = false;
    for (int i = 0; i < sample.call.nin; i++) {
        in[i] = parse(mesh, t->in[i]);
        now[i] = &in[i];
        moves = moves || t->use[i];
    }
    if (mw__choose(mesh, &sample.call, now, arena, &choice) != MW_OK)
        fail_msg("%s(%s): %s", t->op, t->sample, mw_last_error()->says);
    for (int i = 0; i < choice.nin; i++)
        check_layout(mesh, t, "operand", i, &choice.in[i], t->use[i] ? t->use[i] : t->in[i]);
    for (int i = 0; i < choice.nout; i++)
        check_layout(mesh, t, "result", i, &choice.out[i], t->out[i]);
    if (choice.moves != moves || (*choice.why != 0) != moves)
        fail_msg("%s(%s): moves is %d, why '%s'", t->op, t->sample, choice.moves, choice.why);
    mw_mesh_unref(mesh);
}

static void test_choices_by_table(void **state)
{
    (void)state;
    mw_arena arena;
    mw__arena_init(&arena);
    for (int i = 0; i < MW_COUNT(table); i++)
        check_row(&table[i], &arena);
    mw__arena_done(&arena);
}

/* ---- against all combinations -------------------------------------------------------------------
 */

typedef struct trial {
    mw_mesh *mesh;
    mw_call_args *call;
    chooser *c;
    const mw_layout **now;
    mw_layout *in, *out;
    axis_options options[MW_MESH_AXES];
    const option *pick[MW_MESH_AXES];
    double least;
    long tried;
} trial;

/* Time of all movements that one combination needs, and of the reduction that it leaves. */
static double price(const trial *t, mw_arena *arena)
{
    double us = 0;
    for (int i = 0; i < t->c->nin; i++) {
        mw_plan *plan = mw__arena_alloc(arena, sizeof *plan);
        assert_non_null(plan);
        assert_int_equal(mw__plan_make(t->mesh, t->now[i], &t->in[i], arena, plan), MW_OK);
        us += plan->time_us * (t->c->in_place && i == 0 ? 2 : 1);
    }
    for (int k = 0; us > 0 && k < t->c->rule->nout; k++)
        if (t->out[k].npartial)
            us += mw__step_time(mw__team_count(t->mesh, mw__layout_partial_axes(&t->out[k])),
                                mw__layout_largest_shard(t->mesh, &t->out[k]) *
                                    mw_dtype_size(mw__layout_storage_dtype(&t->out[k])),
                                1);
    return us;
}

/* Does the combination split a letter that the kernel can't have split? Then the op's parts run. */
static bool by_parts(const trial *t)
{
    for (int l = 0; l < t->c->rule->nletter; l++)
        if (t->c->by_parts[l] && mw__dim_axes(&t->c->cut[l])) return true;
    return false;
}

static void try_all(trial *t, int axis, mw_arena *arena)
{
    if (axis == t->mesh->naxis) {
        if (!mw__chooser_build(t->c, t->pick, t->in, t->out) || by_parts(t)) return;
        double us = price(t, arena);
        t->least = MW_MIN(t->least, us);
        t->tried++;
        return;
    }
    if (!(t->c->used >> axis & 1)) {
        t->pick[axis] = NULL;
        try_all(t, axis + 1, arena);
        return;
    }
    for (int i = 0; i < t->options[axis].n; i++) {
        t->pick[axis] = &t->options[axis].at[i];
        try_all(t, axis + 1, arena);
    }
}

/* Is a letter that the kernel can't have split cut in the layouts chosen for the operands? */
static bool splits_parts(const chooser *c, const mw_choice *choice)
{
    for (int i = 0; i < c->nin; i++)
        for (int d = 0; d < c->rule->in[i].ndim; d++)
            for (int k = 0; k < c->rule->in[i].nletter[d]; k++)
                if (c->by_parts[c->rule->in[i].letter[d][k]] && mw__dim_axes(&choice->in[i].dim[d]))
                    return true;
    return false;
}

static void place_at_random(const mw_mesh *mesh, const mw_call_args *call, uint64_t *seed,
                            mw_layout *in)
{
    uint32_t all = (1u << mw_mesh_axes(mesh)) - 1;
    for (int i = 0; i < call->nin; i++) {
        in[i] = random_layout(mesh, seed, call->in[i].dtype, call->in[i].ndim, call->in[i].shape,
                              all, naive_below(seed, 4) == 0);
        if (naive_below(seed, 3) == 0 && call->in[i].dtype != MW_DTYPE_bool)
            random_partials(mesh, seed, &in[i],
                            naive_below(seed, 2) ? MW_REDUCE_SUM : MW_REDUCE_MAX, all);
    }
}

static void check_sample(mw_mesh *mesh, const mw_op *op, int nth, uint64_t seed, mw_arena *arena,
                         long *tried)
{
    mw_sample sample;
    mw_choice choice;
    mw__arena_clear(arena);
    assert_int_equal(mw__sample_make(op, nth, 1, arena, &sample), MW_OK);
    mw_layout in[16], trial_in[16], trial_out[16];
    const mw_layout *now[16];
    trial *t = mw__arena_zalloc(arena, sizeof *t);
    assert_non_null(t);
    assert_in_range(sample.call.nin, 0, 16);
    place_at_random(mesh, &sample.call, &seed, in);
    for (int i = 0; i < sample.call.nin; i++)
        now[i] = &in[i];
    assert_int_equal(mw__choose(mesh, &sample.call, now, arena, &choice), MW_OK);
    *t = (trial){.mesh = mesh, .now = now, .in = trial_in, .out = trial_out, .least = 1e300};
    assert_int_equal(mw__chooser_new(mesh, &sample.call, arena, &t->c), MW_OK);
    assert_int_equal(mw__chooser_prepare(t->c, now), MW_OK);
    if (t->c->rule->nout > 16) return;
    for (int a = 0; a < mesh->naxis; a++)
        mw__chooser_options(t->c, a, &t->options[a]);
    try_all(t, 0, arena);
    *tried += t->tried;
    double most = t->least * (1 + 1e-9) + 1e-9;
    if (choice.time_us > most || (!choice.parts && choice.time_us < t->least - 1e-9))
        fail_msg("%s, sample %d, seed %llu: the choice takes %g us, the best %g",
                 mw__op_info_of(op)->word, nth, (unsigned long long)seed, choice.time_us, t->least);
    assert_true(choice.parts || !splits_parts(t->c, &choice));
    for (int i = 0; !choice.moves && i < choice.nin; i++)
        assert_true(mw_layout_equal(&choice.in[i], now[i]));
}

static void test_no_combination_is_cheaper(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2", "x=3", "x=4", "x=2,y=2"};
    mw_arena arena;
    mw__arena_init(&arena);
    long tried = 0, calls = 0;
    for (int m = 0; m < MW_COUNT(meshes); m++) {
        mw_mesh *mesh;
        assert_int_equal(mw_mesh_parse(meshes[m], &mesh), MW_OK);
        for (int o = 0; o < MW_OP_COUNT; o++) {
            const mw_op *op = mw__op_at((mw_op_id)o);
            for (int i = 0; !op->reshape && i < mw__sample_count(op->samples); i++)
                for (uint64_t k = 0; k < 3; k++, calls++)
                    check_sample(mesh, op, i, first_seed + (uint64_t)calls, &arena, &tried);
        }
        mw_mesh_unref(mesh);
    }
    printf("seed %llu: %ld calls, %ld combinations\n", (unsigned long long)first_seed, calls,
           tried);
    assert_true(tried > 2 * calls);
    mw__arena_done(&arena);
}

int main(int argc, char **argv)
{
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_by_table),
        cmocka_unit_test(test_no_combination_is_cheaper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
