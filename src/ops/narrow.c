/* Finds narrower forms of a matrix and writes it in the first that has its bits. */
#include "ops/narrow.h"

#include <math.h>

typedef struct form {
    mw__gemv_type type;
    size_t size;      /* of a block or an element */
    int64_t elements; /* in it */
    bool (*put)(void *to, const float *from, int64_t n);
    void (*get)(const void *from, float *to, int64_t n);
} form;

/* ---- blocks -----------------------------------------------------------------------------------
 */

static uint32_t bits_of(float a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

static bool same_bits(float a, float b)
{
    return bits_of(a) == bits_of(b);
}

/* Are all n values base + q * step with q up to `most`? Their q. */
static bool fits(const float *from, int64_t n, float base, float step, int most, uint8_t *ret)
{
    double inverse = step > 0 ? 1 / (double)step : 0;
    for (int64_t i = 0; i < n; i++) {
        double q = ((double)from[i] - (double)base) * inverse + 0.5;
        if (!(q < (double)most + 1)) return false;
        int whole = (int)q;
        if (!same_bits((float)whole * step + base, from[i])) return false;
        ret[i] = (uint8_t)whole;
    }
    return true;
}

/* A step whose products with any q are exact: 16 bits of it are used at most. */
static bool is_short(float step)
{
    return (bits_of(step) & 0xff) == 0 && (step == 0 || step > 0x1p-100f);
}

/* The smallest value is the base; the next is some whole number of steps from it: the largest step
 * that fits is as good as the one that the values were made with. */
static bool find_step(const float *from, int64_t n, int most, float *ret_step, float *ret_base,
                      uint8_t *ret_q)
{
    float base = from[0], top = from[0], next = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(from[i])) return false;
        base = MW_MIN(base, from[i]);
        top = MW_MAX(top, from[i]);
    }
    for (int64_t i = 0; i < n; i++)
        if (from[i] > base) next = MW_MIN(next, from[i]);
    *ret_base = base;
    *ret_step = 0;
    if (base == top) return fits(from, n, base, 0, most, ret_q);
    double gap = (double)next - (double)base, range = (double)top - (double)base;
    for (int part = 1; part * range <= (most + 0.5) * gap; part++) {
        *ret_step = (float)(gap / part);
        if (is_short(*ret_step) && fits(from, n, base, *ret_step, most, ret_q)) return true;
    }
    return false;
}

static bool put_block4(void *to, const float *from, int64_t n)
{
    mw__block4 *b = to;
    uint8_t q[MW_BLOCK] = {0};
    if (!find_step(from, n, 15, &b->step, &b->base, q)) return false;
    for (int i = 0; i < MW_BLOCK / 2; i++)
        b->q[i] = (uint8_t)(q[i] | q[i + MW_BLOCK / 2] << 4);
    return true;
}

static void get_block4(const void *from, float *to, int64_t n)
{
    const mw__block4 *b = from;
    for (int64_t i = 0; i < n; i++) {
        int q = i < MW_BLOCK / 2 ? b->q[i] & 15 : b->q[i - MW_BLOCK / 2] >> 4;
        to[i] = (float)q * b->step + b->base;
    }
}

static bool put_block8(void *to, const float *from, int64_t n)
{
    mw__block8 *b = to;
    memset(b->q, 0, sizeof b->q);
    return find_step(from, n, 255, &b->step, &b->base, b->q);
}

static void get_block8(const void *from, float *to, int64_t n)
{
    const mw__block8 *b = from;
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)b->q[i] * b->step + b->base;
}

/* ---- halves -----------------------------------------------------------------------------------
 */

static void get_bf16(const void *from, float *to, int64_t n)
{
    (void)n;
    *to = mw__bf16_to_f32(*(const uint16_t *)from);
}

static void get_f16(const void *from, float *to, int64_t n)
{
    (void)n;
    *to = mw__f16_to_f32(*(const uint16_t *)from);
}

