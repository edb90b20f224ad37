/* The boxed call: an op by name, with positional and keyword values that are checked against its
 * schema and put into its order; and the same with its kernel repeated, to be timed. */
#include "ops/args.h"
#include "run/mark_call.h"

#include <time.h>

typedef struct boxed {
    mw_bound bound;
    mw_value ordered[MW_SCHEMA_ARGS];
    mw_tensor **tensor;  /* all that were given, flat */
    mw_tensor **operand; /* the same in the schema's order */
    mw_meta *meta;
    int ntensor;
} boxed;

static mw_status collect(boxed *b, const mw_value *args, int nargs, mw_arena *arena)
{
    for (int i = 0; i < nargs; i++)
        b->ntensor += args[i].kind == MW_ARG_TENSOR    ? 1
                      : args[i].kind == MW_ARG_TENSORS ? args[i].count
                                                       : 0;
    b->tensor = mw__arena_alloc(arena, (size_t)(b->ntensor + 1) * sizeof *b->tensor);
    b->meta = mw__arena_zalloc(arena, (size_t)(b->ntensor + 1) * sizeof *b->meta);
    if (!b->tensor || !b->meta) return MW_NOMEM();
    int n = 0;
    for (int i = 0; i < nargs; i++) {
        const mw_value *v = &args[i];
        if (v->kind == MW_ARG_TENSOR) b->tensor[n++] = v->as.tensor;
        for (int j = 0; v->kind == MW_ARG_TENSORS && j < v->count; j++)
            b->tensor[n++] = v->as.tensors[j];
    }
    for (int i = 0; i < n; i++) {
        const mw_tensor *t = b->tensor[i];
        if (!t)
            return mw_last_error()->code != MW_OK
                       ? mw_last_error()->code
                       : MW_FAIL(MW_ERR_ARG, "tensor %d of the call is NULL", i);
        b->meta[i] = mw__tensor_meta(t);
    }
    return MW_OK;
}

static mw_status order(boxed *b, const mw_op_info *info, const mw_value *args, int nargs,
                       mw_arena *arena)
{
    MW_TRY(collect(b, args, nargs, arena));
    mw_given *given = mw__arena_zalloc(arena, (size_t)(nargs + 1) * sizeof *given);
    if (!given) return MW_NOMEM();
    int first = 0;
    for (int i = 0; i < nargs; i++)
        given[i] = (mw_given){args[i].name, mw__arg_of(&args[i], &first)};
    MW_TRY(mw__args_bind(&info->schema, given, nargs, b->meta, arena, &b->bound));
    b->operand = mw__arena_alloc(arena, (size_t)(b->bound.nin + 1) * sizeof *b->operand);
    if (!b->operand) return MW_NOMEM();
    for (int i = 0; i < b->bound.nin; i++)
        b->operand[i] = b->tensor[b->bound.operand[i]];
    for (int i = 0; i < b->bound.narg; i++)
        b->ordered[i] = mw__value_of(&b->bound.arg[i], b->operand);
    return MW_OK;
}

/* Finds the op and binds the arguments, in an arena that the caller has made. */
static mw_status bind(mw_rank *rank, const char *name, const mw_value *args, int nargs,
                      mw_arena *arena, const mw_op **ret_op, boxed **ret)
{
    const mw_op_info *info;
    MW_TRY(mw__op_named(name, strlen(name), ret_op));
    MW_TRY(mw__op_info(*ret_op, &info));
    boxed *b = mw__arena_zalloc(arena, sizeof *b);
    mw_status status = b ? order(b, info, args, nargs, arena) : MW_NOMEM();
    if (status == MW_ERR_NOMEM) (void)mw__rank_failed(rank, status);
    if (status != MW_OK && rank->site.file)
        mw__error_where("%s at %s:%d", info->schema.name, mw__short_file(rank->site.file),
                        rank->site.line);
    *ret = b;
    return status;
}

/* ---- mark_sharding ----------------------------------------------------------------------------
 */

typedef struct marking {
    mw_rank *rank;
    mw_tensor **tensor;
} marking;

static mw_status known_ints(void *user, int tensor, mw_arena *arena, const int64_t **ret,
                            int *ret_count, const char **ret_text)
{
    marking *m = user;
    mw_tensor *t = m->tensor[tensor];
    *ret_count = -1;
    if (m->rank->recorder)
        return m->rank->recorder->ints(m->rank->recorder, t, arena, ret, ret_count, ret_text);
    int64_t n = mw__layout_count(&t->type->layout);
    if (t->recorded || m->rank->fake || n != mw__view_count(&t->local) || n > INT_MAX ||
        t->type->layout.npartial || t->local.ndim != 1)
        return MW_OK;
    int64_t *ints = mw__arena_alloc(arena, (size_t)(n + 1) * sizeof *ints);
    if (!ints) return MW_NOMEM();
    int64_t size = mw_dtype_size(t->local.dtype);
    for (int64_t i = 0; i < n; i++)
        ints[i] = mw__element_get_i64((char *)t->local.data + i * t->local.stride[0] * size,
                                      t->local.dtype);
    *ret = ints;
    *ret_count = (int)n;
    return MW_OK;
}

