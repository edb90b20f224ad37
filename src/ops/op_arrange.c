/* Copies whose elements stand elsewhere: flip, roll, repeat, tril, triu, constant_pad_nd. What
 * moves elements along a dim needs it whole on a rank; the triangles only need to know where their
 * shard lies; repeat has the copies as a letter of the result alone, so that any rank makes any of
 * them. */
#include "ops/fold.h"
#include "ops/op.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

/* ---- flip and roll ---------------------------------------------------------------------------
 */

/* Letters of all dims, those in the mask whole. */
static void whole_letters(const mw_call_args *call, mw_rule *rule, uint32_t mask)
{
    int first = mw__rule_letters(rule, &rule->in[0], &call->in[0], "d", MW_MARK_FREE);
    for (int d = 0; d < call->in[0].ndim; d++) {
        if (mask >> d & 1u) rule->letter[first + d].mark = MW_MARK_WHOLE;
        mw__rule_push(&rule->out[0], first + d);
    }
}

static mw_status flip_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask = 0;
    if (call->arg[1].count > 0) MW_TRY(mw__dims_named(call, 1, &mask));
    whole_letters(call, rule, mask);
    return MW_OK;
}

/* A view that runs backwards along the dims. */
static mw_status flip_kernel(const mw_kernel_call *k)
{
    uint32_t mask = 0;
    mw_view from = k->in[0];
    if (k->call->arg[1].count > 0) MW_TRY(mw__dims_named(k->call, 1, &mask));
    if (mw__view_count(&from) == 0) return MW_OK;
    int64_t at = 0;
    for (int d = 0; d < from.ndim; d++) {
        if (!(mask >> d & 1u)) continue;
        at += (from.shape[d] - 1) * from.stride[d];
        from.stride[d] = -from.stride[d];
    }
    from.data = (char *)from.data + at * mw_dtype_size(from.dtype);
    mw__view_copy(&k->out[0], &from);
    return MW_OK;
}

const mw_op mw_op_flip = {
    .schema = "aten::flip(Tensor self, int[] dims) -> Tensor",
    .rule = "self[... dims:d* ...] -> [... d* ...]",
    .doc = "The elements along some dims in reverse.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .factors = flip_factors,
    .kernel = flip_kernel,
    .samples = "f32[4, 6], [1]; f64[2, 3, 4], [0, -1]; bf16[5], [0]; i64[2, 3], []; f32[], []; "
               "f32[0, 3], [0]; bool[4], [0]",
};

/* Without dims the flattened tensor rolls. */
static mw_status roll_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    uint32_t mask = 0;
    int shifts = call->arg[1].count, dims = call->arg[2].count;
    if (dims ? shifts != dims : shifts != 1)
        return MW_FAIL(MW_ERR_ARG, "roll: %d shifts for %d dims", shifts, dims);
    MW_TRY(mw__dims_named(call, 2, &mask)); /* none: all */
    whole_letters(call, rule, mask);
    return MW_OK;
}

/* Copies `from` to `to`, moved by `shift` along a dim: two pieces. */
static void roll_dim(const mw_view *to, const mw_view *from, int dim, int64_t shift)
{
    int64_t n = from->shape[dim], size = mw_dtype_size(from->dtype);
    shift = (shift % n + n) % n;
    for (int piece = 0; piece < 2; piece++) {
        mw_view a = *to, b = *from;
        int64_t at = piece ? n - shift : 0; /* where the piece begins in `from` */
        a.shape[dim] = b.shape[dim] = piece ? shift : n - shift;
        a.data = (char *)a.data + (piece ? 0 : shift) * to->stride[dim] * size;
        b.data = (char *)b.data + at * from->stride[dim] * size;
        if (a.shape[dim] > 0) mw__view_copy(&a, &b);
    }
}

