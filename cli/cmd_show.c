/* meshwise show: a layout in any notation, said in all of them, and who holds what. */
#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 65536, MOST_ROWS = 64, MOST_SHOWN = 4, CELL = 160 };

typedef struct shown {
    mw_mesh *mesh;
    mw_reading *reading;
    bool assumed; /* the dtype */
    int ndim;
    int64_t shape[MW_LAYOUT_DIMS];
} shown;

/* ---- arguments ----------------------------------------------------------------------------- */

/* 16,8; brackets around it are fine, and nothing at all is a scalar. */
mw_status cli_shape(const char *text, int *ret_ndim, int64_t *ret_shape)
{
    const char *at = text + strspn(text, " [(");
    int n = 0;
    while (*at && !strchr("])", *at)) {
        char *end;
        long long size = strtoll(at, &end, 10);
        bool digits = *at >= '0' && *at <= '9';
        if (!digits || (*end && !strchr(" ,])", *end)) || size == INT64_MAX)
            return mw_error_set(MW_ERR_ARG, "--shape %.60s: expected sizes, like 16,8", text);
        if (n == MW_LAYOUT_DIMS)
            return mw_error_set(MW_ERR_ARG, "--shape %.60s: a tensor has at most %d dims", text,
                                MW_LAYOUT_DIMS);
        ret_shape[n++] = size;
        at = end + strspn(end, " ");
        if (*at == ',') at += 1 + strspn(at + 1, " ");
    }
    if (at[strspn(at, " ])")])
        return mw_error_set(MW_ERR_ARG, "--shape %.60s: expected sizes, like 16,8", text);
    *ret_ndim = n;
    return MW_OK;
}

static mw_status read_mesh(const cli_args *args, const char *text, mw_mesh **ret)
{
    if (args->value[OPT_mesh]) return mw_mesh_parse(args->value[OPT_mesh], ret);
    mw_status status = mw_notation_mesh(text, ret);
    if (status != MW_OK || *ret) return status;
    (void)mw_error_set(MW_ERR_ARG, "show needs the mesh that the layout lies on");
    mw_error_hint("give --mesh, like --mesh x=2,y=4");
    return MW_ERR_ARG;
}

