/* group_norm: each group of channels of each sample is normalised by itself. Groups may be split
 * between ranks, the channels of a group and what lies behind them not. Sums are taken in double.
 */
#include "ops/op.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { INPUT, GROUPS, WEIGHT, BIAS, EPS };

static mw_status check(const mw_call_args *call, int64_t *ret_groups)
{
    const mw_meta *in = &call->in[0];
    char text[MW_META_TEXT];
    *ret_groups = mw__arg_int(call, GROUPS, 1);
    if (in->ndim < 2)
        return MW_FAIL(MW_ERR_SHAPE, "%s: input is %s, but needs samples and channels",
                       mw__call_name(call), mw__meta_text(in, text));
    if (mw_dtype_kind_of(in->dtype) != MW_KIND_FLOAT)
        return MW_FAIL(MW_ERR_ARG, "%s: input is %s, but must be a float", mw__call_name(call),
                       mw__meta_text(in, text));
    if (*ret_groups < 1 || in->shape[1] % *ret_groups != 0)
        return MW_FAIL(MW_ERR_SHAPE, "%s: %lld groups do not divide the %lld channels of %s",
                       mw__call_name(call), (long long)*ret_groups, (long long)in->shape[1],
                       mw__meta_text(in, text));
    for (int i = 1; i < call->nin; i++)
        if (call->in[i].ndim != 1 || call->in[i].shape[0] != in->shape[1])
            return MW_FAIL(MW_ERR_SHAPE, "%s: %s is %s, but must have one element a channel",
                           mw__call_name(call), mw__operand_name(call, i),
                           mw__meta_text(&call->in[i], text));
    return MW_OK;
}

static mw_status group_norm_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    int64_t groups;
    MW_TRY(check(call, &groups));
    const mw_meta *in = &call->in[0];
    int g = mw__rule_letter(rule, "g", groups, MW_MARK_FREE);
    int c = mw__rule_letter(rule, "c", in->shape[1] / groups, MW_MARK_WHOLE);
    for (int d = 0; d < in->ndim; d++) {
        int letter = d == 1 ? g
                            : mw__rule_letter_nth(rule, "d", d, in->shape[d],
                                                  d == 0 ? MW_MARK_FREE : MW_MARK_WHOLE);
        mw__rule_put(&rule->in[0], d, letter);
        mw__rule_push(&rule->out[0], letter);
        if (d != 1) continue;
        mw__rule_put(&rule->in[0], 1, c);
        mw__rule_put(&rule->out[0], 1, c);
    }
    for (int i = 1; i < call->nin; i++) {
        mw__rule_put(&rule->in[i], 0, g);
        mw__rule_put(&rule->in[i], 0, c);
    }
    return MW_OK;
}

/* The element of `v` (contiguous: `of` of them behind sample and channel). */
static double at(const mw_view *v, int64_t nth)
{
    return mw__element_get((const char *)v->data + nth * mw_dtype_size(v->dtype), v->dtype);
}

typedef struct group {
    const mw_view *in, *out, *weight, *bias;
    int64_t first, channel, channels, behind; /* first element; first channel of the shard */
    double eps;
} group;

static void normalise(const group *g)
{
    int64_t n = g->channels * g->behind;
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        sum += at(g->in, g->first + i);
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double off = at(g->in, g->first + i) - mean;
        square += off * off;
    }
    double scale = 1 / sqrt(square / (double)n + g->eps);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = g->channel + i / g->behind;
        double y = (at(g->in, g->first + i) - mean) * scale;
        if (g->weight) y *= at(g->weight, c);
        if (g->bias) y += at(g->bias, c);
        mw__element_set((char *)g->out->data + (g->first + i) * mw_dtype_size(g->out->dtype),
                        g->out->dtype, y);
    }
}

/* `view` without gaps. */
static mw_status compact(const mw_kernel_call *k, int operand, mw_view *ret)
{
    const mw_view *from = &k->in[operand];
    int64_t count = mw__view_count(from);
    mw__view_set(ret, from->dtype, from->ndim, from->shape);
    ret->data =
        mw__arena_alloc(k->scratch, (size_t)MW_MAX(count, 1) * (size_t)mw_dtype_size(from->dtype));
    if (!ret->data) return MW_NOMEM();
    mw__view_copy(ret, from);
    return MW_OK;
}

static mw_status group_norm_kernel(const mw_kernel_call *k)
{
    const mw_meta *whole = &k->call->in[0];
    int weight = mw__arg_operand(k->call, WEIGHT), bias = mw__arg_operand(k->call, BIAS);
    mw_view view[3];
    for (int i = 0; i < k->nin; i++)
        MW_TRY(compact(k, i, &view[i]));
    group g = {.in = &view[0],
               .out = &k->out[0],
               .weight = weight >= 0 ? &view[weight] : NULL,
               .bias = bias >= 0 ? &view[bias] : NULL,
               .channels = whole->shape[1] / mw__arg_int(k->call, GROUPS, 1),
               .behind = 1,
               .eps = mw__arg_float(k->call, EPS, 1e-5)};
    for (int d = 2; d < view[0].ndim; d++)
        g.behind *= view[0].shape[d];
    int64_t samples = view[0].shape[0], channels = view[0].shape[1];
    for (int64_t n = 0; n < samples && g.behind > 0; n++)
        for (int64_t c = 0; c < channels; c += g.channels) {
            g.first = (n * channels + c) * g.behind;
            g.channel = c;
            normalise(&g);
        }
    return MW_OK;
}

const mw_op mw_op_group_norm = {
    .schema = "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
              "bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    .rule = "input[n g·c* d*...], weight?[g·c*], bias?[g·c*] -> [n g·c* d*...]",
    .doc = "Normalises each group of channels of each sample to mean 0 and deviation 1, then "
           "multiplies by weight and adds bias.",
    .refuses = MW_REFUSES_BIAS,
    .factors = group_norm_factors,
    .kernel = group_norm_kernel,
    .samples = "f32[2, 8, 3], 4, f32[8], f32[8]; f32[2, 6, 3], 3, f32[6], f32[6]; f32[3, 4], 2; "
               "f64[2, 4, 3, 2], 4, f64[4]; "
               "bf16[2, 6, 5], 1, none, bf16[6], 0.001; f32[0, 4, 2], 2; f32[2, 4, 0], 2",
};
