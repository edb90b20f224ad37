/* Who holds what, drawn. Every dim falls into pieces within which all elements have the same
 * holders; the drawing has a row or a column for each piece, labelled with its positions, and the
 * ranks that hold it where they meet. Uneven and strided shards come out as they are. */
#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64, MOST_PIECES = 24, LISTED = 512, MOST_SLICES = 8, CELL = 64 };

typedef struct piece {
    int64_t first, end;
    uint64_t ranks; /* a bit for each that holds it */
} piece;

/* The pieces of one dim, up to MOST_PIECES; `more`: there are others behind. */
typedef struct pieces {
    int n;
    bool more;
    piece at[MOST_PIECES];
} pieces;

/* ---- pieces -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

typedef struct dim_ranges {
    int64_t n[MOST_RANKS]; /* listed, of each rank */
    mw_range at[MOST_RANKS][LISTED];
    int64_t bound[2 * MOST_RANKS * LISTED + 2];
} dim_ranges;

static void make_pieces(const dim_ranges *ranges, int nrank, int64_t nbound, int64_t limit,
                        int64_t size, pieces *ret)
{
    ret->n = 0;
    ret->more = limit < size;
    int64_t from = 0;
    for (int64_t i = 0; i < nbound; i++) {
        int64_t end = ranges->bound[i];
        if (end <= from || end > limit) continue;
        if (ret->n == MOST_PIECES) {
            ret->more = true;
            return;
        }
        piece *p = &ret->at[ret->n++];
        *p = (piece){from, end, 0};
        for (int r = 0; r < nrank; r++)
            for (int64_t k = 0; k < ranges->n[r]; k++)
                if (ranges->at[r][k].first <= from && end <= ranges->at[r][k].end)
                    p->ranks |= UINT64_C(1) << r;
        from = end;
    }
}

static mw_status find_pieces(const mw_reading *reading, int nrank, int dim, int64_t size,
                             dim_ranges *room, pieces *ret)
{
    int64_t nbound = 0, limit = size;
    for (int r = 0; r < nrank; r++) {
        int64_t all = 0;
        mw_status status = mw_reading_ranges(reading, r, dim, room->at[r], LISTED, &all);
        if (status != MW_OK) return status;
        room->n[r] = all < LISTED ? all : LISTED;
        for (int64_t k = 0; k < room->n[r]; k++) {
            room->bound[nbound++] = room->at[r][k].first;
            room->bound[nbound++] = room->at[r][k].end;
        }
        /* behind the last one that is listed, nothing is known */
        if (all > LISTED && room->at[r][LISTED - 1].end < limit)
            limit = room->at[r][LISTED - 1].end;
    }
    room->bound[nbound++] = size;
    qsort(room->bound, (size_t)nbound, sizeof *room->bound, compare);
    make_pieces(room, nrank, nbound, limit, size, ret);
    return MW_OK;
}

/* ---- cells --------------------------------------------------------------------------------- */

/* "0,4", "0-3": the ranks, abbreviated where they don't fit. */
static void ranks_text(uint64_t ranks, char *to)
{
    int length = 0, count = 0, shown = 0;
    to[0] = '-';
    to[1] = 0;
    for (int r = 0; r < MOST_RANKS; r++)
        count += (int)(ranks >> r & 1);
    for (int r = 0; r < MOST_RANKS; r++) {
        if (!(ranks >> r & 1)) continue;
        int end = r;
        while (end + 1 < MOST_RANKS && ranks >> (end + 1) & 1)
            end++;
        if (length > 16) {
            (void)snprintf(to + length, CELL - (size_t)length, ",+%d", count - shown);
            return;
        }
        length += snprintf(to + length, CELL - (size_t)length, end > r ? "%s%d%s%d" : "%s%d",
                           length ? "," : "", r, end == r + 1 ? "," : "-", end);
        shown += end - r + 1;
        r = end;
    }
}

