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
        s->starved = !s->value;
        if (s->starved) return NULL;
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

const char *mw__hlo_word_end(const char *at)
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
        const char *end = mw__hlo_word_end(p + (*p == '%'));
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

const char *mw__hlo_skip(const char *p)
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
    const char *p = mw__hlo_skip(*at + 1);
    while (*p != ')') {
        if (depth > 8 || !add_shape(&p, bytes, first, depth + 1)) return false;
        p = mw__hlo_skip(p);
    }
    *at = p + 1;
    return true;
}

static bool read_result(hlo_op *op, const char **at)
{
    const char *p = *at;
    op->tuple = *p == '(';
    op->bytes = 0;
    if (op->tuple) p = mw__hlo_skip(p + 1);
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
        p = mw__hlo_skip(p);
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
    p = mw__hlo_word_end(p);
    op->name_length = (int)MW_MIN(p - op->name, 200);
    if (p == op->name || strncmp(p, " = ", 3) != 0) return false;
    p += 3;
    if (!read_result(op, &p) || *p != ' ') return false;
    op->opcode = ++p;
    p = mw__hlo_word_end(p);
    if (p == op->opcode || *p != '(') return false;
    op->opcode_length = (int)MW_MIN(p - op->opcode, 100);
    op->operands = p + 1;
    const char *end = mw__hlo_close(p);
    op->attrs = end ? end : p + strlen(p);
    return true;
}

/* ---- computations ------------------------------------------------------------------------------
 */

static bool ends_spmd(const char *name, const char *end)
{
    return end - name >= 5 && memcmp(end - 5, "_spmd", 5) == 0;
}

/* What all of the module moves, once it is over. */
static void tell_total(mw_explain *e, const hlo_state *s, const runs_total *total)
{
    mw_line line = {.number = s->last, .rank = -1};
    mw_draft *d = mw__draft(e, &line, "hlo", "total");
    int64_t first = mw__draft_entry(s->head) ? mw__draft_entry(s->head)->first : s->last;
    mw__fact(d, "instructions", MW_HOW_DERIVED, "counted", "%lld", (long long)s->instructions);
    if (!total->moves) {
        mw__draft_says(d, "No collective in the HLO that begins in line %lld: every op is local.",
                       (long long)first);
        mw__fact(d, "collectives", MW_HOW_DERIVED, "counted", "none: every op is local");
        return;
    }
    mw__runs_tell(d, total);
    if (total->bytes >= 0)
        mw__draft_says(d,
                       "The HLO that begins in line %lld: %lld collective%s, %lld run%s, %lld B "
                       "received per device%s.",
                       (long long)first, (long long)total->moves, total->moves == 1 ? "" : "s",
                       (long long)total->runs, total->runs == 1 ? "" : "s", (long long)total->bytes,
                       total->unknown ? ", of one run where a loop has no count" : "");
    else
        mw__draft_says(d, "The HLO that begins in line %lld: %lld collective%s, %lld run%s.",
                       (long long)first, (long long)total->moves, total->moves == 1 ? "" : "s",
                       (long long)total->runs, total->runs == 1 ? "" : "s");
}

/* The module is over: loops around its collectives are known. */
static void close_module(mw_explain *e, hlo_state *s)
{
    runs_total total;
    mw__runs_resolve(e, &s->runs, &total);
    mw__runs_add(&total, &s->again);
    s->again = (runs_total){.moves = 0};
    if (s->head && s->instructions) {
        if (s->spmd || total.moves) tell_total(e, s, &total);
        if (!s->spmd && !s->collectives && s->shardings)
            mw__missing(e,
                        "the collectives of the HLO that begins in line %lld: it is printed "
                        "before partitioning, which is what adds them",
                        (long long)mw__draft_entry(s->head)->first);
    }
    if (s->named) memset(s->value, 0, HLO_NAMES * sizeof *s->value);
    s->named = false;
    mw__hlo_frames_clear(&s->frames);
    s->head = NULL;
    s->computation = 0;
    s->open = s->spmd = s->entry = false;
    s->instructions = s->collectives = s->shardings = 0;
}

static bool module_line(mw_explain *e, hlo_state *s, const mw_line *line, const char *from)
{
    if (strncmp(line->text, "HloModule ", 10) != 0) return false;
    close_module(e, s);
    s->open = true;
    s->partitions = s->devices = 0;
    const char *name = line->text + 10, *end = mw__hlo_word_end(name);
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
    const char *name = p + (*p == '%'), *end = mw__hlo_word_end(name);
    bool head = strncmp(end, " (", 2) == 0 && strstr(end, ") -> ");
    if (end == name || (!head && !(strcmp(end, " {") == 0 && (entry || s->open)))) return false;
    mw__explain_once(e);
    s->open = true;
    s->entry = entry;
    if (entry) s->devices = 0;
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
    s->last = line->number;
    if (s->open && !s->computation && mw__hlo_frames_line(e, &s->frames, line)) {
        mw__explain_once(e);
        return MW_OK;
    }
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
    mw__hlo_callees(&op);
    if (mw__hlo_collective(&op)) return MW_OK;
    if (mw__hlo_is(&op, "dot")) mw__hlo_dot(&op);
    bool marked = mw__hlo_sharding_op(&op);
    if (mw__hlo_is(&op, "tuple")) {
        if (!marked) mw__hlo_tuple(&op);
    } else if (!marked || mw__hlo_is(&op, "parameter"))
        mw__hlo_follow(&op);
    if (s->starved) return MW_NOMEM();
    return MW_OK;
}

/* The same lines in another module: they count in its sum too. */
static void hlo_again(mw_explain *e, void *state, const mw_line *line, int64_t first, int64_t end)
{
    hlo_state *s = state;
    s->last = line->number;
    s->instructions++;
    for (int64_t i = first; i < end; i++) {
        const mw_entry *entry = mw_explain_entry(e, i);
        if (!entry->collective || strcmp(entry->event, "collective") != 0) continue;
        s->collectives++;
        runs_total one = {.moves = 1, .runs = entry->runs, .bytes = entry->bytes, .mean = -1};
        mw__runs_add(&s->again, &one);
    }
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
    mw__runs_done(&s->runs);
    mw__hlo_frames_done(&s->frames);
}

const mw_reader_kind mw_reader_hlo = {.name = "hlo",
                                      .state_size = sizeof(hlo_state),
                                      .line = hlo_line,
                                      .end = hlo_end,
                                      .again = hlo_again,
                                      .done = hlo_done,
                                      .repeats = true};
