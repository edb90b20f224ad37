/* StableHLO and Shardy text: meshes, shardings on arguments, results and ops in both spellings
 * (sdy.sharding, mhlo.sharding), constraints, manual computations. Ops that say nothing of these
 * are taken and passed over. */
#include "log/mlir.h"

enum { JOINED = 1 << 16 };

const char *mw__mlir_close(const char *at)
{
    int depth = 0;
    for (const char *p = at; *p; p++) {
        if (*p == '"') {
            p = strchr(p + 1, '"');
            if (!p) return NULL;
        } else if (*p == '<')
            depth++;
        else if (*p == '>' && (p == at || p[-1] != '-') && --depth == 0)
            return p + 1;
    }
    return NULL;
}

bool mw__mlir_type(const char *text, int index, hlo_shape *ret)
{
    const char *last = NULL;
    for (const char *p = strstr(text, " : "); p; p = strstr(p + 1, " : "))
        last = p + 3;
    if (!last) return false;
    const char *arrow = strstr(last, "-> ");
    if (arrow) last = arrow + 3;
    last += *last == '(';
    for (int i = 0; i < index; i++) {
        if (!mw__hlo_tensor_read(&last, ret) || strncmp(last, ", ", 2) != 0) return false;
        last += 2;
    }
    return mw__hlo_tensor_read(&last, ret);
}

int mw__mlir_name(const char *text, const char **ret)
{
    size_t n = strcspn(text, " ");
    *ret = text;
    return *text == '%' && strncmp(text + n, " = ", 3) == 0 ? (int)MW_MIN(n, 60) : 0;
}

const mw_mesh *mw__mlir_mesh(const mlir_here *h, const char *sharding)
{
    if (strncmp(sharding, "<@", 2) != 0) return NULL;
    const char *name = sharding + 2;
    size_t n = strcspn(name, ",> ");
    for (int i = h->s->nmesh; i-- > 0;)
        if (strlen(h->s->mesh[i].name) == n && memcmp(h->s->mesh[i].name, name, n) == 0)
            return h->s->mesh[i].mesh;
    return NULL;
}

/* ---- meshes ------------------------------------------------------------------------------------
 */

/* `["x"=2, "y"=4]` and `device_ids=[...]` as the text of a mesh. */
static bool mesh_text(const char *at, const char *end, mw_str *to)
{
    while (at < end && *at != ']') {
        at += strspn(at, ", [");
        if (*at != '"') return false;
        const char *name = at + 1, *close = strchr(name, '"');
        int64_t size;
        if (!close || close > end || close[1] != '=') return false;
        at = close + 2;
        if (!mw__hlo_int(&at, &size)) return false;
        mw__str_printf(to, "%s%.*s=%lld", to->length ? "," : "", (int)MW_MIN(close - name, 200),
                       name, (long long)size);
    }
    const char *ids = strstr(at, "device_ids=[");
    if (!ids || ids > end) return to->length > 0;
    ids += 11;
    const char *stop = strchr(ids, ']');
    if (!stop) return false;
    mw__str_puts(to, " ids=");
    for (; ids <= stop; ids++)
        if (*ids != ' ') mw__str_putc(to, *ids);
    return true;
}

static bool mesh_line(const mlir_here *h)
{
    const char *at = strstr(h->text, "sdy.mesh @");
    mlir_state *s = h->s;
    if (!at || at - h->text > 8) return false;
    const char *name = at + 10, *open = strchr(name, '<');
    size_t n = strcspn(name, " =");
    const char *end = open ? mw__mlir_close(open) : NULL;
    if (!end || n == 0 || n >= sizeof s->mesh[0].name) return false;
    mw_str text = {0};
    mw_mesh *mesh = NULL;
    bool read =
        mesh_text(open + 1, end, &text) && mw_mesh_parse(mw__str_text(&text), &mesh) == MW_OK;
    const char *kept = mw__hlo_keep(h->e, &text);
    mw_error_clear();
    mw__explain_once(h->e);
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "mesh");
    if (!read) {
        mw__draft_says(d, "A mesh, %.*s, that meshwise can't hold: %.*s.", (int)n, name,
                       (int)MW_MIN(end - open, 300), open);
        return true;
    }
    mw__draft_says(d, "Mesh %.*s: %s, %d devices.", (int)n, name, kept, mw_mesh_ranks(mesh));
    mw__fact(d, "mesh", MW_HOW_STATED, h->from, "%s", kept);
    if (s->nmesh == MLIR_MESHES) {
        mw_mesh_unref(s->mesh[--s->nmesh].mesh);
        s->dropped++;
    }
    memcpy(s->mesh[s->nmesh].name, name, n);
    s->mesh[s->nmesh].name[n] = 0;
    s->mesh[s->nmesh].line = h->line->number;
    s->mesh[s->nmesh++].mesh = mesh;
    return true;
}

