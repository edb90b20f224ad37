/* Expressions of a program's text: names, calls, method chains, and what stands in arguments.
 *
 *     expr  = ( "%" name | call | list ) { "." word "(" args ")" } ;
 *     call  = word "(" args ")" ;                   an op by any of its names, or one of
 *             tensor(list) randn(sizes, seed=) rand(sizes, seed=) mark_sharding(expr [, text])
 *             redistribute(expr) all_gather(expr, axes=[x], dim=0) ...      (any call with axes=)
 *     args  = [ [ word "=" ] arg { "," [ word "=" ] arg } ] ;
 *     arg   = expr | number | "True" | "False" | "None" | string | dtype | "@" name | "[" args "]"
 * ;
 */
#include "graph/ir_parse.h"
#include "run/mark_call.h"

#include <errno.h>
#include <stdlib.h>

static mw_status read_arg(ir_parser *p, ir_args *args);

/* ---- static values ----------------------------------------------------------------------------
 */

static mw_status read_string(ir_parser *p, const char **ret)
{
    char quote = *p->at;
    const char *begin = p->at++, *end = p->at;
    while (*end && *end != quote && *end != '\n')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (*end != quote) return ir_fail(p, begin, "a string that does not end");
    char *text = mw__arena_alloc(&p->scratch, (size_t)(end - p->at) + 1);
    if (!text) return MW_NOMEM();
    size_t n = 0;
    for (const char *c = p->at; c < end; c++)
        text[n++] = *c == '\\' ? *++c : *c;
    text[n] = 0;
    p->at = end + 1;
    *ret = text;
    return MW_OK;
}

static mw_status read_number(ir_parser *p, mw_arg *ret)
{
    char *end, *real_end;
    errno = 0;
    long long whole = strtoll(p->at, &end, 10);
    bool over = errno == ERANGE;
    double real = strtod(p->at, &real_end);
    if (real_end == p->at) return ir_fail(p, p->at, "expected a value");
    if (real_end > end || over)
        *ret = (mw_arg){.kind = MW_ARG_FLOAT, .f = real};
    else
        *ret = (mw_arg){.kind = MW_ARG_INT, .i = whole};
    p->at = real_end;
    return MW_OK;
}

