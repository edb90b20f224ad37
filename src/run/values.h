/* Values of a call from C arguments; what the made wrappers of calls.c are written with. */
#ifndef RUN_VALUES_H
#define RUN_VALUES_H

#include "run/run.h"

#include <math.h>

static inline mw_value v_none(void)
{
    return (mw_value){.kind = MW_ARG_NONE};
}

static inline mw_value v_tensor(mw_tensor *t)
{
    return (mw_value){.kind = MW_ARG_TENSOR, .as.tensor = t};
}

static inline mw_value v_maybe(mw_tensor *t)
{
    return t ? v_tensor(t) : v_none();
}

static inline mw_value v_tensors(mw_tensor *const *t, int n)
{
    return (mw_value){.kind = MW_ARG_TENSORS, .count = n, .as.tensors = t};
}

static inline mw_value v_integer(int64_t i)
{
    return (mw_value){.kind = MW_ARG_INT, .as.i = i};
}

static inline mw_value v_maybe_integer(int64_t i)
{
    return i == MW_NONE_INT ? v_none() : v_integer(i);
}

static inline mw_value v_ints(const int64_t *at, int n)
{
    return (mw_value){.kind = MW_ARG_INTS, .count = n, .as.ints = at};
}

static inline mw_value v_maybe_ints(const int64_t *at, int n)
{
    return at ? v_ints(at, n) : v_none();
}

static inline mw_value v_number(double f)
{
    return (mw_value){.kind = MW_ARG_FLOAT, .as.f = f};
}

static inline mw_value v_maybe_number(double f)
{
    return isnan(f) ? v_none() : v_number(f);
}

/* A Scalar that is a whole number counts as an integer. */
static inline mw_value v_scalar(double f)
{
    bool whole = f == floor(f) && fabs(f) < 0x1p53 && !(f == 0 && signbit(f));
    return whole ? v_integer((int64_t)f) : v_number(f);
}

static inline mw_value v_maybe_scalar(double f)
{
    return isnan(f) ? v_none() : v_scalar(f);
}

static inline mw_value v_boolean(bool b)
{
    return (mw_value){.kind = MW_ARG_BOOL, .as.i = b};
}

static inline mw_value v_dtype_value(mw_dtype d)
{
    return (mw_value){.kind = MW_ARG_DTYPE, .as.i = d};
}

static inline mw_value v_maybe_dtype(mw_dtype d)
{
    return d == MW_DTYPE_NONE ? v_none() : v_dtype_value(d);
}

static inline mw_value v_text(const char *s)
{
    return (mw_value){.kind = MW_ARG_STR, .as.s = s};
}

static inline mw_value v_maybe_text(const char *s)
{
    return s ? v_text(s) : v_none();
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
