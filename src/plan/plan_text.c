/* Plans as text: `all_to_all x 1->0; all_gather y:(2)2 dim 1`. */
#include "plan/plan.h"

void mw__axes_str(const mw_mesh *mesh, uint32_t axes, mw_str *to)
{
    bool first = true;
    for (int a = 0; a < mesh->naxis; a++) {
        if (!(axes >> a & 1)) continue;
        mw__str_printf(to, "%s%s", first ? "" : ",", mesh->name[a]);
        first = false;
    }
}

/* The parts of axes that the step is about where they are known, else its axes. */
void mw__step_axes_str(const mw_mesh *mesh, const mw_step *step, mw_str *to)
{
    uint32_t axes = step->axes;
    for (int i = 0; i < step->nreduce; i++)
        axes |= 1u << step->reduce[i].axis;
    if (step->npart == 0 || step->nreduce > 0) {
        mw__axes_str(mesh, axes, to);
        return;
    }
    for (int i = 0; i < step->npart; i++) {
        const mw_cut *part = &step->part[i];
        mw__str_printf(to, "%s%s", i ? "," : "", mesh->name[part->axis]);
        if (part->size != mesh->size[part->axis])
            mw__str_printf(to, ":(%d)%d", (int)part->major, (int)part->size);
    }
}

void mw__step_reduce_str(const mw_step *step, mw_str *to)
{
    for (int i = 0; i < step->nreduce; i++)
        if (i == 0 || step->reduce[i].kind != step->reduce[i - 1].kind)
            mw__str_printf(to, "%s%s", i ? "," : "",
                           mw__reduce_name((mw_reduce)step->reduce[i].kind));
}

void mw__step_str(const mw_mesh *mesh, const mw_step *step, mw_str *to)
{
    mw__str_puts(to, mw__step_name(step->kind));
    if (step->axes || step->nreduce) {
        mw__str_putc(to, ' ');
        mw__step_axes_str(mesh, step, to);
    }
    if (step->kind == MW_STEP_all_to_all)
        mw__str_printf(to, " %d->%d", step->dim, step->to_dim);
    else if (step->dim >= 0)
        mw__str_printf(to, " dim %d", step->dim);
    if (step->nreduce) mw__str_putc(to, ' ');
    mw__step_reduce_str(step, to);
}

void mw__plan_str(const mw_plan *plan, mw_str *to)
{
    for (int i = 0; i < plan->nstep; i++) {
        if (i) mw__str_puts(to, "; ");
        mw__step_str(mw__plan_mesh(plan, i), &plan->step[i], to);
    }
}
