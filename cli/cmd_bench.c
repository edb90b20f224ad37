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

/* What is measured, and what came out. */
enum { DISPATCH, COMPILED, PLAN, COMM, RESHARD, DECODE, PREFILL, PARTS };
static const char *const part_name[PARTS] = {"dispatch", "compiled", "plan",   "comm",
                                             "reshard",  "decode",   "prefill"};

typedef struct bench {
    bool part[PARTS];
    bench_dispatch dispatch;
    bench_compiled compiled;
    bench_plan plan;
    bench_move comm[BENCH_COMM], reshard[BENCH_RESHARD];
    bench_decode decode;
    bench_prefill prefill;
    bench_bandwidth bandwidth; /* rows: 0 where it was not measured */
} bench;

/* ---- as JSON ----------------------------------------------------------------------------------
 */

/* Appends a row; gives up the array if that fails. */
static json_t *append(json_t *rows, json_t *row)
{
    if (rows && json_array_append_new(rows, row) == 0) return rows;
    json_decref(rows);
    return NULL;
}

static json_t *dispatch_json(const bench_dispatch *d)
{
    json_t *ops = json_array();
    for (int i = 0; i < BENCH_OPS; i++)
        ops = append(ops, json_pack("{s:s, s:f, s:f, s:f}", "op", d->op[i].op, "call_us",
                                    d->op[i].call_us, "kernel_us", d->op[i].kernel_us, "cached_us",
                                    d->op[i].cached_us));
    return json_pack("{s:f, s:I, s:{s:f, s:f, s:f}, s:o}", "cached_us", d->cached_us, "allocations",
                     (json_int_t)d->allocations, "miss_us", "1d", d->miss_us[0], "2d",
                     d->miss_us[1], "3d", d->miss_us[2], "ops", ops);
}

static json_t *compiled_json(const bench_compiled *c)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:I}", "step_us", c->step_us, "node_us", c->node_us,
                     "eager_node_us", c->eager_node_us, "fused_ratio", c->fused_ratio,
                     "allocations", (json_int_t)c->allocations);
}

static json_t *plan_json(const bench_plan *p)
{
    return json_pack("{s:i, s:f, s:f, s:f, s:f}", "pairs", p->pairs, "pair_us", p->pair_us,
                     "pair_us_most", p->pair_us_most, "classic_ms", p->classic_ms,
                     "classic_ms_most", p->classic_ms_most);
}

static json_t *comm_json(const bench_move *m, int n)
{
    json_t *rows = json_array();
    for (int i = 0; i < n; i++)
        rows = append(rows, json_pack("{s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:f}", "op", m[i].op,
                                      "bytes", (json_int_t)m[i].bytes, "ranks", m[i].ranks,
                                      "seconds", m[i].seconds, "bound_seconds", m[i].bound_seconds,
                                      "ratio", m[i].seconds / m[i].bound_seconds, "least_seconds",
                                      m[i].least_seconds, "least_bound_seconds",
                                      m[i].least_bound_seconds));
    return rows;
}

static json_t *reshard_json(const bench_move *m, int n)
{
    json_t *rows = json_array();
    for (int i = 0; i < n; i++)
        rows = append(
            rows, json_pack("{s:s, s:s, s:I, s:i, s:f, s:f, s:f, s:f, s:f}", "from", m[i].from,
                            "to", m[i].to, "bytes", (json_int_t)m[i].bytes, "ranks", m[i].ranks,
                            "seconds", m[i].seconds, "copy_seconds", m[i].bound_seconds, "ratio",
                            m[i].seconds / m[i].bound_seconds, "least_seconds", m[i].least_seconds,
                            "least_copy_seconds", m[i].least_bound_seconds));
    return rows;
}

static json_t *decode_json(const bench_decode *d)
{
    json_t *rows = json_array();
    for (int i = 0; i < BENCH_MESHES; i++) {
        double percent = d->row[i].percent_of_bound;
        rows = append(
            rows, json_pack("{s:i, s:f, s:f, s:o}", "ranks", d->row[i].ranks, "tokens_per_second",
                            d->row[i].tokens_per_second, "compiled_ratio", d->row[i].compiled_ratio,
                            "percent_of_bound", percent < 0 ? json_null() : json_real(percent)));
    }
    return rows;
}

static json_t *prefill_json(const bench_prefill *p)
{
    json_t *rows = json_array();
    for (int i = 0; i < BENCH_MESHES; i++)
        rows = append(rows, json_pack("{s:i, s:f, s:f}", "ranks", p->row[i].ranks,
                                      "tokens_per_second", p->row[i].tokens_per_second,
                                      "percent_of_matmul", p->row[i].percent_of_matmul));
    return rows;
}

/* Sets to[threads] = gbps; gives the object up if that fails. */
static json_t *set_gbps(json_t *to, int threads, double gbps)
{
    char key[16];
    (void)snprintf(key, sizeof key, "%d", threads);
    if (to && json_object_set_new(to, key, json_real(gbps)) == 0) return to;
    json_decref(to);
    return NULL;
}

