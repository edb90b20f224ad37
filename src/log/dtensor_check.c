/* A call held against meshwise's own rules: it is bound to the op's declaration, the layouts of its
 * operands are made, and the same choice is made that a meshwise program would make. What the text
 * says is compared with that. A problem needs evidence: without shapes and a mesh there is none. */
#include "log/dtensor.h"

#include <stdio.h>

enum { OPERANDS = 64, CHOSEN_RANKS = 256 };

typedef struct replay {
    const dt_here *h;
    dt_call *call;
    const mw_mesh *mesh;
    mw_bound bound;
    mw_call_args args;
    int n;                       /* tensors, in the order of the text */
    dt_tensor *tensor[OPERANDS]; /* as stated, of these */
    mw_meta meta[OPERANDS];
    mw_layout *layout; /* [nin], operand order */
    const mw_layout **in;
    dt_tensor **stated; /* [nin] */
    int *arg_of;        /* [nin]: position in the schema */
    mw_choice choice;
    bool assumed_dtype;
} replay;

/* ---- binding
 * ------------------------------------------------------------------------------------------ */

static mw_dtype dtype_for(const replay *r, int arg, const dt_tensor *t)
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

static bool add_tensors(replay *r, int arg, dt_value *v)
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

static bool given_of(replay *r, int i, mw_given *to)
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

static bool failed(const dt_here *h, mw_status status)
{
    if (status == MW_OK) return false;
    if (status == MW_ERR_NOMEM) h->e->failed = true;
    return true;
}

/* false: the call can't be replayed (nothing wrong with the text). */
static bool bind(replay *r)
{
    const dt_here *h = r->h;
    mw_given given[DT_ARGS];
    for (int i = 0; i < r->call->narg; i++)
        if (!given_of(r, i, &given[i])) return false;
    if (failed(h, mw__args_bind(r->call->schema, given, r->call->narg, r->meta, h->scratch,
                                &r->bound)))
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
        .op = r->call->op, .narg = r->bound.narg, .arg = r->bound.arg, .nin = nin, .in = meta};
    return true;
}

/* Layouts of all operands; false where one is not known or has none. */
static bool lay(replay *r)
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

/* ---- what can't be true
 * ------------------------------------------------------------------------------- */

static void wrong_meshes(const dt_here *h, dt_call *call)
{
    int least = 0, most = 0, at_least = 0, at_most = 0;
    for (int i = 0; i < call->narg; i++)
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++) {
            int n = call->arg[i].tensor[k].nplacement;
            if (n && (!least || n < least)) least = n, at_least = i;
            if (n > most) most = n, at_most = i;
        }
    if (!least || least == most) return;
    const char *a = mw__dt_arg_name(call, at_least), *b = mw__dt_arg_name(call, at_most);
    (void)h;
    mw__problem(call->draft, "different-meshes", -1, -1,
                "distribute both on one mesh; over an axis that a tensor is not cut on it is "
                "Replicate()",
                "the operands lie on different meshes: %s has %d placement%s, %s has %d, and a "
                "placement stands for a mesh axis",
                a ? a : "an argument", least, least == 1 ? "" : "s", b ? b : "another", most);
}

/* The shapes do not fit as whole tensors: is one of them a rank's piece? */
static void wrong_shapes(replay *r, const char *says)
{
    dt_call *call = r->call;
    const char *hint = "";
    bool matmul = r->n >= 2 && (strcmp(call->word, "mm") == 0 || strcmp(call->word, "bmm") == 0 ||
                                strcmp(call->word, "matmul") == 0);
    if (matmul && r->meta[0].ndim >= 2 && r->meta[1].ndim >= 2) {
        int64_t k = r->meta[0].shape[r->meta[0].ndim - 1];
        int64_t m = r->meta[1].shape[r->meta[1].ndim - 2];
        int64_t large = MW_MAX(k, m), small = MW_MIN(k, m);
        int left = k < m;
        if (small > 0 && large % small == 0)
            hint = mw__explain_text(
                r->h->e,
                ": %lld = %lld / %lld, so %s is likely one rank's piece (of %lld ranks) with the "
                "label of a whole tensor: a from_local without check; its true label would be "
                "Shard(%d), of global size %lld there",
                (long long)small, (long long)large, (long long)(large / small),
                mw__dt_arg_name(call, left ? 0 : 1), (long long)(large / small),
                left ? r->meta[0].ndim - 1 : r->meta[1].ndim - 2, (long long)large);
    }
    mw__problem(call->draft, "label-cannot-be-true", -1, -1,
                "give from_local the placements that the pieces have (and check=True once), not "
                "Replicate()",
                "as whole tensors these do not fit: %s%s; no redistribution can help", says,
                hint ? hint : "");
}

