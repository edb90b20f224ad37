/* JAX's messages: which it is, what it says in numbers and names, and what would work instead. */
#include "log/explain.h"
#include "log/jax.h"

#include <stdlib.h>

typedef enum ask {
    NOTHING,
    CONTRACTING, /* lhs_contracting_spec=(...) and rhs_... */
    SPECS,       /* tuples or P(...) in the message, one per operand */
    INPUTS,      /* `OP operation with inputs: T, T produces ...: T` */
    RESHAPE,
    ALONG,    /* a value and the dim that must be whole */
    OPERANDS, /* values as they stand */
    CHANGE,   /* from one spec to another */
    UNREDUCED,
    OP,
    RANK,
    DIVISIBLE,
    SPEC,
    AXIS,
    DEVICES
} ask;

static const struct message {
    const char *kind, *phrase;
    ask ask;
    const char *means, *fix;
} messages[] = {
#define ERROR(kind, phrase, ask, means, fix) {kind, phrase, ask, means, fix},
#include "log/jax_errors.def"
#undef ERROR
};

typedef struct error {
    const jx_here *h;
    mw_draft *d;
    const struct message *m;
    const char *at; /* of the phrase */
    jx_case c;
    jx_value value[JX_VALUES];
} error;

/* ---- operands ----------------------------------------------------------------------------------
 */

static void add_values(error *x, const char *text, bool plain)
{
    const char *at = text;
    while (x->c.n < JX_VALUES && mw__jx_next(x->h, &at, plain, &x->value[x->c.n]))
        x->c.n++;
}

/* Specs without a sharding around them: `('r', None), ('c', None)`, `P('r'), P('c')`. */
static void add_specs(error *x, const char *text)
{
    for (const char *at = text; *at && x->c.n < JX_VALUES;) {
        bool call = at == mw__jx_word(at, "P(") || at == mw__jx_word(at, "PartitionSpec(");
        bool tuple = *at == '(' && (at == text || !mw__spmd_word_char(at[-1]));
        mw_py *node = call || tuple ? mw__jx_py(x->h, at) : NULL;
        jx_value *v = &x->value[x->c.n];
        *v = (jx_value){.ndim = -1, .line = x->h->first};
        if (node && mw__jx_spec(x->h, node, v)) {
            x->c.n++;
            at = node->at + node->length;
        } else {
            at++;
        }
    }
}

static void tell_operands(error *x, int n)
{
    char name[24] = "operand 0";
    for (int i = 0; i < MW_MIN(n, x->c.n); i++) {
        name[8] = (char)('0' + i);
        mw__jx_tell(x->h, x->d, name, &x->value[i]);
    }
}

/* The word before a phrase: `add got incompatible ...`. */
static const char *word_before(const error *x, const char *phrase)
{
    const char *at = strstr(x->h->text, phrase);
    while (at && at > x->h->text && at[-1] == ' ')
        at--;
    const char *end = at;
    while (at && at > x->h->text && (mw__spmd_word_char(at[-1]) || at[-1] == '-'))
        at--;
    return at ? mw__jx_keep(x->h, at, end - at) : "";
}

static void tell_op(error *x, const char *op)
{
    x->c.op = op;
    if (*op) mw__fact(x->d, "op", MW_HOW_STATED, x->h->from, "%s", op);
}

/* ---- what is asked of each ---------------------------------------------------------------------
 */

static void ask_contracting(error *x)
{
    const char *lhs = strstr(x->h->text, "lhs_contracting_spec="),
               *rhs = strstr(x->h->text, "rhs_contracting_spec=");
    if (!lhs || !rhs) return;
    lhs += 21, rhs += 21;
    mw__fact(x->d, "lhs contracting spec", MW_HOW_STATED, x->h->from, "%s",
             mw__jx_keep(x->h, lhs, (int64_t)strcspn(lhs, ")") + 1));
    mw__fact(x->d, "rhs contracting spec", MW_HOW_STATED, x->h->from, "%s",
             mw__jx_keep(x->h, rhs, (int64_t)strcspn(rhs, ")") + 1));
    mw__jx_contracting(&x->c, lhs, rhs);
    mw__missing(x->h->e,
                "the operands of the product in line %lld: the message prints their specs only, "
                "no shapes or dtypes; jax.typeof(x) would",
                (long long)x->h->first);
}

