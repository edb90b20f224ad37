/* The entry of one collective: what a rank receives, on whose account, where it is waited for.
 * Shapes are of one rank. */
#include "log/compile.h"

#include <stdio.h>

static const struct {
    const char *file, *function, *says;
} hooks[] = {
#define HOOK(file, function, says) {file, function, says},
#include "log/compile_hooks.def"
#undef HOOK
};

const char *mw__cp_direction(const cp_graph *g, const cp_node *n)
{
    return g->stage == CP_JOINT ? (n->backward ? "backward" : "forward") : g->direction;
}

/* ---- sources -----------------------------------------------------------------------------------
 */

static const char *hook_of(const char *source)
{
    for (int i = 0; i < MW_COUNT(hooks); i++) {
        const char *at = strstr(source, hooks[i].file), *in = strstr(source, " in ");
        const char *stop = strstr(source, ", code:");
        if (!at || (stop && at > stop)) continue;
        size_t n = strlen(hooks[i].function);
        if (n && !(in && strncmp(in + 4, hooks[i].function, n) == 0 && !mw__cp_word(in[4 + n])))
            continue;
        return hooks[i].says;
    }
    return NULL;
}

void mw__cp_tell_source(cp_here *h, mw_draft *d, const cp_node *n)
{
    const char *from = mw__cp_from(h, n->line);
    if (!n->source) {
        mw__missing(h->e, "the source lines of collectives that no `# File:` comment stands above");
        return;
    }
    const char *stop = strstr(n->source, ", code: ");
    int length = stop ? (int)(stop - n->source) : (int)strlen(n->source);
    mw__fact(d, "source line", MW_HOW_STATED, "the `# File:` above it", "%.*s", MW_MIN(length, 600),
             n->source);
    if (stop)
        mw__fact(d, "source code", MW_HOW_STATED, "the `# File:` above it", "%.400s", stop + 8);
    const char *hook = hook_of(n->source);
    if (hook)
        mw__fact(d, "hook", MW_HOW_DERIVED, "what stands in that file of PyTorch", "%s", hook);
    if (n->user && n->user != n->source) {
        const char *end = strstr(n->user, ", code: ");
        mw__fact(d, "program's line before it", MW_HOW_DERIVED,
                 "the last `# File:` outside PyTorch",
                 "%.*s%s%.300s; which line calls the hook is not printed, only the innermost frame",
                 end ? (int)MW_MIN(end - n->user, 600) : 600, n->user, end ? ": " : "",
                 end ? end + 8 : "");
    }
    if (strcmp(mw__cp_direction(h->g, n), "backward") == 0)
        mw__fact(d, "source line is", MW_HOW_DERIVED, from,
                 "of the forward pass: the collective is of its gradient");
}

/* `mm` of `torch.ops.aten.mm.default(...)`, into text. */
static void op_word(const cp_node *n, char *to, size_t size)
{
    const char *at = n->callee, *end = at + n->callee_length;
    if (end - at > 10 && strncmp(at, "torch.ops.", 10) == 0) {
        const char *dot = memchr(at + 10, '.', (size_t)(end - at - 10));
        at = dot ? dot + 1 : at;
        dot = memchr(at, '.', (size_t)(end - at));
        end = dot ? dot : end;
    } else {
        for (const char *p = at; p < end; p++)
            if (*p == '.') at = p + 1;
    }
    (void)snprintf(to, size, "%.*s", (int)MW_MIN(end - at, 60), at);
}

static void tell_neighbours(cp_here *h, mw_draft *d, int node)
{
    const cp_graph *g = h->g;
    int64_t dim;
    char word[64];
    int made = mw__cp_in(g, node, 0), value = mw__cp_value(g, node, &dim);
    for (int i = 0; i < 64 && made >= 0 && mw__cp_looks(&g->node[made]) && g->node[made].nin == 1;
         i++)
        made = mw__cp_in(g, made, 0);
    if (made >= 0 && g->node[made].callee_length) {
        op_word(&g->node[made], word, sizeof word);
        mw__fact(d, "of the result of", MW_HOW_DERIVED, "who made its input", "%s in line %lld",
                 word, (long long)g->node[made].line);
    } else if (made >= 0 && g->node[made].kind == CP_INPUT) {
        mw__fact(d, "of the result of", MW_HOW_DERIVED, "who made its input",
                 "an input of the graph, %.*s", MW_MIN(g->node[made].name_length, 200),
                 g->node[made].name);
    }
    int use = g->node[value].first_use;
    while (use >= 0 && g->edge[use].next_use >= 0)
        use = g->edge[use].next_use; /* the first in the text */
    if (use < 0) return;
    const cp_node *user = &g->node[g->edge[use].to];
    if (user->kind == CP_RETURN)
        mw__fact(d, "first used by", MW_HOW_DERIVED, "who reads its result",
                 "nobody here: the graph returns it");
    else if (user->callee_length) {
        op_word(user, word, sizeof word);
        mw__fact(d, "first used by", MW_HOW_DERIVED, "who reads its result", "%s in line %lld",
                 word, (long long)user->line);
    }
}

