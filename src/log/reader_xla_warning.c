/* The partitioner's warning that it gathers a whole tensor only to cut it anew: "Involuntary full
 * rematerialization", in the wordings of 2022 to 2025. Both shardings are said in words, laid out
 * on one mesh, and the planner says what the change would cost without the gather. Nothing is known
 * of the tensor but what the line prints; where it prints no shape, costs are parts of the tensor.
 */
#include "log/hlo_text.h"

#include <meshwise/plan.h>
#include <stdio.h>

enum { TOLD = 256, PLAN_DEVICES = 256 };

typedef struct xw_state {
    struct {
        uint64_t hash;
        mw_draft *draft;
    } told[TOLD];
    int ntold;
} xw_state;

typedef struct warning {
    mw_explain *e;
    mw_draft *d;
    const char *from; /* "line 3" */
    hlo_sharding was, wanted;
    bool has_shape, local, flat; /* flat: dims of one piece left out so that the rank fits */
    hlo_shape shape;
    const char *op, *opcode; /* of the printed instruction, or NULL */
    int op_length, opcode_length;
    int ndim;
    int64_t whole[HLO_DIMS]; /* the shape that plans are made for */
    bool proxy;              /* of one element per tile: costs are parts */
} warning;

typedef struct cost {
    int64_t now, after, pulled; /* elements received by the rank that receives most */
    int64_t now_sum, after_sum; /* by all */
    int64_t all, held;          /* of the tensor; of one piece before */
    int nrank, receivers;       /* of the exchange that fetches just what lacks */
    const char *steps, *who;    /* their numbers; "" where they are all or many */
} cost;

static const char *find_sharding(const char *text, const char *word, hlo_sharding *ret)
{
    const char *at = strstr(text, word);
    if (!at) return NULL;
    at += strlen(word);
    return mw__hlo_sharding_read(at, ret) ? at + ret->length : NULL;
}

/* "%pad = f64[48]{0} pad(" after "HLO operation". */
static void read_op(warning *w, const char *text)
{
    const char *at = strstr(text, "HLO operation");
    if (!at) return;
    at += strlen("HLO operation");
    at += strspn(at, ": ");
    const char *equals = strstr(at, " = ");
    if (!equals || equals - at > 200) return;
    w->op = at;
    w->op_length = (int)(equals - at);
    const char *p = equals + 3;
    if (!mw__hlo_shape_read(&p, &w->shape) || *p != ' ') return;
    w->has_shape = w->shape.ndim >= 0;
    w->opcode = ++p;
    w->opcode_length = (int)MW_MIN(strcspn(p, "( "), 60);
    bool cut_name = strncmp(w->op, "%param", 6) == 0 && strncmp(w->opcode, "parameter", 9) == 0;
    w->local = cut_name || strstr(text, "efficiently for HLO operation");
}

static int data_dims(const hlo_sharding *s)
{
    return s->ntile - s->nsub;
}

/* Leaves out dims of one piece until the sharding has `ndim` dims; its text is made anew. */
static bool flatten(warning *w, hlo_sharding *s, int ndim)
{
    int have = data_dims(s), n = 0;
    int64_t tile[HLO_TILES];
    mw_str text = {0};
    if (s->named || s->kind != HLO_TILES_KIND || have <= ndim)
        return s->kind != HLO_TILES_KIND || have == ndim;
    for (int i = 0; i < s->ntile; i++) {
        bool out = i < have && s->tile[i] == 1 && have - ndim > i - n;
        if (!out) tile[n++] = s->tile[i];
    }
    if (n - s->nsub != ndim) return false;
    const char *close = memchr(s->at, ']', (size_t)s->length);
    if (!close) return false;
    mw__str_puts(&text, "{devices=");
    mw__hlo_str_shape(n, tile, &text);
    mw__str_append(&text, close + 1, (size_t)(s->at + s->length - close - 1));
    s->at = mw__hlo_keep(w->e, &text);
    s->length = (int64_t)strlen(s->at);
    s->ntile = n;
    memcpy(s->tile, tile, sizeof tile);
    return true;
}

