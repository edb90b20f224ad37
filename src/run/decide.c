/* A cache miss: the arguments are checked against the schema, the layouts are chosen, and
 * everything that running the call needs is worked out once: preparations, local shapes, result
 * types. */
#include "ops/args.h"
#include "run/dispatch_log.h"

mw_arg mw__arg_of(const mw_value *v, int *first)
{
    mw_arg arg = {.kind = v->kind};
    switch ((mw_arg_kind)v->kind) {
    case MW_ARG_TENSOR:
        arg.first = *first;
        arg.count = 1;
        *first += 1;
        break;
    case MW_ARG_TENSORS:
        arg.first = *first;
        arg.count = v->count;
        *first += v->count;
        break;
    case MW_ARG_INTS:
        arg.count = v->count;
        arg.ints = v->as.ints;
        break;
    case MW_ARG_FLOAT:
        arg.f = v->as.f;
        break;
    case MW_ARG_STR:
    case MW_ARG_SYMBOL:
        arg.s = v->as.s;
        break;
    case MW_ARG_STRS:
        arg.count = v->count;
        arg.strs = v->as.strs;
        break;
    case MW_ARG_NONE:
    case MW_ARG_INT:
    case MW_ARG_BOOL:
    case MW_ARG_DTYPE:
        arg.i = v->as.i;
        break;
    }
    return arg;
}

void mw__given_of(const mw_schema *schema, const mw_value *args, int nargs, mw_given *ret)
{
    int first = 0;
    for (int i = 0; i < nargs; i++) {
        bool keyword = i < schema->narg && schema->arg[i].kwarg_only;
        ret[i] = (mw_given){keyword ? schema->arg[i].name : NULL, mw__arg_of(&args[i], &first)};
    }
}

mw_value mw__value_of(const mw_arg *a, mw_tensor *const *operand)
{
    mw_value v = {.kind = a->kind, .count = a->count};
    if (a->kind == MW_ARG_TENSOR)
        v.as.tensor = operand[a->first];
    else if (a->kind == MW_ARG_TENSORS)
        v.as.tensors = operand + a->first;
    else if (a->kind == MW_ARG_INTS)
        v.as.ints = a->ints;
    else if (a->kind == MW_ARG_FLOAT)
        v.as.f = a->f;
    else if (a->kind == MW_ARG_STR)
        v.as.s = a->s;
    else
        v.as.i = a->i;
    return v;
}

mw_meta mw__tensor_meta(const mw_tensor *t)
{
    mw_meta meta = {.dtype = (mw_dtype)t->type->layout.dtype, .ndim = t->type->layout.ndim};
    mw_layout_shape(&t->type->layout, meta.shape);
    return meta;
}

/* The arguments (already in schema order), checked, and copied so that the call can keep them. */
static mw_status bind(mw_call *call, const mw_op_info *info, const mw_value *args, int nargs,
                      mw_tensor *const *operand, int nin, mw_arena *scratch)
{
    mw_arena *arena = &call->arena;
    mw_given *given = mw__arena_zalloc(scratch, (size_t)MW_MAX(nargs, 1) * sizeof *given);
    mw_meta *metas = mw__arena_alloc(arena, (size_t)MW_MAX(nin, 1) * sizeof *metas);
    mw_bound *bound = mw__arena_zalloc(scratch, sizeof *bound);
    if (!given || !metas || !bound) return MW_NOMEM();
    mw__given_of(&info->schema, args, nargs, given);
    for (int i = 0; i < nin; i++)
        metas[i] = mw__tensor_meta(operand[i]);
    MW_TRY(mw__args_bind(&info->schema, given, nargs, metas, scratch, bound));
    mw_arg *kept = mw__arena_alloc(arena, (size_t)MW_MAX(bound->narg, 1) * sizeof *kept);
    if (!kept) return MW_NOMEM();
    memcpy(kept, bound->arg, (size_t)bound->narg * sizeof *kept);
    for (int i = 0; i < bound->narg; i++) {
        mw_arg *a = &kept[i];
        if (a->kind == MW_ARG_INTS && a->count > 0) {
            int64_t *copy = mw__arena_alloc(arena, (size_t)a->count * sizeof *copy);
            if (!copy) return MW_NOMEM();
            memcpy(copy, a->ints, (size_t)a->count * sizeof *copy);
            a->ints = copy;
        } else if (a->kind == MW_ARG_STR) {
            a->s = mw__arena_strndup(arena, a->s, strlen(a->s));
            if (!a->s) return MW_NOMEM();
        }
    }
    call->args = (mw_call_args){call->op, bound->narg, kept, nin, metas};
    call->nin = nin;
    return MW_OK;
}

static mw_status one_mesh(const mw_call *call, mw_tensor *const *operand, mw_mesh **mesh)
{
    for (int i = 0; i < call->nin; i++) {
        if (i == 0) *mesh = operand[0]->type->mesh;
        if (operand[i]->type->mesh == *mesh || mw_mesh_same(operand[i]->type->mesh, *mesh))
            continue;
        char a[128], b[128];
        (void)mw_mesh_print(*mesh, a, sizeof a);
        (void)mw_mesh_print(operand[i]->type->mesh, b, sizeof b);
        return MW_FAIL(MW_ERR_LAYOUT, "%s: operand 0 lies on mesh %s, operand %d on mesh %s",
                       call->name, a, i, b);
    }
    return MW_OK;
}

