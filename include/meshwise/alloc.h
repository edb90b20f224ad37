/* The allocator: one function, Lua's way. Tests and embedders pass their own to count, cap, fail.
 */
#ifndef MESHWISE_ALLOC_H
#define MESHWISE_ALLOC_H

#include <meshwise/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* new_size 0 frees `block` (of old_size bytes) and returns NULL; block NULL allocates; otherwise
 * resizes. Returns NULL on failure, with `block` untouched. Must be callable from any thread. */
typedef struct mw_allocator {
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
    void *user;
} mw_allocator;

/* Makes `allocator` (NULL: the C library's) the one of this thread and of the programs it launches.
 * It must outlive everything allocated through it. Local. */
MW_API void mw_allocator_use(const mw_allocator *allocator);

/* Zeroed memory from this thread's allocator, for programs that want their own accounted and failed
 * like the library's; NULL and a record where there is none. Freed with the same size. Local. */
MW_API void *mw_memory(size_t size);
MW_API void mw_memory_free(void *block, size_t size); /* NULL is fine */

/* An allocator that passes on to the C library and fails the `fail_at`-th request (1-based, counted
 * over all threads; 0: never), and every later one too if `forever`. `count` tells the requests so
 * far, `live` the bytes not yet given back. */
typedef struct mw_fault_allocator {
    mw_allocator allocator;
    int64_t fail_at;
    int forever;
    int64_t count, live, peak;
} mw_fault_allocator;

MW_API void mw_fault_allocator_init(mw_fault_allocator *fault, int64_t fail_at, int forever);

#ifdef __cplusplus
}
#endif
#endif
