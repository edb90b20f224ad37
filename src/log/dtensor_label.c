/* Labels that the pieces don't have, and what is written into a copy: what a call's text can't be
 * right about by placements and shapes alone, without a replay. */
#include "log/dtensor_replay.h"

static const dt_value *argument(const dt_call *call, const char *name)
{
    for (int i = 0; i < call->narg; i++) {
        const char *own = mw__dt_arg_name(call, i);
        if (own && strcmp(own, name) == 0 && call->arg[i].kind == DT_TENSOR) return &call->arg[i];
    }
    return NULL;
}

/* Without a movement the gradient of an input has the input's own pieces: it lies as the input. */
static void gradient_label(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    const dt_value *input = argument(call, "input");
    mw_layout in, out;
    const char *why;
    if (!input) input = argument(call, "self");
    if (!input || !strstr(call->word, "backward") || call->needs || !call->has_needs ||
        call->nout < 1 || call->op)
        return;
    dt_tensor a = input->tensor[0], b = call->out[0];
    if (!a.shaped || !b.shaped || a.ndim != b.ndim ||
        memcmp(a.shape, b.shape, (size_t)a.ndim * sizeof *a.shape) != 0)
        return;
    b.dtype = a.dtype;
    if (!mw__dt_layout(h, mesh, &a, &in, &why) || !mw__dt_layout(h, mesh, &b, &out, &why) ||
        mw__layout_partial_axes(&out) || mw__layout_partial_axes(&in))
        return;
    int64_t was[DT_DIMS], is[DT_DIMS];
    for (int rank = 0; rank < mesh->nrank && rank < 64; rank++) {
        mw_layout_local_shape(mesh, &in, rank, was);
        mw_layout_local_shape(mesh, &out, rank, is);
        if (memcmp(was, is, (size_t)a.ndim * sizeof *was) == 0) continue;
        mw_str x = {0}, y = {0};
        mw__dt_placements_str(&a, &x);
        mw__dt_placements_str(&b, &y);
        mw__problem(
            call->draft, "label-cannot-be-true", -1, -1,
            "keep the gradient where its input lies: redistribute the input first if the op "
            "has no rule for such a cut, and report the rule",
            "the gradient of an input that lies %s comes out as %s, yet nothing is moved: on "
            "rank %d a piece of the input's size can't be the piece that this label means, "
            "so the values are read in another order",
            mw__str_text(&x), mw__str_text(&y), rank);
        mw__dt_done(h, &x);
        mw__dt_done(h, &y);
        return;
    }
}

/* Indices count in the whole tensor, but would be applied to a piece. */
static void index_label(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    bool put = strncmp(call->word, "index_put", 9) == 0, get = strcmp(call->word, "index") == 0;
    if ((!put && !get) || call->narg < 2 || call->arg[0].kind != DT_TENSOR || call->needs) return;
    const dt_tensor *self = &call->arg[0].tensor[0];
    const dt_value *indices = &call->arg[1];
    (void)h;
    for (int a = 0; a < self->nplacement; a++) {
        const dt_placement *p = &self->placement[a];
        int d = p->dim < 0 ? p->dim + self->ndim : p->dim;
        bool cut = p->kind == 'S' || p->kind == '_';
        if (!cut || d >= indices->count || !indices->tensor || (mesh && mesh->size[a] == 1))
            continue;
        if (!indices->tensor[d].shaped && !indices->tensor[d].placed) continue; /* None */
        const mw_entry *entry = mw__draft_entry(call->draft);
        bool failed = entry && strcmp(entry->event, "error") == 0, stays = false;
        if (call->nout > 0 && a < call->out[0].nplacement) {
            const dt_placement *q = &call->out[0].placement[a];
            int e = q->dim < 0 ? q->dim + call->out[0].ndim : q->dim;
            stays = q->kind == p->kind && e == d && put; /* it is written as it lies */
        }
        if (!call->has_needs && !failed && !stays) continue;
        mw__problem(
            call->draft, "wrong-value", -1, -1,
            "replicate that dim of self first; or keep it cut, gather indices and values, subtract "
            "each rank's offset and leave out what lies outside its range",
            "self is cut along dim %d, which is indexed: indices count in the whole tensor, a rank "
            "holds a piece, so they point beyond it or at other rows",
            d);
        return;
    }
}

