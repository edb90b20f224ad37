/* Views don't communicate: a reshape regroups the factors of the layout. */
#include <meshwise/meshwise.h>
#include <stdio.h>

static void show(const char *what, mw_tensor *t)
{
    char text[200];
    (void)mw_layout_print(mw_tensor_mesh(t), mw_tensor_layout(t), text, sizeof text);
    if (mw_rank_index() == 0) printf("%-34s %s\n", what, text);
}

static mw_status program(void *user)
{
    (void)user;
    mw_tensor *x = mw_view(mw_arange(512, MW_DTYPE_f32), MW_INTS(2, 4, 16, 4));
    show("heads over tp", mw_mark_sharding(x, NULL, "[2, 4@tp, 16, 4]"));
    mw_tensor *flat = mw_view(x, MW_INTS(8, 16, 4));
    show("batch and heads flattened", flat);
    show("and back", mw_view(flat, MW_INTS(2, 4, 16, 4)));
    mw_tensor *w = mw_view(mw_arange(36, MW_DTYPE_f32), MW_INTS(9, 4));
    show("9 heads in 3 groups over 2 ranks", mw_mark_sharding(w, NULL, "[3@tp·3, 4]"));
    if (mw_rank_index() == 0)
        printf("bytes moved: %lld\n", (long long)mw_usage_get().bytes_received);
    return mw_last_error()->code;
}

int main(void)
{
    return mw_status_exit(mw_launch(&(mw_launch_options){.mesh = "tp=2"}, program, NULL));
}
