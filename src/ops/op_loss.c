/* Losses: mse_loss, nll_loss, cross_entropy.
 *
 * Classes are dim 1 (dim 0 of a single row). A cross entropy over a sharded vocabulary goes by
 * parts: the log-sum-exp of each row is two small reductions, the class's own logit is a masked
 * look-up and one more; no logit moves. Means divide by the weights of all targets that count,
 * which no rank knows alone: there the rows go by parts too. */
#include "ops/elementwise.h"
#include "ops/interp.h"
#include "ops/refuses.h"
#include "ops/rule_parts.h"

#include <math.h>

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };
enum { LOSS_SELF, LOSS_TARGET, LOSS_WEIGHT, LOSS_REDUCTION, LOSS_IGNORE, LOSS_SMOOTHING };

static mw_status check_reduction(const mw_call_args *call, int pos, int64_t *ret)
{
    *ret = mw__arg_int(call, pos, REDUCE_MEAN);
    if (*ret >= REDUCE_NONE && *ret <= REDUCE_SUM) return MW_OK;
    return MW_FAIL(MW_ERR_ARG,
                   "%s: argument 'reduction' is %lld; it is 0 (none), 1 (mean) or 2 "
                   "(sum)",
                   mw__call_name(call), (long long)*ret);
}

/* ---- mse_loss --------------------------------------------------------------------------------
 */

MW__ROW2_F32(off_f32, float, (a - b) * (a - b))
MW__ROW2(off_f64, double, double, f64, (a - b) * (a - b))
static const mw__family off_family = {MW__BUILDS(off_f32), off_f64, NULL};

static mw_status mse_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    int64_t reduction = 0;
    MW_TRY(check_reduction(call, 2, &reduction));
    if (mw_dtype_kind_of(rule->out_meta[0].dtype) != MW_KIND_FLOAT)
        return MW_FAIL(MW_ERR_ARG, "mse_loss: not defined for %s",
                       mw_dtype_name(rule->out_meta[0].dtype));
    mw_operand *out = &rule->out[0];
    MW_TRY(mw__rule_broadcast(call, rule, 0, 2, 0, "i", out, NULL));
    if (reduction != REDUCE_NONE) out->ndim = 0;
    return MW_OK;
}

/* The squares in f64 where they are summed, so that a long sum stays right; a mean divides by the
 * count of the whole, so that parts of it add up. */
static mw_status mse_kernel(const mw_kernel_call *k)
{
    int64_t reduction = mw__arg_int(k->call, 2, REDUCE_MEAN);
    if (reduction == REDUCE_NONE) return mw__family_run(k, &off_family, NULL);
    mw_view all = {.dtype = MW_DTYPE_f64};
    double whole = 1, sum = 0;
    bool nothing = false;
    for (int i = 0; i < 2; i++)
        all.ndim = MW_MAX(all.ndim, k->in[i].ndim);
    for (int d = 0; d < all.ndim; d++) {
        int64_t size = 1, global = 1;
        for (int i = 0; i < 2; i++) {
            int own = d - (all.ndim - k->in[i].ndim);
            if (own < 0) continue;
            if (k->in[i].shape[own] == 0) nothing = true; /* a dim of size 1 may be elsewhere */
            if (k->call->in[i].shape[own] == 1) continue;
            size = k->in[i].shape[own];
            global = k->call->in[i].shape[own];
        }
        all.shape[d] = size;
        whole *= (double)global;
    }
    mw__view_set(&all, MW_DTYPE_f64, all.ndim, all.shape);
    int64_t count = nothing ? 0 : mw__view_count(&all);
    double *square = mw__arena_alloc(k->scratch, (size_t)MW_MAX(count, 1) * sizeof *square);
    if (!square) return MW_NOMEM();
    all.data = square;
    mw_kernel_call wide = *k;
    wide.out = &all;
    if (count > 0) MW_TRY(mw__family_run(&wide, &off_family, NULL));
    for (int64_t i = 0; i < count; i++)
        sum += square[i];
    mw__element_set(k->out[0].data, k->out[0].dtype,
                    reduction == REDUCE_MEAN ? sum / (whole > 0 ? whole : NAN) : sum);
    return MW_OK;
}

