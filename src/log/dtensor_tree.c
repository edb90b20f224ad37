/* DebugMode's trees: which line is what. Depth says who caused what: a redistribution belongs to
 * the op above it, a collective to the redistribution above it. `dt` is a whole tensor, `t` a
 * rank's piece. An entry is told when the lines below it are over, because these tell the size of
 * the mesh.
 */
#include "log/dtensor_tree.h"

static dt_tree *tree_of(const dt_here *h)
{
    if (!h->s->tree) h->s->tree = mw__arena_zalloc(&h->e->arena, sizeof *h->s->tree);
    if (!h->s->tree) h->e->failed = true;
    return h->s->tree;
}

/* ---- the stack
 * ---------------------------------------------------------------------------------------- */

tree_frame *mw__tree_move_above(dt_tree *t)
{
    for (int i = t->depth - 1; i >= 0; i--)
        if (t->at[i].move) return &t->at[i];
    return NULL;
}

tree_frame *mw__tree_op_above(dt_tree *t)
{
    for (int i = t->depth - 1; i >= 0; i--)
        if (t->at[i].call) return &t->at[i];
    return NULL;
}

const char *mw__tree_module(const dt_tree *t)
{
    for (int i = t->depth - 1; i >= 0; i--)
        if (t->at[i].module) return t->at[i].module;
    return NULL;
}

/* What the redistributions below an op make of its operands. */
static void wanted_of(const dt_here *h, tree_frame *f)
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
    call->moved = f->ncollective > 0;
    call->out_line = f->line;
}

static void tell_call(const dt_here *h, const dt_tree *t, tree_frame *f)
{
    int naxis = 0;
    for (int i = 0; i < f->call->narg; i++)
        if (f->call->arg[i].tensor) naxis = MW_MAX(naxis, f->call->arg[i].tensor[0].nplacement);
    if (!f->call->mesh.naxis && mw__tree_mesh(t, naxis, &f->call->mesh)) {
        mw__dt_mesh_names(h, &f->call->mesh);
        f->call->mesh.line = f->line;
        h->s->last_mesh = f->call->mesh;
    }
    wanted_of(h, f);
    mw__dt_call_tell(h, f->call);
    if (!f->ncollective && !f->moved) return;
    mw_str text = {0};
    for (int i = 0, n = 0; i < f->call->narg && n < 2; i++)
        if (f->call->arg[i].tensor) {
            mw__str_puts(&text, n++ ? " and " : "");
            mw__dt_tensor_str(&f->call->arg[i].tensor[0], &text);
        }
    if (f->ncollective)
        mw__draft_says(f->call->draft, "%s on %s: %d collective%s below it.", f->call->word,
                       mw__str_text(&text), f->ncollective, f->ncollective == 1 ? "" : "s");
    else
        mw__draft_says(f->call->draft,
                       "%s on %s: an operand is cut on each rank first; nothing moves.",
                       f->call->word, mw__str_text(&text));
    mw__dt_done(h, &text);
}

static void tell_frame(const dt_here *h, dt_tree *t)
{
    tree_frame *f = &t->at[t->depth];
    if (f->move) mw__tree_move_tell(h, t, f);
    if (f->call) tell_call(h, t, f);
}

void mw__tree_pop(const dt_here *h, dt_tree *t, int indent)
{
    while (t->depth > 0 && t->at[t->depth - 1].indent >= indent) {
        t->depth--;
        tree_frame *f = &t->at[t->depth], *up = t->depth ? &t->at[t->depth - 1] : NULL;
        tell_frame(h, t);
        if (up && up->call && f->move && f->operand >= 0) up->ncollective += f->ncollective;
    }
}

void mw__dt_tree_end(const dt_here *h)
{
    if (!h->s->tree) return;
    mw__tree_block_end(h, h->s->tree);
    mw__tree_pop(h, h->s->tree, -1);
}

void mw__dt_tree_free(struct dt_tree *t)
{
    if (t) mw__tree_block_done(&t->block);
}

