/* A call of an op as DTensor logs it: reading its arguments, giving them their names by ATen's
 * declaration. */
#include "log/dtensor.h"

#include <stdlib.h>

/* ---- declarations
 * ------------------------------------------------------------------------------------ */

static const char *const declared[] = {
#define SCHEMA(text) text,
#include "log/schemas.def"
#undef SCHEMA
};
_Static_assert(MW_COUNT(declared) <= DT_SCHEMAS, "the state keeps all of them");

/* aten.mm.default and aten::mm are one name: "mm", and the overload "" or "Tensor". */
typedef struct op_name {
    const char *name, *overload;
    int nname, noverload;
} op_name;

static op_name split_name(const char *at, int length)
{
    op_name n = {.name = at, .nname = length, .overload = "", .noverload = 0};
    const char *end = at + length;
    static const char *const spaces[] = {"torch.ops.", "aten.", "aten::"};
    for (int i = 0; i < MW_COUNT(spaces); i++) {
        size_t k = strlen(spaces[i]);
        if ((size_t)(end - n.name) > k && memcmp(n.name, spaces[i], k) == 0) n.name += k;
    }
    n.nname = (int)(end - n.name);
    const char *dot = memchr(n.name, '.', (size_t)n.nname);
    if (dot) {
        n.overload = dot + 1;
        n.noverload = (int)(end - n.overload);
        n.nname = (int)(dot - n.name);
    }
    if (n.noverload == 7 && memcmp(n.overload, "default", 7) == 0) n.noverload = 0;
    return n;
}

static bool declares(const char *text, const op_name *n)
{
    const char *name = text + 6; /* aten:: */
    size_t length = strcspn(name, "(");
    const char *dot = memchr(name, '.', length);
    size_t nname = dot ? (size_t)(dot - name) : length;
    size_t noverload = dot ? length - nname - 1 : 0;
    return nname == (size_t)n->nname && memcmp(name, n->name, nname) == 0 &&
           noverload == (size_t)n->noverload &&
           memcmp(dot ? dot + 1 : "", n->overload, noverload) == 0;
}

/* Is there an op WORD_backward, WORD_dense_backward, WORD_backward_data? */
bool mw__dt_declares_backward(const char *word, size_t length)
{
    for (int i = 0; i < MW_COUNT(declared); i++) {
        const char *name = declared[i] + 6, *back = strstr(name, "backward");
        if (back && back < name + strcspn(name, ".(") && strncmp(name, word, length) == 0 &&
            name[length] == '_')
            return true;
    }
    return false;
}

/* An op of meshwise's whose rule holds for the first arguments (three at most) and the first
 * result: kernels of one op, a cast (elements stay where they are), a reduction over all dims. */
static const mw_op *stand_in(const dt_call *call)
{
    static const struct {
        const char *word, *op;
    } same[] = {{"_to_copy", "clone"}, {"max", "amax"}, {"min", "amin"}};
    if (strncmp(call->word, "_scaled_dot_product_", 20) == 0 && !strstr(call->word, "backward"))
        return mw__op_find("scaled_dot_product_attention", 28);
    for (int i = 0; i < MW_COUNT(same); i++)
        if (strcmp(call->word, same[i].word) == 0 && !strstr(call->name, ".dim") &&
            !strstr(call->name, ".other"))
            return mw__op_find(same[i].op, strlen(same[i].op));
    return NULL;
}

static void declaration_of(const dt_here *h, dt_call *call)
{
    op_name n = split_name(call->name, (int)strlen(call->name));
    call->word = mw__arena_strndup(&h->e->arena, n.name, (size_t)n.nname);
    if (!call->word) {
        h->e->failed = true;
        call->word = "";
    }
    call->op = mw__op_find(call->name, strlen(call->name));
    const mw_op_info *info = call->op ? mw__op_info_of(call->op) : NULL;
    if (info) {
        /* found by name alone: another overload declares other arguments */
        size_t overload = strlen(info->schema.overload), length = strlen(call->name);
        bool unsaid =
            n.noverload == 0 && !memchr(call->name, '.', length); /* a tree's aten::slice */
        if (unsaid || (overload == (size_t)n.noverload &&
                       memcmp(info->schema.overload, n.overload, overload) == 0)) {
            call->schema = &info->schema;
            return;
        }
        call->op = NULL;
    }
    call->same_as = stand_in(call);
    for (int i = 0; i < MW_COUNT(declared); i++) {
        if (!declares(declared[i], &n)) continue;
        call->schema = h->s->declared[i];
        if (call->schema) return;
        mw_schema *schema = mw__arena_alloc(&h->e->arena, sizeof *schema);
        if (!schema)
            h->e->failed = true;
        else if (!mw__dt_failed(h, mw__schema_parse(declared[i], schema)))
            call->schema = h->s->declared[i] = schema;
        return;
    }
}

