/* Collectives in a tree: `_c10d_functional::all_gather_into_tensor(t: f32[4, 2], 4, 0)` is a local
 * tensor, the ranks of the group, the group's name. What a rank receives of it follows; the group's
 * size, where a line does not state it, comes from an earlier line of the same group or from the
 * mesh axis of the step that the line belongs to. */
#include "log/collective.h"
#include "log/dtensor_tree.h"

typedef struct collective {
    const char *word, *kind; /* NULL: moves nothing, or is told by another line */
    int size_at;             /* which argument states the ranks of the group; -1: none */
    bool named;              /* the last argument is the group's name */
} collective;

static const collective collectives[] = {
    {"all_gather_into_tensor", "all_gather", 1, true},
    {"reduce_scatter_tensor", "reduce_scatter", 2, true},
    {"all_reduce", "all_reduce", -1, true},
    {"all_to_all_single", "all_to_all", -1, true},
    {"shard_dim_alltoall", "all_to_all", -1, true},
    {"broadcast", "broadcast", -1, true},
    {"scatter_", "scatter", -1, false},
    {"wait_tensor", NULL, -1, false},
    {"_wrap_tensor_autograd", NULL, -1, false},
};

/* What a rank receives, of the piece that goes in. */
int64_t mw__tree_received(const char *kind, int64_t piece, int64_t n)
{
    int64_t whole = piece;
    if (strcmp(kind, "broadcast") == 0 || strcmp(kind, "scatter") == 0) return piece;
    if (strcmp(kind, "all_gather") == 0 && (piece < 0 || __builtin_mul_overflow(piece, n, &whole)))
        return -1;
    return mw__collective_received(mw__collective_find(kind), whole, n);
}

static const collective *collective_of(const char *at)
{
    static const char *const spaces[] = {"_c10d_functional::", "c10d_functional::",
                                         "_c10d_functional_autograd::", "c10d::", "_dtensor::"};
    for (int i = 0; i < MW_COUNT(spaces); i++) {
        size_t n = strlen(spaces[i]);
        if (strncmp(at, spaces[i], n) != 0) continue;
        for (int k = 0; k < MW_COUNT(collectives); k++)
            if (strncmp(at + n, collectives[k].word, strlen(collectives[k].word)) == 0)
                return &collectives[k];
    }
    return NULL;
}

typedef struct talk {
    const collective *c;
    dt_tensor piece; /* the first that goes in (or, scattered, comes out) */
    int64_t bytes_in, group, received;
    mw_how how;     /* of the group */
    bool by_option; /* it is that of --mesh */
    char name[24];
} talk;

/* Tensors of the first argument: one, or a list. */
static void pieces(const dt_here *h, const mw_py *call, talk *to)
{
    dt_tensor t[DT_OUT];
    int n;
    to->bytes_in = -1;
    if (!mw__dt_tensors_of(h, mw__py_child(call, 0), t, DT_OUT, &n)) return;
    to->piece = t[0];
    to->bytes_in = 0;
    for (int i = 0; i < n; i++) {
        int64_t bytes = mw__dt_bytes(&t[i]);
        if (bytes < 0 || __builtin_add_overflow(to->bytes_in, bytes, &to->bytes_in)) {
            to->bytes_in = -1;
            return;
        }
    }
}

static void name_of(const mw_py *call, talk *to)
{
    const mw_py *last = call->first;
    while (last && last->next)
        last = last->next;
    bool word = last && (last->kind == MW_PY_INT || last->kind == MW_PY_STR);
    if (!to->c->named || !word || call->count < 2) return;
    const char *at = last->kind == MW_PY_STR ? last->name : last->at;
    int64_t n = last->kind == MW_PY_STR ? last->name_length : last->length;
    n = MW_MIN(n, (int64_t)sizeof to->name - 1);
    memcpy(to->name, at, (size_t)n);
    to->name[n] = 0;
}

static void stated_size(const mw_py *call, talk *to)
{
    const mw_py *at = to->c->size_at >= 0 ? mw__py_child(call, to->c->size_at) : NULL;
    if (strcmp(to->c->kind, "scatter") == 0) { /* a list of each group's pieces */
        at = mw__py_child(mw__py_child(call, 1), 0);
        if (at && at->kind == MW_PY_LIST) to->group = at->count;
    } else if (strcmp(to->c->word, "all_to_all_single") == 0) { /* a size for each rank */
        at = mw__py_child(call, 1);
        if (at && at->kind == MW_PY_LIST) to->group = at->count;
    } else if (at && at->kind == MW_PY_INT && at->i > 0 && at->i <= MW_MESH_RANKS) {
        to->group = at->i;
    }
}

/* The size that the line leaves out: of its group's name, its step's mesh axis, the mesh seen. */
static void other_size(const dt_here *h, const dt_tree *t, const tree_frame *move, talk *to)
{
    int naxis = move ? move->from.nplacement : 0;
    int axis = move && move->ncollective < move->nstep ? move->step_axis[move->ncollective] : -1;
    const dt_mesh *last = &h->s->last_mesh;
    to->group = mw__tree_group(t, to->name);
    if (!to->group && axis >= 0) to->group = mw__tree_size(t, naxis, axis, &to->how);
    if (!to->group && axis >= 0 && last->naxis == naxis) {
        to->group = last->size[axis];
        to->how = last->how == MW_HOW_STATED ? MW_HOW_DERIVED : last->how;
    }
    dt_mesh m = {.naxis = 0};
    if (to->group || !h->e->mesh) return;
    mw__dt_mesh_complete(h, &m, move ? naxis : 1);
    if (move ? axis < 0 || m.naxis != naxis : m.naxis != 1) return;
    to->group = m.size[move ? axis : 0];
    to->how = MW_HOW_ASSUMED;
    to->by_option = true;
}

