/* Shardy: a list of axes per dim, and the axes over which the value is replicated or unreduced.
 *
 *     #sdy.sharding<@mesh, [{"x"}, {"y", ?}p1], replicated={"z"}, unreduced={"w"}>
 *     <@mesh, [{"x":(1)2}, {}]>    [{"x"}, {}]    <mesh<["x"=2, "y"=4]>, [{"x"}, {}]>
 *
 * The axes of a dim tile it once, by their product. `?` leaves the dim open, `p1` is a priority in
 * propagation: both say nothing of owners; the priority is kept beside the layout. */
#include "mesh/notation.h"

#include "mesh/owner.h"

typedef struct sdy {
    mw__reader *r;
    mw_reading *reading;
    mw__uses uses;
} sdy;

/* ---- axes ---------------------------------------------------------------------------------- */

/* The `:(m)k` after a name. */
static mw_status read_part(sdy *s, mw_cut *cut)
{
    mw__reader *r = s->r;
    const char *at = r->at;
    int64_t major = 0, size = 0, whole = s->reading->mesh->size[cut->axis];
    MW_TRY(mw__reader_expect(r, ':', "':' and a part"));
    MW_TRY(mw__reader_expect(r, '(', "a part of an axis, like :(1)2"));
    MW_TRY(mw__reader_int(r, "the size of the parts before this one", &major));
    MW_TRY(mw__reader_expect(r, ')', "')'"));
    MW_TRY(mw__reader_int(r, "the size of this part", &size));
    if (major < 1 || size < 1 || major > whole || size > whole || whole % (major * size) != 0)
        return mw__reader_fail(
            r, at, MW_ERR_PARSE, "part (%lld)%lld does not fit axis '%s' of size %lld",
            (long long)major, (long long)size, s->reading->mesh->name[cut->axis], (long long)whole);
    cut->major = (int32_t)major;
    cut->size = (int32_t)size;
    return MW_OK;
}

static mw_status read_axis(sdy *s, mw_cut *ret)
{
    char name[MW_AXIS_NAME + 1];
    const mw_mesh *mesh = s->reading->mesh;
    int axis = 0;
    mw__reader_space(s->r);
    const char *at = s->r->at;
    MW_TRY(mw__reader_name(s->r, "an axis, like \"x\"", MW_AXIS_NAME, name));
    MW_TRY(mw__reader_axis(s->r, mesh, at, name, &axis));
    mw_cut cut = mw__cut_make(axis, false, 1, mesh->size[axis]);
    if (mw__reader_peek(s->r) == ':') MW_TRY(read_part(s, &cut));
    MW_TRY(mw__uses_add(&s->uses, s->r, mesh, at, cut));
    *ret = cut;
    return MW_OK;
}

/* ---- dims ---------------------------------------------------------------------------------- */

static mw_status read_priority(sdy *s, int d)
{
    int64_t priority = 0;
    if (s->r->at[0] != 'p' || s->r->at[1] < '0' || s->r->at[1] > '9') return MW_OK;
    s->r->at++;
    MW_TRY(mw__reader_int(s->r, "a priority", &priority));
    s->reading->priority[d] = (int)MW_MIN(priority, INT32_MAX);
    mw__reading_note(s->reading, "priority %d of dim %d stands beside the layout, not in it",
                     s->reading->priority[d], d);
    return MW_OK;
}

static mw_status read_dim(sdy *s, int d)
{
    mw_reading *reading = s->reading;
    mw__tile tile = {0};
    bool open = false;
    const char *start = s->r->at;
    MW_TRY(mw__reader_expect(s->r, '{', "'{' and the axes of a dim"));
    while (!mw__reader_take(s->r, '}')) {
        mw_cut cut;
        const char *at = s->r->at;
        if (open) return mw__reader_fail(s->r, at, MW_ERR_PARSE, "expected '}' after '?'");
        if (mw__reader_take(s->r, '?')) {
            open = true;
            continue;
        }
        MW_TRY(read_axis(s, &cut));
        MW_TRY(mw__tile_add(&tile, s->r, at, cut));
        if (mw__reader_peek(s->r) != '}')
            MW_TRY(mw__reader_expect(s->r, ',', "',' or '}' between axes"));
    }
    if (d >= reading->ndim)
        return mw__reader_fail(s->r, start, MW_ERR_SHAPE, "more dims than the %d of the shape",
                               reading->ndim);
    reading->layout.dim[d] = mw__tile_dim(reading->shape[d], &tile, open);
    return read_priority(s, d);
}

