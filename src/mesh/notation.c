/* Notations: which one a text is in, reading it, printing in all of them.
 *
 * A reader says who holds what by the rule of its own system. Where that is a layout, the layout is
 * all that is kept; where it isn't, the reading keeps what the owners go by (DTensor's placements,
 * HLO's tiles), so that the shards can still be listed. A printer works from the layout alone and
 * writes only what its system would understand as the same owners. */
#include "mesh/notation.h"

#include "mesh/owner.h"
#include <stdio.h>

const char *mw_notation_key(mw_notation notation)
{
    static const char *const keys[MW_NOTATION_END] = {[MW_NOTATION_NONE] = "none",
#define X(name, value, key, text) [MW_NOTATION_##name] = key,
                                                      MW_NOTATION_MAP(X)
#undef X
    };
    return keys[notation < MW_NOTATION_END ? notation : MW_NOTATION_NONE];
}

/* ---- which notation ------------------------------------------------------------------------ */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int word_length(const char *at)
{
    int n = 0;
    while (is_letter(at[n]) || is_digit(at[n]))
        n++;
    return n;
}

/* A placement or several glued ones: each begins with one of these. */
static bool is_placement(const char *at)
{
    static const char *const starts[] = {
        "Shard", "Replicate", "Partial", "_Shard", "_Strided", "Strided",     "_Partial",
        "MaskP", "_MaskP",    "_NormP",  "_S(",    "S(",       "_NormPartial"};
    for (int i = 0; i < MW_COUNT(starts); i++)
        if (strncmp(at, starts[i], strlen(starts[i])) == 0) return true;
    if (*at != 'R' && *at != 'P') return false;
    /* R and P stand alone, before another, or (P) before its kind in parentheses. */
    char next = at[1];
    return !next || strchr(" ,)]RPS_M", next) || (*at == 'P' && next == '(');
}

/* What stands behind `P(` or `(` makes it a spec: a quote, None, a number, a tuple, nothing. */
static bool is_spec_entry(const char *at)
{
    return *at == '\'' || *at == '"' || *at == '(' || *at == ')' || is_digit(*at) || *at == '-' ||
           strncmp(at, "None", 4) == 0 || strncmp(at, "UNCONSTRAINED", 13) == 0 ||
           strncmp(at, "P.", 2) == 0 || strncmp(at, "PartitionSpec.", 14) == 0 ||
           strncmp(at, "unreduced", 9) == 0 || strncmp(at, "reduced", 7) == 0;
}

static mw_notation hlo_version(const char *at)
{
    return strstr(at, "<=") ? MW_NOTATION_HLO_V2 : MW_NOTATION_HLO_V1;
}

static mw_notation detect_bracket(mw__reader r)
{
    char c = mw__reader_peek(&r);
    if (c == '{') return MW_NOTATION_SDY;
    if (c == ']' || is_digit(c)) {
        /* `[]` of Shardy has more behind it; a layout of no dims has its partials */
        mw__reader after = r;
        bool sets = mw__reader_take(&after, ']') && mw__reader_take(&after, ',');
        return sets ? MW_NOTATION_SDY : MW_NOTATION_LAYOUT;
    }
    return is_placement(r.at) ? MW_NOTATION_DTENSOR : MW_NOTATION_NONE;
}

static mw_notation detect_word(mw__reader r)
{
    int n = word_length(r.at);
    mw__reader after = r;
    after.at += n;
    char c = mw__reader_peek(&after);
    bool spec = n == 1 ? *r.at == 'P' : n == 13 && strncmp(r.at, "PartitionSpec", 13) == 0;
    if (spec && c == '(') {
        after.at++;
        mw__reader_space(&after);
        if (n > 1 || is_spec_entry(after.at)) return MW_NOTATION_SPEC;
    }
    if (is_placement(r.at)) return MW_NOTATION_DTENSOR;
    return c == '[' ? MW_NOTATION_LAYOUT : MW_NOTATION_NONE;
}

/* Past the quotes and names in which texts are found: `mhlo.sharding = "{...}"`. */
static void skip_wrapping(mw__reader *r)
{
    static const char *const before[] = {"mhlo.sharding", "sdy.sharding", "sharding", "placements",
                                         "partition_spec"};
    mw__reader_space(r);
    for (int i = 0; i < MW_COUNT(before); i++) {
        mw__reader after = *r;
        if (mw__reader_word(&after, before[i]) && mw__reader_take(&after, '=')) *r = after;
    }
    mw__reader quoted = *r;
    if (mw__reader_take(&quoted, '"') && (*quoted.at == '{' || *quoted.at == '(')) *r = quoted;
    mw__reader_space(r);
}

