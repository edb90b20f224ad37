/* JAX: shardings and types as it prints them, its messages, and meshes in code. A repr may go on
 * over several lines (arrays of device ids); it is joined while its brackets are open. */
#include "log/explain.h"
#include "log/jax.h"

enum { JOINED_BYTES = 1 << 15, DEEPEST = MW_LAYOUT_DIMS };

/* ---- a value -----------------------------------------------------------------------------------
 */

static const char *name_of(const jx_here *h, const char *label, const char *name)
{
    const char *text = *label ? mw__explain_text(h->e, "%s: %s", label, name) : name;
    return text ? text : "";
}

static void entry_words(const jx_entry *entry, mw_str *to)
{
    for (int i = 0; i < entry->n; i++)
        mw__str_printf(to, "%s%.*s", i ? "," : "", entry->length[i], entry->at[i]);
}

/* In words, for which no sizes of axes are needed. */
static void tell_words(const jx_here *h, mw_draft *d, const char *label, const jx_value *v)
{
    mw_str text = {0};
    int ndim = v->ndim >= 0 ? v->ndim : v->nentry;
    for (int i = 0; i < ndim; i++) {
        bool cut = i < v->nentry && v->entry[i].n > 0, open = i < v->nentry && v->entry[i].open;
        mw__str_printf(&text, "%sdim %d ", text.length ? ", " : "", i);
        mw__str_puts(&text, open ? "left to the compiler" : cut ? "cut by " : "whole");
        if (cut) entry_words(&v->entry[i], &text);
    }
    const jx_entry *sets[] = {&v->unreduced, &v->reduced, &v->varying};
    static const char *const words[] = {"each device of %s holds a term of the sum",
                                        "reduced over %s: its gradient is unreduced there",
                                        "varying over %s: inside a manual region"};
    for (int i = 0; i < 3; i++) {
        if (!sets[i]->n) continue;
        const char *stop = strstr(words[i], "%s");
        mw__str_printf(&text, "%s%.*s", text.length ? "; " : "", (int)(stop - words[i]), words[i]);
        entry_words(sets[i], &text);
        mw__str_puts(&text, stop + 2);
    }
    mw__fact(d, name_of(h, label, "in words"), MW_HOW_DERIVED,
             "an entry names the axes that cut its dim; dims without one are whole", "%s",
             mw__hlo_keep(h->e, &text));
}

void mw__jx_tell(const jx_here *h, mw_draft *d, const char *label, const jx_value *v)
{
    spmd_mesh mesh;
    const char *from = mw__spmd_from(h->e, v->line);
    if (v->ndim >= 0) {
        mw_str shape = {0};
        mw__hlo_str_shape(v->ndim, v->shape, &shape);
        mw__fact(d, name_of(h, label, "shape"), MW_HOW_STATED, from, "%s",
                 mw__hlo_keep(h->e, &shape));
        if (v->dtype)
            mw__fact(d, name_of(h, label, "dtype"), MW_HOW_STATED, from, "%s",
                     mw_dtype_name(v->dtype));
    }
    mw__fact(d, name_of(h, label, "spec"), MW_HOW_STATED, from, "%s", v->spec ? v->spec : "");
    if (v->types && !*label)
        mw__fact(d, name_of(h, label, "axis types"), MW_HOW_STATED, from, "%s", v->types);
    if (v->memory)
        mw__fact(d, name_of(h, label, "memory kind"), MW_HOW_STATED, from, "%s", v->memory);
    tell_words(h, d, label, v);
    mw_mesh *made = mw__jx_mesh_of(h, v, &mesh);
    if (!made) {
        mw__missing(
            h->e,
            "the sizes of the mesh axes in line %lld: local shapes need them; --mesh x=2,y=4 "
            "would supply them",
            (long long)v->line);
        return;
    }
    if (!*label) mw__spmd_tell_mesh(h->e, d, &mesh);
    spmd_value plain = {
        .ndim = v->ndim, .dtype = v->dtype, .spec = v->spec, .nentry = v->nentry, .shorter = true};
    memcpy(plain.shape, v->shape, sizeof plain.shape);
    const char *why = "";
    bool proxy;
    mw_reading *r = mw__spmd_reading(h->e, made, &plain, &proxy, &why);
    if (r)
        (void)mw__spmd_tell(h->e, d, label, made, &plain);
    else if (*why)
        mw__fact(d, name_of(h, label, "can't be laid out"), MW_HOW_DERIVED, "the notation reader",
                 "%s", why);
    mw_reading_free(r);
    mw_mesh_unref(made);
}