static mw_status make_arrays(mw_call *call)
{
    size_t nin = (size_t)MW_MAX(call->nin, 1), nout = (size_t)MW_MAX(call->nout, 1);
    mw_arena *arena = &call->arena;
    call->prepare = mw__arena_zalloc(arena, nin * sizeof *call->prepare);
    call->ready = mw__arena_zalloc(arena, nin * sizeof *call->ready);
    call->in = mw__arena_zalloc(arena, nin * sizeof *call->in);
    call->out = mw__arena_zalloc(arena, nout * sizeof *call->out);
    call->out_type = mw__arena_zalloc(arena, nout * sizeof *call->out_type);
    call->out_bytes = mw__arena_zalloc(arena, nout * sizeof *call->out_bytes);
    call->view_offset = mw__arena_zalloc(arena, nout * sizeof *call->view_offset);
    if (!call->prepare || !call->ready || !call->in || !call->out || !call->out_type ||
        !call->out_bytes || !call->view_offset)
        return MW_NOMEM();
    return MW_OK;
}

static mw_status prepare_operands(mw_rank *rank, mw_call *call, mw_tensor *const *operand)
{
    for (int i = 0; i < call->nin; i++) {
        const mw_layout *want = &call->choice.in[i];
        call->in[i] = operand[i]->local;
        if (mw_layout_equal(&operand[i]->type->layout, want)) continue;
        MW_TRY(mw__redist_get(rank, operand[i]->type, want, &call->prepare[i].redist));
        mw__local_view(rank, operand[i]->type->mesh, want, &call->in[i]);
        call->moves = true;
        if (!call->in_place || i) continue;
        MW_TRY(mw__redist_get(rank, call->prepare[0].redist->to, &operand[0]->type->layout,
                              &call->back));
    }
    return MW_OK;
}

/* Strides and offsets of a view of operand 0. A view that its strides do not allow gets a dense
 * operand. */
static mw_status decide_views(mw_rank *rank, mw_call *call, mw_mesh *mesh)
{
    for (int i = 0; i < call->nout; i++) {
        mw_view *out = &call->out[i];
        mw__local_view(rank, mesh, &call->choice.out[i], out);
        out->dtype = call->in[0].dtype;
        mw_view in = call->in[0];
        char base[1];
        in.data = base; /* only the distance counts */
        out->data = base;
        mw_status status = call->op->view(&call->args, i, &in, out);
        if (status == MW_ERR_UNSUPPORTED && !call->prepare[0].contiguous) {
            call->prepare[0].contiguous = true;
            call->moves = true;
            mw__view_set(&call->in[0], call->in[0].dtype, call->in[0].ndim, call->in[0].shape);
            i = -1; /* from the start, with dense strides */
            continue;
        }
        MW_TRY(status);
        call->view_offset[i] = (int64_t)((intptr_t)out->data - (intptr_t)base);
        out->data = NULL;
        for (int d = out->ndim; d < MW_MAX_DIMS; d++)
            out->stride[d] = 0;
        MW_TRY(mw__ttype_get(mesh, &call->choice.out[i], out->stride, &call->out_type[i]));
    }
    return MW_OK;
}

static mw_status decide_results(mw_rank *rank, mw_call *call, mw_mesh *mesh,
                                mw_tensor *const *operand)
{
    if (call->view) return decide_views(rank, call, mesh);
    for (int i = 0; i < call->nout; i++) {
        mw_view *out = &call->out[i];
        if (call->in_place && i == 0) {
            *out = call->in[0];
            call->out_type[0] = operand[0]->type;
            continue;
        }
        mw__local_view(rank, mesh, &call->choice.out[i], out);
        MW_TRY(mw__mul_size(mw__view_count(out), mw_dtype_size(out->dtype), &call->out_bytes[i]));
        MW_TRY(mw__ttype_get(mesh, &call->choice.out[i], out->stride, &call->out_type[i]));
    }
    return MW_OK;
}

static mw_status set_kernel(mw_rank *rank, mw_call *call, mw_mesh *mesh, mw_tensor *const *operand)
{
    mw_arena *arena = &call->arena;
    const mw_layout **in = mw__arena_alloc(arena, (size_t)MW_MAX(call->nin, 1) * sizeof *in);
    const mw_layout **out = mw__arena_alloc(arena, (size_t)MW_MAX(call->nout, 1) * sizeof *out);
    int *coord = mw__arena_zalloc(arena, MW_MESH_AXES * sizeof *coord);
    if (!in || !out || !coord) return MW_NOMEM();
    for (int i = 0; i < call->nin; i++)
        in[i] = call->prepare[i].redist ? &call->prepare[i].redist->to->layout
                                        : &operand[i]->type->layout;
    for (int i = 0; i < call->nout; i++)
        out[i] = call->parts ? NULL : &call->out_type[i]->layout;
    mw__mesh_coords(mesh, mw__mesh_own(mesh, rank->index), coord);
    call->kernel = (mw_kernel_call){.call = &call->args,
                                    .nin = call->nin,
                                    .nout = call->nout,
                                    .in = call->in,
                                    .out = call->out,
                                    .mesh = mesh,
                                    .coord = coord,
                                    .in_layout = in,
                                    .out_layout = out,
                                    .scratch = &rank->scratch};
    return MW_OK;
}

