/* Calls in a program's text: ops by any of their names, marks, movements. */
#include "graph/ir_parse.h"
#include "run/mark_call.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- ops --------------------------------------------------------------------------------------
 */

/* The argument behind the ith takes ints itself: what stands there is its own. */
static bool ints_follow(const mw_schema *schema, int i)
{
    if (i + 1 >= schema->narg || schema->arg[i + 1].kwarg_only) return false;
    mw_type type = schema->arg[i + 1].type;
    return type.base == MW_TYPE_INT || type.base == MW_TYPE_SYMINT;
}

/* torch takes x.view(3, 4) for x.view([3, 4]): ints one by one where a list of ints is wanted. */
static mw_status gather_ints(ir_parser *p, const mw_schema *schema, ir_args *args)
{
    for (int i = 0; i < args->n && !args->given[i].name; i++) {
        if (i >= schema->narg || args->given[i].value.kind != MW_ARG_INT) continue;
        const mw_type *type = &schema->arg[i].type;
        if (!type->list || (type->base != MW_TYPE_INT && type->base != MW_TYPE_SYMINT)) continue;
        int n = 1;
        while (!ints_follow(schema, i) && i + n < args->n && !args->given[i + n].name &&
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
        if (n > 1) return MW_OK;
    }
    return MW_OK;
}

/* What stands where a tensor is wanted becomes one: a list of ints, and with `numbers` a number. */
static mw_status values_as_data(ir_parser *p, const mw_schema *schema, ir_args *args, bool numbers)
{
    for (int i = 0; i < args->n; i++) {
        mw_arg *value = &args->given[i].value;
        const char *name = args->given[i].name;
        int at = name ? mw__schema_find(schema, name, strlen(name)) : i;
        bool number = numbers && (value->kind == MW_ARG_INT || value->kind == MW_ARG_FLOAT ||
                                  value->kind == MW_ARG_BOOL);
        if ((value->kind != MW_ARG_INTS && !number) || at < 0 || at >= schema->narg) continue;
        if (schema->arg[at].type.base != MW_TYPE_TENSOR || schema->arg[at].type.list) continue;
        mw_meta meta = {MW_DTYPE_i64, 1, {value->count}};
        const void *data = value->ints;
        float real = (float)value->f;
        bool truth = value->i != 0;
        if (number) {
            meta = (mw_meta){value->kind == MW_ARG_INT    ? MW_DTYPE_i64
                             : value->kind == MW_ARG_BOOL ? MW_DTYPE_bool
                                                          : MW_DTYPE_f32,
                             0,
                             {0}};
            data = value->kind == MW_ARG_INT    ? (const void *)&value->i
                   : value->kind == MW_ARG_BOOL ? (const void *)&truth
                                                : (const void *)&real;
        }
        mw_node *node;
        if (!p->graph->nmesh) return ir_fail(p, args->at[i], "data before any mesh");
        MW_TRY(mw__graph_const(p->graph, NULL, p->graph->mesh[0], &meta, MW_FILL_DATA, 0, data,
                               NULL, &node));
        *value = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
        MW_TRY(ir_add_tensor(p, args, node->out[0]));
    }
    return MW_OK;
}

/* Tensors one by one where a list of them is wanted, einsum("ij,jk->ik", %a, %b). */
static void gather_tensors(const mw_schema *schema, ir_args *args)
{
    for (int i = 0; i < args->n && i < schema->narg && !args->given[i].name; i++) {
        const mw_type *type = &schema->arg[i].type;
        mw_arg *first = &args->given[i].value;
        if (type->base != MW_TYPE_TENSOR || !type->list || first->kind != MW_ARG_TENSOR) continue;
        int n = 1;
        while (i + n < args->n && !args->given[i + n].name &&
               args->given[i + n].value.kind == MW_ARG_TENSOR &&
               args->given[i + n].value.first == first->first + n)
            n++;
        *first = (mw_arg){.kind = MW_ARG_TENSORS, .first = first->first, .count = n};
        args->n -= n - 1;
        memmove(&args->given[i + 1], &args->given[i + n],
                (size_t)(args->n - i - 1) * sizeof args->given[0]);
        return;
    }
}

/* Other names of arguments, where the op has none of that name. */
static void known_names(const mw_schema *schema, ir_args *args)
{
    static const char *const other[][2] = {
        {"axis", "dim"},
        {"input", "self"},
        {"x", "self"},
        {"keepdims", "keepdim"},
        {"p", "ord"},
        {"ord", "p"},
        {"index", "indices"},
        {"mat1", "self"},
        {"tensor", "self"},
        {"src", "source"},
        {"unbiased", "correction"},
    };
    for (int i = 0; i < args->n; i++) {
        const char *name = args->given[i].name;
        if (!name || mw__schema_find(schema, name, strlen(name)) >= 0) continue;
        for (int k = 0; k < MW_COUNT(other); k++)
            if (strcmp(name, other[k][0]) == 0 &&
                mw__schema_find(schema, other[k][1], strlen(other[k][1])) >= 0)
                args->given[i].name = other[k][1];
    }
}

/* How a loss is reduced is a number in ATen and a word in torch. */
static void known_reduction(const mw_schema *schema, ir_args *args)
{
    static const char *const words[] = {"none", "mean", "sum"};
    int at = mw__schema_find(schema, "reduction", 9);
    for (int i = 0; i < args->n && at >= 0; i++) {
        mw_given *g = &args->given[i];
        bool here = g->name ? strcmp(g->name, "reduction") == 0 : i == at;
        for (int k = 0; here && g->value.kind == MW_ARG_STR && k < MW_COUNT(words); k++)
            if (strcmp(g->value.s, words[k]) == 0) g->value = (mw_arg){.kind = MW_ARG_INT, .i = k};
    }
}

static mw_status build_op(ir_parser *p, const mw_op *op, const ir_args *given, bool numbers,
                          mw_node **ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(op, &info));
    ir_args *args = mw__arena_alloc(&p->scratch, sizeof *args);
    mw_meta *meta = mw__arena_alloc(&p->scratch, 4 * IR_ARGS * sizeof *meta);
    mw_bound *bound = mw__arena_zalloc(&p->scratch, sizeof *bound);
    if (!args || !meta || !bound) return MW_NOMEM();
    *args = *given;
    known_names(&info->schema, args);
    known_reduction(&info->schema, args);
    MW_TRY(gather_ints(p, &info->schema, args));
    gather_tensors(&info->schema, args);
    MW_TRY(values_as_data(p, &info->schema, args, numbers));
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
static mw_status call_named(ir_parser *p, const char *word, const char *at, const ir_args *args,
                            mw_node **ret)
{
    const mw_op *op;
    MW_TRY(ir_failed_at(p, at, mw__op_named(word, strlen(word), &op)));
    mw_status status = build_op(p, op, args, false, ret);
    if (status != MW_ERR_ARG) return ir_failed_at(p, at, status);
    mw_error first = *mw_last_error();
    const mw_op_info *info = mw__op_info_of(op);
    for (int i = 0; i < 2 * MW_OP_COUNT && status == MW_ERR_ARG; i++) {
        const mw_op *other = mw__op_at((mw_op_id)(i % MW_OP_COUNT));
        const mw_op_info *o = mw__op_info_of(other);
        bool numbers = i >= MW_OP_COUNT; /* in the end, a number may stand for a tensor */
        if (!o || strcmp(o->schema.name, info->schema.name) != 0) continue;
        if (other == op && !numbers) continue;
        status = build_op(p, other, args, numbers, ret);
    }
    if (status == MW_ERR_ARG) { /* none takes them */
        mw__ctx_get()->error = first;
        status = first.code;
    }
    return ir_failed_at(p, at, status);
}

/* torch.nn.functional's embedding has the ids first. */
static void functional_order(const char *word, const char *plain, ir_args *args)
{
    bool functional = strcmp(plain, "embedding") == 0 && word != plain &&
                      (strncmp(word, "F.", 2) == 0 || strstr(word, "functional.")) && args->n > 1;
    if (!functional || args->given[0].name || args->given[1].name) return;
    mw_given first = args->given[0];
    args->given[0] = args->given[1];
    args->given[1] = first;
}

/* By the word itself, else by what else it may be called. */
static mw_status call_op(ir_parser *p, const char *word, const char *at, const ir_args *args,
                         mw_node **ret)
{
    const char *plain = ir_plain_word(word);
    ir_args *own = mw__arena_alloc(&p->scratch, sizeof *own);
    if (!own) return MW_NOMEM();
    *own = *args;
    functional_order(word, plain, own);
    mw_status status = call_named(p, plain, at, own, ret);
    if (status != MW_ERR_ARG) return status;
    mw_error first = *mw_last_error();
    for (int nth = 0; status == MW_ERR_ARG; nth++) {
        *own = *args;
        const char *other = ir_other_word(word, nth, own);
        if (!other) break;
        status = call_named(p, other, at, own, ret);
    }
    if (status == MW_ERR_ARG) mw__ctx_get()->error = first;
    return status;
}

/* ---- marks and movements ----------------------------------------------------------------------
 */

/* Dims that are counted from the end, as DTensor's Shard(-1), from the front. */
static const char *dims_from_front(ir_parser *p, const char *text, int ndim)
{
    size_t room = 2 * strlen(text) + 1, n = 0;
    char *to = mw__arena_alloc(&p->scratch, room);
    if (!to) return NULL;
    for (const char *c = text; *c && n + 4 < room;) {
        bool behind = c > text && (c[-1] == '(' || c[-1] == '=');
        long dim = behind && *c == '-' && c[1] >= '1' && c[1] <= '9' ? strtol(c, NULL, 10) : 0;
        if (dim >= 0 || dim < -ndim) {
            to[n++] = *c++;
            continue;
        }
        n += (size_t)snprintf(to + n, room - n, "%ld", ndim + dim);
        c += 1 + strspn(c + 1, "0123456789");
    }
    to[n] = 0;
    return to;
}

static mw_status layout_of(ir_parser *p, const mw_ssa *x, mw_mesh *mesh, const char *text,
                           const char *at, mw_layout *ret)
{
    mw_ttype pretend = {.mesh = mesh, .layout = x->layout};
    mw_tensor like = {.type = &pretend};
    bool dtensor = strstr(text, "S(-") || strstr(text, "hard(-") || strstr(text, "dim=-");
    if (dtensor) text = dims_from_front(p, text, x->layout.ndim);
    if (!text) return MW_NOMEM();
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

static void drop_arg(ir_args *args, int i)
{
    args->n--;
    memmove(&args->given[i], &args->given[i + 1], (size_t)(args->n - i) * sizeof args->given[0]);
    memmove(&args->at[i], &args->at[i + 1], (size_t)(args->n - i) * sizeof args->at[0]);
}

/* A mesh among the arguments, `@m`, is taken from them. */
static mw_status take_mesh(ir_parser *p, ir_args *args, mw_mesh **ret)
{
    for (int i = 1; i < args->n; i++) {
        const mw_arg *value = &args->given[i].value;
        if (value->kind != MW_ARG_SYMBOL || value->s[0] != '@') continue;
        const char *name = value->s + 1;
        int m = 0;
        while (m < p->graph->nmesh && strcmp(p->graph->mesh_name[m], name) != 0)
            m++;
        if (m == p->graph->nmesh) return ir_fail(p, args->at[i], "no mesh @%s", name);
        *ret = p->graph->mesh[m];
        drop_arg(args, i);
        return MW_OK;
    }
    return MW_OK;
}

/* (0, 1) is a partition spec. */
static mw_status ints_as_text(ir_parser *p, mw_arg *value)
{
    char text[256] = "(";
    size_t n = 1;
    for (int i = 0; i < value->count && n < sizeof text - 24; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%lld, ", (long long)value->ints[i]);
    text[n++] = ')';
    *value = (mw_arg){.kind = MW_ARG_STR, .s = mw__arena_strndup(&p->scratch, text, n)};
    return value->s ? MW_OK : MW_NOMEM();
}

/* A tensor and a text that says where, and on which mesh, whatever they are called. */
static mw_status tidy_places(ir_parser *p, ir_args *args, mw_mesh **mesh)
{
    MW_TRY(take_mesh(p, args, mesh));
    if (args->n != 2) return MW_OK;
    mw_given *where = &args->given[1];
    static const char *const names[] = {"placements", "partition_spec", "spec", "sharding"};
    for (int i = 0; where->name && i < MW_COUNT(names); i++)
        if (strcmp(where->name, names[i]) == 0) where->name = NULL;
    return where->value.kind == MW_ARG_INTS && !where->name ? ints_as_text(p, &where->value)
                                                            : MW_OK;
}

static mw_status call_mark(ir_parser *p, const char *word, const char *at, ir_args *args,
                           mw_node **ret)
{
    if (args->n < 1 || args->given[0].value.kind != MW_ARG_TENSOR)
        return ir_fail(p, at, "%s marks a tensor: %s(%%x, \"[4@x, 3]\")", word, word);
    mw_ssa *x = args->tensor[0];
    mw_mesh *mesh = x->mesh;
    MW_TRY(tidy_places(p, args, &mesh));
    mw_layout layout = x->layout;
    for (int d = 0; d < layout.ndim; d++) { /* a type that follows says more */
        int64_t size = mw_layout_size(&x->layout, d);
        layout.dim[d] = mw__dim_plain(size);
    }
    layout.npartial = 0;
    memset(layout.partial, 0, sizeof layout.partial);
    if (args->n == 2 && !args->given[1].name && args->given[1].value.kind == MW_ARG_STR)
        MW_TRY(layout_of(p, x, mesh, args->given[1].value.s, args->at[1], &layout));
    else if (args->n > 1 || strcmp(word, "mark_sharding") != 0)
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

static mw_status call_step(ir_parser *p, mw_step_kind kind, const char *at, ir_args *args,
                           mw_node **ret)
{
    if (args->n < 1 || args->given[0].value.kind != MW_ARG_TENSOR)
        return ir_fail(p, at, "a movement has a tensor as its first argument");
    mw_ssa *x = args->tensor[0];
    mw_mesh *mesh = x->mesh;
    MW_TRY(tidy_places(p, args, &mesh));
    mw_layout to = x->layout; /* the type that must follow says where to */
    bool says = args->n > 1 && !args->given[1].name && args->given[1].value.kind == MW_ARG_STR;
    if (says) MW_TRY(layout_of(p, x, mesh, args->given[1].value.s, args->at[1], &to));
    MW_TRY(mw__graph_step(p->graph, NULL, x, mesh, &to, kind, ret));
    (*ret)->asked = true; /* by who wrote it; a remark may say otherwise */
    (*ret)->out[0]->stated = says;
    const mw_given *axes = given_named(args, "axes"), *dim = given_named(args, "dim"),
                   *to_dim = given_named(args, "to_dim");
    if (axes) MW_TRY(axes_named(p, x->mesh, axes->value.s, at, &(*ret)->axes));
    if (dim) (*ret)->dim = (int)dim->value.i;
    if (to_dim) (*ret)->to_dim = (int)to_dim->value.i;
    return MW_OK;
}

/* full_tensor() brings the whole to every rank. */
static mw_status call_full(ir_parser *p, const char *at, ir_args *args, mw_node **ret)
{
    if (args->n != 1 || args->given[0].value.kind != MW_ARG_TENSOR)
        return ir_fail(p, at, "full_tensor takes a tensor");
    args->given[args->n] = (mw_given){NULL, {.kind = MW_ARG_STR, .s = "replicated"}};
    args->at[args->n++] = at;
    return call_step(p, MW_STEP_COUNT, at, args, ret);
}

/* ---- expressions ------------------------------------------------------------------------------
 */

static bool is_mark(const char *word)
{
    return strcmp(word, "distribute_tensor") == 0 ||
           strcmp(word, "with_sharding_constraint") == 0 || mw__mark_named(word);
}

bool ir_call_places(const char *word)
{
    return strcmp(word, "redistribute") == 0 || is_mark(ir_plain_word(word));
}

/* Steps have names that ops have too (slice): there axes say which is meant. */
static bool op_named(const char *word, const ir_args *args)
{
    return !given_named(args, "axes") && mw__op_find(word, strlen(word));
}

mw_status ir_call(ir_parser *p, const char *word, const char *at, ir_args *args, mw_ssa **ret,
                  int cap, int *ret_n)
{
    mw_node *node;
    mw_step_kind kind;
    if (is_mark(ir_plain_word(word)))
        MW_TRY(call_mark(p, ir_plain_word(word), at, args, &node));
    else if (step_named(word, &kind) && !op_named(word, args))
        MW_TRY(call_step(p, given_named(args, "axes") ? kind : MW_STEP_COUNT, at, args, &node));
    else if (strcmp(word, "full_tensor") == 0)
        MW_TRY(call_full(p, at, args, &node));
    else
        MW_TRY(call_op(p, word, at, args, &node));
    if (node->nout > cap)
        return ir_fail(p, at, "%s gives %d results, where %d can stand", word, node->nout, cap);
    for (int i = 0; i < node->nout; i++)
        ret[i] = node->out[i];
    *ret_n = node->nout;
    return MW_OK;
}

mw_status ir_call_with(ir_parser *p, const char *word, const char *at, const ir_operand *x, int n,
                       mw_ssa **ret)
{
    int nout;
    ir_args *args = mw__arena_zalloc(&p->scratch, sizeof *args);
    if (!args) return MW_NOMEM();
    for (int i = 0; i < n; i++) {
        args->given[i].value = x[i].arg;
        args->at[i] = at;
        if (x[i].number) continue;
        args->given[i].value = (mw_arg){.kind = MW_ARG_TENSOR, .first = args->ntensor, .count = 1};
        args->tensor[args->ntensor++] = x[i].value;
    }
    args->n = n;
    return ir_call(p, word, at, args, ret, 1, &nout);
}
