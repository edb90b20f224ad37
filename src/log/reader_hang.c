/* Hangs and mismatches: texts of NCCL, ProcessGroupNCCL, gloo, flight recorder, XLA and meshwise
 * about ranks that wait. Which line is what; a cheap question first, since most lines of most logs
 * are nothing of this kind. */
#include "log/hang.h"

#include <stdio.h>

/* One of these is in every line that is read here, but for those of a dump or a report that goes
 * on. */
static const char *const marks[] = {"NCCL",
                                    "ollective",
                                    "endezvous",
                                    "monitoredBarrier",
                                    "gloo",
                                    "imed out",
                                    "imeout",
                                    "rank ",
                                    "Rank ",
                                    "closed by peer",
                                    "reset by peer",
                                    "unstuck",
                                    "desync",
                                    "store based barrier",
                                    "Original exception:",
                                    "Socket Timeout"};

static bool may_be(const char *text)
{
    for (int i = 0; i < MW_COUNT(marks); i++)
        if (strstr(text, marks[i])) return true;
    return false;
}

static hang_here here(mw_explain *e, hang_state *s, const mw_line *line)
{
    hang_here h = {.e = e, .s = s, .line = line, .at = line->text};
    (void)snprintf(h.from, sizeof h.from, "line %lld", (long long)line->number);
    return h;
}

static mw_status hang_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    static bool (*const kinds[])(hang_here *) = {
        mw__hang_nccl,     mw__hang_watchdog, mw__hang_mismatch, mw__hang_store,
        mw__hang_analysis, mw__hang_xla_line, mw__hang_own,
    };
    hang_state *s = state;
    bool inside = s->dump || s->desync_line || s->watched || mw__hang_inside(s);
    *ret_taken = false;
    bool heading = line->length < 80;
    if (!inside && !heading && !strchr("{[\"'", *line->text) && !may_be(line->text)) return MW_OK;
    hang_here h = here(e, s, line);
    if (heading) mw__hang_heading(&h);
    *ret_taken = mw__hang_flight(&h);
    if (!*ret_taken) *ret_taken = mw__hang_desync(&h) || mw__hang_frames(&h);
    if (!*ret_taken) mw__hang_head(&h);
    for (int i = 0; i < MW_COUNT(kinds) && !*ret_taken; i++)
        *ret_taken = kinds[i](&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status hang_end(mw_explain *e, void *state)
{
    mw_line last = {.number = e->lines, .rank = -1, .text = "", .raw = ""};
    hang_here h = here(e, state, &last);
    mw__hang_flight_end(&h);
    mw__hang_analysis_end(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status hang_finish(mw_explain *e, void *state)
{
    mw_line last = {.number = e->lines, .rank = -1, .text = "", .raw = ""};
    hang_here h = here(e, state, &last);
    mw__hang_pending_flush(&h);
    mw__hang_xla_end(&h);
    mw__hang_tell(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static void hang_done(void *state)
{
    hang_state *s = state;
    for (int64_t i = 0; i < s->ngroup; i++) {
        mw__free(s->group[i].member, (size_t)s->group[i].cap_member * sizeof *s->group[i].member);
        mw__free(s->group[i].slot, (size_t)s->group[i].nslot * sizeof *s->group[i].slot);
    }
    mw__hang_flight_done(s);
    mw__free(s->group, (size_t)s->cap_group * sizeof *s->group);
    mw__free(s->group_key, (size_t)s->cap_key * sizeof *s->group_key);
    mw__free(s->event, s->event ? (size_t)HANG_EVENTS * 2 * sizeof *s->event : 0);
    mw__lookup_done(&s->comm);
}

const mw_reader_kind mw_reader_hang = {.name = "hang",
                                       .state_size = sizeof(hang_state),
                                       .line = hang_line,
                                       .end = hang_end,
                                       .finish = hang_finish,
                                       .done = hang_done};
