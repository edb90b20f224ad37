/* The op table as a user of the library sees it: names, texts, look-up. Borrowed texts are those of
 * the table itself. */
#include "ops/table.h"

#include <stdio.h>

int mw_op_count(void)
{
    return MW_OP_COUNT;
}

const mw_op *mw_op_at(int index)
{
    return index < 0 || index >= MW_OP_COUNT ? NULL : mw__op_at((mw_op_id)index);
}

mw_status mw_op_find(const char *name, const mw_op **ret)
{
    return mw__op_named(name, strlen(name), ret);
}

mw_status mw_op_describe(const mw_op *op, mw_op_text *ret)
{
    const mw_op_info *info;
    if (!op) return MW_FAIL(MW_ERR_ARG, "there is no such op: NULL");
    MW_TRY(mw__op_info(op, &info));
    *ret = (mw_op_text){.word = info->word,
                        .schema = op->schema,
                        .rule = op->rule ? op->rule : "",
                        .doc = op->doc ? op->doc : "",
                        .refuses = op->refuses ? op->refuses : ""};
    const mw_schema *s = &info->schema;
    (void)snprintf(ret->aten, sizeof ret->aten, "%s::%s%s%s", s->space, s->name,
                   s->overload[0] ? "." : "", s->overload);
    return MW_OK;
}
