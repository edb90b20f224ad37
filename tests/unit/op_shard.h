/* Cuts one letter of a rule over some parts and gives the shard of a tensor that a part holds: the
 * definition, by index arithmetic over single elements, with none of the library's layouts. */
#ifndef TESTS_OP_SHARD_H
#define TESTS_OP_SHARD_H

#include "op_run.h"

typedef struct op_shard {
    const mw_rule *rule;
    int letter; /* -1: nothing is cut */
    int parts, part;
} op_shard;

/* torch.chunk's rule. */
static inline int64_t op_shard_first(const op_shard *s, int part)
{
    int64_t size = s->rule->letter[s->letter].size, chunk = (size + s->parts - 1) / s->parts;
    return MW_MIN(size, part * chunk);
}

static inline int64_t op_shard_size(const op_shard *s, int letter)
{
    if (letter != s->letter) return s->rule->letter[letter].size;
    return op_shard_first(s, s->part + 1) - op_shard_first(s, s->part);
}

static inline int64_t op_shard_dim(const op_shard *s, const mw_operand *o, int dim)
{
    int64_t size = 1;
    for (int i = 0; i < o->nletter[dim]; i++)
        size *= op_shard_size(s, o->letter[dim][i]);
    return size;
}

/* The global position of local position `at` of a dim. */
static inline int64_t op_shard_global(const op_shard *s, const mw_operand *o, int dim, int64_t at)
{
    int64_t global = 0, weight = 1;
    for (int i = o->nletter[dim] - 1; i >= 0; i--) {
        int letter = o->letter[dim][i];
        int64_t size = op_shard_size(s, letter), index = at % size;
        if (letter == s->letter) index += op_shard_first(s, s->part);
        global += index * weight;
        weight *= s->rule->letter[letter].size;
        at /= size;
    }
    return global;
}

/* The shape of a shard; dims without letters keep their size of 1. */
static inline void op_shard_shape(const op_shard *s, const mw_operand *o, int64_t *ret_shape)
{
    for (int d = 0; d < o->ndim; d++)
        ret_shape[d] = op_shard_dim(s, o, d);
}

/* The row-major number, in the whole tensor of `shape`, of local element `nth` of a shard. */
static inline int64_t op_shard_element(const op_shard *s, const mw_operand *o, const int64_t *shape,
                                       const int64_t *local_shape, int64_t nth)
{
    int64_t number = 0, weight = 1;
    for (int d = o->ndim - 1; d >= 0; d--) {
        number += op_shard_global(s, o, d, nth % local_shape[d]) * weight;
        nth /= local_shape[d];
        weight *= shape[d];
    }
    return number;
}

/* The shard of a view, copied element by element into memory of its own. */
static inline void op_shard_take(op_run *run, const op_shard *s, const mw_operand *o,
                                 const mw_view *whole, mw_view *ret)
{
    int64_t shape[MW_MAX_DIMS], bytes = mw_dtype_size(whole->dtype);
    op_shard_shape(s, o, shape);
    mw__view_set(ret, whole->dtype, whole->ndim, shape);
    int64_t count = mw__view_count(ret);
    ret->data = mw__arena_alloc(&run->arena, (size_t)(count * bytes));
    assert_non_null(ret->data);
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)ret->data + i * bytes,
               (char *)whole->data +
                   op_run_offset(whole, op_shard_element(s, o, whole->shape, shape, i)),
               (size_t)bytes);
}

#endif
