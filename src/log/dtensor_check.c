/* A call held against meshwise's own rules: it is bound to the op's declaration, the layouts of its
 * operands are made, and the same choice is made that a meshwise program would make. What the text
 * says is compared with that. A problem needs evidence: without shapes and a mesh there is none. */
#include "log/dtensor_replay.h"

#include <stdio.h>

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

/* The call with one operand as it likely was meant: a piece's own label and whole size. What moves
 * then, on a mesh of so many ranks? */
static void tell_meant(dt_replay *r, int operand, int dim, int64_t ranks)
{
    dt_replay *meant = mw__arena_zalloc(r->h->scratch, sizeof *meant);
    const mw_op_info *info = mw__op_info_of(r->call->op);
    dt_mesh mesh = r->call->mesh;
    if (!meant || !info) {
        if (!meant) r->h->e->failed = true;
        return;
    }
    if (!mesh.naxis && ranks <= 64)
        mesh = (dt_mesh){.naxis = 1, .size = {(int)ranks}, .how = MW_HOW_ASSUMED};
    if (mesh.naxis != 1 || mesh.size[0] != ranks) return;
    dt_tensor *t = r->tensor[operand], kept = *t;
    *meant =
        (dt_replay){.meant = true, .h = r->h, .call = r->call, .mesh = mw__dt_mesh_of(r->h, &mesh)};
    t->shape[dim] *= ranks;
    t->placement[0] = (dt_placement){.kind = 'S', .dim = dim, .split = 1, .order = -1};
    if (meant->mesh && t->nplacement == 1 && mw__dt_replay_bind(meant) &&
        mw__dt_replay_lay(meant) &&
        !mw__dt_failed(r->h, mw__choose(meant->mesh, &meant->args, meant->in, r->h->scratch,
                                        &meant->choice))) {
        mw_str text = {0};
        mw__dt_tensor_str(t, &text);
        mw__fact(r->call->draft, "as it was meant", MW_HOW_ASSUMED,
                 "the sizes suggest it; the code that made the tensor would settle it", "%s %s",
                 r->call->schema->arg[operand].name, mw__str_text(&text));
        mw__dt_done(r->h, &text);
        mw__dt_tell_ways(meant, 0, NULL);
    }
    *t = kept;
    mw_error_clear();
}

/* The shapes do not fit as whole tensors: is one of them a rank's piece? */
static void wrong_shapes(dt_replay *r, const char *says)
{
    dt_call *call = r->call;
    const char *hint = "";
    bool left = false;
    int meant_dim = 0;
    int64_t ratio = 1;
    bool matmul = r->n >= 2 && (strcmp(call->word, "mm") == 0 || strcmp(call->word, "bmm") == 0 ||
                                strcmp(call->word, "matmul") == 0);
    if (matmul && r->meta[0].ndim >= 2 && r->meta[1].ndim >= 2) {
        int64_t k = r->meta[0].shape[r->meta[0].ndim - 1];
        int64_t m = r->meta[1].shape[r->meta[1].ndim - 2];
        int64_t large = MW_MAX(k, m), small = MW_MIN(k, m);
        left = k < m;
        if (small > 0 && large % small == 0) {
            meant_dim = left ? r->meta[0].ndim - 1 : r->meta[1].ndim - 2;
            ratio = large / small;
            hint = mw__explain_text(
                r->h->e,
                ": %lld = %lld / %lld, so %s is likely one rank's piece (of %lld ranks) with the "
                "label of a whole tensor: a from_local without check; its true label would be "
                "Shard(%d), of global size %lld there",
                (long long)small, (long long)large, (long long)(large / small),
                mw__dt_arg_name(call, left ? 0 : 1), (long long)(large / small), meant_dim,
                (long long)large);
            if (!hint) hint = "";
        }
    }
    mw__problem(call->draft, "label-cannot-be-true", -1, -1,
                "give from_local the placements that the pieces have (and check=True once), not "
                "Replicate()",
                "as whole tensors these do not fit: %s%s; no redistribution can help", says, hint);
    if (*hint) tell_meant(r, left ? 0 : 1, meant_dim, ratio);
}

/* ---- what was chosen
 * ---------------------------------------------------------------------------------- */

/* A partial result costs a reduction once somebody wants the value. */
static void tell_later(dt_replay *r, int i)
{
    const mw_layout *out = &r->choice.out[i];
    if (!out->npartial || r->assumed_dtype) return;
    mw_layout whole = *out;
    memset(whole.partial, 0, sizeof whole.partial);
    whole.npartial = 0;
    int64_t bytes = mw__dt_moving(r->h, r->mesh, out, &whole, NULL);
    int64_t size = mw__layout_largest_shard(r->mesh, &whole) * mw_dtype_size((mw_dtype)whole.dtype);
    if (bytes < 0) return;
    mw__fact(r->call->draft, "its value later", MW_HOW_DERIVED, "plan from Partial to Replicate",
             "each rank holds a term; the value costs an all-reduce of %lld B, %lld B received per "
             "rank",
             (long long)size, (long long)bytes);
}

