/* DebugMode's trees. Depth says who caused what: a redistribution belongs to the op above it, a
 * collective to the redistribution above it. `dt` is a whole tensor, `t` a rank's piece. An entry
 * is told when the lines below it are over, because these tell the size of the mesh. */
#include "log/dtensor.h"

#include <stdio.h>
#include <stdlib.h>

enum { TREE_DEPTH = 32 };

typedef struct frame {
    int indent;
    int64_t line;
    dt_call *call;  /* an op on whole tensors */
    mw_draft *move; /* a redistribution */
    int operand;    /* of the op above, or -1 */
    dt_tensor from, to, piece;
    bool explicit_said, implicit_said, told_from;
    int64_t group; /* ranks of its collectives; 0 not known */
    int64_t bytes; /* received per rank, of its collectives; -1 not known */
    int ncollective;
    const char *collective;
    int64_t logical[DT_DIMS];
    int nlogical;
    unsigned moved;     /* mask of operands that a redistribution below moves */
    dt_tensor wants[4]; /* where, of the first of these */
} frame;

typedef struct dt_tree {
    frame at[TREE_DEPTH];
    int depth;
    struct { /* a redistribution of argument 0, for in-place ops */
        int indent;
        int64_t line;
        dt_tensor from, to;
    } first_moved;
} dt_tree;

static dt_tree *tree_of(const dt_here *h)
{
    if (!h->s->tree) h->s->tree = mw__arena_zalloc(&h->e->arena, sizeof *h->s->tree);
    if (!h->s->tree) h->e->failed = true;
    return h->s->tree;
}

