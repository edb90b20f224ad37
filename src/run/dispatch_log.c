/* Calls and movements as PyTorch's DTensor logs them (the family of 2.5 to 2.8), so that eyes and
 * scripts that know that log can read a meshwise program:
 *
 *     _dispatch.py:152] Dispatching op_call: Op(op=aten.t.default, args_schema=...)
 *     _dispatch.py:156] output_sharding for aten.t.default: OutputSharding(output_spec=...
 *     _redistribute.py:202] redistribute from S(0) to R on mesh dim 0
 *
 * A layout that DTensor can't say is printed as meshwise's own type. */
#include "run/dispatch_log.h"

#include <meshwise/notation.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLACEMENT = 40 };

/* ---- placements
 * ---------------------------------------------------------------------------------- */

/* DTensor's short text of each mesh axis ("S(1)", "_S(0, 2)", "R", "P"); false where it has none.
 */
static bool placements(const mw_mesh *mesh, const mw_layout *l, char (*ret)[PLACEMENT])
{
    mw_notation_text text;
    if (mw_notation_print(mesh, l, MW_NOTATION_DTENSOR, &text) != MW_OK) return false;
    const char *at = text.text;
    bool said = at != NULL;
    for (int a = 0; said && a < mesh->naxis; a++) {
        size_t n = strcspn(at, "(SRP_");
        at += n; /* what may stand between placements */
        n = strcspn(at, "(");
        if (*at == 'R' || (at[0] == 'P' && at[1] != '('))
            n = 1;
        else
            n = strcspn(at, ")") + 1;
        said = *at && n < PLACEMENT;
        if (!said) break;
        memcpy(ret[a], at, n);
        ret[a][n] = 0;
        at += n;
    }
    mw_notation_text_done(&text);
    return said;
}

/* `P(sum)` is `P` in this family's short form. */
static void short_form(const char *p, mw_str *to)
{
    mw__str_puts(to, p[0] == 'P' ? "P" : p);
}

static void long_form(const char *p, mw_str *to)
{
    int dim = 0, split = 0;
    char *end;
    if (p[0] == 'R') {
        mw__str_puts(to, "Replicate()");
    } else if (p[0] == 'P') {
        const char *kind = p[1] == '(' ? p + 2 : "sum)";
        mw__str_printf(to, "Partial(%.*s)", (int)strcspn(kind, ")"), kind);
    } else if (p[0] == 'S') {
        mw__str_printf(to, "Shard(dim=%d)", (int)strtol(p + 2, NULL, 10));
    } else {
        dim = (int)strtol(p + 3, &end, 10);
        split = (int)strtol(end + 1, NULL, 10);
        mw__str_printf(to, "_StridedShard(dim=%d, sf=%d)", dim, split);
    }
}

static void tuple_of_placements(const mw_mesh *mesh, char (*p)[PLACEMENT], mw_str *to)
{
    mw__str_putc(to, '(');
    for (int a = 0; a < mesh->naxis; a++) {
        if (a) mw__str_puts(to, ", ");
        long_form(p[a], to);
    }
    mw__str_puts(to, mesh->naxis == 1 ? ",)" : ")");
}

/* ---- Python values
 * -------------------------------------------------------------------------------- */

static void ints(const int64_t *at, int n, char open, char close, mw_str *to)
{
    mw__str_putc(to, open);
    for (int i = 0; i < n; i++)
        mw__str_printf(to, "%s%lld", i ? ", " : "", (long long)at[i]);
    if (n == 1 && open == '(') mw__str_putc(to, ',');
    mw__str_putc(to, close);
}

/* The shortest digits that read back, in Python's form. */
static void number(double value, mw_str *to)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    char *exponent = strchr(text, 'e');
    if (exponent && value >= 1e-4 && value < 1e16) /* %g turns to exponents earlier than Python */
        (void)snprintf(text, sizeof text, "%.0f", value);
    mw__str_puts(to, text);
    if (!strpbrk(text, ".einf")) mw__str_puts(to, ".0");
}

static void spec(const mw_call *call, int operand, const mw_layout *l, mw_str *to)
{
    const mw_mesh *mesh = call->kernel.mesh;
    const mw_meta *meta = &call->args.in[operand];
    char p[MW_MESH_AXES][PLACEMENT];
    mw__str_puts(to, "Spec(");
    if (!placements(mesh, l, p))
        mw__layout_str(mesh, l, to);
    else if (mesh->naxis == 1)
        short_form(p[0], to);
    else
        tuple_of_placements(mesh, p, to);
    mw__str_puts(to, " on ");
    ints(meta->shape, meta->ndim, '(', ')', to);
    mw__str_putc(to, ')');
}

