/* Notations: the texts in which other systems say how a tensor lies on a mesh.
 *
 * On the mesh x=2,y=4 these say the same of a tensor of 16 by 8 elements:
 *
 *     f32[16@x, 8@y]                          meshwise (layout)
 *     S(0)S(1)                                placements of PyTorch's DTensor (dtensor)
 *     P('x', 'y')   or   ('x', 'y')           partition specs of JAX and PyTorch/XLA
 *     {devices=[2,4]0,1,2,3,4,5,6,7}          HLO, with the device list (hlo_v1)
 *     {devices=[2,4]<=[8]}                    HLO, with the list as a formula (hlo_v2)
 *     <@mesh, [{"x"}, {"y"}]>                 Shardy (sdy)
 *
 * Each is read by the rule of its own system, and the owners that this gives are kept: HLO, Shardy
 * and partition specs tile a dim once by the product of its axes, DTensor chunks it axis by axis.
 * A layout is printed in a notation only where that notation's own rule gives the same owners; it
 * says why where it doesn't. Everything here is Pure.
 *
 *     mw_reading *reading;
 *     const int64_t shape[] = {16, 8};
 *     if (mw_notation_read(mesh, "S(0)S(1)", 2, shape, MW_DTYPE_f32, &reading) == MW_OK) {
 *         const mw_layout *layout = mw_reading_layout(reading);
 *         ...
 *         mw_reading_free(reading);
 *     }
 */
#ifndef MESHWISE_NOTATION_H
#define MESHWISE_NOTATION_H

#include <meshwise/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, key, what it is). */
#define MW_NOTATION_MAP(X)                                             \
    X(LAYOUT, 1, "layout", "meshwise's own text")                      \
    X(DTENSOR, 2, "dtensor", "placements of PyTorch's DTensor")        \
    X(SPEC, 3, "partition_spec", "partition spec of JAX, PyTorch/XLA") \
    X(HLO_V1, 4, "hlo_v1", "HLO sharding with a device list")          \
    X(HLO_V2, 5, "hlo_v2", "HLO sharding with an iota")                \
    X(SDY, 6, "sdy", "Shardy")

typedef enum mw_notation {
    MW_NOTATION_NONE = 0,
#define X(name, value, key, text) MW_NOTATION_##name = (value),
    MW_NOTATION_MAP(X)
#undef X
        MW_NOTATION_END
} mw_notation;

/* "layout", "dtensor", ...: the key under which tools print it. */
MW_API const char *mw_notation_key(mw_notation notation);

/* Tells the notation from the text's shape; the text need not be right beyond that. Fails:
 * MW_ERR_PARSE, with a list of what is known. */
MW_API MW_NODISCARD mw_status mw_notation_detect(const char *text, mw_notation *ret);

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct mw_reading mw_reading;

/* Reads a text in any notation. `ndim` and `shape`: the tensor's sizes, which only meshwise's own
 * text states itself (ndim -1: not given; given, they must agree). `dtype` likewise, MW_DTYPE_NONE
 * where it is not known. Fails: MW_ERR_PARSE with column and caret; MW_ERR_ARG for another number
 * of devices or placements than the mesh has; MW_ERR_SHAPE where dims are missing or too many;
 * MW_ERR_UNSUPPORTED for what is understood and can't be held. The caller owns the result. */
MW_API MW_NODISCARD mw_status mw_notation_read(const mw_mesh *mesh, const char *text, int ndim,
                                               const int64_t *shape, mw_dtype dtype,
                                               mw_reading **ret);
MW_API void mw_reading_free(mw_reading *reading); /* NULL is fine */

MW_API mw_notation mw_reading_notation(const mw_reading *reading);

/* The layout with the owners that the text means, or NULL where no layout on this mesh has them;
 * then mw_reading_why says why. Borrowed. */
MW_API const mw_layout *mw_reading_layout(const mw_reading *reading);
MW_API const char *mw_reading_why(const mw_reading *reading); /* "" where there is a layout */

/* What the reading left out or assumed, a sentence each. Borrowed. */
MW_API int mw_reading_notes(const mw_reading *reading);
MW_API const char *mw_reading_note(const mw_reading *reading, int note);

/* Shardy's priority of a dim, which stands beside the layout; -1 where none is written. */
MW_API int mw_reading_priority(const mw_reading *reading, int dim);

MW_API int mw_reading_shape(const mw_reading *reading, int64_t *ret_shape); /* returns ndim */

/* What `rank` holds of dim `dim` under the rule of the text's own system, as mw_layout_ranges does
 * for a layout, into ret_range[cap]; the number of ranges there are into *ret_count. The answer is
 * there with and without a layout. Fails: MW_ERR_NOMEM; MW_ERR_UNSUPPORTED where there are too many
 * to list. */
MW_API MW_NODISCARD mw_status mw_reading_ranges(const mw_reading *reading, int rank, int dim,
                                                mw_range *ret_range, int64_t cap,
                                                int64_t *ret_count);

/* ---- printing ------------------------------------------------------------------------------ */

/* A text, or the reason why there is none. */
typedef struct mw_notation_text {
    char *text; /* NULL: this notation can't say it */
    int64_t size;
    char why[384]; /* "" where there is a text */
} mw_notation_text;

/* Prints what was read in another notation (or its own, in the form which its system prints). Where
 * there is no layout, only the notation that was read is printed. Fails: MW_ERR_NOMEM. The text is
 * given back with mw_notation_text_done. */
MW_API MW_NODISCARD mw_status mw_reading_print(const mw_reading *reading, mw_notation notation,
                                               mw_notation_text *ret);

/* Prints a canonical layout in a notation. Fails and owns as above. */
MW_API MW_NODISCARD mw_status mw_notation_print(const mw_mesh *mesh, const mw_layout *layout,
                                                mw_notation notation, mw_notation_text *ret);
MW_API void mw_notation_text_done(mw_notation_text *text);

/* The mesh that a Shardy text states itself, `<mesh<["x"=2, "y"=4]>, [...]>`; *ret is NULL where it
 * states none. Fails as mw_mesh_parse. The caller owns the result. */
MW_API MW_NODISCARD mw_status mw_notation_mesh(const char *text, mw_mesh **ret);

#ifdef __cplusplus
}
#endif
#endif