/* Of a dot_general the tuples are those of some dims only. */
static void tell_dims(error *x)
{
    for (int i = 0; i < MW_MIN(x->c.n, 2); i++)
        mw__fact(x->d, i ? "rhs: spec of these dims" : "lhs: spec of these dims", MW_HOW_STATED,
                 x->h->from, "%s", x->value[i].spec);
}

static void ask_specs(error *x)
{
    bool dot = strstr(x->h->text, "dot_general") != NULL;
    tell_op(x, dot ? "dot_general" : word_before(x, "got incompatible"));
    add_specs(x, x->at);
    if (dot) {
        tell_dims(x);
    } else {
        tell_operands(x, 4);
        mw__jx_conflict(&x->c);
    }
    mw__missing(x->h->e,
                "shapes and dtypes of the operands in line %lld: the message prints specs only",
                (long long)x->h->first);
}

static void ask_inputs(error *x)
{
    tell_op(x, word_before(x, "operation with inputs"));
    add_values(x, x->h->text, true);
    if (x->c.n > 1) {
        int last = x->c.n - 1;
        mw__fact(x->d, "the result would be", MW_HOW_STATED, x->h->from, "%s",
                 x->value[last].spec ? x->value[last].spec : "");
        x->c.n = last;
    }
    tell_operands(x, 4);
    mw__jx_conflict(&x->c);
}

static void ask_reshape(error *x)
{
    const char *sizes = strstr(x->h->text, "new sizes: ");
    int64_t shape[MW_LAYOUT_DIMS];
    add_values(x, x->h->text, true);
    tell_operands(x, 1);
    mw_py *node = sizes ? mw__jx_py(x->h, sizes + 11) : NULL;
    int n = mw__py_ints(node, shape, MW_LAYOUT_DIMS);
    if (n < 1) return;
    mw_str text = {0};
    mw__hlo_str_shape(n, shape, &text);
    mw__fact(x->d, "new sizes", MW_HOW_STATED, x->h->from, "%s", mw__hlo_keep(x->h->e, &text));
    int64_t was = 1, now = 1;
    bool fits = x->c.n > 0 && x->value[0].ndim >= 0;
    for (int i = 0; fits && i < x->value[0].ndim; i++)
        fits = mw__mul_size(was, x->value[0].shape[i], &was) == MW_OK;
    for (int i = 0; fits && i < n; i++)
        fits = shape[i] > 0 && mw__mul_size(now, shape[i], &now) == MW_OK;
    if (!fits) mw_error_clear();
    if (fits && was == now) mw__jx_reshape(&x->c, n, shape);
}

static void ask_along(error *x)
{
    int64_t dim;
    add_values(x, x->h->text, true);
    bool known = mw__spmd_int_after(x->h->text, "sorting dimension=", &dim) ||
                 mw__spmd_int_after(x->h->text, "and axis=", &dim);
    if (known && dim < MW_LAYOUT_DIMS) {
        mw__fact(x->d, "dim", MW_HOW_STATED, x->h->from, "%lld", (long long)dim);
        x->c.dim = (int)dim;
    }
    tell_operands(x, 1);
    mw__jx_whole_dim(&x->c);
}

static void ask_change(error *x)
{
    add_specs(x, x->at);
    if (x->c.n < 2) return;
    mw__fact(x->d, "the array has", MW_HOW_STATED, x->h->from, "%s", x->value[0].spec);
    mw__fact(x->d, "the constraint says", MW_HOW_STATED, x->h->from, "%s", x->value[1].spec);
    mw__jx_change(&x->c, &x->value[0], &x->value[1], "resharding would cost");
}

