/* Views of a part of a dim: slice, select, split, unbind.
 *
 * Where a dim of size n is cut into equal parts of size p, it is q * p with q = n / p, and a part
 * that begins on such a border is one index of q: q must be whole on a rank, p may be split. So the
 * halves of `[2 * 8@x]` are `[8@x]`, and no data moves. Anything else needs the whole dim on each
 * rank. Invariant: offsets into a dim are global only where the dim is whole; a part's offset is
 * its number times the local size of a part. */
#include "ops/op.h"
#include "ops/rule_parts.h"

/* A part of a dim: `count` elements from `start`, every `step`-th. */
typedef struct part {
    int dim;
    int64_t size; /* of the dim */
    int64_t start, count, step;
    bool even; /* one of equal parts of the dim */
} part;

/* Letters of all dims but `dim`, on the operand and (into `letter`) for the outputs. */
static void other_letters(const mw_call_args *call, mw_rule *rule, int dim, int *ret_letter)
{
    for (int d = 0; d < call->in[0].ndim; d++) {
        if (d == dim) continue;
        ret_letter[d] = mw__rule_letter_nth(rule, "i", d, call->in[0].shape[d], MW_MARK_FREE);
        mw__rule_put(&rule->in[0], d, ret_letter[d]);
    }
}

/* Letters of `dim`; the one that a result has, of size `count`. */
static int part_letter(mw_rule *rule, const part *p)
{
    if (p->even) {
        if (p->size != p->count)
            mw__rule_put(&rule->in[0], p->dim,
                         mw__rule_letter(rule, "q", p->size / p->count, MW_MARK_WHOLE));
        int letter = mw__rule_letter(rule, "p", p->count, MW_MARK_FREE);
        mw__rule_put(&rule->in[0], p->dim, letter);
        return letter;
    }
    mw__rule_put(&rule->in[0], p->dim, mw__rule_letter(rule, "n", p->size, MW_MARK_WHOLE));
    return mw__rule_letter(rule, "p", p->count, MW_MARK_WHOLE);
}

/* The view of a part: `out` has the local shape. */
static void part_view(const mw_view *in, const part *p, mw_view *out)
{
    int64_t start = p->even ? p->start / p->count * out->shape[p->dim] : p->start;
    int64_t bytes = start * in->stride[p->dim] * mw_dtype_size(in->dtype);
    out->dtype = in->dtype;
    out->data = in->data ? (char *)in->data + bytes : NULL;
    for (int d = 0; d < in->ndim; d++)
        out->stride[d] = in->stride[d];
    out->stride[p->dim] *= p->step;
}

static mw_status need_dims(const mw_call_args *call)
{
    if (call->in[0].ndim > 0) return MW_OK;
    return MW_FAIL(MW_ERR_SHAPE, "%s: a tensor without dims has no dim to take from",
                   mw__call_name(call));
}

/* ---- slice -------------------------------------------------------------------------------------
 */

/* Python's rule: negative counts from the end, beyond the ends is the end. */
static int64_t clamp_index(int64_t index, int64_t size)
{
    if (index < 0) index += size;
    return MW_MAX(0, MW_MIN(index, size));
}

static mw_status slice_part(const mw_call_args *call, part *ret)
{
    part p = {0};
    MW_TRY(need_dims(call));
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, &p.dim));
    p.size = call->in[0].shape[p.dim];
    p.step = mw__arg_int(call, 4, 1);
    if (p.step <= 0)
        return MW_FAIL(MW_ERR_ARG, "%s: step must be positive, got %lld", mw__call_name(call),
                       (long long)p.step);
    p.start = clamp_index(mw__arg_int(call, 2, 0), p.size);
    int64_t end = clamp_index(mw__arg_int(call, 3, INT64_MAX), p.size);
    p.count = end > p.start ? (end - p.start - 1) / p.step + 1 : 0;
    if (p.count <= 1) p.step = 1;
    p.even = p.step == 1 && p.count > 0 && p.size % p.count == 0 && p.start % p.count == 0;
    *ret = p;
    return MW_OK;
}

