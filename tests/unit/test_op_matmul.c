/* Matrix products against three loops over single elements, in shapes, dtypes and memory layouts
 * that take every way through matrix.c; and the row kernels of every instruction set against each
 * other. */
#include "op_run.h"
#include "ops/gemv.h"
#include "ops/matrix.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

static const uint64_t seed = 20240917;
static uint64_t drawn;

static int64_t pick(int64_t n)
{
    return (int64_t)(mw__random_bits(seed, drawn++) % (uint64_t)n);
}

/* Sizes on both sides of every limit: 0, 1, few rows, a vector, many. */
static int64_t size(void)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 16, 17, 33, 40};
    return pick(24) == 0 ? 0 : sizes[pick(MW_COUNT(sizes))];
}

static double tolerance(mw_dtype dtype, double want, double terms)
{
    if (mw_dtype_kind_of(dtype) != MW_KIND_FLOAT) return 0;
    double sums = dtype == MW_DTYPE_f64 ? 1e-14 : 1e-6;
    return op_run_epsilon(dtype) * fabs(want) + sums * terms;
}

#define LL(x) ((long long)(x))

/* ---- the ops against loops ----------------------------------------------------------------------
 */

/* What the ops compute: [batch m k] x [batch k n], with operands found by offsets. */
typedef struct naive {
    int64_t batch, m, n, k;
    const mw_view *a, *b, *self;
    bool b_flipped; /* [n k] */
    double alpha, beta;
} naive;

/* Element [batch, row, col] of an operand of 2 or 3 dims. */
static double at(const mw_view *v, int64_t batch, int64_t row, int64_t col)
{
    int64_t nth = v->ndim == 3 ? batch : 0;
    nth = (nth * v->shape[v->ndim - 2] + row) * v->shape[v->ndim - 1] + col;
    return op_run_get(v, nth);
}

static void check(const naive *w, const mw_view *out, const char *text)
{
    for (int64_t i = 0; i < w->batch * w->m * w->n; i++) {
        int64_t batch = i / w->n / w->m, row = i / w->n % w->m, col = i % w->n;
        double sum = 0, terms = 0;
        for (int64_t k = 0; k < w->k; k++) {
            double product = at(w->a, batch, row, k) *
                             (w->b_flipped ? at(w->b, batch, col, k) : at(w->b, batch, k, col));
            sum += product;
            terms += fabs(product);
        }
        double self = w->self ? op_run_get_broadcast(w->self, out, i) : 0;
        double want = w->alpha * sum + w->beta * self, got = op_run_get(out, i);
        terms = fabs(w->alpha) * terms + fabs(w->beta * self);
        if (out->dtype == MW_DTYPE_u8) want = (double)(uint8_t)(int64_t)want; /* wraps */
        if (!(fabs(got - want) <= tolerance(out->dtype, want, terms)))
            fail_msg("%s, seed %llu: element %lld is %.9g, not %.9g", text, LL(seed), LL(i), got,
                     want);
    }
}

static const char *const dtypes[] = {"f32", "f32", "f64", "bf16", "f16", "i64", "i32", "u8"};

static const char *dtype_of_case(void)
{
    return dtypes[pick(MW_COUNT(dtypes))];
}

static void run_case(op_run *run, const char *word, const char *text, bool restride)
{
    uint64_t order = restride ? (uint64_t)pick(1000) : 0;
    if (op_run_make(run, op_run_find(word), text, seed + drawn, order) != MW_OK ||
        op_run_kernel(run) != MW_OK)
        fail_msg("%s(%s), seed %llu: %s", word, text, LL(seed), mw_last_error()->says);
}

static void mm_is_three_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        naive w = {1, size(), size(), size(), NULL, NULL, NULL, false, 1, 0};
        const char *t = dtype_of_case();
        char text[200];
        op_run run;
        snprintf(text, sizeof text, "%s[%lld, %lld], %s[%lld, %lld]", t, LL(w.m), LL(w.k), t,
                 LL(w.k), LL(w.n));
        run_case(&run, "mm", text, pick(3) > 0);
        w.a = &run.in[0], w.b = &run.in[1];
        check(&w, &run.out[0], text);
        op_run_done(&run);
    }
}

