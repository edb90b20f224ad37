/* A grid of devices told as a sharding: rows and columns are the tiles of the first two dims, the
 * devices of one cell hold copies. What the picture lost (narrow cells) is filled in only where one
 * regular order of devices fits all that can be read, and then it is an assumption. */
#include "log/explain.h"
#include "log/picture.h"

#include <stdlib.h>

enum { CELL_IDS = 1024, FILLED = 64 };

int mw__pic_cell(const pic_grid *g, int cell, int *ret, int cap)
{
    int n = 0;
    for (int i = 0; i < g->nid; i++)
        if (g->id[i].cell == cell && n < cap) ret[n++] = g->id[i].id;
    return n;
}

void mw__pic_ids_str(const int *id, int n, mw_str *to)
{
    mw__str_putc(to, '{');
    for (int i = 0; i < n; i++)
        mw__str_printf(to, "%s%d", i ? "," : "", id[i]);
    mw__str_putc(to, '}');
}

/* ---- cells that can't be read ------------------------------------------------------------------
 */

typedef struct owners {
    mw_explain *e;
    mw_draft *d;
    pic_grid *g;
    const char *from;
    int each;  /* devices of a cell; 0: they differ */
    int holes; /* cells that can't be read */
    bool filled;
} owners;

static bool hole(const pic_grid *g, int cell)
{
    return g->cut[cell] || g->count[cell] == 0;
}

static int compare_ids(const void *a, const void *b)
{
    const pic_id *x = a, *y = b;
    return x->cell != y->cell ? (x->cell > y->cell) - (x->cell < y->cell)
                              : (x->id > y->id) - (x->id < y->id);
}

static void count_cells(owners *o)
{
    const pic_grid *g = o->g;
    int n = g->nrow * g->ncol;
    o->each = o->holes = 0;
    bool first = true, same = true;
    for (int i = 0; i < n; i++) {
        if (hole(g, i)) {
            o->holes++;
            continue;
        }
        if (first) o->each = g->count[i];
        same = same && g->count[i] == o->each;
        first = false;
    }
    if (!same) o->each = 0;
}

/* Device k of cell (r, c) is first[k] + a r + b c: does this fit all cells that can be read? */
static bool fits(const owners *o, const int *first, int a, int b)
{
    const pic_grid *g = o->g;
    int ids[FILLED];
    for (int r = 0; r < g->nrow; r++)
        for (int c = 0; c < g->ncol; c++) {
            if (hole(g, r * g->ncol + c)) continue;
            int n = mw__pic_cell(g, r * g->ncol + c, ids, FILLED);
            for (int k = 0; k < n; k++)
                if (ids[k] != first[k] + a * r + b * c) return false;
        }
    return true;
}

/* The order puts every device of 0 to n-1 in one place. */
static bool covers(const owners *o, const int *first, int a, int b, int n)
{
    bool taken[FILLED] = {false};
    for (int r = 0; r < o->g->nrow; r++)
        for (int c = 0; c < o->g->ncol; c++)
            for (int k = 0; k < o->each; k++) {
                int id = first[k] + a * r + b * c;
                if (id < 0 || id >= n || taken[id]) return false;
                taken[id] = true;
            }
    return true;
}

static void fill(owners *o, const int *first, int a, int b)
{
    pic_grid *g = o->g;
    int kept = 0;
    for (int i = 0; i < g->nid; i++)
        if (!hole(g, g->id[i].cell)) g->id[kept++] = g->id[i];
    g->nid = kept;
    for (int r = 0; r < g->nrow; r++)
        for (int c = 0; c < g->ncol; c++) {
            int cell = r * g->ncol + c;
            if (!hole(g, cell)) continue;
            g->cut[cell] = false;
            g->count[cell] = 0;
            for (int k = 0; k < o->each && g->nid < PIC_IDS; k++) {
                g->id[g->nid++] = (pic_id){cell, first[k] + a * r + b * c};
                g->count[cell]++;
            }
        }
    o->filled = true;
}

