/* The rule of one call: allocates the operands, has them filled by the rule's text, by the op's own
 * function or by its reshape, and works out what follows: the results' shapes, which letters reach
 * a result. Invariant on return: every operand's and result's shape is the product of its letters.
 */
#include "ops/rule_parts.h"
#include "ops/table.h"

#include <stdio.h>

/* ---- helpers for overrides ------------------------------------------------------------------ */

int mw__rule_letter_nth(mw_rule *rule, const char *name, int nth, int64_t size, mw_mark mark)
{
    int letter = MW_MIN(rule->nletter, MW_RULE_LETTERS - 1);
    rule->nletter++; /* may pass the capacity: finish() sees it */
    mw_letter *to = &rule->letter[letter];
    *to = (mw_letter){.mark = (uint8_t)mark, .size = size};
    size_t n = 0;
    for (; name[n] && n < sizeof to->name - 1; n++)
        to->name[n] = name[n];
    if (nth < 0) return letter;
    if (nth < 10)
        to->name[MW_MIN(n, sizeof to->name - 2)] = (char)('0' + nth);
    else
        (void)snprintf(to->name + MW_MIN(n, 4), sizeof to->name - MW_MIN(n, 4), "%d",
                       nth % 1000); /* past 999 the rule is refused anyway */
    return letter;
}

int mw__rule_letter(mw_rule *rule, const char *name, int64_t size, mw_mark mark)
{
    return mw__rule_letter_nth(rule, name, -1, size, mark);
}

void mw__rule_put(mw_operand *operand, int dim, int letter)
{
    if (operand->nletter[dim] == MW_DIM_LETTERS) return; /* the shape check tells */
    operand->letter[dim][operand->nletter[dim]++] = (uint8_t)letter;
}

void mw__rule_push(mw_operand *out, int letter)
{
    if (out->ndim >= MW_MAX_DIMS) {
        out->ndim = MW_MAX_DIMS + 1; /* finish() sees it */
        return;
    }
    out->nletter[out->ndim] = 0;
    if (letter >= 0) mw__rule_put(out, out->ndim, letter);
    out->ndim++;
}

int mw__rule_letters(mw_rule *rule, mw_operand *operand, const mw_meta *meta, const char *name,
                     mw_mark mark)
{
    int first = MW_MIN(rule->nletter, MW_RULE_LETTERS - 1);
    for (int d = 0; d < meta->ndim; d++)
        mw__rule_put(operand, d, mw__rule_letter_nth(rule, name, d, meta->shape[d], mark));
    return first;
}

void mw__rule_copy(mw_operand *to, int to_dim, const mw_operand *from, int from_dim, int n)
{
    for (int i = 0; i < n; i++) {
        to->nletter[to_dim + i] = from->nletter[from_dim + i];
        memcpy(to->letter[to_dim + i], from->letter[from_dim + i], sizeof to->letter[0]);
    }
}

static mw_status do_not_broadcast(const mw_call_args *call, int a, int b)
{
    char first[MW_META_TEXT], second[MW_META_TEXT];
    return MW_FAIL(MW_ERR_SHAPE, "%s: '%s' %s and '%s' %s do not broadcast", mw__call_name(call),
                   mw__operand_name(call, a), mw__meta_text(&call->in[a], first),
                   mw__operand_name(call, b), mw__meta_text(&call->in[b], second));
}

mw_status mw__rule_broadcast(const mw_call_args *call, mw_rule *rule, int first, int n, int keep,
                             const char *name, mw_operand *out, int *ret_n)
{
    int most = 0;
    for (int i = first; i < first + n; i++)
        most = MW_MAX(most, call->in[i].ndim - keep);
    for (int slot = most - 1; slot >= 0; slot--) { /* counted from the right */
        int64_t size = 1;
        int from = -1;
        for (int i = first; i < first + n; i++) {
            int d = call->in[i].ndim - keep - 1 - slot;
            if (d < 0 || call->in[i].shape[d] == 1 || call->in[i].shape[d] == size) continue;
            if (from >= 0) return do_not_broadcast(call, from, i);
            size = call->in[i].shape[d];
            from = i;
        }
        int letter = mw__rule_letter_nth(rule, name, most - 1 - slot, size, MW_MARK_FREE);
        for (int i = first; i < first + n; i++) {
            int d = call->in[i].ndim - keep - 1 - slot;
            if (d >= 0 && call->in[i].shape[d] == size) mw__rule_put(&rule->in[i], d, letter);
        }
        if (out) mw__rule_push(out, letter);
    }
    if (ret_n) *ret_n = most;
    return MW_OK;
}

/* ---- the rule of a call --------------------------------------------------------------------- */

static int count_results(const mw_call_args *call, const mw_schema *schema)
{
    return call->op->nout ? call->op->nout(call) : schema->nresult;
}

