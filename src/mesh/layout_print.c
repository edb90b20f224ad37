/* Layout text, written. What is printed reads back as the same layout; axis names that the grammar
 * cannot take bare are quoted. Works into a buffer of the caller's: no allocation. */
#include "mesh/mesh.h"

#include "mesh/owner.h"
#include "mesh/reader.h"
#include <stdio.h>

/* Counts on where the buffer has ended, so that the caller learns the length of the whole. */
typedef struct printer {
    const mw_mesh *mesh;
    char *to;
    int size, length;
} printer;

static void put(printer *out, const char *text)
{
    for (; *text; text++, out->length++)
        if (out->length + 1 < out->size) out->to[out->length] = *text;
}

static void put_int(printer *out, int64_t value)
{
    char digits[24];
    int at = (int)sizeof digits - 1;
    digits[at] = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[--at] = '-';
    put(out, digits + at);
}

static void finish(printer *out)
{
    if (out->size > 0) out->to[MW_MIN(out->length, out->size - 1)] = 0;
}

static void put_axis(printer *out, int axis, int32_t major, int32_t size)
{
    const char *name = out->mesh->name[axis];
    const char *quote = mw__name_bare(name) ? "" : "\"";
    put(out, quote);
    put(out, name);
    put(out, quote);
    if (size == out->mesh->size[axis]) return;
    put(out, ":(");
    put_int(out, major);
    put(out, ")");
    put_int(out, size);
}

static void put_cuts(printer *out, const mw_cut *cut, int n)
{
    for (int c = 0; c < n;) {
        int64_t ignored;
        int group = mw__cut_group(cut + c, n - c, &ignored);
        if (c) put(out, ",");
        if (group > 1) put(out, "(");
        for (int i = 0; i < group; i++, c++) {
            if (i) put(out, ",");
            if (cut[c].axis == MW_CUT_LOCAL) {
                put(out, ":");
                put_int(out, cut[c].size);
            } else {
                put_axis(out, cut[c].axis, cut[c].major, cut[c].size);
            }
        }
        if (group > 1) put(out, ")");
    }
}

static void put_dim(printer *out, const mw_dim *dim)
{
    int cut = 0;
    if (!dim->nfactor) put(out, "1");
    for (int f = 0; f < dim->nfactor; f++) {
        if (f) put(out, "\xc2\xb7");
        put_int(out, dim->factor[f]);
        if (dim->cuts[f]) put(out, "@");
        put_cuts(out, dim->cut + cut, dim->cuts[f]);
        cut += dim->cuts[f];
    }
    if (dim->open) put(out, "?");
}

/* Axes of one kind stand together, kinds in the order in which they first come. */
static void put_partials(printer *out, const mw_layout *layout)
{
    uint32_t done = 0;
    for (int p = 0; p < layout->npartial; p++) {
        uint16_t kind = layout->partial[p].kind;
        if (done & 1u << kind) continue;
        put(out, done ? "," : "{");
        done |= 1u << kind;
        put(out, mw__reduce_name((mw_reduce)kind));
        const char *before = ":";
        for (int q = p; q < layout->npartial; q++) {
            const mw_partial *part = &layout->partial[q];
            if (part->kind != kind) continue;
            put(out, before);
            put_axis(out, part->axis, part->major, part->size);
            before = ",";
        }
    }
    if (done) put(out, "}");
}

int mw_layout_print(const mw_mesh *mesh, const mw_layout *layout, char *to, int size)
{
    printer out = {mesh, to, size, 0};
    if (layout->dtype != MW_DTYPE_NONE) put(&out, mw_dtype_name((mw_dtype)layout->dtype));
    put(&out, "[");
    for (int d = 0; d < layout->ndim; d++) {
        if (d) put(&out, ", ");
        put_dim(&out, &layout->dim[d]);
    }
    put(&out, "]");
    put_partials(&out, layout);
    finish(&out);
    return out.length;
}

void mw__layout_str(const mw_mesh *mesh, const mw_layout *layout, mw_str *to)
{
    char small[512];
    int length = mw_layout_print(mesh, layout, small, (int)sizeof small);
    if (length < (int)sizeof small) {
        mw__str_append(to, small, (size_t)length);
        return;
    }
    size_t size = (size_t)length + 1;
    char *large = mw__alloc(size);
    if (!large) {
        to->failed = true;
        return;
    }
    (void)mw_layout_print(mesh, layout, large, (int)size);
    mw__str_append(to, large, (size_t)length);
    mw__free(large, size);
}

void mw__dim_str(const mw_mesh *mesh, const mw_dim *dim, mw_str *to)
{
    enum { LONGEST = MW_DIM_FACTORS * 24 + MW_DIM_CUTS * (MW_AXIS_NAME + 32) };
    char text[LONGEST];
    printer out = {mesh, text, LONGEST, 0};
    put_dim(&out, dim);
    finish(&out);
    mw__str_append(to, text, (size_t)out.length);
}
