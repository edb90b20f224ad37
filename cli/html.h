/* html: what the files share that write explain's page. The page is one file without network or
 * framework, readable without scripts; everything that comes from the text is escaped. */
#ifndef CLI_HTML_H
#define CLI_HTML_H

#include "cli/explain.h"

#include <stdio.h>

enum { DRAWINGS = 300 };

typedef struct html {
    FILE *to;
    const explained *x;
    const char *text; /* as it was read */
    int64_t length;
    uint64_t drawing[DRAWINGS]; /* hashes of those that stand in the page: later ones point there */
    int ndrawing;
} html;

void html_raw(const html *h, const char *text);  /* as it is */
void html_text(const html *h, const char *text); /* escaped */
void html_bytes(const html *h, const char *at, int64_t length);
void html_number(const html *h, int64_t n, const char *what); /* "3 lines" */

/* Style, in pieces up to a NULL, and script (html_style.c). */
extern const char *const html_head[];
extern const char html_script[];

/* A grid of up to four dims: the last runs to the right, the one before down, those before repeat
 * that as blocks. */
enum { GRID_DIMS = 4, GRID_PIECES = 16, GRID_LABEL = 48 };
typedef struct html_dim {
    char name[40];
    int n;
    int size[GRID_PIECES]; /* pixels; counts in the last two dims alone */
    char label[GRID_PIECES][GRID_LABEL];
} html_dim;
typedef struct html_grid {
    int ndim;
    html_dim dim[GRID_DIMS];
    int left, top, width, height;
} html_grid;
typedef struct html_box {
    int x, y, width, height;
} html_box;
void html_grid_place(html_grid *grid); /* sets the outer sizes */
html_box html_grid_box(const html_grid *grid, const int *at);
void html_grid_labels(const html *h, const html_grid *grid);
bool html_box_text(const html *h, const html_box *box, const char *text); /* false: no room */

void html_mesh(const html *h, const mw_mesh *mesh); /* its ranks on its axes */
void html_shards(html *h, const mw_laid *laid);     /* which rank holds what */
void html_timeline(const html *h);                  /* what moved, in the order of the text */

#endif
