/* interp: what it means to call an op. The parts of an op (and later its gradient) are small
 * programs in ops, written against this interface, so that the same text runs eagerly, is recorded,
 * or only priced: the interpreter decides. A failed call leaves the status in the interpreter and
 * gives NULL, and every later call gives NULL too: a program checks once, at its end. */
#ifndef OPS_INTERP_H
#define OPS_INTERP_H

#include "ops/op.h"

typedef struct mw_interp mw_interp;
struct mw_interp {
    /* Arguments in schema order, as many as the op has; one result, or NULL. */
    mw_tensor *(*call)(mw_interp *in, const mw_op *op, const mw_value *args, int nargs);
    mw_status status;
};

static inline mw_value mw__val(mw_tensor *t)
{
    return (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = t};
}

static inline mw_value mw__val_int(int64_t i)
{
    return (mw_value){.kind = MW_ARG_INT, .as.i = i};
}

static inline mw_value mw__val_ints(const int64_t *at, int n)
{
    return (mw_value){.kind = MW_ARG_INTS, .count = n, .as.ints = at};
}

static inline mw_value mw__val_float(double f)
{
    return (mw_value){.kind = MW_ARG_FLOAT, .as.f = f};
}

static inline mw_value mw__val_bool(bool b)
{
    return (mw_value){.kind = MW_ARG_BOOL, .as.i = b};
}

static inline mw_value mw__val_dtype(mw_dtype d)
{
    return (mw_value){.kind = MW_ARG_DTYPE, .as.i = d};
}

static inline mw_value mw__val_none(void)
{
    return (mw_value){.kind = MW_ARG_NONE};
}

/* emit(in, mm, mw__val(a), mw__val(b)): calls the op of that word in ops.def. */
#define MW_EMIT(in, word, ...)                                               \
    (in)->call(in, mw__op_at(MW_OP_##word), (const mw_value[]){__VA_ARGS__}, \
               (int)(sizeof((const mw_value[]){__VA_ARGS__}) / sizeof(mw_value)))

#endif
