/* A mesh: its ranks on its axes. */
#include "cli/html.h"

#include <string.h>

enum { RANKS_DRAWN = 64, CELL = 34 };

static bool grid_of(const mw_mesh *mesh, html_grid *ret)
{
    *ret = (html_grid){.ndim = mw_mesh_axes(mesh)};
    if (ret->ndim < 1 || ret->ndim > GRID_DIMS || mw_mesh_ranks(mesh) > RANKS_DRAWN) return false;
    for (int a = 0; a < ret->ndim; a++) {
        html_dim *d = &ret->dim[a];
        d->n = mw_mesh_axis_size(mesh, a);
        if (d->n > GRID_PIECES) return false;
        (void)snprintf(d->name, sizeof d->name, "%s", mw_mesh_axis_name(mesh, a));
        for (int i = 0; i < d->n; i++) {
            d->size[i] = CELL;
            (void)snprintf(d->label[i], sizeof d->label[i], "%d", i);
        }
    }
    html_grid_place(ret);
    return true;
}

void html_mesh(const html *h, const mw_mesh *mesh)
{
    html_grid g;
    char name[300];
    (void)mw_mesh_print(mesh, name, sizeof name);
    html_raw(h, "<figure><figcaption>mesh <code>");
    html_text(h, name);
    (void)fprintf(h->to, "</code>, %d rank%s</figcaption>", mw_mesh_ranks(mesh),
                  mw_mesh_ranks(mesh) == 1 ? "" : "s");
    if (grid_of(mesh, &g)) {
        (void)fprintf(h->to,
                      "<svg role=img aria-label='ranks on the axes of the mesh' width=%d "
                      "height=%d viewBox='0 0 %d %d'>",
                      g.width, g.height, g.width, g.height);
        html_grid_labels(h, &g);
        int coord[MW_MESH_AXES];
        for (int r = 0; r < mw_mesh_ranks(mesh); r++) {
            char text[16];
            for (int a = 0; a < g.ndim; a++)
                coord[a] = mw_mesh_coord(mesh, r, a);
            html_box box = html_grid_box(&g, coord);
            (void)fprintf(h->to, "<rect class=cell x=%d y=%d width=%d height=%d></rect>", box.x + 1,
                          box.y + 1, box.width - 2, box.height - 2);
            (void)snprintf(text, sizeof text, "%d", r);
            (void)html_box_text(h, &box, text);
        }
        html_raw(h, "</svg>");
    }
    html_raw(h, "</figure>");
}