static mw_status read_reading(const cli_args *args, const char *text, shown *s)
{
    mw_notation notation;
    mw_dtype dtype = MW_DTYPE_NONE;
    const char *shape = args->value[OPT_shape], *asked = args->value[OPT_as_dtype];
    mw_status status = mw_notation_detect(text, &notation);
    s->ndim = -1;
    if (status == MW_OK && shape) status = cli_shape(shape, &s->ndim, s->shape);
    if (status != MW_OK) return status;
    if (asked) dtype = mw_dtype_read(asked, (int)strlen(asked));
    if (asked && dtype == MW_DTYPE_NONE)
        return mw_error_set(MW_ERR_ARG, "--dtype %.40s: no such dtype", asked);
    if (notation != MW_NOTATION_LAYOUT && !shape) {
        (void)mw_error_set(MW_ERR_ARG,
                           "%.60s: this notation does not state the sizes of the tensor", text);
        mw_error_hint("give --shape, like --shape 16,8");
        return MW_ERR_ARG;
    }
    status = read_mesh(args, text, &s->mesh);
    s->assumed = notation != MW_NOTATION_LAYOUT && !asked;
    if (s->assumed) dtype = MW_DTYPE_f32;
    if (status == MW_OK)
        status = mw_notation_read(s->mesh, text, s->ndim, s->shape, dtype, &s->reading);
    if (status != MW_OK) return status;
    const mw_layout *layout = mw_reading_layout(s->reading);
    if (layout && layout->dtype == MW_DTYPE_NONE) {
        mw_reading_free(s->reading);
        s->reading = NULL;
        s->assumed = true;
        status = mw_notation_read(s->mesh, text, s->ndim, s->shape, MW_DTYPE_f32, &s->reading);
    }
    if (status == MW_OK) s->ndim = mw_reading_shape(s->reading, s->shape);
    return status;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Appends; a NULL value, and a value that can't be appended, are failures. */
static bool append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

/* The ranges of one dim; how many elements they have into *ret_size, where the only one begins into
 * *ret_offset, else -1. NULL with a record. */
static json_t *dim_json(const shown *s, int rank, int dim, int64_t *ret_size, int64_t *ret_offset)
{
    int64_t n = 0;
    if (mw_reading_ranges(s->reading, rank, dim, NULL, 0, &n) != MW_OK) return NULL;
    if (n > MOST_RANGES) {
        (void)mw_error_set(MW_ERR_UNSUPPORTED,
                           "rank %d holds %lld pieces of dim %d: more than %d are not listed", rank,
                           (long long)n, dim, MOST_RANGES);
        return NULL;
    }
    size_t bytes = (size_t)(n ? n : 1) * sizeof(mw_range);
    mw_range *range = mw_memory(bytes);
    json_t *list = json_array();
    bool made = range && list && mw_reading_ranges(s->reading, rank, dim, range, n, &n) == MW_OK;
    *ret_size = 0;
    for (int64_t i = 0; i < n && made; i++) {
        made =
            append(list, json_pack("[I, I]", (json_int_t)range[i].first, (json_int_t)range[i].end));
        *ret_size += range[i].end - range[i].first;
    }
    if (made) *ret_offset = n == 1 ? range[0].first : -1;
    mw_memory_free(range, bytes);
    if (made) return list;
    json_decref(list);
    return NULL;
}

static json_t *coords_json(const mw_mesh *mesh, int rank)
{
    json_t *coords = json_object();
    for (int a = 0; a < mw_mesh_axes(mesh) && coords; a++)
        if (json_object_set_new(coords, mw_mesh_axis_name(mesh, a),
                                json_integer(mw_mesh_coord(mesh, rank, a))) != 0) {
            json_decref(coords);
            coords = NULL;
        }
    return coords;
}

static json_t *shard_json(const shown *s, int rank)
{
    json_t *shape = json_array(), *ranges = json_array(), *offset = json_array();
    bool made = shape && ranges && offset, one = true;
    for (int d = 0; d < s->ndim && made; d++) {
        int64_t size = 0, first = -1;
        made = append(ranges, dim_json(s, rank, d, &size, &first)) &&
               append(shape, json_integer(size)) && append(offset, json_integer(first));
        one = one && first >= 0;
    }
    json_t *shard = NULL;
    if (made) {
        shard = json_pack("{s:i, s:o, s:O, s:O}", "rank", rank, "coords",
                          coords_json(s->mesh, rank), "shape", shape, "ranges", ranges);
        if (shard && one && json_object_set(shard, "offset", offset) != 0) {
            json_decref(shard);
            shard = NULL;
        }
    }
    json_decref(shape);
    json_decref(ranges);
    json_decref(offset);
    return shard;
}

/* The texts into `object`, the reasons for those there are not into `why`. */
static mw_status texts_json(const shown *s, json_t *object, json_t *why)
{
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END; k++) {
        mw_notation_text text;
        const char *key = mw_notation_key((mw_notation)k);
        mw_status status = mw_reading_print(s->reading, (mw_notation)k, &text);
        if (status != MW_OK) return status;
        int failed = text.text ? json_object_set_new(object, key, json_string(text.text))
                               : json_object_set_new(object, key, json_null());
        if (!text.text) failed |= json_object_set_new(why, key, json_string(text.why));
        mw_notation_text_done(&text);
        if (failed) return mw_error_set(MW_ERR_NOMEM, "out of memory, or a name that is no UTF-8");
    }
    return MW_OK;
}

static json_t *notes_json(const shown *s)
{
    json_t *notes = json_array();
    bool made = notes != NULL;
    if (made && s->assumed) made = append(notes, json_string("dtype assumed f32"));
    for (int i = 0; made && i < mw_reading_notes(s->reading); i++)
        made = append(notes, json_string(mw_reading_note(s->reading, i)));
    if (made) return notes;
    json_decref(notes);
    return NULL;
}

static int print_json(const cli_args *args, const shown *s)
{
    mw_error_clear();
    json_t *object = json_object(), *why = json_object(), *shards = json_array();
    bool made = object && why && shards &&
                json_object_set_new(object, "schema", json_integer(1)) == 0 &&
                texts_json(s, object, why) == MW_OK;
    for (int r = 0; made && r < mw_mesh_ranks(s->mesh); r++)
        made = append(shards, shard_json(s, r));
    made = made && json_object_set(object, "why", why) == 0 &&
           json_object_set_new(object, "notes", notes_json(s)) == 0 &&
           json_object_set(object, "shards", shards) == 0;
    json_decref(why);
    json_decref(shards);
    if (made) return cli_print(args, object, 0);
    json_decref(object);
    if (mw_last_error()->code != MW_OK) return cli_report(args);
    return cli_print(args, NULL, 0);
}

/* ---- text ---------------------------------------------------------------------------------- */

void show_range(int64_t first, int64_t end, char *to, size_t size)
{
    if (end - first > 1)
        (void)snprintf(to, size, "%lld-%lld", (long long)first, (long long)end - 1);
    else if (end > first)
        (void)snprintf(to, size, "%lld", (long long)first);
    else
        (void)snprintf(to, size, "%s", "");
}

