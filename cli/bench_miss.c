/* What a call costs whose layouts were never seen before: mm on shapes that are new each time, on
 * one rank of a mesh without data, so that nothing but the decision is measured. The operands lie
 * so that nothing moves: whole, rows cut by all axes, or each axis cutting another dim. */
#include "cli/bench.h"
#include "cli/session.h"

#include <stdio.h>

enum { ROUNDS = 101, CALLS = 24, FORMS = 3, WARM = 30 };

typedef struct state {
    int axes;
    double us[ROUNDS];
} state;

/* The layouts of the operands of one call. */
static void write_layouts(int axes, int form, int size, char a[64], char b[64])
{
    static const char *const all[BENCH_AXES] = {"@x", "@x,y", "@x,y,z"};
    const char *m = "", *k = "", *n = "";
    if (form == 1) m = all[axes - 1];
    if (form == 2) {
        m = "@x";
        n = axes > 1 ? "@y" : "";
        k = axes > 2 ? "@z" : "";
    }
    (void)snprintf(a, 64, "f32[%d%s, 64%s]", size, m, k);
    (void)snprintf(b, 64, "f32[64%s, %d%s]", k, size, n);
}

static mw_tensor *make(const char *text)
{
    mw_layout layout;
    if (mw_layout_parse(mw_mesh_world(), text, &layout) != MW_OK) return NULL;
    return mw_empty_layout(NULL, &layout);
}

/* CALLS calls on new shapes; *size grows from call to call. */
static mw_status measure(int axes, int *size, double *ret_us)
{
    mw_tensor *a[CALLS], *b[CALLS], *last = NULL;
    for (int i = 0; i < CALLS; i++) {
        char text_a[64], text_b[64];
        *size += 8;
        write_layouts(axes, i % FORMS, *size, text_a, text_b);
        a[i] = make(text_a);
        b[i] = make(text_b);
    }
    int64_t before = mw_usage_get().misses;
    double began = session_now();
    for (int i = 0; i < CALLS; i++)
        last = mw_mm(a[i], b[i]);
    *ret_us = (session_now() - began) / CALLS * 1e6;
    if (!last) return mw_last_error()->code;
    if (mw_usage_get().misses - before == CALLS) return MW_OK;
    return mw_error_set(MW_ERR_INTERNAL, "of %d calls on new shapes only %lld were decided anew",
                        CALLS, (long long)(mw_usage_get().misses - before));
}

static mw_status program(void *user)
{
    state *s = user;
    int size = 0;
    mw_status status = MW_OK;
    for (int round = -WARM; round < ROUNDS && status == MW_OK; round++) {
        double us;
        mw_scope_begin("calls");
        status = measure(s->axes, &size, &us);
        (void)mw_scope_end(NULL);
        if (round >= 0) s->us[round] = us;
    }
    return status;
}

mw_status bench_miss_run(double ret_us[BENCH_AXES])
{
    static const char *const meshes[BENCH_AXES] = {"x=2", "x=2,y=2", "x=2,y=2,z=2"};
    for (int i = 0; i < BENCH_AXES; i++) {
        state s = {.axes = i + 1};
        const mw_launch_options options = {.mesh = meshes[i], .backend = "fake"};
        mw_status status = mw_launch(&options, program, &s);
        if (status != MW_OK) return status;
        ret_us[i] = bench_median(s.us, ROUNDS);
    }
    return MW_OK;
}