static bool put_bf16(void *to, const float *from, int64_t n)
{
    (void)n;
    float back;
    *(uint16_t *)to = mw__f32_to_bf16(*from);
    get_bf16(to, &back, 1);
    return same_bits(back, *from);
}

static bool put_f16(void *to, const float *from, int64_t n)
{
    (void)n;
    float back;
    *(uint16_t *)to = mw__f32_to_f16(*from);
    get_f16(to, &back, 1);
    return same_bits(back, *from);
}

/* ---- a matrix ---------------------------------------------------------------------------------
 */

static const form forms[] = {
    {MW_GEMV_BLOCK4, sizeof(mw__block4), MW_BLOCK, put_block4, get_block4},
    {MW_GEMV_BLOCK8, sizeof(mw__block8), MW_BLOCK, put_block8, get_block8},
    {MW_GEMV_BF16, sizeof(uint16_t), 1, put_bf16, get_bf16},
    {MW_GEMV_F16, sizeof(uint16_t), 1, put_f16, get_f16},
};

static const float *row_of(const mw_mat *m, int64_t row)
{
    return (const float *)m->data + row * m->row_stride;
}

static bool put_row(const form *f, const mw_mat *m, int64_t row, char *to)
{
    const float *from = row_of(m, row);
    for (int64_t k = 0; k < m->cols; k += f->elements, to += f->size)
        if (!f->put(to, from + k, MW_MIN(f->elements, m->cols - k))) return false;
    return true;
}

/* The last row is tried before all: a form that does not fit is mostly seen there at once. */
static mw_status try_form(const form *f, const mw_mat *m, mw_narrow **ret)
{
    int64_t ld = (m->cols + f->elements - 1) / f->elements, line = ld * (int64_t)f->size, bytes;
    if (line >= m->cols * (int64_t)sizeof(float)) return MW_OK;
    MW_TRY(mw__mul_size(line, m->rows, &bytes));
    mw_storage *storage;
    MW_TRY(mw__storage_new(bytes, &storage));
    mw_narrow *n = mw__alloc(sizeof *n);
    if (!n) {
        mw__storage_unref(storage);
        return MW_NOMEM();
    }
    char *data = storage->data;
    bool fits_all = put_row(f, m, m->rows - 1, data);
    for (int64_t i = 0; i < m->rows && fits_all; i++)
        fits_all = put_row(f, m, i, data + i * line);
    *n = (mw_narrow){f->type, m->rows, m->cols, ld, bytes, storage};
    if (fits_all)
        *ret = n;
    else
        mw__narrow_free(n);
    return MW_OK;
}

mw_status mw__narrow_make(const mw_mat *m, mw_narrow **ret)
{
    *ret = NULL;
    if (m->dtype != MW_DTYPE_f32 || m->rows == 0 || m->cols == 0) return MW_OK;
    if (m->col_stride != 1 && m->cols > 1) return MW_OK;
    for (int i = 0; i < MW_COUNT(forms) && !*ret; i++)
        if (forms[i].type != MW_GEMV_F16 || mw__row_kernels_get()->widens_f16)
            MW_TRY(try_form(&forms[i], m, ret));
    return MW_OK;
}

void mw__narrow_free(mw_narrow *n)
{
    if (!n) return;
    mw__storage_unref(n->storage);
    mw__free(n, sizeof *n);
}

static const form *form_of(const mw_narrow *n)
{
    const form *f = forms;
    while (f->type != n->type)
        f++;
    return f;
}

const void *mw__narrow_at(const mw_narrow *n, int64_t row)
{
    return (const char *)n->storage->data + row * n->ld * (int64_t)form_of(n)->size;
}

void mw__narrow_row(const mw_narrow *n, int64_t row, float *ret)
{
    const form *f = form_of(n);
    const char *at = mw__narrow_at(n, row);
    for (int64_t k = 0; k < n->cols; k += f->elements, at += f->size)
        f->get(at, ret + k, MW_MIN(f->elements, n->cols - k));
}
