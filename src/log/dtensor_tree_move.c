/* Redistributions in a tree. The outer line names an argument of the op above it and the change,
 * the inner one the local tensor and each state on the way:
 *
 *     redistribute_input [implicit] (1, S(0) -> R)
 *       redistribute_input(t: f32[1, 32], trace: S(0)->R)
 *
 * One with a tensor that stands below no such line was not made by an op: somebody asked for it. */
#include "log/dtensor_tree.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- reading
 * ----------------------------------------------------------------------------------------- */

const char *mw__tree_changed(const dt_tensor *from, const dt_tensor *to, int *ret_axis)
{
    *ret_axis = -1;
    for (int a = 0; a < from->nplacement && a < to->nplacement; a++) {
        const char *c = mw__dt_collective(&from->placement[a], &to->placement[a]);
        if (!c) continue;
        *ret_axis = a;
        return c;
    }
    return NULL;
}

static void add_step(tree_frame *f, const dt_tensor *from, const dt_tensor *to)
{
    int changed = 0, axis = -1;
    for (int a = 0; a < from->nplacement && a < to->nplacement; a++)
        if (mw__dt_collective(&from->placement[a], &to->placement[a])) {
            changed++;
            axis = a;
        }
    if (changed && f->nstep < TREE_STEPS) f->step_axis[f->nstep++] = changed == 1 ? axis : -1;
}

static bool read_state(const char *at, const char *end, dt_tensor *to)
{
    while (end > at && (end[-1] == '-' || end[-1] == ' '))
        end--;
    return mw__dt_read_placements(at, end - at, to);
}

/* `S(0) -> R`, `[S(0)], [R]`, `trace: S(0)->R-->R`: all states. */
static bool read_states(const char *at, const char *end, tree_frame *f)
{
    if (strncmp(at, "trace: ", 7) == 0) at += 7;
    const char *arrow = strstr(at, "->"), *comma = strstr(at, "], [");
    dt_tensor last = {.nplacement = 0};
    if ((!arrow || arrow > end) && (!comma || comma > end)) { /* `trace: R`: it stays */
        if (!read_state(at, end, &f->from)) return false;
        f->to = f->from;
        return true;
    }
    if (!arrow || arrow > end) {
        if (!read_state(at, comma + 1, &f->from) || !read_state(comma + 3, end, &f->to))
            return false;
        add_step(f, &f->from, &f->to);
        return true;
    }
    const char *info = strstr(at, ", (["); /* a plan that is printed after it */
    if (info && info < end) end = info;
    for (int n = 0; at && at < end; n++) {
        dt_tensor state = {.nplacement = 0};
        arrow = strstr(at, "->");
        const char *stop = arrow && arrow < end ? arrow : end;
        if (!read_state(at, stop, &state)) return false;
        if (n == 0)
            f->from = state;
        else
            add_step(f, &last, &state);
        last = state;
        at = stop < end ? stop + 2 : end;
        at += strspn(at, " ");
    }
    f->to = last;
    return last.placed;
}

