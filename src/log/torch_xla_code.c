/* Python as people paste it, as far as annotations need it: names bound to numbers, lists, tensors
 * by their factory, and meshes. What can't be worked out is not known; nothing is guessed. */
#include "log/explain.h"
#include "log/torch_xla.h"

const char *mw__xs_keep(const xs_here *h, const char *at, int64_t length)
{
    size_t most = (size_t)MW_MIN(length, 4000);
    const char *end = memchr(at, 0, most); /* a text may be shorter */
    const char *text = mw__arena_strndup(&h->e->arena, at, end ? (size_t)(end - at) : most);
    if (!text) h->e->failed = true;
    return text ? text : "";
}

bool mw__xs_ends(const mw_py *node, const char *name)
{
    int n = (int)strlen(name);
    if (!node || (node->kind != MW_PY_CALL && node->kind != MW_PY_NAME) || node->name_length < n)
        return false;
    const char *at = node->name + node->name_length - n;
    return memcmp(at, name, (size_t)n) == 0 && (at == node->name || at[-1] == '.' || at[-1] == ':');
}

xs_value *mw__xs_find(const xs_here *h, const char *name, int length)
{
    for (int i = MW_MIN(h->s->nbound, XS_NAMES) - 1; i >= 0; i--)
        if ((int)strlen(h->s->bound[i].name) == length &&
            memcmp(h->s->bound[i].name, name, (size_t)length) == 0)
            return &h->s->bound[i].value;
    return NULL;
}

static void bind(const xs_here *h, const char *name, int length, const xs_value *value)
{
    xs_value *old = mw__xs_find(h, name, length);
    if (length >= SPMD_NAME) return;
    if (!old) {
        int at = h->s->nbound++ % XS_NAMES;
        memcpy(h->s->bound[at].name, name, (size_t)length);
        h->s->bound[at].name[length] = 0;
        old = &h->s->bound[at].value;
    }
    *old = *value;
    old->line = h->first;
}

/* ---- numbers -----------------------------------------------------------------------------------
 */

/* `n // 2 * 3`, from left to right: enough for the sizes of meshes. */
static xs_value eval_run(const xs_here *h, const mw_py *run)
{
    xs_value sum = mw__xs_eval(h, run->first);
    const mw_py *at = run->first ? run->first->next : NULL;
    if (sum.kind != XS_INT) return (xs_value){.kind = XS_NONE};
    while (at) {
        char op = at->kind == MW_PY_MARK && at->length == 1 ? *at->at : 0;
        const mw_py *next = at->next;
        if (op == '/' && mw__py_mark(next, '/')) next = next->next;
        xs_value v = next ? mw__xs_eval(h, next) : (xs_value){.kind = XS_NONE};
        bool small = v.kind == XS_INT && v.i > -MW_MESH_RANKS && v.i < INT64_C(1) << 31;
        if (!small || sum.i > INT64_C(1) << 31 || sum.i < 0) return (xs_value){.kind = XS_NONE};
        if (op == '*')
            sum.i *= v.i;
        else if (op == '+')
            sum.i += v.i;
        else if (op == '-')
            sum.i -= v.i;
        else if (op == '/' && v.i > 0)
            sum.i /= v.i;
        else
            return (xs_value){.kind = XS_NONE};
        at = next->next;
    }
    return sum;
}

static xs_value ints_new(const xs_here *h, int64_t cap)
{
    xs_value v = {.kind = XS_INTS};
    v.ints = mw__arena_zalloc(&h->e->arena, (size_t)MW_MAX(cap, 1) * sizeof *v.ints);
    if (!v.ints) {
        h->e->failed = true;
        v.kind = XS_NONE;
    }
    return v;
}

static int64_t count_leaves(const mw_py *node)
{
    int64_t n = 0;
    for (const mw_py *c = node->first; c; c = c->next)
        n += c->kind == MW_PY_LIST || c->kind == MW_PY_TUPLE ? count_leaves(c) : 1;
    return n;
}

