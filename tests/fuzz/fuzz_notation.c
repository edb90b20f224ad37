/* Fuzzes the readers of notations. An input is a mesh, a newline, sizes like `16,8` (or nothing:
 * not given), a newline, a text in any notation. What reads must list its shards, and print in
 * every notation as itself or a reason; what prints must read back as the same layout. What does
 * not read must leave a sentence. */
#include <meshwise/notation.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger meshes are read and listed only: canonical texts of few positions on many ranks are slow.
 */
enum { RANKS_TRIED = 24, RANGES = 256, LARGEST = 4096 };

static void must(int holds)
{
    if (!holds) abort();
}

static void check_shards(const mw_mesh *mesh, const mw_reading *reading)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_reading_shape(reading, shape), ranks = mw_mesh_ranks(mesh);
    for (int rank = 0; rank < ranks && rank < RANKS_TRIED; rank++)
        for (int dim = 0; dim < ndim; dim++) {
            mw_range range[RANGES];
            int64_t n = -1, last = -1;
            if (shape[dim] > LARGEST) continue;
            must(mw_reading_ranges(reading, rank, dim, range, RANGES, &n) == MW_OK);
            must(n >= 0 && n <= shape[dim]);
            for (int64_t i = 0; i < n && i < RANGES; i++) {
                must(range[i].first > last && range[i].end > range[i].first);
                must(range[i].end <= shape[dim]);
                last = range[i].end;
            }
        }
}

static void check_again(const mw_mesh *mesh, const mw_reading *reading, const char *text)
{
    int64_t shape[MW_LAYOUT_DIMS];
    int ndim = mw_reading_shape(reading, shape);
    mw_reading *again = NULL;
    must(mw_notation_read(mesh, text, ndim, shape, MW_DTYPE_f32, &again) == MW_OK);
    const mw_layout *a = mw_reading_layout(reading), *b = mw_reading_layout(again);
    must(!a == !b && (!a || mw_layout_equal(a, b)));
    mw_reading_free(again);
}

static void check_text(const mw_mesh *mesh, const char *text, int ndim, const int64_t *shape)
{
    mw_reading *reading = NULL;
    mw_error_clear();
    if (mw_notation_read(mesh, text, ndim, shape, MW_DTYPE_f32, &reading) != MW_OK) {
        must(!reading && mw_last_error()->says[0] != '\0');
        return;
    }
    const mw_layout *layout = mw_reading_layout(reading);
    must((layout == NULL) == (mw_reading_why(reading)[0] != '\0'));
    check_shards(mesh, reading);
    int print = mw_mesh_ranks(mesh) <= RANKS_TRIED;
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END && print; k++) {
        mw_notation_text printed;
        must(mw_reading_print(reading, (mw_notation)k, &printed) == MW_OK);
        must((printed.text == NULL) == (printed.why[0] != '\0'));
        if (printed.text && (!layout || layout->dtype == MW_DTYPE_f32))
            check_again(mesh, reading, printed.text);
        mw_notation_text_done(&printed);
    }
    mw_reading_free(reading);
}

/* "16,8"; anything else ends the list. -1 where it is empty. */
static int read_sizes(const char *text, int64_t *ret)
{
    int n = 0;
    if (!*text) return -1;
    while (n < MW_LAYOUT_DIMS && *text >= '0' && *text <= '9') {
        char *end;
        ret[n++] = strtoll(text, &end, 10);
        text = end + (*end == ',');
    }
    return n;
}

static char *next_line(char *text)
{
    char *newline = strchr(text, '\n');
    if (!newline) return text + strlen(text);
    *newline = '\0';
    return newline + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t shape[MW_LAYOUT_DIMS] = {0};
    char *mesh_text = malloc(size + 1);
    mw_mesh *mesh = NULL, *own = NULL;
    if (!mesh_text) return 0;
    if (size) memcpy(mesh_text, data, size);
    mesh_text[size] = '\0';
    char *sizes = next_line(mesh_text), *text = next_line(sizes);
    if (mw_notation_mesh(text, &own) == MW_OK) mw_mesh_unref(own);
    if (mw_mesh_parse(mesh_text, &mesh) == MW_OK && mw_mesh_ranks(mesh) <= LARGEST)
        check_text(mesh, text, read_sizes(sizes, shape), shape);
    mw_mesh_unref(mesh);
    free(mesh_text);
    return 0;
}