/* ---- shardings ---------------------------------------------------------------------------------
 */

/* What a sharding at `at` is of: an argument or result before it, else the op of the line. */
static bool bearer(const mlir_here *h, const char *at, int index, hlo_shape *ret, mw_str *name)
{
    const char *type = NULL, *value = NULL;
    bool function = strstr(h->text, "func") || *h->text == '%';
    bool op = mw__mlir_name(h->text, &value) > 0;
    if (op) {
        mw__str_append(name, value, (size_t)mw__mlir_name(h->text, &value));
        return mw__mlir_type(h->text, index, ret);
    }
    for (const char *p = strstr(h->text, "tensor<"); p && p < at && function;
         p = strstr(p + 1, "tensor<"))
        type = p;
    if (!type) return false;
    const char *colon = type > h->text + 2 && type[-2] == ':' ? type - 2 : NULL;
    const char *start = colon;
    while (start && start > h->text && start[-1] != ' ' && start[-1] != '(')
        start--;
    if (start)
        mw__str_append(name, start, (size_t)MW_MIN(colon - start, 60));
    else
        mw__str_puts(name, "a result");
    return mw__hlo_tensor_read(&type, ret);
}

static void tell_sdy(const mlir_here *h, mw_draft *d, const char *label, const char *at,
                     const char *end, const hlo_shape *shape)
{
    const mw_mesh *mesh = mw__mlir_mesh(h, at);
    mw_mesh *own = NULL;
    mw__fact(d, *label ? label : "sharding", MW_HOW_STATED, h->from, "%.*s",
             (int)MW_MIN(end - at, 1000), at);
    if (strncmp(at, "<mesh<", 6) == 0) {
        char *copy = mw__arena_strndup(mw__explain_scratch(h->e), at, (size_t)(end - at));
        if (copy && mw_notation_mesh(copy, &own) != MW_OK) mw_error_clear();
        mesh = own;
    }
    if (!mesh) {
        mw__missing(h->e, "the mesh of line %lld: its sdy.mesh is not in the text",
                    (long long)h->line->number);
        return;
    }
    const mw_entry *entry = mw__draft_entry(d);
    bool alone = entry && shape && !own && !*label;
    uint64_t which = (uint64_t)(uintptr_t)mesh ^ (uint64_t)h->s->dropped;
    uint64_t key = alone ? mw__hlo_key(at, end - at, shape, which, false) : 0;
    if (alone && mw__hlo_told_before(h->e, d, key)) return;
    int first = entry ? entry->nfact : 0;
    mw_reading *r = shape && shape->ndim >= 0
                        ? mw__hlo_reading(h->e, mesh, at, end - at, shape->ndim, shape->dim)
                        : NULL;
    if (r) {
        mw__hlo_tell_reading(h->e, d, label, mesh, r, shape->bits);
        if (alone) mw__hlo_tell_again(h->e, d, key, first);
    } else if (shape && shape->ndim >= 0)
        mw__problem(d, "sharding-unfit", -1, -1, "",
                    "The sharding %.*s can't be read for a tensor of %d dims on its mesh.",
                    (int)MW_MIN(end - at, 300), at, shape->ndim);
    mw_reading_free(r);
    mw_mesh_unref(own);
}

/* Whether the line prints the sharding of an op that has a meaning of its own. */
static const char *role(const mlir_here *h)
{
    if (strstr(h->text, "sdy.sharding_constraint")) return "a constraint, ";
    if (strstr(h->text, "@SPMDFullToShardShape"))
        return "the begin of a manual region (from here on shapes are one device's piece), ";
    if (strstr(h->text, "@SPMDShardToFullShape")) return "the end of a manual region, ";
    if (strstr(h->text, "@Sharding")) return "a sharding constraint, ";
    return "";
}

