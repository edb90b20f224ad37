/* A sharding on a mesh told as facts, and the price of a change. Where the text gives no sizes, the
 * value is laid out with one element in each tile, and costs are parts of the tensor. */
#include "log/explain.h"
#include "log/spmd.h"

#include <meshwise/plan.h>

enum { LISTED = 64, PLANNED = 256 };

/* ---- reading -----------------------------------------------------------------------------------
 */

mw_reading *mw__spmd_reading(mw_explain *e, const mw_mesh *mesh, const spmd_value *v,
                             bool *ret_proxy, const char **why)
{
    int64_t shape[MW_LAYOUT_DIMS];
    mw_reading *r = NULL;
    int ndim = v->ndim >= 0 ? v->ndim : v->nentry;
    if (why) *why = "";
    *ret_proxy = v->ndim < 0;
    if (!v->spec || ndim < 0 || ndim > MW_LAYOUT_DIMS) return NULL;
    for (int d = 0; d < ndim; d++)
        shape[d] = v->ndim < 0 ? mw_mesh_ranks(mesh) : v->shape[d];
    mw_dtype dtype = v->ndim < 0 ? MW_DTYPE_i8 : v->dtype ? v->dtype : MW_DTYPE_f32;
    mw_status status = mw_notation_read(mesh, v->spec, ndim, shape, dtype, &r);
    if (status != MW_OK && status != MW_ERR_NOMEM && why) {
        *why = mw__explain_text(e, "%s", mw_last_error()->says);
        if (!*why) *why = "";
    }
    return mw__hlo_done(e, status) ? r : NULL;
}

/* ---- facts -------------------------------------------------------------------------------------
 */

static const char *name_of(mw_explain *e, const char *label, const char *name)
{
    const char *text = *label ? mw__explain_text(e, "%s: %s", label, name) : name;
    return text ? text : "";
}

/* The sharding as XLA prints it; "" where it has no word for it. */
static const char *xla_text(mw_explain *e, const mw_reading *r, int ranks)
{
    mw_notation_text text = {.text = NULL};
    mw_notation how = ranks <= LISTED ? MW_NOTATION_HLO_V1 : MW_NOTATION_HLO_V2;
    const char *kept = "";
    if (!mw__hlo_done(e, mw_reading_print(r, how, &text))) return "";
    if (text.text) kept = mw__explain_text(e, "%s", text.text);
    mw_notation_text_done(&text);
    return kept ? kept : "";
}

static void tell_meaning(mw_explain *e, mw_draft *d, const char *label, const char *xla)
{
    hlo_sharding s;
    mw_str words = {0};
    if (!*xla || !mw__hlo_sharding_read(xla, &s)) return;
    mw__hlo_sharding_str(&s, &words);
    const char *kept = mw__hlo_keep(e, &words);
    mw__fact(d, name_of(e, label, "meaning"), MW_HOW_DERIVED,
             "an axis named in entry k cuts tensor dim k; axes that no entry names hold copies",
             "%s", kept);
}

/* Devices whose piece is empty, listed; the pieces that are shorter than the first. */
static void tell_idle(mw_explain *e, mw_draft *d, const char *label, const mw_reading *r, int n,
                      int ndim, const int64_t *shape)
{
    mw_str idle = {0};
    int nidle = 0;
    for (int d2 = 0; d2 < ndim; d2++)
        if (shape[d2] == 0) return;
    for (int i = 0; i < n; i++) {
        bool empty = false;
        for (int k = 0; k < ndim && !empty; k++) {
            int64_t count = 0;
            mw_range range;
            if (!mw__hlo_done(e, mw_reading_ranges(r, i, k, &range, 1, &count))) {
                mw__str_done(&idle);
                return;
            }
            empty = count == 0;
        }
        if (!empty) continue;
        if (nidle++ < LISTED) mw__str_printf(&idle, "%s%d", idle.length ? "," : "", i);
    }
    const char *list = mw__hlo_keep(e, &idle);
    if (!nidle) return;
    mw__fact(d, name_of(e, label, "devices without data"), MW_HOW_DERIVED,
             "tiles are ceil(size / pieces) long, the first ones are filled first",
             "%d of %d hold padding only: %s%s", nidle, n, list, nidle > LISTED ? ",..." : "");
    if (*label) return; /* what is not the case is no problem */
    mw__problem(d, "idle-devices", -1, -1,
                "cut a dim that has at least as many elements as the axis has devices, or leave "
                "that entry None (the axis then holds copies)",
                "%d of %d devices hold no element: a dim is cut in more pieces than it has "
                "elements%s",
                nidle, n, nidle * 2 > n ? "; more devices idle than work" : "");
}