static mw_status roll_kernel(const mw_kernel_call *k)
{
    const mw_arg *shifts = &k->call->arg[1], *dims = &k->call->arg[2];
    mw_view from = k->in[0], to = k->out[0];
    int64_t count = mw__view_count(&to), bytes = count * mw_dtype_size(to.dtype);
    if (count == 0) return MW_OK;
    mw_view copy[2] = {to, to}; /* dense, as the result is */
    for (int i = 0; i < 2; i++) {
        copy[i].data = mw__arena_alloc(k->scratch, (size_t)bytes);
        if (!copy[i].data) return MW_NOMEM();
    }
    mw__view_copy(&copy[0], &from);
    int n = dims->count;
    for (int i = 0; i < MW_MAX(n, 1); i++) {
        mw_view a = copy[(i + 1) % 2], b = copy[i % 2];
        int dim = 0;
        if (n == 0) {
            mw__view_set(&a, to.dtype, 1, &count);
            mw__view_set(&b, to.dtype, 1, &count);
        } else {
            MW_TRY(mw__dim_in_range(k->call, 2, dims->ints[i], to.ndim, &dim));
        }
        roll_dim(&a, &b, dim, shifts->ints[i]);
    }
    mw__view_copy(&to, &copy[MW_MAX(n, 1) % 2]);
    return MW_OK;
}

const mw_op mw_op_roll = {
    .schema = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    .doc = "The elements moved along some dims, what leaves at the end coming in at the start.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .refuses = "S(*) -> S(*): a shift by a multiple of the size is treated as any other",
    .factors = roll_factors,
    .kernel = roll_kernel,
    .samples = "f32[4, 6], [1], [1]; f64[2, 3, 4], [2, -1], [0, -1]; bf16[5], [7], [0]; "
               "i64[2, 3], [2]; f32[4, 5], [-3], [0]; f32[0, 3], [1], [0]; bool[4], [0], [0]",
};

/* ---- repeat ----------------------------------------------------------------------------------
 */

static mw_status repeat_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_arg *repeats = &call->arg[1];
    const mw_meta *self = &call->in[0];
    int lead = repeats->count - self->ndim;
    char text[MW_META_TEXT];
    if (lead < 0 || repeats->count > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE,
                       "repeat: argument 'repeats' has %d numbers; %s has %d dims, and at most %d "
                       "are possible",
                       repeats->count, mw__meta_text(self, text), self->ndim, MW_MAX_DIMS);
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < repeats->count; d++) {
        if (repeats->ints[d] < 0)
            return MW_FAIL(MW_ERR_ARG, "repeat: argument 'repeats' has a negative number: %lld",
                           (long long)repeats->ints[d]);
        int copies = mw__rule_letter_nth(rule, "q", d, repeats->ints[d], MW_MARK_FREE);
        mw__rule_push(&rule->out[0], copies);
        if (d >= lead) mw__rule_put(&rule->out[0], d, first + d - lead);
    }
    return MW_OK;
}

/* The result from dim `dim` on, by copies of the operand's dims; the last dim in whole runs. */
static void repeat_from(const mw_view *out, const mw_view *in, int dim, int64_t out_at,
                        int64_t in_at)
{
    int lead = out->ndim - in->ndim;
    int64_t size = mw_dtype_size(out->dtype), n = dim < lead ? 1 : in->shape[dim - lead];
    int64_t stride = dim < lead ? 0 : in->stride[dim - lead];
    if (dim < out->ndim - 1) {
        for (int64_t i = 0; i < out->shape[dim]; i++)
            repeat_from(out, in, dim + 1, out_at + i * out->stride[dim], in_at + i % n * stride);
        return;
    }
    for (int64_t i = 0; i < out->shape[dim]; i += n) {
        mw_view a = {(char *)out->data + (out_at + i) * size, out->dtype, 1, {n}, {1}};
        mw_view b = {(char *)in->data + in_at * size, in->dtype, 1, {n}, {stride}};
        mw__view_copy(&a, &b);
    }
}

