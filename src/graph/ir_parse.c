/* Reads a program's text: meshes, the function, its statements. Expressions are ir_expr.c's.
 *
 *     file  = { "mesh" "@" name "=" "[" axis "=" int { "," ... } "]" [ "ids" "=" "[" ints "]" ] }
 * func ; func  = "func" "@" name "(" [ param { "," param } ] ")" "{" { stmt } "}" ; param = "%"
 * name ":" type [ "=" expr ] ; stmt  = [ names "=" ] expr [ ":" type { "," type } ] [ ";" remark to
 * the line's end ] | "return" [ expr { "," expr } ] ; type  = layout [ "on" "@" name ] [ "p" int |
 * "p(" ints ")" ] ;
 *
 * `#` and `//` begin a comment. A statement without names that marks a value re-places its name. */
#include "graph/ir_parse.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- errors -----------------------------------------------------------------------------------
 */

static const char *line_of(const ir_parser *p, const char *at, int *ret_number)
{
    const char *line = p->text;
    int number = 1;
    for (const char *c = p->text; c < at; c++)
        if (*c == '\n') line = c + 1, number++;
    *ret_number = number;
    return line;
}

mw_status ir_fail(const ir_parser *p, const char *at, const char *format, ...)
{
    char says[400], what[32];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(says, sizeof says, format, list);
    va_end(list);
    int number;
    const char *line = line_of(p, at, &number);
    (void)snprintf(what, sizeof what, "line %d", number);
    return mw__parse_fail(what, line, at, "%s", says);
}

mw_status ir_failed_at(const ir_parser *p, const char *at, mw_status status)
{
    if (status == MW_OK || status == MW_ERR_NOMEM) return status;
    mw_error *error = &mw__ctx_get()->error;
    if (strncmp(error->says, "line ", 5) == 0) return status;
    int number, shift = 0;
    const char *line = line_of(p, at, &number), *from = line;
    int column = mw__text_column(line, at);
    while (column - shift > 60) { /* of a long line what is around the fault */
        do
            from++;
        while (((unsigned char)*from & 0xc0) == 0x80);
        shift++;
    }
    mw__error_where("line %d, column %d:\n    %.*s\n    %*s^", number, column,
                    (int)MW_MIN(strcspn(from, "\r\n"), 160), from, column - shift - 1, "");
    return status;
}

/* ---- tokens -----------------------------------------------------------------------------------
 */

