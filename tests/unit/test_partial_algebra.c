/* What a partial tensor may pass through, row by row, values included: on two ranks that hold
 * terms, each call gives what the combined tensor would, its result is partial or not as the table
 * says, and nothing moves where a partial passes. */
#include "run_check.h"

#include <math.h>

enum { N = 6, OPERANDS = 3, MORE = 3 };

#define INT(v)                          \
    {                                   \
        .kind = MW_ARG_INT, .as.i = (v) \
    }
#define FLOAT(v)                          \
    {                                     \
        .kind = MW_ARG_FLOAT, .as.f = (v) \
    }
#define BOOL(v)                          \
    {                                    \
        .kind = MW_ARG_BOOL, .as.i = (v) \
    }
#define DTYPE(v)                                   \
    {                                              \
        .kind = MW_ARG_DTYPE, .as.i = MW_DTYPE_##v \
    }
#define NONE                \
    {                       \
        .kind = MW_ARG_NONE \
    }
#define TEXT(v)                                                  \
    {                                                            \
        .name = "rounding_mode", .kind = MW_ARG_STR, .as.s = (v) \
    }
#define ALPHA(v)                                         \
    {                                                    \
        .name = "alpha", .kind = MW_ARG_INT, .as.i = (v) \
    }

/* Operands: s m n are a partial sum, maximum, minimum; a an average; r is whole; c a condition; z
 * whole zeros; i an index; h a partial sum of f64, k of i64. Then more arguments. `gives`: how the
 * result lies; 0: the operands had to be combined first. */
typedef struct row {
    const char *word, *in;
    mw_value more[MORE];
    int nmore;
    mw_reduce gives;
} row;

#define SUM              MW_REDUCE_SUM
#define MAX              MW_REDUCE_MAX
#define MIN              MW_REDUCE_MIN
#define NOT              MW_REDUCE_NONE
#define WITH(...)        {__VA_ARGS__}, MW_COUNT_OF(__VA_ARGS__)
#define MW_COUNT_OF(...) (int)(sizeof((mw_value[]){__VA_ARGS__}) / sizeof(mw_value))
#define ALONE            {{0}}, 0

