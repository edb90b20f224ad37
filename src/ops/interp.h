/* interp: what it means to call an op. The parts of an op (and later its gradient) are small
 * programs in ops, written against this interface, so that the same text runs eagerly, is recorded,
 * or only priced: the interpreter decides. A failed call leaves the status in the interpreter and
 * gives NULL, and every later call gives NULL too: a program checks once, at its end. */
#ifndef OPS_INTERP_H
#define OPS_INTERP_H

#include "ops/table.h"

typedef struct mw_interp mw_interp;
struct mw_interp {
    /* Arguments in schema order, as many as the op has; its `nout` results into `out`. */
    void (*call)(mw_interp *in, const mw_op *op, const mw_value *args, int nargs, mw_tensor **out,
                 int nout);

    /* The tensor with its partial terms combined: for a result that is read more than once, or
     * given to the caller. */
    mw_tensor *(*settle)(mw_interp *in, mw_tensor *t);

    /* How dim `dim` lies over the ranks: the sum over its spans (maximal runs of positions that one
     * rank holds) of the smaller of `most` and the span's length. See spans.h. */
    int64_t (*spans)(mw_interp *in, const mw_tensor *t, int dim, int64_t most);

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

/* One result, or NULL. */
static inline mw_tensor *mw__emit(mw_interp *in, mw_op_id id, const mw_value *args, int nargs)
{
    mw_tensor *out = NULL;
    in->call(in, mw__op_at(id), args, nargs, &out, 1);
    return out;
}

/* MW_EMIT(in, mm, mw__val(a), mw__val(b)): calls the op of that word in ops.def. */
#define MW_EMIT(in, word, ...)                                  \
    mw__emit(in, MW_OP_##word, (const mw_value[]){__VA_ARGS__}, \
             (int)(sizeof((const mw_value[]){__VA_ARGS__}) / sizeof(mw_value)))

/* The same of an op with several results: MW_EMIT_ALL(in, topk, out, 2, ...). */
#define MW_EMIT_ALL(in, word, out, nout, ...)                                \
    (in)->call(in, mw__op_at(MW_OP_##word), (const mw_value[]){__VA_ARGS__}, \
               (int)(sizeof((const mw_value[]){__VA_ARGS__}) / sizeof(mw_value)), out, nout)

/* An op that only parts use, and that is not in ops.def: `op` is the struct. */
static inline void mw__emit_part(mw_interp *in, const mw_op *op, const mw_value *args, int nargs,
                                 mw_tensor **out, int nout)
{
    if (in->status == MW_OK) in->status = mw__op_add(op);
    in->call(in, op, args, nargs, out, nout);
}
#define MW_EMIT_PART(in, op, out, nout, ...)                  \
    mw__emit_part(in, &(op), (const mw_value[]){__VA_ARGS__}, \
                  (int)(sizeof((const mw_value[]){__VA_ARGS__}) / sizeof(mw_value)), out, nout)

#endif
