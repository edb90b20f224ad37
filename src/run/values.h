/* Values of a call from C arguments; what the made wrappers of calls.c are written with. */
#ifndef RUN_VALUES_H
#define RUN_VALUES_H

#include "run/run.h"

#include <math.h>

static inline mw_value none(void)
{
    return (mw_value){.kind = MW_ARG_NONE};
}

static inline mw_value tensor(mw_tensor *t)
{
    return (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = t};
}

static inline mw_value maybe(mw_tensor *t)
{
    return t ? tensor(t) : none();
}

static inline mw_value tensors(mw_tensor *const *t, int n)
{
    return (mw_value){.kind = MW_ARG_TENSORS, .count = n, .as.tensors = t};
}

static inline mw_value integer(int64_t i)
{
    return (mw_value){.kind = MW_ARG_INT, .as.i = i};
}

static inline mw_value maybe_integer(int64_t i)
{
    return i == MW_NONE_INT ? none() : integer(i);
}

static inline mw_value ints(const int64_t *at, int n)
{
    return (mw_value){.kind = MW_ARG_INTS, .count = n, .as.ints = at};
}

static inline mw_value maybe_ints(const int64_t *at, int n)
{
    return at ? ints(at, n) : none();
}

static inline mw_value number(double f)
{
    return (mw_value){.kind = MW_ARG_FLOAT, .as.f = f};
}

static inline mw_value maybe_number(double f)
{
    return isnan(f) ? none() : number(f);
}

/* A Scalar that is a whole number counts as an integer. */
static inline mw_value scalar(double f)
{
    bool whole = f == floor(f) && fabs(f) < 0x1p53 && !(f == 0 && signbit(f));
    return whole ? integer((int64_t)f) : number(f);
}

static inline mw_value maybe_scalar(double f)
{
    return isnan(f) ? none() : scalar(f);
}

static inline mw_value boolean(bool b)
{
    return (mw_value){.kind = MW_ARG_BOOL, .as.i = b};
}

static inline mw_value dtype_value(mw_dtype d)
{
    return (mw_value){.kind = MW_ARG_DTYPE, .as.i = d};
}

static inline mw_value maybe_dtype(mw_dtype d)
{
    return d == MW_DTYPE_NONE ? none() : dtype_value(d);
}

static inline mw_value text(const char *s)
{
    return (mw_value){.kind = MW_ARG_STR, .as.s = s};
}

static inline mw_value maybe_text(const char *s)
{
    return s ? text(s) : none();
}

/* An optional operand that is NULL because its op failed is not an absent one. */
static inline bool failed(void)
{
    return mw_last_error()->code != MW_OK;
}

static inline int call_list(mw_site site, const mw_op *op, const mw_value *args, int nargs,
                            mw_tensor **out, int cap)
{
    mw_rank *rank = mw__rank_get();
    int n;
    if (!rank) return -1;
    rank->site = site;
    return mw__dispatch(rank, op, args, nargs, out, cap, &n) == MW_OK ? n : -1;
}

#endif
