/* The op table: ops.def as an array, what is read off each op's texts, and look-up by name.
 * Filled once per process into static memory, by whoever asks first, and constant from then on: the
 * fill allocates nothing and cannot fail, so nothing has to be undone or tried again. */
#include "ops/table.h"

#include "ops/scan.h"

#include <pthread.h>

#define OP(name) extern const mw_op mw_op_##name;
#include "ops/ops.def"
#undef OP

/* One more than there are ops, so that an empty table is legal C. */
static const mw_op *const ops[MW_OP_COUNT + 1] = {
#define OP(name) [MW_OP_##name] = &mw_op_##name,
#include "ops/ops.def"
#undef OP
    [MW_OP_COUNT] = NULL,
};

static const char *const words[MW_OP_COUNT + 1] = {
#define OP(name) [MW_OP_##name] = #name,
#include "ops/ops.def"
#undef OP
    [MW_OP_COUNT] = NULL,
};

enum { ADDRESS_SLOTS = 1024, NAME_SLOTS = 2048, NAMES_PER_OP = 3 };
_Static_assert(MW_OP_COUNT < ADDRESS_SLOTS / 2, "make ADDRESS_SLOTS larger");
_Static_assert(MW_OP_COUNT *NAMES_PER_OP < NAME_SLOTS * 3 / 4, "make NAME_SLOTS larger");

/* Slots hold the number of an op plus one; 0 is free. Open addressing. */
static struct {
    pthread_once_t once;
    mw_op_info info[MW_OP_COUNT + 1];
    uint16_t by_address[ADDRESS_SLOTS];
    struct {
        uint16_t op;
        uint8_t kind; /* mw_op_key */
    } by_name[NAME_SLOTS];
} table = {.once = PTHREAD_ONCE_INIT};

const mw_op *mw__op_at(mw_op_id id)
{
    return ops[id];
}

const char *mw__op_word(mw_op_id id)
{
    return words[id];
}

mw_status mw__op_read(const mw_op *op, mw_op_info *ret)
{
    ret->op = op;
    if (!op->schema) return MW_FAIL(MW_ERR_INTERNAL, "an op without a schema");
    MW_TRY(mw__schema_parse(op->schema, &ret->schema));
    ret->dtype_arg = (int8_t)mw__schema_find(&ret->schema, "dtype", 5);
    const mw_op *form = op->in_place_of ? op->in_place_of : op;
    if (!form->rule) return MW_OK;
    mw_status status = mw__rule_text_parse(&ret->schema, form->rule, &ret->rule);
    if (status == MW_OK && ret->rule.nout != ret->schema.nresult)
        status = MW_FAIL(MW_ERR_INTERNAL, "%s: %d results in the schema, %d in the rule",
                         ret->schema.name, ret->schema.nresult, ret->rule.nout);
    ret->has_rule = status == MW_OK;
    return form->factors || op->reshape ? MW_OK : status;
}

/* ---- filling -------------------------------------------------------------------------------- */

static unsigned address_slot(const mw_op *op)
{
    return (unsigned)(((uint64_t)(uintptr_t)op * 0x9e3779b97f4a7c15u) >> 54) % ADDRESS_SLOTS;
}

static int find_name(const char *name, size_t length, unsigned *ret_slot)
{
    char key[MW_OP_KEY];
    unsigned slot = (unsigned)(mw__hash(0, name, length) % NAME_SLOTS);
    for (; table.by_name[slot].op; slot = (slot + 1) % NAME_SLOTS) {
        int op = table.by_name[slot].op - 1;
        size_t n = mw__op_key_of(&table.info[op], (mw_op_key)table.by_name[slot].kind, key);
        if (n == length && memcmp(key, name, n) == 0) return op;
    }
    *ret_slot = slot;
    return -1;
}

static void fill_names(mw_op_key kind)
{
    char key[MW_OP_KEY];
    for (int i = 0; i < (int)MW_OP_COUNT; i++) {
        unsigned slot;
        if (table.info[i].broken && kind != MW_KEY_WORD) continue;
        size_t n = mw__op_key_of(&table.info[i], kind, key);
        if (find_name(key, n, &slot) >= 0) continue; /* the first of a name keeps it */
        table.by_name[slot].op = (uint16_t)(i + 1);
        table.by_name[slot].kind = (uint8_t)kind;
    }
}

