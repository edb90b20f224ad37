/* The account of movements: totals, rows by cause, events, and strict mode's refusal. */
#include "run/dispatch_log.h"

#include <stdio.h>

static const char *const kind_names[] = {
#define X(name, text) [MW_EVENT_##name] = text,
    MW_EVENT_MAP(X)
#undef X
};

const char *mw_event_kind_name(mw_event_kind kind)
{
    return (unsigned)kind < MW_EVENT_KINDS ? kind_names[kind] : "?";
}

const char *mw__short_file(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (!file) return "?";
    if (!slash || slash == file) return file;
    const char *before = slash;
    while (before > file && before[-1] != '/')
        before--;
    return before; /* the last folder and the name */
}

static bool is_row(const mw_account *a, const mw_rank *rank, const mw_hop *hop,
                   const mw_reason *reason)
{
    return a->file == rank->site.file && a->line == rank->site.line && a->op == reason->op &&
           a->kind == hop->step->kind && a->axes == hop->step->axes && a->asked == reason->asked;
}

static mw_account *row_of(mw_rank *rank, mw_hop *hop, const mw_reason *reason)
{
    if (hop->account >= 0 && is_row(&rank->account[hop->account], rank, hop, reason))
        return &rank->account[hop->account];
    for (int i = 0; i < rank->naccount; i++)
        if (is_row(&rank->account[i], rank, hop, reason)) {
            hop->account = i;
            return &rank->account[i];
        }
    if (rank->naccount == MW_RANK_ACCOUNTS) return &rank->account[MW_RANK_ACCOUNTS - 1];
    hop->account = rank->naccount++;
    mw_account *a = &rank->account[hop->account];
    *a = (mw_account){rank->site.file, rank->site.line, reason->op, hop->step->kind,
                      hop->step->axes, reason->asked,   0,          0};
    return a;
}

/* An event that says only half of what moved is none: without memory for its text the call fails.
 */
static mw_status send_move(mw_rank *rank, const mw_redist *redist, const mw_hop *hop,
                           const mw_reason *reason)
{
    mw_str text = {0}, from = {0}, to = {0}, axes = {0}, dispatch = {0};
    char chain[256];
    const mw_mesh *mesh = redist->plan.mesh;
    mw__step_str(mesh, hop->step, &text);
    mw__layout_str(mesh, &hop->from, &from);
    mw__layout_str(mesh, &hop->step->to, &to);
    mw__axes_str(mesh, hop->step->axes, &axes);
    if (rank->options->dispatch)
        mw__redistribute_lines(mesh, &hop->from, &hop->step->to, &dispatch);
    mw_event event = {.kind = MW_EVENT_MOVE,
                      .rank = rank->index,
                      .number = rank->events++,
                      .op = reason->op,
                      .text = mw__str_text(&text),
                      .result = "",
                      .tensor = reason->tensor ? reason->tensor : "",
                      .from = mw__str_text(&from),
                      .to = mw__str_text(&to),
                      .axes = mw__str_text(&axes),
                      .why = reason->why,
                      .recv_bytes = hop->recv_bytes,
                      .recv_bytes_most = hop->step->recv_bytes,
                      .recv_bytes_all = hop->step->recv_bytes_total,
                      .asked = reason->asked,
                      .dispatch = mw__str_text(&dispatch),
                      .site = rank->site,
                      .chain = mw__chain_text(rank, chain, sizeof chain)};
    event.site.file = mw__short_file(event.site.file);
    bool whole = !text.failed && !from.failed && !to.failed && !axes.failed;
    if (whole) rank->options->sink(rank->options->sink_user, &event);
    mw__str_done(&text);
    mw__str_done(&from);
    mw__str_done(&to);
    mw__str_done(&axes);
    mw__str_done(&dispatch);
    return whole ? MW_OK : MW_NOMEM();
}

