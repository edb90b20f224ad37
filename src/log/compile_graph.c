/* Graphs of torch.compile: statements become nodes, names become edges. A name that is bound again
 * means its newest node; a call that writes over its input (`all_reduce_`) is from then on what the
 * input's name means. */
#include "log/compile.h"

enum { NODES = 1 << 20, EDGES = 1 << 22 };

bool mw__cp_failed(cp_here *h, mw_status status)
{
    if (status == MW_OK) return false;
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    mw_error_clear();
    return true;
}

void mw__cp_done(cp_here *h, mw_str *text)
{
    if (text->failed) h->e->failed = true;
    mw__str_done(text);
}

cp_graph *mw__cp_graph(cp_here *h)
{
    cp_graph **g = &h->s->graph[h->stream];
    if (!*g) *g = mw__arena_zalloc(mw__explain_arena(h->e), sizeof **g);
    if (!*g) {
        h->e->failed = true;
        return NULL;
    }
    if (!(*g)->made) {
        mw__arena_init(&(*g)->arena);
        (*g)->made = true;
        (*g)->direction = "";
    }
    return *g;
}

void mw__cp_graph_clear(cp_graph *g)
{
    cp_graph kept = *g;
    mw__arena_clear(&kept.arena);
    mw__str_clear(&kept.pending);
    mw__lookup_clear(&kept.newest);
    *g = (cp_graph){.arena = kept.arena,
                    .made = true,
                    .direction = "",
                    .node = kept.node,
                    .cap_node = kept.cap_node,
                    .edge = kept.edge,
                    .cap_edge = kept.cap_edge,
                    .newest = kept.newest,
                    .pending = kept.pending};
}

void mw__cp_graph_free(cp_graph *g)
{
    if (!g || !g->made) return;
    mw__free(g->node, (size_t)g->cap_node * sizeof *g->node);
    mw__free(g->edge, (size_t)g->cap_edge * sizeof *g->edge);
    mw__lookup_done(&g->newest);
    mw__str_done(&g->pending);
    mw__arena_done(&g->arena);
}

/* ---- names -------------------------------------------------------------------------------------
 */

static uint64_t name_hash(const char *name, int length)
{
    return mw__hash(5, name, (size_t)length);
}

int mw__cp_find(const cp_graph *g, const char *name, int length)
{
    const mw_found *i = mw__lookup_next(&g->newest, name_hash(name, length), NULL);
    return i ? (int)i->number : -1;
}

static mw_status bind(cp_graph *g, int node)
{
    mw_found *i = mw__lookup_next(&g->newest, g->node[node].hash, NULL);
    if (!i) i = mw__lookup_add(&g->newest, g->node[node].hash);
    if (!i) return MW_NOMEM();
    i->number = node;
    return MW_OK;
}

/* ---- nodes and edges ---------------------------------------------------------------------------
 */

static const char *keep(cp_here *h, const char *text, int64_t length)
{
    const char *made = mw__arena_strndup(&h->g->arena, text, (size_t)length);
    if (!made) h->e->failed = true;
    return made ? made : "";
}

/* A new node; the name may be empty. -1 where there is no room. */
static int add_node(cp_here *h, cp_kind kind, const char *name, int length, int64_t line)
{
    cp_graph *g = h->g;
    if (g->nnode >= NODES ||
        mw__cp_failed(h, mw__grow(&g->node, &g->cap_node, g->nnode + 1, sizeof *g->node)))
        return -1;
    int i = (int)g->nnode++;
    g->node[i] = (cp_node){.hash = name_hash(name, length),
                           .name = keep(h, name, length),
                           .name_length = length,
                           .rhs = "",
                           .callee = "",
                           .kind = kind,
                           .line = line,
                           .source = g->source,
                           .user = g->user,
                           .index = -1,
                           .first_in = (int)g->nedge,
                           .first_use = -1,
                           .shape = {.bytes = -1}};
    if (length) (void)mw__cp_failed(h, bind(g, i));
    return i;
}

static void add_edge(cp_here *h, int from, int to)
{
    cp_graph *g = h->g;
    if (g->nedge >= EDGES ||
        mw__cp_failed(h, mw__grow(&g->edge, &g->cap_edge, g->nedge + 1, sizeof *g->edge)))
        return;
    cp_node *a = &g->node[from], *b = &g->node[to];
    g->edge[g->nedge] = (cp_edge){from, to, a->first_use};
    a->first_use = (int)g->nedge++;
    b->nin++;
    b->backward |= a->backward;
}