static mw_status slice_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    part p = {0};
    int letter[MW_MAX_DIMS] = {0};
    (void)arena;
    MW_TRY(slice_part(call, &p));
    other_letters(call, rule, p.dim, letter);
    letter[p.dim] = part_letter(rule, &p);
    for (int d = 0; d < call->in[0].ndim; d++)
        mw__rule_push(&rule->out[0], letter[d]);
    return MW_OK;
}

static mw_status slice_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    part p = {0};
    (void)nth;
    MW_TRY(slice_part(call, &p));
    part_view(in, &p, out);
    return MW_OK;
}

const mw_op mw_op_slice = {
    .schema = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
              "SymInt step=1) -> Tensor(a)",
    .doc = "A range of a dim, every step-th element of it.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .refuses = "S(*) -> S(*): a step that happens to be a rank's share is gathered as any other",
    .borders = true,
    .view = slice_view,
    .factors = slice_factors,
    .samples =
        "f32[8, 6], 0, 4, 8; f32[8, 6], 0, 3, 8; f64[4, 9], -1, 1, -1, 3; bf16[6], 0, none, 2; "
        "f32[5, 3], 1, 0, 9223372036854775807; i64[4]<9, 0, 3, 1; f32[0, 2], 0, 0, 1",
};

/* ---- split: parts of equal size, the last maybe smaller -----------------------------------------
 */

static mw_status split_part(const mw_call_args *call, int nth, part *ret)
{
    part p = {.step = 1};
    int64_t size = mw__arg_int(call, 1, 0);
    MW_TRY(need_dims(call));
    MW_TRY(mw__arg_dim(call, 2, call->in[0].ndim, &p.dim));
    p.size = call->in[0].shape[p.dim];
    if (size < 0 || (size == 0 && p.size != 0))
        return MW_FAIL(MW_ERR_ARG, "%s: argument 'split_size' must be positive, got %lld",
                       mw__call_name(call), (long long)size);
    p.start = nth * size;
    p.count = MW_MIN(size, p.size - p.start);
    p.even = p.size > 0 && p.size % MW_MIN(size, p.size) == 0;
    *ret = p;
    return MW_OK;
}

/* One part even of nothing, as torch has it. Errors are told when the factors are asked for. */
static int split_count(const mw_call_args *call)
{
    int dim = 0, ndim = call->in[0].ndim;
    int64_t given = mw__arg_int(call, 2, 0), size = mw__arg_int(call, 1, 0);
    dim = (int)(given < 0 ? given + ndim : given);
    if (given < -ndim || given >= ndim || size <= 0) return 1;
    int64_t parts = (call->in[0].shape[dim] + size - 1) / size;
    return (int)MW_MAX(1, MW_MIN(parts, INT_MAX));
}

static mw_status split_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    part p = {0}, last = {0};
    int letter[MW_MAX_DIMS] = {0};
    (void)arena;
    MW_TRY(split_part(call, 0, &p));
    MW_TRY(split_part(call, rule->nout - 1, &last));
    other_letters(call, rule, p.dim, letter);
    int part_of = part_letter(rule, &p), rest = part_of;
    if (last.count != p.count) rest = mw__rule_letter(rule, "r", last.count, MW_MARK_WHOLE);
    for (int o = 0; o < rule->nout; o++)
        for (int d = 0; d < call->in[0].ndim; d++)
            mw__rule_push(&rule->out[o], d != p.dim            ? letter[d]
                                         : o == rule->nout - 1 ? rest
                                                               : part_of);
    return MW_OK;
}

static mw_status split_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    part p = {0};
    MW_TRY(split_part(call, nth, &p));
    part_view(in, &p, out);
    return MW_OK;
}

const mw_op mw_op_split = {
    .schema =
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    .doc = "The parts of a dim, each of a size, the last maybe smaller.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .borders = true,
    .view = split_view,
    .factors = split_factors,
    .nout = split_count,
    .samples =
        "f32[8, 6], 4; f32[8, 6], 3; f64[4, 9], 3, -1; bf16[6], 6; i64[5, 2]<9, 4, 0; f32[0, 2], 3",
};

