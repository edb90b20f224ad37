/* The plan of a model over axis tp, as Megatron does it (Shoeybi et al., 2019): heads, hidden units
 * and the vocabulary are split, so that a layer needs two sums over the ranks and nothing else. No
 * head is cut. */
#include "models/decoder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

decoder_heads decoder_heads_over(const decoder_config *c, int64_t n)
{
    bool whole = c->kv_heads == 1 || (n % c->kv_heads == 0 && c->heads % n == 0);
    bool copied = n > c->kv_heads && c->kv_heads < c->heads && whole;
    return copied ? DECODER_HEADS_COPIED : DECODER_HEADS_GROUPS;
}

typedef struct page {
    char *to;
    int size, length;
} page;

static void put(page *p, const char *format, ...) MW_PRINTF(2, 3);
static void put(page *p, const char *format, ...)
{
    va_list args;
    bool room = p->length < p->size;
    va_start(args, format);
    int n = vsnprintf(room ? p->to + p->length : NULL, room ? (size_t)(p->size - p->length) : 0,
                      format, args);
    va_end(args);
    if (n > 0) p->length += n;
}

/* Query heads (or key heads) over tp. */
static void put_heads(page *p, const decoder_config *c, int64_t n, bool query)
{
    long long k = (long long)c->kv_heads, e = (long long)c->head_dim, many = (long long)n;
    long long group = (long long)(c->heads / c->kv_heads);
    if (decoder_heads_over(c, n) == DECODER_HEADS_GROUPS)
        put(p, "%lld@tp·%lld", k, query ? group * e : e);
    else if (k == 1 && query)
        put(p, "%lld@tp·%lld", group, e);
    else if (k == 1)
        put(p, "%lld", e);
    else if (query)
        put(p, "%lld@tp:(1)%lld·%lld@tp:(%lld)%lld·%lld", k, k, group, k, many / k, e);
    else
        put(p, "%lld@tp:(1)%lld·%lld", k, k, e);
}

static void put_size(page *p, const decoder_config *c, int64_t n, decoder_size size, int64_t whole)
{
    switch (n > 1 ? size : DECODER_SIZE_NONE) {
    case DECODER_SIZE_V:
    case DECODER_SIZE_F:
        put(p, "%lld@tp", (long long)whole);
        return;
    case DECODER_SIZE_Q:
    case DECODER_SIZE_K:
        put_heads(p, c, n, size == DECODER_SIZE_Q);
        return;
    case DECODER_SIZE_QKV:
        put(p, "3·%lld@tp·%lld", (long long)c->heads, (long long)c->head_dim);
        return;
    default:
        put(p, "%lld", (long long)whole);
    }
}

int decoder_plan_text(const decoder_config *c, int64_t n, char *to, int size)
{
    page p = {to, size, 0};
    for (int i = 0; i < 2 * DECODER_ROLE_COUNT; i++) {
        decoder_role role = (decoder_role)(i / 2);
        bool bias = i % 2;
        if (!decoder_has(c, role, bias)) continue;
        decoder_tensor t = decoder_tensor_of(c, role, bias, -1);
        put(&p, "%s: [", t.name);
        for (int d = 0; d < t.ndim; d++) {
            if (d) put(&p, ", ");
            put_size(&p, c, n, t.size[d], t.shape[d]);
        }
        put(&p, "]\n");
    }
    return p.length;
}
