/* table: what is read off each op's texts, once per process, and the look-up of ops by name.
 *
 * The table is filled on first use and never changes afterwards, so that look-ups take no lock. It
 * lives in static memory: filling it cannot fail. An op whose texts do not parse is marked broken
 * and says so whenever it is asked for. */
#ifndef OPS_TABLE_H
#define OPS_TABLE_H

#include "ops/op.h"
#include "ops/rule.h"
#include "ops/schema.h"

typedef struct mw_op_info {
    const mw_op *op;
    const char *word; /* in ops.def */
    bool broken;      /* schema or rule text does not parse */
    bool has_rule;    /* `rule` is set. With an override the text may be for the reader only */
    int8_t dtype_arg; /* position of the argument `dtype`, or -1 */
    mw_schema schema;
    mw_rule_text rule;
} mw_op_info;

/* Of an op of the table. MW_ERR_INTERNAL for a broken or foreign one, with the reason. Pure. */
MW_NODISCARD mw_status mw__op_info(const mw_op *op, const mw_op_info **ret);

/* The same for code that holds an op which mw__op_info has accepted before. NULL otherwise. Pure.
 */
const mw_op_info *mw__op_info_of(const mw_op *op);

/* Finds an op by its word, `name`, `name.overload`, `aten::name`, `aten::name.overload`,
 * `aten.name.overload`, `torch.ops.aten.name.overload` (`default` is the empty overload). A name
 * alone is the op of that word, else the first of its overloads in the table, else of those added.
 * NULL: none. Pure. */
const mw_op *mw__op_find(const char *name, size_t length);

/* The word nearest to an unknown name, or NULL. Pure. */
const char *mw__op_nearest(const char *name, size_t length);

/* mw__op_find, or MW_ERR_ARG with the nearest name. */
MW_NODISCARD mw_status mw__op_named(const char *name, size_t length, const mw_op **ret);

/* Adds an op that is not in ops.def; it must live as long as the process. Its word is its name.
 * MW_ERR_PARSE and MW_ERR_INTERNAL for its texts, MW_ERR_ARG where its namespace, name and overload
 * are taken. From any thread. Adding it again does nothing. */
MW_NODISCARD mw_status mw__op_add(const mw_op *op);

/* ---- between op.c and op_added.c ------------------------------------------------------------ */

typedef enum mw_op_key { MW_KEY_WORD, MW_KEY_FULL, MW_KEY_NAME } mw_op_key;

enum { MW_OP_KEY = 2 * MW_SCHEMA_NAME + 2 }; /* bytes of any key, with its NUL */

/* The op's word, `name.overload` or name into `to`; returns the length. */
size_t mw__op_key_of(const mw_op_info *info, mw_op_key kind, char *to);
const mw_op_info *mw__added_of(const mw_op *op);
const mw_op *mw__added_find(const char *space, size_t nspace, const char *name, size_t length);

/* Reads one op's texts. */
MW_NODISCARD mw_status mw__op_read(const mw_op *op, mw_op_info *ret);

#endif
