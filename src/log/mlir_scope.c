/* Regions of MLIR text: a line that begins with `}` ends one, a line that ends with `{` begins one.
 * Functions and bodies of loops are computations; a loop's count follows from where its counter
 * begins, what the condition compares it with, and the step that the body adds. */
#include "log/mlir.h"

static bool starts(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static uint64_t function_name(const char *at)
{
    size_t n = strcspn(at, "( ");
    return n ? mw__hash(11, at, n) | 1 : 0;
}

uint64_t mw__mlir_computation(const mlir_state *s)
{
    for (int i = s->depth; i-- > 0;)
        if (s->scope[i].computation) return s->scope[i].computation;
    return 0;
}

/* ---- loops -------------------------------------------------------------------------------------
 */

/* `%1:3 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %c) : types` */
static void begin_loop(const mlir_here *h)
{
    const char *at = strstr(h->text, "stablehlo.while");
    if (!at || *h->text != '%') return;
    mw__explain_once(h->e);
    mlir_loop *loop = mw__arena_zalloc(mw__explain_arena(h->e), sizeof *loop);
    if (!loop) return;
    loop->line = h->line->number;
    loop->counter = -1;
    h->s->loop = loop;
    at += strlen("stablehlo.while");
    if (*at++ != '(') return;
    while (loop->niter < MLIR_ITER) {
        at += strspn(at, ", ");
        uint64_t name = mw__mlir_value_name(&at), from;
        if (!name || !starts(at, " = ")) return;
        at += 3;
        from = mw__mlir_value_name(&at);
        const mlir_value *v = mw__mlir_value(h->s, from, false);
        loop->iter[loop->niter].name = name;
        loop->iter[loop->niter].known = v && v->is_constant;
        loop->iter[loop->niter++].first = v ? v->constant : 0;
    }
}

static int iter_of(const mlir_loop *loop, uint64_t name)
{
    for (int i = 0; i < loop->niter; i++)
        if (loop->iter[i].name == name) return i;
    return -1;
}

/* `%3 = stablehlo.compare LT, %iterArg_0, %c_2` in a condition; `stablehlo.add %iterArg_0, %c` in a
 * body. */
static void loop_line(const mlir_here *h)
{
    mlir_scope *scope = h->s->depth ? &h->s->scope[h->s->depth - 1] : NULL;
    mlir_loop *loop = scope ? scope->loop : NULL;
    if (!loop || (scope->region != MLIR_CONDITION && scope->region != MLIR_BODY)) return;
    bool condition = scope->region == MLIR_CONDITION;
    const char *word = condition ? "stablehlo.compare LT, " : "stablehlo.add ";
    const char *at = strstr(h->text, word);
    if (!at) return;
    at += strlen(word);
    int counter = iter_of(loop, mw__mlir_value_name(&at));
    if (counter < 0 || *at++ != ',') return;
    at += strspn(at, " ");
    const mlir_value *v = mw__mlir_value(h->s, mw__mlir_value_name(&at), false);
    if (!v || !v->is_constant) return;
    if (condition) {
        loop->counter = counter;
        loop->limit = v->constant;
    } else if (counter == loop->counter)
        loop->step = v->constant;
}

static void end_loop(const mlir_here *h, const mlir_scope *body)
{
    const mlir_loop *loop = body->loop;
    int64_t runs = 0;
    if (loop->counter >= 0 && loop->iter[loop->counter].known && loop->step > 0) {
        int64_t way = loop->limit - loop->iter[loop->counter].first;
        runs = way > 0 ? (way + loop->step - 1) / loop->step : 0;
    }
    mw__runs_call(h->e, &h->s->runs, mw__mlir_computation(h->s), body->computation, runs, false);
    mw_line line = *h->line;
    line.number = loop->line;
    mw_draft *d = mw__draft(h->e, &line, "stablehlo", "loop");
    mw__draft_last(d, h->line->number);
    if (runs) {
        mw__draft_says(d, "A loop that runs %lld times.", (long long)runs);
        mw__fact(d, "runs", MW_HOW_DERIVED,
                 "the constant at which its counter begins, the one with which its condition "
                 "compares it, and the step that its body adds",
                 "%lld", (long long)runs);
    } else
        mw__draft_says(d, "A loop; the text does not say how often it runs.");
}

/* ---- regions -----------------------------------------------------------------------------------
 */

static mlir_scope popped(mlir_state *s)
{
    mlir_scope top = {.region = MLIR_OTHER};
    if (s->over) {
        s->over--;
        return top;
    }
    if (!s->depth) return top;
    top = s->scope[--s->depth];
    return top;
}

static void end_region(const mlir_here *h, mlir_loop **ret_loop)
{
    mlir_scope was = popped(h->s);
    *ret_loop = was.region == MLIR_CONDITION ? was.loop : NULL;
    if (was.region == MLIR_BODY && was.loop) end_loop(h, &was);
    h->s->manual = false;
    for (int i = 0; i < h->s->depth; i++)
        h->s->manual |= h->s->scope[i].region == MLIR_MANUAL;
    if (was.region == MLIR_MODULE) mw__mlir_total(h->e, h->s);
}

/* A call (`line` of it), or a body (0). */
static void remember(const mlir_here *h, uint64_t name, const char *text, int64_t line)
{
    mlir_state *s = h->s;
    for (int i = 0; i < s->ncalled; i++)
        if (s->called[i].name == name) {
            if (!line) s->called[i].line = 0;
            return;
        }
    if (s->ncalled == MLIR_CALLS) return;
    s->called[s->ncalled] = (mlir_call){.name = name};
    s->called[s->ncalled].text =
        mw__explain_text(h->e, "%.*s", (int)MW_MIN(strcspn(text, "( "), 100), text);
    s->called[s->ncalled++].line = line;
}

/* A name for a computation that has none. */
static uint64_t place(const mlir_here *h)
{
    return mw__hash(13, &h->line->number, sizeof h->line->number) | 1;
}

static mlir_scope begun(const mlir_here *h, mlir_loop *loop)
{
    const char *t = h->text;
    mlir_scope scope = {.region = MLIR_OTHER};
    const char *function = strstr(t, "func.func ");
    if (starts(t, "module"))
        scope.region = MLIR_MODULE;
    else if (function || starts(t, ") -> ")) {
        scope.region = MLIR_FUNCTION;
        const char *name = function ? strchr(function, '@') : NULL;
        scope.computation = name ? function_name(name + 1) : 0;
        if (name) remember(h, scope.computation, name, 0);
        if (function) mw__mlir_values_clear(h->s);
    } else if (starts(t, "cond {") && h->s->loop) {
        scope = (mlir_scope){MLIR_CONDITION, 0, h->s->loop};
        h->s->loop = NULL;
    } else if (starts(t, "} do {") && loop) {
        scope = (mlir_scope){MLIR_BODY, place(h), loop};
    } else if (strstr(t, "stablehlo.while")) { /* printed with generic regions: count not known */
        scope = (mlir_scope){MLIR_BODY, place(h), h->s->loop};
        h->s->loop = NULL;
    } else if (strstr(t, "stablehlo.case") || strstr(t, "stablehlo.if")) {
        scope.computation = place(h);
        mw__runs_call(h->e, &h->s->runs, mw__mlir_computation(h->s), scope.computation, 1, true);
    } else if (strstr(t, "sdy.manual_computation("))
        scope.region = MLIR_MANUAL;
    return scope;
}

mlir_call *mw__mlir_call(mlir_state *s, const char *at)
{
    uint64_t name = function_name(at);
    for (int i = 0; i < s->ncalled; i++)
        if (s->called[i].name == name) return &s->called[i];
    return NULL;
}

static void missing_bodies(mw_explain *e, mlir_state *s)
{
    for (int i = 0; i < s->ncalled; i++)
        if (s->called[i].line && s->called[i].text) {
            mw__missing(e,
                        "what %s does, which line %lld calls: its body is not in the text, and "
                        "collectives may be in it",
                        s->called[i].text, (long long)s->called[i].line);
            mw__mlir_product(e, &s->called[i]);
        }
    s->ncalled = 0;
}

static void calls(const mlir_here *h)
{
    const char *at = strstr(h->text, "call @");
    if (!at || *h->text != '%' || strstr(h->text, "custom_call")) return;
    mw__explain_once(h->e);
    uint64_t name = function_name(at + 6);
    mw__runs_call(h->e, &h->s->runs, mw__mlir_computation(h->s), name, 1, false);
    remember(h, name, at + 5, h->line->number);
}

void mw__mlir_scope(const mlir_here *h)
{
    const char *t = h->text;
    size_t n = strlen(t);
    mlir_loop *loop = NULL;
    begin_loop(h);
    loop_line(h);
    calls(h);
    /* A function whose arguments stand on lines of their own: its name comes first. */
    const char *function = strstr(t, "func.func ");
    if (function && n && t[n - 1] == '(') {
        const char *name = strchr(function, '@');
        mw__mlir_values_clear(h->s);
        h->s->waiting = name ? function_name(name + 1) : 0;
        if (name) remember(h, h->s->waiting, name, 0);
        return;
    }
    if (starts(t, "}, {")) return; /* another region of the same op: another branch */
    bool ends = *t == '}' && !starts(t, "}>"), begins = n && t[n - 1] == '{';
    if (ends) end_region(h, &loop);
    if (ends || begins) mw__explain_once(h->e);
    if (!begins) return;
    mlir_state *s = h->s;
    if (s->depth == MLIR_DEPTH) {
        s->over++;
        return;
    }
    mlir_scope scope = begun(h, loop);
    if (scope.region == MLIR_FUNCTION && !scope.computation) scope.computation = s->waiting;
    s->scope[s->depth++] = scope;
}

void mw__mlir_total(mw_explain *e, mlir_state *s)
{
    runs_total total;
    missing_bodies(e, s);
    mw__runs_resolve(e, &s->runs, &total);
    if (!total.moves) return;
    mw_line line = {.number = s->last, .rank = -1};
    mw_draft *d = mw__draft(e, &line, "stablehlo", "total");
    mw__draft_says(d, "The module that begins in line %lld: %lld collective%s, %lld run%s.",
                   (long long)s->first, (long long)total.moves, total.moves == 1 ? "" : "s",
                   (long long)total.runs, total.runs == 1 ? "" : "s");
    if (total.bytes >= 0)
        mw__draft_says(d,
                       "The module that begins in line %lld: %lld collective%s, %lld run%s, "
                       "%lld B received per device.",
                       (long long)s->first, (long long)total.moves, total.moves == 1 ? "" : "s",
                       (long long)total.runs, total.runs == 1 ? "" : "s", (long long)total.bytes);
    mw__runs_tell(d, &total);
}
