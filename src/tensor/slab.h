/* slab: room for large tensors, in a few big pieces that the system is asked to back with huge
 * pages. Weights that are read for every token lie one after the other there: a program that reads
 * them at the speed of memory is half as fast again, since it waits for no page table. */
#ifndef TENSOR_SLAB_H
#define TENSOR_SLAB_H

#include "base/base.h"

typedef struct mw__slab mw__slab;

/* `size` bytes on a cache line, from *slab or from a new one, which *slab is then; each slab is
 * twice as large as the one before, up to some limit. NULL: no memory. */
void *mw__slab_take(mw__slab **slab, const mw_allocator *allocator, size_t size);

/* One piece of `of` is not used any more; it goes back when all of its pieces have. */
void mw__slab_put(mw__slab **slab, const mw_allocator *allocator, mw__slab *of);

/* Asks for huge pages wherever whole ones lie within the block. */
void mw__huge_pages(void *block, size_t size);

#endif
