/* Passes do not change what a program means: random programs, run as they are with every tensor
 * whole, and run sharded after each chain of passes, give the same values on 2, 3, 4 and 2x2 ranks. */
#include "run_check.h"

#include "bench/brute_layouts.h"
#include "graph/passes.h"

#include <math.h>

enum { PROGRAMS = 60, ELEMENTS = 16 * 16 };

static const char *mesh_text;

/* The program with numbers for its parameters. */
static void runnable_text(const brute_graph *g, char *to, size_t size)
{
    char type[96], body[2000];
    brute_text(g, body, sizeof body);
    size_t n = (size_t)snprintf(to, size, "func @f(");
    for (int i = 0; i < g->ninput; i++) {
        const brute_value *v = &g->value[i];
        brute_type(g, v, type, sizeof type);
        n += (size_t)snprintf(to + n, size - n, "%s%%v%d: %s = randn([%d, %d], seed=%d)",
                              i ? ", " : "", i, type, v->rows, v->cols, i + 1);
    }
    (void)snprintf(to + n, size - n, "%s", strstr(body, ") {\n"));
}

static mw_status run_on_graph(const mw_graph *graph, bool whole, int nresult, double *values)
{
    mw_tensor *result[BRUTE_VALUES];
    mw_status status = whole ? mw_graph_run_whole(graph, NULL, 0, result)
                             : mw_graph_run(graph, NULL, 0, result);
    for (int i = 0; i < nresult && status == MW_OK; i++) {
        int64_t count = mw__layout_count(mw_tensor_layout(result[i]));
        status = mw_read(result[i], MW_DTYPE_f64, values + i * ELEMENTS,
                         count * (int64_t)sizeof *values);
    }
    return status;
}

static const char *const chains[][4] = {{"reshard"},
                                        {"reshard", "partition"},
                                        {"reshard", "optimise"},
                                        {"reshard", "partition", "optimise"},
                                        {"propagate", "reshard", "partition", "optimise"}};

static mw_status one_program(const char *text)
{
    static _Thread_local double want[BRUTE_VALUES * ELEMENTS], got[BRUTE_VALUES * ELEMENTS];
    mw_graph *graph;
    EXPECT_OK(mw_graph_parse(text, NULL, mesh_text, &graph));
    int nresult = mw_graph_results(graph);
    memset(want, 0, sizeof want);
    EXPECT_OK(run_on_graph(graph, true, nresult, want));
    mw_graph_free(graph);
    for (int c = 0; c < MW_COUNT(chains); c++) {
        EXPECT_OK(mw_graph_parse(text, NULL, mesh_text, &graph));
        for (int p = 0; p < 4 && chains[c][p]; p++) {
            EXPECT_OK(mw_graph_pass(graph, chains[c][p]));
            EXPECT_OK(mw_graph_check(graph));
        }
        memset(got, 0, sizeof got);
        EXPECT_OK(run_on_graph(graph, false, nresult, got));
        for (int i = 0; i < nresult * ELEMENTS; i++) {
            bool close = fabs(got[i] - want[i]) <= 1e-3 * (1 + fabs(want[i]));
            if (!close && !(isnan(got[i]) && isnan(want[i])) && !(isinf(want[i]) || isinf(got[i])))
                return run_wrong(__FILE__, __LINE__, "chain %d, element %d: %g, not %g\n%s\n%s", c, i,
                                 got[i], want[i], text, mw_graph_text(graph));
        }
        mw_graph_free(graph);
    }
    return MW_OK;
}

/* Every rank makes the same programs: from a state of its own, since ranks are threads. */
static mw_status programs(void *user)
{
    const char (*text)[4000] = user;
    for (int i = 0; i < PROGRAMS; i++)
        MW_TRY(one_program(text[i]));
    return MW_OK;
}

static void test_values_stay(void **state)
{
    (void)state;
    static char text[PROGRAMS][4000];
    static const struct {
        const char *mesh;
        int naxis;
    } on[] = {{"x=2", 1}, {"x=3", 1}, {"x=2,y=2", 2}, {"x=4", 1}};
    for (int m = 0; m < MW_COUNT(on); m++) {
        brute_seed = 77 + (uint64_t)m;
        for (int i = 0; i < PROGRAMS;) {
            brute_graph g;
            brute_random(&g);
            if (g.naxis != on[m].naxis) continue;
            runnable_text(&g, text[i++], sizeof text[0]);
        }
        mesh_text = on[m].mesh;
        run_with((mw_launch_options){.mesh = mesh_text, .timeout = 60}, programs, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