static mw_status read_dims(sdy *s)
{
    int n = 0;
    mw__reader_space(s->r);
    const char *start = s->r->at;
    MW_TRY(mw__reader_expect(s->r, '[', "'[' and the dims"));
    if (!mw__reader_take(s->r, ']')) {
        do {
            mw__reader_space(s->r);
            MW_TRY(read_dim(s, n++));
        } while (mw__reader_take(s->r, ','));
        MW_TRY(mw__reader_expect(s->r, ']', "',' or ']' between dims"));
    }
    if (n != s->reading->ndim)
        return mw__reader_fail(s->r, start, MW_ERR_SHAPE, "%d dims, but the shape has %d", n,
                               s->reading->ndim);
    return MW_OK;
}

/* ---- the rest ------------------------------------------------------------------------------ */

static mw_status read_axes(sdy *s, bool partial, int *ret_count)
{
    MW_TRY(mw__reader_expect(s->r, '=', "'='"));
    MW_TRY(mw__reader_expect(s->r, '{', "'{' and axes"));
    while (!mw__reader_take(s->r, '}')) {
        mw_cut cut;
        mw__reader_space(s->r);
        const char *at = s->r->at;
        MW_TRY(read_axis(s, &cut));
        if (partial) MW_TRY(mw__reading_add_partial(s->reading, s->r, at, MW_REDUCE_SUM, cut));
        ++*ret_count;
        if (mw__reader_peek(s->r) != '}')
            MW_TRY(mw__reader_expect(s->r, ',', "',' or '}' between axes"));
    }
    return MW_OK;
}

static mw_status read_kind(sdy *s)
{
    MW_TRY(mw__reader_expect(s->r, '=', "'='"));
    mw__reader_space(s->r);
    const char *at = s->r->at;
    int n = 0;
    while (at[n] >= 'a' && at[n] <= 'z')
        n++;
    mw_reduce kind = mw__reduce_read(at, n);
    if (kind != MW_REDUCE_SUM && kind != MW_REDUCE_MAX && kind != MW_REDUCE_MIN)
        return mw__reader_fail(s->r, at, MW_ERR_PARSE, "expected sum, max or min");
    s->r->at += n;
    mw_layout *l = &s->reading->layout;
    for (int p = 0; p < l->npartial; p++)
        l->partial[p].kind = (uint16_t)kind;
    return MW_OK;
}

static mw_status read_sets(sdy *s)
{
    while (mw__reader_take(s->r, ',')) {
        int ignored = 0, replicated = 0;
        if (mw__reader_word(s->r, "replicated")) {
            MW_TRY(read_axes(s, false, &replicated));
            if (replicated)
                mw__reading_note(s->reading, "replicated={...} keeps propagation from using these "
                                             "axes; the owners are the same without it");
        } else if (mw__reader_word(s->r, "unreduced")) {
            MW_TRY(read_axes(s, true, &ignored));
        } else if (mw__reader_word(s->r, "reduction_op") ||
                   mw__reader_word(s->r, "unreduced_kind")) {
            MW_TRY(read_kind(s));
        } else {
            mw__reader_space(s->r);
            return mw__reader_fail(s->r, s->r->at, MW_ERR_PARSE,
                                   "expected replicated={...} or unreduced={...}");
        }
    }
    return MW_OK;
}