static void add_leaves(const xs_here *h, const mw_py *node, xs_value *to)
{
    for (const mw_py *c = node->first; c; c = c->next) {
        if (c->kind == MW_PY_LIST || c->kind == MW_PY_TUPLE) {
            add_leaves(h, c, to);
            continue;
        }
        xs_value v = mw__xs_eval(h, c);
        if (v.kind == XS_INT)
            to->ints[to->n++] = v.i;
        else if (to->symbols++ == 0)
            to->symbol = mw__xs_keep(h, c->at, c->length);
    }
}

static xs_value eval_list(const xs_here *h, const mw_py *node)
{
    int64_t n = count_leaves(node);
    if (n > XS_IDS) return (xs_value){.kind = XS_NONE};
    xs_value v = ints_new(h, n);
    if (v.kind == XS_INTS) add_leaves(h, node, &v);
    return v;
}

static xs_value eval_range(const xs_here *h, const mw_py *call)
{
    xs_value a = mw__xs_eval(h, mw__py_child(call, 0)), b = mw__xs_eval(h, mw__py_child(call, 1));
    int64_t from = call->count > 1 ? a.i : 0, to = call->count > 1 ? b.i : a.i;
    bool known = a.kind == XS_INT && (call->count < 2 || b.kind == XS_INT) && call->count < 3;
    if (!known || from < 0 || to < from || to - from > XS_IDS) return (xs_value){.kind = XS_NONE};
    xs_value v = ints_new(h, to - from);
    for (int64_t i = from; v.kind == XS_INTS && i < to; i++)
        v.ints[v.n++] = i;
    return v;
}

/* ---- tensors and meshes ------------------------------------------------------------------------
 */

static mw_dtype dtype_of(const mw_py *call)
{
    const mw_py *dtype = mw__py_key(call, "dtype");
    if (!dtype || dtype->kind != MW_PY_NAME) return MW_DTYPE_NONE;
    const char *dot = dtype->name + dtype->name_length;
    while (dot > dtype->name && dot[-1] != '.')
        dot--;
    return mw_dtype_read(dot, (int)(dtype->name + dtype->name_length - dot));
}

/* The shape that a factory's arguments give. */
static bool factory_shape(const xs_here *h, const mw_py *call, spmd_value *to)
{
    const mw_py *size = mw__py_key(call, "size");
    if (!size && call->first && !call->first->key) {
        xs_value v = mw__xs_eval(h, call->first);
        if (v.kind == XS_INTS) size = call->first;
    }
    to->ndim = 0;
    if (size) {
        xs_value v = mw__xs_eval(h, size);
        if (v.kind != XS_INTS || v.symbols || v.n > MW_LAYOUT_DIMS) return false;
        for (int i = 0; i < v.n; i++)
            to->shape[to->ndim++] = v.ints[i];
    }
    for (const mw_py *c = call->first; c && !size && !c->key; c = c->next) {
        xs_value v = mw__xs_eval(h, c);
        if (v.kind != XS_INT || to->ndim == MW_LAYOUT_DIMS) return false;
        to->shape[to->ndim++] = v.i;
    }
    for (int i = 0; i < to->ndim; i++)
        if (to->shape[i] < 0 || to->shape[i] > INT64_C(1) << 40) return false;
    return size || to->ndim > 0;
}

static xs_value eval_tensor(const xs_here *h, const mw_py *call)
{
    static const char *const factories[] = {"randn", "zeros", "ones",  "rand",
                                            "empty", "full",  "Tensor"};
    xs_value v = {.kind = XS_NONE};
    for (int i = 0; i < MW_COUNT(factories); i++) {
        if (!mw__xs_ends(call, factories[i])) continue;
        if (!factory_shape(h, call, &v.tensor)) return v;
        v.kind = XS_TENSOR;
        v.tensor.dtype = dtype_of(call);
        if (!v.tensor.dtype) v.tensor.dtype = MW_DTYPE_f32; /* torch's default for these */
        return v;
    }
    if (mw__xs_ends(call, "FakeTensor") && factory_shape(h, call, &v.tensor) &&
        mw__py_key(call, "size")) {
        v.kind = XS_TENSOR;
        v.tensor.dtype = dtype_of(call);
    }
    return v;
}

