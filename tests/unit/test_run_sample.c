/* Sampling from logits however they lie, against drawing from the whole list: the largest, ties,
 * the largest k, and the same draw on every mesh for one seed. */
#include "run_check.h"

#include <math.h>
#include <stdlib.h>

enum { VOCAB = 37, DRAWS = 40, TOP = 6 };

static const char *const placements[] = {
    "x=1: [37]",
    "x=2: [37@x]",
    "x=3: [37@x]",
    "x=4: [37@x]",
    "x=2,y=2: [37@x,y]",
    "x=2,y=2: [37@y]",
    "x=2,y=3: [37@(y,x)]",
    "x=4: [37@x:(1)2]",
    "x=4: [37@:3,x]",
    "x=2: [37]{sum:x}",
    "x=2,y=2: [37@y]{sum:x}",
    "x=6: [37@x]",
    "x=3 ids=[2,0,1]: [37@x]",
};

typedef struct sampling {
    char mesh[32];
    const char *layout;
    float logit[VOCAB];
    double temperature;
    int top_k;
    int64_t drawn[DRAWS]; /* of the first placement */
    bool have;
} sampling;

/* Position of index i when all are ordered: larger first, NaN largest, equal ones by index. */
static int place_of(const sampling *s, int i)
{
    int before = 0;
    for (int j = 0; j < VOCAB; j++) {
        float a = s->logit[j], b = s->logit[i];
        bool first =
            isnan(a) || isnan(b) ? (isnan(a) && (!isnan(b) || j < i)) : a > b || (a >= b && j < i);
        before += j != i && first;
    }
    return before;
}

static mw_status draw(void *user)
{
    sampling *s = user;
    mw_tensor *t = mw_from_data(MW_DTYPE_f32, MW_INTS(VOCAB), s->logit, NULL, "replicated");
    EXPECT(mw_mark_sharding(t, NULL, s->layout));
    mw_tensor *row = mw_unsqueeze(t, 0);
    for (int i = 0; i < DRAWS; i++) {
        mw_sampler sampler = {
            .temperature = s->temperature, .top_k = s->top_k, .seed = 11, .step = (uint64_t)i};
        mw_tensor *given = i % 2 ? row : t;
        int64_t index = -1, top[VOCAB + 2];
        double value[VOCAB + 2];
        int ntop = i % 3 == 0 ? VOCAB + 2 : i % 3 == 1 ? TOP : 0;
        EXPECT_OK(mw_sample(given, &sampler, ntop, &index, top, value));
        EXPECT(index >= 0 && index < VOCAB);
        for (int k = 0; k < ntop; k++) {
            EXPECT_INT(top[k], k < VOCAB ? top[k] : -1);
            if (k >= VOCAB) continue;
            EXPECT(top[k] >= 0 && top[k] < VOCAB);
            EXPECT_INT(place_of(s, (int)top[k]), k);
            EXPECT(isnan(value[k]) || value[k] == (double)s->logit[top[k]]);
        }
        if (s->temperature == 0) EXPECT_INT(place_of(s, (int)index), 0);
        if (s->top_k) EXPECT(place_of(s, (int)index) < s->top_k);
        if (s->have)
            EXPECT_INT(index, s->drawn[i]);
        else if (mw_rank_index() == 0)
            s->drawn[i] = index;
    }
    EXPECT_INT(mw_usage_get().bytes_unasked, 0);
    return MW_OK;
}

static void on_every_placement(sampling *s)
{
    s->have = false;
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        const char *colon = strchr(placements[i], ':');
        (void)snprintf(s->mesh, sizeof s->mesh, "%.*s", (int)(colon - placements[i]),
                       placements[i]);
        s->layout = colon + 2;
        run_with((mw_launch_options){.mesh = s->mesh, .timeout = 30}, draw, s);
        s->have = true;
    }
}

static void fill(sampling *s, int different)
{
    unsigned seed = 7;
    for (int i = 0; i < VOCAB; i++) {
        seed = seed * 1103515245u + 12345u;
        s->logit[i] = (float)((int)(seed >> 16) % different) / 4;
    }
}

static void test_without_temperature_the_largest_is_drawn(void **state)
{
    (void)state;
    sampling s = {.temperature = 0};
    fill(&s, 1000);
    on_every_placement(&s);
}