static mw_status set_texts(const mw_rank *rank, mw_call *call, mw_mesh *mesh,
                           mw_tensor *const *operand)
{
    mw_arena *arena = &call->arena;
    const mw_layout **now = mw__arena_alloc(arena, (size_t)MW_MAX(call->nin, 1) * sizeof *now);
    if (!now) return MW_NOMEM();
    for (int i = 0; i < call->nin; i++)
        now[i] = &operand[i]->type->layout;
    mw_str text = {0}, result = {0}, dispatch = {0};
    mw__call_str(&call->args, mesh, now, &text);
    const char *device = rank->options->device ? rank->options->device : "cpu";
    if (rank->options->dispatch) mw__dispatch_lines(rank, call, now, device, &dispatch);
    for (int i = 0; i < call->nout; i++) {
        if (i) mw__str_puts(&result, ", ");
        if (call->parts)
            mw__str_puts(&result, "as its parts give it");
        else
            mw__layout_str(mesh, &call->out_type[i]->layout, &result);
    }
    call->text = mw__arena_strndup(arena, mw__str_text(&text), text.length);
    call->result = mw__arena_strndup(arena, mw__str_text(&result), result.length);
    call->dispatch = mw__arena_strndup(arena, mw__str_text(&dispatch), dispatch.length);
    bool whole = !text.failed && !result.failed && !dispatch.failed && call->text && call->result &&
                 call->dispatch;
    mw__str_done(&dispatch);
    mw__str_done(&text);
    mw__str_done(&result);
    return whole ? MW_OK : MW_NOMEM();
}

/* Of the choice only the reason lives as long as the call; the layouts are those of types, which
 * last. */
static mw_status keep_why(mw_call *call)
{
    call->choice.why = mw__arena_strndup(&call->arena, call->choice.why, strlen(call->choice.why));
    return call->choice.why ? MW_OK : MW_NOMEM();
}

static void forget_layouts(mw_call *call)
{
    call->choice.in = call->choice.out = NULL;
    call->choice.out_meta = NULL;
}

static mw_status decide(mw_rank *rank, mw_call *call, const mw_value *args, int nargs,
                        mw_tensor *const *operand, int nin)
{
    const mw_op_info *info;
    MW_TRY(mw__op_info(call->op, &info));
    call->name = info->schema.name;
    mw__arena_clear(&rank->choose_scratch);
    MW_TRY(bind(call, info, args, nargs, operand, nin, &rank->choose_scratch));
    mw_mesh *mesh = rank->mesh;
    MW_TRY(one_mesh(call, operand, &mesh));
    const mw_layout **now =
        mw__arena_alloc(&rank->choose_scratch, (size_t)MW_MAX(nin, 1) * sizeof *now);
    if (!now) return MW_NOMEM();
    for (int i = 0; i < nin; i++)
        now[i] = &operand[i]->type->layout;
    mw_choice choice = {.why = ""};
    MW_TRY(mw__choose(mesh, &call->args, now, &rank->choose_scratch, &choice));
    call->choice = choice;
    MW_TRY(keep_why(call));
    call->nout = choice.nout;
    call->view = call->op->view != NULL;
    call->parts = choice.parts;
    call->in_place = info->schema.narg > 0 && info->schema.arg[0].type.written;
    MW_TRY(make_arrays(call));
    MW_TRY(prepare_operands(rank, call, operand));
    if (!call->parts) MW_TRY(decide_results(rank, call, mesh, operand));
    MW_TRY(set_kernel(rank, call, mesh, operand));
    if (rank->options->sink) MW_TRY(set_texts(rank, call, mesh, operand));
    /* reshape may copy on one rank too, and contiguous promises nothing; other views alias there */
    bool may_copy = strcmp(call->name, "reshape") == 0 || strcmp(call->name, "contiguous") == 0;
    call->apart = call->view && call->moves && !may_copy;
    forget_layouts(call);
    call->plain = !call->moves && !call->in_place && !call->view && !call->parts && !rank->fake;
    return MW_OK;
}

mw_status mw__call_decide(mw_rank *rank, const mw_op *op, const mw_value *args, int nargs,
                          mw_tensor *const *operand, int nin, mw_call **ret)
{
    mw_call *call = mw__zalloc(sizeof *call);
    if (!call) return MW_NOMEM();
    mw__arena_init(&call->arena);
    call->op = op;
    mw_status status = decide(rank, call, args, nargs, operand, nin);
    if (status != MW_OK) {
        mw__call_free(call);
        return status;
    }
    *ret = call;
    return MW_OK;
}