/* ["x"=2, "y"=4], device_ids=[...]: as the text of a mesh. */
static mw_status read_inline(mw__reader *r, mw_str *to)
{
    char name[MW_AXIS_NAME + 1];
    int64_t number = 0;
    MW_TRY(mw__reader_expect(r, '<', "'<' and the axes of a mesh"));
    MW_TRY(mw__reader_expect(r, '[', "'[' and the axes of a mesh"));
    for (const char *before = ""; !mw__reader_take(r, ']'); before = ",") {
        if (*before) MW_TRY(mw__reader_expect(r, ',', "',' or ']' between axes"));
        MW_TRY(mw__reader_name(r, "an axis, like \"x\"=2", MW_AXIS_NAME, name));
        MW_TRY(mw__reader_expect(r, '=', "'=' and the size of the axis"));
        MW_TRY(mw__reader_int(r, "the size of the axis", &number));
        mw__str_printf(to, "%s\"%s\"=%lld", before, name, (long long)number);
    }
    if (mw__reader_take(r, ',')) {
        if (!mw__reader_word(r, "device_ids"))
            return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected device_ids=[...]");
        MW_TRY(mw__reader_expect(r, '=', "'='"));
        MW_TRY(mw__reader_expect(r, '[', "'[' and the ids"));
        mw__str_puts(to, " ids=");
        for (char before = '['; before == '[' || mw__reader_take(r, ','); before = ',') {
            MW_TRY(mw__reader_int(r, "a device", &number));
            mw__str_printf(to, "%c%lld", before, (long long)number);
        }
        mw__str_putc(to, ']');
        MW_TRY(mw__reader_expect(r, ']', "',' or ']' between ids"));
    }
    return mw__reader_expect(r, '>', "'>' after the mesh");
}

/* @mesh, or a mesh in full (its text into `to`). */
static mw_status read_mesh(mw__reader *r, mw_str *to)
{
    if (!mw__reader_take(r, '@')) {
        (void)mw__reader_take(r, '#');
        if (mw__reader_word(r, "mesh") || mw__reader_word(r, "sdy.mesh")) return read_inline(r, to);
        mw__reader_space(r);
        return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected @mesh or mesh<[...]>");
    }
    char name[64];
    return mw__reader_name(r, "the name of a mesh", (int)sizeof name - 1, name);
}

/* The mesh that the text states must be the one that it is read on. */
static mw_status check_mesh(sdy *s, const char *at, const mw_str *text)
{
    mw_mesh *mesh = NULL;
    char wanted[200];
    MW_TRY(mw__str_status(text));
    if (!text->length) return MW_OK;
    MW_TRY(mw_mesh_parse(text->at, &mesh));
    bool same = mw_mesh_same(mesh, s->reading->mesh);
    mw_mesh_unref(mesh);
    if (same) return MW_OK;
    (void)mw_mesh_print(s->reading->mesh, wanted, (int)sizeof wanted);
    return mw__reader_fail(s->r, at, MW_ERR_ARG, "this mesh is %.200s, the mesh given is %s",
                           text->at, wanted);
}

static mw_status read_long(sdy *s)
{
    mw_str text = {0};
    mw_status status = MW_OK;
    const char *at = s->r->at;
    MW_TRY_GOTO(read_mesh(s->r, &text), done);
    MW_TRY_GOTO(check_mesh(s, at, &text), done);
    MW_TRY_GOTO(mw__reader_expect(s->r, ',', "',' and the dims"), done);
    MW_TRY_GOTO(read_dims(s), done);
    MW_TRY_GOTO(read_sets(s), done);
    MW_TRY_GOTO(mw__reader_expect(s->r, '>', "'>' at the end"), done);
done:
    mw__str_done(&text);
    return status;
}

/* One sharding of the list of an op's values. */
static mw_status read_per_value(sdy *s)
{
    MW_TRY(mw__reader_expect(s->r, '<', "'<'"));
    MW_TRY(mw__reader_expect(s->r, '[', "'[' and a sharding for each value"));
    MW_TRY(mw__reader_expect(s->r, '<', "'<' and a sharding"));
    MW_TRY(read_long(s));
    if (mw__reader_peek(s->r) == ',') {
        mw_status status = mw__reader_fail(s->r, s->r->at, MW_ERR_UNSUPPORTED,
                                           "shardings of several values: give one of them");
        return status;
    }
    MW_TRY(mw__reader_expect(s->r, ']', "']'"));
    return mw__reader_expect(s->r, '>', "'>'");
}

