/* Redistributions of compiled programs: 300 random pairs of layouts on each of four meshes, as a
 * program of one movement put through every pass; the bytes that it receives against the fewest
 * with which the target can be had.
 *
 *     bench_pairs [pairs [seed]] */
#include "graph/graph.h"

#include <meshwise/plan.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % n;
}

/* Every axis on some dim, or nowhere, in a random order. */
static mw_layout random_layout(const mw_mesh *mesh, const int64_t *shape, uint64_t *seed)
{
    mw_layout l = mw_layout_replicated(MW_DTYPE_f32, 3, shape);
    int order[MW_MESH_AXES];
    for (int a = 0; a < mesh->naxis; a++) {
        int at = (int)draw(seed, (uint64_t)a + 1);
        order[a] = order[at];
        order[at] = a;
    }
    for (int a = 0; a < mesh->naxis; a++) {
        int dim = (int)draw(seed, 4);
        if (dim < 3) (void)mw__dim_append(mesh, &l.dim[dim], order[a], 1, mesh->size[order[a]]);
    }
    mw__layout_canonical(mesh, &l);
    return l;
}

typedef struct sums {
    int64_t received, bound, total, total_bound;
    double worst;
    int above;
} sums;

static mw_status compiled_bytes(mw_mesh *mesh, const mw_layout *from, const mw_layout *to,
                                int64_t *ret, int64_t *ret_total)
{
    mw_graph *graph;
    mw_node *node;
    int index;
    MW_TRY(mw__graph_new("pair", &graph));
    mw_status status = mw__graph_add_mesh(graph, mesh, NULL, &index);
    if (status == MW_OK) status = mw__graph_input(graph, mesh, from, "x", &node);
    if (status == MW_OK) {
        node->out[0]->stated = true;
        status = mw__graph_step(graph, NULL, node->out[0], mesh, to, MW_STEP_COUNT, &node);
    }
    if (status == MW_OK) {
        node->asked = true;
        status = mw__graph_results(graph, node->out, 1);
    }
    if (status == MW_OK) status = mw_graph_pass(graph, "all");
    *ret = *ret_total = 0;
    for (const mw_node *n = status == MW_OK ? graph->first : NULL; n; n = n->next) {
        *ret += n->recv_bytes;
        *ret_total += n->recv_bytes_total;
    }
    mw__graph_free(graph);
    return status;
}

static mw_status measure(const char *mesh_text, int pairs, uint64_t *seed, sums *s)
{
    mw_mesh *mesh;
    const int64_t shape[3] = {48, 24, 96};
    MW_TRY(mw_mesh_parse(mesh_text, &mesh));
    mw_status status = MW_OK;
    for (int i = 0; i < pairs && status == MW_OK; i++) {
        mw_layout from = random_layout(mesh, shape, seed), to = random_layout(mesh, shape, seed);
        mw_planned *plan;
        int64_t received, total;
        status = compiled_bytes(mesh, &from, &to, &received, &total);
        if (status == MW_OK) status = mw_plan_layouts(mesh, &from, &to, NULL, &plan);
        if (status != MW_OK) break;
        const mw_plan_facts *facts = mw_planned_facts(plan);
        double ratio = facts->lower_bound_bytes
                           ? (double)received / (double)facts->lower_bound_bytes
                       : received ? 1e9
                                  : 1;
        s->received += received;
        s->bound += facts->lower_bound_bytes;
        s->total += total;
        s->total_bound += facts->lower_bound_bytes_total;
        s->above += ratio > 1;
        s->worst = MW_MAX(s->worst, ratio);
        mw_planned_free(plan);
    }
    mw_mesh_unref(mesh);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const meshes[] = {"x=2,y=4", "x=2,y=2,z=2", "x=2,y=3", "x=4,y=6"};
    int pairs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 300;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 7;
    printf("%-14s %6s %14s %14s %7s %7s %7s\n", "mesh", "pairs", "received B", "fewest B", "ratio",
           "worst", "above");
    for (int i = 0; i < MW_COUNT(meshes); i++) {
        sums s = {.worst = 1};
        if (measure(meshes[i], pairs, &seed, &s) != MW_OK) {
            (void)fprintf(stderr, "%s\n", mw_last_error()->says);
            return 1;
        }
        printf("%-14s %6d %14lld %14lld %6.3fx %6.2fx %7d\n", meshes[i], pairs,
               (long long)s.received, (long long)s.bound,
               s.bound ? (double)s.received / (double)s.bound : 1, s.worst, s.above);
    }
    return 0;
}
