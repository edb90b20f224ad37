/* The custom ops that carry annotations into compiled graphs: their declarations, calls of them,
 * and casts of their arguments that fail. Of a failed cast the message blames the list's type; what
 * blocks is looked for in the list itself. */
#include "log/explain.h"
#include "log/torch_xla.h"

#include <stdio.h>

static const struct schema {
    const char *op, *piece, *since, *means;
} schemas[] = {
#define SCHEMA(op, piece, since, means) {op, piece, since, means},
#include "log/torch_xla_schemas.def"
#undef SCHEMA
};

static const struct schema *schema_in(const char *text)
{
    for (int i = 0; i < MW_COUNT(schemas); i++) {
        const char *at = strstr(text, schemas[i].op);
        if (at && strstr(at, schemas[i].piece)) return &schemas[i];
    }
    return NULL;
}

static const char *op_in(const char *text)
{
    for (int i = 0; i < MW_COUNT(schemas); i++)
        if (strstr(text, schemas[i].op)) return schemas[i].op;
    return NULL;
}

static mw_py *read_text(const xs_here *h, const char *at, int64_t length)
{
    mw_py *node = NULL;
    return mw__hlo_done(h->e, mw__py_read(at, at + length, &h->e->scratch, &node)) ? node : NULL;
}

/* An argument that may be given as a text: '(4, 1, 2)'. */
static const mw_py *unquoted(const xs_here *h, const mw_py *node)
{
    if (!node || node->kind != MW_PY_STR) return node;
    return read_text(h, node->name, node->name_length);
}

/* ---- one call ----------------------------------------------------------------------------------
 */

typedef struct op_call {
    const mw_py *tensor, *ids, *shape, *names, *spec;
    spmd_mesh mesh;
    int64_t count; /* of device ids, symbols too; -1: not known */
    xs_value list;
} op_call;

static bool read_call(const xs_here *h, const mw_py *args, const char *op, op_call *ret)
{
    *ret = (op_call){.count = -1};
    ret->tensor = mw__py_child(args, 0);
    if (strcmp(op, "aot_mark_sharding") == 0) {
        ret->spec = unquoted(h, mw__py_child(args, 2));
        return mw__xs_mesh_text(h, unquoted(h, mw__py_child(args, 1)), &ret->mesh);
    }
    if (args->count < 5) return false;
    ret->ids = mw__py_child(args, 1);
    ret->shape = unquoted(h, mw__py_child(args, 2));
    ret->names = unquoted(h, mw__py_child(args, 3));
    ret->spec = unquoted(h, mw__py_child(args, 4));
    ret->list = mw__xs_eval(h, ret->ids);
    if (ret->list.kind == XS_INTS) ret->count = ret->list.n + ret->list.symbols;
    xs_value sizes = mw__xs_eval(h, ret->shape);
    ret->mesh.line = h->first;
    if (sizes.kind != XS_INTS || sizes.symbols || sizes.n < 1 || sizes.n > MW_MESH_AXES)
        return false;
    ret->mesh.naxis = (int)sizes.n;
    memcpy(ret->mesh.size, sizes.ints, (size_t)sizes.n * sizeof sizes.ints[0]);
    if (ret->list.kind == XS_INTS && !ret->list.symbols) {
        ret->mesh.id = ret->list.ints;
        ret->mesh.nid = ret->list.n;
    }
    for (const mw_py *c = ret->names ? ret->names->first : NULL; c; c = c->next) {
        if (c->kind != MW_PY_STR) continue;
        if (ret->mesh.nname < MW_MESH_AXES && c->name_length <= MW_AXIS_NAME)
            memcpy(ret->mesh.name[ret->mesh.nname], c->name, (size_t)c->name_length);
        ret->mesh.nname++;
    }
    return true;
}

static void tell_symbols(mw_draft *d, const op_call *c)
{
    if (!c->list.symbols) return;
    mw__fact(d, "what blocks", MW_HOW_DERIVED, "the list's own elements",
             "%s is a SymInt, a number that is known only when the graph runs; the op wants ints, "
             "which are known when it is traced",
             c->list.symbol);
    mw__fact(d, "the message", MW_HOW_DERIVED,
             "a list is cast element by element; the type of the list is not asked for",
             "it names the list's type (immutable_list), which is not at fault: a plain list that "
             "holds %s fails in the same way, an immutable_list of ints passes",
             c->list.symbol);
}

static void tell_count(const xs_here *h, mw_draft *d, op_call *c)
{
    int64_t n = mw__spmd_mesh_size(&c->mesh);
    if (c->count < 0 || n < 0) return;
    mw__fact(d, "device ids", MW_HOW_STATED, h->from, "%lld", (long long)c->count);
    mw__fact(d, "devices of mesh_shape", MW_HOW_DERIVED, "the product of its numbers", "%lld",
             (long long)n);
    if (c->count == n) return;
    mw__problem(d, "device-count", -1, -1, "pass one id for each device of mesh_shape",
                "device_ids has %lld element%s, mesh_shape has %lld devices: even as plain ints "
                "they could not be reshaped to it",
                (long long)c->count, c->count == 1 ? "" : "s", (long long)n);
    c->mesh.id = NULL;
    c->mesh.nid = 0;
}