static void addmm_adds_the_broadcast_term(void **state)
{
    (void)state;
    static const char *const scales[] = {"", ", beta=0", ", alpha=2", ", beta=3, alpha=0",
                                         ", beta=2, alpha=3"};
    static const double alphas[] = {1, 1, 2, 0, 3}, betas[] = {1, 0, 1, 3, 2};
    for (int i = 0; i < 300; i++) {
        naive w = {1, size(), size(), size(), NULL, NULL, NULL, false, 1, 1};
        const char *t = dtype_of_case();
        char text[200], self[64];
        int64_t scale = pick(MW_COUNT(scales)), form = pick(4);
        op_run run;
        if (form == 0) snprintf(self, sizeof self, "%s[%lld]", t, LL(w.n));
        if (form == 1) snprintf(self, sizeof self, "%s[%lld, 1]", t, LL(w.m));
        if (form == 2) snprintf(self, sizeof self, "%s[]", t);
        if (form == 3) snprintf(self, sizeof self, "%s[%lld, %lld]", t, LL(w.m), LL(w.n));
        snprintf(text, sizeof text, "%s, %s[%lld, %lld], %s[%lld, %lld]%s", self, t, LL(w.m),
                 LL(w.k), t, LL(w.k), LL(w.n), scales[scale]);
        run_case(&run, "addmm", text, pick(3) > 0);
        w.self = &run.in[0], w.a = &run.in[1], w.b = &run.in[2];
        w.alpha = alphas[scale], w.beta = betas[scale];
        check(&w, &run.out[0], text);
        op_run_done(&run);
    }
}

static void batches_are_multiplied_one_by_one(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        naive w = {pick(4), size(), size(), size(), NULL, NULL, NULL, false, 1, 0};
        const char *t = dtype_of_case();
        bool add = pick(2);
        char text[240], self[64] = "";
        op_run run;
        if (add) snprintf(self, sizeof self, "%s[%lld, 1, %lld], ", t, LL(w.batch), LL(w.n));
        snprintf(text, sizeof text, "%s%s[%lld, %lld, %lld], %s[%lld, %lld, %lld]%s", self, t,
                 LL(w.batch), LL(w.m), LL(w.k), t, LL(w.batch), LL(w.k), LL(w.n),
                 add ? ", beta=2, alpha=3" : "");
        run_case(&run, add ? "baddbmm" : "bmm", text, pick(3) > 0);
        w.self = add ? &run.in[0] : NULL;
        w.a = &run.in[add], w.b = &run.in[1 + add];
        if (add) w.alpha = 3, w.beta = 2;
        check(&w, &run.out[0], text);
        op_run_done(&run);
    }
}

static void linear_takes_rows_of_the_weight(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        naive w = {1, size(), size(), size(), NULL, NULL, NULL, true, 1, 0};
        int64_t outer = 1 + pick(3);
        const char *t = dtype_of_case();
        bool bias = pick(2);
        char text[240], last[64] = "";
        op_run run;
        if (bias) snprintf(last, sizeof last, ", %s[%lld]", t, LL(w.n));
        snprintf(text, sizeof text, "%s[%lld, %lld, %lld], %s[%lld, %lld]%s", t, LL(outer), LL(w.m),
                 LL(w.k), t, LL(w.n), LL(w.k), last);
        run_case(&run, "linear", text, pick(3) > 0);
        w.batch = outer;
        w.a = &run.in[0], w.b = &run.in[1], w.self = bias ? &run.in[2] : NULL;
        w.beta = bias;
        check(&w, &run.out[0], text);
        op_run_done(&run);
    }
}

/* ---- matmul's combinations of dims --------------------------------------------------------------
 */

