/* Runs a program that is ready: kernels and movements one after the other, on memory that is there.
 */
#include "graph/program_parts.h"

/* Another tensor's memory under the handle, for one run. The program's own reference is given up
 * first. */
static void set_memory(mw_tensor *to, const mw_tensor *from, int64_t offset)
{
    mw_storage *old = to->storage;
    to->storage = from->storage;
    to->apart = from->apart;
    if (to->storage) mw__storage_ref(to->storage);
    to->local.data = from->local.data ? (char *)from->local.data + offset : NULL;
    mw__storage_unref(old);
}

static mw_status wait_readers(mw_rank *rank, const mw_program *p, const run_step *s)
{
    for (int i = 0; i < s->nout; i++) {
        const mw_tensor *t = p->place[s->out[i]].handle;
        if (t->storage) MW_TRY(mw__comm_wait_readers(rank->comm, t->storage));
    }
    return MW_OK;
}

/* What comes before a kernel: it is counted, told, and waits for who reads what it writes. */
static mw_status begin_kernel(mw_rank *rank, const mw_program *p, const run_step *s)
{
    if (MW_UNLIKELY(++rank->usage.calls == rank->options->fail_op &&
                    rank->index == rank->options->fail_rank))
        return mw__injected_failure(rank);
    if (MW_UNLIKELY(rank->options->sink != NULL)) mw__account_call(rank, s->call);
    return s->waits && !s->call->in_place && !rank->fake ? wait_readers(rank, p, s) : MW_OK;
}

static mw_status run_kernel(mw_rank *rank, mw_program *p, run_step *s)
{
    mw_call *call = s->call;
    MW_TRY(begin_kernel(rank, p, s));
    for (int i = 0; i < s->nin; i++)
        call->in[i].data = p->place[s->in[i]].handle->local.data;
    if (call->in_place) /* its result is its operand */
        set_memory(p->place[s->out[0]].handle, p->place[s->in[0]].handle, 0);
    for (int i = 0; i < s->nout; i++)
        call->out[i].data = p->place[s->out[i]].handle->local.data;
    if (rank->fake) return MW_OK;
    if (call->in_place) MW_TRY(wait_readers(rank, p, s));
    mw_status status = call->op->kernel(&call->kernel);
    mw__arena_clear(&rank->scratch);
    return status;
}

static mw_status run_fused(mw_rank *rank, mw_program *p, run_step *first)
{
    for (int i = 0; i < first->fused; i++) {
        rank->site = first[i].node->site;
        MW_TRY(begin_kernel(rank, p, &first[i]));
    }
    return rank->fake ? MW_OK : mw__program_run_fused(rank, p, first);
}

static mw_status run_step_of(mw_rank *rank, mw_program *p, run_step *s)
{
    mw_tensor *in = p->place[s->in[0]].handle, *out = p->place[s->out[0]].handle;
    switch (s->kind) {
    case RUN_VIEW:
        set_memory(out, in, p->place[s->out[0]].offset);
        return MW_OK;
    case RUN_DENSE:
        if (rank->fake) return MW_OK;
        if (s->waits) MW_TRY(wait_readers(rank, p, s));
        mw__view_copy(&out->local, &in->local);
        return MW_OK;
    case RUN_MOVE:
        if (s->waits && !rank->fake) MW_TRY(wait_readers(rank, p, s));
        return mw__redist_run_into(rank, s->redist, in, &s->reason, out);
    case RUN_BEGIN:
        return mw__redist_begin(rank, s->redist, in, &s->reason, out);
    case RUN_END:
        if (s->waits) MW_TRY(wait_readers(rank, p, s));
        return mw__redist_end(rank, s->redist, in, &s->reason, out);
    case RUN_KERNEL:
        break;
    }
    return MW_OK;
}

static void say_where(mw_rank *rank, const mw_program *p, const mw_node *node)
{
    mw_str text = {0};
    mw__node_print(p->graph, node, &text);
    mw__error_where("%.300s%s%s", mw__str_text(&text), node->chain[0] ? " in " : "", node->chain);
    mw__str_done(&text);
    (void)rank;
}

/* What the caller still holds of the last run stays his: the slot takes new memory. */
static mw_status renew_results(mw_program *p)
{
    for (int k = 0; k < p->ngiven; k++) {
        place *at = &p->place[p->given[k]];
        slot *s = &p->slot[at->slot];
        if (!s->storage) continue;
        if (s->storage->refs > 2) { /* the slot's, its handle's, and somebody's */
            mw_storage *fresh;
            MW_TRY(mw__storage_new(s->bytes, &fresh));
            s->storage->held -= 2;
            fresh->held = 2;
            mw__storage_unref(s->storage);
            s->storage = fresh;
            mw__storage_unref(at->handle->storage);
            at->handle->storage = fresh;
            mw__storage_ref(fresh);
        }
        at->handle->local.data = s->storage->data;
    }
    return MW_OK;
}

static mw_status run_steps(mw_rank *rank, mw_program *p)
{
    for (int i = 0, n; i < p->nstep; i += n) {
        run_step *s = &p->step[i];
        n = MW_MAX(s->fused, 1);
        rank->site = s->node->site;
        mw_status status = n > 1                   ? run_fused(rank, p, s)
                           : s->kind == RUN_KERNEL ? run_kernel(rank, p, s)
                                                   : run_step_of(rank, p, s);
        if (MW_LIKELY(status == MW_OK)) continue;
        say_where(rank, p, s->node);
        return status == MW_ERR_STRICT ? status : mw__rank_failed(rank, status);
    }
    return MW_OK;
}

/* May the program write where it writes? Views have no memory yet: what they view is asked. */
static mw_status may_write(const mw_program *p)
{
    for (int i = 0; i < p->nwrite; i++) {
        const run_step *s = p->write[i];
        MW_TRY(mw__writable(s->call->name, p->place[p->place[s->in[0]].root].handle));
    }
    return MW_OK;
}

mw_status mw__program_run(mw_rank *rank, mw_program *p, mw_tensor *const *input, int ninput,
                          mw_tensor **ret)
{
    if (ninput != p->ninput)
        return MW_FAIL(MW_ERR_ARG, "@%s takes %d tensors, and was given %d", p->graph->name,
                       p->ninput, ninput);
    for (int i = 0; i < ninput; i++)
        set_memory(p->place[p->parameter[i]].handle, input[i], 0);
    mw_status status = may_write(p); /* on every rank alike, before anything is done */
    if (status == MW_OK) status = mw__rank_failed(rank, renew_results(p));
    if (status == MW_OK) status = run_steps(rank, p);
    for (int i = 0; i < p->graph->nresult && status == MW_OK; i++) {
        status = mw__tensor_again(rank, p->place[p->result[i]].handle, &ret[i]);
        if (status == MW_OK && p->apart[i]) ret[i]->apart = true;
    }
    for (int i = 0; i < p->nloose; i++)
        set_memory(p->place[p->loose[i]].handle, &(mw_tensor){0}, 0);
    for (int i = 0; i < ninput; i++) /* what was given is the caller's alone again */
        set_memory(p->place[p->parameter[i]].handle, &(mw_tensor){0}, 0);
    return status;
}