static mw_status read_mark(mw_rank *rank, boxed *b, const char *name, const mw_value *args,
                           int nargs, mw_arena *arena, mw_mark_call *ret)
{
    MW_TRY(collect(b, args, nargs, arena));
    mw_given *given = mw__arena_zalloc(arena, (size_t)(nargs + 1) * sizeof *given);
    if (!given) return MW_NOMEM();
    int first = 0;
    for (int i = 0; i < nargs; i++)
        given[i] = (mw_given){args[i].name, mw__arg_of(&args[i], &first)};
    marking m = {rank, b->tensor};
    return mw__mark_read(name, given, nargs, b->meta, rank->mesh, known_ints, &m, arena, ret);
}

static mw_status call_mark(mw_rank *rank, mw_site site, const char *name, const mw_value *args,
                           int nargs, mw_tensor **ret_out, int cap, int *ret_nout)
{
    mw_arena arena;
    boxed b = {0};
    mw_mark_call mark;
    mw__arena_init(&arena);
    mw_status status = cap < 1
                           ? MW_FAIL(MW_ERR_ARG, "%s gives 1 tensor, and there is room for 0", name)
                           : read_mark(rank, &b, name, args, nargs, &arena, &mark);
    if (status != MW_OK && rank->site.file)
        mw__error_where("%s at %s:%d", name, mw__short_file(rank->site.file), rank->site.line);
    if (status == MW_OK) {
        mw_tensor *t = b.tensor[mark.tensor];
        *ret_nout = 1;
        ret_out[0] = mark.text ? mw_mark_sharding_at(site, t, NULL, mark.text)
                               : mw_mark_layout_at(site, t, mark.mesh, &mark.layout);
        if (!ret_out[0]) status = mw_last_error()->code;
    }
    mw__arena_done(&arena);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

mw_status mw_op_call_at(mw_site site, const char *name, const mw_value *args, int nargs,
                        mw_tensor **ret_out, int cap, int *ret_nout)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    rank->site = site;
    if (mw__mark_named(name))
        return call_mark(rank, site, name, args, nargs, ret_out, cap, ret_nout);
    mw_arena arena;
    mw__arena_init(&arena);
    const mw_op *op;
    boxed *b;
    mw_status status = bind(rank, name, args, nargs, &arena, &op, &b);
    if (status == MW_OK)
        status = mw__dispatch(rank, op, b->ordered, b->bound.narg, ret_out, cap, ret_nout);
    mw__arena_done(&arena);
    return status;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mw_status repeat(mw_rank *rank, mw_call *call, mw_tensor *const *operand, int64_t times,
                        double *ret_seconds)
{
    if (!call->plain && !(call->view && !call->moves))
        return MW_FAIL(MW_ERR_ARG,
                       "%s: only a call that moves nothing, writes no operand and has data can be "
                       "repeated",
                       call->name);
    mw_tensor *out[MW_SCHEMA_RESULTS];
    if (call->nout > MW_COUNT(out))
        return MW_FAIL(MW_ERR_ARG, "%s: too many results to be repeated", call->name);
    MW_TRY(mw__call_run(rank, call, operand, out));
    mw_status status = MW_OK;
    double began = now();
    for (int64_t i = 0; i < times && status == MW_OK && !call->view; i++) {
        status = call->op->kernel(&call->kernel);
        mw__arena_clear(&rank->scratch);
    }
    *ret_seconds = now() - began;
    return status;
}

mw_status mw_op_repeat_at(mw_site site, const char *name, const mw_value *args, int nargs,
                          int64_t times, double *ret_seconds)
{
    mw_rank *rank = mw__rank_get();
    if (!rank) return mw_last_error()->code;
    rank->site = site;
    if (rank->recorder) return rank->recorder->refuse(rank->recorder, "op_repeat", NULL);
    mw_arena arena;
    mw__arena_init(&arena);
    const mw_op *op;
    boxed *b;
    mw_call *call;
    mw_status status = bind(rank, name, args, nargs, &arena, &op, &b);
    if (status == MW_OK)
        status =
            mw__call_decide(rank, op, b->ordered, b->bound.narg, b->operand, b->bound.nin, &call);
    if (status == MW_OK) {
        status = repeat(rank, call, b->operand, times, ret_seconds);
        mw__call_free(call);
    }
    mw__arena_done(&arena);
    return status;
}
