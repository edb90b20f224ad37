/* Convolutions over one to three dims. Samples, output channels and groups may be split; so may the
 * input channels, each rank then having a term of the sum. Along the dims that the window moves
 * over a rank needs its neighbours' borders: these dims must be whole. Sums are taken in double. */
#include "ops/op.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

enum { SPACE = 3 };

/* Where the arguments stand: convolution and conv1d, conv2d, conv3d differ. */
typedef struct conv {
    int n; /* dims that the window moves over */
    int64_t stride[SPACE], padding[SPACE], dilation[SPACE], out[SPACE], groups;
} conv;

typedef struct places {
    int stride, padding, dilation, groups, transposed;
} places;

static const places plain = {3, 4, 5, 6, -1}, full = {3, 4, 5, 8, 6};

static const places *places_of(const mw_call_args *call)
{
    return call->narg > 7 ? &full : &plain;
}

/* One number, or one a dim. */
static mw_status numbers(const mw_call_args *call, int pos, int n, int64_t least, int64_t *ret)
{
    const mw_arg *a = &call->arg[pos];
    if (a->count != 1 && a->count != n)
        return MW_FAIL(MW_ERR_SHAPE, "%s: '%s' has %d numbers for %d dims", mw__call_name(call),
                       mw__arg_name(call, pos), a->count, n);
    for (int i = 0; i < n; i++) {
        ret[i] = a->ints[a->count == 1 ? 0 : i];
        if (ret[i] < least)
            return MW_FAIL(MW_ERR_ARG, "%s: '%s' holds %lld, expected at least %lld",
                           mw__call_name(call), mw__arg_name(call, pos), (long long)ret[i],
                           (long long)least);
    }
    return MW_OK;
}

static mw_status check_channels(const mw_call_args *call, int64_t groups)
{
    const mw_meta *in = &call->in[0], *weight = &call->in[1];
    char text[3][MW_META_TEXT];
    bool fits = groups >= 1 && in->ndim == weight->ndim && in->ndim >= 3 && in->ndim <= 5 &&
                weight->shape[0] % groups == 0 && in->shape[1] == weight->shape[1] * groups;
    if (fits && call->nin > 2)
        fits = call->in[2].ndim == 1 && call->in[2].shape[0] == weight->shape[0];
    if (!fits)
        return MW_FAIL(
            MW_ERR_SHAPE,
            "%s: input %s, weight %s, bias %s and %lld groups do not fit: input is "
            "[samples, channels, ...], weight [out, channels / groups, ...], bias [out]",
            mw__call_name(call), mw__meta_text(in, text[0]), mw__meta_text(weight, text[1]),
            call->nin > 2 ? mw__meta_text(&call->in[2], text[2]) : "None", (long long)groups);
    if (mw_dtype_kind_of(in->dtype) == MW_KIND_FLOAT) return MW_OK;
    return MW_FAIL(MW_ERR_ARG, "%s: input is %s, but must hold floats", mw__call_name(call),
                   mw__meta_text(in, text[0]));
}

static mw_status conv_of(const mw_call_args *call, conv *ret)
{
    const places *at = places_of(call);
    const mw_meta *in = &call->in[0], *weight = &call->in[1];
    ret->groups = mw__arg_int(call, at->groups, 1);
    MW_TRY(check_channels(call, ret->groups));
    ret->n = in->ndim - 2;
    if (at->transposed >= 0 && mw__arg_bool(call, at->transposed, false))
        return MW_FAIL(MW_ERR_UNSUPPORTED,
                       "%s: transposed: convolve with the weight flipped and "
                       "its first dims exchanged, which is the same",
                       mw__call_name(call));
    MW_TRY(numbers(call, at->stride, ret->n, 1, ret->stride));
    MW_TRY(numbers(call, at->padding, ret->n, 0, ret->padding));
    MW_TRY(numbers(call, at->dilation, ret->n, 1, ret->dilation));
    for (int i = 0; i < ret->n; i++) {
        int64_t window = ret->dilation[i] * (weight->shape[i + 2] - 1) + 1;
        int64_t room = in->shape[i + 2] + 2 * ret->padding[i] - window;
        if (room < 0 || weight->shape[i + 2] < 1)
            return MW_FAIL(MW_ERR_SHAPE,
                           "%s: the window of %lld is larger than dim %d of %lld and "
                           "its padding",
                           mw__call_name(call), (long long)window, i + 2,
                           (long long)in->shape[i + 2]);
        ret->out[i] = room / ret->stride[i] + 1;
    }
    return MW_OK;
}

