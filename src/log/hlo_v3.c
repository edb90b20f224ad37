/* The third spelling of HLO's shardings, which names the axes of a mesh that it states:
 *
 *     {mesh[a=2,b=4], [{a}, {b, ?}, {}], replicated={c}, unreduced={d}, manual={e}}
 *     {mesh[a=4,b=2], device_ids=([2,4]T(1,0)), [{a:(1)2}, {}]}
 *     {mesh[a=2,b=4], replicated}
 *
 * It says what Shardy's says, and is read as that; how many pieces each dim has is counted here. */
#include "log/hlo_text.h"

enum { AXES = 16 };

typedef struct v3_axis {
    const char *name;
    int length;
    int64_t size;
} v3_axis;

typedef struct v3 {
    v3_axis axis[AXES];
    int naxis;
    int64_t devices;
    const char *after; /* the mesh */
    const char *end;   /* the closing brace */
    mw_str *to;        /* Shardy's text, or NULL */
} v3;

static bool read_mesh(v3 *v, const char *at)
{
    v->devices = 1;
    for (at += strlen("mesh["); *at != ']';) {
        at += strspn(at, ", ");
        v3_axis *a = &v->axis[v->naxis];
        if (v->naxis == AXES || !mw__hlo_quoted(&at, &a->name, &a->length) || *at++ != '=' ||
            !mw__hlo_int(&at, &a->size) || a->size < 1 || a->size > MW_MESH_RANKS)
            return false;
        v->devices *= a->size;
        v->naxis++;
        if (v->devices > MW_MESH_RANKS) return false;
    }
    v->after = at + 1;
    return v->naxis > 0;
}

static const v3_axis *axis_of(const v3 *v, const char *name, int length)
{
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].length == length && memcmp(v->axis[i].name, name, (size_t)length) == 0)
            return &v->axis[i];
    return NULL;
}

/* `{a, b:(1)2, ?}p1`: the product of the sizes; 0 where it can't be read. *at moves on. */
static int64_t axes(const v3 *v, const char **at)
{
    const char *p = *at;
    int64_t product = 1;
    bool first = true;
    if (*p++ != '{') return 0;
    if (v->to) mw__str_putc(v->to, '{');
    for (;; first = false) {
        p += strspn(p, ", ");
        if (*p == '}') break;
        if (v->to && !first) mw__str_puts(v->to, ", ");
        if (*p == '?') {
            if (v->to) mw__str_putc(v->to, '?');
            p++;
            continue;
        }
        const char *name;
        int length;
        int64_t pre, size;
        if (!mw__hlo_quoted(&p, &name, &length)) return 0;
        const v3_axis *a = axis_of(v, name, length);
        if (!a) return 0;
        size = a->size;
        if (v->to) mw__str_printf(v->to, "\"%.*s\"", length, name);
        if (strncmp(p, ":(", 2) == 0) {
            p += 2;
            if (!mw__hlo_int(&p, &pre) || *p++ != ')' || !mw__hlo_int(&p, &size)) return 0;
            if (v->to) mw__str_printf(v->to, ":(%lld)%lld", (long long)pre, (long long)size);
        }
        if (size < 1 || size > MW_MESH_RANKS || product > MW_MESH_RANKS) return 0;
        product *= size;
    }
    p++;
    if (v->to) mw__str_putc(v->to, '}');
    if (*p == 'p' && p[1] >= '0' && p[1] <= '9') {
        int64_t priority;
        p++;
        if (!mw__hlo_int(&p, &priority)) return 0;
        if (v->to) mw__str_printf(v->to, "p%lld", (long long)priority);
    }
    *at = p;
    return product;
}

