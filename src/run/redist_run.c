/* Runs redistributions that are prepared: hop after hop, or one collective in halves. */
#include "run/run.h"

static void fill_identity(const mw_view *out, mw_reduce kind)
{
    unsigned char one[8];
    int64_t size = mw_dtype_size(out->dtype), count = mw__view_count(out);
    double value = mw__reduce_identity(kind);
    bool whole = mw_dtype_kind_of(out->dtype) != MW_KIND_FLOAT;
    if (whole && (kind == MW_REDUCE_MAX || kind == MW_REDUCE_MIN)) {
        int bits = out->dtype == MW_DTYPE_bool ? 1 : (int)size * 8;
        bool is_signed = out->dtype != MW_DTYPE_u8 && out->dtype != MW_DTYPE_bool;
        int64_t top = is_signed ? (int64_t)((UINT64_MAX >> 1) >> (64 - bits))
                                : (int64_t)((UINT64_C(1) << bits) - 1);
        mw__element_set_i64(one, out->dtype,
                            kind == MW_REDUCE_MIN ? top : (is_signed ? -top - 1 : 0));
    } else if (whole) {
        mw__element_set_i64(one, out->dtype, kind == MW_REDUCE_PROD);
    } else {
        mw__element_set(one, out->dtype, value);
    }
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)out->data + i * size, one, (size_t)size);
}

static void scale(const mw_view *out, double factor)
{
    int64_t size = mw_dtype_size(out->dtype), count = mw__view_count(out);
    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)out->data + i * size;
        mw__element_set(at, out->dtype, mw__element_get(at, out->dtype) * factor);
    }
}

static mw_transfer first_transfer(const mw_hop *hop, const mw_tensor *in, const mw_tensor *out)
{
    mw_transfer t = hop->transfer;
    t.from = in->local.data;
    t.storage = in->storage;
    t.to = out->local.data;
    return t;
}

/* The second phase fetches the other chunks in place: what peers read is my own chunk only. */
static mw_status run_second(mw_rank *rank, const mw_hop *hop, const mw_tensor *out)
{
    if (!hop->two_phases) return MW_OK;
    mw_transfer t = hop->second;
    t.from = t.to = out->local.data;
    t.storage = out->storage;
    return mw__comm_transfer(rank->comm, &t);
}

static mw_status run_transfers(mw_rank *rank, const mw_hop *hop, const mw_tensor *in,
                               const mw_tensor *out)
{
    mw_transfer t = first_transfer(hop, in, out);
    MW_TRY(mw__comm_transfer(rank->comm, &t));
    return run_second(rank, hop, out);
}

/* The values of the state after one hop, in `out`. */
static mw_status run_values(mw_rank *rank, mw_hop *hop, mw_tensor *in, mw_tensor *out)
{
    if (hop->moves) return run_transfers(rank, hop, in, out);
    if (rank->fake) return MW_OK;
    if (hop->step->kind == MW_STEP_mask || hop->step->kind == MW_STEP_scale) {
        if (hop->step->kind == MW_STEP_scale || hop->keeps) {
            mw__view_copy(&out->local, &in->local);
            if (hop->step->kind == MW_STEP_scale) scale(&out->local, hop->factor);
        } else {
            fill_identity(&out->local, (mw_reduce)hop->step->reduce[0].kind);
        }
        return MW_OK;
    }
    for (int i = 0; i < hop->local.npull; i++)
        mw__pull_run(&hop->local.pull[i], in->local.dtype, in->local.data, out->local.data);
    return MW_OK;
}

