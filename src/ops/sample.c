/* Reads sample texts and makes their data. The text becomes values as a user would give them and
 * goes through the same check (args.h), so a sample cannot be a call that a user could not make. */
#include "ops/sample.h"

#include "ops/args.h"
#include "ops/scan.h"
#include "ops/table.h"

#include <math.h>

enum { SAMPLE_TENSORS = 32 };

typedef enum fill_kind { FILL_PLAIN, FILL_ABOVE, FILL_BETWEEN } fill_kind;

typedef struct filling {
    fill_kind kind;
    double low, high;
} filling;

typedef struct reader {
    scan s;
    mw_arena *arena;
    const mw_schema *schema;
    int ntensor, ngiven;
    mw_meta meta[SAMPLE_TENSORS];
    filling fill[SAMPLE_TENSORS];
    mw_given given[MW_SCHEMA_ARGS];
} reader;

#define FAIL(r, ...) SCAN_FAIL(&(r)->s, __VA_ARGS__)

/* ---- random numbers ------------------------------------------------------------------------- */

uint64_t mw__random_bits(uint64_t stream, uint64_t nth)
{
    uint64_t pair[2] = {stream, nth};
    return mw__hash(0x6d657368u, pair, sizeof pair);
}

double mw__random_uniform(uint64_t stream, uint64_t nth)
{
    return (double)(mw__random_bits(stream, nth) >> 11) * 0x1p-53;
}

double mw__random_normal(uint64_t stream, uint64_t nth)
{
    double u = mw__random_uniform(stream, 2 * nth), v = mw__random_uniform(stream, 2 * nth + 1);
    const double turn = 6.283185307179586;
    return sqrt(-2 * log(1 - u)) * cos(turn * v);
}

/* ---- reading -------------------------------------------------------------------------------- */

static mw_status read_fill(reader *r, filling *fill)
{
    scan *s = &r->s;
    bool integer;
    int64_t i;
    *fill = (filling){FILL_PLAIN, 0, 0};
    if (scan_take(s, ">")) {
        fill->kind = FILL_ABOVE;
        if (!mw__scan_number(s, &integer, &i, &fill->low)) return FAIL(r, "expected a number");
    } else if (scan_take(s, "<")) {
        fill->kind = FILL_BETWEEN;
        if (!mw__scan_number(s, &integer, &i, &fill->high) || !(fill->high > 0))
            return FAIL(r, "expected a number above 0");
    } else if (scan_take(s, "in(")) {
        fill->kind = FILL_BETWEEN;
        bool ok = mw__scan_number(s, &integer, &i, &fill->low) && scan_take(s, ",") &&
                  mw__scan_number(s, &integer, &i, &fill->high) && scan_take(s, ")");
        if (!ok || !(fill->high > fill->low)) return FAIL(r, "expected 'in(a,b)' with a < b");
    }
    return MW_OK;
}

/* The cursor is behind `dtype[`. */
static mw_status read_tensor(reader *r, mw_dtype dtype, int *ret)
{
    if (r->ntensor == SAMPLE_TENSORS) return FAIL(r, "more than %d tensors", SAMPLE_TENSORS);
    mw_meta *meta = &r->meta[r->ntensor];
    *meta = (mw_meta){.dtype = dtype};
    while (!scan_take(&r->s, "]")) {
        int64_t size;
        if (meta->ndim && !scan_take(&r->s, ",")) return FAIL(r, "expected ',' or ']'");
        if (meta->ndim == MW_MAX_DIMS) return FAIL(r, "more than %d dims", MW_MAX_DIMS);
        if (!mw__scan_int(&r->s, &size) || size < 0) return FAIL(r, "expected a size");
        meta->shape[meta->ndim++] = size;
    }
    MW_TRY(read_fill(r, &r->fill[r->ntensor]));
    *ret = r->ntensor++;
    return MW_OK;
}

/* A dtype's name here steps the cursor over it. */
static mw_dtype take_dtype(reader *r)
{
    size_t n = scan_name(&r->s);
    mw_dtype dtype = mw_dtype_read(r->s.at, (int)n);
    if (dtype != MW_DTYPE_NONE) r->s.at += n;
    return dtype;
}

static mw_status read_tensors(reader *r, mw_arg *value)
{
    *value = (mw_arg){.kind = MW_ARG_TENSORS, .first = r->ntensor};
    while (!scan_take(&r->s, "}")) {
        int nth;
        if (value->count && !scan_take(&r->s, ",")) return FAIL(r, "expected ',' or '}'");
        mw_dtype dtype = take_dtype(r);
        if (dtype == MW_DTYPE_NONE || !scan_take(&r->s, "[")) return FAIL(r, "expected a tensor");
        MW_TRY(read_tensor(r, dtype, &nth));
        value->count++;
    }
    return MW_OK;
}

