/* rule_parts: what the files that make rules share among themselves. */
#ifndef OPS_RULE_PARTS_H
#define OPS_RULE_PARTS_H

#include "ops/rule.h"
#include "ops/table.h"

/* The op whose rule and flags the op has: itself, or the one of which it is the in-place form. */
static inline const mw_op *mw__op_form(const mw_op *op)
{
    return op->in_place_of ? op->in_place_of : op;
}

enum { MW_META_TEXT = 208 }; /* holds any meta's text */

/* `f32[2, 3]` into a buffer of MW_META_TEXT bytes; returns it. For messages: never allocates. */
const char *mw__meta_text(const mw_meta *meta, char *to);

/* Names for messages: of the op, of the argument at a position, of the argument of an operand. */
const char *mw__call_name(const mw_call_args *call);
const char *mw__arg_name(const mw_call_args *call, int pos);
const char *mw__operand_name(const mw_call_args *call, int operand);

/* The dim `value` of a tensor of ndim dims, made non-negative. */
MW_NODISCARD mw_status mw__dim_in_range(const mw_call_args *call, int pos, int64_t value, int ndim,
                                        int *ret);

/* Letters, operands and outputs from a rule's text (rule_lay.c). */
MW_NODISCARD mw_status mw__rule_lay(const mw_call_args *call, const mw_rule_text *text,
                                    mw_rule *rule);

/* The dtypes of the results (rule_dtype.c). */
MW_NODISCARD mw_status mw__rule_dtypes(const mw_call_args *call, const mw_op_info *info,
                                       mw_rule *rule);

#endif
