/* Classic plans: never more bytes than other planners need for the same pairs, the fewest that are
 * known; legal step by step on real arrays, within memory, and right at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/planner.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t seed = 20261130;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* ---- plans that are known -------------------------------------------------------------------- */

/* Received by the largest rank: by the plan that Shardy makes, its steps replayed on our owners,
 * and the fewest bytes of any classic plan that is known. f32. */
static const struct {
    const char *mesh, *from, *to;
    int64_t shardy, best;
} known[] = {
    {"x=6", "[24@x, 8]", "[24, 8]", 640, 640},
    {"x=2,y=2", "[16@y, 8@x]", "[16@y, 8]", 128, 128},
    {"x=2,y=2,z=2", "[16@x,y,z, 8]", "[16@x, 8]", 192, 192},
    {"x=2,y=2,z=2", "[16@y,z, 8@x]", "[16@y, 8@x]", 64, 64},
    {"x=2,y=8", "[16@y, 8@x]", "[16@y:(1)4, 8@x]", 32, 32},
    {"x=2,y=2,z=2", "[16, 8]", "[16@x, 8@y,z]", 0, 0},
    {"x=2,y=2,z=2", "[16@x, 8@y]", "[16@x, 8@y,z]", 0, 0},
    {"x=2,y=2,z=2", "[16@x, 8@y, 8]", "[16, 8@y, 8@x]", 512, 512},
    {"x=2,y=2,z=2", "[16@x, 8, 8@y,z]", "[16@x, 8@y,z, 8]", 384, 384},
    {"x=2,y=2,z=2", "[16@x,z, 8@y]", "[16@x, 8@y,z]", 32, 32},
    {"x=4,y=2,z=4", "[16, 8@y,x, 8]", "[16@x, 8, 8@y]", 640, 640},
    {"x=4,y=2,z=4", "[16@x, 8@y,z, 8]", "[16@x,z, 8, 8@y]", 160, 160},
    {"x=2,y=2,z=2", "[16@y, 8@x, 8]", "[16, 8, 8@x,y]", 1024, 1024},
    {"x=2,y=2,z=2", "[16@y, 8@x,z, 8]", "[16, 8, 8@x,y,z]", 1152, 896},
    {"x=4,y=2,z=4", "[16, 8@y,z, 8]", "[16@x,z, 8, 8@y]", 160, 160},
    {"x=4,y=2,z=4", "[16@x, 8@z,y, 8]", "[16@x,z:(2)2, 8, 8@y]", 256, 256},
    {"x=2,y=2,z=4,w=2", "[16@x, 8@z,w,y, 8]", "[16@x,z:(2)2,w, 8, 8@y]", 352, 352},
    {"x=2,y=2,z=2,w=4", "[16, 8@w:(1)2]", "[16@w, 8]", 96, 96},
    {"x=2,y=2,z=2", "[16, 8@x, 8]", "[16, 8, 8@x,y,z]", 448, 448},
    {"x=2,y=2,z=2", "[16@z, 8@x, 8]", "[16, 8, 8@x,y,z]", 640, 640},
    {"x=2,y=2,z=2", "[16@y, 8@x, 8]", "[16, 8, 8@x,y,z]", 640, 640},
    {"x=2,y=2,z=2", "[16, 8@x,y, 8]", "[16@x, 8, 8@y,z]", 640, 640},
    {"x=2,y=2,z=2,w=4", "[16@y,z,w:(1)2, 8]", "[16@y, 8@x,w]", 28, 28},
    {"x=2,y=2,z=2,w=2", "[16@z, 8@x, 8]", "[16, 8, 8@x,y,z,w]", 576, 576},
    {"x=2,y=2,z=2,w=2", "[2@z, 8@x, 8]", "[2, 8, 8@x,y,z,w]", 96, 80},
    {"x=2,y=2,z=2", "[8@x,y, 4]", "[8@x, 4@y,z]", 12, 12},
    {"x=2,y=2,z=2,w=2", "[16@z, 8@x, 8]", "[16@w, 8, 8@x,y]", 896, 512},
    {"x=2,y=2,z=2", "[16, 8@x]", "[16@x,y, 8@z]", 64, 64},
    {"x=2,y=2,z=2", "[16, 8@x, 8@z]", "[16, 8, 8@x,y,z]", 768, 704},
    {"x=2,y=2,z=2", "[4, 10@x,z]", "[4@x,y,z, 10]", 52, 52},
    {"x=2,y=2,z=2,w=2", "[4, 10@z,w,y]", "[4@x,y,z, 10]", 48, 36},
    {"x=2,y=2,z=2", "[16, 4@x]", "[16@x,y,z, 4]", 48, 48},
    {"x=2,y=2,z=2", "[16, 4@x,y, 8]", "[16@x, 4, 8@y,z]", 512, 384},
    {"x=2,y=2,z=2", "[4@x,y, 4]", "[4@x, 4@y,z]", 12, 8},
    {"x=2,y=2", "[4, 10@x]", "[4@x,y, 10]", 60, 60},
    {"x=2,y=2,z=2", "[16@z, 8@y]", "[16@z, 8@x]", 128, 128},
    {"x=4,y=2,z=4", "[16@z, 8@y]", "[16@z, 8@x]", 32, 32},
    {"x=4,y=2,z=4", "[16@z, 8@x]", "[16@z, 8@y]", 64, 64},
    {"x=2,y=2,z=2,w=2", "[16@x,y,z, 8]", "[16@w,y,z, 8]", 64, 64},
    {"x=2,y=2,z=2", "[16@x,y, 8]", "[16@z, 8]", 256, 256},
    {"x=4,y=2,z=4", "[16@x,z, 8]", "[16@y, 8]", 256, 256},
    {"x=2,y=2,z=2", "[16@x,y, 8@z]", "[16@z, 8]", 256, 256},
    {"x=2,y=2", "[16@x, 8]", "[16, 8@y]", 128, 128},
    {"x=4,y=2", "[16@x, 8]", "[16, 8@y]", 192, 192},
    {"x=2,y=2,z=2,w=2,u=2,v=2", "[8@x, 8@y,z, 8, 8]", "[8, 8, 8@w,u, 8@v]", 1792, 1792},
    {"x=4,y=2", "[16@y, 8]", "[16, 8@x]", 64, 64},
    {"x=2,y=2,z=2,w=4", "[16@y,z,w, 8]", "[16@y, 8@x,w]", 28, 28},
    {"x=2,y=2", "[16@x, 8@y]", "[16@y, 8@x]", 128, 128},
    {"x=4,y=2", "[16@x, 8@y]", "[16@y, 8@x]", 96, 96},
    {"x=2,y=2,z=2", "[16@x, 8@y]", "[16@x,y, 8@z]", 64, 64},
    {"x=2,y=2", "[8@x, 8@y, 8]", "[8, 8@x, 8@y]", 768, 512},
    {"x=4,y=2,z=4", "[16@z, 8@y]", "[16@y,z, 8@x]", 16, 16},
    {"x=4,y=2,z=4", "[16@z,y, 8@x]", "[16@x,z, 8]", 40, 40},
    {"x=4,y=2,z=4", "[16@x,y, 8@z]", "[16@y,x, 8@z]", 16, 16},
    {"x=4,y=2,z=4", "[16@x,y, 8@z]", "[16@y,z, 8@x]", 16, 16},
    {"x=2,y=2", "[16@y, 8, 8]", "[16@x,y, 8, 8]", 1024, 1024},
    {"x=2,y=2,z=2", "[16@y,x,z, 8]", "[16@z, 8]", 256, 256},
    {"x=2,y=2,z=2", "[16@y,x,z, 8]", "[16@z, 8@y]", 160, 152},
    {"x=2,y=2,z=2", "[16@z,y,x, 8]", "[16, 8@y]", 288, 240},
    {"x=2,y=2", "[16, 8@y,x, 8]", "[16@x,y, 8, 8]", 1792, 1024},
    {"x=4,y=2,z=4", "[16@z, 8@y,x, 8]", "[16@x,y,z, 8, 8]", 352, 352},
    {"x=4,y=2,z=4", "[16, 8@x,z,y, 8]", "[16@x,y, 8, 8@z]", 624, 288},
    {"x=4,y=2,z=4", "[16, 8@y,z,x, 8]", "[16@x,y, 8, 8@z]", 624, 288},
    {"x=2,y=2,z=4,w=2", "[16@x, 8@y,z,w, 8]", "[16@x,z:(2)2,w, 8, 8@y]", 480, 480},
    {"x=2,y=2,z=2,w=4", "[16@y,w:(1)2,z,w:(2)2, 8]", "[16@y, 8@x,w]", 44, 44},
    {"x=2,y=2,z=2,w=4", "[16@y,z,w:(2)2, 8]", "[16@y, 8@x,w]", 24, 24},
    {"x=2,y=2,z=2,w=16", "[16@y,w:(4)2,z,w:(1)2, 8]", "[16@y, 8@x,w:(2)8]", 36, 32},
    {"x=2,y=2,z=2,w=16", "[16@y,w:(4)2,z,w:(1)2, 8]", "[16@y, 8@x,w]", 36, 32},
    {"x=2,y=3", "[12@x, 12]", "[12@y, 12]", 192, 192},
    {"x=2,y=3", "[12@y, 12]", "[12@x, 12]", 288, 288},
    {"x=4,y=6", "[12@x, 12]", "[12@y, 12]", 96, 96},
    {"x=4,y=6", "[12@y, 12]", "[12@x, 12]", 144, 144},
    {"x=2,y=3", "[12@x, 12@y]", "[12@y, 12@x]", 208, 208},
    {"x=4,y=6", "[12@x, 12@y:(1)2]", "[12@y, 12]", 96, 96},
    {"x=4,y=6,z=2", "[12@x, 12@z]", "[12@y, 12]", 96, 96},
    {"x=4,y=6,z=5", "[12@x, 10@z]", "[12@y, 10]", 80, 80},
};

