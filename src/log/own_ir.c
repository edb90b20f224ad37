/* Programs as text: a mesh, functions, a value a line with its type and, behind a semicolon, why it
 * is there.
 *
 *     mesh @m = [dp=2, tp=4]
 *     func @f(%x: f32[8@dp, 64], %w: f32[256@tp, 64]) {
 *       %h = linear(%x, %w)              : f32[8@dp, 256@tp]
 *       %y = all_gather(%h, axes=[tp])   : f32[8@dp, 256]   ; because: ...
 *       return %y
 *     }
 *
 * A program says what is done, not that it was. Bytes are those stated, else counted by the planner
 * between the types of operand and result, on the program's mesh. */
#include "log/own.h"

#include <stdio.h>

enum { RESULTS = 8, NAMED = 16 };

typedef struct op_line {
    const char *result[RESULTS], *op, *args, *because;
    int result_length[RESULTS], op_length, args_length, nresult, ntype;
    own_type type[RESULTS];
    bool asked;
} op_line;

uint64_t mw__own_value_key(const own_here *h, const char *name, int length)
{
    int64_t function = h->state->functions;
    return mw__hash(mw__hash(1, &function, sizeof function), name, (size_t)length);
}

static void define(const own_here *h, const char *name, int length, const own_type *t)
{
    own_value *v = mw__arena_alloc(mw__explain_arena(h->e), sizeof *v);
    if (!v) {
        h->e->failed = true;
        return;
    }
    *v = (own_value){*t, h->line->number};
    v->type.text = mw__own_keep(h, t->text);
    mw__own_put(h, &h->state->value, mw__own_value_key(h, name, length), v);
}

/* ---- mesh and function ------------------------------------------------------------------------
 */

/* `mesh @m = [dp=2, tp=4]` */
static bool mesh_line(const own_here *h)
{
    const char *at = h->line->text, *name;
    int length;
    if (!mw__own_skip(&at, "mesh @") || !mw__own_name(&at, &name, &length)) return false;
    at += strspn(at, " ");
    if (!mw__own_skip(&at, "=")) return false;
    at += strspn(at, " ");
    const char *close = strchr(at, ']');
    if (*at != '[' || !close) return false;
    const char *axes = mw__own_cut(h, at + 1, close - at - 1);
    const char *text = mw__explain_text(h->e, "%s%s", axes, close + 1);
    bool first = h->state->functions != h->state->mesh_functions || h->state->plan;
    if (!text || !mw__own_mesh_set(h, text, mw__hash(1, name, (size_t)length), first)) return false;
    if (first) mw__str_clear(&h->state->program);
    h->state->mesh_functions = h->state->functions;
    h->state->plan = NULL;
    const mw_mesh *mesh = h->state->mesh[h->state->nmesh - 1].mesh;
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "mesh");
    mw__fact(d, "mesh", MW_HOW_STATED, h->from, "%s", text);
    mw__fact(d, "ranks", MW_HOW_DERIVED, "the product of its axes", "%d", mw_mesh_ranks(mesh));
    mw__draft_says(d, "The mesh %.*s: %s, %d ranks.", length, name, text, mw_mesh_ranks(mesh));
    return true;
}

/* `%x: f32[8@dp, 64], ...` up to the closing bracket. */
static void parameters(const own_here *h, const char *at)
{
    const char *name;
    int length;
    own_type t;
    while ((at = strchr(at, '%')) != NULL) {
        at++;
        if (!mw__own_name(&at, &name, &length)) continue;
        at += strspn(at, " ");
        if (!mw__own_skip(&at, ":")) continue;
        at += strspn(at, " ");
        if (!mw__own_type(h, &at, &t)) continue;
        define(h, name, length, &t);
        const char *label = mw__explain_text(h->e, "%%%.*s", length, name);
        if (label) mw__own_tell_type(h, h->state->function, label, &t, h->from);
    }
}

static bool function_line(const own_here *h)
{
    const char *at = h->line->text, *name;
    int length;
    own_state *s = h->state;
    if (s->in_parameters && h->line->text[0] == '%') {
        parameters(h, at);
        mw__draft_last(s->function, h->line->number);
        s->in_parameters = at[h->line->length - 1] != '{';
        return true;
    }
    s->in_parameters = false;
    if (!mw__own_skip(&at, "func @") || !mw__own_name(&at, &name, &length) || *at != '(')
        return false;
    s->functions++;
    s->in_function = true;
    s->function = mw__draft(h->e, h->line, "meshwise", "function");
    parameters(h, at);
    s->in_parameters = h->line->text[h->line->length - 1] != '{';
    mw__draft_says(s->function, "A program begins: %.*s.", length, name);
    return true;
}