/* ---- a collective ------------------------------------------------------------------------------
 */

static void tell_between(mw_draft *d, const cp_graph *g, int node, int wait)
{
    const char *from = "ops between the call and its wait, in the order of the text";
    int n = g->node[wait].work - g->node[node].work;
    if (n)
        mw__fact(d, "work before the wait", MW_HOW_DERIVED, from,
                 "%d op%s: the movement may hide behind them", n, n == 1 ? "" : "s");
    else
        mw__fact(d, "work before the wait", MW_HOW_DERIVED, from, "none: it is waited for at once");
}

static void tell_wait(cp_here *h, mw_draft *d, int node)
{
    const cp_graph *g = h->g;
    int wait = mw__cp_wait_of(g, node);
    if (wait >= 0) {
        mw__fact(d, "wait", MW_HOW_DERIVED, "who reads its result",
                 "line %lld: the end of this movement, not another one",
                 (long long)g->node[wait].line);
        tell_between(d, g, node, wait);
        mw_entry *entry = mw__draft_entry(d);
        if (entry && g->node[wait].line == entry->last + 1) mw__draft_last(d, g->node[wait].line);
        return;
    }
    if (!g->over) {
        mw__fact(d, "wait", MW_HOW_DERIVED, "the text ends before the graph's return",
                 "none up to where the graph is cut");
        return;
    }
    int use = g->node[node].first_use;
    bool returned =
        use >= 0 && g->node[g->edge[use].to].kind == CP_RETURN && g->edge[use].next_use < 0;
    mw__fact(
        d, "wait", MW_HOW_DERIVED, "who reads its result", "%s",
        returned
            ? "none here: the graph returns it while it runs, and it is awaited where it is used"
        : use < 0 ? "none: nothing reads the result"
                  : "none in this graph");
}

static const char *local_text(cp_here *h, int node)
{
    const cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    mw_str text = {0};
    for (int i = 0; i < n->call->nin && i < n->nin && i < 8; i++) {
        if (i) mw__str_puts(&text, " and ");
        mw__cp_shape_str(&g->node[mw__cp_in(g, node, i)].shape, &text);
    }
    if (n->call->nin > 8) mw__str_printf(&text, " and %d more", n->call->nin - 8);
    const char *made = mw__explain_text(h->e, "%s", text.length ? mw__str_text(&text) : "tensor");
    mw__cp_done(h, &text);
    return made ? made : "";
}

static void tell_shapes(cp_here *h, mw_draft *d, int node, const char *local)
{
    const cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    const cp_call *c = n->call;
    mw_str out = {0};
    int in = mw__cp_in(g, node, 0);
    bool known = in >= 0 && g->node[in].shape.sized;
    mw_how how = g->assumed ? MW_HOW_ASSUMED : MW_HOW_STATED;
    if (known)
        mw__fact(d, "local input", how,
                 g->assumed ? "--dtype; the graph's annotations would settle it"
                            : mw__cp_from(h, g->node[in].line),
                 "%s", local);
    if (n->shape.sized && c->nin == 1) {
        mw__cp_shape_str(&n->shape, &out);
        mw__fact(d, "local result", how, mw__cp_from(h, n->line), "%s", mw__str_text(&out));
    }
    if (known || n->shape.sized)
        mw__fact(d, "shapes are", MW_HOW_DERIVED,
                 "collectives stand in graphs of one rank's tensors",
                 "local: what one rank holds, not the whole tensor");
    if (c->in_bytes >= 0)
        mw__fact(d, "bytes that go in", MW_HOW_DERIVED, "local shape times dtype", "%lld B",
                 (long long)c->in_bytes);
    if (c->out_bytes >= 0)
        mw__fact(d, "bytes that come out", MW_HOW_DERIVED, "local shape times dtype", "%lld B",
                 (long long)c->out_bytes);
    mw__cp_done(h, &out);
}

