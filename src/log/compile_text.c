/* Words of torch.compile's texts. Every loop is bounded by the line; what does not fit is told as
 * not known. */
#include "log/compile.h"
#include "log/hlo_text.h"

/* ---- lines -------------------------------------------------------------------------------------
 */

/* `[0/0]`, `[0/1_1]`, `[!2/0/0]`: which compilation. */
static const char *unit_prefix(const char *at, char *to, size_t size)
{
    if (*at != '[') return NULL;
    size_t n = strspn(at + 1, "0123456789/_!-");
    if (at[1 + n] != ']' || n == 0 || n >= size || !memchr(at + 1, '/', n)) return NULL;
    memcpy(to, at + 1, n);
    to[n] = 0;
    return at + n + 2;
}

/* `[__aot_graphs]`: which of the logs. */
static const char *artifact_prefix(const char *at, char *to, size_t size)
{
    if (strncmp(at, "[__", 3) != 0) return NULL;
    const char *name = at + 3, *end = name;
    while (mw__cp_word(*end))
        end++;
    size_t n = (size_t)(end - name);
    if (*end != ']' || n == 0 || n >= size) return NULL;
    memcpy(to, name, n);
    to[n] = 0;
    return end + 1;
}

void mw__cp_line(cp_here *h)
{
    const char *at = h->line->text, *next;
    h->unit[0] = h->artifact[0] = 0;
    next = unit_prefix(at, h->unit, sizeof h->unit);
    if (next) at = next + strspn(next, " ");
    next = artifact_prefix(at, h->artifact, sizeof h->artifact);
    if (next) at = next + strspn(next, " ");
    h->text = at;
}

bool mw__cp_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int mw__cp_ident(const char *at)
{
    int n = 0;
    if (*at >= '0' && *at <= '9') return 0;
    while (mw__cp_word(at[n]))
        n++;
    return n;
}

const char *mw__cp_from(cp_here *h, int64_t line)
{
    const char *text = mw__explain_text(h->e, "line %lld", (long long)line);
    return text ? text : "";
}

/* ---- tensors -----------------------------------------------------------------------------------
 */

static void count_bytes(cp_shape *s)
{
    int64_t count = 1;
    for (int d = 0; d < s->ndim && count >= 0; d++)
        if (__builtin_mul_overflow(count, s->dim[d], &count) || count > INT64_C(1) << 55)
            count = -1;
    s->bytes = !s->sized || s->ndim < 0 || count < 0 || !s->bits ? -1 : (count * s->bits + 7) / 8;
}

static int bits_of(const char *name, int length)
{
    mw_dtype dtype = mw_dtype_read(name, length);
    return dtype != MW_DTYPE_NONE ? (int)mw_dtype_size(dtype) * 8 : mw__hlo_bits(name, length);
}

void mw__cp_shape_dtype(cp_shape *s, const char *name, int length)
{
    int bits = bits_of(name, length);
    if (!bits) return;
    if (length > 6 && strncmp(name, "torch.", 6) == 0) { /* in the words of annotations */
        name = mw_dtype_name(mw_dtype_read(name, length));
        length = (int)strlen(name);
    }
    length = MW_MIN(length, (int)sizeof s->dtype - 1);
    memcpy(s->dtype, name, (size_t)length);
    s->dtype[length] = 0;
    s->bits = bits;
    count_bytes(s);
}

void mw__cp_shape_set(cp_shape *s, int ndim, const int64_t *dim)
{
    s->sized = true;
    s->length = 0;
    s->ndim = ndim > CP_DIMS ? -1 : ndim;
    for (int d = 0; d < s->ndim; d++)
        s->dim[d] = dim[d];
    count_bytes(s);
}

