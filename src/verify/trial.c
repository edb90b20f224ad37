/* Runs the op's kernel (or view) on every rank's shards of one combination. Results lie in memory
 * of their own with bytes around that must stay as they are. */
#include "verify/verify.h"

#include <stdio.h>

enum { AROUND = 0xc3 };

void mw__trial_reset(subject *s)
{
    memset(s->run, 0, sizeof s->run);
}

int mw__trial_written(const subject *s, int nth)
{
    const mw_schema *schema = &s->info->schema;
    if (nth >= schema->nresult || !schema->result[nth].written) return -1;
    for (int a = 0; a < schema->narg; a++)
        if (schema->arg[a].type.written && schema->arg[a].type.alias == schema->result[nth].alias)
            return mw__arg_operand(&s->call, a);
    return -1;
}

static mw_status make_result(subject *s, mw_view *v, int pattern)
{
    size_t bytes = (size_t)(mw__view_count(v) * mw_dtype_size(v->dtype));
    char *data = mw__arena_alloc(s->scratch, bytes + 2 * s->slack);
    if (!data) return MW_NOMEM();
    memset(data, AROUND, bytes + 2 * s->slack);
    memset(data + s->slack, pattern, bytes);
    v->data = data + s->slack;
    return MW_OK;
}

static bool stays_inside(const subject *s, const mw_view *v)
{
    size_t bytes = (size_t)(mw__view_count(v) * mw_dtype_size(v->dtype));
    const uint8_t *data = (const uint8_t *)v->data - s->slack;
    for (size_t i = 0; i < s->slack; i++)
        if (data[i] != AROUND || data[s->slack + bytes + i] != AROUND) return false;
    return true;
}

static mw_status copy_result(subject *s, const mw_view *from, mw_view *to)
{
    MW_TRY(make_result(s, to, 0));
    if (mw__view_count(from)) mw__view_copy(to, from);
    return MW_OK;
}

static bool inside_operand(const subject *s, const mw_view *in, const mw_view *out)
{
    int64_t size = mw_dtype_size(out->dtype), first = 0, last = 0;
    const char *base = in->data, *data = out->data;
    if (mw__view_count(out) == 0) return true;
    for (int d = 0; d < out->ndim; d++)
        *(out->stride[d] < 0 ? &first : &last) += (out->shape[d] - 1) * out->stride[d];
    int64_t room = (int64_t)s->slack, end = mw__view_count(in) * size + room;
    return (data - base) + first * size >= -room && (data - base) + (last + 1) * size <= end;
}

static mw_status run_views(subject *s, const mw_kernel_call *k, mw_view *result, ran *r)
{
    for (int i = 0; i < k->nout && !r->failed; i++) {
        mw_view out = result[i];
        bool bits = s->rule.out_meta[i].dtype != k->call->in[0].dtype; /* seen as another dtype */
        if (!bits) out.dtype = k->in[0].dtype; /* wider than the result's where it is partial */
        mw_status status = s->op->view(k->call, i, &k->in[0], &out);
        if (status == MW_ERR_NOMEM) return status;
        if (status != MW_OK) {
            r->failed = true;
            (void)snprintf(r->why, sizeof r->why, "%.255s",
                           status == MW_ERR_UNSUPPORTED ? "a dense operand can't be viewed so"
                                                        : mw_last_error()->says);
        } else if (!inside_operand(s, &k->in[0], &out)) {
            r->failed = true;
            (void)snprintf(r->why, sizeof r->why, "the view leaves its operand's memory");
        } else {
            MW_TRY(copy_result(s, &out, &result[i]));
        }
    }
    return MW_OK;
}

static mw_status run_kernel(subject *s, mw_kernel_call *k, mw_view *in, mw_view *result, ran *r)
{
    for (int i = 0; i < k->nout; i++) {
        int written = mw__trial_written(s, i);
        if (written < 0) {
            MW_TRY(make_result(s, &result[i], 0x5b));
        } else {
            MW_TRY(copy_result(s, &in[written], &result[i]));
            in[written] = result[i];
        }
    }
    mw_arena scratch;
    mw__arena_init(&scratch);
    k->scratch = &scratch;
    mw_status status = s->op->kernel(k);
    mw__arena_done(&scratch);
    if (status == MW_ERR_NOMEM) return status;
    if (status != MW_OK) {
        r->failed = true;
        (void)snprintf(r->why, sizeof r->why, "%.255s", mw_last_error()->says);
    }
    for (int i = 0; i < k->nout && !r->failed; i++)
        if (!stays_inside(s, &result[i])) {
            r->failed = true;
            (void)snprintf(r->why, sizeof r->why, "the kernel writes outside of result %d", i);
        }
    return MW_OK;
}