/* `[{a}, {}]` */
static bool dims(const v3 *v, const char **at, hlo_sharding *ret)
{
    const char *p = *at + 1;
    int64_t cut = 1;
    if (v->to) mw__str_puts(v->to, ", [");
    while (*p != ']') {
        int64_t tiles = axes(v, &p);
        if (!tiles || ret->ntile == HLO_TILES - 1) return false;
        ret->tile[ret->ntile++] = tiles;
        cut *= tiles;
        if (cut > v->devices) return false;
        p += strspn(p, ", ");
        if (v->to && *p == '{') mw__str_puts(v->to, ", ");
        if (*p != '{' && *p != ']') return false;
    }
    if (v->to) mw__str_putc(v->to, ']');
    *at = p + 1;
    if (v->devices % cut) return false;
    ret->devices = v->devices;
    if (v->devices == cut) return true;
    ret->tile[ret->ntile++] = v->devices / cut;
    ret->nsub = 1;
    return true;
}

/* What stands behind the dims: sets of axes. Shardy has no manual axes there: they are left out. */
static bool sets(v3 *v, const char *at, hlo_sharding *ret)
{
    static const char *const keys[] = {"replicated=", "unreduced=", "manual="};
    mw_str *to = v->to;
    for (int i = 0; i < MW_COUNT(keys); i++) {
        const char *set = strstr(at, keys[i]);
        if (!set || set >= v->end) continue;
        set += strlen(keys[i]);
        if (to && i < 2) mw__str_printf(to, ", %s", keys[i]);
        v->to = i < 2 ? to : NULL;
        int64_t size = axes(v, &set);
        v->to = to;
        if (!size) return false;
        if (i == 1) ret->terms = size;
        if (i == 2) ret->manual = size;
    }
    return true;
}

static bool ids(const v3 *v)
{
    int64_t id[HLO_IDS];
    int n;
    if (!mw__hlo_device_ids(v->after, v->end, id, &n) || (n && n != v->devices)) return false;
    if (!v->to || !n) return true;
    mw__str_puts(v->to, ", device_ids=[");
    for (int i = 0; i < n; i++)
        mw__str_printf(v->to, "%s%lld", i ? ", " : "", (long long)id[i]);
    mw__str_putc(v->to, ']');
    return true;
}

static bool read(const char *text, mw_str *to, hlo_sharding *ret)
{
    const char *close = mw__hlo_close(text);
    v3 v = {.to = to};
    ret->kind = HLO_ODD;
    if (!close || !read_mesh(&v, text + 1 + strspn(text + 1, " "))) return false;
    v.end = close - 1;
    if (to) {
        mw__str_puts(to, "<mesh<[");
        for (int i = 0; i < v.naxis; i++)
            mw__str_printf(to, "%s\"%.*s\"=%lld", i ? ", " : "", v.axis[i].length, v.axis[i].name,
                           (long long)v.axis[i].size);
        mw__str_putc(to, ']');
    }
    if (!ids(&v)) return false;
    if (to) mw__str_putc(to, '>');
    ret->at = text;
    ret->length = close - text;
    ret->named = true;
    ret->terms = ret->manual = 1;
    const char *at = strstr(v.after, "[{"), *empty = strstr(v.after, "[]");
    if (!at || at >= v.end) at = empty;
    if (!at || at >= v.end) { /* of the whole value */
        const char *word = v.after + strspn(v.after, ", ");
        ret->devices = v.devices;
        ret->kind = strncmp(word, "replicated", 10) == 0 ? HLO_REPLICATED
                    : strncmp(word, "unreduced", 9) == 0 ? HLO_UNREDUCED
                    : strncmp(word, "manual", 6) == 0    ? HLO_MANUAL
                                                         : HLO_ODD;
        return ret->kind != HLO_ODD && !to;
    }
    if (!dims(&v, &at, ret) || !sets(&v, at, ret)) return false;
    ret->kind = HLO_TILES_KIND;
    if (to) mw__str_putc(to, '>');
    return true;
}

bool mw__hlo_v3_read(const char *at, hlo_sharding *ret)
{
    *ret = (hlo_sharding){.kind = HLO_ODD, .at = at};
    return read(at, NULL, ret);
}

bool mw__hlo_v3_sdy(const hlo_sharding *s, mw_str *to)
{
    hlo_sharding again = {.kind = HLO_ODD};
    return s->kind == HLO_TILES_KIND && read(s->at, to, &again);
}
