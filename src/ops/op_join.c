/* Joining tensors: cat and stack. Each tensor is a term of a sum (of itself, padded), so all may be
 * partial together. Where the parts of a cat are equal the result's dim is parts · part: shards of
 * parts join into shards of the result, and nothing moves. */
#include "ops/op.h"
#include "ops/rule_parts.h"

/* Terms are counted in 8 bits. */
enum { MOST_TENSORS = 127 };

/* An old exception of torch's: a tensor of shape [0] joins with anything and adds nothing. */
static bool counts(const mw_meta *meta, int ndim)
{
    return ndim == 1 || meta->ndim != 1 || meta->shape[0] != 0;
}

/* The first tensor that is not such an exception. */
static const mw_meta *model_of(const mw_call_args *call)
{
    for (int i = 0; i < call->nin; i++)
        if (call->in[i].ndim != 1 || call->in[i].shape[0] != 0) return &call->in[i];
    return &call->in[0];
}

static mw_status check_tensors(const mw_call_args *call)
{
    if (call->nin == 0)
        return MW_FAIL(MW_ERR_ARG, "%s: the list of tensors is empty", mw__call_name(call));
    if (call->nin <= MOST_TENSORS) return MW_OK;
    (void)MW_FAIL(MW_ERR_UNSUPPORTED, "%s: %d tensors, and at most %d are joined by one call",
                  mw__call_name(call), call->nin, MOST_TENSORS);
    mw__error_hint("join them in groups first");
    return MW_ERR_UNSUPPORTED;
}

/* All dims but `skip` (-1: none) must agree with the model's. */
static mw_status check_shapes(const mw_call_args *call, const mw_meta *model, int skip)
{
    char text[2][MW_META_TEXT];
    for (int i = 0; i < call->nin; i++) {
        const mw_meta *own = &call->in[i];
        bool same = own->ndim == model->ndim;
        if (skip >= 0 && !counts(own, model->ndim)) continue;
        for (int d = 0; same && d < own->ndim; d++)
            same = d == skip || own->shape[d] == model->shape[d];
        if (same) continue;
        (void)MW_FAIL(MW_ERR_SHAPE, "%s: tensors[%d] is %s, which does not go with %s",
                      mw__call_name(call), i, mw__meta_text(own, text[0]),
                      mw__meta_text(model, text[1]));
        if (skip >= 0)
            mw__error_hint("only dim %d may differ", skip);
        else
            mw__error_hint("all tensors must have one shape");
        return MW_ERR_SHAPE;
    }
    return MW_OK;
}

static void one_term_each(mw_rule *rule)
{
    for (int i = 0; i < rule->nin; i++) {
        rule->in[i].term = (int8_t)i;
        rule->in[i].linear = 1;
    }
    rule->nterm = rule->nin;
}

/* ---- cat ---------------------------------------------------------------------------------------
 */

/* One letter for each size that the joined dims have: there are more tensors than letters. */
static mw_status letter_of_size(const mw_call_args *call, mw_rule *rule, int first, int64_t size,
                                int *ret)
{
    for (int l = first; l < rule->nletter; l++)
        if (rule->letter[l].size == size) {
            *ret = l;
            return MW_OK;
        }
    if (rule->nletter >= MW_RULE_LETTERS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s: the tensors have too many different sizes",
                       mw__call_name(call));
    *ret = mw__rule_letter_nth(rule, "p", rule->nletter - first, size, MW_MARK_WHOLE);
    return MW_OK;
}

/* The joined dim: equal parts keep their letter, unequal ones are whole. */
static mw_status joined_dim(const mw_call_args *call, mw_rule *rule, int dim, const mw_meta *model)
{
    int64_t size = 0;
    bool equal = true;
    for (int i = 0; i < call->nin; i++) {
        if (!counts(&call->in[i], model->ndim)) {
            equal = false;
            continue;
        }
        MW_TRY(mw__add_size(size, call->in[i].shape[dim], &size));
        equal = equal && call->in[i].shape[dim] == model->shape[dim];
    }
    int first = rule->nletter;
    if (equal) {
        int parts = mw__rule_letter(rule, "q", call->nin, MW_MARK_WHOLE);
        int part = mw__rule_letter(rule, "p", model->shape[dim], MW_MARK_FREE);
        for (int i = 0; i < call->nin; i++)
            mw__rule_put(&rule->in[i], dim, part);
        mw__rule_push(&rule->out[0], parts);
        mw__rule_put(&rule->out[0], dim, part);
        return MW_OK;
    }
    for (int i = 0; i < call->nin; i++) {
        int at = counts(&call->in[i], model->ndim) ? dim : 0, letter = 0;
        MW_TRY(letter_of_size(call, rule, first, call->in[i].shape[at], &letter));
        mw__rule_put(&rule->in[i], at, letter);
    }
    mw__rule_push(&rule->out[0], mw__rule_letter(rule, "c", size, MW_MARK_WHOLE));
    return MW_OK;
}

