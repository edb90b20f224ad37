/* One function, three ways: called op by op, captured and looked at, compiled. The mark inside it
 * means the same each time: from there on `h` lies as it says.
 *
 *     06_one_annotation [MESH] */
#include <meshwise/meshwise.h>
#include <stdio.h>

typedef struct weights {
    mw_tensor *up, *down;
} weights;

/* The result of mark_sharding is not looked at: it is the handle that is re-placed. */
static mw_status mlp(void *user, mw_tensor *const *in, mw_tensor **out)
{
    weights *w = user;
    mw_tensor *h = mw_relu(mw_linear(in[0], w->up, NULL));
    mw_mark_sharding(h, NULL, "[2, 8@tp]");
    out[0] = mw_linear(h, w->down, NULL);
    return out[0] ? MW_OK : mw_last_error()->code;
}

static mw_status show(const char *how, mw_tensor *y, const mw_usage *before)
{
    float value[4];
    mw_usage now = mw_usage_get();
    mw_status status = mw_read(y, MW_DTYPE_f32, value, sizeof value);
    if (status == MW_OK && mw_rank_index() == 0)
        printf("%-10s %g %g %g %g   movements: %lld\n", how, (double)value[0], (double)value[1],
               (double)value[2], (double)value[3],
               (long long)(now.collectives - before->collectives));
    return status;
}

static mw_tensor *counted(int64_t rows, int64_t cols, const char *name)
{
    mw_tensor *t = mw_arange((double)(rows * cols), MW_DTYPE_f32);
    return mw_tensor_name(mw_view(mw_mul_scalar(t, 0.25), MW_INTS(rows, cols)), name);
}

static mw_status program(void *user)
{
    (void)user;
    weights w = {counted(8, 4, "up"), counted(2, 8, "down")};
    mw_tensor *x = counted(2, 4, "x"), *y = NULL;
    mw_usage before = mw_usage_get();
    mw_status status = mlp(&w, &x, &y);
    if (status == MW_OK) status = show("op by op", y, &before);

    mw_graph *graph = NULL;
    const char *in[] = {"f32[2, 4]"};
    if (status == MW_OK) status = mw_capture("mlp", mlp, &w, NULL, in, 1, 1, &graph);
    if (status == MW_OK) status = mw_graph_pass(graph, "all");
    if (status == MW_OK && mw_rank_index() == 0) printf("%s", mw_graph_text(graph));
    mw_graph_free(graph);

    mw_compiled *compiled = NULL;
    if (status == MW_OK) status = mw_compile("mlp", mlp, &w, 1, 1, &compiled);
    before = mw_usage_get();
    if (status == MW_OK) status = mw_compiled_call(compiled, &x, &y);
    if (status == MW_OK) status = show("compiled", y, &before);
    mw_compiled_free(compiled);
    return status;
}

int main(int argc, char **argv)
{
    const mw_launch_options options = {.mesh = argc > 1 ? argv[1] : "tp=2"};
    mw_status status = mw_launch(&options, program, NULL);
    if (status != MW_OK) fprintf(stderr, "%s\n", mw_last_error()->says);
    return status != MW_OK;
}