static void tell_gathered_dim(cp_here *h, mw_draft *d, int node)
{
    int64_t dim;
    const cp_graph *g = h->g;
    (void)mw__cp_value(g, node, &dim);
    if (g->node[node].call->kind == MW_COLLECTIVE_all_gather && g->node[node].call->nin == 1 &&
        g->stage != CP_CODE)
        mw__fact(d, "gathered dim", MW_HOW_DERIVED,
                 dim ? "pieces are taken apart along dim 0 and put together along this one"
                     : "pieces stand one after the other",
                 "%lld", (long long)dim);
}

static bool want_later(cp_here *h, mw_draft *d, const cp_call *c, int64_t line)
{
    cp_state *s = h->s;
    if (c->size || c->uneven || !c->group[0] || !d) return false;
    if (mw__cp_failed(h, mw__grow(&s->wanted, &s->cap_wanted, s->nwanted + 1, sizeof *s->wanted)))
        return false;
    cp_wanted *w = &s->wanted[s->nwanted++];
    *w = (cp_wanted){.draft = d,
                     .kind = c->kind,
                     .in_bytes = c->in_bytes,
                     .out_bytes = c->out_bytes,
                     .line = line};
    memcpy(w->group, c->group, sizeof w->group);
    return true;
}

static void tell_bytes(cp_here *h, mw_draft *d, const cp_node *n, int64_t bytes)
{
    const cp_call *c = n->call;
    bool assumed = c->size_how == MW_HOW_ASSUMED || h->g->assumed;
    if (bytes >= 0) {
        const char *from = mw__explain_text(
            h->e, "%s, n = %lld (%s)%s", mw__collective_formula(c->kind), (long long)c->size,
            c->size_from ? c->size_from : "", h->g->assumed ? ", dtype of --dtype" : "");
        mw__fact(d, "received per rank", assumed ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 from ? from : "", "%lld B", (long long)bytes);
        return;
    }
    if (!c->size && want_later(h, d, c, n->line)) return;
    if (c->uneven)
        mw__missing(h->e,
                    "what a rank receives in the all_to_all of line %lld: its parts differ, and "
                    "which is the rank's own is not said",
                    (long long)n->line);
    else
        mw__missing(h->e, "the bytes of the %s in line %lld: %s", mw__collective_words(c->kind),
                    (long long)n->line,
                    !c->size ? "neither group nor its size can be read"
                    : n->shape.sized && n->shape.ndim < 0
                        ? "a size is a symbol, and its value is not printed"
                    : n->shape.sized
                        ? "the dtype is not printed (--dtype would give it)"
                        : "shapes are not printed (TORCH_LOGS=aot_graphs prints them)");
}

/* "style.py:298 in _prepare_output_fn" of a whole `# File:` text. */
static int short_source(const char *source, const char **ret)
{
    const char *stop = strstr(source, ", code: ");
    int length = stop ? (int)(stop - source) : (int)strlen(source);
    *ret = source;
    for (int i = 0; i < length && source[i] != ':'; i++)
        if (source[i] == '/') *ret = source + i + 1;
    return MW_MIN((int)(source + length - *ret), 200);
}

static const char *sentence(cp_here *h, const cp_node *n, const char *local, int64_t bytes)
{
    const cp_call *c = n->call;
    const char *where = "", *before = "";
    char group[80] = "", each[64] = "";
    int length = n->source ? short_source(n->source, &where) : 0;
    int user = n->user && n->user != n->source ? short_source(n->user, &before) : 0;
    if (c->size)
        (void)snprintf(group, sizeof group, " between %lld ranks", (long long)c->size);
    else if (c->group[0])
        (void)snprintf(group, sizeof group, " in group %s", c->group);
    if (bytes >= 0)
        (void)snprintf(each, sizeof each, ": %lld B received per rank and run", (long long)bytes);
    return mw__explain_text(h->e, "One %s of a local %s%s%s%s%.*s%s%.*s%s.",
                            mw__collective_words(c->kind), local, group, each,
                            length ? ", for " : "", length, where, user ? " (after " : "", user,
                            before, user ? ")" : "");
}

/* Told at an earlier stage, or by another rank. true: nothing is left to say. */
static bool told_again(const cp_here *h, cp_same same)
{
    mw_line line = {.number = h->line->number, .rank = h->g->rank, .text = "", .raw = ""};
    if (same.rank) mw__draft_again(same.draft, &line);
    return same.rank || (same.draft && same.told);
}

