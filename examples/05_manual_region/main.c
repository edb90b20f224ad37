/* A manual region: operands are brought to stated layouts, a function works on this rank's shards
 * as plain memory, and what it fills is a sharded tensor again. */
#include <meshwise/meshwise.h>
#include <stdio.h>

/* The sum of each row, and how many rows this rank has worked on. */
static mw_status sum_rows(void *user, const mw_local *in, const mw_local *out)
{
    int64_t *rows = user;
    for (int64_t r = 0; r < in[0].shape[0]; r++) {
        float sum = 0;
        for (int64_t c = 0; c < in[0].shape[1]; c++)
            sum += ((const float *)in[0].data)[r * in[0].stride[0] + c * in[0].stride[1]];
        ((float *)out[0].data)[r] = sum;
    }
    *rows = in[0].shape[0];
    return MW_OK;
}

static mw_status program(void *user)
{
    (void)user;
    static const char *const in[] = {"[3@tp, 4]"}, *const out[] = {"f32[3@tp]"};
    mw_tensor *x = mw_view(mw_arange(12, MW_DTYPE_f32), MW_INTS(3, 4)), *sums = NULL;
    mw_mark_sharding(x, NULL, "[3, 4@tp]"); /* columns: the region wants rows */
    int64_t rows = 0, length;
    char text[512];
    mw_status status = mw_local_map(&x, in, 1, out, 1, sum_rows, &rows, &sums);
    if (status == MW_OK) status = mw_format_shards(sums, text, sizeof text, &length);
    if (status == MW_OK && mw_rank_index() == 0)
        printf("%srank 0 summed %lld rows\n", text, (long long)rows);
    return status;
}

int main(void)
{
    mw_status status = mw_launch(&(mw_launch_options){.mesh = "tp=2"}, program, NULL);
    if (status != MW_OK) (void)fprintf(stderr, "%s\n", mw_last_error()->says);
    return mw_status_exit(status);
}