int mw__cp_in(const cp_graph *g, int node, int nth)
{
    const cp_node *n = &g->node[node];
    return nth < n->nin ? g->edge[n->first_in + nth].from : -1;
}

int mw__cp_only_user(const cp_graph *g, int node)
{
    int use = g->node[node].first_use;
    return use >= 0 && g->edge[use].next_use < 0 ? g->edge[use].to : -1;
}

/* Every name in an expression that is a node's. Quoted texts, attributes and keywords aren't. */
static void add_inputs(cp_here *h, int to, const char *at, const char *end)
{
    for (char before = 0; at < end;) {
        if (*at == '\'' || *at == '"') {
            char quote = *at;
            for (at++; at < end && *at != quote; at++)
                if (*at == '\\' && at + 1 < end) at++;
            at += at < end;
            before = quote;
            continue;
        }
        int n = mw__cp_ident(at);
        if (!n) {
            before = *at++;
            continue;
        }
        const char *next = at + n;
        while (next < end && *next == ' ')
            next++;
        bool key = next < end && *next == '=' && (next + 1 == end || next[1] != '=');
        int from = before == '.' || mw__cp_word(before) || key ? -1 : mw__cp_find(h->g, at, n);
        if (from >= 0 && from != to) add_edge(h, from, to);
        before = 'a';
        at += n;
    }
}

/* ---- what an op is -----------------------------------------------------------------------------
 */

bool mw__cp_is(const cp_node *n, const char *op)
{
    const char *at = n->callee, *end = at + n->callee_length;
    bool aten = false;
    if (end - at > 10 && strncmp(at, "torch.ops.", 10) == 0) at += 10, aten = true;
    if (aten || strncmp(at, "aten.", 5) == 0) { /* namespace.name.overload */
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!dot) return false;
        at = dot + 1;
        dot = memchr(at, '.', (size_t)(end - at));
        if (dot) end = dot;
    } else {
        for (const char *p = at; p < end; p++)
            if (*p == '.') at = p + 1;
    }
    size_t length = strlen(op);
    return (size_t)(end - at) == length && memcmp(at, op, length) == 0;
}

bool mw__cp_looks(const cp_node *n)
{
    static const char *const ops[] = {"view",       "_unsafe_view", "reshape",
                                      "detach",     "alias",        "clone",
                                      "contiguous", "to_local",     "squeeze",
                                      "unsqueeze",  "wait_tensor",  "_wrap_tensor_autograd"};
    if (n->kind == CP_WAIT) return true;
    if (n->kind != CP_OP) return false;
    for (int i = 0; i < MW_COUNT(ops); i++)
        if (mw__cp_is(n, ops[i])) return true;
    return n->callee_length == 0 && n->index < 0 && n->nin == 1 &&
           (int64_t)mw__cp_ident(n->rhs) == n->rhs_length;
}

/* ---- statements --------------------------------------------------------------------------------
 */

static const char *skip(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    return at;
}

/* The end of a piece that `stop` ends outside of brackets and quotes. */
static const char *piece_end(const char *at, const char *end, char stop)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '\'' || *at == '"') {
            char quote = *at;
            for (at++; at < end && *at != quote; at++)
                if (*at == '\\' && at + 1 < end) at++;
            if (at >= end) return end;
            continue;
        }
        if (strchr("([{", *at)) depth++;
        if (strchr(")]}", *at)) depth -= depth > 0;
        if (depth == 0 && *at == stop) return at;
    }
    return end;
}

/* `: "f32[8, 16][16, 1]cpu"`, `: f32[8, 16]`, ` : torch.Tensor`; moves past it. */
static const char *annotation(const char *at, const char *end, cp_shape *ret)
{
    at = skip(at, end);
    if (at >= end || *at != ':') return at;
    at = skip(at + 1, end);
    if (at < end && (*at == '"' || *at == '\'')) {
        const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (!close) return end;
        (void)mw__cp_shape_read(at + 1, close - at - 1, ret);
        return skip(close + 1, end);
    }
    const char *stop = piece_end(at, end, '=');
    (void)mw__cp_shape_read(at, stop - at, ret);
    return stop;
}

static void find_callee(cp_node *n)
{
    const char *at = n->rhs, *end = at + n->rhs_length;
    while (at < end && (mw__cp_word(*at) || *at == '.'))
        at++;
    if (at < end && *at == '(' && at > n->rhs) {
        n->callee = n->rhs;
        n->callee_length = (int)(at - n->rhs);
    } else if (at < end && *at == '[' && n->nin == 1) { /* split[0] */
        int64_t index = 0;
        const char *p = at + 1;
        while (p < end && *p >= '0' && *p <= '9' && index < 1 << 20)
            index = index * 10 + (*p++ - '0');
        if (p > at + 1 && p + 1 == end && *p == ']') n->index = (int)index;
    }
}