static void fill(void)
{
    mw_error *error = &mw__ctx_get()->error;
    const mw_error kept = *error; /* texts that are for the reader only leave a record */
    for (int i = 0; i < (int)MW_OP_COUNT; i++) {
        mw_op_info *info = &table.info[i];
        info->broken = mw__op_read(ops[i], info) != MW_OK;
        info->op = ops[i];
        info->word = words[i];
        unsigned slot = address_slot(ops[i]);
        while (table.by_address[slot])
            slot = (slot + 1) % ADDRESS_SLOTS;
        table.by_address[slot] = (uint16_t)(i + 1);
    }
    fill_names(MW_KEY_WORD);
    fill_names(MW_KEY_FULL);
    fill_names(MW_KEY_NAME);
    *error = kept;
}

/* ---- asking --------------------------------------------------------------------------------- */

const mw_op_info *mw__op_info_of(const mw_op *op)
{
    (void)pthread_once(&table.once, fill);
    unsigned slot = address_slot(op);
    for (; table.by_address[slot]; slot = (slot + 1) % ADDRESS_SLOTS)
        if (ops[table.by_address[slot] - 1] == op) return &table.info[table.by_address[slot] - 1];
    return mw__added_of(op);
}

mw_status mw__op_info(const mw_op *op, const mw_op_info **ret)
{
    const mw_op_info *info = mw__op_info_of(op);
    if (!info) return MW_FAIL(MW_ERR_INTERNAL, "an op that nobody has added: %s", op->schema);
    if (info->broken) {
        mw_op_info again = {0}; /* the same texts fail in the same way, with the reason */
        MW_TRY(mw__op_read(op, &again));
    }
    *ret = info;
    return MW_OK;
}

/* A name in its parts: `aten::add.Tensor`, `aten.add.Tensor`, `torch.ops.aten.add.Tensor`, `add`.
 */
typedef struct op_name {
    const char *space, *name;
    size_t nspace, nname; /* nspace 0: not said */
} op_name;

static bool take(const char **at, size_t *left, const char *prefix)
{
    size_t n = strlen(prefix);
    if (*left <= n || memcmp(*at, prefix, n) != 0) return false;
    *at += n;
    *left -= n;
    return true;
}

static op_name split(const char *text, size_t length)
{
    op_name name = {text, text, 0, length};
    bool torch = take(&name.name, &name.nname, "torch.ops.");
    name.space = name.name;
    size_t n = 0;
    while (n < name.nname && name.name[n] != ':' && name.name[n] != '.')
        n++;
    if (n + 2 < name.nname && name.name[n] == ':' && name.name[n + 1] == ':') {
        name.nspace = n;
        name.name += n + 2;
        name.nname -= n + 2;
    } else if (n + 1 < name.nname && name.name[n] == '.' &&
               (torch || scan_word(name.name, n, "aten") || scan_word(name.name, n, "meshwise"))) {
        name.nspace = n;
        name.name += n + 1;
        name.nname -= n + 1;
    }
    return name;
}

const mw_op *mw__op_find(const char *name, size_t length)
{
    unsigned slot;
    (void)pthread_once(&table.once, fill);
    op_name parts = split(name, length);
    int op = find_name(parts.name, parts.nname, &slot);
    if (op >= 0 &&
        (!parts.nspace || scan_word(parts.space, parts.nspace, table.info[op].schema.space)))
        return ops[op];
    return mw__added_find(parts.space, parts.nspace, parts.name, parts.nname);
}

const char *mw__op_nearest(const char *name, size_t length)
{
    char copy[64];
    op_name parts = split(name, length);
    if (parts.nname >= sizeof copy) return NULL;
    memcpy(copy, parts.name, parts.nname);
    copy[parts.nname] = 0;
    return mw__nearest(copy, words, (int)MW_OP_COUNT);
}

mw_status mw__op_named(const char *name, size_t length, const mw_op **ret)
{
    const mw_op *op = mw__op_find(name, length);
    if (!op) {
        const char *nearest = mw__op_nearest(name, length);
        mw_status status = MW_FAIL(MW_ERR_ARG, "unknown op '%.*s'", (int)length, name);
        if (nearest) mw__error_hint("did you mean '%s'?", nearest);
        return status;
    }
    *ret = op;
    return MW_OK;
}