/* One block holds all three arrays. */
static mw_status make_arrays(const mw_call_args *call, int nout, mw_arena *arena, mw_rule *rule)
{
    size_t nin = (size_t)call->nin, n = (size_t)nout;
    char *block = mw__arena_zalloc(arena, n * sizeof(mw_meta) + (nin + n) * sizeof(mw_operand));
    if (!block) return MW_NOMEM();
    rule->out_meta = (mw_meta *)(void *)block;
    rule->in = (mw_operand *)(void *)(block + n * sizeof(mw_meta));
    rule->out = rule->in + nin;
    rule->nin = call->nin;
    rule->nout = nout;
    rule->nterm = 1;
    rule->nletter = 0;
    const mw_op *form = mw__op_form(call->op);
    rule->reduce = form->reduce;
    rule->monotone = form->monotone;
    rule->joint = form->joint;
    for (int a = 0; a < call->narg; a++) {
        const mw_arg *arg = &call->arg[a];
        if (arg->kind != MW_ARG_TENSOR && arg->kind != MW_ARG_TENSORS) continue;
        for (int i = arg->first; i < arg->first + arg->count; i++) {
            rule->in[i].linear = (form->linear_in & MW_ARG(a)) != 0;
            rule->in[i].unread = (call->op->unread & MW_ARG(a)) != 0; /* not what is written */
            rule->in[i].ndim = (int8_t)call->in[i].ndim;
        }
    }
    return MW_OK;
}

static mw_status check_same_dtype(const mw_call_args *call)
{
    int first = -1;
    const unsigned mask = mw__op_form(call->op)->same_dtype;
    if (!mask) return MW_OK;
    for (int a = 0; a < call->narg; a++) {
        const mw_arg *arg = &call->arg[a];
        if (!(mask & MW_ARG(a))) continue;
        if (arg->kind != MW_ARG_TENSOR && arg->kind != MW_ARG_TENSORS) continue;
        for (int i = arg->first; i < arg->first + arg->count; i++) {
            if (first < 0) first = i;
            if (call->in[i].dtype == call->in[first].dtype) continue;
            (void)MW_FAIL(
                MW_ERR_ARG, "%s: expected '%s' and '%s' to have the same dtype, got %s and %s",
                mw__call_name(call), mw__operand_name(call, first), mw__operand_name(call, i),
                mw_dtype_name(call->in[first].dtype), mw_dtype_name(call->in[i].dtype));
            mw__error_hint("convert '%s' to %s first", mw__operand_name(call, i),
                           mw_dtype_name(call->in[first].dtype));
            return MW_ERR_ARG;
        }
    }
    return MW_OK;
}

/* The size of each dim of a result, and of each operand, is the product of its letters. */
static mw_status shape_of(const mw_call_args *call, const mw_rule *rule, const mw_operand *operand,
                          mw_meta *meta)
{
    if (operand->ndim > MW_MAX_DIMS)
        return MW_FAIL(MW_ERR_SHAPE, "%s: the result would have more than %d dims",
                       mw__call_name(call), MW_MAX_DIMS);
    meta->ndim = operand->ndim;
    for (int d = 0; d < operand->ndim; d++) {
        int64_t size = 1;
        for (int i = 0; i < operand->nletter[d]; i++)
            MW_TRY(mw__mul_size(size, rule->letter[operand->letter[d][i]].size, &size));
        meta->shape[d] = size;
    }
    return MW_OK;
}

static mw_status check_operands(const mw_call_args *call, const mw_rule *rule)
{
    for (int i = 0; i < rule->nin; i++) {
        mw_meta meta = {0};
        MW_TRY(shape_of(call, rule, &rule->in[i], &meta));
        size_t bytes = (size_t)meta.ndim * sizeof meta.shape[0];
        if (meta.ndim != call->in[i].ndim || memcmp(meta.shape, call->in[i].shape, bytes) != 0)
            return MW_FAIL(MW_ERR_INTERNAL, "%s: the letters of '%s' do not give its shape",
                           mw__call_name(call), mw__operand_name(call, i));
    }
    return MW_OK;
}

/* The operand that result `nth` writes, or -1. */
static int written_operand(const mw_call_args *call, const mw_schema *schema, int nth)
{
    if (nth >= schema->nresult || !schema->result[nth].written) return -1;
    for (int a = 0; a < schema->narg; a++) {
        const mw_type *type = &schema->arg[a].type;
        if (type->written && type->alias == schema->result[nth].alias)
            return mw__arg_operand(call, a);
    }
    return -1;
}