/* The annotation that the call wants, with ids in order where it has none that fit. */
static void tell_wanted(const xs_here *h, mw_draft *d, op_call *c)
{
    xs_value t = mw__xs_eval(h, c->tensor);
    xs_mark m = {.name = c->tensor ? mw__xs_keep(h, c->tensor->at, MW_MIN(c->tensor->length, 200))
                                   : "?",
                 .tensor = {.ndim = -1},
                 .mesh = &c->mesh,
                 .spec = c->spec};
    if (t.kind == XS_TENSOR) m.tensor = t.tensor;
    int64_t n = mw__spmd_mesh_size(&c->mesh);
    if (!c->mesh.nid && n > 0)
        mw__fact(d, "device order", MW_HOW_ASSUMED, "device_ids as ints would settle it",
                 "0 to %lld in order", (long long)n - 1);
    mw__xs_mark_tell(h, d, &m);
    if (!m.tensor.dtype && m.tensor.ndim >= 0)
        mw__missing(h->e, "the dtype of the tensor in line %lld: bytes need it",
                    (long long)h->first);
}

static void tell_call(const xs_here *h, mw_draft *d, const mw_py *args, const char *op)
{
    op_call c;
    if (!read_call(h, args, op, &c)) return;
    tell_symbols(d, &c);
    tell_count(h, d, &c);
    tell_wanted(h, d, &c);
}

/* int[][] tile_assignment, group_assignment, replication_groups, int sharding_type */
static void tell_lists(const xs_here *h, mw_draft *d, const mw_py *args)
{
    const mw_py *tiles = mw__py_child(args, 1), *groups = mw__py_child(args, 2);
    const mw_py *copies = mw__py_child(args, 3), *type = mw__py_child(args, 4);
    if (!tiles || !type || type->kind != MW_PY_INT || tiles->kind != MW_PY_LIST) return;
    bool partial = type->i == 5 && groups && copies && copies->first;
    const mw_py *grid = partial ? groups : tiles;
    xs_value ids = mw__xs_eval(h, partial ? copies : tiles);
    mw_str text = {0};
    if (type->i == 0 || type->i == 1) mw__str_puts(&text, "{replicated}");
    if ((type->i == 3 || partial) && ids.kind == XS_INTS && !ids.symbols && grid->first) {
        int columns = grid->first->count;
        mw__str_printf(&text, "{devices=[%d,%d", grid->count, columns);
        if (partial) mw__str_printf(&text, ",%d", copies->first->count);
        mw__str_putc(&text, ']');
        for (int64_t i = 0; i < ids.n; i++)
            mw__str_printf(&text, "%s%lld", i ? "," : "", (long long)ids.ints[i]);
        mw__str_puts(&text, partial ? " last_tile_dim_replicate}" : "}");
    }
    const char *kept = mw__hlo_keep(h->e, &text);
    hlo_sharding s;
    if (*kept && mw__hlo_sharding_read(kept, &s))
        mw__hlo_tell(h->e, d, "", h->from, &s, NULL, false, NULL);
}

/* A call in pasted code. `kept`: its result goes somewhere. */
bool mw__xs_op_call(const xs_here *h, const mw_py *call, bool kept)
{
    const char *op = NULL;
    for (int i = 0; i < MW_COUNT(schemas) && !op; i++)
        if (mw__xs_ends(call, schemas[i].op)) op = schemas[i].op;
    if (!op) return false;
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "mark_sharding");
    if (!d) return true;
    mw__draft_entry(d)->first = h->first;
    mw__fact(d, "op", MW_HOW_STATED, h->from, "%s", op);
    mw__draft_says(d, "A call of %s.", op);
    if (strcmp(op, "xla_mark_sharding_dynamo_custom_op") == 0)
        tell_lists(h, d, call);
    else
        tell_call(h, d, call, op);
    if (!kept && strcmp(op, "xla_mark_sharding_dynamo_custom_op") != 0)
        mw__problem(d, "dropped-result", -1, -1, "write `t = ...` and use t from there on",
                    "the result is dropped: the op's schema says that it changes nothing, so a "
                    "compiler that removes dead code may remove the call and the annotation with "
                    "it%s",
                    strcmp(op, "aot_mark_sharding") == 0
                        ? "; and this op marks a copy: the tensor itself stays unmarked"
                        : "");
    return true;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

