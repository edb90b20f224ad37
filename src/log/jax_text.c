/* Meshes, shardings and types as JAX has printed them over its versions:
 *
 *     NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), spec=P('x', None), ...)
 *     NamedSharding(mesh={'x': 2, 'y': 4}, spec=PartitionSpec('x',))
 *     Mesh(axis_sizes=(2, 4), axis_names=('x', 'y'), axis_types=(Explicit, Explicit))
 *     Mesh(device_ids=array([[0, 1], [2, 3]]), axis_names=('x', 'y'))
 *     AbstractMesh(('x', 2), ('y', 4)),  jax.make_mesh((2, 4), ('x', 'y'))
 *     float32[8@x,4@(y,z)]{U:w}          a type: sizes with the axes that cut them
 *
 * Specs are read for their axes here and rewritten as a partition spec; what it means is the
 * notation reader's business. */
#include "log/explain.h"
#include "log/jax.h"

enum { LONGEST = 1 << 15, TRIES = 4 };

const char *mw__jx_keep(const jx_here *h, const char *at, int64_t length)
{
    size_t most = (size_t)MW_MIN(length, 2000);
    const char *end = memchr(at, 0, most); /* a text may be shorter */
    const char *text = mw__arena_strndup(&h->e->arena, at, end ? (size_t)(end - at) : most);
    if (!text) h->e->failed = true;
    return text ? text : "";
}

/* The value that begins there, without what follows it. Of a long text the beginning is read: no
 * sharding is longer. */
mw_py *mw__jx_py(const jx_here *h, const char *at)
{
    mw_py *node = NULL;
    if (!at) return NULL;
    const char *end = at + MW_MIN(strlen(at), (size_t)LONGEST);
    if (!mw__hlo_done(h->e, mw__py_read(at, end, &h->e->scratch, &node))) return NULL;
    return node->kind == MW_PY_SEQ ? node->first : node;
}

const char *mw__jx_word(const char *text, const char *word)
{
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (at == text || !mw__spmd_word_char(at[-1])) return at;
    return NULL;
}

/* ---- meshes ------------------------------------------------------------------------------------
 */

static bool add_axis(spmd_mesh *m, const char *name, int length, int64_t size)
{
    if (m->naxis == MW_MESH_AXES || length > MW_AXIS_NAME || size < 1) return false;
    memcpy(m->name[m->naxis], name, (size_t)length);
    m->name[m->naxis][length] = 0;
    m->size[m->naxis++] = size;
    m->nname = m->naxis;
    return true;
}

/* `'x': 2` or `('x', 2)` */
static bool axis_item(spmd_mesh *m, const mw_py *item)
{
    const mw_py *name = item->first;
    if (!name || name->kind != MW_PY_STR) return false;
    const mw_py *size = name->next;
    if (item->kind == MW_PY_SEQ && mw__py_mark(size, ':')) size = size->next;
    return size && size->kind == MW_PY_INT && !size->next &&
           add_axis(m, name->name, name->name_length, size->i);
}

static bool axis_items(spmd_mesh *m, const mw_py *list)
{
    int n = 0;
    for (const mw_py *c = list ? list->first : NULL; c && !c->key; c = c->next, n++)
        if (!axis_item(m, c)) return false;
    return n > 0;
}

/* Sizes and names side by side. */
static bool axis_lists(spmd_mesh *m, const mw_py *sizes, const mw_py *names)
{
    int64_t size[MW_MESH_AXES];
    int n = sizes ? mw__py_ints(sizes, size, MW_MESH_AXES) : -1, i = 0;
    bool one = names && names->kind == MW_PY_STR && n == 1;
    if (one) return add_axis(m, names->name, names->name_length, size[0]);
    if (n < 1 || !names || names->count != n) return false;
    for (const mw_py *c = names->first; c; c = c->next, i++)
        if (c->kind != MW_PY_STR || !add_axis(m, c->name, c->name_length, size[i])) return false;
    return true;
}

/* `array([[0, 1], [2, 3]])`: sizes by nesting, ids in order. */
static bool nested_ids(const jx_here *h, const mw_py *list, int depth, int64_t *size, spmd_mesh *m)
{
    if (depth == MW_MESH_AXES || list->count < 1) return false;
    if (size[depth] && size[depth] != list->count) return false;
    size[depth] = list->count;
    for (const mw_py *c = list->first; c; c = c->next) {
        if (c->kind == MW_PY_LIST) {
            if (!nested_ids(h, c, depth + 1, size, m)) return false;
            continue;
        }
        if (c->kind != MW_PY_INT || m->nid == 4096) return false;
        ((int64_t *)(uintptr_t)m->id)[m->nid++] = c->i;
    }
    return true;
}

