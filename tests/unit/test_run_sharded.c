/* The first law: the mesh never changes the answer. Every op of the table, on each of its samples,
 * on meshes of 1 to 6 ranks, with operands that lie at random (whole, cut, joint, in parts,
 * strided, partial in every kind), through the same call as a user's, gives what one rank gives.
 *
 *     test_run_sharded [variations [seed]]         more of them, or other ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/sample.h"
#include "ops/table.h"
#include "run_operand.h"

#include <math.h>
#include <meshwise/meshwise.h>
#include <pthread.h>

enum { MOST_OUT = 16, MOST_IN = 16, MOST_SAMPLES = 24 };

static int variations = 6;
static uint64_t first_seed = 20240811;

/* ---- what one rank gives --------------------------------------------------------------------- */

typedef struct answer {
    mw_dtype dtype;
    int64_t count;
    void *data;
} answer;

typedef struct task {
    const mw_op *op;
    const char *word;
    int nth; /* sample */
    bool in_place;
    mw_sample sample;
    mw_rule rule;
    int nout;
    answer out[MOST_OUT];
} task;

static task *tasks;
static int ntask;
static int64_t ran[MW_OP_COUNT];
static mw_arena arena;

/* Filled by the rank that finds something wrong first. */
static struct {
    pthread_mutex_t lock;
    bool any;
    char says[4096];
} found = {.lock = PTHREAD_MUTEX_INITIALIZER};

static mw_status report(const char *format, ...) MW_PRINTF(1, 2);
static mw_status report(const char *format, ...)
{
    va_list args;
    (void)pthread_mutex_lock(&found.lock);
    if (!found.any) {
        found.any = true;
        va_start(args, format);
        (void)vsnprintf(found.says, sizeof found.says, format, args);
        va_end(args);
    }
    (void)pthread_mutex_unlock(&found.lock);
    return mw_error_set(MW_ERR_INTERNAL, "a test has failed on this rank");
}

/* ---- random placements --------------------------------------------------------------- */

/* Axes on the dims that a letter of the rule names: what the op can keep. */
static void lay_by_letters(const mw_mesh *mesh, const task *t, const uint64_t *seed,
                           operand_case *c)
{
    uint64_t common = *seed; /* the same for all operands */
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        int letter = t->rule.nletter ? naive_below(&common, t->rule.nletter + 1) : 0;
        for (int i = 0; i < t->sample.call.nin; i++) {
            const mw_operand *o = &t->rule.in[i];
            for (int d = 0; d < o->ndim; d++)
                if (o->nletter[d] && o->letter[d][0] == letter && letter < t->rule.nletter)
                    (void)mw__dim_append(mesh, &c[i].layout.dim[d], a, 1,
                                         mw_mesh_axis_size(mesh, a));
        }
    }
    for (int i = 0; i < t->sample.call.nin; i++)
        mw__layout_canonical(mesh, &c[i].layout);
}

static void place(const mw_mesh *mesh, const task *t, uint64_t seed, operand_case *c)
{
    uint32_t all = (1u << mw_mesh_axes(mesh)) - 1;
    int way = naive_below(&seed, 3), nin = t->sample.call.nin;
    for (int i = 0; i < nin; i++) {
        const mw_meta *m = &t->sample.call.in[i];
        c[i].layout = mw_layout_replicated(m->dtype, m->ndim, m->shape);
    }
    uint64_t common = naive_random(&seed);
    if (way == 0) lay_by_letters(mesh, t, &common, c);
    bool partial = naive_below(&seed, 2);
    for (int i = 0; i < nin; i++) {
        const mw_meta *m = &t->sample.call.in[i];
        if (way && naive_below(&seed, 4))
            c[i].layout = random_layout(mesh, &seed, m->dtype, m->ndim, m->shape, all, way == 2);
        mw_reduce kind = random_kind(&seed, m->dtype);
        if (partial && kind && naive_below(&seed, 2))
            random_partials(mesh, &seed, &c[i].layout, kind, all);
        averages_of_powers(&c[i].layout);
        c[i].seed = naive_random(&seed);
        random_laying(&seed, &c[i]);
    }
}

