/* mark_sharding called by name: its declarations, which PyTorch/XLA's are among, are tried in turn;
 * device ids, mesh shape, axis names and spec each have their check. */
#include "run/mark_call.h"

#include <meshwise/notation.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const declarations[] = {
#define MARK(text) text,
#include "run/marks.def"
#undef MARK
};

/* "xla::dynamo_mark_sharding", "xla.dynamo_mark_sharding.default", "dynamo_mark_sharding" */
static bool is_named(const mw_schema *schema, const char *name)
{
    char plain[128];
    static const char *const before[] = {"torch.ops."};
    for (int i = 0; i < MW_COUNT(before); i++)
        if (strncmp(name, before[i], strlen(before[i])) == 0) name += strlen(before[i]);
    size_t n = strlen(name);
    if (n > 8 && strcmp(name + n - 8, ".default") == 0) n -= 8;
    if (n >= sizeof plain) return false;
    memcpy(plain, name, n);
    plain[n] = 0;
    if (strcmp(plain, schema->name) == 0) return true;
    size_t space = strlen(schema->space);
    if (strncmp(plain, schema->space, space) != 0) return false;
    const char *rest = plain + space;
    rest += strncmp(rest, "::", 2) == 0 ? 2 : *rest == '.';
    return rest > plain + space && strcmp(rest, schema->name) == 0;
}

bool mw__mark_named(const char *name)
{
    mw_schema schema;
    for (int i = 0; i < MW_COUNT(declarations); i++)
        if (mw__schema_parse(declarations[i], &schema) == MW_OK && is_named(&schema, name))
            return true;
    return false;
}

/* ---- errors -----------------------------------------------------------------------------------
 */

/* The reason with its argument, position, value and the declaration. */
static mw_status refuse(const mw_schema *schema, int pos, const char *value, const char *format,
                        ...) MW_PRINTF(4, 5);
static mw_status refuse(const mw_schema *schema, int pos, const char *value, const char *format,
                        ...)
{
    char why[400];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(why, sizeof why, format, list);
    va_end(list);
    mw_str declaration = {0};
    mw__schema_str(schema, &declaration);
    mw_status status =
        MW_FAIL(MW_ERR_ARG, "%s: argument '%s' (position %d) is %.200s: %s\n  declaration: %s",
                schema->name, schema->arg[pos].name, pos, value, why, mw__str_text(&declaration));
    mw__str_done(&declaration);
    return status;
}

/* ---- literals ---------------------------------------------------------------------------------
 */

enum { MARK_AXES = MW_MESH_AXES };

typedef struct literal {
    int n; /* -1: None */
    int64_t number[MARK_AXES];
    char name[MARK_AXES][MW_AXIS_NAME + 1];
} literal;

