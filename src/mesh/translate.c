/* A layout of one mesh on another mesh over the same ranks. The axes of a mesh are digits of a
 * rank's number; where two meshes list the ranks in one order, an axis of one is a run of (parts
 * of) axes of the other: n=8 beside (a=4, b=1, c=2) gives a = n:(1)4, c = n:(4)2. Where they list
 * the ranks in another order, the owners decide: the layout there that has them. */
#include "mesh/mesh.h"

#include <meshwise/notation.h>

enum { RUN = 8 }; /* parts that one axis may become */

static bool same_order(const mw_mesh *a, const mw_mesh *b)
{
    for (int i = 0; i < a->nrank; i++)
        if ((a->id ? a->id[i] : i) != (b->id ? b->id[i] : i)) return false;
    return true;
}

bool mw__mesh_same_ranks(const mw_mesh *a, const mw_mesh *b)
{
    if (a->nrank != b->nrank) return false;
    if (!a->world && !b->world) return true;
    for (int i = 0; i < a->nrank; i++) {
        bool there = false;
        for (int k = 0; k < b->nrank && !there; k++)
            there = mw__mesh_world(a, i) == mw__mesh_world(b, k);
        if (!there) return false;
    }
    return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* The part of size `size` of an axis after a major part, as parts of axes of `to`, major first.
 * Returns how many; 0 where they do not fall on each other. */
static int translate(const mw_mesh *from, int axis, int64_t major, int64_t size, const mw_mesh *to,
                     mw_cut *ret)
{
    int64_t first = major;
    for (int a = 0; a < axis; a++)
        first *= from->size[a];
    int64_t end = first * size, before = 1;
    int n = 0;
    for (int a = 0; a < to->naxis && first < end; before *= to->size[a++]) {
        int64_t after = before * to->size[a];
        if (after <= first || to->size[a] == 1) continue;
        if (first % before || n == RUN) return 0;
        int64_t part = gcd(end / first, after / first);
        if ((after / first) % part || (first * part != end && first * part != after)) return 0;
        ret[n++] = (mw_cut){(int16_t)a, 0, (int32_t)(first / before), (int32_t)part};
        first *= part;
    }
    return first == end ? n : 0;
}

static bool translate_dim(const mw_mesh *from, const mw_mesh *to, mw_dim *dim)
{
    mw_dim out = *dim;
    int at = 0;
    out.ncut = 0;
    memset(out.cut, 0, sizeof out.cut);
    for (int f = 0; f < dim->nfactor; f++) {
        int had = dim->cuts[f];
        out.cuts[f] = 0;
        for (int c = 0; c < had; c++, at++) {
            mw_cut part[RUN] = {dim->cut[at]};
            int n = dim->cut[at].axis == MW_CUT_LOCAL
                        ? 1
                        : translate(from, dim->cut[at].axis, dim->cut[at].major, dim->cut[at].size,
                                    to, part);
            if (n == 0 || out.ncut + n > MW_DIM_CUTS) return false;
            for (int k = 0; k < n; k++) { /* one axis is one cut: its parts cut jointly */
                part[k].joint = k ? 1 : dim->cut[at].joint;
                out.cut[out.ncut++] = part[k];
                out.cuts[f]++;
            }
        }
    }
    *dim = out;
    return true;
}

static bool translate_partials(const mw_mesh *from, const mw_mesh *to, mw_layout *l)
{
    mw_layout out = *l;
    out.npartial = 0;
    memset(out.partial, 0, sizeof out.partial);
    for (int i = 0; i < l->npartial; i++) {
        mw_cut part[RUN];
        const mw_partial *p = &l->partial[i];
        int n = translate(from, p->axis, p->major, p->size, to, part);
        if (n == 0 || out.npartial + n > MW_LAYOUT_PARTIALS) return false;
        for (int k = 0; k < n; k++)
            out.partial[out.npartial++] =
                (mw_partial){p->kind, part[k].axis, part[k].major, part[k].size};
    }
    *l = out;
    return true;
}

/* By the owners, through HLO's device lists, which name ranks and no axes. */
static mw_status by_owners(const mw_mesh *from, const mw_layout *layout, const mw_mesh *to,
                           mw_layout *ret, bool *ret_found)
{
    mw_notation_text text;
    mw_reading *reading = NULL;
    int64_t shape[MW_LAYOUT_DIMS];
    mw_layout_shape(layout, shape);
    MW_TRY(mw_notation_print(from, layout, MW_NOTATION_HLO_V1, &text));
    *ret_found = false;
    mw_status status = MW_OK;
    if (text.text) {
        status =
            mw_notation_read(to, text.text, layout->ndim, shape, (mw_dtype)layout->dtype, &reading);
        if (status == MW_OK && mw_reading_layout(reading)) {
            *ret = *mw_reading_layout(reading);
            *ret_found = true;
        }
        mw_reading_free(reading);
    }
    mw_notation_text_done(&text);
    return status;
}

mw_status mw__layout_to_mesh(const mw_mesh *from, const mw_layout *layout, const mw_mesh *to,
                             mw_layout *ret)
{
    mw_layout out = *layout;
    for (int d = 0; d < out.ndim; d++)
        out.dim[d].open = 0;
    const mw_layout closed = out;
    bool found = !mw__layout_axes(layout) && !layout->npartial; /* all of it on every rank */
    if (!found && same_order(from, to)) {
        found = translate_partials(from, to, &out);
        for (int d = 0; found && d < out.ndim; d++)
            found = translate_dim(from, to, &out.dim[d]);
        if (found) mw__layout_canonical(to, &out);
    }
    if (!found) MW_TRY(by_owners(from, &closed, to, &out, &found));
    for (int d = 0; d < out.ndim; d++)
        out.dim[d].open = layout->dim[d].open;
    *ret = out;
    if (found) return MW_OK;
    char a[128], b[128];
    (void)mw_mesh_print(from, a, sizeof a);
    (void)mw_mesh_print(to, b, sizeof b);
    mw_str text = {0};
    mw__layout_str(from, layout, &text);
    mw_status status =
        MW_FAIL(MW_ERR_LAYOUT, "%s on mesh %s: no layout on mesh %s has these owners",
                mw__str_text(&text), a, b);
    mw__error_hint("tensors meet where the axes of one mesh can say all of their layouts: list the "
                   "ranks in one order, or in one that exchanges axes or parts of axes");
    mw__str_done(&text);
    return status;
}