static mw_notation detect(mw__reader *r)
{
    skip_wrapping(r);
    mw__reader inside = *r;
    switch (*r->at) {
    case '#':
    case '<':
        return MW_NOTATION_SDY;
    case '{':
        return hlo_version(r->at);
    case '[':
        inside.at++;
        return detect_bracket(inside);
    case '(':
        inside.at++;
        mw__reader_space(&inside);
        if (is_spec_entry(inside.at)) return MW_NOTATION_SPEC;
        return is_placement(inside.at) ? MW_NOTATION_DTENSOR : MW_NOTATION_NONE;
    default:
        return is_letter(*r->at) ? detect_word(*r) : MW_NOTATION_NONE;
    }
}

static mw_status detect_or_fail(mw__reader *r, mw_notation *ret)
{
    mw_notation notation = detect(r);
    if (notation == MW_NOTATION_NONE) {
        mw_status status = mw__reader_fail(r, r->at, MW_ERR_PARSE, "this is in no known notation");
        mw__error_hint("known are f32[16@x, 8] (meshwise), S(0)R or [Shard(dim=0), Replicate()] "
                       "(DTensor), P('x', None) or ('x', None) (JAX, PyTorch/XLA), "
                       "{devices=[2,1]0,1} or {devices=[2,1]<=[2]} (HLO), "
                       "<@mesh, [{\"x\"}, {}]> (Shardy)");
        return status;
    }
    *ret = notation;
    return MW_OK;
}

mw_status mw_notation_detect(const char *text, mw_notation *ret)
{
    mw__reader r = {"layout", text, text};
    return detect_or_fail(&r, ret);
}

/* ---- reading ------------------------------------------------------------------------------- */

void mw__reading_note(mw_reading *reading, const char *format, ...)
{
    if (reading->nnote == MW__NOTES) return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reading->note[reading->nnote++], MW__NOTE, format, args);
    va_end(args);
}

void mw__reading_unsayable(mw_reading *reading, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reading->why, sizeof reading->why, format, args);
    va_end(args);
    reading->sayable = false;
}

static mw_status check_stated(const mw_reading *reading, const mw_layout *layout)
{
    if (reading->ndim >= 0 && reading->ndim != layout->ndim)
        return MW_FAIL(MW_ERR_SHAPE, "the layout has %d dims, the shape that is given %d",
                       layout->ndim, reading->ndim);
    for (int d = 0; d < reading->ndim; d++)
        if (reading->shape[d] != mw_layout_size(layout, d))
            return MW_FAIL(MW_ERR_SHAPE, "dim %d of the layout has size %lld, of the shape %lld", d,
                           (long long)mw_layout_size(layout, d), (long long)reading->shape[d]);
    return MW_OK;
}

static mw_status read_own(mw__reader *r, mw_reading *reading)
{
    mw_layout layout;
    mw_dtype dtype = (mw_dtype)reading->layout.dtype;
    MW_TRY(mw__layout_read(reading->mesh, r->text, &r->at, &layout));
    MW_TRY(check_stated(reading, &layout));
    if (layout.dtype != MW_DTYPE_NONE && dtype != MW_DTYPE_NONE && layout.dtype != dtype)
        return MW_FAIL(MW_ERR_ARG, "the layout is of %s, but %s is asked for",
                       mw_dtype_name((mw_dtype)layout.dtype), mw_dtype_name(dtype));
    if (layout.dtype == MW_DTYPE_NONE) layout.dtype = (uint8_t)dtype;
    reading->layout = layout;
    reading->ndim = layout.ndim;
    mw_layout_shape(&layout, reading->shape);
    return MW_OK;
}

static mw_status read_end(mw__reader *r)
{
    bool quoted = mw__reader_take(r, '"');
    (void)quoted;
    if (mw__reader_peek(r))
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected the end of the text");
    return MW_OK;
}

static mw_status read_text(mw__reader *r, mw_reading *reading)
{
    static const char *const what[MW_NOTATION_END] = {
        [MW_NOTATION_LAYOUT] = "layout",       [MW_NOTATION_DTENSOR] = "placements",
        [MW_NOTATION_SPEC] = "partition spec", [MW_NOTATION_HLO_V1] = "HLO sharding",
        [MW_NOTATION_HLO_V2] = "HLO sharding", [MW_NOTATION_SDY] = "Shardy sharding",
    };
    MW_TRY(detect_or_fail(r, &reading->notation));
    r->what = what[reading->notation];
    if (reading->notation == MW_NOTATION_LAYOUT) {
        MW_TRY(read_own(r, reading));
        return read_end(r);
    }
    if (reading->ndim < 0)
        return mw__reader_fail(r, r->at, MW_ERR_SHAPE,
                               "this notation does not state the sizes of the tensor: its shape "
                               "must be given");
    mw_dtype dtype = (mw_dtype)reading->layout.dtype;
    reading->layout = mw_layout_replicated(dtype, reading->ndim, reading->shape);
    switch (reading->notation) {
    case MW_NOTATION_DTENSOR:
        MW_TRY(mw__dtensor_read(r, reading));
        break;
    case MW_NOTATION_SPEC:
        MW_TRY(mw__spec_read(r, reading));
        break;
    case MW_NOTATION_SDY:
        MW_TRY(mw__sdy_read(r, reading));
        break;
    default:
        MW_TRY(mw__hlo_read(r, reading));
        break;
    }
    MW_TRY(read_end(r));
    if (!reading->sayable) return MW_OK;
    MW_TRY(mw__layout_check(reading->mesh, &reading->layout));
    mw__layout_canonical(reading->mesh, &reading->layout);
    return MW_OK;
}