static bool choose_shape(warning *w)
{
    int a = w->was.kind == HLO_TILES_KIND ? data_dims(&w->was) : -1;
    int b = w->wanted.kind == HLO_TILES_KIND ? data_dims(&w->wanted) : -1;
    w->proxy = !w->has_shape;
    w->ndim = w->has_shape ? w->shape.ndim : MW_MAX(a, b);
    if (w->ndim < 1 || w->ndim > HLO_DIMS) return false;
    if (!flatten(w, &w->was, w->ndim) || !flatten(w, &w->wanted, w->ndim)) return false;
    w->flat = (a >= 0 && a != w->ndim) || (b >= 0 && b != w->ndim);
    for (int i = 0; i < w->ndim; i++) {
        int64_t x = w->was.kind == HLO_TILES_KIND ? w->was.tile[i] : 1;
        int64_t y = w->wanted.kind == HLO_TILES_KIND ? w->wanted.tile[i] : 1;
        if (w->proxy)
            w->whole[i] = x * y;
        else if (mw__mul_size(w->shape.dim[i], w->local ? x : 1, &w->whole[i]) != MW_OK) {
            mw_error_clear();
            return false;
        }
    }
    return true;
}

static const mw_layout *layout_of(const mw_reading *r)
{
    return r ? mw_reading_layout(r) : NULL;
}

static bool plan_once(const mw_mesh *mesh, const mw_layout *a, const mw_layout *b,
                      mw_plan_steps steps, int64_t *ret_bytes, int64_t *ret_sum, mw_explain *e,
                      cost *c)
{
    mw_planned *plan = NULL;
    mw_plan_options options = {.steps = steps, .minimize = MW_MINIMIZE_BYTES};
    if (!mw__hlo_done(e, mw_plan_layouts(mesh, a, b, &options, &plan))) return false;
    const mw_plan_facts *facts = mw_planned_facts(plan);
    *ret_bytes = facts->recv_bytes;
    *ret_sum = facts->recv_bytes_total;
    mw_str text = {0}, who = {0};
    for (int i = 0; i < facts->nstep && i < 32; i++)
        mw__str_printf(&text, "%s%s", i ? "; " : "", mw_planned_step(plan, i)->text);
    if (steps == MW_STEPS_CLASSIC) c->steps = mw__hlo_keep(e, &text);
    c->receivers = 0;
    c->nrank = facts->nrank;
    for (int i = 0; i < facts->nrank; i++) {
        if (!facts->recv_bytes_each[i]) continue;
        if (c->receivers++ < 16) mw__str_printf(&who, "%s%d", who.length ? "," : "", i);
    }
    c->who = c->receivers > 16 || c->receivers == facts->nrank ? "" : mw__hlo_keep(e, &who);
    mw__str_done(&text);
    mw__str_done(&who);
    mw_planned_free(plan);
    return true;
}

static bool find_cost(const warning *w, const mw_mesh *mesh, cost *ret)
{
    *ret = (cost){.steps = "", .who = ""};
    if (!mesh || mw_mesh_ranks(mesh) > PLAN_DEVICES) return false;
    mw_reading *a = mw__hlo_sharding_reading(w->e, mesh, &w->was, w->ndim, w->whole);
    mw_reading *b = mw__hlo_sharding_reading(w->e, mesh, &w->wanted, w->ndim, w->whole);
    const mw_layout *from = layout_of(a), *to = layout_of(b);
    bool good = from && to;
    ret->all = 1;
    for (int i = 0; i < w->ndim && good; i++)
        good = mw__mul_size(ret->all, w->whole[i], &ret->all) == MW_OK;
    good = good && ret->all < INT64_C(1) << 55;
    if (good) {
        mw_layout all = mw_layout_replicated(MW_DTYPE_i8, w->ndim, w->whole);
        ret->held = 1;
        int64_t sum, local[MW_LAYOUT_DIMS];
        mw_layout_local_shape(mesh, from, 0, local);
        for (int i = 0; i < w->ndim; i++)
            ret->held *= local[i];
        good =
            plan_once(mesh, from, &all, MW_STEPS_ALL, &ret->now, &ret->now_sum, w->e, ret) &&
            plan_once(mesh, from, to, MW_STEPS_CLASSIC, &ret->after, &ret->after_sum, w->e, ret) &&
            plan_once(mesh, from, to, MW_STEPS_ALL, &ret->pulled, &sum, w->e, ret);
    }
    mw_error_clear();
    mw_reading_free(a);
    mw_reading_free(b);
    return good;
}