/* A hop whose memory changes dtype (a partial sum of a half format ends) moves in the wide one. */
static mw_status run_hop(mw_rank *rank, mw_redist *r, mw_hop *hop, mw_tensor *in, bool last,
                         mw_tensor *into, mw_tensor **ret)
{
    bool narrow = hop->out.dtype != in->local.dtype && hop->step->kind != MW_STEP_mask &&
                  hop->step->kind != MW_STEP_scale;
    mw_tensor *out, *wide = NULL;
    mw_status status = MW_OK;
    if (into) {
        into->refs++;
        out = into;
    } else {
        MW_TRY(mw__tensor_make(rank, &out));
        out->local = hop->out;
        out->type = last ? r->to : r->from;
        status = mw__tensor_fill(rank, out, hop->bytes);
    }
    if (status == MW_OK && narrow && !rank->fake) {
        status = mw__tensor_make(rank, &wide);
        if (status == MW_OK) {
            wide->local = hop->out;
            wide->type = out->type;
            mw__view_set(&wide->local, in->local.dtype, hop->out.ndim, hop->out.shape);
            status = mw__tensor_fill(rank, wide,
                                     mw__view_count(&hop->out) * mw_dtype_size(in->local.dtype));
        }
    }
    if (status == MW_OK) status = run_values(rank, hop, in, wide ? wide : out);
    if (status == MW_OK && wide) mw__view_copy(&out->local, &wide->local);
    if (wide) mw__tensor_drop(rank, wide);
    if (status != MW_OK) {
        mw__tensor_drop(rank, out);
        return status;
    }
    *ret = out;
    return MW_OK;
}

static mw_status run_hops(mw_rank *rank, mw_redist *r, mw_tensor *t, const mw_reason *reason,
                          mw_tensor *into, mw_tensor **ret)
{
    MW_TRY(mw__strict_check(rank, r, reason));
    mw_tensor *now;
    MW_TRY(mw__tensor_dense(rank, t, &now));
    for (int i = 0; i < r->plan.nstep; i++) {
        mw_tensor *next = NULL;
        bool last = i + 1 == r->plan.nstep;
        mw_status status = run_hop(rank, r, &r->hop[i], now, last, last ? into : NULL, &next);
        mw__tensor_drop(rank, now);
        if (status == MW_OK) {
            status = mw__account_move(rank, r, &r->hop[i], reason);
            if (status != MW_OK) mw__tensor_drop(rank, next);
        }
        MW_TRY(status);
        now = next;
    }
    *ret = now;
    return MW_OK;
}

mw_status mw__redist_run(mw_rank *rank, mw_redist *r, mw_tensor *t, const mw_reason *reason,
                         mw_tensor **ret)
{
    return run_hops(rank, r, t, reason, NULL, ret);
}

mw_status mw__redist_run_into(mw_rank *rank, mw_redist *r, mw_tensor *t, const mw_reason *reason,
                              mw_tensor *into)
{
    mw_tensor *out;
    MW_TRY(run_hops(rank, r, t, reason, into, &out));
    mw__tensor_drop(rank, out);
    return MW_OK;
}

/* ---- in halves --------------------------------------------------------------------------------
 */

bool mw__redist_moves(const mw_redist *r)
{
    for (int i = 0; i < r->plan.nstep; i++)
        if (r->hop[i].moves) return true;
    return false;
}

bool mw__redist_halves(const mw_redist *r, const mw_tensor *t)
{
    return r->plan.nstep == 1 && r->hop[0].moves && r->hop[0].out.dtype == t->local.dtype &&
           mw__view_contiguous(&t->local);
}

mw_status mw__redist_begin(mw_rank *rank, mw_redist *r, const mw_tensor *t, const mw_reason *reason,
                           const mw_tensor *into)
{
    MW_TRY(mw__strict_check(rank, r, reason));
    mw_transfer first = first_transfer(&r->hop[0], t, into);
    return mw__comm_begin(rank->comm, &first);
}

mw_status mw__redist_end(mw_rank *rank, mw_redist *r, const mw_tensor *t, const mw_reason *reason,
                         const mw_tensor *into)
{
    mw_transfer first = first_transfer(&r->hop[0], t, into);
    MW_TRY(mw__comm_end(rank->comm, &first));
    MW_TRY(run_second(rank, &r->hop[0], into));
    return mw__account_move(rank, r, &r->hop[0], reason);
}