static mw_status conv_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    conv c;
    MW_TRY(conv_of(call, &c));
    const mw_meta *in = &call->in[0], *weight = &call->in[1];
    int n = mw__rule_letter(rule, "n", in->shape[0], MW_MARK_FREE);
    int g = c.groups > 1 ? mw__rule_letter(rule, "g", c.groups, MW_MARK_FREE) : -1;
    bool deep = weight->shape[1] != 1; /* else there is no sum over channels */
    int i = deep ? mw__rule_letter(rule, "i", weight->shape[1], MW_MARK_FREE) : -1;
    int64_t outs = weight->shape[0] / c.groups;
    int o = outs != 1 ? mw__rule_letter(rule, "o", outs, MW_MARK_FREE) : -1;
    mw__rule_put(&rule->in[0], 0, n);
    mw__rule_push(&rule->out[0], n);
    mw__rule_push(&rule->out[0], g >= 0 ? g : o);
    if (g >= 0) {
        mw__rule_put(&rule->in[0], 1, g);
        mw__rule_put(&rule->in[1], 0, g);
        if (o >= 0) mw__rule_put(&rule->out[0], 1, o);
        if (call->nin > 2) mw__rule_put(&rule->in[2], 0, g);
    }
    if (deep) mw__rule_put(&rule->in[0], 1, i);
    if (o >= 0) mw__rule_put(&rule->in[1], 0, o);
    if (deep) mw__rule_put(&rule->in[1], 1, i);
    if (call->nin > 2 && o >= 0) mw__rule_put(&rule->in[2], 0, o);
    for (int d = 0; d < c.n; d++) {
        mw__rule_put(&rule->in[0], d + 2,
                     mw__rule_letter_nth(rule, "d", d, in->shape[d + 2], MW_MARK_WHOLE));
        mw__rule_put(&rule->in[1], d + 2,
                     mw__rule_letter_nth(rule, "k", d, weight->shape[d + 2], MW_MARK_WHOLE));
        mw__rule_push(&rule->out[0], mw__rule_letter_nth(rule, "w", d, c.out[d], MW_MARK_WHOLE));
    }
    if (call->nin > 2) {
        rule->nterm = 2;
        rule->in[2].term = 1;
    }
    return MW_OK;
}

/* ---- kernel ----------------------------------------------------------------------------------
 */

/* An operand as contiguous doubles. */
static mw_status as_doubles(const mw_kernel_call *k, int operand, const double **ret)
{
    const mw_view *from = &k->in[operand];
    mw_view to;
    mw__view_set(&to, MW_DTYPE_f64, from->ndim, from->shape);
    to.data = mw__arena_alloc(k->scratch, (size_t)MW_MAX(mw__view_count(from), 1) * sizeof(double));
    if (!to.data) return MW_NOMEM();
    mw__view_copy(&to, from);
    *ret = to.data;
    return MW_OK;
}

typedef struct window {
    const conv *c;
    const double *in, *weight; /* of the sample; of the output channel */
    int64_t channels;          /* in this group, of the shard */
    int64_t in_size[SPACE], size[SPACE], in_all, all;
} window;

/* The sum under the window that begins `start`. */
static double under(const window *w, const int64_t *start)
{
    double sum = 0;
    int64_t at[SPACE] = {0};
    for (int64_t k = 0; k < w->all; k++) {
        int64_t from = 0;
        bool inside = true;
        for (int d = 0; d < w->c->n && inside; d++) {
            int64_t x = start[d] + at[d] * w->c->dilation[d];
            inside = x >= 0 && x < w->in_size[d];
            from = from * w->in_size[d] + x;
        }
        for (int64_t i = 0; i < w->channels && inside; i++)
            sum += w->in[i * w->in_all + from] * w->weight[i * w->all + k];
        for (int d = w->c->n - 1; d >= 0 && ++at[d] == w->size[d]; d--)
            at[d] = 0;
    }
    return sum;
}

