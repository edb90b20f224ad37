/* Passes do not change what a program means: random programs, run as they are with every tensor
 * whole, and run sharded after each chain of passes, give the same values on 2, 3, 4 and 2x2 ranks.
 */
#include "run_check.h"

#include "bench/brute_layouts.h"
#include "graph/passes.h"
#include "ops/sample.h"
#include "ops/table.h"

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
    mw_status status =
        whole ? mw_graph_run_whole(graph, NULL, 0, result) : mw_graph_run(graph, NULL, 0, result);
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
                return run_wrong(__FILE__, __LINE__, "chain %d, element %d: %g, not %g\n%s\n%s", c,
                                 i, got[i], want[i], text, mw_graph_text(graph));
        }
        mw_graph_free(graph);
    }
    return MW_OK;
}

/* Every rank makes the same programs: from a state of its own, since ranks are threads. */
static mw_status programs(void *user)
{
    const char(*text)[4000] = user;
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

/* ---- every op ----------------------------------------------------------------------------------
 */

/* A graph of one call, on the sample's data, each operand stated in some way. */
static mw_status graph_of_sample(const mw_op *op, int nth, uint64_t seed, mw_arena *arena,
                                 mw_graph **ret)
{
    mw_sample sample;
    int index;
    mw_mesh *mesh = mw_mesh_world();
    MW_TRY(mw__sample_make(op, nth, 0, arena, &sample));
    MW_TRY(mw__graph_new("f", ret));
    MW_TRY(mw__graph_add_mesh(*ret, mesh, NULL, &index));
    int nin = sample.call.nin;
    mw_ssa **in = mw__arena_alloc(arena, (size_t)(nin + 1) * sizeof(mw_ssa *));
    if (!in) return MW_NOMEM();
    for (int i = 0; i < nin; i++) {
        const mw_meta *m = &sample.call.in[i];
        mw_node *node;
        MW_TRY(
            mw__graph_const(*ret, NULL, mesh, m, MW_FILL_DATA, 0, sample.in[i].data, NULL, &node));
        mw_layout *l = &node->out[0]->layout;
        *l = mw_layout_replicated(m->dtype, m->ndim, m->shape);
        for (int a = 0; a < mesh->naxis; a++) {
            int d = (int)(mw__random_bits(seed, (uint64_t)(8 * i + a)) % (uint64_t)(m->ndim + 1));
            if (d < m->ndim) (void)mw__dim_append(mesh, &l->dim[d], a, 1, mesh->size[a]);
        }
        mw__layout_canonical(mesh, l);
        node->out[0]->stated = true;
        in[i] = node->out[0];
    }
    mw_node *node;
    MW_TRY(mw__graph_op(*ret, NULL, op, sample.call.arg, sample.call.narg, in, nin, &node));
    mw__graph_mutated(*ret);
    return mw__graph_results(*ret, node->out, node->nout);
}

enum { VALUES = 1 << 14 };

static mw_status read_all(const mw_graph *graph, bool whole, double *values, int64_t *ret_count)
{
    mw_tensor *result[64];
    MW_TRY(whole ? mw_graph_run_whole(graph, NULL, 0, result)
                 : mw_graph_run(graph, NULL, 0, result));
    *ret_count = 0;
    for (int i = 0; i < graph->nresult; i++) {
        int64_t count = mw__layout_count(mw_tensor_layout(result[i]));
        if (*ret_count + count > VALUES) return MW_OK;
        MW_TRY(
            mw_read(result[i], MW_DTYPE_f64, values + *ret_count, count * (int64_t)sizeof *values));
        *ret_count += count;
    }
    return MW_OK;
}

static mw_status one_sample(const mw_op *op, int nth, uint64_t seed)
{
    static _Thread_local double want[VALUES], got[VALUES];
    const char *name = mw__op_info_of(op)->schema.name;
    int64_t count, again;
    mw_graph *graph;
    mw_arena arena;
    mw__arena_init(&arena);
    EXPECT_OK(graph_of_sample(op, nth, seed, &arena, &graph));
    mw__arena_done(&arena);
    mw_status status = read_all(graph, true, want, &count);
    if (status != MW_OK) return run_wrong(__FILE__, __LINE__, "%s, sample %d: whole", name, nth);
    static const char *const passes[] = {"reshard", "partition", "optimise"};
    for (int p = 0; p < MW_COUNT(passes); p++) {
        status = mw_graph_pass(graph, passes[p]);
        if (status == MW_OK) status = mw_graph_check(graph);
        if (status != MW_OK)
            return run_wrong(__FILE__, __LINE__, "%s, sample %d, %s", name, nth, passes[p]);
    }
    status = read_all(graph, false, got, &again);
    if (status != MW_OK || again != count)
        return run_wrong(__FILE__, __LINE__, "%s, sample %d:\n%s", name, nth, mw_graph_text(graph));
    for (int64_t i = 0; i < count; i++) {
        bool close = fabs(got[i] - want[i]) <= 2e-2 * (1 + fabs(want[i]));
        if (!close && !(isnan(got[i]) && isnan(want[i])) && !(got[i] == want[i]))
            return run_wrong(__FILE__, __LINE__, "%s, sample %d, element %lld: %g, not %g\n%s",
                             name, nth, (long long)i, got[i], want[i], mw_graph_text(graph));
    }
    mw_graph_free(graph);
    return MW_OK;
}

static mw_status all_ops(void *user)
{
    (void)user;
    for (int i = 0; i < MW_OP_COUNT; i++) {
        const mw_op *op = mw__op_at((mw_op_id)i);
        for (int s = 0; op->samples && s < mw__sample_count(op->samples); s++)
            MW_TRY(one_sample(op, s, (uint64_t)(100 * i + s)));
    }
    return MW_OK;
}

static void test_every_op_keeps_its_values(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x=2", "x=3", "x=2,y=2"};
    for (int m = 0; m < MW_COUNT(meshes); m++)
        run_with((mw_launch_options){.mesh = meshes[m], .timeout = 60}, all_ops, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_stay),
                                       cmocka_unit_test(test_every_op_keeps_its_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
