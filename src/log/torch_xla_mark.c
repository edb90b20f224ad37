/* One annotation: the mesh and the spec are held against what PyTorch/XLA asserts of them, in its
 * order and with its texts, then the sharding is told as XLA will have it. */
#include "log/explain.h"
#include "log/torch_xla.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the mesh ----------------------------------------------------------------------------------
 */

static int rising(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool check_ids(const xs_here *h, mw_draft *d, const spmd_mesh *m, int64_t n)
{
    int64_t *ids = mw__arena_zalloc(&h->e->scratch, (size_t)m->nid * sizeof *ids);
    if (!ids) {
        h->e->failed = true;
        return false;
    }
    memcpy(ids, m->id, (size_t)m->nid * sizeof *ids);
    qsort(ids, (size_t)m->nid, sizeof *ids, rising);
    for (int64_t i = 1; i < m->nid; i++)
        if (ids[i] == ids[i - 1]) {
            mw__problem(d, "mesh-ids", -1, -1, "name every device once",
                        "Device IDs must be unique: %lld stands twice", (long long)ids[i]);
            return false;
        }
    if (ids[0] >= 0 && ids[m->nid - 1] < n) return true;
    mw__problem(d, "mesh-ids", -1, -1,
                "name all devices 0 to n-1: a mesh of a part of them can't be made in SPMD mode",
                "Device IDs must be less than mesh size: %lld, of %lld devices",
                (long long)ids[m->nid - 1], (long long)n);
    return false;
}

bool mw__xs_mesh_check(const xs_here *h, mw_draft *d, const spmd_mesh *m)
{
    int64_t n = mw__spmd_mesh_size(m);
    const mw_mesh *all = mw__explain_mesh(h->e);
    if (n < 0) return false;
    if (all && m->nid && m->nid != mw_mesh_ranks(all)) {
        mw__problem(d, "mesh-size", -1, -1,
                    "give all devices: no mesh of a part of them is possible",
                    "Number of device IDs (%lld) must match the global number of devices (%d, as "
                    "given with --mesh)",
                    (long long)m->nid, mw_mesh_ranks(all));
        return false;
    }
    if (m->nname && m->nname != m->naxis) {
        mw__problem(d, "mesh-names", -1, -1, "one name for each number of mesh_shape",
                    "Number of axis names (%d) must match mesh dimensions (%d)", m->nname,
                    m->naxis);
        return false;
    }
    for (int i = 0; i < m->nname; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(m->name[i], m->name[k]) == 0) {
                mw__problem(d, "mesh-names", -1, -1, "give each axis a name of its own",
                            "Axis names must be unique: %s stands twice", m->name[i]);
                return false;
            }
    if (m->nid && m->nid != n) {
        mw__problem(d, "device-count", -1, -1,
                    "make mesh_shape multiply to the number of device ids, or pass that many ids",
                    "Number of device IDs (%lld) must match mesh size (%lld): the ids can't be "
                    "reshaped to mesh_shape",
                    (long long)m->nid, (long long)n);
        return false;
    }
    return !m->nid || check_ids(h, d, m, n);
}

/* ---- the spec ----------------------------------------------------------------------------------
 */

typedef struct spec_check {
    const xs_here *h;
    mw_draft *d;
    const xs_mark *mark;
    uint64_t used;
    int64_t tiles[MW_LAYOUT_DIMS]; /* pieces by entry */
    int n;
} spec_check;

static bool check_axis(spec_check *c, const mw_py *axis, int entry)
{
    const spmd_mesh *m = c->mark->mesh;
    int64_t at = -1;
    if (axis->kind == MW_PY_INT) {
        at = axis->i;
        if (m && (at < 0 || at >= m->naxis)) {
            mw__problem(c->d, "spec-axis", -1, -1,
                        "use 0 to the number of mesh axes less one, or names",
                        "partition_spec contains out of bound index into mesh_shape: %lld, and the "
                        "mesh has %d axes",
                        (long long)at, m->naxis);
            return false;
        }
    } else if (axis->kind == MW_PY_STR) {
        at = m ? mw__spmd_axis(m, axis->name, axis->name_length) : -1;
        if (m && at < 0) {
            mw_str names = {0};
            mw__spmd_mesh_str(m, &names);
            const char *text = mw__hlo_keep(c->h->e, &names);
            mw__problem(c->d, "spec-axis", -1, -1,
                        m->nname ? "use one of the mesh's axis names"
                                 : "pass axis_names to Mesh, or use the numbers of axes",
                        "Axis name %.*s is not defined in the given mesh (%s%s)", axis->name_length,
                        axis->name, text, m->nname ? "" : ", which has no names");
            return false;
        }
    } else if (axis->kind == MW_PY_TUPLE || axis->kind == MW_PY_LIST) {
        mw__problem(c->d, "spec-nested", -1, -1, "one tuple of axes per dim is all there is",
                    "Partition spec cannot contain nested tuples: entry %d", entry);
        return false;
    } else {
        return true; /* an expression: not known */
    }
    if (at < 0 || !m || at >= 64) return true;
    if (c->used >> at & 1) {
        mw__problem(c->d, "spec-axis-twice", -1, -1,
                    "use each axis once: for several axes on one dim write them in one tuple",
                    "Each device mesh dimension should appear at most once in partition_spec: axis "
                    "%.*s stands twice",
                    (int)axis->length, axis->at);
        return false;
    }
    c->used |= UINT64_C(1) << at;
    c->tiles[MW_MIN(entry, MW_LAYOUT_DIMS - 1)] *= m->size[at];
    return true;
}

static bool is_none(const mw_py *node)
{
    return mw__py_is(node, "None");
}

static bool check_entries(spec_check *c, const mw_py *spec)
{
    int entry = 0;
    for (const mw_py *x = spec->first; x; x = x->next, entry++) {
        c->tiles[MW_MIN(entry, MW_LAYOUT_DIMS - 1)] = 1;
        if (is_none(x)) continue;
        if (x->kind == MW_PY_FLOAT || x->kind == MW_PY_DICT) {
            mw__problem(c->d, "spec-type", -1, -1, "entries are None, an int, a str, or a tuple",
                        "Spec type is not supported in partition spec: %.*s",
                        (int)MW_MIN(x->length, 100), x->at);
            return false;
        }
        if (x->kind == MW_PY_TUPLE) {
            for (const mw_py *axis = x->first; axis; axis = axis->next)
                if (!check_axis(c, axis, entry)) return false;
        } else if (!check_axis(c, x, entry)) {
            return false;
        }
    }
    c->n = entry;
    return true;
}

bool mw__xs_mark_check(const xs_here *h, mw_draft *d, const xs_mark *mark)
{
    const mw_py *spec = mark->spec;
    spec_check c = {.h = h, .d = d, .mark = mark};
    if (!spec) return true;
    bool comma = memchr(spec->at, ',', (size_t)spec->length) != NULL;
    if (spec->kind == MW_PY_STR || (spec->kind == MW_PY_TUPLE && spec->count == 1 && !comma)) {
        mw__problem(d, "spec-type", -1, -1, "write a comma: ('data',)",
                    "%.*s is no tuple in Python, it is its only element",
                    (int)MW_MIN(spec->length, 100), spec->at);
        return false;
    }
    if (spec->kind != MW_PY_TUPLE || !check_entries(&c, spec)) return spec->kind != MW_PY_TUPLE;
    if (mark->tensor.ndim >= 0 && mark->tensor.ndim != c.n) {
        mw__problem(d, "spec-rank", -1, -1,
                    "one entry for each dim of the tensor, None for those that stay whole",
                    "Partition spec length (%d) should be equal to the input rank (%d).", c.n,
                    mark->tensor.ndim);
        return false;
    }
    return true;
}

/* ---- told --------------------------------------------------------------------------------------
 */

/* The same spec with None where a dim has fewer elements than pieces; NULL: there is no such dim.
 */
static const char *without_idle(const xs_here *h, const xs_mark *m)
{
    mw_str text = {0};
    spec_check c = {.h = h, .mark = m};
    bool changed = false;
    int entry = 0;
    mw__str_putc(&text, '(');
    for (const mw_py *x = m->spec->first; x; x = x->next, entry++) {
        c.tiles[MW_MIN(entry, MW_LAYOUT_DIMS - 1)] = 1;
        if (x->kind == MW_PY_TUPLE)
            for (const mw_py *axis = x->first; axis; axis = axis->next)
                (void)check_axis(&c, axis, entry);
        else if (!is_none(x))
            (void)check_axis(&c, x, entry);
        bool idle = entry < m->tensor.ndim && c.tiles[entry] > m->tensor.shape[entry];
        changed = changed || idle;
        mw__str_puts(&text, entry ? ", " : "");
        if (idle)
            mw__str_puts(&text, "None");
        else
            mw__str_append(&text, x->at, (size_t)x->length);
    }
    mw__str_puts(&text, entry == 1 ? ",)" : ")");
    const char *kept = mw__hlo_keep(h->e, &text);
    return changed ? kept : NULL;
}

static void tell_before(const xs_here *h, mw_draft *d, const xs_mark *m, const char *now)
{
    xs_value *v = m->bound;
    bool replicated = strcmp(now, "{replicated}") == 0;
    if (!v || !*now) return;
    if (v->marked && strcmp(v->marked, now) != 0)
        mw__problem(d, "marked-twice", -1, -1,
                    "clear_sharding(t) first, or mark once with the sharding that is wanted",
                    "Existing annotation must be cleared first: line %lld gave %s, this gives %s",
                    (long long)v->marked_line, v->marked, now);
    else if (v->marked)
        mw__fact(d, "no change", MW_HOW_DERIVED, "the same sharding again is allowed",
                 "line %lld gave the same", (long long)v->marked_line);
    if (!replicated && !v->marked) {
        v->marked = now;
        v->marked_line = h->first;
    }
}

static const char *fact_of(const mw_entry *entry, const char *name)
{
    for (int i = 0; entry && i < entry->nfact; i++)
        if (strcmp(entry->fact[i].name, name) == 0) return entry->fact[i].value;
    return "";
}

static void tell_missing(const xs_here *h, const xs_mark *m)
{
    if (!m->mesh)
        mw__missing(h->e,
                    "the mesh of the annotation in line %lld: mesh_shape and axis names; a "
                    "Mesh(...) line would say",
                    (long long)h->first);
    if (m->tensor.ndim < 0)
        mw__missing(h->e,
                    "the shape and dtype of %s, annotated in line %lld: local shapes and bytes "
                    "need them",
                    m->name, (long long)h->first);
}

void mw__xs_mark_tell(const xs_here *h, mw_draft *d, const xs_mark *mark)
{
    xs_mark m = *mark;
    mw__fact(d, "tensor", MW_HOW_STATED, h->from, "%s", m.name);
    if (m.tensor.ndim >= 0) {
        mw_str shape = {0};
        mw__hlo_str_shape(m.tensor.ndim, m.tensor.shape, &shape);
        mw__fact(d, "shape", MW_HOW_STATED, h->from, "%s", mw__hlo_keep(h->e, &shape));
    }
    if (m.spec)
        mw__fact(d, "partition_spec", MW_HOW_STATED, h->from, "%.*s",
                 (int)MW_MIN(m.spec->length, 300), m.spec->at);
    if (m.mesh) mw__spmd_tell_mesh(h->e, d, m.mesh);
    tell_missing(h, &m);
    bool good = (!m.mesh || mw__xs_mesh_check(h, d, m.mesh)) && mw__xs_mark_check(h, d, &m);
    mw_mesh *mesh = good && m.mesh && m.spec ? mw__spmd_mesh_make(h->e, m.mesh) : NULL;
    mw__draft_says(d, "%s is annotated%s.", m.name,
                   good ? "" : " in a way that PyTorch/XLA refuses");
    mw__draft_weight(d, 30);
    if (!mesh) return;
    m.tensor.spec = mw__xs_keep(h, m.spec->at, m.spec->length);
    m.tensor.nentry = m.spec->count;
    if (mw__spmd_tell(h->e, d, "", mesh, &m.tensor)) {
        const mw_entry *entry = mw__draft_entry(d);
        const char *now = fact_of(entry, "sharding");
        mw__draft_says(d, "%s is annotated %s: %s.", m.name, now, fact_of(entry, "meaning"));
        mw__fact(d, "values", MW_HOW_DERIVED, "an annotation is an identity",
                 "unchanged: mark_sharding says where pieces lie, it computes nothing");
        tell_before(h, d, &m, now);
        const char *other = m.tensor.ndim >= 0 ? without_idle(h, &m) : NULL;
        if (other) {
            spmd_value instead = m.tensor;
            instead.spec = other;
            mw__fact(d, "instead: partition_spec", MW_HOW_DERIVED,
                     "None where the dim has fewer elements than pieces", "%s", other);
            (void)mw__spmd_tell(h->e, d, "instead", mesh, &instead);
        }
    }
    mw_mesh_unref(mesh);
}