static mw_status read_string(reader *r, const char **ret)
{
    char *text;
    size_t n = strcspn(r->s.at, "\"");
    if (r->s.at[n] != '"') return FAIL(r, "a string that does not end");
    text = mw__arena_strndup(r->arena, r->s.at, n);
    if (!text) return MW_NOMEM();
    r->s.at += n + 1;
    *ret = text;
    return MW_OK;
}

/* `[1, 2]`, `[true, false]`, `["a", "b"]` */
static mw_status read_list(reader *r, mw_arg *value)
{
    enum { LONGEST = 16 };
    scan *s = &r->s;
    int64_t *ints = mw__arena_alloc(r->arena, LONGEST * sizeof *ints);
    const char **strs = mw__arena_alloc(r->arena, LONGEST * sizeof *strs);
    if (!ints || !strs) return MW_NOMEM();
    *value = (mw_arg){.kind = MW_ARG_INTS, .ints = ints};
    while (!scan_take(s, "]")) {
        int at = value->count;
        if (at && !scan_take(s, ",")) return FAIL(r, "expected ',' or ']'");
        if (at == LONGEST) return FAIL(r, "more than %d items", LONGEST);
        bool string = scan_take(s, "\"");
        if (at && string != (value->kind == MW_ARG_STRS)) return FAIL(r, "items of two kinds");
        if (string) {
            *value = (mw_arg){.kind = MW_ARG_STRS, .count = at, .strs = strs};
            MW_TRY(read_string(r, &strs[at]));
        } else if (scan_take(s, "true")) {
            ints[at] = 1;
        } else if (scan_take(s, "false")) {
            ints[at] = 0;
        } else if (!mw__scan_int(s, &ints[at])) {
            return FAIL(r, "expected an integer");
        }
        value->count++;
    }
    return MW_OK;
}

static mw_status read_word(reader *r, mw_arg *value)
{
    scan *s = &r->s;
    size_t n = scan_name(s);
    const char *word = s->at;
    s->at += n;
    if (scan_word(word, n, "true") || scan_word(word, n, "false"))
        *value = (mw_arg){.kind = MW_ARG_BOOL, .i = n == 4};
    else if (scan_word(word, n, "none"))
        *value = (mw_arg){.kind = MW_ARG_NONE};
    else if (mw_dtype_read(word, (int)n) != MW_DTYPE_NONE)
        *value = (mw_arg){.kind = MW_ARG_DTYPE, .i = mw_dtype_read(word, (int)n)};
    else {
        s->at = word;
        return FAIL(r, "expected a value");
    }
    if (value->kind != MW_ARG_DTYPE || !scan_take(s, "[")) return MW_OK;
    mw_dtype dtype = (mw_dtype)value->i;
    *value = (mw_arg){.kind = MW_ARG_TENSOR, .count = 1};
    return read_tensor(r, dtype, &value->first);
}

static mw_status read_value(reader *r, mw_arg *value)
{
    scan *s = &r->s;
    bool integer;
    int64_t i;
    double f;
    if (scan_take(s, "{")) return read_tensors(r, value);
    if (scan_take(s, "[")) return read_list(r, value);
    if (scan_take(s, "\"")) {
        *value = (mw_arg){.kind = MW_ARG_STR};
        return read_string(r, &value->s);
    }
    if (!mw__scan_number(s, &integer, &i, &f)) return read_word(r, value);
    *value =
        integer ? (mw_arg){.kind = MW_ARG_INT, .i = i} : (mw_arg){.kind = MW_ARG_FLOAT, .f = f};
    return MW_OK;
}

static mw_status read_given(reader *r, mw_given *given)
{
    scan *s = &r->s;
    size_t n = scan_name(s);
    if (n && s->at[n] == '=') {
        given->name = mw__arena_strndup(r->arena, s->at, n);
        if (!given->name) return MW_NOMEM();
        s->at += n + 1;
    } else {
        if (r->ngiven && r->given[r->ngiven - 1].name &&
            strcmp(r->given[r->ngiven - 1].name, r->schema->arg[r->ngiven - 1].name) != 0)
            return FAIL(r, "a value without a name after one with a name");
        given->name = r->schema->arg[r->ngiven].name; /* also of keyword-only ones */
    }
    return read_value(r, &given->value);
}

/* Up to the sample's end: `;` or the text's. */
static mw_status read_sample(reader *r)
{
    scan_space(&r->s);
    if (!*r->s.at || *r->s.at == ';') return MW_OK;
    for (;;) {
        if (r->ngiven == r->schema->narg) return FAIL(r, "more values than arguments");
        MW_TRY(read_given(r, &r->given[r->ngiven]));
        r->ngiven++;
        scan_space(&r->s);
        if (!*r->s.at || *r->s.at == ';') return MW_OK;
        if (!scan_take(&r->s, ",")) return FAIL(r, "expected ',' or ';'");
    }
}