/* `xla::dynamo_mark_sharding(Tensor input, int[] device_ids, ...) -> Tensor` */
bool mw__xs_declaration(const xs_here *h)
{
    const struct schema *s = strstr(h->text, "Tensor ") ? schema_in(h->text) : NULL;
    if (!s) return false;
    mw_draft *d = h->s->op;
    if (!d) {
        d = mw__draft(h->e, h->line, "torch_xla", "declaration");
        mw__draft_says(d, "The declaration of %s: %s.", s->op, s->means);
    }
    mw__fact(d, "declaration", MW_HOW_STATED, h->from, "%s", mw__xs_keep(h, h->text, 600));
    mw__fact(d, "this form", MW_HOW_DERIVED, "the declarations that torch_xla has had", "%s: %s",
             s->since, s->means);
    return true;
}

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Lines that belong to a failed cast. */
static bool goes_on(const xs_here *h)
{
    mw_draft *d = h->s->op;
    const char *t = h->text;
    if (!d || h->line->number - h->s->op_line > 12) return false;
    if (starts(t, "Position:"))
        mw__fact(d, "position", MW_HOW_STATED, h->from, "%s",
                 mw__xs_keep(h, t + 9 + strspn(t + 9, " "), 40));
    else if (starts(t, "Value:"))
        mw__fact(d, "value", MW_HOW_STATED, h->from, "%s",
                 mw__xs_keep(h, t + 6 + strspn(t + 6, " "), 300));
    else if (starts(t, "Declaration:"))
        (void)mw__xs_declaration(h);
    else if (!starts(t, "Cast error details:") && !strstr(t, "Expected a value of type"))
        return false;
    mw__draft_last(d, h->line->number);
    return true;
}

static const char *tell_expected(const xs_here *h, mw_draft *d)
{
    const char *type = strstr(h->text, "Expected a value of type '");
    const char *argument = strstr(h->text, "for argument '");
    const char *found = strstr(h->text, "instead found type '");
    if (!type || !argument || !found) return "?";
    type += 26, argument += 14, found += 20;
    mw__fact(d, "argument", MW_HOW_STATED, h->from, "%.*s",
             (int)MW_MIN(strcspn(argument, "'"), 100), argument);
    mw__fact(d, "wanted type", MW_HOW_STATED, h->from, "%.*s", (int)MW_MIN(strcspn(type, "'"), 100),
             type);
    mw__fact(d, "found type", MW_HOW_STATED, h->from, "%.*s", (int)MW_MIN(strcspn(found, "'"), 100),
             found);
    return mw__xs_keep(h, argument, (int64_t)MW_MIN(strcspn(argument, "'"), 100));
}

static void begin(const xs_here *h, const char *op)
{
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "error");
    h->s->op = d;
    h->s->op_line = h->line->number;
    mw__draft_weight(d, 80);
    mw__fact(d, "op", MW_HOW_STATED, h->from, "%s", op);
    mw__draft_says(d, "A call of %s failed.", op);
}

/* The arguments that the message repeats: `op(*(FakeTensor(...), [u0], ...), **{})`, `op(t, ...)`.
 */
static void tell_arguments(const xs_here *h, mw_draft *d, const char *op)
{
    const char *at = strstr(h->text, op);
    mw_py *call = read_text(h, at, (int64_t)strlen(at));
    if (!call) return;
    if (call->kind == MW_PY_SEQ) call = call->first;
    if (!call || call->kind != MW_PY_CALL) return;
    const mw_py *args = call;
    if (call->first && call->first->kind == MW_PY_SEQ && mw__py_mark(call->first->first, '*'))
        args = call->first->first->next;
    if (!args || args->count < 3) return;
    if (strcmp(op, "xla_mark_sharding_dynamo_custom_op") == 0)
        tell_lists(h, d, args);
    else
        tell_call(h, d, args, op);
    mw__fact(d, "what would work", MW_HOW_DERIVED,
             "the op's declaration, and that ids are cast when the graph is traced",
             "device_ids as a list of ints that is made outside of the compiled function "
             "(list(range(n))), as many as mesh_shape has devices; or mark the tensor outside of "
             "the graph with mark_sharding");
    mw__problem(d, "argument-cast", -1, -1,
                "make device_ids of plain ints before tracing: list(range(n)) held as a constant, "
                "not computed from a tensor's size",
                "the call of %s is refused: an argument is not what its declaration says", op);
}

bool mw__xs_op_line(const xs_here *h)
{
    const char *op = op_in(h->text);
    if (op && strstr(h->text, "Failed running call_function")) {
        uint64_t hash = mw__hash(5, h->text, strlen(h->text));
        h->s->op = NULL;
        if (mw__spmd_again(&h->s->told, hash, h->line)) return true;
        begin(h, op);
        mw__spmd_tell_once(&h->s->told, hash, h->s->op);
        tell_arguments(h, h->s->op, op);
        mw__draft_says(h->s->op, "A call of %s in a compiled graph failed.", op);
        return true;
    }
    if (op && strstr(h->text, "Expected a value of type")) {
        if (!h->s->op || h->line->number - h->s->op_line > 12) begin(h, op);
        const char *argument = tell_expected(h, h->s->op);
        mw__draft_last(h->s->op, h->line->number);
        mw__draft_says(h->s->op,
                       "%s is refused: its argument %s can't be cast to the declared type.", op,
                       argument);
        return true;
    }
    return goes_on(h);
}
