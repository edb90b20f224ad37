/* The algebra that ops declare, on their own samples: a sum passes through an operand that is
 * marked linear, with the other terms of the rule given once; a maximum and a minimum pass through
 * an op that is marked monotone, and the one that the op reduces with through that op. A wrong mark
 * would make a partial result wrong only on some mesh; here it fails at once. Partial sums of f16
 * and bf16 are f32, as they are between ranks. */
#include "op_table.h"

#include <math.h>

/* An operand's terms, two views of its shape, that combine to the operand. */
typedef struct terms {
    mw_view a, b;
} terms;

static double combine(mw_reduce kind, double a, double b)
{
    if (kind == MW_REDUCE_MAX) return fmax(a, b);
    return kind == MW_REDUCE_MIN ? fmin(a, b) : a + b;
}

static char *element(const mw_view *view, int64_t i)
{
    return (char *)view->data + i * mw_dtype_size(view->dtype);
}

static bool is_half(mw_dtype dtype)
{
    return dtype == MW_DTYPE_f16 || dtype == MW_DTYPE_bf16;
}

static mw_dtype partial_dtype(mw_dtype dtype)
{
    return is_half(dtype) ? MW_DTYPE_f32 : dtype;
}

/* Splits the whole into a random term and the rest, or into it and what lies below or above. */
static bool split_terms(const mw_view *whole, mw_reduce kind, uint64_t stream, mw_arena *arena,
                        terms *ret)
{
    bool sum = kind == MW_REDUCE_SUM;
    mw_dtype dtype = sum ? partial_dtype(whole->dtype) : whole->dtype;
    bool is_float = mw_dtype_kind_of(dtype) == MW_KIND_FLOAT;
    mw__view_set(&ret->a, dtype, whole->ndim, whole->shape);
    mw__view_set(&ret->b, dtype, whole->ndim, whole->shape);
    if (!harness_make(&ret->a, 0, arena) || !harness_make(&ret->b, 0, arena)) return false;
    for (int64_t i = 0, n = mw__view_count(whole); i < n; i++) {
        double w = mw__element_get(element(whole, i), whole->dtype);
        double r = mw__random_normal(stream, (uint64_t)i), a = is_float ? r : floor(4 * r),
               b = w - a;
        if (!sum) {
            bool first = mw__random_uniform(~stream, (uint64_t)i) < 0.5;
            double other = kind == MW_REDUCE_MAX ? w - fabs(r) : w + fabs(r);
            a = first ? w : other;
            b = first ? other : w;
        }
        mw__element_set(element(&ret->a, i), dtype, a);
        mw__element_set(element(&ret->b, i), dtype, b);
    }
    return true;
}

/* A view like `like`, in the dtype of a sum, of the identity of sums. */
static bool nothing_like(const mw_view *like, mw_arena *arena, mw_view *ret)
{
    mw__view_set(ret, like->dtype, like->ndim, like->shape);
    if (!harness_make(ret, 0, arena)) return false;
    for (int64_t i = 0, n = mw__view_count(like); i < n; i++)
        mw__element_set(element(ret, i), ret->dtype, -0.0);
    return true;
}

typedef struct trial {
    const place *p;
    const mw_sample *sample;
    const mw_rule *rule;
    mw_arena *arena;
    int operand;
} trial;

/* Runs the op with the operand replaced; `alone`: terms that it does not belong to are nothing. */
static void run_with(const trial *t, const mw_view *value, bool sum, bool alone, harness *h)
{
    static const harness fresh;
    mw_view *in = mw__arena_alloc(t->arena, HARNESS_OPERANDS * sizeof *in);
    if (!in) FAIL_AT(t->p, "out of memory");
    for (int i = 0; i < t->rule->nin; i++) {
        int term = t->rule->in[i].term;
        in[i] = t->sample->in[i];
        if (i == t->operand)
            in[i] = *value;
        else if (alone && term >= 0 && term != t->rule->in[t->operand].term &&
                 t->rule->in[i].linear)
            if (!nothing_like(&t->sample->in[i], t->arena, &in[i])) FAIL_AT(t->p, "out of memory");
    }
    *h = fresh;
    h->sample = t->sample;
    h->rule = t->rule;
    h->arena = t->arena;
    h->in = in;
    harness_whole(h);
    for (int i = 0; i < t->rule->nout && sum; i++)
        mw__view_set(&h->out[i], partial_dtype(h->out[i].dtype), h->out[i].ndim, h->out[i].shape);
    if (harness_run(h, 0x5a) != MW_OK) FAIL_AT(t->p, "operand %d: a term does not run", t->operand);
}