static mw_status repeat_kernel(const mw_kernel_call *k)
{
    if (mw__view_count(&k->out[0]) == 0) return MW_OK;
    if (k->out[0].ndim == 0)
        mw__view_copy(&k->out[0], &k->in[0]);
    else
        repeat_from(&k->out[0], &k->in[0], 0, 0, 0);
    return MW_OK;
}

const mw_op mw_op_repeat = {
    .schema = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor",
    .rule = "self[... d ...] -> [... q·d ...]",
    .doc = "Copies of the tensor side by side along its dims.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .factors = repeat_factors,
    .kernel = repeat_kernel,
    .samples = "f32[4, 6], [2, 1]; f64[3], [2, 3]; bf16[2, 5], [1, 2]; i64[2], [4]; f32[], [3]; "
               "f32[], []; f32[2, 3], [0, 1]; f32[0, 3], [2, 2]",
};

/* ---- triangles -------------------------------------------------------------------------------
 */

static mw_status triangle_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    char text[MW_META_TEXT];
    if (call->in[0].ndim < 2)
        return MW_FAIL(MW_ERR_SHAPE, "%s: self is %s, but needs at least 2 dims",
                       mw__call_name(call), mw__meta_text(&call->in[0], text));
    whole_letters(call, rule, 0);
    return MW_OK;
}

/* The global positions that this rank holds of dim `dim`, one by one. */
static mw_status positions_of(const mw_kernel_call *k, int dim, const int64_t **ret)
{
    const mw_range *range;
    int64_t count, at = 0, n = k->in[0].shape[dim];
    const mw_layout *layout = k->in_layout ? k->in_layout[0] : NULL;
    MW_TRY(mw__kernel_ranges(k, layout, dim, n, &range, &count));
    int64_t *position = mw__arena_alloc(k->scratch, (size_t)MW_MAX(n, 1) * sizeof *position);
    if (!position) return MW_NOMEM();
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = range[r].first; i < range[r].end && at < n; i++)
            position[at++] = i;
    *ret = position;
    return MW_OK;
}

/* A copy, with zeros where column - row is above (below) the diagonal. */
static mw_status triangle(const mw_kernel_call *k, int sign)
{
    const mw_view *out = &k->out[0];
    const int64_t *row, *column;
    int64_t diagonal = mw__arg_int(k->call, 1, 0), size = mw_dtype_size(out->dtype);
    int last = out->ndim - 1;
    MW_TRY(positions_of(k, last - 1, &row));
    MW_TRY(positions_of(k, last, &column));
    mw__view_copy(out, &k->in[0]);
    char *at = out->data; /* contiguous */
    int64_t n = out->shape[last], rows = n ? mw__view_count(out) / n : 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++, at += size)
            if (sign * (column[j] - row[i % out->shape[last - 1]] - diagonal) > 0)
                memset(at, 0, (size_t)size);
    return MW_OK;
}

static mw_status tril_kernel(const mw_kernel_call *k)
{
    return triangle(k, 1);
}

static mw_status triu_kernel(const mw_kernel_call *k)
{
    return triangle(k, -1);
}

#define TRIANGLE_SAMPLES                                                                           \
    "f32[4, 6]; f32[5, 5], -1; f64[2, 3, 4], 1; bf16[7, 2]; i64[3, 3], 2; bool[4, 4]; f32[0, 3]; " \
    "f32[3, 0], 1"

const mw_op mw_op_tril = {
    .schema = "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor",
    .rule = "self[... m n] -> [... m n]",
    .doc = "The elements on and below a diagonal of the last two dims, and zeros.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .factors = triangle_factors,
    .kernel = tril_kernel,
    .samples = TRIANGLE_SAMPLES,
};

const mw_op mw_op_triu = {
    .schema = "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor",
    .rule = "self[... m n] -> [... m n]",
    .doc = "The elements on and above a diagonal of the last two dims, and zeros.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .factors = triangle_factors,
    .kernel = triu_kernel,
    .samples = TRIANGLE_SAMPLES,
};