const mw_op mw_op_mse_loss = {
    .schema = "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    .doc = "Squares of what is between two tensors: their mean (1), their sum (2), or all (0).",
    .reduce = MW_REDUCE_SUM,
    .dtype = MW_OUT_PROMOTE,
    .factors = mse_factors,
    .kernel = mse_kernel,
    .samples = "f32[4, 6], f32[4, 6]; f32[4, 6], f32[6], 2; f64[3, 5], f64[3, 1], 0; bf16[9], "
               "bf16[9]; f32[], f32[], 2; f32[0, 3], f32[3], 2; f32[0], f32[0]",
};

/* ---- the rule of losses over classes ---------------------------------------------------------
 */

static int class_dim(const mw_call_args *call)
{
    return call->in[0].ndim == 1 ? 0 : 1;
}

static mw_status misfit(const mw_call_args *call, const char *why)
{
    char text[2][MW_META_TEXT];
    return MW_FAIL(MW_ERR_SHAPE, "%s: self is %s and target %s: %s", mw__call_name(call),
                   mw__meta_text(&call->in[0], text[0]), mw__meta_text(&call->in[1], text[1]), why);
}

static mw_status check_loss(const mw_call_args *call)
{
    const mw_meta *self = &call->in[0], *target = &call->in[1];
    int weight = mw__arg_operand(call, LOSS_WEIGHT);
    if (self->ndim == 0 || mw_dtype_kind_of(self->dtype) != MW_KIND_FLOAT)
        return misfit(call, "self needs classes as its dim 1, and floats");
    if (mw_dtype_kind_of(target->dtype) != MW_KIND_INT) {
        (void)misfit(call, "target must hold class numbers, which are integers");
        mw__error_hint("probabilities as targets are not supported");
        return MW_ERR_SHAPE;
    }
    if (target->ndim != self->ndim - 1)
        return misfit(call, "target must have the dims of self but its classes");
    for (int d = 0, t = 0; d < self->ndim; d++)
        if (d != class_dim(call) && target->shape[t++] != self->shape[d])
            return misfit(call, "their sizes differ");
    if (weight >= 0 &&
        (call->in[weight].ndim != 1 || call->in[weight].shape[0] != self->shape[class_dim(call)]))
        return misfit(call, "weight must have one number per class");
    if (call->narg > LOSS_SMOOTHING && mw__arg_float(call, LOSS_SMOOTHING, 0) != 0) {
        (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: label_smoothing is %g, which is not supported",
                      mw__call_name(call), mw__arg_float(call, LOSS_SMOOTHING, 0));
        mw__error_hint("pass label_smoothing=0.0");
        return MW_ERR_UNSUPPORTED;
    }
    return MW_OK;
}

static mw_status loss_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    int64_t reduction = 0;
    int weight = mw__arg_operand(call, LOSS_WEIGHT), classes = class_dim(call);
    MW_TRY(check_reduction(call, LOSS_REDUCTION, &reduction));
    MW_TRY(check_loss(call));
    mw_mark mark = reduction == REDUCE_MEAN ? MW_MARK_PARTS : MW_MARK_FREE;
    int first = mw__rule_letters(rule, &rule->in[0], &call->in[0], "d", mark);
    rule->letter[first + classes].mark = MW_MARK_PARTS;
    for (int d = 0, t = 0; d < call->in[0].ndim; d++) {
        if (d == classes) continue;
        mw__rule_put(&rule->in[1], t++, first + d);
        if (reduction == REDUCE_NONE) mw__rule_push(&rule->out[0], first + d);
    }
    if (weight >= 0) mw__rule_put(&rule->in[weight], 0, first + classes);
    return MW_OK;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

static double element_at(const mw_view *view, int64_t at)
{
    return mw__element_get((const char *)view->data + at * mw_dtype_size(view->dtype), view->dtype);
}

/* log(sum(exp(x))) of a row of classes. */
static double log_sum(const mw_view *self, int64_t at, int64_t n, int64_t stride)
{
    double top = -HUGE_VAL, sum = 0;
    for (int64_t c = 0; c < n; c++) {
        double x = element_at(self, at + c * stride);
        if (x > top || isnan(x)) top = x;
    }
    if (isinf(top)) top = 0;
    for (int64_t c = 0; c < n; c++)
        sum += exp(element_at(self, at + c * stride) - top);
    return top + log(sum);
}

typedef struct losses {
    bool entropy; /* of logits; else of log-probabilities */
    double total, weights;
} losses;