static const row rows[] = {
    /* additive in all arguments together */
    {"add", "ss", ALONE, SUM},
    {"sub", "ss", ALONE, SUM},
    {"add", "sr", ALONE, SUM}, /* the whole term is kept on one rank */
    {"sub", "rs", ALONE, SUM},
    {"neg", "s", ALONE, SUM},
    {"lerp_scalar", "ss", WITH(FLOAT(0.25)), SUM},
    {"lerp_scalar", "sr", WITH(FLOAT(0.25)), SUM},
    {"lerp", "ssr", ALONE, SUM},
    {"clone", "s", ALONE, SUM},
    {"dropout", "s", WITH(FLOAT(0.5), BOOL(false)), SUM},
    {"to_dtype", "s", WITH(DTYPE(f64)), SUM},
    {"cumsum", "s", WITH(INT(0)), SUM},
    {"flip", "s", WITH({.kind = MW_ARG_INTS, .count = 1, .as.ints = (const int64_t[]){0}}), SUM},
    {"sum", "s", ALONE, SUM},
    {"mean", "s", ALONE, SUM},
    {"add", "aa", ALONE, MW_REDUCE_AVG},
    /* not: rounded once, or counted once per term */
    {"to_dtype", "h", WITH(DTYPE(f32)), NOT},
    {"to_dtype", "s", WITH(DTYPE(bf16)), NOT},
    {"to_dtype", "s", WITH(DTYPE(i64)), NOT},
    {"add_scalar", "s", WITH(INT(2)), NOT},
    {"any", "s", ALONE, NOT},
    {"all", "s", ALONE, NOT},
    {"clamp", "s", WITH(FLOAT(-0.5), FLOAT(0.5)), NOT},
    {"relu", "s", ALONE, NOT},
    {"exp", "s", ALONE, NOT},
    {"abs", "s", ALONE, NOT},
    {"round", "s", ALONE, NOT},
    {"isnan", "s", ALONE, NOT},
    {"prod", "s", ALONE, NOT},
    {"amax", "s", ALONE, NOT},
    {"gt_scalar", "s", WITH(INT(0)), NOT},
    /* linear in one argument */
    {"mul", "sr", ALONE, SUM},
    {"mul", "rs", ALONE, SUM},
    {"mul_scalar", "s", WITH(FLOAT(-1.5)), SUM},
    {"div", "sr", ALONE, SUM},
    {"div_scalar", "s", WITH(FLOAT(3)), SUM},
    {"div_tensor_mode", "sr", WITH({.name = "rounding_mode", .kind = MW_ARG_NONE}), SUM},
    {"addcmul", "ssr", ALONE, SUM},
    {"addcdiv", "ssr", ALONE, SUM},
    {"dot", "sr", ALONE, SUM},
    {"outer", "rs", ALONE, SUM},
    {"masked_fill_scalar", "sc", WITH(INT(0)), SUM},
    {"where_self", "csz", ALONE, SUM},
    {"where_self", "css", ALONE, SUM},
    {"gather", "s", WITH(INT(0)), SUM},
    {"rsub_scalar", "s", WITH(INT(0)), SUM},
    {"constant_pad_nd", "s",
     WITH({.kind = MW_ARG_INTS, .count = 2, .as.ints = (const int64_t[]){1, 2}}, INT(0)), SUM},
    /* not */
    {"div_tensor_mode", "sr", WITH(TEXT("floor")), NOT},
    {"div_tensor_mode", "sr", WITH(TEXT("trunc")), NOT},
    {"div", "rs", ALONE, NOT},
    {"masked_fill_scalar", "sc", WITH(FLOAT(1)), NOT},
    {"rsub_scalar", "s", WITH(INT(1)), NOT},
    {"square", "s", ALONE, NOT},
    {"remainder", "sr", ALONE, NOT},
    {"floor_divide", "sr", ALONE, NOT},
    {"addcdiv", "rrs", ALONE, NOT},
    {"constant_pad_nd", "s",
     WITH({.kind = MW_ARG_INTS, .count = 2, .as.ints = (const int64_t[]){1, 2}}, INT(5)), NOT},
    /* monotone */
    {"relu", "m", ALONE, MAX},
    {"relu", "n", ALONE, MIN},
    {"exp", "m", ALONE, MAX},
    {"floor", "m", ALONE, MAX},
    {"clamp", "m", WITH(FLOAT(-0.5), FLOAT(0.5)), MAX},
    {"add", "mr", ALONE, MAX},
    {"add", "rm", ALONE, MAX},
    {"add_scalar", "n", WITH(INT(2)), MIN},
    {"maximum", "mr", ALONE, MAX},
    {"maximum", "mm", ALONE, MAX},
    {"maximum", "nr", ALONE, MIN},
    {"minimum", "nn", ALONE, MIN},
    {"minimum", "mr", ALONE, MAX},
    {"amax", "m", ALONE, MAX},
    {"amin", "n", ALONE, MIN},
    {"mul_scalar", "m", WITH(FLOAT(2)), MAX},
    {"mul_scalar", "m", WITH(FLOAT(-2)), MIN}, /* a negative factor turns it */
    {"mul_scalar", "n", WITH(FLOAT(-2)), MAX},
    {"div_scalar", "m", WITH(FLOAT(-2)), MIN},
    {"neg", "m", ALONE, MIN},
    {"sub", "mr", ALONE, MAX},
    {"sub", "rm", ALONE, MIN}, /* R - P(max) too */
    {"rsub_scalar", "m", WITH(INT(1)), MIN},
    {"where_self", "cmr", ALONE, MAX},
    {"where_self", "cmm", ALONE, MAX},
    {"masked_fill_scalar", "nc", WITH(FLOAT(7)), MIN},
    {"gather", "m", WITH(INT(0)), MAX},
    {"sort", "r", ALONE, NOT},
    /* not */
    {"mul_scalar", "m", WITH(INT(0)), NOT},
    {"mul", "mr", ALONE, NOT},
    {"add", "mm", ALONE, NOT},
    {"maximum", "nn", ALONE, NOT},
    {"amax", "n", ALONE, NOT},
    {"silu", "m", ALONE, NOT},
    {"sqrt", "m", ALONE, NOT},
    {"sign", "m", ALONE, NOT},
    {"sum", "m", ALONE, NOT},
    {"any", "m", ALONE, NOT},
    {"gt_scalar", "m", WITH(INT(0)), NOT},
    {"add", "sm", ALONE, NOT}, /* two kinds have no order-free value */
};

