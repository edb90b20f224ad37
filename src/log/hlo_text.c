/* XLA's texts: shapes, shardings, device groups. Every loop is bounded by the text, every number
 * by 10^15, every list by its array; what does not fit is told as not known. */
#include "log/hlo_text.h"

enum { DEPTH = 64 };

const char *mw__hlo_close(const char *at)
{
    int depth = 0;
    for (const char *p = at; *p; p++) {
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++)
                if (*p == '\\' && p[1]) p++;
            if (!*p) return NULL;
            continue;
        }
        if (*p == '(' || *p == '[' || *p == '{') depth++;
        if (*p == ')' || *p == ']' || *p == '}') depth--;
        if (depth == 0) return p + 1;
    }
    return NULL;
}

bool mw__hlo_int(const char **at, int64_t *ret)
{
    const char *p = *at;
    int64_t n = 0;
    while (*p == ' ')
        p++;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (*p - '0');
        if (n > INT64_C(1000000000000000)) return false;
    }
    *at = p;
    *ret = n;
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    int bits;
} element[] = {{"pred", 8}, {"i1", 8},    {"s1", 1},   {"u1", 1},    {"s2", 2},   {"u2", 2},
               {"s4", 4},   {"u4", 4},    {"i4", 4},   {"ui4", 4},   {"s8", 8},   {"u8", 8},
               {"i8", 8},   {"ui8", 8},   {"s16", 16}, {"u16", 16},  {"i16", 16}, {"ui16", 16},
               {"s32", 32}, {"u32", 32},  {"i32", 32}, {"ui32", 32}, {"s64", 64}, {"u64", 64},
               {"i64", 64}, {"ui64", 64}, {"f16", 16}, {"bf16", 16}, {"f32", 32}, {"f64", 64},
               {"c64", 64}, {"c128", 128}};