static const char *skip(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* `(4, 1, 2)`, `[4, 1, 2]`, `('x', 'y')`, `None`; with `names`, what is quoted. False: neither. */
static bool read_literal(const char *text, bool names, literal *ret)
{
    const char *at = skip(text);
    ret->n = 0;
    if (strncmp(at, "None", 4) == 0) {
        ret->n = -1;
        return *skip(at + 4) == 0;
    }
    if (*at != '(' && *at != '[') return false;
    char close = *at == '(' ? ')' : ']';
    for (at = skip(at + 1); *at && *at != close;) {
        if (ret->n == MARK_AXES) return false;
        if (names) {
            char quote = *at;
            const char *end = quote == '\'' || quote == '"' ? strchr(at + 1, quote) : NULL;
            if (!end || end - at - 1 > MW_AXIS_NAME || end == at + 1) return false;
            memcpy(ret->name[ret->n], at + 1, (size_t)(end - at - 1));
            ret->name[ret->n++][end - at - 1] = 0;
            at = end + 1;
        } else {
            char *end;
            ret->number[ret->n++] = strtoll(at, &end, 10);
            if (end == at) return false;
            at = end;
        }
        at = skip(at);
        if (*at == ',') at = skip(at + 1);
    }
    return *at == close && *skip(at + 1) == 0;
}

/* ---- the arguments ----------------------------------------------------------------------------
 */

typedef struct reader {
    const mw_schema *schema;
    const mw_bound *bound;
    const mw_mesh *launch;
    mw_arena *arena;
    literal shape, names;
    const int64_t *ids;
    int nids;
} reader;

static const mw_arg *arg_named(const reader *r, const char *name, int *ret_pos)
{
    *ret_pos = mw__schema_find(r->schema, name, strlen(name));
    return *ret_pos < 0 ? NULL : &r->bound->arg[*ret_pos];
}

static const char *value_text(const reader *r, const mw_arg *a)
{
    mw_str text = {0};
    mw__arg_str(a, NULL, &text);
    const char *kept = mw__arena_strndup(r->arena, mw__str_text(&text), text.length);
    mw__str_done(&text);
    return kept ? kept : "?";
}

static mw_status read_shape(reader *r)
{
    int pos;
    const mw_arg *a = arg_named(r, "mesh_shape", &pos);
    if (a->kind == MW_ARG_STR) {
        if (!read_literal(a->s, false, &r->shape) || r->shape.n < 0)
            return refuse(r->schema, pos, value_text(r, a),
                          "expected a tuple of sizes, as '(2, 4)'");
    } else {
        if (a->count > MARK_AXES)
            return refuse(r->schema, pos, value_text(r, a), "at most %d axes", MARK_AXES);
        r->shape.n = a->count;
        for (int i = 0; i < a->count; i++)
            r->shape.number[i] = a->ints[i];
    }
    for (int i = 0; i < r->shape.n; i++)
        if (r->shape.number[i] < 1)
            return refuse(r->schema, pos, value_text(r, a), "a mesh axis has at least one rank");
    if (r->shape.n == 0) return refuse(r->schema, pos, value_text(r, a), "a mesh has an axis");
    return MW_OK;
}

static mw_status read_names(reader *r)
{
    int pos;
    const mw_arg *a = arg_named(r, "axis_names", &pos);
    r->names.n = -1;
    if (a->kind == MW_ARG_STR && !read_literal(a->s, true, &r->names))
        return refuse(r->schema, pos, value_text(r, a),
                      "expected None or a tuple of names, as \"('x', 'y')\"");
    if (a->kind == MW_ARG_STRS) {
        r->names.n = MW_MIN(a->count, MARK_AXES);
        for (int i = 0; i < r->names.n; i++)
            (void)snprintf(r->names.name[i], sizeof r->names.name[i], "%s", a->strs[i]);
    }
    if (r->names.n < 0) return MW_OK;
    if (r->names.n != r->shape.n)
        return refuse(r->schema, pos, value_text(r, a), "%d names for the %d axes of the mesh",
                      r->names.n, r->shape.n);
    for (int i = 0; i < r->names.n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(r->names.name[i], r->names.name[k]) == 0)
                return refuse(r->schema, pos, value_text(r, a), "the name '%s' stands twice",
                              r->names.name[i]);
    return MW_OK;
}

/* The ids are the mesh's ranks, each once, and all of the launch's. */
static mw_status read_ids(reader *r)
{
    int pos;
    const mw_arg *a = arg_named(r, "device_ids", &pos);
    int64_t ranks = 1;
    for (int i = 0; i < r->shape.n; i++)
        if (mw__mul_size(ranks, r->shape.number[i], &ranks) != MW_OK) return mw_last_error()->code;
    r->ids = a->ints;
    r->nids = a->count;
    if (a->count != ranks)
        return refuse(r->schema, pos, value_text(r, a), "%d device id%s for a mesh of %lld",
                      a->count, a->count == 1 ? "" : "s", (long long)ranks);
    if (a->count != r->launch->nrank)
        return refuse(r->schema, pos, value_text(r, a),
                      "%d device ids, and the program runs on %d: a mark names all of them",
                      a->count, r->launch->nrank);
    bool *seen = mw__arena_zalloc(r->arena, (size_t)a->count + 1);
    if (!seen) return MW_NOMEM();
    for (int i = 0; i < a->count; i++) {
        if (a->ints[i] < 0 || a->ints[i] >= a->count)
            return refuse(r->schema, pos, value_text(r, a), "id %lld is not one of 0 to %d",
                          (long long)a->ints[i], a->count - 1);
        if (seen[a->ints[i]])
            return refuse(r->schema, pos, value_text(r, a), "id %lld stands twice",
                          (long long)a->ints[i]);
        seen[a->ints[i]] = true;
    }
    return MW_OK;
}

static mw_status make_mesh(const reader *r, mw_mesh **ret)
{
    mw_str text = {0};
    bool in_order = true;
    for (int i = 0; i < r->shape.n; i++) {
        if (r->names.n < 0)
            mw__str_printf(&text, "%sd%d=%lld", i ? "," : "", i, (long long)r->shape.number[i]);
        else
            mw__str_printf(&text, "%s\"%s\"=%lld", i ? "," : "", r->names.name[i],
                           (long long)r->shape.number[i]);
    }
    for (int i = 0; i < r->nids; i++)
        in_order = in_order && r->ids[i] == i;
    for (int i = 0; i < r->nids && !in_order; i++)
        mw__str_printf(&text, "%s%lld", i ? "," : " ids=[", (long long)r->ids[i]);
    if (!in_order) mw__str_putc(&text, ']');
    mw_mesh *mesh = NULL;
    mw_status status = mw__str_status(&text);
    if (status == MW_OK) status = mw_mesh_parse(mw__str_text(&text), &mesh);
    if (status == MW_OK) status = mw__mesh_intern(mesh, ret);
    mw_mesh_unref(mesh);
    mw__str_done(&text);
    return status;
}

/* One entry a dim: what PyTorch/XLA asks for, which has no None's left out. */
static int spec_entries(const char *text)
{
    int n = 0, depth = 0;
    bool any = false;
    for (const char *at = skip(text); *at; at++) {
        if (*at == '(' || *at == '[') {
            if (depth++) any = true;
        } else if (*at == ')' || *at == ']') {
            depth--;
            if (depth == 0 && any) n++;
        } else if (*at == ',' && depth == 1) {
            if (any) n++;
            any = false;
        } else if (*at != ' ') {
            any = true;
        }
    }
    return n;
}

static mw_status read_spec(const reader *r, const mw_mesh *mesh, const mw_meta *meta,
                           mw_layout *ret)
{
    int pos;
    const mw_arg *a = arg_named(r, "partition_spec", &pos);
    int n = spec_entries(a->s);
    if (n != meta->ndim)
        return refuse(r->schema, pos, value_text(r, a), "%d entr%s for a tensor of %d dims", n,
                      n == 1 ? "y" : "ies", meta->ndim);
    mw_reading *reading;
    mw_status status = mw_notation_read(mesh, meta->ndim ? a->s : "P()", meta->ndim, meta->shape,
                                        meta->dtype, &reading);
    if (status != MW_OK) {
        char why[400];
        (void)snprintf(why, sizeof why, "%.390s", mw_last_error()->says);
        return refuse(r->schema, pos, value_text(r, a), "%.380s", why);
    }
    const mw_layout *layout = mw_reading_layout(reading);
    if (layout) *ret = *layout;
    if (!layout)
        status = refuse(r->schema, pos, value_text(r, a),
                        "no layout on this mesh has these owners: %s", mw_reading_why(reading));
    mw_reading_free(reading);
    return status;
}

/* {'device_ids': [0, 1], 'mesh_shape': (2,), 'axis_names': ('x',)}: a mesh as its text. */
static mw_status read_mesh_text(reader *r, const char *text, int pos)
{
    static const char *const keys[] = {"'device_ids':", "'mesh_shape':", "'axis_names':"};
    const char *at[3];
    char piece[3][512];
    for (int i = 0; i < 3; i++) {
        at[i] = strstr(text, keys[i]);
        if (!at[i] && i < 2)
            return refuse(r->schema, pos, text,
                          "expected {'device_ids': [...], 'mesh_shape': "
                          "(...), 'axis_names': (...)}");
        const char *from = at[i] ? skip(at[i] + strlen(keys[i])) : "None";
        size_t n = *from == '('   ? strcspn(from, ")") + 1
                   : *from == '[' ? strcspn(from, "]") + 1
                                  : strcspn(from, ",}");
        if (n >= sizeof piece[i]) return refuse(r->schema, pos, text, "too long");
        memcpy(piece[i], from, n);
        piece[i][n] = 0;
    }
    if (!read_literal(piece[1], false, &r->shape) || r->shape.n < 1)
        return refuse(r->schema, pos, text, "its mesh_shape is no tuple of sizes");
    if (!read_literal(piece[2], true, &r->names))
        return refuse(r->schema, pos, text, "its axis_names are no tuple of names");
    int cap = 0, n = 0;
    int64_t *ids = NULL;
    for (const char *c = piece[0] + 1; *skip(c) && *skip(c) != ']';) {
        char *end;
        if (n == cap) {
            int64_t *more = mw__arena_alloc(r->arena, (size_t)(2 * cap + 16) * sizeof *more);
            if (!more) return MW_NOMEM();
            if (n) memcpy(more, ids, (size_t)n * sizeof *ids);
            ids = more, cap = 2 * cap + 16;
        }
        ids[n++] = strtoll(c, &end, 10);
        if (end == c) return refuse(r->schema, pos, text, "its device_ids are no list of numbers");
        c = skip(end);
        if (*c == ',') c++;
    }
    r->ids = ids;
    r->nids = n;
    int64_t ranks = 1;
    for (int i = 0; i < r->shape.n; i++)
        ranks *= r->shape.number[i];
    if (n != ranks || n != r->launch->nrank)
        return refuse(r->schema, pos, text, "%d device ids for a mesh of %lld, on %d ranks", n,
                      (long long)ranks, r->launch->nrank);
    if (r->names.n >= 0 && r->names.n != r->shape.n)
        return refuse(r->schema, pos, text, "%d names for the %d axes of the mesh", r->names.n,
                      r->shape.n);
    return MW_OK;
}

static mw_status read_bound(reader *r, const mw_meta *tensors, mw_mark_call *ret)
{
    int pos;
    *ret = (mw_mark_call){.tensor = r->bound->operand[r->bound->arg[0].first]};
    const mw_meta *meta = &tensors[ret->tensor];
    const mw_arg *layout = arg_named(r, "layout", &pos);
    if (layout) {
        ret->text = layout->s;
        return MW_OK;
    }
    const mw_arg *mesh = arg_named(r, "mesh", &pos);
    if (mesh) {
        MW_TRY(read_mesh_text(r, mesh->s, pos));
    } else {
        MW_TRY(read_shape(r));
        MW_TRY(read_names(r));
        MW_TRY(read_ids(r));
    }
    MW_TRY(make_mesh(r, &ret->mesh));
    return read_spec(r, ret->mesh, meta, &ret->layout);
}

/* ---- the call ---------------------------------------------------------------------------------
 */

/* Tensors where ints are wanted become their values, or what they are called. */
static mw_status replace_known(const mw_schema *schema, mw_given *given, int n, mw_known_ints known,
                               void *user, mw_arena *arena)
{
    for (int i = 0; i < n; i++) {
        mw_arg *value = &given[i].value;
        int at = given[i].name ? mw__schema_find(schema, given[i].name, strlen(given[i].name)) : i;
        if (value->kind != MW_ARG_TENSOR || at < 0 || at >= schema->narg || !known) continue;
        const mw_type *type = &schema->arg[at].type;
        if (!type->list || (type->base != MW_TYPE_INT && type->base != MW_TYPE_SYMINT)) continue;
        const int64_t *ints;
        const char *text = "a tensor";
        int count;
        MW_TRY(known(user, value->first, arena, &ints, &count, &text));
        *value = count >= 0 ? (mw_arg){.kind = MW_ARG_INTS, .count = count, .ints = ints}
                            : (mw_arg){.kind = MW_ARG_SYMBOL, .s = text};
    }
    return MW_OK;
}

mw_status mw__mark_read(const char *name, const mw_given *given, int ngiven, const mw_meta *tensors,
                        const mw_mesh *launch, mw_known_ints known, void *user, mw_arena *arena,
                        mw_mark_call *ret)
{
    mw_error first = {0};
    mw_status status = MW_ERR_ARG;
    for (int i = 0; i < MW_COUNT(declarations); i++) {
        mw_schema *schema = mw__arena_alloc(arena, sizeof *schema);
        mw_bound *bound = mw__arena_zalloc(arena, sizeof *bound);
        mw_given *own = mw__arena_alloc(arena, (size_t)(ngiven + 1) * sizeof *own);
        if (!schema || !bound || !own) return MW_NOMEM();
        MW_TRY(mw__schema_parse(declarations[i], schema));
        if (!is_named(schema, name)) continue;
        memcpy(own, given, (size_t)ngiven * sizeof *own);
        MW_TRY(replace_known(schema, own, ngiven, known, user, arena));
        status = mw__args_bind(schema, own, ngiven, tensors, arena, bound);
        if (status == MW_OK) {
            reader r = {.schema = schema, .bound = bound, .launch = launch, .arena = arena};
            return read_bound(&r, tensors, ret);
        }
        if (status != MW_ERR_ARG) return status;
        if (first.code == MW_OK) first = *mw_last_error();
    }
    if (first.code != MW_OK) {
        mw__ctx_get()->error = first;
        if (strstr(first.says, "known only at run time"))
            mw__error_hint(
                "device ids must be constants when a program is captured; build the mesh "
                "once, outside, and pass it");
    }
    return status;
}
