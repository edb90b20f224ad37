/* Storage and its pool. The pool keeps freed blocks by power-of-two class (in eighths of a power
 * above 4 KiB, so that large tensors waste at most an eighth), and belongs to one rank's thread;
 * only `readers` is touched by others.
 *
 * Blocks above KEEP_AT_MOST are kept in one list instead, newest first, together at most
 * KEEP_LARGE: memory fresh from the system costs several times what filling it does, since every
 * page of it faults. What does not fit goes back, oldest first. Blocks of the sizes between are
 * pieces of slabs, and go back to the system with them. */
#include "tensor/slab.h"
#include "tensor/tensor.h"

#include <sched.h>

/* Blocks from here on, up to KEEP_AT_MOST, are pieces of slabs. */
#if defined(__SANITIZE_ADDRESS__)
enum { SLAB_FROM = 1 << 20 }; /* what is written beyond a small block is seen */
#else
enum { SLAB_FROM = 1 << 16 };
#endif

enum { CLASSES = 256, ALIGN = 64, SMALLEST = 64, KEEP_AT_MOST = 16 << 20, KEEP_LARGE = 128 << 20 };

typedef struct mw__pool {
    mw_storage *free[CLASSES];
    mw_storage *large; /* free, newest first */
    int64_t large_bytes;
    mw_storage *limbo; /* unreferenced, still read by peers */
    int64_t live, peak;
    mw__slab *slab; /* the newest */
    const mw_allocator *allocator;
} mw__pool;

/* The class of a size and the capacity of that class; large blocks have none and are not rounded.
 */
static int class_of(int64_t bytes, int64_t *ret_capacity)
{
    if (bytes > KEEP_AT_MOST) {
        *ret_capacity = bytes;
        return -1;
    }
    int64_t power = SMALLEST;
    int index = 0;
    while (power * 2 <= bytes)
        power *= 2, index += 8;
    if (bytes <= power) {
        *ret_capacity = power;
        return index;
    }
    int64_t step = power / 8;
    int64_t eighths = (bytes - power + step - 1) / step;
    *ret_capacity = power + eighths * step;
    return index + (int)eighths;
}

mw_status mw__pool_get(struct mw__pool **ret)
{
    mw__ctx *ctx = mw__ctx_get();
    if (MW_UNLIKELY(!ctx->pool)) {
        mw__pool *pool = mw__zalloc(sizeof *pool);
        if (!pool) return MW_NOMEM();
        pool->allocator = ctx->allocator;
        ctx->pool = pool;
    }
    *ret = ctx->pool;
    return MW_OK;
}

static void give_back(mw__pool *pool, mw_storage *storage)
{
    if (storage->slab) {
        mw__slab_put(&pool->slab, pool->allocator, storage->slab);
        return;
    }
    size_t total = sizeof *storage + ALIGN + (size_t)storage->capacity;
    (void)pool->allocator->resize(pool->allocator->user, storage, total, 0);
}

static bool being_read(const mw_storage *storage)
{
    return __atomic_load_n(&storage->readers, __ATOMIC_ACQUIRE) != 0;
}

/* Gives back the oldest large blocks until those kept fit into `room` bytes. */
static void shrink_large(mw__pool *pool, int64_t room)
{
    int64_t kept = 0;
    mw_storage **at = &pool->large;
    while (*at && kept + (*at)->capacity <= room) {
        kept += (*at)->capacity;
        at = &(*at)->next;
    }
    mw_storage *old = *at;
    *at = NULL;
    pool->large_bytes = kept;
    while (old) {
        mw_storage *next = old->next;
        give_back(pool, old);
        old = next;
    }
}

/* A kept block for so many bytes that wastes at most an eighth, or NULL. */
static mw_storage *take_large(mw__pool *pool, int64_t bytes)
{
    for (mw_storage **at = &pool->large; *at; at = &(*at)->next) {
        mw_storage *storage = *at;
        if (storage->capacity < bytes || storage->capacity - bytes > bytes / 8) continue;
        *at = storage->next;
        pool->large_bytes -= storage->capacity;
        return storage;
    }
    return NULL;
}

