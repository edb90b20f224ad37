/* Ranks in lockstep: a difference is told once, with both sides and their lines; and ranks that
 * only interleave, that are cut off, or that print something of their own are no difference. */
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

enum { RANKS = 5, STEPS = 120, TEXT = 1 << 20 };

typedef struct random {
    uint64_t state;
} random_;

static int below(random_ *r, int n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int)(r->state >> 33) % n;
}

/* What the ranks do: at `at` rank `odd` calls another op, or stops. */
typedef struct program {
    int odd, at;
    int other, stops, extra; /* flags */
    int bound; /* ranks are at most so many steps apart; 0: one rank's log after the other */
    int steps; /* of each rank; the text ends when `lines` are written */
    int lines;
} program;

static int step_of(char *to, size_t size, int rank, int step, const program *p)
{
    const char *op =
        p->other && rank == p->odd && step == p->at ? "aten.add.Tensor" : "aten.mm.default";
    int n = snprintf(
        to, size,
        "[rank%d]: Dispatching op_call: Op(op=%s, args_schema=Spec(S(0) on (%d, 12)), Spec(R on "
        "(12, 5)) @ mesh: (%d,))\n[rank%d]: redistribute from S(0) to R on mesh dim 0\n",
        rank, op, 10 + step % 4, RANKS, rank);
    if (p->extra && rank == 0 && step % 7 == 0)
        n += snprintf(to + n, size - (size_t)n,
                      "[rank%d]:   aten::mm(dt: f32[%d, 12]| S(0), dt: f32[12, 5]| R)\n", rank,
                      10 + step);
    return n;
}

static mw_explain *explain(const program *p, uint64_t seed)
{
    char *text = malloc(TEXT);
    int done[RANKS] = {0}, left = RANKS, lines = 0;
    size_t length = 0;
    random_ random = {seed * 2 + 1};
    assert_non_null(text);
    while (left > 0 && (p->lines == 0 || lines < p->lines)) {
        int rank = below(&random, RANKS), slowest = p->steps;
        for (int r = 0; r < RANKS; r++) {
            int end = p->stops && r == p->odd ? p->at : p->steps;
            if (done[r] < end && done[r] < slowest) slowest = done[r];
        }
        if (p->bound == 0)
            for (rank = 0; done[rank] == (p->stops && rank == p->odd ? p->at : p->steps);)
                rank++;
        int end = p->stops && rank == p->odd ? p->at : p->steps;
        if (done[rank] == end || (p->bound && done[rank] >= slowest + p->bound)) continue;
        length += (size_t)step_of(text + length, TEXT - length, rank, done[rank], p);
        assert_true(length < TEXT - 1000);
        lines += 2;
        if (++done[rank] == end) left--;
    }
    mw_explain *e = NULL;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    assert_int_equal(mw_explain_feed(e, text, (int64_t)length), MW_OK);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    free(text);
    return e;
}

static const mw_entry *difference(const mw_explain *e, int *ret_count)
{
    const mw_entry *found = NULL;
    *ret_count = 0;
    for (int64_t i = 0; i < mw_explain_entries(e); i++)
        if (strcmp(mw_explain_entry(e, i)->event, "difference") == 0) {
            found = mw_explain_entry(e, i);
            ++*ret_count;
        }
    return found;
}

static const char *fact(const mw_entry *e, const char *name)
{
    for (int i = 0; e && i < e->nfact; i++)
        if (strcmp(e->fact[i].name, name) == 0) return e->fact[i].value;
    return "";
}

static int is_missing(const mw_explain *e, const char *words)
{
    for (int64_t i = 0; i < mw_explain_missing(e); i++)
        if (strstr(mw_explain_missing_at(e, i), words)) return 1;
    return 0;
}

/* One rank calls another op at one step, whoever it is, wherever, however lines interleave. */
static void another_op(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_ random = {seed};
        program p = {.odd = below(&random, RANKS),
                     .at = 1 + below(&random, STEPS - 1),
                     .other = 1,
                     .extra = seed % 2 == 0,
                     .bound = seed % 3 == 0 ? 0 : 1 + below(&random, 9),
                     .steps = STEPS};
        mw_explain *e = explain(&p, seed);
        int n;
        const mw_entry *d = difference(e, &n);
        char name[40], alike[20];
        if (n != 1 || d->ranks != UINT64_C(1) << p.odd) printf("seed %d\n", (int)seed);
        assert_int_equal(n, 1);
        assert_int_equal(d->ranks, UINT64_C(1) << p.odd);
        (void)snprintf(name, sizeof name, "rank %d", p.odd);
        assert_non_null(strstr(fact(d, name), "add"));
        (void)snprintf(alike, sizeof alike, "%d", p.at);
        assert_string_equal(fact(d, "alike before"), alike);
        assert_int_equal(d->nproblem, 1);
        assert_string_equal(d->problem[0].kind, "diverged-control-flow");
        assert_true(d->first < d->last && d->last <= mw_explain_lines(e));
        mw_explain_free(e);
    }
}