static void say_again(cp_here *h, mw_draft *d, const cp_node *n, const mw_entry *before)
{
    long long line = (long long)(before ? before->first : 0);
    mw__fact(d, "same as", MW_HOW_DERIVED,
             "one compilation goes through several stages, in the order of the text",
             "line %lld: one movement, told again at a later stage", line);
    mw__draft_weight(d, 4);
    mw__draft_says(d, "The %s of line %lld again, in %s: not another movement.",
                   mw__collective_words(n->call->kind), line, mw__cp_stage_words[h->g->stage]);
}

bool mw__cp_tell_move(cp_here *h, int node)
{
    cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    const cp_call *c = n->call;
    const char *direction = mw__cp_direction(g, n);
    mw_line line = {.number = n->line, .rank = g->rank, .text = "", .raw = ""};
    cp_same same = mw__cp_same(h, n, direction);
    if (told_again(h, same)) return false;
    mw_draft *d = mw__draft(h->e, &line, "compile", "collective");
    const char *from = mw__cp_from(h, n->line), *local = local_text(h, node);
    int64_t bytes = mw__cp_received(c);
    char axis[64] = "", op[64] = "";
    mw__fact(d, "collective", MW_HOW_STATED, from, "%.*s", MW_MIN(c->name_length, 200), c->name);
    if (c->reduce[0]) mw__fact(d, "reduction", MW_HOW_STATED, from, "%s", c->reduce);
    if (c->group[0]) mw__fact(d, "group", MW_HOW_STATED, from, "%s", c->group);
    if (c->size)
        mw__fact(d, "group size", c->size_how, c->size_from ? c->size_from : "", "%lld",
                 (long long)c->size);
    if (c->nin > 1) mw__fact(d, "tensors", MW_HOW_STATED, from, "%d, in one call", c->nin);
    tell_shapes(h, d, node, local);
    tell_gathered_dim(h, d, node);
    mw__cp_tell_source(h, d, n);
    tell_neighbours(h, d, node);
    if (*direction)
        mw__fact(d, "direction", g->stage == CP_JOINT ? MW_HOW_DERIVED : g->direction_how,
                 g->stage == CP_JOINT                ? "whether it comes from a tangent"
                 : g->direction_how == MW_HOW_STATED ? "the graph's title"
                                                     : "tangents among the graph's inputs, or none",
                 "%s", direction);
    tell_wait(h, d, node);
    mw__draft_direction(d, direction);
    if (same.draft) {
        if (bytes >= 0) tell_bytes(h, d, n, bytes);
        say_again(h, d, n, mw__draft_entry(same.draft));
        return false;
    }
    if (mw__cp_in(g, node, 0) >= 0 && g->node[mw__cp_in(g, node, 0)].callee_length)
        op_word(&g->node[mw__cp_in(g, node, 0)], op, sizeof op);
    if (c->group[0]) (void)snprintf(axis, sizeof axis, "group %s", c->group);
    mw__draft_moved(d, mw__collective_name(c->kind), axis, op, bytes);
    mw__draft_weight(d, 30);
    const char *says = sentence(h, n, local, bytes);
    mw__draft_says(d, "%s", says ? says : "");
    tell_bytes(h, d, n, bytes);
    mw__cp_check_move(h, node, d, bytes);
    mw__cp_moved_add(h, c, direction, d);
    return true;
}

/* A wait whose collective is not in this graph. */
void mw__cp_tell_wait(cp_here *h, int node)
{
    cp_graph *g = h->g;
    const cp_node *n = &g->node[node];
    int of = mw__cp_in(g, node, 0);
    for (int i = 0; i < 64 && of >= 0 && !g->node[of].call && g->node[of].nin == 1; i++) {
        if (g->node[of].index >= 0 && g->node[of].nin == 1 && mw__cp_in(g, of, 0) >= 0 &&
            g->node[mw__cp_in(g, of, 0)].call)
            return;
        of = mw__cp_in(g, of, 0);
    }
    if (of >= 0 && g->node[of].kind != CP_INPUT) return;
    if (of < 0 && g->whole) return;
    mw_line line = {.number = n->line, .rank = g->rank, .text = "", .raw = ""};
    mw_draft *d = mw__draft(h->e, &line, "compile", "wait");
    mw__draft_says(d, "Waits for %s: the collective was started %s; waiting moves nothing.",
                   of >= 0 ? "an input of the graph" : "a collective",
                   of >= 0 ? "before the graph, in an earlier one or outside of graphs"
                           : "above what the text holds");
    mw__draft_weight(d, 6);
    mw__draft_direction(d, mw__cp_direction(g, n));
    mw__missing(h->e, "which collective line %lld waits for: it is not in the text",
                (long long)n->line);
}