static mw_status print_texts(const shown *s)
{
    for (int k = MW_NOTATION_NONE + 1; k < MW_NOTATION_END; k++) {
        enum { WIDE = 200 };
        mw_notation_text text;
        mw_status status = mw_reading_print(s->reading, (mw_notation)k, &text);
        if (status != MW_OK) return status;
        printf("%-16s", mw_notation_key((mw_notation)k));
        if (!text.text)
            printf("none: %s\n", text.why);
        else if (strlen(text.text) > WIDE)
            printf("%.*s... (%d more characters)\n", WIDE, text.text,
                   (int)(strlen(text.text) - WIDE));
        else
            printf("%s\n", text.text);
        mw_notation_text_done(&text);
    }
    if (s->assumed) printf("%-16sdtype assumed f32\n", "note");
    for (int i = 0; i < mw_reading_notes(s->reading); i++)
        printf("%-16s%s\n", "note", mw_reading_note(s->reading, i));
    return MW_OK;
}

/* A dim of a shard: "0-3 8-11". */
static mw_status dim_text(const shown *s, int rank, int dim, char *to, size_t size)
{
    mw_range range[MOST_SHOWN];
    int64_t n = 0;
    mw_status status = mw_reading_ranges(s->reading, rank, dim, range, MOST_SHOWN, &n);
    if (status != MW_OK) return status;
    size_t length = (size_t)snprintf(to, size, "%s", n ? "" : "none");
    for (int i = 0; i < n && i < MOST_SHOWN && length < size; i++) {
        char one[48];
        show_range(range[i].first, range[i].end, one, sizeof one);
        length += (size_t)snprintf(to + length, size - length, "%s%s", i ? " " : "", one);
    }
    if (n > MOST_SHOWN && length < size)
        (void)snprintf(to + length, size - length, " ... (%lld pieces)", (long long)n);
    return MW_OK;
}

static int axis_width(const mw_mesh *mesh, int axis)
{
    int width = (int)strlen(mw_mesh_axis_name(mesh, axis));
    return width > 2 ? width : 2;
}

/* How wide the column of a dim is. */
static mw_status dim_width(const shown *s, int ranks, int dim, int *ret)
{
    *ret = 5;
    for (int r = 0; r < ranks; r++) {
        char text[CELL];
        mw_status status = dim_text(s, r, dim, text, CELL);
        if (status != MW_OK) return status;
        if ((int)strlen(text) > *ret) *ret = (int)strlen(text);
    }
    return MW_OK;
}

static mw_status print_shard(const shown *s, int rank, const int *width)
{
    printf("%5d", rank);
    for (int a = 0; a < mw_mesh_axes(s->mesh); a++)
        printf("  %*d", axis_width(s->mesh, a), mw_mesh_coord(s->mesh, rank, a));
    for (int d = 0; d < s->ndim; d++) {
        char text[CELL];
        mw_status status = dim_text(s, rank, d, text, CELL);
        if (status != MW_OK) return status;
        printf("  %-*s", d < s->ndim - 1 ? width[d] : 0, text);
    }
    printf("\n");
    return MW_OK;
}

static mw_status print_shards(const shown *s)
{
    int all = mw_mesh_ranks(s->mesh), ranks = all < MOST_ROWS ? all : MOST_ROWS;
    int width[MW_LAYOUT_DIMS];
    mw_status status = MW_OK;
    for (int d = 0; d < s->ndim && status == MW_OK; d++)
        status = dim_width(s, ranks, d, &width[d]);
    if (status != MW_OK) return status;
    printf("\n rank");
    for (int a = 0; a < mw_mesh_axes(s->mesh); a++)
        printf("  %*s", axis_width(s->mesh, a), mw_mesh_axis_name(s->mesh, a));
    for (int d = 0; d < s->ndim; d++)
        printf("  dim %-*d", d < s->ndim - 1 ? width[d] - 4 : 0, d);
    printf("\n");
    for (int r = 0; r < ranks && status == MW_OK; r++)
        status = print_shard(s, r, width);
    if (all > ranks) printf("... and %d more ranks (--json has them all)\n", all - ranks);
    return status;
}

static int print_text(const cli_args *args, const shown *s)
{
    mw_status status = print_texts(s);
    if (status == MW_OK) status = show_draw(s->mesh, s->reading);
    if (status == MW_OK) status = print_shards(s);
    return status == MW_OK ? cli_flush() : cli_report(args);
}

int cmd_show(const cli_args *args)
{
    if (args->npositional != 1)
        return cli_usage(args, "show takes one layout, in any notation, not %d arguments",
                         args->npositional);
    shown s = {0};
    mw_status status = read_reading(args, args->positional[0], &s);
    int code = status != MW_OK ? cli_report(args)
               : args->json    ? print_json(args, &s)
                               : print_text(args, &s);
    mw_reading_free(s.reading);
    mw_mesh_unref(s.mesh);
    return code;
}