static mw_status cat_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(check_tensors(call));
    const mw_meta *model = model_of(call);
    char text[MW_META_TEXT];
    int dim;
    if (model->ndim == 0)
        return MW_FAIL(MW_ERR_SHAPE, "cat: %s has no dims to join along; use stack",
                       mw__meta_text(model, text));
    MW_TRY(mw__arg_dim(call, 1, model->ndim, &dim));
    MW_TRY(check_shapes(call, model, dim));
    one_term_each(rule);
    for (int d = 0; d < model->ndim; d++) {
        if (d == dim) {
            MW_TRY(joined_dim(call, rule, dim, model));
            continue;
        }
        int letter = mw__rule_letter_nth(rule, "d", d, model->shape[d], MW_MARK_FREE);
        for (int i = 0; i < call->nin; i++)
            if (counts(&call->in[i], model->ndim)) mw__rule_put(&rule->in[i], d, letter);
        mw__rule_push(&rule->out[0], letter);
    }
    return MW_OK;
}

static mw_status cat_kernel(const mw_kernel_call *k)
{
    const mw_view *out = &k->out[0];
    int dim;
    int64_t at = 0;
    MW_TRY(mw__arg_dim(k->call, 1, out->ndim, &dim));
    for (int i = 0; i < k->nin; i++) {
        const mw_view *from = &k->in[i];
        if (!counts(&k->call->in[i], out->ndim)) continue;
        mw_view to = *out;
        to.shape[dim] = from->shape[dim];
        if (to.data) to.data = (char *)to.data + at * out->stride[dim] * mw_dtype_size(out->dtype);
        mw__view_copy(&to, from);
        at += from->shape[dim];
    }
    return MW_OK;
}

const mw_op mw_op_cat = {
    .schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    .rule = "tensors{+[... dim:p ...]} -> [... q·p ...]",
    .doc = "The tensors one after the other along a dim.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_PROMOTE,
    .borders = true,
    .factors = cat_factors,
    .monotone = 1,
    .joint = MW_JOINT_EXTREME,
    .kernel = cat_kernel,
    .samples = "{f32[4, 6], f32[4, 6]}; {f32[4, 6], f32[4, 3], f32[4, 6]}, 1; {f64[5]}; "
               "{bf16[2, 3], f32[2, 3], bf16[2, 3]}, -1; {i64[3, 2], i64[0, 2]}; "
               "{f32[0], f32[2, 3]}; {f32[0, 3], f32[0, 3]}; {bool[2], bool[2]}",
};

/* ---- stack -------------------------------------------------------------------------------------
 */

static mw_status stack_factors(const mw_call_args *call, mw_arena *arena, mw_rule *rule)
{
    (void)arena;
    MW_TRY(check_tensors(call));
    const mw_meta *model = &call->in[0];
    char text[MW_META_TEXT];
    int dim;
    if (model->ndim >= MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "stack: %s has no room for another dim: at most %d",
                       mw__meta_text(model, text), MW_MAX_DIMS);
    MW_TRY(mw__arg_dim(call, 1, model->ndim + 1, &dim));
    MW_TRY(check_shapes(call, model, -1));
    one_term_each(rule);
    int first = mw__rule_letters(rule, &rule->in[0], model, "d", MW_MARK_FREE);
    for (int i = 1; i < call->nin; i++)
        mw__rule_copy(&rule->in[i], 0, &rule->in[0], 0, model->ndim);
    int parts = mw__rule_letter(rule, "q", call->nin, MW_MARK_WHOLE);
    for (int d = 0; d <= model->ndim; d++)
        mw__rule_push(&rule->out[0], d == dim ? parts : first + d - (d > dim));
    return MW_OK;
}

static mw_status stack_kernel(const mw_kernel_call *k)
{
    const mw_view *out = &k->out[0];
    int dim;
    MW_TRY(mw__arg_dim(k->call, 1, out->ndim, &dim));
    for (int i = 0; i < k->nin; i++) {
        mw_view to = *out;
        if (to.data) to.data = (char *)to.data + i * out->stride[dim] * mw_dtype_size(out->dtype);
        to.ndim--;
        for (int d = dim; d < to.ndim; d++) {
            to.shape[d] = out->shape[d + 1];
            to.stride[d] = out->stride[d + 1];
        }
        mw__view_copy(&to, &k->in[i]);
    }
    return MW_OK;
}

const mw_op mw_op_stack = {
    .schema = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
    .rule = "tensors{+[... dim:d ...]} -> [... q d ...]",
    .doc = "The tensors side by side along a new dim.",
    .linear_in = MW_ARG(0),
    .dtype = MW_OUT_PROMOTE,
    .factors = stack_factors,
    .monotone = 1,
    .joint = MW_JOINT_EXTREME,
    .kernel = stack_kernel,
    .samples = "{f32[4, 6], f32[4, 6]}; {f32[3], f32[3], f32[3]}, 1; {f64[2, 3], f64[2, 3]}, -1; "
               "{bf16[2, 3]}, 1; {i64[], i64[]}; {f32[0, 3], f32[0, 3]}, 1",
};