/* ---- one call ------------------------------------------------------------------------ */

static int make_values(const task *t, mw_tensor *const *in, mw_value *ret)
{
    const mw_op_info *info;
    if (mw__op_info(t->op, &info) != MW_OK) return -1;
    for (int i = 0; i < t->sample.call.narg; i++) {
        const mw_arg *a = &t->sample.call.arg[i];
        ret[i] = (mw_value){.name = info->schema.arg[i].name, .kind = a->kind, .count = a->count};
        if (a->kind == MW_ARG_TENSOR)
            ret[i].as.tensor = in[a->first];
        else if (a->kind == MW_ARG_TENSORS)
            ret[i].as.tensors = in + a->first;
        else if (a->kind == MW_ARG_INTS)
            ret[i].as.ints = a->ints;
        else if (a->kind == MW_ARG_FLOAT)
            ret[i].as.f = a->f;
        else if (a->kind == MW_ARG_STR)
            ret[i].as.s = a->s;
        else
            ret[i].as.i = a->i;
    }
    return t->sample.call.narg;
}

/* Relative and absolute difference allowed. Half formats round once more or once less. */
static double allowed(mw_dtype dtype, double want)
{
    double size = fabs(want);
    if (dtype == MW_DTYPE_f64) return 1e-12 * (1 + size);
    if (dtype == MW_DTYPE_f32) return 2e-5 * (1 + size);
    return (dtype == MW_DTYPE_f16 ? 0x1p-8 : 0x1p-5) * (0.5 + size);
}

static bool agrees(const task *t, mw_dtype dtype, double got, double want)
{
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (t->op->view || mw_dtype_kind_of(dtype) != MW_KIND_FLOAT || isinf(want)) return got == want;
    return fabs(got - want) <= allowed(dtype, want);
}

static void case_text(const task *t, const operand_case *c, char *to, int size)
{
    const mw_mesh *mesh = mw_mesh_world();
    static const char *const lies[] = {"", " permuted", " sliced"};
    char text[256];
    int at = snprintf(to, (size_t)size, "%s, sample %d, on ", t->word, t->nth);
    at += mw_mesh_print(mesh, to + at, size - at);
    for (int i = 0; i < t->sample.call.nin && at < size - 300; i++) {
        (void)mw_layout_print(mesh, &c[i].layout, text, sizeof text);
        at += snprintf(to + at, (size_t)(size - at), "%s %s%s", i ? "," : ":", text,
                       lies[c[i].laying]);
    }
}

static mw_status wrong(const task *t, const operand_case *c, const char *format, ...)
    MW_PRINTF(3, 4);
static mw_status wrong(const task *t, const operand_case *c, const char *format, ...)
{
    char text[2048], says[512];
    va_list args;
    case_text(t, c, text, (int)sizeof text);
    va_start(args, format);
    (void)vsnprintf(says, sizeof says, format, args);
    va_end(args);
    return report("%s: %s", text, says);
}

static mw_status compare(const task *t, const operand_case *c, mw_tensor *got, int nth,
                         const char *what)
{
    const answer *want = &t->out[nth];
    if (mw_tensor_dtype(got) != want->dtype)
        return wrong(t, c, "%s %d has another dtype", what, nth);
    int64_t size = mw_dtype_size(want->dtype), bytes = want->count * size;
    char *data = mw_memory((size_t)bytes + 1);
    if (!data) return MW_ERR_NOMEM;
    mw_status status = mw_read(got, want->dtype, data, bytes);
    if (status != MW_OK) status = wrong(t, c, "reading %s: %s", what, mw_last_error()->says);
    for (int64_t i = 0; status == MW_OK && i < want->count; i++) {
        double g = mw__element_get(data + i * size, want->dtype),
               w = mw__element_get((char *)want->data + i * size, want->dtype);
        if (!agrees(t, want->dtype, g, w))
            status = wrong(t, c, "%s %d, element %lld on rank %d is %.9g, not %.9g", what, nth,
                           (long long)i, mw_rank_index(), g, w);
    }
    mw_memory_free(data, (size_t)bytes + 1);
    return status;
}

