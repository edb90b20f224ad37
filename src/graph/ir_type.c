/* Meshes and types in a program's text. */
#include "graph/ir_parse.h"
#include "run/run.h"

mw_status ir_mesh(ir_parser *p)
{
    char name[IR_NAME];
    MW_TRY(ir_expect(p, "@"));
    if (!ir_word(p, "", name)) return ir_fail(p, p->at, "expected the mesh's name");
    MW_TRY(ir_expect(p, "="));
    MW_TRY(ir_expect(p, "["));
    const char *first = p->at, *end = first + strcspn(first, "]\n");
    if (*end != ']') return ir_fail(p, end, "expected ']' after the mesh's axes");
    p->at = end + 1;
    char *text = mw__arena_printf(&p->scratch, "%.*s", (int)(end - first), first);
    if (text && ir_sees(p, "ids")) {
        const char *ids = p->at, *close = ids + strcspn(ids, "]\n");
        if (*close != ']') return ir_fail(p, close, "expected ']' after the mesh's ids");
        p->at = close + 1;
        text = mw__arena_printf(&p->scratch, "%s %.*s", text, (int)(p->at - ids), ids);
    }
    if (!text) return MW_NOMEM();
    mw_mesh *mesh, *lasting = p->given;
    int index;
    if (!lasting || p->graph->nmesh) { /* the caller's takes the place of the first */
        MW_TRY(ir_failed_at(p, first, mw_mesh_parse(text, &mesh)));
        mw_status status = mw__mesh_intern(mesh, &lasting);
        mw_mesh_unref(mesh);
        MW_TRY(status);
    }
    return ir_failed_at(p, first, mw__graph_add_mesh(p->graph, lasting, name, &index));
}

static mw_status mesh_named(ir_parser *p, mw_mesh **ret)
{
    char name[IR_NAME];
    const char *at = p->at;
    if (!ir_word(p, "", name)) return ir_fail(p, p->at, "expected the name of a mesh");
    for (int i = 0; i < p->graph->nmesh; i++)
        if (strcmp(p->graph->mesh_name[i], name) == 0) {
            *ret = p->graph->mesh[i];
            return MW_OK;
        }
    return ir_fail(p, at, "no mesh @%s", name);
}

/* Where the type that begins here lies: ` on @m1` stands behind its layout. */
static mw_status type_mesh(ir_parser *p, mw_mesh **ret)
{
    const char *at = p->at, *line = at + strcspn(at, "\n;=");
    *ret = p->graph->mesh[0];
    for (const char *c = at; c + 4 < line; c++)
        if (*c == ')' || (*c == ':' && c[1] == ' ' && c[2] == '%'))
            return MW_OK;
        else if (strncmp(c, " on @", 5) == 0) {
            p->at = c + 5;
            mw_status status = mesh_named(p, ret);
            p->at = at;
            return status;
        } else if (*c == ']' && c[1] == ',') {
            return MW_OK;
        }
    return MW_OK;
}

static mw_status read_priority(ir_parser *p, const mw_layout *layout, uint8_t *priority)
{
    ir_space(p);
    if (*p->at != 'p' || !(ir_is_digit(p->at[1]) || p->at[1] == '(')) return MW_OK;
    const char *at = p->at++;
    bool each = ir_take(p, "(");
    for (int d = 0; d < layout->ndim; d++) {
        int64_t value = priority[0];
        if (each || d == 0) MW_TRY(ir_int(p, &value));
        if (value < 0 || value > 250) return ir_fail(p, at, "a priority is 0 to 250");
        priority[d] = (uint8_t)value;
        if (each && d + 1 < layout->ndim) MW_TRY(ir_expect(p, ","));
    }
    return each ? ir_expect(p, ")") : MW_OK;
}

mw_status ir_type(ir_parser *p, mw_mesh **ret_mesh, mw_layout *ret, uint8_t *priority)
{
    ir_space(p);
    int number;
    if (!p->graph->nmesh)
        return ir_fail(p, p->at, "a type before any mesh: state one, or give --mesh");
    MW_TRY(type_mesh(p, ret_mesh));
    mw_status status = mw__layout_read(*ret_mesh, ir_line_of(p, p->at, &number), &p->at, ret);
    MW_TRY(ir_failed_at(p, p->at, status));
    MW_TRY(mw__layout_check(*ret_mesh, ret));
    p->open_scalar = ret->ndim == 0 && ir_take(p, "?");
    mw_mesh *named;
    if (ir_take(p, "on")) {
        MW_TRY(ir_expect(p, "@"));
        MW_TRY(mesh_named(p, &named));
    }
    return read_priority(p, ret, priority);
}

bool ir_says_nothing(const ir_parser *p, const mw_layout *l)
{
    if (l->ndim == 0 && l->npartial == 0) return p->open_scalar;
    for (int d = 0; d < l->ndim; d++)
        if (!l->dim[d].open || l->dim[d].ncut) return false;
    return l->npartial == 0;
}

static bool same_shape(const mw_meta *a, const mw_meta *b)
{
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* A stated type on a value whose dtype and shape are known. */
mw_status ir_state_type(ir_parser *p, mw_ssa *v)
{
    const char *at = (ir_space(p), p->at);
    mw_layout layout;
    mw_mesh *mesh;
    uint8_t priority[MW_MAX_DIMS] = {0};
    MW_TRY(ir_type(p, &mesh, &layout, priority));
    if (layout.dtype == MW_DTYPE_NONE) layout.dtype = v->layout.dtype;
    mw_meta want = mw__ssa_meta(v), got = {(mw_dtype)layout.dtype, layout.ndim, {0}};
    mw_layout_shape(&layout, got.shape);
    if (want.dtype != got.dtype || !same_shape(&want, &got)) {
        mw_str a = {0}, b = {0};
        mw__meta_str(&want, &a);
        mw__meta_str(&got, &b);
        mw_status status = ir_fail(p, at, "%%%s is %s, and its type says %s", v->name,
                                   mw__str_text(&a), mw__str_text(&b));
        if (want.dtype != got.dtype && same_shape(&want, &got))
            mw__error_hint("convert it: .to(%s)", mw_dtype_name(got.dtype));
        mw__str_done(&a);
        mw__str_done(&b);
        return status;
    }
    if (mesh != v->mesh && v->def->kind == MW_NODE_OP)
        return ir_fail(p, at, "%%%s lies on another mesh than its operands", v->name);
    v->mesh = mesh;
    v->layout = layout;
    v->stated = !ir_says_nothing(p, &layout) || v->def->kind == MW_NODE_MARK ||
                v->def->kind == MW_NODE_STEP;
    memcpy(v->priority, priority, sizeof priority);
    return MW_OK;
}