/* {"read_gbps": {"1": 11.5, "2": 19.1}, ...}: by threads. Reading is that of the weights where
 * decoding was measured, since that is its bound. */
static json_t *bandwidth_json(const bench *b)
{
    json_t *read = json_object(), *copy = json_object(), *add = json_object();
    for (int i = 0; i < BENCH_MESHES && b->part[DECODE]; i++)
        if (b->decode.row[i].percent_of_bound >= 0)
            read = set_gbps(read, b->decode.row[i].ranks, b->decode.row[i].read_gbps);
    for (int i = 0; i < b->bandwidth.rows; i++) {
        int threads = b->bandwidth.row[i].threads;
        if (!b->part[DECODE]) read = set_gbps(read, threads, b->bandwidth.row[i].read_gbps);
        copy = set_gbps(copy, threads, b->bandwidth.row[i].memcpy_gbps);
        add = set_gbps(add, threads, b->bandwidth.row[i].add_gbps);
    }
    return json_pack("{s:o, s:o, s:o}", "read_gbps", read, "memcpy_gbps", copy, "add_gbps", add);
}

static int print_json(const cli_args *args, const bench *b)
{
    json_t *object = json_pack("{s:i}", "schema", 1);
    bool made = object != NULL;
    for (int i = 0; i < PARTS && made; i++) {
        if (!b->part[i]) continue;
        json_t *part = i == DISPATCH   ? dispatch_json(&b->dispatch)
                       : i == COMPILED ? compiled_json(&b->compiled)
                       : i == PLAN     ? plan_json(&b->plan)
                       : i == COMM     ? comm_json(b->comm, BENCH_COMM)
                       : i == RESHARD  ? reshard_json(b->reshard, BENCH_RESHARD)
                       : i == DECODE   ? decode_json(&b->decode)
                                       : prefill_json(&b->prefill);
        made = json_object_set_new(object, part_name[i], part) == 0;
    }
    if (made && b->bandwidth.rows)
        made = json_object_set_new(object, "bandwidth", bandwidth_json(b)) == 0;
    if (made) return cli_print(args, object, 0);
    json_decref(object);
    return cli_print(args, NULL, 0);
}

/* ---- as text ----------------------------------------------------------------------------------
 */

static void print_dispatch(const bench_dispatch *d)
{
    printf("a cached call, microseconds\n  %-12s %8s %8s %8s\n", "op", "call", "kernel", "on top");
    for (int i = 0; i < BENCH_OPS; i++)
        printf("  %-12s %8.4f %8.4f %8.4f\n", d->op[i].op, d->op[i].call_us, d->op[i].kernel_us,
               d->op[i].cached_us);
    printf("  at most %.4f on top, %lld allocations\n", d->cached_us, (long long)d->allocations);
    printf("mm on layouts never seen before, microseconds\n");
    for (int i = 0; i < BENCH_AXES; i++)
        printf("  %d mesh ax%s %10.2f\n", i + 1, i ? "es" : "is", d->miss_us[i]);
}

static void print_compiled(const bench_compiled *c)
{
    printf(
        "a compiled program, microseconds\n  a call without ops %8.4f\n  a node on top of its "
        "kernel %8.4f (op by op %.4f)\n  %d element-wise ops on %d MB in one loop: %.2f times as "
        "fast as op by op\n"
        "  %lld allocations\n",
        c->step_us, c->node_us, c->eager_node_us, BENCH_FUSED_OPS, BENCH_FUSED_MB, c->fused_ratio,
        (long long)c->allocations);
}

static void print_plan(const bench_plan *p)
{
    printf("a pair of layouts never planned before, %d of them\n  %-16s %10s %10s\n", p->pairs,
           "steps", "median", "slowest");
    printf("  %-16s %7.1f us %7.1f us\n", "all", p->pair_us, p->pair_us_most);
    printf("  %-16s %7.2f ms %7.2f ms\n", "classic", p->classic_ms, p->classic_ms_most);
}

static void print_moves(const char *title, const char *bound, const bench_move *m, int n)
{
    printf("%s: medians and least, microseconds\n", title);
    printf("  %-16s %5s %9s %10s %10s %6s %10s %10s %6s\n", "", "ranks", "bytes", "us", bound,
           "ratio", "us", bound, "ratio");
    for (int i = 0; i < n; i++) {
        char what[32];
        if (m[i].op)
            (void)snprintf(what, sizeof what, "%s", m[i].op);
        else
            (void)snprintf(what, sizeof what, "%s -> %s", m[i].from, m[i].to);
        printf("  %-16s %5d %9lld %10.2f %10.2f %6.2f %10.2f %10.2f %6.2f\n", what, m[i].ranks,
               (long long)m[i].bytes, m[i].seconds * 1e6, m[i].bound_seconds * 1e6,
               m[i].seconds / m[i].bound_seconds, m[i].least_seconds * 1e6,
               m[i].least_bound_seconds * 1e6, m[i].least_seconds / m[i].least_bound_seconds);
    }
}