static frame *above(dt_tree *t, bool moves)
{
    for (int i = t->depth - 1; i >= 0; i--)
        if (moves ? t->at[i].move != NULL : t->at[i].call != NULL) return &t->at[i];
    return NULL;
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

static void tell_logical(const dt_here *h, frame *f)
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

static const char *changed(const dt_here *h, const frame *f, int *ret_axis)
{
    *ret_axis = -1;
    for (int a = 0; a < f->from.nplacement && a < f->to.nplacement; a++) {
        const char *c = mw__dt_collective(&f->from.placement[a], &f->to.placement[a]);
        if (!c) continue;
        *ret_axis = a;
        (void)h;
        return c;
    }
    return NULL;
}

static void tell_account(const dt_here *h, const frame *f, const frame *op)
{
    const char *from = mw__dt_line_from(h, f->line);
    if (f->explicit_said) {
        mw__fact(f->move, "on account of", MW_HOW_STATED, from,
                 "an explicit request ([explicit])%s%s", op ? "; it is printed below " : "",
                 op ? op->call->word : "");
        return;
    }
    if (op && f->operand >= 0) {
        const char *name = mw__dt_arg_name(op->call, f->operand);
        mw__fact(f->move, "on account of", MW_HOW_DERIVED,
                 "it stands below that op and names one of its arguments, counted from 0",
                 "%s itself: preparation of argument %d, %s (implicit)", op->call->word, f->operand,
                 name ? name : "not named");
    } else if (f->operand >= 0) {
        mw__fact(f->move, "on account of", MW_HOW_DERIVED, "it names an argument, counted from 0",
                 "the op that is printed next: preparation of its argument %d", f->operand);
    } else {
        mw__fact(f->move, "on account of", MW_HOW_DERIVED, "the line names no argument",
                 "unknown: an explicit redistribute, a hook, or an op's preparation");
        mw__missing(h->e, "who asked for the redistribution of line %lld", (long long)f->line);
    }
}

static void tell_frame_move(const dt_here *h, dt_tree *t, frame *f)
{
    int axis;
    frame *op = above(t, false);
    const char *collective = changed(h, f, &axis);
    mw_str a = {0}, b = {0};
    mw__dt_placements_str(&f->from, &a);
    mw__dt_placements_str(&f->to, &b);
    mw__fact(f->move, "from", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s", mw__str_text(&a));
    mw__fact(f->move, "to", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s", mw__str_text(&b));
    if (f->piece.shaped) {
        mw_str text = {0};
        mw__dt_tensor_str(&f->piece, &text);
        mw__fact(f->move, "local input", MW_HOW_STATED, mw__dt_line_from(h, f->line), "%s",
                 mw__str_text(&text));
        mw__dt_done(h, &text);
    }
    if (f->collective) collective = f->collective;
    if (f->nlogical) tell_logical(h, f);
    mw__fact(f->move, "collective", f->collective ? MW_HOW_STATED : MW_HOW_DERIVED,
             f->collective ? "the lines below it" : "what this change of placement takes", "%s",
             collective ? collective : "none");
    if (f->group && f->collective)
        mw__fact(f->move, "ranks that talk", MW_HOW_DERIVED, "group size of the collective", "%lld",
                 (long long)f->group);
    if (f->bytes >= 0)
        mw__fact(f->move, "received per rank", MW_HOW_DERIVED, "local shapes and group size",
                 "%lld B", (long long)f->bytes);
    else if (collective)
        mw__missing(h->e,
                    "the bytes of the redistribution in line %lld: shape or group size is not in "
                    "the text",
                    (long long)f->line);
    tell_account(h, f, op);
    const char *name = op && f->operand >= 0 ? mw__dt_arg_name(op->call, f->operand) : NULL;
    char of[64] = "a tensor";
    if (f->operand >= 0)
        (void)snprintf(of, sizeof of, "argument %d%s%.30s", f->operand, name ? ", " : "",
                       name ? name : "");
    mw__draft_says(f->move, "%s goes from %s to %s%s%s: %s.", of, mw__str_text(&a),
                   mw__str_text(&b), op && f->operand >= 0 ? " for " : "",
                   op && f->operand >= 0 ? op->call->word : "",
                   collective ? collective : "nothing moves");
    if (collective)
        mw__draft_moved(f->move, collective,
                        axis >= 0 ? mw__dt_axis_name(h, &h->s->last_mesh, axis) : "",
                        op ? op->call->word : "", f->bytes);
    mw__dt_done(h, &a);
    mw__dt_done(h, &b);
}

/* What the redistributions below an op make of its operands. */
static void wanted_of(const dt_here *h, frame *f)
{
    dt_call *call = f->call;
    if (!f->moved) return;
    call->wanted = mw__arena_alloc(&h->e->arena, (size_t)call->narg * sizeof *call->wanted);
    if (!call->wanted) {
        h->e->failed = true;
        return;
    }
    memcpy(call->wanted, call->arg, (size_t)call->narg * sizeof *call->wanted);
    for (int i = 0; i < call->narg && i < 4; i++) {
        if (!(f->moved >> i & 1) || call->arg[i].kind != DT_TENSOR) continue;
        dt_tensor *t = mw__arena_alloc(&h->e->arena, sizeof *t);
        if (!t) {
            h->e->failed = true;
            return;
        }
        *t = call->arg[i].tensor[0];
        memcpy(t->placement, f->wants[i].placement, sizeof t->placement);
        call->wanted[i].tensor = t;
    }
    call->nwanted = call->narg;
    call->needs = call->has_needs = call->in_tree = true;
    call->out_line = f->line;
}

static void tell_frame(const dt_here *h, dt_tree *t)
{
    frame *f = &t->at[t->depth];
    if (f->move) tell_frame_move(h, t, f);
    if (!f->call) return;
    if (!f->call->mesh.naxis && f->group > 1 && f->group <= MW_MESH_RANKS) {
        int n = 0;
        for (int i = 0; i < f->call->narg; i++)
            if (f->call->arg[i].tensor) n = MW_MAX(n, f->call->arg[i].tensor[0].nplacement);
        if (n == 1) {
            f->call->mesh = (dt_mesh){
                .naxis = 1, .size = {(int)f->group}, .how = MW_HOW_DERIVED, .line = f->line};
            h->s->last_mesh = f->call->mesh;
        }
    }
    wanted_of(h, f);
    mw__dt_call_tell(h, f->call);
    if (!f->ncollective) return;
    const mw_entry *entry = mw__draft_entry(f->call->draft);
    mw_str text = {0};
    for (int i = 0, n = 0; i < f->call->narg && n < 2; i++)
        if (f->call->arg[i].tensor) {
            mw__str_puts(&text, n++ ? " and " : "");
            mw__dt_tensor_str(&f->call->arg[i].tensor[0], &text);
        }
    if (entry)
        mw__draft_says(f->call->draft, "%s on %s: %d collective%s below it.", f->call->word,
                       mw__str_text(&text), f->ncollective, f->ncollective == 1 ? "" : "s");
    mw__dt_done(h, &text);
}

static void pop_to(const dt_here *h, dt_tree *t, int indent)
{
    while (t->depth > 0 && t->at[t->depth - 1].indent >= indent) {
        t->depth--;
        frame *f = &t->at[t->depth], *up = t->depth ? &t->at[t->depth - 1] : NULL;
        tell_frame(h, t);
        if (!up) continue;
        if (!up->group) up->group = f->group;
        up->ncollective += f->ncollective;
        if (up->move && !f->call) {
            up->collective = up->collective ? up->collective : f->collective;
            if (f->bytes >= 0) up->bytes = MW_MAX(up->bytes, 0) + f->bytes;
        }
    }
}

void mw__dt_tree_end(const dt_here *h)
{
    if (h->s->tree) pop_to(h, h->s->tree, -1);
}

static frame *push(const dt_here *h, dt_tree *t)
{
    if (t->depth == TREE_DEPTH) { /* too deep: the innermost is told now */
        t->depth--;
        tell_frame(h, t);
    }
    frame *f = &t->at[t->depth++];
    *f = (frame){.indent = h->line->indent, .line = h->first, .operand = -1, .bytes = -1};
    return f;
}

/* ---- redistributions
 * --------------------------------------------------------------------------------- */

/* `S(0) -> R`, `[S(0)], [R]`, `trace: S(0)->R`: first and last states. */
static bool states(const char *at, const char *end, dt_tensor *from, dt_tensor *to)
{
    if (strncmp(at, "trace: ", 7) == 0) at += 7;
    const char *arrow = strstr(at, "->"), *last = arrow, *comma = strstr(at, "], [");
    if (!arrow || arrow > end) {
        if (!comma || comma > end) return false;
        return mw__dt_read_placements(at, comma + 1 - at, from) &&
               mw__dt_read_placements(comma + 3, end - comma - 3, to);
    }
    for (const char *p = arrow; p && p < end; p = strstr(p + 2, "->"))
        last = p;
    const char *stop = arrow > at && arrow[-1] == '-' ? arrow - 1 : arrow;
    const char *tail = last + 2, *tail_end = end;
    const char *info = strstr(tail, ", (");
    if (info && info < end) tail_end = info;
    return mw__dt_read_placements(at, stop - at, from) &&
           mw__dt_read_placements(tail, tail_end - tail, to);
}

static void read_logical(const dt_here *h, frame *f)
{
    const char *at = strstr(h->at, "logical_shape=");
    mw_py *node;
    if (!at) return;
    if (mw__py_read(at + 14, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return;
    }
    int n = mw__py_ints(node, f->logical, DT_DIMS);
    f->nlogical = MW_MAX(n, 0);
}

static bool redistribute_line(const dt_here *h, dt_tree *t)
{
    static const char word[] = "redistribute_input";
    if (!mw__dt_starts(h, word)) return false;
    const char *open = strchr(h->at, '('), *end = h->end;
    if (!open || open - h->at > 40) return false;
    while (end > open && end[-1] != ')')
        end--;
    if (end == open) return false;
    end--;
    pop_to(h, t, h->line->indent);
    frame *outer = t->depth ? &t->at[t->depth - 1] : NULL;
    frame f = {.operand = -1, .bytes = -1};
    f.explicit_said = strstr(h->at, "[explicit]") != NULL;
    f.implicit_said = strstr(h->at, "[implicit]") != NULL;
    const char *rest = open + 1;
    if (*rest >= '0' && *rest <= '9') {
        f.operand = (int)strtol(rest, NULL, 10);
        rest = strchr(rest, ',');
    } else {
        mw_py *node;
        if (mw__py_read(rest, end, h->scratch, &node) != MW_OK) {
            h->e->failed = true;
            return true;
        }
        if (!mw__dt_read_tensor(node, &f.piece)) return false;
        rest = node->at + node->length;
    }
    if (!rest || rest >= end) return false;
    rest += strspn(rest, ", ");
    if (!states(rest, end, &f.from, &f.to)) return false;
    if (outer && outer->move && f.operand < 0) { /* the same one, closer */
        outer->piece = f.piece;
        read_logical(h, outer);
        return true;
    }
    frame *made = push(h, t);
    f.indent = made->indent;
    f.line = made->line;
    if (outer && outer->call && f.operand >= 0 && f.operand < 4) {
        outer->moved |= 1u << f.operand;
        outer->wants[f.operand] = f.to;
    }
    f.move = mw__draft(h->e, h->line, "dtensor", "redistribute");
    mw__draft_weight(f.move, 20);
    read_logical(h, &f);
    *made = f;
    if (f.operand == 0) {
        t->first_moved.indent = f.indent;
        t->first_moved.line = f.line;
        t->first_moved.from = f.from;
        t->first_moved.to = f.to;
    }
    return true;
}

/* ---- collectives
 * -------------------------------------------------------------------------------------- */

/* What a rank receives, of the piece that goes in. */
static int64_t received(const char *kind, int64_t piece, int64_t n)
{
    if (piece < 0 || n < 1 || n > MW_MESH_RANKS || piece > INT64_MAX / MW_MESH_RANKS / 2) return -1;
    if (strcmp(kind, "all_gather") == 0) return piece * (n - 1);
    if (strcmp(kind, "all_reduce") == 0) return 2 * (n - 1) * piece / n;
    return piece / n * (n - 1);
}

static bool collective_line(const dt_here *h, dt_tree *t)
{
    static const struct {
        const char *word, *kind;
    } words[] = {{"all_gather_into_tensor", "all_gather"},
                 {"reduce_scatter_tensor", "reduce_scatter"},
                 {"all_reduce", "all_reduce"},
                 {"all_to_all_single", "all_to_all"},
                 {"shard_dim_alltoall", "all_to_all"},
                 {"broadcast", "broadcast"},
                 {"wait_tensor", NULL}};
    bool c10d = mw__dt_starts(h, "_c10d_functional::") || mw__dt_starts(h, "c10d_functional::") ||
                mw__dt_starts(h, "_c10d_functional_autograd::") || mw__dt_starts(h, "c10d::") ||
                mw__dt_starts(h, "_dtensor::");
    if (!c10d) return false;
    const char *name = strstr(h->at, "::") + 2;
    int which = -1;
    for (int i = 0; i < MW_COUNT(words) && which < 0; i++)
        if (strncmp(name, words[i].word, strlen(words[i].word)) == 0) which = i;
    if (which < 0) return false;
    pop_to(h, t, h->line->indent);
    if (!words[which].kind) return true; /* waiting moves nothing */
    mw_py *node;
    if (mw__py_read(h->at, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    const mw_py *call = node->kind == MW_PY_SEQ ? node->first : node;
    dt_tensor piece = {.nplacement = 0};
    (void)mw__dt_read_tensor(mw__py_child(call, 0), &piece);
    int64_t group = 0;
    for (const mw_py *c = call->first ? call->first->next : NULL; c && c->next; c = c->next)
        if (c->kind == MW_PY_INT && strcmp(words[which].kind, "all_reduce") != 0) {
            group = c->i;
            if (strcmp(words[which].word, "shard_dim_alltoall") != 0) break;
        }
    if (strcmp(words[which].word, "shard_dim_alltoall") == 0) group = 0; /* these are dims */
    frame *move = above(t, true);
    int64_t bytes = received(words[which].kind, mw__dt_bytes(&piece), group);
    if (move) {
        move->collective = words[which].kind;
        if (group) move->group = group;
        if (!move->piece.shaped) move->piece = piece;
        if (bytes >= 0) move->bytes = MW_MAX(move->bytes, 0) + bytes;
        move->ncollective++;
        return true;
    }
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "collective");
    mw_str text = {0};
    mw__dt_tensor_str(&piece, &text);
    mw__fact(d, "local input", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s",
             mw__str_text(&text));
    if (group)
        mw__fact(d, "ranks that talk", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%lld",
                 (long long)group);
    if (bytes >= 0)
        mw__fact(d, "received per rank", MW_HOW_DERIVED, "local shape and group size", "%lld B",
                 (long long)bytes);
    else
        mw__missing(h->e, "the size of the group of the %s in line %lld", words[which].kind,
                    (long long)h->first);
    mw__draft_says(d, "One %s of a local %s, below no redistribution.", words[which].kind,
                   mw__str_text(&text));
    mw__draft_moved(d, words[which].kind, "", "", bytes);
    mw__draft_weight(d, 15);
    mw__dt_done(h, &text);
    return true;
}

/* ---- ops
 * ---------------------------------------------------------------------------------------------- */

static bool has_whole(const dt_call *call, bool *ret_any)
{
    bool whole = false;
    *ret_any = false;
    for (int i = 0; i < call->narg; i++)
        for (int k = 0; call->arg[i].tensor && k < call->arg[i].count; k++) {
            *ret_any = true;
            whole = whole || !call->arg[i].tensor[k].local;
        }
    return whole;
}

/* The op on local pieces, below itself on whole tensors: these tell how many ranks there are. */
static void local_twin(const dt_here *h, dt_tree *t, const dt_call *call)
{
    (void)h;
    frame *op = above(t, false);
    if (!op || op->group || strcmp(op->call->word, call->word) != 0) return;
    for (int i = 0; i < call->narg && i < op->call->narg; i++) {
        if (!call->arg[i].tensor || !op->call->arg[i].tensor) continue;
        const dt_tensor *a = &op->call->arg[i].tensor[0], *b = &call->arg[i].tensor[0];
        if (a->nplacement != 1 || a->placement[0].kind != 'S' || a->ndim != b->ndim) continue;
        int d = a->placement[0].dim;
        if (d < 0 || d >= a->ndim || b->shape[d] <= 0 || a->shape[d] % b->shape[d]) continue;
        op->group = a->shape[d] / b->shape[d];
        return;
    }
}

/* An in-place op on a copy: its target was redistributed, so the write is lost. */
static void lost_write(const dt_here *h, dt_tree *t, dt_call *call)
{
    size_t n = strlen(call->word);
    bool in_place = n > 1 && call->word[n - 1] == '_' && call->word[n - 2] != '_';
    bool moved = t->first_moved.line && t->first_moved.indent == h->line->indent;
    if (!in_place || !moved || h->first - t->first_moved.line > 8) return;
    int axis;
    frame f = {.from = t->first_moved.from, .to = t->first_moved.to};
    if (!changed(h, &f, &axis)) return;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "call");
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = call->word;
    mw_str a = {0}, b = {0};
    mw__dt_placements_str(&f.from, &a);
    mw__dt_placements_str(&f.to, &b);
    mw__draft_says(d,
                   "%s writes into a temporary: its target was redistributed in line %lld, so the "
                   "write is lost.",
                   call->word, (long long)t->first_moved.line);
    mw__problem(
        d, "write-lost", -1, -1,
        "redistribute the tensor itself first (x = x.redistribute(...)), or use the op that "
        "makes a new tensor",
        "%s is in place, but its target (argument 0) goes from %s to %s for it (line %lld): "
        "the copy is changed, the tensor keeps its old pieces and its old label",
        call->word, mw__str_text(&a), mw__str_text(&b), (long long)t->first_moved.line);
    mw__draft_weight(d, 70);
    mw__dt_done(h, &a);
    mw__dt_done(h, &b);
    t->first_moved.line = 0;
}

static bool op_line(const dt_here *h, dt_tree *t)
{
    bool aten = mw__dt_starts(h, "aten::"),
         torch = mw__dt_starts(h, "torch.") || mw__dt_starts(h, "<method '");
    bool typed = strstr(h->at, "t: ") || strstr(h->at, "dt$") || strstr(h->at, "(t$");
    if ((!aten && !torch) || !typed) return false;
    mw_py *node;
    if (torch) { /* the user's own call: its ops follow below */
        pop_to(h, t, h->line->indent);
        return true;
    }
    if (mw__py_read(h->at, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    dt_call *call = mw__dt_read_call(h, node, false);
    bool any;
    if (!call) return false;
    bool whole = has_whole(call, &any);
    if (!any) return false;
    pop_to(h, t, h->line->indent);
    if (!whole) {
        local_twin(h, t, call);
        lost_write(h, t, call);
        return true;
    }
    frame *f = push(h, t);
    mw__dt_call_begin(h, call, "call");
    f->call = call;
    return true;
}

/* `-> output: S(0)`. */
static bool output_of(const dt_here *h, dt_tree *t)
{
    dt_tensor out = {.nplacement = 0};
    if (!mw__dt_starts(h, "-> output: ")) return false;
    frame *op = above(t, false);
    if (op && mw__dt_read_placements(h->at + 11, h->end - h->at - 11, &out)) {
        mw_str text = {0};
        mw__dt_placements_str(&out, &text);
        mw__fact(op->call->draft, "output 0", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s",
                 mw__str_text(&text));
        mw__dt_done(h, &text);
    }
    return true;
}

static bool module_line(const dt_here *h, dt_tree *t)
{
    if (!mw__dt_starts(h, "[nn.Mod]")) return false;
    pop_to(h, t, h->line->indent);
    return true;
}

bool mw__dt_tree_line(const dt_here *h)
{
    dt_tree *t = tree_of(h);
    if (!t) return false;
    return redistribute_line(h, t) || collective_line(h, t) || op_line(h, t) || output_of(h, t) ||
           module_line(h, t);
}