/* One output channel of one sample. */
static void channel(window *w, const mw_view *out, int64_t first, double bias)
{
    int64_t at[SPACE] = {0}, start[SPACE], count = 1;
    for (int d = 0; d < w->c->n; d++)
        count *= w->c->out[d];
    for (int64_t k = 0; k < count; k++) {
        for (int d = 0; d < w->c->n; d++)
            start[d] = at[d] * w->c->stride[d] - w->c->padding[d];
        mw__element_set((char *)out->data + (first + k) * mw_dtype_size(out->dtype), out->dtype,
                        under(w, start) + bias);
        for (int d = w->c->n - 1; d >= 0 && ++at[d] == w->c->out[d]; d--)
            at[d] = 0;
    }
}

static mw_status conv_kernel(const mw_kernel_call *k)
{
    conv c;
    const double *in, *weight, *bias = NULL;
    MW_TRY(conv_of(k->call, &c));
    MW_TRY(as_doubles(k, 0, &in));
    MW_TRY(as_doubles(k, 1, &weight));
    if (k->nin > 2) MW_TRY(as_doubles(k, 2, &bias));
    window w = {.c = &c, .channels = k->in[1].shape[1], .in_all = 1, .all = 1};
    int64_t behind = 1, samples = k->out[0].shape[0], outs = k->out[0].shape[1];
    for (int d = 0; d < c.n; d++) {
        w.in_all *= w.in_size[d] = k->in[0].shape[d + 2];
        w.all *= w.size[d] = k->in[1].shape[d + 2];
        behind *= c.out[d];
    }
    /* of the shard: its channels come group by group, input and output alike */
    int64_t groups = w.channels ? k->in[0].shape[1] / w.channels : 1;
    int64_t each = groups ? outs / groups : outs;
    for (int64_t n = 0; n < samples; n++)
        for (int64_t o = 0; o < outs; o++) {
            int64_t group = each ? o / each : 0;
            w.in = in + (n * k->in[0].shape[1] + group * w.channels) * w.in_all;
            w.weight = weight + o * w.channels * w.all;
            channel(&w, &k->out[0], (n * outs + o) * behind, bias ? bias[o] : 0);
        }
    return MW_OK;
}

/* A bias beside a sum over split channels is counted once: it is a term of its own. */
#define CONV_REFUSES MW_REFUSES_BIAS

#define CONV_OP(word, text, does, inputs)                                  \
    const mw_op mw_op_##word = {                                           \
        .schema = text,                                                    \
        .rule = "input[n g·i d*...] weight[g·o i k*...] -> [n g·o w*...]", \
        .doc = does,                                                       \
        .reduce = MW_REDUCE_SUM,                                           \
        .linear_in = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),                    \
        .same_dtype = MW_ARG(0) | MW_ARG(1) | MW_ARG(2),                   \
        .refuses = CONV_REFUSES,                                           \
        .factors = conv_factors,                                           \
        .kernel = conv_kernel,                                             \
        .samples = inputs,                                                 \
    }

CONV_OP(convolution,
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
        "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
        "Tensor",
        "The sums under a window that moves over the last dims.",
        "f32[2, 3, 5], f32[4, 3, 3], none, [1], [1], [1], false, [0], 1; "
        "f64[2, 4, 5], f64[6, 2, 2], f64[6], [2], [0], [1], false, [0], 2; "
        "f32[2, 3, 4, 5], f32[4, 3, 3, 3], f32[4], [1, 1], [1, 1], [1, 1], false, [0, 0], 1; "
        "f32[0, 2, 3], f32[2, 2, 1], none, [1], [0], [1], false, [0], 1");
CONV_OP(conv1d,
        "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
        "SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
        "convolution over the last dim.",
        "f32[2, 3, 5], f32[4, 3, 3]; f32[2, 3, 5], f32[4, 3, 3], f32[4], 1, 1; "
        "f64[2, 4, 6], f64[4, 1, 2], none, 2, 0, 2, 4; bf16[3, 2, 4], bf16[2, 2, 1]");
CONV_OP(conv2d,
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, "
        "SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
        "convolution over the last two dims.",
        "f32[2, 3, 4, 5], f32[4, 3, 3, 3], f32[4], 1, 1; f32[2, 4, 3, 3], f32[2, 2, 2, 2], none, "
        "[1, 2], [0, 1], 1, 2");
CONV_OP(conv3d,
        "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, "
        "SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
        "convolution over the last three dims.",
        "f32[2, 2, 3, 3, 3], f32[2, 2, 2, 2, 2]; f32[1, 2, 3, 2, 2], f32[2, 1, 2, 1, 1], f32[2], "
        "1, [1, 0, 0], 1, 2");