static double datum(int operand, int term, int at)
{
    uint32_t h = (uint32_t)(operand * 131 + term * 17 + at + 1) * 2654435761u;
    h ^= h >> 15;
    return ((int)(h % 61) - 30) / 8.0;
}

/* An element of the whole, or one of its two terms. */
static double element(char kind, int operand, int term, int at, bool nan)
{
    double a = datum(operand, 0, at), b = datum(operand, 1, at);
    if (nan && (kind == 'm' || kind == 'n') && at == 2) b = NAN;
    bool a_first = kind == 'm' ? a > b : a < b;
    if (term >= 0) return term ? b : a;
    switch (kind) {
    case 's':
    case 'h':
        return a + b;
    case 'a':
        return (a + b) / 2;
    case 'm':
    case 'n':
        return isnan(b) ? b : (a_first ? a : b);
    default:
        return 0;
    }
}

/* An operand of the row, as its letter says, or (whole) combined. */
static mw_tensor *make(char kind, int operand, bool whole, bool nan)
{
    bool partial = strchr("smnah", kind) != NULL;
    mw_dtype dtype = kind == 'h' ? MW_DTYPE_f64 : MW_DTYPE_f32;
    float values[N];
    double wide[N];
    const int64_t shape[] = {N};
    if (kind == 'c') {
        const uint8_t truth[N] = {1, 0, 1, 1, 0, 0};
        return mw_from_data(MW_DTYPE_bool, shape, 1, truth, NULL, "replicated");
    }
    for (int i = 0; i < N; i++) {
        double v = kind == 'z' ? 0 : fabs(datum(operand, 5, i)) + 0.5; /* r: divides, too */
        if (partial) v = element(kind, operand, whole ? -1 : mw_rank_index(), i, nan);
        values[i] = (float)(wide[i] = v);
    }
    const void *data = dtype == MW_DTYPE_f64 ? (const void *)wide : values;
    if (whole || !partial) return mw_from_data(dtype, shape, 1, data, NULL, "replicated");
    mw_layout l = mw_layout_replicated(dtype, 1, shape);
    mw_reduce reduce = kind == 'm' ? MAX : kind == 'n' ? MIN : kind == 'a' ? MW_REDUCE_AVG : SUM;
    l.npartial = 1;
    l.partial[0] = (mw_partial){.kind = (uint16_t)reduce, .axis = 0, .major = 1, .size = 2};
    mw_tensor *t = mw_empty_layout(NULL, &l);
    void *to;
    int64_t count;
    if (!t || mw_local_data(t, &to, &count) != MW_OK) return NULL;
    memcpy(to, data, (size_t)(count * mw_dtype_size(dtype)));
    return t;
}

static mw_tensor *call(const row *r, bool whole, bool nan)
{
    static const int64_t place[N] = {3, 1, 0, 5, 2, 4};
    mw_value value[OPERANDS + MORE + 1];
    mw_tensor *out[2];
    int n = 0, nout = 0;
    for (; r->in[n]; n++)
        value[n] = (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = make(r->in[n], n, whole, nan)};
    for (int i = 0; i < r->nmore; i++)
        value[n++] = r->more[i];
    if (strcmp(r->word, "gather") == 0)
        value[n++] = (mw_value){.kind = MW_ARG_TENSOR,
                                .as.tensor = mw_from_data(MW_DTYPE_i64, (const int64_t[]){N}, 1,
                                                          place, NULL, "replicated")};
    return mw_op_call(r->word, value, n, out, 2, &nout) == MW_OK ? out[0] : NULL;
}

static mw_status try_row(const row *r, bool nan)
{
    double a[N * N], b[N * N];
    int64_t before = mw_usage_get().bytes_received, count = 1;
    mw_tensor *got = call(r, false, nan);
    int64_t moved = mw_usage_get().bytes_received - before;
    mw_tensor *want = call(r, true, nan);
    EXPECT(got && want);
    const mw_layout *l = mw_tensor_layout(got);
    mw_reduce gives = l->npartial ? (mw_reduce)l->partial[0].kind : NOT;
    if (gives != r->gives)
        return run_wrong(__FILE__, __LINE__, "%s(%s) lies as %s", r->word, r->in, run_layout(got));
    if (r->gives && moved)
        return run_wrong(__FILE__, __LINE__, "%s(%s) moves %lld bytes", r->word, r->in,
                         (long long)moved);
    for (int d = 0; d < mw_tensor_ndim(got); d++)
        count *= mw_tensor_size(got, d);
    EXPECT_INT(mw_tensor_dtype(got), mw_tensor_dtype(want));
    EXPECT_OK(mw_read(got, MW_DTYPE_f64, a, count * 8));
    EXPECT_OK(mw_read(want, MW_DTYPE_f64, b, count * 8));
    for (int i = 0; i < count; i++)
        if (!(isnan(a[i]) && isnan(b[i])) && !(fabs(a[i] - b[i]) <= 1e-5 * (1 + fabs(b[i]))))
            return run_wrong(__FILE__, __LINE__, "%s(%s): element %d is %.9g, not %.9g", r->word,
                             r->in, i, a[i], b[i]);
    return MW_OK;
}

