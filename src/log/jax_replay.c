/* What would work instead of what JAX refuses, priced. Layouts come from the notations, the result
 * of an op from meshwise's own rule, costs from the planner. Where the message prints no sizes,
 * values are laid out with sizes that divide, and costs are parts of the tensor. */
#include "log/explain.h"
#include "log/jax.h"
#include "ops/args.h"
#include "ops/table.h"
#include "plan/plan.h"

mw_mesh *mw__jx_mesh_of(const jx_here *h, const jx_value *v, spmd_mesh *ret)
{
    spmd_mesh mesh = {.naxis = 0};
    if (v && v->has_mesh)
        mesh = v->mesh;
    else if (h->s->mesh.naxis)
        mesh = h->s->mesh;
    else if (!mw__spmd_mesh_of(mw__explain_mesh(h->e), &mesh))
        return NULL;
    if (ret) *ret = mesh;
    return mw__spmd_mesh_make(h->e, &mesh);
}

static spmd_value plain_value(const jx_value *v, int least)
{
    spmd_value plain = {
        .ndim = v->ndim, .dtype = v->dtype, .spec = v->spec, .nentry = MW_MAX(v->nentry, least)};
    memcpy(plain.shape, v->shape, sizeof plain.shape);
    return plain;
}

/* The layout of a value, of `least` dims at least where it has no shape. */
static bool layout_of(const jx_case *c, const mw_mesh *mesh, const jx_value *v, int least,
                      mw_layout *ret, bool *ret_proxy)
{
    spmd_value plain = plain_value(v, least);
    mw_reading *r = mw__spmd_reading(c->h->e, mesh, &plain, ret_proxy, NULL);
    bool good = r && mw_reading_layout(r);
    if (good) *ret = *mw_reading_layout(r);
    mw_reading_free(r);
    if (good)
        ret->dtype = (uint8_t)(*ret_proxy ? MW_DTYPE_f32 : v->dtype ? v->dtype : MW_DTYPE_f32);
    return good;
}

static mw_how how_of(const jx_case *c, const jx_value *v)
{
    bool given = !v->has_mesh && !c->h->s->mesh.naxis;
    return given || v->line != c->h->first ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
}

static const char *evidence(const jx_case *c, const jx_value *v)
{
    if (v->line != c->h->first) return "if its operands are the values that were printed before it";
    if (!v->has_mesh && !c->h->s->mesh.naxis) return "on the mesh given with --mesh";
    return "the planner, from one sharding to the other";
}

/* One way out, with its cost. */
static void way(const jx_case *c, const jx_value *v, const mw_mesh *mesh, const mw_layout *from,
                const mw_layout *to, bool proxy, const char *what, const char *then)
{
    mw_layout target = *to;
    mw__layout_canonical(mesh, &target);
    const char *cost = mw__spmd_cost(c->h->e, mesh, from, &target, proxy, NULL);
    if (!cost) return;
    mw__fact(c->d, "what would work", how_of(c, v), evidence(c, v), "%s %s: %s%s", what,
             mw__spmd_spec(c->h->e, mesh, &target), cost, then);
}

static mw_layout without(const mw_mesh *mesh, const mw_layout *l, int dim, uint32_t axes)
{
    mw_layout to = *l;
    to.dim[dim] = mw__dim_without(mesh, &l->dim[dim], axes);
    mw__layout_canonical(mesh, &to);
    return to;
}

static mw_layout reduced(const mw_mesh *mesh, const mw_layout *l)
{
    mw_layout to = *l;
    memset(to.partial, 0, sizeof to.partial);
    to.npartial = 0;
    mw__layout_canonical(mesh, &to);
    return to;
}

/* `l` with the axes appended to a dim; false where the dim has no place or does not divide. */
static bool with_axes(const mw_mesh *mesh, const mw_layout *l, int dim, uint32_t axes,
                      mw_layout *ret)
{
    int64_t ways = 1;
    *ret = *l;
    for (int a = 0; a < mw_mesh_axes(mesh); a++) {
        if (!(axes >> a & 1)) continue;
        ways *= mw_mesh_axis_size(mesh, a);
        if (!mw__dim_append(mesh, &ret->dim[dim], a, 1, mw_mesh_axis_size(mesh, a))) return false;
    }
    for (int a = 0; a < mw_mesh_axes(mesh); a++)
        if (mw__dim_axes(&l->dim[dim]) >> a & 1) ways *= mw_mesh_axis_size(mesh, a);
    mw__layout_canonical(mesh, ret);
    return mw_layout_size(l, dim) % ways == 0;
}

/* ---- ops ---------------------------------------------------------------------------------------
 */

