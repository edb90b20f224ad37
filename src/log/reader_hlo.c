/* HLO text: modules, computations, instructions. An instruction that says nothing of shardings or
 * communication is taken and passed over: it is local work. Whether shapes are of the whole tensor
 * or of one device's piece hangs on the stage that the text is of, which its names tell. */
#include "log/hlo.h"

bool mw__hlo_is(const hlo_op *op, const char *opcode)
{
    return (int)strlen(opcode) == op->opcode_length &&
           memcmp(op->opcode, opcode, (size_t)op->opcode_length) == 0;
}

uint64_t mw__hlo_name_hash(const char *name, int64_t length)
{
    if (length > 0 && *name == '%') name++, length--;
    return mw__hash(3, name, (size_t)length) | 1;
}

hlo_value *mw__hlo_value(hlo_state *s, uint64_t hash, bool make)
{
    if (!s->value) {
        if (!make) return NULL;
        s->value = mw__zalloc(HLO_NAMES * sizeof *s->value);
        if (!s->value) return NULL;
    }
    hlo_value *v = &s->value[hash % HLO_NAMES];
    if (v->hash == hash) return v;
    if (!make) return NULL;
    *v = (hlo_value){.hash = hash};
    s->named = true;
    return v;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

static const char *skip_word(const char *at)
{
    while (is_word(*at))
        at++;
    return at;
}

const char *mw__hlo_operand(const char **at, int *ret_length)
{
    const char *p = *at, *last = NULL;
    int length = 0;
    for (; *p && *p != ',' && *p != ')';) {
        const char *closed = *p == '{' || *p == '[' || *p == '(' ? mw__hlo_close(p) : NULL;
        if (closed) {
            p = closed;
            continue;
        }
        if (*p == '{' || *p == '[' || *p == '(') return NULL;
        const char *end = skip_word(p + (*p == '%'));
        if (end > p) {
            last = p;
            length = (int)MW_MIN(end - p, 1000);
            p = end;
        } else
            p++;
    }
    *at = *p == ',' ? p + 1 : p;
    *ret_length = length;
    return last;
}

const char *mw__hlo_attr(const hlo_op *op, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = op->attrs; (p = strstr(p, key)) != NULL; p += n)
        if (p[n] == '=' && p > op->attrs && (p[-1] == ' ' || p[-1] == '{' || p[-1] == ','))
            return p + n + 1;
    return NULL;
}

/* ---- instructions ------------------------------------------------------------------------------
 */

static const char *skip_comment(const char *p)
{
    for (;;) {
        p += strspn(p, " ,");
        if (strncmp(p, "/*", 2) != 0) return p;
        const char *end = strstr(p, "*/");
        if (!end) return p;
        p = end + 2;
    }
}

/* Adds up a shape or tuple; moves past it. */
static bool add_shape(const char **at, int64_t *bytes, hlo_shape *first, int depth)
{
    hlo_shape shape;
    if (**at != '(') {
        if (!mw__hlo_shape_read(at, &shape)) return false;
        if (!first->dtype[0]) *first = shape;
        if (*bytes >= 0)
            *bytes = shape.bytes < 0 || *bytes > INT64_C(1) << 60 ? -1 : *bytes + shape.bytes;
        return true;
    }
    const char *p = skip_comment(*at + 1);
    while (*p != ')') {
        if (depth > 8 || !add_shape(&p, bytes, first, depth + 1)) return false;
        p = skip_comment(p);
    }
    *at = p + 1;
    return true;
}

static bool read_result(hlo_op *op, const char **at)
{
    const char *p = *at;
    op->tuple = *p == '(';
    op->bytes = 0;
    if (op->tuple) p = skip_comment(p + 1);
    for (;;) {
        if (op->tuple && *p == ')') break;
        hlo_shape first = {.bits = 0};
        int64_t bytes = 0;
        if (!add_shape(&p, &bytes, &first, 0)) return false;
        if (op->nelement < HLO_ELEMENTS) {
            op->element[op->nelement] = first;
            op->element_bytes[op->nelement] = bytes;
        }
        op->nelement++;
        op->bytes = bytes < 0 || op->bytes < 0 ? -1 : op->bytes + bytes;
        if (op->bytes > INT64_C(1) << 60) op->bytes = -1;
        if (!op->tuple) break;
        p = skip_comment(p);
    }
    *at = op->tuple ? p + 1 : p;
    return true;
}

