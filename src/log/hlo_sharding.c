/* Shardings of HLO's instructions: what they say, whether they fit, what follows from them for
 * values that have none. */
#include "log/hlo.h"

static void check_rank(const hlo_op *op, mw_draft *d, const hlo_sharding *s, const hlo_shape *shape)
{
    if (s->kind != HLO_TILES_KIND || shape->ndim < 0 || s->ntile - s->nsub == shape->ndim) return;
    mw_str text = {0};
    mw__hlo_shape_str(shape, &text);
    mw__problem(d, "sharding-rank", -1, -1, "give the op a sharding with one number per dim",
                "The sharding of %.*s cuts %d dims, its tensor %s has %d.", op->name_length,
                op->name, s->ntile - s->nsub, mw__str_text(&text), shape->ndim);
    mw__str_done(&text);
}

static void keep_sharding(const hlo_op *op, const hlo_sharding *s)
{
    hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true);
    if (!v || s->length > 4000) return;
    v->sharding = mw__explain_text(op->e, "%.*s", (int)s->length, s->at);
    v->stated = true;
    v->source = mw__explain_text(op->e, "%.*s", op->name_length, op->name);
}

static void tell_elements(const hlo_op *op, mw_draft *d, const hlo_sharding *tuple)
{
    const char *p = tuple->at + 1, *end = tuple->at + tuple->length;
    for (int i = 0; i < HLO_ELEMENTS && p < end; i++) {
        hlo_sharding s;
        p = mw__hlo_skip(p);
        if (!mw__hlo_sharding_read(p, &s)) break;
        const char *label = mw__explain_text(op->e, "element %d", i);
        const hlo_shape *shape = op->tuple && i < op->nelement ? &op->element[i] : NULL;
        mw__hlo_tell(op->e, d, label ? label : "", op->from, &s, shape, op->s->spmd, NULL);
        if (shape) check_rank(op, d, &s, shape);
        p += s.length;
    }
}

/* What the sharding stands on: a custom call says a constraint, or a change to or from pieces. */
static const char *role(const hlo_op *op)
{
    const char *target = mw__hlo_attr(op, "custom_call_target");
    if (!target) return mw__hlo_is(op, "parameter") ? "an input" : "a value";
    if (strncmp(target, "\"Sharding\"", 10) == 0) return "a sharding constraint";
    if (strncmp(target, "\"SPMDFullToShardShape\"", 22) == 0)
        return "from here on a manual region, whose shapes are one device's piece,";
    if (strncmp(target, "\"SPMDShardToFullShape\"", 22) == 0)
        return "the end of a manual region, from here on the shape is the whole tensor's,";
    return "a custom call";
}

bool mw__hlo_sharding_op(const hlo_op *op)
{
    const char *at = mw__hlo_attr(op, "sharding");
    hlo_sharding s;
    if (!at || *at != '{' || !mw__hlo_sharding_read(at, &s)) return false;
    op->s->shardings++;
    op->s->devices = MW_MAX(op->s->devices, s.devices);
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "sharding");
    mw_str words = {0}, shape = {0};
    mw__hlo_sharding_str(&s, &words);
    if (!op->tuple)
        mw__hlo_shape_str(&op->element[0], &shape);
    else
        mw__str_printf(&shape, "a tuple of %d", op->nelement);
    const char *printed = mw__hlo_keep(op->e, &shape);
    mw__draft_says(d, "%.*s, %s %s: %s.", op->name_length, op->name, role(op), printed,
                   mw__str_text(&words));
    mw__str_done(&words);
    mw__fact(d, op->s->spmd ? "shape (one device's piece)" : "shape", MW_HOW_STATED, op->from, "%s",
             printed);
    if (op->s->spmd && s.kind == HLO_TILES_KIND)
        mw__fact(d, "stage", MW_HOW_DERIVED, op->s->why,
                 "after partitioning: the shape is local, the sharding speaks of the whole tensor");
    if (s.kind == HLO_TUPLE)
        tell_elements(op, d, &s);
    else {
        mw__hlo_tell(op->e, d, "", op->from, &s, op->tuple ? NULL : &op->element[0], op->s->spmd,
                     NULL);
        if (!op->tuple) check_rank(op, d, &s, &op->element[0]);
    }
    keep_sharding(op, &s);
    mw__hlo_metadata(op, d);
    return true;
}