static const struct op_name {
    const char *jax, *word;
} op_names[] = {{"dot_general", "mm"}, {"dot", "mm"},      {"add", "add"},      {"sub", "sub"},
                {"mul", "mul"},        {"div", "div"},     {"pow", "pow"},      {"max", "maximum"},
                {"min", "minimum"},    {"atan2", "atan2"}, {"rem", "remainder"}};

static const mw_op *op_of(const char *jax)
{
    for (int i = 0; i < MW_COUNT(op_names); i++)
        if (strcmp(op_names[i].jax, jax) == 0)
            return mw__op_find(op_names[i].word, strlen(op_names[i].word));
    return NULL;
}

/* The layouts with which the op would run on two operands. */
static bool choose(const jx_case *c, const mw_mesh *mesh, const mw_op *op, const mw_layout *l,
                   mw_choice *ret)
{
    const mw_op_info *info = op ? mw__op_info_of(op) : NULL;
    mw_meta meta[2];
    const mw_layout *in[2] = {&l[0], &l[1]};
    mw_given given[2] = {{.value = {.kind = MW_ARG_TENSOR, .first = 0, .count = 1}},
                         {.value = {.kind = MW_ARG_TENSOR, .first = 1, .count = 1}}};
    mw_bound *bound = mw__arena_zalloc(&c->h->e->scratch, sizeof *bound);
    if (!bound) c->h->e->failed = true;
    if (!info || !bound) return false;
    for (int i = 0; i < 2; i++) {
        meta[i] = (mw_meta){.dtype = (mw_dtype)l[i].dtype, .ndim = l[i].ndim};
        mw_layout_shape(&l[i], meta[i].shape);
    }
    if (!mw__hlo_done(c->h->e,
                      mw__args_bind(&info->schema, given, 2, meta, &c->h->e->scratch, bound)))
        return false;
    mw_call_args call = {.op = op, .narg = bound->narg, .arg = bound->arg, .nin = 2, .in = meta};
    return bound->nin == 2 &&
           mw__hlo_done(c->h->e, mw__choose(mesh, &call, in, &c->h->e->scratch, ret)) &&
           !ret->parts && ret->nout == 1;
}

/* ---- a contraction -----------------------------------------------------------------------------
 */

static bool has_axes(const jx_value *v, int dim, const jx_entry *axes)
{
    if (dim >= v->nentry || v->entry[dim].n != axes->n) return false;
    for (int i = 0; i < axes->n; i++)
        if (v->entry[dim].length[i] != axes->length[i] ||
            memcmp(v->entry[dim].at[i], axes->at[i], (size_t)axes->length[i]) != 0)
            return false;
    return true;
}

/* A matrix of the values printed before whose dim `dim` is cut so; those printed last first. */
static const jx_value *find_kept(const jx_case *c, int dim, const jx_entry *axes,
                                 const jx_value * not )
{
    const jx_state *s = c->h->s;
    for (int i = 0; i < MW_MIN(s->nkept, JX_KEPT); i++) {
        const jx_value *v = &s->kept[(s->nkept - 1 - i) % JX_KEPT];
        if (v != not &&v->ndim == 2 && has_axes(v, dim, axes)) return v;
    }
    return NULL;
}

static jx_value matrix(const jx_case *c, int dim, const jx_entry *axes)
{
    jx_value v = {.ndim = -1, .nentry = 2, .line = c->h->first, .has_spec = true};
    mw_str text = {0};
    v.entry[dim] = *axes;
    mw__str_puts(&text, dim ? "P(None, (" : "P((");
    for (int i = 0; i < axes->n; i++)
        mw__str_printf(&text, "'%.*s', ", axes->length[i], axes->at[i]);
    mw__str_puts(&text, dim ? "))" : "), None)");
    v.spec = mw__hlo_keep(c->h->e, &text);
    return v;
}

static void tell_product(const jx_case *c, const mw_mesh *mesh, const jx_value *v,
                         const mw_layout *in, const mw_layout *out, bool proxy)
{
    mw_layout whole = reduced(mesh, out), to;
    uint32_t axes = mw__layout_partial_axes(out);
    if (!axes) return;
    mw__fact(c->d, "the product as it comes", how_of(c, v), "meshwise's rule for the product",
             "every device holds a term of the sum over %s: %s", mw__spmd_axes(c->h->e, mesh, axes),
             mw__spmd_spec(c->h->e, mesh, out));
    way(c, v, mesh, out, &whole, proxy, "out_sharding", " (the whole sum on each)");
    for (int d = 0; d < out->ndim; d++)
        if (with_axes(mesh, &whole, d, axes, &to))
            way(c, v, mesh, out, &to, proxy, "out_sharding",
                " (each keeps its part of the sum: reduce_scatter)");
    mw__fact(c->d, "what would work", how_of(c, v), "the sum is left for later",
             "out_sharding %s: nothing moves, the result stays a sum of terms",
             mw__spmd_spec(c->h->e, mesh, out));
    for (int i = 0; i < 2; i++) {
        to = without(mesh, &in[i], i ? 0 : 1, axes);
        const char *cost = mw__spmd_cost(c->h->e, mesh, &in[i], &to, proxy, NULL);
        if (cost)
            mw__fact(c->d, i ? "gathering rhs first" : "gathering lhs first", how_of(c, v),
                     evidence(c, v), "%s", cost);
    }
}