/* A call that writes over its input, or waits for it, without a name of its own. */
static void rebind(cp_here *h, int node)
{
    cp_graph *g = h->g;
    cp_node *n = &g->node[node];
    if (n->name_length || n->nin == 0 || (n->kind != CP_WAIT && !(n->call && n->call->here)))
        return;
    for (int i = 0; i < n->nin; i++) {
        const cp_node *in = &g->node[mw__cp_in(g, node, i)];
        if (!in->name_length) continue;
        if (n->name_length) { /* of a list: another node for each further one */
            int more = add_node(h, n->kind, in->name, in->name_length, n->line);
            if (more < 0) return;
            n = &g->node[node];
            g->node[more].kind = CP_OP;
            g->node[more].rhs = n->name;
            g->node[more].rhs_length = n->name_length;
            g->node[more].shape = g->node[mw__cp_in(g, node, i)].shape;
            add_edge(h, node, more);
            continue;
        }
        n->name = in->name;
        n->name_length = in->name_length;
        n->hash = in->hash;
        if (n->kind == CP_WAIT || n->call->nin == 1) n->shape = in->shape;
        (void)mw__cp_failed(h, bind(g, node));
    }
}

static int add_statement(cp_here *h, const char *name, int length, const cp_shape *shape,
                         const char *rhs, const char *end, int64_t line)
{
    int i = add_node(h, CP_OP, "", 0, line);
    if (i < 0) return -1;
    cp_graph *g = h->g;
    while (end > rhs && end[-1] == ' ')
        end--;
    const char *text = keep(h, rhs, end - rhs);
    add_inputs(h, i, text, text + (end - rhs));
    cp_node *n = &g->node[i];
    n->rhs = text;
    n->rhs_length = end - rhs;
    n->shape = *shape;
    if (shape->length) n->shape.text = keep(h, shape->text, shape->length);
    if (shape->placed) n->shape.placed = keep(h, shape->placed, shape->placed_length);
    find_callee(n);
    if (length) { /* named only now: `x = f(x)` reads the old one */
        n->name = keep(h, name, length);
        n->name_length = length;
        n->hash = name_hash(name, length);
        (void)mw__cp_failed(h, bind(g, i));
    }
    mw__cp_read_call(h, i);
    rebind(h, i);
    return i;
}

static void add_input(cp_here *h, const char *name, int length, const cp_shape *shape, int64_t line)
{
    int i = mw__cp_find(h->g, name, length);
    if (i < 0) i = add_node(h, CP_INPUT, name, length, line);
    if (i < 0) return;
    cp_node *n = &h->g->node[i];
    if (shape->sized) n->shape = *shape;
    if (shape->length) n->shape.text = keep(h, shape->text, shape->length);
    if (shape->placed) n->shape.placed = keep(h, shape->placed, shape->placed_length);
    n->backward = length >= 8 && strncmp(name, "tangents", 8) == 0;
    h->g->tangents |= n->backward;
}

int mw__cp_op(cp_here *h, const char *name, int length, const char *rhs, int64_t line)
{
    cp_shape none = {.bytes = -1};
    return add_statement(h, name, length, &none, rhs, rhs + strlen(rhs), line);
}

/* Shapes of generated code: `empty_strided_cpu((8, 6), (6, 1), torch.float32)`. */
static void code_shape(cp_here *h, int node)
{
    cp_node *n = &h->g->node[node];
    bool strided = strstr(n->callee, "empty_strided") == n->callee || mw__cp_is(n, "rand_strided");
    bool other = mw__cp_is(n, "reinterpret_tensor"), check = mw__cp_is(n, "assert_size_stride");
    mw_py *py = NULL;
    int64_t dim[CP_DIMS];
    if (!strided && !other && !check) return;
    if (mw__cp_failed(h,
                      mw__py_read(n->rhs, n->rhs + n->rhs_length, mw__explain_scratch(h->e), &py)))
        return;
    const mw_py *sizes = mw__py_child(py, strided ? 0 : 1);
    int count = sizes ? mw__py_ints(sizes, dim, CP_DIMS) : -1, of = mw__cp_in(h->g, node, 0);
    if (!strided && of < 0) return;
    cp_shape shape = strided ? (cp_shape){.bytes = -1} : h->g->node[of].shape;
    if (count >= 0) mw__cp_shape_set(&shape, count, dim);
    const mw_py *dtype = mw__py_key(py, "dtype");
    if (!dtype) dtype = mw__py_child(py, 2);
    if (strided && dtype && dtype->length < 40)
        mw__cp_shape_dtype(&shape, dtype->name ? dtype->name : dtype->at,
                           dtype->name ? dtype->name_length : (int)dtype->length);
    cp_node *to = check ? &h->g->node[of] : n;
    if (check && to->shape.sized) return;
    to->shape = shape;
}