void ir_space(ir_parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (*p->at != '#' && strncmp(p->at, "//", 2) != 0) return;
        p->at += strcspn(p->at, "\n");
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool ir_sees(ir_parser *p, const char *word)
{
    ir_space(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0) return false;
    return !is_letter(word[n - 1]) || !(is_letter(p->at[n]) || is_digit(p->at[n]));
}

bool ir_take(ir_parser *p, const char *word)
{
    if (!ir_sees(p, word)) return false;
    p->at += strlen(word);
    return true;
}

mw_status ir_expect(ir_parser *p, const char *word)
{
    if (ir_take(p, word)) return MW_OK;
    return ir_fail(p, p->at, "expected '%s'%s", word, *p->at ? "" : ", not the end of the text");
}

bool ir_word(ir_parser *p, const char *more, char *to)
{
    ir_space(p);
    size_t n = 0;
    while (n + 1 < IR_NAME && (is_letter(p->at[n]) || is_digit(p->at[n]) ||
                               (p->at[n] && strchr(more, p->at[n]) && n > 0)))
        n++;
    memcpy(to, p->at, n);
    to[n] = 0;
    p->at += n;
    return n > 0;
}

mw_status ir_int(ir_parser *p, int64_t *ret)
{
    ir_space(p);
    char *end;
    long long value = strtoll(p->at, &end, 10);
    if (end == p->at) return ir_fail(p, p->at, "expected a number");
    p->at = end;
    *ret = value;
    return MW_OK;
}

/* ---- names ------------------------------------------------------------------------------------
 */

static ir_name *slot_of(const ir_parser *p, const char *name)
{
    uint64_t at = mw__hash(7, name, strlen(name)) % (uint64_t)p->cap_name;
    while (p->name[at].name && strcmp(p->name[at].name, name) != 0)
        at = (at + 1) % (uint64_t)p->cap_name;
    return &p->name[at];
}

static mw_status grow_names(ir_parser *p)
{
    ir_name *old = p->name;
    int64_t cap = p->cap_name;
    p->cap_name = cap ? 2 * cap : 64;
    p->name = mw__arena_zalloc(&p->scratch, (size_t)p->cap_name * sizeof *p->name);
    if (!p->name) return MW_NOMEM();
    for (int64_t i = 0; i < cap; i++)
        if (old[i].name) *slot_of(p, old[i].name) = old[i];
    return MW_OK;
}

mw_ssa *ir_lookup(const ir_parser *p, const char *name)
{
    return p->cap_name ? slot_of(p, name)->value : NULL;
}

mw_status ir_define(ir_parser *p, const char *name, mw_ssa *value)
{
    if (2 * p->nname >= p->cap_name) MW_TRY(grow_names(p));
    ir_name *slot = slot_of(p, name);
    if (!slot->name) {
        slot->name = mw__arena_strndup(&p->scratch, name, strlen(name));
        if (!slot->name) return MW_NOMEM();
        p->nname++;
    }
    slot->value = value;
    return MW_OK;
}

/* ---- meshes and types -------------------------------------------------------------------------
 */

static mw_status read_mesh(ir_parser *p)
{
    char name[IR_NAME];
    MW_TRY(ir_expect(p, "@"));
    if (!ir_word(p, "", name)) return ir_fail(p, p->at, "expected the mesh's name");
    MW_TRY(ir_expect(p, "="));
    MW_TRY(ir_expect(p, "["));
    const char *first = p->at, *end = first + strcspn(first, "]\n");
    if (*end != ']') return ir_fail(p, end, "expected ']' after the mesh's axes");
    p->at = end + 1;
    char *text = mw__arena_printf(&p->scratch, "%.*s", (int)(end - first), first);
    if (text && ir_sees(p, "ids")) {
        const char *ids = p->at, *close = ids + strcspn(ids, "]\n");
        if (*close != ']') return ir_fail(p, close, "expected ']' after the mesh's ids");
        p->at = close + 1;
        text = mw__arena_printf(&p->scratch, "%s %.*s", text, (int)(p->at - ids), ids);
    }
    if (!text) return MW_NOMEM();
    mw_mesh *mesh, *lasting = p->given;
    int index;
    if (!lasting || p->graph->nmesh) { /* the caller's takes the place of the first */
        MW_TRY(ir_failed_at(p, first, mw_mesh_parse(text, &mesh)));
        mw_status status = mw__mesh_intern(mesh, &lasting);
        mw_mesh_unref(mesh);
        MW_TRY(status);
    }
    return ir_failed_at(p, first, mw__graph_add_mesh(p->graph, lasting, name, &index));
}

static mw_status mesh_named(ir_parser *p, mw_mesh **ret)
{
    char name[IR_NAME];
    const char *at = p->at;
    if (!ir_word(p, "", name)) return ir_fail(p, p->at, "expected the name of a mesh");
    for (int i = 0; i < p->graph->nmesh; i++)
        if (strcmp(p->graph->mesh_name[i], name) == 0) {
            *ret = p->graph->mesh[i];
            return MW_OK;
        }
    return ir_fail(p, at, "no mesh @%s", name);
}

/* Where the type that begins here lies: ` on @m1` stands behind its layout. */
static mw_status type_mesh(ir_parser *p, mw_mesh **ret)
{
    const char *at = p->at, *line = at + strcspn(at, "\n;=");
    *ret = p->graph->mesh[0];
    for (const char *c = at; c + 4 < line; c++)
        if (*c == ')' || (*c == ':' && c[1] == ' ' && c[2] == '%'))
            return MW_OK;
        else if (strncmp(c, " on @", 5) == 0) {
            p->at = c + 5;
            mw_status status = mesh_named(p, ret);
            p->at = at;
            return status;
        } else if (*c == ']' && c[1] == ',') {
            return MW_OK;
        }
    return MW_OK;
}

static mw_status read_priority(ir_parser *p, const mw_layout *layout, uint8_t *priority)
{
    ir_space(p);
    if (*p->at != 'p' || !(is_digit(p->at[1]) || p->at[1] == '(')) return MW_OK;
    const char *at = p->at++;
    bool each = ir_take(p, "(");
    for (int d = 0; d < layout->ndim; d++) {
        int64_t value = priority[0];
        if (each || d == 0) MW_TRY(ir_int(p, &value));
        if (value < 0 || value > 250) return ir_fail(p, at, "a priority is 0 to 250");
        priority[d] = (uint8_t)value;
        if (each && d + 1 < layout->ndim) MW_TRY(ir_expect(p, ","));
    }
    return each ? ir_expect(p, ")") : MW_OK;
}

static mw_status read_type(ir_parser *p, mw_mesh **ret_mesh, mw_layout *ret, uint8_t *priority)
{
    ir_space(p);
    int number;
    if (!p->graph->nmesh)
        return ir_fail(p, p->at, "a type before any mesh: state one, or give --mesh");
    MW_TRY(type_mesh(p, ret_mesh));
    mw_status status = mw__layout_read(*ret_mesh, line_of(p, p->at, &number), &p->at, ret);
    MW_TRY(ir_failed_at(p, p->at, status));
    MW_TRY(mw__layout_check(*ret_mesh, ret));
    p->open_scalar = ret->ndim == 0 && ir_take(p, "?");
    mw_mesh *named;
    if (ir_take(p, "on")) {
        MW_TRY(ir_expect(p, "@"));
        MW_TRY(mesh_named(p, &named));
    }
    return read_priority(p, ret, priority);
}

static bool says_nothing(const ir_parser *p, const mw_layout *l)
{
    if (l->ndim == 0 && l->npartial == 0) return p->open_scalar;
    for (int d = 0; d < l->ndim; d++)
        if (!l->dim[d].open || l->dim[d].ncut) return false;
    return l->npartial == 0;
}

static bool same_shape(const mw_meta *a, const mw_meta *b)
{
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* A stated type on a value whose dtype and shape are known. */
static mw_status state_type(ir_parser *p, mw_ssa *v)
{
    const char *at = (ir_space(p), p->at);
    mw_layout layout;
    mw_mesh *mesh;
    uint8_t priority[MW_MAX_DIMS] = {0};
    MW_TRY(read_type(p, &mesh, &layout, priority));
    if (layout.dtype == MW_DTYPE_NONE) layout.dtype = v->layout.dtype;
    mw_meta want = mw__ssa_meta(v), got = {(mw_dtype)layout.dtype, layout.ndim, {0}};
    mw_layout_shape(&layout, got.shape);
    if (want.dtype != got.dtype || !same_shape(&want, &got)) {
        mw_str a = {0}, b = {0};
        mw__meta_str(&want, &a);
        mw__meta_str(&got, &b);
        mw_status status = ir_fail(p, at, "%%%s is %s, and its type says %s", v->name,
                                   mw__str_text(&a), mw__str_text(&b));
        if (want.dtype != got.dtype && same_shape(&want, &got))
            mw__error_hint("convert it: .to(%s)", mw_dtype_name(got.dtype));
        mw__str_done(&a);
        mw__str_done(&b);
        return status;
    }
    if (mesh != v->mesh && v->def->kind == MW_NODE_OP)
        return ir_fail(p, at, "%%%s lies on another mesh than its operands", v->name);
    v->mesh = mesh;
    v->layout = layout;
    v->stated =
        !says_nothing(p, &layout) || v->def->kind == MW_NODE_MARK || v->def->kind == MW_NODE_STEP;
    memcpy(v->priority, priority, sizeof priority);
    return MW_OK;
}

/* ---- remarks ----------------------------------------------------------------------------------
 */

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
    if (bytes && node->kind == MW_NODE_STEP) {
        char *after;
        long long total = strtoll(bytes + strlen(tail), &after, 10);
        if (strncmp(after, " B in all", 9) != 0) total = 0;
        while (bytes > says && is_digit(bytes[-1]))
            bytes--;
        node->recv_bytes = strtoll(bytes, NULL, 10);
        node->recv_bytes_total = total;
        *bytes = 0;
        if (bytes - says >= 2 && strcmp(bytes - 2, ". ") == 0) bytes[-2] = 0;
    }
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
    while (*c == '%' || is_letter(*c) || is_digit(*c) || strchr(".,", *c) || *c == ' ') {
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

/* A value that several names or none would share gets a name of its own by a movement of nothing.
 */
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
            MW_TRY(state_type(p, out[i]));
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
            MW_TRY(state_type(p, value[n]));
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
    MW_TRY(read_type(p, &mesh, &layout, priority));
    if (layout.dtype == MW_DTYPE_NONE)
        return ir_fail(p, type, "the type of a parameter states its dtype, like f32[4@x, 3]");
    if (!ir_take(p, "=")) {
        mw_node *node;
        MW_TRY(mw__graph_input(p->graph, mesh, &layout, NULL, &node));
        node->out[0]->stated = !says_nothing(p, &layout);
        memcpy(node->out[0]->priority, priority, sizeof priority);
        return name_result(p, node->out[0], name, at);
    }
    const char *expr = (ir_space(p), p->at), *after = ir_data_end(expr);
    int64_t before = p->graph->nvalue;
    mw_ssa *value;
    int n;
    after += after ? strspn(after, " \t\r\n") : 0;
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
    MW_TRY(state_type(p, value));
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
        MW_TRY(read_mesh(p));
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