/* One element of matmul by the definition: vectors grow a dim, leading dims broadcast. */
static double matmul_at(const mw_view *a, const mw_view *b, const mw_view *out, int64_t nth,
                        double *ret_terms)
{
    int64_t index[MW_MAX_DIMS] = {0}, k = a->shape[a->ndim - 1];
    double sum = 0;
    int od = out->ndim;
    for (int d = od - 1; d >= 0; d--) {
        index[d] = nth % out->shape[d];
        nth /= out->shape[d];
    }
    int64_t col = b->ndim > 1 ? index[--od] : 0, row = a->ndim > 1 ? index[--od] : 0;
    int64_t base[2] = {0, 0};
    for (int d = 0; d < od; d++) {
        const mw_view *both[2] = {a, b};
        for (int i = 0; i < 2; i++) {
            int own = d - (od - (both[i]->ndim - 2));
            if (own >= 0 && both[i]->shape[own] != 1) base[i] += index[d] * both[i]->stride[own];
        }
    }
    *ret_terms = 0;
    for (int64_t i = 0; i < k; i++) {
        int64_t x = base[0] + i * a->stride[a->ndim - 1];
        int64_t y = base[1] + i * b->stride[b->ndim > 1 ? b->ndim - 2 : 0];
        if (a->ndim > 1) x += row * a->stride[a->ndim - 2];
        if (b->ndim > 1) y += col * b->stride[b->ndim - 1];
        double product = mw__element_get((char *)a->data + x * mw_dtype_size(a->dtype), a->dtype) *
                         mw__element_get((char *)b->data + y * mw_dtype_size(b->dtype), b->dtype);
        sum += product;
        *ret_terms += fabs(product);
    }
    return sum;
}

static void matmul_joins_any_dims(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "f32[6], f32[6]",
        "f32[5, 6], f32[6]",
        "f32[6], f32[6, 5]",
        "f32[12, 6], f32[6, 9]",
        "f32[3, 5, 6], f32[6, 9]",
        "f32[3, 5, 6], f32[6]",
        "f32[6], f32[3, 6, 2]",
        "f32[4, 6], f32[3, 6, 2]",
        "f32[2, 1, 9, 6], f32[3, 6, 8]",
        "bf16[1, 3, 9, 6], bf16[2, 1, 6, 8]",
        "f64[2, 3, 4, 5], f64[2, 3, 5, 1]",
        "i64[2, 3, 4], i64[4, 3]",
        "f32[2, 0, 6], f32[6, 3]",
        "f32[2, 3, 0], f32[0, 3]",
        "f32[0], f32[0]",
    };
    for (int c = 0; c < MW_COUNT(cases); c++)
        for (int order = 0; order < 6; order++) {
            op_run run;
            run_case(&run, "matmul", cases[c], order > 0);
            for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
                double terms, want = matmul_at(&run.in[0], &run.in[1], &run.out[0], i, &terms);
                double got = op_run_get(&run.out[0], i);
                if (!(fabs(got - want) <= tolerance(run.out[0].dtype, want, terms)))
                    fail_msg("matmul(%s): element %lld is %g, not %g", cases[c], LL(i), got, want);
            }
            op_run_done(&run);
        }
}

static void expanded_operands_are_read_in_place(void **state)
{
    (void)state;
    static const int64_t rows[] = {3, 12};
    for (int c = 0; c < 8; c++) {
        naive w = {1, rows[c & 1], 11, 9, NULL, NULL, NULL, false, 1, 0};
        char text[100];
        op_run run;
        snprintf(text, sizeof text, "f32[%lld, 9], f32[9, 11]", LL(w.m));
        if (op_run_make(&run, op_run_find("mm"), text, seed, 0) != MW_OK) fail();
        if (c & 2) run.in[0].stride[0] = 0;
        if (c & 4)
            run.in[1].stride[0] = 0;
        else
            run.in[1].stride[1] = 0;
        assert_int_equal(op_run_kernel(&run), MW_OK);
        w.a = &run.in[0], w.b = &run.in[1];
        check(&w, &run.out[0], text);
        op_run_done(&run);
    }
}

/* A partial sum of bf16 products is kept in f32: its error is that of f32. */
static void narrow_products_can_be_given_wide(void **state)
{
    (void)state;
    static const char *const cases[] = {"bf16[2, 33], bf16[33, 5]", "bf16[9, 33], bf16[33, 10]"};
    for (int c = 0; c < 2; c++) {
        op_run run;
        if (op_run_make(&run, op_run_find("mm"), cases[c], seed, 0) != MW_OK) fail();
        mw_view *out = &run.out[0];
        naive w = {1, out->shape[0], out->shape[1], 33, &run.in[0], &run.in[1], NULL, false, 1, 0};
        mw__view_set(out, MW_DTYPE_f32, 2, run.rule.out_meta[0].shape);
        out->data = mw__arena_zalloc(&run.arena, 4 * (size_t)mw__view_count(out));
        assert_int_equal(op_run_kernel(&run), MW_OK);
        check(&w, out, cases[c]);
        op_run_done(&run);
    }
}

