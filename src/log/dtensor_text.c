/* Meshes, placements and tensors as the releases of PyTorch print them. Reading is tolerant (what
 * is not said stays unknown); what a placement means is the notations' business, not this file's.
 */
#include "log/dtensor.h"

#include <stdlib.h>

/* ---- placements
 * -------------------------------------------------------------------------------------- */

typedef struct scan {
    const char *at, *end;
} scan;

static void blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == ','))
        s->at++;
}

static bool take(scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

static bool whole(scan *s, int64_t *ret)
{
    const char *p = s->at;
    while (p < s->end && *p == ' ')
        p++;
    bool minus = p < s->end && *p == '-';
    if (minus) p++;
    const char *digits = p;
    int64_t n = 0;
    while (p < s->end && *p >= '0' && *p <= '9' && p - digits < 18)
        n = n * 10 + (*p++ - '0');
    if (p == digits) return false;
    *ret = minus ? -n : n;
    s->at = p;
    return true;
}

static bool shard(scan *s, bool strided, dt_placement *p)
{
    int64_t dim, split = 1, order;
    p->kind = strided ? '_' : 'S';
    (void)take(s, "dim=");
    if (!whole(s, &dim) || dim < -64 || dim > 64) return false;
    blanks(s);
    if (strided) {
        if (!take(s, "split_factor=")) (void)take(s, "sf=");
        if (!whole(s, &split) || split < 1) return false;
        blanks(s);
    }
    if (!take(s, ")")) return false;
    p->dim = (int)dim;
    p->split = split;
    scan after = *s;
    if (take(&after, "[") && whole(&after, &order) && take(&after, "]") && order >= 0 &&
        order < 64) {
        p->order = (int)order;
        *s = after;
    }
    return true;
}

/* Past the bracket that closes the one just taken. */
static void skip_bracket(scan *s)
{
    for (int open = 1; s->at < s->end && open; s->at++)
        open += (*s->at == '(' || *s->at == '[') - (*s->at == ')' || *s->at == ']');
}

static void partial_kind(scan *s, dt_placement *p)
{
    (void)take(s, "reduce_op=");
    while (s->at < s->end && strchr("<'\" ", *s->at))
        s->at++;
    const char *from = s->at;
    for (; s->at < s->end; s->at++) {
        char c = *s->at;
        if (c == '.')
            from = s->at + 1; /* RedOpType.SUM */
        else if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
            break;
    }
    size_t n = MW_MIN((size_t)(s->at - from), sizeof p->reduce - 1);
    for (size_t i = 0; i < n; i++)
        p->reduce[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] - 'A' + 'a' : from[i]);
    if (n) p->reduce[n] = 0;
    skip_bracket(s);
}

static bool placement(scan *s, dt_placement *p)
{
    static const struct {
        const char *word;
        char kind;
    } words[] = {
        {"_StridedShard(", '_'},
        {"_S(", '_'},
        {"StridedShard(", '_'},
        {"Shard(", 'S'},
        {"S(", 'S'},
        {"Replicate()", 'R'},
        {"Replicate", 'R'},
        {"_MaskPartial", 'M'},
        {"MaskPartial", 'M'},
        {"MaskP", 'M'},
        {"_NormPartial", 'N'},
        {"_NormP", 'N'},
        {"_Partial", 'P'},
        {"Partial", 'P'},
        {"P", 'P'},
        {"R", 'R'},
    };
    *p = (dt_placement){.order = -1, .split = 1, .reduce = "sum"};
    for (int i = 0; i < MW_COUNT(words); i++) {
        if (!take(s, words[i].word)) continue;
        p->kind = words[i].kind;
        if (p->kind == 'S' || p->kind == '_') return shard(s, p->kind == '_', p);
        if (p->kind == 'P' && take(s, "(")) partial_kind(s, p);
        if ((p->kind == 'M' || p->kind == 'N') && take(s, "(")) partial_kind(s, p);
        return true;
    }
    return false;
}

bool mw__dt_read_placements(const char *at, int64_t length, dt_tensor *ret)
{
    scan s = {at, at + length};
    while (s.at < s.end && strchr(" ([|", *s.at))
        s.at++;
    int n = 0;
    dt_placement found[DT_AXES];
    for (;;) {
        blanks(&s);
        if (s.at >= s.end || *s.at == ')' || *s.at == ']') break;
        if (n == DT_AXES || !placement(&s, &found[n])) return false;
        n++;
    }
    while (s.at < s.end && strchr(" )],", *s.at))
        s.at++;
    if (n == 0 || s.at < s.end) return false;
    memcpy(ret->placement, found, (size_t)n * sizeof *found);
    ret->nplacement = n;
    ret->placed = true;
    return true;
}

static void placement_str(const dt_placement *p, mw_str *to)
{
    switch (p->kind) {
    case 'S':
        mw__str_printf(to, "S(%d)", p->dim);
        break;
    case '_':
        mw__str_printf(to, "_S(%d, %lld)", p->dim, (long long)p->split);
        break;
    case 'P':
        mw__str_printf(to, "P(%s)", p->reduce);
        break;
    case 'M':
        mw__str_printf(to, "MaskP(%s)", p->reduce);
        break;
    case 'N':
        mw__str_puts(to, "NormP");
        break;
    default:
        mw__str_putc(to, 'R');
    }
    if (p->order >= 0) mw__str_printf(to, "[%d]", p->order);
}

