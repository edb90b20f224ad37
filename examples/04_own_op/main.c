/* An op of one's own: a schema, a rule, a kernel on plain memory. The library shards it, and proves
 * the rule by trying every combination of placements against the kernel. */
#include <meshwise/meshwise.h>
#include <stdio.h>

/* out[r] = the largest distance of an element of row r from by[r] */
static mw_status reach(const mw_kernel *k)
{
    const mw_local *x = &k->in[0], *by = &k->in[1], *out = &k->out[0];
    for (int64_t r = 0; r < x->shape[0]; r++) {
        float center = ((const float *)by->data)[r * by->stride[0]], most = 0;
        for (int64_t c = 0; c < x->shape[1]; c++) {
            float d = ((const float *)x->data)[r * x->stride[0] + c * x->stride[1]] - center;
            if (d < 0) d = -d;
            if (!(d <= most)) most = d; /* NaN wins */
        }
        ((float *)out->data)[r] = most;
    }
    return MW_OK;
}

static mw_status define(const char *schema, const char *rule)
{
    return mw_op_define(&(mw_op_definition){.schema = schema,
                                            .rule = rule,
                                            .doc = "How far a row reaches from a number.",
                                            .samples = "f32[4, 6], f32[4]; f32[5, 3], f32[5]",
                                            .kernel = reach});
}

static void found(void *user, const mw_verify_finding *f)
{
    (void)user;
    printf("  %s: %s\n", mw_finding_name(f->kind), f->placements);
}

static mw_status verify(const char *name)
{
    mw_verify_result r;
    mw_status status = mw_verify(name, NULL, found, NULL, &r);
    if (status == MW_OK)
        printf("%s: %lld combinations, %d incorrect, %d missing\n", name, (long long)r.combinations,
               r.incorrect, r.missing);
    return status;
}

static mw_status program(void *user)
{
    (void)user;
    mw_tensor *x = mw_view(mw_arange(12, MW_DTYPE_f32), MW_INTS(4, 3)), *out;
    mw_mark_sharding(x, NULL, "[4@tp, 3]");
    mw_tensor *by = mw_mark_sharding(mw_full(MW_INTS(4), 1, MW_DTYPE_f32), NULL, "[4@tp]");
    const mw_value args[] = {{.kind = MW_ARG_TENSOR, .as.tensor = x},
                             {.kind = MW_ARG_TENSOR, .as.tensor = by}};
    int n;
    int64_t length;
    char text[200];
    mw_status status = mw_op_call("mine::reach", args, 2, &out, 1, &n);
    if (status == MW_OK) status = mw_format(out, text, sizeof text, &length);
    if (status == MW_OK && mw_rank_index() == 0) printf("%s", text);
    return status;
}

int main(void)
{
    mw_status status =
        define("mine::reach(Tensor self, Tensor by) -> Tensor", "self[m n*] by[m] -> [m]");
    if (status == MW_OK) status = mw_launch(&(mw_launch_options){.mesh = "tp=2"}, program, NULL);
    if (status == MW_OK) status = verify("mine::reach");
    /* the same with a rule that lets the rows be split and forgets `by` */
    if (status == MW_OK)
        status = define("mine::reach_wrong(Tensor self, Tensor by) -> Tensor",
                        "self[m n*] by[k] -> [m]");
    if (status == MW_OK) status = verify("mine::reach_wrong");
    if (status != MW_OK) (void)fprintf(stderr, "%s\n", mw_last_error()->says);
    return mw_status_exit(status);
}
