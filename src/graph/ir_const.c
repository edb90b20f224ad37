/* Data in a program's text: tensor([[1, 2], [3, 4]], dtype=f32), a bare list, and numbers drawn by
 * the element's index: randn(3, 4, seed=1), rand([3, 4], seed=1). */
#include "graph/ir_parse.h"

#include <stdlib.h>

typedef struct data {
    double *real;
    int64_t *whole;
    int64_t n, cap;
    bool fraction, logical;
    int ndim;
    int64_t shape[MW_MAX_DIMS];
    bool known[MW_MAX_DIMS];
} data;

static mw_status add_number(ir_parser *p, data *d, double real, int64_t whole)
{
    if (d->n == d->cap) {
        int64_t more = d->cap ? 2 * d->cap : 64;
        double *r = mw__arena_alloc(&p->scratch, (size_t)more * sizeof *r);
        int64_t *w = mw__arena_alloc(&p->scratch, (size_t)more * sizeof *w);
        if (!r || !w) return MW_NOMEM();
        if (d->n) memcpy(r, d->real, (size_t)d->n * sizeof *r);
        if (d->n) memcpy(w, d->whole, (size_t)d->n * sizeof *w);
        d->real = r, d->whole = w, d->cap = more;
    }
    d->real[d->n] = real;
    d->whole[d->n++] = whole;
    return MW_OK;
}

static mw_status read_number(ir_parser *p, data *d)
{
    if (ir_take(p, "True") || ir_take(p, "true")) {
        d->logical = true;
        return add_number(p, d, 1, 1);
    }
    if (ir_take(p, "False") || ir_take(p, "false")) {
        d->logical = true;
        return add_number(p, d, 0, 0);
    }
    char *end, *whole_end;
    long long whole = strtoll(p->at, &whole_end, 10);
    double real = strtod(p->at, &end);
    if (end == p->at) return ir_fail(p, p->at, "expected a number");
    if (end > whole_end) d->fraction = true;
    p->at = end;
    return add_number(p, d, real, whole);
}

static mw_status read_nested(ir_parser *p, data *d, int dim)
{
    if (!ir_take(p, "[")) {
        if (dim != d->ndim && d->ndim >= 0) return ir_fail(p, p->at, "expected '['");
        d->ndim = dim;
        return read_number(p, d);
    }
    if (dim >= MW_MAX_DIMS || (d->ndim >= 0 && dim >= d->ndim))
        return ir_fail(p, p->at - 1, "lists nested unevenly, or deeper than %d", MW_MAX_DIMS);
    int64_t n = 0;
    while (!ir_sees(p, "]")) {
        MW_TRY(read_nested(p, d, dim + 1));
        n++;
        if (!ir_take(p, ",")) break;
    }
    if (n == 0 && d->ndim < 0) d->ndim = dim + 1;
    if (d->known[dim] && d->shape[dim] != n)
        return ir_fail(p, p->at, "lists of %lld and of %lld in one dim", (long long)d->shape[dim],
                       (long long)n);
    d->known[dim] = true;
    d->shape[dim] = n;
    return ir_expect(p, "]");
}

static mw_status make(ir_parser *p, const data *d, mw_dtype dtype, mw_ssa **ret)
{
    mw_meta meta = {dtype, d->ndim, {0}};
    if (dtype == MW_DTYPE_NONE) meta.dtype = p->literal;
    if (meta.dtype == MW_DTYPE_NONE)
        meta.dtype = d->fraction ? MW_DTYPE_f32 : d->logical ? MW_DTYPE_bool : MW_DTYPE_i64;
    memcpy(meta.shape, d->shape, sizeof meta.shape);
    int64_t size = mw_dtype_size(meta.dtype);
    char *bytes = mw__arena_zalloc(&p->scratch, (size_t)(d->n * size) + 1);
    if (!bytes) return MW_NOMEM();
    bool real = mw_dtype_kind_of(meta.dtype) == MW_KIND_FLOAT;
    if (!real && d->fraction)
        return ir_fail(p, p->at, "fractions where %s is stated", mw_dtype_name(meta.dtype));
    for (int64_t i = 0; i < d->n; i++)
        if (real)
            mw__element_set(bytes + i * size, meta.dtype, d->real[i]);
        else
            mw__element_set_i64(bytes + i * size, meta.dtype, d->whole[i]);
    mw_node *node;
    if (!p->graph->nmesh) return ir_fail(p, p->at, "data before any mesh");
    MW_TRY(mw__graph_const(p->graph, NULL, p->graph->mesh[0], &meta, MW_FILL_DATA, 0, bytes, NULL,
                           &node));
    *ret = node->out[0];
    return MW_OK;
}

