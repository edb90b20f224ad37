/* Allocation: the C library's allocator, the one that fails on purpose, checked sizes, arenas. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

static void *libc_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static const mw_allocator libc_allocator = {libc_resize, NULL};

const mw_allocator *mw__libc_allocator(void)
{
    return &libc_allocator;
}

void mw_allocator_use(const mw_allocator *allocator)
{
    mw__ctx_get()->allocator = allocator ? allocator : &libc_allocator;
}

static void *fault_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    mw_fault_allocator *fault = user;
    if (new_size == 0) {
        if (block) __atomic_sub_fetch(&fault->live, (int64_t)old_size, __ATOMIC_RELAXED);
        free(block);
        return NULL;
    }
    int64_t nth = __atomic_add_fetch(&fault->count, 1, __ATOMIC_RELAXED);
    if (fault->fail_at > 0 && (nth == fault->fail_at || (fault->forever && nth > fault->fail_at)))
        return NULL;
    void *moved = realloc(block, new_size);
    if (!moved) return NULL;
    int64_t more = (int64_t)new_size - (block ? (int64_t)old_size : 0);
    int64_t live = __atomic_add_fetch(&fault->live, more, __ATOMIC_RELAXED);
    int64_t peak = __atomic_load_n(&fault->peak, __ATOMIC_RELAXED);
    while (live > peak && !__atomic_compare_exchange_n(&fault->peak, &peak, live, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return moved;
}

void mw_fault_allocator_init(mw_fault_allocator *fault, int64_t fail_at, int forever)
{
    *fault = (mw_fault_allocator){
        .allocator = {fault_resize, fault}, .fail_at = fail_at, .forever = forever};
}

void *mw__alloc(size_t size)
{
    mw__ctx *ctx = mw__ctx_get();
    ctx->allocations++;
    return ctx->allocator->resize(ctx->allocator->user, NULL, 0, size ? size : 1);
}

void *mw__zalloc(size_t size)
{
    void *block = mw__alloc(size);
    if (block) memset(block, 0, size);
    return block;
}

void *mw__realloc(void *block, size_t old_size, size_t new_size)
{
    mw__ctx *ctx = mw__ctx_get();
    ctx->allocations++;
    return ctx->allocator->resize(ctx->allocator->user, block, old_size ? old_size : 1,
                                  new_size ? new_size : 1);
}

void mw__free(void *block, size_t size)
{
    if (!block) return;
    const mw_allocator *a = mw__ctx_get()->allocator;
    (void)a->resize(a->user, block, size ? size : 1, 0);
}

void *mw_memory(size_t size)
{
    void *block = mw__zalloc(size);
    if (!block) (void)MW_NOMEM();
    return block;
}

void mw_memory_free(void *block, size_t size)
{
    mw__free(block, size);
}

mw_status mw__grow(void *items, int64_t *cap, int64_t need, size_t item)
{
    if (need <= *cap) return MW_OK;
    int64_t bytes = 0, new_cap = MW_MAX(need, *cap < 8 ? 8 : *cap + *cap / 2);
    MW_TRY(mw__mul_size(new_cap, (int64_t)item, &bytes));
    void *old;
    memcpy(&old, items, sizeof old);
    void *moved =
        old ? mw__realloc(old, (size_t)*cap * item, (size_t)bytes) : mw__alloc((size_t)bytes);
    if (!moved) return MW_NOMEM();
    memcpy(items, &moved, sizeof moved);
    *cap = new_cap;
    return MW_OK;
}

mw_status mw__mul_size(int64_t a, int64_t b, int64_t *ret)
{
    int64_t product;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
        return MW_FAIL(MW_ERR_SHAPE, "the product of sizes %lld and %lld is not a valid size",
                       (long long)a, (long long)b);
    *ret = product;
    return MW_OK;
}

mw_status mw__add_size(int64_t a, int64_t b, int64_t *ret)
{
    int64_t sum;
    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum))
        return MW_FAIL(MW_ERR_SHAPE, "the sum of sizes %lld and %lld is not a valid size",
                       (long long)a, (long long)b);
    *ret = sum;
    return MW_OK;
}

/* ---- arena --------------------------------------------------------------------------------- */

struct mw__block {
    mw__block *older;
    size_t size, used; /* of the bytes after this head */
    size_t pad;
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

void mw__arena_init(mw_arena *arena)
{
    *arena = (mw_arena){NULL, mw__ctx_get()->allocator};
}

static void free_block(const mw_arena *arena, mw__block *block)
{
    (void)arena->allocator->resize(arena->allocator->user, block, sizeof *block + block->size, 0);
}

void mw__arena_done(mw_arena *arena)
{
    while (arena->block) {
        mw__block *older = arena->block->older;
        free_block(arena, arena->block);
        arena->block = older;
    }
}

void mw__arena_clear(mw_arena *arena)
{
    if (!arena->block) return;
    while (arena->block->older) {
        mw__block *older = arena->block->older->older;
        free_block(arena, arena->block->older);
        arena->block->older = older;
    }
    arena->block->used = 0;
}

void *mw__arena_alloc(mw_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + 15) & ~(size_t)15;
    mw__block *block = arena->block;
    if (!block || block->size - block->used < size) {
        size_t step = block ? MW_MIN(block->size * 2, (size_t)LARGEST_STEP) : FIRST_BLOCK;
        size_t room = MW_MAX(step, size);
        if (!arena->allocator) arena->allocator = mw__ctx_get()->allocator;
        mw__ctx_get()->allocations++;
        block = arena->allocator->resize(arena->allocator->user, NULL, 0, sizeof *block + room);
        if (!block) return NULL;
        *block = (mw__block){arena->block, room, 0, 0};
        arena->block = block;
    }
    void *at = (char *)(block + 1) + block->used;
    block->used += size;
    return at;
}

void *mw__arena_zalloc(mw_arena *arena, size_t size)
{
    void *at = mw__arena_alloc(arena, size);
    if (at) memset(at, 0, size);
    return at;
}

char *mw__arena_strndup(mw_arena *arena, const char *text, size_t length)
{
    char *copy = mw__arena_alloc(arena, length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *mw__arena_printf(mw_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) return NULL;
    char *text = mw__arena_alloc(arena, (size_t)length + 1);
    if (!text) return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
