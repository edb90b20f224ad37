/* Chains of element-wise kernels as one loop: of large tensors a piece after the other goes through
 * all kernels of a chain, while it is in the first cache. What only the chain reads is a piece
 * long, and never in memory as a whole. Small tensors stay in the caches as they are. */
#include "graph/program_parts.h"
#include "ops/rule.h"
#include "ops/table.h"

#ifdef MW_SLOW_CHECKS
enum { PIECE = 8, LEAST = 12 }; /* small programs have pieces too, to be tested */
#else
enum { PIECE = 4096, LEAST = 4 * PIECE }; /* elements */
#endif

/* ---- finding chains ---------------------------------------------------------------------------
 */

static bool same_letters(const mw_operand *a, const mw_operand *b)
{
    return a->ndim == b->ndim && memcmp(a->nletter, b->nletter, (size_t)a->ndim) == 0 &&
           memcmp(a->letter, b->letter, (size_t)a->ndim * sizeof a->letter[0]) == 0;
}

static bool runs_along(const mw_view *view, const mw_view *like)
{
    return view->ndim == like->ndim && mw__view_contiguous(view) &&
           memcmp(view->shape, like->shape, (size_t)like->ndim * sizeof *like->shape) == 0;
}

static bool all_dots(const mw_text_operand *o)
{
    return o->ndim == 1 && o->dim[0].kind == MW_TEXT_DOTS && !o->list;
}

/* By the text of its rule the op has no dim of its own. */
static bool is_elementwise(const mw_op *op)
{
    const mw_op_info *info = mw__op_info_of(op);
    if (!info || !info->has_rule || !op->kernel || op == mw__op_at(MW_OP_dropout)) return false;
    bool dots = info->rule.nout == 1 && all_dots(&info->rule.out[0]);
    for (int i = 0; i < info->rule.nin && dots; i++)
        dots = all_dots(&info->rule.in[i]);
    return dots;
}

/* By the rule of this call element i of the result depends on element i of the operands that run
 * along: every letter is a dim of the result, once, and theirs are the same. */
static bool keeps_place(const mw_call *call, mw_arena *arena)
{
    mw_rule rule;
    mw__arena_clear(arena);
    if (mw__rule_of(&call->args, arena, &rule) != MW_OK) {
        mw_error_clear(); /* no memory for it: then it runs alone */
        return false;
    }
    const mw_operand *out = &rule.out[0];
    int letters = 0;
    for (int d = 0; d < out->ndim; d++)
        letters += out->nletter[d];
    for (int l = 0; l < rule.nletter; l++)
        if (rule.letter[l].mark != MW_MARK_FREE || !rule.letter[l].in_output) return false;
    for (int i = 0; i < rule.nin; i++)
        if (runs_along(&call->in[i], &call->out[0]) && !same_letters(&rule.in[i], out))
            return false;
    return letters == rule.nletter;
}

/* May the step's elements be worked on in pieces, as one row? */
static bool in_pieces(const run_step *s, mw_arena *arena)
{
    if (s->kind != RUN_KERNEL || s->call->in_place || !is_elementwise(s->call->op)) return false;
    const mw_view *out = &s->call->out[0];
    if (mw__view_count(out) < LEAST || !mw__view_contiguous(out)) return false;
    for (int i = 0; i < s->nin; i++)
        if (!runs_along(&s->call->in[i], out) && mw__view_count(&s->call->in[i]) != 1) return false;
    return keeps_place(s->call, arena);
}

/* Step i goes on with the chain from `first` on. It may stand among its steps and read none of
 * them: what they make is needed soon all the same. */
static bool goes_on(const mw_program *p, int first, int i, mw_arena *arena)
{
    const run_step *s = &p->step[i];
    if (!in_pieces(s, arena)) return false;
    const mw_view *out = &s->call->out[0], *like = &p->step[first].call->out[0];
    return runs_along(out, like);
}

/* ---- making one -------------------------------------------------------------------------------
 */

/* From now on the kernel sees a row, whose length is set when it runs. */
static void as_row(mw_view *view)
{
    bool one = mw__view_count(view) == 1;
    view->ndim = one ? 0 : 1;
    view->stride[0] = 1;
}

/* Is the place the program's own, and nobody's but these steps'? */
static bool inside(const mw_program *p, int value, int first, int end)
{
    const place *at = &p->place[value];
    if (at->root != value || at->slot < 0 || at->last >= end) return false;
    for (int i = first; i < end; i++)
        for (int k = 0; k < p->step[i].nin; k++)
            if (p->step[i].in[k] != value && p->place[p->step[i].in[k]].root == value) return false;
    for (int i = 0; i < p->graph->nresult; i++)
        if (p->place[p->result[i]].root == value) return false;
    return true;
}

/* All that the chain has to do with lives from its first step to its last: pieces of all steps
 * alternate. */
static void fuse(mw_program *p, int first, int end)
{
    p->step[first].fused = end - first;
    for (int i = first; i < end; i++) {
        run_step *s = &p->step[i];
        place *out = &p->place[s->out[0]];
        s->piece = inside(p, s->out[0], first, end);
        if (s->piece) out->bytes = MW_MIN(out->bytes, PIECE * mw_dtype_size(s->call->out[0].dtype));
    }
    for (int i = first; i < end; i++) {
        run_step *s = &p->step[i];
        as_row(&s->call->out[0]);
        place *out = &p->place[p->place[s->out[0]].root];
        out->first = MW_MIN(out->first, first);
        out->last = MW_MAX(out->last, end - 1);
        for (int k = 0; k < s->nin; k++) {
            as_row(&s->call->in[k]);
            place *in = &p->place[p->place[s->in[k]].root];
            in->last = MW_MAX(in->last, end - 1);
        }
    }
}

void mw__program_fuse(mw_program *p, mw_arena *scratch)
{
    for (int i = 0, end; i < p->nstep; i = end) {
        end = i + 1;
        if (!in_pieces(&p->step[i], scratch)) continue;
        while (end < p->nstep && goes_on(p, i, end, scratch))
            end++;
        if (end - i > 1) fuse(p, i, end);
    }
}

/* ---- running ----------------------------------------------------------------------------------
 */

static bool is_piece(const run_step *first, const run_step *s, int value)
{
    for (const run_step *k = first; k < s; k++)
        if (k->out[0] == value) return k->piece;
    return false;
}

static void set_piece(mw_view *view, const mw_tensor *t, int64_t at, int64_t n, bool piece)
{
    view->data = t->local.data;
    if (view->ndim == 0) return;
    view->shape[0] = n;
    if (!piece) view->data = (char *)view->data + at * mw_dtype_size(view->dtype);
}

mw_status mw__program_run_fused(mw_rank *rank, mw_program *p, run_step *first)
{
    int64_t n = mw__view_count(&p->place[first->out[0]].handle->local);
    const run_step *end = first + first->fused;
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t length = MW_MIN(PIECE, n - at);
        for (run_step *s = first; s < end; s++) {
            mw_call *call = s->call;
            for (int k = 0; k < s->nin; k++)
                set_piece(&call->in[k], p->place[s->in[k]].handle, at, length,
                          is_piece(first, s, s->in[k]));
            set_piece(&call->out[0], p->place[s->out[0]].handle, at, length, s->piece);
            mw_status status = call->op->kernel(&call->kernel);
            mw__arena_clear(&rank->scratch);
            MW_TRY(status);
        }
    }
    return MW_OK;
}