/* A word that stands for a value; false where it stands for none. */
static bool read_constant(const char *word, mw_arg *ret)
{
    static const struct {
        const char *word;
        mw_arg arg;
    } known[] = {
        {"None", {.kind = MW_ARG_NONE}},          {"True", {.kind = MW_ARG_BOOL, .i = 1}},
        {"true", {.kind = MW_ARG_BOOL, .i = 1}},  {"False", {.kind = MW_ARG_BOOL, .i = 0}},
        {"false", {.kind = MW_ARG_BOOL, .i = 0}},
    };
    for (int i = 0; i < MW_COUNT(known); i++)
        if (strcmp(word, known[i].word) == 0) {
            *ret = known[i].arg;
            return true;
        }
    if (strncmp(word, "torch.", 6) == 0) word += 6;
    mw_dtype dtype = mw_dtype_read(word, (int)strlen(word));
    *ret = (mw_arg){.kind = MW_ARG_DTYPE, .i = dtype};
    return dtype != MW_DTYPE_NONE;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static bool starts_number(const char *at)
{
    at += *at == '-' || *at == '+';
    return (*at >= '0' && *at <= '9') || *at == '.' || strncmp(at, "inf", 3) == 0 ||
           strncmp(at, "nan", 3) == 0;
}

/* Data: a list that holds lists or fractions, or is empty of tensors and not all ints. */
static bool is_data(const char *at)
{
    char close = *at == '(' ? ')' : ']';
    for (at++; *at && *at != close && *at != '\n'; at++) {
        if (*at == '%' || *at == '"' || *at == '\'') return false;
        if (*at == '[' || *at == '(' || *at == '.') return true;
        if (*at == 'T' || *at == 'F') return true;
    }
    return false;
}

static mw_status add_tensor(ir_parser *p, ir_args *args, mw_ssa *v)
{
    if (args->ntensor == MW_COUNT(args->tensor))
        return ir_fail(p, p->at, "more than %d tensors in a call", MW_COUNT(args->tensor));
    args->tensor[args->ntensor++] = v;
    return MW_OK;
}

static mw_status tensor_list(ir_parser *p, ir_args *args, const char *close, mw_arg *ret)
{
    *ret = (mw_arg){.kind = MW_ARG_TENSORS, .first = args->ntensor};
    while (!ir_sees(p, close)) {
        mw_ssa *v;
        int n;
        MW_TRY(ir_expr(p, &v, 1, &n));
        MW_TRY(add_tensor(p, args, v));
        ret->count++;
        if (!ir_take(p, ",")) break;
    }
    return ir_expect(p, close);
}

/* `[u0]`: a value known only at run time, as traces of other systems print it. */
static mw_status symbol(ir_parser *p, const char *begin, const char *close, mw_arg *ret)
{
    const char *end = begin + strcspn(begin, "])\n");
    if (*end != *close) return ir_fail(p, end, "expected '%s'", close);
    p->at = end + 1;
    *ret = (mw_arg){.kind = MW_ARG_SYMBOL,
                    .s = mw__arena_strndup(&p->scratch, begin, (size_t)(p->at - begin))};
    return ret->s ? MW_OK : MW_NOMEM();
}

static mw_status int_list(ir_parser *p, const char *begin, const char *close, mw_arg *ret)
{
    int64_t *at = NULL, cap = 0, n = 0;
    while (!ir_sees(p, close)) {
        if (!starts_number(p->at)) return symbol(p, begin, close, ret);
        if (n == cap) {
            int64_t more = cap ? 2 * cap : 8;
            int64_t *grown = mw__arena_alloc(&p->scratch, (size_t)more * sizeof *grown);
            if (!grown) return MW_NOMEM();
            if (n) memcpy(grown, at, (size_t)n * sizeof *at);
            at = grown, cap = more;
        }
        MW_TRY(ir_int(p, &at[n]));
        n++;
        if (!ir_take(p, ",")) break;
    }
    static const int64_t none;
    *ret = (mw_arg){.kind = MW_ARG_INTS, .count = (int)n, .ints = at ? at : &none};
    return ir_expect(p, close);
}

static mw_status read_list(ir_parser *p, ir_args *args, mw_arg *ret)
{
    const char *begin = p->at, *close = *begin == '(' ? ")" : "]";
    if (*begin == '[' && is_data(begin)) {
        mw_ssa *v;
        MW_TRY(ir_literal(p, &v));
        *ret = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
        return add_tensor(p, args, v);
    }
    p->at++;
    ir_space(p);
    bool tensors = *p->at == '%';
    if (!tensors && !starts_number(p->at) && *p->at != *close) { /* [f(x), g(y)] or [u0] */
        const char *word = p->at + strcspn(p->at, "(,])\n");
        tensors = *word == '(';
    }
    return tensors ? tensor_list(p, args, close, ret) : int_list(p, begin, close, ret);
}

/* ---- arguments --------------------------------------------------------------------------------
 */

static mw_status read_value(ir_parser *p, ir_args *args, mw_arg *ret)
{
    ir_space(p);
    if (*p->at == '[' || *p->at == '(') return read_list(p, args, ret);
    if (*p->at == '"' || *p->at == '\'') {
        ret->kind = MW_ARG_STR;
        return read_string(p, &ret->s);
    }
    if (starts_number(p->at)) return read_number(p, ret);
    char word[IR_NAME];
    const char *at = p->at;
    if (*at != '%' && ir_word(p, ".:", word) && !ir_sees(p, "(")) {
        if (read_constant(word, ret)) return MW_OK;
        *ret = (mw_arg){.kind = MW_ARG_SYMBOL,
                        .s = mw__arena_strndup(&p->scratch, word, strlen(word))};
        return ret->s ? MW_OK : MW_NOMEM();
    }
    p->at = at;
    mw_ssa *v;
    int n;
    MW_TRY(ir_expr(p, &v, 1, &n));
    *ret = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
    return add_tensor(p, args, v);
}

static mw_status read_arg(ir_parser *p, ir_args *args)
{
    if (args->n == IR_ARGS) return ir_fail(p, p->at, "more than %d arguments", IR_ARGS);
    mw_given *given = &args->given[args->n];
    char word[IR_NAME];
    const char *begin = (ir_space(p), p->at);
    *given = (mw_given){0};
    if (*begin != '%' && ir_word(p, "", word) && ir_take(p, "=") && *p->at != '=') {
        given->name = mw__arena_strndup(&p->scratch, word, strlen(word));
        if (!given->name) return MW_NOMEM();
        ir_space(p);
    } else {
        p->at = begin;
    }
    args->at[args->n++] = p->at;
    if (given->name && strcmp(given->name, "axes") == 0) { /* names of mesh axes, as they stand */
        const char *end = p->at + strcspn(p->at, "]\n");
        if (*p->at != '[' || *end != ']') return ir_fail(p, p->at, "expected axes like [x, y]");
        given->value =
            (mw_arg){.kind = MW_ARG_SYMBOL,
                     .s = mw__arena_strndup(&p->scratch, p->at + 1, (size_t)(end - p->at - 1))};
        p->at = end + 1;
        return given->value.s ? MW_OK : MW_NOMEM();
    }
    return read_value(p, args, &given->value);
}

static mw_status read_args(ir_parser *p, ir_args *args)
{
    MW_TRY(ir_expect(p, "("));
    while (!ir_sees(p, ")")) {
        MW_TRY(read_arg(p, args));
        if (!ir_take(p, ",")) break;
    }
    return ir_expect(p, ")");
}

/* ---- ops --------------------------------------------------------------------------------------
 */

/* torch takes x.view(3, 4) for x.view([3, 4]): ints one by one where a list of ints is wanted. */
static mw_status gather_ints(ir_parser *p, const mw_schema *schema, ir_args *args)
{
    for (int i = 0; i < args->n && !args->given[i].name; i++) {
        if (i >= schema->narg || args->given[i].value.kind != MW_ARG_INT) continue;
        const mw_type *type = &schema->arg[i].type;
        if (!type->list || (type->base != MW_TYPE_INT && type->base != MW_TYPE_SYMINT)) continue;
        int n = 0;
        while (i + n < args->n && !args->given[i + n].name &&
               args->given[i + n].value.kind == MW_ARG_INT)
            n++;
        int64_t *ints = mw__arena_alloc(&p->scratch, (size_t)n * sizeof *ints);
        if (!ints) return MW_NOMEM();
        for (int k = 0; k < n; k++)
            ints[k] = args->given[i + k].value.i;
        args->given[i].value = (mw_arg){.kind = MW_ARG_INTS, .count = n, .ints = ints};
        memmove(&args->given[i + 1], &args->given[i + n],
                (size_t)(args->n - i - n) * sizeof args->given[0]);
        args->n -= n - 1;
        return MW_OK;
    }
    return MW_OK;
}

/* A list of ints where a tensor is wanted is data. */
static mw_status lists_as_data(ir_parser *p, const mw_schema *schema, ir_args *args)
{
    for (int i = 0; i < args->n; i++) {
        mw_arg *value = &args->given[i].value;
        const char *name = args->given[i].name;
        int at = name ? mw__schema_find(schema, name, strlen(name)) : i;
        if (value->kind != MW_ARG_INTS || at < 0 || at >= schema->narg) continue;
        if (schema->arg[at].type.base != MW_TYPE_TENSOR || schema->arg[at].type.list) continue;
        mw_meta meta = {MW_DTYPE_i64, 1, {value->count}};
        mw_node *node;
        MW_TRY(mw__graph_const(p->graph, NULL, p->graph->mesh[0], &meta, MW_FILL_DATA, 0,
                               value->ints, NULL, &node));
        *value = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
        MW_TRY(add_tensor(p, args, node->out[0]));
    }
    return MW_OK;
}

static mw_status build_op(ir_parser *p, const mw_op *op, const ir_args *given, mw_node **ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(op, &info));
    ir_args *args = mw__arena_alloc(&p->scratch, sizeof *args);
    mw_meta *meta = mw__arena_alloc(&p->scratch, 4 * IR_ARGS * sizeof *meta);
    mw_bound *bound = mw__arena_zalloc(&p->scratch, sizeof *bound);
    if (!args || !meta || !bound) return MW_NOMEM();
    *args = *given;
    MW_TRY(gather_ints(p, &info->schema, args));
    MW_TRY(lists_as_data(p, &info->schema, args));
    for (int i = 0; i < args->ntensor; i++)
        meta[i] = mw__ssa_meta(args->tensor[i]);
    MW_TRY(mw__args_bind(&info->schema, args->given, args->n, meta, &p->scratch, bound));
    mw_ssa **in = mw__arena_alloc(&p->scratch, (size_t)(bound->nin + 1) * sizeof(mw_ssa *));
    if (!in) return MW_NOMEM();
    for (int i = 0; i < bound->nin; i++)
        in[i] = args->tensor[bound->operand[i]];
    return mw__graph_op(p->graph, NULL, op, bound->arg, bound->narg, in, bound->nin, ret);
}