static void a_sum_without_terms_is_plus_zero(void **state)
{
    (void)state;
    static const char *const cases[] = {"f32[2, 0], f32[0, 3]", "f32[9, 0], f32[0, 12]",
                                        "bf16[2, 0], bf16[0, 9]", "i64[2, 0], i64[0, 3]"};
    for (int c = 0; c < MW_COUNT(cases); c++) {
        op_run run;
        run_case(&run, "mm", cases[c], false);
        for (int64_t i = 0; i < mw__view_count(&run.out[0]); i++) {
            double got = op_run_get(&run.out[0], i);
            assert_true(got == 0 && !signbit(got));
        }
        op_run_done(&run);
    }
}

static void beta_zero_does_not_read_self(void **state)
{
    (void)state;
    op_run run;
    if (op_run_make(&run, op_run_find("addmm"), "f32[3], f32[2, 4], f32[4, 3], beta=0", seed, 0) !=
        MW_OK)
        fail();
    for (int i = 0; i < 3; i++)
        ((float *)run.in[0].data)[i] = NAN;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    for (int i = 0; i < 6; i++)
        assert_true(!isnan(op_run_get(&run.out[0], i)));
    op_run_done(&run);
}

static void integers_wrap_and_keep_all_bits(void **state)
{
    (void)state;
    op_run run;
    if (op_run_make(&run, op_run_find("mm"), "i64[1, 2], i64[2, 1]", seed, 0) != MW_OK) fail();
    int64_t *a = run.in[0].data, *b = run.in[1].data;
    a[0] = INT64_MAX, b[0] = 2, a[1] = ((int64_t)1 << 60) + 1, b[1] = 3;
    assert_int_equal(op_run_kernel(&run), MW_OK);
    uint64_t want = (uint64_t)a[0] * 2 + (uint64_t)a[1] * 3;
    assert_true(*(uint64_t *)run.out[0].data == want);
    op_run_done(&run);
}

/* ---- refusals -----------------------------------------------------------------------------------
 */

static void refuses(const char *word, const char *text, mw_status code, const char *says)
{
    op_run run;
    mw_error_clear();
    mw_status status = op_run_make(&run, op_run_find(word), text, seed, 0);
    if (status == MW_OK) status = op_run_kernel(&run);
    op_run_done(&run);
    if (status != code || !strstr(mw_last_error()->says, says))
        fail_msg("%s(%s): status %d, says: %s", word, text, status, mw_last_error()->says);
}

static void misfits_are_explained(void **state)
{
    (void)state;
    refuses("matmul", "f32[], f32[3]", MW_ERR_SHAPE, "both need at least one dim");
    refuses(
        "matmul", "f32[2, 3], f32[4, 5]", MW_ERR_SHAPE,
        "self is f32[2, 3] and other is f32[4, 5]: the last dim of self is not the last but one");
    refuses("matmul", "f32[3], f32[4]", MW_ERR_SHAPE, "their last dims differ");
    refuses("matmul", "f32[2, 2, 3], f32[3, 3, 4]", MW_ERR_SHAPE, "do not broadcast");
    refuses("mm", "f32[2, 3], f32[4, 5]", MW_ERR_SHAPE, "");
    refuses("mm", "f32[2, 3], f64[3, 5]", MW_ERR_ARG, "");
    refuses("mm", "bool[2, 3], bool[3, 5]", MW_ERR_UNSUPPORTED, "mm: not defined for bool");
    refuses("addmm", "i64[5], i64[2, 3], i64[3, 5], alpha=0.5", MW_ERR_ARG,
            "argument 'alpha' is 0.5, but the tensors hold integers");
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    static const char *const cases[] = {"bf16[2, 9], bf16[9, 3]", "f16[12, 9], f16[9, 10]",
                                        "i32[3, 4], i32[4, 2]", "f32[9, 0], f32[0, 9]"};
    for (int c = 0; c < MW_COUNT(cases); c++) {
        op_run run;
        if (op_run_make(&run, op_run_find("mm"), cases[c], seed, 0) != MW_OK) fail();
        mw_fault_allocator fault;
        mw_status status = MW_ERR_NOMEM;
        int tries = 0;
        for (int64_t nth = 1; status == MW_ERR_NOMEM && nth < 20; nth++, tries++) {
            mw_arena scratch;
            mw_fault_allocator_init(&fault, nth, 0);
            mw_allocator_use(&fault.allocator);
            mw__arena_init(&scratch);
            mw_product p = {.a = mw__mat_of(&run.in[0], 0),
                            .b = mw__mat_of(&run.in[1], 0),
                            .c = mw__mat_of(&run.out[0], 0),
                            .alpha = 1,
                            .int_alpha = 1};
            status = mw__product_run(&p, &scratch);
            mw__arena_done(&scratch);
            mw_allocator_use(NULL);
            assert_int_equal(fault.live, 0);
        }
        assert_int_equal(status, MW_OK);
        assert_true(tries >= 2);
        op_run_done(&run);
    }
}