static mw_status call_once(const task *t, const operand_case *c, mw_tensor *const *in,
                           const char *what)
{
    mw_value value[MW_SCHEMA_ARGS];
    mw_tensor *out[MOST_OUT];
    int n = make_values(t, in, value), nout = 0;
    if (mw_op_call(t->word, value, n, out, MOST_OUT, &nout) != MW_OK)
        return wrong(t, c, "the %s call fails: %s (%s)", what, mw_last_error()->says,
                     mw_last_error()->where);
    if (nout != t->nout) return wrong(t, c, "%d results, not %d", nout, t->nout);
    for (int i = 0; i < nout; i++)
        MW_TRY(compare(t, c, out[i], i, what));
    if (!t->in_place) return MW_OK;
    if (!mw_layout_equal(mw_tensor_layout(in[0]), &c[0].layout))
        return wrong(t, c, "the operand lies differently afterwards");
    return compare(t, c, in[0], 0, "operand after the call, in place:");
}

static mw_status try_placement(const task *t, uint64_t seed)
{
    operand_case c[MOST_IN] = {0};
    mw_tensor *in[MOST_IN];
    place(mw_mesh_world(), t, seed, c);
    for (int i = 0; i < t->sample.call.nin; i++) {
        in[i] = make_operand(&c[i], &t->sample.in[i]);
        if (!in[i])
            return wrong(t, c, "operand %d could not be made: %s", i, mw_last_error()->says);
    }
    MW_TRY(call_once(t, c, in, "result"));
    if (t->in_place) {
        in[0] = make_operand(&c[0], &t->sample.in[0]);
        if (!in[0]) return wrong(t, c, "operand 0 could not be made again");
    }
    return call_once(t, c, in, "second result"); /* from the cache */
}

static mw_status all_tasks(void *user)
{
    (void)user;
    for (int i = 0; i < ntask; i++)
        for (int v = 0; v < variations; v++) {
            mw_scope_begin(tasks[i].word);
            uint64_t seed = first_seed + (uint64_t)(i * 1000 + v);
            mw_status status = try_placement(&tasks[i], naive_random(&seed));
            (void)mw_scope_end(NULL);
            if (status != MW_OK) return status;
            for (int o = 0; mw_rank_index() == 0 && o < MW_OP_COUNT; o++)
                ran[o] += mw__op_at((mw_op_id)o) == tasks[i].op;
        }
    return MW_OK;
}

/* ---- the tasks ----------------------------------------------------------------------- */

static mw_status keep(answer *to, mw_tensor *t)
{
    to->dtype = mw_tensor_dtype(t);
    to->count = 1;
    for (int d = 0; d < mw_tensor_ndim(t); d++)
        to->count *= mw_tensor_size(t, d);
    int64_t bytes = to->count * mw_dtype_size(to->dtype);
    to->data = malloc((size_t)bytes + 1);
    if (!to->data) return MW_ERR_NOMEM;
    return mw_read(t, to->dtype, to->data, bytes);
}

/* On one rank, where nothing is laid out. */
static mw_status answer_tasks(void *user)
{
    (void)user;
    for (int i = 0; i < ntask; i++) {
        task *t = &tasks[i];
        mw_tensor *in[MOST_IN], *out[MOST_OUT];
        mw_value value[MW_SCHEMA_ARGS];
        operand_case c[MOST_IN] = {0};
        for (int k = 0; k < t->sample.call.nin; k++) {
            const mw_meta *m = &t->sample.call.in[k];
            c[k].layout = mw_layout_replicated(m->dtype, m->ndim, m->shape);
            in[k] = make_operand(&c[k], &t->sample.in[k]);
        }
        int n = make_values(t, in, value);
        if (mw_op_call(t->word, value, n, out, MOST_OUT, &t->nout) != MW_OK)
            return report("%s, sample %d, on one rank: %s", t->word, t->nth, mw_last_error()->says);
        for (int o = 0; o < t->nout; o++)
            MW_TRY(keep(&t->out[o], out[o]));
    }
    return MW_OK;
}