static void read_logical(const dt_here *h, tree_frame *f)
{
    const char *at = strstr(h->at, "logical_shape=");
    mw_py *node;
    if (!at) return;
    if (mw__py_read(at + 14, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return;
    }
    f->nlogical = MW_MAX(mw__py_ints(node, f->logical, DT_DIMS), 0);
}

/* The bracket that closes the one at `open`, or NULL. */
static const char *closing(const char *open, const char *end)
{
    int depth = 0;
    for (const char *p = open; p < end; p++) {
        depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
        if (depth == 0) return p;
    }
    return NULL;
}

static bool read_line(const dt_here *h, tree_frame *f)
{
    static const char word[] = "redistribute_input";
    if (!mw__dt_starts(h, word)) return false;
    const char *open = strchr(h->at, '(');
    if (!open || open - h->at > 40) return false;
    const char *end = closing(open, h->end), *rest = open + 1;
    if (!end) return false;
    f->explicit_said = strstr(h->at, "[explicit]") != NULL;
    f->implicit_said = strstr(h->at, "[implicit]") != NULL;
    if (*rest >= '0' && *rest <= '9') {
        f->operand = (int)strtol(rest, NULL, 10);
        rest = strchr(rest, ',');
    } else {
        mw_py *node;
        if (mw__py_read(rest, end, h->scratch, &node) != MW_OK) {
            h->e->failed = true;
            return false;
        }
        if (!mw__dt_read_tensor(node, &f->piece)) return false;
        rest = node->at + node->length;
    }
    if (!rest || rest >= end) return false;
    rest += strspn(rest, ", ");
    read_logical(h, f);
    return read_states(rest, end, f);
}

static bool masked(const dt_tensor *t)
{
    for (int a = 0; a < t->nplacement; a++)
        if (t->placement[a].kind == 'M') return true;
    return false;
}

bool mw__tree_move_line(const dt_here *h, dt_tree *t)
{
    tree_frame f = {
        .operand = -1, .bytes = -1, .first_bytes = -1, .op = "", .group_how = MW_HOW_DERIVED};
    if (!read_line(h, &f)) return h->e->failed;
    mw__tree_pop(h, t, h->line->indent);
    tree_frame *outer = t->depth ? &t->at[t->depth - 1] : NULL;
    if (outer && outer->move && f.operand < 0) { /* the same one, closer */
        outer->piece = f.piece;
        outer->nstep = f.nstep;
        memcpy(outer->step_axis, f.step_axis, sizeof f.step_axis);
        memcpy(outer->logical, f.logical, sizeof f.logical);
        outer->nlogical = f.nlogical;
        return true;
    }
    /* what is asked for stands deeper than the last op, but is not that op's */
    while (f.operand < 0 && t->depth && !t->at[t->depth - 1].module)
        mw__tree_pop(h, t, t->at[t->depth - 1].indent);
    outer = t->depth ? &t->at[t->depth - 1] : NULL;
    bool masks = f.to.nplacement && f.nstep == 0 && masked(&f.to); /* R to a mask: a label */
    if (outer && outer->call && f.operand >= 0 && f.operand < 4 && !masks) {
        outer->moved |= 1u << f.operand;
        outer->wants[f.operand] = f.to;
    }
    if (outer && outer->call && f.operand >= 0) f.op = outer->call->word;
    tree_frame *made = mw__tree_push(h, t);
    f.indent = made->indent;
    f.line = made->line;
    f.move = mw__draft(h->e, h->line, "dtensor", "redistribute");
    mw__draft_weight(f.move, 20);
    mw__draft_direction(f.move, mw__dt_pass_now(h));
    *made = f;
    if (f.operand == 0) {
        t->first_moved.indent = f.indent;
        t->first_moved.line = f.line;
        t->first_moved.op_line = outer && outer->call ? outer->line : 0;
        t->first_moved.from = f.from;
        t->first_moved.to = f.to;
    }
    return true;
}

/* ---- telling
 * ----------------------------------------------------------------------------------------- */

/* Mesh sizes with which a piece of `local` positions of `size` can be that of a first rank. */
static void possible_sizes(const dt_here *h, int64_t size, int64_t local, mw_str *to)
{
    for (int n = 2; n <= 64 && n <= size; n++) {
        char text[24];
        mw_mesh *mesh;
        mw_layout l;
        int64_t shape[1];
        (void)snprintf(text, sizeof text, "a=%d", n);
        if (mw__dt_failed(h, mw_mesh_parse(text, &mesh))) return;
        (void)snprintf(text, sizeof text, "[%lld@a]", (long long)MW_MIN(size, 1 << 20));
        if (!mw__dt_failed(h, mw_layout_parse(mesh, text, &l))) {
            mw_layout_local_shape(mesh, &l, 0, shape);
            if (shape[0] == local) mw__str_printf(to, "%s%d", to->length ? " or " : "", n);
        }
        mw_mesh_unref(mesh);
    }
    mw_error_clear();
}

static void tell_logical(const dt_here *h, tree_frame *f)
{
    mw_str shape = {0}, sizes = {0};
    mw__dt_shape_str(f->logical, f->nlogical, &shape);
    mw__fact(f->move, "logical_shape", MW_HOW_STATED, mw__dt_line_from(h, f->line),
             "%s: the whole that this step puts together", mw__str_text(&shape));
    for (int d = 0; d < f->nlogical && d < f->piece.ndim; d++)
        if (f->piece.shape[d] != f->logical[d] && f->logical[d] < (1 << 20))
            possible_sizes(h, f->logical[d], f->piece.shape[d], &sizes);
    if (sizes.length && !f->group)
        mw__fact(f->move, "ranks on the mesh axis", MW_HOW_DERIVED,
                 "DTensor's chunks: those sizes give a first rank such a piece", "%s",
                 mw__dt_text(h, &sizes));
    if (!f->group)
        mw__missing(h->e,
                    "the size of the mesh of line %lld: it is not printed, only derived from "
                    "a local and a logical shape",
                    (long long)f->line);
    int64_t n = sizes.length && !strstr(mw__str_text(&sizes), "or")
                    ? strtoll(mw__str_text(&sizes), NULL, 10)
                    : 0;
    int64_t one = mw__dt_bytes(&f->piece), whole = 0;
    dt_tensor t = {.shaped = true, .ndim = f->nlogical, .dtype = f->piece.dtype};
    memcpy(t.shape, f->logical, sizeof f->logical);
    whole = mw__dt_bytes(&t);
    if (n && one >= 0 && whole >= 0 && one < INT64_MAX / 64) {
        f->group = n;
        f->bytes = one * (n - 1);
        mw__fact(f->move, "bytes", MW_HOW_DERIVED, "every piece is padded to the largest",
                 "%lld B useful, %lld B with padding, %lld B received per rank", (long long)whole,
                 (long long)(one * n), (long long)f->bytes);
    }
    mw__dt_done(h, &shape);
    mw__dt_done(h, &sizes);
}

static void tell_account(const dt_here *h, const dt_tree *t, const tree_frame *f,
                         const tree_frame *op)
{
    const char *from = mw__dt_line_from(h, f->line), *module = mw__tree_module(t);
    if (module)
        mw__fact(f->move, "in module", MW_HOW_STATED, "a line above it names it", "%s", module);
    if (op && f->operand >= 0) {
        const char *name = mw__dt_arg_name(op->call, f->operand);
        mw__fact(f->move, "on account of", f->implicit_said ? MW_HOW_STATED : MW_HOW_DERIVED,
                 f->implicit_said
                     ? from
                     : "it stands below that op and names one of its arguments, counted from 0",
                 "%s itself: preparation of argument %d, %s (implicit)", op->call->word, f->operand,
                 name ? name : "not named");
    } else if (f->operand >= 0) {
        mw__fact(f->move, "on account of", MW_HOW_DERIVED, "it names an argument, counted from 0",
                 "the op that is printed next: preparation of its argument %d", f->operand);
    } else if (f->explicit_said) {
        mw__fact(f->move, "on account of", MW_HOW_STATED, from,
                 "an explicit request ([explicit]): redistribute, full_tensor, a module's hook, or "
                 "the backward of one");
    } else if (t->nop) {
        mw__fact(f->move, "on account of", MW_HOW_DERIVED,
                 "an op's own preparation stands below a line that names its argument; none stands "
                 "above this one",
                 "an explicit request: redistribute, full_tensor, a module's hook, or the backward "
                 "of one");
    } else {
        mw__fact(f->move, "on account of", MW_HOW_DERIVED, "the line names no argument",
                 "unknown: an explicit redistribute, a hook, or an op's preparation");
        mw__missing(h->e, "who asked for the redistribution of line %lld", (long long)f->line);
    }
}

/* The whole tensor, from a piece and how it is cut; false where that is ambiguous. */
static bool whole_of(const dt_tree *t, const tree_frame *f, dt_tensor *ret, dt_mesh *ret_mesh)
{
    *ret = f->piece;
    ret->local = false;
    ret->placed = true;
    ret->nplacement = f->from.nplacement;
    memcpy(ret->placement, f->from.placement, sizeof ret->placement);
    if (!f->piece.shaped || !mw__tree_mesh(t, f->from.nplacement, ret_mesh)) return false;
    for (int a = 0; a < f->from.nplacement; a++) {
        const dt_placement *p = &f->from.placement[a];
        int d = p->dim < 0 ? p->dim + ret->ndim : p->dim;
        if (p->kind != 'S' && p->kind != '_') continue;
        if (d < 0 || d >= ret->ndim ||
            __builtin_mul_overflow(ret->shape[d], ret_mesh->size[a], &ret->shape[d]))
            return false;
    }
    return true;
}

/* What else could have been done: where the whole tensor's shape is known from its piece (pieces of
 * one size), and the mesh. */
static void tell_other_ways(const dt_here *h, const dt_tree *t, tree_frame *f, int axis)
{
    dt_tensor whole;
    dt_mesh mesh;
    if (f->nlogical || f->nstep != 1 || axis < 0 || !whole_of(t, f, &whole, &mesh)) return;
    const mw_mesh *made = mw__dt_mesh_of(h, &mesh);
    if (f->operand < 0) /* for an op's own preparation its ways are told */
        mw__dt_other_ways(h, f->move, made, &whole, axis, &f->to.placement[axis], MW_HOW_ASSUMED,
                          "pieces of one size on all ranks, as on this one");
    const dt_placement *a = &f->from.placement[axis], *b = &f->to.placement[axis];
    bool shards = a->kind == 'S' && b->kind == 'S';
    mw_layout from, to;
    const char *why;
    dt_tensor after = whole;
    after.placement[axis] = *b;
    if (f->operand < 0) mw__dt_move_waits(h, f->move, axis, a, &after, f->bytes);
    if (!shards || !f->gathers || f->bytes < 0 || !mw__dt_layout(h, made, &whole, &from, &why) ||
        !mw__dt_layout(h, made, &after, &to, &why))
        return;
    int64_t least = mw__dt_moving(h, made, &from, &to, NULL);
    if (least >= 0 && least < f->bytes)
        mw__problem(f->move, "needless-movement", f->bytes, least,
                    "use a backend that has all-to-all (Gloo has none)",
                    "the whole tensor is gathered and sliced where an all-to-all moves each rank's "
                    "piece alone");
}

static void say(const dt_here *h, const tree_frame *f, const tree_frame *op, const char *collective)
{
    mw_str a = {0}, b = {0};
    const char *name = op && f->operand >= 0 ? mw__dt_arg_name(op->call, f->operand) : NULL;
    char of[64] = "a tensor";
    mw__dt_placements_str(&f->from, &a);
    mw__dt_placements_str(&f->to, &b);
    mw__fact(f->move, "from", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s", mw__str_text(&a));
    mw__fact(f->move, "to", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s", mw__str_text(&b));
    if (f->operand >= 0)
        (void)snprintf(of, sizeof of, "argument %d%s%.30s", f->operand, name ? ", " : "",
                       name ? name : "");
    char bytes[48] = "";
    if (collective && f->bytes >= 0)
        (void)snprintf(bytes, sizeof bytes, ", %lld B received per rank", (long long)f->bytes);
    mw__draft_says(f->move, "%s goes from %s to %s%s%s: %s%s.", of, mw__str_text(&a),
                   mw__str_text(&b), op && f->operand >= 0 ? " for " : "",
                   op && f->operand >= 0 ? op->call->word : "",
                   collective ? collective : "nothing moves", bytes);
    mw__dt_done(h, &a);
    mw__dt_done(h, &b);
}

/* Shard(-1) is Shard(ndim - 1). */
static void count_from_start(dt_tensor *t, int ndim)
{
    for (int a = 0; ndim && a < t->nplacement; a++)
        if (t->placement[a].dim < 0) t->placement[a].dim += ndim;
}

static int dims_of(const tree_frame *f, const tree_frame *op)
{
    if (f->piece.shaped) return f->piece.ndim;
    if (!op || f->operand < 0 || f->operand >= op->call->narg ||
        op->call->arg[f->operand].kind != DT_TENSOR)
        return 0;
    return op->call->arg[f->operand].tensor[0].ndim;
}

/* Could n ranks leave such a first piece? Where a step's whole is printed, its dims tell. */
static bool fits(const tree_frame *f, int64_t n)
{
    for (int d = 0; d < f->nlogical && d < f->piece.ndim; d++)
        if (f->piece.shape[d] != f->logical[d] && f->logical[d] > 0 &&
            (f->logical[d] - 1) / n + 1 != f->piece.shape[d])
            return false;
    return true;
}

static const char one_size[] = "of the sizes that the pieces allow, the one that divides";
static const char given[] = "the size given with --mesh";

/* Its one collective, where no line below states a size: lines after it may have told that of the
 * mesh axis, or --mesh does. Where no collective is printed at all, the change tells which it is.
 */
static void late_size(const dt_here *h, const dt_tree *t, tree_frame *f, const char *kind, int axis)
{
    dt_mesh m = {.naxis = 0};
    mw_how how;
    int naxis = f->from.nplacement;
    if (f->ncollective > 1 || f->bytes >= 0 || f->group || f->nstep != 1 || axis < 0 || !kind)
        return;
    int64_t n = mw__tree_size(t, naxis, axis, &how);
    if (n < 1 && h->e->mesh) {
        mw__dt_mesh_complete(h, &m, naxis);
        n = m.naxis == naxis ? m.size[axis] : 0;
        how = MW_HOW_ASSUMED;
        f->by_option = n > 0 && fits(f, n);
    }
    if (n < 1 || !fits(f, n)) return;
    if (!f->ncollective) f->first_in = f->piece.shaped ? mw__dt_bytes(&f->piece) : -1;
    f->bytes = f->first_bytes = mw__tree_received(kind, f->first_in, n);
    f->group = n;
    f->group_how = how;
}

void mw__tree_move_tell(const dt_here *h, dt_tree *t, tree_frame *f)
{
    int axis;
    tree_frame *op = mw__tree_op_above(t);
    count_from_start(&f->from, dims_of(f, op));
    count_from_start(&f->to, dims_of(f, op));
    const char *collective = mw__tree_changed(&f->from, &f->to, &axis);
    if (f->nstep == 1) axis = f->step_axis[0];
    if (f->collective) collective = f->collective;
    if (f->nlogical) tell_logical(h, f);
    late_size(h, t, f, collective, axis);
    say(h, f, op, collective);
    if (f->piece.shaped) {
        mw_str text = {0};
        mw__dt_tensor_str(&f->piece, &text);
        mw__fact(f->move, "local input", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s",
                 mw__str_text(&text));
        mw__dt_done(h, &text);
    }
    mw__fact(f->move, "collective", f->collective ? MW_HOW_STATED : MW_HOW_DERIVED,
             f->collective ? "the lines below it" : "what this change of placement takes", "%s%s",
             collective ? collective : "none", f->ncollective > 1 ? ", and more below it" : "");
    if (f->group && (f->collective || f->by_option))
        mw__fact(f->move, "ranks that talk", f->group_how,
                 f->by_option                     ? given
                 : f->group_how == MW_HOW_ASSUMED ? one_size
                 : f->first_kind                  ? "the mesh axis, as the pieces around it show"
                                                  : "group size of the collective",
                 "%lld", (long long)f->group);
    if (f->bytes >= 0)
        mw__fact(f->move, "received per rank", f->group_how,
                 f->by_option                     ? given
                 : f->group_how == MW_HOW_ASSUMED ? one_size
                                                  : "local shapes and group size",
                 "%lld B", (long long)f->bytes);
    else if (collective)
        mw__missing(h->e,
                    "the bytes of the redistribution in line %lld: shape or group size is not in "
                    "the text",
                    (long long)f->line);
    tell_account(h, t, f, op);
    if (collective) mw__dt_tell_masked(h, f->move, &f->from);
    tell_other_ways(h, t, f, axis);
    if (collective)
        mw__draft_moved(f->move, collective,
                        axis >= 0 ? mw__dt_axis_name(h, &h->s->last_mesh, axis) : "", f->op,
                        f->nlogical && !f->ncollective ? f->bytes : f->first_bytes);
}