static bool array_mesh(const jx_here *h, const mw_py *array, const mw_py *names, spmd_mesh *m)
{
    const mw_py *list = array->kind == MW_PY_CALL ? array->first : array;
    int64_t size[MW_MESH_AXES] = {0}, *id = mw__arena_zalloc(&h->e->arena, 4096 * sizeof *id);
    int i = 0;
    if (!id) h->e->failed = true;
    m->id = id;
    if (!id || !list || list->kind != MW_PY_LIST || !names) return false;
    if (!nested_ids(h, list, 0, size, m)) return false;
    for (const mw_py *c = names->first; c; c = c->next, i++)
        if (i == MW_MESH_AXES || c->kind != MW_PY_STR ||
            !add_axis(m, c->name, c->name_length, size[i]))
            return false;
    return m->nid == mw__spmd_mesh_size(m);
}

/* Sizes in `x.reshape(2, 4)`, `create_device_mesh((2, 4))`. */
static const mw_py *sizes_in(const mw_py *node)
{
    const mw_py *found = NULL;
    if (node && node->kind == MW_PY_SEQ)
        for (const mw_py *c = node->first; c; c = c->next)
            if (mw__py_is(c, "reshape") && c->kind == MW_PY_CALL) found = c;
    if (node && node->kind == MW_PY_CALL && node->name_length >= 18 &&
        memcmp(node->name + node->name_length - 18, "create_device_mesh", 18) == 0)
        found = node;
    if (found && found->first && found->first->kind == MW_PY_TUPLE) return found->first;
    return found;
}

static bool call_sizes(const mw_py *call, int64_t *size, int *ret_n)
{
    int n = 0;
    for (const mw_py *c = call->first; c && !c->key; c = c->next) {
        if (c->kind != MW_PY_INT || n == MW_MESH_AXES) return false;
        size[n++] = c->i;
    }
    *ret_n = n;
    return n > 0;
}

static bool positional_mesh(const mw_py *call, spmd_mesh *m)
{
    const mw_py *first = mw__py_child(call, 0), *names = mw__py_child(call, 1);
    if (!first || first->key) return false;
    if (axis_lists(m, first, names && names->key ? NULL : names)) return true;
    m->naxis = m->nname = 0;
    const mw_py *sizes = sizes_in(first);
    int64_t size[MW_MESH_AXES];
    int n, i = 0;
    if (mw__py_key(call, "axis_names")) names = mw__py_key(call, "axis_names");
    if (!sizes || !names || !call_sizes(sizes, size, &n) || names->count != n) return false;
    for (const mw_py *c = names->first; c; c = c->next, i++)
        if (c->kind != MW_PY_STR || !add_axis(m, c->name, c->name_length, size[i])) return false;
    return true;
}

static bool named_mesh(const jx_here *h, const mw_py *node, spmd_mesh *m)
{
    for (int i = MW_MIN(h->s->nnamed, JX_MESHES) - 1; i >= 0; i--)
        if ((int)strlen(h->s->named[i].name) == node->name_length &&
            memcmp(h->s->named[i].name, node->name, (size_t)node->name_length) == 0) {
            *m = h->s->named[i].mesh;
            return true;
        }
    return false;
}

static bool ends(const mw_py *node, const char *word)
{
    int n = (int)strlen(word);
    return node->name_length >= n &&
           memcmp(node->name + node->name_length - n, word, (size_t)n) == 0;
}

bool mw__jx_mesh(const jx_here *h, const mw_py *node, spmd_mesh *ret, const char **ret_types)
{
    *ret = (spmd_mesh){.line = h->first};
    *ret_types = NULL;
    if (!node) return false;
    if (node->kind == MW_PY_DICT) return axis_items(ret, node);
    if (node->kind == MW_PY_NAME) return named_mesh(h, node, ret);
    if (node->kind != MW_PY_CALL || (!ends(node, "Mesh") && !ends(node, "make_mesh"))) return false;
    const mw_py *types = mw__py_key(node, "axis_types");
    if (types) *ret_types = mw__jx_keep(h, types->at, types->length);
    if (axis_items(ret, node)) return true;
    *ret = (spmd_mesh){.line = h->first};
    const mw_py *names = mw__py_key(node, "axis_names"), *ids = mw__py_key(node, "device_ids");
    if (ids) return array_mesh(h, ids, names, ret);
    const mw_py *sizes = mw__py_key(node, "axis_sizes");
    if (!sizes) sizes = mw__py_key(node, "axis_shapes");
    if (sizes && names) return axis_lists(ret, sizes, names);
    const mw_py *first = mw__py_child(node, 0);
    if (first && first->kind == MW_PY_DICT && axis_items(ret, first)) return true;
    if (first && first->kind == MW_PY_TUPLE && first->first && first->first->kind == MW_PY_TUPLE)
        return axis_items(ret, first);
    *ret = (spmd_mesh){.line = h->first};
    return positional_mesh(node, ret);
}