/* ---- the row kernels ----------------------------------------------------------------------------
 */

enum { MOST = 70 };

typedef struct kernel_case {
    float x[MW_GEMV_ROWS * MOST], w[MOST * MOST];
    uint16_t narrow[MOST * MOST];
    double x64[MW_GEMV_ROWS * MOST], w64[MOST * MOST];
    float y[2][MW_GEMV_ROWS * MOST];
    double y64[2][MW_GEMV_ROWS * MOST];
} kernel_case;

static void draw(kernel_case *c, mw__gemv_type type)
{
    for (int i = 0; i < MW_GEMV_ROWS * MOST; i++)
        c->x64[i] = c->x[i] = (float)mw__random_normal(seed, drawn++);
    for (int i = 0; i < MOST * MOST; i++) {
        float w = (float)mw__random_normal(seed, drawn++);
        c->narrow[i] = type == MW_GEMV_F16 ? mw__f32_to_f16(w) : mw__f32_to_bf16(w);
        if (type == MW_GEMV_F16) w = mw__f16_to_f32(c->narrow[i]);
        if (type == MW_GEMV_BF16) w = mw__bf16_to_f32(c->narrow[i]);
        c->w64[i] = c->w[i] = w;
    }
}

static mw__gemv gemv_of(kernel_case *c, mw__gemv_type type, int set)
{
    mw__gemv g = {.x = c->x, .y = c->y[set], .w = c->w};
    if (type == MW_GEMV_BF16 || type == MW_GEMV_F16) g.w = c->narrow;
    if (type == MW_GEMV_F64) g.x = c->x64, g.w = c->w64, g.y = c->y64[set];
    return g;
}

static void compare_sets(kernel_case *c, mw__gemv_type type, bool dot, int m, int64_t n, int64_t k)
{
    const mw__row_kernels *sets[2];
    int count = mw__row_kernels_all(sets);
    for (int s = 0; s < count; s++) {
        mw__gemv g = gemv_of(c, type, s);
        g.m = m, g.n = n, g.k = k, g.ldx = k, g.ldw = (dot ? k : n) + 1, g.ldy = n;
        (dot ? sets[s]->dot : sets[s]->axpy)[type](&g);
        for (int64_t i = 0; i < m * n; i++) {
            double want = 0, terms = 0;
            for (int64_t j = 0; j < k; j++) {
                double product =
                    c->x64[i / n * k + j] * c->w64[dot ? i % n * g.ldw + j : j * g.ldw + i % n];
                want += product, terms += fabs(product);
            }
            bool wide = type == MW_GEMV_F64;
            double got = wide ? c->y64[s][i] : (double)c->y[s][i];
            if (!(fabs(got - want) <= (wide ? 1e-14 : 1e-6) * terms))
                fail_msg("%s type %d %s m %d n %lld k %lld: %g, not %g", sets[s]->name, type,
                         dot ? "dot" : "axpy", m, LL(n), LL(k), got, want);
        }
    }
}