/* ---- a value ---------------------------------------------------------------------------------
 */

static bool read_op(const own_here *h, op_line *ret)
{
    const char *at = h->line->text;
    *ret = (op_line){.because = ""};
    do {
        at += strspn(at, " ");
        if (ret->nresult == RESULTS || !mw__own_skip(&at, "%") ||
            !mw__own_name(&at, &ret->result[ret->nresult], &ret->result_length[ret->nresult]))
            return false;
        ret->nresult++;
    } while (mw__own_skip(&at, ","));
    if (!mw__own_skip(&at, " = ")) return false;
    at += strspn(at, " ");
    ret->op = at;
    at += strcspn(at, " (");
    ret->op_length = (int)MW_MIN(at - ret->op, 100);
    if (*at != '(' || at == ret->op) return false;
    ret->args = at + 1;
    int depth = 0;
    do {
        if (*at == '(' || *at == '[') depth++;
        if (*at == ')' || *at == ']') depth--;
    } while (*at++ && depth > 0);
    if (depth != 0) return false;
    ret->args_length = (int)(at - 1 - ret->args);
    at += strspn(at, " ");
    if (!mw__own_skip(&at, ":")) return false;
    do {
        at += strspn(at, " (");
        if (ret->ntype == RESULTS || !mw__own_type(h, &at, &ret->type[ret->ntype])) return false;
        ret->ntype++;
    } while (mw__own_skip(&at, ","));
    at += strspn(at, " )");
    if (mw__own_skip(&at, ";")) {
        at += strspn(at, " ");
        ret->asked = mw__own_skip(&at, "asked:");
        if (ret->asked || mw__own_skip(&at, "because:")) at += strspn(at, " ");
        ret->because = at;
    } else if (*at)
        return false;
    return true;
}

/* The number before ` B received`, where the reason states one. */
static int64_t stated_bytes(const char *because)
{
    const char *unit = strstr(because, " B received"), *first = unit;
    int64_t n;
    while (first && first > because && first[-1] >= '0' && first[-1] <= '9')
        first--;
    return first && first < unit && mw__own_int(&first, &n) ? n : -1;
}

static const own_value *operand(const own_here *h, mw_draft *d, const op_line *l)
{
    const char *at = l->args, *end = l->args + l->args_length, *name;
    const own_value *first = NULL;
    int length;
    for (int n = 0; n < NAMED && (at = memchr(at, '%', (size_t)(end - at))) != NULL; n++) {
        at++;
        if (!mw__own_name(&at, &name, &length)) continue;
        const own_value *v = mw__own_get(&h->state->value, mw__own_value_key(h, name, length));
        if (!first) first = v;
        const char *label = mw__explain_text(h->e, "operand %%%.*s", length, name);
        const char *from = v ? mw__explain_text(h->e, "line %lld", (long long)v->line) : NULL;
        if (label && from) mw__fact(d, label, MW_HOW_STATED, from, "%s", v->type.text);
        if (!v)
            mw__missing(h->e, "the type of %%%.*s, used in line %lld: no line before defines it",
                        length, name, (long long)h->line->number);
    }
    return first;
}

/* `axes=[dp, tp]` or `axes=tp` as "dp,tp". */
static const char *axes_of(const own_here *h, const op_line *l)
{
    const char *args = mw__own_cut(h, l->args, l->args_length), *at = strstr(args, "axes=");
    mw_str names = {0};
    if (!at) return "";
    at += 5;
    bool list = mw__own_skip(&at, "[");
    for (; *at && *at != ']' && *at != ')' && (list || *at != ','); at++)
        if (*at != ' ' && *at != '"' && *at != '\'') mw__str_putc(&names, *at);
    const char *kept = mw__own_cut(h, mw__str_text(&names), (int64_t)names.length);
    if (names.failed) h->e->failed = true;
    mw__str_done(&names);
    return kept;
}