const char *mw__dt_arg_name(const dt_call *call, int position)
{
    if (position < call->narg && call->arg[position].name) return call->arg[position].name;
    return call->schema && position < call->schema->narg ? call->schema->arg[position].name : NULL;
}

/* ---- arguments
 * --------------------------------------------------------------------------------------- */

static const char *keep(const dt_here *h, const char *at, int64_t length)
{
    const char *text = mw__arena_strndup(&h->e->arena, at, (size_t)MW_MIN(length, 240));
    if (!text) h->e->failed = true;
    return text ? text : "";
}

/* A tensor; DebugMode quotes those in lists: ['t: f32[4]', 't: f32[4]']. */
static bool tensor_of(const dt_here *h, const mw_py *node, dt_tensor *ret)
{
    mw_py *inner;
    if (node->kind != MW_PY_STR) return mw__dt_read_tensor(node, ret);
    if (node->name_length < 4 || (node->name[0] != 't' && node->name[0] != 'd')) return false;
    if (mw__py_read(node->name, node->name + node->name_length, h->scratch, &inner) != MW_OK) {
        h->e->failed = true;
        return false;
    }
    return mw__dt_read_tensor(inner, ret);
}

bool mw__dt_tensors_of(const dt_here *h, const mw_py *node, dt_tensor *ret, int cap, int *ret_n)
{
    *ret_n = 0;
    if (!node) return false;
    if (tensor_of(h, node, ret)) {
        *ret_n = 1;
        return true;
    }
    if (node->kind != MW_PY_LIST && node->kind != MW_PY_TUPLE) return false;
    int n = 0;
    for (const mw_py *c = node->first; c && n < cap; c = c->next) {
        if (mw__py_is(c, "None"))
            ret[n] = (dt_tensor){.nplacement = 0};
        else if (!tensor_of(h, c, &ret[n]))
            return false;
        n++;
    }
    *ret_n = n;
    return n > 0;
}

static void read_tensors(const dt_here *h, const mw_py *node, dt_value *v)
{
    dt_tensor found[DT_OUT];
    int n;
    if (!mw__dt_tensors_of(h, node, found, DT_OUT, &n)) return;
    if (node->kind != MW_PY_LIST && node->kind != MW_PY_TUPLE && n != 1) return;
    bool some = false;
    for (int i = 0; i < n; i++)
        some = some || found[i].shaped || found[i].placed;
    if (!some) return;
    v->tensor = mw__arena_alloc(&h->e->arena, (size_t)n * sizeof *v->tensor);
    if (!v->tensor) {
        h->e->failed = true;
        return;
    }
    memcpy(v->tensor, found, (size_t)n * sizeof *v->tensor);
    v->count = n;
    bool list = node->kind == MW_PY_LIST || node->kind == MW_PY_TUPLE;
    v->kind = list ? DT_TENSORS : DT_TENSOR;
}

static void read_ints(const dt_here *h, const mw_py *node, dt_value *v)
{
    int64_t ints[64];
    int n = mw__py_ints(node, ints, MW_COUNT(ints));
    if (n < 0) return;
    int64_t *kept = mw__arena_alloc(&h->e->arena, (size_t)n * sizeof *kept);
    if (!kept) {
        h->e->failed = true;
        return;
    }
    memcpy(kept, ints, (size_t)n * sizeof *kept);
    v->kind = DT_INTS;
    v->ints = kept;
    v->count = n;
}

static void read_value(const dt_here *h, const mw_py *node, dt_value *v)
{
    *v = (dt_value){.kind = DT_OTHER, .text = keep(h, node->at, node->length)};
    read_tensors(h, node, v);
    if (v->kind == DT_OTHER) read_ints(h, node, v);
    if (v->kind != DT_OTHER) return;
    if (node->kind == MW_PY_INT) {
        v->kind = DT_INT;
        v->i = node->i;
        v->f = node->f;
    } else if (node->kind == MW_PY_FLOAT || mw__py_is(node, "inf") || mw__py_is(node, "nan")) {
        v->kind = DT_FLOAT;
        v->f = node->kind == MW_PY_FLOAT ? node->f
                                         : strtod(node->name[0] == 'i' ? "inf" : "nan", NULL);
    } else if (mw__py_is(node, "None")) {
        v->kind = DT_NONE;
    } else if (mw__py_is(node, "True") || mw__py_is(node, "False")) {
        v->kind = DT_BOOL;
        v->i = node->name[0] == 'T';
    } else if (node->kind == MW_PY_STR) {
        v->kind = DT_STR;
        v->text = keep(h, node->name, node->name_length);
    }
}