void mw__cp_shape_str(const cp_shape *s, mw_str *to)
{
    if (!s->sized) {
        mw__str_puts(to, "tensor");
    } else if (s->ndim < 0 && s->length) {
        mw__str_append(to, s->text, (size_t)s->length);
    } else {
        mw__str_printf(to, "%s[", s->dtype);
        for (int d = 0; d < s->ndim; d++)
            mw__str_printf(to, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
        mw__str_puts(to, "]");
    }
}

/* `f32[8, s0]`; the strides and the device after it are passed over. */
static const char *read_sizes(const char *at, const char *end, cp_shape *ret)
{
    const char *p = at;
    while (p < end && mw__cp_word(*p))
        p++;
    if (p == at || p == end || *p != '[' || p - at > 15) return NULL;
    *ret = (cp_shape){.sized = true, .text = at};
    mw__cp_shape_dtype(ret, at, (int)(p - at));
    if (!ret->bits) return NULL;
    for (p++; p < end && *p != ']';) {
        int64_t n;
        const char *size = p;
        p += strspn(p, " ");
        bool number = mw__hlo_int(&p, &n) && (*p == ',' || *p == ']' || *p == ' ');
        int depth = 0;
        if (!number) /* an expression of symbols */
            for (p = size; p < end && (depth > 0 || (*p != ',' && *p != ']')); p++)
                depth += (*p == '(') - (*p == ')');
        if (ret->ndim == CP_DIMS || !number) ret->ndim = -1;
        if (ret->ndim >= 0) ret->dim[ret->ndim++] = n;
        p += strspn(p, " ");
        if (p < end && *p == ',') p++;
        if (p == size) return NULL;
    }
    if (p >= end) return NULL;
    p++;
    ret->length = (int)(p - at);
    count_bytes(ret);
    if (p < end && *p == '[') { /* strides */
        const char *close = memchr(p, ']', (size_t)(end - p));
        if (!close) return NULL;
        p = close + 1;
    }
    while (p < end && (mw__cp_word(*p) || *p == ':'))
        p++;
    return p;
}

bool mw__cp_shape_read(const char *at, int64_t length, cp_shape *ret)
{
    const char *end = at + length;
    cp_shape shape;
    int name = mw__cp_ident(at); /* of a subclass: `AsyncCollectiveTensor(f32[8, 6])` */
    bool wrapped = name && name + 1 < length && at[name] == '(';
    bool whole = wrapped && name == 7 && strncmp(at, "DTensor", 7) == 0;
    const char *p = read_sizes(wrapped ? at + name + 1 : at, end, &shape);
    if (!p) return false;
    if (whole) {
        p += strspn(p, ", ");
        const char *close = end;
        while (close > p && close[-1] != ')')
            close--;
        if (close <= p) return false;
        shape.placed = p;
        shape.placed_length = (int)(close - 1 - p);
    }
    *ret = shape;
    return true;
}

/* ---- calls -------------------------------------------------------------------------------------
 */

typedef struct row {
    const char *name;
    mw_collective kind;
    const char *args;
} row;

static const row rows[] = {
#define CALL(name, kind, args) {name, MW_COLLECTIVE_##kind, args},
#include "log/compile_calls.def"
#undef CALL
};

bool mw__cp_call_of(const char *callee, int length, mw_collective *ret_kind, const char **ret_args,
                    bool *ret_old)
{
    static const char *const spaces[] = {"_c10d_functional.", "_c10d_functional_autograd.",
                                         "c10d_functional.", "_dtensor.", "symm_mem."};
    if (length > 10 && strncmp(callee, "torch.ops.", 10) == 0) callee += 10, length -= 10;
    for (int i = 0; i < MW_COUNT(spaces); i++) {
        int n = (int)strlen(spaces[i]), end = n;
        if (length <= n || strncmp(callee, spaces[i], (size_t)n) != 0) continue;
        while (end < length && mw__cp_word(callee[end]))
            end++;
        for (int k = 0; k < MW_COUNT(rows); k++) {
            if ((int)strlen(rows[k].name) != end - n ||
                memcmp(rows[k].name, callee + n, (size_t)(end - n)) != 0)
                continue;
            *ret_kind = rows[k].kind;
            *ret_args = rows[k].args;
            *ret_old = i == 2;
            return true;
        }
    }
    return false;
}
