/* spans: how one dim lies over the ranks, as the runs of it that one rank holds. The parts of ops
 * that go along a dim (cumsum, topk) work span by span, so that cuts of every kind (uneven, empty,
 * strided, joint) are one case: spans are in the order of positions, and each belongs to one rank
 * (or its replicas). */
#ifndef OPS_SPANS_H
#define OPS_SPANS_H

#include "ops/op.h"

typedef struct mw_span {
    int64_t first, end; /* global positions [first, end) */
} mw_span;

/* All spans of the dim, rising, in the arena. Fails: MW_ERR_NOMEM. Pure. */
MW_NODISCARD mw_status mw__spans_of(const mw_mesh *mesh, const mw_dim *dim, mw_arena *arena,
                                    const mw_span **ret, int64_t *ret_count);

/* Spans as a kernel sees them: those of dim `dim` of operand 0, and which of them this rank holds:
 * own[i], rising, of own_count. A whole dim is one span; one without elements has none. */
typedef struct mw_kernel_spans {
    const mw_span *span;
    int64_t count;
    int64_t *own;
    int64_t own_count;
} mw_kernel_spans;
MW_NODISCARD mw_status mw__kernel_spans(const mw_kernel_call *k, int dim, mw_kernel_spans *ret);

#endif
