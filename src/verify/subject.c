/* One call under test: its operands, its rule, and the layouts that its tensors are tried in. */
#include "verify/verify.h"

#include <stdio.h>

/* Room around shards: a kernel that is given a wrong shape (a rule may be wrong) then reads what is
 * nobody's, and writes where it is seen, instead of crashing. */
static size_t slack_of(const mw_call_args *call, const mw_rule *rule)
{
    int64_t most = 16;
    for (int i = 0; i < call->nin + rule->nout; i++) {
        const mw_meta *m = i < call->nin ? &call->in[i] : &rule->out_meta[i - call->nin];
        int64_t count = 1;
        for (int d = 0; d < m->ndim; d++)
            count *= MW_MAX(m->shape[d], 1);
        most = MW_MAX(most, count);
    }
    return (size_t)(16 * most + 64);
}

/* Where a size is 0 or 1, a tensor has no dims, or a function takes but two values, much is right
 * by coincidence: what is missing is not looked for. */
static bool is_generic(const mw_call_args *call, const mw_rule *rule)
{
    bool bools = false;
    for (int i = 0; i < call->nin; i++) {
        if (call->in[i].ndim == 0) return false;
        bools = bools || call->in[i].dtype == MW_DTYPE_bool;
        for (int d = 0; d < call->in[i].ndim; d++)
            if (call->in[i].shape[d] < 2) return false;
    }
    for (int i = 0; i < rule->nout; i++) {
        const mw_meta *m = &rule->out_meta[i];
        if (call->nin == 1 && bools && mw_dtype_kind_of(m->dtype) == MW_KIND_FLOAT) return false;
        for (int d = 0; d < m->ndim; d++)
            if (m->shape[d] == 0) return false;
    }
    return true;
}

mw_status mw__subject_make(const mw_op *op, const char *text, const mw_mesh *mesh, uint64_t seed,
                           mw_arena *arena, mw_arena *scratch, subject *ret)
{
    mw_sample sample;
    memset(ret, 0, sizeof *ret);
    ret->op = op, ret->text = text, ret->mesh = mesh, ret->seed = seed;
    ret->arena = arena, ret->scratch = scratch;
    MW_TRY(mw__op_info(op, &ret->info));
    MW_TRY(mw__sample_read(op, text, seed, arena, &sample));
    ret->call = sample.call;
    MW_TRY(mw__rule_of(&ret->call, arena, &ret->rule));
    if (ret->call.nin > MOST_TENSORS || ret->rule.nout > MOST_TENSORS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "a sample of more than %d tensors", MOST_TENSORS);
    MW_TRY(mw__chooser_new(mesh, &ret->call, arena, &ret->claims));
    ret->slack = slack_of(&ret->call, &ret->rule);
    ret->generic = is_generic(&ret->call, &ret->rule);
    return MW_OK;
}

/* ---- places --------------------------------------------------------------------------------- */

/* "S(0)" where one axis says it all, else the layout's own text. */
static const char *text_of(const subject *s, const mw_layout *layout)
{
    mw_arena *arena = s->arena;
    if (s->mesh->naxis == 1 && layout->npartial == 1 && !mw__layout_axes(layout))
        return mw__arena_printf(arena, "P(%s)",
                                mw__reduce_name((mw_reduce)layout->partial[0].kind));
    if (s->mesh->naxis == 1 && !layout->npartial) {
        if (!mw__layout_axes(layout)) return "R";
        for (int d = 0; d < layout->ndim; d++) {
            mw_dim plain = mw__dim_plain(mw__dim_size(&layout->dim[d]));
            if (!mw__dim_axes(&layout->dim[d])) continue;
            if (!mw__dim_append(s->mesh, &plain, 0, 1, s->mesh->size[0])) break;
            plain = mw__dim_canonical(s->mesh, &plain);
            if (!mw__dim_equal(&plain, &layout->dim[d])) break;
            return mw__arena_printf(arena, "S(%d)", d);
        }
    }
    mw_str text = {0};
    mw__layout_str(s->mesh, layout, &text);
    const char *copy = mw__arena_strndup(arena, mw__str_text(&text), text.length);
    if (text.failed) copy = NULL;
    mw__str_done(&text);
    return copy;
}

static mw_status positions_of(const subject *s, place *p, int rank)
{
    int coord[MW_MESH_AXES];
    const mw_layout *l = &p->layout;
    mw__mesh_coords(s->mesh, rank, coord);
    for (int d = 0; d < l->ndim; d++) {
        int64_t count = p->local[rank].shape[d];
        int64_t n = mw__dim_ranges(s->mesh, &l->dim[d], coord, NULL, 0), at = 0;
        mw_range *range = mw__arena_alloc(s->arena, (size_t)(n + 1) * sizeof *range);
        int64_t *to = mw__arena_alloc(s->arena, (size_t)(count + 1) * sizeof *to);
        if (!range || !to) return MW_NOMEM();
        (void)mw__dim_ranges(s->mesh, &l->dim[d], coord, range, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = range[i].first; k < range[i].end && at < count; k++)
                to[at++] = k;
        p->position[rank * l->ndim + d] = to;
    }
    return MW_OK;
}

mw_status mw__place_get(subject *s, bool out, int nth, const mw_layout *layout, place **ret)
{
    place **list = out ? &s->out[nth] : &s->in[nth];
    for (place *p = *list; p; p = p->next)
        if (mw_layout_equal(&p->layout, layout)) {
            *ret = p;
            return MW_OK;
        }
    int nrank = s->mesh->nrank;
    place *p = mw__arena_zalloc(s->arena, sizeof *p);
    if (!p) return MW_NOMEM();
    p->layout = *layout;
    p->text = text_of(s, layout);
    p->local = mw__arena_zalloc(s->arena, (size_t)nrank * sizeof *p->local);
    p->position =
        mw__arena_zalloc(s->arena, (size_t)(nrank * MW_MAX(layout->ndim, 1)) * sizeof *p->position);
    p->shard = mw__arena_zalloc(s->arena, SETS_MOST * sizeof *p->shard);
    if (!p->text || !p->local || !p->position || !p->shard) return MW_NOMEM();
    for (int rank = 0; rank < nrank; rank++) {
        int64_t shape[MW_LAYOUT_DIMS];
        mw_layout_local_shape(s->mesh, layout, rank, shape);
        mw__view_set(&p->local[rank], mw__layout_storage_dtype(layout), layout->ndim, shape);
        MW_TRY(positions_of(s, p, rank));
    }
    p->next = *list;
    *list = *ret = p;
    return MW_OK;
}