static bool take_prefix(mw__reader *r, const char *word)
{
    mw__reader after = *r;
    (void)mw__reader_take(&after, '#');
    if (!mw__reader_word(&after, word)) return false;
    *r = after;
    return true;
}

mw_status mw__sdy_read(mw__reader *r, mw_reading *reading)
{
    sdy s = {.r = r, .reading = reading};
    if (take_prefix(r, "sdy.sharding_per_value")) return read_per_value(&s);
    bool prefix = take_prefix(r, "sdy.sharding");
    if (prefix || mw__reader_peek(r) == '<') {
        MW_TRY(mw__reader_expect(r, '<', "'<' and the sharding"));
        return read_long(&s);
    }
    MW_TRY(read_dims(&s));
    return read_sets(&s);
}

mw_status mw_notation_mesh(const char *text, mw_mesh **ret)
{
    mw__reader r = {"Shardy sharding", text, text};
    mw_str mesh = {0};
    mw_status status = MW_OK;
    mw_mesh *found = NULL;
    (void)take_prefix(&r, "sdy.sharding");
    if (mw__reader_take(&r, '<') && mw__reader_peek(&r) != '@' && mw__reader_peek(&r) != '[') {
        MW_TRY_GOTO(read_mesh(&r, &mesh), done);
        MW_TRY_GOTO(mw__str_status(&mesh), done);
        if (mesh.length) MW_TRY_GOTO(mw_mesh_parse(mesh.at, &found), done);
    }
    *ret = found;
done:
    mw__str_done(&mesh);
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void put_axis(const mw_mesh *mesh, int axis, int32_t major, int32_t size, mw_str *to)
{
    mw__str_printf(to, "\"%s\"", mesh->name[axis]);
    if (size != mesh->size[axis]) mw__str_printf(to, ":(%d)%d", major, size);
}

static void put_dim(const mw_mesh *mesh, const mw__tile *tile, bool open, int priority, mw_str *to)
{
    mw__str_putc(to, '{');
    for (int i = 0; i < tile->n; i++) {
        if (i) mw__str_puts(to, ", ");
        put_axis(mesh, tile->part[i].axis, tile->part[i].major, tile->part[i].size, to);
    }
    if (open) mw__str_puts(to, tile->n ? ", ?" : "?");
    mw__str_putc(to, '}');
    if (priority >= 0) mw__str_printf(to, "p%d", priority);
}

void mw__sdy_print(const mw_mesh *mesh, const mw_layout *layout, const int *priority, mw_str *to,
                   mw_str *why)
{
    mw__str_puts(to, "<@mesh, [");
    for (int d = 0; d < layout->ndim; d++) {
        mw__tile tile;
        if (!mw__tile_of(mesh, &layout->dim[d], false, &tile)) {
            mw__tile_why(mesh, d, &layout->dim[d], false, "Shardy", why);
            return;
        }
        if (d) mw__str_puts(to, ", ");
        put_dim(mesh, &tile, layout->dim[d].open, priority ? priority[d] : -1, to);
    }
    mw__str_putc(to, ']');
    for (int p = 0; p < layout->npartial; p++) {
        const mw_partial *part = &layout->partial[p];
        if (part->kind != MW_REDUCE_SUM) {
            mw__str_printf(why, "Shardy's unreduced is a sum, not %s",
                           mw__reduce_name((mw_reduce)part->kind));
            return;
        }
        mw__str_puts(to, p ? ", " : ", unreduced={");
        put_axis(mesh, part->axis, part->major, part->size, to);
    }
    mw__str_puts(to, layout->npartial ? "}>" : ">");
}
