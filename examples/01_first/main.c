/* A program for whole tensors; two of them are placed, the rest follows. */
#include <meshwise/meshwise.h>
#include <stdio.h>

static mw_status program(void *user)
{
    (void)user;
    mw_tensor *x = mw_view(mw_arange(16, MW_DTYPE_f32), MW_INTS(4, 4));
    mw_tensor *w = mw_full(MW_INTS(4, 2), 0.5, MW_DTYPE_f32);
    mw_mark_sharding(x, NULL, "[4@x, 4]"); /* rows of x over axis x */
    mw_mark_sharding(w, NULL, "[4@y, 2]"); /* rows of w over axis y */
    char text[400];
    int64_t length;
    mw_status status = mw_format(mw_mm(x, w), text, sizeof text, &length);
    if (status == MW_OK && mw_rank_index() == 0) printf("%s", text);
    return status;
}

int main(void)
{
    mw_status status = mw_launch(&(mw_launch_options){.mesh = "x=2,y=2"}, program, NULL);
    if (status != MW_OK) (void)fprintf(stderr, "%s\n", mw_last_error()->says);
    return mw_status_exit(status);
}
