/* torch.compile's logs: which line is what. A graph has a title (`TRACED GRAPH`, `===== Forward
 * graph 0 =====`), a class, a `def forward`, statements under `# File:` comments, and a return; any
 * of these may be missing from what was pasted. Lines of several ranks may be mixed: each rank has
 * its own graph. A statement whose brackets are open goes on in the next line. */
#include "log/compile.h"

#include <stdio.h>

enum { LONGEST = 1 << 23, LINES = 64 };

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static int stream_of(const mw_line *line)
{
    return line->rank >= 0 && line->rank < CP_STREAMS - 1 ? line->rank + 1 : 0;
}

/* ---- beginnings and ends -----------------------------------------------------------------------
 */

static void set_stage(cp_graph *g, const char *words, bool artifact)
{
    static const struct {
        const char *word;
        cp_stage stage;
    } known[] = {
        {"Joint graph", CP_JOINT},   {"Forward graph", CP_AOT}, {"Backward graph", CP_AOT},
        {"POST GRAD", CP_POST_GRAD}, {"PRE GRAD", CP_PRE_GRAD}, {"__compiled_fn", CP_DYNAMO},
        {"AOT ID", CP_CODE},         {"forward graph", CP_AOT}, {"backward graph", CP_AOT}};
    static const struct {
        const char *word;
        cp_stage stage;
    } logs[] = {{"aot_graphs", CP_AOT},
                {"aot_joint_graph", CP_JOINT},
                {"post_grad_graphs", CP_POST_GRAD},
                {"pre_grad_graphs", CP_PRE_GRAD},
                {"graph_code", CP_DYNAMO},
                {"graph", CP_DYNAMO},
                {"output_code", CP_CODE}};
    for (int i = 0; !artifact && i < MW_COUNT(known); i++) {
        if (!strstr(words, known[i].word)) continue;
        g->stage = known[i].stage;
        g->staged = true;
        return;
    }
    for (int i = 0; artifact && i < MW_COUNT(logs); i++) {
        if (strcmp(words, logs[i].word) != 0) continue;
        g->stage = logs[i].stage;
        g->staged = true;
        return;
    }
}

/* What was read so far is over; the next graph of this rank begins at this line. */
static cp_graph *begin(cp_here *h)
{
    cp_graph *g = mw__cp_graph(h);
    if (!g) return NULL;
    h->g = g;
    if (g->nnode) {
        if (g->pending.length) mw__cp_statement(h, mw__str_text(&g->pending), g->pending_first);
        mw__cp_tell(h);
    } else {
        mw__cp_graph_clear(g);
    }
    g->first = g->last = h->line->number;
    g->rank = h->line->rank;
    g->stage = CP_AOT; /* what is pasted most, until something says another */
    memcpy(g->unit, h->unit, sizeof g->unit);
    memcpy(g->artifact, h->artifact, sizeof g->artifact);
    if (h->artifact[0]) set_stage(g, h->artifact, true);
    return g;
}

/* ===== Forward graph 0 ===== */
static bool title_line(cp_here *h)
{
    const char *text = h->text;
    size_t n = strlen(text), head = strspn(text, "="), tail = 0;
    while (tail < n && text[n - 1 - tail] == '=')
        tail++;
    if (head < 3 || tail < 3 || head + tail >= n) return false;
    cp_graph probe = {.staged = false};
    set_stage(&probe, text, false);
    bool known = probe.staged || strstr(text, "raph") || h->artifact[0];
    cp_graph *g = h->g;
    if (g && g->sizes) return true;
    if (!known && !(g && g->titled)) return false;
    if (!g || !g->titled || g->nnode) g = begin(h);
    if (!g) return true;
    g->titled = true;
    text += head + strspn(text + head, " ");
    n = strlen(text) - tail;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    (void)snprintf(g->title, sizeof g->title, "%.*s", (int)MW_MIN(n, 70), text);
    set_stage(g, g->title, false);
    if (starts(g->title, "__compiled_fn")) g->title[0] = 0; /* a made name: it tells nothing */
    return true;
}

