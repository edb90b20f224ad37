/* An interpreter that records: the parts of an op become nodes of the graph, and what it would be
 * to run them eagerly becomes redistributions before their ops. */
#include "graph/parts.h"
#include "ops/args.h"
#include "ops/interp.h"
#include "ops/spans.h"
#include "run/run.h"

enum { PARTS_DEPTH = 4, PART_TENSORS = 64 };

typedef struct recorder {
    mw_interp interp;
    mw_graph *graph;
    mw_node *at;
    const char *name; /* of the op whose parts these are */
    int depth;
    mw_arena scratch;
} recorder;

/* The interpreter's tensors are values here. */
static mw_tensor *as_tensor(mw_ssa *v)
{
    return (mw_tensor *)(void *)v;
}

static mw_ssa *as_value(const mw_tensor *t)
{
    return (mw_ssa *)(uintptr_t)t;
}

static mw_status record(recorder *r, const mw_op *op, const mw_arg *arg, int narg,
                        mw_ssa *const *in, int nin, mw_ssa **out, int nout);

/* "operand 1" becomes the operand's name. */
void mw__why_named(const mw_node *node, const char *why, mw_str *to)
{
    static const char word[] = "operand ";
    const size_t n = sizeof word - 1;
    for (const char *at = why; *at;) {
        int index = 0, digits = 0;
        if (strncmp(at, word, n) == 0)
            while (at[n + (size_t)digits] >= '0' && at[n + (size_t)digits] <= '9')
                index = 10 * index + (at[n + (size_t)digits++] - '0');
        if (digits && index < node->nin) {
            mw__str_printf(to, "%%%s", node->in[index]->name);
            at += n + (size_t)digits;
        } else {
            mw__str_putc(to, *at++);
        }
    }
}

static mw_status redistribute(recorder *r, mw_ssa *v, const mw_layout *to, const char *because,
                              mw_ssa **ret)
{
    mw_node *step;
    MW_TRY(mw__graph_step(r->graph, r->at, v, v->mesh, to, MW_STEP_COUNT, &step));
    MW_TRY(mw__graph_note(r->graph, &step->because, "%s: %s", r->name, because));
    mw_plan *plan = mw__arena_alloc(&r->scratch, sizeof *plan);
    if (!plan) return MW_NOMEM();
    MW_TRY(mw__plan_make(v->mesh, &v->layout, to, &r->scratch, plan));
    step->recv_bytes = plan->recv_bytes;
    step->recv_bytes_total = plan->recv_bytes_total;
    *ret = step->out[0];
    return MW_OK;
}

/* The arguments as the op's schema has them; tensors are counted in `tensor`. */
static mw_status bind(recorder *r, const mw_op_info *info, const mw_value *args, int nargs,
                      mw_ssa **tensor, mw_bound *ret)
{
    mw_given given[MW_SCHEMA_ARGS];
    mw_meta *meta = mw__arena_alloc(&r->scratch, PART_TENSORS * sizeof *meta);
    int n = 0;
    if (!meta) return MW_NOMEM();
    for (int i = 0; i < nargs && i < MW_SCHEMA_ARGS; i++) {
        const mw_value *v = &args[i];
        int count = v->kind == MW_ARG_TENSOR ? 1 : v->kind == MW_ARG_TENSORS ? v->count : 0;
        if (n + count > PART_TENSORS)
            return MW_FAIL(MW_ERR_UNSUPPORTED, "a part of %s takes more than %d tensors", r->name,
                           PART_TENSORS);
        for (int k = 0; k < count; k++)
            tensor[n++] = as_value(v->kind == MW_ARG_TENSOR ? v->as.tensor : v->as.tensors[k]);
    }
    mw__given_of(&info->schema, args, MW_MIN(nargs, MW_SCHEMA_ARGS), given);
    for (int i = 0; i < n; i++) {
        if (!tensor[i]) return MW_FAIL(MW_ERR_INTERNAL, "a part of %s got no tensor", r->name);
        meta[i] = mw__ssa_meta(tensor[i]);
    }
    return mw__args_bind(&info->schema, given, nargs, meta, &r->scratch, ret);
}

static void record_call(mw_interp *in, const mw_op *op, const mw_value *args, int nargs,
                        mw_tensor **out, int nout)
{
    recorder *r = (recorder *)in;
    mw_ssa *tensor[PART_TENSORS], *value[PART_TENSORS], *result[PART_TENSORS];
    const mw_op_info *info;
    mw_bound *bound = mw__arena_zalloc(&r->scratch, sizeof *bound);
    if (in->status == MW_OK && !bound) in->status = MW_NOMEM();
    if (in->status == MW_OK) in->status = mw__op_info(op, &info);
    if (in->status == MW_OK) in->status = bind(r, info, args, nargs, tensor, bound);
    for (int i = 0; in->status == MW_OK && i < bound->nin; i++)
        value[i] = tensor[bound->operand[i]];
    if (in->status == MW_OK)
        in->status = record(r, op, bound->arg, bound->narg, value, bound->nin, result, nout);
    for (int i = 0; i < nout; i++)
        out[i] = in->status == MW_OK ? as_tensor(result[i]) : NULL;
}