/* f of both terms, and f of each, combined by `after`. */
static void compare(const trial *t, const harness *whole, const harness *a, const harness *b,
                    mw_reduce after)
{
    for (int o = 0; o < t->rule->nout; o++) {
        const mw_view *w = &whole->out[o];
        mw_dtype in = t->sample->in[t->operand].dtype;
        double most = fmax(tolerance(w->dtype), tolerance(in));
        for (int64_t i = 0, n = mw__view_count(w); i < n; i++) {
            double e = mw__element_get(element(w, i), w->dtype);
            double x = mw__element_get(element(&a->out[o], i), a->out[o].dtype);
            double y = mw__element_get(element(&b->out[o], i), b->out[o].dtype);
            double g = combine(after, x, y);
            if (e == g || isnan(e) || isinf(e)) continue;
            if (fabs(e - g) <= 4 * most * (1 + fabs(e) + fabs(x) + fabs(y))) continue;
            FAIL_AT(
                t->p,
                "operand %d does not pass a %s: element %lld of result %d is %.9g of both terms, "
                "%.9g and %.9g of each",
                t->operand, mw__reduce_name(after), (long long)i, o, e, x, y);
        }
    }
}

static int sums, extremes; /* how many were tried, for the test of the test */

static void try_operand(const trial *t, mw_reduce kind, mw_reduce after)
{
    terms both;
    harness whole, a, b;
    bool sum = kind == MW_REDUCE_SUM;
    uint64_t stream = mw__random_bits(op_seed, (uint64_t)(1000 + t->operand));
    if (!split_terms(&t->sample->in[t->operand], kind, stream, t->arena, &both))
        FAIL_AT(t->p, "out of memory");
    run_with(t, &t->sample->in[t->operand], false, false, &whole);
    run_with(t, &both.a, sum, false, &a);
    run_with(t, &both.b, sum, sum, &b);
    compare(t, &whole, &a, &b, after);
}

static void try_extremes(const trial *t)
{
    const mw_rule *rule = t->rule;
    int monotone = rule->in[t->operand].monotone;
    if (!monotone) return;
    if (rule->reduce == MW_REDUCE_MAX || rule->reduce == MW_REDUCE_MIN) {
        try_operand(t, rule->reduce, rule->reduce);
    } else {
        bool same = monotone > 0;
        try_operand(t, MW_REDUCE_MAX, same ? MW_REDUCE_MAX : MW_REDUCE_MIN);
        try_operand(t, MW_REDUCE_MIN, same ? MW_REDUCE_MIN : MW_REDUCE_MAX);
    }
    extremes++;
}

static bool is_wide(mw_dtype dtype)
{
    return mw_dtype_kind_of(dtype) == MW_KIND_FLOAT || dtype == MW_DTYPE_i32 ||
           dtype == MW_DTYPE_i64;
}

static void try_sample(const place *p, mw_sample *sample, mw_rule *rule, mw_arena *arena)
{
    for (int i = 0; i < rule->nin; i++) {
        trial t = {p, sample, rule, arena, i};
        bool extreme = rule->reduce == MW_REDUCE_MAX || rule->reduce == MW_REDUCE_MIN;
        if (rule->in[i].term < 0 || !is_wide(sample->in[i].dtype)) continue;
        if (rule->in[i].linear && !extreme) {
            try_operand(&t, MW_REDUCE_SUM, MW_REDUCE_SUM);
            sums++;
        }
        try_extremes(&t);
    }
}

static void partial_results_pass_where_declared(void **state)
{
    (void)state;
    sums = extremes = 0;
    each_sample(try_sample);
    assert_true(sums > 50);
    assert_true(extremes > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_results_pass_where_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