/* ---- specs -------------------------------------------------------------------------------------
 */

static bool add_name(jx_entry *to, const char *at, int length)
{
    if (to->n == JX_AXES || length < 1 || length > MW_AXIS_NAME) return false;
    to->at[to->n] = at;
    to->length[to->n++] = length;
    return true;
}

/* Names of a set in any of Python's spellings: {'x'}, frozenset({'x'}), ('x',), 'x'. */
static bool add_names(jx_entry *to, const mw_py *node)
{
    if (node->kind == MW_PY_STR) return add_name(to, node->name, node->name_length);
    if (node->kind == MW_PY_NAME) return true; /* None */
    for (const mw_py *c = node->first; c; c = c->next)
        if (!add_names(to, c)) return false;
    return true;
}

static void entry_str(const jx_entry *entry, mw_str *to)
{
    if (entry->open) {
        mw__str_puts(to, "P.UNCONSTRAINED");
        return;
    }
    if (entry->n == 0) mw__str_puts(to, "None");
    if (entry->n > 1) mw__str_putc(to, '(');
    for (int i = 0; i < entry->n; i++)
        mw__str_printf(to, "%s'%.*s'", i ? ", " : "", entry->length[i], entry->at[i]);
    if (entry->n > 1) mw__str_putc(to, ')');
}

/* The spec's text, made of its entries. */
static void make_spec(const jx_here *h, jx_value *v)
{
    mw_str text = {0};
    mw__str_puts(&text, "P(");
    for (int i = 0; i < v->nentry; i++) {
        if (i) mw__str_puts(&text, ", ");
        entry_str(&v->entry[i], &text);
    }
    for (int i = 0; i < v->unreduced.n; i++)
        mw__str_printf(&text, "%s'%.*s'",
                       i               ? ", "
                       : v->nentry > 0 ? ", unreduced={"
                                       : "unreduced={",
                       v->unreduced.length[i], v->unreduced.at[i]);
    mw__str_puts(&text, v->unreduced.n ? "})" : ")");
    v->spec = mw__hlo_keep(h->e, &text);
    v->has_spec = true;
}

bool mw__jx_spec(const jx_here *h, const mw_py *node, jx_value *v)
{
    bool call =
        node && node->kind == MW_PY_CALL && (mw__py_is(node, "P") || ends(node, "PartitionSpec"));
    if (!call && (!node || node->kind != MW_PY_TUPLE)) return false;
    v->nentry = 0;
    for (const mw_py *c = node->first; c; c = c->next) {
        bool unreduced = c->key && strncmp(c->key, "unreduced=", 10) == 0;
        bool reduced = c->key && strncmp(c->key, "reduced=", 8) == 0;
        if (unreduced && !add_names(&v->unreduced, c)) return false;
        if (reduced && !add_names(&v->reduced, c)) return false;
        if (c->key) continue;
        if (v->nentry == MW_LAYOUT_DIMS) return false;
        jx_entry *entry = &v->entry[v->nentry++];
        *entry = (jx_entry){0};
        if (c->kind == MW_PY_NAME && ends(c, "UNCONSTRAINED"))
            entry->open = true;
        else if (!add_names(entry, c))
            return false;
    }
    make_spec(h, v);
    return true;
}

/* ---- types -------------------------------------------------------------------------------------
 */

/* `@x`, `@(x,y)` */
static bool axes_at(const char **at, jx_entry *ret)
{
    const char *p = *at;
    bool tuple = *p == '(';
    p += tuple;
    do {
        int n = 0;
        while (mw__spmd_word_char(p[n]))
            n++;
        if (!add_name(ret, p, n)) return false;
        p += n;
    } while (tuple && *p == ',' && p++);
    if (tuple && *p++ != ')') return false;
    *at = p;
    return true;
}

