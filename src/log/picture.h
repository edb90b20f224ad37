/* Pictures of shardings, inside: the grid that a reader fills line by line, and what is told of it.
 *
 *     reader_picture.c  boxes drawn with lines, tables of rows and columns: cells and their devices
 *     picture_tell.c    the grid as a sharding: tiles, copies, layouts with these owners
 *     picture_ranges.c  tables that print ranges: layouts are looked for among placements */
#ifndef LOG_PICTURE_H
#define LOG_PICTURE_H

#include "log/spmd.h"

enum { PIC_SIDE = 64, PIC_CELLS = 1024, PIC_IDS = 4096 };

typedef enum pic_kind { PIC_NONE, PIC_BOX, PIC_RANGES, PIC_BARE } pic_kind;

typedef struct pic_id {
    int32_t cell, id;
} pic_id;

typedef struct pic_grid {
    pic_kind kind;
    int64_t first, last;
    int nrow, ncol;
    int edge[PIC_SIDE + 1]; /* of columns, as places in a line */
    bool cut[PIC_CELLS];    /* some of the cell's text is not there */
    int count[PIC_CELLS];   /* ids that were read */
    pic_id *id;             /* [nid], by cell as they were read */
    int nid;
    bool too_large;
    char device[16];                                   /* "CPU" */
    mw_range row_range[PIC_SIDE], col_range[PIC_SIDE]; /* of RANGES */
    /* from the line before it */
    bool shaped;
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS];
    const char *spec; /* in the arena, or NULL */
    int64_t caption;
} pic_grid;

void mw__pic_tell(mw_explain *e, const mw_line *line, pic_grid *grid);
void mw__pic_tell_ranges(mw_explain *e, mw_draft *d, const pic_grid *grid);

/* The ids of a cell into ret[cap]; their number. */
int mw__pic_cell(const pic_grid *grid, int cell, int *ret, int cap);
void mw__pic_ids_str(const int *id, int n, mw_str *to); /* {0,4} */

#endif