/* The shape and dtype that stand beside a sharding in one line: `w (64, 32) bfloat16
 * NamedSharding(`. */
static void shape_beside(const jx_here *h, const char *text, const char *end, jx_value *v)
{
    for (const char *p = text; p < end; p++) {
        int64_t shape[MW_LAYOUT_DIMS];
        if (*p == '(' && v->ndim < 0) {
            mw_py *node = NULL;
            if (!mw__hlo_done(h->e, mw__py_read(p, end, &h->e->scratch, &node))) return;
            if (node->kind == MW_PY_SEQ) node = node->first;
            int n = mw__py_ints(node, shape, MW_LAYOUT_DIMS);
            if (n < 0) continue;
            v->ndim = n;
            memcpy(v->shape, shape, sizeof shape);
        }
        if (p > text && mw__spmd_word_char(p[-1])) continue;
        int n = 0;
        while (p + n < end && mw__spmd_word_char(p[n]))
            n++;
        mw_dtype dtype = n >= 4
                             ? mw_dtype_read(p, n)
                             : MW_DTYPE_NONE; /* a name of two or three letters may be anything */
        if (dtype) v->dtype = dtype;
    }
}

/* Names point into the line, which goes: they are read again out of the spec, which stays. What
 * can't be is not kept. */
static void keep_value(const jx_here *h, const jx_value *v)
{
    mw_py *node = NULL;
    jx_value again = {.ndim = -1};
    if (!v->spec ||
        !mw__hlo_done(h->e, mw__py_read(v->spec, v->spec + strlen(v->spec), &h->e->scratch, &node)))
        return;
    if (!mw__jx_spec(h, node, &again)) return;
    jx_value *to = &h->s->kept[h->s->nkept++ % JX_KEPT];
    *to = *v;
    memcpy(to->entry, again.entry, sizeof to->entry);
    to->nentry = again.nentry;
    to->unreduced = again.unreduced;
    to->reduced = to->varying = (jx_entry){0};
}

/* Types stand alone in a line, or behind a name: `x: f32[8@p,4]`. Elsewhere they may be another
 * system's. */
static bool types_alone(const jx_here *h)
{
    const char *at = h->text, *end = h->text;
    jx_value v;
    int n = (int)strcspn(at, "["), blanks = 0;
    while (n > 0 && mw__spmd_word_char(at[n - 1]))
        n--;
    if (n > 80) return false;
    for (int i = 0; i < n; i++) {
        blanks += at[i] == ' ' && i + 1 < n;
        if (!mw__spmd_word_char(at[i]) && !strchr(" .:=(/'", at[i])) return false;
    }
    if (blanks > 1) return false;
    /* `f32[8@p]` is meshwise's own text as well */
    const char *comma = strchr(at + n, ','), *size = strchr(at + n, '[');
    bool own = size && size - at - n <= 4 && !(comma && comma[1] != ' ') && !strstr(size, "{U:");
    if (own && !h->s->mesh.naxis && !h->s->nkept) return false;
    while (mw__jx_next(h, &at, true, &v))
        end = at;
    return end > h->text && strspn(end, " ,)") == strlen(end);
}

static bool value_line(const jx_here *h)
{
    const char *at = h->text, *first = NULL;
    jx_value v;
    int n = 0;
    if (!strstr(h->text, "NamedSharding(") && !types_alone(h)) return false;
    while (n < JX_VALUES && mw__jx_next(h, &at, false, &v)) {
        if (!first) {
            const char *word = strstr(h->text, "NamedSharding(");
            first = word ? word : h->text;
            if (word && v.ndim < 0 && first - h->text < 400) shape_beside(h, h->text, first, &v);
        }
        if (v.has_mesh) h->s->mesh = v.mesh;
        mw_draft *d = mw__draft(h->e, h->line, "jax", "sharding");
        if (!d) return true;
        mw__draft_entry(d)->first = h->first;
        mw__draft_weight(d, 15);
        mw__jx_tell(h, d, "", &v);
        const mw_entry *entry = mw__draft_entry(d);
        const char *words = "";
        for (int i = 0; i < entry->nfact; i++)
            if (strcmp(entry->fact[i].name, "in words") == 0) words = entry->fact[i].value;
        mw__draft_says(d, "A value sharded %s: %s.", v.spec ? v.spec : "?",
                       *words ? words : "a scalar");
        keep_value(h, &v);
        n++;
        if (v.ndim < 0)
            mw__missing(
                h->e,
                "the shape and dtype of the value in line %lld: local shapes and bytes need them",
                (long long)h->first);
    }
    return n > 0;
}