spmd_mesh *mw__xs_mesh_new(const xs_here *h)
{
    spmd_mesh *mesh = mw__arena_zalloc(&h->e->arena, sizeof *mesh);
    if (!mesh)
        h->e->failed = true;
    else
        mesh->line = h->first;
    return mesh;
}

/* Names of axes: a tuple of strings. More than a mesh can have are counted. */
static void read_names(const mw_py *node, spmd_mesh *mesh)
{
    if (!node || (node->kind != MW_PY_TUPLE && node->kind != MW_PY_LIST)) return;
    for (const mw_py *c = node->first; c; c = c->next) {
        if (c->kind != MW_PY_STR) continue;
        if (mesh->nname < MW_MESH_AXES && c->name_length <= MW_AXIS_NAME)
            memcpy(mesh->name[mesh->nname], c->name, (size_t)c->name_length);
        mesh->nname++;
    }
}

static bool read_sizes(const xs_value *v, spmd_mesh *mesh)
{
    if (v->kind != XS_INTS || v->symbols || v->n < 1 || v->n > MW_MESH_AXES) return false;
    mesh->naxis = (int)v->n;
    for (int i = 0; i < mesh->naxis; i++)
        mesh->size[i] = v->ints[i];
    return true;
}

static const mw_py *argument(const mw_py *call, const char *key, int nth)
{
    const mw_py *by_key = mw__py_key(call, key), *c = mw__py_child(call, nth);
    return by_key ? by_key : c && !c->key ? c : NULL;
}

static xs_value eval_mesh(const xs_here *h, const mw_py *call)
{
    xs_value none = {.kind = XS_NONE}, v = {.kind = XS_MESH};
    bool hybrid = mw__xs_ends(call, "HybridMesh");
    if (!hybrid && !mw__xs_ends(call, "Mesh")) return none;
    const mw_py *ids = hybrid ? NULL : argument(call, "device_ids", 0);
    const mw_py *shape =
        hybrid ? mw__py_key(call, "ici_mesh_shape") : argument(call, "mesh_shape", 1);
    const mw_py *names = hybrid ? mw__py_key(call, "axis_names") : argument(call, "axis_names", 2);
    if (!shape) return none;
    xs_value sizes = mw__xs_eval(h, shape), list = {.kind = XS_NONE}, outer = {.kind = XS_NONE};
    if (ids) list = mw__xs_eval(h, ids);
    spmd_mesh *mesh = mw__xs_mesh_new(h);
    if (!mesh || !read_sizes(&sizes, mesh)) return none;
    if (hybrid && mw__py_key(call, "dcn_mesh_shape"))
        outer = mw__xs_eval(h, mw__py_key(call, "dcn_mesh_shape"));
    for (int i = 0; outer.kind == XS_INTS && outer.n == mesh->naxis && i < mesh->naxis; i++)
        mesh->size[i] *= MW_MIN(outer.ints[i], MW_MESH_RANKS);
    if (list.kind == XS_INTS && !list.symbols) {
        mesh->id = list.ints;
        mesh->nid = list.n;
    }
    if (names && names->kind == MW_PY_NAME) {
        const xs_value *known = mw__xs_find(h, names->name, names->name_length);
        mw_py *read = NULL;
        if (known && known->text &&
            mw__hlo_done(h->e, mw__py_read(known->text, known->text + strlen(known->text),
                                           &h->e->scratch, &read)))
            names = read;
    }
    read_names(names, mesh);
    v.mesh = mesh;
    return v;
}

/* The text of a mesh as Mesh.__str__ prints it. */
bool mw__xs_mesh_text(const xs_here *h, const mw_py *node, spmd_mesh *ret)
{
    *ret = (spmd_mesh){.line = h->first};
    if (!node || node->kind != MW_PY_DICT) return false;
    for (const mw_py *c = node->first; c; c = c->next) {
        if (c->kind != MW_PY_SEQ || c->count < 3 || c->first->kind != MW_PY_STR) continue;
        const mw_py *key = c->first, *value = key->next->next;
        bool ids = key->name_length == 10 && memcmp(key->name, "device_ids", 10) == 0;
        bool shape = key->name_length == 10 && memcmp(key->name, "mesh_shape", 10) == 0;
        xs_value v = ids || shape ? mw__xs_eval(h, value) : (xs_value){.kind = XS_NONE};
        if (shape && !read_sizes(&v, ret)) return false;
        if (ids && v.kind == XS_INTS && !v.symbols) ret->id = v.ints, ret->nid = v.n;
        if (key->name_length == 10 && memcmp(key->name, "axis_names", 10) == 0)
            read_names(value, ret);
    }
    return ret->naxis > 0;
}

