/* The one executor: runs a decided call on this rank's shards. */
#include "ops/interp.h"
#include "ops/spans.h"
#include "run/run.h"

static mw_status new_result(mw_rank *rank, mw_call *call, int i, mw_tensor **ret)
{
    mw_tensor *t;
    MW_TRY(mw__tensor_new(rank, &t));
    t->type = call->out_type[i];
    t->local = call->out[i];
    t->local.data = NULL;
    MW_TRY(mw__tensor_fill(rank, t, call->out_bytes[i]));
    call->out[i].data = t->local.data;
    *ret = t;
    return MW_OK;
}

static mw_status run_kernel(mw_rank *rank, mw_call *call)
{
    mw_status status = call->op->kernel(&call->kernel);
    mw__arena_clear(&rank->scratch);
    return status;
}

static void set_inputs(mw_call *call, mw_tensor *const *operand)
{
    for (int i = 0; i < call->nin; i++)
        call->in[i].data = operand[i]->local.data;
}

/* A new handle on the memory of operand 0. */
static mw_status run_view(mw_rank *rank, mw_call *call, mw_tensor *const *operand, mw_tensor **out)
{
    mw_tensor *base = operand[0];
    for (int i = 0; i < call->nout; i++) {
        mw_tensor *t;
        MW_TRY(mw__tensor_new(rank, &t));
        t->type = call->out_type[i];
        t->local = call->out[i];
        t->apart = base->apart || call->apart;
        t->storage = base->storage;
        if (base->storage) {
            mw__storage_ref(base->storage);
            t->local.data = (char *)base->local.data + call->view_offset[i];
        }
        out[i] = t;
    }
    return MW_OK;
}

mw_status mw__writable(const char *op, const mw_tensor *t)
{
    if (MW_UNLIKELY(t->apart)) {
        mw_status status = MW_FAIL(MW_ERR_LAYOUT,
                                   "%s would write into a view that had to be moved: what it views "
                                   "would not change, though it does on one rank",
                                   op);
        mw__error_hint(
            "mark the tensor with mark_sharding so that the view needs no movement, or write "
            "through index_copy_ or where");
        return status;
    }
    if (MW_LIKELY(!t->storage || !t->storage->frozen)) return MW_OK;
    (void)MW_FAIL(MW_ERR_ARG, "%s would write into %s, which a compiled function has frozen", op,
                  t->name ? t->name : "a tensor");
    mw__error_hint("write before it is compiled, free the function first, or do not freeze it");
    return MW_ERR_ARG;
}

/* Writes into operand 0; where that had to be re-placed for the op, the result goes back to it. */
static mw_status run_in_place(mw_rank *rank, mw_call *call, mw_tensor *const *given,
                              mw_tensor *const *operand, mw_tensor **out)
{
    mw_tensor *target = operand[0];
    if (!rank->fake) {
        MW_TRY(mw__comm_wait_readers(rank->comm, target->storage));
        call->out[0].data = target->local.data;
        MW_TRY(run_kernel(rank, call));
    }
    if (call->back) {
        mw_reason reason = {call->name, call->choice.why, given[0]->name, false};
        mw_tensor *back;
        MW_TRY(mw__redist_run(rank, call->back, target, &reason, &back));
        mw_status status = MW_OK;
        if (!rank->fake) {
            status = mw__comm_wait_readers(rank->comm, given[0]->storage);
            if (status == MW_OK) mw__view_copy(&given[0]->local, &back->local);
        }
        mw__tensor_drop(rank, back);
        MW_TRY(status);
    }
    /* The result is the operand: one more reference, held by the scope like any result. */
    mw_tensor *t;
    MW_TRY(mw__tensor_new(rank, &t));
    t->type = given[0]->type;
    t->local = given[0]->local;
    t->storage = given[0]->storage;
    if (t->storage) mw__storage_ref(t->storage);
    out[0] = t;
    return MW_OK;
}

/* The interpreter that runs now. */
typedef struct eager {
    mw_interp interp;
    mw_rank *rank;
    const char *name; /* of the op whose parts run */
} eager;

static void call_now(mw_interp *in, const mw_op *op, const mw_value *args, int nargs,
                     mw_tensor **out, int nout)
{
    int n = 0;
    if (in->status == MW_OK)
        in->status = mw__dispatch(((eager *)in)->rank, op, args, nargs, out, nout, &n);
    for (int i = 0; i < nout && in->status != MW_OK; i++)
        out[i] = NULL;
}

