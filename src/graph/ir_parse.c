/* Reads a program's text: the function and its statements. Words are ir_token.c's, meshes and types
 * ir_type.c's, expressions ir_expr.c's; docs/ir.md has the grammar.
 *
 *     file  = { mesh } func ;
 *     func  = "func" "@" name "(" [ param { "," param } ] ")" "{" { stmt } "}" ;
 *     param = "%" name ":" type [ "=" expr ] ;
 *     stmt  = [ names "=" ] expr [ ":" type { "," type } ] [ ";" remark to the line's end ]
 *           | "return" [ expr { "," expr } ] ;
 *
 * A statement without names that marks a value re-places its name. */
#include "graph/ir_parse.h"

#include <stdlib.h>

/* ---- remarks ----------------------------------------------------------------------------------
 */

/* The bytes that end a remark are the node's; what only looks like them stays in the remark. */
static void take_bytes(mw_node *node, char *says, char *bytes, const char *total)
{
    char *after;
    long long all = strtoll(total, &after, 10);
    if (all <= 0 || strcmp(after, " B in all") != 0 || bytes == says || !ir_is_digit(bytes[-1]))
        return;
    while (bytes > says && ir_is_digit(bytes[-1]))
        bytes--;
    node->recv_bytes = strtoll(bytes, NULL, 10);
    node->recv_bytes_total = all;
    *bytes = 0;
    if (bytes - says >= 2 && strcmp(bytes - 2, ". ") == 0) bytes[-2] = 0;
}

/* `; because: text. 64 B received per rank, 128 B in all`, or `; asked: ...` */
static mw_status read_remark(ir_parser *p, mw_node *node)
{
    const char *line = p->at + strspn(p->at, " \t");
    if (*line != ';') return MW_OK;
    const char *end = line + strcspn(line, "\r\n"), *at = line + 1 + strspn(line + 1, " \t");
    p->at = end;
    bool asked = strncmp(at, "asked:", 6) == 0;
    if (!asked && strncmp(at, "because:", 8) != 0) return MW_OK;
    at += asked ? 6 : 8;
    at += strspn(at, " \t");
    char *says = mw__arena_strndup(&p->graph->arena, at, (size_t)(end - at));
    if (!says) return MW_NOMEM();
    static const char tail[] = " B received per rank, ";
    char *bytes = NULL;
    for (char *found = strstr(says, tail); found; found = strstr(found + 1, tail))
        bytes = found;
    if (bytes && node->kind == MW_NODE_STEP) take_bytes(node, says, bytes, bytes + strlen(tail));
    node->because = says;
    node->asked = asked;
    return MW_OK;
}

/* ---- statements -------------------------------------------------------------------------------
 */

/* Nodes made since `first` stand on the line of `at`, which only moves on. */
static void set_sites(ir_parser *p, const char *at, int64_t first)
{
    for (; p->counted < at; p->counted++)
        p->line += *p->counted == '\n';
    for (int64_t i = first; i < p->graph->nvalue; i++)
        p->graph->value[i]->def->site = (mw_site){p->file, p->line, ""};
}

static mw_status name_result(ir_parser *p, mw_ssa *v, const char *name, const char *at)
{
    if (ir_lookup(p, name)) return ir_fail(p, at, "%%%s is defined twice", name);
    MW_TRY(mw__ssa_rename(p->graph, v, name));
    return ir_define(p, name, v);
}

enum { NAMES = 32 };

static mw_status read_names(ir_parser *p, char (*name)[IR_NAME], const char **at, int *ret_n)
{
    int n = 0;
    do {
        ir_space(p);
        if (n == NAMES) return ir_fail(p, p->at, "more than %d names", NAMES);
        at[n] = p->at;
        MW_TRY(ir_expect(p, "%"));
        if (!ir_word(p, ".", name[n])) return ir_fail(p, p->at, "expected a name after '%%'");
        n++;
    } while (ir_take(p, ","));
    *ret_n = n;
    return MW_OK;
}

/* Does `%a, %b = ` stand here, or an expression that begins with %a? */
static bool names_follow(ir_parser *p)
{
    ir_space(p);
    if (*p->at != '%') return false;
    const char *c = p->at;
    while (*c == '%' || ir_is_letter(*c) || ir_is_digit(*c) || strchr(".,", *c) || *c == ' ') {
        if (!*c) return false;
        c++;
    }
    return *c == '=' && c[1] != '=';
}

/* The name by which the statement marks a value means the marked one from here on: not the value's
 * own, which after an earlier mark is another. */
