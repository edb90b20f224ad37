/* A text for DTensor's joined lists where sizes don't divide, by trying.
 *
 * Candidates are texts of up to three factors with every axis of the dim once, joint or not, and at
 * most one local cut. A candidate is compared with the lists of all ranks and nearly always fails
 * at the first. Small dims only: of a large one, what the placements mean is said only where it
 * divides. */
#include "mesh/notation.h"

#include "mesh/owner.h"

enum {
    MOST_SIZE = 1024,  /* positions */
    MOST_LISTS = 1024, /* ranks that differ */
    MOST_WORK = 30000, /* candidates, and the chunks of their local cuts: some 5 ms */
    MOST_FACTORS = 3
};

typedef struct finder {
    const mw_mesh *mesh;
    const mw__placed *placed;
    int64_t size;
    uint32_t axes;
    int nlist;
    mw__ranges *list; /* by the coordinates on the axes, the last axis fastest */
    mw_dim dim;       /* the candidate */
    mw_dim best;      /* the one that was right */
    bool found;
    int64_t chunks; /* of the candidate's local cut; 0: it has none */
    int64_t work;
} finder;

static void coords_of(const finder *f, int list, int *coord)
{
    memset(coord, 0, MW_MESH_AXES * sizeof *coord);
    for (int a = f->mesh->naxis - 1; a >= 0; a--) {
        if (!(f->axes >> a & 1)) continue;
        coord[a] = list % f->mesh->size[a];
        list /= f->mesh->size[a];
    }
}

static bool agrees(const finder *f, const mw_dim *dim)
{
    mw_range range[MOST_SIZE];
    for (int i = 0; i < f->nlist; i++) {
        int coord[MW_MESH_AXES];
        const mw__ranges *list = &f->list[i];
        coords_of(f, i, coord);
        if (mw__dim_ranges(f->mesh, dim, coord, range, MOST_SIZE) != list->n) return false;
        if (list->n && memcmp(range, list->at, (size_t)list->n * sizeof *range) != 0) return false;
    }
    return true;
}

static bool tired(const finder *f)
{
    return f->found || f->work >= MOST_WORK;
}

static void next_factor(finder *f, uint32_t axes, int64_t left);

static void push(finder *f, mw_cut cut)
{
    f->dim.cut[f->dim.ncut++] = cut;
    f->dim.cuts[f->dim.nfactor - 1]++;
}

static void pop(finder *f)
{
    f->dim.ncut--;
    f->dim.cuts[f->dim.nfactor - 1]--;
    memset(&f->dim.cut[f->dim.ncut], 0, sizeof *f->dim.cut);
}

/* More cuts of the last factor, or the next one; `left` is the product of the sizes to come. */
static void go_on(finder *f, uint32_t axes, int64_t left)
{
    mw_dim *dim = &f->dim;
    int cuts = dim->cuts[dim->nfactor - 1];
    const mw_cut *last = cuts ? &dim->cut[dim->ncut - 1] : NULL;
    if (tired(f)) return;
    bool hangs = last && last->axis < 0; /* a local cut that nothing follows */
    if (!hangs) next_factor(f, axes, left);
    for (int a = 0; a < f->mesh->naxis && !tired(f); a++)
        for (int joint = 0; joint < 2 && axes >> a & 1; joint++) {
            if (joint && (!last || hangs)) continue;
            push(f, mw__cut_make(a, joint, 1, f->mesh->size[a]));
            go_on(f, axes & ~(1u << a), left);
            pop(f);
        }
    if (f->chunks || !axes) return;
    int64_t most = dim->factor[dim->nfactor - 1];
    for (int64_t k = 2; k <= most && !tired(f); k++) {
        f->chunks = k;
        push(f, mw__cut_make(MW_CUT_LOCAL, false, 1, (int32_t)k));
        go_on(f, axes, left);
        pop(f);
    }
    f->chunks = 0;
}

static void try_factor(finder *f, uint32_t axes, int64_t left, int64_t size)
{
    mw_dim *dim = &f->dim;
    dim->factor[dim->nfactor++] = size;
    go_on(f, axes, left / size);
    dim->factor[--dim->nfactor] = 0;
}

static void next_factor(finder *f, uint32_t axes, int64_t left)
{
    mw_dim *dim = &f->dim;
    if ((left == 1 && dim->nfactor) || !axes) {
        if (axes) return;
        f->work += 1 + f->chunks / 4;
        mw_dim whole = *dim;
        if (left > 1) whole.factor[whole.nfactor++] = left;
        f->found = agrees(f, &whole);
        if (f->found) f->best = whole;
        return;
    }
    if (dim->nfactor == MOST_FACTORS) return;
    try_factor(f, axes, left, left); /* the shortest texts are the likeliest */
    for (int64_t size = 2; size < left && !tired(f); size++)
        if (left % size == 0) try_factor(f, axes, left, size);
}

static mw_status make_lists(finder *f)
{
    for (int i = 0; i < f->nlist; i++) {
        int coord[MW_MESH_AXES];
        coords_of(f, i, coord);
        MW_TRY(mw__placed_ranges(f->mesh, f->size, f->placed, coord, &f->list[i]));
    }
    return MW_OK;
}

mw_status mw__placed_search(const mw_mesh *mesh, int64_t size, const mw__placed *placed,
                            mw_dim *ret, bool *ret_found)
{
    finder f = {.mesh = mesh, .placed = placed, .size = size, .nlist = 1};
    *ret_found = false;
    for (int i = 0; i < placed->n; i++) {
        f.axes |= 1u << placed->axis[i];
        if (f.nlist <= MOST_LISTS) f.nlist *= mesh->size[placed->axis[i]];
    }
    if (size > MOST_SIZE || f.nlist > MOST_LISTS) return MW_OK;
    size_t bytes = (size_t)f.nlist * sizeof *f.list;
    f.list = mw__zalloc(bytes);
    if (!f.list) return MW_NOMEM();
    mw_status status = make_lists(&f);
    if (status == MW_OK) {
        next_factor(&f, f.axes, size);
        *ret_found = f.found;
        if (f.found) *ret = f.best;
    }
    for (int i = 0; i < f.nlist; i++)
        mw__ranges_done(&f.list[i]);
    mw__free(f.list, bytes);
    return status;
}
