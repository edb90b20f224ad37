/* Binding a printed call to its op's declaration, by the checker that meshwise's own boxed calls go
 * through, and laying its operands out. */
#include "log/dtensor_replay.h"

#include <stdio.h>

/* ---- binding
 * ------------------------------------------------------------------------------------------ */

static mw_dtype dtype_for(const dt_replay *r, int arg, const dt_tensor *t)
{
    if (t->dtype) return t->dtype;
    const char *name = mw__dt_arg_name(r->call, arg);
    if (name && (strcmp(name, "indices") == 0 || strcmp(name, "index") == 0)) return MW_DTYPE_i64;
    if (name && (strcmp(name, "mask") == 0 || strcmp(name, "condition") == 0)) return MW_DTYPE_bool;
    for (int i = 0; i < r->call->nout; i++)
        if (r->call->out[i].dtype && mw_dtype_kind_of(r->call->out[i].dtype) == MW_KIND_FLOAT)
            return r->call->out[i].dtype;
    return r->h->e->options.dtype ? r->h->e->options.dtype : MW_DTYPE_f32;
}

static bool add_tensors(dt_replay *r, int arg, dt_value *v)
{
    for (int k = 0; k < v->count; k++) {
        dt_tensor *t = &v->tensor[k];
        if (r->n == OPERANDS || !t->shaped || t->local) return false;
        r->tensor[r->n] = t;
        mw_meta *m = &r->meta[r->n++];
        *m = (mw_meta){.dtype = dtype_for(r, arg, t), .ndim = t->ndim};
        r->assumed_dtype = r->assumed_dtype || !t->dtype;
        memcpy(m->shape, t->shape, sizeof t->shape);
    }
    return true;
}

static bool given_of(dt_replay *r, int i, mw_given *to)
{
    dt_value *v = &r->call->arg[i];
    *to = (mw_given){.name = v->name};
    mw_arg *a = &to->value;
    switch (v->kind) {
    case DT_NONE:
        a->kind = MW_ARG_NONE;
        return true;
    case DT_TENSOR:
    case DT_TENSORS:
        a->kind = v->kind == DT_TENSOR ? MW_ARG_TENSOR : MW_ARG_TENSORS;
        a->first = r->n;
        a->count = v->count;
        return add_tensors(r, i, v);
    case DT_INT:
        a->kind = MW_ARG_INT;
        a->i = v->i;
        return true;
    case DT_INTS:
        a->kind = MW_ARG_INTS;
        a->ints = v->ints;
        a->count = v->count;
        return true;
    case DT_FLOAT:
        a->kind = MW_ARG_FLOAT;
        a->f = v->f;
        return true;
    case DT_BOOL:
        a->kind = MW_ARG_BOOL;
        a->i = v->i;
        return true;
    case DT_STR:
        a->kind = MW_ARG_STR;
        a->s = v->text;
        return true;
    case DT_OTHER:
    default:
        break;
    }
    a->kind = MW_ARG_DTYPE;
    a->i = mw_dtype_read(v->text, (int)strlen(v->text));
    return a->i != MW_DTYPE_NONE;
}

/* aten.add.Tensor(x, 1): ATen takes the number for a tensor of none; the op of a number has its
 * rule. */
static const mw_op *op_of(const dt_call *call)
{
    char name[80];
    const dt_value *other = call->narg > 1 ? &call->arg[1] : NULL;
    bool number = other && (other->kind == DT_INT || other->kind == DT_FLOAT);
    if (!call->op) return call->same_as;
    if (!number || !call->schema || call->schema->narg < 2 ||
        call->schema->arg[1].type.base != MW_TYPE_TENSOR)
        return call->op;
    (void)snprintf(name, sizeof name, "aten.%.60s.Scalar", call->word);
    const mw_op *twin = mw__op_find(name, strlen(name));
    return twin ? twin : call->op;
}