typedef struct planned {
    mw_mesh *mesh, *to_mesh;
    mw_layout from, to;
    mw_arena arena;
    mw_plan plan;
    mw_classic_notes notes;
} planned;

static void read_pair(planned *p, const char *mesh, const char *to_mesh, const char *from,
                      const char *to)
{
    memset(p, 0, sizeof *p);
    assert_int_equal(mw_mesh_parse(mesh, &p->mesh), MW_OK);
    assert_int_equal(mw_mesh_parse(to_mesh ? to_mesh : mesh, &p->to_mesh), MW_OK);
    assert_int_equal(mw_layout_parse(p->mesh, from, &p->from), MW_OK);
    assert_int_equal(mw_layout_parse(p->to_mesh, to, &p->to), MW_OK);
    p->from.dtype = p->to.dtype = MW_DTYPE_i32;
    mw__arena_init(&p->arena);
}

static void end_pair(planned *p)
{
    mw__arena_done(&p->arena);
    mw_mesh_unref(p->mesh);
    mw_mesh_unref(p->to_mesh);
}

static void make_plan(planned *p, mw_minimize minimize)
{
    mw_plan_options options = {
        .steps = MW_STEPS_CLASSIC, .minimize = minimize, .to_mesh = p->to_mesh};
    assert_int_equal(
        mw__plan_classic(p->mesh, &p->from, &p->to, &options, &p->arena, &p->plan, &p->notes),
        MW_OK);
}