static void tell_bytes(mw_explain *e, mw_draft *d, const char *label, const mw_mesh *mesh,
                       const spmd_value *v, const mw_reading *r)
{
    int64_t all = 1;
    const mw_layout *l = mw_reading_layout(r);
    for (int k = 0; k < v->ndim; k++)
        if (mw__mul_size(all, v->shape[k], &all) != MW_OK) {
            mw_error_clear();
            return;
        }
    if (!v->dtype || all > INT64_C(1) << 50 || !l) return;
    int64_t size = mw_dtype_size(v->dtype), most = mw__layout_largest_shard(mesh, l);
    mw__fact(d, name_of(e, label, "bytes"), MW_HOW_DERIVED, "shape times dtype", "%lld B",
             (long long)(all * size));
    if (most == all && mw_mesh_ranks(mesh) > 1)
        mw__fact(d, name_of(e, label, "copies"), MW_HOW_DERIVED, "no axis cuts it",
                 "%d: every device holds all of it", mw_mesh_ranks(mesh));
}

bool mw__spmd_tell(mw_explain *e, mw_draft *d, const char *label, const mw_mesh *mesh,
                   const spmd_value *v)
{
    bool proxy;
    int n = mw_mesh_ranks(mesh);
    mw_reading *r = mw__spmd_reading(e, mesh, v, &proxy, NULL);
    if (!r) return false;
    const char *xla = xla_text(e, r, n);
    bool guess = proxy && v->shorter;
    if (*xla)
        mw__fact(d, name_of(e, label, "sharding"), guess ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 guess ? "if it has as many dims as the spec has entries; its shape would settle it"
                       : "the spec on that mesh",
                 "%s", xla);
    const mw_layout *l = mw_reading_layout(r);
    if (!guess && (!l || !l->npartial)) tell_meaning(e, d, label, xla);
    for (int i = 0; i < mw_reading_notes(r); i++)
        mw__fact(d, name_of(e, label, "note"), MW_HOW_DERIVED, "the notation reader", "%s",
                 mw_reading_note(r, i));
    if (!proxy && l) {
        mw_layout shown = *l;
        shown.dtype = (uint8_t)v->dtype;
        mw__draft_laid(d, label, mesh, &shown, MW_HOW_DERIVED);
    }
    if (!proxy) {
        int bits = v->dtype ? (int)mw_dtype_size(v->dtype) * 8 : 0;
        mw__hlo_tell_reading(e, d, label, mesh, r, bits);
        tell_bytes(e, d, label, mesh, v, r);
        tell_idle(e, d, label, r, n, v->ndim, v->shape);
    }
    mw_reading_free(r);
    return true;
}

/* ---- costs -------------------------------------------------------------------------------------
 */

static const char *part_of(mw_explain *e, int64_t elements, int64_t all)
{
    int64_t a = elements, b = all;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    if (a == 0 || elements == all) return elements == all ? "all" : "nothing";
    const char *text =
        mw__explain_text(e, "%lld/%lld", (long long)(elements / a), (long long)(all / a));
    return text ? text : "";
}

const char *mw__spmd_cost(mw_explain *e, const mw_mesh *mesh, const mw_layout *from,
                          const mw_layout *to, bool proxy, int64_t *ret_bytes)
{
    mw_planned *plan = NULL;
    mw_plan_options options = {.steps = MW_STEPS_CLASSIC, .minimize = MW_MINIMIZE_BYTES};
    if (ret_bytes) *ret_bytes = -1;
    if (mw_mesh_ranks(mesh) > PLANNED) return NULL;
    if (!mw__hlo_done(e, mw_plan_layouts(mesh, from, to, &options, &plan))) return NULL;
    const mw_plan_facts *facts = mw_planned_facts(plan);
    mw_str text = {0};
    for (int i = 0; i < facts->nstep && i < 16; i++)
        mw__str_printf(&text, "%s%s", i ? "; " : "", mw_planned_step(plan, i)->text);
    if (!facts->nstep) mw__str_puts(&text, "no step");
    int64_t bytes = facts->recv_bytes, size = mw_dtype_size((mw_dtype)from->dtype);
    mw_planned_free(plan);
    if (bytes == 0)
        mw__str_puts(&text, ", nothing received");
    else if (proxy)
        mw__str_printf(&text, ", %s of the tensor received per device",
                       part_of(e, bytes / MW_MAX(size, 1), mw__layout_count(from)));
    else
        mw__str_printf(&text, ", %lld B received per device", (long long)bytes);
    if (ret_bytes && !proxy) *ret_bytes = bytes;
    return mw__hlo_keep(e, &text);
}

const char *mw__spmd_axes(mw_explain *e, const mw_mesh *mesh, uint32_t axes)
{
    mw_str text = {0};
    for (int a = 0; a < mw_mesh_axes(mesh); a++)
        if (axes >> a & 1)
            mw__str_printf(&text, "%s%s", text.length ? "," : "", mw_mesh_axis_name(mesh, a));
    return mw__hlo_keep(e, &text);
}

const char *mw__spmd_spec(mw_explain *e, const mw_mesh *mesh, const mw_layout *layout)
{
    mw_notation_text text = {.text = NULL};
    mw_layout canonical = *layout;
    const char *kept = "";
    mw__layout_canonical(mesh, &canonical);
    if (!mw__hlo_done(e, mw_notation_print(mesh, &canonical, MW_NOTATION_SPEC, &text))) return "";
    kept = mw__explain_text(e, "%s", text.text ? text.text : "");
    mw_notation_text_done(&text);
    return kept ? kept : "";
}