/* A gather pads every piece to the largest; the padding must be cut off again. */
static void untrimmed(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    const dt_move *move = &h->r->move;
    const dt_tensor *was = &move->after;
    int d = move->from.dim < 0 ? move->from.dim + was->ndim : move->from.dim;
    if (!move->draft || move->from.kind != 'S' || d >= was->ndim || move->axis >= mesh->naxis)
        return;
    int64_t n = mesh->size[move->axis], padded = (was->shape[d] + n - 1) / n * n;
    for (int i = 0; i < call->narg && padded != was->shape[d]; i++) {
        const dt_tensor *t = call->arg[i].kind == DT_TENSOR ? call->arg[i].tensor : NULL;
        if (!t || !t->shaped || t->ndim != was->ndim || t->nplacement != was->nplacement ||
            t->placement[move->axis].kind != 'R' || t->shape[d] != padded)
            continue;
        bool rest = true;
        for (int k = 0; k < t->ndim; k++)
            rest = rest && (k == d || t->shape[k] == was->shape[k]);
        if (!rest) continue;
        mw__problem(
            call->draft, "wrong-value", -1, -1,
            "cut the gathered tensor back to its whole size (a release in which redistribute "
            "does so), or choose a size that the mesh axis divides",
            "an operand has size %lld in dim %d, where the tensor gathered in line %lld has "
            "%lld: %lld pieces of %lld, padding counted in",
            (long long)padded, d, (long long)move->line, (long long)was->shape[d], (long long)n,
            (long long)(padded / n));
        return;
    }
}

/* A module that was said to have N rows has fewer: each rank made N / ranks of them, rounded down.
 */
static void dropped_rows(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    for (int i = 0; i < call->narg; i++) {
        const dt_tensor *t = call->arg[i].kind == DT_TENSOR ? call->arg[i].tensor : NULL;
        if (!t || !t->shaped || t->ndim != 2) continue;
        for (int a = 0; a < t->nplacement && a < mesh->naxis; a++) {
            int d = t->placement[a].dim < 0 ? t->placement[a].dim + 2 : t->placement[a].dim;
            int64_t n = mesh->size[a];
            if (t->placement[a].kind != 'S' || d < 0 || d > 1 || n < 2) continue;
            for (int k = 0; k < DT_MODULES; k++) {
                const dt_module *m = &h->s->module[k];
                if (!m->line || m->size[1 - d] != t->shape[1 - d] || m->size[d] <= t->shape[d] ||
                    m->size[d] / n * n != t->shape[d])
                    continue;
                mw__problem(
                    call->draft, "rows-dropped", -1, -1,
                    "make the size a multiple of the mesh axis (pad the vocabulary), or let "
                    "distribute_tensor cut it: the last ranks then hold less",
                    "line %lld speaks of size %lld, the tensor has %lld = %lld times %lld: each "
                    "rank made its share rounded down, and the last %lld are nowhere",
                    (long long)m->line, (long long)m->size[d], (long long)t->shape[d], (long long)n,
                    (long long)(t->shape[d] / n), (long long)(m->size[d] - t->shape[d]));
                return;
            }
        }
    }
}