/* The op of that name whose arguments fit: the one that the name says, else one of its overloads
 * (add(%x, 2) is add.Scalar). What is told when none fits is why the first did not. */
static mw_status call_op(ir_parser *p, const char *word, const char *at, const ir_args *args,
                         mw_node **ret)
{
    const mw_op *op;
    MW_TRY(ir_failed_at(p, at, mw__op_named(word, strlen(word), &op)));
    mw_status status = build_op(p, op, args, ret);
    if (status != MW_ERR_ARG) return ir_failed_at(p, at, status);
    mw_error first = *mw_last_error();
    const mw_op_info *info = mw__op_info_of(op);
    for (int i = 0; i < MW_OP_COUNT && status == MW_ERR_ARG; i++) {
        const mw_op *other = mw__op_at((mw_op_id)i);
        const mw_op_info *o = mw__op_info_of(other);
        if (other == op || !o || strcmp(o->schema.name, info->schema.name) != 0) continue;
        status = build_op(p, other, args, ret);
    }
    if (status == MW_OK) return MW_OK;
    mw__ctx_get()->error = first;
    return ir_failed_at(p, at, first.code);
}

/* ---- marks and movements ----------------------------------------------------------------------
 */

static mw_status layout_of(ir_parser *p, const mw_ssa *x, mw_mesh *mesh, const char *text,
                           const char *at, mw_layout *ret)
{
    mw_ttype pretend = {.mesh = mesh, .layout = x->layout};
    mw_tensor like = {.type = &pretend};
    return ir_failed_at(p, at, mw__layout_for(mesh, &like, text, ret));
}