/* `value @ mesh: (2,)`: the part before the @ alone. */
static const mw_py *before_mesh(const dt_here *h, const mw_py *node, dt_mesh *mesh)
{
    if (node->kind != MW_PY_SEQ) return node;
    for (const mw_py *c = node->first; c; c = c->next) {
        bool on = mw__py_is(c, "on") && mw__py_is(c->next, "mesh"); /* before 2.1 */
        if (!mw__py_mark(c, '@') && !on) continue;
        const mw_py *value = mw__py_child(c, 0) ? NULL : c->next;
        while (value && value->kind != MW_PY_TUPLE && !mw__py_is(value, "DeviceMesh"))
            value = value->next;
        if (mesh && value) (void)mw__dt_read_mesh(value, mesh);
        const mw_py *first = node->first;
        if (first == c) return NULL;
        if (first->next == c) return first;
        mw_py *part = mw__arena_alloc(h->scratch, sizeof *part);
        if (!part) {
            h->e->failed = true;
            return NULL;
        }
        *part = *node;
        part->length = c->at - node->at;
        while (part->length > 0 && part->at[part->length - 1] == ' ')
            part->length--;
        return part;
    }
    return node;
}

static void read_list(const dt_here *h, const mw_py *first, dt_mesh *mesh, dt_value **ret,
                      int *ret_n)
{
    dt_value value[DT_ARGS];
    int n = 0;
    for (const mw_py *c = first; c && n < DT_ARGS; c = c->next) {
        const mw_py *node = before_mesh(h, c, mesh);
        if (!node) continue;
        read_value(h, node, &value[n]);
        bool schema = (c->key_length == 11 && memcmp(c->key, "args_schema", 11) == 0) ||
                      (c->key_length == 13 && memcmp(c->key, "args_sharding", 13) == 0);
        if (c->key && !schema) value[n].name = keep(h, c->key, c->key_length);
        n++;
    }
    *ret_n = 0;
    *ret = mw__arena_alloc(&h->e->arena, (size_t)n * sizeof **ret);
    if (!*ret) {
        h->e->failed = true;
        return;
    }
    memcpy(*ret, value, (size_t)n * sizeof *value);
    *ret_n = n;
}

void mw__dt_read_values(const dt_here *h, const mw_py *first, dt_value **ret, int *ret_n)
{
    read_list(h, first, NULL, ret, ret_n);
}

/* {'dim': 1, ...}: items are runs of a key, a colon and a value. */
static void add_keywords(const dt_here *h, const mw_py *dict, dt_call *call)
{
    if (!dict || dict->kind != MW_PY_DICT || call->narg + dict->count > DT_ARGS) return;
    dt_value *all =
        mw__arena_zalloc(&h->e->arena, (size_t)(call->narg + dict->count) * sizeof *all);
    if (!all) {
        h->e->failed = true;
        return;
    }
    memcpy(all, call->arg, (size_t)call->narg * sizeof *all);
    call->arg = all;
    for (const mw_py *c = dict->first; c; c = c->next) {
        const mw_py *key = c->kind == MW_PY_SEQ ? c->first : NULL;
        if (!key || key->kind != MW_PY_STR || !mw__py_mark(key->next, ':') || !key->next->next)
            continue;
        read_value(h, key->next->next, &all[call->narg]);
        all[call->narg++].name = keep(h, key->name, key->name_length);
    }
}

static bool is_op(const mw_py *n)
{
    if (!n || n->kind != MW_PY_CALL) return false;
    bool aten = n->name_length > 5 && memcmp(n->name, "aten", 4) == 0;
    return aten || memchr(n->name, '.', (size_t)n->name_length) ||
           (n->name_length > 3 && memmem(n->name, (size_t)n->name_length, "::", 2));
}