static void tell_size(mw_draft *d, const talk *one, const char *from)
{
    static const char given[] = "the size given with --mesh";
    mw_how how = one->how == MW_HOW_ASSUMED ? MW_HOW_ASSUMED : MW_HOW_DERIVED;
    if (one->group)
        mw__fact(d, "ranks that talk", one->how, one->by_option ? given : from, "%lld",
                 (long long)one->group);
    if (one->received >= 0)
        mw__fact(d, "received per rank", how, one->by_option ? given : "local shape and group size",
                 "%lld B", (long long)one->received);
}

static void tell_alone(const dt_here *h, const dt_tree *t, const talk *one)
{
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "collective");
    const char *from = mw__dt_line_from(h, h->first), *kind = one->c->kind;
    bool source = strcmp(kind, "scatter") == 0 || strcmp(kind, "broadcast") == 0;
    mw_str text = {0};
    mw__dt_tensor_str(&one->piece, &text);
    mw__fact(d, source ? "local result" : "local input", MW_HOW_STATED, from, "%s",
             mw__str_text(&text));
    tell_size(d, one, from);
    if (one->received < 0)
        mw__missing(h->e, "the size of the group of the %s in line %lld", kind,
                    (long long)h->first);
    if (source)
        mw__fact(
            d, "on account of", MW_HOW_ASSUMED,
            "PyTorch does so in distribute_tensor; a line above it would settle it",
            "a tensor that is being distributed: its source, rank 0 of the group, has the whole "
            "of it%s, so the peak of memory is there",
            *kind == 's' ? " and all pieces" : "");
    const char *module = mw__tree_module(t);
    if (module) mw__fact(d, "in module", MW_HOW_STATED, "the line above it", "%s", module);
    mw__draft_says(d, "One %s of a local %s, below no redistribution.", kind, mw__str_text(&text));
    mw__draft_moved(d, kind, "", "", one->received);
    mw__draft_direction(d, mw__dt_pass_now(h));
    mw__draft_weight(d, 15);
    mw__dt_done(h, &text);
}

/* A redistribution's second collective, and those after it: each is a movement of its own. */
static void tell_step(const dt_here *h, const tree_frame *move, const talk *one)
{
    int axis = move->ncollective < move->nstep ? move->step_axis[move->ncollective] : -1;
    mw_draft *d = mw__draft(h->e, h->line, "dtensor", "collective");
    mw__fact(d, "step", MW_HOW_DERIVED, "it stands below that line",
             "%d of the redistribution in line %lld", move->ncollective + 1, (long long)move->line);
    tell_size(d, one, mw__dt_line_from(h, h->first));
    mw__draft_says(d, "Step %d of the redistribution in line %lld: %s.", move->ncollective + 1,
                   (long long)move->line, one->c->kind);
    mw__draft_moved(d, one->c->kind, axis >= 0 ? mw__dt_axis_name(h, &h->s->last_mesh, axis) : "",
                    move->op, one->received);
    mw__draft_direction(d, mw__dt_pass_now(h));
    mw__draft_weight(d, 12);
}

bool mw__tree_comm_line(const dt_here *h, dt_tree *t)
{
    talk one = {.c = collective_of(h->at), .how = MW_HOW_STATED};
    mw_py *node;
    if (!one.c) return false;
    mw__tree_pop(h, t, h->line->indent);
    if (!one.c->kind) return true;
    if (mw__py_read(h->at, h->end, h->scratch, &node) != MW_OK) {
        h->e->failed = true;
        return true;
    }
    const mw_py *call = node->kind == MW_PY_SEQ ? node->first : node;
    tree_frame *move = mw__tree_move_above(t);
    pieces(h, call, &one);
    name_of(call, &one);
    stated_size(call, &one);
    if (one.group && move && move->ncollective < move->nstep)
        mw__tree_size_stated(t, move->from.nplacement, move->step_axis[move->ncollective],
                             one.group);
    if (one.group)
        mw__tree_size_group(t, one.name, one.group);
    else
        other_size(h, t, move, &one);
    one.received = mw__tree_received(one.c->kind, one.bytes_in, one.group);
    if (!move) {
        tell_alone(h, t, &one);
        return true;
    }
    if (one.group) move->group = one.group;
    move->group_how = one.group && one.how == MW_HOW_ASSUMED ? one.how : MW_HOW_DERIVED;
    move->by_option = move->by_option || one.by_option;
    if (!move->piece.shaped) move->piece = one.piece;
    move->gathers = move->gathers || strcmp(one.c->kind, "all_gather") == 0;
    if (move->ncollective) tell_step(h, move, &one);
    bool known = one.received >= 0 && (move->bytes >= 0 || move->ncollective == 0);
    move->bytes = known ? MW_MAX(move->bytes, 0) + one.received : -1;
    if (move->ncollective++) return true;
    move->collective = one.c->kind;
    move->first_bytes = one.received;
    move->first_kind = one.group ? NULL : one.c->kind;
    move->first_in = one.bytes_in;
    return true;
}
