/* DTensor's texts: which line is which. One state per rank (lines of several ranks interleave): the
 * last call waits for its output, a statement whose brackets are open waits for its next lines. */
#include "log/dtensor.h"

enum { JOINED_LINES = 40, JOINED_BYTES = 1 << 16 };

bool mw__dt_starts(const dt_here *h, const char *word)
{
    return strncmp(h->at, word, strlen(word)) == 0;
}

static dt_rank *rank_of(mw_explain *e, dt_state *s, int rank)
{
    int i = rank >= 0 && rank < DT_RANKS - 1 ? rank + 1 : 0;
    if (!s->rank[i]) s->rank[i] = mw__arena_zalloc(&e->arena, sizeof **s->rank);
    if (!s->rank[i]) e->failed = true;
    return s->rank[i];
}

void mw__dt_rank_flush(const dt_here *h)
{
    dt_call *call = h->r->call;
    if (call) mw__dt_call_tell(h, call);
}

/* ---- calls and their outputs
 * ------------------------------------------------------------------------- */

static void keep_result(const dt_here *h, const dt_call *call)
{
    if (!call->nout || !call->out[0].shaped) return;
    h->r->last = call->out[0];
    h->r->last_line = call->out_line;
    h->r->last_op = call->word;
}

static void set_outputs(const dt_here *h, dt_call *call, const mw_py *node)
{
    dt_tensor out[DT_OUT];
    int n = 0;
    call->has_out = true;
    call->out_line = h->first;
    if (!mw__dt_tensors_of(h, node, out, DT_OUT, &n)) return;
    call->out = mw__arena_alloc(&h->e->arena, (size_t)n * sizeof *out);
    if (!call->out) {
        h->e->failed = true;
        return;
    }
    memcpy(call->out, out, (size_t)n * sizeof *out);
    call->nout = n;
    keep_result(h, call);
}