/* ---- narrow: a range by start and length; chunk: a split by the number of parts
 * ------------------------------------------------------------------------------- */

static mw_status narrow_part(const mw_call_args *call, part *ret)
{
    part p = {.step = 1};
    char meta[MW_META_TEXT];
    MW_TRY(need_dims(call));
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, &p.dim));
    p.size = call->in[0].shape[p.dim];
    p.start = mw__arg_int(call, 2, 0);
    p.count = mw__arg_int(call, 3, 0);
    if (p.start < 0) p.start += p.size;
    if (p.start < 0 || p.count < 0 || p.start > p.size || p.count > p.size - p.start)
        return MW_FAIL(MW_ERR_ARG, "%s: %lld elements from %lld on are outside dim %d of %s",
                       mw__call_name(call), (long long)p.count, (long long)mw__arg_int(call, 2, 0),
                       p.dim, mw__meta_text(&call->in[0], meta));
    p.even = p.count > 0 && p.size % p.count == 0 && p.start % p.count == 0;
    *ret = p;
    return MW_OK;
}

static mw_status narrow_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    part p = {0};
    int letter[MW_MAX_DIMS] = {0};
    (void)arena;
    MW_TRY(narrow_part(call, &p));
    other_letters(call, rule, p.dim, letter);
    letter[p.dim] = part_letter(rule, &p);
    for (int d = 0; d < call->in[0].ndim; d++)
        mw__rule_push(&rule->out[0], letter[d]);
    return MW_OK;
}

static mw_status narrow_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    part p = {0};
    (void)nth;
    MW_TRY(narrow_part(call, &p));
    part_view(in, &p, out);
    return MW_OK;
}

const mw_op mw_op_narrow = {
    .schema = "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    .doc = "A range of a dim, by its start and length.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .borders = true,
    .view = narrow_view,
    .factors = narrow_factors,
    .samples = "f32[8, 6], 0, 4, 4; f32[8, 6], 0, 3, 5; f64[4, 9], -1, -3, 3; bf16[6], 0, 0, 6; "
               "i64[4]<9, 0, 4, 0; f32[0, 2], 1, 1, 1",
};

/* The call as split would have it: the size of a part from their number. */
static void as_split(const mw_call_args *call, mw_arg *arg, mw_call_args *ret)
{
    int ndim = call->in[0].ndim;
    int64_t given = mw__arg_int(call, 2, 0), chunks = MW_MAX(1, mw__arg_int(call, 1, 1)), size = 1;
    if (given >= -ndim && given < ndim) size = call->in[0].shape[given < 0 ? given + ndim : given];
    arg[0] = call->arg[0];
    arg[1] = (mw_arg){.kind = MW_ARG_INT, .i = MW_MAX(1, (size + chunks - 1) / chunks)};
    arg[2] = call->arg[2];
    *ret = *call;
    ret->arg = arg;
}

static int chunk_count(const mw_call_args *call)
{
    mw_arg arg[3];
    mw_call_args split;
    as_split(call, arg, &split);
    return split_count(&split);
}

static mw_status chunk_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    mw_arg arg[3];
    mw_call_args split;
    if (mw__arg_int(call, 1, 0) <= 0)
        return MW_FAIL(MW_ERR_ARG, "chunk: argument 'chunks' must be positive, got %lld",
                       (long long)mw__arg_int(call, 1, 0));
    as_split(call, arg, &split);
    return split_factors(&split, arena, rule);
}

static mw_status chunk_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    mw_arg arg[3];
    mw_call_args split;
    as_split(call, arg, &split);
    return split_view(&split, nth, in, out);
}

const mw_op mw_op_chunk = {
    .schema = "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    .doc = "The parts of a dim, as many as said or fewer, the last maybe smaller.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .borders = true,
    .view = chunk_view,
    .factors = chunk_factors,
    .nout = chunk_count,
    .samples = "f32[8, 6], 2; f32[8, 6], 3; f64[4, 9], 3, -1; bf16[6], 1; i64[5, 2]<9, 4, 0; "
               "f32[4, 12], 3, 1",
};

