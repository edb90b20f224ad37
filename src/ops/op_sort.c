/* Sorting along a dim, with the positions. Stable: equal elements keep their order. NaN counts as
 * larger than any number. The dim must be whole on a rank: any element may end up anywhere. */
#include "ops/rows.h"
#include "ops/rule_parts.h"
#include "ops/search.h"

/* Merges runs of doubling length, between `order` and `other`; the result is in `order`. */
static void merge_sort(const mw__search_row *r, int sign, int64_t *order, int64_t *other)
{
    int64_t *from = order, *to = other, n = r->n;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t first = 0; first < n; first += 2 * run) {
            int64_t a = first, a_end = MW_MIN(first + run, n), b = a_end;
            int64_t b_end = MW_MIN(b + run, n);
            for (int64_t i = first; i < b_end; i++) {
                bool second =
                    a == a_end || (b < b_end && mw__search_before(r, from[b], from[a], sign));
                to[i] = second ? from[b++] : from[a++];
            }
        }
        int64_t *swap = from;
        from = to, to = swap;
    }
    if (from != order && n > 0) memcpy(order, from, (size_t)n * sizeof *order);
}

/* `values` may be NULL. */
static mw_status run_sort(const mw_kernel_call *k, const mw_view *values, const mw_view *places)
{
    mw_view in = k->in[0], from, value, place, values_rest = values ? *values : *places;
    mw_view places_rest = *places;
    int64_t index[MW_MAX_DIMS] = {0};
    void *buffer;
    int dim, sign = mw__arg_bool(k->call, 2, false) ? 1 : -1;
    MW_TRY(mw__arg_dim(k->call, 1, in.ndim, &dim));
    if (mw__view_count(&in) == 0) return MW_OK;
    mw__row_take(&in, dim, &from);
    mw__row_take(&values_rest, dim, &value);
    mw__row_take(&places_rest, dim, &place);
    int64_t n = from.shape[0];
    int64_t *order = mw__arena_alloc(k->scratch, 2 * (size_t)n * sizeof *order);
    if (!order) return MW_NOMEM();
    MW_TRY(mw__search_buffer(k, n, &buffer));
    do {
        from.data = mw__row_at(&in, index);
        value.data = mw__row_at(&values_rest, index);
        int64_t *to = mw__row_at(&places_rest, index);
        mw__search_row r = mw__search_row_of(&from, buffer);
        merge_sort(&r, sign, order, order + n);
        for (int64_t i = 0; i < n; i++) {
            to[i * place.stride[0]] = order[i];
            if (!values) continue;
            mw_view a = mw__row_element(&value, i), b = mw__row_element(&from, order[i]);
            mw__view_copy(&a, &b);
        }
    } while (mw__row_step(index, &in));
    return MW_OK;
}

static mw_status sort_kernel(const mw_kernel_call *k)
{
    return run_sort(k, &k->out[0], &k->out[1]);
}

static mw_status argsort_kernel(const mw_kernel_call *k)
{
    return run_sort(k, NULL, &k->out[0]);
}

#define SORT_SAMPLES                                                                            \
    "f32[4, 6]; f32[5, 3], 0, true; f64[7], 0; i64[3, 8]<4, 1, true; bf16[2, 9], 1; f32[], 0; " \
    "f32[0, 4]; f32[3, 0], 1; bool[5]"

const mw_op mw_op_sort = {
    .schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, "
              "Tensor indices)",
    .rule = "self[... dim:d* ...] -> [... d* ...], i64[... d* ...]",
    .doc = "The elements along a dim in rising or falling order, and where they were.",
    .kernel = sort_kernel,
    .samples = SORT_SAMPLES,
};

const mw_op mw_op_argsort = {
    .schema = "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    .rule = "self[... dim:d* ...] -> [... d* ...]",
    .doc = "The positions that put the elements along a dim in rising or falling order.",
    .dtype = MW_OUT_INDEX,
    .kernel = argsort_kernel,
    .samples = SORT_SAMPLES,
};