static mw_status check_written(const mw_call_args *call, const mw_schema *schema,
                               const mw_rule *rule)
{
    for (int i = 0; i < rule->nout; i++) {
        int o = written_operand(call, schema, i);
        if (o < 0) continue;
        const mw_meta *was = &call->in[o], *out = &rule->out_meta[i];
        size_t bytes = (size_t)was->ndim * sizeof was->shape[0];
        if (was->ndim == out->ndim && memcmp(was->shape, out->shape, bytes) == 0) continue;
        char first[MW_META_TEXT], second[MW_META_TEXT];
        return MW_FAIL(MW_ERR_SHAPE,
                       "%s: the result %s does not fit '%s' %s, which it is written to",
                       mw__call_name(call), mw__meta_text(out, first), mw__operand_name(call, o),
                       mw__meta_text(was, second));
    }
    return MW_OK;
}

/* Extremes pass through the operands that the op names (none named: all that have a term). */
static void spread_monotone(const mw_call_args *call, mw_rule *rule)
{
    unsigned mask = mw__op_form(call->op)->monotone_in;
    for (int a = 0; a < call->narg; a++) {
        const mw_arg *arg = &call->arg[a];
        if (arg->kind != MW_ARG_TENSOR && arg->kind != MW_ARG_TENSORS) continue;
        for (int i = arg->first; i < arg->first + arg->count; i++)
            if (!rule->in[i].monotone && rule->in[i].term >= 0 && (!mask || (mask & MW_ARG(a))))
                rule->in[i].monotone = rule->monotone;
    }
}

static void mark_in_output(mw_rule *rule)
{
    for (int i = 0; i < rule->nout; i++)
        for (int d = 0; d < rule->out[i].ndim; d++)
            for (int k = 0; k < rule->out[i].nletter[d]; k++)
                rule->letter[rule->out[i].letter[d][k]].in_output = 1;
}

static mw_status finish(const mw_call_args *call, const mw_schema *schema, mw_rule *rule)
{
    if (rule->nletter > MW_RULE_LETTERS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "%s: needs %d factors, at most %d are possible",
                       mw__call_name(call), rule->nletter, MW_RULE_LETTERS);
    for (int i = 0; i < rule->nout; i++)
        MW_TRY(shape_of(call, rule, &rule->out[i], &rule->out_meta[i]));
    MW_TRY(check_operands(call, rule));
    MW_TRY(check_written(call, schema, rule));
    spread_monotone(call, rule);
    mark_in_output(rule);
    return MW_OK;
}

static mw_status reshape(const mw_call_args *call, mw_rule *rule)
{
    MW_TRY(call->op->reshape(call, &rule->out_meta[0]));
    rule->out[0].ndim = (int8_t)rule->out_meta[0].ndim;
    return MW_OK;
}

mw_status mw__rule_default(const mw_call_args *call, mw_rule *rule)
{
    const mw_op_info *info = mw__op_info_of(call->op);
    if (!info || !info->has_rule)
        return MW_FAIL(MW_ERR_INTERNAL, "%s: the op has no rule text that can be read",
                       mw__call_name(call));
    return mw__rule_lay(call, &info->rule, rule);
}

mw_status mw__rule_of(const mw_call_args *call, mw_arena *arena, mw_rule *ret)
{
    const mw_op_info *info;
    mw_rule rule;
    MW_TRY(mw__op_info(call->op, &info));
    int nout = count_results(call, &info->schema);
    if (nout < 0) /* `nout` has recorded why */
        return mw_last_error()->code;
    MW_TRY(make_arrays(call, nout, arena, &rule));
    MW_TRY(check_same_dtype(call));
    MW_TRY(mw__rule_dtypes(call, info, &rule));
    if (call->op->reshape) {
        MW_TRY(reshape(call, &rule));
    } else {
        const mw_op *form = mw__op_form(call->op);
        if (form->factors)
            MW_TRY(form->factors(call, arena, &rule));
        else
            MW_TRY(mw__rule_default(call, &rule));
        MW_TRY(finish(call, &info->schema, &rule));
    }
    size_t used = (size_t)rule.nletter * sizeof rule.letter[0];
    memcpy(ret->letter, rule.letter, used);
    memcpy(&ret->in, &rule.in, sizeof rule - offsetof(mw_rule, in));
    ret->nletter = rule.nletter;
    ret->nin = rule.nin;
    ret->nout = rule.nout;
    ret->nterm = rule.nterm;
    return MW_OK;
}

mw_status mw__kernel_ranges(const mw_kernel_call *k, const mw_layout *layout, int dim, int64_t size,
                            const mw_range **ret, int64_t *ret_count)
{
    bool whole = !k->mesh || !layout;
    int64_t count =
        whole ? size > 0 : mw__dim_ranges(k->mesh, &layout->dim[dim], k->coord, NULL, 0);
    mw_range *range = mw__arena_alloc(k->scratch, (size_t)count * sizeof *range);
    if (!range) return MW_NOMEM();
    if (!whole)
        count = mw__dim_ranges(k->mesh, &layout->dim[dim], k->coord, range, count);
    else if (count)
        range[0] = (mw_range){0, size};
    *ret = range;
    *ret_count = count;
    return MW_OK;
}