static mw_status check_shape(int ndim, const int64_t *shape)
{
    int64_t count = 1;
    if (ndim > MW_LAYOUT_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "the shape has %d dims; a tensor has at most %d", ndim,
                       MW_LAYOUT_DIMS);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0)
            return MW_FAIL(MW_ERR_SHAPE, "dim %d of the shape is negative: %lld", d,
                           (long long)shape[d]);
        MW_TRY(mw__mul_size(count, shape[d], &count));
    }
    return MW_OK;
}

mw_status mw_notation_read(const mw_mesh *mesh, const char *text, int ndim, const int64_t *shape,
                           mw_dtype dtype, mw_reading **ret)
{
    MW_TRY(check_shape(ndim, shape));
    mw_reading *reading = mw__zalloc(sizeof *reading);
    if (!reading) return MW_NOMEM();
    mw_mesh *shared = NULL; /* a reading outlives the caller's reference; meshes are immutable */
    memcpy(&shared, &mesh, sizeof shared);
    reading->mesh = mw_mesh_ref(shared);
    reading->ndim = ndim < 0 ? -1 : ndim;
    if (ndim > 0) memcpy(reading->shape, shape, (size_t)ndim * sizeof *shape);
    reading->layout.dtype = (uint8_t)dtype;
    reading->sayable = true;
    reading->maximal = -1;
    for (int d = 0; d < MW_LAYOUT_DIMS; d++)
        reading->priority[d] = -1;
    mw__reader r = {"layout", text, text};
    mw_status status = MW_OK;
    MW_TRY_GOTO(read_text(&r, reading), fail);
    *ret = reading;
    return MW_OK;
fail:
    mw_reading_free(reading);
    return status;
}

void mw_reading_free(mw_reading *reading)
{
    if (!reading) return;
    mw__tiling_done(&reading->tiling);
    mw_mesh_unref(reading->mesh);
    mw__free(reading, sizeof *reading);
}

/* ---- what was read ------------------------------------------------------------------------- */

mw_notation mw_reading_notation(const mw_reading *reading)
{
    return reading->notation;
}

const mw_layout *mw_reading_layout(const mw_reading *reading)
{
    return reading->sayable ? &reading->layout : NULL;
}

const char *mw_reading_why(const mw_reading *reading)
{
    return reading->why;
}

int mw_reading_notes(const mw_reading *reading)
{
    return reading->nnote;
}

const char *mw_reading_note(const mw_reading *reading, int note)
{
    return note >= 0 && note < reading->nnote ? reading->note[note] : "";
}

int mw_reading_priority(const mw_reading *reading, int dim)
{
    return dim >= 0 && dim < MW_LAYOUT_DIMS ? reading->priority[dim] : -1;
}

int mw_reading_shape(const mw_reading *reading, int64_t *ret_shape)
{
    memcpy(ret_shape, reading->shape, (size_t)reading->ndim * sizeof *ret_shape);
    return reading->ndim;
}

/* The ranges of a tile, or of a value that one rank holds alone. */
static int64_t one_range(const mw_reading *reading, int rank, int dim, mw_range *ret)
{
    int64_t size = reading->shape[dim];
    *ret = (mw_range){0, size};
    if (reading->maximal >= 0) return size > 0 && rank == reading->maximal;
    const mw__tiling *t = &reading->tiling;
    if (!t->rank) return size > 0;
    int64_t at = t->place[rank] / (t->manual * t->unreduced * t->replicated);
    for (int d = t->ndim - 1; d > dim; d--)
        at /= t->tile[d];
    int64_t chunk = mw__chunk(size, t->tile[dim]);
    at %= t->tile[dim];
    ret->first = chunk && at <= size / chunk ? at * chunk : size;
    ret->end = ret->first < size - chunk ? ret->first + chunk : size;
    return ret->end > ret->first;
}