/* The operand that is unreduced: the last one printed before. */
static void ask_unreduced(error *x)
{
    const char *op = strstr(x->h->text, "unreduced rule for ");
    if (op) tell_op(x, mw__jx_keep(x->h, op + 19, (int64_t)strcspn(op + 19, " ")));
    const char *quoted = strchr(x->h->text, '`');
    if (!op && quoted) tell_op(x, mw__jx_keep(x->h, quoted + 1, (int64_t)strcspn(quoted + 1, "`")));
    const jx_state *s = x->h->s;
    for (int i = 0; i < MW_MIN(s->nkept, JX_KEPT) && !x->c.n; i++) {
        const jx_value *v = &s->kept[(s->nkept - 1 - i) % JX_KEPT];
        if (v->unreduced.n) x->value[x->c.n++] = *v;
    }
    const char *set = strstr(x->h->text, "frozenset({");
    if (!x->c.n && set) { /* its axes are all that is known */
        mw_str text = {0};
        mw__str_printf(&text, "P(None, unreduced=%.*s)", (int)MW_MIN(strcspn(set, ")") + 1, 300),
                       set);
        mw_py *node = mw__jx_py(x->h, mw__hlo_keep(x->h->e, &text));
        x->value[0] = (jx_value){.ndim = -1, .line = x->h->first};
        x->c.n = node && mw__jx_spec(x->h, node, &x->value[0]);
    }
    mw__jx_reduce(&x->c);
    if (!x->c.n)
        mw__missing(x->h->e,
                    "over which axes the operand in line %lld is unreduced, and its shape: "
                    "jax.typeof(x) prints both",
                    (long long)x->h->first);
}

static void ask_rank(error *x)
{
    int64_t least, rank;
    add_values(x, x->h->text, false);
    if (mw__spmd_int_after(x->at, "rank at least ", &least))
        mw__fact(x->d, "entries of the spec", MW_HOW_STATED, x->h->from, "%lld", (long long)least);
    if (mw__spmd_int_after(x->at, "value of rank ", &rank))
        mw__fact(x->d, "dims of the value", MW_HOW_STATED, x->h->from, "%lld", (long long)rank);
    tell_operands(x, 1);
}

/* ---- sizes that don't divide -------------------------------------------------------------------
 */

static void tell_axes_that_divide(error *x, int64_t size)
{
    spmd_mesh mesh;
    mw_mesh *made = mw__jx_mesh_of(x->h, x->c.n ? &x->value[0] : NULL, &mesh);
    mw_str text = {0};
    if (!made) return;
    for (int i = 0; i < mesh.naxis; i++)
        if (mesh.size[i] > 1 && size % mesh.size[i] == 0)
            mw__str_printf(&text, "%s%s (%lld)", text.length ? ", " : "",
                           mw_mesh_axis_name(made, i), (long long)mesh.size[i]);
    const char *axes = mw__hlo_keep(x->h->e, &text);
    mw__fact(x->d, "axes that divide it", MW_HOW_DERIVED, "the sizes of the mesh's axes", "%s",
             *axes ? axes : "none");
    mw_mesh_unref(made);
}