/* `{U:x}`, `{V:(x,y)}`, `{U:x, V:y}`; what is not that stays. */
static void sets_at(const char **at, jx_value *v)
{
    const char *p = *at;
    jx_entry unreduced = {0}, reduced = {0}, varying = {0};
    if (*p++ != '{') return;
    for (;;) {
        char kind = *p;
        jx_entry *to = kind == 'U'   ? &unreduced
                       : kind == 'R' ? &reduced
                       : kind == 'V' ? &varying
                                     : NULL;
        if (!to || p[1] != ':') return;
        p += 2;
        if (!axes_at(&p, to)) return;
        while (*p == ',' && mw__spmd_word_char(p[1]) && p[2] != ':') { /* {U:x,y} */
            p++;
            if (!axes_at(&p, to)) return;
        }
        if (*p == '}') break;
        if (*p++ != ',') return;
        p += strspn(p, " ");
    }
    v->unreduced = unreduced;
    v->reduced = reduced;
    v->varying = varying;
    *at = p + 1;
}

bool mw__jx_type(const jx_here *h, const char **at, jx_value *ret)
{
    const char *p = *at;
    int n = 0;
    while (mw__spmd_word_char(p[n]))
        n++;
    jx_value v = {.ndim = 0, .line = h->first, .dtype = n ? mw_dtype_read(p, n) : MW_DTYPE_NONE};
    if (p[n] != '[' || n < 2 || !v.dtype) return false;
    p += n + 1;
    bool cut = false;
    while (*p != ']') {
        int64_t size;
        if (v.ndim == MW_LAYOUT_DIMS || *p < '0' || *p > '9' || !mw__hlo_int(&p, &size))
            return false;
        v.entry[v.ndim] = (jx_entry){0};
        if (*p == '@') {
            p++;
            cut = true;
            if (!axes_at(&p, &v.entry[v.ndim])) return false;
        }
        v.shape[v.ndim++] = size;
        if (*p == ',')
            p++;
        else if (*p != ']')
            return false;
    }
    p++;
    v.nentry = v.ndim;
    sets_at(&p, &v);
    if (cut || v.unreduced.n || v.reduced.n || v.varying.n) make_spec(h, &v);
    *at = p;
    *ret = v;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------
 */

static bool named_sharding(const jx_here *h, const mw_py *call, jx_value *ret)
{
    const mw_py *mesh = mw__py_key(call, "mesh"), *spec = mw__py_key(call, "spec");
    const mw_py *memory = mw__py_key(call, "memory_kind");
    if (!mesh) mesh = mw__py_child(call, 0);
    if (!spec) spec = mw__py_child(call, 1);
    *ret = (jx_value){.ndim = -1, .line = h->first};
    if (!mesh || !spec || !mw__jx_spec(h, spec, ret)) return false;
    ret->has_mesh = mw__jx_mesh(h, mesh, &ret->mesh, &ret->types);
    if (memory) ret->memory = mw__jx_keep(h, memory->at, memory->length);
    return true;
}

/* Where the next one begins: the word of a sharding, or a type. */
static const char *next_word(const char *at, bool *ret_named)
{
    for (const char *p = at; *p; p++) {
        if (p > at && mw__spmd_word_char(p[-1])) continue;
        *ret_named = strncmp(p, "NamedSharding(", 14) == 0;
        if (*ret_named) return p;
        if (*p < 'b' || *p > 'u') continue; /* dtypes begin so */
        int n = 0;
        while (mw__spmd_word_char(p[n]))
            n++;
        if (p[n] == '[' && n >= 2 && n < 16) return p;
    }
    return NULL;
}

bool mw__jx_next(const jx_here *h, const char **at, bool plain, jx_value *ret)
{
    bool named;
    int tries = TRIES;
    for (const char *p = next_word(*at, &named); p; p = next_word(p + 1, &named)) {
        if (named && tries-- == 0) return false;
        if (named) {
            mw_py *node = mw__jx_py(h, p);
            if (!node || node->kind != MW_PY_CALL || !named_sharding(h, node, ret)) continue;
            *at = node->at + node->length;
            return true;
        }
        const char *end = p;
        if (!mw__jx_type(h, &end, ret)) continue;
        p = end - 1;
        if (!ret->has_spec && !plain) continue;
        if (!ret->has_spec) make_spec(h, ret);
        *at = end;
        return true;
    }
    return false;
}