/* `None`, and `b = c = None` after `a = `: names that are given up. */
static bool is_dropped(const char *at, const char *end)
{
    if (end - at < 4 || strncmp(end - 4, "None", 4) != 0) return false;
    for (const char *p = at; p < end - 4; p++)
        if (!mw__cp_word(*p) && *p != ' ' && *p != '=') return false;
    return end - at == 4 || end[-5] == ' ' || end[-5] == '=';
}

/* `name = rhs`, `name: "f32[2]" = rhs`, `name: "f32[2]"`, `a, b = args`, `call(...)`. */
static void one_statement(cp_here *h, const char *at, const char *end, int64_t line)
{
    cp_shape shape = {.bytes = -1};
    int n = mw__cp_ident(at);
    bool code = h->g->stage == CP_CODE;
    if ((n == 3 && strncmp(at, "del", 3) == 0) || at >= end) return;
    if (n == 6 && strncmp(at, "return", 6) == 0) {
        int node = h->g->over ? -1 : add_node(h, CP_RETURN, "", 0, line);
        if (node >= 0) add_inputs(h, node, at + 6, end);
        h->g->over = true;
        return;
    }
    const char *equals = n ? annotation(at + n, end, &shape) : end;
    if (n && equals < end && *equals == ',') { /* several */
        const char *stop = piece_end(equals, end, '=');
        bool inputs = stop < end && (strstr(stop, "tree_flatten") ||
                                     strncmp(skip(stop + 1, end), "args", 4) == 0);
        for (const char *p = at; p < stop; p += (p < stop)) {
            int length = mw__cp_ident(p);
            if (length && inputs) add_input(h, p, length, &shape, line);
            p += length;
        }
        return;
    }
    if (n && equals < end && *equals == '=' && equals[1] != '=') {
        const char *rhs = skip(equals + 1, end);
        if (is_dropped(rhs, end)) return;
        if (code && h->g->over) { /* get_args(): dtypes of inputs */
            int was = mw__cp_find(h->g, at, n);
            int made = was >= 0 && strncmp(rhs, "rand_strided", 12) == 0
                           ? add_statement(h, "", 0, &shape, rhs, end, line)
                           : -1;
            if (made < 0) return;
            code_shape(h, made);
            cp_shape given = h->g->node[made].shape;
            if (h->g->node[was].kind == CP_INPUT) h->g->node[was].shape = given;
            return;
        }
        int made = add_statement(h, at, n, &shape, rhs, end, line);
        if (made >= 0 && code) code_shape(h, made);
    } else if (n && equals >= end) {
        add_input(h, at, n, &shape, line);
    } else if (n && !(code && h->g->over)) {
        int made = add_statement(h, "", 0, &shape, at, end, line);
        if (made >= 0 && code) code_shape(h, made);
    }
}

void mw__cp_statement(cp_here *h, const char *text, int64_t line)
{
    const char *end = text + strlen(text);
    h->g->hash = mw__hash(h->g->hash, text, (size_t)(end - text));
    for (const char *at = skip(text, end); at < end;) {
        const char *stop = piece_end(at, end, ';');
        const char *last = stop;
        while (last > at && last[-1] == ' ')
            last--;
        one_statement(h, at, last, line);
        at = skip(stop + (stop < end), end);
    }
}

void mw__cp_inputs(cp_here *h, const char *text, int64_t length, int64_t line)
{
    const char *end = text + length;
    h->g->hash = mw__hash(h->g->hash, text, (size_t)length);
    for (const char *at = skip(text, end); at < end;) {
        const char *stop = piece_end(at, end, ',');
        cp_shape shape = {.bytes = -1};
        int n = mw__cp_ident(at);
        if (n && !(n == 4 && strncmp(at, "self", 4) == 0)) {
            (void)annotation(at + n, stop, &shape);
            add_input(h, at, n, &shape, line);
        }
        at = skip(stop + (stop < end), end);
    }
    h->g->whole = true;
    bool joint = mw__cp_find(h->g, "primals", 7) >= 0 && mw__cp_find(h->g, "tangents", 8) >= 0;
    if (joint && !h->g->staged) h->g->stage = CP_JOINT;
}