static bool dispatch_line(const dt_here *h)
{
    static const char words[] = "Dispatching op_call: ";
    if (!mw__dt_starts(h, words)) return false;
    mw_py *node;
    if (mw__py_read(h->at + sizeof words - 1, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    mw__dt_rank_flush(h);
    dt_call *call = mw__dt_read_call(h, node, false);
    if (!call) return false;
    mw__dt_call_begin(h, call, "dispatch");
    h->r->call = call;
    h->r->step = 0;
    return true;
}

/* A call whose op is that of an output line: the one that waits, or one without a dispatch line. */
static dt_call *awaited(const dt_here *h, const char *name, int length)
{
    dt_call *call = h->r->call;
    if (call && !call->has_out && !call->told && (int)strlen(call->name) == length &&
        memcmp(call->name, name, (size_t)length) == 0)
        return call;
    mw__dt_rank_flush(h);
    mw_py *node = mw__arena_zalloc(h->scratch, sizeof *node);
    if (!node) {
        h->e->failed = true;
        return NULL;
    }
    *node = (mw_py){
        .kind = MW_PY_CALL, .at = name, .length = length, .name = name, .name_length = length};
    call = mw__dt_read_call(h, node, false);
    if (call) mw__dt_call_begin(h, call, "output");
    h->r->call = call;
    return call;
}

/* OpSchema(op=..., args_schema=(...)), or as a call is dispatched: Op(op=..., args_schema=...,
 * ...). */
static void read_wanted(const dt_here *h, dt_call *call, const mw_py *wanted)
{
    const mw_py *args = wanted ? mw__py_key(wanted, "args_schema") : NULL;
    if (!args) return;
    if (!mw__py_is(wanted, "Op")) {
        mw__dt_read_values(h, args->first, &call->wanted, &call->nwanted);
        return;
    }
    const dt_call *as = mw__dt_read_call(h, wanted, false);
    if (!as) return;
    call->wanted = as->arg;
    call->nwanted = as->narg;
}

static bool output_line(const dt_here *h)
{
    static const char words[] = "output_sharding for ";
    if (!mw__dt_starts(h, words)) return false;
    const char *name = h->at + sizeof words - 1, *colon = strstr(name, ": ");
    mw_py *node;
    if (!colon || colon - name > 200) return false;
    if (mw__py_read(colon + 2, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    dt_call *call = awaited(h, name, (int)(colon - name));
    if (!call) return false;
    set_outputs(h, call, mw__py_key(node, "output_spec"));
    const mw_py *needs = mw__py_key(node, "needs_redistribute");
    const mw_py *wanted = mw__py_key(node, "redistribute_schema");
    call->has_needs = needs != NULL;
    call->needs = mw__py_is(needs, "True");
    if (!wanted) wanted = mw__py_child(mw__py_key(node, "schema_suggestions"), 0); /* 2.4 */
    read_wanted(h, call, wanted);
    if (call->draft) mw__draft_last(call->draft, h->line->number);
    h->r->step = 0;
    mw__dt_call_tell(h, call);
    return true;
}

/* ---- cache lines of 2.11 and later
 * ------------------------------------------------------------------- */

static void cache_facts(const dt_here *h, const dt_call *call, bool hit)
{
    mw__fact(call->draft, "sharding cache", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s",
             hit ? "hit: the decision was made before" : "miss: the decision was made now");
    if (strstr(h->at, "4822678189205111"))
        mw__fact(call->draft, "4822678189205111", MW_HOW_DERIVED,
                 "0x11223344556677, a constant of the C++ cache",
                 "a marker in the cache key, no argument");
    mw__missing(h->e, "communication: the logs of PyTorch 2.11 and later have no line for it "
                      "(needs_redistribute and redistribute lines are gone); DebugMode shows it");
}

static bool cache_line(const dt_here *h)
{
    if (!mw__dt_starts(h, "sharding_prop ")) return false;
    bool hit = strstr(h->at, " HIT") != NULL, cpp = strstr(h->at, "C++") != NULL;
    const char *colon = strstr(h->at, "): ");
    if (!colon || !cpp) colon = strstr(h->at, ": ");
    if (!colon || colon - h->at > 80) return false;
    colon += *colon == ')' ? 3 : 2;
    const char *arrow = NULL;
    for (const char *p = colon; (p = strstr(p, " -> ")) != NULL; p += 4)
        if (!arrow || p[4] == 'S' || p[4] == '(' || p[4] == 'D') arrow = p;
    mw_py *node, *out;
    const char *stop = arrow ? arrow : h->end;
    if (mw__py_read(colon, stop, h->scratch, &node) != MW_OK ||
        mw__py_read(arrow ? arrow + 4 : h->end, h->end, h->scratch, &out) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    mw__dt_rank_flush(h);
    dt_call *call = mw__dt_read_call(h, node, hit && cpp);
    if (!call) return false;
    mw__dt_call_begin(h, call, "dispatch");
    h->r->call = call;
    cache_facts(h, call, hit);
    if (arrow) set_outputs(h, call, out);
    mw__dt_call_tell(h, call);
    return true;
}

/* A schema that stands alone, as in reports: aten.mm.default(Spec(...), ...) on DeviceMesh(...). */
static bool bare_call(const dt_here *h)
{
    bool op = mw__dt_starts(h, "aten.") || mw__dt_starts(h, "aten::") || mw__dt_starts(h, "Op(op=");
    if (!op || !strstr(h->at, "Spec(")) return false;
    mw_py *node;
    if (mw__py_read(h->at, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    dt_call *call = mw__dt_read_call(h, node, false);
    if (!call) return false;
    mw__dt_rank_flush(h);
    call->alone = true;
    mw__dt_call_begin(h, call, "call");
    h->r->call = call;
    mw__dt_call_tell(h, call);
    return true;
}

/* ---- lines
 * ------------------------------------------------------------------------------------------- */

/* Statements that may go on in the next lines while brackets are open. */
static bool may_go_on(const dt_here *h)
{
    return mw__dt_starts(h, "Dispatching op_call") || mw__dt_starts(h, "output_sharding for") ||
           strstr(h->at, "Sharding propagation failed") ||
           strstr(h->at, "must have the same mesh") || mw__dt_starts(h, "sharding_prop ") ||
           mw__dt_starts(h, "aten.");
}

static bool ends_open(const dt_here *h)
{
    int64_t length = h->end - h->at;
    if (strstr(h->at, "must have the same mesh")) return h->end[-1] != '.';
    return mw__py_open(h->at, length) > 0;
}

static bool statement(const dt_here *h)
{
    mw__dt_tree_pause(h);
    return dispatch_line(h) || output_line(h) || cache_line(h) || mw__dt_move_line(h) ||
           mw__dt_error_line(h) || mw__dt_trace_line(h) || mw__dt_tree_line(h) ||
           mw__dt_counts_line(h) || mw__dt_notice_line(h) || mw__dt_print_line(h) || bare_call(h);
}

/* true: the line belongs to a statement that began before. */
static bool join(dt_here *h, bool *ret_done)
{
    dt_rank *r = h->r;
    *ret_done = true;
    if (!r->pending_lines) return false;
    bool fresh = may_go_on(h) && r->pending_lines > 0 && !strstr(h->at, "Spec(f") &&
                 mw__dt_starts(h, "Dispatching");
    if (fresh || r->pending_lines >= JOINED_LINES || r->pending.length > JOINED_BYTES) {
        r->pending_lines = 0;
        return false;
    }
    mw__str_putc(&r->pending, ' ');
    mw__str_append(&r->pending, h->line->text, (size_t)h->line->length);
    if (mw__str_status(&r->pending) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    r->pending_lines++;
    h->at = mw__str_text(&r->pending);
    h->end = h->at + r->pending.length;
    h->first = r->pending_first;
    *ret_done = !ends_open(h);
    return true;
}

static mw_status dtensor_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    dt_state *s = state;
    dt_here h = {.e = e,
                 .s = s,
                 .r = rank_of(e, s, line->rank),
                 .line = line,
                 .at = line->text,
                 .end = line->text + line->length,
                 .first = line->number,
                 .scratch = mw__explain_scratch(e)};
    *ret_taken = false;
    if (!h.r) return MW_NOMEM();
    bool done;
    if (join(&h, &done)) {
        *ret_taken = true;
        if (!done) {
            mw__explain_once(e);
            return MW_OK;
        }
        h.r->pending_lines = 0;
        (void)statement(&h);
        return e->failed ? MW_NOMEM() : MW_OK;
    }
    if (may_go_on(&h) && ends_open(&h)) {
        mw__str_clear(&h.r->pending);
        mw__str_append(&h.r->pending, line->text, (size_t)line->length);
        h.r->pending_first = line->number;
        h.r->pending_lines = 1;
        *ret_taken = true;
        mw__explain_once(e);
        return mw__str_status(&h.r->pending);
    }
    *ret_taken = statement(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status dtensor_end(mw_explain *e, void *state)
{
    dt_state *s = state;
    mw_line none = {.rank = -1, .text = "", .raw = ""};
    for (int i = 0; i < DT_RANKS; i++) {
        if (!s->rank[i]) continue;
        dt_here h = {.e = e,
                     .s = s,
                     .r = s->rank[i],
                     .line = &none,
                     .at = "",
                     .end = "",
                     .scratch = mw__explain_scratch(e)};
        if (h.r->pending_lines) {
            h.at = mw__str_text(&h.r->pending);
            h.end = h.at + h.r->pending.length;
            none.number = h.first = h.r->pending_first;
            none.rank = i - 1;
            h.r->pending_lines = 0;
            (void)statement(&h);
        }
        mw__dt_rank_flush(&h);
        mw__dt_tree_end(&h);
        mw__dt_counts_end(&h);
    }
    return e->failed ? MW_NOMEM() : MW_OK;
}

static bool waits_for(const dt_call *call, const char *text)
{
    static const char words[] = "output_sharding for ";
    size_t n = call ? strlen(call->name) : 0;
    return call && !call->told && !call->has_out && strncmp(text, words, sizeof words - 1) == 0 &&
           strncmp(text + sizeof words - 1, call->name, n) == 0 &&
           text[sizeof words - 1 + n] == ':';
}

/* A line that was read before: what follows refers to its call. */
static void dtensor_again(mw_explain *e, void *state, const mw_line *line, int64_t first,
                          int64_t end)
{
    dt_state *s = state;
    dt_rank *r = rank_of(e, s, line->rank);
    if (!r) return;
    r->pending_lines = 0; /* its statement was read before */
    dt_here h = {.e = e,
                 .s = s,
                 .r = r,
                 .line = line,
                 .at = line->text,
                 .end = line->text + line->length,
                 .first = line->number,
                 .scratch = mw__explain_scratch(e)};
    mw__dt_tree_pause(&h);
    if (waits_for(r->call, line->text)) { /* the call is new, though its output was read before */
        mw__arena_clear(h.scratch);
        (void)statement(&h);
        return;
    }
    for (int64_t i = first; i < end && i < s->cap_call_of; i++)
        if (s->call_of[i]) {
            if (r->call != s->call_of[i]) mw__dt_rank_flush(&h);
            r->step = 0;
            r->call = s->call_of[i];
            const char *pass = e->entry[i]->entry.direction;
            if (*pass) r->pass = pass;
            keep_result(&h, r->call);
        }
}

static void dtensor_done(void *state)
{
    dt_state *s = state;
    for (int64_t i = 0; i < s->nmesh; i++)
        mw_mesh_unref(s->mesh[i].made);
    mw__dt_counts_free(s->counts);
    mw__dt_tree_free(s->tree);
    mw__free(s->call_of, (size_t)s->cap_call_of * sizeof *s->call_of);
    for (int i = 0; i < DT_RANKS; i++)
        if (s->rank[i]) mw__str_done(&s->rank[i]->pending);
}

const mw_reader_kind mw_reader_dtensor = {.name = "dtensor",
                                          .state_size = sizeof(dt_state),
                                          .line = dtensor_line,
                                          .end = dtensor_end,
                                          .done = dtensor_done,
                                          .repeats = true,
                                          .again = dtensor_again};