/* `P('x', None)` alone in its line, behind a name, or behind shape and dtype as lists of parameters
 * have it: `w: shape=(64, 32) dtype=bfloat16 sharding=PartitionSpec('x', None)`. */
static bool spec_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "PartitionSpec(");
    jx_value v = {.ndim = -1, .line = h->first};
    if (!at) at = mw__jx_word(h->text, "P(");
    if (!at || at - h->text > 200) return false;
    if (at[1] == '(' && at[2] >= 'a' && at[2] <= 'z') return false; /* P(sum): DTensor's Partial */
    bool caption = at - h->text > 5 && strncmp(at - 5, "spec ", 5) == 0;
    if (caption && strstr(h->text, "shape (")) return false; /* of a picture below it */
    mw_py *node = mw__jx_py(h, at);
    if (!node || strspn(node->at + node->length, " ,)") != strlen(node->at + node->length) ||
        !mw__jx_spec(h, node, &v))
        return false;
    shape_beside(h, h->text, at, &v);
    bool plain = true;
    for (const char *p = h->text; p < at; p++)
        plain = plain && (mw__spmd_word_char(*p) || strchr(" .:=/[]'", *p));
    bool named = v.unreduced.n || v.reduced.n;
    for (int i = 0; i < v.nentry; i++)
        named = named || v.entry[i].n > 0 || v.entry[i].open;
    if (v.ndim < 0 && (!plain || !named)) return false; /* P(None) may be anything */
    if (v.ndim >= 0 && v.nentry > v.ndim) return false;
    mw_draft *d = mw__draft(h->e, h->line, "jax", "sharding");
    mw__draft_says(d, "A partition spec: %s.", v.spec);
    mw__jx_tell(h, d, "", &v);
    return true;
}

/* `ShapedArray(float32[12,6])`: a type whose sharding is not part of it. */
static bool type_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "ShapedArray(");
    jx_value v;
    if (!at) return false;
    at += 12;
    if (!mw__jx_type(h, &at, &v)) return false;
    mw_str shape = {0};
    mw_draft *d = mw__draft(h->e, h->line, "jax", "type");
    mw__hlo_str_shape(v.ndim, v.shape, &shape);
    mw__fact(d, "shape", MW_HOW_STATED, h->from, "%s", mw__hlo_keep(h->e, &shape));
    mw__fact(d, "dtype", MW_HOW_STATED, h->from, "%s", mw_dtype_name(v.dtype));
    mw__fact(
        d, "sharding", MW_HOW_DERIVED, "only Explicit axes are part of a type",
        "not in the type: either no Explicit axis cuts it, or the mesh's axes are Auto and the "
        "compiler decides; that is not the same as replicated");
    mw__draft_says(d, "A type without a sharding in it: it is whole along Explicit axes, and says "
                      "nothing of Auto ones.");
    return true;
}

/* `Shard(device=CpuDevice(id=5), index=(slice(0, 6, None), slice(None, None, None)), replica_id=1,
 * ...)` */
