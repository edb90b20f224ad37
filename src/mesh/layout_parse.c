/* Layout text, read: `f32[2·8@y, 16@x,(z,w)]{sum:v}`.
 *
 *     layout  = [dtype] "[" [dim {"," dim}] "]" ["{" partial {"," partial} "}"]
 *     dim     = factor {("·" | "*") factor} ["?"]
 *     factor  = size ["@" cut {"," cut}]
 *     cut     = axis | "(" axis {"," axis} ")" | ":" chunks
 *     axis    = name [":" "(" major ")" size]
 *     partial = kind ":" axis {"," axis}
 *
 * One pass: after a comma a digit starts a dim, anything else goes on with the cuts. Every axis (or
 * part of one) is written down as it is used, so that a second use is an error under its own caret.
 * The result is canonical: the spelling is forgotten. */
#include "mesh/mesh.h"

#include "mesh/owner.h"
#include "mesh/reader.h"
#include <stdio.h>

enum { MOST_PARTS = MW_LAYOUT_DIMS * MW_DIM_CUTS + MW_LAYOUT_PARTIALS };

typedef struct parser {
    mw__reader r;
    const mw_mesh *mesh;
    mw_layout *layout;
    mw_cut used[MOST_PARTS];
    int nused;
} parser;

/* ---- axes ---------------------------------------------------------------------------------- */

static mw_status no_such_axis(parser *p, const char *at, const char *name)
{
    const char *names[MW_MESH_AXES] = {0};
    char mesh[160];
    for (int a = 0; a < p->mesh->naxis; a++)
        names[a] = p->mesh->name[a];
    (void)mw_mesh_print(p->mesh, mesh, (int)sizeof mesh);
    mw_status status = mw__reader_fail(&p->r, at, MW_ERR_PARSE, "the mesh has no axis '%s'", name);
    const char *nearest = mw__nearest(name, names, p->mesh->naxis);
    if (nearest)
        mw__error_hint("did you mean '%s'? The mesh is %s", nearest, mesh);
    else
        mw__error_hint("the mesh is %s", mesh);
    return status;
}

/* The `:(m)k` after an axis name. */
static mw_status read_part(parser *p, mw_cut *cut)
{
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    int64_t major = 0, size = 0, whole = p->mesh->size[cut->axis];
    if (!mw__reader_take(&p->r, ':') || !mw__reader_take(&p->r, '('))
        return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "expected a part of an axis, like :(1)2");
    MW_TRY(mw__reader_int(&p->r, "the size of the parts before this one", &major));
    if (!mw__reader_take(&p->r, ')'))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected ')'");
    MW_TRY(mw__reader_int(&p->r, "the size of this part", &size));
    if (major < 1 || size < 1 || major > whole || size > whole || whole % (major * size) != 0) {
        mw_status status = mw__reader_fail(
            &p->r, at, MW_ERR_PARSE, "part (%lld)%lld does not fit axis '%s' of size %lld",
            (long long)major, (long long)size, p->mesh->name[cut->axis], (long long)whole);
        mw__error_hint("x:(m)k is the part of size k after a major part of size m: m times k must "
                       "divide the axis");
        return status;
    }
    cut->major = (int32_t)major;
    cut->size = (int32_t)size;
    return MW_OK;
}

static mw_status use_part(parser *p, const char *at, const mw_cut *cut)
{
    for (int i = 0; i < p->nused; i++) {
        const mw_cut *other = &p->used[i];
        if (other->axis != cut->axis ||
            mw__parts_apart(other->major, other->size, cut->major, cut->size))
            continue;
        const char *name = p->mesh->name[cut->axis];
        int whole = p->mesh->size[cut->axis];
        mw_status status =
            other->size == whole || cut->size == whole
                ? mw__reader_fail(&p->r, at, MW_ERR_PARSE, "axis '%s' is used twice", name)
                : mw__reader_fail(&p->r, at, MW_ERR_PARSE,
                                  "parts (%d)%d and (%d)%d of axis '%s' overlap", other->major,
                                  other->size, cut->major, cut->size, name);
        mw__error_hint("an axis stands in at most one place of a layout");
        return status;
    }
    if (p->nused == MOST_PARTS)
        return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "more than %d axes", MOST_PARTS);
    p->used[p->nused++] = *cut;
    return MW_OK;
}

/* An axis or a part of one; `joint` with the cut before. */
static mw_status read_axis(parser *p, bool joint, mw_cut *ret)
{
    char name[MW_AXIS_NAME + 1];
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    MW_TRY(mw__reader_name(&p->r, "an axis", MW_AXIS_NAME, name));
    int axis = mw_mesh_axis_find(p->mesh, name, (int)strlen(name));
    if (axis < 0) return no_such_axis(p, at, name);
    mw_cut cut = mw__cut_make(axis, joint, 1, p->mesh->size[axis]);
    if (mw__reader_peek(&p->r) == ':') MW_TRY(read_part(p, &cut));
    MW_TRY(use_part(p, at, &cut));
    *ret = cut;
    return MW_OK;
}

/* ---- dims ---------------------------------------------------------------------------------- */