void mw__jx_contracting(const jx_case *c, const char *lhs, const char *rhs)
{
    const char *texts[2] = {lhs, rhs};
    jx_value side[2];
    const jx_value *kept = NULL;
    mw_layout l[2];
    bool proxy = true, ignored;
    for (int i = 0; i < 2; i++) {
        jx_value spec = {.ndim = -1};
        mw_py *node = texts[i] ? mw__jx_py(c->h, texts[i]) : NULL;
        if (!node || !mw__jx_spec(c->h, node, &spec) || spec.nentry != 1) return;
        side[i] = matrix(c, i ? 0 : 1, &spec.entry[0]);
        const jx_value *found = find_kept(c, i ? 0 : 1, &spec.entry[0], kept);
        if (i == 0) kept = found;
        if (i == 0 || !kept || !found) continue;
        bool fit = kept->shape[1] == found->shape[0] && kept->dtype == found->dtype;
        if (fit) side[0] = *kept, side[1] = *found;
        proxy = !fit;
    }
    mw_mesh *mesh = mw__jx_mesh_of(c->h, &side[0], NULL);
    if (!mesh) return;
    mw_choice choice;
    if (layout_of(c, mesh, &side[0], 2, &l[0], &ignored) &&
        layout_of(c, mesh, &side[1], 2, &l[1], &ignored) &&
        choose(c, mesh, op_of("dot"), l, &choice)) {
        for (int i = 0; i < 2 && !proxy; i++) {
            mw_str type = {0};
            mw__layout_str(mesh, &l[i], &type);
            mw__fact(c->d, i ? "rhs" : "lhs", MW_HOW_ASSUMED,
                     "the message names no operand; this value fits it", "%s, of line %lld",
                     mw__hlo_keep(c->h->e, &type), (long long)side[i].line);
        }
        tell_product(c, mesh, &side[0], l, &choice.out[0], proxy);
    }
    mw_mesh_unref(mesh);
}

/* ---- operands that don't agree -----------------------------------------------------------------
 */

/* What the cheapest legal combination would move. */
static void tell_cheapest(const jx_case *c, const mw_mesh *mesh, const mw_layout *l, bool proxy)
{
    mw_choice choice;
    mw_str text = {0};
    if (!choose(c, mesh, op_of(c->op), l, &choice)) return;
    for (int i = 0; i < 2; i++) {
        if (mw_layout_equal(&l[i], &choice.in[i])) continue;
        const char *cost = mw__spmd_cost(c->h->e, mesh, &l[i], &choice.in[i], proxy, NULL);
        mw__str_printf(&text, "%soperand %d to %s: %s", text.length ? "; " : "", i,
                       mw__spmd_spec(c->h->e, mesh, &choice.in[i]), cost ? cost : "?");
    }
    const char *moves = mw__hlo_keep(c->h->e, &text);
    mw__fact(c->d, "cheapest", how_of(c, &c->value[0]),
             "meshwise's rule for the op and its planner", "%s; the result then is %s",
             *moves ? moves : "nothing moves", mw__spmd_spec(c->h->e, mesh, &choice.out[0]));
}

void mw__jx_conflict(const jx_case *c)
{
    mw_layout l[2];
    bool proxy[2];
    if (c->n < 2) return;
    int dims = MW_MAX(c->value[0].nentry, c->value[1].nentry);
    mw_mesh *mesh = mw__jx_mesh_of(c->h, &c->value[0], NULL);
    bool laid = mesh && layout_of(c, mesh, &c->value[0], dims, &l[0], &proxy[0]) &&
                layout_of(c, mesh, &c->value[1], dims, &l[1], &proxy[1]);
    bool dot = strncmp(c->op, "dot", 3) == 0;
    if (laid && l[0].ndim == l[1].ndim && (!dot || l[0].ndim == 2)) {
        tell_cheapest(c, mesh, l, proxy[0]);
        for (int i = 0; i < 2 && !dot; i++) {
            bool same = true;
            for (int d = 0; d < l[0].ndim; d++)
                same = same && mw_layout_size(&l[0], d) == mw_layout_size(&l[1], d);
            if (same)
                way(c, &c->value[i], mesh, &l[i], &l[1 - i], proxy[i],
                    i ? "reshard operand 1 to" : "reshard operand 0 to", "");
        }
    }
    mw_mesh_unref(mesh);
}