static void value(const mw_call *call, const mw_arg *a, const mw_layout *const *layout, mw_str *to)
{
    switch ((mw_arg_kind)a->kind) {
    case MW_ARG_NONE:
        mw__str_puts(to, "None");
        break;
    case MW_ARG_TENSOR:
        spec(call, a->first, layout[a->first], to);
        break;
    case MW_ARG_TENSORS:
        mw__str_putc(to, '[');
        for (int i = 0; i < a->count; i++) {
            if (i) mw__str_puts(to, ", ");
            spec(call, a->first + i, layout[a->first + i], to);
        }
        mw__str_putc(to, ']');
        break;
    case MW_ARG_INT:
        mw__str_printf(to, "%lld", (long long)a->i);
        break;
    case MW_ARG_INTS:
        ints(a->ints, a->count, '[', ']', to);
        break;
    case MW_ARG_FLOAT:
        number(a->f, to);
        break;
    case MW_ARG_BOOL:
        mw__str_puts(to, a->i ? "True" : "False");
        break;
    case MW_ARG_DTYPE:
        mw__str_puts(to, mw_dtype_torch_name((mw_dtype)a->i));
        break;
    case MW_ARG_STR:
    case MW_ARG_SYMBOL:
        mw__str_puts(to, a->s);
        break;
    case MW_ARG_STRS:
        break;
    }
}

static bool is_default(const mw_schema_arg *declared, const mw_arg *a)
{
    if (!declared->has_default || a->kind == MW_ARG_TENSOR || a->kind == MW_ARG_TENSORS)
        return false;
    mw_arg d = mw__schema_default(declared);
    if (d.kind != a->kind) return false;
    if (a->kind == MW_ARG_INTS)
        return d.count == a->count &&
               memcmp(d.ints, a->ints, (size_t)a->count * sizeof *a->ints) == 0;
    if (a->kind == MW_ARG_STR) return strcmp(d.s, a->s) == 0;
    return a->kind == MW_ARG_FLOAT ? !(d.f < a->f || d.f > a->f) : d.i == a->i;
}

/* Positional arguments; trailing ones at their defaults are not passed on. */
static void arguments(const mw_call *call, const mw_op_info *info, const mw_layout *const *layout,
                      mw_str *to)
{
    int n = 0;
    for (int i = 0; i < call->args.narg; i++)
        if (!info->schema.arg[i].kwarg_only &&
            !is_default(&info->schema.arg[i], &call->args.arg[i]))
            n = i + 1;
    for (int i = 0; i < n; i++) {
        if (i) mw__str_puts(to, ", ");
        value(call, &call->args.arg[i], layout, to);
    }
}

static void op_name(const mw_op_info *info, mw_str *to)
{
    mw__str_printf(to, "%s.%s.%s", info->schema.space, info->schema.name,
                   info->schema.overload[0] ? info->schema.overload : "default");
}

/* ---- outputs
 * -------------------------------------------------------------------------------------- */

/* Whether dim a lies inside dim b: by stride, and of two equals a dim of one local element (whose
 * stride is that of what it encloses) lies inside; else the later one does. */
static bool lies_inside(const mw_view *local, int a, int b)
{
    if (local->stride[a] != local->stride[b]) return local->stride[a] < local->stride[b];
    if ((local->shape[a] == 1) != (local->shape[b] == 1)) return local->shape[a] == 1;
    return a > b;
}

/* Strides of the whole tensor: as the local ones, with each dim's step grown to the global sizes.
 * Where two dims have one element on this rank their order is lost: strides that nothing steps
 * along. */