static void launch(const char *mesh, mw_status (*program)(void *))
{
    found.any = false;
    mw_status status = mw_launch(&(mw_launch_options){.mesh = mesh}, program, NULL);
    if (found.any) fail_msg("%s", found.says);
    if (status != MW_OK)
        fail_msg("%s: %s: %s", mesh, mw_last_error()->says, mw_last_error()->where);
}

static int make_tasks(void **state)
{
    (void)state;
    mw__arena_init(&arena);
    tasks = calloc((size_t)MW_OP_COUNT * MOST_SAMPLES, sizeof *tasks);
    if (!tasks) return -1;
    for (int o = 0; o < MW_OP_COUNT; o++) {
        const mw_op *op = mw__op_at((mw_op_id)o);
        int n = mw__sample_count(op->samples);
        assert_in_range(n, 1, MOST_SAMPLES);
        for (int i = 0; i < n; i++) {
            task *t = &tasks[ntask++];
            const mw_op_info *info;
            assert_int_equal(mw__op_info(op, &info), MW_OK);
            *t = (task){.op = op,
                        .word = mw__op_word((mw_op_id)o),
                        .nth = i,
                        .in_place = info->schema.arg[0].type.written};
            assert_int_equal(mw__sample_make(op, i, first_seed, &arena, &t->sample), MW_OK);
            assert_int_equal(mw__rule_of(&t->sample.call, &arena, &t->rule), MW_OK);
            assert_in_range(t->sample.call.nin, 0, MOST_IN);
        }
    }
    launch("x=1", answer_tasks);
    return 0;
}

static int free_tasks(void **state)
{
    (void)state;
    for (int i = 0; i < ntask; i++)
        for (int o = 0; o < tasks[i].nout; o++)
            free(tasks[i].out[o].data);
    free(tasks);
    mw__arena_done(&arena);
    return 0;
}

static void test_on_one_rank(void **state)
{
    (void)state;
    launch("x=1", all_tasks);
}

static void test_on_two_ranks(void **state)
{
    (void)state;
    launch("x=2", all_tasks);
}

static void test_on_three_ranks(void **state)
{
    (void)state;
    launch("x=3", all_tasks);
}

static void test_on_four_ranks(void **state)
{
    (void)state;
    launch("x=4", all_tasks);
}

static void test_on_two_by_two_ranks(void **state)
{
    (void)state;
    launch("x=2,y=2", all_tasks);
}

static void test_on_two_by_three_ranks_out_of_order(void **state)
{
    (void)state;
    launch("x=2,y=3 ids=[4,1,0,5,3,2]", all_tasks);
}

static void test_every_op_ran(void **state)
{
    (void)state;
    int64_t total = 0;
    for (int o = 0; o < MW_OP_COUNT; o++) {
        printf("%s %lld%s", mw__op_word((mw_op_id)o), (long long)ran[o],
               o % 6 == 5 || o + 1 == MW_OP_COUNT ? "\n" : ", ");
        if (ran[o] < 6 * variations)
            fail_msg("%s ran %lld times", mw__op_word((mw_op_id)o), (long long)ran[o]);
        total += ran[o];
    }
    printf("%lld placements of %d samples, seed %llu\n", (long long)total, ntask,
           (unsigned long long)first_seed);
}

int main(int argc, char **argv)
{
    if (argc > 1) variations = (int)strtol(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    printf("seed %llu, %d variations\n", (unsigned long long)first_seed, variations);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_one_rank),
        cmocka_unit_test(test_on_two_ranks),
        cmocka_unit_test(test_on_three_ranks),
        cmocka_unit_test(test_on_four_ranks),
        cmocka_unit_test(test_on_two_by_two_ranks),
        cmocka_unit_test(test_on_two_by_three_ranks_out_of_order),
        cmocka_unit_test(test_every_op_ran),
    };
    return cmocka_run_group_tests(tests, make_tasks, free_tasks);
}