/* ---- what was chosen
 * ---------------------------------------------------------------------------------- */

static const char *layout_text(const replay *r, const mw_layout *l)
{
    mw_str text = {0};
    dt_tensor t;
    mw_layout shown = *l;
    if (r->assumed_dtype) shown.dtype = MW_DTYPE_NONE;
    if (mw__dt_unlayout(r->mesh, &shown, &t)) {
        mw__dt_tensor_str(&t, &text);
        mw__str_puts(&text, ", in meshwise's type ");
    }
    mw__layout_str(r->mesh, &shown, &text);
    const char *made = mw__dt_text(r->h, &text);
    mw__str_done(&text);
    return made;
}

static const char *placements_of(const replay *r, const mw_layout *l)
{
    mw_str text = {0};
    dt_tensor t;
    if (mw__dt_unlayout(r->mesh, l, &t))
        mw__dt_placements_long(t.placement, t.nplacement, &text);
    else
        mw__layout_str(r->mesh, l, &text);
    const char *made = mw__dt_text(r->h, &text);
    mw__str_done(&text);
    return made;
}

static void tell_derived_outputs(replay *r)
{
    const mw_choice *c = &r->choice;
    for (int i = 0; i < c->nout && i < 8 && !c->parts; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "output %d by meshwise's rule", i);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "replayed through meshwise's op table", "%s",
                 layout_text(r, &c->out[i]));
        if (r->call->has_out) continue;
        (void)snprintf(name, sizeof name, "local shape of output %d", i);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "the derived output, cut", "%s",
                 mw__dt_locals(r->h, r->mesh, &c->out[i]));
    }
}

/* A view whose output needs a strided placement: what it holds, and what each release does. */
static void tell_view(replay *r)
{
    dt_tensor t;
    const mw_layout *out = &r->choice.out[0];
    if (!r->call->op->reshape || r->choice.moves || !mw__dt_unlayout(r->mesh, out, &t)) return;
    for (int a = 0; a < t.nplacement; a++) {
        if (t.placement[a].kind != '_') continue;
        int d = t.placement[a].dim;
        mw_str text = {0};
        for (int rank = 0; rank < r->mesh->nrank && rank < 4; rank++) {
            mw_range range[4];
            int64_t n = mw_layout_ranges(r->mesh, out, rank, d, range, 4);
            mw__str_printf(&text, "%srank %d: ", rank ? "; " : "", rank);
            for (int64_t i = 0; i < n && i < 4; i++)
                mw__str_printf(&text, "%s%lld-%lld", i ? "," : "", (long long)range[i].first,
                               (long long)range[i].end - 1);
            if (n > 4) mw__str_puts(&text, ",...");
        }
        char name[48];
        (void)snprintf(name, sizeof name, "positions of output dim %d", d);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "the view regroups what each rank holds",
                 "%s", mw__dt_text(r->h, &text));
        mw__str_done(&text);
        mw__fact(r->call->draft, "strided placement", MW_HOW_DERIVED,
                 "the view algebra of meshwise's layouts",
                 "_StridedShard(dim=%d, split_factor=%lld): the cut dim is not the first of those "
                 "that are flattened; nothing need move, and no error need come of it",
                 d, (long long)t.placement[a].split);
        mw__fact(r->call->draft, "what releases do", MW_HOW_DERIVED,
                 "PyTorch's view rules by version",
                 "up to 2.7: gather it silently; 2.8: view and _unsafe_view raise \"Attempted to "
                 "flatten sharded dimension\"; 2.9 and 2.10: raise \"Attempted to flatten multiple "
                 "dimensions\"; from 2.11: strided placement, no communication");
        return;
    }
}

/* Bytes that bring all operands to other layouts; -1: not known. */
static int64_t bringing(replay *r, const mw_layout *to)
{
    int64_t sum = 0;
    for (int i = 0; i < r->args.nin; i++) {
        if (mw_layout_equal(&r->layout[i], &to[i])) continue;
        int64_t one = mw__dt_moving(r->h, r->mesh, &r->layout[i], &to[i], NULL);
        if (one < 0) return -1;
        sum += one;
    }
    return sum;
}