/* ---- padding ---------------------------------------------------------------------------------
 */

/* Pairs count from the last dim: before and after; negative ones cut. */
static int64_t pad_of(const mw_call_args *call, int dim, int after)
{
    const mw_arg *pad = &call->arg[1];
    int at = 2 * (call->in[0].ndim - 1 - dim) + after;
    return at < pad->count ? pad->ints[at] : 0;
}

static mw_status pad_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    const mw_meta *self = &call->in[0];
    int pads = call->arg[1].count;
    char text[MW_META_TEXT];
    if (pads % 2 || pads > 2 * self->ndim)
        return MW_FAIL(MW_ERR_ARG,
                       "constant_pad_nd: argument 'pad' has %d numbers; for self %s it takes an "
                       "even number of them, at most %d",
                       pads, mw__meta_text(self, text), 2 * self->ndim);
    int first = mw__rule_letters(rule, &rule->in[0], self, "d", MW_MARK_FREE);
    for (int d = 0; d < self->ndim; d++) {
        int64_t before = pad_of(call, d, 0), after = pad_of(call, d, 1), size = self->shape[d];
        int letter = first + d;
        if (__builtin_add_overflow(size, before, &size) ||
            __builtin_add_overflow(size, after, &size) || size < 0)
            return MW_FAIL(MW_ERR_SHAPE,
                           "constant_pad_nd: dim %d of %s cannot be padded by %lld "
                           "and %lld",
                           d, mw__meta_text(self, text), (long long)before, (long long)after);
        if (before || after) {
            rule->letter[letter].mark = MW_MARK_WHOLE;
            letter = mw__rule_letter_nth(rule, "p", d, size, MW_MARK_WHOLE);
        }
        mw__rule_push(&rule->out[0], letter);
    }
    rule->in[0].linear = mw__arg_float(call, 2, 0) == 0;
    return MW_OK;
}

static mw_status pad_kernel(const mw_kernel_call *k)
{
    mw_view to = k->out[0], from = k->in[0], fill = k->out[0];
    double element;
    const mw_arg *value = &k->call->arg[2];
    if (mw__view_count(&to) == 0) return MW_OK;
    if (value->kind == MW_ARG_FLOAT)
        mw__element_set(&element, to.dtype, value->f);
    else
        mw__element_set_i64(&element, to.dtype, value->i);
    fill.data = &element;
    memset(fill.stride, 0, sizeof fill.stride);
    mw__view_copy(&to, &fill);
    int64_t size = mw_dtype_size(to.dtype);
    for (int d = 0; d < to.ndim; d++) {
        int64_t before = pad_of(k->call, d, 0), after = pad_of(k->call, d, 1);
        int64_t first = MW_MAX(0, -before), n = from.shape[d] - first - MW_MAX(0, -after);
        if (n <= 0) return MW_OK;
        to.data = (char *)to.data + MW_MAX(0, before) * to.stride[d] * size;
        from.data = (char *)from.data + first * from.stride[d] * size;
        to.shape[d] = from.shape[d] = n;
    }
    mw__view_copy(&to, &from);
    return MW_OK;
}

const mw_op mw_op_constant_pad_nd = {
    .schema = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    .doc = "The tensor with a number around it; negative pads cut from it.",
    .linear_in = MW_ARG(0), /* with value 0 */
    .monotone = 1,
    .refuses = MW_REFUSES_MEAN,
    .borders = true,
    .factors = pad_factors,
    .kernel = pad_kernel,
    .samples =
        "f32[4, 6], [1, 2]; f32[4, 6], [0, 0, 2, 1], 0.5; f64[5], [-1, 2]; bf16[3, 2], [1, 0], "
        "-1; i64[4], [2, -1], 7; f32[2, 3], []; f32[0, 3], [0, 0, 1, 1]; f32[3], [-3, 0]",
};