/* ---- saying it ---------------------------------------------------------------------------------
 */

static int64_t in_bytes(const warning *w, int64_t elements)
{
    return (elements * w->shape.bits + 7) / 8;
}

/* "20480 B" or "5/32 of the tensor". */
static const char *amount(const warning *w, const cost *c, int64_t elements)
{
    const char *text;
    if (elements == 0) return "nothing";
    if (!w->proxy && w->shape.bits)
        text = mw__explain_text(w->e, "%lld B", (long long)in_bytes(w, elements));
    else if (elements == c->all)
        return "all of the tensor";
    else {
        int64_t a = elements, b = c->all;
        while (b) {
            int64_t r = a % b;
            a = b;
            b = r;
        }
        text = mw__explain_text(w->e, "%lld/%lld of the tensor", (long long)(elements / a),
                                (long long)(c->all / a));
    }
    return text ? text : "";
}

static void tell_cost(const warning *w, const cost *c)
{
    mw_how how = w->proxy ? MW_HOW_DERIVED : MW_HOW_ASSUMED;
    if (!w->proxy && !w->flat && !w->local && strncmp(w->op, "%param", 6) != 0)
        how = MW_HOW_DERIVED;
    const char *what = w->proxy  ? "tile counts, for sizes that divide"
                       : w->flat ? "if the sharding is read without its dims of one piece"
                       : w->local
                           ? "if the printed shape is one device's piece, as the partitioner "
                             "prints what it has cut"
                           : "if the printed shape is the whole tensor";
    mw__fact(w->d, "received per device now", how, what,
             "%s: the whole tensor is gathered, then cut", amount(w, c, c->now));
    mw__fact(w->d, "held per device now", how, what, "%s", amount(w, c, c->all));
    mw__fact(w->d, "piece before", how, what, "%s", amount(w, c, c->held));
    mw__fact(w->d, "received per device with collectives", how,
             "the cheapest sequence of collectives that the planner finds", "%s: %s",
             amount(w, c, c->after), *c->steps ? c->steps : "no step");
    if (*c->who)
        mw__fact(w->d, "devices that lack anything", how, "both shardings, piece by piece",
                 "%d of %d: {%s}; the others hold what they are to have", c->receivers, c->nrank,
                 c->who);
    mw__fact(w->d, "received per device at least", how,
             "every device fetches just what it lacks, in one exchange", "%s",
             amount(w, c, c->pulled));
}

static const char *op_name(const warning *w)
{
    const char *name = w->op ? mw__explain_text(w->e, "%.*s", w->op_length, w->op) : NULL;
    return name ? name : "";
}

static void tell_problem(const warning *w, const cost *c)
{
    bool bytes = !w->proxy && w->shape.bits;
    const char *what = op_name(w);
    const char *fix = mw__explain_text(
        w->e,
        "annotate %s with the sharding that its users want, or put a sharding constraint between "
        "the two that the partitioner can reach in one step from each (steps: %s)",
        *what ? what : "the tensor", *c->steps ? c->steps : "none");
    if (c->after == c->now) { /* the same for the device that receives most, less for all */
        int64_t n = c->nrank;
        mw__problem(w->d, "needless-movement", bytes ? in_bytes(w, c->now_sum) / n : -1,
                    bytes ? in_bytes(w, c->after_sum) / n : -1, fix ? fix : "",
                    "Every device holds all of the tensor, and all together receive %s, where %d "
                    "of %lld devices receiving %s would do%s (per device: the mean).",
                    amount(w, c, c->now_sum), c->receivers, (long long)n,
                    amount(w, c, c->after_sum),
                    w->flat ? ", if the sharding is read without its dims of one piece" : "");
        return;
    }
    mw__problem(w->d, "needless-movement", bytes ? in_bytes(w, c->now) : -1,
                bytes ? in_bytes(w, c->after) : -1, fix ? fix : "",
                "Every device receives %s and holds all of the tensor, where receiving %s would "
                "do%s.",
                amount(w, c, c->now), amount(w, c, c->after),
                w->flat ? ", if the sharding is read without its dims of one piece" : "");
}

