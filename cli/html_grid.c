/* Grids in SVG: ranks on the axes of a mesh, and pieces along the dims of a tensor, are drawn
 * alike.
 */
#include "cli/html.h"

#include <string.h>

enum { ROW = 16, NAME = 16, GAP = 10, LETTER = 7, ALONE = 34 };

/* The dim, counted from the front, that runs in this direction at this level: level 0 is the
 * finest.
 */
static int dim_at(const html_grid *g, bool down, int level)
{
    return g->ndim - 1 - down - 2 * level;
}

static int extent(const html_grid *g, bool down)
{
    int finest = dim_at(g, down, 0), size = 0, coarse = dim_at(g, down, 1);
    if (finest < 0) return down ? ALONE : 2 * ALONE;
    for (int i = 0; i < g->dim[finest].n; i++)
        size += g->dim[finest].size[i];
    return coarse < 0 ? size : g->dim[coarse].n * (size + GAP) - GAP;
}

/* The width that the labels and the name of a dim that runs down take. */
static int column(const html_grid *g, int level)
{
    int d = dim_at(g, true, level), letters = 0;
    if (d < 0) return 0;
    for (int i = 0; i < g->dim[d].n; i++) {
        int n = (int)strlen(g->dim[d].label[i]);
        if (n > letters) letters = n;
    }
    return letters * LETTER + NAME + 4;
}

void html_grid_place(html_grid *g)
{
    int right = 8;
    for (int level = 0; level < 2; level++) {
        int d = dim_at(g, false, level);
        int letters = d < 0 ? 0 : (int)strlen(g->dim[d].name) * LETTER + 10;
        if (letters > right) right = letters;
    }
    int across = (dim_at(g, false, 0) >= 0) + (dim_at(g, false, 1) >= 0);
    g->left = 4 + column(g, 0) + column(g, 1);
    g->top = 4 + ROW * across;
    g->width = g->left + extent(g, false) + right;
    g->height = g->top + extent(g, true) + 6;
}

/* Where a piece begins and how long it is, in one direction. */
static void span(const html_grid *g, bool down, const int *at, int *ret_first, int *ret_length)
{
    int finest = dim_at(g, down, 0), coarse = dim_at(g, down, 1), first = 0, all = 0;
    *ret_length = down ? ALONE : 2 * ALONE;
    *ret_first = 0;
    if (finest < 0) return;
    for (int i = 0; i < g->dim[finest].n; i++) {
        if (i < at[finest]) first += g->dim[finest].size[i];
        all += g->dim[finest].size[i];
    }
    *ret_length = g->dim[finest].size[at[finest]];
    *ret_first = first + (coarse < 0 ? 0 : at[coarse] * (all + GAP));
}

html_box html_grid_box(const html_grid *g, const int *at)
{
    html_box box;
    span(g, false, at, &box.x, &box.width);
    span(g, true, at, &box.y, &box.height);
    box.x += g->left;
    box.y += g->top;
    return box;
}

static void text_at(const html *h, int x, int y, const char *anchor, const char *text)
{
    (void)fprintf(h->to, "<text class=lab x=%d y=%d text-anchor=%s>", x, y, anchor);
    html_text(h, text);
    html_raw(h, "</text>");
}

/* The labels of one dim: above the grid or to its left, for each block of the coarser one. */
static void label_dim(const html *h, const html_grid *g, bool down, int level)
{
    int d = dim_at(g, down, level), coarse = level == 0 ? dim_at(g, down, 1) : -1;
    if (d < 0) return;
    int blocks = coarse < 0 ? 1 : g->dim[coarse].n, at[GRID_DIMS] = {0};
    int row = g->top - 4 - ROW * level, edge = g->left - 4 - (level ? column(g, 0) : 0);
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < g->dim[d].n; i++) {
            if (coarse >= 0) at[coarse] = b;
            at[d] = i;
            html_box box = html_grid_box(g, at);
            int finest = dim_at(g, down, 0), whole = 0;
            for (int k = 0; level && k < g->dim[finest].n; k++)
                whole += g->dim[finest].size[k];
            int width = level ? whole : down ? box.height : box.width;
            if (down)
                text_at(h, edge, box.y + width / 2 + 4, "end", g->dim[d].label[i]);
            else
                text_at(h, box.x + width / 2, row, "middle", g->dim[d].label[i]);
        }
    if (down) {
        (void)fprintf(h->to,
                      "<text class=axis text-anchor=middle transform='translate(%d %d) "
                      "rotate(-90)'>",
                      edge - column(g, level) + NAME - 2, g->top + extent(g, true) / 2);
        html_text(h, g->dim[d].name);
        html_raw(h, "</text>");
    } else {
        (void)fprintf(h->to, "<text class=axis x=%d y=%d>", g->left + extent(g, false) + 6, row);
        html_text(h, g->dim[d].name);
        html_raw(h, "</text>");
    }
}

void html_grid_labels(const html *h, const html_grid *g)
{
    for (int level = 0; level < 2; level++) {
        label_dim(h, g, false, level);
        label_dim(h, g, true, level);
    }
}

bool html_box_text(const html *h, const html_box *box, const char *text)
{
    bool fits = (int)strlen(text) * LETTER <= box->width && box->height >= 12;
    if (fits) text_at(h, box->x + box->width / 2, box->y + box->height / 2 + 4, "middle", text);
    return fits;
}
