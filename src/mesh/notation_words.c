/* What the readers of foreign notations share: words, axes by name, and that no axis stands twice.
 */
#include "mesh/notation.h"

#include "mesh/owner.h"
#include <stdio.h>

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool mw__reader_word(mw__reader *r, const char *word)
{
    mw__reader_space(r);
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0) return false;
    if (in_word(word[n - 1]) && in_word(r->at[n])) return false;
    r->at += n;
    return true;
}

mw_status mw__reader_expect(mw__reader *r, char c, const char *of)
{
    if (mw__reader_take(r, c)) return MW_OK;
    if (!*r->at) return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected %s, found the end", of);
    return mw__reader_fail(r, r->at, MW_ERR_PARSE, "expected %s", of);
}

mw_status mw__reader_axis(const mw__reader *r, const mw_mesh *mesh, const char *at,
                          const char *name, int *ret)
{
    int axis = mw_mesh_axis_find(mesh, name, (int)strlen(name));
    if (axis >= 0) {
        *ret = axis;
        return MW_OK;
    }
    const char *names[MW_MESH_AXES] = {0};
    char text[160];
    for (int a = 0; a < mesh->naxis; a++)
        names[a] = mesh->name[a];
    (void)mw_mesh_print(mesh, text, (int)sizeof text);
    mw_status status = mw__reader_fail(r, at, MW_ERR_PARSE, "the mesh has no axis '%s'", name);
    const char *nearest = mw__nearest(name, names, mesh->naxis);
    mw__error_hint("%s%s%sthe mesh is %s", nearest ? "did you mean '" : "", nearest ? nearest : "",
                   nearest ? "'? " : "", text);
    return status;
}

mw_status mw__uses_add(mw__uses *uses, const mw__reader *r, const mw_mesh *mesh, const char *at,
                       mw_cut cut)
{
    for (int i = 0; i < uses->n; i++) {
        const mw_cut *other = &uses->cut[i];
        if (other->axis != cut.axis ||
            mw__parts_apart(other->major, other->size, cut.major, cut.size))
            continue;
        int whole = mesh->size[cut.axis];
        mw_status status =
            other->size == whole || cut.size == whole
                ? mw__reader_fail(r, at, MW_ERR_PARSE, "axis '%s' is used twice",
                                  mesh->name[cut.axis])
                : mw__reader_fail(r, at, MW_ERR_PARSE,
                                  "parts (%d)%d and (%d)%d of axis '%s' overlap", other->major,
                                  other->size, cut.major, cut.size, mesh->name[cut.axis]);
        mw__error_hint("an axis stands in at most one place of a layout");
        return status;
    }
    if (uses->n == MW_COUNT(uses->cut))
        return mw__reader_fail(r, at, MW_ERR_PARSE, "more than %d axes", MW_COUNT(uses->cut));
    uses->cut[uses->n++] = cut;
    return MW_OK;
}

mw_status mw__reading_add_partial(mw_reading *reading, const mw__reader *r, const char *at,
                                  mw_reduce kind, mw_cut part)
{
    mw_layout *l = &reading->layout;
    if (l->npartial == MW_LAYOUT_PARTIALS)
        return mw__reader_fail(r, at, MW_ERR_PARSE, "a layout has at most %d partial axes",
                               MW_LAYOUT_PARTIALS);
    if (l->npartial && !mw__reduces_mix((mw_reduce)l->partial[0].kind, kind)) {
        mw_status status =
            mw__reader_fail(r, at, MW_ERR_PARSE, "partial %s and partial %s do not commute",
                            mw__reduce_name((mw_reduce)l->partial[0].kind), mw__reduce_name(kind));
        mw__error_hint("reduce one of them first; only sum and avg may stand together");
        return status;
    }
    l->partial[l->npartial++] = (mw_partial){(uint16_t)kind, part.axis, part.major, part.size};
    return MW_OK;
}

mw_reduce mw__reduce_read(const char *name, int length)
{
    static const struct {
        const char *name;
        mw_reduce kind;
    } rows[] = {
#define X(kind, value, text, identity) {text, MW_REDUCE_##kind},
        MW_REDUCE_MAP(X)
#undef X
            {"add", MW_REDUCE_SUM},
        {"product", MW_REDUCE_PROD},
        {"mul", MW_REDUCE_PROD},
        {"mean", MW_REDUCE_AVG},
        {"maximum", MW_REDUCE_MAX},
        {"minimum", MW_REDUCE_MIN},
    };
    for (int i = 0; i < MW_COUNT(rows); i++) {
        const char *a = rows[i].name;
        int n = 0;
        while (n < length && a[n] && (a[n] == name[n] || a[n] - 'a' + 'A' == name[n]))
            n++;
        if (n == length && !a[n]) return rows[i].kind;
    }
    return MW_REDUCE_NONE;
}