/* ---- data ----------------------------------------------------------------------------------- */

static double element(const filling *fill, mw_dtype_kind kind, bool is_unsigned, uint64_t stream,
                      uint64_t nth)
{
    double u = mw__random_uniform(stream, nth);
    if (kind == MW_KIND_BOOL) return u < 0.5;
    if (fill->kind == FILL_BETWEEN) {
        double value = fill->low + u * (fill->high - fill->low);
        return kind == MW_KIND_INT ? floor(value) : value;
    }
    if (kind == MW_KIND_INT) {
        if (fill->kind == FILL_ABOVE) return floor(fill->low) + 1 + floor(9 * u);
        return is_unsigned ? floor(10 * u) : floor(19 * u) - 9;
    }
    double normal = mw__random_normal(stream, nth);
    return fill->kind == FILL_ABOVE ? fill->low + 0.0625 + fabs(normal) : normal;
}

static mw_status make_view(const mw_meta *meta, const filling *fill, uint64_t stream,
                           mw_arena *arena, mw_view *view)
{
    int64_t bytes, count = 1, size = mw_dtype_size(meta->dtype);
    for (int d = 0; d < meta->ndim; d++)
        MW_TRY(mw__mul_size(count, meta->shape[d], &count));
    MW_TRY(mw__mul_size(count, size, &bytes));
    mw__view_set(view, meta->dtype, meta->ndim, meta->shape);
    view->data = NULL;
    if (count == 0) return MW_OK;
    char *data = mw__arena_alloc(arena, (size_t)bytes);
    if (!data) return MW_NOMEM();
    for (int64_t i = 0; i < count; i++)
        mw__element_set(data + i * size, meta->dtype,
                        element(fill, mw_dtype_kind_of(meta->dtype), meta->dtype == MW_DTYPE_u8,
                                stream, (uint64_t)i));
    view->data = data;
    return MW_OK;
}

static mw_status make(reader *r, const mw_op *op, uint64_t seed, mw_sample *ret)
{
    mw_arena *arena = r->arena;
    mw_bound *bound = mw__arena_alloc(arena, sizeof *bound);
    if (!bound) return MW_NOMEM();
    MW_TRY(mw__args_bind(r->schema, r->given, r->ngiven, r->meta, arena, bound));
    size_t nin = (size_t)bound->nin;
    mw_meta *meta = mw__arena_alloc(arena, nin * sizeof *meta);
    mw_view *view = mw__arena_zalloc(arena, nin * sizeof *view);
    if (!meta || !view) return MW_NOMEM();
    for (int i = 0; i < bound->nin; i++) {
        int tensor = bound->operand[i];
        meta[i] = r->meta[tensor];
        MW_TRY(make_view(&meta[i], &r->fill[tensor], mw__random_bits(seed, (uint64_t)i), arena,
                         &view[i]));
    }
    ret->call = (mw_call_args){
        .op = op, .narg = bound->narg, .arg = bound->arg, .nin = bound->nin, .in = meta};
    ret->in = view;
    return MW_OK;
}

/* Reads the sample at `at` in `text`; everything else of the text is for messages. */
static mw_status read_at(const mw_op *op, const char *text, const char *at, uint64_t seed,
                         mw_arena *arena, mw_sample *ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(op, &info));
    reader *r = mw__arena_zalloc(arena, sizeof *r);
    if (!r) return MW_NOMEM();
    r->s = (scan){"sample", text, at};
    r->arena = arena;
    r->schema = &info->schema;
    MW_TRY(read_sample(r));
    return make(r, op, seed, ret);
}

/* The next `;` outside of strings, or the text's end. */
static const char *sample_end(const char *text)
{
    bool quoted = false;
    for (; *text && (quoted || *text != ';'); text++)
        if (*text == '"') quoted = !quoted;
    return text;
}

int mw__sample_count(const char *text)
{
    int n = 1;
    if (!text) return 0;
    for (text = sample_end(text); *text; text = sample_end(text + 1))
        n++;
    return n;
}

mw_status mw__sample_make(const mw_op *op, int nth, uint64_t seed, mw_arena *arena, mw_sample *ret)
{
    const char *at = op->samples;
    if (nth < 0 || nth >= mw__sample_count(at))
        return MW_FAIL(MW_ERR_ARG, "no sample %d of %d", nth, mw__sample_count(at));
    for (int i = 0; i < nth; i++)
        at = sample_end(at) + 1;
    return read_at(op, op->samples, at, seed, arena, ret);
}

mw_status mw__sample_read(const mw_op *op, const char *text, uint64_t seed, mw_arena *arena,
                          mw_sample *ret)
{
    if (mw__sample_count(text) != 1) return MW_FAIL(MW_ERR_ARG, "expected one sample: %s", text);
    return read_at(op, text, text, seed, arena, ret);
}
