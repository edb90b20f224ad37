/* Ops that a program adds to those of ops.def. They are few and added once, so they stand in a list
 * that only grows: readers follow it without a lock, writers put their op in front. What is added
 * stays for the life of the process, as the op itself must, and is therefore the C library's memory
 * and not that of the thread that happened to add it. */
#include "ops/scan.h"
#include "ops/table.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct added {
    mw_op_info info;
    struct added *next;
} added;

static _Atomic(added *) newest;

size_t mw__op_key_of(const mw_op_info *info, mw_op_key kind, char *to)
{
    const mw_schema *schema = &info->schema;
    int n = 0;
    if (kind == MW_KEY_WORD) n = snprintf(to, MW_OP_KEY, "%s", info->word);
    if (kind == MW_KEY_NAME) n = snprintf(to, MW_OP_KEY, "%s", schema->name);
    if (kind == MW_KEY_FULL)
        n = snprintf(to, MW_OP_KEY, "%s.%s", schema->name,
                     schema->overload[0] ? schema->overload : "default");
    return (size_t)MW_MIN(n, MW_OP_KEY - 1);
}

const mw_op_info *mw__added_of(const mw_op *op)
{
    for (const added *a = atomic_load_explicit(&newest, memory_order_acquire); a; a = a->next)
        if (a->info.op == op) return &a->info;
    return NULL;
}

const mw_op *mw__added_find(const char *space, size_t nspace, const char *name, size_t length)
{
    char key[MW_OP_KEY];
    const mw_op *found = NULL; /* the oldest of those that fit, as in the table */
    for (const added *a = atomic_load_explicit(&newest, memory_order_acquire); a; a = a->next) {
        if (nspace && !scan_word(space, nspace, a->info.schema.space)) continue;
        for (int kind = MW_KEY_WORD; kind <= MW_KEY_NAME; kind++) {
            size_t n = mw__op_key_of(&a->info, (mw_op_key)kind, key);
            if (n == length && memcmp(key, name, n) == 0) found = a->info.op;
        }
    }
    return found;
}

static mw_status check_free(const mw_op_info *info)
{
    char name[sizeof info->schema.space + 2 + MW_OP_KEY];
    const char *space = info->schema.space;
    size_t n = strlen(space);
    memcpy(name, space, n);
    memcpy(name + n, "::", 3);
    n += 2 + mw__op_key_of(info, MW_KEY_FULL, name + n + 2);
    return mw__op_find(name, n) ? MW_FAIL(MW_ERR_ARG, "there is an op '%s' already", name) : MW_OK;
}

mw_status mw__op_add(const mw_op *op)
{
    const mw_allocator *libc = mw__libc_allocator();
    if (mw__op_info_of(op)) return MW_OK;
    added *a = libc->resize(libc->user, NULL, 0, sizeof *a);
    if (!a) return MW_NOMEM();
    memset(a, 0, sizeof *a);
    const mw_error kept = mw__ctx_get()->error;
    mw_status status = mw__op_read(op, &a->info);
    a->info.word = a->info.schema.name;
    if (status == MW_OK) status = check_free(&a->info);
    if (status != MW_OK) { /* perhaps another thread has just added it */
        (void)libc->resize(libc->user, a, sizeof *a, 0);
        if (!mw__op_info_of(op)) return status;
        mw__ctx_get()->error = kept;
        return MW_OK;
    }
    a->next = atomic_load_explicit(&newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&newest, &a->next, a, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return MW_OK;
}
