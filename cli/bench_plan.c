/* What it costs to plan a pair of layouts that was never planned before: as `meshwise plan` does
 * it, alternatives and lower bound included. Sizes change from one turn to the next. */
#include "cli/bench.h"
#include "cli/session.h"

#include <meshwise/plan.h>
#include <stdio.h>

enum { TURNS = 7 };

/* N stands for a size that 8 divides. */
static const struct {
    const char *mesh, *from, *to;
} pairs[] = {
    {"x=2,y=4", "f32[N@y, N@x]", "f32[N@y, N]"},
    {"x=2,y=4", "f32[N@x,y, N]", "f32[N, N@x,y]"},
    {"x=2,y=4", "f32[N@x, N@y]", "f32[N@y, N@x]"},
    {"x=2,y=4", "f32[N@y,x, N]", "f32[N@x, N@y]"},
    {"x=2,y=4", "f32[N, N]{sum:x}", "f32[N@y, N@x]"},
    {"x=2,y=4", "f32[N@y, N]{sum:x}", "f32[N, N]"},
    {"x=2,y=2,z=2", "f32[N@x,y, N@z]", "f32[N@z, N@y,x]"},
    {"x=2,y=2,z=2", "f32[N@x,y,z, N, N]", "f32[N, N@y, N@z,x]"},
    {"x=2,y=2,z=2", "f32[N@z, N@y, N@x]", "f32[N@x, N@z, N@y]"},
    {"x=2,y=2,z=2", "f32[N@x, N]{sum:y,z}", "f32[N, N@z,y]"},
    {"x=2,y=3", "f32[N@x, N@y]", "f32[N@y, N@x]"},
    {"x=6", "f32[N@x, N]", "f32[N, N@x]"},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static mw_status parse(const mw_mesh *mesh, const char *form, int size, mw_layout *ret)
{
    char text[128];
    int used = 0;
    for (; *form && used < 100; form++)
        used += *form == 'N' ? snprintf(text + used, 28, "%d", size)
                             : snprintf(text + used, 2, "%c", *form);
    return mw_layout_parse(mesh, text, ret);
}

/* Seconds of one plan, the layouts' reading left out. */
static mw_status measure(const mw_mesh *mesh, int nth, int size, mw_plan_steps steps, double *ret)
{
    mw_layout from, to;
    const mw_plan_options options = {.steps = steps};
    mw_planned *plan = NULL;
    mw_status status = parse(mesh, pairs[nth].from, size, &from);
    if (status == MW_OK) status = parse(mesh, pairs[nth].to, size, &to);
    double began = session_now();
    if (status == MW_OK) status = mw_plan_layouts(mesh, &from, &to, &options, &plan);
    *ret = session_now() - began;
    mw_planned_free(plan);
    return status;
}

static mw_status measure_pair(int nth, double *ret_us, double *ret_classic_ms)
{
    double us[TURNS], ms[TURNS], seconds;
    mw_mesh *mesh;
    mw_status status = mw_mesh_parse(pairs[nth].mesh, &mesh);
    if (status != MW_OK) return status;
    for (int i = 0; i < TURNS && status == MW_OK; i++) {
        int size = 48 + 24 * (nth + i * PAIRS);
        status = measure(mesh, nth, size, MW_STEPS_ALL, &seconds);
        us[i] = seconds * 1e6;
        if (status == MW_OK) status = measure(mesh, nth, size, MW_STEPS_CLASSIC, &seconds);
        ms[i] = seconds * 1e3;
    }
    mw_mesh_unref(mesh);
    if (status != MW_OK) return status;
    *ret_us = bench_median(us, TURNS);
    *ret_classic_ms = bench_median(ms, TURNS);
    return MW_OK;
}

mw_status bench_plan_run(bench_plan *ret)
{
    double us[PAIRS], ms[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        mw_status status = measure_pair(i, &us[i], &ms[i]);
        if (status != MW_OK) return status;
    }
    ret->pairs = PAIRS;
    ret->pair_us = bench_median(us, PAIRS); /* sorts */
    ret->classic_ms = bench_median(ms, PAIRS);
    ret->pair_us_most = us[PAIRS - 1];
    ret->classic_ms_most = ms[PAIRS - 1];
    return MW_OK;
}