void mw__dt_placements_str(const dt_tensor *t, mw_str *to)
{
    for (int i = 0; i < t->nplacement; i++)
        placement_str(&t->placement[i], to);
}

void mw__dt_placements_long(const dt_placement *p, int n, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int i = 0; i < n; i++) {
        if (i) mw__str_puts(to, ", ");
        if (p[i].kind == 'S')
            mw__str_printf(to, "Shard(%d)", p[i].dim);
        else if (p[i].kind == '_')
            mw__str_printf(to, "_StridedShard(dim=%d, split_factor=%lld)", p[i].dim,
                           (long long)p[i].split);
        else if (p[i].kind == 'R')
            mw__str_puts(to, "Replicate()");
        else
            mw__str_printf(to, "Partial(\"%s\")", p[i].reduce);
    }
    mw__str_putc(to, ']');
}

/* ---- meshes
 * ------------------------------------------------------------------------------------------ */

static void copy_name(const char *at, int length, char *to, int cap)
{
    int n = MW_MIN(length, cap);
    memcpy(to, at, (size_t)n);
    to[n] = 0;
}

/* (tp=2), (dp=2, tp=4), (2,), (2, 4). */
static bool dims_of(const mw_py *node, dt_mesh *m)
{
    if (!node || (node->kind != MW_PY_TUPLE && node->kind != MW_PY_LIST)) return false;
    m->naxis = 0;
    for (const mw_py *c = node->first; c; c = c->next) {
        if (c->kind != MW_PY_INT || c->i < 1 || c->i > MW_MESH_RANKS || m->naxis == DT_AXES)
            return false;
        if (c->key) {
            copy_name(c->key, c->key_length, m->name[m->naxis], MW_AXIS_NAME);
            m->has_names = true;
        }
        m->size[m->naxis++] = (int)c->i;
    }
    return m->naxis > 0;
}

/* [[0, 1], [2, 3]]: sizes along the first of each list. */
static bool nested(const mw_py *node, dt_mesh *m)
{
    m->naxis = 0;
    for (; node && node->kind == MW_PY_LIST; node = node->first) {
        if (m->naxis == DT_AXES || node->count < 1 || node->count > MW_MESH_RANKS) return false;
        m->size[m->naxis++] = node->count;
    }
    return m->naxis > 0;
}

static void names_of(const mw_py *node, dt_mesh *m)
{
    int i = 0;
    if (!node || node->kind != MW_PY_TUPLE || node->count != m->naxis) return;
    for (const mw_py *c = node->first; c; c = c->next, i++)
        if (c->kind == MW_PY_STR) copy_name(c->name, c->name_length, m->name[i], MW_AXIS_NAME);
    m->has_names = true;
}

bool mw__dt_read_mesh(const mw_py *node, dt_mesh *ret)
{
    if (!node) return false;
    if (node->kind == MW_PY_TUPLE) {
        *ret = (dt_mesh){.how = MW_HOW_STATED};
        return dims_of(node, ret);
    }
    dt_mesh m = {.how = MW_HOW_STATED};
    if (node->kind == MW_PY_SEQ && mw__py_is(node->first, "DeviceMesh") &&
        mw__py_mark(node->first->next, ':')) { /* DeviceMesh:([0, 1]), up to 2.2 */
        if (!nested(mw__py_child(node->first->next->next, 0), &m)) return false;
        *ret = m;
        return true;
    }
    if (!mw__py_is(node, "DeviceMesh") || node->kind != MW_PY_CALL) return false;
    bool found = false;
    for (const mw_py *c = node->first; c; c = c->next) {
        const mw_py *last = c;
        if (c->kind == MW_PY_SEQ) /* device: 'xpu' */
            for (last = c->first; last->next;)
                last = last->next;
        if (c == node->first && c->kind == MW_PY_TUPLE)
            found = dims_of(c, &m);
        else if (c->kind == MW_PY_LIST && !found)
            found = nested(c, &m);
        else if (c->key && c->key_length == 14 && memcmp(c->key, "mesh_dim_names", 14) == 0)
            names_of(c, &m);
        else if (!c->key && !m.device[0] && (last->kind == MW_PY_STR || last->kind == MW_PY_NAME))
            copy_name(last->name, last->name_length, m.device, (int)sizeof m.device - 1);
    }
    if (!found) return false;
    *ret = m;
    return true;
}

void mw__dt_mesh_str(const dt_mesh *m, mw_str *to)
{
    for (int i = 0; i < m->naxis; i++) {
        if (i) mw__str_puts(to, ", ");
        if (m->name[i][0]) mw__str_printf(to, "%s=", m->name[i]);
        mw__str_printf(to, "%d", m->size[i]);
    }
}

/* ---- tensors
 * ---------------------------------------------------------------------------------------- */