const char *ir_data_end(const char *at)
{
    static const char *const words[] = {"torch.", "tensor", "randn", "rand"};
    for (int i = 0; i < MW_COUNT(words); i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0) at += strlen(words[i]);
    if (*at != '[' && *at != '(') return NULL;
    int depth = 0;
    for (; *at; at++) {
        if (*at == '#' || strncmp(at, "//", 2) == 0) at += strcspn(at, "\n");
        if (*at == '[' || *at == '(') depth++;
        if ((*at == ']' || *at == ')') && --depth == 0) return at + 1;
        if (!*at) break;
    }
    return NULL;
}

mw_status ir_literal(ir_parser *p, mw_ssa **ret)
{
    data d = {.ndim = -1};
    MW_TRY(read_nested(p, &d, 0));
    return make(p, &d, MW_DTYPE_NONE, ret);
}

/* What may follow: dtype=, shape=, seed=, sizes one by one. */
typedef struct options {
    mw_dtype dtype;
    int64_t seed;
    int ndim;
    int64_t shape[MW_MAX_DIMS];
} options;

static mw_status read_sizes(ir_parser *p, options *o, bool list)
{
    if (list) MW_TRY(ir_expect(p, "["));
    while (!ir_sees(p, list ? "]" : ")")) {
        if (o->ndim == MW_MAX_DIMS) return ir_fail(p, p->at, "more than %d dims", MW_MAX_DIMS);
        MW_TRY(ir_int(p, &o->shape[o->ndim]));
        if (o->shape[o->ndim] < 0) return ir_fail(p, p->at, "a size below 0");
        o->ndim++;
        if (!list || !ir_take(p, ",")) break;
    }
    return list ? ir_expect(p, "]") : MW_OK;
}

static mw_status read_option(ir_parser *p, options *o)
{
    char word[IR_NAME];
    const char *at = (ir_space(p), p->at);
    if (*at == '[' || (*at >= '0' && *at <= '9')) return read_sizes(p, o, *at == '[');
    if (!ir_word(p, ".", word)) return ir_fail(p, at, "expected dtype=, shape= or seed=");
    MW_TRY(ir_expect(p, "="));
    if (strcmp(word, "seed") == 0) return ir_int(p, &o->seed);
    if (strcmp(word, "shape") == 0) {
        o->ndim = 0;
        return read_sizes(p, o, true);
    }
    if (strcmp(word, "dtype") != 0) return ir_fail(p, at, "expected dtype=, shape= or seed=");
    const char *name = (ir_space(p), p->at);
    if (!ir_word(p, ".", word)) return ir_fail(p, name, "expected a dtype");
    const char *bare = strncmp(word, "torch.", 6) == 0 ? word + 6 : word;
    o->dtype = mw_dtype_read(bare, (int)strlen(bare));
    return o->dtype != MW_DTYPE_NONE ? MW_OK : ir_fail(p, name, "no dtype '%s'", bare);
}

mw_status ir_const(ir_parser *p, const char *word, mw_ssa **ret)
{
    bool stored = strcmp(word, "tensor") == 0;
    data d = {.ndim = -1};
    options o = {.dtype = MW_DTYPE_NONE};
    const char *at = p->at;
    MW_TRY(ir_expect(p, "("));
    if (stored) MW_TRY(read_nested(p, &d, 0));
    while (!ir_sees(p, ")")) {
        if (stored) MW_TRY(ir_expect(p, ","));
        if (ir_sees(p, ")")) break;
        MW_TRY(read_option(p, &o));
        if (!stored && !ir_take(p, ",")) break;
    }
    MW_TRY(ir_expect(p, ")"));
    if (stored) {
        if (o.ndim && d.n == 0) {
            d.ndim = o.ndim;
            memcpy(d.shape, o.shape, sizeof d.shape);
        }
        return make(p, &d, o.dtype, ret);
    }
    if (o.dtype == MW_DTYPE_NONE) o.dtype = p->literal;
    mw_meta meta = {o.dtype ? o.dtype : MW_DTYPE_f32, o.ndim, {0}};
    memcpy(meta.shape, o.shape, sizeof meta.shape);
    if (mw_dtype_kind_of(meta.dtype) != MW_KIND_FLOAT)
        return ir_fail(p, at, "%s draws fractions, not %s", word, mw_dtype_name(meta.dtype));
    if (!p->graph->nmesh) return ir_fail(p, at, "data before any mesh");
    mw_node *node;
    MW_TRY(mw__graph_const(p->graph, NULL, p->graph->mesh[0], &meta,
                           strcmp(word, "randn") == 0 ? MW_FILL_RANDN : MW_FILL_RAND,
                           (uint64_t)o.seed, NULL, NULL, &node));
    *ret = node->out[0];
    return MW_OK;
}