static mw_status known_ints(void *user, int tensor, mw_arena *arena, const int64_t **ret,
                            int *ret_count, const char **ret_text)
{
    const ir_args *args = user;
    MW_TRY(mw__fold_ints(args->tensor[tensor], arena, ret, ret_count));
    *ret_text = mw__arena_printf(arena, "[%%%s]", args->tensor[tensor]->name);
    return *ret_text ? MW_OK : MW_NOMEM();
}

/* With more than the tensor: by one of the declarations of mark_sharding. */
static mw_status declared_mark(ir_parser *p, const char *word, const ir_args *args, mw_ssa **x,
                               mw_mesh **mesh, mw_layout *ret)
{
    mw_mark_call mark;
    mw_meta *meta = mw__arena_alloc(&p->scratch, (size_t)(args->ntensor + 1) * sizeof *meta);
    ir_args *own = mw__arena_alloc(&p->scratch, sizeof *own);
    if (!meta || !own) return MW_NOMEM();
    *own = *args;
    for (int i = 0; i < args->ntensor; i++)
        meta[i] = mw__ssa_meta(args->tensor[i]);
    MW_TRY(mw__mark_read(word, args->given, args->n, meta, p->graph->mesh[0], known_ints, own,
                         &p->scratch, &mark));
    *x = args->tensor[mark.tensor];
    if (mark.text) return layout_of(p, *x, (*x)->mesh, mark.text, args->at[1], ret);
    int index;
    MW_TRY(mw__graph_add_mesh(p->graph, mark.mesh, NULL, &index));
    *mesh = p->graph->mesh[index];
    *ret = mark.layout;
    return MW_OK;
}

