/* meshwise show: what the command and its drawing share. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli/cli.h"

#include <meshwise/notation.h>

/* Draws who holds what: a strip, a grid, or slices of grids. Local. */
MW_NODISCARD mw_status show_draw(const mw_mesh *mesh, const mw_reading *reading);

/* "0-3", "5", or "" for none. */
void show_range(int64_t first, int64_t end, char *to, size_t size);

/* The sizes of --shape: `16,8`; brackets around it are fine. ret_shape[MW_LAYOUT_DIMS]. */
MW_NODISCARD mw_status cli_shape(const char *text, int *ret_ndim, int64_t *ret_shape);

#endif