static void test_of_equal_logits_the_first_is_drawn(void **state)
{
    (void)state;
    sampling s = {.temperature = 0};
    fill(&s, 3);
    on_every_placement(&s);
    for (int i = 0; i < VOCAB; i++)
        s.logit[i] = -INFINITY;
    on_every_placement(&s);
    assert_int_equal(s.drawn[0], 0);
}

static void test_draws_do_not_depend_on_the_mesh(void **state)
{
    (void)state;
    sampling s = {.temperature = 0.8};
    fill(&s, 20);
    on_every_placement(&s);
    int differ = 0;
    for (int i = 1; i < DRAWS; i++)
        differ += s.drawn[i] != s.drawn[0];
    assert_true(differ > DRAWS / 4);
}

static void test_draws_are_of_the_largest_k(void **state)
{
    (void)state;
    sampling s = {.temperature = 1.5, .top_k = 4};
    fill(&s, 9);
    on_every_placement(&s);
    s.top_k = VOCAB + 10;
    s.temperature = 100;
    on_every_placement(&s);
}

static void test_nan_counts_as_the_largest(void **state)
{
    (void)state;
    sampling s = {.temperature = 0};
    fill(&s, 50);
    s.logit[20] = NAN;
    s.logit[9] = INFINITY;
    on_every_placement(&s);
    assert_int_equal(s.drawn[0], 20);
}

/* Frequencies of 4000 draws against exp(logit / T): within 4 standard deviations. */
static mw_status frequencies(void *user)
{
    (void)user;
    enum { N = 4000 };
    const float logit[4] = {0, 1, -1, 0.5F};
    int count[4] = {0};
    mw_tensor *t = mw_from_data(MW_DTYPE_f32, MW_INTS(4), logit, NULL, "[4@x]");
    for (int i = 0; i < N; i++) {
        mw_sampler sampler = {.temperature = 0.7, .seed = 5, .step = (uint64_t)i};
        int64_t index;
        EXPECT_OK(mw_sample(t, &sampler, 0, &index, NULL, NULL));
        count[index]++;
    }
    double all = 0;
    for (int i = 0; i < 4; i++)
        all += exp((double)logit[i] / 0.7);
    for (int i = 0; i < 4; i++) {
        double p = exp((double)logit[i] / 0.7) / all, want = N * p;
        if (fabs(count[i] - want) > 4 * sqrt(want * (1 - p)))
            return run_wrong(__FILE__, __LINE__, "%d was drawn %d times, not %g", i, count[i],
                             want);
    }
    return MW_OK;
}

static void test_draws_are_as_frequent_as_they_should_be(void **state)
{
    (void)state;
    run_on("x=2", frequencies);
}

static mw_status refusals(void *user)
{
    (void)user;
    int64_t index;
    mw_tensor *flat = mw_arange(6, MW_DTYPE_f32), *square = mw_view(flat, MW_INTS(2, 3));
    mw_sampler s = {.temperature = -1};
    EXPECT(mw_sample(flat, &s, 0, &index, NULL, NULL) == MW_ERR_ARG);
    s.temperature = NAN;
    EXPECT(mw_sample(flat, &s, 0, &index, NULL, NULL) == MW_ERR_ARG);
    s.temperature = 0;
    EXPECT(mw_sample(square, &s, 0, &index, NULL, NULL) == MW_ERR_SHAPE);
    EXPECT(mw_sample(mw_arange(0, MW_DTYPE_f32), &s, 0, &index, NULL, NULL) == MW_ERR_SHAPE);
    mw_error_clear();
    EXPECT(mw_sample(NULL, &s, 0, &index, NULL, NULL) == MW_ERR_ARG);
    mw_error_clear();
    return MW_OK;
}

static void test_what_cannot_be_sampled_is_refused(void **state)
{
    (void)state;
    run_on("x=2", refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_temperature_the_largest_is_drawn),
        cmocka_unit_test(test_of_equal_logits_the_first_is_drawn),
        cmocka_unit_test(test_draws_do_not_depend_on_the_mesh),
        cmocka_unit_test(test_draws_are_of_the_largest_k),
        cmocka_unit_test(test_nan_counts_as_the_largest),
        cmocka_unit_test(test_draws_are_as_frequent_as_they_should_be),
        cmocka_unit_test(test_what_cannot_be_sampled_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