static bool header_line(cp_here *h)
{
    const char *text = h->text;
    cp_graph *g = h->g;
    if (starts(text, "TRACED GRAPH TENSOR SIZES")) {
        g = h->g = mw__cp_graph(h);
        if (g) g->sizes = true;
        return true;
    }
    if (starts(text, "TRACED GRAPH")) {
        g = begin(h);
        if (g) g->titled = true;
        return true;
    }
    if (title_line(h)) return true;
    if (starts(text, "Output code:") || starts(text, "# AOT ID")) {
        if (!g || !g->code || g->nnode) g = begin(h);
        if (!g) return true;
        g->code = true;
        g->stage = CP_CODE;
        g->staged = true;
        const char *id = strchr(text, '\'');
        if (starts(text, "# AOT ID") && id)
            (void)snprintf(g->title, sizeof g->title, "AOT ID %.*s",
                           (int)MW_MIN(strcspn(id + 1, "'"), 40), id + 1);
        return true;
    }
    const char *class = strstr(text, "class ");
    if (class && strstr(class, "(torch.nn.Module):") && strlen(class) < 200) {
        if (!g || g->nnode || !g->titled) {
            cp_stage stage = g ? g->stage : CP_AOT;
            bool staged = g && g->staged;
            g = begin(h);
            if (g && !h->artifact[0]) g->stage = stage, g->staged = staged;
        }
        if (g) g->open = g->titled = true;
        return true;
    }
    if (starts(text, "aot_config id:") || strstr(text, "fw_metadata=ViewAndMutationMeta") == text)
        return true;
    return starts(text, "opcode ") && strstr(text, " target") && strstr(text, " args");
}

/* ---- comments ----------------------------------------------------------------------------------
 */

static bool inside_torch(const char *source)
{
    static const char *const parts[] = {
        "-packages/torch/",         "/torch/distributed/", "/torch/_functorch", "/torch/nn/",
        "/torch/_higher_order_ops", "/torch/_utils",       "/torch/_dynamo",    "/torch/utils/"};
    for (int i = 0; i < MW_COUNT(parts); i++)
        if (strstr(source, parts[i])) return true;
    return starts(source, "torch/");
}

static bool comment_line(cp_here *h)
{
    if (h->text[0] != '#') return false;
    const char *file = strstr(h->text, "File: "), *code = strstr(h->text, ", code:");
    bool other = starts(h->text, "# No stacktrace found") || starts(h->text, "# Annotation:") ||
                 starts(h->text, "# recompute");
    bool nodes = strstr(h->text, "Source Nodes: [") != NULL;
    bool open = h->g && (h->g->open || h->g->titled || h->g->code);
    if (!(file && (code || open)) && !other && !nodes && !open) return false;
    cp_graph *g = h->g = mw__cp_graph(h);
    if (!g) return true;
    if (starts(h->text, "# No stacktrace found")) g->source = NULL;
    if (file || nodes) {
        const char *from = file ? file + 6 : h->text + 2;
        const char *text = mw__arena_strndup(&g->arena, from, MW_MIN(strlen(from), 1200));
        if (!text) h->e->failed = true;
        g->source = text;
        if (text && file && !inside_torch(text)) g->user = text;
        g->hash = text ? mw__hash(g->hash, text, strlen(text)) : g->hash;
    }
    g->comment = true;
    return true;
}

/* ---- statements --------------------------------------------------------------------------------
 */

/* `name = `, `name: "f32[`, `name: Sym(`, `return`, a bare call of an op. */
static bool is_statement(const char *text, bool open)
{
    int n = mw__cp_ident(text);
    if (!n) return false;
    if (starts(text, "torch.ops.")) return open || strstr(text, "c10d_functional.") != NULL;
    const char *at = text + n + strspn(text + n, " ");
    if (starts(text, "return") && open) return !mw__cp_word(text[6]);
    if (starts(text, "def forward(")) return true;
    bool typed = *at == ':' && (at[1] == ' ' || at[1] == '"');
    bool set = *at == '=' && at[1] != '=';
    if (open) return typed || set || *at == ',' || (*at == '(' && n > 2);
    const char *value = strstr(at, "= ");
    bool ops = value && (strstr(value, "torch.ops._c10d_functional") ||
                         strstr(value, "torch.ops.c10d_functional") ||
                         strstr(value, "torch.ops._dtensor") || strstr(value, "torch.ops.aten."));
    cp_shape shape;
    const char *quote = typed ? at + 1 + strspn(at + 1, " ") : "";
    bool annotated = *quote == '"' && strchr(quote + 1, '"') &&
                     mw__cp_shape_read(quote + 1, strchr(quote + 1, '"') - quote - 1, &shape);
    return (set && ops) || (annotated && value);
}