static mw_status run_rank(subject *s, place *const *in, place *const *out, int set, int rank,
                          ran *r)
{
    mw_view local[MOST_TENSORS], *result = r->result + rank * s->rule.nout;
    const mw_layout *in_layout[MOST_TENSORS], *out_layout[MOST_TENSORS];
    int coord[MW_MESH_AXES];
    mw__mesh_coords(s->mesh, rank, coord);
    for (int i = 0; i < s->call.nin; i++) {
        const mw_view *shard;
        MW_TRY(mw__shards_get(s, i, in[i], set, &shard));
        local[i] = shard[rank];
        in_layout[i] = &in[i]->layout;
    }
    for (int i = 0; i < s->rule.nout; i++) {
        result[i] = out[i]->local[rank];
        out_layout[i] = &out[i]->layout;
        int written = mw__trial_written(s, i);
        if (written < 0) continue;
        size_t bytes = (size_t)result[i].ndim * sizeof result[i].shape[0];
        if (memcmp(result[i].shape, local[written].shape, bytes) == 0) continue;
        r->failed = true;
        (void)snprintf(r->why, sizeof r->why,
                       "the result lies differently from what it is written "
                       "to");
        return MW_OK;
    }
    mw_kernel_call k = {.call = &s->call,
                        .nin = s->call.nin,
                        .nout = s->rule.nout,
                        .in = local,
                        .out = result,
                        .mesh = s->mesh,
                        .coord = coord,
                        .in_layout = in_layout,
                        .out_layout = out_layout};
    if (s->op->view) return run_views(s, &k, result, r);
    return run_kernel(s, &k, local, result, r);
}

/* Would the kernel be given the same? Partial and whole results differ in nothing but, for halves,
 * the dtype of memory. */
static bool is_same(const subject *s, const ran *r, place *const *in, place *const *out)
{
    if (!r->done) return false;
    for (int i = 0; i < s->call.nin; i++)
        if (r->in[i] != in[i]) return false;
    for (int i = 0; i < s->rule.nout; i++) {
        const mw_layout *a = &r->out[i]->layout, *b = &out[i]->layout;
        if (r->out[i]->local[0].dtype != out[i]->local[0].dtype ||
            memcmp(a->dim, b->dim, a->ndim * sizeof a->dim[0]) != 0)
            return false;
    }
    return true;
}

mw_status mw__trial_run(subject *s, place *const *in, place *const *out, int set, const ran **ret)
{
    ran *r = &s->run[set];
    *ret = r;
    if (is_same(s, r, in, out)) return MW_OK;
    memset(r, 0, sizeof *r);
    size_t n = (size_t)(s->mesh->nrank * MW_MAX(s->rule.nout, 1));
    r->result = mw__arena_zalloc(s->scratch, n * sizeof *r->result);
    if (!r->result) return MW_NOMEM();
    for (int rank = 0; rank < s->mesh->nrank && !r->failed; rank++)
        MW_TRY(run_rank(s, in, out, set, rank, r));
    for (int i = 0; i < s->call.nin; i++)
        r->in[i] = in[i];
    for (int i = 0; i < s->rule.nout; i++)
        r->out[i] = out[i];
    r->done = true;
    return MW_OK;
}

/* ---- do the shards make a call? ------------------------------------------------------------- */

/* The arguments as a rank would give them: sizes are those of its own shards. */
static void local_args(const subject *s, const mw_meta *in, const place *out, int rank, mw_arg *ret)
{
    const mw_schema *schema = &s->info->schema;
    for (int a = 0; a < s->call.narg; a++) {
        ret[a] = s->call.arg[a];
        if (ret[a].kind != MW_ARG_INTS) continue;
        const char *name = schema->arg[a].name;
        bool sizes = strcmp(name, "size") == 0 || strcmp(name, "shape") == 0;
        if (sizes && out && ret[a].count == out->layout.ndim)
            ret[a].ints = out->local[rank].shape;
        else if (strcmp(name, "normalized_shape") == 0 && in[0].ndim >= ret[a].count)
            ret[a].ints = in[0].shape + (in[0].ndim - ret[a].count);
    }
}

bool mw__trial_shapes(subject *s, place *const *in, place *const *out, int rank, mw_meta *ret)
{
    mw_meta meta[MOST_TENSORS];
    mw_arg arg[MW_SCHEMA_ARGS];
    for (int i = 0; i < s->call.nin; i++) {
        const mw_view *v = &in[i]->local[rank];
        meta[i] = (mw_meta){.dtype = s->call.in[i].dtype, .ndim = v->ndim};
        memcpy(meta[i].shape, v->shape, sizeof meta[i].shape);
    }
    local_args(s, meta, out ? out[0] : NULL, rank, arg);
    mw_call_args call = s->call;
    mw_rule *rule = mw__arena_zalloc(s->scratch, sizeof *rule);
    call.arg = arg;
    call.in = meta;
    if (!rule || mw__rule_of(&call, s->scratch, rule) != MW_OK) return false;
    if (rule->nout != s->rule.nout) return false;
    memcpy(ret, rule->out_meta, (size_t)rule->nout * sizeof *ret);
    return true;
}

bool mw__trial_fits(subject *s, place *const *in, place *const *out)
{
    mw_meta shape[MOST_TENSORS];
    for (int rank = 0; rank < s->mesh->nrank; rank++) {
        if (!mw__trial_shapes(s, in, out, rank, shape)) return false;
        for (int i = 0; i < s->rule.nout; i++) {
            const mw_view *v = &out[i]->local[rank];
            if (v->ndim != shape[i].ndim ||
                memcmp(v->shape, shape[i].shape, (size_t)v->ndim * sizeof v->shape[0]) != 0)
                return false;
        }
    }
    return true;
}