tree_frame *mw__tree_push(const dt_here *h, dt_tree *t)
{
    if (t->depth == TREE_DEPTH) { /* too deep: the innermost is told now */
        t->depth--;
        tell_frame(h, t);
    }
    tree_frame *f = &t->at[t->depth++];
    *f = (tree_frame){.indent = h->line->indent,
                      .line = h->first,
                      .operand = -1,
                      .op = "",
                      .bytes = -1,
                      .first_bytes = -1};
    return f;
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

/* The op on local pieces, below itself on whole tensors: these tell how many ranks there are. An
 * operand that was moved lies as the op wants it. */
static void local_twin(dt_tree *t, const dt_call *call, int indent)
{
    tree_frame *op = mw__tree_op_above(t);
    if (!op || op->indent >= indent || op->ran || strcmp(op->call->word, call->word) != 0) return;
    op->ran = true; /* what stands deeper after it is not the op's */
    for (int i = 0; i < call->narg && i < op->call->narg; i++) {
        if (call->arg[i].kind != DT_TENSOR || op->call->arg[i].kind != DT_TENSOR) continue;
        dt_tensor whole = op->call->arg[i].tensor[0];
        if (i < 4 && op->moved >> i & 1)
            memcpy(whole.placement, op->wants[i].placement, sizeof whole.placement);
        mw__tree_size_piece(t, &whole, &call->arg[i].tensor[0]);
    }
}

/* An in-place op on a copy: its target was redistributed, so the write is lost. */
static void lost_write(const dt_here *h, dt_tree *t, dt_call *call)
{
    size_t n = strlen(call->word);
    bool in_place = n > 1 && call->word[n - 1] == '_' && call->word[n - 2] != '_';
    const tree_frame *op = mw__tree_op_above(t);
    bool moved = t->first_moved.line && t->first_moved.indent == h->line->indent &&
                 t->first_moved.op_line == (op ? op->line : 0);
    int axis;
    if (op && strcmp(op->call->word, call->word) == 0) return; /* that of the op as a whole tells */
    if (!in_place || !moved || h->first - t->first_moved.line > 8 ||
        !mw__tree_changed(&t->first_moved.from, &t->first_moved.to, &axis))
        return;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "call");
    mw_entry *entry = mw__draft_entry(d);
    if (entry) entry->op = call->word;
    mw_str a = {0}, b = {0};
    mw__dt_placements_str(&t->first_moved.from, &a);
    mw__dt_placements_str(&t->first_moved.to, &b);
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
}

static bool tensors_in(const char *at)
{
    return strstr(at, "t: ") || strstr(at, "t$");
}

static bool op_line(const dt_here *h, dt_tree *t)
{
    bool aten = mw__dt_starts(h, "aten::"), torch = mw__dt_starts(h, "torch.") ||
                                                    mw__dt_starts(h, "<method '") ||
                                                    mw__dt_starts(h, "<built-in ");
    if ((!aten && !torch) || !tensors_in(h->at)) return false;
    mw_py *node;
    if (torch) { /* the user's own call: its ops follow below */
        mw__tree_pop(h, t, h->line->indent);
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
    /* an op that makes a tensor out of none, on this rank: part of a tree alone */
    if (!any && !strstr(h->at, ")  ->  ")) return false;
    if (!whole) local_twin(t, call, h->line->indent); /* before what it closes is told */
    mw__tree_pop(h, t, h->line->indent);
    if (!whole) {
        lost_write(h, t, call);
        if (t->first_moved.indent == h->line->indent) t->first_moved.line = 0; /* it was for this */
        return true;
    }
    tree_frame *f = mw__tree_push(h, t);
    t->nop++;
    mw__dt_call_begin(h, call, "call");
    f->call = call;
    return true;
}

/* `-> output: S(0)`, `-> output: (S(0), R, None)`: placements, without shapes. */
static bool output_of(const dt_here *h, dt_tree *t)
{
    static const char words[] = "-> output: ";
    if (!mw__dt_starts(h, words)) return false;
    tree_frame *op = mw__tree_op_above(t);
    const char *at = h->at + sizeof words - 1;
    dt_tensor out = {.nplacement = 0};
    if (!op) return true;
    if (!mw__dt_read_placements(at, h->end - at, &out)) return true;
    mw_str text = {0};
    mw__dt_placements_str(&out, &text);
    mw__fact(op->call->draft, "output 0", MW_HOW_STATED, mw__dt_line_from(h, h->first), "%s",
             mw__str_text(&text));
    mw__dt_done(h, &text);
    op->call->placed_out = out;
    return true;
}

/* `[nn.Mod] Mlp.up`, `[annotate] step 3`. */
static bool module_line(const dt_here *h, dt_tree *t)
{
    bool module = mw__dt_starts(h, "[nn.Mod");
    if (!module && !mw__dt_starts(h, "[annotate] ") && !mw__dt_starts(h, "[triton] ")) return false;
    mw__tree_pop(h, t, h->line->indent);
    const char *close = strchr(h->at, ']');
    if (!module || !close || close[1] != ' ') return true;
    const char *name = mw__explain_text(h->e, "%.120s", close + 2);
    tree_frame *f = mw__tree_push(h, t);
    f->module = name ? name : "";
    return true;
}

bool mw__tree_read(const dt_here *h, dt_tree *t)
{
    return mw__tree_move_line(h, t) || mw__tree_comm_line(h, t) || op_line(h, t) ||
           output_of(h, t) || module_line(h, t);
}

bool mw__dt_tree_line(const dt_here *h)
{
    static const char *const words[] = {
        "aten::",     "redistribute_input", "_c10d_functional", "c10d",
        "_dtensor::", "-> output: ",        "torch.",           "<",
        "["};
    bool may = false;
    for (int i = 0; i < MW_COUNT(words) && !may; i++)
        may = mw__dt_starts(h, words[i]);
    dt_tree *t = may ? tree_of(h) : NULL;
    if (!t) return false;
    bool taken = mw__tree_block_line(h, t) || mw__tree_read(h, t);
    if (taken) mw__explain_once(h->e); /* what a line means hangs on all lines above it */
    return taken;
}