static mw_tensor *settle_now(mw_interp *in, mw_tensor *t)
{
    eager *now = (eager *)in;
    mw_rank *rank = now->rank;
    mw_redist *redist;
    mw_tensor *out, *whole = NULL;
    if (in->status != MW_OK || !t->type->layout.npartial) return in->status == MW_OK ? t : NULL;
    mw_layout to = t->type->layout;
    to.npartial = 0;
    memset(to.partial, 0, sizeof to.partial);
    mw_reason reason = {now->name, "its parts read this more than once", t->name, false};
    in->status = mw__redist_get(rank, t->type, &to, &redist);
    if (in->status == MW_OK) in->status = mw__redist_run(rank, redist, t, &reason, &out);
    if (in->status != MW_OK) return NULL;
    in->status = mw__tensor_new(rank, &whole);
    if (in->status == MW_OK) {
        whole->type = out->type;
        whole->local = out->local;
        whole->storage = out->storage;
        if (whole->storage) mw__storage_ref(whole->storage);
    }
    mw__tensor_drop(rank, out);
    return whole;
}

static int64_t spans_now(mw_interp *in, const mw_tensor *t, int dim, int64_t most)
{
    mw_rank *rank = ((eager *)in)->rank;
    int64_t total = 0;
    const mw_span *span;
    int64_t count;
    if (in->status != MW_OK || !t) return 0;
    in->status =
        mw__spans_of(t->type->mesh, &t->type->layout.dim[dim], &rank->plan_scratch, &span, &count);
    for (int64_t i = 0; i < count && in->status == MW_OK; i++)
        total += MW_MIN(most, span[i].end - span[i].first);
    return total;
}

/* Of what the parts make only the results stay in the caller's scope. */
mw_status mw__parts_run(mw_rank *rank, const char *name, const mw_call_args *args, int nout,
                        mw_tensor *const *operand, mw_tensor **out)
{
    eager now = {{call_now, settle_now, spans_now, MW_OK}, rank, name};
    int64_t first = rank->nowned;
    rank->parts++;
    mw_status status = args->op->parts(&now.interp, args, operand, out);
    rank->parts--;
    if (status == MW_OK) status = now.interp.status;
    int64_t kept = first;
    for (int64_t i = first; i < rank->nowned; i++) {
        mw_tensor *t = rank->owned[i];
        bool keep = false;
        for (int k = 0; k < nout && status == MW_OK; k++)
            keep = keep || out[k] == t;
        if (keep)
            rank->owned[kept++] = t;
        else
            mw__tensor_drop(rank, t);
    }
    rank->nowned = kept;
    return status;
}

static mw_status run_prepared(mw_rank *rank, mw_call *call, mw_tensor *const *given,
                              mw_tensor *const *operand, mw_tensor **out)
{
    if (call->parts) return mw__parts_run(rank, call->name, &call->args, call->nout, operand, out);
    set_inputs(call, operand);
    if (call->view) return run_view(rank, call, operand, out);
    if (call->in_place) return run_in_place(rank, call, given, operand, out);
    for (int i = 0; i < call->nout; i++)
        MW_TRY(new_result(rank, call, i, &out[i]));
    return rank->fake ? MW_OK : run_kernel(rank, call);
}

/* An operand before `i` that is the same tensor and goes the same way: one movement serves both. */
static int moved_before(const mw_call *call, mw_tensor *const *given, int i)
{
    for (int j = 0; j < i && !call->in_place; j++)
        if (given[j] == given[i] && call->prepare[j].redist == call->prepare[i].redist) return j;
    return -1;
}

/* Operands that are not as the op needs them are brought there, in order. */
static mw_status prepare(mw_rank *rank, mw_call *call, mw_tensor *const *given, mw_tensor **ready,
                         int *ret_done)
{
    for (int i = 0; i < call->nin; i++) {
        mw_tensor *t = given[i];
        int same = call->prepare[i].redist ? moved_before(call, given, i) : -1;
        if (same >= 0) {
            ready[i] = ready[same];
            ready[i]->refs++;
        } else if (call->prepare[i].redist) {
            mw_reason reason = {call->name, call->choice.why, t->name, false};
            MW_TRY(mw__redist_run(rank, call->prepare[i].redist, t, &reason, &ready[i]));
        } else if (call->prepare[i].contiguous) {
            MW_TRY(mw__tensor_dense(rank, t, &ready[i]));
        } else {
            t->refs++;
            ready[i] = t;
        }
        *ret_done = i + 1;
    }
    return MW_OK;
}

mw_status mw__call_run(mw_rank *rank, mw_call *call, mw_tensor *const *operand, mw_tensor **out)
{
    if (MW_UNLIKELY(rank->options->sink != NULL)) mw__account_call(rank, call);
    if (MW_LIKELY(call->plain)) {
        set_inputs(call, operand);
        for (int i = 0; i < call->nout; i++)
            MW_TRY(new_result(rank, call, i, &out[i]));
        return run_kernel(rank, call);
    }
    if (!call->moves) return run_prepared(rank, call, operand, operand, out);
    int done = 0;
    mw_status status = prepare(rank, call, operand, call->ready, &done);
    if (status == MW_OK) status = run_prepared(rank, call, operand, call->ready, out);
    for (int i = 0; i < done; i++)
        mw__tensor_drop(rank, call->ready[i]);
    return status;
}