/* `ROOT %add.3 = f32[8]{0} add(%a, %b), sharding={replicated}` */
static bool read_op(hlo_op *op, const char *text)
{
    const char *p = text;
    if (strncmp(p, "ROOT ", 5) == 0) {
        op->root = true;
        p += 5;
    }
    p += *p == '%';
    op->name = p;
    p = skip_word(p);
    op->name_length = (int)MW_MIN(p - op->name, 200);
    if (p == op->name || strncmp(p, " = ", 3) != 0) return false;
    p += 3;
    if (!read_result(op, &p) || *p != ' ') return false;
    op->opcode = ++p;
    p = skip_word(p);
    if (p == op->opcode || *p != '(') return false;
    op->opcode_length = (int)MW_MIN(p - op->opcode, 100);
    op->operands = p + 1;
    const char *end = mw__hlo_close(p);
    op->attrs = end ? end : p + strlen(p);
    return true;
}

/* ---- shardings ---------------------------------------------------------------------------------
 */

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
}

static void tell_elements(const hlo_op *op, mw_draft *d, const hlo_sharding *tuple)
{
    const char *p = tuple->at + 1, *end = tuple->at + tuple->length;
    for (int i = 0; i < HLO_ELEMENTS && p < end; i++) {
        hlo_sharding s;
        p = skip_comment(p);
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

static bool sharding_op(const hlo_op *op)
{
    const char *at = mw__hlo_attr(op, "sharding");
    hlo_sharding s;
    if (!at || *at != '{' || !mw__hlo_sharding_read(at, &s)) return false;
    op->s->shardings++;
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

static void follow(const hlo_op *op)
{
    const char *at = op->operands;
    bool passes = mw__hlo_is(op, "copy") || mw__hlo_is(op, "bitcast") || mw__hlo_is(op, "convert");
    for (int i = 0; i < 3; i++) {
        int length;
        const char *name = mw__hlo_operand(&at, &length);
        if (!name) return;
        const hlo_value *from = mw__hlo_value(op->s, mw__hlo_name_hash(name, length), false);
        if (!from) continue;
        hlo_value was = *from;
        bool cut = elementwise(op) && was.sharding && strstr(was.sharding, "devices=");
        if (!cut && !(passes && was.gather)) continue;
        hlo_value *v = mw__hlo_value(op->s, mw__hlo_name_hash(op->name, op->name_length), true);
        if (!v) return;
        if (cut) v->sharding = was.sharding;
        if (!passes) return;
        v->gather = was.gather;
        v->gather_dim = was.gather_dim;
        v->gather_bytes = was.gather_bytes;
        v->gather_groups = was.gather_groups;
        return;
    }
}

/* A tuple without annotation, of values whose shardings are known. */
static void bare_tuple(const hlo_op *op)
{
    const char *at = op->operands;
    mw_str text = {0};
    bool stated = true;
    for (int i = 0; i < op->nelement; i++) {
        int length;
        const char *name = mw__hlo_operand(&at, &length);
        const hlo_value *v =
            name ? mw__hlo_value(op->s, mw__hlo_name_hash(name, length), false) : NULL;
        if (!v || !v->sharding || text.length > 8000) {
            mw__str_done(&text);
            return;
        }
        stated = stated && v->stated;
        mw__str_printf(&text, "%s%s", i ? ", " : "{", v->sharding);
    }
    mw__str_putc(&text, '}');
    if (!op->nelement || op->s->spmd) {
        mw__str_done(&text);
        return;
    }
    const char *kept = mw__hlo_keep(op->e, &text);
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "sharding");
    mw__draft_says(d, "%.*s has no sharding of its own; that of its elements is %s.",
                   op->name_length, op->name, kept);
    mw__fact(d, "consistent sharding", stated ? MW_HOW_DERIVED : MW_HOW_ASSUMED,
             stated ? "one sharding per element, as the elements are annotated"
                    : "propagation through elementwise ops; the HLO after propagation settles it",
             "%s", kept);
}

/* ---- computations ------------------------------------------------------------------------------
 */

static void add_edge(const hlo_op *op, const char *name, int64_t runs)
{
    hlo_state *s = op->s;
    if (s->nedge >= HLO_EDGES || !s->computation) return;
    if (mw__grow(&s->edge, &s->cap_edge, s->nedge + 1, sizeof *s->edge) != MW_OK) {
        mw_error_clear();
        return;
    }
    const char *end = skip_word(name + (*name == '%'));
    s->edge[s->nedge++] = (hlo_edge){.caller = s->computation,
                                     .callee = mw__hlo_name_hash(name, end - name),
                                     .times = runs,
                                     .line = op->line->number};
}

static int64_t trip_count(const hlo_op *op)
{
    const char *at = strstr(op->attrs, "known_trip_count");
    int64_t n = 0;
    if (!at) return 0;
    at += strcspn(at, "0123456789");
    return mw__hlo_int(&at, &n) ? n : 0;
}

static void callees(const hlo_op *op)
{
    bool loop = mw__hlo_is(op, "while");
    const char *body = mw__hlo_attr(op, loop ? "body" : "calls");
    if (!body && mw__hlo_is(op, "call")) body = mw__hlo_attr(op, "to_apply");
    if (!body) return;
    add_edge(op, body, loop ? trip_count(op) : 1);
    if (!loop) return;
    int64_t runs = trip_count(op);
    mw_draft *d = mw__draft(op->e, op->line, "hlo", "loop");
    const char *end = skip_word(body + (*body == '%'));
    if (runs)
        mw__draft_says(d, "%.*s runs %.*s %lld times.", op->name_length, op->name,
                       (int)MW_MIN(end - body, 200), body, (long long)runs);
    else
        mw__draft_says(d, "%.*s runs %.*s; the text does not say how often.", op->name_length,
                       op->name, (int)MW_MIN(end - body, 200), body);
    if (runs) mw__fact(d, "runs", MW_HOW_STATED, op->from, "%lld", (long long)runs);
    mw__hlo_metadata(op, d);
}

static bool ends_spmd(const char *name, const char *end)
{
    return end - name >= 5 && memcmp(end - 5, "_spmd", 5) == 0;
}

/* The module's head is told with what its lines held, when it is over. */
static void close_module(mw_explain *e, hlo_state *s)
{
    mw__hlo_resolve(e, s);
    if (s->head && s->instructions) {
        mw__fact(s->head, "instructions", MW_HOW_DERIVED, "counted", "%lld",
                 (long long)s->instructions);
        mw__fact(s->head, "collectives", MW_HOW_DERIVED, "counted", "%lld",
                 (long long)s->collectives);
        if (!s->spmd && !s->collectives && s->shardings)
            mw__missing(e,
                        "the collectives of the HLO that begins in line %lld: it is printed "
                        "before partitioning, which is what adds them",
                        (long long)mw__draft_entry(s->head)->first);
    }
    if (s->named) memset(s->value, 0, HLO_NAMES * sizeof *s->value);
    s->named = false;
    s->head = NULL;
    s->computation = 0;
    s->open = s->spmd = false;
    s->instructions = s->collectives = s->shardings = 0;
}

static bool module_line(mw_explain *e, hlo_state *s, const mw_line *line, const char *from)
{
    if (strncmp(line->text, "HloModule ", 10) != 0) return false;
    close_module(e, s);
    s->open = true;
    s->partitions = 0;
    const char *name = line->text + 10, *end = skip_word(name);
    const char *parts = strstr(end, "num_partitions=");
    int64_t n;
    if (parts && (parts += 15, mw__hlo_int(&parts, &n))) s->partitions = n;
    if (s->partitions > 1 && strstr(end, "is_scheduled=true")) {
        s->spmd = true;
        s->why = "is_scheduled=true in the module's head: only what is partitioned is scheduled";
    }
    s->head = mw__draft(e, line, "hlo", "module");
    if (s->partitions)
        mw__draft_says(s->head, "An HLO module, %.*s, for %lld devices.",
                       (int)MW_MIN(end - name, 200), name, (long long)s->partitions);
    else
        mw__draft_says(s->head, "An HLO module, %.*s.", (int)MW_MIN(end - name, 200), name);
    if (s->partitions)
        mw__fact(s->head, "num_partitions", MW_HOW_STATED, from, "%lld", (long long)s->partitions);
    return true;
}

/* `ENTRY %main.5_spmd (p: f32[8]) -> f32[8] {`, `%body (x: f32[]) -> f32[] {`, `ENTRY main {`. */
static bool computation_line(mw_explain *e, hlo_state *s, const mw_line *line)
{
    const char *p = line->text;
    bool entry = strncmp(p, "ENTRY ", 6) == 0;
    if (line->length < 3 || line->text[line->length - 1] != '{') return false;
    if (entry) p += 6;
    const char *name = p + (*p == '%'), *end = skip_word(name);
    bool head = strncmp(end, " (", 2) == 0 && strstr(end, ") -> ");
    if (end == name || (!head && !(strcmp(end, " {") == 0 && (entry || s->open)))) return false;
    mw__explain_once(e);
    s->open = true;
    s->computation = mw__hlo_name_hash(name, end - name);
    if (!ends_spmd(name, end)) return true;
    s->spmd = true;
    s->why = "the _spmd at the end of the computation's name";
    if (!entry) return true;
    mw_draft *d = mw__draft(e, line, "hlo", "computation");
    mw__draft_says(d, "%.*s is printed after partitioning: its shapes are one device's piece.",
                   (int)MW_MIN(end - name, 200), name);
    mw__fact(
        d, "stage", MW_HOW_DERIVED, "the _spmd at the end of its name",
        "after partitioning: shapes are local, to be multiplied by the pieces and not divided");
    if (!s->head) s->head = d;
    return true;
}

static mw_status hlo_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    hlo_state *s = state;
    const char *t = line->text;
    *ret_taken = true;
    if (line->length == 1 && *t == '}' && s->computation) {
        mw__explain_once(e);
        s->computation = 0;
        return MW_OK;
    }
    if (*t == 'H' || t[line->length - 1] == '{') {
        const char *from =
            mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line->number);
        if (!from) return MW_NOMEM();
        if (strncmp(t, "HloModule ", 10) == 0) mw__explain_once(e);
        if (module_line(e, s, line, from) || computation_line(e, s, line)) return MW_OK;
    }
    hlo_op op = {.e = e, .s = s, .line = line, .from = ""};
    *ret_taken = strstr(t, " = ") && strchr(t, '[') && read_op(&op, t);
    if (!*ret_taken) return MW_OK;
    op.from = mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line->number);
    if (!op.from) return MW_NOMEM();
    s->instructions++;
    callees(&op);
    if (mw__hlo_collective(&op)) return MW_OK;
    if (mw__hlo_is(&op, "dot")) mw__hlo_dot(&op);
    if (sharding_op(&op)) return MW_OK;
    if (mw__hlo_is(&op, "tuple"))
        bare_tuple(&op);
    else
        follow(&op);
    return MW_OK;
}

static mw_status hlo_end(mw_explain *e, void *state)
{
    close_module(e, state);
    return MW_OK;
}

static void hlo_done(void *state)
{
    hlo_state *s = state;
    mw__free(s->value, s->value ? HLO_NAMES * sizeof *s->value : 0);
    mw__free(s->edge, (size_t)s->cap_edge * sizeof *s->edge);
    mw__free(s->move, (size_t)s->cap_move * sizeof *s->move);
}

const mw_reader_kind mw_reader_hlo = {.name = "hlo",
                                      .state_size = sizeof(hlo_state),
                                      .line = hlo_line,
                                      .end = hlo_end,
                                      .done = hlo_done,
                                      .repeats = true};
