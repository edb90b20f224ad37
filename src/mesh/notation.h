/* notation: what the readers and printers of foreign notations share. */
#ifndef MESH_NOTATION_H
#define MESH_NOTATION_H

#include "mesh/mesh.h"
#include "mesh/reader.h"

#include <meshwise/notation.h>

enum { MW__NOTES = 8, MW__NOTE = 240, MW__WHY = sizeof((mw_notation_text *)0)->why };

/* DTensor's placements on one dim, in the order in which they are applied. split 1: Shard; more:
 * _StridedShard with that split factor. */
typedef struct mw__placed {
    int n;
    int axis[MW_MESH_AXES];
    int64_t split[MW_MESH_AXES];
} mw__placed;

/* HLO's tile assignment: the ranks row-major over the tiles of the dims, then `manual`, then
 * `unreduced`, then `replicated` (1: no such subgroup). A group of replicas rises. */
typedef struct mw__tiling {
    int ndim;
    int64_t tile[MW_LAYOUT_DIMS];
    int64_t manual, unreduced, replicated;
    int nrank;
    int *rank;  /* NULL: not a tiling */
    int *place; /* the other way round */
} mw__tiling;

struct mw_reading {
    mw_mesh *mesh;
    mw_notation notation;
    int ndim; /* -1: not known */
    int64_t shape[MW_LAYOUT_DIMS];
    bool sayable;
    mw_layout layout;
    char why[MW__WHY];
    int nnote;
    char note[MW__NOTES][MW__NOTE];
    int priority[MW_LAYOUT_DIMS];
    /* By notation, what owners go by where there is no layout. */
    mw__placed placed[MW_LAYOUT_DIMS];
    mw_reduce partial[MW_MESH_AXES];
    mw__tiling tiling;
    int maximal; /* the only rank that holds anything, or -1 */
};

void mw__reading_note(mw_reading *reading, const char *format, ...) MW_PRINTF(2, 3);

/* The text has no layout, and why. */
void mw__reading_unsayable(mw_reading *reading, const char *format, ...) MW_PRINTF(2, 3);

/* The readers, one per notation: `r` stands at the text's start. They fill all but mesh, notation,
 * shape and dtype, and leave the layout to be checked and made canonical. */
MW_NODISCARD mw_status mw__dtensor_read(mw__reader *r, mw_reading *reading);
MW_NODISCARD mw_status mw__spec_read(mw__reader *r, mw_reading *reading);
MW_NODISCARD mw_status mw__hlo_read(mw__reader *r, mw_reading *reading);
MW_NODISCARD mw_status mw__sdy_read(mw__reader *r, mw_reading *reading);

/* The printers: a text into `to`, or a reason into `why`. Failed strings are found by the caller.
 */
void mw__dtensor_print(const mw_mesh *mesh, const mw_layout *layout, mw_str *to, mw_str *why);
void mw__spec_print(const mw_mesh *mesh, const mw_layout *layout, mw_str *to, mw_str *why);
void mw__sdy_print(const mw_mesh *mesh, const mw_layout *layout, const int *priority, mw_str *to,
                   mw_str *why);
MW_NODISCARD mw_status mw__hlo_print(const mw_mesh *mesh, const mw_layout *layout, bool iota,
                                     mw_str *to, mw_str *why);

/* ---- words ---------------------------------------------------------------------------------- */

/* Consumes `word`, after white space, if it is next and (where it ends in a letter) ends there. */
bool mw__reader_word(mw__reader *r, const char *word);

/* Consumes `c` or fails with "expected ...". */
MW_NODISCARD mw_status mw__reader_expect(mw__reader *r, char c, const char *of);

/* An axis by its name of `length` bytes at `at`; the error names the nearest. */
MW_NODISCARD mw_status mw__reader_axis(const mw__reader *r, const mw_mesh *mesh, const char *at,
                                       const char *name, int *ret);