static bool is_whole(const cp_graph *g)
{
    const char *text = mw__str_text(&g->pending);
    size_t n = g->pending.length;
    if (g->depth > 0 || g->quote) return false;
    if (n && (text[n - 1] == '=' || text[n - 1] == '.')) return false;
    const char *rhs = strstr(text, "= torch.");
    return !rhs || strchr(rhs, '(') || strchr(rhs, ';'); /* else cut inside of a name */
}

static void append(cp_graph *g, const char *text)
{
    bool word = g->pending.length && (strcmp(mw__str_text(&g->pending), "return") == 0);
    if (word) mw__str_putc(&g->pending, ' ');
    const char *end = text;
    for (; *end; end++) {
        if (g->quote) {
            if (*end == '\\' && end[1])
                end++;
            else if (*end == g->quote)
                g->quote = 0;
            continue;
        }
        if (*end == '#') break;
        if (*end == '\'' || *end == '"') g->quote = *end;
        g->depth += strchr("([{", *end) ? 1 : 0;
        g->depth -= strchr(")]}", *end) && g->depth > 0 ? 1 : 0;
    }
    while (end > text && end[-1] == ' ')
        end--;
    mw__str_append(&g->pending, text, (size_t)(end - text));
    g->pending_lines++;
}

static void finish_statement(cp_here *h)
{
    cp_graph *g = h->g;
    const char *text = mw__str_text(&g->pending);
    (void)mw__cp_failed(h, mw__str_status(&g->pending));
    if (starts(text, "def ")) {
        const char *open = strchr(text, '('), *close = strrchr(text, ')');
        if (g->stage == CP_CODE)
            g->whole = true;
        else if (open)
            mw__cp_inputs(h, open + 1, close > open ? close - open - 1 : (int64_t)strlen(open + 1),
                          g->pending_first);
    } else if (*text) {
        mw__cp_statement(h, text, g->pending_first);
    }
    mw__str_clear(&g->pending);
    g->depth = g->pending_lines = 0;
    g->quote = 0;
    g->last = h->line->number;
    if (g->over && g->stage != CP_CODE && !g->table) mw__cp_tell(h);
}

/* Does this line begin something, so that an open bracket above it will not be closed? */
static bool interrupts(const cp_here *h)
{
    const cp_graph *g = h->g;
    bool list = starts(mw__str_text(&g->pending), "def ");
    if (starts(h->text, "TRACED GRAPH") || starts(h->text, "=====") || starts(h->text, "class ") ||
        starts(h->text, "def "))
        return true;
    if (list) return starts(h->text, "return") || strstr(h->text, "= torch.ops.") != NULL;
    if (starts(h->text, "# File:") || starts(h->text, "return ")) return true;
    int n = mw__cp_ident(h->text);
    return n && h->text[n] == ':' && strstr(h->text, " = ") != NULL;
}

static void take(cp_here *h)
{
    cp_graph *g = h->g;
    if (!g->pending.length) g->pending_first = h->line->number;
    append(g, h->text);
    bool list =
        starts(mw__str_text(&g->pending), "def ") || starts(mw__str_text(&g->pending), "return");
    if (is_whole(g) || g->pending.length > LONGEST || (!list && g->pending_lines > LINES))
        finish_statement(h);
}

static bool statement_line(cp_here *h)
{
    cp_graph *g = h->g;
    if (g && g->pending.length) {
        if (!interrupts(h)) {
            take(h);
            return true;
        }
        finish_statement(h);
    }
    bool open = g && g->open && !g->over;
    if (!is_statement(h->text, open)) {
        bool goes_on = open && g->comment && !starts(h->text, "File \"") &&
                       g->artifact[0] == h->artifact[0] && !h->line->file;
        if (open) g->comment = false;
        return goes_on;
    }
    if (!open || (starts(h->text, "def ") && g->nnode)) {
        const char *source = g ? g->source : NULL, *user = g ? g->user : NULL;
        bool ready = g && (g->titled || g->comment) && !g->nnode;
        if (!ready) g = begin(h), source = user = NULL;
        if (!g) return true;
        if (ready && !g->first) { /* a comment alone stood above it */
            g->first = h->line->number;
            g->rank = h->line->rank;
            g->stage = CP_AOT;
            memcpy(g->unit, h->unit, sizeof g->unit);
            memcpy(g->artifact, h->artifact, sizeof g->artifact);
            if (h->artifact[0]) set_stage(g, h->artifact, true);
        }
        g->source = source;
        g->user = user;
        g->open = true;
        h->g = g;
    }
    g->comment = false;
    take(h);
    return true;
}