static mw_status replace_name(ir_parser *p, const char *expr, mw_ssa *marked)
{
    char name[IR_NAME];
    const char *after = p->at, *at = memchr(expr, '%', (size_t)(after - expr));
    mw_ssa *was = marked->def->in[0];
    for (; at; at = memchr(at + 1, '%', (size_t)(after - at - 1))) {
        p->at = at + 1;
        bool word = ir_word(p, ".", name);
        for (char *point; word && ir_lookup(p, name) != was && (point = strrchr(name, '.'));)
            *point = 0; /* a method's */
        if (word && ir_lookup(p, name) == was) break;
    }
    p->at = after;
    return ir_define(p, at ? name : was->name, marked);
}

/* A movement says where to; so do those within an expression. */
static mw_status all_stated(ir_parser *p, const char *at, int64_t first)
{
    for (int64_t i = first; i < p->graph->nvalue; i++) {
        const mw_ssa *v = p->graph->value[i];
        if (v->def->kind == MW_NODE_STEP && !v->stated)
            return ir_fail(p, at,
                           "a movement states where to: a type behind it, or a text: "
                           "redistribute(%%x, \"S(0)\")");
    }
    return MW_OK;
}

/* The dtype that is stated behind the data which is all of the statement. */
static mw_dtype stated_behind(ir_parser *p, const char *expr)
{
    char word[IR_NAME];
    mw_dtype dtype = MW_DTYPE_NONE;
    const char *end = ir_data_end(expr), *at = p->at;
    if (!end) return dtype;
    p->at = end + strspn(end, " \t");
    if (ir_take(p, ":") && ir_word(p, "", word)) dtype = mw_dtype_read(word, (int)strlen(word));
    p->at = at;
    return dtype;
}

/* Names stand for values that the statement makes: another name for an old one is refused. */
static mw_status read_statement(ir_parser *p)
{
    char name[NAMES][IR_NAME];
    const char *at[NAMES], *begin = (ir_space(p), p->at);
    int nname = 0, n;
    if (names_follow(p)) {
        MW_TRY(read_names(p, name, at, &nname));
        MW_TRY(ir_expect(p, "="));
    }
    const char *expr = (ir_space(p), p->at);
    int64_t before = p->graph->nvalue;
    mw_ssa *out[NAMES];
    p->literal = stated_behind(p, expr);
    MW_TRY(ir_expr(p, out, NAMES, &n));
    p->literal = MW_DTYPE_NONE;
    if (nname && nname != n)
        return ir_fail(p, expr, "%d name%s for %d result%s", nname, nname == 1 ? "" : "s", n,
                       n == 1 ? "" : "s");
    set_sites(p, begin, before);
    bool fresh = n > 0 && out[0]->id >= before;
    if (nname && !fresh) { /* another name: a value of its own on the same memory */
        ir_operand same = {.value = out[0]};
        MW_TRY(ir_call_with(p, "alias", expr, &same, 1, &out[0]));
        set_sites(p, begin, before);
        fresh = true;
    }
    if (!nname && n == 1 && out[0]->def->kind == MW_NODE_MARK && fresh)
        MW_TRY(replace_name(p, expr, out[0]));
    for (int i = 0; i < nname; i++)
        MW_TRY(name_result(p, out[i], name[i], at[i]));
    if (fresh && ir_take(p, ":"))
        for (int i = 0; i < n; i++) {
            if (i) MW_TRY(ir_expect(p, ","));
            MW_TRY(ir_state_type(p, out[i]));
        }
    MW_TRY(all_stated(p, expr, before));
    if (!fresh && p->at == begin) return ir_fail(p, begin, "expected a statement");
    return n ? read_remark(p, out[0]->def) : MW_OK;
}

static mw_status read_return(ir_parser *p)
{
    mw_ssa *value[NAMES];
    int n = 0, one;
    const char *begin = p->at;
    int64_t before = p->graph->nvalue;
    if (ir_sees(p, "}")) return mw__graph_results(p->graph, value, 0);
    do {
        if (n == NAMES) return ir_fail(p, p->at, "more than %d results", NAMES);
        const char *expr = (ir_space(p), p->at);
        int64_t here = p->graph->nvalue;
        MW_TRY(ir_expr(p, &value[n], NAMES - n, &one));
        if (ir_take(p, ":")) {
            if (one != 1 || value[n]->id < here)
                return ir_fail(p, expr,
                               "a type behind what is no result of a call: state it where "
                               "%%%s is made",
                               value[n]->name);
            MW_TRY(ir_state_type(p, value[n]));
        }
        n += one;
    } while (ir_take(p, ","));
    set_sites(p, begin, before);
    MW_TRY(all_stated(p, begin, before));
    return mw__graph_results(p->graph, value, n);
}

/* ---- the function -----------------------------------------------------------------------------
 */