/* ---- select and unbind: one index of a dim, which goes
 * ------------------------------------------- */

static void drop_letters(const mw_call_args *call, mw_rule *rule, int dim)
{
    int letter[MW_MAX_DIMS] = {0};
    other_letters(call, rule, dim, letter);
    mw__rule_put(&rule->in[0], dim,
                 mw__rule_letter(rule, "n", call->in[0].shape[dim], MW_MARK_WHOLE));
    for (int o = 0; o < rule->nout; o++)
        for (int d = 0; d < call->in[0].ndim; d++)
            if (d != dim) mw__rule_push(&rule->out[o], letter[d]);
}

static void drop_view(const mw_view *in, int dim, int64_t index, mw_view *out)
{
    int64_t bytes = index * in->stride[dim] * mw_dtype_size(in->dtype);
    out->dtype = in->dtype;
    out->data = in->data ? (char *)in->data + bytes : NULL;
    for (int d = 0, to = 0; d < in->ndim; d++)
        if (d != dim) out->stride[to++] = in->stride[d];
}

static mw_status select_place(const mw_call_args *call, int *ret_dim, int64_t *ret_index)
{
    char meta[MW_META_TEXT];
    MW_TRY(need_dims(call));
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, ret_dim));
    int64_t size = call->in[0].shape[*ret_dim], index = mw__arg_int(call, 2, 0);
    if (index < -size || index >= size)
        return MW_FAIL(MW_ERR_ARG, "%s: index %lld is outside dim %d of %s", mw__call_name(call),
                       (long long)index, *ret_dim, mw__meta_text(&call->in[0], meta));
    *ret_index = index < 0 ? index + size : index;
    return MW_OK;
}

static mw_status select_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    int dim = 0;
    int64_t index = 0;
    (void)arena;
    MW_TRY(select_place(call, &dim, &index));
    drop_letters(call, rule, dim);
    return MW_OK;
}

static mw_status select_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    int dim = 0;
    int64_t index = 0;
    (void)nth;
    MW_TRY(select_place(call, &dim, &index));
    drop_view(in, dim, index, out);
    return MW_OK;
}

static mw_status unbind_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    int dim = 0;
    (void)arena;
    MW_TRY(need_dims(call));
    MW_TRY(mw__arg_dim(call, 1, call->in[0].ndim, &dim));
    drop_letters(call, rule, dim);
    return MW_OK;
}

static int unbind_count(const mw_call_args *call)
{
    int ndim = call->in[0].ndim;
    int64_t given = mw__arg_int(call, 1, 0);
    if (given < -ndim || given >= ndim) return 1;
    int64_t size = call->in[0].shape[given < 0 ? given + ndim : given];
    return (int)MW_MIN(size, INT_MAX);
}

static mw_status unbind_view(const mw_call_args *call, int nth, const mw_view *in, mw_view *out)
{
    int dim = 0;
    MW_TRY(mw__arg_dim(call, 1, in->ndim, &dim));
    drop_view(in, dim, nth, out);
    return MW_OK;
}

const mw_op mw_op_select_int = {
    .schema = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    .doc = "One index of a dim, which goes.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = select_view,
    .factors = select_factors,
    .samples =
        "f32[4, 6], 0, 2; f64[3], 0, -1; bf16[2, 5, 3], 1, 4; i64[2, 3]<9, -1, 0; f32[0, 2], 1, 1",
};

const mw_op mw_op_unbind_int = {
    .schema = "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    .doc = "Every index of a dim as a tensor without it.",
    .linear_in = MW_ARG(0),
    .monotone = 1,
    .dtype = MW_OUT_FIRST,
    .view = unbind_view,
    .factors = unbind_factors,
    .nout = unbind_count,
    .samples = "f32[4, 6]; f64[3], 0; bf16[2, 5, 3], 1; i64[2, 3]<9, -1; f32[3, 0], 0",
};