/* false: the call can't be replayed (nothing wrong with the text). */
bool mw__dt_replay_bind(dt_replay *r)
{
    const dt_here *h = r->h;
    mw_given given[DT_ARGS];
    const mw_op *op = op_of(r->call);
    const mw_op_info *info = op ? mw__op_info_of(op) : NULL;
    int narg = r->call->op ? r->call->narg : MW_MIN(r->call->narg, 3);
    if (!r->call->op && strcmp(r->call->word, "_to_copy") == 0) {
        narg = MW_MIN(narg, 1);
        r->assumed_dtype = true; /* of the result: that is what a cast changes */
    }
    if (!info) return false;
    for (int i = 0; i < narg; i++)
        if (!given_of(r, i, &given[i])) return false;
    if (mw__dt_failed(h, mw__args_bind(&info->schema, given, narg, r->meta, h->scratch, &r->bound)))
        return false;
    int nin = r->bound.nin;
    r->layout = mw__arena_zalloc(h->scratch, (size_t)nin * sizeof *r->layout);
    r->in = mw__arena_zalloc(h->scratch, (size_t)nin * sizeof *r->in);
    r->stated = mw__arena_zalloc(h->scratch, (size_t)nin * sizeof *r->stated);
    r->arg_of = mw__arena_zalloc(h->scratch, (size_t)nin * sizeof *r->arg_of);
    mw_meta *meta = mw__arena_zalloc(h->scratch, (size_t)nin * sizeof *meta);
    if (!r->layout || !r->in || !r->stated || !r->arg_of || !meta) {
        h->e->failed = true;
        return false;
    }
    for (int p = 0; p < r->bound.narg; p++)
        for (int k = 0; k < r->bound.arg[p].count; k++)
            if (r->bound.arg[p].kind == MW_ARG_TENSOR || r->bound.arg[p].kind == MW_ARG_TENSORS)
                r->arg_of[r->bound.arg[p].first + k] = p;
    for (int i = 0; i < nin; i++) {
        meta[i] = r->meta[r->bound.operand[i]];
        r->stated[i] = r->tensor[r->bound.operand[i]];
    }
    r->args = (mw_call_args){
        .op = op, .narg = r->bound.narg, .arg = r->bound.arg, .nin = nin, .in = meta};
    return true;
}

/* Layouts of all operands; false where one is not known or has none. */
bool mw__dt_replay_lay(dt_replay *r)
{
    for (int i = 0; i < r->args.nin; i++) {
        dt_tensor t = *r->stated[i];
        const char *why;
        t.dtype = r->args.in[i].dtype;
        if (!mw__dt_layout(r->h, r->mesh, &t, &r->layout[i], &why)) {
            if (*why && r->mesh && t.nplacement == r->mesh->naxis)
                mw__fact(r->call->draft, "not replayed", MW_HOW_DERIVED, why, "%s",
                         r->call->schema->arg[r->arg_of[i]].name);
            return false;
        }
        r->in[i] = &r->layout[i];
    }
    return true;
}

const char *mw__dt_layout_text(const dt_replay *r, const mw_layout *l)
{
    mw_str text = {0};
    dt_tensor t;
    mw_layout shown = *l;
    if (r->assumed_dtype) shown.dtype = MW_DTYPE_NONE;
    if (mw__dt_unlayout(r->h, r->mesh, &shown, &t)) {
        mw__dt_tensor_str(&t, &text);
        mw__str_puts(&text, ", in meshwise's type ");
    }
    mw__layout_str(r->mesh, &shown, &text);
    const char *made = mw__dt_text(r->h, &text);
    mw__dt_done(r->h, &text);
    return made;
}

const char *mw__dt_placements_of(const dt_replay *r, const mw_layout *l)
{
    mw_str text = {0};
    dt_tensor t;
    if (mw__dt_unlayout(r->h, r->mesh, l, &t))
        mw__dt_placements_long(t.placement, t.nplacement, &text);
    else
        mw__layout_str(r->mesh, l, &text);
    const char *made = mw__dt_text(r->h, &text);
    mw__dt_done(r->h, &text);
    return made;
}
