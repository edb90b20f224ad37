/* DTensor's tables print which rows and columns each device holds. The layouts with these owners
 * are looked for: every mesh of up to three axes over so many devices (or the mesh that was given),
 * every placement on each axis, read by the notation reader and compared device by device. */
#include "log/explain.h"
#include "log/picture.h"

#include <stdio.h>

enum { RANKS = 64, FOUND = 6 };

typedef struct search {
    mw_explain *e;
    mw_draft *d;
    int n, ndim;
    int64_t shape[2];
    mw_range piece[RANKS][2];
    int found;
    mw_str text;
} search;

static bool same_owners(const search *s, const mw_reading *r)
{
    for (int i = 0; i < s->n; i++) {
        mw_range got[2];
        bool empty = false;
        for (int k = 0; k < s->ndim; k++) {
            int64_t count = 0;
            if (!mw__hlo_done(s->e, mw_reading_ranges(r, i, k, &got[k], 1, &count)) || count > 1)
                return false;
            if (count == 0) got[k] = (mw_range){0, 0};
            empty = empty || count == 0;
        }
        bool none = s->piece[i][0].first == s->piece[i][0].end ||
                    (s->ndim > 1 && s->piece[i][1].first == s->piece[i][1].end);
        if (empty != none) return false;
        if (!none && memcmp(got, s->piece[i], (size_t)s->ndim * sizeof got[0]) != 0) return false;
    }
    return true;
}

static void try_text(search *s, const mw_mesh *mesh, const char *text)
{
    mw_reading *r = NULL;
    char name[256];
    if (!mw__hlo_done(s->e, mw_notation_read(mesh, text, s->ndim, s->shape, MW_DTYPE_i8, &r)))
        return;
    if (same_owners(s, r) && mw_mesh_print(mesh, name, sizeof name) < (int)sizeof name) {
        if (s->found++ < FOUND)
            mw__str_printf(&s->text, "%s%s on %s", s->text.length ? "; " : "", text, name);
    }
    mw_reading_free(r);
}

/* All placements of its axes. */
static void try_mesh(search *s, const mw_mesh *mesh)
{
    static const char *const words[] = {"R", "S(0)", "S(1)"};
    int kinds = s->ndim + 1, axes = mw_mesh_axes(mesh), total = 1;
    for (int a = 0; a < axes; a++)
        total *= kinds;
    for (int i = 0; i < total; i++) {
        char text[128] = "";
        int left = i, used = 0;
        for (int a = 0; a < axes; a++, left /= kinds)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s", words[left % kinds]);
        try_text(s, mesh, text);
    }
    for (int k = 0; k < s->ndim && axes == 2; k++) { /* cut by the last axis first */
        char text[64];
        (void)snprintf(text, sizeof text, "_S(%d, %d)S(%d)", k, mw_mesh_axis_size(mesh, 1), k);
        try_text(s, mesh, text);
    }
}

static void try_grid(search *s, const int *size, int axes)
{
    char text[96] = "";
    int used = 0;
    mw_mesh *mesh = NULL;
    for (int a = 0; a < axes; a++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%c=%d", a ? "," : "", 'a' + a,
                         size[a]);
    if (!mw__hlo_done(s->e, mw_mesh_parse(text, &mesh))) return;
    try_mesh(s, mesh);
    mw_mesh_unref(mesh);
}

/* All grids of `n` devices with up to three axes. */
static void try_grids(search *s)
{
    for (int a = s->n; a >= 2 || a == s->n; a--) {
        if (s->n % a) continue;
        if (a == s->n) try_grid(s, (const int[]){a}, 1);
        for (int b = s->n / a; b >= 2; b--) {
            int rest = s->n / a;
            if (rest % b) continue;
            if (b == rest)
                try_grid(s, (const int[]){a, b}, 2);
            else
                try_grid(s, (const int[]){a, b, rest / b}, 3);
        }
    }
}

static void tell_pieces(const search *s)
{
    mw_str text = {0};
    for (int i = 0; i < s->n && text.length < 1500; i++) {
        mw__str_printf(&text, "%s%d: [", i ? "; " : "", i);
        for (int k = 0; k < s->ndim; k++)
            mw__str_printf(&text, "%s%lld", k ? "," : "",
                           (long long)(s->piece[i][k].end - s->piece[i][k].first));
        mw__str_putc(&text, ']');
    }
    mw__fact(s->d, "local shapes", MW_HOW_DERIVED, "the ranges of each device's cell", "%s",
             mw__hlo_keep(s->e, &text));
}

void mw__pic_tell_ranges(mw_explain *e, mw_draft *d, const pic_grid *g)
{
    search s = {.e = e, .d = d, .ndim = 2};
    bool known[RANKS] = {false};
    for (int i = 0; i < g->nid; i++) {
        int id = g->id[i].id, r = g->id[i].cell / g->ncol, c = g->id[i].cell % g->ncol;
        if (id >= RANKS || known[id]) return;
        known[id] = true;
        s.n = MW_MAX(s.n, id + 1);
        s.piece[id][0] = g->row_range[r];
        s.piece[id][1] = g->col_range[c];
        s.shape[0] = MW_MAX(s.shape[0], g->row_range[r].end);
        s.shape[1] = MW_MAX(s.shape[1], g->col_range[c].end);
    }
    for (int i = 0; i < s.n; i++)
        if (!known[i]) return; /* the mesh is not ranks 0 to n-1 */
    if (!s.n || s.shape[0] < 1 || s.shape[1] < 1) return;
    bool thin = s.shape[1] == 1; /* a tensor of one dim is drawn as one column */
    mw_str shape = {0};
    mw__hlo_str_shape(thin ? 1 : 2, s.shape, &shape);
    mw__fact(d, "shape", thin ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
             thin ? "one column: a tensor of one dim is drawn so, and [n,1] too; its shape would "
                    "settle it"
                  : "the ends of rows and columns",
             "%s", mw__hlo_keep(e, &shape));
    if (thin) s.ndim = 1;
    tell_pieces(&s);
    const mw_mesh *given = mw__explain_mesh(e);
    if (given && mw_mesh_ranks(given) == s.n && mw_mesh_axes(given) <= 4)
        try_mesh(&s, given);
    else
        try_grids(&s);
    const char *found = mw__hlo_keep(e, &s.text);
    if (s.found)
        mw__fact(d, "layouts with these owners", MW_HOW_DERIVED,
                 "every placement on every mesh of up to three axes, compared device by device",
                 "%s%s", found, s.found > FOUND ? "; ..." : "");
    else
        mw__fact(d, "layouts with these owners", MW_HOW_DERIVED,
                 "every placement on every mesh of up to three axes, compared device by device",
                 "none among them");
}
