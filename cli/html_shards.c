/* Which rank holds what of a tensor: the tensor, cut wherever some rank's part begins or ends, each
 * piece with the ranks that hold it. Parts are products of what a rank holds along each dim, so the
 * holders of a piece are those of all its sides. */
#include "cli/html.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_DRAWN = 64, PIECES = 256, SIDE = 200, LEAST = 30, RANGES = 32, COLORS = 10 };
enum { EDGES = 2 * RANGES * RANKS_DRAWN + 2 };

typedef struct shards {
    mw_mesh *mesh;
    mw_layout layout;
    int nrank;
    int ndrawn, drawn[GRID_DIMS];                  /* tensor dims in the picture */
    int64_t edge[MW_LAYOUT_DIMS][GRID_PIECES + 1]; /* where pieces begin; the last: the size */
    int n[MW_LAYOUT_DIMS];                         /* pieces */
    uint64_t holds[MW_LAYOUT_DIMS][GRID_PIECES];   /* ranks, bit per rank */
    html_grid grid;
} shards;

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The pieces of one dim; false: too many. */
static bool cut_dim(shards *s, int d)
{
    int64_t edge[EDGES], size = mw_layout_size(&s->layout, d);
    mw_range range[RANGES];
    int n = 0;
    edge[n++] = 0;
    edge[n++] = size;
    for (int r = 0; r < s->nrank; r++) {
        int64_t count = mw_layout_ranges(s->mesh, &s->layout, r, d, range, RANGES);
        if (count > RANGES || n + 2 * (int)count > EDGES) return false;
        for (int64_t i = 0; i < count; i++) {
            edge[n++] = range[i].first;
            edge[n++] = range[i].end;
        }
    }
    qsort(edge, (size_t)n, sizeof *edge, by_number);
    for (int i = 0; i < n; i++) {
        if (i && edge[i] == edge[i - 1]) continue;
        if (s->n[d] > GRID_PIECES) return false;
        s->edge[d][s->n[d]++] = edge[i];
    }
    if (s->n[d] > 1) s->n[d]--; /* edges to pieces; a dim of size 0 is one empty piece */
    return true;
}

static bool has(const mw_range *range, int64_t count, int64_t at)
{
    for (int64_t i = 0; i < count; i++)
        if (range[i].first <= at && at < range[i].end) return true;
    return false;
}

static void find_holders(shards *s, int d)
{
    mw_range range[RANGES];
    for (int r = 0; r < s->nrank; r++) {
        int64_t count = mw_layout_ranges(s->mesh, &s->layout, r, d, range, RANGES);
        for (int i = 0; i < s->n[d]; i++)
            if (has(range, count, s->edge[d][i])) s->holds[d][i] |= UINT64_C(1) << r;
    }
}

/* The dims that are cut come into the picture first, then the last ones. */
static bool choose_dims(shards *s)
{
    bool in[MW_LAYOUT_DIMS] = {false};
    int left = GRID_DIMS;
    for (int d = 0; d < s->layout.ndim; d++) {
        in[d] = s->n[d] > 1;
        left -= in[d];
    }
    if (left < 0) return false;
    for (int d = s->layout.ndim - 1; d >= 0 && left > 0; d--) {
        left -= !in[d];
        in[d] = true;
    }
    int64_t pieces = 1;
    for (int d = 0; d < s->layout.ndim; d++) {
        if (!in[d]) continue;
        s->drawn[s->ndrawn++] = d;
        pieces *= s->n[d];
    }
    return pieces <= PIECES;
}

static void lay_grid(shards *s)
{
    html_grid *g = &s->grid;
    *g = (html_grid){.ndim = s->ndrawn};
    for (int k = 0; k < s->ndrawn; k++) {
        int d = s->drawn[k];
        html_dim *dim = &g->dim[k];
        int64_t size = mw_layout_size(&s->layout, d);
        dim->n = s->n[d];
        (void)snprintf(dim->name, sizeof dim->name, "dim %d", d);
        for (int i = 0; i < dim->n; i++) {
            int64_t first = s->edge[d][i], end = size ? s->edge[d][i + 1] : 0;
            double part = size ? (double)(end - first) / (double)size : 1;
            int side = k == s->ndrawn - 1 ? SIDE : SIDE * 2 / 3;
            if (s->ndrawn > 2) side /= 2;
            dim->size[i] = LEAST + (int)(part * side);
            if (end - first <= 1)
                (void)snprintf(dim->label[i], sizeof dim->label[i], size ? "%lld" : "none",
                               (long long)first);
            else
                (void)snprintf(dim->label[i], sizeof dim->label[i], "%lld-%lld", (long long)first,
                               (long long)end - 1);
            int wide = (int)strlen(dim->label[i]) * 7 + 4;
            if (k == s->ndrawn - 1 && dim->size[i] < wide) dim->size[i] = wide;
        }
    }
    html_grid_place(g);
}

