/* Ops that a program defines through the public interface: a definition becomes an op like those of
 * the table, and its kernel gets views that hold nothing of the library's own. Definitions are
 * copied once and live as long as the process, as all ops do. */
#include "ops/table.h"

typedef struct defined {
    mw_op op; /* first: a call's op is found here */
    mw_status (*kernel)(const mw_kernel *kernel);
    char text[];
} defined;

enum { MOST_TENSORS = 64 };

static void to_local(const mw_view *view, mw_local *ret)
{
    *ret = (mw_local){.data = view->data, .dtype = view->dtype, .ndim = view->ndim};
    memcpy(ret->shape, view->shape, sizeof ret->shape);
    memcpy(ret->stride, view->stride, sizeof ret->stride);
}

static mw_status run_defined(const mw_kernel_call *k)
{
    const defined *d = (const defined *)(const void *)k->call->op;
    mw_local local[MOST_TENSORS];
    if (k->nin + k->nout > MOST_TENSORS)
        return MW_FAIL(MW_ERR_UNSUPPORTED, "a call of a defined op with more than %d tensors",
                       MOST_TENSORS);
    for (int i = 0; i < k->nin + k->nout; i++)
        to_local(i < k->nin ? &k->in[i] : &k->out[i - k->nin], &local[i]);
    const mw_kernel kernel = {
        .nin = k->nin, .nout = k->nout, .in = local, .out = local + k->nin, .call = k->call};
    mw_status status = d->kernel(&kernel);
    if (status != MW_OK && mw_last_error()->code == MW_OK)
        return MW_FAIL(status, "the kernel of a defined op failed: %s", mw_status_text(status));
    return status;
}

int64_t mw_kernel_int(const mw_kernel *kernel, int position, int64_t absent)
{
    return mw__arg_int(kernel->call, position, absent);
}

double mw_kernel_float(const mw_kernel *kernel, int position, double absent)
{
    return mw__arg_float(kernel->call, position, absent);
}

static const char *keep(char **at, const char *text)
{
    if (!text) return NULL;
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static mw_out_dtype dtype_of(mw_result_dtype dtype)
{
    switch (dtype) {
    case MW_RESULT_PROMOTE:
        return MW_OUT_PROMOTE;
    case MW_RESULT_FLOAT:
        return MW_OUT_FLOAT;
    case MW_RESULT_BOOL:
        return MW_OUT_BOOL;
    case MW_RESULT_INDEX:
        return MW_OUT_INDEX;
    case MW_RESULT_FIRST:
        break;
    }
    return MW_OUT_FIRST;
}

mw_status mw_op_define(const mw_op_definition *definition)
{
    const mw_op_definition *f = definition;
    const mw_allocator *libc = mw__libc_allocator();
    if (!f || !f->schema || !f->rule || !f->doc || !f->kernel)
        return MW_FAIL(MW_ERR_ARG, "an op needs a schema, a rule, a sentence (doc) and a kernel");
    size_t size = sizeof(defined) + size_of(f->schema) + size_of(f->rule) + size_of(f->doc) +
                  size_of(f->samples) + size_of(f->refuses);
    defined *d = libc->resize(libc->user, NULL, 0, size);
    if (!d) return MW_NOMEM();
    memset(d, 0, size);
    char *at = d->text;
    d->kernel = f->kernel;
    d->op.schema = keep(&at, f->schema);
    d->op.rule = keep(&at, f->rule);
    d->op.doc = keep(&at, f->doc);
    d->op.samples = keep(&at, f->samples);
    d->op.refuses = keep(&at, f->refuses);
    d->op.linear_in = f->linear;
    d->op.monotone = (int8_t)((f->monotone > 0) - (f->monotone < 0));
    d->op.reduce = f->sums ? MW_REDUCE_SUM : MW_REDUCE_NONE;
    d->op.dtype = dtype_of(f->dtype);
    d->op.kernel = run_defined;
    mw_status status = mw__op_add(&d->op);
    if (status != MW_OK) (void)libc->resize(libc->user, d, size, 0);
    return status;
}
