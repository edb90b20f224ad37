/* `redistribute from S(1) to R on mesh dim 0`: one step of one redistribution. The line names no
 * tensor, no op and no size; what can be known of these comes from the lines around it, and says
 * so. */
#include "log/dtensor.h"

#include <stdlib.h>

typedef struct step {
    dt_placement from, to;
    int axis;
    dt_mesh mesh;
    const mw_mesh *made;
    dt_tensor tensor; /* shaped: known or assumed */
    mw_how how;       /* of the tensor */
    const char *which, *evidence;
    mw_layout before, after;
    bool laid;
    bool own; /* an operand of the call before it */
    int64_t bytes;
    mw_draft *draft;
} step;

static bool one_placement(const char *at, const char *end, dt_placement *ret)
{
    dt_tensor t = {.nplacement = 0};
    if (!mw__dt_read_placements(at, end - at, &t) || t.nplacement != 1) return false;
    *ret = t.placement[0];
    return true;
}

static bool read_step(const char *at, step *s)
{
    const char *to = strstr(at, " to "), *on = strstr(at, " on mesh dim ");
    if (!to || !on || on < to) return false;
    if (!one_placement(at, to, &s->from) || !one_placement(to + 4, on, &s->to)) return false;
    char *end;
    long axis = strtol(on + 13, &end, 10);
    if (end == on + 13 || axis < 0 || axis >= DT_AXES) return false;
    s->axis = (int)axis;
    return true;
}

static bool same_placement(const dt_placement *a, const dt_placement *b, int ndim)
{
    int x = a->dim < 0 ? a->dim + ndim : a->dim, y = b->dim < 0 ? b->dim + ndim : b->dim;
    if ((a->kind == 'P') != (b->kind == 'P')) return a->kind == b->kind && x == y;
    return a->kind == b->kind && (a->kind == 'R' || a->kind == 'P' || x == y);
}

/* ---- whose it is
 * ------------------------------------------------------------------------------------- */

/* Where an operand's dtype is not printed it is taken for that of the result, except of indices. */
static void result_dtype(const dt_here *h, const dt_call *call, const char *name, step *s)
{
    bool real =
        call->nout && call->out[0].dtype && mw_dtype_kind_of(call->out[0].dtype) == MW_KIND_FLOAT;
    bool index = !name || strstr(name, "ind") || strstr(name, "mask") || strstr(name, "cond");
    if (s->tensor.dtype || h->e->options.dtype || !real || index) return;
    s->tensor.dtype = call->out[0].dtype;
    s->how = MW_HOW_ASSUMED;
    s->evidence = mw__explain_text(h->e, "%s; its dtype is not printed and taken for the result's",
                                   s->evidence ? s->evidence : "");
}

/* The operand of a call that redistribute_schema moves so. */
static bool own_operand(const dt_here *h, const dt_call *call, step *s)
{
    int at[DT_ARGS] = {0}, n = 0;
    for (int i = 0; i < call->narg && n < DT_ARGS; i++)
        if (call->arg[i].tensor) at[n++] = i;
    int k = 0, skip = h->r->step;
    for (int i = 0; i < call->nwanted && k < n; i++) {
        if (!call->wanted[i].tensor) continue;
        const dt_value *now = &call->arg[at[k++]];
        for (int j = 0; j < now->count && j < call->wanted[i].count; j++) {
            const dt_tensor *a = &now->tensor[j], *b = &call->wanted[i].tensor[j];
            if (s->axis >= a->nplacement || s->axis >= b->nplacement) continue;
            if (!same_placement(&a->placement[s->axis], &s->from, a->ndim) ||
                !same_placement(&b->placement[s->axis], &s->to, b->ndim))
                continue;
            s->tensor = *a;
            s->how = MW_HOW_DERIVED;
            const char *name = mw__dt_arg_name(call, at[k - 1]);
            s->which = mw__explain_text(h->e, "operand %s of %s", name ? name : "?", call->word);
            s->evidence =
                mw__explain_text(h->e, "redistribute_schema of line %lld wants that operand so",
                                 (long long)call->out_line);
            s->own = true;
            result_dtype(h, call, name, s);
            /* on one axis each line is another operand's, in their order */
            if (a->nplacement > 1 || skip-- == 0) return true;
        }
    }
    return s->own;
}

