/* Meshes of fewer ranks: slices of a mesh through this rank. They are interned like all meshes, so
 * that types of tensors on them are found without a lock. */
#include "run/run.h"

static mw_status axes_of(const mw_mesh *mesh, const char *text, uint32_t *ret)
{
    *ret = 0;
    while (*text) {
        while (*text == ' ' || *text == ',')
            text++;
        int n = (int)strcspn(text, ", "), axis = n ? mw_mesh_axis_find(mesh, text, n) : -1;
        if (n && axis < 0) {
            char all[256];
            (void)mw_mesh_print(mesh, all, sizeof all);
            return MW_FAIL(MW_ERR_ARG, "mesh %s has no axis '%.*s' to slice", all, n, text);
        }
        if (n) *ret |= 1u << axis;
        text += n;
    }
    return *ret ? MW_OK : MW_FAIL(MW_ERR_ARG, "a slice of a mesh needs the name of an axis");
}

mw_status mw_mesh_slice(mw_mesh *mesh, const char *axes, mw_mesh **ret)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    if (!mesh) mesh = rank->mesh;
    uint32_t mask;
    MW_TRY(axes_of(mesh, axes, &mask));
    int own = mw__mesh_own(mesh, rank->index);
    if (own < 0)
        return MW_FAIL(MW_ERR_ARG, "rank %d is none of the mesh that it slices", rank->index);
    mw_mesh *slice, *lasting;
    MW_TRY(mw__mesh_slice(mesh, mask, own, &slice));
    mw_status status = mw__mesh_intern(slice, &lasting);
    mw_mesh_unref(slice);
    if (status == MW_OK) *ret = mw_mesh_ref(lasting);
    return status;
}