static const char *text_of(const planned *p)
{
    static char text[1024];
    char a[256], b[256];
    mw_str steps = {0};
    (void)mw_layout_print(p->mesh, &p->from, a, sizeof a);
    (void)mw_layout_print(p->to_mesh, &p->to, b, sizeof b);
    mw__plan_str(&p->plan, &steps);
    (void)snprintf(text, sizeof text, "%s -> %s: %s", a, b, mw__str_text(&steps));
    mw__str_done(&steps);
    return text;
}

/* ---- real arrays ----------------------------------------------------------------------------- */

enum { MOST_TEST_RANKS = 128 };

typedef struct arrays {
    int32_t *at[MOST_TEST_RANKS];
} arrays;

static void allocate(arrays *a, const mw_mesh *mesh, const mw_layout *l)
{
    for (int r = 0; r < mesh->nrank; r++) {
        int64_t n = mw__layout_local_count(mesh, l, r);
        a->at[r] = calloc((size_t)n + 1, sizeof(int32_t));
        assert_non_null(a->at[r]);
    }
}

static void release(arrays *a, int n)
{
    for (int r = 0; r < n; r++)
        free(a->at[r]);
}

/* Calls for each element of rank r's shard in order, with its global index. */
static int64_t list_indices(const mw_mesh *mesh, const mw_layout *l, int r, int64_t *ret)
{
    int coord[MW_MESH_AXES];
    int64_t n = 1;
    ret[0] = 0;
    mw__mesh_coords(mesh, r, coord);
    for (int d = 0; d < l->ndim; d++) {
        mw_range range[64];
        int64_t nrange = mw__dim_ranges(mesh, &l->dim[d], coord, range, 64);
        assert_true(nrange <= 64);
        int64_t next[4096], count = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < nrange; k++)
                for (int64_t x = range[k].first; x < range[k].end; x++) {
                    assert_true(count < 4096);
                    next[count++] = ret[i] * mw__dim_size(&l->dim[d]) + x;
                }
        n = count;
        memcpy(ret, next, (size_t)n * sizeof *next);
    }
    return n;
}

