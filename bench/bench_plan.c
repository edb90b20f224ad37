/* bench_plan: what a new pair of layouts costs to plan, over random pairs: the exchange plan, made
 * when an eager call meets a pair for the first time, and the classic plan of `meshwise plan`.
 *
 *     bench_plan [PAIRS] [SEED]
 */
#include "plan/classic.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESHES = 6, PAIRS = 400 };

static const char *const mesh_text[MESHES] = {"x=2",         "x=8",         "x=2,y=4",
                                              "x=2,y=2,z=2", "x=4,y=6,z=2", "x=2,y=2,z=2,w=2"};

static uint64_t state;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* Each axis cuts some dim, or none. */
static mw_layout random_layout(const mw_mesh *mesh, int ndim, const int64_t *shape)
{
    mw_layout l = mw_layout_replicated(MW_DTYPE_f32, ndim, shape);
    int order[MW_MESH_AXES];
    for (int a = 0; a < mesh->naxis; a++) {
        int at = below(a + 1);
        order[a] = order[at];
        order[at] = a;
    }
    for (int i = 0; i < mesh->naxis; i++) {
        int d = below(ndim + 1), a = order[i];
        if (d < ndim) (void)mw__dim_append(mesh, &l.dim[d], a, 1, mesh->size[a]);
    }
    mw__layout_canonical(mesh, &l);
    return l;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *what, double *us, int n)
{
    double sum = 0;
    qsort(us, (size_t)n, sizeof *us, by_value);
    for (int i = 0; i < n; i++)
        sum += us[i];
    printf("%-16s mean %9.2f   median %9.2f   p95 %9.2f   worst %9.2f us\n", what, sum / n,
           us[n / 2], us[n * 95 / 100], us[n - 1]);
}

/* One pair: the exchange plan, the least of a few times, and the classic one. */
static mw_status measure(const mw_mesh *mesh, mw_plan *plan, double *exchange, double *classic)
{
    static const int sizes[] = {8, 24, 48, 60, 96, 7};
    int64_t shape[3];
    int ndim = 1 + below(3);
    for (int d = 0; d < ndim; d++)
        shape[d] = sizes[below(MW_COUNT(sizes))];
    mw_layout from = random_layout(mesh, ndim, shape), to = random_layout(mesh, ndim, shape);
    mw_arena arena;
    mw__arena_init(&arena);
    mw_status status = MW_OK;
    *exchange = 1e9;
    for (int i = 0; i < 3 && status == MW_OK; i++) {
        mw__arena_clear(&arena);
        double start = mw__now();
        status = mw__plan_make(mesh, &from, &to, &arena, plan);
        *exchange = MW_MIN(*exchange, (mw__now() - start) * 1e6);
    }
    mw_plan_options options = {.steps = MW_STEPS_CLASSIC, .minimize = MW_MINIMIZE_BYTES};
    mw_classic_notes notes;
    double start = mw__now();
    if (status == MW_OK)
        status = mw__plan_classic(mesh, &from, &to, &options, &arena, plan, &notes);
    *classic = (mw__now() - start) * 1e6;
    mw__arena_done(&arena);
    return status;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : PAIRS;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (n < 1 || n > 1000000) return 2;
    double *exchange = malloc((size_t)n * sizeof *exchange);
    double *classic = malloc((size_t)n * sizeof *classic);
    mw_plan *plan = malloc(sizeof *plan);
    mw_status status = exchange && classic && plan ? MW_OK : MW_ERR_NOMEM;
    for (int m = 0; m < MESHES && status == MW_OK; m++) {
        mw_mesh *mesh;
        status = mw_mesh_parse(mesh_text[m], &mesh);
        for (int i = 0; i < n && status == MW_OK; i++)
            status = measure(mesh, plan, &exchange[i], &classic[i]);
        if (status != MW_OK) break;
        printf("mesh %s, %d pairs\n", mesh_text[m], n);
        print_row("  exchange", exchange, n);
        print_row("  classic", classic, n);
        mw_mesh_unref(mesh);
    }
    if (status != MW_OK) (void)fprintf(stderr, "bench_plan: %s\n", mw_last_error()->says);
    free(exchange);
    free(classic);
    free(plan);
    return status != MW_OK;
}
