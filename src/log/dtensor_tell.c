/* The facts of a call: its arguments by name, local shapes of every rank, bytes, the mesh, what
 * came out. Each says whether it stands in the text, follows from it, or is assumed. */
#include "log/dtensor.h"

#include <stdio.h>

void mw__dt_call_begin(const dt_here *h, dt_call *call, const char *event)
{
    call->draft = mw__draft(h->e, h->line, "dtensor", event);
    if (!call->draft) return;
    mw_entry *entry = mw__draft_entry(call->draft);
    entry->first = h->first;
    entry->op = call->word;
    mw__dt_pass_of(h, call);
    int64_t had = h->s->cap_call_of;
    if (mw__grow(&h->s->call_of, &h->s->cap_call_of, h->e->nentry, sizeof *h->s->call_of) !=
        MW_OK) {
        h->e->failed = true;
        return;
    }
    memset(h->s->call_of + had, 0, (size_t)(h->s->cap_call_of - had) * sizeof *h->s->call_of);
    h->s->call_of[h->e->nentry - 1] = call;
}

static void tell_placement(const dt_here *h, const dt_call *call, const dt_tensor *t,
                           const char *name)
{
    mw_str text = {0};
    for (int a = 0; a < t->nplacement && a < call->mesh.naxis; a++) {
        const dt_placement *p = &t->placement[a];
        int dim = p->dim < 0 ? p->dim + t->ndim : p->dim;
        mw__str_printf(&text, "%smesh axis %s: ", a ? "; " : "",
                       mw__dt_axis_name(h, &call->mesh, a));
        if (p->kind == 'S')
            mw__str_printf(&text, "tensor dim %d is cut into %d chunks", dim, call->mesh.size[a]);
        else if (p->kind == '_')
            mw__str_printf(&text,
                           "strided: tensor dim %d as %lld chunks, each cut %d ways, a piece of "
                           "each kept",
                           dim, (long long)p->split, call->mesh.size[a]);
        else if (p->kind == 'R')
            mw__str_puts(&text, "every rank holds all of it");
        else
            mw__str_printf(&text, "every rank holds a term of a %s", p->reduce);
    }
    char fact[96];
    (void)snprintf(fact, sizeof fact, "placement of %.70s", name);
    if (text.length)
        mw__fact(call->draft, fact, MW_HOW_DERIVED, "one placement for each mesh axis", "%s",
                 mw__dt_text(h, &text));
    mw__dt_done(h, &text);
}

/* Two mesh axes cut one dim: which first? Left to right, unless a strided placement says that the
 * left one cut what the right one had cut: so it is where FSDP is put on top of TP. */
static void tell_order(const dt_here *h, const dt_call *call, const dt_tensor *t, const char *name)
{
    for (int a = 0; a < t->nplacement && a < call->mesh.naxis; a++) {
        const dt_placement *p = &t->placement[a];
        bool cut = p->kind == 'S' || p->kind == '_';
        int64_t right = 1;
        int other = -1;
        for (int b = a + 1; cut && b < t->nplacement && b < call->mesh.naxis; b++)
            if (t->placement[b].kind == 'S' && t->placement[b].dim == p->dim) {
                right *= call->mesh.size[b];
                other = b;
            }
        if (other < 0 || p->order >= 0) continue;
        const char *left_name = mw__dt_axis_name(h, &call->mesh, a);
        const char *right_name = mw__dt_axis_name(h, &call->mesh, other);
        char fact[96];
        (void)snprintf(fact, sizeof fact, "shard order of %.70s", name);
        if (p->kind == '_' && p->split == right)
            mw__fact(
                call->draft, fact, MW_HOW_DERIVED,
                "the split factor is the size of the axis right of it",
                "mesh axis %s cuts tensor dim %d first, then %s cuts each piece (as FSDP on top "
                "of TP stores it); gathered in that order the rows are in order",
                right_name, p->dim, left_name);
        else if (p->kind == 'S')
            mw__fact(
                call->draft, fact, MW_HOW_DERIVED, "placements are applied left to right",
                "mesh axis %s cuts tensor dim %d first, then %s cuts each piece. Where the data "
                "was cut over %s first (FSDP on top of TP), the true label is "
                "_StridedShard(dim=%d, split_factor=%lld) on %s, and with this one full_tensor() "
                "and checkpoints have their rows in another order",
                left_name, p->dim, right_name, right_name, p->dim, (long long)right, left_name);
        return;
    }
}