/* A term of an element, small enough for sums to stay exact. */
static int32_t term(int64_t index, int digits)
{
    return (int32_t)(index * 7 + digits * 1000 + 3);
}

static int digits_of(const mw_mesh *mesh, const mw_layout *l, int r)
{
    int coord[MW_MESH_AXES], digits = 0;
    mw__mesh_coords(mesh, r, coord);
    for (int i = 0; i < l->npartial; i++)
        digits = digits * l->partial[i].size + coord[l->partial[i].axis];
    return digits;
}

static int32_t sum_of(const mw_layout *l, int64_t index)
{
    int terms = 1;
    int32_t sum = 0;
    for (int i = 0; i < l->npartial; i++)
        terms *= l->partial[i].size;
    for (int k = 0; k < terms; k++)
        sum += term(index, k);
    return sum;
}

/* Runs the plan's steps one after the other; every step must be able to run, take as many bytes as
 * it says, and change something. */
static void run_plan(planned *p, arrays *now)
{
    const mw_plan *plan = &p->plan;
    mw_layout state = plan->from;
    for (int i = 0; i < plan->nstep; i++) {
        const mw_step *step = &plan->step[i];
        const mw_mesh *mesh = mw__plan_mesh(plan, i - 1), *to_mesh = mw__plan_mesh(plan, i);
        arrays next;
        int64_t largest = 0;
        allocate(&next, to_mesh, &step->to);
        for (int r = 0; r < mesh->nrank; r++) {
            mw_pulls pulls;
            assert_int_equal(mw__pulls_between(mesh, &state, to_mesh, &step->to, step->reduce,
                                               step->nreduce, r, &p->arena, &pulls),
                             MW_OK);
            int team[MOST_TEST_RANKS];
            int n = mesh == to_mesh ? mw__team_ranks(mesh, step->axes, r, team) : 0;
            for (int k = 0; k < pulls.npull; k++) {
                bool among = mesh != to_mesh || pulls.pull[k].peer == r;
                for (int t = 0; t < n; t++)
                    among = among || team[t] == pulls.pull[k].peer;
                if (!among) fail_msg("%s: step %d reads outside its team", text_of(p), i);
                mw__pull_run(&pulls.pull[k], MW_DTYPE_i32, now->at[pulls.pull[k].peer], next.at[r]);
            }
            largest = MW_MAX(largest, pulls.received * 4);
        }
        bool two_phases = step->kind == MW_STEP_all_reduce &&
                          mw__all_reduce_in_two_phases(mesh, step->reduce, step->nreduce);
        if (!two_phases) assert_int_equal(largest, step->recv_bytes);
        if (mesh == to_mesh && mw_layout_equal(&state, &step->to))
            fail_msg("%s: step %d does nothing", text_of(p), i);
        if (mw__step_moves(step->kind) != (step->recv_bytes_total > 0))
            fail_msg("%s: step %d moves or does not", text_of(p), i);
        release(now, mesh->nrank);
        *now = next;
        state = step->to;
    }
}

