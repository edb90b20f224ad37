/* Fuzz target: any bytes as layout text. What parses must print, and what is printed must parse to
 * the same layout and hold together: checked capacities, shards that add up. */
#include "mesh/mesh.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool held)
{
    if (!held) abort();
}

/* Local sizes over all ranks add up to the dim, once for each copy; ranges add up to local sizes.
 */
static void check_shards(const mw_mesh *mesh, const mw_dim *dim)
{
    int64_t sum = 0, copies = mw_mesh_ranks(mesh);
    for (int c = 0; c < dim->ncut; c++)
        if (dim->cut[c].axis >= 0) copies /= dim->cut[c].size;
    for (int rank = 0; rank < mw_mesh_ranks(mesh); rank++) {
        int coord[MW_MESH_AXES];
        mw_range range[8];
        mw__mesh_coords(mesh, rank, coord);
        int64_t local = mw__dim_local_size(mesh, dim, coord), counted = 0;
        int64_t n = mw__dim_ranges(mesh, dim, coord, range, MW_COUNT(range));
        for (int64_t i = 0; i < MW_MIN(n, MW_COUNT(range)); i++)
            counted += range[i].end - range[i].first;
        demand(n > MW_COUNT(range) ? counted < local : counted == local);
        if (mw__dim_size(dim) < INT64_MAX / 64) sum += local;
    }
    demand(mw__dim_size(dim) >= INT64_MAX / 64 || sum == copies * mw__dim_size(dim));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mw_mesh *mesh = NULL;
    char *text = malloc(size + 1);
    demand(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    demand(mw_mesh_parse("x=2,y=6,\"data parallel\"=3", &mesh) == MW_OK);
    mw_layout layout, again;
    if (mw_layout_parse(mesh, text, &layout) == MW_OK) {
        demand(mw__layout_check(mesh, &layout) == MW_OK);
        mw_str printed = {0};
        mw__layout_str(mesh, &layout, &printed);
        demand(!printed.failed);
        demand(mw_layout_parse(mesh, mw__str_text(&printed), &again) == MW_OK);
        demand(mw_layout_equal(&layout, &again));
        demand(memcmp(&layout, &again, sizeof layout) == 0);
        demand(mw__layout_hash(&layout) == mw__layout_hash(&again));
        for (int d = 0; d < layout.ndim; d++)
            check_shards(mesh, &layout.dim[d]);
        mw__str_done(&printed);
    } else {
        demand(mw_last_error()->says[0] != 0);
    }
    free(text);
    mw_mesh_unref(mesh);
    return 0;
}
