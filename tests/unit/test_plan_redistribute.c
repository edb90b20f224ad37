/* Plans between layouts: simulated on all ranks at once they end at the target; their bytes are
 * what the ranks really fetch; every step does something and carries the name it deserves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout_random.h"
#include "plan/plan.h"

#include <math.h>

enum { ROUNDS = 5000, MOST_RANKS = 8 };
static uint64_t first_seed = 20240905;

/* ---- names by table ---------------------------------------------------------------------------
 */

static mw_layout parse(const mw_mesh *mesh, const char *text)
{
    mw_layout l;
    if (mw_layout_parse(mesh, text, &l) != MW_OK) fail_msg("%s: %s", text, mw_last_error()->says);
    return l;
}

typedef struct named {
    const char *mesh, *from, *to, *plan;
    int64_t recv, total, peak; /* bytes */
} named;

static const named table[] = {
    {"x=4", "f32[8@x, 4]", "f32[8, 4]", "all_gather x dim 0", 96, 384, 128},
    {"x=4", "f32[8, 4@x]", "f32[8, 4]", "all_gather x dim 1", 96, 384, 128},
    {"x=4", "f32[8, 4]", "f32[8@x, 4]", "slice x dim 0", 0, 0, 128},
    {"x=4", "f32[8@x, 4]", "f32[8, 4@x]", "all_to_all x 0->1", 24, 96, 32},
    {"x=4", "f32[8, 4]{sum:x}", "f32[8, 4@x]", "reduce_scatter x dim 1 sum", 96, 384, 128},
    {"x=4", "f32[8, 4]{max:x}", "f32[8@x, 4]", "reduce_scatter x dim 0 max", 96, 384, 128},
    {"x=4", "f32[8, 4]{sum:x}", "f32[8, 4]", "all_reduce x sum", 192, 768, 128},
    {"x=2", "f32[8, 4]{min:x}", "f32[8, 4]", "all_reduce x min", 128, 256, 128},
    {"x=4", "f32[8, 4]{avg:x}", "f32[8, 4]", "scale x avg; all_reduce x sum", 192, 768, 128},
    {"x=4", "f32[8, 4]{avg:x}", "f32[8, 4]{sum:x}", "scale x avg", 0, 0, 128},
    {"x=4", "f32[8, 4]", "f32[8, 4]{sum:x}", "mask x sum", 0, 0, 128},
    {"x=4", "f32[8@x, 4]", "f32[8, 4]{sum:x}", "all_gather x dim 0; mask x sum", 96, 384, 128},
    {"x=2,y=2", "f32[8@x, 8@y]", "f32[8@y, 8@x]", "permute x,y", 64, 128, 64},
    {"x=2,y=2", "f32[8@x,y]", "f32[8@x]", "all_gather y dim 0", 8, 32, 16},
    {"x=2,y=2", "f32[8@x,y]", "f32[8@y]", "exchange x,y dim 0", 16, 48, 16},
    {"x=2,y=2", "f32[8@x,y]", "f32[8]", "all_gather x,y dim 0", 24, 96, 32},
    {"x=2,y=2", "f32[8@x, 8]", "f32[8@x, 8@y]", "slice y dim 1", 0, 0, 128},
    {"x=2,y=2", "f32[8@x, 8@y]", "f32[8, 8@y]", "all_gather x dim 0", 64, 256, 128},
    {"x=2,y=2", "f32[8@x,y, 8]", "f32[8@x, 8@y]", "all_to_all y 0->1", 32, 128, 64},
    {"x=2,y=2", "f32[8, 8@y]{sum:x}", "f32[8@x, 8@y]", "reduce_scatter x dim 0 sum", 64, 256, 128},
    {"x=2,y=2", "f32[8@x, 8]", "f32[8, 8@y]", "exchange x,y", 64, 256, 128},
    {"x=2,y=2", "f32[8]{sum:x,y}", "f32[8]{sum:y}", "all_reduce x sum", 32, 128, 32},
    {"x=2", "f32[7@x]", "f32[7]", "all_gather x dim 0", 16, 28, 28},
    {"x=4", "f32[2@x]", "f32[2]", "all_gather x dim 0", 8, 24, 8},
    {"x=2", "f32[2·4@x]", "f32[8@x]", "exchange x dim 0", 8, 16, 16},
    {"x=2", "bf16[8]{sum:x}", "bf16[8]", "all_reduce x sum", 32, 64, 32},
    {"x=2", "f32[0@x, 4]", "f32[0, 4]", "", 0, 0, 0},
    {"x=1", "f32[8@x]", "f32[8]", "", 0, 0, 32},
};

