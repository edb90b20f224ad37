/* The memory of a program: values that do not live at once share a slot, and those that peers read
 * keep it until peers are past the movement. */
#include "graph/program_parts.h"

/* The smallest free slot that is large enough, else the largest free one, which grows. */
static int free_slot(const mw_program *p, int64_t bytes, int first)
{
    int best = -1;
    for (int i = 0; i < p->nslot; i++) {
        const slot *s = &p->slot[i];
        if (s->result || s->free_at >= first) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        bool fits = s->bytes >= bytes, did = p->slot[best].bytes >= bytes;
        if (fits != did ? fits
            : fits      ? s->bytes < p->slot[best].bytes
                        : s->bytes > p->slot[best].bytes)
            best = i;
    }
    return best;
}

static uint32_t axes_of(const run_step *s)
{
    uint32_t axes = 0;
    for (int i = 0; mw__step_pulls(s) && i < s->redist->plan.nstep; i++)
        if (s->redist->hop[i].moves) axes |= s->redist->plan.step[i].axes;
    return axes;
}

/* Peers may read from what a movement has to do with until they are past it themselves. That they
 * are shows at the next movement with the same ranks: kept till then, the memory can be taken again
 * without waiting for them. */
static void keep_for_readers(mw_program *p)
{
    for (int i = 0; i < p->nstep; i++) {
        if (!mw__step_pulls(&p->step[i])) continue;
        p->place[p->place[p->step[i].in[0]].root].axes |= axes_of(&p->step[i]);
        p->place[p->place[p->step[i].out[0]].root].axes |= axes_of(&p->step[i]);
    }
    for (int64_t k = 0; k < p->nplace; k++) {
        place *at = &p->place[k];
        if (!at->axes || at->last == INT_MAX) continue;
        int next = at->last + 1;
        while (next < p->nstep && (axes_of(&p->step[next]) & at->axes) != at->axes)
            next++;
        at->last = next;
    }
}

static mw_status lay_out(mw_rank *rank, mw_program *p)
{
    for (int i = 0; i < p->graph->nresult; i++) {
        place *root = &p->place[p->place[p->result[i]].root];
        root->last = INT_MAX;
    }
    keep_for_readers(p);
    p->given = mw__arena_alloc(&p->arena, (size_t)(p->graph->nresult + 1) * sizeof(int));
    if (!p->given) return MW_NOMEM();
    for (int64_t k = 0; k < p->nplace; k++) {
        place *at = &p->place[k];
        if (at->root != k || at->slot < 0) continue;
        bool result = at->last == INT_MAX;
        int i = result ? -1 : free_slot(p, at->bytes, at->first);
        if (i < 0) {
            MW_TRY(mw__grow(&p->slot, &p->cap_slot, p->nslot + 1, sizeof *p->slot));
            i = (int)p->nslot++;
            p->slot[i] = (slot){.result = result};
        }
        if (result) p->given[p->ngiven++] = (int)k;
        p->slot[i].bytes = MW_MAX(p->slot[i].bytes, at->bytes);
        p->slot[i].free_at = at->last;
        at->slot = i;
    }
    for (int64_t i = 0; i < p->nslot; i++) {
        p->bytes += p->slot[i].bytes;
        if (!rank->fake) MW_TRY(mw__storage_new(p->slot[i].bytes, &p->slot[i].storage));
    }
    return MW_OK;
}

/* Handles whose memory is known now: all but those on results and on parameters. Views of these
 * are resolved here and need no step. */
static void resolve(mw_program *p)
{
    for (int64_t k = 0; k < p->nplace; k++) {
        place *at = &p->place[k];
        if (at->root != k || at->slot < 0) continue;
        at->handle->storage = p->slot[at->slot].storage;
        if (at->handle->storage) at->handle->local.data = at->handle->storage->data;
        if (at->handle->storage) mw__storage_ref(at->handle->storage);
    }
    int kept = 0;
    for (int i = 0; i < p->nstep; i++) {
        run_step *s = &p->step[i];
        const place *root = s->kind == RUN_VIEW ? &p->place[p->place[s->in[0]].root] : NULL;
        bool fixed =
            root && (root->slot >= 0 ? !p->slot[root->slot].result : root->handle->storage != NULL);
        mw_tensor *to = p->place[s->out[0]].handle;
        const mw_tensor *base = p->place[s->in[0]].handle;
        if (fixed || (s->kind == RUN_KERNEL && s->call->in_place)) {
            /* in place on what is not fixed: set when the program runs */
            if (!to->storage && base->storage) {
                to->storage = base->storage;
                mw__storage_ref(to->storage);
                to->local.data = (char *)base->local.data + p->place[s->out[0]].offset;
            }
        }
        if (!fixed || s->kind != RUN_VIEW) p->step[kept++] = *s;
    }
    p->nstep = kept;
}

/* A step that writes what peers may still be reading from a movement before it waits for them. */
static void find_waits(mw_program *p)
{
    for (int i = 0; i < p->nstep; i++) {
        if (!mw__step_pulls(&p->step[i])) continue;
        const int at[2] = {p->place[p->step[i].in[0]].root, p->place[p->step[i].out[0]].root};
        for (int k = 0; k < 2; k++)
            if (p->place[at[k]].slot >= 0) p->slot[p->place[at[k]].slot].shared = true;
    }
    for (int i = 0; i < p->nstep; i++)
        for (int k = 0; k < p->step[i].nout && p->step[i].kind != RUN_VIEW; k++) {
            int at = p->place[p->place[p->step[i].out[k]].root].slot;
            if (at >= 0 && p->slot[at].shared) p->step[i].waits = true;
        }
}

mw_status mw__program_lay_out(mw_rank *rank, mw_program *p)
{
    MW_TRY(lay_out(rank, p));
    if (!rank->fake) resolve(p);
    find_waits(p);
    return MW_OK;
}