/* ---- expressions -------------------------------------------------------------------------------
 */

static xs_value eval_call(const xs_here *h, const mw_py *call)
{
    static const char *const passes[] = {"array", "list", "tuple", "asarray", "tensor", "flatten"};
    if (mw__xs_ends(call, "range") || mw__xs_ends(call, "arange")) return eval_range(h, call);
    for (int i = 0; i < MW_COUNT(passes); i++)
        if (mw__xs_ends(call, passes[i]) && call->first) return mw__xs_eval(h, call->first);
    if (mw__xs_ends(call, "global_runtime_device_count") && mw__explain_mesh(h->e))
        return (xs_value){.kind = XS_INT, .i = mw_mesh_ranks(mw__explain_mesh(h->e))};
    if (mw__xs_ends(call, "len") && call->first) {
        xs_value v = mw__xs_eval(h, call->first);
        if (v.kind == XS_INTS && !v.symbols) return (xs_value){.kind = XS_INT, .i = v.n};
        return (xs_value){.kind = XS_NONE};
    }
    xs_value mesh = eval_mesh(h, call);
    return mesh.kind ? mesh : eval_tensor(h, call);
}

xs_value mw__xs_eval(const xs_here *h, const mw_py *node)
{
    xs_value v = {.kind = XS_NONE};
    if (!node) return v;
    switch (node->kind) {
    case MW_PY_INT:
        return (xs_value){.kind = XS_INT, .i = node->i};
    case MW_PY_NAME: {
        const xs_value *known = mw__xs_find(h, node->name, node->name_length);
        return known ? *known : v;
    }
    case MW_PY_LIST:
    case MW_PY_TUPLE:
        return eval_list(h, node);
    case MW_PY_CALL:
        return eval_call(h, node);
    case MW_PY_SEQ: { /* `torch.ones(2, 3).to(device)`, `n // 2` */
        const mw_py *first = node->first;
        if (first && first->kind == MW_PY_CALL && mw__py_mark(first->next, '.'))
            return mw__xs_eval(h, first);
        return eval_run(h, node);
    }
    default:
        return v;
    }
}

/* ---- statements --------------------------------------------------------------------------------
 */

/* weight and bias of `fc = nn.Linear(16, 8)` */
static void bind_linear(const xs_here *h, const char *name, int length, const mw_py *call)
{
    char text[SPMD_NAME + 8];
    xs_value in = mw__xs_eval(h, argument(call, "in_features", 0));
    xs_value out = mw__xs_eval(h, argument(call, "out_features", 1));
    if (in.kind != XS_INT || out.kind != XS_INT || length + 8 >= SPMD_NAME) return;
    xs_value weight = {.kind = XS_TENSOR,
                       .tensor = {.ndim = 2, .shape = {out.i, in.i}, .dtype = MW_DTYPE_f32}};
    memcpy(text, name, (size_t)length);
    memcpy(text + length, ".weight", 7);
    bind(h, text, length + 7, &weight);
}

static const mw_py *call_in(const mw_py *node)
{
    if (node->kind == MW_PY_SEQ && node->first && node->first->kind == MW_PY_CALL)
        return node->first;
    return node->kind == MW_PY_CALL ? node : NULL;
}