/* `padding=4_3`, `padding=0_0x2_1_1`: before, behind and between the elements of each dim. */
static void tell_padding(const warning *w, const char *text)
{
    const char *at = strstr(text, "padding=");
    if (!at || !w->opcode || strncmp(w->opcode, "pad(", 4) != 0) return;
    at += strlen("padding=");
    for (int dim = 0; dim < HLO_DIMS; dim++, at++) {
        int64_t low, high;
        bool minus = *at == '-';
        at += minus;
        if (!mw__hlo_int(&at, &low) || *at++ != '_') return;
        bool less = *at == '-';
        at += less;
        if (!mw__hlo_int(&at, &high)) return;
        mw__fact(w->d, "padding", MW_HOW_STATED, w->from,
                 "dim %d: %s%lld low (before), %s%lld high (behind)", dim, minus ? "-" : "",
                 (long long)low, less ? "-" : "", (long long)high);
        if (*at == '_') at += 1 + strspn(at + 1, "0123456789");
        if (*at != 'x') return;
    }
}

static void tell_metadata(const warning *w, const char *text)
{
    static const char *const keys[] = {"op_name", "source_file", "source_line"};
    for (int i = 0; i < MW_COUNT(keys); i++) {
        char key[16];
        int n = snprintf(key, sizeof key, "%s=", keys[i]);
        const char *at = strstr(text, key);
        if (!at) continue;
        at += n;
        bool quoted = *at == '"';
        at += quoted;
        int length = (int)MW_MIN(strcspn(at, quoted ? "\"" : " ,}"), 400);
        mw__fact(w->d, keys[i], MW_HOW_STATED, w->from, "%.*s", length, at);
    }
}

static void tell_missing(const warning *w, int64_t line)
{
    if (!w->op)
        mw__missing(w->e,
                    "which tensor and which op: the warning in line %lld names neither, nor shape "
                    "or dtype, so no bytes can be given",
                    (long long)line);
    else if (!w->has_shape)
        mw__missing(w->e, "the shape of the tensor: line %lld prints none", (long long)line);
    else
        mw__missing(w->e,
                    "whether the shape in line %lld is the whole tensor or one device's piece: the "
                    "HLO of that op before partitioning would tell",
                    (long long)line);
}

static void tell_rank(const warning *w, const hlo_sharding *s, const char *which)
{
    if (s->kind != HLO_TILES_KIND || !w->has_shape || data_dims(s) == w->shape.ndim) return;
    mw_str shape = {0};
    mw__hlo_shape_str(&w->shape, &shape);
    mw__problem(w->d, "sharding-rank", -1, -1,
                "annotate this op itself: the sharding is that of a tensor of another rank",
                "The %s sharding %.*s cuts %d dims, the tensor %s has %d: the annotation does not "
                "fit the tensor.",
                which, (int)MW_MIN(s->length, 300), s->at, data_dims(s), mw__str_text(&shape),
                w->shape.ndim);
    mw__str_done(&shape);
}