static void fill_holes(owners *o)
{
    const pic_grid *g = o->g;
    int n = g->nrow * g->ncol * o->each, ids[FILLED], found = 0, best_a = 0, best_b = 0;
    if (!o->holes || !o->each || n > FILLED || hole(g, 0)) return;
    if (mw__pic_cell(g, 0, ids, FILLED) != o->each) return;
    for (int a = g->nrow > 1 ? 1 : 0; a < (g->nrow > 1 ? n : 1); a++)
        for (int b = g->ncol > 1 ? 1 : 0; b < (g->ncol > 1 ? n : 1); b++) {
            if (!fits(o, ids, a, b) || !covers(o, ids, a, b, n)) continue;
            found++;
            best_a = a;
            best_b = b;
        }
    if (found == 1) fill(o, ids, best_a, best_b);
}

/* ---- owners ------------------------------------------------------------------------------------
 */

static void tell_cells(const owners *o)
{
    const pic_grid *g = o->g;
    mw_str text = {0};
    int ids[CELL_IDS];
    for (int r = 0; r < g->nrow && text.length < 2000; r++) {
        mw__str_printf(&text, "%srow %d:", r ? "; " : "", r);
        for (int c = 0; c < g->ncol && text.length < 2000; c++) {
            mw__str_putc(&text, ' ');
            if (hole(g, r * g->ncol + c))
                mw__str_putc(&text, '?');
            else
                mw__pic_ids_str(ids, mw__pic_cell(g, r * g->ncol + c, ids, CELL_IDS), &text);
        }
    }
    mw__fact(o->d, "who holds what", o->filled ? MW_HOW_ASSUMED : MW_HOW_STATED,
             o->filled
                 ? "cells whose text is lost are filled by the one order of devices that fits "
                   "the others; a wider picture would settle it"
                 : o->from,
             "%s", mw__hlo_keep(o->e, &text));
    mw__fact(o->d, "grid", MW_HOW_STATED, o->from, "%d x %d cells", g->nrow, g->ncol);
    if (o->each > 0)
        mw__fact(o->d, "copies of each piece", MW_HOW_DERIVED, "devices in a cell", "%d", o->each);
}

/* Ids as ranks 0 to n-1, in their order; false where a device stands twice. */
static bool rank_ids(const owners *o, int *rank, int *ret_n, bool *ret_same)
{
    const pic_grid *g = o->g;
    int *sorted = mw__arena_zalloc(mw__explain_scratch(o->e), (size_t)g->nid * sizeof *sorted);
    if (!sorted) {
        o->e->failed = true;
        return false;
    }
    for (int i = 0; i < g->nid; i++)
        sorted[i] = g->id[i].id;
    for (int i = 1; i < g->nid; i++) { /* few: insertion */
        int v = sorted[i], k = i;
        for (; k > 0 && sorted[k - 1] > v; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = v;
    }
    *ret_same = true;
    for (int i = 0; i < g->nid; i++) {
        if (i && sorted[i] == sorted[i - 1]) return false;
        *ret_same = *ret_same && sorted[i] == i;
    }
    for (int i = 0; i < g->nid; i++) {
        int low = 0, high = g->nid;
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle] < g->id[i].id)
                low = middle + 1;
            else
                high = middle;
        }
        rank[i] = low;
    }
    *ret_n = g->nid;
    return true;
}

static void print_as(const owners *o, const mw_reading *r, mw_notation notation, const char *name,
                     mw_how how)
{
    mw_notation_text text = {.text = NULL};
    if (!mw__hlo_done(o->e, mw_reading_print(r, notation, &text))) return;
    if (text.text) mw__fact(o->d, name, how, "a layout with these owners", "%s", text.text);
    mw_notation_text_done(&text);
}