/* A call that wants an operand moved, where the text does not say which: the one that lies so. */
static bool only_operand(const dt_here *h, const dt_call *call, step *s)
{
    const dt_tensor *found = NULL;
    const char *name = NULL;
    int n = 0;
    for (int i = 0; i < call->narg; i++)
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++) {
            const dt_tensor *t = &call->arg[i].tensor[k];
            if (s->axis >= t->nplacement ||
                !same_placement(&t->placement[s->axis], &s->from, t->ndim))
                continue;
            found = t;
            name = mw__dt_arg_name(call, i);
            n++;
        }
    if (n == 1) {
        s->tensor = *found;
        s->how = MW_HOW_ASSUMED;
        s->which = mw__explain_text(h->e, "operand %s of %s", name ? name : "?", call->word);
        s->evidence =
            mw__explain_text(h->e, "no other operand of line %lld lies so", (long long)call->line);
        result_dtype(h, call, name, s);
    }
    s->own = n > 0;
    return s->own;
}

static void last_result(const dt_here *h, step *s)
{
    const dt_tensor *t = &h->r->last;
    if (!t->shaped || s->axis >= t->nplacement ||
        !same_placement(&t->placement[s->axis], &s->from, t->ndim))
        return;
    s->tensor = *t;
    s->how = MW_HOW_ASSUMED;
    s->which = mw__explain_text(h->e, "the last result, of %s in line %lld", h->r->last_op,
                                (long long)h->r->last_line);
    s->evidence = "the line names no tensor; the call that uses it next would settle it";
}

/* A print just before that shows the same change: whoever printed it asked for it. */
static bool announced(const dt_here *h, step *s)
{
    const dt_said *said = &h->s->said;
    if (!said->line || h->first - said->line > 8 || s->axis >= said->from.nplacement ||
        s->axis >= said->to.nplacement)
        return false;
    const dt_placement *a = &said->from.placement[s->axis], *b = &said->to.placement[s->axis];
    bool shard_from =
        a->kind == 'S' && s->from.kind == 'S' && (a->dim < 0 || a->dim == s->from.dim);
    bool shard_to = b->kind == 'S' && s->to.kind == 'S' && (b->dim < 0 || b->dim == s->to.dim);
    if ((!shard_from && !same_placement(a, &s->from, 0)) ||
        (!shard_to && !same_placement(b, &s->to, 0)))
        return false;
    mw__fact(
        s->draft, "on account of", MW_HOW_DERIVED, "a print just before it shows the same change",
        "an explicit request: line %lld announces it (%.80s)", (long long)said->line, said->text);
    mw__fact(s->draft, "sure", MW_HOW_DERIVED, "the print is not PyTorch's own", "medium");
    return true;
}

static void account(const dt_here *h, step *s)
{
    const dt_call *call = h->r->call;
    if (announced(h, s)) return;
    bool named = call && call->nwanted;
    if (call && call->needs && (named ? own_operand(h, call, s) : only_operand(h, call, s))) {
        mw__fact(s->draft, "on account of", MW_HOW_DERIVED,
                 "it follows that call's output_sharding, whose needs_redistribute is True",
                 "%s itself: preparation of its operands (implicit)", call->word);
        mw__fact(s->draft, "sure", MW_HOW_DERIVED,
                 named ? "placements and order agree"
                       : "placements agree; no redistribute_schema says which operand is meant",
                 named ? "high" : "medium");
        return;
    }
    last_result(h, s);
    if (call && call->has_needs && !call->needs) {
        mw__fact(s->draft, "on account of", MW_HOW_DERIVED,
                 "a step of its own would follow needs_redistribute=True and a redistribute_schema",
                 "not %s (line %lld: needs_redistribute=False): it is done after it, for someone "
                 "else; an explicit redistribute, a module's input or output hook, or the "
                 "preparation of the next consumer",
                 call->word, (long long)call->line);
        mw__fact(s->draft, "sure", MW_HOW_DERIVED, "the line names no op",
                 "high that it isn't %s; which of the others is not in the text", call->word);
        mw__missing(h->e,
                    "who asked for the redistribution of line %lld: the line names no op; a "
                    "trace with modules (DebugMode) would tell",
                    (long long)h->first);
        return;
    }
    mw__fact(s->draft, "on account of", MW_HOW_DERIVED,
             "no call whose result is known stands before it",
             "unknown: an explicit redistribute or hook, or the preparation of an op");
    mw__missing(h->e,
                "who asked for the redistribution of line %lld: no call stands before it that "
                "could be told from it",
                (long long)h->first);
}

/* ---- what moves
 * -------------------------------------------------------------------------------------- */