/* Ops whose result lies as their operands do. */
static bool elementwise(const hlo_op *op)
{
    static const char *const ops[] = {
        "add",     "subtract", "multiply", "divide", "maximum", "minimum",     "power", "select",
        "compare", "convert",  "negate",   "abs",    "tanh",    "exponential", "log",   "sqrt",
        "rsqrt",   "and",      "or",       "not",    "copy",    "logistic",    "sine",  "cosine"};
    for (int i = 0; i < MW_COUNT(ops); i++)
        if (mw__hlo_is(op, ops[i])) return true;
    return false;
}

static const hlo_value *operand_value(const hlo_op *op, const char **at)
{
    int length;
    const char *name = mw__hlo_operand(at, &length);
    return name ? mw__hlo_value(op->s, mw__hlo_name_hash(name, length), false) : NULL;
}

/* An elementwise op lies as its operands do, where those that are known agree. */
static void follow_sharding(const hlo_op *op)
{
    const char *at = op->operands, *found = NULL, *source = NULL;
    if (op->s->spmd || !elementwise(op)) return;
    for (int i = 0; i < 3; i++) {
        const hlo_value *v = operand_value(op, &at);
        if (!v || !v->sharding ||
            (!strstr(v->sharding, "devices=") && !strstr(v->sharding, "mesh[")))
            continue;
        if (found && strcmp(found, v->sharding) != 0) return;
        found = v->sharding;
        source = v->source;
    }
    hlo_value *v =
        found ? mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true) : NULL;
    if (!v) return;
    v->sharding = found;
    v->source = source;
}

static bool same_dims(const hlo_shape *a, const hlo_shape *b)
{
    return a->ndim == b->ndim && a->ndim >= 0 &&
           memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim) == 0;
}

/* Copies of a gathered tensor, and conversions, are that tensor still. */
void mw__hlo_pass(const hlo_op *op, const hlo_value *from)
{
    const hlo_shape *shape = &op->element[0];
    hlo_value was = *from;
    if (!was.shape.dtype[0] || op->tuple || !same_dims(shape, &was.shape)) return;
    hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true);
    if (!v) return;
    v->shape = *shape;
    v->parameter = was.parameter;
    v->narrowed = shape->bits < was.shape.bits ? was.shape.bits : was.narrowed;
    v->gather = was.gather;
    v->gather_dim = was.gather_dim;
    v->gather_bytes = was.gather_bytes;
    v->gather_size = was.gather_size;
    v->gather_groups = was.gather_groups;
}

/* Inside a computation that fusions run: which parameter comes out again. */
static void inside(const hlo_op *op)
{
    const hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), false);
    if (!v || !v->parameter || !op->s->computation || op->s->entry) return;
    int parameter = v->parameter, narrowed = v->narrowed;
    hlo_value *c = mw__hlo_value(op->s, op->s->computation ^ HLO_INSIDE, true);
    if (!c) return;
    c->parameter = parameter;
    c->narrowed = narrowed;
}

static void parameter(const hlo_op *op)
{
    const char *at = op->operands;
    int64_t n;
    if (op->tuple || op->s->entry || !mw__hlo_int(&at, &n) || n > 1000) return;
    hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true);
    if (!v) return;
    v->parameter = (int)n + 1;
    v->shape = op->element[0];
}

/* `operand` (from 1) of a fusion. */
const hlo_value *mw__hlo_nth(const hlo_op *op, int operand)
{
    const char *at = op->operands;
    const hlo_value *v = NULL;
    for (int i = 0; i < operand; i++)
        v = operand_value(op, &at);
    return v;
}