static void global_strides(const mw_ttype *type, const mw_view *local, int64_t *ret)
{
    int order[MW_MAX_DIMS], n = type->layout.ndim;
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(&type->layout, shape);
    for (int d = 0; d < n; d++) { /* dims from the inside out */
        int at = d;
        for (; at > 0 && lies_inside(local, d, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    int64_t step = 1, local_step = 1;
    for (int i = 0; i < n; i++) {
        int d = order[i];
        ret[d] = 0;
        if (local->stride[d] == 0) continue; /* expanded */
        ret[d] = step * MW_MAX(1, local->stride[d] / local_step);
        step = ret[d] * MW_MAX(1, shape[d]);
        local_step = local->stride[d] * MW_MAX(1, local->shape[d]);
    }
}

static void output_spec(const mw_call *call, int i, const char *device, mw_str *to)
{
    const mw_ttype *type = call->out_type[i];
    const mw_mesh *mesh = call->kernel.mesh;
    char p[MW_MESH_AXES][PLACEMENT];
    mw__str_puts(to, "DTensorSpec(mesh=DeviceMesh((");
    for (int a = 0; a < mesh->naxis; a++)
        mw__str_printf(to, "%s%s=%d", a ? ", " : "", mesh->name[a], mesh->size[a]);
    mw__str_printf(to, "), device: '%s', stride: ", device);
    int64_t list[MW_LAYOUT_DIMS > MW_MESH_AXES ? MW_LAYOUT_DIMS : MW_MESH_AXES];
    for (int a = 0; a < mesh->naxis; a++)
        list[a] = mesh->stride[a];
    ints(list, mesh->naxis, '(', ')', to);
    mw__str_puts(to, "), placements=");
    if (placements(mesh, &type->layout, p))
        tuple_of_placements(mesh, p, to);
    else
        mw__layout_str(mesh, &type->layout, to);
    mw__str_puts(to, ", tensor_meta=TensorMeta(shape=torch.Size(");
    mw_layout_shape(&type->layout, list);
    ints(list, type->layout.ndim, '[', ']', to);
    mw__str_puts(to, "), stride=");
    global_strides(type, &call->out[i], list);
    ints(list, type->layout.ndim, '(', ')', to);
    mw__str_printf(to, ", dtype=%s))", mw_dtype_torch_name((mw_dtype)type->layout.dtype));
}

static void output_sharding(const mw_call *call, const mw_op_info *info, const char *device,
                            mw_str *to)
{
    bool list = info->schema.nresult == 1 && info->schema.result[0].list,
         tuple = !list && call->nout > 1;
    mw__str_puts(to, "_dispatch.py:156] output_sharding for ");
    op_name(info, to);
    mw__str_puts(to, ": OutputSharding(output_spec=");
    if (list || tuple) mw__str_putc(to, list ? '[' : '(');
    for (int i = 0; i < call->nout; i++) {
        if (i) mw__str_puts(to, ", ");
        output_spec(call, i, device, to);
    }
    if (list || tuple) mw__str_putc(to, list ? ']' : ')');
    bool moves = false;
    for (int i = 0; i < call->nin; i++)
        moves = moves || call->prepare[i].redist;
    mw__str_puts(to, ", redistribute_schema=");
    if (moves) {
        mw__str_puts(to, "OpSchema(op=");
        op_name(info, to);
        mw__str_puts(to, ", args_schema=(");
        arguments(call, info, call->kernel.in_layout, to);
        mw__str_puts(to, "), kwargs_schema={})");
    } else {
        mw__str_puts(to, "None");
    }
    mw__str_printf(to, ", needs_redistribute=%s)\n", moves ? "True" : "False");
}

/* ---- views
 * ------------------------------------------------------------------------------------------ */

/* One group of input dims that becomes one group of output dims of the same product. */
typedef struct group {
    int from[MW_MAX_DIMS], nfrom;
    int64_t to[MW_MAX_DIMS];
    int nto;
} group;

static void flattened(const group *g, const mw_meta *in, mw_str *to)
{
    int large[MW_MAX_DIMS], n = 0;
    for (int i = 0; i < g->nfrom; i++)
        if (in->shape[g->from[i]] > 1) large[n++] = g->from[i];
    if (n == 0) {
        mw__str_puts(to, "Singleton()");
        return;
    }
    if (n > 1) mw__str_puts(to, "Flatten(input_dims=(");
    for (int i = 0; i < n; i++)
        mw__str_printf(to, "%sInputDim(input_dim=%d)", i ? ", " : "", large[i]);
    if (n > 1) mw__str_puts(to, "))");
}

/* The rule of each output dim of a group. */
static void print_group(const group *g, const mw_meta *in, bool *first, mw_str *to)
{
    int64_t large[MW_MAX_DIMS];
    int n = 0, at = 0;
    for (int i = 0; i < g->nto; i++)
        if (g->to[i] != 1) large[n++] = g->to[i];
    for (int i = 0; i < g->nto; i++) {
        if (!*first) mw__str_puts(to, ", ");
        *first = false;
        if (g->nto > 1 && g->to[i] == 1) {
            mw__str_puts(to, "Singleton()");
        } else if (n <= 1) {
            flattened(g, in, to);
        } else {
            mw__str_puts(to, "Split(input_dim=");
            flattened(g, in, to);
            mw__str_puts(to, ", group_shape=");
            ints(large, n, '(', ')', to);
            mw__str_printf(to, ", split_id=%d)", at);
        }
        if (g->to[i] != 1) at++;
    }
}

/* Walks both shapes, growing the smaller product until they meet; sizes 1 go alone. */
static void view_rule(const mw_meta *in, const mw_meta *out, mw_str *to)
{
    int i = 0, j = 0;
    bool first = true;
    mw__str_putc(to, '(');
    while (i < in->ndim || j < out->ndim) {
        group g = {.nfrom = 0};
        int64_t f = i < in->ndim ? in->shape[i] : 1, t = j < out->ndim ? out->shape[j] : 1;
        bool take_from = i < in->ndim && !(f != 1 && t == 1 && j < out->ndim);
        bool take_to = j < out->ndim && !(f == 1 && t != 1 && i < in->ndim);
        if (take_from) g.from[g.nfrom++] = i++;
        if (take_to) g.to[g.nto++] = out->shape[j++];
        while (take_from && take_to && f != t) {
            if (f < t && i < in->ndim) {
                f *= in->shape[i];
                g.from[g.nfrom++] = i++;
            } else if (j < out->ndim) {
                t *= out->shape[j];
                g.to[g.nto++] = out->shape[j++];
            } else {
                break;
            }
        }
        print_group(&g, in, &first, to);
    }
    mw__str_puts(to, out->ndim == 1 ? ",)" : ")");
}

static void propagation(const mw_rank *rank, const mw_call *call, const mw_op_info *info,
                        const mw_layout *const *now, mw_str *to)
{
    const mw_mesh *mesh = call->kernel.mesh;
    char p[MW_MESH_AXES][PLACEMENT];
    if (!call->op->reshape) return;
    mw__str_printf(to, "rank%d propagate_shape_and_sharding input_src_placements ", rank->index);
    if (placements(mesh, now[0], p))
        tuple_of_placements(mesh, p, to);
    else
        mw__layout_str(mesh, now[0], to);
    mw__str_puts(to, " global_input_shape ");
    ints(call->args.in[0].shape, call->args.in[0].ndim, '(', ')', to);
    mw__str_puts(to, " rule ");
    view_rule(&call->args.in[0], &call->choice.out_meta[0], to);
    mw__str_puts(to, " mesh_sizes ");
    int64_t sizes[MW_MESH_AXES];
    for (int a = 0; a < mesh->naxis; a++)
        sizes[a] = mesh->size[a];
    ints(sizes, mesh->naxis, '(', ')', to);
    mw__str_printf(to, " strict_view %s\n",
                   strcmp(info->schema.name, "reshape") == 0 ? "False" : "True");
}

/* ---- lines
 * -------------------------------------------------------------------------------------------- */

void mw__dispatch_lines(const mw_rank *rank, const mw_call *call, const mw_layout *const *now,
                        const char *device, mw_str *to)
{
    const mw_op_info *info = mw__op_info_of(call->op);
    const mw_mesh *mesh = call->kernel.mesh;
    int64_t sizes[MW_MESH_AXES];
    if (!info) return;
    mw__str_puts(to, "_dispatch.py:152] Dispatching op_call: Op(op=");
    op_name(info, to);
    mw__str_puts(to, ", args_schema=");
    arguments(call, info, now, to);
    mw__str_puts(to, " @ mesh: ");
    for (int a = 0; a < mesh->naxis; a++)
        sizes[a] = mesh->size[a];
    ints(sizes, mesh->naxis, '(', ')', to);
    mw__str_puts(to, ")\n");
    propagation(rank, call, info, now, to);
    if (!call->parts) output_sharding(call, info, device, to);
}

void mw__redistribute_lines(const mw_mesh *mesh, const mw_layout *from, const mw_layout *to_layout,
                            mw_str *to)
{
    char p[MW_MESH_AXES][PLACEMENT], q[MW_MESH_AXES][PLACEMENT];
    if (!placements(mesh, from, p) || !placements(mesh, to_layout, q)) {
        mw__str_puts(to, "_redistribute.py:202] redistribute from ");
        mw__layout_str(mesh, from, to);
        mw__str_puts(to, " to ");
        mw__layout_str(mesh, to_layout, to);
        mw__str_putc(to, '\n');
        return;
    }
    for (int a = 0; a < mesh->naxis; a++) {
        if (strcmp(p[a], q[a]) == 0) continue;
        mw__str_puts(to, "_redistribute.py:202] redistribute from ");
        short_form(p[a], to);
        mw__str_puts(to, " to ");
        short_form(q[a], to);
        mw__str_printf(to, " on mesh dim %d\n", a);
    }
}