static mw_status add_cut(parser *p, const char *at, mw_dim *dim, mw_cut cut)
{
    if (dim->ncut == MW_DIM_CUTS)
        return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "a dim has at most %d cuts", MW_DIM_CUTS);
    dim->cut[dim->ncut++] = cut;
    dim->cuts[dim->nfactor - 1]++;
    return MW_OK;
}

static mw_status read_cut(parser *p, mw_dim *dim)
{
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    mw_cut cut;
    if (mw__reader_take(&p->r, ':')) {
        int64_t chunks = 0;
        MW_TRY(mw__reader_int(&p->r, "a number of local chunks", &chunks));
        if (chunks < 1 || chunks > INT32_MAX)
            return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "a local cut makes 1 to %d chunks",
                                   INT32_MAX);
        return add_cut(p, at, dim, mw__cut_make(MW_CUT_LOCAL, false, 1, (int32_t)chunks));
    }
    if (!mw__reader_take(&p->r, '(')) {
        MW_TRY(read_axis(p, false, &cut));
        return add_cut(p, at, dim, cut);
    }
    bool joint = false;
    do {
        mw__reader_space(&p->r);
        at = p->r.at;
        MW_TRY(read_axis(p, joint, &cut));
        MW_TRY(add_cut(p, at, dim, cut));
        joint = true;
    } while (mw__reader_take(&p->r, ','));
    if (!mw__reader_take(&p->r, ')'))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected ',' or ')' between axes");
    return MW_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether the comma that is next goes on with cuts: what follows it starts no dim. */
static bool cut_follows(mw__reader *r)
{
    if (mw__reader_peek(r) != ',') return false;
    mw__reader after = *r;
    after.at++;
    char c = mw__reader_peek(&after);
    return c && !is_digit(c) && c != '-';
}

static mw_status read_factor(parser *p, mw_dim *dim)
{
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    int64_t size = 0, all = mw__dim_size(dim);
    MW_TRY(mw__reader_int(&p->r, "a size", &size));
    if (dim->nfactor == MW_DIM_FACTORS)
        return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "a dim has at most %d factors",
                               MW_DIM_FACTORS);
    if (__builtin_mul_overflow(all, size, &all))
        return mw__reader_fail(&p->r, at, MW_ERR_SHAPE,
                               "the size of the dim does not fit in 64 bits");
    dim->factor[dim->nfactor++] = size;
    if (!mw__reader_take(&p->r, '@')) return MW_OK;
    MW_TRY(read_cut(p, dim));
    while (cut_follows(&p->r)) {
        (void)mw__reader_take(&p->r, ',');
        MW_TRY(read_cut(p, dim));
    }
    return MW_OK;
}

/* `·`, `*`, or the dot operator of other keyboards. */
static bool take_dot(mw__reader *r)
{
    if (mw__reader_take(r, '*')) return true;
    if (strncmp(r->at, "\xc2\xb7", 2) == 0)
        r->at += 2;
    else if (strncmp(r->at, "\xe2\x8b\x85", 3) == 0)
        r->at += 3;
    else
        return false;
    return true;
}

static mw_status read_dim(parser *p)
{
    mw_layout *layout = p->layout;
    mw__reader_space(&p->r);
    if (layout->ndim == MW_LAYOUT_DIMS)
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "a tensor has at most %d dims",
                               MW_LAYOUT_DIMS);
    mw_dim *dim = &layout->dim[layout->ndim++];
    do
        MW_TRY(read_factor(p, dim));
    while (take_dot(&p->r));
    dim->open = mw__reader_take(&p->r, '?');
    return MW_OK;
}

static mw_status read_dims(parser *p)
{
    if (!mw__reader_take(&p->r, '['))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected '[' and the dims");
    if (mw__reader_take(&p->r, ']')) return MW_OK;
    const char *start = p->r.at;
    do
        MW_TRY(read_dim(p));
    while (mw__reader_take(&p->r, ','));
    if (!mw__reader_take(&p->r, ']'))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected ',' or ']' between dims");
    int64_t count = 1;
    for (int d = 0; d < p->layout->ndim; d++)
        if (__builtin_mul_overflow(count, mw__dim_size(&p->layout->dim[d]), &count))
            return mw__reader_fail(&p->r, start, MW_ERR_SHAPE,
                                   "the number of elements does not fit in 64 bits");
    return MW_OK;
}

/* ---- partials ------------------------------------------------------------------------------ */

static mw_reduce reduce_of(const char *name)
{
    for (int k = MW_REDUCE_NONE + 1; k < MW_REDUCE_END; k++)
        if (strcmp(name, mw__reduce_name((mw_reduce)k)) == 0) return (mw_reduce)k;
    return MW_REDUCE_NONE;
}