/* Axes and parts that were used so far; a second use is an error under its own caret. */
typedef struct mw__uses {
    int n;
    mw_cut cut[MW_LAYOUT_DIMS * MW_DIM_CUTS + 64];
} mw__uses;
MW_NODISCARD mw_status mw__uses_add(mw__uses *uses, const mw__reader *r, const mw_mesh *mesh,
                                    const char *at, mw_cut cut);

MW_NODISCARD mw_status mw__reading_add_partial(mw_reading *reading, const mw__reader *r,
                                               const char *at, mw_reduce kind, mw_cut part);

/* "sum", "add", "max", ..., as any of the systems spells it; MW_REDUCE_NONE where none does. */
mw_reduce mw__reduce_read(const char *name, int length);

/* ---- tiles ---------------------------------------------------------------------------------- */

/* The axes (parts) that tile a dim once, by their product; major to minor. */
typedef struct mw__tile {
    int n;
    mw_cut part[MW_DIM_CUTS];
} mw__tile;

MW_NODISCARD mw_status mw__tile_add(mw__tile *tile, const mw__reader *r, const char *at,
                                    mw_cut part);

/* The dim of that size so tiled: one factor, one joint cut. */
mw_dim mw__tile_dim(int64_t size, const mw__tile *tile, bool open);

/* The tile whose owners are those of the dim; `whole`: of whole axes only. False where there is
 * none. */
bool mw__tile_of(const mw_mesh *mesh, const mw_dim *dim, bool whole, mw__tile *ret);

/* The reason for false. `who` tiles: "a partition spec", ... */
void mw__tile_why(const mw_mesh *mesh, int d, const mw_dim *dim, bool whole, const char *who,
                  mw_str *why);

/* ---- DTensor's lists ------------------------------------------------------------------------ */

typedef struct mw__ranges {
    mw_range *at;
    int64_t n, cap;
} mw__ranges;

void mw__ranges_done(mw__ranges *ranges);

/* What the rank at `coord` holds of `size` positions so placed. MW_ERR_UNSUPPORTED above some
 * million ranges. */
MW_NODISCARD mw_status mw__placed_ranges(const mw_mesh *mesh, int64_t size,
                                         const mw__placed *placed, const int *coord,
                                         mw__ranges *ret);

/* A dim with these owners, not yet canonical; *ret_found false where there is none. */
MW_NODISCARD mw_status mw__placed_dim(const mw_mesh *mesh, int64_t size, const mw__placed *placed,
                                      mw_dim *ret, bool *ret_found);

/* Whether the (canonical) dim has exactly these owners; false where that can't be told, with
 * *ret_failed where memory lacks. */
bool mw__placed_is(const mw_mesh *mesh, const mw_dim *dim, const mw__placed *placed,
                   bool *ret_failed);

/* Any dim of that size whose owners on the axes of `placed` are those lists, looked for among texts
 * of up to three factors. */
MW_NODISCARD mw_status mw__placed_search(const mw_mesh *mesh, int64_t size,
                                         const mw__placed *placed, mw_dim *ret, bool *ret_found);

/* Appends "S(0)R..." from placements per dim and kinds of partial per axis. */
void mw__placed_str(const mw_mesh *mesh, const mw__placed *placed, int ndim,
                    const mw_reduce *partial, mw_str *to);

/* ---- HLO's tile assignments ----------------------------------------------------------------- */

void mw__tiling_done(mw__tiling *tiling);

/* The layout with these tiles, or a reason why the mesh has none. */
MW_NODISCARD mw_status mw__tiling_layout(mw_reading *reading);

void mw__tiling_str(const mw__tiling *tiling, bool iota, mw_str *to, mw_str *why);

/* The tiling with the owners of a layout, or a reason why there is none (*ret_found false). */
MW_NODISCARD mw_status mw__tiling_of(const mw_mesh *mesh, const mw_layout *layout, mw__tiling *ret,
                                     bool *ret_found, mw_str *why);

/* A list as digits of a mixed radix, minor to major; returns how many, or -1 where it is none. */
enum { MW__IOTA = 32 };
typedef struct mw__iota {
    int64_t size, stride;
} mw__iota;
int mw__iota_of(const int *list, int n, mw__iota *ret);

#endif