static bool shard_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "Shard(device=");
    int64_t id, replica;
    mw_py *node = at ? mw__jx_py(h, at) : NULL;
    const mw_py *index = mw__py_key(node, "index");
    if (!index || index->kind != MW_PY_TUPLE) return false;
    mw_str text = {0};
    mw_draft *d = mw__draft(h->e, h->line, "jax", "shard");
    for (const mw_py *c = index->first; c; c = c->next) {
        const mw_py *from = mw__py_child(c, 0), *to = mw__py_child(c, 1);
        bool whole = !to || to->kind != MW_PY_INT || !from;
        mw__str_puts(&text, text.length ? ", " : "[");
        if (whole)
            mw__str_putc(&text, ':');
        else
            mw__str_printf(&text, "%lld:%lld", (long long)(from->kind == MW_PY_INT ? from->i : 0),
                           (long long)to->i);
    }
    mw__str_puts(&text, text.length ? "]" : "[]");
    const char *piece = mw__hlo_keep(h->e, &text);
    mw__fact(d, "piece", MW_HOW_STATED, h->from, "%s", piece);
    if (mw__spmd_int_after(at, "id=", &id))
        mw__fact(d, "device", MW_HOW_STATED, h->from, "%lld", (long long)id);
    if (mw__spmd_int_after(at, "replica_id=", &replica))
        mw__fact(d, "copy", MW_HOW_STATED, h->from, "%lld", (long long)replica);
    mw__draft_says(d, "One device's piece of an array: %s.", piece);
    return true;
}

/* ---- other shardings ---------------------------------------------------------------------------
 */

static bool gspmd_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "GSPMDSharding(");
    hlo_sharding s;
    if (!at || !mw__hlo_sharding_read(at + 14 + strspn(at + 14, " "), &s)) return false;
    mw_draft *d = mw__draft(h->e, h->line, "jax", "sharding");
    mw_str words = {0};
    mw__hlo_sharding_str(&s, &words);
    mw__draft_says(d, "A sharding as the compiler gave it back: %s.", mw__hlo_keep(h->e, &words));
    jx_value v = {.ndim = -1};
    hlo_shape shape = {.ndim = -1};
    if (at - h->text < 400) shape_beside(h, h->text, at, &v);
    if (v.ndim >= 0) {
        shape.ndim = v.ndim;
        memcpy(shape.dim, v.shape, sizeof shape.dim);
        shape.bits = v.dtype ? (int)mw_dtype_size(v.dtype) * 8 : 0;
    }
    mw__hlo_tell(h->e, d, "", h->from, &s, v.ndim >= 0 ? &shape : NULL, false, NULL);
    if (v.ndim < 0)
        mw__missing(h->e, "the shape of the value in line %lld: local shapes need it",
                    (long long)h->first);
    return true;
}

static bool single_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "SingleDeviceSharding(");
    int64_t id;
    if (!at) return false;
    mw_draft *d = mw__draft(h->e, h->line, "jax", "sharding");
    mw__draft_says(d, "A value that one device holds whole: it is not sharded at all.");
    mw__fact(d, "sharding", MW_HOW_STATED, h->from, "%s",
             mw__jx_keep(h, at, (int64_t)strcspn(at, "\n")));
    if (mw__spmd_int_after(at, "id=", &id))
        mw__fact(d, "device", MW_HOW_STATED, h->from, "%lld", (long long)id);
    return true;
}