static void ask_divisible(error *x)
{
    const char *t = x->h->text;
    int64_t dim = -1, pieces = 0, size = 0, full[MW_LAYOUT_DIMS];
    (void)(mw__spmd_int_after(t, "size of its dimension ", &dim) ||
           mw__spmd_int_after(t, "array axis ", &dim));
    (void)(mw__spmd_int_after(t, "divisible by ", &pieces) ||
           mw__spmd_int_after(t, "is partitioned ", &pieces) ||
           mw__spmd_int_after(t, "' (of size ", &pieces));
    (void)(mw__spmd_int_after(t, "it is equal to ", &size) ||
           mw__spmd_int_after(t, "dimension size is ", &size) ||
           mw__spmd_int_after(t, "the dimension size ", &size) ||
           mw__spmd_int_after(t, "evenly divide ", &size));
    if (dim < 0 || pieces < 1 || size < 1) return;
    mw__fact(x->d, "dim", MW_HOW_STATED, x->h->from, "%lld", (long long)dim);
    mw__fact(x->d, "size", MW_HOW_STATED, x->h->from, "%lld", (long long)size);
    mw__fact(x->d, "pieces", MW_HOW_STATED, x->h->from, "%lld", (long long)pieces);
    add_values(x, t, false);
    const char *shape = strstr(t, "full shape: ");
    if (!shape) shape = strstr(t, "Got shape: ");
    mw_py *node = shape ? mw__jx_py(x->h, strchr(shape, '(')) : NULL;
    int n = mw__py_ints(node, full, MW_LAYOUT_DIMS);
    if (x->c.n && n > 0 && x->value[0].ndim < 0) {
        x->value[0].ndim = n;
        memcpy(x->value[0].shape, full, sizeof full);
    }
    if (size % pieces && size < INT64_C(1) << 50 && pieces < INT64_C(1) << 30) {
        int64_t each = size / pieces + 1;
        mw__fact(x->d, "padded", MW_HOW_DERIVED, "the next multiple",
                 "%lld: %lld more, %lld in each piece", (long long)(each * pieces),
                 (long long)(each * pieces - size), (long long)each);
    }
    tell_axes_that_divide(x, size);
    if (x->c.n) mw__jx_tell(x->h, x->d, "as XLA would pad it", &x->value[0]);
}

static void ask_spec(error *x)
{
    const char *twice = strstr(x->h->text, "duplicate entries for `");
    const char *spec = strstr(x->h->text, "but P");
    if (spec)
        mw__fact(
            x->d, "spec", MW_HOW_STATED, x->h->from, "%s",
            mw__jx_keep(x->h, spec + 4,
                        (int64_t)(strstr(spec, " has ") ? strstr(spec, " has ") - spec - 4 : 100)));
    if (twice)
        mw__fact(x->d, "axis", MW_HOW_STATED, x->h->from, "%s",
                 mw__jx_keep(x->h, twice + 23, (int64_t)strcspn(twice + 23, "`")));
}

static void ask_axis(error *x)
{
    const char *axis = strstr(x->h->text, "axis: "), *in = strstr(x->h->text, "in mesh: ");
    const char *names[MW_MESH_AXES] = {NULL};
    int n = 0;
    if (!axis) return;
    const char *name = mw__jx_keep(x->h, axis + 6, (int64_t)strcspn(axis + 6, " ,`"));
    mw__fact(x->d, "axis", MW_HOW_STATED, x->h->from, "%s", name);
    mw_py *node = in ? mw__jx_py(x->h, in + 9) : NULL;
    for (const mw_py *c = node ? node->first : NULL; c && n < MW_MESH_AXES; c = c->next)
        if (c->kind == MW_PY_STR) names[n++] = mw__jx_keep(x->h, c->name, c->name_length);
    if (!n) return;
    mw__fact(x->d, "axes of the mesh", MW_HOW_STATED, x->h->from, "%s",
             mw__jx_keep(x->h, node->at, node->length));
    const char *nearest = mw__nearest(name, names, n);
    if (nearest) mw__fact(x->d, "nearest axis", MW_HOW_DERIVED, "the mesh's names", "%s", nearest);
}

static void ask_devices(error *x)
{
    int64_t have, shape[MW_MESH_AXES], product = 1;
    const char *at = strstr(x->h->text, "mesh_shape (");
    if (mw__spmd_int_after(x->h->text, "Number of devices ", &have))
        mw__fact(x->d, "devices", MW_HOW_STATED, x->h->from, "%lld", (long long)have);
    mw_py *node = at ? mw__jx_py(x->h, at + 11) : NULL;
    int n = mw__py_ints(node, shape, MW_MESH_AXES);
    for (int i = 0; i < n; i++)
        if (mw__mul_size(product, shape[i], &product) != MW_OK) {
            mw_error_clear();
            return;
        }
    if (n > 0)
        mw__fact(x->d, "places of the mesh", MW_HOW_DERIVED, "the product of its numbers", "%lld",
                 (long long)product);
}