static void one_sdy(const mlir_here *h, const char *at, const char *end, int index)
{
    hlo_shape shape = {.bits = 0};
    mw_str name = {0}, type = {0};
    bool typed = bearer(h, at, index, &shape, &name);
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "sharding");
    if (typed) mw__hlo_shape_str(&shape, &type);
    mw__draft_says(d, "%s, %s%s%s: %.*s.", name.length ? mw__str_text(&name) : "a value", role(h),
                   mw__str_text(&type), h->s->manual ? " (in a manual region)" : "",
                   (int)MW_MIN(end - at, 300), at);
    if (typed) mw__fact(d, "type", MW_HOW_STATED, h->from, "%s", mw__str_text(&type));
    tell_sdy(h, d, "", at, end, typed ? &shape : NULL);
    mw__str_done(&name);
    mw__str_done(&type);
}

static void keep_tiles(const mlir_here *h, const hlo_sharding *s)
{
    int ndim = s->kind == HLO_TILES_KIND ? s->ntile - s->nsub : 0;
    if (ndim < 1 || ndim > HLO_DIMS || h->s->ntiles == MLIR_TILES) return;
    mlir_tiles *t = &h->s->tiles[h->s->ntiles++];
    t->line = h->line->number;
    t->ndim = ndim;
    memcpy(t->tile, s->tile, (size_t)ndim * sizeof *t->tile);
}

static void one_mhlo(const mlir_here *h, const char *at, const hlo_sharding *s)
{
    hlo_shape shape = {.bits = 0};
    mw_str name = {0}, type = {0}, words = {0};
    bool typed = bearer(h, at, 0, &shape, &name);
    mw_draft *d = mw__draft(h->e, h->line, "stablehlo", "sharding");
    if (typed) mw__hlo_shape_str(&shape, &type);
    mw__hlo_sharding_str(s, &words);
    keep_tiles(h, s);
    mw__draft_says(d, "%s, %s%s: %s.", name.length ? mw__str_text(&name) : "a value", role(h),
                   mw__str_text(&type), mw__str_text(&words));
    if (typed) mw__fact(d, "type", MW_HOW_STATED, h->from, "%s", mw__str_text(&type));
    mw__hlo_tell(h->e, d, "", h->from, s, typed ? &shape : NULL, false, NULL);
    if (typed && s->kind == HLO_TILES_KIND && shape.ndim >= 0 && s->ntile - s->nsub != shape.ndim)
        mw__problem(d, "sharding-rank", -1, -1, "give it a sharding with one number per dim",
                    "The sharding cuts %d dims, the tensor has %d.", s->ntile - s->nsub,
                    shape.ndim);
    mw__str_done(&name);
    mw__str_done(&type);
    mw__str_done(&words);
}

static bool shardings(const mlir_here *h)
{
    int found = 0;
    for (const char *p = h->text; found < MLIR_MARKS && (p = strstr(p, "mhlo.sharding = \""));) {
        hlo_sharding s;
        p += 17;
        found++; /* counted before it is read: a line of many broken ones must end */
        if (mw__hlo_sharding_read(p, &s)) one_mhlo(h, p, &s);
    }
    for (const char *p = h->text; found < MLIR_MARKS && (p = strstr(p, "#sdy.sharding"));) {
        bool values = strncmp(p + 13, "_per_value<[", 12) == 0;
        p += values ? 25 : 13;
        for (int i = 0; *p == '<' && found < MLIR_MARKS; i++) {
            const char *end = mw__mlir_close(p);
            if (!end) return found > 0;
            one_sdy(h, p, end, i);
            found++;
            p = end + strspn(end, ", ");
            if (!values) break;
        }
    }
    const char *constraint = strstr(h->text, "sdy.sharding_constraint %");
    const char *open = constraint ? strchr(constraint, '<') : NULL;
    const char *end = open ? mw__mlir_close(open) : NULL;
    if (end) one_sdy(h, open, end, 0);
    return found > 0 || end;
}

