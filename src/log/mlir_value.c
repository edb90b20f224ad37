/* Values of a function by name: what made them, how they are cut, whether they are constants. Names
 * are those of one function; a region's may shadow them, and the newest is meant. */
#include "log/mlir.h"

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

uint64_t mw__mlir_value_name(const char **at)
{
    const char *p = *at;
    if (*p != '%') return 0;
    p++;
    const char *name = p;
    while (is_name(*p))
        p++;
    if (p == name) return 0;
    const char *end = p;
    if (*p == '#') { /* of an op with several results: %1#2; %1#0 alone is %1 */
        int64_t n;
        const char *q = p + 1;
        if (mw__hlo_int(&q, &n)) {
            p = q;
            if (n) end = q;
        }
    }
    *at = p;
    return mw__hash(9, name, (size_t)(end - name)) | 1;
}

mlir_value *mw__mlir_value(mlir_state *s, uint64_t name, bool make)
{
    if (!s->value && make) s->value = mw__zalloc(MLIR_VALUES * sizeof *s->value);
    s->starved |= !s->value && make;
    if (!s->value || !name) return NULL;
    mlir_value *v = &s->value[name % MLIR_VALUES];
    if (v->hash == name) return v;
    if (!make) return NULL;
    *v = (mlir_value){.hash = name};
    return v;
}

void mw__mlir_values_clear(mlir_state *s)
{
    if (s->value) memset(s->value, 0, MLIR_VALUES * sizeof *s->value);
}

/* Behind ` = `, and behind the op's name: where operands begin. */
static const char *operands(const char *text, const char **ret_op, int *ret_length)
{
    const char *at = text + strcspn(text, " ");
    if (*text != '%' || strncmp(at, " = ", 3) != 0) return NULL;
    at += 3;
    bool quoted = *at == '"';
    at += quoted;
    *ret_op = at;
    while (is_name(*at))
        at++;
    *ret_length = (int)MW_MIN(at - *ret_op, 80);
    return at + (quoted && *at == '"');
}

/* The next value of the operand list at *at, or 0: `(%a, %b)`, ` %a, %b, dims`, ` [{"x"}] %a`. */
static uint64_t next(const char **at)
{
    const char *p = *at;
    for (; *p && *p != '%'; p++) {
        if (p[0] == '=' || (p[0] == ' ' && p[1] == ':') || *p == '#') return 0;
        if (*p == '"') {
            p = strchr(p + 1, '"');
            if (!p) return 0;
        }
    }
    if (!*p) return 0;
    uint64_t name = mw__mlir_value_name(&p);
    *at = p;
    return name;
}

const mlir_value *mw__mlir_operand(const mlir_here *h, int index)
{
    const char *op;
    int length;
    const char *at = operands(h->text, &op, &length);
    uint64_t name = 0;
    for (int i = 0; at && i <= index; i++) {
        name = next(&at);
        if (!name) return NULL;
    }
    return name ? mw__mlir_value(h->s, name, false) : NULL;
}

/* Whoever uses a collective's result first is whom it was made for. */
static void use_all(const mlir_here *h, const char *at, const char *op, int length)
{
    for (int i = 0; i < 16; i++) {
        uint64_t name = next(&at);
        if (!name) return;
        mlir_value *v = mw__mlir_value(h->s, name, false);
        if (!v || !v->waits) continue;
        mw__fact(v->waits, "first used by", MW_HOW_STATED, h->from, "%.*s in line %lld, operand %d",
                 length, op, (long long)h->line->number, i);
        mw_entry *entry = mw__draft_entry(v->waits);
        const char *kept = mw__explain_text(h->e, "%.*s", length, op);
        if (entry && kept && !*entry->op && strcmp(kept, "return") != 0) entry->op = kept;
        v->waits = NULL;
    }
}

static void constant(mlir_value *v, const char *at)
{
    const char *dense = strstr(at, "dense<");
    if (!dense) return;
    dense += 6;
    int64_t n, fraction = 0;
    if (!mw__hlo_int(&dense, &n)) return;
    if (*dense == '.') { /* 2.000000e+00 */
        dense++;
        if (!mw__hlo_int(&dense, &fraction)) return;
        if (strncmp(dense, "e+0", 3) == 0) {
            const char *exponent = dense + 2;
            int64_t e;
            if (!mw__hlo_int(&exponent, &e) || e > 15) return;
            int64_t scale = 1000000;
            for (; e > 0; e--) {
                if (n > INT64_C(100000000000000)) return;
                n = n * 10 + fraction * 10 / scale % 10;
                fraction = fraction * 10 % scale;
            }
            dense = exponent;
        }
        if (fraction) return;
    }
    if (*dense != '>') return;
    v->is_constant = true;
    v->constant = n;
}

static void sharding_of(const mlir_here *h, mlir_value *v)
{
    static const char *const keys[] = {"sdy.sharding = #sdy.sharding_per_value<[",
                                       "out_sharding=", "sdy.sharding_constraint %"};
    for (int i = 0; i < MW_COUNT(keys); i++) {
        const char *at = strstr(h->text, keys[i]);
        if (!at) continue;
        at = strchr(at + strlen(keys[i]) - (i == 2), '<');
        const char *end = at ? mw__mlir_close(at) : NULL;
        if (end && end - at < 2000)
            v->sharding = mw__arena_strndup(mw__explain_arena(h->e), at, (size_t)(end - at));
        return;
    }
    const char *at = strstr(h->text, "mhlo.sharding = \"{");
    const char *end = at ? mw__hlo_close(at + 17) : NULL;
    if (end && end - at < 2000)
        v->sharding = mw__arena_strndup(mw__explain_arena(h->e), at + 17, (size_t)(end - at - 17));
}

void mw__mlir_define(const mlir_here *h)
{
    const char *op, *name = h->text;
    int length;
    if (strstr(h->text, "return %") && *h->text != '%') {
        use_all(h, strchr(h->text, '%'), "return", 6);
        return;
    }
    const char *at = operands(h->text, &op, &length);
    if (!at || !length) return;
    use_all(h, at, op, length);
    uint64_t hash = mw__mlir_value_name(&name);
    mlir_value *v = mw__mlir_value(h->s, hash, true);
    if (!v) return;
    mlir_value was = v->line == h->line->number ? *v : (mlir_value){.waits = NULL};
    *v = (mlir_value){
        .hash = hash, .line = h->line->number, .waits = was.waits, .summed = was.summed};
    v->op = mw__arena_strndup(mw__explain_arena(h->e), op, (size_t)length);
    if (!mw__mlir_type(h->text, 0, &v->type)) v->type = (hlo_shape){.ndim = -1};
    sharding_of(h, v);
    if (length >= 8 && memcmp(op + length - 8, "constant", 8) == 0) constant(v, at);
}