static bool read_both(const mw_laid *laid, shards *ret)
{
    if (mw_mesh_parse(laid->mesh, &ret->mesh) != MW_OK ||
        mw_layout_parse(ret->mesh, laid->layout, &ret->layout) != MW_OK)
        return false;
    ret->nrank = mw_mesh_ranks(ret->mesh);
    if (ret->nrank > RANKS_DRAWN) return false;
    for (int d = 0; d < ret->layout.ndim; d++) {
        if (!cut_dim(ret, d)) return false;
        find_holders(ret, d);
    }
    if (!choose_dims(ret)) return false;
    lay_grid(ret);
    return true;
}

static bool prepare(const mw_laid *laid, shards *ret)
{
    *ret = (shards){.mesh = NULL};
    if (read_both(laid, ret)) return true;
    mw_error_clear();
    mw_mesh_unref(ret->mesh);
    return false;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* "0", "0-3", "0,2", "every rank". */
static void name_ranks(uint64_t ranks, int nrank, char *to, size_t size)
{
    size_t n = 0;
    uint64_t all = nrank == 64 ? UINT64_MAX : (UINT64_C(1) << nrank) - 1;
    to[0] = 0;
    if (ranks == all && nrank > 1) {
        (void)snprintf(to, size, "all %d", nrank);
        return;
    }
    for (int r = 0; r < nrank && n + 16 < size; r++) {
        if (!(ranks >> r & 1)) continue;
        int last = r;
        while (last + 1 < nrank && (ranks >> (last + 1) & 1))
            last++;
        n += (size_t)snprintf(to + n, size - n, last > r + 1 ? "%s%d-%d" : "%s%d", n ? "," : "", r,
                              last);
        if (last > r + 1) r = last;
    }
    if (!ranks) (void)snprintf(to, size, "nobody");
}

static int color_of(uint64_t ranks, uint64_t *known, int *n)
{
    for (int i = 0; i < *n; i++)
        if (known[i] == ranks) return i % COLORS;
    if (*n < PIECES) known[(*n)++] = ranks;
    return (*n - 1) % COLORS;
}

static void draw_piece(const html *h, const shards *s, const int *at, uint64_t ranks, int color)
{
    char names[200], named[220];
    bool several = (ranks & (ranks - 1)) != 0;
    html_box box = html_grid_box(&s->grid, at);
    name_ranks(ranks, s->nrank, names, sizeof names);
    (void)snprintf(named, sizeof named, "%s%s%s", several || !ranks ? "" : "rank ",
                   several && names[0] != 'a' ? "ranks " : "", names);
    if (names[0] == 'a') (void)snprintf(named, sizeof named, "%s ranks", names);
    (void)fprintf(h->to, "<g><title>%s: [", named);
    for (int k = 0; k < s->ndrawn; k++) {
        html_raw(h, k ? ", " : "");
        html_text(h, s->grid.dim[k].label[at[k]]);
    }
    (void)fprintf(h->to, "]</title><rect class='cell c%d' x=%d y=%d width=%d height=%d></rect>",
                  color, box.x + 1, box.y + 1, box.width - 2, box.height - 2);
    if (s->layout.npartial)
        (void)fprintf(h->to, "<rect fill='url(#hatch)' x=%d y=%d width=%d height=%d></rect>",
                      box.x + 1, box.y + 1, box.width - 2, box.height - 2);
    bool fits = html_box_text(h, &box, named) || html_box_text(h, &box, names);
    (void)snprintf(named, sizeof named, "%d ranks", __builtin_popcountll(ranks));
    if (!fits) (void)html_box_text(h, &box, named);
    html_raw(h, "</g>");
}

static void draw(const html *h, const shards *s)
{
    int at[GRID_DIMS] = {0}, n = 0;
    uint64_t known[PIECES];
    html_grid_labels(h, &s->grid);
    uint64_t everyone = s->nrank == 64 ? UINT64_MAX : (UINT64_C(1) << s->nrank) - 1;
    for (;;) {
        uint64_t ranks = everyone;
        for (int d = 0; d < s->layout.ndim; d++) {
            int piece = 0;
            for (int k = 0; k < s->ndrawn; k++)
                if (s->drawn[k] == d) piece = at[k];
            if (mw_layout_size(&s->layout, d)) ranks &= s->holds[d][piece];
        }
        draw_piece(h, s, at, ranks, color_of(ranks, known, &n));
        int k = s->ndrawn - 1;
        while (k >= 0 && ++at[k] == s->grid.dim[k].n)
            at[k--] = 0;
        if (k < 0) return;
    }
}

static void notes(const html *h, const shards *s, const char *layout)
{
    const char *terms = strchr(layout, '{');
    char names[200];
    if (s->ndrawn < s->layout.ndim)
        html_raw(h, "<p class=note>Dims that are not drawn are whole.</p>");
    if (s->layout.npartial) {
        html_raw(h, "<p class=note>Hatched: each rank holds a term, <code>");
        html_text(h, terms ? terms : "");
        html_raw(h, "</code>, still to be combined.</p>");
    }
    uint64_t without = 0;
    for (int r = 0; r < s->nrank; r++) {
        int64_t shape[MW_LAYOUT_DIMS];
        mw_layout_local_shape(s->mesh, &s->layout, r, shape);
        for (int d = 0; d < s->layout.ndim; d++)
            if (shape[d] == 0 && mw_layout_size(&s->layout, d) > 0) without |= UINT64_C(1) << r;
    }
    if (!without) return;
    name_ranks(without, s->nrank, names, sizeof names);
    (void)fprintf(h->to, "<p class=note>Holds nothing: rank %s.</p>", names);
}

static uint64_t key_of(const mw_laid *laid)
{
    uint64_t key = 14695981039346656037u;
    for (int part = 0; part < 2; part++) {
        for (const char *at = part ? laid->layout : laid->mesh; *at; at++)
            key = (key ^ (unsigned char)*at) * 1099511628211u;
        key = (key ^ 1) * 1099511628211u;
    }
    return key;
}

static void caption(const html *h, const mw_laid *laid)
{
    html_raw(h, "<figure><figcaption>");
    html_text(h, laid->name);
    html_raw(h, laid->name[0] ? " <code>" : "<code>");
    html_text(h, laid->layout);
    html_raw(h, "</code> on <code>");
    html_text(h, laid->mesh);
    html_raw(h, laid->how == MW_HOW_ASSUMED ? "</code> <span class=assumed>assumed</span>"
                                            : "</code>");
    html_raw(h, "</figcaption>");
}

/* The place of the drawing among those that stand in the page, or -1: not yet. */
static int find_drawing(const html *h, uint64_t key)
{
    for (int i = 0; i < h->ndrawing; i++)
        if (h->drawing[i] == key) return i;
    return -1;
}

void html_shards(html *h, const mw_laid *laid)
{
    shards s;
    caption(h, laid);
    if (!prepare(laid, &s)) {
        html_raw(h, "<p class=note>Too many pieces to draw.</p></figure>");
        return;
    }
    uint64_t key = key_of(laid);
    int at = find_drawing(h, key), width = s.grid.width, height = s.grid.height;
    (void)fprintf(h->to,
                  "<svg role=img aria-label='which rank holds what' width=%d height=%d "
                  "viewBox='0 0 %d %d'>",
                  width, height, width, height);
    if (at >= 0) {
        (void)fprintf(h->to, "<use href='#d%d'></use>", at);
    } else {
        bool kept = h->ndrawing < DRAWINGS;
        if (kept) (void)fprintf(h->to, "<g id=d%d>", h->ndrawing);
        draw(h, &s);
        if (kept) h->drawing[h->ndrawing++] = key;
        html_raw(h, kept ? "</g>" : "");
    }
    html_raw(h, "</svg>");
    notes(h, &s, laid->layout);
    mw_mesh_unref(s.mesh);
    html_raw(h, "</figure>");
}