/* What would have to move, by the cheapest combination that the op allows. */
static void tell_cheapest(dt_replay *r)
{
    for (int i = 0; i < r->args.nin && !r->choice.parts; i++) {
        if (mw_layout_equal(&r->layout[i], &r->choice.in[i])) continue;
        const char *steps;
        int64_t bytes = mw__dt_moving(r->h, r->mesh, &r->layout[i], &r->choice.in[i], &steps);
        mw_how how = r->assumed_dtype || r->call->mesh.how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED
                                                                             : MW_HOW_DERIVED;
        mw__fact(r->call->draft, "cheapest to move", how,
                 r->assumed_dtype ? "the dtype is assumed; it would settle the bytes"
                                  : "meshwise's choice for these operands",
                 "operand %d to %s: %s, %lld B received per rank", i,
                 mw__dt_placements_of(r, &r->choice.in[i]), *steps ? steps : "local",
                 (long long)MW_MAX(bytes, 0));
    }
}

static void tell_derived_outputs(dt_replay *r)
{
    const mw_choice *c = &r->choice;
    for (int i = 0; i < c->nout && i < 8 && !c->parts; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "output %d by meshwise's rule", i);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "replayed through meshwise's op table", "%s",
                 mw__dt_layout_text(r, &c->out[i]));
        tell_later(r, i);
        if (r->call->has_out) continue;
        (void)snprintf(name, sizeof name, "local shape of output %d", i);
        mw__fact(r->call->draft, name, MW_HOW_DERIVED, "the derived output, cut", "%s",
                 mw__dt_locals(r->h, r->mesh, &c->out[i]));
    }
}

int64_t mw__dt_bringing(const dt_replay *r, const mw_layout *to)
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
static bool wanted_layouts(dt_replay *r, mw_layout *to)
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

static void tell_wanted(dt_replay *r, const mw_layout *to)
{
    for (int i = 0; i < r->args.nin; i++) {
        if (mw_layout_equal(&r->layout[i], &to[i])) continue;
        const char *steps, *name = r->call->schema->arg[r->arg_of[i]].name;
        int64_t bytes = mw__dt_moving(r->h, r->mesh, &r->layout[i], &to[i], &steps);
        char fact[80];
        (void)snprintf(fact, sizeof fact, "moved for the op: %.50s", name);
        mw__fact(r->call->draft, fact, r->assumed_dtype ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 r->assumed_dtype ? "the line prints no dtype for it"
                                  : "operands as wanted against operands as given",
                 "%s: %s; %lld B received per rank", mw__dt_placements_of(r, &to[i]),
                 *steps ? steps : "local", (long long)MW_MAX(bytes, 0));
    }
}

/* The result with the operands where the text moves them: stated, or by the op's rule. */
static bool result_of(dt_replay *r, const mw_layout *to, mw_layout *ret)
{
    const char *why;
    if (r->call->nout && r->call->out[0].placed) {
        dt_tensor t = r->call->out[0];
        t.dtype = (mw_dtype)r->choice.out[0].dtype;
        return mw__dt_layout(r->h, r->mesh, &t, ret, &why);
    }
    mw_choice choice;
    const mw_layout **in = mw__arena_zalloc(r->h->scratch, (size_t)r->args.nin * sizeof *in);
    if (!in) {
        r->h->e->failed = true;
        return false;
    }
    for (int i = 0; i < r->args.nin; i++)
        in[i] = &to[i];
    if (mw__dt_failed(r->h, mw__choose(r->mesh, &r->args, in, r->h->scratch, &choice)) ||
        choice.moves || choice.parts || choice.nout < 1)
        return false;
    *ret = choice.out[0];
    return true;
}

/* The first mesh axis on which an operand is moved; -1: none. */
static int changed_axis(const dt_replay *r, const mw_layout *to)
{
    dt_tensor t;
    for (int i = 0; i < r->args.nin; i++) {
        if (mw_layout_equal(&r->layout[i], &to[i])) continue;
        if (!mw__dt_unlayout(r->h, r->mesh, &to[i], &t)) continue;
        for (int a = 0; a < t.nplacement; a++) {
            const dt_placement *was = &r->stated[i]->placement[a], *is = &t.placement[a];
            if (was->kind != is->kind || was->dim != is->dim) return a;
        }
    }
    return -1;
}

/* Terms were combined for an op that passes sums through: that could wait. */
static void tell_could_wait(dt_replay *r, const mw_layout *to)
{
    for (int i = 0; i < r->args.nin && !r->choice.moves && !r->choice.parts; i++)
        if (mw__layout_partial_axes(&r->layout[i]) & ~mw__layout_partial_axes(&to[i])) {
            mw__fact(r->call->draft, "could wait", MW_HOW_DERIVED, "meshwise's rule of the op",
                     "%s passes sums through: the terms of %s can be combined after it, where the "
                     "value is needed, and then by a reduce-scatter where it is needed cut",
                     r->call->word, r->call->schema->arg[r->arg_of[i]].name);
            return;
        }
}