static bool mark_call(const xs_here *h, const mw_py *call)
{
    bool plain = mw__xs_ends(call, "mark_sharding");
    if (!plain && !mw__xs_ends(call, "mark_sharding_with_gradients")) return false;
    const mw_py *t = argument(call, "t", 0), *mesh = argument(call, "mesh", 1);
    const mw_py *spec = argument(call, "partition_spec", 2);
    if (!t || call->count < 3) return false;
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "mark_sharding");
    if (!d) return true;
    mw__draft_entry(d)->first = h->first;
    xs_value tensor = mw__xs_eval(h, t), on = mw__xs_eval(h, mesh);
    xs_mark m = {.name = mw__xs_keep(h, t->at, t->length), .tensor = {.ndim = -1}, .spec = spec};
    if (tensor.kind == XS_TENSOR) m.tensor = tensor.tensor;
    if (t->kind == MW_PY_NAME) m.bound = mw__xs_find(h, t->name, t->name_length);
    if (m.bound && m.bound->kind != XS_TENSOR) m.bound = NULL;
    m.mesh = on.kind == XS_MESH ? on.mesh : NULL;
    if (spec && spec->kind == MW_PY_NAME) {
        const xs_value *known = mw__xs_find(h, spec->name, spec->name_length);
        mw_py *read = NULL;
        m.spec = NULL;
        if (known && known->text &&
            mw__hlo_done(h->e, mw__py_read(known->text, known->text + strlen(known->text),
                                           &h->e->scratch, &read)))
            m.spec = read;
    }
    mw__xs_mark_tell(h, d, &m);
    return true;
}

static void tell_mesh(const xs_here *h, const spmd_mesh *mesh)
{
    mw_draft *d = mw__draft(h->e, h->line, "torch_xla", "mesh");
    if (!d) return;
    mw__draft_entry(d)->first = h->first;
    mw__spmd_tell_mesh(h->e, d, mesh);
    bool good = mw__xs_mesh_check(h, d, mesh);
    mw__draft_says(d, "A mesh of %lld devices, %d axes%s.", (long long)mw__spmd_mesh_size(mesh),
                   mesh->naxis, good ? "" : ", which can't be made");
}

/* true: the statement tells something that annotations need. */
bool mw__xs_statement(const xs_here *h)
{
    const char *at = h->text, *name = NULL;
    int length = 0;
    bool returned = strncmp(at, "return ", 7) == 0;
    if (returned) at += 7;
    while (mw__spmd_word_char(at[length]) || (length && at[length] == '.'))
        length++;
    const char *p = at + length + strspn(at + length, " ");
    if (length && *p == '=' && p[1] != '=') {
        name = at;
        at = p + 1;
    }
    mw_py *node = NULL;
    /* most lines are no statements, and reading one costs more than all else that is done with it
     */
    bool may = name || returned || *at == '{' || (length && at[length] == '(');
    if (!may && !strstr(at, "mark_sharding(") && !strstr(at, "all_gather(")) return false;
    if (!mw__hlo_done(h->e, mw__py_read(at, at + strlen(at), &h->e->scratch, &node))) return false;
    const mw_py *call = call_in(node);
    spmd_mesh *printed = node->kind == MW_PY_DICT ? mw__xs_mesh_new(h) : NULL;
    if (printed && mw__xs_mesh_text(h, node, printed)) {
        tell_mesh(h, printed);
        return true;
    }
    if (call && mark_call(h, call)) {
        if (name && length < SPMD_NAME) {
            xs_value v = mw__xs_eval(h, argument(call, "t", 0));
            bind(h, name, length, &v);
        }
        return true;
    }
    if (call && mw__xs_op_call(h, call, name || returned)) return true;
    bool gathers = call && mw__xs_all_gather(h, call);
    if (gathers || !name) return gathers;
    xs_value v = mw__xs_product(h, node);
    if (!v.kind) v = mw__xs_eval(h, node);
    v.text = mw__xs_keep(h, node->at, node->length);
    if (call && mw__xs_ends(call, "Linear")) {
        bind_linear(h, name, length, call);
        return true;
    }
    bool plain = node->kind == MW_PY_TUPLE || node->kind == MW_PY_LIST || v.kind == XS_INTS;
    bool counts = call && mw__xs_ends(call, "global_runtime_device_count");
    if (!v.kind && !plain && !counts) return false;
    bind(h, name, length, &v);
    if (v.kind == XS_MESH) tell_mesh(h, v.mesh);
    return true;
}