static mw_status call_mark(ir_parser *p, const char *word, const char *at, const ir_args *args,
                           mw_node **ret)
{
    if (args->n < 1 || args->given[0].value.kind != MW_ARG_TENSOR)
        return ir_fail(p, at, "mark_sharding marks a tensor: mark_sharding(%%x, \"[4@x, 3]\")");
    mw_ssa *x = args->tensor[0];
    mw_layout layout = x->layout;
    for (int d = 0; d < layout.ndim; d++) { /* a type that follows says more */
        int64_t size = mw_layout_size(&x->layout, d);
        layout.dim[d] = mw__dim_plain(size);
    }
    layout.npartial = 0;
    memset(layout.partial, 0, sizeof layout.partial);
    mw_mesh *mesh = x->mesh;
    if (args->n > 1 || strcmp(word, "mark_sharding") != 0)
        MW_TRY(ir_failed_at(p, at, declared_mark(p, word, args, &x, &mesh, &layout)));
    MW_TRY(mw__graph_mark(p->graph, NULL, x, mesh, &layout, ret));
    (*ret)->asked = true;
    return MW_OK;
}

static mw_status axes_named(ir_parser *p, const mw_mesh *mesh, const char *text, const char *at,
                            uint32_t *ret)
{
    *ret = 0;
    while (*text) {
        text += strspn(text, " ,\"'");
        int n = (int)strcspn(text, " ,\"'");
        if (!n) break;
        int axis = mw_mesh_axis_find(mesh, text, n);
        if (axis < 0) return ir_fail(p, at, "the mesh has no axis %.*s", n, text);
        *ret |= 1u << axis;
        text += n;
    }
    return MW_OK;
}

static bool step_named(const char *word, mw_step_kind *ret)
{
    for (int k = 0; k < MW_STEP_COUNT; k++)
        if (strcmp(mw__step_name((mw_step_kind)k), word) == 0) {
            *ret = (mw_step_kind)k;
            return true;
        }
    *ret = MW_STEP_COUNT;
    return strcmp(word, "redistribute") == 0;
}

static const mw_given *given_named(const ir_args *args, const char *name)
{
    for (int i = 0; i < args->n; i++)
        if (args->given[i].name && strcmp(args->given[i].name, name) == 0) return &args->given[i];
    return NULL;
}

static mw_status call_step(ir_parser *p, mw_step_kind kind, const char *at, const ir_args *args,
                           mw_node **ret)
{
    if (args->n < 1 || args->given[0].value.kind != MW_ARG_TENSOR)
        return ir_fail(p, at, "a movement has a tensor as its first argument");
    mw_ssa *x = args->tensor[0];
    mw_layout to = x->layout; /* the type that must follow says where to */
    if (args->n > 1 && !args->given[1].name && args->given[1].value.kind == MW_ARG_STR)
        MW_TRY(layout_of(p, x, x->mesh, args->given[1].value.s, args->at[1], &to));
    MW_TRY(mw__graph_step(p->graph, NULL, x, x->mesh, &to, kind, ret));
    const mw_given *axes = given_named(args, "axes"), *dim = given_named(args, "dim"),
                   *to_dim = given_named(args, "to_dim");
    if (axes) MW_TRY(axes_named(p, x->mesh, axes->value.s, at, &(*ret)->axes));
    if (dim) (*ret)->dim = (int)dim->value.i;
    if (to_dim) (*ret)->to_dim = (int)to_dim->value.i;
    return MW_OK;
}