static void check_plan(planned *p)
{
    int64_t *index = malloc(4096 * sizeof *index);
    arrays now;
    assert_non_null(index);
    allocate(&now, p->mesh, &p->from);
    for (int r = 0; r < p->mesh->nrank; r++) {
        int64_t n = list_indices(p->mesh, &p->from, r, index);
        for (int64_t k = 0; k < n; k++)
            now.at[r][k] = p->from.npartial ? term(index[k], digits_of(p->mesh, &p->from, r))
                                            : (int32_t)index[k];
    }
    run_plan(p, &now);
    for (int r = 0; r < p->mesh->nrank; r++) {
        int64_t n = list_indices(p->to_mesh, &p->to, r, index);
        for (int64_t k = 0; k < n; k++) {
            int32_t expected = p->from.npartial ? sum_of(&p->from, index[k]) : (int32_t)index[k];
            if (now.at[r][k] != expected)
                fail_msg("%s: rank %d element %d is %d, not %d", text_of(p), r, (int)k,
                         now.at[r][k], expected);
        }
    }
    release(&now, p->mesh->nrank);
    free(index);
}

static void check_steps(const planned *p)
{
    int64_t source = mw__layout_largest_shard(p->mesh, &p->from);
    int64_t target = mw__layout_largest_shard(p->to_mesh, &p->to);
    if (!p->notes.above && p->plan.peak_bytes > 4 * MW_MAX(source, target))
        fail_msg("%s: peak %lld B", text_of(p), (long long)p->plan.peak_bytes);
    for (int i = 0; i < p->plan.nstep; i++)
        if (p->plan.step[i].kind == MW_STEP_exchange)
            fail_msg("%s: an exchange is no classic step", text_of(p));
}

static void test_known_pairs_cost_no_more_than_the_best_known(void **state)
{
    (void)state;
    for (int i = 0; i < MW_COUNT(known); i++) {
        planned p;
        read_pair(&p, known[i].mesh, NULL, known[i].from, known[i].to);
        make_plan(&p, MW_MINIMIZE_BYTES);
        if (p.plan.recv_bytes > known[i].best || p.plan.recv_bytes > known[i].shardy)
            fail_msg("mesh %s, %s: %lld B, known are %lld and %lld", known[i].mesh, text_of(&p),
                     (long long)p.plan.recv_bytes, (long long)known[i].shardy,
                     (long long)known[i].best);
        if (p.notes.above)
            fail_msg("mesh %s, %s: needs too much memory", known[i].mesh, text_of(&p));
        check_steps(&p);
        check_plan(&p);
        end_pair(&p);
    }
}

/* ---- other orders of ranks ------------------------------------------------------------------- */

static void test_another_order_of_ranks_takes_one_permute(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *steps;
    } cases[] = {
        {"[16@x, 8@y]", "[16@x, 8@y]", "permute x,y"},
        {"[16@x,y, 8]", "[16@y,x, 8]", "permute x,y"},
        {"[16@x, 8@y]", "[16@x, 8]", "permute x,y; all_gather y dim 1"},
        {"[16@x, 8]", "[16@y,x, 8]", "slice y dim 0; permute x,y"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++)
        for (int minimize = 0; minimize < 2; minimize++) {
            planned p;
            read_pair(&p, "x=2,y=2", "x=2,y=2 ids=[3,2,1,0]", cases[i].from, cases[i].to);
            make_plan(&p, minimize ? MW_MINIMIZE_BYTES : MW_MINIMIZE_TIME);
            mw_str text = {0};
            mw__plan_str(&p.plan, &text);
            assert_string_equal(mw__str_text(&text), cases[i].steps);
            mw__str_done(&text);
            check_plan(&p);
            end_pair(&p);
        }
}