mw_status mw_reading_ranges(const mw_reading *reading, int rank, int dim, mw_range *ret_range,
                            int64_t cap, int64_t *ret_count)
{
    if (reading->sayable) {
        *ret_count = mw_layout_ranges(reading->mesh, &reading->layout, rank, dim, ret_range, cap);
        return MW_OK;
    }
    if (reading->notation != MW_NOTATION_DTENSOR) {
        mw_range range;
        *ret_count = one_range(reading, rank, dim, &range);
        if (*ret_count && cap > 0) *ret_range = range;
        return MW_OK;
    }
    int coord[MW_MESH_AXES];
    mw__ranges ranges = {0};
    mw__mesh_coords(reading->mesh, rank, coord);
    mw_status status = mw__placed_ranges(reading->mesh, reading->shape[dim], &reading->placed[dim],
                                         coord, &ranges);
    if (status == MW_OK) {
        if (ranges.n && cap > 0)
            memcpy(ret_range, ranges.at, (size_t)MW_MIN(ranges.n, cap) * sizeof *ret_range);
        *ret_count = ranges.n;
    }
    mw__ranges_done(&ranges);
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static mw_status finish(mw_str *to, mw_str *why, mw_status status, mw_notation_text *ret)
{
    if (status == MW_OK) status = mw__str_status(to);
    if (status == MW_OK) status = mw__str_status(why);
    if (status == MW_OK) {
        mw_notation_text text = {0};
        if (why->length) {
            (void)snprintf(text.why, sizeof text.why, "%s", mw__str_text(why));
        } else if (to->at) {
            text.text = to->at;
            text.size = (int64_t)to->cap;
            *to = (mw_str){0};
        }
        *ret = text;
    }
    mw__str_done(to);
    mw__str_done(why);
    return status;
}

static mw_status print_layout(const mw_mesh *mesh, const mw_layout *layout, const int *priority,
                              mw_notation notation, mw_str *to, mw_str *why)
{
    switch (notation) {
    case MW_NOTATION_LAYOUT:
        mw__layout_str(mesh, layout, to);
        return MW_OK;
    case MW_NOTATION_DTENSOR:
        mw__dtensor_print(mesh, layout, to, why);
        return MW_OK;
    case MW_NOTATION_SPEC:
        mw__spec_print(mesh, layout, to, why);
        return MW_OK;
    case MW_NOTATION_SDY:
        mw__sdy_print(mesh, layout, priority, to, why);
        return MW_OK;
    case MW_NOTATION_HLO_V1:
    case MW_NOTATION_HLO_V2:
        return mw__hlo_print(mesh, layout, notation == MW_NOTATION_HLO_V2, to, why);
    default:
        return MW_FAIL(MW_ERR_ARG, "there is no notation number %d", (int)notation);
    }
}

/* Where there is no layout, the notation that was read can still say what it said. */
static void print_as_read(const mw_reading *reading, mw_notation notation, mw_str *to, mw_str *why)
{
    bool hlo = notation == MW_NOTATION_HLO_V1 || notation == MW_NOTATION_HLO_V2;
    bool from_hlo =
        reading->notation == MW_NOTATION_HLO_V1 || reading->notation == MW_NOTATION_HLO_V2;
    if (notation == MW_NOTATION_DTENSOR && reading->notation == notation)
        mw__placed_str(reading->mesh, reading->placed, reading->ndim, reading->partial, to);
    else if (hlo && from_hlo && reading->maximal >= 0)
        mw__str_printf(to, "{maximal device=%d}", reading->maximal);
    else if (hlo && from_hlo && reading->tiling.rank)
        mw__tiling_str(&reading->tiling, notation == MW_NOTATION_HLO_V2, to, why);
    else if (hlo && from_hlo)
        mw__str_puts(to, "{manual}");
    else
        mw__str_puts(why, notation == MW_NOTATION_LAYOUT ? reading->why
                                                         : "there is no layout to say here");
}

mw_status mw_reading_print(const mw_reading *reading, mw_notation notation, mw_notation_text *ret)
{
    mw_str to = {0}, why = {0};
    mw_status status = MW_OK;
    if (reading->sayable)
        status =
            print_layout(reading->mesh, &reading->layout, reading->priority, notation, &to, &why);
    else
        print_as_read(reading, notation, &to, &why);
    return finish(&to, &why, status, ret);
}

mw_status mw_notation_print(const mw_mesh *mesh, const mw_layout *layout, mw_notation notation,
                            mw_notation_text *ret)
{
    mw_str to = {0}, why = {0};
    mw_status status = print_layout(mesh, layout, NULL, notation, &to, &why);
    return finish(&to, &why, status, ret);
}

void mw_notation_text_done(mw_notation_text *text)
{
    mw__free(text->text, (size_t)text->size);
    *text = (mw_notation_text){0};
}