/* One rank stops early: told where the others go on for long, else missing. */
static void stops_early(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_ random = {seed};
        program p = {.odd = below(&random, RANKS),
                     .at = 1 + below(&random, STEPS / 2),
                     .stops = 1,
                     .bound = 1 + below(&random, 6),
                     .steps = STEPS};
        mw_explain *e = explain(&p, seed);
        int n;
        const mw_entry *d = difference(e, &n);
        if (n != 1) printf("seed %d\n", (int)seed);
        assert_int_equal(n, 1);
        assert_int_equal(d->ranks, UINT64_C(1) << p.odd);
        assert_string_equal(d->problem[0].kind, "rank-behind");
        mw_explain_free(e);
    }
}

/* The text ends in the midst of it all: ranks are unequally far, and that is no evidence. */
static void cut_off(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        random_ random = {seed};
        program p = {.bound = 1 + below(&random, 8),
                     .steps = STEPS,
                     .extra = seed % 2 == 0,
                     .lines = 40 + 2 * below(&random, 300)};
        mw_explain *e = explain(&p, seed);
        int n;
        (void)difference(e, &n);
        if (n)
            printf("seed %d bound %d lines %d: %s\n", (int)seed, p.bound, p.lines,
                   difference(e, &n)->says);
        assert_int_equal(n, 0);
        mw_explain_free(e);
    }
    program p = {.bound = 5, .steps = STEPS, .lines = 333};
    mw_explain *e = explain(&p, 4);
    assert_true(is_missing(e, "a few lines after their last one"));
    mw_explain_free(e);
}

/* All the same, woven or one after the other, with prints of one rank: nothing to tell. */
static void alike(void **state)
{
    (void)state;
    for (int bound = 0; bound < 12; bound += 3) {
        program p = {.bound = bound, .steps = STEPS, .extra = 1};
        mw_explain *e = explain(&p, 9);
        int n;
        (void)difference(e, &n);
        assert_int_equal(n, 0);
        for (int64_t i = 0; i < mw_explain_entries(e); i++)
            assert_int_equal(mw_explain_entry(e, i)->nproblem, 0);
        mw_explain_free(e);
    }
}

/* Ranks that differ from the first event on may be meant to. */
static void stages(void **state)
{
    (void)state;
    program p = {.odd = 2, .at = 0, .other = 1, .bound = 3, .steps = STEPS};
    mw_explain *e = explain(&p, 5);
    int n;
    const mw_entry *d = difference(e, &n);
    assert_int_equal(n, 1);
    assert_int_equal(d->nproblem, 0);
    assert_true(is_missing(e, "pipeline stages"));
    mw_explain_free(e);
}

/* Memory does not grow with the text, once the window is full. */
static void bounded(void **state)
{
    (void)state;
    static const char line[] = "[rank1]: redistribute from S(0) to R on mesh dim 0\n"
                               "[rank0]: redistribute from S(0) to R on mesh dim 0\n";
    mw_fault_allocator memory;
    int64_t full = 0;
    mw_fault_allocator_init(&memory, 0, 0);
    mw_allocator_use(&memory.allocator);
    mw_explain *e = NULL;
    assert_int_equal(mw_explain_new(&(mw_explain_options){.mesh = NULL}, &e), MW_OK);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(mw_explain_feed(e, line, (int64_t)sizeof line - 1), MW_OK);
        if (i == 40000) full = memory.live;
    }
    assert_int_equal(memory.live, full);
    assert_int_equal(mw_explain_finish(e), MW_OK);
    mw_explain_free(e);
    assert_int_equal(memory.live, 0);
    mw_allocator_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_op), cmocka_unit_test(stops_early),
                                       cmocka_unit_test(cut_off),    cmocka_unit_test(alike),
                                       cmocka_unit_test(stages),     cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