/* Where the tensor's dims are named by the line before: entries None must not be cut. */
static void check_spec(const owners *o)
{
    const pic_grid *g = o->g;
    mw_py *spec = NULL;
    if (!g->spec || !mw__hlo_done(o->e, mw__py_read(g->spec, g->spec + strlen(g->spec),
                                                    mw__explain_scratch(o->e), &spec)))
        return;
    if (spec->kind != MW_PY_CALL || g->ndim < 1 || g->ndim > 2) return;
    mw__fact(o->d, "spec", MW_HOW_STATED, mw__spmd_from(o->e, g->caption), "%s", g->spec);
    for (int dim = 0; dim < g->ndim; dim++) {
        int pieces = g->ndim == 1 || dim == 1 ? g->ncol : g->nrow;
        const mw_py *entry = mw__py_child(spec, dim);
        if (entry && entry->key) entry = NULL;
        bool whole = !entry || mw__py_is(entry, "None");
        if (whole && pieces > 1)
            mw__problem(o->d, "spec-differs", -1, -1,
                        "look for what changed the sharding between the spec and the picture",
                        "the spec %s leaves dim %d whole, the picture cuts it in %d", g->spec, dim,
                        pieces);
    }
}

/* Of the largest piece: it does not hang on which device holds which. */
static void tell_first_piece(const owners *o, const mw_reading *r, const mw_mesh *mesh, int ndim)
{
    int64_t local[MW_LAYOUT_DIMS];
    mw_str text = {0};
    if (!mw_reading_layout(r)) return;
    mw_layout_local_shape(mesh, mw_reading_layout(r), 0, local);
    mw__hlo_str_shape(ndim, local, &text);
    mw__fact(o->d, "local shape", MW_HOW_DERIVED, "the shape cut by the grid", "%s",
             mw__hlo_keep(o->e, &text));
}

static void tell_sharding(const owners *o)
{
    pic_grid *g = o->g;
    int n, *rank = mw__arena_zalloc(mw__explain_scratch(o->e), (size_t)g->nid * sizeof *rank);
    bool same, flat = g->shaped && g->ndim == 1;
    mw_str text = {0};
    hlo_sharding s;
    if (!rank) {
        o->e->failed = true;
        return;
    }
    qsort(g->id, (size_t)g->nid, sizeof *g->id, compare_ids);
    if (!rank_ids(o, rank, &n, &same)) {
        mw__fact(o->d, "no tiling", MW_HOW_DERIVED, "a device stands in two cells",
                 "some device holds several separate pieces: no XLA sharding does that; a strided "
                 "placement does");
        return;
    }
    mw_how how = o->filled ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
    if (n == 1 || (g->nrow == 1 && g->ncol == 1)) {
        mw__str_puts(&text, n == 1 ? "{maximal device=0}" : "{replicated}");
    } else {
        mw__str_puts(&text, "{devices=[");
        if (flat)
            mw__str_printf(&text, "%d", MW_MAX(g->nrow, g->ncol));
        else
            mw__str_printf(&text, "%d,%d", g->nrow, g->ncol);
        mw__str_printf(&text, o->each > 1 ? ",%d]" : "]", o->each);
        for (int i = 0; i < n; i++)
            mw__str_printf(&text, "%s%d", i ? "," : "", rank[i]);
        mw__str_puts(&text, o->each > 1 ? " last_tile_dim_replicate}" : "}");
    }
    const char *sharding = mw__hlo_keep(o->e, &text);
    mw__fact(o->d, "sharding", how, "cells row by row, devices of a cell are copies", "%s",
             sharding);
    if (!same)
        mw__fact(o->d, "device numbers", MW_HOW_DERIVED, "the devices are not 0 to n-1",
                 "the sharding's numbers are places in the rising list of devices");
    if (!mw__hlo_sharding_read(sharding, &s)) return;
    mw__hlo_sharding_str(&s, &text);
    mw__fact(o->d, "meaning", how, "the grid", "%s", mw__hlo_keep(o->e, &text));
    if (s.kind != HLO_TILES_KIND) return;
    int ndim = s.ntile - s.nsub;
    bool sized = g->shaped && g->ndim == ndim;
    mw_mesh *mesh = mw__hlo_mesh(o->e, &s, NULL);
    mw_reading *r =
        mesh ? mw__hlo_reading(o->e, mesh, s.at, s.length, ndim, sized ? g->shape : s.tile) : NULL;
    char name[256];
    if (r && mw_mesh_print(mesh, name, sizeof name) < (int)sizeof name)
        mw__fact(o->d, "mesh", MW_HOW_ASSUMED,
                 mw__explain_mesh(o->e) ? "given with --mesh, or made from the grid"
                                        : "the picture names no axes; these cut the order of "
                                          "devices as it shows",
                 "%s", name);
    if (r && sized && how == MW_HOW_DERIVED) {
        mw__hlo_tell_reading(o->e, o->d, "", mesh, r, 0);
    } else if (r) {
        if (sized) tell_first_piece(o, r, mesh, ndim);
        print_as(o, r, MW_NOTATION_SPEC, "as a partition spec", how);
        print_as(o, r, MW_NOTATION_DTENSOR, "as DTensor placements", how);
        print_as(o, r, MW_NOTATION_SDY, "in Shardy's words", how);
    }
    mw_reading_free(r);
    mw_mesh_unref(mesh);
}