static void lay_step(const dt_here *h, step *s)
{
    const char *why;
    dt_tensor a = s->tensor, b = s->tensor;
    if (!a.shaped || s->axis >= a.nplacement) return;
    if (!a.dtype && h->e->options.dtype) {
        a.dtype = b.dtype = h->e->options.dtype;
        s->how = MW_HOW_ASSUMED;
    }
    a.placement[s->axis] = s->from;
    b.placement[s->axis] = s->to;
    if (!strcmp(s->from.reduce, "sum") && s->from.kind == 'P' && s->tensor.placed)
        a.placement[s->axis] = s->tensor.placement[s->axis];
    s->laid = mw__dt_layout(h, s->made, &a, &s->before, &why) &&
              mw__dt_layout(h, s->made, &b, &s->after, &why);
    s->bytes = s->laid ? mw__dt_moving(h, s->made, &s->before, &s->after, NULL) : -1;
}

static void tell_move(const dt_here *h, const step *s, const char *collective, const char *axis)
{
    mw_draft *d = s->draft;
    const char *from = mw__dt_line_from(h, h->first);
    mw__fact(d, "collective", MW_HOW_DERIVED, "what this change of placement takes", "%s",
             collective ? collective : "none: a local slice or scaling");
    mw__fact(d, "mesh axis", MW_HOW_STATED, from,
             "%s (mesh dim %d: an axis of the device grid, never "
             "a tensor dim)",
             axis, s->axis);
    if (s->from.kind == 'S' || s->from.kind == '_')
        mw__fact(d, "tensor dim", MW_HOW_STATED, from, "%d", s->from.dim);
    if (s->to.kind == 'S' || s->to.kind == '_')
        mw__fact(d, "to tensor dim", MW_HOW_STATED, from, "%d", s->to.dim);
    if (s->mesh.naxis > s->axis)
        mw__fact(d, "ranks that talk",
                 s->mesh.how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED,
                 s->mesh.line ? mw__dt_line_from(h, s->mesh.line) : "the mesh given with --mesh",
                 "%d, those that differ only on that axis", s->mesh.size[s->axis]);
    if (!s->tensor.shaped) {
        mw__missing(h->e,
                    "the tensor of the redistribution in line %lld: the line names neither "
                    "shape nor dtype, so no bytes can be given",
                    (long long)h->first);
        return;
    }
    mw_str text = {0};
    mw__dt_tensor_str(&s->tensor, &text);
    mw__fact(d, "tensor", s->how, s->evidence ? s->evidence : "", "%s (%s)", mw__dt_text(h, &text),
             s->which ? s->which : "");
    mw__dt_done(h, &text);
    if (s->how == MW_HOW_ASSUMED && !s->own)
        mw__missing(h->e,
                    "the tensor of the redistribution in line %lld: the line does not name it",
                    (long long)h->first);
    if (s->laid && s->bytes >= 0)
        mw__fact(d, "received per rank", s->how,
                 s->how == MW_HOW_ASSUMED ? "if its tensor and dtype are those"
                                          : "the plan from one layout to the other",
                 "%lld B", (long long)s->bytes);
    if (s->laid && s->bytes >= 0 && collective && strcmp(collective, "all_gather") == 0 &&
        mw__dt_uneven(s->made, &s->before)) {
        int64_t piece = mw__dt_local_bytes(s->made, &s->before), n = s->made->size[s->axis];
        int64_t whole = mw__dt_local_bytes(s->made, &s->after);
        if (piece > 0 && piece < INT64_MAX / n)
            mw__fact(d, "with padding", s->how, "every piece is padded to the largest",
                     "%lld B arrive for %lld B of use, %lld B received per rank; the result is cut "
                     "back",
                     (long long)(piece * n), (long long)whole, (long long)(piece * (n - 1)));
    }
    if ((!s->laid || s->bytes < 0) && !s->tensor.dtype)
        mw__missing(h->e,
                    "the dtype of the tensor in line %lld: bytes need it; --dtype f32 would "
                    "supply it",
                    (long long)h->first);
}

static void say_move(const dt_here *h, const step *s, const char *collective, const char *axis)
{
    const char *tail = s->how != MW_HOW_ASSUMED || !s->tensor.shaped ? ""
                       : s->own                                      ? " (its dtype is assumed)"
                                                                     : " (its tensor is assumed)";
    mw_str text = {0};
    if (s->laid && s->bytes >= 0)
        mw__str_printf(&text, ": %lld B received per rank%s", (long long)s->bytes, tail);
    if (!collective)
        mw__draft_says(s->draft, "A change of placement over mesh axis %s that moves nothing.",
                       axis);
    else if (strcmp(collective, "all_gather") == 0)
        mw__draft_says(s->draft, "One all-gather along tensor dim %d over mesh axis %s%s.",
                       s->from.dim, axis, mw__str_text(&text));
    else if (strcmp(collective, "all_to_all") == 0)
        mw__draft_says(s->draft, "One all-to-all over mesh axis %s, from tensor dim %d to %d%s.",
                       axis, s->from.dim, s->to.dim, mw__str_text(&text));
    else if (strcmp(collective, "reduce_scatter") == 0)
        mw__draft_says(s->draft, "One reduce-scatter over mesh axis %s onto tensor dim %d%s.", axis,
                       s->to.dim, mw__str_text(&text));
    else
        mw__draft_says(s->draft, "One all-reduce over mesh axis %s%s.", axis, mw__str_text(&text));
    mw__dt_done(h, &text);
}