/* ---- manual computations -----------------------------------------------------------------------
 */

static void manual_list(const mlir_here *h, mw_draft *d, const char *key, const char *label)
{
    const char *p = strstr(h->text, key);
    if (!p) return;
    p += strlen(key);
    for (int i = 0; i < MLIR_MARKS && *p == '<'; i++) {
        const char *end = mw__mlir_close(p);
        if (!end) return;
        const char *name = mw__explain_text(h->e, "%s %d", label, i);
        mw__fact(d, name ? name : label, MW_HOW_STATED, h->from, "%.*s", (int)MW_MIN(end - p, 500),
                 p);
        p = end + strspn(end, ", ");
    }
}

static bool manual_line(const mlir_here *h)
{
    if (!strstr(h->text, "sdy.manual_computation(")) return false;
    mw__explain_once(h->e);
    h->s->manual = true;
    mw_draft *d = mw__draft(h->e, h->line, "sdy", "manual");
    const char *axes = strstr(h->text, "manual_axes={");
    int length = axes ? (int)MW_MIN(strcspn(axes + 13, "}"), 200) : 0;
    mw__draft_says(d,
                   "A manual computation over %.*s begins: inside, shapes are one device's "
                   "piece along these axes, and collectives are the program's own.",
                   length, axes ? axes + 13 : "");
    if (axes)
        mw__fact(d, "manual axes", MW_HOW_STATED, h->from, "%.*s", length, axes + 13);
    else
        mw__missing(h->e, "the manual axes of the region in line %lld", (long long)h->line->number);
    manual_list(h, d, "in_shardings=[", "operand");
    manual_list(h, d, "out_shardings=[", "result");
    const char *inner = axes ? strchr(axes, '(') : NULL;
    for (int i = 0; i < MLIR_MARKS && inner && (inner = strstr(inner, "tensor<")); i++) {
        hlo_shape shape;
        if (!mw__hlo_tensor_read(&inner, &shape)) break;
        mw_str text = {0};
        mw__hlo_shape_str(&shape, &text);
        const char *name = mw__explain_text(h->e, "local shape of operand %d", i);
        mw__fact(d, name ? name : "", MW_HOW_STATED, h->from, "%s", mw__str_text(&text));
        mw__str_done(&text);
    }
    return true;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Lines of MLIR that say nothing of their own here. */
static bool passed_over(const mlir_here *h)
{
    const char *t = h->text;
    bool op = *t == '%' && (strstr(t, "stablehlo.") || strstr(t, "mhlo.") || strstr(t, "sdy.") ||
                            strstr(t, " = call @") || strstr(t, "func.call"));
    bool head = starts(t, "func.func ") || starts(t, "module {") || starts(t, "module @") ||
                starts(t, "module attributes");
    if (head && !h->s->open) h->s->first = h->line->number;
    if (head) h->s->open = true;
    if (op || head) return true;
    if (!h->s->open) return false;
    return starts(t, "sdy.return") || *t == '}' || starts(t, "cond {") ||
           starts(t, "stablehlo.return") || starts(t, "return %") || starts(t, "^bb") ||
           starts(t, "func.return") || starts(t, "%arg") || starts(t, ") -> ") ||
           starts(t, "mhlo.return") || starts(t, "func.call") || starts(t, "reducer(") ||
           starts(t, "// ");
}

/* `%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}`: arguments are
 * values too. */
static void arguments(const mlir_here *h)
{
    bool head = strstr(h->text, "func.func ") || starts(h->text, "%arg");
    const char *at = head ? h->text : strstr(h->text, " (%arg"), *arrow = strstr(h->text, ") -> ");
    const char *stop = h->text + strlen(h->text);
    for (int i = 0; i < 1000 && at && (at = strstr(at, "%")) != NULL; i++) {
        uint64_t name = mw__mlir_value_name(&at);
        if (!name) {
            at++;
            continue;
        }
        if (strncmp(at, ": ", 2) != 0) continue;
        const char *type = at + 2, *next = strchr(type, '%');
        mlir_value *v = mw__mlir_value(h->s, name, true);
        if (!v) return;
        *v = (mlir_value){.hash = name, .op = "an argument", .line = h->line->number};
        if (!mw__hlo_tensor_read(&type, &v->type)) v->type = (hlo_shape){.ndim = -1};
        const char *until = next ? next : arrow && arrow > type ? arrow : stop;
        const char *sharding = memmem(type, (size_t)MW_MAX(until - type, 0), "#sdy.sharding<", 14);
        if (!sharding) continue;
        const char *end = mw__mlir_close(sharding + 13);
        if (end)
            v->sharding = mw__arena_strndup(mw__explain_arena(h->e), sharding + 13,
                                            (size_t)(end - sharding - 13));
    }
}

/* What a whole op says. */
static bool statement(const mlir_here *h)
{
    bool taken = mw__mlir_error(h) || mesh_line(h);
    if (taken) return true;
    bool told = mw__mlir_region_end(h) || manual_line(h) || mw__mlir_sdy_collective(h) ||
                mw__mlir_collective(h);
    mw__mlir_scope(h);
    mw__mlir_gather(h);
    mw__mlir_define(h);
    mw__mlir_manual(h);
    mw__mlir_mean(h);
    if (told) return true;
    bool marked = shardings(h);
    mw__mlir_origins(h);
    arguments(h);
    return passed_over(h) || marked;
}

/* Attributes on lines of their own: `%0 = "op"(%a) <{`, lines, `}> : types`. They are read as one
 * line, which is that of the op. */
static bool join(const mlir_here *h, bool *ret_whole)
{
    mlir_state *s = h->s;
    size_t n = strlen(h->text);
    *ret_whole = false;
    if (!s->joined.length) {
        if (n < 3 || *h->text != '%' || strcmp(h->text + n - 2, "<{") != 0) return false;
        s->joined_line = h->line->number;
    } else
        mw__str_putc(&s->joined, ' ');
    mw__str_append(&s->joined, h->text, n);
    if (s->joined.length > JOINED)
        mw__str_clear(&s->joined);
    else
        *ret_whole = strncmp(h->text, "}>", 2) == 0;
    return true;
}

static mw_status sdy_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    const char *t = line->text;
    mlir_state *s = state;
    bool likely = *t == '%' || s->open || s->joined.length || strstr(t, "sdy") ||
                  strstr(t, "hlo.") || starts(t, "module ") || starts(t, "func.func") ||
                  strstr(t, "Check failed");
    *ret_taken = false;
    if (!likely) return MW_OK;
    mlir_here h = {.e = e, .s = s, .line = line, .text = t};
    h.from = mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line->number);
    if (!h.from) return MW_NOMEM();
    s->last = line->number;
    bool whole;
    *ret_taken = join(&h, &whole);
    MW_TRY(mw__str_status(&s->joined));
    if (*ret_taken && !whole) return MW_OK;
    mw_line first = *line;
    if (whole) {
        first.number = s->joined_line;
        h.line = &first;
        h.from = mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)first.number);
        h.text =
            mw__arena_strndup(mw__explain_scratch(e), mw__str_text(&s->joined), s->joined.length);
        mw__str_clear(&s->joined);
        if (!h.text || !h.from) return MW_NOMEM();
    }
    *ret_taken = statement(&h) || *ret_taken;
    if (s->starved) return MW_NOMEM();
    return MW_OK;
}

static mw_status sdy_end(mw_explain *e, void *state)
{
    mlir_state *s = state;
    mw__mlir_total(e, s);
    s->open = s->manual = false;
    s->pending = NULL;
    s->depth = s->over = 0;
    s->loop = NULL;
    mw__str_clear(&s->joined);
    return MW_OK;
}

static void sdy_done(void *state)
{
    mlir_state *s = state;
    for (int i = 0; i < s->nmesh; i++)
        mw_mesh_unref(s->mesh[i].mesh);
    mw__free(s->value, s->value ? MLIR_VALUES * sizeof *s->value : 0);
    mw__runs_done(&s->runs);
    mw__str_done(&s->joined);
}

const mw_reader_kind mw_reader_sdy = {.name = "sdy",
                                      .state_size = sizeof(mlir_state),
                                      .line = sdy_line,
                                      .end = sdy_end,
                                      .done = sdy_done};
