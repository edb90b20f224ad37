/* What the call of a functional collective says: tensors, group, its size, how it reduces. */
#include "log/compile.h"

static const mw_py *value_of(const mw_py *arg)
{
    const mw_py *mark = arg->kind == MW_PY_SEQ && arg->first ? arg->first->next : NULL;
    return mw__py_mark(mark, '=') && mark->next ? mark->next : arg; /* `size = 2` */
}

static void copy_word(const mw_py *v, char *to, size_t size)
{
    const char *at = v->kind == MW_PY_STR ? v->name : v->at;
    size_t n = (size_t)(v->kind == MW_PY_STR ? v->name_length : v->length);
    if (n >= size) n = size - 1;
    memcpy(to, at, n);
    to[n] = 0;
}

static void read_splits(cp_here *h, cp_call *c, const mw_py *v, int64_t line)
{
    int64_t part[256];
    int n = mw__py_ints(v, part, MW_COUNT(part));
    if (n < 1) return;
    for (int i = 1; i < n; i++)
        c->uneven |= part[i] != part[0];
    if (c->size) return;
    c->size = n;
    c->size_how = MW_HOW_DERIVED;
    c->size_from = mw__explain_text(h->e, "one part for each rank in line %lld", (long long)line);
}

static void read_arg(cp_here *h, cp_call *c, const char *role, size_t n, const mw_py *v,
                     int64_t line)
{
    if (n == 2 && memcmp(role, "in", 2) == 0) {
        c->nin = v->kind == MW_PY_LIST || v->kind == MW_PY_TUPLE ? v->count : 1;
    } else if (n == 2) { /* op */
        copy_word(v, c->reduce, sizeof c->reduce);
    } else if (n == 4 && v->kind == MW_PY_INT && v->i > 0 && v->i <= INT32_MAX) { /* size */
        c->size = v->i;
        c->size_how = MW_HOW_STATED;
        c->size_from = mw__cp_from(h, line);
    } else if (n == 5 && memcmp(role, "group", 5) == 0) {
        copy_word(v, c->group, sizeof c->group);
    } else if (n == 10 || n == 9) { /* out_splits, in_splits */
        read_splits(h, c, v, line);
    }
}

/* `tag, ranks, size`, last. */
static void read_old(cp_here *h, cp_call *c, const mw_py *call, int64_t line)
{
    const mw_py *ranks = call->count >= 3 ? mw__py_child(call, call->count - 2) : NULL;
    const mw_py *size = ranks ? ranks->next : NULL;
    int64_t first[1];
    if (!size || size->kind != MW_PY_INT || ranks->kind != MW_PY_LIST || size->i < 1) return;
    c->size = size->i;
    c->size_how = MW_HOW_STATED;
    c->size_from = mw__cp_from(h, line);
    (void)mw__py_ints(ranks, first, 1);
    c->group[0] = 0;
    if (ranks->length < (int64_t)sizeof c->group) copy_word(ranks, c->group, sizeof c->group);
}

void mw__cp_read_call(cp_here *h, int node)
{
    cp_node *n = &h->g->node[node];
    mw_collective kind;
    const char *args;
    bool old;
    if (!n->callee_length || !mw__cp_call_of(n->callee, n->callee_length, &kind, &args, &old))
        return;
    n->kind = kind == MW_COLLECTIVE_NONE ? CP_WAIT : CP_MOVE;
    if (n->kind == CP_WAIT) return;
    cp_call *c = mw__arena_zalloc(&h->g->arena, sizeof *c);
    mw_py *py = NULL;
    if (!c || mw__cp_failed(
                  h, mw__py_read(n->rhs, n->rhs + n->rhs_length, mw__explain_scratch(h->e), &py))) {
        h->e->failed = h->e->failed || !c;
        return;
    }
    n->call = c;
    *c = (cp_call){.name = n->callee,
                   .name_length = n->callee_length,
                   .kind = kind,
                   .nin = 1,
                   .in_bytes = -1,
                   .out_bytes = -1};
    const char *op = c->name, *end = op + c->name_length;
    if (end - op > 10 && strncmp(op, "torch.ops.", 10) == 0) c->name += 10, c->name_length -= 10;
    if (c->name_length > 8 && strncmp(end - 8, ".default", 8) == 0) c->name_length -= 8;
    c->here = c->name[c->name_length - 1] == '_';
    if (py->kind != MW_PY_CALL) return; /* cut */
    const mw_py *arg = py->first;
    for (const char *role = args; arg && *role; arg = arg->next) {
        size_t length = strcspn(role, " ");
        if (old && (length == 4 || (length == 5 && role[0] == 'g'))) break;
        read_arg(h, c, role, length, value_of(arg), n->line);
        role += length + (role[length] == ' ');
    }
    if (old) read_old(h, c, py, n->line);
    if (c->size && c->group[0]) mw__cp_group_learn(h, c->group, c->size, n->line);
}