/* ---- expressions ------------------------------------------------------------------------------
 */

static mw_status call(ir_parser *p, const char *word, const char *at, ir_args *args, mw_ssa **ret,
                      int cap, int *ret_n)
{
    mw_node *node;
    mw_step_kind kind;
    if (mw__mark_named(word))
        MW_TRY(call_mark(p, word, at, args, &node));
    else if (step_named(word, &kind) && (kind == MW_STEP_COUNT || given_named(args, "axes")))
        MW_TRY(call_step(p, kind, at, args, &node));
    else
        MW_TRY(call_op(p, word, at, args, &node));
    if (node->nout > cap)
        return ir_fail(p, at, "%s gives %d results, where %d can stand", word, node->nout, cap);
    for (int i = 0; i < node->nout; i++)
        ret[i] = node->out[i];
    *ret_n = node->nout;
    return MW_OK;
}

/* `%name`: the longest that is defined, since names may hold points and methods follow one. */
static mw_status read_name(ir_parser *p, mw_ssa **ret)
{
    char name[IR_NAME];
    const char *at = p->at++;
    if (!ir_word(p, ".", name)) return ir_fail(p, at, "expected a name after '%%'");
    char *end = name + strlen(name);
    while (!(*ret = ir_lookup(p, name))) {
        char *point = strrchr(name, '.');
        if (!point) return ir_fail(p, at, "%%%s is used before it is defined", name);
        p->at -= end - point;
        *point = 0;
        end = point;
    }
    return MW_OK;
}

static mw_status read_primary(ir_parser *p, mw_ssa **ret, int cap, int *ret_n)
{
    char word[IR_NAME];
    const char *at = (ir_space(p), p->at);
    *ret_n = 1;
    if (*at == '%') return read_name(p, ret);
    if (*at == '[') return ir_literal(p, ret);
    if (!ir_word(p, ".:", word)) return ir_fail(p, at, "expected an expression");
    if (strcmp(word, "tensor") == 0 || strcmp(word, "randn") == 0 || strcmp(word, "rand") == 0)
        return ir_const(p, word, ret);
    if (!ir_sees(p, "(")) return ir_fail(p, p->at, "expected '(' after %s", word);
    ir_args *args = mw__arena_zalloc(&p->scratch, sizeof *args);
    if (!args) return MW_NOMEM();
    MW_TRY(read_args(p, args));
    return call(p, word, at, args, ret, cap, ret_n);
}

static mw_status read_method(ir_parser *p, mw_ssa *self, mw_ssa **ret, int cap, int *ret_n)
{
    char word[IR_NAME];
    const char *at = p->at;
    if (!ir_word(p, ":", word)) return ir_fail(p, at, "expected a method after '.'");
    ir_args *args = mw__arena_zalloc(&p->scratch, sizeof *args);
    if (!args) return MW_NOMEM();
    args->n = args->ntensor = 1;
    args->given[0].value = (mw_arg){.kind = MW_ARG_TENSOR, .count = 1};
    args->at[0] = at;
    args->tensor[0] = self;
    MW_TRY(read_args(p, args));
    return call(p, word, at, args, ret, cap, ret_n);
}

mw_status ir_expr(ir_parser *p, mw_ssa **ret, int cap, int *ret_n)
{
    if (p->depth == IR_DEPTH) return ir_fail(p, p->at, "nested deeper than %d", IR_DEPTH);
    p->depth++;
    mw_status status = read_primary(p, ret, cap, ret_n);
    while (status == MW_OK && *ret_n == 1 && *p->at == '.') {
        p->at++;
        status = read_method(p, ret[0], ret, cap, ret_n);
    }
    p->depth--;
    return status;
}