int mw__hlo_bits(const char *name, int64_t length)
{
    for (int i = 0; i < MW_COUNT(element); i++)
        if ((int64_t)strlen(element[i].name) == length &&
            memcmp(element[i].name, name, (size_t)length) == 0)
            return element[i].bits;
    if (length >= 4 && length < 16 && (memcmp(name, "f8", 2) == 0 || memcmp(name, "f4", 2) == 0))
        return name[1] == '8' ? 8 : 4;
    return 0;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void set_dtype(hlo_shape *s, const char *name, int64_t length)
{
    size_t n = (size_t)MW_MIN(length, (int64_t)sizeof s->dtype - 1);
    memcpy(s->dtype, name, n);
    s->dtype[n] = 0;
    s->bits = mw__hlo_bits(name, length);
}

static void count_shape(hlo_shape *s)
{
    s->count = s->ndim < 0 ? -1 : 1;
    for (int i = 0; i < s->ndim && s->count >= 0; i++)
        if (mw__mul_size(s->count, s->dim[i], &s->count) != MW_OK) s->count = -1;
    if (s->count > INT64_C(1) << 55) s->count = -1;
    s->bytes = s->count < 0 || !s->bits ? -1 : (s->count * s->bits + 7) / 8;
    mw_error_clear();
}

bool mw__hlo_shape_read(const char **at, hlo_shape *ret)
{
    *ret = (hlo_shape){.bits = 0};
    const char *p = *at, *name = p;
    if (*p < 'a' || *p > 'z') return false;
    while (is_name(*p))
        p++;
    if (*p != '[' || p - name > 15) return false;
    set_dtype(ret, name, p - name);
    p++;
    while (*p != ']') {
        int64_t n;
        if (strncmp(p, "<=", 2) == 0) p += 2; /* a bound of a dynamic dim */
        if (!mw__hlo_int(&p, &n)) return false;
        if (ret->ndim == HLO_DIMS) ret->ndim = -1;
        if (ret->ndim >= 0) ret->dim[ret->ndim++] = n;
        if (*p == ',')
            p++;
        else if (*p != ']')
            return false;
    }
    p++;
    if (*p == '{') {
        const char *end = mw__hlo_close(p);
        if (end) p = end;
    }
    count_shape(ret);
    *at = p;
    return true;
}

bool mw__hlo_tensor_read(const char **at, hlo_shape *ret)
{
    *ret = (hlo_shape){.bits = 0};
    if (strncmp(*at, "tensor<", 7) != 0) return false;
    const char *p = *at + 7;
    for (int64_t n; *p >= '0' && *p <= '9'; p++) {
        if (!mw__hlo_int(&p, &n) || *p != 'x') return false;
        if (ret->ndim == HLO_DIMS) ret->ndim = -1;
        if (ret->ndim >= 0) ret->dim[ret->ndim++] = n;
    }
    const char *name = p;
    while (is_name(*p))
        p++;
    if (p == name || p - name > 15) return false;
    set_dtype(ret, name, p - name);
    const char *end = strchr(p, '>');
    if (!end) return false;
    count_shape(ret);
    *at = end + 1;
    return true;
}

/* ---- shardings ---------------------------------------------------------------------------------
 */

static bool read_ints(const char **at, int64_t *to, int cap, int *ret_n)
{
    const char *p = *at;
    *ret_n = 0;
    for (;;) {
        int64_t n;
        if (!mw__hlo_int(&p, &n) || *ret_n == cap) return false;
        to[(*ret_n)++] = n;
        if (*p != ',') break;
        p++;
    }
    *at = p;
    return true;
}

static int count_words(const char *at, const char *end)
{
    int n = 1;
    for (; at < end; at++)
        n += *at == ',';
    return n;
}

static bool read_tiles(const char *at, const char *end, hlo_sharding *ret)
{
    const char *p = at;
    if (!read_ints(&p, ret->tile, HLO_TILES, &ret->ntile) || *p != ']') return false;
    ret->devices = 1;
    for (int i = 0; i < ret->ntile; i++) {
        if (ret->tile[i] < 1 || ret->tile[i] > MW_MESH_RANKS) return false;
        ret->devices *= ret->tile[i];
        if (ret->devices > MW_MESH_RANKS) return false;
    }
    ret->list = p[1] != '<';
    const char *last = strstr(p, "last_tile_dim");
    if (!last || last >= end) return true;
    ret->nsub = 1;
    if (strncmp(last, "last_tile_dims={", 16) == 0) {
        const char *close = strchr(last, '}');
        if (!close || close >= end) return false;
        ret->nsub = count_words(last + 16, close);
    }
    return ret->nsub <= ret->ntile;
}

bool mw__hlo_sharding_read(const char *at, hlo_sharding *ret)
{
    static const struct {
        const char *word;
        hlo_kind kind;
    } kinds[] = {{"replicated", HLO_REPLICATED}, {"manual", HLO_MANUAL},
                 {"maximal", HLO_MAXIMAL},       {"unknown", HLO_UNKNOWN},
                 {"unreduced", HLO_UNREDUCED},   {"{", HLO_TUPLE}};
    *ret = (hlo_sharding){.kind = HLO_ODD, .at = at};
    if (*at != '{') return false;
    const char *end = mw__hlo_close(at);
    if (!end) return false;
    ret->length = end - at;
    const char *p = at + 1 + strspn(at + 1, " ");
    if (strncmp(p, "mesh[", 5) == 0) return mw__hlo_v3_read(at, ret);
    if (strncmp(p, "maximal_mesh[", 13) == 0) {
        ret->kind = HLO_MAXIMAL;
        return true;
    }
    if (strncmp(p, "devices=[", 9) == 0) {
        if (!read_tiles(p + 9, end, ret)) return false;
        ret->kind = HLO_TILES_KIND;
        return true;
    }
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (strncmp(p, kinds[i].word, strlen(kinds[i].word)) == 0) ret->kind = kinds[i].kind;
    if (*p == '}') ret->kind = HLO_TUPLE;
    return ret->kind != HLO_ODD;
}

/* ---- device groups -----------------------------------------------------------------------------
 */

/* Ids of an iota of `n` sizes, transposed: the k-th of the list. */
static int64_t iota_at(int64_t k, const int64_t *size, const int64_t *perm, int n)
{
    int64_t id = 0, coord[HLO_TILES] = {0};
    for (int i = n; i-- > 0;) {
        coord[perm[i]] = k % size[perm[i]];
        k /= size[perm[i]];
    }
    for (int i = 0; i < n; i++)
        id = id * size[i] + coord[i];
    return id;
}

static bool good_iota(const int64_t *size, const int64_t *perm, int n, int64_t *ret_total)
{
    uint32_t seen = 0;
    *ret_total = 1;
    for (int i = 0; i < n; i++) {
        if (size[i] < 1 || size[i] > MW_MESH_RANKS || perm[i] < 0 || perm[i] >= n) return false;
        seen |= 1U << perm[i];
        *ret_total *= size[i];
        if (*ret_total > MW_MESH_RANKS) return false;
    }
    return seen == (1U << n) - 1;
}

static void fill_iota(hlo_groups *g, const int64_t *size, const int64_t *perm, int n, int64_t total)
{
    g->nid = (int)MW_MIN(total, HLO_IDS);
    for (int k = 0; k < g->nid; k++)
        g->id[k] = iota_at(k, size, perm, n);
}

/* [4,2]<=[2,4]T(1,0) */
static bool iota_groups(const char *p, hlo_groups *g)
{
    int64_t shape[HLO_TILES], size[HLO_TILES], perm[HLO_TILES], total;
    int nshape, n, nperm;
    p++;
    if (!read_ints(&p, shape, HLO_TILES, &nshape) || nshape != 2) return false;
    if (strncmp(p, "]<=[", 4) != 0) return false;
    p += 4;
    if (!read_ints(&p, size, HLO_TILES, &n) || *p != ']') return false;
    p++;
    for (int i = 0; i < n; i++)
        perm[i] = i;
    if (strncmp(p, "T(", 2) == 0) {
        p += 2;
        if (!read_ints(&p, perm, HLO_TILES, &nperm) || nperm != n || *p != ')') return false;
        p++;
    }
    if (!good_iota(size, perm, n, &total) || shape[0] < 1 || shape[1] < 1 || shape[0] > total ||
        shape[1] > total || shape[0] * shape[1] != total)
        return false;
    g->ngroup = shape[0];
    g->size = shape[1];
    fill_iota(g, size, perm, n, total);
    g->length = p - g->at;
    return true;
}

/* One axis of mesh['a'=2,'b'=4] as parts: what is named in the braces splits them. */
typedef struct part {
    const char *name;
    int length;
    int64_t size;
    bool talks;
} part;

/* Cuts the axis of `name` so that (pre)size is a part of its own; -1 where it does not fit. */
static int cut_part(part *axis, int *n, const char *name, int length, int64_t pre, int64_t size)
{
    int64_t before = 1;
    for (int i = 0; i < *n; i++) {
        if (axis[i].length != length || memcmp(axis[i].name, name, (size_t)length) != 0) continue;
        int64_t whole = axis[i].size;
        if (size == 0) return i;
        if (pre > before && pre < before * whole && pre % before == 0 &&
            whole % (pre / before) == 0 && *n < HLO_TILES) {
            memmove(axis + i + 1, axis + i, (size_t)(*n - i) * sizeof *axis);
            ++*n;
            axis[i].size = pre / before;
            axis[i + 1].size = whole / axis[i].size;
            before = pre;
            continue;
        }
        if (pre == before && size == whole) return i;
        if (pre == before && size > 0 && whole % size == 0 && *n < HLO_TILES) {
            memmove(axis + i + 1, axis + i, (size_t)(*n - i) * sizeof *axis);
            ++*n;
            axis[i].size = size;
            axis[i + 1].size = whole / size;
            return i;
        }
        before *= whole;
    }
    return -1;
}

bool mw__hlo_quoted(const char **at, const char **ret_name, int *ret_length)
{
    const char *p = *at;
    char quote = *p == '\'' || *p == '"' ? *p++ : 0;
    *ret_name = p;
    while (*p && (quote ? *p != quote : is_name(*p)))
        p++;
    *ret_length = (int)MW_MIN(p - *ret_name, 40);
    if (quote && *p++ != quote) return false;
    *at = p;
    return *ret_length > 0;
}

static bool mesh_axes(const char **at, part *axis, int *n)
{
    const char *p = *at;
    *n = 0;
    while (*p != ']') {
        p += strspn(p, ", ");
        if (*n == 6 || !mw__hlo_quoted(&p, &axis[*n].name, &axis[*n].length) || *p != '=')
            return false;
        p++;
        if (!mw__hlo_int(&p, &axis[*n].size) || axis[*n].size < 1) return false;
        axis[(*n)++].talks = false;
    }
    *at = p + 1;
    return *n > 0;
}

/* device_ids=([2,2,2]T(0,2,1)) or device_ids=(0,2,1,3): the device at each place of the mesh. */
bool mw__hlo_device_ids(const char *at, const char *stop, int64_t *id, int *ret_n)
{
    int64_t size[HLO_TILES], perm[HLO_TILES], total;
    int n, nperm;
    const char *p = strstr(at, "device_ids=(");
    *ret_n = 0;
    if (!p || p >= stop) return true;
    p += 12;
    if (*p != '[') return read_ints(&p, id, HLO_IDS, ret_n) && *p == ')';
    p++;
    if (!read_ints(&p, size, HLO_TILES, &n) || *p++ != ']') return false;
    for (int i = 0; i < n; i++)
        perm[i] = i;
    if (strncmp(p, "T(", 2) == 0) {
        p += 2;
        if (!read_ints(&p, perm, HLO_TILES, &nperm) || nperm != n) return false;
    }
    if (!good_iota(size, perm, n, &total) || total > HLO_IDS) return false;
    for (int k = 0; k < total; k++)
        id[k] = iota_at(k, size, perm, n);
    *ret_n = (int)total;
    return true;
}

/* mesh['a'=2,'b'=4] {'b'}, {'b','a':(1)2}: groups are the devices that differ on what is named. */
static bool mesh_groups(const char *p, hlo_groups *g)
{
    part axis[HLO_TILES];
    int n, talk[HLO_TILES], ntalk = 0;
    p += 5;
    if (!mesh_axes(&p, axis, &n)) return false;
    const char *brace = strchr(p, '{');
    int64_t device[HLO_IDS];
    int ndevice;
    if (!brace || brace - p > 4000 || !mw__hlo_device_ids(p, brace, device, &ndevice)) return false;
    const char *close = strchr(brace, '}');
    if (!close || close - brace > 400) return false;
    const char *named[HLO_TILES];
    int64_t pre[HLO_TILES], size[HLO_TILES];
    int length[HLO_TILES];
    for (p = brace + 1; p < close;) {
        p += strspn(p, ", ");
        if (ntalk == 6 || !mw__hlo_quoted(&p, &named[ntalk], &length[ntalk])) return false;
        pre[ntalk] = size[ntalk] = 0;
        if (strncmp(p, ":(", 2) == 0) {
            p += 2;
            if (!mw__hlo_int(&p, &pre[ntalk]) || *p++ != ')' || !mw__hlo_int(&p, &size[ntalk]))
                return false;
        }
        ntalk++;
    }
    /* The second round finds the parts at their last places. */
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ntalk; i++) {
            talk[i] = cut_part(axis, &n, named[i], length[i], pre[i], size[i]);
            if (talk[i] < 0) return false;
        }
    int64_t sizes[HLO_TILES], perm[HLO_TILES], total;
    int k = 0;
    g->size = 1;
    for (int i = 0; i < ntalk; i++) {
        axis[talk[i]].talks = true;
        g->size *= MW_MIN(axis[talk[i]].size, MW_MESH_RANKS);
        if (g->size > MW_MESH_RANKS) return false;
    }
    for (int i = 0; i < n; i++) {
        sizes[i] = axis[i].size;
        if (!axis[i].talks) perm[k++] = i;
    }
    for (int i = 0; i < ntalk && k < n; i++)
        perm[k++] = talk[i];
    if (k != n || !good_iota(sizes, perm, n, &total)) return false;
    g->ngroup = total / g->size;
    fill_iota(g, sizes, perm, n, total);
    if (ndevice && ndevice != total) return false;
    for (int i = 0; i < g->nid && ndevice; i++)
        g->id[i] = device[g->id[i]];
    g->length = close + 1 - g->at;
    size_t at = 0;
    for (p = brace + 1; p < close && at + 1 < sizeof g->axis; p++)
        if (*p != '\'' && *p != '"' && *p != ' ') g->axis[at++] = *p;
    g->axis[at] = 0;
    return true;
}