static void test_moves_go_on_after_the_order_of_ranks_changed(void **state)
{
    (void)state;
    planned p;
    read_pair(&p, "x=2,y=2", "x=2,y=2 ids=[3,2,1,0]", "[16, 8@y,x, 8]", "[16@x, 8, 8@y]");
    make_plan(&p, MW_MINIMIZE_BYTES);
    int count[MW_STEP_COUNT] = {0};
    for (int i = 0; i < p.plan.nstep; i++)
        count[p.plan.step[i].kind]++;
    assert_int_equal(p.plan.nstep, 3);
    assert_int_equal(count[MW_STEP_permute], 1);
    assert_int_equal(count[MW_STEP_all_to_all], 2);
    check_plan(&p);
    end_pair(&p);
}

/* The same owners under other names: nothing is to be done. */
static void test_another_name_for_the_same_place_moves_nothing(void **state)
{
    (void)state;
    planned p;
    read_pair(&p, "x=2,y=2", "a=4", "[16@x,y, 8]", "[16@a, 8]");
    make_plan(&p, MW_MINIMIZE_TIME);
    assert_int_equal(p.plan.nstep, 0);
    end_pair(&p);
    read_pair(&p, "x=2,y=2", "a=4", "[16@x, 8@y]", "[16@a, 8]");
    make_plan(&p, MW_MINIMIZE_TIME);
    check_plan(&p);
    end_pair(&p);
}

/* ---- random pairs ---------------------------------------------------------------------------- */

static const char *const meshes[] = {"x=8", "x=2,y=4", "x=2,y=2,z=2", "x=2,y=3", "x=4,y=6"};

static mw_layout draw(const mw_mesh *mesh, int ndim, const int64_t *shape, bool partial)
{
    mw_layout l = mw_layout_replicated(MW_DTYPE_i32, ndim, shape);
    int first = below(mesh->naxis);
    for (int i = 0; i < mesh->naxis; i++) {
        int a = (first + i) % mesh->naxis, d = below(ndim + 1), size = mesh->size[a];
        int part = size % 2 == 0 && size > 2 && below(4) == 0 ? 2 : size;
        if (d < ndim) {
            assert_true(mw__dim_append(mesh, &l.dim[d], a, 1, part));
            if (part < size && below(2))
                assert_true(mw__dim_append(mesh, &l.dim[below(ndim)], a, part, size / part));
        } else if (partial && below(2)) {
            int at = l.npartial++;
            for (; at > 0 && l.partial[at - 1].axis > a; at--)
                l.partial[at] = l.partial[at - 1];
            l.partial[at] = (mw_partial){MW_REDUCE_SUM, (int16_t)a, 1, mesh->size[a]};
        }
    }
    mw__layout_canonical(mesh, &l);
    return l;
}

/* Gather what changes, then slice: the plan that none may be worse than. */
static int64_t naive_bytes(const planned *p)
{
    mw_layout middle = p->from;
    for (int d = 0; d < middle.ndim; d++)
        if (!mw__dim_equal(&p->from.dim[d], &p->to.dim[d]))
            middle.dim[d] = mw__dim_plain(mw__dim_size(&middle.dim[d]));
    mw_moved moved;
    mw_arena arena;
    mw__arena_init(&arena);
    assert_int_equal(mw__moved(p->mesh, &p->from, &middle, &arena, &moved), MW_OK);
    mw__arena_done(&arena);
    return moved.largest * 4;
}

/* What a rank must receive, element by element. */
static int64_t must_receive(const planned *p)
{
    int64_t *a = malloc(4096 * sizeof *a), *b = malloc(4096 * sizeof *b), most = 0;
    for (int r = 0; r < p->mesh->nrank; r++) {
        int64_t na = list_indices(p->mesh, &p->from, r, a), lacks = 0, i = 0;
        int64_t nb = list_indices(p->to_mesh, &p->to, r, b);
        for (int64_t k = 0; k < nb; k++) { /* both lists rise */
            while (i < na && a[i] < b[k])
                i++;
            lacks += i == na || a[i] != b[k];
        }
        most = MW_MAX(most, lacks * 4);
    }
    free(a);
    free(b);
    return most;
}