static bool shape_of(const mw_py *node, dt_tensor *t)
{
    int n = mw__py_ints(node, t->shape, DT_DIMS);
    for (int i = 0; i < n; i++)
        if (t->shape[i] < 0) n = -1;
    if (n < 0) return false;
    t->ndim = n;
    t->shaped = true;
    return true;
}

bool mw__dt_read_meta(const mw_py *node, dt_tensor *ret)
{
    if (!mw__py_is(node, "TensorMeta")) return false;
    const mw_py *dtype = mw__py_key(node, "dtype");
    if (dtype && dtype->kind == MW_PY_NAME)
        ret->dtype = mw_dtype_read(dtype->name, dtype->name_length);
    ret->nstride = MW_MAX(mw__py_ints(mw__py_key(node, "stride"), ret->stride, DT_DIMS), 0);
    return shape_of(mw__py_key(node, "shape"), ret);
}

static const char *skip_to(const char *at, const char *end)
{
    const char *found = memchr(at, '}', (size_t)(end - at));
    return found ? found : end;
}

/* `f32[2, 16](S(0)R)`, `f32[2, 16][S(0)]`, `f32[2, 16]| S(0)`, `f32[2, 16]`, with `{...}` between.
 */
static bool typed(const mw_py *node, const char *end, dt_tensor *t)
{
    if (!node || node->kind != MW_PY_NAME) return false;
    mw_dtype dtype = mw_dtype_read(node->name, node->name_length);
    const mw_py *shape = node->next;
    if (!shape || !shape_of(shape, t)) return false;
    t->dtype = dtype;
    const char *rest = shape->at + shape->length;
    if (rest < end && *rest == '{') rest = skip_to(rest, end);
    while (rest < end && strchr("} ", *rest))
        rest++;
    if (rest < end) (void)mw__dt_read_placements(rest, end - rest, t);
    return true;
}

/* Spec(S(1) on (2, 16, 16)), Spec((Shard(dim=0), Replicate()) on (2, 16)), Spec(f32[2](S(0))). */
static bool spec(const mw_py *node, dt_tensor *t)
{
    const mw_py *inner = node->first;
    if (!inner) return false;
    const char *end = inner->at + inner->length;
    for (const mw_py *c = inner->kind == MW_PY_SEQ ? inner->first : NULL; c; c = c->next)
        if (mw__py_is(c, "on")) {
            (void)mw__dt_read_placements(inner->at, c->at - inner->at, t);
            (void)shape_of(c->next, t);
            return t->placed;
        }
    if (inner->kind == MW_PY_SEQ && typed(inner->first, end, t)) return true;
    return mw__dt_read_placements(inner->at, inner->length, t);
}

static bool full_spec(const mw_py *node, dt_tensor *t)
{
    const mw_py *mesh = mw__py_key(node, "mesh"), *p = mw__py_key(node, "placements");
    (void)mw__dt_read_mesh(mesh, &t->mesh);
    if (p) (void)mw__dt_read_placements(p->at, p->length, t);
    (void)mw__dt_read_meta(mw__py_key(node, "tensor_meta"), t);
    return t->placed;
}

/* `dt: f32[8, 8]| S(0)`, `t$2: f32[1, 32]`. */
static bool tree_tensor(const mw_py *node, dt_tensor *t)
{
    if (node->kind != MW_PY_SEQ || node->first->kind != MW_PY_NAME) return false;
    const mw_py *c = node->first;
    bool dt = mw__py_is(c, "dt"), plain = mw__py_is(c, "t") || mw__py_is(c, "ft");
    if (!dt && !plain) return false;
    for (c = c->next; c && !mw__py_mark(c, ':');)
        c = c->next;
    t->local = plain;
    return c && typed(c->next, node->at + node->length, t);
}

bool mw__dt_read_tensor(const mw_py *node, dt_tensor *ret)
{
    dt_tensor t = {.nplacement = 0};
    bool read = false;
    if (!node) return false;
    if (mw__py_is(node, "Spec") && node->kind == MW_PY_CALL)
        read = spec(node, &t);
    else if (mw__py_is(node, "DTensorSpec") && node->kind == MW_PY_CALL)
        read = full_spec(node, &t);
    else
        read = tree_tensor(node, &t);
    if (read) *ret = t;
    return read;
}

void mw__dt_shape_str(const int64_t *shape, int ndim, mw_str *to)
{
    mw__str_putc(to, '[');
    for (int i = 0; i < ndim; i++)
        mw__str_printf(to, "%s%lld", i ? ", " : "", (long long)shape[i]);
    mw__str_putc(to, ']');
}

void mw__dt_tensor_str(const dt_tensor *t, mw_str *to)
{
    if (t->dtype) mw__str_puts(to, mw_dtype_name(t->dtype));
    if (t->shaped)
        mw__dt_shape_str(t->shape, t->ndim, to);
    else
        mw__str_puts(to, "tensor of unknown shape");
    if (!t->placed) return;
    mw__str_putc(to, ' ');
    mw__dt_placements_str(t, to);
}