/* Layouts of redistribute_schema's operands; false where they aren't all known. */
static bool wanted_layouts(replay *r, mw_layout *to)
{
    int at = 0;
    for (int i = 0; i < r->call->nwanted; i++) {
        const dt_value *v = &r->call->wanted[i];
        for (int k = 0; v->tensor && k < v->count; k++, at++) {
            dt_tensor t = v->tensor[k];
            const char *why;
            if (at >= r->args.nin) return false;
            t.dtype = r->args.in[at].dtype;
            if (!mw__dt_layout(r->h, r->mesh, &t, &to[at], &why)) return false;
        }
    }
    return at == r->args.nin && at > 0;
}

static void tell_wanted(replay *r, const mw_layout *to)
{
    for (int i = 0; i < r->args.nin; i++) {
        if (mw_layout_equal(&r->layout[i], &to[i])) continue;
        const char *steps, *name = r->call->schema->arg[r->arg_of[i]].name;
        int64_t bytes = mw__dt_moving(r->h, r->mesh, &r->layout[i], &to[i], &steps);
        char fact[80];
        (void)snprintf(fact, sizeof fact, "moved for the op: %.50s", name);
        mw__fact(r->call->draft, fact, r->assumed_dtype ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 r->assumed_dtype ? "the line prints no dtype for it"
                                  : "redistribute_schema against args_schema",
                 "%s: %s; %lld B received per rank", placements_of(r, &to[i]),
                 *steps ? steps : "local", (long long)MW_MAX(bytes, 0));
    }
}

/* The text says that operands were moved: is there a cheaper way to the same result? */
static void check_moves(replay *r)
{
    mw_layout *to = mw__arena_zalloc(r->h->scratch, (size_t)r->args.nin * sizeof *to), out;
    if (!to) {
        r->h->e->failed = true;
        return;
    }
    if (!r->call->needs || !wanted_layouts(r, to)) return;
    tell_wanted(r, to);
    int64_t now = bringing(r, to), after = bringing(r, r->choice.in);
    const char *why;
    if (now <= 0 || after < 0 || r->choice.parts || !r->call->nout) return;
    dt_tensor t = r->call->out[0];
    t.dtype = (mw_dtype)r->choice.out[0].dtype;
    if (!mw__dt_layout(r->h, r->mesh, &t, &out, &why)) return;
    int64_t last = mw_layout_equal(&out, &r->choice.out[0])
                       ? 0
                       : mw__dt_moving(r->h, r->mesh, &r->choice.out[0], &out, NULL);
    if (last < 0 || after + last >= now) return;
    const char *fix = mw__explain_text(
        r->h->e, "run it on %s%s%s", placements_of(r, &r->choice.in[0]),
        r->args.nin > 1 ? " and " : "", r->args.nin > 1 ? placements_of(r, &r->choice.in[1]) : "");
    mw__problem(r->call->draft, "needless-movement", now, after + last, fix ? fix : "",
                "the op's operands are moved, %lld B received per rank, where %lld B give the same "
                "result%s",
                (long long)now, (long long)(after + last),
                r->assumed_dtype ? " (dtype assumed)" : "");
}

/* ---- values that will be wrong
 * ------------------------------------------------------------------------ */

static bool partial_out(const dt_call *call, const char *kind)
{
    for (int i = 0; i < call->nout; i++)
        for (int a = 0; a < call->out[i].nplacement; a++) {
            const dt_placement *p = &call->out[i].placement[a];
            if (p->kind == 'P' && (!kind || strcmp(p->reduce, kind) == 0)) return true;
        }
    return false;
}

static void check_values(replay *r)
{
    dt_call *call = r->call;
    if (r->args.nin < 1 || call->needs || !call->has_out) return;
    bool uneven = mw__dt_uneven(r->mesh, &r->layout[0]);
    if (strcmp(call->word, "mean") == 0 && uneven && partial_out(call, "avg"))
        mw__problem(call->draft, "wrong-value", -1, -1,
                    "sum first, then divide by the whole count: P(sum) is right for any sizes",
                    "the mean of shards of different sizes (%s) is averaged with equal weights",
                    mw__dt_locals(r->h, r->mesh, &r->layout[0]));
    bool index = strcmp(call->word, "argmax") == 0 || strcmp(call->word, "argmin") == 0;
    if (index && partial_out(call, NULL))
        mw__problem(
            call->draft, "wrong-value", -1, -1,
            "redistribute so that the reduced dim is whole first, or combine (value, index) "
            "pairs",
            "each rank's index counts from its own piece; combining such indices gives a "
            "position that means nothing");
    uint32_t terms = 0;
    for (int i = 0; i < r->args.nin; i++)
        terms |= mw__layout_partial_axes(&r->layout[i]);
    if (terms && r->choice.moves && !r->choice.parts)
        mw__problem(
            call->draft, "wrong-value", 0, bringing(r, r->choice.in),
            "redistribute the partial operand to Replicate() (or Shard) before the op",
            "an operand is a term of a sum (Partial) and the op does not pass sums through, "
            "yet the text says that nothing was moved: %s",
            r->choice.why);
}