static void every_instruction_set_agrees(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 3, 4, 7, 15, 16, 17, 31, 32, 35, 64, 69};
    static kernel_case c;
    for (int type = 0; type < MW_GEMV_PLAIN; type++)
        for (int i = 0; i < 150; i++) {
            int64_t n = sizes[1 + pick(MW_COUNT(sizes) - 1)], k = sizes[pick(MW_COUNT(sizes))];
            memset(c.y, 0, sizeof c.y);
            memset(c.y64, 0, sizeof c.y64);
            draw(&c, (mw__gemv_type)type);
            compare_sets(&c, (mw__gemv_type)type, i % 2, 1 + i % MW_GEMV_ROWS, n, k);
        }
}

/* The bits of an element depend on its row and column, not on how many of them there are. */
static void a_row_alone_gives_the_same_bits(void **state)
{
    (void)state;
    static kernel_case c;
    const mw__row_kernels *sets[2];
    int count = mw__row_kernels_all(sets);
    draw(&c, MW_GEMV_F32);
    for (int s = 0; s < count; s++)
        for (int dot = 0; dot < 2; dot++) {
            float all[MW_GEMV_ROWS * 21], one[21];
            mw__gemv g = {7, 21, 37, c.x, 37, c.w, dot ? 37 : 21, all, 21};
            (dot ? sets[s]->dot : sets[s]->axpy)[MW_GEMV_F32](&g);
            for (int row = 0; row < 7; row++) {
                mw__gemv single = {1, 21 - row, 37, c.x + row * 37, 37, c.w, g.ldw, one, 21};
                single.w = c.w + row * (dot ? 37 : 1);
                (dot ? sets[s]->dot : sets[s]->axpy)[MW_GEMV_F32](&single);
                assert_memory_equal(one, all + row * 21 + row, (size_t)(21 - row) * sizeof *one);
            }
        }
}

/* ---- many ranks ---------------------------------------------------------------------------------
 */

static void *multiply(void *user)
{
    const mw_product *shared = user;
    float own[12 * 33];
    mw_product p = *shared;
    mw_arena scratch;
    mw__arena_init(&scratch);
    p.c.data = own;
    intptr_t wrong = 0;
    for (int i = 0; i < 20; i++) {
        memset(own, 0, sizeof own);
        wrong |= mw__product_run(&p, &scratch) != MW_OK;
        wrong |= memcmp(own, shared->c.data, sizeof own) != 0;
    }
    mw__arena_done(&scratch);
    return (void *)wrong;
}

static void more_ranks_than_seats_get_the_same_bits(void **state)
{
    (void)state;
    enum { RANKS = 80 };
    op_run run;
    pthread_t thread[RANKS];
    if (op_run_make(&run, op_run_find("mm"), "f32[12, 40], f32[40, 33]", seed, 0) != MW_OK) fail();
    mw_product p = {.a = mw__mat_of(&run.in[0], 0),
                    .b = mw__mat_of(&run.in[1], 0),
                    .c = mw__mat_of(&run.out[0], 0),
                    .alpha = 1,
                    .int_alpha = 1};
    assert_int_equal(mw__product_run(&p, &run.arena), MW_OK);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, multiply, &p), 0);
    for (int i = 0; i < RANKS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    op_run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mm_is_three_loops),
        cmocka_unit_test(addmm_adds_the_broadcast_term),
        cmocka_unit_test(batches_are_multiplied_one_by_one),
        cmocka_unit_test(linear_takes_rows_of_the_weight),
        cmocka_unit_test(matmul_joins_any_dims),
        cmocka_unit_test(expanded_operands_are_read_in_place),
        cmocka_unit_test(narrow_products_can_be_given_wide),
        cmocka_unit_test(a_sum_without_terms_is_plus_zero),
        cmocka_unit_test(beta_zero_does_not_read_self),
        cmocka_unit_test(integers_wrap_and_keep_all_bits),
        cmocka_unit_test(misfits_are_explained),
        cmocka_unit_test(running_out_of_memory_is_an_error),
        cmocka_unit_test(every_instruction_set_agrees),
        cmocka_unit_test(a_row_alone_gives_the_same_bits),
        cmocka_unit_test(more_ranks_than_seats_get_the_same_bits),
    };
    print_message("seed %llu\n", LL(seed));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