/* {{0,4},{1,5}} or [[0, 4], [1, 5]]; {}: all devices. */
static bool list_groups(const char *p, hlo_groups *g)
{
    const char *end = mw__hlo_close(p);
    if (!end) return false;
    g->length = end - p;
    int64_t size = 0;
    for (p++; p < end; p++) {
        if (*p == '{' || *p == '[') size = 0;
        if ((*p == '}' || *p == ']') && p + 1 < end) {
            if (g->ngroup && size != g->size) g->uneven = true;
            g->size = MW_MAX(g->size, size);
            g->ngroup++;
        }
        if (*p < '0' || *p > '9') continue;
        int64_t n;
        if (!mw__hlo_int(&p, &n)) return false;
        p--;
        if (g->nid < HLO_IDS) g->id[g->nid++] = n;
        size++;
    }
    return true;
}

bool mw__hlo_groups_read(const char *at, hlo_groups *ret)
{
    ret->ngroup = ret->size = 0;
    ret->nid = 0;
    ret->uneven = false;
    ret->axis[0] = 0;
    ret->length = 0;
    ret->at = at;
    if (strncmp(at, "mesh[", 5) == 0) return mesh_groups(at, ret);
    if (*at == '[' && at[1] != '[') return iota_groups(at, ret);
    if (*at == '{' || *at == '[') return list_groups(at, ret);
    return false;
}

void mw__hlo_groups_str(const hlo_groups *g, mw_str *to)
{
    if (g->uneven || g->size < 1) {
        mw__str_append(to, g->at, (size_t)MW_MIN(g->length, 400));
        return;
    }
    int64_t shown = MW_MIN(g->ngroup, MW_MIN(16, g->nid / g->size));
    for (int64_t i = 0; i < shown; i++) {
        mw__str_puts(to, i ? ",{" : "{");
        for (int64_t k = 0; k < g->size && i * g->size + k < g->nid; k++)
            mw__str_printf(to, "%s%lld", k ? "," : "", (long long)g->id[i * g->size + k]);
        mw__str_putc(to, '}');
    }
    if (shown < g->ngroup)
        mw__str_printf(to, "%s%lld more of %lld", shown ? ", " : "", (long long)(g->ngroup - shown),
                       (long long)g->size);
}

void mw__hlo_shape_str(const hlo_shape *s, mw_str *to)
{
    mw__str_puts(to, s->dtype);
    if (s->ndim < 0)
        mw__str_puts(to, "[more than 8 dims]");
    else
        mw__hlo_str_shape(s->ndim, s->dim, to);
}