/* The step before went on with the same tensor: would one redistribution over both axes move less?
 */
static void tell_joined(const dt_here *h, const step *s)
{
    dt_rank *r = h->r;
    int64_t sum, once;
    if (r->chain.bytes >= 0 && s->laid && s->bytes >= 0 && r->chain.mesh == s->made &&
        r->chain.line + 1 >= h->first && mw_layout_equal(&r->chain.now, &s->before) &&
        !__builtin_add_overflow(r->chain.bytes, s->bytes, &sum)) {
        once = mw__dt_moving(h, s->made, &r->chain.start, &s->after, NULL);
        if (once >= 0 && once < sum)
            mw__fact(s->draft, "joined", MW_HOW_ASSUMED,
                     "both lines speak of one tensor; the calls between them would settle it",
                     "with the step of line %lld, one redistribution over both mesh axes: %lld B "
                     "received per rank instead of %lld B",
                     (long long)r->chain.line, (long long)once, (long long)sum);
        r->chain.bytes = sum;
    } else {
        r->chain.bytes = s->laid ? s->bytes : -1;
        r->chain.start = s->before;
        r->chain.mesh = s->made;
    }
    r->chain.now = s->after;
    r->chain.line = h->first;
}

/* An operand's own step has its op's ways; any other could have been another move, or none. */
static void tell_more(const dt_here *h, const step *s, const char *collective)
{
    dt_tensor t = s->tensor;
    if (collective && t.shaped && s->axis < t.nplacement) {
        t.placement[s->axis] = s->from;
        mw__dt_tell_masked(h, s->draft, &t);
        if (!s->own && s->laid) {
            dt_tensor after = t;
            after.placement[s->axis] = s->to;
            mw__dt_other_ways(h, s->draft, s->made, &t, s->axis, &s->to, s->how,
                              s->how == MW_HOW_ASSUMED ? "if its tensor and dtype are those"
                                                       : "shape, mesh and dtype as told");
            mw__dt_move_waits(h, s->draft, s->axis, &s->from, &after, s->bytes);
        }
    } else if (collective && s->from.kind == 'M') {
        dt_tensor one = {.nplacement = 1, .placement = {s->from}};
        mw__dt_tell_masked(h, s->draft, &one);
    }
    tell_joined(h, s);
}

bool mw__dt_move_line(const dt_here *h)
{
    static const char words[] = "redistribute from ";
    const char *at = strstr(h->at, words);
    step s = {.bytes = -1, .how = MW_HOW_DERIVED};
    if (!at || at - h->at > 160 || !read_step(at + sizeof words - 1, &s)) return false;
    if (h->r->call) mw__dt_call_tell(h, h->r->call);
    s.draft = mw__draft(h->e, h->line, "dtensor", "redistribute");
    if (h->r->call) s.mesh = h->r->call->mesh;
    mw__dt_mesh_complete(h, &s.mesh, 0);
    s.made = mw__dt_mesh_of(h, &s.mesh);
    account(h, &s);
    lay_step(h, &s);
    const char *collective = mw__dt_collective(&s.from, &s.to);
    const char *axis = mw__dt_axis_name(h, &s.mesh, s.axis);
    if (s.mesh.naxis > s.axis && s.mesh.size[s.axis] == 1) collective = NULL;
    bool own = h->r->call && h->r->call->needs;
    if (collective)
        mw__draft_moved(s.draft, collective, axis, own ? h->r->call->word : "", s.bytes);
    say_move(h, &s, collective, axis);
    tell_move(h, &s, collective, axis);
    tell_more(h, &s, collective);
    mw__draft_weight(s.draft, 20);
    mw__draft_direction(s.draft, mw__dt_pass_now(h));
    if (!s.mesh.naxis) mw__missing(h->e, "the size of the mesh; --mesh tp=2 would supply it");
    if (h->r->last.shaped && s.axis < h->r->last.nplacement && s.how == MW_HOW_ASSUMED && !s.own)
        h->r->last.placement[s.axis] = s.to;
    h->r->step++;
    return true;
}