/* The loss and weight of one target. */
static mw_status one_loss(const mw_kernel_call *k, const losses *l, int64_t target, int64_t at,
                          double *ret_loss, double *ret_weight)
{
    const mw_view *self = &k->in[0];
    int dim = class_dim(k->call), weight = mw__arg_operand(k->call, LOSS_WEIGHT);
    int64_t n = self->shape[dim], stride = self->stride[dim];
    *ret_loss = *ret_weight = 0;
    if (target == mw__arg_int(k->call, LOSS_IGNORE, -100)) return MW_OK;
    if (target < 0 || target >= n)
        return MW_FAIL(MW_ERR_ARG, "%s: target %lld is outside of the %lld classes",
                       mw__call_name(k->call), (long long)target, (long long)n);
    *ret_weight = 1;
    if (weight >= 0) *ret_weight = element_at(&k->in[weight], target * k->in[weight].stride[0]);
    double loss = -element_at(self, at + target * stride);
    if (l->entropy) loss += log_sum(self, at, n, stride);
    *ret_loss = loss * *ret_weight;
    return MW_OK;
}

static mw_status run_losses(const mw_kernel_call *k, bool entropy)
{
    const mw_view *self = &k->in[0], *target = &k->in[1], *out = &k->out[0];
    int64_t reduction = mw__arg_int(k->call, LOSS_REDUCTION, REDUCE_MEAN);
    int64_t index[MW_MAX_DIMS] = {0}, count = mw__view_count(target);
    losses l = {.entropy = entropy};
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, from = 0;
        double loss, weight;
        for (int d = 0; d < target->ndim; d++) {
            from += index[d] * target->stride[d];
            at += index[d] * self->stride[d < class_dim(k->call) ? d : d + 1];
        }
        const char *place = (const char *)target->data + from * mw_dtype_size(target->dtype);
        MW_TRY(one_loss(k, &l, mw__element_get_i64(place, target->dtype), at, &loss, &weight));
        l.total += loss;
        l.weights += weight;
        if (reduction == REDUCE_NONE)
            mw__element_set((char *)out->data + i * mw_dtype_size(out->dtype), out->dtype, loss);
        for (int d = target->ndim - 1; d >= 0 && ++index[d] == target->shape[d]; d--)
            index[d] = 0;
    }
    if (reduction != REDUCE_NONE)
        mw__element_set(out->data, out->dtype,
                        reduction == REDUCE_MEAN ? l.total / l.weights : l.total);
    return MW_OK;
}

static mw_status cross_entropy_kernel(const mw_kernel_call *k)
{
    return run_losses(k, true);
}

