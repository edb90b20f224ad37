/* Slabs: pieces are cut off one after the other and not used again before the whole is empty; what
 * is freed and taken again is the pool's business. */
#include "tensor/slab.h"

#include <sys/mman.h>

enum { PAGE = 2 << 20, LINE = 64, SMALLEST = 4 << 20, LARGEST = 32 << 20 };

struct mw__slab {
    size_t bytes; /* of the whole block, which begins here */
    size_t used;
    int64_t pieces; /* given out and not put back */
};

static size_t aligned(const mw__slab *slab, size_t at)
{
    uintptr_t first = (uintptr_t)slab;
    return (size_t)(((first + at + LINE - 1) & ~(uintptr_t)(LINE - 1)) - first);
}

void mw__huge_pages(void *block, size_t size)
{
#if defined(MADV_HUGEPAGE)
    uintptr_t from = ((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(PAGE - 1);
    if (from < end) (void)madvise((void *)from, end - from, MADV_HUGEPAGE); /* a wish */
#else
    (void)block, (void)size;
#endif
}

static mw__slab *new_slab(const mw__slab *last, const mw_allocator *allocator, size_t size)
{
    size_t bytes = last ? MW_MIN(2 * last->bytes, (size_t)LARGEST) : (size_t)SMALLEST;
    bytes = MW_MAX(bytes, size + sizeof(mw__slab) + LINE);
    mw__slab *slab = allocator->resize(allocator->user, NULL, 0, bytes);
    if (!slab) return NULL;
    mw__huge_pages(slab, bytes);
    *slab = (mw__slab){bytes, sizeof *slab, 0};
    return slab;
}

void *mw__slab_take(mw__slab **slab, const mw_allocator *allocator, size_t size)
{
    mw__slab *s = *slab;
    if (!s || aligned(s, s->used) > s->bytes || s->bytes - aligned(s, s->used) < size) {
        s = new_slab(s, allocator, size);
        if (!s) return NULL;
        *slab = s;
    }
    size_t at = aligned(s, s->used);
    s->used = at + size;
    s->pieces++;
    return (char *)s + at;
}

void mw__slab_put(mw__slab **slab, const mw_allocator *allocator, mw__slab *of)
{
    if (--of->pieces) return;
    if (*slab == of) *slab = NULL;
    (void)allocator->resize(allocator->user, of, of->bytes, 0);
}