dt_call *mw__dt_read_call(const dt_here *h, const mw_py *node, bool flat)
{
    const mw_py *n = node && node->kind == MW_PY_SEQ ? node->first : node;
    bool op = mw__py_is(n, "Op"), schema = mw__py_is(n, "OpSchema");
    if (!n || n->kind != MW_PY_CALL || (!op && !schema && !is_op(n))) return NULL;
    const mw_py *name = op || schema ? mw__py_key(n, "op") : n;
    if (!name || (name->kind != MW_PY_NAME && name->kind != MW_PY_CALL)) return NULL;
    dt_call *call = mw__arena_zalloc(&h->e->arena, sizeof *call);
    if (!call) {
        h->e->failed = true;
        return NULL;
    }
    call->line = h->first;
    call->flat = flat;
    call->name = keep(h, name->name, name->name_length);
    declaration_of(h, call);
    const mw_py *first = n->first, *args = mw__py_key(n, "args_schema");
    if (!args) args = mw__py_key(n, "args_sharding"); /* up to 2.4 */
    if (op) first = args;
    if (schema) first = args ? args->first : NULL;
    read_list(h, first, &call->mesh, &call->arg, &call->narg);
    if (schema) add_keywords(h, mw__py_key(n, "kwargs_schema"), call);
    for (const mw_py *c = n->next; node->kind == MW_PY_SEQ && c; c = c->next)
        if (mw__py_is(c, "DeviceMesh")) (void)mw__dt_read_mesh(c, &call->mesh);
    if (flat) (void)mw__dt_bind_flat(h, call);
    return call;
}

/* ---- cache keys
 * -------------------------------------------------------------------------------------- */

/* The number that the C++ cache writes into every key; it is no argument. */
static const int64_t key_marker = 0x11223344556677;

static bool take_flat(const dt_here *h, dt_value *from, int n, int *at, const mw_type *type,
                      dt_value *to)
{
    *to = from[(*at)++];
    if (type->base == MW_TYPE_BOOL && !type->list && to->kind == DT_INT) to->kind = DT_BOOL;
    bool counted = type->list && to->kind == DT_INT && to->i >= 0 && to->i <= n - *at;
    if (!counted) return !type->list || to->kind == DT_NONE || to->kind == DT_INTS;
    int count = (int)to->i;
    bool tensors = count > 0 && from[*at].kind == DT_TENSOR;
    int64_t *ints = mw__arena_alloc(&h->e->arena, (size_t)count * sizeof *ints);
    dt_tensor *tensor =
        tensors ? mw__arena_alloc(&h->e->arena, (size_t)count * sizeof *tensor) : NULL;
    if (!ints || (tensors && !tensor)) {
        h->e->failed = true;
        return false;
    }
    mw_str text = {0};
    for (int i = 0; i < count; i++, (*at)++) {
        if (from[*at].kind != (tensors ? DT_TENSOR : DT_INT)) {
            mw__dt_done(h, &text);
            return false;
        }
        mw__str_printf(&text, "%s%s", i ? ", " : "[", from[*at].text);
        ints[i] = from[*at].i;
        if (tensors) tensor[i] = from[*at].tensor[0];
    }
    mw__str_puts(&text, count ? "]" : "[]");
    *to = (dt_value){.kind = tensors ? DT_TENSORS : DT_INTS,
                     .ints = ints,
                     .count = count,
                     .tensor = tensor,
                     .text = mw__dt_text(h, &text)};
    mw__dt_done(h, &text);
    return true;
}

/* Lists in a key are flat (`1, 16` for `[16]`): put together again by the declaration. Returns how
 * many markers were left out. */
int mw__dt_bind_flat(const dt_here *h, dt_call *call)
{
    dt_value from[DT_ARGS], to[DT_ARGS];
    int n = 0, at = 0, made = 0, markers = 0;
    for (int i = 0; i < call->narg; i++) {
        if (call->arg[i].kind == DT_INT && call->arg[i].i == key_marker)
            markers++;
        else
            from[n++] = call->arg[i];
    }
    bool fits = call->schema != NULL;
    for (; fits && at < n; made++) {
        fits = made < call->schema->narg &&
               take_flat(h, from, n, &at, &call->schema->arg[made].type, &to[made]);
        if (fits && call->schema->arg[made].kwarg_only)
            to[made].name = call->schema->arg[made].name;
    }
    if (!fits) made = n;
    memcpy(call->arg, fits ? to : from, (size_t)made * sizeof *to);
    call->narg = made;
    return markers;
}
