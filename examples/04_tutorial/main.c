/* The program of docs/tutorial.md: two layers, whose weights lie as the second argument says.
 *
 *     04_tutorial MESH [whole|split|crossed] [strict]       as in: 04_tutorial tp=2 split */
#include <meshwise/meshwise.h>
#include <stdio.h>
#include <string.h>

/* How the two weights lie; NULL: whole on every rank. */
typedef struct weights {
    const char *name, *up, *down;
} weights;

static const weights choices[] = {
    {"whole", NULL, NULL},
    {"split", "[8@tp, 4]", "[2, 8@tp]"},
    {"crossed", "[8@tp, 4]", "[2@tp, 8]"},
};

static void show(const char *what, mw_tensor *t)
{
    char text[200];
    if (!t || mw_rank_index() != 0) return;
    (void)mw_layout_print(mw_tensor_mesh(t), mw_tensor_layout(t), text, sizeof text);
    printf("%-7s %s\n", what, text);
}

static mw_status program(void *user)
{
    const weights *lie = user;
    mw_tensor *x = mw_view(mw_arange(12, MW_DTYPE_f32), MW_INTS(3, 4));
    mw_tensor *up = mw_full(MW_INTS(8, 4), 0.5, MW_DTYPE_f32);
    mw_tensor *down = mw_full(MW_INTS(2, 8), 0.25, MW_DTYPE_f32);
    if (lie->up) mw_mark_sharding(up, NULL, lie->up);
    if (lie->down) mw_mark_sharding(down, NULL, lie->down);

    mw_tensor *hidden = mw_relu(mw_linear(x, up, NULL));
    mw_tensor *y = mw_linear(hidden, down, NULL);
    show("hidden", hidden);
    show("y", y);

    float value[3 * 2];
    mw_status status = mw_read(y, MW_DTYPE_f32, value, sizeof value);
    if (status == MW_OK && mw_rank_index() == 0)
        printf("values  %g %g, %g %g, %g %g\n", value[0], value[1], value[2], value[3], value[4],
               value[5]);
    return status;
}

static void moved(void *user, const mw_event *e)
{
    (void)user;
    if (e->rank != 0 || e->kind != MW_EVENT_MOVE || e->recv_bytes == 0) return;
    printf("moved   %s: %s -> %s, %lld B, %s by %s%s%s\n", e->text, e->from, e->to,
           (long long)e->recv_bytes, e->asked ? "asked" : "UNASKED", e->op, e->why[0] ? ": " : "",
           e->why);
}

int main(int argc, char **argv)
{
    mw_launch_options options = {.mesh = argc > 1 ? argv[1] : "tp=1", .sink = moved};
    weights lie = choices[0];
    for (int i = 2; i < argc; i++) {
        for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++)
            if (strcmp(argv[i], choices[k].name) == 0) lie = choices[k];
        if (strcmp(argv[i], "strict") == 0) options.strict = 1;
    }
    mw_status status = mw_launch(&options, program, &lie);
    (void)fflush(stdout);
    if (status != MW_OK)
        (void)fprintf(stderr, "%s\n  %s\nhint: %s\n", mw_status_text(status), mw_last_error()->says,
                      mw_last_error()->hint);
    return mw_status_exit(status);
}