static void tell(warning *w, const mw_line *line, const char *text)
{
    mw_str a = {0}, b = {0}, shape = {0};
    mw__hlo_sharding_str(&w->was, &a);
    mw__hlo_sharding_str(&w->wanted, &b);
    if (w->has_shape) mw__hlo_shape_str(&w->shape, &shape);
    const char *words_a = mw__hlo_keep(w->e, &a), *words_b = mw__hlo_keep(w->e, &b);
    const char *printed = mw__hlo_keep(w->e, &shape);
    if (w->op)
        mw__fact(w->d, "op", MW_HOW_STATED, w->from, "%.*s %.*s", w->op_length, w->op,
                 w->opcode_length, w->opcode ? w->opcode : "");
    if (w->has_shape) mw__fact(w->d, "printed shape", MW_HOW_STATED, w->from, "%s", printed);
    tell_padding(w, text);
    tell_metadata(w, text);
    tell_rank(w, &w->was, "source");
    tell_rank(w, &w->wanted, "target");
    mw_mesh *mesh = mw__hlo_mesh(w->e, &w->was, &w->wanted);
    hlo_sharding was = w->was, wanted = w->wanted;
    cost c;
    bool shaped = choose_shape(w);
    bool known = shaped && find_cost(w, mesh, &c);
    hlo_shape whole = w->shape;
    whole.ndim = w->ndim;
    memcpy(whole.dim, w->whole, sizeof whole.dim);
    const hlo_shape *fits = shaped && !w->proxy ? &whole : NULL;
    mw__hlo_tell(w->e, w->d, "from", w->from, w->flat ? &was : &w->was, fits, false, mesh);
    mw__hlo_tell(w->e, w->d, "to", w->from, w->flat ? &wanted : &w->wanted, fits, false, mesh);
    mw__draft_says(w->d,
                   "The partitioner found no way from one sharding (%s) to the other (%s)%s%.*s "
                   "and lets every device gather the whole tensor%s%s.",
                   words_a, words_b, w->op ? " for " : "", w->op_length, w->op ? w->op : "",
                   known ? ": received per device " : "", known ? amount(w, &c, c.now) : "");
    mw__draft_moved(w->d, "all_gather", "all devices", op_name(w),
                    known && !w->proxy && w->shape.bits ? in_bytes(w, c.now) : -1);
    if (known) {
        tell_cost(w, &c);
        bool cuts = w->wanted.kind == HLO_TILES_KIND;
        if (c.after < c.now || (c.after == c.now && c.after_sum < c.now_sum && cuts))
            tell_problem(w, &c);
    }
    if (!known)
        mw__missing(w->e,
                    "what the change in line %lld costs: its shardings have no common layout that "
                    "can be planned (up to %d devices are)",
                    (long long)line->number, PLAN_DEVICES);
    tell_missing(w, line->number);
    mw__draft_weight(w->d, 60);
    mw_mesh_unref(mesh);
}

/* The same warning again, with whatever stands before it. */
static bool told_before(xw_state *s, uint64_t hash, const mw_line *line)
{
    for (int i = 0; i < s->ntold; i++) {
        if (s->told[i].hash != hash) continue;
        mw_entry *entry = mw__draft_entry(s->told[i].draft);
        uint64_t bit = line->rank >= 0 && line->rank < 64 ? UINT64_C(1) << line->rank : 0;
        if (!bit || (entry->ranks & bit)) entry->count++;
        entry->ranks |= bit;
        entry->latest = line->number;
        return true;
    }
    return false;
}

static mw_status xw_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    xw_state *s = state;
    *ret_taken = false;
    const char *at = strstr(line->text, "nvoluntary full remat");
    if (!at) return MW_OK;
    warning w = {.e = e};
    const char *next = find_sharding(at, "from sharding ", &w.was);
    if (!next || !find_sharding(next, "to ", &w.wanted)) return MW_OK;
    *ret_taken = true;
    uint64_t hash = mw__hash(7, at, strlen(at));
    if (told_before(s, hash, line)) return MW_OK;
    w.d = mw__draft(e, line, "xla", "rematerialization");
    if (!w.d) return MW_NOMEM();
    const char *from =
        mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line->number);
    if (!from) return MW_NOMEM();
    w.from = from;
    read_op(&w, next);
    tell(&w, line, next);
    if (s->ntold < TOLD) {
        s->told[s->ntold].hash = hash;
        s->told[s->ntold++].draft = w.d;
    }
    return MW_OK;
}

const mw_reader_kind mw_reader_xla_warning = {
    .name = "xla_warning", .state_size = sizeof(xw_state), .line = xw_line};