static int64_t tell_bytes(const own_here *h, mw_draft *d, const op_line *l, const char *kind,
                          const own_value *in)
{
    int64_t stated = stated_bytes(l->because), counted = -1;
    const char *same = NULL, *from;
    mw_how how;
    if (in && l->ntype == 1) counted = mw__own_moving(h, &in->type, &l->type[0], &same);
    bool any = strcmp(kind, "redistribute") == 0; /* the program leaves the steps open */
    if (!same || (!any && strcmp(same, kind) != 0)) counted = -1;
    if (any && same)
        mw__fact(d, "steps", MW_HOW_DERIVED, "the planner, between both types", "%s", same);
    (void)mw__own_mesh(h, &l->type[0], &how, &from);
    if (stated >= 0)
        mw__fact(d, "received per rank", MW_HOW_STATED, h->from, "%lld B", (long long)stated);
    if (counted >= 0)
        mw__fact(d, stated >= 0 ? "received by meshwise's own count" : "received per rank", how,
                 from, "%lld B", (long long)counted);
    if (stated >= 0 && counted >= 0 && stated != counted && how == MW_HOW_DERIVED)
        mw__problem(d, "wrong-value", stated, counted, "",
                    "the line says %lld B received; from %s to %s the rank that receives most "
                    "receives %lld B",
                    (long long)stated, in->type.text, l->type[0].text, (long long)counted);
    if (stated < 0 && counted < 0)
        mw__missing(h->e,
                    "the bytes of the %s in line %lld: they follow from both types and a mesh",
                    kind, (long long)h->line->number);
    return stated >= 0 ? stated : counted;
}

static void tell_op(const own_here *h, const op_line *l)
{
    bool moves = false;
    const char *op = mw__own_cut(h, l->op, l->op_length), *text = "";
    const char *kind = strcmp(op, "redistribute") == 0 ? "redistribute"
                                                       : mw__own_step(l->op, l->op_length, &moves);
    moves = moves || (kind && strcmp(kind, "redistribute") == 0);
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", kind ? "collective" : "op");
    mw_entry *entry = mw__draft_entry(d);
    mw__fact(d, kind ? "collective" : "op", MW_HOW_STATED, h->from, "%s", op);
    const own_value *in = operand(h, d, l);
    for (int i = 0; i < l->ntype; i++) {
        const char *label =
            i < l->nresult ? mw__explain_text(h->e, "%%%.*s", l->result_length[i], l->result[i])
                           : NULL;
        if (label) mw__own_tell_type(h, d, label, &l->type[i], h->from);
        if (label) define(h, l->result[i], l->result_length[i], &l->type[i]);
    }
    if (kind && moves) {
        const char *axis = axes_of(h, l);
        int64_t bytes = tell_bytes(h, d, l, kind, in);
        mw__draft_moved(d, kind, axis, "", bytes);
        if (axis[0]) mw__fact(d, "mesh axis", MW_HOW_STATED, h->from, "%s", axis);
        text = bytes >= 0 ? mw__explain_text(h->e, ", %lld B received per rank", (long long)bytes)
                          : "";
    } else if (entry && !kind)
        entry->op = mw__own_keep(h, op);
    if (l->because[0])
        mw__fact(d, l->asked ? "asked" : "because", MW_HOW_STATED, h->from, "%s", l->because);
    mw__draft_says(d, "%%%.*s is %s of %.*s: %s%s%s.", l->result_length[0], l->result[0], op,
                   (int)MW_MIN(l->args_length, 300), l->args, l->type[0].text, text ? text : "",
                   kind && !moves ? ", nothing moves between ranks" : "");
}

bool mw__own_ir_line(const own_here *h)
{
    const char *at = h->line->text;
    op_line l;
    if (mesh_line(h)) {
        mw__own_program_line(h);
        h->state->program_meshes = h->state->program.length;
        return true;
    }
    if (function_line(h)) {
        mw__own_program_line(h);
        return true;
    }
    if (*at == '%' && read_op(h, &l)) {
        mw__own_program_line(h);
        tell_op(h, &l);
        return true;
    }
    if (!h->state->in_function) return false;
    if (strcmp(at, "}") == 0) {
        h->state->in_function = false;
        mw__own_program_line(h);
        mw__own_program_end(h);
        return true;
    }
    if (!mw__own_skip(&at, "return")) return false;
    mw__own_program_line(h);
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "return");
    op_line returned = {.args = at, .args_length = (int)strlen(at)};
    (void)operand(h, d, &returned);
    mw__draft_says(d, "The program gives back%s.", *at ? at : " nothing");
    return true;
}
