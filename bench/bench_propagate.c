/* bench_propagate: how many bytes the pass `reshard` lets a program move, against the fewest that
 * are possible, over random programs of up to 6 ops on meshes of 2 and of 2x2 ranks.
 *
 *     bench_propagate [PROGRAMS] [SEED] [-v]       -v: each program's text
 */
#include "bench/brute_layouts.h"
#include "graph/passes.h"

static int64_t bytes_of(const mw_graph *graph)
{
    int64_t bytes = 0;
    for (const mw_node *n = graph->first; n; n = n->next)
        if (n->kind == MW_NODE_STEP || n->kind == MW_NODE_MARK) bytes += n->recv_bytes_total;
    return bytes;
}

int main(int argc, char **argv)
{
    int programs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200, same = 0;
    brute_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    bool verbose = argc > 3;
    double worst = 1;
    int64_t all = 0, least = 0;
    printf("program  mesh  ops      chosen B        best B   ratio\n");
    for (int i = 0; i < programs; i++) {
        brute_graph g;
        char text[2000];
        mw_graph *graph;
        brute_random(&g);
        brute_text(&g, text, sizeof text);
        mw_status status = mw__graph_parse(text, NULL, NULL, &graph);
        if (status == MW_OK) status = mw__pass_reshard(graph);
        if (status != MW_OK) {
            printf("%s\n%s\n", text, mw_last_error()->says);
            return 1;
        }
        int64_t chosen = bytes_of(graph), best = brute_least(&g);
        double ratio = best > 0 ? (double)chosen / (double)best : chosen > 0 ? 99 : 1;
        same += chosen <= best;
        worst = ratio > worst ? ratio : worst;
        all += chosen;
        least += best;
        printf("%7d  %4s  %3d  %12lld  %12lld  %6.3f\n", i, g.naxis > 1 ? "2x2" : "2", g.nop,
               (long long)chosen, (long long)best, ratio);
        if (verbose) printf("%s%s\n", text, mw_graph_text(graph));
        mw__graph_free(graph);
    }
    printf("optimal in %d of %d; worst %.3f; in sum %.4f\n", same, programs, worst,
           least > 0 ? (double)all / (double)least : 1.0);
    return 0;
}