mw_status mw__account_move(mw_rank *rank, mw_redist *redist, mw_hop *hop, const mw_reason *reason)
{
    if (hop->moves) {
        mw_account *a = row_of(rank, hop, reason);
        a->count++;
        a->bytes += hop->recv_bytes;
        rank->usage.collectives++;
        rank->usage.bytes_received += hop->recv_bytes;
        if (!reason->asked)
            rank->usage.bytes_unasked += rank->fake ? hop->step->recv_bytes_total : hop->recv_bytes;
        for (int r = 0; rank->received_by && r < rank->mesh->nrank; r++)
            rank->received_by[r] += hop->recv_each[r];
    }
    return MW_UNLIKELY(rank->options->sink != NULL) ? send_move(rank, redist, hop, reason) : MW_OK;
}

void mw__account_call(mw_rank *rank, mw_call *call)
{
    char chain[256];
    mw_event event = {.kind = MW_EVENT_CALL,
                      .rank = rank->index,
                      .number = rank->events++,
                      .op = call->name,
                      .text = call->text,
                      .result = call->result,
                      .tensor = "",
                      .from = "",
                      .to = "",
                      .axes = "",
                      .why = call->choice.why,
                      .dispatch = call->dispatch,
                      .asked = 0,
                      .site = rank->site,
                      .chain = mw__chain_text(rank, chain, sizeof chain)};
    event.site.file = mw__short_file(event.site.file);
    rank->options->sink(rank->options->sink_user, &event);
}

mw_status mw__strict_check(mw_rank *rank, const mw_redist *redist, const mw_reason *reason)
{
    if (!rank->options->strict || reason->asked || redist->plan.recv_bytes == 0) return MW_OK;
    mw_str plan = {0};
    mw__plan_str(&redist->plan, &plan);
    mw_status status = MW_FAIL(
        MW_ERR_STRICT,
        "%s would move %s unasked: %s (%lld bytes to the rank that receives most); %s", reason->op,
        redist->text, mw__str_text(&plan), (long long)redist->plan.recv_bytes, reason->why);
    mw__str_done(&plan);
    mw_str to = {0};
    mw__layout_str(redist->plan.mesh, &redist->to->layout, &to);
    mw__error_hint(
        "mark the operand with mark_sharding as %s, or place its producer so; without --strict "
        "it is moved for you",
        mw__str_text(&to));
    mw__str_done(&to);
    return status;
}

mw_usage mw_usage_get(void)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    if (!rank) return (mw_usage){0};
    mw_usage usage = rank->usage;
    mw__pool_stats pool = mw__pool_stats_get();
    usage.live_bytes = pool.live;
    usage.peak_bytes = pool.peak;
    usage.allocations = rank->ctx.allocations;
    return usage;
}

int64_t mw_usage_received(int index)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    if (!rank || index < 0 || index >= rank->mesh->nrank) return 0;
    if (rank->received_by) return rank->received_by[index];
    return index == rank->index ? rank->usage.bytes_received : 0;
}

int mw_causes_get(mw_cause *ret, int cap)
{
    const mw_rank *rank = mw__ctx_get()->rank;
    if (!rank) return 0;
    for (int i = 0; i < rank->naccount && i < cap; i++) {
        const mw_account *a = &rank->account[i];
        ret[i] = (mw_cause){.kind = mw__step_name(a->kind),
                            .count = a->count,
                            .bytes_received = a->bytes,
                            .asked = a->asked};
        (void)snprintf(ret[i].cause, sizeof ret[i].cause, "%s %s:%d", a->op,
                       mw__short_file(a->file), a->line);
        int at = 0;
        for (int x = 0; x < rank->mesh->naxis; x++)
            if ((a->axes >> x & 1) && at < (int)sizeof ret[i].axes - 1) {
                int n = snprintf(ret[i].axes + at, sizeof ret[i].axes - (size_t)at, "%s%s",
                                 at ? "," : "", rank->mesh->name[x]);
                if (n > 0) at += n;
            }
    }
    return rank->naccount;
}
