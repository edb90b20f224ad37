/* meshwise bench: measurements that say how good they are, against bounds taken in the same run. */
#include "cli/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ---- dispatch ------------------------------------------------------------------------------ */

static json_t *dispatch_json(const bench_dispatch *d)
{
    json_t *ops = json_array();
    for (int i = 0; i < BENCH_OPS && ops; i++)
        if (json_array_append_new(ops,
                                  json_pack("{s:s, s:f, s:f, s:f}", "op", d->op[i].op, "call_us",
                                            d->op[i].call_us, "kernel_us", d->op[i].kernel_us,
                                            "cached_us", d->op[i].cached_us)) != 0) {
            json_decref(ops);
            ops = NULL;
        }
    return json_pack("{s:f, s:I, s:o}", "cached_us", d->cached_us, "allocations",
                     (json_int_t)d->allocations, "ops", ops);
}

static void print_dispatch(const bench_dispatch *d)
{
    printf("a cached call, microseconds\n  %-12s %8s %8s %8s\n", "op", "call", "kernel", "on top");
    for (int i = 0; i < BENCH_OPS; i++)
        printf("  %-12s %8.4f %8.4f %8.4f\n", d->op[i].op, d->op[i].call_us, d->op[i].kernel_us,
               d->op[i].cached_us);
    printf("  at most %.4f on top, %lld allocations\n", d->cached_us, (long long)d->allocations);
}

/* ---- decode -------------------------------------------------------------------------------- */

static json_t *decode_json(const bench_decode *d)
{
    json_t *rows = json_array();
    for (int i = 0; i < BENCH_MESHES && rows; i++) {
        double percent = d->row[i].percent_of_bound;
        if (json_array_append_new(
                rows, json_pack("{s:i, s:f, s:o}", "ranks", d->row[i].ranks, "tokens_per_second",
                                d->row[i].tokens_per_second, "percent_of_bound",
                                percent < 0 ? json_null() : json_real(percent))) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    return rows;
}

/* {"read_gbps": {"1": 11.5, "2": 19.1}}: by threads. */
static json_t *bandwidth_json(const bench_decode *d)
{
    json_t *by_threads = json_object();
    for (int i = 0; i < BENCH_MESHES && by_threads; i++) {
        char threads[16];
        if (d->row[i].percent_of_bound < 0) continue;
        (void)snprintf(threads, sizeof threads, "%d", d->row[i].ranks);
        if (json_object_set_new(by_threads, threads, json_real(d->row[i].read_gbps)) != 0) {
            json_decref(by_threads);
            by_threads = NULL;
        }
    }
    return json_pack("{s:o}", "read_gbps", by_threads);
}

static void print_decode(const bench_decode *d)
{
    printf("decode\n  %5s %10s %12s %10s\n", "ranks", "tokens/s", "read GB/s", "of bound");
    for (int i = 0; i < BENCH_MESHES; i++) {
        printf("  %5d %10.2f", d->row[i].ranks, d->row[i].tokens_per_second);
        if (d->row[i].percent_of_bound < 0)
            printf("   more ranks than cores: no bound\n");
        else
            printf(" %12.2f %8.1f %%\n", d->row[i].read_gbps, d->row[i].percent_of_bound);
    }
}

/* ---- the command --------------------------------------------------------------------------- */

static int usage(const cli_args *args, const char *what)
{
    static const char *const names[] = {"dispatch", "decode"};
    const char *near = mw_nearest_name(what, names, 2);
    return cli_usage(args, "bench measures dispatch or decode, not '%.40s'%s%s%s", what,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int cmd_bench(const cli_args *args)
{
    const char *what = args->npositional ? args->positional[0] : NULL,
               *model = args->value[OPT_model];
    if (args->npositional > 1)
        return cli_usage(args, "bench takes dispatch or decode, not %d arguments",
                         args->npositional);
    if (what && strcmp(what, "dispatch") != 0 && strcmp(what, "decode") != 0)
        return usage(args, what);
    bool dispatch = !what || strcmp(what, "dispatch") == 0;
    bool decode = what ? strcmp(what, "decode") == 0 : model != NULL;
    if (decode && !model) return cli_usage(args, "bench decode needs --model MODEL");
    if (!decode && model) return cli_usage(args, "bench dispatch takes no --model");
    bench_dispatch calls;
    bench_decode tokens;
    if (dispatch && bench_dispatch_run(&calls) != MW_OK) return cli_report(args);
    if (decode) {
        int code = bench_decode_run(args, model, &tokens);
        if (code >= 0) return code;
    }
    if (!args->json) {
        if (dispatch) print_dispatch(&calls);
        if (decode) print_decode(&tokens);
        return cli_flush();
    }
    json_t *object = json_pack("{s:i}", "schema", 1);
    bool made = object != NULL;
    if (made && dispatch)
        made = json_object_set_new(object, "dispatch", dispatch_json(&calls)) == 0;
    if (made && decode) made = json_object_set_new(object, "decode", decode_json(&tokens)) == 0;
    if (made && decode)
        made = json_object_set_new(object, "bandwidth", bandwidth_json(&tokens)) == 0;
    if (made) return cli_print(args, object, 0);
    json_decref(object);
    return cli_print(args, NULL, 0);
}
