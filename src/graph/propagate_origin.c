/* Chains of origins. Each link names the value that the axis came from; that value's own link for
 * the same part of the axis goes on. Links are older the further back they lie, so chains end. */
#include "graph/propagate_origin.h"

#include "graph/propagate_axis.h"

static const char *op_name(const mw_node *node)
{
    const mw_op_info *info = node->kind == MW_NODE_OP ? mw__op_info_of(node->op) : NULL;
    if (info) return info->schema.name;
    return node->kind == MW_NODE_MARK ? "mark_sharding" : "redistribute";
}

/* The link of `from` that brought it the axis of `link`. */
static const mw_origin *before(const mw_origin *link)
{
    mw_axis_ref want = {link->axis, link->major, link->size};
    if (!link->from) return NULL;
    for (const mw_origin *o = link->from->origin; o; o = o->next)
        if (mw__axis_ref_overlaps((mw_axis_ref){o->axis, o->major, o->size}, want)) return o;
    return NULL;
}

static void axis_str(const mw_ssa *value, const mw_origin *o, mw_str *to)
{
    mw__str_puts(to, value->mesh->name[o->axis]);
    if (o->major != 1 || o->size != value->mesh->size[o->axis])
        mw__str_printf(to, ":(%d)%d", o->major, o->size);
}

static void place_str(int dim, mw_str *to)
{
    if (dim >= 0)
        mw__str_printf(to, " dim %d", dim);
    else
        mw__str_puts(to, " as partial");
}

static void chain_str(const mw_graph *graph, const mw_ssa *value, const mw_origin *o, mw_str *to)
{
    int64_t left = graph->nvalue * MW_MAX_DIMS; /* more links than there can be */
    mw__str_printf(to, "%%%s", value->name);
    place_str(o->dim, to);
    mw__str_puts(to, " on ");
    axis_str(value, o, to);
    const char *sign = ": ";
    const mw_ssa *at = value;
    for (const mw_origin *next; o->from && left-- > 0 && (next = before(o)); o = next) {
        mw__str_printf(to, "%sfrom %%%s", sign, o->from->name);
        place_str(next->dim, to);
        mw__str_printf(to, " along %s of %s", o->factor, op_name(o->via));
        sign = "; ";
        at = o->from;
    }
    if (!o->from) mw__str_printf(to, "%s%%%s is annotated (%s)", sign, at->name, o->because);
}

void mw__origin_str(const mw_graph *graph, const mw_ssa *value, int axis, mw_str *to)
{
    bool any = false;
    for (const mw_origin *o = value->origin; o; o = o->next) {
        if (o->axis != axis) continue;
        if (any) mw__str_puts(to, ". ");
        chain_str(graph, value, o, to);
        any = true;
    }
    const char *name = value->mesh->name[axis];
    if (any) return;
    if (!(mw__layout_axes(&value->layout) >> axis & 1))
        mw__str_printf(to, "%%%s: nothing on %s", value->name, name);
    else if (value->stated)
        mw__str_printf(to, "%%%s lies on %s as its line says", value->name, name);
    else
        mw__str_printf(
            to, "%%%s: no annotation leads to %s here: it lies so since less moves so in all",
            value->name, name);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void json_text(const char *text, mw_str *to)
{
    mw__str_putc(to, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            mw__str_printf(to, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            mw__str_printf(to, "\\u%04x", *c);
        else
            mw__str_putc(to, *c);
    }
    mw__str_putc(to, '"');
}

static void chain_json(const mw_graph *graph, const mw_ssa *value, const mw_origin *o, mw_str *to)
{
    int64_t left = graph->nvalue * MW_MAX_DIMS;
    mw_str axis = {0};
    axis_str(value, o, &axis);
    mw__str_puts(to, "{\"axis\": ");
    json_text(mw__str_text(&axis), to);
    mw__str_printf(to, ", \"dim\": %d, \"chain\": [", o->dim);
    if (axis.failed) to->failed = true;
    mw__str_done(&axis);
    const char *comma = "";
    for (const mw_origin *next; o->from && left-- > 0 && (next = before(o)); o = next) {
        mw__str_printf(to, "%s{\"from\": ", comma);
        json_text(o->from->name, to);
        mw__str_printf(to, ", \"dim\": %d, \"op\": ", next->dim);
        json_text(op_name(o->via), to);
        mw__str_puts(to, ", \"factor\": ");
        json_text(o->factor, to);
        mw__str_putc(to, '}');
        comma = ", ";
    }
    mw__str_puts(to, "], \"annotation\": ");
    json_text(o->from ? "" : o->because, to);
    mw__str_putc(to, '}');
}

void mw__origin_json(const mw_graph *graph, const mw_ssa *value, mw_str *to)
{
    mw__str_putc(to, '[');
    for (const mw_origin *o = value->origin; o; o = o->next) {
        if (o != value->origin) mw__str_puts(to, ", ");
        chain_json(graph, value, o, to);
    }
    mw__str_putc(to, ']');
}