static void check_output(replay *r)
{
    const dt_call *call = r->call;
    mw_layout out;
    const char *why;
    if (r->choice.moves || r->choice.parts) return;
    for (int i = 0; i < call->nout && i < r->choice.nout; i++) {
        dt_tensor t = call->out[i];
        if (!t.shaped || !t.placed) continue;
        t.dtype = (mw_dtype)r->choice.out[i].dtype;
        if (!mw__dt_layout(r->h, r->mesh, &t, &out, &why)) continue;
        if (mw_layout_equal(&out, &r->choice.out[i])) continue;
        int64_t held = mw__layout_largest_shard(r->mesh, &out);
        int64_t could = mw__layout_largest_shard(r->mesh, &r->choice.out[i]);
        if (held <= could || r->choice.out[i].npartial) continue;
        int64_t size = mw_dtype_size((mw_dtype)out.dtype);
        int64_t now = mw__dt_moving(r->h, r->mesh, &r->choice.out[i], &out, NULL);
        const char *fix = mw__explain_text(r->h->e, "keep output %d at %s", i,
                                           placements_of(r, &r->choice.out[i]));
        mw__problem(call->draft, "sharding-lost", now, 0, fix ? fix : "",
                    "output %d comes out as %s although the operands allow %s without moving "
                    "anything: each rank holds %lld B instead of %lld B",
                    i, placements_of(r, &out), placements_of(r, &r->choice.out[i]),
                    (long long)(held * size), (long long)(could * size));
    }
}

/* ---- the sentence
 * ------------------------------------------------------------------------------------ */

static void say(const dt_here *h, dt_call *call, const replay *r, bool chosen)
{
    const char *what = "";
    if (call->has_needs)
        what = call->needs ? "some of its operands are moved first, on its own account"
                           : "it works on each rank's own piece and moves nothing";
    else if (call->has_out)
        what = "the text tells its result, but not whether operands were moved";
    else if (chosen)
        what = r->choice.moves ? "by meshwise's rules an operand must be moved first"
                               : "by meshwise's rules nothing need move";
    else
        what = "the text does not tell what came of it";
    mw_str text = {0};
    for (int i = 0, n = 0; i < call->narg && n < 3; i++) {
        if (!call->arg[i].tensor || call->arg[i].count < 1) continue;
        mw__str_puts(&text, n++ ? " and " : " on ");
        mw__dt_tensor_str(&call->arg[i].tensor[0], &text);
    }
    mw__draft_says(call->draft, "%s%s: %s.", call->word, mw__str_text(&text), what);
    mw__str_done(&text);
    if (call->has_needs)
        mw__fact(call->draft, "communication", MW_HOW_STATED, mw__dt_line_from(h, call->out_line),
                 "%s",
                 call->needs ? "its operands are redistributed first (needs_redistribute=True)"
                             : "none by the op itself (needs_redistribute=False)");
    else if (chosen)
        mw__fact(call->draft, "communication", MW_HOW_DERIVED, "meshwise's rule of the op",
                 "%s%s%s", r->choice.moves ? "an operand has to be moved" : "none needed",
                 *r->choice.why ? ": " : "", r->choice.why);
}

void mw__dt_call_check(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    replay *r = mw__arena_zalloc(h->scratch, sizeof *r);
    if (!r) {
        h->e->failed = true;
        return;
    }
    *r = (replay){.h = h, .call = call, .mesh = mesh};
    bool chosen = false;
    wrong_meshes(h, call);
    if (call->op && call->schema && bind(r)) {
        mw_rule rule;
        mw_status shapes = mw__rule_of(&r->args, h->scratch, &rule);
        if (shapes == MW_ERR_NOMEM) h->e->failed = true;
        if (shapes == MW_ERR_SHAPE && !call->has_out) wrong_shapes(r, mw_last_error()->says);
        bool fits = shapes == MW_OK && mesh && mesh->nrank <= CHOSEN_RANKS && lay(r);
        chosen = fits && !failed(h, mw__choose(mesh, &r->args, r->in, h->scratch, &r->choice));
    }
    mw_error_clear();
    say(h, call, r, chosen);
    if (!chosen) return;
    tell_derived_outputs(r);
    tell_view(r);
    check_moves(r);
    check_values(r);
    check_output(r);
    mw_error_clear();
}