static mw_status nll_kernel(const mw_kernel_call *k)
{
    return run_losses(k, false);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static mw_tensor *convert(mw_interp *in, mw_tensor *t, mw_dtype from, mw_dtype to)
{
    if (from == to) return t;
    return MW_EMIT(in, to_dtype, mw__val(t), mw__val_dtype(to), mw__val_bool(false),
                   mw__val_bool(false), mw__val_none());
}

/* The weight of each target, 0 where it is ignored. */
static mw_tensor *emit_weights(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                               mw_tensor *target, mw_tensor *counts, mw_dtype work)
{
    int weight = mw__arg_operand(call, LOSS_WEIGHT);
    mw_tensor *own = convert(in, counts, MW_DTYPE_bool, work);
    if (weight < 0) return own;
    int64_t all = 1;
    for (int d = 0; d < call->in[1].ndim; d++)
        all *= call->in[1].shape[d];
    mw_tensor *w = convert(in, operand[weight], call->in[weight].dtype, work);
    mw_tensor *flat = MW_EMIT(in, reshape, mw__val(target), mw__val_ints(&all, 1));
    w = MW_EMIT(in, index_select, mw__val(w), mw__val_int(0), mw__val(flat));
    w = MW_EMIT(in, reshape, mw__val(in->settle(in, w)),
                mw__val_ints(call->in[1].shape, call->in[1].ndim));
    return MW_EMIT(in, mul, mw__val(w), mw__val(own));
}

static mw_status loss_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                            bool entropy, mw_tensor **ret_out)
{
    const int64_t dim = class_dim(call);
    mw_dtype from = call->in[0].dtype, work = from == MW_DTYPE_f64 ? from : MW_DTYPE_f32;
    int64_t reduction = mw__arg_int(call, LOSS_REDUCTION, REDUCE_MEAN);
    mw_value at = mw__val_int(dim), ignore = mw__val_int(mw__arg_int(call, LOSS_IGNORE, -100));
    mw_tensor *x = convert(in, operand[0], from, work);
    mw_tensor *target = convert(in, operand[1], call->in[1].dtype, MW_DTYPE_i64);
    mw_tensor *counts = MW_EMIT(in, ne_scalar, mw__val(target), ignore);
    mw_tensor *skips = MW_EMIT(in, logical_not, mw__val(counts));
    target = MW_EMIT(in, masked_fill_scalar, mw__val(target), mw__val(skips), mw__val_int(0));
    mw_tensor *place = MW_EMIT(in, unsqueeze, mw__val(target), at);
    mw_tensor *own = MW_EMIT(in, gather, mw__val(x), at, mw__val(place), mw__val_bool(false));
    own = MW_EMIT(in, squeeze_dim, mw__val(in->settle(in, own)), at);
    mw_tensor *loss = MW_EMIT(in, neg, mw__val(own));
    if (entropy) {
        mw_tensor *all =
            MW_EMIT(in, logsumexp, mw__val(x), mw__val_ints(&dim, 1), mw__val_bool(false));
        loss = MW_EMIT(in, add, mw__val(loss), mw__val(all), mw__val_int(1));
    }
    mw_tensor *weights = emit_weights(in, call, operand, target, counts, work);
    loss = MW_EMIT(in, mul, mw__val(loss), mw__val(weights));
    loss = MW_EMIT(in, masked_fill_scalar, mw__val(loss), mw__val(skips), mw__val_int(0));
    if (reduction != REDUCE_NONE) loss = MW_EMIT(in, sum, mw__val(loss), mw__val_none());
    if (reduction == REDUCE_MEAN)
        loss = MW_EMIT(in, div, mw__val(in->settle(in, loss)),
                       mw__val(MW_EMIT(in, sum, mw__val(weights), mw__val_none())));
    ret_out[0] = convert(in, in->settle(in, loss), work, from);
    return in->status;
}

static mw_status cross_entropy_parts(mw_interp *in, const mw_call_args *call,
                                     mw_tensor *const *operand, mw_tensor **ret_out)
{
    return loss_parts(in, call, operand, true, ret_out);
}

static mw_status nll_parts(mw_interp *in, const mw_call_args *call, mw_tensor *const *operand,
                           mw_tensor **ret_out)
{
    return loss_parts(in, call, operand, false, ret_out);
}

#define LOSS_SAMPLES                                                                           \
    "f32[5, 7], i64[5]<7; f32[5, 7], i64[5]<7, f32[7]>0, 1, 3; f64[4, 6], i64[4]<6, none, 2; " \
    "f32[2, 5, 3], i64[2, 3]<5, none, 0; f32[7], i64[]<7; bf16[4, 9], i64[4]<9; "              \
    "f32[6, 5], i64[6]<5, f32[5]>0, 0, 2; f32[0, 3], i64[0], none, 2; f32[2, 5, 3], "          \
    "i64[2, 3]<5, f32[5]>0, 1, 1"

const mw_op mw_op_cross_entropy_loss = {
    .schema = "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, "
              "int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor",
    .rule = "self[n c^ ...], target[n ...], weight?[c^] -> []",
    .doc = "Minus the logarithm of the softmax at each target, as mean (1), sum (2), or all (0).",
    .reduce = MW_REDUCE_SUM,
    .refuses = MW_REFUSES_LOSS,
    .factors = loss_factors,
    .kernel = cross_entropy_kernel,
    .parts = cross_entropy_parts,
    .reductions = 4,
    .samples = LOSS_SAMPLES,
};

const mw_op mw_op_nll_loss_nd = {
    .schema = "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, "
              "int reduction=1, SymInt ignore_index=-100) -> Tensor",
    .rule = "self[n c^ ...], target[n ...], weight?[c^] -> []",
    .doc = "Minus the log-probability at each target, as mean (1), sum (2), or all (0).",
    .reduce = MW_REDUCE_SUM,
    .refuses = MW_REFUSES_LOSS,
    .factors = loss_factors,
    .kernel = nll_kernel,
    .parts = nll_parts,
    .reductions = 3,
    .samples = LOSS_SAMPLES,
};