/* ---- generated code ----------------------------------------------------------------------------
 */

static bool same_log(const cp_here *h)
{
    return strcmp(h->g->artifact, h->artifact) == 0 && (h->artifact[0] || !h->line->file);
}

static void kernel_quotes(cp_graph *g, const char *text)
{
    for (const char *at = text; (at = strstr(at, "'''")) != NULL; at += 3)
        g->in_kernel = !g->in_kernel;
}

static bool code_line(cp_here *h)
{
    cp_graph *g = h->g;
    const char *text = h->text;
    if (!g || !g->code || !same_log(h)) return false;
    bool ends = starts(text, "Output code written to:") || strstr(text, "compiled_module_main(");
    if (ends) {
        (void)begin(h);
        return true;
    }
    bool inside = g->in_kernel;
    kernel_quotes(g, text);
    if (inside || g->in_kernel) return true;
    if (!g->open && (starts(text, "def call(") || starts(text, "def call (")))
        g->open = true;
    else if (!g->open)
        return true;
    if (comment_line(h)) return true;
    bool list = g->pending.length > 0;
    if (list || is_statement(text, true) || starts(text, "def call") || mw__cp_ident(text)) {
        if (g->over && !strstr(text, "rand_strided")) return true;
        if (starts(text, "with ") || starts(text, "class ") || starts(text, "if ") ||
            starts(text, "for "))
            return true;
        take(h);
    }
    return true;
}

/* ---- the reader --------------------------------------------------------------------------------
 */

static bool read(cp_here *h)
{
    if (h->artifact[0] && !h->text[0]) return true;
    if (mw__cp_event(h)) return true;
    if (h->g && h->g->code && !starts(h->text, "TRACED GRAPH") && !starts(h->text, "# AOT ID") &&
        code_line(h))
        return true;
    if (header_line(h) ||
        (h->artifact[0] && strcmp(h->artifact, "graph") == 0 && starts(h->text, "----")))
        return true;
    if (h->text[0] == '-' && strspn(h->text, "- ") == strlen(h->text) && h->g && h->g->titled)
        return true;
    if (comment_line(h)) return true;
    if (h->g && h->g->sizes && mw__cp_table_size(h)) return true;
    if (h->g && (h->g->titled || h->g->table) && !h->g->pending.length && mw__cp_table_row(h))
        return true;
    if (starts(h->text, "def call(") && strstr(h->text, "args")) { /* code without its head */
        cp_graph *g = h->g = begin(h);
        if (!g) return true;
        g->code = g->open = g->whole = g->staged = true;
        g->stage = CP_CODE;
        return true;
    }
    return statement_line(h) || h->artifact[0];
}

static mw_status cp_line(mw_explain *e, void *state, const mw_line *line, bool *ret_taken)
{
    cp_state *s = state;
    cp_here h = {.e = e, .s = s, .line = line, .stream = stream_of(line)};
    h.g = s->graph[h.stream];
    if (h.g && !h.g->made) h.g = NULL;
    mw__cp_line(&h);
    *ret_taken = read(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static mw_status cp_finish(mw_explain *e, void *state)
{
    cp_state *s = state;
    mw_line line = {.number = e->lines, .rank = -1, .text = "", .raw = ""};
    cp_here h = {.e = e, .s = s, .line = &line, .text = ""};
    for (h.stream = 0; h.stream < CP_STREAMS; h.stream++) {
        h.g = s->graph[h.stream];
        if (!h.g || !h.g->made) continue;
        if (h.g->pending.length) finish_statement(&h);
        mw__cp_tell(&h);
    }
    mw__cp_settle(&h);
    return e->failed ? MW_NOMEM() : MW_OK;
}

static void cp_done(void *state)
{
    cp_state *s = state;
    for (int i = 0; i < CP_STREAMS; i++)
        mw__cp_graph_free(s->graph[i]);
    mw__free(s->wanted, (size_t)s->cap_wanted * sizeof *s->wanted);
    mw__cp_once_free(s);
}

const mw_reader_kind mw_reader_compile = {.name = "compile",
                                          .state_size = sizeof(cp_state),
                                          .line = cp_line,
                                          .finish = cp_finish,
                                          .done = cp_done};