static void put_in_free_list(mw__pool *pool, mw_storage *storage)
{
    int64_t capacity;
    if (storage->capacity > KEEP_LARGE) {
        give_back(pool, storage);
        return;
    }
    int class = class_of(storage->capacity, &capacity);
    if (class < 0) {
        storage->next = pool->large;
        pool->large = storage;
        pool->large_bytes += storage->capacity;
        if (pool->large_bytes > KEEP_LARGE) shrink_large(pool, KEEP_LARGE);
        return;
    }
    storage->next = pool->free[class];
    pool->free[class] = storage;
}

static void empty_limbo(mw__pool *pool)
{
    mw_storage **at = &pool->limbo;
    while (*at) {
        mw_storage *storage = *at;
        if (being_read(storage)) {
            at = &storage->next;
            continue;
        }
        *at = storage->next;
        put_in_free_list(pool, storage);
    }
}

static void count_live(mw__pool *pool, int64_t bytes)
{
    pool->live += bytes;
    if (pool->live > pool->peak) pool->peak = pool->live;
}

/* A block that was not there before. */
static mw_storage *new_block(mw__pool *pool, int64_t capacity)
{
    size_t total = sizeof(mw_storage) + ALIGN + (size_t)capacity;
    bool piece = capacity >= SLAB_FROM && capacity <= KEEP_AT_MOST;
    mw_storage *storage =
        piece ? mw__slab_take(&pool->slab, pool->allocator, total) : mw__alloc(total);
    if (!storage) return NULL;
    if (capacity > KEEP_AT_MOST) mw__huge_pages(storage, total);
    uintptr_t first = (uintptr_t)(storage + 1);
    *storage = (mw_storage){
        .data = (void *)((first + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1)),
        .capacity = capacity,
        .pool = pool,
        .slab = piece ? pool->slab : NULL,
    };
    return storage;
}

mw_status mw__storage_new(int64_t bytes, mw_storage **ret)
{
    if (bytes < 0) return MW_FAIL(MW_ERR_SHAPE, "a storage of %lld bytes", (long long)bytes);
    mw__pool *pool;
    MW_TRY(mw__pool_get(&pool));
    int64_t capacity;
    int class = class_of(bytes, &capacity);
    if (MW_UNLIKELY(pool->limbo)) empty_limbo(pool);
    mw_storage *storage = class >= 0 ? pool->free[class] : take_large(pool, bytes);
    if (MW_LIKELY(storage != NULL)) {
        if (class >= 0) pool->free[class] = storage->next;
    } else {
        storage = new_block(pool, capacity);
        if (!storage) return MW_NOMEM();
    }
    storage->size = bytes;
    storage->refs = 1;
    storage->held = 0;
    storage->next = NULL;
    count_live(pool, bytes);
    *ret = storage;
    return MW_OK;
}

void mw__storage_ref(mw_storage *storage)
{
    storage->refs++;
}

void mw__storage_unref(mw_storage *storage)
{
    if (!storage || --storage->refs > 0) return;
    mw__pool *pool = storage->pool;
    pool->live -= storage->size;
    if (MW_UNLIKELY(being_read(storage))) {
        storage->next = pool->limbo;
        pool->limbo = storage;
        return;
    }
    put_in_free_list(pool, storage);
}

void mw__pool_trim(void)
{
    mw__pool *pool = mw__ctx_get()->pool;
    if (!pool) return;
    empty_limbo(pool);
    shrink_large(pool, 0);
    for (int i = 0; i < CLASSES; i++) {
        while (pool->free[i]) {
            mw_storage *storage = pool->free[i];
            pool->free[i] = storage->next;
            give_back(pool, storage);
        }
    }
}

void mw__pool_done(void)
{
    mw__ctx *ctx = mw__ctx_get();
    mw__pool *pool = ctx->pool;
    if (!pool) return;
    while (pool->limbo) { /* a peer that reads is never far from done */
        empty_limbo(pool);
        if (pool->limbo) (void)sched_yield();
    }
    mw__pool_trim();
    ctx->pool = NULL;
    if (pool->live == 0)
        (void)pool->allocator->resize(pool->allocator->user, pool, sizeof *pool, 0);
}

mw__pool_stats mw__pool_stats_get(void)
{
    const mw__pool *pool = mw__ctx_get()->pool;
    return pool ? (mw__pool_stats){pool->live, pool->peak} : (mw__pool_stats){0, 0};
}