/* The text says that operands were moved: is there a cheaper way to the same result? */
static void check_moves(dt_replay *r)
{
    mw_layout *to = mw__arena_zalloc(r->h->scratch, (size_t)r->args.nin * sizeof *to), out;
    if (!to) {
        r->h->e->failed = true;
        return;
    }
    if (!r->call->needs || !wanted_layouts(r, to)) return;
    tell_wanted(r, to);
    int64_t now = mw__dt_bringing(r, to), after = mw__dt_bringing(r, r->choice.in);
    bool known = result_of(r, to, &out);
    mw__dt_tell_ways(r, changed_axis(r, to), known ? &out : NULL);
    tell_could_wait(r, to);
    if (now <= 0 || after < 0 || r->choice.parts || !known) return;
    int64_t last = mw_layout_equal(&out, &r->choice.out[0])
                       ? 0
                       : mw__dt_moving(r->h, r->mesh, &r->choice.out[0], &out, NULL);
    if (last < 0 || after + last >= now) return;
    const char *fix =
        mw__explain_text(r->h->e, "run it on %s%s%s", mw__dt_placements_of(r, &r->choice.in[0]),
                         r->args.nin > 1 ? " and " : "",
                         r->args.nin > 1 ? mw__dt_placements_of(r, &r->choice.in[1]) : "");
    mw__problem(r->call->draft, "needless-movement", now, after + last, fix ? fix : "",
                "the op's operands are moved, %lld B received per rank, where %lld B give the same "
                "result%s",
                (long long)now, (long long)(after + last),
                r->assumed_dtype ? " (dtype assumed)" : "");
}

/* ---- the sentence
 * ------------------------------------------------------------------------------------ */

static void say(const dt_here *h, dt_call *call, const dt_replay *r, bool chosen)
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
    mw__dt_done(r->h, &text);
    if (call->in_tree && !call->moved)
        mw__fact(call->draft, "communication", MW_HOW_DERIVED,
                 "the redistribute_input lines below it have no collective",
                 "none: operands are cut on each rank");
    else if (call->in_tree)
        mw__fact(call->draft, "communication", MW_HOW_DERIVED,
                 "redistribute_input lines stand below it",
                 "its operands are redistributed first, on its own account");
    else if (call->has_needs)
        mw__fact(call->draft, "communication", MW_HOW_STATED, mw__dt_line_from(h, call->out_line),
                 "%s",
                 call->needs ? "its operands are redistributed first (needs_redistribute=True)"
                             : "none by the op itself (needs_redistribute=False)");
    else if (chosen)
        mw__fact(call->draft, "communication",
                 call->mesh.how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 "meshwise's rule of the op, on that mesh", "%s%s%s",
                 r->choice.moves ? "an operand has to be moved" : "none needed",
                 *r->choice.why ? ": " : "", r->choice.why);
}

/* Of an op that meshwise has no rule for: nothing can need moving where every rank holds all. */
static void tell_all_whole(dt_call *call, const mw_mesh *mesh)
{
    int n = 0;
    for (int i = 0; i < call->narg; i++)
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++)
            for (int a = 0; a < call->arg[i].tensor[k].nplacement; a++, n++)
                if (call->arg[i].tensor[k].placement[a].kind != 'R' && !(mesh && mesh->nrank == 1))
                    return;
    if (n && !call->has_needs)
        mw__fact(call->draft, "communication", MW_HOW_DERIVED,
                 "every operand is whole on every rank", "none needed: the result is whole too");
}

void mw__dt_call_check(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    dt_replay *r = mw__arena_zalloc(h->scratch, sizeof *r);
    if (!r) {
        h->e->failed = true;
        return;
    }
    *r = (dt_replay){.h = h, .call = call, .mesh = mesh};
    bool chosen = false;
    wrong_meshes(h, call);
    mw__dt_check_labels(h, call, mesh);
    if ((call->op || call->same_as) && call->schema && mw__dt_replay_bind(r)) {
        mw_rule rule;
        mw_status shapes = mw__rule_of(&r->args, h->scratch, &rule);
        if (shapes == MW_ERR_NOMEM) h->e->failed = true;
        if (shapes == MW_ERR_SHAPE && !call->has_out) wrong_shapes(r, mw_last_error()->says);
        bool fits = shapes == MW_OK && mesh && mesh->nrank <= CHOSEN_RANKS && mw__dt_replay_lay(r);
        chosen =
            fits && !mw__dt_failed(h, mw__choose(mesh, &r->args, r->in, h->scratch, &r->choice));
    }
    mw_error_clear();
    say(h, call, r, chosen);
    if (!chosen) tell_all_whole(call, mesh);
    if (!chosen) return;
    tell_derived_outputs(r);
    tell_cheapest(r);
    mw__dt_tell_user(r);
    mw__dt_tell_view(r);
    check_moves(r);
    mw__dt_check_values(r);
    mw_error_clear();
}