/* Chunks that the axis does not divide: two readings are in use, with other owners. */
static void uneven_strided(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    for (int i = 0; i < call->narg; i++) {
        const dt_tensor *t = call->arg[i].kind == DT_TENSOR ? call->arg[i].tensor : NULL;
        for (int a = 0; t && t->shaped && a < t->nplacement && a < mesh->naxis; a++) {
            const dt_placement *p = &t->placement[a];
            int d = p->dim < 0 ? p->dim + t->ndim : p->dim;
            const char *name = mw__dt_arg_name(call, i);
            if (p->kind != '_' || d < 0 || d >= t->ndim || p->split > INT64_MAX / MW_MESH_RANKS ||
                t->shape[d] % (p->split * mesh->size[a]) == 0)
                continue;
            mw__problem(
                call->draft, "uneven-strided-shard", -1, -1,
                "choose a size that split_factor times the mesh axis divides, or pad to one",
                "dim %d of %s has size %lld, which %lld chunks of %d ranks do not divide. The "
                "local shapes here are those of chunks cut one by one (as FSDP on top of TP "
                "stores them); taken as a grid of chunks and ranks instead, other rows belong "
                "to each rank, and releases differ",
                d, name ? name : "an operand", (long long)t->shape[d], (long long)p->split,
                mesh->size[a]);
            (void)h;
            return;
        }
    }
}

static bool moved_first(const dt_call *call)
{
    const dt_value *was = call->narg ? &call->arg[0] : NULL;
    const dt_value *is = call->nwanted ? &call->wanted[0] : NULL;
    if (!call->needs || !was || !is || was->kind != DT_TENSOR || is->kind != DT_TENSOR)
        return false;
    for (int a = 0; a < was->tensor[0].nplacement && a < is->tensor[0].nplacement; a++)
        if (mw__dt_collective(&was->tensor[0].placement[a], &is->tensor[0].placement[a]))
            return true;
    return false;
}

bool mw__dt_same_label(const dt_tensor *a, const dt_tensor *b)
{
    if (!a->shaped || !b->shaped || a->ndim != b->ndim || a->nplacement != b->nplacement ||
        memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0)
        return false;
    for (int i = 0; i < a->nplacement; i++)
        if (a->placement[i].kind != b->placement[i].kind ||
            a->placement[i].dim != b->placement[i].dim)
            return false;
    return true;
}

/* A view whose input was moved is a view of a copy; so is the target of an in-place op that was
 * moved for it. What is written there is lost. */
static void lost_write(const dt_here *h, dt_call *call)
{
    dt_rank *r = h->r;
    const mw_schema *schema = call->schema;
    if (!schema || call->narg < 1 || call->arg[0].kind != DT_TENSOR) return;
    bool in_place = schema->narg > 0 && schema->arg[0].type.written;
    bool view = schema->nresult > 0 && schema->result[0].alias && !in_place;
    const dt_tensor *target = &call->arg[0].tensor[0];
    bool own = in_place && moved_first(call);
    if (own || (in_place && r->copy.tensor.shaped && mw__dt_same_label(&r->copy.tensor, target)))
        mw__problem(
            call->draft, "write-lost", -1, -1,
            own ? "redistribute the tensor itself first (x = x.redistribute(...)), or use "
                  "the op that makes a new tensor"
                : "write through a tensor that need not be moved for the view: redistribute "
                  "it first and keep that, or write each rank's part with to_local()",
            "%s writes into %s (line %lld): a copy is changed, and the tensor itself stays as "
            "it was",
            call->word,
            own ? "its target, which is moved for it"
                : "the result of a view whose input was moved for it",
            (long long)(own ? call->out_line : r->copy.line));
    if (in_place) return;
    if (view && moved_first(call) && call->nout > 0)
        r->copy = (dt_copy){call->out[0], call->line, call->word};
    else if (view && r->copy.tensor.shaped && call->nout > 0 &&
             mw__dt_same_label(&r->copy.tensor, target))
        r->copy.tensor = call->out[0];
    else if (!view)
        r->copy.tensor.shaped = false;
}

void mw__dt_check_labels(const dt_here *h, dt_call *call, const mw_mesh *mesh)
{
    lost_write(h, call);
    if (mesh) {
        untrimmed(h, call, mesh);
        dropped_rows(h, call, mesh);
        uneven_strided(h, call, mesh);
    }
    if (mesh) gradient_label(h, call, mesh);
    index_label(h, call, mesh);
}