static void tell_missing(const owners *o)
{
    const pic_grid *g = o->g;
    long long line = g->first;
    if (!g->shaped && g->kind != PIC_RANGES) {
        mw__missing(o->e,
                    "the shape and dtype of what is drawn in line %lld: a picture has no sizes",
                    line);
        if (g->nrow == 1)
            mw__missing(
                o->e,
                "whether what is drawn in line %lld has one dim or two: a tensor of one dim "
                "is drawn as one row",
                line);
        mw__missing(o->e, "dims beyond the first two of what is drawn in line %lld, if it has any",
                    line);
    }
    if (o->holes)
        mw__missing(o->e, "%d cell%s of the picture in line %lld: the text does not fit in there",
                    o->holes, o->holes == 1 ? "" : "s", line);
}

void mw__pic_tell(mw_explain *e, const mw_line *line, pic_grid *g)
{
    owners o = {.e = e, .g = g, .from = mw__spmd_from(e, g->first)};
    o.d = mw__draft(e, line, "picture", "sharding");
    mw__draft_last(o.d, g->last);
    mw__draft_weight(o.d, 20);
    count_cells(&o);
    fill_holes(&o);
    if (g->device[0]) mw__fact(o.d, "devices", MW_HOW_STATED, o.from, "%s", g->device);
    if (g->shaped) {
        mw_str shape = {0};
        mw__hlo_str_shape(g->ndim, g->shape, &shape);
        mw__fact(o.d, "shape", MW_HOW_STATED, mw__spmd_from(e, g->caption), "%s",
                 mw__hlo_keep(e, &shape));
    }
    int cells = g->nrow * g->ncol;
    if (cells == 1)
        mw__draft_says(o.d, "A picture of a tensor that %d device%s hold%s whole.", g->nid,
                       g->nid == 1 ? "" : "s", g->nid == 1 ? "s" : "");
    else
        mw__draft_says(o.d, "A picture of a tensor cut in %d rows and %d columns%s.", g->nrow,
                       g->ncol,
                       o.holes && !o.filled ? ", in which not every device can be read" : "");
    tell_cells(&o);
    tell_missing(&o);
    if (g->kind == PIC_RANGES)
        mw__pic_tell_ranges(e, o.d, g);
    else if (g->nid && o.each && (!o.holes || o.filled) && !g->too_large)
        tell_sharding(&o);
    if (g->spec) check_spec(&o);
}