static void tell_tensor(const dt_here *h, const dt_call *call, const mw_mesh *mesh,
                        const dt_tensor *stated, const char *name, mw_how how, const char *from)
{
    char fact[96];
    mw_str text = {0};
    mw__dt_tensor_str(stated, &text);
    mw__fact(call->draft, name, how, from, "%s", mw__dt_text(h, &text));
    mw__dt_done(h, &text);
    if (stated->nstride && stated->nstride == stated->ndim) {
        mw_str strides = {0};
        for (int i = 0; i < stated->nstride; i++)
            mw__str_printf(&strides, "%s%lld", i ? ", " : "", (long long)stated->stride[i]);
        (void)snprintf(fact, sizeof fact, "stride of %.70s", name);
        mw__fact(call->draft, fact, how, from, "(%s): steps in elements of the whole tensor",
                 mw__str_text(&strides));
        mw__dt_done(h, &strides);
    }
    if (!stated->placed || stated->local) return;
    mw__dt_tell_masked(h, call->draft, stated);
    tell_order(h, call, stated, name);
    dt_tensor t = *stated;
    mw_how dtype_how = MW_HOW_DERIVED;
    if (!t.dtype && h->e->options.dtype) {
        t.dtype = h->e->options.dtype;
        dtype_how = MW_HOW_ASSUMED;
    }
    tell_placement(h, call, &t, name);
    mw_layout l;
    const char *why;
    if (!mw__dt_layout(h, mesh, &t, &l, &why)) return;
    mw_how how_mesh = call->mesh.how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
    const char *by = how_mesh == MW_HOW_ASSUMED
                         ? "the mesh is assumed; the text's own would settle it"
                         : "the global shape, cut as the placements say";
    mw__draft_laid(call->draft, name, mesh, &l, how_mesh);
    (void)snprintf(fact, sizeof fact, "local shape of %.70s", name);
    mw__fact(call->draft, fact, how_mesh, by, "%s", mw__dt_locals(h, mesh, &l));
    int64_t bytes = mw__dt_bytes(&t);
    if (bytes < 0) return;
    (void)snprintf(fact, sizeof fact, "bytes of %.70s", name);
    mw__fact(call->draft, fact, MW_MAX(how_mesh, dtype_how),
             dtype_how == MW_HOW_ASSUMED ? "the dtype is that of --dtype" : "shape and dtype",
             "%lld B in all, %lld B per rank%s", (long long)bytes,
             (long long)mw__dt_local_bytes(mesh, &l),
             mesh->nrank > 1 && !mw__layout_partial_axes(&l) &&
                     mw__dt_local_bytes(mesh, &l) == bytes
                 ? ": a copy on every rank"
                 : "");
}

static void tell_value(const dt_here *h, const dt_call *call, const mw_mesh *mesh, int i)
{
    const dt_value *v = &call->arg[i];
    const char *name = mw__dt_arg_name(call, i), *of = mw__dt_line_from(h, call->line);
    char unnamed[32], from[120];
    (void)snprintf(unnamed, sizeof unnamed, "argument %d", i);
    (void)snprintf(from, sizeof from, "%.40s, argument %d%s", of, i,
                   call->schema ? ", named by ATen's declaration" : "");
    if (!name) name = unnamed;
    if (v->kind == DT_TENSOR) {
        tell_tensor(h, call, mesh, &v->tensor[0], name, MW_HOW_STATED, from);
    } else if (v->kind == DT_TENSORS) {
        for (int k = 0; k < v->count && k < 8; k++) {
            char each[80];
            (void)snprintf(each, sizeof each, "%.60s[%d]", name, k);
            tell_tensor(h, call, mesh, &v->tensor[k], each, MW_HOW_STATED, from);
        }
    } else {
        mw__fact(call->draft, name, MW_HOW_STATED, from, "%s", v->text);
    }
}