static void piece_text(const piece *p, char *to)
{
    show_range(p->first, p->end, to, CELL);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* A line of the drawing, printed without the blanks at its end. */
typedef struct line {
    int length;
    char text[512];
} line;

static void put(line *l, const char *text, int width)
{
    int room = (int)sizeof l->text - l->length;
    int n = snprintf(l->text + l->length, (size_t)room, "%-*s", width, text);
    l->length += n < room ? n : room - 1;
}

static void end_line(line *l)
{
    while (l->length > 0 && l->text[l->length - 1] == ' ')
        l->length--;
    printf("%.*s\n", l->length, l->text);
    l->length = 0;
}

/* ---- grids --------------------------------------------------------------------------------- */

static int widest(const pieces *rows, const pieces *columns, uint64_t mask)
{
    int width = 3;
    char text[CELL];
    for (int c = 0; c < columns->n; c++) {
        piece_text(&columns->at[c], text);
        if ((int)strlen(text) > width) width = (int)strlen(text);
        for (int r = 0; r < rows->n; r++) {
            ranks_text(columns->at[c].ranks & rows->at[r].ranks & mask, text);
            if ((int)strlen(text) > width) width = (int)strlen(text);
        }
    }
    return width;
}

/* How many columns fit beside a label in 100 characters. */
static int columns_shown(const pieces *columns, int label, int width)
{
    int most = (100 - label) / (width + 2);
    return columns->n < most ? columns->n : most < 1 ? 1 : most;
}

static void draw_grid(const pieces *rows, const pieces *columns, uint64_t mask, bool strip)
{
    char text[CELL];
    int label = strip ? 0 : 4, width = widest(rows, columns, mask);
    for (int r = 0; r < rows->n && !strip; r++) {
        piece_text(&rows->at[r], text);
        if ((int)strlen(text) > label) label = (int)strlen(text);
    }
    int shown = columns_shown(columns, label, width);
    bool more = shown < columns->n || columns->more;
    line l = {0};
    put(&l, "", label + 2);
    for (int c = 0; c < shown; c++) {
        piece_text(&columns->at[c], text);
        put(&l, "", strip && c == 0 ? 0 : 2);
        put(&l, text, width);
    }
    put(&l, more ? "  ..." : "", 0);
    end_line(&l);
    for (int r = 0; r < rows->n; r++) {
        piece_text(&rows->at[r], text);
        put(&l, "", 2);
        put(&l, strip ? "" : text, label);
        for (int c = 0; c < shown; c++) {
            ranks_text(columns->at[c].ranks & rows->at[r].ranks & mask, text);
            put(&l, "", strip && c == 0 ? 0 : 2);
            put(&l, text, width);
        }
        put(&l, more ? "  ..." : "", 0);
        end_line(&l);
    }
    if (rows->more) printf("  ...\n");
}

/* The last two dims as grids, one for each combination of pieces of the others. */
static void draw_slices(const pieces *dims, int ndim)
{
    int at[MW_LAYOUT_DIMS] = {0}, drawn = 0, outer = ndim - 2, all = 1;
    bool more = false;
    for (int d = 0; d < outer; d++) {
        all = all < INT32_MAX / MOST_PIECES ? all * dims[d].n : all;
        more = more || dims[d].more;
    }
    for (; drawn < MOST_SLICES; drawn++) {
        uint64_t mask = ~UINT64_C(0);
        printf("  [");
        for (int d = 0; d < outer; d++) {
            char text[CELL];
            piece_text(&dims[d].at[at[d]], text);
            mask &= dims[d].at[at[d]].ranks;
            printf("%s, ", text);
        }
        printf(":, :]\n");
        draw_grid(&dims[ndim - 2], &dims[ndim - 1], mask, false);
        int d = outer - 1;
        for (; d >= 0 && ++at[d] == dims[d].n; d--)
            at[d] = 0;
        if (d < 0) {
            if (more) printf("  ... and more slices\n");
            return;
        }
    }
    printf("  ... and %d more slices\n", all - drawn);
}

static void draw(const pieces *dims, int ndim, uint64_t everyone)
{
    static const char *const heads[] = {"the scalar", "dim 0 across", "dim 0 down, dim 1 across"};
    pieces one = {.n = 1, .at = {{0, 1, everyone}}};
    printf("\nranks that hold each piece, %s\n",
           ndim < 3 ? heads[ndim] : "slices of the last two dims");
    if (ndim > 2)
        draw_slices(dims, ndim);
    else
        draw_grid(ndim == 2 ? &dims[0] : &one, ndim ? &dims[ndim - 1] : &one, everyone, ndim < 2);
}

mw_status show_draw(const mw_mesh *mesh, const mw_reading *reading)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_reading_shape(reading, shape), nrank = mw_mesh_ranks(mesh);
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0) {
            printf("\nthe tensor has no elements\n");
            return MW_OK;
        }
    if (nrank > MOST_RANKS) {
        printf("\n%d ranks: more than %d are not drawn\n", nrank, MOST_RANKS);
        return MW_OK;
    }
    dim_ranges *room = mw_memory(sizeof *room);
    pieces *dims = mw_memory(MW_LAYOUT_DIMS * sizeof *dims);
    mw_status status = room && dims ? MW_OK : mw_last_error()->code;
    for (int d = 0; d < ndim && status == MW_OK; d++)
        status = find_pieces(reading, nrank, d, shape[d], room, &dims[d]);
    uint64_t everyone = nrank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << nrank) - 1;
    if (status == MW_OK) draw(dims, ndim, everyone);
    mw_memory_free(dims, MW_LAYOUT_DIMS * sizeof *dims);
    mw_memory_free(room, sizeof *room);
    return status;
}
