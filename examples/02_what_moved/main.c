/* Every movement has a record: what, why, how much, and whether somebody asked for it. In strict
 * mode an unasked one is an error that names the cheapest fix. */
#include <meshwise/meshwise.h>
#include <stdio.h>

static void show(void *user, const mw_event *e)
{
    (void)user;
    if (e->rank == 0 && e->kind == MW_EVENT_MOVE)
        printf("%s: %s -> %s, %lld B received, %s by %s%s%s\n", e->text, e->from, e->to,
               (long long)e->recv_bytes, e->asked ? "asked" : "unasked, made", e->op,
               e->why[0] ? ": " : "", e->why);
}

/* Softmax over a dim that is split: it must be whole, so somebody has to move something. */
static mw_status program(void *user)
{
    (void)user;
    mw_tensor *x = mw_view(mw_arange(64, MW_DTYPE_f32), MW_INTS(8, 8));
    mw_mark_sharding(x, NULL, "[8, 8@x]");
    mw_tensor *y = mw_softmax_int(x, 1, MW_DTYPE_NONE);
    return y ? MW_OK : mw_last_error()->code;
}

int main(void)
{
    mw_status status = mw_launch(&(mw_launch_options){.mesh = "x=2", .sink = show}, program, NULL);
    if (status != MW_OK) return mw_status_exit(status);
    status = mw_launch(&(mw_launch_options){.mesh = "x=2", .strict = 1}, program, NULL);
    printf("strict: %s\n  %s\n  %s\n", mw_status_text(status), mw_last_error()->says,
           mw_last_error()->hint);
    return status == MW_ERR_STRICT ? 0 : 1;
}
