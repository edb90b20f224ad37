/* Fuzzes the reading of meshes and layouts. An input is a mesh, a newline, a layout. What reads
 * must print, what prints must read as the same thing, and the shards that it speaks of must add
 * up; what does not read must leave a sentence. */
#include <meshwise/mesh.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 8192, RANKS_TRIED = 64 };

static void must(int holds)
{
    if (!holds) abort();
}

/* Every rank holds no more than the whole, and its ranges add up to its shard. */
static void check_shards(const mw_mesh *mesh, const mw_layout *layout)
{
    int ranks = mw_mesh_ranks(mesh);
    for (int rank = 0; rank < ranks && rank < RANKS_TRIED; rank++) {
        int64_t shape[MW_LAYOUT_DIMS];
        mw_layout_local_shape(mesh, layout, rank, shape);
        for (int dim = 0; dim < layout->ndim; dim++) {
            int64_t whole = mw_layout_size(layout, dim);
            must(shape[dim] >= 0 && shape[dim] <= whole);
            if (whole > 4096) continue;
            mw_range range[4096];
            int64_t n = mw_layout_ranges(mesh, layout, rank, dim, range, 4096), held = 0, last = -1;
            must(n >= 0 && n <= whole);
            for (int64_t i = 0; i < n; i++) {
                must(range[i].first > last && range[i].end > range[i].first);
                must(range[i].end <= whole);
                held += range[i].end - range[i].first;
                last = range[i].end;
            }
            must(held == shape[dim]);
        }
    }
}

static void check_layout(const mw_mesh *mesh, const char *text)
{
    mw_layout layout, again;
    mw_error_clear();
    if (mw_layout_parse(mesh, text, &layout) != MW_OK) {
        must(mw_last_error()->says[0] != '\0');
        return;
    }
    char printed[TEXT_MAX];
    int length = mw_layout_print(mesh, &layout, printed, sizeof printed);
    must(length > 0 && length < TEXT_MAX);
    must(mw_layout_parse(mesh, printed, &again) == MW_OK);
    must(mw_layout_equal(&layout, &again));
    must(memcmp(&layout, &again, sizeof layout) == 0);
    check_shards(mesh, &layout);
}

static void check_mesh(const char *mesh_text, const char *layout_text)
{
    mw_mesh *mesh = NULL, *again = NULL;
    mw_error_clear();
    if (mw_mesh_parse(mesh_text, &mesh) != MW_OK) {
        must(!mesh && mw_last_error()->says[0] != '\0');
        return;
    }
    /* A mesh with stated ids can have a long text; that one is printed to the size that it asks
     * for. */
    char none[1];
    int length = mw_mesh_print(mesh, none, 1);
    char *printed = malloc((size_t)length + 1);
    if (printed) {
        must(mw_mesh_print(mesh, printed, length + 1) == length);
        must(mw_mesh_parse(printed, &again) == MW_OK && mw_mesh_same(mesh, again));
    }
    free(printed);
    check_layout(mesh, layout_text);
    mw_mesh_unref(again);
    mw_mesh_unref(mesh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    char *newline = strchr(text, '\n');
    if (newline) *newline = '\0';
    check_mesh(text, newline ? newline + 1 : "");
    free(text);
    return 0;
}