static void print_decode(const bench_decode *d)
{
    printf("decode\n  %5s %10s %9s %12s %10s\n", "ranks", "tokens/s", "compiled", "read GB/s",
           "of bound");
    for (int i = 0; i < BENCH_MESHES; i++) {
        printf("  %5d %10.2f %8.3fx", d->row[i].ranks, d->row[i].tokens_per_second,
               d->row[i].compiled_ratio);
        if (d->row[i].percent_of_bound < 0)
            printf("   more ranks than cores: no bound\n");
        else
            printf(" %12.2f %8.1f %%\n", d->row[i].read_gbps, d->row[i].percent_of_bound);
    }
}

static void print_prefill(const bench_prefill *p)
{
    printf("prefill\n  %5s %10s %12s\n", "ranks", "tokens/s", "of matmuls");
    for (int i = 0; i < BENCH_MESHES; i++)
        printf("  %5d %10.2f %10.1f %%\n", p->row[i].ranks, p->row[i].tokens_per_second,
               p->row[i].percent_of_matmul);
}

static void print_bandwidth(const bench_bandwidth *b)
{
    printf("memory, GB/s read and written\n  %7s %8s %8s %8s\n", "threads", "read", "copy", "add");
    for (int i = 0; i < b->rows; i++)
        printf("  %7d %8.2f %8.2f %8.2f\n", b->row[i].threads, b->row[i].read_gbps,
               b->row[i].memcpy_gbps, b->row[i].add_gbps);
}

static int print_text(const bench *b)
{
    if (b->part[DISPATCH]) print_dispatch(&b->dispatch);
    if (b->part[COMPILED]) print_compiled(&b->compiled);
    if (b->part[PLAN]) print_plan(&b->plan);
    if (b->part[COMM])
        print_moves("collectives of thread ranks, against their traffic alone", "bound", b->comm,
                    BENCH_COMM);
    if (b->part[RESHARD])
        print_moves("redistributions of f32, against copies or sums of the same bytes", "copy",
                    b->reshard, BENCH_RESHARD);
    if (b->part[DECODE]) print_decode(&b->decode);
    if (b->part[PREFILL]) print_prefill(&b->prefill);
    if (b->bandwidth.rows) print_bandwidth(&b->bandwidth);
    return cli_flush();
}

/* ---- the command ------------------------------------------------------------------------------
 */

static int unknown_part(const cli_args *args, const char *what)
{
    const char *near = mw_nearest_name(what, part_name, PARTS);
    return cli_usage(args,
                     "bench measures dispatch, compiled, plan, comm, reshard, decode or prefill, "
                     "not '%.40s'%s%s%s",
                     what, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Which parts are asked for. -1, or an exit code. */
static int choose(const cli_args *args, const char *model, bench *b)
{
    if (args->npositional > 1)
        return cli_usage(args, "bench measures one thing or all, not %d", args->npositional);
    if (args->npositional == 0) {
        for (int i = 0; i < PARTS; i++)
            b->part[i] = model || i < DECODE;
        return -1;
    }
    const char *what = args->positional[0];
    int part = 0;
    while (part < PARTS && strcmp(what, part_name[part]) != 0)
        part++;
    if (part == PARTS) return unknown_part(args, what);
    if (part >= DECODE && !model) return cli_usage(args, "bench %s needs --model MODEL", what);
    if (part < DECODE && model) return cli_usage(args, "bench %s takes no --model", what);
    b->part[part] = true;
    return -1;
}

static mw_status measure_dispatch(bench_dispatch *to)
{
    mw_status status = bench_dispatch_run(to);
    return status == MW_OK ? bench_miss_run(to->miss_us) : status;
}

/* -1, or an exit code. */
static int measure(const cli_args *args, const char *model, bench *b)
{
    mw_status status = MW_OK;
    int code = -1;
    if (b->part[DISPATCH]) status = measure_dispatch(&b->dispatch);
    if (status == MW_OK && b->part[COMPILED]) status = bench_compiled_run(&b->compiled);
    if (status == MW_OK && b->part[PLAN]) status = bench_plan_run(&b->plan);
    if (status == MW_OK && (b->part[COMM] || b->part[RESHARD] || b->part[DECODE]))
        status = bench_bandwidth_run(&b->bandwidth);
    if (status == MW_OK && b->part[COMM]) status = bench_comm_run(b->comm);
    if (status == MW_OK && b->part[RESHARD]) status = bench_reshard_run(b->reshard);
    if (status != MW_OK) return cli_report(args);
    if (b->part[DECODE]) code = bench_decode_run(args, model, &b->decode);
    if (code < 0 && b->part[PREFILL]) code = bench_prefill_run(args, model, &b->prefill);
    return code;
}

int cmd_bench(const cli_args *args)
{
    const char *model = args->value[OPT_model];
    bench b = {0};
    int code = choose(args, model, &b);
    if (code < 0) code = measure(args, model, &b);
    if (code >= 0) return code;
    return args->json ? print_json(args, &b) : print_text(&b);
}