static void test_plans_carry_the_name_that_they_deserve(void **state)
{
    (void)state;
    mw_arena arena;
    mw__arena_init(&arena);
    for (int i = 0; i < MW_COUNT(table); i++) {
        const named *t = &table[i];
        mw_mesh *mesh;
        assert_int_equal(mw_mesh_parse(t->mesh, &mesh), MW_OK);
        mw_layout from = parse(mesh, t->from), to = parse(mesh, t->to);
        mw_plan *plan = mw__arena_alloc(&arena, sizeof *plan);
        assert_int_equal(mw__plan_make(mesh, &from, &to, &arena, plan), MW_OK);
        mw_str text = {0};
        mw__plan_str(plan, &text);
        if (strcmp(mw__str_text(&text), t->plan) != 0 || plan->recv_bytes != t->recv ||
            plan->recv_bytes_total != t->total || plan->peak_bytes != t->peak)
            fail_msg("%s -> %s on %s: '%s', recv %lld, total %lld, peak %lld", t->from, t->to,
                     t->mesh, mw__str_text(&text), (long long)plan->recv_bytes,
                     (long long)plan->recv_bytes_total, (long long)plan->peak_bytes);
        mw__str_done(&text);
        mw_mesh_unref(mesh);
    }
    mw__arena_done(&arena);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static void refused(const char *from_text, const char *to_text, const char *says)
{
    mw_arena arena;
    mw__arena_init(&arena);
    mw_mesh *mesh;
    assert_int_equal(mw_mesh_parse("x=2,y=2", &mesh), MW_OK);
    mw_layout from = parse(mesh, from_text), to = parse(mesh, to_text);
    mw_plan *plan = mw__arena_alloc(&arena, sizeof *plan);
    assert_int_equal(mw__plan_make(mesh, &from, &to, &arena, plan), MW_ERR_LAYOUT);
    if (!strstr(mw_last_error()->says, says))
        fail_msg("'%s' is not in: %s", says, mw_last_error()->says);
    mw_error_clear();
    mw__arena_done(&arena);
    mw_mesh_unref(mesh);
}

static void test_other_shapes_and_dtypes_are_refused(void **state)
{
    (void)state;
    refused("f32[8@x]", "f32[9@x]", "redistribute f32[8@x] to f32[9@x]: shape and dtype");
    refused("f32[8@x]", "f64[8@x]", "redistribute f32[8@x] to f64[8@x]: shape and dtype");
    refused("f32[8@x]", "f32[8@x, 1]", "redistribute f32[8@x] to f32[8@x, 1]: shape and dtype");
}

static void test_layouts_of_mixed_kinds_cannot_be_written(void **state)
{
    (void)state;
    mw_mesh *mesh;
    mw_layout l;
    assert_int_equal(mw_mesh_parse("x=2,y=2", &mesh), MW_OK);
    assert_int_equal(mw_layout_parse(mesh, "f32[4]{sum:x, max:y}", &l), MW_ERR_PARSE);
    assert_int_equal(mw_layout_parse(mesh, "f32[4]{min:x, max:y}", &l), MW_ERR_PARSE);
    assert_int_equal(mw_layout_parse(mesh, "f32[4]{sum:x, avg:y}", &l), MW_OK);
    mw_error_clear();
    mw_mesh_unref(mesh);
}

/* ---- simulation of all ranks --------------------------------------------------------------------
 */

typedef struct world {
    mw_mesh *mesh;
    int nrank;
    double value[RANDOM_ELEMENTS];             /* of the whole */
    double local[MOST_RANKS][RANDOM_ELEMENTS]; /* of each rank's shard */
    double next[MOST_RANKS][RANDOM_ELEMENTS];
    int64_t received[MOST_RANKS];
    naive_shard shard;
    char text[1024];
} world;
static world w;

static const mw_reduce kinds[] = {MW_REDUCE_SUM, MW_REDUCE_AVG, MW_REDUCE_MAX, MW_REDUCE_MIN,
                                  MW_REDUCE_PROD};

static double combine(unsigned kind, double a, double b)
{
    if (kind == MW_REDUCE_MAX) return a > b ? a : b;
    if (kind == MW_REDUCE_MIN) return a < b ? a : b;
    return kind == MW_REDUCE_PROD ? a * b : a + b;
}

static int coordinate(const mw_partial *p, int rank)
{
    int unit = mw_mesh_axis_size(w.mesh, p->axis) / (p->major * p->size);
    return mw_mesh_coord(w.mesh, rank, p->axis) / unit % p->size;
}

/* A value split into the terms of a layout: any that combine to it. Sums carry noise that must
 * cancel: +3 on the first coordinate of an axis, -3 on the second. */
static double term_of(const mw_layout *l, int rank, double value)
{
    double terms = 1, noise = 0;
    bool first = true, summed = false;
    for (int i = 0; i < l->npartial; i++) {
        const mw_partial *p = &l->partial[i];
        int c = coordinate(p, rank);
        if (p->kind == MW_REDUCE_MAX || p->kind == MW_REDUCE_MIN) {
            if (c != p->size - 1) return value + (p->kind == MW_REDUCE_MAX ? -1 : 1);
            continue;
        }
        if (p->kind == MW_REDUCE_PROD) {
            if (c != 0) return 1;
            continue;
        }
        if (p->kind == MW_REDUCE_AVG) terms *= p->size;
        if (!summed) noise = c == 0 ? 3 : c == 1 ? -3 : 0;
        summed = true;
        first = first && c == 0;
    }
    if (!summed) return value;
    for (int i = 0; i < l->npartial; i++)
        if (&l->partial[i] != l->partial && coordinate(&l->partial[i], rank) != 0) noise = 0;
    return (first ? value * terms : 0) + noise;
}

static void fill(const mw_layout *l)
{
    for (int r = 0; r < w.nrank; r++) {
        naive_shard_of(w.mesh, l, r, &w.shard);
        for (int i = 0; i < w.shard.n; i++)
            w.local[r][i] = term_of(l, r, w.value[w.shard.at[i]]);
    }
}

/* The value of an element under a layout, read by combining one rank's group of terms. */
static double read_back(const mw_layout *l, int rank, int nth)
{
    double value = 0, terms = 1;
    bool any = false;
    unsigned kind = l->npartial ? l->partial[0].kind : MW_REDUCE_NONE;
    for (int r = 0; r < w.nrank; r++) {
        if (!naive_is_term_of(w.mesh, l->partial, l->npartial, rank, r)) continue;
        double scale = 1;
        for (int i = 0; i < l->npartial; i++)
            if (l->partial[i].kind == MW_REDUCE_AVG) scale *= l->partial[i].size;
        double one = w.local[r][nth] / scale;
        value = any ? combine(kind, value, one) : one;
        any = true;
        terms++;
    }
    return value;
}

static bool same_on_all(unsigned kind)
{
    return kind == MW_REDUCE_AVG || kind == MW_REDUCE_MAX || kind == MW_REDUCE_MIN;
}

/* What a rank does in a local step of the partial axes. */
static double local_step(const mw_step *step, int rank, double value)
{
    for (int i = 0; i < step->nreduce; i++) {
        const mw_partial *p = &step->reduce[i];
        if (step->kind == MW_STEP_scale) value /= p->size;
        if (step->kind == MW_STEP_mask && !same_on_all(p->kind) && coordinate(p, rank) != 0)
            return p->kind == MW_REDUCE_PROD ? 1 : 0;
    }
    return value;
}

static void run_step(const mw_layout *from, const mw_step *step, mw_arena *arena)
{
    bool local = step->kind == MW_STEP_scale || step->kind == MW_STEP_mask;
    bool two = step->kind == MW_STEP_all_reduce &&
               mw__all_reduce_in_two_phases(w.mesh, step->reduce, step->nreduce);
    int64_t largest = 0, total = 0;
    for (int r = 0; r < w.nrank; r++) {
        naive_shard_of(w.mesh, &step->to, r, &w.shard);
        if (local) {
            for (int i = 0; i < w.shard.n; i++)
                w.next[r][i] = local_step(step, r, w.local[r][i]);
            continue;
        }
        int team[MOST_RANKS], n = mw__team_ranks(w.mesh, step->axes, r, team);
        mw_pulls pulls;
        assert_int_equal(
            mw__pulls_make(w.mesh, from, &step->to, step->reduce, step->nreduce, r, arena, &pulls),
            MW_OK);
        for (int i = 0; i < w.shard.n; i++)
            w.next[r][i] = NAN;
        for (int i = 0; i < pulls.npull; i++) {
            int peer = pulls.pull[i].peer;
            bool in = false;
            for (int k = 0; k < n; k++)
                in = in || team[k] == peer;
            if (!in)
                fail_msg("%s: rank %d pulls from %d, which is not in the team", w.text, r, peer);
            mw__pull_run(&pulls.pull[i], MW_DTYPE_f64, w.local[peer], w.next[r]);
        }
        int64_t received = pulls.received;
        if (two) { /* a chunk's terms, then the other chunks */
            int me = 0;
            for (int k = 0; k < n; k++)
                me += w.mesh->place ? w.mesh->place[team[k]] < w.mesh->place[r] : team[k] < r;
            int64_t chunk = (w.shard.n + n - 1) / n, first = MW_MIN(w.shard.n, me * chunk);
            int64_t mine = MW_MIN(w.shard.n, first + chunk) - first;
            received = mine * (n - 1) + w.shard.n - mine;
        }
        w.received[r] += received;
        largest = MW_MAX(largest, received);
        total += received;
    }
    memcpy(w.local, w.next, sizeof w.local);
    int64_t size = mw_dtype_size(mw__layout_storage_dtype(from));
    if (step->recv_bytes != largest * size || step->recv_bytes_total != total * size)
        fail_msg("%s: %s: says %lld bytes and %lld in all, it is %lld and %lld", w.text,
                 mw__step_name(step->kind), (long long)step->recv_bytes,
                 (long long)step->recv_bytes_total, (long long)(largest * size),
                 (long long)(total * size));
}

static void check_end(const mw_layout *to)
{
    for (int r = 0; r < w.nrank; r++) {
        naive_shard_of(w.mesh, to, r, &w.shard);
        for (int i = 0; i < w.shard.n; i++) {
            double got = read_back(to, r, i), want = w.value[w.shard.at[i]];
            if (!(fabs(got - want) < 1e-9))
                fail_msg("%s: rank %d: local element %d is %g, not %g", w.text, r, i, got, want);
        }
    }
}

/* What gathering everything, and then slicing, would receive. */
static int64_t naive_received(const mw_layout *from, mw_arena *arena)
{
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(from, shape);
    mw_layout whole = mw_layout_replicated((mw_dtype)from->dtype, from->ndim, shape);
    mw_plan *plan = mw__arena_alloc(arena, sizeof *plan);
    assert_int_equal(mw__plan_make(w.mesh, from, &whole, arena, plan), MW_OK);
    return plan->recv_bytes;
}

static void check_plan(const mw_plan *plan, const mw_layout *to, mw_arena *arena)
{
    mw_layout now = plan->from;
    int64_t recv = 0, total = 0,
            peak = mw__layout_largest_shard(w.mesh, &now) *
                   mw_dtype_size(mw__layout_storage_dtype(&now));
    for (int i = 0; i < plan->nstep; i++) {
        const mw_step *step = &plan->step[i];
        if (mw_layout_equal(&now, &step->to)) fail_msg("%s: step %d does nothing", w.text, i);
        run_step(&now, step, arena);
        now = step->to;
        recv += step->recv_bytes;
        total += step->recv_bytes_total;
        peak = MW_MAX(peak, mw__layout_largest_shard(w.mesh, &now) *
                                mw_dtype_size(mw__layout_storage_dtype(&now)));
        if (mw__step_moves(step->kind) != (step->recv_bytes_total > 0) &&
            mw__layout_count(&now) > 0 && !step->nreduce)
            fail_msg("%s: step %d, %s, receives %lld", w.text, i, mw__step_name(step->kind),
                     (long long)step->recv_bytes_total);
    }
    if (!mw_layout_equal(&now, to)) fail_msg("%s: the plan ends elsewhere", w.text);
    if (plan->recv_bytes != recv || plan->recv_bytes_total != total || plan->peak_bytes != peak)
        fail_msg("%s: the plan's sums are wrong", w.text);
    check_end(to);
    if (!plan->from.npartial && !to->npartial && recv > naive_received(&plan->from, arena))
        fail_msg("%s: receives %lld, gathering all %lld", w.text, (long long)recv,
                 (long long)naive_received(&plan->from, arena));
}

static void draw(uint64_t seed, mw_layout *from, mw_layout *to)
{
    int64_t shape[3];
    int ndim = random_shape(&seed, shape);
    uint32_t all = (1u << mw_mesh_axes(w.mesh)) - 1;
    bool odd = naive_below(&seed, 2);
    uint32_t some = naive_below(&seed, 2) ? all : all & (uint32_t)naive_random(&seed);
    *from = random_layout(w.mesh, &seed, MW_DTYPE_f64, ndim, shape, some, odd);
    *to = random_layout(w.mesh, &seed, MW_DTYPE_f64, ndim, shape, all, odd);
    mw_reduce kind = kinds[naive_below(&seed, MW_COUNT(kinds))];
    if (naive_below(&seed, 3)) random_partials(w.mesh, &seed, from, kind, all);
    if (naive_below(&seed, 3) == 0) kind = kinds[naive_below(&seed, MW_COUNT(kinds))];
    if (naive_below(&seed, 3) == 0) random_partials(w.mesh, &seed, to, kind, all);
    for (int i = 0; i < RANDOM_ELEMENTS; i++)
        w.value[i] = 1 + i % 97;
}

static void test_plans_end_at_the_target_with_the_bytes_that_they_say(void **state)
{
    (void)state;
    mw_arena arena;
    mw__arena_init(&arena);
    long steps = 0;
    printf("seed %llu, %d pairs\n", (unsigned long long)first_seed, ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = first_seed + (uint64_t)round;
        assert_int_equal(
            mw_mesh_parse(random_meshes[naive_below(&seed, MW_COUNT(random_meshes))], &w.mesh),
            MW_OK);
        w.nrank = mw_mesh_ranks(w.mesh);
        memset(w.received, 0, sizeof w.received);
        mw__arena_clear(&arena);
        mw_layout from, to;
        draw(seed, &from, &to);
        char a[256], b[256], m[64];
        (void)mw_layout_print(w.mesh, &from, a, sizeof a);
        (void)mw_layout_print(w.mesh, &to, b, sizeof b);
        (void)mw_mesh_print(w.mesh, m, sizeof m);
        mw_plan *plan = mw__arena_alloc(&arena, sizeof *plan);
        assert_non_null(plan);
        mw_status status = mw__plan_make(w.mesh, &from, &to, &arena, plan);
        if (status != MW_OK) fail_msg("%s: %s -> %s: %s", m, a, b, mw_last_error()->says);
        mw_str text = {0};
        mw__plan_str(plan, &text);
        (void)snprintf(w.text, sizeof w.text, "round %d, mesh %s, %s -> %s: '%s'", round, m, a, b,
                       mw__str_text(&text));
        mw__str_done(&text);
        fill(&from);
        check_plan(plan, &to, &arena);
        steps += plan->nstep;
        mw_mesh_unref(w.mesh);
    }
    printf("%ld steps\n", steps);
    assert_true(steps > ROUNDS / 2);
    mw__arena_done(&arena);
}

int main(int argc, char **argv)
{
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_carry_the_name_that_they_deserve),
        cmocka_unit_test(test_other_shapes_and_dtypes_are_refused),
        cmocka_unit_test(test_layouts_of_mixed_kinds_cannot_be_written),
        cmocka_unit_test(test_plans_end_at_the_target_with_the_bytes_that_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