static mw_tensor *record_settle(mw_interp *in, mw_tensor *t)
{
    recorder *r = (recorder *)in;
    mw_ssa *v = as_value(t);
    if (in->status != MW_OK || !v || !v->layout.npartial) return in->status == MW_OK ? t : NULL;
    mw_layout to = v->layout;
    to.npartial = 0;
    memset(to.partial, 0, sizeof to.partial);
    in->status = redistribute(r, v, &to, "its parts read this more than once", &v);
    return in->status == MW_OK ? as_tensor(v) : NULL;
}

static int64_t record_spans(mw_interp *in, const mw_tensor *t, int dim, int64_t most)
{
    recorder *r = (recorder *)in;
    const mw_ssa *v = as_value(t);
    const mw_span *span;
    int64_t count, total = 0;
    if (in->status != MW_OK || !v) return 0;
    in->status = mw__spans_of(v->mesh, &v->layout.dim[dim], &r->scratch, &span, &count);
    for (int64_t i = 0; in->status == MW_OK && i < count; i++)
        total += MW_MIN(most, span[i].end - span[i].first);
    return total;
}

static mw_status run_parts(recorder *r, const mw_call_args *call, mw_ssa *const *in, int nout,
                           mw_ssa **ret_out)
{
    mw_tensor *operand[PART_TENSORS], *out[PART_TENSORS] = {NULL};
    if (call->nin > PART_TENSORS || nout > PART_TENSORS || ++r->depth > PARTS_DEPTH)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "the parts of %s are too many", r->name);
    for (int i = 0; i < call->nin; i++)
        operand[i] = as_tensor(in[i]);
    mw_status status = call->op->parts(&r->interp, call, operand, out);
    if (status == MW_OK) status = r->interp.status;
    r->depth--;
    for (int i = 0; i < nout && status == MW_OK; i++)
        ret_out[i] = as_value(out[i]);
    return status;
}

/* An op of the parts: its operands are brought to where an eager call would bring them. */
static mw_status record(recorder *r, const mw_op *op, const mw_arg *arg, int narg,
                        mw_ssa *const *in, int nin, mw_ssa **out, int nout)
{
    mw_node *node;
    MW_TRY(mw__graph_op(r->graph, r->at, op, arg, narg, in, nin, &node));
    if (node->nout != nout)
        return MW_FAIL(MW_ERR_INTERNAL, "a part of %s gives %d results, not %d", r->name,
                       node->nout, nout);
    const mw_layout **now = mw__arena_alloc(&r->scratch, (size_t)(nin + 1) * sizeof *now);
    if (!now) return MW_NOMEM();
    for (int i = 0; i < nin; i++)
        now[i] = &node->in[i]->layout;
    mw_call_args call = mw__node_call(node);
    mw_choice choice;
    const mw_mesh *mesh = nin ? node->in[0]->mesh : r->graph->mesh[0];
    MW_TRY(mw__choose(mesh, &call, now, &r->scratch, &choice));
    mw_node *after = r->at;
    r->at = node;
    mw_str why = {0};
    mw__why_named(node, choice.why, &why);
    mw_status status = mw__str_status(&why);
    for (int i = 0; i < nin && status == MW_OK; i++)
        if (!mw_layout_equal(&choice.in[i], now[i]))
            status = redistribute(r, node->in[i], &choice.in[i], mw__str_text(&why), &node->in[i]);
    mw__str_done(&why);
    MW_TRY(status);
    r->at = after;
    if (!choice.parts) {
        for (int i = 0; i < nout; i++) {
            out[i] = node->out[i];
            out[i]->layout = choice.out[i];
        }
        return MW_OK;
    }
    mw__graph_erase(r->graph, node);
    return run_parts(r, &call, node->in, nout, out);
}

mw_status mw__parts_record(mw_graph *graph, mw_node *at, const mw_call_args *call,
                           mw_ssa *const *in, int nout, mw_ssa **ret_out)
{
    recorder r = {{record_call, record_settle, record_spans, MW_OK},
                  graph,
                  at,
                  mw__op_info_of(call->op)->schema.name,
                  0,
                  {0}};
    mw__arena_init(&r.scratch);
    mw_status status = run_parts(&r, call, in, nout, ret_out);
    mw__arena_done(&r.scratch);
    return status;
}
