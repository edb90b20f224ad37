/* Sizes of mesh axes, which a tree does not print. A collective states how many ranks its group
 * has; a whole tensor beside a rank's piece leaves few sizes, and several such pairs fewer. */
#include "log/dtensor_tree.h"

/* ---- groups
 * ------------------------------------------------------------------------------------------ */

void mw__tree_size_group(dt_tree *t, const char *name, int64_t size)
{
    int64_t only = t->only == 0 || t->only == size ? size : -1;
    if (size > 0 && only != t->only) {
        t->only = only;
        t->version++;
    }
    if (!*name || size < 1 || mw__tree_group(t, name) == size) return;
    tree_group *g = &t->group[t->ngroup++ % TREE_GROUPS]; /* the oldest makes room */
    size_t n = MW_MIN(strlen(name), sizeof g->name - 1);
    t->version++;
    memcpy(g->name, name, n);
    g->name[n] = 0;
    g->size = size;
}

int64_t mw__tree_group(const dt_tree *t, const char *name)
{
    int first = MW_MAX(0, t->ngroup - TREE_GROUPS);
    for (int i = t->ngroup - 1; *name && i >= first; i--)
        if (strncmp(t->group[i % TREE_GROUPS].name, name, sizeof t->group[0].name - 1) == 0)
            return t->group[i % TREE_GROUPS].size;
    return 0;
}

/* ---- axes
 * -------------------------------------------------------------------------------------------- */

void mw__tree_size_stated(dt_tree *t, int naxis, int axis, int64_t size)
{
    if (naxis < 1 || naxis > DT_AXES || axis < 0 || axis >= naxis || size < 1) return;
    if (t->axis[naxis][axis].stated == size) return;
    t->axis[naxis][axis].stated = size;
    t->version++;
}

/* Mesh sizes that leave a first rank `local` of `size` positions: chunks of ceil(size / n). */
static uint64_t possible(int64_t size, int64_t local)
{
    uint64_t may = 0;
    for (int64_t n = 1; n <= TREE_MOST; n++)
        if ((size - 1) / n + 1 == local) may |= UINT64_C(1) << n;
    return may;
}

static void add_piece(tree_axis *a, int64_t size, int64_t local)
{
    int64_t even = size % local == 0 ? size / local : 0;
    uint64_t may = possible(size, local), both = a->may & may;
    if (!a->may || !both) {
        a->may = may;
        a->even = even;
        return;
    }
    a->may = both;
    if (even && (!a->even || !(both >> MW_MIN(a->even, TREE_MOST) & 1))) a->even = even;
}

void mw__tree_size_piece(dt_tree *t, const dt_tensor *whole, const dt_tensor *piece)
{
    int naxis = whole->nplacement;
    if (!whole->shaped || !piece->shaped || whole->ndim != piece->ndim || naxis < 1) return;
    for (int a = 0; a < naxis; a++) {
        const dt_placement *p = &whole->placement[a];
        int d = p->dim < 0 ? p->dim + whole->ndim : p->dim, cuts = 0;
        if (p->kind != 'S' || d < 0 || d >= whole->ndim) continue;
        for (int b = 0; b < naxis; b++) {
            const dt_placement *q = &whole->placement[b];
            int e = q->dim < 0 ? q->dim + whole->ndim : q->dim;
            cuts += (q->kind == 'S' || q->kind == '_') && e == d;
        }
        if (cuts != 1 || piece->shape[d] < 1 || whole->shape[d] < piece->shape[d]) continue;
        tree_axis was = t->axis[naxis][a], *now = &t->axis[naxis][a];
        add_piece(now, whole->shape[d], piece->shape[d]);
        t->version += was.may != now->may || was.even != now->even;
    }
}

int64_t mw__tree_size(const dt_tree *t, int naxis, int axis, mw_how *ret_how)
{
    *ret_how = MW_HOW_DERIVED;
    if (naxis < 1 || naxis > DT_AXES || axis < 0 || axis >= naxis) return 0;
    const tree_axis *a = &t->axis[naxis][axis];
    if (a->stated) return a->stated;
    if (a->may && !(a->may & (a->may - 1)))
        for (int n = 1; n <= TREE_MOST; n++)
            if (a->may >> n & 1) return n;
    bool fits = t->only > 0 && t->only <= TREE_MOST && a->may >> t->only & 1;
    if (naxis == 1 && fits) return t->only; /* a mesh of one axis is one group */
    *ret_how = MW_HOW_ASSUMED;              /* an even cut, of several that are possible */
    return a->even;
}

bool mw__tree_mesh(const dt_tree *t, int naxis, dt_mesh *ret)
{
    dt_mesh m = {.naxis = naxis, .how = MW_HOW_DERIVED};
    int64_t ranks = 1;
    for (int a = 0; a < naxis; a++) {
        mw_how how;
        int64_t n = mw__tree_size(t, naxis, a, &how);
        if (n < 1 || n > MW_MESH_RANKS || (ranks *= n) > MW_MESH_RANKS) return false;
        m.size[a] = (int)n;
        m.how = MW_MAX(m.how, how);
    }
    if (naxis < 1) return false;
    *ret = m;
    return true;
}