/* `PositionalSharding([[{CPU 0} {CPU 1}] [{CPU 2, 3} ...]])`: nested lists of groups of devices. */
static bool positional_line(const jx_here *h)
{
    const char *at = mw__jx_word(h->text, "PositionalSharding(");
    int64_t count[DEEPEST + 1] = {0}, done[DEEPEST + 1] = {0};
    int depth = 0, deepest = 0, copies = 0;
    mw_str ids = {0}, text = {0};
    bool regular = true;
    if (!at) return false;
    for (const char *p = at + 19; *p && *p != ')' && regular; p++) {
        if (*p == '[') {
            regular = ++depth <= DEEPEST;
            deepest = MW_MAX(deepest, depth);
            if (regular) count[depth] = 0;
        } else if (*p == ']') {
            regular = depth > 0 && (!done[depth] || done[depth] == count[depth]);
            if (!regular) break;
            done[depth] = count[depth];
            if (--depth) count[depth]++;
        } else if (*p == '{') {
            int n = 0;
            for (; *p && *p != '}'; p++) {
                int64_t id;
                const char *digits = p;
                if (*p < '0' || *p > '9' || !mw__hlo_int(&digits, &id)) continue;
                mw__str_printf(&ids, "%s%lld", ids.length ? "," : "", (long long)id);
                p = digits - 1;
                n++;
            }
            regular = n > 0 && depth > 0 && (!copies || copies == n) && *p;
            copies = n;
            if (regular) count[depth]++;
        }
    }
    if (regular && deepest && depth == 0 && copies) {
        mw__str_puts(&text, "{devices=[");
        for (int i = 1; i <= deepest; i++)
            mw__str_printf(&text, "%s%lld", i > 1 ? "," : "", (long long)done[i]);
        if (copies > 1) mw__str_printf(&text, ",%d", copies);
        mw__str_printf(&text, "]%s%s}", mw__str_text(&ids),
                       copies > 1 ? " last_tile_dim_replicate" : "");
    }
    mw__str_done(&ids);
    const char *sharding = mw__hlo_keep(h->e, &text);
    mw_draft *d = mw__draft(h->e, h->line, "jax", "sharding");
    if (d) mw__draft_entry(d)->first = h->first;
    mw__draft_says(d, "A positional sharding: the devices' places in the list are the pieces' "
                      "places in the tensor.");
    hlo_sharding s;
    if (*sharding && mw__hlo_sharding_read(sharding, &s)) {
        mw__hlo_tell(h->e, d, "", h->from, &s, NULL, false, NULL);
        mw__missing(h->e, "the shape of the value in line %lld: local shapes need it",
                    (long long)h->first);
    } else {
        mw__fact(d, "sharding", MW_HOW_STATED, h->from, "%s", mw__jx_keep(h, at, 300));
    }
    return true;
}

/* ---- lines -------------------------------------------------------------------------------------
 */

static bool said_around(const char *text)
{
    static const char *const words[] = {"For simplicity, JAX has removed its internal frames",
                                        "jax.errors.SimplifiedTraceback",
                                        "The stack trace below excludes JAX-internal frames",
                                        "The preceding stack trace is the source",
                                        "Array arguments' axis sizes must be evenly divisible",
                                        "Entries in in_specs must be of length",
                                        "Check if these output values are meant to be replicated",
                                        "Either revise the spec to be shorter",
                                        "Revise the function so that all output types match",
                                        "JAX_TRACEBACK_FILTERING"};
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strstr(text, words[i])) return true;
    bool import = strncmp(text, "import jax", 10) == 0 || strncmp(text, "from jax", 8) == 0;
    return import;
}

static bool jax_word(const char *text)
{
    static const char *const words[] = {"Sharding(", "Mesh(", "make_mesh("};
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strstr(text, words[i])) return true;
    return false;
}

static bool one_line(const jx_here *h)
{
    bool code = strstr(h->text, "xs.") || strstr(h->text, "torch");
    if (code) return false;
    return mw__jx_error_line(h) || mw__jx_mesh_sentence(h) || value_line(h) || gspmd_line(h) ||
           type_line(h) || shard_line(h) || positional_line(h) || single_line(h) ||
           mw__jx_mesh_line(h) || spec_line(h) || said_around(h->text);
}

static mw_status jx_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    jx_state *s = state;
    jx_here h = {.e = e, .s = s, .line = line};
    bool begins =
             jax_word(line->text) && !strstr(line->text, "torch") && !strstr(line->text, "xs."),
         open;
    MW_TRY(
        mw__spmd_join(&s->joined, line, begins, JOINED_BYTES, &h.text, &h.first, &open, ret_taken));
    if (open) return MW_OK;
    h.from = mw__spmd_from(e, h.first);
    *ret_taken = one_line(&h) || *ret_taken;
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status jx_end(mw_explain *e, void *state)
{
    jx_state *s = state;
    mw_line line;
    if (!mw__spmd_unjoin(&s->joined, &line)) return MW_OK;
    jx_here h = {.e = e, .s = s, .line = &line, .text = line.text, .first = line.number};
    h.from = mw__spmd_from(e, h.first);
    (void)one_line(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static void jx_done(void *state)
{
    jx_state *s = state;
    mw__str_done(&s->joined.text);
}

const mw_reader_kind mw_reader_jax = {.name = "jax",
                                      .state_size = sizeof(jx_state),
                                      .line = jx_line,
                                      .end = jx_end,
                                      .done = jx_done,
                                      .claims = mw__jx_claims};