static mw_status read_kind(parser *p, mw_reduce *ret)
{
    static const char *const names[] = {
#define X(name, value, text, identity) text,
        MW_REDUCE_MAP(X)
#undef X
    };
    char name[MW_AXIS_NAME + 1];
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    MW_TRY(mw__reader_name(&p->r, "a kind of partial, like sum:x", MW_AXIS_NAME, name));
    mw_reduce kind = reduce_of(name);
    if (kind == MW_REDUCE_NONE) {
        mw_status status =
            mw__reader_fail(&p->r, at, MW_ERR_PARSE, "no kind of partial '%s'", name);
        const char *nearest = mw__nearest(name, names, MW_COUNT(names));
        mw__error_hint("%s%s%skinds are sum, prod, min, max and avg",
                       nearest ? "did you mean " : "", nearest ? nearest : "",
                       nearest ? "? The " : "");
        return status;
    }
    if (!mw__reader_take(&p->r, ':'))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected ':' and the axes");
    const mw_layout *l = p->layout;
    mw_reduce former = l->npartial ? (mw_reduce)l->partial[0].kind : kind;
    if (!mw__reduces_mix(former, kind)) {
        mw_status status =
            mw__reader_fail(&p->r, at, MW_ERR_PARSE, "partial %s and partial %s do not commute",
                            mw__reduce_name(former), name);
        mw__error_hint("reduce one of them first; only sum and avg may stand together");
        return status;
    }
    *ret = kind;
    return MW_OK;
}

/* A kind and a colon are next, not an axis (whose colon has a parenthesis after it). */
static bool kind_follows(const mw__reader *r)
{
    mw__reader look = *r;
    while ((*look.at >= 'a' && *look.at <= 'z') || *look.at == ' ')
        look.at++;
    return mw__reader_take(&look, ':') && mw__reader_peek(&look) != '(';
}

static mw_status read_partial_axis(parser *p, mw_reduce kind)
{
    mw_cut cut;
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    MW_TRY(read_axis(p, false, &cut));
    mw_layout *l = p->layout;
    if (l->npartial == MW_LAYOUT_PARTIALS)
        return mw__reader_fail(&p->r, at, MW_ERR_PARSE, "a layout has at most %d partial axes",
                               MW_LAYOUT_PARTIALS);
    mw_partial *to = &l->partial[l->npartial++];
    to->kind = (uint16_t)kind;
    to->axis = cut.axis;
    to->major = cut.major;
    to->size = cut.size;
    return MW_OK;
}

static mw_status read_partials(parser *p)
{
    mw_reduce kind = MW_REDUCE_NONE;
    do {
        mw__reader_space(&p->r);
        if (kind == MW_REDUCE_NONE || kind_follows(&p->r)) MW_TRY(read_kind(p, &kind));
        MW_TRY(read_partial_axis(p, kind));
    } while (mw__reader_take(&p->r, ','));
    if (!mw__reader_take(&p->r, '}'))
        return mw__reader_fail(&p->r, p->r.at, MW_ERR_PARSE, "expected ',' or '}' after a partial");
    return MW_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static mw_status read_dtype(parser *p)
{
    static const char *const names[] = {
#define X(name, value, bytes, kind, torch, other) #name,
        MW_DTYPE_MAP(X)
#undef X
    };
    mw__reader_space(&p->r);
    const char *at = p->r.at;
    int length = (int)strcspn(at, "[{ \t\r\n");
    if (length == 0) return MW_OK;
    mw_dtype dtype = mw_dtype_read(at, length);
    if (dtype == MW_DTYPE_NONE) {
        char name[32];
        (void)snprintf(name, sizeof name, "%.*s", MW_MIN(length, 30), at);
        mw_status status = mw__reader_fail(&p->r, at, MW_ERR_PARSE, "no dtype '%s'", name);
        const char *nearest = mw__nearest(name, names, MW_COUNT(names));
        if (nearest)
            mw__error_hint("did you mean %s?", nearest);
        else
            mw__error_hint("a layout is written like f32[16@x, 8]");
        return status;
    }
    p->layout->dtype = (uint8_t)dtype;
    p->r.at += length;
    return MW_OK;
}

mw_status mw__layout_read(const mw_mesh *mesh, const char *text, const char **at, mw_layout *ret)
{
    mw_layout layout;
    parser p = {.r = {"layout", text, *at}, .mesh = mesh, .layout = &layout};
    memset(&layout, 0, sizeof layout);
    MW_TRY(read_dtype(&p));
    MW_TRY(read_dims(&p));
    mw__reader end = p.r;
    if (mw__reader_take(&end, '{')) {
        p.r = end;
        MW_TRY(read_partials(&p));
    }
    mw__layout_canonical(mesh, &layout);
    *at = p.r.at;
    *ret = layout;
    return MW_OK;
}

mw_status mw_layout_parse(const mw_mesh *mesh, const char *text, mw_layout *ret)
{
    mw_layout layout;
    mw__reader r = {"layout", text, text};
    MW_TRY(mw__layout_read(mesh, text, &r.at, &layout));
    if (mw__reader_peek(&r)) {
        mw_status status =
            mw__reader_fail(&r, r.at, MW_ERR_PARSE, "expected the end of the layout");
        mw__error_hint("a layout is written like f32[16@x, 8]{sum:y}");
        return status;
    }
    *ret = layout;
    return MW_OK;
}