static void fusion(const hlo_op *op)
{
    const char *calls = mw__hlo_attr(op, "calls");
    if (!calls) return;
    const char *end = mw__hlo_word_end(calls + (*calls == '%'));
    const hlo_value *c =
        mw__hlo_value(op->s, mw__hlo_name_hash(calls, end - calls) ^ HLO_INSIDE, false);
    if (!c) return;
    if (c->left) mw__hlo_dot_inside(op, c);
    const hlo_value *from = c->parameter ? mw__hlo_nth(op, c->parameter) : NULL;
    if (from) mw__hlo_pass(op, from);
}

void mw__hlo_follow(const hlo_op *op)
{
    follow_sharding(op);
    if (mw__hlo_is(op, "fusion")) {
        fusion(op);
        return;
    }
    if (mw__hlo_is(op, "parameter"))
        parameter(op);
    else if (mw__hlo_is(op, "copy") || mw__hlo_is(op, "bitcast") || mw__hlo_is(op, "convert")) {
        const char *at = op->operands;
        const hlo_value *from = operand_value(op, &at);
        hlo_shape typed = {.bits = 0};
        at = op->operands;
        if (!from && mw__hlo_shape_read(&at, &typed)) { /* the operand's type is printed */
            hlo_value printed = {.shape = typed};
            mw__hlo_pass(op, &printed);
        } else if (from)
            mw__hlo_pass(op, from);
    }
    if (op->root) inside(op);
}

/* A tuple without annotation, of values whose shardings are known. */
void mw__hlo_tuple(const hlo_op *op)
{
    const char *at = op->operands;
    mw_str text = {0}, sources = {0};
    bool stated = true, known = op->nelement > 0 && !op->s->spmd;
    int64_t parts = 0, bytes = 0;
    for (int i = 0; i < op->nelement && known; i++) {
        int length;
        const char *name = mw__hlo_operand(&at, &length);
        const hlo_value *v =
            name ? mw__hlo_value(op->s, mw__hlo_name_hash(name, length), false) : NULL;
        known = v && v->sharding && text.length < 8000;
        if (!known) break;
        stated = stated && v->stated;
        mw__str_printf(&text, "%s%s", i ? ", " : "{", v->sharding);
        mw__str_printf(&sources, "%s%.*s %s %s", i ? "; " : "", length, name,
                       v->stated ? "as annotated:" : "as", v->stated ? v->sharding : v->source);
        hlo_sharding s;
        if (!mw__hlo_sharding_read(v->sharding, &s) || s.kind != HLO_TILES_KIND) continue;
        parts = 1;
        for (int k = 0; k < s.ntile - s.nsub; k++)
            parts *= s.tile[k];
        if (i < HLO_ELEMENTS && op->element_bytes[i] >= 0)
            bytes += op->element_bytes[i] - op->element_bytes[i] / parts;
    }
    mw__str_putc(&text, '}');
    const char *kept = known ? mw__hlo_keep(op->e, &text) : "";
    const char *from = known ? mw__hlo_keep(op->e, &sources) : "";
    mw__str_done(&text);
    mw__str_done(&sources);
    if (!known) return;
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "sharding");
    mw__draft_says(d, "%.*s has no sharding of its own; that of its elements is %s.",
                   op->name_length, op->name, kept);
    mw__fact(d, "consistent sharding", stated ? MW_HOW_DERIVED : MW_HOW_ASSUMED,
             stated ? "one sharding per element, as the elements are annotated"
                    : "propagation through elementwise ops; the HLO after propagation settles it",
             "%s", kept);
    mw__fact(d, "elements", MW_HOW_DERIVED, "elementwise ops lie as their operands do", "%s", from);
    mw__fact(d, "communication", stated ? MW_HOW_DERIVED : MW_HOW_ASSUMED,
             "with that sharding every device keeps what it holds", "none for the tuple");
    if (stated && parts > 1)
        mw__problem(d, "sharding-missing", bytes, 0,
                    mw__explain_text(op->e, "give it sharding=%.900s", kept),
                    "The elements of %.*s are annotated and the tuple is not: read as replicated, "
                    "every device would gather %lld B that it lacks, to cut them off again.",
                    op->name_length, op->name, (long long)bytes);
}