static void ask_op(error *x)
{
    const char *at = strstr(x->h->text, "sharding rule for ");
    if (at) tell_op(x, mw__jx_keep(x->h, at + 18, (int64_t)strcspn(at + 18, " ")));
    add_values(x, x->h->text, true);
    tell_operands(x, 4);
}

static void ask_operands(error *x)
{
    add_values(x, x->h->text, true);
    tell_operands(x, 4);
    if (strcmp(x->m->kind, "shardings-differ") != 0) return;
    for (int i = 1; i < x->c.n; i++)
        mw__jx_change(&x->c, &x->value[i], &x->value[0],
                      "resharding it to the first operand's sharding");
}

/* ---- the line ----------------------------------------------------------------------------------
 */

static void dispatch(error *x)
{
    static void (*const asks[])(error *) = {[CONTRACTING] = ask_contracting,
                                            [SPECS] = ask_specs,
                                            [INPUTS] = ask_inputs,
                                            [RESHAPE] = ask_reshape,
                                            [ALONG] = ask_along,
                                            [OPERANDS] = ask_operands,
                                            [CHANGE] = ask_change,
                                            [UNREDUCED] = ask_unreduced,
                                            [OP] = ask_op,
                                            [RANK] = ask_rank,
                                            [DIVISIBLE] = ask_divisible,
                                            [SPEC] = ask_spec,
                                            [AXIS] = ask_axis,
                                            [DEVICES] = ask_devices};
    if (x->m->ask == NOTHING) return;
    asks[x->m->ask](x);
    bool costs = x->m->ask <= UNREDUCED && x->m->ask != NOTHING;
    mw_mesh *mesh = costs ? mw__jx_mesh_of(x->h, x->c.n ? &x->value[0] : NULL, NULL) : NULL;
    if (costs && !mesh)
        mw__missing(x->h->e,
                    "the sizes of the mesh's axes, of which line %lld names some: costs need them; "
                    "--mesh x=2,y=4 would supply them",
                    (long long)x->h->first);
    mw_mesh_unref(mesh);
}

static const struct message *find_message(const char *text, const char **ret_at)
{
    for (int i = 0; i < MW_COUNT(messages); i++) {
        const char *at = strstr(text, messages[i].phrase);
        bool rule = messages[i].ask == OP; /* a phrase that many texts have */
        if (!at || (rule && !strstr(at, "is not implemented"))) continue;
        *ret_at = at;
        return &messages[i];
    }
    return NULL;
}

bool mw__jx_claims(const mw_line *line)
{
    const char *at;
    return find_message(line->text, &at) != NULL;
}

bool mw__jx_error_line(const jx_here *h)
{
    const char *at;
    const struct message *m = find_message(h->text, &at);
    if (!m) return false;
    uint64_t hash = mw__hash(8, h->text, strlen(h->text));
    if (mw__spmd_again(&h->s->told, hash, h->line)) return true;
    error x = {.h = h, .m = m, .at = at};
    x.d = mw__draft(h->e, h->line, "jax", "error");
    if (!x.d) return true;
    mw__draft_entry(x.d)->first = h->first;
    mw__spmd_tell_once(&h->s->told, hash, x.d);
    x.c = (jx_case){.h = h, .d = x.d, .op = "", .value = x.value, .dim = -1};
    mw__draft_weight(x.d, 80);
    mw__draft_says(x.d, "JAX refuses: %s.", x.m->means);
    mw__fact(x.d, "message", MW_HOW_STATED, h->from, "%s", mw__jx_keep(h, h->text, 700));
    dispatch(&x);
    mw__spmd_tell_frame(h->e, x.d, h->line);
    mw__problem(x.d, x.m->kind, -1, -1, x.m->fix, "%s", x.m->means);
    return true;
}
