/* For tests of ops without ranks: runs one call on views, whole or on the shard of one coordinate
 * of a mesh with one axis `x`. Results come in memory of their own with bytes behind it that must
 * stay as they are. Everything lies in the arena given. */
#ifndef TESTS_OP_HARNESS_H
#define TESTS_OP_HARNESS_H

#include "ops/rule.h"
#include "ops/sample.h"
#include "ops/table.h"

enum { HARNESS_OPERANDS = 16, HARNESS_GUARD = 64 };

/* One call, ready to run: where it lies and what it is given. */
typedef struct harness {
    const mw_sample *sample;
    const mw_rule *rule;
    mw_arena *arena;
    const mw_mesh *mesh; /* NULL: whole */
    int coord;
    const mw_view *in; /* [nin], local */
    mw_view out[HARNESS_OPERANDS];
    const mw_layout *in_layout[HARNESS_OPERANDS], *out_layout[HARNESS_OPERANDS];
} harness;

/* The operand that result `nth` is written to, or -1. */
static inline int harness_written(const mw_call_args *call, const mw_schema *schema, int nth)
{
    if (nth >= schema->nresult || !schema->result[nth].written) return -1;
    for (int a = 0; a < schema->narg; a++)
        if (schema->arg[a].type.written && schema->arg[a].type.alias == schema->result[nth].alias)
            return mw__arg_operand(call, a);
    return -1;
}

/* Memory for a view whose shape is set: each byte `pattern`, and guard bytes behind. */
static inline bool harness_make(mw_view *view, uint8_t pattern, mw_arena *arena)
{
    size_t bytes = (size_t)(mw__view_count(view) * mw_dtype_size(view->dtype));
    uint8_t *data = mw__arena_alloc(arena, bytes + HARNESS_GUARD);
    if (!data) return false;
    memset(data, pattern, bytes);
    memset(data + bytes, 0xc3, HARNESS_GUARD);
    view->data = data;
    return true;
}

static inline bool harness_guard_stands(const mw_view *view)
{
    const uint8_t *guard =
        (const uint8_t *)view->data + mw__view_count(view) * mw_dtype_size(view->dtype);
    for (int i = 0; i < HARNESS_GUARD; i++)
        if (guard[i] != 0xc3) return false;
    return true;
}

static inline bool harness_copy(mw_view *to, const mw_view *from, mw_arena *arena)
{
    mw__view_set(to, from->dtype, from->ndim, from->shape);
    if (!harness_make(to, 0, arena)) return false;
    if (mw__view_count(from)) mw__view_copy(to, from);
    return true;
}

static inline mw_status harness_view(harness *h, int nth)
{
    const mw_op *op = h->sample->call.op;
    mw_view out = h->out[nth];
    mw_status status = op->view(&h->sample->call, nth, &h->in[0], &out);
    if (status != MW_OK) return status;
    if (out.dtype != h->out[nth].dtype || out.ndim != h->out[nth].ndim ||
        memcmp(out.shape, h->out[nth].shape, (size_t)out.ndim * sizeof out.shape[0]) != 0)
        return MW_FAIL(MW_ERR_INTERNAL, "a view of another dtype or shape");
    const char *base = h->in[0].data, *data = out.data;
    int64_t last = 0, size = mw_dtype_size(out.dtype);
    for (int d = 0; d < out.ndim; d++)
        last += (out.shape[d] - 1) * out.stride[d];
    if (mw__view_count(&out) == 0)
        return harness_copy(&h->out[nth], &out, h->arena) ? MW_OK : MW_NOMEM();
    if (data < base || (data - base) + (last + 1) * size > mw__view_count(&h->in[0]) * size)
        return MW_FAIL(MW_ERR_INTERNAL, "a view that leaves its operand's memory");
    return harness_copy(&h->out[nth], &out, h->arena) ? MW_OK : MW_NOMEM();
}

/* Runs the op's kernel or view into h->out, whose dtypes and shapes are set. */
static inline mw_status harness_run(harness *h, uint8_t pattern)
{
    const mw_call_args *call = &h->sample->call;
    const mw_op_info *info;
    mw_view in[HARNESS_OPERANDS];
    MW_TRY(mw__op_info(call->op, &info));
    for (int i = 0; i < call->nin; i++)
        in[i] = h->in[i];
    if (call->op->view) {
        for (int i = 0; i < h->rule->nout; i++)
            MW_TRY(harness_view(h, i));
        return MW_OK;
    }
    for (int i = 0; i < h->rule->nout; i++) {
        int written = harness_written(call, &info->schema, i);
        if (written < 0) {
            if (!harness_make(&h->out[i], pattern, h->arena)) return MW_NOMEM();
            continue;
        }
        if (!harness_copy(&h->out[i], &in[written], h->arena)) return MW_NOMEM();
        in[written] = h->out[i];
    }
    mw_arena scratch;
    mw__arena_init(&scratch);
    mw_kernel_call k = {.call = call,
                        .nin = call->nin,
                        .nout = h->rule->nout,
                        .in = in,
                        .out = h->out,
                        .mesh = h->mesh,
                        .coord = &h->coord,
                        .in_layout = h->in_layout,
                        .out_layout = h->out_layout,
                        .scratch = &scratch};
    mw_status status = call->op->kernel(&k);
    mw__arena_done(&scratch);
    if (status != MW_OK) return status;
    for (int i = 0; i < h->rule->nout; i++)
        if (!harness_guard_stands(&h->out[i]))
            return MW_FAIL(MW_ERR_INTERNAL, "the kernel writes past the end of result %d", i);
    return MW_OK;
}