void mw__jx_change(const jx_case *c, const jx_value *from, const jx_value *to, const char *name)
{
    mw_layout a, b;
    bool proxy, ignored;
    int dims = MW_MAX(from->nentry, to->nentry);
    mw_mesh *mesh = mw__jx_mesh_of(c->h, from, NULL);
    if (mesh && layout_of(c, mesh, from, dims, &a, &proxy) &&
        layout_of(c, mesh, to, dims, &b, &ignored) && a.ndim == b.ndim) {
        const char *cost = mw__spmd_cost(c->h->e, mesh, &a, &b, proxy, NULL);
        if (cost) mw__fact(c->d, name, how_of(c, from), evidence(c, from), "%s", cost);
    }
    mw_mesh_unref(mesh);
}

/* ---- one operand -------------------------------------------------------------------------------
 */

void mw__jx_whole_dim(const jx_case *c)
{
    mw_layout l, to, moved;
    bool proxy;
    const jx_value *v = &c->value[0];
    if (c->n < 1 || c->dim < 0 || c->dim >= MW_LAYOUT_DIMS) return;
    mw_mesh *mesh = mw__jx_mesh_of(c->h, v, NULL);
    if (mesh && layout_of(c, mesh, v, c->dim + 1, &l, &proxy) && c->dim < l.ndim) {
        uint32_t axes = mw__dim_axes(&l.dim[c->dim]);
        to = without(mesh, &l, c->dim, axes);
        if (axes)
            mw__fact(c->d, "the axes in the way", MW_HOW_DERIVED, "they cut that dim", "%s",
                     mw__spmd_axes(c->h->e, mesh, axes));
        if (axes) way(c, v, mesh, &l, &to, proxy, "reshard to", "");
        for (int d = 0; d < l.ndim && axes; d++)
            if (d != c->dim && with_axes(mesh, &to, d, axes, &moved))
                way(c, v, mesh, &l, &moved, proxy, "reshard to",
                    " (the axis cuts another dim then)");
    }
    mw_mesh_unref(mesh);
}

void mw__jx_reduce(const jx_case *c)
{
    mw_layout l, to;
    bool proxy;
    const jx_value *v = &c->value[0];
    if (c->n < 1) return;
    mw_mesh *mesh = mw__jx_mesh_of(c->h, v, NULL);
    if (mesh && layout_of(c, mesh, v, 1, &l, &proxy) && l.npartial) {
        mw_layout whole = reduced(mesh, &l);
        uint32_t axes = mw__layout_partial_axes(&l);
        way(c, v, mesh, &l, &whole, proxy, "reshard to", "");
        for (int d = 0; d < l.ndim; d++)
            if (with_axes(mesh, &whole, d, axes, &to))
                way(c, v, mesh, &l, &to, proxy, "reshard to", "");
    }
    mw_mesh_unref(mesh);
}

void mw__jx_reshape(const jx_case *c, int ndim, const int64_t *shape)
{
    mw_layout l, to, out = {0};
    bool proxy;
    uint32_t blocking = 0, cut;
    const jx_value *v = &c->value[0];
    if (c->n < 1 || v->ndim < 1 || ndim < 1) return;
    mw_mesh *mesh = mw__jx_mesh_of(c->h, v, NULL);
    if (!mesh || !layout_of(c, mesh, v, 0, &l, &proxy)) {
        mw_mesh_unref(mesh);
        return;
    }
    cut = mw__layout_axes(&l);
    bool free_view = mw__dims_regroup(mesh, l.dim, l.ndim, shape, ndim, out.dim, &blocking);
    out.dtype = l.dtype;
    out.ndim = (uint8_t)ndim;
    if (free_view) {
        mw_str text = {0};
        mw__layout_str(mesh, &out, &text);
        mw__fact(c->d, "without moving", how_of(c, v), "the same elements on the same devices",
                 "the result would be %s in meshwise's words%s", mw__hlo_keep(c->h->e, &text),
                 *mw__spmd_spec(c->h->e, mesh, &out) ? ""
                                                     : ": its pieces are not blocks of the new "
                                                       "dims, so no PartitionSpec says it");
    } else {
        mw__fact(c->d, "without moving", how_of(c, v), "the same elements on the same devices",
                 "not possible: %s stands in the way", mw__spmd_axes(c->h->e, mesh, blocking));
    }
    mw_layout whole = l;
    for (int d = 0; d < l.ndim; d++)
        whole = without(mesh, &whole, d, cut);
    way(c, v, mesh, &l, &whole, proxy, "reshard first to",
        ", then any out_sharding is a local cut");
    for (int d = 0; free_view && d < ndim; d++) {
        mw_layout target = mw_layout_replicated((mw_dtype)l.dtype, ndim, shape);
        if (with_axes(mesh, &target, d, cut, &to))
            way(c, v, mesh, &out, &to, proxy, "out_sharding", "");
    }
    mw_mesh_unref(mesh);
}
