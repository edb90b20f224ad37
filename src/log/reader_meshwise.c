/* meshwise's own texts: what its runs log, what its commands print, its errors, its programs, and a
 * layout alone on a line. Each kind has a grammar that no other system's lines have, so that these
 * are asked first. */
#include "log/own.h"

/* A line that is one layout, and nothing else. One that cuts nothing may be anybody's type. */
static bool layout_line(const own_here *h)
{
    const char *at = h->line->text;
    own_type t;
    if (!mw__own_type(h, &at, &t) || *at || (!t.cut && !t.partial)) return false;
    mw_draft *d = mw__draft(h->e, h->line, "meshwise", "layout");
    mw__own_tell_type(h, d, "layout", &t, h->from);
    mw__draft_says(d, "A layout: %s%s.", t.text,
                   t.partial ? ", whose ranks hold terms that are still to be combined"
                             : ", cut over the mesh axes behind its @");
    return true;
}

static mw_status line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    own_state *s = state;
    const char *from =
        mw__arena_printf(mw__explain_scratch(e), "line %lld", (long long)line->number);
    if (!from) return MW_NOMEM();
    own_here h = {.e = e, .state = s, .line = line, .from = from};
    own_here apart = h;
    apart.apart = true;
    *ret_taken = mw__own_error_line(&apart) || mw__own_event_line(&apart) ||
                 mw__own_json_line(&apart) || mw__own_plan_line(&h) || mw__own_ir_line(&h) ||
                 mw__own_exec_line(&apart) || layout_line(&apart);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static void done(void *state)
{
    own_state *s = state;
    for (int i = 0; i < s->nmesh; i++)
        mw_mesh_unref(s->mesh[i].mesh);
    mw__str_done(&s->program);
    mw__lookup_done(&s->told);
    mw__lookup_done(&s->value);
}

const mw_reader_kind mw_reader_meshwise = {
    .name = "meshwise",
    .state_size = sizeof(own_state),
    .line = line,
    .done = done,
};
