/* Forward or backward. An op that is named so is of the backward pass, and so is the ones_like of a
 * scalar with which autograd begins; an op that has such a counterpart is of the forward pass (its
 * derivative is that other op). What stands between two of these is taken to go on with the pass
 * that it stands in, and says that it is assumed. */
#include "log/dtensor.h"

static const char forward[] = "forward", backward[] = "backward";

const char *mw__dt_pass_now(const dt_here *h)
{
    return h->r->pass ? h->r->pass : "";
}

/* Has ATen an op for its derivative? Views are left out: the backward pass runs them too. */
static bool has_counterpart(const dt_call *call)
{
    size_t n = strlen(call->word);
    if (n > 8 && strcmp(call->word + n - 8, "_forward") == 0) n -= 8;
    if (!n || (call->op && call->op->reshape) || strcmp(call->word, "slice") == 0 ||
        strcmp(call->word, "select") == 0)
        return false;
    return mw__dt_declares_backward(call->word, n);
}

/* Autograd's first gradient: a one like the scalar that is differentiated. */
static bool is_seed(const dt_call *call)
{
    return strcmp(call->word, "ones_like") == 0 && call->narg > 0 &&
           call->arg[0].kind == DT_TENSOR && call->arg[0].tensor[0].shaped &&
           call->arg[0].tensor[0].ndim == 0;
}

/* What came before the first gradient was what is differentiated. */
static void mark_before(const dt_here *h)
{
    for (int64_t i = h->r->pass_from; i < h->e->nentry; i++) {
        mw_entry *entry = &h->e->entry[i]->entry;
        uint64_t mine = h->line->rank >= 0 && h->line->rank < 64 ? UINT64_C(1) << h->line->rank : 0;
        bool own = entry->ranks == 0 ? !mine : (entry->ranks & mine) != 0;
        if (own && !entry->direction[0] && strcmp(entry->source, "dtensor") == 0)
            entry->direction = forward;
    }
}

static void tell(const dt_here *h, const dt_call *call, const char *pass, mw_how how,
                 const char *from)
{
    mw__draft_direction(call->draft, pass);
    mw__fact(call->draft, "pass", how, from, "%s", pass);
    (void)h;
}

void mw__dt_pass_of(const dt_here *h, const dt_call *call)
{
    dt_rank *r = h->r;
    const mw_entry *entry = mw__draft_entry(call->draft);
    bool alone = entry && (strcmp(entry->event, "error") == 0 || call->alone);
    bool named = strstr(call->word, "backward") != NULL, seed = is_seed(call);
    if (alone && !named) return;
    if (!named && !seed && !has_counterpart(call)) {
        if (r->pass) tell(h, call, r->pass, MW_HOW_ASSUMED, r->pass_why ? r->pass_why : "");
        return;
    }
    const char *pass = named || seed ? backward : forward;
    if (named)
        tell(h, call, pass, MW_HOW_DERIVED, "the op's name");
    else if (seed)
        tell(h, call, pass, MW_HOW_ASSUMED,
             "backward() begins with a one like the scalar that is differentiated");
    else
        tell(h, call, pass, MW_HOW_DERIVED, "ATen has another op for its derivative");
    if (r->pass == pass || alone) return;
    if (pass == backward) mark_before(h);
    r->pass = pass;
    r->pass_from = h->e->nentry;
    r->pass_why =
        mw__explain_text(h->e, "it goes on after line %lld, %s", (long long)h->first, call->word);
}