static void tell_device(const dt_here *h, const dt_call *call)
{
    static const struct {
        const char *label, *what;
    } devices[] = {
#define DEVICE(label, what) {label, what},
#include "log/devices.def"
#undef DEVICE
    };
    const char *label = call->mesh.device;
    for (int i = 0; i < MW_COUNT(devices); i++)
        if (strcmp(label, devices[i].label) == 0)
            mw__fact(call->draft, "device", MW_HOW_STATED, mw__dt_line_from(h, call->mesh.line),
                     "%s: %s", label, devices[i].what);
}

static void tell_mesh(const dt_here *h, dt_call *call)
{
    if (!call->mesh.naxis) {
        mw__missing(h->e, "the mesh: neither its size nor its axes are in the text; --mesh tp=2 "
                          "would supply them");
        return;
    }
    mw_str text = {0};
    mw__dt_mesh_str(&call->mesh, &text);
    int64_t ranks = 1;
    for (int i = 0; i < call->mesh.naxis; i++)
        ranks *= call->mesh.size[i];
    const char *from = call->mesh.line ? mw__dt_line_from(h, call->mesh.line)
                                       : "--mesh; the mesh in the text would settle it";
    mw__fact(call->draft, "mesh", call->mesh.how, from,
             "(%s): %d ax%ss, %lld rank%s; it belongs to the whole call", mw__str_text(&text),
             call->mesh.naxis, call->mesh.naxis == 1 ? "i" : "e", (long long)ranks,
             ranks == 1 ? "" : "s");
    mw__dt_done(h, &text);
    tell_device(h, call);
}

static void tell_outputs(const dt_here *h, const dt_call *call, const mw_mesh *mesh)
{
    for (int i = 0; i < call->nout; i++) {
        const char *named = call->schema && i < call->schema->nresult && call->nout > 1
                                ? call->schema->result_name[i]
                                : "";
        char name[80];
        (void)snprintf(name, sizeof name, "output %d%s%.40s", i, *named ? ", " : "", named);
        tell_tensor(h, call, mesh, &call->out[i], name, MW_HOW_STATED,
                    mw__dt_line_from(h, call->out_line));
    }
}

void mw__dt_call_tell(const dt_here *h, dt_call *call)
{
    if (call->told || !call->draft) return;
    call->told = true;
    int naxis = 0;
    for (int i = 0; i < call->narg; i++)
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++)
            naxis = MW_MAX(naxis, call->arg[i].tensor[k].nplacement);
    if (call->mesh.naxis && !call->mesh.line) call->mesh.line = call->line;
    for (int i = 0; i < call->nout; i++)
        if (call->out[i].mesh.naxis && (!call->mesh.has_names || !call->mesh.device[0])) {
            call->mesh = call->out[i].mesh;
            call->mesh.line = call->out_line;
        }
    mw__dt_mesh_complete(h, &call->mesh, naxis);
    if (call->mesh.naxis && call->mesh.how == MW_HOW_STATED) h->s->last_mesh = call->mesh;
    const mw_mesh *mesh = mw__dt_mesh_of(h, &call->mesh);
    mw__fact(call->draft, "op", MW_HOW_STATED, mw__dt_line_from(h, call->line), "%s", call->name);
    if (call->schema) {
        mw_str text = {0};
        mw__schema_str(call->schema, &text);
        mw__fact(call->draft, "declaration", MW_HOW_DERIVED, "ATen declares the op so", "%s",
                 mw__dt_text(h, &text));
        mw__dt_done(h, &text);
    }
    for (int i = 0; i < call->narg; i++)
        tell_value(h, call, mesh, i);
    tell_mesh(h, call);
    tell_outputs(h, call, mesh);
    mw__dt_call_check(h, call, mesh);
}