/* The dim of an operand with its letters as factors, one of them cut over the mesh. */
static inline mw_dim harness_dim(const mw_mesh *mesh, const mw_rule *rule,
                                 const mw_operand *operand, int dim, int letter)
{
    mw_dim to;
    memset(&to, 0, sizeof to);
    to.nfactor = operand->nletter[dim];
    for (int i = 0; i < to.nfactor; i++) {
        int at = operand->letter[dim][i];
        to.factor[i] = rule->letter[at].size;
        if (at != letter) continue;
        to.cuts[i] = 1;
        to.cut[0].major = 1;
        to.cut[0].size = mw_mesh_axis_size(mesh, 0);
        to.ncut = 1;
    }
    return mw__dim_canonical(mesh, &to);
}

static inline const mw_layout *harness_layout(const mw_mesh *mesh, const mw_rule *rule,
                                              const mw_operand *operand, mw_dtype dtype, int letter,
                                              mw_arena *arena)
{
    mw_layout *layout = mw__arena_zalloc(arena, sizeof *layout);
    if (!layout) return NULL;
    layout->dtype = (uint8_t)dtype;
    layout->ndim = (uint8_t)operand->ndim;
    for (int d = 0; d < operand->ndim; d++)
        layout->dim[d] = harness_dim(mesh, rule, operand, d, letter);
    return layout;
}

/* How often the letter stands in the operand. */
static inline int harness_has(const mw_operand *operand, int letter)
{
    int n = 0;
    for (int d = 0; d < operand->ndim; d++)
        for (int i = 0; i < operand->nletter[d]; i++)
            n += operand->letter[d][i] == letter;
    return n;
}

/* The positions of one dim that a coordinate holds, in order; returns how many. */
static inline int64_t harness_positions(const mw_mesh *mesh, const mw_dim *dim, int coord,
                                        int64_t *to, int64_t cap)
{
    mw_range range[64];
    int64_t n = 0, ranges = mw__dim_ranges(mesh, dim, &coord, range, MW_COUNT(range));
    if (ranges > MW_COUNT(range)) return -1;
    for (int64_t i = 0; i < ranges; i++)
        for (int64_t at = range[i].first; at < range[i].end && n < cap; at++)
            to[n++] = at;
    return n;
}

/* Copies between a whole, contiguous view and a shard of it: `gather` from the shard. */
static inline bool harness_shard(const mw_mesh *mesh, const mw_layout *layout, int coord,
                                 const mw_view *whole, const mw_view *shard, bool gather)
{
    enum { LONGEST = 512 };
    int64_t position[MW_MAX_DIMS][LONGEST], index[MW_MAX_DIMS] = {0};
    for (int d = 0; d < shard->ndim; d++)
        if (harness_positions(mesh, &layout->dim[d], coord, position[d], LONGEST) !=
            shard->shape[d])
            return false;
    int64_t size = mw_dtype_size(whole->dtype), count = mw__view_count(shard);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = 0; d < shard->ndim; d++)
            at += position[d][index[d]] * whole->stride[d];
        char *w = (char *)whole->data + at * size, *s = (char *)shard->data + i * size;
        memcpy(gather ? w : s, gather ? s : w, (size_t)size);
        for (int d = shard->ndim - 1; d >= 0 && ++index[d] == shard->shape[d]; d--)
            index[d] = 0;
    }
    return true;
}

/* Sets dtype and local shape of a view from its layout; one without dims cut has the whole shape.
 */
static inline void harness_local(const mw_mesh *mesh, const mw_layout *layout, int coord,
                                 mw_dtype dtype, mw_view *view)
{
    int64_t shape[MW_MAX_DIMS];
    for (int d = 0; d < layout->ndim; d++)
        shape[d] = mw__dim_local_size(mesh, &layout->dim[d], &coord);
    mw__view_set(view, dtype, layout->ndim, shape);
    view->data = NULL;
}

/* Sets the results' dtypes and shapes to the whole's. */
static inline void harness_whole(harness *h)
{
    for (int i = 0; i < h->rule->nout; i++) {
        const mw_meta *meta = &h->rule->out_meta[i];
        mw__view_set(&h->out[i], meta->dtype, meta->ndim, meta->shape);
    }
}

#endif