static void draw_pair(planned *p, bool partial)
{
    static const int sizes[] = {8, 12, 12, 7, 5, 3, 2, 1, 6};
    int64_t shape[3];
    int ndim = 1 + below(3);
    memset(p, 0, sizeof *p);
    assert_int_equal(mw_mesh_parse(meshes[below(MW_COUNT(meshes))], &p->mesh), MW_OK);
    p->to_mesh = mw_mesh_ref(p->mesh);
    for (int d = 0; d < ndim; d++)
        shape[d] = sizes[below(MW_COUNT(sizes))];
    p->from = draw(p->mesh, ndim, shape, partial);
    p->to = draw(p->mesh, ndim, shape, false);
    mw__arena_init(&p->arena);
}

static void test_random_pairs_run_right_and_cost_no_more_than_gathering(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 250; i++) {
        planned p;
        draw_pair(&p, false);
        make_plan(&p, i % 2 ? MW_MINIMIZE_BYTES : MW_MINIMIZE_TIME);
        check_steps(&p);
        check_plan(&p);
        if (i % 2 && p.plan.recv_bytes > naive_bytes(&p))
            fail_msg("%s: %lld B, gathering takes %lld", text_of(&p), (long long)p.plan.recv_bytes,
                     (long long)naive_bytes(&p));
        end_pair(&p);
    }
}

static void test_random_sums_are_combined_on_the_way(void **state)
{
    (void)state;
    for (int i = 0; i < 150; i++) {
        planned p;
        draw_pair(&p, true);
        make_plan(&p, i % 2 ? MW_MINIMIZE_BYTES : MW_MINIMIZE_TIME);
        check_steps(&p);
        check_plan(&p);
        end_pair(&p);
    }
}

static void test_the_exchange_takes_what_ranks_lack_and_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        planned p;
        draw_pair(&p, false);
        assert_int_equal(mw__plan_make(p.mesh, &p.from, &p.to, &p.arena, &p.plan), MW_OK);
        assert_int_equal(p.plan.recv_bytes, must_receive(&p));
        bool reduction;
        int64_t each[MOST_TEST_RANKS], most = 0;
        assert_int_equal(
            mw__plan_bound(p.mesh, &p.from, p.to_mesh, &p.to, &p.arena, each, &reduction), MW_OK);
        assert_false(reduction);
        for (int r = 0; r < p.mesh->nrank; r++)
            most = MW_MAX(most, each[r]);
        assert_int_equal(most, must_receive(&p));
        check_plan(&p);
        end_pair(&p);
    }
}

/* Strided and joint dims are cut all at once or not at all, and reached all the same. */
static void test_dims_that_no_axis_order_describes_are_reached(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"[2·4@x, 12]", "[8, 12@x]"},      {"[10@(x,y), 12]", "[10, 12@x,y]"},
        {"[2·4@x, 12]", "[8@x, 12]"},      {"[10@(x,y), 12]", "[10@x,y, 12]"},
        {"[3@x·4, 12@y]", "[12@y, 12@x]"}, {"[8, 12@x]", "[2·4@x, 12]"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        planned p;
        read_pair(&p, "x=2,y=3", NULL, cases[i].from, cases[i].to);
        make_plan(&p, MW_MINIMIZE_BYTES);
        assert_false(p.notes.above);
        check_steps(&p);
        check_plan(&p);
        end_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_pairs_cost_no_more_than_the_best_known),
        cmocka_unit_test(test_another_order_of_ranks_takes_one_permute),
        cmocka_unit_test(test_moves_go_on_after_the_order_of_ranks_changed),
        cmocka_unit_test(test_another_name_for_the_same_place_moves_nothing),
        cmocka_unit_test(test_random_pairs_run_right_and_cost_no_more_than_gathering),
        cmocka_unit_test(test_random_sums_are_combined_on_the_way),
        cmocka_unit_test(test_the_exchange_takes_what_ranks_lack_and_no_more),
        cmocka_unit_test(test_dims_that_no_axis_order_describes_are_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