/* Data of a parameter becomes what its type says, where nothing but its rounding is lost. */
static bool becomes(mw_dtype from, mw_dtype to)
{
    if (from == to || to == MW_DTYPE_bool) return false;
    return mw_dtype_kind_of(to) == MW_KIND_FLOAT || mw_dtype_kind_of(from) != MW_KIND_FLOAT;
}

/* A parameter with data is a constant that lies as its type says. */
static mw_status read_param(ir_parser *p)
{
    char name[IR_NAME];
    mw_layout layout;
    mw_mesh *mesh;
    uint8_t priority[MW_MAX_DIMS] = {0};
    const char *at = (ir_space(p), p->at);
    MW_TRY(ir_expect(p, "%"));
    if (!ir_word(p, ".", name)) return ir_fail(p, p->at, "expected the parameter's name");
    MW_TRY(ir_expect(p, ":"));
    const char *type = (ir_space(p), p->at);
    MW_TRY(ir_type(p, &mesh, &layout, priority));
    if (layout.dtype == MW_DTYPE_NONE)
        return ir_fail(p, type, "the type of a parameter states its dtype, like f32[4@x, 3]");
    if (!ir_take(p, "=")) {
        mw_node *node;
        MW_TRY(mw__graph_input(p->graph, mesh, &layout, NULL, &node));
        node->out[0]->stated = !ir_says_nothing(p, &layout);
        memcpy(node->out[0]->priority, priority, sizeof priority);
        return name_result(p, node->out[0], name, at);
    }
    const char *expr = (ir_space(p), p->at), *after = ir_data_end(expr);
    int64_t before = p->graph->nvalue;
    mw_ssa *value;
    int n;
    if (after) after += strspn(after, " \t\r\n");
    if (after && (*after == ',' || *after == ')')) p->literal = (mw_dtype)layout.dtype;
    MW_TRY(ir_expr(p, &value, 1, &n));
    p->literal = MW_DTYPE_NONE;
    if (becomes((mw_dtype)value->layout.dtype, (mw_dtype)layout.dtype)) {
        ir_operand given[2] = {{.value = value},
                               {.number = true, .arg = {.kind = MW_ARG_DTYPE, .i = layout.dtype}}};
        MW_TRY(ir_call_with(p, "to", expr, given, 2, &value));
    }
    set_sites(p, at, before);
    after = p->at;
    p->at = type;
    MW_TRY(ir_state_type(p, value));
    p->at = after;
    if (ir_lookup(p, value->name) == value) return ir_fail(p, expr, "expected data");
    return name_result(p, value, name, at);
}

static mw_status read_function(ir_parser *p)
{
    char name[IR_NAME];
    MW_TRY(ir_expect(p, "func"));
    MW_TRY(ir_expect(p, "@"));
    if (!ir_word(p, "", name)) return ir_fail(p, p->at, "expected the function's name");
    p->graph->name = mw__arena_strndup(&p->graph->arena, name, strlen(name));
    if (!p->graph->name) return MW_NOMEM();
    MW_TRY(ir_expect(p, "("));
    while (!ir_sees(p, ")")) {
        MW_TRY(read_param(p));
        if (!ir_take(p, ",")) break;
    }
    MW_TRY(ir_expect(p, ")"));
    MW_TRY(ir_expect(p, "{"));
    while (!ir_take(p, "}")) {
        if (!*p->at) return ir_fail(p, p->at, "expected '}' at the function's end");
        if (ir_take(p, "return"))
            MW_TRY(read_return(p));
        else
            MW_TRY(read_statement(p));
    }
    ir_space(p);
    return *p->at ? ir_fail(p, p->at, "expected the end of the text") : MW_OK;
}

static mw_status read_file(ir_parser *p)
{
    int index;
    while (ir_take(p, "mesh"))
        MW_TRY(ir_mesh(p));
    if (!p->graph->nmesh && p->given) MW_TRY(mw__graph_add_mesh(p->graph, p->given, NULL, &index));
    MW_TRY(read_function(p));
    mw__graph_mutated(p->graph);
    return MW_OK;
}

mw_status mw__graph_parse(const char *text, const char *file, mw_mesh *mesh, mw_graph **ret)
{
    ir_parser p = {.text = text, .at = text, .counted = text, .line = 1, .given = mesh};
    MW_TRY(mw__graph_new("main", &p.graph));
    mw__arena_init(&p.scratch);
    p.names.arena = &p.scratch;
    if (file) p.file = mw__arena_strndup(&p.graph->arena, file, strlen(file));
    mw_status status = file && !p.file ? MW_NOMEM() : read_file(&p);
    mw__arena_done(&p.scratch);
    if (status != MW_OK) {
        mw__graph_free(p.graph);
        return status;
    }
    *ret = p.graph;
    return MW_OK;
}