static mw_status table(void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int nan = 0; nan < 2; nan++) {
            mw_scope_begin(rows[i].word);
            mw_status status = try_row(&rows[i], nan);
            (void)mw_scope_end(NULL);
            if (status != MW_OK) return status;
        }
    return MW_OK;
}

static void test_rows_of_the_table(void **state)
{
    (void)state;
    run_on("x=2", table);
}

/* Terms over one axis each: the product holds terms over both. */
static mw_status two_axes(void *user)
{
    (void)user;
    mw_tensor *factor[2];
    double value;
    for (int i = 0; i < 2; i++) {
        mw_layout l = mw_layout_replicated(MW_DTYPE_f32, 1, (const int64_t[]){1});
        l.npartial = 1;
        l.partial[0] =
            (mw_partial){.kind = MW_REDUCE_SUM, .axis = (int16_t)i, .major = 1, .size = 2};
        factor[i] = mw_empty_layout(NULL, &l);
        void *to;
        int64_t count;
        EXPECT_OK(mw_local_data(factor[i], &to, &count));
        *(float *)to = (float)(3 + 2 * i + mw_mesh_coord(mw_mesh_world(), mw_rank_index(), i));
    }
    int64_t before = mw_usage_get().bytes_received;
    mw_tensor *product = mw_mul(factor[0], factor[1]);
    EXPECT(product);
    EXPECT_INT(mw_usage_get().bytes_received, before);
    EXPECT_INT(mw_tensor_layout(product)->npartial, 2);
    EXPECT_OK(mw_item(product, &value));
    EXPECT_INT(value, 7 * 11);
    /* over the same axis there is no such sum */
    mw_tensor *square = mw_mul(factor[0], factor[0]);
    EXPECT(square);
    EXPECT_OK(mw_item(square, &value));
    EXPECT_INT(value, 7 * 7);
    return MW_OK;
}

static void test_terms_over_two_axes(void **state)
{
    (void)state;
    run_on("x=2,y=2", two_axes);
}

/* What is written in place keeps how it lies, whatever the op does. */
static mw_status in_place(void *user)
{
    (void)user;
    static const char kinds[] = "smn";
    for (const char *kind = kinds; *kind; kind++)
        for (int op = 0; op < 4; op++) {
            mw_tensor *a = make(*kind, 0, false, false), *b = make(*kind, 0, true, false);
            char lies[256];
            double x[N], y[N];
            (void)snprintf(lies, sizeof lies, "%s", run_layout(a));
            mw_tensor *both[] = {a, b};
            for (int i = 0; i < 2; i++) {
                mw_tensor *t = op == 0   ? mw_neg_(both[i])
                               : op == 1 ? mw_mul__scalar(both[i], -2)
                               : op == 2 ? mw_fill__scalar(both[i], 3)
                                         : mw_add_(both[i], make('r', 1, true, false), 1);
                EXPECT(t);
            }
            EXPECT(strcmp(run_layout(a), lies) == 0);
            EXPECT_OK(mw_read(a, MW_DTYPE_f64, x, sizeof x));
            EXPECT_OK(mw_read(b, MW_DTYPE_f64, y, sizeof y));
            for (int i = 0; i < N; i++)
                if (!(fabs(x[i] - y[i]) <= 1e-5 * (1 + fabs(y[i]))))
                    return run_wrong(__FILE__, __LINE__, "op %d of '%c': %g, not %g", op, *kind,
                                     x[i], y[i]);
        }
    return MW_OK;
}

static void test_in_place_forms(void **state)
{
    (void)state;
    run_on("x=2", in_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_the_table),
        cmocka_unit_test(test_terms_over_two_axes),
        cmocka_unit_test(test_in_place_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
